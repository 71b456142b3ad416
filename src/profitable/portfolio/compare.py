"""Two portfolios side by side: one that decides and its shadow, or two shadows, on the same stream of outcomes.

Decisions are compared key by key, and clients id by id.  A client counts for a portfolio if its decision of the same
key accepted his category.  Clients whom the acting portfolio refused were never seen, so what the other would have
earned with them is not in any number here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from profitable.common.text_tables import ROWS_SHOWN, money, number, text_table
from profitable.portfolio.clients import Settled, settled
from profitable.portfolio.intake import accepted_of
from profitable.portfolio.journal import DECIDE, Line, intact
from profitable.portfolio.portfolio import Portfolio
from profitable.portfolio.tables import journal

COMPARED = ("category", "both", "only first", "only second", "neither", "profit of first", "profit of second")


@dataclass
class Row:
    """One category: in how many shared rounds who accepted it, and what the clients they share brought each."""

    category: str
    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0
    first_profit: float = 0.0
    second_profit: float = 0.0


@dataclass(frozen=True)
class Comparison:
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
    rows: tuple[Row, ...]

    @property
    def is_same_stream(self) -> bool:
        """Whether both have seen the same outcomes."""
        return self.differ == 0 and self.only_outcomes == (0, 0)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready values."""
        names = ("first", "second", "keys", "shared", "differ", "unjudged")
        about: dict[str, Any] = {name: getattr(self, name) for name in names}
        about |= {name: list(getattr(self, name)) for name in ("policies", "only_keys", "only_outcomes")}
        return {**about, "same_stream": self.is_same_stream, "categories": [vars(row) for row in self.rows]}

    def __str__(self) -> str:
        said = [f"first:  {self.first} ({self.policies[0]})", f"second: {self.second} ({self.policies[1]})"]
        said.append(f"{number(self.keys)} decisions have the same key{_alone(self.only_keys)}.")
        stream = "the same outcomes" if self.is_same_stream else "NOT the same outcomes"
        other = f", {number(self.differ)} have another content" if self.differ else ""
        said.append(f"Both saw {stream}: {number(self.shared)} are shared{_alone(self.only_outcomes)}{other}.")
        rows = [
            [
                each.category,
                *map(number, (each.both, each.only_first, each.only_second, each.neither)),
                *map(money, (each.first_profit, each.second_profit)),
            ]
            for each in self.rows[:ROWS_SHOWN]
        ]
        total = [sum(getattr(each, name) for each in self.rows) for name in ("first_profit", "second_profit")]
        rows.append(["all", "", "", "", "", *map(money, total)])
        hidden = len(self.rows) - ROWS_SHOWN
        rest = [f"... and {number(hidden)} more categories"] if hidden > 0 else []
        limit = "Profits are of clients whom both have seen, and whose category the portfolio accepted in their round."
        if self.unjudged:
            limit += f" {number(self.unjudged)} clients are in none: not both have decided about their round."
        return "\n".join([*said, text_table(COMPARED, rows), *rest, limit])


def _alone(numbers: tuple[int, int]) -> str:
    return (
        f", {number(numbers[0])} are in the first alone and {number(numbers[1])} in the second" if any(numbers) else ""
    )


def compare(first: Portfolio, second: Portfolio) -> Comparison:
    """Put two portfolios side by side."""
    with first._reading() as (one, agent), second._reading() as (two, other):
        mine, theirs = _decisions(one), _decisions(two)
        rows: dict[str, Row] = {name: Row(name) for name in dict.fromkeys((*agent.names, *other.names))}
        for key in mine.keys() & theirs.keys():
            for name, row in rows.items():
                _tally(row, name in mine[key], name in theirs[key])
        counts = _outcomes(one, two, mine, theirs, rows)
        keys = mine.keys() & theirs.keys()
        only = (len(mine) - len(keys), len(theirs) - len(keys))
        policies = (str(agent.policy), str(other.policy))
        return Comparison(first.where, second.where, policies, len(keys), only, *counts, tuple(rows.values()))


def _tally(row: Row, first: bool, second: bool) -> None:
    row.both += first and second
    row.only_first += first and not second
    row.only_second += second and not first
    row.neither += not (first or second)


def _decisions(connection: sa.Connection) -> dict[str, frozenset[str]]:
    """The categories that each decision accepted, by key."""
    query = sa.select(journal).where(journal.c.kind == DECIDE).order_by(journal.c.line)
    lines = [Line(*row) for row in connection.execute(query)]
    return {str(line.id): accepted_of(intact(connection, line)) for line in lines}


def _outcomes(
    one: sa.Connection,
    two: sa.Connection,
    mine: dict[str, frozenset[str]],
    theirs: dict[str, frozenset[str]],
    rows: dict[str, Row],
) -> tuple[int, int, tuple[int, int], int]:
    """Outcomes by whether both have them, and the profit of those that both have and have decided about.

    The last number is that of shared outcomes whose round is not one that both have decided.
    """
    shared = differ = unjudged = 0
    alone = [0, 0]
    for left, right in _merged(settled(one, by_id=True), settled(two, by_id=True)):
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
            row.first_profit += left.profit if left.category in mine[key] else 0.0
            row.second_profit += right.profit if right.category in theirs[key] else 0.0
    return shared, differ, (alone[0], alone[1]), unjudged


def _merged(first: Iterator[Settled], second: Iterator[Settled]) -> Iterator[tuple[Settled | None, Settled | None]]:
    """Pairs with the same id, and those without a partner; both come in the order of their ids."""
    left, right = next(first, None), next(second, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left.id < right.id):
            yield left, None
            left = next(first, None)
        elif left is None or right.id < left.id:
            yield None, right
            right = next(second, None)
        else:
            yield left, right
            left, right = next(first, None), next(second, None)
