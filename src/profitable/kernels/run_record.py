"""A run of one policy in one category: the problem it is given, what it keeps, and how time passes.

The categories do not compete, so each is simulated by itself.  A run is one record of numbers (`RUN`), handed from step
to step: `run.now` is the number of rounds gone, `run.total` the sum of the statistics seen.

Example: `pass_rounds(run, 120, True, tables)` at `run.now == 100` accepts the rounds 101 to 120.  It adds 20 to
`run.rounds` and fills the checkpoints that lie between.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray, Record
from profitable.kernels.arrivals import ArrivalLaw
from profitable.kernels.compile import inlined, kernel, part
from profitable.kernels.patience import Patience
from profitable.kernels.record import PENDING as PENDING
from profitable.kernels.record import RUN as RUN
from profitable.kernels.rewards import Truth
from profitable.kernels.view import CodedView

NEVER = np.iinfo(np.int64).max


class Signal(IntEnum):
    """Places in the array by which threads talk: the caller writes STOP, the kernel counts finished runs in DONE."""

    STOP = 0
    DONE = 1


class Problem(NamedTuple):
    """One policy in one category, until the horizon."""

    sight: CodedView  # what the policy sees (numba reserves the name `view`)
    patience: Patience  # how patient it is
    threshold: float  # in the units of the statistic
    smallest: float  # the smallest statistic a client can have; -inf if there is none
    blocks: bool  # whether many rounds may be accepted at once
    truth: Truth  # what clients bring
    arrivals: ArrivalLaw  # how many come
    horizon: int


class Tables(NamedTuple):
    """The arrays of a run, or of many: what it reads, and where it writes what it has done at each checkpoint.

    They are kept apart from the numbers of the problem because passing arrays on costs time.  A phase is a stretch of
    rounds in which the truth stays the same.
    """

    ends: IntArray  # [phases]: the last round of each
    means: FloatArray  # [phases]: the mean of the statistic in each
    cells: FloatArray  # [phases, 4, D + 1], or [4, D + 1] in one phase: rewards told apart (`kernels/rewards.py`)
    listed: IntArray  # [T + 1] or empty: clients of the first 0, 1, 2, ... rounds, if they are written down
    times: IntArray  # [n]: the checkpoints
    accepted: IntArray  # [runs, n], or [n] for one run: accepted rounds up to each
    counted: IntArray  # the same: accepted clients, if they are listed; else clients are no more than rounds say


@inlined
def of_run(tables: Tables, place: int, phase: int) -> Tables:
    """The tables of one run in one phase."""
    cells, accepted, counted = tables.cells[phase], tables.accepted[place], tables.counted[place]
    return Tables(tables.ends, tables.means, cells, tables.listed, tables.times, accepted, counted)


@inlined
def in_phase(problem: Problem, tables: Tables, phase: int) -> Problem:
    """The problem in one phase: its truth, until its last round."""
    whole = problem.truth
    truth = Truth(
        whole.law,
        tables.means[phase],
        whole.statistic,
        whole.feed,
        whole.is_cut,
        whole.cut_low,
        whole.cut_high,
    )
    return Problem(
        problem.sight,
        problem.patience,
        problem.threshold,
        problem.smallest,
        problem.blocks,
        truth,
        problem.arrivals,
        min(problem.horizon, tables.ends[phase]),
    )


@inlined
def pass_rounds(run: Record, until: int, accepted: bool, tables: Tables) -> None:
    """Let time pass to round `until`, all rounds accepted or none, and fill the checkpoints."""
    step = int(accepted)
    if until >= run.next_time:
        _fill_checkpoints(run, until, step, tables)
    run.rounds += step * (until - run.now)
    run.taken += step * (until - run.now)
    run.now = until
    run.accepted_last = step


@part
def _fill_checkpoints(run: Record, until: int, step: int, tables: Tables) -> None:
    place = run.checkpoint
    times, listed = tables.times, tables.listed
    while place < times.size and times[place] <= until:
        tables.accepted[place] = run.rounds + step * (times[place] - run.now)
        if listed.size > 0:
            tables.counted[place] = run.arrived + step * (listed[times[place]] - listed[run.now])
        place += 1
    run.checkpoint = place
    run.next_time = times[place] if place < times.size else NEVER


@kernel
def new_sample(cells: FloatArray, keeps: bool) -> FloatArray:
    """Room for values and how often each came, [2, places]: the cells of whole-number rewards, or space that grows."""
    told_apart = cells.shape[1] - 1
    sample = np.ones((2, max(told_apart + 1, 64) if keeps else 1))
    for cell in range(told_apart if keeps else 0):
        sample[0, cell] = cells[1, cell]
        sample[1, cell] = 0.0
    return sample
