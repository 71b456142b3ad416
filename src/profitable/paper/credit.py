"""The paper's credit example (section 1.3): a lender who learns by lending.

Three lenders see the same applicants: one who learns with a policy, a clairvoyant one
who knows the repayment probabilities, and one who accepts everybody.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.explanation import Standing
from profitable.common import check
from profitable.common.extras import extra
from profitable.common.files import replace_text
from profitable.common.text_tables import money_text, number_text, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.model.category import Category
from profitable.policy.policies import Policy
from profitable.version import VERSION

CREDIT_NUMBERS = "credit.json"


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of borrowers: what the lender knows, and the hidden truth.

    Mean amount of a loan, interest rate, repayment probability, mean applicants per
    round.
    """

    name: str
    amount: float
    rate: float
    repayment: float
    applicants: float

    @property
    def margin(self) -> float:
        """Expected profit per loan: amount * ((1 + rate) * repayment - 1)."""
        return self.amount * ((1.0 + self.rate) * self.repayment - 1.0)


SEGMENTS = (
    Segment("homeowners", amount=9_000.0, rate=0.06, repayment=0.975, applicants=4.0),
    Segment("car buyers", amount=7_000.0, rate=0.08, repayment=0.950, applicants=5.0),
    Segment("students", amount=2_000.0, rate=0.12, repayment=0.860, applicants=6.0),
    Segment("self-employed", amount=5_000.0, rate=0.15, repayment=0.895, applicants=3.0),
    Segment("payday", amount=800.0, rate=0.35, repayment=0.690, applicants=7.0),
)
AMOUNT_SPREAD = 0.25  # standard deviation of a loan's amount, as a share of its mean
LENDERS = ("accepts everybody", "learns", "clairvoyant")


