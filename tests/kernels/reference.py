"""References for the kernels: mpmath at high precision, from definitions, sharing no
formula with the package.

- Divergences come from the variance function V of the family: d(x, y) = integral of (u
  - x)/V(u) from x to y.
- Posterior tails are quadratures of the posterior density; the kernels never integrate
  it over the whole tail.
Doubles are converted exactly.
"""

import mpmath as mp

from profitable.kernels.law import BINOMIAL, GAMMA, GAUSSIAN, NEGATIVE_BINOMIAL, POISSON, Law

mp.mp.dps = 30


def variance_function(law: Law):
    code, low, high, size = law
    return {
        BINOMIAL: lambda u: (u - mp.mpf(low)) * (mp.mpf(high) - u) / size,
        NEGATIVE_BINOMIAL: lambda u: u + u * u / mp.mpf(size),
        POISSON: lambda u: u,
        GAMMA: lambda u: u * u / mp.mpf(size),
        GAUSSIAN: lambda u: mp.mpf(size) ** 2,
    }[code]


def divergence_by_quadrature(law: Law, x: float, y: float) -> mp.mpf:
    variance = variance_function(law)
    start, end = mp.mpf(x), mp.mpf(y)
    return mp.quad(lambda u: (u - start) / variance(u), mp.linspace(start, end, 5))


def deviance(law: Law, clients: float, total: float, mean: float) -> mp.mpf:
    """N d(S/N, mean) in closed form at 60 digits; agrees with the quadrature, and can
    be used where that is slow.
    """
    code, low, high, size = law
    with mp.workdps(60):
        n, s, y = mp.mpf(clients), mp.mpf(total), mp.mpf(mean)
        if code == GAUSSIAN:
            return (s - n * y) ** 2 / (2 * n * mp.mpf(size) ** 2)
        if code == POISSON:
            return _term(s, n * y) + n * y - s
        if code == GAMMA:
            ratio = s / (n * y)
            return n * mp.mpf(size) * (ratio - 1 - mp.log(ratio)) if s > 0 else mp.inf
        if code == NEGATIVE_BINOMIAL:
            r = mp.mpf(size) * n
            return _term(s, (s + r) * y / (y + size)) + _term(r, (s + r) * size / (y + size))
        unit = mp.mpf(size) / (mp.mpf(high) - mp.mpf(low))
        up, down = (s - n * low) * unit, (n * high - s) * unit
        return _term(up, n * (y - low) * unit) + _term(down, n * (high - y) * unit)


def _term(x: mp.mpf, expected: mp.mpf) -> mp.mpf:
    if x == 0:
        return mp.mpf(0)
    return mp.inf if expected == 0 else x * mp.log(x / expected)


def posterior_evidence(law: Law, clients: float, total: float, mean: float) -> mp.mpf:
    """-log P(mean >= threshold): minus the log of a quadrature of the posterior
    density.
    """
    code, low, high, size = law
    n, s, y = mp.mpf(clients), mp.mpf(total), mp.mpf(mean)
    if code == GAUSSIAN:
        z = (s - n * y) / (mp.mpf(size) * mp.sqrt(n))
        return -mp.log(mp.ncdf(z)) if z < 0 else -mp.log1p(-mp.ncdf(-z))
    if code == POISSON:
        return _gamma_evidence(s + mp.mpf("0.5"), n * y, upper=True)
    if code == GAMMA:
        return _gamma_evidence(n * mp.mpf(size), mp.mpf(size) * s / y, upper=False)
    if code == NEGATIVE_BINOMIAL:
        return _beta_evidence(s + mp.mpf("0.5"), n * mp.mpf(size), y / (y + mp.mpf(size)))
    unit = mp.mpf(size) / (mp.mpf(high) - mp.mpf(low))
    half = mp.mpf("0.5")
    return _beta_evidence(
        (s - n * low) * unit + half,
        (n * high - s) * unit + half,
        (y - low) / (mp.mpf(high) - mp.mpf(low)),
    )


def _outward(density, scale: mp.mpf) -> mp.mpf:
    """Integral over [0, inf[ of a density that decays on the given scale."""
    return mp.quad(density, [0, *(scale * 2**k for k in range(8)), scale * 1024, mp.inf])


def _gamma_evidence(a: mp.mpf, x: mp.mpf, *, upper: bool) -> mp.mpf:
    small_is_upper = x > a
    if small_is_upper:  # in w = u - x
        constant = -mp.loggamma(a)
        scale = 1 / max((x - a) / x, 1 / mp.sqrt(a))
        tail = _outward(lambda w: _exp(constant + (a - 1) * mp.log(x + w) - x - w), scale)
    else:  # in v = log(x/u)
        constant = a * mp.log(x) - mp.loggamma(a)
        tail = _outward(
            lambda v: _exp(constant - a * v - x * mp.exp(-v)), 1 / max(a - x, mp.sqrt(a))
        )
    return -mp.log(tail) if small_is_upper == upper else -mp.log1p(-tail)


def _exp(exponent: mp.mpf) -> mp.mpf:
    return mp.exp(exponent) if exponent > -(10**15) else mp.mpf(0)


def _beta_evidence(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> mp.mpf:
    # In v = |logit u - logit x|; for the upper tail the two parameters change places.
    small_is_upper = a - (a + b) * x < 0
    if small_is_upper:
        a, b, x = b, a, 1 - x
    odds = mp.log(x / (1 - x))
    constant = mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)
    scale = 1 / max(a - (a + b) * x, mp.sqrt(a * b / (a + b)))
    tail = _outward(
        lambda v: _exp(constant + a * (odds - v) - (a + b) * mp.log1p(_exp(odds - v))), scale
    )
    return -mp.log(tail) if small_is_upper else -mp.log1p(-tail)


def empirical_evidence(
    values: list[float], counts: list[float], high: float, threshold: float
) -> mp.mpf:
    """N K_inf by bisection on the slope of the dual at 60 digits."""
    with mp.workdps(60):
        points = [
            (mp.mpf(value), mp.mpf(count)) for value, count in zip(values, counts, strict=True)
        ]
        tau = mp.mpf(threshold)
        if sum(count * (tau - value) for value, count in points) <= 0:
            return mp.mpf(0)
        low, top = mp.mpf(0), 1 / (mp.mpf(high) - tau)
        at_high = any(value == high for value, _ in points)

        def slope(multiplier):
            return sum(
                count * (tau - value) / (1 + multiplier * (tau - value)) for value, count in points
            )

        if at_high or slope(top) < 0:
            for _ in range(210):
                middle = (low + top) / 2
                low, top = (middle, top) if slope(middle) > 0 else (low, middle)
        return sum(
            count * mp.log(1 + top * (tau - value))
            for value, count in points
            if value < high or not at_high
        ) + (
            sum(count * mp.log(1 + low * (tau - value)) for value, count in points if value == high)
            if at_high
            else 0
        )
