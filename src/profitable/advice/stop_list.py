"""Whom to stop accepting today: a list with a controlled false discovery rate.

The null hypothesis of each category is that it pays.  A category is on the list if
Benjamini and Hochberg's procedure rejects that, over the categories of all groupings:
at most 10 % of a list are expected to be categories that pay.

>>> pays = np.array([0.001, 0.04, 0.03, 0.9, math.nan])
>>> chosen(pays, 0.1).tolist()
[True, True, True, False, False]
>>> chosen(pays, 0.01).tolist()
[True, False, False, False, False]
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from profitable.advice.betting import refutations
from profitable.advice.judged import BY_BETS, BY_HAZARDS, BY_ORDER, BY_PERIODS, JudgedGrouping
from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import LEAST_PERIODS, PERIODS, Periods, Recent, both_looks
from profitable.common.amounts import in_short
from profitable.common.text_tables import listed, money_text, number_text, several, text_table
from profitable.common.types import BoolArray, FloatArray

STOP_LEVEL = 0.1  # the false discovery rate of a list
LEAST_LISTED = 8  # of a table, unless more are listed
STOP_HEADERS = (
    *("category", "", "clients", "open", "mean", "needed", "profit", "per client, 95 %", "P(pays)"),
)
LATELY = "P(pays) lately"  # one column more, where the later half is looked at
MOST_NAMED = 12  # categories in a sentence
NUMBER_WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
BY_ONE_LOOK = (
    f"One-sided t-tests of the profit per client, clustered by {PERIODS} periods, with two "
    "imagined clients who bring the most that any has"
)
SAYS_HOW = {
    BY_PERIODS: (
        f"{BY_ONE_LOOK}: of the whole past, and of the later half of each category's clients; "
        "p is twice the smaller P(pays) of both"
    ),
    BY_ORDER: BY_ONE_LOOK,
    BY_BETS: "E-values of bets on rounds, because the past chose its clients",
    BY_HAZARDS: "Posterior probabilities by the hazards of the loans",
}


def probabilities(
    outcomes: Outcomes, how: str = BY_PERIODS, most: FloatArray | None = None
) -> FloatArray:
    """Return P(pays) of each category, [K]; NaN where nothing can be said.

    It is the p-value of the null hypothesis that the category pays, by two looks: at
    the whole past and at its later half.  By bets it is the inverse of an e-value.  It
    is fast, because a bootstrap calls it thousands of times, with the largest profit of
    a client in each of its portfolios (`most`, by periods).
    Loans that are judged by their hazards have `hazard_probabilities`.
    """
    if how == BY_BETS:
        return refutations(outcomes)
    both = how == BY_PERIODS
    return both_looks(outcomes, most) if both else Periods.of(outcomes, most).pays()


def chosen(pays: FloatArray, level: float) -> BoolArray:
    """Choose categories by Benjamini and Hochberg's procedure; NaN is not tested."""
    found = np.full(pays.shape, False)
    tested = np.flatnonzero(~np.isnan(pays))
    order = tested[np.argsort(pays[tested], kind="stable")]
    passes = np.flatnonzero(pays[order] <= level * np.arange(1, order.size + 1) / order.size)
    if passes.size:
        found[order[: passes[-1] + 1]] = True
    return found


@dataclass(frozen=True)
class StopRow:
    """One category of the list.

    Attributes
    ----------
    grouping, category : str
        Their names.
    clients : int
        Clients that count, in mature rounds.
    open : int
        Clients who asked and do not count yet.
    amount : float or None
        What was lent to those that count.
    mean, threshold : float
        Mean reward, and what it must be; None without clients.
    profit : float
        In money.
    low, high : float or None
        95 % interval of the profit per client, in money.
    pays : float or None
        One-sided p-value of "it pays", of the whole past; None if nothing can be said.
    stop : bool
        Whether it is on the list.
    recent_clients, recent_profit : int and float, or None
        Of the later half of the clients; None if nothing can be said of that half.
    recent_pays : float or None
        P-value of that half.
    recent_since : str or None
        The round in which that half begins.
    p : float or None
        The p-value that the list uses: of both together.
    """

    grouping: str
    category: str
    clients: int
    open: int
    amount: float | None
    mean: float | None
    threshold: float
    profit: float
    low: float | None
    high: float | None
    pays: float | None
    stop: bool
    recent_clients: int | None = None
    recent_profit: float | None = None
    recent_pays: float | None = None
    recent_since: str | None = None
    p: float | None = None

    def lost_lately(self, level: float) -> bool:
        """Whether only the later half shows that it loses."""
        if self.recent_profit is None or self.recent_profit >= 0.0:
            return False
        return self.profit >= 0.0 or self.pays is None or self.pays > level


