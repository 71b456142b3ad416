"""Records of a CSV file: the lines of each, as they stand there, and its cells.

A quote that is not closed would swallow the lines behind it.  So if a record cannot be read, only its first line is
refused, and the others are read again, as records of their own.
"""

import csv
import io
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from profitable.errors import InputError

MOST_LINES = 200  # of a record; with more of them, a quote is not closed
LONGEST_LINE = 1_000_000  # letters
QUOTES = "the row has a quote that is not closed, or a letter behind a closing quote"
TOO_LONG = "the row has a cell that is too long"


class Record(NamedTuple):
    """The number of its first line, its text, and its cells or, if they cannot be read, what is wrong."""

    number: int
    text: str
    cells: list[str] | None
    problem: str = ""


class Lines:
    """The lines of a file; those of the current record can be taken again."""

    def __init__(self, text: io.TextIOWrapper, source: str) -> None:
        self._text, self._source = text, source
        self.number = 0  # of lines before the current record
        self._taken: list[str] = []
        self._again: deque[str] = deque()

    def __iter__(self) -> "Lines":
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
            raise InputError("encoding", self._text.encoding, f"does not fit ({error})", "give another") from None
        except OSError as error:
            raise InputError("file", self._source, f"cannot be read ({error.strerror or error})", "try again") from None
        if len(line) == LONGEST_LINE:
            where = f"{self._source}: line {self.number + len(self._taken) + 1}"
            raise InputError(where, line[:20], f"has {LONGEST_LINE} letters or more", "give a CSV file")
        return line

    def forget(self) -> str:
        """The text of the current record, which is done."""
        text = self._taken[0] if len(self._taken) == 1 else "".join(self._taken)
        self.number += len(self._taken)
        self._taken.clear()
        return text

    def keep_first(self) -> str:
        """The first line of the current record, which is done; the others come again."""
        self._again.extendleft(reversed(self._taken[1:]))
        del self._taken[1:]
        return self.forget()


def records(lines: Lines, delimiter: str) -> Iterator[Record]:
    """The records behind the lines that were taken already."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = TOO_LONG if "field larger" in str(error) else QUOTES
            yield Record(lines.number + 1, lines.keep_first(), None, problem)
        else:
            yield Record(lines.number + 1, lines.forget(), cells)
