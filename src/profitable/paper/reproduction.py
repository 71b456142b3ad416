"""Reproduction: the results of the experiments.

`conduct` runs the experiments that are not finished yet.
"""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from profitable.common.progress import Progress
from profitable.common.text_tables import number_text
from profitable.errors import BrokenResultError, InputError
from profitable.paper.experiment import AUTHORS, Experiment, load
from profitable.simulation.curve import Curve
from profitable.simulation.pool import open_pool
from profitable.simulation.result import Result
from profitable.simulation.result_folder import earlier, keeping
from profitable.simulation.runner import new_result, run
from profitable.simulation.settings import prepare


@dataclass(frozen=True)
class Trial:
    """An experiment and its result."""

    experiment: Experiment
    result: Result

    def curve(self, policy: str) -> Curve:
        """Return the curve of a policy by its name without parameters.

        "kl-ucb+" finds "kl-ucb+:inflate=10", too.
        """
        for curve in self.result.curves:
            if curve.policy == policy or curve.policy.partition(":")[0] == policy:
                return curve
        known = ", ".join(self.result.policies)
        raise InputError(
            "policy", policy, f"is not in {self.experiment.name!r}", f"choose from {known}"
        )


@dataclass(frozen=True)
class Reproduction:
    """The trials by the name of their experiment."""

    seed: int
    trials: dict[str, Trial]

    def find(self, *names: str, by_authors: bool = False) -> list[Trial]:
        """Return the trials of the named experiments that were run, in one variant.

        An experiment without a variant of the authors' belongs to both.
        """
        wanted = [
            name + AUTHORS if by_authors and load(name).authors_runs else name for name in names
        ]
        return [self.trials[name] for name in wanted if name in self.trials]


def conduct(
    experiments: Sequence[Experiment],
    *,
    folder: Path,
    seed: int = 1,
    executor: Executor | None = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> Reproduction:
    """Run experiments, each in a folder of its own.

    Finished results in the folders are used, and unfinished ones are continued, unless
    `fresh`.  Before the first experiment runs, a folder that is read-only or holds
    another simulation is refused.
    """
    prepared = [
        prepare(each.scenario, each.policies, horizon=each.horizon, runs=each.runs, seed=seed)
        for each in experiments
    ]
    for experiment, settings in zip(experiments, prepared, strict=True):
        # `run` computes a broken one again, and says so.
        with keeping(folder / experiment.name), suppress(BrokenResultError):
            if not fresh:
                earlier(folder / experiment.name, new_result(settings))
    trials: dict[str, Trial] = {}
    done = 0.0
    with (
        open_pool(executor, workers) as pool,
        Progress(total=sum(experiment.work for experiment in experiments), shown=progress) as bar,
    ):
        for place, (experiment, settings) in enumerate(zip(experiments, prepared, strict=True), 1):
            title = f"{experiment.name} ({place} of {len(experiments)})"
            show = partial(_show, bar, title, done, experiment.work)
            show(0.0)
            start = time.perf_counter()
            result = run(
                settings, executor=pool, progress=show, out=folder / experiment.name, fresh=fresh
            )
            trials[experiment.name] = Trial(experiment, result)
            done += experiment.work
            size = (
                f"{len(experiment.policies)} policies, {number_text(result.finished)} runs to T = "
                f"{experiment.horizon:.0e}"
            )
            bar.say(f"{title}: {size}: {time.perf_counter() - start:.1f} s")
    return Reproduction(seed, trials)


def _show(bar: Progress, title: str, before: float, work: float, share: float) -> None:
    bar.update(before + work * share, title=title)
