"""A study on disk: `study.json` (what was asked), `sums.parquet` (the runs so far), `study.parquet` (the table).

`study.json` is written when the study starts, and holds nothing about the machine.  `sums.parquet` has a row for each
setting: its sums over runs, and the stage at which it was dropped.  It is replaced as a whole every few seconds, so a
study that is interrupted at any moment goes on from what it finds there.  The table and the page come at the end.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.files import checksum_of, is_sealed, json_text, read_text, replace_file, replace_text, seal
from profitable.errors import (
    BrokenResultError,
    NewerResultError,
    NotSavedError,
    OtherResultError,
    ProfitableError,
    ResultFolderError,
)
from profitable.simulation.curve import Curve
from profitable.simulation.result_folder import POWERS, arrow
from profitable.simulation.runner import new_result
from profitable.simulation.running_stats import Moments
from profitable.studies.study import Study
from profitable.studies.study_result import StudyResult
from profitable.version import VERSION

STUDY_FORMAT = 1
STUDY, SUMS, STUDY_TABLE = "study.json", "sums.parquet", "study.parquet"
STUDY_PAGE = "report.html"
REMEDY = "choose another folder, or replace it with --fresh (fresh=True in Python)"


@dataclass
class Progressing:
    """A study under way: the stage that is being played (from 1), the curves, and when each setting was dropped."""

    study: Study
    stage: int
    curves: list[Curve]
    dropped: list[int]

    @classmethod
    def new(cls, study: Study) -> "Progressing":
        """A study before its first run; InputError if a policy does not fit a world."""
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
        """The result of a finished study."""
        return StudyResult(self.study, tuple(self.curves), tuple(self.dropped))


def asked(study: Study) -> dict[str, Any]:
    """What determines the numbers, as the folder keeps it."""
    return {"format": STUDY_FORMAT, "version": VERSION, **study.to_dict()}


def start(study: Study, folder: Path, *, fresh: bool) -> tuple[Progressing, str | None]:
    """The study to go on with, and why it starts from the beginning although there was something.

    OtherResultError if the folder has another study.
    """
    new = Progressing.new(study)
    path = folder / STUDY
    note: str | None = None
    if path.exists() and (found := _found(path, folder)) is not None and not fresh:
        wanted = json.loads(json.dumps(asked(study)))
        for key in wanted:
            if found.get(key) != wanted[key]:
                problem = f"holds another study: its {key} is {found.get(key)!r}, not {wanted[key]!r}"
                raise OtherResultError("out", str(folder), problem, REMEDY)
        try:
            return _continue(new, folder), None
        except BrokenResultError as error:
            note = f"{error} It is computed again."
    for name in (SUMS, STUDY_TABLE):  # of another study, or of an earlier try
        (folder / name).unlink(missing_ok=True)
    _write(folder, lambda: [replace_text(path, seal(json_text(asked(study))))], new)
    return new, note


def _found(path: Path, folder: Path) -> dict[str, Any] | None:
    """What study a folder has; None if it was altered, so that nothing in the folder can be relied on."""
    try:
        text = read_text(path)
        found = json.loads(text)
        number = found["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        problem, remedy = f"holds a {STUDY} that is not ours", f"choose another folder, or delete {path}"
        raise ResultFolderError("out", str(folder), problem, remedy) from None
    if isinstance(number, int) and number > STUDY_FORMAT:
        problem = f"was made by a newer version ({found.get('version')}, format {number})"
        remedy = f"install that version; this one reads formats up to {STUDY_FORMAT}"
        raise NewerResultError("out", str(folder), problem, remedy)
    return found if is_sealed(text) else None


def _continue(new: Progressing, folder: Path) -> Progressing:
    if not (folder / SUMS).exists():
        return new
    _, parquet = arrow()
    try:
        table = parquet.read_table(folder / SUMS)
        marks = table.schema.metadata
        if marks[b"checksum"] != _checksum(table).encode():
            raise ValueError(f"{SUMS} was altered: its checksum is wrong")
        if marks[b"study"] != _fingerprint(new.study).encode():
            raise ValueError(f"{SUMS} belongs to another study than {STUDY}")
        rows = table.to_pydict()
        for place, curve in enumerate(new.curves):
            if rows["runs"][place]:
                powers = {power: np.array(rows[power][place], dtype=np.float64) for power in POWERS}
                curve.moments = Moments(rows["runs"][place], **powers)
                curve.counts[0, rows["bins"][place]] = rows["counts"][place]
        new.dropped, new.stage = rows["dropped"], int(marks[b"stage"])
    except ProfitableError:
        raise
    except Exception as error:  # anything can be wrong with a file, and pyarrow has its own errors
        problem = f"holds a study that cannot be read ({' '.join(str(error).split())[:80]})"
        raise BrokenResultError("out", str(folder), problem, "make it again, or choose another folder") from None
    return new


def save_sums(state: Progressing, folder: Path) -> None:
    """Save the runs so far; NotSavedError if that is not possible."""
    pyarrow, parquet = arrow()
    columns: dict[str, list[Any]] = {
        "runs": [curve.runs for curve in state.curves],
        "dropped": state.dropped,
        "policy": [curve.policy for curve in state.curves],
    }
    for power in POWERS:
        columns[power] = [getattr(curve.moments, power).tolist() if curve.runs else [] for curve in state.curves]
    bins = [np.flatnonzero(curve.counts[0]) for curve in state.curves]
    columns["bins"] = [each.tolist() for each in bins]
    columns["counts"] = [curve.counts[0, each].tolist() for curve, each in zip(state.curves, bins, strict=True)]
    kinds = {"runs": pyarrow.int64(), "dropped": pyarrow.int64(), "policy": pyarrow.string()}
    kinds |= {power: pyarrow.list_(pyarrow.float64()) for power in POWERS}
    kinds |= {name: pyarrow.list_(pyarrow.int64()) for name in ("bins", "counts")}
    table = pyarrow.table(columns, schema=pyarrow.schema(kinds))
    marks = {"study": _fingerprint(state.study), "stage": str(state.stage), "checksum": _checksum(table)}
    table = table.replace_schema_metadata(marks)
    _write(folder, lambda: [replace_file(folder / SUMS, lambda path: parquet.write_table(table, path))], state)


def save_table(result: StudyResult, folder: Path) -> Path:
    """Write the table of a finished study."""
    pyarrow, parquet = arrow()
    table = pyarrow.table(result.columns())
    return _write(
        folder, lambda: [replace_file(folder / STUDY_TABLE, lambda path: parquet.write_table(table, path))], result
    )[0]


def save_finished(result: StudyResult, folder: Path) -> list[Path]:
    """Write everything but the page."""
    study = result.study
    last = 1 + max(len(study.stages(world)) for world in study.worlds)
    asked_for = _write(folder, lambda: [replace_text(folder / STUDY, seal(json_text(asked(study))))], result)
    save_sums(Progressing(study, last, list(result.curves), list(result.dropped)), folder)
    return [*asked_for, folder / SUMS, save_table(result, folder)]


def load(folder: Path) -> StudyResult:
    """A finished study; an error if there is none, or if it is broken or from a newer version."""
    path = folder / STUDY
    if not path.exists():
        raise BrokenResultError("folder", str(folder), f"has no {STUDY}", "give the folder of a study")
    found = _found(path, folder)
    if found is None:
        problem = f"has a {STUDY} that was altered: its checksum is wrong"
        raise BrokenResultError("folder", str(folder), problem, "make it again")
    fields = {key: value for key, value in found.items() if key not in ("format", "version", "checksum")}
    state = _continue(Progressing.new(Study(**fields, source=str(path))), folder)
    if not state.finished:
        raise BrokenResultError("folder", str(folder), "has a study that is not finished", "run the study again")
    return state.result()


def _write(folder: Path, write: Any, result: object) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return write()
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        failed = NotSavedError("out", str(folder), problem, "make room there, or choose another folder")
        failed.result = result
        raise failed from None


def _fingerprint(study: Study) -> str:
    return checksum_of(json.dumps(asked(study)))


def _checksum(table: Any) -> str:
    return checksum_of(json.dumps(table.to_pydict()))
