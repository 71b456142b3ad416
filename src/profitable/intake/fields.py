"""Fields of a text file as numbers, dates and lists, read strictly.

A field that could mean two things is refused.

>>> parse_number("1,234.5"), parse_number("1 234.5")
(1234.5, 1234.5)
>>> parse_number("1.234,5", decimal=",")
1234.5
>>> parse_number("1,5")
Traceback (most recent call last):
    ...
profitable.intake.fields.FieldError: has a decimal comma; use --decimal ,
"""

import re
from datetime import datetime

from profitable.errors import ParameterError

CLOCK_LETTERS = re.compile(r"%[HIMSfpcXT]")  # what a format of dates has if it has a time of day
EXPONENT = r"(?:[eE][+-]?[0-9]{1,4})?"
# Between thousands, whatever the decimal sign: spaces and apostrophes.
GAPS = "\u0020\u00a0\u2009\u202f'\u2019"


def _plain(point: str) -> re.Pattern[str]:
    return re.compile(rf"[+-]?(?:[0-9]+{point}?[0-9]*|{point}[0-9]+){EXPONENT}")


def _grouped(point: str, comma: str) -> re.Pattern[str]:
    """Compile thousands: groups of three digits behind the same sign each."""
    groups = rf"[+-]?[1-9][0-9]{{0,2}}([{GAPS}{comma}])[0-9]{{3}}((?:\1[0-9]{{3}})*)"
    return re.compile(rf"{groups}({point}[0-9]*)?")


NUMBER_PATTERNS = {
    ".": (_plain(r"\."), _grouped(r"\.", ",")),
    ",": (_plain(","), _grouped(",", r"\.")),
}
OTHER = {".": ",", ",": "."}
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")


class FieldError(ValueError):
    """A field that cannot be read; its text follows the column and the value."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}; {remedy}" if remedy else problem)
        self.problem = problem


def parse_number(text: str, *, decimal: str | None = None, semicolons: bool = False) -> float:
    """Read a number, perhaps with thousands; `decimal` is its sign, by default a point.

    Without `decimal`, 1,234 is refused: it could be 1234 or 1.234.  So is 1.234 between
    `semicolons`, which programs write where the comma is the decimal sign.
    """
    point = decimal or "."
    plain, grouped = NUMBER_PATTERNS[point]
    if plain.fullmatch(text):
        if decimal is None and semicolons and THOUSANDS.fullmatch(text):
            raise FieldError(
                "could be thousands or a decimal point", "use --decimal , or --decimal ."
            )
        return float(text if point == "." else text.replace(",", "."))
    if found := grouped.fullmatch(text):
        sign, more, fraction = found.groups()
        if decimal is None and sign == OTHER[point] and not more and fraction is None:
            raise FieldError(
                "could be thousands or a decimal comma", "use --decimal . or --decimal ,"
            )
        return float(text.replace(sign, "").replace(point, "."))
    raise _not_a_number(text, point)


def _not_a_number(text: str, point: str) -> FieldError:
    if any(pattern.fullmatch(text) for pattern in NUMBER_PATTERNS[OTHER[point]]):
        if point == ".":
            return FieldError("has a decimal comma", "use --decimal ,")
        return FieldError("has a decimal point", "leave out --decimal ,")
    if text.endswith("%"):
        return FieldError("is a percentage", "give 0.05 for 5 %")
    return FieldError("is not a number")


def parse_whole(text: str, *, decimal: str | None = None, semicolons: bool = False) -> int:
    """Read a whole number; 12.0, as spreadsheets write it, is one."""
    value = parse_number(text, decimal=decimal, semicolons=semicolons)
    if not value.is_integer():  # which an infinite number is not
        raise FieldError("is not a whole number")
    return int(value)


def parse_moment(text: str, date_format: str | None = None) -> datetime:
    """Read a date or a timestamp, in ISO notation unless a format is given."""
    try:
        if date_format is not None:
            return datetime.strptime(text, date_format)
        return datetime.fromisoformat(text)
    except ValueError:
        if date_format is not None:
            raise FieldError(
                f"is not written as {date_format}", "give the --date-format of the column"
            ) from None
        raise FieldError(
            "is not a date", "give it as 2026-11-16, or use --date-format, such as %d.%m.%Y"
        ) from None


def day(text: str, *, date_format: str | None = None) -> str:
    """Read a day or a timestamp as ISO text.

    >>> day("16.11.2026", date_format="%d.%m.%Y"), day("2026-11-16 08:30")
    ('2026-11-16', '2026-11-16T08:30:00')
    """
    read = parse_moment(text, date_format)
    has_clock = CLOCK_LETTERS.search(date_format) if date_format else len(text) > len("2026-11-16")
    return (read if has_clock else read.date()).isoformat()


def shares(text: str, *, decimal: str | None = None) -> str | tuple[float, ...]:
    """Read how clients emerge: a phrase, or shares by age with signs between them.

    >>> shares("at maturity"), shares("0.1 0.4 1"), shares("0,1; 0,4; 1", decimal=",")
    ('at maturity', (0.1, 0.4, 1.0), (0.1, 0.4, 1.0))
    """
    if text[:1] not in "+-.,0123456789":
        return text
    parts = re.split(r"[\s;]+" if decimal == "," else r"[\s;,]+", text.strip())
    return tuple(parse_number(part, decimal=decimal) for part in parts if part)


def check_date_format(value: str) -> None:
    """Raise ParameterError for a format that cannot be read."""
    try:
        datetime.strptime(datetime(2026, 11, 16).strftime(value), value)
        if "%" in value:
            return
    except (ValueError, re.error):
        pass
    raise ParameterError("date_format", value, "must be a date format", "give one such as %d.%m.%Y")
