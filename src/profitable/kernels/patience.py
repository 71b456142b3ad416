"""Patience: the nats of evidence that round t + 1 tolerates.

There are three kinds:

- `TIME`: log(inflate t) + c log log t, where log log t means log(max(1, log t)), so
  that it never falls;
- `DRAWN` (Thompson sampling): an Exp(1) draw, one for each category and round;
- `AHEAD` (the optimal policy): what finding out is worth while M clients are expected
  to come and N are known.  With s = 1 + M/N it is max(log 2, log((s + 3 + 2 sqrt(log s
  (1 + log s)))/2) - log risk); docs/optimal.md says why.

Patience is a function of the category's own numbers: t, the known clients N, and the
clients per round.  `TIME` needs only the first of them.  In round 1 the first two kinds
tolerate everything.

A new kind is a code below and one branch in `patience_at`.  Everything else asks that
function.  Patience is never negative, and it never rises after it has fallen:
`first_time` halves intervals of time.  Where it never falls, a branch in
`least_patience` says so, and many rounds are simulated at once.  A kind that is not
known gives NaN.

Where outcomes are forgotten, patience counts no more rounds than are remembered
(`clock`).  Else log t would grow while the evidence cannot, and in the end nearly
everything would be accepted.

Example: with c = 0 and inflate = 1, an evidence of 2 nats is tolerated from patience(8)
= log 8 = 2.079 on.  The smallest such t is `first_time(Patience(TIME), 2.0, ...)` = 8,
and round 9 accepts.

>>> first_time(Patience(TIME), 2.0, 1, 5.0, 1.0)
8
>>> ahead = Patience(AHEAD, rounds=1000.0, growth=-1.0)  # a horizon of 1000 rounds
>>> known, t = 10.0, 10.0
>>> # s = 100: 2/(103 + 2 sqrt(4.605 * 5.605))
>>> round(math.exp(-patience_at(ahead, t, known, 1.0)), 4)
0.0177
"""

import math
from typing import NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.compile import kernel, part

LAST_ROUND = 10**18  # rounds are 64-bit integers; later ones count as never
TIME, DRAWN, AHEAD = 0, 1, 2
WHOLE_POWERS = np.exp(np.arange(40.0)) * (1.0 + 1e-9)  # which rounding cannot reach
EVEN_ODDS = math.log(2.0)  # the evidence of a category that is as likely profitable as not


class Patience(NamedTuple):
    """The terms of a policy's patience."""

    kind: int
    c: float = 0.0  # TIME
    inflate: float = 1.0
    rounds: float = 0.0  # AHEAD: rounds + growth t rounds are expected to come
    growth: float = 0.0
    risk: float = 1.0
    clients: float = 0.0  # in a round; 0 means: as many as came so far
    forget: float = 1.0  # the weight of a round's outcomes after one more round
    window: float = math.inf  # rounds whose outcomes count
    # The probability with which a category is accepted although patience does not
    # suffice.
    floor: float = 0.0
    most: float = math.inf  # nats; what a policy knows of a lending book says no more


@part
def patience_in(row: FloatArray) -> Patience:
    """Return the patience that was written as an array of numbers."""
    return Patience(
        int(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10]
    )


@kernel
def patience_of(c: float, inflate: float, t: float) -> float:
    """Return the nats tolerated in round t + 1 by a policy that knows only the time."""
    nats = math.log(inflate * t)
    return nats + c * math.log(max(1.0, math.log(t))) if c != 0.0 else nats


@part
def clients_per_round(patience: Patience, came: float, rounds: float) -> float:
    """Return the clients per round: given, else the average so far, else 1."""
    if patience.clients > 0.0:
        return patience.clients
    return came / rounds if came > 0.0 and rounds > 0.0 else 1.0


@part
def clock(patience: Patience, t: float) -> float:
    """Return the rounds remembered after t rounds, weighted like their outcomes.

    It is t if nothing is forgotten.

    >>> [round(clock(Patience(TIME, forget=0.97), t), 3) for t in (1.0, 2.0, 1e6)]
    [1.0, 1.97, 33.333]
    """
    if patience.forget < 1.0:
        return -math.expm1(t * math.log(patience.forget)) / (1.0 - patience.forget)
    return min(t, patience.window)


@part
def rounds_ahead(patience: Patience, t: float) -> float:
    """Return the rounds expected after round t; no more than are remembered."""
    if patience.growth > 0.0:
        return patience.rounds + patience.growth * clock(patience, t)
    return min(max(0.0, patience.rounds + patience.growth * t), clock(patience, math.inf))


@part
def _added(s: float) -> float:
    """Return 2/P - s; P is the posterior probability on the free boundary.

    The boundary is that of the one-armed bandit.

    P is at most 3.2 % off for s up to 10^6 (benchmarks/free_boundary.py).
    """
    log = math.log(s)
    return 3.0 + 2.0 * math.sqrt(log * (1.0 + log))


@part
def worth_finding_out(ratio: float, risk: float) -> float:
    """Return the nats tolerated if `ratio` times the known clients are to come."""
    s = 1.0 + ratio
    return max(EVEN_ODDS, math.log(0.5 * (s + _added(s))) - math.log(risk))


