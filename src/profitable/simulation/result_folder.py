"""A result on disk: `result.json` (the manifest), `statistics.parquet` (the table) and `timing.json` (seconds).

The manifest holds what is needed to make the result again, and nothing about the machine.  Each row of the table is
one quantity over runs: its mean, standard error, squared deviations and extremes, for a policy, a checkpoint and, where
there is one, a category.  The rows of the regret also have the histogram from which quantiles are computed.

Each file is replaced as a whole, the table first.  So a simulation that is interrupted at any moment leaves a result
that can be read.
"""

import contextlib
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.files import replace_file, replace_json
from profitable.common.types import FloatArray, IntArray
from profitable.errors import BrokenResultError, InputError, NewerResultError, OtherResultError, ResultFolderError
from profitable.simulation.curve import QUANTILES, Curve, Layout
from profitable.simulation.result import Result
from profitable.simulation.running_stats import Moments, new_histogram
from profitable.simulation.scenario import Scenario

RESULT_FORMAT = 1
MANIFEST, TABLE, TIMING = "result.json", "statistics.parquet", "timing.json"
QUANTITIES = {  # name in the layout: name in the table
    "regret": "regret",
    "profitable": "regret of profitable categories",
    "unprofitable": "regret of unprofitable categories",
    "regret_rise": "regret from here to the last checkpoint",
    "profitable_rise": "regret of profitable categories from here to the last checkpoint",
    "unprofitable_rise": "regret of unprofitable categories from here to the last checkpoint",
    "accepted": "accepted rounds",
    "clients": "clients",
    "profit": "profit",
    "total_profit": "total profit",
    "right_set": "profitable set accepted",
}
DIFFERENCE = "regret less that of the other policy"


def manifest(result: Result) -> dict[str, Any]:
    """What determines the numbers, as JSON-ready values."""
    return {
        "format": RESULT_FORMAT,
        "version": result.version,
        "scenario": result.scenario.name,
        "horizon": result.horizon,
        "runs": result.runs,
        "finished": result.finished,
        "seed": result.seed,
        "checkpoints": result.checkpoints.tolist(),
        "common_random_numbers": result.pairs is not None,
        "lower_bound_per_log_t": result.scenario.lower_bound().total,
        "policies": [
            {"policy": curve.policy, "kernel": curve.kernel, "key": curve.key, "tail": curve.tail}
            for curve in result.curves
        ],
        "joined": result.joined,
        "warnings": result.notes(),
        "scenario_file": result.scenario.to_toml(),
    }


def save(result: Result, folder: Path) -> list[Path]:
    """Write a result into a folder, which is made if it does not exist."""
    pyarrow, parquet = _arrow()
    settings = manifest(result)
    table = pyarrow.table(_columns(result)).replace_schema_metadata({"simulation": fingerprint(result)})
    timing = {curve.policy: round(curve.seconds, 3) for curve in result.curves}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [
            replace_file(folder / TABLE, lambda path: parquet.write_table(table, path)),
            replace_json(folder / MANIFEST, settings),
            replace_json(folder / TIMING, timing),
        ]
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise ResultFolderError("out", str(folder), problem, "choose another folder") from None
    return written


def _columns(result: Result) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        key: [] for key in ("policy", "other", "quantity", "category", "t", "runs", "mean", "stderr")
    }
    columns |= {key: [] for key in ("squares", "low", "high", *(f"quantile_{share:g}" for share in QUANTILES))}
    columns |= {"bins": [], "counts": []}
    for curve in result.curves:
        for quantity, label in QUANTITIES.items():
            _add_rows(columns, curve, quantity, label, result.horizon)
    if result.pairs is not None:
        error = result.pairs.stderr()
        names, n = result.policies, result.checkpoints.size
        for i in range(result.pairs.mean.size):
            pair, place = divmod(i, n)
            first, second = divmod(pair, len(names))
            numbers = (result.pairs.mean[i], error[i], result.pairs.squares[i], result.pairs.low[i])
            head = (names[first], names[second], DIFFERENCE, None, int(result.checkpoints[place]), result.pairs.runs)
            empty = [None] * (len(QUANTILES) + 2)
            _append(columns, (*head, *map(float, numbers), float(result.pairs.high[i]), *empty))
    return columns


