"""Which categories can be bands of one order, and under which policies."""

import math

import pytest

import profitable as pb
from profitable.errors import ParameterError
from profitable.model.prior import Prior
from profitable.policy.policies import POLICIES, Policy
from profitable.policy.shared_orders import orders_of, shared_orders


def band(name: str, family: pb.Family | None = None, **terms: object) -> pb.Category:
    known = {"threshold": 0.5, "order": "score"} | terms
    return pb.Category(name, family or pb.Bernoulli(), **known)  # type: ignore[arg-type]


def test_orders_keep_the_positions_of_their_bands() -> None:
    categories = [band("a", order="x"), band("b", order=None), band("c"), band("d", order="x")]
    assert orders_of(categories) == {"x": [0, 3], "score": [2]}
    found = shared_orders(pb.KLUCB(), categories)
    assert [(each.name, each.positions) for each in found] == [("x", (0, 3)), ("score", (2,))]
    assert shared_orders(pb.KLUCB(trust=0), categories) == []


@pytest.mark.parametrize("order", ["", "  ", 3, "\ud800", True])
def test_an_order_has_a_name(order: object) -> None:
    with pytest.raises(ParameterError, match="is not the name of an order"):
        band("a", order=order)


def test_the_forms_of_money_take_an_order() -> None:
    for made in (
        pb.Category.loan("a", amount=1.0, rate=0.1, order="score"),
        pb.Category.offer("a", cost=1.0, revenue=3.0, order="score"),
        pb.Category.returns("a", order="score"),
    ):
        assert made.order == "score"
        assert made.with_threshold(0.8).order == "score"


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([band("b", pb.Poisson())], "different families, Bernoulli"),
        ([band("b", pb.Binomial(trials=3))], "different families"),
    ],
)
def test_bands_have_one_family(others: list[pb.Category], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        orders_of([band("a"), *others])
    orders_of([band("a"), *(band(each.name, each.family, order="other") for each in others)])


def test_normal_bands_and_mixed_weights_are_refused() -> None:
    with pytest.raises(ParameterError, match="spread each band estimates for itself"):
        orders_of([band("a", pb.Normal())])
    weights = [
        pb.Category.returns(each, weight=each, order="score") for each in ("money", "client")
    ]
    with pytest.raises(ParameterError, match="different weights, money and client"):
        orders_of(weights)


def test_bands_under_a_policy_for_bounded_rewards_have_one_bound() -> None:
    bands = [band(f"{bound}", pb.Poisson(), bound=bound) for bound in (5.0, 9.0)]
    assert len(shared_orders(pb.KLUCB(), bands)) == 1
    with pytest.raises(ParameterError, match="differs within the order 'score'"):
        shared_orders(Policy.parse("kl-bernoulli-ucb"), bands)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_shares_or_refuses_or_is_told_to_share_nothing(name: str) -> None:
    bands = [band("a"), band("b")]
    sharing = {"kl-ucb", "bayes-ucb", "ts", "optimal", "kl-bernoulli-ucb", "kl-gaussian-ucb"}
    if name in sharing:
        assert len(shared_orders(POLICIES[name](), bands)) == 1
    else:
        with pytest.raises(ParameterError, match="bands cannot share its evidence"):
            shared_orders(POLICIES[name](), bands)
    assert shared_orders(POLICIES[name](trust=0.0), bands) == []
    for remembers in ("forget=0.9", "window=5"):
        with pytest.raises(ParameterError, match=r"forget it|share its evidence"):
            shared_orders(Policy.parse(f"{name}:{remembers}"), bands)


def test_priors_of_bands_may_differ() -> None:
    bands = [band("a", prior=Prior.beta(1, 1)), band("b", prior=Prior.beta(3, 1))]
    assert len(shared_orders(pb.BayesUCB(), bands)) == 1


def test_trust_is_a_parameter_of_every_policy() -> None:
    assert str(pb.KLUCB()) == "kl-ucb"
    assert str(pb.KLUCB(trust=3)) == "kl-ucb"
    assert str(pb.Optimal(horizon=1000, trust=math.inf)) == "optimal:horizon=1000,trust=inf"
    for text in ("ts:trust=inf", "kl-ucb:c=3,trust=0", "optimal:risk=0.3,trust=1.5"):
        assert str(Policy.parse(text)) == text
    for wrong in (-1, math.nan, "3", -math.inf):
        with pytest.raises(ParameterError, match="trust"):
            pb.KLUCB(trust=wrong)  # type: ignore[arg-type]
