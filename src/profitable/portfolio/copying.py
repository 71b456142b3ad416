"""A copy of a portfolio, line by line, in another file or database: a backup, a restored backup, a move.

Every line is checked against the chain on its way, and in a file once more when it is read back.  So a copy that was
made is a copy that is right.
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from profitable.errors import BrokenPortfolioError
from profitable.portfolio import state
from profitable.portfolio.journal import RESTORE, START, Head, append, checked_pages
from profitable.portfolio.new_store import fill_store
from profitable.portfolio.outcome import text
from profitable.portfolio.recorded import as_text
from profitable.portfolio.session import Writing
from profitable.portfolio.store import WAIT, Store

Progress = Callable[[int], object]


def copy_portfolio(
    source: object,
    target: object,
    *,
    restored_by: str | None = None,
    wait: float = WAIT,
    progress: Progress | None = None,
) -> Head:
    """Copy all lines and the state; returns the end of the copy's journal.  The target must not exist.

    The source may be in use: the copy is what it was at one moment.  A copy has the lines of its source, and no other.
    If it takes the place of a portfolio that is lost, say who does that: one more line keeps it, `restored_by`.
    """
    store = Store(source, wait=wait)
    try:
        store.check_schema()
        end = Head(0, START)
        rows: list[dict[str, Any]] = []

        def fill(connection: sa.Connection) -> None:
            nonlocal end, rows
            with store.read() as original:
                for page in checked_pages(original):
                    end = Head(page[-1].line, page[-1].hash)
                    append(connection, page)
                    if progress is not None:
                        progress(end.line)
                parts = state.parts(original)
                state.load(original, end.line)  # or a part may be missing, or the end cut off
            connection.execute(sa.insert(state.state), [part._asdict() for part in parts])
            if restored_by is not None:
                end = _restored(connection, end, text("actor", restored_by), store.name)
            rows = [part._asdict() for part in state.parts(connection)]

        def check(connection: sa.Connection) -> None:
            found = START
            for page in checked_pages(connection):
                found = page[-1].hash
            if found != end.hash or rows != [part._asdict() for part in state.parts(connection)]:
                raise BrokenPortfolioError("copy", str(target), "is not what was copied", "copy it again")

        fill_store(target, fill, wait, check)
    finally:
        store.close()
    return end


def _restored(connection: sa.Connection, end: Head, actor: str, source: str) -> Head:
    """Say in the journal that it goes on from a backup; returns its new end."""
    writing = Writing(connection, state.load(connection, end.line), end, actor)
    writing.add(writing.new(RESTORE, body=as_text({"from": source})))
    return writing.store()
