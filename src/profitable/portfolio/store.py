"""Store: the database of a portfolio.  What differs between SQLite and PostgreSQL is here and in `postgres.py`.

A *write* holds the one lock of the portfolio from its beginning to its commit, so writers come one after the other.
A *read* sees one moment, and waits for nobody.

| place                                    | what it is                              |
| ---------------------------------------- | --------------------------------------- |
| `lending.db`                             | a file of SQLite, in WAL mode           |
| `postgresql+psycopg://user@host/lending` | a database of PostgreSQL (psycopg 3)    |
| `postgresql+psycopg://.../lending?options=-csearch_path%3Dcars` | the same, in the schema `cars` |
"""

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import finalize

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from profitable.agent.one_at_a_time import alone, lock_of
from profitable.agent.parts import CLOCK_PART
from profitable.common import check
from profitable.errors import (
    BrokenPortfolioError,
    BusyPortfolioError,
    NewerPortfolioError,
    NotStoredError,
    OlderPortfolioError,
    PortfolioError,
)
from profitable.portfolio import postgres
from profitable.portfolio.database_file import DatabaseFile, Frozen, sqlite_engine, sqlite_options
from profitable.portfolio.held import Held, check_unspoilt, in_use, replaced
from profitable.portfolio.place import name_of, place_of
from profitable.portfolio.prepared import Prepared
from profitable.portfolio.store_errors import NO_TABLES, SEND_AGAIN, busy, damaged, no_portfolio
from profitable.portfolio.tables import VERSION_TABLE, state
from profitable.portfolio.write_queue import WaitedTooLong, sqlite_version

SCHEMA = "1"  # the version of the tables, as the last of the migrations makes them
WAIT = 60.0  # seconds to wait for another writer, unless the caller says otherwise
LONGEST_WAIT = 1e6  # seconds; both databases count them in milliseconds, as integers of 32 bits


Question = tuple[Prepared, Sequence[object]]  # a statement, and its parameters


