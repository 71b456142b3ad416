"""Contest: the optimal policy against the paper's, by mean, quantile, lost runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common.text_tables import number
from profitable.paper.claims import KNOWING
from profitable.paper.experiment import PAPER, WITH_OPTIMAL
from profitable.paper.finding import DAGGER, plus_minus, ratio_of
from profitable.paper.reproduction import Reproduction, Trial
from profitable.simulation.curve import Curve

WITH_HORIZON, CAREFUL, ANYTIME, PATIENT = (
    "optimal:horizon",
    "optimal:horizon,risk=0.3",
    "optimal",
    "optimal:kappa=10",
)
FORMS = (WITH_HORIZON, CAREFUL, ANYTIME, PATIENT)
TAIL = 0.99
WIDE = 0.2  # of a quantile: an error larger than this share is shown as a range

Estimate = tuple[float, float]  # a value and its standard error


@dataclass(frozen=True)
class Score:
    """Score of one policy in one experiment.

    Mean regret, its 99 % quantile, and the share of runs that lose a category.
    """

    policy: str
    mean: Estimate
    tail: Estimate
    tail_range: tuple[float, float]  # within one standard error; it need not be symmetric
    lost: Estimate
    carried_by_few: bool

    @classmethod
    def of(cls, curve: Curve) -> "Score":
        """Return the numbers of a curve at its last checkpoint."""
        mean = (float(curve.regret[-1]), float(curve.stderr[-1]))
        lost = (float(curve.mean("lost")[0]), float(curve.error("lost")[0]))
        value, low, high = quantile_of(curve, TAIL)
        return cls(
            curve.policy,
            mean,
            (value, 0.5 * (high - low)),
            (low, high),
            lost,
            bool(curve.carried_by_few[-1]),
        )

    @property
    def mean_text(self) -> str:
        """The mean with its error, and its mark."""
        return plus_minus(*self.mean) + (DAGGER if self.carried_by_few else "")

    @property
    def tail_text(self) -> str:
        """The quantile with its error; with its range where that is wide."""
        value, error = self.tail
        if error < WIDE * value:
            return plus_minus(value, error)
        return f"{_rounded(value)} ({' to '.join(map(_rounded, self.tail_range))})"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON-ready values; each is a pair with its error."""
        pairs = {"regret": self.mean, "quantile_0.99": self.tail, "lost_share": self.lost}
        return {
            "policy": self.policy,
            **{key: plain(pair) for key, pair in pairs.items()},
            "carried_by_few_runs": self.carried_by_few,
        }


def plain(estimate: Estimate) -> list[float | None]:
    """Return an estimate for JSON, which has no NaN."""
    return [each if np.isfinite(each) else None for each in estimate]


def quantile_of(curve: Curve, share: float) -> tuple[float, float, float]:
    """Return a quantile of the final regret, and its limits of one standard error.

    The number of runs below the true quantile has the standard deviation sqrt(runs
    share (1 - share)).  So the limits are the quantiles that lie so many runs below and
    above.
    """
    step = float(np.sqrt(share * (1.0 - share) / curve.runs))
    value, low, high = (
        float(curve.quantile(min(1.0, share + each))[-1]) for each in (0.0, -step, step)
    )
    return value, low, high


def below(first: Estimate, second: Estimate) -> float:
    """Return by how many standard errors the first is lower; NaN without an error."""
    error = float(np.hypot(first[1], second[1]))
    return (second[0] - first[0]) / error if error > 0.0 else np.nan


@dataclass(frozen=True)
class Contest:
    """The optimal policy in one experiment, and the paper's four, if they ran."""

    name: str  # of the paper's experiment
    trial: Trial
    paper: Trial | None

    def score(self, policy: str) -> Score:
        """Return the numbers of a policy by its full name."""
        return Score.of(self.trial.result[policy])

    @property
    def four(self) -> list[Score]:
        """The paper's four, from the smallest mean to the largest.

        Empty if they did not run.
        """
        scores = [Score.of(self.paper.curve(policy)) for policy in KNOWING] if self.paper else []
        return sorted(scores, key=lambda score: score.mean[0])

    @property
    def tails(self) -> list[Score]:
        """The same from the smallest quantile to the largest."""
        return sorted(self.four, key=lambda score: score.tail[0])

    @property
    def trials(self) -> list[Trial]:
        """The trials from which it is decided."""
        return [self.trial, *([self.paper] if self.paper else [])]


def contests(reproduction: Reproduction) -> list[Contest]:
    """Return the experiments with the optimal policy that were run."""
    found: list[Contest] = []
    for name, with_optimal in zip(PAPER, WITH_OPTIMAL, strict=True):
        paper = (*reproduction.find(name), None)[0]
        found += [Contest(name, trial, paper) for trial in reproduction.find(with_optimal)]
    return found


def _rounded(value: float) -> str:
    return number(float(f"{value:.3g}"))


def share_text(estimate: Estimate) -> str:
    """Return a share in per cent; "-" if it is unknown."""
    return (
        f"{plus_minus(100.0 * estimate[0], 100.0 * estimate[1])} %"
        if np.isfinite(estimate[0])
        else "-"
    )


def against(mine: Estimate, other: Estimate | None) -> str:
    """Return the difference in per cent, with its error."""
    if other is None or other[0] <= 0.0:
        return "-"
    ratio, error = ratio_of(mine, other)
    return (
        f"{'+' if ratio > 1.0 else ''}{plus_minus(100.0 * (ratio - 1.0), 100.0 * error)} %"
        if ratio != 1.0
        else "0 %"
    )