@dataclass(frozen=True)
class StopList:
    """Categories of one or several groupings, those that hardly pay first."""

    rows: tuple[StopRow, ...]
    level: float
    method: str
    tested: int  # categories of which something can be said
    notes: tuple[str, ...]

    @classmethod
    def of(cls, groupings: Sequence[JudgedGrouping], level: float = STOP_LEVEL) -> "StopList":
        """Make the list from the categories of all groupings that are tried."""
        pays = np.concatenate([each.test.both for each in groupings])
        stop = iter(chosen(pays, level).tolist())
        rows = [row for each in groupings for row in _rows(each, stop)]
        tested = int((~np.isnan(pays)).sum())
        rows.sort(key=_place)
        return cls(
            tuple(rows), level, _method(groupings, tested), tested, tuple(_notes(groupings, rows))
        )

    def stopped(self, grouping: str) -> tuple[str, ...]:
        """Return the names of the categories of a grouping that are on the list."""
        return tuple(row.category for row in self.rows if row.stop and row.grouping == grouping)

    @property
    def groupings(self) -> tuple[str, ...]:
        """Names of the groupings, those first that have the worst category."""
        return tuple(dict.fromkeys(row.grouping for row in self.rows))

    def sentence(self, unit: str = "") -> str:
        """Say it to a head of credit; `unit` is that of amounts."""
        rate = f"false discovery rate at most {100.0 * self.level:g} %"
        bad = [row for row in self.rows if row.stop]
        if not self.tested:
            return f"Nothing can be said yet: {self.notes[-1]}."
        if not bad:
            return (
                f"Nothing to stop: of {several(self.tested, 'category')}, none loses beyond "
                f"chance ({rate})."
            )
        first = "Stop this one" if len(bad) == 1 else f"Stop these {_count(len(bad))}"
        if len(self.groupings) == 1:
            return f"{first}: {self._named(bad)} ({rate}); {_lost(bad, unit, self.level)}."
        parts = [
            f"by {name}, {self._named(stopped)}"
            for name in self.groupings
            if (stopped := [row for row in bad if row.grouping == name])
        ]
        return f"{first}: {'; '.join(parts)} ({rate} over all groupings together)."

    def _named(self, rows: Sequence[StopRow]) -> str:
        """Name categories, those last that are listed for what they lost lately."""
        lately = [row for row in rows if row.lost_lately(self.level)]
        others = [row.category for row in rows if not row.lost_lately(self.level)]
        named = [listed(others, MOST_NAMED)] if others else []
        named += [
            f"{listed([row.category], 1)} for its losses since {row.recent_since}"
            for row in lately[:MOST_NAMED]
        ]
        more = len(lately) - MOST_NAMED
        return ", and ".join(named) + (f", and {more} more for late losses" if more > 0 else "")

    def table(self, most: int = LEAST_LISTED) -> str:
        """Return the categories that hardly pay as a table; all that are listed."""
        shown = self.rows[: max(most, sum(row.stop for row in self.rows))]
        several_ways = len(self.groupings) > 1
        looks_twice = any(row.recent_pays is not None for row in shown)
        rows = [
            (
                *([row.grouping] if several_ways else []),
                row.category,
                "stop" if row.stop else "",
                number_text(row.clients),
                number_text(row.open),
                number_text(row.mean),
                number_text(row.threshold),
                money_text(row.profit),
                "-"
                if row.low is None or row.high is None
                else f"{money_text(row.low)} to {money_text(row.high)}",
                number_text(row.pays, 2),
                *([number_text(row.recent_pays, 2)] if looks_twice else []),
            )
            for row in shown
        ]
        headers = ("grouping", *STOP_HEADERS) if several_ways else STOP_HEADERS
        headers = (*headers, LATELY) if looks_twice else headers
        more = len(self.rows) - len(shown)
        rest = f"\n... and {number_text(more)} more that are likelier to pay" if more > 0 else ""
        return text_table(headers, rows, words=(0, 1, 2) if several_ways else (0, 1)) + rest

    def to_dict(self, unit: str = "") -> dict[str, Any]:
        """Return the list as JSON-ready values."""
        return {
            "level": self.level,
            "method": self.method,
            "tested": self.tested,
            "rows": [asdict(row) for row in self.rows],
            "notes": list(self.notes),
            "sentence": self.sentence(unit),
        }


def _place(row: StopRow) -> tuple[bool, float, float, float, str]:
    p, pays = (math.inf if each is None else each for each in (row.p, row.pays))
    return row.p is None, p, pays, row.profit, row.category


def _count(number: int) -> str:
    return NUMBER_WORDS[number - 1] if number <= len(NUMBER_WORDS) else number_text(number)


