"""The effect of a treatment on each client, from a control group.

A client who would have bought anyway is not a success of the offer.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.common.types import BoolArray, FloatArray


def treatment_effect(
    outcome: FloatArray,
    treated: BoolArray,
    share: FloatArray | float,
    where: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]],
    sizes: tuple[int, int],
) -> FloatArray:
    """Return a number for each client, [n], whose mean is the effect of treatment.

    It is (y - m)(T - p) / p(1 - p).

    p is the probability of treatment.  m is the mean of the control group of the
    category, as far as it was known before the round in which the client asked; 0 if
    nothing was.  It makes the spread smaller and leaves the mean. `where` has the
    round, the known round and the category of each client, `sizes` the numbers of
    rounds and categories.

    Example: in each of two rounds, a client of the control group brings 1 and one who
    is treated brings 2.  In round 2, when the mean of the control group is known, less
    is due to chance:

    >>> treated = np.array([False, True, False, True])
    >>> asked, category = np.array([1, 1, 2, 2]), np.zeros(4, int)
    >>> where = asked, asked, category
    >>> found = treatment_effect(1.0 + treated, treated, 0.5, where, (2, 1))
    >>> found.round().astype(int).tolist()
    [-2, 4, 0, 2]
    """
    asked, known, category = where
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
    return (outcome - mean[asked - 1, category]) * (treated - share) / (share * (1.0 - share))
