"""Losses in rare runs of a policy that stops for good, against sums over all paths,
plain runs and SciPy.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.kernels.law import BINOMIAL, GAMMA, GAUSSIAN, NEGATIVE_BINOMIAL, POISSON, Law
from profitable.simulation.scenario import unlucky_starts
from profitable.simulation.tilted_runs import log_weights, lost_for_good, tilted_means
from profitable.theory.unlucky_start import LostForGood
from tests.exact_stopping import moments_of_stopping
from tests.simulation.worlds import play, single

HORIZON = 10_000


def known(
    truth: pb.Truth, policy: str | pb.Policy, *, horizon: int = HORIZON, seed: int = 1
) -> LostForGood:
    points = np.array([horizon // 10, horizon])
    found = lost_for_good(
        pb.Scenario("one", [truth]),
        pb.Policy.of(policy),
        horizon=horizon,
        checkpoints=points,
        seed=seed,
    )
    assert found is not None
    return found


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("told", "mean"), [(100, 0.7), (300, 0.8), (3_000, 0.7), (10_000, 0.8), (1_000, 0.55)]
)
def test_the_mean_is_that_of_all_paths(told: int, mean: float) -> None:
    """From one run in 200 to one in 10^6: within four of its errors (false alarm 6e-5),
    and these are small.
    """
    truth = single(pb.Bernoulli(), mean, 0.5, 3)
    found = known(truth, f"optimal:horizon={told}")
    cost = 3.0 * (mean - 0.5)
    for place, horizon in enumerate((HORIZON // 10, HORIZON)):
        rejected, squared = moments_of_stopping(mean, 0.5, 3, told=told, horizon=horizon)
        assert found.error[place] < 0.1 * found.mean[place]
        assert abs(found.mean[place] - cost * rejected) < 4.0 * found.error[place]
        deviation = cost * math.sqrt(squared - rejected**2)
        assert found.deviation[place] == pytest.approx(deviation, rel=0.15)


PLAIN = [
    (single(pb.Bernoulli(), 0.45, 0.4, pb.UniformClients(low=1, high=3)), "optimal:horizon"),
    (single(pb.Bernoulli(), 0.45, 0.4, [1 + round % 4 for round in range(300)]), "optimal:horizon"),
    (
        single(pb.Bernoulli(), 0.45, 0.4, 2, prior=pb.Prior.like(clients=20, mean=0.37)),
        "optimal:horizon",
    ),
    (single(pb.Binomial(trials=4), 1.1, 1.0, 1), "optimal:horizon"),
    (single(pb.Poisson(), 2.2, 2.0, 1), "optimal:discount=0.99"),
    (single(pb.Geometric(), 2.4, 2.0, 1), "optimal:horizon,risk=2"),
    (single(pb.NegativeBinomial(failures=3), 2.4, 2.0, 1), "optimal:horizon"),
    (single(pb.Exponential(), 2.4, 2.0, 1), "optimal:horizon"),
    (single(pb.Gamma(shape=2.0), 2.3, 2.0, pb.OnePlusPoisson(rate=1)), "optimal:horizon"),
    (single(pb.Gaussian(sigma=2.0), 0.3, 0.0, 1), "optimal:horizon"),
    (single(pb.Pareto(scale=1.0), 3.0, 2.5, 1), "optimal:horizon"),
    (single(pb.Weibull(shape=2.0), 2.2, 2.0, 1), "optimal:horizon"),
    (
        pb.Truth(
            pb.Category.loan("it", amount=100.0, rate=0.5, recovery=0.2), mean=0.68, clients=1
        ),
        "optimal:horizon",
    ),
]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("truth", "policy"), PLAIN, ids=lambda each: str(getattr(each, "family", each))
)
def test_where_losses_are_common_plain_runs_say_the_same(truth: pb.Truth, policy: str) -> None:
    """2 000 runs of 200 rounds (4.5 errors of the difference, false alarm 7e-6)."""
    curve = pb.simulate(
        pb.Scenario("one", [truth]),
        [policy],
        horizon=200,
        runs=2_000,
        checkpoints=[20, 200],
        progress=False,
    ).curves[0]
    found = curve.lost_for_good
    assert found is not None
    assert curve.mean("lost")[0] > 0.02
    error = np.hypot(curve.stderr, found.error)
    np.testing.assert_array_less(np.abs(curve.regret - found.mean), 4.5 * error)
    assert np.array(found.deviation) == pytest.approx(curve.stderr * math.sqrt(2_000), rel=0.2)


LAWS: list[tuple[Law, Any, Any]] = [
    (Law(BINOMIAL, 0.0, 1.0, 1.0), 0.6, lambda n, s, m: stats.binom.logpmf(s, n, m)),
    (Law(BINOMIAL, 0.0, 4.0, 4.0), 2.5, lambda n, s, m: stats.binom.logpmf(s, 4 * n, m / 4)),
    (Law(POISSON), 1.5, lambda n, s, m: stats.poisson.logpmf(s, n * m)),
    (
        Law(NEGATIVE_BINOMIAL, size=2.0),
        1.5,
        lambda n, s, m: stats.nbinom.logpmf(s, 2 * n, 2 / (2 + m)),
    ),
    (Law(GAMMA, size=0.7), 1.5, lambda n, s, m: stats.gamma.logpdf(s, 0.7 * n, scale=m / 0.7)),
    (
        Law(GAUSSIAN, -math.inf, math.inf, 2.0),
        0.5,
        lambda n, s, m: stats.norm.logpdf(s, n * m, 2 * np.sqrt(n)),
    ),
]


@pytest.mark.parametrize(
    ("law", "mean", "logpdf"), LAWS, ids=lambda each: str(getattr(each, "code", ""))
)
def test_weights_are_likelihood_ratios(law: Law, mean: float, logpdf: Any) -> None:
    clients, totals = np.array([1.0, 5.0, 40.0]), np.array([1.0, 2.0, 30.0])
    tilted = {0.3 * mean: 0.25, 0.8 * mean: 0.75}
    average = np.logaddexp(
        *(logpdf(clients, totals, nu) + math.log(share) for nu, share in tilted.items())
    )
    expected = logpdf(clients, totals, mean) - average
    np.testing.assert_allclose(
        log_weights(law, clients, totals, mean, tilted), expected, rtol=1e-9, atol=1e-9
    )
    # No client yet.
    assert log_weights(law, np.zeros(1), np.zeros(1), mean, tilted) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("law", "mean", "logpdf"), LAWS, ids=lambda each: str(getattr(each, "code", ""))
)
def test_tilted_means_rise_to_the_mirror(law: Law, mean: float, logpdf: Any) -> None:
    """At the mirror and the threshold, the likelihood is that of the mean; no weight
    below is larger.
    """
    del logpdf
    threshold = 0.7 * mean
    *means, mirror = tilted_means(law, mean, threshold, nats=9.0, most=1e6)
    assert law.low < means[0]
    assert all(np.diff([*means, mirror, threshold]) > 0.0)
    clients = np.full(3, 1e3)
    weights = log_weights(
        law, clients, clients * threshold * np.array([1.0, 0.9, 0.5]), mean, {mirror: 1.0}
    )
    assert weights[0] == pytest.approx(0.0, abs=1e-6)
    assert np.all(weights[1:] < 0.0)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("policy", "clients"),
    [
        (pb.Optimal(horizon=1_000), 1),
        (pb.Optimal(horizon=1_000, risk=2, clients=2), pb.UniformClients(low=1, high=3)),
        (pb.Optimal(discount=math.exp(-1.0 / 1_000), clients=2), 2),
    ],
    ids=str,
)
def test_a_loss_after_a_start_close_to_zero(policy: pb.Policy, clients: object) -> None:
    """Exponential rewards: the share of 100 000 runs that stop, against the mean of
    tilted runs.
    """
    truth = single(pb.Exponential(), 3.0, 1.0, clients)
    played = play("events", policy, truth, horizon=1_000, runs=100_000, seed=5)
    rounds = (1_000 - played.accepted[:, -1]) * truth.clients.average * truth.loss
    found = known(truth, policy, horizon=1_000)
    assert (rounds > 0.0).sum() > 25
    error = math.hypot(found.error[-1], float(rounds.std()) / math.sqrt(100_000))
    assert abs(found.mean[-1] - float(rounds.mean())) < 4.0 * error
    # No wait that ends.
    assert unlucky_starts(pb.Scenario("one", [truth]), policy, 1_000).rates == (0.0,)


def test_who_can_lose_for_good() -> None:
    good, bad = single(pb.Bernoulli(), 0.6, 0.5), single(pb.Bernoulli(), 0.4, 0.5, name="bad")
    points = np.array([100])

    def found(policy: str, *truths: pb.Truth) -> LostForGood | None:
        return lost_for_good(
            pb.Scenario("it", truths),
            pb.Policy.parse(policy),
            horizon=100,
            checkpoints=points,
            seed=1,
        )

    for policy in (
        "ts",
        "kl-ucb",
        "optimal",
        "optimal:horizon,floor=0.1",
        "optimal:horizon,forget=0.9",
    ):
        assert found(policy, good, bad) is None
    assert found("optimal:horizon", bad) is None
    # No reward speaks against it.
    assert found("optimal:horizon", single(pb.Poisson(), 1.0, 0.0)) is None
    assert found("optimal:discount=0.9", good, bad) == found("optimal:discount=0.9", good) != None  # noqa: E711
    moving = single(pb.Bernoulli(), [(1, 0.4), (50, 0.6)], 0.5)
    unknown = single(pb.Normal(), 1.0, 0.0, sigma=1.0)
    for truth in (moving, unknown):
        assert found("optimal:horizon", truth) == LostForGood()
    assert found("optimal:horizon", single(pb.Bernoulli(), [(1, 0.4), (50, 0.3)], 0.5)) is None


@pytest.mark.parametrize(
    ("family", "threshold", "mean"),
    [
        (pb.Bernoulli(), 0.001, 0.9),
        (pb.Poisson(), 0.01, 10.0),
        (pb.Poisson(), 0.05, 40.0),
        (pb.Gaussian(sigma=1.0), 0.0, 1_000.0),
        (pb.Gaussian(sigma=1.0), 0.0, 1e-200),
    ],
)
def test_means_whose_mirror_no_double_can_tell_from_the_edge(
    family: pb.Family, threshold: float, mean: float
) -> None:
    truth = pb.Truth(pb.Category("it", family, threshold=threshold), mean=mean, clients=2)
    result = pb.simulate(
        pb.Scenario("far", [truth]), ["optimal:horizon"], horizon=100, runs=60, seed=1
    )
    assert np.isfinite(result.curves[0].estimate.mean).all()
    assert np.isfinite(result.curves[0].interval).all()


def test_nothing_is_known_where_a_policy_sees_cut_rewards(own_classes: None) -> None:
    """The sum of cut rewards does not tell how likely the rewards were."""

    class Stopping(pb.KLBernoulliUCB):
        name = "stopping"

        @property
        def terms(self) -> Any:
            return pb.Optimal(horizon=100).terms

    truth = pb.Truth(
        pb.Category("it", pb.Exponential(), threshold=1.4, bound=3.0), mean=2.0, clients=1
    )
    assert Stopping().stops_for_good
    found = lost_for_good(
        pb.Scenario("cut", [truth]), Stopping(), horizon=100, checkpoints=np.array([100]), seed=1
    )
    assert found is not None
    assert not found.is_known
