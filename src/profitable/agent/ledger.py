"""Ledger: the agent's table of its categories, and the booking of outcomes.

The numbers stand in one table with a column for each category
(`kernels/agent_table.py`).  Each method books everything or nothing: if it raises an
error, nothing has changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.cohorts import Cohort, Cohorts, LateTerms
from profitable.agent.observation import (
    EMPTY,
    FLOAT64,
    NO_AMOUNTS,
    Batch,
    Booking,
    Bookings,
    DistinctRewards,
    Rewards,
    fits_terms,
    money_of_client,
    plain_rewards,
    read,
    reward_array,
    reward_error,
    seen_of,
)
from profitable.agent.window import Window
from profitable.common import check
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError, ParameterError
from profitable.kernels import agent_table
from profitable.kernels.agent_table import FULL, NONE, SNAPSHOT, AgentRow
from profitable.kernels.batch import Sums
from profitable.kernels.evidence import evidence
from profitable.model.category import Category

INT64 = np.dtype(np.int64)
REVENUE, COST = Sums._fields.index("revenue"), Sums._fields.index("cost")


class Ledger:
    """The categories, the table, and distinct rewards where the rule needs them."""

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self._table: FloatArray = np.zeros((len(AgentRow), 0))
        self._size = 0
        self._snapshot: FloatArray | None = None
        self._everyone: IntArray = np.empty(0, dtype=np.int64)
        policy = categories.policy
        self.round = 0  # decisions made so far
        self.values: list[DistinctRewards] | None = [] if policy.rule.needs_values else None
        self.window = None if policy.window is None else Window(policy.window)
        self.is_plain = self.values is None and self.window is None
        self.cohorts = Cohorts()
        self._grow()

    def __len__(self) -> int:
        return self._size

    @property
    def table(self) -> FloatArray:
        """The rows of `AgentRow` for every category, [rows, K]: a writable view."""
        return self._table[:, : self._size]

    def column(self, k: int) -> list[float]:
        """Return the numbers of one category."""
        return self._table[:, k].tolist()

    def decide(self, draws: FloatArray, positions: IntArray | None) -> FloatArray:
        """Decide the next round; return a copy of the part that decisions keep.

        Each category is accepted if its evidence is at most its patience and it is not
        paused; or by the floor, if there is one.  `draws` are those of patience and
        then those of the floor, as far as they are needed.
        """
        if self._snapshot is None:
            self._snapshot = self._table[:SNAPSHOT, : self._size]
            self._everyone = np.arange(self._size)
        chosen = self._everyone if positions is None else positions
        self._decide(self._table, chosen, draws)
        return self._snapshot.copy() if positions is None else self._snapshot[:, positions]

    def revoke(self, positions: IntArray) -> None:
        """Do not count the latest round for categories that were granted nothing."""
        table = self._table
        table[AgentRow.ACCEPTED, positions] = 0.0
        table[AgentRow.ROUNDS, positions] -= 1.0
        table[AgentRow.EARLIER, positions[table[AgentRow.ROUNDS, positions] == 0.0]] = 0.0

    def count_round(self, positions: IntArray) -> None:
        """Count the latest round for some categories that it did not accept."""
        table = self._table
        first = positions[table[AgentRow.ROUNDS, positions] == 0.0]
        table[AgentRow.EARLIER, first] = (
            table[AgentRow.KNOWN, first] + table[AgentRow.WAITING, first]
        )
        table[AgentRow.ROUNDS, positions] += 1.0
        table[AgentRow.ACCEPTED, positions] = 1.0

    def preview(self, positions: IntArray | None) -> FloatArray:
        """Return the next result of `decide` as far as known; nothing changes."""
        table: FloatArray = self.table.copy()
        self._decide(table, np.arange(self._size) if positions is None else positions, np.empty(0))
        return table[:SNAPSHOT] if positions is None else table[:SNAPSHOT, positions]

    def _decide(self, table: FloatArray, positions: IntArray, draws: FloatArray) -> None:
        categories = self.categories
        agent_table.decide(
            table,
            positions,
            categories.which(),
            categories.view_table(),
            categories.terms,
            float(self.round),
            draws,
        )

    def advance(self) -> None:
        """Let a round pass.

        What was counted before it counts for less, or no more, if the policy forgets.
        Then open cohorts emerge.
        """
        self.round += 1
        policy, categories = self.categories.policy, self.categories
        if policy.forget < 1.0:
            agent_table.age(self._table, categories.which(), categories.view_table(), policy.forget)
            if self.values is not None:
                self.values = [
                    kept.aged(policy.forget, self.unit(k)) for k, kept in enumerate(self.values)
                ]
        if self.window is not None:
            for k, entry in self.window.advance().items():
                self.add_sums(k, entry, 0.0, -1.0)
        if policy.rule.needs_rounds:
            if self.window is not None:
                accepted: list[int] = np.flatnonzero(self.table[AgentRow.ACCEPTED]).tolist()
                for k, number in self.window.take(dict.fromkeys(accepted, 1.0)).items():
                    self._table[AgentRow.TAKEN, k] -= number
                    self._table[AgentRow.ROUGH, k] = 1.0
            agent_table.count_rounds(self._table, policy.forget)
        if self.cohorts:
            for k, entry in self.cohorts.advance(self.round, categories.view_of):
                self._count(k, entry)

    def evidence(self, positions: IntArray) -> FloatArray:
        """Return the evidence of some categories, [M].

        Since outcomes have aged, some is only known roughly.  It is computed apart, so
        that reading does not change the table.
        """
        found = self._table[AgentRow.EVIDENCE, positions]
        rough = np.flatnonzero(self._table[AgentRow.ROUGH, positions])
        if rough.size:
            columns = np.ascontiguousarray(self._table[:, positions[rough]])
            self._compute_evidence(columns, np.arange(rough.size), positions[rough])
            found[rough] = columns[AgentRow.EVIDENCE]
        return found

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy or a pickle.

        `_snapshot` is left out, because it is a view of this ledger's table.
        """
        return {**self.__dict__, "_snapshot": None}

    # -------------------------------------------------------------------------- booking

    def observe(self, given: Mapping[int, Rewards | Batch]) -> None:
        """Book outcomes as callers report them, by position: all or, on an error, none.

        Rewards of one category at its own price are the everyday case: one kernel.
        """
        categories = self.categories
        if len(given) == 1 and self.is_plain:
            for k, rewards in given.items():
                if rewards.__class__ is not Batch:
                    values = reward_array(rewards, categories.names[k])
                    bad = agent_table.absorb(self._table, k, categories.view_row_of(k), values)
                    if bad != NONE:
                        raise self._refusal(np.array([k]), np.array([values.size]), values, 0, bad)
                    return
        types = {*map(type, given.values())}
        if Batch not in types:
            if given:
                self._absorb_all(*self._flattened(given, types))
            return
        batches = {k: each for k, each in given.items() if isinstance(each, Batch)}
        checked = [
            self._prepared(k, self.read(k, each), each.accepted_in) for k, each in batches.items()
        ]
        if plain := {k: each for k, each in given.items() if k not in batches}:
            self._absorb_all(*self._flattened(plain, types - {Batch}))
        for each in checked:
            self._enter(*each)

    def _absorb_all(self, positions: IntArray, ends: IntArray, rewards: FloatArray) -> None:
        categories = self.categories
        if not self.is_plain:
            self.book(positions, self.digest(positions, ends, rewards))
            return
        place, bad = agent_table.absorb_all(
            self._table, positions, ends, categories.which(), categories.view_table(), rewards
        )
        if place != NONE:
            raise self._refusal(positions, ends, rewards, place, bad)

    def book(
        self,
        positions: IntArray,
        batches: Bookings,
        *,
        accepted_in: Sequence[int | None] | None = None,
        arrives: BoolArray | None = None,
    ) -> None:
        """Book batches that were checked and added up before, in their order, [M].

        `accepted_in` are the rounds of their cohorts.  `arrives` says whether each was
        waited for; all of them unless given.  A position may occur many times: batches
        of one client each are booked, to the last bit, as if observed one by one.
        """
        sums, size = batches.sums, positions.size
        arrives = np.ones(size, dtype=np.bool_) if arrives is None else arrives
        if self.is_plain and accepted_in is None:
            full = agent_table.add_all(
                self._table,
                positions,
                self.categories.which(),
                self.categories.view_table(),
                sums,
                arrives,
            )
            if full != NONE:
                raise self.too_many(int(positions[full]), float(sums[full, 0]))
            return
        values = [None] * size if batches.values is None else batches.values
        for i, k in enumerate(positions.tolist()):
            self._enter(
                *self._prepared(
                    k,
                    Booking(Sums(*sums[i].tolist()), values[i]),
                    None if accepted_in is None else accepted_in[i],
                ),
                arrives=bool(arrives[i]),
            )

    def digest(
        self,
        positions: IntArray,
        ends: IntArray,
        rewards: FloatArray,
        amounts: FloatArray = NO_AMOUNTS,
    ) -> Bookings:
        """Check rewards and add them up, for `book`; RewardError for the first illegal.

        `ends` [M] says where the rewards of each position end; `amounts` are theirs.
        """
        place, bad, batches = self._digested(positions, ends, rewards, amounts)
        if place != NONE:
            raise self._refusal(positions, ends, rewards, place, int(bad[place]))
        return batches

    def examine(
        self,
        k: int,
        rewards: Sequence[float],
        costs: Sequence[float | None],
        amounts: Sequence[float | None],
    ) -> tuple[dict[int, str], Bookings]:
        """Say which of some clients of one category could not count, and why.

        Nothing changes.  The bookings [M], of one client each, are for `book`; those of
        clients who could not count are to be left out.
        """
        category, size = self.categories[k], len(rewards)
        lent = NO_AMOUNTS
        if category.weight is not None:
            lent = np.array([1.0 if each is None else each for each in amounts], dtype=np.float64)
        _, bad, batches = self._digested(
            np.full(size, k), np.arange(1, size + 1), np.array(rewards, dtype=np.float64), lent
        )
        faults: dict[int, str] = {}
        for i, (reward, cost, amount) in enumerate(zip(rewards, costs, amounts, strict=True)):
            if bad[i] != NONE or not fits_terms(category, cost, amount):
                try:
                    self.read(
                        k,
                        Batch(
                            rewards=[reward],
                            costs=None if cost is None else [cost],
                            amounts=None if amount is None else [amount],
                        ),
                    )
                except InputError as error:
                    faults[i] = str(error).rstrip(".")
            batches.sums[i, REVENUE], batches.sums[i, COST] = money_of_client(
                category, reward, cost, amount
            )
        return faults, batches

    def _digested(
        self, positions: IntArray, ends: IntArray, rewards: FloatArray, amounts: FloatArray
    ) -> tuple[int, IntArray, Bookings]:
        categories = self.categories
        first, bad, sums = agent_table.digest_all(
            self._table,
            positions,
            ends,
            categories.which(),
            categories.view_table(),
            rewards,
            amounts,
        )
        if self.values is None:
            return first, bad, Bookings(sums)
        values = [
            DistinctRewards.seen(categories.view_of(k), rewards[start:end], amounts[start:end])
            for k, (start, end) in zip(
                positions.tolist(), pairwise([0, *ends.tolist()]), strict=True
            )
        ]
        return first, bad, Bookings(sums, values)

    def _flattened(
        self, given: Mapping[int, Any], types: set[type]
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return positions [M], the ends of their rewards [M], and all the rewards.

        `types` are those of the values.
        """
        names = self.categories.names
        positions = np.array([*given], INT64)
        if types == {np.ndarray}:
            arrays = [reward_array(rewards, names[k]) for k, rewards in given.items()]
            return positions, np.cumsum([*map(len, arrays)]), np.concatenate(arrays)
        flat: list[float] = []
        ends: list[int] = []
        for k, rewards in given.items():
            flat.extend(plain_rewards(rewards, names[k]))
            ends.append(len(flat))
        try:
            values = np.array(flat, FLOAT64)
        except OverflowError:  # an integer beyond all doubles; its own category says so
            values = np.concatenate([reward_array(each, names[k]) for k, each in given.items()])
        return positions, np.array(ends, INT64), values

    def read(self, k: int, batch: Batch) -> Booking:
        """Check a batch of one category and add it up; nothing changes."""
        categories = self.categories
        return read(
            batch,
            categories[k],
            categories.view_of(k),
            categories.view_row_of(k),
            categories.rule_of(k),
        )

    def _refusal(
        self, positions: IntArray, ends: IntArray, rewards: FloatArray, place: int, bad: int
    ) -> InputError:
        """Return the error that says why a kernel refused the batch at a place."""
        k = int(positions[place])
        if bad == FULL:
            return self.too_many(k, float(ends[place] - (ends[place - 1] if place else 0)))
        categories = self.categories
        return reward_error(categories.names[k], rewards[bad].item(), categories.view_of(k).support)

    def too_many(self, k: int, more: float) -> ParameterError:
        """Return the error for more clients than can be counted."""
        return ParameterError(
            "clients",
            int(more),
            f"added to {self._table[AgentRow.KNOWN, k]:g} known ones are more than can be counted",
            f"stay at {check.MOST:g} or fewer",
            self.categories.names[k],
        )

    def _prepared(
        self, k: int, booking: Booking, accepted_in: object
    ) -> tuple[int, Booking, Cohort | None]:
        """Return a booking and its cohort; ParameterError if there is no room."""
        clients, name = booking.sums.clients, self.categories.names[k]
        cohort = self.cohorts.find(k, accepted_in, self.round, name)
        if self._table[AgentRow.KNOWN, k] + clients > check.MOST:
            raise self.too_many(k, clients)
        if cohort is not None and clients > cohort.unknown:
            raise ParameterError(
                "clients",
                int(clients),
                f"are more outcomes than the {cohort.unknown} still to come from round "
                f"{cohort.accepted_in}",
                "report each client once, in its own cohort",
                name,
            )
        return k, booking, cohort

    def _enter(
        self, k: int, booking: Booking, cohort: Cohort | None, *, arrives: bool = True
    ) -> None:
        if cohort is None:
            self._count(k, booking, 1.0)
        else:
            self.add_sums(k, booking, 1.0, 0.0)
            if cohort.by_age or cohort.has_matured(self.round):
                self._count(k, self.counted(k, booking, cohort))
            self.cohorts.put(k, cohort.with_outcomes(booking), self.round)
            self._table[AgentRow.OUTSTANDING, k] -= booking.sums.clients
        if arrives:
            agent_table.arrive(self._table, k, booking.sums.clients)

    def counted(self, k: int, entry: Booking, cohort: Cohort | None) -> Booking:
        """Return the sums that outcomes add to those that decide.

        Where clients count by age, it is the loss against the promised reward.
        """
        return (
            entry
            if cohort is None or not cohort.by_age
            else cohort.lost(self.categories.view_of(k), entry)
        )

    def _count(self, k: int, entry: Booking, books: float = 0.0) -> None:
        """Let an entry count from now on."""
        if self.window is not None:
            self.window.add(self.round, k, entry)
        self.add_sums(k, entry, books, 1.0)

    def add_sums(self, k: int, entry: Booking, books: float, counts: float) -> None:
        """Add a booking to the sums of a category (see `agent_table.add`)."""
        agent_table.add(
            self._table, k, self.categories.view_row_of(k), books, counts, np.array(entry.sums)
        )
        if self.values is not None and entry.values is not None:
            by_money = self.categories.view_of(k).by_money
            kept = self.values[k].plus(entry.values, counts, by_money)
            self.values[k] = kept if self._table[AgentRow.CLIENTS, k] > 0.0 else EMPTY
            self._table[AgentRow.EVIDENCE, k] = self._from_values(k, self.column(k))

    def unit(self, k: int) -> float:
        """Return the unit of a client: 1, or the mean amount where it is weighted."""
        clients = self._table[AgentRow.CLIENTS, k]
        return (
            float(self._table[AgentRow.LENT, k] / clients)
            if self.categories.view_of(k).by_money and clients
            else 1.0
        )

    def expect(self, accepted: Mapping[str, object], terms: LateTerms) -> None:
        """Book accepted clients whose outcome is still to come; terms open cohorts."""
        changes: list[tuple[int, int, Cohort | None]] = []
        waiting, cohort = self._table[AgentRow.WAITING], None
        for name, given in accepted.items():
            k = self.categories.position(name)
            try:
                number = check.whole("clients", given, least=0)
                if waiting[k] + number > check.MOST:
                    check.whole("clients", number + waiting[k].item(), least=0)
                if terms:
                    cohort = terms.read(self.categories[k], self.categories.rule_of(k), self.round)
                    cohort = self.cohorts.joined(k, cohort, number)
                changes.append((k, number, cohort))
            except InputError as error:
                raise error.about(name) from None
        for k, number, cohort in changes:
            waiting[k] += number
            if cohort is not None and number:
                self._table[AgentRow.OUTSTANDING, k] += number
                self.cohorts.put(k, cohort, self.round)
                if cohort.by_age:
                    self._table[AgentRow.LATE, k] = 1.0
                    if share := cohort.share(self.round):  # they may have an age already
                        self._count(k, cohort.exposure(self.categories.view_of(k), number * share))

    # ------------------------------------------------------------------------- changing

    def add(self, categories: Iterable[Category]) -> None:
        """Append categories, all or none."""
        added = self.categories.add(categories)
        self._grow()
        self.set_terms(np.arange(len(self) - len(added), len(self)), added)

    def _grow(self) -> None:
        """Make columns for the categories that were appended to the list."""
        start, self._size = self._size, len(self.categories)
        self._snapshot = None
        if self._size > self._table.shape[1]:
            grown = np.zeros((len(AgentRow), max(self._size, 2 * start)))
            grown[:, :start] = self._table[:, :start]
            self._table = grown
        if self.values is not None:
            self.values.extend([EMPTY] * (self._size - start))

    def drop(self, k: int) -> None:
        """Forget a category."""
        self.categories = self.categories.without(k)
        self._table = np.delete(self.table, k, axis=1)
        self._size -= 1
        self._snapshot = None
        if self.values is not None:
            self.values = self.values[:k] + self.values[k + 1 :]
        if self.window is not None:
            self.window.drop(k)
        self.cohorts.drop(k)

    def set_terms(self, positions: IntArray, categories: Sequence[Category]) -> None:
        """Set thresholds and prices of some categories, and compute their evidence."""
        for row in (AgentRow.THRESHOLD, AgentRow.WORTH, AgentRow.PRICE, AgentRow.RECOVERED):
            term = attrgetter(row.name.lower())
            self._table[row, positions] = [term(category) for category in categories]
        self.renew(positions)

    def renew(self, positions: IntArray) -> None:
        """Compute evidence from thresholds and sums; without data it is 0."""
        table = self._table
        for view, chosen in self.categories.by_view(positions):
            places = positions[chosen]
            table[AgentRow.TARGET, places] = view.statistic.of_means(
                table[AgentRow.THRESHOLD, places]
            )
            table[AgentRow.IMAGINARY, places] = view.prior_clients
        self._compute_evidence(table, positions, positions)

    def _compute_evidence(self, table: FloatArray, columns: IntArray, positions: IntArray) -> None:
        """Compute the evidence of some categories in these columns of a table, [M]."""
        categories = self.categories
        known = table[AgentRow.CLIENTS, columns] > 0.0
        for view, chosen in categories.by_view(positions):
            known |= chosen & view.has_prior
        table[AgentRow.EVIDENCE, columns[~known]] = table[AgentRow.ROUGH, columns[~known]] = 0.0
        if not known.any():
            return
        agent_table.renew(
            table,
            columns[known],
            categories.which() if table is self._table else categories.which()[positions],
            categories.view_table(),
        )
        if self.values is not None:
            for column, k in zip(columns[known].tolist(), positions[known].tolist(), strict=True):
                table[AgentRow.EVIDENCE, column] = self._from_values(k, table[:, column].tolist())

    def _from_values(self, k: int, numbers: list[float]) -> float:
        """Return the evidence of a rule that needs the distinct rewards."""
        assert self.values is not None
        rule, view = self.categories.rule_of(k), self.categories.view_of(k)
        return evidence(
            rule,
            view.law,
            seen_of(rule, view, numbers, self.values[k], numbers[AgentRow.CARRY]),
            numbers[AgentRow.TARGET],
        )
