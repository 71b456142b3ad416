"""The agent's table: the sums and the evidence of each category.

Rewards are checked, turned into statistics and added to the sums; then the evidence is
recomputed.  The table is one array of floats, [rows, K], with a column for each
category, so that a decision can copy it in one step.  `AgentRow` names its rows:
`table[AgentRow.CLIENTS, k]` is the number of clients of category k.

Example: `absorb` of the rewards 1 and 0 adds 2 to CLIENTS, 1 to TOTAL, the worth of 1
to REVENUE and the price of two clients to COST, recomputes EVIDENCE and returns -1: no
reward was illegal.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from profitable.common.check import MOST
from profitable.common.types import BoolArray, FloatArray, IntArray, Matrix
from profitable.kernels.batch import Sums, digest, money, weighted
from profitable.kernels.coded_view import CodedView, edges, view_of, widest
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.evidence import Observed, evidence, faded
from profitable.kernels.exact import exact_sum, squared_deviations, weighted_deviations
from profitable.kernels.law import NORMAL, posterior_bounds
from profitable.kernels.patience import (
    AHEAD,
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


class AgentRow(IntEnum):
    """Rows of the table.

    Sums are pairs, the sum and what it lost to rounding (its carry).
    """

    # N: as how many clients the known outcomes count; with forgetting, old ones count
    # for less.
    CLIENTS = 0
    TOTAL = 1  # S: the sum of their statistics, weighted in the same way
    SPREAD = 2  # squared deviations of the statistics from their mean, for rules that need them
    THRESHOLD = 3  # in the units of the rewards
    EVIDENCE = 4
    PATIENCE = 5  # of the latest decision
    PER_ROUND = 6  # clients in a round, as the latest decision expected them
    WAITING = 7  # accepted clients whose outcome has not come yet
    PAUSED = 8  # 1 if it is not accepted until it is resumed
    KNOWN = 9  # clients whose outcome was reported
    # 1 if EVIDENCE is a bound on the right side of PATIENCE, or not computed since the
    # sums have aged.
    ROUGH = 10
    ACCEPTED = 11  # 1 if the latest decision accepts it, by patience or by the floor
    TAKEN = 12  # as how many the rounds that accepted it count, for rules that need them
    TARGET = 13  # the threshold in the units of the statistic
    IMAGINARY = 14  # the imaginary clients of its prior
    ROUNDS = 15  # decisions that accepted it
    EARLIER = 16  # clients from before the first of them
    REVENUE = 17  # in money
    COST = 18  # in money
    WORTH = 19  # money per unit of reward
    PRICE = 20  # money that accepting one client costs, unless the caller says otherwise
    RECOVERED = 21  # money that one client brings even with a reward of 0
    CARRY = 22  # of TOTAL
    SQUARES = 23  # the sum of the squared statistics, for rules that need the spread
    SQUARES_CARRY = 24
    # The sum of the amounts, where clients weigh as much as they are lent; then SQUARES
    # is weighted, too.
    LENT = 25
    LENT_CARRY = 26
    LENT_SQUARES = 27  # the sum of the squared amounts
    LENT_SQUARES_CARRY = 28
    BACK = 29  # the sum of amount times statistic
    BACK_CARRY = 30
    OUTSTANDING = 31  # of WAITING, those in cohorts
    # 1 if it ever had a cohort whose clients count by their age, so that its sums can
    # leave their range.
    LATE = 32
    DEBT = 33  # what TOTAL lacks, because it is kept inside that range (0 unless LATE)


# A row behind those of `AgentRow`, which nobody stores: the round up to which the
# rounds of a category are written into its column (see `write_rounds`).
WRITTEN = len(AgentRow)
TERMS = len(Patience._fields)
NONE = -1  # no reward was refused
FULL = -2  # the category would have more clients than can be counted
SNAPSHOT = int(AgentRow.TARGET)  # a decision is made of the rows before this one
# A row of the log is a column before it changed: its position, ROUNDS, EARLIER,
# WRITTEN, and the rows that make a decision.
LOG_HEAD = 4
LOG_WIDTH = LOG_HEAD + SNAPSHOT


class Unwritten(NamedTuple):
    """Rounds that are not in a column yet, and the log of its changes."""

    start: int
    now: int
    drawn: Matrix
    base: int
    log: Matrix
    place: int


FORGOTTEN = 1e-9  # clients: what counts for less counts for nothing
NO_MONEY = 1e-20  # the share of an earlier sum of amounts below which the rest is rounding


@part
def patience_behind(view_row: FloatArray) -> Patience:
    """Return the patience whose terms stand behind a view."""
    return patience_in(view_row[view_row.size - TERMS :])


@lazy
def _renew(table: Matrix, k: int, view: CodedView) -> None:
    """Recompute spread and evidence of category k.

    If the rule needs the values, the agent computes the evidence.
    """
    if view.rule.needs_spread:
        number, total, carry = (
            table[AgentRow.CLIENTS, k],
            table[AgentRow.TOTAL, k],
            table[AgentRow.CARRY, k],
        )
        share = 1.0
        if view.by_money:
            number, total, carry = (
                table[AgentRow.LENT, k],
                table[AgentRow.BACK, k],
                table[AgentRow.BACK_CARRY, k],
            )
            share = share_of(table, k)
        squares, squares_carry = table[AgentRow.SQUARES, k], table[AgentRow.SQUARES_CARRY, k]
        if table[AgentRow.CLIENTS, k] == table[AgentRow.KNOWN, k]:
            table[AgentRow.SPREAD, k] = share * squared_deviations(
                number, total, carry, squares, squares_carry
            )
        else:
            table[AgentRow.SPREAD, k] = share * weighted_deviations(
                number, total, carry, squares, squares_carry
            )
        if table[AgentRow.LATE, k] != 0.0:
            table[AgentRow.SPREAD, k] = min(
                table[AgentRow.SPREAD, k],
                widest(view, table[AgentRow.CLIENTS, k], table[AgentRow.TOTAL, k]),
            )
    table[AgentRow.ROUGH, k] = 0.0
    if view.rule.needs_values:
        return
    clients = table[AgentRow.CLIENTS, k] + view.prior_clients
    total, error = exact_sum(table[AgentRow.TOTAL, k], view.prior_total)
    nothing = table[0, :0]
    spread = table[AgentRow.SPREAD, k] if view.rule.needs_spread else np.nan
    seen = Observed(
        clients,
        total,
        spread,
        nothing,
        nothing,
        table[AgentRow.TAKEN, k],
        table[AgentRow.CARRY, k] + error,
    )
    table[AgentRow.EVIDENCE, k] = evidence(view.rule, view.law, seen, table[AgentRow.TARGET, k])


@kernel
def renew(table: FloatArray, positions: IntArray, which: IntArray, view_rows: FloatArray) -> None:
    """Recompute the evidence of several categories.

    `which` [K] is the row of `view_rows` that belongs to each.
    """
    for k in positions:
        _renew(table, k, view_of(view_rows[which[k]]))


@part
def _accumulate(
    table: FloatArray, rows: tuple[int, int], k: int, value: float, lost: float
) -> None:
    """Add a pair (value, what it lost) to the pair in two rows of the table."""
    row, carry = rows
    total, error = exact_sum(table[row, k], value)
    table[row, k], table[carry, k] = exact_sum(total, error + table[carry, k] + lost)


@part
def _keep_inside(table: FloatArray, k: int, view: CodedView) -> None:
    """Clip the sums of a category with late outcomes to the possible range.

    DEBT is the difference.

    Example: a loan is lost when all of them count as 0.5 observations of the promised
    reward 1.  So S = 0.5 - 1 is kept at 0, and DEBT is -0.5.
    """
    low, high = edges(view)
    if table[AgentRow.CLIENTS, k] < FORGOTTEN:
        table[AgentRow.CLIENTS, k] = 0.0
    total, clients = table[AgentRow.TOTAL, k], table[AgentRow.CLIENTS, k]
    inside = min(max(total, clients * low), clients * high) if clients > 0.0 else 0.0
    if inside != total or clients == 0.0:
        table[AgentRow.DEBT, k] += (total - inside) + table[AgentRow.CARRY, k]
        table[AgentRow.TOTAL, k], table[AgentRow.CARRY, k] = inside, 0.0


@part
def _book(
    table: FloatArray, k: int, view: CodedView, books: float, counts: float, batch: Sums
) -> None:
    """Add a batch to the sums; the evidence is not renewed."""
    late = table[AgentRow.LATE, k] != 0.0
    if late:
        _accumulate(table, (AgentRow.TOTAL, AgentRow.CARRY), k, table[AgentRow.DEBT, k], 0.0)
        table[AgentRow.DEBT, k] = 0.0
    table[AgentRow.KNOWN, k] += books * batch.clients
    if view.by_money:
        _add_money(table, k, counts, batch)
    else:
        table[AgentRow.CLIENTS, k] += counts * batch.clients
        _accumulate(
            table,
            (AgentRow.TOTAL, AgentRow.CARRY),
            k,
            counts * batch.total,
            counts * batch.total_lost,
        )
    if view.rule.needs_spread:
        _accumulate(
            table,
            (AgentRow.SQUARES, AgentRow.SQUARES_CARRY),
            k,
            counts * batch.squares,
            counts * batch.squares_lost,
        )
    if late:
        _keep_inside(table, k, view)
    elif table[AgentRow.CLIENTS, k] < FORGOTTEN:
        _forget_sums(table, k)
    table[AgentRow.REVENUE, k] += books * batch.revenue
    table[AgentRow.COST, k] += books * batch.cost


@part
def _add_money(table: FloatArray, k: int, counts: float, batch: Sums) -> None:
    """Add amounts; they count as N = (sum a)^2 / sum a^2 clients.

    The mean of these clients is that of the money.
    """
    before = table[AgentRow.LENT, k]
    _accumulate(
        table,
        (AgentRow.LENT, AgentRow.LENT_CARRY),
        k,
        counts * batch.lent,
        counts * batch.lent_lost,
    )
    squares, lost = counts * batch.lent_squares, counts * batch.lent_squares_lost
    _accumulate(table, (AgentRow.LENT_SQUARES, AgentRow.LENT_SQUARES_CARRY), k, squares, lost)
    _accumulate(
        table,
        (AgentRow.BACK, AgentRow.BACK_CARRY),
        k,
        counts * batch.total,
        counts * batch.total_lost,
    )
    if table[AgentRow.KNOWN, k] <= 0.0 or table[AgentRow.LENT, k] <= NO_MONEY * before:
        _forget_sums(table, k)
    share = share_of(table, k)
    table[AgentRow.CLIENTS, k] = table[AgentRow.LENT, k] * share
    table[AgentRow.TOTAL, k] = table[AgentRow.BACK, k] * share
    table[AgentRow.CARRY, k] = table[AgentRow.BACK_CARRY, k] * share


@part
def share_of(table: FloatArray, k: int) -> float:
    """Return how many clients a unit of money counts as: sum a / sum a^2.

    It is 1 if all amounts are 1.
    """
    squares = table[AgentRow.LENT_SQUARES, k]
    return table[AgentRow.LENT, k] / squares if squares > 0.0 else 0.0


@part
def _forget_sums(table: FloatArray, k: int) -> None:
    table[AgentRow.CLIENTS, k] = table[AgentRow.TOTAL, k] = table[AgentRow.CARRY, k] = 0.0
    table[AgentRow.SQUARES, k] = table[AgentRow.SQUARES_CARRY, k] = table[AgentRow.SPREAD, k] = 0.0
    table[AgentRow.LENT : AgentRow.BACK_CARRY + 1, k] = 0.0


@kernel
def add(
    table: FloatArray, k: int, view_row: FloatArray, books: float, counts: float, batch: FloatArray
) -> None:
    """Add a batch, and renew the evidence; the batch is `Sums` as an array [11].

    `books` is 1 to book its clients and money, -1 to take them back and 0 to leave
    them.  `counts` is what each outcome adds to the sums that decide: 1, less if some
    of it is forgotten, or negative to take it away.
    """
    view = view_of(view_row)
    _book(table, k, view, books, counts, _sums(batch))
    _renew(table, k, view)


@part
def _sums(batch: FloatArray) -> Sums:
    statistics, money = (batch[0], batch[1], batch[2], batch[3], batch[4]), (batch[5], batch[6])
    return Sums(*statistics, *money, batch[7], batch[8], batch[9], batch[10])


@part
def arrive(table: FloatArray, k: int, count: float) -> None:
    """Subtract arrived outcomes from those awaited.

    Outcomes of cohorts are counted by the cohorts.
    """
    table[AgentRow.WAITING, k] = max(
        table[AgentRow.OUTSTANDING, k], table[AgentRow.WAITING, k] - count
    )


@part
def _absorb(
    table: FloatArray, k: int, view_row: FloatArray, rewards: FloatArray, unwritten: Unwritten
) -> int:
    """Check rewards and add them at the category's own price (see `absorb`)."""
    if table[AgentRow.KNOWN, k] + rewards.size > MOST:
        return FULL
    view = view_of(view_row)
    bad, batch = digest(view, rewards)
    if bad < 0:
        start, now, drawn, base, log, place = unwritten
        if start < now:
            _write_later(table, k, patience_behind(view_row), start, now, drawn, base)
        if place != NONE:
            _keep(table, k, log, place)
        _book(table, k, view, 1.0, 1.0, _at_own_price(table, k, batch))
        _renew(table, k, view)
        arrive(table, k, batch.clients)
    return bad


