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
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.decision import Decision
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.model.category import Category
from profitable.policy.policies import Policy
from profitable.replay.layout import AT_MATURITY, EVENLY, Layout
from profitable.replay.limits import Limits, ShareOut
from profitable.replay.past import PastClients
from profitable.replay.single_clients import SingleClients


@dataclass(frozen=True)
class OpenTerms:
    """Terms of clients whose outcome is not known yet (`Agent.expect`)."""

    matures: int
    emerges: str | Sequence[float] | None = None

    @classmethod
    def of(cls, layout: Layout) -> "OpenTerms | None":
        """Return the terms of a layout; None if open clients do not count."""
        if layout.open_value is not None:
            return cls(0, EVENLY)
        return None if layout.matures is None else cls(layout.matures, layout.emerges)

    @property
    def by_age(self) -> bool:
        """Whether open clients count at a promised reward."""
        return self.emerges not in (None, AT_MATURITY)


@dataclass(frozen=True, eq=False)
class Replay:
    """Decisions of a policy in each round, [R, K], and their evidence if traced."""

    accepted: BoolArray
    # [n]: how often each client was accepted, where a round has a limit.
    taken: IntArray | None = None
    evidence: FloatArray | None = None
    patience: FloatArray | None = None

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
    limits: Limits | None = None,
    weights: IntArray | None = None,
    trace: bool = False,
) -> Replay:
    """Replay a policy; each row of clients counts `weights` times, [n].

    With `trace`, evidence and patience are kept.
    """
    return _Run(clients, categories, policy, seed, late, limits, weights).play(trace)


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
        accepted = {
            self.clients.names[k]: int(number[k])
            for k in np.flatnonzero(self.accepted[place] & (number > 0)).tolist()
        }
        if not accepted:
            return
        if self.late is None:
            self.agent.expect(accepted)
        elif not self.late.by_age:
            self.agent.expect(accepted, matures=self.late.matures)
        else:
            positions = {name: k for k, name in enumerate(self.clients.names)}
            for name, clients in accepted.items():
                terms: dict[str, Any] = {"matures": self.late.matures, "emerges": self.late.emerges}
                self.agent.expect(
                    name, clients, promised=self._promised(place, positions[name]), **terms
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
