"""The stop list: procedure, order of rows, and what is said."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from profitable.advice.judged import BY_PERIODS, JudgedGrouping
from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import PeriodTest
from profitable.advice.stop_list import StopList, chosen, probabilities


@pytest.mark.parametrize("level", [0.05, 0.1, 0.5])
def test_the_procedure_is_that_of_scipy(level):
    rng = np.random.default_rng(1)
    for size in (1, 2, 30):
        for _ in range(40):
            pays = rng.random(size) ** rng.integers(1, 5)
            expected = stats.false_discovery_control(pays) <= level
            assert chosen(pays, level).tolist() == expected.tolist()
            # What is not tested does not count as a test.
            more = np.append(pays, math.nan)
            assert chosen(more, level).tolist() == [*expected.tolist(), False]
    assert chosen(np.full(3, math.nan), level).tolist() == [False] * 3


def grouping(name: str, pays: list[float], profit: list[float], **more) -> JudgedGrouping:
    """Categories with 10 clients in each of 8 rounds, and given p-values."""
    size = len(pays)
    names = tuple(f"{name}{k}" for k in range(size))
    outcomes = Outcomes(
        names,
        tuple("12345678"),
        np.full((8, size), 10.0),
        np.tile(np.array(profit) / 8.0, (8, 1)),
        np.zeros((8, size)),
        8,
        most=1.0,
    )
    low = np.where(np.isnan(pays), math.nan, -1.0)
    test = PeriodTest(np.array(pays), low, -low)
    outcomes = Outcomes(**{**vars(outcomes), **more})
    return JudgedGrouping(name, outcomes, test, BY_PERIODS, np.array(profit) / 80.0, 0.0)


def test_rows_begin_with_the_category_that_pays_least():
    found = StopList.of([grouping("a", [0.3, 0.001, math.nan, 0.002], [1.0, -8e4, 3.0, -2e4])])
    assert [row.category for row in found.rows] == ["a1", "a3", "a0", "a2"]
    assert found.stopped("a") == ("a1", "a3")
    assert found.tested == 3
    assert found.rows[-1].pays is None
    assert found.rows[-1].low is None
    assert found.sentence() == (
        "Stop these two: a1, a3 (false discovery rate at most 10 %); they lost 100.0 k on 160 "
        "clients."
    )
    assert any("1 category" in note for note in found.notes)


def test_categories_of_all_groupings_count_as_tests():
    one, other = grouping("a", [0.04, 0.5], [-8.0, 1.0]), grouping("b", [0.9] * 4, [1.0] * 4)
    assert StopList.of([one]).stopped("a") == ("a0",)
    found = StopList.of([one, other])
    assert found.stopped("a") == found.stopped("b") == ()
    assert found.tested == 6
    assert found.sentence() == (
        "Nothing to stop: of 6 categories, none loses beyond chance (false discovery rate at most "
        "10 %)."
    )
    found = StopList.of([grouping("a", [0.001, 0.5], [-8.0, 1.0]), grouping("b", [0.002], [-8.0])])
    assert found.sentence() == (
        "Stop these two: by a, a0; by b, b0 (false discovery rate at most 10 % over all groupings "
        "together)."
    )
    assert "3 categories of two groupings" in found.method


def test_a_stricter_level_stops_fewer():
    one = grouping("a", [0.04, 0.004], [-8.0, -9.0])
    assert StopList.of([one]).sentence().startswith("Stop these two: a1, a0")
    found = StopList.of([one], level=0.01)
    assert found.sentence() == (
        "Stop this one: a1 (false discovery rate at most 1 %); it lost 9.0 on 80 clients."
    )


def test_many_names_are_cut():
    found = StopList.of([grouping("a", [0.001] * 30, [-1.0] * 30)])
    assert "Stop these 30: a0, " in found.sentence()
    assert " and 18 more (" in found.sentence()


def test_where_nothing_is_known_it_is_said():
    waiting = np.full((8, 2), 10.0)
    found = StopList.of(
        [grouping("a", [math.nan] * 2, [0.0] * 2, clients=0 * waiting, open=waiting, mature=0)]
    )
    assert found.sentence() == (
        "Nothing can be said yet: 160 clients are open, and no round is so old that 95 % of its "
        "outcomes are known."
    )
    found = StopList.of([grouping("a", [math.nan], [-80.0], most=-1.0)])
    assert found.sentence() == (
        "Nothing can be said yet: no client has brought a profit so far, and nobody knows how much "
        "one can bring."
    )


def test_open_clients_are_counted():
    still = np.zeros((8, 1))
    still[6:] = 4.0
    found = StopList.of([grouping("a", [0.5], [1.0], open=still, mature=6)])
    assert found.rows[0].open == 8
    assert found.notes == (
        "8 clients are open or too recent, and not counted; the last round that is, is 6",
    )


def test_the_list_is_ready_for_json():
    found = StopList.of([grouping("a", [0.001, math.nan], [-8.0, 1.0])]).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found) == {"level", "method", "tested", "rows", "notes", "sentence"}


def test_ten_thousand_categories():
    rng = np.random.default_rng(2)
    clients = rng.poisson(5.0, (30, 10_000)).astype(float)
    mean = np.where(np.arange(10_000) < 500, -1.0, 0.2)
    profit = clients * mean + rng.normal(size=clients.shape) * np.sqrt(clients)
    names, labels = (tuple(map(str, range(size))) for size in (10_000, 30))
    outcomes = Outcomes(names, labels, clients, profit, np.zeros(clients.shape), 30, most=3.0)
    stop = chosen(probabilities(outcomes), 0.1)
    assert stop[:500].mean() > 0.9
    assert stop[500:].sum() <= 0.15 * stop.sum()
