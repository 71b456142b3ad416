"""Faults around a file: a clear error or a wait, and never an acknowledgement of
anything that is not stored.

Afterwards the portfolio works again, and has what was acknowledged and nothing else.
"""

import multiprocessing
import os
import resource
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from profitable.errors import BusyPortfolioError, NotStoredError, PortfolioError
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, elsewhere, outcomes, small, statuses

NOBODY = 65_534  # a user without rights
# Seconds for which another one holds the lock.
HELD = 30.0 if os.environ.get("PROFITABLE_SOAK") else 1.5
# From Python 3.12 on, a process that has threads is warned when it forks; these
# children end soon.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
fork = multiprocessing.get_context("fork")


def in_a_child(job: Callable[..., Any], *arguments: Any) -> Any:
    """Run a job in a child process, which has its own limits and rights."""
    receiver, sender = fork.Pipe(duplex=False)

    def run() -> None:
        try:
            sender.send(job(*arguments))
        except BaseException as error:
            sender.send(error)

    child = fork.Process(target=run)
    child.start()
    sender.close()
    answer = receiver.recv() if receiver.poll(120) else TimeoutError("no answer")
    child.join()
    return answer


# ----------------------------------------------------------------------------- the disk


def fill_the_disk(where: str, room: int) -> tuple[list[str], str]:
    """Report outcomes until no file can grow further; returns what was acknowledged,
    and the error.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that a write fails, as on a full disk
    book = pb.Portfolio(where)
    size = Path(where).stat().st_size + room
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    acknowledged: list[str] = []
    for i in range(10_000):
        try:
            receipt = book.observe(
                [pb.Outcome(f"full {i}", "students", reward=1, known="2026-11-16")]
            )
        except PortfolioError as error:
            return acknowledged, f"{type(error).__name__}: {error}"
        acknowledged += [answer.id for answer in receipt.counted]
    return acknowledged, "no error"


@pytest.mark.parametrize("room", [20_000, 200_000])
def test_a_disk_that_is_full(tmp_path: Path, room: int) -> None:
    # Compiles the kernels here, because numba could not cache them under the limit.
    with small(Place(str(tmp_path / "warm.db"))) as warm:
        warm.observe(outcomes("students", 1))
    place = Place(str(tmp_path / "book.db"))
    small(place).close()
    acknowledged, error = in_a_child(fill_the_disk, place.where, room)
    assert error.startswith("NotStoredError"), error
    assert acknowledged
    book = place.open()
    stored = [
        row[0] for row in place.rows("SELECT id FROM profitable_journal WHERE kind = 'outcome'")
    ]
    assert set(acknowledged) <= set(stored)
    # The last one may have been stored without an answer.
    assert len(stored) - len(acknowledged) <= 1
    assert len(book.observe([pb.Outcome("after", "students", reward=1)]).counted) == 1
    assert_clean(book)


def test_a_database_that_has_its_most_pages(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "book.db"))
    book = small(place)
    pages = int(book._store.connection.exec_driver_sql("PRAGMA page_count").scalar_one())
    book._store.connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(NotStoredError, match="the disk is full; make room"):
        _ = [
            book.observe(outcomes("students", *[1, 0] * 50, prefix=f"batch {start}"))
            for start in range(100)
        ]
    book._store.connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    known = book.status().columns["known"][0]
    assert known % 100 == 0  # whole batches
    assert known == len(place.rows("SELECT 1 FROM profitable_journal WHERE kind = 'outcome'"))
    assert len(book.observe(outcomes("students", *[1, 0] * 50, prefix="again")).counted) == 100
    assert_clean(book)


# ----------------------------------------------------------------------------- the file


def read_only(where: str) -> list[str]:
    """Try to read and write another user's file without privileges."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    said: list[str] = []
    with pb.Portfolio(where) as book:
        said.append(str(book.round))
        said.append(str(book.verify().is_clean))
        for write in (lambda: book.decide(key="x"), lambda: book.observe(outcomes("students", 1))):
            try:
                write()
                said.append("stored")
            except NotStoredError as error:
                said.append(str(error))
    return said


def test_a_file_that_is_read_only_can_be_read(tmp_path: Path) -> None:
    """An auditor's copy: also in a folder in which nothing can be made."""
    place = Place(str(tmp_path / "copy" / "book.db"))
    (tmp_path / "copy").mkdir()
    small(place).close()
    before = place.dump()
    for folder in (tmp_path, *tmp_path.parents):  # everybody may pass
        if folder.owner() == Path(tmp_path).owner() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "copy" / "book.db").chmod(0o444)
    (tmp_path / "copy").chmod(0o555)
    said = in_a_child(read_only, place.where)
    (tmp_path / "copy").chmod(0o755)
    assert not isinstance(said, BaseException), said
    assert said[:2] == ["1", "True"]
    assert all("cannot be written" in each and "writable" in each for each in said[2:]), said
    assert place.dump() == before


