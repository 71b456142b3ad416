"""What was known by a round: sums of rounds, and lending books, against slow ways."""

from dataclasses import replace

import numpy as np
import pytest

from profitable.advice.as_of import BooksAsOf, SumsAsOf
from profitable.advice.judged import BY_BETS, BY_ORDER, BY_PERIODS
from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import PeriodTest
from profitable.advice.stop_list import probabilities
from profitable.agent.loan_book import BookReading
from profitable.common.types import IntArray
from profitable.model.lending import Lending
from profitable.past.past import NEVER_KNOWN, SingleClients
from profitable.past.past_loans import book_of

TERMS = Lending(required=0.05, recovery=0.1, lag=2)
ROUNDS = 30


def loans(seed: int = 1, size: int = 4_000) -> SingleClients:
    """Loans of three categories; loans over 24 rounds are new in round 16."""
    rng = np.random.default_rng(seed)
    asked = rng.integers(1, ROUNDS + 1, size)
    term = np.where(asked > 15, rng.choice([12, 24], size), 12)
    category = rng.integers(0, 3, size)
    default = rng.geometric(np.array([0.005, 0.01, 0.05])[category])
    end = np.minimum(default, term)
    defaulted = default < term
    known = asked + end + np.where(defaulted, 2, 0)
    return SingleClients.of(
        names="abc",
        labels=[str(each) for each in range(ROUNDS)],
        round=asked,
        category=category,
        known=np.where(known > 50, NEVER_KNOWN, known),
        reward=np.zeros(size),
        profit=np.zeros(size),
        amount=np.ones(size),
        term=term,
        rate=np.full(size, 0.12),
        defaulted=defaulted & (known <= 50),
    )


def again(clients: SingleClients, times: IntArray) -> SingleClients:
    """Clients whose rounds are there so often."""
    rows = np.repeat(np.arange(len(clients)), times[clients.round - 1])
    names = ("round", "category", "known", "reward", "profit", "amount")
    loan = ("term", "rate", "defaulted") if clients.term is not None else ()
    return SingleClients.of(
        names=clients.names,
        labels=clients.labels,
        **{name: getattr(clients, name)[rows] for name in names + loan},
    )


def columns(reading: BookReading) -> np.ndarray:
    return reading.columns


@pytest.mark.parametrize("end", [10, 14, 22, None])
def test_books_are_those_of_the_loans_and_ends_known_by_then(end: int | None) -> None:
    clients = loans()
    times = np.random.default_rng(2).integers(1, 4, ROUNDS)
    found = BooksAsOf(clients, [5, end], TERMS)
    for weights, given in ((np.ones(ROUNDS, np.int64), clients), (times, again(clients, times))):
        slow = book_of(given, TERMS, end).read(np.ones(3))
        fast = found.book(1, weights).read(np.ones(3))
        np.testing.assert_allclose(columns(fast), columns(slow), rtol=1e-9, atol=1e-12)


def test_a_book_forgets_rounds_that_are_left_out() -> None:
    clients = loans()
    times = np.where(np.arange(ROUNDS) % 3 == 0, 0, 1)
    slow = book_of(again(clients, times), TERMS, 20).read(np.ones(3))
    fast = BooksAsOf(clients, [20], TERMS).book(0, times).read(np.ones(3))
    np.testing.assert_allclose(columns(fast), columns(slow), rtol=1e-9, atol=1e-12)


def test_loans_that_count_are_those_that_ended() -> None:
    clients = loans()
    found = BooksAsOf(clients, [20], TERMS)
    asked = clients.round <= 20
    assert found.clients[0] == (asked & (clients.known <= 20)).sum()
    assert found.clients[0] + found.open[0] == asked.sum()


def returns(loss: float = 0.1) -> SingleClients:
    """Clients of two categories whose gains are known three rounds late."""
    rng = np.random.default_rng(1)
    asked = rng.integers(1, ROUNDS + 1, 1_500)
    category = rng.integers(0, 2, asked.size)
    profit = rng.normal(0.1 - (0.1 + loss) * category)
    return SingleClients.of(
        names="ab",
        labels=[str(each) for each in range(ROUNDS)],
        round=asked,
        category=category,
        known=asked + 3 * (profit > 0.0),
        reward=profit,
        profit=profit,
        amount=np.ones(asked.size),
    )


def test_sums_of_rounds_in_their_places_are_the_outcomes() -> None:
    clients = returns()
    found = SumsAsOf(clients, [12, 20, None])
    once = np.arange(ROUNDS)[np.newaxis]
    for place, end in enumerate((12, 20, None)):
        outcomes = Outcomes.of(clients, until=end)
        assert found.pays(place, once)[0].tolist() == probabilities(outcomes).tolist()
        assert found.clients[place] == outcomes.clients.sum()
        assert found.open[place] == outcomes.open.sum()


