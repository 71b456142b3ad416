"""The time split: against arithmetic by hand, and how often its interval covers."""

import os
from dataclasses import replace

import numpy as np
import pytest

import profitable as pb
from profitable.advice.lasting_luck import lasting
from profitable.advice.outcomes import Outcomes
from profitable.advice.stop_list import chosen, probabilities
from profitable.advice.time_split import Grouping, TimeSplit, split_rounds, time_splits
from profitable.past.past import SingleClients
from tests.advice.test_as_of import TERMS, loans

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"


def portfolio(
    means: list[float],
    seed: int = 1,
    *,
    rounds: int = 36,
    delay: int = 0,
    turn: int = 0,
    shock: float = 0.0,
) -> SingleClients:
    """Clients with normal profits; from round `turn` on, means have the other sign."""
    rng, size = np.random.default_rng(seed), len(means)
    number = rng.poisson(5.0, (rounds, size))
    cell = np.repeat(np.arange(number.size), number.ravel())
    asked = cell // size + 1
    sign = np.where((turn > 0) & (asked >= turn), -1.0, 1.0)
    luck = shock * rng.standard_normal(rounds)
    profit = sign * np.array(means)[cell % size] + luck[asked - 1] + rng.normal(0, 0.6, cell.size)
    return SingleClients.of(
        names=[f"c{k}" for k in range(size)],
        labels=[f"{2020 + r // 12}-{r % 12 + 1:02}" for r in range(rounds)],
        round=asked,
        category=cell % size,
        known=asked + delay * (profit > 0.0),
        reward=profit,
        profit=profit,
    )


def split(clients: SingleClients, **options: int) -> TimeSplit:
    return time_splits([Grouping("it", clients)], **{"replicates": 0, **options})[0]


@pytest.mark.parametrize("delay", [0, 5])
def test_lists_and_gains_are_those_of_a_slow_computation(delay: int) -> None:
    clients = portfolio([0.4, -0.4, 0.1, -0.2], delay=delay)
    found = split(clients)
    assert len(found.splits) >= 4
    for each, after in zip(found.splits, [*found.splits[1:], None], strict=True):
        end = clients.labels.index(each.date) + 1
        last = clients.labels.index(after.date) + 1 if after else clients.rounds
        outcomes = Outcomes.of(clients, until=end)
        listed = chosen(probabilities(outcomes), 0.1)
        assert set(each.stopped) == {f"c{k}" for k in np.flatnonzero(listed)}
        window = (clients.round > end) & (clients.round <= last)
        dropped = window & listed[clients.category]
        assert each.gain == pytest.approx(-clients.profit[dropped].sum())
        assert each.accept_all == pytest.approx(clients.profit[window].sum())
        by_category = np.bincount(clients.category[window], clients.profit[window], 4)
        assert each.possible == pytest.approx(-by_category[by_category < 0.0].sum())
        assert each.known + each.open == (clients.round <= end).sum()
        assert each.open == (0 if delay == 0 else outcomes.open.sum())
    kept = found.accepted(clients)
    assert found.gain == pytest.approx(-clients.profit_by_cell[~kept].sum())
    assert found.gain > 0.0


def test_a_list_knows_nothing_of_later_outcomes() -> None:
    clients = portfolio([0.4, -0.4, 0.1, -0.2], delay=5)
    found = split(clients)
    end = clients.labels.index(found.splits[2].date) + 1
    later = clients.known > end
    other = replace(clients, profit=np.where(later, -9.0, clients.profit))
    for one, two in zip(found.splits[:3], split(other).splits[:3], strict=True):
        assert (one.date, one.stopped, one.known) == (two.date, two.stopped, two.known)


def test_what_is_said() -> None:
    good = split(portfolio([0.5, -0.5]), replicates=50).sentence()
    assert good.startswith("Dropping what lost by then would have earned ")
    assert "more afterwards (difference 70.2, 95 %: 47.4 to 104.2)" in good
    turned = split(portfolio([0.0, -0.5], turn=8), replicates=50)
    assert turned.gain < 0.0
    assert turned.sentence().startswith("Dropping what lost by then would have LOST ")
    nothing = split(portfolio([0.5, 0.6]), replicates=50)
    assert nothing.sentence() == "Nothing to find here: nothing was listed at any of the 6 dates."
    assert (nothing.gain, nothing.low, nothing.high) == (0.0, None, None)
    assert nothing.doubt is not None
    clients = portfolio([0.5, -0.5], delay=33)
    late = split(clients)
    assert late.missed == pytest.approx(-clients.profit[clients.category == 1].sum())
    assert late.sentence().endswith("in c1, but outcomes came too late to be learnt in this file.")
    never = split(portfolio([0.5, 0.4], delay=60))
    assert never.splits == ()
    assert never.sentence() == (
        "Nothing can be said: too few rounds are left once outcomes are mature."
    )


def test_a_category_that_loses_since_is_listed_once_that_shows() -> None:
    """Of the whole past it is not sure before the end."""
    found = split(portfolio([0.5, 0.5, -0.5], turn=15))
    stopped = [each.stopped for each in found.splits]
    assert set(stopped[-1]) == {"c0", "c1"}
    assert found.gain > 0.0


