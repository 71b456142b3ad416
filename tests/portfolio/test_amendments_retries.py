"""An answer is lost, somebody else does something, and the first command is sent again:
nothing is undone.
"""

from collections.abc import Callable
from typing import Any

import pytest

import profitable as pb
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, outcomes, small, statuses

NEW = pb.Category("new", pb.Bernoulli(), threshold=0.5)


def two_users(place: Place) -> tuple[pb.Portfolio, pb.Portfolio]:
    """Ann and Bob, and one outcome: a student who repaid."""
    ann = small(place, "kl-ucb", actor="ann")
    ann.observe(
        [pb.Outcome("x", "students", reward=1, cost=3.0), pb.Outcome("y", "students", reward=1)]
    )
    return ann, place.open(actor="bob")


# -------------------------------------------------------------------------- corrections


def test_a_correction_without_a_key_is_not_made_twice(place: Place) -> None:
    ann, bob = two_users(place)
    ann.correct("x", reward=0)
    assert ann.correct("x", reward=0).status == "known"  # sent again at once
    bob.correct("x", reward=1)
    before = place.dump()
    why = (
        "was corrected in the same way by ann in line 5, and corrected again by bob in line 6; "
        "give a key"
    )
    with pytest.raises(pb.errors.ConflictError, match=why):
        ann.correct("x", reward=0)
    assert place.dump() == before
    assert bob.correct("x", reward=1).status == "known"
    # Somebody else who says so says it for the first time; and Ann can say it once
    # more.
    assert place.open(actor="carl").correct("x", reward=0).status == "counted"
    assert bob.correct("x", reward=1, key="bob is sure").status == "counted"
    assert ann.correct("x", reward=0, key="and so is ann").status == "counted"
    assert_clean(ann)


def test_a_part_of_an_outcome_is_not_corrected_twice_either(place: Place) -> None:
    ann, bob = two_users(place)
    ann.correct("x", cost=5.0)
    bob.correct("x", reward=0)  # which leaves the cost as it is
    assert ann.correct("x", cost=5.0).status == "known"
    bob.correct("x", cost=4.0)
    with pytest.raises(
        pb.errors.ConflictError, match="was corrected in the same way by ann in line 5"
    ):
        ann.correct("x", cost=5.0)
    assert ann.correct("x", cost=6.0).status == "counted"


def test_a_correction_with_a_key_is_made_once(place: Place) -> None:
    ann, bob = two_users(place)
    assert ann.correct("x", reward=0, reason="typo", key="k").line == 5
    bob.correct("x", reward=1)
    bob.correct("y", take_back=True, key="back")
    before = place.dump()
    for again in (ann, bob, place.open()):
        answer = again.correct("x", reward=0, reason="typo", key="k")
        assert (answer.status, answer.why, answer.line) == ("known", "corrected in line 5", 5)
        assert again.correct("y", take_back=True, key="back").line == 7
    others: list[tuple[str, dict[str, Any]]] = [
        ("y", {"reward": 0, "reason": "typo"}),
        ("x", {"reward": 1, "reason": "typo"}),
        ("x", {"reward": 0, "cost": 9.0, "reason": "typo"}),
        ("x", {"cost": 9.0, "reason": "typo"}),
        ("x", {"reward": 0, "reason": "another"}),
        ("x", {"reward": 0}),
        ("x", {"take_back": True, "reason": "typo"}),
    ]
    for id, other in others:
        with pytest.raises(
            pb.errors.ConflictError, match="key = 'k' belongs to line 5, which corrects x"
        ):
            ann.correct(id, **other, key="k")
    assert place.dump() == before
    assert "reward 1 was wrong, reward 0, cost 3 (typo), key k" in str(ann.log(id="x"))
    assert [line.line for line in ann.log(id="k")] == [5, 6]
    assert_clean(ann)


@pytest.mark.parametrize("policy", ["kl-ucb", "kl-ucb:window=2", "kl-emp-ucb", "ts:forget=0.8"])
def test_a_key_is_kept_even_if_nothing_changes(place: Place, policy: str) -> None:
    """Otherwise the command would be done when it is sent again, after somebody else
    has changed it.
    """
    ann = small(place, policy, actor="ann")
    bob = place.open(actor="bob")
    ann.observe([*outcomes("students", 1, 0), pb.Outcome("x", "students", reward=1)])
    table = ann.agent.ledger.table.tolist()
    ann.decide(key="day 2")
    decided = ann.agent.ledger.table.tolist()
    assert ann.correct("x", reward=1, key="k").line == 7
    assert ann.set_policy(policy, key="k").line == 8
    assert ann.set_threshold("students", 0.4, key="t").line == 9
    assert ann.resume("students", key="r").line == 10
    assert ann.set_shadow(False, key="s").line == 11
    assert ann.agent.ledger.table.tolist() == decided != table
    bob.correct("x", reward=0)
    bob.set_threshold("students", 0.3)
    bob.pause("students")
    bob.set_shadow(True)
    before = place.dump()
    assert ann.correct("x", reward=1, key="k").status == "known"
    assert ann.set_threshold("students", 0.4, key="t").status == "known"
    assert ann.resume("students", key="r").status == "known"
    assert ann.set_shadow(False, key="s").status == "known"
    assert ann.set_policy(policy, key="k").status == "known"
    assert place.dump() == before
    ann.decide(key="day 3")
    assert ann.correct("x", take_back=True, key="b").status == "counted"
    assert "threshold of students: 0.4, key t" in str(ann.log())
    assert_clean(ann)


# ----------------------------------------------------------------------------- settings

