"""Bands of an order: categories whose means do not fall, so that they share evidence.

The bands stand from the lowest mean to the highest.  With L(mu) = sum N_i d(m_i, mu_i),
the evidence against band j is what its threshold costs when means must not fall:

    E_j = min{L : mu does not fall, mu_j >= tau_j} - min{L : mu does not fall}.

Both minima are isotonic regressions, which pool adjacent violators into blocks.  Let B
be the block of band j, and P the blocks that the bands before j alone would have:

    E_j =   sum of N_b d(M_b, tau_j) over B and the later blocks with mean below tau_j
          - sum of N_P d(P, tau_j) over the blocks P inside B with mean below tau_j.

docs/mathematics.md has the proof.  No term needs the data of a single band, and no two
large terms cancel where the evidence is small.  A threshold that many bands share takes
one divergence for each block.  The mirror image, where mu_j <= tau_j, says how strongly
the order speaks *for* a band; that is written as a negative number of nats.

A posterior of a band is corrected by what the others change, both on the scale of a
normal law, rho(E) = -log Phi(-sqrt(2E)) against the band and -log Phi(sqrt(2E)) for it:

    evidence = max(0, own evidence + rho(E_j) - rho(E_j of the band alone)).

So a band that nobody corrects has its own evidence, to the last bit.  And no band has
less than one above it whose threshold is no higher: if that is unprofitable, so is it.

How far an order is trusted is said in nats (`trust`).  A band whose removal would lower
the misfit, min{L : mu does not fall}, by more than trust + log(t + 1) leaves the order
and is judged alone.  And whatever the others say, a band is accepted if its own
evidence and a doubt are within patience.  The doubt is `trust`, less what the misfit
would fall without the band: the more it contradicts the order, the less it takes.

Example: 2 of 10 clients in the lower band, 4 of 10 in the higher one, against 0.5.  The
lower one has 10 d(0.2, 0.5) = 1.927 nats of its own, and its mean cannot be 0.5 unless
the other is as high: 10 d(0.4, 0.5) = 0.201 are added.

>>> bands = new_bands(2)
>>> bands[BandRow.CLIENTS], bands[BandRow.TARGET] = 10.0, 0.5
>>> bands[BandRow.TOTAL] = 2.0, 4.0
>>> bernoulli = Law(BINOMIAL, 0.0, 1.0, 1.0)
>>> weigh_bands(bernoulli, False, math.inf, Patience(TIME), 8.0, 0.0, bands)
>>> bands[BandRow.EVIDENCE].round(3).tolist()
[2.129, 0.201]
>>> bands[BandRow.ACCEPTED].tolist()  # log 8 = 2.079
[0.0, 1.0]
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from profitable.common.types import Matrix
from profitable.kernels.compile import kernel, part
from profitable.kernels.exact import is_above, is_below
from profitable.kernels.law import BINOMIAL as BINOMIAL
from profitable.kernels.law import Law, deviance, posterior_bounds, posterior_evidence
from profitable.kernels.patience import AHEAD, DRAWN, EVEN_ODDS, Patience, patience_at
from profitable.kernels.patience import TIME as TIME
from profitable.kernels.special import normal_evidence

ONE_MEAN = 1.0  # nats by which one more free mean is expected to fit too well
RISING, FALLING = 1.0, -1.0  # the direction in which the bands are visited


class BandRow(IntEnum):
    """Rows of the table of an order, [rows, K]."""

    # Given: clients, the sum of their statistics, what that lost to rounding.
    CLIENTS = 0
    TOTAL = 1
    CARRY = 2
    IMAGINARY = 3  # clients of the prior, and their sum
    IMAGINARY_TOTAL = 4
    TARGET = 5  # the threshold, in the units of the statistic
    # What follows.  Nats against a band are positive, nats for it negative.
    ALONE = 6  # N d(m, tau) of the band alone
    SHARED = 7  # the same under the order
    OWN = 8  # the evidence of the band alone, prior included; NaN if not computed yet
    EVIDENCE = 9  # what is compared with patience
    FIT = 10  # the isotonic fit; NaN for a band without data or outside the order
    LEFT = 11  # 1 if it left the order
    APART = 12  # N d(m, mean of its block), while it is asked who leaves
    # One round.
    PER_ROUND = 13  # given: clients of a round
    PATIENCE = 14
    ACCEPTED = 15


class BlockRow(IntEnum):
    """Rows of a table of blocks, [rows, K]: a block is some neighbouring bands."""

    START = 0  # its first band, in the direction of the visit
    CLIENTS = 1
    TOTAL = 2
    CARRY = 3
    NATS = 4  # N d(mean, target) for the target below
    TARGET = 5  # NaN if that is not computed
    MISFIT = 6  # of its bands, while APART has them; NaN if it has others


BAND_ROWS, BLOCK_ROWS = len(BandRow), len(BlockRow)


class Order(NamedTuple):
    """The bands of an order with room for blocks, and how far the order is trusted."""

    law: Law
    is_posterior: bool  # whether evidence is minus the logarithm of a posterior probability
    trust: float  # nats
    bands: Matrix
    blocks: Matrix  # of the isotonic fit
    before: Matrix  # of those bands that were visited so far


@kernel
def new_bands(number: int) -> Matrix:
    """Return the table of so many bands without data."""
    bands = np.zeros((BAND_ROWS, number))
    bands[BandRow.OWN] = math.nan
    return bands


@part
def order_of(law: Law, is_posterior: bool, trust: float, bands: Matrix) -> Order:
    """Return an order with room for its blocks."""
    room = np.empty((2, BLOCK_ROWS, bands.shape[1]))
    return Order(law, is_posterior, trust, bands, room[0], room[1])


# ---------------------------------------------------------------------------- blocks


@part
def _counts(bands: Matrix, i: int) -> bool:
    """Return whether a band says something about the others."""
    return bands[BandRow.CLIENTS, i] > 0.0 and bands[BandRow.LEFT, i] == 0.0


@part
def _push(blocks: Matrix, number: int, bands: Matrix, i: int, direction: float) -> int:
    """Add a band behind `number` blocks and pool violators; return how many remain."""
    blocks[BlockRow.START, number] = i
    blocks[BlockRow.CLIENTS, number] = bands[BandRow.CLIENTS, i]
    blocks[BlockRow.TOTAL, number] = bands[BandRow.TOTAL, i]
    blocks[BlockRow.CARRY, number] = bands[BandRow.CARRY, i]
    blocks[BlockRow.TARGET, number] = blocks[BlockRow.MISFIT, number] = math.nan
    while number > 0:
        last = number - 1
        rise = (
            blocks[BlockRow.TOTAL, number] * blocks[BlockRow.CLIENTS, last]
            - blocks[BlockRow.TOTAL, last] * blocks[BlockRow.CLIENTS, number]
        )
        if direction * rise > 0.0:
            break
        blocks[BlockRow.CLIENTS, last] += blocks[BlockRow.CLIENTS, number]
        blocks[BlockRow.TOTAL, last] += blocks[BlockRow.TOTAL, number]
        blocks[BlockRow.CARRY, last] += blocks[BlockRow.CARRY, number]
        blocks[BlockRow.TARGET, last] = blocks[BlockRow.MISFIT, last] = math.nan
        number = last
    return number + 1


@part
def _pool(blocks: Matrix, bands: Matrix, direction: float) -> int:
    """Fit all bands that count into blocks; return how many there are."""
    number, size = 0, bands.shape[1]
    for place in range(size):
        i = place if direction > 0.0 else size - 1 - place
        if _counts(bands, i):
            number = _push(blocks, number, bands, i, direction)
    return number


@part
def _pool_between(blocks: Matrix, bands: Matrix, first: int, end: int, without: int) -> int:
    """Fit the bands from `first` to before `end`, but one; return how many blocks."""
    number = 0
    for i in range(first, end):
        if i != without and _counts(bands, i):
            number = _push(blocks, number, bands, i, RISING)
    return number


@part
def _mean(blocks: Matrix, block: int) -> float:
    return blocks[BlockRow.TOTAL, block] / blocks[BlockRow.CLIENTS, block]


@part
def _end(blocks: Matrix, block: int, number: int, size: int) -> int:
    """Return the band behind a block of the fit."""
    return int(blocks[BlockRow.START, block + 1]) if block + 1 < number else size


@part
def _is_beyond(blocks: Matrix, block: int, target: float, direction: float) -> bool:
    """Return whether a block contradicts a threshold that it must reach."""
    clients, total = blocks[BlockRow.CLIENTS, block], blocks[BlockRow.TOTAL, block]
    if direction > 0.0:
        return is_below(clients, total, target)
    return is_above(clients, total, target)


@part
def _nats(law: Law, blocks: Matrix, block: int, target: float) -> float:
    """Return N d(mean, target) of a block, computed once for a target."""
    if blocks[BlockRow.TARGET, block] != target:
        blocks[BlockRow.TARGET, block] = target
        blocks[BlockRow.NATS, block] = deviance(
            law,
            blocks[BlockRow.CLIENTS, block],
            blocks[BlockRow.TOTAL, block],
            target,
            blocks[BlockRow.CARRY, block],
        )
    return blocks[BlockRow.NATS, block]


# -------------------------------------------------------------------------- evidence


@part
def _cost_of_reaching(
    order: Order, target: float, block: int, number: int, seen: int, direction: float
) -> float:
    """Return E of a band in a block of the fit (of `number`), after `seen` blocks."""
    blocks, before = order.blocks, order.before
    nats, later = 0.0, block
    while later < number and _is_beyond(blocks, later, target, direction):
        nats += _nats(order.law, blocks, later, target)
        later += 1
    if nats == math.inf:
        return nats
    start, earlier = blocks[BlockRow.START, block], seen - 1
    while earlier >= 0 and direction * (before[BlockRow.START, earlier] - start) >= 0.0:
        if _is_beyond(before, earlier, target, direction):
            nats -= _nats(order.law, before, earlier, target)
        earlier -= 1
    return max(nats, 0.0)


@part
def _weigh(order: Order, number: int, direction: float) -> None:
    """Write the nats of one direction, given the blocks of the fit.

    A band without data has to reach its threshold together with the next one that has
    some.
    """
    bands, blocks, size = order.bands, order.blocks, order.bands.shape[1]
    block, seen, waiting = 0, 0, 0
    for place in range(size):
        i = place if direction > 0.0 else size - 1 - place
        if not _counts(bands, i):
            continue
        while block + 1 < number and direction * (blocks[BlockRow.START, block + 1] - i) <= 0.0:
            block += 1
        for other in range(waiting, place + 1):
            j = other if direction > 0.0 else size - 1 - other
            target = bands[BandRow.TARGET, j]
            if bands[BandRow.LEFT, j] == 0.0 and _is_beyond(blocks, block, target, direction):
                bands[BandRow.SHARED, j] = direction * _cost_of_reaching(
                    order, target, block, number, seen, direction
                )
        waiting = place + 1
        if direction > 0.0:
            bands[BandRow.FIT, i] = _mean(blocks, block)
        seen = _push(order.before, seen, bands, i, direction)


@part
def nats_alone(order: Order, k: int) -> float:
    """Return N d(m, tau) of a band, negative where its mean is above the threshold."""
    bands = order.bands
    clients, total, target = (
        bands[BandRow.CLIENTS, k],
        bands[BandRow.TOTAL, k],
        bands[BandRow.TARGET, k],
    )
    if clients <= 0.0:
        return 0.0
    is_against = is_below(clients, total, target)
    if not is_against and not (order.is_posterior and is_above(clients, total, target)):
        return 0.0
    nats = deviance(order.law, clients, total, target, bands[BandRow.CARRY, k])
    return nats if is_against else -nats


# ------------------------------------------------------------------------------ trust


@part
def _misfit(order: Order, blocks: Matrix, number: int, without: int) -> float:
    """Write how far all bands but one are from the means of their blocks; return L."""
    nats = 0.0
    for block in range(number):
        nats += _block_misfit(order, blocks, block, number, without)
    return nats


@part
def _block_misfit(order: Order, blocks: Matrix, block: int, number: int, without: int) -> float:
    """Write how far the bands of a block are from its mean; return the sum."""
    bands, law, nats = order.bands, order.law, 0.0
    start, mean = int(blocks[BlockRow.START, block]), _mean(blocks, block)
    is_alone = blocks[BlockRow.CLIENTS, block] == bands[BandRow.CLIENTS, start]
    if is_alone or mean <= law.low or mean >= law.high:  # at an edge, no band differs
        return 0.0
    for i in range(start, _end(blocks, block, number, bands.shape[1])):
        if i != without and _counts(bands, i):
            bands[BandRow.APART, i] = deviance(
                law,
                bands[BandRow.CLIENTS, i],
                bands[BandRow.TOTAL, i],
                mean,
                bands[BandRow.CARRY, i],
            )
            nats += bands[BandRow.APART, i]
    return nats


@part
def _known_misfit(order: Order, block: int, number: int) -> float:
    """Return the misfit of a block of the fit; its bands' shares stand in APART."""
    blocks = order.blocks
    if math.isnan(blocks[BlockRow.MISFIT, block]):
        blocks[BlockRow.MISFIT, block] = _block_misfit(order, blocks, block, number, -1)
    return blocks[BlockRow.MISFIT, block]


