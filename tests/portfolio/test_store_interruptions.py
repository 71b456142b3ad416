"""Faults in the middle of a call: a statement fails, a connection is lost,
somebody presses Ctrl-C.

Nothing is acknowledged that is not stored, and the portfolio works again.
"""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import profitable as pb
from profitable.errors import NotStoredError, PortfolioError
from profitable.portfolio import state
from tests.portfolio.model import assert_same
from tests.portfolio.places import Place
from tests.portfolio.server import Server
from tests.portfolio.small import assert_clean, categories, outcomes, small, statuses

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
INTERRUPTIONS = 500 if SOAK else 25

FAILING = {
    "sqlite": "CREATE TRIGGER failing BEFORE INSERT ON {table}"
    " BEGIN SELECT RAISE(ABORT, 'it fails'); END",
    "at once": "CREATE TRIGGER failing BEFORE INSERT ON {table}"
    " FOR EACH ROW EXECUTE FUNCTION fail()",
    "at the end": (
        "CREATE CONSTRAINT TRIGGER failing AFTER INSERT OR UPDATE ON {table} "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()"
    ),
}
FAIL = (
    "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
    "EXCEPTION 'it fails'; END $$"
)


@contextmanager
def failing(place: Place, table: str, how: str) -> Generator[None]:
    """Whoever writes to a table fails, when he does or when he wants to end his
    transaction.
    """
    if not place.is_file:
        place.change(FAIL)
    place.change(FAILING["sqlite" if place.is_file else how].format(table=table))
    yield
    place.change("DROP TRIGGER failing" if place.is_file else f"DROP TRIGGER failing ON {table}")


def calls(book: pb.Portfolio) -> list[Callable[[], object]]:
    """All that can be stored."""
    return [
        lambda: book.decide(key="day 2"),
        lambda: book.observe([pb.Outcome("one", "students", reward=1)]),
        lambda: book.observe(outcomes("students", 1, 0, 1, prefix="many")),
        lambda: book.open([pb.Client("late", "cars", matures=3)]),
        lambda: book.correct("known", reward=0),
        lambda: book.pause("shops"),
        lambda: book.set_policy("kl-ucb"),
        lambda: book.add_category(pb.Category("more", pb.Bernoulli(), threshold=0.5)),
    ]


TABLES = ["profitable_journal", "profitable_state"]


@pytest.mark.parametrize("table", TABLES)
def test_a_statement_that_fails(place: Place, table: str) -> None:
    check_failing(place, table, "at once")


@pytest.mark.parametrize("table", TABLES)
def test_an_end_that_fails(server_place: Place, table: str) -> None:
    """All statements were fine, and the server does not want to store what they did."""
    check_failing(server_place, table, "at the end")


def check_failing(place: Place, table: str, how: str) -> None:
    """Nothing is stored while a table is not writable, and all of it afterwards."""
    book = small(place)
    book.observe([pb.Outcome("known", "students", reward=1)])
    before, shown = place.dump(), str(book.agent)
    with failing(place, table, how):
        for call in calls(book):
            with pytest.raises(PortfolioError, match="it fails"):
                call()
            assert str(book.agent) == shown
        assert place.dump() == before
    for call in calls(book):
        call()
    assert place.lines() == 3 + 8 + 2
    assert_clean(book)


def test_a_connection_that_is_cut_while_it_is_idle(server_place: Place) -> None:
    place = server_place
    book = small(place)
    others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
        "pg_backend_pid() AND usename IS NOT NULL"
    )
    for number, call in enumerate([*calls(book)[:4], book.status, book.verify]):
        before = place.dump()
        place.rows(others)
        try:
            call()
        except NotStoredError:
            assert place.dump() == before
            call()  # the same object has another connection now
        expected = before if number >= 4 else None
        assert expected is None or place.dump() == expected
    assert place.lines() == 2 + 1 + 1 + 3 + 1
    assert_clean(book)


def test_a_server_that_only_answers(server: Server, server_place: Place) -> None:
    """As a copy that follows another server does."""
    place = server_place
    book = small(place)
    with server.connect() as connection:
        connection.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
    try:
        follower = place.open()
        with pytest.raises(NotStoredError, match="read-only"):
            follower.observe(outcomes("students", 1))
        assert follower.round == 1
        assert_clean(follower)
    finally:
        with server.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
    assert statuses(book.observe(outcomes("students", 1))) == ["counted"]


