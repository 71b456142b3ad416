"""Bringing a portfolio from an earlier version of this package to this one, when somebody says so."""

from contextlib import suppress

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.errors import BrokenPortfolioError, OlderPortfolioError
from profitable.portfolio import state
from profitable.portfolio.history import Follower
from profitable.portfolio.journal import checked_pages
from profitable.portfolio.store import WAIT, Store


def upgrade(where: object, *, wait: float = WAIT) -> str:
    """Change the tables into those of this version, and compute the state anew from the journal; says what was done.

    All of it is one transaction: afterwards the portfolio is the new one or, if anything is wrong, the old one.
    """
    store = Store(where, wait=wait)
    try:
        before = store.schema()
        with suppress(OlderPortfolioError):
            store.check_schema()
        store.upgrade(then=rebuild)
        after = store.schema()
    finally:
        store.close()
    if before == after:
        return f"{store.name} has schema version {after} already; its state was computed anew from the journal."
    return f"{store.name} was upgraded from schema version {before} to {after}."


def rebuild(connection: sa.Connection) -> None:
    """Compute the state anew from the journal."""
    agent, last = recomputed(connection)
    state.check_end(state.rows(connection), last)  # or what was cut off would look right afterwards
    connection.execute(sa.delete(state.state))
    state.save_all(connection, agent, last, settings=True)


def recomputed(connection: sa.Connection) -> tuple[Agent, int]:
    """The agent that follows from the journal, and the number of its last line.

    BrokenPortfolioError if a line was altered: its state would look right afterwards.
    """
    follower, last = Follower(), 0
    for page in checked_pages(connection):
        for line in page:
            follower.take(line)
        follower.settle()
        last = page[-1].line
    if follower.agent is None:
        raise BrokenPortfolioError("journal", None, "has no first line", "restore the portfolio from a backup")
    return follower.agent, last
