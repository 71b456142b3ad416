"""Whom a policy swaps: sums agree with those of the entry, by hand and in a log."""

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.past.past import SingleClients
from profitable.replay.swap_set import SwapSet, swap_set


def clients_of(logged: list[bool] | None = None) -> SingleClients:
    return SingleClients.of(
        names=("good", "bad"),
        labels=("1", "2"),
        round=[1, 1, 2, 2, 2],
        category=[0, 1, 0, 1, 1],
        known=[1, 1, 2, 2, 2],
        reward=[1.0, 0.0, 1.0, 0.0, 0.0],
        profit=[2.0, -1.0, 3.0, -4.0, -5.0],
        logged=logged,
    )


def test_it_adds_up_by_hand() -> None:
    accepted = np.array([[1.0, 1.0], [1.0, 0.25]])  # three of four seeds refuse
    found = SwapSet.of("ts", clients_of(), accepted)
    good, bad = found.rows
    assert (good.clients_in, good.clients_out, good.clients_unchanged) == (0.0, 0.0, 2.0)
    assert (bad.clients_in, bad.clients_out, bad.clients_unchanged) == (0.0, 1.5, 1.5)
    assert (bad.money_in, bad.money_out, bad.money_unchanged) == (0.0, -6.75, -3.25)
    assert (found.total.category, found.total.money_unchanged) == ("total", 1.75)
    assert not found.is_estimated


def test_refused_clients_without_propensities_bring_what_nobody_knows() -> None:
    clients = clients_of([True, True, True, False, True])
    found = SwapSet.of("all", clients, np.ones((2, 2)))
    assert found.total.clients_in == 1.0
    assert found.total.money_in is None
    assert found.sentence() == (
        "all would have accepted 1 client whom you refused: nobody knows what they would have "
        "brought."
    )


def test_what_is_said() -> None:
    clients = clients_of()
    assert SwapSet.of("it", clients, np.ones((2, 2))).sentence() == (
        "it would have accepted the same clients as you."
    )
    one = SwapSet.of("it", clients, np.array([[0.0, 1.0], [1.0, 1.0]])).sentence()
    assert one == "it would have refused 1 client whom you accepted: it earned 2.0."
    limited = SwapSet.of("it", clients, np.ones((2, 2)), earned=np.array([[2.0, 0], [0, 0]]))
    assert limited.total.clients_out is None
    assert limited.sentence() == "it would have left out clients who lost 7.0."


def sales(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    week = np.repeat(np.arange(1, 31), 20)
    job = np.where(np.arange(week.size) % 2 == 0, "student", "clerk")
    bought = rng.random(week.size) < np.where(job == "student", 0.4, 0.1)
    return pd.DataFrame({"week": week, "job": job, "bought": bought.astype(float)})


COLUMNS = {"category": "job", "time": "week", "reward": "bought", "cost": 1, "revenue": 5}


def test_sums_are_those_of_the_entries() -> None:
    found = pb.backtest(sales(), **COLUMNS, policies=["kl-ucb", "ts"], replays=0, shuffles=0)
    clients = found.past.clients
    for entry in found.policies:
        swaps = swap_set(entry, clients)
        assert swaps is not None
        total = swaps.total
        assert total.money_unchanged + total.money_in == pytest.approx(entry.profit)
        assert total.money_unchanged + total.money_out == pytest.approx(clients.profit.sum())
        assert total.clients_unchanged == pytest.approx(entry.clients)
        assert total.clients_unchanged + total.clients_out == len(clients)
        assert (total.clients_out or 0.0) > 50.0
        assert swaps.to_dict()["sentence"].startswith(f"{entry.name} would have refused ")
    assert swap_set(found["hindsight"], clients) is None


@pytest.mark.parametrize("keeps_refused", [True, False])
def test_sums_of_a_log_are_those_of_the_estimates(keeps_refused: bool) -> None:
    table = sales()
    rng = np.random.default_rng(2)
    table["mailed"] = (rng.random(len(table)) < 0.7).astype(int)
    table["chance"] = 0.7
    if not keeps_refused:
        table = table[table.mailed == 1]
    log = {"accepted": "mailed", "propensity": "chance"}
    found = pb.backtest(table, **COLUMNS, **log, policies=["kl-ucb"], replays=0, shuffles=0)
    (entry,) = found.policies
    clients = found.past.clients
    swaps = swap_set(entry, clients)
    assert swaps is not None
    assert swaps.is_estimated
    total, past = swaps.total, clients.profit[clients.logged].sum()
    assert total.money_unchanged + total.money_in == pytest.approx(entry.profit)
    assert total.money_unchanged + total.money_out == pytest.approx(past)
    assert clients.logged is not None
    assert total.clients_unchanged + total.clients_out == clients.logged.sum()
    assert (total.clients_in or 0.0) > 30.0
    assert "by estimate, they would have " in swaps.sentence()


def test_with_a_limit_profits_are_known_and_clients_are_not() -> None:
    found = pb.backtest(
        sales(), **COLUMNS, policies=["kl-ucb"], replays=0, shuffles=0, places=8, seeds=3
    )
    (entry,) = found.policies
    swaps = swap_set(entry, found.past.clients, is_limited=True)
    assert swaps is not None
    assert swaps.total.money_unchanged == pytest.approx(entry.profit)
    assert swaps.total.clients_out is None
    table = found.past.clients.profit_by_cell
    assert swaps.total.money_out == pytest.approx(table.sum() - entry.profit)
