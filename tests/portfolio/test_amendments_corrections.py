"""Corrections: a new line that names the old one, after which everything is as if it
had been right at first.
"""

from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.kernels.agent_table import AgentRow
from tests.portfolio.model import Model, assert_same
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, outcomes, small, statuses

POLICIES = [
    "kl-ucb",
    "ts:forget=0.8",
    "kl-ucb:window=3",
    "kl-emp-ucb",
    "kl-emp-ucb:window=2",
    "ucb-v:forget=0.9",
]
COUNTED = (
    AgentRow.CLIENTS,
    AgentRow.TOTAL,
    AgentRow.KNOWN,
    AgentRow.WAITING,
    AgentRow.REVENUE,
    AgentRow.COST,
    AgentRow.LENT,
    AgentRow.SPREAD,
    AgentRow.OUTSTANDING,
)


def assert_as_if(book: pb.Portfolio, other: pb.Portfolio) -> None:
    """Both know the same, but for rounding."""
    mine, theirs = (each.agent.ledger.table[list(COUNTED)] for each in (book, other))
    assert np.allclose(mine, theirs, rtol=1e-9, atol=1e-9), (mine - theirs).tolist()
    first, second = book.agent.decide(), other.agent.decide()
    assert np.allclose(first.evidence, second.evidence, rtol=1e-6, atol=1e-9)


