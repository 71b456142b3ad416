"""A portfolio decides as an agent does that sees the same history: equal to the last
bit, draws included.

The histories are random.  One portfolio is opened anew for each step, so that all it
knows comes from the database, and one stays open.  The agent is told each outcome by
itself.
"""

import os
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.agent.state_parts import COLUMN_PART, WHOLE_PARTS, assembled, part_of, put_column
from tests.matrix import FAMILIES, FamilyRow
from tests.portfolio.model import Model, assert_same, assert_same_decision
from tests.portfolio.places import Place

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
POLICIES = [
    "kl-ucb",
    "kl-ucb+",
    "kl-ucb+:count=rounds",
    "kl-ucb+:count=rounds,window=3",
    "bayes-ucb:floor=0.1",
    "ts",
    "ts:forget=0.9,floor=0.2",
    "ts:window=4",
    "optimal",
    "optimal:horizon=40,forget=0.95",
    "kl-bernoulli-ucb",
    "kl-gaussian-ucb:window=5",
    "kl-emp-ucb",
    "kl-emp-ucb:forget=0.8",
    "kl-emp-ucb:window=3",
    "ucb-v",
    "ucb-v:window=4",
    "ucb-v:forget=0.97",
]
STEPS = 60 if SOAK else 24
EMERGENCES: list[dict[str, Any]] = [
    {},
    {"matures": 2},
    {"matures": 3, "emerges": "evenly"},
    {"matures": 3, "emerges": (0.1, 0.1, 1.0)},
    {"matures": 0},
]


