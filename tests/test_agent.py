"""The agent as a user calls it."""

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb


def portfolio(policy: pb.Policy, seed: int = 7) -> pb.Agent:
    return pb.Agent(
        [
            pb.Category("students", pb.Bernoulli(), threshold=0.20),
            pb.Category("shops", pb.Exponential(), threshold=3.0),
            pb.Category.loan("car loans", amount=1_000, rate=0.12),
        ],
        policy=policy,
        seed=seed,
    )


def test_round_one_accepts_everybody_even_with_bad_history() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [0] * 500)
    decision = agent.decide()
    assert decision.accepted == ("students", "shops", "car loans")
    assert decision["students"].reason == "accepted: in round 1 every category is"
    assert agent.decide().accepted == ("shops", "car loans")


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
        == "skipped: evidence 8.1 nats against it, patience 6.91; it can be accepted again in round 3 296"
    )


def test_next_round_at_powers_of_two() -> None:
    policy = pb.KLUCB()
    for k in range(1, 59):
        assert policy.next_round(policy.patience(2**k), 1) == _first(policy, 2**k) + 1
    assert policy.next_round(50.0, 1) is None
    assert policy.next_round(math.inf, 1) is None


def _first(policy: pb.Policy, t: int) -> int:
    """The smallest t with that patience: neighbours of a large t can share one double."""
    while t > 1 and policy.patience(t - 1) == policy.patience(t):
        t -= 1
    return t


def test_patience_never_falls() -> None:
    for policy in (pb.KLUCB(), pb.KLUCB(c=3), pb.KLUCBPlus(c=0.5, inflate=10)):
        values = [policy.patience(t) for t in range(1, 2_000)]
        assert values == sorted(values)
        assert values[0] == math.log(policy.inflate)
    assert pb.KLUCB(c=3).patience(100) == pytest.approx(math.log(100) + 3 * math.log(math.log(100)))


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
    for agent, rewards in zip(agents, (1, [1.0], np.array([1], dtype=np.uint8), [True]), strict=True):
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
    assert agent["car loans"].profit == pytest.approx(1.12 * 900.0 - 2_000.0 + 9 * 1_120.0 - 10_000.0)
    assert agent.profit == pytest.approx(sum(agent[name].profit for name in agent.names))
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
    assert agent["students"].profit == pytest.approx(10 - 40 * 0.2)  # what was paid then was paid then
    agent.observe("students", [0])
    assert agent["students"].profit == pytest.approx(10 - 40 * 0.2 - 0.5)
    agent.set_threshold("car loans", 1 / 1.5)
    assert agent.category("car loans").worth == pytest.approx(1_500)
    assert agent.category("car loans").price == 1_000
    with pytest.raises(pb.errors.ThresholdError):
        agent.set_threshold("students", 1.5)
    assert agent["students"].threshold == 0.5


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
    assert "Round 1: accepted, as every category is in the first round." in agent.explain("students")
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
    assert "&lt;b&gt;" in pb.Agent([pb.Category("<b>", pb.Poisson(), threshold=1.0)], policy=pb.KLUCB())._repr_html_()
    many = pb.Agent([pb.Category(str(i), pb.Poisson(), threshold=1.0) for i in range(1_000)], policy=pb.KLUCB())
    assert "... and 980 more" in str(many.decide())
    assert len(str(many).splitlines()) < 30
    assert repr(many).startswith("<Agent")
    assert repr(decision).startswith("<Decision")


def test_kl_emp_says_what_memory_it_needs() -> None:
    category = pb.Category("shops", pb.Exponential(), threshold=3.0, bound=100.0)
    agent = pb.Agent([category], policy=pb.KLEmpUCB())
    start = agent.memory
    agent.observe("shops", np.linspace(0.5, 5.0, 1_000))
    assert agent.memory - start == 16_000
    assert "Remembers 1 000 distinct rewards (16 000 bytes)." in agent.explain("shops")
    counts = pb.Agent([pb.Category("c", pb.Poisson(), threshold=3.0, bound=100.0)], policy=pb.KLEmpUCB())
    counts.observe("c", np.arange(1_000) % 7)
    assert counts.memory - start == 7 * 16


def test_bounded_policies_cut_and_the_others_do_not() -> None:
    category = pb.Category("p", pb.Poisson(), threshold=3.0, bound=10.0)
    bounded, plain = pb.Agent([category], policy=pb.KLBernoulliUCB()), pb.Agent([category], policy=pb.KLUCB())
    for agent in (bounded, plain):
        agent.observe("p", [25, 1])
        assert agent["p"].revenue == 26
    assert bounded["p"].mean == pytest.approx(5.5)
    assert plain["p"].mean == pytest.approx(13.0)


def test_one_category_and_a_million() -> None:
    size = 1_000_000
    categories = [pb.Category(f"c{i}", pb.Bernoulli(), threshold=0.5) for i in range(size)]
    agent = pb.Agent(categories, policy=pb.ThompsonSampling(), seed=1)
    assert int(agent.decide().accepted_mask.sum()) == size
    agent.observe({f"c{i}": [0, 0, 0] for i in range(0, size, 1_000)})
    decision = agent.decide()
    rejected = size - int(decision.accepted_mask.sum())
    assert 900 < rejected <= 1_000
    assert decision["c0"].clients == 3
    assert len(decision) == size
    single = pb.Agent(categories[:1], policy=pb.KLUCB())
    assert single.decide().accepted == ("c0",)


