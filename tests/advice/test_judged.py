"""Groupings judged from files: what is tested, and in which unit it is shown."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from profitable.advice.judged import (
    BY_BETS,
    BY_HAZARDS,
    BY_PERIODS,
    JudgedGrouping,
    hazard_probabilities,
)
from profitable.advice.stop_list import StopList
from profitable.past.layout import Layout
from profitable.past.past import NEVER_KNOWN
from profitable.past.past_loans import book_of, lending_of
from profitable.past.read import read
from tests.past.test_past_loans import COLUMNS, invented


def calls(rng: np.random.Generator, size: int = 4_000) -> pd.DataFrame:
    """Weeks of calls: cooks buy, clerks do not, whoever calls them."""
    job = rng.integers(0, 2, size)
    bought = rng.random(size) < np.where(job == 0, 0.3, 0.1)
    return pd.DataFrame(
        {
            "week": np.sort(rng.integers(1, 41, size)),
            "job": np.array(["cook", "clerk"])[job],
            "bought": bought.astype(int),
            "called": rng.integers(0, 2, size),
        }
    )


COST = {"cost": 2, "revenue": 10}


def test_means_are_in_the_unit_of_rewards():
    frame = calls(np.random.default_rng(1))
    past = read(frame, Layout(category="job", time="week", reward="bought", **COST))
    found = JudgedGrouping.of("job", past)
    assert (found.how, found.threshold) == (BY_PERIODS, 0.2)
    means: Any = frame.groupby("job")["bought"].mean()
    np.testing.assert_allclose(found.mean, means[list(found.outcomes.names)])
    rows = StopList.of([found]).rows
    assert [(row.category, row.stop) for row in rows] == [("clerk", True), ("cook", False)]
    assert rows[0].profit == pytest.approx((10 * means["clerk"] - 2) * rows[0].clients)


def test_loans_are_shown_by_what_comes_back_per_unit_lent():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"month": np.arange(600) // 30 + 1, "kind": ["a", "b"] * 300})
    frame["lent"] = rng.integers(1, 9, 600) * 100.0
    frame["back"] = frame["lent"] * rng.choice([0.5, 1.2], 600, p=[0.2, 0.8])
    layout = Layout(
        category="kind", time="month", reward="back", amount="lent", required=0.05, round="number"
    )
    found = JudgedGrouping.of("kind", read(frame, layout))
    sums: Any = frame.groupby("kind")[["back", "lent"]].sum()
    np.testing.assert_allclose(found.mean, sums["back"] / sums["lent"])
    assert found.threshold == pytest.approx(1.05)
    row = min(StopList.of([found]).rows, key=lambda each: each.category)
    assert row.amount == sums["lent"]["a"]
    assert row.profit == pytest.approx(sums["back"]["a"] - 1.05 * sums["lent"]["a"])


def test_with_a_control_group_it_is_about_uplift():
    """Cooks buy anyway.  A call changes what clerks do, and costs more than it brings
    with cooks only.
    """
    rng = np.random.default_rng(3)
    frame = calls(rng, 12_000)
    cook = frame["job"] == "cook"
    chance = np.where(cook, 0.5, 0.1 + 0.4 * frame["called"])
    frame["bought"] = (rng.random(12_000) < chance).astype(int)
    layout = Layout(category="job", time="week", reward="bought", treated="called", **COST)
    found = JudgedGrouping.of("job", read(frame, layout))
    listed = StopList.of([found])
    assert listed.stopped("job") == ("cook",)
    assert "the effect of the offer" in listed.method
    assert dict(zip(found.outcomes.names, found.mean.round(1), strict=True))["clerk"] == 0.4
    # By what they bring, both pay.
    plain = read(frame, Layout(category="job", time="week", reward="bought", **COST))
    assert not StopList.of([JudgedGrouping.of("job", plain)]).stopped("job")


def test_clients_whom_the_past_chose_are_judged_by_bets():
    frame = calls(np.random.default_rng(4), 8_000)
    layout = Layout(category="job", time="week", reward="bought", accepted="called", **COST)
    found = JudgedGrouping.of("job", read(frame, layout))
    assert found.how == BY_BETS
    listed = StopList.of([found])
    assert listed.stopped("job") == ("clerk",)
    assert "E-values" in listed.method
    assert found.outcomes.clients.sum() == frame["called"].sum()


def test_loans_with_hazards_are_judged_by_the_book():
    past = read(invented(), Layout(**COLUMNS))
    found = JudgedGrouping.of("purpose", past)
    reading = book_of(past.clients, lending_of(past.layout, past.round)).read(np.ones(4))
    standings = [reading.standing(k) for k in range(4)]
    assert found.how == BY_HAZARDS
    np.testing.assert_allclose(found.test.pays, [each.pays for each in standings])
    listed = StopList.of([found])
    assert set(listed.stopped("purpose")) == {"shops", "trips"}
    assert [row.open for row in listed.rows] == [
        reading.open[found.outcomes.names.index(row.category)] for row in listed.rows
    ]
    # The interval of the value at issue agrees with P(pays).
    assert ((found.test.high < 0.0) == (found.test.pays < 0.025)).all()
    clients, interval = past.clients, reading.interval(2, 0.025)
    assert clients.amount is not None
    assert interval is not None
    lent = clients.amount[clients.category == 2].mean()
    low, high = interval
    assert (found.test.low[2], found.test.high[2]) == pytest.approx(
        (lent * (low - 1.0), lent * (high - 1.0))
    )


def test_loans_that_have_ended_may_be_judged_by_periods():
    past = read(invented(), Layout(**COLUMNS))
    found = JudgedGrouping.of("purpose", past, how=BY_PERIODS)
    assert StopList.of([found]).stopped("purpose") == ("trips", "shops")
    # Loans that are open at the end do not count with what the hazards say of them.
    clients, outcomes = past.clients, found.outcomes
    assert 0 < outcomes.mature < clients.rounds
    counted = (clients.known != NEVER_KNOWN) & (clients.round <= outcomes.mature)
    assert outcomes.clients.sum() == counted.sum()
    assert outcomes.profit.sum() == pytest.approx(clients.profit[counted].sum())


def test_where_no_loan_is_open_nothing_is_left_to_predict():
    frame = invented()
    ended = frame[frame["defaulted"].notna() | frame["closed"].notna()]
    assert len(ended) < len(frame)
    past = read(ended, Layout(**COLUMNS))
    found = JudgedGrouping.of("purpose", past)
    assert found.how == BY_PERIODS
    # Young rounds, of which only early ends are in such a file, do not count.
    outcomes = found.outcomes
    assert 0 < outcomes.mature < past.clients.rounds
    assert outcomes.clients.sum() == (past.clients.round <= outcomes.mature).sum()
    assert JudgedGrouping.of("purpose", past, until=18).how == BY_HAZARDS


def test_hazards_of_a_day_know_nothing_of_later_days():
    frame = invented()
    later = frame.copy()
    for name in ("defaulted", "closed"):
        later.loc[later[name] > "2021-06", name] = None
    later = later[later["issued"] <= "2021-06"]
    found, known = (read(each, Layout(**COLUMNS)) for each in (frame, later))
    assert len(known.clients.labels) == 18
    day = hazard_probabilities(found, until=18)
    np.testing.assert_allclose(day, hazard_probabilities(known, until=18), rtol=1e-9)
    assert not np.allclose(day, hazard_probabilities(found), rtol=0.1)
