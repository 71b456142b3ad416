"""Safe expressions over named values: arithmetic, comparisons, `and`, `or`, functions.

>>> Expression("paid / lent", "reward").value({"paid": 30.0, "lent": 40.0})
0.75
>>> Expression("lent > 0 and kind == 'car'", "where").value({"lent": 7, "kind": "car"})
True

The text is parsed and walked, never evaluated by Python.  The values may be numbers and
texts, or arrays and columns: whatever has these operators.
"""

# Operators take whatever has them.
# pyright: reportUnknownLambdaType=false

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

from profitable.common import check
from profitable.errors import InputError

COMPUTED_DIGITS = 12  # of a computed number, so that 0.3 - 0.1 is 0.2
MOST_LETTERS = 200
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
COMPARISONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
CONNECTIVES: dict[type[ast.AST], Callable[..., Any]] = {
    ast.And: lambda left, right: left & right,
    ast.Or: lambda left, right: left | right,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "max": max, "min": min}
ALLOWED = "give numbers and names with + - * / and brackets, as '0.2 + gap'"


class Expression:
    """A parsed text; `where` names it in errors."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        if len(text) > MOST_LETTERS:
            raise self._refusal(f"is longer than {MOST_LETTERS} letters")
        try:
            self._body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._refusal("must be an expression") from None

    @property
    def names(self) -> set[str]:
        """The names that it uses, without those of functions."""
        found = {node.id for node in ast.walk(self._body) if isinstance(node, ast.Name)}
        return found - set(FUNCTIONS)

    def value(self, values: Mapping[str, Any]) -> Any:
        """Return its value at these values; InputError if it cannot be computed."""
        try:
            return self._value(self._body, values)
        except (ZeroDivisionError, OverflowError):
            raise self._refusal("cannot be computed: it divides by 0 or overflows") from None
        except TypeError:
            raise self._refusal("cannot be computed: it mixes numbers and texts") from None

    def number(self, values: Mapping[str, Any]) -> int | float:
        """Return its number at these values, rounded to 12 digits."""
        found = self.value(values)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._refusal("must be a number")
        if isinstance(found, float):
            found = float(f"{found:.{COMPUTED_DIGITS}g}")
        if not check.fits(found):
            raise self._refusal("is too large a number")
        return found

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=bool() | None):
                pass
            case ast.Constant(value=int() | float() | str() as constant):
                return constant
            case ast.Name(id=name):
                if name in values:
                    return values[name]
                raise self._refusal(
                    f"has the unknown name {name!r}", f"choose from {', '.join(values)}"
                )
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return self._computed(OPERATORS[type(op)], [operand], values)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._computed(OPERATORS[type(op)], [left, right], values)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as given, keywords=[]) if (
                name in FUNCTIONS
            ):
                return self._computed(FUNCTIONS[name], given, values)
            case ast.BoolOp(op=op, values=parts):
                connect = CONNECTIVES[type(op)]
                return reduce(connect, [self._value(part, values) for part in parts])
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                type(op) in COMPARISONS for op in ops
            ):
                sides = [self._value(part, values) for part in (left, *others)]
                found = [
                    COMPARISONS[type(op)](*pair)
                    for op, pair in zip(ops, pairwise(sides), strict=True)
                ]
                return reduce(CONNECTIVES[ast.And], found)
            case _:
                pass
        raise self._refusal(f"has {ast.unparse(node)!r}, which is not allowed")

    def _computed(
        self, compute: Callable[..., Any], parts: list[ast.expr], values: Mapping[str, Any]
    ) -> Any:
        given = [self._value(part, values) for part in parts]
        for each in given:
            if isinstance(each, str):
                raise self._refusal(f"computes with {each!r}, which is a text")
        return compute(*given)

    def _refusal(self, problem: str, remedy: str = ALLOWED) -> InputError:
        return InputError(self.where, self.text, problem, remedy)
