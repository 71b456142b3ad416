"""SharedTable: the agent's table, which decisions share, and its decided rounds.

The numbers stand in one table with a column for each category
(`kernels/agent_table.py`).  A decided round is written into a column when the column is
about to change or to be read (`kernels/agent_rounds.py`), and a column that is about to
change is logged for earlier decisions (`changes.py`).
"""

from typing import Any

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.changes import (
    NO_LIMITS,
    NO_NUMBERS,
    NO_POSITIONS,
    Changes,
    Rounds,
    kept_rows,
)
from profitable.agent.draws import ExponentialStream
from profitable.agent.locking import lock_of
from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError
from profitable.kernels import agent_rounds, faded_draws
from profitable.kernels.agent_table import ACCEPTED_SO_FAR, COMES_BACK, SNAPSHOT, WRITTEN, AgentRow
from profitable.kernels.patience import LAST_ROUND

# Rows that a decided round writes.
ROUND_ROWS = np.array([[AgentRow.PATIENCE], [AgentRow.PER_ROUND], [AgentRow.ACCEPTED]])
# Draws of patience that are kept until they are written into the table, and for how
# many rounds.
DRAWS_KEPT, FEWEST_ROUNDS, MOST_ROUNDS = 65_536, 4, 64
NOT_COPIED = ("_lock", "changes")  # not part of a copy


