"""Warm up: compile everything that agents and simulations need, before they need it.

`steps` are small uses of the package, one for each pair of a family and a policy.  They
compile what is called from Python.  Other functions that kernels may call are compiled
by name.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import MISSING, fields
from functools import partial
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.errors import ProfitableError
from profitable.kernels.compile import lazy_functions
from profitable.model.category import Category
from profitable.model.families import FAMILIES, Family, Normal
from profitable.policy.policies import POLICIES
from profitable.simulation.clients_per_round import OnePlusPoisson
from profitable.simulation.cut_rewards import cut_mean
from profitable.simulation.runner import simulate
from profitable.simulation.scenario import Scenario, Truth

Step = tuple[str, Callable[[], object]]
BOUND = 1e6  # for policies that need one
HORIZON = 8
CLIENTS = OnePlusPoisson(rate=1.0)


def steps(
    families: Iterable[str] | None = None, policies: Iterable[str] | None = None
) -> Iterator[Step]:
    """Yield the steps with their names, for some families and policies or for all.

    >>> [name for name, _ in steps(["bernoulli"], ["ts", "kl-ucb"])]
    ['bernoulli', 'bernoulli with ts', 'bernoulli with kl-ucb']
    """
    for family in families or FAMILIES:
        example = _example(FAMILIES[family])
        yield family, partial(_use_family, example)
        for policy in policies or POLICIES:
            yield f"{family} with {policy}", partial(_use, example, POLICIES[policy]())
    if families is None and policies is None:
        yield "a policy of your own", partial(_use, _example(FAMILIES["bernoulli"]), _Own())
        yield "bands of an order", _use_bands
        yield from lazy_functions()


def _example(cls: type[Family]) -> Family:
    """Return a family of that kind."""
    needed = (each.name for each in fields(cls) if each.default is MISSING)
    return cls(**{name: 0.0 if name == "low" else 2 for name in needed})


def _numbers(family: Family) -> tuple[float, float]:
    """Return a mean inside the domain, and a threshold above it."""
    low, high = family.mean_domain
    low = max(low, 0.0)
    width = min(high - low, 2.0)
    return low + 0.5 * width, low + 0.6 * width


def _use_family(family: Family) -> None:
    mean, threshold = _numbers(family)
    drawn = family.drawn(1.0 if family.hides_sigma else None)
    drawn.divergence(mean, threshold)
    value = family.view().statistic.of_mean(mean)
    if isinstance(family, Normal):
        posterior = family.posterior(clients=6, total=6 * value, squares=6 * (value**2 + 1.0))
    else:
        posterior = family.posterior(clients=2, total=2 * value)
    posterior.quantile(0.5)
    posterior.draw(np.random.default_rng(1))
    with suppress(ProfitableError):  # Bounded has no law to draw from
        cut_mean(drawn, mean, max(family.mean_domain[0], 0.0), threshold)
        family.view().statistic.of_rewards(drawn.draw(np.random.default_rng(1), mean=mean))


def _use(family: Family, policy: Any) -> None:
    mean, threshold = _numbers(family)
    category = Category("it", family, threshold=threshold, bound=None if family.bounds else BOUND)
    with suppress(ProfitableError):
        _ask_agent(category, policy)
    with suppress(ProfitableError):
        sigma = 1.0 if family.hides_sigma else None  # a simulation has to know one
        world = Scenario("it", [Truth(category, mean=mean, clients=CLIENTS, sigma=sigma)])
        for kernel in ("events", "rounds"):
            simulate(
                world, [policy], horizon=HORIZON, runs=1, kernel=kernel, workers=1, progress=False
            )


def _use_bands() -> None:
    bands = [
        Category(name, FAMILIES["bernoulli"](), threshold=0.5, order="it") for name in ("a", "b")
    ]
    agent = Agent(bands, policy="ts", seed=1)
    agent.decide()
    agent.observe({"a": [0], "b": [0, 1]})
    str(agent.decide())
    agent.cutoff()
    world = Scenario("it", [Truth(band, mean=0.4, clients=CLIENTS) for band in bands])
    simulate(world, ["ts"], horizon=HORIZON, runs=1, workers=1, progress=False)


def _ask_agent(category: Category, policy: Any) -> None:
    agent = Agent([category], policy=policy, seed=1)
    reward = max(category.family.support.low, 0.0) + (
        0.0 if category.family.support.whole else 0.01
    )
    for rewards in ([reward], [reward] * 20):
        agent.decide()
        agent.observe("it", rewards)
        str(agent.decide())
    agent.observe("it", rewards=[reward], costs=[1.0])
    agent.observe({"it": [reward]})
    agent.correct("it", was=reward)
    agent.explain("it")


class _Own:
    """The smallest policy of one's own."""

    name = "own"

    def index(self, category: Category, seen: Any, t: int) -> float:
        return category.threshold
