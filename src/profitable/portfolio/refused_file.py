"""The file of refused rows: each as it stood in the file it came from, with the reason in a last column.

Rows are mended there, and the file is sent again.  No file is ever overwritten: what is refused of `outcomes.csv` goes
to `outcomes.refused.csv` or, if that has other rows, to `outcomes.refused-2.csv`, and so on.
"""

import csv
import filecmp
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from profitable.errors import NotSavedError
from profitable.portfolio.rows_in import REASON, Row, Sheet

NUMBERED = re.compile(r"^(.*)\.refused(-[0-9]+)?$")


class RefusedFile:
    """A file that is there only if a row was refused; it gets its name when it is complete.

    `path` is where the rows come from, None for standard input.  `wanted` is a name that the caller chose: what has it
    is replaced.
    """

    def __init__(self, sheet: Sheet, path: Path | None, wanted: Path | None) -> None:
        self._sheet = sheet
        self._path, self._wanted = path, wanted
        self._file: TextIO | None = None
        self._temporary: Path | None = None
        self._error: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop()

    def add(self, row: Row, why: str) -> None:
        """Write a row that was refused.  What goes wrong is said by `finish`: the other rows must go on."""
        if self._error is not None:
            return
        try:
            if self._file is None:
                self._file = self._begin()
            self._file.write(self._line(_without_reason(row, self._sheet), f'"{why.replace(chr(34), chr(34) * 2)}"'))
        except OSError as error:
            self._fail(error)

    def finish(self) -> Path | None:
        """Give the file its name, and return it: None if no row was refused, NotSavedError if it cannot be written."""
        if self._file is not None and self._error is None:
            try:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                return self._named()
            except OSError as error:
                self._fail(error)
        if self._error is None:
            return None
        problem = f"cannot be written ({self._error.strerror or self._error}), so the refused rows are in no file"
        place = str(self._wanted or next(self._names()))
        raise NotSavedError("refused", place, problem, "send the same file again with --refused and another name")

    def _begin(self) -> TextIO:
        place = self._wanted or next(self._names())
        self._temporary = place.with_name(f".{place.name[:30]}.{secrets.token_hex(8)}.part")
        sheet = self._sheet
        file = self._temporary.open("x", encoding=sheet.encoding, errors="surrogateescape", newline="")
        header = sheet.header.rstrip("\r\n")
        file.write(header + sheet.newline if sheet.reason_is_last else self._line(header, REASON))
        return file

    def _line(self, text: str, reason: str) -> str:
        try:
            reason.encode(self._sheet.encoding)
        except UnicodeEncodeError:
            reason = reason.encode("ascii", "backslashreplace").decode()
        return f"{text}{self._sheet.delimiter}{reason}{self._sheet.newline}"

    def _fail(self, error: OSError) -> None:
        self._error = error
        self._drop()

    def _drop(self) -> None:
        """Remove what has no name yet."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def _named(self) -> Path:
        assert self._temporary is not None
        if self._wanted is not None:
            os.replace(self._temporary, self._wanted)
            return self._wanted
        for name in self._names():
            if name.is_file() and filecmp.cmp(self._temporary, name, shallow=False):
                self._temporary.unlink()  # the same rows were refused before, for the same reasons
                return name
            if not os.path.lexists(name):
                with suppress(FileExistsError):  # another job was faster
                    os.link(self._temporary, name)
                    self._temporary.unlink()
                    return name
        raise AssertionError

    def _names(self) -> Iterator[Path]:
        """The names that the file can have, the best first."""
        if self._path is None:
            stem, suffix, folder = "refused", ".csv", Path()
        else:
            found = NUMBERED.match(self._path.stem)
            stem = f"{found[1] if found else self._path.stem}.refused"
            suffix, folder = self._path.suffix or ".csv", self._path.parent
        yield folder / f"{stem}{suffix}"
        for place in count(2):
            yield folder / f"{stem}-{place}{suffix}"


def _without_reason(row: Row, sheet: Sheet) -> str:
    """The text of a row; if it was refused before, without the reason of then."""
    text = row.text.rstrip("\r\n")
    if not sheet.reason_is_last:
        return text
    mark = re.escape(sheet.delimiter)
    if row.cells is None or len(row.cells) != len(sheet.names):
        return re.sub(rf'{mark}"(?:[^"]|"")*"$', "", text)
    end = len(text)
    while (end := text.rfind(sheet.delimiter, 0, end)) >= 0:
        try:
            if next(csv.reader([text[:end]], delimiter=sheet.delimiter, strict=True)) == row.cells[:-1]:
                return text[:end]
        except csv.Error:
            pass
    return text
