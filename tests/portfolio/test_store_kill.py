"""kill -9 of those who write, and of the server, at random moments under load.

What was acknowledged is stored, nothing is stored twice, a call is stored whole or not
at all, everything follows from the journal, and the portfolio opens at once.
"""

import os
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from tests.portfolio.conftest import new_place
from tests.portfolio.places import BACKENDS, Place
from tests.portfolio.server import Server
from tests.portfolio.small import assert_clean
from tests.portfolio.writers import Writers, calls, categories, ids_of
from tests.waiting import LIMIT

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
KILLS = 500 if SOAK else 10
SERVER_KILLS = 20 if SOAK else 1
EACH = 50  # kills of one portfolio
MOST_CALLS = 30  # that are acknowledged before a kill
FASTEST = 1.0  # seconds in which a portfolio opens


class Load:
    """Processes that write to one portfolio one after the other, and what they were
    told.
    """

    def __init__(self, place: Place, writers: Writers, rng: np.random.Generator) -> None:
        self.place, self.writers, self.rng = place, writers, rng
        self.expected: list[str] = []  # the ids of all lines that must be there, in their order
        self.runs = 0
        self.slowest = 0.0
        self.unheard = 0  # kills between storing and acknowledging
        place.create(categories(), policy="ts:forget=0.99", seed=7).close()

    def start(self) -> tuple[int, int]:
        """A process that writes; returns its number and after how many calls something
        happens to it.
        """
        self.runs += 1
        pid = self.writers.start("write", self.place.where, f"run {self.runs}", self.runs)
        return pid, int(self.rng.integers(MOST_CALLS))

    def hear(self, number: int) -> list[str]:
        """Return the output up to so many acknowledged calls, after a random pause."""
        heard = self.writers.hear_until(f"done {number}") if number else []
        time.sleep(float(self.rng.exponential(0.003)))
        return heard

    def check(self, heard: list[str]) -> None:
        """Check that acknowledged calls of a killed process are stored, and its last
        call as a whole or not at all.
        """
        done = max((int(each.split()[1]) for each in heard if each.startswith("done")), default=0)
        self.wait_for_server()
        sent = list(islice(calls(f"run {self.runs}", self.runs), done + 1))
        stored = "SELECT id FROM profitable_journal WHERE id IS NOT NULL ORDER BY line"
        found = [id for (id,) in self.place.rows(stored)]
        acknowledged = [id for call in sent[:-1] for id in ids_of(call)]
        self.expected += acknowledged
        if len(found) > len(self.expected):
            self.expected += ids_of(sent[-1])
            self.unheard += 1
        assert found == self.expected

    def wait_for_server(self) -> None:
        """A server may still be busy with the last words of a client who is gone."""
        busy = (
            "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )
        start = time.monotonic()
        while not self.place.is_file and self.place.rows(busy):
            assert time.monotonic() - start < LIMIT
            time.sleep(0.001)

    def open(self) -> pb.Portfolio:
        start = time.perf_counter()
        book = self.place.open()
        assert len(book.names)  # so that the state is loaded
        self.slowest = max(self.slowest, time.perf_counter() - start)
        return book


@pytest.mark.parametrize("backend", BACKENDS)
def test_writers_are_killed(
    backend: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    writers: Writers,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = np.random.default_rng(None if SOAK else 1)
    stored, unheard, slowest = 0, 0, 0.0
    for first in range(0, KILLS, EACH):
        load = Load(new_place(request, backend, tmp_path), writers, rng)
        for _ in range(min(EACH, KILLS - first)):
            pid, number = load.start()
            load.check([*load.hear(number), *writers.kill(pid)])
            with load.open() as book:
                assert_clean(book)
        stored, unheard, slowest = (
            stored + len(load.expected),
            unheard + load.unheard,
            max(slowest, load.slowest),
        )
        load.place.close()
    assert slowest < FASTEST
    if SOAK:
        with capsys.disabled():
            told = (
                f"{KILLS} kills, {stored} lines, {unheard} kills after storing "
                f"and before it was said"
            )
            print(f"\n{backend}: {told}; the slowest open took {1000 * slowest:.1f} ms")


def test_the_server_is_killed(writers: Writers, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(None if SOAK else 2)
    with Server() as server:
        load = Load(Place(server.url()), writers, rng)
        for _ in range(SERVER_KILLS):
            pid, number = load.start()
            heard = load.hear(number + 1)
            server.kill()
            heard += writers.hear_until("lost NotStoredError")
            server.start()
            heard += writers.hear_until("done")  # the same process goes on
            heard += writers.hear_until("done")
            load.check([*heard, *writers.kill(pid)])
            with load.open() as book:
                assert_clean(book)
        assert load.slowest < FASTEST
        load.place.close()
        if SOAK:
            with capsys.disabled():
                lines, slowest = len(load.expected), 1000 * load.slowest
                print(
                    f"\nserver: {SERVER_KILLS} kills, {lines} lines, the slowest "
                    f"open took {slowest:.1f} ms"
                )
