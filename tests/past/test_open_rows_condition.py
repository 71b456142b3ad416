"""Clients who are open by a condition, against the same file with empty outcomes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.advice.emergence import Emergence
from profitable.advice.judged import JudgedGrouping
from profitable.advice.stop_list import StopList
from profitable.errors import InputError
from profitable.past.cells import GroupedClients
from profitable.past.layout import Layout
from profitable.past.past import NEVER_KNOWN, Past
from profitable.past.read import read
from tests.past.exports import running_loans
from tests.past.tables import WAYS, loans, same, write_csv
from tests.past.test_past_loans import COLUMNS as BY_HAZARDS
from tests.past.test_past_loans import invented

PLAIN: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "back", "amount": "lent"}
CALLS: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good", "cost": 0.5}
OPEN = "state in ('Current', 'Late (16-30 days)')"
TREATMENTS: dict[str, dict[str, Any]] = {
    "at once": PLAIN,
    "at maturity": PLAIN | {"known": "known"},
    "as they come": PLAIN | {"known": "known", "late": "as they come"},
    "after so many rounds": PLAIN | {"matures": 3},
    "emerging": PLAIN
    | {"known": "known", "matures": 9, "emerges": "evenly", "promised": "lent * 1.1"},
    "open value": PLAIN | {"known": "known", "open_value": 1.05},
    "where": PLAIN | {"known": "known", "where": "age > 30 or state == 'Current'"},
    "costs": CALLS | {"cost": "price", "known": "known"},
    "a value": CALLS | {"reward": "status=paid", "known": "known"},
    "accepted": CALLS | {"accepted": "treated", "known": "known"},
    "a log": CALLS | {"accepted": "treated", "propensity": "chance", "known": "known"},
    "a log with an open value": CALLS
    | {"accepted": "treated", "propensity": "chance", "known": "known", "open_value": 0.6},
    "a control group": CALLS | {"treated": "treated", "propensity": "chance", "known": "known"},
}
ROWS_ONLY = {"propensity", "treated"}


def exported(rows: int = 600) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Loans with what open ones paid so far, and the same with empty fields.

    Some of the open loans have the date of a payment, or one before they asked.
    """
    table = loans(rows)
    table["state"] = ["Ended"] * rows
    empty = {name: list(values) for name, values in table.items()}
    for place in range(rows):
        if place % 7 and table["asked"][place] < "2025-08":
            continue
        state = "Current" if place % 3 else "Late (16-30 days)"
        table["state"][place] = empty["state"][place] = state
        table["known"][place] = ("2025-09-01", "2020-01-01", None)[place % 3]
        for name in ("known", "back", "good", "status"):
            empty[name][place] = None
    table["is_open"] = ["no" if each == "Ended" else "yes" for each in table["state"]]
    empty["is_open"] = table["is_open"]
    return table, empty


def listed(past: Past) -> list[Any]:
    return list(StopList.of([JudgedGrouping.of("grade", past)]).rows)


def assert_same(found: Past, expected: Past) -> None:
    assert same(found.clients, expected.clients)  # type: ignore[arg-type]
    assert found.left_out == expected.left_out
    assert found.notes == expected.notes
    assert found.rows == expected.rows
    assert (found.still_open is None) == (expected.still_open is None)
    if found.still_open is not None and expected.still_open is not None:
        np.testing.assert_array_equal(found.still_open, expected.still_open)


@pytest.mark.parametrize("name", TREATMENTS)
def test_open_rows_are_those_without_an_outcome(name: str, tmp_path: Path) -> None:
    """In rows and cells: the same clients, those still open, and the same stop list."""
    fields = TREATMENTS[name]
    table, empty = exported()
    found, expected = read(table, Layout(**fields, open=OPEN)), read(empty, Layout(**fields))
    assert_same(found, expected)
    if "open_value" not in fields:
        assert found.still_open is not None
        assert found.still_open.sum() > 30
    for one, other in zip(listed(found), listed(expected), strict=True):
        assert repr(one) == repr(other)
    assert Emergence.of(found.clients, still_open=found.still_open) == Emergence.of(
        expected.clients, still_open=expected.still_open
    )
    if fields.keys() & ROWS_ONLY:
        return
    cells = pb.backtest.cells(WAYS["lazy polars"](table, tmp_path), **fields, open=OPEN).past
    without = pb.backtest.cells(WAYS["lazy polars"](empty, tmp_path), **fields).past
    assert isinstance(cells.clients, GroupedClients)
    assert cells.notes == without.notes
    np.testing.assert_allclose(cells.clients.profit_by_cell, found.clients.profit_by_cell)
    for each in ("round", "category", "known", "number", "profit"):
        np.testing.assert_allclose(getattr(cells.clients, each), getattr(without.clients, each))
    counts = [[(each.reason, each.rows) for each in past.left_out] for past in (cells, found)]
    assert counts[0] == counts[1]
    if found.still_open is not None:
        assert cells.still_open is not None
        np.testing.assert_array_equal(cells.still_open, found.still_open)


