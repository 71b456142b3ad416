"""Verdicts on categories whose outcomes fade late, and for how long they are sure.

A column is brought up to date only when it changes or is read.  Meanwhile the row
COMES_BACK says the verdicts of later rounds, until a round in which it must be looked
at again.

Example: kl-UCB with forget=0.97 rejects a category in round 100: its evidence is 6 nats
and patience 3.5.  If nothing is observed, it comes back in round 118, as soon as 6 *
0.97^18 = 3.47.  Rounds 101 to 117 reject it, and nothing is computed in them.
"""

import math

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray, Matrix
from profitable.kernels.agent_rounds import LOG_HEAD, decide_one, fade_one, patience_behind
from profitable.kernels.agent_table import (
    ACCEPTED_SO_FAR,
    COMES_BACK,
    FORGOTTEN,
    LOOKED,
    WRITTEN,
    AgentRow,
)
from profitable.kernels.coded_view import CodedView, view_of
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.evidence import adds_logarithm, faded, plus
from profitable.kernels.patience import AHEAD, Patience, patience_at
from profitable.kernels.posterior_fading import (
    CLEAR_SPREAD,
    Moment,
    accepted_meanwhile,
    is_surely_accepted,
    is_surely_rejected,
    looks_ahead,
)
from profitable.kernels.unknown_variance import LEAST_CLIENTS

# A rejection is sure for so many rounds at most, and by this margin, which the rounding
# of so many rounds cannot reach.
SURE_ROUNDS, SURE_MARGIN = 1 << 20, 1e-8
# What COMES_BACK says of a verdict by a posterior that was looked at once since the
# column changed; and of one that accepts up to a round: that round plus this number.
LOOKED_AT, UNTIL = -0.5, 2.0**52
HOVERING_ROUNDS = 8  # a verdict that did not last a round is looked ahead of every so many rounds
AT_A_TIME = 1024  # verdicts that are looked through at a time


@part
def _rest(view: CodedView, column: FloatArray, weight: float) -> float:
    """Return the evidence of a column when its outcomes count for `weight`.

    Evidence that scales is all that need be known.  Under unknown variance, a
    divergence is (N - 2)/2 times a constant (+ log N).  It is NaN if nothing is known,
    or if it may be made of rounding errors.
    """
    rule, nats, clients = view.rule, column[AgentRow.EVIDENCE], column[AgentRow.CLIENTS]
    if rule.scales:
        return faded(rule, nats, clients, column[AgentRow.TAKEN], weight)
    if rule.logarithms < 0.0:  # it is no divergence
        return math.nan
    if clients < LEAST_CLIENTS or column[AgentRow.SPREAD] == 0.0:
        return 0.0
    if not column[AgentRow.SPREAD] > CLEAR_SPREAD * column[AgentRow.SQUARES]:
        return math.nan
    if nats == 0.0 or weight * clients < LEAST_CLIENTS:
        return 0.0
    logarithm = plus(rule, clients, 0.0) if adds_logarithm(rule) else 0.0
    more = plus(rule, weight * clients, 0.0) if adds_logarithm(rule) else 0.0
    return (nats - logarithm) * (weight * clients - 2.0) / (clients - 2.0) + more


@part
def _is_surely_rejected(
    table: FloatArray, k: int, view: CodedView, patience: Patience, now: Moment, later: float
) -> bool:
    """Return whether it is surely rejected up to so many rounds after a decision."""
    if view.rule.is_posterior:
        return is_surely_rejected(table, k, view, patience, now, later)
    weight = patience.forget**later
    if weight * table[AgentRow.CLIENTS, k] < 2.0 * FORGOTTEN:
        return False
    limit = patience_at(patience, now.t + later, 1.0, 1.0)
    return _rest(view, table[:, k], weight) * (1.0 - SURE_MARGIN) > limit + SURE_MARGIN


@part
def _stays_accepted(
    table: FloatArray, k: int, view: CodedView, patience: Patience, now: Moment, first: float
) -> float:
    """Return up to how many rounds after a decision it is surely accepted.

    That is from `first` rounds after it on.
    """
    if view.rule.is_posterior:
        return accepted_meanwhile(table, k, view, patience, now, first)
    limit = patience_at(patience, now.t + first, 1.0, 1.0)
    rest = _rest(view, table[:, k], patience.forget**first)
    sure = rest == 0.0 or rest * (1.0 + SURE_MARGIN) + SURE_MARGIN <= limit
    return math.inf if sure else first - 1.0


@part
def _sure(
    table: FloatArray, k: int, view: CodedView, patience: Patience, now: Moment, tolerates: bool
) -> float:
    """Return what COMES_BACK says after a decision, if nothing is observed.

    A category that is rejected comes back in one round, which is bracketed and halved.
    Where evidence falls as outcomes fade and patience does not, it stays accepted from
    then on; a posterior may say so only up to a round.  Round 1 accepts everybody, and
    says nothing of later ones.
    """
    round = now.t + 1.0
    if now.t == 0.0 or round > UNTIL:
        return 0.0
    if tolerates:
        later = _stays_accepted(table, k, view, patience, now, 0.0)
        return round if later == math.inf else UNTIL + round + later if later >= 0.0 else 0.0
    low, high = 0.0, 1.0
    step, most = 2.0, float(SURE_ROUNDS)
    if view.rule.is_posterior:
        step = most = looks_ahead(now)
    while high <= most and _is_surely_rejected(table, k, view, patience, now, high):
        low, high = high, step * high
    if low == most:
        return -(round + low)
    while high - low > 1.0:
        middle = math.floor(0.5 * (low + high))
        if _is_surely_rejected(table, k, view, patience, now, middle):
            low = middle
        else:
            high = middle
    # Where accepted rounds make patience fall, they are not looked at beforehand.
    comes_back = (
        patience.kind != AHEAD
        and _stays_accepted(table, k, view, patience, now, low + 1.0) == math.inf
    )
    return round + low + 1.0 if comes_back else -(round + low)


