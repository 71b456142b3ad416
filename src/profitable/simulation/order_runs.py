"""Runs of the bands of an order, which are played together.

`OrderInput` is what `kernels/order_rounds.run_order` reads, made of the inputs of its
bands.  `play_order` returns what the bands would return if each were played by itself,
so that everything behind it is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profitable.common.types import FloatArray, IntArray, RecordArray
from profitable.kernels.order import BAND_ROWS, BandRow
from profitable.kernels.order_rounds import BandTables, run_order
from profitable.kernels.run_record import RUN, Feed, Problem, RunTables
from profitable.policy.policies import Policy
from profitable.policy.shared_orders import SharedOrder
from profitable.simulation.kernel_input import KernelInput, cells_for, make_input
from profitable.simulation.scenario import Truth


@dataclass(frozen=True)
class OrderInput:
    """The input of `run_order`; see `BandTables` for the arrays."""

    name: str
    trust: float
    bands: dict[int, KernelInput]  # by the position of their category
    given: FloatArray
    arrivals: FloatArray
    listed: IntArray
    ends: IntArray
    means: FloatArray
    cells: FloatArray

    @property
    def problem(self) -> Problem:
        """The problem of the first band."""
        return next(iter(self.bands.values())).problem

    def tables(self, checkpoints: IntArray, number: int, *, common: bool) -> BandTables:
        """Return all arrays of the kernel: those kept here, and records of the runs."""
        times = np.union1d(checkpoints, self.ends[:-1])
        accepted, counted = np.zeros((2, len(self.bands), number, times.size), np.int64)
        return BandTables(
            self.given,
            self.arrivals,
            self.listed,
            self.ends,
            self.means,
            self.cells,
            times,
            accepted,
            counted,
            common,
        )


def make_order_input(
    policy: Policy, order: SharedOrder, truths: Sequence[Truth], *, horizon: int, every_reward: bool
) -> OrderInput:
    """Return the input for the bands of an order, all drawn in the same way."""
    bands = [truths[k] for k in order.positions]
    inputs = [
        make_input(policy, truth, horizon=horizon, every_reward=every_reward, beside=bands)
        for truth in bands
    ]
    given, first = np.zeros((BAND_ROWS, len(bands))), inputs[0].problem
    given[BandRow.IMAGINARY] = [each.problem.sight.prior_clients for each in inputs]
    given[BandRow.IMAGINARY_TOTAL] = [each.problem.sight.prior_total for each in inputs]
    given[BandRow.TARGET] = [each.problem.threshold for each in inputs]
    given[BandRow.OWN] = np.nan
    given[BandRow.PER_ROUND] = first.patience.clients or 1.0
    listed = np.zeros((len(bands), max(each.listed.size for each in inputs)), np.int64)
    for row, each in zip(listed, inputs, strict=True):
        row[: each.listed.size] = each.listed
    ends = np.unique(np.concatenate([each.ends for each in inputs]))
    phases = [
        [next(each.truth for each in truth.phases(horizon) if each.end >= end) for truth in bands]
        for end in ends.tolist()
    ]
    statistic = bands[0].family.view().statistic
    rewards = [truth.fixed_mean for row in phases for truth in row]
    means = np.array([statistic.of_mean(mean) for mean in rewards]).reshape(ends.size, len(bands))
    cells = cells_for(bands[0].family, rewards, Feed(first.truth.feed), first.truth.cut_high)
    return OrderInput(
        order.name,
        policy.trust,
        dict(zip(order.positions, inputs, strict=True)),
        given,
        np.array([each.problem.arrivals for each in inputs], np.float64),
        listed,
        ends,
        means,
        cells.reshape(ends.size, len(bands), *cells.shape[1:]),
    )


def play_order(
    order: OrderInput,
    tables: BandTables,
    streams: tuple[np.random.Generator, np.random.Generator],
    flags: IntArray,
    horizon: int,
) -> dict[int, tuple[RunTables, RecordArray]] | None:
    """Play runs of all bands; return those of each by position, or None if stopped."""
    size, number, _ = tables.accepted.shape
    runs = np.zeros((size + 1, number), dtype=RUN)
    problem = order.problem._replace(horizon=horizon)
    if run_order(*streams, flags, problem, order.trust, tables, runs) < number:
        return None
    return {
        position: (
            RunTables(
                given.ends,
                given.means,
                given.cells,
                given.listed,
                tables.times,
                tables.accepted[k],
                tables.counted[k],
            ),
            runs[k],
        )
        for k, (position, given) in enumerate(order.bands.items())
    }
