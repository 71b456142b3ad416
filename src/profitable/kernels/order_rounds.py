"""`run_order`: whole runs of the bands of an order, round by round.

The evidence against a band depends on the others, so bands are not played one by one,
and no rounds are skipped: what a rejected band has against it changes with the others.
In round t + 1, all bands are weighed and judged (`kernels/order.py`); then the accepted
ones see their clients.  Thompson sampling draws one patience for all bands.

Example: kl-UCB, three bands whose clients never pay, five clients a round, against 0.5.
After round 1 each band has 5 log 2 = 3.5 nats against it, 3.5 more for each band above
it that must be as good.  log t is below all of that until round 32 is over, and then
the highest band alone is accepted.
"""

import math
from typing import NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray, Matrix, RecordArray
from profitable.kernels.arrivals import ArrivalLaw, clients_in, draw_extra
from profitable.kernels.compile import borrowed, kernel, part
from profitable.kernels.order import (
    BandRow,
    Order,
    judge_bands,
    nats_alone,
    new_bands,
    order_of,
    renew_order,
)
from profitable.kernels.patience import DRAWN, clients_per_round
from profitable.kernels.rewards import draw_batch
from profitable.kernels.run_record import Problem, Run, Signal, TrueLaw


class BandTables(NamedTuple):
    """The arrays of some runs of all bands: inputs, and outputs at each checkpoint."""

    given: Matrix  # [rows, K]: the table of bands before the first round
    arrivals: FloatArray  # [K, 3]: code and numbers of each law
    listed: IntArray  # [K, T + 1], or [K, 0]: clients of the first rounds, if written down
    ends: IntArray  # [phases]: the last round of each
    means: FloatArray  # [phases, K]: of the statistic
    cells: FloatArray  # [phases, K, 4, D + 1]: distinct rewards (`kernels/rewards.py`)
    times: IntArray  # [n]: the checkpoints
    accepted: IntArray  # [K, runs, n]: accepted rounds up to each
    counted: IntArray  # the same: accepted clients
    common: bool  # whether the clients of rejected bands are drawn, too


@kernel
def run_order(
    world: np.random.Generator,
    own: np.random.Generator,
    signal: IntArray,
    problem: Problem,
    trust: float,
    tables: BandTables,
    runs: RecordArray,
) -> int:
    """Play all `runs` [K + 1, runs], new records; return how many are finished.

    `problem` is that of the first band.  The last records are for clients who are
    turned away, where random numbers are common: whatever a policy accepts, it meets
    the same clients.  Fewer runs are finished if STOP is set.
    """
    world, own, signal = borrowed(world), borrowed(own), borrowed(signal)
    tables, runs = borrowed(tables), borrowed(runs)
    view, patience, size = problem.sight, problem.patience, tables.means.shape[1]
    bands = new_bands(size)
    order = order_of(view.law, view.rule.is_posterior, trust, bands)
    for place in range(runs.shape[1]):
        _start(bands, tables.given)
        phase, point, changed = 0, 0, True
        for t in range(problem.horizon):
            if signal[Signal.STOP] != 0:
                return place
            while tables.ends[phase] <= t:
                phase += 1
            drawn = math.inf
            if t > 0 and patience.kind == DRAWN:
                drawn = own.standard_exponential()
            if changed:
                # With time a band may come back to the order, though no data come.
                changed = renew_order(order, float(t))
            judge_bands(order, patience, float(t), drawn, False)
            for k in range(size):
                run, accepts = runs[k, place], bands[BandRow.ACCEPTED, k] != 0.0
                if not accepts and patience.floor > 0.0:
                    accepts = own.random() < patience.floor
                run.accepted_last = int(accepts)
                if accepts:
                    _accept(world, problem, tables, (phase, t, k), run)
                    _see(order, k, run)
                    bands[BandRow.PER_ROUND, k] = clients_per_round(
                        patience, float(run.arrived), float(run.rounds)
                    )
                    changed = True
                elif tables.common:
                    _accept(world, problem, tables, (phase, t, k), runs[size, place])
            if point < tables.times.size and tables.times[point] == t + 1:
                for k in range(size):
                    tables.accepted[k, place, point] = runs[k, place].rounds
                    tables.counted[k, place, point] = runs[k, place].arrived
                point += 1
        signal[Signal.DONE] += size
    return runs.shape[1]


@part
def _start(bands: Matrix, given: Matrix) -> None:
    """Make all bands those of a new run."""
    for k in range(bands.shape[1]):
        for row in range(bands.shape[0]):
            bands[row, k] = given[row, k]


@part
def _see(order: Order, k: int, run: Run) -> None:
    """Let a band have the numbers of its run."""
    bands = order.bands
    bands[BandRow.CLIENTS, k], bands[BandRow.TOTAL, k] = run.clients, run.total
    bands[BandRow.ALONE, k] = nats_alone(order, k)
    bands[BandRow.OWN, k] = math.nan


@part
def _accept(
    world: np.random.Generator,
    problem: Problem,
    tables: BandTables,
    where: tuple[int, int, int],
    run: Run,
) -> None:
    """Let the clients of round t + 1 come to a band, and draw their rewards.

    `where` is the phase, t and the band.
    """
    phase, t, k = where
    law, whole = tables.arrivals[k], problem.truth
    arrivals = ArrivalLaw(int(law[0]), law[1], law[2])
    extra = draw_extra(world, arrivals, 1)
    arrived = clients_in(world, arrivals, tables.listed[k], t, 1, extra)
    truth = TrueLaw(
        whole.law,
        tables.means[phase, k],
        whole.statistic,
        whole.feed,
        whole.is_cut,
        whole.cut_low,
        whole.cut_high,
    )
    cells = tables.cells[phase, k]
    draw_batch(world, truth, cells, arrived, run, cells, False)
    run.arrived += arrived
    run.rounds += 1
