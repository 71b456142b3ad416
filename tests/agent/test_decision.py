"""Decisions: what they say, that they never change, and when a rejected category comes
back.
"""

import math
from typing import Any

import pytest

import profitable as pb
from tests.small_agent import portfolio


def test_the_design_page_s_example() -> None:
    """Evidence 8.1, patience 6.9: accepted again in round 3 296."""
    assert pb.KLUCB().next_round(8.1, 1_000) == 3_296
    agent = pb.Agent([pb.Category("a", pb.Gaussian(sigma=1.0), threshold=0.0)], policy=pb.KLUCB())
    agent.observe("a", [-math.sqrt(2 * 8.1)])
    for _ in range(1_000):
        verdict = agent.decide()["a"]
    assert verdict.evidence == pytest.approx(8.1)
    assert verdict.next_round == 3_296
    assert (
        verdict.reason
        == "skipped: evidence 8.1 nats against it, patience 6.91; it can be accepted "
        "again in round 3 296"
    )


def test_next_round_at_powers_of_two() -> None:
    policy = pb.KLUCB()
    for k in range(1, 59):
        assert policy.next_round(policy.patience(2**k), 1) == _first(policy, 2**k) + 1
    assert policy.next_round(50.0, 1) is None
    assert policy.next_round(math.inf, 1) is None


def _first(policy: pb.Policy, t: int) -> int:
    """The smallest t with that patience: neighbours of a large t may be one double."""
    while t > 1 and policy.patience(t - 1) == policy.patience(t):
        t -= 1
    return t


def test_patience_never_falls() -> None:
    for policy in (pb.KLUCB(), pb.KLUCB(c=3), pb.KLUCBPlus(c=0.5, inflate=10)):
        values = [policy.patience(t) for t in range(1, 2_000)]
        assert values == sorted(values)
        assert values[0] == math.log(policy.inflate)
    assert pb.KLUCB(c=3).patience(100) == pytest.approx(math.log(100) + 3 * math.log(math.log(100)))


def test_a_decision_does_not_change_afterwards() -> None:
    for policy in (pb.KLUCB(), pb.ThompsonSampling()):
        agent = portfolio(policy)
        agent.decide()
        agent.observe("students", [0, 1, 0])
        decision = agent.decide()
        before = decision.to_json()
        agent.observe({"students": [0] * 100, "shops": [0.1] * 50})
        agent.set_threshold("students", 0.9)
        agent.pause("shops")
        agent.add_category(pb.Category("new", pb.Poisson(), threshold=2.0))
        assert decision.to_json() == before
        assert "new" not in decision
        assert "new" in agent.decide()


def test_deciding_about_the_available_categories_only() -> None:
    agent = portfolio(pb.KLUCB())
    agent.decide()
    agent.observe("students", [0] * 60)
    decision = agent.decide(available=["car loans", "students"])
    assert decision.names == ("students", "car loans")  # the agent's own order: a set has none
    assert decision.accepted == ("car loans",)
    assert decision.rejected == ("students",)
    assert not decision["students"].accepted
    assert "shops" not in decision
    assert agent.round == 2
    with pytest.raises(pb.errors.UnknownCategoryError, match="was not decided about"):
        decision["shops"]


def test_same_seed_same_decisions() -> None:
    one, other, third = (
        portfolio(pb.ThompsonSampling()),
        portfolio(pb.ThompsonSampling()),
        portfolio(pb.ThompsonSampling(), 8),
    )
    different = False
    for agent in (one, other, third):
        agent.decide()
        agent.observe("students", [1, 0, 0, 0])
    for _ in range(50):
        first = one.decide()
        assert first.to_dict() == other.decide().to_dict()
        different |= first.patience[0] != third.decide().patience[0]
    assert different


def test_explanations_read_well() -> None:
    agent = portfolio(pb.KLUCB())
    assert "Round 1: accepted, as every category is in the first round." in agent.explain(
        "students"
    )
    agent.decide()
    agent.observe("students", [0] * 40)
    before = agent.round
    text = agent.explain("students")
    assert agent.round == before
    assert "Seen: 40 clients with mean 0." in text
    assert "it can be accepted again in round 7 525" in text
    assert "comes back as 1 120 or not at all" in agent.explain("car loans")
    agent.pause("students")
    assert "paused" in agent.explain("students")
    thompson = portfolio(pb.ThompsonSampling())
    thompson.decide()
    thompson.observe("students", [1, 0])
    assert "accepted with probability" in thompson.explain("students")


