"""Hazard evidence: a plain implementation, SciPy's quadrature and numbers by hand."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from profitable.kernels import hazards
from profitable.kernels.hazards import (
    BookRow,
    Counts,
    LendingTerms,
    Mix,
    Rates,
    Today,
    break_even,
    instalment_of,
    judge,
    learn,
    level_evidence,
    level_left,
    poisson_evidence,
    value_at,
    value_of_mix,
)

MONTHLY = 1.05 ** (-1 / 12)
TERMS = LendingTerms(MONTHLY, 0.08, 5, 12.0, 0.3, 48.0, has_frailty=True)


class MadeUp(NamedTuple):
    """A book drawn at random."""

    counts: Counts
    today: Today


def made_up(rng: np.random.Generator, *, own_products: bool = False) -> MadeUp:
    """Draw a book: up to 10 categories, 3 products, any size, some ages not reached."""
    categories, products = int(rng.integers(1, 11)), int(rng.integers(1, 4))
    terms = np.sort(rng.choice(np.arange(1, 60), products, replace=False))
    ages = terms + rng.integers(0, 6) + 2
    shape = (categories, products, int(ages.max()))
    at_risk, defaults, closings = np.zeros((3, *shape))
    multipliers, hazard = rng.gamma(0.7, 1.0, categories), 10 ** rng.uniform(-4, -1)
    for k, p in itertools.product(range(categories), range(products)):
        if own_products and p != k % products:
            continue
        still = int(10 ** rng.uniform(0, 4) * rng.exponential())
        for j in range(rng.integers(1, ages[p] + 1)):
            if still == 0:
                break
            at_risk[k, p, j] = still
            defaults[k, p, j] = rng.binomial(
                still, min(1.0, multipliers[k] * hazard * (1 + j % 12))
            )
            closings[k, p, j] = rng.binomial(still - int(defaults[k, p, j]), 0.02)
            still -= int(defaults[k, p, j] + closings[k, p, j])
    issued = np.zeros((categories, products, 30))
    issued[:, :, :] = rng.integers(0, 50, issued.shape)
    asked = rng.random((categories, products)) * (rng.random((categories, 1)) < 0.9)
    today = Today(asked, asked * rng.uniform(0, 0.4, asked.shape), terms, ages)
    return MadeUp(Counts(at_risk, defaults, closings, issued), today)


def learnt(book: MadeUp) -> tuple[Rates, float]:
    categories, products, size = book.counts.at_risk.shape
    rates = Rates(
        np.zeros((products, size)), np.zeros((products, size)), np.zeros((categories, products))
    )
    return rates, learn(book.counts, book.today, rates)


def judged(book: MadeUp, terms: LendingTerms = TERMS, threshold: float = 1.0) -> np.ndarray:
    rates, frailty = learnt(book)
    columns = np.zeros((len(BookRow), len(book.counts.issued)))
    thresholds = np.full(columns.shape[1], threshold)
    judge(book.counts, book.today, rates, terms, frailty, thresholds, columns)
    return columns


# --------------------------------------------------------------- a plain implementation


def plain_by_age(events: np.ndarray, exposed: np.ndarray, mean: float, unseen: float) -> np.ndarray:
    weight = 20.0 / mean / events.size if mean > 0.0 else 20.0
    return np.where(exposed <= 0.0, unseen, (events + weight * mean) / (exposed + weight))


def plain_rates(
    events: np.ndarray, exposed: np.ndarray, today: Today, after: float | None
) -> np.ndarray:
    """By age within the term, by rounds since the term beyond it, then by product."""
    products, size = events.shape
    within, beyond = np.zeros((2, size)), np.zeros((2, size))
    for p, (term, last) in enumerate(zip(today.terms, today.ages, strict=True)):
        for j in range(last):
            where, place = (within, j) if j < term else (beyond, j - term)
            where[:, place] += events[p, j], exposed[p, j]
    mean = within[0].sum() / within[1].sum() if within[1].sum() > 0.0 else 0.0
    last = max(np.flatnonzero(within[1] > 0.0), default=0)
    latest = within[:, max(0, last - 11) : last + 1].sum(axis=1)
    tail = (latest[0] + 20.0) / (latest[1] + 20.0 / mean) if mean > 0.0 else 0.0
    late = beyond[0].sum() / beyond[1].sum() if beyond[1].sum() > 0.0 else 0.0
    pooled = plain_by_age(within[0], within[1], mean, tail)
    later = plain_by_age(beyond[0], beyond[1], late, tail if after is None else after)
    found, weight = np.zeros((products, size)), 20.0 / mean / size if mean > 0.0 else 20.0
    for p, (term, last) in enumerate(zip(today.terms, today.ages, strict=True)):
        factor = (20.0 + events[p, :term].sum()) / (20.0 + exposed[p, :term] @ pooled[:term])
        for j in range(last):
            shape = factor * pooled[j] if j < term else later[j - term]
            found[p, j] = min((events[p, j] + weight * shape) / (exposed[p, j] + weight), 1.0)
    return found


def plain_learn(book: MadeUp, passes: int) -> tuple[Rates, float]:
    at_risk, defaults, closings, _ = book.counts
    own, multipliers = defaults.sum(axis=(1, 2)), np.ones(len(defaults))
    survived = (at_risk - defaults).sum(axis=0)
    closing = plain_rates(closings.sum(axis=0), survived, book.today, 1.0)
    hazard, exposures, frailty = np.zeros(closing.shape), np.zeros(at_risk.shape[:2]), 1.0
    for _ in range(passes):
        exposed = np.einsum("k,kpj->pj", multipliers, at_risk)
        hazard = plain_rates(defaults.sum(axis=0), exposed, book.today, None)
        exposures = np.einsum("kpj,pj->kp", at_risk, hazard)
        total, frailty = exposures.sum(axis=1), 1.0
        if own.sum() > 0.0:
            expected = total * own.sum() / total.sum()
            above = ((own - expected) ** 2 - expected).sum() / (expected**2).sum()
            frailty = min(max(above, 0.02), 1.0)
        found = (1.0 / frailty + own) / (1.0 / frailty + total)
        if total.sum() > 0.0:
            found *= total.sum() / (found * total).sum()
        change, multipliers = np.abs(found - multipliers).max(), found
        if change < 1e-10:
            break
    return Rates(hazard, closing, exposures), frailty


def plain_values(rate: float, term: int, ages: int, terms: LendingTerms) -> np.ndarray:
    """Present values of a loan that defaults, and that closes, at each age, [2, J]."""
    instalment = 1.0 / sum((1.0 + rate) ** -j for j in range(1, term + 1))
    balance = [1.0]
    for j in range(1, ages):
        balance.append((balance[-1] * (1.0 + rate) - instalment) if j < term else 0.0)

    def paid(last: int) -> float:
        return sum(instalment * terms.discount**j for j in range(1, min(last, term) + 1))

    found = np.zeros((2, ages))
    for j in range(ages):
        known = max(j - terms.lag, 0)
        found[0, j] = paid(known) + terms.recovery * balance[known] * terms.discount**j
        found[1, j] = paid(j) + balance[j] * terms.discount**j
    return found


def plain_value(
    multiplier: float, book: MadeUp, rates: Rates, k: int, terms: LendingTerms
) -> float:
    """Sum over the ages at which a loan can end, each with its probability."""
    total, asked = 0.0, book.today.asked[k]
    for p, (term, last) in enumerate(zip(book.today.terms, book.today.ages, strict=True)):
        if asked[p] == 0.0:
            continue
        rate = book.today.offered[k, p] / asked[p] / terms.per_year
        values, alive = plain_values(rate, term, last, terms), 1.0
        for j in range(last):
            default = min(multiplier * rates.hazards[p, j], 1.0)
            total += asked[p] * alive * default * values[0, j]
            alive *= 1.0 - default
            total += asked[p] * alive * rates.closings[p, j] * values[1, j]
            alive *= 1.0 - rates.closings[p, j]
        total += asked[p] * alive * values[1, last - 1]
    return total / asked.sum()


@pytest.mark.parametrize("seed", range(40))
def test_rates_and_exposures_are_those_of_a_plain_implementation(seed: int) -> None:
    book = made_up(np.random.default_rng(seed), own_products=seed % 4 == 0)
    (found, frailty), (plain, expected) = learnt(book), plain_learn(book, hazards.PASSES)
    assert frailty == pytest.approx(expected, rel=1e-8)
    for ours, theirs in zip(found, plain, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("seed", range(40))
def test_break_even_and_evidence_are_those_of_a_plain_implementation(seed: int) -> None:
    rng = np.random.default_rng(1_000 + seed)
    book, threshold = made_up(rng), float(rng.uniform(0.9, 1.1))
    terms = TERMS._replace(
        lag=int((book.today.ages - book.today.terms)[0] - 2),
        recovery=float(rng.uniform(0.0, 0.5)),
        discount=float(rng.uniform(0.98, 1.0)),
    )
    rates, frailty = learnt(book)
    columns = judged(book, terms, threshold)
    enough = book.counts.defaults.sum() >= 5
    for k, column in enumerate(columns.T):
        limit, defaults, exposure = (
            column[row] for row in (BookRow.BREAK_EVEN, BookRow.DEFAULTS, BookRow.EXPOSURE)
        )
        if book.today.asked[k].sum() == 0.0:
            assert math.isnan(limit)
            continue
        if exposure > 0.0:
            plain = plain_value(defaults / exposure, book, rates, k, terms)
            assert column[BookRow.VALUE] == pytest.approx(plain, rel=1e-9)
        if limit == 0.0:
            assert plain_value(0.0, book, rates, k, terms) <= threshold + 1e-12
        elif limit == math.inf:
            assert plain_value(4_000.0, book, rates, k, terms) > threshold - 1e-12
        else:
            assert plain_value(limit, book, rates, k, terms) == pytest.approx(threshold, abs=1e-9)
        if enough and 0.0 < limit < math.inf and exposure > 0.0:
            posterior = by_scipy(
                defaults + 1.0 / frailty, exposure + 1.0 / frailty, limit, column[BookRow.LEVEL]
            )
            assert column[BookRow.POSTERIOR] == pytest.approx(posterior, abs=1e-6)


def test_a_balance_stays_exact_at_high_rates_and_long_terms() -> None:
    """Interest upon interest would multiply rounding errors by 10^19 here."""
    today = Today(np.ones((1, 1)), np.full((1, 1), 0.45), np.array([1_200]), np.array([1_202]))
    counts = Counts(*(np.zeros((1, 1, size)) for size in (1_202, 1_202, 1_202, 1)))
    counts.at_risk[:] = 100.0
    counts.defaults[0, 0, :10] = 1.0
    column = judged(MadeUp(counts, today), TERMS._replace(lag=0, discount=1.0))[:, 0]
    rate, term = 0.45 / 12, 1_200
    assert instalment_of(rate, term) == pytest.approx(rate, rel=1e-12)
    assert 0.0 < column[BookRow.BREAK_EVEN] < math.inf
    assert column[BookRow.VALUE] < 1.0 + rate * term


# ------------------------------------------------------------------------- by hand


def test_two_loans_by_hand() -> None:
    """Two loans of term 1, lent at 20 %; one defaults at age 1 and returns a quarter.

    Nothing is discounted.  In one book of two loans, the mean hazard over the three
    ages is 1 / (2 + 2 + 0) = 1/4: they were at risk at ages 0 and 1.
    """
    counts = Counts(*(np.zeros((1, 1, 3)) for _ in range(4)))
    counts.at_risk[0, 0] = 2.0, 2.0, 0.0
    counts.defaults[0, 0] = 0.0, 1.0, 0.0
    counts.closings[0, 0] = 0.0, 1.0, 0.0
    today = Today(np.ones((1, 1)), np.full((1, 1), 0.2), np.array([1]), np.array([3]))
    terms = LendingTerms(1.0, 0.25, 0, 1.0, 0.0, 4.0, has_frailty=True)
    rates, frailty = learnt(MadeUp(counts, today))
    # Within the term there is age 0 alone, with no default in 2 loans.
    assert rates.hazards[0, 0] == 0.0
    # At age 1, the first round after it, 1 of 2.
    assert rates.hazards[0, 1] == pytest.approx((1.0 + 20.0 * 0.5) / (2.0 + 20.0))
    assert frailty == hazards.LEAST_FRAILTY
    mix = Mix(
        np.ones(1),
        np.array([[0.0, 0.5, 0.0]]),
        np.array([[0.0, 1.0, 1.0]]),
        np.array([[0.25, 1.2, 1.2]]),
        np.array([[1.0, 1.2, 1.2]]),
        np.array([3]),
    )
    # Without default it brings 1.2; known in the round of the instalment, it is paid.
    assert value_of_mix(1.0, mix) == pytest.approx(1.2)
    mix.defaulted[0, 1] = 0.25
    assert value_of_mix(1.0, mix) == pytest.approx(0.5 * 0.25 + 0.5 * 1.2)
    # 1.2 - 0.95 x/2 = 1 at x = 0.4/0.95.
    assert break_even(1.0, mix) == pytest.approx(0.4 / 0.95)
    assert break_even(1.2, mix) == 0.0
    assert break_even(0.2, mix) == math.inf
    assert terms.level == 0.0


def test_poisson_evidence_by_hand() -> None:
    assert poisson_evidence(189.0, 100.0, 0.9) == pytest.approx(
        90.0 - 189.0 + 189.0 * math.log(189.0 / 90.0), rel=1e-13
    )
    assert poisson_evidence(90.0, 100.0, 0.9) == poisson_evidence(0.0, 0.0, 0.0) == 0.0
    assert poisson_evidence(1.0, 0.0, 1.0) == poisson_evidence(1.0, 5.0, 0.0) == math.inf
    assert poisson_evidence(5.0, 100.0, math.inf) == 0.0


# ------------------------------------------------------------------------- quadrature


def by_scipy(shape: float, rate: float, limit: float, level: float) -> float:
    """Return the same evidence by adaptive quadrature, or SciPy's gamma law."""
    if level == 0.0:
        return float(-stats.gamma.logcdf(limit, shape, scale=1.0 / rate))
    c = math.log(limit) + math.log(rate) - math.log(shape)

    def height(w: float) -> float:
        return float(-shape * (math.expm1(w) - w) + special.log_ndtr((c - w) / level))

    low = min(c, 0.0) - 5.0 * level - 60.0 / math.sqrt(shape) - 60.0 / shape - 1.0
    peak = optimize.minimize_scalar(
        lambda w: -height(w), bounds=(low, 1.0), method="bounded", options={"xatol": 1e-12}
    ).x
    near, top, total = min(1.0 / math.sqrt(shape), level), height(peak), 0.0
    for side in (-1.0, 1.0):
        start, wide = 0.0, 0.5 * near
        while height(peak + side * start) > top - 50.0:
            found, _ = integrate.quad(
                lambda x, side=side: math.exp(height(peak + side * x) - top),
                start,
                start + wide,
                epsabs=1e-13 * near,
                epsrel=1e-11,
            )
            total += found
            start, wide = start + wide, 1.5 * wide
    whole = special.gammaln(shape) + shape - shape * math.log(shape)
    return float(whole - top - math.log(total))


