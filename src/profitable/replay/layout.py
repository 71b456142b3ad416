"""Layout: which column of the past means what, as the caller says it.  The words are those of the TOML file, too."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, TypeGuard

from profitable.common import check
from profitable.common.files import read_text
from profitable.errors import InputError, ParameterError

CALENDAR = ("day", "week", "month", "quarter")
ROUNDS = (*CALENDAR, "number")
RUN_OPTIONS = (
    "policies",
    "family",
    "bound",
    "bound",
    "seed",
    "seeds",
    "replays",
    "budget",
    "places",
    "explore",
    "commit",
    "shuffles",
)
MOST_ROUNDS_LATE = 10**6
COLUMN = "give the name of a column"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What the columns of a file of past clients mean.

    - `category`: one column, several that are crossed, or a numeric one that is cut: "age:25,40,60" into bands,
      "age:q4" into quarters.
    - `time`: a column with a date, a timestamp or a whole number; several columns are joined by spaces and read with
      `date_format`.  Without it, the order of the rows is the time.
    - `round`: "day", "week", "month" (the default for dates), "quarter", "number" (each whole number is a round, the
      default for whole numbers), or a number of rows.
    - `reward`: a column of numbers, or "column=value", which is 1 where the column has that value and 0 elsewhere.
    - `revenue`: what a reward of 1 is worth in money; `cost`: what a client costs, a number or a column.
    - `amount`: a column with what was lent.  Then `reward` is the money that came back, the mean that decides is that
      of money back per unit lent, and it must be above 1 + `required`.  With `weight` = "client", every client counts
      the same.
    - `known`: a column with the time at which the outcome was known.
    - `matures`, `emerges`, `promised`: how late outcomes count until they are known (`Agent.expect`).  `open_value`: a
      column, or a number: what an open client counts as.  A column of either is in the unit of `reward`, and so is a
      number; with `amount`, a number is per unit lent.  With `matures` and without `known`, every outcome is known that
      many rounds after its client asked.
    - `accepted`, `propensity`: whether the past accepted the client, and with what probability.
    - `treated`: 1 for treated clients and 0 for the control group.  Then rewards are what the treatment adds.
    - `score`: a column by which clients can be ranked without learning; larger is better.

    >>> Layout(category="job", reward="y", time="month", cost=1, revenue=10).cost
    1.0
    """

    category: str | tuple[str, ...]
    reward: str
    time: str | tuple[str, ...] | None = None
    round: str | int | None = None
    date_format: str | None = None
    revenue: float = 1.0
    cost: float | str | None = None
    amount: str | None = None
    required: float | None = None
    weight: str = "money"
    known: str | None = None
    matures: int | None = None
    emerges: str | tuple[float, ...] | None = None
    promised: float | str | None = None
    open_value: float | str | None = None
    accepted: str | None = None
    propensity: str | None = None
    treated: str | None = None
    score: str | None = None

    def __post_init__(self) -> None:
        self._set("category", _columns("category", self.category))
        self._set("reward", _column("reward", self.reward))
        self._set("time", None if self.time is None else _columns("time", self.time))
        self._set("round", _round(self.round))
        for name in ("amount", "known", "accepted", "propensity", "treated", "score"):
            if getattr(self, name) is not None:
                self._set(name, _column(name, getattr(self, name)))
        for name in ("cost", "promised", "open_value"):
            if getattr(self, name) is not None:
                self._set(name, _number_or_column(name, getattr(self, name)))
        self._set("revenue", check.positive("revenue", self.revenue))
        if self.required is not None:
            self._set("required", _required(self.required))
        if self.matures is not None:
            self._set("matures", check.whole("matures", self.matures, most=MOST_ROUNDS_LATE))
        self._set("emerges", _emerges(self.emerges))
        self._check_money()
        self._check_time()
        self._check_late()
        self._check_past()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_money(self) -> None:
        if self.cost is None and self.amount is None:
            remedy = "give cost (a number or a column) or amount (a column with what was lent)"
            raise ParameterError("cost", None, "is missing", remedy)
        if self.amount is not None:
            for name in ("cost", "treated"):
                if getattr(self, name) is not None:
                    remedy = f"give either {name} or amount"
                    raise ParameterError(name, getattr(self, name), "is given beside amount", remedy)
            if self.revenue != 1.0:
                remedy = "leave it out: with amount, the reward is money already"
                raise ParameterError("revenue", self.revenue, "is given beside amount", remedy)
        elif self.required is not None:
            raise ParameterError(
                "required", self.required, "is given without amount", "give the column with what was lent"
            )
        if self.weight not in ("money", "client"):
            raise ParameterError("weight", self.weight, "is unknown", "choose from money, client")

    def _check_time(self) -> None:
        if self.time is None:
            if not isinstance(self.round, int):
                remedy = "give the column with the date, or a number of rows as round"
                raise ParameterError("time", None, "is missing", remedy)
            if self.known is not None:
                raise ParameterError("known", self.known, "is given without time", "give the column with the date, too")
        if self.date_format is not None:
            if self.time is None:
                raise ParameterError("date_format", self.date_format, "is given without time", "give time, too")
            if not isinstance(self.date_format, str) or "%" not in self.date_format:
                raise ParameterError(
                    "date_format", self.date_format, "is no format of dates", 'give one like "%d.%m.%Y"'
                )

    def _check_late(self) -> None:
        if self.open_value is not None:
            for name in ("matures", "emerges", "promised"):
                if getattr(self, name) is not None:
                    remedy = "give either open_value or matures, emerges and promised"
                    raise ParameterError(name, getattr(self, name), "is given beside open_value", remedy)
            if self.known is None:
                raise ParameterError("open_value", self.open_value, "is given without known", "give known, too")
        for name in ("emerges", "promised"):
            if getattr(self, name) is not None and self.matures is None:
                remedy = "give the number of rounds after which all outcomes are known"
                raise ParameterError(name, getattr(self, name), "is given without matures", remedy)
        if self.emerges not in (None, "at maturity") and self.known is None:
            remedy = "give the column with the date at which the outcome was known"
            raise ParameterError("emerges", self.emerges, "is given without known", remedy)
        if self.promised is not None and self.emerges in (None, "at maturity"):
            remedy = 'give emerges="evenly" or a curve: at maturity, open clients do not count'
            raise ParameterError("promised", self.promised, "has no effect at maturity", remedy)

    def _check_past(self) -> None:
        if self.propensity is not None and self.accepted is None and self.treated is None:
            remedy = "give the column that says who was accepted, or treated"
            raise ParameterError("propensity", self.propensity, "is given without accepted or treated", remedy)
        if self.treated is not None:
            for name in ("accepted", "promised", "open_value"):
                if getattr(self, name) is not None:
                    remedy = f"give either {name} or treated"
                    raise ParameterError(name, getattr(self, name), "is given beside treated", remedy)

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns of `category`, with their cuts."""
        return (self.category,) if isinstance(self.category, str) else self.category

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of `time`; none if the order of the rows is the time."""
        return () if self.time is None else (self.time,) if isinstance(self.time, str) else self.time

    @classmethod
    def from_fields(cls, values: Mapping[str, Any], source: str = "layout") -> Self:
        """A layout from a mapping; `source` names it in errors."""
        for key in values:
            known_field(key, values[key], FIELDS, source)
        for key in ("category", "reward"):
            if values.get(key) is None:
                raise InputError(f"{source}: {key}", None, "is missing", COLUMN)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The fields that were given, as plain values; `Layout.from_fields` reads them."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {name: list(value) if is_list(value) else value for name, value in given.items()}
        defaults = {each.name: each.default for each in fields(self)}
        return {name: value for name, value in plain.items() if value != defaults[name]}


