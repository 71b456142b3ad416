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
    def of(cls, rewards: FloatArray, weights: FloatArray | None = None) -> "DistinctRewards":
        """The distinct values among some rewards, with their counts, or with the sums of their weights.

        >>> DistinctRewards.of(np.array([2.0, 0.0, 2.0]))
        DistinctRewards(values=array([0., 2.]), counts=array([1., 2.]))
        """
        if weights is None:
            values, counts = np.unique(rewards, return_counts=True)
            return cls(values, counts.astype(np.float64))
        values, where = np.unique(rewards, return_inverse=True)
        return cls(values, np.bincount(where, weights=weights).astype(np.float64))

    def plus(self, other: "DistinctRewards", sign: float = 1.0, by_money: bool = False) -> "DistinctRewards":
        """Add the counts of `other`, or subtract them with sign -1; values that no longer count are dropped.

        Where counts are amounts of money, that is: what is next to nothing beside the amounts that were there.
        """
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        weights = np.concatenate([self.counts, sign * other.counts])
        counts = np.bincount(where, weights=weights).astype(np.float64)
        least = FORGOTTEN * np.bincount(where, weights=np.abs(weights)) if by_money else FORGOTTEN
        kept = np.abs(counts) >= least
        return DistinctRewards(values[kept], counts[kept])

    def aged(self, weight: float, unit: float = 1.0) -> "DistinctRewards":
        """The same values, each counting for `weight` of what it did; `unit` is what counts as one client."""
        counts = weight * self.counts
        kept = counts >= FORGOTTEN * unit
        return DistinctRewards(self.values[kept], counts[kept])

    @property
    def nbytes(self) -> int:
        """Memory of the two arrays."""
        return self.values.nbytes + self.counts.nbytes


EMPTY = DistinctRewards(np.empty(0), np.empty(0))


def seen_of(rule: Rule, view: View, numbers: Sequence[float], kept: DistinctRewards, carry: float = 0.0) -> Seen:
    """What was seen of a category, from its column of the agent's table; a decision's copy has no carry."""
    clients, total = numbers[Row.CLIENTS] + view.prior_clients, numbers[Row.TOTAL] + view.prior_total
    spread = numbers[Row.SPREAD] if rule.needs_spread else math.nan
    counts = kept.counts
    if view.by_money and counts.size:
        counts = counts * (numbers[Row.CLIENTS] / counts.sum())
    return Seen(clients, total, spread, kept.values, counts, numbers[Row.TAKEN], carry)
