"""Intake: rows that callers report, checked one by one; those that are right become lines of the journal."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from profitable.errors import InputError
from profitable.portfolio.history import apply, count, faults
from profitable.portfolio.journal import DECIDE, OPEN, OUTCOME, Line, intact, of_clients, one
from profitable.portfolio.outcome import Answer, Client, Outcome
from profitable.portfolio.recorded import as_text
from profitable.portfolio.tables import journal

if TYPE_CHECKING:
    from profitable.portfolio.session import Writing

OUTCOME_FIELDS = ("category", "reward", "amount", "cost", "known")
REMEMBERED = 64  # decisions whose accepted categories are kept in memory
Accepted = dict[int, frozenset[str]]


class Intake:
    """What one transaction takes in.

    Clients must belong to categories that their decision accepted, unless it was that of a shadow: `was_shadow` says so
    of the number of its line.  `accepted` remembers which categories earlier decisions accepted.
    """

    def __init__(self, writing: "Writing", *, was_shadow: Callable[[int], bool], accepted: Accepted) -> None:
        self._writing = writing
        self._agent = writing.agent
        self._was_shadow = was_shadow
        self._accepted = accepted
        self._stored: dict[tuple[str, str], Line] = {}  # by kind and id, those of this transaction included

    def take(self, rows: Sequence[Outcome | Client]) -> list[Answer]:
        """An answer for each row; what is right is added to the transaction and has its effect on the agent."""
        stored = self._writing.stored
        if stored is None:
            stored = of_clients(self._writing.connection, list({row.id for row in rows}))
        self._stored = stored
        rows, unknown = self._with_rounds(rows)
        outcomes = [row for row in rows if isinstance(row, Outcome)]
        if outcomes:
            return self._take_outcomes(outcomes, unknown)
        return [
            Answer(row.id, "refused", unknown[place]) if place in unknown else self._open(row)
            for place, row in enumerate(rows)
            if isinstance(row, Client)
        ]

    def _with_rounds(self, rows: Sequence[Outcome | Client]) -> tuple[list[Outcome | Client], dict[int, str]]:
        """The rows with the round in place of a key, and by place what is wrong with keys that nobody decided.

        A shadow may be younger than a decision.  There, an outcome of such a decision counts without one.
        """
        rounds: dict[str, int | None] = {}
        found, unknown = list(rows), dict[int, str]()
        for place, row in enumerate(rows):
            if row.key is None:
                continue
            if row.key not in rounds:
                line = one(self._writing.connection, journal.c.kind == DECIDE, journal.c.id == row.key)
                rounds[row.key] = None if line is None else line.round
            is_foreign = isinstance(row, Outcome) and self._was_shadow(self._writing.line)
            if rounds[row.key] is None and not is_foreign:
                unknown[place] = f"key = {row.key!r} was not decided here; give the key of the decision, or none"
            found[place] = replace(row, key=None, decision=rounds[row.key])
        return found, unknown

    # ------------------------------------------------------------------------------------------ outcomes

    def _take_outcomes(self, rows: Sequence[Outcome], unknown: dict[int, str]) -> list[Answer]:
        start, wrong = len(self._writing.lines), self._faults(rows) | unknown
        answers = [self._outcome(row, wrong.get(place, "")) for place, row in enumerate(rows)]
        self._writing.touched |= count(self._agent, self._writing.lines[start:])
        return answers

    def _faults(self, rows: Sequence[Outcome]) -> dict[int, str]:
        """What is wrong with rewards, amounts and costs, by place."""
        places: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(row.category, []).append(place)
        found: dict[int, str] = {}
        for name, chosen in places.items():
            if name in self._agent:
                k = self._agent._ledger.categories.position(name)
                reported = [rows[place] for place in chosen]
                found |= {chosen[i]: why for i, why in faults(self._agent, k, reported).items()}
        return found

    def _line(self, row: Outcome, decision: int | None, opened: Line | None) -> Line:
        return self._writing.new(
            OUTCOME,
            id=row.id,
            category=row.category,
            decision=decision,
            matures=None if opened is None else opened.matures,
            reward=row.reward,
            amount=row.amount,
            cost=row.cost,
            known=row.known,
            refers=None if opened is None else opened.line,
        )

    def _outcome(self, row: Outcome, wrong: str) -> Answer:
        stored, opened = (self._stored.get((kind, row.id)) for kind in (OUTCOME, OPEN))
        if stored is not None:
            return self._again(row, stored)
        decision = row.decision if opened is None else opened.decision
        wrong = self._unknown(row.category) or wrong
        if not wrong and opened is not None:
            given = (("category", row.category, opened.category), ("decision", row.decision, opened.decision))
            wrong = _differs(opened, given, "was opened with")
        elif not wrong and decision is not None:
            wrong = self._not_accepted(row.category, decision)
        if wrong:
            return Answer(row.id, "refused", wrong)
        line = self._writing.add(self._line(row, decision, opened))
        self._stored[OUTCOME, row.id] = line
        return Answer(row.id, "counted", line=line.line)

    def _again(self, row: Outcome, stored: Line) -> Answer:
        """The answer to an id that has an outcome already."""
        given = [(name, getattr(row, name), getattr(stored, name)) for name in OUTCOME_FIELDS]
        if row.decision is not None:
            given.append(("decision", row.decision, stored.decision))
        wrong = _differs(stored, given, "was reported before with")
        if not wrong:
            return Answer(row.id, "known", f"counted in line {stored.line}", stored.line)
        latest = last_of(self._writing.connection, stored)
        is_right = all(getattr(row, name) == getattr(latest, name) for name in OUTCOME_FIELDS[:-1])
        if latest is not stored and is_right and row.decision in (None, stored.decision):
            return Answer(row.id, "known", f"corrected in line {latest.line}", latest.line)
        return Answer(row.id, "refused", f"{wrong}; correct it if that was wrong")

    # ------------------------------------------------------------------------------------------ clients

    def _open(self, row: Client) -> Answer:
        stored, outcome = (self._stored.get((kind, row.id)) for kind in (OPEN, OUTCOME))
        given = {"emerges": row.emerges, "promised": row.promised}
        body = {name: value for name, value in given.items() if value is not None}
        decision = self._agent.round if row.decision is None else row.decision
        if stored is not None:
            before = stored.content
            compared = [("category", row.category, stored.category), ("matures", row.matures, stored.matures)]
            compared += [(name, _plain(value), before.get(name)) for name, value in given.items()]
            if row.decision is not None:
                compared.append(("decision", row.decision, stored.decision))
            wrong = _differs(stored, compared, "was opened before with")
            status = "refused" if wrong else "known"
            return Answer(row.id, status, wrong or f"opened in line {stored.line}", stored.line)
        wrong = self._unknown(row.category)
        if not wrong and outcome is not None:
            wrong = f"id = {row.id!r} has an outcome already (line {outcome.line}); open clients before that"
        if wrong := wrong or self._not_accepted(row.category, decision):
            return Answer(row.id, "refused", wrong)
        line = self._writing.new(
            OPEN,
            id=row.id,
            category=row.category,
            decision=decision,
            matures=row.matures,
            body=as_text(body) if body else None,
        )
        try:
            self._writing.touched |= apply(self._agent, line)
        except InputError as error:
            return Answer(row.id, "refused", str(error).rstrip("."))
        self._stored[OPEN, row.id] = self._writing.add(line)
        return Answer(row.id, "counted", line=line.line)

    # ------------------------------------------------------------------------------------------ both

    def _unknown(self, category: str) -> str:
        if category in self._agent:
            return ""
        return f"category = {category!r} is unknown; add it first, or correct the name"

    def _not_accepted(self, category: str, decision: int) -> str:
        """Why a client cannot have been accepted by a decision; empty if he can."""
        if not 1 <= decision <= self._agent.round:
            latest = f"the latest round is {self._agent.round}"
            return f"decision = {decision} has not been made: {latest}; give the round that accepted the client"
        if category in self._accepted_in(decision):
            return ""
        remedy = "give the round that accepted the client, or no decision if none of them did"
        return f"decision = {decision} did not accept {category!r}; {remedy}"

    def _accepted_in(self, decision: int) -> frozenset[str]:
        if decision not in self._accepted:
            found = one(self._writing.connection, journal.c.kind == DECIDE, journal.c.round == decision)
            # Of a round of the agent that this portfolio was made of, nobody knows.
            if found is None or self._was_shadow(found.line):
                return frozenset(self._agent.names)
            while len(self._accepted) >= REMEMBERED:
                del self._accepted[next(iter(self._accepted))]
            self._accepted[decision] = accepted_of(intact(self._writing.connection, found))
        return self._accepted[decision]


def unstorable(rows: Sequence[Outcome | Client], codec: str | None) -> dict[int, Answer]:
    """By place, rows with letters that a database of this encoding does not have; None has all of them."""
    found: dict[int, Answer] = {}
    for place, row in enumerate(rows if codec is not None else ()):
        for field, value in (("id", row.id), ("key", row.key)):
            try:
                (value or "").encode(codec or "utf-8")
            except UnicodeEncodeError as error:
                letter = error.object[error.start]
                why = (
                    f"{field} = {value!r} has the letter {letter!r}, which a database of encoding {codec} cannot store"
                )
                found[place] = Answer(row.id, "refused", f"{why}; leave it out, or use one whose encoding is UTF8")
    return found


def accepted_of(line: Line) -> frozenset[str]:
    """The categories that a stored decision accepts."""
    columns = line.content["columns"]
    chosen = columns.get("granted", columns["accepted"])
    return frozenset(name for name, each in zip(columns["name"], chosen, strict=True) if each)


def last_of(connection: sa.Connection, line: Line) -> Line:
    """The last correction of an outcome, or the outcome itself."""
    while (later := one(connection, journal.c.refers == line.line)) is not None:
        line = later
    return line


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value  # type: ignore[arg-type]


def _differs(line: Line, compared: Sequence[tuple[str, object, object]], how: str) -> str:
    """A sentence about the first field that is not what it was; empty if there is none."""
    for name, value, before in compared:
        if value is not None or before is not None:
            if name == "decision" and value is None:
                continue
            if value != before:
                return f"id = {line.id!r} {how} {name} = {before!r}, not {value!r} (line {line.line})"
    return ""
