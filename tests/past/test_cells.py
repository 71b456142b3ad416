"""Cells against rows: the same decisions, the same totals, in every engine.

Clients are drawn at random with whole-number rewards, so that sums are exact and
decisions must be the same bits.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.errors import InputError, ParameterError, ProfitableError
from profitable.past.aggregate import FOLDS, with_fold
from profitable.past.cells import Cells
from profitable.past.layout import Layout
from profitable.past.past import PastClients
from profitable.past.read import read
from profitable.replay.backtest import prepare
from profitable.replay.family_choice import choose_family
from profitable.replay.replay import OpenTerms, Replay, replay

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
POLICIES = (
    "kl-ucb",
    "kl-ucb+",
    "bayes-ucb",
    "ts",
    "kl-bernoulli-ucb",
    "kl-bernoulli-ucb+",
    "kl-gaussian-ucb",
    "kl-emp-ucb",
    "ucb-v",
    "optimal:horizon",
    "kl-ucb:forget=0.97",
    "ts:forget=0.9",
    "kl-emp-ucb:forget=0.97",
    "ucb-v:window=5",
    "kl-ucb:window=5",
    "ts:floor=0.1",
)
PLAIN: dict[str, Any] = {
    "category": "segment",
    "time": "asked",
    "reward": "bought",
    "cost": 1,
    "revenue": 5,
}
LATE: dict[str, Any] = {**PLAIN, "known": "known"}


def clients(size: int = 6_000, seed: int = 1) -> pd.DataFrame:
    """Past clients of a shop, over two years, with outcomes that are known up to four
    months later.
    """
    rng = np.random.default_rng(seed)
    segment = rng.integers(0, 5, size)
    asked = np.datetime64("2024-01-01") + rng.integers(0, 700, size)
    table = pd.DataFrame(
        {
            "id": rng.permutation(size) * 7 + 3,
            "segment": np.array(["new", "old", "young", "rich", "far"])[segment],
            "asked": asked.astype("datetime64[us]"),
            "known": (asked + rng.integers(0, 120, size)).astype("datetime64[us]"),
            "bought": (rng.random(size) < np.array([0.1, 0.18, 0.22, 0.3, 0.2])[segment]).astype(
                np.int64
            ),
            "items": rng.poisson(np.array([1.5, 1.9, 2.1, 2.5, 2.0])[segment]),
            "age": rng.integers(18, 80, size).astype(np.float64),
            "lent": rng.integers(1, 9, size) * 1_000.0,
            "back": rng.integers(0, 11, size) * 1_000.0,
            "week": rng.integers(1, 60, size),
            "price": rng.integers(0, 3, size),
            "reached": rng.random(size) < 0.9,
        }
    )
    table.loc[::89, "age"] = np.nan
    return table


AROUND = [
    *(
        "1969-12-28",
        "1969-12-31",
        "1970-01-01",
        "1970-01-05",
        "1999-12-31",
        "2000-02-29",
        "2000-03-01",
        "2023-12-31",
    ),
    *(
        "2024-02-28",
        "2024-02-29",
        "2024-03-01",
        "2024-12-30",
        "2025-01-01",
        "2100-02-28",
        "2100-03-01",
    ),
]
FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda table: table,
    "pyarrow": pa.Table.from_pandas,
    "polars": lambda table: pl.from_pandas(table).lazy(),
    "duckdb": lambda table: duckdb.connect().from_arrow(
        pa.Table.from_pandas(table, preserve_index=False)
    ),
    "dask": lambda table: dd.from_pandas(table, npartitions=2),
    "dask-arrow": lambda table: dd.from_pandas(
        pa.Table.from_pandas(table).to_pandas(types_mapper=pd.ArrowDtype), npartitions=2
    ),
}
MOST_FRAMES = [name for name in FRAMES if name != "dask-arrow"]  # which takes long


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return clients()


def replayed(crowd: PastClients, terms: Any, policy: str, layout: Layout) -> Replay:
    return replay(crowd, terms, pb.Policy.of(policy), seed=1, late=OpenTerms.of(layout), trace=True)


def same(one: Replay, other: Replay) -> bool:
    return np.array_equal(one.accepted, other.accepted) and np.array_equal(
        one.evidence, other.evidence
    )  # type: ignore[arg-type]


def fold_of(id: int) -> int:
    """Return the fold of a client, by the formula."""
    prime = 67_108_859
    return (abs(id) % prime + 12_345) ** 2 * 48_271 % prime * FOLDS // prime


def sums_of(cells: Cells) -> pd.DataFrame:
    """All that cells hold, with the names of their rounds and categories."""
    clients = cells.clients
    keys = {name: getattr(clients, name) for name in ("round", "known", "category", "fold")}
    return pd.DataFrame({**keys, **clients.sums})


# ---------------------------------------------------------------------------- decisions


@pytest.mark.filterwarnings("ignore:category:profitable.errors.ProfitableWarning")
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_decides_the_same(table: pd.DataFrame, policy: str) -> None:
    for layout in ({**LATE}, {**PLAIN, "round": "week"}):
        past, cells = read(table, Layout(**layout)), pb.backtest.cells(table, id="id", **layout)
        terms = choose_family(past).categories
        assert choose_family(cells.past).categories == terms
        rows, added = (
            replayed(crowd, terms, policy, past.layout) for crowd in (past.clients, cells.clients)
        )
        assert 0.05 < rows.accepted.mean() < 0.999
        assert same(rows, added)


@pytest.mark.parametrize("policy", ["kl-ucb", "ts", "ucb-v", "kl-emp-ucb", "kl-ucb:window=5"])
@pytest.mark.parametrize(
    "more",
    [
        {"reward": "items", "cost": 2, "revenue": 1},
        {"reward": "items", "cost": "price", "revenue": 1},
        {"category": ["segment", "age:30,55"], "cost": 1},
        {"matures": 3},
        {"accepted": "reached"},
        {"time": "week", "known": None},
        {"round": "quarter"},
    ],
    ids=lambda more: ", ".join(map(str, more.values())),
)
def test_and_with_other_columns(table: pd.DataFrame, policy: str, more: dict[str, Any]) -> None:
    layout = {key: value for key, value in {**LATE, **more}.items() if value is not None}
    past = read(table, Layout(**layout))
    cells = pb.backtest.cells(table, id="id", bins=50, **layout)
    bound = 20.0 if layout["reward"] == "items" else None
    terms = choose_family(past, bound=bound).categories
    assert choose_family(cells.past, bound=bound).categories == terms
    assert cells.past.clients.labels == past.clients.labels
    assert same(
        *(replayed(crowd, terms, policy, past.layout) for crowd in (past.clients, cells.clients))
    )


def test_open_clients_count_at_what_they_promise(table: pd.DataFrame) -> None:
    for more in ({"matures": 4, "emerges": "evenly", "promised": 1}, {"open_value": 0.25}):
        layout = {**LATE, **more}
        past, cells = read(table, Layout(**layout)), pb.backtest.cells(table, **layout)
        terms = choose_family(past).categories
        for policy in ("kl-ucb", "ts"):
            assert same(
                *(
                    replayed(crowd, terms, policy, past.layout)
                    for crowd in (past.clients, cells.clients)
                )
            )


@pytest.mark.parametrize(
    "late", [{"open_value": 1.5}, {"promised": 1.5, "matures": 4, "emerges": "evenly"}]
)
def test_a_promised_number_is_per_unit_lent(table: pd.DataFrame, late: dict[str, Any]) -> None:
    table = table.assign(
        back=table["back"].where(table.index % 7 > 0),
        lent=table["lent"].where(table.index % 11 > 0),
    )
    layout: dict[str, Any] = {
        "category": "segment",
        "time": "asked",
        "known": "known",
        "reward": "back",
    }
    layout |= {"amount": "lent", "weight": "client", **late}
    past, cells = read(table, Layout(**layout)), pb.backtest.cells(table, **layout)
    assert cells.clients.range_of("promised") == past.clients.range_of("promised") == (1.5, 1.5)
    assert cells.clients.profit.sum() == pytest.approx(past.clients.profit.sum())
    for one, other in zip(cells.past.left_out, past.left_out, strict=True):
        assert asdict(one) == pytest.approx(asdict(other))
    terms = choose_family(past).categories
    rows, added = (
        replayed(crowd, terms, "kl-ucb", past.layout) for crowd in (past.clients, cells.clients)
    )
    np.testing.assert_array_equal(rows.accepted, added.accepted)


@pytest.mark.parametrize("policy", ["kl-ucb", "bayes-ucb", "kl-ucb:forget=0.97", "ucb-v"])
def test_amounts_agree_up_to_rounding(table: pd.DataFrame, policy: str) -> None:
    """Money per unit lent is no whole number: evidence agrees to 1e-9, decisions where
    it is not that near patience.
    """
    layout = {
        **PLAIN,
        "reward": "back",
        "amount": "lent",
        "cost": None,
        "revenue": 1.0,
        "known": "known",
    }
    layout = {key: value for key, value in layout.items() if value is not None}
    for weight in ("money", "client"):
        past = read(table, Layout(**layout, weight=weight))
        cells = pb.backtest.cells(table, **layout, weight=weight)
        terms = choose_family(past).categories
        rows, added = (
            replayed(crowd, terms, policy, past.layout) for crowd in (past.clients, cells.clients)
        )
        assert rows.evidence is not None
        assert rows.patience is not None
        assert added.evidence is not None
        gap = np.abs(rows.evidence - rows.patience)
        tied = (gap <= 1e-9 * np.maximum(rows.evidence, 1.0)) & (rows.evidence > 0.0)
        assert not tied.any()
        np.testing.assert_array_equal(rows.accepted, added.accepted)
        np.testing.assert_allclose(added.evidence, rows.evidence, rtol=1e-9, atol=1e-9)


def test_bins_overstate_evidence_a_little(table: pd.DataFrame) -> None:
    """The mean of a bin stands for its rewards: no evidence is smaller, and 200 bins
    are near.
    """
    layout = {
        "category": "segment",
        "time": "asked",
        "reward": "back",
        "amount": "lent",
        "required": 1.1,
    }
    layout["weight"] = "client"
    past, policy = read(table, Layout(**layout)), "kl-emp-ucb"
    terms = choose_family(past).categories
    rows = replayed(past.clients, terms, policy, past.layout).evidence
    errors: list[float] = []
    for bins in (20, 200):
        cells = pb.backtest.cells(table, bins=bins, **layout)
        added = replayed(cells.clients, terms, policy, past.layout).evidence
        assert rows is not None
        assert added is not None
        assert (added >= rows - 1e-9).all()
        errors.append(float(((added - rows) / np.maximum(rows, 1.0)).max()))
    assert errors[1] < min(0.01, errors[0])


@pytest.mark.skipif(not SOAK, reason="a minute; make soak")
@pytest.mark.filterwarnings("ignore:category:profitable.errors.ProfitableWarning")
def test_a_million_clients_decide_the_same() -> None:
    table = clients(1_000_000, seed=2)
    past, cells = (
        read(table, Layout(**LATE)),
        pb.backtest.cells(FRAMES["duckdb"](table), id="id", **LATE),
    )
    terms = choose_family(past).categories
    for policy in POLICIES:
        assert same(
            *(
                replayed(crowd, terms, policy, past.layout)
                for crowd in (past.clients, cells.clients)
            )
        ), policy


# ------------------------------------------------------------------------------ engines


@pytest.mark.parametrize("engine", FRAMES)
def test_every_engine_makes_the_same_cells(table: pd.DataFrame, engine: str) -> None:
    layout = {**LATE, "category": ["segment", "age:30,55"], "round": "week"}
    wanted = pb.backtest.cells(table, id="id", **layout)
    found = pb.backtest.cells(FRAMES[engine](table), id="id", **layout)
    pd.testing.assert_frame_equal(sums_of(found), sums_of(wanted))
    assert found.clients.names == wanted.clients.names
    assert found.clients.labels == wanted.clients.labels
    assert found.past.notes == wanted.past.notes


@pytest.mark.parametrize("engine", MOST_FRAMES)
def test_every_engine_leaves_the_same_rows_out(table: pd.DataFrame, engine: str) -> None:
    """Rows without a time, an outcome or an amount are left out and counted as when
    rows are read.
    """
    holes = table.assign(
        asked=table["asked"].mask(table.index % 50 == 7),
        back=table["back"].mask(table.index % 60 == 3),
    )
    holes["lent"] = holes["lent"].mask(holes.index % 70 == 5)
    layout = {
        "category": "segment",
        "time": "asked",
        "reward": "back",
        "amount": "lent",
        "known": "known",
    }
    past = read(holes, Layout(**layout))
    cells = pb.backtest.cells(FRAMES[engine](holes), **layout)
    assert len(cells.clients) == len(past.clients) < len(holes)
    assert cells.past.rows == past.rows == len(holes)
    assert {each.reason for each in past.left_out} == {"no time", "no amount", "no outcome yet"}
    for one, other in zip(cells.past.left_out, past.left_out, strict=True):
        assert (one.reason, one.rows, one.differs) == (other.reason, other.rows, other.differs)
        assert one.mean_reward == pytest.approx(other.mean_reward)
        assert one.kept_mean == pytest.approx(other.kept_mean)


@pytest.mark.parametrize("engine", MOST_FRAMES)
def test_times_in_every_engine(engine: str) -> None:
    """Days, weeks, months and quarters around leap days, new years and 1970, as pandas
    counts them.
    """
    days = pd.DatetimeIndex(AROUND).as_unit("us")
    table = pd.DataFrame(
        {"asked": days, "text": days.strftime("%Y-%m-%d"), "segment": "a", "bought": 1}
    )
    rounds_by_hand = {
        "week": (days - pd.Timestamp("1969-12-22")).days // 7,
        "month": days.year * 12 + days.month,
        "quarter": days.year * 4 + days.quarter,
    }
    is_slow = engine.startswith("dask")
    for column in ("text",) if is_slow else ("asked", "text"):
        for name, wanted in rounds_by_hand.items():
            if is_slow and name != "week":
                continue
            cells = pb.backtest.cells(
                FRAMES[engine](table), **{**PLAIN, "time": column, "round": name}
            )
            rounds, number = np.unique(np.asarray(wanted) - int(wanted[0]) + 1, return_counts=True)
            found = np.bincount(cells.clients.round, cells.clients.sums["number"])
            np.testing.assert_array_equal(np.flatnonzero(found), rounds)
            np.testing.assert_array_equal(found[rounds], number)
            assert (
                cells.clients.labels
                == read(table, Layout(**{**PLAIN, "time": column, "round": name})).clients.labels
            )


def test_totals_by_hand(table: pd.DataFrame) -> None:
    cells = pb.backtest.cells(FRAMES["duckdb"](table), id="id", **LATE)
    month = table["asked"].dt.year * 12 + table["asked"].dt.month
    known = table["known"].dt.year * 12 + table["known"].dt.month
    keys = [
        month - month.min() + 1,
        known - month.min() + 1,
        table["segment"],
        table["id"].map(fold_of),
    ]
    hand = (
        table.assign(profit=5.0 * table["bought"] - 1.0)
        .groupby(keys)["profit"]
        .agg(["size", "sum"])
    )
    found = sums_of(cells)
    found["category"] = [cells.clients.names[k] for k in found["category"]]
    found = found.set_index(["round", "known", "category", "fold"]).sort_index()
    assert len(found) == len(hand)
    np.testing.assert_array_equal(found["number"], hand.sort_index()["size"])
    np.testing.assert_allclose(found["profit"], hand.sort_index()["sum"])


def test_folds_are_even_and_do_not_follow_the_ids() -> None:
    """Chi-squared with 19 degrees of freedom is below 50 but for 1 in 7 000 draws;
    multiples are dealt out, too.
    """
    for ids in (
        range(20_000),
        range(0, 400_000, 20),
        range(10**12, 10**12 + 20_000),
        range(7, 10**9, 49_999),
    ):
        found = with_fold(nw.from_native(pl.LazyFrame({"id": ids})), "id").collect()
        folds = found["pb_hash"].to_numpy()
        assert folds[:100].tolist() == [fold_of(each) for each in ids[:100]]
        expected = folds.size / FOLDS
        assert ((np.bincount(folds, minlength=FOLDS) - expected) ** 2 / expected).sum() < 50.0
    assert fold_of(-5) == fold_of(5)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_order_and_parts_of_the_rows_do_not_matter(random: Any, parts: int) -> None:
    table = clients(300)
    order = list(range(len(table)))
    random.shuffle(order)
    mixed = pl.from_pandas(table.iloc[order])
    edges = sorted(random.sample(range(1, 299), parts - 1))
    pieces = [
        mixed[start:stop].lazy() for start, stop in zip([0, *edges], [*edges, 300], strict=True)
    ]
    found = pb.backtest.cells(pl.concat(pieces), id="id", **LATE)
    pd.testing.assert_frame_equal(
        sums_of(found), sums_of(pb.backtest.cells(table, id="id", **LATE))
    )


# ---------------------------------------------------------------------------- backtests


def test_a_backtest_of_cells_earns_the_same(table: pd.DataFrame) -> None:
    options: dict[str, Any] = {"policies": ["kl-ucb", "ts"], "seeds": 3, "replays": 40}
    rows = pb.backtest(table, **LATE, **options, shuffles=0)
    cells = pb.backtest(pb.backtest.cells(table, id="id", **LATE), **options)
    for one, other in zip(rows, cells, strict=True):
        assert one.name == other.name
        if one.name != "hindsight, cross-fitted":  # its halves are others
            assert other.profit == pytest.approx(one.profit)
            assert other.clients == pytest.approx(one.clients, nan_ok=True)
            assert other.varying == pytest.approx(one.varying, nan_ok=True)
        assert other.spread == pytest.approx(one.spread, rel=0.8)
    assert cells.first_line == rows.first_line
    assert cells.past.notes == rows.past.notes
    assert "from 20 folds" in str(cells)
    assert any("from 20 folds" in text for text in cells.assumptions())
    plain, added = rows.to_dict(), cells.to_dict()
    assert added["intervals"] == "from 20 folds"
    assert plain["intervals"] == "bootstrap"
    for name in ("categories", "known"):
        assert pd.json_normalize(added[name]).equals(pd.json_normalize(plain[name])) or _close(
            added[name], plain[name]
        )


def _close(one: Any, other: Any) -> bool:
    """Whether plain values agree up to rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)  # type: ignore[misc]
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_close, one, other))  # type: ignore[arg-type]
    return one == other or (isinstance(one, float | int) and one == pytest.approx(other))


