"""Tables as the sheets of one workbook for Excel, in which every text stays a text.

Imports openpyxl openly: whoever imports this file does so inside `extra`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from profitable.common.text_tables import guarded
from profitable.replay.backtest_tables import Columns

SHEET_ROWS = 1_048_575  # of a sheet, beside its header
WIDEST, NARROWEST = 60, 9  # columns, in letters
WIDTH_ROWS = 200  # whose cells decide how wide a column is
BOLD = Font(bold=True)


def write_workbook(tables: Mapping[str, Columns], path: Path) -> None:
    """Write each table as a sheet of its name."""
    book = cast(Any, Workbook(write_only=True))
    for name, columns in tables.items():
        _sheet(book.create_sheet(name), columns)
    book.save(path)


def _sheet(sheet: Any, columns: Columns) -> None:
    """Fill a sheet: its header stays in sight, and its columns filter."""
    rows = len(next(iter(columns.values())))
    if rows > SHEET_ROWS:
        said = f"{rows} rows are more than a sheet can have: take the CSV file of this table."
        sheet.append([said])
        return
    for place, (head, column) in enumerate(columns.items(), start=1):
        longest = max(len(str(cell)) for cell in (head, *column[:WIDTH_ROWS]))
        width = min(max(longest + 1, NARROWEST), WIDEST)
        sheet.column_dimensions[get_column_letter(place)].width = width
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = f"A1:{get_column_letter(len(columns))}{rows + 1}"
    sheet.append([_cell(sheet, head, BOLD) for head in columns])
    for row in zip(*columns.values(), strict=True):
        sheet.append([_cell(sheet, each) for each in row])


def _cell(sheet: Any, value: Any, font: Any = None) -> Any:
    """Return a cell; a text is stored as a text, whatever it begins with."""
    if not isinstance(value, str):
        return value
    cell = cast(Any, WriteOnlyCell)(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value))
    cell.data_type = "s"  # openpyxl takes "=1+1" for a formula
    # Excel would make one when the cell is edited: this is its own sign of a text.
    cell.quotePrefix = guarded(value) != value
    if font is not None:
        cell.font = font
    return cell
