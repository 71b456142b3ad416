"""The agent's table and how rewards enter it: checked, turned into statistics, added up, evidence renewed.

The table is one float64 array [ROWS, K], so that a decision can keep a copy of it in a single step.  A lens says
what a policy sees of a category (`profitable/lens.py`); it arrives here as one row of numbers.
"""

import math

import numpy as np

from profitable.check import LARGEST
from profitable.kernels.compile import kernel
from profitable.kernels.law import SMALLEST_POSITIVE, exact_sum
from profitable.kernels.rule import EMPIRICAL, VARIANCE, evidence
from profitable.types import FloatArray, IntArray

# Rows of the table.  A decision keeps a copy of the first SNAPSHOT rows.
CLIENTS = 0  # N: clients whose outcome is known
TOTAL = 1  # S: the sum of their statistics
SPREAD = 2  # sum of squared deviations of the statistic from its mean (UCB-V only)
THRESHOLD = 3  # in the units of the rewards
TARGET = 4  # the threshold in the units of the statistic
EVIDENCE = 5
WAITING = 6  # accepted clients whose outcome has not come yet
SNAPSHOT = 7
REVENUE = 7  # in money
COST = 8  # in money
WORTH = 9  # money per unit of reward
PRICE = 10  # money that accepting one client costs, unless the caller says otherwise
CARRY = 11  # what TOTAL has lost to rounding, so that taking back a huge reward gives back the small ones
ROWS = 12

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
def digest(lens: FloatArray, rewards: FloatArray) -> tuple[int, float, float, float]:
    """First illegal position (-1 if none), sum of rewards, sum of statistics, their squared deviations."""
    raw = 0.0
    total = 0.0
    for i in range(rewards.size):
        if not is_legal(lens, rewards[i]):
            return i, 0.0, 0.0, 0.0
        value = statistic(lens, rewards[i])
        if value > LARGEST:
            return i, 0.0, 0.0, 0.0
        raw += rewards[i]
        total += value
    mean = total / rewards.size
    spread = 0.0
    for i in range(rewards.size):
        spread += (statistic(lens, rewards[i]) - mean) ** 2
    return -1, raw, total, spread


@kernel
def renew(rule: int, table: FloatArray, k: int, lens: FloatArray) -> None:
    """Compute the evidence of category k anew (EMPIRICAL needs its values and is renewed by the agent)."""
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
def add(
    rule: int,
    table: FloatArray,
    k: int,
    lens: FloatArray,
    count: float,
    total: float,
    spread: float,
    revenue: float,
    cost: float,
) -> None:
    """Add (or, with a negative count, take away) a batch whose sums are known, and renew the evidence."""
    before = table[CLIENTS, k]
    after = before + count
    if rule == VARIANCE:
        # The squared deviations of two groups add up, plus what their means differ by; backwards when taking away.
        if after <= 0.0:
            table[SPREAD, k] = 0.0
        elif count > 0.0:
            shift = total / count - table[TOTAL, k] / before if before > 0.0 else 0.0
            table[SPREAD, k] += spread + shift * shift * before * count / after
        else:
            shift = total / count - (table[TOTAL, k] + total) / after
            table[SPREAD, k] = max(0.0, table[SPREAD, k] - spread + shift * shift * after * count / before)
    table[CLIENTS, k] = after
    if after > 0.0:
        total, error = exact_sum(table[TOTAL, k], total)
        error += table[CARRY, k]
        table[TOTAL, k], table[CARRY, k] = exact_sum(total, error)
    else:
        table[TOTAL, k] = 0.0
        table[CARRY, k] = 0.0
    table[REVENUE, k] += revenue
    table[COST, k] += cost
    if rule != EMPIRICAL:
        renew(rule, table, k, lens)


@kernel
def arrive(table: FloatArray, k: int, count: float) -> None:
    """Outcomes came in: that many clients fewer to wait for."""
    table[WAITING, k] = max(0.0, table[WAITING, k] - count)


@kernel
def absorb(rule: int, table: FloatArray, k: int, lens: FloatArray, rewards: FloatArray) -> int:
    """Check rewards and take them in at the category's own price; the first illegal position, or -1 when done."""
    bad, raw, total, spread = digest(lens, rewards)
    if bad < 0:
        count = float(rewards.size)
        add(rule, table, k, lens, count, total, spread, raw * table[WORTH, k], count * table[PRICE, k])
        arrive(table, k, count)
    return bad
