"""`run_events`: the law of `run_rounds`, without stepping through what cannot change.

It rests on two facts (docs/mathematics.md).  While a category is rejected, nothing changes but time.  While it is
accepted, evidence can grow only so fast: how many clients may come before it passes patience is `room`, and a block of
rounds that brings no more than that is accepted whatever the rewards, which are then drawn at once.
"""

import math

import numpy as np

from profitable.kernels.certain import MARGIN, certain_clients, safe_clients
from profitable.kernels.compile import kernel
from profitable.kernels.law import posterior_evidence
from profitable.kernels.lazy import weigh_lazily
from profitable.kernels.rule import EMPIRICAL, VARIANCE, first_time, patience
from profitable.kernels.run import (
    DEPTH,
    DIARY_ROWS,
    DONE,
    DRAWS,
    INFLATE,
    LAW,
    LOW,
    NOW,
    P0,
    P1,
    P2,
    PRIOR_CLIENTS,
    PRIOR_TOTAL,
    RULE,
    SIZE,
    STOP,
    TAKEN,
    TARGET,
    C,
    new_sample,
    pass_rounds,
    sum_up,
    weigh,
)
from profitable.kernels.world import (
    ARRIVALS,
    CLIENTS,
    FEED,
    LISTED,
    ONE_PLUS_POISSON,
    PIECES,
    STATE_ROWS,
    TOTAL,
    arrivals_in,
    average_arrivals,
    draw_batch,
    draw_extra,
    draws_per_client,
    most_arrivals,
    share_of_extra,
)
from profitable.types import FloatArray, IntArray

LOOK_UP_AFTER = 1e6  # draws before the next look at STOP
PENDING = 128  # halving 10^18 rounds needs 60 places
CANDIDATES = 3.0  # a Thompson block with more expected candidates for rejection is halved


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
    lazy = truth[FEED] == PIECES and (view[RULE] == EMPIRICAL or view[RULE] == VARIANCE)
    keeps = lazy or view[RULE] == EMPIRICAL
    sample = new_sample(cells, keeps)
    average = average_arrivals(truth, listed)
    most = LOOK_UP_AFTER / draws_per_client(truth, keeps)
    room = 0.0
    while True:
        length = look_ahead(world, truth, listed, diary, pending, room, horizon - diary[NOW])
        while length > 1 and most_on_top(truth, listed, diary, pending) > room:
            length = cut(world, diary, pending, length // 2)
        sample = take(world, truth, cells, listed, diary, pending, state, sample, keeps, checkpoints, accepted, counted)
        if diary[NOW] == horizon or signal[STOP] != 0:
            return
        if lazy:
            nats, sample = weigh_lazily(world, signal, view, truth, state, sample, diary)
        else:
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
            room = min(room, most)


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
    nats = weigh(view, state, sample, 0)
    while diary[NOW] < horizon and signal[STOP] == 0:
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
            nats = weigh(view, state, sample, 0)
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
                nats = weigh(view, state, sample, 0)


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
