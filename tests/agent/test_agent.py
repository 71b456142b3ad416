"""The agent as a user calls it."""

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from tests.small_agent import portfolio


def test_round_one_accepts_everybody_even_with_bad_history() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [0] * 500)
    decision = agent.decide()
    assert decision.accepted == ("students", "shops", "car loans")
    assert decision["students"].reason == "accepted: in round 1 every category is"
    assert agent.decide().accepted == ("shops", "car loans")


def test_observing_many_at_once_is_the_same_and_all_or_nothing() -> None:
    one, many = portfolio(pb.KLUCB()), portfolio(pb.KLUCB())
    one.observe("students", [1, 0])
    one.observe("shops", count=3, total=7.5)
    many.observe({"students": [1, 0], "shops": pb.Batch(count=3, total=7.5)})
    assert [one[name] for name in one.names] == [many[name] for name in many.names]
    before = str(many)
    with pytest.raises(pb.errors.RewardError):
        many.observe({"students": [1], "shops": [-1.0]})
    with pytest.raises(pb.errors.UnknownCategoryError):
        many.observe({"students": [1], "nobody": [1]})
    assert str(many) == before


def test_rewards_may_be_one_number_an_array_or_booleans() -> None:
    agents = [portfolio(pb.BayesUCB()) for _ in range(4)]
    for agent, rewards in zip(
        agents, (1, [1.0], np.array([1], dtype=np.uint8), [True]), strict=True
    ):
        agent.observe("students", rewards)
    assert len({agent["students"] for agent in agents}) == 1


def test_outcomes_may_come_late_and_are_waited_for() -> None:
    agent = portfolio(pb.KLUCB())
    for _ in range(50):
        assert agent.decide().accepted == agent.names  # no outcome, nothing against anybody
    agent.expect("students", 12)
    agent.expect({"students": 3, "shops": 1})
    assert agent.waiting == {"students": 15, "shops": 1}
    agent.observe("students", [0] * 10)
    assert agent.decide()["students"].waiting == 5
    assert "Waiting for the outcome of 5 accepted clients." in agent.explain("students")
    agent.observe("students", count=20, total=3)
    assert agent["students"].waiting == 0


def test_costs_and_profit() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [1, 0, 0, 1])
    assert agent["students"].profit == pytest.approx(2 - 4 * 0.2)
    agent.observe("shops", [4.0, 2.0], costs=[1.0, 2.5])
    agent.observe("shops", count=1, total=5.0, costs=6.0)
    assert agent["shops"].profit == pytest.approx(11.0 - 9.5)
    agent.observe("car loans", [1, 0], costs=[900.0, 1_100.0])
    assert agent["car loans"].revenue == pytest.approx(1.12 * 900.0)
    assert agent["car loans"].profit == pytest.approx(1.12 * 900.0 - 2_000.0)
    agent.observe("car loans", count=10, total=9)
    assert agent["car loans"].profit == pytest.approx(
        1.12 * 900.0 - 2_000.0 + 9 * 1_120.0 - 10_000.0
    )
    assert agent.profit == pytest.approx(sum(agent[name].profit or 0.0 for name in agent.names))
    # Costs never touch the evidence.
    assert agent["car loans"].clients == 12
    assert agent["car loans"].mean == pytest.approx(10 / 12)


def test_a_loan_is_a_bernoulli_category() -> None:
    loan = pb.Category.loan("loan", amount=1_000, rate=0.12)
    assert loan.threshold == 1 / 1.12
    plain = pb.Category("loan", pb.Bernoulli(), threshold=1 / 1.12)
    agents = [pb.Agent([category], policy=pb.BayesUCB()) for category in (loan, plain)]
    for agent in agents:
        agent.observe("loan", [1] * 30 + [0] * 9)
    assert agents[0]["loan"].evidence == agents[1]["loan"].evidence


