"""The state belongs to one end of the journal: lines that were cut off, or put in by
SQL, are noticed at once.

Whoever has the portfolio open already, and whoever opens it, is refused before anything
is written.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from profitable.errors import BrokenPortfolioError
from profitable.portfolio import state
from profitable.portfolio.journal import Line, hash_of
from profitable.portfolio.new_store import copy_portfolio, upgrade
from tests.portfolio.places import Place
from tests.portfolio.small import outcomes, small

USES: dict[str, Callable[[pb.Portfolio], Any]] = {
    "status": lambda book: book.status(),
    "decide": lambda book: book.decide(key="day 9"),
    "an old key": lambda book: book.decide(key="day 1"),
    "observe": lambda book: book.observe(outcomes("students", 1, 0, 1)),
    "observe one": lambda book: book.observe(outcomes("students", 1, prefix="new")),
    "correct": lambda book: book.correct("client 1", reward=0),
    "a setting": lambda book: book.pause("shops"),
}


def lived(place: Place, last: str) -> pb.Portfolio:
    """A portfolio whose last line is of some kind."""
    book = small(place)
    book.observe(outcomes("students", 1, 0))
    book.observe(outcomes("shops", 3, prefix="shop"))
    if last == "outcome":
        book.observe(outcomes("students", 1, 0, 1))  # of which the third is new
    elif last == "decide":
        book.decide(key="day 2")
    elif last == "change":
        book.set_shadow(True)
    elif last == "correct":
        book.correct("shop 1", reward=2)
    return book


def assert_refused(place: Place, opened: pb.Portfolio, problem: str) -> None:
    before = place.dump()
    for book in (opened, place.open()):
        for name, use in USES.items():
            with pytest.raises(BrokenPortfolioError, match=problem):
                use(book)
            assert place.dump() == before, name
        assert not book.verify().is_clean
    for act in (lambda: copy_portfolio(place.where, "nowhere.db"), lambda: upgrade(place.where)):
        with pytest.raises(BrokenPortfolioError, match=problem):
            act()
    assert place.dump() == before


@pytest.mark.parametrize("last", ["outcome", "decide", "change", "correct"])
def test_lines_that_are_cut_off_at_the_end(
    place: Place, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, the outcome that was cut off would be taken for a new one, and
    count twice in the state.
    """
    monkeypatch.chdir(tmp_path)
    book, lines = lived(place, last), place.lines()
    assert place.change("DELETE FROM profitable_journal WHERE line = :line", line=lines) == 1
    problem = f"journal = {lines - 1} is its last line, but the state is that of line {lines}"
    assert_refused(place, book, problem)
    found = book.verify().findings
    assert any(f"the state is that of line {lines}" in each for each in found), found


def test_a_line_that_is_put_in_at_the_end(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hash fits, and the state does not have what it says."""
    monkeypatch.chdir(tmp_path)
    book, lines = lived(place, "outcome"), place.lines()
    row = place.rows("SELECT * FROM profitable_journal WHERE line = :line", line=lines)[0]
    forged = Line(*row)._replace(line=lines + 1, id="forged")
    forged = forged._replace(hash=hash_of(forged, row[-1]))
    names = ", ".join(f":{name}" for name in Line._fields)
    assert place.change(f"INSERT INTO profitable_journal VALUES ({names})", **forged._asdict()) == 1
    assert_refused(
        place,
        book,
        f"journal = {lines + 1} is its last line, but the state is that of line {lines}",
    )


def test_the_end_is_compared_without_reading_the_state(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts that nobody else has changed are not read again, whatever the number of
    categories.
    """
    book = lived(place, "outcome")
    read: list[object] = []
    monkeypatch.setattr(state, "rows", lambda *given: read.append(given))
    book.observe(outcomes("students", 1, prefix="more"))
    assert read == []
