"""Limit: the money or places of a round, and how accepted categories share them.

`decide(budget=5_000, demand={"students": 60, "shops": 10})` limits the money that
accepted clients cost together, each of them the price of its category.
`decide(places=40, demand=...)` limits how many clients there are.

Example: 10 000 are there to lend, a tenth of it to learn (`explore=0.1`).  Each loan is
1 000.

| category   | rate | repaid     | a unit is expected to earn   | ask | granted |
| ---------- | ---- | ---------- | ---------------------------- | --- | ------- |
| homeowners | 6 %  | 118 of 120 | 1.06 * 118.5/121 - 1 = 0.038 | 20  | 6       |
| craftsmen  | 9 %  | 39 of 40   | 1.09 * 39.5/41 - 1 = 0.050   | 3   | 3       |
| students   | 12 % | 50 of 60   | 1.12 * 50.5/61 - 1 = -0.073  | 5   | 0       |
| shops      | 15 % | -          | not known                    | 4   | 1       |

1. Shops and students are accepted to *learn* about them: nothing is known of shops, and
   students are expected to lose money, but the evidence against them does not suffice
   yet.  They come in the order of what a unit would earn if the mean were the index.
   The index of shops is 1, and 1.15 * 1 - 1 = 0.15; that of students is 0.932, and 1.12
   * 0.932 - 1 = 0.044.  So the reserved 1 000 go to a shop.
2. Homeowners and craftsmen *earn*.  They come in the order of what a unit is expected
   to earn: three craftsmen, then homeowners as long as the money lasts.
3. What one of the two groups cannot use goes to the other one.

With a floor, there is a lottery before all that: each category that patience rejects
wins with the floor's probability, and then all its clients are granted.  Those take
part whose clients fit into the limit together, the least often accepted first.  So who
takes part does not depend on the draws, and their propensity is the floor, exactly.  On
average the lottery uses no more than the floor's share of the limit.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np

from profitable.agent.categories import Categories
from profitable.common import check
from profitable.common.text_tables import money_text, number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import ParameterError
from profitable.kernels.agent_table import AgentRow
from profitable.model.posterior import expected_means

# Of a limit, so that three clients at 0.1 fit into 0.3, although 3 * 0.1 is a double
# above 0.3.
SLACK = 1e-9
# The share of a limit that is reserved for learning, unless the caller says otherwise.
EXPLORE = 0.1
NO_CHANCE = "the limit leaves the floor no room for its clients in this round"
_floor_first = ContextVar("floor_first", default=True)


@contextmanager
def floor_served(*, first: bool) -> Generator[None]:
    """Decide again as a version did that served the floor's categories first or not."""
    token = _floor_first.set(first)
    try:
        yield
    finally:
        _floor_first.reset(token)


@dataclass(frozen=True, slots=True)
class Limit:
    """The money or places of a round, and the clients that ask, [M]."""

    size: float
    is_money: bool
    explore: float
    demand: IntArray
    # What the floor accepts is served first; false in decisions of versions up to
    # 0.2.0.
    floor_first: bool = True


def read_limit(
    categories: Categories,
    positions: IntArray | None,
    budget: object,
    places: object,
    demand: object,
    explore: object,
) -> Limit:
    """Return the limit of a round, of which the caller gave something."""
    if budget is None and places is None:
        field, value = ("explore", explore) if demand is None else ("demand", demand)
        raise ParameterError(
            field, value, "is given without a limit", "give budget= or places=, too"
        )
    if budget is not None and places is not None:
        raise ParameterError(
            "places", places, "is given together with a budget", "give budget= or places=, not both"
        )
    if budget is None:
        size = float(check.whole("places", places, least=0))
    else:
        size = check.not_negative("budget", budget, "give an amount of money, 0 or more")
    share = check.within(
        "explore",
        EXPLORE if explore is None else explore,
        0.0,
        1.0,
        "is not a share",
        "give a number from 0 to 1",
    )
    if not isinstance(demand, Mapping):
        raise ParameterError(
            "demand",
            demand,
            "is missing, although there is a limit" if demand is None else "must be a mapping",
            "give how many clients ask, as {name: number}",
        )
    return Limit(
        size,
        budget is not None,
        share,
        _demand(categories, positions, cast(Mapping[str, object], demand)),
        _floor_first.get(),
    )


