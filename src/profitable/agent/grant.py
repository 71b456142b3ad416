"""Grant: how many clients of each category a limited round can pay for, and why; `agent/sharing.py` works it out.

Example: "accepted: ...; granted 6 of 20 clients: the budget ended here".
"""

import numpy as np

from profitable.agent.limit import SLACK, Limit
from profitable.agent.sharing import Claims, Sharing
from profitable.common.text_tables import money, number
from profitable.common.types import FloatArray

NOT_GRANTED = "not granted: "


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
        self._tested, self._learning = claims.tested, claims.learning
        self._cost = limit.cost(claims.price)
        self._value = claims.value(self._cost)
        learned = float((self.clients * self._cost)[self._learning].sum())
        self._learning_ends_first = 0.0 < learned <= sharing.reserve + SLACK * limit.size

    def propensity(self, own: FloatArray, drawn: bool) -> FloatArray:
        """The probability that the round accepts each category, [M]; NaN where it is not known.

        `own` is the policy's.  It is `drawn` if the policy rolls dice; who is granted something then depends on the
        draws of all categories, unless there is enough for everybody.
        """
        demand = self.limit.demand
        if drawn:
            asked = float((demand * self._cost)[own > 0.0].sum())
            known = own if asked <= (1.0 + SLACK) * self.limit.size else np.where(own > 0.0, np.nan, 0.0)
        else:
            known = np.where(self.clients == demand, own, np.where(self.clients == 0, 0.0, np.nan))
        return np.where(demand == 0, 0.0, known)

    def reasons(self, chosen: slice, reasons: list[str]) -> list[str]:
        """Why some of the categories get what they get, after the policy's own reasons."""
        columns = range(self.clients.size)[chosen]
        return [self._reason(k, reason) for k, reason in zip(columns, reasons, strict=True)]

    def _reason(self, k: int, reason: str) -> str:
        if not self.accepted[k]:
            return reason
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
        return f"{self._end(k)} ended before its {number(asked)} clients"

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
