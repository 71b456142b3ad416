"""Tail probabilities of the beta, gamma, normal and Student laws, in nats.

They are accurate far into both tails.

Each `*_evidence` returns -log P(tail).  It is computed from the smaller one of the two
tails, so that neither an evidence of 1e-8 nor one of 1e5 nats loses digits.  An
argument named `gap` is a difference that the caller knows more exactly than its two
terms would give it (`kernels/law.py`).

The equation: tail = prefactor * continued fraction.  For the gamma law, with Legendre's
fraction,

    P(G > x) = x^a e^-x / Gamma(a) * 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))).

The prefactor is written with a deviance and the remainder of Stirling's formula, so
that nothing cancels however large the parameters are.  Near the mean the fractions need
more and more terms.  There, Temme's expansion takes over for the gamma law
(`kernels/incomplete_gamma.py`).  For the beta law it is the tail at `FAR` standard
deviations plus a Gauss-Legendre quadrature of the density from there to the point.  So
the cost is bounded for any number of clients.

Example: P(G > 5) for G ~ Gamma(3) is e^-5 (1 + 5 + 25/2) = 0.12465.

>>> round(math.exp(-gamma_evidence(3.0, 5.0, 2.0, True)), 5)
0.12465
"""

import math

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.incomplete_gamma import LARGEST_ETA, gamma_tail

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
LOG_TWO = math.log(2.0)
# Parameters from here on are "large": near the mean something else replaces the
# fraction.
LARGE = 100.0
LARGEST_DEVIANCE = 300.0  # where the fractions are fast, long before exp(-deviance) underflows
NEAR = 1.5
FAR = 3.0
STANDS_FOR_ZERO = 1e-300  # stands for 0 in Lentz's algorithm
SPACING = 2.3e-16  # the spacing of doubles around 1
BETA_NODES, BETA_WEIGHTS = np.polynomial.legendre.leggauss(24)


@part
def excess(v: float, ratio: float) -> float:
    """v - log(ratio) >= 0, where ratio = 1 + v: the building block of every deviance.

    The caller passes both, each as exact as it has it: v decides near 0, ratio near its
    own 0.
    """
    if abs(v) > 0.4:
        return v - math.log(ratio)
    # log(1 + v) = 2 atanh(r): v - 2r is r v, and what remains of the series is small
    # and of one sign.
    r = v / (2.0 + v)
    square = r * r
    power = square
    odd = 3.0
    series = 0.0
    for _ in range(40):  # |r| <= 1/4
        term = power / odd
        series += term
        if term <= SPACING * series:
            break
        power *= square
        odd += 2.0
    return r * (v - 2.0 * series)


@part
def deviance_term(x: float, expected: float, gap: float) -> float:
    """Return x log(x/expected) + expected - x, the deviance of a Poisson count.

    `gap` = expected - x is given.
    """
    if x <= 0.0:
        return max(expected, 0.0)
    if expected <= 0.0:
        return math.inf
    v = gap / x
    if v > 1e300:
        return gap
    return x * excess(v, expected / x)


@part
def stirling_remainder(a: float) -> float:
    """log Gamma(a) minus Stirling's (a - 1/2) log a - a + log(2 pi)/2."""
    if a < 16.0:
        return math.lgamma(a) - (a - 0.5) * math.log(a) + a - HALF_LOG_TWO_PI
    b = 1.0 / (a * a)
    return (
        1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b * (1 / 1188 - b * 691 / 360360))))
    ) / a


@part
def log1m_exp(x: float) -> float:
    """log(1 - e^x) for x <= 0."""
    if x > -LOG_TWO:
        return math.log(-math.expm1(x))
    return math.log1p(-math.exp(x))


# -------------------------------------------------------------------------------- gamma


@part
def log_gamma_front(a: float, x: float, gap: float) -> float:
    """log of x^a e^-x / Gamma(a); gap = x - a."""
    return 0.5 * math.log(a) - HALF_LOG_TWO_PI - deviance_term(a, x, gap) - stirling_remainder(a)


