"""Safe expressions over named values: arithmetic, comparisons, `and`, `or`, functions.

>>> Expression("paid / lent", "reward").value({"paid": 30.0, "lent": 40.0})
0.75
>>> Expression("lent > 0 and kind == 'car'", "where").value({"lent": 7, "kind": "car"})
True

The text is parsed and walked, never evaluated by Python.  The values may be numbers and
texts, or arrays and columns: whatever has these operators.

A name that is no identifier stands between backticks:

>>> Expression("`total paid` / 2", "reward").value({"total paid": 30.0})
15.0
"""

# Operators take whatever has them.
# pyright: reportUnknownLambdaType=false

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce
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
QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`([^`]+)`""")
ONE_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")


def _larger(left: Any, right: Any) -> Any:
    return _of_two(left, right, "maximum", max)


def _smaller(left: Any, right: Any) -> Any:
    return _of_two(left, right, "minimum", min)


def _of_two(left: Any, right: Any, name: str, plain: Callable[..., Any]) -> Any:
    """Let a column choose between two values, if one of them is a column."""
    for one, other in ((left, right), (right, left)):
        if hasattr(one, name):
            return getattr(one, name)(other)
    return plain(left, right)


def _negated(value: Any) -> Any:
    return not value if isinstance(value, bool | int | float) else ~value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "max": lambda *given: reduce(_larger, given),
    "min": lambda *given: reduce(_smaller, given),
}
ALLOWED = "give numbers and names with + - * / and brackets, as '0.2 + gap'"


class Expression:
    """A parsed text; `where` names it in errors."""

    def __init__(self, text: str, where: str, allowed: str = ALLOWED) -> None:
        self.text, self.where, self.allowed = text, where, allowed
        if len(text) > MOST_LETTERS:
            raise self.refusal(f"is longer than {MOST_LETTERS} letters")
        self._backticked: dict[str, str] = {}  # names by the identifiers in their place
        plain = QUOTED.sub(self._identifier, text).strip()
        try:
            self._body = ast.parse(plain, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            if ONE_EQUALS.search(QUOTED.sub("", text)):
                raise self.refusal("has a single =", "compare with ==") from None
            raise self.refusal("must be an expression") from None

    def _identifier(self, match: re.Match[str]) -> str:
        """Return an identifier in place of a name between backticks."""
        if match[1] is None:
            return match[0]  # a text between quotes
        identifier = f"backticked_{len(self._backticked)}"
        self._backticked[identifier] = match[1]
        return f" {identifier} "

    @property
    def names(self) -> set[str]:
        """The names that it uses, without those of functions."""
        found = {node.id for node in ast.walk(self._body) if isinstance(node, ast.Name)}
        return {self._backticked.get(name, name) for name in found - set(FUNCTIONS)}

    @property
    def is_name(self) -> bool:
        """Whether it is one name without backticks."""
        return isinstance(self._body, ast.Name) and not self._backticked

    def value(self, values: Mapping[str, Any]) -> Any:
        """Return its value at these values; InputError if it cannot be computed."""
        try:
            return self._value(self._body, values)
        except (ZeroDivisionError, OverflowError):
            raise self.refusal("cannot be computed: it divides by 0 or overflows") from None
        except TypeError:
            raise self.refusal("cannot be computed: it mixes numbers and texts") from None

    def number(self, values: Mapping[str, Any]) -> int | float:
        """Return its number at these values, rounded to 12 digits."""
        found = self.value(values)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self.refusal("must be a number")
        if isinstance(found, float):
            found = float(f"{found:.{COMPUTED_DIGITS}g}")
        if not check.fits(found):
            raise self.refusal("is too large a number")
        return found

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=bool() | None):
                pass
            case ast.Constant(value=int() | float() | str() as constant):
                return constant
            case ast.Name(id=identifier):
                name = self._backticked.get(identifier, identifier)
                if name in values:
                    return values[name]
                raise self.refusal(
                    f"has the unknown name {name!r}", f"choose from {', '.join(values)}"
                )
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return self._computed(OPERATORS[type(op)], [operand], values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _negated(self._value(operand, values))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._computed(OPERATORS[type(op)], [left, right], values)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as given, keywords=[]) if (
                name in FUNCTIONS
            ):
                return self._computed(FUNCTIONS[name], given, values)
            case ast.BoolOp(op=op, values=parts):
                connect = CONNECTIVES[type(op)]
                return reduce(connect, [self._value(part, values) for part in parts])
            case ast.Compare(left=left, ops=ops, comparators=others):
                first, found = self._value(left, values), list[Any]()
                for op, other in zip(ops, others, strict=True):
                    if isinstance(op, ast.In | ast.NotIn):
                        found.append(self._is_in(first, op, other, values))
                    elif type(op) in COMPARISONS:
                        second = self._value(other, values)
                        found.append(COMPARISONS[type(op)](first, second))
                        first = second
                    else:
                        raise self._not_allowed(node)
                return reduce(CONNECTIVES[ast.And], found)
            case _:
                pass
        raise self._not_allowed(node)

    def _is_in(self, value: Any, op: ast.cmpop, node: ast.expr, values: Mapping[str, Any]) -> Any:
        """Whether a value is among those of a list in brackets."""
        if not isinstance(node, ast.Tuple | ast.List) or not node.elts:
            raise self._not_allowed(node)
        found = reduce(
            CONNECTIVES[ast.Or], [value == self._value(each, values) for each in node.elts]
        )
        return _negated(found) if isinstance(op, ast.NotIn) else found

    def _not_allowed(self, node: ast.expr) -> InputError:
        written = ast.unparse(node)
        for identifier, name in self._backticked.items():
            written = written.replace(identifier, f"`{name}`")
        return self.refusal(f"has {written!r}, which is not allowed")

    def _computed(
        self, compute: Callable[..., Any], parts: list[ast.expr], values: Mapping[str, Any]
    ) -> Any:
        given = [self._value(part, values) for part in parts]
        for each in given:
            if isinstance(each, str):
                raise self.refusal(f"computes with {each!r}, which is a text")
        return compute(*given)

    def refusal(self, problem: str, remedy: str = "") -> InputError:
        """Return the error of the text, which says what is allowed unless given."""
        return InputError(self.where, self.text, problem, remedy or self.allowed)
