"""Journal: a table of lines, each an event of a portfolio, chained to the one before.

It is never rewritten.  What follows from it, the agent, is kept in `state.py`.

The hash of a line is the SHA-256 of a JSON text: a list of its columns in the order
below, and the hash of the line before it.  So whoever changes a line, removes one or
puts one in between must change all hashes behind it.

A decision about many categories is packed, column by column (`packed`).

>>> first = Line(1, "2026-11-16T08:00:00.000000Z", "ann", "0.1.0", "create")
>>> second = first._replace(line=2, kind="outcome", id="loan-4711", reward=1.0)
>>> second = second._replace(category="students")
>>> chain = [*chained([first, second], START)]
>>> chain[1].hash[:12], chain[1].hash == hash_of(second, chain[0].hash)
('9aea92029551', True)
"""

import binascii
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, cast, get_args

import numpy as np
import sqlalchemy as sa
from pydantic_core import from_json, to_json
from sqlalchemy.dialects import postgresql, sqlite

from profitable.common.types import FloatArray, IntArray
from profitable.errors import BrokenPortfolioError
from profitable.portfolio.spelling import can_encode, forms, normal

metadata = sa.MetaData()
# SQLite numbers its rows by a column that is an INTEGER to the letter.
Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

journal = sa.Table(
    "profitable_journal",
    metadata,
    sa.Column("line", Number, primary_key=True, autoincrement=False),  # 1, 2, 3, ... without gaps
    sa.Column("time", sa.Text, nullable=False),  # UTC, as 2026-11-16T08:00:00.000000Z
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),  # of this package
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("id", sa.Text),
    sa.Column("category", sa.Text),
    sa.Column("round", Number, nullable=False),  # rounds decided by then, this line included
    sa.Column("decision", Number),  # the round in which a client was accepted
    sa.Column("matures", Number),  # rounds after it until all is known
    sa.Column("reward", sa.Double),
    sa.Column("amount", sa.Double),
    sa.Column("cost", sa.Double),
    sa.Column("known", sa.Text),  # the day on which the outcome was known, as the caller says
    sa.Column("refers", Number),  # an earlier line
    sa.Column("body", sa.Text),  # JSON
    sa.Column("hash", sa.Text, nullable=False),  # of this line and the one before
    sa.Index("profitable_journal_id", "id", "kind", unique=True),
    sa.Index("profitable_journal_category", "category", "line"),
    sa.Index("profitable_journal_time", "time"),
)
# Indexes of lines that are few among many outcomes: their column, and which lines.
PARTIAL_INDEXES = {
    "refers": (journal.c.refers, journal.c.refers.is_not(None)),
    "decide": (journal.c.round, journal.c.kind == "decide"),
    "change": (journal.c.line, journal.c.kind == "change"),
}
for name, (column, only) in PARTIAL_INDEXES.items():
    sa.Index(
        f"profitable_journal_{name}", column, unique=True, sqlite_where=only, postgresql_where=only
    )


DIALECTS: dict[str, sa.Dialect] = {
    "sqlite": sqlite.dialect(),  # type: ignore[no-untyped-call]
    "postgresql": postgresql.psycopg.dialect(paramstyle="format"),  # type: ignore[no-untyped-call]
}


class Prepared:
    r"""A statement that is compiled once and passed to the driver as text.

    Every outcome needs some of them, and SQLAlchemy would take a tenth of a millisecond
    for each.  Parameters are in the order of `names`.

    >>> table = sa.table("t", sa.column("a"), sa.column("b"))
    >>> Prepared(sa.select(table).where(table.c.a == sa.bindparam("x"))).text("sqlite")
    'SELECT t.a, t.b \nFROM t \nWHERE t.a = ?'
    """

    def __init__(
        self, statement: sa.Executable | dict[str, Any], names: Sequence[str] | None = None
    ) -> None:
        self._statement = statement
        self._names = names
        self._texts: dict[str, str] = {}

    def text(self, dialect: str) -> str:
        """Return the SQL for a dialect."""
        if dialect not in self._texts:
            statement: Any = (
                self._statement[dialect] if isinstance(self._statement, dict) else self._statement
            )
            compiled = statement.compile(dialect=DIALECTS[dialect])
            assert self._names is None or [*self._names] == [*(compiled.positiontup or ())]
            self._texts[dialect] = str(compiled)
        return self._texts[dialect]

    def start(self, connection: sa.Connection, parameters: Sequence[object] = ()) -> Any:
        """Run it, and return the cursor that has the rows."""
        driver: Any = connection.connection.dbapi_connection
        return driver.execute(self.text(connection.dialect.name), parameters)

    def rows(self, connection: sa.Connection, parameters: Sequence[object] = ()) -> list[Any]:
        """Run it, and return all rows."""
        return list(self.start(connection, parameters).fetchall())

    def each(self, connection: sa.Connection, parameters: Sequence[Sequence[object]]) -> None:
        """Run it once for each of some parameters."""
        if len(parameters) == 1:
            self.start(connection, parameters[0])
        else:
            connection.connection.cursor().executemany(
                self.text(connection.dialect.name), parameters
            )


