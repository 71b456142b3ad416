"""Normal rewards of unknown variance: evidence and posterior against mpmath, and when
there is none.
"""

import itertools
import math
import os

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profitable.kernels import evidence as rule
from profitable.kernels import law, special, unknown_variance
from profitable.kernels.law import Law

mp.mp.dps = 30
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
CLIENTS = (3.0, 5.0, 6.0, 10.0, 57.0, 103.0, 203.5, 1e3, 1e6, 1e9)
# Of the mean; the last is 10^5 nats for many clients.
DEVIATIONS = (1e-7, 1e-3, 0.3, 1.1, 1.7, 4.0, 40.0, 447.0)
ALPHAS = (-1.0, -0.5, 0.0)


def normal(alpha: float = -1.0) -> Law:
    return Law(law.NORMAL, -math.inf, math.inf, alpha)


def seen(clients: float, total: float, spread: float) -> rule.Observed:
    return rule.sums(clients, total)._replace(spread=float(spread))


def nats_of(
    which: rule.Rule,
    clients: float,
    total: float,
    spread: float,
    threshold: float,
    alpha: float = -1.0,
) -> float:
    own = normal(alpha)
    return rule.evidence(which.under(own), own, seen(clients, total, spread), threshold)


def tail(
    clients: float, total: float, spread: float, threshold: float, alpha: float
) -> tuple[mp.mpf, bool]:
    """The smaller one of P(mean >= threshold) and P(mean <= threshold), and whether it
    is the first.

    From the posterior density of the mean, which is (D + N (mu - m)^2)^-(N/2 + alpha)
    up to a factor: what is left when the variance is integrated out.  In units in which
    D = N, that is in standard deviations.
    """
    n, power = mp.mpf(clients), mp.mpf(clients) / 2 + mp.mpf(alpha)
    start = (mp.mpf(threshold) - mp.mpf(total) / n) / mp.sqrt(mp.mpf(spread) / n)
    upper, start = start >= 0, abs(start)
    # The integral of (1 + u^2)^-power over all u is sqrt(pi) Gamma(power -
    # 1/2)/Gamma(power).
    constant = mp.loggamma(power) - mp.loggamma(power - mp.mpf("0.5")) - mp.log(mp.pi) / 2
    scale = 1 / max(2 * power * start / (1 + start**2), 1 / mp.sqrt((1 + start**2) / power))
    steps = [0, *(scale * 2**k for k in range(12)), scale * 10**5, scale * 10**8, mp.inf]
    return mp.quad(lambda w: mp.exp(constant - power * mp.log1p((start + w) ** 2)), steps), upper


def posterior_reference(
    clients: float, total: float, spread: float, threshold: float, alpha: float
) -> mp.mpf:
    probability, upper = tail(clients, total, spread, threshold, alpha)
    return -mp.log(probability) if upper else -mp.log1p(-probability)


def cases(clients: float) -> list[tuple[float, float, float]]:
    """Total, spread and threshold: a few means and spreads, thresholds so many standard
    errors away on both sides.
    """
    found: list[tuple[float, float, float]] = []
    for (mean, sigma), z in itertools.product(((0.3, 1.2), (-50.0, 0.01)), DEVIATIONS):
        spread = clients * sigma**2
        found += [
            (mean * clients, spread, mean + side * z * sigma / math.sqrt(clients))
            for side in (1.0, -1.0)
        ]
    return found


@pytest.mark.parametrize("clients", CLIENTS)
def test_evidence_of_kl_ucb(clients: float) -> None:
    checked = 0
    for total, spread, threshold in cases(clients):
        value = nats_of(rule.DIVERGENCE, clients, total, spread, threshold)
        with mp.workdps(60):
            n, gap = mp.mpf(clients), mp.mpf(threshold) - mp.mpf(total) / mp.mpf(clients)
            truth = (n - 2) / 2 * mp.log1p(gap**2 / (mp.mpf(spread) / n)) if gap > 0 else mp.mpf(0)
        if gap <= 1e-15 * abs(total / clients):
            assert value == 0.0 or gap > 0  # so close, the last digit says whether it is a tie
            continue
        checked += 1
        assert abs(value / truth - 1) < 1e-10, (clients, total, spread, threshold)
        plus = nats_of(rule.DIVERGENCE_PLUS, clients, total, spread, threshold)
        assert plus == value + math.log(clients)
    assert checked >= 14


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ALPHAS if SOAK else ALPHAS[:1])
@pytest.mark.parametrize("clients", CLIENTS[1:])
def test_evidence_of_the_posterior(clients: float, alpha: float) -> None:
    for total, spread, threshold in cases(clients)[:: 1 if SOAK else 3]:
        value = nats_of(rule.POSTERIOR, clients, total, spread, threshold, alpha)
        truth = posterior_reference(clients, total, spread, threshold, alpha)
        if truth < mp.mpf("1e-290"):
            assert 0.0 < value < 1e-280
        else:
            assert abs(value / truth - 1) < 1e-10, (clients, total, spread, threshold, alpha)


