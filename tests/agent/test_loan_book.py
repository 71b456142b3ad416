"""LoanBook: its counts are those of a simulation that keeps every loan as a row."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profitable.agent.loan_book import BY_AGE, BY_ROUND, BY_VINTAGE, LoanBook, Loans
from profitable.agent.loan_state import put_values, values_of, vintages_of
from profitable.kernels.hazards import BookRow
from profitable.model.lending import Lending

LENDING = Lending(lag=1)
TERMS = (1, 2, 5)
CATEGORIES = 2


@dataclass
class Row:
    """A loan."""

    k: int
    term: int
    accepted_in: int
    ended_in: int | None = None
    defaulted: bool = False


def loans_of(row: Row) -> Loans:
    return Loans(*(np.array([each]) for each in (row.k, row.term, row.accepted_in)))


def counted(rows: list[Row], now: int, terms: list[int]) -> dict[str, np.ndarray]:
    """Count loans row by row; round `now` has not passed."""
    size = max(terms) + LENDING.lag + 2
    by_age = {name: np.zeros((CATEGORIES, len(terms), size)) for name in BY_AGE}
    by_round = {name: np.zeros((CATEGORIES, len(terms), now + 1)) for name in BY_ROUND}
    vintages = {name: np.zeros((now + 1, len(terms), size)) for name in BY_VINTAGE}
    for row in rows:
        p, last = terms.index(row.term), row.term + LENDING.lag + 2
        by_round["issued"][row.k, p, row.accepted_in] += 1
        by_round["ended"][row.k, p, row.accepted_in] += row.ended_in is not None
        for age in range(min(now - row.accepted_in + 1, last)):
            round = row.accepted_in + age
            if row.ended_in is not None and round > row.ended_in:
                break
            if round == now and row.ended_in is None:
                by_age["open"][row.k, p, age] += 1
                continue
            by_age["at_risk"][row.k, p, age] += 1
            vintages["vintage_risk"][row.accepted_in, p, age] += 1
            if round == row.ended_in:
                by_age["defaults" if row.defaulted else "closings"][row.k, p, age] += 1
                vintages["vintage_defaults"][row.accepted_in, p, age] += row.defaulted
    return by_age | by_round | vintages


def check(book: LoanBook, rows: list[Row]) -> None:
    if not rows:
        return
    plain = counted(rows, book.round, book.terms.tolist())
    found = dict(zip(BY_VINTAGE, book.vintages(), strict=True))
    for name, expected in plain.items():
        ours = found[name] if name in found else getattr(book, name)
        if name in BY_ROUND:
            ours, beyond = np.split(ours, [book.round + 1], axis=2)
            assert not beyond.any()
        if name in BY_VINTAGE:
            ours, beyond = np.split(ours, [book.round + 1])
            assert not beyond.any()
        assert (ours == expected).all(), name


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_counts_are_those_of_single_loans(data: st.DataObject) -> None:
    book, rows = LoanBook(LENDING, CATEGORIES), list[Row]()
    for _ in range(data.draw(st.integers(1, 25))):
        step = data.draw(st.sampled_from(("add", "end", "reopen", "advance", "advance")))
        ended = [row for row in rows if row.ended_in is not None]
        still = [row for row in rows if row.ended_in is None]
        if step == "add":
            row = Row(
                data.draw(st.integers(0, CATEGORIES - 1)),
                data.draw(st.sampled_from(TERMS)),
                data.draw(st.integers(0, book.round)),
            )
            number = data.draw(st.integers(1, 3))
            rows += [copy.copy(row) for _ in range(number)]
            book.add(loans_of(row), [number])
        elif step == "end" and still:
            row = data.draw(st.sampled_from(still))
            row.ended_in, row.defaulted = book.round, data.draw(st.booleans())
            book.end(loans_of(row), [float(row.defaulted)], [float(not row.defaulted)])
        elif step == "reopen" and ended:
            row = data.draw(st.sampled_from(ended))
            assert row.ended_in is not None
            book.reopen(
                loans_of(row), row.ended_in, [float(row.defaulted)], [float(not row.defaulted)]
            )
            row.ended_in = None
        elif step == "advance":
            book.advance()
        check(book, rows)


def busy_book(seed: int = 3, rounds: int = 12) -> LoanBook:
    book, rng = LoanBook(LENDING, CATEGORIES), np.random.default_rng(seed)
    for _ in range(rounds):
        book.quote([0, 1], [2, 5], [4.0, 3.0], [0.1, 0.2])
        for k in range(CATEGORIES):
            for term in TERMS:
                book.add(Loans([k], [term], [book.round]), [40.0])
                for vintage in range(max(0, book.round - term), book.round):
                    loans = Loans([k], [term], [vintage])
                    bad, closed = (float(each) for each in rng.integers(0, 3, 2))
                    book.end(loans, [bad], [closed])
        book.advance()
    return book


def same(one: LoanBook, two: LoanBook) -> bool:
    names = (*BY_AGE, *BY_ROUND, "asked", "offered", "terms")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names) and all(
        np.array_equal(*pair) for pair in zip(one.vintages(), two.vintages(), strict=True)
    )


def test_a_correction_restores_every_count() -> None:
    book = busy_book()
    before = copy.deepcopy(book)
    loans = Loans([1, 0], [5, 2], [book.round - 2, book.round - 1])
    book.end(loans, [1.0, 0.0], [2.0, 3.0])
    for _ in range(4):
        book.advance()
        before.advance()
    assert not same(book, before)
    book.reopen(loans, book.round - 4, [1.0, 0.0], [2.0, 3.0])
    assert same(book, before)


@pytest.mark.parametrize("reported", ["before the end of the round", "after it"])
def test_plain_values_are_the_whole_book(reported: str) -> None:
    book = busy_book()
    if reported.startswith("before"):
        book.end(Loans([1], [5], [book.round - 1]), [1.0], [0.0])
    twin = LoanBook(LENDING, CATEGORIES)
    twin.start_after(book.round)
    put_values(twin, values_of(book))
    assert same(*(resized(each) for each in (book, twin)))
    parts = LoanBook(LENDING, CATEGORIES)
    parts.start_after(book.round)
    put_values(parts, {"vintages": vintages_of(book)})
    for k in range(CATEGORIES):
        put_values(parts, values_of(book, k), k)
    assert same(*(resized(each) for each in (book, parts)))
    readings = [each.read(np.ones(CATEGORIES)) for each in (book, twin, parts)]
    for each in readings:
        assert np.array_equal(each.columns, readings[0].columns, equal_nan=True)


def resized(book: LoanBook) -> LoanBook:
    """Return a copy without the room for rounds to come."""
    found = copy.deepcopy(book)
    for name in BY_ROUND:
        setattr(found, name, getattr(found, name)[:, :, : book.round + 1])
    for name, each in zip(BY_VINTAGE, found.vintages(), strict=True):
        setattr(found, name, each[: book.round + 1])
    found.pending = []
    return found


def test_open_loans_were_at_risk_in_the_round_that_is_over() -> None:
    """100 loans in each of 24 rounds, of which 1 % default at every age.

    Without the open ones, the hazard of the oldest age would be 1 default of 1 loan.
    """
    book, still = LoanBook(Lending(), 1), np.zeros(24)
    rng = np.random.default_rng(0)
    for now in range(24):
        book.quote([0], [36], [10_000.0], [0.12])
        book.add(Loans([0], [36], [now]), [10_000.0])
        still[now] = 10_000.0
        bad = rng.binomial(still.astype(int), 0.01).astype(float)
        vintages = np.arange(now + 1)
        loans = Loans(np.zeros(now + 1), np.full(now + 1, 36), vintages)
        book.end(loans, bad[: now + 1], np.zeros(now + 1))
        still -= bad
        if now < 23:
            book.advance()
    reading = book.read(np.ones(1))
    # The standard error of the oldest age is 0.001.
    assert reading.rates.hazards[0, :24] == pytest.approx(np.full(24, 0.01), abs=0.005)
    assert reading[BookRow.EXPOSURE][0] == pytest.approx(reading[BookRow.DEFAULTS][0], rel=0.02)


def test_an_empty_book_says_nothing() -> None:
    for book in (LoanBook(LENDING, 1), LoanBook(LENDING, 3)):
        for _ in range(3):
            reading = book.read(np.ones(len(book.open)))
            assert not reading[BookRow.POSTERIOR].any()
            assert not reading[BookRow.EVIDENCE].any()
            assert reading.standing(0).break_even is None
            book.advance()


def test_loans_beyond_their_last_age_are_missing() -> None:
    book = LoanBook(LENDING, 1)
    book.add(Loans([0], [2], [0]), [7.0])
    for _ in range(4):
        book.advance()
    assert book.open.sum() == 7.0
    book.advance()
    reading = book.read(np.ones(1))
    assert reading.open_and_missing(np.array([0]), [7]) == {"open": [0], "missing": [7]}
    book.end(Loans([0], [2], [0]), [1.0], [0.0])
    assert book.still_open(Loans([0], [2], [0])) == 6
    assert book.defaults.sum() == 0.0


def test_what_today_s_clients_ask_for_fades() -> None:
    book = LoanBook(Lending(), 1)
    book.quote([0], [36], [10.0], [0.1])
    book.advance()
    book.quote([0], [36], [2.0], [0.3])
    assert book.asked[0, 0] == pytest.approx(10.0)
    assert book.offered[0, 0] / book.asked[0, 0] == pytest.approx(0.14)
    for _ in range(5_000):
        book.advance()
    assert book.offered[0, 0] / book.asked[0, 0] == pytest.approx(0.14)