@part
def _gain_without(order: Order, number: int, block: int, i: int, enough: float) -> float:
    """Return by how much L falls without a band of a block, if that is above `enough`.

    The rest of the block is fitted again: by the three-point identity of d, that gains
    N d(mean, M) for each new block, if the mean of all was M.  Where a new block
    reaches a neighbour, the two are pooled, and this is a bound.
    """
    bands, blocks, before = order.bands, order.blocks, order.before
    gain, mean, size = bands[BandRow.APART, i], _mean(blocks, block), bands.shape[1]
    start, end = int(blocks[BlockRow.START, block]), _end(blocks, block, number, size)
    rest = _pool_between(before, bands, start, end, i)
    for each in range(rest):
        gain += _nats(order.law, before, each, mean)
    touches = (block > 0 and _mean(before, 0) <= _mean(blocks, block - 1)) or (
        block + 1 < number and _mean(before, rest - 1) >= _mean(blocks, block + 1)
    )
    if not touches or not gain > enough:
        return gain
    rest = _pool_between(before, bands, 0, size, i)
    with_all = _misfit(order, blocks, number, -1)
    gain = with_all - _misfit(order, before, rest, i)
    for each in range(number):
        blocks[BlockRow.MISFIT, each] = math.nan
    return gain


@part
def _worst(order: Order, number: int, limit: float) -> int:
    """Return the band without which L falls most, by more than `limit`; -1 if none."""
    bands, blocks, worst, most = order.bands, order.blocks, -1, limit
    for block in range(number):
        start = int(blocks[BlockRow.START, block])
        for i in range(start, _end(blocks, block, number, bands.shape[1])):
            if _counts(bands, i) and _known_misfit(order, block, number) > most:
                gain = _gain_without(order, number, block, i, most)
                if gain > most:
                    most, worst = gain, i
    return worst


