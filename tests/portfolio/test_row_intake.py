"""Outcomes count exactly once: by whomever, however often and in whatever batches they
are sent.
"""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.errors import ParameterError
from tests.portfolio.model import assert_same
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, outcomes, small, statuses

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
HOSTILE = [
    "'; DROP TABLE profitable_journal; --",
    '"quoted" \\ back\\slash `tick`',
    "%s %(id)s %% :id ? $1 {0} ${x}",
    "NULL",
    "0",
    "-1e5",
    "日本語 🦆",
    "é",
    "e\u0301",
    "A",
    "a",
    "x" * 500,
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
]


def agent() -> pb.Agent:
    """An agent as the small portfolio is after its first round."""
    found = pb.Agent(categories(), policy="ts", seed=7)
    found.decide()
    return found


# ------------------------------------------------------------------------- exactly once


def test_the_same_outcomes_are_acknowledged_again(place: Place) -> None:
    book = small(place)
    sent = outcomes("students", 1, 0, 0, decision=1) + outcomes(
        "shops", 3, 7, prefix="shop", known="2026-11-16"
    )
    receipt = book.observe(sent)
    assert statuses(receipt) == ["counted"] * 5
    assert [answer.line for answer in receipt] == [3, 4, 5, 6, 7]
    before = place.dump()
    for again in (book, place.open()):
        receipt = again.observe(reversed(sent))
        assert statuses(receipt) == ["known"] * 5
        assert (receipt[0].id, receipt[0].line) == ("shop 2", 7)
        assert place.dump() == before
    assert book.agent["students"].clients == 3
    assert_clean(book)


@pytest.mark.parametrize(
    "change",
    [
        {"reward": 0.0},
        {"category": "cars"},
        {"cost": 3.0},
        {"known": "2026-11-17"},
        {"decision": 2},
    ],
    ids=str,
)
def test_another_content_is_refused_by_name(place: Place, change: dict[str, Any]) -> None:
    book = small(place)
    book.decide(key="day 2")
    sent = pb.Outcome(
        "loan-4711", "students", reward=1, cost=2.0, known=date(2026, 11, 16), decision=1
    )
    book.observe([sent])
    before = place.dump()
    for again in (book, place.open()):
        (answer,) = again.observe([replace(sent, **change)])
        assert answer.status == "refused"
        assert "loan-4711" in answer.why
        assert "line 4" in answer.why
        assert repr(next(iter(change.values()))) in answer.why
    # It says less, and nothing else.
    assert statuses(book.observe([replace(sent, decision=None)])) == ["known"]
    assert place.dump() == before


def test_the_same_id_twice_in_a_batch(place: Place) -> None:
    book = small(place)
    once = pb.Outcome("x", "students", reward=1)
    receipt = book.observe([once, once, replace(once, reward=0.0), once])
    assert statuses(receipt) == ["counted", "known", "refused", "known"]
    assert book.agent["students"].clients == 1
    other = pb.Outcome("y", "students", reward=0.5)  # is refused, so that the id is still free
    receipt = book.observe([other, replace(other, reward=1.0), other])
    assert statuses(receipt) == ["refused", "counted", "refused"]
    assert_clean(book)


def test_each_row_has_its_own_answer(place: Place) -> None:
    book, twin = small(place), agent()
    book.observe(outcomes("students", 0, prefix="early"))
    twin.observe("students", [0])
    rows = [
        (pb.Outcome("1", "students", reward=1), "counted", ""),
        (pb.Outcome("2", "nobody", reward=1), "refused", "nobody"),
        (pb.Outcome("3", "students", reward=0.5), "refused", "0.5"),
        (pb.Outcome("4", "shops", reward=-1), "refused", "-1"),
        (pb.Outcome("5", "shops", reward=4), "counted", ""),
        (pb.Outcome("6", "students", reward=1, amount=3), "refused", "amount"),
        (pb.Outcome("7", "cards", reward=1, cost=3), "refused", "cost"),
        (pb.Outcome("8", "cards", reward=2.5), "refused", "2.5"),
        (pb.Outcome("9", "cards", reward=1.5, amount=0), "refused", "amount"),
        (pb.Outcome("10", "cars", reward=1, cost=-1), "refused", "-1"),
        (pb.Outcome("11", "students", reward=1, decision=2), "refused", "2"),
        (pb.Outcome("early 1", "students", reward=0), "known", "line 3"),
        (pb.Outcome("early 1", "students", reward=1), "refused", "line 3"),
        (pb.Outcome("12", "cars", reward=0, cost=1_500), "counted", ""),
        (pb.Outcome("13", "cards", reward=1.5, amount=250), "counted", ""),
    ]
    receipt = book.observe([row for row, _, _ in rows])
    assert statuses(receipt) == [status for _, status, _ in rows]
    assert all(part in answer.why for answer, (_, _, part) in zip(receipt, rows, strict=True)), str(
        receipt
    )
    assert all(answer.why.count("\n") == 0 and not answer.why.endswith(".") for answer in receipt)
    assert (len(receipt.counted), len(receipt.known), len(receipt.refused)) == (4, 1, 10)
    twin.observe("students", [1])
    twin.observe("shops", [4])
    twin.observe("cars", [0], costs=[1_500])
    twin.observe("cards", [1.5], amounts=[250])
    assert_same(place.open(), twin)
    assert_clean(book)