def test_without_folds_there_are_no_intervals(table: pd.DataFrame) -> None:
    found = pb.backtest(pb.backtest.cells(table, **LATE), policies=["kl-ucb"])
    assert np.isnan(found["kl-ucb"].difference.low)
    assert "hindsight, cross-fitted" not in [entry.name for entry in found]
    assert "no intervals" in str(found)


def test_saved_and_loaded(table: pd.DataFrame, tmp_path: Path) -> None:
    layout = {**LATE, "reward": "items"}
    cells = pb.backtest.cells(table, id="id", bins=30, **layout)
    path = cells.save(tmp_path / "cells.parquet")
    again = pb.Cells.load(path)
    pd.testing.assert_frame_equal(sums_of(again), sums_of(cells))
    assert str(again) == str(cells)
    options: dict[str, Any] = {"policies": ["kl-emp-ucb", "ucb-v"], "bound": 20.0, "replays": 0}
    one, other, third = (pb.backtest(each, **options) for each in (cells, str(path), again))
    assert one.to_dict() == other.to_dict() == third.to_dict()
    assert one.save(tmp_path / "report").read_text(encoding="utf-8").count("from 20 folds") >= 1


def test_a_pareto_tail(table: pd.DataFrame) -> None:
    """Where something else than the reward is added up, the engine computes it."""
    layout = {**LATE, "reward": "items", "cost": 3, "revenue": 1}
    table = table.assign(items=table["items"] + 1.0)
    past = read(table, Layout(**layout))
    for family in ("pareto:scale=0.5", "weibull:shape=2"):
        terms = choose_family(past, family=family).categories
        cells = pb.backtest.cells(FRAMES["polars"](table), family=family, **layout)
        rows, added = (
            replayed(crowd, terms, "kl-ucb", past.layout) for crowd in (past.clients, cells.clients)
        )
        np.testing.assert_allclose(added.evidence, rows.evidence, rtol=1e-8, atol=1e-8)  # type: ignore[arg-type]
        assert pb.backtest(cells, policies=["kl-ucb"], replays=0).terms.categories == terms
    with pytest.raises(InputError, match="another statistic"):
        pb.backtest(
            pb.backtest.cells(table, **layout), policies=["kl-ucb"], family="pareto:scale=0.5"
        )


