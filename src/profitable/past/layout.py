"""Layout: the meaning of the columns of past clients.

>>> Layout(category="job", reward="y", time="month", cost=1, revenue=10).cost
1.0
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeGuard, cast

from profitable.common import check
from profitable.common.declared_options import DeclaredOptions, option
from profitable.errors import InputError, ParameterError

CALENDAR = ("day", "week", "month", "quarter")
ROUNDS = (*CALENDAR, "number")
MOST_ROUNDS_LATE = 10**6
AT_MATURITY, EVENLY = "at maturity", "evenly"
HAZARDS, AS_THEY_COME = "hazards", "as they come"
TREATMENTS = (HAZARDS, AT_MATURITY, AS_THEY_COME)  # of late outcomes
RISES, FALLS = "rising", "falling"
SCORECARD = "scorecard"  # the name of its order
PER_YEAR = {"day": 365.25, "week": 365.25 / 7.0, "month": 12.0, "quarter": 4.0}  # rounds
MONTHS = 12.0
OWN_LATE = ("known", "matures", "emerges", "open_value", "treated")  # instead of hazards
COLUMN = "give the name of a column"


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def number_or_text(text: str) -> float | str:
    """Read a number if a text is one; else return the text, a column.

    >>> number_or_text("1.5"), number_or_text("price")
    (1.5, 'price')
    """
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _reward(field: str, value: object) -> str:
    return "" if value == "" or value is None else _column(field, value)


def _column(field: str, value: object) -> str:
    if value is None or value == "":
        raise InputError(field, None, "is missing", COLUMN)
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(field, value, "must be a column", COLUMN)
    return value


def _scorecard(field: str, value: object) -> tuple[str, ...]:
    given = value if is_list(value) else (value,)
    texts = [part for each in given for part in str(each).split(",")]
    found = _columns(field, [text.strip() for text in texts])
    return (found,) if isinstance(found, str) else found


def _share(field: str, value: object) -> float:
    share = check.finite(field, value)
    if not 0.0 < share < 1.0:
        raise ParameterError(field, value, "is not a share of the rounds", "give 0.3 for 30 %")
    return share


def _category(field: str, value: object) -> str | tuple[str, ...]:
    return "" if value == "" or value is None else _columns(field, value)


def _columns(field: str, value: object) -> str | tuple[str, ...]:
    if not is_list(value):
        return _column(field, value)
    names = tuple(_column(field, each) for each in value)
    if not names:
        raise ParameterError(field, value, "is empty", COLUMN)
    if len(set(names)) < len(names):
        raise ParameterError(field, value, "names a column twice", "name it once")
    return names[0] if len(names) == 1 else names


def _number_or_column(field: str, value: object) -> float | str:
    if isinstance(value, str):
        return _column(field, value)
    return check.finite(field, value, "give a finite number or the name of a column")


def _required(field: str, value: object) -> float:
    required = check.finite(field, value)
    if not -1.0 < required <= 10.0:
        raise ParameterError(field, value, "must be a rate of return", "give 0.05 for 5 %")
    return required


def _round(field: str, value: object) -> str | int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, str) and value in ROUNDS:
        return value
    if isinstance(value, str) or check.number(value) is None:
        raise ParameterError(
            field, value, "is unknown", f"choose from {', '.join(ROUNDS)}, or give a number of rows"
        )
    return check.whole(field, value)


def _order(field: str, value: object) -> object:
    if value not in (RISES, FALLS):
        raise ParameterError(
            field,
            value,
            "is unknown",
            f"give {RISES} if a higher value is better, or {FALLS} if it is riskier",
        )
    return value


def _date_format(field: str, value: object) -> str | tuple[str, ...]:
    """Return one format, or texts "column=format" beside it."""
    remedy = 'give one like "%d.%m.%Y", or "column=%d.%m.%Y" for each column'
    if isinstance(value, Mapping):
        named = cast("Mapping[object, object]", value)
        value = [f"{name}={each}" if name != "*" else each for name, each in named.items()]
    given: Sequence[object] = value if is_list(value) else (value,)
    for each in given:
        if not isinstance(each, str) or "%" not in each:
            raise ParameterError(field, each, "must be a date format", remedy)
    texts = tuple(map(str, given))
    columns = [_format_of(text)[0] for text in texts]
    for column in columns:
        if columns.count(column) > 1:
            problem = f"has two formats of {column}" if column else "has two formats of all columns"
            raise ParameterError(field, list(texts), problem, "give one")
    if not texts:
        raise ParameterError(field, list(texts), "is empty", remedy)
    return texts[0] if len(texts) == 1 else texts


def _format_of(text: str) -> tuple[str, str]:
    """Return the column, or "" for all, and the format of dates.

    >>> _format_of("closed=%d/%m/%Y"), _format_of("%d.%m.%Y")
    (('closed', '%d/%m/%Y'), ('', '%d.%m.%Y'))
    """
    column = text[: text.index("%")].rpartition("=")[0]
    return column, text[len(column) + 1 :] if column else text


def _decimal(field: str, value: object) -> object:
    if value not in (".", ","):
        raise ParameterError(field, value, "must be a decimal sign", "give . or ,")
    return value


def _condition(field: str, value: object, *, such_as: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(field, value, "must be a condition", f'give one such as "{such_as}"')
    return value


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(field, value, "must be true or false", "give true or false")
    return value


def _emerges(field: str, value: object) -> str | tuple[float, ...]:
    if isinstance(value, str) and value in (EVENLY, AT_MATURITY):
        return value
    if isinstance(value, str):
        value = [number_or_text(part) for part in value.split(",")]
    remedy = 'give "evenly", "at maturity" or a list of shares such as [0.1, 0.4, 1.0]'
    if not is_list(value):
        raise ParameterError(field, value, "is unknown", remedy)
    return tuple(check.finite(field, each, remedy) for each in value)


def _chosen(field: str, value: object, *, among: Sequence[str]) -> object:
    if value not in among:
        raise ParameterError(field, value, "is unknown", f"choose from {', '.join(among)}")
    return value


rows = partial(option, group="Rows")
columns, money = partial(option, group="Columns"), partial(option, group="Money")
loans = partial(option, group="Loans, judged by their hazards")
scored = partial(option, group="Scorecard")
delayed, past = partial(option, group="Late outcomes"), partial(option, group="Past decisions")


@dataclass(frozen=True, kw_only=True)
class Layout(DeclaredOptions):
    """The meaning of the columns of past clients."""

    category: str | Sequence[str] = columns(
        "",
        "Column of the category. Several columns are crossed; age:25,40,60 cuts a number into "
        "bands, age:q4 into quarters.",
        check=_category,
    )
    order: str | None = columns(
        None,
        "Whether the categories are bands of a score whose mean reward rises or falls with it: "
        "rising or falling (a higher score is riskier). Policies then share evidence between "
        "bands.",
        check=_order,
    )
    scorecard: str | Sequence[str] | None = scored(
        None,
        "Columns of a scorecard (col,col,...) in place of a category: a logistic regression is "
        "fitted to the first clients, and bands the others by it.",
        check=_scorecard,
        excludes=("category", "treated"),
    )
    fitted: float = scored(
        0.3,
        "Share of the rounds to which the scorecard is fitted; the others are replayed.",
        check=_share,
        needs=("scorecard",),
    )
    bands: int = scored(
        10,
        "Number of bands of the scorecard.",
        check=partial(check.whole, least=2, most=100),
        needs=("scorecard",),
    )
    reward: str = columns(
        "",
        "Column of the outcome, or column=value for 1 where it has that value and 0 elsewhere; or "
        'an expression of columns such as "paid / lent", as everywhere for a column of numbers. Of '
        "loans with `defaulted`, the present value of what came back; from the schedule unless "
        "given.",
        check=_reward,
    )
    time: str | Sequence[str] | None = columns(
        None,
        "Column with a date, a timestamp or a whole number. Several columns are joined by spaces "
        "and read with `date_format`. Without it, rows are taken in their order, and `round` "
        "says how many make a round.",
        check=_columns,
    )
    round: str | int | None = columns(
        None,
        "day, week, month, quarter, number (of the time column), or a number of rows; month for "
        "dates and number for whole numbers unless given.",
        check=_round,
    )
    date_format: str | Sequence[str] | Mapping[str, str] | None = columns(
        None,
        "Format of dates, such as %d.%m.%Y, or of one column: closed=%d/%m/%Y.",
        check=_date_format,
        needs=("time", "issued"),
    )
    decimal: str | None = columns(
        None,
        "Decimal sign of numbers that are texts, . or ,: whether $5,000 is 5000. Without it, a "
        "number that could mean two things is refused.",
        check=_decimal,
    )
    where: str | None = rows(
        None,
        "Condition that rows must meet, such as \"amount > 0 and status != 'open'\"; others are "
        "left out and counted.",
        check=partial(_condition, such_as="amount > 0 and status != 'open'"),
    )
    skip_bad_rows: bool = rows(
        False,
        "Leave out rows that cannot be read, and count them by reason; without it they are an "
        "error.",
        check=_flag,
    )
    revenue: float = money(
        1.0, "Worth of a reward of 1 in money.", check=check.positive, excludes=("amount",)
    )
    cost: float | str | None = money(
        None,
        "Cost of a client in money: a number or a column.",
        check=_number_or_column,
        excludes=("amount",),
    )
    amount: str | None = money(
        None,
        "Column of the amount lent. The reward is then the money that came back, and the mean of "
        "money back per unit lent decides.",
        check=_column,
    )
    required: float | None = money(
        None,
        "Return required per unit lent, such as 0.05; a year, with `defaulted`. With `amount`.",
        check=_required,
        needs=("amount",),
    )
    weight: str = money(
        "money",
        "With `amount`, whether the mean over money or over clients decides: money or client.",
        check=partial(_chosen, among=("money", "client")),
    )
    late: str | None = delayed(
        None,
        "How late outcomes are treated: hazards (learnt from when loans defaulted and closed; the "
        "default with `defaulted`), at maturity (clients count when 95 % are known; the default "
        "where `known` is far after they asked), or as they come, which is naive.",
        check=partial(_chosen, among=TREATMENTS),
        needs=("defaulted", "known", "matures"),
    )
    issued: str | None = loans(
        None, "Column of the date of a loan; the same as `time`.", check=_column, excludes=("time",)
    )
    term: float | str | None = loans(
        None,
        "Months over which a loan is repaid: a column or a number.",
        check=_number_or_column,
        needs=("defaulted",),
    )
    rate: float | str | None = loans(
        None,
        "Interest of a loan a year, 0.12 for 12 %: a column or a number.",
        check=_number_or_column,
        needs=("defaulted",),
    )
    instalment: str | None = loans(
        None,
        "Column of the monthly instalment, in place of `rate`.",
        check=_column,
        needs=("defaulted",),
        excludes=("rate",),
    )
    defaulted: str | None = loans(
        None,
        "Column of the date at which a default was known; empty if there was none.",
        check=_column,
        needs=("time", "issued"),
        excludes=OWN_LATE,
    )
    closed: str | None = loans(
        None,
        "Column of the date at which a loan was repaid or prepaid; empty if it is open.",
        check=_column,
        needs=("defaulted",),
    )
    recovery: float = loans(
        0.0,
        "Share of the balance that comes back in a default.",
        check=partial(
            check.within, low=0.0, high=1.0, problem="is not a share", remedy="give 0.1 for 10 %"
        ),
        needs=("defaulted",),
    )
    lag: int = loans(
        0,
        "Rounds between the last instalment and the round in which a default is known.",
        check=partial(check.whole, least=0),
        needs=("defaulted",),
    )
    level: float = loans(
        0.3,
        "How uncertain the common level of defaults is: the standard deviation of its logarithm "
        "between vintages.",
        check=partial(check.not_negative, remedy="give 0 or more, such as 0.3"),
        needs=("defaulted",),
    )
    known: str | None = delayed(
        None, "Column of the date at which the outcome was known.", check=_column, needs=("time",)
    )
    open: str | None = delayed(
        None,
        "Condition for clients whose outcome is not known yet, such as \"status in ('Current', "
        "'Late')\", or column=value. They have no outcome, whatever the columns hold so far. Where "
        "a value is missing, a client is not open.",
        check=partial(_condition, such_as="status in ('Current', 'Late')"),
    )
    matures: int | None = delayed(
        None,
        "Number of rounds after which all outcomes of a round's clients are known.",
        check=partial(check.whole, most=MOST_ROUNDS_LATE),
        excludes=("open_value",),
    )
    emerges: str | Sequence[float] | None = delayed(
        None,
        "How open clients count: at maturity, evenly, or shares by age such as 0.1,0.4,1.",
        check=_emerges,
        needs=("matures",),
        excludes=("open_value",),
    )
    promised: float | str | None = delayed(
        None,
        "Reward of a client who does not default, in the unit of `reward`: a column or a number "
        "(per unit lent, with `amount`).",
        check=_number_or_column,
        needs=("matures",),
        excludes=("open_value", "treated"),
    )
    open_value: float | str | None = delayed(
        None,
        "Value of an open client, in the unit of `reward`: a column or a number (per unit lent, "
        "with `amount`).",
        check=_number_or_column,
        needs=("known",),
        excludes=("treated",),
    )
    accepted: str | None = past(
        None,
        "Column that says whom the past accepted, as 0 and 1.",
        check=_column,
        excludes=("treated",),
    )
    propensity: str | None = past(
        None,
        "Column of the probability of being accepted, or treated.",
        check=_column,
        needs=("accepted", "treated"),
    )
    treated: str | None = past(
        None,
        "Column with 1 for treated clients and 0 for the control group, or column=value. The "
        "effect of the treatment is then the reward.",
        check=_column,
        excludes=("amount",),
    )
    score: str | None = columns(
        None,
        "Column by which a baseline ranks clients without learning; larger is better.",
        check=_column,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.issued is not None:
            object.__setattr__(self, "time", self.issued)
            object.__setattr__(self, "issued", None)
        if self.scorecard is not None and self.order is None and not self.by_hazards:
            object.__setattr__(self, "order", RISES)
        if self.by_hazards and self.reward == "" and self.amount is not None:
            object.__setattr__(self, "reward", self.amount)  # the schedule says what came back
        for field, is_wrong, problem, remedy in (
            (
                "category",
                not self.category and self.scorecard is None,
                "is missing",
                COLUMN,
            ),
            (
                "scorecard",
                self.scorecard is not None and self.by_hazards,
                "cannot be combined with loans judged by hazards in this version",
                "leave it out, or leave defaulted out",
            ),
            (
                "order",
                self.scorecard is not None and self.order == FALLS,
                "is given with scorecard, whose bands rise: they are sorted by the chance to pay",
                "leave it out",
            ),
            (
                "amount",
                self.by_hazards and self.amount is None,
                "is missing",
                "give the column with the amount lent",
            ),
            (
                "order",
                self.order is not None and self.by_hazards,
                (
                    "cannot be combined with loans judged by hazards in this version: bands share "
                    "the evidence of rewards, and loans that are open have none"
                ),
                "leave it out, or leave defaulted out",
            ),
            (
                "order",
                self.order is not None and len(self.categories) > 1,
                "needs one column, and category crosses several",
                "name the score alone",
            ),
            (
                "term",
                self.by_hazards and self.term is None,
                "is missing",
                "give the months over which a loan is repaid, a column or a number",
            ),
            (
                "rate",
                self.by_hazards and self.rate is None and self.instalment is None,
                "is missing",
                "give rate (a year) or instalment (a month)",
            ),
            (
                "closed",
                self.by_hazards and self.closed is None,
                "is missing",
                "give the column with the date at which a loan was repaid",
            ),
            (
                "round",
                self.by_hazards and self.round is not None and self.round not in PER_YEAR,
                "does not say how long a round is",
                f"choose from {', '.join(PER_YEAR)}",
            ),
            (
                "late",
                self.late == HAZARDS and not self.by_hazards,
                "is given without defaulted",
                "give defaulted and closed, the dates at which loans ended",
            ),
            (
                "late",
                self.late in (AT_MATURITY, AS_THEY_COME) and self.by_hazards,
                "cannot be combined with defaulted, from which hazards are learnt",
                "leave defaulted and closed out, and give known",
            ),
            (
                "late",
                self.late == AS_THEY_COME and (self.matures is not None or self.counts_open),
                "is given with matures or open_value, which say when clients count",
                "leave one of them out",
            ),
            (
                "late",
                self.late == AT_MATURITY and self.counts_open,
                "contradicts emerges and open_value: at maturity, open clients do not count",
                "leave one of them out",
            ),
            (
                "reward",
                not self.reward,
                "is missing",
                COLUMN,
            ),
            (
                "cost",
                self.cost is None and self.amount is None,
                "is missing",
                "give cost (a number or a column) or amount (a column with the amount lent)",
            ),
            (
                "time",
                self.time is None and not isinstance(self.round, int),
                "is missing",
                "give the column with the date, or a number of rows as round",
            ),
            (
                "emerges",
                self.counts_open and self.known is None,
                "is given without known",
                "give the column with the date at which the outcome was known",
            ),
            (
                "promised",
                self.promised is not None and not self.counts_open,
                "has no effect at maturity",
                'give emerges="evenly" or a curve: at maturity, open clients do not count',
            ),
        ):
            if is_wrong:
                self._refuse(field, problem, remedy)

    def format_of(self, *columns: str) -> str | None:
        """Return the format of the dates in a column, or in columns that are joined."""
        if self.date_format is None:
            return None
        given = self.date_format if is_list(self.date_format) else (self.date_format,)
        formats = dict(_format_of(str(text)) for text in given)
        return formats.get(" ".join(columns), formats.get(""))

    @property
    def by_hazards(self) -> bool:
        """Whether loans are judged by when they default and close."""
        return self.defaulted is not None

    @property
    def by_schedule(self) -> bool:
        """Whether what came back follows from the schedule of a loan."""
        return self.by_hazards and self.reward == self.amount

    @property
    def margin(self) -> float:
        """What must come back per unit lent, above 1.

        Of loans judged by hazards, `required` is a rate a year that discounts payments.
        """
        return 0.0 if self.by_hazards else self.required or 0.0

    @property
    def threshold(self) -> float:
        """The mean reward that pays for a client, without amounts.

        If costs are a column, they are subtracted from the rewards.
        """
        return 0.0 if isinstance(self.cost, str) else (self.cost or 0.0) / self.revenue

    @property
    def counts_open(self) -> bool:
        """Whether open clients count, at a promised reward or a value."""
        return self.open_value is not None or self.emerges not in (None, AT_MATURITY)

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns of `category`, with their cuts."""
        if self.scorecard is not None:
            return (SCORECARD,)
        return (self.category,) if isinstance(self.category, str) else tuple(self.category)

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of `time`; none if the order of the rows is the time."""
        if self.time is None:
            return ()
        return (self.time,) if isinstance(self.time, str) else tuple(self.time)

    def to_dict(self) -> dict[str, Any]:
        """Return the given fields as plain values, from which `Layout` can be made."""
        given = {name: getattr(self, name) for name in FIELDS if self.is_given(name)}
        return {name: list(value) if is_list(value) else value for name, value in given.items()}


FIELDS = tuple(each.name for each in fields(Layout))
