"""`run_rounds`: Algorithm 1 of the paper for one category, round by round.

This is the definition: in round t + 1, accept if evidence(what was seen) <= patience;
then see the clients of that round.

A policy that forgets decides about the round first.  Then everything it had seen counts
for less, and then it sees the clients of that round.

The world (arrivals and rewards) and the policy (Thompson's draws, those of a floor)
have a random generator each. `run_events` in `kernels/skip_ahead.py` has the same law
and is faster; tests compare the two.

Example: rewards always 0, one client a round, kl-UCB against tau = 0.5.  Round 1 is
accepted.  Evidence is then d(0, 0.5) = log 2 = 0.69, patience(1) = 0: round 2 is not.
patience(2) = log 2: round 3 is.
"""

import numpy as np

from profitable.common.types import BoolArray, IntArray, RecordArray
from profitable.kernels.arrivals import clients_in, draw_extra
from profitable.kernels.compile import borrowed, kernel
from profitable.kernels.forgetting import age, enter, forgets, new_ring
from profitable.kernels.patience import DRAWN
from profitable.kernels.rewards import draw_batch
from profitable.kernels.run_evidence import (
    defers_singles,
    evidence_now,
    keeps_values,
    patience_now,
    resolve,
)
from profitable.kernels.run_record import (
    Problem,
    RunTables,
    Signal,
    in_phase,
    new_sample,
    of_run,
    pass_rounds,
)


@kernel
def run_rounds(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    problem: Problem,
    tables: RunTables,
    runs: RecordArray,
) -> int:
    """Play all `runs`, which are new records; return the number of finished ones.

    Fewer are finished if STOP is set.
    """
    world, own, signal = borrowed(world), borrowed(own), borrowed(signal)
    tables, runs = borrowed(tables), borrowed(runs)
    keeps, defers, ages = keeps_values(problem), defers_singles(problem), forgets(problem.patience)
    for place in range(runs.size):
        run = runs[place]
        sample, ring = new_sample(tables.cells[0], keeps), new_ring(problem)
        nats = 0.0
        for phase in range(tables.ends.size):
            now, its = in_phase(problem, tables, phase), of_run(tables, place, phase)
            changed = True  # evidence is computed again only if what was seen has changed
            for t in range(run.now, now.horizon):
                if signal[Signal.STOP] != 0:
                    return place
                drawn = t > 0 and now.patience.kind == DRAWN
                tolerated = own.standard_exponential() if drawn else patience_now(now, run)
                if changed:
                    if defers:
                        sample = resolve(world, signal, now, run, sample)
                    nats = evidence_now(now, run, sample)
                accepts = nats <= tolerated
                if not accepts and now.patience.floor > 0.0:
                    accepts = own.random() < now.patience.floor
                changed = accepts or ages
                pass_rounds(run, t + 1, accepts, its)
                if ages:
                    age(now, its.cells, run, sample, ring)
                if accepts:
                    arrived = clients_in(
                        world, now.arrivals, its.listed, t, 1, draw_extra(world, now.arrivals, 1)
                    )
                    sample = draw_batch(world, now.truth, its.cells, arrived, run, sample, keeps)
                    run.arrived += arrived
                if ages:
                    enter(now, run, ring)
        signal[Signal.DONE] += 1
    return runs.size


@kernel
def accept_round(
    world: np.random.Generator,
    problem: Problem,
    tables: RunTables,
    t: int,
    accepts: BoolArray,
    runs: RecordArray,
) -> None:
    """Play round t + 1 of many runs whose policy decides elsewhere.

    `accepts` is [runs].

    `problem` is that of the phase.  The draws and their order are those of
    `run_rounds`.
    """
    sample = np.ones((2, 1))
    for place in range(accepts.size):
        if accepts[place]:
            arrived = clients_in(
                world, problem.arrivals, tables.listed, t, 1, draw_extra(world, problem.arrivals, 1)
            )
            run = runs[place]
            draw_batch(world, problem.truth, tables.cells[0], arrived, run, sample, False)
            run.arrived += arrived