# ------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"round": 20}, "rows have no order"),
        ({"category": "age:q4"}, "give the edges"),
        ({"date_format": "%Y"}, "cast the column to a date"),
        ({"score": "age"}, "ranks single clients"),
        ({"accepted": "reached", "propensity": "age"}, "replay the rows"),
        ({"treated": "reached"}, "client by client"),
        ({"time": ["asked", "known"]}, "make one date of them"),
        ({"reward": "segment"}, "cast it to a number"),
        ({"reward": "boght"}, "did you mean bought"),
        ({"reward": "segment=poor"}, "is nowhere in the column segment"),
        ({"time": "segment"}, "is not a time such as"),
        ({"time": "week", "round": "month"}, 'give round = "number"'),
        ({"id": "segment"}, "give fold="),
        ({"fold": "week"}, "folds are 0 to 19"),
        ({"id": "id", "fold": "week"}, "give one of the two"),
        ({"known": "early"}, "when the client asked, in 6000 rows"),
        ({"amount": "price", "cost": None, "revenue": 1}, "not above 0"),
        ({"nonsense": 1}, "is not a known field"),
        ({"bins": 1}, "bins"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_added_up(table: pd.DataFrame, more: dict[str, Any], words: str) -> None:
    table = table.assign(early=table["asked"] - pd.Timedelta(days=3))
    layout = {key: value for key, value in {**LATE, **more}.items() if value is not None}
    with pytest.raises(ProfitableError) as caught:
        pb.backtest.cells(table, **layout)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"budget": 100.0}, "replay the rows"),
        ({"places": 5}, "replay the rows"),
        ({"category": "age"}, "the cells know it"),
        ({"policies": ["kl-emp-ucb"], "bound": 20.0}, "bins=200"),
        ({"policies": ["ucb-v"], "bound": 3.0}, "give a bound that holds"),
        ({"family": "bounded:low=0,high=4"}, "choose another family"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_replayed(table: pd.DataFrame, more: dict[str, Any], words: str) -> None:
    cells = pb.backtest.cells(table, **{**LATE, "reward": "items", "cost": 2, "revenue": 1})
    with pytest.raises((ParameterError, InputError, ProfitableError)) as caught:
        pb.backtest(cells, **{"policies": ["kl-ucb"], **more})
    assert words in str(caught.value)


def test_no_cells_in_a_file(tmp_path: Path, table: pd.DataFrame) -> None:
    table.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="must be a file of cells"):
        pb.Cells.load(tmp_path / "rows.parquet")
    assert (
        prepare(str(tmp_path / "rows.parquet"), {**LATE, "policies": ["ts"]})[0].clients.folds
        is None
    )
    with pytest.raises(InputError, match="narwhals"):
        pb.backtest.cells(3, **LATE)


# ------------------------------------------------------------------------ engines apart


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if not SOAK:
        pytest.skip("starts Java; make soak")
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")  # PySpark and pandas warn of each other
def test_spark(spark: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_parquet(tmp_path / "clients.parquet")
    frame = spark.read.parquet(str(tmp_path / "clients.parquet"))
    layout = {**LATE, "category": ["segment", "age:30,55"], "round": "week"}
    found, wanted = (pb.backtest.cells(each, id="id", **layout) for each in (frame, table))
    pd.testing.assert_frame_equal(sums_of(found), sums_of(wanted))


@pytest.mark.filterwarnings("ignore")
def test_ibis(table: pd.DataFrame) -> None:
    ibis = pytest.importorskip("ibis")
    found, wanted = (
        pb.backtest.cells(each, id="id", **LATE)
        for each in (ibis.memtable(pa.Table.from_pandas(table)), table)
    )
    pd.testing.assert_frame_equal(sums_of(found), sums_of(wanted))
