"""Intake of reported rows: each is checked, and becomes a line if it is right."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from profitable.agent.observation import Bookings
from profitable.errors import InputError
from profitable.portfolio.amendments import mended
from profitable.portfolio.history import DecisionRequest, apply, book, count, examine
from profitable.portfolio.journal import Line, chain_of, intact, journal, named, of_clients, one
from profitable.portfolio.loans import check_day, ended_of, ended_text, misfit, terms_of
from profitable.portfolio.outcome import Client, LoanOutcome, Outcome, PortfolioAnswer
from profitable.portfolio.session import Decided, Writing
from profitable.portfolio.spelling import same_name
from profitable.portfolio.stored_decision import as_text

Row = Outcome | LoanOutcome | Client
TERM_NAMES = ("emerges", "promised", "term", "rate", "issued")  # in the body of an open line
OUTCOME_FIELDS = ("category", "reward", "amount", "cost", "known")
REMEMBERED = 64  # decisions that are kept in memory


class _Examined(NamedTuple):
    """The outcomes of one category among the rows that are reported together."""

    k: int
    places: list[int]  # of the rows
    faults: dict[int, str]  # by place among these
    bookings: Bookings


class Intake:
    """Intake of one transaction.

    Clients must belong to categories that their decision accepted, unless it was that
    of a shadow: `was_shadow` says so of the number of its line.  `decisions` remembers
    earlier decisions by their round.
    """

    def __init__(
        self,
        writing: Writing,
        *,
        was_shadow: Callable[[int], bool],
        decisions: dict[int, Decided],
    ) -> None:
        self._writing = writing
        self._agent = writing.agent
        self._was_shadow = was_shadow
        self._decisions = decisions
        # By kind and id, those of this transaction included.
        self._stored: dict[tuple[str, str], Line] = {}
        self._ends: dict[str, Line] = {}  # how loans ended in this transaction, by id

    def take(self, rows: Sequence[Row]) -> list[PortfolioAnswer]:
        """Answer each row; right ones are added to the transaction and the agent."""
        lends = self._agent.lending is not None
        misfits = {place: misfit(row, lends=lends) for place, row in enumerate(rows)}
        answers = self._take([row for place, row in enumerate(rows) if not misfits[place]])
        for place, why in misfits.items():
            if why:
                answers.insert(place, PortfolioAnswer(rows[place].id, "refused", why))
        return answers

    def _take(self, rows: Sequence[Row]) -> list[PortfolioAnswer]:
        stored = self._writing.stored
        if stored is None:
            stored = of_clients(self._writing.connection, list({row.id for row in rows}))
        self._stored = stored
        if loans := [row for row in rows if isinstance(row, LoanOutcome)]:
            return self._take_loans(loans)
        others = [row for row in rows if not isinstance(row, LoanOutcome)]
        rows, unknown = self._with_rounds([self._spelt(row) for row in others])
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

    # ---------------------------------------------------------------------------- loans

    def _take_loans(self, rows: Sequence[LoanOutcome]) -> list[PortfolioAnswer]:
        start = len(self._writing.lines)
        answers = [self._loan(row) for row in rows]
        lines = self._writing.lines[start:]
        if ended := [line for line in lines if line.kind == "outcome"]:
            self._writing.touched |= count(self._agent, ended)
        for line in lines:
            if line.kind == "correct":
                self._writing.touched |= apply(self._agent, line)
        return answers

    def _loan(self, row: LoanOutcome) -> PortfolioAnswer:
        stored, opened = (self._stored.get((kind, row.id)) for kind in ("outcome", "open"))
        if opened is None:
            why = f"id = {row.id!r} was not opened here; open the client first, or correct the id"
            return PortfolioAnswer(row.id, "refused", why)
        if row.category not in (None, opened.category):
            given = (("category", row.category, opened.category),)
            return PortfolioAnswer(row.id, "refused", _differs(opened, given, "was opened with"))
        chain = [] if stored is None else self._chain(stored)
        latest = chain[-1] if chain else None
        ended = {} if latest is None else ended_of(latest)
        for line in chain if row.ended else ():
            if ended_of(line) == row.ended:
                how = "counted" if line is stored else "corrected"
                return PortfolioAnswer(row.id, "known", f"{how} in line {line.line}", line.line)
        if latest is not None and ended:
            why = (
                f"id = {row.id!r} was reported before as {ended_text(ended)}, not"
                f" {ended_text(row.ended)} (line {latest.line}); correct it if that was wrong"
            )
            return PortfolioAnswer(row.id, "refused", why)
        if not row.ended:
            return PortfolioAnswer(row.id, "still open")
        ((field, day),) = row.ended.items()
        try:
            check_day(field, day, self._writing.time, opened)
        except InputError as error:
            return PortfolioAnswer(row.id, "refused", str(error).rstrip("."))
        line = self._writing.add(self._loan_line(row, opened, latest))
        self._stored["outcome", row.id] = line if stored is None else stored
        self._ends[row.id] = line
        return PortfolioAnswer(row.id, "counted", line=line.line)

    def _loan_line(self, row: LoanOutcome, opened: Line, latest: Line | None) -> Line:
        """Return the line of a loan that ends; a correction if it was reopened."""
        same = {"category": opened.category, "decision": opened.decision}
        term = opened.content["term"]
        if latest is None:
            body = as_text({**row.ended, "term": term})
            return self._writing.new("outcome", id=row.id, **same, refers=opened.line, body=body)
        body = as_text(mended({}, row.ended, self._agent.round, term))
        return self._writing.new("correct", **same, refers=latest.line, body=body)

    def _chain(self, stored: Line) -> list[Line]:
        """Return an outcome and its corrections, those of this transaction included."""
        chain, mine = [*chain_of(self._writing.connection, stored)], self._ends.get(str(stored.id))
        return chain if mine is None or mine in chain else [*chain, mine]

    # -------------------------------------------------------------------------- clients

    def _terms(self, row: Client) -> dict[str, Any]:
        """Return what a client's line says of how he is repaid; InputError if wrong."""
        if self._agent.lending is None:
            given = {"emerges": _plain(row.emerges), "promised": row.promised}
            return {name: value for name, value in given.items() if value is not None}
        terms = terms_of(row, self._agent.lending)
        if "issued" in terms:
            check_day("issued", terms["issued"], self._writing.time)
        return terms

    def _open(self, row: Client) -> PortfolioAnswer:
        stored, outcome = (self._stored.get((kind, row.id)) for kind in ("open", "outcome"))
        try:
            body = self._terms(row)
        except InputError as error:
            return PortfolioAnswer(row.id, "refused", str(error).rstrip("."))
        decision = self._agent.round if row.decision is None else row.decision
        if stored is not None:
            before = stored.content
            compared = [
                ("category", row.category, stored.category),
                ("matures", row.matures, stored.matures),
                ("amount", row.amount, stored.amount),
                *((name, body.get(name), before.get(name)) for name in TERM_NAMES),
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
        # Else he would be one of today's applicants twice.
        if (row.category, body.get("term")) in self._decided(decision).applicants:
            body["asked"] = True
        line = self._writing.new(
            "open",
            id=row.id,
            category=row.category,
            decision=decision,
            matures=row.matures,
            amount=row.amount,
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
        accepted = self._decided(decision).accepted
        if accepted is None or category in accepted:
            return ""
        return (
            f"decision = {decision} did not accept {category!r};"
            " give the round that accepted the client, or no decision if none of them did"
        )

    def _decided(self, round: int) -> Decided:
        if round not in self._decisions:
            while len(self._decisions) >= REMEMBERED:
                del self._decisions[next(iter(self._decisions))]
            self._decisions[round] = self._decided_before(round)
        return self._decisions[round]

    def _decided_before(self, round: int) -> Decided:
        connection = self._writing.connection
        found = one(connection, journal.c.kind == "decide", journal.c.round == round)
        if found is None:  # a round of an imported agent
            return Decided()
        line = intact(connection, found)
        asked = DecisionRequest.of(line.content).applicants or ()
        return Decided(
            None if self._was_shadow(line.line) else accepted_of(line),
            frozenset((name, term) for name, term, *_ in asked),
        )


def unstorable(rows: Sequence[Row], codec: str | None) -> dict[int, PortfolioAnswer]:
    """Return the rows, by place, that a database of this encoding cannot store."""
    found: dict[int, PortfolioAnswer] = {}
    for place, row in enumerate(rows if codec is not None else ()):
        for field, value in (("id", row.id), ("key", getattr(row, "key", None))):
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