@part
def renew_order(order: Order, t: float) -> bool:
    """Weigh all bands after t rounds; return whether some band left the order.

    The row ALONE is the caller's.
    """
    bands, size = order.bands, order.bands.shape[1]
    for k in range(size):
        bands[BandRow.LEFT, k] = 0.0
        bands[BandRow.SHARED, k] = 0.0
        bands[BandRow.FIT, k] = math.nan
    number, some_left = _pool(order.blocks, bands, RISING), False
    if order.trust < math.inf:
        limit = order.trust + math.log(t + 1.0)
        worst = _worst(order, number, limit)
        while worst >= 0:
            bands[BandRow.LEFT, worst] = 1.0
            bands[BandRow.SHARED, worst] = bands[BandRow.ALONE, worst]
            number, some_left = _pool(order.blocks, bands, RISING), True
            worst = _worst(order, number, limit)
    _weigh(order, number, RISING)
    if order.is_posterior:
        _weigh(order, _pool(order.blocks, bands, FALLING), FALLING)
    return some_left


# ---------------------------------------------------------------------- one inequality


@part
def _rho(nats: float) -> float:
    """Return the evidence of a normal posterior with so many nats, of either sign.

    It is -log Phi(-2) for 2 nats.

    >>> [round(_rho(nats), 3) for nats in (2.0, 0.0, -2.0)]
    [3.783, 0.693, 0.023]
    """
    return normal_evidence(math.sqrt(2.0 * nats) if nats >= 0.0 else -math.sqrt(-2.0 * nats))


