"""The function `study`: play the stages of a study on all cores or a cluster.

The seed alone determines the numbers.

On disk a study is `study.json`, `sums.parquet` and `study.parquet`: what was asked, the
sums over the runs so far, and the table.  `study.json` is written when the study
starts, and holds nothing about the machine.  `sums.parquet` has a row for each setting:
its sums over runs, and the stage at which it was dropped.  It is replaced as a whole
every few seconds, so a study that is interrupted at any moment goes on from what it
finds there.  The table and the page come at the end.
"""

import json
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.files import (
    as_path,
    checksum_of,
    is_sealed,
    json_text,
    read_text,
    replace_text,
    saving,
    seal,
)
from profitable.common.locks import occupied
from profitable.common.progress import Progress
from profitable.common.sealed_folder import (
    arrow,
    newer,
    not_ours,
    read_table,
    reading,
    refuse_other,
    write_table,
)
from profitable.errors import BrokenResultError, ExecutorError, Interrupted, ParameterError
from profitable.simulation.curve import Curve
from profitable.simulation.pool import Job, Pool, open_pool
from profitable.simulation.result import Result
from profitable.simulation.result_folder import POWERS
from profitable.simulation.runner import new_result, play_jobs
from profitable.simulation.running_stats import Moments
from profitable.simulation.settings import BLOCK
from profitable.studies.study import Study, survivors
from profitable.studies.study_result import StudyResult, report_module
from profitable.version import VERSION

logger = logging.getLogger("profitable")
STUDY_FORMAT = 1
STUDY, SUMS, STUDY_TABLE = "study.json", "sums.parquet", "study.parquet"
STUDY_PAGE = "report.html"


@dataclass
class Progressing:
    """A study under way.

    The stage that is being played (from 1), the curves, and when each setting was
    dropped.
    """

    study: Study
    stage: int
    curves: list[Curve]
    dropped: list[int]

    @classmethod
    def new(cls, study: Study) -> "Progressing":
        """Return a study before its first run.

        InputError if a policy does not fit a world.
        """
        curves: list[Curve] = []
        for world in study.worlds:
            for setting in world.settings:
                made = world.prepared(setting, runs=study.runs, seed=study.seed, where=study.source)
                curves.extend(new_result(made).curves)
        return cls(study, 1, curves, [0] * len(curves))

    @property
    def finished(self) -> bool:
        """Whether all stages of all worlds are played."""
        return self.stage > max(len(self.study.stages(world)) for world in self.study.worlds)

    def result(self) -> StudyResult:
        """Return the result of a finished study."""
        return StudyResult(self.study, tuple(self.curves), tuple(self.dropped))


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
                size = (world.horizon, study.runs, study.seed)
                jobs.append(Job(made, Result(world.scenario, *size, made.checkpoints, [curve])))
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


# --------------------------------------------------------------------------- on disk


def asked(study: Study) -> dict[str, Any]:
    """Return what determines the numbers, as the folder keeps it."""
    return {"format": STUDY_FORMAT, "version": VERSION, **study.to_dict()}


def start(study: Study, folder: Path, *, fresh: bool) -> tuple[Progressing, str | None]:
    """Return the study to continue, and why it starts again, if it does.

    OtherResultError if the folder has another study.
    """
    new = Progressing.new(study)
    note: str | None = None
    if (folder / STUDY).exists() and (found := _found(folder)) is not None and not fresh:
        wanted = json.loads(json.dumps(asked(study)))
        refuse_other(folder, "study", found, wanted, wanted)
        try:
            return _continue(new, folder), None
        except BrokenResultError as error:
            note = f"{error} It is computed again."
    for name in (SUMS, STUDY_TABLE):  # of another study, or of an earlier try
        (folder / name).unlink(missing_ok=True)
    _save_study(study, folder, new)
    return new, note