@pytest.mark.parametrize("defaults", [0.5, 1.0, 3.0, 20.0, 189.5, 1_000.0, 3e4, 1e6])
@pytest.mark.parametrize("level", [0.01, 0.1, 0.3, 1.0, 10.0])
def test_evidence_with_an_uncertain_level_is_that_of_adaptive_quadrature(
    defaults: float, level: float
) -> None:
    for ratio in (0.02, 0.3, 0.5, 0.8, 0.95, 1.0, 1.1, 2.0):
        found = level_evidence(defaults, defaults, ratio, level)
        assert found == pytest.approx(by_scipy(defaults, defaults, ratio, level), abs=1e-6)


def test_evidence_with_a_certain_level_is_that_of_the_gamma_law() -> None:
    for shape, ratio in itertools.product((0.5, 3.0, 200.0), (0.5, 0.9, 1.0, 1.5)):
        expected = by_scipy(shape, shape, ratio, 0.0)
        assert level_evidence(shape, shape, ratio, 0.0) == pytest.approx(expected, rel=1e-9)


def test_evidence_at_the_edges() -> None:
    assert level_evidence(5.0, 5.0, 0.0, 0.3) == math.inf
    assert level_evidence(5.0, 5.0, math.inf, 0.3) == 0.0
    for limit in (1e-300, 1e-30, 1e30, 1e300):
        assert 0.0 <= level_evidence(5.0, 5.0, limit, 0.3) < math.inf
    # It saturates: with D without end, P(exp(0.3 Z) >= ratio) is left.
    for ratio, nats in ((1.5, 2.43), (2.0, 4.56)):
        assert level_evidence(1e6, 1e6 / ratio, 1.0, 0.3) == pytest.approx(nats, abs=0.01)


