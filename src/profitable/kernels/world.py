"""What happens to a category whatever the policy: how many clients come, and what they bring.

The hidden truth of a category arrives as one row of numbers (columns below).  A policy adds up what it sees of the
rewards; how a batch of n clients is drawn (its feed) depends on what it needs of them:

| feed      | drawn                                                | for                                              |
| --------- | ---------------------------------------------------- | ------------------------------------------------ |
| `SUM`     | the sum of the statistics, at once                   | policies for which the sum is sufficient         |
| `CELLS`   | how many clients have each value: a multinomial draw | whole-number rewards, cut or kept value by value |
| `SINGLES` | every reward                                         | continuous rewards, cut or kept one by one       |
| `PIECES`  | how many are cut, and the sum of the others          | Exponential rewards that are seldom cut          |
"""

import math

import numpy as np

from profitable.kernels.compile import kernel
from profitable.kernels.draw import draw_binomial, draw_poisson, draw_total, log_mass
from profitable.kernels.law import GAMMA, SMALLEST_POSITIVE
from profitable.kernels.ledger import CUT, IDENTITY, LOG_RATIO, POWER
from profitable.kernels.pieces import draw_piece, largest_piece
from profitable.types import FloatArray, IntArray

# Columns of a truth.
LAW, P0, P1, P2, MEAN = 0, 1, 2, 3, 4  # the family's law and the mean of its statistic
FEED = 5
VIEW, VIEW_LOW, VIEW_HIGH = 6, 7, 8  # the policy sees the statistic itself, or (CUT) the reward cut into an interval
TRANSFORM, T0 = 9, 10  # how a reward follows from its statistic
ARRIVALS, A0, A1 = 11, 12, 13
TRUTH_COLUMNS = 14

SUM, CELLS, SINGLES, PIECES = 0, 1, 2, 3
FEW = 20  # uniform numbers that are drawn singly
CONSTANT, ONE_PLUS_POISSON, UNIFORM, LISTED = 0, 1, 2, 3  # A0: number, rate, low; A1: high

# What a run knows of a category: rows of its state.
CLIENTS, TOTAL, SQUARES, REVENUE = 0, 1, 2, 3
MULTIPLIER = 4  # where the dual of KL-Emp-UCB was solved last
AT_LARGEST, SLOPE = 5, 6  # that dual and its slope at the largest multiplier (kernels/lazy.py)
STATE_ROWS = 7


@kernel
def arrivals_in(rng: np.random.Generator, truth: FloatArray, listed: IntArray, t: int, rounds: int, extra: int) -> int:
    """Clients of the rounds t + 1 .. t + rounds; `extra` is what Poisson arrivals bring beyond one per round."""
    code = truth[ARRIVALS]
    if code == ONE_PLUS_POISSON:
        return rounds + extra
    if code == CONSTANT:
        return rounds * int(truth[A0])
    if code == LISTED:
        return listed[t + rounds] - listed[t]
    low = int(truth[A0])
    width = int(truth[A1]) - low + 1
    clients = rounds * low
    if rounds <= FEW:
        for _ in range(rounds):
            clients += int(rng.integers(0, width))
        return clients
    # The sum of many uniform numbers below `width`: an even width is a fair bit and half the width; of an odd one the
    # largest number is set apart.
    left = rounds
    while width > 1:
        if width % 2 == 1:
            hits = rng.binomial(left, 1.0 / width)
            clients += hits * (width - 1)
            left -= hits
            width -= 1
        width //= 2
        clients += width * rng.binomial(left, 0.5)
    return clients


@kernel
def draw_extra(rng: np.random.Generator, truth: FloatArray, rounds: int) -> int:
    """The Poisson part of the arrivals in that many rounds."""
    return int(draw_poisson(rng, rounds * truth[A0])) if truth[ARRIVALS] == ONE_PLUS_POISSON else 0


@kernel
def share_of_extra(rng: np.random.Generator, rounds: int, extra: int, first: int) -> int:
    """The part of `extra` that falls into the first rounds of several: a Poisson number splits as a binomial."""
    if extra == 0:
        return 0
    if 2 * first > rounds:
        return extra - draw_binomial(rng, extra, (rounds - first) / rounds)
    return draw_binomial(rng, extra, first / rounds)


