"""Losses of a policy that stops for good, even if they happen in few runs.

Take `optimal:horizon=100` in 10 000 rounds, a Bernoulli category of mean 0.7, threshold
0.5, three clients a round. About one run in 170 loses it.  Most samples of 100 runs
show no such loss: their mean is far too low, and so is their standard error.
*Importance sampling* finds the mean in a different way: play *tilted runs*, in which
the loss is typical, and weight each by its likelihood ratio.

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

Tilted runs have random streams of their own.  So the numbers of all other runs are the
same with and without them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.law import BINOMIAL as BINOMIAL
from profitable.kernels.law import NORMAL, SMALLEST_POSITIVE, Law, deviance
from profitable.kernels.run_record import RUN
from profitable.kernels.skip_ahead import run_events
from profitable.policy.policies import BoundedPolicy, Policy
from profitable.simulation.kernel_input import make_input
from profitable.simulation.scenario import Scenario, Truth
from profitable.simulation.worker import no_flags, regret_of, stream
from profitable.theory.unlucky_start import LostForGood

FEWEST_TILTED, MOST_TILTED = 20, 200  # runs at each tilted mean of a category
TILTED_CLIENTS = 200_000  # in all these runs, unless they are the fewest
FARTHEST = 700.0  # e^-700 is the smallest distance from the edge, as a share
HALVINGS = 80


def lost_for_good(
    scenario: Scenario, policy: Policy | Any, *, horizon: int, checkpoints: IntArray, seed: int
) -> LostForGood | None:
    """Return what a policy that stops for good loses; None if nothing.

    The loss is that of profitable categories.  An object that decides by itself is not
    asked.

    Nothing is known where means change; where the policy sees cut rewards, whose sum
    does not tell how likely they were; or where the variance is unknown: a sample of
    few clients may then reject a category because its variance is small by chance, and
    tilting the mean does not make that typical.
    """
    if not isinstance(policy, Policy):
        return None
    policy = policy.within(horizon)
    profitable = [truth for truth in scenario.truths if _can_be_lost(truth, horizon)]
    if not policy.stops_for_good or not profitable:
        return None
    varies = any(truth.category.family.view().law.code == NORMAL for truth in profitable)
    if not scenario.fits_theorems or varies or isinstance(policy, BoundedPolicy):
        return LostForGood()
    mean, variance, spread = (np.zeros(checkpoints.size) for _ in range(3))
    for truth in profitable:
        played = _play_tilted(policy, truth, horizon, checkpoints, seed)
        own = sum(part.share * part.weighted.mean(axis=0) for part in played)
        second = sum(part.share * (part.weighted * part.costs).mean(axis=0) for part in played)
        mean += own
        variance += sum(
            part.share**2 * part.weighted.var(axis=0, ddof=1) / len(part.costs) for part in played
        )
        spread += np.maximum(second - own**2, 0.0)
    columns = np.stack([mean, np.sqrt(variance), np.sqrt(spread)])
    return LostForGood(*map(tuple, columns.tolist()))


def _can_be_lost(truth: Truth, horizon: int) -> bool:
    """Return whether it is profitable at some time, and whether rewards can tell so."""
    return truth.category.threshold > truth.category.family.mean_domain[0] and any(
        phase.truth.profitable for phase in truth.phases(horizon)
    )


class TiltedPart(NamedTuple):
    """The runs at one tilted mean: share of all runs, regret, and weighted regret.

    The last two are [runs, n].
    """

    share: float
    costs: FloatArray
    weighted: FloatArray


def _play_tilted(
    policy: Policy, truth: Truth, horizon: int, checkpoints: IntArray, seed: int
) -> list[TiltedPart]:
    given = make_input(policy, truth, horizon=horizon, every_reward=False)
    law, (mean,), threshold = given.problem.truth.law, given.means.tolist(), given.problem.threshold
    average, prior = truth.clients.average, given.problem.sight.prior_clients
    nats, most = policy.patience(1, known=1.0 + prior, per_round=average), horizon * average
    sizes = {
        tilted: _runs_for(
            min(nats / max(deviance(law, 1.0, tilted, threshold), SMALLEST_POSITIVE), most)
        )
        for tilted in tilted_means(law, mean, threshold, nats=nats, most=most)
    }
    if prior > 0.0:
        # A prior may lose a category whose rewards are above the threshold.
        sizes[mean] = _runs_for(most)
    shares = {tilted: number / sum(sizes.values()) for tilted, number in sizes.items()}
    played: list[TiltedPart] = []
    for place, (tilted, number) in enumerate(sizes.items()):
        problem = given.problem._replace(truth=given.problem.truth._replace(mean=tilted))
        tables = replace(given, means=np.array([tilted])).tables(checkpoints, number)
        runs, names = np.zeros(number, dtype=RUN), (policy.stream_name, truth.category.name, place)
        world, own = (stream(seed, f"tilted {kind}", *names) for kind in ("world", "own"))
        run_events(world, own, no_flags(), problem, tables, runs)
        costs = regret_of(truth.phases(horizon)[0], tables)
        weights = np.exp(log_weights(law, runs["clients"], runs["total"], mean, shares))
        played.append(TiltedPart(shares[tilted], costs, weights[:, None] * costs))
    return played


def _runs_for(clients: float) -> int:
    """Return how many runs to play, if one of them takes so many clients."""
    return int(min(max(TILTED_CLIENTS / clients, FEWEST_TILTED), MOST_TILTED))


# ----------------------------------------------------------------- means and weights


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
