"""Hazards: what a lending book says while most of its loans are still open.

A loan of category a and product p (its term) that is still open at age j, in rounds
since it was accepted, defaults with probability lambda_a h_p(j).  If it does not, it
closes with probability q_p(j): it is prepaid, or it matures.  h and q are learnt from
all categories together (`learn`).  The *multiplier* lambda_a says how much worse, or
better, a category is than the book.

`judge` compares it with the *break-even multiplier*: the one at which a loan on today's
terms is worth what it costs (`break_even`).  With D defaults and the *exposure* E, which
is the sum of h over all ages at which loans of the category were open, D - lambda E is a
martingale however the book grows.  So early defaults are not mistaken for many.

The evidence is that of a Poisson family with exposures:

- `poisson_evidence`: b E - D + D log(D / (b E)) if D > b E, for the break-even b;
- `level_evidence`: -log P(lambda exp(-s Z) <= b), where lambda has a gamma posterior.
  Z is normal and s is the uncertainty of the book's common level: future vintages are
  all better, or all worse, than those that were seen.

Example: 189 defaults at an exposure of 100, where 0.9 breaks even.

>>> round(poisson_evidence(189.0, 100.0, 0.9), 1)
41.2
>>> round(level_evidence(189.5, 100.0, 0.9, 0.3), 2)
4.81
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray, Matrix
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.special import (
    excess,
    gamma_evidence,
    normal_evidence,
    stirling_remainder,
)

CREDIBILITY = 20.0  # defaults after which data weigh as much as what they are compared with
TAIL_AGES = 12  # the last ages seen, whose mean hazard stands for ages not seen yet
FEWEST_DEFAULTS = 5.0  # of the whole book, before which no category is refused
LEAST_FRAILTY, MOST_FRAILTY = 0.02, 1.0  # variance of the multipliers of categories
JEFFREYS = 0.5  # imaginary defaults, where multipliers of categories say nothing of each other
PASSES, CONVERGED = 100, 1e-10
LARGEST_MULTIPLIER = 1e4  # at which every loan defaults at once
NEGLIGIBLE = 40.0  # nats below the largest term of an integral, from which on terms are left out
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


# ------------------------------------------------------------------ learning the hazards


@part
def _by_age(events: FloatArray, exposed: FloatArray, mean: float, unseen: float) -> FloatArray:
    """Return the rate of events at each age, [J], pulled towards their mean rate.

    The pull is worth `CREDIBILITY` events over all ages.  Ages at which nobody was
    exposed have the rate `unseen`.
    """
    rates = np.empty(events.size)
    weight = CREDIBILITY / mean / events.size if mean > 0.0 else CREDIBILITY
    for j in range(events.size):
        rates[j] = (events[j] + weight * mean) / (exposed[j] + weight)
        if exposed[j] <= 0.0:
            rates[j] = unseen
    return rates


@part
def _tail(events: FloatArray, exposed: FloatArray, mean: float) -> float:
    """Return the mean rate of the last ages at which somebody was exposed."""
    last = events.size - 1
    while last > 0 and exposed[last] <= 0.0:
        last -= 1
    first = max(0, last + 1 - TAIL_AGES)
    total, size = events[first : last + 1].sum(), exposed[first : last + 1].sum()
    return (total + CREDIBILITY) / (size + CREDIBILITY / mean) if mean > 0.0 else 0.0


@part
def _by_product(
    events: Matrix, exposed: Matrix, terms: IntArray, ages: IntArray, after: float, out: Matrix
) -> None:
    """Fill `out` [P, J] with rates by product and age.

    Ages within the term are compared between products by age, later ones by the rounds
    since the term.  There a rate that nobody has seen is `after`, or the tail of the
    term if `after` is negative.  A product has a level and a shape of its own, as far
    as its own events say so.
    """
    products, size = events.shape
    within = np.zeros((2, size))
    beyond = np.zeros((2, size))
    for p in range(products):
        for j in range(ages[p]):
            if j < terms[p]:
                within[0, j] += events[p, j]
                within[1, j] += exposed[p, j]
            else:
                beyond[0, j - terms[p]] += events[p, j]
                beyond[1, j - terms[p]] += exposed[p, j]
    total, at_risk = within[0].sum(), within[1].sum()
    mean = total / at_risk if at_risk > 0.0 else 0.0
    tail = _tail(within[0], within[1], mean)
    longest = max(int(ages.max()), 1)
    pooled = _by_age(within[0, :longest], within[1, :longest], mean, tail)
    late, exposed_late = beyond[0].sum(), beyond[1].sum()
    later = _by_age(
        beyond[0, :longest],
        beyond[1, :longest],
        late / exposed_late if exposed_late > 0.0 else 0.0,
        tail if after < 0.0 else after,
    )
    for p in range(products):
        expected, seen = CREDIBILITY, CREDIBILITY
        for j in range(min(int(terms[p]), int(ages[p]))):
            expected += exposed[p, j] * pooled[j]
            seen += events[p, j]
        factor = seen / expected
        weight = CREDIBILITY / mean / longest if mean > 0.0 else CREDIBILITY
        for j in range(size):
            if j >= ages[p]:
                out[p, j] = 0.0
                continue
            if j < terms[p]:
                shape = factor * pooled[j]
            else:
                shape = later[j - terms[p]]
            out[p, j] = min((events[p, j] + weight * shape) / (exposed[p, j] + weight), 1.0)


@part
def _frailty(defaults: FloatArray, exposures: FloatArray) -> float:
    """Return the variance of multipliers between categories, by moments."""
    total, exposed = defaults.sum(), exposures.sum()
    if exposed <= 0.0 or total <= 0.0:
        return MOST_FRAILTY
    above, squares = 0.0, 0.0
    for k in range(defaults.size):
        expected = exposures[k] * total / exposed
        above += (defaults[k] - expected) ** 2 - expected
        squares += expected * expected
    return min(max(above / squares, LEAST_FRAILTY), MOST_FRAILTY)


@kernel
def learn(
    at_risk: FloatArray,
    defaults: FloatArray,
    closings: FloatArray,
    terms: IntArray,
    ages: IntArray,
    hazards: FloatArray,
    closing_rates: FloatArray,
    exposures: FloatArray,
) -> float:
    """Learn hazards and closing rates from counts by category, product and age, [K, P, J].

    Fills `hazards` and `closing_rates` [P, J], and `exposures` [K, P] of categories by
    product.  Returns the frailty: the variance of the multipliers of categories.

    A hazard is the number of defaults at an age, divided by the loans at risk, each
    multiplied by its category's own multiplier.  Otherwise a policy that drops bad
    categories would make late ages look safe.  Multipliers follow from hazards and
    hazards from multipliers, until neither changes.
    """
    categories, products, size = at_risk.shape
    own, multipliers = np.zeros(categories), np.ones(categories)
    events, exposed = np.zeros((products, size)), np.empty((products, size))
    survived, closed = np.zeros((products, size)), np.zeros((products, size))
    for k in range(categories):
        for p in range(products):
            for j in range(ages[p]):
                own[k] += defaults[k, p, j]
                events[p, j] += defaults[k, p, j]
                survived[p, j] += at_risk[k, p, j] - defaults[k, p, j]
                closed[p, j] += closings[k, p, j]
    _by_product(closed, survived, terms, ages, 1.0, closing_rates)
    frailty = MOST_FRAILTY
    total = np.zeros(categories)
    for _ in range(PASSES):
        exposed[:] = 0.0
        for k in range(categories):
            for p in range(products):
                for j in range(ages[p]):
                    exposed[p, j] += multipliers[k] * at_risk[k, p, j]
        _by_product(events, exposed, terms, ages, -1.0, hazards)
        for k in range(categories):
            total[k] = 0.0
            for p in range(products):
                exposures[k, p] = 0.0
                for j in range(ages[p]):
                    exposures[k, p] += at_risk[k, p, j] * hazards[p, j]
                total[k] += exposures[k, p]
        frailty = _frailty(own, total)
        change = 0.0
        found = (1.0 / frailty + own) / (1.0 / frailty + total)
        # The book as a whole has the multiplier 1.
        weight = (found * total).sum()
        if weight > 0.0:
            found *= total.sum() / weight
        for k in range(categories):
            change = max(change, abs(found[k] - multipliers[k]))
            multipliers[k] = found[k]
        if change < CONVERGED:
            break
    return frailty


# ------------------------------------------------------------------- what a loan is worth


@part
def instalment_of(rate: float, term: int) -> float:
    """Return what is paid in each round, per unit lent, at this interest per round."""
    return rate / -math.expm1(-term * math.log1p(rate)) if rate > 0.0 else 1.0 / term


@part
def present_values(
    rate: float,
    term: int,
    ages: int,
    discount: float,
    recovery: float,
    lag: int,
    defaulted: FloatArray,
    closed: FloatArray,
) -> None:
    """Fill [J] with what a loan that ends at each age is worth when it is issued.

    Per unit lent.  One that defaults at age j has paid its instalments up to j - lag,
    and `recovery` of its balance comes back at j.  One that closes at j has paid them
    up to j, and pays its balance.
    """
    instalment, factor = instalment_of(rate, term), discount
    paid, balance = np.empty(ages), np.empty(ages)
    paid[0], balance[0] = 0.0, 1.0
    for j in range(1, ages):
        open = 1.0 if j <= term else 0.0
        paid[j] = paid[j - 1] + open * instalment * factor
        balance[j] = max(balance[j - 1] * (1.0 + rate) - instalment, 0.0) if j < term else 0.0
        factor *= discount
    factor = 1.0
    for j in range(ages):
        before = max(j - lag, 0)
        defaulted[j] = paid[before] + recovery * balance[before] * factor
        closed[j] = paid[j] + balance[j] * factor
        factor *= discount


@part
def value_at_issue(
    multiplier: float,
    hazards: FloatArray,
    closing_rates: FloatArray,
    defaulted: FloatArray,
    closed: FloatArray,
    ages: int,
) -> float:
    """Return the expected present value of a loan per unit lent."""
    value = closed[ages - 1]
    for j in range(ages - 1, -1, -1):
        p, q = min(multiplier * hazards[j], 1.0), closing_rates[j]
        value = p * defaulted[j] + (1.0 - p) * (q * closed[j] + (1.0 - q) * value)
    return value


@part
def life_of(
    at_risk: FloatArray, hazards: FloatArray, closing_rates: FloatArray, ages: int
) -> tuple[float, float]:
    """Return the exposure of a whole loan, and the part at ages that nobody has seen."""
    alive, exposure, unseen = 1.0, 0.0, 0.0
    for j in range(ages):
        exposure += alive * hazards[j]
        if at_risk[j] <= 0.0:
            unseen += alive * hazards[j]
        alive *= (1.0 - hazards[j]) * (1.0 - closing_rates[j])
    return exposure, unseen


@part
def _value_of_mix(
    multiplier: float,
    shares: FloatArray,
    hazards: Matrix,
    closing_rates: Matrix,
    defaulted: Matrix,
    closed: Matrix,
    ages: IntArray,
) -> float:
    value = 0.0
    for p in range(shares.size):
        if shares[p] > 0.0:
            value += shares[p] * value_at_issue(
                multiplier, hazards[p], closing_rates[p], defaulted[p], closed[p], ages[p]
            )
    return value


@part
def break_even(
    threshold: float,
    shares: FloatArray,
    hazards: Matrix,
    closing_rates: Matrix,
    defaulted: Matrix,
    closed: Matrix,
    ages: IntArray,
) -> float:
    """Return the multiplier at which a mix of products is worth the threshold.

    0 if even without defaults it is not, infinity if it always is.
    """
    low, high = 0.0, 1.0
    mix = (shares, hazards, closing_rates, defaulted, closed, ages)
    above = _value_of_mix(low, *mix) - threshold
    if above <= 0.0:
        return 0.0
    below = _value_of_mix(high, *mix) - threshold
    while below > 0.0:
        low, above = high, below
        high *= 4.0
        if high > LARGEST_MULTIPLIER:
            return math.inf
        below = _value_of_mix(high, *mix) - threshold
    # The Illinois method: a secant that halves the weight of an end that stays.
    stays = 0
    for _ in range(200):
        if high - low <= 1e-13 * high:
            break
        middle = low + (high - low) * above / (above - below)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        found = _value_of_mix(middle, *mix) - threshold
        if found == 0.0:
            return middle
        if found > 0.0:
            low, above = middle, found
            if stays == 1:
                below *= 0.5
            stays = 1
        else:
            high, below = middle, found
            if stays == -1:
                above *= 0.5
            stays = -1
    return 0.5 * (low + high)


# ------------------------------------------------------------------------------ evidence


@part
def poisson_evidence(defaults: float, exposure: float, limit: float) -> float:
    """Return the evidence of kl-UCB against a multiplier of at most `limit`."""
    expected = limit * exposure
    if defaults <= expected:
        return 0.0
    if expected <= 0.0:
        return math.inf
    ratio = expected / defaults
    return defaults * excess(ratio - 1.0, ratio)


@part
def _steepness(z: float) -> float:
    """Return the density of the normal law divided by its upper tail, at z."""
    return math.exp(normal_evidence(z) - 0.5 * z * z - HALF_LOG_TWO_PI)


@lazy
def level_evidence(shape: float, rate: float, limit: float, level: float) -> float:
    """Return -log P(lambda exp(-level Z) <= limit), lambda ~ Gamma(shape, rate), Z normal.

    With w = log(lambda rate / shape), the probability is the integral of

        exp(-shape (e^w - 1 - w)) Phi((c - w) / level),   c = log(limit rate / shape),

    over w, divided by that without Phi.  The integrand is log-concave, so it has one
    peak, and is analytic.  There the trapezoidal rule converges exponentially: the step
    is half the width of the peak, or less where the normal law is narrower.
    """
    if limit <= 0.0:
        return math.inf
    if limit == math.inf:
        return 0.0
    if level <= 0.0:
        x = rate * limit
        return gamma_evidence(shape, x, x - shape, False)
    c = math.log(limit * rate / shape)
    # The peak is where the slope is 0, at or below 0.
    low, high = min(c - 1.0, -1.0), 0.0
    while -shape * math.expm1(low) - _steepness((low - c) / level) / level < 0.0:
        low *= 2.0
    peak = 0.0
    for _ in range(80):
        peak = 0.5 * (low + high)
        if -shape * math.expm1(peak) - _steepness((peak - c) / level) / level > 0.0:
            low = peak
        else:
            high = peak
    z = (peak - c) / level
    steep = _steepness(z)
    curvature = shape * math.exp(peak) + steep * (steep - z) / (level * level)
    step = min(0.5 / math.sqrt(curvature), 0.8 * level, 0.4)
    top = -shape * (math.expm1(peak) - peak) - normal_evidence(z)
    total = 1.0
    for direction in (-1.0, 1.0):
        w = peak + direction * step
        while True:
            height = -shape * (math.expm1(w) - w) - normal_evidence((w - c) / level) - top
            if height < -NEGLIGIBLE:
                break
            total += math.exp(height)
            w += direction * step
    whole = HALF_LOG_TWO_PI - 0.5 * math.log(shape) + stirling_remainder(shape)
    return max(whole - top - math.log(step * total), 0.0)


@part
def level_left(issued: FloatArray, level: float, cycle: float) -> float:
    """Return what an average over vintages leaves uncertain of the common level.

    The levels of two vintages that are n rounds apart have a correlation of
    exp(-2 n / cycle), so n rounds hold about n / cycle independent ones.  `issued` [S]
    are the weights of the vintages.
    """
    if level <= 0.0:
        return 0.0
    kept, carried, squares, total = math.exp(-2.0 / cycle), 0.0, 0.0, 0.0
    for s in range(issued.size):
        carried *= kept
        squares += issued[s] * (issued[s] + 2.0 * carried)
        carried += issued[s]
        total += issued[s]
    return level * math.sqrt(squares) / total if total > 0.0 else level


class BookRow(IntEnum):
    """Rows of what `judge` finds of each category."""

    DEFAULTS = 0
    EXPOSURE = 1
    BREAK_EVEN = 2  # multiplier
    LIFE = 3  # exposure of a whole loan of today's mix
    UNSEEN = 4  # the part of it at ages that nobody has reached
    LEVEL = 5  # what is uncertain of the common level
    EVIDENCE = 6  # of kl-UCB
    POSTERIOR = 7  # -log P(pays)
    VALUE = 8  # of a loan at the multiplier seen


class Terms(NamedTuple):
    """The terms of lending, as numbers per round."""

    discount: float
    recovery: float
    lag: float
    per_year: float
    level: float
    cycle: float
    frailty: float  # the shape of the prior of multipliers; 0 means none


@kernel
def judge(
    seen: FloatArray,
    defaults: FloatArray,
    exposures: FloatArray,
    issued: FloatArray,
    asked: FloatArray,
    offered: FloatArray,
    terms: IntArray,
    ages: IntArray,
    hazards: FloatArray,
    closing_rates: FloatArray,
    thresholds: FloatArray,
    lending: FloatArray,
    columns: FloatArray,
) -> None:
    """Fill `columns` [BookRow, K] with the evidence against each category.

    `seen` [P, J] are the loans at risk of all categories, `issued` [K, P, S] the loans
    by the round that accepted them; `asked` and `offered` [K, P] are today's clients,
    and the sum of their rates a year.
    """
    with_ = Terms(
        lending[0], lending[1], lending[2], lending[3], lending[4], lending[5], lending[6]
    )
    categories, products = asked.shape
    size, now = hazards.shape[1], issued.shape[2]
    lives, unseens = np.zeros(products), np.zeros(products)
    grown = np.zeros((products, size))  # exposure of a loan up to each age
    for p in range(products):
        lives[p], unseens[p] = life_of(seen[p], hazards[p], closing_rates[p], ages[p])
        alive, exposure = 1.0, 0.0
        for j in range(size):
            exposure += alive * hazards[p, j]
            grown[p, j] = exposure
            alive *= (1.0 - hazards[p, j]) * (1.0 - closing_rates[p, j])
    defaulted, closed = np.zeros((products, size)), np.zeros((products, size))
    shares, vintages = np.zeros(products), np.zeros(now)
    total = defaults.sum()
    for k in range(categories):
        exposure, clients = exposures[k].sum(), asked[k].sum()
        columns[BookRow.DEFAULTS, k], columns[BookRow.EXPOSURE, k] = defaults[k], exposure
        columns[BookRow.BREAK_EVEN, k] = columns[BookRow.VALUE, k] = np.nan
        columns[BookRow.LEVEL, k] = with_.level
        if clients <= 0.0:
            continue
        for p in range(products):
            shares[p] = asked[k, p] / clients
            if asked[k, p] > 0.0:
                rate = offered[k, p] / asked[k, p] / with_.per_year
                present_values(
                    rate,
                    terms[p],
                    ages[p],
                    with_.discount,
                    with_.recovery,
                    int(with_.lag),
                    defaulted[p],
                    closed[p],
                )
                columns[BookRow.LIFE, k] += shares[p] * lives[p]
                columns[BookRow.UNSEEN, k] += shares[p] * unseens[p]
        mix = (shares, hazards, closing_rates, defaulted, closed, ages)
        limit = break_even(thresholds[k], *mix)
        columns[BookRow.BREAK_EVEN, k] = limit
        if exposure > 0.0:
            columns[BookRow.VALUE, k] = _value_of_mix(defaults[k] / exposure, *mix)
        vintages[:] = 0.0
        for p in range(products):
            for s in range(now):
                vintages[s] += issued[k, p, s] * grown[p, min(now - 1 - s, size - 1)]
        level = level_left(vintages, with_.level, with_.cycle)
        columns[BookRow.LEVEL, k] = level
        if total < FEWEST_DEFAULTS:
            continue
        columns[BookRow.EVIDENCE, k] = poisson_evidence(defaults[k], exposure, limit)
        prior = with_.frailty
        shape = defaults[k] + (prior if prior > 0.0 else JEFFREYS)
        if prior + exposure > 0.0:
            columns[BookRow.POSTERIOR, k] = level_evidence(shape, prior + exposure, limit, level)
