"""Source: the rows of past clients, as Arrow record batches of some columns.

Files (CSV, Parquet, Excel), folders, patterns and lists of them are read in pieces.
Any dataframe that Arrow or narwhals know is a source, too: pandas, Polars, PyArrow,
DuckDB.

>>> source = open_source({"job": ["cook", "clerk"], "y": [0, 1]})
>>> [(piece.place, piece.first, piece.batch.num_rows) for piece in source.pieces(["y"])]
[('the table', 1, 2)]
"""

import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.past.arrow import one_line
from profitable.past.arrow import pa as pa
from profitable.past.arrow import parquet as parquet
from profitable.past.arrow import pc as pc
from profitable.past.arrow import short as short
from profitable.past.bad_rows import BadRows, Marks
from profitable.past.escaped_bytes import unescaped
from profitable.past.file_kinds import (
    AS_UTF8,
    ROWS_AT_ONCE,
    ending_of,
    opened,
    sheet_of,
)
from profitable.past.file_kinds import (
    PARQUET_ENDINGS as PARQUET_ENDINGS,
)
from profitable.past.units import Units

CSV_ENDINGS = (".csv", ".tsv", ".txt")
NOT_UTF8 = "has bytes that are not UTF-8"
A_TABLE = "the table"
OnShare = Callable[[float], object] | None


class Piece(NamedTuple):
    """Rows that follow each other: a record batch, its file, and its first row."""

    batch: Any
    place: str  # the name of the file
    first: int  # 1 for the first row after the header
    numbers: IntArray | None = None  # of the rows, where some between them were left out
    marks: Marks | None = None  # collects bad fields, which are errors without it
    units: Units = Units()

    def row(self, index: int) -> int:
        """Return the number of a row in its file."""
        return self.first + index if self.numbers is None else int(self.numbers[index])

    def marked(self) -> "Piece":
        """Return the piece with its own marks, so that bad fields count as missing."""
        return self._replace(marks=Marks())

    def column(self, name: str) -> Any:
        """Return a column as an Arrow array; all kinds of texts as plain ones."""
        values = self.batch.column(name)
        kind = values.type
        if pa.types.is_dictionary(kind) and _is_other_text(kind.value_type):
            return pa.DictionaryArray.from_arrays(
                values.indices, values.dictionary.cast(pa.string())
            )
        return values.cast(pa.string()) if _is_other_text(kind) else values

    def error(
        self, column: str, index: int, value: object, problem: str, remedy: str
    ) -> InputError:
        """Return the error of one field."""
        return InputError(
            f"{self.place}, row {self.row(index)}, column {column}", value, problem, remedy
        )

    def note_unit(self, column: str, unit: str, values: Any, index: int) -> None:
        """Note the unit of a field, if numbers are written as texts."""
        seen = self.units.seen
        if seen is not None and unit not in seen.get(column, ()):
            place = f"{self.place}, row {self.row(index)}"
            self.units.note(column, unit, str(values[index].as_py()), place)

    def refuse(
        self,
        column: str,
        wrong: BoolArray,
        problem: str | Callable[[int], str],
        remedy: str = "correct it",
        values: FloatArray | Callable[[int], object] | None = None,
        *,
        reason: str = "",
    ) -> None:
        """Mark wrong rows as bad; without marks, InputError that names the first one.

        `reason` is the problem that rows have in common, where it differs by row.
        """
        if not wrong.any():
            return

        def error_of(index: int) -> InputError:
            value = None
            if values is not None:
                value = values(index) if callable(values) else float(values[index])
            said = problem(index) if callable(problem) else problem
            return self.error(column, index, value, said, remedy)

        if self.marks is None:
            raise error_of(int(wrong.argmax()))
        self.marks.add(column, reason or str(problem), wrong, error_of)