LineKind = Literal[
    "create",
    "decide",
    "open",
    "outcome",
    "correct",
    "change",
    "upgrade",  # this and the next happened to the database; the agent stays as it is
    "restore",
]
LINE_KINDS: tuple[LineKind, ...] = get_args(LineKind)
START = "0" * 64  # stands for the line before the first
PAGE_LINES = 5_000  # lines read at a time
BEFORE_ALL = -(2**63)  # the smallest number; a forger may put lines before the first
encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode
FIELDS_OF: dict[LineKind, set[str]] = {  # what a body has at least
    "create": {"agent", "name", "shadow"},
    "decide": {"asked", "policy", "columns"},
    "correct": {"was", "now", "counted_in"},
    "change": {"setting", "from", "to"},
    "upgrade": {"from", "to"},
    "restore": {"from"},
}


def altered(line: int) -> BrokenPortfolioError:
    """Return the error for a line that is not what it was."""
    return BrokenPortfolioError(
        "line", line, "was altered, or is damaged", "run `profitable verify`, and restore a backup"
    )


class Line(NamedTuple):
    """A line of the journal.

    What the columns of each kind of line hold:

    - `create`: body: the agent at the beginning, as its own file has it.
    - `decide`: id: the key; round: the round that it opens; body: the options, and the
      numbers of every category.
    - `open`: id: the client; decision, matures: the round of acceptance, and the number
      of rounds until all is known; body: terms; amount: that of a loan.
    - `outcome`: id: the client; reward, amount, cost, known: the outcome; refers: the
      line that opened the client; body: how a loan ended, and its term.
    - `correct`: id: its key, if any; reward, amount, cost: the right ones (no reward:
      taken back, or a loan); refers: the line before; body: also what was wrong, and in
      which round it counts.
    - `change`: id: its key, if any; body: the setting, its old and new value.
    - `upgrade`: body: the schema versions before and after.
    - `restore`: body: the backup, whose last line is the line before.
    """

    line: int
    time: str
    actor: str
    version: str
    kind: LineKind
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
        """Return the line itself; BrokenPortfolioError if a text or a number is none.

        SQLite keeps anything anywhere.
        """
        fits = all(map(isinstance, self, CELL_TYPES)) and self.kind in LINE_KINDS
        if fits and self.kind == "outcome":
            said = self.body if self.reward is None else self.reward
            fits = said is not None and self.category is not None
        if not fits or not all(
            each is None or math.isfinite(each) for each in (self.reward, self.amount, self.cost)
        ):
            raise altered(self.line)
        return self

    def follows(self, before: str) -> bool:
        """Whether its hash fits its content behind a line with the hash `before`."""
        try:
            return hash_of(self, before) == self.hash
        except (TypeError, ValueError):  # a value that JSON does not have
            return False

    @property
    def content(self) -> dict[str, Any]:
        """The body, read; BrokenPortfolioError if it cannot be."""
        self.sound()
        try:
            content: Any = {} if self.body is None else from_json(self.body)
            if self.kind == "decide":
                content["columns"] = unpacked(content["columns"])
        except (ValueError, TypeError, KeyError, AttributeError):
            content = None
        if not isinstance(content, dict) or not FIELDS_OF.get(self.kind, set()) <= content.keys():
            raise altered(self.line)
        return cast(dict[str, Any], content)


CELL_TYPES = (
    *(int, str, str, str, str, str | None, str | None, int, int | None, int | None),
    *[float | int | None] * 3,  # reward, amount, cost
    *(str | None, int | None, str | None, str),
)


class Head(NamedTuple):
    """The end of a chain: the number of its last line, and that line's hash."""

    line: int
    hash: str


def hash_of(line: Line, before: str) -> str:
    """Return the hash of a line that follows one with the hash `before`."""
    return hashlib.sha256(encode([*line[:-1], before]).encode()).hexdigest()


