"""Experiment: a scenario, policies, a horizon and a number of runs.

Each has a small file in `experiments/`.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from profitable.errors import InputError
from profitable.simulation.clients_per_round import OnePlusPoisson
from profitable.simulation.scenario import Scenario, read_table

FOLDER = Path(__file__).parent / "experiments"
PAPER = ("bernoulli", "poisson", "sharp-poisson", "exponential")
BEYOND = ("long-bernoulli", "long-poisson", "long-exponential", "arrivals", "unlucky", "bounds")
WITH_OPTIMAL = tuple(f"optimal-{name}" for name in PAPER)  # the paper's experiments
OPTIMAL_LONG = "optimal-long"
NAMES = (*PAPER, *BEYOND, *WITH_OPTIMAL, OPTIMAL_LONG)
AUTHORS = "-authors"  # ends the name of an experiment as the authors ran it
INFLATE = 10.0  # log(10 t/N) in their ⁺ policies
QUICK = 50  # a quick look divides the number of runs by this
LEAST_RUNS = 100


@dataclass(frozen=True)
class Experiment:
    """The settings of an experiment, and their source in the paper.

    `authors_runs`: the runs of the authors' variant if both variants run; 0 if there is
    no such variant. `work`: its share of the time, for the estimate of the time left.
    """

    name: str
    title: str
    source: str
    scenario: Scenario
    policies: tuple[str, ...]
    horizon: int
    runs: int
    authors_runs: int
    work: float

    @property
    def by_authors(self) -> bool:
        """Whether this is the authors' variant."""
        return self.name.endswith(AUTHORS)

    def as_authors_ran(self) -> "Experiment":
        """Return the variant that the authors ran.

        C - 1 ~ Poisson(rate - 1), and log(10 t/N) in the ⁺ policies.

        >>> bernoulli = load("bernoulli")
        >>> variant = bernoulli.as_authors_ran()
        >>> variant.policies[3], variant.scenario.truths[0].clients.average
        ('kl-ucb+:inflate=10', 3.0)
        """
        truths = [
            replace(truth, clients=OnePlusPoisson(rate=truth.clients.average - 2.0))
            for truth in self.scenario.truths
        ]
        return replace(
            self,
            name=self.name + AUTHORS,
            title=f"{self.title} (the authors' variant)",
            scenario=Scenario(f"{self.scenario.name}, the authors' variant", truths),
            policies=tuple(
                f"{policy}:inflate={INFLATE:g}" if policy.endswith("+") else policy
                for policy in self.policies
            ),
        )

    def with_runs(self, runs: int) -> "Experiment":
        """Return the same experiment with another number of runs."""
        return replace(self, runs=runs, work=self.work * runs / self.runs)


@cache
def load(name: str) -> Experiment:
    """Return an experiment by its name.

    >>> load("poisson").scenario.lower_bound().total
    21.87...
    """
    if name not in NAMES:
        raise InputError("experiment", name, "is unknown", f"choose from {', '.join(NAMES)}")
    path = FOLDER / f"{name}.toml"
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    like = table.get("like")
    scenario = load(like).scenario if like else Scenario(*read_table(table["scenario"], path.name))
    numbers = (table["horizon"], table["runs"], table.get("authors_runs", 0), table["work"])
    return Experiment(
        name, table["title"], table["source"], scenario, tuple(table["policies"]), *numbers
    )


def choose(
    names: Sequence[str], *, variant: str, runs: int | None, quick: bool
) -> list[Experiment]:
    """Return the named experiments in the paper's variant, the authors', or both.

    Without names, these are all experiments, or the paper's own for a quick look.

    >>> names = ["arrivals", "sharp-poisson"]
    >>> [each.name for each in choose(names, variant="both", runs=None, quick=False)]
    ['sharp-poisson', 'sharp-poisson-authors', 'arrivals']
    """
    if variant not in ("paper", "authors", "both"):
        raise InputError("variant", variant, "is unknown", "choose from paper, authors, both")
    wanted = {load(name).name for name in names} or set(PAPER if quick else NAMES)
    chosen: list[Experiment] = []
    for name in NAMES:
        if name not in wanted:
            continue
        experiment = load(name)
        if runs is not None:
            experiment = experiment.with_runs(runs)
        elif quick:
            experiment = experiment.with_runs(max(LEAST_RUNS, experiment.runs // QUICK))
        if variant != "authors" or not experiment.authors_runs:
            chosen.append(experiment)
        if variant != "paper" and experiment.authors_runs:
            whole = variant == "authors" or runs is not None or quick
            chosen.append(
                (
                    experiment if whole else experiment.with_runs(experiment.authors_runs)
                ).as_authors_ran()
            )
    return chosen
