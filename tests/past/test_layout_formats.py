"""Formats of dates: one for all columns, or one of each."""

import json
from pathlib import Path
from typing import Any

import pytest

from profitable.errors import InputError
from profitable.past.layout import Layout
from profitable.past.read import read
from profitable.replay.backtest_options import load_toml
from tests.past.tables import loans, same, write_csv

PLAIN: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good", "cost": 0.5}
BY_COLUMN = {"asked": "%d.%m.%Y", "known": "%d/%m/%y"}


def written(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    asked = [f"{text[8:]}.{text[5:7]}.{text[:4]}" for text in table["asked"]]
    known = [text and f"{text[8:]}/{text[5:7]}/{text[2:4]}" for text in table["known"]]
    return table | {"asked": asked, "known": known}


@pytest.mark.parametrize(
    "date_format",
    [
        BY_COLUMN,
        {"known": "%d/%m/%y", "*": "%d.%m.%Y"},
        ["%d.%m.%Y", "known=%d/%m/%y"],
        ["asked=%d.%m.%Y", "known=%d/%m/%y"],
    ],
)
def test_a_format_of_each_column(date_format: Any, tmp_path: Path) -> None:
    expected = read(loans(), Layout(**PLAIN, known="known"))
    layout = Layout(**PLAIN, known="known", date_format=date_format)
    past = read(write_csv(tmp_path / "past.csv", written(loans())), layout)
    assert same(past.clients, expected.clients)  # type: ignore[arg-type]
    assert "years of two digits are 1969 to 2068" in past.notes
    # What a result repeats can be given again.
    assert Layout(**json.loads(json.dumps(layout.to_dict()))) == layout


def test_a_table_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "backtest.toml"
    path.write_text('[date_format]\nasked = "%d.%m.%Y"\nknown = "%d/%m/%y"\n')
    _, given = load_toml(path)
    assert Layout(**PLAIN, **given).format_of("known") == "%d/%m/%y"


def test_a_column_without_a_format_is_read_as_iso(tmp_path: Path) -> None:
    table = written(loans()) | {"known": loans()["known"]}
    layout = Layout(**PLAIN, known="known", date_format={"asked": "%d.%m.%Y"})
    past = read(write_csv(tmp_path / "past.csv", table), layout)
    expected = read(loans(), Layout(**PLAIN, known="known"))
    assert same(past.clients, expected.clients)  # type: ignore[arg-type]


def test_columns_that_are_joined(tmp_path: Path) -> None:
    table = loans()
    table["year"] = [text[:4] for text in table["asked"]]
    table["month"] = [text[5:7] for text in table["asked"]]
    layout = Layout(**(PLAIN | {"time": ["year", "month"]}), date_format={"year month": "%Y %m"})
    past = read(write_csv(tmp_path / "past.csv", table), layout)
    assert past.clients.labels == read(loans(), Layout(**PLAIN)).clients.labels


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ("dd", "date_format = 'dd' must be a date format"),
        ([], "is empty"),
        ({}, "is empty"),
        (["%Y", "%m"], "has two formats of all columns"),
        (["a=%Y", "a=%m"], "has two formats of a"),
        ({"a": 3}, "must be a date format"),
        (3, "must be a date format"),
    ],
)
def test_what_is_no_format(value: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        Layout(**PLAIN, date_format=value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("Dec-2011", '"%b-%Y"'),
        ("28-Feb-97", '"%d-%b-%y"'),
        ("31/01/2026", '"%d/%m/%Y"'),
        ("01/02/2026", '"%d/%m/%Y" or "%m/%d/%Y"'),
        ("2026/01/31", '"%Y/%m/%d"'),
    ],
)
def test_a_usual_format_is_advised(text: str, advice: str) -> None:
    table = loans(30) | {"asked": [text] * 30}
    with pytest.raises(InputError) as caught:
        read(table, Layout(**PLAIN))
    assert f"give their format: date_format = {advice}, or leave" in str(caught.value)
