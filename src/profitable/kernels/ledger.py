"""The agent's table and how rewards enter it: checked, turned into statistics, added up, evidence renewed.

The table is one float64 array [ROWS, K], so that a decision can keep a copy of it in a single step.  A lens says
what a policy sees of a category (`profitable/lens.py`); it arrives here as one row of numbers.
"""

import math

import numpy as np

from profitable.check import LARGEST
from profitable.kernels.compile import kernel
from profitable.kernels.law import SMALLEST_POSITIVE, exact_product, exact_sum
from profitable.kernels.rule import EMPIRICAL, VARIANCE, evidence
from profitable.types import FloatArray, IntArray

# Rows of the table.  A decision keeps a copy of the first SNAPSHOT rows.
CLIENTS = 0  # N: clients whose outcome is known
TOTAL = 1  # S: the sum of their statistics
SPREAD = 2  # sum of squared deviations of the statistic from its mean (UCB-V only), from the sums below
THRESHOLD = 3  # in the units of the rewards
TARGET = 4  # the threshold in the units of the statistic
EVIDENCE = 5
WAITING = 6  # accepted clients whose outcome has not come yet
SNAPSHOT = 7
REVENUE = 7  # in money
COST = 8  # in money
WORTH = 9  # money per unit of reward
PRICE = 10  # money that accepting one client costs, unless the caller says otherwise
# Sums are pairs, the sum and what it has lost to rounding: taking back a huge reward gives back the small ones.
CARRY = 11  # of TOTAL
SQUARES = 12  # sum of the squared statistics (UCB-V only)
SQUARES_CARRY = 13
ROWS = 14

# Columns of a lens.
LAW, P0, P1, P2, PRIOR_CLIENTS, PRIOR_TOTAL = 0, 1, 2, 3, 4, 5
STATISTIC, S0, S1 = 6, 7, 8
SUPPORT_LOW, SUPPORT_HIGH, SUPPORT_OPEN, SUPPORT_INTEGER = 9, 10, 11, 12

# Statistics: what is added up.
IDENTITY = 0  # the reward itself
CUT = 1  # the reward, cut into [S0, S1]
LOG_RATIO = 2  # log(reward / S0)
POWER = 3  # reward ** S0

NONE = np.empty(0)


@kernel
def is_legal(lens: FloatArray, reward: float) -> bool:
    """Whether a reward lies in the family's support; the lower edge may be excluded, whole numbers demanded."""
    low = lens[SUPPORT_LOW]
    if not low <= reward <= lens[SUPPORT_HIGH] or abs(reward) > LARGEST:
        return False
    if lens[SUPPORT_OPEN] != 0.0 and reward == low:
        return False
    return lens[SUPPORT_INTEGER] == 0.0 or reward == math.floor(reward)


@kernel
def statistic(lens: FloatArray, reward: float) -> float:
    """What the policy adds up for this reward."""
    code = lens[STATISTIC]
    if code == IDENTITY:
        return reward
    if code == CUT:
        return min(max(reward, lens[S0]), lens[S1])
    if code == LOG_RATIO:
        return math.log1p((reward - lens[S0]) / lens[S0])
    return max(reward ** lens[S0], SMALLEST_POSITIVE)


@kernel
def digest(lens: FloatArray, rewards: FloatArray) -> tuple[int, float, float, float, float, float]:
    """First illegal position (-1 if none), sum of rewards; sums of statistics and their squares with their losses."""
    raw = 0.0
    total = 0.0
    total_lost = 0.0
    squares = 0.0
    squares_lost = 0.0
    for i in range(rewards.size):
        if not is_legal(lens, rewards[i]):
            return i, 0.0, 0.0, 0.0, 0.0, 0.0
        value = statistic(lens, rewards[i])
        if value > LARGEST:
            return i, 0.0, 0.0, 0.0, 0.0, 0.0
        raw += rewards[i]
        total, error = exact_sum(total, value)
        total_lost += error
        square, lost = exact_product(value, value)
        squares, error = exact_sum(squares, square)
        squares_lost += error + lost
    return -1, raw, total, total_lost, squares, squares_lost


@kernel
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


@kernel
def renew(rule: int, table: FloatArray, k: int, lens: FloatArray) -> None:
    """Compute the evidence of category k anew (EMPIRICAL needs its values and is renewed by the agent)."""
    if rule == VARIANCE:
        table[SPREAD, k] = squared_deviations(
            table[CLIENTS, k], table[TOTAL, k], table[CARRY, k], table[SQUARES, k], table[SQUARES_CARRY, k]
        )
    table[EVIDENCE, k] = evidence(
        rule,
        int(lens[LAW]),
        lens[P0],
        lens[P1],
        lens[P2],
        table[CLIENTS, k] + lens[PRIOR_CLIENTS],
        table[TOTAL, k] + lens[PRIOR_TOTAL],
        table[SPREAD, k],
        NONE,
        NONE,
        table[TARGET, k],
    )


@kernel
def renew_many(rule: int, table: FloatArray, positions: IntArray, which: IntArray, lenses: FloatArray) -> None:
    """`renew` for several categories; `which` [K] names the row of `lenses` each category uses."""
    for k in positions:
        renew(rule, table, k, lenses[which[k]])


@kernel
def accumulate(table: FloatArray, row: int, carry: int, k: int, value: float, lost: float) -> None:
    """Add a pair (value, what it lost) to the pair in two rows of the table."""
    total, error = exact_sum(table[row, k], value)
    table[row, k], table[carry, k] = exact_sum(total, error + table[carry, k] + lost)


@kernel
def add(
    rule: int,
    table: FloatArray,
    k: int,
    lens: FloatArray,
    sign: float,
    clients: float,
    total: float,
    total_lost: float,
    squares: float,
    squares_lost: float,
    revenue: float,
    cost: float,
) -> None:
    """Add a batch whose sums are known (sign 1) or take one away (sign -1), and renew the evidence."""
    table[CLIENTS, k] += sign * clients
    accumulate(table, TOTAL, CARRY, k, sign * total, sign * total_lost)
    if rule == VARIANCE:
        accumulate(table, SQUARES, SQUARES_CARRY, k, sign * squares, sign * squares_lost)
    if table[CLIENTS, k] <= 0.0:
        table[TOTAL, k] = table[CARRY, k] = table[SQUARES, k] = table[SQUARES_CARRY, k] = 0.0
    table[REVENUE, k] += sign * revenue
    table[COST, k] += sign * cost
    if rule != EMPIRICAL:
        renew(rule, table, k, lens)


@kernel
def arrive(table: FloatArray, k: int, count: float) -> None:
    """Outcomes came in: that many clients fewer to wait for."""
    table[WAITING, k] = max(0.0, table[WAITING, k] - count)


@kernel
def absorb(rule: int, table: FloatArray, k: int, lens: FloatArray, rewards: FloatArray) -> int:
    """Check rewards and take them in at the category's own price; the first illegal position, or -1 when done."""
    bad, raw, total, total_lost, squares, squares_lost = digest(lens, rewards)
    if bad < 0:
        count = float(rewards.size)
        revenue, cost = raw * table[WORTH, k], count * table[PRICE, k]
        add(rule, table, k, lens, 1.0, count, total, total_lost, squares, squares_lost, revenue, cost)
        arrive(table, k, count)
    return bad
