"""Workbooks: past clients in a sheet of an Excel file (.xlsx).

The header is the first row that is not empty, of the first sheet that has one, or of
the sheet behind a `#`.  Rows have the numbers that Excel shows.

>>> column_of([1, 2.5, None]).to_pylist(), column_of([1, "x", True]).to_pylist()
([1.0, 2.5, None], ['1', 'x', 'True'])
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from profitable.common.extras import extra
from profitable.common.types import IntArray
from profitable.errors import InputError
from profitable.past.arrow import FileBatch, pa, short
from profitable.past.bad_rows import BadRows

WORKBOOK_ENDINGS = (".xlsx", ".xlsm")
MIDNIGHT = time()


@dataclass(frozen=True)
class Workbook:
    """One sheet of an Excel file; None is the first that has rows."""

    path: Path
    sheet: str | None = None

    def columns(self) -> list[str]:
        """Return the names in its header."""
        return list(self._sheet().table.column_names)

    def batches(
        self, columns: Sequence[str], words: Sequence[str], bad: BadRows | None = None
    ) -> Iterator[FileBatch]:
        """Its rows, in one record batch."""
        found = self._sheet()
        for error in found.uneven:
            if bad is None:
                raise error
            bad.lose("has too many fields", error)
        for rows in found.table.select(list(columns)).combine_chunks().to_batches():
            yield FileBatch(rows, 1.0, found.numbers)

    def _sheet(self) -> "SheetRows":
        status = self.path.stat()
        return _read(self.path, self.sheet, status.st_mtime_ns, status.st_size)


class SheetRows(NamedTuple):
    """The rows of a sheet, their numbers, and the errors of rows that are too long."""

    table: Any
    numbers: IntArray
    uneven: list[InputError]


@lru_cache(maxsize=1)  # a backtest reads the same sheet several times
def _read(path: Path, sheet: str | None, _time: int, _size: int) -> SheetRows:
    """Read a sheet."""
    with extra("excel", ".xlsx files are read with it", otherwise="save the file as CSV"):
        import openpyxl
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles, which nobody needs
            book: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
            try:
                return _rows(book, path, sheet)
            finally:
                book.close()
    except (BadZipFile, KeyError, ValueError, OSError, EOFError, SyntaxError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "data",
            short(path),
            f"cannot be read as an Excel file ({' '.join(str(error).split())[:80]})",
            "open it in Excel and save it again, or save it as CSV",
        ) from None


def _rows(book: Any, path: Path, sheet: str | None) -> SheetRows:
    """Return the rows of a sheet that are not empty."""
    names: list[str] = [each.title for each in book.worksheets]
    if sheet is not None and sheet not in names:
        remedy = f"choose from {', '.join(names[:12])}"
        raise InputError("data", f"{short(path)}#{sheet}", "is not a sheet", remedy)
    for each in book.worksheets:
        if sheet not in (None, each.title):
            continue
        each.reset_dimensions()  # other programs write wrong ones
        filled = (
            (number, row)
            for number, row in enumerate(each.iter_rows(values_only=True), 1)
            if any(value is not None and value != "" for value in row)
        )
        first = next(filled, None)
        if first is None:
            continue
        header = _header(path, first[1])
        rows, numbers, width = list[tuple[Any, ...]](), list[int](), len(header)
        uneven: list[InputError] = []
        for number, row in filled:
            if any(value is not None for value in row[width:]):
                place = f"{path}, row {number}"
                problem = f"has {len(row)} fields, and the header {width}"
                uneven.append(InputError(place, str(row[-1]), problem, "give each column a name"))
                continue
            rows.append((*row[:width], *(None,) * (width - len(row))))
            numbers.append(number)
        columns = zip(*rows, strict=True) if rows else [() for _ in header]
        arrays = {name: column_of(values) for name, values in zip(header, columns, strict=True)}
        return SheetRows(pa.table(arrays), np.array(numbers, np.int64), uneven)
    raise InputError("data", short(path), "has no rows", "give a sheet with a header and rows")


def _header(path: Path, row: Sequence[Any]) -> list[str]:
    names = ["" if value is None else str(value).strip() for value in row]
    while not names[-1]:
        names.pop()
    for place, name in enumerate(names):
        if not name:
            problem = f"has no name in column {place + 1}"
            raise InputError("data", short(path), problem, "give each column a name")
        if name in names[:place]:
            remedy = "give each column its own name"
            raise InputError(f"{path}: header", name, "names two columns", remedy)
    return names


def column_of(values: Sequence[Any]) -> Any:
    """Return cells as numbers, dates or flags in Arrow; as texts if they are mixed."""
    plain = [None if value == "" else value for value in values]
    kinds: set[type] = {type(value) for value in plain if value is not None}
    if kinds <= {int, float}:
        is_whole = kinds == {int} and all(abs(value or 0) < 2**53 for value in plain)
        return pa.array(plain, pa.int64() if is_whole else pa.float64())
    if kinds == {bool}:
        return pa.array(plain, pa.bool_())
    if kinds <= {datetime, date}:
        times = [_moment(value) for value in plain]
        if any(each is not None and each.time() != MIDNIGHT for each in times):
            return pa.array(times, pa.timestamp("us"))
        return pa.array([each and each.date() for each in times], pa.date32())
    return pa.array([None if value is None else _text(value) for value in plain], pa.string())


def _moment(value: date | None) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    return datetime.combine(value, MIDNIGHT)


def _text(value: Any) -> str:
    if isinstance(value, datetime) and value.time() == MIDNIGHT:
        return str(value.date())
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        return str(int(value))
    return str(value)
