"""Bringing a portfolio from an earlier version of this package to this one, when somebody says so."""

from contextlib import suppress

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.parts import CLOCK_PART
from profitable.errors import BrokenPortfolioError, OlderPortfolioError
from profitable.portfolio import state
from profitable.portfolio.history import Follower
from profitable.portfolio.journal import START, UPGRADE, Head, checked_pages
from profitable.portfolio.recorded import as_text
from profitable.portfolio.session import Writing, actor_of
from profitable.portfolio.store import WAIT, Store, version_of


def upgrade(where: object, *, actor: str | None = None, wait: float = WAIT) -> str:
    """Change the tables into those of this version, and compute the state anew from the journal; says what was done.

    All of it is one transaction: afterwards the portfolio is the new one or, if anything is wrong, the old one.  The
    journal keeps who did it, and from which version to which.
    """
    actor = actor_of(actor)
    store = Store(where, wait=wait)
    told = ""

    def rebuild(connection: sa.Connection, before: str | None) -> None:
        nonlocal told
        agent, end = recomputed(connection)
        state.check_end(state.rows(connection), end.line)  # or what was cut off would look right afterwards
        connection.execute(sa.delete(state.state).where(state.state.c.part != CLOCK_PART))  # which writers lock
        after = version_of(connection)
        writing = Writing(connection, agent, end, actor)
        writing.add(writing.new(UPGRADE, body=as_text({"from": before, "to": after})))
        writing.changed = True
        writing.store()
        told = f"was upgraded from schema version {before} to {after}."
        if before == after:
            told = f"has schema version {after} already; its state was computed anew from the journal."

    try:
        with suppress(OlderPortfolioError):
            store.check_schema()
        store.upgrade(then=rebuild)
    finally:
        store.close()
    return f"{store.name} {told}"


def recomputed(connection: sa.Connection) -> tuple[Agent, Head]:
    """The agent that follows from the journal, and the end of it.

    BrokenPortfolioError if a line was altered: its state would look right afterwards.
    """
    follower, end = Follower(), Head(0, START)
    for page in checked_pages(connection):
        for line in page:
            follower.take(line)
        follower.settle()
        end = Head(page[-1].line, page[-1].hash)
    if follower.agent is None:
        raise BrokenPortfolioError("journal", None, "has no first line", "restore the portfolio from a backup")
    return follower.agent, end