def chained(lines: Iterable[Line], before: str) -> Iterator[Line]:
    """Yield the lines with their hashes."""
    for line in lines:
        before = hash_of(line, before)
        yield line._replace(hash=before)


def intact(connection: sa.Connection, line: Line) -> Line:
    """Return a line whose hash fits; BrokenPortfolioError if it was altered."""
    if not line.follows(START if line.line == 1 else hash_at(connection, line.line - 1)):
        raise altered(line.line)
    return line


def hash_at(connection: sa.Connection, line: int) -> str:
    """Return the hash of a line."""
    return str(connection.scalar(sa.select(journal.c.hash).where(journal.c.line == line)))


NEWEST = sa.select(sa.func.max(journal.c.line)).scalar_subquery()
NEWEST_LINE = Prepared(sa.select(journal.c.line, journal.c.hash).where(journal.c.line == NEWEST))
INSERT = Prepared(sa.insert(journal), Line._fields)


def head(connection: sa.Connection) -> Head:
    """Return the end of the journal."""
    return head_of(NEWEST_LINE.rows(connection))


def head_of(rows: list[Any]) -> Head:
    """Return the end of the journal, from what `NEWEST_LINE` returned."""
    if rows and not isinstance(rows[0][1], str):
        raise altered(rows[0][0])
    return Head(*rows[0]) if rows else Head(0, START)


def origin(connection: sa.Connection) -> str:
    """Return the hash of the first line, which only copies share."""
    return hash_at(connection, 1)


def pages(
    connection: sa.Connection, *conditions: sa.ColumnElement[bool], by_id: bool = False
) -> Iterator[list[Line]]:
    """Yield the lines that meet the conditions, in order, some thousands at a time."""
    order: sa.ColumnElement[Any] = journal.c.id if by_id else journal.c.line
    if by_id and connection.dialect.name == "postgresql":
        order = order.collate("C")  # letter by letter, as SQLite does
    after: object = "" if by_id else BEFORE_ALL
    chosen = sa.select(journal).where(*conditions).order_by(order).limit(PAGE_LINES)
    while page := connection.execute(chosen.where(order > after)).fetchall():
        yield [Line(*row) for row in page]
        after = page[-1].id if by_id else page[-1].line


def journal_lines(
    connection: sa.Connection, *conditions: sa.ColumnElement[bool], by_id: bool = False
) -> Iterator[Line]:
    """Yield the lines that meet the conditions, in order or in that of their ids."""
    for page in pages(connection, *conditions, by_id=by_id):
        yield from page


def checked_pages(connection: sa.Connection) -> Iterator[list[Line]]:
    """Yield pages of all lines; BrokenPortfolioError where the chain breaks."""
    end = Head(0, START)
    for page in pages(connection):
        for line, right in zip(
            page, chained((line.sound() for line in page), end.hash), strict=True
        ):
            if line != right or line.line != end.line + 1:
                raise altered(end.line + 1)
            end = Head(line.line, line.hash)
        yield page


def newest(
    connection: sa.Connection, *conditions: sa.ColumnElement[bool], limit: int | None = None
) -> Iterator[Line]:
    """Yield the lines that meet the conditions, the last first, `limit` at most."""
    chosen = sa.select(journal).where(*conditions).order_by(journal.c.line.desc()).limit(limit)
    for row in connection.execute(chosen).fetchall():
        yield Line(*row).sound()


