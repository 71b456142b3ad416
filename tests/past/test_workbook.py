"""Sheets of Excel files: the same clients as a CSV file."""

import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from profitable.errors import InputError, MissingLibraryError
from profitable.past.layout import Layout
from profitable.past.read import read
from profitable.past.workbook import column_of
from tests.past.tables import loans, same, write_csv

openpyxl = pytest.importorskip("openpyxl")
PLAIN: dict[str, Any] = {
    "category": "grade",
    "time": "asked",
    "known": "known",
    "reward": "back",
    "amount": "lent",
}


def write_xlsx(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rows_of(table: dict[str, list[Any]]) -> list[list[Any]]:
    return [list(table), *(list(row) for row in zip(*table.values(), strict=True))]


def dated(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    dates = {
        name: [None if text is None else datetime.fromisoformat(text) for text in table[name]]
        for name in ("asked", "known")
    }
    return table | dates


def test_the_same_clients_as_a_csv_file(tmp_path: Path) -> None:
    table = loans()
    expected = read(write_csv(tmp_path / "past.csv", table), Layout(**PLAIN)).clients
    path = write_xlsx(tmp_path / "past.xlsx", {"Info": [], "Loans": rows_of(dated(table))})
    assert same(read(path, Layout(**PLAIN)).clients, expected)  # type: ignore[arg-type]
    named = read(f"{path}#Loans", Layout(**PLAIN)).clients
    assert same(named, expected)  # type: ignore[arg-type]


def test_rows_have_the_numbers_of_excel(tmp_path: Path) -> None:
    table = dated(loans(60))
    table["lent"][30] = "ask Bob"
    rows = rows_of(table)
    rows[10:10] = [[], [None, ""]]  # blank ones count, and are no clients
    path = write_xlsx(tmp_path / "past.xlsx", {"Loans": [[], ["", None], *rows]})
    with pytest.raises(InputError, match=r"past\.xlsx, row 36, column lent = 'ask Bob' is not a"):
        read(path, Layout(**PLAIN))
    past = read(path, Layout(**PLAIN, skip_bad_rows=True))
    assert past.rows == 60
    assert "bad row: lent is not a number (first: past.xlsx, row 36: ask Bob)" in [
        each.reason for each in past.left_out
    ]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.5, None, ""], "double", [1.0, 2.5, None, None]),
        ([1, 2], "int64", [1, 2]),
        ([True, None], "bool", [True, None]),
        ([datetime(2026, 1, 31), None], "date32[day]", [date(2026, 1, 31), None]),
        ([datetime(2026, 1, 31, 8), date(2026, 2, 1)], "timestamp[us]", None),
        ([1.0, "x", datetime(2026, 1, 31), 2.5], "string", ["1", "x", "2026-01-31", "2.5"]),
    ],
)
def test_kinds_of_columns(values: list[Any], kind: str, expected: list[Any] | None) -> None:
    found = column_of(values)
    assert str(found.type) == kind
    if expected is not None:
        assert found.to_pylist() == expected


@pytest.mark.parametrize(
    ("sheets", "name", "match"),
    [
        ({"A": [["x"], [1]]}, "past.xlsx#B", "past.xlsx#B' is not a sheet; choose from A"),
        ({"A": []}, "past.xlsx", "has no rows; give a sheet with a header"),
        ({"A": [["x", "x"], [1, 2]]}, "past.xlsx", "'x' names two columns"),
        ({"A": [["x", None, "y"], [1, 2, 3]]}, "past.xlsx", "has no name in column 2"),
    ],
)
def test_sheets_that_are_refused(
    sheets: dict[str, Any], name: str, match: str, tmp_path: Path
) -> None:
    write_xlsx(tmp_path / "past.xlsx", sheets)
    with pytest.raises(InputError, match=match):
        read(tmp_path / name, Layout(**PLAIN))


def test_a_row_longer_than_the_header(tmp_path: Path) -> None:
    rows = rows_of(dated(loans(60)))
    rows[5].append("a remark")
    path = write_xlsx(tmp_path / "past.xlsx", {"A": rows})
    with pytest.raises(InputError, match="row 6 = 'a remark' has 13 fields, and the header 12"):
        read(path, Layout(**PLAIN))
    assert read(path, Layout(**PLAIN, skip_bad_rows=True)).rows == 60


@pytest.mark.parametrize("ending", ["xls", "ods", "numbers", "xlsb"])
def test_other_spreadsheets_are_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"past.{ending}"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=rf"of the kind \.{ending}; save it as \.xlsx or CSV"):
        read(path, Layout(**PLAIN))


def test_a_broken_file(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "past.xlsx", {"A": rows_of(loans(30))})
    whole = path.read_bytes()
    for content in (b"no workbook", whole[: len(whole) // 2], b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as an Excel file"):
            read(path, Layout(**PLAIN))


def test_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_xlsx(tmp_path / "past.xlsx", {"A": rows_of(loans(30))})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'profitable\[excel\]'"):
        read(path, Layout(**PLAIN))
