"""Which setting of a world is best, and which cannot be told from it.

The best is the one with the lowest mean regret among those that got all runs.  Chance has chosen it, too, so the
others are not simply compared at two errors.  A setting is *told apart* from the best if its mean regret is larger by
more than `limit` standard errors of the difference.  The limit is such that the truly best setting of a world is told
apart by mistake with a probability of at most 5 % (Bonferroni: it is compared with each other setting, after the stage
at which it is dropped, whichever that is).  This takes means over runs as normal.  Where rare large runs carry the
mean of the best, its error is as large as `Curve.interval` says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from profitable.simulation.curve import BELOW, Curve

MISTAKE = 0.05  # the probability that the truly best setting of a world is told apart from the one called best


@dataclass(frozen=True)
class Compared:
    """One setting beside the best of its world: how much more regret, the error of that, and whether that is enough."""

    difference: float
    error: float
    told_apart: bool


@dataclass(frozen=True)
class Comparison:
    """A world: the place of the best setting and of the runner-up (None if it is alone), and all beside the best."""

    best: int
    runner_up: int | None
    limit: float
    compared: tuple[Compared, ...]

    @property
    def alike(self) -> list[int]:
        """The places of the settings that cannot be told from the best, without the best."""
        return [
            place for place, each in enumerate(self.compared) if place != self.best and not each.told_apart
        ]  # fmt: skip


def limit_of(settings: int, stages: int) -> float:
    """How many standard errors a difference must exceed.

    >>> round(limit_of(2, 1), 3), round(limit_of(13, 4), 3)
    (1.645, 3.078)
    """
    return NormalDist().inv_cdf(1.0 - MISTAKE / (max(settings - 1, 1) * stages))


def compare(curves: Sequence[Curve], finalists: Sequence[int], stages: int) -> Comparison:
    """Compare the settings of a world; `finalists` are the places of those that got all runs."""
    regrets = [float(curve.regret[-1]) for curve in curves]
    first, *others = sorted(finalists, key=lambda place: (regrets[place], place))
    limit = limit_of(len(curves), stages)
    above = (float(curves[first].interval[1][-1]) - regrets[first]) / BELOW
    found: list[Compared] = []
    for place, curve in enumerate(curves):
        difference, error = regrets[place] - regrets[first], float(np.hypot(float(curve.stderr[-1]), above))
        apart = place != first and difference > limit * error
        found.append(Compared(difference, 0.0 if place == first else error, apart))
    return Comparison(first, others[0] if others else None, limit, tuple(found))
