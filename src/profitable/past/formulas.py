"""Formulas: options that are expressions of columns, as columns of a source or a frame.

The text of an option is the name of the column that it derives:

>>> from profitable.past.source import open_source
>>> table = {"month": [1, 2], "job": ["a", "b"], "paid": ["$3.00", ""], "lent": [4, 5]}
>>> layout = Layout(category="job", time="month", reward="paid / lent", cost=1)
>>> source = PreparedSource.of(open_source(table), layout)
>>> piece = next(source.pieces(["paid / lent"]))
>>> piece.column("paid / lent").to_pylist()
[0.75, None]
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from profitable.common.expression import Expression
from profitable.common.types import IntArray
from profitable.errors import InputError
from profitable.past import calendar_rounds as rounds
from profitable.past.arrow import pa, pc
from profitable.past.bad_rows import BadRows
from profitable.past.calendar_rounds import MISSING
from profitable.past.derived import IN_COLUMNS, EngineSheet, Parts, Worksheet
from profitable.past.layout import Layout
from profitable.past.row_meaning import value_of
from profitable.past.source import OnShare, Piece, Source, one_of
from profitable.past.typed_columns import Dates, decoded, is_text, numbers
from profitable.past.units import Units

# Options that name columns of numbers, or of 0 and 1.
NUMERIC = (
    *("reward", "amount", "cost", "promised", "open_value", "term", "rate", "instalment"),
    *("score", "propensity", "accepted", "treated"),
)
FLAGS = ("treated", "accepted")  # that may be "column=value"
QUOTATION = ("'", '"')
IN_EXPRESSIONS = {*QUOTATION, "`", "("}
SIMILAR = 0.75  # how similar the name of a column is that was probably meant
ONLY_YEAR = re.compile("[0-9]{4}")
ROW_COLUMN = "pb_row"  # the column of a frame that says how many rows it has


class Formula(NamedTuple):
    """A column that is derived: from an expression, or from "column=value"."""

    role: str  # of the layout
    text: str  # as the layout has it; the name of the column
    columns: frozenset[str]
    expression: Expression | None
    value: str = ""

    def put(self, sheet: Worksheet) -> None:
        """Add the column to a frame."""
        sheet.role = self.role
        if self.expression is not None:
            sheet.derive(self.text, self.expression)
        else:
            (column,) = self.columns
            sheet.equals(self.text, column, self.value, self.role)


def formulas_of(layout: Layout, columns: Sequence[str], place: str) -> list[Formula]:
    """Return what a layout derives from columns; `place` names them in errors.

    A text that is the name of a column is the column, and one that is no expression is
    a column that is missing.
    """
    found: list[Formula] = []
    if layout.where is not None and layout.where not in columns:
        found.append(_formula("where", layout.where, columns, place))
    if layout.open is not None and layout.open not in columns:
        found.append(_open_formula(layout.open, columns, place))
    for role in NUMERIC:
        text = getattr(layout, role)
        if not isinstance(text, str) or not text or text in columns:
            continue
        named = value_of(text, columns)
        if named is not None:
            if role in FLAGS and named[0] in columns:
                found.append(Formula(role, text, frozenset([named[0]]), None, named[1]))
            continue  # of the reward, or with a name that is not there
        try:
            expression = Expression(text, f"{place}: {role}", IN_COLUMNS)
        except InputError:
            continue
        if expression.is_name or not expression.names:
            continue
        is_column = expression.names.isdisjoint(columns) or get_close_matches(
            text, columns, 1, SIMILAR
        )
        if is_column and not expression.names <= set(columns):
            continue
        found.append(_formula(role, text, columns, place))
    return list({each.text: each for each in found}.values())


def _formula(role: str, text: str, columns: Sequence[str], place: str) -> Formula:
    """Return a formula; InputError if it names what is no column."""
    expression = Expression(text, f"{place}: {role}", IN_COLUMNS)
    for name in sorted(expression.names - set(columns)):
        remedy = one_of(name, columns)
        if remedy.startswith("choose"):
            remedy += ", or put texts in quotes"
        raise expression.refusal(f"has the unknown name {name!r}", remedy)
    if not expression.names:
        raise expression.refusal("names no column")
    return Formula(role, text, frozenset(expression.names), expression)


def _open_formula(text: str, columns: Sequence[str], place: str) -> Formula:
    """Return who is open: "column=value", or a condition."""
    column, value = value_of(text, columns) or ("", "")
    # A value in quotes was meant as an expression, which says that = is ==.
    is_value = column in columns or not set(column) & IN_EXPRESSIONS
    if not column or not is_value or value.strip()[:1] in QUOTATION:
        return _formula("open", text, columns, place)
    if column not in columns:
        raise InputError(f"{place}: open", column, "is not a column", one_of(column, columns))
    return Formula("open", text, frozenset([column]), None, value)


def with_formulas(frame: Any, layout: Layout) -> Any:
    """Return the frame of an engine with the columns that a layout derives."""
    schema = frame.collect_schema()
    formulas = formulas_of(layout, list(schema), "cells")
    if not formulas:
        return frame
    sheet = EngineSheet(frame, schema)
    for each in formulas:
        each.put(sheet)
    return sheet.frame


# ------------------------------------------------------------------------------- pieces


@dataclass
class PreparedSource(Source):
    """A source with the columns that a layout derives, and its way to write numbers."""

    base: Source = field(default_factory=lambda: Source("", []))
    layout: Layout | None = None
    formulas: list[Formula] = field(default_factory=lambda: [])
    units: Units = field(default_factory=lambda: Units(None, {}))

    @classmethod
    def of(cls, source: Source, layout: Layout) -> "PreparedSource":
        """Prepare a source, or one that was prepared, for a layout."""
        base = source.base if isinstance(source, PreparedSource) else source
        formulas = formulas_of(layout, base.columns, base.name)
        names = [*base.columns, *(each.text for each in formulas)]
        return cls(base.name, names, base.again, base, layout, formulas, Units(layout.decimal, {}))

    def headers(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name and the columns of each table, without those derived."""
        return self.base.headers()

    def behind(self, columns: Sequence[str]) -> set[str]:
        """Return the columns from which others are derived, or which they are."""
        derived = {each.text: each.columns for each in self.formulas}
        return {name for column in columns for name in derived.get(column, (column,))}

    def need(self, columns: Mapping[str, str]) -> None:
        """InputError if a table lacks a column, or one that a formula needs."""
        derived = {each.text: each for each in self.formulas}
        needed = {name: role for name, role in columns.items() if name not in derived}
        for name in columns.keys() & derived.keys():
            needed |= dict.fromkeys(derived[name].columns, columns[name])
        self.base.need(needed)

    def pieces(
        self,
        columns: Sequence[str],
        words: Sequence[str] = (),
        progress: OnShare = None,
        bad: BadRows | None = None,
    ) -> Iterator[Piece]:
        """Return the rows, with columns of the source and such as are derived."""
        chosen = [each for each in self.formulas if each.text in columns]
        if bad is None and self.layout is not None and self.layout.skip_bad_rows:
            bad = BadRows()  # they were counted before
        derived = {each.text for each in chosen}
        plain = [name for name in columns if name not in derived]
        needed = list(dict.fromkeys([*plain, *(name for each in chosen for name in each.columns)]))
        for each_piece in self.base.pieces(needed, words, progress, bad):
            piece = each_piece._replace(units=self.units)
            if chosen:
                assert self.layout is not None
                sheet = PieceSheet(piece, self.layout)
                for each in chosen:
                    each.put(sheet)
                batch = sheet.added_to(piece.batch, derived, columns)
                yield piece._replace(batch=batch)
            else:
                yield piece


