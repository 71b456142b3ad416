r"""Rows of a CSV file: outcomes or clients, each of which is read or refused by itself.

>>> import io
>>> text = b"loan;category;reward\nloan-1;students;1\nloan-2;students;yes\n"
>>> form = Form(columns={"id": "loan"})
>>> sheet = Sheet(io.BytesIO(text), OUTCOME_ROWS, form, "outcomes.csv")
>>> [(row.number, row.made or row.why) for row in sheet][1]
(3, "reward = 'yes' is not a number")

Refused rows go to a file, unchanged, with the reason in a last column.  They are fixed
there, and the file is sent again.  No file is ever overwritten: what is refused of
`outcomes.csv` goes to `outcomes.refused.csv` or, if that has other rows, to
`outcomes.refused-2.csv`, and so on.
"""

import csv
import filecmp
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from profitable.common.text_tables import unguarded
from profitable.errors import InputError, NotSavedError, ParameterError
from profitable.intake.delimited import DelimitedFile, plain_name
from profitable.intake.fields import (
    FieldError,
    check_date_format,
    day,
    parse_number,
    parse_whole,
    shares,
)
from profitable.portfolio.outcome import Client, LoanOutcome, Outcome

DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab"}
REASON = "reason"  # the column that we add to refused rows, and leave out when they come again
NAMES_SHOWN = 12
NUMBERED = re.compile(r"^(.*)\.refused(-[0-9]+)?$")


class Field(NamedTuple):
    """A meaning of a column: its name, its type, and whether every row needs it.

    No row needs it in a file with one of the columns `unless`.
    """

    name: str
    kind: str
    needed: bool = False
    unless: tuple[str, ...] = ()


class RowKind(NamedTuple):
    """A kind of rows: their fields, and the class that is made of them."""

    what: str
    fields: tuple[Field, ...]
    make: Callable[..., Any]


def outcome_of(**values: Any) -> Outcome | LoanOutcome:
    """Return the outcome of a row, with a reward or of a loan; InputError if both."""
    if "reward" in values and not values.keys() & {*ENDED}:
        return Outcome(**values)
    for name in values.keys() - {"id", "category", *ENDED}:
        raise ParameterError(
            name, values[name], f"cannot be combined with {' or '.join(ENDED)}", "leave it empty"
        )
    return LoanOutcome(**values)


ENDED = ("defaulted", "closed")  # how a loan ends
OUTCOME_ROWS = RowKind(
    "outcomes",
    (
        Field("id", "text", True),
        Field("category", "text", True, ENDED),
        Field("reward", "number", True, ENDED),
        Field("amount", "number"),
        Field("cost", "number"),
        Field("decision", "whole"),
        Field("key", "text"),
        Field("known", "day"),
        *(Field(name, "day") for name in ENDED),
    ),
    outcome_of,
)
CLIENT_ROWS = RowKind(
    "clients",
    (
        Field("id", "text", True),
        Field("category", "text", True),
        Field("decision", "whole"),
        Field("key", "text"),
        Field("matures", "whole"),
        Field("emerges", "shares"),
        Field("promised", "number"),
        Field("term", "whole"),
        Field("rate", "number"),
        Field("instalment", "number"),
        Field("amount", "number"),
        Field("issued", "day"),
    ),
    Client,
)
DEMAND_ROWS = RowKind(
    "demand", (Field("category", "text", True), Field("clients", "whole", True)), dict
)


