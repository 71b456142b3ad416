"""Changes: how decisions keep their numbers without a copy of all of them.

A decision over a million categories would copy a table of 100 MB, and nearly nobody
looks at more than the names.  So a decision shares the agent's table.  Before a column
of the table changes, its old numbers are kept in a log (`Changes`).  A decision undoes
what was logged since, if somebody asks for its numbers.

When the log is full, or when all columns change at once, it is closed: it gets a copy
of the table for the decisions that share it, and later decisions share a new one.  So
an old decision keeps one copy and one log alive, never the whole history.

Example: decision 7 accepts "cars" with evidence 0.  A loss comes in: the column of
"cars" is logged in row 0, and then changes.  Decision 8 starts at row 1.  Asked for its
evidence, decision 7 copies the table and undoes row 0; decision 8 undoes nothing.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels import agent_table
from profitable.kernels.agent_table import LOG_WIDTH, SNAPSHOT, WRITTEN, AgentRow

if TYPE_CHECKING:
    from profitable.agent.ledger import Ledger

# Columns that a log has room for: a copy of the table is made once in so many changes.
FEWEST, MOST = 64, 4096
COUNTED = (int(AgentRow.ROUNDS), int(AgentRow.EARLIER), WRITTEN)
NO_NUMBERS: FloatArray = np.empty(0)
NO_LIMITS: FloatArray = np.empty((0, 0))
NO_FLAGS: BoolArray = np.empty(0, dtype=np.bool_)
NO_POSITIONS: IntArray = np.empty(0, dtype=np.int64)
EVIDENCE, PAUSED = int(AgentRow.EVIDENCE), int(AgentRow.PAUSED)


def kept_rows(table: FloatArray) -> FloatArray:
    """Return a copy of the rows of a table that decisions are made of, [rows, M]."""
    rows = np.empty((SNAPSHOT + len(COUNTED), table.shape[1]))
    rows[:SNAPSHOT] = table[:SNAPSHOT]
    for place, row in enumerate(COUNTED, SNAPSHOT):
        rows[place] = table[row]
    return rows


class Rounds:
    """Decided rounds: the numbers that are not in the table, or not yet.

    Either some rounds that are written when a column changes, whose patience is drawn
    or follows from the time; or one round with its counts and its decision.
    """

    __slots__ = ("accepted", "base", "before", "counted", "drawn", "end")

    def __init__(
        self,
        base: int = 0,
        drawn: FloatArray = NO_LIMITS,
        before: FloatArray = NO_NUMBERS,
        accepted: BoolArray = NO_FLAGS,
    ) -> None:
        self.base = base  # the round before the first of them
        self.drawn = drawn  # [rounds, M]: their patience, if it was drawn
        self.before = before  # [M]: the accepted rounds before the round
        self.accepted = accepted  # [M]
        # When their last round is written: its number, and the accepted rounds by then.
        self.end, self.counted = 0, NO_NUMBERS

    @property
    def is_later(self) -> bool:
        """Whether they are written when a column changes."""
        return not self.before.size


BY_TIME = Rounds()


class Changes:
    """The log of a ledger's changes, since the first decision that shares it."""

    __slots__ = ("_rows", "is_shared", "ledger", "log", "room", "used")

    def __init__(self, ledger: "Ledger") -> None:
        self.ledger = ledger
        self.log: FloatArray = np.empty((min(max(len(ledger), FEWEST), MOST) + 1, LOG_WIDTH))
        self.used, self.room = 0, len(self.log) - 1  # rows; the last one is for `absorb_one`
        self.is_shared = False  # whether a decision was made since it began
        self._rows: FloatArray | None = None  # when it is closed, a copy of the table

    def close(self) -> None:
        """Copy the table, which is about to change."""
        self._rows = kept_rows(self.ledger.numbers_with_written())

    def rows(self, start: int, size: int) -> FloatArray:
        """Return the kept rows of the first categories as of row `start` of the log."""
        with self.ledger._lock:
            rows = self._rows
            if rows is None:
                rows = kept_rows(self.ledger.numbers_with_written()[:, :size])
            else:
                rows = rows[:, :size].copy()
            agent_table.undo(rows, self.log, start, self.used)
        return rows

    def accepted(self, start: int, size: int, limits: FloatArray) -> BoolArray:
        """Return the decision of a round, by its patience: [M], or one number."""
        mask = np.empty(size, dtype=np.bool_)
        with self.ledger._lock:
            table = self.ledger.raw if self._rows is None else self._rows
            agent_table.accepted_later(table, limits, self.log, start, self.used, mask)
        return mask

    def evidence_of(self, start: int, k: int) -> float | None:
        """Return the evidence against a category, as of row `start` of the log.

        It is NaN if the category is paused, and None if the table has changed since. No
        lock is needed: `used` or `_rows` changes before the table does.
        """
        table = self.ledger.raw
        nats = math.nan if table[PAUSED, k] else table.item(EVIDENCE, k)
        return nats if self.used == start and self._rows is None else None