def _found(folder: Path) -> dict[str, Any] | None:
    """Return the study of a folder as it was asked.

    None if it was altered, so that nothing in the folder can be relied on.
    """
    try:
        text = read_text(folder / STUDY)
        found = json.loads(text)
        number = found["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise not_ours(folder / STUDY) from None
    if isinstance(number, int) and number > STUDY_FORMAT:
        raise newer(folder, found, f"formats up to {STUDY_FORMAT}")
    return found if is_sealed(text) else None


def _continue(new: Progressing, folder: Path) -> Progressing:
    if not (folder / SUMS).exists():
        return new
    with reading(folder, "study"):
        columns, marks = read_table(folder / SUMS, STUDY, "study", _fingerprint(new.study))
        for place, curve in enumerate(new.curves):
            if runs := columns["runs"][place]:
                curve.moments = Moments(
                    runs, **{power: np.array(columns[power][place]) for power in POWERS}
                )
                curve.counts[0, columns["bins"][place]] = columns["counts"][place]
        new.dropped, new.stage = columns["dropped"], int(marks[b"stage"])
    return new


def save_sums(state: Progressing, folder: Path) -> None:
    """Save the runs so far; NotSavedError if that is not possible."""
    pyarrow, _ = arrow()
    curves = state.curves
    bins = [np.flatnonzero(curve.counts[0]) for curve in curves]
    whole, wholes = pyarrow.int64(), pyarrow.list_(pyarrow.int64())
    numbers = pyarrow.list_(pyarrow.float64())
    columns: dict[str, tuple[Any, list[Any]]] = {
        "runs": (whole, [curve.runs for curve in curves]),
        "dropped": (whole, state.dropped),
        "policy": (pyarrow.string(), [curve.policy for curve in curves]),
        **{
            power: (numbers, [getattr(each.moments, power) if each.runs else [] for each in curves])
            for power in POWERS
        },
        "bins": (wholes, bins),
        "counts": (wholes, [curve.counts[0, each] for curve, each in zip(curves, bins)]),
    }
    arrays = {name: pyarrow.array(values, kind) for name, (kind, values) in columns.items()}
    marks = {"study": _fingerprint(state.study), "stage": str(state.stage)}
    with saving(folder, result=state):
        write_table(folder / SUMS, pyarrow.table(arrays), marks)


def save_table(result: StudyResult, folder: Path) -> Path:
    """Write the table of a finished study."""
    with saving(folder, result=result):
        return write_table(folder / STUDY_TABLE, arrow()[0].table(result.columns()))


def save_finished(result: StudyResult, folder: Path) -> list[Path]:
    """Write everything but the page."""
    study = result.study
    last = 1 + max(len(study.stages(world)) for world in study.worlds)
    asked_for = _save_study(study, folder, result)
    save_sums(Progressing(study, last, list(result.curves), list(result.dropped)), folder)
    return [asked_for, folder / SUMS, save_table(result, folder)]


def load(folder: Path) -> StudyResult:
    """Return a finished study.

    An error if there is none, or if it is broken or from a newer version.
    """
    if not (folder / STUDY).exists():
        raise BrokenResultError(
            "folder", str(folder), f"has no {STUDY}", "give the folder of a study"
        )
    found = _found(folder)
    if found is None:
        raise BrokenResultError(
            "folder",
            str(folder),
            f"has a {STUDY} that was altered: its checksum is wrong",
            "make it again",
        )
    for key in ("format", "version", "checksum"):
        del found[key]
    state = _continue(Progressing.new(Study(**found, source=str(folder / STUDY))), folder)
    if not state.finished:
        raise BrokenResultError(
            "folder", str(folder), "has a study that is not finished", "run the study again"
        )
    return state.result()


def _save_study(study: Study, folder: Path, result: object) -> Path:
    with saving(folder, result=result):
        folder.mkdir(parents=True, exist_ok=True)
        return replace_text(folder / STUDY, seal(json_text(asked(study))))


def _fingerprint(study: Study) -> str:
    return checksum_of(json.dumps(asked(study)))