class Store:
    """A connection to the database of one portfolio."""

    def __init__(self, where: object, *, wait: float = WAIT) -> None:
        """Connect; no table is read yet."""
        self.place = place_of(where)
        self._sent = ExitStack()
        self.wait = wait = min(check.not_negative("wait", wait, "give a number of seconds, 0 or more"), LONGEST_WAIT)
        self._lock = lock_of(self)
        self._frozen: Frozen | None = None
        self._is_closed = False
        self._connect()

    def _connect(self) -> None:
        if isinstance(self.place, Path):
            options = sqlite_options(self.place)
            check_unspoilt(self.name, self.place)
            self._frozen = Frozen(self.place) if "immutable" in options else None
            self._engine = sqlite_engine(self.place, self.wait, options)
        else:
            self._engine = postgres.engine(self.place, self.wait)
        try:
            self._connection = self._engine.connect()
            self.codec: str | None = self._connection.info.get("codec")  # its encoding; None if it stores every text
        except BaseException as error:
            self._engine.dispose()
            raise self._ours(error) from None
        self._held = Held(self._engine, self._connection, self._lock)
        self._end = finalize(self, self._held.let_go)  # also if nobody closes it
        if isinstance(self.place, Path) and self._frozen is None:
            try:
                self._run("PRAGMA schema_version")  # which opens the log
                self._held.file = DatabaseFile(self.place)
            except BaseException as error:
                self._end()
                raise self._ours(error) from None

    @property
    def name(self) -> str:
        """The place without a password, for messages."""
        return name_of(self.place)

    @property
    def connection(self) -> sa.Connection:
        """The connection, for use inside of transactions."""
        return self._connection

    @property
    def engine(self) -> str:
        """The engine and its version."""
        version: tuple[int, ...] = getattr(self._engine.dialect, "server_version_info", ())
        return sqlite_version() if self.is_file else f"PostgreSQL {'.'.join(map(str, version))}"

    @property
    def is_file(self) -> bool:
        """Whether it is a file of SQLite."""
        return isinstance(self.place, Path)

    def close(self) -> None:
        """Let go of the database."""
        self._is_closed = True
        self._end()

    @contextmanager
    def read(self) -> Generator[sa.Connection]:
        """A transaction that sees one moment."""
        with self._moment() as version:
            self._check_version(version)
            yield self._connection

    @contextmanager
    @alone
    def _moment(self) -> Generator[str | None]:
        """A transaction that reads tables of whatever version; returns which that is."""
        begin = "BEGIN" if self.is_file else "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        self._check_open()
        if self._frozen is not None and self._frozen.has_changed():
            self._end()
            self._connect()  # which reads the file as it is now
        try:
            yield _only(*self._begin(begin, (VERSION_ROW, ())))
            self._commit()
        except BaseException as error:
            found = self._undone(error)
            self._check_frozen()  # what was read may be parts of two files
            raise found from None
        self._check_frozen()

    def _check_frozen(self) -> None:
        """BusyPortfolioError if somebody wrote to a file that we, who may not write, could not lock."""
        if self._frozen is not None and self._frozen.has_changed():
            remedy = "do it again, or read a copy that `profitable copy` made"
            raise BusyPortfolioError("portfolio", self.name, "was written to while it was read", remedy)

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
        """A transaction that is alone: others who want to write wait.  It is stored when the block is left.

        Returns the rows that answer each question, asked as soon as nobody else can write.
        """
        # In PostgreSQL whatever the server's default is, so that each question sees what is stored when its turn comes.
        begin = "BEGIN IMMEDIATE" if self.is_file else "BEGIN ISOLATION LEVEL READ COMMITTED"
        with self._turn():
            try:
                lock, version, *answers = self._begin(begin, (LOCK_ROW, (CLOCK_PART,)), (VERSION_ROW, ()), *questions)
                self._check_version(_only(version))
                if not lock:  # so nobody is alone
                    raise BrokenPortfolioError("state", CLOCK_PART, "is missing", "restore the portfolio from a backup")
                yield answers
                self._commit()
            except BaseException as error:
                raise self._undone(error) from None

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Wait until nobody else writes to the file; in PostgreSQL it is a row that one waits for."""
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
        """How long SQLite waits for programs that do not queue."""
        self._run(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def _check_replaced(self, file: DatabaseFile) -> None:
        """NotStoredError if the file was removed or replaced."""
        if file.is_replaced():
            self._end()
            raise replaced(self.name)

    def _begin(self, begin: str, *questions: Question) -> list[list[Any]]:
        """Begin a transaction; returns the rows that answer each question.  It is one way to a server and back."""
        if self.is_file:
            self._run(begin)
            return [statement.rows(self._connection, parameters) for statement, parameters in questions]
        with self._driver.pipeline():
            self._run(begin)
            cursors = [statement.start(self._connection, parameters) for statement, parameters in questions]
            return [list(cursor.fetchall()) for cursor in cursors]

    def send_together(self) -> None:
        """Send what is still to be written with the end of the transaction, which saves ways to a server and back."""
        if not self.is_file:
            self._sent.enter_context(self._driver.pipeline())

    # The driver is told itself when a transaction begins and ends; SQLAlchemy is left out of it.

    @property
    def _driver(self) -> Any:
        """The connection of the driver."""
        return self._connection.connection.dbapi_connection

    def _run(self, text: str) -> None:
        if not self._held.is_ours:
            raise in_use(self.name)
        self._driver.execute(text)

    def _commit(self) -> None:
        self._run("COMMIT")
        if not self.is_file:
            self._sent.close()  # which waits until the server has answered
        if self._connection.in_transaction():  # as SQLAlchemy sees it
            self._connection.rollback()

    def _undone(self, error: BaseException) -> BaseException:
        """Leave a transaction that failed; returns the error, as ours if it is one of the database."""
        error = _interruption(error)
        if not self._held.is_ours:  # but the parent's, and its transaction
            self._sent.pop_all()
            return error
        is_known = isinstance(error, Exception) and not isinstance(error, (self._failures, SQLAlchemyError))
        if self.is_file or is_known:
            with suppress(Exception):
                self._run("ROLLBACK")
        else:
            # Nobody knows where the server stands, or what it has prepared: the next transaction connects again.
            self._sent.pop_all()
            with suppress(SQLAlchemyError):
                self._connection.invalidate()
        with suppress(SQLAlchemyError):
            self._connection.rollback()
        return self._ours(error)

    def _ours(self, error: BaseException) -> BaseException:
        """An error of the database as one of ours, in one sentence; any other stays what it is."""
        if isinstance(error, DBAPIError):
            return self._error(error.orig or error)
        if isinstance(error, (self._failures, SQLAlchemyError)):
            return self._error(error)
        if isinstance(error, UnicodeDecodeError):  # in a text of the database, or in what SQLite wanted to say of it
            return damaged(self.name, "a text in it is none")
        return error

    @property
    def _failures(self) -> type[Exception]:
        """The errors of the driver."""
        return self._engine.dialect.loaded_dbapi.Error

    def _error(self, error: Any) -> BaseException:
        """What an error of the driver means; a mistake of ours stays what it is."""
        if isinstance(self.place, sa.URL):
            return postgres.meaning(error, self.place, self.name, self.wait)
        if isinstance(error, sqlite3.ProgrammingError):
            return error
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        return _sqlite_error(self.name, getattr(error, "sqlite_errorcode", 0) & 0xFF, reason)

    def check_schema(self) -> None:
        """PortfolioError unless the tables are those of this version, as each transaction asks."""
        with self.read():
            pass

    def _check_version(self, found: str | None) -> None:
        if found is None:
            raise no_portfolio(self.name)
        if found == SCHEMA:
            return
        if not found.isdigit() or int(found) > int(SCHEMA):
            problem = f"has schema version {found}, and this version of profitable reads {SCHEMA}"
            raise NewerPortfolioError("portfolio", self.name, problem, "upgrade profitable")
        problem = f"has schema version {found}, and this version of profitable needs {SCHEMA}"
        raise OlderPortfolioError("portfolio", self.name, problem, f"run: profitable portfolio upgrade {self.name}")

    def schema(self) -> str | None:
        """The version of the tables; None if there are none."""
        try:
            with self._moment() as version:
                return version
        except PortfolioError as error:
            if type(error) is BrokenPortfolioError and error.remedy == NO_TABLES:
                return None
            raise

    def exists(self) -> bool:
        """Whether there is a portfolio already."""
        return self.schema() is not None

    def upgrade(self, then: Callable[[sa.Connection, str | None], object]) -> None:
        """Make the tables, or change them into those of this version, and do what comes `then`, in one transaction.

        `then` is told which version they had, None if there were none.  Writers wait meanwhile.
        """
        with self._turn():
            self._upgrade(then)

    def _upgrade(self, then: Callable[[sa.Connection, str | None], object]) -> None:
        from alembic.util.exc import CommandError

        from profitable.portfolio.migrations import upgrade

        try:
            self._run("BEGIN IMMEDIATE" if self.is_file else "BEGIN ISOLATION LEVEL READ COMMITTED")
            self._connection.begin()  # so that Alembic leaves the end of the transaction to us
            before: str | None = None
            if sa.inspect(self._connection).has_table(VERSION_TABLE):
                if not self.is_file:
                    self._run(LOCK_TABLE)
                before = version_of(self._connection)
            upgrade(self._connection, "head")
            then(self._connection, before)
            self._commit()
        except CommandError as error:
            self._undone(error)
            problem = "has a schema version that no version of profitable has made"
            raise BrokenPortfolioError("portfolio", self.name, problem, "restore it from a backup") from None
        except BaseException as error:
            raise self._undone(error) from None

    def keep_a_log(self) -> None:
        """Put a file that is complete into WAL mode, in which readers do not wait for writers."""
        try:
            ((mode,),) = self._driver.execute("PRAGMA journal_mode = WAL").fetchall()
        except BaseException as error:
            raise self._ours(error) from None
        if mode != "wal":
            raise NotStoredError("portfolio", self.name, "cannot be put into WAL mode", "choose another folder")

    def integrity(self) -> list[str]:
        """What the engine's own check finds; empty if all is well, or if the engine has none."""
        if not self.is_file:
            return []
        with self.read() as connection:
            found = [str(row[0]) for row in connection.execute(sa.text("PRAGMA integrity_check(10)"))]
        return [] if found == ["ok"] else found


