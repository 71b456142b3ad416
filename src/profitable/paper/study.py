"""Study: the results of the experiments.  `conduct` runs those that are not finished yet, one after the other."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from profitable.common.progress import Progress
from profitable.common.text_tables import number
from profitable.errors import BrokenResultError, InputError, OtherResultError
from profitable.paper.experiment import AUTHORS, Experiment
from profitable.simulation.curve import Curve
from profitable.simulation.result import Result
from profitable.simulation.result_folder import Keeper
from profitable.simulation.runner import simulate
from profitable.simulation.settings import BLOCK, prepare

logger = logging.getLogger("profitable")


@dataclass(frozen=True)
class Outcome:
    """An experiment and its result."""

    experiment: Experiment
    result: Result

    def curve(self, policy: str) -> Curve:
        """The curve of a policy by its name without parameters: "kl-ucb+" finds "kl-ucb+:inflate=10", too."""
        for curve in self.result.curves:
            if curve.policy == policy or curve.policy.partition(":")[0] == policy:
                return curve
        known = ", ".join(self.result.policies)
        raise InputError("policy", policy, f"is not in {self.experiment.name!r}", f"choose from {known}")


@dataclass(frozen=True)
class Study:
    """Outcomes by the name of their experiment."""

    seed: int
    outcomes: dict[str, Outcome]

    def find(self, *names: str, by_authors: bool = False) -> list[Outcome]:
        """Those of the named experiments that were run, in the paper's or in the authors' variant."""
        ending = AUTHORS if by_authors else ""
        return [self.outcomes[name + ending] for name in names if name + ending in self.outcomes]


def conduct(
    experiments: Sequence[Experiment],
    *,
    folder: Path,
    seed: int = 1,
    workers: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> Study:
    """Run experiments, each in a folder of its own; what is finished there is taken over, what is begun goes on.

    Whether that can be done is found out for all of them before the first one is run.
    """
    for experiment in experiments:
        _check_folder(experiment, folder / experiment.name, seed=seed, fresh=fresh)
    outcomes: dict[str, Outcome] = {}
    done = 0.0
    with Progress(total=sum(experiment.work for experiment in experiments), shown=progress) as bar:
        for place, experiment in enumerate(experiments, 1):
            title = f"{experiment.name} ({place} of {len(experiments)})"
            show = partial(_show, bar, title, done, experiment.work)
            show(0.0)
            start = time.perf_counter()
            options: dict[str, Any] = {"seed": seed, "workers": workers, "progress": show}
            try:
                result = _run(experiment, folder, resume=not fresh, **options)
            except BrokenResultError as error:
                logger.warning("%s It is made anew.", error)
                result = _run(experiment, folder, resume=False, **options)
            outcomes[experiment.name] = Outcome(experiment, result)
            done += experiment.work
            size = (
                f"{len(experiment.policies)} policies, {number(result.finished)} runs to T = {experiment.horizon:.0e}"
            )
            bar.say(f"{title}: {size}: {time.perf_counter() - start:.1f} s")
    return Study(seed, outcomes)


def _check_folder(experiment: Experiment, folder: Path, *, seed: int, fresh: bool) -> None:
    """Whether the folder can be written, and holds nothing else that would be lost."""
    keeper = Keeper(folder)
    size = {"horizon": experiment.horizon, "runs": experiment.runs, "seed": seed}
    options: dict[str, Any] = {"checkpoints": None, "kernel": "events", "common_random_numbers": False}
    empty = prepare(experiment.scenario, experiment.policies, **size, **options).empty()
    if not fresh:
        try:
            keeper.earlier(empty, BLOCK)
        except OtherResultError as error:
            remedy = "choose another folder, or give --fresh to replace it"
            raise OtherResultError(error.field, error.value, error.problem, remedy) from None
        except BrokenResultError:
            return  # it is made anew, and says so


def _show(bar: Progress, title: str, before: float, work: float, share: float) -> None:
    bar.update(before + work * share, title=title)


def _run(experiment: Experiment, folder: Path, **options: Any) -> Result:
    size = {"horizon": experiment.horizon, "runs": experiment.runs}
    return simulate(experiment.scenario, experiment.policies, **size, out=folder / experiment.name, **options)