def _add_rows(columns: dict[str, list[Any]], curve: Curve, quantity: str, label: str, horizon: int) -> None:
    place = curve.layout.place(quantity)
    moments, error = curve.moments, curve.moments.stderr()
    quantiles = [curve.quantile(share) for share in QUANTILES]
    names = curve.scenario.names
    for i, column in enumerate(range(place.start, place.stop)):
        point = i % curve.t.size if quantity == "accepted" or place.stop - place.start == curve.t.size else -1
        category = None
        if quantity == "accepted":
            category = names[i // curve.t.size]
        elif quantity in ("clients", "profit"):
            category, point = names[i], -1
        elif quantity in ("total_profit", "right_set"):
            point = -1
        extra: list[Any] = [None] * (len(QUANTILES) + 2)
        if quantity == "regret":
            bins = np.flatnonzero(curve.counts[i])
            extra = [*(float(each[i]) for each in quantiles), bins.tolist(), curve.counts[i, bins].tolist()]
        numbers = (moments.mean[column], error[column], moments.squares[column], moments.low[column])
        head = (curve.policy, None, label, category, int(curve.t[point]) if point >= 0 else horizon, moments.runs)
        _append(columns, (*head, *map(float, numbers), float(moments.high[column]), *extra))


def _append(columns: dict[str, list[Any]], row: tuple[Any, ...]) -> None:
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)


def load(folder: Path) -> Result:
    """Read a result; an error if there is none, or if it is broken or from a newer version."""
    settings = _read_manifest(folder)
    _, parquet = _arrow()
    try:
        table = parquet.read_table(folder / TABLE)
        result = _restore(settings, table.to_pydict(), _timing(folder))
        if table.schema.metadata[b"simulation"] != fingerprint(result).encode():
            raise ValueError(f"{TABLE} belongs to another simulation than {MANIFEST}")
        return result
    except Exception as error:  # anything can be wrong with a file, and pyarrow has its own errors
        problem = f"holds no result that can be read ({' '.join(str(error).split())[:80]})"
        raise BrokenResultError("out", str(folder), problem, "make it again, or choose another folder") from None


