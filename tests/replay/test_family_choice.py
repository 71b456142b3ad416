"""Families that are suggested from the data, and warnings where one does not fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.errors import RewardError
from profitable.replay.family_choice import Alternative
from tests.replay.calls import CALLS, MEANS, QUICK, calls


def drawn(
    draw: Callable[[np.random.Generator, int], Any],
    seed: int = 1,
    size: int = 400,
    groups: Any = MEANS,
) -> Any:
    rng = np.random.default_rng(seed)
    parts = [
        pd.DataFrame({"week": rng.integers(1, 9, size), "group": group, "x": draw(rng, size)})
        for group in groups
    ]
    return pd.concat(parts)


FAMILY: list[tuple[Any, Callable[[np.random.Generator, int], Any], str, str]] = [
    (0.4, lambda rng, n: rng.integers(0, 2, n), "Bernoulli()", "all rewards are 0 or 1"),
    (0.4, lambda rng, n: np.zeros(n), "Bernoulli()", "all rewards are 0 or 1"),
    (2.0, lambda rng, n: rng.poisson(2.0, n), "Poisson()", "whole numbers, and their variance is"),
    (
        2.0,
        lambda rng, n: rng.negative_binomial(2, 0.4, n),
        "NegativeBinomial(failures=",
        "times their mean",
    ),
    (
        2.0,
        lambda rng, n: rng.exponential(2.0, n),
        "Exponential()",
        "rewards are positive, and their spread is",
    ),
    (2.0, lambda rng, n: rng.gamma(9.0, 0.2, n), "Normal(", "no shape that is known"),
    (0.5, lambda rng, n: rng.normal(0.5, 1.0, n), "Normal(", "no shape that is known"),
    (
        0.5,
        lambda rng, n: np.full(n, 2.5),
        "Bounded(low=0.4, high=2.5)",
        "rewards were 2.5 to 2.5, and few of them decide",
    ),
    (
        0.8,
        lambda rng, n: 100.5 * (rng.random(n) < 0.01),
        "Bounded(low=0, high=110)",
        "and few of them decide",
    ),
    (
        0.8,
        lambda rng, n: 300.0 * (rng.random(n) < 0.01),
        "Bounded(low=0, high=300)",
        "and few of them decide",
    ),
    (0.5, lambda rng, n: -rng.poisson(2.0, n), "Normal(", "no shape that is known"),
]


@pytest.mark.parametrize(("cost", "draw", "family", "reason"), FAMILY)
def test_a_family_is_suggested_with_the_reason(
    cost: Any, draw: Any, family: str, reason: str
) -> None:
    given: dict[str, Any] = {
        "category": "group",
        "time": "week",
        "reward": "x",
        "cost": cost,
        "policies": "kl-ucb",
    }
    found = pb.backtest(drawn(draw), **given, replays=0, shuffles=0)
    plain = found.to_dict()["family"]
    assert plain["name"].startswith(family)
    assert reason in plain["reason"]
    assert f"Rewards: {plain['name']}, because {plain['reason']}." in str(found)
    assert found.warnings() == []
    if family.startswith("Negative"):
        assert float(plain["name"].partition("=")[2].rstrip(")")) == pytest.approx(2.0, rel=0.35)


LENT: dict[str, Any] = {"category": "group", "time": "week", "reward": "back", "amount": "amount"}
ONCE: dict[str, Any] = {"policies": "kl-ucb", "replays": 0, "shuffles": 0}


def test_bounds_of_money_back_are_near_what_came_back() -> None:
    frame = calls()  # 0.6 to 0.7 of the amount comes back, or 1.2 to 1.3
    for factor, bounds in (
        (1.0, "low=0.6, high=1.3"),
        (3.0, "low=0.9, high=3.9"),
        (0.5, "low=0.3, high=1.7"),
    ):
        found = pb.backtest(frame.assign(back=frame["back"] * factor), **LENT, **ONCE).to_dict()[
            "family"
        ]
        assert found["name"] == f"Bounded({bounds})"
        assert "money back per unit lent" in found["reason"]
    below = pb.backtest(
        frame.assign(back=frame["back"] - frame["amount"]), **LENT, **ONCE
    ).to_dict()["family"]
    assert below["name"] == "Bounded(low=-0.4, high=2.4)"
    promised = pb.backtest(
        frame.assign(due=1.5 * frame["amount"]),
        **LENT,
        **ONCE,
        known="paid",
        open_value="due",
        weight="client",
    )
    assert str(promised.terms.family) == "Bounded(low=0.6, high=1.5)"


def test_bounds_of_the_user_are_kept_and_a_reward_beyond_them_is_named() -> None:
    frame = calls()
    chosen = pb.backtest(frame, **LENT, **ONCE, family="bounded:low=0,high=4")
    assert "Rewards: Bounded(low=0, high=4), as chosen." in str(chosen)
    assert (
        str(pb.backtest(frame, **LENT, **ONCE, bound=4).terms.family) == "Bounded(low=0.6, high=4)"
    )
    frame.loc[3, "back"] = 4.2 * frame.loc[3, "amount"]
    for given in ({"family": "bounded:low=0,high=4"}, {"bound": 4}):
        with pytest.raises(
            RewardError,
            match=r"row 4, column back / amount = 4\.2 .*or choose another family than Bounded",
        ):
            pb.backtest(frame, **LENT, **ONCE, **given)


def test_late_outcomes_are_bounded() -> None:
    """Normal estimates the spread of the outcomes that are known, and those known early
    are alike.
    """
    frame = drawn(lambda rng, n: rng.normal(0.5, 1.0, n)).assign(paid=lambda each: each["week"] + 3)
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 0.5}
    assert str(pb.backtest(frame, **given, **ONCE).terms.family) == "Normal(alpha=-1)"
    late = pb.backtest(frame, **given, **ONCE, known="paid")
    assert str(late.terms.family).startswith("Bounded(low=-")
    assert late.terms.reason.endswith("and were known late")


def returns(seed: int) -> Any:
    """Eight groups of loans of which 0.65 to 1.1 comes back."""
    rng, parts = np.random.default_rng(seed), list[Any]()
    for k, lost in enumerate((0.02, 0.04, 0.06, 0.1, 0.16, 0.22, 0.3, 0.4)):
        back = np.where(
            rng.random(1_080) < lost, rng.uniform(0.65, 0.8, 1_080), rng.uniform(1.02, 1.1, 1_080)
        )
        amount = rng.choice([1e3, 5e3, 1e4], 1_080)
        week = rng.integers(1, 37, 1_080)
        parts.append(
            pd.DataFrame({"week": week, "group": f"g{k}", "amount": amount, "back": back * amount})
        )
    return pd.concat(parts)


def spend(seed: int) -> Any:
    """Four groups of clients of whom one in a hundred buys, for 29 to 499: each group
    pays.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, 20_000)
    buys = rng.random(20_000) < np.array([0.012, 0.011, 0.010, 0.009])[group]
    price = np.clip(rng.lognormal(4.5, 0.75, 20_000), 29.0, 499.0).round(2)
    week = np.arange(20_000) * 60 // 20_000 + 1
    return pd.DataFrame(
        {"week": week, "group": [f"g{k}" for k in group], "x": np.where(buys, price, 0.0)}
    )


