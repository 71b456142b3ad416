"""Bounds on the evidence of more clients, against exact evidence."""

import math

from hypothesis import given
from hypothesis import strategies as st

from profitable.kernels import law
from profitable.kernels.worst_case import most_posterior_evidence


@given(
    shape=st.floats(-0.2, 7.0),
    deviations=st.floats(1e-6, 12.0),
    threshold=st.floats(-2.0, 2.0),
)
def test_the_bound_on_a_poisson_posterior_holds_and_is_tight(
    shape: float, deviations: float, threshold: float
) -> None:
    total = float(round(10.0**shape))
    mean = total + 0.5 + deviations * math.sqrt(total + 0.5)
    clients = mean / 10.0**threshold
    numbers = law.Law(law.POISSON), clients, total, 10.0**threshold
    most, exact = most_posterior_evidence(*numbers), law.posterior_evidence(*numbers, 0.0)
    if total > 0.0:
        assert exact - 1e-9 * (1.0 + exact) <= most <= exact + 0.3
    else:
        assert most == math.inf


def test_other_laws_and_means_above_the_threshold_have_no_bound() -> None:
    assert most_posterior_evidence(law.Law(law.GAMMA), 10.0, 5.0, 1.0) == math.inf
    assert most_posterior_evidence(law.Law(law.POISSON), 10.0, 15.0, 1.0) == math.inf