@dataclass(frozen=True, slots=True)
class Play:
    """One history: profit of three lenders [3, rounds], accepted [segments, rounds]."""

    profit: FloatArray
    accepted: FloatArray
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class CreditResult:
    """Several plays of the example.

    Profit [plays, 3, rounds], share of plays that accept [segments, rounds].
    """

    policy: str
    seed: int
    rounds: int
    segments: tuple[Segment, ...]
    profit: FloatArray
    acceptance: FloatArray
    first: Play

    def earned(self) -> list[tuple[str, float, float, float]]:
        """Return (lender, profit in the first play, mean, standard error) of each."""
        final = self.profit[:, :, -1]
        error = (
            final.std(axis=0, ddof=1) / np.sqrt(len(final))
            if len(final) > 1
            else np.full(3, np.nan)
        )
        rows = zip(LENDERS, final[0], final.mean(axis=0), error, strict=True)
        return [(name, float(one), float(mean), float(bar)) for name, one, mean, bar in rows]

    def learned_table(self) -> str:
        """Return the table of what the lender of the first play learned."""
        headers = (
            "segment",
            "rate",
            "break-even",
            "truth",
            "worth it",
            "learned",
            "loans",
            "accepted",
            "profit",
        )
        first = self.first
        rows = [
            [
                segment.name,
                f"{segment.rate:.0%}",
                f"{standing.threshold:.3f}",
                f"{segment.repayment:.3f}",
                "yes" if segment.margin > 0 else "no",
                "-" if standing.mean is None else f"{standing.mean:.3f}",
                number_text(standing.clients),
                f"{accepted.mean():.0%} of rounds",
                money_text(standing.profit),
            ]
            for segment, standing, accepted in zip(
                self.segments, first.standings, first.accepted, strict=True
            )
        ]
        return text_table(headers, rows)

    def earned_table(self) -> str:
        """Return the table of each lender's profit."""
        plays = len(self.profit)
        rows = [
            [name, money_text(one), money_text(mean), "-" if np.isnan(error) else money_text(error)]
            for name, one, mean, error in self.earned()
        ]
        return text_table(("lender", "this play", f"mean of {plays}", "std. error"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return settings and outcome as JSON-ready values."""
        lenders = [
            {
                "lender": name,
                "first_play": one,
                "mean": mean,
                "stderr": None if np.isnan(error) else error,
            }
            for name, one, mean, error in self.earned()
        ]
        return {
            "version": VERSION,
            "policy": self.policy,
            "seed": self.seed,
            "rounds": self.rounds,
            "plays": len(self.profit),
            "segments": [asdict(segment) for segment in self.segments],
            "amount_spread": AMOUNT_SPREAD,
            "lenders": lenders,
            "learned": [asdict(standing) for standing in self.first.standings],
        }

    def save(self, folder: Path) -> list[Path]:
        """Write credit.json, then credit.png; MissingLibraryError without Altair."""
        folder.mkdir(parents=True, exist_ok=True)
        numbers, picture = folder / CREDIT_NUMBERS, folder / "credit.png"
        replace_text(numbers, json.dumps(self.to_dict(), indent=1) + "\n")
        with extra("plot", "charts are drawn with it"):
            from profitable.common.charts import saved
            from profitable.paper.paper_charts import credit_picture
        saved(credit_picture(self), picture)
        return [picture, numbers]


def play(
    policy: Policy,
    rounds: int,
    seed: np.random.SeedSequence,
    segments: tuple[Segment, ...] = SEGMENTS,
) -> Play:
    """One history: profit of three lenders [3, rounds], accepted [segments, rounds]."""
    world, own = seed.spawn(2)
    rng = np.random.default_rng(world)
    applicants: IntArray = np.array([1 + rng.poisson(s.applicants - 1.0, rounds) for s in segments])
    loans = [
        _loans(rng, segment, int(count.sum()))
        for segment, count in zip(segments, applicants, strict=True)
    ]
    ends = applicants.cumsum(axis=1)
    agent = Agent(
        [Category.loan(s.name, amount=s.amount, rate=s.rate) for s in segments],
        policy=policy.within(rounds),
        seed=int(own.generate_state(1)[0]),
    )
    accepted = np.zeros((len(segments), rounds))
    gains = np.zeros((len(segments), rounds))
    for t in range(rounds):
        chosen = agent.decide().accepted_mask
        for i, (repaid, amounts) in enumerate(loans):
            batch = slice(ends[i, t] - applicants[i, t], ends[i, t])
            gains[i, t] = (amounts[batch] * ((1.0 + segments[i].rate) * repaid[batch] - 1.0)).sum()
            if chosen[i]:
                agent.observe(segments[i].name, repaid[batch], costs=amounts[batch])
        accepted[:, t] = chosen
    good = np.array([[segment.margin > 0.0] for segment in segments])
    profit = np.array([(gains * mask).sum(axis=0).cumsum() for mask in (1.0, accepted, good)])
    return Play(profit, accepted, tuple(agent[segment.name] for segment in segments))


def _loans(rng: np.random.Generator, segment: Segment, size: int) -> tuple[FloatArray, FloatArray]:
    """Return repayments (0 or 1) and amounts of applicants, in order of arrival."""
    shape = AMOUNT_SPREAD**-2
    repaid = (rng.random(size) < segment.repayment).astype(np.float64)
    return repaid, rng.gamma(shape, segment.amount / shape, size)


def run(
    policy: Policy,
    *,
    rounds: int,
    plays: int,
    seed: int,
    advance: Callable[[], object] = lambda: None,
) -> CreditResult:
    """Play the example `plays` times; `advance` is called after each.

    >>> from profitable import ThompsonSampling
    >>> result = run(ThompsonSampling(), rounds=50, plays=2, seed=1)
    >>> result.profit.shape
    (2, 3, 50)
    """
    check.whole("rounds", rounds, most=10**5)
    check.whole("plays", plays, most=10**5)
    check.whole("seed", seed, least=0, most=2**63 - 1)
    histories: list[Play] = []
    for child in np.random.SeedSequence(seed).spawn(plays):
        histories.append(play(policy, rounds, child))
        advance()
    profit = np.array([history.profit for history in histories])
    acceptance = np.mean([history.accepted for history in histories], axis=0)
    return CreditResult(str(policy), seed, rounds, SEGMENTS, profit, acceptance, histories[0])
