"""The distinct rewards of a category and how often each came.  Only policies whose rule needs them keep them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.agent_table import FORGOTTEN, Row
from profitable.kernels.evidence import Rule, Seen
from profitable.model.view import View


@dataclass(frozen=True, slots=True)
class DistinctRewards:
    """Distinct values [D], increasing, and their counts [D].  Never changed, only replaced."""

    values: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rewards: FloatArray) -> "DistinctRewards":
        """The distinct values among some rewards, with their counts.

        >>> DistinctRewards.of(np.array([2.0, 0.0, 2.0]))
        DistinctRewards(values=array([0., 2.]), counts=array([1., 2.]))
        """
        values, counts = np.unique(rewards, return_counts=True)
        return cls(values, counts.astype(np.float64))

    def plus(self, other: "DistinctRewards", sign: float = 1.0) -> "DistinctRewards":
        """Add the counts of `other`, or subtract them with sign -1; values that no longer count are dropped."""
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        weights = np.concatenate([self.counts, sign * other.counts])
        counts = np.bincount(where, weights=weights).astype(np.float64)
        kept = np.abs(counts) >= FORGOTTEN
        return DistinctRewards(values[kept], counts[kept])

    def aged(self, weight: float) -> "DistinctRewards":
        """The same values, each counting for `weight` of what it did."""
        counts = weight * self.counts
        kept = counts >= FORGOTTEN
        return DistinctRewards(self.values[kept], counts[kept])

    @property
    def nbytes(self) -> int:
        """Memory of the two arrays."""
        return self.values.nbytes + self.counts.nbytes


EMPTY = DistinctRewards(np.empty(0), np.empty(0))


def seen_of(rule: Rule, view: View, numbers: Sequence[float], kept: DistinctRewards) -> Seen:
    """What was seen of a category, from its column of the agent's table."""
    clients, total = numbers[Row.CLIENTS] + view.prior_clients, numbers[Row.TOTAL] + view.prior_total
    spread = numbers[Row.SPREAD] if rule.needs_spread else math.nan
    return Seen(clients, total, spread, kept.values, kept.counts)
