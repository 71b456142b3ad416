"""Bounds on the evidence of a posterior hold at every weight of an interval."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import psi

import profitable as pb
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.coded_view import CodedView
from profitable.kernels.evidence import POSTERIOR
from profitable.kernels.law import posterior_evidence
from profitable.kernels.posterior_fading import _least_digamma, _most_digamma, bound
from profitable.kernels.unknown_variance import unknown_variance_posterior

FAMILIES = {
    "bernoulli": pb.Bernoulli(),
    "geometric": pb.Geometric(),
    "poisson": pb.Poisson(),
    "exponential": pb.Exponential(),
    "gaussian": pb.Gaussian(sigma=0.7),
    "normal": pb.Normal(),
    "bounded": pb.Bounded(low=-1.0, high=2.0),
}
MARGIN = 1e-7  # rounding of sums that the bounds allow for, and of evidence


def evidence_at(view: CodedView, column: np.ndarray, weight: float) -> float:
    clients = weight * column[AgentRow.CLIENTS, 0] + view.prior_clients
    total = weight * column[AgentRow.TOTAL, 0] + view.prior_total
    target = column[AgentRow.TARGET, 0]
    if view.rule.needs_spread:
        spread = weight * column[AgentRow.SPREAD, 0]
        return unknown_variance_posterior(view.law, clients, total, spread, target, 0.0)
    return posterior_evidence(view.law, clients, total, target, 0.0)


@settings(max_examples=400, deadline=None)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    clients=st.integers(1, 3_000),
    mean=st.floats(0.01, 0.99),
    threshold=st.floats(0.02, 0.98),
    imaginary=st.sampled_from([0.0, 0.0, 0.3, 5.0, 200.0]),
    imagined=st.floats(0.05, 0.95),
    low=st.floats(1e-7, 1.0),
    length=st.floats(1.0, 30.0),
)
def test_bounds_hold_at_every_weight(
    family: str,
    clients: int,
    mean: float,
    threshold: float,
    imaginary: float,
    imagined: float,
    low: float,
    length: float,
) -> None:
    view = FAMILIES[family].view().coded(POSTERIOR)
    if family != "normal":
        view = view._replace(prior_clients=imaginary, prior_total=imaginary * imagined)
    column = np.zeros((len(AgentRow), 1))
    column[AgentRow.CLIENTS], column[AgentRow.TOTAL] = clients, clients * mean
    column[AgentRow.SPREAD] = 0.2 * clients
    column[AgentRow.SQUARES] = clients * (0.2 + mean * mean)
    column[AgentRow.TARGET] = threshold
    high = min(low * length, 1.0)
    least, most = (bound(column, 0, view, low, high, lean) for lean in (-1.0, 1.0))
    for weight in np.geomspace(low, high, 41):
        nats = evidence_at(view, column, float(weight))
        assert least * (1.0 - MARGIN) - MARGIN <= nats <= most * (1.0 + MARGIN) + MARGIN


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_bounds_are_tight_where_the_mean_is_surely_off_the_threshold(family: str) -> None:
    view = FAMILIES[family].view().coded(POSTERIOR)
    column = np.zeros((len(AgentRow), 1))
    column[AgentRow.CLIENTS], column[AgentRow.TOTAL] = 1_000.0, 300.0
    column[AgentRow.SPREAD], column[AgentRow.SQUARES] = 200.0, 290.0
    column[AgentRow.TARGET] = 0.45
    for lean, end in ((-1.0, 0.5), (1.0, 1.0)):
        nats = evidence_at(view, column, end)
        assert math.isclose(bound(column, 0, view, 0.5, 1.0, lean), nats, rel_tol=1e-6)


@given(z=st.floats(1e-12, 1e9))
def test_digamma_lies_between_its_bounds(z: float) -> None:
    slack = 1e-12 * (1.0 + abs(psi(z)))
    assert _least_digamma(z) - slack <= psi(z) <= _most_digamma(z) + slack
    assert _most_digamma(z) - _least_digamma(z) < 0.1