Change = Callable[..., Any]
# What Ann does, and what Bob does then.
CHANGES: dict[str, tuple[str, tuple[Any, ...], str, tuple[Any, ...]]] = {
    "threshold": ("set_threshold", ("students", 0.45), "set_threshold", ("students", 0.4)),
    "pause": ("pause", ("shops",), "resume", ("shops",)),
    "policy": ("set_policy", ("ts",), "set_policy", ("kl-ucb",)),
    "shadow": ("set_shadow", (True,), "set_shadow", (False,)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_setting_without_a_key_is_not_set_twice(place: Place, what: str) -> None:
    ann, bob = two_users(place)
    method, arguments, other, others = CHANGES[what]
    set_it: Change = getattr(ann, method)
    assert set_it(*arguments).status == "counted"
    assert set_it(*arguments).status == "known"
    assert getattr(bob, other)(*others).status == "counted"
    before = place.dump()
    with pytest.raises(
        pb.errors.ConflictError,
        match="was set to this by ann in line 5 of this round, and changed since",
    ):
        set_it(*arguments)
    assert place.dump() == before
    assert getattr(bob, method)(*arguments).status == "counted"  # who says it for the first time
    assert getattr(bob, other)(*others, key="back").status == "counted"
    ann.decide(key="day 2")
    assert set_it(*arguments).status == "counted"  # in another round it is another change
    assert_clean(ann)


@pytest.mark.parametrize("what", CHANGES)
def test_a_setting_with_a_key_is_set_once(place: Place, what: str) -> None:
    ann, bob = two_users(place)
    method, arguments, other, others = CHANGES[what]
    set_it: Change = getattr(ann, method)
    assert set_it(*arguments, key="k").line == 5
    getattr(bob, other)(*others)
    ann.decide(key="day 2")
    before = place.dump()
    for again in (ann, bob):
        answer = getattr(again, method)(*arguments, key="k")
        assert (answer.status, answer.line) == ("known", 5)
    with pytest.raises(pb.errors.ConflictError, match="key = 'k' belongs to line 5"):
        getattr(ann, other)(*others, key="k")
    with pytest.raises(pb.errors.ConflictError, match="key = 'k' belongs to line 5"):
        ann.set_threshold("cars", 0.9, key="k")
    assert place.dump() == before
    assert set_it(*arguments, key="k 2").status == "counted"
    assert_clean(ann)


def test_a_category_is_added_once(place: Place) -> None:
    ann, bob = two_users(place)
    more = pb.Category.returns("more", required=0.03)
    ann.add_category(NEW, more)
    bob.set_threshold("new", 0.6)
    before = place.dump()
    ann.add_category(NEW, more)
    ann.add_category(more)
    assert place.dump() == before
    with pytest.raises(pb.errors.DuplicateNameError):
        ann.add_category(pb.Category("new", pb.Bernoulli(), threshold=0.6))
    with pytest.raises(pb.errors.DuplicateNameError):
        ann.add_category(categories()[0])  # which was there from the beginning
    assert place.dump() == before


# ----------------------------------------------------------------- clients and outcomes


def test_clients_and_outcomes_after_corrections(place: Place) -> None:
    """Whatever was corrected or taken back since, a file that is sent again changes
    nothing.
    """
    ann, bob = two_users(place)
    clients = [pb.Client(f"c {i}", "cars", matures=2) for i in range(3)]
    sent = [pb.Outcome(f"c {i}", "cars", reward=1) for i in range(3)]
    ann.open(clients)
    ann.observe(sent)
    bob.correct("c 0", reward=0)
    bob.correct("c 1", take_back=True)
    bob.correct("c 2", reward=0)
    bob.correct("c 2", reward=1, cost=900.0)
    for day in range(2, 5):  # and some rounds later, when the cohort is complete
        before = place.dump()
        assert statuses(ann.open(clients)) == ["known"] * 3
        assert statuses(ann.observe(sent)) == ["known"] * 3
        assert place.dump() == before
        ann.decide(key=f"day {day}")
    assert_clean(ann)


def test_everything_is_sent_again(two_places: tuple[Place, Place]) -> None:
    """A job whose commands have keys, and that is repeated from its beginning after
    each of them, does each once.
    """
    steps: list[Change] = [
        lambda book: book.decide(key="1"),
        lambda book: book.open([pb.Client("a", "cars", decision=1, matures=3)]),
        lambda book: book.observe(outcomes("students", 1, 0, 1, decision=1)),
        lambda book: book.correct("client 1", reward=0, key="1"),
        lambda book: book.set_threshold("students", 0.45, key="1"),
        lambda book: book.pause("shops", key="2"),
        lambda book: book.add_category(NEW),
        lambda book: book.decide(key="2"),
        lambda book: book.set_threshold("students", 0.4, key="3"),
        lambda book: book.resume("shops", key="4"),
        lambda book: book.correct("client 1", reward=1, key="2"),
        lambda book: book.set_policy("ts", key="5"),
        lambda book: book.correct("client 1", reward=0, key="3"),
        lambda book: book.set_policy("kl-ucb", key="6"),
        lambda book: book.set_shadow(True, key="7"),
        lambda book: book.correct("client 3", take_back=True, key="4"),
        lambda book: book.decide(key="3"),
    ]
    once, often = (place.create(categories(), policy="kl-ucb", seed=7) for place in two_places)
    for number, step in enumerate(steps, 1):
        step(once)
        for each in steps[:number]:
            each(often)
    columns = "kind, id, category, round, decision, reward, amount, cost, refers"
    told = [
        place.rows(f"SELECT {columns} FROM profitable_journal WHERE line > 1 ORDER BY line")
        for place in two_places
    ]
    assert told[0] == told[1]
    assert once.agent.ledger.table.tolist() == often.agent.ledger.table.tolist()
    assert_clean(often)