RIGHT: dict[str, tuple[dict[str, float], dict[str, float]]] = {  # what was said, and what is right
    "students": ({"reward": 1.0}, {"reward": 0.0}),
    "shops": ({"reward": 17.0, "cost": 3.0}, {"reward": 2.0}),
    "cars": ({"reward": 1.0, "cost": 700.0}, {"reward": 0.0, "cost": 900.0}),
    "cards": ({"reward": 1.9, "amount": 50.0}, {"reward": 0.4, "amount": 80.0}),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_as_if_it_had_been_right_at_first(two_places: tuple[Place, Place], policy: str) -> None:
    wrong, right = (small(place, policy) for place in two_places)
    for book in (wrong, right):
        for name, rewards in {
            "students": [1, 0],
            "shops": [3, 0],
            "cars": [1, 1],
            "cards": [1.1, 0.3],
        }.items():
            book.observe(outcomes(name, *rewards, prefix=name))
        book.decide(key="day 2")
        for name, (said, correct) in RIGHT.items():
            fields = said if book is wrong else {**said, **correct}
            book.observe([pb.Outcome(f"late {name}", name, **fields)])
        book.set_threshold("cars", 0.95)  # what was lent before was lent at another rate
        book.set_threshold("students", 0.45)
        book.decide(key="day 3")
    for name, (_, correct) in RIGHT.items():
        assert wrong.correct(f"late {name}", **correct, reason="a typing error").status == "counted"
        assert wrong.correct(f"late {name}", **correct).status == "known"
    assert_as_if(wrong, right)
    for book in (wrong, right):
        book.decide(key="day 4")
        book.decide(key="day 5")
    assert_as_if(wrong, right)
    assert_clean(wrong)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_taken_back_was_never_said(two_places: tuple[Place, Place], policy: str) -> None:
    wrong, right = (small(place, policy) for place in two_places)
    for book in (wrong, right):
        book.observe(
            [
                *outcomes("students", 1, 0, prefix="s"),
                *outcomes("cards", 1.1, prefix="c", amount=30.0),
            ]
        )
        book.decide(key="day 2")
    wrong.observe([pb.Outcome(f"late {name}", name, **said) for name, (said, _) in RIGHT.items()])
    for book in (wrong, right):
        book.decide(key="day 3")
    for name in RIGHT:
        assert wrong.correct(f"late {name}", take_back=True).status == "counted"
        assert wrong.correct(f"late {name}", take_back=True).status == "known"
        with pytest.raises(pb.errors.CorrectionError, match="was taken back in line"):
            wrong.correct(f"late {name}", reward=1)
    assert_as_if(wrong, right)
    assert wrong.agent.profit == pytest.approx(right.agent.profit, rel=1e-12)
    assert_clean(wrong)


@pytest.mark.parametrize("first", ["kl-ucb", "kl-ucb:forget=0.7", "kl-ucb:window=3"])
@pytest.mark.parametrize("then", ["ts", "ts:forget=0.8", "ts:window=3", "ts:window=2"])
def test_after_the_policy_changed(two_places: tuple[Place, Place], first: str, then: str) -> None:
    """An outcome's weight depends on the policies since; the money does not."""
    wrong, right = (small(place, first) for place in two_places)
    for book in (wrong, right):
        is_wrong = book is wrong
        book.observe(outcomes("shops", 4, 7, 900 if is_wrong else 3, prefix="early"))
        book.observe(outcomes("shops", 5, *[8][: int(is_wrong)], prefix="back"))
        book.decide(key="day 2")
        book.observe(outcomes("shops", 2, 700 if is_wrong else 6, prefix="late"))
        book.set_policy(then)
        book.decide(key="day 3")
    assert wrong.correct("early 3", reward=3).status == "counted"
    assert wrong.correct("back 2", take_back=True).status == "counted"
    assert wrong.correct("late 2", reward=6).status == "counted"
    for day in range(4, 8):
        assert_as_if(wrong, right)
        assert wrong.agent["shops"].profit == pytest.approx(right.agent["shops"].profit)
        for book in (wrong, right):
            book.decide(key=f"day {day}")
    # Long forgotten, and its money counts.
    assert wrong.correct("early 1", reward=5).status == "counted"
    assert wrong.agent["shops"].profit == pytest.approx((right.agent["shops"].profit or 0.0) + 1)
    assert_clean(wrong)


def test_a_chain_of_corrections(place: Place) -> None:
    book = small(place, "kl-ucb")
    book.observe(outcomes("shops", 4, 9, prefix="shop"))
    said = pb.Outcome("shop 1", "shops", reward=4)
    for line, reward in enumerate((5.0, 6.0, 4.0, 7.0), 5):
        answer = book.correct("shop 1", reward=reward)
        assert (answer.status, answer.line) == ("counted", line)
        assert book.correct("shop 1", reward=reward).status == "known"
        assert book.agent["shops"].mean == (reward + 9.0) / 2.0
        # Both what was said at first and what is right now is known; anything else is
        # refused.
        now = pb.Outcome("shop 1", "shops", reward=reward)
        other = pb.Outcome("shop 1", "shops", reward=reward + 1.0)
        for asked in (book, place.open()):
            assert statuses(asked.observe([said, now, other])) == ["known", "known", "refused"]
    chain = place.rows(
        "SELECT line, refers, reward FROM profitable_journal WHERE kind = 'correct' ORDER BY line"
    )
    assert chain == [(5, 3, 5.0), (6, 5, 6.0), (7, 6, 4.0), (8, 7, 7.0)]
    first = place.rows("SELECT reward FROM profitable_journal WHERE line = 3")
    assert first == [(4.0,)]  # the past is never rewritten
    book.correct("shop 1", take_back=True)
    assert (book.agent["shops"].clients, book.agent["shops"].mean) == (1, 9.0)
    assert_clean(book)


def test_money_is_that_of_the_time(place: Place) -> None:
    book = small(place, "kl-ucb")
    book.observe([pb.Outcome("car", "cars", reward=1), pb.Outcome("student", "students", reward=1)])
    paid = book.agent.profit
    assert paid == pytest.approx(120.0 + 0.6)
    book.set_threshold("cars", 0.99)
    book.set_threshold("students", 0.7)
    assert book.agent.profit == paid
    book.correct("car", reward=0)
    book.correct("student", reward=0)
    assert book.agent.profit == pytest.approx(-700.0 - 0.4)
    book.correct("car", cost=500)  # of which 30 % came back
    assert book.agent.profit == pytest.approx(-350.0 - 0.4)
    book.correct("car", reward=1)
    assert book.agent.profit == pytest.approx(60.0 - 0.4)
    book.correct("car", take_back=True)
    book.correct("student", take_back=True)
    assert book.agent.profit == 0.0
    assert_clean(book)


def test_the_price_at_the_time_after_many_changes(place: Place) -> None:
    """A client costs what the threshold was when he was reported, whichever comes
    after.
    """
    book = place.create([pb.Category("a", pb.Poisson(), threshold=1.0)], policy="kl-ucb")
    for number in range(5):
        book.set_threshold("a", 1.0 + number)
        book.observe([pb.Outcome(str(number), "a", reward=3)])
    assert book.agent["a"].cost == 15.0
    book.correct("1", take_back=True)
    assert book.agent["a"].cost == 13.0
    book.correct("3", reward=2, cost=0.5)
    assert book.agent["a"].cost == 9.5
    book.correct("0", reward=2)
    assert book.agent["a"].cost == 9.5
    assert_clean(book)


@pytest.mark.parametrize("emerges", [None, "evenly", (0.2, 0.6, 1.0)])
@pytest.mark.parametrize("policy", ["kl-ucb", "ts:forget=0.8", "kl-ucb:window=3"])
def test_corrections_in_cohorts(place: Place, policy: str, emerges: Any) -> None:
    book, model = (
        place.create(categories(), policy=policy, seed=7),
        Model(pb.Agent(categories(), policy=policy, seed=7)),
    )
    clients = [
        pb.Client(f"car {i}", "cars", decision=1, matures=3, emerges=emerges) for i in range(4)
    ]
    sent = [pb.Outcome(f"car {i}", "cars", reward=float(i % 2)) for i in range(4)]
    right = {
        3: ("car 0", {"reward": 1.0}),
        4: ("car 1", {"take_back": True}),
        5: ("car 2", {"reward": 1.0}),
    }
    for round in range(1, 7):
        book.decide(key=str(round))
        model.decide(str(round))
        if round == 1:
            book.open(clients)
            assert [model.open(client) for client in clients] == ["counted"] * 4
        if round == 2:
            book.observe(sent[:3])
            assert [model.observe(each) for each in sent[:3]] == ["counted"] * 3
        if round in right:
            id, change = right[round]
            assert book.correct(id, **change).status == model.correct(id, **change) == "counted"
        if round == 5:
            assert statuses(book.observe(sent[3:])) == [model.observe(sent[3])] == ["counted"]
        assert_same(book, model.agent)
    assert book.correct("car 3", reward=0).status == model.correct("car 3", reward=0.0)
    assert_same(place.open(), model.agent)
    assert_clean(book)


def test_what_cannot_be_corrected_changes_nothing(place: Place) -> None:
    book = small(place)
    book.observe(
        [pb.Outcome("x", "students", reward=1), pb.Outcome("y", "cards", reward=1.0, amount=3)]
    )
    book.open([pb.Client("waiting", "cars")])
    before = place.dump()
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("nobody", {"reward": 1}),
        ("waiting", {"reward": 1}),  # who has no outcome yet
        ("day 1", {"reward": 1}),  # is a decision
        ("x", {}),
        ("x", {"reward": 0, "take_back": True}),
        ("x", {"reward": 0.5}),
        ("x", {"reward": float("nan")}),
        ("x", {"reward": "1"}),
        ("x", {"amount": 3}),
        ("x", {"cost": -1}),
        ("x", {"reward": 0, "reason": "a\nb"}),
        ("y", {"cost": 3}),
        ("y", {"amount": 0}),
    ]
    for id, given in attempts:
        with pytest.raises(pb.errors.InputError):
            book.correct(id, **given)
        assert place.dump() == before, (id, given)
    assert book.correct("x", reward=1).status == "known"
    assert place.dump() == before
    assert book.correct("x", reward=0).status == "counted"
    assert_clean(book)