@kernel
def absorb(
    table: FloatArray,
    k: int,
    view_row: FloatArray,
    rewards: FloatArray,
    start: int,
    now: int,
    drawn: Matrix,
    base: int,
    log: FloatArray,
    place: int,
) -> int:
    """Check rewards and add them at the category's own price.

    Before that, rounds after `start` that were not written when decided are written,
    and the column is kept in this row of the log, unless it is NONE.  `view_row` has
    the terms of patience behind it.  Returns NONE, FULL, or the position of the first
    illegal reward.
    """
    return _absorb(table, k, view_row, rewards, Unwritten(start, now, drawn, base, log, place))


@kernel
def absorb_one(
    table: FloatArray,
    k: int,
    view_row: FloatArray,
    reward: float,
    start: int,
    now: int,
    drawn: Matrix,
    base: int,
    log: FloatArray,
    place: int,
) -> int:
    """`absorb` of one reward; the last row of the log has room for it."""
    rewards = log[-1, :1]
    rewards[0] = reward
    return _absorb(table, k, view_row, rewards, Unwritten(start, now, drawn, base, log, place))


@part
def _at_own_price(table: FloatArray, k: int, batch: Sums) -> Sums:
    """Return the sums with the money of clients at the category's own price."""
    revenue, cost = money(
        table[AgentRow.WORTH, k],
        table[AgentRow.PRICE, k],
        table[AgentRow.RECOVERED, k],
        batch.revenue,
        batch.cost,
    )
    statistics = (batch.total, batch.total_lost, batch.squares, batch.squares_lost)
    lent = (batch.lent, batch.lent_lost, batch.lent_squares, batch.lent_squares_lost)
    return Sums(batch.clients, *statistics, revenue, cost, *lent)


