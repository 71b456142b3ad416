"""Backtest where the data are.

    .venv/bin/python benchmarks/cells.py [rows, 1e8]

Rows are generated inside DuckDB by arithmetic (50 categories, 36 months, outcomes up to
5 months late, rewards 0 or 1), added up into cells there, and the default policies are
replayed with intervals.  Then rows and cells side by side, on 10^6 and 10^7 clients
from the same Parquet file, with 10 bootstrap portfolios and 2 seeds, since rows take
long.  Each part runs in a process of its own, whose peak memory is shown.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rows import Group, Row, concluded, limited, rows_of

LIMIT = "2GB"  # memory of DuckDB
SIZE = 10**7  # in `make bench`
SECONDS, MEMORY = 12.0, 2.0  # for each 10^6 rows; GB
FASTER = {10**6: None, 10**7: 5.0}  # cells beside rows

ROWS = """
    SELECT i AS id, 'segment ' || lpad(CAST(k AS VARCHAR), 2, '0') AS segment,
        DATE '2023-01-01' + CAST(i * 1090 // {rows} AS INTEGER) AS asked,
        DATE '2023-01-01' + CAST(i * 1090 // {rows} + u % 150 AS INTEGER) AS known,
        CAST(v % 1000 < 50 + 6 * k AS TINYINT) AS bought
    FROM (SELECT i, (i * 48271) % 2147483647 % 50 AS k, ((i + 7) * 69621 % 2147483647) AS u,
        ((i * 16807 + 11) % 2147483647 * 48271 % 2147483647) // 7 AS v FROM range({rows}) t(i))
"""
PART = """
import json, resource, sys, time
import duckdb
import profitable as pb
from profitable.replay.replay import replay
what, rows, limit, path, sql = json.loads(sys.argv[1])
few = dict(replays=10, seeds=2, shuffles=0)
columns = dict(category="segment", time="asked", known="known", reward="bought", cost=1, revenue=5)
warm = {"segment": ["a", "b"] * 30, "asked": list(range(1, 61)), "bought": [0, 1, 1] * 20}
named = dict(category="segment", time="asked", reward="bought")
pb.backtest(warm, **named, cost=1, revenue=5, replays=2, seeds=1, shuffles=0)
connection = duckdb.connect(config={"memory_limit": limit, "threads": 2})
start = time.perf_counter()
if what == "write":
    connection.sql(sql.format(rows=rows)).write_parquet(path)
    made = found = None
elif what == "rows":
    made = None
    found = pb.backtest(path, **columns, **few)
else:
    made_up = what == "generated"
    frame = connection.sql(sql.format(rows=rows)) if made_up else connection.read_parquet(path)
    cells = pb.backtest.cells(frame, id="id", **columns)
    made = time.perf_counter() - start
    found = pb.backtest(cells, **({} if what == "generated" else few))
said = {"seconds": time.perf_counter() - start, "cells_seconds": made}
said["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
if found is not None:
    said["cells"] = None if what == "rows" else len(cells)
    said["profits"] = {entry.name: entry.profit for entry in found if "cross" not in entry.name}
print(json.dumps(said))
"""


def part(what: str, rows: int, path: Path) -> dict[str, Any]:
    """Run a part in a process of its own."""
    given = json.dumps([what, rows, LIMIT, str(path), ROWS])
    done = subprocess.run(
        [sys.executable, "-c", PART, given], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def generated(rows: int) -> list[Row]:
    """Time rows that DuckDB generates, with default policies and replays."""
    with tempfile.TemporaryDirectory() as folder:
        said = part("generated", rows, Path(folder) / "none")
    job = f"cells of {rows:.0e} rows in DuckDB"
    return [
        limited(f"{job}, with replays", said["seconds"], SECONDS * rows / 1e6, "s"),
        limited(f"{job}, peak memory", said["peak"], MEMORY, "GB"),
    ]


def beside_rows(size: int) -> list[Row]:
    """Rows and cells of the same Parquet file, with the same profits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{size}.parquet"
        part("write", size, path)
        one, other = (part(what, size, path) for what in ("rows", "file"))
    if one["profits"] != other["profits"]:
        raise SystemExit(f"rows and cells of {size} clients differ in their profits")
    job = f"backtest of {size:.0e} clients, cells / rows"
    return [Row(job, other["seconds"], one["seconds"], "s", bar=FASTER[size], at_least=True)]


def groups(*, quick: bool, rows: int = SIZE) -> Iterator[Group]:
    if quick:
        return
    yield Group(f"cells of {rows:.0e} rows", partial(generated, rows), 1)
    for size in FASTER:
        if size <= rows:
            yield Group(f"cells beside rows, {size:.0e} clients", partial(beside_rows, size), 1)


if __name__ == "__main__":
    given = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    sys.exit(concluded(rows_of(groups(quick=False, rows=given), {}), {}))
