"""Texts in CSV files that a spreadsheet would run as formulas.

Such a text gets an apostrophe in front, as spreadsheets write it themselves, and our
readers take it away again.  A text that begins with apostrophes before such a letter
gets one more, so that every text comes back as it was.

>>> [guarded(cell) for cell in ("=1+1", "-17", "'@x", "students", -1.5)]
["'=1+1", '-17', "''@x", 'students', -1.5]
>>> [unguarded(guarded(text)) for text in ("=1+1", "'@x", "'quoted'")]
['=1+1', "'@x", "'quoted'"]
"""

import re
from typing import TypeVar

Cell = TypeVar("Cell")
# The last four are wide forms of the first ones.
FORMULA = re.compile("'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


def guarded(cell: Cell) -> Cell | str:
    """Return the cell, with an apostrophe in front of a text that would be run."""
    if isinstance(cell, str) and FORMULA.match(cell) and not PLAIN_NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def unguarded(text: str) -> str:
    """Return the text without the apostrophe that `guarded` puts in front of it."""
    return text[1:] if text[:1] == "'" and FORMULA.match(text) else text