@kernel
def digest_all(
    table: FloatArray,
    positions: IntArray,
    ends: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    rewards: FloatArray,
    amounts: FloatArray,
) -> tuple[int, IntArray, FloatArray]:
    """Check and add up batches of rewards; nothing is added to the table.

    `ends` [M] says where the rewards of each position end.  `amounts` are those of the
    rewards, or empty.  Returns the first batch that is refused (or NONE), what `absorb`
    would return for each, [M], with positions in `rewards`, and `Sums` as an array
    [M, 11].
    """
    bad, batches = np.full(positions.size, NONE), np.zeros((positions.size, 11))
    start, first = 0, NONE
    for i in range(positions.size):
        k, end = positions[i], ends[i]
        view = view_of(view_rows[which[k]])
        place, batch = digest(view, rewards[start:end])
        if table[AgentRow.KNOWN, k] + end - start > MOST:
            bad[i] = FULL
        elif place >= 0:
            bad[i] = start + place
        else:
            if amounts.size > 0:
                batch = weighted(view, batch, rewards[start:end], amounts[start:end])
            batches[i] = np.array(_at_own_price(table, k, batch))
        if first == NONE and bad[i] != NONE:
            first = i
        start = end
    return first, bad, batches


@kernel
def add_all(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    batches: FloatArray,
    arrives: BoolArray,
) -> int:
    """Book batches in their order and let them count, [M, 11] as `add` takes them.

    `arrives` [M] says whether the outcomes of each were waited for.  The sums are to
    the last bit those of as many calls of `add`.  Batches of one category stand
    together.  Returns NONE, or the batch for which there is no room; then nothing is
    booked.
    """
    known = 0.0
    for i in range(positions.size):
        known = (known if i > 0 and positions[i - 1] == positions[i] else 0.0) + batches[i, 0]
        if table[AgentRow.KNOWN, positions[i]] + known > MOST:
            return i
    for i in range(positions.size):
        k = positions[i]
        view = view_of(view_rows[which[k]])
        _book(table, k, view, 1.0, 1.0, _sums(batches[i]))
        if arrives[i]:
            arrive(table, k, batches[i, 0])
        if i + 1 == positions.size or positions[i + 1] != k:
            _renew(table, k, view)
    return NONE