FIELDS = tuple(each.name for each in fields(Layout))


def load_toml(path: Path) -> tuple[str | list[str] | None, dict[str, Any], dict[str, Any]]:
    """What a file of a backtest says: where the data are, the fields of the layout, the options of the run.

    Relative names of data are relative to the file.
    """
    try:
        table = tomllib.loads(read_text(path))
    except OSError as error:
        raise InputError(
            "from", str(path), f"cannot be read ({error.strerror})", "give the name of a TOML file"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError("from", str(path), f"is not a TOML file ({reason})", "correct it there") from None
    for key, value in table.items():
        known_field(key, value, ("data", *FIELDS, *RUN_OPTIONS), str(path))
    data = table.pop("data", None)
    if data is not None:
        data = _data(data, path)
    options = {key: table.pop(key) for key in RUN_OPTIONS if key in table}
    return data, table, options


def known_field(key: str, value: object, keys: tuple[str, ...], source: str) -> None:
    """InputError unless `key` is one of `keys`."""
    if key not in keys:
        close = get_close_matches(key, keys, 1)
        remedy = f"did you mean {close[0]}" if close else f"choose from {', '.join(keys)}"
        raise InputError(f"{source}: {key}", value, "is not a known field", remedy)


def _data(value: Any, path: Path) -> str | list[str]:
    names: list[Any] = list(value) if is_list(value) else [value]
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(
                f"{path}: data", value, "is no file", "give a name, a pattern such as loans-*.csv, or a list of them"
            )
    joined = [str(path.parent / name) for name in names]
    return joined if is_list(value) else joined[0]


def number_or_text(text: str) -> float | str:
    """A number, if a text is one: on the command line, numbers and columns look the same.

    >>> number_or_text("1.5"), number_or_text("price")
    (1.5, 'price')
    """
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def _column(field: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(field, value, "is no column", COLUMN)
    return value


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
    remedy = "give a finite number or the name of a column"
    return check.finite(field, value, remedy)


def _required(value: object) -> float:
    required = check.finite("required", value)
    if not -1.0 < required <= 10.0:
        raise ParameterError("required", value, "is no rate of return", "give 0.05 for 5 %")
    return required


def _round(value: object) -> str | int | None:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if value is None or value in ROUNDS:
        return value  # type: ignore[return-value]
    if isinstance(value, str) or check.number(value) is None:
        raise ParameterError("round", value, "is unknown", f"choose from {', '.join(ROUNDS)}, or give a number of rows")
    return check.whole("round", value)


def _emerges(value: object) -> str | tuple[float, ...] | None:
    if value is None or value in ("evenly", "at maturity"):
        return value  # type: ignore[return-value]
    if isinstance(value, str):
        value = [number_or_text(part) for part in value.split(",")]
    remedy = 'give "evenly", "at maturity" or a list of shares such as [0.1, 0.4, 1.0]'
    if not is_list(value):
        raise ParameterError("emerges", value, "is unknown", remedy)
    return tuple(check.finite("emerges", each, remedy) for each in value)
