"""Temme's expansion: its coefficients against published ones, and the gamma tail around
where it takes over.
"""

import math

import mpmath as mp
import pytest

from profitable.kernels import incomplete_gamma as temme
from profitable.kernels import special

ETAS = (-0.499, -0.3, -0.02, -1e-6, 1e-6, 0.02, 0.3, 0.499)


def test_coefficients() -> None:
    """Those of DLMF 8.12.12 to 8.12.14: c_k(0), and the first derivatives there."""
    published = [
        (0, 0, -1 / 3),
        (1, 0, -1 / 540),
        (2, 0, 25 / 6048),
        (3, 0, 101 / 155520),
        (0, 1, 1 / 12),
        (1, 1, -1 / 288),
    ]
    for order, term, value in published:
        assert temme.SERIES[order, term] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("a", [100.0, 100.3, 150.0, 333.0, 2_000.0, 1e4, 1e5])
def test_both_tails(a: float) -> None:
    """At the edges of its domain, and within: 1e-12 of the probability, relative."""
    for eta in ETAS:
        if 0.5 * a * eta * eta > special.LARGEST_DEVIANCE:
            continue
        x = a * (1.0 + eta + eta**2 / 3 + eta**3 / 36)
        deviance = special.deviance_term(a, x, x - a)
        assert deviance < 0.5 * a * temme.LARGEST_ETA**2
        with mp.workdps(40):
            limits = (x, mp.inf) if eta > 0.0 else (0, x)
            reference = mp.gammainc(a, *limits, regularized=True)
        assert temme.gamma_tail(a, deviance, eta > 0.0) == pytest.approx(
            float(reference), rel=1e-12
        )


@pytest.mark.parametrize("a", [100.0, 700.0, 5_000.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_no_step_where_the_fraction_takes_over(a: float, side: float) -> None:
    """On both sides of the largest deviance, with the slope taken off."""
    largest = min(special.LARGEST_DEVIANCE, 0.5 * a * temme.LARGEST_ETA**2)

    def excess(deviance: float) -> float:
        low, high = (1e-3 * a, a) if side < 0.0 else (a, 5.0 * a)
        for _ in range(200):
            x = 0.5 * (low + high)
            if (special.deviance_term(a, x, x - a) < deviance) == (side > 0.0):
                low = x
            else:
                high = x
        return special.gamma_evidence(a, x, x - a, side > 0.0) - special.deviance_term(a, x, x - a)

    inside, outside = excess(largest * (1.0 - 1e-12)), excess(largest * (1.0 + 1e-12))
    assert math.isclose(inside, outside, rel_tol=1e-10)