@dataclass(frozen=True, kw_only=True)
class Form:
    """The format of a file: names of columns, delimiter, decimal sign, dates, encoding.

    `columns` has the header names of fields that differ, such as {"reward":
    "paid_back"}.  With `ignore_others`, unknown columns are left out.
    """

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    delimiter: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str = "utf-8"
    ignore_others: bool = False

    def __post_init__(self) -> None:
        if self.delimiter in ("tab", "\\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n '):
            raise ParameterError(
                "delimiter",
                self.delimiter,
                "must be one character",
                'give one letter, such as ";" or tab',
            )
        if self.decimal not in (None, ".", ","):
            raise ParameterError(
                "decimal", self.decimal, "must be a decimal sign", 'give "." or ","'
            )
        if self.date_format is not None:
            check_date_format(self.date_format)
        try:
            "id".encode(self.encoding)
        except (LookupError, ValueError):  # a null in its name is a ValueError
            raise ParameterError(
                "encoding", self.encoding, "is unknown", "give one as utf-8, utf-16 or cp1252"
            ) from None

    def readers(self, delimiter: str) -> dict[str, Callable[[str], Any]]:
        """Return the reader of each type of field, in a file with that delimiter."""
        semicolons = delimiter == ";"
        return {
            "text": unguarded,
            "number": partial(parse_number, decimal=self.decimal, semicolons=semicolons),
            "whole": partial(parse_whole, decimal=self.decimal, semicolons=semicolons),
            "day": partial(day, date_format=self.date_format),
            "shares": partial(shares, decimal=self.decimal),
        }


class CsvRow(NamedTuple):
    """A row: its first line, its text, and what was made of it, or why nothing was."""

    number: int
    text: str
    id: str
    made: Any
    why: str
    cells: list[str] | None


class Sheet(DelimitedFile):
    """A CSV file whose header is matched; iterating reads each row once.

    `places` has the column of each field, and `others` are the columns left out.
    """

    def __init__(self, file: BinaryIO, kind: RowKind, form: Form, source: str) -> None:
        wanted = (plain_name(form.columns.get(each.name, each.name)) for each in kind.fields)
        super().__init__(
            file,
            source,
            encoding=form.encoding,
            delimiters=form.delimiter or DELIMITER_NAMES,
            wanted=frozenset(wanted),
        )
        self.kind, self.form = kind, form
        self.names: list[str] = [name.strip() for name in self.names]
        try:
            self.places, self.others = self._match()
        except BaseException:
            self.detach()
            raise
        self.reason_is_last = (
            plain_name(self.names[-1]) == REASON and len(self.names) - 1 not in self.places.values()
        )
        readers = form.readers(self.delimiter)
        self._cells = [
            (each.name, self.places[each.name], readers[each.kind], self._needs(each, self.places))
            for each in kind.fields
            if each.name in self.places
        ]

    # ----------------------------------------------------------------------- the header

    def _match(self) -> tuple[dict[str, int], list[str]]:
        """Return the column of each field, and the columns without a meaning."""
        if not self.names:
            needed = ", ".join(each.name for each in self.kind.fields if each.needed)
            raise InputError(
                "file",
                self.source,
                "is empty",
                f"give a header with {needed}, and a row for each client",
            )
        fields = {each.name: each for each in self.kind.fields}
        for name, header in self.form.columns.items():
            if name not in fields:
                remedy = f"choose from {', '.join(fields)}"
                if close := get_close_matches(name, fields, 1):
                    remedy = f"did you mean {close[0]}={header}"
                raise ParameterError(
                    "column", f"{name}={header}", "is not for a known field", remedy
                )
        names = [plain_name(each) for each in self.names]
        places: dict[str, int] = {}
        for name in fields:
            wanted = self.form.columns.get(name, name)
            if names.count(plain_name(wanted)) > 1:
                raise InputError(
                    f"{self.source}: column", wanted, "occurs twice", "rename one of them"
                )
            if plain_name(wanted) in names:
                places[name] = names.index(plain_name(wanted))
        others = [
            each
            for place, each in enumerate(self.names)
            if place not in places.values() and names[place] not in ("", REASON)
        ]
        for name, each in fields.items():
            wanted = self._needs(each, places) or name in self.form.columns
            if name not in places and wanted:
                raise self._missing(self.form.columns.get(name, name), name, others)
        if others and not self.form.ignore_others:
            raise self._unknown(others[0], [name for name in fields if name not in places])
        return places, others

    @staticmethod
    def _needs(field: Field, places: Collection[str]) -> bool:
        """Whether every row needs a field, where these have columns."""
        return field.needed and not any(name in places for name in field.unless)

    def _missing(self, wanted: str, field: str, others: list[str]) -> InputError:
        if close := get_close_matches(wanted, others, 1):
            name = _short(close[0])
            remedy = f"did you mean {name}? Then give --column {field}={name}"
        else:
            found = ", ".join(map(_short, self.names[:NAMES_SHOWN]))
            more = ", ..." if len(self.names) > NAMES_SHOWN else ""
            remedy = f"say which column it is with --column {field}=NAME; there are {found}{more}"
        return InputError(f"{self.source}: column", wanted, "is missing", remedy)

    def _unknown(self, name: str, free: list[str]) -> InputError:
        remedy = "leave it out"
        if close := get_close_matches(plain_name(name), free, 1):
            remedy = f"did you mean {close[0]}? Then give --column {close[0]}={_short(name)}"
        return InputError(
            f"{self.source}: column", name, "is not known", f"{remedy}, or give --ignore-others"
        )

    def meanings(self) -> list[tuple[str, str]]:
        """Each column of the file with its meaning."""
        meaning: dict[int, str] = {}
        for name, place in self.places.items():
            meaning[place] = f"{meaning[place]} and {name}" if place in meaning else name
        return [(name, meaning.get(place, "left out")) for place, name in enumerate(self.names)]

    # ------------------------------------------------------------------------- the rows

    def __iter__(self) -> Iterator[CsvRow]:
        first = self.places.get("id", len(self.names))
        for each in self.records():
            cells = each.fields
            if cells is None:
                yield CsvRow(each.number, each.text, "", None, each.problem, None)
            elif "".join(cells).strip():
                id = unguarded(cells[first].strip()) if first < len(cells) else ""
                yield CsvRow(each.number, each.text, id, *self._read(each.text, cells), cells)

    def _read(self, text: str, cells: list[str]) -> tuple[Any, str]:
        """Return the object of a row, or why it cannot be read."""
        if not text.isascii() and (problem := self.undecoded(text)):
            return None, f"{problem}; correct it, or give --encoding, such as cp1252"
        if len(cells) != len(self.names):
            inside = self.delimiter == "," and len(cells) > len(self.names)
            remedy = "; a comma inside a field needs quotes" if inside else ""
            mine, theirs = (size - self.reason_is_last for size in (len(cells), len(self.names)))
            return None, f"the row has {mine} fields, and the header has {theirs}{remedy}"
        values: dict[str, Any] = {}
        name = cell = ""
        try:
            for name, place, read, needed in self._cells:
                if cell := cells[place].strip():
                    values[name] = read(cell)
                elif needed:
                    return None, f"{name} is empty"
            return self.kind.make(**values), ""
        except FieldError as error:
            return None, f"{name} = {_short(cell)} {error}"
        except InputError as error:
            return None, str(error).rstrip(".")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


class RefusedFile:
    """A file that exists only if a row was refused, and only when it is complete.

    `path` is where the rows come from, None for standard input.  `wanted` is a name
    that the caller chose: what has it is replaced.
    """

    def __init__(self, sheet: Sheet, path: Path | None, wanted: Path | None) -> None:
        self._sheet, self._path, self._wanted = sheet, path, wanted
        self._file: TextIO | None = None
        self._error: OSError | None = None

    def add(self, row: CsvRow, why: str) -> None:
        """Write a row that was refused; errors are raised by `finish`.

        The other rows must go on.
        """
        if self._error is not None:
            return
        try:
            if self._file is None:
                self._file = self._opened()
                self._file.write(self._header())
            reason = f'"{why.replace(chr(34), chr(34) * 2)}"'
            self._file.write(self._line(_without_reason(row, self._sheet), reason))
        except OSError as error:
            self._error = error
            self.close()

    def finish(self) -> Path | None:
        """Name the file and return its path; None if no row was refused."""
        if self._file is not None and self._error is None:
            try:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                return self._named(Path(self._file.name))
            except OSError as error:
                self._error = error
                self.close()
        if self._error is None:
            return None
        raise NotSavedError(
            "refused",
            str(self._wanted or next(self._names())),
            f"cannot be written ({self._error.strerror or self._error}),"
            " so the refused rows are in no file",
            "send the same file again with --refused and another name",
        )

    def _opened(self) -> TextIO:
        """Return a new file, whose name is temporary."""
        place = self._wanted or next(self._names())
        temporary = place.with_name(f".{place.name[:30]}.{secrets.token_hex(8)}.part")
        return temporary.open(
            "x", encoding=self._sheet.encoding, errors="surrogateescape", newline=""
        )

    def _header(self) -> str:
        header = self._sheet.header.rstrip("\r\n")
        is_ready = self._sheet.reason_is_last
        return header + self._sheet.newline if is_ready else self._line(header, REASON)

    def _line(self, text: str, reason: str) -> str:
        try:
            reason.encode(self._sheet.encoding)
        except UnicodeEncodeError:
            reason = reason.encode("ascii", "backslashreplace").decode()
        return f"{text}{self._sheet.delimiter}{reason}{self._sheet.newline}"

    def close(self) -> None:
        """Remove the file if it has no name yet."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            Path(self._file.name).unlink(missing_ok=True)

    def _named(self, temporary: Path) -> Path:
        """Give a complete file the best name that is free; return it."""
        if self._wanted is not None:
            os.replace(temporary, self._wanted)
            return self._wanted
        for name in self._names():
            if name.is_file() and filecmp.cmp(temporary, name, shallow=False):
                temporary.unlink()  # the same rows were refused before, for the same reasons
                return name
            if not os.path.lexists(name):
                with suppress(FileExistsError):  # another job was faster
                    os.link(temporary, name)
                    temporary.unlink()
                    return name
        raise AssertionError

    def _names(self) -> Iterator[Path]:
        """Yield the names that the file can have, the best first."""
        stem, suffix, folder = "refused", ".csv", Path()
        if self._path is not None:
            found = NUMBERED.match(self._path.stem)
            stem = f"{found[1] if found else self._path.stem}.refused"
            suffix, folder = self._path.suffix or suffix, self._path.parent
        yield folder / f"{stem}{suffix}"
        for place in count(2):
            yield folder / f"{stem}-{place}{suffix}"


def _without_reason(row: CsvRow, sheet: Sheet) -> str:
    """Return the text of a row, without the reason of an earlier refusal."""
    text = row.text.rstrip("\r\n")
    if not sheet.reason_is_last:
        return text
    if row.cells is None or len(row.cells) != len(sheet.names):
        return re.sub(rf'{re.escape(sheet.delimiter)}"(?:[^"]|"")*"$', "", text)
    end = len(text)
    while (end := text.rfind(sheet.delimiter, 0, end)) >= 0:
        try:
            if (
                next(csv.reader([text[:end]], delimiter=sheet.delimiter, strict=True))
                == row.cells[:-1]
            ):
                return text[:end]
        except csv.Error:
            pass
    return text
