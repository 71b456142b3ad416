"""Clients who are opened, and whose outcomes come late: they count as the agent's
emergence says, each once.
"""

from dataclasses import replace
from typing import Any

import pytest

import profitable as pb
from tests.portfolio.model import Model, assert_same, assert_same_decision
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, small, statuses

FORMS: dict[str, dict[str, Any]] = {
    "at any time": {},
    "at maturity": {"matures": 3},
    "at once": {"matures": 0},
    "evenly": {"matures": 3, "emerges": "evenly"},
    "by a curve": {"matures": 3, "emerges": [0.1, 0.4, 1.0]},
    "of a promise": {"matures": 3, "emerges": "evenly", "promised": 0.9},
}


def cars(number: int, **terms: Any) -> list[pb.Client]:
    return [pb.Client(f"car {i}", "cars", **terms) for i in range(number)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", ["kl-ucb", "ts:forget=0.9"])
def test_late_outcomes_count_as_an_agent_counts_them(place: Place, policy: str, form: str) -> None:
    book, model = (
        place.create(categories(), policy=policy, seed=7),
        Model(pb.Agent(categories(), policy=policy, seed=7)),
    )
    reports: dict[int, list[tuple[int, float]]] = {
        1: [(0, 0.0)],
        2: [(1, 0.0), (2, 1.0)],
        4: [(3, 1.0), (4, 0.0)],
    }
    clients = cars(6, decision=1, **FORMS[form])
    for round in range(1, 7):
        assert_same_decision(book.decide(key=str(round)), model.decide(str(round)))
        if round == 1:
            assert (
                statuses(book.open(clients))
                == ["counted"] * 6
                == [model.open(client) for client in clients]
            )
        sent = [
            pb.Outcome(f"car {i}", "cars", reward=reward) for i, reward in reports.get(round, [])
        ]
        assert statuses(book.observe(sent)) == [model.observe(outcome) for outcome in sent]
        book.close()
        book = place.open()
        assert_same(book, model.agent)
    standing = book.agent["cars"]
    assert (standing.clients, standing.waiting) == (5, 1)
    assert_clean(book)


def test_an_example_worked_by_hand(place: Place) -> None:
    book = small(place, "kl-ucb")
    book.open(cars(4, matures=4, emerges="evenly"))
    book.observe([pb.Outcome("car 0", "cars", reward=0)])  # one of four is lost at once
    counted: list[tuple[float, float | None]] = []
    for day in range(2, 7):
        book.decide(key=f"day {day}")
        counted.append((book.agent["cars"].counted, book.agent["cars"].mean))
    # After one round each counts as a quarter: 1 in all, of which one is lost; after
    # four they count as 4.
    assert counted == [(1.0, 0.0), (2.0, 0.5), (3.0, 2 / 3), (4.0, 0.75), (4.0, 0.75)]


def test_what_is_held_counts_when_the_cohort_has_matured(place: Place) -> None:
    book = small(place, "kl-ucb")
    book.open(cars(3, matures=2))
    book.observe([pb.Outcome("car 0", "cars", reward=0)])
    assert (book.agent["cars"].clients, book.agent["cars"].counted) == (1, 0.0)
    book.decide(key="day 2")
    assert book.agent["cars"].counted == 0.0
    book.decide(key="day 3")
    assert book.agent["cars"].counted == 1.0
    book.observe([pb.Outcome("car 1", "cars", reward=1)])
    assert (book.agent["cars"].counted, book.agent["cars"].missing) == (2.0, 1)


def test_a_client_is_opened_once(place: Place) -> None:
    book = small(place)
    book.decide(key="day 2")
    client = pb.Client("x", "cars", decision=1, matures=3, emerges=[0.5, 0.5, 1], promised=0.9)
    assert statuses(book.open([client, client])) == ["counted", "known"]
    before = place.dump()
    others = [
        replace(client, category="shops"),
        replace(client, decision=2),
        replace(client, matures=4),
        replace(client, matures=None, emerges=None, promised=None),
        replace(client, emerges=[0.5, 0.6, 1]),
        replace(client, emerges="evenly"),
        replace(client, promised=0.8),
    ]
    for again in (book, place.open()):
        assert statuses(again.open([client, replace(client, decision=None)])) == ["known", "known"]
        receipt = again.open(others)
        assert statuses(receipt) == ["refused"] * len(others)
        assert all("'x'" in answer.why and "line 4" in answer.why for answer in receipt)
    assert place.dump() == before
    assert book.agent["cars"].waiting == 1
    assert_clean(book)


@pytest.mark.parametrize(
    ("client", "part"),
    [
        (pb.Client("x", "nobody"), "nobody"),
        (pb.Client("x", "cars", decision=3), "decision = 3"),
        (pb.Client("x", "students", decision=2), "did not accept"),
        (pb.Client("x", "cars", emerges="evenly"), "matures"),
        (pb.Client("x", "cars", matures=3, emerges="never"), "emerges"),
        (pb.Client("x", "cars", matures=3, emerges=[0.5, 1]), "shares"),
        (pb.Client("x", "cars", matures=3, promised=0.5), "promised"),
        (pb.Client("x", "shops", matures=3, emerges="evenly"), "promised"),
        (pb.Client("x", "cards", matures=3, emerges="evenly"), "emerges"),
        # The others of that round have 3.
        (pb.Client("x", "cars", decision=1, matures=9), "matures"),
        (pb.Client("done", "cars"), "outcome"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_client_who_cannot_be_opened(place: Place, client: pb.Client, part: str) -> None:
    book = small(place)
    book.pause("students")
    book.decide(key="day 2")
    book.open([pb.Client("early", "cars", decision=1, matures=3)])
    book.observe([pb.Outcome("done", "cars", reward=1)])
    before = place.dump()
    fine = pb.Client("fine", "cars", decision=1, matures=3)
    assert statuses(book.open([client, fine], all_or_nothing=True)) == ["refused", "left out"]
    receipt = book.open([client, fine], dry_run=True)
    assert statuses(receipt) == ["refused", "counted"]
    assert part in receipt[0].why
    assert place.dump() == before
    assert statuses(book.open([client, fine])) == ["refused", "counted"]
    assert_clean(place.open())


def test_an_outcome_must_fit_the_client_who_was_opened(place: Place) -> None:
    book = small(place)
    book.decide(key="day 2")
    book.open([pb.Client("x", "cars", decision=1)])
    wrong = [pb.Outcome("x", "shops", reward=1), pb.Outcome("x", "cars", reward=1, decision=2)]
    receipt = book.observe(wrong)
    assert statuses(receipt) == ["refused", "refused"]
    assert all("was opened with" in answer.why and "line 4" in answer.why for answer in receipt)
    assert statuses(book.observe([pb.Outcome("x", "cars", reward=1)])) == ["counted"]
    assert place.rows("SELECT decision, refers FROM profitable_journal WHERE kind = 'outcome'") == [
        (1, 4)
    ]
    assert statuses(book.observe([pb.Outcome("x", "cars", reward=1, decision=1)])) == ["known"]


@pytest.mark.parametrize("policy", ["kl-ucb", "kl-emp-ucb", "kl-ucb:window=3"])
def test_others_take_no_place_among_those_who_wait(place: Place, policy: str) -> None:
    book = small(place, policy)
    book.open([*cars(3), *(pb.Client(f"late {i}", "cars", matures=4) for i in range(2))])
    for number in range(4):
        book.observe([pb.Outcome(f"other {number}", "cars", reward=1)])
        assert book.agent["cars"].waiting == 5
    for number in range(3):
        book.observe([pb.Outcome(f"car {number}", "cars", reward=1)])
        assert book.agent["cars"].waiting == 4 - number
    book.observe([pb.Outcome("late 0", "cars", reward=1), pb.Outcome("another", "cars", reward=0)])
    assert (book.agent["cars"].waiting, book.agent["cars"].open) == (1, 1)
    assert_clean(place.open())
