"""Key figures and tables of the advice on a page."""

from typing import Any

import pytest

from profitable.replay.advice_tables import key_figures, stop_tables
from profitable.replay.page_amounts import Money
from tests.replay.made_up import made_up

MONEY = Money("EUR")


def best(**keys: Any) -> dict[str, str]:
    """The key figure of the best policy."""
    backtest = made_up(rounds=60) | keys
    return next(each for each in key_figures(backtest, MONEY) if "Best" in each["label"])


def test_the_best_policy_is_compared_as_the_verdict_does() -> None:
    """Where everybody loses, to beat accepting everybody is not enough."""
    everybody = best()
    assert everybody["label"] == "Best policy (ts), against accepting everybody"
    assert everybody["number"].startswith("▲ +")
    assert everybody["rests"].endswith("significantly better")
    nobody = best(baseline="accept none", beating=[])
    assert nobody["label"].endswith("against accepting nobody")
    assert (nobody["number"][0], nobody["rests"]) == ("○", "may be chance")
    beaten = best(baseline="accept none", beating=["ts"])
    assert (beaten["number"][0], beaten["rests"]) == ("▲", "significantly better")
    assert best(uninformative="nothing matures")["number"] == "-"


def test_stopped_categories_come_first_then_those_that_hardly_pay() -> None:
    tables = stop_tables(made_up(advised=True)["stop_list"], MONEY)
    assert [each["name"] for each in tables] == ["purpose", "grade"]
    for table in tables:
        stops = [row["stop"] for row in table["rows"]]
        assert stops == sorted(stops, reverse=True)
    assert [row["cells"][0] for row in tables[1]["rows"]] == ["B", "A", "C"]
    assert tables[1]["rows"][0]["cells"][-2:] == ["-60.00 to -20.00", "< 0.001"]
    assert stop_tables(None, MONEY) == []


def test_the_later_half_has_a_column_where_something_is_said_of_it() -> None:
    found = made_up(advised=True)["stop_list"]
    late = next(row for row in found["rows"] if row["category"] == "A")
    late |= {"recent_pays": 0.0002, "p": 0.0004}
    purpose, grade = stop_tables(found, MONEY)
    assert purpose["headers"][-1] == "P(pays)"  # as in all that was saved earlier
    assert grade["headers"][-1] == "P(pays) lately"
    assert [row["cells"][-2:] for row in grade["rows"][:2]] == [
        ["< 0.001", "-"],
        ["> 0.999", "< 0.001"],
    ]
    # A category is where its own p-value puts it.
    late["stop"] = True
    assert [row["cells"][0] for row in stop_tables(found, MONEY)[1]["rows"]] == ["B", "A", "C"]


@pytest.mark.parametrize(("low", "said"), [(-1.0, "may be chance"), (1.0, "")])
def test_a_gain_whose_interval_contains_0_may_be_chance(low: float, said: str) -> None:
    backtest = made_up(rounds=8, advised=True)
    backtest["time_splits"][0] |= {"gain": 5.0, "low": low, "high": 9.0}
    last = key_figures(backtest, MONEY)[-1]
    assert last["number"] == "+5.0 EUR"
    assert last["rests"].partition("; ")[2] == said
