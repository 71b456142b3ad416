"""Tables of a backtest as files: CSV files in a folder, or one workbook for Excel.

Names of categories are data of strangers, and a spreadsheet runs a text that begins
with = + - @ as a formula.  In a workbook every text is stored as a text.  A CSV file
cannot say so: there such a text gets an apostrophe in front, as in all CSV files of
this package (`guarded`).
"""

import csv
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from profitable.common.extras import extra
from profitable.common.files import as_path, replace_file, saving
from profitable.common.text_tables import guarded
from profitable.errors import InputError
from profitable.replay.backtest_tables import TABLES, Columns

TABLES_FOLDER = "tables"  # beside the page


def save_tables(tables: Mapping[str, Columns], folder: Path) -> list[Path]:
    """Write each table as CSV; remove those that only an earlier backtest had."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in set(TABLES) - set(tables):
        (folder / f"{name}.csv").unlink(missing_ok=True)
    return [
        replace_file(folder / f"{name}.csv", lambda path, columns=columns: _csv(columns, path))
        for name, columns in tables.items()
    ]


def _csv(columns: Columns, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            lines.writerow([guarded(cell) for cell in row])


def check_workbook(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a workbook that cannot be written."""
    workbook_path(path)
    workbook_writer()


def workbook_writer() -> Callable[[Mapping[str, Columns], Path], None]:
    """Return the writer of workbooks; MissingLibraryError without openpyxl."""
    with extra("excel", "workbooks are written with it", otherwise="take the CSV files"):
        from profitable.replay.workbook_sheets import write_workbook
    return write_workbook


def workbook_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a workbook; InputError for another ending than .xlsx."""
    file = as_path("excel", path)
    if file.suffix.lower() != ".xlsx":
        raise InputError("excel", str(file), "has an unknown ending", "give a name with .xlsx")
    return file


def save_workbook(tables: Mapping[str, Columns], path: str | os.PathLike[str]) -> Path:
    """Write all tables as the sheets of one workbook."""
    file, write = workbook_path(path), workbook_writer()
    with saving(file, field="excel", remedy="choose another file, or make room"):
        replace_file(file, lambda temporary: write(tables, temporary))
    return file
