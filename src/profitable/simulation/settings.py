"""Settings: everything that determines the numbers of a simulation.

`prepare` checks the arguments of `simulate` and makes what the kernels read.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common import check
from profitable.common.types import IntArray
from profitable.errors import ParameterError
from profitable.kernels.patience import TIME
from profitable.policy.policies import BY_CLIENTS, CROWD, Plus, Policy
from profitable.simulation.custom_policy import check_custom
from profitable.simulation.kernel_input import KernelInput, make_input, make_open_input, work_per_client
from profitable.simulation.scenario import Scenario, Truth

BLOCK = 100  # runs; never change it, or every seed gives other numbers
KERNELS = ("events", "rounds")
MOST_HORIZON = 10**15
MOST_RUNS = 10**9
MOST_CHECKPOINTS = 1000
POINTS_PER_DECADE = 10
MANY = 1e8  # steps in a run; more are worth a warning


@dataclass(frozen=True)
class Settings:
    """Everything that determines the numbers."""

    scenario: Scenario
    policies: tuple[Any, ...]
    names: tuple[str, ...]
    kernels: tuple[str, ...]
    inputs: tuple[tuple[KernelInput, ...], ...]  # [policies][categories]
    horizon: int
    runs: int
    seed: int
    checkpoints: IntArray
    common: bool

    @property
    def blocks(self) -> int:
        """The number of blocks; the last one may be smaller."""
        return -(-self.runs // BLOCK)

    def runs_in(self, block: int) -> int:
        """The number of runs in a block."""
        return min(BLOCK, self.runs - block * BLOCK)


def prepare(
    scenario: Scenario,
    policies: Sequence[Any],
    *,
    horizon: int,
    runs: int,
    seed: int,
    checkpoints: Sequence[int] | None = None,
    kernel: str = "events",
    common_random_numbers: bool = False,
) -> Settings:
    """Check every argument of `simulate`, and make what the kernels read."""
    if not isinstance(scenario, Scenario):
        raise ParameterError("scenario", scenario, "is not a scenario", "give Scenario(...) or Scenario.load(path)")
    horizon = check.whole("horizon", horizon, most=MOST_HORIZON)
    runs, seed = check.whole("runs", runs, most=MOST_RUNS), check.whole("seed", seed, least=0, most=2**63 - 1)
    if kernel not in KERNELS:
        raise ParameterError("kernel", kernel, "is unknown", f"choose from {', '.join(KERNELS)}")
    if isinstance(policies, str) or not isinstance(policies, Sequence) or not policies:
        raise ParameterError("policies", policies, "is not a list of policies", "give for example ['kl-ucb', 'ts']")
    points = _checkpoints(checkpoints, horizon)
    chosen: list[Any] = []
    names: list[str] = []
    kernels: list[str] = []
    inputs: list[tuple[KernelInput, ...]] = []
    for given in policies:
        policy = Policy.parse(given) if isinstance(given, str) else given
        own = not isinstance(policy, Policy)
        name = check_custom(policy) if own else _name(given)
        if name in names or any(stream_name(policy) == stream_name(other) for other in chosen):
            raise ParameterError("policy", name, "is given twice", "give each policy once")
        by_rounds = own or policy.forgets or common_random_numbers or kernel == "rounds"
        chosen.append(policy)
        names.append(name)
        kernels.append("rounds" if by_rounds else "events")
        if own:
            inputs.append(tuple(make_open_input(truth, horizon=horizon) for truth in scenario.truths))
            continue
        singly = [_every_reward(truth, by_rounds, common_random_numbers) for truth in scenario.truths]
        inputs.append(
            tuple(
                make_input(policy, truth, horizon=horizon, every_reward=every_reward)
                for truth, every_reward in zip(scenario.truths, singly, strict=True)
            )
        )
    numbers = (horizon, runs, seed, points, common_random_numbers)
    return Settings(scenario, tuple(chosen), tuple(names), tuple(kernels), tuple(inputs), *numbers)


def _every_reward(truth: Truth, by_rounds: bool, common: bool) -> bool:
    """Whether rewards are drawn one by one: with common random numbers, and round by round if they are continuous.

    That is the definition, and the profit is then known for any statistic.
    """
    return common or (by_rounds and not truth.category.family.support.whole)


def _checkpoints(given: Sequence[int] | None, horizon: int) -> IntArray:
    if given is None:
        decades = math.log10(horizon)
        spaced = np.round(np.logspace(0.0, decades, round(decades * POINTS_PER_DECADE) + 1)).astype(np.int64)
        return np.unique(np.append(spaced[spaced < horizon], horizon))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError("checkpoints", given, "is not a list of rounds", "give for example [10, 100, 1000]")
    points = [check.whole("checkpoints", each, most=MOST_HORIZON) for each in given]
    if len(points) > MOST_CHECKPOINTS:
        raise ParameterError(
            "checkpoints", f"{len(points)} of them", "are too many", f"give at most {MOST_CHECKPOINTS}"
        )
    if not points:
        raise ParameterError("checkpoints", given, "is empty", "give at least one round, or leave it out")
    for point in points:
        if point > horizon:
            remedy = f"give rounds from 1 to {horizon}"
            raise ParameterError("checkpoints", point, f"is beyond the horizon {horizon}", remedy)
    return np.unique(np.array(points, dtype=np.int64))


def slow_parts(settings: Settings) -> list[str]:
    """Warnings about parts that take long because their time grows in proportion to the horizon."""
    slow: list[str] = []
    for name, kernel, inputs in zip(settings.names, settings.kernels, settings.inputs, strict=True):
        for truth, each in zip(settings.scenario.truths, inputs, strict=True):
            expected = settings.horizon * truth.clients.average
            what = None
            if expected * work_per_client(each.problem) > MANY:
                what, expected = "draws rewards one by one", expected * work_per_client(each.problem)
            elif kernel == "rounds":
                what, expected = "goes through every round", float(settings.horizon)
            elif settings.horizon * each.problem.patience.floor > MANY:
                what, expected = "goes through rounds that its floor accepts one by one", float(settings.horizon)
            elif not each.problem.blocks:
                what, expected = "goes through accepted rounds one by one", float(settings.horizon)
            if what and expected > MANY:
                slow.append(f"{name} {what} in {truth.category.name!r}, up to {expected:.0e} per run: this takes long")
    return slow


def crowded_parts(settings: Settings) -> list[str]:
    """Warnings about policies that count so many clients a round that they reject any mean below the threshold."""
    crowded: list[str] = []
    for policy, name in zip(settings.policies, settings.names, strict=True):
        if not isinstance(policy, Plus) or policy.count != BY_CLIENTS or policy.terms.kind != TIME:
            continue
        tolerated = policy.inflate * max(1.0, math.log(settings.horizon)) ** policy.c
        for truth in settings.scenario.truths:
            average = truth.clients.average
            if average > CROWD * tolerated:
                crowded.append(
                    f"{name} is greedy in {truth.category.name!r}: it adds log of the clients, {average:.4g} a round, "
                    f"to be compared with log of the rounds; {policy.name}:count=rounds counts both in rounds"
                )
    return crowded


def _name(given: str | Policy) -> str:
    """The name of a policy in the results: as it was given, with its prior if it has one."""
    prior = getattr(given, "prior", None)
    return str(given) if prior is None else f"{given}, {prior}"


def stream_name(policy: Any) -> str:
    """The name of a policy's random streams."""
    return policy.stream_name if isinstance(policy, Policy) else f"custom {policy.name}"