def test_set_threshold_keeps_the_past() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [1, 0, 0, 0] * 10)
    fresh = pb.Agent([pb.Category("students", pb.Bernoulli(), threshold=0.5)], policy=pb.KLUCB())
    fresh.observe("students", [1, 0, 0, 0] * 10)
    agent.set_threshold("students", 0.5)
    assert agent["students"].evidence == fresh["students"].evidence
    # What was paid then was paid then.
    assert agent["students"].profit == pytest.approx(10 - 40 * 0.2)
    agent.observe("students", [0])
    assert agent["students"].profit == pytest.approx(10 - 40 * 0.2 - 0.5)
    agent.set_threshold("car loans", 1 / 1.5)
    assert agent.category("car loans").worth == pytest.approx(1_500)
    assert agent.category("car loans").price == 1_000
    with pytest.raises(pb.errors.ThresholdError):
        agent.set_threshold("students", 1.5)
    assert agent["students"].threshold == 0.5


def test_pause_and_resume() -> None:
    agent = portfolio(pb.KLUCB())
    agent.pause("shops")
    decision = agent.decide()
    assert decision.accepted == ("students", "car loans")
    assert decision["shops"].reason.startswith("paused")
    assert decision["shops"].propensity == 0.0
    assert not decision.accepts("shops")
    assert agent["shops"].paused
    agent.observe("shops", [3.0])
    agent.resume("shops")
    assert "shops" in agent.decide().accepted


def test_added_categories_start_accepted_at_the_program_s_clock() -> None:
    agent = portfolio(pb.KLUCB())
    for _ in range(99):
        agent.decide()
    agent.add_category(pb.Category("new", pb.Bernoulli(), threshold=0.5))
    decision = agent.decide()
    assert decision["new"].accepted
    agent.observe("new", [0, 0])
    assert agent.decide()["new"].patience == pytest.approx(math.log(100))
    for i in range(40):
        agent.add_category(pb.Category(f"more {i}", pb.Poisson(), threshold=1.0))
    assert agent["students"].clients == 0
    assert len(agent.decide()) == 44


def test_kl_emp_says_what_memory_it_needs() -> None:
    category = pb.Category("shops", pb.Exponential(), threshold=3.0, bound=100.0)
    agent = pb.Agent([category], policy=pb.KLEmpUCB())
    start = agent.memory
    agent.observe("shops", np.linspace(0.5, 5.0, 1_000))
    assert agent.memory - start == 16_000
    assert "Remembers 1 000 distinct rewards (16 000 bytes)." in agent.explain("shops")
    counts = pb.Agent(
        [pb.Category("c", pb.Poisson(), threshold=3.0, bound=100.0)], policy=pb.KLEmpUCB()
    )
    counts.observe("c", np.arange(1_000) % 7)
    assert counts.memory - start == 7 * 16


def test_bounded_policies_cut_and_the_others_do_not() -> None:
    category = pb.Category("p", pb.Poisson(), threshold=3.0, bound=10.0)
    bounded, plain = (
        pb.Agent([category], policy=pb.KLBernoulliUCB()),
        pb.Agent([category], policy=pb.KLUCB()),
    )
    for agent in (bounded, plain):
        agent.observe("p", [25, 1])
        assert agent["p"].revenue == 26
    assert bounded["p"].mean == pytest.approx(5.5)
    assert plain["p"].mean == pytest.approx(13.0)


@pytest.mark.slow
def test_one_category_and_many() -> None:
    """`benchmarks/online.py` decides about a million."""
    size = 200_000
    categories = [pb.Category(f"c{i}", pb.Bernoulli(), threshold=0.5) for i in range(size)]
    agent = pb.Agent(categories, policy=pb.ThompsonSampling(), seed=1)
    assert int(agent.decide().accepted_mask.sum()) == size
    agent.observe({f"c{i}": [0, 0, 0] for i in range(0, size, 200)})
    decision = agent.decide()
    rejected = size - int(decision.accepted_mask.sum())
    assert 900 < rejected <= 1_000
    assert decision["c0"].clients == 3
    assert len(decision) == size
    single = pb.Agent(categories[:1], policy=pb.KLUCB())
    assert single.decide().accepted == ("c0",)


