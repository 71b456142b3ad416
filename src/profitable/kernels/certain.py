"""How far ahead is acceptance certain?  The worst that can still come, and the clients that cannot change a decision.

The worst reward is the smallest one.  Where there is one, no evidence after n more clients exceeds

- the evidence after n clients with the smallest statistic (KL, KL_PLUS, POSTERIOR: it grows with N and falls with S);
- for EMPIRICAL, the evidence now plus log((high - low)/(high - tau)) per client that falls below the threshold;
- for VARIANCE, which is not monotone, ((N + n) tau - S)/(3B).
"""

import math

from profitable.kernels.compile import kernel
from profitable.kernels.law import BINOMIAL, GAMMA, GAUSSIAN, NEGATIVE_BINOMIAL
from profitable.kernels.rule import EMPIRICAL, KL_PLUS, NOTHING, POSTERIOR, VARIANCE, evidence

MOST = 1e19  # clients; no run has more
MARGIN = 1e-6  # a certainty leaves more room than evidence can be rounded by


@kernel
def variance(law: int, p0: float, p1: float, p2: float, mean: float) -> float:
    """The variance of a client's statistic."""
    if law == BINOMIAL:
        return (mean - p0) * (p1 - mean) / p2
    if law == GAMMA:
        return mean * mean / p0
    if law == GAUSSIAN:
        return p0 * p0
    if law == NEGATIVE_BINOMIAL:
        return mean * (1.0 + mean / p0)
    return mean


@kernel
def parabola(clients: float, gap: float, step: float, spread: float, nats: float, below: bool) -> float:
    """n that solves (gap + n step)^2 = 2 nats spread (N + n), beyond the threshold (`below`) or on the safe side of it.

    The normal approximation of "so many more of the worst clients": a guess, which others verify.
    """
    half = spread * nats - gap * step
    inner = half * half - step * step * (gap * gap - 2.0 * spread * nats * clients)
    root = math.sqrt(max(inner, 0.0))
    n = (half + root if below else half - root) / (step * step)
    return n if n < MOST else MOST  # where a square overflowed or vanished, too: then n is not a number


@kernel
def certain_clients(
    rule: int,
    law: int,
    p0: float,
    p1: float,
    p2: float,
    clients: float,
    total: float,
    threshold: float,
    low: float,
    now: float,
    limit: float,
    least: float,
) -> float:
    """Clients that may come, whatever their rewards, while evidence stays at most `limit`; 0 if fewer than `least`.

    `now` is the evidence so far.  Not the largest such number, but a large one found cheaply.
    """
    if threshold <= low:
        return math.inf
    step = threshold - low
    gap = clients * threshold - total
    limit -= MARGIN * (1.0 + limit)
    if rule == VARIANCE:
        return max(0.0, (3.0 * (p1 - p0) * limit - gap) / step * (1.0 - MARGIN))
    if rule == EMPIRICAL:
        growth = math.log((p1 - low) / (p1 - threshold)) if threshold < p1 else math.inf
        free = math.floor(-gap / step * (1.0 - MARGIN)) if gap < 0.0 else 0.0
        return free + max(0.0, limit - now) / growth
    nats = limit
    if rule == KL_PLUS:
        nats -= math.log(clients)
    elif rule == POSTERIOR:
        nats -= 1.5  # -log P(Z > z) is z^2/2 and a little more
    n = 0.9 * parabola(clients, gap, step, variance(law, p0, p1, p2, threshold), max(nats, 0.0), True)
    while n >= least:
        if evidence(rule, law, p0, p1, p2, clients + n, total + n * low, 0.0, NOTHING, NOTHING, threshold) <= limit:
            return n
        n *= 0.5
    return 0.0


@kernel
def safe_clients(
    law: int,
    p0: float,
    p1: float,
    p2: float,
    clients: float,
    total: float,
    threshold: float,
    low: float,
    average: float,
) -> float:
    """Clients that leave a rejection by Thompson sampling unlikely: a guess by the normal approximation."""
    if threshold <= low:
        return math.inf
    step = threshold - low
    gap = clients * threshold - total
    if gap >= 0.0:
        return 0.0
    nats = math.log(1.0 - gap / step / average)  # the more rounds, the less likely each rejection should be
    return parabola(clients, gap, step, variance(law, p0, p1, p2, threshold), nats, False)
