"""Agents and normal rewards of unknown variance: batches, spreads near rounding, equal
rewards, changes of policy.
"""

import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable import errors
from tests.matrix import FAMILIES, FamilyRow

KNOWING = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts", "optimal")
POSTERIOR = KNOWING[2:]


def agent_of(policy: str, threshold: float = 2.0, **options: float) -> pb.Agent:
    return pb.Agent(
        [pb.Category("it", pb.Normal(**options), threshold=threshold)], policy=policy, seed=3
    )


def by_definition(policy: str, rewards: list[float], threshold: float) -> float:
    """From the rewards, as exact numbers, at 50 digits."""
    with mp.workdps(50):
        values = [mp.mpf(reward) for reward in rewards]
        number, mean = len(values), sum(values) / len(values)
        squares, gap = sum((value - mean) ** 2 for value in values), mp.mpf(threshold) - mean
        if policy in POSTERIOR:
            freedom = number - 3
            x = 1 / (1 + number * gap**2 / squares)
            half = mp.betainc(mp.mpf(freedom) / 2, mp.mpf("0.5"), 0, x, regularized=True) / 2
            return float(-mp.log(half) if gap > 0 else -mp.log1p(-half))
        nats = (
            mp.mpf(number - 2) / 2 * mp.log1p(gap**2 / (squares / number)) if gap > 0 else mp.mpf(0)
        )
        return float(nats + mp.log(number) if policy == "kl-ucb+" and gap > 0 else nats)


@pytest.mark.parametrize("policy", KNOWING)
@pytest.mark.parametrize(
    ("mean", "sigma"), [(0.0, 1.0), (1e6, 1.0), (-1e9, 1e-3), (1e-8, 1e-12), (3e40, 1e37)]
)
def test_evidence_from_rewards(policy: str, mean: float, sigma: float) -> None:
    """In whatever batches they come, and however far the mean is from 0."""
    rewards = (mean + sigma * np.random.default_rng(4).standard_normal(40)).tolist()
    for threshold in (mean + 0.4 * sigma, mean + 30.0 * sigma, mean - 0.2 * sigma):
        expected = by_definition(policy, rewards, threshold)
        for size in (1, 7, 40):
            agent = agent_of(policy, threshold)
            for start in range(0, 40, size):
                agent.observe("it", rewards[start : start + size])
            # N tau - S is rounded to a double, so a mean of 10^12 standard deviations
            # costs 12 of its 16 digits.
            assert agent["it"].evidence == pytest.approx(
                expected, rel=1e-10 + 1e-15 * abs(mean / sigma), abs=1e-300
            )


@pytest.mark.parametrize("policy", KNOWING)
def test_a_mistyped_reward_leaves_no_trace(policy: str) -> None:
    rewards = np.random.default_rng(4).normal(5.0, 0.1, 12).tolist()
    agent, clean = agent_of(policy, 5.1), agent_of(policy, 5.1)
    agent.observe("it", [*rewards, 5e7])
    agent.correct("it", was=5e7)
    clean.observe("it", rewards)
    assert agent["it"].evidence == pytest.approx(clean["it"].evidence, rel=1e-12)


@pytest.mark.parametrize("policy", KNOWING)
@pytest.mark.parametrize("reward", [0.0, 0.3, -1e-7, 1.0 / 3.0, 123456.789])
def test_equal_rewards_do_not_reject(policy: str, reward: float) -> None:
    """However they come, and although 0.1 + 0.2 is not 0.3: a category is accepted
    until its rewards differ.
    """
    agent = agent_of(policy, 1e6)
    agent.decide()
    agent.observe("it", [reward] * 3)
    agent.observe(
        "it", [math.nextafter(reward, 1.0), math.nextafter(math.nextafter(reward, 1.0), 1.0)]
    )
    agent.observe("it", count=7, total=7 * reward, squares=7 * reward**2)
    agent.observe(
        "it", count=3, total=reward + reward + reward, squares=reward**2 + reward**2 + reward**2
    )
    for _ in range(300):
        verdict = agent.decide()["it"]
        assert verdict.accepted
        assert verdict.evidence == 0.0
        assert verdict.index == math.inf
    assert "not all equal" in agent.explain("it")
    assert agent.decide().interval("it", 0.9) is None
    agent.observe("it", [reward + 1.0])
    assert agent["it"].evidence > 10.0
    assert "not all equal" not in agent.explain("it")


@pytest.mark.parametrize("options", ["forget=0.97", "forget=0.999", "window=40"])
@pytest.mark.parametrize("policy", KNOWING)
def test_equal_rewards_stay_equal_while_they_are_forgotten(policy: str, options: str) -> None:
    """Their weights are rounded in every round, and so are the sums."""
    rewards = np.random.default_rng(1).integers(1, 4, 300).tolist()
    agent = agent_of(f"{policy}:{options}", 1e6)
    for number in rewards:
        verdict = agent.decide()["it"]
        assert verdict.accepted
        assert verdict.evidence == 0.0
        agent.observe("it", [0.3] * number)
    agent.observe("it", [0.2] * 2)
    assert agent["it"].evidence > 10.0


