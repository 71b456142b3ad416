"""The cells of a CSV file as numbers, whole numbers, days and lists, read strictly: what is in doubt is refused.

>>> number("1,234.5"), number("1 234.5"), number("1.234,5", decimal=",")
(1234.5, 1234.5, 1234.5)
>>> number("1,5")
Traceback (most recent call last):
    ...
profitable.portfolio.cells_in.CellError: has a decimal comma; use --decimal ,
"""

import re
from datetime import date, datetime

from profitable.errors import ParameterError

CLOCK_LETTERS = re.compile(r"%[HIMSfpcXT]")  # what a format of dates has if it has a time of day
EXPONENT = r"(?:[eE][+-]?[0-9]{1,4})?"
GAPS = "\u0020\u00a0\u2009\u202f'\u2019"  # between thousands, whatever the decimal sign: spaces and apostrophes


def _plain(point: str) -> re.Pattern[str]:
    return re.compile(rf"[+-]?(?:[0-9]+{point}?[0-9]*|{point}[0-9]+){EXPONENT}")


def _grouped(point: str, comma: str) -> re.Pattern[str]:
    """Thousands: one to three digits, then groups of three behind the same sign each."""
    groups = rf"[+-]?[1-9][0-9]{{0,2}}([{GAPS}{comma}])[0-9]{{3}}((?:\1[0-9]{{3}})*)"
    return re.compile(rf"{groups}({point}[0-9]*)?")


NUMBER_PATTERNS = {".": (_plain(r"\."), _grouped(r"\.", ",")), ",": (_plain(","), _grouped(",", r"\."))}
OTHER = {".": ",", ",": "."}
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")


class CellError(ValueError):
    """What is wrong with a cell, as the end of a sentence that begins with its name and its content."""


def number(text: str, *, decimal: str | None = None, semicolons: bool = False) -> float:
    """A number; `decimal` is its decimal sign, a point unless given.

    Without `decimal`, 1,234 is refused: it could be 1234 or 1.234.  So is 1.234 in a file with `semicolons` between
    the cells, which is what programs write where the comma is the decimal sign.
    """
    point = decimal or "."
    plain, grouped = NUMBER_PATTERNS[point]
    if plain.fullmatch(text):
        if decimal is None and semicolons and THOUSANDS.fullmatch(text):
            raise CellError("could be thousands or a decimal point; use --decimal , or --decimal .")
        return float(text if point == "." else text.replace(",", "."))
    if found := grouped.fullmatch(text):
        sign, more, fraction = found.groups()
        if decimal is None and sign == OTHER[point] and not more and fraction is None:
            raise CellError("could be thousands or a decimal comma; use --decimal . or --decimal ,")
        return float(text.replace(sign, "").replace(point, "."))
    raise CellError(_not_a_number(text, point))


def _not_a_number(text: str, point: str) -> str:
    if any(pattern.fullmatch(text) for pattern in NUMBER_PATTERNS[OTHER[point]]):
        if point == ".":
            return "has a decimal comma; use --decimal ,"
        return "has a decimal point; leave out --decimal ,"
    if text.endswith("%"):
        return "is a percentage; give 0.05 for 5 %"
    return "is not a number"


def whole(text: str, *, decimal: str | None = None, semicolons: bool = False) -> int:
    """A whole number; 12.0, as spreadsheets write it, is one."""
    value = number(text, decimal=decimal, semicolons=semicolons)
    if not value.is_integer():  # which an infinite number is not
        raise CellError("is not a whole number")
    return int(value)


def day(text: str, *, date_format: str | None = None) -> str:
    """A day, or a moment, as ISO text.

    >>> day("2026-11-16"), day("16.11.2026", date_format="%d.%m.%Y"), day("2026-11-16 08:30")
    ('2026-11-16', '2026-11-16', '2026-11-16T08:30:00')
    """
    try:
        if date_format is not None:
            read = datetime.strptime(text, date_format)
            return (read if CLOCK_LETTERS.search(date_format) else read.date()).isoformat()
        if len(text) <= len("2026-11-16"):
            return date.fromisoformat(text).isoformat()
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        if date_format is not None:
            raise CellError(f"is no date as --date-format {date_format} says") from None
        raise CellError("is no date; give it as 2026-11-16, or use --date-format, such as %d.%m.%Y") from None


def shares(text: str, *, decimal: str | None = None) -> str | tuple[float, ...]:
    """How clients emerge: words, or shares by age with spaces, semicolons or commas between them.

    >>> shares("at maturity"), shares("0.1 0.4 1"), shares("0,1; 0,4; 1", decimal=",")
    ('at maturity', (0.1, 0.4, 1.0), (0.1, 0.4, 1.0))
    """
    if text[:1] not in "+-.,0123456789":
        return text
    parts = re.split(r"[\s;]+" if decimal == "," else r"[\s;,]+", text.strip())
    return tuple(number(part, decimal=decimal) for part in parts if part)


def check_date_format(value: str) -> None:
    """ParameterError for a format that cannot be read."""
    try:
        datetime.strptime(datetime(2026, 11, 16).strftime(value), value)
        if "%" in value:
            return
    except (ValueError, re.error):
        pass
    raise ParameterError("date_format", value, "is no format of dates", "give one as %d.%m.%Y")
