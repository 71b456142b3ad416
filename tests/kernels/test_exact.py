"""Ties: a mean at the threshold is not below it, even if the threshold was rounded."""

import math
from fractions import Fraction

import pytest

import profitable as pb
from profitable.kernels.exact import is_below
from tests.simulation.worlds import play

POLICIES = [pb.KLUCB(), pb.KLUCBPlus(), pb.KLEmpUCB(), pb.UCBV()]
SIZES = [1, 2, 7, 1_000, 10**6]  # times the smallest number of clients with that mean
SHARES = [
    *(Fraction(100, 100 + percent) for percent in range(1, 101)),
    Fraction(1, 3),
    Fraction(2, 3),
]
SHARES += [Fraction(tenth, 10) for tenth in range(1, 10)]


def threshold_of(share: Fraction) -> float:
    """The threshold as a loan has it, where the share is that of a loan at whole
    percents; else the nearest double.
    """
    percent = 100 / share - 100
    if percent.denominator == 1 and 1 <= percent <= 100:
        return pb.Category.loan("it", amount=1_000, rate=int(percent) / 100).threshold
    return float(share)


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_the_mean_at_the_threshold_is_not_below_and_one_success_fewer_is(share: Fraction) -> None:
    threshold = threshold_of(share)
    for size in SIZES:
        clients, total = size * share.denominator, size * share.numerator
        assert not is_below(float(clients), float(total), threshold)
        assert is_below(float(clients), total - 1.0, threshold)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_tie_is_no_evidence_for_any_rule(policy: pb.Policy) -> None:
    for share in SHARES:
        category = pb.Category("it", pb.Bernoulli(), threshold=threshold_of(share))
        agent = pb.Agent([category], policy=policy)
        agent.observe("it", [1] * share.numerator + [0] * (share.denominator - share.numerator))
        assert agent["it"].evidence == 0.0, share
        agent.correct("it", was=1, now=0)
        assert agent["it"].evidence > 0.0, share


@pytest.mark.parametrize("policy", [*POLICIES[1:], pb.KLBernoulliUCBPlus()], ids=str)
@pytest.mark.parametrize("kernel", ["events", "rounds"])
def test_a_simulated_tie_is_accepted(kernel: str, policy: pb.Policy) -> None:
    """Patience is 0 in round 2, so it is accepted if 20 or more of the 23 loans of
    round 1 were repaid.
    """
    truth = pb.Truth(pb.Category.loan("it", amount=1, rate=0.15), mean=0.85, clients=23)
    repaid: list[float] = []
    for seed in range(60):
        first, both = (
            play(kernel, policy, truth, horizon=horizon, runs=1, seed=seed).runs[0]
            for horizon in (1, 2)
        )
        repaid.append(first["total"])
        assert both["rounds"] == (2 if first["total"] >= 20 else 1)
    assert {19.0, 20.0} <= set(repaid)


def test_an_infinite_threshold_is_above_every_mean() -> None:
    for total in (-1e300, 0.0, 3.0, 1e300):
        assert is_below(2.0, total, math.inf)
        assert not is_below(2.0, total, -math.inf)
