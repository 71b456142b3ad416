"""One category, many runs: `run_rounds` is the definition, `run_events` has the same law and skips time.

Both follow Algorithm 1 for a single category (the categories do not compete, so each is simulated by itself) and write
for each run the accepted rounds and clients up to each checkpoint and what stands at the horizon.  The world (arrivals
and rewards) and the policy (Thompson's draws) have a random generator each.

`run_events` rests on two facts (docs/mathematics.md).  While a category is rejected, nothing changes but time.  While
it is accepted, evidence can grow only so fast: how many clients may come before it passes patience is `room`, and a
block of rounds that brings no more than that is accepted whatever the rewards, which are then drawn at once.
"""

import math

import numpy as np

from profitable.kernels.certain import MARGIN, certain_clients, safe_clients
from profitable.kernels.compile import kernel
from profitable.kernels.empirical import empirical_dual
from profitable.kernels.law import is_below, posterior_evidence
from profitable.kernels.ledger import squared_deviations
from profitable.kernels.rule import EMPIRICAL, VARIANCE, evidence, first_time, patience
from profitable.kernels.world import (
    ARRIVALS,
    CLIENTS,
    FEED,
    LISTED,
    MULTIPLIER,
    ONE_PLUS_POISSON,
    REVENUE,
    SINGLES,
    SQUARES,
    STATE_ROWS,
    TOTAL,
    arrivals_in,
    average_arrivals,
    draw_batch,
    draw_extra,
    most_arrivals,
    share_of_extra,
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
DIARY_ROWS = 7

# Columns of the outcome of a run, beside the accepted rounds and clients at each checkpoint.
LAST_ACCEPTED = 0  # whether round T was accepted
EARNED = 1  # the sum of all rewards
SUCCESSES = 2  # the sum of the statistics: for loans, how many were repaid
OUTCOME_COLUMNS = 3

# What a caller on another thread can write (stop) and read (runs done).
STOP, DONE = 0, 1

PATIENCE = 1e6  # rewards drawn one by one before a look at STOP
PENDING = 128  # halving 10^18 rounds needs 60 places
CANDIDATES = 3.0  # a Thompson block with more expected candidates for rejection is halved


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
        sample[0, :size],
        sample[1, :size],
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
def rounds_for(truth: FloatArray, listed: IntArray, t: int, clients: float, rounds_left: int) -> int:
    """How many rounds to try when that many clients may come: at least one."""
    if truth[ARRIVALS] == LISTED:
        low = 1
        high = rounds_left
        while low < high:
            middle = (low + high + 1) // 2
            if listed[t + middle] - listed[t] <= clients:
                low = middle
            else:
                high = middle - 1
        return low
    rounds = clients / most_arrivals(truth, listed, t, 1, 0)
    if truth[ARRIVALS] == ONE_PLUS_POISSON:
        # In r rounds their number has mean r (1 + rate) and variance r rate: two standard deviations of room.
        mean = average_arrivals(truth, listed)
        root = (math.sqrt(mean - 1.0 + mean * min(clients, 1e18)) - math.sqrt(mean - 1.0)) / mean
        rounds = root * root
    return int(min(max(rounds, 1.0), float(rounds_left)))


@kernel
def cut(world: np.random.Generator, diary: IntArray, pending: IntArray, first: int) -> int:
    """Cut the entry on top in two, its first rounds coming to lie on top; returns their number."""
    top = diary[DEPTH] - 1
    length, extra = pending[top, 0], pending[top, 1]
    if first < length:
        share = share_of_extra(world, length, extra, first)
        pending[top, 0] = length - first
        pending[top, 1] = extra - share
        pending[top + 1, 0] = first
        pending[top + 1, 1] = share
        diary[DEPTH] += 1
    return first


@kernel
def look_ahead(
    world: np.random.Generator,
    truth: FloatArray,
    listed: IntArray,
    diary: IntArray,
    pending: IntArray,
    room: float,
    rounds_left: int,
) -> int:
    """The length of the entry on top of the pile; if there is none, one is made for the room there is."""
    if diary[DEPTH] == 0:
        length = rounds_for(truth, listed, diary[NOW], room, rounds_left)
        pending[0, 0] = length
        pending[0, 1] = draw_extra(world, truth, length)
        diary[DEPTH] = 1
    return pending[diary[DEPTH] - 1, 0]


@kernel
def most_on_top(truth: FloatArray, listed: IntArray, diary: IntArray, pending: IntArray) -> float:
    """No more clients than this come in the rounds on top of the pile."""
    top = diary[DEPTH] - 1
    return most_arrivals(truth, listed, diary[NOW], pending[top, 0], pending[top, 1])


@kernel
def skip(world: np.random.Generator, diary: IntArray, pending: IntArray, rounds: int) -> None:
    """Rejected rounds use up their share of the pending arrivals, which are never drawn anew."""
    while rounds > 0 and diary[DEPTH] > 0:
        length = cut(world, diary, pending, min(rounds, pending[diary[DEPTH] - 1, 0]))
        diary[DEPTH] -= 1
        rounds -= length


@kernel
def take(
    world: np.random.Generator,
    truth: FloatArray,
    cells: FloatArray,
    listed: IntArray,
    diary: IntArray,
    pending: IntArray,
    state: FloatArray,
    sample: FloatArray,
    keeps: bool,
    checkpoints: IntArray,
    accepted: IntArray,
    counted: IntArray,
) -> FloatArray:
    """Accept all rounds of the entry on top; returns the sample."""
    diary[DEPTH] -= 1
    length, extra = pending[diary[DEPTH], 0], pending[diary[DEPTH], 1]
    arrived = arrivals_in(world, truth, listed, diary[NOW], length, extra)
    sample, diary[SIZE] = draw_batch(world, truth, cells, arrived, state, sample, diary[SIZE], keeps)
    pass_rounds(diary, diary[NOW] + length, 1, listed, checkpoints, accepted, counted)
    diary[TAKEN] += arrived
    return sample


@kernel
def play_patiently(
    world: np.random.Generator,
    signal: IntArray,
    view: FloatArray,
    truth: FloatArray,
    cells: FloatArray,
    listed: IntArray,
    horizon: int,
    checkpoints: IntArray,
    blocks: bool,
    diary: IntArray,
    pending: IntArray,
    state: FloatArray,
    accepted: IntArray,
    counted: IntArray,
) -> None:
    """One run of a policy whose patience is a function of time."""
    keeps = view[RULE] == EMPIRICAL
    sample = new_sample(cells, keeps)
    average = average_arrivals(truth, listed)
    room = 0.0
    while True:
        length = look_ahead(world, truth, listed, diary, pending, room, horizon - diary[NOW])
        while length > 1 and most_on_top(truth, listed, diary, pending) > room:
            length = cut(world, diary, pending, length // 2)
        sample = take(world, truth, cells, listed, diary, pending, state, sample, keeps, checkpoints, accepted, counted)
        if diary[NOW] == horizon or signal[STOP] != 0:
            return
        nats = weigh(view, state, sample, diary[SIZE])
        limit = patience(view[C], view[INFLATE], diary[NOW])
        if nats > limit:
            back = first_time(view[C], view[INFLATE], nats)
            if back == 0 or back >= horizon:
                return
            skip(world, diary, pending, back - diary[NOW])
            pass_rounds(diary, back, 0, listed, checkpoints, accepted, counted)
            limit = patience(view[C], view[INFLATE], back)
        room = 0.0
        if blocks:
            room = certain_clients(
                int(view[RULE]),
                int(view[LAW]),
                view[P0],
                view[P1],
                view[P2],
                state[CLIENTS] + view[PRIOR_CLIENTS],
                state[TOTAL] + view[PRIOR_TOTAL],
                view[TARGET],
                view[LOW],
                nats,
                limit,
                average,
            )
            if truth[FEED] == SINGLES:
                room = min(room, PATIENCE)


@kernel
def play_by_chance(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    view: FloatArray,
    truth: FloatArray,
    cells: FloatArray,
    listed: IntArray,
    horizon: int,
    checkpoints: IntArray,
    blocks: bool,
    diary: IntArray,
    pending: IntArray,
    state: FloatArray,
    accepted: IntArray,
    counted: IntArray,
) -> None:
    """One run of Thompson sampling, which accepts with probability exp(-evidence).

    In a block that brings at most n clients every round is rejected with probability at most `ceiling`, that of n of
    the worst clients.  The first candidate for rejection comes after a geometric number of rounds; it is rejected with
    its true probability, given what has been seen by then, over the ceiling.
    """
    sample = new_sample(cells, False)
    average = average_arrivals(truth, listed)
    look_ahead(world, truth, listed, diary, pending, 0.0, horizon)
    take(world, truth, cells, listed, diary, pending, state, sample, False, checkpoints, accepted, counted)
    while diary[NOW] < horizon and signal[STOP] == 0:
        nats = weigh(view, state, sample, 0)
        clients = state[CLIENTS] + view[PRIOR_CLIENTS]
        total = state[TOTAL] + view[PRIOR_TOTAL]
        law, p0, p1, p2, target = int(view[LAW]), view[P0], view[P1], view[P2], view[TARGET]
        room = safe_clients(law, p0, p1, p2, clients, total, target, view[LOW], average) if blocks else 0.0
        length = 1
        ceiling = 1.0
        if room > average:
            length = look_ahead(world, truth, listed, diary, pending, room, horizon - diary[NOW])
            while length > 1:
                n = most_on_top(truth, listed, diary, pending)
                worst = posterior_evidence(law, p0, p1, p2, clients + n, total + n * view[LOW], target)
                ceiling = min(1.0, -math.expm1(-worst) * (1.0 + MARGIN))
                if length * ceiling <= CANDIDATES:
                    break
                length = cut(world, diary, pending, length // 2)
        if length == 1:  # round by round: wait for the next acceptance
            chance = math.exp(-nats)
            wait = math.floor(own.standard_exponential() / -math.log1p(-chance)) if chance > 0.0 else math.inf
            if wait >= horizon - diary[NOW]:
                return
            skip(world, diary, pending, int(wait))
            pass_rounds(diary, diary[NOW] + int(wait), 0, listed, checkpoints, accepted, counted)
            look_ahead(world, truth, listed, diary, pending, 0.0, 1)
            cut(world, diary, pending, 1)
            take(world, truth, cells, listed, diary, pending, state, sample, False, checkpoints, accepted, counted)
            continue
        before = own.standard_exponential() / -math.log1p(-ceiling)
        sure = length if before >= length else int(before)
        if sure > 0:
            cut(world, diary, pending, sure)
            take(world, truth, cells, listed, diary, pending, state, sample, False, checkpoints, accepted, counted)
            nats = weigh(view, state, sample, 0)
        if sure < length:
            if own.random() * ceiling < -math.expm1(-nats):
                skip(world, diary, pending, 1)
                pass_rounds(diary, diary[NOW] + 1, 0, listed, checkpoints, accepted, counted)
            else:
                cut(world, diary, pending, 1)
                take(world, truth, cells, listed, diary, pending, state, sample, False, checkpoints, accepted, counted)


@kernel
def run_events(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    view: FloatArray,
    truth: FloatArray,
    cells: FloatArray,
    listed: IntArray,
    horizon: int,
    checkpoints: IntArray,
    blocks: bool,
    accepted: IntArray,
    counted: IntArray,
    clients: IntArray,
    outcome: FloatArray,
) -> int:
    """The law of `run_rounds`, without stepping through what cannot change.

    With `blocks` off, accepted rounds are taken one at a time: deterministic policies then follow the very path of
    `run_rounds` with the same generators.
    """
    blocks = blocks and view[LOW] > -math.inf
    pending = np.zeros((PENDING, 2), dtype=np.int64)  # a pile: rounds ahead and their Poisson arrivals, the next on top
    for run in range(accepted.shape[0]):
        diary = np.zeros(DIARY_ROWS, dtype=np.int64)
        state = np.zeros(STATE_ROWS)
        here, there = accepted[run], counted[run]
        if view[DRAWS] != 0.0:
            play_by_chance(
                world, own, signal, view, truth, cells, listed, horizon, checkpoints, blocks, diary, pending, state,
                here, there,
            )  # fmt: skip
        else:
            play_patiently(
                world, signal, view, truth, cells, listed, horizon, checkpoints, blocks, diary, pending, state,
                here, there,
            )  # fmt: skip
        if signal[STOP] != 0:
            return run
        if diary[NOW] < horizon:
            pass_rounds(diary, horizon, 0, listed, checkpoints, here, there)
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
