"""Whole stores: created, copied or upgraded, complete or not at all.

A copy is a backup, a restored backup or a move.  Every line is checked against the
chain, and in a file once more when it is read back.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.state_parts import CLOCK_PART
from profitable.common.locks import try_lock
from profitable.errors import (
    BrokenPortfolioError,
    InputError,
    NotStoredError,
    OlderPortfolioError,
    PortfolioError,
)
from profitable.portfolio import state
from profitable.portfolio.database_file import log_of
from profitable.portfolio.history import Follower, begin
from profitable.portfolio.journal import INSERT, START, Head, Line, chained, checked_pages
from profitable.portfolio.location import already_exists, place_of
from profitable.portfolio.session import Writing, actor_of
from profitable.portfolio.spelling import checked_text
from profitable.portfolio.store import WAIT, Store, version_of
from profitable.portfolio.stored_decision import as_text

FILE = "portfolio.db"
Progress = Callable[[int], object]
Check = Callable[[sa.Connection], None]
WORKPLACE = re.compile(r"\..{1,30}\.[0-9a-f]{16}\.part")


def make_store(where: object, first: Line, wait: float) -> None:
    """Create a database whose journal has one line."""
    with new_store(where, wait) as connection:
        (line,) = chained([first], START)
        INSERT.each(connection, [line])
        state.save(connection, begin(line), 1, settings=True)


@contextmanager
def new_store(where: object, wait: float, check: Check | None = None) -> Generator[sa.Connection]:
    """Create a database that the block fills; InputError if there is one already.

    A file gets its name when it is complete, closed, and read back by `check`, which
    raises an error for what is wrong.  In PostgreSQL all of it is one transaction.
    """
    place = place_of(where)
    if not isinstance(place, Path):
        with closing(Store(place, wait=wait)) as store:
            if store.schema() is not None:
                raise already_exists(store.name)
            with store.upgrade() as before:
                if before is not None:  # made meanwhile
                    raise already_exists(store.name)
                yield store.connection
        return
    if os.path.lexists(place):
        raise already_exists(str(place))
    for ending in ("-wal", "-shm"):
        left = f"{place}{ending}"
        if os.path.lexists(left):  # SQLite would take it for a part of the new file
            raise InputError(
                "portfolio",
                left,
                "is left from another portfolio of this name",
                "remove it, or give another place",
            )
    try:
        with _workplace(place) as folder:
            temporary = folder / FILE
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            try:
                # It has no log until it is complete, so that commits reach it.
                with closing(Store(temporary, wait=wait)) as store:
                    with store.upgrade():
                        yield store.connection
                    store.enable_wal()
                _read_back(temporary, check, wait)
            except PortfolioError as error:
                if error.value != str(temporary):
                    raise
                raise type(error)(error.field, str(place), error.problem, error.remedy) from None
            _name(temporary, place)
    except OSError as error:
        raise NotStoredError(
            "portfolio",
            str(place),
            f"cannot be created ({(error.strerror or 'unknown reason').lower()})",
            "choose a folder that is writable and has room",
        ) from None


def _read_back(temporary: Path, check: Check | None, wait: float) -> None:
    """NotStoredError unless a file alone, without a log, is what was written."""
    problem, remedy = "could not be read back", "make room, or choose another disk"
    if log_of(temporary).exists():
        raise NotStoredError(
            "portfolio", str(temporary), f"{problem} (its log could not be written into it)", remedy
        )
    try:
        with closing(Store(temporary, wait=wait)) as store:
            found = store.integrity()
            if not found and check is not None:
                with store.read() as connection:
                    check(connection)
    except BrokenPortfolioError as error:
        found = [error.problem]
    if found:
        raise NotStoredError("portfolio", str(temporary), f"{problem} ({found[0]})", remedy)


@contextmanager
def _workplace(place: Path) -> Generator[Path]:
    """Yield a private folder next to a new file; remove those of dead processes."""
    for left in place.parent.iterdir():
        with suppress(OSError):  # it may belong to another user
            is_workplace = WORKPLACE.fullmatch(left.name) and left.is_dir()
            if is_workplace and (handle := _locked(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)
    folder, handle = _own_folder(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _own_folder(place: Path) -> tuple[Path, int]:
    while True:  # until no other process removes it as abandoned
        folder = place.with_name(f".{place.name[:30]}.{secrets.token_hex(8)}.part")
        folder.mkdir(mode=0o700)
        if (handle := _locked(folder)) is not None:
            return folder, handle


def _locked(folder: Path) -> int | None:
    """Return a folder, opened and locked; None if it is taken or gone."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    if try_lock(handle) and folder.exists():
        return handle
    os.close(handle)
    return None


