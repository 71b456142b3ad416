"""`pb.backtest` as a whole: numbers added up by hand, the paired bootstrap, sentences, verdicts, families and edges."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import profitable as pb
from profitable.replay.backtest import OPTIONS
from profitable.replay.bootstrap import weights_of
from profitable.replay.entry import POLICY, Entry, in_short
from profitable.replay.layout import RUN_OPTIONS
from profitable.replay.off_policy import OffPolicy
from profitable.replay.options import Options
from profitable.replay.result import Backtest
from profitable.replay.rivals import ACCEPT_NONE, ALL, CROSS_FITTED, HINDSIGHT

MEANS = {"a": 0.25, "b": 0.5, "c": 0.7}
CALLS: dict[str, Any] = {"category": "group", "time": "week", "reward": "sold", "cost": 2.0, "revenue": 5.0}
QUICK: dict[str, Any] = {"replays": 12, "seeds": 3, "shuffles": 2}
FEW = ["kl-ucb", "ts"]


def calls(seed: int = 1, weeks: int = 20, per_cell: int = 4, delay: int = 0) -> Any:
    """Clients with 0 or 1 sale, some weeks late, in any order within a week."""
    rng = np.random.default_rng(seed)
    rows = [
        (week, group, int(rng.random() < mean), week + int(rng.integers(0, delay + 1)), float(rng.integers(1, 9)))
        for week in range(1, weeks + 1)
        for group, mean in MEANS.items()
        for _ in range(per_cell)
    ]
    frame = pd.DataFrame(rows, columns=["week", "group", "sold", "paid", "amount"])
    frame["back"] = (frame["amount"] * (0.6 + 0.6 * frame["sold"] + 0.1 * rng.random(len(frame)))).round(3)
    return frame


def by_round_and_group(frame: Any, values: Any) -> Any:
    table = frame.assign(value=values).pivot_table(index="week", columns="group", values="value", aggfunc="sum")
    return table.reindex(index=range(1, frame["week"].max() + 1)).fillna(0.0).to_numpy()


def without_source(found: Backtest) -> dict[str, Any]:
    plain = found.to_dict()
    del plain["settings"]["data"]
    return plain


# ------------------------------------------------------------------------------------------ numbers


def test_profits_are_sums_of_accepted_cells() -> None:
    frame = calls(delay=3)
    found = pb.backtest(frame, **CALLS, known="paid", policies=["kl-ucb"], **QUICK)
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
    told = next(each for each in plain["entries"] if each["name"] == "kl-ucb")
    assert told["over_time"]["difference"][-1] == pytest.approx(told["difference"])
    np.testing.assert_allclose(
        told["over_time"]["difference"], np.cumsum((profit * accepted - profit).sum(axis=1)), atol=1e-9
    )
    assert sum(each["profit"] for each in told["by_vintage"]) == pytest.approx(told["profit"])
    assert sum(each["all"] for each in told["by_vintage"]) == pytest.approx(profit.sum())
    totals, earned = profit.sum(axis=0), (profit * accepted).sum(axis=0)
    for k, each in enumerate(told["by_category"]):
        assert each["difference"] == pytest.approx(earned[k] - totals[k])
        assert each["lost_accepting"] == pytest.approx(max(-earned[k], 0.0) if totals[k] <= 0.0 else 0.0)
        assert each["lost_refusing"] == pytest.approx(totals[k] - earned[k] if totals[k] > 0.0 else 0.0)
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
        assert each["profit_error"] == pytest.approx(5.0 * math.sqrt((row["size"] - 1) * row["var"]))


def test_known_over_time() -> None:
    frame = calls(delay=6)
    known = pb.backtest(frame, **CALLS, known="paid", policies="kl-ucb", replays=0, shuffles=0).to_dict()["known"]
    for place in range(20):
        asked = frame[frame["week"] <= place + 1]
        told = asked[asked["paid"] <= place + 1]
        assert known["share_known"][place] == pytest.approx(len(told) / len(asked))
        assert known["final_mean"][place] == pytest.approx(asked["sold"].mean())
        if len(told):
            assert known["known_mean"][place] == pytest.approx(told["sold"].mean())


def test_money() -> None:
    """Profit on money lent is what came back less (1 + required) times the amount, by client and by money."""
    frame = calls()
    lent: dict[str, Any] = {"category": "group", "time": "week", "reward": "back", "amount": "amount", "required": 0.05}
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
        one = pb.backtest(frame, **CALLS, policies=["ts"], seeds=1, replays=0, shuffles=0, seed=seed)["ts"]
        profits.append(one.profit)
        assert one.seed_error is None
    assert len(set(profits)) > 1
    assert found["ts"].profit == pytest.approx(np.mean(profits))
    assert found["ts"].seed_error == pytest.approx(np.std(profits, ddof=1) / 2.0)
    assert (found["ts"].seeds, pb.backtest(frame, **CALLS, policies="kl-ucb", **QUICK)["kl-ucb"].seeds) == (4, 1)


# ------------------------------------------------------------------------------------------ the bootstrap


@pytest.mark.parametrize("options", [{}, {"known": "paid"}, {"known": "paid", "matures": 3}], ids=str)
def test_each_replicate_is_a_backtest_of_repeated_rows(options: dict[str, Any]) -> None:
    """Policies, rivals and accepting all meet the same clients, each as often as one weight says."""
    frame = calls(2, weeks=10, delay=2)
    given = CALLS | options
    found = pb.backtest(frame, **given, policies=["kl-ucb", "ts"], replays=5, seeds=3, shuffles=0, seed=4)
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
            again, **given, policies=["kl-ucb", "ts"], replays=0, shuffles=0, seeds=2, seed=4 + 3 + 2 * replicate
        )
        for name in ("kl-ucb", "ts", ACCEPT_NONE, HINDSIGHT, "learn 20%, then commit"):
            np.testing.assert_allclose(
                found[name].resampled[replicate], (one[name].earned - one[name].everybody).sum(axis=1), atol=1e-9
            )
    assert not found[ALL].resampled.any()
    assert (found[ALL].difference.low, found[ALL].difference.high) == (0.0, 0.0)
    values, difference = found["kl-ucb"].resampled.sum(axis=1), found["kl-ucb"].difference
    moved = difference.middle - values.mean()  # of so few, the quantiles are the least and the greatest
    assert (difference.low, difference.high) == pytest.approx((values.min() + moved, values.max() + moved))


def test_weights_are_poisson_numbers() -> None:
    """Mean and variance 1, new in each replicate; 20 000 of them within 5 standard errors."""
    clients = pb.backtest(calls(weeks=40, per_cell=50), **CALLS, policies="kl-ucb", replays=0, shuffles=0).past.clients
    drawn = np.array([weights_of(clients, None, 1, replicate) for replicate in range(4)])
    assert drawn.size == 24_000
    assert abs(drawn.mean() - 1.0) < 5.0 / drawn.size**0.5
    assert abs(drawn.var() - 1.0) < 5.0 * (3.0 / drawn.size) ** 0.5
    table: Any = np.corrcoef(drawn)
    assert abs(table[0, 1]) < 5.0 / 6_000**0.5
    np.testing.assert_array_equal(drawn[2], weights_of(clients, None, 1, 2))
    assert not np.array_equal(drawn[2], weights_of(clients, None, 2, 2))


def entry(name: str = "it", middle: float = 0.0, values: Any = (), *, everybody: float = 0.0, **more: Any) -> Entry:
    """An entry with this difference, and these differences in the replicates."""
    resampled = np.array(values, dtype=float).reshape(-1, 1) if len(values) else np.empty((0, 0))
    earned, other = np.array([[everybody + middle]]), np.array([[everybody]])
    return Entry(name, more.pop("kind", POLICY), earned, other, 3.0, resampled=resampled, **more)


def test_the_luck_of_a_seed_is_taken_out_of_an_interval() -> None:
    """Replicates are means of two seeds, the entry of S: their variance is V + U/2, and V + U/S is wanted."""
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
    """Where nothing drifts, shuffling changes little; where a category turns bad, it changes the result."""
    rows = [(week, "turns", int(week <= 30)) for week in range(1, 61) for _ in range(3)]
    rows += [(week, "pays", 1) for week in range(1, 61)]
    frame = pd.DataFrame(rows, columns=["week", "group", "sold"])
    found = pb.backtest(frame, **(CALLS | {"cost": 3.0}), policies=["kl-ucb:forget=0.8"], replays=0, shuffles=20)
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
    first, again, other = (pb.backtest(frame, **CALLS, policies=FEW, **QUICK, seed=seed) for seed in (1, 1, 2))
    assert first.to_json() == again.to_json()
    assert first["ts"].profit != other["ts"].profit
    assert not np.array_equal(first["kl-ucb"].resampled, other["kl-ucb"].resampled)
    assert first["kl-ucb"].profit == other["kl-ucb"].profit


def test_policies_do_not_disturb_each_other() -> None:
    """A further policy, or another order, changes no number of the others."""
    frame = calls(delay=2)
    alone = pb.backtest(frame, **CALLS, known="paid", policies=["ts"], **QUICK)
    among = pb.backtest(frame, **CALLS, known="paid", policies=["kl-ucb", "ts:floor=0.1", "ts"], **QUICK)
    assert alone["ts"].profit == among["ts"].profit
    np.testing.assert_array_equal(alone["ts"].resampled, among["ts"].resampled)
    assert alone["ts"].shuffled == among["ts"].shuffled


# ------------------------------------------------------------------------------------------ sources and order


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
    {"reward": "back", "amount": "amount", "required": 0.05, "cost": None, "revenue": 1.0, "known": "paid"},
    {"reward": "back", "amount": "amount", "cost": None, "revenue": 1.0, "budget": 30.0},
    {"reward": "back", "amount": "amount", "cost": None, "revenue": 1.0, "places": 6, "weight": "client"},
]


@pytest.mark.parametrize("options", [*MANY, *LENT], ids=str)
def test_the_order_of_rows_within_a_round_does_not_matter(options: dict[str, Any]) -> None:
    frame = calls(4, weeks=12, delay=4)
    given = CALLS | {"replays": 3, "seeds": 2, "shuffles": 2, "policies": ["kl-ucb", "ts"]} | options
    expected = pb.backtest(frame, **given).to_json()
    mixed = frame.sample(frac=1.0, random_state=2)
    assert pb.backtest(mixed.sort_values("week", kind="stable"), **given).to_json() == expected
    assert pb.backtest(mixed, **given).to_json() == expected, "nor does the order of all, where there is a time"


# ------------------------------------------------------------------------------------------ sentences


@pytest.mark.parametrize(
    ("middle", "low", "high", "text"),
    [
        (0.0, 0.0, 0.0, "it earned as much as accepting everybody."),
        (6e5, 1e3, 1.3e6, "it earned 0.60 M more than accepting everybody (95 %: 0.00 to 1.30 M)."),
        (-5.2e6, -6e6, -4e6, "it earned 5.20 M less than accepting everybody (95 %: 4.00 to 6.00 M)."),
        (-20.0, -50.0, 10.0, "it earned 20.0 less than accepting everybody (95 %: -10.0 to 50.0)."),
        (12_345.0, -1_000.0, 30_000.0, "it earned 12.3 k more than accepting everybody (95 %: -1.0 to 30.0 k)."),
        (5.0, -0.01, 12.0, "it earned 5.0 more than accepting everybody (95 %: 0.0 to 12.0)."),
        (0.0, -1.0, 2.0, "it earned 0.0 more than accepting everybody (95 %: -1.0 to 2.0)."),
        (0.031, 0.012, 0.05, "it earned 0.031 more than accepting everybody (95 %: 0.012 to 0.050)."),
    ],
)
def test_sentences(middle: float, low: float, high: float, text: str) -> None:
    values = _about(middle, low, high)
    assert entry(middle=middle, values=values).sentence() == text


def _about(middle: float, low: float, high: float) -> list[float]:
    """Replicates with this mean whose quantiles are low and high."""
    rest = (1_000 * middle - 100 * (low + high)) / 800
    return [low] * 100 + [high] * 100 + [rest] * 800


def test_sentences_without_replays() -> None:
    assert entry(middle=-6e5).sentence() == "it earned 600.0 k less than accepting everybody."
    assert entry(middle=0.5).sentence() == "it earned 0.50 more than accepting everybody."
    assert entry(middle=0.0).sentence() == "it earned as much as accepting everybody."


def test_a_refusal_has_no_number() -> None:
    it = entry(middle=5.0, off_policy=OffPolicy(refusal="Nobody knows."))
    assert it.sentence() == "it: refused. Nobody knows."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-5_321.0, "-5 321.0"),
        (9_999.0, "9 999.0"),
        (10_000.0, "10.0 k"),
        (1e6, "1.00 M"),
        (0.05, "0.050"),
    ],
)
def test_in_short(value: float, text: str) -> None:
    assert in_short(value) == text


def result_of(*entries: Entry) -> Backtest:
    """A result with these entries, beside accepting all and none."""
    found = pb.backtest(calls(weeks=4), **CALLS, policies="kl-ucb", replays=0, shuffles=0)
    everybody, size = float(entries[0].everybody.sum()), entries[0].resampled.shape[0]
    zeros, nobody = np.zeros(size), np.full(size, -everybody)
    rivals = (
        entry(ALL, 0.0, zeros, everybody=everybody, kind="rival"),
        entry(ACCEPT_NONE, -everybody, nobody, everybody=everybody, kind="rival"),
    )
    return Backtest(found.past, found.terms, found.options, [*entries, *rivals], [])


def spread(middle: float, size: float) -> list[float]:
    """Replicates around a middle with this standard deviation."""
    values = np.random.default_rng(1).normal(size=1_000)
    return (middle + size * (values - values.mean()) / values.std(ddof=1)).tolist()


def test_verdicts() -> None:
    def variant(name: str, middle: float, size: float | None) -> Entry:
        return entry(name, middle, () if size is None else spread(middle, size))

    refused = entry("log", 1.0, off_policy=OffPolicy(refusal="No."))
    cases: list[tuple[list[Entry], str]] = [
        ([variant("x", -3.0, 1.0)], "No policy beats accepting everybody here."),
        ([variant("x", 0.0, 1.0), variant("y", -2.0, 1.0)], "No policy beats accepting everybody here."),
        (
            [variant("x", 1.0, 1.0), variant("y", -2.0, 1.0)],
            "No policy surely beats accepting everybody here: the best, x, may have been lucky.",
        ),
        ([variant("x", 9.0, 1.0)], "x beats accepting everybody here."),
        ([variant("x", 9.0, 1.0), variant("y", 8.0, 1.0)], "x, y beat accepting everybody here."),
        ([variant("x", 9.0, 1.0), variant("y", 1.0, 1.0)], "x beats accepting everybody here."),
        (
            [variant("x", 2.3, 1.0), *(variant(f"y{i}", -1.0, 1.0) for i in range(9))],
            "x beats accepting everybody here, but by no more than luck explains when 10 variants are tried.",
        ),
        ([variant("x", 2.3, 1.0), refused], "x beats accepting everybody here."),
        ([refused], "No policy can be judged on this log."),
        (
            [variant("x", 2.0, None), variant("y", 1.0, None)],
            "x earned the most; without bootstrap replays nobody knows whether that is chance.",
        ),
        ([variant("x", -2.0, None)], "No policy beats accepting everybody here."),
    ]
    for entries, text in cases:
        assert result_of(*entries).verdict() == text
        assert text in str(result_of(*entries))
    skewed = entry("x", 1.0, [0.1] * 990 + [60.0] * 10)  # ahead, and not by twice its spread
    assert result_of(skewed).verdict() == "x beats accepting everybody here, but by no more than luck explains."


def test_where_accepting_everybody_loses_accepting_nobody_is_the_rival() -> None:
    text = "Accepting everybody loses 100.0, so that accepting nobody is the better rival: x earned "
    ahead = result_of(entry("x", 60.0, [45.0] * 50 + [75.0] * 50, everybody=-100.0))
    assert ahead.verdict() == f"x beats accepting everybody here. {text}-40.0 (95 %: -55.0 to -25.0) beside its 0."
    alone = result_of(entry("x", 130.0, everybody=-100.0), entry("y", 110.0, everybody=-100.0))
    assert alone.verdict().endswith(f"{text}30.0 beside its 0.")


def test_what_many_tries_mean() -> None:
    """Of m variants, the best must be ahead by the normal quantile of 1 - 0.025 / m."""
    one = result_of(entry("x", 3.0, spread(3.0, 1.0)))
    assert one.luck().startswith("One variant was tried.")
    for middle, word in ((2.7, "less"), (2.9, "more")):  # 2.807 for ten
        others = [entry(f"y{i}", -1.0, spread(-1.0, 1.0)) for i in range(9)]
        found = result_of(entry("x", middle, spread(middle, 1.0)), *others)
        assert found.luck().startswith("10 variants were tried, and the best of several looks better than it is.")
        assert f"x is ahead by {middle:.1f}, {word} than the 2.8 from which" in found.luck()
        assert found.verdict().startswith("x beats accepting everybody here")
        assert ("luck" in found.verdict()) == (word == "less")
    behind = result_of(entry("x", -1.0, spread(-1.0, 1.0)), entry("y", -2.0, spread(-2.0, 1.0)))
    assert "ahead" not in behind.luck()


def test_what_is_printed() -> None:
    found = pb.backtest(calls(delay=2), **CALLS, known="paid", policies=FEW, **QUICK)
    text = str(found)
    lines = text.splitlines()
    assert lines[0] == found.first_line == found.to_dict()["first_line"]
    assert lines[0].startswith("Outcomes known on paid: half of them 1 round or more after the client asked; ")
    for each in (found["ts"].sentence(), found["kl-ucb"].sentence(), found.verdict(), found.luck()):
        assert each in lines
    for name in (ALL, ACCEPT_NONE, HINDSIGHT, CROSS_FITTED, "kl-ucb", "ts", "learn 20%, then commit"):
        assert any(line.startswith(name) for line in lines)
    assert len(found) == 7
    assert [each.name for each in found][:2] == FEW
    with pytest.raises(pb.errors.UnknownCategoryError, match="choose from kl-ucb, ts, accept all"):
        found["ucb"]
    plain = json.loads(found.to_json())
    assert plain["entries"][0]["sentence"] == found["kl-ucb"].sentence()
    assert Options(**{key: plain["settings"][key] for key in OPTIONS}) == found.options


def test_first_lines() -> None:
    frame = calls(delay=4)
    frame["never"] = frame["paid"].where(frame["week"] % 4 == 0)
    given = CALLS | {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
    immediate = "Outcomes assumed immediate: no column says when they were known, so every policy learns sooner than"
    assert pb.backtest(frame, **given).first_line == f"{immediate} it could have."
    late = pb.backtest(frame, **given, matures=5).first_line
    assert late == "Outcomes assumed to be known 5 rounds after the client asked; 75% before the last round ended."
    assert "half of them or more never; " in pb.backtest(frame, **given, known="never").first_line
    assert pb.backtest(frame, **given, known="week").first_line.startswith(
        "Outcomes known on week: half of them 0 rounds or more after"
    )


# ------------------------------------------------------------------------------------------ options


def test_options_are_those_of_the_file() -> None:
    assert set(RUN_OPTIONS) == set(OPTIONS)


BAD: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"policies": ["ts", "ts"]}, ("policies", "twice")),
    ({"policies": ["ts", pb.ThompsonSampling()]}, ("policies", "twice")),
    ({"policies": []}, ("policies", "empty")),
    ({"policies": 5}, ("policies", "5", "list")),
    ({"policies": None}, ("policies", "None")),
    ({"policies": "thompson"}, ("policy", "thompson", "unknown", "ts")),
    ({"policies": ["ts:forget=2"]}, ("forget", "2")),
    ({"policies": [3]}, ("policy", "3")),
    ({"policies": [f"kl-ucb:c={c}" for c in range(1, 102)]}, ("policies", "more than 100")),
    ({"budget": 5.0, "places": 3}, ("places", "beside a budget")),
    ({"budget": 0}, ("budget", "0")),
    ({"budget": -1}, ("budget", "-1")),
    ({"budget": "much"}, ("budget", "much")),
    ({"places": 0}, ("places", "0")),
    ({"places": 2.5}, ("places", "2.5")),
    ({"explore": 0.1}, ("explore", "without a limit")),
    ({"places": 3, "explore": 2}, ("explore", "2", "share")),
    ({"places": 3, "explore": "some"}, ("explore", "some", "share")),
    ({"replays": 1}, ("replays", "1", "chance")),
    ({"replays": -1}, ("replays", "-1")),
    ({"replays": 2.5}, ("replays", "2.5")),
    ({"shuffles": 1}, ("shuffles", "1", "chance")),
    ({"shuffles": "many"}, ("shuffles", "many")),
    ({"seeds": 0}, ("seeds", "0")),
    ({"seeds": True}, ("seeds", "True")),
    ({"seed": -1}, ("seed", "-1")),
    ({"seed": None}, ("seed", "None")),
    ({"commit": 0}, ("commit", "0", "share")),
    ({"commit": 1}, ("commit", "1", "share")),
    ({"commit": 20}, ("commit", "20", "0.2")),
    ({"commit": math.nan}, ("commit", "nan")),
    ({"bound": -1}, ("bound", "-1")),
    ({"family": "gauss"}, ("family", "gauss", "unknown", "gaussian")),
    ({"family": 3}, ("family", "3")),
    ({"family": "bounded:low=0"}, ("high", "missing", "bounded:high=...")),
    ({"family": "bounded:low=0,top=2"}, ("top", "not a parameter", "low, high")),
    ({"family": "bounded:low=0,high=two"}, ("high", "two", "not a number")),
    ({"family": "bounded:low=2,high=1"}, ("high",)),
    ({"family": "gaussian:sigma=-1"}, ("sigma", "-1")),
    ({"family": "poisson:rate=1"}, ("rate", "takes no parameters")),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=lambda value: str(value)[:50])
def test_bad_options(options: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(pb.errors.InputError) as error:
        Options(**options)
    _one_sentence(str(error.value), words)
    with pytest.raises(pb.errors.InputError) as again:
        pb.backtest("there is no such file.csv", **CALLS, **options)  # options are checked before anything is read
    assert str(again.value) == str(error.value)


def _one_sentence(text: str, words: tuple[str, ...]) -> None:
    assert all(word in text for word in words), text
    assert text.endswith(".")
    assert "\n" not in text
    assert ";" in text, "it has a remedy"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"replay": 3}, ("replay", "did you mean replays")),
        ({"polices": "ts"}, ("polices", "did you mean policies")),
        ({"categroy": "group"}, ("categroy", "did you mean category")),
        ({"cost": "amount", "budget": 5.0}, ("budget", "column of costs")),
        ({"accepted": "sold", "propensity": "p", "budget": 5.0}, ("budget", "5", "beside a log")),
        ({"accepted": "sold", "propensity": "p", "places": 5}, ("places", "5", "beside a log")),
        ({"family": "exponential"}, ("0", "cannot happen", "Exponential")),
        ({"family": "bernoulli", "cost": 9.0}, ("cost", "9", "revenue")),
        ({"policies": "ucb-v", "family": "poisson"}, ("bound",)),
        ({"open_value": 2.0, "known": "paid"}, ("promised", "2", "0 or 1")),
        ({"open_value": 0.5, "known": "paid", "policies": "kl-emp-ucb"}, ("emerges", "single reward")),
    ],
    ids=str,
)
def test_options_that_contradict_the_data(given: dict[str, Any], words: tuple[str, ...]) -> None:
    frame = calls(delay=2).assign(p=0.5)
    with pytest.raises(pb.errors.InputError) as error:
        pb.backtest(frame, **(CALLS | QUICK | given))
    _one_sentence(str(error.value), words)


# ------------------------------------------------------------------------------------------ families


def drawn(draw: Callable[[np.random.Generator, int], Any], seed: int = 1, size: int = 400, groups: Any = MEANS) -> Any:
    rng = np.random.default_rng(seed)
    parts = [pd.DataFrame({"week": rng.integers(1, 9, size), "group": group, "x": draw(rng, size)}) for group in groups]
    return pd.concat(parts)


FAMILY: list[tuple[Any, Callable[[np.random.Generator, int], Any], str, str]] = [
    (0.4, lambda rng, n: rng.integers(0, 2, n), "Bernoulli()", "all rewards are 0 or 1"),
    (0.4, lambda rng, n: np.zeros(n), "Bernoulli()", "all rewards are 0 or 1"),
    (2.0, lambda rng, n: rng.poisson(2.0, n), "Poisson()", "whole numbers, and their variance is"),
    (2.0, lambda rng, n: rng.negative_binomial(2, 0.4, n), "NegativeBinomial(failures=", "times their mean"),
    (2.0, lambda rng, n: rng.exponential(2.0, n), "Exponential()", "rewards are positive, and their spread is"),
    (2.0, lambda rng, n: rng.gamma(9.0, 0.2, n), "Normal(", "no shape that is known"),
    (0.5, lambda rng, n: rng.normal(0.5, 1.0, n), "Normal(", "no shape that is known"),
    (0.5, lambda rng, n: np.full(n, 2.5), "Normal(", "no shape that is known"),
    (0.5, lambda rng, n: -rng.poisson(2.0, n), "Normal(", "no shape that is known"),
]


@pytest.mark.parametrize(("cost", "draw", "family", "reason"), FAMILY)
def test_a_family_is_suggested_with_the_reason(cost: Any, draw: Any, family: str, reason: str) -> None:
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": cost, "policies": "kl-ucb"}
    found = pb.backtest(drawn(draw), **given, replays=0, shuffles=0)
    plain = found.to_dict()["family"]
    assert plain["name"].startswith(family)
    assert reason in plain["reason"]
    assert f"Rewards: {plain['name']}, because {plain['reason']}." in str(found)
    assert found.warnings() == []
    if family.startswith("Negative"):
        assert float(plain["name"].partition("=")[2].rstrip(")")) == pytest.approx(2.0, rel=0.35)


def test_what_is_suggested_for_money_back() -> None:
    lent: dict[str, Any] = {"category": "group", "time": "week", "reward": "back", "amount": "amount"}
    quick: dict[str, Any] = {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
    frame = calls()
    for factor, high in ((1.0, 2), (3.0, 5), (6.0, 10)):
        found = pb.backtest(frame.assign(back=frame["back"] * factor), **lent, **quick).to_dict()["family"]
        assert found["name"] == f"Bounded(low=0, high={high})"
        assert "money back per unit lent" in found["reason"]
    negative = pb.backtest(frame.assign(back=frame["back"] - frame["amount"]), **lent, **quick).to_dict()["family"]
    assert negative["name"].startswith("Normal(")
    chosen = pb.backtest(frame, **lent, **quick, family="bounded:low=0,high=4")
    assert "Rewards: Bounded(low=0, high=4), as chosen." in str(chosen)


@pytest.mark.statistical
@pytest.mark.parametrize("policy", ["kl-ucb", "ts"])
def test_rewards_that_vary_too_much_are_noticed(policy: str) -> None:
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 2.0, "policies": policy}
    wide = drawn(lambda rng, n: rng.negative_binomial(1, 1 / 3, n))  # its variance is three times its mean
    found = pb.backtest(wide, **given, family="poisson", replays=0, shuffles=0)
    (text,) = found.warnings()
    assert text.startswith("Poisson() does not fit 3 of 3 categories: the variance of ")
    assert "--family normal" in text
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
    """200 categories of 100 clients.  At most 0.4 % of such categories are called too wide, so that 8 or more of them
    are a false alarm in 2 of a million seeds.
    """
    groups = [f"group {k}" for k in range(20)]
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 2.0, "policies": "kl-ucb"}
    wrong = 0
    for seed in range(10):
        found = pb.backtest(drawn(draw, seed, 100, groups), **given, family=family, replays=0, shuffles=0)
        fit = found.to_dict()["family"]["fit"]
        assert len(fit) == 20
        wrong += sum(each["warning"] is not None for each in fit)
    assert wrong < 8


def test_a_category_that_brings_nothing_is_no_misfit() -> None:
    """Its variance is 0, and so is that of counts with mean 0."""
    frame = drawn(lambda rng, n: rng.poisson(2.0, n))
    frame.loc[frame["group"] == "a", "x"] = 0
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "x", "cost": 2.0, "policies": "kl-ucb"}
    found = pb.backtest(frame, **given, family="poisson", replays=0, shuffles=0)
    assert {each["warning"] for each in found.to_dict()["family"]["fit"]} == {None}
    assert not any("fit" in text for text in found.warnings())


def test_a_warning_of_a_policy_is_said_once() -> None:
    near = CALLS | {"cost": 2.55}  # group b is just below its threshold of 0.51
    found = pb.backtest(calls(per_cell=300), **near, policies=["kl-ucb+", "kl-ucb"], **QUICK)
    said = [text for text in found.warnings() if text.startswith("kl-ucb+: category ")]
    assert len(said) == 1
    assert "count=rounds" in said[0]


# ------------------------------------------------------------------------------------------ logs


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
    unseen = pb.backtest(frame.assign(sold=frame["sold"].fillna(1.0)), **given)  # what nobody knew is not looked at
    assert [each.profit for each in unseen if "fitted" not in each.name] == [
        each.profit for each in found if "fitted" not in each.name
    ]
    np.testing.assert_array_equal(unseen["ts"].evidence, found["ts"].evidence)


def test_a_log_that_cannot_tell_is_refused() -> None:
    frame = log_of()
    frame.loc[frame["group"] == "b", "accepted"] = 0
    given = CALLS | QUICK | {"accepted": "accepted", "propensity": "p", "policies": FEW}
    found = pb.backtest(frame, **given)
    assert found.verdict() == "No policy can be judged on this log."
    for name in FEW:
        assert found[name].sentence().startswith(f"{name}: refused. The policy accepts category 'b', and the log")
        plain = next(each for each in found.to_dict()["entries"] if each["name"] == name)
        assert (plain["profit"], plain["difference"], plain["low"], plain["high"]) == (None,) * 4
    assert "refused" in found.table()
    json.loads(found.to_json())


# ------------------------------------------------------------------------------------------ edges


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
        [*((week, "a", week % 2) for week in range(1, 16)), (9, "b", 0)],  # a category with one client
    ],
    ids=["two clients", "all good", "all bad", "one of b"],
)
def test_small_files(rows: list[tuple[int, str, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["week", "group", "sold"])
    policies = ["kl-ucb", "ts:floor=0.1", "optimal:horizon", "kl-emp-ucb:window=3"]
    for more in ({}, {"places": 1}, {"budget": 2.0}, {"matures": 2}):
        found = pb.backtest(frame, **CALLS, policies=policies, replays=2, seeds=2, shuffles=2, **more)
        json.loads(found.to_json())
        assert str(found)
        profit = by_round_and_group(frame, 5.0 * frame["sold"] - 2.0)
        if not more or "matures" in more:
            assert found[ALL].profit == pytest.approx(profit.sum())
            assert found["kl-ucb"].profit == pytest.approx((profit * found["kl-ucb"].accepted).sum())


def test_one_client_is_too_little() -> None:
    frame = pd.DataFrame({"week": [1], "group": ["a"], "sold": [1]})
    with pytest.raises(pb.errors.InputError, match="are 1, too few"):
        pb.backtest(frame, **CALLS)


def test_empty_months_pass() -> None:
    """A month without clients is a round: patience grows, and nothing is accepted in it."""
    dates = ["2025-01-03", "2025-01-20", "2025-04-01", "2025-06-30"]
    frame = pd.DataFrame({"day": dates, "group": ["a", "b", "a", "b"], "sold": [1, 0, 0, 1]})
    found = pb.backtest(frame, **(CALLS | {"time": "day"}), policies=["kl-ucb"], replays=4, shuffles=2)
    assert found.to_dict()["rounds"] == [f"2025-0{month}" for month in range(1, 7)]
    assert "3 of 6 rounds have no client" in found.past.notes
    assert [each["vintage"] for each in found.to_dict()["entries"][0]["by_vintage"]] == ["2025-Q1", "2025-Q2"]
    assert found["kl-ucb"].earned[[1, 2, 4]].sum() == 0.0