def _timing(folder: Path) -> dict[str, float]:
    """Seconds by policy.  Nothing depends on them, so a file that cannot be read is ignored."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads((folder / TIMING).read_text(encoding="utf-8"))
        return {name: float(value) for name, value in found.items()}
    return {}


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        settings = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        newest = settings["format"]
    except OSError as error:
        problem = f"has no {MANIFEST} that can be read ({error.strerror or error})"
        raise BrokenResultError("out", str(folder), problem, "give the folder of a saved result") from None
    except (ValueError, KeyError, TypeError):
        problem = f"has a {MANIFEST} that is no manifest of a result"
        raise BrokenResultError("out", str(folder), problem, "choose another folder") from None
    if not isinstance(newest, int):
        problem = f"has a {MANIFEST} that is no manifest of a result"
        raise BrokenResultError("out", str(folder), problem, "choose another folder")
    if newest > RESULT_FORMAT:
        problem = f"was made by a newer version ({settings.get('version')}, format {newest})"
        remedy = f"install that version; this one reads format {RESULT_FORMAT}"
        raise NewerResultError("out", str(folder), problem, remedy)
    return settings


def _restore(settings: dict[str, Any], rows: dict[str, list[Any]], timing: dict[str, float]) -> Result:
    scenario = Scenario.from_toml(settings["scenario_file"])
    t: IntArray = np.array(settings["checkpoints"], dtype=np.int64)
    layout = Layout(t.size, len(scenario.truths))
    policies, labels = np.array(rows["policy"]), np.array(rows["quantity"])
    curves: list[Curve] = []
    for entry in settings["policies"]:
        moments, counts = Moments.empty(layout.size), new_histogram(t.size)
        for quantity, label in QUANTITIES.items():
            found = np.flatnonzero((policies == entry["policy"]) & (labels == label))
            place = layout.place(quantity)
            moments.runs = rows["runs"][found[0]]
            for name in ("mean", "squares", "low", "high"):
                getattr(moments, name)[place] = _numbers(rows[name], found)
            if quantity == "regret":
                for i, row in enumerate(found):
                    counts[i, rows["bins"][row]] = rows["counts"][row]
        name = entry["policy"]
        seconds = float(timing.get(name, 0.0))
        extra = {"key": entry["key"], "tail": entry["tail"]}
        curves.append(Curve(name, entry["kernel"], scenario, t, moments, counts, seconds, **extra))
    if len({curve.runs for curve in curves}) != 1 and not settings["joined"]:
        raise ValueError("its policies have different numbers of runs")
    pairs = None
    if settings["common_random_numbers"]:
        found = np.flatnonzero(labels == DIFFERENCE)
        numbers = [_numbers(rows[name], found) for name in ("mean", "squares", "low", "high")]
        pairs = Moments(rows["runs"][found[0]], *numbers)
    head = (scenario, settings["horizon"], settings["runs"], settings["seed"], t, curves, pairs, settings["version"])
    return Result(*head, joined=settings["joined"])


def _numbers(column: list[float], places: IntArray) -> FloatArray:
    return np.array([column[place] for place in places], dtype=np.float64)


class Keeper:
    """The folder in which a running simulation keeps its result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _arrow()
        if (folder / MANIFEST).exists():
            try:
                _read_manifest(folder)
            except NewerResultError:
                raise
            except BrokenResultError:
                problem = f"holds a {MANIFEST} that is not ours"
                remedy = f"choose another folder, or delete {folder / MANIFEST}"
                raise ResultFolderError("out", str(folder), problem, remedy) from None
        self._check_writable()

    def _check_writable(self) -> None:
        """ResultFolderError, before the work starts, if the folder cannot be written; leaves nothing behind."""
        made = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            raise ResultFolderError("out", str(self.folder), problem, "choose another folder") from None
        finally:
            for path in made:
                if path.exists() and not any(path.iterdir()):
                    path.rmdir()

    def save(self, result: Result) -> None:
        """Save the finished runs, if there are any."""
        if result.finished:
            save(result, self.folder)

    def earlier(self, wanted: Result, block: int) -> Result | None:
        """The result that an earlier run of the same simulation left in the folder; None if there is none.

        The number of runs may have been another one, if the earlier run ended with a full block of `block` runs.
        """
        if not (self.folder / MANIFEST).exists():
            return None
        found = load(self.folder)
        old, new = manifest(found), manifest(wanted)
        if found.finished == wanted.runs or (found.finished < wanted.runs and found.finished % block == 0):
            old["runs"] = new["runs"]  # more runs are the same runs, and further ones
        for key in old:
            if key not in ("finished", "warnings") and old[key] != new[key]:
                problem = f"holds another simulation: its {key} is {old[key]!r}, not {new[key]!r}"
                remedy = "choose another folder, or leave out resume to start again"
                raise OtherResultError("out", str(self.folder), problem, remedy)
        found.runs = wanted.runs
        return found


def forget(folder: Path) -> None:
    """Delete a result, and the folder if nothing else is in it."""
    for name in (MANIFEST, TABLE, TIMING):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def fingerprint(result: Result) -> str:
    """A short name that all results of the same simulation share, whatever their number of runs."""
    settings = {
        key: value for key, value in manifest(result).items() if key not in ("finished", "warnings", "runs", "version")
    }
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "run: pip install 'profitable[results]'"
        raise InputError("pyarrow", None, "is not installed, and results are kept as Parquet", remedy) from None
    return pyarrow, parquet
