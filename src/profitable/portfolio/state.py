"""State: the agent that follows from a journal, in parts with checksums.

An outcome changes the column of one category; a decision or a setting writes the whole.
A process that has an agent in memory reads only what others have written since.  So a
portfolio with ten million outcomes opens at once.  `verify` recomputes it from the
journal.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from profitable.agent.agent import Agent
from profitable.agent.state_parts import (
    COLUMN_PART,
    SETTINGS_PART,
    TABLE_PART,
    WHOLE_PARTS,
    assembled,
    part_of,
    put_column,
)
from profitable.errors import BrokenPortfolioError, BrokenStateError
from profitable.portfolio.journal import Number, Prepared, metadata

state = sa.Table(
    "profitable_state",
    metadata,
    sa.Column("part", sa.Text, primary_key=True),
    # Of a category; 0 for what belongs to all.
    sa.Column("place", Number, primary_key=True, autoincrement=False),
    sa.Column("line", Number, nullable=False),  # of the journal, after which it looks like this
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
    sqlite_with_rowid=False,  # so that an outcome changes one page of it, not two
)
REBUILD = "run `profitable verify`, and restore it from a backup"


class StatePart(NamedTuple):
    """A row of the table."""

    part: str
    place: int
    line: int
    body: bytes
    checksum: str

    @property
    def is_whole(self) -> bool:
        """Whether its checksum fits."""
        return checksum_of(self.part, self.place, self.line, self.body) == self.checksum


def checksum_of(part: str, place: int, line: int, body: bytes) -> str:
    """Return the checksum of a part; also of which part it is."""
    return hashlib.sha256(f"{part} {place} {line} ".encode() + body).hexdigest()


def rows(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Iterator[StatePart]:
    """Yield the parts that meet the conditions, whether they are whole or not."""
    # The body as the driver has it: where something else was put, SQLAlchemy would try
    # to make bytes of it.
    raw: Any = sa.type_coerce(state.c.body, sa.types.NullType())
    chosen = sa.select(state.c.part, state.c.place, state.c.line, raw, state.c.checksum).where(
        *conditions
    )
    for part, place, line, body, checksum in connection.execute(chosen):
        yield StatePart(
            part, place, line, bytes(body) if type(body) in (bytes, memoryview) else b"", checksum
        )


def parts(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[StatePart]:
    """Return the parts that meet the conditions; BrokenPortfolioError if damaged."""
    found = list(rows(connection, *conditions))
    for each in found:
        if not each.is_whole:
            where = each.part if each.part in WHOLE_PARTS else f"{each.part} {each.place}"
            raise BrokenPortfolioError(
                "state", where, "was altered: its checksum does not fit", REBUILD
            )
    return found


def check_end(found: Iterable[StatePart], end: int) -> None:
    """Raise BrokenPortfolioError unless the state is that of the last line.

    Every transaction writes a part for its last line.  So a journal that was cut off is
    shorter than its state, and one to which something else has added lines is longer.
    """
    if problem := other_end(found, end):
        raise BrokenPortfolioError("journal", end, problem, REBUILD)


def other_end(found: Iterable[StatePart], end: int) -> str:
    """Return the problem of a state that is not of the last line, or ""."""
    newest = max((each.line for each in found), default=0)
    if newest == end:
        return ""
    how = "lines were cut off" if newest > end else "lines were put in by other means"
    return (
        f"is its last line, but the state is that of line {newest}: {how}, or the state was altered"
    )


def load(connection: sa.Connection, end: int) -> Agent:
    """Return the agent after the last line of the journal, number `end`."""
    found = parts(connection)
    whole = {each.part: each for each in found if each.part in WHOLE_PARTS}
    missing = [part for part in WHOLE_PARTS if part not in whole]
    if missing:
        raise BrokenPortfolioError("state", missing[0], "is missing", REBUILD)
    check_end(found, end)
    since = whole[TABLE_PART].line
    columns = {
        each.place: each.body for each in found if each.part == COLUMN_PART and each.line > since
    }
    try:
        return assembled({part: each.body for part, each in whole.items()}, columns)
    except (BrokenStateError, ValueError, KeyError, TypeError, IndexError) as error:
        raise BrokenPortfolioError(
            "state", "parts", f"do not fit together ({error})", REBUILD
        ) from None


def refreshed(connection: sa.Connection, agent: Agent, line: int, end: int) -> Agent:
    """Bring an agent that was right after `line` up to date with line `end`."""
    changed = parts(connection, state.c.line > line)
    if any(each.part != COLUMN_PART for each in changed) or other_end(changed, end):
        return load(connection, end)
    for each in changed:
        put_column(agent, each.place, each.body)
    return agent


def upsert(dialect: str) -> sa.Insert:
    """Return the statement that writes parts, whether they are there already or not."""
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(state)
    new = {name: insert.excluded[name] for name in ("line", "body", "checksum")}
    return insert.on_conflict_do_update(index_elements=["part", "place"], set_=new)


UPSERT = Prepared(
    {dialect: upsert(dialect) for dialect in ("sqlite", "postgresql")}, StatePart._fields
)


def save(
    connection: sa.Connection,
    agent: Agent,
    line: int,
    *,
    touched: Collection[int] = (),
    settings: bool = False,
) -> None:
    """Keep the columns that outcomes have touched; without any, everything.

    The part of the settings is only kept if they have changed.
    """
    chosen = [(COLUMN_PART, k) for k in sorted(touched)]
    if not touched:
        chosen = [(part, 0) for part in WHOLE_PARTS if settings or part != SETTINGS_PART]
    new: list[tuple[object, ...]] = []
    for part, place in chosen:
        body = part_of(agent, part, place)
        new.append((part, place, line, body, checksum_of(part, place, line, body)))
    UPSERT.each(connection, new)
