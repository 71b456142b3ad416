"""Loans by vintage: counts that come one by one are those that come together."""

import numpy as np

from profitable.agent.loan_book import MOST_PENDING, LoanBook, Loans
from profitable.agent.loan_state import put_values, values_of
from profitable.model.lending import Lending

ROUNDS, LOANS = 12, 6 * MOST_PENDING


def books() -> tuple[LoanBook, LoanBook]:
    """The same loans and ends of two categories, one by one and all at once."""
    draw = np.random.default_rng(5)
    categories, terms = draw.integers(0, 2, LOANS), draw.choice([6, 24], LOANS)
    rounds, defaulted = draw.integers(0, ROUNDS, LOANS), draw.integers(0, 2, LOANS)
    found = LoanBook(Lending(lag=2), 2), LoanBook(Lending(lag=2), 2)
    for _ in range(ROUNDS):
        for book in found:
            book.advance()
    single, together = found
    for i in range(LOANS):
        loan = Loans(categories[i : i + 1], terms[i : i + 1], rounds[i : i + 1])
        single.add(loan, [1.0])
        single.end(loan, defaulted[i : i + 1], 1 - defaulted[i : i + 1])
    loans = Loans(categories, terms, rounds)
    together.add(loans, np.ones(LOANS))
    together.end(loans, defaulted, 1 - defaulted)
    return found


def test_ends_one_by_one_are_ends_together() -> None:
    single, together = books()
    assert len(single.pending) <= MOST_PENDING
    for mine, theirs in zip(single.vintages(), together.vintages(), strict=True):
        assert np.array_equal(mine, theirs)
        assert mine.sum() > 0.0
    for k in range(2):  # also as a database keeps them
        assert values_of(single, k) == values_of(together, k)
    single.advance()
    together.advance()
    assert values_of(single) == values_of(together)


def test_a_category_is_put_back_with_its_vintages() -> None:
    single, _ = books()
    kept, before = [values_of(single, k) for k in range(2)], single.vintages()
    for k in (1, 0):
        put_values(single, kept[k], k)
    assert [values_of(single, k) for k in range(2)] == kept
    for mine, theirs in zip(single.vintages(), before, strict=True):
        assert np.array_equal(mine, theirs)
