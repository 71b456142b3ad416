"""`pb.backtest` as a whole: numbers added up by hand, the paired bootstrap, sources,
logs and edges.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import profitable as pb
from profitable.replay.backtest import weights_of
from profitable.replay.baselines import ACCEPT_NONE, ALL, HINDSIGHT
from tests.replay.calls import (
    CALLS,
    FEW,
    QUICK,
    by_round_and_group,
    calls,
    entry,
    result_of,
    without_source,
)

# ------------------------------------------------------------------------------ numbers


def kinds_in(value: Any) -> set[type]:
    """The types in nested values."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {type(value)}.union(*map(kinds_in, inside))


def test_profits_are_sums_of_accepted_cells() -> None:
    frame = calls(delay=3)
    late = {"known": "paid", "late": "as they come"}
    found = pb.backtest(frame, **CALLS, **late, policies=["kl-ucb"], **QUICK)
    profit = by_round_and_group(frame, 5.0 * frame["sold"] - 2.0)
    entry = found["kl-ucb"]
    assert entry.accepted is not None
    accepted = np.array(entry.accepted)
    assert set(np.unique(accepted)) == {0.0, 1.0}
    np.testing.assert_allclose(entry.earned, profit * accepted)
    assert entry.profit == pytest.approx((profit * accepted).sum())
    assert entry.clients == 4 * accepted.sum()
    assert entry.difference.middle == pytest.approx((profit * accepted).sum() - profit.sum())
    plain = found.to_dict()
    assert kinds_in(plain) <= {dict, list, str, int, float, bool, type(None)}
    told = next(each for each in plain["entries"] if each["name"] == "kl-ucb")
    assert told["over_time"]["difference"][-1] == pytest.approx(told["difference"])
    np.testing.assert_allclose(
        told["over_time"]["difference"],
        np.cumsum((profit * accepted - profit).sum(axis=1)),
        atol=1e-9,
    )
    assert sum(each["profit"] for each in told["by_vintage"]) == pytest.approx(told["profit"])
    assert sum(each["all"] for each in told["by_vintage"]) == pytest.approx(profit.sum())
    totals, earned = profit.sum(axis=0), (profit * accepted).sum(axis=0)
    for k, each in enumerate(told["by_category"]):
        assert each["difference"] == pytest.approx(earned[k] - totals[k])
        assert each["lost_accepting"] == pytest.approx(
            max(-earned[k], 0.0) if totals[k] <= 0.0 else 0.0
        )
        assert each["lost_refusing"] == pytest.approx(
            totals[k] - earned[k] if totals[k] > 0.0 else 0.0
        )
    assert entry.evidence is not None
    assert entry.patience is not None
    np.testing.assert_allclose(told["evidence"], entry.evidence, rtol=1e-5)
    patience = np.array(told["patience"], dtype=float)
    np.testing.assert_array_equal(
        np.isnan(patience), np.isinf(np.array(entry.patience))
    )  # JSON has no infinite numbers
    np.testing.assert_array_equal(entry.evidence <= entry.patience, accepted == 1.0)
    assert found[ALL].profit == pytest.approx(profit.sum())
    assert found[ALL].clients == len(frame)
    assert found[ACCEPT_NONE].profit == 0.0
    assert found[HINDSIGHT].profit == pytest.approx(totals[totals > 0.0].sum())
    assert [each["name"] for each in plain["categories"]] == ["a", "b", "c"]
    means = frame.groupby("group")["sold"].agg(["mean", "size", "var"])
    for each in plain["categories"]:
        row = means.loc[each["name"]]
        assert each["mean"] == pytest.approx(row["mean"])
        assert each["clients"] == row["size"]
        assert each["threshold"] == 0.4
        assert each["profit"] == pytest.approx(row["size"] * (5.0 * row["mean"] - 2.0))
        assert each["profit_error"] == pytest.approx(
            5.0 * math.sqrt((row["size"] - 1) * row["var"])
        )


