"""Loans in a portfolio: what callers say of them, and what their lines do to an agent.

The line that opens a loan has its terms, the line of its outcome says how it ended.
Nothing else is needed to follow them.

>>> from profitable.portfolio.outcome import Client
>>> client = Client("loan-1", "cars", term=36, instalment=332.14, amount=10_000)
>>> terms = terms_of(client, Lending(required=0.05))
>>> terms["term"], round(terms["rate"], 4)
(36, 0.12)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.loan_book import BookSummary, Loans, LoanTerms
from profitable.errors import ParameterError
from profitable.model.lending import Lending
from profitable.portfolio.journal import Line
from profitable.portfolio.outcome import LOAN_FIELDS, Client, LoanOutcome

Ended = dict[str, str]  # "defaulted" or "closed" and the day; empty for a loan that is open
# The date may be one day ahead of UTC, or one behind.
TIME_ZONES = timedelta(days=1)


# ------------------------------------------------------------------- what callers say


def terms_of(client: Client, lending: Lending) -> dict[str, Any]:
    """Return the terms of a loan as the body of a line; ParameterError if wrong."""
    for field in ("matures", "emerges", "promised"):
        if (value := getattr(client, field)) is not None:
            raise ParameterError(
                field, value, "is learnt from the loans", "leave it out, and give the term"
            )
    term = LoanTerms(client.term).read_term()
    rate = client.rate
    if client.instalment is not None and client.amount is not None:
        rate = lending.rate_of(client.instalment, client.amount, term)
    found = {
        "term": term,
        "rate": LoanTerms(term, rate).read_rate(),
        "issued": client.issued,
    }
    return {name: value for name, value in found.items() if value is not None}


def applicants_of(clients: Iterable[Client], agent: Agent) -> list[list[Any]]:
    """Return who asks as category, term, number of clients, and mean rate of each."""
    if agent.lending is None:
        raise ParameterError("applicants", None, "are for a portfolio that lends", "leave them out")
    rates: dict[tuple[str, int], list[float]] = {}
    for client in clients:
        if not isinstance(client, Client):
            raise ParameterError(
                "applicants", client, "must be of type Client", "give profitable.Client(...)"
            )
        agent.category(client.category)  # which must be there
        terms = terms_of(client, agent.lending)
        if "rate" not in terms:
            raise ParameterError(
                "rate", None, f"of {client.id!r} is missing", "give the rate a year, such as 0.12"
            )
        rates.setdefault((client.category, terms["term"]), []).append(terms["rate"])
    # In an order that does not depend on that of the clients.
    return [
        [name, term, len(found), math.fsum(found) / len(found)]
        for (name, term), found in sorted(rates.items())
    ]


def misfit(row: object, *, lends: bool) -> str:
    """Why a row cannot be of a portfolio that lends, or of one that does not; or ""."""
    if isinstance(row, LoanOutcome):
        if lends:
            return ""
        if not row.ended:
            return f"id = {row.id!r} has no reward; give one: this portfolio does not lend"
        ((field, value),) = row.ended.items()
        return f"{field} = {value!r} is for a portfolio that lends; give a reward"
    if isinstance(row, Client):
        given = () if lends else LOAN_FIELDS
        found = ((field, getattr(row, field)) for field in given)
        return next(
            (
                f"{field} = {value!r} is for a portfolio that lends; leave it out"
                for field, value in found
                if value is not None
            ),
            "",
        )
    if not lends:
        return ""
    return (
        f"reward = {getattr(row, 'reward', None)!r} cannot be learnt from: this portfolio lends;"
        " give the day in defaulted or closed"
    )


def check_day(field: str, day: str, now: str, opened: Line | None = None) -> None:
    """ParameterError for a day on which something cannot have happened.

    `now` is the time in UTC, `opened` the line of the loan.
    """
    then, today = date.fromisoformat(day), date.fromisoformat(now[:10])
    if then > today + TIME_ZONES:
        raise ParameterError(field, day, "is in the future", "give the day on which it happened")
    if opened is None:
        return
    issued = opened.content.get("issued")
    since = date.fromisoformat(opened.time[:10]) - TIME_ZONES
    if then < (since if issued is None else date.fromisoformat(issued)):
        how = f"opened in line {opened.line}" if issued is None else f"issued on {issued}"
        raise ParameterError(field, day, f"is before the loan was {how}", "correct the day")


def history_of(decisions: Iterable[Line]) -> list[dict[str, Any]]:
    """Return the defaults that decisions knew, and those that were affordable then.

    A row is a category (`name`) in a round (`x`).
    """
    found: list[dict[str, Any]] = []
    for line in decisions:
        columns = line.content["columns"]
        names = columns["name"]
        book = BookSummary.recorded(columns, np.arange(len(names)), len(names))
        for k, name in enumerate(names):
            standing = book.standing(k)
            numbers = {"defaults": standing.defaults, "affordable": standing.affordable}
            found.append({"name": name, "x": line.round, **numbers})
    return found


# ------------------------------------------------------------------------- what they do


def ended_of(line: Line) -> Ended:
    """Return how a loan ended, as the line of its outcome or a correction says."""
    content = line.content
    said = content["now"] or {} if line.kind == "correct" else content
    return {field: said[field] for field in ("defaulted", "closed") if field in said}


def ended_text(ended: Mapping[str, str]) -> str:
    """Return how a loan ended, in words."""
    return next((f"{field} on {day}" for field, day in ended.items()), "open")


def quote(agent: Agent, applicants: Iterable[Sequence[Any]]) -> None:
    """Tell an agent who asks today, as a decision has it."""
    for name, term, clients, rate in applicants:
        agent.quote(name, clients, term=term, rate=rate)


def lend(agent: Agent, line: Line) -> None:
    """Book the loan that a line opens.

    Its terms are those of one of today's applicants, unless they were given with the
    decision.
    """
    terms = line.content
    agent.expect(
        str(line.category),
        1,
        accepted_in=line.decision,
        matures=line.matures,
        term=terms["term"],
        rate=None if terms.get("asked") else terms.get("rate"),
    )


def end(agent: Agent, lines: Sequence[Line]) -> set[int]:
    """Book how loans ended in this round; return the positions of their categories."""
    names = agent.ledger.categories
    positions = [names.position(str(line.category)) for line in lines]
    ended = [_ended_how(ended_of(line)) for line in lines]
    agent.ledger.end_loans(
        Loans(
            np.array(positions),
            np.array([line.content["term"] for line in lines]),
            np.array([line.decision for line in lines]),
        ),
        np.array([float(how == "defaulted") for how in ended]),
        np.array([float(how == "closed") for how in ended]),
    )
    return {*positions}


def mend(agent: Agent, line: Line) -> None:
    """Correct how a loan ended, in the round in which that was counted."""
    content = line.content
    was, now = _ended_how(content["was"]), _ended_how(content["now"])
    if was is None and now is not None:
        end(agent, [line])
    elif was != now:
        agent.correct(
            str(line.category),
            was=was,  # type: ignore[arg-type]
            now=now,  # type: ignore[arg-type]
            counted_in=content["counted_in"],
            accepted_in=line.decision,
            term=content["term"],
        )


def _ended_how(ended: Mapping[str, str] | None) -> str | None:
    return next((field for field in ("defaulted", "closed") if field in (ended or {})), None)
