"""Intake of reported rows: each is checked, and becomes a line if it is right."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from profitable.agent.observation import Bookings
from profitable.errors import InputError
from profitable.portfolio.history import apply, book, examine
from profitable.portfolio.journal import Line, chain_of, intact, journal, named, of_clients, one
from profitable.portfolio.outcome import Client, Outcome, PortfolioAnswer
from profitable.portfolio.session import Writing
from profitable.portfolio.spelling import same_name
from profitable.portfolio.stored_decision import as_text

OUTCOME_FIELDS = ("category", "reward", "amount", "cost", "known")
REMEMBERED = 64  # decisions whose accepted categories are kept in memory
Accepted = dict[int, frozenset[str]]


class _Examined(NamedTuple):
    """The outcomes of one category among the rows that are reported together."""

    k: int
    places: list[int]  # of the rows
    faults: dict[int, str]  # by place among these
    bookings: Bookings


class Intake:
    """Intake of one transaction.

    Clients must belong to categories that their decision accepted, unless it was that
    of a shadow: `was_shadow` says so of the number of its line.  `accepted` remembers
    which categories earlier decisions accepted.
    """

    def __init__(
        self, writing: Writing, *, was_shadow: Callable[[int], bool], accepted: Accepted
    ) -> None:
        self._writing = writing
        self._agent = writing.agent
        self._was_shadow = was_shadow
        self._accepted = accepted
        # By kind and id, those of this transaction included.
        self._stored: dict[tuple[str, str], Line] = {}

    def take(self, rows: Sequence[Outcome | Client]) -> list[PortfolioAnswer]:
        """Answer each row; right ones are added to the transaction and the agent."""
        stored = self._writing.stored
        if stored is None:
            stored = of_clients(self._writing.connection, list({row.id for row in rows}))
        self._stored = stored
        rows, unknown = self._with_rounds([self._spelt(row) for row in rows])
        outcomes = [row for row in rows if isinstance(row, Outcome)]
        if outcomes:
            return self._take_outcomes(outcomes, unknown)
        return [
            PortfolioAnswer(row.id, "refused", unknown[place])
            if place in unknown
            else self._open(row)
            for place, row in enumerate(rows)
            if isinstance(row, Client)
        ]

    def _spelt(self, row: Outcome | Client) -> Outcome | Client:
        """Return the row with its category as the portfolio spells it."""
        if row.category.isascii() or row.category in self._agent:
            return row
        known = same_name(row.category, self._agent.names)
        return row if known is None else replace(row, category=known)

    def _with_rounds(
        self, rows: Sequence[Outcome | Client]
    ) -> tuple[list[Outcome | Client], dict[int, str]]:
        """Return the rows with rounds in place of keys, and unknown keys by place.

        A shadow may be younger than a decision.  There, an outcome of such a decision
        counts without one.
        """
        rounds: dict[str, int | None] = {}
        found, unknown = list(rows), dict[int, str]()
        for place, row in enumerate(rows):
            if row.key is None:
                continue
            if row.key not in rounds:
                line = named(self._writing.connection, "decide", row.key)
                rounds[row.key] = None if line is None else line.round
            is_foreign = isinstance(row, Outcome) and self._was_shadow(self._writing.line)
            if rounds[row.key] is None and not is_foreign:
                unknown[place] = (
                    f"key = {row.key!r} was not decided here; give the key of the decision, or none"
                )
            found[place] = replace(row, key=None, decision=rounds[row.key])
        return found, unknown

    # ------------------------------------------------------------------------- outcomes

    def _take_outcomes(
        self, rows: Sequence[Outcome], unknown: dict[int, str]
    ) -> list[PortfolioAnswer]:
        examined = self._examined(rows)
        wrong = {each.places[i]: why for each in examined for i, why in each.faults.items()}
        wrong |= unknown
        start = len(self._writing.lines)
        answers = [self._outcome(row, wrong.get(place, "")) for place, row in enumerate(rows)]
        counted = [place for place, answer in enumerate(answers) if answer.status == "counted"]
        lines = dict(zip(counted, self._writing.lines[start:], strict=True))
        for each in examined:
            kept = [i for i, place in enumerate(each.places) if place in lines]
            if kept:
                same = [lines[each.places[i]] for i in kept]
                book(self._agent, each.k, same, each.bookings.of(kept))
                self._writing.touched.add(each.k)
        return answers

    def _examined(self, rows: Sequence[Outcome]) -> list[_Examined]:
        """Return the outcomes by category, with their faults and bookings."""
        places: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(row.category, []).append(place)
        found: list[_Examined] = []
        for name, chosen in places.items():
            if name in self._agent:
                k = self._agent.ledger.categories.position(name)
                reported = [rows[place] for place in chosen]
                found.append(_Examined(k, chosen, *examine(self._agent, k, reported)))
        return found

    def _outcome(self, row: Outcome, wrong: str) -> PortfolioAnswer:
        stored, opened = (self._stored.get((kind, row.id)) for kind in ("outcome", "open"))
        if stored is not None:
            return self._again(row, stored)
        decision = row.decision if opened is None else opened.decision
        wrong = self._unknown(row.category) or wrong
        if not wrong and opened is not None:
            given = (
                ("category", row.category, opened.category),
                ("decision", row.decision, opened.decision),
            )
            wrong = _differs(opened, given, "was opened with")
        elif not wrong and decision is not None:
            wrong = self._not_accepted(row.category, decision)
        if wrong:
            return PortfolioAnswer(row.id, "refused", wrong)
        line = self._writing.new(
            "outcome",
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
        self._writing.add(line)
        self._stored["outcome", row.id] = line
        return PortfolioAnswer(row.id, "counted", line=line.line)

    def _again(self, row: Outcome, stored: Line) -> PortfolioAnswer:
        """Return the answer to an id that has an outcome already."""
        given = [
            (name, getattr(row, name), getattr(stored, name))
            for name in (*OUTCOME_FIELDS, "decision")
        ]
        wrong = _differs(stored, given, "was reported before with")
        if not wrong:
            return PortfolioAnswer(row.id, "known", f"counted in line {stored.line}", stored.line)
        *_, latest = chain_of(self._writing.connection, stored)
        is_right = all(getattr(row, name) == getattr(latest, name) for name in OUTCOME_FIELDS[:-1])
        if latest is not stored and is_right and row.decision in (None, stored.decision):
            return PortfolioAnswer(row.id, "known", f"corrected in line {latest.line}", latest.line)
        return PortfolioAnswer(row.id, "refused", f"{wrong}; correct it if that was wrong")

    # -------------------------------------------------------------------------- clients

    def _open(self, row: Client) -> PortfolioAnswer:
        stored, outcome = (self._stored.get((kind, row.id)) for kind in ("open", "outcome"))
        given = {"emerges": row.emerges, "promised": row.promised}
        body = {name: value for name, value in given.items() if value is not None}
        decision = self._agent.round if row.decision is None else row.decision
        if stored is not None:
            before = stored.content
            compared = [
                ("category", row.category, stored.category),
                ("matures", row.matures, stored.matures),
                *((name, _plain(value), before.get(name)) for name, value in given.items()),
                ("decision", row.decision, stored.decision),
            ]
            wrong = _differs(stored, compared, "was opened before with")
            return PortfolioAnswer(
                row.id,
                "refused" if wrong else "known",
                wrong or f"opened in line {stored.line}",
                stored.line,
            )
        wrong = self._unknown(row.category)
        if not wrong and outcome is not None:
            wrong = (
                f"id = {row.id!r} has an outcome already (line {outcome.line});"
                " open clients before that"
            )
        if wrong := wrong or self._not_accepted(row.category, decision):
            return PortfolioAnswer(row.id, "refused", wrong)
        line = self._writing.new(
            "open",
            id=row.id,
            category=row.category,
            decision=decision,
            matures=row.matures,
            body=as_text(body) if body else None,
        )
        try:
            self._writing.touched |= apply(self._agent, line)
        except InputError as error:
            return PortfolioAnswer(row.id, "refused", str(error).rstrip("."))
        self._stored["open", row.id] = self._writing.add(line)
        return PortfolioAnswer(row.id, "counted", line=line.line)

    # ----------------------------------------------------------------------------- both

    def _unknown(self, category: str) -> str:
        if category in self._agent:
            return ""
        return f"category = {category!r} is unknown; add it first, or correct the name"

    def _not_accepted(self, category: str, decision: int) -> str:
        """Why a client cannot have been accepted by a decision; empty if he can."""
        if not 1 <= decision <= self._agent.round:
            return (
                f"decision = {decision} has not been made: the latest round is"
                f" {self._agent.round}; give the round that accepted the client"
            )
        if category in self._accepted_in(decision):
            return ""
        return (
            f"decision = {decision} did not accept {category!r};"
            " give the round that accepted the client, or no decision if none of them did"
        )

    def _accepted_in(self, decision: int) -> frozenset[str]:
        if decision not in self._accepted:
            found = one(
                self._writing.connection, journal.c.kind == "decide", journal.c.round == decision
            )
            # Rounds of an imported agent have no line.
            if found is None or self._was_shadow(found.line):
                return frozenset(self._agent.names)
            while len(self._accepted) >= REMEMBERED:
                del self._accepted[next(iter(self._accepted))]
            self._accepted[decision] = accepted_of(intact(self._writing.connection, found))
        return self._accepted[decision]


def unstorable(rows: Sequence[Outcome | Client], codec: str | None) -> dict[int, PortfolioAnswer]:
    """Return the rows, by place, that a database of this encoding cannot store."""
    found: dict[int, PortfolioAnswer] = {}
    for place, row in enumerate(rows if codec is not None else ()):
        for field, value in (("id", row.id), ("key", row.key)):
            try:
                (value or "").encode(codec or "utf-8")
            except UnicodeEncodeError as error:
                why = (
                    f"{field} = {value!r} has the letter {error.object[error.start]!r}, which a"
                    f" database of encoding {codec} cannot store; leave it out, or use one whose"
                    " encoding is UTF8"
                )
                found[place] = PortfolioAnswer(row.id, "refused", why)
    return found


def accepted_of(line: Line) -> frozenset[str]:
    """Return the categories that a stored decision accepts."""
    columns = line.content["columns"]
    chosen = columns.get("granted", columns["accepted"])
    return frozenset(name for name, each in zip(columns["name"], chosen, strict=True) if each)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value  # type: ignore[arg-type]


def _differs(line: Line, compared: Sequence[tuple[str, object, object]], how: str) -> str:
    """Return a sentence about the first field that differs, or ""."""
    for name, value, before in compared:
        # A decision need not be given again.
        if value != before and (name, value) != ("decision", None):
            return f"id = {line.id!r} {how} {name} = {before!r}, not {value!r} (line {line.line})"
    return ""
