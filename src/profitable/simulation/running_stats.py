"""Statistics that grow with the runs: mean, squared deviations, extremes, and a histogram for quantiles.

Blocks of runs are always added in the same order, so that the numbers do not depend on which worker was first.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from profitable.common.types import FloatArray, IntArray

# Histogram of positive numbers: bins of equal ratio, so that a quantile is right to within half of BIN_WIDTH.
BIN_WIDTH = 0.01
FIRST_BIN = 1e-12
BINS = 8192  # up to FIRST_BIN * 1.01^8191 = 2.5e23


@dataclass
class Moments:
    """Mean and squared deviations of L quantities over runs, with their extremes, all [L]."""

    runs: int
    mean: FloatArray
    squares: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def empty(cls, size: int) -> Self:
        """Moments of no runs."""
        return cls(0, np.zeros(size), np.zeros(size), np.full(size, np.inf), np.full(size, -np.inf))

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Moments of the runs in `values`, [runs, L]."""
        base = values[0]  # subtracted first, for huge numbers that differ little
        mean = base + (values - base).mean(axis=0)
        return cls(len(values), mean, ((values - mean) ** 2).sum(axis=0), values.min(axis=0), values.max(axis=0))

    def add(self, other: "Moments") -> None:
        """Add the runs of `other` (Chan, Golub and LeVeque's update)."""
        both = self.runs + other.runs
        step = other.mean - self.mean
        self.mean = self.mean + step * (other.runs / both)
        self.squares = self.squares + other.squares + step**2 * (self.runs * other.runs / both)
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self.runs = both

    def stderr(self) -> FloatArray:
        """Standard errors of the means, [L]; NaN for a single run."""
        if self.runs < 2:
            return np.full(self.mean.shape, np.nan)
        return np.sqrt(self.squares / (self.runs - 1.0) / self.runs)


def bins_of(values: FloatArray) -> IntArray:
    """The histogram bin of each number >= 0; bin 0 is for zeros."""
    with np.errstate(divide="ignore"):
        place = np.floor(np.log(values / FIRST_BIN) / np.log1p(BIN_WIDTH))
    return np.clip(np.nan_to_num(place, neginf=-1.0), -1.0, BINS - 2.0).astype(np.int64) + 1


def new_histogram(columns: int) -> IntArray:
    """Empty bins for that many quantities, [L, BINS]."""
    return np.zeros((columns, BINS), dtype=np.int64)


def count_into(counts: IntArray, values: FloatArray) -> None:
    """Add [runs, L] numbers to the bins."""
    bins = bins_of(values)
    columns: IntArray = np.arange(values.shape[1], dtype=np.int64)
    np.add.at(counts, (np.broadcast_to(columns, bins.shape), bins), 1)


def quantile(counts: IntArray, low: FloatArray, high: FloatArray, share: float) -> FloatArray:
    """The smallest number with at least that share of the runs at or below it, for each of the L columns.

    >>> values = np.array([[1.0], [2.0], [3.0], [4.0], [500.0]])
    >>> counts = new_histogram(1)
    >>> count_into(counts, values)
    >>> quantile(counts, values.min(axis=0), values.max(axis=0), 0.5).round(1)
    array([3.])
    """
    below = counts.cumsum(axis=1)
    needed = np.ceil(share * below[:, -1] - 1e-9).clip(1)
    place = (below < needed[:, None]).sum(axis=1)
    middle = FIRST_BIN * np.exp((place - 0.5) * np.log1p(BIN_WIDTH))
    return np.clip(np.where(place == 0, 0.0, middle), low, high)
