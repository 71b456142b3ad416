"""Rows that cannot be read: one sentence with all counts, or left out by reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profitable.errors import InputError
from profitable.past.layout import Layout
from profitable.past.past import Past
from profitable.past.read import read
from tests.past.tables import loans, same, write_csv, write_parquet

LOANS: dict[str, Any] = {
    "category": "grade",
    "time": "asked",
    "reward": "back",
    "amount": "lent",
    "known": "known",
}


def spoilt(rows: int = 300) -> dict[str, list[Any]]:
    """Loans of which rows 11, 12, 21, 31 and 41 (from 1) are bad, each in its way."""
    table = {name: list(map(_text, values)) for name, values in loans(rows).items()}
    table["lent"][10], table["lent"][11] = "none of it", "-3"
    table["known"][20] = "2020-01-01"
    table["asked"][30] = "2024-02-30"
    table["back"][40] = "1,5"
    return table


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def refusal(data: Any, **fields: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(data, Layout(**(LOANS | fields)))
    return str(caught.value)


def reasons(past: Past) -> dict[str, int]:
    return {each.reason: each.rows for each in past.left_out if each.reason.startswith("bad")}


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_one_sentence_counts_them_all(write: Callable[..., Path], tmp_path: Path) -> None:
    text = refusal(write(tmp_path / "past.x", spoilt()))
    assert (
        "past.x, row 11, column lent = 'none of it' is not a number (5 of 300 rows are bad" in text
    )
    assert "1 because lent is not above 0 (first: past.x, row 12: -3.0)" in text
    assert "1 for other reasons" in text
    assert text.endswith("or leave bad rows out with skip_bad_rows.")
    assert len(text) < 700


def test_the_most_frequent_reason_comes_first(tmp_path: Path) -> None:
    table = spoilt()
    table["back"][50:60] = ["many"] * 10
    text = refusal(write_csv(tmp_path / "past.csv", table))
    assert (
        "past.csv, row 51, column back = 'many' is not a number (15 of 300 rows are bad, 10" in text
    )


def test_they_are_left_out_and_counted(tmp_path: Path) -> None:
    past = read(write_csv(tmp_path / "past.csv", spoilt()), Layout(**LOANS, skip_bad_rows=True))
    assert reasons(past) == {
        "bad row: asked is not a valid date (first: past.csv, row 31: 2024-02-30)": 1,
        "bad row: back has a decimal comma (first: past.csv, row 41: 1,5)": 1,
        "bad row: known is before asked (first: past.csv, row 21: 2020-01-01)": 1,
        "bad row: lent is not a number (first: past.csv, row 11: none of it)": 1,
        "bad row: lent is not above 0 (first: past.csv, row 12: -3.0)": 1,
    }
    good = spoilt()
    for place in (40, 30, 20, 11, 10):
        for values in good.values():
            del values[place]
    expected = read(write_csv(tmp_path / "good.csv", good), Layout(**LOANS))
    assert same(past.clients, expected.clients)  # type: ignore[arg-type]
    assert past.rows == expected.rows + 5 == 300


def test_their_outcomes_are_compared(tmp_path: Path) -> None:
    """Rows whose known date is wrong are the losses."""
    table: dict[str, list[Any]] = {
        "asked": [1, 2, 3, 4] * 50,
        "grade": ["a", "b"] * 100,
        "known": [9] * 200,
    }
    table["good"] = [1] * 200
    for place in range(0, 200, 9):
        table["known"][place], table["good"][place] = 0, 0
    layout = Layout(
        category="grade", time="asked", known="known", reward="good", cost=0.5, skip_bad_rows=True
    )
    (left,) = read(write_csv(tmp_path / "past.csv", table), layout).left_out
    assert (left.rows, left.mean_reward, left.kept_mean, left.differs) == (23, 0.0, 1.0, True)
    assert left.warning is not None
    assert "bad row: known is before asked" in left.warning


def test_outcomes_of_rows_without_an_amount_are_compared_as_outcomes(tmp_path: Path) -> None:
    table = spoilt()
    table["lent"][10:14] = ["?"] * 4
    past = read(write_csv(tmp_path / "past.csv", table), Layout(**LOANS, skip_bad_rows=True))
    (left,) = (each for each in past.left_out if "lent is not a number" in each.reason)
    given = [float(value) for value in table["back"][10:14] if value is not None]
    assert left.rows == 4
    assert left.mean_reward == pytest.approx(np.mean(given))
    assert left.kept_mean is not None
    assert left.kept_mean > 100.0  # money, not money per unit


def test_uneven_rows_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "past.csv"
    lines = [f"{1 + place % 4},{'ab'[place % 2]},{place % 2}" for place in range(40)]
    lines[5], lines[7], lines[20] = "1,a", "1,a,1,1", "1,a\xff,1"
    path.write_bytes("\n".join(["asked,grade,good", *lines, "x,a,1"]).encode("latin-1"))
    plain: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good", "cost": 0.5}
    past = read(path, Layout(**plain, skip_bad_rows=True))
    assert len(past.clients) == 37
    assert reasons(past) == {
        "bad row: the row has too few fields (first: past.csv, row 6: 1,a)": 1,
        "bad row: the row has too many fields (first: past.csv, row 8: 1,a,1,1)": 1,
        "bad row: grade has bytes that are not UTF-8 (first: past.csv, row 21: a\udcff)": 1,
        # Its number counts the rows that were left out before.
        "bad row: asked is not a whole number like the others (1 in row 1) (first: past.csv, "
        "row 41: x)": 1,
    }
    with pytest.raises(InputError, match="4 of 41 rows are bad"):
        read(path, Layout(**plain))


def test_rows_out_of_the_condition_are_not_bad(tmp_path: Path) -> None:
    table = spoilt()
    table["status"] = ["junk" if place in (10, 11, 20, 30, 40) else "fine" for place in range(300)]
    past = read(write_csv(tmp_path / "past.csv", table), Layout(**LOANS, where="status == 'fine'"))
    assert {each.reason: each.rows for each in past.left_out}["not where status == 'fine'"] == 5
    # But a field that the condition itself cannot read is bad.
    assert "'none of it' is not a number" in refusal(
        write_csv(tmp_path / "past.csv", table), where="lent > 0"
    )


def test_all_rows_are_bad(tmp_path: Path) -> None:
    table = loans(30) | {"asked": ["Dec-2011"] * 30}
    path = write_csv(tmp_path / "past.csv", table)
    assert 'give their format: date_format = "%b-%Y", or leave' in refusal(path)
    assert "30 of 30 rows are left out (bad rows)" in refusal(path, skip_bad_rows=True)


def test_flags_and_propensities(tmp_path: Path) -> None:
    table = loans(300)
    table["chance"][3], table["chance"][4], table["treated"][5] = None, 1.5, 2
    fields = {"reward": "good", "amount": None, "cost": 0.5, "accepted": "treated"}
    past = read(
        write_csv(tmp_path / "past.csv", table),
        Layout(**(LOANS | fields), propensity="chance", skip_bad_rows=True),
    )
    assert reasons(past) == {
        "bad row: chance is missing (first: past.csv, row 4)": 1,
        "bad row: chance is not such a probability (first: past.csv, row 5: 1.5)": 1,
        "bad row: treated is neither 0 nor 1 (first: past.csv, row 6: 2.0)": 1,
    }
    found = past.clients
    assert found.propensity is not None
    assert found.propensity.max() < 1.0


def test_describing_looks_for_leaks_without_them(tmp_path: Path) -> None:
    from profitable.replay.describe import describe

    path = write_csv(tmp_path / "past.csv", spoilt())
    found = str(describe(path, Layout(**LOANS, skip_bad_rows=True)))
    assert "lent is not above 0 (first: past.csv, row 12: -3.0)" in found


def test_a_row_that_is_uneven_and_not_utf_8(tmp_path: Path) -> None:
    """Arrow cannot decode the row for its handler, and prints a traceback."""
    path = tmp_path / "past.csv"
    lines = [f"{1 + place % 4},{'ab'[place % 2]},{place % 2}" for place in range(40)]
    lines[5], lines[30] = "1,a\xff", "3,\xe4,1"
    path.write_bytes("\n".join(["asked,grade,good", *lines]).encode("latin-1"))
    plain: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good", "cost": 0.5}
    past = read(path, Layout(**plain, skip_bad_rows=True))
    assert reasons(past) == {
        "bad row: the row has too few fields (first: past.csv, row 6: 1,a\udcff)": 1,
        "bad row: grade has bytes that are not UTF-8 (first: past.csv, row 31: \udce4)": 1,
    }
    assert len(past.clients) == 38
