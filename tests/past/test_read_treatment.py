"""Gross and incremental effect: clients who would have bought anyway are no success of
an offer.
"""

import numpy as np
import pandas as pd
import pytest

import profitable as pb

# What the mailing adds, beside 2 without it.
EFFECTS = {"regulars": 0.0, "new": 1.5, "sleepers": 0.2, "browsers": 1.2}
COST = 0.6


@pytest.fixture(scope="module")
def mailings() -> pd.DataFrame:
    rng, size = np.random.default_rng(7), 24_000
    segment = rng.choice(list(EFFECTS), size)
    treated = rng.random(size) < 0.7
    spend = rng.normal(2.0, 1.0, size) + np.where(treated, [EFFECTS[name] for name in segment], 0.0)
    week = np.arange(size) // 400 + 1
    return pd.DataFrame(
        {
            "week": week,
            "segment": segment,
            "mailed": treated.astype(int),
            "spend": spend,
            "chance": 0.7,
        }
    )


def test_all_segments_look_profitable_and_two_of_them_lose(mailings: pd.DataFrame) -> None:
    columns = {
        "category": "segment",
        "time": "week",
        "reward": "spend",
        "cost": COST,
        "policies": "kl-ucb",
    }
    run = {"replays": 0, "shuffles": 0, "progress": False}
    gross = pb.backtest(mailings[mailings.mailed == 1], **columns, **run).to_dict()
    assert all(each["profit"] > 0.0 for each in gross["categories"])
    # And the report says what it does not know.
    assert any("anyway" in text for text in gross["assumptions"])
    net = pb.backtest(mailings, **columns, **run, treated="mailed", propensity="chance")
    rows = {each["name"]: each for each in net.to_dict()["categories"]}
    assert {name for name, each in rows.items() if each["profit"] < 0.0} == {"regulars", "sleepers"}
    for name, each in rows.items():
        mine = mailings[mailings.segment == name]
        by_group = mine.groupby("mailed").spend.mean()
        error = each["profit_error"] / each["clients"]
        # False alarm: below 1 in 10 000.
        assert abs(each["mean"] - (by_group[1] - by_group[0])) < 4.0 * error
        assert abs(each["mean"] - EFFECTS[name]) < 4.0 * error
    accepted = net["kl-ucb"].accepted
    assert accepted is not None
    late = dict(zip(net.past.clients.names, accepted[-20:].mean(axis=0), strict=True))
    assert late["new"] == late["browsers"] == 1.0
    assert late["regulars"] < 0.5
    assert net["kl-ucb"].difference.middle > 0.0
