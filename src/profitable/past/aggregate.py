"""Aggregate past clients into cells, by one group-by in the engine that holds them.

Only the cells leave the engine.  Whatever needs single rows is refused here.

Folds are a twentieth of the clients each.  Engines have hash functions of their own,
and no two agree, so the fold of a whole number is computed: with the prime p just below
2^26, ((id mod p) + 12 345)^2 * 48 271 mod p is cut into 20 equal parts.  All numbers on
the way are below 2^52, so that engines which compute with doubles are exact, too.

>>> import polars as pl
>>> ids = nw.from_native(pl.LazyFrame({"id": [1, 2, 3, 10**15, -4]}))
>>> with_fold(ids, "id").collect()["pb_hash"].to_list()
[9, 4, 19, 0, 15]
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from profitable.common import check
from profitable.common.declared_options import options_of
from profitable.common.extras import extra
from profitable.common.types import BoolArray, IntArray
from profitable.errors import InputError, ParameterError
from profitable.model.category_table import known_fields
from profitable.model.families import Family
from profitable.model.view import View
from profitable.past import calendar_rounds as rounds
from profitable.past.bands import CategoryCodes, CategoryColumn, cross
from profitable.past.calendar_rounds import TimeColumn
from profitable.past.cell_options import CellArguments, CellOptions
from profitable.past.cells import KEYS, Cells, GroupedClients, Histogram, new_cells
from profitable.past.file_kinds import sheet_of
from profitable.past.formulas import with_formulas
from profitable.past.layout import Layout
from profitable.past.open_rows import counted, said_of_condition
from profitable.past.past import NEVER_KNOWN, OutcomeTally, Past, check_kept
from profitable.past.read import needed_columns
from profitable.past.round_names import count_periods
from profitable.past.row_meaning import HAS_NO_OUTCOME, IS_KEPT, REASONS, RowMeaning, profit_of
from profitable.past.source import PARQUET_ENDINGS, Files, Piece, Source, open_source, pa
from profitable.past.workbook import WORKBOOK_ENDINGS

FOLDS = 20
PRIME, SHIFT, FACTOR = 67_108_859, 12_345, 48_271
MOST_AGGREGATED = 5_000_000
CAST = "cast it to a number in your engine"
ROWS_ONLY = {
    "date_format": "cast the column to a date in your engine",
    "decimal": "cast the columns to numbers in your engine",
    "skip_bad_rows": "leave them out in your engine, or with where",
    "propensity": "replay the rows: estimates from a log need every client",
    "treated": "replay the rows: the effect of a treatment is computed client by client",
    "defaulted": "replay the rows: loans default and close one by one",
    "score": "leave it out: it ranks single clients",
    "scorecard": "replay the rows: it is fitted to single clients",
    "order": "replay the rows: cells do not keep the order of their categories",
}
# Products of two columns that are added up, too; a factor may be a product itself.
PRODUCTS = {
    "reward_squares": ("reward", "reward"),
    "outcome_squares": ("outcome", "outcome"),
    "squares": ("total", "total"),
    "profit_squares": ("profit", "profit"),
    "profit_cubes": ("profit_squares", "profit"),
    "profit_fourths": ("profit_squares", "profit_squares"),
}
AMOUNT_PRODUCTS = {
    "amount_squares": ("amount", "amount"),
    "money_total": ("amount", "total"),
    "money_squares": ("money_total", "total"),
}
KEY_COLUMNS = ("pb_asked", "pb_known", "pb_fold")
CHECK = "check_"  # begins the names of counts of rows that are checked


def cells(frame: Any, **given: Any) -> Cells:
    """Aggregate past clients in the engine that holds them, for `profitable.backtest`.

    {parameters}

    Returns
    -------
    Cells
        Counts and sums by round, round known, category and fold.

    Raises
    ------
    InputError
        If a column is missing or of the wrong type, or if its values cannot be used.
    ParameterError
        If an option needs single rows.

    Examples
    --------
    >>> import polars as pl
    >>> import profitable as pb
    >>> calls = pl.LazyFrame(
    ...     {
    ...         "week": [1, 1, 2, 3] * 50,
    ...         "job": ["cook", "clerk"] * 100,
    ...         "bought": [1, 0, 1, 0] * 50,
    ...     }
    ... )
    >>> columns = {"category": "job", "time": "week", "reward": "bought"}
    >>> cells = pb.backtest.cells(calls, **columns, cost=1, revenue=5)
    >>> print(cells)
    200 rows became 4 cells: 2 categories, 3 rounds (1 to 3), no folds, so no intervals
    >>> pb.backtest(cells, policies=["kl-ucb"])["accept all"].profit
    300.0

    """
    known_fields(given, options_of(CellArguments), "cells")
    layout = Layout.of(given)
    _refuse_rows_only(layout)
    family = given.get("family")
    chosen = None if family is None else Family.of(family)
    view = (chosen or Family.of("bernoulli")).view()
    if view.statistic.of_column(nw.col("reward")) is None:
        raise InputError(
            "family",
            str(chosen),
            f"adds up {type(view.statistic).__name__} of the rewards, "
            "for which there is no expression",
            "backtest the rows, or give the statistic an of_column",
        )
    past = Aggregation(_lazy(frame), layout, CellOptions.of(given), view).run()
    assert isinstance(past.clients, GroupedClients)
    return Cells(past, past.clients, None if view.statistic.is_reward else chosen)


def _refuse_rows_only(layout: Layout) -> None:
    """ParameterError for what cannot be computed from sums."""
    single = "needs single rows, and cells have none"
    for field, is_wrong, problem, remedy in (
        *((name, layout.is_given(name), single, remedy) for name, remedy in ROWS_ONLY.items()),
        (
            "round",
            isinstance(layout.round, int) or layout.time is None,
            "counts rows, and cells have none",
            "give time and a round of the calendar: in an engine, rows have no order",
        ),
        ("time", len(layout.times) > 1, "joins columns", "make one date of them in your engine"),
    ):
        if is_wrong:
            raise ParameterError(field, getattr(layout, field), problem, remedy)


def _lazy(frame: Any) -> Any:
    if isinstance(frame, Mapping):
        frame = pa.table(dict(frame))  # type: ignore[arg-type]
    try:
        return nw.from_native(frame).lazy()
    except TypeError:
        raise InputError(
            "frame",
            frame,
            "must be a table that narwhals knows",
            "give a DuckDB relation, a Polars LazyFrame, or another dataframe",
        ) from None


def relation(data: Any) -> Any:
    """Open files of CSV or Parquet as a relation of DuckDB."""
    with extra("cells", "files are aggregated with it"):
        import duckdb
    source = open_source(data)
    assert isinstance(source, Files)
    for path in source.paths:
        if sheet_of(path)[0].suffix.lower() in WORKBOOK_ENDINGS:
            remedy = "save it as CSV or Parquet, or replay its rows"
            raise InputError("data", str(path), "is not aggregated by DuckDB", remedy)
    paths = [str(path) for path in source.paths]
    connection: Any = duckdb.connect()
    try:
        if all(path.endswith(PARQUET_ENDINGS) for path in paths):
            return connection.read_parquet(paths)
        return connection.read_csv(paths, null_padding=False, na_values=list(rounds.NOTHING))
    except duckdb.Error as error:
        raise InputError(
            "data",
            source.name,
            f"cannot be read by DuckDB ({' '.join(str(error).split())[:160]})",
            "give CSV or Parquet",
        ) from None


# -------------------------------------------------------------------------------- folds


def with_fold(frame: Any, column: str) -> Any:
    """Return the frame with the folds of whole numbers in the column `pb_hash`."""
    # Arrow columns of Dask divide, but have no remainder.
    is_dask = frame.implementation == nw.Implementation.DASK

    def remainder(value: Any) -> Any:
        return value - (value // PRIME) * PRIME if is_dask else value % PRIME

    value = nw.col("pb_hash")
    frame = frame.with_columns(pb_hash=nw.col(column).fill_null(0).cast(nw.Int64).abs())
    for step in (
        remainder(value),
        remainder(value + SHIFT),
        remainder(value * value),
        remainder(value * FACTOR),
        value * FOLDS // PRIME,
    ):
        frame = frame.with_columns(pb_hash=step)
    return frame


# ------------------------------------------------------------------------- the group-by


class Aggregation:
    """The rows of a frame, as its engine computes and groups them."""

    def __init__(self, frame: Any, layout: Layout, options: CellOptions, view: View) -> None:
        self.frame = frame = with_formulas(frame, layout)
        self.layout, self.view = layout, view
        self.id, self.fold, self.bins = options.id, options.fold, options.bins
        self.source = f"a table in {frame.implementation.value}"
        self.products = PRODUCTS | (AMOUNT_PRODUCTS if layout.amount is not None else {})
        has_open = layout.promised is not None or layout.open_value is not None
        # Columns that say yes or no, and are counted.
        self.marks = ["given", "early", "no_id", "asked_broken", *(["bare"] if has_open else [])]
        self.marks += ["open", "unsaid"] if layout.open is not None else []
        schema = frame.collect_schema()
        self.cuts = [CategoryColumn.parse(text, list(schema)) for text in layout.categories]
        self.meaning = RowMeaning.of(layout, schema)
        self._check_columns(schema)
        self.time = TimeColumn.of(frame, layout.times[0], schema)
        self.known = None if layout.known is None else TimeColumn.of(frame, layout.known, schema)
        self.round = str(layout.round or rounds.usual_round(self.time.kind))
        for field, each in (("time", self.time), ("known", self.known)):
            if each is not None:
                asked = self.time.column, self.time.kind
                rounds.check_kind(field, each.column, each.kind, self.round, asked)

    def _check_columns(self, schema: Mapping[str, Any]) -> None:
        """InputError if a column is missing or of the wrong type."""
        needed = needed_columns(self.layout, self.cuts, self.meaning.columns)
        whole = {name: field for name, field in ((self.id, "id"), (self.fold, "fold")) if name}
        Source("cells", list(schema)).need(needed | whole)
        numeric = {cut.column: "category" for cut in self.cuts if cut.is_cut}
        numeric |= {
            name: role
            for role, name in self.meaning.columns.items()
            if role != "reward" or self.meaning.value is None
        }
        conditions = (("where", self.layout.where), ("open", self.layout.open))
        numeric |= {name: field for field, name in conditions if name is not None}
        for name, field in numeric.items():
            if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
                raise InputError(field, name, f"is of the type {schema[name]}, not a number", CAST)
        for name, field in whole.items():
            if not schema[name].is_integer():
                raise InputError(
                    field,
                    name,
                    f"is of the type {schema[name]}, not a whole number",
                    "give fold=, a column from 0 to 19 of your engine, as hash(id) % 20",
                )
        for cut, text in zip(self.cuts, self.layout.categories, strict=True):
            if cut.quantiles:
                raise ParameterError(
                    "category",
                    text,
                    "cuts at quantiles of all rows, which are not sorted",
                    "give the edges, as age:25,40,60",
                )

    def _prepared(self) -> Any:
        """Return the frame with keys and with the columns that are added up.

        A row that is left out has the same keys as all rows with its reason, unless it
        has no outcome yet.
        """
        frame = self.time.put(self.frame, "pb_asked", self.round)
        known, early = nw.lit(0), nw.lit(False)
        if self.known is not None:
            frame = self.known.put(frame, "pb_known_in", self.round)
            gone, period = nw.col("pb_known_in_gone"), nw.col("pb_known_in")
            known = nw.when(gone).then(nw.lit(NEVER_KNOWN)).otherwise(period)
            early = self.known.before("pb_known_in", self.time, "pb_asked")
        if self.layout.open is not None:
            unsaid = self.meaning.missing(self.layout.open)
            is_open = ~unsaid & (self.meaning.number(self.layout.open) != 0.0)
            frame = frame.with_columns(pb_open=is_open, pb_unsaid=unsaid)
            known = nw.when(nw.col("pb_open")).then(nw.lit(NEVER_KNOWN)).otherwise(known)
            early = early & ~nw.col("pb_open")
        fold, no_id = nw.lit(0), nw.lit(False)
        if self.id is not None:
            frame = with_fold(frame, self.id)
            fold, no_id = nw.col("pb_hash"), nw.col(self.id).is_null()
        elif self.fold is not None:
            fold = nw.col(self.fold).fill_null(-1).cast(nw.Int64)
        frame = frame.with_columns(
            pb_no_time=nw.col("pb_asked_gone"),
            pb_known=known,
            pb_fold=fold,
            pb_early=early,
            pb_no_id=no_id,
            **{
                f"pb_category_{place}": cut.key(self.meaning) for place, cut in enumerate(self.cuts)
            },
        )
        if self.layout.where is not None:
            where = self.layout.where
            unmet = self.meaning.missing(where) | (self.meaning.number(where) == 0.0)
            frame = frame.with_columns(pb_not_where=unmet)
        frame = self.meaning.applied(frame)
        if self.layout.open_value is not None:
            never = nw.when(nw.col("pb_never")).then(nw.lit(NEVER_KNOWN))
            frame = frame.with_columns(pb_known=never.otherwise(nw.col("pb_known")))
        kept = nw.col("pb_reason") == IS_KEPT
        keys: dict[str, Any] = {
            name: nw.when(kept).then(nw.col(name)).otherwise(nw.lit(0)) for name in KEY_COLUMNS
        }
        # Open rows are counted by round and category.
        counts = kept | (nw.col("pb_reason") == HAS_NO_OUTCOME)
        keys["pb_asked"] = nw.when(counts).then(nw.col("pb_asked")).otherwise(nw.lit(0))
        for place, cut in enumerate(self.cuts):
            name = f"pb_category_{place}"
            chosen = nw.when(counts).then(nw.col(name))
            keys[name] = chosen.otherwise(nw.lit(0)) if cut.is_cut else chosen
        return self._with_sums(frame.with_columns(**keys))

    def _with_sums(self, frame: Any) -> Any:
        """Return the columns whose sums, least and largest values are taken."""
        reward, kept = nw.col("pb_reward"), nw.col("pb_reason") == IS_KEPT
        amount, cost = nw.col("pb_amount"), nw.col("pb_cost")
        marks = {name: kept & nw.col(f"pb_{name}") for name in self.marks}
        marks |= {name: nw.col(f"pb_{name}") for name in ("given", "open") if name in marks}
        frame = frame.with_columns(
            pb_profit=profit_of(self.layout, nw.col("pb_outcome"), amount, cost),
            pb_total=self._statistic(reward),
            pb_broken=nw.when(kept & (reward != reward.floor())).then(reward),
            **{
                f"pb_{name}": nw.when(mark).then(nw.lit(1)).otherwise(nw.lit(0))
                for name, mark in marks.items()
            },
        )
        products: dict[str, Any] = {}
        for name, factors in self.products.items():
            one, other = (products.get(f"pb_{each}", nw.col(f"pb_{each}")) for each in factors)
            products[f"pb_{name}"] = one * other
        return frame.with_columns(**products)

    def _statistic(self, reward: Any) -> Any:
        """Return the statistic of the family, 0 for rewards that it cannot have.

        Such rewards are refused later.
        """
        statistic, support = self.view.statistic, self.view.support
        if statistic.is_reward:
            return reward
        above = reward > support.low if support.open else reward >= support.low
        legal = above & (reward <= support.high)
        # Engines also compute what is not chosen.
        inside = nw.lit(min(max(0.0, support.low + 1.0), support.high))
        own = statistic.of_column(nw.when(legal).then(reward).otherwise(inside))
        return nw.when(legal).then(own).otherwise(nw.lit(0.0))

    def _sums(self) -> dict[str, Any]:
        """Return the sums, least and largest values of a cell, by name."""

        def col(name: str) -> Any:
            return nw.col(f"pb_{name}")

        given = [name for name in ("amount", "cost") if name in self.meaning.columns]
        ranged = ["reward", "outcome", *given, *(["promised"] if "bare" in self.marks else [])]
        return (
            {name: col(name).sum() for name in (*ranged, "total", "profit", *self.products)}
            | {f"least_{name}": col(name).min() for name in ranged}
            | {f"most_{name}": col(name).max() for name in ranged}
            | {"broken": col("broken").max()}
            | {f"{CHECK}{name}": col(name).sum() for name in self.marks}
        )

    def _grouped(self, frame: Any, keys: list[str], sums: dict[str, Any], most: int) -> Any:
        """One group-by over all rows: an Arrow table with at most `most` rows."""
        categories = (f"pb_category_{place}" for place in range(len(self.cuts)))
        grouped = frame.group_by(*KEY_COLUMNS, *categories, *keys)
        return grouped.agg(nw.len().alias("number"), **sums).head(most).collect().to_arrow()

    # ----------------------------------------------------------------------- the result

    def run(self) -> Past:
        """Return the past, whose clients are cells."""
        table = self._grouped(self._prepared(), ["pb_reason"], self._sums(), MOST_AGGREGATED + 1)
        if table.num_rows > MOST_AGGREGATED:
            raise InputError(
                "frame",
                self.source,
                f"has more than {MOST_AGGREGATED} cells",
                "give longer rounds, or fewer categories",
            )
        sums = _numbers(table)
        reason = sums.pop("pb_reason").astype(np.int64)
        tallies = [_tally(sums, reason == code) for code in range(len(REASONS))]
        check_kept("frame", self.source, "table", tallies)
        kept = reason == IS_KEPT
        opened = int(sums[f"{CHECK}open"].sum()) if "open" in self.marks else 0
        outcomes = _tally(sums, kept, "number", "outcome")
        sums = {name: values[kept] for name, values in sums.items()}
        self._check_sums(sums)
        if self.layout.amount is not None:
            sums["back"] = sums["outcome"]
        first = int(sums["pb_asked"].min())
        unsaid = int(sums[f"{CHECK}unsaid"].sum()) if "unsaid" in self.marks else 0
        keys, notes = self._keys(table.filter(pa.array(kept)), sums)
        still_open, said = self._still_open(table, reason == HAS_NO_OUTCOME, first, keys)
        notes = [*notes, *([said] if said else [])]
        notes += said_of_condition(self.layout.open, opened, unsaid)
        clients = GroupedClients.of(
            **keys,
            folds=1 if self.id is None and self.fold is None else FOLDS,
            # Without the sums that are only checked or compared.
            sums={
                name: values
                for name, values in sums.items()
                if not name.startswith(CHECK) and "outcome" not in name
            },
            statistic=self.view.statistic,
        )
        if self.bins is not None:
            clients = self._with_histogram(clients, self.bins)
        costs = None
        if "cost" in sums:
            costs = clients.by_category("cost") / clients.by_category("number")
        return Past.of(
            clients,
            self.layout,
            source=self.source,
            round=self.round,
            tallies=tallies,
            outcomes=outcomes,
            notes=notes,
            costs=costs,
            still_open=still_open,
        )

    def _still_open(
        self, table: Any, is_open: BoolArray, first: int, keys: Mapping[str, Any]
    ) -> tuple[IntArray | None, str | None]:
        """Count rows without an outcome by round and category; round 1 is `first`."""
        if not is_open.any():
            return None, None
        rows = table.filter(pa.array(is_open))
        found = _numbers(rows)
        parts = [self._codes(rows, place).finish() for place in range(len(self.cuts))]
        texts = [np.array(names, dtype=object)[codes] for codes, names in parts]
        joined = [", ".join(each) for each in zip(*texts, strict=True)]
        asked, number = (found[name].astype(np.int64) for name in ("pb_asked", "number"))
        return counted(asked - first + 1, joined, keys["names"], len(keys["labels"]), number)

    def _check_sums(self, sums: Mapping[str, Any]) -> None:
        """InputError for values that no client may have."""
        layout, meaning, asked = self.layout, self.meaning, self.time.column
        promised = layout.promised or layout.open_value
        early = f"is before {asked}, when the client asked, in {{}} rows"
        for name, field, column, problem, remedy in (
            ("early", "known", layout.known, early, "correct the dates, or leave the rows out"),
            ("no_id", "id", self.id, "is missing in {} rows", "give every client an id, or fold="),
            ("asked_broken", "time", asked, "is not a whole number in {} rows", "give dates"),
            ("bare", "promised", promised, "is missing in {} rows", "give it for every client"),
        ):
            number = int(sums[CHECK + name].sum()) if CHECK + name in sums else 0
            if number:
                raise InputError(field, column, problem.format(number), remedy)
        for role, name in (("reward", "outcome"), ("amount", "amount"), ("cost", "cost")):
            if role not in meaning.columns:
                continue
            low, high = float(sums[f"least_{name}"].min()), float(sums[f"most_{name}"].max())
            column = meaning.columns[role]
            if not (abs(low) <= check.LARGEST and abs(high) <= check.LARGEST):
                worst = low if abs(low) > abs(high) else high
                raise InputError(
                    "frame",
                    column,
                    f"holds {worst:g}, which is not a number of reasonable size",
                    "correct it, or leave the row out",
                )
            if role == "amount" and low <= 0.0:
                raise InputError(
                    "amount", column, f"holds {low:g}, not above 0", "leave such rows out"
                )
        if meaning.value is not None and not sums["outcome"].any():
            raise InputError(
                "reward",
                meaning.value,
                f"is nowhere in the column {meaning.columns['reward']}",
                "give a value of it",
            )

    def _keys(self, table: Any, sums: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the keys of the cells, names of rounds and categories, and notes."""
        asked, known, fold = (sums.pop(name).astype(np.int64) for name in KEY_COLUMNS)
        if self.layout.round is None and self.round == "number":
            written = rounds.written_as(asked)
            if written:
                raise InputError(
                    "time",
                    self.time.column,
                    "looks like a date",
                    f'cast it to a date (it is written as {written}), or give round = "number"',
                )
        if fold.min() < 0 or fold.max() >= FOLDS:
            worst = fold.min() if fold.min() < 0 else fold.max()
            raise InputError(
                "fold",
                self.fold,
                f"holds {worst}, and folds are 0 to {FOLDS - 1}",
                "take the remainder by 20, and leave none out",
            )
        category, names, notes = cross(
            [self._codes(table, place) for place in range(len(self.cuts))]
        )
        late = None if self.known is None else known
        known, labels = count_periods(self.source, asked, late, self.round, len(names))
        if late is None:
            known = asked + (self.layout.matures or 0)
        keys = {"names": names, "labels": labels}
        return keys | {"round": asked, "known": known, "category": category, "fold": fold}, notes

    def _codes(self, table: Any, place: int) -> CategoryCodes:
        codes = CategoryCodes(self.cuts[place])
        column = table.column(f"pb_category_{place}").combine_chunks()
        if codes.cut.is_cut:
            codes.codes.append(column.to_numpy(zero_copy_only=False).astype(np.int32))
        else:
            batch = pa.RecordBatch.from_arrays([column], [codes.cut.column])
            codes.read(Piece(batch, self.source, 1))
        return codes

    # ----------------------------------------------------------------------- histograms

    def _with_histogram(self, clients: GroupedClients, bins: int) -> GroupedClients:
        """Return the cells with rewards counted, by whole number or in bins."""
        low, high = clients.range_of("reward")
        exact = clients.only_whole() and high - low < bins
        width = 1.0 if exact else (high - low) / bins
        table = self._counted(low, width, bins)
        found = _numbers(table)
        keys, _ = self._keys(table, found)
        by_money = "money_total" in found and self.layout.weight == "money"
        total, counts = ("money_total", "amount") if by_money else ("total", "number")
        values = low + found["pb_bin"] if exact else found[total] / found[counts]
        by = np.stack([keys[name] for name in KEYS])
        order = np.lexsort((values, *by))
        ends = np.append(np.flatnonzero(new_cells(by[:, order]))[1:], order.size)
        return replace(clients, histogram=Histogram(ends, values[order], found[counts][order]))

    def _counted(self, low: float, width: float, bins: int) -> Any:
        """Return the rewards of each cell by bin: one more group-by."""
        place = ((nw.col("pb_reward") - low) / width).floor() if width > 0.0 else nw.lit(0.0)
        frame = self._prepared().filter(nw.col("pb_reason") == IS_KEPT)
        frame = frame.with_columns(pb_bin=place.cast(nw.Int64))
        bin, last = nw.col("pb_bin"), nw.lit(bins - 1)
        frame = frame.with_columns(pb_bin=nw.when(bin >= bins).then(last).otherwise(bin))
        names = ["total"] + (["amount", "money_total"] if self.layout.amount is not None else [])
        sums = {name: nw.col(f"pb_{name}").sum() for name in names}
        most = 10 * MOST_AGGREGATED
        table = self._grouped(frame, ["pb_bin"], sums, most + 1)
        if table.num_rows > most:
            raise InputError(
                "bins", bins, f"makes more than {most} bins in total", "give fewer bins"
            )
        return table


def _numbers(table: Any) -> dict[str, Any]:
    """Return the columns of a table of cells as numbers, without their categories."""
    return {
        name: table.column(name).to_numpy().astype(np.float64)
        for name in table.column_names
        if not name.startswith("pb_category")
    }


def _tally(
    sums: Mapping[str, Any], chosen: Any, given: str = f"{CHECK}given", total: str = "reward"
) -> OutcomeTally:
    """Return the rows of some cells, and the mean of the rewards that are given."""
    names = ("number", given, total, f"{total}_squares")
    rows, known, first, second = (float(sums[each][chosen].sum()) for each in names)
    return OutcomeTally(int(rows), int(known), first, second)
