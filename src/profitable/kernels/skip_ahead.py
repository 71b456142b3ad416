"""`run_events`: the law of `run_rounds`, without stepping through what cannot change.

It rests on two facts (docs/mathematics.md).  While a category is rejected, nothing
changes but time; a floor accepts it after a geometric number of rounds, unless patience
does so before.  While it is accepted, evidence can grow only so fast: `room` is how
many clients may come before it can pass patience.  All rounds of a block that brings no
more than that are accepted whatever the rewards, so these are drawn at once.

The clients of a block are drawn before it is known whether they fit.  If they do not,
the block is cut in two, and the second half waits on a pile of pending rounds (`pile`,
the next rounds on top).  What is on the pile is never drawn again.

Example: after 1 000 accepted rounds with a mean well above the threshold there is room
for 600 clients.  A block of 120 rounds with 5 clients on average is drawn: 640 clients.
That is too many.  Cut in two, the first 60 rounds have
312.  They fit, and their 312 rewards are one draw.
"""

import math

import numpy as np

from profitable.common.types import FloatArray, IntArray, RecordArray
from profitable.kernels.arrivals import (
    average_clients,
    clients_in,
    draw_extra,
    most_clients,
    rounds_for,
    share_of_extra,
)
from profitable.kernels.compile import borrowed, inlined, kernel, part
from profitable.kernels.forgetting import forgets
from profitable.kernels.patience import AHEAD, DRAWN, clients_per_round, first_time, least_patience
from profitable.kernels.rewards import draw_batch, draws_per_client
from profitable.kernels.run_evidence import (
    defers_singles,
    evidence_now,
    keeps_values,
    patience_now,
    resolve,
)
from profitable.kernels.run_record import (
    PENDING,
    Problem,
    Run,
    RunTables,
    Signal,
    in_phase,
    new_sample,
    of_run,
    pass_rounds,
)
from profitable.kernels.tangent import NO_TANGENT, Tangent
from profitable.kernels.worst_case import (
    MARGIN,
    UNLIMITED,
    certain_clients,
    new_tangent,
    safe_clients,
    surely_within,
    worst_evidence,
)

LOOK_UP_AFTER = 1e6  # draws before the next look at STOP
PILE_HEIGHT = 128  # entries of the pile: halving 10^18 rounds needs 60
CANDIDATES = 3.0  # a block with more expected candidates for rejection is cut in two


# ----------------------------------------------------------------------------- the pile


@inlined
def new_pile(run: Run) -> RecordArray:
    """Return an empty pile: each phase has its own, as no block outlives it."""
    run.pending = 0
    return np.empty(PILE_HEIGHT, dtype=PENDING)


@inlined
def look_ahead(
    world: np.random.Generator,
    problem: Problem,
    listed: IntArray,
    run: Run,
    pile: RecordArray,
    room: float,
    reach: int,
) -> int:
    """Return the number of rounds on top of the pile.

    If it is empty, a block that room and reach allow is put there.
    """
    if run.pending == 0:
        length = rounds_for(
            problem.arrivals, listed, run.now, room, min(reach, problem.horizon - run.now)
        )
        pile[0].rounds = length
        pile[0].extra = draw_extra(world, problem.arrivals, length)
        run.pending = 1
    return pile[run.pending - 1].rounds


@part
def cut(world: np.random.Generator, run: Run, pile: RecordArray, first: int) -> int:
    """Cut the block on top of the pile in two; return the rounds of the first."""
    rest = pile[run.pending - 1]
    if first < rest.rounds:
        top = pile[run.pending]
        top.extra = share_of_extra(world, rest.rounds, rest.extra, first)
        top.rounds = first
        rest.rounds -= first
        rest.extra -= top.extra
        run.pending += 1
    return first


@inlined
def most_on_top(problem: Problem, listed: IntArray, run: Run, pile: RecordArray) -> float:
    """Return a bound on the clients of the rounds on top of the pile."""
    top = pile[run.pending - 1]
    return most_clients(problem.arrivals, listed, run.now, top.rounds, top.extra)


@inlined
def accept_top(
    world: np.random.Generator,
    problem: Problem,
    tables: RunTables,
    run: Run,
    pile: RecordArray,
    sample: FloatArray,
) -> FloatArray:
    """Accept all rounds on top of the pile; return the sample."""
    run.pending -= 1
    top = pile[run.pending]
    arrived = clients_in(world, problem.arrivals, tables.listed, run.now, top.rounds, top.extra)
    sample = draw_batch(
        world, problem.truth, tables.cells, arrived, run, sample, keeps_values(problem)
    )
    pass_rounds(run, run.now + top.rounds, True, tables)
    run.arrived += arrived
    return sample


