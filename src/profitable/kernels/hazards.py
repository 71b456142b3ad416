"""Hazards: what a lending book says while most of its loans are still open.

A loan of category a and product p (its term) that is still open at age j, in rounds
since it was accepted, defaults with probability lambda_a h_p(j).  If it does not, it
closes with probability q_p(j): it is prepaid, or it matures.  h and q are learnt from
all categories together (`learn`).  The *multiplier* lambda_a says how much worse, or
better, a category is than the book.

`judge` compares it with the *break-even multiplier*: the one at which a loan on today's
terms is worth what it costs (`break_even`).  With D defaults and the *exposure* E, the
sum of h over all ages at which loans of the category were open, D - lambda E is a
martingale however the book grows.  So early defaults are not mistaken for many.

Where each category has products of its own, nothing says whether the category or the
product is risky.  Then lambda and h depend on the credibility that each is given; their
product, which decides, does not.

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
FAR_BELOW_PEAK = (
    40.0  # nats below the largest term of an integral, from which on terms are left out
)
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Counts(NamedTuple):
    """A book in numbers: categories K, products P, ages J, rounds so far S."""

    at_risk: FloatArray  # loans that were open at an age, [K, P, J]
    defaults: FloatArray  # those of them that defaulted at it, [K, P, J]
    closings: FloatArray  # and those that closed, [K, P, J]
    issued: FloatArray  # loans by the round that accepted them, [K, P, S]


class Today(NamedTuple):
    """What today's clients ask for, and the products that there are."""

    asked: FloatArray  # clients, [K, P]
    offered: FloatArray  # the sum of their rates a year, [K, P]
    terms: IntArray  # rounds, [P]
    ages: IntArray  # number of ages that are looked at, [P]


class Rates(NamedTuple):
    """What was learnt from a book."""

    hazards: FloatArray  # of default at an age, [P, J]
    closings: FloatArray  # of closing, if there is no default, [P, J]
    exposures: FloatArray  # sums of hazards over the loans at risk, [K, P]


class LendingTerms(NamedTuple):
    """The terms of all loans, as numbers per round."""

    discount: float  # what a payment is worth one round earlier
    recovery: float  # share of the balance that a default returns
    lag: int  # rounds from the last instalment to a known default
    per_year: float  # rounds
    level: float  # standard deviation of the logarithm of the common level
    cycle: float  # rounds over which the level is one observation
    has_frailty: bool


class Mix(NamedTuple):
    """Products in the shares of today's clients, and what becomes of their loans."""

    shares: FloatArray  # [P]
    hazards: FloatArray  # [P, J]
    closings: FloatArray  # [P, J]
    defaulted: FloatArray  # value at issue of a loan that defaults at an age, [P, J]
    closed: FloatArray  # and of one that closes, [P, J]
    ages: IntArray  # [P]


class BookRow(IntEnum):
    """Rows of what `judge` finds of each category."""

    DEFAULTS = 0
    EXPOSURE = 1
    BREAK_EVEN = 2  # multiplier; 0: it never pays, infinity: always, NaN: nobody asked
    LIFE = 3  # exposure of a whole loan of today's mix
    UNSEEN = 4  # the part of it at ages that nobody has reached
    LEVEL = 5  # what is uncertain of the common level
    COUNTED = 6  # as how many whole loans its exposure counts
    EVIDENCE = 7  # of kl-UCB
    POSTERIOR = 8  # -log P(pays)
    VALUE = 9  # of a loan at the multiplier seen, per unit lent; NaN without exposure


# ----------------------------------------------------------------- learning the hazards


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
def _by_product(events: Matrix, exposed: Matrix, today: Today, after: float, out: Matrix) -> None:
    """Fill `out` [P, J] with rates by product and age.

    Ages within the term are compared between products by age, later ones by the rounds
    since the term.  There a rate that nobody has seen is `after`, or the tail of the
    term if `after` is negative.  A product has a level and a shape of its own, as far
    as its own events say so.
    """
    terms, ages = today.terms, today.ages
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
    pooled = _by_age(within[0], within[1], mean, tail)
    late, exposed_late = beyond[0].sum(), beyond[1].sum()
    mean_late = late / exposed_late if exposed_late > 0.0 else 0.0
    later = _by_age(beyond[0], beyond[1], mean_late, tail if after < 0.0 else after)
    for p in range(products):
        expected, seen = CREDIBILITY, CREDIBILITY
        for j in range(min(int(terms[p]), int(ages[p]))):
            expected += exposed[p, j] * pooled[j]
            seen += events[p, j]
        factor = seen / expected
        weight = CREDIBILITY / mean / size if mean > 0.0 else CREDIBILITY
        out[p, ages[p] :] = 0.0
        for j in range(ages[p]):
            shape = factor * pooled[j] if j < terms[p] else later[j - terms[p]]
            out[p, j] = min((events[p, j] + weight * shape) / (exposed[p, j] + weight), 1.0)


