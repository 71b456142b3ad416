"""Date formats: how the dates of a column are written, found from their texts.

>>> guess_format(["Dec-2011", "Nov-2011"])
DateFormat(pattern='%b-%Y', other=None)
>>> guess_format(["31.01.2026", "01.02.2026"])
DateFormat(pattern='%d.%m.%Y', other=None)

If no day is above 12, 02/03/2026 may be read in two ways, and both are said.  Dates
that all are the first of a month are more likely than those of one month:

>>> guess_format(["02/03/2026", "05/04/2026"])
DateFormat(pattern='%m/%d/%Y', other='%d/%m/%Y')
>>> guess_format(["01/03/2026", "01/04/2026"]).pattern
'%d/%m/%Y'
>>> guess_format(["cars", "bikes"]) is None
True
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

from profitable.past.calendar_rounds import MICROSECONDS
from profitable.past.typed_columns import EPOCH

TRIED = 400  # different texts of a column that decide
LONGEST = 32  # letters of a date
# Shape of the texts: letters are written as a, digits as 0.  Formats of the same shape
# are tried in this order.
DATE_FORMATS = (
    *("%b-%Y", "%B-%Y", "%b %Y", "%B %Y", "%b-%y", "%b %y", "%b%Y", "%Y-%b", "%Y %b"),
    *("%d-%b-%y", "%d-%b-%Y", "%d %b %Y", "%d %b %y", "%d-%B-%Y", "%d %B %Y"),
    *("%d%b%Y", "%d%b%y", "%d%b%Y:%H:%M:%S", "%d. %B %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%Y %b %d"),
    *("%d.%m.%Y", "%d.%m.%y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%m-%d-%Y", "%d-%m-%Y", "%m-%d-%y", "%d-%m-%y"),
    *("%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"),
    *("%m/%d/%y %H:%M", "%d/%m/%y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p"),
    *("%d-%m-%Y %H:%M", "%d-%m-%Y %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S"),
    *("%m/%Y", "%m.%Y", "%m-%Y", "%Y/%m", "%Y.%m", "%Y-%m-%d"),
    *("%a %b %d %H:%M:%S %Y", "%Y%m%d %H:%M:%S", "%Y%m%d-%H%M%S"),
)
LEAST_READ = 0.98  # of the texts; the others are bad rows
SEVERAL = 10  # different texts, of which one may be bad
PLAUSIBLE_YEARS = range(1900, 2101)
LETTER_RUNS, DIGIT_RUNS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


class DateFormat(NamedTuple):
    """A format, and another one in which the same texts could be read."""

    pattern: str
    other: str | None = None


def guess_format(texts: Sequence[str]) -> DateFormat | None:
    """Return the format in which different texts are dates; None if they are not."""
    given = [text.strip() for text in texts[:: max(len(texts) // TRIED, 1)]]
    shapes = {_shape(text) for text in given[:20]}
    if not given or not any("0" in shape for shape in shapes) or len(given[0]) > LONGEST:
        return None
    spare = max((1.0 - LEAST_READ) * len(given), len(given) >= SEVERAL)  # bad ones
    found: list[tuple[str, list[datetime]]] = []
    for pattern in DATE_FORMATS:
        if _shape_of(pattern) not in shapes:
            continue
        read = list(map(partial(_read, pattern=pattern), given))
        dates = [date for date in read if date is not None and date.year in PLAUSIBLE_YEARS]
        if len(dates) >= len(given) - spare:
            found.append((pattern, dates))
    if not found:
        return None
    most = max(len(dates) for _, dates in found)
    found = [each for each in found if len(each[1]) == most]
    first_days = [{date.day for date in dates} == {1} for _, dates in found]
    best = first_days.index(True) if True in first_days else 0
    others = [pattern for place, (pattern, _) in enumerate(found) if place != best]
    # Two formats of the same reading, such as %b and %B, do not contradict each other.
    others = [each for each in others if sorted(each.lower()) == sorted(found[best][0].lower())]
    others = [each for each in others if each.lower() != found[best][0].lower()]
    return DateFormat(found[best][0], others[0] if others else None)


def _read(text: str, pattern: str) -> datetime | None:
    with suppress(ValueError):
        return datetime.strptime(text, pattern)
    return None


def is_written_as(text: str, pattern: str) -> bool:
    """Whether a text is a date in a format."""
    return _read(text, pattern) is not None


def _shape(text: str) -> str:
    return DIGIT_RUNS.sub("0", LETTER_RUNS.sub("a", text))


def _shape_of(pattern: str) -> str:
    """Return the shape of the texts of a format.

    >>> _shape_of("%d-%b-%y"), _shape("28-Feb-97")
    ('0-a-0', '0-a-0')
    """
    letters = re.sub(r"%([bBap])", "a", pattern)
    return _shape(re.sub(r"%[a-zA-Z]", "0", letters))


def moment_text(microseconds: int, *, has_day: bool) -> str:
    """Write a time in microseconds since 1970 as a date, or as a month.

    >>> moment_text(0, has_day=True), moment_text(0, has_day=False)
    ('1970-01-01', '1970-01')
    """
    ordinal = EPOCH.toordinal() + microseconds // MICROSECONDS
    written = datetime.fromordinal(ordinal).isoformat()
    return written[:10] if has_day else written[:7]
