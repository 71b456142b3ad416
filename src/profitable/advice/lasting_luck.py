"""Luck that lasts: the rounds of a file that share their luck with the next one.

If shocks last, neighbouring rounds are not exchangeable, and blocks of a few rounds
show too little of how sums vary.  What a round brought, less what the means of its
categories lead to expect, is divided by the root of its clients.  With these e_t, the
sum of e_t e_{t+1} is compared with chance.  Its mean would be -(sum of e_t^2) / R,
because the e_t add up to nearly nothing, and its variance the sum of e_t^2 e_{t+1}^2,
whether or not rounds vary equally.

>>> luck = np.tile(np.repeat([[1.0], [-1.0]], 3, axis=0), (2, 3))  # 3 up, 3 down
>>> round(lasting(luck, np.ones((12, 3))), 2)
0.6
>>> lasting(np.tile([[1.0], [-1.0]], (6, 3)), np.ones((12, 3)))
0.0
"""

import math
from statistics import NormalDist

import numpy as np

from profitable.common.types import FloatArray

CHANCE = 0.05  # the probability that exchangeable rounds are said to share their luck
MOST_LASTING = 0.95  # of autocorrelations


def lasting(profit: FloatArray, clients: FloatArray) -> float:
    """Return the autocorrelation of the luck of rounds; 0 if it may be chance.

    Both are [R, K].  The bias of the autocorrelation r of R rounds, (1 + 3 r) / R
    (Kendall 1954), is taken out.
    """
    number, rounds = clients.sum(axis=1), len(clients)
    means = profit.sum(axis=0) / np.maximum(clients.sum(axis=0), 1.0)
    luck = (profit - means * clients).sum(axis=1) / np.sqrt(np.maximum(number, 1.0))
    squares = float(luck @ luck)
    both = luck[1:] * luck[:-1]
    error = math.sqrt(float(both @ both))
    if float(both.sum()) + squares / rounds <= NormalDist().inv_cdf(1.0 - CHANCE) * error:
        return 0.0
    found = float(both.sum()) / squares
    return min(found + (1.0 + 3.0 * found) / rounds, MOST_LASTING)
