"""A backup was restored: the decisions that it has lost are put back from their JSON,
as they were acted on.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import from_json

import profitable as pb
from profitable.kernels.agent_table import AgentRow
from profitable.portfolio.export import settled
from profitable.portfolio.new_store import copy_portfolio, upgrade
from profitable.portfolio.stored_decision import as_text, record_checksum
from tests.portfolio.model import assert_same, assert_same_decision
from tests.portfolio.places import Place
from tests.portfolio.small import outcomes, small, statuses

POLICIES = [
    "ts:forget=0.8",
    "kl-ucb",
    "bayes-ucb:floor=0.2",
    "kl-emp-ucb:window=2",
    "ucb-v:forget=0.9",
]
LIMIT: dict[str, Any] = {"places": 5, "demand": {"students": 3, "shops": 2, "cars": 4, "cards": 1}}
ASKED: list[dict[str, Any]] = [{}, {"available": ["cars", "shops"]}, LIMIT, {}]
NOTE = (
    "4 decisions were reinstated from JSON, and are not recomputed: outcomes "
    "that were known then may be missing"
)


def day(book: pb.Portfolio, number: int) -> None:
    """The outcomes that come in before a decision."""
    rewards = {"students": (1, 1, 1), "shops": (0, 0, 5), "cars": (0, 0), "cards": (0.4, 1.1)}
    for name, seen in rewards.items():
        book.observe(outcomes(name, *seen, prefix=f"{name} {number}"))


def lost(
    two_places: tuple[Place, Place], policy: str
) -> tuple[pb.Portfolio, pb.Portfolio, list[str]]:
    """A portfolio as it was, one that was restored from an earlier backup, and the
    files of the decisions between.
    """
    here, backup = two_places
    book = small(here, policy)
    copy_portfolio(here.where, backup.where)
    files: list[str] = []
    for number, asked in enumerate(ASKED, 2):
        day(book, number)
        files.append(book.decide(key=f"day {number}", **asked).to_json())
    return book, backup.open(), files


@pytest.mark.parametrize("policy", POLICIES)
def test_as_if_nothing_had_been_lost(two_places: tuple[Place, Place], policy: str) -> None:
    """Outcomes and decisions are sent again in their order: the same numbers, and the
    same draws from then on.
    """
    book, restored, files = lost(two_places, policy)
    for number, file in enumerate(files, 2):
        day(restored, number)
        again = restored.reinstate(file)
        assert_same_decision(again, book.decision(number))
        assert json.loads(again.to_json())["record"] == json.loads(file)["record"]
    assert_same(restored, book.agent)
    assert_same_decision(restored.decide(key="later"), book.decide(key="later"))
    assert restored.verify().is_clean


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_acted_on_stays_though_outcomes_are_missing(
    two_places: tuple[Place, Place], policy: str
) -> None:
    book, restored, files = lost(two_places, policy)
    # Decided anew it would be another one: that is what has to be put back.
    anew = [restored.agent.decide(**asked).evidence.tolist() for asked in ASKED]
    assert anew != [book.decision(number).evidence.tolist() for number in range(2, 6)]
    for number, file in enumerate(files, 2):
        assert_same_decision(restored.reinstate(file), book.decision(number))
    rounds = [each.agent.ledger.table[AgentRow.ROUNDS].tolist() for each in (restored, book)]
    assert rounds[0] == rounds[1]  # how many rounds accepted each category
    assert restored.agent._stream.dump() == book.agent._stream.dump()
    round, accepted = next(
        (number, name) for number in range(2, 6) for name in book.decision(number).accepted
    )
    late = pb.Outcome("late", accepted, reward=1.0, decision=round)
    assert statuses(restored.observe([late])) == ["counted"]
    assert statuses(restored.open([pb.Client("c", accepted, key=f"day {round}", matures=9)])) == [
        "counted"
    ]
    for number in range(2, 6):
        day(restored, number)
    found = restored.verify()
    assert (found.findings, found.notes) == ((), (NOTE,))
    before = state_of(restored)
    upgrade(two_places[1].where)  # computes it anew from the journal
    assert state_of(two_places[1].open()) == before
    assert restored.decide(key="later").round == 6
    assert restored.verify().findings == ()


def state_of(book: pb.Portfolio) -> list[float]:
    return book.agent.ledger.table.ravel().tolist()


def test_it_is_marked_and_says_when_it_was_decided(two_places: tuple[Place, Place]) -> None:
    book, restored, files = lost(two_places, "kl-ucb")
    first = book.decision(2)
    again = restored.reinstate(files[0])
    assert (again.time, again.actor, again.version) == (first.time, first.actor, first.version)
    assert again.reinstated
    assert again.reinstated > first.time
    assert first.reinstated is None
    assert "(key day 2, reinstated)" in str(again)
    assert "It was put back from its file" in restored.explain("cars", round=2)
    assert "It was put back" not in book.explain("cars", round=2)
    assert f"reinstated, decided {first.time[:10]}" in str(restored.log(kind="decide"))
    assert statuses(
        restored.observe([pb.Outcome("x", first.accepted[0], reward=1, decision=2)])
    ) == ["counted"]
    with restored._reading() as (connection, _):
        assert [each.accepted_at for each in settled(restored, connection)] == [first.time]


def test_again_is_acknowledged(two_places: tuple[Place, Place]) -> None:
    book, restored, files = lost(two_places, "ts")
    assert book.reinstate(files[0]).reinstated is None  # which was never lost
    lines = [restored.reinstate(file).line for file in files]
    dump = two_places[1].dump()
    assert [restored.reinstate(file).line for file in files] == lines
    assert [
        restored.decide(key=f"day {number}", **asked).line for number, asked in enumerate(ASKED, 2)
    ] == lines
    assert two_places[1].dump() == dump
    # A file that is printed from the restored portfolio can be put back into the next
    # one.
    assert json.loads(restored.decision(2).to_json())["record"] == json.loads(files[0])["record"]
    assert book.reinstate(restored.decision(2).to_json()).line == book.decision(2).line


def edited(file: str, change: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads(file)
    change(content)
    return json.dumps(content)


NONSENSE: dict[str, tuple[Callable[[str], str], str]] = {
    "no JSON": (lambda _: "round 2, ts: 2 of 2", "is not JSON"),
    "torn": (lambda file: file[: len(file) // 2], "is not JSON, or is torn"),
    "empty": (lambda _: "", "is not JSON"),
    "a list": (lambda _: "[1, 2]", "is not the decision of a portfolio"),
    "an agent's decision": (
        lambda _: '{"round": 2, "policy": "ts", "accepted": []}',
        "is not the decision",
    ),
    "another round": (
        lambda file: edited(file, lambda c: c.update(round=3)),
        "checksum does not fit",
    ),
    "another key": (
        lambda file: edited(file, lambda c: c.update(key="day 9")),
        "checksum does not fit",
    ),
    "another actor": (
        lambda file: edited(file, lambda c: c.update(actor="eve")),
        "checksum does not fit",
    ),
    "another record": (
        lambda file: edited(
            file, lambda c: c["record"].update(body=c["record"]["body"].replace("cars", "cats"))
        ),
        "checksum does not fit",
    ),
    "no record": (
        lambda file: edited(file, lambda c: c.pop("record")),
        "is not the decision of a portfolio",
    ),
    "others accepted": (
        lambda file: edited(file, lambda c: c.update(accepted=["shops"])),
        "its record says",
    ),
}


def forged(file: str, change: Callable[[dict[str, Any]], object], **head: object) -> str:
    """A file whose record was changed, and whose checksum fits."""
    content: dict[str, Any] = {**json.loads(file), **head}
    body = from_json(content["record"]["body"])
    change(body)
    record = {**content["record"], "body": as_text(body)}
    return json.dumps(
        {**content, "record": {**record, "checksum": record_checksum(content, record)}}
    )


FORGERIES: dict[str, Callable[[str], str]] = {
    "no names": lambda file: forged(file, lambda body: body["columns"].pop("name")),
    "too few numbers": lambda file: forged(file, lambda body: body["columns"]["evidence"].pop()),
    "texts": lambda file: forged(file, lambda body: body["columns"].update(evidence=["a"] * 4)),
    "no columns": lambda file: forged(file, lambda body: body.update(columns=7)),
    "another policy": lambda file: forged(file, lambda body: body.update(policy="nothing")),
    "nothing asked": lambda file: forged(file, lambda body: body.update(asked=None)),
    "unknown categories": lambda file: forged(
        file, lambda body: body["columns"].update(name=["a", "b", "c", "d"])
    ),
    "a round that is true": lambda file: forged(file, len, round=True),
    "a time that is none": lambda file: forged(file, len, time="\x1b[2J"),
}


def test_what_somebody_made_up(two_places: tuple[Place, Place]) -> None:
    _, restored, files = lost(two_places, "kl-ucb")
    before = two_places[1].dump()
    for what, forge in FORGERIES.items():
        with pytest.raises(pb.errors.InputError):
            print(what, restored.reinstate(forge(files[0])))
        assert two_places[1].dump() == before, what
    assert restored.reinstate(forged(files[0], len)).round == 2  # in which nothing was changed


def test_what_is_no_decision(two_places: tuple[Place, Place]) -> None:
    _, restored, files = lost(two_places, "kl-ucb")
    before = two_places[1].dump()
    for what, (make, why) in NONSENSE.items():
        with pytest.raises(pb.errors.InputError, match=why):
            print(what, restored.reinstate(make(files[0])))
        assert two_places[1].dump() == before, what


def test_pretty_printing_is_no_edit(two_places: tuple[Place, Place]) -> None:
    _, restored, files = lost(two_places, "kl-ucb")
    assert restored.reinstate(json.dumps(json.loads(files[0]), indent=2, sort_keys=True)).round == 2


def test_what_does_not_fit(two_places: tuple[Place, Place]) -> None:
    book, restored, files = lost(two_places, "kl-ucb")

    def refused(file: str, why: str, error: type[Exception] = pb.errors.InputError) -> None:
        before = two_places[1].dump()
        with pytest.raises(error, match=why):
            restored.reinstate(file)
        assert two_places[1].dump() == before

    refused(
        files[1], "is of round 3, and the next one here is 2; reinstate the rounds in their order"
    )
    restored.set_threshold("cars", 0.95)
    refused(
        files[0],
        r"was decided with threshold of cars = 0\.85\d*, and here it is 0\.95; set "
        r"it to that first",
    )
    restored.set_threshold("cars", book.agent.category("cars").threshold)
    restored.pause("shops")
    refused(files[0], "was decided with paused of shops = False, and here it is True")
    restored.resume("shops")
    restored.set_policy("ts")
    refused(files[0], "was decided with policy = kl-ucb, and here it is ts")
    restored.set_policy("kl-ucb")
    restored.set_shadow(True)
    refused(files[0], "was decided with shadow = False, and here it is True")
    restored.set_shadow(False)
    book.add_category(pb.Category("new", pb.Bernoulli(), threshold=0.5))
    with_new = book.decide(key="with new").to_json()
    for file in files:
        restored.reinstate(file)
    refused(with_new, "'new'")  # which was added since the backup
    restored.add_category(pb.Category("new", pb.Bernoulli(), threshold=0.5))
    restored.add_category(pb.Category("more", pb.Bernoulli(), threshold=0.5))
    refused(with_new, "was decided with categories = 5, and here it is 6")
    restored.decide(key="day 6")
    day(book, 6)
    refused(
        book.decide(key="day 6").to_json(),
        "was decided here in line .* and differs from the file; restore the backup again",
        pb.errors.ConflictError,
    )


def test_a_file_of_another_portfolio(two_places: tuple[Place, Place]) -> None:
    book, other = (small(place, "kl-ucb") for place in two_places)
    before = two_places[1].dump()
    with pytest.raises(pb.errors.InputError, match="is a decision of another portfolio"):
        other.reinstate(book.decide(key="day 2").to_json())
    with pytest.raises(pb.errors.InputError, match="is a decision of another portfolio"):
        other.reinstate(book.decision(1).to_json())  # of a key that both have
    assert two_places[1].dump() == before


def test_a_decision_over_many_categories_is_put_back_to_the_letter(
    two_places: tuple[Place, Place],
) -> None:
    """Its columns are packed; what is put back keeps them as they are, and is
    acknowledged when sent again.
    """
    book, backup = two_places
    categories = [pb.Category(f"segment {i}", pb.Bernoulli(), threshold=0.5) for i in range(100)]
    with pb.Portfolio.create(book.where, categories, policy="ts", seed=1) as before:
        before.decide(key="1")
        copy_portfolio(book.where, backup.where)
        before.observe(
            [
                pb.Outcome(f"loan-{i}", f"segment {i % 100}", reward=int(i % 3 == 0), decision=1)
                for i in range(300)
            ]
        )
        told = before.decide(key="2").to_json()
    with pb.Portfolio(backup.where) as restored:
        first = restored.reinstate(told)
        again = restored.reinstate(first.to_json())
        assert first.line == again.line == 3
        assert json.loads(first.to_json())["record"]["body"] == json.loads(told)["record"]["body"]
        assert restored.verify().is_clean
