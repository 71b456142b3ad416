"""Rows without an outcome, by round and category, against a count by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.past.cells import Cells
from profitable.past.layout import Layout
from profitable.past.past import Past
from profitable.past.read import read
from tests.past.tables import WAYS, loans

PLAIN: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "back", "amount": "lent"}


def expected(past: Past, table: dict[str, list[Any]], name: str = "grade") -> np.ndarray[Any, Any]:
    counts = np.zeros((past.clients.rounds, len(past.clients.names)), int)
    for asked, back, lent, value in zip(
        table["asked"], table["back"], table["lent"], table[name], strict=True
    ):
        if back is None and lent is not None and asked[:7] in past.clients.labels:
            counts[past.clients.labels.index(asked[:7]), past.clients.names.index(value)] += 1
    return counts


@pytest.mark.parametrize("way", ["csv", "parquet", "polars"])
def test_by_month_and_category(way: str, tmp_path: Path) -> None:
    table = loans(600)
    past = read(WAYS[way](table, tmp_path), Layout(**PLAIN))
    assert past.still_open is not None
    assert past.still_open.sum() == 21
    np.testing.assert_array_equal(past.still_open, expected(past, table))
    cells = pb.backtest.cells(WAYS["lazy polars"](table, tmp_path), **PLAIN)
    np.testing.assert_array_equal(cells.past.still_open, past.still_open)
    saved = Cells.load(cells.save(tmp_path / "cells.parquet"))
    np.testing.assert_array_equal(saved.past.still_open, past.still_open)


def test_none_if_there_are_none() -> None:
    table = loans() | {"back": [1.0] * 300}
    assert read(table, Layout(**PLAIN)).still_open is None


def test_rounds_and_categories_without_clients_are_in_a_note() -> None:
    table = loans(300)
    table["asked"][3], table["asked"][32], table["grade"][61] = "2030-01-01", "2020-01-01", "Z"
    past = read(table, Layout(**PLAIN))
    assert past.still_open is not None
    opened = sum(
        back is None and lent is not None
        for back, lent in zip(table["back"], table["lent"], strict=True)
    )
    assert past.still_open.sum() == opened - 3
    assert any(note.startswith("3 rows without an outcome are in no round") for note in past.notes)
    assert "Z" not in past.clients.names


def test_bands_are_those_of_the_clients() -> None:
    table = loans(2_000)
    past = read(table, Layout(**(PLAIN | {"category": ["age:q4", "status"]})))
    ages = np.array(table["age"])
    kept = np.array(
        [
            back is not None and lent is not None
            for back, lent in zip(table["back"], table["lent"], strict=True)
        ]
    )
    edges = np.quantile(ages[kept], [0.25, 0.5, 0.75], method="higher")
    band = np.searchsorted(edges, ages, side="right")
    is_open = np.array(
        [
            back is None and lent is not None
            for back, lent in zip(table["back"], table["lent"], strict=True)
        ]
    )
    paid = np.array(table["status"]) == "paid"
    by_hand = [((band == k) & is_open & (paid == p)).sum() for k in range(4) for p in (False, True)]
    assert past.still_open is not None
    assert past.still_open.sum(axis=0).tolist() == by_hand


@pytest.mark.parametrize("time", [None, "number"])
def test_rounds_of_rows(time: str | None) -> None:
    """Every tenth row is open; those after the last client are in no round."""
    rows = 105
    table = {
        "number": list(range(rows)),
        "grade": ["a"] * rows,
        "good": [None if place % 10 == 9 or place > 100 else 1 for place in range(rows)],
    }
    layout = Layout(category="grade", time=time, round=9, reward="good", cost=0.5)
    past = read(table, layout)
    # Rounds of nine clients; the row behind them is open, and comes with the next ones.
    assert past.still_open is not None
    assert past.still_open[:, 0].tolist() == [0, *[1] * 10, 0][: past.clients.rounds]
    assert any("4 rows without an outcome are in no round" in note for note in past.notes)


def test_order_and_reversed_bands() -> None:
    table = loans(900)
    rising, falling = (
        read(table, Layout(**(PLAIN | {"category": "age:q5"}), order=order)).still_open
        for order in ("rising", "falling")
    )
    assert rising is not None
    assert falling is not None
    np.testing.assert_array_equal(rising, falling[:, ::-1])
