"""The agent's table: rewards are checked, turned into statistics and added up, and the evidence is renewed.

The table is one array of floats, [rows, K], with a column for each category, so that a decision can copy it in one
step. `Row` names its rows: `table[Row.CLIENTS, k]` is the number of clients of category k.

Example: `absorb(table, k, view_row, np.array([1.0, 0.0]))` adds 2 to CLIENTS, 1 to TOTAL, the worth of 1 to REVENUE and
the price of two clients to COST, computes EVIDENCE anew and returns -1: no reward was illegal.
"""

import math
from enum import IntEnum

import numpy as np

from profitable.common.check import MOST
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.batch import Sums, digest, digest_amounts
from profitable.kernels.compile import kernel, part
from profitable.kernels.evidence import Seen, evidence, faded
from profitable.kernels.exact import exact_sum, squared_deviations, weighted_deviations
from profitable.kernels.late import Matrix, late
from profitable.kernels.law import NORMAL, posterior_bounds
from profitable.kernels.patience import clients_per_round, patience_at, patience_in
from profitable.kernels.unknown_variance import student_bounds
from profitable.kernels.view import CodedView, edges, view_of, widest


class Row(IntEnum):
    """Rows of the table.  Sums are pairs, the sum and what it lost to rounding (its carry)."""

    CLIENTS = 0  # N: as how many clients the known outcomes count; with forgetting, old ones count for less
    TOTAL = 1  # S: the sum of their statistics, weighted in the same way
    SPREAD = 2  # squared deviations of the statistics from their mean, for rules that need them
    THRESHOLD = 3  # in the units of the rewards
    EVIDENCE = 4
    PATIENCE = 5  # of the latest decision
    PER_ROUND = 6  # clients in a round, as the latest decision expected them
    WAITING = 7  # accepted clients whose outcome has not come yet
    PAUSED = 8  # 1 if it is not accepted until it is resumed
    KNOWN = 9  # clients whose outcome was reported
    ROUGH = 10  # 1 if EVIDENCE is a bound on the right side of PATIENCE, or not computed since the sums have aged
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
    LENT = 25  # the sum of the amounts, where clients weigh as much as they are lent; then SQUARES is weighted, too
    LENT_CARRY = 26
    LENT_SQUARES = 27  # the sum of the squared amounts
    LENT_SQUARES_CARRY = 28
    BACK = 29  # the sum of amount times statistic
    BACK_CARRY = 30
    OUTSTANDING = 31  # of WAITING, those in cohorts
    LATE = 32  # 1 if it ever had a cohort whose clients count by their age, so that its sums can leave their range
    DEBT = 33  # what TOTAL lacks, because it is kept inside that range (0 unless LATE)


NONE = -1  # no reward was refused
FULL = -2  # the category would have more clients than can be counted
SNAPSHOT = int(Row.TARGET)  # a decision keeps a copy of the rows before this one
FORGOTTEN = 1e-9  # clients: what counts for less counts for nothing
NO_MONEY = 1e-20  # the share of an earlier sum of amounts below which the rest is rounding


@late
def _renew(table: Matrix, k: int, view: CodedView) -> None:
    """Compute spread and evidence of category k anew; where the rule needs the values, the agent does the second."""
    if view.rule.needs_spread:
        number, total, carry = table[Row.CLIENTS, k], table[Row.TOTAL, k], table[Row.CARRY, k]
        share = 1.0
        if view.by_money:
            number, total, carry = table[Row.LENT, k], table[Row.BACK, k], table[Row.BACK_CARRY, k]
            share = share_of(table, k)
        squares, squares_carry = table[Row.SQUARES, k], table[Row.SQUARES_CARRY, k]
        if table[Row.CLIENTS, k] == table[Row.KNOWN, k]:
            table[Row.SPREAD, k] = share * squared_deviations(number, total, carry, squares, squares_carry)
        else:
            table[Row.SPREAD, k] = share * weighted_deviations(number, total, carry, squares, squares_carry)
        if table[Row.LATE, k] != 0.0:
            table[Row.SPREAD, k] = min(table[Row.SPREAD, k], widest(view, table[Row.CLIENTS, k], table[Row.TOTAL, k]))
    table[Row.ROUGH, k] = 0.0
    if view.rule.needs_values:
        return
    clients = table[Row.CLIENTS, k] + view.prior_clients
    total, error = exact_sum(table[Row.TOTAL, k], view.prior_total)
    nothing = table[0, :0]
    spread = table[Row.SPREAD, k] if view.rule.needs_spread else np.nan
    seen = Seen(clients, total, spread, nothing, nothing, table[Row.TAKEN, k], table[Row.CARRY, k] + error)
    table[Row.EVIDENCE, k] = evidence(view.rule, view.law, seen, table[Row.TARGET, k])


