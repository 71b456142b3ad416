"""A decision says the same whenever it is asked.

Decisions share the agent's table, and undo later changes when they are read.  So two
agents with the same seed live the same life; one's decisions are read at once, the
other's when everything is over.
"""

import copy
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.agent.changes import SHORTEST_LOG

POLICIES = (
    *("kl-ucb", "kl-ucb:c=3", "kl-ucb+", "bayes-ucb", "ts", "optimal", "kl-emp-ucb"),
    *("ts:floor=0.1", "kl-ucb:forget=0.9", "bayes-ucb:window=7", "kl-ucb+:count=rounds"),
)
ROUNDS = 300
CHANGES_OF_POLICY = 90  # a change of policy in one of so many rounds


def category(name: str) -> pb.Category:
    return pb.Category(name, pb.Bernoulli(), threshold=0.4)


def new_agent(policy: str, size: int = 4) -> pb.Agent:
    return pb.Agent([category(f"c{k}") for k in range(size)], policy=policy, seed=3)


def read(decision: pb.Decision) -> dict[str, Any]:
    """Return everything a decision says; arrays as bytes, equal to the last bit."""
    said: dict[str, Any] = {
        **decision.record(),
        "evidence in nats": decision.evidence,
        "patience in nats": decision.patience,
        "mask": decision.accepted_mask,
        "pauses": decision.paused_mask,
        "chance": decision.propensity,
        "names": decision.accepted,
        "each": [decision.accepts(name) for name in decision.names],
    }
    return {
        key: each.tobytes() if isinstance(each, np.ndarray) else each for key, each in said.items()
    }


