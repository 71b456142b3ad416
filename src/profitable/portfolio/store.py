"""Store: the database of a portfolio, in SQLite or PostgreSQL.

A *write* holds the one lock of the portfolio from its beginning to its commit, so
writers come one after the other. A *read* sees one moment, and waits for nobody.

- `lending.db`: a file of SQLite, in WAL mode.
- `postgresql+psycopg://user@host/lending`: a database of PostgreSQL (psycopg 3).
- `...host/lending?options=-csearch_path%3Dcars`: the same, in the schema `cars`.
"""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import finalize

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from profitable.agent.locking import alone, lock_of
from profitable.agent.state_parts import CLOCK_PART
from profitable.common import check
from profitable.errors import (
    BrokenPortfolioError,
    BusyPortfolioError,
    NewerPortfolioError,
    NotStoredError,
    OlderPortfolioError,
    PortfolioError,
)
from profitable.portfolio.database_file import (
    DatabaseFile,
    HeldConnection,
    WaitedTooLong,
    check_unspoilt,
    content_mark,
    in_use,
    replaced,
    sqlite_engine,
    sqlite_meaning,
    sqlite_options,
    sqlite_version,
)
from profitable.portfolio.journal import Prepared, head
from profitable.portfolio.location import (
    NotAPortfolioError,
    busy,
    damaged,
    name_of,
    not_a_portfolio,
    place_of,
    postgres_engine,
    postgres_meaning,
)
from profitable.portfolio.state import state

VERSION_TABLE = "profitable_schema"  # Alembic's, with the number of the schema's version
# Each file in `versions` is one step, and each portfolio says which was its last.
MIGRATIONS = Path(__file__).parent / "migrations"
SCHEMA = "1"  # the version of the tables, as the last of the migrations makes them
WAIT = 60.0  # seconds to wait for another writer, unless the caller says otherwise
BEGIN_READ = {
    "sqlite": "BEGIN",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
}
# In PostgreSQL whatever the server's default is, so that each question sees what is
# stored when its turn comes.
BEGIN_WRITE = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "BEGIN ISOLATION LEVEL READ COMMITTED",
}
LONGEST_WAIT = 1e6  # seconds; both databases count them in milliseconds, as integers of 32 bits


Question = tuple[Prepared, Sequence[object]]  # a statement, and its parameters


