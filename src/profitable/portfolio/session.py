"""Session: an open portfolio with its database, its agent and transactions.

Others may write at the same time.  So whoever reads or writes first looks at the end of
the journal, and takes over what was written since: the columns of some categories, or
the whole agent.
"""

import getpass
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.errors import PortfolioError
from profitable.portfolio import state
from profitable.portfolio.journal import (
    INSERT,
    NEWEST_LINE,
    OF_ID,
    Head,
    Line,
    LineKind,
    chained,
    changes,
    clients_of,
    hash_at,
    head,
    head_of,
    intact,
    journal,
    one,
    origin,
)
from profitable.portfolio.outcome import Client, LoanOutcome, Outcome
from profitable.portfolio.spelling import checked_text
from profitable.portfolio.store import WAIT, Question, Store
from profitable.version import VERSION


class Decided(NamedTuple):
    """What the intake of rows has to know of an earlier decision."""

    accepted: frozenset[str] | None = None  # its categories; None if it may be any
    applicants: frozenset[tuple[str, int]] = frozenset()  # category and term of who asked


class Writing:
    """One writing transaction: lines to append, and their effect on the agent."""

    def __init__(self, connection: sa.Connection, agent: Agent, end: Head, actor: str) -> None:
        self.connection = connection
        self.agent = agent
        self.lines: list[Line] = []
        # The lines of the clients at hand, if looked up.
        self.stored: dict[tuple[str, str], Line] | None = None
        self.touched: set[int] = set()  # categories whose columns changed
        self.passed = self.changed = False  # whether a round passed, or a setting changed
        self._end, self._actor, self.time = end, actor, now()

    @property
    def line(self) -> int:
        """The number of the last line, those to append included."""
        return self._end.line + len(self.lines)

    def new(self, kind: LineKind, **fields: Any) -> Line:
        """Return a line to append; its round is that of the agent unless given."""
        fields.setdefault("round", self.agent.round)
        return Line(self.line + 1, self.time, self._actor, VERSION, kind, **fields)

    def add(self, line: Line) -> Line:
        """Append a line whose effect on the agent has happened."""
        self.lines.append(line)
        return line

    def store(self) -> Head:
        """Write lines and state; returns the new end of the journal.

        At least one part of the state is written, so that its newest is always that of
        the last line.
        """
        if not self.lines:
            return self._end
        lines = list(chained(self.lines, self._end.hash))
        INSERT.each(self.connection, lines)
        touched = () if self.passed or self.changed else self.touched
        state.save(self.connection, self.agent, self.line, touched=touched, settings=self.changed)
        return Head(lines[-1].line, lines[-1].hash)


class Session:
    """A database that is open, and the agent that follows from its journal."""

    def __init__(self, where: str | Path, *, actor: str | None = None, wait: float = WAIT) -> None:
        """Open a portfolio.

        `where` is a file, or an address as postgresql+psycopg://user@host/database.
        `actor` is recorded in every line; the user's name unless given.
        `wait` is for how many seconds one waits while others write.
        """
        self.actor = actor_of(actor)
        self._agent: Agent | None = None
        self._head = Head(0, "")
        # Some of the earlier rounds, for the intake of rows.
        self._decisions: dict[int, Decided] = {}
        self._shadow: list[tuple[int, bool]] = []  # since which lines it is a shadow, or is none
        self._store = Store(where, wait=wait)
        try:
            with self._store.read() as connection:
                self.name, self._shadow = _who(connection, self._store)
                self.origin = origin(connection)  # which copies share
        except BaseException:
            self._store.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _lock(self) -> Any:
        """The lock of the store, which a fork may replace."""
        return self._store._lock

    @contextmanager
    def _reading(self) -> Generator[tuple[sa.Connection, Agent]]:
        """Yield the portfolio as it is at one moment."""
        with self._lock, self._store.read() as connection:
            yield connection, self._up_to_date(connection, head(connection))

    @contextmanager
    def _writing(self, rows: Sequence[Outcome | LoanOutcome | Client] = ()) -> Generator[Writing]:
        """Change the portfolio in one transaction, which an error rolls back.

        `rows` are what a caller reports.  If it is one, its client is looked up at
        once.
        """
        questions: list[Question] = [(NEWEST_LINE, ())]
        # Others may stand in the journal in several forms.
        if len(rows) == 1 and rows[0].id.isascii():
            questions.append((OF_ID, (rows[0].id,)))
        with self._lock:
            try:
                with self._store.write(*questions) as (last, *clients):
                    connection = self._store.connection
                    agent = self._up_to_date(connection, head_of(last))
                    writing = Writing(connection, agent, self._head, self.actor)
                    writing.stored = clients_of(clients[0]) if clients else None
                    yield writing
                    self._store.send_together()
                    end = writing.store()
                self._head = end
            except BaseException:
                self._agent = None  # which may have changed; it is read again when it is needed
                raise

    def _up_to_date(self, connection: sa.Connection, end: Head) -> Agent:
        # For example, because an earlier backup was restored.
        if end != self._head and not self._goes_on(connection):
            self._agent, self._shadow = None, _who(connection, self._store)[1]
            self._decisions.clear()
        if self._agent is None:
            self._agent = state.load(connection, end.line)
        elif end != self._head:
            self._agent = state.refreshed(connection, self._agent, self._head.line, end.line)
        if end != self._head:
            self._shadow += _shadow_changes(connection, after=self._shadow[-1][0])
        self._head = end
        return self._agent

    def _goes_on(self, connection: sa.Connection) -> bool:
        """Whether the journal still has the last line that was seen of it."""
        return self._head.line == 0 or hash_at(connection, self._head.line) == self._head.hash

    @property
    def where(self) -> str:
        """The file, or the address without a password."""
        return self._store.name

    @property
    def is_shadow(self) -> bool:
        """Whether nobody acts on its decisions."""
        with self._reading():
            return self._shadow[-1][1]

    def _was_shadow(self, line: int) -> bool:
        """Whether nobody acted on its decisions when a line was written."""
        return next(shadow for since, shadow in reversed(self._shadow) if since <= line)

    @property
    def head(self) -> Head:
        """The number and the hash of the journal's last line, for an auditor."""
        with self._reading():
            return self._head


def now() -> str:
    """Return the time in UTC, as the journal has it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def actor_of(given: str | None) -> str:
    """Who acts, for the journal: the user who runs this, unless given."""
    if given is not None:
        return checked_text("actor", given)
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # as in a container without names
        return "unknown"


def _who(connection: sa.Connection, store: Store) -> tuple[str, list[tuple[int, bool]]]:
    """Return the name of a portfolio, and its shadow periods by line."""
    first = one(connection, journal.c.line == 1)
    if first is None or first.kind != "create":
        raise PortfolioError(
            "portfolio", store.name, "has no first line", "restore it from a backup"
        )
    content = intact(connection, first).content
    return content["name"], [(1, bool(content["shadow"])), *_shadow_changes(connection, after=1)]


def _shadow_changes(connection: sa.Connection, *, after: int) -> list[tuple[int, bool]]:
    """Return the later lines that begin or end a shadow period."""
    return [
        (line.line, bool(content["to"]))
        for line, content in changes(connection, "shadow", after=after)
    ]
