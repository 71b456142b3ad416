"""Arrivals: how many clients of a category come in a stretch of rounds, drawn at once.

| code               | clients in a round            | first  | second |
| ------------------ | ----------------------------- | ------ | ------ |
| `CONSTANT`         | always the same number        | number |        |
| `ONE_PLUS_POISSON` | 1 and a Poisson number        | rate   |        |
| `UNIFORM`          | low to high, all as likely    | low    | high   |
| `LISTED`           | written down, round by round  |        |        |

The Poisson part ("extra") of a stretch is drawn before its rewards are, and split when
the stretch is.

Example: 10 rounds of 1 + Poisson(3).  `draw_extra` draws about 30; with 28 of them
`clients_in` says 38.  Split after round 4, `share_of_extra` gives the first part a
Binomial(28, 0.4) number.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from profitable.common.types import IntArray
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.draw import draw_binomial, draw_poisson

DRAWN_SINGLY = 20  # so many uniform numbers are drawn one by one


class ArrivalsCode(IntEnum):
    """The laws of arrivals."""

    CONSTANT = 0
    ONE_PLUS_POISSON = 1
    UNIFORM = 2
    LISTED = 3


CONSTANT, ONE_PLUS_POISSON, UNIFORM, LISTED = (int(code) for code in ArrivalsCode)


class ArrivalLaw(NamedTuple):
    """A law of arrivals with its numbers.

    Listed counts are a separate argument: `listed` [T + 1] is the number of clients of
    the first 0, 1, 2, ... rounds, and empty for the other laws.
    """

    code: int
    first: float = 0.0
    second: float = 0.0


@kernel
def clients_in(
    rng: np.random.Generator,
    arrivals: ArrivalLaw,
    listed: IntArray,
    t: int,
    rounds: int,
    extra: int,
) -> int:
    """Draw the clients of the rounds t + 1 .. t + rounds.

    `extra` is what Poisson arrivals bring beyond one per round.
    """
    if arrivals.code == ONE_PLUS_POISSON:
        return rounds + extra
    if arrivals.code == CONSTANT:
        return rounds * int(arrivals.first)
    if arrivals.code == LISTED:
        return listed[t + rounds] - listed[t]
    if arrivals.code == UNIFORM:
        low = int(arrivals.first)
        return rounds * low + _uniform_sum(rng, int(arrivals.second) - low + 1, rounds)
    raise ValueError("arrivals of an unknown code")


@lazy
def _uniform_sum(rng: np.random.Generator, width: int, number: int) -> int:
    """Draw the sum of that many uniform numbers from 0 to width - 1."""
    total = 0
    if number <= DRAWN_SINGLY:
        for _ in range(number):
            total += int(rng.integers(0, width))
        return total
    # A number below an even width is a fair bit and a number below half of it.  For an
    # odd width, the numbers that are the largest one are counted first.
    while width > 1:
        if width % 2 == 1:
            hits = rng.binomial(number, 1.0 / width)
            total += hits * (width - 1)
            number -= hits
            width -= 1
        width //= 2
        total += width * rng.binomial(number, 0.5)
    return total


@part
def draw_extra(rng: np.random.Generator, arrivals: ArrivalLaw, rounds: int) -> int:
    """Draw the Poisson part of the arrivals in that many rounds."""
    return (
        int(draw_poisson(rng, rounds * arrivals.first)) if arrivals.code == ONE_PLUS_POISSON else 0
    )


@kernel
def share_of_extra(rng: np.random.Generator, rounds: int, extra: int, first: int) -> int:
    """Draw the part of `extra` that falls into the first of several rounds.

    A Poisson number splits as a binomial.
    """
    if extra == 0:
        return 0
    if 2 * first > rounds:
        return extra - draw_binomial(rng, extra, (rounds - first) / rounds)
    return draw_binomial(rng, extra, first / rounds)


@part
def most_clients(arrivals: ArrivalLaw, listed: IntArray, t: int, rounds: int, extra: int) -> float:
    """Return a bound on the clients of the rounds t + 1 .. t + rounds."""
    if arrivals.code == ONE_PLUS_POISSON:
        return float(rounds) + extra
    if arrivals.code == LISTED:
        return float(listed[t + rounds] - listed[t])
    if arrivals.code == CONSTANT:
        return rounds * arrivals.first
    return rounds * arrivals.second if arrivals.code == UNIFORM else math.inf


@part
def average_clients(arrivals: ArrivalLaw, listed: IntArray) -> float:
    """Return the mean number of clients per round; NaN for an unknown law."""
    if arrivals.code == CONSTANT:
        return arrivals.first
    if arrivals.code == ONE_PLUS_POISSON:
        return 1.0 + arrivals.first
    if arrivals.code == UNIFORM:
        return 0.5 * (arrivals.first + arrivals.second)
    if arrivals.code == LISTED:
        return listed[listed.size - 1] / (listed.size - 1.0)
    return math.nan


@part
def rounds_for(
    arrivals: ArrivalLaw, listed: IntArray, t: int, clients: float, rounds_left: int
) -> int:
    """Return the rounds to try when that many clients may come: at least one."""
    if arrivals.code == LISTED:
        low = 1
        high = rounds_left
        while low < high:
            middle = (low + high + 1) // 2
            if listed[t + middle] - listed[t] <= clients:
                low = middle
            else:
                high = middle - 1
        return low
    rounds = clients / most_clients(arrivals, listed, t, 1, 0)
    if arrivals.code == ONE_PLUS_POISSON:
        # In r rounds their number has mean r (1 + rate) and variance r rate: two
        # standard deviations of room.
        mean = 1.0 + arrivals.first
        root = (math.sqrt(mean - 1.0 + mean * min(clients, 1e18)) - math.sqrt(mean - 1.0)) / mean
        rounds = root * root
    return int(min(max(rounds, 1.0), float(rounds_left)))
