"""Line: one event of a portfolio, and the chain that ties each line to the one before it.

The hash of a line is the SHA-256 of a JSON text: a list of its columns in the order below, and the hash of the line
before it.  So whoever changes a line, removes one or puts one in between must change all hashes behind it.

>>> first = Line(line=1, time="2026-11-16T08:00:00.000000Z", actor="ann", version="0.1.0", kind="create", round=0)
>>> second = first._replace(line=2, kind="outcome", id="loan-4711", category="students", reward=1.0)
>>> chain = [*chained([first, second], START)]
>>> chain[1].hash[:12], chain[1].hash == hash_of(second, chain[0].hash)
('9aea92029551', True)
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self, cast

import sqlalchemy as sa
from pydantic_core import from_json

from profitable.errors import BrokenPortfolioError
from profitable.portfolio.columns import unpacked
from profitable.portfolio.prepared import Prepared
from profitable.portfolio.spelling import can_encode, forms, normal
from profitable.portfolio.tables import journal

CREATE, DECIDE, OPEN, OUTCOME, CORRECT, CHANGE = "create", "decide", "open", "outcome", "correct", "change"
UPGRADE, RESTORE = "upgrade", "restore"  # what happened to the database; the agent stays as it is
LINE_KINDS = (CREATE, DECIDE, OPEN, OUTCOME, CORRECT, CHANGE, UPGRADE, RESTORE)
START = "0" * 64  # stands for the line before the first
PAGE_LINES = 5_000  # lines read at a time
BEFORE_ALL = -(2**63)  # no number is smaller; somebody may have put lines before the first


def _no_json(value: object) -> object:
    raise ValueError(value)


encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=_no_json).encode


FIELDS_OF = {  # what a body has at least
    CREATE: {"agent", "name", "shadow"},
    DECIDE: {"asked", "policy", "columns"},
    CORRECT: {"was", "now", "counted_in"},
    CHANGE: {"setting", "from", "to"},
    UPGRADE: {"from", "to"},
    RESTORE: {"from"},
}


def altered(line: int) -> BrokenPortfolioError:
    """The error for a line that is not what it was."""
    problem, remedy = "was altered, or is damaged", "run `profitable verify`, and restore a backup"
    return BrokenPortfolioError("line", line, problem, remedy)


class Line(NamedTuple):
    """A line of the journal; `tables.py` says what its columns mean."""

    line: int
    time: str
    actor: str
    version: str
    kind: str
    id: str | None = None
    category: str | None = None
    round: int = 0
    decision: int | None = None
    matures: int | None = None
    reward: float | None = None
    amount: float | None = None
    cost: float | None = None
    known: str | None = None
    refers: int | None = None
    body: str | None = None
    hash: str = ""

    def sound(self) -> Self:
        """The line itself; BrokenPortfolioError if a text or a number is none.  SQLite keeps anything anywhere."""
        fits = all(map(isinstance, self, CELL_TYPES)) and self.kind in LINE_KINDS
        if fits and self.kind == OUTCOME:
            fits = self.reward is not None and self.category is not None
        if not fits or not all(each is None or math.isfinite(each) for each in (self.reward, self.amount, self.cost)):
            raise altered(self.line)
        return self

    @property
    def content(self) -> dict[str, Any]:
        """The body, read; BrokenPortfolioError if it cannot be."""
        self.sound()
        try:
            content: Any = {} if self.body is None else from_json(self.body)
            if self.kind == DECIDE:
                content["columns"] = unpacked(content["columns"])
        except (ValueError, TypeError, KeyError, AttributeError):
            content = None
        if not isinstance(content, dict) or not FIELDS_OF.get(self.kind, set()) <= content.keys():
            raise altered(self.line)
        return cast(dict[str, Any], content)


WHOLE_CELL, TEXT_CELL, MAYBE_TEXT, MAYBE_WHOLE, MAYBE_NUMBER = int, str, str | None, int | None, float | int | None
CELL_TYPES = (
    *(WHOLE_CELL, *[TEXT_CELL] * 4, MAYBE_TEXT, MAYBE_TEXT, WHOLE_CELL, MAYBE_WHOLE, MAYBE_WHOLE),
    *(MAYBE_NUMBER, MAYBE_NUMBER, MAYBE_NUMBER, MAYBE_TEXT, MAYBE_WHOLE, MAYBE_TEXT, TEXT_CELL),
)


class Head(NamedTuple):
    """The end of a chain: the number of its last line, and that line's hash."""

    line: int
    hash: str


