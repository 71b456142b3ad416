"""Verify: is the journal what it was, and does everything follow from it?

1. The engine's own check of the file, whether the tables are those that were made, with their keys and indexes and
   nothing else, and whether the server stores what it acknowledges.
2. Every line: its number follows, and its hash fits its content and the line before it.
3. Every decision is computed anew from what was known at that moment, by the same functions that made it.
4. The state is what the journal says.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from profitable.agent.agent import Agent
from profitable.agent.parts import (
    CLOCK_PART,
    COLUMN_PART,
    EXTRAS_PART,
    ROW_NAMES,
    SETTINGS_PART,
    TABLE_PART,
    WHOLE_PARTS,
    part_of,
)
from profitable.common.text_tables import number, several
from profitable.errors import InputError, ProfitableError
from profitable.kernels.agent_table import Row
from profitable.portfolio import state, structure
from profitable.portfolio.history import Follower
from profitable.portfolio.journal import CREATE, DECIDE, OUTCOME, START, Head, Line, hash_of, head, pages
from profitable.portfolio.recorded import as_text
from profitable.portfolio.store import Store
from profitable.portfolio.tables import journal
from profitable.version import VERSION

ROUNDING = 1e-9  # numbers that differ by this share may come from another machine
LESS_EXACT = ("0.1.0", "0.2.0")  # versions whose evidence lost digits where rewards are far from 0 and close together
DIGITS_LOST = 1e-3  # numbers that follow from such evidence may differ by this share
FROM_EVIDENCE = ("columns.evidence", "columns.propensity", "columns.index")
FAULTS = (ProfitableError, ValueError, KeyError, TypeError, IndexError, AssertionError)
Progress = Callable[[int], object]


@dataclass(frozen=True)
class Verification:
    """What `verify` found: findings are changes that should not be there, notes are worth knowing."""

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
        """The same as JSON-ready values."""
        numbers = {"lines": self.lines, "outcomes": self.outcomes, "decisions": self.decisions}
        found = {"findings": list(self.findings), "notes": list(self.notes)}
        end = {"line": self.head.line, "hash": self.head.hash}
        about = {"portfolio": self.where, "engine": self.engine, "clean": self.is_clean}
        return {**about, "head": end, **numbers, **found}

    def __str__(self) -> str:
        numbers = (several(self.lines, "line"), several(self.outcomes, "outcome"), several(self.decisions, "decision"))
        said = [f"{self.where}: {', '.join(numbers)}"]
        said += [f"FOUND: {each}" for each in self.findings]
        said += [f"note: {each}" for each in self.notes]
        if self.is_clean:
            said.append("Every line fits the one before it, and everything follows from them.")
        return "\n".join([*said, f"head: {self.head.hash} (line {number(self.head.line)})"])


class Verifier:
    """One pass over a journal."""

    def __init__(self, store: Store, wanted: str | None, progress: Progress | None) -> None:
        self._store = store
        self._wanted = None if wanted is None else _hash(wanted)
        self._progress = progress
        self._follower = Follower()
        self._seen = Head(0, START)
        self._time = ""
        self._outcomes = self._decisions = self._rounded = 0
        self._less_exact = False  # whether an earlier version has written some lines, so that its evidence may go on
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
            agree = f"{several(self._rounded, 'decision')} {'agrees' if self._rounded == 1 else 'agree'}"
            self._notes.append(
                f"{agree} with what was stored up to rounding, as on another machine or in another version"
            )
        if again := self._follower.reinstated:
            computed = "was put back from JSON, and is" if again == 1 else "were put back from JSON, and are"
            told = "not computed anew: outcomes that were known then may be missing"
            self._notes.append(f"{several(again, 'decision')} {computed} {told}")
        numbers = (self._seen.line, self._outcomes, self._decisions)
        return Verification(
            self._store.name, self._store.engine, end, *numbers, tuple(self._findings), tuple(self._notes)
        )

    def _look(self, connection: sa.Connection) -> None:
        try:
            self._check_tables(connection)
            is_whole = self._read(connection)
            self._check_ids(connection)
            self._check_state(connection, follows=is_whole)
        except (SQLAlchemyError, *FAULTS) as error:
            reason = " ".join(str(getattr(error, "orig", error)).split())
            self._findings.append(f"behind line {self._seen.line}, the database cannot be read: {reason}")

    # ------------------------------------------------------------------------------------------ lines

    def _read(self, connection: sa.Connection) -> bool:
        """Look at the lines in order, and stop where they no longer follow; returns whether all of them do."""
        for page in pages(connection):
            for line in page:
                if fault := self._fault(line) or self._follow(line):
                    self._findings.append(fault)
                    return False
                self._note(line)
            if fault := self._settled():
                self._findings.append(fault)
                return False
            if self._progress is not None:
                self._progress(self._seen.line)
        return True

    def _fault(self, line: Line) -> str:
        """What is wrong with a line's place in the chain; empty if nothing is."""
        expected = self._seen.line + 1
        if line.line < expected:
            return f"line {line.line} was put in before line 1"
        if line.line != expected:
            missing = f"line {expected} is" if line.line == expected + 1 else f"lines {expected} to {line.line - 1} are"
            return f"{missing} missing"
        try:
            fits = hash_of(line, self._seen.hash) == line.hash
        except ValueError:  # a number that JSON does not have
            fits = False
        if not fits:
            told = "was changed, or was put in here, or a line before it was removed"
            return f"line {line.line} {told}: its hash does not fit"
        if line.kind == CREATE and line.line != 1:
            return f"line {line.line} is a beginning, and it is not the first line"
        return ""

    def _note(self, line: Line) -> None:
        self._seen = Head(line.line, line.hash)
        self._outcomes += line.kind == OUTCOME
        self._decisions += line.kind == DECIDE
        if line.hash == self._wanted:
            self._kept_at = line.line
        self._less_exact = self._less_exact or line.version in LESS_EXACT
        if line.time < self._time:
            self._notes.append(f"the clock was set back: line {line.line} is of {line.time}, after {self._time}")
        self._time = line.time

    def _settled(self) -> str:
        """Count the outcomes that were taken; returns what is wrong with them."""
        try:
            self._follower.settle()
        except FAULTS as error:
            return f"outcomes up to line {self._seen.line} cannot be counted: {error}"
        return ""

    def _follow(self, line: Line) -> str:
        """Do what a line says; returns what is wrong with it."""
        if line.kind != OUTCOME and (fault := self._settled()):
            return fault
        try:
            body = self._follower.take(line)
        except FAULTS as error:
            return f"line {line.line} ({line.kind}) cannot be applied to what was known then: {error}"
        agent = self._follower.agent
        if agent is not None and agent.round != line.round:
            return f"line {line.line} is of round {line.round}, and {agent.round} rounds had been decided"
        return "" if body is None or body == line.body else self._compared(line, body)

    def _compared(self, line: Line, body: str) -> str:
        """How a stored decision differs from the one that is computed anew, if by more than rounding."""
        stored, computed = line.content, line._replace(body=body).content
        if as_text(stored) == as_text(computed):  # an earlier version, or another zlib, has written it otherwise
            return ""
        place = _difference(stored, computed, "", less_exact=self._less_exact)
        if place is None:
            self._rounded += 1
            return ""
        by = "" if line.version == VERSION else f" (it was decided by version {line.version}, this is {VERSION})"
        return f"the decision in line {line.line} (round {line.round}) does not follow from what was known: {place}{by}"

    def _compare_heads(self, end: Head) -> None:
        if self._wanted is None:
            return
        if self._kept_at is not None:
            added = end.line - self._kept_at
            since = f"{several(added, 'line')} {'was' if added == 1 else 'were'} added since"
            self._notes.append(f"the head that was kept is line {self._kept_at}; {since}")
        else:
            problem = "lines were cut off at the end, or the chain was rewritten since"
            self._findings.append(f"no line has the hash {self._wanted}: {problem}")

    # ------------------------------------------------------------------------------------------ tables

    def _check_tables(self, connection: sa.Connection) -> None:
        """Whether the tables and the server are as they should be."""
        self._findings += structure.changes(connection)
        found, notes = structure.unsafe_settings(connection)
        self._findings += found
        self._notes += notes

    def _check_ids(self, connection: sa.Connection) -> None:
        for columns in ((journal.c.id, journal.c.kind), (journal.c.refers,)):
            twice = sa.select(sa.func.min(journal.c.line), sa.func.max(journal.c.line)).where(columns[0].is_not(None))
            for first, second in connection.execute(twice.group_by(*columns).having(sa.func.count() > 1).limit(3)):
                self._findings.append(f"the lines {first} and {second} have the same {columns[0].name}")

    def _check_state(self, connection: sa.Connection, *, follows: bool) -> None:
        """Whether every part is whole and, if all lines were read, what the journal says."""
        found = list(state.rows(connection))
        for each in found:
            if not each.is_whole:
                name = each.part if each.part in WHOLE_PARTS else f"{each.part} of category {each.place}"
                self._findings.append(f"the state was altered: the checksum of its part {name!r} does not fit")
                follows = False
            elif follows and not self._belongs(each):
                self._findings.append(f"the state was altered: a part {each.part!r} {each.place} belongs to nothing")
        if follows and self._follower.agent is not None:
            if problem := state.other_end(found, self._seen.line):
                self._findings.append(f"line {self._seen.line} {problem}")
            else:
                stored = state.load(connection, self._seen.line)
                self._findings += list(_differences(self._follower.agent, stored, less_exact=self._less_exact))

    def _belongs(self, part: state.Part) -> bool:
        """Whether a state has such a part."""
        size = 0 if self._follower.agent is None else len(self._follower.agent)
        return part.place < size if part.part == COLUMN_PART else part.part in WHOLE_PARTS and part.place == 0


