"""The best setting of a world, and those that are indistinguishable from it.

The best is the one with the lowest mean regret among those that got all runs.  Chance
has chosen it, too, so the others are not simply compared at two errors.  A setting is
*significantly worse* than the best if its mean regret is larger by more than `limit`
standard errors of the difference, and else statistically *indistinguishable* from it.
The limit has a Bonferroni correction: the truly best setting of a world is compared
with each other setting, after whichever stage it is dropped, and is called
significantly worse with a probability of at most 5 %.

The regret of a setting is `Curve.estimate`: the mean over its runs, except that a
policy that stops for good is charged for losses too rare to be among them.  The
estimates are taken as normal.  Where rare large runs carry that of the best, its error
is as large as `Estimate.above` says.

The best has the lowest of many estimates, so its own is too low.  Its interval reaches
`reach_of_best` errors up, so many that the limits of all settings of the world would
hold at once with a probability of 97.5 % (Bonferroni).  Two errors down are enough:
being chosen makes low estimates more likely, and high ones less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from profitable.simulation.curve import ABOVE, BELOW, Curve, Estimate

# The probability that the truly best setting of a world is called significantly worse.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Compared:
    """Excess regret over the best, its standard error, and its significance."""

    difference: float
    error: float
    significant: bool


@dataclass(frozen=True)
class WorldComparison:
    """Comparison of all settings of a world with the best and its runner-up.

    There is no runner-up if the best is alone.
    """

    best: int
    runner_up: int | None
    limit: float
    compared: tuple[Compared, ...]

    @property
    def indistinguishable(self) -> list[int]:
        """The places of the settings that are indistinguishable from the best."""
        return [
            place
            for place, each in enumerate(self.compared)
            if place != self.best and not each.significant
        ]


def limit_of(settings: int, stages: int) -> float:
    """Return how many standard errors a difference must exceed to be significant.

    >>> round(limit_of(2, 1), 3), round(limit_of(13, 4), 3)
    (1.645, 3.078)
    """
    return NormalDist().inv_cdf(1.0 - SIGNIFICANCE / (max(settings - 1, 1) * stages))


def reach_of_best(settings: int) -> float:
    """Return how many errors the mean of the best may lie above its estimate.

    >>> reach_of_best(1), round(reach_of_best(20), 3)
    (2.0, 3.023)
    """
    return max(ABOVE, NormalDist().inv_cdf(1.0 - 0.5 * SIGNIFICANCE / settings))


def interval_of(estimate: Estimate, *, best_of: int = 1) -> tuple[float, float]:
    """Return an interval that covers the true mean regret in about 95 % of samples.

    `best_of`: the setting was chosen as the best of so many, with the same runs.
    """
    mean, error, above = (
        float(each[-1]) for each in (estimate.mean, estimate.error, estimate.above)
    )
    return mean - BELOW * error, mean + reach_of_best(best_of) / ABOVE * above


def compare(curves: Sequence[Curve], finalists: Sequence[int], stages: int) -> WorldComparison:
    """Compare the settings of a world.

    `finalists` are the places of those that got all runs.
    """
    estimates = [curve.estimate for curve in curves]
    regrets = [float(each.mean[-1]) for each in estimates]
    first, *others = sorted(finalists, key=lambda place: (regrets[place], place))
    limit = limit_of(len(curves), stages)
    above = float(estimates[first].above[-1]) / BELOW
    found: list[Compared] = []
    for place, estimate in enumerate(estimates):
        difference, error = (
            regrets[place] - regrets[first],
            float(np.hypot(float(estimate.error[-1]), above)),
        )
        apart = place != first and difference > limit * error
        found.append(Compared(difference, 0.0 if place == first else error, apart))
    return WorldComparison(first, others[0] if others else None, limit, tuple(found))
