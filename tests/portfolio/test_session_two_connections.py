"""Two who write to one portfolio: rounds are strictly increasing, nothing is lost, and
each sees what the other did.
"""

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.portfolio import state
from tests.portfolio.model import Model, assert_same, assert_same_decision
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, outcomes, small, statuses
from tests.waiting import LIMIT


@pytest.mark.parametrize("policy", ["ts", "kl-emp-ucb:forget=0.9", "kl-ucb+:count=rounds,window=3"])
@pytest.mark.filterwarnings("ignore:category:profitable.errors.ProfitableWarning")
def test_taking_turns(place: Place, policy: str) -> None:
    rng = np.random.default_rng(1)
    model = Model(pb.Agent(categories(), policy=policy, seed=7))
    books = [
        place.create(categories(), policy=policy, seed=7, actor="ann"),
        place.open(actor="bob"),
    ]
    for turn in range(40):
        book = books[int(rng.integers(2))]
        step = int(rng.integers(6))
        if step == 0:
            assert_same_decision(book.decide(key=f"turn {turn}"), model.decide(f"turn {turn}"))
        elif step == 1:
            name = str(rng.choice(["students", "cars"]))
            threshold = round(float(rng.uniform(0.3, 0.9)), 2)
            book.set_threshold(name, threshold)
            model.agent.set_threshold(name, threshold)
        elif step == 2 and model.agent.round:
            client = pb.Client(f"late {turn}", "cars", matures=2)
            assert statuses(book.open([client])) == [model.open(client)]
        else:
            names = rng.choice(["students", "shops", "cars"], size=int(rng.integers(1, 4))).tolist()
            sent = [
                pb.Outcome(f"{turn} {i}", name, reward=float(rng.integers(2)))
                for i, name in enumerate(names)
            ]
            assert statuses(book.observe(sent)) == [model.observe(outcome) for outcome in sent]
        other = books[0] if book is books[1] else books[1]
        # Now and then it looks, and at other times it sees several steps at once.
        if rng.random() < 0.5:
            assert_same(other, model.agent)
    for book in books:
        assert_same(book, model.agent)
        assert_clean(book)


def test_only_what_changed_is_read_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that follows another one reads the columns of the categories that
    changed, and not all of it.
    """
    book, other = small(place), place.open()
    assert other.round == 1
    loads = Counter[str]()
    load = state.load

    def counted(*given: Any) -> Any:
        loads["whole"] += 1
        return load(*given)

    monkeypatch.setattr(state, "load", counted)
    book.observe(outcomes("students", 1, 0))
    assert other.agent["students"].clients == 2
    assert loads["whole"] == 0
    book.decide(key="day 2")
    assert other.round == 2
    assert loads["whole"] == 1


@pytest.mark.parametrize(
    "own", [True, False], ids=["each with a connection", "one connection for all"]
)
def test_at_the_same_time(place: Place, own: bool) -> None:
    """Threads that decide and report as fast as they can: those of one key get one
    decision, and all outcomes count.
    """
    book = small(place)
    books = [place.open(actor=f"actor {i}") if own else book for i in range(4)]
    decided: list[list[tuple[str, int, tuple[str, ...]]]] = [[] for _ in books]
    statuses_of: list[list[str]] = [[] for _ in books]
    faults: list[BaseException] = []
    barrier = threading.Barrier(len(books))

    def work(i: int) -> None:
        try:
            barrier.wait(LIMIT)
            for step in range(8):
                made = books[i].decide(key=f"shared {step}")
                decided[i].append((made.key or "", made.round, made.accepted))
                mine = outcomes("students", step % 2, prefix=f"{i} {step}")
                shared = outcomes("shops", step, prefix=f"shared {step}")
                statuses_of[i] += statuses(books[i].observe([*mine, *shared]))
        except BaseException as error:
            faults.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(books))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not faults, faults
    assert decided[0] == decided[1] == decided[2] == decided[3]
    assert [round for _, round, _ in decided[0]] == list(range(2, 10))
    assert Counter(status for each in statuses_of for status in each) == {
        "counted": 4 * 8 + 8,
        "known": 3 * 8,
    }
    agent = place.open().agent
    assert (agent.round, agent["students"].clients, agent["shops"].clients) == (9, 32, 8)
    assert agent["shops"].mean == np.mean(range(8))
    assert_clean(book)


def test_a_backup_that_is_restored_under_an_open_portfolio(place: Place) -> None:
    """Lines that were seen before are gone.  What was in memory is not trusted then."""
    book = small(place)
    book.observe(outcomes("students", 1, 1, 1))
    rows = place.dump()
    book.observe(outcomes("students", 0, 0, 0, prefix="lost"))
    book.set_shadow(True)
    assert book.agent["students"].clients == 6
    for table, kept in zip(("profitable_journal", "profitable_state"), rows, strict=True):
        place.change(f"DELETE FROM {table}")
        names = [f"v{i}" for i in range(len(kept[0]))]
        for row in kept:
            values = dict(zip(names, row, strict=True))
            place.change(
                f"INSERT INTO {table} VALUES ({', '.join(f':{name}' for name in names)})", **values
            )
    assert not book.is_shadow
    assert book.agent["students"].clients == 3
    assert statuses(book.observe(outcomes("students", 0, 1, prefix="lost"))) == [
        "counted",
        "counted",
    ]
    assert book.agent["students"].clients == 5
    assert_clean(book)