class SharedTable:
    """The table of some categories, its rounds, and the log of its changes."""

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self._lock = lock_of(self)  # which the agent takes, too
        self.fades_late = categories.policy.fades_late
        last = ACCEPTED_SO_FAR if categories.policy.rule.is_posterior else COMES_BACK
        self.raw: FloatArray = np.zeros(((last if self.fades_late else WRITTEN) + 1, 0))
        self.asked = 0  # the latest round whose verdicts were asked for, if outcomes fade late
        self.size = 0
        self._everyone: IntArray = NO_POSITIONS
        self.round: int = 0  # rounds that have passed
        self._decided = 0  # rounds that are decided; the last of them may not have passed yet
        self._is_written = True  # whether every column has all of them
        self._is_later = categories.policy.is_written_later
        self._draws = categories.policy.draws
        self._latest = Rounds(categories, 0)
        self.changes = Changes(self)

    def __len__(self) -> int:
        return self.size

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy or a pickle: without the lock and the log.

        Decisions that were made share the log of this table.
        """
        return {key: each for key, each in self.__dict__.items() if key not in NOT_COPIED}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock, self.changes = lock_of(self), Changes(self)

    def share_lock(self, lock: Any) -> None:
        """Take the lock of the agent that this table belongs to."""
        self._lock = lock_of(self, lock)

    # -------------------------------------------------------------------------- looking

    @property
    def numbers(self) -> FloatArray:
        """The rows of `AgentRow` for every category, [rows, K], to read."""
        return self.numbers_with_written()[:WRITTEN]

    def numbers_with_written(self) -> FloatArray:
        """Return the same with the row WRITTEN; all rounds are written first."""
        if not self._is_written:
            if self.fades_late:
                self._close()  # earlier decisions need outcomes that are not as old
            self._write(self._everyone)
            self._is_written = True
        return self.raw[:, : self.size]

    @property
    def table(self) -> FloatArray:
        """The rows of `AgentRow` for every category, [rows, K], to change them."""
        self.before_all_change()
        return self.raw[:WRITTEN, : self.size]

    def writable_column(self, k: int) -> FloatArray:
        """Return the numbers of one category, to change them."""
        self.before_change(np.array([k]))
        return self.raw[:WRITTEN, k]

    def column(self, k: int) -> list[float]:
        """Return the numbers of one category."""
        if not self._is_written:
            (self.before_change if self.fades_late else self._write)(np.array([k]))
        return self.raw[:WRITTEN, k].tolist()

    # ------------------------------------------------------------------------- changing

    def _write(self, positions: IntArray) -> None:
        """Write the decided rounds into some columns."""
        if self.fades_late:
            categories = self.categories
            which, views = categories.which(), categories.view_table()
            drawn = self._latest.drawn
            agent_rounds.fade(self.raw, positions, which, views, self._decided, drawn)
            return
        latest = self._latest
        agent_rounds.write_rounds(
            self.raw,
            positions,
            self.categories.terms,
            self._decided,
            latest.drawn,
            latest.counts,
            latest.accepted,
        )

    def before_all_change(self) -> None:
        """Write all rounds, and give a copy of the table to decisions that share it."""
        self.numbers_with_written()
        self._close()
        if self.fades_late:
            self.raw[COMES_BACK] = 0.0

    def _close(self) -> None:
        """Close the log, if decisions share it."""
        if self.changes.is_shared:
            self.changes.close()
            self.changes = Changes(self)

    def before_change(self, positions: IntArray) -> None:
        """Log some columns for earlier decisions, and write the rounds of these."""
        changes = self.changes
        if changes.is_shared:
            if changes.used + positions.size > changes.room:
                self.before_all_change()
            else:
                place = changes.used
                changes.used += positions.size  # before the table changes: readers look at it
                changes.keep(positions, place)
        if not self._is_written:
            self._write(positions)
        if self.fades_late:
            self.raw[COMES_BACK, positions] = 0.0

    def grow(self) -> int:
        """Make columns for the categories that were appended; return their number."""
        self._begin(Rounds(self.categories, len(self.categories)))
        if self.fades_late and self._draws and self.categories.keep_squares().any():
            self._fade_at_once()
        start, self.size = self.size, len(self.categories)
        self._everyone = np.arange(self.size)
        if self.size > self.raw.shape[1]:
            self._close()
            grown = np.zeros((len(self.raw), max(self.size, 2 * start)))
            grown[:, :start] = self.raw[:, :start]
            self.raw = grown
        self.raw[WRITTEN, start : self.size] = self._decided  # which were not about them
        if not self.changes.is_shared:
            self.changes = Changes(self)  # with more room, of the new table
        return self.size - start

    def _fade_at_once(self) -> None:
        """Let outcomes fade in each round from now on.

        A draw that needs exact evidence also computes the spread from the squares, and
        so rounds it in another way than aging does.
        """
        self._close()
        self.fades_late = self._is_later = False
        self.raw = self.raw[: WRITTEN + 1].copy()
        self.changes = Changes(self)

    def take_out(self, k: int) -> None:
        """Forget the column of a category."""
        self.before_all_change()
        self.categories = self.categories.without(k)
        self._begin(Rounds(self.categories, self.size - 1))
        self.raw = np.delete(self.raw[:, : self.size], k, axis=1)
        self.size -= 1
        self.changes = Changes(self)
        self._everyone = np.arange(self.size)

    # ------------------------------------------------------------------------- deciding

    def start_after(self, round: int) -> None:
        """Set the number of rounds that have passed, in a table that has seen none."""
        self.round = self._decided = round
        self.raw[WRITTEN] = round

    def decide(self, stream: ExponentialStream) -> Rounds:
        """Decide the next round about all categories.

        Each is accepted if its evidence is at most its patience and it is not paused;
        or by the floor, if there is one.  The stream has the draws of patience and of
        the floor.
        """
        if self.round >= LAST_ROUND:
            raise self._no_more_rounds()
        self.changes.is_shared = True
        if not self._is_later or (self.fades_late and self._draws):
            draws = self._next_draws(stream, self.size)
            if self.fades_late and self.round > 0:
                self._latest = self._decide_faded(draws)
            else:
                self._latest = self._decide(self.raw, NO_POSITIONS, self.size, draws)
        elif self._draws:
            self._draw(stream)
        self._decided = self.round + 1
        self._is_written = False
        return self._latest

    def _no_more_rounds(self) -> InputError:
        return InputError(
            "round", self.round, "is the last that can be counted", "start a new agent"
        )

    def _begin(self, rounds: Rounds) -> None:
        """Write all rounds; later ones are these."""
        self.numbers_with_written()
        latest = self._latest
        if latest.is_later and latest.is_drawn:
            latest.end, latest.counts = self._decided, self.raw[AgentRow.ROUNDS].copy()
        self._latest = rounds

    def _next_draws(self, stream: ExponentialStream, size: int) -> FloatArray:
        """Return the draws of the next round about so many categories."""
        times = int(self.round > 0 and self._draws) + int(self.categories.policy.floor > 0.0)
        return stream.take(times * size) if times else NO_NUMBERS

    def _draw(self, stream: ExponentialStream) -> None:
        """Draw the patience of the next round; round 1 tolerates everything."""
        before, latest = self.round, self._latest
        if not 0 <= before - latest.base < len(latest.drawn):
            number = min(max(DRAWS_KEPT // max(self.size, 1), FEWEST_ROUNDS), MOST_ROUNDS)
            latest = Rounds(self.categories, self.size, before, np.empty((number, self.size)))
            self._begin(latest)
        limits = latest.drawn[before % len(latest.drawn)]
        if before > 0:
            stream.fill(limits)
        else:
            limits[:] = np.inf

    def decide_some(self, stream: ExponentialStream, positions: IntArray | None) -> FloatArray:
        """Decide the next round, and write it at once; return the kept columns."""
        if self.round >= LAST_ROUND:
            raise self._no_more_rounds()
        self.before_all_change()
        chosen = self._everyone if positions is None else positions
        rows = self._decided_rows(self.raw, chosen, self._next_draws(stream, chosen.size))
        self.raw[ROUND_ROWS, chosen[np.newaxis]] = rows[ROUND_ROWS[:, 0]]
        self._decided = self.round + 1
        self.raw[WRITTEN] = self._decided
        return rows[:SNAPSHOT]

    def preview(self, positions: IntArray | None) -> FloatArray:
        """Return the next decision's columns as far as known; nothing changes."""
        table = self.numbers_with_written().copy()
        chosen = self._everyone if positions is None else positions
        return self._decided_rows(table, chosen, NO_NUMBERS)[:SNAPSHOT]

    def _decided_rows(self, table: FloatArray, chosen: IntArray, draws: FloatArray) -> FloatArray:
        """Decide the next round about some categories; return the rows they keep."""
        made = self._decide(table, chosen, chosen.size, draws)
        rows = kept_rows(table[:, chosen])
        self.rewind(rows, self.round + 1, made)
        return rows

    def _decide(
        self, table: FloatArray, positions: IntArray, size: int, draws: FloatArray
    ) -> Rounds:
        categories = self.categories
        counts, accepted = agent_rounds.decide(
            table,
            positions,
            categories.which(),
            categories.view_table(),
            float(self.round),
            draws,
        )
        drawn = self.round > 0 and self._draws and draws.size > 0
        limits = draws[:size].reshape(1, size) if drawn else NO_LIMITS
        return Rounds(categories, size, self.round, limits, counts, accepted)

    def _decide_faded(self, draws: FloatArray) -> Rounds:
        """Decide about all categories by their draws, where outcomes fade late."""
        categories = self.categories
        which, views = categories.which(), categories.view_table()
        counts, accepted = np.empty(self.size), np.empty(self.size, dtype=np.bool_)
        faded_draws.decide_faded(self.raw, which, views, self.round + 1, draws, counts, accepted)
        limits = draws.reshape(1, self.size)
        return Rounds(categories, self.size, self.round, limits, counts, accepted)

    def rewind(self, rows: FloatArray, round: int, made: Rounds) -> None:
        """Set patience, clients per round and acceptance of a round in kept rows."""
        if len(rows) > COMES_BACK:
            which, views = made.categories.which(), made.categories.view_table()
            agent_rounds.fade_to(rows, which, views, round, made.drawn, made.counts)
            return
        agent_rounds.rewind(
            rows,
            made.categories.terms,
            round,
            made.drawn,
            made.end,
            made.counts,
            made.accepted,
        )

    def revoke(self, positions: IntArray) -> None:
        """Do not count the latest round for categories that were granted nothing."""
        self.before_change(positions)
        table = self.raw
        table[AgentRow.ACCEPTED, positions] = 0.0
        table[AgentRow.ROUNDS, positions] -= 1.0
        table[AgentRow.EARLIER, positions[table[AgentRow.ROUNDS, positions] == 0.0]] = 0.0

    def count_round(self, positions: IntArray) -> None:
        """Count the latest round for some categories that it did not accept."""
        self.before_change(positions)
        table = self.raw
        first = positions[table[AgentRow.ROUNDS, positions] == 0.0]
        table[AgentRow.EARLIER, first] = (
            table[AgentRow.KNOWN, first] + table[AgentRow.WAITING, first]
        )
        table[AgentRow.ROUNDS, positions] += 1.0
        table[AgentRow.ACCEPTED, positions] = 1.0