@kernel
def absorb_all(
    table: FloatArray,
    positions: IntArray,
    ends: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    rewards: FloatArray,
) -> tuple[int, int]:
    """`absorb` for many categories, each once: all or none are added.

    Returns the first batch that is refused and what `absorb` would return for it, with
    a position in `rewards`; NONE and NONE if all are added.
    """
    first, bad, batches = digest_all(table, positions, ends, which, view_rows, rewards, rewards[:0])
    if first != NONE:
        return first, bad[first]
    arrives = np.ones(positions.size, dtype=np.bool_)
    return add_all(table, positions, which, view_rows, batches, arrives), NONE


@kernel
def decide(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    terms: FloatArray,
    t: float,
    draws: FloatArray,
    before: FloatArray,
    accepted: BoolArray,
) -> None:
    """Decide round t + 1 about some categories, [M], or about all of them.

    All of them are meant by no positions.  Accepted rounds are counted in the table.
    `before` [M] gets the count of each before this round, `accepted` [M] the decision;
    what else follows from them is written by `write_rounds`.

    Evidence that has aged is settled against the patience.  `terms` is `Patience` as an
    array.  `draws` are Exp(1): [M] if patience is drawn, and behind them [M] if the
    policy has a floor, which accepts where exp(-draw) is at most the floor. Without
    draws, nothing is known about either.
    """
    patience = patience_in(terms)
    number = accepted.size
    by_floor = patience.floor > 0.0 and draws.size > 0
    behind = draws.size - number if by_floor else draws.size
    drawn = behind > 0 and t > 0.0
    whole = positions.size == 0
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
    ratio = _per_round(table, k, patience, rounds) * rounds_ahead(patience, t) / known
    return is_surely_worth(ratio, patience.risk, nats) or nats <= worth_finding_out(
        ratio, patience.risk
    )


