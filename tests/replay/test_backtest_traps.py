"""Files of other lenders that lead into a trap, from the first look to the verdict.

Each is drawn from a known law, so that what should be said is known, too.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.past.first_look import first_look
from profitable.replay.backtest_entry import BETTER, WORSE
from profitable.replay.backtest_result import Backtest

FEW: dict[str, Any] = {"replays": 30, "shuffles": 2, "seeds": 2}


def days(months: np.ndarray[Any, Any], rng: np.random.Generator) -> Any:
    return pd.Timestamp("2016-01-01") + pd.to_timedelta(
        30 * months + rng.integers(0, 28, months.size), "D"
    )


def from_first_look(frame: pd.DataFrame, **more: Any) -> Backtest:
    """Run the command that the first look prints, with more options."""
    options = first_look(frame).options
    return pb.backtest(frame, **(options | FEW | more))


def stopped(found: Backtest) -> list[str]:
    assert found.advice is not None
    return [row.category for row in found.advice.stop_list.rows if row.stop]


def loans(rates: Any, months: int, size: int, seed: int, *, back: float = 1.08) -> pd.DataFrame:
    """Loans of products whose default rate may depend on the month, [months, K]."""
    rng = np.random.default_rng(seed)
    month, rates = np.sort(rng.integers(0, months, size)), np.broadcast_to(rates, (months, 4))
    product = rng.integers(0, 4, size)
    bad, lent = rng.random(size) < rates[month, product], rng.choice([1_000, 3_000, 5_000], size)
    asked = days(month, rng)
    closed = asked + pd.to_timedelta(np.where(bad, 60, 180), "D")
    return pd.DataFrame(
        {
            "date": asked.strftime("%Y-%m-%d"),
            "product": [f"product {each}" for each in product],
            "lent": lent,
            "repaid": (lent * np.where(bad, 0.5, back)).round(2),
            "closed": closed.strftime("%Y-%m-%d"),
        }
    )


def test_mailing_everybody_looks_like_a_gain_and_is_a_loss() -> None:
    """Most buyers would have bought anyway: an offer of 0.5 brings 0.1 more."""
    rng = np.random.default_rng(1)
    mailed = rng.random(5_000) < 0.5
    bought = rng.random(5_000) < np.where(mailed, 0.024, 0.02)
    frame = pd.DataFrame(
        {
            "segment": rng.choice(["men", "women", "new"], 5_000),
            "mailed": np.where(mailed, "Mail", "No Mail"),
            "spend": np.where(bought, rng.integers(20, 80, 5_000), 0),
        }
    )
    naive = pb.backtest(frame, category="segment", round=100, reward="spend", cost=0.5, **FEW)
    assert naive["accept all"].profit > 0.0
    found = from_first_look(frame, cost=0.5)
    assert found.past.layout.treated == "mailed=Mail"
    assert found["accept all"].profit < 0.0
    assert not found.ruling.beating


def test_a_policy_does_not_win_by_the_order_of_sorted_rows() -> None:
    """Age says nothing.  The rows are sorted by segment, and the last one loses."""
    rng = np.random.default_rng(5)
    segment = np.sort(rng.choice(["first", "last"], 4_000))
    frame = pd.DataFrame({"segment": segment, "age": rng.integers(18, 80, 4_000)})
    frame["good"] = (rng.random(4_000) < np.where(segment == "last", 0.2, 0.95)).astype(int)
    found = pb.backtest(frame, category="age:q4", round=80, reward="good", cost=0.5, **FEW)
    assert found.first_line.startswith("Outcomes assumed immediate")
    assert any("grouped by segment" in text for text in found.warnings())
    assert any(each.standing(3) == BETTER for each in found.policies)  # in this order
    assert "its order decides, and not the policy" in found.verdict()
    assert not found.ruling.beating
    assert not stopped(found)


def test_returns_of_a_small_lender() -> None:
    """One product loses; the verdict by another column must not hide it."""
    rng = np.random.default_rng(4)
    month, product = np.sort(rng.integers(0, 30, 3_000)), rng.choice(list("ABCD"), 3_000)
    bad = rng.random(3_000) < np.where(product == "C", 0.4, 0.1)
    asked = days(month, rng)
    frame = pd.DataFrame(
        {
            "date": asked.strftime("%Y-%m-%d"),
            "channel": rng.choice(["web", "shop"], 3_000),
            "product": product,
            "return": np.where(bad, rng.uniform(0.65, 0.85, 3_000), rng.uniform(1.03, 1.1, 3_000)),
            "settled": (asked + pd.to_timedelta(np.where(bad, 40, 80), "D")).strftime("%Y-%m-%d"),
        }
    )
    found = from_first_look(frame, category="channel", cost=1, groupings=["product"])
    assert str(found.terms.family) == "Bounded(low=0.65, high=1.1)"
    assert stopped(found) == ["C"]
    assert "by channel" in found.verdict()
    assert "By product: " in found.verdict()
    assert found.verdict() == found.to_dict()["verdict"]
    assert found.verdict() in str(found)


@pytest.mark.parametrize("seed", [5, 6])
def test_where_everything_pays_nothing_is_stopped(seed: int) -> None:
    """Vintages share a shock, as they do."""
    shocks = np.exp(np.random.default_rng(seed).normal(0.0, 0.28, (36, 1)))
    frame = loans(0.06 * shocks, 36, 3_000, seed)
    found = from_first_look(frame)
    assert found.past.layout.amount == "lent"
    assert not stopped(found)
    assert not found.ruling.beating
    assert all(found.standing(each) != WORSE for each in found.policies)


def test_bad_early_vintages_are_no_reason_to_stop_today() -> None:
    """Two products lost in the first half of the file, and pay since."""
    rates = np.full((48, 4), 0.06)
    rates[:24, :2] = 0.2
    found = from_first_look(loans(rates, 48, 4_000, 7))
    assert not stopped(found)
    assert all(found.standing(each) != WORSE for each in found.policies)


def test_an_empty_list_beside_a_policy_that_beats_is_explained() -> None:
    """One product pays at first and loses since: not surely on average."""
    rates = np.full((48, 4), 0.06)
    rates[16:, 3] = 0.25
    found = from_first_look(loans(rates, 48, 5_000, 10))
    assert not stopped(found)
    assert "There was something to find" in found.verdict() or found.ruling.beating
    [said] = found.verdict().split("The stop list ")[1:]
    assert said.startswith("is empty all the same")
    assert "product 3 lost" in said


def test_where_nothing_matures_the_list_still_speaks() -> None:
    """Repayments are known after the last decision; product 3 loses."""
    frame = loans([0.05, 0.05, 0.05, 0.5], 24, 2_500, 8, back=1.15)
    asked = pd.to_datetime(frame["date"])
    gains = frame["repaid"] > frame["lent"]
    frame["closed"] = (asked + pd.to_timedelta(np.where(gains, 1_000, 300), "D")).astype(str)
    found = from_first_look(frame)
    assert found.first_line.startswith("This backtest is uninformative")
    assert "beats" not in found.verdict()
    assert found.advice is not None
    assert "product 3" in found.advice.sentence()
    assert "came too late to be learnt in this file" in found.advice.sentence()


def test_rows_without_an_outcome_stand_anywhere() -> None:
    """As where some clients cancelled: nothing may fail."""
    frame = loans(0.08, 24, 1_000, 9)
    frame.loc[frame.index % 7 == 0, "repaid"] = np.nan
    found = from_first_look(frame, amount="lent", required=0, reward="repaid", known="closed")
    assert found.advice is not None
    assert "Stop" not in found.advice.sentence()
    assert any(text.startswith("14 % of the clients have no outcome") for text in found.warnings())
