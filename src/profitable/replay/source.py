"""Source: where the rows of past clients come from, as Arrow record batches of a few columns.

Files (CSV and Parquet), folders, patterns and lists of them are read piece by piece.  Any dataframe that Arrow or
narwhals know is a source, too: pandas, Polars, PyArrow, DuckDB.

>>> source = open_source({"job": ["cook", "clerk"], "y": [0, 1]})
>>> [(piece.place, piece.first, piece.batch.num_rows) for piece in source.pieces(["y"])]
[('the table', 1, 2)]
"""

import csv
import glob
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from profitable.common.extras import extra
from profitable.errors import InputError

ROWS_AT_ONCE = 1 << 17  # rows of a piece: some megabytes, and enough for NumPy to be quick
BYTES_AT_ONCE = 1 << 22  # the same for a CSV file, in bytes of text
HEADER_BYTES = 1 << 16
DELIMITERS = ",;\t|"
CSV_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
A_TABLE = "the table"
AGAIN = "is it complete? write or copy it again"
LONGEST_SHOWN = 70  # letters of a path in an error
Told = Callable[[float], object] | None


def pyarrow(part: str = "") -> Any:
    """The module pyarrow, or a part of it; InputError if it is not installed."""
    with extra("backtest", "backtests read with it"):
        return import_module(f"pyarrow.{part}" if part else "pyarrow")


class Piece(NamedTuple):
    """Some rows that follow each other: a record batch, where it comes from, and the number of its first row."""

    batch: Any
    place: str  # the name of the file
    first: int  # 1 for the first row after the header

    def column(self, name: str) -> Any:
        """A column as an Arrow array; all kinds of texts as plain ones."""
        pa = pyarrow()
        values = self.batch.column(name)
        kind = values.type
        if pa.types.is_dictionary(kind) and _is_other_text(kind.value_type):
            return pa.DictionaryArray.from_arrays(values.indices, values.dictionary.cast(pa.string()))
        return values.cast(pa.string()) if _is_other_text(kind) else values

    def error(self, column: str, index: int, value: object, problem: str, remedy: str) -> InputError:
        """What is wrong in one cell."""
        return InputError(f"{self.place}, row {self.first + index}, column {column}", value, problem, remedy)


