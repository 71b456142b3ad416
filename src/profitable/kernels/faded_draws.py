"""Drawn patience and outcomes that fade late: bounds that most draws do not reach.

A column is brought up to date only when it changes or is read.  Meanwhile two rows
bound its evidence up to a round (BOUND_UNTIL, LEAST_EVIDENCE, MOST_EVIDENCE).  A draw
above both accepts and a draw below both rejects.  Between them, bounds of this round
alone decide, or exact evidence in a copy of the column.

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
    weights,
)

LOOKED_ONCE = 0.5  # what BOUND_UNTIL says of a column that was looked at once since it changed
BOUNDS_COST = 2.0  # times the cost of exact evidence
MOST_NATS = 700.0  # evidence of the other side that a double can tell from certainty
BLOCK_OF_DRAWS = 512  # draws that are looked through at a time


@part
def _good_for(nats: float, clients: float, fading: float, most: float) -> float:
    """Return for about how many rounds bounds are worth what they cost.

    Evidence falls with the weight of outcomes, from E to E w, and a draw is between
    with the probability e^-Ew - e^-E.  In all these rounds together, evidence that is
    computed may cost as much as the bounds.  Where the mean is above the threshold, E
    is the evidence of the other side.  Less than one client moves it little.
    """
    moves, later = max(nats, min(2.0 * math.sqrt(clients), 1.0)), most
    nats = max(nats, 1.0)
    while later > 1.0:
        gone = moves * -math.expm1(-fading * later)
        if later * (math.exp(gone - nats) - math.exp(-nats)) <= BOUNDS_COST:
            break
        later *= 0.5
    return later


@lazy
def _renew_bounds(table: Matrix, k: int, view: CodedView, patience: Patience, round: int) -> None:
    """Bound the evidence of a column in this round and some later ones."""
    if table[AgentRow.CLIENTS, k] == 0.0 or round > 0.5 * SETTLED:
        return
    now = Moment(round - 1.0, round - 1.0 - table[WRITTEN, k], 0.0)
    weight, _ = weights(patience, now, 0.0, 0.0)
    clients, fading = weight * table[AgentRow.CLIENTS, k], -math.log(patience.forget)
    # Outcomes that count for next to nothing are forgotten.
    end = math.floor(math.log(clients / (FORGOTTEN * (1.0 + 1e-6))) / fading)
    if not end >= 0.0:
        return
    least, most = quick_bounds(table, k, view)
    nats = least if least > 0.0 else min(-math.log(-math.expm1(-most)), MOST_NATS)
    later = min(math.floor(_good_for(weight * nats, clients, fading, looks_ahead(now))), end)
    least, most = _bounds(table, k, view, weights(patience, now, 0.0, later), math.inf)
    if table[AgentRow.PAUSED, k] != 0.0:
        least = most = math.inf
    table[LEAST_EVIDENCE, k], table[MOST_EVIDENCE, k] = least, most
    table[BOUND_UNTIL, k] = round + later


@part
def _bounds(
    table: FloatArray, k: int, view: CodedView, between: tuple[float, float], limit: float
) -> tuple[float, float]:
    """Return bounds on the evidence of a column at all weights between two.

    The upper one is infinite if the lower one is above the limit already.
    """
    low, high = between
    least = bound(table, k, view, low, high, -1.0) * (1.0 - POSTERIOR_MARGIN) - POSTERIOR_MARGIN
    if least > limit:
        return least, math.inf
    most = bound(table, k, view, low, high, 1.0)
    return least, most * (1.0 + POSTERIOR_MARGIN) + POSTERIOR_MARGIN


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
    round.  So they are for the second look after a change.
    """
    is_open, said = table[AgentRow.PAUSED, k] == 0.0, table[BOUND_UNTIL, k]
    if table[AgentRow.CLIENTS, k] > 0.0 and said == 0.0:
        table[BOUND_UNTIL, k] = LOOKED_ONCE
        if table[AgentRow.ROUGH, k] == 0.0 and table[WRITTEN, k] == round - 1:
            return limit >= table[AgentRow.EVIDENCE, k] and is_open
    if 0.0 < said < round:
        _renew_bounds(table, k, view, patience, round)
    if round <= table[BOUND_UNTIL, k] < SETTLED:
        now = Moment(round - 1.0, round - 1.0 - table[WRITTEN, k], 0.0)
        least, most = table[LEAST_EVIDENCE, k], table[MOST_EVIDENCE, k]
        if least <= limit < most:
            least, most = _bounds(table, k, view, weights(patience, now, 0.0, 0.0), limit)
        if limit >= most or limit < least:
            return limit >= most
    column[:, 0] = table[:, k]
    age_until(column, 0, view, patience.forget, round)
    tolerates = tolerates_draw(column, 0, view, limit)
    if column[AgentRow.CLIENTS, 0] == 0.0 and column[AgentRow.LATE, 0] == 0.0:
        # Nothing ages any more, so that evidence is computed once.
        least = most = column[AgentRow.EVIDENCE, 0] if is_open else math.inf
        table[BOUND_UNTIL, k] = SETTLED + round
        if column[AgentRow.ROUGH, 0] != 0.0:
            least, most = quick_bounds(column, 0, view)
            table[BOUND_UNTIL, k] = math.inf if is_open else LOOKED_ONCE
        table[LEAST_EVIDENCE, k], table[MOST_EVIDENCE, k] = least, most
    return tolerates and is_open


