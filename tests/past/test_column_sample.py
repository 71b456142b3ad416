"""Samples of rows."""

from pathlib import Path

import numpy as np
import pytest

from profitable.past.column_sample import sampled
from profitable.past.source import open_source
from tests.past.tables import write_csv


def test_a_small_source_is_taken_whole(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "past.csv", {"y": list(range(100)), "z": ["a"] * 100})
    found = sampled(open_source(path), ["y", "z"])
    assert (found.rows, found.is_whole) == (100, True)
    assert found.piece.column("y").to_pylist() == [str(each) for each in range(100)]


def test_a_sample_keeps_the_order_and_the_patterns_of_the_rows() -> None:
    """Every other row is treated: a sample of every 16th row would see one group."""
    rows = 200_000
    table = {"place": np.arange(rows), "treated": np.arange(rows) % 2}
    found = sampled(open_source(table), list(table), most=20_000)
    place, treated = (np.array(found.piece.column(name)) for name in table)
    assert found.rows == rows
    assert 10_000 < place.size <= 20_000
    assert (np.diff(place) > 0).all()
    assert treated.mean() == pytest.approx(0.5, abs=0.02)
    # As many of each tenth of the file, within 5 standard errors.
    tenths = np.bincount(place // (rows // 10))
    assert np.abs(tenths / place.size - 0.1).max() < 5 * np.sqrt(0.09 / place.size)
    again = sampled(open_source(table), list(table), most=20_000)
    assert np.array_equal(np.array(again.piece.column("place")), place)


def test_a_source_without_rows_has_an_empty_sample(tmp_path: Path) -> None:
    path = tmp_path / "past.csv"
    path.write_text("y,z\n")
    found = sampled(open_source(path), ["y"])
    assert (found.rows, found.piece.batch.num_rows) == (0, 0)