def one(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Line | None:
    """Return the last line that meets the conditions."""
    return next(newest(connection, *conditions, limit=1), None)


def changes(
    connection: sa.Connection, setting: str, *, after: int, category: str | None = None
) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Yield the lines after a line that change a setting, with their content."""
    chosen = (journal.c.kind == "change", journal.c.line > after, journal.c.category == category)
    for line in journal_lines(connection, *chosen):
        content = line.content
        if content["setting"] == setting:
            yield line, content


def chain_of(connection: sa.Connection, line: Line) -> Iterator[Line]:
    """Yield an outcome, and its corrections in their order."""
    yield line
    while (later := one(connection, journal.c.refers == line.line)) is not None:
        yield (line := later)


def forms_in(connection: sa.Connection, id: str) -> list[str]:
    """Return the forms of an id, or a key, in which it may stand in a database."""
    return [form for form in forms(id) if can_encode(form, connection.info.get("codec"))] or [id]


def named(connection: sa.Connection, kind: LineKind, id: str) -> Line | None:
    """Return the line of a kind with an id or a key, in any form of its text."""
    found = (
        one(connection, journal.c.kind == kind, journal.c.id == form)
        for form in forms_in(connection, id)
    )
    return next((line for line in found if line is not None), None)


OF_ID = Prepared(sa.select(journal).where(journal.c.id == sa.bindparam("id")))


def of_clients(connection: sa.Connection, ids: list[str]) -> dict[tuple[str, str], Line]:
    """Return the lines that opened some clients, and their outcomes, by kind and id."""
    found: dict[tuple[str, str], Line] = {}
    ids = [form for id in ids for form in forms_in(connection, id)]
    for start in range(0, len(ids), PAGE_LINES):
        some = journal.c.id.in_(ids[start : start + PAGE_LINES])
        found |= clients_of(connection.execute(sa.select(journal).where(some)))
    return found


def clients_of(rows: Iterable[Any]) -> dict[tuple[str, str], Line]:
    """Return the lines about clients among some rows, by kind and id."""
    return {
        (line.kind, normal(str(line.id))): line
        for line in (Line(*row).sound() for row in rows)
        if line.kind in ("open", "outcome")
    }


# ---------------------------------------------------------------------- packed columns


READABLE = 32  # entries that are written as a list
ZLIB_LEVEL = 1  # the others take four times as long and save a twentieth
MOST_UNPACKED = 2**30  # of a column, unpacked
DOUBLES, INTEGERS, JSON = "f8:", "i8:", "json:"


def packed(columns: Mapping[str, FloatArray | IntArray | Sequence[Any]]) -> dict[str, Any]:
    """Return the columns of a decision: short, exact, and readable if they are few.

    - Up to 32 entries are a list.
    - More entries that are all the same number are that number.
    - Other numbers are `f8:` or `i8:` and base64 of their bytes, compressed by zlib:
      all first bytes, then all second bytes, and so on.
    - Anything else, such as names, is `json:` and base64 of the list as JSON,
      compressed.

    Numbers are doubles or 64-bit integers, little-endian, so not a bit is lost.
    `unpacked` reads every form of every column; version 0.2.0 wrote lists only.

    >>> packed({"name": ["a", "b"], "evidence": np.array([0.5, 2.0])})
    {'name': ['a', 'b'], 'evidence': [0.5, 2.0]}
    >>> names = [f"segment {i}" for i in range(1_000)]
    >>> many = packed({"name": names, "paused": np.zeros(1_000, dtype=int)})
    >>> many["name"][:5], many["paused"], len(unpacked(many)["paused"])
    ('json:', 0, 1000)
    """
    return {name: _packed(column) for name, column in columns.items()}


def _packed(column: FloatArray | IntArray | Sequence[Any]) -> Any:
    if not isinstance(column, np.ndarray):
        return (
            list(column)
            if len(column) <= READABLE
            else JSON + _squeezed(to_json(column, inf_nan_mode="constants"))
        )
    if column.size <= READABLE:
        return column.tolist()
    whole = column.dtype.kind == "i"
    numbers = np.ascontiguousarray(column, dtype="<i8" if whole else "<f8")
    bits = numbers.view(np.int64)
    if (bits == bits[0]).all():
        return numbers[0].item()
    return (INTEGERS if whole else DOUBLES) + _squeezed(
        numbers.view(np.uint8).reshape(-1, 8).T.tobytes()
    )


def _squeezed(content: bytes) -> str:
    return binascii.b2a_base64(zlib.compress(content, ZLIB_LEVEL), newline=False).decode()


def unpacked(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns as lists; ValueError, TypeError or KeyError if broken."""
    names = _unpacked(columns["name"], 0)
    found = {name: _unpacked(column, len(names)) for name, column in columns.items()}
    if any(len(column) != len(names) for column in found.values()):
        raise ValueError("columns of different lengths")
    return found


def _unpacked(column: Any, size: int) -> list[Any]:
    if isinstance(column, list):
        return column  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(column, str):
        return [float(column) if isinstance(column, float) else int(column)] * size
    kind, _, content = column.partition(":")
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(binascii.a2b_base64(content, strict_mode=True), MOST_UNPACKED)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if f"{kind}:" == JSON:
        return [*from_json(plain)]
    types = {DOUBLES: "<f8", INTEGERS: "<i8"}
    planes = np.frombuffer(plain, dtype=np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view(types[f"{kind}:"]).ravel().tolist()
