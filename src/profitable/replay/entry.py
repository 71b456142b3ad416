"""Entry: what one policy or rival would have earned, how sure that is, and a plain sentence about it."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from profitable.common.types import BoolArray, FloatArray
from profitable.replay.off_policy import OffPolicy

POLICY, RIVAL = "policy", "rival"
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A number with an interval that should cover it in 95 % of all cases."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Shuffled:
    """The difference to accepting all when the clients come in an order drawn by lot, and its standard error."""

    difference: float
    error: float


@dataclass(frozen=True, eq=False)
class Entry:
    """One policy or rival over the past clients."""

    name: str
    kind: str
    earned: FloatArray  # by round and category, [R, K]; the mean of the seeds
    everybody: FloatArray  # what accepting all earned, [R, K]
    clients: float  # accepted clients, the mean of the seeds
    seeds: int = 1
    seed_error: float | None = None  # of the profit, over seeds
    resampled: FloatArray = field(default_factory=lambda: np.empty((0, 0)))  # differences by round, [B, R]
    accepted: FloatArray | None = None  # the share of the seeds that accepts a cell, [R, K]
    evidence: FloatArray | None = None  # of the first seed, [R, K]
    patience: FloatArray | None = None
    decided: BoolArray | None = None  # by the first seed, [R, K]
    shuffled: Shuffled | None = None
    off_policy: OffPolicy | None = None

    @property
    def refusal(self) -> str | None:
        """Why there is no number, if there is none."""
        return None if self.off_policy is None else self.off_policy.refusal

    @property
    def profit(self) -> float:
        """What it would have earned."""
        return float(self.earned.sum())

    @property
    def difference(self) -> Interval:
        """What it would have earned more than accepting all."""
        middle = self.profit - float(self.everybody.sum())
        low, high = self._interval(self.resampled.sum(axis=1)) if self.resampled.size else (math.nan, math.nan)
        return Interval(middle, low, high)

    @property
    def spread(self) -> float:
        """The standard deviation of the difference over new portfolios of the same law."""
        return float(self._scaled(self.resampled.sum(axis=1)).std(ddof=1)) if self.resampled.shape[0] > 1 else math.nan

    def less(self, other: "Entry") -> tuple[float, float]:
        """The interval of what it earned more than another entry, in the same bootstrap portfolios."""
        low, high = self._interval((self.resampled - other.resampled).sum(axis=1))
        return float(low), float(high)

    def over_time(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The difference up to each round, and its interval, [R] each."""
        middle = np.cumsum((self.earned - self.everybody).sum(axis=1))
        if not self.resampled.size:
            nothing = np.full(middle.size, math.nan)
            return middle, nothing, nothing
        low, high = self._interval(np.cumsum(self.resampled, axis=1))
        return middle, low, high

    def _interval(self, values: FloatArray) -> Any:
        edge = (1.0 - LEVEL) / 2.0
        return np.quantile(self._scaled(values), [edge, 1.0 - edge], axis=0)

    @cached_property
    def _share(self) -> float:
        """The share of the spread of replicates that counts: each has one seed, and the entry is a mean of several.

        The variance of a replicate is that of the clients and that of a seed.
        """
        if self.seed_error is None or self.seeds < 2 or self.resampled.shape[0] < 2:
            return 1.0
        total = float(self.resampled.sum(axis=1).var(ddof=1))
        one = self.seed_error**2 * self.seeds
        less = one * (1.0 - 1.0 / self.seeds)
        return math.sqrt(max(1.0 - less / total, 1.0 / self.seeds)) if total > less else math.sqrt(1.0 / self.seeds)

    def _scaled(self, values: FloatArray) -> FloatArray:
        """Replicates [B, ...], as near to their mean as the luck of a seed allows."""
        if self._share == 1.0:
            return values
        middle = values.mean(axis=0)
        return middle + self._share * (values - middle)

    def sentence(self) -> str:
        """What came out, in plain words."""
        if self.refusal is not None:
            return f"{self.name}: refused. {self.refusal}"
        found = self.difference
        if found.middle == 0.0 and not (found.low < 0.0 or found.high > 0.0):
            return f"{self.name} earned as much as accepting everybody."
        way = "more" if found.middle >= 0.0 else "less"
        largest = max(abs(found.middle), abs(found.low), abs(found.high))
        (unit, word), digits = _unit(largest), _digits(largest)
        size = f"{abs(found.middle) / unit:.{digits}f}{word}"
        sign = 1.0 if way == "more" else -1.0
        low, high = (f"{edge / unit:z.{digits}f}" for edge in sorted((sign * found.low, sign * found.high)))
        span = "" if math.isnan(found.low) else f" (95 %: {low} to {high}{word})"
        return f"{self.name} earned {size} {way} than accepting everybody{span}."


def _unit(size: float) -> tuple[float, str]:
    if not math.isfinite(size) or size < 1e4:
        return 1.0, ""
    return (1e6, " M") if size >= 1e6 else (1e3, " k")


def _digits(size: float) -> int:
    """After the point: one, two for millions, and as many as two figures need below 1."""
    if not math.isfinite(size) or size == 0.0 or 1.0 <= size < 1e6:
        return 1
    return 2 if size >= 1e6 else 1 + min(math.ceil(-math.log10(size)), 12)


def in_short(value: float) -> str:
    """Money in few digits.

    >>> in_short(13_950_706), in_short(-5_321), in_short(12.34), in_short(0.0314)
    ('13.95 M', '-5 321.0', '12.3', '0.031')
    """
    unit, word = _unit(abs(value))
    return f"{value / unit:,.{_digits(abs(value))}f}{word}".replace(",", " ")
