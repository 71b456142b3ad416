"""A result on disk: `result.json` (the manifest), `statistics.parquet` (the table) and `timing.json` (seconds).

The manifest holds what is needed to make the result again, and nothing about the machine.  Each row of the table is
one quantity over runs: its mean, standard error, squared deviations and extremes, for a policy, a checkpoint and, where
there is one, a category.  The rows of the regret also have the histogram from which quantiles are computed.

Each file is replaced as a whole, the table first.  So a simulation that is interrupted at any moment leaves a result
that can be read.  Each of the two files carries its own checksum, so that an altered one is not read.  The table also
says which simulation it belongs to.  (In format 1 there were no checksums, and no third and fourth powers.)
"""

import contextlib
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.extras import extra
from profitable.common.files import (
    checksum_of,
    is_sealed,
    json_text,
    read_text,
    replace_file,
    replace_json,
    replace_text,
    seal,
)
from profitable.common.types import FloatArray, IntArray
from profitable.errors import BrokenResultError, InputError, NewerResultError, NotSavedError
from profitable.policy.policies import Policy
from profitable.simulation.curve import QUANTILES, Curve, Layout
from profitable.simulation.result import Result
from profitable.simulation.running_stats import Moments, new_histogram
from profitable.simulation.scenario import Scenario, unlucky_starts
from profitable.simulation.tilted_runs import lost_for_good
from profitable.theory.lost_for_good import LostForGood
from profitable.theory.unlucky_start import UnluckyStarts

RESULT_FORMAT = 2
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
    "lost": "profitable category rejected in more than half of the rounds",
}
ADDED = ("lost",)  # unknown in results that were saved before it was added
DIFFERENCE = "regret less that of the other policy"
POWERS = ("mean", "squares", "low", "high", "cubes", "fourths")  # columns of the table, and fields of Moments
# Not part of the fingerprint:
NOT_SETTINGS = ("finished", "warnings", "runs", "version", "unlucky_starts", "lost_for_good", "checksum")


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
        "lower_bound_per_log_t": result.scenario.lower_bound_per_log_t(),
        "policies": [{"policy": curve.policy, "kernel": curve.kernel, "key": curve.key} for curve in result.curves],
        "unlucky_starts": {curve.policy: asdict(curve.unlucky) for curve in result.curves},
        "lost_for_good": {
            curve.policy: asdict(curve.lost_for_good) for curve in result.curves if curve.lost_for_good is not None
        },
        "joined": result.joined,
        "warnings": result.notes(),
        "scenario_file": result.scenario.to_toml(),
    }


def save(result: Result, folder: Path) -> list[Path]:
    """Write a result into a folder, which is made if it does not exist; NotSavedError if that is not possible."""
    pyarrow, parquet = arrow()
    settings = manifest(result)
    table = pyarrow.table(_columns(result))
    marks = {"simulation": fingerprint(settings), "checksum": _checksum(table)}
    table = table.replace_schema_metadata(marks)
    timing = {curve.policy: round(curve.seconds, 3) for curve in result.curves}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [
            replace_file(folder / TABLE, lambda path: parquet.write_table(table, path)),
            replace_text(folder / MANIFEST, seal(json_text(settings))),
            replace_json(folder / TIMING, timing),
        ]
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        failed = NotSavedError("out", str(folder), problem, "make room there, or choose another folder")
        failed.result = result
        raise failed from None


def _checksum(table: Any) -> str:
    """The checksum of a table's values, with the names of its columns."""
    return checksum_of(json.dumps(table.to_pydict()))


def _columns(result: Result) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        key: [] for key in ("policy", "other", "quantity", "category", "t", "runs", "mean", "stderr")
    }
    columns |= {key: [] for key in (*POWERS[1:], *(f"quantile_{share:g}" for share in QUANTILES), "bins", "counts")}
    for curve in result.curves:
        for quantity, label in QUANTITIES.items():
            _add_rows(columns, curve, quantity, label, result.horizon)
    if result.pairs is not None:
        error = result.pairs.stderr()
        names, n = result.policies, result.checkpoints.size
        for i in range(result.pairs.mean.size):
            pair, place = divmod(i, n)
            first, second = divmod(pair, len(names))
            head = (names[first], names[second], DIFFERENCE, None, int(result.checkpoints[place]), result.pairs.runs)
            _append(columns, (*head, *_numbers_at(result.pairs, error, i), *[None] * (len(QUANTILES) + 2)))
    return columns


