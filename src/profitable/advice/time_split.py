"""The time split: what the stop list, made earlier, would have earned since.

At several dates, the list is made from what was known by then, and judged on all
clients of the window that follows, up to the next date, with all outcomes of the file.
Windows do not overlap, so their gains add up.

Example: "bad" loses from the first round on, and its outcomes are known at once.

>>> from profitable.past.past import SingleClients
>>> months = np.repeat(np.arange(24), 2)
>>> clients = SingleClients.of(
...     names=("good", "bad"),
...     labels=[f"{2024 + i // 12}-{i % 12 + 1:02}" for i in range(24)],
...     round=months + 1, category=[0, 1] * 24, known=months + 1, reward=[0.0] * 48,
...     profit=np.tile([3.0, -2.0], 24) + 0.5 * (months % 3 - 1),
... )
>>> (found,) = time_splits([Grouping("kind", clients)])
>>> [(each.date, each.stopped, each.gain) for each in found.splits[3:5]]
[('2025-02', ('bad',), 6.0), ('2025-05', ('bad',), 6.0)]
>>> print(found.sentence())
Dropping what lost by then would have earned 19.5 more afterwards (difference 19.5,
95 %: 16.2 to 23.9). 28.5 was lost in bad before that could be known.

How sure the gain is: the block bootstrap of the whole procedure (`block_bootstrap.py`).
It is about other clients and other luck of rounds of the same law.  It knows nothing of
changes: where what lost before pays later, the gain is negative and its interval right
for this change only.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from profitable.advice.as_of import AsOf, BooksAsOf, SumsAsOf
from profitable.advice.block_bootstrap import Blocks, interval
from profitable.advice.judged import BY_HAZARDS, BY_PERIODS, how_of
from profitable.advice.lasting_luck import CHANCE, lasting
from profitable.advice.outcomes import Outcomes
from profitable.advice.stop_list import STOP_LEVEL, chosen
from profitable.common.amounts import Interval, in_short
from profitable.common.text_tables import listed, several
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.model.lending import Lending
from profitable.past.past import NEVER_KNOWN, Past, PastClients, SingleClients
from profitable.past.past_loans import lending_of

DATES = 6  # at which the list is made
SHORTEST = 3  # rounds of a window; with fewer rounds, there are fewer dates
REPLICATES = 500
BOOTSTRAP = 17  # names the random stream of blocks
BOOK_REPLICATES = 200  # of lending books, which are slower to judge
# If fewer replicates list anything, quantiles of 95 % hardly see it.
HARDLY_EVER = 0.1
# Below it, Student's quantiles correct for too much.
FEW_FREEDOMS = 3.0
NAMED = 3  # categories in a sentence


@dataclass(frozen=True, eq=False)
class Grouping:
    """One way of forming categories, and what its clients earned."""

    name: str
    clients: PastClients
    how: str = BY_PERIODS  # how categories are judged
    lending: Lending | None = None  # of loans that are judged by their hazards
    matures: int | None = None  # in place of the age of maturity that is found
    still_open: IntArray | None = None  # clients without an outcome in the file, [R, K]
    # What is earned by accepting a category in a round, where that is not the sum of
    # its clients' profits: the estimate of a log, [R, K].
    earned: FloatArray | None = None

    @classmethod
    def of(cls, name: str, past: Past, earned: FloatArray | None = None) -> "Grouping":
        """Return the grouping of a file."""
        how, layout = how_of(past.layout), past.layout
        return cls(
            name,
            past.clients,
            how,
            lending_of(layout, past.round) if how == BY_HAZARDS else None,
            layout.matures,
            past.still_open,
            earned,
        )

    @property
    def profit(self) -> FloatArray:
        """What accepting a category in a round earned, [R, K].

        Of a log without an estimate, only clients whom the past accepted count.
        """
        clients = self.clients
        if self.earned is not None or clients.logged is None:
            return clients.profit_by_cell if self.earned is None else self.earned
        return clients.by_cell(np.where(clients.logged, clients.profit, 0.0))

    @property
    def number(self) -> FloatArray:
        """How many clients earned that, [R, K]."""
        clients = self.clients
        if self.earned is not None or clients.logged is None:
            return clients.counts
        return clients.clients_by_cell(clients.logged.astype(np.int64))

    def as_of(self, ends: Sequence[int | None]) -> AsOf:
        """Return what was known at the ends of some rounds; all that is, at None."""
        if self.lending is None:
            return SumsAsOf(
                self.clients,
                ends,
                how=self.how,
                matures=self.matures,
                still_open=self.still_open,
            )
        assert isinstance(self.clients, SingleClients)
        return BooksAsOf(self.clients, ends, self.lending)

    def today(self) -> AsOf:
        """Return all that is known; loans that have all ended are tested by periods."""
        ended = self.lending is not None and not (self.clients.known == NEVER_KNOWN).any()
        return SumsAsOf(self.clients, [None]) if ended else self.as_of([None])

    def first_known(self) -> int:
        """Return the first round after which a list can be made; R + 1 if none."""
        if self.lending is not None or self.clients.is_immediate:
            return 1
        low, high = 1, self.clients.rounds + 1
        while low < high:  # nothing is mature before low, something is at high or never
            end = (low + high) // 2
            found = Outcomes.of(
                self.clients, until=end, matures=self.matures, still_open=self.still_open
            )
            low, high = (low, end) if found.mature > 0 else (end + 1, high)
        return low


@dataclass(frozen=True)
class Split:
    """One date: the list that was made, and what it was worth until the next one."""

    date: str
    known: int  # clients that counted
    open: int  # clients who had asked, and did not count
    stopped: tuple[str, ...]
    first: str  # round of the window
    last: str
    accept_all: float  # profit of the window
    gain: float  # of the list over accepting all
    possible: float  # gain of the best list of the window, in hindsight


@dataclass(frozen=True)
class TimeSplit:
    """What the stop list of a grouping would have earned at several dates."""

    grouping: str
    splits: tuple[Split, ...]
    low: float | None  # of the gain; None if nothing can be said
    high: float | None
    # With all outcomes of the file: categories that do not pay, and what they lost in
    # all rounds, less what the lists saved.
    losers: tuple[str, ...] = ()
    missed: float = 0.0
    level: float = STOP_LEVEL
    replicates: int = 0
    is_immediate: bool = False  # whether outcomes are known at once
    doubt: str | None = None  # why there is no interval, or why it may not hold

    @property
    def gain(self) -> float:
        """Gain of the lists over accepting all, in all windows."""
        return math.fsum(each.gain for each in self.splits)

    @property
    def accept_all(self) -> float:
        """Profit of accepting all in all windows."""
        return math.fsum(each.accept_all for each in self.splits)

    @property
    def possible(self) -> float:
        """Gain of the best list of each window, in hindsight."""
        return math.fsum(each.possible for each in self.splits)

    def accepted(self, clients: PastClients) -> BoolArray:
        """Return whom the lists would have accepted, [R, K]; all before the first."""
        found = np.full((clients.rounds, len(clients.names)), True)
        rounds, names = (
            {name: k for k, name in enumerate(each)} for each in (clients.labels, clients.names)
        )
        for split in self.splits:
            window = slice(rounds[split.first], rounds[split.last] + 1)
            found[window, [names[name] for name in split.stopped]] = False
        return found

    @property
    def dates_listed(self) -> int:
        """Number of dates at which something was listed."""
        return sum(bool(each.stopped) for each in self.splits)

    def to_dict(self, unit: str = "") -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("grouping", "gain", "low", "high", "accept_all", "possible", "missed", "level")
        return {
            **{name: getattr(self, name) for name in names},
            "splits": [{**asdict(each), "stopped": list(each.stopped)} for each in self.splits],
            "losers": list(self.losers),
            "replicates": self.replicates,
            "doubt": self.doubt,
            "sentence": self.sentence(unit),
        }

    def sentence(self, unit: str = "") -> str:
        """Say whether the list would have paid; `unit` is that of amounts."""
        late = self._too_late(unit)
        if not self.splits:
            return late or "Nothing can be said: too few rounds are left once outcomes are mature."
        if not self.dates_listed:
            dates = several(len(self.splits), "date")
            return late or f"Nothing to find here: nothing was listed at any of the {dates}."
        return " ".join(filter(None, [self._gained(unit), late]))

    @property
    def is_sure(self) -> bool:
        """Whether the interval of the gain lies on one side of 0."""
        return (self.low or 0.0) > 0.0 or (self.high or 0.0) < 0.0

    def _too_late(self, unit: str) -> str:
        """Say what was lost in categories that do not pay, if that is most of it."""
        if not self.losers or self.missed <= max(self.gain, 0.0):
            return ""
        named = listed(self.losers, NAMED)
        what = in_short(self.missed, unit)
        if self.is_immediate or set(self.losers) & {
            k for each in self.splits for k in each.stopped
        }:
            return f"{what} was lost in {named} before that could be known."
        return f"+{what} was in {named}, but outcomes came too late to be learnt in this file."

    def _gained(self, unit: str) -> str:
        has_interval = self.low is not None and self.high is not None
        low, high = (math.nan if each is None else each for each in (self.low, self.high))
        found = Interval(self.gain, low, high)
        span = f" ({found.in_short(unit)})" if has_interval else ""
        size = found.of_size(abs(self.gain), unit)
        if self.gain == 0.0:
            return f"What lost by then had no clients afterwards, so nothing was gained{span}."
        unsure = ", which may be chance" if has_interval and not self.is_sure else ""
        if self.gain > 0.0:
            return (
                f"Dropping what lost by then would have earned {size} more afterwards{span}"
                f"{unsure}."
            )
        why = unsure or ": what lost before paid later"
        return f"Dropping what lost by then would have LOST {size} afterwards{span}{why}."


def time_splits(
    groupings: Sequence[Grouping],
    *,
    level: float = STOP_LEVEL,
    dates: int = DATES,
    replicates: int | None = None,
    block: int | None = None,
    seed: int = 1,
) -> tuple[TimeSplit, ...]:
    """Return what the stop list would have earned, for each grouping.

    Parameters
    ----------
    groupings : sequence of Grouping
        Ways of forming categories of the same clients.  The false discovery rate is
        that of all their categories together.
    level : float
        False discovery rate of the list.
    dates : int
        Number of dates, evenly between the first one at which anything is mature and
        the end of the file; fewer if there are few rounds.
    replicates : int, optional
        Of the bootstrap, 0 for no intervals; 500 unless given, of lending books 200.
    block : int, optional
        Rounds of a block; the cube root of all rounds unless given.
    seed : int
        Names the random blocks.

    Returns
    -------
    tuple of TimeSplit
        In the order of the groupings.
    """
    rounds = groupings[0].clients.rounds
    if replicates is None:
        by_books = any(each.lending is not None for each in groupings)
        replicates = BOOK_REPLICATES if by_books else REPLICATES
    ends = split_rounds(rounds, max(each.first_known() for each in groupings), dates)
    work = _Lists(groupings, ends, level)
    lists = [work.once(work.known, place) for place in range(len(ends))]
    values: list[FloatArray] = []
    listed = np.empty((0, len(groupings)), dtype=bool)
    blocks = Blocks.of(work.segments(), block) if ends else None
    if blocks is not None and replicates > 1:
        values, listed = work.resample(blocks, replicates, seed)
    losers = work.once([each.today() for each in groupings], 0)
    found: list[TimeSplit] = []
    for place, grouping in enumerate(groupings):
        stopped = [each[place] for each in lists]
        splits = work.splits(place, stopped)
        gain = math.fsum(each.gain for each in splits)
        low = high = None
        doubt = None
        if not ends:
            doubt = "Too few rounds are left once outcomes are mature."
        elif blocks is not None and values:
            share = float(listed[:, place].mean())
            if not any(each.stopped for each in splits) and share < HARDLY_EVER:
                doubt = (
                    "Nothing was listed, and hardly ever in bootstrap portfolios: there is nothing "
                    "to measure."
                )
            else:
                kept = lasting(work.profit[place], grouping.number)
                wider = blocks.widening(kept)
                # So much fewer rounds would tell as much if they were independent.
                freedom = max(blocks.freedom / wider**2, FEW_FREEDOMS)
                around = interval(gain, values[place], freedom, wider)
                low, high = around.low, around.high
                if kept > 0.0:
                    doubt = _says_alike(kept, wider)
                if blocks.freedom < FEW_FREEDOMS:
                    doubt = f"{rounds} rounds are few: the interval is hardly more than a guess."
        lost = -grouping.profit.sum(axis=0)
        saved = math.fsum(
            float(-work.window(place, each)[stop & losers[place]].sum())
            for each, stop in enumerate(stopped)
        )
        found.append(
            TimeSplit(
                grouping.name,
                splits,
                low,
                high,
                work.names(place, losers[place]),
                float(lost[losers[place]].sum()) - saved,
                level,
                len(listed),
                grouping.clients.is_immediate,
                doubt,
            )
        )
    return tuple(found)


def _says_alike(kept: float, wider: float) -> str:
    return (
        f"Neighbouring rounds are alike beyond chance (autocorrelation {kept:.2f}; test at "
        f"{100.0 * CHANCE:g} %): they share their luck, or profits drift. So the interval is "
        f"{wider:.1f} times as wide as for independent rounds, and may still be too narrow."
    )


def split_rounds(rounds: int, first: int, dates: int) -> list[int]:
    """Return the rounds after which the list is made.

    >>> split_rounds(60, 4, 6), split_rounds(10, 3, 6), split_rounds(10, 11, 6)
    ([12, 20, 28, 36, 44, 52], [6], [])
    """
    left = rounds - first
    number = min(dates, left // SHORTEST - 1)
    if number < 1:
        return []
    return [first + left * each // (number + 1) for each in range(1, number + 1)]


class _Lists:
    """Time splits under way."""

    def __init__(self, groupings: Sequence[Grouping], ends: list[int], level: float) -> None:
        self.groupings, self.ends, self.level = groupings, ends, level
        self.known = [each.as_of(ends) for each in groupings] if ends else []
        self.windows = [slice(*edges) for edges in pairwise([*ends, groupings[0].clients.rounds])]
        self.profit = [each.profit for each in groupings]
        self.edges = np.cumsum([len(each.clients.names) for each in groupings])[:-1]

    def segments(self) -> list[int]:
        """Return the edges of segments: the dates, and what was mature at them.

        So a replicate learns from rounds that were mature.  An edge that would leave
        fewer than three rounds is left out, and the rounds on both sides mix.
        """
        edges = [0, *self.ends, self.groupings[0].clients.rounds]
        for mature in sorted({each for known in self.known for each in known.mature}):
            if min(abs(mature - edge) for edge in edges) >= SHORTEST:
                edges.append(mature)
        return sorted(edges)

    def once(self, known: Sequence[AsOf], place: int) -> list[BoolArray]:
        """Return which categories are listed, [K]."""
        rounds = np.arange(self.groupings[0].clients.rounds)[np.newaxis]
        return [each[0] for each in self.lists(known, place, rounds)]

    def lists(self, known: Sequence[AsOf], place: int, rounds: IntArray) -> list[BoolArray]:
        """Return lists of bootstrap portfolios, of all groupings together, [B, K]."""
        pays = np.concatenate([each.pays(place, rounds) for each in known], axis=1)
        listed = np.array([chosen(each, self.level) for each in pays])
        return np.split(listed, self.edges, axis=1)

    def window(self, place: int, split: int) -> FloatArray:
        """Return what the categories of a grouping earned in a window, [K]."""
        return self.profit[place][self.windows[split]].sum(axis=0)

    def names(self, place: int, listed: BoolArray) -> tuple[str, ...]:
        """Return the names of listed categories, those that lost most first."""
        lost = self.profit[place].sum(axis=0)
        names = self.groupings[place].clients.names
        order: list[int] = np.argsort(lost, kind="stable").tolist()
        return tuple(names[k] for k in order if listed[k])

    def splits(self, place: int, stopped: list[BoolArray]) -> tuple[Split, ...]:
        """Return the splits of a grouping."""
        labels = self.groupings[place].clients.labels
        found: list[Split] = []
        for each, end in enumerate(self.ends):
            earned, known = self.window(place, each), self.known[place]
            found.append(
                Split(
                    labels[end - 1],
                    round(known.clients[each]),
                    round(known.open[each]),
                    self.names(place, stopped[each]),
                    labels[end],
                    labels[self.windows[each].stop - 1],
                    float(earned.sum()),
                    float(-earned[stopped[each]].sum()) + 0.0,
                    float(np.maximum(-earned, 0.0).sum()),
                )
            )
        return tuple(found)

    def resample(
        self, blocks: Blocks, replicates: int, seed: int
    ) -> tuple[list[FloatArray], BoolArray]:
        """Return gains [B] of each grouping, and whether it was on a list, [B, G]."""
        generator = np.random.default_rng([seed, BOOTSTRAP])
        rounds, weights = blocks.draw(generator, replicates)
        gains = [np.zeros(replicates) for _ in self.groupings]
        listed = np.zeros((replicates, len(self.groupings)))
        for split, window in enumerate(self.windows):
            earned = [weights[:, window] @ profit[window] for profit in self.profit]  # [B, K]
            for place, stopped in enumerate(self.lists(self.known, split, rounds)):
                gains[place] -= (earned[place] * stopped).sum(axis=1)
                listed[:, place] += stopped.any(axis=1)
        return gains, listed > 0.0
