"""The waits of Thompson sampling: rounds in which it rejects a profitable category.

They are summed over all that it may have seen.

Take one client a round, mean 0.3, threshold 0.2.  After n clients with S successes each
round accepts with probability p = P(Beta(S + 1/2, n - S + 1/2) >= 0.2).  So (1 - p)/p
rounds are rejected on average before the next acceptance, and then there are n + 1
clients.  The rejected rounds of all time are the sum over n of E[(1 - p)/p]:

>>> waits = bernoulli_waits(0.3, 0.2, np.ones)
>>> round(waits.mean(), 2), waits.left_out < 1e-4
(57.68, True)

For Bernoulli rewards this sum converges.  For Exponential rewards it does not: cut at
waits of w, it grows with log w.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.special import beta_evidence, gamma_evidence

LEFT_OUT = 1e-4  # rounds; the sum over n stops when the rest is below this
# The logarithm of what a state may add; all states below together add less than 1e-14.
LEAST_LOG = -50.0
LAST_SHARE = 1e-9  # of the sum so far


@dataclass(frozen=True)
class Waits:
    """The possible states of a category when a wait begins.

    `log_weight`: the logarithm of the probability that the state is reached.
    `evidence`: -log of the probability that a round accepts there.  `left_out`: a bound
    on the mean of all waits in states that are not listed; infinite where the sum
    diverges.
    """

    log_weight: FloatArray
    evidence: FloatArray
    left_out: float

    def mean(self, longest: float = math.inf) -> float:
        """Return the mean rejected rounds if no wait is longer than `longest`.

        It is summed over the states.
        """
        reject = -np.expm1(-self.evidence)
        whole = np.exp(self.log_weight + self.evidence) * reject
        if math.isinf(longest):
            return float(whole.sum())
        return float((whole * -np.expm1(longest * self._log_reject())).sum())

    def longer_than(self, wait: float) -> float:
        """Return the mean number of waits of more than so many rounds."""
        return float(np.exp(self.log_weight + (math.floor(wait) + 1.0) * self._log_reject()).sum())

    def _log_reject(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log1p(-np.exp(-self.evidence))


@cache
def bernoulli_waits(mean: float, threshold: float, seen: Callable[[int], FloatArray]) -> Waits:
    """Return all waits for Bernoulli rewards under Jeffreys' prior, for any arrivals.

    `seen(most)` has the probabilities that exactly 0, 1, ..., most - 1 clients have
    come after some round. The n-th term is at most `_largest_term`, which falls like
    sqrt(n) rho^(2n).
    """
    last = 100  # client after which the rest is small
    while _rest(mean, threshold, last) > LEFT_OUT:
        last += 100
    half = np.array([math.lgamma(k + 0.5) for k in range(last + 1)])
    whole = np.array([math.lgamma(k + 1.0) for k in range(last + 1)])
    states: list[tuple[FloatArray, FloatArray]] = []
    for n, chance in enumerate(seen(last + 1).tolist()):
        if n == 0 or chance == 0.0:
            continue
        s = np.arange(n + 1)
        # P(S + 1 successes of n) = P(S successes of n) + a positive step: no digits are
        # lost.
        steps = (
            whole[n]
            + (s[:-1] + 0.5) * math.log(threshold)
            + (n - s[:-1] - 0.5) * math.log1p(-threshold)
        )
        steps -= half[s[1:]] + half[n - s[:-1]]
        first = -beta_evidence(
            0.5, n + 0.5, threshold, 1.0 - threshold, 0.5 - (n + 1.0) * threshold
        )
        accept = np.logaddexp.accumulate(np.concatenate([[first], steps]))
        law = whole[n] - whole[s] - whole[n - s] + s * math.log(mean) + (n - s) * math.log1p(-mean)
        log_weight, evidence = law + math.log(chance), np.maximum(-accept, 0.0)
        matters = log_weight + evidence > LEAST_LOG
        states.append((log_weight[matters], evidence[matters]))
    log_weight, evidence = (np.concatenate(column) for column in zip(*states, strict=True))
    return Waits(log_weight, evidence, _rest(mean, threshold, last))


def _largest_term(mean: float, threshold: float, n: int) -> float:
    """Return a bound on E[(1 - p)/p] after n clients.

    Let L(q) = q^S (1 - q)^(n - S), and let nu lie between threshold and mean.  The
    prior's density is at least 2, so on an interval of half width delta around nu the
    posterior has at least 4 delta exp(average of log L), and below the threshold it has
    the integral of L.  The average is at least log L(nu) - n h, and the mean of
    L(q)/L(nu) over S is (mean q/nu + (1 - mean)(1 - q)/(1 - nu))^n.  That is largest at
    q = threshold, where the best nu makes it rho^(2n).
    """
    root, rest = math.sqrt(mean * threshold), math.sqrt((1.0 - mean) * (1.0 - threshold))
    rho, nu = root + rest, root / (root + rest)
    edge = min(nu, 1.0 - nu)
    width = min(math.sqrt(3.0 / n), 0.5, (nu - threshold) / edge)  # delta/edge
    h = 1.0 - ((1.0 + width) * math.log1p(width) - (1.0 - width) * math.log1p(-width)) / (
        2.0 * width
    )
    return (
        math.asin(math.sqrt(threshold))
        / (2.0 * edge * width)
        * math.exp(n * (h + 2.0 * math.log(rho)))
    )


def _rest(mean: float, threshold: float, last: int) -> float:
    """Return a bound on the sum of all later terms, by a geometric series."""
    one, two = (_largest_term(mean, threshold, n) for n in (last + 1, last + 2))
    return one / (1.0 - two / one) if two < one else math.inf


@cache
def exponential_waits(ratio: float, longest: float) -> Waits:
    """Return all waits for Exponential rewards, one client a round.

    `ratio` is threshold/mean; they are exact up to `longest`.

    After n rewards with sum S, p = P(Gamma(n) <= S/threshold).  The states are the
    points of a quadrature over S.

    >>> waits = exponential_waits(0.5, 1e12)
    >>> round(waits.mean(1e4), 2), round(waits.mean(1e8), 2)
    (12.92, 22.3)
    """
    total = 0.0
    states: list[Waits] = []
    for n in range(1, 400):
        # S/threshold = x has the density of a gamma variable divided by the ratio; the
        # integral is over log x.
        low, high = (
            math.log(n) - 60.0 / n - 10.0 / math.sqrt(n),
            math.log(n / ratio) + 12.0 / math.sqrt(n),
        )
        log_x, step = np.linspace(low, high, 4001, retstep=True)
        x = np.exp(log_x)
        log_density = n * np.log(x * ratio) - x * ratio - math.lgamma(n)
        evidence = np.array([gamma_evidence(float(n), value, value - n, False) for value in x])
        states.append(Waits(log_density + math.log(step), evidence, math.inf))
        term = states[-1].mean(longest)
        total += term
        if term < LAST_SHARE * total:
            break
    return Waits(
        np.concatenate([each.log_weight for each in states]),
        np.concatenate([each.evidence for each in states]),
        math.inf,
    )
