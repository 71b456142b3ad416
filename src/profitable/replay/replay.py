"""The replay of one policy over the past clients; the agent itself decides.

In each round, the agent decides, the clients of the accepted categories are accepted,
and the agent learns the outcomes that were known in that round, of clients it has
accepted by then.  An outcome of the same round is known after the decision.  So no
decision sees what was not known.

Example: a category whose first client is lost, in round 1, and whose outcome is known
in round 2:

>>> from profitable import Bernoulli, Category, KLUCB
>>> clients = SingleClients.of(
...     names=("cars",), labels=("January", "February", "March", "April"),
...     round=[1, 2, 3, 4], category=[0] * 4, known=[2, 2, 3, 4],
...     reward=[0.0] * 4, profit=[-0.9] * 4,
... )
>>> cars = Category("cars", Bernoulli(), threshold=0.9)
>>> replay(clients, [cars], KLUCB(), seed=1).accepted[:, 0].tolist()
[True, True, False, False]

A round may have a limit: its money or places.  Here, two of three clients who ask can
be accepted.

>>> clients = SingleClients.of(
...     names=("a",), labels=("1",), round=[1] * 3, category=[0] * 3, known=[1] * 3,
...     reward=[0, 1, 1], profit=[0, 1, 1],
... )
>>> share_out = ShareOut(Limits(places=2), clients, None, seed=1)
>>> share_out.ask(0)
{'places': 2, 'demand': {'a': 3}}
>>> share_out.grant(0, np.array([2]))
>>> int(share_out.taken.sum())
2
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.decision import Decision
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.hazards import BookRow
from profitable.model.category import Category
from profitable.model.lending import Lending
from profitable.past.late_outcomes import LateOutcomes
from profitable.past.layout import AT_MATURITY, EVENLY, Layout
from profitable.past.past import PastClients, SingleClients
from profitable.past.past_loans import LoanCells
from profitable.policy.policies import Policy

TRACED = ("evidence", "patience", "defaults", "affordable")  # of loans, by round
LOTS = 7  # names the random stream of the lots


@dataclass(frozen=True)
class OpenTerms:
    """Terms of clients whose outcome is not known yet (`Agent.expect`)."""

    matures: int
    emerges: str | Sequence[float] | None = None
    # Where it differs by round, [R].
    ages: IntArray | None = None

    @classmethod
    def of(cls, layout: Layout, late: LateOutcomes | None = None) -> "OpenTerms | None":
        """Return the terms of a layout; None if outcomes count as they come.

        `late` is the treatment that was chosen where the layout says nothing.
        """
        if layout.open_value is not None:
            return cls(0, EVENLY)
        if layout.matures is not None:
            return cls(layout.matures, layout.emerges)
        if late is None or late.ages is None:
            return None
        return cls(int(late.ages.max()), ages=late.ages)

    def matures_at(self, place: int) -> int:
        """Return the age at which the clients of a round count, 0 to R - 1."""
        return self.matures if self.ages is None else int(self.ages[place])

    @property
    def by_age(self) -> bool:
        """Whether open clients count at a promised reward."""
        return self.emerges not in (None, AT_MATURITY)


# -------------------------------------------------------------------- limits of a round


@dataclass(frozen=True)
class Limits:
    """Budget of money or number of places of a round, and the share for learning."""

    budget: float | None = None
    places: int | None = None
    explore: float | None = None

    @property
    def size(self) -> float:
        """Money or places of a round."""
        return float(self.places if self.budget is None else self.budget)  # type: ignore[arg-type]


class ShareOut:
    """The limit of each round, and the clients who were taken so far."""

    def __init__(
        self, limits: Limits, clients: SingleClients, weights: IntArray | None, seed: int
    ) -> None:
        self.limits, self.clients = limits, clients
        self.times = (
            np.ones(len(clients), dtype=np.int64) if weights is None else weights.astype(np.int64)
        )
        if clients.logged is not None:
            self.times = self.times * clients.logged
        self.taken = np.zeros(len(clients), dtype=np.int64)
        # With a budget, categories with amounts ask for money, unit by unit; everybody
        # else asks for clients.
        by_money = limits.budget is not None and clients.amount is not None
        self.size = clients.amount if by_money else None
        lots = draw_lots(clients, [seed, LOTS])
        # Clients by cell, in random order.
        self.order = np.lexsort((lots, clients.cells()))
        counts = np.bincount(clients.cells(), minlength=clients.rounds * len(clients.names))
        self.ends = np.concatenate([[0], np.cumsum(counts)])
        demand = clients.by_cell(self.times if self.size is None else self.times * self.size)
        self.demand = np.ceil(demand).astype(np.int64)

    def ask(self, place: int) -> dict[str, Any]:
        """Return the arguments of `Agent.decide`."""
        given = {name: value for name, value in asdict(self.limits).items() if value is not None}
        demand = dict(zip(self.clients.names, self.demand[place].tolist(), strict=True))
        return given | {"demand": demand}

    def grant(self, place: int, granted: IntArray) -> None:
        """Take clients of each category, up to what is granted."""
        for k in np.flatnonzero(granted).tolist():
            chosen = self._cell(place, k)
            self.taken[chosen] = fill(
                float(granted[k]),
                self.times[chosen],
                None if self.size is None else self.size[chosen],
            )

    def number(self, place: int) -> IntArray:
        """Count the accepted clients of each category in a round, [K]."""
        return np.array(
            [self.taken[self._cell(place, k)].sum() for k in range(len(self.clients.names))]
        )

    def mean(self, place: int, k: int, values: FloatArray) -> float:
        """Return the mean of values [n] of clients of a cell who were accepted."""
        chosen = self._cell(place, k)
        return float(self.taken[chosen] @ values[chosen] / self.taken[chosen].sum())

    def _cell(self, place: int, k: int) -> IntArray:
        cell = place * len(self.clients.names) + k
        return self.order[self.ends[cell] : self.ends[cell + 1]]


def draw_lots(clients: SingleClients, names: list[int]) -> FloatArray:
    """Draw a number for each client, [n], from a named random stream.

    They are handed out in an order that does not depend on outcomes which were not
    known yet.
    """
    lots = np.empty(len(clients))
    lots[clients.by_what_they_asked] = np.random.default_rng(names).random(len(clients))
    return lots


def fill(size: float, times: IntArray, amounts: FloatArray | None) -> IntArray:
    """Accept clients first come, first served, until the next one does not fit.

    >>> fill(5.0, np.array([1, 2, 1]), np.array([2.0, 1.5, 1.0])).tolist()
    [1, 2, 0]

    Those who cost nothing always fit.

    >>> fill(5.0, np.array([1, 2]), np.array([0.0, 0.0])).tolist()
    [1, 2]
    """
    used = times.astype(np.float64) if amounts is None else times * amounts
    before = np.cumsum(used) - used
    each = np.ones(times.size) if amounts is None else amounts
    slack = 1e-9 * size  # so that three clients at 0.1 fit into 0.3
    fits = np.full(times.size, np.inf)
    np.divide(size - before + slack, each, out=fits, where=each > 0.0)
    taken = np.clip(np.floor(fits), 0, times).astype(np.int64)
    short = np.flatnonzero(taken < times)
    if short.size:
        taken[short[0] + 1 :] = 0
    return taken


# --------------------------------------------------------------------------- the replay


@dataclass(frozen=True, eq=False)
class Replay:
    """Decisions of a policy in each round, [R, K], and their evidence if traced."""

    accepted: BoolArray
    # [n]: how often each client was accepted, where a round has a limit.
    taken: IntArray | None = None
    evidence: FloatArray | None = None
    patience: FloatArray | None = None
    # Of loans: defaults known before each round, and how many break even by then.
    defaults: FloatArray | None = None
    affordable: FloatArray | None = None

    def by_cell(self, clients: PastClients, values: FloatArray | None = None) -> FloatArray:
        """Sum values of the accepted clients, or count them, by cell, [R, K]."""
        if self.taken is None:
            table = clients.counts if values is None else clients.by_cell(values)
            return np.where(self.accepted, table, 0.0)
        return clients.by_cell(self.taken if values is None else self.taken * values)


def replay(
    clients: PastClients,
    categories: Sequence[Category],
    policy: Policy,
    *,
    seed: int,
    late: OpenTerms | None = None,
    lending: Lending | None = None,
    limits: Limits | None = None,
    weights: IntArray | None = None,
    trace: bool = False,
) -> Replay:
    """Replay a policy; each row of clients counts `weights` times, [n].

    With `trace`, evidence and patience are kept.  With `lending`, clients are loans.
    """
    if lending is not None:
        assert isinstance(clients, SingleClients)
        return _replay_loans(clients, categories, policy, lending, weights, trace)
    return _Run(clients, categories, policy, seed, late, limits, weights).play(trace)


def _replay_loans(
    clients: SingleClients,
    categories: Sequence[Category],
    policy: Policy,
    lending: Lending,
    weights: IntArray | None,
    trace: bool,
) -> Replay:
    """Replay a policy that learns when loans default and close."""
    agent = Agent(categories, policy=policy.within(clients.rounds), seed=0, lending=lending)
    book, cells = agent.ledger.loans, LoanCells.of(clients, weights)
    assert book is not None
    book.keeps_vintages = False
    size = clients.rounds, len(clients.names)
    accepted = np.zeros(size, dtype=bool)
    traced = {name: np.empty(size) for name in TRACED} if trace else None
    for place in range(clients.rounds):
        agent.ledger.reading = None
        cells.quote(book, place)
        decision = agent.decide()
        accepted[place] = decision.accepted_mask
        if traced is not None:
            reading = decision.reading
            assert reading is not None
            traced["evidence"][place], traced["patience"][place] = (
                decision.evidence,
                decision.patience,
            )
            traced["defaults"][place] = reading[BookRow.DEFAULTS]
            traced["affordable"][place] = [
                reading.standing(k).affordable or 0.0 for k in range(size[1])
            ]
        cells.lend(agent, place, accepted[place])
        cells.end(agent, place + 1, accepted)
    return Replay(accepted) if traced is None else replace(Replay(accepted), **traced)


class _Run:
    """The state of one replay."""

    def __init__(
        self,
        clients: PastClients,
        categories: Sequence[Category],
        policy: Policy,
        seed: int,
        late: OpenTerms | None,
        limits: Limits | None,
        weights: IntArray | None,
    ) -> None:
        self.clients, self.late, self.weights = clients, late, weights
        self.by_money = categories[0].by_money
        self.agent = Agent(categories, policy=policy.within(clients.rounds), seed=seed)
        # The outcomes of clients whom the past refused are known to nobody.
        if clients.logged is not None:
            logged = clients.logged.astype(np.int64)
            self.weights = logged if weights is None else logged * weights
        self.accepted = np.zeros((clients.rounds, len(clients.names)), dtype=bool)
        self.demand = (
            clients.counts if self.weights is None else clients.clients_by_cell(self.weights)
        )
        self.waits = late is not None or not clients.is_immediate
        self.share_out = None
        if limits is not None:
            assert isinstance(clients, SingleClients)  # of aggregates, none can be drawn
            self.share_out = ShareOut(limits, clients, weights, seed)
        if late is not None and late.by_age and clients.promised is not None:
            asked = clients.promised if self.weights is None else clients.promised * self.weights
            self.promised = clients.by_cell(asked) / np.maximum(self.demand, 1.0)
            self.least, self.most = clients.range_of("promised")  # a rounded mean may lie beyond

    def play(self, trace: bool) -> Replay:
        size = self.accepted.shape
        evidence, patience = (np.empty(size), np.empty(size)) if trace else (None, None)
        for place in range(self.clients.rounds):
            decision = self._decide(place)
            self.accepted[place] = decision.accepted_mask
            if evidence is not None and patience is not None:
                evidence[place], patience[place] = decision.evidence, decision.patience
            if self.waits:
                self._expect(place)
            self._learn(place + 1)
        taken = None if self.share_out is None else self.share_out.taken
        return Replay(self.accepted, taken, evidence, patience)

    def _decide(self, place: int) -> Decision:
        if self.share_out is None:
            return self.agent.decide()
        decision = self.agent.decide(**self.share_out.ask(place))
        granted = decision.granted_clients
        assert granted is not None
        self.share_out.grant(place, granted)
        return decision

    def _expect(self, place: int) -> None:
        """Say how many clients were accepted, and on what terms their outcomes come."""
        number = self.demand[place] if self.share_out is None else self.share_out.number(place)
        accepted = np.flatnonzero(self.accepted[place] & (number > 0)).tolist()
        names, late = self.clients.names, self.late
        if late is not None and late.by_age:
            for k in accepted:
                self.agent.expect(
                    names[k],
                    int(number[k]),
                    matures=late.matures,
                    emerges=late.emerges,
                    promised=self._promised(place, k),
                )
        elif accepted:
            self.agent.expect(
                {names[k]: int(number[k]) for k in accepted},
                matures=None if late is None else late.matures_at(place),
            )

    def _promised(self, place: int, k: int) -> float | None:
        """Return the mean promise of the accepted clients of a cell, or None."""
        promised = self.clients.promised
        if promised is None:
            return None
        mean = (
            self.promised[place, k]
            if self.share_out is None
            else self.share_out.mean(place, k, promised)
        )
        return float(min(max(mean, self.least), self.most))

    def _learn(self, round: int) -> None:
        """Let the agent learn what was known in a round of clients it has accepted."""
        clients, part = self.clients, self.clients.known_in(round)
        if part.start == part.stop:
            return
        rounds, categories = clients.round[part], clients.category[part]
        if self.share_out is None:
            times = self.accepted[rounds - 1, categories]
            times = times if self.weights is None else times * self.weights[part]
        else:
            times = self.share_out.taken[part]
        clients.tell(
            self.agent, part, times, by_money=self.by_money, by_round=self.late is not None
        )