class PieceSheet(Worksheet):
    """Expressions of the columns of a piece, whose numbers and times may be texts."""

    def __init__(self, piece: Piece, layout: Layout) -> None:
        rows = pa.table({ROW_COLUMN: np.arange(piece.batch.num_rows)})
        super().__init__(nw.from_native(rows, eager_only=True))
        self.piece, self.layout = piece, layout

    def added_to(self, batch: Any, derived: set[str], columns: Sequence[str]) -> Any:
        """Return a batch with the columns that were derived."""
        table = self.frame.to_native()
        found = [
            table.column(name).combine_chunks() if name in derived else batch.column(name)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(
            [each.combine_chunks() if hasattr(each, "combine_chunks") else each for each in found],
            names=list(columns),
        )

    def _column(self, values: Any) -> Any:
        """Add a column to the frame; return it as an expression."""
        self._steps += 1
        name = f"pb_read_{self._steps}"
        self.frame = nw.from_native(
            self.frame.to_native().append_column(name, values), eager_only=True
        )
        return nw.col(name)

    def missing(self, name: str) -> Any:
        """Return whether a field is empty."""
        values = decoded(self.piece.column(name))
        missing = np.asarray(values.is_null())
        if is_text(values.type):
            missing |= np.asarray(pc.equal(pc.utf8_trim_whitespace(values), "").fill_null(True))
        elif pa.types.is_floating(values.type):
            missing |= np.isnan(np.asarray(values.fill_null(np.nan)))
        return self._column(pa.array(missing))

    def number(self, name: str) -> Parts:
        """Return a column as numbers; fields that are none are bad."""
        values = numbers(self.piece, name)
        gone = np.isnan(values)
        return Parts(
            self._column(pa.array(np.where(gone, 0.0, values))), self._column(pa.array(gone))
        )

    def text(self, name: str) -> Parts:
        """Return a column as texts; TypeError if it holds none."""
        values = decoded(self.piece.column(name))
        if not is_text(values.type):
            if not pa.types.is_null(values.type):
                raise TypeError
            values = values.cast(pa.string())
        plain = pc.utf8_trim_whitespace(values.fill_null(""))
        return Parts(self._column(plain), self._column(pc.equal(plain, "")))

    def compared_time(self, name: str, text: str, compute: Callable[..., Any]) -> Parts:
        """Compare times, as far as the coarser of both can tell."""
        dates, constant = Dates((name,), self.layout.format_of(name)), Dates((name,))
        times = dates.read(self.piece)
        written = (
            f"{text}-01" if ONLY_YEAR.fullmatch(text) and dates.kind != rounds.NUMBER else text
        )
        found = np.array([MISSING])
        try:
            found = constant.read(Piece(pa.record_batch({name: [written]}), "", 1))
        except InputError:
            constant.kind = None
        if dates.kind is None:  # no time could be read, and none decides
            return Parts(nw.lit(0.0), nw.lit(True))
        if constant.kind is None or (dates.kind == rounds.NUMBER) != (
            constant.kind == rounds.NUMBER
        ):
            problem = f"is compared with {name}, and is not such a {dates.kind}"
            raise InputError(self.role, text, problem, "write it like 2026-01-31, 2026-01 or 2026")
        both: IntArray = np.append(times, found)
        unit = rounds.coarser_unit(dates.kind, constant.kind)
        if written != text:
            both = both.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64)
        elif unit is not None:
            both = rounds.periods(both, unit)
        result = np.where(compute(both[:-1], both[-1]), 1.0, 0.0)
        return Parts(self._column(pa.array(result)), self._column(pa.array(times == MISSING)))

    def equals(self, name: str, column: str, value: str, role: str) -> None:
        """Add a column that is 1 where another one has a value, and 0 elsewhere."""
        self._column(decoded(self.piece.column(column)))
        super().equals(name, self.frame.columns[-1], value, role)
