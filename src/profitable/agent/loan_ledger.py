"""LoanLedger: the part of a ledger that keeps a lending book.

What the book says of the categories (`loan_book.py`) is written into the table when
somebody looks at it.  Each method books everything or nothing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.agent.categories import Categories
from profitable.agent.draws import ExponentialStream
from profitable.agent.loan_book import BookReading, LoanBook, Loans, LoanTerms
from profitable.agent.observation import Batch
from profitable.agent.order_ledger import OrderLedger
from profitable.common import check
from profitable.common.types import FloatArray, IntArray
from profitable.errors import CorrectionError, InputError, ParameterError
from profitable.kernels.agent_table import WRITTEN, AgentRow
from profitable.kernels.hazards import BookRow

# Rows that follow from a lending book.
SAID_BY_BOOK = [AgentRow.CLIENTS, AgentRow.TOTAL, AgentRow.EVIDENCE]


class LoanLedger(OrderLedger):
    """The table, and a lending book for an agent that lends."""

    def __init__(self, categories: Categories) -> None:
        self.loans = None if categories.lending is None else LoanBook(categories.lending)
        self.reading: BookReading | None = None  # what the book says, if nothing changed since
        super().__init__(categories)

    def judge(self) -> None:
        """Write into the table what the lending book says, if there is one."""
        if self.loans is None or self.reading is not None:
            return
        table = self.raw[:, : self.size]
        self.reading = reading = self.loans.read(table[AgentRow.THRESHOLD])
        by_posterior = self.categories.policy.rule.is_posterior
        counted = reading[BookRow.COUNTED]
        table[AgentRow.CLIENTS] = counted
        table[AgentRow.TOTAL] = counted * np.nan_to_num(reading[BookRow.VALUE])
        row = BookRow.POSTERIOR if by_posterior else BookRow.EVIDENCE
        table[AgentRow.EVIDENCE] = reading[row]

    def advance_loans(self) -> None:
        """Let a round pass in the lending book, if there is one."""
        if self.loans is not None:
            self.loans.advance()
            self.reading = None

    def start_after(self, round: int) -> None:
        """Set the number of rounds that have passed, before anything is known."""
        super().start_after(round)
        if self.loans is not None:
            self.loans.start_after(round)
            self.reading = None

    def numbers_with_written(self) -> FloatArray:
        """Return all rows, with what the lending book says."""
        self.judge()
        return super().numbers_with_written()

    def kept(self, k: int | None = None) -> FloatArray:
        """Return all rows, or those of one category, as they are to be kept.

        What a lending book says is 0 in them: it follows from the book, which is kept,
        too.  So nothing is judged only to be kept.
        """
        if k is None:
            rows = super().numbers_with_written()[:WRITTEN]
        else:
            rows = np.array(self.column(k), np.float64)
        if self.loans is not None:
            rows = rows.copy()
            rows[SAID_BY_BOOK, ...] = 0.0
        return rows

    def decide_some(self, stream: ExponentialStream, positions: IntArray | None) -> FloatArray:
        """Decide about some categories by what the lending book says."""
        self.judge()
        return super().decide_some(stream, positions)

    def read_book(self) -> tuple[LoanBook, BookReading, list[str]]:
        """Return the lending book, what it says, and the names of its categories."""
        self.judge()
        book, reading = self.loans, self.reading
        if book is None or reading is None:
            raise self._no_book("lending", None)
        return book, reading, self.categories.names

    def lending_book(self, field: str, value: object) -> LoanBook:
        """Return the lending book; ParameterError if the agent has none."""
        if self.loans is None:
            raise self._no_book(field, value)
        self.reading = None
        return self.loans

    def _no_book(self, field: str, value: object) -> ParameterError:
        return ParameterError(
            field,
            value,
            "is for an agent that lends",
            "make it with Agent(..., lending=profitable.Lending(...))",
        )

    def quote(self, asked: Mapping[str, object], terms: LoanTerms) -> None:
        """Say who asks for loans on these terms, before the decision."""
        book = self.lending_book("term", terms.term)
        rate = terms.read_rate()
        if rate is None:
            raise ParameterError("rate", None, "is missing", "give the rate a year, such as 0.12")
        term, numbers = terms.read_term(), self._numbers(asked)
        book.quote([*numbers], [term] * len(numbers), [*numbers.values()], [rate] * len(numbers))

    def lend(self, accepted: Mapping[str, object], terms: LoanTerms) -> None:
        """Book accepted loans; with a rate, they also are today's clients."""
        book = self.lending_book("term", terms.term)
        term, rate = terms.read_term(), terms.read_rate()
        numbers, round = self._numbers(accepted), terms.read_round(self.round)
        size, positions = len(numbers), np.array([*numbers], np.int64)
        for k in numbers:
            if rate is None and not book.is_quoted(k, term):
                raise ParameterError(
                    "rate",
                    None,
                    f"is missing, and nobody has asked for {term} rounds before",
                    "give the rate a year, such as 0.12",
                    self.categories.names[k],
                )
        if rate is not None:
            book.quote(positions, [term] * size, [*numbers.values()], [rate] * size)
        self.add_loans(
            Loans(positions, np.full(size, term), np.full(size, round)), [*numbers.values()]
        )

    def _numbers(self, given: Mapping[str, object]) -> dict[int, int]:
        """Return numbers of clients by position, checked."""
        found: dict[int, int] = {}
        for name, number in given.items():
            k = self.categories.position(name)
            try:
                found[k] = check.whole("clients", number, least=0)
                if self.raw[AgentRow.WAITING, k] + found[k] > check.MOST:
                    check.whole("clients", found[k] + int(self.raw[AgentRow.WAITING, k]), least=0)
            except InputError as error:
                raise error.about(name) from None
        return found

    def add_loans(self, loans: Loans, number: npt.ArrayLike) -> None:
        """Book accepted loans that were checked before, [M]."""
        book = self.lending_book("number", number)
        book.add(loans, number)
        np.add.at(self.raw[AgentRow.WAITING], loans.positions, number)

    def end_loans(self, loans: Loans, defaulted: npt.ArrayLike, closed: npt.ArrayLike) -> None:
        """Book ends of loans that were checked before, [M]."""
        self.lending_book("defaulted", defaulted).end(loans, defaulted, closed)
        self._count_ends(loans, np.add(defaulted, closed))

    def reopen_loans(
        self, loans: Loans, ended_in: int, defaulted: npt.ArrayLike, closed: npt.ArrayLike
    ) -> None:
        """Take back ends of loans that were booked in a round, [M]."""
        self.lending_book("defaulted", defaulted).reopen(loans, ended_in, defaulted, closed)
        self._count_ends(loans, -np.add(defaulted, closed))

    def correct_loan(self, k: int, was: object, now: object, terms: LoanTerms, round: int) -> None:
        """Change how a loan ended, or that it ended at all, as reported in a round."""
        assert self.loans is not None
        loans = self.loans.find(k, terms.accepted_in, terms.term)
        ends = {"defaulted": (1.0, 0.0), "closed": (0.0, 1.0)}
        for field, value in (("was", was), ("now", now)):
            if value not in ends and not (field == "now" and value is None):
                raise ParameterError(
                    field,
                    value,
                    "must say how a loan ended",
                    'give "defaulted" or "closed"',
                    self.categories.names[k],
                )
        defaulted, closed = ends[str(was)]
        if self.loans.ended_in(loans, round)[1 - int(defaulted)] < 1.0:
            raise CorrectionError(
                "was",
                was,
                f"was reported of no such loan in round {round}",
                "give counted_in, accepted_in and term of the loan",
                self.categories.names[k],
            )
        self.reopen_loans(loans, round, [defaulted], [closed])
        if now is not None:
            right = ends[str(now)]
            self.reopen_loans(loans, round, [-right[0]], [-right[1]])

    def observe_ends(self, given: Mapping[int, Any]) -> None:
        """Book ends of loans as callers report them, by position; on an error, none."""
        checked = [self.read_ends(k, each) for k, each in given.items()]
        for loans, defaulted, closed in checked:
            self.end_loans(loans, [defaulted], [closed])

    def read_ends(self, k: int, batch: object) -> tuple[Loans, int, int]:
        """Return loans that ended, and how, checked."""
        assert self.loans is not None
        name = self.categories.names[k]
        try:
            if not isinstance(batch, Batch) or not batch.ends_loans:
                raise ParameterError(
                    "rewards",
                    batch.rewards if isinstance(batch, Batch) else batch,
                    "cannot be learnt from: a lending book counts defaults and closings",
                    "give defaulted= and closed=, with accepted_in= and term=",
                )
            defaulted, closed = (
                check.whole(field, getattr(batch, field) or 0, least=0)
                for field in ("defaulted", "closed")
            )
            loans = self.loans.find(k, batch.accepted_in, batch.term)
            still = self.loans.still_open(loans)
            if defaulted + closed > still:
                raise ParameterError(
                    "defaulted" if defaulted else "closed",
                    defaulted + closed,
                    f"are more loans than the {still} that are open",
                    "report each loan once, in the round that accepted it",
                )
        except InputError as error:
            raise error.about(name) from None
        return loans, defaulted, closed

    def _count_ends(self, loans: Loans, number: FloatArray) -> None:
        np.add.at(self.raw[AgentRow.KNOWN], loans.positions, number)
        np.add.at(self.raw[AgentRow.WAITING], loans.positions, -number)
