"""Outcomes and clients as callers report them, and the receipt for them.

>>> outcome = Outcome("loan-4711", "students", reward=1, decision=12)
>>> outcome.reward, outcome.decision, outcome.known
(1.0, 12, None)
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from typing import Any, Literal, cast

from profitable.common import check
from profitable.common.text_tables import ROWS_SHOWN, number_text, several, text_table
from profitable.errors import ParameterError
from profitable.portfolio.spelling import checked_text

AnswerStatus = Literal["counted", "known", "still open", "refused", "left out"]
STATUSES: tuple[AnswerStatus, ...] = ("counted", "known", "still open", "refused", "left out")
LOAN_FIELDS = ("term", "rate", "instalment", "amount", "issued")  # of clients of a lender


def _number(field: str, value: object) -> float:
    return check.finite(field, value) + 0.0  # which makes -0.0 a 0.0


def _day(field: str, value: object) -> str:
    """Return a day or a timestamp as ISO text."""
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    if isinstance(value, str):
        for read in (date.fromisoformat, datetime.fromisoformat):
            with suppress(ValueError):  # 20261116 is the same day as 2026-11-16
                return read(value).isoformat()
    raise ParameterError(field, value, "must be a date", "give one such as 2026-11-16")


def _date(field: str, value: object) -> str:
    """Return a day as ISO text, also that of a timestamp."""
    return _day(field, value)[: len("2026-11-16")]


def _check(
    row: "Outcome | Client", readers: Sequence[tuple[str, Callable[[str, object], object]]]
) -> None:
    """Check the fields that are given, and keep them as they are read."""
    for name, read in readers:
        if (given := getattr(row, name)) is not None:
            object.__setattr__(row, name, read(name, given))
    if row.decision is not None and row.key is not None:
        raise ParameterError(
            "key", row.key, "cannot be combined with a decision", "leave one of them out"
        )


def _curve(field: str, value: object) -> str | tuple[float, ...]:
    if isinstance(value, str):
        return value
    try:
        return tuple(check.finite(field, each) for each in cast(Iterable[object], value))
    except TypeError:
        raise ParameterError(
            field,
            value,
            "must be a pattern of emergence",
            "give a text, or a list of shares by age",
        ) from None


OUTCOME_READERS = (
    ("amount", _number),
    ("cost", _number),
    ("decision", check.whole),
    ("key", checked_text),
    ("known", _day),
)
CLIENT_READERS = (
    ("decision", check.whole),
    ("key", checked_text),
    ("matures", partial(check.whole, least=0)),
    ("emerges", _curve),
    ("promised", _number),
    ("term", partial(check.whole, least=1)),
    ("rate", _number),
    ("instalment", check.positive),
    ("amount", check.positive),
    ("issued", _date),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one client.

    Parameters
    ----------
    id : str
        Your name for this client.  However often an id is reported, it counts once.  It
        is kept in the normal form NFC of Unicode.
    category : str
        The category of the client.
    reward : float
        As the family of the category defines it, such as 1 for a loan that was repaid.
    amount : float, optional
        The amount lent, for categories of `Category.returns`.
    cost : float, optional
        The cost of accepting this client, if not the category's price.
    decision : int, optional
        The round whose decision accepted the client.  Not needed if it was opened.
    key : str, optional
        The key of that decision instead, which is the same in a shadow.
    known : date or str, optional
        The day on which the outcome was known.

    Examples
    --------
    >>> Outcome("loan-4711", "students", reward=1, decision=12).reward
    1.0

    """

    id: str
    category: str
    reward: float = field(kw_only=True)
    amount: float | None = field(default=None, kw_only=True)
    cost: float | None = field(default=None, kw_only=True)
    decision: int | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    known: str | date | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", checked_text("id", self.id))
        # Which is kept as it is: the portfolio knows how it is spelt.
        checked_text("category", self.category)
        object.__setattr__(self, "reward", _number("reward", self.reward))
        _check(self, OUTCOME_READERS)


@dataclass(frozen=True, slots=True)
class LoanOutcome:
    """How one loan stands, in a portfolio that lends.

    Without a day it is still open.

    Parameters
    ----------
    id : str
        Your name for the client, who was opened before.
    defaulted : date or str, optional
        The day on which the default was known.
    closed : date or str, optional
        The day on which the loan was repaid.
    category : str, optional
        The category of the client; if it is given, it must be that of the loan.

    Examples
    --------
    >>> LoanOutcome("loan-4711", defaulted="2026-11-16").ended
    {'defaulted': '2026-11-16'}
    """

    id: str
    defaulted: str | date | None = field(default=None, kw_only=True)
    closed: str | date | None = field(default=None, kw_only=True)
    category: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", checked_text("id", self.id))
        if self.category is not None:
            checked_text("category", self.category)
        for name in ("defaulted", "closed"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, _date(name, given))
        if self.defaulted is not None and self.closed is not None:
            raise ParameterError(
                "closed", self.closed, "cannot be combined with defaulted", "leave one of them out"
            )

    @property
    def ended(self) -> dict[str, str]:
        """How it ended, with the day; empty if it is still open."""
        days = {"defaulted": self.defaulted, "closed": self.closed}
        return {name: str(day) for name, day in days.items() if day is not None}


