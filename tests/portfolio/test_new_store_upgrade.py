"""Upgrades and restored backups: the journal says who, when and from what, and writers
wait for them in order.
"""

import shutil
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

import profitable as pb
from profitable.errors import (
    BrokenPortfolioError,
    BusyPortfolioError,
    InputError,
    NewerPortfolioError,
    NotStoredError,
)
from profitable.portfolio import new_store, store
from profitable.portfolio.new_store import copy_portfolio, upgrade
from tests.cli.test_app import call
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, outcomes, small, statuses
from tests.portfolio.test_new_store_copies import STEP
from tests.waiting import LIMIT

numbers = count(1)


def observe_one(book: pb.Portfolio) -> list[str]:
    return statuses(book.observe(outcomes("students", 1, prefix=f"writer {next(numbers)}")))


# ---------------------------------------------------------------- what the journal says


def test_an_upgrade_is_a_line(place: Place) -> None:
    book = small(place, "kl-ucb", actor="ann")
    observe_one(book)
    before, known = book.head, book.status().columns
    assert "its state was recomputed" in upgrade(place.where, actor="bob")
    line = place.open().log(kind="upgrade")[0]
    assert (line.line, line.actor, line.round, line.content) == (
        4,
        "bob",
        1,
        {"from": "1", "to": "1"},
    )
    again = place.open()
    assert book.status().columns == again.status().columns == known
    for each in (book, again):
        assert observe_one(each) == ["counted"]
        assert each.verify(head=before.hash).is_clean
        assert_clean(each)
    with pytest.raises(InputError, match="actor"):
        upgrade(place.where, actor="")


def test_a_restored_backup_is_a_line_and_a_copy_is_none(
    two_places: tuple[Place, Place], tmp_path: Path
) -> None:
    first, second = two_places
    backup = Place(str(tmp_path / "backup.db"))
    book = small(first, actor="ann")
    observe_one(book)
    end = copy_portfolio(first.where, backup.where)
    assert end == book.head
    assert backup.dump()[0] == first.dump()[0]
    book.observe(outcomes("shops", 2, prefix="lost"))
    restored = copy_portfolio(backup.where, second.where, restored_by="bob")
    again = second.open(actor="carol")
    assert again.head == restored
    line = again.log(limit=1)[0]
    assert (line.line, line.kind, line.actor, line.content) == (
        end.line + 1,
        "restore",
        "bob",
        {"from": backup.where},
    )
    assert f"restored from {backup.where}, which ends with line {end.line}" in str(again.log())
    assert again.verify(head=end.hash).is_clean
    assert not again.verify(head=book.head.hash).is_clean  # what came after the backup is not here
    assert statuses(again.observe(outcomes("shops", 2, prefix="lost"))) == ["counted"]
    assert_clean(again)
    backup.close()


