"""Comparison of two portfolios on the same stream of outcomes, such as a shadow.

Decisions are compared key by key, and clients id by id.  A client counts for a
portfolio if its decision of the same key accepted his category.  Clients whom the
acting portfolio refused were never seen, so what the other would have earned with them
is not in any number here.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from profitable.agent.explanation import PROFIT_UNKNOWN
from profitable.common.text_tables import ROWS_SHOWN, money_text, number_text, text_table
from profitable.portfolio.export import Settled, exported_loans, settled
from profitable.portfolio.journal import intact, journal, journal_lines
from profitable.portfolio.portfolio import Portfolio
from profitable.portfolio.row_intake import accepted_of

COMPARED = (
    "category",
    "both",
    "only first",
    "only second",
    "neither",
    "profit of first",
    "profit of second",
)


# Whether the first and the second accept, in the order of the columns.
VERDICTS = ((True, True), (True, False), (False, True), (False, False))


@dataclass
class ComparedCategory:
    """One category: who accepted it in shared rounds, and the profit of each.

    Profits are None if one of the portfolios lends.
    """

    category: str
    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0
    first_profit: float | None = 0.0
    second_profit: float | None = 0.0


@dataclass(frozen=True)
class PortfolioComparison:
    """Two portfolios side by side."""

    first: str
    second: str
    policies: tuple[str, str]
    keys: int  # decisions that both have made
    only_keys: tuple[int, int]  # decisions of one of them alone
    shared: int  # outcomes that both have, with the same content
    differ: int  # outcomes that both have, with another content
    only_outcomes: tuple[int, int]
    unjudged: int  # shared outcomes of rounds that not both have decided: no profit counts them
    rows: tuple[ComparedCategory, ...]

    @property
    def is_same_stream(self) -> bool:
        """Whether both have seen the same outcomes."""
        return self.differ == 0 and self.only_outcomes == (0, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready values."""
        return {
            "first": self.first,
            "second": self.second,
            "keys": self.keys,
            "shared": self.shared,
            "differ": self.differ,
            "unjudged": self.unjudged,
            "policies": list(self.policies),
            "only_keys": list(self.only_keys),
            "only_outcomes": list(self.only_outcomes),
            "same_stream": self.is_same_stream,
            "categories": [vars(row) for row in self.rows],
        }

    def __str__(self) -> str:
        stream = "the same outcomes" if self.is_same_stream else "NOT the same outcomes"
        alone = _alone(self.only_outcomes)
        other = f", {number_text(self.differ)} have another content" if self.differ else ""
        said = [
            f"first:  {self.first} ({self.policies[0]})",
            f"second: {self.second} ({self.policies[1]})",
            f"{number_text(self.keys)} decisions have the same key{_alone(self.only_keys)}.",
            f"Both saw {stream}: {number_text(self.shared)} are shared{alone}{other}.",
        ]
        rows = [
            [
                each.category,
                *map(number_text, (each.both, each.only_first, each.only_second, each.neither)),
                *map(money_text, (each.first_profit, each.second_profit)),
            ]
            for each in self.rows[:ROWS_SHOWN]
        ]
        profits = (
            [each.first_profit for each in self.rows],
            [each.second_profit for each in self.rows],
        )
        total = [None if None in each else sum(filter(None, each)) for each in profits]
        rows.append(["all", "", "", "", "", *map(money_text, total)])
        hidden = len(self.rows) - ROWS_SHOWN
        rest = [f"... and {number_text(hidden)} more categories"] if hidden > 0 else []
        limit = "Profits are of clients seen by both, whose category the portfolio accepted then."
        if None in total:
            limit = f"Profits are not known: {PROFIT_UNKNOWN}."
        elif self.unjudged:
            limit += (
                f" {number_text(self.unjudged)} clients are in none: only one decided about their "
                "round."
            )
        return "\n".join([*said, text_table(COMPARED, rows), *rest, limit])


