"""Settings: everything that determines the numbers of a simulation.

`prepare` checks the arguments of `simulate` and makes what the kernels read.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profitable.agent.loan_book import check_policy
from profitable.common import check
from profitable.common.types import IntArray
from profitable.errors import ParameterError
from profitable.kernels.patience import TIME
from profitable.kernels.rewards import draws_per_client
from profitable.model.category import said_before
from profitable.policy.policies import BY_CLIENTS, CROWD, TRUST, Bayesian, Plus, Policy
from profitable.policy.shared_orders import shared_orders
from profitable.simulation.curve import RowLayout
from profitable.simulation.custom_policy import check_custom
from profitable.simulation.kernel_input import KernelInput, make_input, make_open_input
from profitable.simulation.order_runs import OrderInput, make_order_input
from profitable.simulation.scenario import Scenario

BLOCK = 100  # runs; never change it, or every seed gives other numbers
KERNELS = ("events", "rounds")
MOST_HORIZON = 10**15
MOST_LENDING_ROUNDS = 10_000
MOST_RUNS = 10**9
MOST_CHECKPOINTS = 1000
POINTS_PER_DECADE = 10
MANY = 1e8  # steps in a run; more are worth a warning


@dataclass(frozen=True)
class PreparedPolicy:
    """A policy, its name in results, its run kernel, and its input by category."""

    policy: Any
    name: str
    kernel: str
    inputs: tuple[KernelInput, ...]
    orders: tuple[OrderInput, ...] = ()  # whose bands are played together

    @property
    def key(self) -> str:
        """The name of its random streams."""
        return self.policy.stream_name if isinstance(self.policy, Policy) else f"custom {self.name}"


@dataclass(frozen=True)
class Settings:
    """Everything that determines the numbers."""

    scenario: Scenario
    policies: tuple[PreparedPolicy, ...]
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
        """Return the number of runs in a block."""
        return min(BLOCK, self.runs - block * BLOCK)

    @property
    def layout(self) -> RowLayout:
        """The columns of a run's row."""
        return RowLayout(self.checkpoints.size, len(self.scenario.names))


def prepare(
    scenario: Scenario,
    policies: Sequence[Any],
    *,
    horizon: int,
    runs: int,
    seed: int,
    checkpoints: Sequence[int] | None = None,
    kernel: str | None = None,
    common_random_numbers: bool = False,
) -> Settings:
    """Check every argument of `simulate`, and make what the kernels read."""
    if not isinstance(scenario, Scenario):
        raise ParameterError(
            "scenario", scenario, "must be a Scenario", "give Scenario(...) or Scenario.load(path)"
        )
    horizon = check.whole("horizon", horizon, most=MOST_HORIZON)
    runs = check.whole("runs", runs, most=MOST_RUNS)
    seed = check.whole("seed", seed, least=0, most=2**63 - 1)
    if kernel is not None and kernel not in KERNELS:
        raise ParameterError("kernel", kernel, "is unknown", f"choose from {', '.join(KERNELS)}")
    if isinstance(policies, str) or not isinstance(policies, Sequence) or not policies:
        raise ParameterError(
            "policies", policies, "must be a list of policies", "give for example ['kl-ucb', 'ts']"
        )
    if scenario.lending is not None:
        _check_lending(horizon, kernel)
    points = _checkpoints(checkpoints, horizon)
    chosen: list[PreparedPolicy] = []
    for given in policies:
        prepared = _prepare(given, scenario, horizon, kernel, common_random_numbers)
        streams = prepared.key, bool(prepared.orders)
        if any(
            prepared.name == other.name or streams == (other.key, bool(other.orders))
            for other in chosen
        ):
            raise ParameterError("policy", prepared.name, "is given twice", "give each policy once")
        chosen.append(prepared)
    return Settings(
        scenario, tuple(chosen), horizon, runs, seed, points, common=common_random_numbers
    )


def _check_lending(horizon: int, kernel: str | None) -> None:
    """ParameterError for what loans do not allow."""
    if kernel == "events":
        raise ParameterError(
            "kernel",
            kernel,
            "plays categories one by one, and loans share their hazards",
            "leave it out, or give rounds",
        )
    if horizon > MOST_LENDING_ROUNDS:
        raise ParameterError(
            "horizon",
            horizon,
            "is too long for loans, which are played round by round",
            f"give at most {MOST_LENDING_ROUNDS}",
        )


