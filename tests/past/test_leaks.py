"""Columns that seem to know the outcomes."""

from typing import Any

import numpy as np
import pytest

from profitable.past.layout import Layout
from profitable.past.leak_measures import predicts
from profitable.past.leaks import check_categories, find_leaks
from profitable.past.read import read
from profitable.past.source import open_source
from tests.past.tables import CALLS, LOANS, needs_calls, needs_loans

PLAIN = Layout(category="grade", time="asked", reward="good", cost=0.5)


def portfolio(rows: int = 4_000) -> dict[str, list[Any]]:
    """Clients of whom some columns are honest, and others were written later."""
    rng = np.random.default_rng(11)
    month = np.sort(rng.integers(0, 24, rows))
    good = rng.random(rows) < 0.7
    day = [f"{2024 + m // 12}-{m % 12 + 1:02d}-15" for m in month]
    after = [f"{2025 + m // 12}-{m % 12 + 1:02d}-15" for m in month]
    return {
        "asked": day,
        "grade": rng.choice(["A", "B"], rows).tolist(),
        "good": good.astype(int).tolist(),
        "honest": np.round(rng.normal(size=rows) + 0.3 * good, 3).tolist(),
        "status": np.where(good, "paid", "lost").tolist(),
        "calls": np.round(rng.normal(size=rows) + 1.2 * good, 2).tolist(),
        "closed": after,
        "born": ["1980-01-01"] * rows,
        "reason": [None if y and rng.random() < 0.9 else "x" for y in good],
        "noise": rng.integers(0, 3_000, rows).astype(str).tolist(),
        "list": [[1]] * rows,
    }


def test_leaks_are_found_and_honest_columns_are_not() -> None:
    table = portfolio()
    found = {leak.column: leak for leak in find_leaks(open_source(table), PLAIN)}
    assert set(found) == {"status", "calls", "closed", "reason"}
    assert "almost perfectly" in found["status"].reason
    assert found["status"].is_certain
    assert "suspiciously well" in found["calls"].reason
    assert "dates after the client asked (100 % of the rows)" in found["closed"].reason
    assert not any(leak.is_category for leak in found.values())


def test_what_the_amount_says_is_no_leak_of_another_column() -> None:
    """Whatever is divided by the amount goes with outcomes that are."""
    rng = np.random.default_rng(4)
    lent = rng.lognormal(8, 1, 4_000)
    table = portfolio() | {
        "lent": lent.tolist(),
        "back": rng.lognormal(8, 1, 4_000).tolist(),
        "twice": (2.0 * lent).tolist(),
    }
    layout = Layout(category="grade", time="asked", reward="back", amount="lent")
    found = find_leaks(open_source(table), layout, ["honest", "calls", "noise"])
    assert found == []
    table["paid"] = [0.9 * back + rng.normal() for back in table["back"]]
    (leak,) = find_leaks(open_source(table), layout, ["honest", "paid"])
    assert leak.column == "paid"


def test_dates_in_the_format_of_the_user_are_dates() -> None:
    table = portfolio()
    for name in ("asked", "closed"):
        table[name] = [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in table[name]]
    layout = Layout(category="grade", time="asked", date_format="%d.%m.%Y", reward="good", cost=0.5)
    (leak,) = find_leaks(open_source(table), layout, ["closed", "born", "honest"])
    assert (leak.column, leak.is_certain) == ("closed", True)


def test_a_column_may_be_missing_because_of_the_outcome() -> None:
    rng = np.random.default_rng(2)
    table = portfolio()
    table["paid_on"] = [
        f"2024-01-{d:02d}" if y or rng.random() < 0.8 else None
        for y, d in zip(table["good"], rng.integers(1, 28, 4_000), strict=True)
    ]
    table["asked"] = ["2024-01-30" if each < "2024-06" else each for each in table["asked"]]
    found = {leak.column: leak.reason for leak in find_leaks(open_source(table), PLAIN)}
    assert "missing in" in found["paid_on"]


def test_categories_are_always_checked() -> None:
    table = portfolio()
    for category, told in (
        ("status", "status"),
        ("calls:q3", "calls"),
        (("grade", "status"), "grade × status"),
    ):
        past = read(table, Layout(category=category, time="asked", reward="good", cost=0.5))
        (warning,) = check_categories(past)
        assert f"the category {told} predicts the outcome" in warning
    assert check_categories(read(table, PLAIN)) == []
    (only,) = find_leaks(
        open_source(table),
        Layout(category="status", time="asked", reward="good", cost=0.5),
        ["status"],
    )
    assert only.is_category
    assert str(only).startswith("status (used as category): it predicts")


def test_rare_values_do_not_predict_what_they_have_not_seen() -> None:
    rng = np.random.default_rng(1)
    outcome = rng.random(3_000)
    assert predicts(np.arange(3_000), outcome) < 0.01
    assert predicts((outcome * 10).astype(np.int64), outcome) == pytest.approx(0.99, abs=0.01)
    assert predicts(np.zeros(3, np.int64), np.ones(3)) == 0.0
    assert predicts(np.zeros(0, np.int64), np.zeros(0)) == 0.0


@needs_loans
def test_leaks_of_real_loans() -> None:
    """Everything that was written after a loan was paid out, and nothing else."""
    layout = Layout(
        category="purpose", time="issue_d", reward="pv5", amount="funded_amnt", known="last_pymnt_d"
    )
    found = {leak.column for leak in find_leaks(open_source(LOANS), layout)}
    assert found == {
        "pv3",
        "pv8",
        "total_pymnt",
        "total_rec_prncp",
        "total_rec_int",
        "recoveries",
        "collection_recovery_fee",
        "loan_status",
        "last_pymnt_amnt",
    }
    immediate = Layout(category="purpose", time="issue_d", reward="pv5", amount="funded_amnt")
    (last,) = find_leaks(open_source(LOANS), immediate, ["last_pymnt_d"])
    assert "dates after the client asked" in last.reason


@needs_calls
def test_leaks_of_real_calls() -> None:
    when: dict[str, Any] = {
        "time": ("year", "month", "day"),
        "date_format": "%Y %b %d",
        "reward": "y",
        "cost": 1,
        "revenue": 10,
    }
    assert [
        leak.column for leak in find_leaks(open_source(CALLS), Layout(category="job", **when))
    ] == ["duration"]
    assert check_categories(read(CALLS, Layout(category="job", **when))) == []
    assert "duration" in check_categories(read(CALLS, Layout(category="duration:q3", **when)))[0]
