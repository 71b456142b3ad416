"""Tilted runs: play what is rare, and weight it (`theory/lost_for_good.py`).

They have random streams of their own.  So the numbers of all other runs are the same with and without them.
"""

from dataclasses import replace

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.law import NORMAL
from profitable.kernels.run_record import RUN
from profitable.kernels.skip_ahead import run_events
from profitable.policy.policy import Policy
from profitable.simulation.block import regret_of, stream
from profitable.simulation.kernel_input import make_input
from profitable.simulation.scenario import Scenario, Truth
from profitable.theory.lost_for_good import LostForGood, log_weights, tilted_means

TILTED_RUNS = 200  # at each tilted mean of a category


def lost_for_good(
    scenario: Scenario, policy: Policy, *, horizon: int, checkpoints: IntArray, seed: int
) -> LostForGood | None:
    """What a policy that stops for good loses with profitable categories; None if there is nothing to lose.

    Nothing is known where means change, or where the variance is unknown: a sample of few clients may then reject a
    category because its variance is small by chance, and tilting the mean does not make that typical.
    """
    policy = policy.within(horizon)
    profitable = [truth for truth in scenario.truths if _can_be_lost(truth, horizon)]
    if not policy.stops_for_good or not profitable:
        return None
    if scenario.moves or any(truth.category.family.view().law.code == NORMAL for truth in profitable):
        return LostForGood()
    mean, error, variance = (np.zeros(checkpoints.size) for _ in range(3))
    for truth in profitable:
        costs, weights = _play_tilted(policy, truth, horizon, checkpoints, seed)
        weighted = weights[..., None] * costs  # [tilts, runs, n]
        own = weighted.mean(axis=(0, 1))
        mean += own
        error = np.hypot(error, np.sqrt((weighted.var(axis=1, ddof=1) / TILTED_RUNS).sum(axis=0)) / len(weighted))
        variance += np.maximum((weighted * costs).mean(axis=(0, 1)) - own**2, 0.0)
    columns = (mean, error, np.sqrt(variance))
    return LostForGood(*(tuple(column.tolist()) for column in columns))


def _can_be_lost(truth: Truth, horizon: int) -> bool:
    """Whether it is profitable at some time, and whether rewards can tell so."""
    least = truth.category.family.mean_domain[0]
    return truth.category.threshold > least and any(phase.truth.profitable for phase in truth.phases(horizon))


def _play_tilted(
    policy: Policy, truth: Truth, horizon: int, checkpoints: IntArray, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The regret of runs at all tilted means, [tilts, runs, n], and the weights of these runs, [tilts, runs]."""
    given = make_input(policy, truth, horizon=horizon, every_reward=False)
    law, (mean,), threshold = given.problem.truth.law, given.means.tolist(), given.problem.threshold
    average, prior = truth.clients.average, given.problem.sight.prior_clients
    nats = policy.patience(1, known=1.0 + prior, per_round=average)
    means = tilted_means(law, mean, threshold, nats=nats, most=horizon * average)
    if prior > 0.0:
        means.append(mean)  # a prior may lose a category whose rewards are above the threshold
    costs, weights = np.zeros((len(means), TILTED_RUNS, checkpoints.size)), np.zeros((len(means), TILTED_RUNS))
    for place, tilted in enumerate(means):
        problem = given.problem._replace(truth=given.problem.truth._replace(mean=tilted))
        accepted = np.zeros((TILTED_RUNS, checkpoints.size), dtype=np.int64)
        tables = replace(given, means=np.array([tilted])).tables(checkpoints, accepted, accepted.copy())
        runs, names = np.zeros(TILTED_RUNS, dtype=RUN), (policy.stream_name, truth.category.name, place)
        world, own = (stream(seed, f"tilted {kind}", *names) for kind in ("world", "own"))
        run_events(world, own, np.zeros(2, dtype=np.int64), problem, tables, runs)
        costs[place] = regret_of(truth.phases(horizon)[0], tables)
        weights[place] = np.exp(log_weights(law, runs["clients"], runs["total"], mean, means))
    return costs, weights
