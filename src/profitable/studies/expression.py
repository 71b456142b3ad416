"""Expressions in a study file: numbers, names of axes, + - * / and brackets; and texts with {names} of axes.

>>> evaluate("0.2 + gap / 2", {"gap": 0.1}, "study.toml: mean")
0.25
>>> fill("kl-ucb:forget={forget}", {"forget": 0.97}, "study.toml: policies")
'kl-ucb:forget=0.97'

Nothing else is evaluated: no calls, no powers, no attributes.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from profitable.common import check
from profitable.errors import InputError

Value = int | float | str
COMPUTED_DIGITS = 12  # of a computed number, so that 0.3 - 0.1 is 0.2
MOST_LETTERS = 200
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
}
SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
PLACE = re.compile(r"\{([^{}]*)\}")
ALLOWED = "give a number, or names of axes with + - * / and brackets, as '0.2 + gap'"


def evaluate(text: str, values: Mapping[str, Value], where: str) -> int | float:
    """The number that an expression is at these values; InputError, which names `where`, if it is none."""
    found = _evaluate(_parsed(text, where), values, where, text)
    if not isinstance(found, int):
        found = float(f"{found:.{COMPUTED_DIGITS}g}")
    if not check.fits(found):
        raise InputError(where, text, "is too large a number", "give smaller ones")
    return found


def names_in(text: str, where: str) -> set[str]:
    """The names that an expression uses."""
    return {node.id for node in ast.walk(_parsed(text, where)) if isinstance(node, ast.Name)}


def _parsed(text: str, where: str) -> ast.expr:
    if len(text) > MOST_LETTERS:
        raise InputError(where, text, f"is longer than {MOST_LETTERS} letters", ALLOWED)
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(where, text, "is not an expression", ALLOWED) from None


def _evaluate(node: ast.expr, values: Mapping[str, Value], where: str, text: str) -> int | float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.Name):
        found = values[known(node.id, values, where, text)]
        if isinstance(found, str):
            raise InputError(where, text, f"computes with {node.id}, whose value {found!r} is a text", ALLOWED)
        return found
    if isinstance(node, ast.UnaryOp) and type(node.op) in SIGNS:
        return SIGNS[type(node.op)](_evaluate(node.operand, values, where, text))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = (_evaluate(part, values, where, text) for part in (node.left, node.right))
        try:
            return OPERATORS[type(node.op)](left, right)
        except (ZeroDivisionError, OverflowError):
            raise InputError(where, text, "cannot be computed: it divides by 0 or overflows", ALLOWED) from None
    raise InputError(where, text, f"has {ast.unparse(node)!r}, which is not allowed", ALLOWED)


def known(name: str, values: Mapping[str, Value], where: str, text: str) -> str:
    """A name, if it is that of an axis."""
    if name not in values:
        raise InputError(where, text, f"has the name {name!r}, which is no axis", f"choose from {', '.join(values)}")
    return name


def fill(text: str, values: Mapping[str, Value], where: str) -> str:
    """A text in which {names} of axes are replaced by their values."""
    return PLACE.sub(lambda found: shown(values[known(found[1].strip(), values, where, text)]), text)


def places_in(text: str) -> set[str]:
    """The names in {brackets} of a text."""
    return {name.strip() for name in PLACE.findall(text)}


def shown(value: Value | None) -> str:
    """A value as people write it.

    >>> shown(0.97), shown(10000), shown("ts"), shown(2.0)
    ('0.97', '10000', 'ts', '2')
    """
    return value if isinstance(value, str) else "-" if value is None else repr(value).removesuffix(".0")
