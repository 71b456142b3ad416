"""Money, per cent and months: what is read, and what could mean two things."""

import re

import pytest

from profitable.intake import quantities
from profitable.intake.fields import FieldError
from profitable.intake.quantities import quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$304,713.50", 304_713.5, "$"),
        (" $60,000.00 ", 60_000.0, "$"),
        ("-$5.00", -5.0, "$"),
        ("$-5.00", -5.0, "$"),
        ("(1,234.00)", -1_234.0, ""),
        ("($1,234.00)", -1_234.0, "$"),
        ("€1.234,56", 1_234.56, "€"),
        ("1.234.567,8", 1_234_567.8, ""),
        ("1 234,50 kr", 1_234.5, "kr"),
        ("5kr.", 5.0, "kr"),
        ("CHF 1’234.50", 1_234.5, "CHF"),
        ("12.50 USD", 12.5, "USD"),
        ("US$5.00", 5.0, "US$"),
        ("13.75%", 0.1375, "%"),
        ("12.5 %", 0.125, "%"),
        (" 36 months", 36.0, "months"),
        ("1e3", 1_000.0, ""),
    ],
)
def test_what_is_read(text: str, value: float, unit: str) -> None:
    found = quantity(text)
    assert found.value == pytest.approx(value, rel=1e-15)
    assert found.unit == unit


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$5,000", "could be thousands or a decimal comma"),
        ("€1.234", "could be thousands or a decimal point"),
        ("1,234", "could be thousands or a decimal comma"),
        ("€5,50", "has a decimal comma"),
        ("(-5)", "has a sign within brackets"),
        ("--5", "has two signs"),
        ("$5%", "is a percentage"),
        ("$5 USD", "is not a number"),
        ("ABC 5", "is not a number"),
        ("5-", "is not a number"),
        ("1.23,456.7", "is not a number"),
        ("$", "is not a number"),
        ("()", "is not a number"),
        ("36 years", "is not a number"),
        ("5 kr 5", "is not a number"),
        ("١٢", "is not a number"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        quantity(text)


def test_the_decimal_sign_decides() -> None:
    assert quantity("$5,000", decimal=".").value == 5_000.0
    assert quantity("€5,000", decimal=",").value == 5.0
    assert quantity("€1.234", decimal=",").value == 1_234.0
    assert quantity("12,5 %", decimal=",").value == 0.125
    with pytest.raises(FieldError, match="has a decimal point"):
        quantity("1.5", decimal=",")


@pytest.mark.parametrize(
    "text", ["$304,713.50", "1,234.5", "12.25", "€7.10", "$0.05", "£1,000,000.00"]
)
def test_the_quick_way_says_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = quantity(text)
    monkeypatch.setattr(quantities, "USUAL", re.compile("(?!)"))
    assert quantity(text) == found


@pytest.mark.parametrize("text", ["$1.234", "0,123.50", "1,23.50", "$12,34,567.00"])
def test_what_the_quick_way_leaves_to_the_strict_one(text: str) -> None:
    with pytest.raises(FieldError):
        quantity(text)
