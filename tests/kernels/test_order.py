"""Evidence of bands, against brute force over all partitions and a convex solver."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from profitable.common.types import FloatArray
from profitable.kernels.law import (
    BINOMIAL,
    GAMMA,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    POISSON,
    Law,
    against,
    posterior_evidence,
)
from profitable.kernels.order import BandRow, clients_in_question, new_bands, weigh_bands
from profitable.kernels.patience import AHEAD, DRAWN, TIME, Patience, patience_at

INF = math.inf
LAWS = {
    "bernoulli": Law(BINOMIAL, 0.0, 1.0, 1.0),
    "bounded": Law(BINOMIAL, -1.0, 3.0, 7.0),
    "negative binomial": Law(NEGATIVE_BINOMIAL, 0.0, INF, 2.5),
    "poisson": Law(POISSON, 0.0),
    "gamma": Law(GAMMA, 0.0, INF, 0.4),
    "gaussian": Law(GAUSSIAN, -INF, INF, 1.5),
}
by_law = pytest.mark.parametrize("name", LAWS)


def divergence(law: Law, x: float, y: float) -> float:
    """d(x, y) by the textbook, sharing nothing with the kernels."""
    if x == y:
        return 0.0
    if law.code == BINOMIAL:
        width = law.high - law.low
        p, q = (x - law.low) / width, (y - law.low) / width
        terms = special.xlogy(p, p / q) if q > 0 else (INF if p > 0 else 0.0)
        if q < 1:
            terms += special.xlogy(1 - p, (1 - p) / (1 - q))
        elif p < 1:
            return INF
        return law.size * float(terms)
    if law.code == NEGATIVE_BINOMIAL:
        r = law.size
        return float(special.xlogy(x, x * (r + y) / (y * (r + x)))) + r * math.log(
            (r + y) / (r + x)
        )
    if law.code == POISSON:
        return y - x + float(special.xlogy(x, x / y))
    if law.code == GAMMA:
        return law.size * (x / y - 1 - math.log(x / y))
    return (x - y) ** 2 / (2 * law.size**2)


def loss(law: Law, clients: FloatArray, totals: FloatArray, means: FloatArray) -> float:
    return sum(
        n * divergence(law, s / n, mean)
        for n, s, mean in zip(clients, totals, means, strict=True)
        if n > 0
    )


def least_loss(
    law: Law,
    clients: FloatArray,
    totals: FloatArray,
    held: int | None = None,
    edge: float = math.nan,
    side: float = 1.0,
) -> float:
    """min L over means that do not fall: over all partitions into equal means.

    A block is at its own mean or, if band `held` must reach `edge`, at the edge.
    """
    size, best = clients.size, INF
    for cuts in itertools.product([False, True], repeat=size - 1):
        ends = [0, *(i + 1 for i in range(size - 1) if cuts[i]), size]
        choices: list[list[float]] = []
        for a, b in itertools.pairwise(ends):
            n, s = clients[a:b].sum(), totals[a:b].sum()
            own = [s / n] if n > 0 else []
            choices.append(own if held is None else [*own, edge])
        for values in itertools.product(*choices):
            means = np.repeat(values, np.diff(ends))
            if np.any(np.diff(means) < 0) or (held is not None and side * (means[held] - edge) < 0):
                continue
            best = min(best, loss(law, clients, totals, means))
    return best


def evidence_by_partitions(
    law: Law, clients: FloatArray, totals: FloatArray, targets: FloatArray, j: int
) -> float:
    """Nats against band j; negative where the order speaks for it."""
    with_data = clients > 0
    if not with_data.any():
        return 0.0
    free = least_loss(law, clients[with_data], totals[with_data])
    rise = least_loss(law, clients, totals, j, targets[j]) - free
    fall = least_loss(law, clients, totals, j, targets[j], -1.0) - free
    assert min(rise, fall) < 1e-9
    return rise if rise > fall else -fall


def table(clients: FloatArray, totals: FloatArray, targets: FloatArray | float) -> FloatArray:
    bands = new_bands(len(clients))
    bands[BandRow.CLIENTS], bands[BandRow.TOTAL] = clients, totals
    bands[BandRow.TARGET] = targets
    return bands


def weighed(
    law: Law,
    clients: FloatArray,
    totals: FloatArray,
    targets: FloatArray | float,
    *,
    posterior: bool = False,
    trust: float = INF,
    t: float = 1.0,
) -> FloatArray:
    bands = table(clients, totals, targets)
    weigh_bands(law, posterior, trust, Patience(DRAWN), t, INF, bands)
    return bands


def means_of(law: Law, rng: np.random.Generator, size: int) -> FloatArray:
    """Means inside the domain, near each other."""
    if law.code == BINOMIAL:
        return law.low + (law.high - law.low) * rng.uniform(0.1, 0.9, size)
    return rng.normal(0.5, 1.0, size) if law.code == GAUSSIAN else rng.uniform(0.5, 3.0, size)


def draw(
    law: Law, rng: np.random.Generator, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Clients, often 0, totals, and thresholds of an order."""
    clients = rng.integers(0, 12, size).astype(float) * rng.integers(0, 2, size).clip(
        rng.integers(0, 2)
    )
    means = means_of(law, rng, size)
    if rng.random() < 0.5:
        means = np.sort(means)
    totals = np.zeros(size)
    for i, (n, mean) in enumerate(zip(clients, means, strict=True)):
        if n > 0 and law.code == BINOMIAL:
            width = law.high - law.low
            hits = rng.binomial(int(n * law.size), (mean - law.low) / width)
            totals[i] = n * law.low + width / law.size * hits
        elif n > 0 and law.code == GAUSSIAN:
            totals[i] = rng.normal(n * mean, law.size * math.sqrt(n))
        elif n > 0 and law.code == GAMMA:
            totals[i] = rng.gamma(n * law.size) * mean / law.size
        elif n > 0:
            totals[i] = rng.poisson(n * mean)
    kind = rng.integers(3)
    targets = means_of(law, rng, size)
    if kind == 0:
        targets[:] = targets[0]
    elif kind == 1:
        targets = np.sort(targets)
    return clients, totals, targets