def test_a_file_that_is_removed_while_it_is_open(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "book.db"))
    book = small(place)
    book.observe(outcomes("students", 1, 0))
    (tmp_path / "book.db").unlink()
    with pytest.raises(NotStoredError, match="was removed or replaced while it was open"):
        book.observe(outcomes("students", 1, prefix="lost"))
    with pytest.raises(NotStoredError):
        book.decide(key="day 2")
    book.close()
    with pytest.raises(PortfolioError, match="does not exist"):
        place.open()


def test_a_file_that_is_replaced_while_it_is_open(tmp_path: Path) -> None:
    """Somebody restores a backup over it."""
    place, other = Place(str(tmp_path / "book.db")), Place(str(tmp_path / "backup.db"))
    book = small(place)
    small(other).close()
    os.replace(tmp_path / "backup.db", tmp_path / "book.db")
    with pytest.raises(NotStoredError, match="open it again"):
        book.observe(outcomes("students", 1, prefix="lost"))


def test_a_log_that_is_removed_while_it_is_open(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "book.db"))
    book = small(place)
    (tmp_path / "book.db-wal").unlink()
    with pytest.raises(NotStoredError, match="was removed or replaced"):
        book.observe(outcomes("students", 1, prefix="lost"))


@pytest.mark.parametrize(
    "stays", [True, False], ids=["the other one stays", "the other one leaves"]
)
@pytest.mark.parametrize("endings", [("-wal", "-shm"), ("-shm",)], ids=" and ".join)
def test_a_log_that_is_replaced_while_it_is_open(
    tmp_path: Path, endings: tuple[str, ...], stays: bool
) -> None:
    """Somebody removes it, and another process makes a new one.

    Two processes then write to different logs.
    """
    place = Place(str(tmp_path / "book.db"))
    small(place).close()
    book, idle = place.open(), place.open()
    book.observe(outcomes("students", 1, 0))
    assert idle.round == 1
    for ending in endings:
        (tmp_path / f"book.db{ending}").unlink()
    with ExitStack() as other:
        other.enter_context(elsewhere(place, 25))
        if not stays:
            other.close()
        for _ in range(2):
            with pytest.raises(NotStoredError, match="was removed or replaced while it was open"):
                book.observe(outcomes("students", 1, prefix="lost"))
        # Which also closes the idle one, or SQLite would go on with the old log.
        again = place.open()
        assert (
            statuses(again.observe(outcomes("students", 1, 0, 1, prefix="again")))
            == ["counted"] * 3
        )
        with pytest.raises(NotStoredError, match="was removed or replaced while it was open"):
            idle.decide(key="day 2")
    for each in (book, idle, again):
        each.close()
    stored = {
        row[0] for row in place.rows("SELECT id FROM profitable_journal WHERE kind = 'outcome'")
    }
    assert {f"elsewhere {i}" for i in range(25)} | {f"again {i}" for i in range(1, 4)} <= stored
    assert not any(name.startswith("lost") for name in stored)
    assert_clean(place.open())


def test_a_log_that_is_removed_and_nobody_else_writes(tmp_path: Path) -> None:
    """Then closing is the last chance to keep what was in it."""
    place = Place(str(tmp_path / "book.db"))
    book = small(place)
    book.observe(outcomes("students", *[1, 0] * 50))
    for ending in ("-wal", "-shm"):
        (tmp_path / f"book.db{ending}").unlink()
    with pytest.raises(NotStoredError, match="was removed or replaced"):
        book.observe(outcomes("students", 1, prefix="lost"))
    again = place.open()
    assert again.agent["students"].clients == 100
    assert_clean(again)


def test_a_log_that_is_left_from_another_portfolio(tmp_path: Path) -> None:
    (tmp_path / "book.db-wal").write_bytes(b"what is left")
    with pytest.raises(
        pb.ProfitableError, match="is left from another portfolio of this name; remove it"
    ):
        small(Place(str(tmp_path / "book.db")))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.db-wal"]


