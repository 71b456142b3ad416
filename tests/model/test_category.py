"""Categories in the user's words: offers, loans with recovery, money back per unit;
thresholds at the edge.
"""

import copy
import pickle
import warnings
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.model.category import said_before

shares = st.floats(0.0, 0.99)


@given(cost=st.floats(0.01, 1e6), gain=st.floats(1e-3, 1e6))
def test_an_offer_breaks_even_where_the_revenue_pays_for_the_costs(
    cost: float, gain: float
) -> None:
    offer = pb.Category.offer("students", cost=cost, revenue=cost + gain)
    assert offer.worth * offer.threshold == pytest.approx(cost)
    assert offer.price == pytest.approx(cost)
    assert str(offer.family) == "Bernoulli()"


@given(
    rate=st.floats(0.001, 9.0),
    recovery=shares,
    amount=st.floats(1.0, 1e6),
    repayment=st.floats(0.0, 1.0),
)
def test_a_loan_with_recovery_breaks_even_where_its_expected_profit_is_zero(
    rate: float, recovery: float, amount: float, repayment: float
) -> None:
    loan = pb.Category.loan("cars", amount=amount, rate=rate, recovery=recovery)

    def profit(share: float) -> float:
        return amount * ((1.0 + rate) * share + recovery * (1.0 - share) - 1.0)

    assert profit(loan.threshold) == pytest.approx(0.0, abs=1e-9 * amount * (1.0 + rate))
    assert (loan.price, loan.recovered) == (amount, recovery * amount)
    assert pb.bounds.loss(loan, repayment) == pytest.approx(
        abs(profit(repayment)), abs=1e-9 * amount * (1.0 + rate)
    )
    moved = loan.with_threshold(0.5)  # a rate of 1 - recovery
    assert moved.worth * 0.5 == pytest.approx(amount * (1.0 - recovery))
    assert (moved.amount, moved.recovery) == (loan.amount, loan.recovery)


def test_a_loan_without_recovery_is_what_it_was() -> None:
    loan = pb.Category.loan("cars", amount=1_000, rate=0.12)
    assert (loan.threshold, loan.worth, loan.price, loan.recovered) == (
        1 / 1.12,
        1_000 * 1.12,
        1_000.0,
        0.0,
    )
    assert loan == pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0)


def test_money_back_per_unit() -> None:
    cards = pb.Category.returns("cards", required=0.05, high=1.75)
    assert (cards.threshold, cards.family, cards.bound) == (
        1.05,
        pb.Bounded(low=0.0, high=1.75),
        None,
    )
    assert (cards.price, cards.worth, cards.weight, cards.by_money) == (1.0, 1.0, "money", True)
    plain = pb.Category.returns("cards", weight="client")
    assert (plain.threshold, plain.family, plain.by_money) == (
        1.0,
        pb.Bounded(low=0.0, high=2.0),
        False,
    )
    normal = pb.Category.returns("cards", required=0.05, high=2.0, family=pb.Gaussian(sigma=0.3))
    assert (normal.family, normal.bound) == (pb.Gaussian(sigma=0.3), 2.0)
    assert normal.with_threshold(1.1).price == 1.0


EDGES = [
    (lambda: pb.Category("a", pb.Bernoulli(), threshold=1, worth=10), "never profitable"),
    (lambda: pb.Category("a", pb.Bernoulli(), threshold=0), "always profitable"),
    (lambda: pb.Category("a", pb.Poisson(), threshold=0), "always profitable"),
    (lambda: pb.Category("a", pb.Pareto(scale=2.0), threshold=2), "always profitable"),
    (lambda: pb.Category.loan("a", amount=10, rate=0), "never profitable"),
    (lambda: pb.Category.loan("a", amount=10, rate=0, recovery=0.3), "never profitable"),
    (lambda: pb.Category.returns("a", required=1.0, high=2.0), "never profitable"),
    (lambda: pb.Category.returns("a", required=-1.0), "always profitable"),
    (
        lambda: pb.Category("a", pb.Bernoulli(), threshold=0.5).with_threshold(1.0),
        "never profitable",
    ),
]


@pytest.mark.parametrize(("make", "means"), EDGES)
def test_a_threshold_at_the_edge_is_accepted_with_a_warning(make, means: str) -> None:
    with pytest.warns(pb.errors.ProfitableWarning, match=means) as caught:
        category = make()
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "'a'" in message
    assert "; " in message
    assert "\n" not in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert copy.copy(category) == pickle.loads(pickle.dumps(category)) == category
        with said_before():
            assert replace(category, prior=None) == category


def test_the_warning_points_at_the_line_that_made_the_category() -> None:
    with pytest.warns(pb.errors.ProfitableWarning) as caught:
        pb.Category("a", pb.Bernoulli(), threshold=1, worth=10)
    assert caught[0].filename == __file__


def test_other_thresholds_are_not_worth_a_warning() -> None:
    pb.Category("a", pb.Gaussian(sigma=1.0), threshold=0.0)
    pb.Category("a", pb.Bernoulli(), threshold=1e-9)
    pb.Category("a", pb.Bounded(low=-1.0, high=1.0), threshold=0.0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: pb.Category.offer("a", cost=10, revenue=1), "never pay"),
        (lambda: pb.Category.offer("a", cost=10, revenue=10), "never pay"),
        (lambda: pb.Category.offer("a", cost=0, revenue=10), "cost"),
        (lambda: pb.Category.offer("a", cost=-1, revenue=10), "cost"),
        (lambda: pb.Category.offer("a", cost=1, revenue="10"), "revenue"),
        (lambda: pb.Category.loan("a", amount=10, rate=0.1, recovery=1.0), "recovery"),
        (lambda: pb.Category.loan("a", amount=10, rate=0.1, recovery=-0.1), "recovery"),
        (lambda: pb.Category.loan("a", amount=10, rate=0.1, recovery=40), "40 %"),
        (lambda: pb.Category.loan("a", amount=10, rate=0.1, recovery=None), "recovery"),
        (
            lambda: pb.Category("a", pb.Bernoulli(), threshold=0.5, recovery=0.4),
            "belongs to a loan",
        ),
        (lambda: pb.Category.returns("a", required=-1.5), "required"),
        (lambda: pb.Category.returns("a", required=5), "never pay"),
        (lambda: pb.Category.returns("a", required=0.05, high=1.0), "never pay"),
        (lambda: pb.Category.returns("a", required=0.05, high=0), "high"),
        (lambda: pb.Category.returns("a", weight="loan"), '"money" or "client"'),
        (lambda: pb.Category.returns("a", weight=["money"]), '"money" or "client"'),
        (lambda: pb.Category.returns("a", family=pb.Poisson()), "per unit lent"),
        (
            lambda: pb.Category.returns("a", family=pb.Pareto(scale=1.0), required=0.1),
            "per unit lent",
        ),
        (lambda: pb.Category.returns("a", family="normal"), "not a family"),
    ],
)
def test_money_that_makes_no_sense_is_refused_in_one_sentence(make, says: str) -> None:
    with pytest.raises(pb.errors.ParameterError) as caught:
        make()
    message = str(caught.value)
    assert says in message
    assert "; " in message
    assert "\n" not in message
    assert caught.value.category == "a"
