"""Orders of categories, and whether the bands of an order can share evidence.

>>> from profitable import KLUCB, Bernoulli
>>> bands = [Category(f"{low}-{low + 20}", Bernoulli(), threshold=0.9, order="score")
...          for low in (600, 620)]
>>> [order.positions for order in shared_orders(KLUCB(), bands)]
[(0, 1)]
>>> shared_orders(KLUCB(trust=0), bands)
[]
"""

from collections.abc import Sequence
from typing import NamedTuple

from profitable.errors import ParameterError
from profitable.kernels.evidence import DIVERGENCE, POSTERIOR
from profitable.kernels.law import NORMAL
from profitable.model.category import Category
from profitable.model.view import View
from profitable.policy.policies import Policy

# Their evidence follows from sums: `kernels/order.py` has it for bands.
SHARED_RULES = (DIVERGENCE.code, POSTERIOR.code)
ALONE = "give the policy trust=0, which judges each band alone"


class SharedOrder(NamedTuple):
    """The bands of an order, from the lowest mean to the highest."""

    name: str
    positions: tuple[int, ...]
    view: View  # how the policy sees each of them, apart from their priors


def orders_of(categories: Sequence[Category]) -> dict[str, list[int]]:
    """Return the positions of the bands of each order.

    ParameterError if bands cannot belong to one order, whatever the policy.
    """
    orders: dict[str, list[int]] = {}
    for position, category in enumerate(categories):
        if category.order is not None:
            orders.setdefault(category.order, []).append(position)
    for name, positions in orders.items():
        first = categories[positions[0]]
        if first.family.view().law.code == NORMAL:
            raise ParameterError(
                "order",
                name,
                f"has bands of {first.family} rewards, whose spread each band estimates for itself",
                "choose a family without unknown variance, such as Gaussian(sigma=...)",
                first.name,
            )
        for band in (categories[position] for position in positions):
            if band.family != first.family:
                raise ParameterError(
                    "order",
                    name,
                    f"has bands of different families, {first.family} and {band.family}",
                    "give all bands of an order one family",
                    band.name,
                )
            if band.weight != first.weight:
                raise ParameterError(
                    "order",
                    name,
                    f"has bands with different weights, {first.weight} and {band.weight}",
                    "give all bands of an order one weight",
                    band.name,
                )
    return orders


def check_no_order(categories: Sequence[Category]) -> None:
    """ParameterError if a category of a lending book is a band."""
    for category in categories:
        if category.order is not None:
            raise ParameterError(
                "order",
                category.order,
                "stands beside lending: its bands would share the bias of early defaults",
                "leave out order= or lending=",
                category.name,
            )


def shared_orders(policy: Policy, categories: Sequence[Category]) -> list[SharedOrder]:
    """Return the orders whose bands share evidence under a policy.

    ParameterError if its evidence cannot be shared.
    """
    orders = orders_of(categories)
    if policy.trust == 0.0 or not orders:
        return []
    name, positions = next(iter(orders.items()))
    if policy.rule.code not in SHARED_RULES:
        raise ParameterError(
            "order",
            name,
            f"is of no use to {policy}: bands cannot share its evidence",
            f"choose kl-ucb, bayes-ucb, ts or optimal, or {ALONE}",
            categories[positions[0]].name,
        )
    if policy.forgets:
        raise ParameterError(
            "order",
            name,
            f"stands beside {policy}: bands that share evidence cannot forget it",
            f"leave out forget= and window=, or {ALONE}",
            categories[positions[0]].name,
        )
    return [_shared(policy, name, [(k, categories[k]) for k in orders[name]]) for name in orders]


def _shared(policy: Policy, name: str, bands: list[tuple[int, Category]]) -> SharedOrder:
    views = [policy.view(category) for _, category in bands]
    for view, (_, category) in zip(views, bands, strict=True):
        if (view.law, view.statistic) != (views[0].law, views[0].statistic):
            raise ParameterError(
                "bound",
                category.bound,
                f"differs within the order {name!r}, and {policy} cuts rewards at it",
                "give all bands of an order one bound",
                category.name,
            )
    return SharedOrder(name, tuple(k for k, _ in bands), views[0])
