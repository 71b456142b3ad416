"""The fit of an order with its interval: which means its bands may have.

The evidence of an order (`kernels/order.py`) says what a threshold costs in one band.
It is inverted here: the interval of a band has the means that cost at most LIMIT nats,
from below and from above.  1.92 is half of the 95 % quantile of chi-squared with one
degree of freedom: Wilks' limit for a single band.

How well that covers is measured (docs/score-bands.md has the table): 94 to 97 % on
average over the bands.  Where all means are equal, the lowest and the highest band are
covered in 87 to 90 % of cases, and those in the middle more often than 95 %.

Example: 2 of 10 clients in the lower band, 4 of 10 in the higher one, and none in a
third between them.

>>> from profitable.kernels.order import new_bands
>>> bands = new_bands(3)
>>> bands[BandRow.CLIENTS], bands[BandRow.TOTAL] = (10.0, 0.0, 10.0), (2.0, 0.0, 4.0)
>>> bernoulli = Law(BINOMIAL, 0.0, 1.0, 1.0)
>>> for low, high in fit_intervals(bernoulli, math.inf, 1.0, bands).T.round(3).tolist():
...     print(low, high)
0.036 0.487
0.036 0.7
0.15 0.7
"""

import math

import numpy as np

from profitable.common.types import FloatArray, Matrix
from profitable.kernels.compile import kernel
from profitable.kernels.law import BINOMIAL as BINOMIAL
from profitable.kernels.law import GAUSSIAN, Law
from profitable.kernels.order import (
    BandRow,
    judge_bands,
    nats_alone,
    order_of,
    renew_order,
)
from profitable.kernels.patience import TIME, Patience

LIMIT = 1.9207294103470495  # half of the 95 % quantile of chi-squared with 1 degree of freedom
BISECTIONS = 60  # of a bracket: its width is then below a double's precision
DOUBLINGS = 200  # of the distance to an end that has no edge


@kernel
def fit_bands(law: Law, trust: float, t: float, bands: Matrix) -> None:
    """Write the fit after t rounds, who left, and what the present thresholds cost."""
    renew_order(order_of(law, True, trust, bands), t)


def weigh_posteriors(law: Law, trust: float, t: float, bands: Matrix) -> None:
    """Write -log P(mean >= threshold) of each band under the order, after t rounds.

    A band that left the order is alone.  Unlike a policy, this gives no band the
    benefit of doubts about the order.
    """
    _weigh_posteriors(law, trust, Patience(TIME), t, bands)


@kernel
def _weigh_posteriors(law: Law, trust: float, patience: Patience, t: float, bands: Matrix) -> None:
    for k in range(bands.shape[1]):
        bands[BandRow.ALONE, k] = nats_alone(order_of(law, True, trust, bands), k)
        bands[BandRow.OWN, k] = math.nan
    renew_order(order_of(law, True, trust, bands), t)
    judge_bands(order_of(law, True, math.inf, bands), patience, t, 0.0, True)


def fit_intervals(
    law: Law, trust: float, t: float, bands: Matrix, limit: float = LIMIT
) -> FloatArray:
    """Return the ends of each band's interval, [2, K]; NaN if it left the order.

    A band without data has what the others leave it.
    """
    table = bands.copy()
    table[BandRow.TARGET] = law.low if law.low > -math.inf else 0.0
    fit_bands(law, trust, t, table)
    fit, left = table[BandRow.FIT].copy(), table[BandRow.LEFT] != 0.0
    below, above = fit.copy(), fit.copy()
    for k in range(1, fit.size):
        below[k] = below[k - 1] if math.isnan(fit[k]) else fit[k]
        above[-k - 1] = above[-k] if math.isnan(fit[-k - 1]) else fit[-k - 1]
    ends = np.stack(
        [
            _end(law, trust, t, table, below, -1.0, limit),
            _end(law, trust, t, table, above, 1.0, limit),
        ]
    )
    ends[:, left] = math.nan
    return ends


def _end(
    law: Law, trust: float, t: float, table: Matrix, fit: FloatArray, sign: float, limit: float
) -> FloatArray:
    """Return the last means that cost at most `limit`, on one side of the fit."""

    def is_within(means: FloatArray) -> FloatArray:
        table[BandRow.TARGET] = means
        fit_bands(law, trust, t, table)
        return sign * table[BandRow.SHARED] <= limit

    edge = law.high if sign > 0.0 else law.low
    inside = np.where(np.isnan(fit), edge, fit)
    outside = np.full(fit.size, edge)
    if math.isinf(edge):
        seen = table[BandRow.CLIENTS] > 0.0
        scale = law.size if law.code == GAUSSIAN else 1.0 + np.abs(fit[seen]).max(initial=0.0)
        outside, step = inside.copy(), scale
        open_ended = np.isfinite(inside)
        for _ in range(DOUBLINGS):
            if not open_ended.any():
                break
            outside[open_ended] = inside[open_ended] + sign * step
            step *= 2.0
            open_ended &= is_within(np.where(np.isfinite(outside), outside, 0.0))
        outside[open_ended] = edge
    for _ in range(BISECTIONS):
        middle = np.where(np.isfinite(outside), 0.5 * (inside + outside), inside)
        within = is_within(np.where(np.isfinite(middle), middle, 0.0))
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    at_edge = is_within(np.where(np.isfinite(outside), outside, 0.0)) | np.isinf(outside)
    return np.where(at_edge, outside, inside)