@part
def gamma_upper_fraction(a: float, gap: float) -> float:
    """Return Gamma(a, x) / (x^a e^-x) for x > a; gap = x - a.

    By Legendre's fraction (modified Lentz).
    """
    b = gap + 1.0
    c = 1.0 / STANDS_FOR_ZERO
    d = 1.0 / b
    h = d
    for n in range(1, 1_000_000):
        numerator = -n * (n - a)
        b += 2.0
        d = numerator * d + b
        if abs(d) < STANDS_FOR_ZERO:
            d = STANDS_FOR_ZERO
        c = b + numerator / c
        if abs(c) < STANDS_FOR_ZERO:
            c = STANDS_FOR_ZERO
        d = 1.0 / d
        factor = d * c
        h *= factor
        if abs(factor - 1.0) <= SPACING:
            break
    return h


@part
def gamma_lower_fraction(a: float, x: float, gap: float) -> float:
    """Return gamma(a, x) / (x^a e^-x) for x < a; gap = x - a.

    By the fraction 1/(a-x + x/(a+1-x + 2x/(a+2-x + ...))), all positive.
    """
    b = -gap
    c = 1.0 / STANDS_FOR_ZERO
    d = 1.0 / b
    h = d
    for n in range(1, 1_000_000):
        numerator = n * x
        b += 1.0
        d = 1.0 / (numerator * d + b)
        c = b + numerator / c
        factor = d * c
        h *= factor
        if abs(factor - 1.0) <= SPACING:
            break
    return h


@part
def gamma_lower_series(a: float, x: float) -> float:
    """gamma(a, x) / (x^a e^-x) for small a: the power series, all terms positive."""
    term = 1.0 / a
    total = term
    n = a
    while term > SPACING * total:
        n += 1.0
        term *= x / n
        total += term
    return total


@lazy
def gamma_evidence(a: float, x: float, gap: float, upper: bool) -> float:
    """Return -log P(G >= x), or P(G <= x) if not `upper`, G ~ Gamma(a, 1).

    `gap` is x - a.
    """
    if x <= 0.0:
        return 0.0 if upper else math.inf
    if x == math.inf:
        return math.inf if upper else 0.0
    if a < LARGE:
        small_is_upper = gap >= 1.0
        front = log_gamma_front(a, x, gap)
        if small_is_upper:
            log_small = front + math.log(gamma_upper_fraction(a, gap))
        else:
            log_small = front + math.log(gamma_lower_series(a, x))
    else:
        small_is_upper = gap >= 0.0
        deviance = deviance_term(a, x, gap)
        if deviance <= min(LARGEST_DEVIANCE, 0.5 * LARGEST_ETA**2 * a):
            log_small = math.log(gamma_tail(a, deviance, small_is_upper))
        else:
            fraction = (
                gamma_upper_fraction(a, gap) if small_is_upper else gamma_lower_fraction(a, x, gap)
            )
            log_small = log_gamma_front(a, x, gap) + math.log(fraction)
    log_small = min(log_small, 0.0)
    if small_is_upper == upper:
        return -log_small
    return -log1m_exp(log_small)


# --------------------------------------------------------------------------------- beta


@part
def log_beta_front(a: float, b: float, x: float, y: float, gap: float) -> float:
    """log of x^a y^b / B(a, b), where y = 1 - x and gap = a - (a + b) x."""
    n = a + b
    deviance = deviance_term(a, n * x, -gap) + deviance_term(b, n * y, gap)
    remainder = stirling_remainder(a) + stirling_remainder(b) - stirling_remainder(n)
    return 0.5 * (math.log(a) + math.log(b / n)) - HALF_LOG_TWO_PI - deviance - remainder


