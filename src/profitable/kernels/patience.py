"""Patience: how many nats of evidence round t + 1 tolerates, and the first round that tolerates a given evidence.

    patience(t) = log(inflate t) + c log log t,    where log log t means log(max(1, log t))

so that patience never falls.  A policy that draws (Thompson sampling) has an Exp(1) draw instead, one for each
category and round.

Example: with c = 0 and inflate = 1, an evidence of 2 nats is tolerated from patience(8) = log 8 = 2.079 on.  The
smallest such t is `first_time(patience, 2.0)` = 8, and round 9 accepts.
"""

import math
from typing import NamedTuple

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.compile import kernel, part

LAST_ROUND = 10**18  # rounds are 64-bit integers; what lies beyond counts as never


class Patience(NamedTuple):
    """The constants of a policy's patience, or that it is drawn."""

    c: float = 0.0
    inflate: float = 1.0
    draws: bool = False


@kernel
def patience_of(c: float, inflate: float, t: float) -> float:
    """Nats tolerated in round t + 1; plain numbers, for every decision asks for it."""
    return math.log(inflate * t) + c * math.log(max(1.0, math.log(t)))


@part
def patience_at(patience: Patience, t: float) -> float:
    """The same."""
    return patience_of(patience.c, patience.inflate, t)


@part
def first_time(patience: Patience, nats: float) -> int:
    """The smallest t >= 1 with patience(t) >= nats, or 0 if there is none up to `LAST_ROUND`."""
    if patience_at(patience, 1.0) >= nats:
        return 1
    if not patience_at(patience, float(LAST_ROUND)) >= nats:
        return 0
    guess = _guess(patience, nats)
    # ceil(exp(nats)) is off by one too often, so patience itself decides: bracket the answer, then halve.
    step = 1
    if patience_at(patience, float(guess)) >= nats:
        high = guess
        low = guess - 1
        while low > 1 and patience_at(patience, float(low)) >= nats:
            high = low
            step *= 2
            low = max(low - step, 1)
    else:
        low = guess
        high = min(guess + 1, LAST_ROUND)
        while patience_at(patience, float(high)) < nats:
            low = high
            step *= 2
            high = min(high + step, LAST_ROUND)
    while high - low > 1:  # patience(low) < nats <= patience(high)
        middle = (low + high) // 2
        if patience_at(patience, float(middle)) >= nats:
            high = middle
        else:
            low = middle
    return high


@kernel
def first_times(patience: Patience, nats: FloatArray, out: IntArray) -> None:
    """`first_time` for each of several numbers of nats, [M]."""
    for i in range(nats.size):
        out[i] = first_time(patience, nats[i])


@part
def _guess(patience: Patience, nats: float) -> int:
    """t = exp(nats - c log log t) / inflate, by a few steps towards its fixed point."""
    logarithm = nats - math.log(patience.inflate)
    for _ in range(6 if patience.c > 0.0 else 0):
        logarithm = max(nats - math.log(patience.inflate) - patience.c * math.log(max(1.0, logarithm)), 0.0)
    return int(min(max(math.exp(logarithm), 2.0), LAST_ROUND))
