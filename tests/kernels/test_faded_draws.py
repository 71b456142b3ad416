"""Draws of patience are compared with bounds; few of them need exact evidence.

That decisions, explanations and files are to the last bit those of outcomes that fade
in each round is tested with the other policies, in test_faded_verdicts.py.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.kernels import faded_draws
from profitable.kernels.agent_table import BOUND_UNTIL, SETTLED

NAMES = [f"c{k}" for k in range(6)]


class TwoAgents:
    """Two agents that live alike; one of them writes every round."""

    def __init__(self, policy: str, given: list[pb.Category]) -> None:
        self.late = pb.Agent(given, policy=policy, seed=3)
        self.at_once = pb.Agent(given, policy=policy, seed=3)

    @property
    def both(self) -> tuple[pb.Agent, pb.Agent]:
        return self.late, self.at_once

    def decide(self) -> tuple[pb.Decision, pb.Decision]:
        return self.late.decide(), self.at_once.decide(available=self.late.names)

    def are_same(self) -> bool:
        return self.late.ledger.numbers.tobytes() == self.at_once.ledger.numbers.tobytes()


def same(decisions: list[tuple[pb.Decision, pb.Decision]]) -> bool:
    return all(repr(one.to_columns()) == repr(other.to_columns()) for one, other in decisions)


@pytest.mark.parametrize(
    "family",
    [pb.Bernoulli(), pb.Poisson(), pb.Exponential(), pb.Gaussian(sigma=0.5), pb.Geometric()],
    ids=str,
)
def test_few_categories_are_looked_at(family: pb.Family, monkeypatch: pytest.MonkeyPatch) -> None:
    number, rounds, rng = 400, 300, np.random.default_rng(5)
    given = [pb.Category(f"c{k}", family, threshold=0.45) for k in range(number)]
    agents = TwoAgents("ts:forget=0.99", given)
    agents.decide()
    rewards = {
        each.name: (rng.random(200) < mean).astype(float)
        for each, mean in zip(given, np.linspace(0.05, 0.95, number), strict=True)
    }
    if family.name == "exponential":
        rewards = {name: values + 0.02 for name, values in rewards.items()}
    for agent in agents.both:
        agent.observe(rewards)
    looked: list[int] = []
    kernel = faded_draws.decide_faded

    def counted(*given: Any) -> int:
        looked.append(kernel(*given))
        return looked[-1]

    monkeypatch.setattr(faded_draws, "decide_faded", counted)
    kept = [agents.decide() for _ in range(rounds)]
    assert all((late.accepted_mask == other.accepted_mask).all() for late, other in kept)
    assert looked[:2] == [number, number]
    assert 0 < sum(looked[2:]) < 0.07 * number * rounds
    assert same(kept[::60])
    assert agents.are_same()


def test_nothing_is_left_but_the_prior() -> None:
    """Evidence that no longer ages is computed at the first draw that needs it."""
    prior = pb.Prior.beta(3.0, 6.0)
    given = [
        pb.Category(name, pb.Bernoulli(), threshold=0.2 + 0.12 * k, prior=prior)
        for k, name in enumerate(NAMES)
    ]
    agents = TwoAgents("ts:forget=0.5", given)
    for agent in agents.both:
        agent.observe({name: [0.0, 1.0, 0.0] for name in NAMES})
        agent.pause("c2")
    kept = [agents.decide() for _ in range(60)]
    until = agents.late.ledger.raw[BOUND_UNTIL, :6]
    settled = until[(until > SETTLED) & (until < np.inf)] - SETTLED
    assert len(set(settled.tolist())) > 2  # in different rounds
    assert settled.max() > settled.min() + 2
    assert same(kept[::-1])
    assert agents.are_same()
    for agent in agents.both:
        agent.resume("c2")
        agent.observe("c3", [0.0])
    assert same([agents.decide() for _ in range(40)])
    assert agents.are_same()


def test_a_category_with_a_spread_joins(tmp_path: Path) -> None:
    """From then on outcomes fade in each round; decisions from before stay the same."""
    given = [pb.Category(name, pb.Bernoulli(), threshold=0.4) for name in NAMES]
    agents, rng = TwoAgents("ts:forget=0.97", given), np.random.default_rng(2)
    kept: list[tuple[pb.Decision, pb.Decision]] = []
    for step in range(60):
        kept.append(agents.decide())
        rewards = rng.integers(0, 2, 3).astype(float).tolist()
        for agent in agents.both:
            agent.observe(agent.names[step % len(agent)], rewards)
            if step == 20:
                agent.add_category(pb.Category("spread", pb.Normal(), threshold=0.4))
            elif step == 40:
                agent.remove_category("spread")
        assert agents.late.ledger.fades_late == (step < 20)
    assert same(kept)
    for name, agent in zip(("late", "at_once"), agents.both, strict=True):
        agent.save(tmp_path / name)
    assert (tmp_path / "late").read_bytes() == (tmp_path / "at_once").read_bytes()
