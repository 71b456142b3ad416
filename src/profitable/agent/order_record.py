"""Orders in the record of a decision: what is said of bands can be said years later.

Columns of a stored decision have the clients and the evidence of each band.  What the
order made of them stands in a few more columns, NaN for categories that are in none.
From them the readings of the decision are made again.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from profitable.agent.band_words import bands_at
from profitable.agent.categories import Categories, KnownOrder
from profitable.agent.order_ledger import OrderReading
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.order import BandRow, new_bands

# Columns of a record, and those that every category has.
ORDER_COLUMNS = {
    f"band_{row.name.lower()}": row
    for row in (BandRow.LEFT, BandRow.FIT, BandRow.SHARED, BandRow.ALONE, BandRow.OWN)
}
SAME_COLUMNS = (BandRow.CLIENTS, BandRow.TOTAL, BandRow.EVIDENCE, BandRow.PATIENCE)


def order_columns(orders: Sequence[OrderReading], positions: IntArray) -> dict[str, FloatArray]:
    """Return the columns of the categories at some positions; none without a band."""
    found = bands_at(orders, positions)
    columns = {name: np.full(positions.size, math.nan) for name in ORDER_COLUMNS if found}
    for at, (reading, i) in found.items():
        for name, column in columns.items():
            column[at] = reading.bands[ORDER_COLUMNS[name], i]
    return columns


def recorded_orders(
    columns: Mapping[str, Sequence[Any]], categories: Categories, positions: IntArray
) -> tuple[OrderReading, ...]:
    """Return the orders of a stored decision, with the bands that it was about."""
    if not ORDER_COLUMNS.keys() <= columns.keys():
        return ()
    place = {k: at for at, k in enumerate(positions.tolist())}
    known = ~np.isnan(np.array(columns["band_left"], dtype=np.float64))
    found: list[OrderReading] = []
    for order in categories.orders:
        chosen = [k for k in list[int](order.positions.tolist()) if k in place and known[place[k]]]
        if not chosen:
            continue
        at = [place[k] for k in chosen]
        bands = new_bands(len(chosen))
        rows = ORDER_COLUMNS | {row.name.lower(): row for row in SAME_COLUMNS}
        for name, row in rows.items():
            bands[row] = np.array(columns[name], dtype=np.float64)[at]
        bands[BandRow.ACCEPTED] = bands[BandRow.EVIDENCE] <= bands[BandRow.PATIENCE]
        bands[BandRow.TARGET] = [
            categories.view_of(k).statistic.of_mean(columns["threshold"][place[k]]) for k in chosen
        ]
        names = [categories.names[k] for k in chosen]
        found.append(OrderReading(KnownOrder(order.name, np.array(chosen), names), bands))
    return tuple(found)