def _add_rows(columns: dict[str, list[Any]], curve: Curve, quantity: str, label: str, horizon: int) -> None:
    place = curve.layout.place(quantity)
    moments, error = curve.moments, curve.moments.stderr()
    quantiles = [curve.quantile(share) for share in QUANTILES] if quantity == "regret" else []
    names = curve.scenario.names
    for i, column in enumerate(range(place.start, place.stop)):
        point = i % curve.t.size if quantity == "accepted" or place.stop - place.start == curve.t.size else -1
        category = None
        if quantity == "accepted":
            category = names[i // curve.t.size]
        elif quantity in ("clients", "profit"):
            category, point = names[i], -1
        elif quantity in ("total_profit", "right_set", "lost"):
            point = -1
        extra: list[Any] = [None] * (len(QUANTILES) + 2)
        if quantity == "regret":
            bins = np.flatnonzero(curve.counts[i])
            extra = [*(float(each[i]) for each in quantiles), bins.tolist(), curve.counts[i, bins].tolist()]
        head = (curve.policy, None, label, category, int(curve.t[point]) if point >= 0 else horizon, moments.runs)
        _append(columns, (*head, *_numbers_at(moments, error, column), *extra))


def _numbers_at(moments: Moments, error: FloatArray, place: int) -> list[float]:
    first, *others = (float(getattr(moments, power)[place]) for power in POWERS)
    return [first, float(error[place]), *others]


def _append(columns: dict[str, list[Any]], row: tuple[Any, ...]) -> None:
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)


def load(folder: Path) -> Result:
    """Read a result; an error if there is none, or if it is broken, altered or from a newer version."""
    settings, text = read_manifest(folder)
    check_manifest(folder, settings, text)
    _, parquet = arrow()
    try:
        table = parquet.read_table(folder / TABLE)
        marks = table.schema.metadata
        if marks[b"simulation"] != fingerprint(settings).encode():
            raise ValueError(f"{TABLE} belongs to another simulation than {MANIFEST}")
        if (settings["format"] > 1 or b"checksum" in marks) and marks[b"checksum"] != _checksum(table).encode():
            raise ValueError(f"{TABLE} was altered: its checksum is wrong")
        return _restore(settings, table.to_pydict(), _timing(folder))
    except Exception as error:  # anything can be wrong with a file, and pyarrow has its own errors
        problem = f"holds a result that cannot be read ({' '.join(str(error).split())[:80]})"
        raise BrokenResultError("out", str(folder), problem, "make it again, or choose another folder") from None