@kernel
def renew(table: FloatArray, positions: IntArray, which: IntArray, view_rows: FloatArray) -> None:
    """Compute the evidence of several categories anew; `which` [K] names the row of `view_rows` each of them has."""
    for k in positions:
        _renew(table, k, view_of(view_rows[which[k]]))


@part
def _accumulate(table: FloatArray, rows: tuple[int, int], k: int, value: float, lost: float) -> None:
    """Add a pair (value, what it lost) to the pair in two rows of the table."""
    row, carry = rows
    total, error = exact_sum(table[row, k], value)
    table[row, k], table[carry, k] = exact_sum(total, error + table[carry, k] + lost)


@part
def _keep_inside(table: FloatArray, k: int, view: CodedView) -> None:
    """Keep the sums of a category with late outcomes inside what its clients can have; DEBT notes the difference.

    Example: a loan is lost when all of them count as 0.5 observations of the promised reward 1.  So S = 0.5 - 1 is kept
    at 0, and DEBT is -0.5.
    """
    low, high = edges(view)
    if table[Row.CLIENTS, k] < FORGOTTEN:
        table[Row.CLIENTS, k] = 0.0
    total, clients = table[Row.TOTAL, k], table[Row.CLIENTS, k]
    inside = min(max(total, clients * low), clients * high) if clients > 0.0 else 0.0
    if inside != total or clients == 0.0:
        table[Row.DEBT, k] += (total - inside) + table[Row.CARRY, k]
        table[Row.TOTAL, k], table[Row.CARRY, k] = inside, 0.0


@part
def _add(table: FloatArray, k: int, view: CodedView, books: float, counts: float, batch: Sums) -> None:
    _book(table, k, view, books, counts, batch)
    _renew(table, k, view)


@part
def _book(table: FloatArray, k: int, view: CodedView, books: float, counts: float, batch: Sums) -> None:
    """Add a batch to the sums; the evidence is not renewed."""
    late = table[Row.LATE, k] != 0.0
    if late:
        _accumulate(table, (Row.TOTAL, Row.CARRY), k, table[Row.DEBT, k], 0.0)
        table[Row.DEBT, k] = 0.0
    table[Row.KNOWN, k] += books * batch.clients
    if view.by_money:
        _add_money(table, k, counts, batch)
    else:
        table[Row.CLIENTS, k] += counts * batch.clients
        _accumulate(table, (Row.TOTAL, Row.CARRY), k, counts * batch.total, counts * batch.total_lost)
    if view.rule.needs_spread:
        _accumulate(table, (Row.SQUARES, Row.SQUARES_CARRY), k, counts * batch.squares, counts * batch.squares_lost)
    if late:
        _keep_inside(table, k, view)
    elif table[Row.CLIENTS, k] < FORGOTTEN:
        _forget_sums(table, k)
    table[Row.REVENUE, k] += books * batch.revenue
    table[Row.COST, k] += books * batch.cost


@part
def _add_money(table: FloatArray, k: int, counts: float, batch: Sums) -> None:
    """Add amounts, and let them count as N = (sum a)^2 / sum a^2 clients with the mean of money."""
    before = table[Row.LENT, k]
    _accumulate(table, (Row.LENT, Row.LENT_CARRY), k, counts * batch.lent, counts * batch.lent_lost)
    squares, lost = counts * batch.lent_squares, counts * batch.lent_squares_lost
    _accumulate(table, (Row.LENT_SQUARES, Row.LENT_SQUARES_CARRY), k, squares, lost)
    _accumulate(table, (Row.BACK, Row.BACK_CARRY), k, counts * batch.total, counts * batch.total_lost)
    if table[Row.KNOWN, k] <= 0.0 or table[Row.LENT, k] <= NO_MONEY * before:
        _forget_sums(table, k)
    count_money(table, k)


@part
def count_money(table: FloatArray, k: int) -> None:
    """Set N and S of a category whose clients weigh as much as their amounts."""
    share = share_of(table, k)
    table[Row.CLIENTS, k] = table[Row.LENT, k] * share
    table[Row.TOTAL, k], table[Row.CARRY, k] = table[Row.BACK, k] * share, table[Row.BACK_CARRY, k] * share


@part
def share_of(table: FloatArray, k: int) -> float:
    """How many clients a unit of money counts as: sum a / sum a^2, which is 1 if all amounts are 1."""
    squares = table[Row.LENT_SQUARES, k]
    return table[Row.LENT, k] / squares if squares > 0.0 else 0.0


