"""Losses of a policy that stops for good, even if they happen in few runs.

Take `optimal:horizon=100` in 10 000 rounds, a Bernoulli category of mean 0.7, threshold
0.5, three clients a round. About one run in 170 loses it.  Most samples of 100 runs
show no such loss: their mean is far too low, and so is their standard error.
*Importance sampling* finds the mean in a different way: play runs in which the loss is
typical, and weight each by its likelihood ratio.

- In an exponential family the law with another mean is of the same family.  N clients
  with the sum S have the likelihood ratio exp(N d(S/N, nu) - N d(S/N, mu)) between the
  true mean mu and another mean nu.
- A category that is lost after N clients looks like a mean nu below tau with N d(nu,
  tau) = patience.  So for N = 1, 2, 4, ... there is one *tilted mean*, down to the
  *mirror* of mu: d(tau, nu) = d(tau, mu).
- A run counts with the weight of the mixture: the likelihood at mu over the average
  likelihood at all tilted means. If the mirror has the share a of the runs, no run that
  ends below the threshold has a weight above 1/a.  So the standard error of the result
  can be trusted.

>>> bernoulli = Law(BINOMIAL, 0.0, 1.0)
>>> means = tilted_means(bernoulli, 0.7, 0.5, nats=4.0, most=1e4)
>>> [round(mean, 3) for mean in means]  # N = 8, 16, 32; the mirror
[0.048, 0.162, 0.255, 0.3]
>>> clients, totals = np.array([9.0]), np.array([0.0])  # the weight is (0.3/0.7)^9
>>> np.exp(log_weights(bernoulli, clients, totals, 0.7, {0.3: 1.0})).round(6)
array([0.000488])
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.law import BINOMIAL as BINOMIAL
from profitable.kernels.law import Law, deviance

FARTHEST = 700.0  # e^-700 is the smallest distance from the edge, as a share
HALVINGS = 80


@dataclass(frozen=True)
class LostForGood:
    """Regret of profitable categories under a policy that stops for good, [n] each.

    - `mean`, `error`: its mean, and the standard error of that.
    - `deviation`: the standard deviation over runs.

    They are empty if a category may be lost for good and nothing is known about it.
    """

    mean: tuple[float, ...] = ()
    error: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether there are numbers."""
        return bool(self.mean)


def tilted_means(
    law: Law, mean: float, threshold: float, *, nats: float, most: float
) -> list[float]:
    """Return means for which a loss is typical: after 1, 2, 4, ... clients.

    There are at most `most` clients; the mirror of the mean is added.

    `nats` is the patience at the start, all means are those of the statistic, and the
    threshold is inside their domain.
    """
    mirror = _below(
        law,
        threshold,
        lambda nu: deviance(law, 1.0, threshold, nu),
        deviance(law, 1.0, threshold, mean),
    )
    # It is closer to the edge than doubles are; weights are then right, and not
    # bounded.
    if mirror is None:
        mirror = _at(law, threshold, FARTHEST)
    found: list[float] = []
    clients = 1.0
    while clients <= most:
        tilted = _below(
            law, threshold, lambda nu: deviance(law, 1.0, nu, threshold), nats / clients
        )
        if tilted is not None and tilted >= mirror:
            break
        found += [] if tilted is None else [tilted]
        clients *= 2.0
    return [*found, mirror]


def _below(
    law: Law, threshold: float, distance: Callable[[float], float], nats: float
) -> float | None:
    """Return the mean below the threshold at that distance; None beyond the edge."""
    low, high = 0.0, FARTHEST
    if not distance(_at(law, threshold, high)) > nats:
        return None
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (
            (low, middle) if distance(_at(law, threshold, middle)) > nats else (middle, high)
        )
    return _at(law, threshold, low)


def _at(law: Law, threshold: float, x: float) -> float:
    """Return a mean below the threshold that falls towards the edge as x grows."""
    return (
        threshold - law.size * x
        if law.low == -math.inf
        else law.low + (threshold - law.low) * math.exp(-x)
    )


def log_weights(
    law: Law, clients: FloatArray, totals: FloatArray, mean: float, tilted: Mapping[float, float]
) -> FloatArray:
    """Return the log likelihood ratio of each run.

    It is the likelihood at the mean over the average likelihood at the tilted means.

    `tilted` has the tilted means and their shares of all runs.
    """

    def nats(nu: float) -> FloatArray:
        pairs = zip(clients.tolist(), totals.tolist(), strict=True)
        return np.array(
            [deviance(law, number, total, nu) if number > 0.0 else 0.0 for number, total in pairs]
        )

    own = nats(mean)
    return -np.logaddexp.reduce(
        [math.log(share) + own - nats(nu) for nu, share in tilted.items()], axis=0
    )