@part
def _correction(order: Order, k: int) -> float:
    """Return what the order adds to the posterior evidence of a band."""
    shared, alone = order.bands[BandRow.SHARED, k], order.bands[BandRow.ALONE, k]
    return _rho(shared) - _rho(alone) if shared != alone else 0.0


@part
def own_evidence(order: Order, k: int) -> float:
    """Return the evidence of a band alone, as if there were no order."""
    bands = order.bands
    if not order.is_posterior:
        return bands[BandRow.ALONE, k]
    if math.isnan(bands[BandRow.OWN, k]):
        bands[BandRow.OWN, k] = posterior_evidence(
            order.law,
            bands[BandRow.CLIENTS, k] + bands[BandRow.IMAGINARY, k],
            bands[BandRow.TOTAL, k] + bands[BandRow.IMAGINARY_TOTAL, k],
            bands[BandRow.TARGET, k],
            bands[BandRow.CARRY, k],
        )
    return bands[BandRow.OWN, k]


@part
def _weighed(order: Order, k: int, surely_within: float, surely_beyond: float) -> float:
    """Return the evidence that data give against a band under the order.

    Of most posteriors a bound is enough: it is 0 if it is surely within the first
    limit, and a lower bound if that is beyond the second.
    """
    bands = order.bands
    if not order.is_posterior:
        return bands[BandRow.SHARED, k]
    least, most = -math.inf, math.inf
    if math.isnan(bands[BandRow.OWN, k]):
        least, most = _own_bounds(order, k)
        if most <= surely_within and bands[BandRow.SHARED, k] <= bands[BandRow.ALONE, k]:
            return 0.0  # the correction is not positive
    correction = _correction(order, k)
    if most + correction <= surely_within:
        return 0.0
    if least + correction > surely_beyond:
        return least + correction
    own = own_evidence(order, k)
    return max(0.0, own + correction) if correction != 0.0 else own