@part
def _forget_sums(table: FloatArray, k: int) -> None:
    table[Row.CLIENTS, k] = table[Row.TOTAL, k] = table[Row.CARRY, k] = 0.0
    table[Row.SQUARES, k] = table[Row.SQUARES_CARRY, k] = table[Row.SPREAD, k] = 0.0
    table[Row.LENT : Row.BACK_CARRY + 1, k] = 0.0


@kernel
def add(table: FloatArray, k: int, view_row: FloatArray, books: float, counts: float, batch: FloatArray) -> None:
    """Add a batch, and renew the evidence; the batch is `Sums` as an array [11].

    `books` is 1 to book its clients and money, -1 to take them back and 0 to leave them.  `counts` is what each outcome
    adds to the sums that decide: 1, less if some of it is forgotten, or negative to take it away.
    """
    statistics, money = (batch[0], batch[1], batch[2], batch[3], batch[4]), (batch[5], batch[6])
    sums = Sums(*statistics, *money, batch[7], batch[8], batch[9], batch[10])
    _add(table, k, view_of(view_row), books, counts, sums)


@part
def arrive(table: FloatArray, k: int, count: float) -> None:
    """Outcomes came in: that many clients fewer to wait for, but those in cohorts report for themselves."""
    table[Row.WAITING, k] = max(table[Row.OUTSTANDING, k], table[Row.WAITING, k] - count)


@kernel
def absorb(table: FloatArray, k: int, view_row: FloatArray, rewards: FloatArray) -> int:
    """Check rewards and add them at the category's own price; NONE, FULL, or the position of the first illegal one."""
    if table[Row.KNOWN, k] + rewards.size > MOST:
        return FULL
    view = view_of(view_row)
    bad, batch = digest(view, rewards)
    if bad < 0:
        revenue = batch.revenue * table[Row.WORTH, k] + batch.clients * table[Row.RECOVERED, k]
        statistics = (batch.total, batch.total_lost, batch.squares, batch.squares_lost)
        lent = (batch.lent, batch.lent_lost, batch.lent_squares, batch.lent_squares_lost)
        cost = batch.clients * table[Row.PRICE, k]
        _add(table, k, view, 1.0, 1.0, Sums(batch.clients, *statistics, revenue, cost, *lent))
        arrive(table, k, batch.clients)
    return bad


class Each(IntEnum):
    """Rows of an array of single clients, [5, M]."""

    REWARD = 0
    REVENUE = 1  # in money
    COST = 2  # in money
    AMOUNT = 3  # what was lent; 1 where clients have no amounts
    ARRIVES = 4  # 1 if the outcome was waited for


@kernel
def absorb_each(table: FloatArray, k: int, view_row: FloatArray, clients: FloatArray) -> None:
    """Add clients one by one, whose rewards are legal: the sums are to the last bit those of as many batches of one."""
    view = view_of(view_row)
    for i in range(clients.shape[1]):
        reward = clients[Each.REWARD, i : i + 1]
        _, one = digest(view, reward)
        statistics, lent = one[1:5], one[7:11]
        if view.by_money:
            numbers = digest_amounts(view_row, reward, clients[Each.AMOUNT, i : i + 1])
            statistics, lent = numbers[1:5], numbers[7:11]
        sums = Sums(1.0, *statistics, clients[Each.REVENUE, i], clients[Each.COST, i], *lent)
        _book(table, k, view, 1.0, 1.0, sums)
        if clients[Each.ARRIVES, i] != 0.0:
            arrive(table, k, 1.0)
    _renew(table, k, view)


@kernel
def absorb_all(
    table: FloatArray,
    positions: IntArray,
    ends: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    rewards: FloatArray,
) -> int:
    """`absorb` for many categories: `ends` [M] says where the rewards of each position end.  All or none are added.

    It returns NONE, the position of the first illegal reward, or FULL - i if the i-th category cannot take more.
    """
    start = 0
    for i in range(positions.size):
        if table[Row.KNOWN, positions[i]] + ends[i] - start > MOST:
            return FULL - i
        bad, _ = digest(view_of(view_rows[which[positions[i]]]), rewards[start : ends[i]])
        if bad >= 0:
            return start + bad
        start = ends[i]
    start = 0
    for i in range(positions.size):
        absorb(table, positions[i], view_rows[which[positions[i]]], rewards[start : ends[i]])
        start = ends[i]
    return NONE


@kernel
def add_all(
    table: FloatArray, positions: IntArray, which: IntArray, view_rows: FloatArray, batches: FloatArray
) -> None:
    """Add batches of many categories that were added up elsewhere, [M, 11] as `add` takes them, and let them count."""
    for i in range(positions.size):
        k = positions[i]
        add(table, k, view_rows[which[k]], 1.0, 1.0, batches[i])
        arrive(table, k, batches[i, 0])


