"""A run of one policy in one category: its problem, its numbers, its clock.

The categories do not compete, so each is simulated by itself.  A run is one record of
numbers (`RUN`), handed from step to step: `run.now` is the number of rounds gone,
`run.total` the sum of the statistics seen.

Example: `pass_rounds(run, 120, True, tables)` at `run.now == 100` accepts the rounds
101 to 120.  It adds 20 to `run.rounds` and fills the checkpoints that lie between.
"""

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray, Record
from profitable.kernels.arrivals import ArrivalLaw
from profitable.kernels.coded_view import CodedView
from profitable.kernels.compile import inlined, kernel, part
from profitable.kernels.law import Law
from profitable.kernels.patience import Patience
from profitable.kernels.statistic import CodedStatistic

NEVER = np.iinfo(np.int64).max

RUN = np.dtype(
    [
        # where it stands
        ("now", np.int64),  # rounds gone
        ("rounds", np.int64),  # rounds accepted
        ("taken", np.float64),  # as how many they count: fewer if rounds are forgotten
        ("accepted_last", np.int64),  # whether the latest round was accepted, 0 or 1
        ("checkpoint", np.int64),  # the place of the next one to fill
        ("next_time", np.int64),  # its round; 0 at the start, which says: look it up
        ("pending", np.int64),  # entries in the pile of rounds whose arrivals are drawn already
        # what it has seen
        ("arrived", np.int64),  # clients accepted
        ("clients", np.float64),  # the same as a float
        ("total", np.float64),  # the sum of their statistics
        ("squares", np.float64),  # of the squared statistics, for rules that need the spread
        ("revenue", np.float64),  # of their rewards
        # Squared deviations from their mean, where batches are drawn with them
        # (`MOMENTS`).
        ("spread", np.float64),
        # the sample: distinct values and how often each came, for rules that need them
        ("kept", np.int64),  # values in it
        ("resolved", np.int64),  # how many of these are single rewards (`run_evidence.py`)
        ("multiplier", np.float64),  # where the dual of KL-Emp-UCB was solved last
        ("at_largest", np.float64),  # that dual at its largest multiplier
        ("slope", np.float64),  # and its slope there
    ],
    align=True,
)

# Rounds ahead, their Poisson arrivals.
PENDING = np.dtype([("rounds", np.int64), ("extra", np.int64)], align=True)

Run = Annotated[Record, RUN]


class Feed(IntEnum):
    """Ways to draw a batch of rewards (`kernels/rewards.py` has a table)."""

    SUM = 0
    CELLS = 1
    SINGLES = 2
    PIECES = 3
    MOMENTS = 4


class TrueLaw(NamedTuple):
    """The true law of a category's rewards, and what the policy sees of them."""

    law: Law  # of the family's statistic
    mean: float  # of the statistic
    statistic: CodedStatistic  # how a reward follows from it
    feed: int
    # Whether the policy sees the reward itself, cut into the interval below; else it
    # sees the statistic.
    is_cut: bool
    cut_low: float
    cut_high: float


class Signal(IntEnum):
    """Places of the array shared with the caller, who writes STOP.

    The kernel counts finished runs in DONE.
    """

    STOP = 0
    DONE = 1


class Problem(NamedTuple):
    """One policy in one category, until the horizon."""

    sight: CodedView  # what the policy sees (numba reserves the name `view`)
    patience: Patience  # how patient it is
    threshold: float  # in the units of the statistic
    smallest: float  # the smallest statistic a client can have; -inf if there is none
    blocks: bool  # whether many rounds may be accepted at once
    truth: TrueLaw  # what clients bring
    arrivals: ArrivalLaw  # how many come
    horizon: int


class RunTables(NamedTuple):
    """The arrays of one or more runs: inputs, and outputs at each checkpoint.

    They are kept apart from the numbers of the problem because passing arrays on costs
    time.  A phase is a stretch of rounds in which the truth stays the same.
    """

    ends: IntArray  # [phases]: the last round of each
    means: FloatArray  # [phases]: the mean of the statistic in each
    # [phases, 4, D + 1], or [4, D + 1] in one phase: distinct rewards
    # (`kernels/rewards.py`).
    cells: FloatArray
    # [T + 1] or empty: clients of the first 0, 1, 2, ... rounds, if they are written
    # down.
    listed: IntArray
    times: IntArray  # [n]: the checkpoints
    accepted: IntArray  # [runs, n], or [n] for one run: accepted rounds up to each
    # The same: accepted clients, if they are listed; else clients are no more than
    # rounds say.
    counted: IntArray


@inlined
def of_run(tables: RunTables, place: int, phase: int) -> RunTables:
    """Return the tables of one run in one phase."""
    cells, accepted, counted = tables.cells[phase], tables.accepted[place], tables.counted[place]
    return RunTables(
        tables.ends, tables.means, cells, tables.listed, tables.times, accepted, counted
    )


@inlined
def in_phase(problem: Problem, tables: RunTables, phase: int) -> Problem:
    """Return the problem in one phase: its mean, until its last round."""
    whole = problem.truth
    truth = TrueLaw(
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
def pass_rounds(run: Run, until: int, accepted: bool, tables: RunTables) -> None:
    """Advance to round `until`, all rounds accepted or none; fill the checkpoints."""
    step = int(accepted)
    if until >= run.next_time:
        _fill_checkpoints(run, until, step, tables)
    run.rounds += step * (until - run.now)
    run.taken += step * (until - run.now)
    run.now = until
    run.accepted_last = step


@part
def _fill_checkpoints(run: Run, until: int, step: int, tables: RunTables) -> None:
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
    """Return room for values and their counts, [2, places].

    The places are cells of whole-number rewards, or grow.  Where no values are kept,
    nobody reads or writes a sample, and the borrowed cells stand in for it.
    """
    if not keeps:
        return cells
    told_apart = cells.shape[1] - 1
    sample = np.ones((2, max(told_apart + 1, 64)))
    for cell in range(told_apart):
        sample[0, cell] = cells[1, cell]
        sample[1, cell] = 0.0
    return sample
