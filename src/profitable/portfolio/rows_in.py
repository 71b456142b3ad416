r"""Rows of a CSV file: outcomes or clients, read one by one, so that each wrong row is refused by itself.

>>> import io
>>> text = "loan;category;reward\nloan-1;students;1\nloan-2;students;yes\n"
>>> sheet = Sheet(io.BytesIO(text.encode()), OUTCOME_ROWS, Form(columns={"id": "loan"}), "outcomes.csv")
>>> [(row.number, row.made or row.why) for row in sheet][1]
(3, "reward = 'yes' is not a number")
"""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from profitable.common.spreadsheet import unguarded
from profitable.errors import InputError, ParameterError
from profitable.portfolio.cells_in import CellError, check_date_format, day, number, shares, whole
from profitable.portfolio.outcome import Client, Outcome
from profitable.portfolio.records_in import MOST_LINES, Lines, records

DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab"}
REASON = "reason"  # the column that we add to refused rows, and leave out when they come again
NAMES_SHOWN = 12
ZIPPED = "PK\x03\x04"  # as a spreadsheet begins


class Field(NamedTuple):
    """What a column can mean: its name, how its cells are read, and whether every row needs it."""

    name: str
    kind: str
    needed: bool = False


class Kind(NamedTuple):
    """What the rows of a file are: the fields they can have, and what is made of them."""

    what: str
    fields: tuple[Field, ...]
    make: Callable[..., Any]


WHO = (Field("id", "text", True), Field("category", "text", True))
OUTCOME_ROWS = Kind(
    "outcomes",
    (
        *WHO,
        Field("reward", "number", True),
        Field("amount", "number"),
        Field("cost", "number"),
        Field("decision", "whole"),
        Field("key", "text"),
        Field("known", "day"),
    ),
    Outcome,
)
CLIENT_ROWS = Kind(
    "clients",
    (
        *WHO,
        Field("decision", "whole"),
        Field("key", "text"),
        Field("matures", "whole"),
        Field("emerges", "shares"),
        Field("promised", "number"),
    ),
    Client,
)
DEMAND = Kind("demand", (Field("category", "text", True), Field("clients", "whole", True)), dict)


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a file is written.

    - `columns`: the header names of fields that are called otherwise, such as {"reward": "paid_back"}.
    - `delimiter`: between the cells; found from the header unless given.
    - `decimal`: "." or ","; a point unless given.
    - `date_format`: how dates are written, such as %d.%m.%Y; ISO unless given.
    - `ignore_others`: whether columns that have no meaning here are left out, instead of an error.
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
            remedy = 'give one letter, such as ";" or tab'
            raise ParameterError("delimiter", self.delimiter, "cannot stand between cells", remedy)
        if self.decimal not in (None, ".", ","):
            raise ParameterError("decimal", self.decimal, "is no decimal sign", 'give "." or ","')
        if self.date_format is not None:
            check_date_format(self.date_format)
        try:
            "id".encode(self.encoding)
        except (LookupError, ValueError):  # a null in its name is a ValueError
            remedy = "give one as utf-8, utf-16 or cp1252"
            raise ParameterError("encoding", self.encoding, "is unknown", remedy) from None

    def readers(self, delimiter: str) -> dict[str, Callable[[str], Any]]:
        """How the cells of each kind are read, in a file with that delimiter."""
        semicolons = delimiter == ";"
        return {
            "text": unguarded,
            "number": partial(number, decimal=self.decimal, semicolons=semicolons),
            "whole": partial(whole, decimal=self.decimal, semicolons=semicolons),
            "day": partial(day, date_format=self.date_format),
            "shares": partial(shares, decimal=self.decimal),
        }


class Row(NamedTuple):
    """A row: the number of its first line, its text as it stands there, and what was made of it, or why nothing was."""

    number: int
    text: str
    id: str
    made: Any
    why: str
    cells: list[str] | None


