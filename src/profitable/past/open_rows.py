"""Open rows: clients who asked and have no outcome yet, by round and category.

They are left out of the past, and advice needs to know how many there are.

>>> asked, names = np.array([1, 1, 2, 9]), ["cook", "cook", "clerk", "cook"]
>>> counts, note = counted(asked, names, ("clerk", "cook"), 3)
>>> counts.tolist(), note
([[0, 2], [1, 0], [0, 0]], '1 row without an outcome is in no round, or ...')
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.past import calendar_rounds as rounds
from profitable.past.bands import CategoryCodes, CategoryColumn
from profitable.past.source import Piece

if TYPE_CHECKING:
    pass

NOWHERE = -1  # the place of what no client of the past has


def said_of_condition(condition: str | None, opened: int, unsaid: int) -> list[str]:
    """Say if no row is open by a condition, or if it lacks values of some clients.

    >>> said_of_condition("status=Curent", 0, 0)
    ['no client is open by open = status=Curent']
    """
    found: list[str] = []
    if condition is not None and not opened:
        found.append(f"no client is open by open = {condition}")
    if condition is not None and unsaid:
        clients = "1 client counts" if unsaid == 1 else f"{number_text(unsaid)} clients count"
        found.append(f"{clients} as not open, because a value of open = {condition} is missing")
    return found


def counted(
    round: IntArray,
    names: Sequence[str],
    known: Sequence[str],
    size: int,
    number: IntArray | None = None,
) -> tuple[IntArray, str | None]:
    """Count rows by round [R = size] and category [K], and say how many are in none.

    Each is one row, or so many as `number` says.
    """
    number = np.ones(round.size, np.int64) if number is None else number
    places = {name: place for place, name in enumerate(known)}
    category = np.array([places.get(name, NOWHERE) for name in names], np.int64)
    inside = (round >= 1) & (round <= size) & (category != NOWHERE)
    cells = (round[inside] - 1) * len(known) + category[inside]
    counts = np.bincount(cells, number[inside], size * len(known)).astype(np.int64)
    counts = counts.reshape(size, -1)
    if inside.all():
        return counts, None
    outside = int(number[~inside].sum())
    said = (
        "1 row without an outcome is"
        if outside == 1
        else (f"{number_text(outside)} rows without an outcome are")
    )
    return counts, f"{said} in no round, or no category, of the clients whose outcomes are known"


@dataclass
class OpenRows:
    """Reads the open rows of each piece."""

    cuts: Sequence[CategoryColumn]
    asked: list[IntArray] = field(default_factory=lambda: [])
    before: list[IntArray] = field(default_factory=lambda: [])
    codes: list[CategoryCodes] = field(init=False)

    def __post_init__(self) -> None:
        self.codes = [CategoryCodes(cut) for cut in self.cuts]

    def add(
        self,
        piece: Piece,
        is_open: BoolArray,
        kept: IntArray,
        asked: IntArray | None,
        numeric: Sequence[FloatArray | None],
    ) -> None:
        """Add the open rows of a piece; before each, so many rows were `kept`."""
        self.before.append(kept[is_open])
        if asked is not None:
            self.asked.append(asked[is_open])
        for codes, values in zip(self.codes, numeric, strict=True):
            codes.read(piece, is_open, values)

    def count(
        self, kept: "KeptRounds", edges: Sequence[FloatArray | None], names: Sequence[str]
    ) -> tuple[IntArray | None, str | None]:
        """Count them by round and category [R, K]; None if there are none."""
        if not self.before:
            return None, None
        asked = np.concatenate(self.asked) if self.asked else None
        round = kept.of(asked, np.concatenate(self.before))
        parts: list[Any] = []
        for codes, cuts in zip(self.codes, edges, strict=True):
            places, texts = codes.finish(cuts)
            parts.append(np.array(texts, dtype=object)[places])
        return counted(
            round, [", ".join(each) for each in zip(*parts, strict=True)], names, kept.size
        )


@dataclass
class KeptRounds:
    """The rounds of the clients of the past, in which open rows are placed."""

    round: str | int
    size: int = 0  # R
    first: int = 0  # period
    rows: int = 0
    asked: IntArray | None = None  # times in order, where a round is a number of rows

    def of(self, asked: IntArray | None, before: IntArray) -> IntArray:
        """Return the rounds in which open rows asked, beyond 1 to R if in none."""
        if isinstance(self.round, str):
            assert asked is not None
            return rounds.periods(asked, self.round) - self.first + 1
        place = before
        if self.asked is not None and asked is not None:
            place = np.searchsorted(self.asked, asked, side="right")
        return np.where(place < self.rows, place // self.round + 1, self.size + 1)
