"""Gather cells: one group-by in the engine that holds the data, and what is made of its result.

Nothing but the cells leaves the engine.  What needs single rows is refused here, with one sentence each.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from profitable.common import check
from profitable.errors import InputError, ParameterError
from profitable.model.family import Family
from profitable.replay import dates, read
from profitable.replay.bands import Part, cross
from profitable.replay.cells import Cells
from profitable.replay.crowd import NEVER_KNOWN
from profitable.replay.engine_rows import (
    HAS_NO_AMOUNT,
    HAS_NO_COST,
    HAS_NO_OUTCOME,
    HAS_NO_TIME,
    IS_KEPT,
    WAS_REFUSED,
    EngineRows,
)
from profitable.replay.folds import FOLDS
from profitable.replay.grouped import Grouped, Histogram
from profitable.replay.layout import FIELDS, Layout, known_field
from profitable.replay.past import LeftOut, Past, Tally
from profitable.replay.source import Piece, pyarrow

MOST_GATHERED = 5_000_000
MOST_BINS = 10_000
REASONS = {
    WAS_REFUSED: read.REFUSED,
    HAS_NO_TIME: read.NO_TIME,
    HAS_NO_AMOUNT: read.NO_AMOUNT,
    HAS_NO_COST: read.NO_COST,
    HAS_NO_OUTCOME: read.NO_OUTCOME,
}
ROWS_ONLY = {
    "date_format": "cast the column to a date in your engine",
    "propensity": "replay the rows: estimates from a log need every client",
    "treated": "replay the rows: what a treatment adds is computed client by client",
    "score": "leave it out: it ranks single clients",
}


def cells(
    frame: Any,
    *,
    id: str | None = None,
    fold: str | None = None,
    bins: int | None = None,
    family: Family | str | None = None,
    **layout: Any,
) -> Cells:
    """Add past clients up in the engine that holds them; `profitable.backtest` replays the cells.

    `frame` is what narwhals knows: a DuckDB relation, a Polars LazyFrame, a frame of Dask, PySpark or Ibis, or one in
    memory.  The columns are named as for `backtest` (`Layout`: category, reward, time, known, cost or amount ...).

    - `id`: a column of whole numbers that names the client.  It deals clients into 20 folds, from which intervals come.
    - `fold`: a column of whole numbers from 0 to 19 instead, made by your engine, where ids are texts.
    - `bins`: count rewards in so many bins, for policies that look at how single rewards are spread (kl-emp).
    - `family`: of the rewards, where something else than rewards is added up (pareto, weibull).

    >>> import polars as pl
    >>> import profitable as pb
    >>> calls = pl.LazyFrame({"week": [1, 1, 2, 3] * 50, "job": ["cook", "clerk"] * 100, "bought": [1, 0, 1, 0] * 50})
    >>> cells = pb.backtest.cells(calls, category="job", time="week", reward="bought", cost=1, revenue=5)
    >>> print(cells)
    200 rows became 4 cells: 2 categories, 3 rounds (1 to 3), no folds, so no intervals
    >>> pb.backtest(cells, policies=["kl-ucb"])["accept all"].profit
    300.0
    """
    for key, value in layout.items():
        known_field(key, value, FIELDS, "cells")
    asked = Layout.from_fields(layout, "cells")
    _refuse_rows_only(asked)
    if id is not None and fold is not None:
        raise ParameterError("fold", fold, "is given beside id", "give one of the two")
    chosen = None if family is None else Family.of(family)
    view = (chosen or Family.of("bernoulli")).view()
    if view.statistic.of_column(nw.col("reward")) is None:
        problem = f"adds up {type(view.statistic).__name__} of the rewards, which no engine is told how to compute"
        raise InputError("family", str(chosen), problem, "backtest the rows, or give the statistic an of_column")
    if bins is not None:
        bins = check.whole("bins", bins, least=2, most=MOST_BINS)
    rows = EngineRows.of(_lazy(frame), asked, id, fold, view)
    period = asked.round or ("number" if rows.time.kind == dates.NUMBER else "month")
    assert isinstance(period, str)
    for each in (rows.time, rows.known):
        if each is not None:
            each.check(period)
            if (each.kind == dates.NUMBER) != (rows.time.kind == dates.NUMBER):
                remedy = "give both as dates, or both as whole numbers"
                raise InputError("known", each.column, f"is a {each.kind}, and time holds a {rows.time.kind}", remedy)
    made = _Gathering(rows, period).run(bins)
    return Cells(made.past, made.clients, None if view.statistic.is_reward else chosen)


def _refuse_rows_only(layout: Layout) -> None:
    """ParameterError for what cannot be computed from sums."""
    for name, remedy in ROWS_ONLY.items():
        if getattr(layout, name) is not None:
            raise ParameterError(name, getattr(layout, name), "needs single rows, and cells have none", remedy)
    if isinstance(layout.round, int) or layout.time is None:
        remedy = "give time and a round of the calendar: in an engine, rows have no order"
        raise ParameterError("round", layout.round, "counts rows, and cells have none", remedy)
    if len(layout.times) > 1:
        raise ParameterError("time", layout.time, "joins columns", "make one date of them in your engine")
    for text in layout.categories:
        if text.rpartition(":")[2][:1] == "q" and text.rpartition(":")[2][1:].isdecimal():
            remedy = "give the edges, as age:25,40,60"
            raise ParameterError("category", text, "cuts at quantiles of all rows, which are not sorted", remedy)


def _lazy(frame: Any) -> Any:
    if isinstance(frame, Mapping):
        frame = pyarrow().table(dict(frame))  # type: ignore[arg-type]
    try:
        return nw.from_native(frame).lazy()
    except TypeError:
        remedy = "give a DuckDB relation, a Polars LazyFrame, a dataframe of Dask, PySpark, Ibis, pandas or PyArrow"
        raise InputError("frame", frame, "is no table that narwhals knows", remedy) from None


class _Made:
    """What came of it."""

    def __init__(self, past: Past, clients: Grouped) -> None:
        self.past, self.clients = past, clients


class _Gathering:
    """One group-by, and what is made of it."""

    def __init__(self, rows: EngineRows, round: str) -> None:
        self.rows, self.layout, self.round = rows, rows.layout, round
        self.source = f"a table in {rows.frame.implementation.value}"

    def run(self, bins: int | None) -> _Made:
        table = self.rows.gathered(self.round, MOST_GATHERED + 1)
        if table.num_rows > MOST_GATHERED:
            problem = f"has more than {MOST_GATHERED} cells"
            raise InputError("frame", self.source, problem, "give longer rounds, or fewer categories")
        everything = {name: table.column(name).to_numpy().astype(np.float64) for name in self._names(table)}
        reason = everything.pop("pb_reason").astype(np.int64)
        kept = reason == IS_KEPT
        total_rows = int(everything["number"].sum())
        if not total_rows:
            raise InputError("frame", self.source, "has no rows", "give a table with a client in each row")
        tallies = {code: _tally(everything, reason == code) for code in np.unique(reason).tolist()}
        if not kept.any():
            code = max(tallies, key=lambda each: tallies[each].rows)
            problem = (
                f"has no client to replay: {tallies[code].rows} of {total_rows} rows are left out ({REASONS[code]})"
            )
            raise InputError("frame", self.source, problem, "check the columns, or give other ones")
        outcomes = _tally({**everything, "given": everything["number"]}, kept, "outcome")
        sums = {name: values[kept] for name, values in everything.items()}
        self._check(sums)
        keys = self._keys(table.filter(pyarrow().array(kept)), sums)
        clients = self._clients(keys, sums)
        if bins is not None:
            notes = self.notes
            clients = self._with_histogram(clients, bins)
            self.notes = notes
        left = [
            LeftOut.of(
                REASONS[code], tallies[code], outcomes if code in (HAS_NO_AMOUNT, HAS_NO_COST) else tallies[IS_KEPT]
            )
            for code in sorted(tallies, key=lambda each: REASONS.get(each, ""))
            if code != IS_KEPT
        ]
        notes = [*self.notes, *read.note(clients)]
        warnings = [read.PAST_REFUSED] if WAS_REFUSED in tallies else []
        costs = None
        if "cost" in sums:
            costs = clients.by_category("cost") / clients.by_category("number")
        past = Past(clients, self.layout, self.source, total_rows, self.round, left, notes, warnings, {}, costs)
        return _Made(past, clients)

    def _names(self, table: Any) -> list[str]:
        return [name for name in table.column_names if not name.startswith("pb_category")]

    def _check(self, sums: dict[str, Any]) -> None:
        """InputError for what no client may have."""
        layout, rows = self.layout, self.rows
        known = rows.known.column if rows.known is not None else ""
        number = int(sums["early"].sum())
        if number:
            problem = f"is before {rows.time.column}, when the client asked, in {number} rows"
            raise InputError("known", known, problem, "correct the dates, or leave the rows out")
        for name, field, column, problem, remedy in (
            ("no_id", "id", rows.id, "is missing in {} rows", "give every client an id, or fold="),
            (
                "broken_time",
                "time",
                rows.time.column,
                "is not a whole number in {} rows",
                "give whole numbers, or dates",
            ),
            (
                "bare",
                "promised",
                layout.promised or layout.open_value,
                "is missing in {} rows",
                "give it for every client",
            ),
        ):
            if name in sums and sums[name].sum():
                raise InputError(field, column, problem.format(int(sums[name].sum())), remedy)
        for name, column in (("outcome", rows.reward), ("amount", layout.amount), ("cost", layout.cost)):
            if f"most_{name}" in sums:
                low, high = float(sums[f"least_{name}"].min()), float(sums[f"most_{name}"].max())
                if not (abs(low) <= check.LARGEST and abs(high) <= check.LARGEST):
                    problem = f"holds {low if abs(low) > abs(high) else high:g}, no number of reasonable size"
                    raise InputError("frame", str(column), problem, "correct it, or leave the row out")
                if name == "amount" and low <= 0.0:
                    raise InputError("amount", str(column), f"holds {low:g}, not above 0", "leave such rows out")
        if rows.value is not None and not sums["outcome"].any():
            raise InputError("reward", rows.value, f"is nowhere in the column {rows.reward}", "give a value of it")

    # ------------------------------------------------------------------------------------------ keys

    def _keys(self, kept: Any, sums: dict[str, Any]) -> dict[str, Any]:
        """The round, the round known, the category and the fold of each cell; names of categories and rounds."""
        asked, known = sums.pop("pb_asked").astype(np.int64), sums.pop("pb_known").astype(np.int64)
        fold = sums.pop("pb_fold").astype(np.int64)
        self._check_numbers(asked)
        if fold.min() < 0 or fold.max() >= FOLDS:
            problem = f"holds {fold.min() if fold.min() < 0 else fold.max()}, and folds are 0 to {FOLDS - 1}"
            raise InputError("fold", self.rows.fold, problem, "take the remainder by 20, and leave none out")
        parts = [self._part(kept, place) for place in range(len(self.rows.cuts))]
        category, names, self.notes = cross(parts)
        first, total = int(asked.min()), int(asked.max() - asked.min()) + 1
        label = partial(_label, first, self.round)
        read.check_rounds(self.source, total, len(names), label)
        round = asked - (first - 1)
        if self.rows.known is not None:
            known = np.where(known == NEVER_KNOWN, NEVER_KNOWN, known - (first - 1))
        else:
            known = round + (self.layout.matures or 0)
        labels = [label(place) for place in range(total)]
        return {"names": names, "labels": labels, "round": round, "known": known, "category": category, "fold": fold}

    def _check_numbers(self, asked: Any) -> None:
        if self.rows.time.kind == dates.NUMBER and self.layout.round is None and (written := dates.written_as(asked)):
            remedy = f'cast it to a date in your engine (it is written as {written}), or give round = "number"'
            raise InputError("time", self.rows.time.column, "looks like a date", remedy)

    def _part(self, kept: Any, place: int) -> Part:
        cut, column = self.rows.cuts[place], kept.column(f"pb_category_{place}").combine_chunks()
        part = Part(cut)
        if cut.is_cut:
            part.codes.append(column.to_numpy(zero_copy_only=False).astype(np.int32))
        else:
            batch = pyarrow().RecordBatch.from_arrays([column], [cut.column])
            part.read(Piece(batch, self.source, 1), None)
        return part

    def _clients(self, keys: dict[str, Any], sums: dict[str, Any]) -> Grouped:
        for name in (
            "given",
            "early",
            "no_id",
            "broken_time",
            "bare",
            "least_outcome",
            "most_outcome",
            "outcome_squares",
        ):
            sums.pop(name, None)
        outcome = sums.pop("outcome")
        if self.layout.amount is not None:
            sums["back"] = outcome
        for old, new in (
            ("told", "reward"),
            ("told_squares", "reward_squares"),
            ("least_told", "least_reward"),
            ("most_told", "most_reward"),
        ):
            sums[new] = sums.pop(old)
        has_folds = self.rows.id is not None or self.rows.fold is not None
        return Grouped.of(**keys, folds=FOLDS if has_folds else 1, sums=sums, statistic=self.rows.view.statistic)

    # ------------------------------------------------------------------------------------------ histograms

    def _with_histogram(self, clients: Grouped, bins: int) -> Grouped:
        """The same cells with their rewards counted, one by one if they are few whole numbers, else in bins."""
        low, high = clients.range_of("reward")
        exact = clients.only_whole() and high - low < bins
        width = 1.0 if exact else (high - low) / bins
        table = self.rows.counted(self.round, low, width, bins, 10 * MOST_GATHERED + 1)
        if table.num_rows > 10 * MOST_GATHERED:
            raise InputError("bins", bins, f"make more than {10 * MOST_GATHERED} bins in all", "give fewer bins")
        found = {name: table.column(name).to_numpy().astype(np.float64) for name in self._names(table)}
        again = self._keys(table, found)
        by_money = "money_total" in found and self.layout.weight == "money"
        counts = found["amount"] if by_money else found["number"]
        values = low + found["pb_bin"] if exact else (found["money_total"] if by_money else found["total"]) / counts
        order = np.lexsort((values, *(np.asarray(again[name]) for name in ("fold", "round", "category", "known"))))
        cell = np.stack([np.asarray(again[name])[order] for name in ("fold", "round", "category", "known")])
        new = np.concatenate([[True], (cell[:, 1:] != cell[:, :-1]).any(axis=0)])
        ends = np.append(np.flatnonzero(new)[1:], order.size)
        return replace(clients, histogram=Histogram(ends, values[order], counts[order]))


def _tally(sums: Mapping[str, Any], chosen: Any, name: str = "told") -> Tally:
    """Rows, and the mean of their outcomes, as far as they are known."""
    rows, given, total, squares = (
        float(sums[each][chosen].sum()) for each in ("number", "given", name, f"{name}_squares")
    )
    return Tally(int(rows), int(given), total, squares)


def _label(start: int, round: str, place: int) -> str:
    return dates.label(start + place, round)
