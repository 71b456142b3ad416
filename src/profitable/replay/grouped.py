"""Grouped: clients added up, by the round of asking, the round in which outcomes were known, category and fold.

A row is a cell: how many clients it has, and the sums that a policy, a rival and the report need of them.  A fold is a
twentieth of the clients, dealt out by their ids.  Resampling folds takes the place of resampling clients.

>>> grouped = Grouped.of(
...     names=("cars",), labels=("1", "2", "3"), folds=20, round=[1, 1, 2], category=[0, 0, 0], known=[3, 1, 2],
...     fold=[0, 7, 7], sums={"number": [2, 3, 1], "total": [1, 3, 0], "profit": [0.5, 2.0, -1.0]},
... )
>>> grouped.known.tolist(), grouped.counts.tolist(), len(grouped), grouped.size
([1, 2, 3], [[5.0], [1.0], [0.0]], 6, 3)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from profitable.agent.added_up import observe_entry, observe_sums
from profitable.agent.agent import Agent
from profitable.agent.distinct_rewards import DistinctRewards
from profitable.agent.ledger import Ledger
from profitable.agent.observation import Entry
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.kernels.batch import Sums
from profitable.kernels.statistic import Cut, Identity, Statistic
from profitable.kernels.view import Support
from profitable.replay.clients import outside
from profitable.replay.crowd import Crowd, Learned, SmallInts

# Places of the numbers of a batch of outcomes (`Sums`).
PLACES = tuple(Sums._fields.index(name) for name in ("clients", "total", "squares", "lent", "lent_squares"))
BY_CLIENT = ("number", "total", "squares", "number", "number")
BY_MONEY = ("number", "money_total", "money_squares", "amount", "amount_squares")


@dataclass(frozen=True, eq=False)
class Histogram:
    """The rewards of cells: values and how often each came (or their money), one cell after the other, [m]."""

    ends: IntArray  # where the values of each cell end, [n]
    values: FloatArray
    counts: FloatArray

    def of(self, rows: IntArray, times: FloatArray) -> DistinctRewards:
        """The distinct values of some cells [m], each there so many times."""
        starts = np.where(rows > 0, self.ends[rows - 1], 0)
        sizes = self.ends[rows] - starts
        before: IntArray = np.cumsum(sizes) - sizes
        place: IntArray = np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
        found = DistinctRewards.of(self.values[place], self.counts[place] * np.repeat(times, sizes))
        kept = found.counts > 0.0
        return DistinctRewards(found.values[kept], found.counts[kept])


def _how(name: str) -> np.ufunc:
    """How a quantity of several cells becomes that of one."""
    return np.fmin if name.startswith("least_") else np.fmax if name.startswith(("most_", "broken")) else np.add


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouped(Crowd):
    """Cells [n], sorted by the round in which outcomes were known, category, round of asking and fold."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    folds: int  # type: ignore[assignment]  # 1 if clients were not dealt into folds
    round: SmallInts
    category: SmallInts
    known: SmallInts
    fold: SmallInts
    sums: Mapping[str, FloatArray] = field(repr=False)
    statistic: Statistic = field(default_factory=Identity)  # what `total` and `squares` are sums of
    histogram: Histogram | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        *,
        names: Sequence[str],
        labels: Sequence[str],
        folds: int,
        round: npt.ArrayLike,
        category: npt.ArrayLike,
        known: npt.ArrayLike,
        fold: npt.ArrayLike,
        sums: Mapping[str, npt.ArrayLike],
        statistic: Statistic | None = None,
    ) -> Self:
        """Cells from arrays in any order; those with the same keys become one."""
        keys: npt.NDArray[np.int32] = np.stack([np.asarray(each, np.int32) for each in (fold, round, category, known)])
        order = np.lexsort(keys)
        keys = keys[:, order]
        starts = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
        sorted_sums = {
            name: _how(name).reduceat(np.asarray(values, np.float64)[order], starts) for name, values in sums.items()
        }
        keys = keys[:, starts]
        return cls(
            names=tuple(names),
            labels=tuple(labels),
            folds=folds,
            fold=keys[0],
            round=keys[1],
            category=keys[2],
            known=keys[3],
            sums=sorted_sums,
            statistic=statistic or Identity(),
        )

    def __len__(self) -> int:
        return int(self.sums["number"].sum())

    @property
    def profit(self) -> FloatArray:  # type: ignore[override]
        """As `Crowd` says."""
        return self.sums["profit"]

    @property
    def amount(self) -> FloatArray | None:  # type: ignore[override]
        """As `Crowd` says."""
        return self.sums.get("amount")

    @property
    def promised(self) -> FloatArray | None:  # type: ignore[override]
        """As `Crowd` says."""
        return self.sums.get("promised")

    # ------------------------------------------------------------------------------------------ added up

    def clients_by_cell(self, times: IntArray | None) -> FloatArray:
        """As `Crowd` says."""
        number = self.sums["number"]
        return self.by_cell(number if times is None else number * times)

    def sum_of(self, name: str) -> FloatArray:
        """As `Crowd` says."""
        return self.sums[name]

    def range_of(self, name: str) -> tuple[float, float]:
        """As `Crowd` says."""
        return float(self.sums[f"least_{name}"].min()), float(self.sums[f"most_{name}"].max())

    def only_whole(self) -> bool:
        """As `Crowd` says."""
        return bool(np.isnan(self.sums["broken"]).all())

    def by_category(self, name: str) -> FloatArray:
        """The sums of a quantity by category, [K]."""
        return np.bincount(self.category, self.sums[name], minlength=len(self.names)).astype(np.float64)

    def moments(self, statistic: Statistic | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `Crowd` says."""
        total, squares = ("reward", "reward_squares") if statistic is None else ("total", "squares")
        counts = self.by_category("number")
        some = np.maximum(counts, 1.0)
        means = self.by_category(total) / some
        return counts, means, np.maximum(self.by_category(squares) / some - means**2, 0.0)

    def illegal(self, support: Support) -> tuple[int, float] | None:
        """As `Crowd` says."""
        for name in ("least_reward", "most_reward", "broken"):
            values = self.sums[name]
            bad = outside(support, values) & ~np.isnan(values)
            if bad.any():
                return int(self.category[bad.argmax()]), float(values[bad.argmax()])
        return None

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        """As `Crowd` says."""
        drawn = generator.multinomial(self.folds, np.full(self.folds, 1.0 / self.folds))
        return drawn.astype(np.int64)[self.fold]

    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        """As `Crowd` says."""
        return (generator.permutation(self.folds) < self.folds // 2)[self.fold]

    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """As `Crowd` says."""
        number = self.by_category("number")
        first, second, third, fourth = (
            self.by_category(name) for name in ("profit", "profit_squares", "profit_cubes", "profit_fourths")
        )
        mean = first / np.maximum(number, 1.0)
        two = second - number * mean**2
        four = fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * number * mean**4
        return number, mean, np.maximum(two, 0.0), np.maximum(four, 0.0)

    def check_policy(self, view_statistic: Statistic, needs_values: bool, policy: str) -> None:
        """InputError if a policy needs of the rewards what was not added up."""
        low, high = self.range_of("reward")
        if isinstance(view_statistic, Cut):
            if low < view_statistic.low or high > view_statistic.high:
                cut = f"[{view_statistic.low:g}, {view_statistic.high:g}]"
                problem = f"cuts rewards into {cut}, and they are {low:g} to {high:g}"
                raise InputError("policies", policy, problem, "give a bound that holds, or replay the rows")
        elif view_statistic.is_reward != self.statistic.is_reward or (
            not view_statistic.is_reward and view_statistic != self.statistic
        ):
            problem = "adds up another statistic of the rewards than these cells do"
            raise InputError("policies", policy, problem, "make the cells with family=, the same as here")
        if needs_values and self.histogram is None and not self._is_zero_or_one():
            problem = "looks at how single rewards are spread, and these cells have sums only"
            raise InputError("policies", policy, problem, "make the cells with bins=200, or leave this policy out")

    def _is_zero_or_one(self) -> bool:
        low, high = self.range_of("reward")
        return low >= 0.0 and high <= 1.0 and self.only_whole() and "amount" not in self.sums

    def tell(self, agent: Agent, learned: Learned) -> None:
        """As `Crowd` says."""
        ledger: Ledger = agent._ledger  # outcomes were checked where they were added up
        part, times = learned.part, learned.times.astype(np.float64)
        rows = np.flatnonzero(times) + part.start
        if not rows.size:
            return
        times = times[rows - part.start]
        key: npt.NDArray[Any] = self.category[rows].astype(np.int64)
        if learned.by_round:
            key = key * (self.rounds + 1) + self.round[rows]
        starts = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])
        batches = np.zeros((starts.size, len(Sums._fields)))
        for place, name in zip(PLACES, BY_MONEY if learned.by_money else BY_CLIENT, strict=True):
            batches[:, place] = np.add.reduceat(self.sums[name][rows] * times, starts)
        positions = self.category[rows[starts]].astype(np.int64)
        if ledger.values is None and ledger.window is None and not learned.by_round:
            observe_sums(ledger, positions, batches)
            return
        stops = [*starts[1:].tolist(), rows.size]
        for start, stop, k, batch in zip(starts.tolist(), stops, positions.tolist(), batches, strict=True):
            values = None if ledger.values is None else self._values(rows[start:stop], times[start:stop])
            asked = int(self.round[rows[start]]) if learned.by_round else None
            observe_entry(ledger, k, Entry(Sums(*batch.tolist()), values), asked)

    def _values(self, rows: IntArray, times: FloatArray) -> DistinctRewards:
        """The distinct rewards of some cells, each there so many times."""
        if self.histogram is not None:
            return self.histogram.of(rows, times)
        ones, number = float(self.sums["total"][rows] @ times), float(self.sums["number"][rows] @ times)
        values, counts = np.array([0.0, 1.0]), np.array([number - ones, ones])
        return DistinctRewards(values[counts > 0.0], counts[counts > 0.0])