def _is_other_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts, but not the plain one."""
    types = pyarrow().types
    return types.is_string_view(kind) or types.is_large_string(kind)


@dataclass
class Source:
    """Rows from somewhere.  `columns` are their names; `again` says whether they can be read more than once."""

    name: str
    columns: list[str]
    again: bool = True

    def pieces(self, columns: Sequence[str], words: Sequence[str] = (), told: Told = None) -> Iterator[Piece]:
        """The rows, with the given columns.  `words` have few different texts; `told` hears the share done."""
        raise NotImplementedError

    def need(self, columns: Mapping[str, str]) -> None:
        """InputError if a column is missing; `columns` maps names to the fields that ask for them."""
        for name, meaning in columns.items():
            self._need(self.name, self.columns, name, meaning)

    @staticmethod
    def _need(place: str, names: Sequence[str], name: str, meaning: str) -> None:
        if name not in names:
            close = get_close_matches(name, names, 1)
            listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            remedy = f"did you mean {close[0]}" if close else f"choose from {listed}"
            raise InputError(f"{place}: {meaning}", name, "is not a column", remedy)


def open_source(data: Any) -> Source:
    """The source of anything that holds rows; InputError for anything else."""
    pa = pyarrow()
    if isinstance(data, Source):
        return data
    if isinstance(data, str | os.PathLike):
        return Files.of([data])  # type: ignore[list-item]
    if isinstance(data, list | tuple):
        if data and all(isinstance(each, str | os.PathLike) for each in data):  # type: ignore[misc]
            return Files.of(data)  # type: ignore[arg-type]
        raise InputError("data", data, "is not a list of files", "give names of files, or one table")  # type: ignore[arg-type]
    if isinstance(data, Mapping):
        try:
            data = pa.table(dict(data))  # type: ignore[arg-type]
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError("data", A_TABLE, f"is no table ({_line(error)})", "give columns of equal length") from None
    return Table.of(data)


# ------------------------------------------------------------------------------------------------ tables


@dataclass
class Table(Source):
    """A dataframe, an Arrow table, or a stream of record batches."""

    select: Callable[[Sequence[str]], Any] = field(
        default=lambda columns: None, repr=False
    )  # to something with a stream

    @classmethod
    def of(cls, data: Any) -> "Table":
        """A table of whatever Arrow or narwhals know."""
        import narwhals

        pa = pyarrow()
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if isinstance(data, pa.RecordBatchReader):
            return cls(A_TABLE, list(data.schema.names), again=False, select=lambda columns: data)
        if isinstance(data, pa.Table):
            return cls(A_TABLE, list(data.column_names), select=lambda columns: data.select(list(columns)))
        try:
            frame: Any = narwhals.from_native(data, pass_through=False)
        except TypeError:
            if not hasattr(data, "__arrow_c_stream__"):
                remedy = "give a file, a folder, a pattern or a dataframe (pandas, Polars, PyArrow, DuckDB)"
                raise InputError("data", data, "is no file and no table", remedy) from None
            reader = pa.RecordBatchReader.from_stream(data)
            return cls(A_TABLE, list(reader.schema.names), again=False, select=lambda columns: reader)
        return cls(A_TABLE, frame.collect_schema().names(), select=lambda columns: _stream(frame.select(list(columns))))

    def pieces(self, columns: Sequence[str], words: Sequence[str] = (), told: Told = None) -> Iterator[Piece]:
        """The rows, in slices of the batches that the table has."""
        pa = pyarrow()
        first = 1
        try:
            chosen = self.select(columns)
            total = len(chosen) if isinstance(chosen, pa.Table) else 0
            reader = chosen if isinstance(chosen, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(chosen)
            for whole in reader:
                part = whole.select(list(columns))
                for start in range(0, part.num_rows, ROWS_AT_ONCE):
                    batch = part.slice(start, ROWS_AT_ONCE)
                    yield Piece(batch, self.name, first)
                    first += batch.num_rows
                    if told and total:
                        told(min((first - 1) / total, 1.0))
        except (pa.ArrowException, TypeError) as error:
            remedy = "give each column one kind of values"
            raise InputError("data", self.name, f"cannot be read ({_line(error)})", remedy) from None


def _stream(frame: Any) -> Any:
    """A dataframe of narwhals as something that Arrow can stream; a lazy one is collected if its library cannot."""
    if hasattr(frame.to_native(), "__arrow_c_stream__"):
        return frame.to_native()
    eager = frame.collect() if hasattr(frame, "collect") else frame
    return eager.to_native() if hasattr(eager.to_native(), "__arrow_c_stream__") else eager.to_arrow()


# ------------------------------------------------------------------------------------------------ files


@dataclass
class Files(Source):
    """Files of CSV or Parquet."""

    paths: list[Path] = field(default_factory=lambda: [])

    @classmethod
    def of(cls, given: Sequence[str | os.PathLike[str]]) -> "Files":
        """The files that names, folders and patterns stand for, in order."""
        paths = [path for each in given for path in _expand(os.fspath(each))]
        columns = _opened(paths[0]).columns()
        name = ", ".join(os.fspath(each) for each in given)
        return cls(name, columns, paths=paths)

    def need(self, columns: Mapping[str, str]) -> None:
        """As for every source, in each file."""
        for path in self.paths:
            names = _opened(path).columns() if len(self.paths) > 1 else self.columns
            for name, meaning in columns.items():
                self._need(str(path), names, name, meaning)

    def pieces(self, columns: Sequence[str], words: Sequence[str] = (), told: Told = None) -> Iterator[Piece]:
        """The rows of all files; numbers of rows start again in each."""
        sizes = [path.stat().st_size for path in self.paths]
        before = 0
        for path, size in zip(self.paths, sizes, strict=True):
            first = 1
            for batch, share in _opened(path).batches(columns, words):
                yield Piece(batch, str(path), first)
                first += batch.num_rows
                if told:
                    told(min((before + share * size) / max(sum(sizes), 1), 1.0))
            before += size


def _expand(name: str) -> list[Path]:
    """The files that a name, a folder or a pattern stands for."""
    remedy = "give a file of CSV or Parquet, a folder, or a pattern such as loans-*.csv"
    if not name or "\0" in name:
        raise InputError("data", name, "is no file", remedy)
    path = Path(name)
    if path.is_dir():
        found = [
            each
            for each in sorted(path.rglob("*"))
            if each.is_file() and _ending(each) in (*CSV_ENDINGS, *PARQUET_ENDINGS)
        ]
        found = [each for each in found if not any(part[0] in "._" for part in each.relative_to(path).parts)]
        if not found:
            raise InputError("data", name, "is a folder without CSV or Parquet files", remedy)
        return found
    if path.exists():
        return [path]
    found = [Path(each) for each in sorted(glob.glob(name, recursive=True)) if Path(each).is_file()]  # noqa: PTH207
    if not found:
        problem = "matches no file" if glob.has_magic(name) else "does not exist"
        raise InputError("data", name, problem, remedy)
    return found


def _ending(path: Path) -> str:
    """The ending of a file that says what it holds: ".csv" of "loans.csv.gz"."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def _opened(path: Path) -> "CsvFile | ParquetFile":
    with _readable(path, "a file"):
        if path.stat().st_size == 0:
            raise InputError("data", short(path), "is an empty file", "give a file with a header and rows")
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1" or _ending(path) in PARQUET_ENDINGS
    return ParquetFile(path) if is_parquet else CsvFile(path)


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file."""

    path: Path

    def columns(self) -> list[str]:
        """The names of its columns."""
        parquet = pyarrow("parquet")
        with _readable(self.path, "a Parquet file"), parquet.ParquetFile(self.path) as file:
            return list(file.schema_arrow.names)

    def batches(self, columns: Sequence[str], words: Sequence[str]) -> Iterator[tuple[Any, float]]:
        """Its record batches, and the share of it that is read."""
        parquet = pyarrow("parquet")
        # Without buffers for all columns of all row groups, memory stays small.
        with (
            _readable(self.path, "a Parquet file"),
            parquet.ParquetFile(self.path, read_dictionary=list(words), pre_buffer=False) as file,
        ):
            total, done = max(file.metadata.num_rows, 1), 0
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(columns)):
                done += batch.num_rows
                yield batch.select(list(columns)), done / total


@dataclass(frozen=True)
class CsvFile:
    """One CSV file, perhaps packed.  Cells are read as texts; an empty one is missing."""

    path: Path

    def columns(self) -> list[str]:
        """The names in its header."""
        return self._header()[0]

    def _header(self) -> tuple[list[str], str]:
        pa = pyarrow()
        with _readable(self.path, "a CSV file"), pa.input_stream(str(self.path), compression=self._packing()) as stream:
            text = bytes(stream.read(HEADER_BYTES)).decode("utf-8-sig", errors="replace")
        line = next(iter(text.splitlines()), "")
        delimiter = max(DELIMITERS, key=line.count)
        names = next(csv.reader([line or delimiter], delimiter=delimiter))
        if not any(names):
            raise InputError(
                "data", short(self.path), "has no header", "give the names of the columns in the first line"
            )
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{self.path}: header", name, "names two columns", "give each column its own name")
        return names, delimiter

    def _packing(self) -> str | None:
        return PACKED.get(self.path.suffix.lower())

    def batches(self, columns: Sequence[str], words: Sequence[str]) -> Iterator[tuple[Any, float]]:
        """Its record batches, and the share of it that is read."""
        pa = pyarrow()
        size = max(self.path.stat().st_size, 1)
        uneven: list[InputError] = []  # Arrow asks what to do with a row, and then raises an error of its own
        try:
            with _readable(self.path, "a CSV file"), pa.OSFile(str(self.path)) as raw:
                packing = self._packing()
                stream = pa.CompressedInputStream(raw, packing) if packing else raw
                for batch in self._reader(stream, columns, uneven):
                    share = 0.0
                    with suppress(ValueError):  # the file is closed when all of it is read
                        share = raw.tell() / size
                    yield batch, share
        except InputError as error:
            raise (uneven[0] if uneven else error) from None

    def _reader(self, stream: Any, columns: Sequence[str], uneven: list[InputError]) -> Any:
        """Arrow's reader of a stream; rows with too many or too few cells are added to `uneven`."""
        pa, arrow_csv = pyarrow(), pyarrow("csv")
        names, delimiter = self._header()

        def refuse(row: Any) -> str:
            place = f"{self.path}, row {row.number - 1}" if row.number else str(self.path)  # the header is row 0
            problem = f"has {row.actual_columns} cells, and the header {row.expected_columns}"
            uneven.append(InputError(place, row.text, problem, "correct it there"))
            return "error"

        return arrow_csv.open_csv(
            stream,
            # Without threads, Arrow knows the numbers of rows, and is as quick.
            read_options=arrow_csv.ReadOptions(
                block_size=BYTES_AT_ONCE, column_names=names, skip_rows=1, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns),
                column_types={name: pa.string() for name in columns},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


@contextmanager
def _readable(path: Path, kind: str) -> Generator[None]:
    """Whatever goes wrong inside is an InputError that names the file."""
    pa = pyarrow()
    try:
        yield
    except pa.ArrowException as error:
        remedy = "correct it there" if kind == "a CSV file" else AGAIN
        remedy = "save it in the encoding UTF-8" if "UTF8" in str(error) else remedy
        raise InputError("data", short(path), f"cannot be read as {kind} ({_line(error)})", remedy) from None
    except OSError as error:  # pyarrow raises it for broken content, too
        reason = error.strerror or _line(error)
        raise InputError("data", short(path), f"cannot be read as {kind} ({reason})", AGAIN) from None


def short(path: object) -> str:
    """A path of which the end is always shown."""
    text = str(path)
    return text if len(text) <= LONGEST_SHOWN else f"...{text[3 - LONGEST_SHOWN :]}"


def _line(error: BaseException) -> str:
    """The message of an error as one short line."""
    return " ".join(str(error).split())[:160].rstrip(".")
