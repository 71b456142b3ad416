"""Amounts of money as a page writes them: one scale for a table, and the unit.

A page of large amounts is in thousands; small amounts have cents.

>>> amounts = Money("EUR", thousands=True).of([12_345_678.0])
>>> amounts.head("profit"), amounts.text(12_345_678.0), amounts.signed(-500_000.0)
('profit, thousand EUR', '12 346', '-500')
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from profitable.common.amounts import in_short

MANY_UNITS = 1_000.0  # a table with an amount like this is in whole units
THOUSANDS_FROM = 10_000_000.0  # a page with a profit like this is in thousands


@dataclass(frozen=True)
class Amounts:
    """How the amounts of one table are written."""

    unit: str | None = None
    cents: bool = False
    thousands: bool = False

    def text(self, value: float | None) -> str:
        """Write an amount.

        >>> Amounts().text(1234.5), Amounts(cents=True).text(-0.25)
        ('1 234', '-0.25')
        """
        if value is None:
            return "-"
        scaled = value / 1_000.0 if self.thousands else value
        text = f"{scaled:,.{2 if self.cents else 0}f}".replace(",", " ")
        return "0" if float(text.replace(" ", "")) == 0.0 else text

    def signed(self, value: float | None) -> str:
        """Write an amount with its sign.

        >>> Amounts().signed(1234.5), Amounts(cents=True).signed(-0.25)
        ('+1 234', '-0.25')
        """
        text = self.text(value)
        return f"+{text}" if value is not None and value > 0.0 and text != "0" else text

    def span(self, low: float | None, high: float | None) -> str:
        """Write an interval.

        >>> Amounts().span(-3.0, 1234.5), Amounts().span(None, None)
        ('-3 to +1 234', '-')
        """
        return "-" if low is None or high is None else f"{self.signed(low)} to {self.signed(high)}"

    def head(self, words: str) -> str:
        """Return the header of a column, with the unit.

        >>> Amounts().head("profit"), Amounts("EUR").head("profit")
        ('profit', 'profit, EUR')
        """
        scale = " ".join([*(["thousand"] if self.thousands else []), self.unit or ""]).strip()
        return (
            f"{words}, {scale}s" if scale == "thousand" else ", ".join(filter(None, [words, scale]))
        )


@dataclass(frozen=True)
class Money:
    """How the amounts of a page are written."""

    unit: str | None = None
    thousands: bool = False

    @classmethod
    def of_page(cls, backtest: dict[str, Any]) -> "Money":
        """Return the way of a page, from the dict of a backtest."""
        profits = [each["profit"] for each in (*backtest["entries"], *backtest["categories"])]
        largest = max((abs(each) for each in profits if each is not None), default=0.0)
        return cls(backtest.get("unit"), largest >= THOUSANDS_FROM)

    def of(self, values: Iterable[float | None]) -> Amounts:
        """Return the way of one table: with cents if all its amounts are small."""
        small = all(abs(value or 0.0) < MANY_UNITS for value in values)
        return Amounts(self.unit, cents=small and not self.thousands, thousands=self.thousands)

    def per_client(self, values: Iterable[float | None]) -> Amounts:
        """Return the way of amounts of single clients, which are never in thousands."""
        return Money(self.unit).of(values)

    def short(self, value: float) -> str:
        """Write an amount in few digits, with its unit.

        >>> Money("EUR").short(13_950_706.0), Money().short(12.34)
        ('13.95 M EUR', '12.3')
        """
        return in_short(value, self.unit or "")

    def short_signed(self, value: float) -> str:
        """Write a difference in few digits.

        >>> Money().short_signed(12.34), Money().short_signed(-12.34)
        ('+12.3', '-12.3')
        """
        return f"+{self.short(value)}" if value > 0.0 else self.short(value)