@part
def _own_bounds(order: Order, k: int) -> tuple[float, float]:
    bands = order.bands
    clients = bands[BandRow.CLIENTS, k] + bands[BandRow.IMAGINARY, k]
    total = bands[BandRow.TOTAL, k] + bands[BandRow.IMAGINARY_TOTAL, k]
    return posterior_bounds(order.law, clients, total, bands[BandRow.TARGET, k])


@part
def _is_own_within(order: Order, k: int, limit: float) -> bool:
    """Return whether the evidence of a band alone is at most a limit."""
    if order.is_posterior and math.isnan(order.bands[BandRow.OWN, k]):
        least, most = _own_bounds(order, k)
        if most <= limit or least > limit:
            return most <= limit
    return own_evidence(order, k) <= limit


@part
def _most_above(bands: Matrix, k: int) -> float:
    """Return the most evidence against a band above whose threshold is no higher.

    If that one is unprofitable, so is this one.
    """
    most = 0.0
    for i in range(k + 1, bands.shape[1]):
        if (
            bands[BandRow.EVIDENCE, i] > most
            and bands[BandRow.LEFT, i] == 0.0
            and bands[BandRow.TARGET, i] <= bands[BandRow.TARGET, k]
        ):
            most = bands[BandRow.EVIDENCE, i]
    return most


@part
def own_clients(bands: Matrix, k: int) -> float:
    """Return the known clients of a band, imaginary ones included."""
    return bands[BandRow.CLIENTS, k] + bands[BandRow.IMAGINARY, k]


@part
def clients_in_question(bands: Matrix, k: int) -> float:
    """Return the known clients of a band and of those that stand or fall with it.

    These are the bands above it whose fit is still below its threshold.
    """
    clients = own_clients(bands, k)
    if bands[BandRow.LEFT, k] == 0.0:
        for i in range(k + 1, bands.shape[1]):
            if bands[BandRow.FIT, i] >= bands[BandRow.TARGET, k]:
                break
            if _counts(bands, i):
                clients += bands[BandRow.CLIENTS, i]
    return clients


