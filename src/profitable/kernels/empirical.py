"""K_inf of an empirical law on [low, high]: the evidence of KL-Emp-UCB-4P.

The dual is one-dimensional and concave: with c_i clients of reward x_i,

    N K_inf = max over lambda of sum c_i log(1 - lambda (x_i - tau)),

where 0 <= lambda <= 1/(high - tau).

It is written as lambda (N tau - S) - sum c_i [v_i - log(1 + v_i)] with v_i = lambda
(tau - x_i), so that nothing cancels when the mean is close to the threshold.

Example: 8 rewards of 0 and 2 of 1, tau = 0.5, high = 1.  The maximum is at lambda =
1.2, where the sum is 8 log 1.6 + 2 log 0.4 = 1.927 nats: 10 d(0.2, 0.5) of the
Bernoulli law, as it must be for two points.

>>> import numpy as np
>>> round(empirical_evidence(np.array([0.0, 1.0]), np.array([8.0, 2.0]), 1.0, 0.5), 3)
1.927
"""

import math

from profitable.common.types import FloatArray
from profitable.kernels.compile import kernel, part
from profitable.kernels.exact import exact_product
from profitable.kernels.special import excess

SERIES_END = 0.4  # where `excess` leaves its series, too


@part
def slope(
    values: FloatArray, counts: FloatArray, threshold: float, gap: float, multiplier: float
) -> tuple[float, float]:
    """First and second derivative of the dual in lambda.

    The first is sum c_i d_i / (1 + lambda d_i) with d_i = tau - x_i.  While all lambda
    d_i are small these terms cancel near the root, and gap - lambda sum c_i d_i^2 / (1
    + lambda d_i) does not; when some are large it is the other way.
    """
    plain = 0.0
    bend = 0.0
    second = 0.0
    far = False
    for value, count in zip(values, counts):
        if count == 0.0:
            continue
        distance = threshold - value
        ratio = distance / (1.0 + multiplier * distance)
        plain += count * ratio
        bend += count * distance * ratio
        second -= count * ratio * ratio
        far = far or abs(multiplier * distance) >= SERIES_END
    return plain if far else gap - multiplier * bend, second


@part
def exact_shortfall(values: FloatArray, counts: FloatArray, threshold: float) -> float:
    """N tau - S = sum c_i (tau - x_i), with exact products and Neumaier's summation."""
    clients = 0.0
    total = 0.0
    correction = 0.0
    for value, count in zip(values, counts):
        clients += count
        term, error = exact_product(count, value)
        partial = total + term
        if abs(total) >= abs(term):
            correction += (total - partial) + term
        else:
            correction += (term - partial) + total
        correction += error
        total = partial
    product, error = exact_product(clients, threshold)
    return (product - total) + (error - correction)


@kernel
def empirical_evidence(
    values: FloatArray, counts: FloatArray, high: float, threshold: float
) -> float:
    """Return N K_inf(empirical law, threshold).

    `values` [D] are at most `high`, `counts` [D] their numbers (0 is fine).
    """
    return empirical_dual(values, counts, high, threshold, 0.0)[0]


@part
def empirical_dual(
    values: FloatArray, counts: FloatArray, high: float, threshold: float, start: float
) -> tuple[float, float]:
    """Return N K_inf and the lambda at which it is attained.

    The search begins at `start` if that is positive.
    """
    gap = exact_shortfall(values, counts, threshold)
    if gap <= 0.0:
        return 0.0, 0.0
    if threshold >= high:
        return math.inf, math.inf
    largest = 1.0 / (high - threshold)
    low = 0.0
    top = largest
    lowest = threshold
    highest = threshold
    for value, count in zip(values, counts):
        if count > 0.0:
            lowest = min(lowest, value)
            highest = max(highest, value)
    multiplier = largest
    if highest >= high or slope(values, counts, threshold, gap, largest)[0] < 0.0:
        # The maximum is inside: safeguarded Newton on the decreasing slope.
        multiplier = start
        if not 0.0 < start < largest:
            variance = 0.0
            for value, count in zip(values, counts):
                variance += count * (value - threshold) ** 2
            multiplier = min(gap / variance, 0.5 * largest)
        for _ in range(200):
            first, second = slope(values, counts, threshold, gap, multiplier)
            if first > 0.0:
                low = multiplier
            else:
                top = multiplier
            step = first / second
            following = multiplier - step
            if not low < following < top:
                following = 0.5 * (low + top)
            # The dual is flat at its maximum: an error e in lambda costs e^2 in value.
            if abs(following - multiplier) <= 1e-9 * multiplier:
                multiplier = following
                break
            multiplier = following
    # Far from the threshold lambda gap and the excesses are huge and nearly equal;
    # close to it the logarithms cancel.
    far = multiplier * max(threshold - lowest, highest - threshold) >= SERIES_END
    total = 0.0
    for value, count in zip(values, counts):
        if count > 0.0:
            v = multiplier * (threshold - value)
            ratio = (high - value) * multiplier if multiplier == largest else 1.0 + v
            if not far:
                total += count * excess(v, ratio)
            else:
                total += count * (math.log1p(v) if abs(v) < SERIES_END else math.log(ratio))
    return max(0.0, total if far else multiplier * gap - total), multiplier
