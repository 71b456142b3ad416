"""Past clients drawn at random, and the replay by hand: an agent, a list of rows and
plain loops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import profitable as pb
from profitable.past.past import NEVER_KNOWN, SingleClients
from profitable.replay.replay import OpenTerms


@dataclass(frozen=True)
class Row:
    """One past client."""

    round: int
    category: int
    known: int
    reward: float
    amount: float = 1.0
    promised: float = 0.0

    def profit(self, threshold: float) -> float:
        return self.amount * (self.reward - threshold)


@dataclass(frozen=True)
class World:
    """Past clients in the order of a file, which is any."""

    rows: list[Row]
    rounds: int
    names: tuple[str, ...]
    threshold: float
    more: tuple[str, ...] = field(default=())  # which columns there are: amount, promised

    def clients(self) -> SingleClients:
        columns = {name: [getattr(row, name) for row in self.rows] for name in self.more}
        return SingleClients.of(
            names=self.names,
            labels=[str(t) for t in range(1, self.rounds + 1)],
            round=[row.round for row in self.rows],
            category=[row.category for row in self.rows],
            known=[row.known for row in self.rows],
            reward=[row.reward for row in self.rows],
            profit=[row.profit(self.threshold) for row in self.rows],
            **columns,
        )

    def with_rows(self, rows: Sequence[Row]) -> "World":
        return replace(self, rows=list(rows))


def draw_world(
    rng: np.random.Generator,
    draw: Any,
    *,
    threshold: float,
    rounds: int = 15,
    categories: int = 3,
    per_cell: float = 2.0,
    delay: int = 0,
    more: tuple[str, ...] = (),
    promise: Sequence[float] = (0.0,),
) -> World:
    """Clients whose rewards `draw(size)` draws; some cells are empty, and with delays
    some outcomes are never known.
    """
    rows: list[Row] = []
    for t in range(1, rounds + 1):
        for k in range(categories):
            for reward in draw(int(rng.poisson(per_cell))):
                known = t + int(rng.integers(0, delay + 1))
                if delay and rng.random() < 0.05:
                    known = NEVER_KNOWN
                amount = float(rng.integers(1, 9)) if "amount" in more else 1.0
                rows.append(Row(t, k, known, float(reward), amount, float(rng.choice(promise))))
    rows.append(Row(1, 0, 1, float(draw(1)[0])))
    rows.append(Row(rounds, categories - 1, rounds, float(draw(1)[0])))
    order = rng.permutation(len(rows))
    return World([rows[i] for i in order], rounds, tuple("abcdefgh"[:categories]), threshold, more)


def by_hand(
    world: World,
    categories: Sequence[pb.Category],
    policy: pb.Policy,
    seed: int,
    late: OpenTerms | None = None,
) -> tuple[Any, Any, Any]:
    """Acceptances, evidence and patience, [R, K] each: an agent is asked, and told what
    is known, in plain loops.
    """
    agent = pb.Agent(categories, policy=policy, seed=seed)
    accepted, evidence, patience = [], [], []
    for t in range(1, world.rounds + 1):
        decision = agent.decide()
        accepted.append([decision.accepts(name) for name in world.names])
        evidence.append(decision.evidence.tolist())
        patience.append(decision.patience.tolist())
        for k, name in enumerate(world.names):
            cohort = [row for row in world.rows if row.round == t and row.category == k]
            if accepted[t - 1][k] and cohort:
                agent.expect(name, len(cohort), **_terms(late, cohort))
        for k, name in enumerate(world.names):
            for asked in range(1, t + 1):
                news = [
                    row
                    for row in world.rows
                    if (row.round, row.category, row.known) == (asked, k, t)
                ]
                if news and accepted[asked - 1][k]:
                    tell(agent, name, news, asked if late else None, amounts="amount" in world.more)
    return np.array(accepted), np.array(evidence), np.array(patience)


def _terms(late: OpenTerms | None, cohort: Sequence[Row]) -> Mapping[str, Any]:
    if late is None:
        return {}
    if late.emerges in (None, "at maturity"):
        return {"matures": late.matures}
    promised = sum(row.promised for row in cohort) / len(cohort)
    return {"matures": late.matures, "emerges": late.emerges, "promised": promised}


def tell(
    agent: pb.Agent, name: str, news: Sequence[Row], asked: int | None, *, amounts: bool
) -> None:
    more: dict[str, Any] = {} if asked is None else {"accepted_in": asked}
    if amounts:
        more["amounts"] = [row.amount for row in news]
    agent.observe(name, [row.reward for row in news], **more)