def test_known_over_time() -> None:
    frame = calls(delay=6)
    known = pb.backtest(
        frame, **CALLS, known="paid", policies="kl-ucb", replays=0, shuffles=0
    ).to_dict()["known"]
    for place in range(20):
        asked = frame[frame["week"] <= place + 1]
        told = asked[asked["paid"] <= place + 1]
        assert known["share_known"][place] == pytest.approx(len(told) / len(asked))
        assert known["final_mean"][place] == pytest.approx(asked["sold"].mean())
        if len(told):
            assert known["known_mean"][place] == pytest.approx(told["sold"].mean())


def test_money() -> None:
    """Profit on money lent is what came back less (1 + required) times the amount, by
    client and by money.
    """
    frame = calls()
    lent: dict[str, Any] = {
        "category": "group",
        "time": "week",
        "reward": "back",
        "amount": "amount",
        "required": 0.05,
    }
    for weight in ("money", "client"):
        found = pb.backtest(frame, **lent, weight=weight, policies=FEW, **QUICK)
        profit = by_round_and_group(frame, frame["back"] - 1.05 * frame["amount"])
        assert found[ALL].profit == pytest.approx(profit.sum())
        assert found["kl-ucb"].profit == pytest.approx((profit * found["kl-ucb"].accepted).sum())
        row = found.to_dict()["categories"][0]
        group = frame[frame["group"] == "a"]
        assert row["mean"] == pytest.approx((group["back"] / group["amount"]).mean())
        assert row["mean_by_money"] == pytest.approx(group["back"].sum() / group["amount"].sum())


def test_seeds_are_averaged() -> None:
    frame = calls(3)
    found = pb.backtest(frame, **CALLS, policies=["ts"], seeds=4, replays=0, shuffles=0, seed=7)
    profits: list[float] = []
    for seed in (7, 8, 9, 10):
        one = pb.backtest(
            frame, **CALLS, policies=["ts"], seeds=1, replays=0, shuffles=0, seed=seed
        )["ts"]
        profits.append(one.profit)
        assert one.seed_error is None
    assert len(set(profits)) > 1
    assert found["ts"].profit == pytest.approx(np.mean(profits))
    assert found["ts"].seed_error == pytest.approx(np.std(profits, ddof=1) / 2.0)
    assert (
        found["ts"].seeds,
        pb.backtest(frame, **CALLS, policies="kl-ucb", **QUICK)["kl-ucb"].seeds,
    ) == (4, 1)


# ------------------------------------------------------------------------ the bootstrap


@pytest.mark.parametrize(
    "options", [{}, {"known": "paid"}, {"known": "paid", "matures": 3}], ids=str
)
def test_each_replicate_is_a_backtest_of_repeated_rows(options: dict[str, Any]) -> None:
    """Policies, baselines and accepting all meet the same clients, each as often as one
    weight says.
    """
    frame = calls(2, weeks=10, delay=2)
    given = CALLS | options
    found = pb.backtest(
        frame, **given, policies=["kl-ucb", "ts"], replays=5, seeds=3, shuffles=0, seed=4
    )
    clients = found.past.clients
    rows = pd.DataFrame(
        {
            "week": clients.round,
            "group": [clients.names[k] for k in clients.category],
            "sold": clients.reward,
            "paid": clients.known,
        }
    )
    for replicate in range(5):
        weights = weights_of(clients, None, 4, replicate)
        again = rows.loc[rows.index.repeat(weights)]
        assert set(again["week"]) == set(range(1, 11))
        one = pb.backtest(
            again,
            **given,
            policies=["kl-ucb", "ts"],
            replays=0,
            shuffles=0,
            seeds=2,
            seed=4 + 3 + 2 * replicate,
        )
        for name in ("kl-ucb", "ts", ACCEPT_NONE, HINDSIGHT, "learn 20%, then commit"):
            np.testing.assert_allclose(
                found[name].resampled[replicate],
                (one[name].earned - one[name].everybody).sum(axis=1),
                atol=1e-9,
            )
    assert not found[ALL].resampled.any()
    assert (found[ALL].difference.low, found[ALL].difference.high) == (0.0, 0.0)
    values, difference = found["kl-ucb"].resampled.sum(axis=1), found["kl-ucb"].difference
    # Of so few, the quantiles are the least and the greatest.
    moved = difference.middle - values.mean()
    assert (difference.low, difference.high) == pytest.approx(
        (values.min() + moved, values.max() + moved)
    )


