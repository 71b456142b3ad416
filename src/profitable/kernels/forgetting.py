"""Discounted and windowed sums: the memory of a run of a policy that forgets.

A window keeps the sums of the last rounds in a ring [4, window].  The clients of round
t stand in place t % window, and leave it when the decision about round t + window is
made: then their place is free for the clients of that round.

Example: forget = 0.9, five clients a round, of whom 2, 0 and 1 pay.  The decision about
round 4 sees N = 5 (0.81 + 0.9 + 1) = 13.55 and S = 2 * 0.81 + 0 * 0.9 + 1 = 2.62.
"""

import math

import numpy as np

from profitable.common.types import FloatArray, Matrix
from profitable.kernels.agent_table import FORGOTTEN
from profitable.kernels.compile import inlined, lazy, part
from profitable.kernels.patience import Patience
from profitable.kernels.run_record import Problem, Run


@inlined
def forgets(patience: Patience) -> bool:
    """Return whether outcomes lose weight, or leave a window, as rounds pass."""
    return patience.forget < 1.0 or patience.window < math.inf


@inlined
def new_ring(problem: Problem) -> FloatArray:
    """Return an empty ring for the rounds in the window, [4, window].

    It holds their clients, totals and squares, and whether each was accepted.  Without
    a window it is [4, 1].
    """
    window = problem.patience.window
    return np.zeros((4, int(min(window, float(problem.horizon))) if window < math.inf else 1))


@lazy
def age(problem: Problem, cells: Matrix, run: Run, sample: Matrix, ring: Matrix) -> None:
    """Let a round pass, after the decision about it.

    All sums are discounted, or the oldest round leaves the window.
    """
    keeps = problem.sight.rule.needs_values
    if problem.patience.window < math.inf:
        _leave_window(run, sample, ring, keeps)
        return
    weight = problem.patience.forget
    run.clients *= weight
    run.total *= weight
    run.squares *= weight
    # The round that has passed counts in full.
    run.taken = weight * (run.taken - run.accepted_last) + run.accepted_last
    if run.clients < FORGOTTEN:
        run.clients = run.total = run.squares = 0.0
        weight = 0.0
    if keeps:
        _fade(cells.shape[1] - 1, run, sample, weight)


@inlined
def enter(problem: Problem, run: Run, ring: FloatArray) -> None:
    """Store the sums of the round that has passed in the ring."""
    if problem.patience.window < math.inf:
        place = run.now % ring.shape[1]
        ring[0, place] += run.clients
        ring[1, place] += run.total
        ring[2, place] += run.squares


@part
def _fade(told_apart: int, run: Run, sample: Matrix, weight: float) -> None:
    """Discount the values of a sample.

    Values without a cell of their own are dropped in the end.
    """
    size = 0
    for place in range(run.kept):
        count = weight * sample[1, place]
        has_cell = place < told_apart
        if has_cell or count >= FORGOTTEN:
            sample[0, size] = sample[0, place]
            sample[1, size] = count if count >= FORGOTTEN else 0.0
            size += 1
    run.kept = size


@part
def _leave_window(run: Run, sample: Matrix, ring: Matrix, keeps: bool) -> None:
    """Take the oldest round out of the sums and the sample.

    The values of the sample are in their order of arrival.
    """
    place = run.now % ring.shape[1]
    gone = int(ring[0, place])
    run.clients -= ring[0, place]
    run.total -= ring[1, place]
    run.squares -= ring[2, place]
    run.taken -= ring[3, place]
    ring[3, place] = run.accepted_last
    if place == 0 or run.clients == 0.0:
        run.total = run.squares = 0.0
    # Sum up anew, so that rounding errors do not pile up.
    for other in range(1, ring.shape[1] if place == 0 else 0):
        run.total += ring[1, other]
        run.squares += ring[2, other]
    # `enter` adds what is new.
    ring[0, place], ring[1, place], ring[2, place] = -run.clients, -run.total, -run.squares
    if keeps and gone > 0:
        run.kept -= gone
        for value in range(run.kept):
            sample[0, value] = sample[0, value + gone]
            sample[1, value] = sample[1, value + gone]
