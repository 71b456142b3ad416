"""Rivals: what policies are compared with.  Each says what it would have earned by round and category, [R, K], and how
many clients it would have accepted.

- accept all, and accept none.
- hindsight: the best fixed set of categories, chosen when all outcomes are known.  Nobody could have done it, and its
  profit is too good by luck: a bad category that was lucky is in the set.
- hindsight, cross-fitted: chosen on one half of the clients and scored on the other, both ways.  The luck is gone.
- learn, then commit: accept all for a share of the rounds, then keep the categories whose known mean pays.
- by score: where a round has a limit, the clients with the highest score, without learning.

Example: a category that pays in both halves of its clients, and one that does not.

>>> clients = Clients.of(
...     names=("good", "bad"), labels=("1", "2"), round=[1, 1, 2, 2], category=[0, 1, 0, 1], known=[1, 1, 2, 2],
...     reward=[1, 0, 1, 0], profit=[0.5, -0.5, 0.5, -0.5],
... )
>>> found = hindsight(Scene(clients))
>>> float(found.table.sum()), found.clients()
(1.0, 2.0)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.replay.clients import Clients
from profitable.replay.crowd import Crowd
from profitable.replay.limits import Limits, draw_lots, fill
from profitable.replay.off_policy import Log

HALVES, DRAWN_ORDER = 11, 13  # name the random streams of the halves, and of the order in which clients come
SPLITS = 10  # into halves, which are averaged
ALL, ACCEPT_NONE, HINDSIGHT, CROSS_FITTED = "accept all", "accept none", "hindsight", "hindsight, cross-fitted"
BY_SCORE = "by score"


@dataclass(frozen=True, eq=False)
class Earned:
    """What a rival earned by cell, [R, K]; whom it accepted, if that is one choice and no mean of several."""

    table: FloatArray
    accepted: BoolArray | None = None  # cells, [R, K]
    taken: IntArray | None = None  # how often each client was accepted, where a round has a limit, [n]
    asked: Crowd | None = None

    def clients(self) -> float:
        """How many clients it accepted; NaN if that is not known."""
        if self.taken is not None:
            return float(self.taken.sum())
        if self.accepted is None or self.asked is None:
            return math.nan
        return float(self.asked.counts[self.accepted].sum())


Rival = Callable[["Scene"], Earned]


@dataclass(frozen=True, eq=False)
class Scene:
    """The clients, how often each of them is there, and what a round has."""

    clients: Crowd
    weights: IntArray | None = None
    limits: Limits | None = None
    log: Log | None = None  # if only some clients were accepted, by chance
    price: float = 0.0  # of a client, where it is the same for all
    seed: int = 1
    splits: int = SPLITS

    @cached_property
    def profit(self) -> FloatArray:
        """The profit of accepting everybody, without a limit, by cell, [R, K]."""
        return self.table(self.weights)

    def table(self, times: IntArray | None) -> FloatArray:
        """The profit of clients who are there so many times, by cell, [R, K]; estimated if it is that of a log."""
        if self.log is not None:
            tables = self.log.tables(times)
            return tables.robust if self.log.has_refused else tables.weighted
        clients = self.clients
        return clients.profit_by_cell() if times is None else clients.by_cell(clients.profit * times)

    def times(self, chosen: BoolArray) -> IntArray:
        """How often each of some clients is there, [n]; 0 for the others."""
        return chosen.astype(np.int64) if self.weights is None else self.weights * chosen

    def earned(self, rank: FloatArray, eligible: BoolArray) -> Earned:
        """What is earned if the clients of eligible cells [R, K] are taken, the highest rank [n] first."""
        if self.limits is None:
            return Earned(np.where(eligible, self.profit, 0.0), eligible, None, self.clients)
        taken = self.take(rank, eligible)
        return Earned(self.table(taken), eligible, taken, self.clients)

    def take(self, rank: FloatArray, eligible: BoolArray) -> IntArray:
        """How often each client is taken, [n], where a round has a limit."""
        clients = self.clients
        assert self.limits is not None
        assert isinstance(clients, Clients)
        times = self.times(eligible[clients.round - 1, clients.category])
        lots = draw_lots(clients, [self.seed, DRAWN_ORDER])
        order = np.lexsort((lots, -rank, clients.round))
        ends = np.concatenate([[0], np.cumsum(np.bincount(clients.round, minlength=clients.rounds + 1)[1:])])
        amounts = None
        if self.limits.budget is not None:
            # A client who brings money with him uses nothing of a budget.
            amounts = clients.amount if clients.amount is not None else np.full(len(clients), max(self.price, 0.0))
        taken = np.zeros(len(clients), dtype=np.int64)
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            row = order[start:stop]
            taken[row] = fill(self.limits.size, times[row], None if amounts is None else amounts[row])
        return taken

    def by_category(self, table: FloatArray, times: IntArray | None) -> FloatArray:
        """Profit of each category per unit of what is scarce, [K], of clients who are there so many times."""
        clients = self.clients
        scarce = clients.amount if self.limits is not None and self.limits.budget is not None else None
        used = clients.clients_by_cell(times) if scarce is None else clients.by_cell(_times(scarce, times))
        return table.sum(axis=0) / np.maximum(used.sum(axis=0), 1e-12)

    def everywhere(self, chosen: BoolArray) -> BoolArray:
        """Categories [K] as cells [R, K]."""
        return np.broadcast_to(chosen, (self.clients.rounds, chosen.size))


def _times(values: FloatArray, weights: IntArray | None) -> FloatArray:
    return values if weights is None else values * weights


def accept_all(scene: Scene) -> Earned:
    """Everybody; with a limit, in an order drawn by lot until it is used up."""
    return scene.earned(np.zeros(scene.clients.size), scene.everywhere(np.ones(len(scene.clients.names), dtype=bool)))


def accept_none(scene: Scene) -> Earned:
    """Nobody."""
    nowhere = np.zeros((scene.clients.rounds, len(scene.clients.names)))
    return Earned(nowhere, nowhere > 0.0, None, scene.clients)


def _best_set(scene: Scene, table: FloatArray, times: IntArray | None) -> Earned:
    """What the categories that pay in a table earn, the best of them first; the table is that of some clients."""
    value = scene.by_category(table, times)
    return scene.earned(value[scene.clients.category], scene.everywhere(value > 0.0))


def hindsight(scene: Scene) -> Earned:
    """The best fixed set, chosen when everything is known."""
    return _best_set(scene, scene.profit, scene.weights)


def cross_fitted(scene: Scene) -> Earned:
    """The best fixed set, chosen on one half of the clients and scored on the other; the mean of some splits.

    With a limit, the set is scored on all clients, since half of them would have the whole limit.
    """
    rng, total = np.random.default_rng([scene.seed, HALVES]), np.zeros_like(scene.profit)
    for _ in range(scene.splits):
        first = scene.clients.draw_half(rng)
        one = scene.table(scene.times(first))
        other = scene.profit - one
        if scene.limits is None:
            total += np.where(one.sum(axis=0) > 0.0, other, 0.0) + np.where(other.sum(axis=0) > 0.0, one, 0.0)
        else:
            for table, half in ((one, first), (other, ~first)):
                total += 0.5 * _best_set(scene, table, scene.times(half)).table
    return Earned(total / scene.splits)


def learn_then_commit(share: float) -> Rival:
    """Accept all for a share of the rounds; then keep the categories whose known profit by then is not negative."""

    def commit(scene: Scene) -> Earned:
        clients = scene.clients
        last, anybody = max(1, round(share * clients.rounds)), np.zeros(clients.size)
        eligible = np.ones((clients.rounds, len(clients.names)), dtype=bool)
        known = clients.known <= last
        learned = scene.times(known) if scene.limits is None else scene.take(anybody, eligible) * known
        eligible[last:] = scene.table(learned).sum(axis=0) >= 0.0
        return scene.earned(anybody, eligible)

    return commit


def by_score(scene: Scene) -> Earned:
    """The clients with the highest score, as many as the limit allows."""
    score = scene.clients.score
    assert score is not None
    return scene.earned(score, scene.everywhere(np.ones(len(scene.clients.names), dtype=bool)))


def by_promise(scene: Scene) -> Earned:
    """The clients who promise the most, as many as the limit allows."""
    promised = scene.clients.promised
    assert promised is not None
    return scene.earned(promised, scene.everywhere(np.ones(len(scene.clients.names), dtype=bool)))


def rivals(clients: Crowd, limits: Limits | None, commit: float | None) -> dict[str, Rival]:
    """The rivals that make sense here, by name."""
    found: dict[str, Rival] = {ALL: accept_all, ACCEPT_NONE: accept_none}
    if commit is not None:
        found[f"learn {commit:.0%}, then commit"] = learn_then_commit(commit)
    if limits is not None and clients.score is not None:
        found[BY_SCORE] = by_score
    if limits is not None and clients.promised is not None:
        found["by promised reward"] = by_promise
    if clients.folds != 1:  # one fold has no halves
        found[CROSS_FITTED] = cross_fitted
    return found | {HINDSIGHT: hindsight}
