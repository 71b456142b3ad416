"""Time a backtest of ten million clients.

    .venv/bin/python benchmarks/backtest.py

A Parquet file of clients in 50 categories and 1 000 days is made and read.  Then one
policy is replayed, further ones, and bootstrap portfolios.  All of it runs in a process
of its own, whose peak memory counts, and the file is made in another one.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rows import Group, Row, alone, limited

CLIENTS, REPLAYS = 10_000_000, 5
POLICIES = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts", "optimal:horizon", "kl-ucb:forget=0.99")
READING, MEMORY, FURTHER, BOOTSTRAP = 60.0, 1.0, 2.0, 300.0  # seconds, GB, seconds, seconds

MAKE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
path, size, chunk = sys.argv[1], int(sys.argv[2]), 1_000_000
rng, means = np.random.default_rng(1), np.linspace(0.05, 0.35, 50)
names = np.array([f"segment {k:02d}" for k in range(50)])
writer = None
for start in range(0, size, chunk):
    count = min(chunk, size - start)
    day = (np.arange(start, start + count) * 1_000 // size).astype("int64")
    category = rng.integers(0, 50, count)
    asked = np.datetime64("2023-01-01") + day
    table = pa.table(
        {
            "segment": names[category],
            "asked": asked,
            "known": asked + rng.integers(0, 60, count),
            "bought": (rng.random(count) < means[category]).astype(np.int8),
            "age": rng.integers(18, 80, count),
        }
    )
    writer = writer or pq.ParquetWriter(path, table.schema)
    writer.write_table(table)
writer.close()
"""


def peak() -> float:
    """Peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measure(path: str) -> None:
    """In a process of its own: seconds and GB, as JSON."""
    import profitable as pb
    from profitable.past.layout import Layout
    from profitable.past.read import read
    from profitable.replay.backtest import weights_of
    from profitable.replay.family_choice import choose_family
    from profitable.replay.replay import replay

    # Compile before the clock.
    small = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.2)], policy="kl-ucb")
    small.decide()
    small.observe({"a": [1.0]})
    start = time.perf_counter()
    layout = Layout(
        category="segment",
        time="asked",
        round="day",
        reward="bought",
        known="known",
        cost=1,
        revenue=5,
    )
    past = read(path, layout)
    terms = choose_family(past)

    def played(name: str) -> float:
        before = time.perf_counter()
        found = replay(past.clients, terms.categories, pb.Policy.of(name), seed=1)
        (found.accepted * past.clients.profit_by_cell).sum()
        return time.perf_counter() - before

    played(POLICIES[0])
    reading = time.perf_counter() - start
    further = max(played(name) for name in POLICIES)
    before = time.perf_counter()
    for replicate in range(REPLAYS):
        weights = weights_of(past.clients, None, 1, replicate)
        replay(past.clients, terms.categories, pb.Policy.of("kl-ucb"), seed=1, weights=weights)
        past.clients.by_cell(past.clients.profit * weights)
    each = (time.perf_counter() - before) / REPLAYS
    print(json.dumps([reading, peak(), further, 100 * each]))


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "clients.parquet")
        subprocess.run([sys.executable, "-c", MAKE, path, str(CLIENTS)], check=True)
        command = [sys.executable, __file__, "--measure", path]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    reading, memory, further, bootstrap = json.loads(done.stdout.splitlines()[-1])
    return [
        limited("backtest of 10^7 clients: reading and one policy", reading, READING, "s"),
        limited("backtest of 10^7 clients: peak memory", memory, MEMORY, "GB"),
        limited("backtest of 10^7 clients: slowest further policy", further, FURTHER, "s"),
        limited("backtest of 10^7 clients: 100 bootstrap replays", bootstrap, BOOTSTRAP, "s"),
    ]


def groups(*, quick: bool) -> Iterator[Group]:
    if not quick:
        yield Group("backtest of 10^7 clients", rows, 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        sys.exit(alone(groups))
