"""Reproductions with made-up regrets, to see what the claims make of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from profitable.paper.experiment import load
from profitable.paper.reproduction import Reproduction, Trial
from profitable.simulation.runner import new_result
from profitable.simulation.settings import prepare

Path = Callable[[np.ndarray], np.ndarray]


def logarithmic(slope: float) -> Path:
    return lambda t: 5.0 + slope * np.log(t)


def linear(slope: float) -> Path:
    return lambda t: slope * t


def trial(
    name: str,
    paths: dict[str, Path],
    *,
    spread: float = 0.01,
    by_authors: bool = False,
    horizon: int | None = None,
    runs: int = 200,
) -> Trial:
    """An experiment whose policies have these mean regrets over time, with a relative
    spread over the runs.
    """
    experiment = load(name).as_authors_ran() if by_authors else load(name)
    experiment = replace(experiment, horizon=horizon or experiment.horizon)
    settings = prepare(
        experiment.scenario, experiment.policies, horizon=experiment.horizon, runs=runs, seed=1
    )
    result = new_result(settings)
    noise = np.exp(spread * np.random.default_rng(1).standard_normal((runs, 1)))
    for curve in result.curves:
        rows = np.zeros((runs, curve.layout.size))
        path = paths.get(curve.policy) or paths[curve.policy.partition(":")[0]]
        values = path(curve.t.astype(float)) * noise
        for part in ("regret", "unprofitable"):
            rows[:, curve.layout.place(part)] = values
            rows[:, curve.layout.place(f"{part}_rise")] = values[:, -1:] - values
        curve.add(rows, 0.0)
    return Trial(experiment, result)


def scored(name: str, scores: dict[str, tuple[float, float, float]], *, runs: int = 2_000) -> Trial:
    """An experiment whose policies have these final means, 99 % quantiles and shares of
    lost runs.

    Two runs in a hundred have the quantile as their regret, the others share what is
    left of the mean.  Nothing is exact: the runs spread by 2 %.
    """
    return _scored(name, tuple(scores.items()), runs)


@cache
def _scored(
    name: str, scores: tuple[tuple[str, tuple[float, float, float]], ...], runs: int
) -> Trial:
    experiment, wanted = load(name), dict(scores)
    result = new_result(
        prepare(
            experiment.scenario, experiment.policies, horizon=experiment.horizon, runs=runs, seed=1
        )
    )
    spread = np.exp(0.02 * np.random.default_rng(2).standard_normal(runs))
    few, order = round(0.02 * runs), np.arange(runs)
    for curve in result.curves:
        mean, tail, lost = wanted.get(curve.policy, (1_000.0, 1_000.0, 0.0))
        values = np.where(order < few, tail, (mean - 0.02 * tail) / 0.98) * spread
        rows = np.zeros((runs, curve.layout.size))
        rows[:, curve.layout.place("regret")] = values[:, None]
        rows[:, curve.layout.place("lost")] = (order < round(lost * runs))[:, None]
        curve.add(rows, 0.0)
    return Trial(experiment, result)


def reproduction(*trials: Trial) -> Reproduction:
    return Reproduction(1, {each.experiment.name: each for each in trials})
