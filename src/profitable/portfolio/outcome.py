"""What callers report: clients who were accepted, and outcomes.  And what they are told: a receipt, row by row.

>>> Outcome("loan-4711", "students", reward=1, decision=12)
Outcome(id='loan-4711', category='students', reward=1.0, amount=None, cost=None, decision=12, key=None, known=None)
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, cast

from profitable.common import check
from profitable.common.text_tables import ROWS_SHOWN, number, several, text_table
from profitable.errors import ParameterError
from profitable.portfolio.spelling import normal

LONGEST_ID = 500  # letters of an id or a key
Status = Literal["counted", "known", "refused", "left out"]


def text(field: str, value: object, longest: int = LONGEST_ID) -> str:
    """A text that every database keeps as it is, in one spelling; ParameterError for anything else."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(field, value, "is not a text", "give a text that is not empty")
    value = normal(value)
    if len(value) > longest:
        raise ParameterError(field, value, f"has {len(value)} letters", f"give at most {longest}")
    if not value.isprintable() or value != value.strip():
        problem = "has letters that cannot be printed, or spaces around it"
        raise ParameterError(field, value, problem, "leave them out")
    return value


def check_names(names: Iterable[str], *, known: Iterable[str] = ()) -> None:
    """ParameterError for names of categories that no database keeps, or that look like another one."""
    spelt = {normal(each): each for each in known if not each.isascii()}
    for each in names:
        text("category", each)
        if not each.isascii() and spelt.setdefault(normal(each), each) != each:
            problem = "is the name of another category, with its accents written otherwise"
            raise ParameterError("category", each, problem, "choose another name")


def _number(field: str, value: object) -> float:
    return check.finite(field, value) + 0.0  # which makes -0.0 a 0.0


def _day(field: str, value: object) -> str:
    """A day, or a moment, as ISO text."""
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    with suppress(ValueError):
        if isinstance(value, str):  # 20261116 is the same day as 2026-11-16
            return date.fromisoformat(value).isoformat()
    with suppress(ValueError):
        if isinstance(value, str):
            return datetime.fromisoformat(value).isoformat()
    raise ParameterError(field, value, "is no date", "give one as 2026-11-16")


def _check(row: object, readers: Sequence[tuple[str, Callable[[str, object], object]]]) -> None:
    """Check the fields that are given, and keep them as they are read."""
    for name, read in readers:
        if (given := getattr(row, name)) is not None:
            object.__setattr__(row, name, read(name, given))


def _round(field: str, value: object) -> int:
    return check.whole(field, value)


def _key(field: str, value: object) -> str:
    return text(field, value)


def _one_of_two(row: "Outcome | Client") -> None:
    """ParameterError if a decision is named twice."""
    if row.decision is not None and row.key is not None:
        raise ParameterError("key", row.key, "is given beside a decision", "leave one of them out")


def _rounds(field: str, value: object) -> int:
    return check.whole(field, value, least=0)


def _curve(field: str, value: object) -> str | tuple[float, ...]:
    if isinstance(value, str):
        return value
    try:
        return tuple(check.finite(field, each) for each in cast(Iterable[object], value))
    except TypeError:
        raise ParameterError(field, value, "is no way to emerge", "give a text, or a list of shares by age") from None


OUTCOME_READERS = (("amount", _number), ("cost", _number), ("decision", _round), ("key", _key), ("known", _day))
CLIENT_READERS = (("decision", _round), ("key", _key), ("matures", _rounds), ("emerges", _curve), ("promised", _number))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one client.

    - `id`: a name of your own for this client.  However often an id is reported, it counts once.  It is kept in the
      normal form NFC of Unicode, so that it is one id however its accents are written.
    - `reward`: as the family of the category says: 1 for a loan that was repaid.
    - `amount`: what was lent, for categories of `Category.returns`.
    - `cost`: what accepting this client really cost, if not the category's price.
    - `decision`: the round whose decision accepted it, or `key`, the key of that decision, which is the same in a
      shadow.  Neither is needed if the client was opened.
    - `known`: the day on which the outcome was known, if you want to keep it.
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
        object.__setattr__(self, "id", text("id", self.id))
        text("category", self.category)  # which is kept as it is: the portfolio knows how it is spelt
        object.__setattr__(self, "reward", _number("reward", self.reward))
        _check(self, OUTCOME_READERS)
        _one_of_two(self)