def test_weights_are_poisson_numbers() -> None:
    """Mean and variance 1, new in each replicate; 20 000 of them within 5 standard
    errors.
    """
    clients = pb.backtest(
        calls(weeks=40, per_cell=50), **CALLS, policies="kl-ucb", replays=0, shuffles=0
    ).past.clients
    drawn = np.array([weights_of(clients, None, 1, replicate) for replicate in range(4)])
    assert drawn.size == 24_000
    assert abs(drawn.mean() - 1.0) < 5.0 / drawn.size**0.5
    assert abs(drawn.var() - 1.0) < 5.0 * (3.0 / drawn.size) ** 0.5
    table: Any = np.corrcoef(drawn)
    assert abs(table[0, 1]) < 5.0 / 6_000**0.5
    np.testing.assert_array_equal(drawn[2], weights_of(clients, None, 1, 2))
    assert not np.array_equal(drawn[2], weights_of(clients, None, 2, 2))


def test_the_luck_of_a_seed_is_taken_out_of_an_interval() -> None:
    """Replicates are means of two seeds, the entry of S: their variance is V + U/2, and
    V + U/S is wanted.
    """
    rng = np.random.default_rng(1)
    clients, luck, seeds = 3.0, 4.0, 16
    values = rng.normal(0.0, math.hypot(clients, luck / math.sqrt(2.0)), 4_000)
    found = entry(middle=1.0, values=values, seeds=seeds, seed_variance=luck**2)
    assert found.spread == pytest.approx(math.sqrt(clients**2 + luck**2 / seeds), rel=0.03)
    width = found.difference.high - found.difference.low
    assert width == pytest.approx(2 * 1.96 * math.sqrt(clients**2 + luck**2 / seeds), rel=0.06)
    alone = rng.normal(0.0, luck / math.sqrt(2.0), 4_000)
    only = entry(middle=1.0, values=alone, seeds=seeds, seed_variance=luck**2)
    assert only.spread == pytest.approx(luck / math.sqrt(seeds), rel=0.5)
    plain = entry(middle=1.0, values=values)
    assert plain.spread == pytest.approx(np.std(values, ddof=1))


def test_replicates_that_are_all_0_make_an_interval_of_0() -> None:
    found = entry(middle=0.0, values=[0.0] * 100)
    assert (found.difference.low, found.difference.high) == (0.0, 0.0)
    assert result_of(found).verdict().startswith("No policy beats")


def test_shuffled_time() -> None:
    """Where nothing drifts, shuffling changes little; where a category turns bad, it
    changes the result.
    """
    rows = [(week, "turns", int(week <= 30)) for week in range(1, 61) for _ in range(3)]
    rows += [(week, "pays", 1) for week in range(1, 61)]
    frame = pd.DataFrame(rows, columns=["week", "group", "sold"])
    found = pb.backtest(
        frame, **(CALLS | {"cost": 3.0}), policies=["kl-ucb:forget=0.8"], replays=0, shuffles=20
    )
    it = found["kl-ucb:forget=0.8"]
    assert it.shuffled is not None
    assert it.difference.middle > 150.0
    assert abs(it.shuffled.difference) < 0.5 * it.difference.middle
    assert it.shuffled.error > 0.0
    none = pb.backtest(frame, **(CALLS | {"cost": 3.0}), policies=["kl-ucb"], replays=0, shuffles=0)
    assert none["kl-ucb"].shuffled is None
    assert none.to_dict()["entries"][0]["shuffled"] is None


def test_seeds_decide_everything() -> None:
    frame = calls()
    first, again, other = (
        pb.backtest(frame, **CALLS, policies=FEW, **QUICK, seed=seed) for seed in (1, 1, 2)
    )
    assert first.to_json() == again.to_json()
    assert first["ts"].profit != other["ts"].profit
    assert not np.array_equal(first["kl-ucb"].resampled, other["kl-ucb"].resampled)
    assert first["kl-ucb"].profit == other["kl-ucb"].profit


