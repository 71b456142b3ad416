"""A new portfolio, made whole or not at all."""

import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

from profitable.errors import InputError, NotStoredError, PortfolioError
from profitable.portfolio import state
from profitable.portfolio.history import begin
from profitable.portfolio.journal import START, Line, append, chained
from profitable.portfolio.place import name_of, place_of
from profitable.portfolio.store import Store, new_file
from profitable.portfolio.store_errors import is_there


def make_store(where: object, first: Line, wait: float) -> None:
    """A database whose journal has one line."""

    def fill(connection: sa.Connection) -> None:
        (line,) = chained([first], START)
        append(connection, [line])
        state.save_all(connection, begin(line), 1, settings=True)

    fill_store(where, fill, wait)


def fill_store(where: object, fill: Callable[[sa.Connection], None], wait: float) -> None:
    """A new database with the tables and what `fill` puts into them.  InputError if there is one already.

    A file gets its name when it is complete.  In PostgreSQL all of it is one transaction.
    """
    place = place_of(where)

    def fill_new(connection: sa.Connection, before: str | None) -> None:
        if before is not None:
            raise is_there(name_of(place))
        fill(connection)

    if not isinstance(place, Path):
        store = Store(place, wait=wait)
        try:
            if store.exists():
                raise is_there(store.name)
            store.upgrade(then=fill_new)
        finally:
            store.close()
        return
    if os.path.lexists(place):
        raise is_there(str(place))
    for ending in ("-wal", "-shm"):
        if os.path.lexists(f"{place}{ending}"):  # SQLite would take it for a part of the new file
            problem = "is left from another portfolio of this name"
            raise InputError("portfolio", f"{place}{ending}", problem, "remove it, or give another place")
    temporary = place.with_name(f".{place.name[:30]}.{secrets.token_hex(8)}.part")
    try:
        new_file(temporary)
        store = Store(temporary, wait=wait)
        try:
            store.upgrade(then=fill_new)
        finally:
            store.close()
        _name(temporary, place)
    except PortfolioError as error:
        if error.value != str(temporary):
            raise
        raise type(error)(error.field, str(place), error.problem, error.remedy) from None
    except (OSError, sqlite3.Error) as error:
        reason = str(error) if isinstance(error, sqlite3.Error) else (error.strerror or "unknown reason").lower()
        problem = f"cannot be made ({reason})"
        raise NotStoredError("portfolio", str(place), problem, "choose a folder that is writable") from None
    finally:
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{temporary}{ending}")


def _name(temporary: Path, place: Path) -> None:
    """Give a complete file its name, unless another has it by now."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise is_there(str(place)) from None
    except OSError:  # a file system without links: between the look and the move, another could take the name
        if os.path.lexists(place):
            raise is_there(str(place)) from None
        temporary.rename(place)
    folder = os.open(place.resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
