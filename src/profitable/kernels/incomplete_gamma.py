"""Temme's uniform expansion of the incomplete gamma function for large a.

See DLMF 8.12.7 to 8.12.11.

With eta^2/2 = mu - log(1 + mu), mu = x/a - 1 and the sign of eta that of mu,

    P(G > x) = erfc(eta sqrt(a/2))/2
               + exp(-a eta^2/2)/sqrt(2 pi a) * sum over k of c_k(eta) a^-k.

Example: a = 100 at its own mean, x = 100.  Then eta = 0 and c_0(0) = -1/3, so that P(G
> 100) is 1/2 - 1/(3 sqrt(200 pi)) and a little less.

>>> round(gamma_tail(100.0, 0.0, True), 4)
0.4867
>>> round(0.5 - 1.0 / (3.0 * math.sqrt(200.0 * math.pi)), 4)
0.4867
"""

import math
from fractions import Fraction

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.compile import kernel, part

ORDERS = 8  # powers of 1/a: enough for a >= 100
TERMS = 20  # powers of eta: enough for |eta| <= 1/2; the series converge up to 2 sqrt(pi)
LARGEST_ETA = 0.5
DIGITS = 40.0  # exp(-40) is beyond those of a double


def coefficients(orders: int, terms: int) -> FloatArray:
    """Return the power series of c_0, c_1, ..., [orders, terms], rounded once.

    mu mu' = eta (1 + mu) gives the series of mu; c_0 = 1/mu - 1/eta and c_k =
    c_(k-1)'/eta + g_k/mu, where g_k is what makes the pole at 0 vanish.
    """
    length = terms + 2 * orders + 2
    mu = [Fraction(0), Fraction(1)]
    for m in range(3, length + 2):
        mu.append(
            mu[m - 2] / m - sum((mu[i] * mu[m - i] for i in range(2, m - 1)), Fraction(0)) / 2
        )
    inverse = [Fraction(1)]  # eta/mu
    for n in range(1, length):
        inverse.append(-sum((mu[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    row = inverse[1:]
    table: list[list[float]] = []
    for _ in range(orders):
        table.append([float(value) for value in row[:terms]])
        row = [(n + 2) * row[n + 2] - row[1] * inverse[n + 1] for n in range(len(row) - 2)]
    return np.array(table)


SERIES = coefficients(ORDERS, TERMS)
# The higher a power of 1/a, the fewer powers of eta count.
for order in range(ORDERS):
    SERIES[order, max(TERMS - 2 * order, 0) :] = 0.0


@part
def temme_sum(a: float, eta: float) -> float:
    """Return the sum over k of c_k(eta) a^-k."""
    orders = min(ORDERS, 1 + int(DIGITS / math.log(a)))
    inverse = 1.0 / a
    total = 0.0
    # Four powers of eta in step: the processor computes them side by side.
    for n in range(TERMS - 4, -1, -4):
        first = second = third = fourth = 0.0
        for k in range(min(orders, (TERMS - n + 1) // 2) - 1, -1, -1):
            first = first * inverse + SERIES[k, n]
            second = second * inverse + SERIES[k, n + 1]
            third = third * inverse + SERIES[k, n + 2]
            fourth = fourth * inverse + SERIES[k, n + 3]
        total = (((total * eta + fourth) * eta + third) * eta + second) * eta + first
    return total


@kernel
def gamma_tail(a: float, deviance: float, upper: bool) -> float:
    """Return P(G > x) for x >= a if `upper`, else P(G < x); deviance = a eta^2/2."""
    side = 1.0 if upper else -1.0
    correction = temme_sum(a, side * math.sqrt(2.0 * deviance / a)) / math.sqrt(2.0 * math.pi * a)
    return 0.5 * math.erfc(math.sqrt(deviance)) + side * math.exp(-deviance) * correction
