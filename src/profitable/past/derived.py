"""Derived columns: expressions where an option names a column of numbers.

Terms are computed by narwhals, so that files, dataframes and engines share them.  They
have the logic of SQL: what is computed from a missing value, or by dividing by 0, is
missing.  A condition holds where it is true.

>>> import polars as pl
>>> loans = pl.DataFrame({"paid": [30.0, 5.0, None], "lent": [40.0, 0.0, 9.0]})
>>> frame = nw.from_native(loans)
>>> sheet = EngineSheet(frame, frame.schema)
>>> sheet.derive("ratio", Expression("paid / lent", "reward"))
>>> sheet.derive("is_low", Expression("lent < 20 and not paid > 5", "where"))
>>> sheet.frame.select("ratio", "is_low").rows()
[(0.75, 0.0), (None, 1.0), (None, None)]
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw

from profitable.common.expression import Expression
from profitable.errors import InputError
from profitable.past.row_meaning import is_value

IN_COLUMNS = (
    "give numbers, columns and texts in quotes with + - * / < <= > >= == != and, or, not, in and "
    'brackets, such as "paid / lent" or "status != \'open\'"'
)
Operand: TypeAlias = "Operator | float | int | str"
Compute: TypeAlias = Callable[[Any, Any], Any]


class Parts(NamedTuple):
    """Expressions of a value, which is never missing itself, and of whether it is."""

    value: Any
    gone: Any


class Worksheet(ABC):
    """A frame to which the steps of expressions are added, each as a column."""

    role = "where"  # of the layout: the expression that is computed

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self._steps = 0
        self._known: dict[tuple[str, str], Parts] = {}

    @abstractmethod
    def number(self, name: str) -> Parts:
        """Return a column as numbers."""

    @abstractmethod
    def text(self, name: str) -> Parts:
        """Return a column as texts without spaces around them."""

    @abstractmethod
    def missing(self, name: str) -> Any:
        """Return whether a column is missing."""

    @abstractmethod
    def compared_time(self, name: str, text: str, compute: Compute) -> Parts:
        """Compare a column of times with a time that is written as a text."""

    def known(self, kind: str, name: str) -> Parts:
        """Return a column as number or text, read once."""
        if (kind, name) not in self._known:
            found: Parts = getattr(self, kind)(name)
            self._known[kind, name] = self._kept(found)
        return self._known[kind, name]

    def step(self, value: Any, gone: Any) -> "Term":
        """Return a term as columns of its own.

        Engines copy an expression wherever it is used, and copies of copies grow out of
        all bounds.
        """
        return Term(self, self._kept(Parts(value, gone)))

    def _kept(self, parts: Parts) -> Parts:
        self._steps += 1
        value, gone = f"pb_step_{self._steps}", f"pb_step_{self._steps}_gone"
        self.frame = self.frame.with_columns(**{value: parts.value, gone: parts.gone})
        return Parts(nw.col(value), nw.col(gone))

    def derive(self, name: str, expression: Expression) -> None:
        """Add the column of an expression: numbers, missing where they are."""
        terms = {each: Column(self, each) for each in expression.names}
        self._put(name, expression.value(terms), expression)

    def equals(self, name: str, column: str, value: str, role: str) -> None:
        """Add a column that is 1 where another one has a value, and 0 elsewhere."""
        kind = self.frame.collect_schema()[column]
        found = is_value(kind, nw.col(column), value, (role, f"{column}={value}"))
        given = ~nw.col(column).is_null()
        self.frame = self.frame.with_columns(**{name: nw.when(given).then(_one_or_zero(found))})

    def _put(self, name: str, found: Any, expression: Expression) -> None:
        if not isinstance(found, Operator):
            raise expression.refusal("names no column")
        value, gone = found.parts()
        self.frame = self.frame.with_columns(**{name: nw.when(~gone).then(value)})


class Operator(ABC):
    """What the operators of an expression compute with."""

    sheet: Worksheet

    @abstractmethod
    def parts(self) -> Parts:
        """Return its number."""

    def _with(self, other: Operand, compute: Compute) -> "Term":
        one, two = self.parts(), _parts(other)
        return self.sheet.step(compute(one.value, two.value), one.gone | two.gone)

    def __add__(self, other: Operand) -> "Term":
        return self._with(other, operator.add)

    def __radd__(self, other: Operand) -> "Term":
        return self._with(other, lambda one, two: two + one)

    def __sub__(self, other: Operand) -> "Term":
        return self._with(other, operator.sub)

    def __rsub__(self, other: Operand) -> "Term":
        return self._with(other, lambda one, two: two - one)

    def __mul__(self, other: Operand) -> "Term":
        return self._with(other, operator.mul)

    def __rmul__(self, other: Operand) -> "Term":
        return self._with(other, lambda one, two: two * one)

    def __truediv__(self, other: Operand) -> "Term":
        return self._divided(self.parts(), _parts(other))

    def __rtruediv__(self, other: Operand) -> "Term":
        return self._divided(_parts(other), self.parts())

    def _divided(self, one: Parts, two: Parts) -> "Term":
        by_zero = two.value == 0.0
        divisor = nw.when(by_zero).then(nw.lit(1.0)).otherwise(two.value)
        return self.sheet.step(one.value / divisor, one.gone | two.gone | by_zero)

    def __neg__(self) -> "Term":
        return self._with(0.0, lambda one, two: two - one)

    def __pos__(self) -> "Term":
        return self._with(0.0, lambda one, two: one + two)

    def __abs__(self) -> "Term":
        return self._with(0.0, lambda one, two: (one - two).abs())

    def maximum(self, other: Operand) -> "Term":
        """Return the larger of two numbers."""
        return self._with(other, lambda one, two: nw.when(one >= two).then(one).otherwise(two))

    def minimum(self, other: Operand) -> "Term":
        """Return the smaller of two numbers."""
        return self._with(other, lambda one, two: nw.when(one <= two).then(one).otherwise(two))

    # ---------------------------------------------------------------------- comparisons

    def _compared(self, other: Operand, compute: Compute) -> "Term":
        return self._with(other, lambda one, two: _one_or_zero(compute(one, two)))

    def __lt__(self, other: Operand) -> "Term":
        return self._compared(other, operator.lt)

    def __le__(self, other: Operand) -> "Term":
        return self._compared(other, operator.le)

    def __gt__(self, other: Operand) -> "Term":
        return self._compared(other, operator.gt)

    def __ge__(self, other: Operand) -> "Term":
        return self._compared(other, operator.ge)

    def __eq__(self, other: object) -> "Term":  # type: ignore[override]
        return self._compared(other, operator.eq)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> "Term":  # type: ignore[override]
        return self._compared(other, operator.ne)  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    # ---------------------------------------------------------------------------- logic

    def __and__(self, other: Operand) -> "Term":
        (one_is, one_is_not), (two_is, two_is_not) = _truth(self), _truth(other)
        true, false = one_is & two_is, one_is_not | two_is_not
        return self.sheet.step(_one_or_zero(true), ~true & ~false)

    def __or__(self, other: Operand) -> "Term":
        (one_is, one_is_not), (two_is, two_is_not) = _truth(self), _truth(other)
        true, false = one_is | two_is, one_is_not & two_is_not
        return self.sheet.step(_one_or_zero(true), ~true & ~false)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Term":
        return self.sheet.step(_one_or_zero(_truth(self)[1]), self.parts().gone)


@dataclass(frozen=True, eq=False)
class Term(Operator):
    """A number that was computed."""

    sheet: Worksheet
    found: Parts

    def parts(self) -> Parts:
        """Return its number."""
        return self.found


@dataclass(frozen=True, eq=False)
class Column(Operator):
    """A column, whose kind is what it is used as: numbers, texts or times."""

    sheet: Worksheet
    name: str

    def parts(self) -> Parts:
        """Return its number."""
        return self.sheet.known("number", self.name)

    def _compared(self, other: Operand, compute: Compute) -> Term:
        if not isinstance(other, str):
            return super()._compared(other, compute)
        # Of equality and its contrary, only one says that a thing is itself.
        is_order = compute(1, 2) != compute(2, 1)
        if is_order:
            return self.sheet.step(*self.sheet.compared_time(self.name, other, compute))
        if other.strip() == "":  # "no text" is what is missing
            gone = self.sheet.missing(self.name)
            return self.sheet.step(_one_or_zero(gone if compute(1, 1) else ~gone), nw.lit(False))
        value, gone = self.sheet.known("text", self.name)
        return self.sheet.step(_one_or_zero(compute(value, nw.lit(other.strip()))), gone)


def _parts(other: Operand) -> Parts:
    if isinstance(other, Operator):
        return other.parts()
    if isinstance(other, str):
        raise TypeError  # which the expression says in words
    return Parts(nw.lit(float(other)), nw.lit(False))


def _truth(operand: Operand) -> tuple[Any, Any]:
    """Return whether a number is true, and whether it is false; neither if missing."""
    value, gone = _parts(operand)
    return ~gone & (value != 0.0), ~gone & (value == 0.0)


def _one_or_zero(condition: Any) -> Any:
    return nw.when(condition).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


class EngineSheet(Worksheet):
    """Expressions of the columns of a dataframe or an engine, by their types."""

    def __init__(self, frame: Any, schema: Mapping[str, Any]) -> None:
        super().__init__(frame)
        self.schema = schema

    def missing(self, name: str) -> Any:
        """Return whether a column is missing, or an empty text."""
        kind, column = self.schema[name], nw.col(name)
        if kind.is_float():
            return column.is_null() | column.is_nan()
        if kind == nw.String:
            return column.is_null() | (column.fill_null("").str.strip_chars() == "")
        return column.is_null()

    def number(self, name: str) -> Parts:
        """Return a column as numbers; TypeError if it holds none."""
        kind, column, gone = self.schema[name], nw.col(name), self.missing(name)
        if kind == nw.Boolean:
            return Parts(_one_or_zero(column.fill_null(False)), gone)
        if not kind.is_numeric():
            raise TypeError
        return Parts(nw.when(~gone).then(column.cast(nw.Float64)).otherwise(nw.lit(0.0)), gone)

    def text(self, name: str) -> Parts:
        """Return a column as texts; TypeError if it holds none."""
        if self.schema[name] not in (nw.String, nw.Categorical):
            raise TypeError
        plain = nw.col(name).cast(nw.String).fill_null("")
        return Parts(plain.str.strip_chars(), self.missing(name))

    def compared_time(self, name: str, text: str, compute: Compute) -> Parts:
        """Refuse: engines have their own filters of dates."""
        problem = f"is compared with the text {text!r}, and cells compare texts with == and != only"
        raise InputError("column", name, problem, "filter the dates in your engine")
