"""Bounds on the evidence of more clients, against exact evidence."""

import math

from hypothesis import given
from hypothesis import strategies as st

from profitable.kernels import law
from profitable.kernels.worst_case import most_posterior_evidence


@given(
    shape=st.floats(-0.2, 7.0),
    deviations=st.floats(-12.0, 12.0),
    threshold=st.floats(-2.0, 2.0),
)
def test_the_bound_on_a_poisson_posterior_holds_and_is_tight(
    shape: float, deviations: float, threshold: float
) -> None:
    total = float(round(10.0**shape))
    mean = max(total + 0.5 + deviations * math.sqrt(total + 0.5), 1e-3)
    clients = mean / 10.0**threshold
    numbers = law.Law(law.POISSON), clients, total, 10.0**threshold
    most, exact = most_posterior_evidence(*numbers), law.posterior_evidence(*numbers, 0.0)
    if total > 0.0 and not -1.0 / 3.0 < clients * 10.0**threshold - (total + 0.5) < 0.0:
        loose = 0.3 if deviations > 0.0 else 0.42  # where the median is all that is known
        assert exact - 1e-9 * (1.0 + exact) <= most <= exact + loose
    else:
        assert most == math.inf


def test_other_laws_have_no_bound() -> None:
    assert most_posterior_evidence(law.Law(law.GAMMA), 10.0, 5.0, 1.0) == math.inf