def test_policies_do_not_disturb_each_other() -> None:
    """A further policy, or another order, changes no number of the others."""
    frame = calls(delay=2)
    alone = pb.backtest(frame, **CALLS, known="paid", policies=["ts"], **QUICK)
    among = pb.backtest(
        frame, **CALLS, known="paid", policies=["kl-ucb", "ts:floor=0.1", "ts"], **QUICK
    )
    assert alone["ts"].profit == among["ts"].profit
    np.testing.assert_array_equal(alone["ts"].resampled, among["ts"].resampled)
    assert alone["ts"].shuffled == among["ts"].shuffled


# -------------------------------------------------------------------- sources and order


def test_streams_and_tables_say_the_same(tmp_path: Path) -> None:
    frame = calls(delay=3)
    given = CALLS | QUICK | {"known": "paid", "policies": FEW}
    expected = without_source(pb.backtest(frame, **given))
    frame.to_csv(tmp_path / "calls.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "calls.parquet", row_group_size=7)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_csv(tmp_path / "parts" / f"{number}.csv", index=False)
    sources: list[Any] = [
        tmp_path / "calls.csv",
        tmp_path / "calls.parquet",
        tmp_path / "parts",
        str(tmp_path / "parts" / "*.csv"),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
    ]
    for source in sources:
        assert without_source(pb.backtest(source, **given)) == expected, source


MANY: list[dict[str, Any]] = [
    {},
    {"known": "paid"},
    {"known": "paid", "matures": 4},
    {"known": "paid", "matures": 4, "emerges": "evenly"},
    {"known": "paid", "open_value": "sold"},
    {"places": 5},
    {"budget": 9.0, "known": "paid", "score": "amount"},
]
LENT: list[dict[str, Any]] = [
    {
        "reward": "back",
        "amount": "amount",
        "required": 0.05,
        "cost": None,
        "revenue": 1.0,
        "known": "paid",
    },
    {"reward": "back", "amount": "amount", "cost": None, "revenue": 1.0, "budget": 30.0},
    {
        "reward": "back",
        "amount": "amount",
        "cost": None,
        "revenue": 1.0,
        "places": 6,
        "weight": "client",
    },
]


@pytest.mark.parametrize("options", [*MANY, *LENT], ids=str)
def test_the_order_of_rows_within_a_round_does_not_matter(options: dict[str, Any]) -> None:
    frame = calls(4, weeks=12, delay=4)
    given = (
        CALLS | {"replays": 3, "seeds": 2, "shuffles": 2, "policies": ["kl-ucb", "ts"]} | options
    )
    expected = pb.backtest(frame, **given).to_json()
    mixed = frame.sample(frac=1.0, random_state=2)
    assert pb.backtest(mixed.sort_values("week", kind="stable"), **given).to_json() == expected
    assert pb.backtest(mixed, **given).to_json() == expected, (
        "nor does the order of all, where there is a time"
    )


# --------------------------------------------------------------------------------- logs


def log_of(seed: int = 1) -> Any:
    frame = calls(seed, weeks=15)
    rng = np.random.default_rng(seed)
    frame["p"] = np.where(frame["group"] == "b", 0.4, 0.9)
    frame["accepted"] = (rng.random(len(frame)) < frame["p"]).astype(int)
    frame["sold"] = frame["sold"].where(frame["accepted"] == 1)
    return frame


def test_a_log_is_weighted() -> None:
    frame = log_of()
    given = CALLS | QUICK | {"accepted": "accepted", "propensity": "p", "policies": FEW}
    found = pb.backtest(frame, **given)
    profit = (5.0 * frame["sold"] - 2.0).fillna(0.0) / frame["p"]
    accepted = np.array(found["kl-ucb"].accepted)
    off_policy = found["kl-ucb"].off_policy
    assert off_policy is not None
    weighted = by_round_and_group(frame, profit)
    assert off_policy.inverse_propensity == pytest.approx((weighted * accepted).sum())
    assert found["kl-ucb"].profit == pytest.approx(off_policy.doubly_robust)
    assert "effective" in found.off_policy_table()
    assert found.off_policy_table() in str(found)
    assert found["kl-ucb"].shuffled is None
    # What nobody knew is not looked at.
    unseen = pb.backtest(frame.assign(sold=frame["sold"].fillna(1.0)), **given)
    assert [each.profit for each in unseen] == pytest.approx([each.profit for each in found])
    np.testing.assert_array_equal(unseen["ts"].evidence, found["ts"].evidence)


def test_a_log_that_cannot_tell_is_refused() -> None:
    frame = log_of()
    frame.loc[frame["group"] == "b", "accepted"] = 0
    given = CALLS | QUICK | {"accepted": "accepted", "propensity": "p", "policies": FEW}
    found = pb.backtest(frame, **given)
    assert found.verdict() == "No policy can be judged on this log."
    for name in FEW:
        assert (
            found[name]
            .sentence()
            .partition("(")[2]
            .startswith(f"{name}): refused. The policy accepts category 'b', and the log")
        )
        plain = next(each for each in found.to_dict()["entries"] if each["name"] == name)
        assert (plain["profit"], plain["difference"], plain["low"], plain["high"]) == (None,) * 4
    assert "refused" in found.table()
    json.loads(found.to_json())


# -------------------------------------------------------------------------------- edges


def test_no_replays_and_no_shuffles() -> None:
    found = pb.backtest(calls(), **CALLS, policies=FEW, replays=0, shuffles=0)
    assert math.isnan(found["ts"].difference.low)
    assert found["ts"].sentence().endswith(" than accepting everybody.")
    plain = json.loads(found.to_json())
    assert plain["entries"][0]["low"] is None
    assert plain["entries"][0]["over_time"]["low"] == [None] * 20
    assert "nobody knows whether that is chance" in found.verdict()
    str(found)


def test_two_rounds_are_too_few() -> None:
    with pytest.raises(pb.errors.InputError, match="are 2, too few to learn from"):
        pb.backtest(calls(weeks=2), **CALLS)
    assert len(pb.backtest(calls(weeks=3), **CALLS, policies=FEW, **QUICK).to_dict()["rounds"]) == 3


@pytest.mark.parametrize(
    "rows",
    [
        [(1, "a", 1), (5, "a", 0)],  # one client in a round, most rounds empty
        [(week, "a", 1) for week in range(1, 9)],  # one category, all rewards the same
        [(week, "a", 0) for week in range(1, 9)],
        # A category with one client.
        [*((week, "a", week % 2) for week in range(1, 16)), (9, "b", 0)],
    ],
    ids=["two clients", "all good", "all bad", "one of b"],
)
def test_small_files(rows: list[tuple[int, str, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["week", "group", "sold"])
    policies = ["kl-ucb", "ts:floor=0.1", "optimal:horizon", "kl-emp-ucb:window=3"]
    for more in ({}, {"places": 1}, {"budget": 2.0}, {"matures": 2}):
        found = pb.backtest(
            frame, **CALLS, policies=policies, replays=2, seeds=2, shuffles=2, **more
        )
        json.loads(found.to_json())
        assert str(found)
        profit = by_round_and_group(frame, 5.0 * frame["sold"] - 2.0)
        if not more or "matures" in more:
            assert found[ALL].profit == pytest.approx(profit.sum())
            assert found["kl-ucb"].profit == pytest.approx(
                (profit * found["kl-ucb"].accepted).sum()
            )


def test_one_client_is_too_little() -> None:
    frame = pd.DataFrame({"week": [1], "group": ["a"], "sold": [1]})
    with pytest.raises(pb.errors.InputError, match="are 1, too few"):
        pb.backtest(frame, **CALLS)


def test_empty_months_pass() -> None:
    """A month without clients is a round: patience grows, and nothing is accepted in
    it.
    """
    dates = ["2025-01-03", "2025-01-20", "2025-04-01", "2025-06-30"]
    frame = pd.DataFrame({"day": dates, "group": ["a", "b", "a", "b"], "sold": [1, 0, 0, 1]})
    found = pb.backtest(
        frame, **(CALLS | {"time": "day"}), policies=["kl-ucb"], replays=4, shuffles=2
    )
    assert found.to_dict()["rounds"] == [f"2025-0{month}" for month in range(1, 7)]
    assert "3 of 6 rounds have no client" in found.past.notes
    assert [each["vintage"] for each in found.to_dict()["entries"][0]["by_vintage"]] == [
        "2025-Q1",
        "2025-Q2",
    ]
    assert found["kl-ucb"].earned[[1, 2, 4]].sum() == 0.0
