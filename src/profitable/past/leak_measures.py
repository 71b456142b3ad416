"""Leak measures: how much of the spread of the outcomes a column explains.

How well a column predicts is measured on rows that it did not learn from: the rows are
split into five parts, and the outcome of each part is predicted by the means of the
others, value by value or band by band.

>>> rng = np.random.default_rng(1)
>>> outcome, noise = rng.random(1_000), rng.random(1_000)
>>> [round(predicts(banded(column), outcome), 1) for column in (outcome, noise)]
[1.0, 0.0]
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.past import calendar_rounds as rounds
from profitable.past.calendar_rounds import MISSING
from profitable.past.read import Reader
from profitable.past.source import Piece, pa, pc
from profitable.past.typed_columns import Dates, is_text, numbers

LEARNED_PARTS = 5
BANDS = 20  # a column of numbers is cut into so many
FEW_VALUES = 50  # up to so many different numbers are not cut
PULL = 5.0  # imaginary clients with the mean of everybody, so that rare values say little
ENDS = 0.005  # the share of outcomes at either end that are cut


@dataclass(frozen=True)
class Measured:
    """Measures of what a column says about the outcome."""

    column: str
    explains: float
    missing: float  # what is explained by whether the column is missing
    missing_rows: int
    after: float  # the share of rows whose date lies after the client asked


def measure(piece: Piece, reader: Reader, columns: Sequence[str]) -> list[Measured]:
    """Measure what each column says about the outcome, on a sample of rows."""
    reward, marked = reader.rewards(piece), piece.marked()
    given = ~np.isnan(reward)
    asked = reader.time.read(marked) if reader.layout.times else None
    outcome = without_ends(reward[given])
    amount, by_amount = None, 0.0
    if reader.layout.amount is not None:
        amount = numbers(marked, reader.layout.amount)[given]
        by_amount = predicts(banded(amount), outcome)
    found: list[Measured] = []
    for name in columns:
        codes, plain, times, kind = _coded(piece, name, given, reader.layout.format_of(name))
        explains = predicts(codes, outcome)
        # Money is compared per unit of money, as the outcome is.
        if plain is not None and amount is not None:
            explains = max(explains, predicts(banded(plain / amount), outcome) - by_amount)
        after = 0.0
        if times is not None and asked is not None and reader.time.kind != rounds.NUMBER:
            first, second = times[given], asked[given]
            late = rounds.before(second, first, kind, reader.time.kind)
            after = float(late.mean()) if late.size else 0.0
            both = (first != MISSING) & (second != MISSING)
            delay = np.where(both, (first - second).astype(np.float64), np.nan)
            explains = max(explains, predicts(banded(delay), outcome))
        missing = codes == 0
        says = (
            predicts(missing.astype(np.int64), outcome) if 0 < missing.sum() < missing.size else 0.0
        )
        found.append(Measured(name, explains, says, int(missing.sum()), after))
    return found


def predicts(codes: IntArray, outcome: FloatArray) -> float:
    """Return the share of variance that codes explain, cross-validated."""
    spread = float(((outcome - outcome.mean()) ** 2).sum()) if outcome.size else 0.0
    if not spread > 0.0:
        return 0.0
    part = np.random.default_rng(1).permutation(outcome.size) % LEARNED_PARTS
    size = int(codes.max()) + 1
    missed = 0.0
    for fold in range(LEARNED_PARTS):
        learn, test = part != fold, part == fold
        if not learn.any() or not test.any():
            continue
        mean = outcome[learn].mean()
        total = np.bincount(codes[learn], outcome[learn] - mean, minlength=size)
        clients = np.bincount(codes[learn], minlength=size)
        guess = mean + (total / (clients + PULL))[codes[test]]
        missed += float(((outcome[test] - guess) ** 2).sum())
    return max(1.0 - missed / spread, 0.0)


def without_ends(values: FloatArray) -> FloatArray:
    """Outcomes without their ends: a few huge ones must not decide."""
    if not values.size:
        return values
    low, high = np.quantile(values, [ENDS, 1.0 - ENDS])
    return np.clip(values, low, high) if low < high else values


def _coded(
    piece: Piece, name: str, given: BoolArray, date_format: str | None
) -> tuple[IntArray, FloatArray | None, IntArray | None, str | None]:
    """Read a column as dates if possible, else as numbers, else as words.

    Returns codes [n], 0 where it is missing, its numbers, or its times and their kind.
    """
    for pattern in dict.fromkeys((None, date_format)):
        read = Dates((name,), pattern)
        with suppress(InputError):
            times = read.read(piece)
            if read.kind not in (None, rounds.NUMBER):
                plain = np.where(times == MISSING, np.nan, times.astype(np.float64))
                return banded(plain[given]), None, times, read.kind
    with suppress(InputError):
        plain = numbers(piece, name)[given]
        return banded(plain), plain, None, None
    return _words(piece.column(name), given), None, None, None


def _words(values: Any, given: BoolArray) -> IntArray:
    if not is_text(values.type):
        try:
            values = values.cast(pa.string())
        except pa.ArrowException:  # lists and the like
            return np.zeros(int(given.sum()), np.int64)
    empty = pc.equal(pc.utf8_trim_whitespace(values), "")  # a word such as none may be an answer
    encoded = pc.if_else(empty, pa.scalar(None, pa.string()), values).dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)[given] + 1


def banded(values: FloatArray) -> IntArray:
    """Return codes of values, or of bands if there are many; 0 where missing."""
    known = values[~np.isnan(values)]
    edges, count = np.unique(known, return_counts=True)
    if edges.size > FEW_VALUES:
        # Numbers that many rows share, as 0: each is a band of its own.
        common = edges[count * BANDS >= known.size]
        quantiles = np.quantile(known, np.arange(1, BANDS) / BANDS)
        edges = np.unique(np.concatenate([quantiles, common, np.nextafter(common, np.inf)]))
    codes = np.searchsorted(edges, values, side="right") + 1
    codes[np.isnan(values)] = 0
    return codes.astype(np.int64)
