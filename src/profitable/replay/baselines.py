"""Baselines: simple rules that policies are compared with.

Each returns its profit by round and category, [R, K], and its accepted clients.

- accept all, and accept none.
- hindsight: the best fixed set of categories, chosen when all outcomes are known.
  Nobody could have done it, and its profit is too good by luck: a bad category that was
  lucky is in the set.
- hindsight, cross-fitted: chosen on one half of the clients and scored on the other,
  both ways, and averaged over many splits.  The luck is gone.
- learn, then commit: accept all for a share of the rounds, then keep the categories
  whose known mean pays.
- by score: where a round has a limit, the clients with the highest score, without
  learning.
- cut-off: where categories are bands of an order, the same with the best cut-off in
  place of the best set; and the lender's own, if the file has those whom he refused.

Example: a category that pays in both halves of its clients, and one that does not.

>>> clients = SingleClients.of(
...     names=("good", "bad"), labels=("1", "2"),
...     round=[1, 1, 2, 2], category=[0, 1, 0, 1], known=[1, 1, 2, 2],
...     reward=[1, 0, 1, 0], profit=[0.5, -0.5, 0.5, -0.5],
... )
>>> found = hindsight(Setup(clients))
>>> float(found.table.sum()), found.clients()
(1.0, 2.0)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.past.past import PastClients, SingleClients
from profitable.replay.off_policy import AcceptanceLog
from profitable.replay.replay import Limits, draw_lots, fill

# Name the random streams of the halves, and of the order in which clients come.
HALVES, DRAWN_ORDER = 11, 13
# Splits into halves, which are averaged: in a replicate two, whose distance says what a
# split brings; else so many as this number of rows allows, but no more than 200.
SPLITS, FEWEST_SPLITS, ROWS_SPLIT = 200, 2, 20_000_000
SLOWER = 20  # times the work of a split that fills places, or estimates from a log
ALL, ACCEPT_NONE, HINDSIGHT, CROSS_FITTED = (
    "accept all",
    "accept none",
    "hindsight",
    "hindsight, cross-fitted",
)
BY_SCORE = "by score"
NO_BANDS: IntArray = np.empty(0, dtype=np.int64)
BEST_CUTOFF, FITTED_CUTOFF, OWN_CUTOFF = (
    "best cut-off in hindsight",
    "best cut-off, cross-fitted",
    "the lender's own cut-off",
)
SPLITS_AGREE = 1e-12  # of the profits: splits that all choose the same differ by no more
# Of those that are one thing; the names of others say what they are.
BASELINES_IN_WORDS = {
    ALL: "accepting everybody",
    ACCEPT_NONE: "accepting nobody",
    HINDSIGHT: "the best set of categories in hindsight",
    CROSS_FITTED: "the best set of categories, cross-fitted",
}


@dataclass(frozen=True, eq=False)
class Earned:
    """Profit of a baseline by cell, [R, K], and its acceptances, if unique."""

    table: FloatArray
    accepted: BoolArray | None = None  # cells, [R, K]
    # How often each client was accepted, where a round has a limit, [n].
    taken: IntArray | None = None
    asked: PastClients | None = None
    # Chosen with all outcomes known, among what includes everybody and nobody.
    is_best: bool = False
    # Of a profit that is the mean of several splits, and the variance of a single one.
    splits: int | None = None
    split_variance: float | None = None

    @property
    def split_error(self) -> float | None:
        """Standard error of the profit over splits."""
        if self.splits is None or self.split_variance is None:
            return None
        error = math.sqrt(self.split_variance / self.splits)
        return error if error > SPLITS_AGREE * float(np.abs(self.table).sum()) else 0.0

    def clients(self) -> float:
        """Count accepted clients; NaN if that is not known."""
        if self.taken is not None:
            return float(self.taken.sum())
        if self.accepted is None or self.asked is None:
            return math.nan
        return float(self.asked.counts[self.accepted].sum())


Baseline = Callable[["Setup"], Earned]
Choice = Callable[[FloatArray], BoolArray]  # of categories, by their profits, [K]


@dataclass(frozen=True, eq=False)
class Setup:
    """The clients, how often each of them is there, and what a round has."""

    clients: PastClients
    weights: IntArray | None = None
    limits: Limits | None = None
    log: AcceptanceLog | None = None  # if only some clients were accepted, by chance
    price: float = 0.0  # of a client, where it is the same for all
    seed: int = 1
    # The rounds in which outcomes count, [n]; those in which they are known if None.
    counted: IntArray | None = None
    splits: int | None = None  # into halves; as many as are cheap, unless given

    @property
    def number_of_splits(self) -> int:
        """Number of splits into halves."""
        if self.splits is not None:
            return self.splits
        if self.weights is not None:
            return FEWEST_SPLITS
        slow = SLOWER if self.limits is not None or self.log is not None else 1
        rows = max(self.clients.size, 1) * slow
        return max(FEWEST_SPLITS, min(SPLITS, ROWS_SPLIT // rows))

    @cached_property
    def profit(self) -> FloatArray:
        """The profit of accepting everybody, without a limit, by cell, [R, K]."""
        return self.table(self.weights)

    def table(self, times: IntArray | None) -> FloatArray:
        """Return the profit by cell, [R, K], if clients count `times`."""
        if self.log is not None:
            tables = self.log.tables(times)
            return tables.robust if self.log.has_refused else tables.weighted
        clients = self.clients
        return clients.profit_by_cell if times is None else clients.by_cell(clients.profit * times)

    def times(self, chosen: BoolArray) -> IntArray:
        """Return the weights of the chosen clients, [n]; 0 for the others."""
        return chosen.astype(np.int64) if self.weights is None else self.weights * chosen

    def earned(self, rank: FloatArray, eligible: BoolArray) -> Earned:
        """Return the profit of eligible cells [R, K], the highest rank [n] first."""
        if self.limits is None:
            return Earned(np.where(eligible, self.profit, 0.0), eligible, None, self.clients)
        taken = self.take(rank, eligible)
        return Earned(self.table(taken), eligible, taken, self.clients)

    def ranked(self, rank: FloatArray) -> Earned:
        """Return the profit of all categories, the highest rank [n] first."""
        return self.earned(rank, self.everywhere(np.ones(len(self.clients.names), dtype=bool)))

    def take(self, rank: FloatArray, eligible: BoolArray) -> IntArray:
        """Return how often each client is accepted under the limit, [n]."""
        clients = self.clients
        assert self.limits is not None
        assert isinstance(clients, SingleClients)
        times = self.times(eligible[clients.round - 1, clients.category])
        lots = draw_lots(clients, [self.seed, DRAWN_ORDER])
        order = np.lexsort((lots, -rank, clients.round))
        ends = np.concatenate(
            [[0], np.cumsum(np.bincount(clients.round, minlength=clients.rounds + 1)[1:])]
        )
        amounts = None
        if self.limits.budget is not None:
            # A client who brings money with him uses nothing of a budget.
            amounts = (
                clients.amount
                if clients.amount is not None
                else np.full(len(clients), max(self.price, 0.0))
            )
        taken = np.zeros(len(clients), dtype=np.int64)
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            row = order[start:stop]
            taken[row] = fill(
                self.limits.size, times[row], None if amounts is None else amounts[row]
            )
        return taken

    def by_category(self, table: FloatArray, times: IntArray | None) -> FloatArray:
        """Return the profit of each category per unit of what is scarce, [K]."""
        clients = self.clients
        has_budget = self.limits is not None and self.limits.budget is not None
        if has_budget and clients.amount is not None:
            used = clients.by_cell(clients.amount if times is None else clients.amount * times)
        else:
            used = clients.clients_by_cell(times)
        return table.sum(axis=0) / np.maximum(used.sum(axis=0), 1e-12)

    def everywhere(self, chosen: BoolArray) -> BoolArray:
        """Categories [K] as cells [R, K]."""
        return np.broadcast_to(chosen, (self.clients.rounds, chosen.size))


def accept_all(setup: Setup) -> Earned:
    """Accept everybody; with a limit, in random order until it is used up."""
    return setup.ranked(np.zeros(setup.clients.size))


def accept_none(setup: Setup) -> Earned:
    """Nobody."""
    nowhere = np.zeros((setup.clients.rounds, len(setup.clients.names)))
    return Earned(nowhere, nowhere > 0.0, None, setup.clients)


def that_pay(profits: FloatArray) -> BoolArray:
    """Choose the categories that earn something."""
    return profits > 0.0


def from_best_cutoff(bands: IntArray) -> Choice:
    """Return what chooses all bands from the best cut-off on, and others that pay.

    `bands` are the positions of the bands, from the lowest to the highest.

    >>> choose = from_best_cutoff(np.array([0, 1, 2, 3]))
    >>> choose(np.array([5.0, -9.0, -1.0, 3.0, 2.0])).tolist()
    [False, False, False, True, True]
    """

    def choose(profits: FloatArray) -> BoolArray:
        chosen = that_pay(profits)
        above = np.append(np.cumsum(profits[bands][::-1])[::-1], 0.0)
        # Of cut-offs that earn the same, the one that accepts least.
        best = bands.size - int(np.argmax(above[::-1]))
        chosen[bands] = np.arange(bands.size) >= best
        return chosen

    return choose


def _chosen(setup: Setup, table: FloatArray, times: IntArray | None, choose: Choice) -> Earned:
    """Return the profit of the categories chosen by a table, the best first."""
    value = setup.by_category(table, times)
    chosen = setup.everywhere(choose(table.sum(axis=0)))
    return setup.earned(value[setup.clients.category], chosen)


def hindsight(setup: Setup, choose: Choice = that_pay) -> Earned:
    """Accept the best fixed set, chosen when everything is known."""
    found = _chosen(setup, setup.profit, setup.weights, choose)
    # Under a limit, who is refused leaves his place to others, and nothing is sure.
    return replace(found, is_best=setup.limits is None)


def cross_fitted(setup: Setup, choose: Choice = that_pay) -> Earned:
    """Choose the best set on one half of the clients, and score it on the other.

    Both ways, for several splits into halves, and averaged.  With a limit, the set is
    scored on all clients, since half of them would have the whole limit.
    """
    rng, total = np.random.default_rng([setup.seed, HALVES]), np.zeros_like(setup.profit)
    earned: list[float] = []
    for _ in range(setup.number_of_splits):
        table = _fitted_once(setup, setup.clients.draw_half(rng), choose)
        earned.append(float(table.sum()))
        total += table
    variance = float(np.var(earned, ddof=1)) if len(earned) > 1 else None
    return Earned(total / len(earned), splits=len(earned), split_variance=variance)


def _fitted_once(setup: Setup, first: BoolArray, choose: Choice) -> FloatArray:
    """Return the profit by cell with a set from each half [n], scored on the other."""
    one = setup.table(setup.times(first))
    other = setup.profit - one
    if setup.limits is None:
        chosen_by_one, chosen_by_other = choose(one.sum(axis=0)), choose(other.sum(axis=0))
        return np.where(chosen_by_one, other, 0.0) + np.where(chosen_by_other, one, 0.0)
    by_one, by_other = (
        _chosen(setup, table, setup.times(half), choose).table
        for table, half in ((one, first), (other, ~first))
    )
    return 0.5 * (by_one + by_other)


def that_did_not_lose(profits: FloatArray) -> BoolArray:
    """Choose the categories that lost nothing, among them those that nobody knows."""
    return profits >= 0.0


def learn_then_commit(share: float, choose: Choice = that_did_not_lose) -> Baseline:
    """Accept all for a share of the rounds; then keep what has paid by then."""

    def commit(setup: Setup) -> Earned:
        clients = setup.clients
        last, anybody = max(1, round(share * clients.rounds)), np.zeros(clients.size)
        eligible = np.ones((clients.rounds, len(clients.names)), dtype=bool)
        known = (clients.known if setup.counted is None else setup.counted) <= last
        learned = (
            setup.times(known) if setup.limits is None else setup.take(anybody, eligible) * known
        )
        eligible[last:] = choose(setup.table(learned).sum(axis=0))
        return setup.earned(anybody, eligible)

    return commit


def by_score(setup: Setup) -> Earned:
    """Accept the clients with the highest score, as many as the limit allows."""
    assert setup.clients.score is not None
    return setup.ranked(setup.clients.score)


def by_promise(setup: Setup) -> Earned:
    """Accept the clients who promise the most, as many as the limit allows."""
    assert setup.clients.promised is not None
    return setup.ranked(setup.clients.promised)


def own_cutoff(bands: IntArray) -> Baseline:
    """Accept from the band on that says best whom the lender accepted.

    Clients who are in no band are accepted if he accepted most of them.
    """

    def accept(setup: Setup) -> Earned:
        clients = setup.clients
        assert clients.logged is not None
        times = setup.times(np.ones(clients.size, dtype=bool))
        size = len(clients.names)
        accepted = np.bincount(clients.category, times * clients.logged, size)
        refused = np.bincount(clients.category, times * ~clients.logged, size)
        chosen = from_best_cutoff(bands)((accepted - refused).astype(np.float64))
        return setup.earned(np.zeros(clients.size), setup.everywhere(chosen))

    return accept


def cutoff_baselines(
    clients: PastClients, commit: float | None, bands: IntArray
) -> dict[str, Baseline]:
    """Return the baselines that cut an order, by name."""
    choose = from_best_cutoff(bands)
    found: dict[str, Baseline] = {}
    if commit is not None:
        found[f"learn {commit:.0%}, then cut"] = learn_then_commit(commit, choose)
    if clients.logged is not None and clients.propensity is not None:
        found[OWN_CUTOFF] = own_cutoff(bands)
    if clients.folds != 1:
        found[FITTED_CUTOFF] = partial(cross_fitted, choose=choose)
    return found | {BEST_CUTOFF: partial(hindsight, choose=choose)}


def baselines_for(
    clients: PastClients, limits: Limits | None, commit: float | None, bands: IntArray = NO_BANDS
) -> dict[str, Baseline]:
    """Return the baselines that apply here, by name; `bands` are those of an order."""
    found: dict[str, Baseline] = {ALL: accept_all, ACCEPT_NONE: accept_none}
    if commit is not None:
        found[f"learn {commit:.0%}, then commit"] = learn_then_commit(commit)
    if limits is not None and clients.score is not None:
        found[BY_SCORE] = by_score
    if limits is not None and clients.promised is not None:
        found["by promised reward"] = by_promise
    if clients.folds != 1:  # one fold has no halves
        found[CROSS_FITTED] = cross_fitted
    cutoffs = cutoff_baselines(clients, commit, bands) if bands.size else {}
    return found | {HINDSIGHT: hindsight} | cutoffs
