"""A result on disk: a manifest, a table, and the seconds it took.

The manifest (`result.json`) holds what is needed to make the result again, and nothing
about the machine.  Each row of the table (`statistics.parquet`) is one quantity over
runs: its mean, standard error, squared deviations and extremes, for a policy, a
checkpoint and, where there is one, a category.  The rows of the regret also have the
histogram from which quantiles are computed.

Each file is replaced as a whole, the table first.  So a simulation that is interrupted
at any moment leaves a result that can be read.  Each of the two files carries its own
checksum, so that an altered one is not read.  The table also names its simulation.
`timing.json` has the seconds of each policy.
"""

import hashlib
import json
import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.files import (
    is_sealed,
    json_text,
    read_text,
    replace_json,
    replace_text,
    saving,
    seal,
)
from profitable.common.locks import occupied
from profitable.common.sealed_folder import (
    arrow,
    newer,
    not_ours,
    read_table,
    reading,
    refuse_other,
    write_table,
)
from profitable.common.types import FloatArray, IntArray
from profitable.errors import BrokenResultError
from profitable.simulation.curve import QUANTILES, Curve
from profitable.simulation.result import Result
from profitable.simulation.running_stats import Moments
from profitable.simulation.scenario import Scenario
from profitable.simulation.settings import BLOCK
from profitable.theory.unlucky_start import LostForGood, UnluckyStarts

logger = logging.getLogger("profitable")
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
DIFFERENCE = "regret less that of the other policy"
# Columns that only the rows of the regret have.
OF_REGRET = (*(f"quantile_{share:g}" for share in QUANTILES), "bins", "counts")
# Columns of the table, and fields of Moments.
POWERS = ("mean", "squares", "low", "high", "cubes", "fourths")
# Not part of the fingerprint:
NOT_SETTINGS = (
    "finished",
    "warnings",
    "runs",
    "version",
    "unlucky_starts",
    "lost_for_good",
    "checksum",
)


def manifest(result: Result) -> dict[str, Any]:
    """Return the settings that determine the numbers, as JSON-ready values."""
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
        "policies": [
            {"policy": curve.policy, "kernel": curve.kernel, "key": curve.key}
            for curve in result.curves
        ],
        "unlucky_starts": {curve.policy: asdict(curve.unlucky) for curve in result.curves},
        "lost_for_good": {
            curve.policy: asdict(curve.lost_for_good)
            for curve in result.curves
            if curve.lost_for_good is not None
        },
        "joined": result.joined,
        "warnings": result.notes(),
        "scenario_file": result.scenario.to_toml(),
    }


def save(result: Result, folder: Path) -> list[Path]:
    """Write a result into a folder, creating it; NotSavedError if that fails."""
    settings = manifest(result)
    table = arrow()[0].Table.from_pylist(list(_rows(result)))
    with saving(folder, result=result):
        folder.mkdir(parents=True, exist_ok=True)
        return [
            write_table(folder / TABLE, table, {"simulation": fingerprint(settings)}),
            replace_text(folder / MANIFEST, seal(json_text(settings))),
            replace_json(
                folder / TIMING, {each.policy: round(each.seconds, 3) for each in result.curves}
            ),
        ]


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    for curve in result.curves:
        quantiles = [curve.quantile(share).tolist() for share in QUANTILES]
        error = curve.moments.stderr()
        for quantity, label in QUANTITIES.items():
            first = curve.layout.place(quantity).start
            for i, (category, t) in enumerate(_points(curve, quantity, result.horizon)):
                head = (curve.policy, None, label, category, t)
                row = _row(head, curve.moments, error, first + i)
                if quantity == "regret":
                    bins = np.flatnonzero(curve.counts[i])
                    counted = (bins.tolist(), curve.counts[i, bins].tolist())
                    row |= zip(
                        OF_REGRET, (*(column[i] for column in quantiles), *counted), strict=True
                    )
                yield row
    if result.pairs is not None:
        error, names = result.pairs.stderr(), result.policies
        heads = product(names, names, [DIFFERENCE], [None], result.checkpoints.tolist())
        for place, head in enumerate(heads):
            yield _row(head, result.pairs, error, place)


def _points(curve: Curve, quantity: str, horizon: int) -> list[tuple[str | None, int]]:
    """Return the category, if any, and the round of each column of a quantity."""
    rounds: list[int] = curve.t.tolist()
    if quantity == "accepted":
        return list(product(curve.scenario.names, rounds))
    if quantity in ("clients", "profit"):
        return [(name, horizon) for name in curve.scenario.names]
    if quantity in ("total_profit", "right_set", "lost"):
        return [(None, horizon)]
    return [(None, t) for t in rounds]


def _row(head: tuple[Any, ...], moments: Moments, error: FloatArray, place: int) -> dict[str, Any]:
    mean, *others = (float(getattr(moments, power)[place]) for power in POWERS)
    return {
        **dict(zip(("policy", "other", "quantity", "category", "t"), head, strict=True)),
        "runs": moments.runs,
        "mean": mean,
        "stderr": float(error[place]),
        **dict(zip(POWERS[1:], others, strict=True)),
        **dict.fromkeys(OF_REGRET),
    }


def load(folder: Path) -> Result:
    """Read a result.

    It is an error if there is none, or if it is broken, altered or from a newer
    version.
    """
    settings, text = read_manifest(folder)
    check_manifest(folder, settings, text)
    with reading(folder, "result"):
        columns, _ = read_table(folder / TABLE, MANIFEST, "simulation", fingerprint(settings))
        return _restore(settings, columns, _timing(folder))


