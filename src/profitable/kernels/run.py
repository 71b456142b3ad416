"""A run of one category: what it keeps, and `run_rounds`, the definition.

It follows Algorithm 1 for a single category (the categories do not compete, so each is simulated by itself) and writes
for each run the accepted rounds and clients up to each checkpoint and what stands at the horizon.  The world (arrivals
and rewards) and the policy (Thompson's draws) have a random generator each.  `kernels/events.py` has the same law.
"""

import numpy as np

from profitable.kernels.compile import kernel
from profitable.kernels.empirical import empirical_dual
from profitable.kernels.law import is_below
from profitable.kernels.ledger import squared_deviations
from profitable.kernels.rule import EMPIRICAL, NOTHING, VARIANCE, evidence, patience
from profitable.kernels.world import (
    CLIENTS,
    MULTIPLIER,
    REVENUE,
    SQUARES,
    STATE_ROWS,
    TOTAL,
    arrivals_in,
    draw_batch,
    draw_extra,
)
from profitable.types import BoolArray, FloatArray, IntArray

# Columns of a view: what a policy sees of a category, and how patient it is.
RULE, LAW, P0, P1, P2, PRIOR_CLIENTS, PRIOR_TOTAL = 0, 1, 2, 3, 4, 5, 6
TARGET = 7  # the threshold in the units of the statistic
LOW = 8  # the smallest statistic a client can have; -inf if there is none
C, INFLATE, DRAWS = 9, 10, 11
VIEW_COLUMNS = 12

# Where a run stands: rows of its diary.
NOW, ROUNDS, TAKEN = 0, 1, 2  # rounds gone, rounds accepted, clients accepted
PLACE = 3  # the next checkpoint
DEPTH = 4  # entries in the pile of pending rounds
SIZE = 5  # values kept in the sample
LAST = 6  # whether the latest round was accepted
RESOLVED = 7  # how many of the sample are single rewards, no sums (kernels/lazy.py)
DIARY_ROWS = 8

# Columns of the outcome of a run, beside the accepted rounds and clients at each checkpoint.
LAST_ACCEPTED = 0  # whether round T was accepted
EARNED = 1  # the sum of all rewards
SUCCESSES = 2  # the sum of the statistics: for loans, how many were repaid
OUTCOME_COLUMNS = 3

# What a caller on another thread can write (stop) and read (runs done).
STOP, DONE = 0, 1


@kernel
def weigh(view: FloatArray, state: FloatArray, sample: FloatArray, size: int) -> float:
    """The evidence after what the state has seen; the search for KL-Emp's dual begins where the last one ended."""
    rule = int(view[RULE])
    spread = 0.0
    if rule == EMPIRICAL:
        if not is_below(state[CLIENTS], state[TOTAL], view[TARGET]):
            return 0.0
        nats, state[MULTIPLIER] = empirical_dual(
            sample[0, :size], sample[1, :size], view[P1], view[TARGET], state[MULTIPLIER]
        )
        return nats
    if rule == VARIANCE:
        spread = squared_deviations(state[CLIENTS], state[TOTAL], 0.0, state[SQUARES], 0.0)
    return evidence(
        rule,
        int(view[LAW]),
        view[P0],
        view[P1],
        view[P2],
        state[CLIENTS] + view[PRIOR_CLIENTS],
        state[TOTAL] + view[PRIOR_TOTAL],
        spread,
        NOTHING,
        NOTHING,
        view[TARGET],
    )


@kernel
def new_sample(cells: FloatArray, keeps: bool) -> FloatArray:
    """Room for the values that KL-Emp-UCB keeps, and how often each came: the cells, or space that grows."""
    told_apart = cells.shape[1] - 1
    sample = np.ones((2, max(told_apart + 1, 64) if keeps else 1))
    for cell in range(told_apart if keeps else 0):
        sample[0, cell] = cells[1, cell]
        sample[1, cell] = 0.0
    return sample


@kernel
def pass_rounds(
    diary: IntArray,
    until: int,
    step: int,
    listed: IntArray,
    checkpoints: IntArray,
    accepted: IntArray,
    counted: IntArray,
) -> None:
    """Let time pass to round `until`, all rounds accepted (step 1) or none (step 0), and fill the checkpoints."""
    place = diary[PLACE]
    now = diary[NOW]
    while place < checkpoints.size and checkpoints[place] <= until:
        accepted[place] = diary[ROUNDS] + step * (checkpoints[place] - now)
        if listed.size > 0:
            counted[place] = diary[TAKEN] + step * (listed[checkpoints[place]] - listed[now])
        place += 1
    diary[PLACE] = place
    diary[ROUNDS] += step * (until - now)
    diary[NOW] = until
    diary[LAST] = step


@kernel
def sum_up(diary: IntArray, state: FloatArray, clients: IntArray, outcome: FloatArray, run: int) -> None:
    """What stands at the horizon."""
    clients[run] = diary[TAKEN]
    outcome[run, LAST_ACCEPTED] = diary[LAST]
    outcome[run, EARNED] = state[REVENUE]
    outcome[run, SUCCESSES] = state[TOTAL]


@kernel
def run_rounds(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    view: FloatArray,
    truth: FloatArray,
    cells: FloatArray,
    listed: IntArray,
    horizon: int,
    checkpoints: IntArray,
    accepted: IntArray,
    counted: IntArray,
    clients: IntArray,
    outcome: FloatArray,
) -> int:
    """Every round: accept while evidence <= patience.  Returns the number of finished runs (fewer if told to stop)."""
    keeps = view[RULE] == EMPIRICAL
    for run in range(accepted.shape[0]):
        diary = np.zeros(DIARY_ROWS, dtype=np.int64)
        state = np.zeros(STATE_ROWS)
        sample = new_sample(cells, keeps)
        for t in range(horizon):
            if signal[STOP] != 0:
                return run
            accepts = True  # round 1 accepts everybody
            if t > 0:
                tolerated = own.standard_exponential() if view[DRAWS] != 0.0 else patience(view[C], view[INFLATE], t)
                accepts = weigh(view, state, sample, diary[SIZE]) <= tolerated
            pass_rounds(diary, t + 1, 1 if accepts else 0, listed, checkpoints, accepted[run], counted[run])
            if accepts:
                arrived = arrivals_in(world, truth, listed, t, 1, draw_extra(world, truth, 1))
                sample, diary[SIZE] = draw_batch(world, truth, cells, arrived, state, sample, diary[SIZE], keeps)
                diary[TAKEN] += arrived
        sum_up(diary, state, clients, outcome, run)
        signal[DONE] += 1
    return accepted.shape[0]


@kernel
def accept_round(
    world: np.random.Generator,
    truth: FloatArray,
    cells: FloatArray,
    listed: IntArray,
    t: int,
    accepts: BoolArray,
    states: FloatArray,
    clients: IntArray,
) -> None:
    """Round t + 1 of many runs, for policies that decide elsewhere: draw for those that accept.

    `states` [runs, STATE_ROWS], `clients` [runs]; the same draws in the same order as in `run_rounds`.
    """
    sample = np.ones((2, 1))
    for run in range(accepts.size):
        if accepts[run]:
            arrived = arrivals_in(world, truth, listed, t, 1, draw_extra(world, truth, 1))
            draw_batch(world, truth, cells, arrived, states[run], sample, 0, False)
            clients[run] += arrived