def test_what_vintages_leave_uncertain_of_the_level() -> None:
    one = np.array([3.0])
    assert level_left(one, 0.3, 48.0) == pytest.approx(0.3)
    assert level_left(np.zeros(4), 0.3, 48.0) == 0.3
    assert level_left(np.ones(4), 0.0, 48.0) == 0.0
    weights = np.random.default_rng(0).random(60)
    apart = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    plain = 0.3 * math.sqrt(weights @ np.exp(-2.0 * apart / 48.0) @ weights) / weights.sum()
    assert level_left(weights, 0.3, 48.0) == pytest.approx(plain, rel=1e-12)


# ------------------------------------------------------------------------- properties


def test_defaults_less_expected_ones_are_a_martingale() -> None:
    """Every course of a tiny book is enumerated; its policy looks at the courses.

    Each round accepts one loan of two ages if, so far, fewer than `most` defaulted.
    Whatever it does, E(D - lambda E) = 0 at every round.
    """
    multiplier, hazard, closing = 1.7, (0.1, 0.25), 0.3
    for most in (1, 2, 99):
        # probability, loans by age, defaults, exposure
        courses = [(1.0, (0, 0), 0, 0.0)]
        for _ in range(4):
            following: list[tuple[float, tuple[int, int], int, float]] = []
            for chance, loans, defaults, before in courses:
                now = (int(defaults < most), loans[0])
                exposure = before + now[0] * hazard[0] + now[1] * hazard[1]
                for young, old in itertools.product(range(now[0] + 1), range(now[1] + 1)):
                    weight = chance
                    for number, bad, h in ((now[0], young, hazard[0]), (now[1], old, hazard[1])):
                        p = multiplier * h
                        weight *= math.comb(number, bad) * p**bad * (1 - p) ** (number - bad)
                    left = now[0] - young
                    for closed in range(left + 1):
                        goes = math.comb(left, closed) * closing**closed
                        goes *= (1 - closing) ** (left - closed)
                        following.append(
                            (weight * goes, (left - closed, 0), defaults + young + old, exposure)
                        )
            courses = following
            assert math.fsum(each[0] for each in courses) == pytest.approx(1.0, abs=1e-12)
            drift = math.fsum(p * (d - multiplier * e) for p, _, d, e in courses)
            assert drift == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_the_index_is_at_least_the_threshold_exactly_if_evidence_is_at_most_patience(
    seed: int,
) -> None:
    rng = np.random.default_rng(2_000 + seed)
    book = made_up(rng)
    terms = TERMS._replace(lag=int((book.today.ages - book.today.terms)[0] - 2))
    rates, frailty = learnt(book)
    columns = judged(book, terms)
    for is_posterior, row in ((True, BookRow.POSTERIOR), (False, BookRow.EVIDENCE)):
        for factor in (0.0, 0.3, 0.99, 1.01, 3.0):
            finite = np.where(np.isfinite(columns[row]), columns[row], 50.0)
            patience = finite * factor
            index = value_at(book.today, rates, terms, frailty, columns, patience, is_posterior)
            for k, limit in enumerate(columns[BookRow.BREAK_EVEN]):
                nats = columns[row, k]
                if 0.0 < limit < 4_000.0 and nats > 0.0 and book.counts.defaults.sum() >= 5:
                    assert (index[k] >= 1.0) == (nats <= patience[k])