class Sheet:
    """A CSV file whose header is understood; iterating reads the rows, each of them once.

    `places` says which column means what, and `others` are the columns that are left out.
    """

    def __init__(self, file: BinaryIO, kind: Kind, form: Form, source: str) -> None:
        self.kind, self.form, self.source = kind, form, source
        self._binary = file
        self._text = io.TextIOWrapper(file, form.encoding, errors="surrogateescape", newline="")
        self._lines = Lines(self._text, source)
        self.encoding = form.encoding
        try:
            self.header = self._first_line()
            self.delimiter, self.names = self._cut()
            self.places, self.others = self._match()
        except BaseException:
            self.detach()
            raise
        self.newline = self.header[len(self.header.rstrip("\r\n")) :] or "\n"
        self.reason_is_last = _same(self.names[-1]) == REASON and len(self.names) - 1 not in self.places.values()
        readers = form.readers(self.delimiter)
        self._cells = [
            (each.name, self.places[each.name], readers[each.kind], each.needed)
            for each in kind.fields
            if each.name in self.places
        ]

    def detach(self) -> None:
        """Let go of the file without closing it."""
        self._text.detach()

    @property
    def position(self) -> int:
        """How many bytes are read."""
        return self._binary.tell()

    # ------------------------------------------------------------------------------------------ the header

    def _first_line(self) -> str:
        """The header as it stands in the file; InputError for what is no text."""
        line = next(self._lines, "")
        while line and not line.strip("\r\n \t\ufeff"):
            self._lines.forget()
            line = next(self._lines, "") if self._lines.number < MOST_LINES else ""  # of a pipe, it may never end
        self._lines.forget()
        if line.startswith("\ufeff"):
            line = line.removeprefix("\ufeff")
            if codecs.lookup(self.encoding).name == "utf-8":
                self.encoding = "utf-8-sig"
        if line.startswith(ZIPPED):
            raise InputError("file", self.source, "is a spreadsheet or an archive, not text", "save it as CSV")
        if line.startswith(("\udcff\udcfe", "\udcfe\udcff")) or "\0" in line:
            remedy = "give a CSV file, or --encoding utf-16 if it is one"
            raise InputError("file", self.source, f"is no text in {self.encoding}", remedy)
        if problem := _undecoded(line, self.encoding):
            raise InputError("file", self.source, problem, "give its --encoding, such as cp1252")
        if not line:
            needed = ", ".join(each.name for each in self.kind.fields if each.needed)
            raise InputError("file", self.source, "is empty", f"give a header with {needed}, and a row for each client")
        return line

    def _cut(self) -> tuple[str, list[str]]:
        """The delimiter, and the names in the header: that which finds most of the fields, or else most columns."""
        wanted = {_same(self.form.columns.get(each.name, each.name)) for each in self.kind.fields}
        found: list[tuple[int, int, str, list[str]]] = []
        problem = ""
        for delimiter in [self.form.delimiter] if self.form.delimiter else DELIMITER_NAMES:
            try:
                names = [name.strip() for name in next(csv.reader([self.header], delimiter=delimiter, strict=True))]
            except csv.Error as error:  # which only says that this is not the delimiter, if another one fits
                problem = problem or f"has a header that cannot be read ({error})"
            else:
                found.append((len(wanted & set(map(_same, names))), len(names), delimiter, names))
        if problem and not any(fields for fields, *_ in found):
            raise InputError("file", self.source, problem, "mend its quotes")
        *_, delimiter, names = max(found, key=lambda each: each[:2])
        return delimiter, names

    def _match(self) -> tuple[dict[str, int], list[str]]:
        """Which column each field is, and the names of columns that are none."""
        fields = {each.name: each for each in self.kind.fields}
        for name, header in self.form.columns.items():
            if name not in fields:
                close = get_close_matches(name, fields, 1)
                remedy = f"did you mean {close[0]}={header}" if close else f"choose from {', '.join(fields)}"
                raise ParameterError("column", f"{name}={header}", "is not for a known field", remedy)
        places: dict[str, int] = {}
        for name in fields:
            wanted = self.form.columns.get(name, name)
            found = [place for place, each in enumerate(self.names) if _same(each) == _same(wanted)]
            if len(found) > 1:
                raise InputError(f"{self.source}: column", wanted, "is there twice", "rename one of them")
            if found:
                places[name] = found[0]
        named = [each for place, each in enumerate(self.names) if place not in places.values() and each]
        others = [each for each in named if _same(each) != REASON]
        for name, each in fields.items():
            if name not in places and (each.needed or name in self.form.columns):
                raise self._missing(self.form.columns.get(name, name), name, others)
        if others and not self.form.ignore_others:
            raise self._unknown(others[0], [name for name in fields if name not in places])
        return places, others

    def _missing(self, wanted: str, field: str, others: list[str]) -> InputError:
        close = get_close_matches(wanted, others, 1)
        if close:
            remedy = f"did you mean {_short(close[0])}? Then give --column {field}={_short(close[0])}"
        else:
            found = ", ".join(map(_short, self.names[:NAMES_SHOWN])) + (
                ", ..." if len(self.names) > NAMES_SHOWN else ""
            )
            remedy = f"say which column it is with --column {field}=NAME; there are {found}"
        return InputError(f"{self.source}: column", wanted, "is missing", remedy)

    def _unknown(self, name: str, free: list[str]) -> InputError:
        close = get_close_matches(_same(name), free, 1)
        meant = f"did you mean {close[0]}? Then give --column {close[0]}={_short(name)}" if close else "leave it out"
        return InputError(f"{self.source}: column", name, "is not known", f"{meant}, or give --ignore-others")

    def understood(self) -> list[tuple[str, str]]:
        """Each column of the file, and what it means."""
        meaning: dict[int, str] = {}
        for name, place in self.places.items():
            meaning[place] = f"{meaning[place]} and {name}" if place in meaning else name
        return [(name, meaning.get(place, "left out")) for place, name in enumerate(self.names)]

    # ------------------------------------------------------------------------------------------ the rows

    def __iter__(self) -> Iterator[Row]:
        first = self.places.get("id", len(self.names))
        for each in records(self._lines, self.delimiter):
            cells = each.cells
            if cells is None:
                yield Row(each.number, each.text, "", None, each.problem, None)
            elif "".join(cells).strip():
                id = unguarded(cells[first].strip()) if first < len(cells) else ""
                yield Row(each.number, each.text, id, *self._read(each.text, cells), cells)

    def _read(self, text: str, cells: list[str]) -> tuple[Any, str]:
        """What a row says, or why it cannot be read."""
        if not text.isascii() and (problem := _undecoded(text, self.encoding)):
            return None, f"{problem}; mend it, or give --encoding, such as cp1252"
        if len(cells) != len(self.names):
            inside = self.delimiter == "," and len(cells) > len(self.names)
            remedy = "; a comma inside a cell needs quotes" if inside else ""
            mine, theirs = (size - self.reason_is_last for size in (len(cells), len(self.names)))
            return None, f"the row has {mine} cells, and the header has {theirs}{remedy}"
        values: dict[str, Any] = {}
        name = cell = ""
        try:
            for name, place, read, needed in self._cells:
                if cell := cells[place].strip():
                    values[name] = read(cell)
                elif needed:
                    return None, f"{name} is empty"
            return self.kind.make(**values), ""
        except CellError as error:
            return None, f"{name} = {_short(cell)} {error}"
        except InputError as error:
            return None, str(error).rstrip(".")


def _same(name: str) -> str:
    """A header name without what makes no difference: spaces around it, and capital letters."""
    return name.strip().casefold()


def _undecoded(text: str, encoding: str) -> str:
    """What is wrong with a text that has bytes which its encoding does not know."""
    odd = next((letter for letter in text if "\udc80" <= letter <= "\udcff"), None)
    return "" if odd is None else f"has the byte 0x{ord(odd) - 0xDC00:02x}, which {encoding} does not know"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
