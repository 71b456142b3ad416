"""Verification that the journal is unaltered, and that everything follows from it.

1. The engine's own check of the file, whether the tables are those that were made, with
   their keys and indexes and nothing else, and whether the server stores what it
   acknowledges.
2. Every line: its number follows, and its hash fits its content and the line before it.
3. Every decision is recomputed from what was known at that moment, by the same
   functions that made it.
4. The state is what the journal says.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from profitable.agent.agent import Agent
from profitable.agent.state_parts import (
    CLOCK_PART,
    COLUMN_PART,
    EXTRAS_PART,
    ROW_NAMES,
    SETTINGS_PART,
    TABLE_PART,
    WHOLE_PARTS,
    part_of,
)
from profitable.common.text_tables import number_text, several
from profitable.errors import InputError, ProfitableError
from profitable.kernels.agent_table import AgentRow
from profitable.portfolio import state
from profitable.portfolio.history import Follower
from profitable.portfolio.journal import START, Head, Line, head, journal, metadata, pages
from profitable.portfolio.store import VERSION_TABLE, Store
from profitable.portfolio.stored_decision import as_text
from profitable.version import VERSION

ROUNDING = 1e-9  # numbers that differ by this share may come from another machine
# Versions whose evidence lost digits where rewards are far from 0 and close together.
LESS_EXACT = ("0.1.0", "0.2.0")
DIGITS_LOST = 1e-3  # numbers that follow from such evidence may differ by this share
FROM_EVIDENCE = ("columns.evidence", "columns.propensity", "columns.index")
FAULTS = (ProfitableError, ValueError, KeyError, TypeError, IndexError, AssertionError)
Progress = Callable[[int], object]


@dataclass(frozen=True)
class Verification:
    """Findings, which are changes that should not be there, and notes."""

    where: str
    engine: str  # and its version
    head: Head
    lines: int  # that were looked at
    outcomes: int
    decisions: int
    findings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready values."""
        return {
            "portfolio": self.where,
            "engine": self.engine,
            "clean": self.is_clean,
            "head": self.head._asdict(),
            "lines": self.lines,
            "outcomes": self.outcomes,
            "decisions": self.decisions,
            "findings": list(self.findings),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        numbers = (
            several(self.lines, "line"),
            several(self.outcomes, "outcome"),
            several(self.decisions, "decision"),
        )
        clean = "Every line fits the one before it, and everything follows from them."
        said = [
            f"{self.where}: {', '.join(numbers)}",
            *(f"FOUND: {each}" for each in self.findings),
            *(f"note: {each}" for each in self.notes),
            *([clean] if self.is_clean else []),
            f"head: {self.head.hash} (line {number_text(self.head.line)})",
        ]
        return "\n".join(said)


class BrokenLine(Exception):
    """A line that those behind it cannot follow; its text is the finding."""


class Verifier:
    """One pass over a journal."""

    def __init__(self, store: Store, wanted: str | None, progress: Progress | None) -> None:
        self._store = store
        self._wanted = None if wanted is None else _hash(wanted)
        self._progress = progress
        self._follower = Follower()
        self._seen = Head(0, START)
        self._time = ""
        self._kinds = Counter[str]()  # of the lines seen
        self._rounded = 0  # decisions that agree up to rounding
        # Whether an earlier version has written some lines, so that its evidence may go
        # on.
        self._less_exact = False
        self._kept_at: int | None = None  # the line whose hash is the wanted one
        self._findings: list[str] = []
        self._notes: list[str] = []

    def run(self) -> Verification:
        """Look at everything."""
        self._findings += [f"the database is damaged: {each}" for each in self._store.integrity()]
        with self._store.read() as connection:
            end = head(connection)
            self._look(connection)
            self._compare_heads(end)
        if self._rounded:
            agree = "agrees" if self._rounded == 1 else "agree"
            self._notes.append(
                f"{several(self._rounded, 'decision')} {agree} with what was stored up to rounding,"
                " as on another machine or in another version"
            )
        if again := self._follower.reinstated:
            was, is_ = ("was", "is") if again == 1 else ("were", "are")
            self._notes.append(
                f"{several(again, 'decision')} {was} reinstated from JSON, and {is_} not"
                " recomputed: outcomes that were known then may be missing"
            )
        return Verification(
            self._store.name,
            self._store.engine,
            end,
            self._seen.line,
            self._kinds["outcome"],
            self._kinds["decide"],
            tuple(self._findings),
            tuple(self._notes),
        )

    def _look(self, connection: sa.Connection) -> None:
        try:
            self._findings += table_changes(connection)
            self._check_settings(connection)
            follows = self._read(connection)
            self._check_ids(connection)
            self._check_state(connection, follows=follows)
        except (SQLAlchemyError, *FAULTS) as error:
            reason = " ".join(str(getattr(error, "orig", error)).split())
            self._findings.append(
                f"behind line {self._seen.line}, the database cannot be read: {reason}"
            )

    # ---------------------------------------------------------------------------- lines

    def _read(self, connection: sa.Connection) -> bool:
        """Check the lines in order; return whether all of them follow."""
        try:
            for page in pages(connection):
                for line in page:
                    self._check_place(line)
                    self._follow(line)
                    self._note(line)
                self._settle()
                if self._progress is not None:
                    self._progress(self._seen.line)
        except BrokenLine as fault:
            self._findings.append(str(fault))
            return False
        return True

    def _check_place(self, line: Line) -> None:
        """Raise BrokenLine if a line is out of place in the chain."""
        expected = self._seen.line + 1
        if line.line < expected:
            raise BrokenLine(f"line {line.line} was put in before line 1")
        if line.line == expected + 1:
            raise BrokenLine(f"line {expected} is missing")
        if line.line > expected:
            raise BrokenLine(f"lines {expected} to {line.line - 1} are missing")
        if not line.follows(self._seen.hash):
            raise BrokenLine(
                f"line {line.line} was changed, or was put in here, or a line before it was"
                " removed: its hash does not fit"
            )
        if line.kind == "create" and line.line != 1:
            raise BrokenLine(f"line {line.line} is a beginning, and it is not the first line")

    def _note(self, line: Line) -> None:
        self._seen = Head(line.line, line.hash)
        self._kinds[line.kind] += 1
        if line.hash == self._wanted:
            self._kept_at = line.line
        self._less_exact = self._less_exact or line.version in LESS_EXACT
        if line.time < self._time:
            self._notes.append(
                f"the clock was set back: line {line.line} is of {line.time}, after {self._time}"
            )
        self._time = line.time

    def _settle(self) -> None:
        """Count the outcomes that were taken."""
        try:
            self._follower.settle()
        except FAULTS as error:
            raise BrokenLine(
                f"outcomes up to line {self._seen.line} cannot be counted: {error}"
            ) from None

    def _follow(self, line: Line) -> None:
        """Apply a line, and compare a decision with the one that follows."""
        if line.kind != "outcome":
            self._settle()
        try:
            body = self._follower.take(line)
        except FAULTS as error:
            raise BrokenLine(
                f"line {line.line} ({line.kind}) cannot be applied to what was known then: {error}"
            ) from None
        agent = self._follower.agent
        if agent is not None and agent.round != line.round:
            raise BrokenLine(
                f"line {line.line} is of round {line.round},"
                f" and {agent.round} rounds had been decided"
            )
        if body is not None and body != line.body:
            self._compare(line, body)

    def _compare(self, line: Line, body: str) -> None:
        """Raise BrokenLine if a stored decision differs by more than rounding."""
        stored, computed = line.content, line._replace(body=body).content
        # An earlier version, or another zlib, has written it otherwise.
        if as_text(stored) == as_text(computed):
            return
        if place := self._difference(stored, computed, ""):
            by = f" (it was decided by version {line.version}, this is {VERSION})"
            raise BrokenLine(
                f"the decision in line {line.line} (round {line.round}) does not follow from what"
                f" was known: {place}{by if line.version != VERSION else ''}"
            )
        self._rounded += 1

    def _difference(self, stored: Any, computed: Any, place: str) -> str:
        """Return where two JSON values differ by more than rounding, or ""."""
        kinds: set[type[Any]] = {type(stored), type(computed)}
        if kinds == {dict}:
            if stored.keys() != computed.keys():
                return f"{place or 'it'} has other fields"
            within = f"{place}." if place else ""
            pairs = [(f"{within}{key}", stored[key], computed[key]) for key in stored]
        elif kinds == {list}:
            if len(stored) != len(computed):
                return f"{place} has another length"
            pairs = [(f"{place}[{i}]", stored[i], computed[i]) for i in range(len(stored))]
        elif stored == computed or (kinds == {float} and self._are_close(stored, computed, place)):
            return ""
        else:
            return f"{place} is {stored!r}, recomputed it is {computed!r}"
        found = (self._difference(before, after, where) for where, before, after in pairs)
        return next(filter(None, found), "")

    def _are_close(self, stored: float, computed: float, place: str) -> bool:
        """Whether two numbers of a decision are the same, up to rounding."""
        if math.isnan(stored) and math.isnan(computed):
            return True
        share = ROUNDING
        if self._less_exact and place.startswith(FROM_EVIDENCE):
            share = DIGITS_LOST
        return math.isclose(stored, computed, rel_tol=share, abs_tol=ROUNDING)

    def _compare_heads(self, end: Head) -> None:
        if self._wanted is None:
            return
        if self._kept_at is not None:
            added = end.line - self._kept_at
            since = f"{several(added, 'line')} {'was' if added == 1 else 'were'} added since"
            self._notes.append(f"the head that was kept is line {self._kept_at}; {since}")
        else:
            self._findings.append(
                f"no line has the hash {self._wanted}: lines were cut off at the end,"
                " or the chain was rewritten since"
            )

    # --------------------------------------------------------------------------- tables

    def _check_settings(self, connection: sa.Connection) -> None:
        """Find settings that lose commits, and note those that our connections fix."""
        if self._store.is_file:
            return
        for name, now, default in connection.execute(DURABLE):
            if now == "off":
                self._findings.append(
                    f"the server has {name} = off: commits may be lost in a power cut"
                )
            elif default == "off":
                self._notes.append(f"the server has {name} = off; only our connections turn it on")

    def _check_ids(self, connection: sa.Connection) -> None:
        for columns in ((journal.c.id, journal.c.kind), (journal.c.refers,)):
            twice = sa.select(sa.func.min(journal.c.line), sa.func.max(journal.c.line)).where(
                columns[0].is_not(None)
            )
            for first, second in connection.execute(
                twice.group_by(*columns).having(sa.func.count() > 1).limit(3)
            ):
                self._findings.append(
                    f"the lines {first} and {second} have the same {columns[0].name}"
                )

    def _check_state(self, connection: sa.Connection, *, follows: bool) -> None:
        """Check that every part is intact and follows from the journal."""
        found = list(state.rows(connection))
        for each in found:
            if not each.is_whole:
                name = (
                    each.part
                    if each.part in WHOLE_PARTS
                    else f"{each.part} of category {each.place}"
                )
                self._findings.append(
                    f"the state was altered: the checksum of its part {name!r} does not fit"
                )
                follows = False
            elif follows and not self._belongs(each):
                self._findings.append(
                    f"the state was altered: a part {each.part!r} {each.place} belongs to nothing"
                )
        if follows and self._follower.agent is not None:
            if problem := state.other_end(found, self._seen.line):
                self._findings.append(f"line {self._seen.line} {problem}")
            else:
                stored = state.load(connection, self._seen.line)
                self._findings += _differences(
                    self._follower.agent, stored, less_exact=self._less_exact
                )

    def _belongs(self, part: state.StatePart) -> bool:
        """Whether a state has such a part."""
        if part.part == COLUMN_PART:
            return self._follower.agent is not None and part.place < len(self._follower.agent)
        return part.part in WHOLE_PARTS and part.place == 0


def _differences(agent: Agent, stored: Agent, *, less_exact: bool) -> Iterator[str]:
    """Yield differences of a stored state from the agent of the journal."""
    for part in (SETTINGS_PART, CLOCK_PART, EXTRAS_PART):
        if part_of(agent, part) != part_of(stored, part):
            yield f"the state does not follow from the journal: its part {part!r} differs"
            return
    mine, theirs = (
        np.frombuffer(part_of(each, TABLE_PART)).reshape(len(ROW_NAMES), -1)
        for each in (agent, stored)
    )
    differs = ~((mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
    with np.errstate(invalid="ignore"):
        differs &= ~np.isclose(mine, theirs, rtol=ROUNDING, atol=ROUNDING)
        if less_exact:
            differs[AgentRow.EVIDENCE] &= ~np.isclose(
                mine[AgentRow.EVIDENCE], theirs[AgentRow.EVIDENCE], rtol=DIGITS_LOST, atol=ROUNDING
            )
    for row, k in np.argwhere(differs)[:3].tolist():
        yield (
            f"the state does not follow from the journal: {ROW_NAMES[row]} of {agent.names[k]!r}"
            f" is {theirs[row, k]:g} instead of {mine[row, k]:g}"
        )


def _hash(given: object) -> str:
    plain = str(given).strip().lower()
    if len(plain) != len(START) or not set(plain) <= set("0123456789abcdef"):
        raise InputError(
            "head", given, "must be the hash of a line", "give the 64 letters that `verify` printed"
        )
    return plain


# ------------------------------------------------------------------------------ tables


TABLE_NAMES = (*metadata.tables, VERSION_TABLE)
TABLE_KINDS = {  # what a table of PostgreSQL can be, other than a plain one
    "relkind <> 'r'": "is not a plain table",
    "relpersistence <> 'p'": "is not logged, so a crash of the server empties it",
    "relrowsecurity": "has row-level security, which hides lines or refuses them",
}
OBJECTS = {  # what may be attached to tables without being ours
    "sqlite": {"trigger": "SELECT name FROM sqlite_master WHERE type = 'trigger'"},
    "postgresql": {
        "rule": "SELECT rulename FROM pg_rewrite"
        " WHERE ev_class IN {ours} AND rulename <> '_RETURN'",
        "trigger": "SELECT tgname FROM pg_trigger WHERE tgrelid IN {ours} AND NOT tgisinternal",
        "constraint": "SELECT conname FROM pg_constraint"
        " WHERE conrelid IN {ours} AND contype NOT IN ('p', 'n')",
        "child table": "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent IN {ours}",
        "broken index": "SELECT indexrelid::regclass::text FROM pg_index"
        " WHERE indrelid IN {ours} AND NOT indisvalid",
    },
}
OURS = "(" + ", ".join(f"to_regclass('{name}')" for name in TABLE_NAMES) + ")"
DURABLE = sa.text(
    "SELECT name, setting, reset_val FROM pg_settings"
    " WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')"
)


def table_changes(connection: sa.Connection) -> Iterator[str]:
    """Differences from the tables that this package made, one sentence each."""
    is_plain = True
    if connection.dialect.name == "postgresql":
        for condition, problem in TABLE_KINDS.items():
            found = f"SELECT relname FROM pg_class WHERE oid IN {OURS} AND {condition}"
            for name in connection.scalars(sa.text(found)):
                yield f"the table {name} {problem}"
                is_plain = is_plain and condition != "relkind <> 'r'"
    for what, statement in OBJECTS[connection.dialect.name].items():
        for name in connection.scalars(sa.text(statement.replace("{ours}", OURS))):
            yield f"the database has a {what}, {name!r}, which no portfolio has"
    if is_plain:
        yield from _missing(connection)


def _missing(connection: sa.Connection) -> Iterator[str]:
    """Keys and indexes that are missing, or differ."""
    inspector = sa.inspect(connection)
    for table in metadata.tables.values():
        if set(inspector.get_pk_constraint(table.name)["constrained_columns"]) != set(
            table.primary_key.columns.keys()
        ):
            yield f"the primary key of the table {table.name} is missing"
        found = {
            index["name"]: (bool(index["unique"]), index["column_names"])
            for index in inspector.get_indexes(table.name)
        }
        for index in table.indexes:
            if found.get(index.name) != (bool(index.unique), index.columns.keys()):
                yield f"the index {index.name} of the table {table.name} is missing"
