"""Sharing out: who gets how much of a limited budget.

Example: 10 000 are there to lend, a tenth of it to learn (`explore=0.1`).  Each loan is 1 000.

| category   | rate | repaid     | a unit is expected to earn   | ask | granted |
| ---------- | ---- | ---------- | ---------------------------- | --- | ------- |
| homeowners | 6 %  | 118 of 120 | 1.06 * 118.5/121 - 1 = 0.038 | 20  | 6       |
| craftsmen  | 9 %  | 39 of 40   | 1.09 * 39.5/41 - 1 = 0.050   | 3   | 3       |
| students   | 12 % | 50 of 60   | 1.12 * 50.5/61 - 1 = -0.073  | 5   | 0       |
| shops      | 15 % | -          | not known                    | 4   | 1       |

1. Shops and students are accepted to *learn* about them: nothing is known of shops, and students are expected to lose
   money, but the evidence against them does not suffice yet.  They come in the order of what a unit would earn if the
   mean were the index.  The index of shops is 1, and 1.15 * 1 - 1 = 0.15; that of students is 0.932, and
   1.12 * 0.932 - 1 = 0.044.  So the reserved 1 000 go to a shop.
2. Homeowners and craftsmen *earn*.  They come in the order of what a unit is expected to earn: three craftsmen, then
   homeowners as long as the money lasts.
3. What one of the two groups cannot use goes to the other one.

With a floor, there is a lottery before all that: each category that patience rejects wins with the floor's probability,
and then all its clients are granted.  Those take part whose clients fit into the limit together, the least often
accepted first.  So who takes part does not depend on the draws, and their propensity is the floor, exactly.  On average
the lottery uses no more than the floor's share of the limit.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.limit import SLACK, Limit
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.agent_table import Row
from profitable.model.expected_mean import expected_means


class Claims(NamedTuple):
    """What the categories of a decision ask for, each [M]."""

    accepted: BoolArray  # by the policy
    tested: BoolArray  # whether what is known counts as one client or more
    margin: FloatArray  # what a client is expected to bring, less what he costs, in money
    price: FloatArray  # what a client costs, in money
    rounds: FloatArray  # rounds that accepted it before
    lottery: BoolArray  # rejected by patience, so that only the floor can accept it
    hope: Callable[[IntArray], FloatArray]  # the margin if the mean were the index, of some of the categories

    @property
    def learning(self) -> BoolArray:
        """Whether each is accepted to learn about it: it is not tested, or expected to cost more than it brings."""
        return self.accepted & ~(self.tested & (self.margin >= 0.0))

    def value(self, cost: FloatArray) -> FloatArray:
        """What a unit of the limit is expected to earn, [M]; infinite where clients use nothing of it."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(cost > 0.0, self.margin / cost, np.inf)


def read_claims(
    categories: Categories,
    positions: IntArray,
    table: FloatArray,
    terms: FloatArray,
    *,
    accepted: BoolArray,
    lottery: BoolArray,
    index: Callable[[IntArray], FloatArray],
) -> Claims:
    """The claims of a decision about the categories at some positions, [M].

    `table` [rows, M] is what the decision keeps, `terms` [3, M] are worth, price and accepted rounds of the categories,
    this one included, `index` computes the index of some of them.
    """
    worth, price, rounds = terms
    threshold, clients = table[Row.THRESHOLD], table[Row.CLIENTS]
    tested = clients + categories.imaginary(positions) >= 1.0
    means = np.full(positions.size, np.nan)
    for view, mask in categories.by_view(positions):
        seen = mask & tested
        means[seen] = expected_means(view, clients[seen], table[Row.TOTAL, seen])
    margin = worth * (means - threshold)

    def hope(places: IntArray) -> FloatArray:
        return worth[places] * (index(places) - threshold[places])

    return Claims(accepted, tested, margin, price, rounds - accepted, lottery, hope)


