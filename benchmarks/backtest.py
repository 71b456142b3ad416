"""Time a backtest of ten million clients.

    .venv/bin/python benchmarks/backtest.py [clients] [replays]

A Parquet file of clients in 50 categories and 1 000 days is made and read.  Then one
policy is replayed, further ones, and bootstrap portfolios.  Peak memory is that of this
process, which makes the file in another one.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def main(size: int, replays: int) -> None:
    import profitable as pb
    from profitable.replay.backtest import weights_of
    from profitable.replay.family_choice import choose_family
    from profitable.replay.layout import Layout
    from profitable.replay.read import read
    from profitable.replay.replay import replay

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clients.parquet"
        subprocess.run([sys.executable, "-c", MAKE, str(path), str(size)], check=True)
        print(f"{size:,} clients, {path.stat().st_size / 1e6:.0f} MB of Parquet")
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
        past = read(str(path), layout)
        terms = choose_family(past)
        ready = time.perf_counter()
        print(f"reading and preparing {ready - start:.1f} s, peak memory {peak():.2f} GB")
        spent: list[float] = []
        for name in (
            "kl-ucb",
            "kl-ucb",
            "kl-ucb+",
            "bayes-ucb",
            "ts",
            "optimal:horizon",
            "kl-ucb:forget=0.99",
        ):
            before = time.perf_counter()
            found = replay(past.clients, terms.categories, pb.Policy.of(name), seed=1)
            earned = float((found.accepted * past.clients.profit_by_cell).sum())
            after = time.perf_counter()
            spent.append(after - before)
            if len(spent) == 1:
                print(
                    f"reading and one policy {after - start:.1f} s (bar 60), memory "
                    f"{peak():.2f} GB (bar 1)"
                )
            print(
                f"{name:20} {after - before:5.2f} s   earned {earned:,.0f}   since the "
                f"start {after - start:.1f} s"
            )
        print(f"the slowest further policy {max(spent[1:]):.2f} s (bar 2)")
        before = time.perf_counter()
        for replicate in range(replays):
            weights = weights_of(past.clients, None, 1, replicate)
            replay(past.clients, terms.categories, pb.Policy.of("kl-ucb"), seed=1, weights=weights)
            past.clients.by_cell(past.clients.profit * weights)
        each = (time.perf_counter() - before) / max(replays, 1)
        print(f"a bootstrap replay {each:.2f} s, so that 100 take {each * 100 / 60:.1f} minutes")
        print(f"peak memory {peak():.2f} GB")


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:3]]
    main(*given, *(10_000_000, 5)[len(given) :])
