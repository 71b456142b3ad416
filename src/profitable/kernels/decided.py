"""What is worked out from a decision's copy of the agent's table: indices, evidence, and when a category comes back.

Example: kl-UCB with forget=0.97 rejects a category because its evidence is 6 nats and patience 3.5.  `returns` says
that it comes back 18 rounds later, when 6 * 0.97^18 = 3.47, if nothing else is seen of it.
"""

import math

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.agent_table import FORGOTTEN, SNAPSHOT, Row
from profitable.kernels.compile import kernel, part
from profitable.kernels.evidence import Seen, evidence, faded, index
from profitable.kernels.patience import Patience, patience_at, patience_in
from profitable.kernels.view import CodedView, view_of

MOMENTS = 64  # at which a rejected category is looked at, to find when it comes back


@kernel
def indices(table: FloatArray, which: IntArray, view_rows: FloatArray, limits: FloatArray, out: FloatArray) -> None:
    """The paper's index of each category in a decision's copy of the table, [M], for rules that do not need values."""
    nothing = table[0, :0]
    for k in range(out.size):
        view = view_of(view_rows[which[k]])
        clients, total = table[Row.CLIENTS, k] + view.prior_clients, table[Row.TOTAL, k] + view.prior_total
        spread = table[Row.SPREAD, k] if view.rule.needs_spread else np.nan
        seen = Seen(clients, total, spread, nothing, nothing, table[Row.TAKEN, k], 0.0)
        out[k] = index(view.rule, view.law, seen, limits[k])


@kernel
def evidences(table: FloatArray, which: IntArray, view_rows: FloatArray, out: FloatArray) -> None:
    """The evidence of each category, [M], from a decision's copy of the table with the targets in a last row."""
    nothing = table[0, :0]
    for i in range(out.size):
        view = view_of(view_rows[which[i]])
        clients, total = table[Row.CLIENTS, i] + view.prior_clients, table[Row.TOTAL, i] + view.prior_total
        seen = Seen(clients, total, table[Row.SPREAD, i], nothing, nothing, table[Row.TAKEN, i], 0.0)
        out[i] = evidence(view.rule, view.law, seen, table[SNAPSHOT, i])


@kernel
def returns(
    table: FloatArray, which: IntArray, view_rows: FloatArray, terms: FloatArray, now: int, out: IntArray
) -> None:
    """When rejected categories of a policy that forgets come back, if nothing else is seen of them, [M].

    `table` is a decision's copy with the targets in a last row.  After j more rounds everything
    counts for forget^j.  `out` is the round after `now` in which evidence <= patience for the first time, 0 if none is.
    """
    patience = patience_in(terms)
    for i in range(out.size):
        view = view_of(view_rows[which[i]])
        clients = table[Row.CLIENTS, i]
        last = max(1, math.ceil(math.log(FORGOTTEN / clients) / math.log(patience.forget))) if clients > 0.0 else 1
        # Evidence need not fall all the way.  So look at many moments, and halve between the first two that differ.
        low, high = 0, 0
        for step in range(1, MOMENTS + 1):
            high = max(low + 1, last * step // MOMENTS)
            if _is_back(table, i, view, patience, now, high):
                break
            low = high
        if not _is_back(table, i, view, patience, now, high):
            out[i] = 0
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if _is_back(table, i, view, patience, now, middle):
                high = middle
            else:
                low = middle
        out[i] = now + high


@part
def _is_back(table: FloatArray, i: int, view: CodedView, patience: Patience, now: int, later: int) -> bool:
    """Whether category i is accepted so many rounds later."""
    weight = patience.forget**later
    clients, total = weight * table[Row.CLIENTS, i], weight * table[Row.TOTAL, i]
    if clients < FORGOTTEN:
        clients = total = 0.0
    limit = patience_at(patience, float(now + later - 1), clients + view.prior_clients, table[Row.PER_ROUND, i])
    if view.rule.scales:
        if clients == 0.0:
            return 0.0 <= limit
        return faded(view.rule, table[Row.EVIDENCE, i], table[Row.CLIENTS, i], table[Row.TAKEN, i], weight) <= limit
    nothing = table[0, :0]
    clients, total, rounds = clients + view.prior_clients, total + view.prior_total, weight * table[Row.TAKEN, i]
    seen = Seen(clients, total, weight * table[Row.SPREAD, i], nothing, nothing, rounds, 0.0)
    return evidence(view.rule, view.law, seen, table[SNAPSHOT, i]) <= limit
