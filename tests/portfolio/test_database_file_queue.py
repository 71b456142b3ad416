"""Writers of one file queue: first come, first served, for as long as each wants to
wait, and whoever dies is gone.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

import profitable as pb
from profitable.common.locks import try_lock_range, unlock_range
from profitable.errors import BusyPortfolioError
from profitable.portfolio import database_file
from profitable.portfolio.database_file import WriteQueue, sqlite_version
from profitable.portfolio.new_store import upgrade
from profitable.portfolio.store import Store
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, outcomes, small, statuses
from tests.waiting import LIMIT

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere it is chance who is next"
)


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    found = Place(str(tmp_path / "book.db"))
    yield found
    found.close()


def wait_for_seat(place: Place, seat: int) -> None:
    """Until somebody sits there."""
    start = time.monotonic()
    handle = os.open(f"{place.where}-wal", os.O_RDWR)
    while try_lock_range(handle, seat, 1):
        unlock_range(handle, seat, 1)
        assert time.monotonic() - start < LIMIT, "nobody waits"
        time.sleep(0.001)
    os.close(handle)


def test_first_come_first_served(place: Place) -> None:
    holder = small(place)
    order: list[int] = []

    def write(number: int) -> None:
        with pb.Portfolio(place.where) as book, book._writing():
            order.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 6)]
    with holder._writing():
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_for_seat(place, number)
        threads.append(threading.Thread(target=lambda: holder.observe(outcomes("students", 1))))
        threads[-1].start()  # who has just written comes last, however fast it is
    for thread in threads:
        thread.join(LIMIT)
    assert order == [1, 2, 3, 4, 5]
    assert_clean(holder)


def test_more_writers_than_seats(place: Place) -> None:
    book = small(place)

    def write(number: int) -> None:
        with pb.Portfolio(place.where) as own:
            own.observe(outcomes("students", 1, prefix=f"writer {number}"))

    threads = [
        threading.Thread(target=write, args=(number,)) for number in range(2 * database_file.SEATS)
    ]
    with book._writing():
        for thread in threads:
            thread.start()
        wait_for_seat(place, database_file.SEATS - 1)
    for thread in threads:
        thread.join(LIMIT)
    assert book.agent["students"].clients == 2 * database_file.SEATS
    assert_clean(book)


@pytest.mark.parametrize("waits", [False, True], ids=["who writes", "who waits"])
def test_whoever_is_killed_is_gone(place: Place, waits: bool) -> None:
    book = small(place)
    code = f"""
import time, profitable as pb
with pb.Portfolio({place.where!r})._writing():
    time.sleep({LIMIT})
"""
    with ExitStack() as stack:
        if waits:
            stack.enter_context(book._writing())
        with subprocess.Popen([sys.executable, "-c", code]) as child:
            wait_for_seat(place, int(waits))
            child.kill()
    assert statuses(book.observe(outcomes("students", 1))) == ["counted"]
    assert_clean(book)


def test_ctrl_c_while_one_waits(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    book, other = small(place), place.open()
    with monkeypatch.context() as patched, other._writing():
        patched.setattr(database_file.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            book.observe(outcomes("students", 1))
        wait_for_seat(place, 0)
        handle = os.open(f"{place.where}-wal", os.O_RDWR)
        assert try_lock_range(handle, 1, database_file.SEATS - 1)  # no seat is taken any more
        os.close(handle)
    assert statuses(book.observe(outcomes("students", 1))) == ["counted"]
    assert_clean(book)


def test_the_time_to_wait_is_that_of_both_queues(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs lock the file as SQLite does.

    For them, one waits only for what is left of the time.
    """
    small(place)
    book, other = place.open(wait=LIMIT), place.open()
    waits: list[float] = []
    wait_for_others = Store._wait_for_others

    def noted(store: Store, seconds: float) -> None:
        waits.append(seconds)
        wait_for_others(store, seconds)

    monkeypatch.setattr(Store, "_wait_for_others", noted)
    thread = threading.Thread(target=lambda: book.observe(outcomes("students", 1)))
    with other._writing():
        thread.start()
        wait_for_seat(place, 1)
    thread.join(LIMIT)
    assert 0 < waits[0] < waits[1] == LIMIT
    impatient = place.open(wait=0.05)
    foreign = sqlite3.connect(place.where, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyPortfolioError):
        impatient.observe(outcomes("students", 1, prefix="more"))
    foreign.close()
    assert_clean(book)


def test_nothing_is_written_out_of_turn(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the checkpoint of a commit: no other writer can reset the log meanwhile."""
    seen: list[tuple[str, bool]] = []
    inside: list[bool] = []
    enter, leave, run = WriteQueue.enter, WriteQueue.leave, Store._run

    def entered(queue: WriteQueue, wait: float) -> float:
        left = enter(queue, wait)
        inside.append(queue._handle is not None)
        return left

    def left(queue: WriteQueue) -> None:
        inside.pop()
        leave(queue)

    def noted(store: Store, text: str) -> None:
        run(store, text)
        seen.append((text, bool(inside and inside[-1])))

    book = small(place)
    monkeypatch.setattr(WriteQueue, "enter", entered)
    monkeypatch.setattr(WriteQueue, "leave", left)
    monkeypatch.setattr(Store, "_run", noted)
    book._store.connection.exec_driver_sql("PRAGMA wal_autocheckpoint = 1")
    log = Path(f"{place.where}-wal")
    for i in range(3):
        book.observe(outcomes("students", 1, 0, prefix=f"batch {i}"))
    size = log.stat().st_size
    book.decide(key="day 2")
    assert log.stat().st_size == size  # because each commit has moved the log into the file
    upgrade(place.where)
    begins = [each for each in seen if each[0] == "BEGIN IMMEDIATE"]
    ends = [end for begin, end in pairwise(seen) if begin[0] == "BEGIN IMMEDIATE"]
    assert (begins, ends) == ([("BEGIN IMMEDIATE", True)] * 5, [("COMMIT", True)] * 5)


# Versions that are corrected: https://sqlite.org/wal.html#walresetbug
@pytest.mark.parametrize(
    ("version", "has_bug"),
    [
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.45.0", True),
        ("3.49.2", True),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.53.0", False),
        ("4.0.0", False),
    ],
)
def test_which_versions_of_sqlite_have_the_bug(
    version: str, has_bug: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version", version)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", tuple(map(int, version.split("."))))
    assert sqlite_version() == f"SQLite {version}" + (
        ", which has the WAL-reset bug" if has_bug else ""
    )


def test_verify_says_which_version_it_is(place: Place) -> None:
    assert small(place).verify().to_dict()["engine"] == sqlite_version()
