"""A portfolio is made, opened again, decides by key, and keeps its settings: the same
in SQLite and in PostgreSQL.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import profitable as pb
from profitable.version import VERSION
from tests.portfolio.model import assert_same, assert_same_decision
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, outcomes, small

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


# ---------------------------------------------------------------------- made and opened


def test_a_portfolio_is_made_and_opened_again(place: Place) -> None:
    book = place.create(categories(), policy="ts:forget=0.9", seed=7, name="lending", actor="ann")
    again = place.open(actor="bob")
    for each in (book, again):
        assert (each.name, str(each.policy), each.round, each.is_shadow) == (
            "lending",
            "ts:forget=0.9",
            0,
            False,
        )
        assert each.names == ("students", "shops", "cars", "cards")
        assert_same(each, pb.Agent(categories(), policy="ts:forget=0.9", seed=7))
    assert (book.actor, again.actor) == ("ann", "bob")
    assert book.head == again.head
    assert book.head.line == 1
    assert_clean(again)


def test_every_line_says_when_who_and_which_version(place: Place) -> None:
    before = datetime.now(UTC)
    small(place, actor="ann").observe(outcomes("students", 1))
    place.open(actor="bob").pause("shops")
    rows = place.rows("SELECT line, time, actor, version FROM profitable_journal ORDER BY line")
    assert [(line, actor) for line, _, actor, _ in rows] == [
        (1, "ann"),
        (2, "ann"),
        (3, "ann"),
        (4, "bob"),
    ]
    assert {version for *_, version in rows} == {VERSION}
    times = [time for _, time, *_ in rows]
    assert all(TIME.fullmatch(time) for time in times)
    assert times == sorted(times)
    assert (
        before
        <= datetime.fromisoformat(times[0])
        <= datetime.fromisoformat(times[-1])
        <= datetime.now(UTC)
    )


def test_the_actor_is_the_user_unless_given(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "carol")
    assert place.create(categories(), policy="ts").actor == "carol"

    def nobody() -> str:
        raise KeyError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert place.open().actor == "unknown"


def test_a_second_one_is_not_made_in_the_same_place(place: Place) -> None:
    small(place)
    before = place.dump()
    with pytest.raises(pb.errors.InputError, match="exists already"):
        place.create(categories(), policy="kl-ucb")
    assert place.dump() == before


def test_it_goes_on_where_an_agent_stopped(place: Place) -> None:
    agent = pb.Agent(categories(), policy="ts:forget=0.9", seed=3)
    for _ in range(3):
        agent.decide()
        agent.observe("students", [0, 1, 0])
        agent.expect("cars", 4, matures=3)
    book = place.create(agent=agent)
    assert (book.round, str(book.agent)) == (3, str(agent))
    for day in range(3):
        assert_same_decision(book.decide(key=str(day)), agent.decide())
    # Who was accepted before, nobody here knows; so it is believed.
    assert (
        book.observe([pb.Outcome("early", "students", reward=1, decision=2)])[0].status == "counted"
    )
    assert (
        book.observe([pb.Outcome("future", "students", reward=1, decision=7)])[0].status
        == "refused"
    )
    assert_clean(place.open())


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"policy": "ts"}, "categories"),
        ({"categories": categories()}, "policy"),
        (
            {
                "categories": categories(),
                "policy": "ts",
                "agent": pb.Agent(categories(), policy="ts"),
            },
            "categories",
        ),
        ({"agent": pb.Agent(categories(), policy="ts"), "seed": 3}, "seed"),
        ({"categories": [], "policy": "ts"}, "categories"),
        ({"categories": categories(), "policy": "nothing"}, "policy"),
        ({"categories": categories(), "policy": "ts", "name": "a\nb"}, "name"),
        ({"categories": categories(), "policy": "ts", "actor": ""}, "actor"),
        ({"categories": categories(), "policy": "ts", "wait": -1}, "wait"),
        (
            {"categories": [pb.Category("a\nb", pb.Bernoulli(), threshold=0.5)], "policy": "ts"},
            "category",
        ),
    ],
)
def test_what_cannot_be_made(place: Place, options: dict[str, object], field: str) -> None:
    with pytest.raises(pb.errors.InputError) as caught:
        place.create(**options)
    assert caught.value.field == field
    with pytest.raises(pb.errors.PortfolioError):
        place.open()
    place.create(categories(), policy="ts")  # nothing is left of the attempt
    assert (
        not place.is_file
        or [each.name for each in Path(place.where).parent.iterdir() if "part" in each.name] == []
    )


def test_a_closed_portfolio_says_so(place: Place) -> None:
    book = small(place)
    book.close()
    for attempt in (
        lambda: book.decide(key="day 2"),
        lambda: book.observe(outcomes("students", 1)),
        book.status,
    ):
        with pytest.raises(pb.errors.PortfolioError):
            attempt()
    book.close()  # twice is no mistake
    assert place.lines() == 2


# ---------------------------------------------------------------------------- decisions


def test_the_same_key_gives_the_same_decision(place: Place) -> None:
    book = small(place)
    book.observe(outcomes("students", *[0] * 9))
    made = book.decide(key="day 2", available=["students", "cars"])
    said, shown = made.to_dict(), str(made)
    lines = place.lines()

    def ask(asked: pb.Portfolio) -> None:
        again = asked.decide(key="day 2", available=["cars", "students"])  # in any order
        assert (again.to_dict(), str(again)) == (said, shown)
        assert asked.decision(2).to_dict() == asked.decision(key="day 2").to_dict() == said

    ask(book)
    ask(place.open())
    changes = [
        lambda: book.set_policy("kl-ucb"),
        lambda: book.set_threshold("students", 0.7),
        lambda: book.pause("cars"),
        lambda: book.add_category(pb.Category("more", pb.Poisson(), threshold=1.0)),
        lambda: book.observe(outcomes("students", *[1] * 9, prefix="late")),
        lambda: book.correct("client 1", take_back=True),
        lambda: book.decide(key="day 3"),
    ]
    for change in changes:
        change()
        ask(book)
        ask(place.open())
    assert place.lines() == lines + len(changes) + 8  # one for each, but nine outcomes
    assert (made.key, made.actor, made.version, made.is_shadow) == (
        "day 2",
        book.actor,
        VERSION,
        False,
    )
    assert TIME.fullmatch(made.time)
    assert_clean(book)


@pytest.mark.parametrize(
    "other",
    [
        {"available": ["students"]},
        {"available": []},
        {"places": 3, "demand": dict.fromkeys(("students", "shops", "cars", "cards"), 1)},
        {"budget": 100.0, "demand": dict.fromkeys(("students", "shops", "cars", "cards"), 1)},
    ],
)
def test_a_key_that_asks_for_something_else_is_refused(
    place: Place, other: dict[str, object]
) -> None:
    book = small(place)
    before = place.dump()
    for asked in (book, place.open()):
        with pytest.raises(pb.errors.ConflictError, match="round 1"):
            asked.decide(key="day 1", **other)
    book.decide(key="day 2", **other)
    with pytest.raises(pb.errors.ConflictError, match="round 2"):
        book.decide(key="day 2")
    assert book.round == 2
    assert place.dump()[0][: len(before[0])] == before[0]


def test_what_cannot_be_decided_changes_nothing(place: Place) -> None:
    book = small(place)
    before = place.dump()
    for key in ("", " ", "a\nb", 5, None, "x" * 501):
        with pytest.raises(pb.errors.ParameterError):
            book.decide(key=key)
    for asked in (
        {"available": ["nobody"]},
        {"available": "students"},
        {"places": 3},
        {"budget": -1.0, "demand": {}},
    ):
        with pytest.raises(pb.errors.InputError):
            book.decide(key="day 2", **asked)
    for round, key in ((2, None), (0, None), (None, "day 2"), (1, "day 2")):
        with pytest.raises(pb.errors.InputError, match="the latest is round 1, key 'day 1'"):
            book.decision(round, key=key)
    assert place.dump() == before
    assert book.decide(key="day 2").round == 2


def test_rounds_are_strictly_increasing(place: Place) -> None:
    book = small(place)
    rounds = [book.decide(key=f"key {i}").round for i in range(10)]
    assert rounds == list(range(2, 12))
    stored = place.rows(
        "SELECT round, id FROM profitable_journal WHERE kind = 'decide' ORDER BY line"
    )
    assert stored == [(1, "day 1"), *((round, f"key {round - 2}") for round in rounds)]
    assert book.decision().round == 11


# ----------------------------------------------------------------------------- settings


def test_settings_are_versioned(place: Place) -> None:
    book, agent = small(place, "kl-ucb"), pb.Agent(categories(), policy="kl-ucb", seed=7)
    agent.decide()
    more = pb.Category(
        "more",
        pb.Gamma(shape=0.4),
        threshold=2.0,
        bound=9.0,
        prior=pb.Prior.like(clients=5, mean=3),
    )
    steps = [
        ("set_threshold", ("students", 0.45), ("threshold", "students", 0.4, 0.45)),
        (
            "set_threshold",
            ("cars", 0.95),
            ("threshold", "cars", agent.category("cars").threshold, 0.95),
        ),
        ("pause", ("shops",), ("paused", "shops", False, True)),
        ("resume", ("shops",), ("paused", "shops", True, False)),
        ("set_policy", ("ts:floor=0.1",), ("policy", None, "kl-ucb", "ts:floor=0.1")),
        ("add_category", (more,), None),
    ]
    for method, arguments, expected in steps:
        getattr(agent, method)(*arguments)
        getattr(book, method)(*arguments)
        assert_same(place.open(), agent)
        line = book.log(kind="change", limit=1)[-1]
        content = line.content
        assert (
            expected is None
            or (content["setting"], line.category, content["from"], content["to"]) == expected
        )
        lines = place.lines()
        if method != "add_category":
            getattr(book, method)(*arguments)  # it is so already
            assert place.lines() == lines
        assert_same_decision(book.decide(key=f"after {lines}"), agent.decide())
    assert book.agent.category("more") == more
    assert_clean(place.open())


@pytest.mark.parametrize("row", ["family", "loan", "returns", "prior", "edge"])
def test_an_added_category_is_what_was_given(place: Place, row: str) -> None:
    with pb.model.category.said_before():  # type: ignore[attr-defined]
        added = {
            "family": pb.Category(
                "new", pb.NegativeBinomial(failures=2.5), threshold=1 / 3, bound=7.7, worth=0.1
            ),
            "loan": pb.Category.loan("new", amount=1e7 / 3, rate=0.1234567890123, recovery=1 / 7),
            "returns": pb.Category.returns("new", required=1 / 30, high=3.3, weight="client"),
            "prior": pb.Category(
                "new", pb.Bernoulli(), threshold=0.3, prior=pb.Prior.like(clients=1 / 3, mean=0.1)
            ),
            "edge": pb.Category("new", pb.Bernoulli(), threshold=1.0),
        }[row]
    book = small(place)
    book.add_category(added)
    assert book.agent.category("new") == place.open().agent.category("new") == added
    before = place.dump()
    book.add_category(added)  # sent again
    with pytest.raises(pb.errors.DuplicateNameError):
        book.add_category(pb.Category("new", pb.Bernoulli(), threshold=0.35))
    assert place.dump() == before
    assert_clean(book)


def test_what_cannot_be_set_changes_nothing(place: Place) -> None:
    book = small(place)
    book.observe(outcomes("cards", 1.0, 0.5))
    before = place.dump()
    known = pb.Category("new", pb.Bernoulli(), threshold=0.5)
    attempts = [
        lambda: book.set_threshold("nobody", 0.5),
        lambda: book.set_threshold("students", 1.5),
        lambda: book.pause("nobody"),
        lambda: book.resume("nobody"),
        lambda: book.set_policy("nothing"),
        lambda: book.set_policy("kl-emp-ucb"),  # which needs the single rewards
        lambda: book.add_category(known, pb.Category("students", pb.Bernoulli(), threshold=0.5)),
        lambda: book.add_category(known, "more"),
        lambda: book.add_category(pb.Category("new\n", pb.Bernoulli(), threshold=0.5)),
    ]
    for attempt in attempts:
        with pytest.raises(pb.errors.InputError):
            attempt()
        assert place.dump() == before
    book.add_category(known)
    assert book.names[-1] == "new"


def test_a_policy_with_numbers_that_are_no_short_decimals(place: Place) -> None:
    policy = pb.ThompsonSampling(
        prior=pb.Prior.like(clients=1 / 3, mean=0.1), forget=1 - 1e-9 / 3, floor=0.1 + 0.2
    )
    book = place.create([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=policy, seed=1)
    assert book.policy == place.open().policy == policy
    other = pb.KLUCB(c=1 / 3)
    made = book.decide(key="1")
    book.set_policy(other)
    assert book.policy == place.open().policy == other
    assert book.decide(key="1").policy == made.policy == policy
    assert_clean(book)


# ------------------------------------------------------------------------------ shadows


def test_a_shadow_is_marked_and_may_become_real(place: Place) -> None:
    book, other = small(place, shadow=True), place.open()
    book.observe(outcomes("students", *[0] * 30))
    skipped = book.decide(key="day 2")
    assert skipped["students"].accepted is False
    assert skipped.is_shadow
    assert "shadow" in str(skipped)
    # What others accepted counts, whatever the shadow said.
    assert book.observe([pb.Outcome("x", "students", reward=1, decision=2)])[0].status == "counted"
    other.set_shadow(False)
    other.set_shadow(False)  # it is so already
    for each in (book, other, place.open()):
        assert not each.is_shadow
        assert each.decision(2).is_shadow  # nobody had acted on it
        assert (
            each.observe([pb.Outcome("y", "students", reward=1, decision=2)])[0].status != "refused"
        )
    real = book.decide(key="day 3")
    assert not real.is_shadow
    assert real["students"].accepted is False
    assert book.observe([pb.Outcome("z", "students", reward=1, decision=3)])[0].status == "refused"
    assert len(book.log(kind="change")) == 1
    assert_clean(place.open())
