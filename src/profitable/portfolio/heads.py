"""A file of heads: what the end of a journal was, night after night.

A hash in the journal can be rewritten together with all that follow; a hash in another
file cannot.  So a portfolio that was cut off, rewritten, or replaced by an earlier
backup does not fit the heads that were kept.  One line is

    2026-11-17T02:30:00.000000Z line 1417 hash 4d68... journal 9f31... signature MEUC...

`journal` is the hash of the first line, which tells portfolios apart.  A signature
(Ed25519) is of the text before it.
"""

import base64
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from profitable.common.extras import extra
from profitable.common.files import as_path, read_bytes, reading_file
from profitable.common.text_tables import number_text, several
from profitable.errors import InputError, NotSavedError, ParameterError, ProfitableError
from profitable.portfolio.journal import PAGE_LINES, Head, journal, origin
from profitable.portfolio.session import now
from profitable.portfolio.store import Store
from profitable.portfolio.verify import Verification

FORM = re.compile(
    r"(?P<text>(?P<time>\S+) line (?P<line>\d{1,18}) hash (?P<hash>[0-9a-f]{64})"
    r" journal (?P<journal>[0-9a-f]{64}))"
    r"(?: signature (?P<signature>[A-Za-z0-9+/]{86}==))?"
)
OPENSSL = {
    "private": "make one: openssl genpkey -algorithm ed25519 -out key.pem",
    "public": "make it: openssl pkey -in key.pem -pubout -out key.pub",
}
TORN = "# torn"  # ends a line whose writing was interrupted


class KeptHead(NamedTuple):
    """A line of the file."""

    text: str
    time: str
    head: Head
    journal: str
    signature: str | None

    @property
    def title(self) -> str:
        """The head as messages name it."""
        return f"line {number_text(self.head.line)}, which was kept on {self.time[:10]}"


