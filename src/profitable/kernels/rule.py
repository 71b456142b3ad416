"""The one inequality: accept while evidence <= patience; and its two inverses, the index and the next round.

A rule is an integer code: which evidence to compute.  The policies of the paper are a rule, a law for it to see
(`kernels/law.py`) and the constants of their patience:

| rule        | evidence                                                     | policies                              |
| ----------- | ------------------------------------------------------------ | ------------------------------------- |
| `KL`        | N d(S/N, tau) if S/N < tau, else 0                           | kl-UCB-4P, kl-Bernoulli-, kl-Gaussian-|
| `KL_PLUS`   | the same + log N                                             | kl-UCB+-4P, kl-Bernoulli-UCB+-4P      |
| `POSTERIOR` | -log P(mean >= tau given the data)                           | Bayes-UCB-4P, TS-4P                   |
| `EMPIRICAL` | N K_inf(empirical law, tau)                                  | KL-Emp-UCB-4P                         |
| `VARIANCE`  | the x that solves m + sqrt(2 v x/N) + 3 B x/N = tau          | UCB-V-4P                              |
"""

import math

import numpy as np

from profitable.kernels.compile import kernel
from profitable.kernels.empirical import empirical_evidence
from profitable.kernels.law import BINOMIAL, against, is_below, mean_high, mean_low, posterior_evidence, shortfall
from profitable.types import FloatArray

KL = 0
KL_PLUS = 1
POSTERIOR = 2
EMPIRICAL = 3
VARIANCE = 4

NOTHING = np.empty(0)  # the values for rules that need none
LAST_ROUND = 10**18  # rounds are 64-bit integers; what lies beyond counts as never


@kernel
def variance_evidence(clients: float, total: float, spread: float, width: float, threshold: float) -> float:
    """UCB-V; `spread` is the sum of squared deviations from the mean, `width` the length B of the rewards' range."""
    if not is_below(clients, total, threshold):
        return 0.0
    gap = shortfall(clients, threshold, total) / clients
    # 3 B s^2 / N + sqrt(2 v / N) s = gap, solved for s = sqrt(x) without cancellation.
    linear = 2.0 * spread / clients / clients
    root = 2.0 * gap / (math.sqrt(linear) + math.sqrt(linear + 12.0 * width * gap / clients))
    return root * root


@kernel
def evidence(
    rule: int,
    law: int,
    p0: float,
    p1: float,
    p2: float,
    clients: float,
    total: float,
    spread: float,
    values: FloatArray,
    counts: FloatArray,
    threshold: float,
) -> float:
    """How strongly, in nats, the data speak against "the mean is at least the threshold"; 0 without data.

    `spread` is used by VARIANCE, `values` [D] and `counts` [D] by EMPIRICAL; the other rules ignore them.
    """
    if rule == POSTERIOR:
        return posterior_evidence(law, p0, p1, p2, clients, total, threshold)
    if clients <= 0.0:
        return 0.0
    if rule == KL:
        return against(law, p0, p1, p2, clients, total, threshold)
    if rule == KL_PLUS:
        nats = against(law, p0, p1, p2, clients, total, threshold)
        return nats + math.log(clients) if is_below(clients, total, threshold) else 0.0
    if rule == VARIANCE:
        return variance_evidence(clients, total, spread, p1 - p0, threshold)
    if not is_below(clients, total, threshold):
        return 0.0
    for value in values:
        if p0 < value < p1:
            return empirical_evidence(values, counts, p1, threshold)
    # Two-point rewards: K_inf is the Bernoulli divergence, and KL-Emp decides exactly as kl-Bernoulli-UCB-4P.
    return against(BINOMIAL, p0, p1, 1.0, clients, total, threshold)


@kernel
def patience(c: float, inflate: float, t: float) -> float:
    """log(inflate t) + c log log t, where log log t means log(max(1, log t)): it never falls."""
    logarithm = math.log(t)
    return math.log(inflate * t) + c * math.log(max(1.0, logarithm))


@kernel
def first_time(c: float, inflate: float, nats: float) -> int:
    """The smallest t >= 1 with patience(t) >= nats, or 0 if there is none up to `LAST_ROUND`."""
    if patience(c, inflate, 1.0) >= nats:
        return 1
    if not patience(c, inflate, LAST_ROUND) >= nats:
        return 0
    # A guess: t = exp(nats - c log log t) / inflate, a few steps towards its fixed point.
    logarithm = nats - math.log(inflate)
    for _ in range(6 if c > 0.0 else 0):
        logarithm = max(nats - math.log(inflate) - c * math.log(max(1.0, logarithm)), 0.0)
    guess = int(min(max(math.exp(logarithm), 2.0), LAST_ROUND))
    # patience() itself is the judge, ceil(exp(nats)) is off by one too often: bracket the answer, then halve.
    step = 1
    if patience(c, inflate, guess) >= nats:
        high = guess
        low = guess - 1
        while low > 1 and patience(c, inflate, low) >= nats:
            high = low
            step *= 2
            low = max(low - step, 1)
    else:
        low = guess
        high = min(guess + 1, LAST_ROUND)
        while patience(c, inflate, high) < nats:
            low = high
            step *= 2
            high = min(high + step, LAST_ROUND)
    while high - low > 1:  # patience(low) < nats <= patience(high)
        middle = (low + high) // 2
        if patience(c, inflate, middle) >= nats:
            high = middle
        else:
            low = middle
    return high


@kernel
def index(
    rule: int,
    law: int,
    p0: float,
    p1: float,
    p2: float,
    clients: float,
    total: float,
    spread: float,
    values: FloatArray,
    counts: FloatArray,
    limit: float,
) -> float:
    """sup of the thresholds whose evidence is at most `limit`: the paper's u_a(t), by bisection to the last bit."""
    edge_low = mean_low(law, p0, p1, p2)
    edge_high = mean_high(law, p0, p1, p2)
    if limit == math.inf or (clients == 0.0 and total == 0.0):
        return edge_high
    if rule == POSTERIOR and limit <= 0.0:
        return edge_low
    start = min(max(total / clients if clients > 0.0 else 0.0, edge_low), edge_high)
    inside = start
    if rule == POSTERIOR:  # a posterior quantile may lie below the mean
        step = max(abs(start), 1.0) * 1e-3
        while (
            inside > edge_low
            and evidence(rule, law, p0, p1, p2, clients, total, spread, values, counts, inside) > limit
        ):
            inside = max(inside - step, edge_low)
            step *= 2.0
    outside = inside
    step = max(abs(inside), 1e-3) * 1e-3
    while True:
        outside = min(outside + step, edge_high)
        if outside == math.inf:
            return edge_high
        if evidence(rule, law, p0, p1, p2, clients, total, spread, values, counts, outside) > limit:
            break
        inside = outside
        if outside >= edge_high:
            return edge_high
        step *= 2.0
    while True:
        middle = 0.5 * (inside + outside)
        if middle <= inside or middle >= outside:
            return inside
        if evidence(rule, law, p0, p1, p2, clients, total, spread, values, counts, middle) <= limit:
            inside = middle
        else:
            outside = middle