# ----------------------------------------------------------------- rounds, written late
#
# A decision over all categories is not written into their columns at once.  Where
# patience is a function of time alone, nothing is written at all: the accepted rounds
# are counted when the column is about to change, or when somebody looks at it.


@part
def _limit_in(patience: Patience, drawn: Matrix, base: int, k: int, round: int) -> float:
    """Return the patience of a round with category k, as drawn or by time alone."""
    if drawn.size > 0:
        return drawn[round - 1 - base, k]
    return patience_at(patience, round - 1.0, 1.0, 1.0)


@part
def _accepted_rounds(
    patience: Patience, drawn: Matrix, base: int, k: int, nats: float, first: int, last: int
) -> float:
    """Return how many of the rounds `first` to `last` tolerate this evidence.

    Their patience is drawn, or a function of time that does not fall.

    >>> drawn = np.empty((0, 0))
    >>> _accepted_rounds(Patience(0), drawn, 0, 0, 2.0, 1, 10)  # 1, 9 and 10: log 8 > 2
    3.0
    """
    if last < first:
        return 0.0
    if drawn.size > 0:
        number = 0.0
        for round in range(first, last + 1):
            number += nats <= drawn[round - 1 - base, k]
        return number
    if first == 1:  # it accepts everybody
        return 1.0 + _accepted_later(patience, nats, 2, last)
    return _accepted_later(patience, nats, first, last)


@part
def _accepted_later(patience: Patience, nats: float, first: int, last: int) -> float:
    """Return how many of the rounds from `first`, after the first of all, accept."""
    if last < first or not nats <= patience_at(patience, last - 1.0, 1.0, 1.0):
        return 0.0
    if nats <= patience_at(patience, first - 1.0, 1.0, 1.0):
        return last - first + 1.0
    return float(last - first_time(patience, nats, first - 1, 1.0, 1.0))


