"""Agents that change: categories that go, other policies, copies, threads, counters at
their end.
"""

import copy
import pickle
import threading
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable import errors
from profitable.policy.policies import POLICIES
from tests.matrix import FAMILIES, FamilyRow
from tests.small_agent import portfolio


def three(policy: pb.Policy | str = "kl-ucb") -> pb.Agent:
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.4) for name in "abc"]
    agent = pb.Agent(categories, policy=policy, seed=7)
    agent.observe({"a": [0, 0, 1], "b": [1, 1], "c": [0] * 9})
    return agent


def test_a_policy_can_be_given_by_its_name() -> None:
    assert pb.Agent(
        [pb.Category("a", pb.Bernoulli(), threshold=0.4)], policy="kl-ucb:c=3"
    ).policy == pb.KLUCB(c=3)


def test_an_agent_is_a_collection_of_names() -> None:
    assert list(three()) == ["a", "b", "c"]
    assert [three()[name].clients for name in three()] == [3, 2, 9]


def test_a_removed_category_leaves_no_trace() -> None:
    agent, smaller = (
        three("ts"),
        pb.Agent(
            [pb.Category(name, pb.Bernoulli(), threshold=0.4) for name in "ac"], policy="ts", seed=7
        ),
    )
    smaller.observe({"a": [0, 0, 1], "c": [0] * 9})
    agent.pause("c")
    smaller.pause("c")
    before = agent.decide(available=[])
    smaller.decide(available=[])
    assert agent.remove_category("b").clients == 2
    assert str(agent) == str(smaller)
    for _ in range(5):
        assert agent.decide().to_dict() == smaller.decide().to_dict()
    assert len(before) == 0
    with pytest.raises(errors.UnknownCategoryError):
        agent.observe("b", [1])
    agent.add_category(pb.Category("b", pb.Poisson(), threshold=3.0))
    assert agent["b"].clients == 0


def test_a_decision_outlives_the_categories_it_was_about() -> None:
    agent = three()
    agent.decide()
    decision = agent.decide()
    shown = decision.to_dict()
    agent.remove_category("a")
    agent.set_policy("ts")
    assert decision.to_dict() == shown
    assert decision.policy == pb.KLUCB()


def test_the_last_category_stays() -> None:
    agent = three()
    agent.remove_category("a")
    agent.remove_category("b")
    with pytest.raises(errors.InputError, match="only one"):
        agent.remove_category("c")


@pytest.mark.parametrize("old", POLICIES)
@pytest.mark.parametrize("new", POLICIES)
def test_the_past_keeps_counting_under_another_policy(old: str, new: str) -> None:
    """Zeros and ones say everything that a policy can ask for: the agent is as if it
    had had the new one always.
    """
    # Accepts all in round 1.
    old, new = (f"{name}:horizon=1e9" if name == "optimal" else name for name in (old, new))
    agent, always = three(old), three(new)
    for each in (agent, always):
        each.decide()
        each.expect("a", 4)
        each.observe("a", [1], costs=[3.0])
    agent.set_policy(new)
    assert agent.policy == always.policy
    assert [agent[name] for name in agent] == [always[name] for name in always]
    assert agent.decide().to_dict() == always.decide().to_dict()
    agent.correct("a", was=1)
    always.correct("a", was=1)
    assert agent["a"] == always["a"]


@pytest.mark.parametrize("new", POLICIES)
@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_a_change_of_policy_is_right_or_refused(row: FamilyRow, new: str) -> None:
    for old in ("kl-ucb", "kl-emp-ucb", "ucb-v"):
        agent, always = (pb.Agent([row.category()], policy=policy, seed=1) for policy in (old, new))
        agent.observe("it", [*row.rewards(4, seed=3), row.largest])
        always.observe("it", [*row.rewards(4, seed=3), row.largest])
        before = str(agent)
        try:
            agent.set_policy(new)
        except errors.SumNotEnoughError:
            assert str(agent) == before
        else:
            assert agent["it"].evidence == pytest.approx(always["it"].evidence, rel=1e-9, abs=1e-12)
            assert agent["it"].mean == pytest.approx(always["it"].mean)


def test_what_a_change_of_policy_cannot_know_is_refused() -> None:
    agent = pb.Agent(
        [pb.Category("a", pb.Exponential(), threshold=2.0, bound=10.0)], policy="kl-ucb"
    )
    agent.observe("a", [1.0, 3.0])
    with pytest.raises(errors.SumNotEnoughError, match="single rewards"):
        agent.set_policy("ucb-v")
    agent.set_policy("kl-bernoulli-ucb")  # the total is 4, so no reward was above 10
    agent.observe("a", [30.0])
    with pytest.raises(errors.SumNotEnoughError, match="cuts rewards"):
        agent.set_policy("ts")
    agent.observe("a", count=1, total=3.0)
    with pytest.raises(errors.MissingBoundError):
        portfolio(pb.KLUCB()).set_policy("ucb-v")


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))]
)
def test_a_copy_is_an_agent_of_its_own(copied: object) -> None:
    for policy in ("ts", "kl-emp-ucb"):
        agent, twin = three(policy), three(policy)
        other = copied(agent)  # type: ignore[operator]
        other.observe("a", [1, 1, 1])
        other.pause("b")
        other.set_threshold("c", 0.1)
        other.add_category(pb.Category("d", pb.Bernoulli(), threshold=0.2))
        for _ in range(3):
            other.decide()
        assert str(agent) == str(twin)
        assert agent.category("c") == twin.category("c")
        for _ in range(3):
            assert agent.decide().to_dict() == twin.decide().to_dict()


