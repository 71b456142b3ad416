"""BlockSums: what comes home of a block.  These are sums over its runs, never the runs themselves."""

from dataclasses import dataclass
from typing import Self

from profitable.common.types import FloatArray
from profitable.simulation.running_stats import Moments, SmallArray, count_sparsely


@dataclass(frozen=True, slots=True)
class BlockSums:
    """One policy in one block: moments of all columns, and the bins of its regrets that are not empty.

    `bins` are places in the flattened histogram of a curve, and `counts` says how many runs are there.
    """

    moments: Moments
    bins: SmallArray
    counts: SmallArray
    seconds: float

    @classmethod
    def of(cls, rows: FloatArray, regret: slice, unit: float, seconds: float) -> Self:
        """The sums over `rows`, [runs, columns]; `regret` is where the regret is, counted in `unit`."""
        return cls(Moments.of(rows), *count_sparsely(rows[:, regret] / unit), seconds)

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return 6 * self.moments.mean.nbytes + self.bins.nbytes + self.counts.nbytes
