"""Outcomes that fade late decide, to the last bit, like those that fade in each round.

Two agents live the same random life.  One decides about all categories together, so
that its outcomes fade late; the other one names the categories, so that everything is
written in each round.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.kernels import faded_verdicts

POLICIES = [
    "bayes-ucb:forget=0.9",
    "bayes-ucb:c=1,inflate=2,forget=0.99",
    "optimal:forget=0.97",
    "optimal:horizon=60,forget=0.9",
    "optimal:discount=0.95,risk=0.5,forget=0.99",
    "optimal:clients=2,forget=0.95",
    "ts:forget=0.95",
    "bayes-ucb:forget=0.9,floor=0.1",
    "optimal:window=9",
    "kl-ucb:forget=0.95",
]
FAMILIES: dict[str, tuple[pb.Family, pb.Prior | None]] = {
    "bernoulli": (pb.Bernoulli(), None),
    "bernoulli with a prior": (pb.Bernoulli(), pb.Prior.beta(0.2, 3.0)),
    "poisson": (pb.Poisson(), None),
    "poisson with a prior": (pb.Poisson(), pb.Prior.gamma(shape=2.0, rate=3.0)),
    "exponential": (pb.Exponential(), None),
    "gaussian": (pb.Gaussian(sigma=0.5), None),
    "normal": (pb.Normal(), None),
    "bounded": (pb.Bounded(low=-1.0, high=2.0), None),
}
EVENTS = (
    *("observe", "observe", "observe all", "cohort", "pause", "resume", "threshold"),
    *("correct", "add", "remove", "save", "read", "decide often", "decide often"),
)


class TwoLives:
    """The same life of two agents, of which one writes every round."""

    def __init__(self, policy: str, family: str, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.family, prior = FAMILIES[family]
        self.prior = prior if policy[:2] != "kl" else None
        given = [self.category(f"c{k}") for k in range(4)]
        self.late = pb.Agent(given, policy=policy, seed=3)
        self.at_once = pb.Agent(given, policy=policy, seed=3)
        self.kept: list[tuple[pb.Decision, pb.Decision]] = []
        self.latest: tuple[str, list[float], int] | None = None

    def category(self, name: str) -> pb.Category:
        threshold = float(self.rng.uniform(0.2, 0.8))
        return pb.Category(name, self.family, threshold=threshold, prior=self.prior)

    @property
    def both(self) -> tuple[pb.Agent, pb.Agent]:
        return self.late, self.at_once

    def decide(self) -> None:
        late, at_once = self.late.decide(), self.at_once.decide(available=self.late.names)
        kind = self.rng.integers(3)
        if kind == 0:
            assert (late.accepted_mask == at_once.accepted_mask).all()
        elif kind == 1:
            name = str(self.rng.choice(self.late.names))
            assert late.accepts(name) == at_once.accepts(name)
        self.kept.append((late, at_once))

    def play(self, event: str) -> None:
        name = str(self.rng.choice(self.late.names))
        size = int(self.rng.integers(1, 9))
        rewards = self.rng.integers(0, 2, size).astype(float)
        if self.family.name in ("exponential", "normal", "gaussian"):
            rewards += 0.1 + self.rng.exponential(0.3, size)
        given, now = rewards.tolist(), self.late.round
        if event == "correct" and (self.latest is None or self.latest[2] < now - 5):
            event = "observe"
        added = self.category(f"c{len(self.kept)} of {now}") if event == "add" else None
        for agent in self.both:
            match event:
                case "observe":
                    agent.observe(name, given)
                case "observe all":
                    agent.observe(dict.fromkeys(agent.names, given))
                case "cohort" if now:
                    agent.expect(name, size, matures=3)
                    agent.observe({name: pb.Batch(rewards=given[:1], accepted_in=now)})
                case "pause":
                    agent.pause(name)
                case "resume":
                    agent.resume(name)
                case "threshold":
                    agent.set_threshold(name, 0.1 + 0.1 * size)
                case "correct" if self.latest is not None and self.latest[0] in agent:
                    whose, was, counted_in = self.latest
                    agent.correct(whose, was=was, now=was[:1], counted_in=counted_in)
                case "add" if added is not None and len(agent) < 7:
                    agent.add_category(added)
                case "remove" if len(agent) > 2:
                    agent.remove_category(name)
                case "read":
                    assert self.late[name] == self.at_once[name]
                case _:
                    pass
        self.latest = (name, given, now) if event == "observe" else None
        if event == "save":
            with TemporaryDirectory() as folder:
                late, at_once = Path(folder) / "late.json", Path(folder) / "at_once.json"
                self.late.save(late)
                self.at_once.save(at_once)
                assert late.read_bytes() == at_once.read_bytes()
                self.late, self.at_once = pb.Agent.load(late), pb.Agent.load(at_once)
        for _ in range(15 if event == "decide often" else 1):
            self.decide()


@settings(max_examples=2, deadline=None)
@given(
    seed=st.integers(0, 2**32), events=st.lists(st.sampled_from(EVENTS), min_size=10, max_size=20)
)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("policy", POLICIES)
def test_random_lives(policy: str, family: str, seed: int, events: list[str]) -> None:
    lives = TwoLives(policy, family, seed)
    lives.decide()
    for event in events:
        lives.play(event)
    for i in lives.rng.permutation(len(lives.kept)).tolist():
        late, at_once = lives.kept[i]
        assert repr(late.to_columns()) == repr(at_once.to_columns())
    assert lives.late.ledger.numbers.tobytes() == lives.at_once.ledger.numbers.tobytes()


@pytest.mark.parametrize("policy", ["bayes-ucb:forget=0.99", "optimal:forget=0.99"])
@pytest.mark.parametrize(
    "family", ["bernoulli", "poisson", "exponential", "gaussian", "normal", "bounded"]
)
def test_few_verdicts_are_computed(
    policy: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nothing is observed, a look at a category is good for many rounds."""
    number, rounds, rng = 200, 300, np.random.default_rng(5)
    kind = FAMILIES[family][0]
    given = [pb.Category(f"c{k}", kind, threshold=0.45) for k in range(number)]
    agent = pb.Agent(given, policy=policy, seed=1)
    agent.decide()
    agent.observe(
        {
            each.name: (0.02 + (rng.random(100) < mean)).tolist()
            if family in ("exponential", "gaussian", "normal")
            else (rng.random(100) < mean).astype(float).tolist()
            for each, mean in zip(given, np.linspace(0.05, 0.95, number), strict=True)
        }
    )
    computed: list[int] = []
    kernel = faded_verdicts.accepted_faded

    def counted(*given: Any) -> int:
        computed.append(kernel(*given))
        return computed[-1]

    monkeypatch.setattr(faded_verdicts, "accepted_faded", counted)
    masks = [agent.decide().accepted_mask for _ in range(rounds)]
    assert len({mask.tobytes() for mask in masks}) > 10
    assert computed[:2] == [number, number]
    share = sum(computed[2:]) / (number * rounds)
    assert share < (0.01 if policy.startswith("bayes") else 0.08)
