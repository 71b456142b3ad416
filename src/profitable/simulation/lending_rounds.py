"""LoanRun: one run in a lending world, round by round, with an agent that decides.

The world draws who asks and what becomes of each loan, whether it is accepted or not.
So with common random numbers, policies meet the same borrowers.  The agent's ledger
gets the loans that were accepted, and their ends when they are known.

>>> cars = Borrowers("cars", rate=0.12, multiplier=1.0, clients=40)
>>> world = LendingWorld([cars], term=3, peak=1, total=0.1)
>>> run = LoanRun(world, 4, np.random.default_rng(1))
>>> book = LoanBook(world.lending, 1)
>>> for t in range(1, 5):
...     values = run.ask(book)
...     book.advance()
...     loans, number = run.lend(np.array([True]))
...     book.add(loans, number)
...     book.end(*run.ends())
>>> int(book.issued.sum() - book.ended.sum()) == int(book.open.sum())
True
"""

from dataclasses import dataclass

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.loan_book import LoanBook, Loans
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.agent_table import AgentRow
from profitable.model.lending import Lending
from profitable.policy.policies import Policy
from profitable.simulation.lending_world import Borrowers as Borrowers
from profitable.simulation.lending_world import LendingWorld


class LoanRun:
    """Who asks in each round of a run, and which accepted loans end."""

    def __init__(self, world: LendingWorld, horizon: int, rng: np.random.Generator) -> None:
        self.world, self.rng, self.round = world, rng, 0
        self.levels = world.draw_levels(horizon, rng)  # by vintage, [T]
        categories, products, size = len(world.borrowers), len(world.terms), world.longest
        self.rates = np.array([each.rate for each in world.borrowers])
        self.terms = np.array(world.terms, np.int64)
        self.clients: IntArray = np.zeros((categories, products), np.int64)  # of this round
        self.fates: IntArray = np.zeros((categories, products, 2, size), np.int64)
        # Of accepted loans; a vintage takes the place of one whose loans all ended.
        self._lent: IntArray = np.zeros((size, *self.fates.shape), np.int64)
        # Categories and products of the cells of a round, [K P] each.
        self._cells = np.indices(self.clients.shape).reshape(2, -1)

    def ask(self, book: LoanBook) -> FloatArray:
        """Let clients of the next round ask; return the values of their loans, [K]."""
        self.round += 1
        world, terms = self.world, self.terms
        chances = world.fates(self.levels[self.round - 1])
        mean = world.clients_in(self.round)[:, np.newaxis] / terms.size
        self.clients = self.rng.poisson(np.broadcast_to(mean, self.clients.shape))
        shape = self.fates.shape
        self.fates = self.rng.multinomial(
            self.clients, chances.reshape(*shape[:2], -1), self.clients.shape
        ).reshape(shape)
        positions, products = self._cells
        book.quote(positions, terms[products], self.clients.ravel(), self.rates[positions])
        return world.value_of(chances) / terms.size

    def lend(self, accepted: BoolArray) -> tuple[Loans, IntArray]:
        """Lend to all clients of some categories, [K]; return the loans, [M]."""
        kept = self.fates * accepted[:, np.newaxis, np.newaxis, np.newaxis]
        self._lent[self.round % len(self._lent)] = kept
        positions, products = self._cells
        number = (self.clients * accepted[:, np.newaxis]).ravel()
        given = np.flatnonzero(number)
        return self._loans(
            positions[given], products[given], np.full(given.size, self.round)
        ), number[given]

    def ends(self) -> tuple[Loans, IntArray, IntArray]:
        """Return loans that end in this round, and how many default and close, [M]."""
        ages = np.arange(min(self.round, len(self._lent)))
        vintages = self.round - ages
        ended = self._lent[vintages % len(self._lent), :, :, :, ages]  # [ages, K, P, 2]
        age, positions, products = np.nonzero(ended.any(axis=3))
        defaulted, closed = ended[age, positions, products].T
        return self._loans(positions, products, vintages[age]), defaulted, closed

    def _loans(self, positions: IntArray, products: IntArray, vintages: IntArray) -> Loans:
        return Loans(positions, self.terms[products], vintages)


@dataclass(frozen=True)
class LoanRecord:
    """What happened in one run."""

    accepted: BoolArray  # [T, K]
    values: FloatArray  # expected value of a loan, [T, K]
    clients: IntArray  # of accepted categories, [K]
    profit: FloatArray  # present value of what came back, less what was lent, [K]


def play_loans(
    world: LendingWorld,
    policy: Policy,
    horizon: int,
    rng: np.random.Generator,
    *,
    seed: int = 0,
    lending: Lending | None = None,
) -> LoanRecord:
    """Play one run; the seed is that of draws by the policy itself.

    An agent may see the level in a way of its own, with its own `lending`.
    """
    run, size = LoanRun(world, horizon, rng), len(world.borrowers)
    agent = Agent(
        [each.category for each in world.borrowers],
        policy=policy,
        seed=seed,
        lending=world.lending if lending is None else lending,
    )
    ledger, values = agent.ledger, np.empty((horizon, size))
    accepted = np.zeros((horizon, size), np.bool_)
    clients, profit = np.zeros(size, np.int64), np.zeros(size)
    for t in range(horizon):
        values[t] = run.ask(ledger.lending_book("lending", world.lending))
        agent.decide()
        accepted[t] = ledger.raw[AgentRow.ACCEPTED, :size] > 0.0
        ledger.add_loans(*run.lend(accepted[t]))
        ledger.end_loans(*run.ends())
        lent = run.clients.sum(axis=1) * accepted[t]
        clients += lent
        profit += world.value_of(run.fates) * accepted[t] - lent
    return LoanRecord(accepted, values, clients, profit)
