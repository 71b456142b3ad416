"""The agent's table: rewards are checked, turned into statistics and added up, and the evidence is renewed.

The table is one array of floats, [rows, K], with a column for each category, so that a decision can copy it in one
step. `Row` names its rows: `table[Row.CLIENTS, k]` is the number of clients of category k.

Example: `absorb(table, k, view_row, np.array([1.0, 0.0]))` adds 2 to CLIENTS, 1 to TOTAL, the worth of 1 to REVENUE and
the price of two clients to COST, computes EVIDENCE anew and returns -1: no reward was illegal.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from profitable.common.check import LARGEST, MOST
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.compile import kernel, part
from profitable.kernels.evidence import Seen, evidence, index
from profitable.kernels.exact import exact_product, exact_sum
from profitable.kernels.late import Matrix, late
from profitable.kernels.patience import Patience, clients_per_round, patience_at
from profitable.kernels.statistic import statistic_of
from profitable.kernels.view import CodedView, is_legal, view_of


class Row(IntEnum):
    """Rows of the table.  Sums are pairs, the sum and what it lost to rounding (its carry)."""

    CLIENTS = 0  # N: clients whose outcome is known
    TOTAL = 1  # S: the sum of their statistics
    SPREAD = 2  # squared deviations of the statistics from their mean, for rules that need them
    THRESHOLD = 3  # in the units of the rewards
    EVIDENCE = 4
    PATIENCE = 5  # of the latest decision
    PER_ROUND = 6  # clients in a round, as the latest decision expected them
    WAITING = 7  # accepted clients whose outcome has not come yet
    PAUSED = 8  # 1 if it is not accepted until it is resumed
    TARGET = 9  # the threshold in the units of the statistic
    IMAGINARY = 10  # the imaginary clients of its prior
    ROUNDS = 11  # decisions that accepted it
    EARLIER = 12  # clients from before the first of them
    REVENUE = 13  # in money
    COST = 14  # in money
    WORTH = 15  # money per unit of reward
    PRICE = 16  # money that accepting one client costs, unless the caller says otherwise
    CARRY = 17  # of TOTAL
    SQUARES = 18  # the sum of the squared statistics, for rules that need the spread
    SQUARES_CARRY = 19


NONE = -1  # no reward was refused
FULL = -2  # the category would have more clients than can be counted
SNAPSHOT = int(Row.TARGET)  # a decision keeps a copy of the rows before this one


class Sums(NamedTuple):
    """A batch of outcomes, added up: clients, statistics and their squares with what they lost to rounding, money."""

    clients: float = 0.0
    total: float = 0.0
    total_lost: float = 0.0
    squares: float = 0.0
    squares_lost: float = 0.0
    revenue: float = 0.0
    cost: float = 0.0


@part
def digest(view: CodedView, rewards: FloatArray) -> tuple[int, Sums]:
    """The place of the first illegal reward (-1 if none), and the sums; `revenue` is the plain sum of the rewards."""
    raw = 0.0
    total = 0.0
    total_lost = 0.0
    squares = 0.0
    squares_lost = 0.0
    for i in range(rewards.size):
        value = statistic_of(view.statistic, rewards[i]) if is_legal(view.support, rewards[i]) else np.inf
        if not value <= LARGEST:
            return i, Sums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        raw += rewards[i]
        total, error = exact_sum(total, value)
        total_lost += error
        square, lost = exact_product(value, value)
        squares, error = exact_sum(squares, square)
        squares_lost += error + lost
    return -1, Sums(float(rewards.size), total, total_lost, squares, squares_lost, raw, 0.0)


@kernel
def digest_row(view_row: FloatArray, rewards: FloatArray) -> tuple[int, Sums]:
    """`digest` for callers from Python, with the view as a row."""
    return digest(view_of(view_row), rewards)


@part
def squared_deviations(clients: float, total: float, carry: float, squares: float, squares_carry: float) -> float:
    """Q - S^2 / N in twice the precision: the two are nearly equal where the spread is small beside the mean."""
    if clients <= 0.0:
        return 0.0
    product, error = exact_product(total, total)
    error += 2.0 * total * carry
    quotient = product / clients
    back, back_error = exact_product(quotient, clients)
    rest = (((product - back) - back_error) + error) / clients
    return max(0.0, (squares - quotient) + (squares_carry - rest))


@late
def _renew(table: Matrix, k: int, view: CodedView) -> None:
    """Compute spread and evidence of category k anew; where the rule needs the values, the agent does the second."""
    if view.rule.needs_spread:
        table[Row.SPREAD, k] = squared_deviations(
            table[Row.CLIENTS, k],
            table[Row.TOTAL, k],
            table[Row.CARRY, k],
            table[Row.SQUARES, k],
            table[Row.SQUARES_CARRY, k],
        )
    if view.rule.needs_values:
        return
    clients, total = table[Row.CLIENTS, k] + view.prior_clients, table[Row.TOTAL, k] + view.prior_total
    nothing = table[0, :0]
    spread = table[Row.SPREAD, k] if view.rule.needs_spread else np.nan
    seen = Seen(clients, total, spread, nothing, nothing)
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
def _add(table: FloatArray, k: int, view: CodedView, sign: float, batch: Sums) -> None:
    table[Row.CLIENTS, k] += sign * batch.clients
    _accumulate(table, (Row.TOTAL, Row.CARRY), k, sign * batch.total, sign * batch.total_lost)
    if view.rule.needs_spread:
        _accumulate(table, (Row.SQUARES, Row.SQUARES_CARRY), k, sign * batch.squares, sign * batch.squares_lost)
    if table[Row.CLIENTS, k] <= 0.0:
        table[Row.TOTAL, k] = table[Row.CARRY, k] = table[Row.SQUARES, k] = table[Row.SQUARES_CARRY, k] = 0.0
    table[Row.REVENUE, k] += sign * batch.revenue
    table[Row.COST, k] += sign * batch.cost
    _renew(table, k, view)


@kernel
def add(table: FloatArray, k: int, view_row: FloatArray, sign: float, batch: FloatArray) -> None:
    """Add a batch (sign 1) or take one away (sign -1), and renew the evidence; the batch is `Sums` as an array [7]."""
    sums = Sums(batch[0], batch[1], batch[2], batch[3], batch[4], batch[5], batch[6])
    _add(table, k, view_of(view_row), sign, sums)


@part
def arrive(table: FloatArray, k: int, count: float) -> None:
    """Outcomes came in: that many clients fewer to wait for."""
    table[Row.WAITING, k] = max(0.0, table[Row.WAITING, k] - count)


@kernel
def absorb(table: FloatArray, k: int, view_row: FloatArray, rewards: FloatArray) -> int:
    """Check rewards and add them at the category's own price; NONE, FULL, or the position of the first illegal one."""
    if table[Row.CLIENTS, k] + rewards.size > MOST:
        return FULL
    view = view_of(view_row)
    bad, batch = digest(view, rewards)
    if bad < 0:
        revenue, cost = batch.revenue * table[Row.WORTH, k], batch.clients * table[Row.PRICE, k]
        statistics = (batch.total, batch.total_lost, batch.squares, batch.squares_lost)
        _add(table, k, view, 1.0, Sums(batch.clients, *statistics, revenue, cost))
        arrive(table, k, batch.clients)
    return bad


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
        if table[Row.CLIENTS, positions[i]] + ends[i] - start > MOST:
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
def decide(table: FloatArray, positions: IntArray, terms: FloatArray, t: float, draws: FloatArray, step: float) -> None:
    """Set the patience of round t + 1 in some columns, [M], and add `step` to the accepted rounds where it accepts.

    `terms` is `Patience` as an array, `draws` [M] is empty unless patience is drawn.
    """
    patience = Patience(int(terms[0]), terms[1], terms[2], terms[3], terms[4], terms[5], terms[6])
    drawn = draws.size > 0 and t > 0.0
    for i in range(positions.size):
        k = positions[i]
        came = table[Row.CLIENTS, k] + table[Row.WAITING, k] - table[Row.EARLIER, k]
        per_round = clients_per_round(patience, came, table[Row.ROUNDS, k])
        known = table[Row.CLIENTS, k] + table[Row.IMAGINARY, k]
        limit = draws[i] if drawn else patience_at(patience, t, known, per_round)
        table[Row.PATIENCE, k], table[Row.PER_ROUND, k] = limit, per_round
        if table[Row.EVIDENCE, k] <= limit and table[Row.PAUSED, k] == 0.0:
            if table[Row.ROUNDS, k] == 0.0:
                table[Row.EARLIER, k] = table[Row.CLIENTS, k] + table[Row.WAITING, k]
            table[Row.ROUNDS, k] += step


@kernel
def indices(table: FloatArray, which: IntArray, view_rows: FloatArray, limits: FloatArray, out: FloatArray) -> None:
    """The paper's index of each category in a decision's copy of the table, [M], for rules that do not need values."""
    nothing = table[0, :0]
    for k in range(out.size):
        view = view_of(view_rows[which[k]])
        clients, total = table[Row.CLIENTS, k] + view.prior_clients, table[Row.TOTAL, k] + view.prior_total
        spread = table[Row.SPREAD, k] if view.rule.needs_spread else np.nan
        out[k] = index(view.rule, view.law, Seen(clients, total, spread, nothing, nothing), limits[k])
