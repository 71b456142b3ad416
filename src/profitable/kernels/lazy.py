"""Evidence of rules that need every reward, where only sums have been drawn: single rewards are drawn once they matter.

They do not while the mean is at or above the threshold: evidence is then 0.  The sample of a PIECES feed is, in this
order: the bound and how many rewards are cut to it; the rewards drawn singly; and the pieces that are still sums.
"""

import math

import numpy as np

from profitable.kernels.compile import kernel
from profitable.kernels.law import is_below
from profitable.kernels.pieces import split_up
from profitable.kernels.rule import EMPIRICAL
from profitable.kernels.run import P1, RESOLVED, RULE, SIZE, STOP, TARGET, weigh
from profitable.kernels.world import AT_LARGEST, CLIENTS, MEAN, SLOPE, SQUARES, TOTAL, VIEW_HIGH, make_room
from profitable.types import FloatArray, IntArray


@kernel
def resolve(
    rng: np.random.Generator,
    signal: IntArray,
    view: FloatArray,
    truth: FloatArray,
    state: FloatArray,
    sample: FloatArray,
    diary: IntArray,
) -> FloatArray:
    """Draw the rewards of all pieces given their sums; returns the sample."""
    mean, bound = truth[MEAN], truth[VIEW_HIGH] / truth[MEAN]
    size = max(diary[RESOLVED], 1)
    pieces = sample[:, size : diary[SIZE]].copy()
    for row in range(pieces.shape[1]):
        if signal[STOP] != 0:
            break
        number = int(pieces[1, row])
        sample = make_room(sample, size, size + number)
        values = sample[0, size : size + number]
        while split_up(rng, pieces[0, row], values) > bound:
            pass
        squares = 0.0
        for i in range(number):
            values[i] *= mean
            squares += values[i] * values[i]
        state[SQUARES] += squares
        if view[RULE] == EMPIRICAL:
            # The dual at its largest multiplier 1/(high - tau), and the slope there.
            for i in range(number):
                sample[1, size + i] = 1.0
                ratio = (view[P1] - values[i]) / (view[P1] - view[TARGET])
                state[AT_LARGEST] += math.log(ratio)
                state[SLOPE] += (view[TARGET] - values[i]) / ratio
            size += number
    diary[RESOLVED] = size
    diary[SIZE] = size
    return sample


@kernel
def weigh_lazily(
    rng: np.random.Generator,
    signal: IntArray,
    view: FloatArray,
    truth: FloatArray,
    state: FloatArray,
    sample: FloatArray,
    diary: IntArray,
) -> tuple[float, FloatArray]:
    """The evidence as `weigh` has it, and the sample."""
    if not is_below(state[CLIENTS], state[TOTAL], view[TARGET]):
        return 0.0, sample
    sample = resolve(rng, signal, view, truth, state, sample, diary)
    if view[RULE] == EMPIRICAL and view[TARGET] < view[P1] and sample[1, 0] == 0.0 and state[SLOPE] >= 0.0:
        return max(0.0, state[AT_LARGEST]), sample  # the concave dual still rises where it ends
    return weigh(view, state, sample, diary[SIZE]), sample