@kernel
def most_arrivals(truth: FloatArray, listed: IntArray, t: int, rounds: int, extra: int) -> float:
    """No more clients than this come in the rounds t + 1 .. t + rounds."""
    code = truth[ARRIVALS]
    if code == ONE_PLUS_POISSON:
        return float(rounds) + extra
    if code == LISTED:
        return float(listed[t + rounds] - listed[t])
    return rounds * (truth[A0] if code == CONSTANT else truth[A1])


@kernel
def average_arrivals(truth: FloatArray, listed: IntArray) -> float:
    """The mean number of clients per round."""
    code = truth[ARRIVALS]
    if code == CONSTANT:
        return truth[A0]
    if code == ONE_PLUS_POISSON:
        return 1.0 + truth[A0]
    if code == UNIFORM:
        return 0.5 * (truth[A0] + truth[A1])
    return listed[listed.size - 1] / (listed.size - 1.0)


@kernel
def reward_of(truth: FloatArray, value: float) -> float:
    """The reward whose statistic is `value`."""
    code = truth[TRANSFORM]
    if code == LOG_RATIO:
        return truth[T0] * math.exp(value)
    if code == POWER:
        return value ** (1.0 / truth[T0])
    return value


@kernel
def draw_sum(rng: np.random.Generator, truth: FloatArray, clients: float) -> float:
    """The sum of the statistics of that many clients."""
    law = int(truth[LAW])
    total = draw_total(rng, law, truth[P0], truth[P1], truth[P2], truth[MEAN], clients)
    return max(total, SMALLEST_POSITIVE) if law == GAMMA else total


@kernel
def draw_from(rng: np.random.Generator, truth: FloatArray, start: float, probability: float) -> float:
    """A whole-number reward given that it is at least `start`, which happens with that probability."""
    law = int(truth[LAW])
    left = rng.random() * probability
    value = start
    while value < start + 1e6:  # far beyond: `left` was a rounding error
        left -= math.exp(log_mass(law, truth[P0], truth[P1], truth[P2], truth[MEAN], value))
        if left <= 0.0:
            break
        value += 1.0
    return value


@kernel
def make_room(sample: FloatArray, size: int, needed: int) -> FloatArray:
    """The sample (values, counts), `size` long, in a larger array if `needed` are more than fit."""
    if needed <= sample.shape[1]:
        return sample
    larger = np.ones((2, max(2 * size, needed)))
    larger[:, :size] = sample[:, :size]
    return larger


@kernel
def keep(sample: FloatArray, size: int, value: float) -> FloatArray:
    """Write one more value behind the `size` that are there."""
    sample = make_room(sample, size, size + 1)
    sample[0, size] = value
    return sample


@kernel
def draw_singles(
    rng: np.random.Generator,
    truth: FloatArray,
    clients: int,
    state: FloatArray,
    sample: FloatArray,
    size: int,
    keeps: bool,
) -> tuple[FloatArray, int]:
    """Draw every reward; `draw_batch` for continuous rewards that are cut or kept."""
    cut = truth[VIEW] == CUT
    low, high, mean, plain = truth[VIEW_LOW], truth[VIEW_HIGH], truth[MEAN], truth[TRANSFORM] == IDENTITY
    exponential = truth[LAW] == GAMMA and truth[P0] == 1.0  # the common case, without the general machinery
    total = squares = revenue = 0.0
    for _ in range(clients):
        if exponential:
            value = max(mean * rng.standard_exponential(), SMALLEST_POSITIVE)
        else:
            value = draw_sum(rng, truth, 1.0)
        reward = value if plain else reward_of(truth, value)
        seen = min(max(reward, low), high) if cut else value
        total += seen
        squares += seen * seen
        revenue += reward
        if keeps:
            sample = keep(sample, size, seen)
            size += 1
    state[TOTAL] += total
    state[SQUARES] += squares
    state[REVENUE] += revenue
    return sample, size


