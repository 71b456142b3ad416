"""A state machine: whatever is done to a portfolio in whatever order, it is what a
plain model in memory says.

The model is a dict of outcomes and an agent (`model.py`).  A crash cuts the connection
in the middle of a transaction, and the portfolio is opened again.  Some steps are done
by a second connection.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import profitable as pb
from profitable.portfolio.history import DecisionRequest, decide
from profitable.portfolio.new_store import copy_portfolio, upgrade
from tests.portfolio.conftest import new_place
from tests.portfolio.loan_model import BEFORE, DAYS, ISSUED, LoanModel
from tests.portfolio.model import Model, assert_same, assert_same_decision
from tests.portfolio.places import BACKENDS, Place
from tests.portfolio.small import categories, statuses

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
POLICIES = [
    "ts",
    "kl-ucb",
    "ts:forget=0.9",
    "kl-ucb:window=3",
    "kl-emp-ucb",
    "bayes-ucb:floor=0.2",
    "ucb-v:forget=0.8",
]
FORMS: list[dict[str, Any]] = [
    {},
    {"matures": 0},
    {"matures": 2},
    {"matures": 2, "emerges": "evenly"},
    {"matures": 2, "emerges": (0.5, 1.0), "promised": 1.0},
]
NAMES = ["students", "shops", "cars", "cards"]
LEGAL = {
    "students": st.sampled_from([{"reward": 0.0}, {"reward": 1.0}, {"reward": 1.0, "cost": 0.1}]),
    "shops": st.builds(lambda reward: {"reward": float(reward)}, st.integers(0, 9)),
    "cars": st.sampled_from([{"reward": 0.0}, {"reward": 1.0}, {"reward": 0.0, "cost": 1234.5}]),
    "cards": st.builds(
        lambda reward, amount: {"reward": reward / 16, "amount": amount / 4},
        st.integers(0, 32),
        st.integers(1, 99),
    ),
}
SOME_ID = st.integers(0, 14).map("client {}".format)
OWN_KEY = st.sampled_from([None, None, None, "key 1", "key 2"])  # of a correction or a setting
SOME_KEY = st.integers(0, 30).map("day {}".format)
ILLEGAL = st.sampled_from(
    [{"reward": -1.0}, {"reward": 0.5}, {"reward": 1.0, "amount": 2.0, "cost": 1.0}]
)


@st.composite
def an_outcome(draw: st.DrawFn) -> pb.Outcome:
    name = draw(st.sampled_from(NAMES))
    numbers = draw(st.one_of(LEGAL[name], LEGAL[name], LEGAL[name], ILLEGAL))
    return pb.Outcome(
        draw(SOME_ID), name, **numbers, decision=draw(st.sampled_from([None, None, 1, 2]))
    )


class Machine(RuleBasedStateMachine):
    """A portfolio with two connections, and the model."""

    place: Place

    @initialize(policy=st.sampled_from(POLICIES), shadow=st.booleans())
    def make(self, policy: str, shadow: bool) -> None:
        self.place = self.new_place()
        self.model = Model(pb.Agent(categories(), policy=policy, seed=7), shadow=shadow)
        self.book = self.place.create(categories(), policy=policy, seed=7, shadow=shadow)
        self.other = self.place.open()
        self.is_busy = False  # whether the next step is done by the second connection
        self.lines = 1

    def new_place(self) -> Place:
        raise NotImplementedError

    @property
    def writer(self) -> pb.Portfolio:
        self.is_busy = not self.is_busy
        return self.other if self.is_busy else self.book

    @rule(
        key=SOME_KEY,
        available=st.sampled_from([None, None, ["cars", "students"]]),
        limit=st.booleans(),
    )
    def decide(self, key: str, available: list[str] | None, limit: bool) -> None:
        asked: dict[str, Any] = {} if available is None else {"available": available}
        if limit:
            demand = dict.fromkeys(sorted(available or self.model.agent.names), 3)
            asked |= {"places": 5, "demand": demand}
        self.ask(key, asked)

    def ask(self, key: str, asked: dict[str, Any]) -> None:
        """Decide with these options, or be refused."""
        is_new = key not in self.model.decisions
        try:
            made = self.model.decide(key, **asked)
        except pb.errors.ConflictError:
            with pytest.raises(pb.errors.ConflictError):
                self.writer.decide(key=key, **asked)
            return
        stored = self.writer.decide(key=key, **asked)
        assert_same_decision(stored, made)
        assert stored.is_shadow == self.model.was_shadow[stored.round]
        self.lines += is_new

    @rule(
        outcomes=st.lists(an_outcome(), min_size=1, max_size=4),
        whole=st.booleans(),
        dry=st.booleans(),
    )
    def observe(self, outcomes: list[pb.Outcome], whole: bool, dry: bool) -> None:
        self.report(outcomes, whole, dry)

    def report(self, outcomes: Sequence[Any], whole: bool, dry: bool) -> None:
        """Report outcomes that are new, known already, changed or wrong; of few ids, so
        that all of it happens.
        """
        writer = self.writer
        if dry and whole:
            before = self.place.dump()
            trial = statuses(writer.observe(outcomes, dry_run=True))
            assert self.place.dump() == before
            expected = [self.model.observe(outcome) for outcome in outcomes]
            assert trial == expected
        elif whole:
            trial = statuses(writer.observe(outcomes, dry_run=True))
            answers = statuses(writer.observe(outcomes, all_or_nothing=True))
            if "refused" in trial:
                assert answers == [
                    "left out" if status == "counted" else status for status in trial
                ]
                return
            expected = [self.model.observe(outcome) for outcome in outcomes]
            assert answers == trial == expected
            self.lines += expected.count("counted")
            return
        else:
            expected = [self.model.observe(outcome) for outcome in outcomes]
        assert statuses(writer.observe(outcomes)) == expected
        self.lines += expected.count("counted")

    @precondition(lambda self: self.model.agent.round > 0)
    @rule(id=SOME_ID, name=st.sampled_from(NAMES), form=st.sampled_from(FORMS), early=st.booleans())
    def open(self, id: str, name: str, form: dict[str, Any], early: bool) -> None:
        client = pb.Client(id, name, **form, decision=max(1, self.model.agent.round - early))
        expected = self.model.open(client)
        assert statuses(self.writer.open([client])) == [expected]
        self.lines += expected == "counted"

    @rule()
    def repeat(self) -> None:
        """Send all that was ever counted once more."""
        sent = [known.said for known in self.model.outcomes.values()]
        assert set(statuses(self.writer.observe(sent))) <= {"known"}
        assert set(statuses(self.writer.open(self.model.clients.values()))) <= {"known"}

    @precondition(lambda self: self.model.outcomes)
    @rule(data=st.data(), take_back=st.sampled_from([False, False, True]), key=OWN_KEY)
    def correct(self, data: st.DataObject, take_back: bool, key: str | None) -> None:
        id = data.draw(st.sampled_from(sorted(self.model.outcomes)))
        right: dict[str, Any] = {"take_back": True}
        if not take_back:
            right = data.draw(LEGAL[self.model.outcomes[id].said.category])
        self.mend(id, right, key)

    def mend(self, id: str, right: dict[str, Any], key: str | None) -> None:
        """Correct an outcome, or be refused."""
        right = right if key is None else {**right, "key": key}
        try:
            expected = self.model.correct(id, **right)
        except pb.errors.InputError as error:
            with pytest.raises(type(error)):
                self.writer.correct(id, **right)
            return
        assert self.writer.correct(id, **right).status == expected
        self.lines += expected == "counted"

    def change(
        self, set_it: Callable[..., Any], *what: object, is_so: bool, key: str | None
    ) -> bool:
        """Change a setting of the portfolio; returns whether the model is to be
        changed.
        """
        options = {} if key is None else {"key": key}
        try:
            expected = self.model.sets(*what, is_so=is_so, key=key)
        except pb.errors.ConflictError:
            with pytest.raises(pb.errors.ConflictError):
                set_it(**options)
            return False
        assert set_it(**options).status == expected
        self.lines += expected == "counted"
        return expected == "counted" and not is_so

    @rule(name=st.sampled_from(NAMES), paused=st.booleans(), key=OWN_KEY)
    def pause(self, name: str, paused: bool, key: str | None) -> None:
        # A copy, because looking renews evidence.
        is_so = copy(self.model.agent)[name].paused == paused
        writer = self.writer
        set_it = partial(writer.pause if paused else writer.resume, name)
        if self.change(set_it, "paused", name, paused, is_so=is_so, key=key):
            (self.model.agent.pause if paused else self.model.agent.resume)(name)

    @rule(
        which=st.sampled_from(
            [("students", 0.3), ("students", 0.6), ("shops", 3.5), ("cars", 0.95), ("cards", 0.9)]
        ),
        key=OWN_KEY,
    )
    def change_threshold(self, which: tuple[str, float], key: str | None) -> None:
        self.set_threshold(which, key)

    def set_threshold(self, which: tuple[str, float], key: str | None) -> None:
        """Set another threshold, or be refused."""
        is_so = self.model.agent.category(which[0]).threshold == which[1]
        if self.change(
            partial(self.writer.set_threshold, *which), "threshold", *which, is_so=is_so, key=key
        ):
            self.model.agent.set_threshold(*which)

    @rule(policy=st.sampled_from(POLICIES), key=OWN_KEY)
    def change_policy(self, policy: str, key: str | None) -> None:
        self.set_policy(policy, key)

    def set_policy(self, policy: str, key: str | None) -> None:
        """Set another policy, or be refused."""
        try:
            if key not in self.model.setting_keys:
                copy(self.model.agent).set_policy(policy)
        except pb.errors.SumNotEnoughError:
            with pytest.raises((pb.errors.SumNotEnoughError, pb.errors.ConflictError)):
                self.writer.set_policy(policy, key=key)
            return
        is_so = str(self.model.agent.policy) == policy
        if self.change(
            partial(self.writer.set_policy, policy), "policy", policy, is_so=is_so, key=key
        ):
            self.model.set_policy(policy)

    @rule(shadow=st.booleans(), key=OWN_KEY)
    def change_shadow(self, shadow: bool, key: str | None) -> None:
        is_so = self.model.is_shadow == shadow
        if self.change(
            partial(self.writer.set_shadow, shadow), "shadow", shadow, is_so=is_so, key=key
        ):
            self.model.is_shadow = shadow

    @rule()
    def crash(self) -> None:
        """The connection is gone in the middle of something that was not stored;
        another one is made.
        """
        with pytest.raises((pb.errors.PortfolioError, sqlite3.ProgrammingError)):
            self.torn()
        self.book.close()
        self.book = self.place.open()

    def torn(self) -> None:
        with self.book._writing() as writing:
            writing.add(
                writing.new("decide", id="never", body=decide(writing.agent, DecisionRequest()))
            )
            writing.passed = True
            self.book._store._driver.close()

    @rule()
    def upgrade(self) -> None:
        """The state is computed anew under two who have it open."""
        upgrade(self.place.where, actor="ann")
        self.lines += 1

    @rule()
    def restore(self) -> None:
        """It goes on elsewhere, from a backup."""
        before, self.place = self.place, self.new_place()
        copy_portfolio(before.where, self.place.where, restored_by="ann")
        before.close()
        self.book, self.other = self.place.open(), self.place.open()
        self.lines += 1

    @rule()
    def look(self) -> None:
        """Looking changes nothing."""
        writer = self.writer
        for text in (writer.status(), writer.explain("cars"), writer.log(limit=3), writer.agent):
            assert str(text)

    @invariant()
    def is_the_same(self) -> None:
        if hasattr(self, "book"):
            # The one that wrote.
            assert_same(self.other if self.is_busy else self.book, self.model.agent)

    def teardown(self) -> None:
        if not hasattr(self, "book"):
            return
        for book in (self.book, self.other, self.place.open()):
            assert_same(book, self.model.agent)
        found = self.book.verify()
        assert (found.findings, found.notes, found.lines) == ((), (), self.lines), str(found)
        assert found.outcomes == len(self.model.outcomes)
        assert found.decisions == len(self.model.decisions)
        self.place.close()


LENDER_POLICIES = ["bayes-ucb", "kl-ucb", "optimal:horizon=60"]
TERMS = st.sampled_from([2, 2, 6])  # a loan over 2 rounds becomes too old to be looked at
RATES = st.sampled_from([0.05, 0.12, 0.5])
ENDS = st.sampled_from(
    [{how: day} for how in ("defaulted", "closed") for day in (*DAYS, *DAYS, *DAYS, BEFORE)]
)


@st.composite
def an_applicant(draw: st.DrawFn) -> pb.Client:
    return pb.Client("who asks", draw(st.sampled_from(NAMES)), term=draw(TERMS), rate=draw(RATES))


class Lender(Machine):
    """The same of a portfolio that lends: loans with a term, that default or close."""

    model: LoanModel

    @initialize(policy=st.sampled_from(LENDER_POLICIES), shadow=st.booleans())
    def make(self, policy: str, shadow: bool) -> None:
        names = [pb.Category.returns(name) for name in NAMES]
        options: dict[str, Any] = {"policy": policy, "seed": 7}
        options["lending"] = pb.Lending(required=0.05, recovery=0.1, lag=1)
        self.place = self.new_place()
        self.model = LoanModel(pb.Agent(names, **options), shadow=shadow)
        self.book = self.place.create(names, **options, shadow=shadow)
        self.other = self.place.open()
        self.is_busy, self.lines = False, 1
        self.ask("day 0", {"available": None, "applicants": None})
        for name in NAMES[:2]:  # so that loans can end from the first step on
            self.open([f"client {name} {i}" for i in range(4)], name, 6, 0.12, ISSUED, 0)

    @rule(
        key=SOME_KEY,
        available=st.sampled_from([None, None, ["cars", "students"]]),
        applicants=st.lists(an_applicant(), max_size=3),
    )
    def decide(self, key: str, available: list[str] | None, applicants: list[pb.Client]) -> None:
        self.ask(key, {"available": available, "applicants": applicants or None})

    @precondition(lambda self: self.model.clients)
    @rule(data=st.data(), whole=st.booleans(), dry=st.booleans())
    def observe(self, data: st.DataObject, whole: bool, dry: bool) -> None:
        known = st.sampled_from(sorted(self.model.clients))
        outcomes = st.builds(
            lambda id, end, category: pb.LoanOutcome(id, **end, category=category),
            st.one_of(known, known, known, known, SOME_ID),
            st.one_of(ENDS, ENDS, ENDS, st.just({})),
            st.sampled_from([None, None, None, NAMES[0]]),
        )
        self.report(data.draw(st.lists(outcomes, min_size=1, max_size=6)), whole, dry)

    @rule(
        ids=st.lists(SOME_ID, min_size=1, max_size=6, unique=True),
        name=st.sampled_from(NAMES),
        term=TERMS,
        rate=st.one_of(RATES, RATES, st.none()),
        issued=st.sampled_from([ISSUED, ISSUED, ISSUED, None]),
        early=st.integers(0, 4),
    )
    def open(
        self,
        ids: list[str],
        name: str,
        term: int,
        rate: float | None,
        issued: str | None,
        early: int,
    ) -> None:
        loans = [
            pb.Client(
                id,
                name,
                term=term,
                rate=rate,
                issued=issued,
                decision=max(1, self.model.agent.round - early),
            )
            for id in ids
        ]
        expected = [self.model.open(loan) for loan in loans]
        assert statuses(self.writer.open(loans)) == expected
        self.lines += expected.count("counted")

    @precondition(lambda self: self.model.outcomes)
    @rule(data=st.data())
    def correct(self, data: st.DataObject) -> None:
        id = st.sampled_from(sorted(self.model.outcomes))
        right = st.one_of(ENDS, st.just({"take_back": True}))
        for each in data.draw(st.lists(st.tuples(id, right, OWN_KEY), min_size=1, max_size=5)):
            self.mend(*each)

    @rule(which=st.tuples(st.sampled_from(NAMES), st.sampled_from([1.0, 1.05])), key=OWN_KEY)
    def change_threshold(self, which: tuple[str, float], key: str | None) -> None:
        self.set_threshold(which, key)

    @rule(policy=st.sampled_from(LENDER_POLICIES), key=OWN_KEY)
    def change_policy(self, policy: str, key: str | None) -> None:
        self.set_policy(policy, key)


@pytest.mark.filterwarnings("ignore:category:profitable.errors.ProfitableWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("machine", [Machine, Lender])
def test_a_portfolio_is_what_its_model_is(
    request: pytest.FixtureRequest, machine: type[Machine], backend: str, tmp_path: Path
) -> None:
    numbers = count()

    class Here(machine):  # type: ignore[misc, valid-type]
        def new_place(self) -> Place:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            return new_place(request, backend, folder)

    examples = {"sqlite": 1_000 if SOAK else 15, "postgres": 200 if SOAK else 4}[backend]
    steps = 60 if SOAK else 25
    chosen = settings(
        max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Here, settings=chosen)
