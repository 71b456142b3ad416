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
from profitable.agent.changes import NO_FLAGS
from profitable.agent.cohorts import Cohort, Cohorts, LateTerms
from profitable.agent.loan_ledger import LoanLedger
from profitable.agent.observation import (
    EMPTY,
    FLOAT64,
    NO_AMOUNTS,
    PLAIN,
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
from profitable.kernels import agent_rounds, agent_table
from profitable.kernels.agent_table import FULL, NONE, AgentRow
from profitable.kernels.batch import Sums
from profitable.kernels.evidence import evidence
from profitable.model.category import Category

INT64 = np.dtype(np.int64)
LEAST_REWARD, MOST_REWARD = -check.MOST, check.MOST  # of those that are surely doubles
REVENUE, COST = Sums._fields.index("revenue"), Sums._fields.index("cost")


class Ledger(LoanLedger):
    """The categories, the table, and distinct rewards where the rule needs them."""

    def __init__(self, categories: Categories) -> None:
        super().__init__(categories)
        policy = categories.policy
        self.values: list[DistinctRewards] | None = [] if policy.rule.needs_values else None
        self.window = None if policy.window is None else Window(policy.window)
        self.cohorts = Cohorts()
        self.is_plain = self.values is None and self.window is None
        self._takes_one = self.is_plain and self.loans is None
        self._grow()

    def advance(self) -> None:
        """Let a round pass.

        What was counted before it counts for less, or no more, if the policy forgets.
        Then open cohorts emerge.
        """
        self.round += 1
        if self.loans is not None:
            self.advance_loans()
        # What fades late does it at once if the round was written at once.
        fades = self._fades or (self.fades_late and self._is_written)
        if not fades and not self.cohorts.places:
            return
        policy, categories = self.categories.policy, self.categories
        if fades and (policy.forget < 1.0 or policy.rule.needs_rounds):
            self.before_all_change()
        if fades and policy.forget < 1.0:
            agent_table.age(self.raw, categories.which(), categories.view_table(), policy.forget)
            if self.values is not None:
                self.values = [
                    kept.aged(policy.forget, self.unit(k)) for k, kept in enumerate(self.values)
                ]
        if self.window is not None:
            for k, entry in self.window.advance().items():
                self.add_sums(k, entry, 0.0, -1.0)
        if policy.rule.needs_rounds:
            if self.window is not None:
                accepted: list[int] = np.flatnonzero(
                    self.raw[AgentRow.ACCEPTED, : self.size]
                ).tolist()
                for k, number in self.window.take(dict.fromkeys(accepted, 1.0)).items():
                    self.raw[AgentRow.TAKEN, k] -= number
                    self.raw[AgentRow.ROUGH, k] = 1.0
            agent_table.count_rounds(self.raw, policy.forget)
        if self.cohorts:
            for k, entry in self.cohorts.advance(self.round, categories.view_of):
                self._count(k, entry)

    def evidence(self, positions: IntArray) -> FloatArray:
        """Return the evidence of some categories, [M].

        Since outcomes have aged, some is only known roughly.  It is computed apart, so
        that reading does not change the table.
        """
        self.judge()
        table = self.numbers
        found = table[AgentRow.EVIDENCE, positions]
        rough = np.flatnonzero(table[AgentRow.ROUGH, positions])
        if rough.size:
            columns = np.ascontiguousarray(table[:, positions[rough]])
            self._compute_evidence(columns, np.arange(rough.size), positions[rough])
            found[rough] = columns[AgentRow.EVIDENCE]
        return found

    # -------------------------------------------------------------------------- booking

    def observe(self, given: Mapping[int, Rewards | Batch]) -> None:
        """Book outcomes as callers report them, by position; on an error, none."""
        types = {*map(type, given.values())}
        if self.loans is not None:
            self.observe_ends(given)
            return
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

    def observe_one(self, k: int, rewards: Any) -> None:
        """Book outcomes of one category; a single reward is the everyday case."""
        if not (
            self._takes_one
            and rewards.__class__ is list
            and len(rewards) == 1
            and (reward := rewards[0]).__class__ in PLAIN
        ):
            self.observe({k: rewards})
            return
        if not self._is_later and not self._is_written:
            self._write(np.array([k]))
        categories, changes, place = self.categories, self.changes, NONE
        if changes.is_shared:
            place = changes.used
            if place == changes.room:
                self.before_all_change()
                changes, place = self.changes, NONE
            else:
                changes.used = place + 1  # before the table changes: readers look at it
        try:
            bad = agent_rounds.absorb_one.call(
                self.raw,
                k,
                reward,
                categories.view_rows[categories.kind_numbers[k]],
                self._decided,
                self._latest.drawn,
                changes.log,
                place,
            )
        except (OverflowError, TypeError):  # an integer beyond all doubles
            bad = 0
        if bad != NONE:
            if place != NONE:
                changes.used = place
            raise self._refusal(
                np.array([k]), np.array([1]), reward_array(rewards, categories.names[k]), 0, bad
            )

    def _absorb_all(self, positions: IntArray, ends: IntArray, rewards: FloatArray) -> None:
        categories = self.categories
        if not self.is_plain:
            self.book(positions, self.digest(positions, ends, rewards))
            return
        self.before_change(positions)
        if positions.size == 1:
            k = int(positions[0])
            bad = agent_table.absorb(self.raw, k, categories.view_row_of(k), rewards)
            place = NONE if bad == NONE else 0
        else:
            place, bad = agent_table.absorb_all(
                self.raw, positions, ends, categories.which(), categories.view_table(), rewards
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
        arrives = NO_FLAGS if arrives is None else arrives
        if self.is_plain and accepted_in is None:
            self.before_change(positions)
            full = agent_table.add_all(
                self.raw,
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
                arrives=not arrives.size or bool(arrives[i]),
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
            self.raw,
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
        for field in ("defaulted", "closed", "term"):
            if (given := getattr(batch, field)) is not None:
                self.lending_book(field, given)
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
            f"added to {self.raw[AgentRow.KNOWN, k]:g} known ones are more than can be counted",
            f"stay at {check.MOST:g} or fewer",
            self.categories.names[k],
        )

    def _prepared(
        self, k: int, booking: Booking, accepted_in: object
    ) -> tuple[int, Booking, Cohort | None]:
        """Return a booking and its cohort; ParameterError if there is no room."""
        clients, name = booking.sums.clients, self.categories.names[k]
        cohort = self.cohorts.find(k, accepted_in, self.round, name)
        if self.raw[AgentRow.KNOWN, k] + clients > check.MOST:
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
            self.raw[AgentRow.OUTSTANDING, k] -= booking.sums.clients
        if arrives:
            agent_table.arrive(self.raw, k, booking.sums.clients)

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
        self.before_change(np.array([k]))
        agent_table.add(
            self.raw, k, self.categories.view_row_of(k), books, counts, np.array(entry.sums)
        )
        if self.values is not None and entry.values is not None:
            by_money = self.categories.view_of(k).by_money
            kept = self.values[k].plus(entry.values, counts, by_money)
            self.values[k] = kept if self.raw[AgentRow.CLIENTS, k] > 0.0 else EMPTY
            self.raw[AgentRow.EVIDENCE, k] = self._from_values(k, self.column(k))

    def unit(self, k: int) -> float:
        """Return the unit of a client: 1, or the mean amount where it is weighted."""
        clients = self.raw[AgentRow.CLIENTS, k]
        return (
            float(self.raw[AgentRow.LENT, k] / clients)
            if self.categories.view_of(k).by_money and clients
            else 1.0
        )

    def expect(self, accepted: Mapping[str, object], terms: LateTerms) -> None:
        """Book accepted clients whose outcome is still to come; terms open cohorts."""
        changes: list[tuple[int, int, Cohort | None]] = []
        waiting, cohort = self.raw[AgentRow.WAITING], None
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
        self.before_change(np.array([k for k, _, _ in changes], INT64))
        for k, number, cohort in changes:
            waiting[k] += number
            if cohort is not None and number:
                self.raw[AgentRow.OUTSTANDING, k] += number
                self.cohorts.put(k, cohort, self.round)
                if cohort.by_age:
                    self.raw[AgentRow.LATE, k] = 1.0
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
        added, policy = self.grow(), self.categories.policy
        self._fades = not self.fades_late and (policy.forgets or policy.rule.needs_rounds)
        # Whether a round that passes changes nothing else, if no cohort is open.
        self.is_everyday = (
            self._takes_one and self._is_later and not self._fades and not self.shares
        )
        if self.loans is not None:
            self.loans.grow(added)
        if self.values is not None:
            self.values.extend([EMPTY] * added)

    def drop(self, k: int) -> None:
        """Forget a category."""
        self.take_out(k)
        if self.values is not None:
            self.values = self.values[:k] + self.values[k + 1 :]
        if self.window is not None:
            self.window.drop(k)
        self.cohorts.drop(k)
        if self.loans is not None:
            self.loans.drop(k)
            self.reading = None

    def set_terms(self, positions: IntArray, categories: Sequence[Category]) -> None:
        """Set thresholds and prices of some categories, and compute their evidence."""
        self.before_change(positions)
        for row in (AgentRow.THRESHOLD, AgentRow.WORTH, AgentRow.PRICE, AgentRow.RECOVERED):
            term = attrgetter(row.name.lower())
            self.raw[row, positions] = [term(category) for category in categories]
        self.renew(positions)

    def renew(self, positions: IntArray) -> None:
        """Compute evidence from thresholds and sums; without data it is 0."""
        self.before_change(positions)
        table = self.raw
        for view, chosen in self.categories.by_view(positions):
            places = positions[chosen]
            table[AgentRow.TARGET, places] = view.statistic.of_means(
                table[AgentRow.THRESHOLD, places]
            )
            table[AgentRow.IMAGINARY, places] = view.prior_clients
        if self.loans is not None:
            self.reading = None
            return
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
            categories.which() if table is self.raw else categories.which()[positions],
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
