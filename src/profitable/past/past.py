"""Past: clients that were read, and the rows that were left out.

Clients are rows [n], as a replay sees them.  A row is one client (`SingleClients`), or
all clients of a cell (`GroupedClients`).  Each row has a category, the round in which
its clients asked, and the round in which their outcomes were known.

Example: three clients, who asked in the rounds 1, 1 and 2.  The outcome of the first
was known in round 3:

>>> clients = SingleClients.of(
...     names=("cars",), labels=("2026-01", "2026-02", "2026-03"),
...     round=[1, 1, 2], category=[0, 0, 0], known=[3, 1, 2],
...     reward=[0.0, 1.0, 1.0], profit=[-5.0, 1.0, 1.0],
... )
>>> clients.round.tolist(), clients.reward.tolist()
([1, 2, 1], [1.0, 1.0, 0.0])
>>> [clients.known_in(t) for t in (1, 2, 3)]
[slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
>>> clients.profit_by_cell.tolist()
[[-4.0], [1.0], [0.0]]
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from profitable.agent.agent import Agent
from profitable.agent.ledger import NO_AMOUNTS
from profitable.agent.observation import reward_error
from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError, RewardError
from profitable.kernels.coded_view import Support
from profitable.kernels.statistic import Statistic
from profitable.past.late_outcomes import NEVER_KNOWN, LateOutcomes, warn_of_lateness
from profitable.past.layout import Layout
from profitable.past.past_notes import MISSING_NAME, notes_on
from profitable.past.row_meaning import IS_KEPT, NOT_WHERE, REASONS, WAS_REFUSED, WITHOUT_REWARD

if TYPE_CHECKING:
    from profitable.model.families import Family
    from profitable.past.source import Piece

# Rows that are looked at for leaks; 1 % of the spread is then some 20 standard errors
# from nothing.
SAMPLE = 40_000
# Times what must come back per unit lent: a promise so far from it is in another unit.
FAR_OFF = 10.0
FAR = 3.0  # standard errors between the means of rows left out and kept, from which on they differ
PAST_REFUSED = (
    "the past refused clients whose outcomes nobody knows: categories that it mostly refused "
    "cannot be judged, and others are judged by the clients it chose; give propensity if it chose "
    "at random"
)
# Of arrays without fractions.
KINDS = {
    "round": np.int32,
    "category": np.int32,
    "known": np.int32,
    "logged": np.bool_,
    "term": np.int32,
    "defaulted": np.bool_,
}
ORDER = 5  # names the random stream of shuffled time
PER_CLIENT = (
    *("amount", "promised", "score", "logged", "propensity", "term", "rate", "defaulted"),
)  # what some files have
SmallInts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class PastClients(ABC):
    """Rows [n], sorted by known round, category and round of asking."""

    names: tuple[str, ...]  # of the K categories
    labels: tuple[str, ...]  # of the R rounds, as "2026-01"
    round: SmallInts  # in which the clients asked, 1 to R
    category: SmallInts  # 0 to K - 1
    # The round in which outcomes were known, at least `round`; beyond R it is known too
    # late.
    known: SmallInts
    profit: FloatArray  # in money, of all clients of a row, if they are accepted
    amount: FloatArray | None = None  # what was lent to them
    # What they count as while they are open, in the unit of rewards.
    promised: FloatArray | None = None
    logged: BoolArray | None = None  # whether the past accepted the client
    propensity: FloatArray | None = None  # with what probability it did
    score: FloatArray | None = None
    # Of loans that are judged by their hazards:
    term: SmallInts | None = None  # rounds over which they are repaid
    rate: FloatArray | None = None  # interest a year
    defaulted: BoolArray | None = None  # whether they defaulted in the round `known`
    number: FloatArray | None = None  # how many clients a row has; one each if None
    folds: int | None = None  # number of folds, if clients are aggregated

    def __len__(self) -> int:
        """Count the clients."""
        return self.size if self.number is None else int(self.number.sum())

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.round.size

    @property
    def rounds(self) -> int:
        """R, how many rounds there are."""
        return len(self.labels)

    @cached_property
    def is_immediate(self) -> bool:
        """Whether every outcome was known in the round of its client."""
        return bool((self.known == self.round).all())

    def known_in(self, round: int) -> slice:
        """Return the rows whose outcomes were known in a round, 1 to R."""
        return slice(*self._ends[round - 1 : round + 1])

    @cached_property
    def _ends(self) -> list[int]:
        """Starts of the rows by known round, and of those known too late."""
        return np.searchsorted(self.known, np.arange(1, self.rounds + 2, dtype=np.int32)).tolist()

    def cells(self) -> IntArray:
        """Return the cell of each row, [n]: (round - 1) * K + category."""
        return (self.round.astype(np.int64) - 1) * len(self.names) + self.category

    def by_cell(self, values: npt.ArrayLike | None = None) -> FloatArray:
        """Sum values [n], or count rows, by round and category, [R, K]."""
        weights = None if values is None else np.asarray(values)
        found = np.bincount(self.cells(), weights, self.rounds * len(self.names))
        return found.astype(np.float64).reshape(self.rounds, -1)

    @cached_property
    def profit_by_cell(self) -> FloatArray:
        """Profit of accepting a category in a round, [R, K]."""
        return self.by_cell(self.profit)

    @cached_property
    def counts(self) -> FloatArray:
        """Number of clients by round and category, [R, K]."""
        return self.clients_by_cell(None)

    def clients_by_cell(self, times: IntArray | None) -> FloatArray:
        """Count clients by cell, [R, K], if each row counts so many times [n]."""
        if self.number is None:
            return self.by_cell(times)
        return self.by_cell(self.number if times is None else self.number * times)

    def seen(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Select values [n] of clients whose outcomes are known at all."""
        return values if self.logged is None else values[self.logged]

    def by_category(self, name: str) -> FloatArray:
        """Sum a quantity over the clients whose outcomes are known, [K]."""
        sums = np.bincount(self.seen(self.category), self.seen(self.sum_of(name)), len(self.names))
        return sums.astype(np.float64)

    # ---------------------------------------------------------- one by one, or added up

    @abstractmethod
    def sum_of(self, name: str) -> FloatArray:
        """Return a quantity of each row, [n], such as number, profit or money back."""

    @abstractmethod
    def range_of(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest reward, or promise, of a client."""

    @abstractmethod
    def only_whole(self) -> bool:
        """Whether all rewards are whole numbers."""

    @abstractmethod
    def moments(self, statistic: Any = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return counts, means and variances of rewards or a statistic, [K] each."""

    @abstractmethod
    def illegal(self, support: Support) -> tuple[int, float] | None:
        """Return the category and the value of a reward that a family cannot have."""

    @abstractmethod
    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        """Draw how often each row counts in a bootstrap portfolio, [n]."""

    @abstractmethod
    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        """Draw the rows of one half of the clients, [n]."""

    @abstractmethod
    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return `deviations` of the profit by category, [K]."""

    @abstractmethod
    def tell(
        self,
        agent: Agent,
        part: slice,
        times: npt.NDArray[Any],
        *,
        by_money: bool,
        by_round: bool,
    ) -> None:
        """Tell an agent the outcomes of some rows; each counts so many times [m].

        `by_money` says that clients weigh as much as their amounts, and `by_round` that
        they are learned by the round in which they were accepted.
        """


def outside(support: Support, rewards: FloatArray) -> BoolArray:
    """Mark rewards that a family cannot have, [n]."""
    bad = (rewards < support.low) | (rewards > support.high)
    if support.open:
        bad |= rewards == support.low
    return bad | (rewards != np.floor(rewards)) if support.whole else bad


# ----------------------------------------------------------------------- single clients


@dataclass(frozen=True, eq=False, kw_only=True)
class SingleClients(PastClients):
    """Past clients [n], sorted by known round, category, round and reward.

    So the order of the rows in a file does not matter, and what becomes known in a
    round is one slice.
    """

    # As the agent sees it: per client or per unit of money, after costs that differ, or
    # incremental.
    reward: FloatArray

    @classmethod
    def of(
        cls,
        *,
        names: Sequence[str],
        labels: Sequence[str],
        in_place: bool = False,
        **arrays: npt.ArrayLike | None,
    ) -> Self:
        """Make clients from arrays in any order.

        With `in_place`, the arrays that are given are sorted themselves.  It saves
        memory.
        """
        given: dict[str, npt.NDArray[Any]] = {}
        for name, values in arrays.items():
            if values is not None:
                kind = KINDS.get(name, np.float64)
                given[name] = np.asarray(values, kind) if in_place else np.array(values, kind)
        _sort(given, len(labels))
        return cls(names=tuple(names), labels=tuple(labels), **given)  # type: ignore[arg-type]

    @cached_property
    def by_what_they_asked(self) -> IntArray:
        """Positions of clients by cell and by what is known when they ask, [n].

        The place of a client in it does not depend on the outcomes of others that are
        known later.
        """
        given = (getattr(self, name) for name in ("propensity", "score", "promised", "amount"))
        # Stable: clients are sorted by the round in which their outcome was known.
        return np.lexsort([*(values for values in given if values is not None), self.cells()])

    def shuffled(self, seed: int, number: int) -> Self:
        """Permute the rounds; each client keeps the delay of its outcome."""
        rounds = self.round[np.random.default_rng([seed, ORDER, number]).permutation(len(self))]
        delay = self.known.astype(np.int64) - self.round
        known = np.where(self.known == NEVER_KNOWN, NEVER_KNOWN, rounds + delay)
        return self.of(
            names=self.names,
            labels=self.labels,
            round=rounds,
            category=self.category,
            known=np.minimum(known, NEVER_KNOWN),
            reward=self.reward,
            profit=self.profit,
            **{name: getattr(self, name) for name in PER_CLIENT},
        )

    # ----------------------------------------------------------------------- one by one

    def sum_of(self, name: str) -> FloatArray:
        if name == "number":
            return np.ones(self.size)
        if name == "back":
            assert self.amount is not None
            return self.amount * self.reward
        return self.profit**2 if name == "profit_squares" else getattr(self, name)

    def range_of(self, name: str) -> tuple[float, float]:
        values = self.seen(getattr(self, name))
        return float(values.min()), float(values.max())

    def only_whole(self) -> bool:
        rewards = self.seen(self.reward)
        return bool((rewards == np.floor(rewards)).all())

    def moments(
        self, statistic: Statistic | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        values, category, size = self.seen(self.reward), self.seen(self.category), len(self.names)
        values = values if statistic is None else statistic.of_rewards(values)
        counts = np.bincount(category, minlength=size).astype(np.float64)
        some = np.maximum(counts, 1.0)
        means = np.bincount(category, values, size) / some
        gaps = values - means[category]
        return counts, means, np.bincount(category, gaps * gaps, size) / some

    def illegal(self, support: Support) -> tuple[int, float] | None:
        bad = outside(support, self.reward)
        if self.logged is not None:
            bad &= self.logged
        index = int(bad.argmax())
        return (int(self.category[index]), float(self.reward[index])) if bad.any() else None

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        return generator.poisson(1.0, self.size).astype(np.int64, copy=False)

    @cached_property
    def by_what_they_brought(self) -> IntArray:
        """Positions of clients by round and by what they brought, [n].

        When outcomes were known, and how the file is sorted, does not matter, nor what
        refused clients would have brought.  Clients who are the same in all of it are
        interchangeable.
        """
        names = ("category", "score", "propensity", "logged", "reward", "amount", "profit", "round")
        given = {name: getattr(self, name) for name in names}
        if self.logged is not None:
            for name in ("reward", "profit"):
                given[name] = np.where(self.logged, given[name], 0.0)
        return np.lexsort([values for values in given.values() if values is not None])

    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        half = np.empty(self.size, dtype=bool)
        half[self.by_what_they_brought] = generator.random(self.size) < 0.5
        return half

    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return deviations(self.seen(self.profit), self.seen(self.category), len(self.names))

    def tell(
        self,
        agent: Agent,
        part: slice,
        times: npt.NDArray[Any],
        *,
        by_money: bool,
        by_round: bool,
    ) -> None:
        rewards = repeated(self.reward[part], times)
        if not rewards.size:
            return
        amounts = NO_AMOUNTS
        if self.amount is not None and by_money:  # else they decide nothing
            amounts = repeated(self.amount[part], times)
        key = repeated(self.category[part], times).astype(np.int64)
        asked = repeated(self.round[part], times) if by_round else None
        if asked is not None:
            key = key * (self.rounds + 1) + asked
        ends = np.append(np.flatnonzero(key[1:] != key[:-1]) + 1, key.size)
        positions = repeated(self.category[part], times)[ends - 1].astype(np.int64)
        batches = agent.ledger.digest(positions, ends, rewards, amounts)
        agent.ledger.book(
            positions, batches, accepted_in=None if asked is None else asked[ends - 1].tolist()
        )


def repeated(values: Any, times: npt.NDArray[Any]) -> Any:
    """Each value as often as it is there."""
    return values[times] if times.dtype == bool else np.repeat(values, times)


def deviations(
    values: FloatArray, category: npt.NDArray[np.integer], size: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return count, mean, and sums of (value - mean)^2 and its square, [K] each."""
    number = np.bincount(category, minlength=size).astype(np.float64)
    mean = np.bincount(category, values, minlength=size) / np.maximum(number, 1.0)
    squares = np.square(values - mean[category])
    two, four = (np.bincount(category, each, size) for each in (squares, np.square(squares)))
    return number, mean, two.astype(np.float64), four.astype(np.float64)


def _sort(arrays: dict[str, npt.NDArray[Any]], rounds: int) -> None:
    """Sort clients in place; equal clients are interchangeable.

    First by the round in which the outcome was known, then one such round after the
    other: little memory is needed besides the arrays, and the parts are quick to sort.
    """
    late = np.minimum(arrays["known"], rounds + 1)
    # NumPy sorts 16 bits in two passes.
    order = np.argsort(late.astype(np.uint16) if rounds < 2**16 - 1 else late, kind="stable")
    edges = [0, *np.cumsum(np.bincount(late, minlength=rounds + 2)).tolist()]
    # Two names may share an array.
    different = list({id(values): values for values in arrays.values()}.values())
    for values in different:
        values[:] = values[order]
    del order, late
    ties = [arrays[name] for name in ("known", *PER_CLIENT, "profit") if name in arrays]
    for first, last in pairwise(edges):
        if last - first > 1:
            part = slice(first, last)
            key = arrays["category"][part].astype(np.int64) * (rounds + 1) + arrays["round"][part]
            order = _order(key, arrays["reward"][part], [tie[part] for tie in ties])
            for values in different:
                values[part] = values[part][order]


def _order(key: IntArray, reward: FloatArray, ties: list[npt.NDArray[Any]]) -> IntArray:
    """Return the permutation that sorts by key, reward and ties."""
    order = np.argsort(reward)
    order = order[np.argsort(key[order], kind="stable")]
    key, reward = key[order], reward[order]
    same = np.flatnonzero((key[1:] == key[:-1]) & (reward[1:] == reward[:-1]))
    if any((tie[order[same]] != tie[order[same + 1]]).any() for tie in ties):
        order = order[np.lexsort([*(tie[order] for tie in ties), reward, key])]
    return order


# ----------------------------------------------------------------------- rows left out


@dataclass
class OutcomeTally:
    """The number of rows, and the mean of their outcomes as far as they are known."""

    rows: int = 0
    given: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, outcomes: FloatArray) -> None:
        """Count rows; NaN is an outcome that is not known."""
        missing = np.isnan(outcomes)
        known = outcomes[~missing] if missing.any() else outcomes
        self.rows += outcomes.size
        self.given += known.size
        self.total += float(known.sum())
        self.squares += float(known @ known)

    @property
    def mean(self) -> float | None:
        """The mean of the outcomes that are known."""
        return self.total / self.given if self.given else None

    @property
    def variance_of_mean(self) -> float:
        """The squared standard error of the mean."""
        if self.given < 2:
            return math.inf
        spread = max(self.squares - self.total * self.total / self.given, 0.0)
        return spread / (self.given - 1) / self.given