@part
def judge_bands(order: Order, patience: Patience, t: float, drawn: float, exactly: bool) -> None:
    """Decide round t + 1 about all bands, after `renew_order`.

    `drawn` is the patience of the round where it is drawn, one for all bands.  The
    evidence is exact, or exact enough to be compared with patience.
    """
    bands, looks_ahead = order.bands, patience.kind == AHEAD
    limit, within, beyond, highest = drawn, EVEN_ODDS, math.inf, 0.0
    if not looks_ahead:
        if patience.kind != DRAWN:
            limit = patience_at(patience, t, 1.0, 1.0)
        within, beyond = limit, limit
    if exactly:
        within, beyond = -1.0, math.inf
    for k in range(bands.shape[1] - 1, -1, -1):
        nats = _weighed(order, k, within, beyond)
        if bands[BandRow.LEFT, k] == 0.0:
            if highest > nats:
                nats = max(nats, _most_above(bands, k))
            highest = max(highest, nats)
        if looks_ahead:
            limit = patience_at(
                patience, t, clients_in_question(bands, k), bands[BandRow.PER_ROUND, k]
            )
        bands[BandRow.EVIDENCE, k], bands[BandRow.PATIENCE, k] = nats, limit
        bands[BandRow.ACCEPTED, k] = nats <= limit
    if order.trust < math.inf:
        number = 0
        for k in range(bands.shape[1]):
            if exactly or bands[BandRow.ACCEPTED, k] == 0.0:
                if number == 0:
                    number = _pool(order.blocks, bands, RISING)
                _judge_alone(order, number, k, patience, t, exactly)


@part
def _doubt(order: Order, number: int, k: int) -> float:
    """Return the nats by which the order is preferred to judging a band alone.

    They are `trust`, less what the misfit falls without the band.  One nat of that does
    not count, because a band alone has one free mean more (Akaike's criterion).
    """
    bands, blocks = order.bands, order.blocks
    if bands[BandRow.LEFT, k] != 0.0:
        return 0.0
    if not bands[BandRow.CLIENTS, k] > 0.0:
        return order.trust
    block = 0
    while block + 1 < number and blocks[BlockRow.START, block + 1] <= k:
        block += 1
    if not _known_misfit(order, block, number) > ONE_MEAN:
        return order.trust
    gain = _gain_without(order, number, block, k, ONE_MEAN) - ONE_MEAN
    return max(0.0, order.trust - max(0.0, gain))


@part
def _judge_alone(
    order: Order, number: int, k: int, patience: Patience, t: float, exactly: bool
) -> None:
    """Accept a band that is worth it if it is judged alone, with some doubt."""
    bands, limit = order.bands, order.bands[BandRow.PATIENCE, k]
    if patience.kind == AHEAD:
        limit = patience_at(patience, t, own_clients(bands, k), bands[BandRow.PER_ROUND, k])
        if bands[BandRow.ACCEPTED, k] != 0.0:
            return
    if exactly:
        nats = own_evidence(order, k)  # which a doubt can only raise
        if not (nats <= limit if patience.kind == AHEAD else nats < bands[BandRow.EVIDENCE, k]):
            return
        nats += _doubt(order, number, k)
        if nats <= limit if patience.kind == AHEAD else nats < bands[BandRow.EVIDENCE, k]:
            bands[BandRow.EVIDENCE, k], bands[BandRow.PATIENCE, k] = nats, limit
            bands[BandRow.ACCEPTED, k] = nats <= limit
    elif _is_own_within(order, k, limit):
        if _is_own_within(order, k, limit - order.trust) or _is_own_within(
            order, k, limit - _doubt(order, number, k)
        ):
            bands[BandRow.ACCEPTED, k] = 1.0


@kernel
def weigh_bands(
    law: Law,
    is_posterior: bool,
    trust: float,
    patience: Patience,
    t: float,
    drawn: float,
    bands: Matrix,
) -> None:
    """Write what follows from the data of all bands, and decide round t + 1."""
    order = order_of(law, is_posterior, trust, bands)
    for k in range(bands.shape[1]):
        bands[BandRow.ALONE, k] = nats_alone(order, k)
        bands[BandRow.OWN, k] = math.nan
    renew_order(order, t)
    judge_bands(order, patience, t, drawn, True)
