"""One file of past clients: CSV, Parquet or a sheet of Excel, read in record batches.

A row of a CSV file with too many or too few fields, or with bytes that are not UTF-8,
is an error; or it is counted as bad and left out.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from profitable.common.types import IntArray
from profitable.errors import InputError
from profitable.intake.delimited import DelimitedFile
from profitable.past.arrow import FileBatch, arrow_csv, pa, parquet, pc, readable, short
from profitable.past.bad_rows import BadRows
from profitable.past.escaped_bytes import ESCAPED, EscapedBytes, undecoded_rows, unescaped
from profitable.past.workbook import WORKBOOK_ENDINGS, Workbook

ROWS_AT_ONCE = 1 << 17  # rows of a piece: some megabytes, and enough for NumPy to be quick
BYTES_AT_ONCE = 1 << 22  # the same for a CSV file, in bytes of text
HEADER_BYTES = 1 << 16
AS_UTF8 = "save it in the encoding UTF-8"
PARQUET_ENDINGS = (".parquet", ".pq")
OTHER_SHEETS = (".xls", ".xlsb", ".ods", ".numbers")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def ending_of(path: Path) -> str:
    """Return the ending of a file that says what it holds: ".csv" of "loans.csv.gz"."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """Return the file and the sheet of a path.

    >>> [str(each) for each in sheet_of(Path("loans.xlsx#Sheet2"))]
    ['loans.xlsx', 'Sheet2']
    """
    before, sign, sheet = str(path).rpartition("#")
    if sign and ending_of(Path(before)) in WORKBOOK_ENDINGS and not path.exists():
        return Path(before), sheet
    return path, None


def opened(path: Path) -> "CsvFile | ParquetFile | Workbook":
    """Return a file by what it holds; InputError if nothing can read it."""
    file, sheet = sheet_of(path)
    if ending_of(file) in OTHER_SHEETS:
        raise InputError(
            "data",
            short(path),
            f"is a spreadsheet of the kind {ending_of(file)}",
            "save it as .xlsx or CSV",
        )
    with readable(file, "a file"):
        if file.stat().st_size == 0:
            raise InputError(
                "data", short(path), "is an empty file", "give a file with a header and rows"
            )
        with file.open("rb") as stream:
            is_parquet = stream.read(4) == b"PAR1" or ending_of(file) in PARQUET_ENDINGS
    if ending_of(file) in WORKBOOK_ENDINGS:
        return Workbook(file, sheet)
    return ParquetFile(path) if is_parquet else CsvFile(path)


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file."""

    path: Path

    def columns(self) -> list[str]:
        """Return the names of its columns."""
        with readable(self.path, "a Parquet file"), parquet.ParquetFile(self.path) as file:
            return list(file.schema_arrow.names)

    def batches(
        self, columns: Sequence[str], words: Sequence[str], bad: BadRows | None = None
    ) -> Iterator[FileBatch]:
        """Its record batches, and the share of it that is read."""
        # Without buffers for all columns of all row groups, memory stays small.
        with (
            readable(self.path, "a Parquet file"),
            parquet.ParquetFile(self.path, read_dictionary=list(words), pre_buffer=False) as file,
        ):
            total, done = max(file.metadata.num_rows, 1), 0
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(columns)):
                done += batch.num_rows
                yield FileBatch(batch.select(list(columns)), done / total)


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
            readable(self.path, "a CSV file"),
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

    def batches(
        self, columns: Sequence[str], words: Sequence[str], bad: BadRows | None = None
    ) -> Iterator[FileBatch]:
        """Its record batches; `bad` gets rows that cannot be read."""
        skipped = _Skipped()
        try:
            for batch in self._batches(columns, skipped, bad):
                yield batch
                skipped.done += batch.rows.num_rows
        except InputError as error:
            if "straddling" in error.problem:  # a row that does not end
                problem = "has a quote that is not closed"
                raise InputError("data", short(self.path), problem, "correct it there") from None
            if "UTF8" not in error.problem and not skipped.has_bytes:
                raise (skipped.error or error) from None
            if bad is None:
                self._refuse_bytes()
                raise
            yield from self._decoded(columns, skipped, bad)

    def _batches(
        self, columns: Sequence[str], skipped: "_Skipped", bad: BadRows | None, escape: bool = False
    ) -> Iterator[FileBatch]:
        """Its record batches, perhaps with bytes that are not UTF-8 escaped."""
        size, kept = max(self.path.stat().st_size, 1), 0
        with readable(self.path, "a CSV file"), pa.OSFile(str(self.path)) as raw:
            packing = self._packing()
            stream = pa.CompressedInputStream(raw, packing) if packing else raw
            stream = pa.PythonFile(EscapedBytes(stream), "r") if escape else stream
            with undecoded_rows(skipped.hear):
                reader = self._reader(stream, columns, skipped, bad)
            while True:
                try:
                    with undecoded_rows(skipped.hear):
                        batch = reader.read_next_batch()
                except StopIteration:
                    return
                share = 0.0
                with suppress(ValueError):  # the file is closed when all of it is read
                    share = raw.tell() / size
                yield FileBatch(batch, share, skipped.numbers(kept, batch.num_rows))
                kept += batch.num_rows

    def _decoded(
        self, columns: Sequence[str], skipped: "_Skipped", bad: BadRows
    ) -> Iterator[FileBatch]:
        """Read once more; fields that are not UTF-8 become missing, and are marked."""
        done = skipped.done
        for batch in self._batches(columns, skipped, bad, escape=True):
            first = min(done, batch.rows.num_rows)
            done -= first
            rows = batch.rows.slice(first)
            if not rows.num_rows:
                continue
            texts: list[Any] = []
            undecoded: dict[str, Any] = {}
            for name, values in zip(columns, rows.columns, strict=True):
                wrong = pc.match_substring_regex(values, ESCAPED).fill_null(False)
                is_fine = not pc.any(wrong).as_py()
                texts.append(values if is_fine else pc.if_else(wrong, None, values))
                if not is_fine:
                    undecoded[name] = values
            numbers = None if batch.numbers is None else batch.numbers[first:]
            rows = pa.RecordBatch.from_arrays(texts, names=list(columns))
            yield FileBatch(rows, batch.share, numbers, undecoded)

    def _refuse_bytes(self) -> None:
        """InputError if a row is not in UTF-8."""
        with pa.input_stream(str(self.path), compression=self._packing()) as stream:
            file = self._delimited(stream)
            for number, record in enumerate(file.records(), 1):
                if problem := file.undecoded(record.text):
                    raise InputError(
                        f"{self.path}, row {number}", record.text.strip(), problem, AS_UTF8
                    )

    def _reader(
        self,
        stream: Any,
        columns: Sequence[str],
        skipped: "_Skipped",
        bad: BadRows | None,
    ) -> Any:
        """Open Arrow's reader, which asks what to do with an uneven row."""
        header = self._header()

        def refuse(row: Any) -> str:
            number = row.number and row.number - header.lines_before
            error = InputError(
                f"{self.path}, row {number}" if number else str(self.path),
                unescaped(row.text),
                f"has {row.actual_columns} fields, and the header {row.expected_columns}",
                "correct it there",
            )
            if bad is None:
                skipped.error = skipped.error or error  # Arrow raises one of its own
                return "error"
            if number not in skipped.rows:
                skipped.rows[number] = None
                many = row.actual_columns > row.expected_columns
                bad.lose(f"has too {'many' if many else 'few'} fields", error)
            return "skip"

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


@dataclass
class _Skipped:
    """What a reader of a CSV file left out: rows, and the rows that came before."""

    rows: dict[int, None] = field(default_factory=lambda: {})  # their numbers, in order
    done: int = 0
    error: InputError | None = None
    has_bytes: bool = False  # that are not UTF-8, in a row with too many or too few fields

    def hear(self) -> None:
        """Hear that a row cannot be decoded."""
        self.has_bytes = True

    def numbers(self, kept: int, size: int) -> IntArray | None:
        """Return the numbers of rows, of which so many before were kept."""
        if not self.rows:
            return None
        places = np.arange(kept, kept + size)
        before = np.array(list(self.rows)) - 1 - np.arange(len(self.rows))  # rows kept before each
        return places + 1 + np.searchsorted(before, places, side="right")
