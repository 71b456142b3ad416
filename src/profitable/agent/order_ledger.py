"""OrderLedger: the part of a ledger whose bands share evidence.

The table has the evidence of each band alone.  When a round is decided, the bands of an
order are weighed together (`kernels/agent_orders.py`), and the decision gets their
shared evidence and patience.  So observing costs what it costs without an order, and an
agent without one does nothing here.
"""

import math
from typing import NamedTuple

import numpy as np

from profitable.agent.categories import Categories, KnownOrder
from profitable.agent.shared_table import SharedTable
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.agent_orders import judge_order
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.order import BandRow


class OrderReading(NamedTuple):
    """An order as a decision found it."""

    order: KnownOrder
    bands: FloatArray  # [rows, B]: `BandRow`


class OrderLedger(SharedTable):
    """The table, and what the latest round found about bands that share evidence."""

    def __init__(self, categories: Categories) -> None:
        self.orders: tuple[OrderReading, ...] = ()
        super().__init__(categories)

    @property
    def shares(self) -> bool:
        """Whether some bands share evidence."""
        return bool(self.categories.orders)

    def _decided_rows(self, table: FloatArray, chosen: IntArray, draws: FloatArray) -> FloatArray:
        """Decide the next round; bands are judged together."""
        if not self.shares:
            return super()._decided_rows(table, chosen, draws)
        drawn = self._draws and self.round > 0 and draws.size > 0
        if drawn:
            draws = draws.copy()
        readings: list[OrderReading] = []
        own = table[AgentRow.EVIDENCE, : self.size].copy()
        for order in self.categories.orders:
            limit, places = math.inf, self._places(chosen, order.positions)[1]
            if drawn and places.size:  # one draw for all bands: that of the first one
                limit = draws[places] = draws[places[0]]
            readings.append(OrderReading(order, self._judged(table, order, float(limit))))
        rows = super()._decided_rows(table, chosen, draws)
        table[AgentRow.EVIDENCE, : self.size] = own
        for (_, positions, _), bands in readings:
            which, places = self._places(chosen, positions)
            rows[AgentRow.EVIDENCE, places] = bands[BandRow.EVIDENCE, which]
            rows[AgentRow.PATIENCE, places] = bands[BandRow.PATIENCE, which]
        self.orders = tuple(readings)
        return rows

    def _places(self, chosen: IntArray, positions: IntArray) -> tuple[IntArray | slice, IntArray]:
        """Return which bands of an order are chosen, and their places there, [B]."""
        if chosen is self._everyone:
            return slice(None), positions
        _, bands, places = np.intersect1d(positions, chosen, return_indices=True)
        return bands, places

    def _judged(self, table: FloatArray, order: KnownOrder, limit: float) -> FloatArray:
        """Judge the bands of an order, and let the table accept or reject them."""
        categories = self.categories
        return judge_order(
            table,
            order.positions,
            categories.which(),
            categories.view_table(),
            categories.policy.trust,
            float(self.round),
            limit,
        )
