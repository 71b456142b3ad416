"""Whatever legal numbers come in: evidence is a number, not negative, grows with the
threshold, and ends at once.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profitable.kernels import evidence as rule
from profitable.kernels import law
from profitable.kernels.law import Law

SIZES = st.floats(-90.0, 90.0).map(lambda exponent: 10.0**exponent)
CLIENTS = st.one_of(
    st.integers(1, 50), st.floats(0.0, 15.0).map(lambda exponent: round(10.0**exponent))
).map(float)
SHARES = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5]),
    st.floats(0.0, 1.0),
    st.floats(-300.0, -1.0).map(lambda e: 10.0**e),
)


@st.composite
def bounded_laws(draw: st.DrawFn) -> tuple[Law, float, float, float]:
    low = draw(st.sampled_from([0.0, -1.0, 3.5, -1e6]))
    width = draw(st.sampled_from([1.0, 0.1, 4.0, 1e9]))
    trials = draw(st.sampled_from([1.0, 12.0]))
    clients, share, place = draw(CLIENTS), draw(SHARES), draw(SHARES)
    numbers = Law(law.BINOMIAL, low, low + width, trials)
    total = min(max(clients * (low + share * width), clients * low), clients * (low + width))
    return numbers, clients, total, min(low + place * width, low + width)


@st.composite
def unbounded_laws(draw: st.DrawFn) -> tuple[Law, float, float, float]:
    code = draw(st.sampled_from([law.NEGATIVE_BINOMIAL, law.POISSON, law.GAMMA, law.GAUSSIAN]))
    parameter = draw(
        st.one_of(st.sampled_from([1.0, 0.3, 2.5]), st.floats(-3, 20).map(lambda e: 10.0**e))
    )
    clients, mean, threshold = draw(CLIENTS), draw(SIZES), draw(SIZES)
    if draw(st.booleans()):
        threshold = mean * draw(st.floats(0.5, 2.0))
    sign = draw(st.sampled_from([1.0, -1.0])) if code == law.GAUSSIAN else 1.0
    low = -math.inf if code == law.GAUSSIAN else 0.0
    numbers = Law(code, low, math.inf, 1.0 if code == law.POISSON else parameter)
    return numbers, clients, sign * clients * mean, threshold


@pytest.mark.slow
@pytest.mark.parametrize(
    "code", [rule.DIVERGENCE, rule.DIVERGENCE_PLUS, rule.POSTERIOR], ids=lambda rule: rule.code
)
@given(case=st.one_of(bounded_laws(), unbounded_laws()))
def test_evidence_is_a_number(code: rule.Rule, case: tuple[Law, float, float, float]) -> None:
    numbers, clients, total, threshold = case
    nats = rule.evidence_of_sums(code, numbers, clients, total, 5.0, threshold, 0.0)
    assert nats >= 0.0  # false for NaN
    higher = math.nextafter(
        threshold * (1.0 + 1e-9) if threshold > 0 else threshold * (1.0 - 1e-9), math.inf
    )
    if higher <= numbers.high:
        more = rule.evidence_of_sums(code, numbers, clients, total, 5.0, higher, 0.0)
        assert more >= nats * (1.0 - 1e-9)
    index = rule.index(code, numbers, rule.sums(clients, total), 3.0)
    assert index == index
    assert numbers.low <= index <= numbers.high
