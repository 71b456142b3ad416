"""Decision: which categories to accept this round, and why.

It never changes after it was made.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import compress
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from pydantic_core import to_json

from profitable.agent.band_words import bands_at, cut_off, say_bands
from profitable.agent.changes import Changes, Rounds
from profitable.agent.cohorts import EMPTY_COHORTS, Cohorts
from profitable.agent.explanation import (
    Verdict,
    crowding,
    entry,
    in_short,
    losses_first,
    reason,
    verdicts,
    with_loans,
)
from profitable.agent.limit import Grant, Limit, read_claims
from profitable.agent.loan_book import BookReading, BookSummary, LoanStanding
from profitable.agent.observation import EMPTY, DistinctRewards, seen_of
from profitable.agent.order_ledger import OrderReading
from profitable.agent.order_record import order_columns
from profitable.agent.window import Window
from profitable.common import check
from profitable.common.extras import frame_of
from profitable.common.text_tables import ROWS_SHOWN, html_table, number_text, text_table
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import UnknownCategoryError
from profitable.kernels.agent_table import SNAPSHOT, AgentRow
from profitable.kernels.decision_values import evidences, indices, returns
from profitable.kernels.evidence import index
from profitable.model.posterior import Posterior
from profitable.policy.policies import CROWD, ONE_BY_ONE, Policy

Array = TypeVar("Array", BoolArray, FloatArray, IntArray)
KEPT_ROWS = [row for row in AgentRow if row < SNAPSHOT]
WHOLE_ROWS = (AgentRow.WAITING, AgentRow.PAUSED, AgentRow.KNOWN, AgentRow.ROUGH, AgentRow.ACCEPTED)
LIMIT_ROWS = (AgentRow.WORTH, AgentRow.PRICE, AgentRow.ROUNDS)  # by which a limit is shared out


def read_only(values: Array) -> Array:
    """Return the same array, for callers who must not change it."""
    values.setflags(write=False)
    return values


class Kept(NamedTuple):
    """What decisions keep besides the table, where a policy or a category needs it."""

    values: dict[int, DistinctRewards] | None = None  # by position, for rules that need them
    window: Window | None = None  # outcomes of the rounds that are remembered
    cohorts: Cohorts = EMPTY_COHORTS  # those that are open
    reading: BookSummary | None = None  # what a lending book says
    orders: tuple[OrderReading, ...] = ()  # bands that share evidence


NOTHING_ELSE = Kept()


class Decision:
    """A round's decision for every category that was available.

    `Agent.decide` makes one.  It shares the agent's table, and undoes later changes
    when it is asked for numbers (`agent/changes.py`); names, indices and reasons are
    worked out on demand, too.  `accepted_mask`, `evidence`, `patience` and `propensity`
    are arrays [M] in the order of `names`, for callers with many categories.

    Parameters
    ----------
    round : int
        The round that is decided.
    made : Rounds
        What was decided about, and the numbers of the round that the table does not
        have.
    changes : Changes, optional
        The log of the agent's changes; without it, `with_table` gives the numbers.
    kept : Kept
        Distinct rewards, window and cohorts, where there are any.
    """

    # Most decisions are asked for one category and dropped, so a new one sets little.
    _positions: IntArray | None = None
    _grant: Grant | None = None
    _extras: Kept = NOTHING_ELSE
    # Computed when asked for; `_numbers` is the table, `_exact` the same with exact
    # evidence.
    _numbers: FloatArray | None = None
    _mask: BoolArray | None = None
    _exact: FloatArray | None = None

    def __init__(
        self,
        round: int,
        made: Rounds,
        changes: Changes | None = None,
        kept: Kept = NOTHING_ELSE,
    ) -> None:
        self._round = round
        self._made = made
        self._changes = changes
        if changes is not None:
            self._start = changes.used
        if kept is not NOTHING_ELSE:
            self._extras = kept

    def with_table(self, table: FloatArray, positions: IntArray | None) -> Self:
        """Give the decision its numbers, if it does not share the agent's table.

        Parameters
        ----------
        table : array of float, [rows, M]
            The rows of the agent's table.
        positions : array of int, [M], or None
            Positions of the categories that were available, if not all.

        Returns
        -------
        Decision
            The same decision.
        """
        self._numbers, self._positions = table, positions
        return self

    @property
    def _table(self) -> FloatArray:
        """The agent's table at this decision, its rows before `SNAPSHOT`, [rows, M]."""
        changes = self._changes
        if self._numbers is None and changes is not None:
            rows = changes.rows(self._start, self._made.size)
            changes.shared.rewind(rows, self._round, self._made)
            self._numbers = rows[:SNAPSHOT]
            self._changes = None  # other threads look for the numbers after it
        assert self._numbers is not None
        return self._numbers

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy or a pickle, with numbers of its own."""
        _ = self._table
        return self.__dict__

    def share_out(self, limit: Limit, terms: FloatArray) -> None:
        """Share out the money or places of a limited round.

        Parameters
        ----------
        limit : Limit
            The money or places.
        terms : array of float, [3, K]
            The `LIMIT_ROWS` of all categories.
        """
        table = self._table
        claims = read_claims(
            self._made.categories,
            self.positions,
            table,
            terms[:, self.positions],
            accepted=self._by_policy,
            lottery=(table[AgentRow.EVIDENCE] > table[AgentRow.PATIENCE])
            & (table[AgentRow.PAUSED] == 0.0)
            & (self.policy.floor > 0.0),
            index=self._indices,
        )
        self._grant, self._mask = Grant(limit, claims, terms[:, self.positions]), None

    @property
    def positions(self) -> IntArray:
        """The positions of the categories among those of the agent, [M]."""
        return np.arange(len(self)) if self._positions is None else self._positions

    @property
    def _by_policy(self) -> BoolArray:
        """Whether the policy accepts each category, whatever it is granted, [M]."""
        changes = self._changes
        if changes is None:
            return self._table[AgentRow.ACCEPTED] != 0.0
        made = self._made
        if not made.is_later:
            return made.accepted
        if changes.shared.fades_late:
            mask = changes.accepted_faded(self._start, made, self._round, 0, made.size)
            return self._table[AgentRow.ACCEPTED] != 0.0 if mask is None else mask
        return changes.accepted(self._start, made.size, made.limits(self._round))

    @property
    def revoked(self) -> IntArray:
        """Positions of the categories that the policy accepts and that get nothing."""
        return self.positions[self._by_policy & ~self.accepted_mask]

    def record(self) -> dict[str, Any]:
        """Return the numbers that decided, as columns [M] of a stored decision.

        Indices and next rounds are there if they do not follow from the other columns.
        """
        table = self._refined()
        columns: dict[str, Any] = {"name": self.names}
        for row in KEPT_ROWS:
            columns[row.name.lower()] = (
                table[row].astype(np.int64) if row in WHOLE_ROWS else table[row]
            )
        columns["propensity"] = self.propensity
        if self._extras.values is not None or self._extras.reading is not None:
            columns["index"] = self._indices(slice(None))
        if self._extras.reading is not None:
            columns |= self._extras.reading.record(self.positions)
        if self._extras.window is not None:
            columns["next_round"] = self._patient_again(slice(None))
        if self._extras.cohorts:
            columns |= self._extras.cohorts.columns(self.positions, self.round - 1)
            columns["kept"] = self._kept(self.positions)
        if self._grant is not None:
            columns |= {row.name.lower(): self._grant.terms[i] for i, row in enumerate(LIMIT_ROWS)}
            columns["granted"] = self._grant.clients
        return columns | order_columns(self._extras.orders, self.positions)

    @property
    def reading(self) -> BookReading | None:
        """What the lending book said, for an agent that lends; a journal keeps less."""
        reading = self._extras.reading
        return reading if isinstance(reading, BookReading) else None

    @property
    def limit(self) -> Limit | None:
        """The money or places of the round, if they are limited."""
        return None if self._grant is None else self._grant.limit

    @property
    def round(self) -> int:
        """The round that was decided."""
        return self._round

    @property
    def accepted_mask(self) -> BoolArray:
        """Whether each category is accepted, [M]."""
        if self._mask is None:
            self._mask = read_only(
                self._by_policy if self._grant is None else self._grant.clients > 0
            )
        return self._mask

    @property
    def paused_mask(self) -> BoolArray:
        """Whether each category is paused, [M]."""
        return read_only(self._table[AgentRow.PAUSED] != 0.0)

    @property
    def policy(self) -> Policy:
        """The policy that decided."""
        return self._made.categories.policy

    @property
    def names(self) -> tuple[str, ...]:
        """The categories that were available."""
        positions: list[int] = self.positions.tolist()
        return tuple(self._made.categories.names[k] for k in positions)

    @property
    def accepted(self) -> tuple[str, ...]:
        """The categories to accept."""
        return self._named(self.accepted_mask)

    @property
    def rejected(self) -> tuple[str, ...]:
        """The categories not to accept."""
        return self._named(~self.accepted_mask)

    def _named(self, mask: BoolArray) -> tuple[str, ...]:
        names = self._made.categories.names if self._positions is None else self.names
        return tuple(compress(names, mask.tolist()))

    @property
    def evidence(self) -> FloatArray:
        """Evidence against each category, in nats, [M]."""
        return read_only(self._refined()[AgentRow.EVIDENCE])

    @property
    def patience(self) -> FloatArray:
        """Patience with each category, in nats, [M].

        It is infinite where nothing is known, as in round 1.
        """
        return read_only(self._table[AgentRow.PATIENCE])

    @property
    def propensity(self) -> FloatArray:
        """Probability with which each category is accepted in this round, [M].

        It is 0 or 1, except for Thompson sampling and for policies with a floor.  It is
        NaN where a limit makes it unknown: in part granted, or what is left depends on
        the draws of other categories.
        """
        own = self._propensity(slice(None))
        if self._grant is not None:
            drawn = self.policy.draws and self.round > 1
            own = self._grant.propensity(own, drawn=drawn, floor=self.policy.floor)
        return read_only(own)

    def _propensity(self, chosen: slice) -> FloatArray:
        """Return the propensity of some categories: that of patience and the floor."""
        table = self._table[:, chosen]
        if self.policy.draws and self.round > 1:
            chance = np.exp(-self.evidence[chosen])
        elif self.policy.floor > 0.0:
            chance = np.less_equal(self.evidence[chosen], table[AgentRow.PATIENCE]).astype(
                np.float64
            )
        else:
            return (table[AgentRow.ACCEPTED] != 0.0).astype(np.float64)
        return np.where(table[AgentRow.PAUSED] == 0.0, self.policy.with_floor(chance), 0.0)

    def patient_again(self, name: str) -> int | None:
        """Return the next round whose patience tolerates the evidence on a category.

        A floor may accept it before.  Without a floor it is the verdict's `next_round`.

        Parameters
        ----------
        name : str
            The category.

        Returns
        -------
        int or None
            None if the category is accepted, paused, or never tolerated.
        """
        column = self._require(name)
        return self._patient_again(slice(column, column + 1))[0]

    def _patient_again(self, chosen: slice) -> list[int | None]:
        table = self._refined()[:, chosen]
        waits = np.flatnonzero((table[AgentRow.ACCEPTED] == 0.0) & (table[AgentRow.PAUSED] == 0.0))
        rounds: list[int | None] = [None] * table.shape[1]
        # Unless patience is drawn, it depends on what other bands show.
        bands = () if self.policy.draws else bands_at(self._extras.orders, self.positions[chosen])
        for place, each in zip(
            waits.tolist(),
            self._next_rounds(table[:, waits], self.positions[chosen][waits]),
            strict=True,
        ):
            rounds[place] = None if place in bands else each or None
        return rounds

    @property
    def cut_offs(self) -> tuple[str, ...]:
        """Where each order is cut off, which bands are tested, and which have left.

        Examples
        --------
        >>> import profitable as pb
        >>> names = ("580-600", "600-620", "620-640")
        >>> bands = [pb.Category(name, pb.Bernoulli(), threshold=0.8, order="score")
        ...          for name in names]
        >>> agent = pb.Agent(bands, policy="kl-ucb")
        >>> _ = agent.decide()
        >>> paid = {"580-600": [0, 0, 0], "600-620": [1, 1, 0], "620-640": [1, 1, 1]}
        >>> agent.observe(paid)
        >>> _ = agent.decide()
        >>> agent.decide().cut_offs
        ('score: accepted from 620 up; testing 600-620',)
        """
        return tuple(cut_off(reading) for reading in self._extras.orders)

    def _next_rounds(self, table: FloatArray, positions: IntArray) -> Sequence[int | None]:
        """Return the next round that can accept each rejected category; 0 for none.

        Example: kl-UCB with forget=0.97 rejects a category because its evidence is 6
        nats and patience log 33.3 = 3.5.  If nothing else is seen of it, the evidence
        is 6 * 0.97^j after j more rounds.  That is at most 3.5 from j = 18 on.
        """
        categories, policy = self._made.categories, self.policy
        if self._extras.window is not None and not policy.draws:
            return [
                self._extras.window.next_round(
                    k, self.round, policy, categories.view_of(k), table[:, i].tolist()
                )
                for i, k in enumerate(positions.tolist())
            ]
        if policy.forget < 1.0 and not policy.draws:
            out = np.zeros(positions.size, dtype=np.int64)
            returns(*self._with_targets(table, positions), categories.terms, self.round, out)
            return out.tolist()
        nats = table[AgentRow.EVIDENCE]
        return policy.next_rounds(
            np.where(nats <= categories.patience.most, nats, np.inf),
            self.round,
            table[AgentRow.CLIENTS] + categories.imaginary(positions),
            table[AgentRow.PER_ROUND],
        )

    def _with_targets(
        self, table: FloatArray, positions: IntArray
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return columns with the thresholds as statistics below them, and the views.

        Kernels take a table, the view of each of its columns, and all views.
        """
        categories, targets = self._made.categories, np.empty(positions.size)
        for view, chosen in categories.by_view(positions):
            targets[chosen] = view.statistic.of_means(table[AgentRow.THRESHOLD, chosen])
        return (
            np.ascontiguousarray(np.vstack([table[:SNAPSHOT], targets])),
            categories.which()[positions],
            categories.view_table(),
        )

    def crowded(self) -> str:
        """Return a remark on the first category that log N alone rejects.

        Returns
        -------
        str
            Empty if there is none (see `crowding`).
        """
        table = self._table
        if len(self) == 0:
            return ""
        limit = CROWD * math.exp(table[AgentRow.PATIENCE, 0])  # which is the same for all
        places = np.flatnonzero(
            (table[AgentRow.ACCEPTED] == 0.0)
            & (table[AgentRow.CLIENTS] > limit)
            & (table[AgentRow.PAUSED] == 0.0)
        )
        places = places[
            table[AgentRow.EVIDENCE, places] <= 2.0 * np.log(table[AgentRow.CLIENTS, places])
        ]
        if not places.size:
            return ""
        word = crowding(
            self.policy,
            *table[[AgentRow.EVIDENCE, AgentRow.PATIENCE, AgentRow.CLIENTS], places[0]].tolist(),
        )
        return word and f"category {self.names[places[0]]!r} is rejected because {word}"

    @property
    def granted(self) -> dict[str, int] | None:
        """Number of clients granted to each accepted category; None without a limit.

        `agent.expect(decision.granted)` reports that all of them were accepted.
        """
        if self._grant is None:
            return None
        return dict(
            zip(self.accepted, self._grant.clients[self.accepted_mask].tolist(), strict=True)
        )

    @property
    def granted_clients(self) -> IntArray | None:
        """The same as an array, [M]; 0 where nothing is granted."""
        return None if self._grant is None else self._grant.clients

    def accepts(self, name: str) -> bool:
        """Return whether a category is accepted.

        Parameters
        ----------
        name : str
            The category.

        Returns
        -------
        bool
            All that is needed for one client.

        Examples
        --------
        >>> import profitable as pb
        >>> category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
        >>> agent = pb.Agent([category], policy=pb.KLUCB())
        >>> agent.decide().accepts("a")
        True
        """
        # Asked for every client, so the everyday case is made fast.
        made, changes = self._made, self._changes
        if changes is not None and made.is_later and name.__class__ is str:
            k = made.categories.positions.get(name)
            if k is not None and k < made.size:
                if changes.shared.fades_late:
                    mask = changes.accepted_faded(self._start, made, self._round, k, 1)
                    if mask is not None:
                        return bool(mask[0])
                elif (current := changes.current) is not None:
                    nats, paused = current[0][k], current[1][k]
                    # No lock is needed: the log changes before the table does.
                    if changes.used == self._start and changes.current is current:
                        if paused or nats <= 0.0:  # patience is never negative
                            return not paused
                        return made.tolerates(self._round, k, nats)
        return bool(self.accepted_mask[self._require(name)])

    def __len__(self) -> int:
        return self._made.size

    def __iter__(self) -> Iterator[Verdict]:
        return iter(verdicts(self._columns(slice(None))))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._column(name) is not None

    def __getitem__(self, name: str) -> Verdict:
        column = self._require(name)
        return verdicts(self._columns(slice(column, column + 1)))[0]

    def _require(self, name: str) -> int:
        column = self._column(name)
        if column is None:
            raise UnknownCategoryError(
                "category",
                name,
                f"was not decided about in round {self.round}",
                "ask about one that was",
            )
        return column

    def _column(self, name: str) -> int | None:
        k = self._made.categories.positions.get(name) if isinstance(name, str) else None
        if k is None or self._positions is None:
            return None if k is None or k >= len(self) else k
        found = np.flatnonzero(self._positions == k)
        return int(found[0]) if found.size else None

    def head(self, number: int) -> list[Verdict]:
        """Return the verdicts on the first categories.

        Parameters
        ----------
        number : int
            Number of categories.

        Returns
        -------
        list of Verdict
            In the order of `names`.
        """
        return verdicts(self._columns(slice(check.whole("number", number, least=0))))

    def interval(self, name: str, share: float) -> tuple[float, float] | None:
        """Return a credible interval of a category's mean reward.

        It is the middle of the posterior under Jeffreys' prior, or under the prior of
        the category; for loans, that of the value of a loan at issue.

        Parameters
        ----------
        name : str
            The category.
        share : float
            Probability of the interval, from 0 to 1.

        Returns
        -------
        tuple of float or None
            The two ends; None if too little was seen, or for loans in the journal.

        Examples
        --------
        >>> import profitable as pb
        >>> category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
        >>> agent = pb.Agent([category], policy="kl-ucb")
        >>> agent.observe("a", [1, 0, 0, 0])
        >>> low, high = agent.decide().interval("a", 0.9)
        >>> round(low, 3), round(high, 3)
        (0.046, 0.651)
        """
        half = 0.5 * check.within(
            "share", share, 0.0, 1.0, "is not a probability", "give a number from 0 to 1"
        )
        column = self._require(name)
        k = int(self.positions[column])
        if self._extras.reading is not None:
            return None if self.reading is None else self.reading.interval(k, 0.5 - half)
        view = self._made.categories.view_of(k)
        seen = seen_of(
            self._made.categories.rule_of(k), view, self._table[:, column].tolist(), EMPTY
        )
        posterior = Posterior(view.with_prior(seen.clients, seen.total), seen.spread)
        if seen.clients <= 0.0 or not posterior.is_proper:
            return None
        return posterior.quantile(0.5 - half), posterior.quantile(0.5 + half)

    def _columns(self, chosen: slice) -> dict[str, list[Any]]:
        """Return the fields of `Verdict` for some of the categories, as columns."""
        table = self._refined()[:, chosen]
        positions, paused = self.positions[chosen], table[AgentRow.PAUSED] != 0.0
        threshold, accepted = table[AgentRow.THRESHOLD], table[AgentRow.ACCEPTED] != 0.0
        shown = self._indices(chosen)
        # Where rounding would make the index disagree with the decision, the decision
        # is right.
        shown = np.where(
            table[AgentRow.EVIDENCE] <= table[AgentRow.PATIENCE],
            np.maximum(shown, threshold),
            np.minimum(shown, np.nextafter(threshold, -np.inf)),
        )
        patient = next_round = self._patient_again(chosen)
        if self.policy.floor > 0.0:  # which every round may bring
            next_round = [
                self.round + 1 if waits else None for waits in (~accepted & ~paused).tolist()
            ]
        columns: dict[str, list[Any]] = {
            "name": [self._made.categories.names[k] for k in positions.tolist()],
            "accepted": accepted.tolist(),
            "evidence": table[AgentRow.EVIDENCE].tolist(),
            "patience": table[AgentRow.PATIENCE].tolist(),
            "index": shown.tolist(),
            "threshold": threshold.tolist(),
            "clients": table[AgentRow.KNOWN].astype(np.int64).tolist(),
            "counted": table[AgentRow.CLIENTS].tolist(),
            "mean": self._made.categories.means(
                positions, table[AgentRow.CLIENTS], table[AgentRow.TOTAL]
            ),
            "propensity": self._propensity(chosen).tolist(),
            "next_round": next_round,
            "waiting": table[AgentRow.WAITING].astype(np.int64).tolist(),
            **self._extras.cohorts.columns(positions, self.round - 1),
        }
        reading, loans = self._extras.reading, list[LoanStanding]()
        if reading is not None:
            loans = [reading.standing(k) for k in positions.tolist()]
            columns |= reading.open_and_missing(positions, columns["waiting"])
        needed = ("accepted", "evidence", "patience", "clients", "counted", "propensity", "waiting")
        columns["reason"] = list(
            map(
                partial(reason, self.policy, self.round),
                *(columns[key] for key in needed),
                patient,
                table[AgentRow.PER_ROUND].tolist(),
                paused.tolist(),
                self._kept(positions),
                self._warnings(table, columns),
            )
        )
        if reading is not None:
            said = (columns[key] for key in ("reason", "evidence", "patience"))
            columns["reason"] = [
                text if flag else with_loans(text, nats, limit, standing)
                for text, nats, limit, standing, flag in zip(*said, loans, paused, strict=True)
            ]
        if self._extras.orders:
            made, per_round = self._made.categories, table[AgentRow.PER_ROUND].tolist()
            say_bands(columns, self._extras.orders, positions, made, self.round, per_round)
        if self._grant is not None:
            known = self.propensity[chosen]
            columns["accepted"] = self.accepted_mask[chosen].tolist()
            columns["propensity"] = np.where(np.isnan(known), None, known).tolist()  # type: ignore[call-overload]
            columns["reason"] = self._grant.reasons(chosen, columns["reason"])
            columns["demand"] = self._grant.limit.demand[chosen].tolist()
            columns["granted"] = self._grant.clients[chosen].tolist()
        if reading is not None:
            columns["loans"] = loans
        return columns

    def _kept(self, positions: IntArray) -> list[int]:
        """Known outcomes that do not count before their cohorts have matured, [M]."""
        if not self._extras.cohorts:
            return [0] * positions.size
        return [self._extras.cohorts.tally(k, self.round - 1).kept for k in positions.tolist()]

    def _warnings(self, table: FloatArray, columns: dict[str, list[Any]]) -> list[str]:
        """Return a warning where few outcomes are known, and bad ones, [M]."""
        warnings = [""] * table.shape[1]
        if self._extras.reading is not None:
            return warnings
        for i in np.flatnonzero(table[AgentRow.WAITING] > table[AgentRow.KNOWN]).tolist():
            clients, waiting, in_cohorts, missing, mean, threshold = (
                columns[key][i]
                for key in ("clients", "waiting", "open", "missing", "mean", "threshold")
            )
            warnings[i] = losses_first(clients, waiting - in_cohorts - missing, mean, threshold)
        return warnings

    def _refined(self) -> FloatArray:
        """Return the table with exact evidence, also where a bound was enough."""
        if self._exact is None:
            table, rough = self._table, np.flatnonzero(self._table[AgentRow.ROUGH])
            if rough.size:
                table, exact = table.copy(), np.empty(rough.size)
                evidences(*self._with_targets(table[:, rough], self.positions[rough]), exact)
                table[AgentRow.EVIDENCE, rough] = exact
                table[AgentRow.ROUGH, rough] = 0.0
            self._exact = table
        return self._exact

    def _indices(self, chosen: slice | IntArray) -> FloatArray:
        """Return the paper's index of some categories, as kernels compute it, [M]."""
        categories, positions = self._made.categories, self.positions[chosen]
        table, out = np.ascontiguousarray(self._table[:, chosen]), np.empty(positions.size)
        limits = table[AgentRow.PATIENCE].copy()
        reading = self._extras.reading
        if isinstance(reading, BookReading):
            every = np.full(reading.open.size, np.inf)
            every[positions] = limits
            return reading.indices(every, is_posterior=self.policy.rule.is_posterior)[positions]
        if self._extras.values is None and positions.size > ONE_BY_ONE:
            indices(table, categories.which()[positions], categories.view_table(), limits, out)
        else:
            for i, k in enumerate(list[int](positions.tolist())):
                view, rule = categories.view_of(k), categories.rule_of(k)
                kept = EMPTY if self._extras.values is None else self._extras.values[k]
                seen = seen_of(rule, view, table[:, i].tolist(), kept)
                out[i] = index(rule, view.law, seen, limits[i])
        for view, mask in categories.by_view(positions):
            out[mask] = view.statistic.means_of(out[mask])
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as JSON-ready values.

        Returns
        -------
        dict
            Round, policy, and one entry per category; infinite numbers are None.
        """
        columns = self.to_columns()["columns"]
        if self._grant is None and self._extras.reading is None and not self._extras.orders:
            entries = list(map(entry, *columns.values()))
        else:
            entries = [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
        return {**self._head(), "accepted": list(self.accepted), "categories": entries}

    def _head(self) -> dict[str, Any]:
        limit = {} if self._grant is None else {"limit": self._grant.to_dict()}
        return {"round": self.round, "policy": str(self.policy), **limit}

    def to_columns(self) -> dict[str, Any]:
        """Return `to_dict` with one list for each field: smaller for many categories.

        Returns
        -------
        dict
            Under "columns", the fields of `Verdict` in the order of `names`.

        Examples
        --------
        >>> import profitable as pb
        >>> category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
        >>> agent = pb.Agent([category], policy="kl-ucb")
        >>> log = agent.decide().to_columns()
        >>> log["round"], log["columns"]["name"], log["columns"]["accepted"]
        (1, ['a'], [True])
        """
        columns = self._columns(slice(None))
        for key in ("evidence", "patience", "index", "mean"):
            columns[key] = [
                None if value is None or value - value != 0.0 else value for value in columns[key]
            ]
        if "loans" in columns:
            columns["loans"] = [each.to_dict() for each in columns["loans"]]
        return {**self._head(), "columns": columns}

    def to_json(self, *, columns: bool = False) -> str:
        """Return the decision as a JSON text for a decision log.

        Parameters
        ----------
        columns : bool
            Whether it is that of `to_columns`; that of `to_dict` unless given.

        Returns
        -------
        str
            One line.
        """
        return to_json(self.to_columns() if columns else self.to_dict()).decode()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the decision as a dataframe with one row for each category.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow", as for `Agent.to_frame`.

        Returns
        -------
        dataframe
            The round, and the fields of `Verdict`.
        """
        return frame_of({"round": [self.round] * len(self), **self._columns(slice(None))}, backend)

    def _caption(self) -> str:
        count = int(np.count_nonzero(self.accepted_mask))
        limit = "" if self._grant is None else f", {self._grant.summary()}"
        accepted = f"{number_text(count)} of {number_text(len(self))} categories accepted"
        return f"round {number_text(self.round)}, {self.policy}: {accepted}{limit}"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the first verdicts as headers and rows of a table."""
        shown = ["clients", "mean", "threshold", "index", "evidence", "patience"]
        granted = [] if self._grant is None else ["granted"]
        rows: list[list[str]] = []
        flags = zip(self._by_policy.tolist(), self.paused_mask.tolist(), strict=True)
        for each, (by_policy, paused) in zip(self.head(ROWS_SHOWN), flags, strict=False):
            row = [each.name, *(number_text(getattr(each, key)) for key in shown)]
            row.append(number_text(each.propensity, 3))
            if each.granted is not None:
                row.append(f"{number_text(each.granted)} of {number_text(each.demand)}")
            rows.append([*row, in_short(each, by_policy=by_policy, paused=paused)])
        return ["category", *shown, "propensity", *granted, "decision"], rows

    def _rest(self) -> str:
        hidden = len(self) - ROWS_SHOWN
        more = f"\n... and {number_text(hidden)} more" if hidden > 0 else ""
        return "\n".join([more, *self.cut_offs])

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(*self._cells())}{self._rest()}"

    def __repr__(self) -> str:
        return f"<Decision {self._caption()}>"

    def _repr_html_(self) -> str:
        return html_table(self._caption() + self._rest(), *self._cells())