@pytest.mark.parametrize("seed", range(20))
def test_learning_converges_where_categories_share_products(seed: int) -> None:
    book = made_up(np.random.default_rng(3_000 + seed))
    (found, frailty), (plain, expected) = learnt(book), plain_learn(book, 5_000)
    assert frailty == pytest.approx(expected, rel=0.02)
    assert found.hazards == pytest.approx(plain.hazards, rel=0.02, abs=1e-300)


@pytest.mark.parametrize("seed", range(20))
def test_what_decides_is_known_where_multipliers_and_hazards_are_not(seed: int) -> None:
    """Each category has a product of its own: only multiplier x hazard is known."""
    rng = np.random.default_rng(4_000 + seed)
    terms, categories = np.array([36, 60]), 8
    at_risk, defaults, closings = np.zeros((3, categories, 2, 67))
    for k, multiplier in enumerate(rng.gamma(4.0, 0.25, categories)):
        still = int(10 ** rng.uniform(2, 4))
        for j in range(30):
            at_risk[k, k % 2, j] = still
            defaults[k, k % 2, j] = rng.binomial(still, multiplier * 0.005 * (1 + k % 2))
            still -= int(defaults[k, k % 2, j])
    today = Today(np.ones((categories, 2)), np.ones((categories, 2)), terms, terms + 7)
    book = MadeUp(Counts(at_risk, defaults, closings, np.ones((categories, 2, 30))), today)
    (found, _), (plain, _) = learnt(book), plain_learn(book, 5_000)
    own = defaults.sum(axis=(1, 2))
    for k in np.flatnonzero(own > 20):
        ours, theirs = (
            own[k] / rates.exposures[k].sum() * rates.hazards[k % 2, :30]
            for rates in (found, plain)
        )
        assert ours == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("level", [0.0, 0.01, 0.3, 10.0])