@dataclass(frozen=True)
class LeftOut:
    """Rows that are left out for one reason, compared with those that are kept."""

    reason: str
    rows: int
    mean_reward: float | None  # of those whose outcome is known
    kept_mean: float | None
    differs: bool  # by more than 3 standard errors

    @classmethod
    def of(cls, reason: str, left: OutcomeTally, kept: OutcomeTally) -> "LeftOut":
        """Compare rows left out with rows kept."""
        differs = False
        if left.mean is not None and kept.mean is not None:
            error = math.sqrt(left.variance_of_mean + kept.variance_of_mean)
            differs = abs(left.mean - kept.mean) > FAR * error
        return cls(reason, left.rows, left.mean, kept.mean, differs)

    @property
    def warning(self) -> str | None:
        """The warning if the outcomes differ."""
        if not self.differs:
            return None
        return (
            f"{number_text(self.rows)} rows are left out ({self.reason}), and their mean outcome "
            f"is {number_text(self.mean_reward)} against {number_text(self.kept_mean)} of those "
            "kept: the result is biased"
        )


def check_kept(
    field: str, source: str, kind: str, tallies: Sequence[OutcomeTally], bad: int = 0
) -> None:
    """InputError if there are no rows, or all are left out; tallies are by reason.

    Rows that cannot be read are `bad`.
    """
    total = sum(each.rows for each in tallies) + bad
    if not total:
        raise InputError(field, source, "has no rows", f"give a {kind} with a client in each row")
    if not tallies[IS_KEPT].rows:
        rows, reason = max(
            *((tally.rows, reason) for tally, reason in zip(tallies, REASONS, strict=True)),
            (bad, "bad rows"),
        )
        raise InputError(
            field,
            source,
            f"has no client to replay: {rows} of {total} rows are left out ({reason})",
            "check the columns, or give other ones",
        )


