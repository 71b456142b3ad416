"""study: play a study, stage by stage, on all cores; the seed alone determines the numbers."""

import logging
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from profitable.common import check
from profitable.common.files import as_path
from profitable.common.folder_lock import occupied
from profitable.common.progress import Progress
from profitable.errors import InputError, Interrupted, ParameterError
from profitable.simulation.result_folder import arrow
from profitable.simulation.runner import SAVE_EVERY, Interruption, _cores
from profitable.simulation.settings import BLOCK
from profitable.studies.halving import survivors
from profitable.studies.play import EveryFew, Job, play_jobs
from profitable.studies.study import Study
from profitable.studies.study_folder import Progressing, save_sums, save_table, start
from profitable.studies.study_result import StudyResult

logger = logging.getLogger("profitable")


def study(
    given: Study | Path | str,
    *,
    out: Path | str | None = None,
    workers: int | None = None,
    progress: bool | Callable[[float], object] | None = None,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> StudyResult:
    """Find the best setting of each world of a study.

    - `given`: a `Study`, a study file, or the name of a study that comes with the package, as "forget".
    - `out`: a folder for the table, the page and its pictures.  The finished runs are saved there every few seconds.
      If it holds the same study, that is continued.  Another one is an OtherResultError.
    - `workers`: the number of threads; one for each core unless given.  The numbers do not depend on it.
    - `progress`: True or False for a bar on standard error, or a function that is called with the share done.
    - `fresh`: start from the beginning, and replace the study in the folder.

    Each setting has the numbers that `simulate` gives for the same scenario, policy, horizon, runs and seed.
    Ctrl-C raises `Interrupted`.

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
    threads = check.whole("workers", workers if workers is not None else _cores(), most=1024)
    if not isinstance(fresh, bool):
        raise ParameterError("fresh", fresh, "is not true or false", "give one of them")
    if out is None:
        return _conduct(Progressing.new(plan), None, threads, progress)
    arrow()
    _need_for_page()
    from profitable.studies.report import write_report

    folder = as_path("out", out)
    with occupied(folder):
        state, note = start(plan, folder, fresh=fresh)
        if note:
            logger.warning(note)
        if done := sum(curve.runs for curve in state.curves):
            say(f"{done} of {plan.planned_runs} runs are taken over from {folder}")
        result = _conduct(state, folder, threads, progress)
        save_table(result, folder)
        write_report(result, folder)
        return result


def _need_for_page() -> None:
    """InputError if what the page needs is not installed."""
    for name in ("altair", "jinja2", "vl_convert"):
        if find_spec(name) is None:
            remedy = "run: pip install 'profitable[paper]'"
            raise InputError(name, None, "is not installed, and the page of a study needs it", remedy)


def _conduct(
    state: Progressing, folder: Path | None, workers: int, progress: bool | Callable[[float], object] | None
) -> StudyResult:
    """Play the stages that are missing."""
    plan, is_time = state.study, EveryFew(SAVE_EVERY)
    lock = Interruption()

    def save() -> None:
        if folder is not None:
            save_sums(state, folder)

    with Progress(total=plan.planned_runs / BLOCK, done=_done(state), shown=progress, title="studying") as bar, lock:

        def merged() -> None:
            bar.update(_done(state))
            if is_time():
                save()

        while not state.finished and not lock.noticed:
            play_jobs(_jobs(state), workers, lock, merged)
            if not lock.noticed:
                _drop(state)
            save()
    if lock.noticed and not state.finished:
        runs, problem = sum(curve.runs for curve in state.curves), f"of {plan.planned_runs} are finished"
        raise Interrupted("runs", runs, problem, "run it again to continue")
    return state.result()


def _done(state: Progressing) -> float:
    return sum(curve.runs for curve in state.curves) / BLOCK


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
                jobs.append(Job(made, curve))
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
            regrets = [float(state.curves[place].regret[-1]) for place in left]
            kept = {left[i] for i in survivors(regrets, stages[state.stage].settings)}
            for place in left:
                if place not in kept:
                    state.dropped[place] = state.stage
    state.stage += 1
