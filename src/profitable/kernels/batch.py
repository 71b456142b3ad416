"""A batch of outcomes, checked and added up, before it enters the agent's table.

Example: `digest_row(view_row, np.array([1.0, 0.0]), amounts)` returns -1 (no reward is
illegal) and the numbers of `Sums`: 2 clients and the total 1, if `amounts` are empty.
With the amounts 300 and 100 as weights, the total is 300, of 400 lent.

Kernels return plain tuples to Python.  The compiler makes a NamedTuple by a call of its
class, does not look whether that call failed, and so crashes if Ctrl-C arrives in it.
"""

from typing import NamedTuple

import numpy as np

from profitable.common.check import LARGEST
from profitable.common.types import FloatArray
from profitable.kernels.coded_view import CodedView, is_legal, view_of
from profitable.kernels.compile import kernel, part
from profitable.kernels.exact import exact_product, exact_sum
from profitable.kernels.statistic import statistic_of


class Sums(NamedTuple):
    """Sums of a batch of outcomes: clients, statistics, their squares, and money.

    Statistics and squares are pairs, the sum and its rounding error.  Where clients
    weigh as much as their amounts, the statistics and their squares are weighted, and
    the amounts and their squares are added up as well.
    """

    clients: float = 0.0
    total: float = 0.0
    total_lost: float = 0.0
    squares: float = 0.0
    squares_lost: float = 0.0
    revenue: float = 0.0
    cost: float = 0.0
    lent: float = 0.0
    lent_lost: float = 0.0
    lent_squares: float = 0.0
    lent_squares_lost: float = 0.0


NO_SUMS = Sums()
# The fields of `Sums`.
Numbers = tuple[float, float, float, float, float, float, float, float, float, float, float]


@part
def digest(view: CodedView, rewards: FloatArray) -> tuple[int, Sums]:
    """Return the position of the first illegal reward (-1 if none), and the sums.

    `revenue` is the plain sum of the rewards, and `cost` the number of clients: `money`
    converts them to money.
    """
    raw = 0.0
    total = 0.0
    total_lost = 0.0
    squares = 0.0
    squares_lost = 0.0
    for i in range(rewards.size):
        value = (
            statistic_of(view.statistic, rewards[i])
            if is_legal(view.support, rewards[i])
            else np.inf
        )
        if not value <= LARGEST:
            return i, NO_SUMS
        raw += rewards[i]
        total, error = exact_sum(total, value)
        total_lost += error
        square, lost = exact_product(value, value)
        squares, error = exact_sum(squares, square)
        squares_lost += error + lost
    size = float(rewards.size)
    return -1, Sums(size, total, total_lost, squares, squares_lost, raw, size, size, 0.0, size, 0.0)


@kernel
def digest_row(
    view_row: FloatArray, rewards: FloatArray, amounts: FloatArray
) -> tuple[int, Numbers]:
    """`digest` for callers from Python, with the view as a row.

    Amounts, unless they are empty, are as for `weighted`.
    """
    view = view_of(view_row)
    bad, sums = digest(view, rewards)
    if bad < 0 and amounts.size > 0:
        sums = weighted(view, sums, rewards, amounts)
    statistics = (sums.clients, sums.total, sums.total_lost, sums.squares, sums.squares_lost)
    lent = (sums.lent, sums.lent_lost, sums.lent_squares, sums.lent_squares_lost)
    return bad, (*statistics, sums.revenue, sums.cost, *lent)


@part
def weighted(view: CodedView, plain: Sums, rewards: FloatArray, amounts: FloatArray) -> Sums:
    """Return the sums of legal rewards with amounts.

    `revenue` is the sum of amount * reward, and `cost` that of the amounts.  `plain`
    are the sums without amounts.
    """
    sums = np.zeros((4, 2))
    raw = 0.0
    for i in range(rewards.size):
        value, amount = statistic_of(view.statistic, rewards[i]), amounts[i]
        raw += amount * rewards[i]
        first, lost = exact_product(amount, value)
        _extend(sums, 0, first, lost)
        second, more = exact_product(first, value)
        _extend(sums, 1, second, more + lost * value)
        _extend(sums, 2, amount, 0.0)
        square, lost = exact_product(amount, amount)
        _extend(sums, 3, square, lost)
    statistics = (plain.total, plain.total_lost, plain.squares, plain.squares_lost)
    lent = (plain.lent, plain.lent_lost, plain.lent_squares, plain.lent_squares_lost)
    if view.by_money:
        statistics = (sums[0, 0], sums[0, 1], sums[1, 0], sums[1, 1])
        lent = (sums[2, 0], sums[2, 1], sums[3, 0], sums[3, 1])
    return Sums(plain.clients, *statistics, raw, sums[2, 0], *lent)


@part
def money(
    worth: float, price: float, recovered: float, back: float, units: float
) -> tuple[float, float]:
    """Return the revenue and the cost of outcomes; from Python also for arrays.

    Without amounts, `back` is the sum of the rewards and `units` the number of clients.
    With amounts, `back` is the sum of amount * reward and `units` that of the amounts.
    """
    return back * worth + units * recovered, units * price


@part
def _extend(sums: FloatArray, i: int, value: float, lost: float) -> None:
    """Add to the i-th of some sums, which are pairs with what they lost to rounding."""
    sums[i, 0], error = exact_sum(sums[i, 0], value)
    sums[i, 1] += error + lost