def test_a_folder_that_does_not_exist_and_names_that_are_none(tmp_path: Path) -> None:
    for where in (tmp_path / "nowhere" / "book.db", tmp_path):
        with pytest.raises(pb.ProfitableError):
            pb.Portfolio.create(
                where, [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts"
            )
    with pytest.raises(PortfolioError, match="cannot be opened \\(file name too long"):
        pb.Portfolio(tmp_path / ("x" * 5_000))
    with pytest.raises(PortfolioError, match="is a folder"):
        pb.Portfolio(tmp_path)
    with pytest.raises(PortfolioError, match="does not exist"):
        pb.Portfolio(tmp_path / "nothing.db")
    for wrong in (7, "", "mysql://host/base", "postgresql+psycopg://[broken"):
        with pytest.raises(pb.ProfitableError):
            pb.Portfolio(wrong)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------- a lock


def test_a_lock_that_is_released_in_time(place: Place) -> None:
    """The other one holds it for a while; the wait is as long as that, and nothing is
    lost.
    """
    book, other = small(place), place.open()
    holds, answers = threading.Event(), []

    def hold() -> None:
        with other._writing() as writing:
            writing.connection.exec_driver_sql("SELECT 1")
            holds.set()
            threading.Event().wait(HELD)

    def report() -> None:
        answers.append(book.observe(outcomes("students", 1, 0)))

    holder, reporter = threading.Thread(target=hold), threading.Thread(target=report)
    holder.start()
    assert holds.wait(60)
    reporter.start()
    assert place.open().round == 1  # readers wait for nobody
    holder.join()
    reporter.join()
    assert statuses(answers[0]) == ["counted", "counted"]
    assert_clean(book)


def test_a_lock_that_is_not_released(place: Place) -> None:
    small(place)
    book, other = place.open(wait=0.2), place.open()
    with other._writing():
        with pytest.raises(BusyPortfolioError, match="locked by another process"):
            book.observe(outcomes("students", 1, 0))
        with pytest.raises(BusyPortfolioError):
            book.decide(key="day 2")
        assert book.round == 1
    assert statuses(book.observe(outcomes("students", 1, 0))) == ["counted", "counted"]
    assert book.decide(key="day 2").round == 2
    assert_clean(book)


def test_a_file_that_cannot_be_filled_leaves_nothing_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from profitable.portfolio import state

    def full(*_: object, **__: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(state, "save", full)
    with pytest.raises(NotStoredError, match=r"book\.db' cannot be written: the disk is full"):
        small(Place(str(tmp_path / "book.db")))
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    place = Place(str(tmp_path / "book.db"))
    assert_clean(small(place))
    with pytest.raises(pb.ProfitableError, match="exists already"):
        small(place)


@pytest.fixture
def without_rights(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], pb.Portfolio]:
    """Open a portfolio as somebody who may not write to it."""

    def may_write(*_: object) -> bool:
        return False

    def opened(where: str) -> pb.Portfolio:
        with monkeypatch.context() as patched:
            patched.setattr(os, "access", may_write)
            return pb.Portfolio(where)

    return opened


def test_a_reader_without_rights_while_others_write(
    tmp_path: Path, without_rights: Callable[[str], pb.Portfolio], monkeypatch: pytest.MonkeyPatch
) -> None:
    """He cannot lock the file.

    So he is told that it changed, never that it is damaged.
    """
    place = Place(str(tmp_path / "book.db"))
    with small(place, "kl-ucb") as book:
        book.observe(outcomes("students", *[1] * 12_000))
    reader = without_rights(place.where)
    began = False

    def write(_: int) -> None:
        nonlocal began
        if not began:
            began = True
            with place.open() as book:
                book.observe(outcomes("students", *[0] * 6_000, prefix="more"))
                book.decide(key="day 2")

    with pytest.raises(BusyPortfolioError, match="was written to while it was read; do it again"):
        reader.verify(progress=write)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert reader.round == 2  # the file as it is now
    assert reader.verify().is_clean


def test_a_portfolio_that_was_closed(place: Place) -> None:
    book = small(place)
    book.close()
    for use in (lambda: book.decide(key="day 2"), lambda: book.round):
        with pytest.raises(PortfolioError, match="was closed; open it again"):
            use()


SECRETS = [
    "postgresql+psycopg://ann:sekret@127.0.0.1:abc/x",
    "postgresql+psycopg://ann:se@kret@127.0.0.1/x",
    "postgresql+psycopg://ann@127.0.0.1:1/x?password=sekret",
    "mysql://ann:sekret@127.0.0.1/x",
]


@pytest.mark.parametrize("where", SECRETS)
def test_a_password_is_never_said(where: str) -> None:
    with pytest.raises(pb.ProfitableError) as caught:
        pb.Portfolio(where)
    assert "kret" not in str(caught.value)
    assert "***" in str(caught.value)
