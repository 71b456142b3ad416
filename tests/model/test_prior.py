"""Priors are imaginary clients: against SciPy's conjugate posteriors, computed from the
prior's own parameters.
"""

import math
from pathlib import Path

import pytest
from scipy import stats

import profitable as pb


def evidence(category: pb.Category, rewards: list[float]) -> float:
    agent = pb.Agent([category], policy=pb.BayesUCB())
    if rewards:
        agent.observe(category.name, rewards)
    return agent[category.name].evidence


@pytest.mark.parametrize("rewards", [[], [1, 0, 1, 1, 0]])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 5.0), (0.2, 0.3), (0.5, 0.5)])
def test_beta_for_bernoulli(a: float, b: float, rewards: list[float]) -> None:
    category = pb.Category("it", pb.Bernoulli(), threshold=0.7, prior=pb.Prior.beta(a, b))
    truth = -stats.beta(a + sum(rewards), b + len(rewards) - sum(rewards)).logsf(0.7)
    if (a, b) == (0.5, 0.5) and not rewards:
        truth = 0.0  # Jeffreys' own prior: no data, no evidence
    assert evidence(category, rewards) == pytest.approx(truth, rel=1e-10)


def test_beta_for_binomial_bounded_and_negative_binomial() -> None:
    category = pb.Category("it", pb.Binomial(trials=10), threshold=6.0, prior=pb.Prior.beta(2, 3))
    assert evidence(category, [4, 7]) == pytest.approx(
        -stats.beta(2 + 11, 3 + 9).logsf(0.6), rel=1e-10
    )
    category = pb.Category(
        "it", pb.Bounded(low=-1, high=3), threshold=1.0, prior=pb.Prior.beta(2, 3)
    )
    assert evidence(category, [0.0, 2.0]) == pytest.approx(
        -stats.beta(2 + 1.0, 3 + 1.0).logsf(0.5), rel=1e-10
    )
    category = pb.Category(
        "it", pb.NegativeBinomial(failures=2), threshold=3.0, prior=pb.Prior.beta(2, 3)
    )
    assert evidence(category, [1, 4]) == pytest.approx(
        -stats.beta(2 + 4, 3 + 5).logcdf(2 / 5), rel=1e-10
    )


@pytest.mark.parametrize("rewards", [[], [2, 0, 4]])
def test_gamma_for_poisson(rewards: list[float]) -> None:
    category = pb.Category(
        "it", pb.Poisson(), threshold=3.0, prior=pb.Prior.gamma(shape=1.5, rate=0.8)
    )
    truth = -stats.gamma(1.5 + sum(rewards), scale=1 / (0.8 + len(rewards))).logsf(3.0)
    assert evidence(category, rewards) == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("rewards", [[], [0.5, 3.0, 1.25]])
def test_inverse_gamma_for_exponential_and_gamma(rewards: list[float]) -> None:
    for family, shape in ((pb.Exponential(), 1.0), (pb.Gamma(shape=2.5), 2.5)):
        category = pb.Category(
            "it", family, threshold=2.0, prior=pb.Prior.inverse_gamma(shape=3.0, scale=4.0)
        )
        law = stats.invgamma(3.0 + shape * len(rewards), scale=4.0 + shape * sum(rewards))
        assert evidence(category, rewards) == pytest.approx(-law.logsf(2.0), rel=1e-10)


@pytest.mark.parametrize("rewards", [[], [0.3, -1.0, 2.0]])
def test_normal_for_gaussian(rewards: list[float]) -> None:
    category = pb.Category(
        "it", pb.Gaussian(sigma=1.5), threshold=0.4, prior=pb.Prior.normal(mean=1.0, sd=0.5)
    )
    precision = 1 / 0.5**2 + len(rewards) / 1.5**2
    mean = (1.0 / 0.5**2 + sum(rewards) / 1.5**2) / precision
    truth = -stats.norm(mean, math.sqrt(1 / precision)).logsf(0.4)
    assert evidence(category, rewards) == pytest.approx(truth, rel=1e-10)


def test_like_past_clients_is_having_seen_them() -> None:
    for family, rewards, threshold in (
        (pb.Bernoulli(), [1] * 182 + [0] * 18, 0.93),
        (pb.Exponential(), [2.0] * 200, 2.5),
        (pb.Pareto(scale=1.0), [math.e**0.5] * 200, 3.0),
    ):
        view = family.view()
        mean = view.statistic.mean_of(
            0.91
            if isinstance(family, pb.Bernoulli)
            else (2.0 if isinstance(family, pb.Exponential) else 0.5)
        )
        told = pb.Category(
            "it", family, threshold=threshold, prior=pb.Prior.like(clients=200, mean=mean)
        )
        seen = pb.Category("it", family, threshold=threshold)
        assert evidence(told, []) == pytest.approx(evidence(seen, rewards), rel=1e-9)


def test_a_prior_is_the_prior_s_own_evidence_before_the_first_outcome() -> None:
    category = pb.Category(
        "it", pb.Bernoulli(), threshold=0.9, prior=pb.Prior.like(clients=200, mean=0.5)
    )
    agent = pb.Agent([category], policy=pb.BayesUCB())
    assert agent.decide()["it"].accepted  # round 1
    verdict = agent.decide()["it"]
    assert verdict.clients == 0
    assert verdict.evidence > 10.0
    assert not verdict.accepted


def test_a_policy_may_bring_the_prior(tmp_path: Path) -> None:
    """For every category that has none of its own."""
    own = pb.Category("own", pb.Bernoulli(), threshold=0.7, prior=pb.Prior.beta(2, 5))
    none = pb.Category("none", pb.Bernoulli(), threshold=0.7)
    for policy in (
        pb.BayesUCB(c=2, prior=pb.Prior.beta(1, 1)),
        pb.ThompsonSampling(prior=pb.Prior.beta(1, 1)),
    ):
        agent = pb.Agent([own, none], policy=policy, seed=1)
        assert agent["own"].evidence == pytest.approx(-stats.beta(2, 5).logsf(0.7), rel=1e-12)
        assert agent["none"].evidence == pytest.approx(-math.log(0.3), rel=1e-12)
        assert "Believed before: beta prior with a 1 and b 1." in agent.explain("none")
        agent.decide()
        agent.save(tmp_path / "agent.json")
        twin = pb.Agent.load(tmp_path / "agent.json")
        assert twin.policy == policy
        assert twin.decide().to_dict() == agent.decide().to_dict()
    with pytest.raises(pb.errors.ParameterError, match="conjugate"):
        pb.Agent(
            [pb.Category("p", pb.Poisson(), threshold=1.0)],
            policy=pb.BayesUCB(prior=pb.Prior.beta(1, 1)),
        )
    with pytest.raises(pb.errors.ParameterError, match="not a prior"):
        pb.ThompsonSampling(prior="beta")  # type: ignore[arg-type]
    with pytest.raises(pb.errors.ParameterError, match="not a parameter"):
        pb.Policy.parse("ts:prior=1")