def _is_other_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts, but not the plain one."""
    return pa.types.is_string_view(kind) or pa.types.is_large_string(kind)


@dataclass
class Source:
    """Rows from somewhere.

    `columns` are their names; `again` says whether they can be read more than once.
    """

    name: str
    columns: list[str]
    again: bool = True

    def pieces(
        self,
        columns: Sequence[str],
        words: Sequence[str] = (),
        progress: OnShare = None,
        bad: BadRows | None = None,
    ) -> Iterator[Piece]:
        """Return the rows, with the given columns.

        `words` have few different texts; `progress` gets the share done.  `bad` gets
        rows that cannot be read, and pieces then have marks.
        """
        raise NotImplementedError

    def headers(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name and the columns of each table."""
        yield self.name, self.columns

    def need(self, columns: Mapping[str, str]) -> None:
        """InputError if a table lacks a column; `columns` maps names to roles."""
        for place, names in self.headers():
            for name, role in columns.items():
                if name not in names:
                    where, remedy = f"{place}: {role}", one_of(name, names)
                    raise InputError(where, name, "is not a column", remedy)


def one_of(name: str, columns: Sequence[str]) -> str:
    """Return what to do about a name that is no column.

    >>> one_of("lend", ["lent", "back"]), one_of("x", ["lent", "back"])
    ('did you mean lent', 'choose from lent, back')
    """
    if close := get_close_matches(name, columns, 1):
        return f"did you mean {close[0]}"
    return f"choose from {', '.join(columns[:12])}" + (", ..." if len(columns) > 12 else "")


def open_source(data: Any) -> Source:
    """Return the source of anything that holds rows; InputError for anything else."""
    if isinstance(data, Source):
        return data
    if isinstance(data, str | os.PathLike):
        return Files.of([data])  # type: ignore[list-item]
    if isinstance(data, list | tuple):
        listed = cast(Sequence[Any], data)
        if listed and all(isinstance(each, str | os.PathLike) for each in listed):
            return Files.of(listed)
        raise InputError(
            "data", listed, "must be a list of files", "give names of files, or one table"
        )
    if isinstance(data, Mapping | pa.RecordBatch):
        try:
            data = pa.table(dict(data) if isinstance(data, Mapping) else data)  # type: ignore[arg-type]
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(
                "data",
                A_TABLE,
                f"must be a table ({one_line(error)})",
                "give columns of equal length",
            ) from None
    return Table.of(data)


# ------------------------------------------------------------------------------- tables


@dataclass
class Table(Source):
    """A dataframe, an Arrow table, or a stream of record batches."""

    data: Any = field(default=None, repr=False)  # a frame of narwhals, or a stream

    @classmethod
    def of(cls, data: Any) -> "Table":
        """Return a table of whatever Arrow or narwhals know."""
        try:
            frame: Any = nw.from_native(data, pass_through=False)
        except nw.exceptions.DuplicateError as error:
            raise InputError(
                "data", A_TABLE, f"repeats a name ({one_line(error)})", "give each column its own"
            ) from None
        except TypeError:
            if not hasattr(data, "__arrow_c_stream__"):
                raise InputError(
                    "data",
                    data,
                    "must be a file or a table",
                    "give a file, a folder, a pattern or a dataframe",
                ) from None
            reader = pa.RecordBatchReader.from_stream(data)
            return cls(A_TABLE, list(reader.schema.names), again=False, data=reader)
        return cls(A_TABLE, frame.collect_schema().names(), data=frame)

    def pieces(
        self,
        columns: Sequence[str],
        words: Sequence[str] = (),
        progress: OnShare = None,
        bad: BadRows | None = None,
    ) -> Iterator[Piece]:
        """Return the rows, in slices of the batches that the table has."""
        first = 1
        try:
            chosen = _stream(self.data.select(list(columns))) if self.again else self.data
            total = len(chosen) if isinstance(chosen, pa.Table) else 0
            for whole in pa.RecordBatchReader.from_stream(chosen):
                part = whole.select(list(columns))
                for start in range(0, part.num_rows, ROWS_AT_ONCE):
                    batch = part.slice(start, ROWS_AT_ONCE)
                    yield Piece(batch, self.name, first, marks=None if bad is None else Marks())
                    first += batch.num_rows
                    if progress and total:
                        progress(min((first - 1) / total, 1.0))
        except (pa.ArrowException, TypeError) as error:
            raise InputError(
                "data",
                self.name,
                f"cannot be read ({one_line(error)})",
                "give each column one kind of values",
            ) from None


