"""Columns of a decision: whatever form they are written in, every bit comes back."""

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.errors import BrokenPortfolioError
from profitable.portfolio.journal import (
    READABLE,
    Line,
    packed,
    unpacked,
)
from profitable.portfolio.stored_decision import as_text, body_of
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean

SIZES = st.sampled_from([0, 1, 2, READABLE, READABLE + 1, 100])
NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0]))


def bits(values: list[float]) -> bytes:
    return struct.pack(f"{len(values)}d", *values)


@given(st.data(), SIZES)
def test_every_bit_comes_back(data: st.DataObject, size: int) -> None:
    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        few = data.draw(st.lists(values, min_size=1, max_size=3))
        return [few[i % len(few)] for i in range(size)]

    names, floats, whole, gaps = (
        column(st.text(st.characters(exclude_categories=["Cs"]))),
        column(NUMBERS),
        column(st.integers(-(2**63), 2**63 - 1)),
        column(st.one_of(st.none(), st.integers(0, 10**18))),
    )
    columns = {
        "name": names,
        "x": np.array(floats, dtype=float),
        "n": np.array(whole, dtype=np.int64),
        "gaps": gaps,
    }
    found = unpacked(json.loads(as_text(packed(columns))))
    assert (found["name"], found["n"], found["gaps"]) == (names, whole, gaps)
    assert all(type(each) is float for each in found["x"])
    plain = [math.nan if math.isnan(each) else each for each in floats]  # of NaN there is one
    assert bits([math.nan if math.isnan(each) else each for each in found["x"]]) == bits(plain)


def test_lists_are_how_the_last_version_wrote_them() -> None:
    columns = {"name": [str(i) for i in range(100)], "evidence": [0.5] * 99 + [math.nan]}
    assert unpacked(columns) == columns


def decided(number: int, policy: str) -> tuple[str, dict[str, Any]]:
    """The body of a decision about many categories, and the columns in it."""
    names = [f"category {i}" for i in range(number)]
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.45) for name in names], policy=policy, seed=1
    )
    agent.decide()
    random = np.random.default_rng(3)
    for name in names:
        agent.observe(name, (random.random(random.integers(1, 60)) < 0.5).astype(float))
    body = body_of(agent.decide(), {})
    return body, json.loads(body)["columns"]


@pytest.mark.parametrize(("policy", "most"), [("kl-ucb", 20), ("ts", 45)])
def test_a_decision_about_many_is_short(policy: str, most: int) -> None:
    """As lists, it took 73 and 113 bytes for each category."""
    body, columns = decided(2_000, policy)
    assert len(body) < most * 2_000
    assert columns["paused"] == 0
    assert isinstance(columns["evidence"], str)


def test_a_decision_about_few_is_plain() -> None:
    _, columns = decided(3, "ts")
    assert columns["name"] == ["category 0", "category 1", "category 2"]
    assert all(isinstance(column, list) for column in columns.values())


@pytest.mark.parametrize(
    "damage",
    [
        {"evidence": "f8:no base64"},
        {"evidence": "f8:AAAA"},  # nothing that zlib made
        {"evidence": "f8:eJwDAAAAAAE="},  # no numbers
        {"evidence": "what:eJwDAAAAAAE="},
        {"evidence": [1.0]},
        {"evidence": None},
        {"evidence": {}},
        {"name": 3},
        {"name": None},
        {"name": "json:eJyrVkpUsqoFAAiLAjw="},
    ],
)
def test_damage_is_found(damage: dict[str, Any]) -> None:
    body, columns = decided(40, "kl-ucb")
    line = Line(
        1,
        "now",
        "ann",
        "0.2.0",
        "decide",
        body=json.dumps({**json.loads(body), "columns": columns | damage}),
    )
    with pytest.raises(BrokenPortfolioError, match="line = 1 was altered, or is damaged"):
        _ = line.content


@pytest.mark.parametrize("policy", ["kl-ucb:floor=0.1", "ts", "kl-emp-ucb:window=3"])
def test_portfolios_of_many_categories(place: Place, policy: str) -> None:
    categories = [
        pb.Category(f"segment {i}", pb.Bernoulli(), threshold=0.5) for i in range(3 * READABLE)
    ]
    book = place.create(categories, policy=policy, seed=1)
    book.decide(key="day 1")
    book.observe(
        [pb.Outcome(f"{i}", f"segment {i % 90}", reward=float(i % 3 == 0)) for i in range(300)]
    )
    ask = {each.name: 3 for each in categories}
    decisions = [book.decide(key="day 2"), book.decide(key="day 3", places=40, demand=ask)]
    for decision in decisions:
        assert repr(book.decision(key=decision.key).to_columns()) == repr(decision.to_columns())
    assert "segment 7 was" in book.explain("segment 7", key="day 3")
    assert len(book.log(kind="decide").to_dicts()[0]["body"]["columns"]["evidence"]) == 3 * READABLE
    assert_clean(book)