def test_edges_of_a_book_give_numbers(level: float) -> None:
    """Terms of 1, hazards of 0 and 1, nobody at risk, one category, nobody asks."""
    for lag, term, at_risk, defaults, asked in itertools.product(
        (0, 3), (1, 2, 40), (0.0, 1.0, 1e6), (0.0, 1.0), (0.0, 1.0)
    ):
        ages = np.array([term + lag + 2])
        nobody = np.zeros((1, 1, int(ages[0])))
        counts = Counts(nobody, nobody, nobody, np.ones((1, 1, 3)))
        counts.at_risk[0, 0, : term + 1] = at_risk
        counts.defaults[:] = defaults * counts.at_risk
        today = Today(np.full((1, 1), asked), np.full((1, 1), asked * 0.3), np.array([term]), ages)
        book = MadeUp(counts, today)
        rates, _ = learnt(book)
        assert np.isfinite(rates.hazards).all()
        assert ((rates.hazards >= 0.0) & (rates.hazards <= 1.0)).all()
        assert ((rates.closings >= 0.0) & (rates.closings <= 1.0)).all()
        column = judged(book, TERMS._replace(lag=lag, level=level))[:, 0]
        assert column[BookRow.EVIDENCE] >= 0.0
        assert column[BookRow.POSTERIOR] >= 0.0
        assert math.isnan(column[BookRow.BREAK_EVEN]) == (asked == 0.0)
        assert np.isfinite(column[[BookRow.LIFE, BookRow.UNSEEN, BookRow.COUNTED]]).all()


def test_open_ages_of_a_longer_product_borrow_their_hazards() -> None:
    """A product of 60 rounds that nobody has had yet takes those of 36 rounds."""
    at_risk, defaults, closings = np.zeros((3, 1, 2, 62))
    at_risk[0, 0, :36], defaults[0, 0, :36] = 1e6, 1e4
    today = Today(np.ones((1, 2)), np.ones((1, 2)), np.array([36, 60]), np.array([38, 62]))
    rates, _ = learnt(MadeUp(Counts(at_risk, defaults, closings, np.ones((1, 2, 40))), today))
    assert rates.hazards[1, :60] == pytest.approx(np.full(60, 0.01), rel=1e-3)
    assert (rates.closings[1, 60:] == 1.0).all()