def _lost(rows: Sequence[StopRow], unit: str, level: float) -> str:
    """Say what was lost; by categories that lost lately, what their later half lost."""
    lately = [row for row in rows if row.lost_lately(level)]
    others = [row for row in rows if not row.lost_lately(level)]
    profit = sum(row.profit for row in others) + sum(row.recent_profit or 0.0 for row in lately)
    number = sum(row.clients for row in others) + sum(row.recent_clients or 0 for row in lately)
    brought = in_short(abs(profit), unit)
    what = f"lost {brought}" if profit < 0.0 else f"brought {brought}"
    clients = several(number, "client")
    return f"{'it' if len(rows) == 1 else 'they'} {what} on {clients}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _rows(grouping: JudgedGrouping, stop: Any) -> list[StopRow]:
    """Return the rows of a grouping; `stop` gives whether the next is on the list."""
    outcomes, test = grouping.outcomes, grouping.test
    totals = [each.sum(axis=0).tolist() for each in (outcomes.clients, outcomes.open)]
    profit = outcomes.profit.sum(axis=0).tolist()
    amount = None if outcomes.amount is None else outcomes.amount.sum(axis=0).tolist()
    edges = [each.tolist() for each in (grouping.mean, test.low, test.high, test.pays, test.both)]
    lately = [_lately(outcomes, test.recent, k) for k in range(len(outcomes.names))]
    return [
        StopRow(
            grouping=grouping.name,
            category=name,
            clients=round(totals[0][k]),
            open=round(totals[1][k]),
            amount=None if amount is None else amount[k],
            mean=_number(edges[0][k]),
            threshold=grouping.threshold,
            profit=profit[k],
            low=_number(edges[1][k]),
            high=_number(edges[2][k]),
            pays=_number(edges[3][k]),
            stop=next(stop),
            **lately[k],
            p=_number(edges[4][k]),
        )
        for k, name in enumerate(outcomes.names)
    ]


def _lately(outcomes: Outcomes, recent: Recent | None, k: int) -> dict[str, Any]:
    """Return the fields about the later half of a category; none if it says nothing."""
    if recent is None or math.isnan(recent.pays[k]):
        return {}
    return {
        "recent_clients": round(float(recent.clients[k])),
        "recent_profit": float(recent.profit[k]),
        "recent_pays": float(recent.pays[k]),
        "recent_since": outcomes.labels[int(recent.first[k])],
    }


def _method(groupings: Sequence[JudgedGrouping], tested: int) -> str:
    first = groupings[0]
    what = "the effect of the offer pays for its cost" if first.is_uplift else "the category pays"
    over = several(tested, "category")
    if len(groupings) > 1:
        over = f"{over} of {_count(len(groupings))} groupings"
    return f"Null hypothesis: {what}. {SAYS_HOW[first.how]}; Benjamini-Hochberg over {over}."


def _notes(groupings: Sequence[JudgedGrouping], rows: Sequence[StopRow]) -> list[str]:
    """Return what a reader should know; why nothing is tested comes last."""
    notes: list[str] = []
    first = groupings[0]
    waiting, outcomes = round(float(first.outcomes.open.sum())), first.outcomes
    if first.how == BY_BETS:
        notes.append(
            "categories that the past had already stopped accepting rarely reach the list: it "
            "stopped them before the evidence was strong"
        )
    if waiting:
        some = f"{several(waiting, 'client')} {'is' if waiting == 1 else 'are'} open"
        if first.how == BY_HAZARDS:
            notes.append(f"{some}, and the hazards say what they will bring")
        elif outcomes.mature:
            last = outcomes.labels[outcomes.mature - 1]
            notes.append(
                f"{some} or too recent, and not counted; the last round that is, is {last}"
            )
        else:
            notes.append(f"{some}, and no round is so old that 95 % of its outcomes are known")
    silent = sum(row.p is None for row in rows)
    if silent and (outcomes.mature or first.how == BY_HAZARDS):
        nobody = (
            "" if silent == len(rows) else f"nothing can be said of {several(silent, 'category')}: "
        )
        notes.append(nobody + _reason(first))
    return notes


def _reason(grouping: JudgedGrouping) -> str:
    """Return why nothing can be said of some categories."""
    if grouping.how == BY_HAZARDS:
        return "nobody has asked for their loans, or none could have defaulted yet"
    most = grouping.outcomes.most
    if most is not None and most <= 0.0:
        return "no client has brought a profit so far, and nobody knows how much one can bring"
    if grouping.how == BY_BETS:
        return "no client was accepted in a round that counts"
    return f"clients whose outcomes are known asked in fewer than {LEAST_PERIODS} periods"