@part
def _write_later(
    table: FloatArray, k: int, patience: Patience, start: int, now: int, drawn: Matrix, base: int
) -> None:
    """Write the rounds after `start`, up to `now`, that were only decided before."""
    since = max(int(table[WRITTEN, k]), start)
    if since >= now:
        return
    table[WRITTEN, k] = now
    nats, rounds = table[AgentRow.EVIDENCE, k], table[AgentRow.ROUNDS, k]
    came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k]
    limit = _limit_in(patience, drawn, base, k, now)
    accepts, more = False, 0.0
    if table[AgentRow.PAUSED, k] == 0.0:
        accepts = nats <= limit
        more = _accepted_rounds(patience, drawn, base, k, nats, since + 1, now - 1)
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


@part
def _write_round(
    table: FloatArray,
    k: int,
    patience: Patience,
    now: int,
    drawn: Matrix,
    before: FloatArray,
    accepted: BoolArray,
) -> None:
    """Write round `now`, which was decided with these numbers, [K]."""
    if table[WRITTEN, k] >= now:
        return
    table[WRITTEN, k] = now
    table[AgentRow.PER_ROUND, k] = _per_round(table, k, patience, before[k])
    table[AgentRow.PATIENCE, k] = (
        drawn[0, k] if drawn.size > 0 else _patience_of(table, k, patience, now - 1.0, before[k])
    )
    table[AgentRow.ACCEPTED, k] = accepted[k]


@kernel
def write_rounds(
    table: FloatArray,
    positions: IntArray,
    terms: FloatArray,
    start: int,
    now: int,
    drawn: Matrix,
    base: int,
    before: FloatArray,
    accepted: BoolArray,
) -> None:
    """Write what is not written yet of the rounds up to `now`, in some columns.

    If there are counts `before` round `now`, [K], only that one is missing.  `drawn`
    [rounds, K] is the patience of the rounds after `base`, if it was drawn.
    """
    patience = patience_in(terms)
    for k in positions:
        if before.size > 0:
            _write_round(table, k, patience, now, drawn, before, accepted)
        else:
            _write_later(table, k, patience, start, now, drawn, base)


@part
def _keep(table: FloatArray, k: int, log: FloatArray, place: int) -> None:
    """Write a column that is about to change into a row of the log."""
    log[place, 0] = k
    log[place, 1] = table[AgentRow.ROUNDS, k]
    log[place, 2] = table[AgentRow.EARLIER, k]
    log[place, 3] = table[WRITTEN, k]
    for row in range(SNAPSHOT):
        log[place, LOG_HEAD + row] = table[row, k]


@kernel
def keep(table: FloatArray, positions: IntArray, log: FloatArray, place: int) -> None:
    """Write columns that are about to change into rows of the log."""
    for i in range(positions.size):
        _keep(table, positions[i], log, place + i)


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
def undo(rows: FloatArray, log: FloatArray, first: int, last: int) -> None:
    """Undo the changes in the log, from its row `last` - 1 back to `first`.

    `rows` [SNAPSHOT + 3, K] is a copy of the rows that decisions keep, and of ROUNDS,
    EARLIER and WRITTEN.
    """
    for place in range(last - 1, first - 1, -1):
        k = int(log[place, 0])
        if k < rows.shape[1]:
            for row in range(SNAPSHOT):
                rows[row, k] = log[place, LOG_HEAD + row]
            for i in range(3):
                rows[SNAPSHOT + i, k] = log[place, 1 + i]


