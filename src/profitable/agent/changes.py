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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels import agent_table
from profitable.kernels.agent_table import LOG_WIDTH, SNAPSHOT, WRITTEN, AgentRow

if TYPE_CHECKING:
    from profitable.agent.ledger import Ledger

# Columns that a log has room for: a copy of the table is made once in so many changes.
FEWEST, MOST = 64, 4096
KEPT = [*range(SNAPSHOT), int(AgentRow.ROUNDS), int(AgentRow.EARLIER), WRITTEN]
NO_NUMBERS: FloatArray = np.empty(0)
NO_FLAGS: BoolArray = np.empty(0, dtype=np.bool_)
NO_POSITIONS: IntArray = np.empty(0, dtype=np.int64)
EVIDENCE, PAUSED = int(AgentRow.EVIDENCE), int(AgentRow.PAUSED)


class Round(NamedTuple):
    """The numbers of a decided round, [M]; empty if time alone decides."""

    limits: FloatArray  # the patience, if it was drawn
    before: FloatArray  # the accepted rounds before this one
    accepted: BoolArray


BY_TIME = Round(NO_NUMBERS, NO_NUMBERS, NO_FLAGS)


class Changes:
    """The log of a ledger's changes, since the first decision that shares it."""

    __slots__ = ("_rows", "is_shared", "ledger", "log", "used")

    def __init__(self, ledger: "Ledger") -> None:
        self.ledger = ledger
        self.log: FloatArray = np.empty((min(max(len(ledger), FEWEST), MOST), LOG_WIDTH))
        self.used = 0  # rows of the log
        self.is_shared = False  # whether a decision was made since it began
        self._rows: FloatArray | None = None  # when it is closed, a copy of the table

    def close(self) -> None:
        """Copy the table, which is about to change."""
        self._rows = self.ledger.numbers_with_written()[KEPT]

    def rows(self, start: int, size: int) -> FloatArray:
        """Return the kept rows of the first categories as of row `start` of the log."""
        with self.ledger._lock:
            rows = self._rows
            if rows is None:
                rows = self.ledger.numbers_with_written()[KEPT]
            rows = rows[:, :size].copy()
            agent_table.undo(rows, self.log, start, self.used)
        return rows

    def mask_by_time(self, start: int, size: int, limit: float) -> BoolArray:
        """Return the decision of a round whose patience is one number, [M]."""
        mask = np.empty(size, dtype=np.bool_)
        with self.ledger._lock:
            table = self.ledger.raw if self._rows is None else self._rows
            agent_table.mask_by_time(table, limit, self.log, start, self.used, mask)
        return mask

    def evidence_of(self, start: int, k: int) -> float | None:
        """Return the evidence against a category, as of row `start` of the log.

        It is NaN if the category is paused, and None if the table has changed since.
        """
        with self.ledger._lock:
            if self.used != start or self._rows is not None:
                return None
            table = self.ledger.raw
            return math.nan if table[PAUSED, k] else table.item(EVIDENCE, k)