def hash_of(line: Line, before: str) -> str:
    """The hash of a line that follows one with the hash `before`."""
    return hashlib.sha256(encode([*line[:-1], before]).encode()).hexdigest()


def chained(lines: Iterable[Line], before: str) -> Iterator[Line]:
    """The lines with their hashes."""
    for line in lines:
        before = hash_of(line, before)
        yield line._replace(hash=before)


def intact(connection: sa.Connection, line: Line) -> Line:
    """A line whose hash fits it and the line before; BrokenPortfolioError if it was altered."""
    before = sa.select(journal.c.hash).where(journal.c.line == line.line - 1)
    try:
        fits = hash_of(line, START if line.line == 1 else str(connection.scalar(before))) == line.hash
    except ValueError:  # a number that JSON does not have
        fits = False
    if not fits:
        raise altered(line.line)
    return line


NEWEST = sa.select(sa.func.max(journal.c.line)).scalar_subquery()
NEWEST_LINE = Prepared(sa.select(journal.c.line, journal.c.hash).where(journal.c.line == NEWEST))
INSERT = Prepared(sa.insert(journal), Line._fields)


def head(connection: sa.Connection) -> Head:
    """The end of the journal."""
    return head_of(NEWEST_LINE.rows(connection))


def head_of(rows: list[Any]) -> Head:
    """The end of the journal, from what `NEWEST_LINE` returned."""
    if rows and not isinstance(rows[0][1], str):
        raise altered(rows[0][0])
    return Head(*rows[0]) if rows else Head(0, START)


def origin(connection: sa.Connection) -> str:
    """The hash of the first line: it tells portfolios apart, and their copies have the same."""
    return str(connection.scalar(sa.select(journal.c.hash).where(journal.c.line == 1)))


def append(connection: sa.Connection, lines: list[Line]) -> None:
    """Store lines that are chained already."""
    INSERT.each(connection, lines)


def pages(
    connection: sa.Connection, *conditions: sa.ColumnElement[bool], after: int = BEFORE_ALL
) -> Iterator[list[Line]]:
    """The lines that meet the conditions, in order, some thousands at a time."""
    chosen = sa.select(journal).where(*conditions).order_by(journal.c.line).limit(PAGE_LINES)
    while page := connection.execute(chosen.where(journal.c.line > after)).fetchall():
        yield [Line(*row) for row in page]
        after = page[-1][0]


def checked_pages(connection: sa.Connection) -> Iterator[list[Line]]:
    """All lines in order, some thousands at a time; BrokenPortfolioError for one that does not fit the one before."""
    end = Head(0, START)
    for page in pages(connection):
        for line, right in zip(page, chained((line.sound() for line in page), end.hash), strict=True):
            if line != right or line.line != end.line + 1:
                raise altered(end.line + 1)
            end = Head(line.line, line.hash)
        yield page


def one(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Line | None:
    """The last line that meets the conditions."""
    chosen = sa.select(journal).where(*conditions).order_by(journal.c.line.desc()).limit(1)
    row = connection.execute(chosen).first()
    return None if row is None else Line(*row).sound()


def forms_in(connection: sa.Connection, id: str) -> list[str]:
    """The forms of an id, or a key, in which it may stand in a database."""
    return [form for form in forms(id) if can_encode(form, connection.info.get("codec"))] or [id]


def named(connection: sa.Connection, kind: str, id: str) -> Line | None:
    """The line of a kind that has an id, or a key, in whatever form it is written there."""
    found = (one(connection, journal.c.kind == kind, journal.c.id == form) for form in forms_in(connection, id))
    return next((line for line in found if line is not None), None)


OF_ID = Prepared(sa.select(journal).where(journal.c.id == sa.bindparam("id")))


def of_clients(connection: sa.Connection, ids: list[str]) -> dict[tuple[str, str], Line]:
    """The lines that opened some clients, and their outcomes, by kind and id."""
    found: dict[tuple[str, str], Line] = {}
    ids = [form for id in ids for form in forms_in(connection, id)]
    for start in range(0, len(ids), PAGE_LINES):
        rows = connection.execute(sa.select(journal).where(journal.c.id.in_(ids[start : start + PAGE_LINES])))
        found |= clients_of(rows)
    return found


def clients_of(rows: Iterable[Any]) -> dict[tuple[str, str], Line]:
    """The lines about clients among some rows, by kind and id."""
    lines = (Line(*row).sound() for row in rows)
    return {(line.kind, normal(str(line.id))): line for line in lines if line.kind in (OPEN, OUTCOME)}
