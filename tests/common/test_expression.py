"""Expressions: what they compute, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from profitable.common.expression import Expression
from profitable.errors import InputError

VALUES = {"gap": 0.1, "n": 10, "name": "car"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.3 - 0.1", 0.2),
        ("-gap * 2", -0.2),
        ("(1 + n) / 4", 2.75),
        ("n * 3", 30),
        ("1e3", 1000.0),
        (" n ", 10),
        ("abs(-n)", 10),
        ("max(n, 3 * n, gap)", 30),
    ],
)
def test_numbers(text: str, value: float) -> None:
    found = Expression(text, "here").number(VALUES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n < 2", False),
        ("0 < gap <= 0.1", True),
        ("n == 10 and gap != 0.1", False),
        ("n >= 11 or gap > 0", True),
        ("name == 'car'", True),
    ],
)
def test_conditions(text: str, value: bool) -> None:
    assert Expression(text, "here").value(VALUES) is value


def test_arrays() -> None:
    columns: dict[str, Any] = {"paid": np.array([1.0, 3.0, 0.0]), "lent": np.array([2.0, 2.0, 1.0])}
    ratio = Expression("paid / lent", "here")
    assert ratio.names == {"paid", "lent"}
    np.testing.assert_array_equal(ratio.value(columns), [0.5, 1.5, 0.0])
    chosen = Expression("0 < paid < 2 and lent > 1", "here").value(columns)
    np.testing.assert_array_equal(chosen, [True, False, False])


@pytest.mark.parametrize(
    "text",
    ["", "n ** 9", "n if n else 1", "open(n)", "abs()", "abs", "n.real", "[n]", "n // 2", "n % 2",
     "n < 2", "'n'", "1 / (n - 10)", "name", "1e308 * 1e308", "True", "n; n", "1" * 150, "1e200",
     "(" * 50 + "n" + ")" * 50 + "+1" * 100, "__import__('os')", "n\x00", "1j", "'n' * 3", "not n",
     "name + name", "n < name", "n in n", "wide", "max(n, name)", "lambda: n", "(n := 3)",
     "abs(*n)", "min(n, key=n)"],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Expression(text, "study.toml: mean").number(VALUES)
    assert str(caught.value).startswith("study.toml: mean = ")