class History:
    """Random steps, done to an agent and to two portfolios."""

    def __init__(self, row: FamilyRow, policy: str, seed: int, places: tuple[Place, Place]) -> None:
        self.row = row
        self.rng = np.random.default_rng(seed)
        categories = [
            row.category(),
            pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0.3),
            pb.Category.returns("cards", required=0.05),
        ]
        self.model = Model(pb.Agent(categories, policy=policy, seed=seed))
        self.numbers = count(1)
        self.open_place, self.other_place = places
        self.kept = self.open_place.create(categories, policy=policy, seed=seed)
        self.again = self.other_place.create(categories, policy=policy, seed=seed)
        self.terms: dict[tuple[str, int], dict[str, Any]] = {}  # of each cohort

    @property
    def books(self) -> tuple[pb.Portfolio, pb.Portfolio]:
        return self.kept, self.again

    def step(self) -> None:
        steps = (
            ["decide"] * 4
            + ["observe"] * 5
            + ["open"] * 3
            + ["arrive"] * 4
            + ["correct"] * 3
            + ["change"]
        )
        getattr(self, f"do_{self.rng.choice(steps)}")()
        self.check()

    def check(self) -> None:
        """Open one of them as another process would; both know what the agent does."""
        self.again.close()
        self.again = self.other_place.open()
        for book in self.books:
            assert_same(book, self.model.agent)

    def reward(self, name: str) -> dict[str, float]:
        if name == "cars":
            cost = {"cost": float(self.rng.integers(1, 3_000))} if self.rng.random() < 0.3 else {}
            return {"reward": float(self.rng.integers(2)), **cost}
        if name == "cards":
            amount = (
                {"amount": float(self.rng.integers(1, 400)) / 4.0}
                if self.rng.random() < 0.8
                else {}
            )
            return {"reward": float(self.rng.integers(0, 200)) / 100.0, **amount}
        reward = float(self.row.rewards(1, seed=int(self.rng.integers(1 << 30)))[0])
        if self.rng.random() < 0.1:
            reward = float(self.rng.choice([self.row.smallest, self.row.largest]))
        cost = {"cost": round(10.0 * self.rng.random(), 2)} if self.rng.random() < 0.2 else {}
        return {"reward": reward, **cost}

    def do_decide(self) -> None:
        key, names = f"day {next(self.numbers)}", sorted(self.model.agent.names)
        asked: dict[str, Any] = {}
        if self.rng.random() < 0.3:
            asked["available"] = sorted(self.rng.choice(names, size=2, replace=False).tolist())
        if self.rng.random() < 0.4:
            limit = (
                {"places": int(self.rng.integers(8))}
                if self.rng.random() < 0.5
                else {"budget": 2_500.0}
            )
            demand = {name: int(self.rng.integers(6)) for name in asked.get("available", names)}
            asked |= {**limit, "demand": demand}
        made = self.model.decide(key, **asked)
        for book in self.books:
            assert_same_decision(book.decide(key=key, **asked), made)
            assert_same_decision(book.decision(key=key), made)

    def observe(self, outcomes: list[pb.Outcome]) -> None:
        expected = [self.model.observe(outcome) for outcome in outcomes]
        for book in self.books:
            receipt = book.observe(outcomes)
            assert [answer.status for answer in receipt] == expected, str(receipt)

    def do_observe(self) -> None:
        names = self.rng.choice(self.model.agent.names, size=int(self.rng.integers(1, 6))).tolist()
        self.observe(
            [
                pb.Outcome(f"client {next(self.numbers)}", name, **self.reward(name))
                for name in names
            ]
        )

    def do_open(self) -> None:
        decision = self.model.agent.round - int(self.rng.integers(2))
        if decision < 1:
            return
        clients: list[pb.Client] = []
        for name in self.rng.choice(self.model.agent.names, size=3).tolist():
            some = EMERGENCES[int(self.rng.integers(len(EMERGENCES)))]
            if some.get("emerges") and name != "cars":
                some = {**some, "promised": 1.0}
            terms = self.terms.setdefault((name, decision), some) if some else some
            clients.append(
                pb.Client(f"client {next(self.numbers)}", name, decision=decision, **terms)
            )
        expected = [self.model.open(client) for client in clients]
        for book in self.books:
            assert [answer.status for answer in book.open(clients)] == expected

    def do_arrive(self) -> None:
        waiting = [
            client for client in self.model.clients.values() if client.id not in self.model.outcomes
        ]
        if waiting:
            some = self.rng.permutation(len(waiting))[:3].tolist()
            chosen = [waiting[place] for place in some]
            self.observe(
                [
                    pb.Outcome(each.id, each.category, **self.reward(each.category))
                    for each in chosen
                ]
            )

    def do_correct(self) -> None:
        if not self.model.outcomes:
            return
        id = str(self.rng.choice(sorted(self.model.outcomes)))
        right: dict[str, Any] = self.reward(self.model.outcomes[id].said.category)
        if self.rng.random() < 0.25:
            right = {"take_back": True}
        try:
            expected = self.model.correct(id, **right)
        except pb.errors.InputError as error:
            expected = type(error).__name__
        for book in self.books:
            try:
                answered = book.correct(id, **right).status
            except pb.errors.InputError as error:
                answered = type(error).__name__
            assert answered == expected

    def do_change(self) -> None:
        name = str(self.rng.choice(self.model.agent.names))
        which = int(self.rng.integers(4))
        if which == 0:
            added = pb.Category(f"late {next(self.numbers)}", pb.Bernoulli(), threshold=0.4)
            change, arguments = "add_category", (added,)
        elif which == 1:
            low, high = {"cars": (0.7, 0.95), "cards": (0.9, 1.3)}.get(
                name, (self.row.mean, self.row.threshold)
            )
            threshold = 0.5 if name.startswith("late") else float(self.rng.choice([low, high]))
            if threshold == self.model.agent.category(name).threshold:
                return  # nothing changes; an agent computes its evidence anew even then
            change, arguments = "set_threshold", (name, threshold)
        else:
            change, arguments = ("pause" if which == 2 else "resume"), (name,)
        getattr(self.model.agent, change)(*arguments)
        for book in self.books:
            getattr(book, change)(*arguments)

    def change_policy(self, policy: str) -> None:
        """To another one, if what was kept is enough for it."""
        try:
            self.model.set_policy(policy)
            is_possible = True
        except pb.errors.SumNotEnoughError:
            is_possible = False
        for book in self.books:
            with nullcontext() if is_possible else pytest.raises(pb.errors.SumNotEnoughError):
                book.set_policy(policy)
        self.check()

    def finish(self) -> None:
        for book in self.books:
            found = book.verify()
            assert found.is_clean, str(found)
            assert found.notes == ()
        journals = [
            place.rows("SELECT * FROM profitable_journal ORDER BY line") for place in self.places
        ]
        # But for times and hashes.
        first, second = ([row[4:-1] for row in journal] for journal in journals)
        assert first == second
        self.check_parts()

    def check_parts(self) -> None:
        """An agent is put together from its parts to the last bit, and from columns
        that are newer.
        """
        agent = self.model.agent
        twin = assembled({part: part_of(agent, part) for part in WHOLE_PARTS}, {})
        assert [part_of(twin, part) for part in WHOLE_PARTS] == [
            part_of(agent, part) for part in WHOLE_PARTS
        ]
        for name in agent.names:
            agent.observe(name, [1.0] if name.startswith("late") else [self.reward(name)["reward"]])
        late = assembled(
            {part: part_of(twin, part) for part in WHOLE_PARTS}, {0: part_of(agent, COLUMN_PART, 0)}
        )
        for k in range(1, len(agent)):
            put_column(late, k, part_of(agent, COLUMN_PART, k))
        assert [part_of(late, part) for part in WHOLE_PARTS] == [
            part_of(agent, part) for part in WHOLE_PARTS
        ]
        assert_same_decision(late.decide(), agent.decide())

    @property
    def places(self) -> tuple[Place, Place]:
        return self.open_place, self.other_place


