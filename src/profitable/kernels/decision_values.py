"""Values computed from a decision's copy of the agent's table.

They are the indices, the evidence, and the round in which a category comes back.

Example: kl-UCB with forget=0.97 rejects a category because its evidence is 6 nats and
patience 3.5.  `returns` says that it comes back 18 rounds later, when 6 * 0.97^18 =
3.47, if nothing else is seen of it.
"""

import math

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.agent_table import FORGOTTEN, SNAPSHOT, AgentRow
from profitable.kernels.coded_view import CodedView, view_of
from profitable.kernels.compile import kernel, part
from profitable.kernels.evidence import Observed, evidence, faded, index
from profitable.kernels.patience import Patience, patience_at, patience_in

MOMENTS = 64  # at which a rejected category is looked at, to find when it comes back


@part
def _observed(table: FloatArray, k: int, view: CodedView) -> Observed:
    """Return what a decision's copy of the table says about a category."""
    clients = table[AgentRow.CLIENTS, k] + view.prior_clients
    total = table[AgentRow.TOTAL, k] + view.prior_total
    spread = table[AgentRow.SPREAD, k] if view.rule.needs_spread else np.nan
    nothing = table[0, :0]
    return Observed(clients, total, spread, nothing, nothing, table[AgentRow.TAKEN, k], 0.0)


@kernel
def indices(
    table: FloatArray, which: IntArray, view_rows: FloatArray, limits: FloatArray, out: FloatArray
) -> None:
    """Compute the paper's index of each category, [M], for rules without values.

    `table` is a decision's copy.
    """
    for k in range(out.size):
        view = view_of(view_rows[which[k]])
        out[k] = index(view.rule, view.law, _observed(table, k, view), limits[k])


@kernel
def evidences(table: FloatArray, which: IntArray, view_rows: FloatArray, out: FloatArray) -> None:
    """Compute the evidence of each category, [M].

    `table` is a decision's copy with the targets in a last row.
    """
    for k in range(out.size):
        view = view_of(view_rows[which[k]])
        out[k] = evidence(view.rule, view.law, _observed(table, k, view), table[SNAPSHOT, k])


@kernel
def returns(
    table: FloatArray,
    which: IntArray,
    view_rows: FloatArray,
    terms: FloatArray,
    now: int,
    out: IntArray,
) -> None:
    """Compute when rejected categories of a policy that forgets come back, [M].

    No further outcomes are assumed.  `table` is a decision's copy with the targets in
    a last row.  After j more rounds everything counts for forget^j.  `out` is the first
    round after `now` in which evidence <= patience, or 0 if there is none.
    """
    patience = patience_in(terms)
    for i in range(out.size):
        view = view_of(view_rows[which[i]])
        clients = table[AgentRow.CLIENTS, i]
        last = (
            max(1, math.ceil(math.log(FORGOTTEN / clients) / math.log(patience.forget)))
            if clients > 0.0
            else 1
        )
        # Evidence need not fall all the way.  So look at many moments, and halve
        # between the first two that differ.
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
def _is_back(
    table: FloatArray, i: int, view: CodedView, patience: Patience, now: int, later: int
) -> bool:
    """Return whether category i is accepted `later` rounds after `now`."""
    weight = patience.forget**later
    clients, total = weight * table[AgentRow.CLIENTS, i], weight * table[AgentRow.TOTAL, i]
    if clients < FORGOTTEN:
        clients = total = 0.0
    limit = patience_at(
        patience, float(now + later - 1), clients + view.prior_clients, table[AgentRow.PER_ROUND, i]
    )
    if view.rule.scales:
        if clients == 0.0:
            return 0.0 <= limit
        return (
            faded(
                view.rule,
                table[AgentRow.EVIDENCE, i],
                table[AgentRow.CLIENTS, i],
                table[AgentRow.TAKEN, i],
                weight,
            )
            <= limit
        )
    nothing = table[0, :0]
    seen = Observed(
        clients + view.prior_clients,
        total + view.prior_total,
        weight * table[AgentRow.SPREAD, i],
        nothing,
        nothing,
        weight * table[AgentRow.TAKEN, i],
        0.0,
    )
    return evidence(view.rule, view.law, seen, table[SNAPSHOT, i]) <= limit