def _timing(folder: Path) -> dict[str, float]:
    """Seconds by policy.  Nothing depends on them, so a file that cannot be read is ignored."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads(read_text(folder / TIMING))
        return {name: float(value) for name, value in found.items()}
    return {}


def read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    """The manifest of a result as values and as text; BrokenResultError if there is none."""
    try:
        text = read_text(folder / MANIFEST)
        settings = json.loads(text)
        if not isinstance(settings["format"], int):
            raise TypeError
    except OSError as error:
        problem = f"has no {MANIFEST} that can be read ({error.strerror or error})"
        raise BrokenResultError("out", str(folder), problem, "give the folder of a saved result") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = f"has a {MANIFEST} that is not the manifest of a result"
        raise BrokenResultError("out", str(folder), problem, "choose another folder") from None
    return settings, text


def check_manifest(folder: Path, settings: dict[str, Any], text: str) -> None:
    """An error if a manifest was altered, or is from a newer version."""
    if (settings["format"] == RESULT_FORMAT or "checksum" in settings) and not is_sealed(text):
        problem = f"has a {MANIFEST} that was altered: its checksum is wrong"
        raise BrokenResultError("out", str(folder), problem, "make it again, or choose another folder")
    if settings["format"] > RESULT_FORMAT:
        problem = f"was made by a newer version ({settings.get('version')}, format {settings['format']})"
        remedy = f"install that version; this one reads formats up to {RESULT_FORMAT}"
        raise NewerResultError("out", str(folder), problem, remedy)


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
            if not found.size and quantity in ADDED:
                for power in POWERS:
                    getattr(moments, power)[place] = np.nan
                continue
            moments.runs = rows["runs"][found[0]]
            for power in POWERS:
                getattr(moments, power)[place] = _numbers(rows, power, found)
            if quantity == "regret":
                for i, row in enumerate(found):
                    counts[i, rows["bins"][row]] = rows["counts"][row]
        name = entry["policy"]
        head = (name, entry["kernel"], scenario, t, moments, counts, timing.get(name, 0.0))
        unlucky, lost = _unlucky_starts(settings, entry, scenario), _lost_for_good(settings, entry, scenario, t)
        curves.append(Curve(*head, key=entry["key"], unlucky=unlucky, lost_for_good=lost))
    if len({curve.runs for curve in curves}) != 1 and not settings["joined"]:
        raise ValueError("its policies have different numbers of runs")
    pairs = None
    if settings["common_random_numbers"]:
        found = np.flatnonzero(labels == DIFFERENCE)
        pairs = Moments(rows["runs"][found[0]], **{power: _numbers(rows, power, found) for power in POWERS})
    runs = max(settings["runs"], *(curve.runs for curve in curves))  # the table may be newer than the manifest
    head = (scenario, settings["horizon"], runs, settings["seed"], t, curves, pairs, settings["version"])
    return Result(*head, joined=settings["joined"])


def _numbers(rows: dict[str, list[Any]], name: str, places: IntArray) -> FloatArray:
    if name not in rows:  # format 1 has no third and fourth powers
        return np.full(places.size, np.nan)
    return np.array([rows[name][place] for place in places], dtype=np.float64)


def _unlucky_starts(settings: dict[str, Any], entry: dict[str, Any], scenario: Scenario) -> UnluckyStarts:
    """`Curve.unlucky`: format 2 keeps it, format 1 does not."""
    if settings["format"] > 1:
        kept = settings["unlucky_starts"][entry["policy"]]
        rates = () if kept.get("ahead") else tuple(kept["rates"])
        return UnluckyStarts(rates, kept["c"], kept.get("known", True))
    try:
        return unlucky_starts(scenario, Policy.parse(entry["key"]), settings["horizon"])
    except InputError:  # a policy of the user's own, or one with a prior of its own
        return UnluckyStarts(known=False)


def _lost_for_good(
    settings: dict[str, Any], entry: dict[str, Any], scenario: Scenario, t: IntArray
) -> LostForGood | None:
    """`Curve.lost_for_good`, which older results do not keep."""
    if "lost_for_good" in settings:
        kept = settings["lost_for_good"].get(entry["policy"])
        return None if kept is None else LostForGood(**{key: tuple(values) for key, values in kept.items()})
    try:
        size: dict[str, Any] = {"horizon": settings["horizon"], "checkpoints": t, "seed": settings["seed"]}
        return lost_for_good(scenario, Policy.parse(entry["key"]), **size)
    except InputError:
        return None


def forget(folder: Path) -> None:
    """Delete a result, and its folder if that is then empty."""
    for name in (MANIFEST, TABLE, TIMING):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def fingerprint(settings: dict[str, Any]) -> str:
    """A short name that all results of the same simulation share, whatever their number of runs."""
    shared = {key: value for key, value in settings.items() if key not in NOT_SETTINGS}
    return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]


def arrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet; InputError if they are not installed."""
    with extra("results", "results are kept as Parquet"):
        import pyarrow
        from pyarrow import parquet
    return pyarrow, parquet