@part
def beta_fraction(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return B_x(a, b) / (x^a y^b) for x below the mean; gap = a - (a + b) x.

    By the even fraction of DiDonato and Morris.
    """
    denominator = a * (gap + 1.0) / (a + 1.0)
    if abs(denominator) < STANDS_FOR_ZERO:
        denominator = STANDS_FOR_ZERO
    c = 1.0 / STANDS_FOR_ZERO
    d = 1.0 / denominator
    h = d
    for n in range(1, 1_000_000):
        odd = a + 2.0 * n - 1.0
        numerator = ((a + n - 1.0) / odd) * ((a + b + n - 1.0) / odd) * (n * (b - n)) * x * x
        denominator = (
            n + n * (b - n) * x / odd + (a + n) * (gap + 1.0 + n * (1.0 + y)) / (odd + 2.0)
        )
        d = numerator * d + denominator
        if abs(d) < STANDS_FOR_ZERO:
            d = STANDS_FOR_ZERO
        c = denominator + numerator / c
        if abs(c) < STANDS_FOR_ZERO:
            c = STANDS_FOR_ZERO
        d = 1.0 / d
        factor = c * d
        h *= factor
        if abs(factor - 1.0) <= SPACING:
            break
    return h


@part
def log_beta_lower(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return log P(B <= x) for B ~ Beta(a, b); gap = a - (a + b) x.

    x lies at or below the middle of the law.
    """
    n = a + b
    deviation = math.sqrt(a * (b / n))
    if min(a, b) < LARGE or gap > NEAR * deviation:
        return log_beta_front(a, b, x, y, gap) + math.log(beta_fraction(a, b, x, y, gap))
    far = FAR * deviation
    x_far = (a - far) / n
    y_far = (b + far) / n
    tail = math.exp(log_beta_front(a, b, x_far, y_far, far)) * beta_fraction(
        a, b, x_far, y_far, far
    )
    half = 0.5 * (far - gap)
    between = 0.0
    for node, weight in zip(BETA_NODES, BETA_WEIGHTS):
        g = gap + half * (1.0 + node)
        p = (a - g) / n
        q = (b + g) / n
        between += weight * math.exp(log_beta_front(a, b, p, q, g)) / (p * q)
    return math.log(tail + half / n * between)


@lazy
def beta_evidence(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return -log P(B >= x), B ~ Beta(a, b); y = 1 - x, gap = a - (a + b) x."""
    if x <= 0.0:
        return 0.0
    if y <= 0.0:
        return math.inf
    if a == b and gap == 0.0:
        return LOG_TWO  # by symmetry; a tie must not be decided by rounding
    # The fraction for the lower tail converges fast below (a + 1) / (a + b + 2), the
    # mirrored one above.
    if gap + 1.0 - 2.0 * x > 0.0:
        return -log1m_exp(min(log_beta_lower(a, b, x, y, gap), 0.0))
    return -min(log_beta_lower(b, a, y, x, -gap), 0.0)


# ------------------------------------------------------------------------------- normal


@part
def normal_evidence(z: float) -> float:
    """Return -log P(Z >= z) for a standard normal Z."""
    if z < -0.5:
        return -math.log1p(-0.5 * math.erfc(-z / math.sqrt(2.0)))
    if z < 10.0:
        return -math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
    fraction = z
    # Laplace's continued fraction of the Mills ratio; 40 terms are plenty from z = 10
    # on.
    for n in range(40, 0, -1):
        fraction = z + n / fraction
    return 0.5 * z * z + HALF_LOG_TWO_PI + math.log(fraction)


# ------------------------------------------------------------------------------ Student

LARGEST_SLOPE = 1e150  # whose square is still a double


@lazy
def student_evidence(slope: float, freedom: float) -> float:
    """Return -log P(T >= sqrt(freedom) slope) for Student's T.

    `freedom` are its degrees of freedom.

    P(T >= t) is half of P(B <= freedom/(freedom + t^2)) for t >= 0, where B ~
    Beta(freedom/2, 1/2).
    """
    slope = min(max(slope, -LARGEST_SLOPE), LARGEST_SLOPE)
    square = slope * slope
    half, y = 0.5 * freedom, square / (1.0 + square)
    nats = beta_evidence(0.5, half, y, 1.0 / (1.0 + square), 0.5 - (half + 0.5) * y)
    return LOG_TWO + nats if slope >= 0.0 else -math.log1p(-0.5 * math.exp(-nats))


@kernel
def student_tails(values: FloatArray, freedom: FloatArray) -> FloatArray:
    """Return P(T <= value), [K], for Student's T; NaN stays NaN."""
    found = np.empty(values.size)
    for k in range(values.size):
        found[k] = math.nan
        if not math.isnan(values[k]):
            found[k] = math.exp(-student_evidence(-values[k] / math.sqrt(freedom[k]), freedom[k]))
    return found