def play(
    row: FamilyRow, policy: str, seed: int, places: tuple[Place, Place], steps: int
) -> History:
    history = History(row, policy, seed, places)
    for _ in range(steps):
        history.step()
    return history


def files(folder: Path) -> tuple[Place, Place]:
    return Place(str(folder / "kept.db")), Place(str(folder / "again.db"))


def cases() -> list[tuple[FamilyRow, str]]:
    """All pairs in `make soak`; in the tests each policy with one family, so that all
    families are there.
    """
    if SOAK:
        return [(row, policy) for row in FAMILIES for policy in POLICIES]
    return [
        (FAMILIES[(5 * place + 3) % len(FAMILIES)], policy) for place, policy in enumerate(POLICIES)
    ]


# Log N alone, of large batches.
@pytest.mark.filterwarnings("ignore:category:profitable.errors.ProfitableWarning")
@pytest.mark.parametrize(("row", "policy"), cases(), ids=str)
def test_random_histories(row: FamilyRow, policy: str, tmp_path: Path) -> None:
    places = files(tmp_path)
    history = play(row, policy, seed=len(policy) + FAMILIES.index(row), places=places, steps=STEPS)
    history.finish()
    for place in places:
        place.close()


def test_a_change_of_policy(two_places: tuple[Place, Place]) -> None:
    history = play(FAMILIES[0], "kl-ucb", 1, two_places, steps=10)
    for policy in (
        "ts:forget=0.9",
        "kl-ucb:window=3",
        "kl-emp-ucb",
        "bayes-ucb:floor=0.1",
        "ucb-v",
    ):
        history.change_policy(policy)
        for _ in range(20 if SOAK else 4):
            history.step()
    history.finish()


def test_scarce_places_and_every_single_reward(tmp_path: Path) -> None:
    """Indices share out what is kept for learning; without the rewards themselves, a
    stored decision must have them.
    """
    place = Place(str(tmp_path / "book.db"))
    categories = [
        pb.Category("it", pb.Gaussian(sigma=1.5), threshold=1.5, bound=8.0),
        pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0.3),
    ]
    book, agent = (
        place.create(categories, policy="kl-emp-ucb", seed=1),
        pb.Agent(categories, policy="kl-emp-ucb", seed=1),
    )
    for name, rewards in {"it": [-1.35, -0.75, 3.34], "cars": [0, 1, 1, 0, 1, 1]}.items():
        book.observe(
            [pb.Outcome(f"{name} {i}", name, reward=reward) for i, reward in enumerate(rewards)]
        )
        agent.observe(name, rewards)
    for places in (9, 9, 1, 2, 3):
        asked: dict[str, Any] = {"places": places, "demand": {"it": 5, "cars": 3}}
        made, key = agent.decide(**asked), f"{agent.round} {places}"
        assert_same_decision(book.decide(key=key, **asked), made)
        assert_same_decision(book.decision(key=key), made)
    place.close()
