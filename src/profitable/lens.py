"""Lens: what a policy sees of a category, as plain numbers for the kernels.

A policy that knows the family sees the family's own law through its sufficient statistic; a policy for bounded
rewards sees rewards cut into an interval and a law of that interval.  Nothing else differs between the two.
"""

import contextlib
import math
from dataclasses import dataclass, replace

import numpy as np

from profitable.kernels import ledger
from profitable.kernels.law import BINOMIAL, GAUSSIAN, deviance
from profitable.kernels.special import excess
from profitable.types import FloatArray

TINY = 1e-100
LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True)
class Support:
    """The legal rewards: an interval, with its lower edge or without, all numbers or whole ones only."""

    low: float = -math.inf
    high: float = math.inf
    open: bool = False
    whole: bool = False

    def __str__(self) -> str:
        if self.whole and self.high == self.low + 1:
            return f"{self.low:g} or {self.high:g}"
        if self.whole:
            return f"a whole number from {self.low:g} to {self.high:g}" if self.high < math.inf else "0, 1, 2, ..."
        if self.low == -math.inf:
            return "any finite number"
        if self.high == math.inf:
            return f"a finite number {'above' if self.open else 'from'} {self.low:g}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Lens:
    """A law (see `kernels/law.py`), a statistic (see `kernels/ledger.py`), the support, and imaginary clients."""

    law: int
    p0: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    statistic: int = ledger.IDENTITY
    s0: float = 0.0
    s1: float = 0.0
    support: Support = Support()
    prior_clients: float = 0.0
    prior_total: float = 0.0

    @property
    def law_numbers(self) -> tuple[int, float, float, float]:
        """The four leading arguments of the law kernels."""
        return self.law, self.p0, self.p1, self.p2

    def row(self) -> FloatArray:
        """The lens as the kernels read it, [13]."""
        support = self.support
        prior = (self.prior_clients, self.prior_total)
        edges = (support.low, support.high, float(support.open), float(support.whole))
        return np.array([*self.law_numbers, *prior, self.statistic, self.s0, self.s1, *edges], dtype=np.float64)

    @property
    def statistic_range(self) -> tuple[float, float]:
        """The interval in which a client's statistic lies."""
        if self.statistic == ledger.CUT:
            return self.s0, self.s1
        if self.statistic == ledger.IDENTITY:
            return self.support.low, self.support.high
        return 0.0, math.inf

    def can_sum_to(self, clients: float, total: float, scale: float = 0.0) -> bool:
        """Whether the statistics of that many clients can have that sum, up to the rounding of sums of size `scale`."""
        low, high = self.statistic_range
        slack = 1e-9 * (abs(total) + scale)
        return total == 0.0 if clients == 0.0 else clients * low - slack <= total <= clients * high + slack

    def statistic_of_mean(self, mean: float) -> float:
        """The mean of the statistic when rewards have this mean: how thresholds enter the kernels."""
        if self.statistic == ledger.LOG_RATIO:  # Pareto: E log(X/scale) = 1 - scale/mean
            return 1.0 if mean == math.inf else (mean - self.s0) / mean
        if self.statistic == ledger.POWER:  # Weibull: E X^k = (mean / Gamma(1 + 1/k))^k
            with contextlib.suppress(OverflowError):
                return (mean / math.gamma(1.0 + 1.0 / self.s0)) ** self.s0
            return math.inf
        return float(mean)

    def holds_mean(self, mean: float) -> bool:
        """Whether the statistic of a mean inside the domain is an ordinary double."""
        if self.statistic in (ledger.IDENTITY, ledger.CUT) or mean == self.support.low:
            return True
        return TINY < self.statistic_of_mean(mean) < 1.0 / TINY

    def divergence(self, x: float, y: float) -> float:
        """d(x, y) between the laws with mean rewards x and y (eq. 3)."""
        transformed = self.statistic in (ledger.LOG_RATIO, ledger.POWER)
        if not transformed or min(x, y) <= self.support.low:
            return deviance(*self.law_numbers, 1.0, self.statistic_of_mean(x), self.statistic_of_mean(y))
        # From the rewards' own distance: means that are close would lose it in the transformation.
        if self.statistic == ledger.LOG_RATIO:
            ratio = (x - self.s0) * y / (x * (y - self.s0))
            v = self.s0 * (x - y) / (x * (y - self.s0))
        else:
            exponent = self.s0 * (math.log1p((x - y) / y) if x < 2.0 * y else math.log(x / y))
            if exponent > LARGEST_EXPONENT:
                return math.inf
            ratio, v = math.exp(exponent), math.expm1(exponent)
        return self.p0 * excess(v, ratio) if ratio > 0.0 else math.inf

    def mean_of_statistic(self, value: float) -> float:
        """The inverse of `statistic_of_mean`: how means and indices leave the kernels."""
        if self.statistic == ledger.LOG_RATIO:
            return math.inf if value >= 1.0 else self.s0 / (1.0 - value)
        if self.statistic == ledger.POWER:
            return math.inf if value == math.inf else value ** (1.0 / self.s0) * math.gamma(1.0 + 1.0 / self.s0)
        return value

    def reward_of_statistic(self, value: FloatArray) -> FloatArray:
        """The rewards that have these statistics, [M]."""
        if self.statistic == ledger.LOG_RATIO:
            return np.maximum(self.s0 * np.exp(value), math.nextafter(self.s0, math.inf))
        if self.statistic == ledger.POWER:
            return value ** (1.0 / self.s0)
        return value

    def with_prior(self, clients: float, total: float) -> "Lens":
        """The same view after imaginary clients, `total` being the sum of their statistics."""
        return replace(self, prior_clients=clients, prior_total=total)


def bounded_lens(low: float, high: float, support: Support, *, gaussian: bool = False) -> Lens:
    """Rewards cut into [low, high], under the Bernoulli law of that interval or under d_Gauss (section 4.3).

    d_Gauss(x, y) = 2 ((x - y) / B)^2 is the divergence of normal laws with standard deviation B/2.
    """
    cut = ledger.CUT if support.low < low or support.high > high else ledger.IDENTITY
    if gaussian:
        return Lens(GAUSSIAN, (high - low) / 2.0, 0.0, 0.0, cut, low, high, support)
    return Lens(BINOMIAL, low, high, 1.0, cut, low, high, support)
