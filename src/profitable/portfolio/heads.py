"""A file of heads: what the end of a journal was, night after night.

A hash in the journal can be rewritten together with all that follow; a hash in another file cannot.  So a portfolio
that was cut off, rewritten, or replaced by an earlier backup does not fit the heads that were kept.  One line is

    2026-11-17T02:30:00.000000Z line 1417 hash 4d68... journal 9f31... signature MEUC...

`journal` is the hash of the first line, which tells portfolios apart.  A signature (Ed25519) is of the text before it.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from profitable.common.extras import extra
from profitable.common.files import as_path, read_bytes
from profitable.common.text_tables import number, several
from profitable.errors import InputError, NotSavedError, ParameterError, ProfitableError
from profitable.portfolio.journal import PAGE_LINES, Head, origin
from profitable.portfolio.session import now
from profitable.portfolio.store import Store
from profitable.portfolio.tables import journal
from profitable.portfolio.verify import Verification

FORM = re.compile(
    r"(?P<text>(?P<time>\S+) line (?P<line>\d{1,18}) hash (?P<hash>[0-9a-f]{64}) journal (?P<journal>[0-9a-f]{64}))"
    r"(?: signature (?P<signature>[A-Za-z0-9+/]{86}==))?"
)
TORN = "# torn"  # ends a line whose writing was interrupted


class Kept(NamedTuple):
    """A line of the file."""

    text: str
    time: str
    head: Head
    journal: str
    signature: str | None

    @property
    def told(self) -> str:
        """How messages call it."""
        return f"line {number(self.head.line)}, which was kept on {self.time[:10]}"


class HeadsFile:
    """A file of heads; with `sign`, a private key, new ones are signed; with `public_key`, they are only compared."""

    def __init__(self, path: object, *, sign: object = None, public_key: object = None) -> None:
        if sign is not None and public_key is not None:
            raise ParameterError("public_key", str(public_key), "is given beside sign", "leave it out: sign has it")
        self._path = as_path("heads", path)
        self._writes, self._private, self._public = public_key is None, None, None
        if sign is not None or public_key is not None:
            with extra("sign", "heads are signed with it"):
                from profitable.portfolio import signing
            self._private = None if sign is None else signing.private_key(sign)
            self._public = signing.public_key(public_key) if self._private is None else self._private.public_key()
            self._signing = signing
        self.heads, self.is_torn = self._read()

    def keep(self, found: Verification, store: Store) -> Verification:
        """What `verify` found, and whether the journal continues the heads that were kept; if so, add its own."""
        try:
            with store.read() as connection:
                first = origin(connection)
                findings, notes = [*self._findings(connection, first, found.head)], [*found.notes]
        except (SQLAlchemyError, ProfitableError):
            if found.is_clean:
                raise
            return found  # which says that it cannot be read
        if self.is_torn:
            notes.append(f"the last line of {self._path} is torn, and was left out")
        if not self.heads:
            notes.append(f"{self._path} had no head: whether lines were cut off or rewritten before cannot be told")
        elif not findings:
            newest = max(self.heads, key=lambda each: each.head.line).head.line
            since = f"{several(found.head.line - newest, 'line')} since line {number(newest)}"
            notes.append(f"the journal continues all {several(len(self.heads), 'head')} of {self._path}; {since}")
        found = replace(found, findings=(*found.findings, *findings), notes=tuple(notes))
        if found.is_clean and self._writes and self._private is None and any(kept.signature for kept in self.heads):
            note = f"the heads of {self._path} are signed, so none was added without a key: give --sign"
            return replace(found, notes=(*found.notes, note))
        if found.is_clean and self._writes:
            try:
                self._add(found.head, first)
            except OSError as error:
                problem = f"may lack the new head ({(error.strerror or str(error)).lower()})"
                failed = NotSavedError("heads", str(self._path), problem, "run the same command again")
                failed.result = found
                raise failed from None
        return found

    # ------------------------------------------------------------------------------------------ comparing

    def _findings(self, connection: sa.Connection, first: str, end: Head) -> Iterator[str]:
        other = next((kept.journal for kept in self.heads if kept.journal != first), None)
        if other is not None:
            problem = f"the hash {other[:12]}..., and here it has {first[:12]}..."
            cause = "they are those of another portfolio, or this one was rewritten from its beginning"
            yield f"the heads of {self._path} belong to a journal whose first line has {problem}: {cause}"
            return
        if (unsigned := self._unsigned()) is not None:
            cause = "it was altered, or signed with another key, or not at all"
            yield f"the signature of {unsigned.told} in {self._path} does not fit: {cause}"
        stored = _hashes(connection, sorted({kept.head.line for kept in self.heads}))
        ordered = sorted(self.heads, key=lambda kept: kept.head.line)
        wrong = [kept for kept in ordered if stored.get(kept.head.line) != kept.head.hash]
        if not wrong:
            return
        fitting = [kept for kept in ordered if kept.head.line < wrong[0].head.line]
        last = f"the last that fits is {fitting[-1].told}" if fitting else "none before it fits"
        if wrong[0].head.line > end.line:
            cause = f"it ends at line {number(end.line)}. Lines were cut off, or an earlier backup was put in its place"
        else:
            cause = "it has another hash. Lines were rewritten, or an earlier backup was put in its place and went on"
        yield f"the journal does not continue {wrong[0].told} in {self._path}: {cause} ({last})"

    def _unsigned(self) -> Kept | None:
        """The first head whose signature does not fit, if there is a key to tell."""
        if (key := self._public) is None:
            return None
        is_signed = self._signing.is_signed
        return next((kept for kept in self.heads if not is_signed(kept.text, kept.signature, key)), None)

    # ------------------------------------------------------------------------------------------ the file

    def _read(self) -> tuple[list[Kept], bool]:
        """The heads in the file, and whether its last line is torn."""
        try:
            content = read_bytes(self._path) if self._path.exists() or not self._path.parent.is_dir() else b""
        except OSError as error:
            problem = f"cannot be read ({(error.strerror or str(error)).lower()})"
            raise InputError("heads", str(self._path), problem, "give a file") from None
        *lines, tail = content.decode(errors="replace").split("\n")
        heads: list[Kept] = []
        for place, line in enumerate(lines, 1):
            plain = line.strip()
            if plain and not plain.startswith("#") and not plain.endswith(TORN):
                if (kept := _kept(plain)) is None:
                    remedy = "put it back as it was, or give a new file"
                    raise InputError(f"{self._path}: line", place, "is not a head", remedy)
                heads.append(kept)
        last = _kept(tail.strip())
        is_torn = bool(tail.strip()) and (last is None or (self._public is not None and last.signature is None))
        return (heads if last is None or is_torn else [*heads, last]), is_torn

    def _add(self, end: Head, first: str) -> None:
        """Append a head in one step, unless it is the newest already; others may do so at the same time."""
        heads, is_torn = self._read()
        if heads and heads[-1].head == end:
            return
        text = f"{now()} line {end.line} hash {end.hash} journal {first}"
        if self._private is not None:
            text += f" signature {self._signing.signature_of(text, self._private)}"
        before = f" {TORN}\n" if is_torn else ""
        if not is_torn and heads and not self._path.read_bytes().endswith(b"\n"):
            before = "\n"
        line = f"{before}{text}\n".encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            if os.write(handle, line) != len(line):
                raise OSError("it was written in part")
            os.fsync(handle)
        finally:
            os.close(handle)


def _kept(text: str) -> Kept | None:
    found = FORM.fullmatch(text)
    if found is None:
        return None
    head = Head(int(found["line"]), found["hash"])
    return Kept(found["text"], found["time"], head, found["journal"], found["signature"])


def _hashes(connection: sa.Connection, lines: list[int]) -> dict[int, str]:
    """The hashes of some lines of the journal, of those that are there."""
    found: dict[int, str] = {}
    for start in range(0, len(lines), PAGE_LINES):
        some = journal.c.line.in_(lines[start : start + PAGE_LINES])
        found |= {
            row.line: row.hash for row in connection.execute(sa.select(journal.c.line, journal.c.hash).where(some))
        }
    return found