def test_restoring_on_the_command_line(tmp_path: Path) -> None:
    with small(Place(str(tmp_path / "a.db"))) as book:
        end = book.head
    refused = call("copy", "a.db", "b.db", "--actor", "ann", cwd=tmp_path)
    assert (refused.returncode, "is given without --restore" in refused.stderr) == (2, True)
    done = call("copy", "a.db", "b.db", "--restore", "--actor", "ann", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with pb.Portfolio(tmp_path / "b.db") as book:
        line = book.log(kind="restore")[0]
        assert (line.line, line.actor, line.content["from"]) == (end.line + 1, "ann", "a.db")
        assert f"head: {book.head.hash}" in done.stdout


# ----------------------------------------------------------------------- those who wait


def wait_until_they_wait(place: Place, number: int) -> None:
    """Until so many wait for a lock in the server."""
    begin = time.monotonic()
    while (
        place.rows("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0][0]
        < number
    ):
        assert time.monotonic() - begin < LIMIT
        time.sleep(0.01)


class Held:
    """An upgrade that waits in the middle of its transaction for a signal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has_lock, self.go_on = threading.Event(), threading.Event()
        recomputed = new_store.recomputed

        def held(connection: sa.Connection) -> object:
            self.has_lock.set()
            assert self.go_on.wait(LIMIT)
            return recomputed(connection)

        monkeypatch.setattr(new_store, "recomputed", held)

    def run(self, place: Place, meanwhile: Callable[[], object]) -> None:
        upgrading = threading.Thread(target=upgrade, args=(place.where,), kwargs={"actor": "ann"})
        upgrading.start()
        try:
            assert self.has_lock.wait(LIMIT)
            meanwhile()
        finally:
            self.go_on.set()
            upgrading.join(LIMIT)


def test_writers_wait_for_an_upgrade_and_for_each_other(
    server_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six wait for the lock while the state is computed anew.

    None of them goes on without it, and none fails.
    """
    place = server_place
    small(place).close()
    books = [place.open(actor=f"writer {i}") for i in range(6)]
    assert {book.round for book in books} == {1}
    answers: list[object] = []

    def write(book: pb.Portfolio) -> None:
        try:
            answers.append(observe_one(book))
        except BaseException as error:
            answers.append(error)

    threads = [threading.Thread(target=write, args=(book,)) for book in books]

    def meanwhile() -> None:
        for thread in threads:
            thread.start()
        wait_until_they_wait(place, len(threads))
        assert place.open().round == 1  # readers wait for nobody

    Held(monkeypatch).run(place, meanwhile)
    for thread in threads:
        thread.join(LIMIT)
    assert answers == [["counted"]] * 6
    assert [
        kind for (kind,) in place.rows("SELECT kind FROM profitable_journal ORDER BY line")
    ] == [
        *("create", "decide", "upgrade"),
        *["outcome"] * 6,
    ]
    assert_clean(place.open())


def test_a_writer_who_does_not_want_to_wait_is_told_to_try_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(place).close()
    book = place.open(wait=0.1)

    def meanwhile() -> None:
        with pytest.raises(BusyPortfolioError, match="try again"):
            observe_one(book)

    Held(monkeypatch).run(place, meanwhile)
    assert observe_one(book) == ["counted"]
    assert_clean(book)


def test_a_portfolio_that_is_open_during_an_upgrade(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would write lines as the old tables had them; so it refuses, and reads nothing
    either.
    """
    book = small(place)
    observe_one(book)
    later = tmp_path / "migrations"
    shutil.copytree(store.MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / "0002_channel.py").write_text(STEP, encoding="utf-8")
    with monkeypatch.context() as newer:
        newer.setattr(store, "SCHEMA", "2")
        newer.setattr(store, "MIGRATIONS", later)
        assert "from schema version 1 to 2" in upgrade(place.where)
    before = place.dump()
    uses: list[Callable[[], object]] = [
        lambda: observe_one(book),
        lambda: book.observe(outcomes("students", 1, 0, prefix="two")),
        lambda: book.decide(key="day 2"),
        lambda: book.pause("shops"),
        book.status,
        book.verify,
        lambda: copy_portfolio(place.where, tmp_path / "copy.db"),
        lambda: upgrade(place.where),
    ]
    for use in uses:
        with pytest.raises(NewerPortfolioError, match="has schema version 2"):
            use()
    assert place.dump() == before


def test_without_the_row_to_lock_nobody_writes(place: Place) -> None:
    book = small(place)
    place.change("DELETE FROM profitable_state WHERE part = 'clock'")
    before = place.dump()
    for use in (lambda: observe_one(book), lambda: book.decide(key="day 2")):
        with pytest.raises(BrokenPortfolioError, match="state = 'clock' is missing"):
            use()
    assert place.dump() == before


def test_somebody_who_writes_without_the_lock(server_place: Place) -> None:
    """As by SQL: the number of the line is taken.  To try again is right."""
    book = small(server_place)

    def write() -> None:
        with book._writing() as writing:
            server_place.change(
                "INSERT INTO profitable_journal (line, time, actor, version, kind, round, hash) "
                "VALUES (3, 'now', 'eve', '0', 'change', 1, 'none')"
            )
            writing.add(writing.new("outcome", id="x", category="students", reward=1.0))
            writing.touched.add(0)

    with pytest.raises(NotStoredError, match="somebody without the lock; try again"):
        write()
    server_place.change("DELETE FROM profitable_journal WHERE line = 3")
    assert observe_one(book) == ["counted"]