def _timing(folder: Path) -> dict[str, float]:
    """Return seconds by policy.

    Nothing depends on them, so a file that cannot be read is ignored.
    """
    with suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads(read_text(folder / TIMING))
        return {name: float(value) for name, value in found.items()}
    return {}


def read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the manifest as values and as text; BrokenResultError if there is none."""
    try:
        text = read_text(folder / MANIFEST)
        settings = json.loads(text)
        if not isinstance(settings["format"], int):
            raise TypeError
    except OSError as error:
        raise BrokenResultError(
            "out",
            str(folder),
            f"has no {MANIFEST} that can be read ({error.strerror or error})",
            "give the folder of a saved result",
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BrokenResultError(
            "out",
            str(folder),
            f"has a {MANIFEST} that is not the manifest of a result",
            "choose another folder",
        ) from None
    return settings, text


def check_manifest(folder: Path, settings: dict[str, Any], text: str) -> None:
    """Raise an error if a manifest was altered, or is from another version."""
    is_newer = settings["format"] > RESULT_FORMAT  # and may seal its manifests in another way
    if not is_sealed(text) and ("checksum" in settings or not is_newer):
        raise BrokenResultError(
            "out",
            str(folder),
            f"has a {MANIFEST} that was altered: its checksum is wrong",
            "make it again, or choose another folder",
        )
    if is_newer:
        raise newer(folder, settings, f"format {RESULT_FORMAT}")


def _restore(
    settings: dict[str, Any], columns: dict[str, list[Any]], timing: dict[str, float]
) -> Result:
    scenario = Scenario.from_toml(settings["scenario_file"])
    t: IntArray = np.array(settings["checkpoints"], dtype=np.int64)
    policies, labels = np.array(columns["policy"]), np.array(columns["quantity"])
    curves: list[Curve] = []
    for entry in settings["policies"]:
        name = entry["policy"]
        kept, lost = settings["unlucky_starts"][name], settings["lost_for_good"].get(name)
        if lost is not None:
            lost = LostForGood(**{key: tuple(values) for key, values in lost.items()})
        curve = Curve.empty(
            name,
            entry["kernel"],
            scenario,
            t,
            key=entry["key"],
            unlucky=UnluckyStarts(tuple(kept["rates"]), kept["c"], kept["known"]),
            lost_for_good=lost,
        )
        curve.seconds = timing.get(name, 0.0)
        for quantity, label in QUANTITIES.items():
            found = np.flatnonzero((policies == name) & (labels == label))
            place = curve.layout.place(quantity)
            for power in POWERS:
                getattr(curve.moments, power)[place] = _numbers(columns, power, found)
            curve.moments.runs = columns["runs"][found[0]]
            if quantity == "regret":
                for i, row in enumerate(found):
                    curve.counts[i, columns["bins"][row]] = columns["counts"][row]
        curves.append(curve)
    if len({curve.runs for curve in curves}) != 1 and not settings["joined"]:
        raise ValueError("its policies have different numbers of runs")
    pairs = None
    if settings["common_random_numbers"]:
        found = np.flatnonzero(labels == DIFFERENCE)
        pairs = Moments(
            columns["runs"][found[0]],
            **{power: _numbers(columns, power, found) for power in POWERS},
        )
    return Result(
        scenario,
        settings["horizon"],
        max(settings["runs"], *(curve.runs for curve in curves)),  # the table may be newer
        settings["seed"],
        t,
        curves,
        pairs,
        settings["version"],
        settings["joined"],
    )


def _numbers(columns: dict[str, list[Any]], name: str, places: IntArray) -> FloatArray:
    return np.array([columns[name][place] for place in places], dtype=np.float64)


def forget(folder: Path) -> None:
    """Delete a result, and its folder if that is then empty."""
    for name in (MANIFEST, TABLE, TIMING):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def fingerprint(settings: dict[str, Any]) -> str:
    """Return a short name for all results of a simulation, whatever their runs."""
    shared = {key: value for key, value in settings.items() if key not in NOT_SETTINGS}
    return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]


@contextmanager
def keeping(folder: Path) -> Generator[None]:
    """Lock a result folder that a simulation fills; an error if it cannot be filled."""
    arrow()
    if (folder / MANIFEST).exists():
        try:
            found = read_manifest(folder)
        except BrokenResultError:
            raise not_ours(folder / MANIFEST) from None
        with suppress(BrokenResultError):  # ours, but altered: `start` decides
            check_manifest(folder, *found)
    with occupied(folder):
        yield


def start(folder: Path, wanted: Result, *, resume: bool, fresh: bool) -> Result:
    """Return an earlier result of the same simulation in a locked folder, or `wanted`.

    With `fresh` it is always `wanted`.  With `resume` a broken result is an error;
    without, it is computed again.
    """
    if fresh:
        return wanted
    try:
        return earlier(folder, wanted) or wanted
    except BrokenResultError as error:
        if resume:
            raise
        logger.warning("%s It is computed again.", error)
        return wanted


def earlier(folder: Path, wanted: Result) -> Result | None:
    """Return the earlier result of the same simulation; None if there is none.

    It may have fewer runs than wanted, if it ended with a full block.
    """
    if not (folder / MANIFEST).exists():
        return None
    found = load(folder)
    old, new = manifest(found), manifest(wanted)
    is_whole = found.finished % BLOCK == 0  # more runs start with the same runs
    if found.finished == wanted.runs or (found.finished < wanted.runs and is_whole):
        old["runs"] = new["runs"]
    kept = [key for key in old if key not in NOT_SETTINGS or key in ("runs", "version")]
    refuse_other(folder, "simulation", old, new, kept)
    found.runs = wanted.runs
    return found