class Life:
    """Rounds of an agent, in which everything happens that changes its table."""

    def __init__(self, policy: str) -> None:
        self.agent, self.policy = new_agent(policy), policy
        self.rng = np.random.default_rng(11)
        self.last: tuple[str, list[float], int] | None = None

    def decide(self) -> pb.Decision:
        agent, names = self.agent, self.agent.names
        kind = self.rng.random()
        if kind < 0.06:
            return agent.decide(available=names[::2])
        if kind < 0.12:
            demand = {name: int(self.rng.integers(5)) for name in names}
            return agent.decide(places=int(self.rng.integers(1, 9)), demand=demand)
        return agent.decide()

    def change(self) -> None:
        agent, rng = self.agent, self.rng
        name = str(rng.choice(agent.names))
        rewards = rng.integers(0, 2, size=int(rng.integers(1, 4))).astype(float).tolist()
        kind = rng.random()
        if kind < 0.5:
            agent.observe(name, rewards[:1] if kind < 0.3 else rewards)
            self.last = name, rewards[:1] if kind < 0.3 else rewards, agent.round
        elif kind < 0.6:
            agent.observe({each: [float(rng.integers(2))] for each in agent.names})
        elif kind < 0.66:
            agent.pause(name)
        elif kind < 0.74:
            agent.resume(name)
        elif kind < 0.8:
            agent.set_threshold(name, float(rng.uniform(0.2, 0.7)))
        elif kind < 0.84:
            agent.expect({name: 2})
        elif kind < 0.92 and self.last is not None and self.last[2] == agent.round:
            name, was, counted_in = self.last
            agent.correct(name, was=was, now=[1.0 - each for each in was], counted_in=counted_in)
            self.last = None
        elif kind < 0.93 and len(agent) < 40:
            agent.add_category(category(f"c{len(agent)} of {agent.round}"))

    def finish(self, decision: pb.Decision) -> None:
        for _ in range(int(self.rng.integers(4))):
            self.change()
        if self.policy == "kl-emp-ucb":  # which needs more than other policies keep
            return
        if decision.round % CHANGES_OF_POLICY == 0:
            self.agent.set_policy("kl-ucb" if self.policy == "ts" else "ts")
        elif decision.round > 10 and decision.round % CHANGES_OF_POLICY == 10:
            self.agent.set_policy(self.policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_decisions_that_are_read_late_say_what_they_said(policy: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.errors.ProfitableWarning)
        now, later = Life(policy), Life(policy)
        said: list[dict[str, Any]] = []
        kept: list[pb.Decision] = []
        for _ in range(ROUNDS):
            decision = now.decide()
            said.append(read(decision))
            now.finish(decision)
            decision = later.decide()
            kept.append(decision)
            later.finish(decision)
    assert now.agent.names == later.agent.names
    order = np.random.default_rng(5).permutation(ROUNDS)
    for place in order.tolist():
        assert read(kept[place]) == said[place], f"round {place + 1}"


@pytest.mark.parametrize("policy", POLICIES)
def test_more_rewards_than_the_log_has_room_for(policy: str) -> None:
    now, later = new_agent(policy), new_agent(policy)
    said = [read(now.decide())]
    kept = [later.decide()]
    for agent in (now, later):
        for place in range(3 * SHORTEST_LOG):
            agent.observe(f"c{place % 3}", [float(place % 2)])
    said.append(read(now.decide()))
    kept.append(later.decide())
    later.observe({"c0": [0.0] * 99, "c3": [0.0]})
    assert [read(each) for each in kept] == said


@pytest.mark.parametrize("policy", POLICIES)
def test_copies_of_decisions_and_agents_have_numbers_of_their_own(policy: str) -> None:
    agent, twin = new_agent(policy), new_agent(policy)
    for each in (agent, twin):
        each.decide()
        each.observe("c0", [0.0, 1.0, 0.0])
    decision, said = agent.decide(), read(twin.decide())
    agent.observe("c0", [0.0])  # the copies are made of a decision that has to undo it
    twin.observe("c0", [0.0])
    copies = [copy.copy(decision), copy.deepcopy(decision), pickle.loads(pickle.dumps(decision))]
    agents = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    expected = read(twin.decide())
    twin.observe("c1", [0.0])
    after = read(twin.decide())
    for each in agents:
        kept = each.decide()
        each.observe("c1", [0.0])
        assert read(each.decide()) == after
        assert read(kept) == expected
    assert read(decision) == said
    assert [read(each) for each in copies] == [said] * 3


@pytest.mark.parametrize("policy", POLICIES)
def test_decisions_are_read_by_a_thread_while_the_agent_observes(policy: str) -> None:
    agent, twin = new_agent(policy, 30), new_agent(policy, 30)
    kept: list[pb.Decision] = []
    said: list[dict[str, Any]] = []
    found: dict[int, dict[str, Any]] = {}
    is_over = threading.Event()

    def look() -> None:
        is_last = False
        while not is_last:
            is_last = is_over.is_set()  # before the look at what is there
            for place in range(len(found), len(kept)):
                found[place] = read(kept[place])

    reader = threading.Thread(target=look)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.errors.ProfitableWarning)
        reader.start()
        try:
            for place in range(150):
                kept.append(agent.decide())
                said.append(read(twin.decide()))
                for each in (agent, twin):
                    each.observe(f"c{place % 30}", [float(place % 2)])
                    each.observe(f"c{place % 7}", [0.0, 1.0])
        finally:
            is_over.set()
            reader.join()
    assert [found[place] for place in range(150)] == said


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("policy", ["kl-ucb", "kl-ucb:forget=0.9", "ts", "optimal"])
def test_a_decision_knows_categories_that_were_removed_since(policy: str, is_read: bool) -> None:
    family = pb.Bernoulli()
    names = ("a", "b", "c")
    agent = pb.Agent(
        [pb.Category(name, family, threshold=0.5) for name in names], policy=policy, seed=1
    )
    agent.decide()
    agent.observe({"a": [1], "c": [0] * 40})
    decision = agent.decide()
    before = decision.accepted if is_read else None
    agent.remove_category("a")
    asked = tuple(name for name in names if decision.accepts(name))
    assert asked == decision.accepted
    assert before in (None, asked)
    later = agent.decide()
    assert tuple(name for name in ("b", "c") if later.accepts(name)) == later.accepted


@pytest.mark.parametrize("policy", ["kl-ucb", "ts"])
def test_verdicts_follow_a_table_that_grows(policy: str) -> None:
    family = pb.Bernoulli()
    agent = pb.Agent([pb.Category("0", family, threshold=0.5)], policy=policy, seed=1)
    for number in range(1, 40):
        agent.observe(str(number - 1), [0] * 60)
        earlier = agent.decide()
        agent.add_category(pb.Category(str(number), family, threshold=0.5))
        agent.observe(str(number), [0] * 60)
        assert [earlier.accepts(name) for name in earlier.names] == earlier.accepted_mask.tolist()
        later = agent.decide()
        assert not later.accepts(str(number))
        assert later.accepts(str(number)) == bool(later.accepted_mask[-1])
