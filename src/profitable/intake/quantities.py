"""Quantities: numbers with a currency, a percent sign or months, read strictly.

What could mean two things is refused, as in `fields`.

>>> quantity("$304,713.50"), quantity("1 234,50 kr"), quantity("EUR -5.00")
(Quantity(value=304713.5, unit='$'), Quantity(value=1234.5, unit='kr'), ...)
>>> quantity("(1,234.00)").value, quantity("13.75%"), quantity(" 36 months").value
(-1234.0, Quantity(value=0.1375, unit='%'), 36.0)
>>> quantity("€1.234,56").value, quantity("$5,000", decimal=".").value
(1234.56, 5000.0)
>>> quantity("$5,000")
Traceback (most recent call last):
    ...
profitable.intake.fields.FieldError: could be thousands or a decimal comma...
"""

import re
from typing import NamedTuple

from profitable.intake.fields import GAPS, FieldError, parse_number

PERCENT, IN_MONTHS = "%", "months"
CURRENCY_SIGNS = "$€£¥₹₩₽₺₪₴₫₦₱฿₲₡₸₵"
CURRENCY_WORDS = (
    *("US$", "A$", "C$", "R$", "S$", "HK$", "NZ$", "kr.", "kr", "zł", "Kč", "Ft", "lei", "Rs."),
    *("Rs", "Fr.", "RM", "Rp", "KSh"),
)
CODES = [
    "AED",
    "ARS",
    "AUD",
    "BDT",
    "BGN",
    "BRL",
    "CAD",
    "CHF",
    "CLP",
    "CNY",
    "COP",
    "CZK",
    "DKK",
    "DOP",
    "EGP",
    "EUR",
    "GBP",
    "GEL",
    "GHS",
    "HKD",
    "HUF",
    "IDR",
    "ILS",
    "INR",
    "ISK",
    "JPY",
    "KES",
    "KRW",
    "KZT",
    "LKR",
    "MAD",
    "MXN",
    "MYR",
    "NGN",
    "NOK",
    "NZD",
    "PEN",
    "PHP",
    "PKR",
    "PLN",
    "RON",
    "RSD",
    "RUB",
    "SAR",
    "SEK",
    "SGD",
    "THB",
    "TND",
    "TRY",
    "TWD",
    "TZS",
    "UAH",
    "UGX",
    "USD",
    "UYU",
    "VND",
    "XAF",
    "XOF",
    "ZAR",
    "ZMW",
]
CURRENCY = "|".join(
    [
        rf"[{re.escape(CURRENCY_SIGNS)}]",
        *(re.escape(each) for each in sorted([*CURRENCY_WORDS, *CODES], reverse=True)),
    ]
)
ONE_GAP = rf"[{GAPS}]?"
QUANTITY = re.compile(
    rf"(?P<outer>[+-]?){ONE_GAP}(?P<before>{CURRENCY})?{ONE_GAP}(?P<number>[+-]?[0-9.,][^%]*?){ONE_GAP}"
    rf"(?:(?P<after>{CURRENCY})|(?P<percent>%)|(?P<months>months?))?"
)
# What most amounts look like: read first, because it is quick.
USUAL = re.compile(
    rf"([{re.escape(CURRENCY_SIGNS)}]?)([1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+\.[0-9]{{1,2}}|[0-9]+\.[0-9]{{1,2}})"
)
# Separators that say by themselves which of them is the decimal sign.
DECIMAL_COMMA = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:[{GAPS}.][0-9]{{3}})+,[0-9]*")


class Quantity(NamedTuple):
    """A number and its unit: a currency, %, months, or nothing."""

    value: float
    unit: str = ""


def quantity(text: str, *, decimal: str | None = None) -> Quantity:
    """Read a number with its unit; a percent sign divides it by 100.

    `decimal` is the decimal sign.  Without it, the separators must say themselves
    what they are: 1.234,56 and 1 234,50 do, $5,000 does not.  Brackets around a number
    are a minus.
    """
    plain = text.strip()
    if decimal != "," and (usual := USUAL.fullmatch(plain)):
        return Quantity(float(usual[2].replace(",", "")), usual[1])
    if bracketed := re.fullmatch(r"\((.*)\)", plain):
        plain = bracketed[1].strip()
    found = QUANTITY.fullmatch(plain)
    units = [found[name] for name in ("before", "after", "percent", "months")] if found else []
    if found is None or sum(unit is not None for unit in units) > 1:
        return Quantity(parse_number(text.strip(), decimal=decimal))  # its error says why
    digits = found["number"]
    negatives = (found["outer"], digits[:1]) if found["outer"] else (digits[:1],)
    if bracketed and any(sign in "+-" for sign in negatives if sign):
        raise FieldError("has a sign within brackets")
    if found["outer"] and digits[0] in "+-":
        raise FieldError("has two signs")
    if decimal is None and DECIMAL_COMMA.fullmatch(digits):
        decimal = ","
    # Prices have no three decimals, so that a point may be that of thousands.
    is_money = found["before"] or found["after"]
    value = parse_number(digits, decimal=decimal, semicolons=is_money is not None)
    if bracketed or found["outer"] == "-":
        value = -value
    if found["percent"]:
        return Quantity(value / 100.0, PERCENT)
    return Quantity(value, IN_MONTHS if found["months"] else (is_money or "").rstrip("."))
