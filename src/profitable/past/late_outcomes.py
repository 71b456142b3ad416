"""Late outcomes: how they are treated, and from when on a policy can learn.

Losses are often known before gains.  Counted as they come, outcomes make every category
look worse than it is.  So where outcomes come late, the clients of a round count at
maturity: at the age by which 95 % of those who lose and 95 % of those who gain are
known.  Later ones count when they come.  The age is not the longest, because one
straggler would then keep everything from counting.

Example: losses are known after 2 rounds, gains after 8.

>>> from profitable.past.past import SingleClients
>>> asked, gains = np.repeat(np.arange(1, 21), 10), np.tile(np.arange(10) > 0, 20)
>>> clients = SingleClients.of(
...     names=("cars",), labels=[str(t) for t in range(1, 21)],
...     round=asked, category=0 * asked, known=asked + np.where(gains, 8, 2),
...     reward=gains, profit=gains - 0.5,
... )
>>> layout = Layout(category="x", time="t", known="k", reward="y", cost=0.5)
>>> late = LateOutcomes.of(clients, layout)
>>> late.treatment, set(late.ages.tolist()), late.learns_from
('at maturity', {8}, 9)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from profitable.common.text_tables import number_text, percent_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.past.layout import AS_THEY_COME, AT_MATURITY, HAZARDS, Layout

if TYPE_CHECKING:
    from profitable.past.past import PastClients

NEVER_KNOWN = 2**31 - 1  # the round in which an outcome is known that never is
NOT_LATE, AS_THEY_AGE, OPEN_VALUE = "at once", "by age", "open value"  # further treatments
SOON = 1  # rounds after which an outcome is known without being late
LATE_SHARE = 0.1  # share of the losing, or of the gaining clients, whose outcomes are late
MATURE = 0.95  # share of the clients that is known at maturity
FEWEST_IN_BLOCK = 100  # clients whose rounds share an age
FEWEST_DATED, ONE_SIDED = 20, 0.3  # clients of a side; difference of shares without a date
MANY_OPEN = 0.1  # share of the clients, from which on a warning says that they are open
FEWEST_SEEN = 0.05  # share of the clients that the file shows at an age, for it to count


@dataclass(frozen=True, eq=False)
class LateOutcomes:
    """The treatment of late outcomes, and what can be learnt with it."""

    treatment: str
    is_chosen: bool  # because of the dates, not by the user
    # Rounds after which the clients of a round count, [R]; None if outcomes count as
    # they come, or open clients count, too.
    ages: IntArray | None
    learns_from: int | None  # the first round by whose end an outcome counts; None: too late
    share: float  # of the clients, that counts before the last round
    is_late: bool  # whether many outcomes count later than one round after the client asked

    @classmethod
    def of(cls, clients: "PastClients", layout: Layout) -> Self:
        """Choose the treatment, unless the user did."""
        known, asked = clients.seen(clients.known), clients.seen(clients.round)
        number, profit = (clients.seen(clients.sum_of(name)) for name in ("number", "profit"))
        is_chosen, is_late, ages = False, True, None
        ends = known != NEVER_KNOWN
        if layout.by_hazards:
            treatment, counts = HAZARDS, asked  # each round at which a loan is open counts
        elif layout.counts_open:
            treatment = AS_THEY_AGE if layout.open_value is None else OPEN_VALUE
            counts = asked
        else:
            treatment, counts = AS_THEY_COME if layout.known else NOT_LATE, known
            gains = profit[ends] >= 0.0
            times = asked[ends], (known - asked)[ends], number[ends]
            is_late = layout.known is not None and _is_far(*times[1:], gains)
            if layout.matures is not None:
                ages = np.full(clients.rounds, layout.matures)
            elif layout.late == AT_MATURITY or (layout.late is None and is_late):
                is_chosen = layout.late is None
                ages = ages_at_maturity(*times, gains, clients.rounds)
            if ages is not None:
                treatment, is_late = AT_MATURITY, is_late or int(ages.max()) > SOON
                counts = np.maximum(asked.astype(np.int64) + ages[asked - 1], known)
        before = counts < clients.rounds
        learnt = float(number @ before) / max(float(number.sum()), 1.0)
        first = int(counts.min()) if before.any() else None
        return cls(treatment, is_chosen, ages, first, learnt, is_late)

    def counted(self, clients: "PastClients") -> IntArray | None:
        """Return the round in which the outcome of each row counts, [n].

        None if that is the round in which it was known.
        """
        if self.ages is None:
            return None
        asked = clients.round.astype(np.int64)
        return np.maximum(asked + self.ages[asked - 1], clients.known)

    @property
    def span(self) -> str:
        """After how many rounds clients count; empty if none waits."""
        if self.ages is None or not self.ages.size:
            return ""
        least, most = int(self.ages.min()), int(self.ages.max())
        span = number_text(least) if least == most else f"{least} to {number_text(most)}"
        return f"{span} {'round' if most == 1 else 'rounds'}"

    @property
    def notes(self) -> list[str]:
        """What a reader must know of a treatment that was chosen."""
        if not self.is_chosen:
            return []
        return [
            (
                f"outcomes count {self.span} after the client asked, when "
                f"{percent_text(MATURE)} of those who lose and of those who gain are known: as "
                "they come, losses are often known before gains. "
                f"late = {AS_THEY_COME!r} counts them naively"
            )
        ]


def warn_of_lateness(
    clients: "PastClients", layout: Layout, still_open: IntArray | None
) -> list[str]:
    """Warn if what is known is a biased part of what will be known."""
    early = warn_of_early_ends(clients, still_open) or warn_of_open(clients, still_open)
    return [*warn_of_one_sided_dates(clients, layout), *early]


def warn_of_early_ends(clients: "PastClients", still_open: IntArray | None) -> list[str]:
    """Warn if many clients asked when others did who are open, [R, K].

    Those of them who are known ended early, and count in every profit.
    """
    if still_open is None:
        return []
    number, waiting = (each.sum(axis=1).astype(float) for each in (clients.counts, still_open))
    blocks = blocks_of(number + waiting)
    known, opened = np.bincount(blocks, number), np.bincount(blocks, waiting)
    is_young = opened > LATE_SHARE * (known + opened)
    early = float(known[is_young].sum())
    # Open everywhere, they are not the young ones.
    if is_young.all() or early <= LATE_SHARE * float(known.sum()):
        return []
    first = int(is_young[blocks].argmax())
    since = f" since {clients.labels[first]}" if first else ""
    said = (
        f"{number_text(opened[is_young].sum())} of the clients who asked{since} are open, and the "
        f"{number_text(early)} others are those who ended early: profits, policies and baselines "
        "count them, and are biased. The stop list waits for the rest. Replay older clients only, "
        "or give open_value"
    )
    return [said]


def warn_of_open(clients: "PastClients", still_open: IntArray | None) -> list[str]:
    """Warn if many clients are open, of whom no profit knows."""
    there = float(clients.sum_of("number").sum())
    waiting = 0.0 if still_open is None else float(still_open.sum())
    if waiting <= MANY_OPEN * (there + waiting):
        return []
    share = percent_text(waiting / (there + waiting))
    said = (
        f"{share} of the clients have no outcome yet and count in no profit: if losses are "
        "known before gains, what the past and every policy earned is too low"
    )
    return [said]


def warn_of_one_sided_dates(clients: "PastClients", layout: Layout) -> list[str]:
    """Warn if losses, or gains, lack a known date far more often than the others.

    Policies would then learn from the others only.  For example, the date of the last
    payment in full is missing where a loan was charged off.
    """
    profit, number = (clients.seen(clients.sum_of(name)) for name in ("profit", "number"))
    dated = clients.seen(clients.known) != NEVER_KNOWN
    if layout.known is None or layout.by_hazards or dated.all() or number.max() > 1.0:
        return []  # cells know no single clients
    lacking: list[float] = []
    for group in (profit < 0.0, profit >= 0.0):
        there = float(number[group].sum())
        if there < FEWEST_DATED:
            return []
        lacking.append(float(number[group & ~dated].sum()) / there)
    losing, others = lacking
    if abs(losing - others) < ONE_SIDED:
        return []
    seen = "gains" if losing > others else "losses"
    shares = [percent_text(share) for share in lacking]
    said = (
        f"{layout.known} is empty for {shares[0]} of the clients who lost and {shares[1]} of the "
        f"others, so that policies learn from {seen} only: their decisions say nothing. Give a "
        "column that dates every outcome, or leave out known and give matures"
    )
    return [said]


def _is_far(age: IntArray, number: FloatArray, gains: BoolArray) -> bool:
    """Whether many of the losing, or of the gaining clients are known late."""
    return any(
        float(number[group & (age > SOON)].sum()) > LATE_SHARE * float(number[group].sum())
        for group in (gains, ~gains)
    )


def ages_at_maturity(
    asked: IntArray, age: IntArray, number: FloatArray, gains: BoolArray, rounds: int
) -> IntArray:
    """Return the age by which the clients of each round are known, [R].

    Arrays are of the rows whose outcome is known at all, [n].  Rounds whose clients are
    too young for the file to show all their outcomes have at least the age of others.
    """
    found = np.zeros(rounds, dtype=np.int64)
    last = int((asked.astype(np.int64) + age).max(initial=0))
    for group in (gains, ~gains):
        if not group.any():
            continue
        times = asked[group].astype(np.int64), age[group].astype(np.int64), number[group]
        usual = age_of_all(*times, last)
        blocks = blocks_of(np.bincount(times[0] - 1, times[2], rounds).astype(np.float64))
        own = _quantiles(blocks[times[0] - 1], times[1], times[2], int(blocks[-1]) + 1)[blocks]
        is_young = last - np.arange(1, rounds + 1) < usual
        found = np.maximum(found, np.where(is_young, np.maximum(own, usual), own))
    return found


def age_of_all(asked: IntArray, age: IntArray, number: FloatArray, last: int) -> int:
    """Return the age by which 95 % are known, though young clients may be missing.

    A client who asked in round t is in the file only if known by its last round: such
    ages are truncated at u = last - t.  Among those who could be seen at an age, the
    share that is known earlier is not: the shares are multiplied from the end.

    >>> asked, ones = np.repeat([1, 2, 3, 4], 2), np.ones(8)
    >>> age_of_all(asked, np.array([1, 3] * 3 + [1, 1]), ones, last=6)
    3
    """
    ages, places = np.unique(age, return_inverse=True)
    at = np.bincount(places, number)
    # Clients who asked too late to be seen at an age.
    order = np.argsort(last - asked, kind="stable")
    until = np.append(0.0, np.cumsum(number[order]))
    hidden = until[np.searchsorted((last - asked)[order], ages)]
    there = at.cumsum() - hidden
    at = np.where(until[-1] - hidden >= FEWEST_SEEN * until[-1], at, 0.0)
    earlier = np.divide(there - at, there, out=np.ones(ages.size), where=there > 0.0)
    known = np.append(np.cumprod(earlier[::-1])[::-1][1:], 1.0)
    return int(ages[np.argmax(known >= MATURE - 1e-9)])


def blocks_of(clients: FloatArray) -> IntArray:
    """Return the block of each round, [R]: next rounds with 100 clients or more.

    >>> blocks_of(np.array([60.0, 60.0, 0.0, 150.0, 10.0])).tolist()
    [0, 0, 1, 1, 1]
    """
    until = np.cumsum(clients)
    ends: list[int] = []
    start = 0.0
    while until[-1] - start >= FEWEST_IN_BLOCK:
        ends.append(int(np.searchsorted(until, start + FEWEST_IN_BLOCK)))
        start = float(until[ends[-1]])
    # What is left joins the last block.
    return np.searchsorted(np.array(ends[:-1], dtype=np.int64), np.arange(clients.size))


def _quantiles(block: IntArray, age: IntArray, number: FloatArray, size: int) -> IntArray:
    """Return the age by which 95 % of each block are known; 0 where there is nobody."""
    found = np.zeros(size, dtype=np.int64)
    order = np.lexsort((age, block))
    block, age, until = block[order], age[order], np.cumsum(number[order])
    starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    ends = np.append(starts[1:], block.size) - 1
    before = np.append(0.0, until)[starts]
    wanted = before + MATURE * (until[ends] - before)
    # Rounding must not ask for more clients than there are.
    places = np.minimum(np.searchsorted(until, wanted - 1e-6), ends)
    found[block[starts]] = age[places]
    return found
