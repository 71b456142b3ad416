"""Rows that are sorted by a column, and rows that are not."""

from typing import Any

import numpy as np
import pytest

from profitable.past.column_profile import profile
from profitable.past.column_sample import sampled
from profitable.past.layout import Layout
from profitable.past.row_order import doubt_rows, order_of, warn_of_sorted_rows
from profitable.past.source import open_source

ROWS = Layout(category="job", reward="y", cost=0.5, round=20)


def doubts(table: dict[str, Any]) -> list[str]:
    piece = sampled(open_source(table), list(table)).piece
    return doubt_rows([profile(piece, name) for name in table])


@pytest.mark.statistical
def test_a_random_order_is_no_order() -> None:
    """False alarms: none in 4 000 shuffled columns.

    At a rate of 1e-3 a column, this would fail in 98 % of all runs; the three rules
    together have less than 1e-6.
    """
    rng = np.random.default_rng(3)
    for rows in (60, 200, 1_000, 5_000):
        columns = (
            lambda n: rng.normal(size=n),
            lambda n: rng.integers(0, 2, n).astype(float),
            lambda n: rng.integers(0, 12, n).astype(float),
            lambda n: (rng.random(n) < 0.02).astype(float),
            lambda n: np.round(rng.lognormal(8, 1, n), -2),
        )
        for make in columns:
            assert not any(order_of(make(rows)) for _ in range(200))


def test_columns_that_drift_with_time_are_no_order() -> None:
    """What changes over time is what a backtest is about."""
    rng = np.random.default_rng(4)
    time = np.linspace(0.0, 1.0, 4_000)
    # A trend that explains half of the spread, a share that rises from 10 to 90 %, a
    # season.
    assert order_of(3.5 * time + rng.normal(size=4_000)) is None
    assert order_of((rng.random(4_000) < 0.1 + 0.8 * time).astype(float)) is None
    assert order_of(np.sin(20.0 * time) + rng.normal(size=4_000)) is None


@pytest.mark.parametrize("rows", [60, 600, 6_000])
def test_sorted_rows_are_found(rows: int) -> None:
    rng = np.random.default_rng(rows)
    amount = np.sort(rng.lognormal(8, 1, rows))
    assert order_of(amount) == "sorted"
    assert order_of(amount[::-1]) == "sorted"
    assert order_of(np.where(rng.random(rows) < 0.3, np.nan, amount)) == "sorted"
    nearly = np.argsort(np.arange(rows) + rng.normal(0, rows / 50, rows))
    assert order_of(amount[nearly]) == "sorted"
    # Two files, one behind the other, each sorted.
    assert order_of(np.concatenate([amount[::2], amount[1::2]])) == "sorted"
    groups = np.repeat(rng.permutation(6), rows // 6).astype(float)
    assert order_of(groups) in ("grouped", "sorted")


def test_the_warning_names_the_column() -> None:
    rng = np.random.default_rng(6)
    table: dict[str, Any] = {
        "job": rng.choice(["cook", "clerk", "nurse"], 600).tolist(),
        "amount": rng.lognormal(8, 1, 600).tolist(),
        "y": rng.integers(0, 2, 600).tolist(),
    }
    source = open_source(table)
    assert warn_of_sorted_rows(source, ROWS) == []
    for name in ("job", "amount", "y"):
        order = np.argsort(table[name], kind="stable")
        moved = {key: [values[each] for each in order] for key, values in table.items()}
        (warning,) = warn_of_sorted_rows(open_source(moved), ROWS)
        assert f"by {name}: their order is not time" in warning
        with_time = Layout(category="job", time="amount", round="number", reward="y", cost=1)
        assert warn_of_sorted_rows(open_source(moved), with_time) == []


def test_dates_and_running_numbers_may_be_the_time() -> None:
    rng = np.random.default_rng(7)
    days = np.sort(rng.integers(0, 700, 500))
    dates = [str(np.datetime64("2024-01-01") + each) for each in days]
    # What drifts with the dates is not named beside them.
    (warning,) = doubts({"drift": days.tolist(), "opened": dates})
    assert warning == "the rows are sorted by opened, which looks like a time: give it as --time"
    (warning,) = doubts({"loan_id": np.cumsum(rng.integers(1, 99, 500)).tolist()})
    assert "by loan_id, a running number" in warning
    (warning,) = doubts({"x": list(range(7, 507))})
    assert "by x, a running number" in warning
    # Whole numbers that do not repeat, but leave many out, are amounts.
    (warning,) = doubts({"amount": np.cumsum(rng.integers(1, 99, 500)).tolist()})
    assert "by amount: their order is not time" in warning


def test_a_stream_has_no_warning() -> None:
    import pyarrow as pa

    table = {"job": ["a", "b"] * 50, "y": list(range(100))}
    assert warn_of_sorted_rows(open_source(pa.table(table).to_reader()), ROWS) == []