def test_defaults_of_a_server_do_not_matter(server_place: Place) -> None:
    """Settings of an administrator for a role or a database, or of somebody in the
    address.
    """
    place = server_place
    settings = [
        "extra_float_digits=-15",
        "default_transaction_isolation=serializable",
        "synchronous_commit=off",
    ]
    settings += [
        "client_encoding=LATIN1",
        "bytea_output=escape",
        "DateStyle=German",
        "lock_timeout=1",
        "timezone=Asia/Tokyo",
    ]
    odd = Place(
        place.where + "".join(f"%20-c{setting.replace('=', '%3D')}" for setting in settings)
    )
    book = small(odd)
    sent = [
        pb.Outcome(f"日本 {i}", "cards", reward=1 / 3 + i / 7, amount=1e6 / 3) for i in range(5)
    ]
    book.observe(sent)
    other = odd.open()
    other.observe(outcomes("students", 1, 0))
    book.observe(outcomes("students", 1, 0, prefix="more"))
    assert place.rows("SELECT reward FROM profitable_journal WHERE line = 3") == [(1 / 3,)]
    assert statuses(other.observe(sent)) == ["known"] * 5
    for each in (book, other):
        assert_same(each, book.agent)
        found = each.verify()
        assert found.is_clean
        assert [note.partition(";")[0] for note in found.notes] == [
            "the server has synchronous_commit = off"
        ]
    assert_clean(place.open())
    odd.close()


def test_addresses_that_lead_nowhere(server: Server) -> None:
    addresses = [
        server.url().replace("/postgres?", "/nothing?"),
        server.url("no_such_schema"),
        "postgresql+psycopg://postgres@/postgres?host=/nowhere",
    ]
    for address in addresses:
        with pytest.raises(PortfolioError) as caught:
            pb.Portfolio(address)
        assert "\n" not in str(caught.value)
        with pytest.raises(pb.ProfitableError):
            pb.Portfolio.create(address, categories(), policy="ts")


def test_a_file_that_goes_while_it_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first statement of a call and its end."""
    place = Place(str(tmp_path / "book.db"))
    book = small(place)
    save = state.save

    def gone(*given: object, **options: object) -> None:
        save(*given, **options)  # type: ignore[arg-type]
        (tmp_path / "book.db").rename(tmp_path / "elsewhere.db")

    monkeypatch.setattr(state, "save", gone)
    with pytest.raises(NotStoredError, match="was removed or replaced"):
        book.observe(outcomes("students", 1))
    book.close()


# ------------------------------------------------------------------------------- Ctrl-C


class CtrlC(BaseException):
    """Like KeyboardInterrupt, which would end the tests if it came too late."""


class Alarm:
    """Ctrl-C after a time, once."""

    def __init__(self) -> None:
        self.is_set = False

    def ring(self, _: int, __: FrameType | None) -> None:
        if self.is_set:
            self.is_set = False
            raise CtrlC

    def after(self, seconds: float) -> None:
        self.is_set = True
        signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    made = Alarm()
    before = signal.signal(signal.SIGALRM, made.ring)
    yield made
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


# What it hits inside of the driver may be thrown away while it is cleaned up.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_any_moment(place: Place, alarm: Alarm) -> None:
    """Each call is stored whole or not at all, and the same object goes on."""
    rng = np.random.default_rng(None if SOAK else 3)
    book = small(place)
    reported: list[str] = []
    for number in range(INTERRUPTIONS):
        sent = outcomes("students", *[1, 0] * 10, prefix=f"run {number}")
        is_counted = False
        try:
            alarm.after(float(rng.uniform(1e-4, 8e-3)))
            is_counted = len(book.observe(sent).counted) == 20
            while alarm.is_set:
                book.decide(key=f"run {number}")
                book.status()
        except CtrlC:
            pass
        again = book.observe(sent)
        assert statuses(again) in (["known"] * 20, ["counted"] * 20)
        assert not is_counted or len(again.known) == 20
        reported += [outcome.id for outcome in sent]
        if number % 10 == 0:
            with pb.Portfolio(place.where) as other:
                assert_same(other, book.agent)
    assert book.agent["students"].clients == len(reported)
    stored = "SELECT id FROM profitable_journal WHERE kind = 'outcome' ORDER BY line"
    assert [id for (id,) in place.rows(stored)] == reported
    assert_clean(book)