def test_a_round_in_place_of_a_mature_one_counts_with_all_its_outcomes() -> None:
    clients = returns()
    found, mature = SumsAsOf(clients, [20]), Outcomes.of(clients, until=20).mature
    assert mature == 17
    rounds = np.arange(ROUNDS)
    rounds[:3] = 19  # not mature as of 20
    rounds[mature:] = 0  # which do not count
    every = Outcomes.of(clients)
    other = replace(
        every, clients=every.clients[rounds], profit=every.profit[rounds], mature=mature
    )
    slow = replace(other, most=found.outcomes[0].most)
    assert found.pays(0, rounds[np.newaxis])[0] == pytest.approx(probabilities(slow), rel=1e-3)


def test_portfolios_side_by_side_are_tested_as_if_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SumsAsOf(returns(), [25])
    rounds = np.random.default_rng(3).integers(0, ROUNDS, (7, ROUNDS))
    together = found.pays(0, rounds)
    assert together.shape == (7, 2)
    monkeypatch.setattr("profitable.advice.as_of.MOST_SIDE_BY_SIDE", 1)
    assert [found.pays(0, each[np.newaxis])[0].tolist() for each in rounds] == together.tolist()
    assert found.pays(0, rounds).tolist() == together.tolist()


@pytest.mark.parametrize("how", [BY_PERIODS, BY_ORDER])
def test_portfolios_are_tested_as_the_list_is(how: str) -> None:
    """Both looks at each portfolio, as at outcomes with its rounds in their places."""
    found = SumsAsOf(returns(), [None], how=how)
    rounds, every = np.random.default_rng(4).integers(0, ROUNDS, (20, ROUNDS)), found.outcomes[0]
    for row, pays in zip(rounds, found.pays(0, rounds), strict=True):
        drawn = replace(every, clients=every.clients[row], profit=every.profit[row])
        drawn = replace(drawn, most=found.most[0][row].max())
        test = PeriodTest.of(drawn, looks_twice=how == BY_PERIODS)
        assert pays.tolist() == test.both.tolist()
        assert (test.recent is None) == (how == BY_ORDER)


def test_the_largest_profit_is_that_of_the_rounds_that_are_there() -> None:
    clients = returns(0.3)
    profit = clients.profit.copy()
    first = np.flatnonzero((clients.round == 5) & (clients.category == 0))[0]
    profit[first] = 40.0  # of the other category
    found, rounds = SumsAsOf(replace(clients, profit=profit), [20]), np.arange(ROUNDS)
    without = rounds.copy()
    without[4] = 3
    slow = Outcomes.of(again(clients, np.bincount(without, minlength=ROUNDS)), until=20)
    assert slow.most is not None
    assert slow.most < 5.0
    sums = replace(slow, clients=slow.clients[without], profit=slow.profit[without])
    twice = np.bincount(without, minlength=ROUNDS)[without][:, np.newaxis]
    sums = replace(sums, clients=sums.clients / twice, profit=sums.profit / twice)
    with_it, other = found.pays(0, np.array([rounds, without]))[:, 1]
    assert other == pytest.approx(probabilities(sums)[1], rel=1e-9)
    assert with_it > 1.1 * other


@pytest.mark.parametrize("how", [BY_PERIODS, BY_BETS])
def test_nothing_is_said_where_nothing_is_mature(how: str) -> None:
    """Because most clients of every round are open when the file ends."""
    waiting = np.full((ROUNDS, 2), 1_000.0)
    found = SumsAsOf(returns(), [None], how=how, still_open=waiting)
    assert found.mature == (0,)
    said = found.pays(0, np.array([np.arange(ROUNDS)] * 3))
    assert said.shape == (3, 2)
    assert np.isnan(said).all()


def test_bets_are_on_the_rounds_that_are_there() -> None:
    clients = returns(2.0)
    found, other = SumsAsOf(clients, [20], how=BY_BETS), np.full((1, ROUNDS), 4)
    lost = found.all.profit[4, 1] / found.all.clients[4, 1]
    most = found.outcomes[0].most
    assert lost < 0.0
    assert most is not None
    # Seventeen times the same bet, with each of five stakes.
    stakes = 0.5 ** np.arange(5)
    capital = np.mean((1.0 - stakes * lost / most) ** 17)
    assert found.pays(0, other)[0, 1] == pytest.approx(1.0 / capital, rel=1e-6)


def test_books_take_rounds_as_often_as_they_are_there() -> None:
    clients = loans()
    found, rounds = BooksAsOf(clients, [20], TERMS), np.arange(ROUNDS)
    rounds[:5] = 7
    slow = book_of(again(clients, np.bincount(rounds, minlength=ROUNDS)), TERMS, 20)
    pays = [slow.read(np.ones(3)).standing(k).pays for k in range(3)]
    assert found.pays(0, rounds[np.newaxis])[0] == pytest.approx(pays, rel=1e-9)


def test_nothing_is_said_where_no_round_is_mature() -> None:
    """One client in seven has no outcome, in old rounds as in young ones."""
    clients = returns()
    missing = np.full((ROUNDS, 2), 10.0)
    found = SumsAsOf(clients, [12, None], still_open=missing)
    assert found.mature == (0, 0)
    many = np.zeros((3, ROUNDS), dtype=np.int64)
    assert np.isnan(found.pays(0, many)).tolist() == [[True, True]] * 3