@by_law
def test_evidence_is_that_of_all_partitions(name: str) -> None:
    law, rng = LAWS[name], np.random.default_rng(25)
    against_some = for_some = 0
    for case in range(150):
        clients, totals, targets = draw(law, rng, 1 + case % 6)
        bands = weighed(law, clients, totals, targets, posterior=True)
        sides = weighed(law, clients, totals, targets)
        for j in range(clients.size):
            expected = evidence_by_partitions(law, clients, totals, targets, j)
            assert bands[BandRow.SHARED, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert sides[BandRow.EVIDENCE, j] == max(0.0, bands[BandRow.SHARED, j])
            against_some += expected > 1e-3
            for_some += expected < -1e-3
    assert min(against_some, for_some) > 100


@by_law
def test_a_convex_solver_finds_the_same(name: str) -> None:
    """SLSQP minimises the Bregman loss in the natural parameter."""
    law, rng, compared = LAWS[name], np.random.default_rng(8), 0
    for _ in range(80):
        clients, totals, targets = draw(law, rng, 4)
        means = totals / np.maximum(clients, 1.0)
        inside = (means > law.low) & (means < law.high)
        if not ((clients > 0) & inside).all():
            continue
        bands = weighed(law, clients, totals, targets)

        def total(theta: FloatArray, n: FloatArray = clients, s: FloatArray = totals) -> float:
            return loss(law, n, s, mean_of(law, theta))

        def slope(theta: FloatArray, n: FloatArray = clients, m: FloatArray = means) -> FloatArray:
            return n * (mean_of(law, theta) - m)

        for j in range(4):
            rising = [{"type": "ineq", "fun": np.diff}]
            edge = natural(law, targets[j])
            reach = [{"type": "ineq", "fun": lambda theta, j=j, edge=edge: theta[j] - edge}]
            start, bounds = (
                np.full(4, edge),
                [(None, -1e-3 if edge < 0 and is_gamma(law) else None)] * 4,
            )
            free, held = (
                optimize.minimize(
                    total,
                    start,
                    jac=slope,
                    method="SLSQP",
                    bounds=bounds,
                    constraints=each,
                    options={"maxiter": 1000, "ftol": 1e-14},
                ).fun
                for each in (rising, rising + reach)
            )
            assert bands[BandRow.EVIDENCE, j] == pytest.approx(held - free, abs=1e-6)
            compared += bands[BandRow.EVIDENCE, j] > 1e-3
    assert compared > 15


def is_gamma(law: Law) -> bool:
    return law.code in (GAMMA, NEGATIVE_BINOMIAL)


def natural(law: Law, mean: float) -> float:
    if law.code == BINOMIAL:
        width = law.high - law.low
        return law.size / width * float(special.logit((mean - law.low) / width))
    if law.code == NEGATIVE_BINOMIAL:
        return math.log(mean / (law.size + mean))
    if law.code == POISSON:
        return math.log(mean)
    return -law.size / mean if law.code == GAMMA else mean / law.size**2


def mean_of(law: Law, theta: FloatArray) -> FloatArray:
    if law.code == BINOMIAL:
        width = law.high - law.low
        return law.low + width * special.expit(theta * width / law.size)
    if law.code == NEGATIVE_BINOMIAL:
        return law.size * np.exp(theta) / -np.expm1(theta)
    if law.code == POISSON:
        return np.exp(theta)
    return -law.size / theta if law.code == GAMMA else theta * law.size**2


@pytest.mark.parametrize("name", ["bernoulli", "bounded", "gaussian"])  # the symmetric laws
def test_the_order_reversed_swaps_the_two_sides(name: str) -> None:
    """With mean c - x, what speaks against a band speaks for its mirror image."""
    law, rng = LAWS[name], np.random.default_rng(4)
    middle = law.low + law.high if law.code == BINOMIAL else 0.0
    for _ in range(100):
        clients, totals, targets = draw(law, rng, 9)
        bands = weighed(law, clients, totals, targets, posterior=True)
        mirror = weighed(
            law,
            clients[::-1],
            (middle * clients - totals)[::-1],
            middle - targets[::-1],
            posterior=True,
        )
        assert mirror[BandRow.SHARED][::-1] == pytest.approx(-bands[BandRow.SHARED], abs=1e-8)


@by_law
def test_a_band_alone_has_its_own_evidence_to_the_last_bit(name: str) -> None:
    law, rng = LAWS[name], np.random.default_rng(5)
    for _ in range(200):
        clients, totals, targets = draw(law, rng, 1)
        n, s, tau = float(clients[0]), float(totals[0]), float(targets[0])
        bands = weighed(law, clients, totals, targets)
        assert bands[BandRow.EVIDENCE, 0] == against(law, n, s, tau)
        bands = weighed(law, clients, totals, targets, posterior=True, trust=3.0)
        assert bands[BandRow.EVIDENCE, 0] == posterior_evidence(law, n, s, tau, 0.0)


@by_law
def test_few_clients_change_little(name: str) -> None:
    """N -> 0 is N = 0."""
    law, rng = LAWS[name], np.random.default_rng(6)
    for _ in range(50):
        clients, totals, targets = draw(law, rng, 6)
        j = int(rng.integers(6))
        mean = totals[j] / clients[j] if clients[j] > 0 else float(means_of(law, rng, 1)[0])
        clients[j], totals[j] = 0.0, 0.0
        none = weighed(law, clients, totals, targets, posterior=True)[BandRow.SHARED]
        clients[j], totals[j] = 1e-11, 1e-11 * mean
        few = weighed(law, clients, totals, targets, posterior=True)[BandRow.SHARED]
        assert few == pytest.approx(none, abs=1e-8)


@by_law
def test_splitting_a_band_at_equal_mean_keeps_the_evidence_of_its_lowest_part(name: str) -> None:
    law, rng = LAWS[name], np.random.default_rng(7)
    for _ in range(100):
        clients, totals, targets = draw(law, rng, 5)
        j, share = int(rng.integers(5)), rng.uniform(0.1, 0.9)
        whole = weighed(law, clients, totals, targets)[BandRow.EVIDENCE]
        parts = np.array([share, 1.0 - share])
        split = weighed(
            law,
            np.concatenate([clients[:j], clients[j] * parts, clients[j + 1 :]]),
            np.concatenate([totals[:j], totals[j] * parts, totals[j + 1 :]]),
            np.insert(targets, j, targets[j]),
        )[BandRow.EVIDENCE]
        assert split[: j + 1] == pytest.approx(whole[: j + 1], rel=1e-9, abs=1e-9)


@by_law
def test_evidence_falls_with_the_band_where_thresholds_do_not_rise(name: str) -> None:
    law, rng = LAWS[name], np.random.default_rng(9)
    for _ in range(100):
        clients, totals, targets = draw(law, rng, 12)
        targets = np.sort(targets)[::-1] if rng.random() < 0.5 else np.full(12, targets[0])
        bands = weighed(law, clients, totals, targets.copy(), posterior=True)
        assert (np.diff(bands[BandRow.SHARED]) <= 1e-9).all()
        for posterior in (False, True):
            bands = weighed(law, clients, totals, targets.copy(), posterior=posterior)
            assert (np.diff(bands[BandRow.EVIDENCE]) <= 0.0).all()


@by_law
def test_thresholds_at_the_edges_of_the_domain(name: str) -> None:
    law, rng = LAWS[name], np.random.default_rng(10)
    for _ in range(30):
        clients, totals, _ = draw(law, rng, 5)
        if not clients.any():
            continue
        for posterior in (False, True):
            if law.low > -INF:
                low = weighed(law, clients, totals, law.low, posterior=posterior)
                assert (low[BandRow.EVIDENCE] == 0.0).all()
            if law.high < INF:
                high = weighed(law, clients, totals, law.high, posterior=posterior)
                fails = totals < clients * law.high
                expected = np.where(np.cumsum(fails[::-1])[::-1] > 0, INF, 0.0)
                if posterior:
                    expected[np.cumsum(clients[::-1])[::-1] > 0] = INF
                assert (high[BandRow.EVIDENCE] == expected).all()


def test_no_data_is_no_evidence_and_huge_counts_keep_their_digits() -> None:
    law = LAWS["bernoulli"]
    for posterior in (False, True):
        none = weighed(law, np.zeros(4), np.zeros(4), 0.3, posterior=posterior)
        assert (none[BandRow.EVIDENCE] == 0.0).all()
    clients = np.full(3, 1e9)
    bands = weighed(law, clients, clients * 0.5 - [9.0, 6.0, 3.0], 0.5)
    expected = [2 * each**2 / 1e9 for each in (9.0, 6.0, 3.0)]  # N d(m, 1/2) = 2 gap^2 / N
    assert bands[BandRow.EVIDENCE] == pytest.approx(np.cumsum(expected[::-1])[::-1], rel=1e-9)


def test_a_posterior_is_corrected_by_what_the_others_change() -> None:
    """Own evidence + rho(E_j) - rho(E_j alone), by SciPy's normal law."""

    def rho(nats: float) -> float:
        return -float(stats.norm.logcdf(-math.copysign(math.sqrt(2 * abs(nats)), nats)))

    law, rng, corrected = LAWS["bernoulli"], np.random.default_rng(11), 0
    for _ in range(200):
        clients, totals, targets = draw(law, rng, 5)
        bands = weighed(law, clients, totals, targets, posterior=True)
        for j in range(5):
            n, s, tau = clients[j], totals[j], targets[j]
            alone = math.copysign(n * divergence(law, s / n, tau), tau - s / n) if n > 0 else 0.0
            own = posterior_evidence(law, float(n), float(s), float(tau), 0.0)
            shared = evidence_by_partitions(law, clients, totals, targets, j)
            expected = max(0.0, own + rho(shared) - rho(alone))
            above = bands[BandRow.EVIDENCE, j + 1 :][targets[j + 1 :] <= tau]
            expected = max(expected, *above) if above.size else expected
            assert bands[BandRow.EVIDENCE, j] == pytest.approx(expected, abs=1e-7)
            corrected += above.size and expected == above.max() > 0.0
    assert corrected > 20


def test_a_prior_is_the_band_s_own() -> None:
    law = LAWS["bernoulli"]
    bands = table(np.array([10.0, 10.0]), np.array([5.0, 6.0]), 0.8)
    bands[BandRow.IMAGINARY], bands[BandRow.IMAGINARY_TOTAL] = [20.0, 0.0], [14.0, 0.0]
    weigh_bands(law, True, INF, Patience(DRAWN), 1.0, INF, bands)
    plain = weighed(law, np.array([10.0, 10.0]), np.array([5.0, 6.0]), 0.8, posterior=True)
    assert (bands[BandRow.SHARED] == plain[BandRow.SHARED]).all()
    own = [posterior_evidence(law, 30.0, 19.0, 0.8, 0.0), plain[BandRow.OWN, 1]]
    assert bands[BandRow.OWN].tolist() == own
    correction = plain[BandRow.EVIDENCE, 0] - plain[BandRow.OWN, 0]
    assert bands[BandRow.EVIDENCE, 0] == pytest.approx(own[0] + correction)


def misfit(law: Law, clients: FloatArray, totals: FloatArray) -> float:
    with_data = clients > 0
    return least_loss(law, clients[with_data], totals[with_data]) if with_data.any() else 0.0


def doubt(law: Law, clients: FloatArray, totals: FloatArray, j: int, trust: float) -> float:
    """The nats that it takes to judge band j alone; bands that left have no clients."""
    fewer = clients.copy()
    fewer[j] = 0.0
    gain = misfit(law, clients, totals) - misfit(law, fewer, totals) - 1.0
    return max(0.0, trust - max(0.0, gain))


@pytest.mark.parametrize("trust", [0.5, 3.0, INF])
@pytest.mark.parametrize("posterior", [False, True])
@pytest.mark.parametrize("kind", [TIME, DRAWN, AHEAD])
def test_decisions_follow_from_evidence_and_patience(
    kind: int, posterior: bool, trust: float
) -> None:
    """Shared evidence within patience, or own evidence and doubt within its own."""
    law, rng, sides = LAWS["poisson"], np.random.default_rng(13), np.zeros(3, dtype=int)
    weakened = 0
    patience = Patience(kind, rounds=40.0, growth=-1.0)
    for _ in range(60):
        clients, totals, targets = draw(law, rng, 6)
        t, drawn = float(rng.integers(1, 40)), float(rng.exponential())
        bands, strict = table(clients, totals, targets), table(clients, totals, targets)
        rate = rng.uniform(1.0, 9.0, 6)
        bands[BandRow.PER_ROUND] = rate
        weigh_bands(law, posterior, trust, patience, t, drawn, bands)
        strict[BandRow.CLIENTS] = np.where(bands[BandRow.LEFT] > 0, 0.0, clients)
        weigh_bands(law, posterior, INF, Patience(DRAWN), t, INF, strict)
        for j in range(6):
            n, s, tau = float(clients[j]), float(totals[j]), float(targets[j])
            own = posterior_evidence(law, n, s, tau, 0.0) if posterior else against(law, n, s, tau)
            left = bands[BandRow.LEFT, j] > 0
            nats = own if left else strict[BandRow.EVIDENCE, j]
            together = n if left else clients_in_question(bands, j)
            limits = [drawn, drawn]
            if kind != DRAWN:
                limits = [patience_at(patience, t, each, rate[j]) for each in (together, n)]
            by_itself = 0.0 if left else doubt(law, strict[BandRow.CLIENTS], totals, j, trust)
            by_itself += own
            reasons = [nats <= limits[0], trust < INF and by_itself <= limits[1]]
            weakened += not left and by_itself < trust + own
            assert (bands[BandRow.ACCEPTED, j] > 0) == any(reasons)
            shown = bands[BandRow.EVIDENCE, j], bands[BandRow.PATIENCE, j]
            if kind == AHEAD:
                expected = (by_itself, limits[1]) if reasons == [False, True] else (nats, limits[0])
            else:
                expected = min(nats, by_itself), limits[0]
            assert shown == pytest.approx(expected, abs=1e-9)
            sides += [not any(reasons), reasons[0], reasons == [False, True]]
    assert sides[0] > 10
    assert sides[1] > 10
    assert sides[2] > (0 if trust < 1.0 else -1)
    assert weakened > 10 or trust == INF


@by_law
def test_the_worst_band_leaves_first(name: str) -> None:
    """Of all bands, that whose removal lowers the misfit most, if by enough."""
    law, rng, left_some = LAWS[name], np.random.default_rng(12), 0
    for _ in range(120):
        clients, totals, targets = draw(law, rng, 6)
        clients, totals = 3.0 * clients, 3.0 * totals
        trust, t = rng.uniform(0.0, 2.0), float(rng.integers(1, 5))
        bands = weighed(law, clients, totals, targets, trust=trust, t=t)
        rest, gone = clients.copy(), np.zeros(6)
        while True:
            now, without = misfit(law, rest, totals), np.full(6, INF)
            for i in np.flatnonzero(rest):
                fewer = rest.copy()
                fewer[i] = 0.0
                without[i] = misfit(law, fewer, totals)
            best = int(without.argmin())
            if not now - without[best] > trust + math.log(t + 1.0):
                break
            rest[best], gone[best] = 0.0, 1.0
        left_some += bool(gone.any())
        assert bands[BandRow.LEFT].tolist() == gone.tolist()
        strict = weighed(law, rest, np.where(rest > 0, totals, 0.0), targets)
        for j in range(6):
            n, s, tau = float(clients[j]), float(totals[j]), float(targets[j])
            alone = against(law, n, s, tau)
            nats = alone
            if not gone[j]:
                by_itself = doubt(law, rest, totals, j, trust) + alone
                nats = min(strict[BandRow.EVIDENCE, j], by_itself)
            assert bands[BandRow.EVIDENCE, j] == pytest.approx(nats, rel=1e-9, abs=1e-9)
    assert left_some > 15


def test_clients_in_question_are_those_up_to_the_cut_off() -> None:
    law = LAWS["bernoulli"]
    clients = np.array([10.0, 20.0, 0.0, 40.0, 80.0])
    bands = weighed(law, clients, clients * [0.2, 0.3, 0.0, 0.4, 0.9], 0.5, posterior=True)
    assert [clients_in_question(bands, k) for k in range(5)] == [70.0, 60.0, 40.0, 40.0, 80.0]