@kernel
def rewind(
    rows: FloatArray,
    imaginary: FloatArray,
    terms: FloatArray,
    round: int,
    drawn: Matrix,
    base: int,
    end: int,
    counted: FloatArray,
    before: FloatArray,
    accepted: BoolArray,
) -> None:
    """Set PATIENCE, PER_ROUND and ACCEPTED of an earlier round in a copy of columns.

    `rows` are those of `undo`.  If the round was not written when it was decided, the
    counts of accepted rounds say how many there were before it: those in the rows or,
    after round `end`, those `counted` then, [K].
    """
    patience = patience_in(terms)
    for k in range(rows.shape[1]):
        nats, is_paused = rows[AgentRow.EVIDENCE, k], rows[AgentRow.PAUSED, k] != 0.0
        rounds, last = rows[SNAPSHOT, k], int(rows[SNAPSHOT + 2, k])
        if before.size > 0:
            rounds = before[k]
        else:
            if counted.size > 0 and last > end:
                rounds, last = counted[k], end
            if not is_paused:
                rounds -= _accepted_rounds(patience, drawn, base, k, nats, round, last)
        came = rows[AgentRow.KNOWN, k] + rows[AgentRow.WAITING, k] - rows[SNAPSHOT + 1, k]
        per_round = clients_per_round(patience, came, rounds)
        known = rows[AgentRow.CLIENTS, k] + imaginary[k]
        limit = (
            drawn[round - 1 - base, k]
            if drawn.size > 0
            else patience_at(patience, round - 1.0, known, per_round)
        )
        rows[AgentRow.PATIENCE, k], rows[AgentRow.PER_ROUND, k] = limit, per_round
        if before.size > 0:
            rows[AgentRow.ACCEPTED, k] = accepted[k]
        else:
            rows[AgentRow.ACCEPTED, k] = nats <= limit and not is_paused


@part
def _settle(table: FloatArray, k: int, view: CodedView, limit: float) -> None:
    """Make evidence exact enough to compare it with the limit.

    For a posterior a bound is enough if it decides; otherwise evidence is computed.
    """
    if not view.rule.is_posterior:
        _renew(table, k, view)
        return
    clients, total = (
        table[AgentRow.CLIENTS, k] + view.prior_clients,
        table[AgentRow.TOTAL, k] + view.prior_total,
    )
    least, most = posterior_bounds(view.law, clients, total, table[AgentRow.TARGET, k])
    if view.law.code == NORMAL:
        least, most = student_bounds(
            view.law, clients, total, table[AgentRow.SPREAD, k], table[AgentRow.TARGET, k]
        )
    if least > limit:
        table[AgentRow.EVIDENCE, k] = least
    elif most <= limit:
        table[AgentRow.EVIDENCE, k] = most
    else:
        _renew(table, k, view)


@kernel
def age(table: FloatArray, which: IntArray, view_rows: FloatArray, forget: float) -> None:
    """Multiply the weight of every outcome by `forget`, as one round passes.

    Evidence that is N times a function of the rewards' empirical law scales in the same
    way (and log N is recomputed).  Other evidence becomes rough: it is computed when it
    is read, or when bounds do not settle a decision.
    """
    for k in range(which.size):
        late = table[AgentRow.LATE, k] != 0.0
        if table[AgentRow.CLIENTS, k] == 0.0 and not late:
            continue
        view = view_of(view_rows[which[k]])
        rule, clients = view.rule, table[AgentRow.CLIENTS, k]
        table[AgentRow.CLIENTS, k] = forget * clients
        table[AgentRow.TOTAL, k] *= forget
        table[AgentRow.CARRY, k] *= forget
        if view.by_money:
            table[AgentRow.LENT : AgentRow.BACK_CARRY + 1, k] *= forget
        if rule.needs_spread:
            table[AgentRow.SQUARES, k] *= forget
            table[AgentRow.SQUARES_CARRY, k] *= forget
            table[AgentRow.SPREAD, k] *= forget
        table[AgentRow.DEBT, k] *= forget
        if forget * clients < FORGOTTEN:
            if late:
                _keep_inside(table, k, view)
            else:
                _forget_sums(table, k)
            table[AgentRow.ROUGH, k] = 1.0
        elif rule.scales:
            table[AgentRow.EVIDENCE, k] = faded(
                rule, table[AgentRow.EVIDENCE, k], clients, table[AgentRow.TAKEN, k], forget
            )
        else:
            table[AgentRow.ROUGH, k] = 1.0


@kernel
def count_rounds(table: FloatArray, forget: float) -> None:
    """Count the latest round where it is accepted, for rules that need the count.

    Earlier rounds are multiplied by `forget`.  The evidence of accepted categories
    becomes rough: usually it is computed with the outcomes of the round.
    """
    for k in range(table.shape[1]):
        table[AgentRow.TAKEN, k] = forget * table[AgentRow.TAKEN, k] + table[AgentRow.ACCEPTED, k]
        if table[AgentRow.ACCEPTED, k] != 0.0 and table[AgentRow.EVIDENCE, k] > 0.0:
            table[AgentRow.ROUGH, k] = 1.0
        table[AgentRow.ACCEPTED, k] = 0.0
