"""Doubts about the order of the rows, where shuffled time contradicts it.

Where a file has no dates, its rows are taken in their order.  If they are sorted by a
column, a policy learns from one kind of clients and decides about another one, and the
result says nothing about time.

>>> import numpy as np
>>> from profitable.replay.backtest_entry import POLICY, ShuffledDifference
>>> lost = BacktestEntry(
...     "ts", POLICY, np.array([[20.0]]), np.array([[100.0]]), 3.0,
...     resampled=np.array([[-78.0], [-82.0]]), shuffled=ShuffledDifference(30.0, 1.0),
... )
>>> order_doubt(lost, dated=True).partition("order of time, ")[2]
'and 30.0 more with time shuffled: rewards drift, or the start was unlucky'
"""

import math
from statistics import NormalDist

from profitable.common.amounts import more_or_less
from profitable.replay.backtest_entry import LEVEL, BacktestEntry


def order_doubt(entry: BacktestEntry, *, dated: bool) -> str | None:
    """Say that the real order and a shuffled one contradict each other; None if not.

    They do if both differences are beyond chance, with opposite signs.  Without dates,
    it is enough that one of them is, and that they differ beyond chance.
    """
    mixed, spread = entry.shuffled, entry.spread
    if mixed is None or entry.refusal is not None or math.isnan(spread):
        return None
    noise = NormalDist().inv_cdf((1.0 + LEVEL) / 2.0) * math.hypot(spread, mixed.error)
    real, found = entry.difference, mixed.difference
    signs = _sign(found, noise), int(real.low > 0.0) - int(real.high < 0.0)
    differ = abs(real.middle - found) > noise
    opposite = signs[0] * signs[1] < 0
    if not (opposite or (not dated and differ and signs[0] != signs[1])):
        return None
    earned, shuffled = (more_or_less(each, entry.unit) for each in (real.middle, found))
    than = f"{earned} {'than' if real.middle else 'as'} accepting everybody"
    if dated:
        reason = f"rewards drift, or the start was {'un' * (real.middle < 0.0)}lucky"
        return (
            f"{entry.name} earned {than} in the order of time, and {shuffled} with time shuffled: "
            f"{reason}"
        )
    return (
        f"{entry.name} earned {than} in the order of the rows, and {shuffled} in random order: the "
        "file has no dates, so believe neither unless clients asked in the order of the rows"
    )


def _sign(value: float, noise: float) -> int:
    return 0 if abs(value) <= noise else 1 if value > 0.0 else -1