@pytest.mark.parametrize("policy", KNOWING)
def test_forgetting_brings_a_category_back(policy: str) -> None:
    """When too little is remembered to say anything, at the latest."""
    agent = agent_of(f"{policy}:forget=0.9")
    agent.decide()
    agent.observe("it", [0.0, 1.0, 0.5, 0.3, 0.7] * 20)
    assert agent["it"].evidence > 50.0
    for _ in range(60):
        agent.decide()
    assert agent["it"].counted < 1.0
    assert agent["it"].evidence == 0.0
    assert agent.decide()["it"].accepted


@pytest.mark.parametrize(
    ("policy", "first"), [("kl-ucb", 3), ("kl-ucb+", 3), ("bayes-ucb", 5), ("ts", 5)]
)
def test_too_few_clients_say_nothing(policy: str, first: int) -> None:
    agent = agent_of(policy)
    for number in range(1, 7):
        agent.observe("it", float(number % 2))
        assert (agent["it"].evidence > 0.0) == (number >= first)
    agent = agent_of(policy, alpha=0.0)
    agent.observe("it", [0.0, 1.0, 0.5])
    assert agent["it"].evidence > 0.0


@pytest.mark.parametrize(
    "row", [row for row in FAMILIES if row.family.view().statistic.is_reward], ids=str
)
@pytest.mark.parametrize("policy", [*KNOWING, "ucb-v"])
def test_squares_are_as_good_as_a_list(row: FamilyRow, policy: str) -> None:
    listed, summed, in_parts = (pb.Agent([row.category()], policy=policy, seed=1) for _ in range(3))
    rewards = row.rewards(12)
    listed.observe("it", rewards)

    def batch(some: np.ndarray) -> pb.Batch:
        return pb.Batch(count=some.size, total=float(some.sum()), squares=float((some**2).sum()))

    try:
        summed.observe({"it": batch(rewards)})
        in_parts.observe({"it": batch(rewards[:5])})
        in_parts.observe({"it": batch(rewards[5:])})
    except errors.SumNotEnoughError:
        assert policy == "ucb-v"  # a total may hide rewards that it cuts
        assert row.bound is not None
        return
    for agent in (summed, in_parts):
        assert agent["it"].evidence == pytest.approx(listed["it"].evidence, rel=1e-9, abs=1e-12)
        assert agent["it"].profit == pytest.approx(listed["it"].profit, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("family", "given", "named"),
    [
        (pb.Normal(), {"count": 5, "total": 5.0}, "squares="),
        (pb.Normal(), {"count": 5, "total": 5.0, "squares": 4.99}, "total^2/count = 5"),
        (pb.Normal(), {"count": 5, "total": 5.0, "squares": -1.0}, "squares"),
        (pb.Normal(), {"count": 5, "total": 5.0, "squares": math.nan}, "squares"),
        (pb.Normal(), {"count": 5, "total": 5.0, "squares": "7"}, "squares"),
        (pb.Normal(), {"count": 5, "squares": 7.0}, "total"),
        (pb.Normal(), {"total": 5.0, "squares": 7.0}, "count"),
        (pb.Normal(), {"squares": 7.0}, "count"),
        (pb.Normal(), {"rewards": [1.0, 2.0], "squares": 5.0}, "together with rewards"),
        (pb.Normal(), {"rewards": [1.0, 2.0], "total": 3.0}, "total"),
        (pb.Bernoulli(), {"count": 5, "total": 2, "squares": 3.0}, "squares"),
        (pb.Bounded(low=0.0, high=2.0), {"count": 5, "total": 5.0, "squares": 10.1}, "squares"),
        (pb.Exponential(), {"count": 2, "total": 3.0, "squares": 9.1}, "squares"),
        (pb.Poisson(), {"count": 9, "total": 3, "squares": 2.0}, "squares"),
    ],
)
def test_impossible_squares_are_refused(
    family: pb.Family, given: dict[str, object], named: str
) -> None:
    agent = pb.Agent([pb.Category("it", family, threshold=0.5)], policy="kl-ucb")
    agent.observe("it", [1.0])
    before = agent["it"]
    with pytest.raises(errors.InputError, match="it") as error:
        agent.observe("it", **given)  # type: ignore[arg-type]
    assert named in str(error.value)
    with pytest.raises(errors.InputError):
        agent.observe({"it": pb.Batch(**given)})  # type: ignore[arg-type]
    assert agent["it"] == before


def test_priors_are_refused() -> None:
    for prior in (pb.Prior.like(clients=5, mean=1.0), pb.Prior.normal(mean=1.0, sd=2.0)):
        with pytest.raises(errors.ParameterError, match="spread is not known either; leave it out"):
            pb.Category("it", pb.Normal(), threshold=1.0, prior=prior)
        with pytest.raises(errors.ParameterError, match="spread is not known either"):
            pb.Agent(
                [pb.Category("it", pb.Normal(), threshold=1.0)],
                policy=pb.ThompsonSampling(prior=prior),
            )