@part
def _decide_copy(
    table: FloatArray, k: int, view: CodedView, patience: Patience, round: int, column: FloatArray
) -> bool:
    """Decide a round about a copy of a column, [COMES_BACK + 1, 1] or longer."""
    column[:, 0] = table[:, k]
    fade_one(column, 0, view, patience, round - 1)
    return decide_one(column, 0, view, patience, round)


@lazy
def renew_comes_back(
    table: Matrix, k: int, view: CodedView, patience: Patience, round: int, column: Matrix
) -> bool:
    """Decide a round about category k, and write into its column what is sure.

    `column` is for a copy; no row that decides changes in the table.
    """
    if view.rule.is_posterior:
        return _renew_posterior(table, k, view, patience, round, column)
    tolerates = _decide_copy(table, k, view, patience, round, column)
    table[COMES_BACK, k] = _sure(
        column, 0, view, patience, Moment(round - 1.0, 0.0, 0.0), tolerates
    )
    return tolerates


@lazy
def _renew_posterior(
    table: Matrix, k: int, view: CodedView, patience: Patience, round: int, column: Matrix
) -> bool:
    """Do the same for a posterior.

    What is sure takes some microseconds, and outcomes may change the column in every
    round.  So the first look after a change says nothing of later rounds.  At the
    second look bounds decide, if they can; else a copy does.
    """
    said, t, is_sure, tolerates = table[COMES_BACK, k], round - 1.0, False, False
    rounds = table[ACCEPTED_SO_FAR, k]
    if said != 0.0:
        is_open = table[AgentRow.PAUSED, k] == 0.0
        if said >= UNTIL + t and is_open:
            rounds += t - table[LOOKED, k]
        now = Moment(t, t - table[WRITTEN, k], rounds)
        if patience.kind != AHEAD or table[LOOKED, k] == t or said <= -t or said >= UNTIL + t:
            is_sure = is_surely_rejected(table, k, view, patience, now, 0.0)
            if not is_sure:
                is_sure = tolerates = is_surely_accepted(table, k, view, patience, now, 0.0, 0.0)
        rounds += tolerates and is_open
    if not is_sure:
        tolerates = _decide_copy(table, k, view, patience, round, column)
        rounds = column[AgentRow.ROUNDS, 0]
    # The optimal policy hovers where patience falls with each accepted round.
    hovers = patience.kind == AHEAD and said not in (0.0, LOOKED_AT) and table[LOOKED, k] == t
    table[LOOKED, k], table[ACCEPTED_SO_FAR, k] = round, rounds
    if said == 0.0:
        table[COMES_BACK, k] = LOOKED_AT
    elif hovers and (round + k) % HOVERING_ROUNDS != 0:
        table[COMES_BACK, k] = -t
    else:
        now = Moment(t, t - table[WRITTEN, k], rounds)
        table[COMES_BACK, k] = _sure(table, k, view, patience, now, tolerates)
    return tolerates


@part
def _is_unsure(said: float, now: float) -> bool:
    """Return whether COMES_BACK does not say whether a round accepts."""
    return ((said <= 0.0) & (said > -now)) | ((said > UNTIL) & (said < UNTIL + now))


@part
def _fill(sure: FloatArray, paused: FloatArray, now: float, out: BoolArray) -> int:
    """Fill `out` with the verdicts that are sure, and return how many are not."""
    unsure = 0
    for i in range(out.size):  # without branches, so that it takes as long as two rows
        accepts = ((sure[i] > 0.0) & (sure[i] <= now)) | (sure[i] >= UNTIL + now)
        out[i] = accepts & (paused[i] == 0.0)
    for i in range(out.size):
        unsure += _is_unsure(sure[i], now)
    return unsure


@kernel
def accepted_faded(
    table: Matrix,
    first: int,
    which: IntArray,
    view_rows: FloatArray,
    round: int,
    log: FloatArray,
    out: BoolArray,
) -> int:
    """Fill `out` [M] with a decision about the categories from `first` on.

    Most verdicts are sure since an earlier round.  Returns how many are computed.  What
    has changed since is in the rows of the log.
    """
    last = first + out.size
    sure, paused = table[COMES_BACK, first:last], table[AgentRow.PAUSED, first:last]
    patience = patience_behind(view_rows[0])
    column, earlier = np.empty((table.shape[0], 1)), np.empty((table.shape[0], 1))
    computed = 0
    for start in range(0, out.size, AT_A_TIME):
        block = slice(start, start + AT_A_TIME)
        if _fill(sure[block], paused[block], float(round), out[block]) == 0:
            continue
        for i in range(start, min(start + AT_A_TIME, out.size)):
            if _is_unsure(sure[i], float(round)):
                k = first + i
                view = view_of(view_rows[which[k]])
                accepts = renew_comes_back(table, k, view, patience, round, column)
                out[i] = accepts and paused[i] == 0.0
                computed += 1
    for place in range(len(log) - 1, -1, -1):
        k = int(log[place, 0])
        if first <= k < last:
            earlier[:, 0] = log[place, LOG_HEAD:]
            earlier[COMES_BACK, 0] = 0.0
            view = view_of(view_rows[which[k]])
            accepts = renew_comes_back(earlier, 0, view, patience, round, column)
            out[k - first] = accepts and earlier[AgentRow.PAUSED, 0] == 0.0
            computed += 1
    return computed