def _differences(agent: Agent, stored: Agent, *, less_exact: bool) -> Iterator[str]:
    """What is different in a state from the agent that follows from the journal."""
    names = agent.names
    for part in (SETTINGS_PART, CLOCK_PART, EXTRAS_PART):
        if part_of(agent, part) != part_of(stored, part):
            yield f"the state does not follow from the journal: its part {part!r} differs"
            return
    mine, theirs = (np.frombuffer(part_of(each, TABLE_PART)).reshape(len(ROW_NAMES), -1) for each in (agent, stored))
    differs = ~((mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
    with np.errstate(invalid="ignore"):
        differs &= ~np.isclose(mine, theirs, rtol=ROUNDING, atol=ROUNDING)
        if less_exact:
            close = np.isclose(mine[Row.EVIDENCE], theirs[Row.EVIDENCE], rtol=DIGITS_LOST, atol=ROUNDING)
            differs[Row.EVIDENCE] &= ~close
    for row, k in np.argwhere(differs)[:3].tolist():
        told = f"{ROW_NAMES[row]} of {names[k]!r} is {theirs[row, k]:g} instead of {mine[row, k]:g}"
        yield f"the state does not follow from the journal: {told}"


def _difference(stored: Any, computed: Any, place: str, *, less_exact: bool) -> str | None:
    """Where two JSON values differ by more than rounding; None if they do not."""
    if _is_table(stored) and _is_table(computed):
        if stored.keys() != computed.keys():
            return f"{place or 'it'} has other fields"
        found = (
            _difference(stored[key], computed[key], f"{place}{'.' if place else ''}{key}", less_exact=less_exact)
            for key in stored
        )
        return next((each for each in found if each), None)
    if _is_list(stored) and _is_list(computed):
        if len(stored) != len(computed):
            return f"{place} has another length"
        pairs = enumerate(zip(stored, computed, strict=True))
        found = (_difference(*pair, f"{place}[{i}]", less_exact=less_exact) for i, pair in pairs)
        return next((each for each in found if each), None)
    if stored == computed:
        return None
    if isinstance(stored, float) and isinstance(computed, float):
        if math.isnan(stored) and math.isnan(computed):
            return None
        share = DIGITS_LOST if less_exact and place.startswith(FROM_EVIDENCE) else ROUNDING
        if math.isclose(stored, computed, rel_tol=share, abs_tol=ROUNDING):
            return None
    return f"{place} is {stored!r}, computed anew it is {computed!r}"


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _hash(given: object) -> str:
    plain = str(given).strip().lower()
    if len(plain) != len(START) or not set(plain) <= set("0123456789abcdef"):
        raise InputError("head", given, "is no hash of a line", "give the 64 letters that `verify` printed")
    return plain
