"""Conditions and derived columns, in files, dataframes and engines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.errors import InputError
from profitable.past.layout import Layout
from profitable.past.past import Past
from profitable.past.read import read
from tests.past.tables import LOANS as SHARED_LOANS
from tests.past.tables import WAYS, loans, needs_loans, same, write_csv

PLAIN: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good", "cost": 0.5}
EVERY_WAY = ["csv", "parquet", "dict", "pandas", "polars", "lazy polars", "pyarrow", "duckdb"]


def past_of(data: Any, **fields: Any) -> Past:
    return read(data, Layout(**(PLAIN | fields)))


def left_out(past: Past) -> dict[str, int]:
    return {each.reason: each.rows for each in past.left_out}


@pytest.mark.parametrize("way", EVERY_WAY)
def test_derived_columns_are_those_of_a_file_that_has_them(way: str, tmp_path: Path) -> None:
    table: dict[str, Any] = loans()
    pairs = list(zip(table["back"], table["lent"], strict=True))
    own: dict[str, Any] = table | {
        "ratio": [None if None in pair else pair[0] / pair[1] for pair in pairs],
        "spent": [0.02 * price + 5 for price in table["price"]],
    }
    derived = past_of(
        WAYS[way](table, tmp_path), reward="back / lent", cost="0.02*price + 5", score="-abs(price)"
    )
    own["worse"] = [-each for each in own["price"]]
    expected = past_of(own, reward="ratio", cost="spent", score="worse")
    assert same(derived.clients, expected.clients)  # type: ignore[arg-type]
    assert left_out(derived) == left_out(expected) == {"no outcome yet": past_rows(own["ratio"])}


def past_rows(values: list[Any]) -> int:
    return sum(value is None for value in values)


@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_condition_leaves_rows_out_and_compares_them(way: str, tmp_path: Path) -> None:
    table = loans()
    past = past_of(WAYS[way](table, tmp_path), where="price > 0.25 and status != 'lost'")
    kept = [
        price > 0.25 and status != "lost"
        for price, status in zip(table["price"], table["status"], strict=True)
    ]
    chosen = {name: np.array(column, object)[kept].tolist() for name, column in table.items()}
    assert same(past.clients, past_of(chosen).clients)  # type: ignore[arg-type]
    (left,) = past.left_out
    others = [good for good, is_kept in zip(table["good"], kept, strict=True) if not is_kept]
    assert left.reason == "not where price > 0.25 and status != 'lost'"
    assert (left.rows, left.mean_reward) == (len(others), pytest.approx(np.mean(others)))


@pytest.mark.parametrize("way", ["csv", "polars", "duckdb"])
@pytest.mark.parametrize(
    ("where", "is_true"),
    [
        ("lent > 2000", lambda row: row["lent"] is not None and row["lent"] > 2000),
        ("lent != 0", lambda row: row["lent"] is not None),
        ("not lent > 2000", lambda row: row["lent"] is not None and row["lent"] <= 2000),
        ("lent > 2000 or age > 40", lambda row: (row["lent"] or 0) > 2000 or row["age"] > 40),
        ("lent == ''", lambda row: row["lent"] is None),
        ("lent != ''", lambda row: row["lent"] is not None),
        ("grade in ('A', 'C9')", lambda row: row["grade"] in "AC9"),
        ("grade not in ['A', 'C9']", lambda row: row["grade"] not in ("A", "C9")),
        ("20 < age <= 40", lambda row: 20 < row["age"] <= 40),
        ("max(age, 30) == 30", lambda row: row["age"] <= 30),
        ("min(age, 30, 25) < 25", lambda row: row["age"] < 25),
        ("1 / (age - 30) > 0", lambda row: row["age"] > 30),
        ("(status == 'paid') + good == 2", lambda row: row["status"] == "paid" and row["good"]),
        ("good", lambda row: row["good"] == 1),
    ],
)
def test_conditions(
    way: str, where: str, is_true: Callable[[dict[str, Any]], bool], tmp_path: Path
) -> None:
    table = loans()
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    found = past_of(WAYS[way](table, tmp_path), where=where)
    assert len(found.clients) == sum(bool(is_true(row)) for row in rows)


@pytest.mark.parametrize("way", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("where", "first", "last"),
    [
        ("asked >= '2024-06' and asked <= '2025-03'", "2024-06", "2025-03"),
        ("asked > '2024-06-30'", "2024-07", "2025-12"),
        ("asked > '2024'", "2025-01", "2025-12"),
        ("asked <= '2024' and 1", "2024-01", "2024-12"),
        ("known < '2024-09-01' and asked != ''", "2024-01", "2024-08"),
    ],
)
def test_dates_are_compared(where: str, first: str, last: str, way: str, tmp_path: Path) -> None:
    table = loans(3_000)
    labels = past_of(WAYS[way](table, tmp_path), where=where).clients.labels
    assert first <= labels[0]
    assert labels[-1] <= last
    assert len(labels) >= 6


def test_dates_are_compared_in_their_own_format(tmp_path: Path) -> None:
    table = loans(600)
    table["asked"] = [f"{text[5:7]}/{text[8:]}/{text[:4]}" for text in table["asked"]]
    found = past_of(
        write_csv(tmp_path / "past.csv", table), where="asked < '2024-04'", date_format="%m/%d/%Y"
    )
    assert found.clients.labels == ("2024-01", "2024-02", "2024-03")


def test_names_that_are_no_identifiers(tmp_path: Path) -> None:
    table = loans()
    table["total paid (net)"] = table.pop("back")
    path = write_csv(tmp_path / "past.csv", table)
    derived = past_of(path, reward="`total paid (net)` / lent")
    plain = past_of(loans(), reward="back / lent")
    assert same(derived.clients, plain.clients)  # type: ignore[arg-type]
    # A text that is the name of a column is that column.
    named = past_of(path, reward="total paid (net)")
    assert same(named.clients, past_of(loans(), reward="back").clients)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["csv", "dict", "polars"])
def test_a_comparison_is_a_reward_of_0_or_1(way: str, tmp_path: Path) -> None:
    table = loans()
    table["status"][7] = None
    data = WAYS[way](table, tmp_path)
    by_value, compared = (
        past_of(data, reward="status=paid"),
        past_of(data, reward="status == 'paid'"),
    )
    assert same(by_value.clients, compared.clients)  # type: ignore[arg-type]
    assert left_out(by_value) == left_out(compared) == {"no outcome yet": 1}


@pytest.mark.parametrize("way", ["csv", "dict", "polars"])
def test_treated_as_a_value(way: str, tmp_path: Path) -> None:
    table = loans()
    table["mailing"] = ["letter" if each else "none" for each in table["treated"]]
    data = WAYS[way](table, tmp_path)
    expected = past_of(data, treated="treated").clients
    for treated in ("mailing=letter", "mailing == 'letter'", "treated=1"):
        assert same(past_of(data, treated=treated).clients, expected)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'mailing=lettre' has control clients only"):
        past_of(data, treated="mailing=lettre")


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"reward": "backk / lent"}, "has the unknown name 'backk'; did you mean back"),
        (
            {"where": "lend > 0"},
            "where = 'lend > 0' has the unknown name 'lend'; did you mean lent",
        ),
        ({"where": "status == paid"}, "has the unknown name 'paid'; .*texts in quotes"),
        ({"where": "status = 'paid'"}, "has a single =; compare with =="),
        ({"where": "lent >"}, "must be an expression"),
        ({"where": "1 > 0"}, "names no column"),
        ({"where": "open(lent)"}, "has the unknown name 'open'"),
        ({"where": "lent ** 2 > 0"}, "has 'lent \\*\\* 2', which is not allowed"),
        ({"where": "lent == 'x' + 1"}, "computes with 'x', which is a text"),
        ({"where": " "}, "must be a condition"),
        ({"where": "status < 'paid'"}, "status = '(paid|lost)' is not a time"),
        (
            {"where": "asked < 'soon'"},
            "where = 'soon' is compared with asked, and is not such a date",
        ),
        (
            {"where": "number < '2024-05'"},
            "is compared with number, and is not such a whole number",
        ),
        ({"where": "good or 'a'"}, "mixes numbers and texts"),
        ({"reward": "bakc"}, "reward = 'bakc' is not a column; did you mean back"),
        ({"reward": "statu=paid"}, "reward = 'statu' is not a column; did you mean status"),
        ({"cost": "price + status"}, "row 1, column status = '(paid|lost)' is not a number"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=match) as caught:
        past_of(write_csv(tmp_path / "past.csv", loans()), **fields)
    assert "\n" not in str(caught.value)


def test_numbers_and_texts_of_typed_columns_are_not_compared() -> None:
    with pytest.raises(InputError, match="mixes numbers and texts"):
        past_of(loans(), where="age == 'old'")


def test_a_division_by_zero_is_missing() -> None:
    table = loans() | {"parts": [0.0, 2.0] * 150}
    assert left_out(past_of(table, reward="good / parts")) == {"no outcome yet": 150}


def test_all_options_of_numbers(tmp_path: Path) -> None:
    table = loans()
    past = past_of(
        write_csv(tmp_path / "past.csv", table),
        **{"reward": "back", "cost": None, "amount": "lent * 2", "known": "known"},
        matures=9,
        emerges="evenly",
        promised="lent * 2.2",
    )
    clients = past.clients
    assert clients.amount is not None
    assert clients.promised is not None
    np.testing.assert_allclose(clients.promised, 1.1)
    doubled = table | {"twice": [None if lent is None else 2 * lent for lent in table["lent"]]}
    own = past_of(doubled, reward="back", cost=None, amount="twice", known="known")
    np.testing.assert_allclose(clients.amount.sum(), own.clients.sum_of("amount").sum())


@pytest.mark.parametrize("way", ["lazy polars", "duckdb", "pyarrow", "pandas"])
def test_engines_compute_the_same(way: str, tmp_path: Path) -> None:
    table = loans()
    fields: dict[str, Any] = PLAIN | {
        "reward": "max(back, 1) / lent",
        "where": "age >= 30 and (status == 'paid' or not price > 0.5)",
    }
    cells = pb.backtest.cells(WAYS[way](table, tmp_path), **fields)
    past = read(table, Layout(**fields))
    assert len(cells.clients) == len(past.clients)
    np.testing.assert_allclose(cells.clients.profit_by_cell, past.clients.profit_by_cell)
    assert left_out(cells.past) == left_out(past)
    ours, theirs = (
        {each.reason: each.mean_reward for each in found.left_out} for found in (cells.past, past)
    )
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"skip_bad_rows": True}, "skip_bad_rows = True needs single rows"),
        ({"decimal": ","}, "decimal = ',' needs single rows"),
        ({"where": "asked > '2024-05'"}, "compare texts with == and != only"),
        ({"where": "agee > 30"}, "unknown name 'agee'; did you mean age"),
    ],
)
def test_what_engines_refuse(fields: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=match):
        pb.backtest.cells(WAYS["lazy polars"](loans(), tmp_path), **(PLAIN | fields))


def test_rows_by_round_that_are_left_out_by_a_condition_may_have_bad_amounts() -> None:
    table = loans(300)
    table["lent"][4] = 0.0
    fields = {"reward": "back", "amount": "lent", "cost": None}
    past = past_of(table, **fields, where="lent > 0")
    assert left_out(past)["not where lent > 0"] == 1 + past_rows(table["lent"])


@needs_loans
def test_real_loans_derived() -> None:
    columns: dict[str, Any] = {"category": "purpose", "time": "issue_d"}
    ratio = read(SHARED_LOANS, Layout(**columns, reward="pv5 / funded_amnt", cost=1))
    money = read(SHARED_LOANS, Layout(**columns, reward="pv5", amount="funded_amnt"))
    np.testing.assert_allclose(ratio.clients.sum_of("reward"), money.clients.sum_of("reward"))
