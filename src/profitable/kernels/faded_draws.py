"""Drawn patience and outcomes that fade late: bounds that most draws do not reach.

A column is brought up to date only when it changes or is read.  Meanwhile two rows
bound its evidence up to a round (BOUND_UNTIL, LEAST_EVIDENCE, MOST_EVIDENCE).  A draw
above both accepts and a draw below both rejects.  Between them, evidence is computed in
a copy of the column.

Example: Thompson sampling with forget=0.99 has between 2.9 and 3.1 nats of evidence
against a category in rounds 101 to 107.  Draws of 0.7 and 4.2 need no more.  One in 120
draws is between the bounds.
"""

import math

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray, Matrix
from profitable.kernels.agent_rounds import (
    age_until,
    patience_behind,
    quick_bounds,
    tolerates_draw,
)
from profitable.kernels.agent_table import (
    BOUND_UNTIL,
    FORGOTTEN,
    LEAST_EVIDENCE,
    MOST_EVIDENCE,
    SETTLED,
    WRITTEN,
    AgentRow,
)
from profitable.kernels.coded_view import CodedView, view_of
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.patience import Patience
from profitable.kernels.posterior_fading import (
    POSTERIOR_MARGIN,
    Moment,
    bound,
    looks_ahead,
    other_side,
    weights,
)

LOOKED_AT = 0.5  # what BOUND_UNTIL says of a column that was looked at once since it changed
BOUNDS_COST = 2.0  # times the cost of exact evidence
AT_A_TIME = 512  # draws that are looked through at a time


@lazy
def _renew_bounds(table: Matrix, k: int, view: CodedView, patience: Patience, round: int) -> None:
    """Bound the evidence of a column in this round and some later ones.

    Over j rounds evidence moves by about E (1 - forget) j, and then a draw is between
    its bounds with a probability of e^-E times as much.  So j is such that computing it
    then costs as much as the bounds do.  Where the mean is above the threshold, E is
    that of the other side.
    """
    now = Moment(round - 1.0, round - 1.0 - table[WRITTEN, k], 0.0)
    low, high = weights(patience, now, 0.0, 0.0)
    nats = bound(table, k, view, low, high, 1.0)
    side = min(max(nats, other_side(nats)), 100.0)
    fading = 1.0 - patience.forget
    share = side * math.exp(-side) * fading
    later = math.floor(min(looks_ahead(now), math.sqrt(BOUNDS_COST / share)))
    # Outcomes that count for next to nothing are forgotten.
    clients = low * table[AgentRow.CLIENTS, k] / (FORGOTTEN * (1.0 + 1e-6))
    if clients > 0.0:
        later = min(later, math.floor(math.log(clients) / -math.log(patience.forget)))
    if not later >= 0.0:
        table[LEAST_EVIDENCE, k], table[MOST_EVIDENCE, k] = 0.0, math.inf
        return
    low, high = weights(patience, now, 0.0, later)
    least, most = bound(table, k, view, low, high, -1.0), bound(table, k, view, low, high, 1.0)
    table[LEAST_EVIDENCE, k] = least * (1.0 - POSTERIOR_MARGIN) - POSTERIOR_MARGIN
    table[MOST_EVIDENCE, k] = most * (1.0 + POSTERIOR_MARGIN) + POSTERIOR_MARGIN
    table[BOUND_UNTIL, k] = round + later


@lazy
def _look(
    table: Matrix,
    k: int,
    view: CodedView,
    patience: Patience,
    round: int,
    limit: float,
    column: Matrix,
) -> bool:
    """Decide a round about a category whose bounds do not; `column` is for a copy.

    Bounds take longer than a decision, and outcomes may change the column in every
    round.  So they are for the second look after a change.  Whatever computes evidence
    may round the spread of a column, so one that has a spread is up to date, and is
    decided itself.
    """
    if view.rule.needs_spread:
        return tolerates_draw(table, k, view, limit)
    said = table[BOUND_UNTIL, k]
    if 0.0 < said < round:
        _renew_bounds(table, k, view, patience, round)
        if limit >= table[MOST_EVIDENCE, k]:
            return True
        if limit < table[LEAST_EVIDENCE, k]:
            return False
    column[:, 0] = table[:, k]
    age_until(column, 0, view, patience.forget, round)
    tolerates = tolerates_draw(column, 0, view, limit)
    if column[AgentRow.CLIENTS, 0] == 0.0 and column[AgentRow.LATE, 0] == 0.0:
        # Nothing ages any more, so that evidence is computed once.
        least = most = column[AgentRow.EVIDENCE, 0]
        table[BOUND_UNTIL, k] = SETTLED + round
        if column[AgentRow.ROUGH, 0] != 0.0:
            least, most = quick_bounds(column, 0, view)
            table[BOUND_UNTIL, k] = math.inf
        table[LEAST_EVIDENCE, k], table[MOST_EVIDENCE, k] = least, most
    elif said == 0.0:
        table[BOUND_UNTIL, k] = LOOKED_AT
    return tolerates


@kernel
def decide_faded(
    table: FloatArray,
    which: IntArray,
    view_rows: FloatArray,
    round: int,
    draws: FloatArray,
    before: FloatArray,
    accepted: BoolArray,
) -> None:
    """Decide a round about all categories, [M], by their draws of patience.

    Fills `accepted` [M] with the decision and `before` [M] with the accepted rounds
    before it.  Accepted rounds are counted in the table; no other row that decides
    changes.
    """
    patience, number = patience_behind(view_rows[0]), float(round)
    until, paused = table[BOUND_UNTIL], table[AgentRow.PAUSED]
    least, most = table[LEAST_EVIDENCE], table[MOST_EVIDENCE]
    rounds = table[AgentRow.ROUNDS]
    column = np.empty((table.shape[0], 1))
    for start in range(0, draws.size, AT_A_TIME):
        end = min(start + AT_A_TIME, draws.size)
        sure = first = 0
        for i in range(start, end):  # without branches
            accepts = draws[i] >= most[i]
            accepted[i] = accepts & (paused[i] == 0.0)
            sure += (until[i] >= number) & (accepts | (draws[i] < least[i]))
        for i in range(start, end if sure < end - start else start):
            if not (until[i] >= number and (draws[i] >= most[i] or draws[i] < least[i])):
                view = view_of(view_rows[which[i]])
                tolerates = _look(table, i, view, patience, round, draws[i], column)
                accepted[i] = tolerates and paused[i] == 0.0
        for i in range(start, end):
            before[i] = rounds[i]
            first += accepted[i] & (rounds[i] == 0.0)
            rounds[i] += accepted[i]
        for i in range(start, end if first > 0 else start):
            if accepted[i] and before[i] == 0.0:
                table[AgentRow.EARLIER, i] = (
                    table[AgentRow.KNOWN, i] + table[AgentRow.WAITING, i]
                )