def test_the_grid_reaches_far() -> None:
    """Evidence from below 1e-8 to above 1e5 nats is on it."""
    nats = [nats_of(rule.POSTERIOR, 1e9, *case) for case in cases(1e9)]
    assert max(nats) > 9.9e4
    assert min(nats) < 1e-8
    assert any(0.0 < each < 1e-8 for each in nats)


def test_posterior_is_likelihood_times_prior() -> None:
    """The density used above: likelihood times (sigma^2)^(-1 - alpha), integrated over
    the variance.
    """
    rewards, alpha = (
        [mp.mpf(each) for each in ("0.5", "1.5", "2", "-1", "0.25", "3")],
        mp.mpf("-0.5"),
    )
    mean = sum(rewards) / 6
    spread = sum((each - mean) ** 2 for each in rewards)

    def density(mu: mp.mpf) -> mp.mpf:
        squares = sum((each - mu) ** 2 for each in rewards)
        return mp.quad(
            lambda v: v ** (-1 - alpha) * v**-3 * mp.exp(-squares / (2 * v)),
            [0, 0.5, 1, 2, 8, 64, mp.inf],
        )

    ratios = [
        density(mu) * (spread + 6 * (mu - mean) ** 2) ** (3 + alpha)
        for mu in (mp.mpf(0), mp.mpf(2), mp.mpf(7))
    ]
    assert max(ratios) / min(ratios) - 1 < mp.mpf("1e-12")


@pytest.mark.parametrize("alpha", [-1.0, -2.25, -0.5, 0.0, 0.5])
def test_a_posterior_needs_two_degrees_of_freedom(alpha: float) -> None:
    """N + 2 alpha - 1 >= 2: five clients at alpha = -1.

    In between, forgetting makes N a fraction.
    """
    first = max(3.0 - 2.0 * alpha, 2.0)
    for clients in (first, first + 0.001, first + 0.5):
        assert nats_of(rule.POSTERIOR, clients, clients, clients, 9.0, alpha) > 0.0
        assert nats_of(rule.POSTERIOR, clients, clients, clients, -1e9, alpha) > 0.0
    for clients in (first - 0.001, first - 0.5, 1.0, 0.0):
        assert nats_of(rule.POSTERIOR, clients, clients, clients, 9.0, alpha) == 0.0


def test_a_divergence_needs_three_clients() -> None:
    assert nats_of(rule.DIVERGENCE, 3.0, 3.0, 3.0, 2.0) == pytest.approx(
        0.5 * math.log(2.0), rel=1e-14
    )
    assert nats_of(rule.DIVERGENCE, 3.5, 3.5, 3.5, 2.0) == pytest.approx(
        0.75 * math.log(2.0), rel=1e-14
    )
    for clients in (2.999, 2.0, 1.0, 0.0):
        for which in (rule.DIVERGENCE, rule.DIVERGENCE_PLUS):
            assert nats_of(which, clients, clients, clients, 2.0) == 0.0


@pytest.mark.parametrize(
    "which", [rule.DIVERGENCE, rule.DIVERGENCE_PLUS, rule.POSTERIOR], ids=lambda each: each.code
)
def test_equal_rewards_say_nothing(which: rule.Rule) -> None:
    for clients, mean, apart in ((3.0, 0.3, 0.0), (1e6, -7.0, 1e-14), (50.0, 0.0, 0.0)):
        spread = clients * (mean * apart) ** 2
        own = normal()
        for threshold in (-10.0, 0.5, 1e9):
            assert nats_of(which, clients, clients * mean, spread, threshold) == 0.0
        for limit in (0.0, 3.0):
            assert (
                rule.index(which.under(own), own, seen(clients, clients * mean, spread), limit)
                == math.inf
            )
    assert nats_of(which, 6.0, 6 * 0.3, 6 * (0.3 * 1e-12) ** 2, 1.0) > 50.0


def test_half_by_symmetry() -> None:
    """P(mean >= m) is exactly 1/2, and patience(2) is log 2: a tie."""
    for clients in (5.0, 8.0, 1e9):
        assert nats_of(rule.POSTERIOR, clients, 0.5 * clients, clients, 0.5) == math.log(2.0)