def test_few_large_rewards_of_one_category_are_enough() -> None:
    """One client in a hundred of group c brings 3, hidden by what others bring."""
    frame = drawn(lambda rng, n: rng.normal(0.5, 30.0, n))
    rare = np.random.default_rng(3).random(len(frame)) < 0.01
    frame["x"] = np.where(frame["group"] == "c", 3.0 * rare, frame["x"])
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 0.5}
    found = pb.backtest(frame, **given, **ONCE).terms
    assert isinstance(found.family, pb.Bounded)
    assert found.reason.endswith("and few of them decide in c")


@pytest.mark.parametrize(
    "late", [{"known": "paid"}, {"known": "paid", "late": "at maturity"}, {"matures": 3}]
)
def test_normal_is_not_suggested_late_whatever_the_treatment(late: dict[str, Any]) -> None:
    frame = drawn(lambda rng, n: rng.normal(0.5, 1.0, n)).assign(paid=lambda each: each["week"] + 3)
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 0.5}
    found = pb.backtest(frame, **given, **ONCE, **late)
    assert found.past.treatment == "at maturity"
    assert isinstance(found.terms.family, pb.Bounded)


def test_the_other_family_is_replayed_once_and_said() -> None:
    """In place of Bounded it is Normal, and in place of Normal near bounds."""
    frame = returns(1)
    found = pb.backtest(frame, **LENT, policies=["kl-ucb", "ts"], replays=0, shuffles=0, seeds=2)
    other = pb.backtest(frame, **LENT, **ONCE, family="normal")
    plain = found.to_dict()["family"]["alternative"]
    assert (plain["name"], plain["policy"]) == (str(pb.Normal()), "kl-ucb")
    assert plain["difference"] == pytest.approx(other["kl-ucb"].difference.middle)
    assert plain["instead"] == found["kl-ucb"].difference.middle
    assert plain["sentence"] in str(found).splitlines()
    assert plain["sentence"].startswith("With Normal rewards, kl-ucb would have earned ")
    assert other.to_dict()["family"]["alternative"] is None  # the user chose it
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 0.5}
    normal = pb.backtest(drawn(lambda rng, n: rng.normal(0.5, 1.0, n)), **given, **ONCE)
    assert normal.terms.alternative is not None
    assert isinstance(normal.terms.alternative.categories[0].family, pb.Bounded)
    assert pb.backtest(calls(), **CALLS, **ONCE).terms.alternative is None  # 0 and 1


@pytest.mark.parametrize(
    ("difference", "instead", "words"),
    [
        (11.9e6, 9.8e6, "earned 11.90 M more than accepting everybody, instead of 9.80 M more."),
        (-2e6, 0.0, "earned 2.00 M less than accepting everybody, instead of as much."),
        (0.0, -5e4, "earned as much as accepting everybody, instead of 50.0 k less."),
        (7.0, 7.0, "earned the same."),
    ],
)
def test_what_the_other_family_would_have_earned_in_words(
    difference: float, instead: float, words: str
) -> None:
    terms = (pb.Category("a", pb.Normal(), threshold=0.0),)
    said = Alternative(terms, "kl-ucb", difference, instead).sentence()
    assert said == f"With Normal rewards, kl-ucb would have {words}"


