"""Bad files of past clients: one line that names file, row, column and remedy."""

import gzip
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from profitable.errors import InputError
from profitable.past.layout import Layout
from profitable.past.read import read
from profitable.past.source import open_source
from profitable.replay.backtest_options import load_toml
from tests.past.tables import loans, write_csv, write_parquet

PLAIN: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good", "cost": 0.5}


def message(data: Any, **fields: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(data, Layout(**(PLAIN | fields)))
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert ";" in text  # the remedy follows
    return text


def changed(column: str, place: int, value: Any, rows: int = 60) -> dict[str, list[Any]]:
    table = loans(rows)
    table[column] = [value if each == place else old for each, old in enumerate(table[column])]
    return table


@pytest.mark.parametrize(
    "field", ["category", "time", "reward", "known", "cost", "amount", "accepted", "score"]
)
def test_a_missing_column(field: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "past.csv", loans(20))
    fields = {field: "gradee"} | ({"cost": None} if field == "amount" else {})
    assert re.search(
        rf"past\.csv: {field} = 'gradee' is not a column; did you mean grade\.",
        message(path, **fields),
    )


def test_a_past_that_accepted_nobody() -> None:
    text = message(loans(60) | {"no": [0] * 60}, accepted="no", propensity="chance")
    assert "accepted = 'no' says that the past accepted none of the clients" in text


def test_a_missing_column_in_one_of_several_files(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", loans(20))
    less = loans(20)
    del less["good"]
    write_parquet(tmp_path / "b.parquet", less)
    assert re.search(r"b\.parquet: reward = 'good' is not a column", message(tmp_path))


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_category_with_a_million_values(write: Callable[..., Path], tmp_path: Path) -> None:
    size = 1_000_000 if write is write_parquet else 200_000
    path = write(tmp_path / "past", {"asked": [1] * size, "grade": range(size), "good": [1] * size})
    start = time.perf_counter()
    text = message(path)
    assert time.perf_counter() - start < 2.0
    assert re.search(
        r"past, column grade = '\d+' has more than 5 000 different values by row \d+; "
        "cut it into bands",
        text,
    )


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_text_in_a_column_of_numbers(write: Callable[..., Path], tmp_path: Path) -> None:
    table = changed("price", 41, "1,5")
    table["price"] = [str(value) for value in table["price"]]
    text = message(write(tmp_path / "past.x", table), cost="price")
    assert "past.x, row 42, column price = '1,5' has a decimal comma; correct it" in text


@pytest.mark.parametrize("value", ["inf", "1e300", "-inf"])
def test_numbers_without_end(value: str, tmp_path: Path) -> None:
    text = message(write_csv(tmp_path / "past.csv", changed("price", 3, value)), cost="price")
    assert "row 4, column price" in text
    assert "is not a finite number" in text


def test_unreadable_and_mixed_dates(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "past.csv", changed("asked", 7, "31.01.2026"))
    assert "past.csv, row 8, column asked = '31.01.2026' is not a date like the others" in message(
        path
    )
    path = write_csv(tmp_path / "past.csv", changed("asked", 7, "2026-01"))
    assert (
        "past.csv, row 8, column asked = '2026-01' is a month, but others are of the kind date"
        in message(path)
    )
    assert "row 1, column asked" in message(path, date_format="%d.%m.%Y")
    path = write_csv(tmp_path / "past.csv", changed("known", 7, "soon"))
    assert "past.csv, row 8, column known = 'soon' is not a date" in message(path, known="known")


def test_known_before_the_client_asked(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "past.csv", changed("known", 7, "2020-01-01"))
    text = message(path, known="known")
    assert re.search(
        r"past\.csv, row 8, column known = '2020-01-01' is before asked = 202\d-\d\d-\d\d", text
    )


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is an empty file"),
        (b"asked,grade,good\n", "has no rows"),
        (b"\n \n", "has no header"),
        (b"\n1,2,3\n", "is not a column; choose from 1, 2, 3"),
        (b"PK\x03\x04", "is a spreadsheet or an archive, not text; save it as CSV"),
        (b"asked,grade,grade\n1,2,3\n", "'grade' names two columns"),
        (
            b"asked,grade,good\n1,2,3\n4,5\n",
            "past.csv, row 2 = '4,5' has 2 fields, and the header 3",
        ),
        (
            "asked,grade,good\n1,müde,3\n".encode("latin-1"),
            (
                "row 1, column grade = 'm\\udcfcde' has the byte 0xfc, which utf-8 does not know; "
                "save it in the encoding UTF-8"
            ),
        ),
    ],
)
def test_broken_csv(content: bytes, match: str, tmp_path: Path) -> None:
    path = tmp_path / "past.csv"
    path.write_bytes(content)
    text = message(path)
    assert match in text
    assert "past.csv" in text


