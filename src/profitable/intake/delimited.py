"""Delimited text files: encoding, delimiter, header, and the records behind it.

A quote that is not closed would swallow the lines behind it.  If a record cannot be
read, only its first line is refused, and the others are read again as records of their
own.
"""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from profitable.errors import InputError

MOST_LINES = 200  # of a record; with more of them, a quote is not closed
LONGEST_LINE = 1_000_000  # letters
QUOTES = "the row has a quote that is not closed, or a letter behind a closing quote"
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's own first line
BYTE_ORDER_MARK = "\ufeff"


class DelimitedRecord(NamedTuple):
    """The number of its first line, its text, and its fields or why there are none."""

    number: int
    text: str
    fields: list[str] | None
    problem: str = ""


class LineReader:
    """The lines of a file; those of the current record can be taken again."""

    def __init__(self, text: io.TextIOWrapper, source: str) -> None:
        self._text, self._source = text, source
        self.number = 0  # of lines before the current record
        self._taken: list[str] = []
        self._again: deque[str] = deque()

    def __iter__(self) -> "LineReader":
        return self

    def __next__(self) -> str:
        if len(self._taken) >= MOST_LINES:
            raise csv.Error(QUOTES)
        line = self._again.popleft() if self._again else self._read()
        if not line:
            raise StopIteration
        self._taken.append(line)
        return line

    def _read(self) -> str:
        try:
            line = self._text.readline(LONGEST_LINE)
        except UnicodeError as error:
            raise InputError(
                "encoding", self._text.encoding, f"does not fit ({error})", "give another"
            ) from None
        except OSError as error:
            raise InputError(
                "file", self._source, f"cannot be read ({error.strerror or error})", "try again"
            ) from None
        if len(line) == LONGEST_LINE:
            raise InputError(
                f"{self._source}: line {self.number + len(self._taken) + 1}",
                line[:20],
                f"has {LONGEST_LINE} letters or more",
                "give a CSV file",
            )
        return line

    def finish(self) -> str:
        """End the current record and return its text."""
        text = "".join(self._taken)
        self.number += len(self._taken)
        self._taken.clear()
        return text

    def finish_first(self) -> str:
        """End the current record after its first line; the others come again."""
        self._again.extendleft(reversed(self._taken[1:]))
        del self._taken[1:]
        return self.finish()

    def next_filled(self) -> str:
        """Return the next line that is not blank; empty at the end of the file."""
        line = next(self, "")
        while line and not line.strip("\r\n \t" + BYTE_ORDER_MARK):
            self.finish()
            # A pipe of blank lines may never end.
            line = next(self, "") if self.number < MOST_LINES else ""
        self.finish()
        return line


class DelimitedFile:
    """A text file with a header, of which records are read one by one.

    Blank lines before the header, a byte order mark and Excel's line `sep=;` are
    understood.  Without such a line, the delimiter is the one that finds most of the
    `wanted` names, or else most columns.
    """

    def __init__(
        self,
        file: BinaryIO,
        source: str,
        *,
        encoding: str = "utf-8",
        encoding_remedy: str = "give its encoding, such as --encoding cp1252",
        delimiters: Iterable[str] = ",;\t|",
        wanted: frozenset[str] = frozenset(),
    ) -> None:
        self.source, self.encoding, self._remedy = source, encoding, encoding_remedy
        self._binary = file
        self._text = io.TextIOWrapper(file, encoding, errors="surrogateescape", newline="")
        self._lines = LineReader(self._text, source)
        try:
            line = self.header = self._first_line()
            if separator := SEPARATOR_LINE.fullmatch(line):
                line = self._lines.next_filled()
                self.header += line  # as it stands in the file, with the line `sep=`
                delimiters = separator[1]
            if problem := self.undecoded(line):
                raise InputError("file", source, problem, encoding_remedy)
            self.lines_before = self._lines.number  # up to the first row
            self.delimiter, self.names = self._split(line, delimiters, wanted)
        except BaseException:
            self.detach()
            raise
        self.newline = line[len(line.rstrip("\r\n")) :] or "\n"

    def detach(self) -> None:
        """Release the file without closing it."""
        self._text.detach()

    @property
    def position(self) -> int:
        """How many bytes are read."""
        return self._binary.tell()

    def _first_line(self) -> str:
        line = self._lines.next_filled()
        if line.startswith(BYTE_ORDER_MARK):
            line = line.removeprefix(BYTE_ORDER_MARK)
            if codecs.lookup(self.encoding).name == "utf-8":
                self.encoding = "utf-8-sig"
        if line.startswith("PK\x03\x04"):
            raise InputError(
                "file", self.source, "is a spreadsheet or an archive, not text", "save it as CSV"
            )
        if line.startswith(("\udcff\udcfe", "\udcfe\udcff")) or "\0" in line:
            raise InputError(
                "file",
                self.source,
                f"is not text in {self.encoding}",
                self._remedy.replace("cp1252", "utf-16"),
            )
        return line

    def _split(
        self, line: str, delimiters: Iterable[str], wanted: frozenset[str]
    ) -> tuple[str, list[str]]:
        """Return the delimiter, and the names in the header."""
        best: tuple[int, int, str, list[str]] = (0, 0, "", [])
        problem = ""
        for delimiter in delimiters:
            try:
                names = next(csv.reader([line], delimiter=delimiter, strict=True), list[str]())
            except csv.Error as error:  # another delimiter may fit
                problem = problem or f"has a header that cannot be read ({error})"
            else:
                known = len(wanted & set(map(plain_name, names)))
                if not best[2] or (known, len(names)) > best[:2]:
                    best = known, len(names), delimiter, names
        if problem and best[:2] <= (0, 1):
            raise InputError("file", self.source, problem, "fix its quotes")
        return best[2], best[3]

    def undecoded(self, text: str) -> str:
        """Return the problem of a text with bytes unknown to the encoding, or ""."""
        odd = next((letter for letter in text if "\udc80" <= letter <= "\udcff"), None)
        if odd is None:
            return ""
        return f"has the byte 0x{ord(odd) - 0xDC00:02x}, which {self.encoding} does not know"

    def records(self) -> Iterator[DelimitedRecord]:
        """Yield the records behind the header."""
        lines = self._lines
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = QUOTES
                if "field larger" in str(error):
                    problem = "the row has a field that is too long"
                yield DelimitedRecord(lines.number + 1, lines.finish_first(), None, problem)
            else:
                yield DelimitedRecord(lines.number + 1, lines.finish(), fields)


def plain_name(name: str) -> str:
    """Return a header name without spaces around it and without capital letters."""
    return name.strip().casefold()
