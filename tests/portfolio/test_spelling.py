"""One id, however its accents are written; and journals in which earlier versions kept
them as they came.
"""

import sqlite3
import unicodedata
from pathlib import Path

import pytest

import profitable as pb
from profitable.errors import ParameterError
from profitable.portfolio.history import count
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, statuses

COMPOSED, DECOMPOSED = "loan-\u00e9", "loan-e\u0301"
FORMS = [COMPOSED, DECOMPOSED]


def book_of(place: Place, name: str = "caf\u00e9s") -> pb.Portfolio:
    book = place.create([pb.Category(name, pb.Bernoulli(), threshold=0.5)], policy="ts", seed=1)
    book.decide(key="jour 1 \u00e9t\u00e9")
    return book


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("first", FORMS)
def test_an_id_counts_once(place: Place, first: str, number: int) -> None:
    book = book_of(place)
    second = DECOMPOSED if first == COMPOSED else COMPOSED
    others = [pb.Outcome("other", "caf\u00e9s", reward=1)][: number - 1]
    assert statuses(book.open([pb.Client(first, "caf\u00e9s")])) == ["counted"]
    assert statuses(book.open([pb.Client(second, "caf\u00e9s")])) == ["known"]
    assert (
        statuses(book.observe([pb.Outcome(first, "caf\u00e9s", reward=1), *others]))[0] == "counted"
    )
    assert (
        statuses(book.observe([pb.Outcome(second, "caf\u00e9s", reward=1), *others]))[0] == "known"
    )
    assert (
        statuses(book.observe([pb.Outcome(each, "caf\u00e9s", reward=0) for each in FORMS]))
        == ["refused"] * 2
    )
    assert book.status().columns["known"] == [number]
    assert {line.id for line in book.log(kind="outcome")} <= {COMPOSED, "other"}
    assert book.correct(second, reward=0).status == "counted"
    assert len(book.log(id=second)) == 3
    assert_clean(book)


def test_both_forms_in_one_batch(place: Place) -> None:
    book = book_of(place)
    rows = [pb.Outcome(each, "caf\u00e9s", reward=1) for each in FORMS]
    assert statuses(book.observe(rows)) == ["counted", "known"]


@pytest.mark.parametrize("known", ["caf\u00e9s", "cafe\u0301s"])
def test_categories_of_rows(place: Place, known: str) -> None:
    book = book_of(place, known)
    rows = [
        pb.Outcome(str(i), name, reward=1) for i, name in enumerate(("caf\u00e9s", "cafe\u0301s"))
    ]
    assert statuses(book.observe(rows)) == ["counted", "counted"]
    assert {line.category for line in book.log(kind="outcome")} == {known}
    assert "is unknown" in book.observe([pb.Outcome("3", "caf\u00e8s", reward=1)])[0].why
    with pytest.raises(
        ParameterError, match="is the name of another category, with its accents written otherwise"
    ):
        book.add_category(
            pb.Category(
                unicodedata.normalize("NFC" if known[3] == "e" else "NFD", known),
                pb.Bernoulli(),
                threshold=0.5,
            )
        )


def test_categories_that_look_the_same(tmp_path: Path) -> None:
    twins = [
        pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in ("caf\u00e9s", "cafe\u0301s")
    ]
    with pytest.raises(ParameterError, match="with its accents written otherwise"):
        pb.Portfolio.create(tmp_path / "book.db", twins, policy="ts")
    assert not (tmp_path / "book.db").exists()


def test_keys(place: Place) -> None:
    book = book_of(place)
    other = unicodedata.normalize("NFD", "jour 1 \u00e9t\u00e9")
    assert book.decide(key=other).round == 1
    assert book.round == 1
    assert book.decision(key=other).round == 1
    assert statuses(book.observe([pb.Outcome("1", "caf\u00e9s", reward=1, key=other)])) == [
        "counted"
    ]


@pytest.mark.parametrize("form", FORMS)
def test_an_earlier_journal_has_ids_as_they_came(form: str, tmp_path: Path) -> None:
    """Version 0.2.0 opened and counted this client under the decomposed id."""
    path = tmp_path / "book.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(
            (Path(__file__).parent / "version_0_2_0" / "floor_and_limit.sql").read_text(
                encoding="utf-8"
            )
        )
    database.close()
    book = pb.Portfolio(path)
    known = book.status().columns["known"]
    assert statuses(book.observe([pb.Outcome(form, "students", reward=1)])) == ["known"]
    assert (
        statuses(
            book.observe(
                [pb.Outcome(form, "students", reward=1), pb.Outcome("a0", "students", reward=0)]
            )
        )
        == ["known"] * 2
    )
    assert statuses(book.open([pb.Client(form, "students")])) == ["known"]
    assert book.status().columns["known"] == known
    assert len(book.log(id=form)) == 2
    assert book.correct(form, reward=0).status == "counted"
    assert_clean(book)


def test_who_was_counted_twice_can_be_taken_back_by_either_form(tmp_path: Path) -> None:
    """An earlier version counted one client under two forms: each of them can be
    corrected.
    """
    book = pb.Portfolio.create(
        tmp_path / "book.db", [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts"
    )
    with book._writing() as writing:
        writing.touched |= {0}
        for form in FORMS:
            line = writing.add(writing.new("outcome", id=form, category="a", reward=1.0))
            count(writing.agent, [line])
    assert book.correct(DECOMPOSED, take_back=True).status == "counted"
    assert book.status().columns["known"] == [1]
    assert book.correct(COMPOSED, reward=0).status == "counted"
    assert book.agent["a"].mean == 0.0
    assert_clean(book)
