"""Clients whose outcomes are known, as the journal tells it in the end: corrected, with their money and their chance.

Example: loan-4711 of the students was accepted in round 12 with probability 0.41.  It cost 1 000 and brought 1 120.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.model.category import Category, said_before
from profitable.portfolio.history import begin, money_of
from profitable.portfolio.journal import (
    CHANGE,
    CORRECT,
    CREATE,
    DECIDE,
    OUTCOME,
    PAGE_LINES,
    Line,
    altered,
    intact,
    pages,
)
from profitable.portfolio.policy_text import category_of
from profitable.portfolio.recorded import decided_at
from profitable.portfolio.tables import journal


class Settled(NamedTuple):
    """A client whose outcome is known."""

    id: str
    category: str
    decision: int | None  # the round that accepted him
    key: str | None  # of that round
    accepted: str | None  # when it was decided
    propensity: float | None  # with which it accepted his category; None if that is not known
    reward: float
    amount: float | None
    cost: float | None
    paid: float  # what accepting him cost, in money
    received: float  # what he brought, in money
    due: float  # what he has to bring so that accepting him pays: what it cost, and any return that is required on it
    known_in: int  # rounds decided when the outcome was reported
    known: str  # the day on which it was known, or when it was reported

    @property
    def profit(self) -> float:
        """What he brought, less what accepting him cost."""
        return self.received - self.paid


class _Decided(NamedTuple):
    key: str | None
    time: str
    propensity: dict[str, float]


def settled(connection: sa.Connection, *, by_id: bool = False) -> Iterator[Settled]:
    """Clients whose outcomes are known and were not taken back, as reported or in the order of their ids."""
    terms, corrected = _Terms(connection), _corrections(connection)
    # Of a shadow's decisions nobody knows the chance: another portfolio chose the clients.
    decisions = {
        line.round: _Decided(
            line.id, decided_at(line), {} if terms.is_shadow(line.line) else _propensities(intact(connection, line))
        )
        for page in pages(connection, journal.c.kind == DECIDE)
        for line in page
    }
    for line in _by_id(connection) if by_id else _in_order(connection):
        latest = corrected.get(line.sound().line, line).sound()
        if latest.reward is None:
            continue
        category = str(line.category)
        then = terms.at(category, line.line)
        received, paid = money_of(then, latest)
        decided = decisions.get(line.decision or 0)
        key, time, chance = (None, None, None)
        if decided is not None:
            key, time, chance = decided.key, decided.time, decided.propensity.get(category)
        about = (
            str(line.id),
            category,
            line.decision,
            key,
            time,
            None if chance is None or math.isnan(chance) else chance,
        )
        yield Settled(
            *about,
            latest.reward,
            latest.amount,
            latest.cost,
            paid,
            received,
            paid if then.weight is None else paid * then.threshold,
            line.round,
            line.known or line.time,
        )


def _propensities(line: Line) -> dict[str, float]:
    columns = line.content["columns"]
    return dict(zip(columns["name"], columns["propensity"], strict=True))


def _in_order(connection: sa.Connection) -> Iterator[Line]:
    for page in pages(connection, journal.c.kind == OUTCOME):
        yield from page


def _by_id(connection: sa.Connection) -> Iterator[Line]:
    """Outcomes in the order of their ids, letter by letter, which is the same in every database."""
    plain = journal.c.id if connection.dialect.name == "sqlite" else journal.c.id.collate("C")
    chosen = sa.select(journal).where(journal.c.kind == OUTCOME).order_by(plain).limit(PAGE_LINES)
    after = ""
    while page := connection.execute(chosen.where(plain > after)).fetchall():
        yield from (Line(*row) for row in page)
        after = page[-1].id


def _corrections(connection: sa.Connection) -> dict[int, Line]:
    """The last correction of each outcome that was corrected, by the outcome's line."""
    outcome_of: dict[int, int] = {}
    latest: dict[int, Line] = {}
    for page in pages(connection, journal.c.kind == CORRECT):
        for line in page:
            refers = line.refers or 0
            outcome_of[line.line] = outcome = outcome_of.get(refers, refers)
            latest[outcome] = line
    return latest


class _Terms:
    """The terms of each category after any line, and whether the portfolio was a shadow."""

    def __init__(self, connection: sa.Connection) -> None:
        self._lines: dict[str, list[int]] = {}
        self._categories: dict[str, list[Category]] = {}
        first = Line(*connection.execute(sa.select(journal).where(journal.c.kind == CREATE)).one())
        agent: Agent = begin(first)
        self._shadow = [(first.line, bool(first.content["shadow"]))]
        for name in agent.names:
            self._add(first.line, agent.category(name))
        with said_before():
            for page in pages(connection, journal.c.kind == CHANGE):
                for line in page:
                    content = line.content
                    if content["setting"] == "category":
                        self._add(line.line, category_of(content["to"]))
                    elif content["setting"] == "threshold":
                        before = self._categories[str(line.category)][-1]
                        self._add(line.line, before.with_threshold(content["to"]))
                    elif content["setting"] == "shadow":
                        self._shadow.append((line.line, bool(content["to"])))

    def _add(self, line: int, category: Category) -> None:
        self._lines.setdefault(category.name, []).append(line)
        self._categories.setdefault(category.name, []).append(category)

    def is_shadow(self, line: int) -> bool:
        """Whether nobody acted on the portfolio when a line was written."""
        return next(shadow for since, shadow in reversed(self._shadow) if since <= line)

    def at(self, name: str, line: int) -> Category:
        """A category as it was when a line was written."""
        if name not in self._lines:
            raise altered(line)
        return self._categories[name][bisect_right(self._lines[name], line) - 1]
