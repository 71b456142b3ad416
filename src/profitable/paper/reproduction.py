"""Reproduction: the results of the experiments.

`conduct` runs the experiments that are not finished yet.
"""

from collections import deque
from collections.abc import Callable, Sequence
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
from profitable.simulation.result_folder import keeping
from profitable.simulation.runner import earlier_or_new, play_in_line
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
    progress: bool | Callable[[float], object] | None = None,
) -> Reproduction:
    """Run experiments, each in a folder of its own.

    Finished results in the folders are used, and unfinished ones are continued, unless
    `fresh`.  Before the first experiment runs, a folder that is read-only or holds
    another simulation is refused.  Each folder is locked until its result is complete.
    """
    with open_pool(executor, workers) as pool, ExitStack() as all_locks:
        trials: dict[str, Trial] = {}
        line: list[tuple[Job, Path]] = []
        locks: list[ExitStack] = []
        for each in experiments:
            own = folder / each.name
            settings = prepare(
                each.scenario, each.policies, horizon=each.horizon, runs=each.runs, seed=seed
            )
            locks.append(all_locks.enter_context(ExitStack()))
            locks[-1].enter_context(keeping(own))
            trials[each.name] = Trial(each, earlier_or_new(settings, own, fresh=fresh))
            line.append((Job(settings, trials[each.name].result), own))
        _play(experiments, line, locks, pool, progress)
    return Reproduction(seed, trials)


def _play(
    experiments: Sequence[Experiment],
    line: Sequence[tuple[Job, Path]],
    locks: Sequence[ExitStack],
    pool: Pool,
    progress: bool | Callable[[float], object] | None,
) -> None:
    """Play the missing runs, and say and unlock what is complete.

    The seconds of an experiment are those of its own blocks, divided by the workers:
    the next experiment begins before the last blocks of the one before are played.
    """
    waiting = deque(
        (each, f"{each.name} ({place} of {len(experiments)})", lock)
        for place, (each, lock) in enumerate(zip(experiments, locks, strict=True), 1)
    )
    blocks = [job.blocks_left for job, _ in line]
    work = [
        each.work * left / job.settings.blocks
        for each, left, (job, _) in zip(experiments, blocks, line, strict=True)
    ]
    everything = sum(each.work for each in experiments)
    before = everything - sum(work)
    blocks_then, work_then = (list(accumulate(each, initial=0.0)) for each in (blocks, work))
    with Progress(total=everything, done=before, shown=progress) as bar:

        def ended(job: Job) -> None:
            experiment, title, lock = waiting.popleft()
            lock.close()
            size = (
                f"{len(experiment.policies)} policies, {number_text(job.result.finished)} runs to "
                f"T = {experiment.horizon:.0e}"
            )
            bar.say(f"{title}: {size}: {job.seconds / pool.workers:.1f} s")

        def show(done: float) -> None:
            title = waiting[0][1] if waiting else None
            bar.update(before + float(np.interp(done, blocks_then, work_then)), title=title)

        show(0.0)
        play_in_line(line, pool, show=show, ended=ended)
