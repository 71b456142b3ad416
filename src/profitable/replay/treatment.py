"""Treatment: what it adds to the outcomes of clients, where the past kept a control group.

Example: in each of two rounds there is one client of the control group, who brings 1, and one who is treated, who
brings 2.  On average the treatment adds 1, and in the second round, when the mean of the control group is known, less
is due to chance:

>>> outcome, treated = np.array([1.0, 2.0, 1.0, 2.0]), np.array([False, True, False, True])
>>> rounds, category = np.array([1, 1, 2, 2]), np.zeros(4, int)
>>> added(outcome, treated, 0.5, (rounds, rounds, category), (2, 1)).round().astype(int).tolist()
[-2, 4, 0, 2]
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.common.types import BoolArray, FloatArray


def added(
    outcome: FloatArray,
    treated: BoolArray,
    share: FloatArray | float,
    where: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]],
    sizes: tuple[int, int],
) -> FloatArray:
    """A number for each client whose mean is what the treatment adds: (y - m)(T - p) / p(1 - p), [n].

    p is the probability of treatment.  m is the mean of the control group of the category, as far as it was known
    before the round in which the client asked; 0 if nothing was.  It makes the spread smaller and leaves the mean.
    `where` has the round, the known round and the category of each client, `sizes` the numbers of rounds and
    categories.
    """
    rounds, known, category = where
    control = ~treated & (known <= sizes[0])
    # In the order of the outcomes, so that sums do not depend on the order of the rows.
    order = np.flatnonzero(control)[np.argsort(outcome[control], kind="stable")]
    cells = (known[order].astype(np.int64) - 1) * sizes[1] + category[order]
    cumulated = [
        np.bincount(cells, values, minlength=sizes[0] * sizes[1]).reshape(sizes).cumsum(axis=0)
        for values in (outcome[order], None)
    ]
    mean = np.zeros((sizes[0] + 1, sizes[1]))
    np.divide(cumulated[0], cumulated[1], out=mean[1:], where=cumulated[1] > 0)
    return (outcome - mean[rounds - 1, category]) * (treated - share) / (share * (1.0 - share))
