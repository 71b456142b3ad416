"""An order of an agent: its bands are weighed and judged from the agent's table.

Example: two bands of 10 clients, of whom 2 and 4 paid, against 0.5.  By itself the
lower one has 1.927 nats against it; `judge_order` gives it 2.129, because a mean of 0.5
would speak against the higher one as well (`kernels/order.py`).
"""

import math

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.agent_rounds import patience_behind
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.coded_view import view_of
from profitable.kernels.compile import kernel
from profitable.kernels.order import (
    BandRow,
    judge_bands,
    nats_alone,
    new_bands,
    order_of,
    renew_order,
)
from profitable.kernels.patience import clients_per_round


@kernel
def judge_order(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    trust: float,
    t: float,
    drawn: float,
) -> FloatArray:
    """Decide round t + 1 about the bands at some positions; return their table.

    Until the caller restores it, the agent's table has an evidence that makes
    `agent_rounds.decide` accept or reject them: 0, or NaN, which no patience reaches.
    `which` [K] is the row of `view_rows` that belongs to each category.  `drawn` is the
    patience of all bands, if it is drawn.
    """
    first = view_of(view_rows[which[positions[0]]])
    patience = patience_behind(view_rows[which[positions[0]]])
    bands = new_bands(positions.size)
    order = order_of(first.law, first.rule.is_posterior, trust, bands)
    for i in range(positions.size):
        k = positions[i]
        view = view_of(view_rows[which[k]])
        bands[BandRow.CLIENTS, i] = table[AgentRow.CLIENTS, k]
        bands[BandRow.TOTAL, i] = table[AgentRow.TOTAL, k]
        bands[BandRow.CARRY, i] = table[AgentRow.CARRY, k]
        bands[BandRow.IMAGINARY, i] = view.prior_clients
        bands[BandRow.IMAGINARY_TOTAL, i] = view.prior_total
        bands[BandRow.TARGET, i] = table[AgentRow.TARGET, k]
        bands[BandRow.OWN, i] = table[AgentRow.EVIDENCE, k]
        bands[BandRow.ALONE, i] = nats_alone(order, i)
        came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k] - table[AgentRow.EARLIER, k]
        bands[BandRow.PER_ROUND, i] = clients_per_round(patience, came, table[AgentRow.ROUNDS, k])
    renew_order(order, t)
    judge_bands(order, patience, t, drawn, True)
    for i in range(positions.size):
        accepts = bands[BandRow.ACCEPTED, i] != 0.0
        table[AgentRow.EVIDENCE, positions[i]] = 0.0 if accepts else math.nan
    return bands
