"""Rounds of an agent: decided, written into its table late, and looked at again.

A decision over all categories does not write into their columns at once.  Where
patience is drawn or a function of time alone, nothing is written at all: the accepted
rounds are counted when the column is about to change, or when somebody looks at it.
Before a column changes, it is kept in a log, so that earlier decisions can undo the
change (agent/changes.py).

Example: kl-UCB has 2 nats of evidence against a category after round 1.  Rounds 2 to 10
are decided, and its column says nothing of them.  Then a reward comes: `absorb_one`
counts that rounds 9 and 10 accepted it (log 8 > 2), and adds the reward.
"""

import math

import numpy as np

from profitable.common.check import MOST
from profitable.common.types import BoolArray, FloatArray, IntArray, Matrix, Vector
from profitable.kernels.agent_table import (
    BOUND_UNTIL,
    COMES_BACK,
    FULL,
    NONE,
    SETTLED,
    SNAPSHOT,
    WRITTEN,
    AgentRow,
    age_one,
    book_own_price,
    renew_one,
)
from profitable.kernels.batch import digest
from profitable.kernels.coded_view import CodedView, view_of
from profitable.kernels.compile import direct, kernel, lazy, part
from profitable.kernels.law import NORMAL, posterior_bounds
from profitable.kernels.patience import (
    AHEAD,
    DRAWN,
    Patience,
    clients_per_round,
    first_time,
    is_surely_worth,
    patience_at,
    patience_in,
    rounds_ahead,
    worth_finding_out,
)
from profitable.kernels.unknown_variance import student_bounds

# A row of the log is a column before it changed: its position, ROUNDS, EARLIER,
# WRITTEN, and the rows that make a decision.  Where outcomes fade late, it is the whole
# column.
LOG_HEAD = 4
LOG_WIDTH = LOG_HEAD + SNAPSHOT
PATIENCE_TERMS = len(Patience._fields)


@part
def patience_behind(view_row: FloatArray) -> Patience:
    """Return the patience whose terms stand behind a view."""
    return patience_in(view_row[view_row.size - PATIENCE_TERMS :])


