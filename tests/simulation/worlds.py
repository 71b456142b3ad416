"""Scenarios that the simulator's tests share, and a plain way to run a kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import profitable as pb
from profitable.kernels.rounds import run_rounds
from profitable.kernels.run_record import RUN, Signal
from profitable.kernels.skip_ahead import run_events
from profitable.model.category import said_before
from profitable.simulation.clients_per_round import Clients
from profitable.simulation.kernel_input import make_input
from profitable.simulation.settings import Settings, prepare

BERNOULLI = (pb.Bernoulli(), (0.1, 0.3, 0.5, 0.5, 0.7), (0.2, 0.2, 0.4, 0.6, 0.8))
POISSON = (pb.Poisson(), (1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 1.0, 4.0, 3.0, 6.0))
SHARP = (pb.Poisson(), (1.0, 2.0, 3.0, 4.0, 5.0), (1.1, 1.9, 3.1, 3.9, 5.1))
EXPONENTIAL = (pb.Exponential(), (1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 1.0, 4.0, 3.0, 6.0))
GAUSSIAN = (pb.Gaussian(sigma=1.0), (-0.5, 0.4, 1.0, 0.0, 0.3), (0.0, 0.0, 0.6, 0.4, 0.5))


def paper(
    name: str, law: tuple[pb.Family, Sequence[float], Sequence[float]], bound: float | None = None
) -> pb.Scenario:
    """K = 5, C_a - 1 ~ Poisson(3, 4, 5, 6, 7)."""
    family, means, thresholds = law
    return pb.Scenario(
        name,
        [
            pb.Truth(
                pb.Category(f"arm {i + 1}", family, threshold=threshold, bound=bound),
                mean=mean,
                clients=pb.OnePlusPoisson(rate=3 + i),
            )
            for i, (mean, threshold) in enumerate(zip(means, thresholds, strict=True))
        ],
    )


def single(
    family: pb.Family,
    mean: Any,
    threshold: float,
    clients: Any = 3,
    bound: float | None = None,
    sigma: float | None = None,
    **options: Any,
) -> pb.Truth:
    name = options.pop("name", "it")
    with said_before():
        category = pb.Category(name, family, threshold=threshold, bound=bound, **options)
    return pb.Truth(category, mean=mean, clients=Clients.of(clients), sigma=sigma)


def settings_of(
    scenario: pb.Scenario,
    policies: Sequence[Any],
    horizon: int,
    runs: int,
    seed: int = 1,
    **options: Any,
) -> Settings:
    given = {"checkpoints": None, "kernel": "events", "common_random_numbers": False} | options
    return prepare(scenario, policies, horizon=horizon, runs=runs, seed=seed, **given)


@dataclass
class Played:
    """Output of a kernel: accepted rounds at the checkpoints [runs, n], and the records
    of the runs [runs].
    """

    checkpoints: np.ndarray
    accepted: np.ndarray
    runs: np.ndarray

    @property
    def clients(self) -> np.ndarray:
        return self.runs["arrived"]


def play(
    kernel: str,
    policy: pb.Policy,
    truth: pb.Truth,
    *,
    horizon: int,
    runs: int,
    seed: int,
    blocks: bool = True,
    checkpoints: Sequence[int] = (),
    every_reward: bool = False,
) -> Played:
    """One category by itself, straight from the kernel; in rounds, continuous rewards
    are drawn singly.
    """
    points = np.array(sorted({*checkpoints, horizon}), dtype=np.int64)
    family = truth.category.family
    singly = (
        (kernel == "rounds" or not blocks)
        and not family.support.whole
        and family.view().statistic.is_reward
    )
    given = make_input(policy, truth, horizon=horizon, every_reward=every_reward or singly)
    problem = given.problem._replace(blocks=given.problem.blocks and blocks)
    world, own = (np.random.Generator(np.random.PCG64([seed, part])) for part in (0, 1))
    tables, records = given.tables(points, runs), np.zeros(runs, dtype=RUN)
    flags = np.zeros(2, dtype=np.int64)
    run = run_events if kernel == "events" else run_rounds
    done = run(world, own, flags, problem, tables, records)
    assert done == runs == flags[Signal.DONE]
    return Played(points, tables.accepted[:, np.searchsorted(tables.times, points)], records)
