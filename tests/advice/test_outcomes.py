"""Outcomes as they were known on a day: compared with arithmetic by hand."""

import numpy as np
import pytest

from profitable.advice.outcomes import Outcomes
from profitable.past.cells import GroupedClients
from profitable.past.past import NEVER_KNOWN, SingleClients


def clients_of(rows, rounds, names=("a", "b"), **more) -> SingleClients:
    """Clients from (round, category, known, profit)."""
    asked, category, known, profit = zip(*rows, strict=True)
    return SingleClients.of(
        names=names,
        labels=[str(t + 1) for t in range(rounds)],
        round=asked,
        category=category,
        known=known,
        reward=profit,
        profit=profit,
        **more,
    )


def test_the_end_of_a_file_counts_every_outcome():
    rows = [(1, 0, 9, 5.0), (2, 1, NEVER_KNOWN, -3.0), (3, 0, 3, 1.0)]
    found = Outcomes.of(clients_of(rows, 3))
    assert found.mature == 3
    assert found.clients.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert found.profit.tolist() == [[5, 0], [0, -3], [1, 0]]
    assert not found.open.any()


def test_a_young_round_whose_losses_are_known_first_does_not_count():
    # In each of four rounds, a loss is known at once and 19 gains two rounds later.
    rows = [(t, 0, t, -10.0) for t in range(1, 5)]
    rows += [(t, 0, t + 2, 1.0) for t in range(1, 5) for _ in range(19)]
    found = Outcomes.of(clients_of(rows, 4), until=4)
    assert found.mature == 2
    assert found.clients[:, 0].tolist() == [20, 20, 0, 0]
    assert found.profit[:, 0].tolist() == [9, 9, 0, 0]
    assert found.open[:, 0].tolist() == [0, 0, 20, 20]
    # Who asks later is not open, and nothing of round 4 has been seen.
    assert Outcomes.of(clients_of(rows, 4), until=3).open[:, 0].tolist() == [0, 20, 20, 0]
    assert Outcomes.of(clients_of(rows, 4), until=2).mature == 0


def test_many_old_rounds_do_not_make_a_young_one_mature():
    # 98 % of all outcomes are known, and of the youngest two rounds only the losses.
    rows = [(t, 0, t, -10.0) for t in range(1, 101)]
    rows += [(t, 0, t + 2, 1.0) for t in range(1, 101) for _ in range(9)]
    found = Outcomes.of(clients_of(rows, 100), until=100)
    assert found.mature == 98
    assert found.profit.sum() == 98 * (9 - 10)


def test_19_of_20_are_enough_and_the_last_is_open():
    rows = [(1, 0, 1, 1.0)] * 19 + [(1, 0, 5, 1.0)] + [(2, 0, 2, 1.0)] * 20
    found = Outcomes.of(clients_of(rows, 2), until=2)
    assert found.mature == 2
    assert found.clients[:, 0].tolist() == [19, 20]
    assert found.open[:, 0].tolist() == [1, 0]
    rows = [(1, 0, 5, 1.0), *rows]  # 19 of 21, and nobody is ever old enough
    assert Outcomes.of(clients_of(rows[:21], 2), until=2).mature == 0


def test_an_age_may_be_given():
    rows = [(t, 0, t + 3, 1.0) for t in range(1, 5)]
    found = Outcomes.of(clients_of(rows, 4), until=4, matures=1)
    assert found.mature == 3
    assert found.clients[:, 0].tolist() == [1, 0, 0, 0]  # of the others nothing is known
    assert found.open[:, 0].tolist() == [0, 1, 1, 1]


def test_a_day_after_the_last_client_asked():
    rows = [(1, 0, 8, 2.0), (2, 0, 9, 2.0)]
    assert Outcomes.of(clients_of(rows, 2), until=8).mature == 1
    assert Outcomes.of(clients_of(rows, 2), until=9).mature == 2


