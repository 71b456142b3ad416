"""Outcomes: past clients and their profit by round and category, as known on a day.

A round is *mature* if hardly any of its outcomes is still open.  Only mature rounds
count: losses are often known before gains, so that the outcomes known so far of a young
round are a biased sample of it.

Example: gains are known at once, but for one that takes two rounds.  At the end of
round 3, only the first round is old enough:

>>> from profitable.past.past import SingleClients
>>> clients = SingleClients.of(
...     names=("cars",), labels=("1", "2", "3"), round=[1, 1, 2, 3], category=[0] * 4,
...     known=[1, 3, 2, 3], reward=[0.0] * 4, profit=[1.0, 5.0, 1.0, 1.0],
... )
>>> found = Outcomes.of(clients, until=3)
>>> found.mature, found.profit.tolist(), found.open.tolist()
(1, [[6.0], [0.0], [0.0]], [[0.0], [1.0], [1.0]])
"""

from dataclasses import dataclass

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.past.late_outcomes import MATURE
from profitable.past.past import NEVER_KNOWN, PastClients

RECENT = 400  # clients that say whether a round is mature, where no outcome has a date


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes by round and category, as known at the end of a round."""

    names: tuple[str, ...]  # [K]
    labels: tuple[str, ...]  # of the rounds 1 to R
    # Of mature rounds, [R, K]: clients whose outcome is known, and what they brought.
    clients: FloatArray
    profit: FloatArray
    open: FloatArray  # clients who asked by then and are not counted, [R, K]
    mature: int  # the last mature round, 0 if there is none
    amount: FloatArray | None = None  # what was lent to the clients that count, [R, K]
    # The largest and the smallest profit of a client known by then, of all categories.
    most: float | None = None
    least: float | None = None

    @classmethod
    def of(
        cls,
        clients: PastClients,
        *,
        until: int | None = None,
        matures: int | None = None,
        weights: IntArray | None = None,
        still_open: IntArray | None = None,
    ) -> "Outcomes":
        """Add up the clients who asked by the end of a round.

        The age of maturity is the smallest at which 95 % of the outcomes are known, of
        all clients who are that old.  Nothing that is known later is used.

        Parameters
        ----------
        clients : PastClients
            Clients, or cells of them.
        until : int, optional
            The round at whose end the outcomes are looked at; the end of the file
            unless given, when all of its outcomes are known.
        matures : int, optional
            Age at which a round is mature, in place of the one that is found.
        weights : array of shape [n], optional
            How often each row counts.
        still_open : array of shape [R, K], optional
            Clients who asked and have no outcome in the file.

        Returns
        -------
        Outcomes
            The sums.

        """
        counts = _Rows.of(clients, until, weights, still_open)
        today = counts.today
        if matures is not None:
            mature = today - matures
        elif until is None and still_open is None:
            mature = today  # there is nothing else to come
        elif counts.are_late or until is not None:
            mature = today - counts.age_of_maturity()
        else:
            mature = counts.last_mature()
        mature = max(0, min(mature, clients.rounds))
        counted = counts.is_known & (clients.round <= mature)

        def sums(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else clients.by_cell(np.where(counted, values, 0.0))

        times = 1.0 if weights is None else weights
        number = clients.by_cell(np.where(counted, counts.number, 0.0))
        profit = sums(clients.profit * times)
        assert profit is not None
        return cls(
            clients.names,
            clients.labels,
            number,
            profit,
            counts.asked - number,
            mature,
            sums(None if clients.amount is None else clients.amount * times),
            *extremes(clients, counts.is_known & (counts.number > 0.0)),
        )


def extremes(clients: PastClients, chosen: BoolArray) -> tuple[float, float] | tuple[None, None]:
    """Return bounds on the profits of clients of some rows [n], from above first."""
    if not chosen.any():
        return None, None
    above, below = furthest(clients)
    return float(above[chosen].max()), float(below[chosen].min())


def furthest(clients: PastClients) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the profits of the clients of each row [n], from above first.

    Of single clients they are the largest and the smallest profit.  A cell keeps sums,
    and no profit is further from its mean than the root of the sum of fourth powers.
    """
    if clients.number is None:
        return clients.profit, clients.profit
    number, one, two, three, four = (
        clients.sum_of(name)
        for name in ("number", "profit", "profit_squares", "profit_cubes", "profit_fourths")
    )
    number = np.maximum(number, 1.0)
    mean = one / number
    fourth = four - 4.0 * mean * three + 6.0 * mean**2 * two - 3.0 * number * mean**4
    away = np.maximum(fourth, 0.0) ** 0.25
    return mean + away, mean - away


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows [n] of clients as one knows them at the end of a round."""

    clients: PastClients
    today: int
    number: FloatArray  # of clients, [n]; 0 where the past refused them
    is_known: BoolArray  # whether their outcome is known today, [n]
    asked: FloatArray  # clients who have asked, [R, K], with those the file lacks

    @classmethod
    def of(
        cls,
        clients: PastClients,
        until: int | None,
        weights: IntArray | None,
        still_open: IntArray | None,
    ) -> "_Rows":
        number = clients.sum_of("number")
        number = number.astype(np.float64) if weights is None else number * weights
        if clients.logged is not None:
            number = np.where(clients.logged, number, 0.0)
        has_date = clients.known != NEVER_KNOWN
        if until is None:
            today = clients.rounds
            if still_open is not None:
                today = max(today, int(clients.known[has_date].max(initial=0)))
            is_known = np.full(clients.size, True)
        else:
            today, is_known = until, clients.known <= until
        if clients.logged is not None:
            is_known = is_known & clients.logged
        asked = clients.by_cell(number)
        if still_open is not None:
            asked = asked + still_open
        asked[today:] = 0.0
        return cls(clients, today, number, is_known, asked)

    @property
    def are_late(self) -> bool:
        """Whether some outcome is known later than in the round of its client."""
        return not self.clients.is_immediate

    def age_of_maturity(self) -> int:
        """Return the smallest age at which 95 % of the outcomes are known.

        The share of an age is that of all clients who are at least so old today, and
        were known by that age.  Shares known today of all that are older would not do:
        after many old rounds, a few that have hardly begun would pass with them.
        """
        clients, today = self.clients, self.today
        # An outcome without a date that is in the file says nothing about ages.
        dated = self.is_known & (clients.known != NEVER_KNOWN)
        number = self.number[dated]
        asked = clients.round[dated].astype(np.int64)
        delay = np.maximum(clients.known[dated] - asked, 0)
        # A client counts as known at the ages from its delay to its age today.
        changes = np.bincount(delay, number, today + 1)
        changes = changes - np.bincount(today - asked + 1, number, today + 1)
        known = np.cumsum(changes)[:today]
        undated = self.is_known & ~dated
        by_round = self.asked.sum(axis=1)
        if undated.any():
            by_round = by_round - clients.by_cell(np.where(undated, self.number, 0.0)).sum(axis=1)
        upto = np.zeros(today)
        upto[: by_round.size] = by_round[:today]
        there = np.cumsum(upto)[::-1]  # who is so old, or older
        ages = np.flatnonzero((there > 0.0) & (known >= MATURE * there - 1e-9))
        return int(ages[0]) if ages.size else today

    def last_mature(self) -> int:
        """Return the last round of which 95 % are known, where no outcome has a date.

        It is judged with the rounds before it, until there are 400 clients.
        """
        asked = self.asked.sum(axis=1)
        known = self.clients.by_cell(np.where(self.is_known, self.number, 0.0)).sum(axis=1)
        for last in range(asked.size, 0, -1):
            upto = np.cumsum(asked[:last][::-1])
            first = int(np.searchsorted(upto, RECENT))
            some = slice(max(last - first - 1, 0), last)
            if asked[last - 1] and known[some].sum() >= MATURE * asked[some].sum() - 1e-9:
                return last
        return 0
