"""Contest: the optimal policy against the paper's, by mean, quantile, lost runs.

`optimal_checks.toml` has what must hold of it, and its price, with the tests in words;
`DECIDED_BY` has the functions that carry them out.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from profitable.paper.claims import KNOWING
from profitable.paper.experiment import PAPER, WITH_OPTIMAL
from profitable.paper.finding import (
    SURE,
    Estimate,
    Finding,
    judge,
    not_run,
    pair_or_none,
    plus_minus,
    ratio_of,
    rounded_text,
    with_doubts,
)
from profitable.paper.reproduction import Reproduction, Trial
from profitable.simulation.curve import Curve

WITH_HORIZON, CAREFUL, ANYTIME, PATIENT = (
    "optimal:horizon",
    "optimal:horizon,risk=0.3",
    "optimal",
    "optimal:kappa=10",
)
FORMS = (WITH_HORIZON, CAREFUL, ANYTIME, PATIENT)
TAIL = 0.99
WIDE = 0.2  # of a quantile: an error larger than this share is shown as a range
GAIN = 0.15  # the mean is to be lower by at least this share


@dataclass(frozen=True)
class Score:
    """Score of one policy in one experiment.

    Mean regret, its 99 % quantile, and the share of runs that lose a category.
    """

    policy: str
    mean: Estimate
    tail: Estimate
    tail_range: tuple[float, float]  # within one standard error; it need not be symmetric
    lost: Estimate
    carried_by_few: bool

    @classmethod
    def of(cls, curve: Curve) -> "Score":
        """Return the numbers of a curve at its last checkpoint."""
        mean = (float(curve.regret[-1]), float(curve.stderr[-1]))
        lost = (float(curve.mean("lost")[0]), float(curve.error("lost")[0]))
        value, low, high = quantile_of(curve, TAIL)
        return cls(
            curve.policy,
            mean,
            (value, 0.5 * (high - low)),
            (low, high),
            lost,
            bool(curve.carried_by_few[-1]),
        )

    @property
    def mean_text(self) -> str:
        """The mean with its error, and its mark."""
        return plus_minus(*self.mean, few=self.carried_by_few)

    @property
    def tail_text(self) -> str:
        """The quantile with its error; with its range where that is wide."""
        value, error = self.tail
        if error < WIDE * value:
            return plus_minus(value, error)
        limits = " to ".join(rounded_text(each, 3) for each in self.tail_range)
        return f"{rounded_text(value, 3)} ({limits})"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON-ready values; each is a pair with its error."""
        pairs = {"regret": self.mean, "quantile_0.99": self.tail, "lost_share": self.lost}
        return {
            "policy": self.policy,
            **{key: pair_or_none(pair) for key, pair in pairs.items()},
            "carried_by_few_runs": self.carried_by_few,
        }


def quantile_of(curve: Curve, share: float) -> tuple[float, float, float]:
    """Return a quantile of the final regret, and its limits of one standard error.

    The number of runs below the true quantile has the standard deviation sqrt(runs
    share (1 - share)).  So the limits are the quantiles that lie so many runs below and
    above.
    """
    step = float(np.sqrt(share * (1.0 - share) / curve.runs))
    value, low, high = (
        float(curve.quantile(min(1.0, share + each))[-1]) for each in (0.0, -step, step)
    )
    return value, low, high


def below(first: Estimate, second: Estimate) -> float:
    """Return by how many standard errors the first is lower; NaN without an error."""
    error = float(np.hypot(first[1], second[1]))
    return (second[0] - first[0]) / error if error > 0.0 else np.nan


@dataclass(frozen=True)
class Contest:
    """The optimal policy in one experiment, and the paper's four, if they ran."""

    name: str  # of the paper's experiment
    trial: Trial
    paper: Trial | None

    def score(self, policy: str) -> Score:
        """Return the numbers of a policy by its full name."""
        return Score.of(self.trial.result[policy])

    @cached_property
    def four(self) -> list[Score]:
        """The paper's four, from the smallest mean to the largest.

        Empty if they did not run.
        """
        scores = [Score.of(self.paper.curve(policy)) for policy in KNOWING] if self.paper else []
        return sorted(scores, key=lambda score: score.mean[0])

    @cached_property
    def tails(self) -> list[Score]:
        """The same from the smallest quantile to the largest."""
        return sorted(self.four, key=lambda score: score.tail[0])


def contests(reproduction: Reproduction) -> list[Contest]:
    """Return the experiments with the optimal policy that were run."""
    found: list[Contest] = []
    for name, with_optimal in zip(PAPER, WITH_OPTIMAL, strict=True):
        paper = (*reproduction.find(name), None)[0]
        found += [Contest(name, trial, paper) for trial in reproduction.find(with_optimal)]
    return found


def share_text(estimate: Estimate) -> str:
    """Return a share in per cent; "-" if it is unknown."""
    return (
        f"{plus_minus(100.0 * estimate[0], 100.0 * estimate[1])} %"
        if np.isfinite(estimate[0])
        else "-"
    )