@pytest.mark.parametrize("alpha", [-1.0, -0.25])
def test_interval_is_student_s(alpha: float) -> None:
    agent = agent_of("ts", alpha=alpha)
    rewards = np.random.default_rng(8).normal(1.0, 2.0, 15)
    agent.observe("it", rewards)
    freedom = 15 + 2 * alpha - 1
    law = stats.t(
        freedom, rewards.mean(), math.sqrt(((rewards - rewards.mean()) ** 2).sum() / (15 * freedom))
    )
    assert agent.decide().interval("it", 0.9) == pytest.approx(
        law.ppf([0.05, 0.95]).tolist(), rel=1e-9
    )
    assert agent["it"].evidence == pytest.approx(-law.logsf(2.0), rel=1e-9)


def test_mixed_families_change_policy(tmp_path: Path) -> None:
    """Squares are kept for Normal rewards alone, and only they can be asked for."""
    categories = [
        pb.Category("normal", pb.Normal(), threshold=1.2),
        pb.Category("count", pb.Poisson(), threshold=2.0, bound=9.0),
        pb.Category("yes", pb.Bernoulli(), threshold=0.5),
    ]
    rewards = {"normal": [1.0, 0.5, 2.0, 0.1, 1.5, 0.7], "count": [1, 0, 2], "yes": [1, 0]}
    for old in KNOWING:
        for new in KNOWING:
            agent, always = (pb.Agent(categories, policy=policy, seed=1) for policy in (old, new))
            agent.observe(rewards)
            always.observe(rewards)
            agent.set_policy(new)
            assert [agent[name] for name in agent] == [always[name] for name in always]
            agent.observe("normal", 0.2)
            always.observe("normal", 0.2)
            agent.save(tmp_path / "agent.json")
            assert (
                pb.Agent.load(tmp_path / "agent.json")["normal"]
                == agent["normal"]
                == always["normal"]
            )
        agent = pb.Agent(categories[1:], policy=old, seed=1)
        agent.observe("count", [1, 0, 2])
        with pytest.raises(errors.SumNotEnoughError, match="single rewards"):
            agent.set_policy("ucb-v")
    normal = pb.Agent(
        [pb.Category("normal", pb.Normal(), threshold=1.2, bound=5.0)], policy="kl-ucb"
    )
    normal.observe("normal", [1.0, 0.5])
    before = normal["normal"]
    with pytest.raises(errors.SumNotEnoughError, match="cuts rewards"):
        normal.set_policy("ucb-v")
    assert normal["normal"] == before


def test_a_million_clients_at_once() -> None:
    """Sums of 10^9 clients: the posterior against SciPy's normal law, of which
    Student's is the limit.
    """
    agent = agent_of("bayes-ucb", 1.0001)
    agent.observe("it", count=10**9, total=1e9, squares=1e9 * (1.0 + 4.0))
    z = 0.0001 * math.sqrt(1e9) / 2.0
    assert agent["it"].evidence == pytest.approx(-stats.norm.logsf(z), rel=1e-6)


def test_many_categories_share_the_kernel() -> None:
    """More than `ONE_BY_ONE` indices are computed in one kernel, and are those of
    single ones.
    """
    categories = [pb.Category(f"{i}", pb.Normal(), threshold=1.0 + 0.01 * i) for i in range(50)]
    rng = np.random.default_rng(2)
    for policy in KNOWING:
        agent = pb.Agent(categories, policy=policy, seed=1)
        agent.decide()
        agent.observe({f"{i}": rng.normal(1.0, 1.0, 2 + i % 5).tolist() for i in range(50)})
        decision = agent.decide()
        together = [verdict.index for verdict in decision]
        assert together == pytest.approx([decision[f"{i}"].index for i in range(50)], rel=1e-12)


def test_family_says_what_it_lacks() -> None:
    family = pb.Normal()
    rng = np.random.default_rng(1)
    for ask in (
        lambda: family.divergence(0.0, 1.0),
        lambda: family.draw(rng, mean=0.0),
        lambda: family.draw_total(rng, mean=0.0, clients=3),
    ):
        with pytest.raises(errors.ParameterError, match="give sigma="):
            ask()
    with pytest.raises(errors.ParameterError, match="squares"):
        family.posterior(clients=5, total=5.0)
    with pytest.raises(errors.ParameterError, match="at least total"):
        family.posterior(clients=5, total=5.0, squares=4.0)
    for alpha in (0.6, -101.0, math.inf, "x"):
        with pytest.raises(errors.ParameterError, match="alpha"):
            pb.Normal(alpha=alpha)  # type: ignore[arg-type]
    with pytest.raises(errors.ParameterError, match="sigma"):
        pb.Poisson().drawn(1.0)
    few = family.posterior(clients=4, total=4.0, squares=9.0)
    assert few.survival(3.0) == 1.0
    with pytest.raises(errors.ParameterError, match="improper"):
        few.draw(rng)
    assert family.divergence(1.0, 3.0, sigma=2.0) == pytest.approx(0.5 * math.log(2.0))
    assert family.draw(np.random.default_rng(5), mean=1.0, size=3, sigma=2.0).tolist() == (
        pb.Gaussian(sigma=2.0).draw(np.random.default_rng(5), mean=1.0, size=3).tolist()
    )
