"""A process that has a portfolio or an agent forks: what either of them acknowledges is
stored, and nobody hangs.
"""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import pytest

import profitable as pb
from profitable.errors import ForkedError
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, elsewhere, outcomes, small, statuses
from tests.waiting import LIMIT

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
fork = multiprocessing.get_context("fork")


class Child:
    """A forked process that does what it is told, one job after the other."""

    def __init__(self) -> None:
        self._ours, theirs = fork.Pipe()
        self._jobs: list[Callable[[], Any]] = []
        self._process = fork.Process(target=self._work, args=(theirs,))

    def add(self, job: Callable[[], Any]) -> None:
        self._jobs.append(job)

    def start(self) -> None:
        self._process.start()

    def _work(self, pipe: Connection) -> None:
        for job in self._jobs:
            pipe.recv()
            try:
                pipe.send(job())
            except BaseException as error:
                pipe.send(error)

    def __call__(self) -> Any:
        """Return the result of the next job, or the error that it raises."""
        self._ours.send("next")
        assert self._ours.poll(LIMIT), "the child hangs"
        return self._ours.recv()

    def end(self) -> None:
        self._process.kill()
        self._process.join()


@contextmanager
def forked(*jobs: Callable[[], Any]) -> Generator[Child]:
    child = Child()
    for job in jobs:
        child.add(job)
    child.start()
    try:
        yield child
    finally:
        child.end()


def stored(place: Place) -> set[str]:
    return {
        row[0] for row in place.rows("SELECT id FROM profitable_journal WHERE kind = 'outcome'")
    }


def test_what_a_child_acknowledges_is_stored(place: Place) -> None:
    book = small(place)
    book.observe(outcomes("students", 1, 0, prefix="before"))
    with forked(
        lambda: statuses(book.observe(outcomes("students", *[1, 0] * 50, prefix="child")))
    ) as child:
        book.close()
        with elsewhere(place, 50):  # and stays there
            answer = child()
    assert answer == ["counted"] * 100
    assert {f"child {i}" for i in range(1, 101)} | {f"elsewhere {i}" for i in range(50)} <= stored(
        place
    )
    assert_clean(place.open())


def test_parent_and_child_write_at_the_same_time(place: Place) -> None:
    book = small(place)
    steps = 40

    def work(who: str) -> list[str]:
        return [
            statuses(book.observe(outcomes("students", 1, prefix=f"{who} {i}")))[0]
            for i in range(steps)
        ]

    with forked(lambda: work("child")) as child:
        child._ours.send("next")
        ours = work("parent")
        assert child._ours.poll(LIMIT)
        assert ours == child._ours.recv() == ["counted"] * steps
    assert len(stored(place)) == 2 * steps
    assert book.agent["students"].clients == 2 * steps
    assert_clean(book)


def test_a_child_that_closes_leaves_the_parent_alone(server_place: Place) -> None:
    """Closing a connection to a server ends its session, also if the process has only
    inherited it.
    """
    book = small(server_place)

    def session() -> int:
        with book._store.read() as connection:
            return connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()

    before = session()
    with forked(book.close) as child:
        assert child() is None
    with forked(session, lambda: statuses(book.observe(outcomes("students", 1)))) as child:
        assert child() != before
        assert child() == ["counted"]
    assert session() == before
    assert statuses(book.observe(outcomes("students", 1))) == ["known"]
    assert_clean(book)


def test_a_child_that_ends_as_programs_do_leaves_the_parent_alone(place: Place) -> None:
    """Python closes what is still open at its end."""
    code = f"""
import os, sys, profitable as pb
book = pb.Portfolio({place.where!r})
book.observe([pb.Outcome("one", "students", reward=1)])
with book._store.read():  # it is in use, so it is not closed before the fork
    child = os.fork()
    if child == 0:
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert book._store.connection.exec_driver_sql("SELECT count(*) FROM "
        "profitable_journal").scalar_one() == 3
book.observe([pb.Outcome("two", "students", reward=1)])
"""
    small(place).close()
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert stored(place) == {"one", "two"}
    assert_clean(place.open())


@contextmanager
def busy(use: Callable[[Callable[[], None]], object]) -> Generator[None]:
    """While another thread is in the middle of something: `use` is given what it is to
    call there.
    """
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        inside.set()
        leave.wait(LIMIT)

    thread = threading.Thread(target=use, args=(stay,))
    thread.start()
    try:
        assert inside.wait(LIMIT)
        yield
    finally:
        leave.set()
        thread.join()


def test_an_agent_that_another_thread_was_using() -> None:
    agents = [pb.Agent(categories(), policy="ts", seed=1) for _ in range(2)]

    with agents[0]._lock, forked(lambda: agents[0].decide().round) as child:
        assert child() == 1  # the thread that forks may have the lock

    def hold(stay: Callable[[], None]) -> None:
        with agents[0]._lock:
            stay()

    with busy(hold), forked(*[lambda i=i: agents[i].decide().round for i in (0, 0, 1)]) as child:
        for _ in range(2):
            error = child()
            assert isinstance(error, ForkedError)
            assert "was forked while another thread used this agent" in str(error)
        assert child() == 1
    assert agents[0].decide().round == 1


def test_a_portfolio_that_another_thread_was_using(place: Place) -> None:
    book = small(place)

    def use(stay: Callable[[], None]) -> None:
        with book._writing():
            stay()

    def reopened() -> str:
        with pb.Portfolio(place.where, wait=0.1) as another:
            return str(another.round)

    report: Callable[[], Any] = lambda: statuses(book.observe(outcomes("students", 1)))  # noqa: E731
    with busy(use), forked(report, lambda: book.round, reopened, book.close) as child:
        for _ in range(2):
            error = child()
            assert isinstance(error, ForkedError)
            assert "spawn the process" in str(error)
        answer = child()
        if place.is_file:  # SQLite would have no lock on it
            assert isinstance(answer, ForkedError)
            assert "was in use when this process was forked" in str(answer)
        else:
            assert answer == "1"
        assert child() is None
    assert statuses(book.observe(outcomes("students", 1))) == ["counted"]
    assert_clean(book)


def test_the_turn_to_write_does_not_outlive_its_owner_in_a_child(tmp_path: Any) -> None:
    """The owner forks while it writes and is killed, and its child lives on."""
    place = Place(str(tmp_path / "book.db"))
    small(place).close()
    reader, writer = os.pipe()
    code = f"""
import os, signal, time, profitable as pb
book = pb.Portfolio({place.where!r})
with book._writing():
    if os.fork() == 0:
        os.write({writer}, b"%d\\n" % os.getpid())
        time.sleep({LIMIT})
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False, pass_fds=[writer])
    os.close(writer)
    with os.fdopen(reader) as pipe:
        child = int(pipe.readline())
    try:
        with place.open(wait=LIMIT / 10) as book:
            assert statuses(book.observe(outcomes("students", 1))) == ["counted"]
    finally:
        os.kill(child, 9)