class HeadsFile:
    """A file of heads: compared with the journal, and extended unless `public_key`."""

    def __init__(self, path: object, *, sign: object = None, public_key: object = None) -> None:
        if sign is not None and public_key is not None:
            raise ParameterError(
                "public_key",
                str(public_key),
                "cannot be combined with sign",
                "leave it out: sign includes it",
            )
        self._path = as_path("heads", path)
        self._writes = public_key is None
        self._private = None if sign is None else _load_key("sign", sign)
        self._public = None if public_key is None else _load_key("public_key", public_key)
        if self._private is not None:
            self._public = self._private.public_key()
        self.heads, self.is_torn = self._read()

    def keep(self, found: Verification, store: Store) -> Verification:
        """Compare a verified journal with the heads, and add its own if they fit."""
        try:
            with store.read() as connection:
                first = origin(connection)
                findings = [*self._findings(connection, first, found.head)]
        except (SQLAlchemyError, ProfitableError):
            if found.is_clean:
                raise
            return found  # which says that it cannot be read
        notes = [*found.notes, *self._notes(found.head, continued=not findings)]
        found = replace(found, findings=(*found.findings, *findings), notes=tuple(notes))
        if found.findings or not self._writes:
            return found
        if self._private is None and any(kept.signature for kept in self.heads):
            note = f"no head was added to {self._path}, whose heads are signed: give --sign"
            return replace(found, notes=(*found.notes, note))
        try:
            self._add(found.head, first)
        except OSError as error:
            failed = NotSavedError(
                "heads",
                str(self._path),
                f"may lack the new head ({(error.strerror or str(error)).lower()})",
                "run the same command again",
            )
            failed.result = found
            raise failed from None
        return found

    def _notes(self, end: Head, *, continued: bool) -> Iterator[str]:
        if self.is_torn:
            yield f"the last line of {self._path} is torn, and was left out"
        if not self.heads:
            yield f"{self._path} had no head, so earlier cuts or rewrites cannot be detected"
        elif continued:
            newest = max(kept.head.line for kept in self.heads)
            yield (
                f"the journal continues all {several(len(self.heads), 'head')} of {self._path};"
                f" {several(end.line - newest, 'line')} since line {number_text(newest)}"
            )

    # ------------------------------------------------------------------------ comparing

    def _findings(self, connection: sa.Connection, first: str, end: Head) -> Iterator[str]:
        other = next((kept.journal for kept in self.heads if kept.journal != first), None)
        if other is not None:
            yield (
                f"the heads of {self._path} belong to a journal whose first line has the hash"
                f" {other[:12]}..., and here it has {first[:12]}...: this is another portfolio,"
                " or it was rewritten from its beginning"
            )
            return
        key = self._public
        altered = (kept for kept in self.heads if key is not None and not _is_signed(kept, key))
        if (unsigned := next(altered, None)) is not None:
            yield (
                f"the signature of {unsigned.title} in {self._path} does not fit:"
                " it was altered, or signed with another key, or not at all"
            )
        ordered = sorted(self.heads, key=lambda kept: kept.head.line)
        stored = _hashes(connection, [kept.head.line for kept in ordered])
        wrong = [kept for kept in ordered if stored.get(kept.head.line) != kept.head.hash]
        if not wrong:
            return
        fitting = [kept for kept in ordered if kept.head.line < wrong[0].head.line]
        last = f"the last that fits is {fitting[-1].title}" if fitting else "none before it fits"
        if wrong[0].head.line > end.line:
            cause = (
                f"it ends at line {number_text(end.line)}. Lines were cut off, or an earlier backup"
                " was put in its place"
            )
        else:
            cause = (
                "it has another hash. Lines were rewritten, or an earlier backup was put in its"
                " place and went on"
            )
        yield f"the journal does not continue {wrong[0].title} in {self._path}: {cause} ({last})"

    # ------------------------------------------------------------------------- the file

    def _read(self) -> tuple[list[KeptHead], bool]:
        """Return the heads in the file, and whether its last line is torn."""
        content = b""
        with reading_file("heads", self._path, "give a file"):
            if self._path.exists() or not self._path.parent.is_dir():
                content = read_bytes(self._path)
        *lines, tail = content.decode(errors="replace").split("\n")
        heads: list[KeptHead] = []
        for place, line in enumerate(lines, 1):
            plain = line.strip()
            if plain and not plain.startswith("#") and not plain.endswith(TORN):
                if (kept := _kept(plain)) is None:
                    raise InputError(
                        f"{self._path}: line",
                        place,
                        "is not a head",
                        "put it back as it was, or give a new file",
                    )
                heads.append(kept)
        last = _kept(tail.strip())
        is_torn = bool(tail.strip()) and (
            last is None or (self._public is not None and last.signature is None)
        )
        return (heads if last is None or is_torn else [*heads, last]), is_torn

    def _add(self, end: Head, first: str) -> None:
        """Append a head in one write, unless it is the newest already."""
        heads, is_torn = self._read()
        if heads and heads[-1].head == end:
            return
        text = f"{now()} line {end.line} hash {end.hash} journal {first}"
        if self._private is not None:
            text += f" signature {base64.b64encode(self._private.sign(text.encode())).decode()}"
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


def _kept(text: str) -> KeptHead | None:
    found = FORM.fullmatch(text)
    if found is None:
        return None
    head = Head(int(found["line"]), found["hash"])
    return KeptHead(found["text"], found["time"], head, found["journal"], found["signature"])


def _hashes(connection: sa.Connection, lines: list[int]) -> dict[int, str]:
    """Return the hashes of some lines of the journal, of those that are there."""
    return {
        row.line: row.hash
        for start in range(0, len(lines), PAGE_LINES)
        for row in connection.execute(
            sa.select(journal.c.line, journal.c.hash).where(
                journal.c.line.in_(lines[start : start + PAGE_LINES])
            )
        )
    }


# --------------------------------------------------------------------------- signatures


def _load_key(field: str, path: object) -> Any:
    """Return the Ed25519 key in a PEM file: private for `sign`, else public."""
    with extra("sign", "heads are signed with it"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    is_private = field == "sign"
    which = "private" if is_private else "public"
    remedy = OPENSSL[which]
    with reading_file(field, path, remedy):
        pem = read_bytes(as_path(field, path))
    try:
        if is_private:
            key: object = serialization.load_pem_private_key(pem, None)
        else:
            key = serialization.load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # not PEM, a password, another kind
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey if is_private else ed25519.Ed25519PublicKey):
        raise InputError(
            field, str(path), f"must be an Ed25519 {which} key (PEM, without a password)", remedy
        )
    return key


def _is_signed(kept: KeptHead, key: Any) -> bool:
    with extra("sign", "heads are signed with it"):
        from cryptography.exceptions import InvalidSignature
    try:
        key.verify(base64.b64decode(kept.signature or ""), kept.text.encode())
    except InvalidSignature:
        return False
    return True
