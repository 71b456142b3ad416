"""Random histories of an agent, of every family and policy: whatever happened, what is
saved can be loaded.

The histories contain what real ones do: costs of their own, typing errors of all sizes,
corrections in another order, thresholds that move (to negative ones, too), changes of
policy, categories that come and go.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.policy.policies import POLICIES
from tests.matrix import FAMILIES, FamilyRow

SEEDS = range(20 if os.environ.get("PROFITABLE_SOAK") == "1" else 1)
STEPS = 20


class History:
    """Plays random steps on an agent, and remembers the outcomes that can be taken
    back.
    """

    def __init__(self, row: FamilyRow, policy: str, seed: int) -> None:
        self.row = row
        self.rng = np.random.default_rng(seed)
        self.agent = pb.Agent([row.category()], policy=policy, seed=seed)
        self.name = "it"
        self.booked: list[tuple[list[float], list[float] | None]] = []

    def rewards(self) -> list[float]:
        size = int(self.rng.integers(1, 4))
        rewards = self.row.rewards(size, seed=int(self.rng.integers(1 << 30))).tolist()
        if self.rng.random() < 0.3:
            rewards[0] = float(self.rng.choice([self.row.smallest, self.row.largest]))
        return rewards

    def thresholds(self) -> list[float]:
        return [
            self.row.threshold,
            self.row.mean,
            *self.row.edges,
            *([-3.7] if self.row.family.name in ("gaussian", "normal") else []),
        ]

    def step(self) -> None:
        action = self.rng.choice(
            [
                "observe",
                "observe",
                "mapping",
                "costs",
                "sum",
                "correct",
                "correct",
                "terms",
                "other",
            ]
        )
        getattr(self, f"do_{action}")()

    def do_observe(self) -> None:
        rewards = self.rewards()
        self.agent.observe(self.name, rewards)
        self.booked.append((rewards, None))

    def do_mapping(self) -> None:
        rewards = self.rewards()
        self.agent.observe({self.name: rewards})
        self.booked.append((rewards, None))

    def do_costs(self) -> None:
        rewards = self.rewards()
        costs = (
            (10.0 ** self.rng.integers(-3, 6, len(rewards)) * self.rng.random(len(rewards)))
            .round(2)
            .tolist()
        )
        self.agent.observe(self.name, rewards, costs=costs)
        self.booked.append((rewards, costs))

    def do_sum(self) -> None:
        rewards = self.rewards()
        squares = sum(reward**2 for reward in rewards) if self.row.sigma is not None else None
        self.agent.observe(self.name, count=len(rewards), total=sum(rewards), squares=squares)
        self.booked.append((rewards, None))

    def do_correct(self) -> None:
        if not self.booked:
            return
        rewards, costs = self.booked.pop(int(self.rng.integers(len(self.booked))))
        now = self.rewards() if self.rng.random() < 0.5 else None
        try:
            self.agent.correct(
                self.name,
                was=rewards,
                now=now,
                was_costs=costs if self.rng.random() < 0.7 else None,
            )
        finally:
            if now is not None:
                self.booked.append((now, None))

    def do_terms(self) -> None:
        self.agent.set_threshold(self.name, float(self.rng.choice(self.thresholds())))

    def do_other(self) -> None:
        which = self.rng.integers(6)
        if which == 0:
            self.agent.set_policy(str(self.rng.choice(list(POLICIES))))
        elif which == 1:
            self.agent.expect(self.name, int(self.rng.integers(5)))
        elif which == 2:
            self.agent.add_category(
                pb.Category(f"late {len(self.agent)}", pb.Poisson(), threshold=2.0, bound=9.0)
            )
        elif which == 3:
            self.agent.remove_category(self.agent.names[-1])
            if self.name not in self.agent:
                self.agent.add_category(self.row.category())
                self.booked = []
        elif which == 4:
            self.agent.pause(self.name)
        else:
            self.agent.decide()


# Some are at an edge.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:threshold:profitable.errors.ProfitableWarning")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_what_is_saved_can_be_loaded(tmp_path: Path, row: FamilyRow, policy: str) -> None:
    path, again = tmp_path / "agent.json", tmp_path / "again.json"
    for seed in SEEDS:
        history = History(row, policy, seed)
        for _ in range(STEPS):
            try:
                history.step()
            except pb.errors.InputError:
                continue  # refused, as it must be; the agent is as it was
            history.agent.save(path)
            twin = pb.Agent.load(path)
            twin.save(again)
            assert again.read_bytes() == path.read_bytes()
            assert str(twin) == str(history.agent)
            assert twin.explain("it") == history.agent.explain("it") if "it" in twin else True