@dataclass(frozen=True, slots=True)
class Client:
    """An accepted client whose outcome is not known yet.

    Clients of one category and round mature together: `matures`, `emerges` and
    `promised` are the same for all of them.

    Parameters
    ----------
    id : str
        Your name for this client.
    category : str
        The category of the client.
    decision : int, optional
        The round whose decision accepted the client; the latest unless given.
    key : str, optional
        The key of that decision instead.
    matures : int, optional
        The number of rounds after that one until all outcomes are known.
    emerges : str or sequence of float, optional
        How the client counts until then, as in `Agent.expect`.
    promised : float, optional
        The reward of a client who is not lost, as in `Agent.expect`.
    term : int, optional
        In a portfolio that lends: the number of rounds over which the loan is repaid.
    rate : float, optional
        Its interest a year, 0.12 for 12 %.
    instalment : float, optional
        What is paid in each round, in place of the rate; with the amount.
    amount : float, optional
        What was lent.
    issued : date or str, optional
        The day of the loan.

    Examples
    --------
    >>> Client("loan-4712", "students", matures=12).matures
    12
    >>> Client("loan-4713", "cars", term=36, rate=0.12).term
    36

    """

    id: str
    category: str
    decision: int | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    matures: int | None = field(default=None, kw_only=True)
    emerges: str | Sequence[float] | None = field(default=None, kw_only=True)
    promised: float | None = field(default=None, kw_only=True)
    term: int | None = field(default=None, kw_only=True)
    rate: float | None = field(default=None, kw_only=True)
    instalment: float | None = field(default=None, kw_only=True)
    amount: float | None = field(default=None, kw_only=True)
    issued: str | date | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", checked_text("id", self.id))
        # Which is kept as it is: the portfolio knows how it is spelt.
        checked_text("category", self.category)
        _check(self, CLIENT_READERS)
        if self.instalment is None:
            return
        if self.rate is not None:
            raise ParameterError(
                "instalment",
                self.instalment,
                "cannot be combined with a rate",
                "leave one of them out",
            )
        if self.amount is None:
            raise ParameterError(
                "instalment", self.instalment, "needs the amount of the loan", "give amount, too"
            )


@dataclass(frozen=True, slots=True)
class PortfolioAnswer:
    """The answer of a portfolio to one row, correction or change of a setting.

    Attributes
    ----------
    id : str
        The id of the row, or the name of the setting.
    status : str
        "counted", "known" (it was counted before), "still open" (a loan that has not
        ended), "refused", or "left out": it is right, but another row was refused, and
        nothing was to be counted then.
    why : str
        The reason, in words.
    line : int or None
        Its line in the journal.

    """

    id: str
    status: AnswerStatus
    why: str = ""
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready values."""
        return {"id": self.id, "status": self.status, "why": self.why, "line": self.line}

    def left_out(self) -> "PortfolioAnswer":
        """Return the answer if nothing is to be counted."""
        if self.status != "counted":
            return self
        return PortfolioAnswer(self.id, "left out", "another row was refused")


def summary_of(numbers: Mapping[AnswerStatus, int], *, is_trial: bool) -> str:
    """Return the number of rows of each status.

    >>> summary_of({"counted": 8, "known": 1_000}, is_trial=False)
    '1 008 rows: 8 counted, 1 000 known already'
    """
    parts = [
        f"{number_text(numbers[status])} {'known already' if status == 'known' else status}"
        for status in STATUSES
        if numbers.get(status)
    ]
    trial = " (nothing was stored)" if is_trial else ""
    return f"{several(sum(numbers.values()), 'row')}: {', '.join(parts) or 'nothing to do'}{trial}"


@dataclass(frozen=True)
class Receipt:
    """An answer for each reported row, in their order.

    Attributes
    ----------
    answers : tuple of PortfolioAnswer
        The answers; iterating over the receipt gives them, too.
    is_trial : bool
        Whether nothing was stored: the receipt is what would happen.

    Examples
    --------
    >>> counted = PortfolioAnswer("loan-1", "counted", line=7)
    >>> refused = PortfolioAnswer("loan-2", "refused", "reward = 2 cannot be")
    >>> print(Receipt((counted, refused)))
    2 rows: 1 counted, 1 refused
    row  id      status   why
    ---  ------  -------  --------------------
    2    loan-2  refused  reward = 2 cannot be

    """

    answers: tuple[PortfolioAnswer, ...]
    is_trial: bool = False

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[PortfolioAnswer]:
        return iter(self.answers)

    def __getitem__(self, place: int) -> PortfolioAnswer:
        return self.answers[place]

    def of(self, status: AnswerStatus) -> tuple[PortfolioAnswer, ...]:
        """Return the answers with one status.

        Parameters
        ----------
        status : str
            "counted", "known", "still open", "refused" or "left out".

        Returns
        -------
        tuple of PortfolioAnswer
            In the order of the rows.

        """
        return tuple(answer for answer in self.answers if answer.status == status)

    @property
    def counted(self) -> tuple[PortfolioAnswer, ...]:
        """The answers to rows that were counted now."""
        return self.of("counted")

    @property
    def known(self) -> tuple[PortfolioAnswer, ...]:
        """The answers to rows that had been counted before."""
        return self.of("known")

    @property
    def refused(self) -> tuple[PortfolioAnswer, ...]:
        """The answers to rows that were refused."""
        return self.of("refused")

    def summary(self) -> str:
        """Return the number of rows of each status, in words."""
        return summary_of(Counter(answer.status for answer in self.answers), is_trial=self.is_trial)

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON-ready values."""
        return {"stored": not self.is_trial, "rows": [each.to_dict() for each in self.answers]}

    def __str__(self) -> str:
        shown = [
            (str(place), each.id, each.status, each.why)
            for place, each in enumerate(self.answers, 1)
            if each.status == "refused"
        ]
        if not shown:
            return self.summary()
        hidden = len(shown) - ROWS_SHOWN
        rest = f"\n... and {number_text(hidden)} more" if hidden > 0 else ""
        listed = text_table(("row", "id", "status", "why"), shown[:ROWS_SHOWN], words=(0, 1, 2, 3))
        return f"{self.summary()}\n{listed}{rest}"
