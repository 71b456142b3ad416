"""Source: the rows of past clients, as Arrow record batches of some columns.

Files (CSV and Parquet), folders, patterns and lists of them are read piece by piece.
Any dataframe that Arrow or narwhals know is a source, too: pandas, Polars, PyArrow,
DuckDB.

>>> source = open_source({"job": ["cook", "clerk"], "y": [0, 1]})
>>> [(piece.place, piece.first, piece.batch.num_rows) for piece in source.pieces(["y"])]
[('the table', 1, 2)]
"""

import glob
import io
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import narwhals as nw

from profitable.common.extras import extra
from profitable.common.types import BoolArray, FloatArray
from profitable.errors import InputError
from profitable.intake.delimited import DelimitedFile

ROWS_AT_ONCE = 1 << 17  # rows of a piece: some megabytes, and enough for NumPy to be quick
BYTES_AT_ONCE = 1 << 22  # the same for a CSV file, in bytes of text
HEADER_BYTES = 1 << 16
AS_UTF8 = "save it in the encoding UTF-8"
CSV_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
A_TABLE = "the table"
LONGEST_SHOWN = 70  # letters of a path in an error
OnShare = Callable[[float], object] | None


class LazyArrow:
    """The module pyarrow, or a part of it, imported when it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with extra("backtest", "backtests read with it"):
            return getattr(import_module(self._module), name)


pa: Any = LazyArrow("pyarrow")
pc: Any = LazyArrow("pyarrow.compute")
parquet: Any = LazyArrow("pyarrow.parquet")
arrow_csv: Any = LazyArrow("pyarrow.csv")


class Piece(NamedTuple):
    """Rows that follow each other: a record batch, its file, and its first row."""

    batch: Any
    place: str  # the name of the file
    first: int  # 1 for the first row after the header

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
            f"{self.place}, row {self.first + index}, column {column}", value, problem, remedy
        )

    def refuse(
        self,
        column: str,
        wrong: BoolArray,
        problem: str,
        remedy: str = "leave the row out, or correct it",
        values: FloatArray | None = None,
    ) -> None:
        """InputError that names the first wrong row, if there is any, and its value."""
        if wrong.any():
            index = int(wrong.argmax())
            value = None if values is None else float(values[index])
            raise self.error(column, index, value, problem, remedy)


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
        self, columns: Sequence[str], words: Sequence[str] = (), progress: OnShare = None
    ) -> Iterator[Piece]:
        """Return the rows, with the given columns.

        `words` have few different texts; `progress` gets the share done.
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
                    close = get_close_matches(name, names, 1)
                    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
                    raise InputError(
                        f"{place}: {role}",
                        name,
                        "is not a column",
                        f"did you mean {close[0]}" if close else f"choose from {listed}",
                    )


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
                "data", A_TABLE, f"must be a table ({_line(error)})", "give columns of equal length"
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
        self, columns: Sequence[str], words: Sequence[str] = (), progress: OnShare = None
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
                    yield Piece(batch, self.name, first)
                    first += batch.num_rows
                    if progress and total:
                        progress(min((first - 1) / total, 1.0))
        except (pa.ArrowException, TypeError) as error:
            raise InputError(
                "data",
                self.name,
                f"cannot be read ({_line(error)})",
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
        return cls(", ".join(names), _opened(paths[0]).columns(), paths=paths)

    def headers(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name and the columns of each file."""
        for path in self.paths:
            yield str(path), _opened(path).columns() if len(self.paths) > 1 else self.columns

    def pieces(
        self, columns: Sequence[str], words: Sequence[str] = (), progress: OnShare = None
    ) -> Iterator[Piece]:
        """Return the rows of all files; numbers of rows start again in each."""
        sizes = [path.stat().st_size for path in self.paths]
        before = 0
        for path, size in zip(self.paths, sizes, strict=True):
            first = 1
            for batch, share in _opened(path).batches(columns, words):
                yield Piece(batch, str(path), first)
                first += batch.num_rows
                if progress:
                    progress(min((before + share * size) / max(sum(sizes), 1), 1.0))
            before += size


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
            and _ending(each) in (*CSV_ENDINGS, *PARQUET_ENDINGS)
            and not any(part[0] in "._" for part in each.relative_to(path).parts)
        ]
    else:
        problem = "matches no file" if glob.has_magic(name) else "does not exist"
        matching = map(Path, sorted(glob.glob(name, recursive=True)))  # noqa: PTH207
        found = [path] if path.exists() else [each for each in matching if each.is_file()]
    if not found:
        raise InputError("data", name, problem, remedy)
    return found


def _ending(path: Path) -> str:
    """Return the ending of a file that says what it holds: ".csv" of "loans.csv.gz"."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def _opened(path: Path) -> "CsvFile | ParquetFile":
    with _readable(path, "a file"):
        if path.stat().st_size == 0:
            raise InputError(
                "data", short(path), "is an empty file", "give a file with a header and rows"
            )
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1" or _ending(path) in PARQUET_ENDINGS
    return ParquetFile(path) if is_parquet else CsvFile(path)


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file."""

    path: Path

    def columns(self) -> list[str]:
        """Return the names of its columns."""
        with _readable(self.path, "a Parquet file"), parquet.ParquetFile(self.path) as file:
            return list(file.schema_arrow.names)

    def batches(self, columns: Sequence[str], words: Sequence[str]) -> Iterator[tuple[Any, float]]:
        """Its record batches, and the share of it that is read."""
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
    """One CSV file, perhaps packed.

    Fields are read as texts; an empty one is missing.
    """

    path: Path

    def columns(self) -> list[str]:
        """Return the names in its header."""
        return self._header().names

    def _header(self) -> DelimitedFile:
        """Return the file up to its first rows."""
        with (
            _readable(self.path, "a CSV file"),
            pa.input_stream(str(self.path), compression=self._packing()) as stream,
        ):
            found = self._delimited(io.BytesIO(stream.read(HEADER_BYTES)))
        names = found.names
        if not any(names):
            raise InputError(
                "data",
                short(self.path),
                "has no header",
                "give the names of the columns in the first line",
            )
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"{self.path}: header",
                    name,
                    "names two columns",
                    "give each column its own name",
                )
        return found

    def _delimited(self, file: BinaryIO) -> DelimitedFile:
        try:
            return DelimitedFile(file, str(self.path), encoding_remedy=AS_UTF8)
        except InputError as error:
            raise InputError("data", short(self.path), error.problem, error.remedy) from None

    def _packing(self) -> str | None:
        return PACKED.get(self.path.suffix.lower())

    def batches(self, columns: Sequence[str], words: Sequence[str]) -> Iterator[tuple[Any, float]]:
        """Its record batches, and the share of it that is read."""
        size = max(self.path.stat().st_size, 1)
        # Arrow asks what to do with a row, and then raises an error of its own.
        uneven: list[InputError] = []
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
            if "UTF8" in error.problem:
                self._refuse_bytes()
            raise (uneven[0] if uneven else error) from None

    def _refuse_bytes(self) -> None:
        """InputError if a row is not in UTF-8."""
        with pa.input_stream(str(self.path), compression=self._packing()) as stream:
            file = self._delimited(stream)
            for number, record in enumerate(file.records(), 1):
                if problem := file.undecoded(record.text):
                    raise InputError(
                        f"{self.path}, row {number}", record.text.strip(), problem, AS_UTF8
                    )

    def _reader(self, stream: Any, columns: Sequence[str], uneven: list[InputError]) -> Any:
        """Open Arrow's reader; rows with too many or too few fields go to `uneven`."""
        header = self._header()

        def refuse(row: Any) -> str:
            number = row.number and row.number - header.lines_before
            uneven.append(
                InputError(
                    f"{self.path}, row {number}" if number else str(self.path),
                    row.text,
                    f"has {row.actual_columns} fields, and the header {row.expected_columns}",
                    "correct it there",
                )
            )
            return "error"

        return arrow_csv.open_csv(
            stream,
            # Without threads, Arrow knows the numbers of rows, and is as quick.
            read_options=arrow_csv.ReadOptions(
                block_size=BYTES_AT_ONCE,
                column_names=header.names,
                skip_rows=header.lines_before,
                use_threads=False,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=header.delimiter, newlines_in_values=True, invalid_row_handler=refuse
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
    try:
        yield
    except (pa.ArrowException, OSError) as error:  # pyarrow raises both for broken content
        reason = getattr(error, "strerror", None) or _line(error)
        is_text = kind == "a CSV file" and not isinstance(error, OSError)
        raise InputError(
            "data",
            short(path),
            f"cannot be read as {kind} ({reason})",
            "correct it there" if is_text else "is it complete? write or copy it again",
        ) from None


def short(path: object) -> str:
    """Return a path of which the end is always shown."""
    text = str(path)
    return text if len(text) <= LONGEST_SHOWN else f"...{text[3 - LONGEST_SHOWN :]}"


def _line(error: BaseException) -> str:
    """Return the message of an error as one short line."""
    return " ".join(str(error).split())[:160].rstrip(".")