class _Model:
    """The agent's book-keeping, done naively."""

    def __init__(self) -> None:
        self.rewards: list[int] = []
        self.threshold = 0.4

    def evidence(self) -> float:
        n, s, tau = len(self.rewards), sum(self.rewards), self.threshold
        if n == 0 or s >= n * tau:
            return 0.0
        m = s / n
        return n * (m * math.log(m / tau) if m else 0.0) + n * (1 - m) * math.log((1 - m) / (1 - tau))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("observe"), st.lists(st.integers(0, 1), min_size=1, max_size=5)),
        st.tuples(st.just("correct"), st.integers(0, 1)),
        st.tuples(st.just("threshold"), st.sampled_from([0.1, 0.4, 0.75])),
        st.tuples(st.just("decide"), st.none()),
    ),
    max_size=25,
)


@given(steps)
def test_any_history_matches_naive_book_keeping(history: list[tuple[str, object]]) -> None:
    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.4)], policy=pb.KLUCB())
    model = _Model()
    for action, argument in history:
        if action == "observe":
            assert isinstance(argument, list)
            agent.observe("a", argument)
            model.rewards += argument
        elif action == "correct":
            assert isinstance(argument, int)
            if argument in model.rewards:
                agent.correct("a", was=argument, now=1 - argument)
                model.rewards[model.rewards.index(argument)] = 1 - argument
            else:
                with pytest.raises(pb.errors.CorrectionError):
                    agent.correct("a", was=argument, now=1 - argument)
        elif action == "threshold":
            assert isinstance(argument, float)
            agent.set_threshold("a", argument)
            model.threshold = argument
        else:
            patience = math.inf if agent.round == 0 else math.log(agent.round)
            verdict = agent.decide()["a"]
            if abs(model.evidence() - patience) > 1e-9:
                assert verdict.accepted == (model.evidence() <= patience)
        assert agent["a"].clients == len(model.rewards)
        assert agent["a"].evidence == pytest.approx(model.evidence(), rel=1e-9, abs=1e-12)


def test_evidence_is_recomputed_only_where_something_changed() -> None:
    from profitable.kernels.ledger import EVIDENCE

    agent = portfolio(pb.BayesUCB())
    agent.observe({"students": [1, 0], "shops": [2.0], "car loans": [1]})
    agent._table[EVIDENCE, :3] = 123.0  # a mark that a recomputation would wipe out
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


def test_corrections_after_the_terms_changed() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [1])
    agent.set_threshold("students", 0.5)
    agent.correct("students", was=1)
    assert (agent["students"].clients, agent["students"].revenue, agent["students"].cost) == (0, 0.0, 0.0)
    agent.observe("car loans", [1, 1])
    agent.set_threshold("car loans", 1 / 1.5)
    agent.correct("car loans", was=1, now=0)
    assert agent["car loans"].revenue == pytest.approx(1_120)
    assert agent["car loans"].cost == pytest.approx(2_000)


def test_corrections_of_loans_of_other_amounts() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("car loans", [1, 0], costs=[500, 500])
    agent.correct("car loans", was=[1, 0])
    assert agent["car loans"].profit == pytest.approx(0.0)
    agent.observe("car loans", [1, 0], costs=[900, 300])
    agent.correct("car loans", was=1, now=0, was_costs=900, now_costs=900)
    assert agent["car loans"].profit == pytest.approx(-1_200)


def test_a_typing_error_taken_back_leaves_the_rest_intact() -> None:
    agent = portfolio(pb.BayesUCB())
    agent.observe("shops", [2.5] * 10 + [0.3])
    before = agent["shops"]
    agent.observe("shops", 1e18)
    agent.correct("shops", was=1e18)
    assert agent["shops"].mean == before.mean
    assert agent["shops"].evidence == before.evidence


def test_corrections_survive_rounding() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        rewards = np.append(0.0, rng.integers(0, 100, 5) / 100)
        agent = pb.Agent([pb.Category("a", pb.Bounded(low=0, high=1), threshold=0.5)], policy=pb.KLUCB())
        agent.observe("a", rewards)
        agent.correct("a", was=rng.permutation(rewards[1:]))
        assert agent["a"].mean == pytest.approx(0.0, abs=1e-12)


def test_a_sum_of_edges_may_be_rounded_beyond_its_edge() -> None:
    low = pb.Agent([pb.Category("a", pb.Bounded(low=0.1, high=1), threshold=0.5)], policy=pb.KLUCB())
    low.observe("a", count=10, total=sum([0.1] * 10))
    high = pb.Agent([pb.Category("a", pb.Bounded(low=0, high=0.7), threshold=0.5)], policy=pb.KLUCB())
    high.observe("a", count=6, total=sum([0.7] * 6))
    assert high["a"].mean == pytest.approx(0.7)


def test_bounded_policies_see_negative_rewards() -> None:
    category = pb.Category("a", pb.Gaussian(sigma=1.0), threshold=0.5, bound=5.0)
    for policy in (pb.KLBernoulliUCB(), pb.KLEmpUCB(), pb.UCBV(), pb.KLGaussianUCB()):
        agent = pb.Agent([category], policy=policy)
        agent.observe("a", [-10.0, 2.0] * 500)
        agent.decide()
        assert agent["a"].mean == pytest.approx(-1.5)
        assert not agent.decide()["a"].accepted


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


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    class Mine(pb.KLUCB):
        name = "mine"

    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=Mine())
    agent.decide()
    with pytest.raises(pb.errors.StateFileError, match="POLICIES"):
        agent.save(tmp_path / "agent.json")
    assert not list(tmp_path.iterdir())
