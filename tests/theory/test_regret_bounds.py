"""The theorems against arithmetic by hand, the errata, and exact expectations."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.errors import InputError
from profitable.theory import regret_bounds
from tests.kernels import reference

BERNOULLI = pb.Bernoulli()
THRESHOLDS = (0.2, 0.2, 0.4, 0.6, 0.8)
MEANS = (0.1, 0.3, 0.5, 0.5, 0.7)
CATEGORIES = [
    pb.Category(f"arm {i + 1}", BERNOULLI, threshold=tau) for i, tau in enumerate(THRESHOLDS)
]
POISSON_ARRIVALS = [regret_bounds.Arrivals(average=rate + 1.0) for rate in (3, 4, 5, 6, 7)]


def bernoulli_divergence(x: float, y: float) -> float:
    return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y))


def test_lower_bound_of_scenario_1() -> None:
    result = regret_bounds.lower_bound(CATEGORIES, MEANS)
    by_hand = [
        0.1 / bernoulli_divergence(mu, tau) if mu < tau else 0.0
        for mu, tau in zip(MEANS, THRESHOLDS, strict=True)
    ]
    assert result.regret_per_log_t == pytest.approx(by_hand, rel=1e-12)
    assert result.total == pytest.approx(11.175, abs=5e-4)
    assert result.clients_per_log_t[0] == pytest.approx(1 / bernoulli_divergence(0.1, 0.2))


def test_asymptotic_upper_bound_of_scenario_1() -> None:
    assert regret_bounds.asymptotic_upper_bound(
        CATEGORIES, MEANS, POISSON_ARRIVALS
    ) == pytest.approx(73.6, abs=0.05)
    constant = [regret_bounds.Arrivals.constant(4)] * 5
    total = regret_bounds.lower_bound(CATEGORIES, MEANS).total
    assert regret_bounds.asymptotic_upper_bound(CATEGORIES, MEANS, constant) == pytest.approx(total)


def test_loans_count_in_money() -> None:
    loan = pb.Category.loan("loan", amount=1_000, rate=0.25)
    result = regret_bounds.lower_bound([loan], [0.7])
    nats = bernoulli_divergence(0.7, 0.8)
    assert result.total == pytest.approx(1_000 * (1 - 1.25 * 0.7) / nats)


@pytest.mark.parametrize(
    ("mean", "threshold", "rate", "errata"),
    [(0.1, 0.2, 3, 46_420), (0.5, 0.6, 6, 548_946), (0.7, 0.8, 7, 426_189)],
)
def test_theorem_2_i_at_the_paper_s_horizon(
    mean: float, threshold: float, rate: float, errata: int
) -> None:
    """With eps < 1, as in the proof, the bound is vacuous at T = 10 000; the
    statement's eps > 0 gives better.
    """
    arrivals = regret_bounds.Arrivals(average=rate + 1.0)
    almost = regret_bounds.kl_ucb_unprofitable(
        BERNOULLI, mean, threshold, horizon=1e4, arrivals=arrivals, c=3, epsilon=0.98
    )
    assert almost.clients == pytest.approx(errata, rel=5e-6)
    assert almost.vacuous
    best = regret_bounds.kl_ucb_unprofitable(
        BERNOULLI, mean, threshold, horizon=1e4, arrivals=arrivals, c=3
    )
    assert best.epsilon > 1.0
    assert not best.vacuous
    assert best.clients < almost.clients / 5


def test_theorem_2_i_constants_by_hand() -> None:
    bound = regret_bounds.kl_ucb_unprofitable(
        BERNOULLI,
        0.5,
        0.6,
        horizon=1e12,
        arrivals=regret_bounds.Arrivals(smallest=2, average=3),
        c=3,
        epsilon=0.5,
    )
    whole = bernoulli_divergence(0.5, 0.6)
    low, high = 0.5, 0.6
    for _ in range(200):
        r = (low + high) / 2
        low, high = (r, high) if bernoulli_divergence(r, 0.6) > whole / 1.5 else (low, r)
    nats = bernoulli_divergence(r, 0.5)
    assert bound.constants["H_1"] == pytest.approx(
        1 / ((1 - math.exp(-nats)) * (1 - math.exp(-2 * nats))), rel=1e-9
    )
    assert bound.constants["beta_1"] == pytest.approx(1.5 * nats / whole, rel=1e-9)
    leading = 1.5 * 3 * (math.log(1e12) + 3 * math.log(math.log(1e12))) / (2 * whole)
    assert bound.leading == pytest.approx(leading, rel=1e-12)
    expected = 3 * (1 + bound.constants["H_1"] / 1e12 ** bound.constants["beta_1"])
    assert bound.constant == pytest.approx(expected, rel=1e-9)


def test_deviation_lemma_really_bounds_the_probabilities() -> None:
    """H/T^beta of the lemma is at least the double sum of exact binomial probabilities
    that it bounds.
    """
    mean, threshold, factor, smallest = 0.3, 0.6, 1.5, 1
    horizon = 1e3
    h, beta = regret_bounds.deviation_constants(
        BERNOULLI, mean, threshold, factor=factor, smallest=smallest
    )
    whole = bernoulli_divergence(mean, threshold)
    first = math.ceil(factor * math.log(horizon) / whole)
    total = 0.0
    for s in range(first, first + 400):
        ks = np.arange(s, s + 800)
        cut = np.array([_smallest_success(k, threshold, whole / factor) for k in ks])
        total += float(stats.binom.sf(cut - 1, ks, mean).sum())
    assert 0.0 < total < h / horizon**beta


def _smallest_success(k: int, threshold: float, nats: float) -> int:
    low, high = 0, math.ceil(k * threshold)
    while low < high:
        middle = (low + high) // 2
        x = min(max(middle / k, 1e-300), 1 - 1e-16)
        low, high = (
            (low, middle)
            if x >= threshold or bernoulli_divergence(x, threshold) <= nats
            else (middle + 1, high)
        )
    return low


def test_theorem_2_ii() -> None:
    arrivals = regret_bounds.Arrivals(smallest=1, average=4, largest=6)
    printed = regret_bounds.kl_ucb_profitable(horizon=1e6, arrivals=arrivals, c=3, as_printed=True)
    assert printed == pytest.approx(4 * (math.e * 9 * math.log(math.log(1e6)) + 6 + 3))
    supported = regret_bounds.kl_ucb_profitable(horizon=1e6, arrivals=arrivals, c=3)
    assert supported - printed == pytest.approx(4 * 0.79, abs=0.02)
    # The proof's own sum: 2 + c+ + e(2c + 3) sum of 1/(t log t).
    t = np.arange(3, 10**6, dtype=float)
    assert supported >= 4 * (2 + 6 + math.e * 9 * float((1 / (t * np.log(t))).sum()))
    with pytest.raises(InputError, match="c >= 3"):
        regret_bounds.kl_ucb_profitable(horizon=1e6, arrivals=arrivals, c=2)
    with pytest.raises(InputError, match="c\\+ finite"):
        regret_bounds.kl_ucb_profitable(horizon=1e6, arrivals=regret_bounds.Arrivals(average=4.0))


def _r(mean: float, threshold: float, nats: float) -> float:
    """r between mean and threshold with d(r, threshold) = nats."""
    low, high = mean, threshold
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if bernoulli_divergence(middle, threshold) > nats else (low, middle)
        )
    return low


@pytest.mark.parametrize("as_printed", [False, True])
def test_theorem_3_i_by_hand(as_printed: bool) -> None:
    horizon, eps, c = 1e6, 0.5, 5.0
    arrivals = regret_bounds.Arrivals(smallest=2, average=4, largest=6)
    options = {
        "horizon": horizon,
        "arrivals": arrivals,
        "prior_constant": 2.0,
        "prior_low": 0.01,
        "c": c,
        "epsilon": eps,
    }
    bound = regret_bounds.bayes_ucb_unprofitable(
        BERNOULLI, 0.5, 0.6, as_printed=as_printed, **options
    )
    whole = bernoulli_divergence(0.5, 0.6)
    late = math.log(horizon) + c * math.log(math.log(horizon))
    assert bound.leading == pytest.approx(3.0 * 4 * late / (2 * whole), rel=1e-12)
    d_low, d_up = bernoulli_divergence(0.01, 0.5), bernoulli_divergence(0.6, 0.5)
    h_2 = sum(
        math.exp(-2 * d) / ((1 - math.exp(-d)) * (1 - math.exp(-2 * d))) for d in (d_low, d_up)
    )
    assert bound.constants["H_2"] == pytest.approx(h_2, rel=1e-12)
    # Beyond K_T the proof leaves d(mean of k, tau) <= d/(1 + eps): the two conditions
    # add up to (1 - eps)/(1 + eps) + eps/(1 + eps); printed is the first of the two
    # alone.
    d_r = bernoulli_divergence(_r(0.5, 0.6, whole / 3.0 if as_printed else whole / 1.5), 0.5)
    assert bound.constants["H_3"] == pytest.approx(
        1 / ((1 - math.exp(-d_r)) * (1 - math.exp(-2 * d_r))), rel=1e-8
    )
    assert bound.constants["beta_2"] == pytest.approx(3.0 * d_r / whole, rel=1e-8)
    constant = 4 * (1 + h_2 + bound.constants["H_3"] * horizon ** -bound.constants["beta_2"])
    assert bound.constant == pytest.approx(constant, rel=1e-9)


def test_theorem_3_i_starts_at_n_a() -> None:
    options = {
        "arrivals": regret_bounds.Arrivals(average=4.0),
        "prior_constant": 2.0,
        "prior_low": 0.01,
        "c": 5.0,
        "epsilon": 0.1,
    }
    whole = bernoulli_divergence(0.5, 0.6)

    def late_enough(horizon: float) -> bool:
        clients = math.ceil(
            1.1 / 0.9 * (math.log(horizon) + 5 * math.log(math.log(horizon))) / whole
        )
        return (
            clients >= 3
            and (0.5 * math.log(clients) + math.log(2.0)) / clients <= 0.1 / 1.1 * whole
        )

    seen: set[bool] = set()
    for exponent in range(2, 90, 3):
        horizon = 10.0**exponent
        seen.add(late_enough(horizon))
        if late_enough(horizon):
            regret_bounds.bayes_ucb_unprofitable(BERNOULLI, 0.5, 0.6, horizon=horizon, **options)
        else:
            with pytest.raises(InputError, match="N_a"):
                regret_bounds.bayes_ucb_unprofitable(
                    BERNOULLI, 0.5, 0.6, horizon=horizon, **options
                )
    assert seen == {True, False}


def test_the_best_epsilon_is_the_best() -> None:
    options = {"horizon": 1e9, "arrivals": regret_bounds.Arrivals(average=4.0), "c": 3.0}
    best = regret_bounds.kl_ucb_unprofitable(BERNOULLI, 0.5, 0.6, **options).clients
    for eps in np.linspace(0.01, 6.0, 300).tolist():
        other = regret_bounds.kl_ucb_unprofitable(
            BERNOULLI, 0.5, 0.6, epsilon=eps, **options
        ).clients
        assert other >= best * (1 - 1e-9)


def test_theorem_3_ii_by_hand() -> None:
    arrivals = regret_bounds.Arrivals(smallest=1, average=4, largest=6)
    late = {"horizon": 1e6, "arrivals": arrivals, "prior_a": 0.5, "prior_c": 0.01}
    t_a = max(math.e / 0.5, 3, 0.5, 6, 3)
    slope = math.e * 10 / 0.5
    log_log = math.log(math.log(1e6))
    printed = regret_bounds.bayes_ucb_profitable(BERNOULLI, 0.9, 0.2, as_printed=True, **late)
    assert printed == pytest.approx(4 * (slope * log_log + t_a + 1))
    d = bernoulli_divergence(0.2, 0.9)
    t_1 = next(t for t in range(2, 10**6) if 0.01**2 * t * math.log(t) ** 10 >= 1)
    t_0 = max(t_1, math.ceil(math.exp(2 / d)))
    by_hand = t_0 - 1 + math.pi**2 / 6 / (1 - math.exp(-d)) + t_a + slope * (log_log + 0.0733311)
    assert regret_bounds.bayes_ucb_profitable(BERNOULLI, 0.9, 0.2, **late) == pytest.approx(
        4 * by_hand, rel=1e-7
    )
    # exp(2/d) rounds come first.
    assert regret_bounds.bayes_ucb_profitable(BERNOULLI, 0.5001, 0.5, **late) == math.inf


def test_section_4_3_bounded_rewards() -> None:
    arrivals = regret_bounds.Arrivals(average=4.0)
    bounded = regret_bounds.kl_ucb_unprofitable(
        pb.Bounded(low=-1, high=3), 1.0, 1.4, horizon=1e6, arrivals=arrivals
    )
    bernoulli = regret_bounds.kl_ucb_unprofitable(
        BERNOULLI, 0.5, 0.6, horizon=1e6, arrivals=arrivals
    )
    assert bounded.clients == pytest.approx(bernoulli.clients, rel=1e-9)


ANY = regret_bounds.Arrivals(average=2.0, largest=2.0)


@pytest.mark.parametrize(
    "act",
    [
        lambda: regret_bounds.thompson_unprofitable(
            BERNOULLI, 0.5, 0.6, horizon=1e4, arrivals=ANY, epsilon=2
        ),
        lambda: regret_bounds.thompson_unprofitable(BERNOULLI, 0.5, 0.6, horizon=0, arrivals=ANY),
        lambda: regret_bounds.kl_ucb_unprofitable(BERNOULLI, 0.5, 0.5, horizon=1e4, arrivals=ANY),
        lambda: regret_bounds.kl_ucb_unprofitable(
            BERNOULLI, 0.5, 0.6, horizon=1e4, arrivals=ANY, epsilon=0
        ),
        lambda: regret_bounds.kl_ucb_unprofitable(
            pb.Exponential(), 0.0, 1.0, horizon=1e4, arrivals=ANY
        ),
        lambda: regret_bounds.information_of_law(
            [math.nan, 1.0], [0.5, 0.5], threshold=0.6, high=1.0
        ),
        lambda: regret_bounds.information_of_law([0.0, 1.0], [0.5, 0.6], threshold=0.6, high=1.0),
        lambda: regret_bounds.information_of_law(
            [0.0, 1.0], [0.5, 0.5], threshold=math.nan, high=1.0
        ),
        lambda: regret_bounds.lower_bound(CATEGORIES, MEANS[:2]),
        lambda: regret_bounds.asymptotic_upper_bound(CATEGORIES, MEANS, []),
        lambda: regret_bounds.bayes_ucb_profitable(
            BERNOULLI, 0.9, 0.2, horizon=1e6, arrivals=ANY, prior_a=0.0, prior_c=1.0
        ),
        lambda: regret_bounds.bayes_ucb_profitable(
            BERNOULLI, 0.9, 0.2, horizon=1e6, arrivals=ANY, prior_a=1.0, prior_c=0.0
        ),
        lambda: regret_bounds.bayes_ucb_unprofitable(
            BERNOULLI, 0.5, 0.6, horizon=1e6, arrivals=ANY, prior_constant=0.0, prior_low=0.1
        ),
        lambda: regret_bounds.bayes_ucb_unprofitable(
            BERNOULLI, 0.5, 0.6, horizon=1e6, arrivals=ANY, prior_constant=2.0, prior_low=-5.0
        ),
    ],
)
def test_nonsense_is_refused(act: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        act()


def test_theorem_4_leading_term() -> None:
    arrivals = regret_bounds.Arrivals(average=7.0)
    value = regret_bounds.thompson_unprofitable(
        BERNOULLI, 0.5, 0.6, horizon=1e4, arrivals=arrivals, epsilon=0.2
    )
    assert value == pytest.approx(1.5 * 7 * math.log(1e4) / bernoulli_divergence(0.5, 0.6))


def test_information_of_bounded_laws() -> None:
    values, weights = [0.0, 0.3, 1.0], [0.5, 0.3, 0.2]
    nats = regret_bounds.information_of_law(values, weights, threshold=0.5, high=1.0)
    assert nats == pytest.approx(
        float(reference.empirical_evidence(values, weights, 1.0, 0.5)), rel=1e-12
    )
    # The primal: the closest law on the same points with mean at least the threshold is
    # one of these.
    first, second = np.meshgrid(np.linspace(1e-4, 0.999, 1_500), np.linspace(1e-4, 0.999, 1_500))
    third = 1.0 - first - second
    possible = (third > 0) & (0.3 * second + third >= 0.5)
    laws = np.array([first[possible], second[possible], third[possible]])
    shares = np.array(weights)[:, None]
    closest = float((shares * np.log(shares / laws)).sum(axis=0).min())
    assert nats <= closest
    assert closest == pytest.approx(nats, rel=5e-3)
    with pytest.raises(InputError, match="whole law"):
        regret_bounds.information(pb.Bounded(low=0, high=1), 0.3, 0.5)


def test_profitable_categories_cost_nothing_asymptotically() -> None:
    assert regret_bounds.information(BERNOULLI, 0.5, 0.5) == 0.0
    assert regret_bounds.lower_bound(CATEGORIES[1:3], MEANS[1:3]).total == 0.0
    with pytest.raises(InputError, match="do not fit the theorem"):
        regret_bounds.kl_ucb_unprofitable(
            BERNOULLI, 0.5, 0.4, horizon=1e4, arrivals=regret_bounds.Arrivals()
        )
    with pytest.raises(InputError, match="ordered"):
        regret_bounds.Arrivals(smallest=3, average=2)


def test_the_best_epsilon_is_looked_for_up_to_the_end() -> None:
    arrivals = regret_bounds.Arrivals(smallest=1.0, average=4.0, largest=7.0)
    model = (pb.Bernoulli(), 0.1, 0.2)
    best = regret_bounds.kl_ucb_unprofitable(
        *model, horizon=1e4, arrivals=arrivals, largest_epsilon=1.0
    ).clients
    for epsilon in (0.5, 0.9, 0.98, 0.999):
        assert (
            best
            <= regret_bounds.kl_ucb_unprofitable(
                *model, horizon=1e4, arrivals=arrivals, epsilon=epsilon
            ).clients
        )
