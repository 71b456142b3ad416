"""The block bootstrap of a procedure that learns from rounds and is judged by others.

The rounds are cut into segments, one after the other.  Each segment is filled again
with blocks of its own consecutive rounds, one after the other, until it has as many
rounds as before.  Blocks keep neighbouring rounds together, which often have their luck
in common.  A round never leaves its segment, and no segment changes its length: what is
learnt, and what it is judged by, keep their place in time and their sizes.

Inside a segment, rounds change their places.  If they kept them, rounds that are there
twice would vary like one round of twice the luck.  Then tests that add up periods of
rounds would reject too seldom in a replicate.

A round may be there 0, 1, 2, ... times.  Profits are judged with weights that differ
from 1 a little more than these numbers.  Of n rounds in blocks of b, the numbers give a
sum of profits a variance that is too small by 1 - b / n on average, and the square root
of that is taken out.  Such a weight may be below 0, which does no harm to a sum.  What
is learnt cannot be mended so; that is why blocks are short.

The interval of a gain (`interval`).  Replicates repeat the chances of the past and add
their own, so near the threshold they list other categories than new portfolios would,
and their mean is not the gain.  It is no worse an estimate: it is smoother, and where
many categories are near the threshold, it is biased.  The interval is centred halfway,
which covered best (benchmarks/time_split.py).  It is wider than the replicates as
Student's quantiles are than normal ones (`Blocks.freedom`).  If the luck of rounds
lasts beyond chance (`lasting_luck.py`), it is wider by what blocks cannot show
(`Blocks.widening`).

>>> rounds, weights = Blocks.of([0, 6, 10], length=1).draw(np.random.default_rng(1), 3)
>>> rounds[0].tolist()
[2, 3, 4, 5, 0, 0, 6, 6, 9, 9]
>>> [round(float(each), 9) for each in weights.sum(axis=1)]
[10.0, 10.0, 10.0]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Self

import numpy as np

from profitable.advice.periods import EDGE, quantile
from profitable.common.amounts import Interval
from profitable.common.types import FloatArray, IntArray

FEWEST_BLOCKS = 4  # of a segment
MOST_WIDENING = 3.0
OVERLAP = 1.5  # times what blocks hold that do not overlap


@dataclass(frozen=True)
class Blocks:
    """Segments of rounds, and the length of their blocks."""

    edges: tuple[int, ...]  # 0, ends of the segments, R
    lengths: tuple[int, ...]  # of the blocks of each segment

    @classmethod
    def of(cls, edges: Sequence[int], length: int | None = None) -> Self:
        """Return blocks of a length; unless given, the cube root of the rounds.

        They have at most a quarter of the rounds of their segment, if one can.
        """
        wanted = max(round(edges[-1] ** (1.0 / 3.0)), 1) if length is None else length
        sizes = [b - a for a, b in pairwise(edges)]
        return cls(
            tuple(edges), tuple(max(min(wanted, size // FEWEST_BLOCKS), 1) for size in sizes)
        )

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance of a sum.

        Of n rounds in blocks of b that may start anywhere, there are 3 n / 2 b, less
        one for the mean (Priestley 1981, of Bartlett's window); of single rounds n - 1.
        """
        sizes = [b - a for a, b in pairwise(self.edges)]
        return sum(
            (OVERLAP if length > 1 else 1.0) * size / length - 1.0
            for size, length in zip(sizes, self.lengths, strict=True)
        )

    def widening(self, kept: float) -> float:
        """Return by how much replicates vary too little, if luck lasts.

        The luck of rounds at a distance of d has a correlation of kept^d.  Then the sum
        of all rounds has a larger standard deviation than in replicates, whose segments
        differ less inside, have nothing in common, and have short blocks.  Where luck
        lasts nearly as long as the file, nothing says how much larger it is: it is at
        most 3 times as large here.

        >>> blocks = Blocks.of(range(0, 61, 10))
        >>> blocks.widening(0.0), round(blocks.widening(0.6), 2)
        (1.0, 1.87)
        """
        if kept == 0.0:
            return 1.0
        truth = float(_correlations(self.edges[-1], kept).sum())
        drawn = 0.0
        for size, length in zip(np.diff(self.edges).tolist(), self.lengths, strict=True):
            if size < 2:
                continue
            away = (np.arange(size) - np.arange(size)[:, np.newaxis]) % size
            starts = (away < length) - length / size  # the mean is taken out, [starts, size]
            blocks = starts @ _correlations(size, kept) @ starts.T
            drawn += float(np.trace(blocks)) / length / (1.0 - length / size)
        lack = math.sqrt(truth / drawn) if drawn > 0.0 else 1.0
        return min(max(lack, 1.0), MOST_WIDENING)

    def draw(self, generator: np.random.Generator, replicates: int) -> tuple[IntArray, FloatArray]:
        """Return which round is at each place, from 0, and the weights of profits.

        Both are [B, R]; weights belong to the rounds and not to the places.
        """
        found = np.tile(np.arange(self.edges[-1]), (replicates, 1))
        weights = np.ones(found.shape)
        for (first, last), length in zip(pairwise(self.edges), self.lengths, strict=True):
            size = last - first
            if size < 2:
                continue
            starts = generator.integers(size, size=(replicates, -(-size // length)))
            rounds = (starts[:, :, np.newaxis] + np.arange(length)) % size
            rounds = rounds.reshape(replicates, -1)[:, :size]
            found[:, first:last] = first + rounds
            spread = 1.0 / math.sqrt(1.0 - length / size)
            weights[:, first:last] += spread * (times(rounds, size) - 1)
        return found, weights


def times(rounds: IntArray, size: int) -> IntArray:
    """Return how often each of so many rounds is there, [B, size].

    >>> times(np.array([[0, 0, 2], [1, 2, 0]]), 3).tolist()
    [[2, 0, 1], [1, 1, 1]]
    """
    places = rounds + size * np.arange(len(rounds))[:, np.newaxis]
    return np.bincount(places.ravel(), minlength=len(rounds) * size).reshape(-1, size)


def _correlations(size: int, kept: float) -> FloatArray:
    """Return the correlations of rounds, [size, size]."""
    rounds = np.arange(size)
    return kept ** np.abs(rounds - rounds[:, np.newaxis])


def interval(found: float, values: FloatArray, freedom: float, widening: float = 1.0) -> Interval:
    """Return what was found with its interval, from replicates [B].

    It contains what was found.  `widening` is how many times too little they vary.
    """
    mean = float(values.mean())
    # "weibull": a further replicate lies between them with probability 95 %, however
    # few there are.
    around = np.quantile(values - mean, [EDGE, 1.0 - EDGE], method="weibull")
    student = float(quantile(EDGE, np.array([freedom]))[0])
    wider = widening * student / NormalDist().inv_cdf(EDGE)
    low, high = (0.5 * (found + mean) + wider * around).tolist()
    return Interval(found, min(low, found), max(high, found))