@part
def _frailty(defaults: FloatArray, exposures: FloatArray) -> float:
    """Return the variance of multipliers between categories, by moments.

    Categories with many defaults weigh most.  Weighing all alike (Paule and Mandel) is
    closer to the truth in simulated worlds, and loses on real loans, whose small
    categories have the worst first vintages.
    """
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
def learn(counts: Counts, today: Today, rates: Rates) -> float:
    """Learn hazards, closing rates and exposures; fill `rates` with them.

    Returns the frailty: the variance of the multipliers of categories.

    A hazard is the number of defaults at an age, divided by the loans at risk, each
    multiplied by its category's own multiplier.  Otherwise a policy that drops bad
    categories would make late ages look safe.  Multipliers follow from hazards and
    hazards from multipliers, until neither changes.
    """
    at_risk, ages = counts.at_risk, today.ages
    categories, products, size = at_risk.shape
    own, multipliers, total = np.zeros(categories), np.ones(categories), np.zeros(categories)
    events, exposed = np.zeros((products, size)), np.empty((products, size))
    survived, closed = np.zeros((products, size)), np.zeros((products, size))
    for k in range(categories):
        for p in range(products):
            for j in range(ages[p]):
                own[k] += counts.defaults[k, p, j]
                events[p, j] += counts.defaults[k, p, j]
                survived[p, j] += at_risk[k, p, j] - counts.defaults[k, p, j]
                closed[p, j] += counts.closings[k, p, j]
    _by_product(closed, survived, today, 1.0, rates.closings)
    frailty = MOST_FRAILTY
    for _ in range(PASSES):
        exposed[:] = 0.0
        for k in range(categories):
            for p in range(products):
                for j in range(ages[p]):
                    exposed[p, j] += multipliers[k] * at_risk[k, p, j]
        _by_product(events, exposed, today, -1.0, rates.hazards)
        for k in range(categories):
            total[k] = 0.0
            for p in range(products):
                exposure = 0.0
                for j in range(ages[p]):
                    exposure += at_risk[k, p, j] * rates.hazards[p, j]
                rates.exposures[k, p] = exposure
                total[k] += exposure
        frailty = _frailty(own, total)
        found = (1.0 / frailty + own) / (1.0 / frailty + total)
        weight = (found * total).sum()
        if weight > 0.0:
            found *= total.sum() / weight  # the book as a whole has the multiplier 1
        change = np.abs(found - multipliers).max()
        multipliers = found
        if change < CONVERGED:
            break
    return frailty


# ----------------------------------------------------------------- what a loan is worth


@part
def instalment_of(rate: float, term: int) -> float:
    """Return what is paid in each round, per unit lent, at this interest per round."""
    return rate / -math.expm1(-term * math.log1p(rate)) if rate > 0.0 else 1.0 / term


@part
def present_values(
    rate: float, term: int, lending: LendingTerms, defaulted: FloatArray, closed: FloatArray
) -> None:
    """Write what a loan that ends at each age is worth at issue, per unit lent.

    `rate` is its interest in a round.  One that defaults at age j has paid its
    instalments up to j - lag, and a part of its balance comes back at j.  One that
    closes at j has paid them up to j, and pays its balance.
    """
    instalment, ages = instalment_of(rate, term), defaulted.size
    paid, balance = np.empty(ages), np.empty(ages)
    paid[0], balance[0], factor = 0.0, 1.0, 1.0
    for j in range(1, ages):
        factor *= lending.discount
        paid[j] = paid[j - 1] + (instalment * factor if j <= term else 0.0)
        balance[j] = instalment / instalment_of(rate, term - j) if j < term else 0.0
    factor = 1.0
    for j in range(ages):
        before = max(j - lending.lag, 0)
        defaulted[j] = paid[before] + lending.recovery * balance[before] * factor
        closed[j] = paid[j] + balance[j] * factor
        factor *= lending.discount


@part
def _new_mix(today: Today, rates: Rates) -> Mix:
    products, size = rates.hazards.shape
    values = np.zeros((2, products, size))
    return Mix(np.zeros(products), rates.hazards, rates.closings, values[0], values[1], today.ages)


@part
def _set_mix(mix: Mix, today: Today, k: int, lending: LendingTerms) -> bool:
    """Write the mix of a category; return whether anybody asks for its loans."""
    clients = today.asked[k].sum()
    if clients <= 0.0:
        return False
    for p in range(mix.shares.size):
        asked = today.asked[k, p]
        mix.shares[p] = asked / clients
        if asked > 0.0:
            rate, ages = today.offered[k, p] / asked / lending.per_year, today.ages[p]
            present_values(
                rate, today.terms[p], lending, mix.defaulted[p, :ages], mix.closed[p, :ages]
            )
    return True


