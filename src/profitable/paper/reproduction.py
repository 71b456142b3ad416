"""Reproduction: the results of the experiments.

`conduct` runs the experiments that are not finished yet.
"""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from profitable.common.progress import Progress
from profitable.common.text_tables import number_text
from profitable.errors import InputError
from profitable.paper.experiment import AUTHORS, Experiment, load
from profitable.simulation.curve import Curve
from profitable.simulation.pool import Job, Pool, open_pool
from profitable.simulation.result import Result
from profitable.simulation.result_folder import keeping, save, start
from profitable.simulation.runner import new_result, play_jobs
from profitable.simulation.settings import BLOCK, prepare


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
    with open_pool(executor, workers) as pool, ExitStack() as locks:
        trials: list[Trial] = []
        jobs: dict[str, Job] = {}
        for each in experiments:
            settings = prepare(
                each.scenario, each.policies, horizon=each.horizon, runs=each.runs, seed=seed
            )
            locks.enter_context(keeping(folder / each.name))
            result = start(folder / each.name, new_result(settings), resume=False, fresh=fresh)
            trials.append(Trial(each, result))
            if result.finished < settings.runs:
                jobs[each.name] = Job(settings, result)
        work = sum(each.work for each in experiments)
        missing = sum(each.work for each in experiments if each.name in jobs)
        with Progress(total=work, done=work - missing, shown=progress) as bar:
            _play(trials, jobs, pool, folder, bar)
    return Reproduction(seed, {trial.experiment.name: trial for trial in trials})


def _play(
    trials: Sequence[Trial], jobs: dict[str, Job], pool: Pool, folder: Path, bar: Progress
) -> None:
    """Play the missing runs of all trials in one line.

    So no worker waits between two trials.  They are finished one after the other,
    because blocks are added up in their order.
    """
    clock = time.perf_counter()
    titles = {
        trial.experiment.name: f"{trial.experiment.name} ({place} of {len(trials)})"
        for place, trial in enumerate(trials, 1)
    }
    waiting = [trial for trial in trials if trial.experiment.name in jobs]
    blocks = list(accumulate(map(_blocks_left, jobs.values()), initial=0))
    works = list(accumulate((each.experiment.work for each in waiting), initial=bar.done))

    def say(trial: Trial) -> None:
        nonlocal clock
        before, clock = clock, time.perf_counter()
        size = (
            f"{len(trial.experiment.policies)} policies, {number_text(trial.result.finished)} runs "
            f"to T = {trial.experiment.horizon:.0e}"
        )
        bar.say(f"{titles[trial.experiment.name]}: {size}: {clock - before:.1f} s")

    def save_first() -> None:
        if waiting and waiting[0].result.finished:
            save(waiting[0].result, folder / waiting[0].experiment.name)

    def merged(job: Job) -> None:
        if job.result.finished >= job.settings.runs:
            save_first()
            say(waiting.pop(0))

    def show(done: float) -> None:
        title = titles[waiting[0].experiment.name] if waiting else None
        bar.update(float(np.interp(done, blocks, works)), title=title)

    for trial in trials:
        if trial.experiment.name not in jobs:
            say(trial)
    show(0.0)
    lost = play_jobs(
        list(jobs.values()),
        pool,
        save_first,
        lambda: (
            sum(trial.result.finished for trial in trials),
            sum(trial.result.runs for trial in trials),
        ),
        show=show,
        merged=merged,
    )
    if lost:
        raise lost


def _blocks_left(job: Job) -> int:
    return job.settings.blocks - job.result.finished // BLOCK