@kernel
def decide(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    t: float,
    draws: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Decide round t + 1 about some categories, [M], or about all of them.

    All of them are meant by no positions.  Accepted rounds are counted in the table.
    Returns the count of each before this round, [M], and the decision, [M]; what else
    follows from them is written by `write_rounds`.

    Evidence that has aged is settled against the patience.  `which` [K] is the row of
    `view_rows` that belongs to each category; the terms of patience stand behind all of
    them.  `draws` are Exp(1): [M] if patience is drawn, and behind them [M] if the
    policy has a floor, which accepts where exp(-draw) is at most the floor. Without
    draws, nothing is known about either.
    """
    whole = positions.size == 0
    number = which.size if whole else positions.size
    before, accepted = np.empty(number), np.empty(number, dtype=np.bool_)
    if number == 0:
        return before, accepted
    patience = patience_behind(view_rows[0])
    by_floor = patience.floor > 0.0 and draws.size > 0
    behind = draws.size - number if by_floor else draws.size
    drawn = behind > 0 and t > 0.0
    evidence_row, rough, paused = (
        table[AgentRow.EVIDENCE],
        table[AgentRow.ROUGH],
        table[AgentRow.PAUSED],
    )
    rounds = table[AgentRow.ROUNDS]
    for i in range(number):
        k = i if whole else positions[i]
        before[i] = rounds[k]
        limit = draws[i] if drawn else math.nan
        if rough[k] != 0.0:
            if not drawn:
                limit = _patience_of(table, k, patience, t, rounds[k])
            _settle(table, k, view_of(view_rows[which[k]]), limit)
        accepts = (
            evidence_row[k] <= limit
            if drawn
            else _tolerates(table, k, patience, t, rounds[k], evidence_row[k])
        )
        if not accepts and by_floor:
            accepts = math.exp(-draws[behind + i]) <= patience.floor
        if paused[k] != 0.0:
            accepts = False
        accepted[i] = accepts
        if accepts:
            if rounds[k] == 0.0:
                table[AgentRow.EARLIER, k] = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k]
            rounds[k] += 1.0
    return before, accepted


@part
def _per_round(table: FloatArray, k: int, patience: Patience, rounds: float) -> float:
    """Return the clients of a round of category k, if `rounds` were accepted so far."""
    came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k] - table[AgentRow.EARLIER, k]
    return clients_per_round(patience, came, rounds)


@part
def _patience_of(table: FloatArray, k: int, patience: Patience, t: float, rounds: float) -> float:
    """Return the patience of round t + 1 with category k; it is not drawn."""
    known = table[AgentRow.CLIENTS, k] + table[AgentRow.IMAGINARY, k]
    return patience_at(patience, t, known, _per_round(table, k, patience, rounds))


@part
def _tolerates(
    table: FloatArray, k: int, patience: Patience, t: float, rounds: float, nats: float
) -> bool:
    """Return whether round t + 1 tolerates this evidence on category k.

    Of most categories a bound says so, without a logarithm.
    """
    if patience.kind != AHEAD:
        return nats <= _patience_of(table, k, patience, t, rounds)
    known = table[AgentRow.CLIENTS, k] + table[AgentRow.IMAGINARY, k]
    if known <= 0.0:
        return nats <= math.inf
    if nats > patience.most:
        return False
    ratio = _per_round(table, k, patience, rounds) * rounds_ahead(patience, t) / known
    return is_surely_worth(ratio, patience.risk, nats) or nats <= worth_finding_out(
        ratio, patience.risk
    )


@part
def quick_bounds(table: FloatArray, k: int, view: CodedView) -> tuple[float, float]:
    """Return bounds on the evidence of a posterior, which take a tenth of its time."""
    clients, total = (
        table[AgentRow.CLIENTS, k] + view.prior_clients,
        table[AgentRow.TOTAL, k] + view.prior_total,
    )
    if view.law.code == NORMAL:
        return student_bounds(
            view.law, clients, total, table[AgentRow.SPREAD, k], table[AgentRow.TARGET, k]
        )
    return posterior_bounds(view.law, clients, total, table[AgentRow.TARGET, k])


@part
def _settle(table: FloatArray, k: int, view: CodedView, limit: float) -> None:
    """Make evidence exact enough to compare it with the limit.

    For a posterior a bound is enough if it decides; otherwise evidence is computed.
    """
    if not view.rule.is_posterior:
        renew_one(table, k, view)
        return
    least, most = quick_bounds(table, k, view)
    if least > limit:
        table[AgentRow.EVIDENCE, k] = least
    elif most <= limit:
        table[AgentRow.EVIDENCE, k] = most
    else:
        renew_one(table, k, view)


# ----------------------------------------------------------------- rounds, written late


@part
def _limit_in(patience: Patience, drawn: Matrix, k: int, round: int) -> float:
    """Return the patience of a round with category k, as drawn or by time alone."""
    if drawn.size > 0:
        return drawn[(round - 1) % len(drawn), k]
    return patience_at(patience, round - 1.0, 1.0, 1.0)


@part
def _accepted_rounds(
    patience: Patience, drawn: Matrix, k: int, nats: float, first: int, last: int
) -> float:
    """Return how many of the rounds `first` to `last` tolerate this evidence.

    Their patience is drawn, or a function of time that does not fall.

    >>> drawn = np.empty((0, 0))
    >>> _accepted_rounds(Patience(0), drawn, 0, 2.0, 1, 10)  # 1, 9 and 10: log 8 > 2
    3.0
    """
    if last < first:
        return 0.0
    if drawn.size > 0:
        number, place = 0.0, (first - 1) % len(drawn)
        for _ in range(first, last + 1):
            number += nats <= drawn[place, k]
            place = place + 1 if place + 1 < len(drawn) else 0  # a division takes longer
        return number
    if nats <= 0.0:  # patience is never negative
        return last - first + 1.0
    if first == 1:  # it accepts everybody
        return 1.0 + _accepted_later(patience, nats, 2, last)
    return _accepted_later(patience, nats, first, last)


@lazy
def _accepted_later(patience: Patience, nats: float, first: int, last: int) -> float:
    """Return how many of the rounds from `first`, after the first of all, accept."""
    if last < first:
        return 0.0
    if nats <= patience_at(patience, first - 1.0, 1.0, 1.0):
        return last - first + 1.0
    if not nats <= patience_at(patience, last - 1.0, 1.0, 1.0):
        return 0.0
    return float(last - first_time(patience, nats, first - 1, 1.0, 1.0))


@part
def _write_later(table: FloatArray, k: int, patience: Patience, now: int, drawn: Matrix) -> None:
    """Write the rounds up to `now` that were only decided before."""
    since = int(table[WRITTEN, k])
    if since >= now:
        return
    table[WRITTEN, k] = now
    nats, rounds = table[AgentRow.EVIDENCE, k], table[AgentRow.ROUNDS, k]
    came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k]
    limit = _limit_in(patience, drawn, k, now)
    accepts, more = False, 0.0
    if table[AgentRow.PAUSED, k] == 0.0:
        accepts = nats <= limit
        more = _accepted_rounds(patience, drawn, k, nats, since + 1, now - 1)
    if rounds == 0.0 and more > 0.0:
        table[AgentRow.EARLIER, k] = came
    rounds += more
    table[AgentRow.PER_ROUND, k] = _per_round(table, k, patience, rounds)
    table[AgentRow.PATIENCE, k], table[AgentRow.ACCEPTED, k] = limit, accepts
    if accepts:
        if rounds == 0.0:
            table[AgentRow.EARLIER, k] = came
        rounds += 1.0
    table[AgentRow.ROUNDS, k] = rounds


@lazy
def _write_round(
    table: Matrix,
    k: int,
    patience: Patience,
    now: int,
    drawn: Matrix,
    rounds: float,
    accepts: bool,
) -> None:
    """Write round `now`, which was decided after so many accepted rounds."""
    if table[WRITTEN, k] >= now:
        return
    table[WRITTEN, k] = now
    table[AgentRow.PER_ROUND, k] = _per_round(table, k, patience, rounds)
    table[AgentRow.PATIENCE, k] = (
        drawn[0, k] if drawn.size > 0 else _patience_of(table, k, patience, now - 1.0, rounds)
    )
    table[AgentRow.ACCEPTED, k] = accepts


@kernel
def write_rounds(
    table: FloatArray,
    positions: IntArray,
    terms: FloatArray,
    now: int,
    drawn: Matrix,
    counts: FloatArray,
    accepted: BoolArray,
) -> None:
    """Write what is not written yet of the rounds up to `now`, in some columns.

    If round `now` is `accepted`, [K], only that one is missing, and `counts` [K] are
    those before it.  `drawn` [rounds, K] is the patience of round t in its row t - 1,
    modulo its length, if patience was drawn.
    """
    patience = patience_in(terms)
    for i in range(positions.size):
        k = int(positions[i])
        if accepted.size > 0:
            _write_round(table, k, patience, now, drawn, counts[k], accepted[k])
        else:
            _write_later(table, k, patience, now, drawn)


# --------------------------------------------------------------------- faded, also late


@part
def decide_one(table: FloatArray, k: int, view: CodedView, patience: Patience, round: int) -> bool:
    """Decide a round about a column that has aged up to it, and write the round."""
    rounds = table[AgentRow.ROUNDS, k]
    per_round = _per_round(table, k, patience, rounds)
    limit = _patience_of(table, k, patience, round - 1.0, rounds)
    if table[AgentRow.ROUGH, k] != 0.0:
        _settle(table, k, view, limit)
    tolerates = table[AgentRow.EVIDENCE, k] <= limit
    accepts = tolerates and table[AgentRow.PAUSED, k] == 0.0
    table[AgentRow.PATIENCE, k], table[AgentRow.PER_ROUND, k] = limit, per_round
    table[AgentRow.ACCEPTED, k] = accepts
    if accepts:
        if rounds == 0.0:
            table[AgentRow.EARLIER, k] = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k]
        table[AgentRow.ROUNDS, k] = rounds + 1.0
    table[WRITTEN, k] = round
    return tolerates


@part
def age_until(table: FloatArray, k: int, view: CodedView, forget: float, round: int) -> None:
    """Let all rounds before this one pass for a column, where patience is drawn.

    Evidence that has aged is settled in each round, and what it was says nothing of the
    next.  Only if nothing is left that could age, it stays as it was computed.
    """
    for _ in range(int(table[WRITTEN, k]) + 1, round):
        if table[AgentRow.CLIENTS, k] == 0.0 and table[AgentRow.LATE, k] == 0.0:
            break
        age_one(table, k, view, forget)
    if table[AgentRow.ROUGH, k] != 0.0 and SETTLED <= table[BOUND_UNTIL, k] < SETTLED + round:
        renew_one(table, k, view)


@part
def tolerates_draw(table: FloatArray, k: int, view: CodedView, limit: float) -> bool:
    """Return whether a draw tolerates a column that has aged up to its round."""
    if table[AgentRow.ROUGH, k] != 0.0:
        _settle(table, k, view, limit)
    return table[AgentRow.EVIDENCE, k] <= limit


@part
def _write_drawn(
    table: FloatArray,
    k: int,
    view: CodedView,
    patience: Patience,
    round: int,
    drawn: Matrix,
    before: float,
) -> None:
    """Write a round whose patience was drawn; accepted rounds are counted already.

    `before` are those before this one; NaN if none were counted since.
    """
    limit = drawn[0, k] if drawn.size > 0 else math.inf
    age_until(table, k, view, patience.forget, round)
    accepts = tolerates_draw(table, k, view, limit) and table[AgentRow.PAUSED, k] == 0.0
    rounds = table[AgentRow.ROUNDS, k] - accepts if math.isnan(before) else before
    table[AgentRow.PER_ROUND, k] = _per_round(table, k, patience, rounds)
    table[AgentRow.PATIENCE, k], table[AgentRow.ACCEPTED, k] = limit, accepts
    table[WRITTEN, k] = round


@lazy
def fade_one(
    table: Matrix, k: int, view: CodedView, patience: Patience, now: int, drawn: Matrix
) -> None:
    """Write the rounds up to `now` that were only decided, and age outcomes in each.

    The numbers are to the last bit those of rounds that are written one by one.  If
    patience is drawn, `drawn` [1, K] is that of round `now`.
    """
    if patience.kind == DRAWN:
        if table[WRITTEN, k] < now:
            _write_drawn(table, k, view, patience, now, drawn, math.nan)
            if table[AgentRow.CLIENTS, k] != 0.0 or table[AgentRow.LATE, k] != 0.0:
                age_one(table, k, view, patience.forget)
        return
    for round in range(int(table[WRITTEN, k]) + 1, now + 1):
        if (
            table[AgentRow.CLIENTS, k] == 0.0
            and table[AgentRow.LATE, k] == 0.0
            and table[AgentRow.ROUGH, k] == 0.0
            and patience.kind != AHEAD
        ):  # nothing is left that could age
            _write_later(table, k, patience, now, table[:0])
            return
        decide_one(table, k, view, patience, round)
        if table[AgentRow.CLIENTS, k] != 0.0 or table[AgentRow.LATE, k] != 0.0:
            age_one(table, k, view, patience.forget)


@kernel
def fade(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    now: int,
    drawn: Matrix,
) -> None:
    """Write what is not written yet of the rounds up to `now`, and let outcomes age.

    `which` [K] is the row of `view_rows` that belongs to each category.  If patience is
    drawn, `drawn` [1, K] is that of round `now`.
    """
    patience = patience_behind(view_rows[0])
    for k in positions:
        fade_one(table, k, view_of(view_rows[which[k]]), patience, now, drawn)


@kernel
def fade_to(
    table: FloatArray,
    which: IntArray,
    view_rows: FloatArray,
    round: int,
    drawn: Matrix,
    counts: FloatArray,
) -> None:
    """Make a copy of columns that of the decision about a round.

    If patience is drawn, `drawn` [1, K] is that of the round, and `counts` [K] are the
    accepted rounds before it.
    """
    patience = patience_behind(view_rows[0])
    for k in range(table.shape[1]):
        view = view_of(view_rows[which[k]])
        if patience.kind == DRAWN:
            _write_drawn(table, k, view, patience, round, drawn, counts[k])
            continue
        fade_one(table, k, view, patience, round - 1, drawn)
        decide_one(table, k, view, patience, round)


@part
def _keep(table: FloatArray, k: int, log: FloatArray, place: int) -> None:
    """Write a column that is about to change into a row of the log."""
    log[place, 0] = k
    log[place, 1] = table[AgentRow.ROUNDS, k]
    log[place, 2] = table[AgentRow.EARLIER, k]
    log[place, 3] = table[WRITTEN, k]
    for row in range(log.shape[1] - LOG_HEAD):
        log[place, LOG_HEAD + row] = table[row, k]


@kernel
def accepted_later(
    table: FloatArray,
    limits: FloatArray,
    log: FloatArray,
    first: int,
    last: int,
    out: BoolArray,
) -> None:
    """Fill `out` [M] with a decision that was not written when it was made.

    `limits` is its patience: drawn, [M], or one number.  What has changed since is in
    the log, from row `first` up to `last`.
    """
    evidence_row, paused = table[AgentRow.EVIDENCE], table[AgentRow.PAUSED]
    if limits.size == 1:
        limit = limits[0]
        for k in range(out.size):
            out[k] = (evidence_row[k] <= limit) & (paused[k] == 0.0)
    else:
        for k in range(out.size):
            out[k] = (evidence_row[k] <= limits[k]) & (paused[k] == 0.0)
    for place in range(last - 1, first - 1, -1):
        k = int(log[place, 0])
        if k < out.size:
            limit = limits[0 if limits.size == 1 else k]
            nats = log[place, LOG_HEAD + AgentRow.EVIDENCE]
            out[k] = nats <= limit and log[place, LOG_HEAD + AgentRow.PAUSED] == 0.0


@kernel
def rewind(
    rows: FloatArray,
    terms: FloatArray,
    round: int,
    drawn: Matrix,
    end: int,
    counts: FloatArray,
    accepted: BoolArray,
) -> None:
    """Set PATIENCE, PER_ROUND and ACCEPTED of an earlier round in a copy of columns.

    `rows` [SNAPSHOT + 4, K] are those that decisions keep, and ROUNDS, EARLIER, WRITTEN
    and IMAGINARY.  If the round is `accepted`, [K], then `counts` [K] are
    the accepted rounds before it.  Otherwise they follow from those in the rows and
    their WRITTEN or, after round `end`, from the `counts` of that time.
    """
    patience = patience_in(terms)
    for k in range(rows.shape[1]):
        nats, is_paused = rows[AgentRow.EVIDENCE, k], rows[AgentRow.PAUSED, k] != 0.0
        rounds, last = rows[SNAPSHOT, k], int(rows[SNAPSHOT + 2, k])
        earlier = rows[SNAPSHOT + 1, k]
        came = rows[AgentRow.KNOWN, k] + rows[AgentRow.WAITING, k]
        if accepted.size > 0:
            rounds = counts[k]
        else:
            if counts.size > 0 and last > end:
                rounds, last = counts[k], end
            if not is_paused:
                rounds -= _accepted_rounds(patience, drawn, k, nats, round, last)
                more = _accepted_rounds(patience, drawn, k, nats, last + 1, round - 1)
                if rounds == 0.0 and more > 0.0:
                    earlier = came
                rounds += more
        per_round = clients_per_round(patience, came - earlier, rounds)
        known = rows[AgentRow.CLIENTS, k] + rows[SNAPSHOT + 3, k]
        limit = (
            drawn[(round - 1) % len(drawn), k]
            if drawn.size > 0
            else patience_at(patience, round - 1.0, known, per_round)
        )
        rows[AgentRow.PATIENCE, k], rows[AgentRow.PER_ROUND, k] = limit, per_round
        if accepted.size > 0:
            rows[AgentRow.ACCEPTED, k] = accepted[k]
        else:
            rows[AgentRow.ACCEPTED, k] = nats <= limit and not is_paused


@direct
def absorb_one(
    table: Matrix,
    k: int,
    reward: float,
    view_row: Vector,
    now: int,
    drawn: Matrix,
    log: Matrix,
    place: int,
) -> int:
    """Check one reward and add it at the category's own price.

    Before it is added, the column is kept in row `place` of the log, unless that is
    NONE, and the rounds up to `now` are written.  `view_row` has the terms of patience
    behind it.  Returns NONE, FULL, or 0 if the reward is illegal.
    """
    if table[AgentRow.KNOWN, k] + 1.0 > MOST:
        return FULL
    view = view_of(view_row)
    log[-1, 0] = reward  # of which `digest` takes a slice, so that nothing is allocated
    bad, batch = digest(view, log[-1, :1])
    if bad < 0:
        if place != NONE:
            _keep(table, k, log, place)
        if len(table) > COMES_BACK:
            fade_one(table, k, view, patience_behind(view_row), now, drawn)
            table[COMES_BACK, k] = 0.0
        else:
            _write_later(table, k, patience_behind(view_row), now, drawn)
        book_own_price(table, k, view, batch)
    return bad
