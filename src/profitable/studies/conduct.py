"""The function `study`: play the stages of a study on all cores or a cluster.

The seed alone determines the numbers.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from profitable.common.files import as_path
from profitable.common.locks import occupied
from profitable.common.progress import Progress
from profitable.errors import ExecutorError, Interrupted, ParameterError
from profitable.simulation.pool import Job, Pool, open_pool
from profitable.simulation.result import Result
from profitable.simulation.runner import play_jobs
from profitable.simulation.settings import BLOCK
from profitable.studies.study import Study, survivors
from profitable.studies.study_folder import Progressing, save_sums, save_table, start
from profitable.studies.study_result import StudyResult, report_module

logger = logging.getLogger("profitable")


def study(
    given: Study | Path | str,
    *,
    out: Path | str | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: bool | Callable[[float], object] | None = None,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> StudyResult:
    """Find the best setting of each world of a study.

    Each setting has the numbers that `simulate` gives for the same scenario, policy,
    horizon, runs and seed.

    Parameters
    ----------
    given : Study, Path or str
        A study, a study file, or the name of a study of the package, as "forget".
    out : Path or str, optional
        Folder for the table, the page and its pictures.  The finished runs are saved
        there every few seconds.  If it holds the same study, that is continued.
    executor, workers : optional
        Where runs are played, as in `simulate`.  The numbers depend on neither.
    progress : bool or callable, optional
        Whether to show a bar on standard error, or a function of the share done.
    fresh : bool, default False
        Start from the beginning, and replace the study in the folder.
    say : callable, optional
        Receives a note if runs are taken over from the folder.

    Returns
    -------
    StudyResult
        The best setting of each world, and the numbers of all settings.

    Raises
    ------
    OtherResultError
        If the folder holds another study.
    Interrupted
        After Ctrl-C; finished runs are in `out`.
    ExecutorError
        If workers are lost; finished runs are in `out`.

    Examples
    --------
    >>> shops = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "clients": 5}
    >>> shops["mean"] = "0.2 - gap"
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
    >>> [(best.values["gap"], best.policy) for best in found.best]
    [(0.05, 'ts'), (0.1, 'ts')]

    """
    plan = given if isinstance(given, Study) else Study.load(given)
    if not isinstance(fresh, bool):
        raise ParameterError("fresh", fresh, "must be true or false", "give one of them")
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
    state: Progressing,
    folder: Path | None,
    pool: Pool,
    progress: bool | Callable[[float], object] | None,
) -> StudyResult:
    """Play the stages that are missing."""
    planned = state.study.planned_runs

    def save() -> None:
        if folder is not None:
            save_sums(state, folder)

    lost: ExecutorError | Interrupted | None = None
    with Progress(
        total=planned / BLOCK, done=_runs(state) / BLOCK, shown=progress, title="studying"
    ) as bar:
        while not state.finished and not lost:
            lost = play_jobs(
                _jobs(state),
                pool,
                save,
                lambda: (_runs(state), planned),
                merged=lambda: bar.update(_runs(state) / BLOCK),
                ended=lambda: _drop(state),
            )
    if lost and not state.finished:
        raise lost
    return state.result()


def _runs(state: Progressing) -> int:
    return sum(curve.runs for curve in state.curves)


def _jobs(state: Progressing) -> list[Job]:
    """Return the jobs that the stage under way still needs."""
    study = state.study
    jobs: list[Job] = []
    for world, places in zip(study.worlds, study.places, strict=True):
        stages = study.stages(world)
        for place, setting in zip(places, world.settings, strict=True):
            curve = state.curves[place]
            is_in = state.stage <= len(stages) and not state.dropped[place]
            if is_in and curve.runs < (runs := stages[state.stage - 1].runs):
                made = world.prepared(setting, runs=runs, seed=study.seed, where=study.source)
                size = (study.runs, study.seed, made.checkpoints)
                jobs.append(Job(made, Result(world.scenario, world.horizon, *size, [curve])))
    return jobs


def _drop(state: Progressing) -> None:
    """End the stage: the settings with the larger regrets are dropped in each world."""
    for world, places in zip(state.study.worlds, state.study.places, strict=True):
        stages = state.study.stages(world)
        if state.stage < len(stages):
            left = [place for place in places if not state.dropped[place]]
            regrets = [float(state.curves[place].estimate.mean[-1]) for place in left]
            kept = survivors(regrets, stages[state.stage].settings)
            for i in set(range(len(left))) - set(kept):
                state.dropped[left[i]] = state.stage
    state.stage += 1