@part
def value_of_mix(multiplier: float, mix: Mix) -> float:
    """Return the expected present value of a loan of the mix, per unit lent.

    From the last age back: a loan defaults, or else it closes, or else it has the value
    of the next age.
    """
    found = 0.0
    for p in range(mix.shares.size):
        if mix.shares[p] <= 0.0:
            continue
        value = mix.closed[p, mix.ages[p] - 1]
        for j in range(mix.ages[p] - 1, -1, -1):
            default, closing = min(multiplier * mix.hazards[p, j], 1.0), mix.closings[p, j]
            value = closing * mix.closed[p, j] + (1.0 - closing) * value
            value = default * mix.defaulted[p, j] + (1.0 - default) * value
        found += mix.shares[p] * value
    return found


@part
def break_even(threshold: float, mix: Mix) -> float:
    """Return the multiplier at which a loan of the mix is worth the threshold.

    0 if even without defaults it is not, infinity if it always is.
    """
    low, high = 0.0, 1.0
    above = value_of_mix(low, mix) - threshold
    if above <= 0.0:
        return 0.0
    below = value_of_mix(high, mix) - threshold
    while below > 0.0:
        low, above = high, below
        high *= 4.0
        if high > LARGEST_MULTIPLIER:
            return math.inf
        below = value_of_mix(high, mix) - threshold
    # The Illinois method: a secant that halves the weight of an end that stays.
    stays = 0
    for _ in range(200):
        if high - low <= 1e-13 * high:
            break
        middle = low + (high - low) * above / (above - below)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        found = value_of_mix(middle, mix) - threshold
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


# ----------------------------------------------------------------------------- evidence


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
    """Return -log P(lambda exp(-level Z) <= limit).

    lambda has the law Gamma(shape, rate), and Z is normal.

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
            if height < -FAR_BELOW_PEAK:
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


# ------------------------------------------------------------------------------ judging


@part
def _lives(counts: Counts, today: Today, rates: Rates) -> tuple[FloatArray, FloatArray]:
    """Return a loan's exposure up to each age, [P, J], and the unseen part, [P]."""
    products, size = rates.hazards.shape
    grown, unseen = np.zeros((products, size)), np.zeros(products)
    for p in range(products):
        seen = counts.at_risk[:, p].sum(axis=0)
        alive, exposure = 1.0, 0.0
        for j in range(size):
            hazard = rates.hazards[p, j] if j < today.ages[p] else 0.0
            exposure += alive * hazard
            grown[p, j] = exposure
            if seen[j] <= 0.0:
                unseen[p] += alive * hazard
            alive *= (1.0 - hazard) * (1.0 - rates.closings[p, j])
    return grown, unseen


@kernel
def judge(
    counts: Counts,
    today: Today,
    rates: Rates,
    lending: LendingTerms,
    frailty: float,
    thresholds: FloatArray,
    columns: FloatArray,
) -> None:
    """Fill `columns` [BookRow, K]; a loan must be worth its category's threshold."""
    categories, products, now = counts.issued.shape
    grown, unseen = _lives(counts, today, rates)
    size = rates.hazards.shape[1]
    mix, vintages = _new_mix(today, rates), np.zeros(now)
    total = counts.defaults.sum()
    for k in range(categories):
        defaults, exposure = counts.defaults[k].sum(), rates.exposures[k].sum()
        vintages[:] = 0.0
        for p in range(products):
            for s in range(now):
                vintages[s] += counts.issued[k, p, s] * grown[p, min(now - 1 - s, size - 1)]
        level = level_left(vintages, lending.level, lending.cycle)
        columns[BookRow.DEFAULTS, k], columns[BookRow.EXPOSURE, k] = defaults, exposure
        columns[BookRow.LEVEL, k] = level
        columns[BookRow.BREAK_EVEN, k] = columns[BookRow.VALUE, k] = np.nan
        if not _set_mix(mix, today, k, lending):
            continue
        life = (mix.shares * grown[:, size - 1]).sum()
        columns[BookRow.LIFE, k], columns[BookRow.UNSEEN, k] = life, (mix.shares * unseen).sum()
        limit = break_even(thresholds[k], mix)
        columns[BookRow.BREAK_EVEN, k] = limit
        if exposure > 0.0:
            columns[BookRow.VALUE, k] = value_of_mix(defaults / exposure, mix)
            # More defaults say less, the more of them the common level explains.
            columns[BookRow.COUNTED, k] = exposure / life / (1.0 + level * level * defaults)
        if total >= FEWEST_DEFAULTS:
            columns[BookRow.EVIDENCE, k] = poisson_evidence(defaults, exposure, limit)
            columns[BookRow.POSTERIOR, k] = _posterior_evidence(
                columns[:, k], lending, frailty, limit
            )