def test_student_by_hand() -> None:
    """Two degrees of freedom: P(T >= t) = (1 - t/sqrt(2 + t^2))/2.

    Cauchy's law is left to one degree.
    """
    for t in (0.0, 0.1, 1.0, 30.0, -2.0):
        expected = 0.5 * (1.0 - t / math.sqrt(2.0 + t * t))
        assert math.exp(-special.student_evidence(t / math.sqrt(2.0), 2.0)) == pytest.approx(
            expected, rel=1e-11
        )
    assert special.student_evidence(1.0, 1.0) == pytest.approx(math.log(4.0), rel=1e-13)


def test_what_a_rule_needs_depends_on_the_law() -> None:
    bernoulli = Law(law.BINOMIAL, 0.0, 1.0, 1.0)
    for which in (rule.DIVERGENCE, rule.DIVERGENCE_PLUS, rule.POSTERIOR):
        assert not which.under(bernoulli).needs_spread
        assert which.under(normal()).needs_spread
        assert not which.under(normal()).is_monotone
        assert which.under(normal()).under(normal()) == which.under(normal())
        # Asked as if N and S were enough, there is no answer.
        assert math.isnan(rule.evidence(which, normal(), seen(9.0, 9.0, 9.0), 2.0))
        assert math.isnan(
            rule.evidence(which.under(normal()), normal(), seen(9.0, 9.0, math.nan), 2.0)
        )


SIZES = st.floats(-90.0, 90.0).map(lambda exponent: 10.0**exponent)


@pytest.mark.slow
@pytest.mark.parametrize(
    "which", [rule.DIVERGENCE, rule.DIVERGENCE_PLUS, rule.POSTERIOR], ids=lambda each: each.code
)
@given(
    clients=st.one_of(st.integers(1, 50).map(float), st.floats(0.01, 1e15)),
    mean=SIZES,
    sign=st.sampled_from([1.0, -1.0, 0.0]),
    deviation=st.one_of(st.just(0.0), SIZES),
    threshold=st.one_of(SIZES, SIZES.map(lambda size: -size), st.just(0.0)),
    alpha=st.sampled_from([-1.0, -100.0, 0.5]),
)
def test_evidence_is_a_number(
    which: rule.Rule,
    clients: float,
    mean: float,
    sign: float,
    deviation: float,
    threshold: float,
    alpha: float,
) -> None:
    total, spread = sign * mean * clients, deviation * (deviation * clients)
    nats = nats_of(which, clients, total, spread, threshold, alpha)
    assert nats >= 0.0  # false for NaN
    higher = math.nextafter(threshold + 1e-9 * abs(threshold), math.inf)
    assert nats_of(which, clients, total, spread, higher, alpha) >= nats * (1.0 - 1e-9)
    own = normal(alpha)
    for limit in (0.0, 3.0):
        index = rule.index(which.under(own), own, seen(clients, total, spread), limit)
        assert index == index


@given(
    clients=st.floats(1.0, 1e6),
    slope=st.one_of(st.floats(-3.0, 3.0), SIZES, SIZES.map(lambda size: -size)),
    alpha=st.sampled_from([-1.0, 0.5]),
)
def test_bounds_hold_the_posterior_evidence(clients: float, slope: float, alpha: float) -> None:
    total, spread = 0.3 * clients, 4.0 * clients
    threshold = 0.3 + 2.0 * slope
    least, most = unknown_variance.student_bounds(normal(alpha), clients, total, spread, threshold)
    assert least <= nats_of(rule.POSTERIOR, clients, total, spread, threshold, alpha) <= most
    assert most - least <= 0.5 * math.log(math.pi * clients) + 1.0 + 3e-6 * most


def test_posterior_draws_are_student_s() -> None:
    """Exact moments of t with many degrees of freedom, at 5 standard errors (one seed
    in a million).
    """
    from profitable.kernels.draw import draw_means

    out = np.empty(40_000)
    draw_means(np.random.default_rng(5), normal(), 24.0, 48.0, 96.0, out)
    freedom, scale = 21.0, math.sqrt(96.0 / (24.0 * 21.0))
    deviation = scale * math.sqrt(freedom / (freedom - 2.0))
    assert abs(out.mean() - 2.0) < 5.0 * deviation / 200.0
    assert out.std() == pytest.approx(deviation, rel=5.0 / math.sqrt(2.0 * out.size) * 1.2)
    assert unknown_variance.freedom(normal(), 24.0) == freedom