def _demand(
    categories: Categories, positions: IntArray | None, demand: Mapping[str, object]
) -> IntArray:
    """Return the clients that ask, in the order of the categories on offer, [M].

    There must be a number for each of them.
    """
    places = np.array([categories.position(name) for name in demand], dtype=np.int64)
    asked = np.full(len(categories), -1, dtype=np.int64)
    asked[places] = _counts(demand)
    if positions is None:
        offered = asked
    else:
        offered = asked[positions]
        asked[positions] = -1
        if (asked >= 0).any():
            name = categories.names[int(np.argmax(asked >= 0))]
            raise ParameterError(
                "demand",
                demand[name],
                "is given, but the category is not available",
                "leave it out, or add the category to available",
                name,
            )
    if (offered < 0).any():
        missing = int(np.argmax(offered < 0))
        name = categories.names[missing if positions is None else int(positions[missing])]
        raise ParameterError(
            "demand", None, "is missing", "say how many clients ask, 0 if nobody does", name
        )
    return offered


def _counts(demand: Mapping[str, object]) -> list[int]:
    values = list(demand.values())
    if set(map(type, values)) <= {int} and all(0 <= value <= check.MOST for value in values):  # type: ignore[operator]
        return values  # type: ignore[return-value]
    counts: list[int] = []
    for name, value in demand.items():
        try:
            counts.append(check.whole("demand", value, least=0))
        except ParameterError as error:
            raise error.about(name) from None
    return counts


# ---------------------------------------------------------------------------- granting


class Claims(NamedTuple):
    """Requests of the categories of a decision, each [M]."""

    accepted: BoolArray  # by the policy
    tested: BoolArray  # whether what is known counts as one client or more
    margin: FloatArray  # what a client is expected to bring, less what he costs, in money
    price: FloatArray  # what a client costs, in money
    rounds: FloatArray  # rounds that accepted it before
    lottery: BoolArray  # rejected by patience, so that only the floor can accept it
    # The margin if the mean were the index, of some of the categories.
    hope: Callable[[IntArray], FloatArray]

    @property
    def learning(self) -> BoolArray:
        """Whether each is accepted to learn about it, [M].

        It is not tested, or expected to cost more than it brings.
        """
        return self.accepted & ~(self.tested & (self.margin >= 0.0))

    def value(self, cost: FloatArray) -> FloatArray:
        """Return the expected profit per unit of the limit, [M]; infinite if free."""
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
    """Return the claims of a decision about the categories at some positions, [M].

    `table` [rows, M] is the decision's, `terms` [3, M] are worth, price and accepted
    rounds of the categories, this one included, `index` computes the index of some of
    them.
    """
    worth, price, rounds = terms
    threshold, clients = table[AgentRow.THRESHOLD], table[AgentRow.CLIENTS]
    tested = clients + categories.imaginary(positions) >= 1.0
    means = np.full(positions.size, np.nan)
    for view, mask in categories.by_view(positions):
        seen = mask & tested
        means[seen] = expected_means(view, clients[seen], table[AgentRow.TOTAL, seen])

    def hope(places: IntArray) -> FloatArray:
        return worth[places] * (index(places) - threshold[places])

    return Claims(
        accepted, tested, worth * (means - threshold), price, rounds - accepted, lottery, hope
    )