@part
def _posterior_evidence(
    column: FloatArray, lending: LendingTerms, frailty: float, limit: float
) -> float:
    """Return -log P(the multiplier is at most `limit`)."""
    prior = 1.0 / frailty if lending.has_frailty else 0.0
    rate = prior + column[BookRow.EXPOSURE]
    if rate <= 0.0:
        return 0.0
    shape = column[BookRow.DEFAULTS] + (prior if lending.has_frailty else JEFFREYS)
    return level_evidence(shape, rate, limit, column[BookRow.LEVEL])


@kernel
def value_at(
    today: Today,
    rates: Rates,
    lending: LendingTerms,
    frailty: float,
    columns: FloatArray,
    patience: FloatArray,
    is_posterior: bool,
) -> FloatArray:
    """Return the value of a loan at the multiplier whose evidence is patience, [K].

    It is the index: at least the threshold if and only if evidence is at most patience.
    """
    out = np.empty(patience.size)
    mix = _new_mix(today, rates)
    for k in range(patience.size):
        if not _set_mix(mix, today, k, lending):
            out[k] = np.inf
            continue
        low, high = 0.0, 1.0
        while high < LARGEST_MULTIPLIER and patience[k] < _nats(
            columns[:, k], lending, frailty, high, is_posterior
        ):
            high *= 2.0
        for _ in range(60 if patience[k] < np.inf else 0):
            middle = 0.5 * (low + high)
            if patience[k] < _nats(columns[:, k], lending, frailty, middle, is_posterior):
                low = middle
            else:
                high = middle
        out[k] = value_of_mix(high if patience[k] < np.inf else 0.0, mix)
    return out


@part
def _nats(
    column: FloatArray, lending: LendingTerms, frailty: float, limit: float, is_posterior: bool
) -> float:
    if is_posterior:
        return _posterior_evidence(column, lending, frailty, limit)
    return poisson_evidence(column[BookRow.DEFAULTS], column[BookRow.EXPOSURE], limit)


# -------------------------------------------------------------------------- past loans

OPEN, DEFAULTED, CLOSED = 0, 1, 2


class PastLoans(NamedTuple):
    """Single loans, [n] each, as far as they are known."""

    rates: FloatArray  # a year
    products: IntArray
    ages: IntArray  # at which they ended, or which they have reached
    ends: IntArray  # OPEN, DEFAULTED or CLOSED
    multipliers: FloatArray  # of their categories, for those that are open


@kernel
def values_of_loans(
    loans: PastLoans, today: Today, rates: Rates, lending: LendingTerms
) -> FloatArray:
    """Return the value at issue of single loans, per unit lent, [n].

    That of an open loan is what is expected of the ages to come.
    """
    values = np.empty(loans.ages.size)
    size = rates.hazards.shape[1]
    places = np.zeros((2, 1, size))
    mix = Mix(
        np.ones(1), rates.hazards, rates.closings, places[0], places[1], np.zeros(1, np.int64)
    )
    for i in range(values.size):
        p = int(loans.products[i])
        mix.ages[0] = today.ages[p]
        rate, size = loans.rates[i] / lending.per_year, mix.ages[0]
        present_values(rate, today.terms[p], lending, mix.defaulted[0, :size], mix.closed[0, :size])
        age = min(loans.ages[i], mix.ages[0] - 1)
        if loans.ends[i] == DEFAULTED:
            values[i] = mix.defaulted[0, age]
        elif loans.ends[i] == CLOSED:
            values[i] = mix.closed[0, age]
        else:
            value = mix.closed[0, mix.ages[0] - 1]
            for j in range(mix.ages[0] - 1, age, -1):
                default = min(loans.multipliers[i] * rates.hazards[p, j], 1.0)
                closing = rates.closings[p, j]
                value = closing * mix.closed[0, j] + (1.0 - closing) * value
                value = default * mix.defaulted[0, j] + (1.0 - default) * value
            values[i] = value
    return values


@kernel
def rates_of_instalments(instalments: FloatArray, terms: IntArray) -> FloatArray:
    """Return the interest per instalment of loans, from instalments per unit lent, [n].

    NaN where the instalments do not even pay the loan back.
    """
    found = np.empty(instalments.size)
    for i in range(found.size):
        low, high = 0.0, 1.0
        if instalments[i] < instalment_of(0.0, terms[i]) * (1.0 - 1e-12):
            found[i] = np.nan
            continue
        while instalment_of(high, terms[i]) < instalments[i]:
            high *= 2.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if instalment_of(middle, terms[i]) < instalments[i]:
                low = middle
            else:
                high = middle
        found[i] = 0.5 * (low + high)
    return found
