"""Which setting of a world is best, and which cannot be told from it.

The best is the one with the lowest mean regret among those that got all runs.  Chance has chosen it, too, so the
others are not simply compared at two errors.  A setting is *told apart* from the best if its mean regret is larger by
more than `limit` standard errors of the difference.  The limit is such that the truly best setting of a world is told
apart by mistake with a probability of at most 5 % (Bonferroni: it is compared with each other setting, after the stage
at which it is dropped, whichever that is).

The regret of a setting is `Curve.estimate`: the mean over its runs, except that a policy that stops for good is charged
for losses too rare to be among them.  The estimates are taken as normal.  Where rare large runs carry that of the best,
its error is as large as `Estimate.above` says.

The best has the lowest of many estimates, so its own is too low.  Its interval reaches `reach_of_best` errors up, so
many that the limits of all settings of the world would hold at once with a probability of 97.5 % (Bonferroni).  Two
errors down are enough: being chosen makes low estimates more likely, and high ones less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from profitable.simulation.curve import ABOVE, BELOW, Curve, Estimate

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


def reach_of_best(settings: int) -> float:
    """How many standard errors above its estimate the true mean of the best of so many settings may lie.

    >>> reach_of_best(1), round(reach_of_best(20), 3)
    (2.0, 3.023)
    """
    return max(ABOVE, NormalDist().inv_cdf(1.0 - 0.5 * MISTAKE / settings))


def interval_of(estimate: Estimate, *, best_of: int = 1) -> tuple[float, float]:
    """Limits that cover the true mean regret at the horizon in about 95 % of samples.

    `best_of`: the setting was chosen as the best of so many, with the same runs.
    """
    mean, error, above = (float(each[-1]) for each in (estimate.mean, estimate.error, estimate.above))
    return mean - BELOW * error, mean + reach_of_best(best_of) / ABOVE * above


def compare(curves: Sequence[Curve], finalists: Sequence[int], stages: int) -> Comparison:
    """Compare the settings of a world; `finalists` are the places of those that got all runs."""
    estimates = [curve.estimate for curve in curves]
    regrets = [float(each.mean[-1]) for each in estimates]
    first, *others = sorted(finalists, key=lambda place: (regrets[place], place))
    limit = limit_of(len(curves), stages)
    above = float(estimates[first].above[-1]) / BELOW
    found: list[Compared] = []
    for place, estimate in enumerate(estimates):
        difference, error = regrets[place] - regrets[first], float(np.hypot(float(estimate.error[-1]), above))
        apart = place != first and difference > limit * error
        found.append(Compared(difference, 0.0 if place == first else error, apart))
    return Comparison(first, others[0] if others else None, limit, tuple(found))