@kernel
def draw_cells(
    rng: np.random.Generator,
    truth: FloatArray,
    cells: FloatArray,
    clients: int,
    state: FloatArray,
    sample: FloatArray,
    size: int,
    keeps: bool,
) -> tuple[FloatArray, int]:
    """Draw how many clients have each value; `draw_batch` for whole-number rewards that are cut or kept.

    `cells` [4, D + 1]: the whole-number rewards that are told apart, what the policy sees of them, and the probability
    that a reward is it given that it is none of the earlier ones; the last cell stands for all rewards beyond D - 1,
    with their probability.  Its last row is the cell of each reward 0, 1, ..., D - 1.
    """
    told_apart = cells.shape[1] - 1
    one_by_one = clients <= told_apart
    left = clients
    cell = 0
    while left > 0:
        hits = 1
        if one_by_one:
            reward = draw_sum(rng, truth, 1.0)
            cell = int(cells[3, int(reward)]) if reward < told_apart else told_apart
        else:
            if cell < told_apart:
                hits = draw_binomial(rng, left, float(cells[2, cell]))
            reward = cells[0, cell] if cell < told_apart else draw_from(rng, truth, told_apart, cells[2, told_apart])
        if hits > 0:
            seen = min(reward, truth[VIEW_HIGH])
            state[TOTAL] += hits * seen
            state[SQUARES] += hits * seen * seen
            state[REVENUE] += hits * reward
            left -= hits
            if keeps and cell < told_apart:
                sample[1, cell] += hits
                size = max(size, cell + 1)
            elif keeps:
                size = max(size, told_apart)
                sample = keep(sample, size, seen)
                size += 1
        if not one_by_one and cell < told_apart:
            cell += 1
    return sample, size


@kernel
def draw_pieces(
    rng: np.random.Generator,
    truth: FloatArray,
    clients: int,
    state: FloatArray,
    sample: FloatArray,
    size: int,
    keeps: bool,
) -> tuple[FloatArray, int]:
    """Draw how many rewards are cut and the sum of the others; `draw_batch` for Exponential rewards.

    What is kept are the numbers and sums of pieces: `kernels/lazy.py` draws their rewards if they are asked for.
    """
    mean, high = truth[MEAN], truth[VIEW_HIGH]
    bound = high / mean
    cut = draw_binomial(rng, clients, math.exp(-bound))
    most = largest_piece(bound)
    left = clients - cut
    seen = cut * high
    size = max(size, 1)
    while left > 0:
        number = min(left, most)
        total = draw_piece(rng, number, bound)
        seen += mean * total
        left -= number
        if keeps:
            sample = keep(sample, size, total)
            sample[1, size] = number
            size += 1
    state[TOTAL] += seen
    state[SQUARES] += cut * high * high
    state[REVENUE] += seen
    if cut > 0:
        state[REVENUE] += mean * rng.standard_gamma(float(cut))
        if keeps:
            sample[1, 0] += cut
    return sample, size


@kernel
def draws_per_client(truth: FloatArray, keeps: bool) -> float:
    """What a batch costs for each of its clients: draws, or pieces."""
    if truth[FEED] == SINGLES or (truth[FEED] == PIECES and keeps):
        return 1.0
    return 1.0 / largest_piece(truth[VIEW_HIGH] / truth[MEAN]) if truth[FEED] == PIECES else 0.0


@kernel
def draw_batch(
    rng: np.random.Generator,
    truth: FloatArray,
    cells: FloatArray,
    clients: int,
    state: FloatArray,
    sample: FloatArray,
    size: int,
    keeps: bool,
) -> tuple[FloatArray, int]:
    """Draw the rewards of a batch and add them to the state; returns the sample (see `keep`) and its size."""
    state[CLIENTS] += clients
    if truth[FEED] == SINGLES:
        return draw_singles(rng, truth, clients, state, sample, size, keeps)
    if truth[FEED] == PIECES:
        return draw_pieces(rng, truth, clients, state, sample, size, keeps)
    if truth[FEED] == CELLS:
        return draw_cells(rng, truth, cells, clients, state, sample, size, keeps)
    total = draw_sum(rng, truth, float(clients))
    state[TOTAL] += total
    state[SQUARES] += total  # of use for rewards 0 and 1 only, which are their own squares
    state[REVENUE] += total
    return sample, size
