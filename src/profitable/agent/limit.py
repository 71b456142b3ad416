"""Limit: how much money, or how many places, a round has, and how many clients ask; as the caller says it, checked.

`decide(budget=5_000, demand={"students": 60, "shops": 10})` limits the money that accepted clients cost together, each
of them the price of its category.  `decide(places=40, demand=...)` limits how many clients there are.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import cast

import numpy as np

from profitable.agent.categories import Categories
from profitable.common import check
from profitable.common.types import FloatArray, IntArray
from profitable.errors import ParameterError

SLACK = 1e-9  # of a limit, so that three clients at 0.1 fit into 0.3, although 3 * 0.1 is a double above 0.3
EXPLORE = 0.1  # the share of a limit that is reserved for learning, unless the caller says otherwise
_floor_first = ContextVar("floor_first", default=True)


@contextmanager
def floor_served(*, first: bool) -> Generator[None]:
    """Decide again as a version did that served the floor's categories first, or not."""
    token = _floor_first.set(first)
    try:
        yield
    finally:
        _floor_first.reset(token)


@dataclass(frozen=True, slots=True)
class Limit:
    """What a round has, in money or in places, and the clients that ask, [M]."""

    size: float
    is_money: bool
    explore: float
    demand: IntArray
    floor_first: bool = True  # what the floor accepts is served first; false in decisions of versions up to 0.2.0

    def cost(self, price: FloatArray) -> FloatArray:
        """How much of the limit one client of each category uses, [M]; one who brings money with him uses nothing."""
        return np.maximum(price, 0.0) if self.is_money else np.ones(price.size)


def read_limit(
    categories: Categories,
    positions: IntArray | None,
    budget: object,
    places: object,
    demand: object,
    explore: object,
) -> Limit | None:
    """The limit of a round about some categories or all; None if the caller gave none of the four."""
    if budget is None and places is None:
        for field, value in (("demand", demand), ("explore", explore)):
            if value is not None:
                raise ParameterError(field, value, "is given without a limit", "give budget= or places=, too")
        return None
    if budget is not None and places is not None:
        raise ParameterError("places", places, "is given beside a budget", "give budget= or places=, not both")
    if budget is None:
        size = float(check.whole("places", places, least=0))
    else:
        size = check.not_negative("budget", budget, "give an amount of money, 0 or more")
    share = EXPLORE if explore is None else check.number(explore)
    if not check.fits(share, 0.0, 1.0):
        raise ParameterError("explore", explore, "is not a share", "give a number from 0 to 1")
    if not isinstance(demand, Mapping):
        problem = "is missing beside a limit" if demand is None else "is no mapping"
        raise ParameterError("demand", demand, problem, "give how many clients ask, as {name: number}")
    asked = _demand(categories, positions, cast(Mapping[str, object], demand))
    return Limit(size, budget is not None, float(share), asked, _floor_first.get())


def _demand(categories: Categories, positions: IntArray | None, demand: Mapping[str, object]) -> IntArray:
    """The clients that ask, in the order of the categories on offer, [M]; there must be a number for each of them."""
    places = np.array([categories.position(name) for name in demand], dtype=np.int64)
    asked = np.full(len(categories), -1, dtype=np.int64)
    asked[places] = _counts(demand)
    if positions is None:
        offered = asked
    else:
        offered = asked[positions]
        asked[positions] = -1
        if (asked >= 0).any():
            name = categories.names[int(np.flatnonzero(asked >= 0)[0])]
            remedy = "leave it out, or add the category to available"
            raise ParameterError("demand", demand[name], "is given, but the category is not available", remedy, name)
    if (offered < 0).any():
        missing = int(np.flatnonzero(offered < 0)[0])
        name = categories.names[missing if positions is None else int(positions[missing])]
        raise ParameterError("demand", None, "is missing", "say how many clients ask, 0 if nobody does", name)
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
