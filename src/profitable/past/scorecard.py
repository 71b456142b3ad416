"""Scorecards: a score fitted to the first clients of a file, which bands the others.

The score is the probability that a client pays, by a logistic regression on columns
that are known when he asks.  It is fitted to clients who asked in the first rounds and
whose outcomes were known by their end, and never changes.  So no score of a client who
is replayed knows an outcome that came later; the cut points are quantiles of the scores
of the same first clients.

A column is numbers if its first rows are, and categories if not.  Numbers are centred
and scaled by the first clients; a missing number is their mean, with a mark.  Each text
of the first clients has a coefficient, and a new text has none.

>>> column = ColumnValues("age")
>>> column.add(np.array([20.0, 40.0, np.nan, 90.0]))
>>> column.encoded(np.array([True, True, True, False])).round(2).tolist()
[[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [6.0, 0.0]]
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from profitable.common.extras import extra
from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray
from profitable.errors import InputError
from profitable.past.bands import CategoryCodes, CategoryColumn
from profitable.past.layout import SCORECARD
from profitable.past.source import Piece
from profitable.past.typed_columns import numbers

FEWEST_OUTCOMES = 20  # of the first clients: with fewer, no coefficient means anything
MOST_STEPS = 1_000  # of the solver
CUT_DIGITS, MOST_CUT_DIGITS = 3, 6  # of a cut point, a probability; names have no more


@dataclass
class ColumnValues:
    """One column of a scorecard, read piece by piece."""

    column: str
    pieces: list[FloatArray] = field(default_factory=lambda: [])
    codes: CategoryCodes | None = None

    def numbers(self, piece: Piece) -> FloatArray | None:
        """Return a piece as numbers; None if the column holds categories."""
        if self.codes is None and not self.pieces and not _is_numeric(piece, self.column):
            self.codes = CategoryCodes(CategoryColumn(self.column))
        return None if self.codes is not None else numbers(piece, self.column)

    def read(self, piece: Piece, chosen: Any, values: FloatArray | None) -> None:
        """Add the chosen rows of a piece, which `numbers` has read."""
        if values is None:
            assert self.codes is not None
            self.codes.read(piece, chosen)
        else:
            self.add(values[chosen])

    def add(self, values: FloatArray) -> None:
        """Add numbers; NaN is missing."""
        self.pieces.append(values)

    def encoded(self, first: BoolArray) -> FloatArray:
        """Return the column as numbers for a regression, [n, columns].

        Their scale is that of the `first` clients.
        """
        if self.codes is not None:
            codes, names = self.codes.finish()
            seen = np.bincount(codes[first], minlength=len(names)) > 0
            return (codes[:, None] == np.flatnonzero(seen)[None, :]).astype(np.float64)
        values = np.concatenate(self.pieces)
        missing = np.isnan(values)
        known = values[first & ~missing]
        mean = float(known.mean()) if known.size else 0.0
        spread = float(known.std()) or 1.0 if known.size else 1.0
        scaled = np.where(missing, 0.0, (values - mean) / spread)
        if not missing[first].any():
            return scaled[:, None]
        return np.stack([scaled, missing.astype(np.float64)], axis=1)


def _is_numeric(piece: Piece, column: str) -> bool:
    try:
        numbers(piece._replace(marks=None), column)
    except InputError:
        return False
    return True


def fit_scores(columns: Sequence[ColumnValues], pays: BoolArray, first: BoolArray) -> FloatArray:
    """Return the probability that each client pays, [n], fitted to the first ones.

    InputError if they are too few, or all alike.
    """
    with extra("bands", "a scorecard is fitted with it"):
        from sklearn.linear_model import LogisticRegression
    names = ",".join(each.column for each in columns)
    known, good = int(first.sum()), int(pays[first].sum())
    if known < FEWEST_OUTCOMES or good in (0, known):
        problem = f"cannot be fitted: of {number_text(known)} clients whose outcomes were known, "
        raise InputError(
            SCORECARD,
            names,
            f"{problem}{number_text(good)} paid",
            "give a larger share of the rounds as fitted, or choose another column as category",
        )
    table = np.concatenate([each.encoded(first) for each in columns], axis=1)
    if not np.ptp(table[first], axis=0).any():
        raise InputError(
            SCORECARD,
            names,
            "gives all clients the same score",
            "choose columns that tell the first clients apart",
        )
    model = cast("Any", LogisticRegression(max_iter=MOST_STEPS))
    model.fit(table[first], pays[first])
    return np.asarray(model.predict_proba(table)[:, 1], dtype=np.float64)


def banded_by_score(
    scores: FloatArray, first: BoolArray, bands: int
) -> tuple[Any, tuple[str, ...]]:
    """Return the band of each client [n] and their names; cut where the first ones are.

    Scores are rounded before they are cut, to as few digits as keep the cut points
    apart.  So clients with the same score stay together, and names say where each is.

    >>> scores = np.array([0.1, 0.2, 0.3, 0.4, 0.35])
    >>> codes, names = banded_by_score(scores, np.array([1, 1, 1, 1, 0], dtype=bool), 2)
    >>> codes.tolist(), names
    ([0, 0, 1, 1, 1], ('scorecard < 0.3', 'scorecard >= 0.3'))
    """
    digits, wanted = CUT_DIGITS, _cuts(scores[first], bands).size
    while digits < MOST_CUT_DIGITS and _cuts(scores.round(digits)[first], bands).size < wanted:
        digits += 1
    rounded = scores.round(digits)
    cuts = _cuts(rounded[first], bands)
    codes = np.searchsorted(cuts, rounded, side="right").astype(np.int32)
    return codes, CategoryColumn(SCORECARD).names(cuts.tolist())


def _cuts(given: FloatArray, bands: int) -> FloatArray:
    """Return the quantiles of scores, without those that have nobody below them."""
    cuts = np.unique(np.quantile(given, np.arange(1, bands) / bands, method="higher"))
    return cuts[cuts > given.min()]