def test_a_decision_that_did_not_accept_the_category(place: Place) -> None:
    book = small(place)
    book.pause("students")
    book.decide(key="day 2", available=["students", "shops"])
    sent = [
        pb.Outcome(f"{name} {round}", name, reward=1, decision=round)
        for name in book.names
        for round in (1, 2)
    ]
    refused = {"students 2", "cars 2", "cards 2"}
    for each in (book, place.open()):
        receipt = each.observe(sent)
        assert {answer.id for answer in receipt.refused} == refused
    assert book.agent["students"].clients == 1


def test_all_or_nothing(place: Place) -> None:
    book = small(place)
    book.observe(outcomes("students", 1, prefix="early"))
    before = place.dump()
    good = outcomes("students", 1, 0, 1)
    bad = pb.Outcome("bad", "students", reward=7)
    early = pb.Outcome("early 1", "students", reward=1)
    receipt = book.observe([*good, bad, early], all_or_nothing=True)
    assert statuses(receipt) == ["left out"] * 3 + ["refused", "known"]
    assert [answer.line for answer in receipt.of("left out")] == [None] * 3
    assert place.dump() == before
    assert statuses(book.observe([*good, early], all_or_nothing=True)) == ["counted"] * 3 + [
        "known"
    ]
    assert book.agent["students"].clients == 4
    assert_clean(book)


def test_a_dry_run_changes_nothing(place: Place) -> None:
    book = small(place)
    book.observe(outcomes("students", 1, prefix="early"))
    before, shown = place.dump(), str(book.agent)
    sent = [
        *outcomes("students", 1, 0),
        pb.Outcome("bad", "students", reward=7),
        *outcomes("students", 1, prefix="early"),
    ]
    expected = ["counted", "counted", "refused", "known"]
    for _ in range(2):
        receipt = book.observe(sent, dry_run=True)
        assert statuses(receipt) == expected
        assert receipt.is_trial
        assert {answer.line for answer in receipt.counted} == {None}
    clients = [pb.Client("someone", "cars", matures=3, emerges="evenly")]
    assert statuses(book.open(clients, dry_run=True)) == ["counted"]
    assert statuses(book.observe(sent, dry_run=True, all_or_nothing=True)) == [
        "left out",
        "left out",
        *expected[2:],
    ]
    assert place.dump() == before
    assert str(book.agent) == shown
    assert statuses(book.observe(sent)) == expected  # what was said would happen
    assert_clean(book)


def test_large_batches_are_stored_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profitable.portfolio.portfolio.BATCH", 10)
    book, twin = small(place), agent()
    rewards = np.random.default_rng(1).integers(2, size=57).tolist()
    sent = outcomes("students", *rewards) + outcomes("shops", *range(20), prefix="shop")
    shuffled = [sent[place] for place in np.random.default_rng(2).permutation(len(sent))]
    receipt = book.observe(iter(shuffled))
    assert statuses(receipt) == ["counted"] * 77
    assert [answer.line for answer in receipt] == list(range(3, 80))
    for each in shuffled:
        twin.observe(each.category, [each.reward])
    assert_same(place.open(), twin)
    assert statuses(place.open().observe(sent)) == ["known"] * 77
    assert (
        statuses(book.observe([*sent, pb.Outcome("x", "shops", reward=0.5)], all_or_nothing=True))[
            -1
        ]
        == "refused"
    )
    assert_clean(book)


def test_nothing_is_no_mistake(place: Place) -> None:
    book = small(place)
    before = place.dump()
    for each in (
        book.observe([]),
        book.open([]),
        book.observe(iter(())),
        book.observe([], all_or_nothing=True),
    ):
        assert len(each) == 0
        assert str(each) == "0 rows: nothing to do"
    assert place.dump() == before


def test_what_is_no_outcome_is_refused_before_anything_is_stored(place: Place) -> None:
    book = small(place)
    before = place.dump()
    fine = pb.Outcome("x", "students", reward=1)

    def broken() -> Iterator[pb.Outcome]:
        yield fine
        raise RuntimeError("the caller's own")

    for rows in ([fine, None], [fine, ("y", "students", 1)], [fine, pb.Client("y", "students")]):
        with pytest.raises(pb.errors.ParameterError, match="must be of type Outcome"):
            book.observe(rows)
    with pytest.raises(pb.errors.ParameterError, match="must be of type Client"):
        book.open([fine])
    with pytest.raises(RuntimeError):
        book.observe(broken())
    assert place.dump() == before


# ------------------------------------------------------------------------------ content


