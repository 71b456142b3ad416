"""Cells: past clients aggregated by rounds of asking and knowing, category and fold.

A row is a cell: how many clients it has, and the sums that a policy, a baseline and the
report need of them.  A fold is a twentieth of the clients, assigned by their ids.
Resampling folds takes the place of resampling clients.

>>> grouped = GroupedClients.of(
...     names=("cars",), labels=("1", "2", "3"), folds=20, round=[1, 1, 2],
...     category=[0, 0, 0], known=[3, 1, 2], fold=[0, 7, 7],
...     sums={"number": [2, 3, 1], "total": [1, 3, 0], "profit": [0.5, 2.0, -1.0]},
... )
>>> grouped.known.tolist(), grouped.counts.tolist(), len(grouped), grouped.size
([1, 2, 3], [[5.0], [1.0], [0.0]], 6, 3)

`Cells` are such clients with their past.  `profitable.backtest.cells` makes them
(`aggregate.py`).  They can be saved to a Parquet file, and a backtest takes them in
place of rows.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from profitable.agent.agent import Agent
from profitable.agent.observation import Bookings, DistinctRewards
from profitable.common.files import as_path
from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError, NotSavedError
from profitable.kernels.batch import Sums
from profitable.kernels.coded_view import Support
from profitable.kernels.statistic import Cut, Identity, Statistic
from profitable.model.families import Family
from profitable.past.cell_options import written_family
from profitable.past.layout import Layout
from profitable.past.past import LeftOut, Past, PastClients, SmallInts, outside
from profitable.past.source import pa, parquet

FORMAT = 1
KEY = b"profitable cells"
KEYS = ("fold", "round", "category", "known")  # cells are sorted by the last of them first
# Fields of a past that are stored as they are.
PAST_FIELDS = ("source", "rows", "round", "notes", "warnings")
# Places of the numbers of a batch of outcomes (`Sums`).
PLACES = tuple(
    Sums._fields.index(name) for name in ("clients", "total", "squares", "lent", "lent_squares")
)
# How quantities of several cells are merged that are not added up.
MERGES = {"least": np.fmin, "most": np.fmax, "broken": np.fmax}
BY_CLIENT = ("number", "total", "squares", "number", "number")
BY_MONEY = ("number", "money_total", "money_squares", "amount", "amount_squares")


@dataclass(frozen=True, eq=False)
class Histogram:
    """Rewards of cells with their counts (or money), one cell after the other, [m]."""

    ends: IntArray  # where the values of each cell end, [n]
    values: FloatArray
    counts: FloatArray

    def of(self, rows: IntArray, times: FloatArray) -> DistinctRewards:
        """Return the distinct values of some cells [m], each counted so many times."""
        starts = np.where(rows > 0, self.ends[rows - 1], 0)
        sizes = self.ends[rows] - starts
        before: IntArray = np.cumsum(sizes) - sizes
        place: IntArray = np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
        found = DistinctRewards.of(self.values[place], self.counts[place] * np.repeat(times, sizes))
        kept = found.counts > 0.0
        return DistinctRewards(found.values[kept], found.counts[kept])


def new_cells(keys: npt.NDArray[Any]) -> BoolArray:
    """Mark where a cell begins, [n], in sorted keys [4, n]."""
    return np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)])


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedClients(PastClients):
    """Cells [n], sorted by known round, category, round of asking and fold."""

    folds: int  # type: ignore[assignment]  # 1 if clients have no folds
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
        sums: Mapping[str, npt.ArrayLike],
        statistic: Statistic | None = None,
        **given: npt.ArrayLike,
    ) -> Self:
        """Cells from arrays in any order; those with the same `KEYS` become one."""
        keys = np.stack([np.asarray(given[name], np.int32) for name in KEYS])
        order = np.lexsort(keys)
        keys = keys[:, order]
        starts = np.flatnonzero(new_cells(keys))
        merged = {
            name: MERGES.get(name.partition("_")[0], np.add).reduceat(
                np.asarray(values, np.float64)[order], starts
            )
            for name, values in sums.items()
        }
        return cls(
            names=tuple(names),
            labels=tuple(labels),
            folds=folds,
            sums=merged,
            number=merged["number"],
            profit=merged["profit"],
            amount=merged.get("amount"),
            promised=merged.get("promised"),
            statistic=statistic or Identity(),
            **dict(zip(KEYS, keys[:, starts], strict=True)),
        )

    # ------------------------------------------------------------------------- added up

    def sum_of(self, name: str) -> FloatArray:
        return self.sums[name]

    def range_of(self, name: str) -> tuple[float, float]:
        return float(self.sums[f"least_{name}"].min()), float(self.sums[f"most_{name}"].max())

    def only_whole(self) -> bool:
        return bool(np.isnan(self.sums["broken"]).all())

    def moments(
        self, statistic: Statistic | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        total, squares = ("reward", "reward_squares") if statistic is None else ("total", "squares")
        counts = self.by_category("number")
        some = np.maximum(counts, 1.0)
        means = self.by_category(total) / some
        return counts, means, np.maximum(self.by_category(squares) / some - means**2, 0.0)

    def illegal(self, support: Support) -> tuple[int, float] | None:
        for name in ("least_reward", "most_reward", "broken"):
            values = self.sums[name]
            bad = outside(support, values) & ~np.isnan(values)
            if bad.any():
                return int(self.category[bad.argmax()]), float(values[bad.argmax()])
        return None

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        drawn = generator.multinomial(self.folds, np.full(self.folds, 1.0 / self.folds))
        return drawn.astype(np.int64)[self.fold]

    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        return (generator.permutation(self.folds) < self.folds // 2)[self.fold]

    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        number = self.by_category("number")
        first, second, third, fourth = (
            self.by_category(name)
            for name in ("profit", "profit_squares", "profit_cubes", "profit_fourths")
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
                raise InputError(
                    "policies",
                    policy,
                    f"cuts rewards into {cut}, and they are {low:g} to {high:g}",
                    "give a bound that holds, or replay the rows",
                )
        elif view_statistic.is_reward != self.statistic.is_reward or (
            not view_statistic.is_reward and view_statistic != self.statistic
        ):
            raise InputError(
                "policies",
                policy,
                "adds up another statistic of the rewards than these cells do",
                "make the cells with family=, the same as here",
            )
        # Sums say all about rewards of 0 and 1 that weigh the same.
        is_plain = low >= 0.0 and high <= 1.0 and self.only_whole() and "amount" not in self.sums
        if needs_values and self.histogram is None and not is_plain:
            raise InputError(
                "policies",
                policy,
                "looks at how single rewards are spread, and these cells have sums only",
                "make the cells with bins=200, or leave this policy out",
            )

    def tell(
        self,
        agent: Agent,
        part: slice,
        times: npt.NDArray[Any],
        *,
        by_money: bool,
        by_round: bool,
    ) -> None:
        ledger = agent.ledger  # outcomes were checked where they were added up
        rows = np.flatnonzero(times) + part.start
        if not rows.size:
            return
        times = times[rows - part.start].astype(np.float64)
        key: npt.NDArray[Any] = self.category[rows].astype(np.int64)
        if by_round:
            key = key * (self.rounds + 1) + self.round[rows]
        starts = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])
        sums = np.zeros((starts.size, len(Sums._fields)))
        for place, name in zip(PLACES, BY_MONEY if by_money else BY_CLIENT, strict=True):
            sums[:, place] = np.add.reduceat(self.sums[name][rows] * times, starts)
        values = None
        if ledger.values is not None:
            cuts = pairwise([*starts.tolist(), rows.size])
            values = [self._values(rows[a:b], times[a:b]) for a, b in cuts]
        positions = self.category[rows[starts]].astype(np.int64)
        asked = self.round[rows[starts]].tolist() if by_round else None
        ledger.book(positions, Bookings(sums, values), accepted_in=asked)

    def _values(self, rows: IntArray, times: FloatArray) -> DistinctRewards:
        """Return the distinct rewards of some cells, each counted so many times."""
        if self.histogram is not None:
            return self.histogram.of(rows, times)
        ones, number = (float(self.sums[name][rows] @ times) for name in ("total", "number"))
        values, counts = np.array([0.0, 1.0]), np.array([number - ones, ones])
        return DistinctRewards(values[counts > 0.0], counts[counts > 0.0])


# --------------------------------------------------------------- cells with their past


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts and sums of past clients by round, round known, category and fold.

    `profitable.backtest.cells` makes them, and `profitable.backtest` replays them.

    Parameters
    ----------
    past : Past
        The columns, the rows that were left out, and notes.
    clients : GroupedClients
        The cells.
    family : Family, optional
        The family whose statistic was added up; None if it was the reward itself.

    Examples
    --------
    >>> import profitable as pb
    >>> calls = {"week": [1, 2, 3] * 9, "job": ["cook"] * 27, "bought": [1, 0, 1] * 9}
    >>> columns = {"category": "job", "time": "week", "reward": "bought"}
    >>> len(pb.backtest.cells(calls, **columns, cost=1, revenue=5))
    3

    """

    past: Past
    clients: GroupedClients
    family: Family | None = None

    def __len__(self) -> int:
        """Return the number of cells."""
        return self.clients.size

    def __str__(self) -> str:
        clients, past = self.clients, self.past
        folds = "no folds, so no intervals" if clients.folds == 1 else f"{clients.folds} folds"
        span = f"{clients.labels[0]} to {clients.labels[-1]}"
        return "\n".join(
            [
                (
                    f"{number_text(past.rows)} rows became {number_text(len(self))} cells: "
                    f"{len(clients.names)} categories, {clients.rounds} rounds ({span}), {folds}"
                ),
                *(
                    f"{number_text(each.rows)} rows left out: {each.reason}"
                    for each in past.left_out
                ),
                *(f"note: {text}" for text in past.notes),
            ]
        )

    # -------------------------------------------------------------------------- keeping

    def to_arrow(self) -> Any:
        """Return the cells as an Arrow table with metadata.

        Returns
        -------
        pyarrow.Table
            A row for each cell: its keys, counts and sums.

        """
        clients = self.clients
        order = ("round", "known", "category", "fold")
        columns = {name: getattr(clients, name) for name in order} | dict(clients.sums)
        if clients.histogram is not None:
            ends = pa.array(np.concatenate([[0], clients.histogram.ends]).astype(np.int32))
            for name in ("values", "counts"):
                flat = pa.array(getattr(clients.histogram, name))
                columns[f"histogram_{name}"] = pa.ListArray.from_arrays(ends, flat)
        past = self.past
        metadata: dict[str, Any] = {
            "format": FORMAT,
            "names": clients.names,
            "labels": clients.labels,
            "folds": clients.folds,
            "layout": past.layout.to_dict(),
            "left_out": [asdict(each) for each in past.left_out],
            **{name: getattr(past, name) for name in PAST_FIELDS},
            "costs": None if past.costs is None else past.costs.tolist(),
            "still_open": None if past.still_open is None else past.still_open.tolist(),
            "family": None if self.family is None else written_family(self.family),
        }
        return pa.table(columns).replace_schema_metadata({KEY: json.dumps(metadata)})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the cells to a Parquet file.

        Parameters
        ----------
        path : path-like
            The file; it is replaced if it exists.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        NotSavedError
            If the file cannot be written.

        """
        where = as_path("path", path)
        try:
            parquet.write_table(self.to_arrow(), where)
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            failed = NotSavedError("path", str(where), problem, "choose another file, or make room")
            failed.result = self
            raise failed from None
        return where

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Cells":
        """Read cells that `save` has written.

        Parameters
        ----------
        path : path-like
            The Parquet file.

        Returns
        -------
        Cells
            The cells.

        Raises
        ------
        InputError
            If the file does not hold cells, or those of another version.

        """
        where = as_path("path", path)
        if not holds_cells(where):
            raise InputError(
                "path",
                str(where),
                "must be a file of cells",
                "give a file that Cells.save has written",
            )
        try:
            return _from_arrow(parquet.read_table(where))
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(
                "path",
                str(where),
                f"cannot be read as cells ({' '.join(str(error).split())[:80]})",
                "make the cells again",
            ) from None


def holds_cells(path: Path) -> bool:
    """Whether a file was written by `Cells.save`."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
        return KEY in (parquet.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def _from_arrow(table: Any) -> Cells:
    metadata = json.loads(table.schema.metadata[KEY])
    if metadata["format"] != FORMAT:
        raise InputError(
            "format", metadata["format"], "is that of another version", "make the cells again"
        )
    arrays = {
        name: table.column(name).to_numpy()
        for name in table.column_names
        if not name.startswith("histogram_")
    }
    histogram = None
    if "histogram_values" in table.column_names:
        values, counts = (
            table.column(f"histogram_{name}").combine_chunks() for name in ("values", "counts")
        )
        ends = np.cumsum(np.asarray(values.value_lengths()))
        histogram = Histogram(ends, values.flatten().to_numpy(), counts.flatten().to_numpy())
    family = None if metadata["family"] is None else Family.of(metadata["family"])
    clients = GroupedClients.of(
        **{name: metadata[name] for name in ("names", "labels", "folds")},
        **{name: arrays.pop(name) for name in KEYS},
        sums=arrays,
        statistic=None if family is None else family.view().statistic,
    )  # they were sorted when they were written, so that the histogram fits
    clients = replace(clients, histogram=histogram)
    open_rows = metadata.get("still_open")  # cells of earlier versions have none
    past = Past(
        clients,
        Layout(**metadata["layout"]),
        left_out=[LeftOut(**each) for each in metadata["left_out"]],
        costs=None if metadata["costs"] is None else np.array(metadata["costs"]),
        still_open=None if open_rows is None else np.array(open_rows, np.int64),
        **{name: metadata[name] for name in PAST_FIELDS},
    )
    return Cells(past, clients, family)