# Whoever writes locks this row, so it is never deleted: those who wait for a row that has gone would no longer wait.
LOCK_ROW = Prepared(sa.select(state.c.line).where(state.c.part == sa.bindparam("part")).with_for_update())
LOCK_TABLE = f"LOCK TABLE {state.name} IN EXCLUSIVE MODE"  # behind those who wait for the row; readers need not wait
VERSION_ROW = Prepared(sa.select(sa.column("version_num", sa.Text)).select_from(sa.table(VERSION_TABLE)))


def _only(rows: list[Any]) -> str | None:
    """The version that a table of versions has."""
    return str(rows[0][0]) if len(rows) == 1 else None


def version_of(connection: sa.Connection) -> str | None:
    """The version of the tables, inside of a transaction."""
    return _only(VERSION_ROW.rows(connection))


def _interruption(error: BaseException) -> BaseException:
    """The Ctrl-C that is behind an error of the driver; the error itself if there is none."""
    behind: BaseException | None = error
    while behind is not None and isinstance(behind, Exception):
        behind = behind.__context__
    return error if behind is None else behind


# ---------------------------------------------------------------------------------------------- SQLite


def _sqlite_error(name: str, code: int, reason: str) -> PortfolioError:
    """What an error code of SQLite means."""
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyPortfolioError("portfolio", name, "is locked by another process", SEND_AGAIN)
    if code == sqlite3.SQLITE_FULL:
        return NotStoredError(
            "portfolio", name, "cannot be written, because the disk is full", f"make room and {SEND_AGAIN}"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH):
        remedy = "make the file and its folder writable"
        return NotStoredError("portfolio", name, f"cannot be written ({reason})", remedy)
    if code == sqlite3.SQLITE_NOTADB:
        return BrokenPortfolioError("portfolio", name, "is no portfolio (the file is not a database)", NO_TABLES)
    if code == sqlite3.SQLITE_CORRUPT:
        return damaged(name, reason)
    if code == sqlite3.SQLITE_ERROR and "no such table" in reason:
        return no_portfolio(name)
    if code == sqlite3.SQLITE_ERROR:
        return damaged(name, reason)
    return NotStoredError("portfolio", name, f"cannot be written ({reason})", SEND_AGAIN)