class Sharing:
    """Hands out whole clients, in order, until the limit is used: `clients` [M] and what they use, `used`."""

    def __init__(self, limit: Limit, claims: Claims) -> None:
        self.clients: IntArray = np.zeros(limit.demand.size, dtype=np.int64)
        self.used = 0.0
        self.reserve = 0.0  # the part that is for learning
        self.in_lottery: BoolArray = np.zeros(limit.demand.size, dtype=np.bool_)  # of the floor
        self._limit = limit
        self._claims = claims
        self._cost = limit.cost(claims.price)
        self._hopes = np.full(limit.demand.size, np.nan)  # for those that were compared by their index
        self._share_out()

    def _share_out(self) -> None:
        limit, cost, claims = self._limit, self._cost, self._claims
        asking = claims.accepted & (limit.demand > 0)
        free = asking & (cost == 0.0)
        self.clients[free] = limit.demand[free]
        if limit.floor_first and claims.lottery.any():
            self._hold_lottery()
            asking &= ~claims.lottery
        asking &= (cost > 0.0) & (cost <= self._room(limit.size))
        learners = np.flatnonzero(asking & claims.learning)
        if limit.explore > 0.0 and learners.size:
            self.reserve = limit.explore * limit.size
            if self.reserve < cost[learners].max():  # it pays for one client, or else nothing would ever be learned
                self.reserve = max(self.reserve, float(cost[self._by_hope(learners)[0]]))
            self._fill(learners, np.zeros(learners.size), self.reserve)
        everybody = np.flatnonzero(asking)
        # Learners come last and are all tied, so that their index decides.
        value = np.where(claims.learning[everybody], -np.inf, claims.value(cost)[everybody])
        best = np.argsort(-value, kind="stable")
        self._fill(everybody[best], value[best], limit.size)

    def _hold_lottery(self) -> None:
        """Grant all their clients to those whom the floor accepts, of those who take part."""
        limit, claims = self._limit, self._claims
        whole = self._cost * limit.demand
        places = np.flatnonzero(claims.lottery & (limit.demand > 0) & (whole <= self._room(limit.size)))
        places = places[np.lexsort((claims.rounds[places], whole[places] > 0.0))]  # who uses nothing always fits
        self.in_lottery[places[np.cumsum(whole[places]) <= self._room(limit.size)]] = True
        winners = self.in_lottery & claims.accepted
        self.clients[winners] = limit.demand[winners]
        self.used += float(whole[winners].sum())

    def _room(self, most: float) -> float:
        """What is left of the limit, or of a part of it."""
        return most + SLACK * self._limit.size - self.used

    def _fill(self, places: IntArray, value: FloatArray, most: float) -> None:
        """Grant clients in this order, of falling value, until `most` is used.

        Those of equal value are a group, which is ordered by the index.  Groups that get all they ask for need no
        order, and computing an index takes long.  So only the others are ordered.
        """
        if places.size == 0:
            return
        missing = self._limit.demand[places] - self.clients[places]
        spent = np.cumsum(missing * self._cost[places])
        starts = np.append(np.flatnonzero(np.append(True, value[1:] != value[:-1])), places.size)  # of the groups
        whole = int(np.searchsorted(spent[starts[1:] - 1], self._room(most), side="right"))
        end = int(starts[whole])
        if end:
            self.clients[places[:end]] += missing[:end]
            self.used += float(spent[end - 1])
        cheapest = self._cost[places[end:]].min(initial=np.inf)
        for start, stop in zip(starts[whole:-1].tolist(), starts[whole + 1 :].tolist(), strict=True):
            group = places[start:stop]
            if stop - start > 1:
                group = group[self._cost[group] <= self._room(most)]
                group = self._by_hope(group) if group.size > 1 else group
            for k in group.tolist():
                if self._room(most) < cheapest:
                    return
                self._serve(k, most)

    def _serve(self, k: int, most: float) -> None:
        """Grant a category as many clients as what is left pays for."""
        cost, room = float(self._cost[k]), self._room(most)
        if cost > room:
            return
        clients = int(min(room / cost, float(self._limit.demand[k] - self.clients[k])))
        if clients * cost > room:
            clients -= 1
        self.clients[k] += clients
        self.used += clients * cost

    def _by_hope(self, places: IntArray) -> IntArray:
        """By what a unit would earn if the mean were the index; ties go to those that were accepted less often."""
        new = places[np.isnan(self._hopes[places])]
        if new.size:
            with np.errstate(over="ignore"):
                self._hopes[new] = self._claims.hope(new) / self._cost[new]
        return places[np.lexsort((self._claims.rounds[places], -self._hopes[places]))]