def _prepare(
    given: Any, scenario: Scenario, horizon: int, kernel: str | None, common: bool
) -> PreparedPolicy:
    policy = Policy.parse(given) if isinstance(given, str) else given
    if scenario.lending is not None:
        if not isinstance(policy, Policy):
            raise ParameterError(
                "policy",
                policy,
                "decides by rewards, and a lending book has only defaults and closings",
                "choose bayes-ucb, optimal or kl-ucb",
            )
        check_policy(policy)
        return PreparedPolicy(policy, str(given), "rounds", ())
    if not isinstance(policy, Policy):
        name = check_custom(policy)
        inputs = [make_open_input(truth, horizon=horizon) for truth in scenario.truths]
        return PreparedPolicy(policy, name, "rounds", tuple(inputs))
    categories = scenario.categories
    if not isinstance(policy, Bayesian):  # the others do not use the priors in a scenario
        with said_before():
            categories = tuple(replace(each, prior=None) for each in categories)
    orders = shared_orders(policy, categories)
    if not orders:  # whatever its trust: so its random streams are those without an order
        policy = replace(policy, trust=TRUST)
    elif kernel == "events":
        raise ParameterError(
            "kernel",
            kernel,
            f"plays categories one by one, and the bands of {orders[0].name!r} share evidence",
            "leave it out, or give rounds",
        )
    # With common random numbers, rewards are drawn one by one, and round by round if
    # they are continuous.  That is the definition, and the profit is then known for any
    # statistic.
    by_rounds = policy.forgets or common or kernel == "rounds" or bool(orders)
    inputs = [
        make_input(
            policy,
            truth,
            horizon=horizon,
            every_reward=common or (by_rounds and not truth.category.family.support.whole),
        )
        for truth in scenario.truths
    ]
    together = [
        make_order_input(policy, order, scenario.truths, horizon=horizon, every_reward=common)
        for order in orders
    ]
    for order in together:
        for position, band in order.bands.items():
            inputs[position] = band
    prior = getattr(given, "prior", None)
    name = str(given) if prior is None else f"{given}, {prior}"
    kernel = "rounds" if by_rounds else "events"
    return PreparedPolicy(policy, name, kernel, tuple(inputs), tuple(together))


def _checkpoints(given: Sequence[int] | None, horizon: int) -> IntArray:
    if given is None:
        decades = math.log10(horizon)
        spaced = np.round(np.logspace(0.0, decades, round(decades * POINTS_PER_DECADE) + 1)).astype(
            np.int64
        )
        return np.unique(np.append(spaced[spaced < horizon], horizon))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            "checkpoints", given, "must be a list of rounds", "give for example [10, 100, 1000]"
        )
    points = [check.whole("checkpoints", each, most=MOST_HORIZON) for each in given]
    if len(points) > MOST_CHECKPOINTS:
        raise ParameterError(
            "checkpoints",
            f"{len(points)} of them",
            "are too many",
            f"give at most {MOST_CHECKPOINTS}",
        )
    if not points:
        raise ParameterError(
            "checkpoints", given, "is empty", "give at least one round, or leave it out"
        )
    if beyond := [point for point in points if point > horizon]:
        raise ParameterError(
            "checkpoints",
            beyond[0],
            f"is beyond the horizon {horizon}",
            f"give rounds from 1 to {horizon}",
        )
    return np.unique(np.array(points, dtype=np.int64))


def slow_parts(settings: Settings) -> list[str]:
    """Return warnings about parts whose time grows in proportion to the horizon."""
    slow: list[str] = []
    rounds = float(settings.horizon)
    for prepared in settings.policies:
        for truth, each in zip(settings.scenario.truths, prepared.inputs, strict=True):
            problem = each.problem
            work = draws_per_client(problem.truth, problem.sight.rule.needs_rewards)
            draws = settings.horizon * truth.clients.average * work
            by_floor = rounds * problem.patience.floor > MANY
            reasons = [
                ("draws rewards one by one", draws, True),
                ("goes through every round", rounds, prepared.kernel == "rounds"),
                ("goes through rounds that its floor accepts one by one", rounds, by_floor),
                ("goes through accepted rounds one by one", rounds, not problem.blocks),
            ]
            warnings = [
                f"{prepared.name} {what} in {truth.category.name!r}, up to {number:.0e} per run: "
                "this takes long"
                for what, number, applies in reasons
                if applies and number > MANY
            ]
            slow += warnings[:1]
    return slow


def crowded_parts(settings: Settings) -> list[str]:
    """Return warnings about policies that reject any mean below the threshold.

    They count too many clients in a round.
    """
    crowded: list[str] = []
    for policy, name in ((each.policy, each.name) for each in settings.policies):
        if not isinstance(policy, Plus) or policy.count != BY_CLIENTS or policy.terms.kind != TIME:
            continue
        tolerated = policy.inflate * max(1.0, math.log(settings.horizon)) ** policy.c
        crowded += [
            f"{name} is greedy in {truth.category.name!r}: it adds log of the clients, "
            f"{truth.clients.average:.4g} a round, to be compared with log of the rounds; "
            f"{policy.name}:count=rounds counts both in rounds"
            for truth in settings.scenario.truths
            if truth.clients.average > CROWD * tolerated
        ]
    return crowded
