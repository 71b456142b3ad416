"""Row order: whether the rows of a file are sorted or grouped by a column.

Without a time, rows are taken in their order.  If they are sorted by what clients are,
the first rounds have other clients than the last ones, and no policy could have known.

A column sorts the rows if one of these holds, of rows that have it:

- 95 % of the steps between different neighbours go the same way (of 20 steps or more);
- the rank correlation with the row number is 0.9 or more (of 50 rows or more);
- there are at most 15 % of the runs of equal values of a random order, which would
  have 30 or more.

Columns that drift with time do none of this, unless the drift explains more than 80 %
of their ranks.  In a random order, each of the three has a probability below 1e-6.

>>> rng = np.random.default_rng(1)
>>> values = rng.random(500)
>>> order_of(np.sort(values)), order_of(values)
('sorted', None)
>>> order_of(np.repeat([3.0, 1.0, 2.0], 100))
'grouped'
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from profitable.common.types import FloatArray
from profitable.errors import InputError
from profitable.past.column_names import hinted
from profitable.past.column_profile import ColumnProfile, Kind, profile
from profitable.past.column_sample import sampled
from profitable.past.layout import Layout
from profitable.past.row_meaning import reward_column
from profitable.past.source import Source

Order = Literal["sorted", "grouped"] | None
ONE_WAY, LEAST_STEPS = 0.95, 20
CORRELATION, LEAST_ROWS = 0.9, 50
RUN_SHARE, RANDOM_RUNS = 0.15, 30.0
DENSE = 10.0  # numbers of a running number per row, at most
NAMED = 3  # columns that a warning names
SORTED_SAMPLE = 20_000  # rows that are looked at


def order_of(values: FloatArray) -> Order:
    """Whether values, in the order of their rows, are sorted or grouped."""
    given = values[~np.isnan(values)]
    steps = np.diff(given)
    steps = steps[steps != 0.0]
    ups = float((steps > 0.0).mean()) if steps.size else 0.5
    if steps.size >= LEAST_STEPS and max(ups, 1.0 - ups) >= ONE_WAY:
        return "sorted"
    if given.size < LEAST_ROWS or not steps.size:
        return None
    ranks = _ranks(given)
    rows = np.arange(given.size)
    is_mixed = np.std(ranks) > 0.0
    if is_mixed and abs(float(np.corrcoef(ranks, rows)[0, 1])) >= CORRELATION:
        return "sorted"
    counts = np.unique(given, return_counts=True)[1].astype(np.float64)
    expected = 1.0 + given.size * (1.0 - float(((counts / given.size) ** 2).sum()))
    if expected >= RANDOM_RUNS and steps.size + 1 <= RUN_SHARE * expected:
        return "sorted" if abs(ups - 0.5) == 0.5 and steps.size > 1 else "grouped"
    return None


def _ranks(values: FloatArray) -> FloatArray:
    """Return mean ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2.0)[place]


def in_order(column: ColumnProfile) -> FloatArray:
    """Return numbers of a column by row, NaN where it is missing.

    Words have the numbers of their alphabetical order.
    """
    if column.numbers is not None:
        return column.numbers
    if column.times is not None:
        return np.where(column.codes > 0, column.times.astype(np.float64), np.nan)
    place = np.argsort(np.argsort(np.array(column.words, dtype=object))).astype(np.float64)
    return np.append(np.nan, place)[column.codes]


def is_running_number(column: ColumnProfile) -> bool:
    """Whether a column numbers its rows: whole numbers that do not repeat.

    Their name says so, or hardly any number is left out.
    """
    if column.kind != Kind.WHOLE or column.numbers is None:
        return False
    given = column.numbers[~np.isnan(column.numbers)]
    if column.different < given.size:
        return False
    return hinted(column.name, "id") or bool(np.ptp(given) <= DENSE * given.size)


def doubt_rows(columns: Sequence[ColumnProfile], names: Sequence[str] = ()) -> list[str]:
    """Warn if the rows are sorted, by columns in the order in which they are named.

    `names` are those that matter most: the reward and the category.
    """
    found = [(each, order) for each in columns if (order := order_of(in_order(each))) is not None]
    for column, order in found:
        if column.kind == Kind.DATE or hinted(column.name, "period"):
            return [
                f"the rows are {order} by {column.name}, which looks like a time: give it as --time"
            ]
    others = [(each, order) for each, order in found if not is_running_number(each)]
    if not others:
        first = [column.name or "a column without a name" for column, _ in found[:1]]
        return [
            f"the rows are sorted by {name}, a running number: their order is taken as time, which "
            "holds if the numbers were given in the order of asking"
            for name in first
        ]
    others.sort(key=lambda pair: (pair[0].name not in names, pair[1] != "sorted"))
    listed = ", ".join(each.name for each, _ in others[:NAMED]) + ", ..." * (len(others) > NAMED)
    said = f"the rows are {others[0][1]} by {listed}: their order is not time"
    return [f"{said}. Give --time, or shuffle the rows"]


def warn_of_sorted_rows(source: Source, layout: Layout) -> list[str]:
    """Warn if rows without a time are sorted by a column.

    A stream is not read again, and has no warning.
    """
    if layout.times or not source.again:
        return []
    names = reward_column(layout, source.columns)[0], *layout.categories
    sample = sampled(source, source.columns, most=SORTED_SAMPLE)
    columns: list[ColumnProfile] = []
    for name in source.columns:
        try:
            columns.append(profile(sample.piece, name))
        except InputError:  # a column that no backtest could read
            continue
    return doubt_rows(columns, names)
