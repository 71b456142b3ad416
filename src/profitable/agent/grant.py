"""Grant: how many clients of each category a limited round can pay for, and why; `agent/sharing.py` works it out.

Example: "accepted: ...; granted 6 of 20 clients: the budget ended here".
"""

import numpy as np

from profitable.agent.limit import SLACK, Limit
from profitable.agent.sharing import Claims, Sharing
from profitable.common.text_tables import money, number
from profitable.common.types import FloatArray, IntArray

NOT_GRANTED = "not granted: "
NO_CHANCE = "the limit leaves the floor no room for its clients in this round"


class Grant:
    """What each category is granted, `clients` [M]: whole clients, never more than ask.

    Together they never use more than the limit, up to one part in 10^9.
    """

    def __init__(self, limit: Limit, claims: Claims) -> None:
        sharing = Sharing(limit, claims)
        self.limit = limit
        self.clients = sharing.clients
        self.clients.setflags(write=False)
        self.used = sharing.used
        self.accepted = claims.accepted  # by the policy
        self._claims, self._in_lottery = claims, sharing.in_lottery
        self._tested, self._learning = claims.tested, claims.learning
        self._cost = limit.cost(claims.price)
        self._value = claims.value(self._cost)
        learned = float((self.clients * self._cost)[self._learning].sum())
        self._learning_ends_first = 0.0 < learned <= sharing.reserve + SLACK * limit.size

    def propensity(self, own: FloatArray, *, drawn: bool, floor: float) -> FloatArray:
        """The probability that the round accepts each category, [M]; NaN where it is not known.

        `own` is the policy's.  It is `drawn` if patience is; who is granted something then depends on the draws of all
        categories, unless there is enough for everybody.  The floor's lottery is held first, so its chances are known.
        """
        demand = self.limit.demand
        drawn = drawn or (floor > 0.0 and not self.limit.floor_first)  # as versions up to 0.2.0 had it
        asked = float((demand * self._cost)[own > 0.0].sum())
        by_chance = drawn or bool(self._claims.lottery.any())
        if by_chance and asked <= (1.0 + SLACK) * self.limit.size:
            known = own
        elif drawn:
            known = np.where(own > 0.0, np.nan, 0.0)
        else:
            least, most = self._extremes()
            known = np.where(least == demand, own, np.where(most == 0, 0.0, np.nan))
            known = np.where(self._claims.lottery, np.where(self._in_lottery, own, 0.0), known)
        return np.where(demand == 0, 0.0, known)

    def _extremes(self) -> tuple[IntArray, IntArray]:
        """The least and the most that each category outside the floor's lottery gets, whoever wins, [M] each.

        Where all clients cost the same, those of the lottery included, the less is left the less each gets.  Otherwise
        what is left may go to a category whose clients cost less, and nothing is known.
        """
        claims, by_patience = self._claims, self.accepted & ~self._claims.lottery
        if not self._in_lottery.any():
            return self.clients, self.clients
        costs = self._cost[(by_patience | self._in_lottery) & (self.limit.demand > 0) & (self._cost > 0.0)]
        if costs.size and costs.min() < costs.max():
            demand = self.limit.demand
            return np.where(self._cost > 0.0, -1, demand), np.where(by_patience, demand, 0)
        everybody, nobody = (
            Sharing(self.limit, claims._replace(accepted=by_patience | winners)).clients
            for winners in (self._in_lottery, np.zeros_like(self._in_lottery))
        )
        return everybody, nobody

    def reasons(self, chosen: slice, reasons: list[str]) -> list[str]:
        """Why some of the categories get what they get, after the policy's own reasons."""
        columns = range(self.clients.size)[chosen]
        return [self._reason(k, reason) for k, reason in zip(columns, reasons, strict=True)]

    def _reason(self, k: int, reason: str) -> str:
        if not self.accepted[k]:
            return reason if self._has_chance(k) else f"{reason}; {NO_CHANCE}"
        granted, asked = int(self.clients[k]), int(self.limit.demand[k])
        if granted == 0:
            return f"{NOT_GRANTED}{self._why_nothing(k, asked)}; otherwise {reason}"
        aim = " to learn about it" if self._learning[k] else ""
        why = f"{self._end(k)} ended here" if granted < asked else self._expected(k)
        return f"{reason}; granted {number(granted)} of {number(asked)} clients{aim}: {why}"

    def _why_nothing(self, k: int, asked: int) -> str:
        if asked == 0:
            return "nobody asks"
        if self._cost[k] > (1.0 + SLACK) * self.limit.size:
            return f"one client uses {money(float(self._cost[k]))}, more than there is"
        if not self._has_chance(k):
            return NO_CHANCE
        return f"{self._end(k)} ended before its {number(asked)} clients"

    def _has_chance(self, k: int) -> bool:
        """False for a category that only the floor could accept, and that does not take part in its lottery."""
        left_out = self._claims.lottery[k] and not self._in_lottery[k]
        return not (left_out and self.limit.floor_first and self.limit.demand[k] > 0)

    def _end(self, k: int) -> str:
        """What ended: the share for learning, if that is all that learners got."""
        if self._learning[k] and self._learning_ends_first:
            return "the share for learning"
        return "the budget" if self.limit.is_money else "the places"

    def _expected(self, k: int) -> str:
        if self._cost[k] == 0.0:
            return "they use nothing of the budget"
        if not self._tested[k]:
            return "no outcome counts yet"
        unit = "unit of money" if self.limit.is_money else "place"
        return f"a {unit} is expected to earn {number(float(self._value[k]), 3)}"

    def summary(self) -> str:
        """What is granted, in a few words."""
        clients, size = number(int(self.clients.sum())), self.limit.size
        if self.limit.is_money:
            return f"{clients} clients for {money(self.used)} of {money(size)}"
        return f"{clients} of {number(size)} places"

    def to_dict(self) -> dict[str, object]:
        """The limit and how much of it is used, as JSON-ready values."""
        limit = self.limit
        unit = "money" if limit.is_money else "places"
        return {"unit": unit, "size": limit.size, "explore": limit.explore, "used": self.used}