def _name(temporary: Path, place: Path) -> None:
    """Give a complete file its name, unless another has it by now."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise already_exists(str(place)) from None
    except OSError:  # a file system without links, where another could take the name meanwhile
        if os.path.lexists(place):
            raise already_exists(str(place)) from None
        temporary.rename(place)
    folder = os.open(place.resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def copy_portfolio(
    source: object,
    target: object,
    *,
    restored_by: str | None = None,
    wait: float = WAIT,
    progress: Progress | None = None,
) -> Head:
    """Copy all lines and the state to a new place; returns the end of the copy.

    The source may be in use: the copy is a snapshot.  With `restored_by`, the copy
    takes the place of a lost portfolio, and one more line records by whom.
    """
    with closing(Store(source, wait=wait)) as store:
        store.check_schema()
        end, copied = Head(0, START), list[state.StatePart]()

        def check(connection: sa.Connection) -> None:
            found = START
            for page in checked_pages(connection):
                found = page[-1].hash
            if found != end.hash or copied != state.parts(connection):
                raise BrokenPortfolioError(
                    "copy", str(target), "differs from what was copied", "copy it again"
                )

        with new_store(target, wait, check) as connection:
            with store.read() as original:
                for page in checked_pages(original):
                    end = Head(page[-1].line, page[-1].hash)
                    INSERT.each(connection, page)
                    if progress is not None:
                        progress(end.line)
                copied = state.parts(original)
                state.load(original, end.line)  # or a part may be missing, or the end cut off
            connection.execute(sa.insert(state.state), [part._asdict() for part in copied])
            if restored_by is not None:
                agent = state.load(connection, end.line)
                writing = Writing(connection, agent, end, checked_text("actor", restored_by))
                writing.add(writing.new("restore", body=as_text({"from": store.name})))
                end = writing.store()
            copied = state.parts(connection)
    return end


def upgrade(where: object, *, actor: str | None = None, wait: float = WAIT) -> str:
    """Upgrade the tables, and recompute the state from the journal; returns a message.

    All of it is one transaction.  The journal records who did it, and the versions.
    """
    actor = actor_of(actor)
    with closing(Store(where, wait=wait)) as store:
        with suppress(OlderPortfolioError):
            store.check_schema()
        with store.upgrade() as before:
            connection, after = store.connection, version_of(store.connection)
            agent, end = recomputed(connection)
            # Or what was cut off would look right afterwards.
            state.check_end(state.rows(connection), end.line)
            # Which writers lock.
            connection.execute(sa.delete(state.state).where(state.state.c.part != CLOCK_PART))
            writing = Writing(connection, agent, end, actor)
            writing.add(writing.new("upgrade", body=as_text({"from": before, "to": after})))
            writing.changed = True
            writing.store()
    if before == after:
        return f"{store.name} has schema version {after} already; its state was recomputed."
    return f"{store.name} was upgraded from schema version {before} to {after}."


def recomputed(connection: sa.Connection) -> tuple[Agent, Head]:
    """Return the agent that follows from the journal, and the end of the journal."""
    follower, end = Follower(), Head(0, START)
    for page in checked_pages(connection):
        for line in page:
            follower.take(line)
        follower.settle()
        end = Head(page[-1].line, page[-1].hash)
    if follower.agent is None:
        raise BrokenPortfolioError(
            "journal", None, "has no first line", "restore the portfolio from a backup"
        )
    return follower.agent, end