# ---------------------------------------------------------------------------- the past


@dataclass(frozen=True, eq=False)
class Past:
    """Past clients, rows that were left out, and notes for the reader of a result."""

    clients: PastClients
    layout: Layout
    source: str  # where it comes from, as the user names it
    rows: int  # that were read; those left out are among them
    round: str | int  # what a round is
    left_out: list[LeftOut]
    notes: list[str]
    warnings: list[str]
    # Rows left out because they have no outcome yet, by the round in which they asked
    # and category [R, K]; None if there are none.  Those of other rounds and categories
    # than the clients' are in a note only.  Open clients who count are among the
    # clients instead, `known` as NEVER_KNOWN: loans judged by hazards that neither
    # defaulted nor closed, those with an open value, and outcomes without a known date.
    # A scorecard has no bands of open rows, so that they are not counted.
    still_open: IntArray | None = None
    # The mean cost of a client by category [K], if costs are a column.
    costs: FloatArray | None = None
    # The name of the order whose bands the categories are, from the lowest mean to the
    # highest.
    order: str | None = None
    # Numbers of the first rows before they were cut, and rewards.
    uncut: dict[str, tuple[FloatArray, FloatArray]] = field(default_factory=lambda: {})
    # The rewards of all rows, read once more; None if that is impossible.
    rewards_again: Callable[[], Iterator[tuple["Piece", FloatArray]]] | None = field(
        default=None, repr=False
    )

    @classmethod
    def of(
        cls,
        clients: PastClients,
        layout: Layout,
        *,
        tallies: Sequence[OutcomeTally],
        outcomes: OutcomeTally,
        notes: list[str],
        bad: Sequence[LeftOut] = (),
        **more: Any,
    ) -> Self:
        """Make a past from the tallies of all rows, by reason, and of outcomes kept."""
        said = {NOT_WHERE: f"{REASONS[NOT_WHERE]} {layout.where}"}
        left = [
            LeftOut.of(
                said.get(code, REASONS[code]),
                tally,
                outcomes if code in WITHOUT_REWARD else tallies[IS_KEPT],
            )
            for code, tally in enumerate(tallies)
            if tally.rows and code != IS_KEPT
        ]
        if not clients.seen(clients.round).size:
            raise InputError(
                "accepted",
                layout.accepted,
                "says that the past accepted none of the clients who are replayed",
                "give a column with 1 for those whom it accepted",
            )
        return cls(
            clients,
            layout,
            rows=sum(each.rows for each in (*tallies, *bad)),
            left_out=sorted([*left, *bad], key=lambda each: each.reason),
            notes=[*notes, *LateOutcomes.of(clients, layout).notes, *notes_on(clients)],
            warnings=[
                *([PAST_REFUSED] if tallies[WAS_REFUSED].rows else []),
                *warn_of_lateness(clients, layout, more.get("still_open")),
            ],
            **more,
        )

    @property
    def is_late(self) -> bool:
        """Whether some outcomes are known later than in the round of their client."""
        layout = self.layout
        return not self.clients.is_immediate or layout.matures is not None or layout.counts_open

    @cached_property
    def late(self) -> LateOutcomes:
        """How late outcomes are treated, and what can be learnt with it."""
        return LateOutcomes.of(self.clients, self.layout)

    @property
    def treatment(self) -> str:
        """The treatment of late outcomes, such as "at maturity"."""
        return self.late.treatment

    @property
    def learns_from(self) -> int | None:
        """The first round by whose end an outcome counts; None if none does in time."""
        return self.late.learns_from

    @property
    def bands(self) -> IntArray:
        """Positions of the bands of the order, [M]; what is missing is in none."""
        names = self.clients.names if self.order is not None else ()
        return np.array([k for k, name in enumerate(names) if name != MISSING_NAME], np.int64)

    def check_promised(self) -> None:
        """InputError if the value of open clients is plainly in another unit.

        With amounts, a number is per unit lent; a column is money, as the reward is.
        """
        layout, field = self.layout, "promised" if self.layout.open_value is None else "open_value"
        given = getattr(layout, field)
        if given is None or layout.amount is None:
            return
        low, high = self.clients.range_of("promised")
        usual, largest = 1.0 + layout.margin, max(abs(low), abs(high))
        if isinstance(given, str) and 0.0 < largest < usual / FAR_OFF:
            raise InputError(
                field,
                given,
                (
                    f"is at most {number_text(largest)} per unit lent: "
                    f"a column must be money, as {layout.reward} is"
                ),
                f"multiply it by {layout.amount}, or give a number per unit lent",
            )
        if field == "promised" and not isinstance(given, str) and given < usual / 2.0:
            raise InputError(
                field,
                given,
                f"is per unit lent, and {number_text(usual)} must come back",
                "give what comes back of 1 lent, such as 1.14",
            )
        if min(low, high) > usual * FAR_OFF:
            raise InputError(
                field,
                given,
                f"is {number_text(low)} per unit lent or more, and {number_text(usual)} must come "
                "back",
                "give a number per unit lent, such as 1.1, or a column of money",
            )

    def check_rewards(self, family: "Family") -> None:
        """RewardError if a family cannot have a reward, with its row if possible."""
        support = family.support
        clients = self.clients
        bad = clients.illegal(support)
        if bad is None:
            return
        found = reward_error(clients.names[bad[0]], bad[1], support)
        raise type(found)(
            *self._find(found, support),
            found.problem,
            f"{found.remedy}, or choose another family than {family}",
        )

    def _find(self, found: RewardError, support: Support) -> tuple[str, object]:
        """Return the field and the value of the first bad reward of the file."""
        if self.layout.treated is None and self.rewards_again is not None:
            for piece, rewards in self.rewards_again():
                bad = outside(support, rewards)  # NaN, which is left out, is not bad
                if bad.any():
                    row = int(bad.argmax())
                    place = f"{piece.place}, row {piece.first + row}, column {self.layout.reward}"
                    unit = "" if self.layout.amount is None else f" / {self.layout.amount}"
                    return place + unit, float(rewards[row])
        return found.where, found.value
