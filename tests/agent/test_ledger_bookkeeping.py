"""Corrections, rounding, and any history against naive book-keeping."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.kernels.agent_table import AgentRow
from tests.small_agent import portfolio


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
        return n * (m * math.log(m / tau) if m else 0.0) + n * (1 - m) * math.log(
            (1 - m) / (1 - tau)
        )


steps = st.lists(
    st.one_of(
        st.tuples(st.just("observe"), st.lists(st.integers(0, 1), min_size=1, max_size=5)),
        st.tuples(st.just("correct"), st.integers(0, 1)),
        st.tuples(st.just("threshold"), st.sampled_from([0.1, 0.4, 0.75])),
        st.tuples(st.just("decide"), st.none()),
    ),
    max_size=25,
)


@pytest.mark.slow
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


def test_corrections_after_the_terms_changed() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("students", [1])
    agent.set_threshold("students", 0.5)
    agent.correct("students", was=1)
    assert (agent["students"].clients, agent["students"].revenue, agent["students"].cost) == (
        0,
        0.0,
        0.0,
    )
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


def test_arrays_of_rewards_and_costs() -> None:
    agent = portfolio(pb.KLUCB())
    agent.observe("car loans", np.array([1, 0, 1]), costs=np.array([100.0, 200.0, 300.0]))
    agent.observe({"car loans": pb.Batch(rewards=np.array([1]), costs=np.array([50.0]))})
    assert agent["car loans"].revenue == pytest.approx(1.12 * 450)
    assert agent["car loans"].cost == 650


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
        agent = pb.Agent(
            [pb.Category("a", pb.Bounded(low=0, high=1), threshold=0.5)], policy=pb.KLUCB()
        )
        agent.observe("a", rewards)
        agent.correct("a", was=rng.permutation(rewards[1:]))
        assert agent["a"].mean == pytest.approx(0.0, abs=1e-12)


def test_a_sum_of_edges_may_be_rounded_beyond_its_edge() -> None:
    low = pb.Agent(
        [pb.Category("a", pb.Bounded(low=0.1, high=1), threshold=0.5)], policy=pb.KLUCB()
    )
    low.observe("a", count=10, total=sum([0.1] * 10))
    high = pb.Agent(
        [pb.Category("a", pb.Bounded(low=0, high=0.7), threshold=0.5)], policy=pb.KLUCB()
    )
    high.observe("a", count=6, total=sum([0.7] * 6))
    assert high["a"].mean == pytest.approx(0.7)


def test_ucb_v_keeps_the_digits_of_its_variance() -> None:
    """A small spread beside a large mean, in many batches; and a typing error taken
    back.
    """
    rng = np.random.default_rng(5)
    rewards = 1e6 + rng.random(500)
    category = pb.Category("a", pb.Bounded(low=0.0, high=1e9), threshold=2e6)
    batches, once = pb.Agent([category], policy=pb.UCBV()), pb.Agent([category], policy=pb.UCBV())
    once.observe("a", rewards)
    for batch in np.array_split(rewards, 70):
        batches.observe("a", batch)
    batches.observe("a", 9.9e8)
    batches.correct("a", was=9.9e8)
    truth = float(
        sum((Fraction(x) - sum(map(Fraction, rewards)) / 500) ** 2 for x in map(Fraction, rewards))
    )
    for agent in (batches, once):
        assert agent.ledger.table[AgentRow.SPREAD, 0] == pytest.approx(truth, rel=1e-12)


def gains(policy: str = "kl-ucb") -> pb.Agent:
    """An agent whose clients may bring a loss."""
    return pb.Agent(
        [pb.Category("a", pb.Gaussian(sigma=1.0), threshold=0.0, bound=1e10)], policy=policy
    )


def test_a_gain_among_losses_can_be_taken_back() -> None:
    """The single reward is larger than the sum that was booked."""
    agent = gains()
    agent.observe("a", [3.0, -2.0])
    agent.correct("a", was=3.0, now=1.0)
    assert agent["a"].revenue == -1.0
    agent.correct("a", was=[-2.0, 1.0])
    assert (agent["a"].clients, agent["a"].revenue) == (0, 0.0)


def test_rewards_that_nearly_cancel_can_be_taken_back_in_any_order() -> None:
    agent = gains()
    for was in ([1e8, 0.1, -1e8], [0.1, 1e8, -1e8]):
        agent.observe("a", [1e8, 0.1, -1e8])
        agent.correct("a", was=was)
        assert agent["a"].clients == 0
    agent.observe("a", [1e8, 0.1, -1e8])
    with pytest.raises(pb.errors.CorrectionError):
        agent.correct("a", was=[1e8, 0.7, -1e8])


def test_money_survives_a_typing_error_with_many_zeros() -> None:
    agent = pb.Agent(
        [pb.Category("a", pb.Exponential(), threshold=2.0, worth=0.1)], policy="kl-ucb"
    )
    agent.observe("a", [5.3])
    agent.observe("a", 1e14, costs=1e13)
    agent.correct("a", was=1e14, was_costs=1e13)
    assert agent["a"].revenue == pytest.approx(0.53, rel=1e-15)
    assert agent["a"].cost == pytest.approx(0.2, abs=0.01)  # the cents that 10^13 leaves room for
    agent.correct("a", was=5.3)
    assert agent["a"].revenue == 0.0


def test_costs_without_a_new_outcome_are_refused() -> None:
    agent = gains()
    agent.observe("a", [3.0])
    with pytest.raises(pb.errors.ParameterError, match="without now"):
        agent.correct("a", was=3.0, now_costs=5.0)
    assert agent["a"].clients == 1
