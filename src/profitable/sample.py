"""Sample: the distinct rewards of a category and how often each came; what KL-Emp-UCB-4P remembers."""

from dataclasses import dataclass

import numpy as np

from profitable.types import FloatArray


@dataclass(frozen=True, slots=True)
class Sample:
    """Distinct values [D], increasing, and their counts [D].  Never changed, only replaced."""

    values: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rewards: FloatArray) -> "Sample":
        """The sample of some rewards.

        >>> Sample.of(np.array([2.0, 0.0, 2.0]))
        Sample(values=array([0., 2.]), counts=array([1., 2.]))
        """
        values, counts = np.unique(rewards, return_counts=True)
        return cls(values, counts.astype(np.float64))

    def plus(self, other: "Sample", sign: float = 1.0) -> "Sample":
        """The two together, or with sign -1 this one without the other; values that nobody has are dropped."""
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        weights = np.concatenate([self.counts, sign * other.counts])
        counts = np.bincount(where, weights=weights).astype(np.float64)
        kept = counts != 0.0
        return Sample(values[kept], counts[kept])

    @property
    def nbytes(self) -> int:
        """Memory of the two arrays."""
        return self.values.nbytes + self.counts.nbytes


EMPTY = Sample(np.empty(0), np.empty(0))