def test_threads_take_turns() -> None:
    """Every outcome is counted once, and a decision fits the present categories."""
    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.4)], policy="ts", seed=1)
    failures: list[BaseException] = []
    go = threading.Barrier(4)

    def run(work: object, times: int) -> None:
        go.wait()
        try:
            for i in range(times):
                work(i)  # type: ignore[operator]
        except BaseException as error:
            failures.append(error)

    def add(i: int) -> None:
        agent.add_category(pb.Category(f"new {i}", pb.Bernoulli(), threshold=0.4))

    jobs = [
        (lambda _: agent.observe("a", [0, 1]), 400),
        (lambda _: agent.observe("a", np.zeros(3)), 400),
        (lambda _: agent.decide().to_columns(), 150),
        (add, 150),
    ]
    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (agent["a"].clients, agent.round, len(agent)) == (2_000, 150, 151)


def test_counters_end_before_they_are_wrong() -> None:
    agent = three()
    agent.observe("a", count=10**15 - 5, total=0)
    clients = agent["a"].clients
    for refused in ([0, 0, 0], {"rewards": [0, 0, 0], "costs": [1, 1, 1]}):
        with pytest.raises(errors.ParameterError, match="more than can be counted"):
            agent.observe("a", **refused) if isinstance(refused, dict) else agent.observe(
                "a", refused
            )
    with pytest.raises(errors.ParameterError, match="more than can be counted"):
        agent.observe({"b": [1], "a": [0, 0, 0]})
    with pytest.raises(errors.ParameterError, match="more than can be counted"):
        agent.correct("a", was=0, now=[0, 0, 0, 0])
    assert (agent["a"].clients, agent["b"].clients) == (clients, 2)
    agent.observe("a", [0, 0])
    assert agent["a"].clients == 10**15


def test_no_more_money_is_taken_back_than_was_booked() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("shops", [4.0, 5.0], costs=[1.0, 1.0])
    before = agent["shops"]
    with pytest.raises(errors.CorrectionError, match="take back 3, where 2 was booked as cost"):
        agent.correct("shops", was=4.0, was_costs=3.0)
    with pytest.raises(errors.CorrectionError, match="booked as cost"):
        # Nobody would be left, and a cost of 0.5.
        agent.correct("shops", was=[4.0, 5.0], was_costs=[0.5, 1.0])
    agent.observe("car loans", [1, 0], costs=[500, 800])
    with pytest.raises(errors.CorrectionError, match="booked as revenue"):
        agent.correct("car loans", was=1, was_costs=800)
    assert agent["shops"] == before


def test_nothing_is_left_when_everything_is_taken_back() -> None:
    agent = portfolio(pb.KLUCB())
    for cost in (0.1, 0.2, 0.3):
        agent.observe("shops", [cost], costs=[cost])
    agent.correct("shops", was=[0.3, 0.1, 0.2], was_costs=[0.3, 0.1, 0.2])
    assert (agent["shops"].revenue, agent["shops"].cost, agent["shops"].clients) == (0.0, 0.0, 0)


def test_costs_of_a_category_that_pays_to_be_accepted() -> None:
    agent = pb.Agent([pb.Category("a", pb.Gaussian(sigma=1.0), threshold=-2.0)], policy="kl-ucb")
    agent.observe("a", [0.5])
    agent.observe("a", [0.5], costs=[-3.0])
    assert agent["a"].cost == -5.0
    assert agent["a"].profit == 6.0


def test_one_reward_has_no_spread_under_the_next_policy() -> None:
    category = pb.Category("a", pb.Bounded(low=0.0, high=5.0), threshold=4.0)
    changed, fresh = pb.Agent([category], policy="kl-emp-ucb"), pb.Agent([category], policy="ucb-v")
    for agent in (changed, fresh):
        agent.observe("a", [2.9])
    changed.set_policy("ucb-v")
    assert changed["a"].evidence == fresh["a"].evidence


def test_a_loan_takes_a_decimal_threshold() -> None:
    agent = pb.Agent([pb.Category.loan("a", amount=1_000, rate=0.1)], policy="kl-ucb")
    threshold: Any = Decimal("0.8")
    agent.set_threshold("a", threshold)
    assert agent.category("a").worth == 1_250.0


def test_an_integer_beyond_all_doubles_names_its_category() -> None:
    with pytest.raises(errors.RewardError) as caught:
        three().observe({"a": [1, 0], "b": [1, 10**400]})
    assert caught.value.category == "b"