def test_a_truncated_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "past.csv.gz"
    path.write_bytes(gzip.compress(b"asked,grade,good\n" + b"1,a,0\n" * 100_000)[:-200])
    assert "past.csv.gz' cannot be read as a CSV file" in message(path)
    path.write_bytes(b"plain text")
    assert "past.csv.gz' cannot be read as a CSV file" in message(path)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "past.parquet", loans(500))
    whole = path.read_bytes()
    for size in (6, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        assert "past.parquet' cannot be read as a Parquet file" in message(path)
    middle = len(whole) // 3
    path.write_bytes(whole[:4] + bytes(middle) + whole[4 + middle :])
    assert "past.parquet' cannot be read as a Parquet file" in message(path)


def test_two_rounds_only(tmp_path: Path) -> None:
    table = {"asked": ["2026-01-05", "2026-02-07"], "grade": ["a", "b"], "good": [0, 1]}
    text = message(write_csv(tmp_path / "past.csv", table))
    assert (
        "past.csv: rounds = '2026-01 to 2026-02' are 2, too few to learn from; give shorter rounds"
        in text
    )


def test_rounds_without_end(tmp_path: Path) -> None:
    table = {"asked": ["0001-01-05", "2026-02-07"], "grade": ["a", "b"], "good": [0, 1]}
    read(table, Layout(**PLAIN))  # 24 000 months are many, but legal
    table["asked"] = [1, 10**12]
    assert "too many for 2 categories; give longer rounds" in message(table)


def test_no_client_is_left() -> None:
    table = loans(20) | {"good": [None] * 20}
    assert "has no client to replay: 20 of 20 rows are left out (no outcome yet)" in message(table)


@pytest.mark.parametrize(
    ("change", "fields", "match"),
    [
        (
            ("lent", 3, 0.0),
            {"amount": "lent", "cost": None},
            "row 4, column lent = 0.0 is not above 0",
        ),
        (
            ("treated", 3, 2),
            {"treated": "treated"},
            "row 4, column treated = 2.0 is neither 0 nor 1",
        ),
        (("treated", 3, None), {"accepted": "treated"}, "row 4, column treated = None is missing"),
        (
            ("chance", 3, 0.0),
            {"accepted": "treated", "propensity": "chance"},
            "row 4, column chance = 0.0 is not such a probability",
        ),
        (
            ("chance", 3, 1.0),
            {"treated": "treated", "propensity": "chance"},
            "row 4, column chance = 1.0 is not such a probability",
        ),
        (
            ("price", 3, None),
            {"score": "price"},
            "row 4, column price = None is missing; give every client a score",
        ),
        (
            ("price", 3, None),
            {"known": "known", "matures": 9, "emerges": "evenly", "promised": "price"},
            "row 4, column price = None is missing",
        ),
        (("age", 3, "old"), {"category": "age:q4"}, "row 4, column age = 'old' is not a number"),
    ],
)
def test_cells_that_make_no_sense(
    change: tuple[str, int, Any], fields: dict[str, Any], match: str, tmp_path: Path
) -> None:
    assert match in message(write_csv(tmp_path / "past.csv", changed(*change)), **fields)


def test_a_value_that_no_row_has(tmp_path: Path) -> None:
    text = message(write_csv(tmp_path / "past.csv", loans(20)), reward="status=Paid")
    assert "past.csv: reward = 'Paid' is nowhere in the column status; choose from " in text
    assert "paid" in text


def test_everybody_is_treated() -> None:
    assert "has treated clients only" in message(
        loans(20) | {"treated": [1] * 20}, treated="treated"
    )


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ("nowhere.csv", "'nowhere.csv' does not exist"),
        ("nowhere-*.csv", "matches no file"),
        (17, "must be a file or a table"),
        ([], "must be a list of files"),
        ({"a": [1, 2], "b": [1]}, "must be a table"),
    ],
)
def test_no_data(data: Any, match: str) -> None:
    assert match in message(data)


def test_a_folder_without_files(tmp_path: Path) -> None:
    assert "is a folder without CSV or Parquet files" in message(tmp_path)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"cost": None}, "cost = None is missing"),
        ({"amount": "lent"}, "cannot be combined with amount"),
        (
            {"cost": None, "amount": "lent", "revenue": 2.0},
            "revenue = 2.0 cannot be combined with amount",
        ),
        ({"required": 0.05}, "is given without amount"),
        ({"cost": None, "amount": "lent", "required": 5_000}, "must be a rate of return"),
        ({"weight": "gold"}, "choose from money, client"),
        ({"time": None}, "time = None is missing"),
        ({"time": None, "round": 9, "known": "known"}, "known = 'known' is given without time"),
        ({"round": "year"}, "round = 'year' is unknown"),
        ({"round": 0}, "round = 0 is less than 1"),
        ({"date_format": "dd"}, "must be a date format"),
        ({"open_value": 1.0}, "is given without known"),
        ({"known": "known", "open_value": 1.0, "matures": 3}, "cannot be combined with open_value"),
        ({"emerges": "evenly"}, "is given without matures"),
        ({"matures": 3, "emerges": "evenly"}, "is given without known"),
        ({"matures": 3, "known": "known", "promised": 1.0}, "has no effect at maturity"),
        ({"matures": 3, "known": "known", "emerges": "slowly"}, "emerges = 'slowly'"),
        ({"propensity": "p"}, "is given without accepted or treated"),
        ({"treated": "t", "accepted": "a"}, "cannot be combined with treated"),
        ({"category": []}, "category = [] is empty"),
        ({"category": ["a", "a"]}, "names a column twice"),
        ({"reward": 3}, "reward = 3 must be a column"),
        ({"cost": float("nan")}, "cost = nan is not a finite number"),
    ],
)
def test_layouts_that_contradict_themselves(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError) as caught:
        Layout(**(PLAIN | fields))
    assert match in str(caught.value)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("category = ", "is not a TOML file"),
        ('kategory = "a"', "kategory = 'a' is not a known field; did you mean category"),
        ("data = 3", "data = 3 must be a file"),
    ],
)
def test_bad_files_of_a_backtest(text: str, match: str, tmp_path: Path) -> None:
    path = tmp_path / "backtest.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_toml(path)
    assert match in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        load_toml(tmp_path / "none.toml")


def test_pyarrow_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'profitable[backtest]'" in message(loans(20))


def test_a_table_with_two_columns_of_one_name_is_refused() -> None:
    table = pd.DataFrame([[1, 2]] * 9, columns=["a", "a"])
    with pytest.raises(InputError, match=r"repeats a name .*give each column its own"):
        open_source(table)
