"""Descriptions of past clients."""

import json

import numpy as np
import pytest

from profitable.errors import InputError
from profitable.past.first_look import FirstLook
from profitable.past.layout import Layout
from profitable.replay.backtest import prepare
from profitable.replay.describe import Description, describe
from tests.past.tables import loans

PLAIN = Layout(category="grade", time="asked", reward="good", cost=0.5)


def test_what_was_known_when() -> None:
    layout = Layout(category="grade", time="asked", reward="back", amount="lent", known="known")
    table = loans(400)
    found = describe(table, layout).to_dict()
    known = found["known"]
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    kept = [row for row in rows if row["lent"] and row["back"] is not None]
    until = known["round"][9] + "-99"
    asked = [row for row in kept if row["asked"] <= until]
    told = [row for row in asked if row["known"] is not None and row["known"] <= until]
    assert known["share_known"][9] == pytest.approx(len(told) / len(asked))
    assert known["known_mean"][9] == pytest.approx(
        np.mean([row["back"] / row["lent"] for row in told])
    )
    assert known["final_mean"][9] == pytest.approx(
        np.mean([row["back"] / row["lent"] for row in asked])
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {each["reason"] for each in found["left_out"]} == {"no amount", "no outcome yet"}
    assert found["rows"] == 400
    assert found["clients"] == len(kept)


def test_the_page_says_what_was_understood() -> None:
    text = str(
        describe(
            loans(300),
            Layout(category="grade", time="asked", reward="good", cost="price", known="known"),
        )
    )
    assert text.startswith("Outcomes known on known")
    for part in (
        "a round is one month",
        "C10",
        "cost",
        "known mean",
        "No row is left out",
        "when it was written",
    ):
        assert part in text
    text = str(
        describe(
            loans(300), Layout(category="age:q60", time="asked", reward="good", cost=1, round=50)
        )
    )
    assert text.startswith("Outcomes assumed immediate")
    assert "categories with fewer clients" in text
    assert "a round is 50 rows" in text
    assert "known mean" not in text


def test_a_stream_is_described_once() -> None:
    import pyarrow as pa

    text = str(describe(pa.table(loans(100)).to_reader(), PLAIN))
    assert "A stream is read once" in text


def test_without_a_time_the_order_of_the_rows_is_doubted() -> None:
    table = {name: list(values) for name, values in loans(400).items()}
    order = np.argsort(table["age"], kind="stable")
    table = {name: [values[each] for each in order] for name, values in table.items()}
    plain = {"category": "grade", "reward": "good", "cost": 0.5, "round": 20}
    said = "the rows are sorted by age: their order is not time"
    assert any(said in each for each in describe(table, Layout(**plain)).to_dict()["warnings"])
    past, _ = prepare(table, plain)
    assert any(said in each for each in past.warnings)
    past, _ = prepare(table, plain | {"time": "asked", "round": "month"})
    assert not any("sorted" in each for each in past.warnings)


def test_refused_clients_with_outcomes_are_told_about_treated() -> None:
    table = loans(400) | {"mailed": [0, 1] * 200}
    given = {"category": "grade", "reward": "good", "cost": 0.5, "time": "asked"}
    past, _ = prepare(table, given | {"accepted": "mailed"})
    assert any("give --treated mailed" in each for each in past.warnings)
    past, _ = prepare(table, given | {"treated": "mailed"})
    assert not any("--treated" in each for each in past.warnings)


def test_with_less_than_a_layout_it_is_a_first_look() -> None:
    table = loans(400)
    look = describe(table, category="grade")
    assert isinstance(look, FirstLook)
    assert look.options["category"] == "grade"
    given = {"category": "grade", "reward": "good", "cost": 0.5, "time": "asked"}
    found = describe(table, **given)
    assert isinstance(found, Description)
    assert str(found) == str(describe(table, Layout(**given)))
    assert found.to_frame("polars")["name"].to_list() == list(found.past.clients.names)
    assert found._repr_html_().startswith("<pre>")
    with pytest.raises(InputError, match="did you mean category"):
        describe(table, categori="grade")
    with pytest.raises(InputError, match="has no rows"):
        describe({"a": [], "b": []})