@part
def is_surely_worth(ratio: float, risk: float, nats: float) -> bool:
    """Return whether `worth_finding_out` surely exceeds `nats`; False if not sure.

    Of the sum whose logarithm that is, the root is left out, and exp(nats) is rounded
    up to a whole power of e: no logarithm is needed.
    """
    if nats <= EVEN_ODDS:
        return True
    return nats < WHOLE_POWERS.size - 1 and 2.0 * risk * WHOLE_POWERS[int(nats) + 1] < 4.0 + ratio


@part
def patience_for(patience: Patience, ahead: float, known: float) -> float:
    """Return the nats that `AHEAD` tolerates while so many clients are expected."""
    if known <= 0.0:
        return math.inf
    return min(worth_finding_out(ahead / known, patience.risk), patience.most)


@part
def patience_at(patience: Patience, t: float, known: float, per_round: float) -> float:
    """Return the nats tolerated in round t + 1 with `known` clients, prior included."""
    if patience.kind == TIME and t > 0.0:
        return min(patience_of(patience.c, patience.inflate, clock(patience, t)), patience.most)
    if patience.kind == AHEAD:
        return patience_for(patience, per_round * rounds_ahead(patience, t), known)
    if t <= 0.0 or patience.kind == DRAWN:
        return math.inf
    return math.nan


@part
def least_patience(
    patience: Patience,
    t: float,
    known: float,
    came: float,
    accepted: float,
    rounds: float,
    clients: float,
) -> float:
    """Return a lower bound on patience in the next `rounds` rounds, all accepted.

    They bring up to `clients`.

    `came` clients came in `accepted` rounds so far; before the first of them nothing is
    certain.  What is ahead is linear in time, and clients per round and known client
    are monotone in the clients that come.  So the corners decide.  Of a kind that does
    not say here how far it falls, nothing is certain.
    """
    if patience.kind != AHEAD:
        return patience_at(patience, t, known, 1.0) if patience.kind == TIME else 0.0
    if known <= 0.0 or came <= 0.0:
        return 0.0
    ahead = min(rounds_ahead(patience, t), rounds_ahead(patience, t + rounds))
    late = clients_per_round(patience, came + clients, accepted + rounds) / (known + clients)
    early = clients_per_round(patience, came, accepted + rounds) / known
    return worth_finding_out(ahead * min(early, late), patience.risk)


@part
def first_time(patience: Patience, nats: float, now: int, known: float, per_round: float) -> int:
    """Return the smallest t >= max(now, 1) with patience(t) >= nats.

    Nothing else changes until then.

    It is 0 if there is none up to `LAST_ROUND`.
    """
    now = max(now, 1)
    if patience.kind == DRAWN:
        return now if nats < math.inf else 0
    if patience_at(patience, float(now), known, per_round) >= nats:
        return now
    if not patience_at(patience, float(LAST_ROUND), known, per_round) >= nats:
        return 0
    # exp(nats) rounded up is off by one too often, so patience itself decides: bracket
    # the answer, then halve.
    low, high = now, min(max(_guess(patience, nats, known, per_round), now + 1), LAST_ROUND)
    step = 1
    if patience_at(patience, float(high), known, per_round) >= nats:
        while (
            high - step > low
            and patience_at(patience, float(high - step), known, per_round) >= nats
        ):
            high -= step
            step *= 2
        low = max(low, high - step)
    else:
        while not patience_at(patience, float(high), known, per_round) >= nats:
            low = high
            high = min(high + step, LAST_ROUND)
            step *= 2
    while high - low > 1:  # patience(low) < nats <= patience(high)
        middle = (low + high) // 2
        if patience_at(patience, float(middle), known, per_round) >= nats:
            high = middle
        else:
            low = middle
    return high


@kernel
def first_times(
    patience: Patience,
    nats: FloatArray,
    now: int,
    known: FloatArray,
    per_round: FloatArray,
    out: IntArray,
) -> None:
    """Fill `out` with `first_time` for each of several categories, [M]."""
    for i in range(nats.size):
        out[i] = first_time(patience, nats[i], now, known[i], per_round[i])


@part
def _guess(patience: Patience, nats: float, known: float, per_round: float) -> int:
    """Return about the t with patience(t) = nats, by a few fixed-point steps."""
    if patience.kind == AHEAD:
        target = 2.0 * math.exp(min(nats, 100.0)) * patience.risk
        s = max(target, 1.0)
        for _ in range(6):
            s = max(target - _added(s), 1.0)
        t = ((s - 1.0) * known / per_round - patience.rounds) / patience.growth
    else:
        logarithm = nats - math.log(patience.inflate)
        for _ in range(6 if patience.c > 0.0 else 0):
            logarithm = max(
                nats - math.log(patience.inflate) - patience.c * math.log(max(1.0, logarithm)), 0.0
            )
        t = math.exp(min(logarithm, 100.0))
    return int(min(max(t, 2.0), LAST_ROUND))
