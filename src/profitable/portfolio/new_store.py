"""A new portfolio, made whole or not at all."""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from profitable.common.file_lock import try_lock
from profitable.errors import BrokenPortfolioError, InputError, NotStoredError, PortfolioError
from profitable.portfolio import state
from profitable.portfolio.database_file import log_of
from profitable.portfolio.history import begin
from profitable.portfolio.journal import START, Line, append, chained
from profitable.portfolio.place import name_of, place_of
from profitable.portfolio.store import Store
from profitable.portfolio.store_errors import is_there

FILE = "portfolio.db"
WORKPLACE = re.compile(r"\..{1,30}\.[0-9a-f]{16}\.part")


def make_store(where: object, first: Line, wait: float) -> None:
    """A database whose journal has one line."""

    def fill(connection: sa.Connection) -> None:
        (line,) = chained([first], START)
        append(connection, [line])
        state.save_all(connection, begin(line), 1, settings=True)

    fill_store(where, fill, wait)


def fill_store(
    where: object,
    fill: Callable[[sa.Connection], None],
    wait: float,
    check: Callable[[sa.Connection], None] | None = None,
) -> None:
    """A new database with the tables and what `fill` puts into them.  InputError if there is one already.

    A file gets its name when it is complete, was closed, and was read back: `check` raises an error if what it reads is
    not what it should be.  In PostgreSQL all of it is one transaction.
    """
    place = place_of(where)

    def fill_new(connection: sa.Connection, before: str | None) -> None:
        if before is not None:
            raise is_there(name_of(place))
        fill(connection)

    if not isinstance(place, Path):
        with closing(Store(place, wait=wait)) as store:
            if store.exists():
                raise is_there(store.name)
            store.upgrade(then=fill_new)
        return
    if os.path.lexists(place):
        raise is_there(str(place))
    for ending in ("-wal", "-shm"):
        if os.path.lexists(f"{place}{ending}"):  # SQLite would take it for a part of the new file
            problem = "is left from another portfolio of this name"
            raise InputError("portfolio", f"{place}{ending}", problem, "remove it, or give another place")
    try:
        with _workplace(place) as folder:
            temporary = folder / FILE
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            try:
                _write(temporary, fill_new, wait)
                _read_back(temporary, check, wait)
            except PortfolioError as error:
                raise error if error.value != str(temporary) else _renamed(error, place) from None
            _name(temporary, place)
    except OSError as error:
        problem = f"cannot be made ({(error.strerror or 'unknown reason').lower()})"
        remedy = "choose a folder that is writable and has room"
        raise NotStoredError("portfolio", str(place), problem, remedy) from None


def _renamed(error: PortfolioError, place: Path) -> PortfolioError:
    return type(error)(error.field, str(place), error.problem, error.remedy)


def _write(temporary: Path, fill: Callable[[sa.Connection, str | None], None], wait: float) -> None:
    """Fill a file.  It has no log until it is complete: what is written goes into the file, or the commit fails."""
    with closing(Store(temporary, wait=wait)) as store:
        store.upgrade(then=fill)
        store.keep_a_log()


def _read_back(temporary: Path, check: Callable[[sa.Connection], None] | None, wait: float) -> None:
    """NotStoredError unless a file alone, without a log, is what was written."""
    problem, remedy = "could not be read back", "make room, or choose another disk"
    if log_of(temporary).exists():
        raise NotStoredError("portfolio", str(temporary), f"{problem} (its log could not be written into it)", remedy)
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
    """A folder beside a new file, for us alone.  Those that dead processes have left there are removed."""
    for left in place.parent.iterdir():
        with suppress(OSError):  # it may be somebody else's
            if WORKPLACE.fullmatch(left.name) and left.is_dir() and (handle := _locked(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)
    folder, handle = _own_folder(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _own_folder(place: Path) -> tuple[Path, int]:
    while True:  # as long as somebody takes it for one that was left
        folder = place.with_name(f".{place.name[:30]}.{secrets.token_hex(8)}.part")
        folder.mkdir(mode=0o700)
        if (handle := _locked(folder)) is not None:
            return folder, handle


def _locked(folder: Path) -> int | None:
    """An open folder that is locked as long as this process lives; None if another process has it, or it is gone."""
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
