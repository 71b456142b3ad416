"""Ledger: what an agent knows about its categories, as columns, and how outcomes are booked and taken back.

The numbers stand in one table with a column for each category (`kernels/agent_table.py`).  Each method books
everything or nothing: if it raises an error, nothing has changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.cohorts import Cohort, Cohorts, LateTerms
from profitable.agent.correction import (
    at_average,
    at_weight,
    check_amounts,
    check_booked,
    check_in_cohort,
    check_seen,
    never_seen,
    settle,
)
from profitable.agent.distinct_rewards import EMPTY, DistinctRewards, seen_of
from profitable.agent.observation import Batch, Entry, Rewards, plain_rewards, read, reward_array, reward_error
from profitable.agent.window import Window
from profitable.common import check
from profitable.common.types import FloatArray, IntArray
from profitable.errors import CorrectionError, InputError, ParameterError
from profitable.kernels import agent_table
from profitable.kernels.agent_table import FULL, NONE, SNAPSHOT, Row
from profitable.kernels.evidence import Seen, evidence
from profitable.kernels.law import NORMAL
from profitable.kernels.patience import clients_per_round
from profitable.model.category import Category


class Ledger:
    """The categories, the table, and the distinct rewards where the policy's rule needs them."""

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self._table: FloatArray = np.zeros((len(Row), 0))
        self._size = 0
        self._snapshot: FloatArray | None = None
        self._everyone: IntArray = np.empty(0, dtype=np.int64)
        policy = categories.policy
        self.round = 0  # decisions made so far
        self.values: list[DistinctRewards] | None = [] if policy.rule.needs_values else None
        self.window = None if policy.window is None else Window(policy.window)
        self.cohorts = Cohorts()
        self._grow()

    def __len__(self) -> int:
        return self._size

    @property
    def table(self) -> FloatArray:
        """The rows of `Row` for every category, [rows, K]; a view, so that it can be written to."""
        return self._table[:, : self._size]

    def column(self, k: int) -> list[float]:
        """The numbers of one category."""
        return self._table[:, k].tolist()

    def decide(self, draws: FloatArray, positions: IntArray | None) -> FloatArray:
        """Decide the next round about all categories or some: returns a copy of the part that decisions keep.

        Each category is accepted if its evidence is at most its patience and it is not paused; or by the floor, if
        there is one.  `draws` are those of patience and then those of the floor, as far as they are needed.
        """
        if self._snapshot is None:
            self._snapshot = self._table[:SNAPSHOT, : self._size]
            self._everyone = np.arange(self._size)
        chosen = self._everyone if positions is None else positions
        self._decide(self._table, chosen, draws)
        return self._snapshot.copy() if positions is None else self._snapshot[:, positions]

    def revoke(self, positions: IntArray) -> None:
        """Do not count the latest round for some categories that it accepted: nothing was granted to them."""
        table = self._table
        table[Row.ACCEPTED, positions] = 0.0
        table[Row.ROUNDS, positions] -= 1.0
        table[Row.EARLIER, positions[table[Row.ROUNDS, positions] == 0.0]] = 0.0

    def preview(self, positions: IntArray | None) -> FloatArray:
        """What `decide` would return as far as it is known: no draw is made, and nothing changes."""
        table: FloatArray = self.table.copy()
        self._decide(table, np.arange(self._size) if positions is None else positions, np.empty(0))
        return table[:SNAPSHOT] if positions is None else table[:SNAPSHOT, positions]

    def _decide(self, table: FloatArray, positions: IntArray, draws: FloatArray) -> None:
        categories = self.categories
        which, rows, terms = categories.which(), categories.view_table(), categories.terms
        agent_table.decide(table, positions, which, rows, terms, float(self.round), draws)

    def advance(self) -> None:
        """Let a round pass.

        What was counted before it counts for less, or no more, if the policy forgets.  Then open cohorts emerge.
        """
        self.round += 1
        policy, categories = self.categories.policy, self.categories
        if policy.forget < 1.0:
            agent_table.age(self._table, categories.which(), categories.view_table(), policy.forget)
            if self.values is not None:
                self.values = [kept.aged(policy.forget, self.unit(k)) for k, kept in enumerate(self.values)]
        if self.window is not None:
            for k, entry in self.window.advance().items():
                self._add(k, entry, 0.0, -1.0)
        if policy.rule.needs_rounds:
            self._count_rounds()
        if self.cohorts:
            for k, entry in self.cohorts.advance(self.round, categories.view_of):
                self._count(k, entry)

    def _count_rounds(self) -> None:
        """Count the latest round for the categories that it accepts, for rules that need it."""
        if self.window is not None:
            left = self.window.take(dict.fromkeys(np.flatnonzero(self.table[Row.ACCEPTED]).tolist(), 1.0))
            for k, number in left.items():
                self._table[Row.TAKEN, k] -= number
                self._table[Row.ROUGH, k] = 1.0
        agent_table.count_rounds(self._table, self.categories.policy.forget)

    def refresh(self, positions: IntArray) -> None:
        """Compute evidence that is only known roughly since outcomes have aged."""
        rough = positions[self._table[Row.ROUGH, positions] != 0.0]
        if rough.size:
            self.renew(rough)

    def per_round(self, k: int) -> float | None:
        """How many clients a round brings: as the policy says, or as counted so far; None if neither is known."""
        known, waiting, earlier, rounds = self._table[[Row.KNOWN, Row.WAITING, Row.EARLIER, Row.ROUNDS], k].tolist()
        terms, came = self.categories.policy.terms, known + waiting - earlier
        is_known = terms.clients > 0.0 or (came > 0.0 and rounds > 0.0)
        return clients_per_round(terms, came, rounds) if is_known else None

    def spread_of(self, k: int) -> Seen | None:
        """What was seen of a category's rewards, if their variance is estimated."""
        categories, view = self.categories, self.categories.view_of(k)
        return seen_of(categories.rule_of(k), view, self.column(k), EMPTY) if view.law.code == NORMAL else None

    def __getstate__(self) -> dict[str, object]:
        """The state of a copy or a pickle.  `_snapshot` is left out, because it is a view of this ledger's table."""
        return {**self.__dict__, "_snapshot": None}

    # ------------------------------------------------------------------------------------------ booking

    def observe(self, k: int, batch: Batch) -> None:
        """Book a batch of outcomes of one category."""
        entry, cohort = self._read(k, batch), self._cohort(k, batch)
        self._check_room([(k, entry, cohort)])
        self._enter(k, entry, cohort)

    def absorb(self, k: int, rewards: Rewards) -> None:
        """Read and enter in one kernel, for the everyday case: rewards at the category's own price."""
        categories = self.categories
        values = reward_array(rewards, categories.names[k])
        bad = agent_table.absorb(self._table, k, categories.view_row_of(k), values)
        if bad != NONE:
            self._refuse(k, values, bad)

    def observe_each(self, k: int, clients: FloatArray) -> None:
        """Book single clients of one category, [5, M] as `Each` says, whose rewards were checked.

        It is, to the last bit, as if each were observed alone.  Not for rules that need the distinct rewards, for
        windows, or for outcomes of cohorts.
        """
        if self._table[Row.KNOWN, k] + clients.shape[1] > check.MOST:
            raise self._too_many(k, clients.shape[1])
        agent_table.absorb_each(self._table, k, self.categories.view_row_of(k), clients)

    def observe_all(self, given: Mapping[str, Rewards | Batch]) -> None:
        """Book outcomes of many categories: all of them or, if one is wrong, none."""
        singly = self.values is not None or self.window is not None
        batches = {name: each for name, each in given.items() if isinstance(each, Batch) or singly}
        entries: list[tuple[int, Entry, Cohort | None]] = []
        for name, each in batches.items():
            k = self.categories.position(name)
            batch = each if isinstance(each, Batch) else Batch(rewards=each)
            entries.append((k, self._read(k, batch), self._cohort(k, batch)))
        self._check_room(entries)
        if len(batches) < len(given):
            self._absorb_all({name: each for name, each in given.items() if name not in batches} if batches else given)
        for each in entries:
            self._enter(*each)

    def _absorb_all(self, given: Mapping[str, Any]) -> None:
        positions, ends, rewards = self._flattened(given)
        categories = self.categories
        bad = agent_table.absorb_all(self._table, positions, ends, categories.which(), categories.view_table(), rewards)
        if bad != NONE:
            place = int(np.searchsorted(ends, bad, side="right")) if bad >= 0 else FULL - bad
            start = int(ends[place - 1]) if place else 0
            self._refuse(int(positions[place]), rewards[start : ends[place]], bad - start if bad >= 0 else FULL)

    def _flattened(self, given: Mapping[str, Any]) -> tuple[IntArray, IntArray, FloatArray]:
        """Positions [M], where the rewards of each of them end [M], and all rewards, one after the other."""
        if all(each.__class__ is np.ndarray and each.ndim == 1 and each.size for each in given.values()):
            arrays = [reward_array(rewards, name) for name, rewards in given.items()]
            places = np.array([self.categories.position(name) for name in given], dtype=np.int64)
            return places, np.cumsum([array.size for array in arrays]), np.concatenate(arrays)
        flat: list[float] = []
        positions: list[int] = []
        ends: list[int] = []
        for name, rewards in given.items():
            positions.append(self.categories.position(name))
            flat.extend(plain_rewards(rewards, name))
            ends.append(len(flat))
        try:
            values = np.array(flat, dtype=np.float64)
        except OverflowError:  # an integer beyond all doubles; its own category says so
            values = np.concatenate([reward_array(rewards, name) for name, rewards in given.items()])
        return np.array(positions, dtype=np.int64), np.array(ends, dtype=np.int64), values

    def _read(self, k: int, batch: Batch) -> Entry:
        categories = self.categories
        return read(batch, categories[k], categories.view_of(k), categories.view_row_of(k), categories.rule_of(k))

    def _refuse(self, k: int, rewards: FloatArray, bad: int) -> None:
        """Raise the error that says why a kernel refused some rewards."""
        if bad == FULL:
            raise self._too_many(k, float(rewards.size))
        raise reward_error(self.categories.names[k], rewards[bad].item(), self.categories.view_of(k).support)

    def _too_many(self, k: int, more: float) -> ParameterError:
        problem = f"beside {self._table[Row.KNOWN, k]:g} known ones are more than can be counted"
        return ParameterError(
            "clients", int(more), problem, f"stay at {check.MOST:g} or fewer", self.categories.names[k]
        )

    def _check_room(self, entries: Iterable[tuple[int, Entry, Cohort | None]]) -> None:
        for k, entry, cohort in entries:
            if self._table[Row.KNOWN, k] + entry.sums.clients > check.MOST:
                raise self._too_many(k, entry.sums.clients)
            if cohort is not None and entry.sums.clients > cohort.unknown:
                problem = f"are more outcomes than the {cohort.unknown} still to come from round {cohort.accepted_in}"
                remedy = "report each client once, in its own cohort"
                raise ParameterError("clients", int(entry.sums.clients), problem, remedy, self.categories.names[k])

    def _cohort(self, k: int, batch: Batch) -> Cohort | None:
        """The cohort that a batch reports from, if it says so."""
        if batch.accepted_in is None:
            return None
        return self.cohorts.find(k, batch.accepted_in, self.round, self.categories.names[k])

    def _enter(self, k: int, entry: Entry, cohort: Cohort | None) -> None:
        if cohort is None:
            self._count(k, entry, 1.0)
        else:
            self._add(k, entry, 1.0, 0.0)
            if cohort.by_age or cohort.has_matured(self.round):
                self._count(k, self._counted(k, entry, cohort))
            self.cohorts.put(k, cohort.with_outcomes(entry), self.round)
            self._table[Row.OUTSTANDING, k] -= entry.sums.clients
        agent_table.arrive(self._table, k, entry.sums.clients)

    def _counted(self, k: int, entry: Entry, cohort: Cohort | None) -> Entry:
        """What outcomes add to the sums that decide: where clients count by age, what was lost of what was promised."""
        return entry if cohort is None or not cohort.by_age else cohort.lost(self.categories.view_of(k), entry)

    def _count(self, k: int, entry: Entry, books: float = 0.0) -> None:
        """Let an entry count from now on."""
        if self.window is not None:
            self.window.add(self.round, k, entry)
        self._add(k, entry, books, 1.0)

    def _add(self, k: int, entry: Entry, books: float, counts: float) -> None:
        agent_table.add(self._table, k, self.categories.view_row_of(k), books, counts, np.array(entry.sums))
        if self.values is not None and entry.values is not None:
            by_money = self.categories.view_of(k).by_money
            kept = self.values[k].plus(entry.values, counts, by_money)
            self.values[k] = kept if self._table[Row.CLIENTS, k] > 0.0 else EMPTY
            self._renew_from_values(k)

    def unit(self, k: int) -> float:
        """What counts as one client: 1, or an amount of money where clients weigh as much as their amounts."""
        clients = self._table[Row.CLIENTS, k]
        return float(self._table[Row.LENT, k] / clients) if self.categories.view_of(k).by_money and clients else 1.0

    def expect(self, told: Mapping[str, object], terms: LateTerms) -> None:
        """Book clients who were accepted and whose outcome is still to come; terms that say something open cohorts."""
        changes: list[tuple[int, int, Cohort | None]] = []
        opens, waiting = bool(terms), self._table[Row.WAITING]
        for name, accepted in told.items():
            k = self.categories.position(name)
            try:
                number = check.whole("clients", accepted, least=0)
                if waiting[k] + number > check.MOST:
                    check.whole("clients", number + waiting[k].item(), least=0)
                cohort = terms.read(self.categories[k], self.categories.rule_of(k), self.round) if opens else None
                changes.append((k, number, None if cohort is None else self.cohorts.joined(k, cohort, number)))
            except InputError as error:
                raise error.about(name) from None
        for k, number, cohort in changes:
            self._table[Row.WAITING, k] += number
            if cohort is not None and number:
                self._open(k, number, cohort)

    def _open(self, k: int, number: int, cohort: Cohort) -> None:
        """Book a cohort after so many clients have joined it; they may have an age."""
        self._table[Row.OUTSTANDING, k] += number
        self.cohorts.put(k, cohort, self.round)
        if cohort.by_age:
            self._table[Row.LATE, k] = 1.0
            if share := cohort.share(self.round):
                self._count(k, cohort.exposure(self.categories.view_of(k), number * share))

    def correct(
        self, k: int, was: Batch, now: Batch | None, counted_in: int | None, weight: float | None = None
    ) -> None:
        """Take a batch back and, if `now` is given, book that one in its place, as if counted in the same round.

        `weight` is what it counts for by now; the policy says so, unless it was another one in between.
        """
        category, view, before = self.categories[k], self.categories.view_of(k), self.column(k)
        now = check_amounts(category, before, was, now)
        old, cohort = self._read(k, was), self._cohort(k, was)
        new = None if now is None else self._read(k, now)
        kept = cohort is not None and not cohort.by_age and not cohort.has_matured(self.round)
        if kept or weight is None:
            weight = 0.0 if kept else self._weight(k, old, counted_in, was)
        if cohort is not None:
            check_in_cohort(category, view, cohort, was, old, new)
        elif weight > 0.0 and not before[Row.LATE]:
            values = None if self.values is None else self.values[k]
            check_seen(category, view, before, at_weight(old, weight), values, was)
        elif before[Row.KNOWN] < old.sums.clients:
            raise never_seen(category, was)
        old = old if was.costs is not None else at_average(category, before, old)
        new = new if new is None or now is None or now.costs is not None else at_average(category, before, new)
        check_booked(category, before, old.sums, was)
        if new is not None and before[Row.KNOWN] - old.sums.clients + new.sums.clients > check.MOST:
            raise self._too_many(k, new.sums.clients)
        self._replace(k, old, -1.0, -weight, cohort)
        settle(self.table[:, k], category, view, before)
        if new is None:
            self.renew(np.array([k]))
        else:
            self._replace(k, new, 1.0, weight, cohort)
        if self.window is not None and weight > 0.0:
            round = self.round if counted_in is None else counted_in
            self.window.add(round, k, at_weight(self._counted(k, old, cohort), weight), -1.0)
            if new is not None:
                self.window.add(round, k, at_weight(self._counted(k, new, cohort), weight))
        if cohort is not None:
            changed = cohort.with_outcomes(old, -1.0)
            changed = changed if new is None else changed.with_outcomes(new)
            self.cohorts.put(k, changed, self.round)
            self._table[[Row.WAITING, Row.OUTSTANDING], k] += changed.unknown - cohort.unknown
        column = self._table[:, k]
        column[Row.EARLIER] = min(column[Row.EARLIER], column[Row.KNOWN] + column[Row.WAITING])

    def _replace(self, k: int, entry: Entry, books: float, counts: float, cohort: Cohort | None) -> None:
        """Book outcomes and let them count, in a correction."""
        if cohort is None:
            self._add(k, entry, books, counts)
        else:
            self._add(k, entry, books, 0.0)
            self._add(k, self._counted(k, entry, cohort), 0.0, counts)

    def _weight(self, k: int, old: Entry, counted_in: int | None, was: Batch) -> float:
        """What outcomes that were counted in a round count for by now.  Without forgetting it is 1 in any round."""
        policy, name = self.categories.policy, self.categories.names[k]
        if counted_in is not None:
            counted_in = check.whole("counted_in", counted_in, least=0, most=self.round)
        if not policy.forgets:
            return 1.0
        if counted_in is None:
            problem = f"is missing, and {policy} counts outcomes for less the older they are"
            remedy = "give the number of rounds that were decided when they were reported (agent.round at that time)"
            raise ParameterError("counted_in", None, problem, remedy, name)
        if self.window is None:
            return policy.forget ** (self.round - counted_in)
        if self.round - counted_in >= self.window.length:
            return 0.0
        counted = self.window.at(counted_in).get(k)
        if self._table[Row.LATE, k] != 0.0:  # an outcome and its client may have been counted in two rounds
            return 1.0
        if counted is None or counted.sums.clients < old.sums.clients:
            problem = f"cannot have been among the outcomes counted in round {counted_in}"
            raise CorrectionError("was", was.rewards, problem, "give rewards that were reported then", name)
        return 1.0

    # ------------------------------------------------------------------------------------------ changing

    def add(self, categories: Iterable[Category]) -> None:
        """Append categories, all or none."""
        added = self.categories.add(categories)
        positions = np.arange(len(self), len(self.categories))
        self._grow()
        self.set_terms(positions, added)

    def _grow(self) -> None:
        """Make columns for the categories that were appended to the list."""
        start, self._size = self._size, len(self.categories)
        self._snapshot = None
        if self._size > self._table.shape[1]:
            grown = np.zeros((len(Row), max(self._size, 2 * start)))
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
        """Set the thresholds and prices of some categories, and compute their evidence anew."""
        table = self._table
        table[Row.THRESHOLD, positions] = [category.threshold for category in categories]
        table[Row.WORTH, positions] = [category.worth for category in categories]
        table[Row.PRICE, positions] = [category.price for category in categories]
        table[Row.RECOVERED, positions] = [category.recovered for category in categories]
        self.renew(positions)

    def renew(self, positions: IntArray) -> None:
        """Compute the evidence of some categories anew, from their thresholds and sums; without any data it is 0."""
        categories, table = self.categories, self._table
        known = table[Row.CLIENTS, positions] > 0.0
        for view, chosen in categories.by_view(positions):
            places = positions[chosen]
            table[Row.TARGET, places] = view.statistic.of_means(table[Row.THRESHOLD, places])
            table[Row.IMAGINARY, places] = view.prior_clients
            known |= chosen & view.has_prior
        table[Row.EVIDENCE, positions[~known]] = table[Row.ROUGH, positions[~known]] = 0.0
        seen = positions[known]
        if seen.size:
            agent_table.renew(table, seen, categories.which(), categories.view_table())
        if self.values is not None:
            for k in seen.tolist():
                self._renew_from_values(k)

    def _renew_from_values(self, k: int) -> None:
        """Compute the evidence of a rule that needs the distinct rewards."""
        assert self.values is not None
        rule, view, numbers = self.categories.rule_of(k), self.categories.view_of(k), self.column(k)
        seen = seen_of(rule, view, numbers, self.values[k], numbers[Row.CARRY])
        self._table[Row.EVIDENCE, k] = evidence(rule, view.law, seen, numbers[Row.TARGET])
