"""Time `profitable paper` with warm kernels, on all cores.

    .venv/bin/python benchmarks/paper.py [--quick]

The paper's own four experiments at full size (quick: a tenth of the runs, without a
bar), and all experiments with the report.  Wall time: the limits are for two free
cores.  Where the time goes, `timing.json` of a run says for each policy.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from common import seconds
from profitable.paper.command import reproduce
from profitable.paper.experiment import PAPER, choose
from profitable.paper.reproduction import conduct
from rows import Group, Row, alone, limited

FOUR, EVERYTHING = 60.0, 120.0  # seconds
TENTH = 1_000  # runs instead of 10 000


def timed(job: Callable[[Path], object], warm: Callable[[Path], object]) -> float:
    """Wall time of a job in an empty folder, after one that compiles its kernels."""
    with tempfile.TemporaryDirectory() as name:
        warm(Path(name) / "warm")
        return seconds(partial(job, Path(name) / "timed"))


def four(folder: Path, *, runs: int | None = None) -> object:
    experiments = choose(PAPER, variant="paper", runs=runs, quick=False)
    return conduct(experiments, folder=folder)


def four_experiments(*, runs: int | None) -> list[Row]:
    taken = timed(partial(four, runs=runs), partial(four, runs=100))
    if runs is None:
        return [limited("the paper's four experiments", taken, FOUR, "s")]
    job = "the paper's four experiments, a tenth of the runs"
    return [replace(limited(job, taken, FOUR / 10.0, "s"), bar=None)]


def everything() -> list[Row]:
    taken = timed(reproduce, partial(reproduce, runs=100))
    return [limited("all experiments of `profitable paper` and the report", taken, EVERYTHING, "s")]


def groups(*, quick: bool) -> Iterator[Group]:
    yield Group(
        "the paper's four experiments", partial(four_experiments, runs=TENTH if quick else None), 2
    )
    if not quick:
        yield Group("all experiments and the report", everything, 2)


if __name__ == "__main__":
    sys.exit(alone(groups))
