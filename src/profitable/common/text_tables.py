"""Plain-text and HTML tables, cells of CSV files, and numbers as people write them."""

import html
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TypeVar

Cell = TypeVar("Cell")

NEXT_TO_NOTHING = 1e-300
GAP = "  "
LEAST_PROSE = 24  # letters; prose that is wrapped gets at least so much room
MANY_ROUNDS = 1e6
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# Texts in CSV files that a spreadsheet would run as formulas.  The last four letters
# are wide forms of the first ones.
FORMULA = re.compile("'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
ROWS_SHOWN = 20  # a decision over a million categories prints like one over twenty


def number_text(value: float | None, digits: int = 4) -> str:
    """Write a number with a few significant digits; spaces separate thousands.

    >>> [number_text(value) for value in (1234567, 0.000123456, float("inf"), None)]
    ['1 234 567', '0.0001235', 'inf', '-']
    """
    if value is None:
        return "-"
    if 0.001 <= value < 100.0:  # the usual case, made fast
        return f"{value:.{digits}g}" if value % 1.0 else str(int(value))
    if 0.0 < abs(value) < NEXT_TO_NOTHING:
        return "~0"
    if math.isinf(value) or math.isnan(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", " ")
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}".replace(",", " ") if "e+" in text and abs(value) < 1e15 else text


def several(count: int, noun: str) -> str:
    """Write a number of things.

    >>> several(1, "round"), several(1_234, "round"), several(2, "category")
    ('1 round', '1 234 rounds', '2 categories')
    """
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number_text(count)} {noun}"


def listed(names: Sequence[str], most: int) -> str:
    """Name some things and count the others; names with commas stand in quotes.

    >>> listed(["a", "b", "c"], 2), listed(["a, x", "b"], 2)
    ('a, b and 1 more', "'a, x', b")
    """
    shown = [repr(name) if "," in name else name for name in names[:most]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {number_text(more)} more" if more else "")


def percent_text(share: float, decimals: int = 0) -> str:
    """Write a share.

    >>> percent_text(0.054), percent_text(0.054, 1)
    ('5 %', '5.4 %')
    """
    return f"{100.0 * share:.{decimals}f} %"


def horizon_text(value: float) -> str:
    """Write a number of rounds; from a million on, powers of ten as such.

    >>> horizon_text(10_000), horizon_text(10**12), horizon_text(2_000_000)
    ('10 000', '10¹²', '2 000 000')
    """
    power = round(math.log10(value)) if value >= MANY_ROUNDS else 0
    return (
        "10" + str(power).translate(SUPERSCRIPTS)
        if power and value == 10**power
        else number_text(value)
    )


def money_text(value: float | None) -> str:
    """Write an amount: with cents below a thousand, in whole units above.

    >>> money_text(-1234.5), money_text(0.25), money_text(-0.001), money_text(None)
    ('-1 234', '0.25', '0.00', 'not known')
    """
    if value is None:
        return "not known"
    return f"{value:z,.{2 if abs(value) < 1_000 else 0}f}".replace(",", " ")


def text_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    words: Sequence[int] = (0,),
    width: int | None = None,
) -> str:
    """Return a table with aligned columns.

    Those in `words` and a last one of prose to the left, the others to the right.

    If it is wider than `width`, prose is wrapped, or the table is broken into parts
    that repeat the first column. Unless given, the width is that of the terminal, if
    standard output is one.

    >>> rows = [["ts", "72.6", "70.1"]]
    >>> print(text_table(["policy", "regret", "median"], rows, width=16))
    policy  regret
    ------  ------
    ts        72.6
    <BLANKLINE>
    policy  median
    ------  ------
    ts        70.1
    """
    cells = [list(headers), *[list(row) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    prose = any(" " in row[-1] and len(row[-1]) > LEAST_PROSE for row in rows)
    limit = width or _terminal_width()
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - limit if limit else 0
    if excess > 0 and prose and widths[-1] - excess >= LEAST_PROSE:
        cells = [line for row in cells for line in _wrapped(row, widths[-1] - excess)]
        widths[-1] -= excess
    elif excess > 0 and len(headers) > 2:
        parts = _parts(widths, limit)
        tables = [
            text_table(
                [headers[i] for i in part],
                [[row[i] for i in part] for row in rows],
                words=[place for place, i in enumerate(part) if i in words],
                width=limit,
            )
            for part in parts
        ]
        return "\n\n".join(tables)

    def line(row: Sequence[str]) -> str:
        left = (*words, len(headers) - 1) if prose else words
        parts = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return GAP.join(parts).rstrip()

    return "\n".join(
        [line(cells[0]), GAP.join("-" * width for width in widths), *map(line, cells[1:])]
    )


def _terminal_width() -> int:
    """Return the width of the terminal; 0 if standard output is none.

    A terminal that does not say has 80 columns.
    """
    # Where standard output is closed, there is none.
    is_terminal = getattr(sys.stdout, "isatty", None)
    return shutil.get_terminal_size().columns if is_terminal is not None and is_terminal() else 0


def _wrapped(row: Sequence[str], room: int) -> list[list[str]]:
    """Return a row of a table as several lines, of which the last cell has `room`."""
    first, *others = textwrap.wrap(row[-1], room, break_on_hyphens=False) or [""]
    return [[*row[:-1], first], *([*[""] * (len(row) - 1), each] for each in others)]


def _parts(widths: Sequence[int], limit: int) -> list[list[int]]:
    """Return the columns of the parts of a table, each with the first column."""
    parts, used = [[0]], widths[0]
    for i in range(1, len(widths)):
        if len(parts[-1]) > 1 and used + len(GAP) + widths[i] > limit:
            parts.append([0])
            used = widths[0]
        parts[-1].append(i)
        used += len(GAP) + widths[i]
    return parts


def html_table(caption: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; all text is escaped."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in headers)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    caption = f"<caption>{html.escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def guarded(cell: Cell) -> Cell | str:
    """Return a cell that no spreadsheet runs as a formula.

    Such a text gets an apostrophe in front, as spreadsheets write it themselves, and
    our readers take it away again.  A text that begins with apostrophes before such a
    letter gets one more, so that every text comes back as it was.

    >>> [guarded(cell) for cell in ("=1+1", "-17", "'@x", "students", -1.5)]
    ["'=1+1", '-17', "''@x", 'students', -1.5]
    >>> [unguarded(guarded(text)) for text in ("=1+1", "'@x", "'quoted'")]
    ['=1+1', "'@x", "'quoted'"]
    """
    if isinstance(cell, str) and FORMULA.match(cell) and not PLAIN_NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def unguarded(text: str) -> str:
    """Return the text without the apostrophe that `guarded` puts in front of it."""
    return text[1:] if text[:1] == "'" and FORMULA.match(text) else text