@inlined
def reject(
    world: np.random.Generator, tables: RunTables, run: Run, pile: RecordArray, rounds: int
) -> None:
    """Reject that many rounds: they use up their share of the pending arrivals."""
    left = rounds
    while left > 0 and run.pending > 0:
        left -= cut(world, run, pile, min(left, pile[run.pending - 1].rounds))
        run.pending -= 1
    pass_rounds(run, run.now + rounds, False, tables)


# ------------------------------------------------------------------- patience over time


@inlined
def play_patiently(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    problem: Problem,
    tables: RunTables,
    run: Run,
    sample: FloatArray,
) -> FloatArray:
    """Play one phase of a policy whose patience is not drawn; return the sample."""
    pile = new_pile(run)
    keeps, defers = keeps_values(problem), defers_singles(problem)
    average = average_clients(problem.arrivals, tables.listed)
    most = LOOK_UP_AFTER / draws_per_client(problem.truth, keeps)
    tangent = NO_TANGENT
    while True:
        if defers:
            sample = resolve(world, signal, problem, run, sample)
        # Where the tangent says enough, evidence counts as all that is tolerated.
        nats = limit = patience_now(problem, run)
        if not surely_within(problem, run, tangent, limit):
            nats = evidence_now(problem, run, sample)
            tangent = new_tangent(problem, run, nats, tangent)
        by_floor = False  # whether the next round is accepted by the floor, and it alone
        if not nats <= limit:  # which rejects NaN, as `run_rounds` does
            known = run.clients + problem.sight.prior_clients
            per_round = clients_per_round(problem.patience, float(run.arrived), float(run.rounds))
            back = first_time(problem.patience, nats, run.now, known, per_round)
            back = problem.horizon if back == 0 else min(back, problem.horizon)
            if problem.patience.floor > 0.0:
                wait = rejected_rounds(own.standard_exponential(), problem.patience.floor)
                by_floor = wait < back - run.now
                back = run.now + int(wait) if by_floor else back
            if back >= problem.horizon:
                return sample
            reject(world, tables, run, pile, back - run.now)
        room, reach = (0.0, 1) if by_floor else certainty(problem, run, nats, average, tangent)
        room = min(room, most)
        length = look_ahead(world, problem, tables.listed, run, pile, room, reach)
        length = cut(world, run, pile, min(length, reach))
        while length > 1 and most_on_top(problem, tables.listed, run, pile) > room:
            length = cut(world, run, pile, length // 2)
        sample = accept_top(world, problem, tables, run, pile, sample)
        if run.now == problem.horizon or signal[Signal.STOP] != 0:
            return sample


@inlined
def certainty(
    problem: Problem, run: Run, nats: float, average: float, tangent: Tangent
) -> tuple[float, int]:
    """Return clients that may come, in so many rounds, without a rejection.

    That holds whatever their rewards are.  `nats` is the evidence, or a bound on it.

    Where patience never falls, the rounds are all that are left.  Where it may fall,
    the end of the block decides, and the block is no longer than half of the accepted
    rounds: so patience cannot fall far.  The same where the accepted rounds are a part
    of the evidence: so this part cannot grow far.
    """
    if not problem.blocks or run.rounds == 0:
        return 0.0, 1
    reach, crowd = problem.horizon, math.inf
    if problem.patience.kind == AHEAD:
        reach = 1 + run.rounds // 2
        crowd = 2.0 * average * reach
    elif problem.sight.rule.needs_rounds:
        reach = 1 + run.rounds // 2
    came, known = run.clients, run.clients + problem.sight.prior_clients
    limit = least_patience(
        problem.patience,
        float(run.now),
        known,
        came,
        float(run.rounds),
        float(reach),
        min(crowd, UNLIMITED),
    )
    sure = certain_clients(problem, run, nats, limit, average, float(reach), tangent)
    return min(sure, crowd), reach


# ----------------------------------------------------------------------- patience drawn


@inlined
def play_by_chance(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    problem: Problem,
    tables: RunTables,
    run: Run,
    sample: FloatArray,
) -> FloatArray:
    """Play one phase of a policy whose patience is drawn; return the sample.

    It accepts with probability exp(-evidence), and by the floor if it does not.

    Each turn rejects some rounds, accepts some, and says how many it shall be in the
    next.
    """
    pile = new_pile(run)
    ceiling = 1.0
    # The first turn of all takes what is on top of the pile: round 1.
    skipped, taken = 0, 0 if run.now > 0 else problem.horizon
    candidate = False  # whether the next round may be rejected, and is looked at by itself
    while True:
        if skipped > 0:
            reject(world, tables, run, pile, skipped)
        if taken > 0:
            look_ahead(world, problem, tables.listed, run, pile, 0.0, 1)
            cut(world, run, pile, taken)
            sample = accept_top(world, problem, tables, run, pile, sample)
        if run.now >= problem.horizon or signal[Signal.STOP] != 0:
            return sample
        if candidate:
            # It is rejected with its true probability, given what was seen by now, over
            # the ceiling.
            nats = evidence_now(problem, run, sample)
            rejects = -math.expm1(-nats) * (1.0 - problem.patience.floor)
            skipped = 1 if own.random() * ceiling < rejects else 0
            taken = 1 - skipped
            candidate = False
            continue
        length, ceiling = rare_rejections(world, problem, tables.listed, run, pile)
        if length == 1:
            draw, wait = own.standard_exponential(), 0.0
            # The next round is accepted if the draw is below -log(1 - exp(-evidence)).
            if not surely_within(problem, run, NO_TANGENT, -math.log(-math.expm1(-draw))):
                chance = math.exp(-evidence_now(problem, run, sample))
                wait = rejected_rounds(draw, chance + (1.0 - chance) * problem.patience.floor)
            if wait >= problem.horizon - run.now:
                return sample
            skipped, taken = int(wait), 1
        else:
            # The rounds before the first candidate for rejection are accepted.
            before = own.standard_exponential() / -math.log1p(-ceiling)
            skipped, taken = 0, length if before >= length else int(before)
            candidate = taken < length


@inlined
def rare_rejections(
    world: np.random.Generator, problem: Problem, listed: IntArray, run: Run, pile: RecordArray
) -> tuple[int, float]:
    """Return the length of a block in which rejections are rare, and their ceiling.

    The ceiling bounds the probability of a rejection in any of its rounds.

    The ceiling is that of the worst clients the block can bring.  A length of 1 says:
    go on round by round.
    """
    average = average_clients(problem.arrivals, listed)
    room = safe_clients(problem, run, average) if problem.blocks else 0.0
    length = 1
    ceiling = 1.0
    if room > average:
        length = look_ahead(world, problem, listed, run, pile, room, problem.horizon)
        while length > 1:
            most = most_on_top(problem, listed, run, pile)
            worst = worst_evidence(problem, run, most, float(length))
            ceiling = min(1.0, -math.expm1(-worst) * (1.0 + MARGIN))
            if length * ceiling <= CANDIDATES:
                break
            length = cut(world, run, pile, length // 2)
    return length, ceiling


@inlined
def rejected_rounds(draw: float, chance: float) -> float:
    """Return the rounds before the next acceptance, a geometric number.

    Each round is accepted with probability `chance`; `draw` is Exp(1).
    """
    return math.floor(draw / -math.log1p(-chance)) if chance > 0.0 else math.inf


# ----------------------------------------------------------------------------- all runs


@kernel
def run_events(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    problem: Problem,
    tables: RunTables,
    runs: RecordArray,
) -> int:
    """Play all `runs`, which are new records; return the number of finished ones.

    Fewer are finished if STOP is set.

    Without `problem.blocks`, accepted rounds are taken one at a time.  Policies that do
    not draw then follow the very path of `run_rounds` with the same generators.

    A phase in which the truth stays the same is played like a run of its own that
    begins with what was seen before.
    """
    if forgets(problem.patience):
        raise ValueError("what is forgotten changes in every round: play it round by round")
    world, own, signal = borrowed(world), borrowed(own), borrowed(signal)
    tables, runs = borrowed(tables), borrowed(runs)
    for place in range(runs.size):
        run = runs[place]
        sample = new_sample(tables.cells[0], keeps_values(problem))
        for phase in range(tables.ends.size):
            now, its = in_phase(problem, tables, phase), of_run(tables, place, phase)
            if run.now >= now.horizon:
                break
            if now.patience.kind == DRAWN:
                sample = play_by_chance(world, own, signal, now, its, run, sample)
            else:
                sample = play_patiently(world, own, signal, now, its, run, sample)
            if signal[Signal.STOP] != 0:
                return place
            if run.now < now.horizon:
                pass_rounds(run, now.horizon, False, its)
        signal[Signal.DONE] += 1
    return runs.size