@dataclass(frozen=True, slots=True)
class Client:
    """A client who was accepted, and whose outcome is still to come.

    - `decision`: the round whose decision accepted it, or `key`, its key; the latest one unless given.
    - `matures`: the number of rounds after that one until all outcomes of its clients are known.
    - `emerges`, `promised`: how it counts until then, see `Agent.expect`.

    The clients of one category and round mature together: they have the same `matures`, `emerges` and `promised`.
    """

    id: str
    category: str
    decision: int | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    matures: int | None = field(default=None, kw_only=True)
    emerges: str | Sequence[float] | None = field(default=None, kw_only=True)
    promised: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", text("id", self.id))
        text("category", self.category)  # which is kept as it is: the portfolio knows how it is spelt
        _check(self, CLIENT_READERS)
        _one_of_two(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one row that was reported.

    `status` is "counted", "known" (it was counted before), "refused", or "left out": nothing is wrong with it, but
    another row was refused, and nothing was to be counted then.  `why` says more; `line` is its line in the journal.
    """

    id: str
    status: Status
    why: str = ""
    line: int | None = None


def summary_of(numbers: Mapping[Status, int], *, is_trial: bool) -> str:
    """How many rows there were, and what became of them.

    >>> summary_of({"counted": 8, "known": 1_000}, is_trial=False)
    '1 008 rows: 8 counted, 1 000 known already'
    """
    words: dict[Status, str] = {"counted": "counted", "known": "known already", "refused": "refused"}
    words["left out"] = "left out"
    parts = [f"{number(numbers[status])} {word}" for status, word in words.items() if numbers.get(status)]
    trial = " (nothing was stored)" if is_trial else ""
    return f"{several(sum(numbers.values()), 'row')}: {', '.join(parts) or 'nothing to do'}{trial}"


@dataclass(frozen=True)
class Receipt:
    """An answer for each row that was reported, in their order.

    >>> print(Receipt((Answer("loan-1", "counted", line=7), Answer("loan-2", "refused", "reward = 2 cannot be"))))
    2 rows: 1 counted, 1 refused
    row  id      status   why
    ---  ------  -------  --------------------
    2    loan-2  refused  reward = 2 cannot be
    """

    answers: tuple[Answer, ...]
    is_trial: bool = False  # nothing was stored: this is what would happen

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __getitem__(self, place: int) -> Answer:
        return self.answers[place]

    def of(self, status: Status) -> tuple[Answer, ...]:
        """The answers with one status."""
        return tuple(answer for answer in self.answers if answer.status == status)

    @property
    def counted(self) -> tuple[Answer, ...]:
        """The rows that were counted now."""
        return self.of("counted")

    @property
    def known(self) -> tuple[Answer, ...]:
        """The rows that had been counted before."""
        return self.of("known")

    @property
    def refused(self) -> tuple[Answer, ...]:
        """The rows that were refused."""
        return self.of("refused")

    def summary(self) -> str:
        """How many rows there were, and what became of them."""
        return summary_of(Counter(answer.status for answer in self.answers), is_trial=self.is_trial)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON-ready values."""
        rows = [{"id": each.id, "status": each.status, "why": each.why, "line": each.line} for each in self.answers]
        return {"stored": not self.is_trial, "rows": rows}

    def table(self, *, everything: bool) -> str:
        """The summary, and a table of the rows that were refused, or of all."""
        shown = [
            (str(place), each.id, each.status, each.why)
            for place, each in enumerate(self.answers, 1)
            if everything or each.status == "refused"
        ]
        if not shown:
            return self.summary()
        limit = len(shown) if everything else ROWS_SHOWN
        rest = f"\n... and {number(len(shown) - limit)} more" if len(shown) > limit else ""
        listed = text_table(("row", "id", "status", "why"), shown[:limit], words=(0, 1, 2, 3))
        return f"{self.summary()}\n{listed}{rest}"

    def __str__(self) -> str:
        return self.table(everything=False)