def test_luck_that_lasts_makes_the_interval_wider_and_doubtful() -> None:
    clients = portfolio([0.5, -0.5])
    up = np.sin(np.arange(36) / 3.0)[clients.round - 1]
    waves = replace(clients, profit=clients.profit + up)
    found = split(waves, replicates=50)
    assert found.low is not None
    assert found.high is not None
    assert found.doubt is not None
    assert found.doubt.startswith("Neighbouring rounds are alike beyond chance (autocorrelation 0.")
    other = split(clients, replicates=50)
    assert other.doubt is None
    assert other.low is not None
    assert other.high is not None
    assert found.high - found.low > 1.5 * (other.high - other.low)


def test_whom_a_log_refused_is_no_luck() -> None:
    """The log accepts less and less; each client brings what is expected of it."""
    clients, rng = portfolio([0.5, 0.4]), np.random.default_rng(5)
    logged = rng.random(clients.size) > clients.round / 40
    log = replace(clients, logged=logged, propensity=np.full(clients.size, 0.5))
    found = Grouping("it", log)
    assert found.number.sum() == logged.sum()
    assert lasting(found.profit, found.number) == 0.0
    assert lasting(found.profit, clients.counts) > 0.0


def test_the_false_discovery_rate_is_that_of_all_groupings_together() -> None:
    weak, alone = portfolio([0.3, -0.2]), split(portfolio([0.3, -0.2]))
    many = portfolio([0.3] * 40, seed=2)
    together, other = time_splits([Grouping("weak", weak), Grouping("many", many)], replicates=0)
    assert alone.dates_listed > together.dates_listed
    assert (together.grouping, other.grouping, other.gain) == ("weak", "many", 0.0)


def test_the_same_seed_gives_the_same_interval() -> None:
    clients = portfolio([0.4, -0.4, 0.1, -0.2])
    one, two, three = (split(clients, replicates=60, seed=seed) for seed in (1, 1, 2))
    assert one == two
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.gain < one.high
    assert three.low != one.low


def test_cells_are_judged_as_rows() -> None:
    clients = portfolio([0.4, -0.4, 0.1, -0.2])
    columns = {
        "id": np.arange(len(clients)),
        "round": clients.round,
        "kind": [clients.names[k] for k in clients.category],
        "profit": clients.profit,
    }
    cells = pb.backtest.cells(
        columns, id="id", category="kind", time="round", reward="profit", cost=0
    )
    found, rows = split(cells.clients), split(clients)
    for one, two in zip(found.splits, rows.splits, strict=True):
        # Cells bound the largest profit by their moments, so they list a little less.
        assert set(one.stopped) <= set(two.stopped)
        assert one.accept_all == pytest.approx(two.accept_all)
    assert found.gain > 0.0


def test_loans_are_listed_by_their_book() -> None:
    clients = loans()
    profit = np.where(clients.category == 2, -1.0, 1.0)
    grouping = Grouping("loans", replace(clients, profit=profit), lending=TERMS)
    (found,) = time_splits([grouping], replicates=20)
    assert found.splits[-1].stopped == ("c",)
    assert "c" in found.losers
    assert found.gain == -clients.by_cell(profit)[~found.accepted(clients)].sum()
    assert found.to_dict()["sentence"] == found.sentence()


def test_dates_lie_evenly_between_the_first_and_the_end() -> None:
    assert split_rounds(40, 5, 6) == [10, 15, 20, 25, 30, 35]
    assert split_rounds(40, 38, 6) == []


def covered(means: list[float], portfolios: int, replicates: int, **law: float) -> float:
    """The share of intervals that contain the mean gain of new portfolios."""
    truth = np.mean(
        [split(portfolio(means, 10_000 + seed, **law)).gain for seed in range(4 * portfolios)]
    )
    found = [
        split(portfolio(means, seed, **law), replicates=replicates) for seed in range(portfolios)
    ]
    inside = [each.low <= truth <= each.high for each in found if each.low is not None]
    assert len(inside) > 0.9 * portfolios
    return float(np.mean(inside))


@pytest.mark.statistical
def test_intervals_cover() -> None:
    """With a coverage of 95 %, fewer than 34 of 40 are seen with probability 0.3 %."""
    assert covered([0.3, 0.2, -0.1, -0.3], 40, 80) >= 34 / 40


@pytest.mark.skipif(not SOAK, reason="minutes; make soak")
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("means", "law"),
    [
        ([0.5] * 12 + [-0.5] * 8, {}),
        ([0.2, 0.1, -0.05, -0.2], {}),
        ([0.3] * 10 + [-0.3] * 5, {"shock": 0.3}),
        ([-0.3] * 20, {}),  # what the first date lists decides
    ],
)
def test_measured_coverage(means: list[float], law: dict[str, float]) -> None:
    """The error of 600 at 95 % is 0.9 %; bounds are three of them away."""
    found = covered(means, 600, 200, rounds=60, **law)
    print(means, law, found)
    assert 0.923 <= found <= 0.977