def _stream(frame: Any) -> Any:
    """Return a dataframe that Arrow can stream, collected if its library cannot."""
    if hasattr(frame.to_native(), "__arrow_c_stream__"):
        return frame.to_native()
    return _stream(frame.collect()) if isinstance(frame, nw.LazyFrame) else frame.to_arrow()


# -------------------------------------------------------------------------------- files


@dataclass
class Files(Source):
    """Files of CSV or Parquet."""

    paths: list[Path] = field(default_factory=lambda: [])

    @classmethod
    def of(cls, given: Sequence[str | os.PathLike[str]]) -> "Files":
        """Return the files that names, folders and patterns stand for, in order."""
        names = [os.fspath(each) for each in given]
        paths = [path for name in names for path in _expand(name)]
        return cls(", ".join(names), opened(paths[0]).columns(), paths=paths)

    def headers(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name and the columns of each file."""
        for path in self.paths:
            yield str(path), opened(path).columns() if len(self.paths) > 1 else self.columns

    def pieces(
        self,
        columns: Sequence[str],
        words: Sequence[str] = (),
        progress: OnShare = None,
        bad: BadRows | None = None,
    ) -> Iterator[Piece]:
        """Return the rows of all files; numbers of rows start again in each."""
        sizes = [sheet_of(path)[0].stat().st_size for path in self.paths]
        before = 0
        for path, size in zip(self.paths, sizes, strict=True):
            first = 1
            for batch in opened(path).batches(columns, words, bad):
                marks = None if bad is None else Marks()
                piece = Piece(batch.rows, str(path), first, batch.numbers, marks)
                for name, given in batch.undecoded.items():
                    _refuse_bytes(piece, name, given)
                yield piece
                first += batch.rows.num_rows
                if progress:
                    progress(min((before + batch.share * size) / max(sum(sizes), 1), 1.0))
            before += size


def _refuse_bytes(piece: Piece, column: str, given: Any) -> None:
    """Refuse the bytes of a column that are not UTF-8, and are missing now."""

    def text(index: int) -> str:
        return unescaped(given[index].as_py())

    def problem(index: int) -> str:
        odd = next(letter for letter in text(index) if "\udc80" <= letter <= "\udcff")
        return f"has the byte 0x{ord(odd) - 0xDC00:02x}, which utf-8 does not know"

    read = piece.batch.column(column)
    wrong = np.asarray(read.is_null()) & np.asarray(given.is_valid())
    piece.refuse(column, wrong, problem, AS_UTF8, text, reason=NOT_UTF8)


def _expand(name: str) -> list[Path]:
    """Return the files that a name, a folder or a pattern stands for."""
    remedy = "give a file of CSV or Parquet, a folder, or a pattern such as loans-*.csv"
    if not name or "\0" in name:
        raise InputError("data", name, "must be a file", remedy)
    path = Path(name)
    if path.is_dir():
        problem = "is a folder without CSV or Parquet files"
        found = [
            each
            for each in sorted(path.rglob("*"))
            if each.is_file()
            and ending_of(each) in (*CSV_ENDINGS, *PARQUET_ENDINGS)
            and not any(part[0] in "._" for part in each.relative_to(path).parts)
        ]
    else:
        problem = "matches no file" if glob.has_magic(name) else "does not exist"
        matching = map(Path, sorted(glob.glob(name, recursive=True)))  # noqa: PTH207
        is_there = path.exists() or sheet_of(path)[0].exists()
        found = [path] if is_there else [each for each in matching if each.is_file()]
    if not found:
        raise InputError("data", name, problem, remedy)
    return found