def against(mine: Estimate, other: Estimate | None) -> str:
    """Return the difference in per cent, with its error."""
    if other is None or other[0] <= 0.0:
        return "-"
    ratio, error = ratio_of(mine, other)
    return (
        f"{'+' if ratio > 1.0 else ''}{plus_minus(100.0 * (ratio - 1.0), 100.0 * error)} %"
        if ratio != 1.0
        else "0 %"
    )


# -------------------------------------------------------- what must hold, and its price


def decide_gain(found: Sequence[Contest]) -> Finding:
    """Check that knowing the horizon lowers the mean by at least `GAIN`."""
    pairs = [(each.score(WITH_HORIZON).mean, each.four[0].mean) for each in found]
    ratios = [ratio_of(*pair) for pair in pairs]
    verdict = judge(
        shown=all(ratio + SURE * error <= 1.0 - GAIN for ratio, error in ratios),
        refuted=any(ratio - SURE * error > 1.0 - GAIN for ratio, error in ratios),
        restriction=all(ratio + SURE * error < 1.0 for ratio, error in ratios),
    )
    seen, why = (
        f"Mean regret against the best of the four: {_listed(found, gains)}."
        for gains in (
            [against(*pair) for pair in pairs],
            [f"{ratio - 1.0:+.0%}" for ratio, _ in ratios],
        )
    )
    return Finding(verdict, seen, why)


def decide_price(found: Sequence[Contest]) -> Finding:
    """Check that knowing the horizon loses profitable categories more often."""
    pairs = [(each.score(WITH_HORIZON), each.four[0]) for each in found]
    leads = [below(best.lost, mine.lost) for mine, best in pairs]
    verdict = judge(
        shown=any(lead > SURE for lead in leads),
        refuted=all(lead < -SURE for lead in leads),
        restriction=False,
    )
    lost = [
        f"{share_text(mine.lost)} against {share_text(best.lost)} of {best.policy}"
        for mine, best in pairs
    ]
    tails = [
        f"{each.score(WITH_HORIZON).tail_text} against {each.tails[-1].tail_text}" for each in found
    ]
    seen = (
        f"Runs that lose a profitable category: {_listed(found, lost)}. "
        f"99 % quantile against the largest of the four: {_listed(found, tails)}."
    )
    shares = _listed(found, [f"{mine.lost[0]:.2%} and {best.lost[0]:.2%}" for mine, best in pairs])
    why = f"Runs that lose a profitable category, and those of the best of the four: {shares}."
    return Finding(verdict, seen, why)


def decide_careful(found: Sequence[Contest]) -> Finding:
    """Check that a small risk improves both the mean and the worst runs of all four."""
    scores = [(each.score(CAREFUL), each.four[0], each.tails[0]) for each in found]
    means = [below(mine.mean, best.mean) for mine, best, _ in scores]
    tails = [below(mine.tail, safest.tail) for mine, _, safest in scores]
    of_best = [below(mine.tail, best.tail) for mine, best, _ in scores]
    verdict = judge(
        shown=all(lead > SURE for lead in (*means, *tails)),
        refuted=any(lead < -SURE for lead in (*means, *tails)),
        restriction=all(lead > SURE for lead in (*means, *of_best)),
    )
    gains = _listed(found, [against(mine.mean, best.mean) for mine, best, _ in scores])
    quantiles = _listed(found, [against(mine.tail, safest.tail) for mine, _, safest in scores])
    seen = (
        f"Mean regret against the best of the four: {gains}; "
        f"99 % quantile against the smallest of the four: {quantiles}."
    )
    unclear = [each.name for each, lead in zip(found, tails, strict=True) if not lead > SURE]
    if unclear and all(lead > SURE for lead in of_best):
        seen += (
            f" In {', '.join(unclear)} the quantile is shown to be smaller only than that of "
            "the best mean."
        )
    changes = [
        f"{mine.mean[0] / best.mean[0] - 1.0:+.0%} and {mine.tail[0] / safest.tail[0] - 1.0:+.0%}"
        for mine, best, safest in scores
    ]
    why = f"Mean and 99 % quantile against the smallest of the four: {_listed(found, changes)}."
    return Finding(verdict, seen, why)


def _listed(found: Sequence[Contest], texts: Sequence[str]) -> str:
    return ", ".join(f"{text} ({each.name})" for each, text in zip(found, texts, strict=True))


DECIDED_BY: dict[str, Callable[[Sequence[Contest]], Finding]] = {
    "gain": decide_gain,
    "price": decide_price,
    "careful": decide_careful,
}


def checks(found: Sequence[Contest]) -> list[dict[str, Any]]:
    """Return the checks of `optimal_checks.toml`, with what was found."""
    table = tomllib.loads(
        Path(__file__).with_name("optimal_checks.toml").read_text(encoding="utf-8")
    )
    compared = [each for each in found if each.paper is not None]
    mine = [each.trial for each in compared]
    both = [trial for each in compared for trial in (each.trial, each.paper) if trial is not None]
    findings = {
        key: with_doubts(decide(compared), both, mine, WITH_OPTIMAL)
        if compared
        else not_run(*PAPER, *WITH_OPTIMAL)
        for key, decide in DECIDED_BY.items()
    }
    return [{"key": key, **entry, **findings[key].to_dict()} for key, entry in table.items()]