@pytest.mark.statistical
def test_the_suggested_family_learns_where_returns_vary_little() -> None:
    """With bounds of 0 and 2, kl-ucb finds 0 to 4 % of what there is to find."""
    for seed in range(4):
        found = pb.backtest(returns(seed), **LENT, **ONCE)
        assert str(found.terms.family) == "Bounded(low=0.65, high=1.1)"
        assert found["kl-ucb"].difference.middle > 0.6 * found["hindsight"].difference.middle


@pytest.mark.statistical
def test_the_suggested_family_waits_for_rare_rewards() -> None:
    """With a spread that is estimated, kl-ucb loses 29 % of the profit in the mean of
    these portfolios.
    """
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 0.7}
    lost, earned = 0.0, 0.0
    for seed in range(6):
        found = pb.backtest(spend(seed), **given, **ONCE)
        assert str(found.terms.family) == "Bounded(low=0, high=500)"
        lost -= found["kl-ucb"].difference.middle
        earned += found["accept all"].profit
    assert lost < 0.03 * earned


@pytest.mark.statistical
@pytest.mark.parametrize("policy", ["kl-ucb", "ts"])
def test_rewards_that_vary_too_much_are_noticed(policy: str) -> None:
    given: dict[str, Any] = {
        "category": "group",
        "time": "week",
        "reward": "x",
        "cost": 2.0,
        "policies": policy,
    }
    # Its variance is three times its mean.
    wide = drawn(lambda rng, n: rng.negative_binomial(1, 1 / 3, n))
    found = pb.backtest(wide, **given, family="poisson", replays=0, shuffles=0)
    (text,) = found.warnings()
    assert text.startswith("Poisson() does not fit 3 of 3 categories: the variance of ")
    assert "--family bounded:low=" in text
    assert f"warning: {text}" in str(found)
    for each in found.to_dict()["family"]["fit"]:
        values = wide[wide["group"] == each["category"]]["x"]
        assert each["observed_variance"] == pytest.approx(values.var())
        assert each["family_variance"] == pytest.approx(values.mean(), rel=1e-4)
        assert each["warning"] == "too wide"
    narrow = drawn(lambda rng, n: rng.binomial(20, 0.9, n))
    (text,) = pb.backtest(narrow, **given, family="poisson", replays=0, shuffles=0).warnings()
    assert "too cautious for 3 of 3" in text
    assert pb.backtest(wide, **given, family="normal", replays=0, shuffles=0).warnings() == []


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "draw"),
    [
        ("poisson", lambda rng, n: rng.poisson(0.5, n)),
        ("exponential", lambda rng, n: rng.exponential(2.0, n)),
        ("geometric", lambda rng, n: rng.geometric(0.3, n) - 1),
        ("gaussian:sigma=2", lambda rng, n: rng.normal(2.0, 2.0, n)),
    ],
)
def test_a_family_that_fits_is_not_warned_of(family: str, draw: Any) -> None:
    """200 categories of 100 clients.  At most 0.4 % of such categories are called too
    wide, so that 8 or more of them are a false alarm in 2 of a million seeds.
    """
    groups = [f"group {k}" for k in range(20)]
    given: dict[str, Any] = {
        "category": "group",
        "time": "week",
        "reward": "x",
        "cost": 2.0,
        "policies": "kl-ucb",
    }
    wrong = 0
    for seed in range(10):
        found = pb.backtest(
            drawn(draw, seed, 100, groups), **given, family=family, replays=0, shuffles=0
        )
        fit = found.to_dict()["family"]["fit"]
        assert len(fit) == 20
        wrong += sum(each["warning"] is not None for each in fit)
    assert wrong < 8


def test_a_category_that_brings_nothing_is_no_misfit() -> None:
    """Its variance is 0, and so is that of counts with mean 0."""
    frame = drawn(lambda rng, n: rng.poisson(2.0, n))
    frame.loc[frame["group"] == "a", "x"] = 0
    given: dict[str, Any] = {
        "category": "group",
        "time": "week",
        "reward": "x",
        "cost": 2.0,
        "policies": "kl-ucb",
    }
    found = pb.backtest(frame, **given, family="poisson", replays=0, shuffles=0)
    assert {each["warning"] for each in found.to_dict()["family"]["fit"]} == {None}
    assert not any("fit" in text for text in found.warnings())


def test_a_warning_of_a_policy_is_said_once() -> None:
    near = CALLS | {"cost": 2.55}  # group b is just below its threshold of 0.51
    found = pb.backtest(calls(per_cell=300), **near, policies=["kl-ucb+", "kl-ucb"], **QUICK)
    said = [text for text in found.warnings() if text.startswith("kl-ucb+: category ")]
    assert len(said) == 1
    assert "count=rounds" in said[0]