def test_rows_without_an_outcome_keep_their_rounds_from_counting():
    # Two old rounds are known; of the third, 1 outcome of 2 is not in the file.
    rows = [(t, 0, t, 1.0) for t in (1, 2) for _ in range(300)] + [(3, 0, 3, -1.0)]
    still_open = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    found = Outcomes.of(clients_of(rows, 3), still_open=still_open)
    assert found.mature == 3  # 401 of 402
    assert found.open.sum() == 1
    still_open[2, 0] = 40.0
    found = Outcomes.of(clients_of(rows, 3), still_open=still_open)
    assert found.mature == 2
    assert found.open[2, 0] == 41.0
    # With dates, it is the age that decides: known at age 2.
    rows = [(t, 0, t + 2, 1.0) for t in (1, 2) for _ in range(300)]
    found = Outcomes.of(clients_of(rows, 3), still_open=still_open)
    assert found.mature == 2
    assert found.clients.sum() == 600


def test_refused_clients_have_no_outcome():
    rows = [(1, 0, 1, 1.0), (1, 0, 1, -50.0), (2, 1, 2, 3.0)]
    given = {"logged": [True, False, True], "propensity": [0.5, 0.5, 0.5]}
    found = Outcomes.of(clients_of(rows, 2, **given))
    assert found.clients.tolist() == [[1, 0], [0, 1]]
    assert found.profit.tolist() == [[1, 0], [0, 3]]
    assert not found.open.any()


def test_rows_count_as_often_as_they_are_drawn():
    rows = [(1, 0, 1, 1.0), (1, 0, 1, 4.0), (2, 1, 4, 3.0)]
    clients = clients_of(rows, 2, amount=[10.0, 20.0, 40.0])
    order = {1.0: 2, 4.0: 0, 3.0: 3}
    weights = np.array([order[each] for each in clients.profit.tolist()])
    found = Outcomes.of(clients, weights=weights)
    assert found.clients.tolist() == [[2, 0], [0, 3]]
    assert found.profit.tolist() == [[2, 0], [0, 9]]
    assert found.amount is not None
    assert found.amount.tolist() == [[20, 0], [0, 120]]
    assert Outcomes.of(clients, until=2, weights=weights).open.tolist() == [[0, 0], [0, 3]]


@pytest.mark.parametrize("until", [None, 3, 5])
def test_cells_are_added_up_as_rows(until):
    rng = np.random.default_rng(5)
    asked, category = rng.integers(1, 6, 300), rng.integers(0, 2, 300)
    known, profit = asked + rng.integers(0, 3, 300), rng.integers(-3, 4, 300).astype(float)
    rows = list(zip(asked, category, known, profit, strict=True))
    single = Outcomes.of(clients_of(rows, 5), until=until)
    cells = GroupedClients.of(
        names=("a", "b"),
        labels="12345",
        folds=2,
        round=asked,
        category=category,
        known=known,
        fold=rng.integers(0, 2, 300),
        sums={
            "number": np.ones(300),
            "total": profit,
            "profit": profit,
            "profit_squares": profit**2,
            "profit_cubes": profit**3,
            "profit_fourths": profit**4,
        },
    )
    grouped = Outcomes.of(cells, until=until)
    assert single.mature == grouped.mature
    for name in ("clients", "profit", "open"):
        np.testing.assert_array_equal(getattr(single, name), getattr(grouped, name))
    # Cells keep sums: what they say of the largest and the smallest profit is a bound.
    assert single.most == 3.0
    assert single.least == -3.0
    assert grouped.most is not None
    assert grouped.least is not None
    assert 3.0 <= grouped.most < 9.0
    assert -9.0 < grouped.least <= -3.0


def test_nothing_that_is_known_later_is_used():
    rng = np.random.default_rng(6)
    asked = rng.integers(1, 21, 2_000)
    known = asked + rng.integers(0, 6, 2_000)
    profit = rng.normal(size=2_000)
    later = known > 12
    changed = np.where(later, known + rng.integers(0, 9, 2_000), known)
    rows, others = (
        list(zip(asked, np.zeros(2_000, int), each, values, strict=True))
        for each, values in ((known, profit), (changed, np.where(later, 99.0, profit)))
    )
    first, second = (Outcomes.of(clients_of(each, 20), until=12) for each in (rows, others))
    assert 0 < first.mature == second.mature < 12
    for name in ("clients", "profit", "open"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-9)
