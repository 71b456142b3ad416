"""Agents and decisions as columns, dataframes and pictures; rewards as databases return
them.
"""

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable import errors
from profitable.common.extras import BACKENDS
from tests.small_agent import portfolio


def busy(policy: pb.Policy) -> pb.Agent:
    agent = portfolio(policy)
    agent.decide()
    agent.observe({"students": [0] * 30 + [1], "car loans": [1, 1, 1, 0]})
    agent.expect("shops", 3)
    agent.pause("car loans")
    return agent


@pytest.mark.parametrize("backend", BACKENDS)
def test_frames(backend: str) -> None:
    pytest.importorskip(backend)
    import narwhals

    agent = busy(pb.KLUCB())
    frame = narwhals.from_native(agent.to_frame(backend))
    assert frame.columns == [
        "name",
        "threshold",
        "clients",
        "counted",
        "mean",
        "evidence",
        "waiting",
        "open",
        "emerged",
        "missing",
        "rounds",
        "revenue",
        "cost",
        "profit",
        "paused",
    ]
    rows: list[dict[str, Any]] = frame.rows(named=True)
    assert [row["name"] for row in rows] == list(agent)
    for row in rows:
        standing = agent[row["name"]]
        # Pandas has NaN for None.
        mean = None if row["mean"] is None or row["mean"] != row["mean"] else row["mean"]
        assert mean == standing.mean
        assert {key: row[key] for key in ("clients", "evidence", "profit", "paused")} == {
            key: getattr(standing, key) for key in ("clients", "evidence", "profit", "paused")
        }
    decision = agent.decide()
    told = narwhals.from_native(decision.to_frame(backend)).rows(named=True)
    assert [row["accepted"] for row in told] == [verdict.accepted for verdict in decision]
    assert {row["round"] for row in told} == {2}
    assert [row["reason"] for row in told] == [verdict.reason for verdict in decision]


@pytest.mark.parametrize("policy", [pb.KLUCB(), pb.ThompsonSampling()], ids=str)
def test_a_log_in_columns_says_the_same(policy: pb.Policy) -> None:
    agent = busy(policy)
    for decision in (agent.decide(), agent.decide(available=["students", "car loans"])):
        rows, columns = json.loads(decision.to_json()), json.loads(decision.to_json(columns=True))
        assert rows == decision.to_dict()
        assert columns == decision.to_columns()
        assert [
            dict(zip(columns["columns"], row, strict=True))
            for row in zip(*columns["columns"].values(), strict=True)
        ] == rows["categories"]
        assert rows["categories"] == [verdict.to_dict() for verdict in decision]
        assert rows["categories"] == [decision[name].to_dict() for name in decision.names]


@pytest.mark.parametrize("policy", [pb.KLUCB(), pb.ThompsonSampling()], ids=str)
def test_a_picture(tmp_path: Path, policy: pb.Policy) -> None:
    agent = busy(policy)
    before = str(agent), agent.round
    chart = agent.plot(tmp_path / "agent.png").to_dict()
    assert (tmp_path / "agent.png").read_bytes()[:4] == b"\x89PNG"
    left, right = chart["hconcat"]
    rows = chart["datasets"]["curves"]
    assert left["layer"][0]["encoding"]["y"]["scale"]["domain"] == list(agent)
    assert [row["name"] for row in rows] == list(agent)
    assert [row["evidence"] for row in rows] == pytest.approx(
        [agent[name].evidence for name in agent], rel=1e-5
    )
    assert "threshold" in right["layer"][0]["encoding"]["x"]["title"]
    assert (str(agent), agent.round) == before
    with pytest.raises(errors.InputError, match="bogus"):
        agent.plot(tmp_path / "agent.bogus")


def test_a_picture_of_many_categories_shows_the_first() -> None:
    agent = pb.Agent(
        [pb.Category(f"c {i}", pb.Poisson(), threshold=3.0) for i in range(60)], policy="kl-ucb"
    )
    agent.observe("c 1", [1, 2])
    chart = agent.plot().to_dict()
    assert "first 40 of 60" in chart["title"]["text"]
    assert len(chart["datasets"]["curves"]) == 40


def test_a_picture_takes_any_name_and_any_number(tmp_path: Path) -> None:
    """A long name leaves room, and a mean of 10^320 thresholds is left out."""
    names = ["$x_$", "x" * 200, "a"]
    agent = pb.Agent(
        [pb.Category(name, pb.Exponential(), threshold=1e-320) for name in names], policy="kl-ucb"
    )
    agent.observe("a", [1.0])
    chart = agent.plot(tmp_path / "agent.svg").to_dict()
    picture = (tmp_path / "agent.svg").read_text(encoding="utf-8")
    assert ">$x_$<" in picture
    assert re.search(r">x{20,60}…<", picture)
    assert not any("mean" in row for row in chart["datasets"]["curves"])


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("svg", b"<svg"), ("PNG", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>")],
)
def test_a_chart_is_written_by_its_ending(tmp_path: Path, ending: str, begins: bytes) -> None:
    busy(pb.KLUCB()).plot(tmp_path / f"agent.{ending}")
    assert (tmp_path / f"agent.{ending}").read_bytes().lstrip().startswith(begins)


def test_intervals_are_posterior_quantiles() -> None:
    agent = busy(pb.KLUCB())
    decision = agent.decide()
    from scipy import stats

    assert decision.interval("students", 0.9) == pytest.approx(
        stats.beta(1.5, 30.5).ppf([0.05, 0.95]), rel=1e-9
    )
    assert decision.interval("shops", 0.9) is None


@pytest.mark.parametrize(
    "rewards",
    [
        Decimal("0.25"),
        [Decimal("0.25"), Decimal(1)],
        [Fraction(1, 4), 1],
        np.array([0.25, 1], dtype=object),
        np.array([Decimal("0.25"), 1.0], dtype=object),
        np.array(Decimal("0.25")),
    ],
    ids=str,
)
def test_rewards_from_a_database(rewards: Any) -> None:
    plain = 0.25 if np.ndim(rewards) == 0 else [0.25, 1.0]
    one, other = (
        pb.Agent([pb.Category("a", pb.Bounded(low=0, high=1), threshold=0.5)], policy="kl-ucb")
        for _ in "12"
    )
    one.observe("a", rewards)
    other.observe("a", plain)
    assert one["a"] == other["a"]
    one.observe({"a": rewards})
    other.observe({"a": plain})
    one.observe("a", count=2, total=Decimal("1.5"), costs=Decimal("0.75"))  # type: ignore[arg-type]
    other.observe("a", count=2, total=1.5, costs=0.75)
    assert one["a"] == other["a"]