@pytest.mark.parametrize("way", ["csv", "parquet", "pandas", "duckdb"])
@pytest.mark.parametrize("open", [OPEN, "is_open=yes", "is_open", "state != 'Ended'"])
def test_each_way_to_say_it(way: str, open: str, tmp_path: Path) -> None:
    table, empty = exported(300)
    fields = PLAIN | {"known": "known"}
    found = read(WAYS[way](table, tmp_path), Layout(**fields, open=open))
    assert_same(found, read(empty, Layout(**fields)))


def test_a_value_is_one_of_several() -> None:
    table, empty = exported(300)
    for place, state in enumerate(table["state"]):
        if state == "Late (16-30 days)":
            table["known"][place] = empty["known"][place] = "2026-02-01"
            empty["back"][place] = table["back"][place]
    fields = PLAIN | {"known": "known"}
    assert_same(read(table, Layout(**fields, open="state=Current")), read(empty, Layout(**fields)))


@pytest.mark.parametrize("fields", [{}, {"reward": "back"}])
def test_loans_by_hazards_are_those_that_have_not_ended(fields: dict[str, Any]) -> None:
    frame = invented(size=600)
    is_open = frame["defaulted"].isna() & frame["closed"].isna()
    assert 50 < int(is_open.sum()) < 550
    frame["state"] = np.where(is_open, "Current", "Ended")
    frame["back"] = frame["lent"] * np.where(is_open, 0.4, 1.1)
    empty = frame.assign(back=frame["back"].where(~is_open))
    found = read(frame, Layout(**BY_HAZARDS, **fields, open="state=Current"))
    expected = read(empty, Layout(**BY_HAZARDS, **fields))
    assert_same(found, expected)
    assert (found.clients.known == NEVER_KNOWN).sum() == is_open.sum()
    assert [repr(each) for each in listed(found)] == [repr(each) for each in listed(expected)]


@pytest.mark.parametrize("end", ["closed", "defaulted"])
def test_an_open_loan_that_has_ended_contradicts_itself(end: str, tmp_path: Path) -> None:
    frame = invented(size=300)
    is_open = frame["defaulted"].isna() & frame["closed"].isna()
    frame["state"] = np.where(is_open, "Current", "Ended")
    row = int(np.flatnonzero(frame[end].notna())[3])
    frame.loc[row, "state"] = "Current"
    path = tmp_path / "loans.csv"
    frame.to_csv(path, index=False)
    fields = BY_HAZARDS | {"open": "state=Current"}
    said = f"row {row + 1}, column {end} = '.*' is given, but the client is open by open = state=C"
    with pytest.raises(InputError, match=said):
        read(path, Layout(**fields))
    past = read(path, Layout(**fields, skip_bad_rows=True))
    assert same(past.clients, read(frame.drop(row), Layout(**fields)).clients)  # type: ignore[arg-type]
    (left,) = past.left_out
    assert left.rows == 1
    assert left.reason.startswith(f"bad row: {end} is given, but the client is open by")


def test_a_few_open_clients_everywhere_are_no_young_rounds() -> None:
    past = read(loans(2_000), Layout(**PLAIN))
    assert past.still_open is not None
    assert past.warnings == []


def test_a_missing_value_means_not_open(tmp_path: Path) -> None:
    table, _ = exported(300)
    table["known"] = [known or "2026-01-01" for known in loans(300)["known"]]
    without = table | {"state": [each if each == "Current" else None for each in table["state"]]}
    fields = PLAIN | {"known": "known", "open": "state=Current"}
    found, expected = read(without, Layout(**fields)), read(table, Layout(**fields))
    assert same(found.clients, expected.clients)  # type: ignore[arg-type]
    note = (
        f"{len(found.clients)} clients count as not open, because a value of open = state=Current "
        "is missing"
    )
    assert note in found.notes
    assert not any("count as not open" in each for each in expected.notes)
    assert note in pb.backtest.cells(WAYS["lazy polars"](without, tmp_path), **fields).past.notes


