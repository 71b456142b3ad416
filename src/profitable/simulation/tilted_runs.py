"""Tilted runs: play what is rare, and weight it (`theory/lost_for_good.py`).

They have random streams of their own.  So the numbers of all other runs are the same
with and without them.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.law import NORMAL, SMALLEST_POSITIVE, deviance
from profitable.kernels.run_record import RUN
from profitable.kernels.skip_ahead import run_events
from profitable.policy.policies import BoundedPolicy, Policy
from profitable.simulation.kernel_input import make_input
from profitable.simulation.scenario import Scenario, Truth
from profitable.simulation.worker import regret_of, stream
from profitable.theory.lost_for_good import LostForGood, log_weights, tilted_means

FEWEST_TILTED, MOST_TILTED = 20, 200  # runs at each tilted mean of a category
TILTED_CLIENTS = 200_000  # in all these runs, unless they are the fewest


def lost_for_good(
    scenario: Scenario, policy: Policy, *, horizon: int, checkpoints: IntArray, seed: int
) -> LostForGood | None:
    """Return what a policy that stops for good loses; None if nothing.

    The loss is that of profitable categories.

    Nothing is known where means change; where the policy sees cut rewards, whose sum
    does not tell how likely they were; or where the variance is unknown: a sample of
    few clients may then reject a category because its variance is small by chance, and
    tilting the mean does not make that typical.
    """
    policy = policy.within(horizon)
    profitable = [truth for truth in scenario.truths if _can_be_lost(truth, horizon)]
    if not policy.stops_for_good or not profitable:
        return None
    varies = any(truth.category.family.view().law.code == NORMAL for truth in profitable)
    if scenario.moves or varies or isinstance(policy, BoundedPolicy):
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
    columns = (mean, np.sqrt(variance), np.sqrt(spread))
    return LostForGood(*(tuple(column.tolist()) for column in columns))


def _can_be_lost(truth: Truth, horizon: int) -> bool:
    """Return whether it is profitable at some time, and whether rewards can tell so."""
    least = truth.category.family.mean_domain[0]
    return truth.category.threshold > least and any(
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
        run_events(world, own, np.zeros(2, dtype=np.int64), problem, tables, runs)
        costs = regret_of(truth.phases(horizon)[0], tables)
        weights = np.exp(log_weights(law, runs["clients"], runs["total"], mean, shares))
        played.append(TiltedPart(shares[tilted], costs, weights[:, None] * costs))
    return played


def _runs_for(clients: float) -> int:
    """Return how many runs to play, if one of them takes so many clients."""
    return int(min(max(TILTED_CLIENTS / clients, FEWEST_TILTED), MOST_TILTED))