@kernel
def decide(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    terms: FloatArray,
    t: float,
    draws: FloatArray,
) -> None:
    """Set the patience of round t + 1 in some columns, [M], and count the round where it accepts.

    Evidence that has aged is settled against the patience.  `terms` is `Patience` as an array.  `draws` are Exp(1): [M]
    if patience is drawn, and behind them [M] if the policy has a floor, which accepts where exp(-draw) is at most the
    floor. Without draws, nothing is known about either.
    """
    patience = patience_in(terms)
    by_floor = patience.floor > 0.0 and draws.size > 0
    behind = draws.size - positions.size if by_floor else draws.size
    drawn = behind > 0 and t > 0.0
    for i in range(positions.size):
        k = positions[i]
        came = table[Row.KNOWN, k] + table[Row.WAITING, k] - table[Row.EARLIER, k]
        per_round = clients_per_round(patience, came, table[Row.ROUNDS, k])
        known = table[Row.CLIENTS, k] + table[Row.IMAGINARY, k]
        limit = draws[i] if drawn else patience_at(patience, t, known, per_round)
        table[Row.PATIENCE, k], table[Row.PER_ROUND, k] = limit, per_round
        if table[Row.ROUGH, k] != 0.0:
            _settle(table, k, view_of(view_rows[which[k]]), limit)
        accepts = table[Row.EVIDENCE, k] <= limit
        if not accepts and by_floor:
            accepts = math.exp(-draws[behind + i]) <= patience.floor
        if table[Row.PAUSED, k] != 0.0:
            accepts = False
        table[Row.ACCEPTED, k] = accepts
        if accepts:
            if table[Row.ROUNDS, k] == 0.0:
                table[Row.EARLIER, k] = table[Row.KNOWN, k] + table[Row.WAITING, k]
            table[Row.ROUNDS, k] += 1.0


@part
def _settle(table: FloatArray, k: int, view: CodedView, limit: float) -> None:
    """Let evidence be on the right side of the limit: that of a posterior by a bound if that decides, else computed."""
    if not view.rule.is_posterior:
        _renew(table, k, view)
        return
    clients, total = table[Row.CLIENTS, k] + view.prior_clients, table[Row.TOTAL, k] + view.prior_total
    least, most = posterior_bounds(view.law, clients, total, table[Row.TARGET, k])
    if view.law.code == NORMAL:
        least, most = student_bounds(view.law, clients, total, table[Row.SPREAD, k], table[Row.TARGET, k])
    if least > limit:
        table[Row.EVIDENCE, k] = least
    elif most <= limit:
        table[Row.EVIDENCE, k] = most
    else:
        _renew(table, k, view)


@kernel
def age(table: FloatArray, which: IntArray, view_rows: FloatArray, forget: float) -> None:
    """Let one round pass for a policy that forgets: every outcome counts for `forget` of what it did.

    Evidence that is N times a function of the rewards' empirical law scales in the same way (and log N is added anew).
    Other evidence becomes rough: it is computed when somebody asks, or when bounds do not settle a decision.
    """
    for k in range(which.size):
        late = table[Row.LATE, k] != 0.0
        if table[Row.CLIENTS, k] == 0.0 and not late:
            continue
        view = view_of(view_rows[which[k]])
        rule, clients = view.rule, table[Row.CLIENTS, k]
        table[Row.CLIENTS, k] = forget * clients
        table[Row.TOTAL, k] *= forget
        table[Row.CARRY, k] *= forget
        if view.by_money:
            table[Row.LENT : Row.BACK_CARRY + 1, k] *= forget
        if rule.needs_spread:
            table[Row.SQUARES, k] *= forget
            table[Row.SQUARES_CARRY, k] *= forget
            table[Row.SPREAD, k] *= forget
        table[Row.DEBT, k] *= forget
        if forget * clients < FORGOTTEN:
            if late:
                _keep_inside(table, k, view)
            else:
                _forget_sums(table, k)
            table[Row.ROUGH, k] = 1.0
        elif rule.scales:
            table[Row.EVIDENCE, k] = faded(rule, table[Row.EVIDENCE, k], clients, table[Row.TAKEN, k], forget)
        else:
            table[Row.ROUGH, k] = 1.0


@kernel
def count_rounds(table: FloatArray, forget: float) -> None:
    """Count the latest round where it accepts, for rules that need it; earlier ones count for `forget` as much.

    The evidence of what is accepted becomes rough: mostly it is computed with the outcomes of the round.
    """
    for k in range(table.shape[1]):
        table[Row.TAKEN, k] = forget * table[Row.TAKEN, k] + table[Row.ACCEPTED, k]
        if table[Row.ACCEPTED, k] != 0.0 and table[Row.EVIDENCE, k] > 0.0:
            table[Row.ROUGH, k] = 1.0
        table[Row.ACCEPTED, k] = 0.0
