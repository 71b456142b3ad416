"""Tables of past clients for the tests, written in every way in which they can be
given.
"""

import csv
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profitable.past.past import PER_CLIENT, SingleClients

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
LOANS = SHARED / "lendingclub_2007_2011.csv.gz"
CALLS = SHARED / "bank_marketing_full.csv.gz"
needs_loans = pytest.mark.skipif(not LOANS.exists(), reason="the shared file of loans is not there")
needs_calls = pytest.mark.skipif(not CALLS.exists(), reason="the shared file of calls is not there")

Columns = Mapping[str, Sequence[Any]]


def write_csv(path: Path, columns: Columns, delimiter: str = ",") -> Path:
    """A CSV file; None is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    plain = text.getvalue().encode()
    path.write_bytes(gzip.compress(plain) if path.suffix == ".gz" else plain)
    return path


def write_parquet(path: Path, columns: Columns, row_group_size: int | None = None) -> Path:
    """A Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(dict(columns)), path, row_group_size=row_group_size)
    return path


def _pandas(columns: Columns, folder: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _polars(columns: Columns, folder: Path) -> Any:
    import polars as pl

    return pl.DataFrame(columns)


def _arrow(columns: Columns, folder: Path) -> Any:
    import pyarrow as pa

    return pa.table(dict(columns))


def _duckdb(columns: Columns, folder: Path) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(_arrow(columns, folder))


def _narwhals(columns: Columns, folder: Path) -> Any:
    import narwhals

    return narwhals.from_native(_polars(columns, folder))


WAYS: dict[str, Callable[[Columns, Path], Any]] = {
    "csv": lambda columns, folder: write_csv(folder / "past.csv", columns),
    "csv.gz": lambda columns, folder: str(write_csv(folder / "past.csv.gz", columns)),
    "semicolons": lambda columns, folder: write_csv(folder / "past.txt", columns, ";"),
    "parquet": lambda columns, folder: write_parquet(folder / "past.parquet", columns),
    "parquet in parts": lambda columns, folder: write_parquet(
        folder / "past.parquet", columns, row_group_size=5
    ),
    "dict": lambda columns, folder: columns,
    "pandas": _pandas,
    "polars": _polars,
    "lazy polars": lambda columns, folder: _polars(columns, folder).lazy(),
    "pyarrow": _arrow,
    "reader": lambda columns, folder: _arrow(columns, folder).to_reader(),
    "batch": lambda columns, folder: _arrow(columns, folder).to_batches()[0],
    "duckdb": _duckdb,
    "narwhals": _narwhals,
    "lazy narwhals": lambda columns, folder: _narwhals(columns, folder).lazy(),
}


def same(first: SingleClients, second: SingleClients) -> bool:
    """Whether two pasts have the very same clients in the same order."""
    names = ("round", "category", "known", "reward", "profit", *PER_CLIENT)
    pairs = [(getattr(first, name), getattr(second, name)) for name in names]
    equal = all((a is None and b is None) or np.array_equal(a, b) for a, b in pairs)
    return equal and (first.names, first.labels) == (second.names, second.labels)


def loans(rows: int = 300, seed: int = 1) -> dict[str, list[Any]]:
    """Invented loans: months, dates, categories, amounts, costs, outcomes that are
    known late, some cells empty.
    """
    rng = np.random.default_rng(seed)
    month = rng.integers(0, 24, rows)
    asked = [
        f"{2024 + m // 12}-{m % 12 + 1:02d}-{d:02d}"
        for m, d in zip(month, rng.integers(1, 29, rows), strict=True)
    ]
    late = month + rng.integers(1, 9, rows)
    known: list[str | None] = [
        f"{2024 + m // 12}-{m % 12 + 1:02d}-{d:02d}"
        for m, d in zip(late, rng.integers(1, 29, rows), strict=True)
    ]
    amount: list[float | None] = np.round(rng.lognormal(7, 1, rows), 2).tolist()
    back: list[float | None] = [
        round(a * share, 2) for a, share in zip(amount, 1.3 * rng.beta(5, 1, rows), strict=True)
    ]
    for place in range(0, rows, 17):
        known[place] = None
    for place in range(3, rows, 29):
        back[place] = None
    for place in range(5, rows, 31):
        amount[place] = None
    return {
        "asked": asked,
        "known": known,
        "grade": rng.choice(["A", "B", "C10", "C9"], rows).tolist(),
        "age": rng.integers(18, 80, rows).tolist(),
        "lent": amount,
        "back": back,
        "good": (rng.random(rows) < 0.8).astype(int).tolist(),
        "status": rng.choice(["paid", "lost"], rows).tolist(),
        "price": np.round(rng.random(rows), 3).tolist(),
        "treated": rng.integers(0, 2, rows).tolist(),
        "chance": np.round(0.2 + 0.6 * rng.random(rows), 3).tolist(),
        "number": month.tolist(),
    }
