"""The record of a run: its numbers, handed from step to step.

Example: `run.now` is the number of rounds gone, `run.total` the sum of the statistics seen.
"""

from typing import Annotated

import numpy as np

from profitable.common.types import Record

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
        ("spread", np.float64),  # squared deviations from their mean, where batches are drawn with them (`MOMENTS`)
        # the sample: distinct values and how often each came, for rules that need them
        ("kept", np.int64),  # values in it
        ("resolved", np.int64),  # how many of these are single rewards, and no sums (see `weigh.py`)
        ("multiplier", np.float64),  # where the dual of KL-Emp-UCB was solved last
        ("at_largest", np.float64),  # that dual at its largest multiplier
        ("slope", np.float64),  # and its slope there
    ],
    align=True,
)

PENDING = np.dtype([("rounds", np.int64), ("extra", np.int64)], align=True)  # rounds ahead, their Poisson arrivals

Run = Annotated[Record, RUN]