def test_that_nobody_is_open_is_said(tmp_path: Path) -> None:
    table, _ = exported(300)
    table["known"] = loans(300)["known"]
    fields = PLAIN | {"open": "state=Curent"}
    said = "no client is open by open = state=Curent"
    assert said in read(table, Layout(**fields)).notes
    assert said in pb.backtest.cells(WAYS["lazy polars"](table, tmp_path), **fields).past.notes


@pytest.mark.parametrize(
    ("open", "match"),
    [
        ("stat=Current", "open = 'stat' is not a column; did you mean state"),
        ("of=Current", "open = 'of' is not a column; choose from asked, known"),
        ("state='Current'", "has a single =; compare with =="),
        ("stat == 'Current'", "unknown name 'stat'; did you mean state"),
        ("Current", "unknown name 'Current'"),
        ("state > 'Current'", "column state = 'Ended' is not a time"),
        ("asked > 'soon'", "open = 'soon' is compared with asked, and is not such a date"),
        ("state", "column state = 'Ended' is not a number"),
        (" ", "open = ' ' must be a condition"),
    ],
)
def test_what_is_refused(open: str, match: str, tmp_path: Path) -> None:
    table, _ = exported(30)
    table["state"][0] = "Ended"
    with pytest.raises(InputError, match=match):
        read(write_csv(tmp_path / "past.csv", table), Layout(**PLAIN, open=open))


def test_what_engines_refuse(tmp_path: Path) -> None:
    table, _ = exported(30)
    for open, match in (
        ("state", "open = 'state' is of the type String, not a number; cast it"),
        ("asked > '2024-05'", "compare texts with == and != only"),
    ):
        with pytest.raises(InputError, match=match):
            pb.backtest.cells(WAYS["lazy polars"](table, tmp_path), **PLAIN, open=open)
    with pytest.raises(InputError, match="defaulted = 'defaulted' needs single rows"):
        pb.backtest.cells(invented(size=9), **BY_HAZARDS)


def test_a_field_that_cannot_be_read_is_bad(tmp_path: Path) -> None:
    table, _ = exported(60)
    table["balance"] = [0 if each == "Ended" else 5 for each in table["state"]]
    table["balance"][8] = "much"
    path = write_csv(tmp_path / "past.csv", table)
    with pytest.raises(InputError, match="row 9, column balance = 'much' is not a number"):
        read(path, Layout(**PLAIN, open="balance > 0"))
    past = read(path, Layout(**PLAIN, open="balance > 0", skip_bad_rows=True))
    assert any(each.reason.startswith("bad row: balance") for each in past.left_out)


def test_loans_that_are_left_out_bias_the_list_and_open_ones_do_not() -> None:
    """The figures of docs/past-clients.md: all loans are equally good, and most run."""
    table, open = running_loans(), "LoanStatus in ('Current', 'Past Due (1-15 days)')"
    fields: dict[str, Any] = {
        **{"category": "ListingCategory", "time": "LoanOriginationDate", "known": "ClosedDate"},
        **{"reward": "LP_CustomerPayments", "amount": "LoanOriginalAmount"},
    }
    told = read(table, Layout(**fields, open=open))
    left = read(table, Layout(**fields, where=f"not {open}"))
    assert same(told.clients, left.clients)  # type: ignore[arg-type]
    (warning,) = told.warnings
    assert warning.startswith(
        "3 345 of the clients who asked since 2010-01 are open, and the 895 others are those who"
    )
    judged, biased = (JudgedGrouping.of("purpose", past) for past in (told, left))
    # Only the vintages of the first year count, because hardly any of their loans run.
    assert judged.outcomes.labels[judged.outcomes.mature - 1] == "2009-12"
    assert biased.outcomes.labels[biased.outcomes.mature - 1] == "2012-10"
    sums = [
        (int(each.clients.sum()), int(each.open.sum()))
        for each in (judged.outcomes, biased.outcomes)
    ]
    assert sums == [(1_497, 4_240), (2_392, 0)]
    assert [round(edge, 2) for edge in (judged.mean.min(), judged.mean.max())] == [1.04, 1.07]
    assert [round(edge, 2) for edge in (biased.mean.min(), biased.mean.max())] == [0.94, 0.98]
    assert [row.open for row in listed(told)] == judged.outcomes.open.sum(axis=0)[
        [judged.outcomes.names.index(row.category) for row in listed(told)]
    ].tolist()
    young = np.array([label.startswith("2012") for label in left.clients.labels])
    young = young[left.clients.round - 1]
    back, lent = (left.clients.sum_of(name)[young].sum() for name in ("back", "amount"))
    assert round(back / lent, 2) == 0.68