@part
def _compare(
    draws: FloatArray,
    until: FloatArray,
    least: FloatArray,
    most: FloatArray,
    round: float,
    accepted: BoolArray,
    sure: BoolArray,
) -> bool:
    """Fill `accepted` with what bounds decide, and `sure` with whether they do so.

    Returns whether all are sure.
    """
    number = 0
    for i in range(accepted.size):  # without branches: they are as random as the draws
        accepted[i] = draws[i] >= most[i]
    for i in range(accepted.size):
        sure[i] = (until[i] >= round) & ((draws[i] >= most[i]) | (draws[i] < least[i]))
    for i in range(accepted.size):
        number += sure[i]
    return number == accepted.size


@part
def _count(rounds: FloatArray, before: FloatArray, accepted: BoolArray) -> bool:
    """Count accepted rounds, and return whether one is the first of its category."""
    first = 0
    for i in range(accepted.size):
        before[i] = rounds[i]
        rounds[i] += accepted[i]
    for i in range(accepted.size):
        first += accepted[i] & (before[i] == 0.0)
    return first > 0


@kernel
def decide_faded(
    table: FloatArray,
    which: IntArray,
    view_rows: FloatArray,
    round: int,
    draws: FloatArray,
    before: FloatArray,
    accepted: BoolArray,
) -> int:
    """Decide a round about all categories, [M], by their draws of patience.

    Fills `accepted` [M] with the decision and `before` [M] with the accepted rounds
    before it.  Accepted rounds are counted in the table; no other row that decides
    changes.  Returns how many categories are looked at.
    """
    looked = 0
    patience, number = patience_behind(view_rows[0]), float(round)
    until, least, most = table[BOUND_UNTIL], table[LEAST_EVIDENCE], table[MOST_EVIDENCE]
    rounds, column = table[AgentRow.ROUNDS], np.empty((table.shape[0], 1))
    sure = np.empty(BLOCK_OF_DRAWS, dtype=np.bool_)
    for start in range(0, draws.size, BLOCK_OF_DRAWS):
        end = min(start + BLOCK_OF_DRAWS, draws.size)
        block = slice(start, end)
        all_sure = _compare(
            draws[block], until[block], least[block], most[block], number, accepted[block], sure
        )
        for i in range(0 if all_sure else end - start):
            if not sure[i]:
                k = start + i
                view = view_of(view_rows[which[k]])
                accepted[k] = _look(table, k, view, patience, round, draws[k], column)
                looked += 1
        if _count(rounds[block], before[block], accepted[block]):
            for k in range(start, end):
                if accepted[k] and before[k] == 0.0:
                    came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k]
                    table[AgentRow.EARLIER, k] = came
    return looked