def test_numbers_are_kept_to_the_last_bit(place: Place) -> None:
    category = pb.Category("it", pb.Gaussian(sigma=1.5), threshold=1.0)
    book, twin = (
        place.create([category], policy="kl-ucb", seed=1),
        pb.Agent([category], policy="kl-ucb", seed=1),
    )
    rewards = [
        0.1 + 0.2,
        1e-300,
        5e-324,
        1 / 3,
        1e15 + 0.3,
        -0.0,
        2.0**53,
        -1e100,
        np.pi,
        np.float32(0.1),
    ]
    sent = [pb.Outcome(str(i), "it", reward=each, cost=abs(each)) for i, each in enumerate(rewards)]
    book.observe(sent)
    stored = place.rows(
        "SELECT reward, cost FROM profitable_journal WHERE kind = 'outcome' ORDER BY line"
    )
    assert stored == [(each, abs(each)) for each in rewards]
    for each in rewards:
        twin.observe("it", [each], costs=[abs(each)])
    assert_same(place.open(), twin)
    assert set(statuses(place.open().observe(sent))) == {"known"}
    assert_clean(place.open())


PRINTABLE = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=40).filter(
    lambda text: text.isprintable() and text == text.strip()
)


def with_hostile(test: Any) -> Any:
    for each in HOSTILE:
        test = example(each)(test)
    return test


@pytest.fixture
def text_book(place: Place) -> pb.Portfolio:
    return small(place, "kl-ucb", name=HOSTILE[0], actor=HOSTILE[1])


@settings(
    max_examples=500 if SOAK else 10, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=PRINTABLE)
@with_hostile
def test_texts_are_data(place: Place, text_book: pb.Portfolio, text: str) -> None:
    book, id = text_book, unicodedata.normalize("NFC", text)
    is_new = not place.rows(
        "SELECT 1 FROM profitable_journal WHERE kind = 'outcome' AND id = :id", id=id
    )
    # Perhaps in another form.
    same = [name for name in book.names if unicodedata.normalize("NFC", name) == id]
    if not same:
        book.add_category(pb.Category(text, pb.Bernoulli(), threshold=0.5))
    name = same[0] if same else text
    round = book.decide(key=text).round
    assert book.decide(key=text).round == round
    sent = pb.Outcome(text, text, reward=1, decision=round)
    expected = ["counted" if is_new else "known"]
    assert statuses(book.observe([sent])) == expected
    assert statuses(book.observe([sent, sent])) == ["known", "known"]
    assert book.decision(key=text)[name].name == name
    if is_new:
        book.correct(text, reward=0, reason=text)
    stored = (
        "SELECT id, category FROM profitable_journal WHERE kind = 'outcome' "
        "ORDER BY line DESC LIMIT 1"
    )
    assert not is_new or place.rows(stored) == [(id, name)]
    with pb.Portfolio(place.where) as again:
        assert again.names == book.names


def test_texts_that_not_every_database_keeps(place: Place) -> None:
    book = small(place)

    def attempts(text: Any) -> list[Any]:
        return [
            lambda: pb.Outcome(text, "students", reward=1),
            lambda: pb.Outcome("x", text, reward=1),
            lambda: pb.Client(text, "students"),
            lambda: book.decide(key=text),
            lambda: book.correct(text, reward=1),
            lambda: pb.Portfolio(place.where, actor=text),
        ]

    for text in ("", " ", "a\x00b", "a\nb", "\ud800", "\u202ex", " x", "x ", "x" * 501, 5, b"x"):
        for attempt in attempts(text):
            with pytest.raises(pb.errors.ParameterError):
                attempt()
    assert place.lines() == 2


def test_a_key_in_place_of_a_round(two_places: tuple[Place, Place]) -> None:
    """Keys are the same in a shadow that was made later; rounds are not."""
    acting = small(two_places[0], "kl-ucb")
    acting.decide(key="day 2")
    later = two_places[1].create(categories(), policy="kl-ucb", shadow=True)
    later.decide(key="day 2")
    rows = [pb.Outcome(f"client {day}", "students", reward=1, key=f"day {day}") for day in (1, 2)]
    assert statuses(acting.observe(rows)) == statuses(later.observe(rows)) == ["counted", "counted"]
    assert [line.decision for line in acting.log(kind="outcome")] == [1, 2]
    # It has not decided day 1.
    assert [line.decision for line in later.log(kind="outcome")] == [None, 1]
    assert statuses(acting.observe(rows)) == statuses(later.observe(rows)) == ["known", "known"]
    assert (
        "key = 'day 9' was not decided here"
        in acting.observe(outcomes("students", 1, prefix="x", key="day 9"))[0].why
    )
    opened = later.open(
        [pb.Client("new", "shops", key="day 1"), pb.Client("old", "shops", key="day 2", matures=2)]
    )
    assert [(each.status, "day 1" in each.why) for each in opened] == [
        ("refused", True),
        ("counted", False),
    ]
    assert_clean(acting)
    assert_clean(later)
    with pytest.raises(ParameterError, match="key = 'day 1' cannot be combined with a decision"):
        pb.Outcome("a", "students", reward=1, decision=1, key="day 1")


def test_a_day_has_one_spelling(place: Place) -> None:
    book = small(place)
    book.observe([pb.Outcome("a", "students", reward=1, known="20261116")])
    assert statuses(book.observe([pb.Outcome("a", "students", reward=1, known="2026-11-16")])) == [
        "known"
    ]
