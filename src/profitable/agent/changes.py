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

from profitable.agent.categories import Categories
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels import agent_rounds, faded_verdicts
from profitable.kernels.agent_rounds import LOG_HEAD, LOG_WIDTH
from profitable.kernels.agent_table import COMES_BACK, SNAPSHOT, WRITTEN, AgentRow
from profitable.kernels.patience import patience_of

if TYPE_CHECKING:
    from profitable.agent.shared_table import SharedTable

# Columns that a log has room for: a copy of the table is made once in so many changes.
SHORTEST_LOG, LONGEST_LOG = 256, 4096
# Rows that are kept behind those of a decision; the last one never changes.
COUNTED = (int(AgentRow.ROUNDS), int(AgentRow.EARLIER), WRITTEN, int(AgentRow.IMAGINARY))
KEPT_BESIDE = COUNTED[:3]
NO_NUMBERS: FloatArray = np.empty(0)
NO_LIMITS: FloatArray = np.empty((0, 0))
NO_FLAGS: BoolArray = np.empty(0, dtype=np.bool_)
NO_POSITIONS: IntArray = np.empty(0, dtype=np.int64)


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

    __slots__ = (
        "_tolerated",
        "accepted",
        "base",
        "categories",
        "counts",
        "drawn",
        "end",
        "is_drawn",
        "is_later",
        "size",
    )

    def __init__(
        self,
        categories: Categories,
        size: int,
        base: int = 0,
        drawn: FloatArray = NO_LIMITS,
        counts: FloatArray = NO_NUMBERS,
        accepted: BoolArray = NO_FLAGS,
    ) -> None:
        self.categories = categories  # the first of which were decided about
        self.size = size  # how many, M
        self.base = base  # the round before the first of them
        # [rounds, M]: their patience, if it was drawn.  That of round t stands in row
        # t - 1, modulo their number.
        self.drawn = drawn
        self.is_drawn = drawn.size > 0
        # [M]: the accepted rounds before a single round, or up to round `end`.
        self.counts = counts
        self.accepted = accepted  # [M], in a single round
        self.end = 0  # when their patience is used up, the last of them
        self.is_later = not accepted.size  # whether they are written when a column changes
        # A round, and its patience if that depends on the time alone: it never falls.
        self._tolerated: tuple[int, float] = (0, 0.0)

    def limits(self, round: int) -> FloatArray:
        """Return the patience of a round: drawn, [M], or by its time alone, [1]."""
        if self.is_drawn:
            return self.drawn[(round - 1) % len(self.drawn)]
        return np.array([self._patience_by_time(round)])

    def tolerates(self, round: int, k: int, nats: float) -> bool:
        """Return whether a round tolerates this evidence on a category."""
        if self.is_drawn:
            return nats <= self.drawn.item((round - 1) % len(self.drawn), k)
        known, tolerated = self._tolerated
        if known > round or not nats <= tolerated:
            tolerated = self._patience_by_time(round)
            self._tolerated = (round, tolerated)
        return nats <= tolerated

    def _patience_by_time(self, round: int) -> float:
        terms = self.categories.patience
        return patience_of(terms.c, terms.inflate, round - 1.0) if round > 1 else math.inf


class Changes:
    """The log of a table's changes, since the first decision that shares it."""

    __slots__ = ("_rows", "current", "is_shared", "log", "room", "shared", "used")

    def __init__(self, shared: "SharedTable") -> None:
        self.shared = shared
        rows = min(max(shared.size, SHORTEST_LOG), LONGEST_LOG)
        width = LOG_HEAD + len(shared.raw) if shared.fades_late else LOG_WIDTH
        self.log: FloatArray = np.empty((rows + 1, width))
        self.used, self.room = 0, rows  # the last row is for the reward of `absorb_one`
        self.is_shared = False  # whether a decision was made since it began
        # Evidence and pauses of all categories as they are now; None when it is closed.
        # A memoryview is read in half the time of an array.
        self.current: tuple[memoryview, memoryview] | None = (
            memoryview(shared.raw[AgentRow.EVIDENCE]),
            memoryview(shared.raw[AgentRow.PAUSED]),
        )
        self._rows: FloatArray | None = None  # when it is closed, a copy of the table

    def close(self) -> None:
        """Copy the table, which is about to change."""
        self._rows = self._copied(self.shared.size)
        self.current = None  # before the table changes: readers look at it

    def _copied(self, size: int) -> FloatArray:
        """Return a copy of the first columns: all rows, where outcomes fade late."""
        table = self.shared.raw[:, :size]
        return table.copy() if self.shared.fades_late else kept_rows(table)

    def rows(self, start: int, size: int) -> FloatArray:
        """Return the kept rows of the first categories as of row `start` of the log."""
        with self.shared._lock:
            rows = self._rows
            rows = self._copied(size) if rows is None else rows[:, :size].copy()
            self._undo(rows, start)
        return rows

    def keep(self, positions: IntArray, place: int) -> None:
        """Write columns that are about to change into the log, from row `place` on."""
        table, log = self.shared.raw, self.log[place : place + positions.size]
        log[:, 0] = positions
        for column, row in enumerate(KEPT_BESIDE, 1):
            log[:, column] = table[row].take(positions)
        log[:, LOG_HEAD:] = table[: log.shape[1] - LOG_HEAD].take(positions, 1).T

    def _undo(self, rows: FloatArray, start: int) -> None:
        """Undo the changes since row `start` of the log in a copy of the table.

        Of a column that changed several times, the first change says what it was.
        """
        log = self.log[start : self.used]
        which, first = np.unique(log[:, 0].astype(np.int64), return_index=True)
        inside = which < rows.shape[1]
        which, log = which[inside], log[first[inside]]
        rows[: log.shape[1] - LOG_HEAD, which] = log[:, LOG_HEAD:].T
        if len(rows) <= COMES_BACK:  # else they are all rows
            rows[SNAPSHOT : SNAPSHOT + len(KEPT_BESIDE), which] = log[:, 1:LOG_HEAD].T

    def accepted(self, start: int, size: int, limits: FloatArray) -> BoolArray:
        """Return the decision of a round, by its patience: [M], or one number."""
        mask = np.empty(size, dtype=np.bool_)
        with self.shared._lock:
            table = self.shared.raw if self._rows is None else self._rows
            agent_rounds.accepted_later(table, limits, self.log, start, self.used, mask)
        return mask

    def accepted_faded(
        self, start: int, made: Rounds, round: int, first: int, size: int
    ) -> BoolArray | None:
        """Return the decision about some categories, where outcomes fade late.

        It is None if verdicts of later rounds were asked for: what they left as sure
        says nothing of earlier rounds.
        """
        mask, shared = np.empty(size, dtype=np.bool_), self.shared
        with shared._lock:
            if round < shared.asked:
                return None
            shared.asked = round
            faded_verdicts.accepted_faded(
                shared.raw if self._rows is None else self._rows,
                first,
                made.categories.which(),
                made.categories.view_table(),
                round,
                self.log[start : self.used],
                mask,
            )
        return mask