def test_evidence_is_recomputed_only_where_something_changed() -> None:
    from profitable.kernels.agent_table import AgentRow

    agent = portfolio(pb.BayesUCB())
    agent.observe({"students": [1, 0], "shops": [2.0], "car loans": [1]})
    agent.ledger.table[AgentRow.EVIDENCE, :3] = 123.0  # a mark that a recomputation would wipe out
    agent.decide()
    agent.observe("shops", [4.0])
    assert [agent[name].evidence == 123.0 for name in agent.names] == [True, False, True]
    agent.set_threshold("students", 0.3)
    assert [agent[name].evidence == 123.0 for name in agent.names] == [False, False, True]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_goes_its_own_way(copied: Callable[[pb.Agent], pb.Agent]) -> None:
    agent = portfolio(pb.KLUCB())
    agent.decide()
    twin = copied(agent)
    twin.observe("students", [0] * 50)
    assert twin.decide().accepted == ("shops", "car loans")
    assert agent.decide().accepted == ("students", "shops", "car loans")


def test_bounded_policies_see_negative_rewards() -> None:
    category = pb.Category("a", pb.Gaussian(sigma=1.0), threshold=0.5, bound=5.0)
    for policy in (pb.KLBernoulliUCB(), pb.KLEmpUCB(), pb.UCBV(), pb.KLGaussianUCB()):
        agent = pb.Agent([category], policy=policy)
        agent.observe("a", [-10.0, 2.0] * 500)
        agent.decide()
        assert agent["a"].mean == pytest.approx(-1.5)
        assert not agent.decide()["a"].accepted


@pytest.mark.usefixtures("own_classes")
def test_your_own_policy_is_known_by_its_name(tmp_path: Path) -> None:
    """Saved, loaded again, and refused where the name means another class by now."""

    def define() -> type[pb.Policy]:
        class Mine(pb.KLUCB):
            name = "mine"

        return Mine

    first = define()
    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=first())
    agent.decide()
    agent.save(tmp_path / "agent.json")
    assert isinstance(pb.Agent.load(tmp_path / "agent.json").policy, first)
    second = define()
    assert isinstance(pb.Agent.load(tmp_path / "agent.json").policy, second)
    with pytest.raises(pb.errors.StateFileError, match="Mine"):
        agent.save(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()


@pytest.mark.parametrize(
    ("base", "contents", "problem"),
    [
        (
            pb.Policy,
            {"name": "kl-ucb", "rule": pb.KLUCB.rule, "terms": None},
            "'kl-ucb', which belongs to KLUCB",
        ),
        (pb.Policy, {"rule": pb.KLUCB.rule}, "has no name"),
        (pb.Policy, {"name": "ruleless"}, "has no rule"),
        (pb.Policy, {"name": "impatient", "rule": pb.KLUCB.rule}, "has no terms"),
        (
            pb.KLUCB,
            {"name": "old", "patience": lambda self, t: 1.0},
            "its own patience, .*: give it terms",
        ),
        (
            pb.KLUCB,
            {"name": "old", "next_round": lambda self, nats, now: None},
            "its own next_round, ",
        ),
        (
            pb.KLUCB,
            {"name": "old", "next_rounds": lambda self, nats, now: None},
            "its own next_rounds, ",
        ),
        (pb.Family, {"name": "lawless"}, "has no make_view"),
        (
            pb.Family,
            {"name": "poisson", "make_view": pb.Poisson.make_view},
            "'poisson', which belongs to Poisson",
        ),
    ],
)
def test_a_class_that_lacks_something_is_refused_when_it_is_defined(
    base: type, contents: dict[str, object], problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        type("Mine", (base,), contents)
