"""study: play a study, stage by stage, on all cores or a cluster; the seed alone determines the numbers."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from profitable.common.files import as_path
from profitable.common.folder_lock import occupied
from profitable.common.progress import Progress
from profitable.errors import ExecutorError, Interrupted, ParameterError
from profitable.simulation.block import compile_kernels
from profitable.simulation.engine import play_all
from profitable.simulation.interruption import Interruption
from profitable.simulation.pool import Pool, open_pool
from profitable.simulation.result import Result
from profitable.simulation.runner import SAVE_EVERY
from profitable.simulation.settings import BLOCK
from profitable.simulation.task import Job
from profitable.studies.halving import survivors
from profitable.studies.study import Study
from profitable.studies.study_folder import Progressing, save_sums, save_table, start
from profitable.studies.study_result import StudyResult, report_module

logger = logging.getLogger("profitable")


def study(
    given: Study | Path | str,
    *,
    out: Path | str | None = None,
    executor: Executor | str | None = None,
    workers: int | None = None,
    progress: bool | Callable[[float], object] | None = None,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> StudyResult:
    """Find the best setting of each world of a study.

    - `given`: a `Study`, a study file, or the name of a study that comes with the package, as "forget".
    - `out`: a folder for the table, the page and its pictures.  The finished runs are saved there every few seconds.
      If it holds the same study, that is continued.  Another one is an OtherResultError.
    - `executor`, `workers`: where runs are played, as in `simulate`.  The numbers depend on neither.
    - `progress`: True or False for a bar on standard error, or a function that is called with the share done.
    - `fresh`: start from the beginning, and replace the study in the folder.

    Each setting has the numbers that `simulate` gives for the same scenario, policy, horizon, runs and seed.
    Ctrl-C raises `Interrupted`, and lost workers `ExecutorError`; what is finished is in `out`.

    >>> shops = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "mean": "0.2 - gap", "clients": 5}
    >>> found = study(
    ...     Study(
    ...         "two gaps",
    ...         scenario={"category": [shops]},
    ...         policies=["ts", "kl-gaussian-ucb"],
    ...         axes={"gap": [0.05, 0.1]},
    ...         horizon=1_000,
    ...         runs=200,
    ...     )
    ... )
    >>> [(best.values["gap"], best.policy, best.alike) for best in found.best]
    [(0.05, 'ts', ()), (0.1, 'ts', ())]
    """
    plan = given if isinstance(given, Study) else Study.load(given)
    if not isinstance(fresh, bool):
        raise ParameterError("fresh", fresh, "is not true or false", "give one of them")
    if out is None:
        with open_pool(executor, workers) as pool:
            return _conduct(Progressing.new(plan), None, pool, progress)
    report = report_module()
    folder = as_path("out", out)
    with open_pool(executor, workers) as pool, occupied(folder):
        state, note = start(plan, folder, fresh=fresh)
        if note:
            logger.warning(note)
        if done := _runs(state):
            say(f"{done} of {plan.planned_runs} runs are taken over from {folder}")
        result = _conduct(state, folder, pool, progress)
        save_table(result, folder)
        report.write_report(result, folder)
        return result


def _conduct(
    state: Progressing, folder: Path | None, pool: Pool, progress: bool | Callable[[float], object] | None
) -> StudyResult:
    """Play the stages that are missing."""
    plan, saved = state.study, time.monotonic()

    def save() -> None:
        nonlocal saved
        if folder is not None:
            save_sums(state, folder)
        saved = time.monotonic()

    lost: ExecutorError | Interrupted | None = None
    with Progress(total=plan.planned_runs / BLOCK, done=_done(state), shown=progress, title="studying") as bar:

        def merged(job: Job) -> None:
            del job
            bar.update(_done(state))
            if time.monotonic() - saved > SAVE_EVERY:
                save()

        while not state.finished and not lost:
            jobs = _jobs(state)
            if pool.is_near:
                with Interruption(at_once=True):
                    for job in jobs:
                        compile_kernels(job.settings)
            with Interruption() as interruption:
                try:
                    play_all(jobs, pool, stopped=lambda now=interruption: now.noticed, merged=merged)
                    if not any(job.result.finished < job.settings.runs for job in jobs):
                        _drop(state)
                except ExecutorError as error:
                    lost = error
                save()
            if interruption.noticed and not lost and not state.finished:
                runs, problem = _runs(state), f"of {plan.planned_runs} are finished"
                lost = Interrupted("runs", runs, problem, "run it again to continue")
    if lost:
        raise lost
    return state.result()


def _runs(state: Progressing) -> int:
    return sum(curve.runs for curve in state.curves)


def _done(state: Progressing) -> float:
    return _runs(state) / BLOCK


def _jobs(state: Progressing) -> list[Job]:
    """What the stage under way still needs."""
    jobs: list[Job] = []
    place = 0
    for world in state.study.worlds:
        stages = state.study.stages(world)
        for setting in world.settings:
            curve = state.curves[place]
            is_in = state.stage <= len(stages) and not state.dropped[place]
            if is_in and curve.runs < (runs := stages[state.stage - 1].runs):
                study = state.study
                made = world.prepared(setting, runs=runs, seed=study.seed, where=study.source)
                size = (study.runs, study.seed, made.checkpoints)
                jobs.append(Job(made, Result(world.scenario, world.horizon, *size, [curve])))
            place += 1
    return jobs


def _drop(state: Progressing) -> None:
    """End the stage: the settings with the larger regrets are dropped in each world."""
    start = 0
    for world in state.study.worlds:
        stages, places = state.study.stages(world), range(start, start + len(world.settings))
        start = places.stop
        if state.stage < len(stages):
            left = [place for place in places if not state.dropped[place]]
            regrets = [float(state.curves[place].estimate.mean[-1]) for place in left]
            kept = {left[i] for i in survivors(regrets, stages[state.stage].settings)}
            for place in left:
                if place not in kept:
                    state.dropped[place] = state.stage
    state.stage += 1
