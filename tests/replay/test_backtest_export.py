"""Tables as CSV files and as a workbook; names of categories never become formulas."""

import csv
from pathlib import Path

import openpyxl
import pytest

from profitable.common.text_tables import unguarded
from profitable.errors import InputError, NotSavedError
from profitable.replay.backtest_export import save_tables, save_workbook
from profitable.replay.backtest_tables import tables_of
from tests.replay.made_up import made_up

FORMULAS = ("=1+1", '@SUM(A1:"x")', "-2+3|' /C calc'!A0", "+cmd", "\ttab", "bell\a", "'=1", "plain")
TABLES = tables_of(made_up(FORMULAS, rounds=5, advised=True, off_policy=True))


def test_csv_files_come_back_as_they_were(tmp_path: Path) -> None:
    """No cell begins as a formula, and readers of this package find the old texts."""
    (tmp_path / "cutoff.csv").write_text("of an earlier backtest")
    tables = {name: columns for name, columns in TABLES.items() if name != "cutoff"}
    written = save_tables(tables, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(written)
    for name, columns in tables.items():
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert header == list(columns)
        for row, wanted in zip(rows, zip(*columns.values(), strict=True), strict=True):
            assert [unguarded(cell) for cell in row] == [
                "" if value is None else str(value) for value in wanted
            ]
            texts = [cell for cell, value in zip(row, wanted, strict=True) if type(value) is str]
            assert not any(cell[:1] in ("=", "+", "-", "@", "\t") for cell in texts)


def test_a_workbook_has_texts_and_numbers_but_no_formula(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(save_workbook(TABLES, tmp_path / "all.xlsx"))
    assert book.sheetnames == list(TABLES)
    for name, columns in TABLES.items():
        header, *rows = book[name].iter_rows()
        assert [cell.value for cell in header] == list(columns)
        for row, wanted in zip(rows, zip(*columns.values(), strict=True), strict=True):
            assert not any(cell.data_type in ("f", "e") for cell in row)
            for cell, value in zip(row, wanted, strict=True):
                if isinstance(value, str):
                    assert (cell.value or "") == value.replace("\a", "\ufffd")
                    assert cell.quotePrefix or value[:1] not in ("=", "+", "-", "@")
                elif value is None:
                    assert cell.value is None
                else:
                    assert cell.value == pytest.approx(value)


def test_refused_before_and_while_writing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"excel = '.*\.csv' has an unknown ending; give"):
        save_workbook(TABLES, tmp_path / "all.csv")
    with pytest.raises(NotSavedError, match="cannot be written"):
        save_workbook(TABLES, tmp_path / "no folder" / "all.xlsx")
