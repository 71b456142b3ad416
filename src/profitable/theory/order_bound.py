"""The lower bound for bands of an order: what a policy must explore that knows it.

An alternative in which band j is profitable must make all bands above it at least as
good.  So their clients count as evidence against it, too: with n_i clients per log T,

    sum over i >= j with mu_i < tau_j of n_i d(mu_i, tau_j) >= 1    for each such j,

and the bound is the least regret, a linear programme (Graves and Lai 1997).  A band
below a profitable one whose mean is under its own threshold needs no clients: the mean
above it becomes known for nothing.

Where thresholds do not rise, one band is explored, the one below the cut-off: whatever
satisfies its row satisfies all others.

>>> from profitable import Bernoulli, Category
>>> bands = [Category(name, Bernoulli(), threshold=0.5, order="score")
...          for name in ("low", "middle", "high")]
>>> bound = ordered_lower_bound(bands, [0.2, 0.4, 0.6])
>>> [round(n, 2) for n in bound.clients_per_log_t]  # 1/d(0.4, 0.5)
[0.0, 49.66, 0.0]
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from profitable.common.extras import extra
from profitable.common.types import FloatArray
from profitable.errors import InputError
from profitable.model.category import Category
from profitable.policy.shared_orders import orders_of
from profitable.theory.regret_bounds import LowerBound, loss, lower_bound


def ordered_lower_bound(
    categories: Sequence[Category],
    means: Sequence[float],
    *,
    sigmas: Sequence[float | None] | None = None,
) -> LowerBound:
    """Return the lower bound for policies that know the orders of the categories.

    Categories without an order have the bound of Theorem 1.

    Parameters
    ----------
    categories : list of Category
        The categories; bands of one order from the lowest mean to the highest.
    means : list of float
        Their true means, which do not fall within an order.
    sigmas : list, optional
        Standard deviations of `Normal` rewards, None for other families.

    Returns
    -------
    LowerBound
        Clients and regret per log T.

    Raises
    ------
    InputError
        If means fall within an order.

    Examples
    --------
    >>> from profitable import Bernoulli
    >>> bands = [Category(name, Bernoulli(), threshold=0.5, order="score")
    ...          for name in ("low", "middle", "high")]
    >>> round(ordered_lower_bound(bands, [0.2, 0.4, 0.6]).total, 3)
    4.966
    >>> round(lower_bound(bands, [0.2, 0.4, 0.6]).total, 3)
    6.523

    """
    alone = lower_bound(categories, means, sigmas=sigmas)
    clients, regrets = list(alone.clients_per_log_t), list(alone.regret_per_log_t)
    for places in orders_of(categories).values():
        bands = [categories[k] for k in places]
        its = [means[k] for k in places]
        for k, number in zip(places, _clients_of_bands(bands, its), strict=True):
            clients[k] = number
            regrets[k] = number * loss(categories[k], means[k])
    return LowerBound(tuple(clients), tuple(regrets))


def _clients_of_bands(bands: Sequence[Category], means: Sequence[float]) -> list[float]:
    """Return the clients of each band per log T; 0 where it need not be explored."""
    for lower, higher, band in zip(means, means[1:], bands[1:], strict=False):
        if higher < lower:
            raise InputError(
                "mean",
                higher,
                f"of band {band.name!r} is below that of the band under it, {lower:g}",
                "the bound for an order is about means that do not fall",
            )
    thresholds = [band.threshold for band in bands]
    bad = [k for k in range(len(bands)) if means[k] < thresholds[k]]
    rows = [
        k
        for k in bad
        if not any(thresholds[i] <= means[i] < thresholds[k] for i in range(k + 1, len(bands)))
    ]
    clients = [0.0] * len(bands)
    if not rows:
        return clients
    divergence = bands[0].family.divergence
    highest = rows[-1]
    if thresholds[highest] <= min(thresholds[k] for k in rows):
        clients[highest] = 1.0 / divergence(means[highest], thresholds[highest])
        return clients
    needs = np.array(
        [
            [
                divergence(means[i], thresholds[k]) if i >= k and means[i] < thresholds[k] else 0.0
                for i in bad
            ]
            for k in rows
        ]
    )
    losses = np.array([loss(bands[k], means[k]) for k in bad])
    for k, number in zip(bad, _least(losses, needs), strict=True):
        clients[k] = float(number)
    return clients


def _least(losses: FloatArray, needs: FloatArray) -> FloatArray:
    """Return the n >= 0 of least loss with needs @ n >= 1."""
    with extra("bands", "the bound for an order whose thresholds rise is a linear programme"):
        from scipy.optimize import linprog  # pyright: ignore[reportUnknownVariableType]
    found: Any = linprog(losses, A_ub=-needs, b_ub=-np.ones(len(needs)), method="highs")
    return np.asarray(found.x, dtype=np.float64)
