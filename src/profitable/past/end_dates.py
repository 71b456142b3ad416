"""End dates: rows that end before their client asked, or although it is open.

>>> from profitable.past.source import open_source
>>> from profitable.past.typed_columns import Dates
>>> source = open_source({"asked": ["2026-03"], "closed": ["2026-01"]})
>>> piece = next(source.pieces(["asked", "closed"]))
>>> refuse_early(piece, np.array([True]), Dates(("closed",)), Dates(("asked",)))
Traceback (most recent call last):
profitable.errors.InputError: the table, row 1, column closed = '2026-01' is before
asked = 2026-03, when the client asked; correct the dates.
"""

import numpy as np

from profitable.common.types import BoolArray, IntArray
from profitable.past.calendar_rounds import MISSING
from profitable.past.source import Piece
from profitable.past.typed_columns import Dates


def refuse_early(piece: Piece, early: BoolArray, end: Dates, asked: Dates) -> None:
    """Refuse rows that end before the client asked."""
    piece.refuse(
        end.name,
        early,
        lambda index: (
            f"is before {asked.name} = {_shown(piece, asked, index)}, when the client asked"
        ),
        "correct the dates",
        lambda index: _shown(piece, end, index),
        reason=f"is before {asked.name}",
    )


def refuse_ended(piece: Piece, ended: BoolArray, end: Dates, condition: str | None) -> None:
    """Refuse rows of clients who are open by a condition, and have ended."""
    piece.refuse(
        end.name,
        ended,
        f"is given, but the client is open by open = {condition}",
        "leave it empty, or correct the condition",
        lambda index: _shown(piece, end, index),
    )


def without_open(ends: IntArray, is_open: BoolArray | None) -> IntArray:
    """Return ends, which are missing while a client is open.

    >>> without_open(np.array([3, 5]), np.array([True, False])).tolist() == [MISSING, 5]
    True
    """
    return ends if is_open is None else np.where(is_open, MISSING, ends)


def _shown(piece: Piece, dates: Dates, index: int) -> str:
    """Return a date as it is written."""
    return " ".join(str(piece.column(name)[index].as_py()) for name in dates.columns)
