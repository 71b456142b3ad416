"""Limits of a round: its money or places, and a random order of its clients.

Example: two of three clients who ask can be accepted.

>>> from profitable.replay.single_clients import SingleClients
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

from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.replay.single_clients import SingleClients

LOTS = 7  # names the random stream of the lots


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
        limits = self.limits
        demand = dict(zip(self.clients.names, self.demand[place].tolist(), strict=True))
        size: dict[str, Any] = (
            {"places": limits.places} if limits.budget is None else {"budget": limits.budget}
        )
        return {**size, "demand": demand} | (
            {} if limits.explore is None else {"explore": limits.explore}
        )

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