def test_tables() -> None:
    agent = portfolio(pb.KLUCB())
    decision = agent.decide()
    assert "3 of 3 categories accepted" in str(decision)
    assert decision._repr_html_().startswith("<table>")
    assert (
        "&lt;b&gt;"
        in pb.Agent(
            [pb.Category("<b>", pb.Poisson(), threshold=1.0)], policy=pb.KLUCB()
        )._repr_html_()
    )
    many = pb.Agent(
        [pb.Category(str(i), pb.Poisson(), threshold=1.0) for i in range(1_000)], policy=pb.KLUCB()
    )
    assert "... and 980 more" in str(many.decide())
    assert len(str(many).splitlines()) < 30
    assert repr(many).startswith("<Agent")
    assert repr(decision).startswith("<Decision")


def test_a_decision_cannot_be_written_to() -> None:
    decision = portfolio(pb.KLUCB()).decide()
    for array in (decision.accepted_mask, decision.evidence, decision.patience):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        decision.round = 5  # type: ignore[misc]


def test_draws_do_not_depend_on_the_order_of_the_available() -> None:
    decisions = []
    for available in (["students", "shops", "car loans"], ["car loans", "shops", "students"]):
        agent = portfolio(pb.ThompsonSampling())
        agent.decide()
        agent.observe({"students": [0], "shops": [1.0], "car loans": [1]})
        decisions.append([agent.decide(available=available).to_dict() for _ in range(20)])
    assert decisions[0] == decisions[1]


def test_nobody_available_is_a_round_without_decisions() -> None:
    for policy in (pb.KLUCB(), pb.ThompsonSampling(), pb.KLEmpUCB()):
        agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=policy, seed=1)
        agent.decide()
        decision = agent.decide(available=[])
        assert decision.accepted == ()
        assert len(decision) == 0
        assert "0 of 0" in str(decision)
        assert agent.round == 2


def test_bayes_ucb_says_why_round_two_is_empty() -> None:
    agent = portfolio(pb.BayesUCB())
    agent.decide()
    agent.observe("students", [1] * 10_000)
    decision = agent.decide()
    assert "order 0" in decision["students"].reason
    assert "e-324" not in str(decision)


def test_explanations_mention_the_prior() -> None:
    prior = pb.Prior.like(clients=200, mean=0.8)
    category = pb.Category("a", pb.Bernoulli(), threshold=0.9, prior=prior)
    text = pb.Agent([category], policy=pb.BayesUCB()).explain("a")
    assert "Believed before: like 200 clients with mean 0.8." in text
    assert str(pb.Prior.beta(2, 3)) == "beta prior with a 2 and b 3"


@pytest.mark.parametrize("share", [-1, 2, math.nan, math.inf, None, "x"])
def test_a_share_is_a_probability(share: Any) -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [0, 1])
    with pytest.raises(pb.errors.ParameterError, match="share"):
        agent.decide().interval("students", share)


@pytest.mark.parametrize("number", [-1, 1.5, None, "x"])
def test_a_head_has_a_whole_number_of_verdicts(number: Any) -> None:
    with pytest.raises(pb.errors.ParameterError, match="number"):
        portfolio(pb.KLUCB()).decide().head(number)


def test_a_list_is_no_name() -> None:
    agent = portfolio(pb.KLUCB())
    name: Any = ["students"]
    assert name not in agent
    with pytest.raises(pb.errors.UnknownCategoryError):
        agent.decide().accepts(name)


def test_a_decision_keeps_the_rewards_of_available_categories_only() -> None:
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in "abc"]
    agent = pb.Agent(categories, policy="kl-emp-ucb")
    agent.decide()
    agent.observe({"a": [1, 0], "b": [0, 0], "c": [1]})
    of_all = agent.preview()
    decision = agent.decide(available=["b"])
    assert decision._extras.values is not None
    assert list(decision._extras.values) == [1]
    assert decision["b"].index == of_all["b"].index


def test_next_round_of_a_patience_beyond_all_rounds() -> None:
    """A first guess of exp(780) rounds must not overflow."""
    found = pb.KLUCB(c=200).next_round(780.0, 5)
    assert found is not None
    assert found > 10**15
    assert pb.KLUCB().next_round(780.0, 5) is None
