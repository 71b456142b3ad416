"""The stop list: procedure, order of rows, and what is said."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from profitable.advice.betting import refutations
from profitable.advice.judged import BY_BETS, BY_ORDER, BY_PERIODS, JudgedGrouping
from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import Periods, PeriodTest, Recent
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


def with_half(one: JudgedGrouping, pays: list[float], profit: list[float]) -> JudgedGrouping:
    """The grouping, with given p-values of the later half; it began in round 5."""
    size = len(pays)
    half = np.array(pays), np.full(size, 40.0), np.array(profit), np.full(size, 4)
    return replace(one, test=replace(one.test, recent=Recent(*half)))


def test_what_lost_lately_is_named_with_what_it_lost_since():
    one = grouping("a", [0.001, 0.6, 0.5, 0.002], [-8e4, 2e4, 1.0, -5e4])
    found = StopList.of([with_half(one, [0.3, 0.004, math.nan, 0.001], [-1e4, -3e4, 0.0, -4e4])])
    assert found.sentence() == (
        "Stop these three: a0, a3, and a1 for its losses since 5 (false discovery rate at most "
        "10 %); they lost 160.0 k on 200 clients."
    )  # 80 + 50 + 30 thousand, on 80 + 80 + 40 clients
    assert [row.p for row in found.rows] == [0.002, 0.002, 0.008, 0.5]
    turned = next(row for row in found.rows if row.category == "a1")
    assert (turned.profit, turned.pays) == (2e4, 0.6)
    assert (turned.recent_clients, turned.recent_profit) == (40, -3e4)
    assert (turned.recent_pays, turned.recent_since) == (0.004, "5")
    silent = found.rows[-1]
    assert (silent.recent_clients, silent.recent_profit, silent.recent_pays) == (None, None, None)
    assert found.table().splitlines()[0].endswith("P(pays) lately")
    assert "P(pays) lately" not in StopList.of([one]).table()
    assert "the later half" in found.method


def test_a_category_alone_may_be_stopped_for_late_losses():
    found = StopList.of([with_half(grouping("a", [0.6], [5.0]), [0.004], [-3.0])])
    assert found.sentence() == (
        "Stop this one: a0 for its losses since 5 (false discovery rate at most 10 %); it lost 3.0 "
        "on 40 clients."
    )


def test_rows_are_sorted_though_one_look_says_nothing():
    one = grouping("a", [math.nan, 0.7, 0.8, math.nan], [-8.0, 1.0, 2.0, 3.0])
    found = StopList.of([with_half(one, [0.6, 0.9, 1.0, math.nan], [-8.0, 1.0, 2.0, 3.0])])
    assert [row.category for row in found.rows] == ["a0", "a1", "a2", "a3"]
    assert found.tested == 3


def test_bets_and_the_order_of_rows_have_one_look():
    rng = np.random.default_rng(9)
    outcomes = grouping("a", [0.5] * 3, [0.0] * 3).outcomes
    outcomes = replace(outcomes, profit=rng.normal(-4.0, 3.0, (8, 3)))
    bets, order = probabilities(outcomes, BY_BETS), probabilities(outcomes, BY_ORDER)
    assert bets.tolist() == refutations(outcomes).tolist()
    assert order.tolist() == Periods.of(outcomes).pays().tolist()
    assert probabilities(outcomes).tolist() == order.tolist()  # four rounds say nothing alone


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