class Store:
    """A connection to the database of one portfolio."""

    def __init__(self, where: object, *, wait: float = WAIT) -> None:
        """Connect; no table is read yet."""
        self.place = place_of(where)
        self.name = name_of(self.place)  # without a password, for messages
        self.is_file = isinstance(self.place, Path)  # of SQLite
        self._sent = ExitStack()
        self.wait = wait = min(
            check.not_negative("wait", wait, "give a number of seconds, 0 or more"), LONGEST_WAIT
        )
        self._lock = lock_of(self)
        # The mark of a file that is read without a lock, where we may not write.
        self._frozen: object = None
        self._is_closed = False
        self._connect()

    def _connect(self) -> None:
        if isinstance(self.place, Path):
            options = sqlite_options(self.place)
            check_unspoilt(self.name, self.place)
            self._frozen = content_mark(self.place) if "immutable" in options else None
            self._engine = sqlite_engine(self.place, self.wait, options)
        else:
            self._engine = postgres_engine(self.place, self.wait)
        try:
            self.connection = self._engine.connect()
            # Its encoding; None if it stores every text.
            self.codec: str | None = self.connection.info.get("codec")
        except BaseException as error:
            self._engine.dispose()
            raise self._ours(error) from None
        self._held = HeldConnection(self._engine, self.connection, self._lock)
        self._end = finalize(self, self._held.let_go)  # also if nobody closes it
        if isinstance(self.place, Path) and self._frozen is None:
            try:
                self._run("PRAGMA schema_version")  # which opens the log
                self._held.file = DatabaseFile(self.place)
            except BaseException as error:
                self._end()
                raise self._ours(error) from None

    @property
    def engine(self) -> str:
        """The engine and its version."""
        version: tuple[int, ...] = getattr(self._engine.dialect, "server_version_info", ())
        return sqlite_version() if self.is_file else f"PostgreSQL {'.'.join(map(str, version))}"

    def close(self) -> None:
        """Let go of the database."""
        self._is_closed = True
        self._end()

    @contextmanager
    def read(self) -> Generator[sa.Connection]:
        """Yield a transaction that sees one moment."""
        with self._moment() as version:
            self._check_version(version)
            yield self.connection

    @contextmanager
    @alone
    def _moment(self) -> Generator[str | None]:
        """Yield a transaction that reads tables of any version, which it yields."""
        self._check_open()
        if self._has_changed():
            self._end()
            self._connect()  # which reads the file as it is now
        try:
            yield _only(*self._begin(BEGIN_READ[self._engine.dialect.name], (VERSION_ROW, ())))
            self._commit()
        except BaseException as error:
            found = self._undone(error)
            self._check_frozen()  # what was read may be parts of two files
            raise found from None
        self._check_frozen()

    def _has_changed(self) -> bool:
        """Whether a file that is read without a lock is not as it was opened."""
        if self._frozen is None or not isinstance(self.place, Path):
            return False
        return self._frozen != content_mark(self.place)

    def _check_frozen(self) -> None:
        """Raise BusyPortfolioError if a file that cannot be locked has changed."""
        if self._has_changed():
            raise BusyPortfolioError(
                "portfolio",
                self.name,
                "was written to while it was read",
                "do it again, or read a copy that `profitable copy` made",
            )

    def _check_open(self) -> None:
        if self._is_closed:
            raise PortfolioError("portfolio", self.name, "was closed", "open it again")
        if self._held.is_lost:
            raise replaced(self.name)
        if not self._held.is_open or not self._held.is_ours:  # since a fork
            self._end()
            self._connect()

    @contextmanager
    def write(self, *questions: Question) -> Generator[list[list[Any]]]:
        """Hold the write lock in a transaction that commits at the end of the block.

        Yields the rows that answer each question, asked under the lock.
        """
        with self._turn():
            try:
                lock, version, *answers = self._begin(
                    BEGIN_WRITE[self._engine.dialect.name],
                    (LOCK_ROW, (CLOCK_PART,)),
                    (VERSION_ROW, ()),
                    *questions,
                )
                self._check_version(_only(version))
                if not lock:  # so nobody is alone
                    raise BrokenPortfolioError(
                        "state", CLOCK_PART, "is missing", "restore the portfolio from a backup"
                    )
                yield answers
                self._commit()
            except BaseException as error:
                raise self._undone(error) from None

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Hold the turn to write to the file; in PostgreSQL a row is locked instead."""
        with self._lock:
            self._check_open()
            if (file := self._held.file) is None:
                yield
                return
            left = self.wait
            try:
                left = file.queue.enter(self.wait)
                self._check_replaced(file)
                if left < self.wait:
                    self._wait_for_others(left)
                yield
                self._check_replaced(file)
            except WaitedTooLong:
                raise busy(self.name, self.wait) from None
            finally:
                if left < self.wait and self._held.is_open:
                    self._wait_for_others(self.wait)
                file.queue.leave()

    def _wait_for_others(self, seconds: float) -> None:
        """Set how long SQLite waits for programs that do not queue."""
        self._run(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def _check_replaced(self, file: DatabaseFile) -> None:
        """NotStoredError if the file was removed or replaced."""
        if file.is_replaced():
            self._end()
            raise replaced(self.name)

    def _begin(self, begin: str, *questions: Question) -> list[list[Any]]:
        """Begin a transaction, and answer questions in the same round trip."""
        if self.is_file:
            self._run(begin)
            return [
                statement.rows(self.connection, parameters) for statement, parameters in questions
            ]
        with self._driver.pipeline():
            self._run(begin)
            cursors = [
                statement.start(self.connection, parameters) for statement, parameters in questions
            ]
            return [list(cursor.fetchall()) for cursor in cursors]

    def send_together(self) -> None:
        """Send the remaining writes with the commit, which saves round trips."""
        if not self.is_file:
            self._sent.enter_context(self._driver.pipeline())

    # Transactions begin and end through the driver, without SQLAlchemy.

    @property
    def _driver(self) -> Any:
        """The connection of the driver."""
        return self.connection.connection.dbapi_connection

    def _run(self, text: str) -> None:
        if not self._held.is_ours:
            raise in_use(self.name)
        self._driver.execute(text)

    def _commit(self) -> None:
        self._run("COMMIT")
        if not self.is_file:
            self._sent.close()  # which waits until the server has answered
        if self.connection.in_transaction():  # as SQLAlchemy sees it
            self.connection.rollback()

    def _undone(self, error: BaseException) -> BaseException:
        """Roll back a failed transaction; returns the error, as ours if it can be."""
        error = _interruption(error)
        if not self._held.is_ours:  # but the parent's, and its transaction
            self._sent.pop_all()
            return error
        is_known = isinstance(error, Exception) and not isinstance(
            error, (self._failures, SQLAlchemyError)
        )
        if self.is_file or is_known:
            with suppress(Exception):
                self._run("ROLLBACK")
        else:
            # Nobody knows where the server stands, or what it has prepared: the next
            # transaction connects again.
            self._sent.pop_all()
            with suppress(SQLAlchemyError):
                self.connection.invalidate()
        with suppress(SQLAlchemyError):
            self.connection.rollback()
        return self._ours(error)

    def _ours(self, error: BaseException) -> BaseException:
        """Return an error of the database as one of ours; others unchanged."""
        # In a text of the database, or in what SQLite wanted to say of it.
        if isinstance(error, UnicodeDecodeError):
            return damaged(self.name, "it has text that is not UTF-8")
        if not isinstance(error, (self._failures, SQLAlchemyError)):
            return error
        cause = error.orig or error if isinstance(error, DBAPIError) else error
        if isinstance(self.place, sa.URL):
            return postgres_meaning(cause, self.place, self.name, self.wait)
        if isinstance(cause, sqlite3.ProgrammingError):
            return cause
        reason = " ".join(str(cause).split()).rstrip(".") or type(cause).__name__
        return sqlite_meaning(self.name, getattr(cause, "sqlite_errorcode", 0) & 0xFF, reason)

    @property
    def _failures(self) -> type[Exception]:
        """The errors of the driver."""
        return self._engine.dialect.loaded_dbapi.Error

    def check_schema(self) -> None:
        """PortfolioError unless the tables are those of this version."""
        with self.read():
            pass

    def length(self) -> int:
        """Return the number of lines in the journal."""
        with self.read() as connection:
            return head(connection).line

    def _check_version(self, found: str | None) -> None:
        if found is None:
            raise not_a_portfolio(self.name)
        if found == SCHEMA:
            return
        if not found.isdigit() or int(found) > int(SCHEMA):
            raise NewerPortfolioError(
                "portfolio",
                self.name,
                f"has schema version {found}, and this version of profitable reads {SCHEMA}",
                "upgrade profitable",
            )
        raise OlderPortfolioError(
            "portfolio",
            self.name,
            f"has schema version {found}, and this version of profitable needs {SCHEMA}",
            f"run: profitable portfolio upgrade {self.name}",
        )

    def schema(self) -> str | None:
        """Return the version of the tables; None if there are none."""
        try:
            with self._moment() as version:
                return version
        except NotAPortfolioError:
            return None

    @contextmanager
    def upgrade(self) -> Generator[str | None]:
        """Create or upgrade the tables in a transaction that commits after the block.

        Yields the schema version from before, None if there was none.
        """
        from alembic import command
        from alembic.config import Config
        from alembic.util.exc import CommandError

        steps = Config()
        steps.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        steps.attributes["connection"] = self.connection
        with self._turn():
            try:
                self._run(BEGIN_WRITE[self._engine.dialect.name])
                self.connection.begin()  # so that Alembic leaves the end of the transaction to us
                before: str | None = None
                if sa.inspect(self.connection).has_table(VERSION_TABLE):
                    if not self.is_file:
                        self._run(LOCK_TABLE)
                    before = version_of(self.connection)
                command.upgrade(steps, "head")
                yield before
                self._commit()
            except CommandError as error:
                self._undone(error)
                raise BrokenPortfolioError(
                    "portfolio",
                    self.name,
                    "has a schema version that no version of profitable has made",
                    "restore it from a backup",
                ) from None
            except BaseException as error:
                raise self._undone(error) from None

    def enable_wal(self) -> None:
        """Put a complete file into WAL mode, where readers do not wait."""
        try:
            ((mode,),) = self._driver.execute("PRAGMA journal_mode = WAL").fetchall()
        except BaseException as error:
            raise self._ours(error) from None
        if mode != "wal":
            raise NotStoredError(
                "portfolio", self.name, "cannot be put into WAL mode", "choose another folder"
            )

    def integrity(self) -> list[str]:
        """Return the findings of SQLite's own check; PostgreSQL has none."""
        if not self.is_file:
            return []
        with self.read() as connection:
            found = [*connection.scalars(sa.text("PRAGMA integrity_check(10)"))]
        return [] if found == ["ok"] else found


# Whoever writes locks this row, so it is never deleted: those who wait for a row that
# has gone would no longer wait.
LOCK_ROW = Prepared(
    sa.select(state.c.line).where(state.c.part == sa.bindparam("part")).with_for_update()
)
# Behind those who wait for the row; readers need not wait.
LOCK_TABLE = f"LOCK TABLE {state.name} IN EXCLUSIVE MODE"
VERSION_ROW = Prepared(
    sa.select(sa.column("version_num", sa.Text)).select_from(sa.table(VERSION_TABLE))
)


def _only(rows: list[Any]) -> str | None:
    """Return the version that a table of versions has."""
    return str(rows[0][0]) if len(rows) == 1 else None


def version_of(connection: sa.Connection) -> str | None:
    """Return the version of the tables, inside of a transaction."""
    return _only(VERSION_ROW.rows(connection))


def _interruption(error: BaseException) -> BaseException:
    """Return the Ctrl-C behind an error of the driver, or else the error itself."""
    behind: BaseException | None = error
    while behind is not None and isinstance(behind, Exception):
        behind = behind.__context__
    return error if behind is None else behind