class Grant:
    """Clients granted to each category, `clients` [M], with the reasons.

    Whole clients are granted, in order, until the limit is used: never more than ask,
    and together never more than the limit, up to one part in 10^9.
    """

    def __init__(self, limit: Limit, claims: Claims, terms: FloatArray) -> None:
        self.clients: IntArray = np.zeros(limit.demand.size, dtype=np.int64)
        self.used = 0.0  # of the limit, by these clients
        self.in_lottery: BoolArray = np.zeros(limit.demand.size, dtype=np.bool_)  # of the floor
        self.limit = limit
        self.terms = terms  # the `LIMIT_ROWS` of the categories, [3, M]
        self._claims = claims
        # The use of the limit by a client, [M]; 0 for one who brings money.
        self._cost = np.maximum(claims.price, 0.0) if limit.is_money else np.ones(claims.price.size)
        self._value = claims.value(self._cost)
        self._learning = claims.learning
        # For those that were compared by their index.
        self._hopes = np.full(limit.demand.size, np.nan)
        self._reserve = 0.0  # the part that is for learning
        self._share_out()
        self.clients.setflags(write=False)
        learned = float((self.clients * self._cost)[self._learning].sum())
        self._learning_ends_first = 0.0 < learned <= self._reserve + SLACK * limit.size

    def _share_out(self) -> None:
        limit, cost, claims = self.limit, self._cost, self._claims
        asking = claims.accepted & (limit.demand > 0)
        free = asking & (cost == 0.0)
        self.clients[free] = limit.demand[free]
        if limit.floor_first and claims.lottery.any():
            self._hold_lottery()
            asking &= ~claims.lottery
        asking &= (cost > 0.0) & (cost <= self._room(limit.size))
        learners = np.flatnonzero(asking & self._learning)
        if limit.explore > 0.0 and learners.size:
            self._reserve = limit.explore * limit.size
            # It pays for one client, or else nothing would ever be learned.
            if self._reserve < cost[learners].max():
                self._reserve = max(self._reserve, float(cost[self._by_hope(learners)[0]]))
            self._fill(learners, np.zeros(learners.size), self._reserve)
        everybody = np.flatnonzero(asking)
        # Learners come last and are all tied, so that their index decides.
        value = np.where(self._learning[everybody], -np.inf, self._value[everybody])
        best = np.argsort(-value, kind="stable")
        self._fill(everybody[best], value[best], limit.size)

    def _hold_lottery(self) -> None:
        """Grant all their clients to the participants whom the floor accepts."""
        limit, claims = self.limit, self._claims
        whole = self._cost * limit.demand
        places = np.flatnonzero(
            claims.lottery & (limit.demand > 0) & (whole <= self._room(limit.size))
        )
        # Who uses nothing always fits.
        places = places[np.lexsort((claims.rounds[places], whole[places] > 0.0))]
        self.in_lottery[places[np.cumsum(whole[places]) <= self._room(limit.size)]] = True
        winners = self.in_lottery & claims.accepted
        self.clients[winners] = limit.demand[winners]
        self.used += float(whole[winners].sum())

    def _room(self, most: float) -> float:
        """Return the rest of the limit, or of a part of it."""
        return most + SLACK * self.limit.size - self.used

    def _fill(self, places: IntArray, value: FloatArray, most: float) -> None:
        """Grant clients in this order, of falling value, until `most` is used.

        Those of equal value are a group, which is ordered by the index.  Groups that
        get all they ask for need no order, and computing an index takes long.  So only
        the others are ordered.
        """
        if places.size == 0:
            return
        missing = self.limit.demand[places] - self.clients[places]
        spent = np.cumsum(missing * self._cost[places])
        # Of the groups.
        starts = np.append(np.flatnonzero(np.append(True, value[1:] != value[:-1])), places.size)
        whole = int(np.searchsorted(spent[starts[1:] - 1], self._room(most), side="right"))
        end = int(starts[whole])
        if end:
            self.clients[places[:end]] += missing[:end]
            self.used += float(spent[end - 1])
        cheapest = self._cost[places[end:]].min(initial=np.inf)
        for start, stop in pairwise(starts[whole:].tolist()):
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
        clients = int(min(room / cost, float(self.limit.demand[k] - self.clients[k])))
        if clients * cost > room:
            clients -= 1
        self.clients[k] += clients
        self.used += clients * cost

    def _by_hope(self, places: IntArray) -> IntArray:
        """Sort by the profit per unit if the mean were the index.

        Ties go to those that were accepted less often.
        """
        new = places[np.isnan(self._hopes[places])]
        if new.size:
            with np.errstate(over="ignore"):
                self._hopes[new] = self._claims.hope(new) / self._cost[new]
        return places[np.lexsort((self._claims.rounds[places], -self._hopes[places]))]

    def propensity(self, own: FloatArray, *, drawn: bool, floor: float) -> FloatArray:
        """Return the probability that the round accepts each category, [M].

        NaN where it is not known.  `own` is the policy's.  It is `drawn` if patience
        is; who is granted something then depends on the draws of all categories, unless
        there is enough for everybody.  The floor's lottery is held first, so its
        chances are known.
        """
        demand = self.limit.demand
        # As versions up to 0.2.0 had it.
        drawn = drawn or (floor > 0.0 and not self.limit.floor_first)
        by_chance = drawn or bool(self._claims.lottery.any())
        if (
            by_chance
            and float((demand * self._cost)[own > 0.0].sum()) <= (1.0 + SLACK) * self.limit.size
        ):
            known = own
        elif drawn:
            known = np.where(own > 0.0, np.nan, 0.0)
        else:
            least, most = self._extremes()
            known = np.where(least == demand, own, np.where(most == 0, 0.0, np.nan))
            known = np.where(self._claims.lottery, np.where(self.in_lottery, own, 0.0), known)
        return np.where(demand == 0, 0.0, known)

    def _extremes(self) -> tuple[IntArray, IntArray]:
        """Return the least and most for categories outside the lottery, [M] each.

        Where all clients cost the same, those of the lottery included, the less is left
        the less each gets.  Otherwise the rest may go to a category whose clients
        cost less, and nothing is known.
        """
        if not self.in_lottery.any():
            return self.clients, self.clients
        claims = self._claims
        by_patience = claims.accepted & ~claims.lottery
        costs = self._cost[
            (by_patience | self.in_lottery) & (self.limit.demand > 0) & (self._cost > 0.0)
        ]
        if costs.size and costs.min() < costs.max():
            demand = self.limit.demand
            return np.where(self._cost > 0.0, -1, demand), np.where(by_patience, demand, 0)
        everybody, nobody = (
            Grant(self.limit, claims._replace(accepted=accepted), self.terms).clients
            for accepted in (by_patience | self.in_lottery, by_patience)
        )
        return everybody, nobody

    def reasons(self, chosen: slice, reasons: list[str]) -> list[str]:
        """Return the reasons for the grants, after the policy's own reasons."""
        return [
            self._reason(k, reason)
            for k, reason in zip(range(self.clients.size)[chosen], reasons, strict=True)
        ]

    def _reason(self, k: int, reason: str) -> str:
        if not self._claims.accepted[k]:
            return reason if self._has_chance(k) else f"{reason}; {NO_CHANCE}"
        granted, asked = int(self.clients[k]), int(self.limit.demand[k])
        if granted == 0:
            return f"not granted: {self._why_nothing(k, asked)}; otherwise {reason}"
        aim = " to learn about it" if self._learning[k] else ""
        why = f"{self._end(k)} ended here" if granted < asked else self._expected(k)
        return (
            f"{reason}; granted {number_text(granted)} of {number_text(asked)} clients{aim}: {why}"
        )

    def _why_nothing(self, k: int, asked: int) -> str:
        if asked == 0:
            return "nobody asks"
        if self._cost[k] > (1.0 + SLACK) * self.limit.size:
            return f"one client uses {money_text(float(self._cost[k]))}, more than there is"
        if not self._has_chance(k):
            return NO_CHANCE
        return f"{self._end(k)} ended before its {number_text(asked)} clients"

    def _has_chance(self, k: int) -> bool:
        """Whether patience could accept a category, or it takes part in the lottery."""
        left_out = self._claims.lottery[k] and not self.in_lottery[k]
        return not (left_out and self.limit.floor_first and self.limit.demand[k] > 0)

    def _end(self, k: int) -> str:
        """Return what ended: the share for learning, if learners got no more."""
        if self._learning[k] and self._learning_ends_first:
            return "the share for learning"
        return "the budget" if self.limit.is_money else "the places"

    def _expected(self, k: int) -> str:
        if self._cost[k] == 0.0:
            return "they use nothing of the budget"
        if not self._claims.tested[k]:
            return "no outcome counts yet"
        unit = "unit of money" if self.limit.is_money else "place"
        return f"a {unit} is expected to earn {number_text(float(self._value[k]), 3)}"

    def summary(self) -> str:
        """Return the grants in a few words."""
        clients, size = number_text(int(self.clients.sum())), self.limit.size
        if self.limit.is_money:
            return f"{clients} clients for {money_text(self.used)} of {money_text(size)}"
        return f"{clients} of {number_text(size)} places"

    def to_dict(self) -> dict[str, object]:
        """Return the limit and how much of it is used, as JSON-ready values."""
        limit = self.limit
        return {
            "unit": "money" if limit.is_money else "places",
            "size": limit.size,
            "explore": limit.explore,
            "used": self.used,
        }