def _alone(numbers: tuple[int, int]) -> str:
    return (
        f", {number_text(numbers[0])} are in the first alone and {number_text(numbers[1])} in the "
        "second"
        if any(numbers)
        else ""
    )


def compare(first: Portfolio, second: Portfolio) -> PortfolioComparison:
    """Put two portfolios side by side."""
    with first._reading() as (one, agent), second._reading() as (two, other):
        mine, theirs = _decisions(one), _decisions(two)
        keys = mine.keys() & theirs.keys()
        rows: dict[str, ComparedCategory] = {}
        for name in dict.fromkeys((*agent.names, *other.names)):
            both = Counter((name in mine[key], name in theirs[key]) for key in keys)
            rows[name] = ComparedCategory(name, *(both[accepted] for accepted in VERDICTS))
        if agent.lending is not None or other.lending is not None:
            counts = _ends(_ended(one), _ended(two))
            for row in rows.values():
                row.first_profit = row.second_profit = None
        else:
            clients = settled(first, one, by_id=True), settled(second, two, by_id=True)
            counts = _outcomes(_merged(*clients), mine, theirs, rows)
        return PortfolioComparison(
            first.where,
            second.where,
            (str(agent.policy), str(other.policy)),
            len(keys),
            (len(mine) - len(keys), len(theirs) - len(keys)),
            *counts,
            tuple(rows.values()),
        )


def _decisions(connection: sa.Connection) -> dict[str, frozenset[str]]:
    """Return the categories that each decision accepted, by key."""
    return {
        str(line.id): accepted_of(intact(connection, line))
        for line in journal_lines(connection, journal.c.kind == "decide")
    }


def _ended(connection: sa.Connection) -> dict[str, tuple[str, str | None, str | None]]:
    """Return category and end of each loan that ended, by id."""
    return {
        each.id: (each.category, each.defaulted, each.closed)
        for each in exported_loans(connection)
        if each.defaulted or each.closed
    }


def _ends(
    mine: Mapping[str, object], theirs: Mapping[str, object]
) -> tuple[int, int, tuple[int, int], int]:
    """Count ends of loans as `_outcomes` counts clients; they have no profit."""
    both = mine.keys() & theirs.keys()
    shared = sum(mine[id] == theirs[id] for id in both)
    return shared, len(both) - shared, (len(mine) - len(both), len(theirs) - len(both)), 0


def _outcomes(
    pairs: Iterable[tuple[Settled | None, Settled | None]],
    mine: dict[str, frozenset[str]],
    theirs: dict[str, frozenset[str]],
    rows: dict[str, ComparedCategory],
) -> tuple[int, int, tuple[int, int], int]:
    """Count shared outcomes, and add up the profit of those that both decided.

    The last number is that of shared outcomes whose round is not one that both have
    decided.
    """
    shared = differ = unjudged = 0
    alone = [0, 0]
    for left, right in pairs:
        if left is None or right is None:
            alone[left is None] += 1
        elif (left.category, left.reward, left.amount, left.cost) != (
            right.category,
            right.reward,
            right.amount,
            right.cost,
        ):
            differ += 1
        else:
            shared += 1
            key = left.key if left.key is not None else right.key
            if key not in mine or key not in theirs:
                unjudged += 1
                continue
            row = rows[left.category]
            if left.category in mine[key]:
                row.first_profit = (row.first_profit or 0.0) + left.profit
            if right.category in theirs[key]:
                row.second_profit = (row.second_profit or 0.0) + right.profit
    return shared, differ, (alone[0], alone[1]), unjudged


def _merged(
    first: Iterator[Settled], second: Iterator[Settled]
) -> Iterator[tuple[Settled | None, Settled | None]]:
    """Yield pairs with the same id, and single ones, in the order of their ids."""
    mine = ((client.id, 0, client) for client in first)
    theirs = ((client.id, 1, client) for client in second)
    for _, same in groupby(heapq.merge(mine, theirs, key=itemgetter(0, 1)), itemgetter(0)):
        found = {place: client for _, place, client in same}
        yield found.get(0), found.get(1)
