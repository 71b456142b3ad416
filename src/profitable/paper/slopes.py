"""Slopes of the regret per log t over the last six decades, against the lower bound and the closed form."""

from dataclasses import dataclass
from typing import Any

from profitable import bounds
from profitable.paper.asymptotics import LOGARITHMS, expected_slope, expected_unlucky_slope
from profitable.paper.experiment import INFLATE
from profitable.paper.finding import FAILS, FEW, HOLDS, RESTRICTED, SURE, Finding, checkpoint, not_run, plus_minus
from profitable.paper.study import Outcome, Study

LONG = ("long-bernoulli", "long-poisson", "long-exponential")
START = 1e6  # the last six decades of 10¹²
CLOSE = 0.02


@dataclass(frozen=True)
class Slope:
    """Regret per log t of one policy: all, of profitable and of unprofitable categories, each with its error."""

    experiment: str
    policy: str
    constant: float
    with_factor: float
    expected: float
    expected_profitable: float
    total: tuple[float, float]
    profitable: tuple[float, float]
    unprofitable: tuple[float, float]
    carried_by_few: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: errors beside the values."""
        values = {key: list(getattr(self, key)) for key in ("total", "profitable", "unprofitable")}
        return {
            "experiment": self.experiment,
            "policy": self.policy,
            "lower_bound_constant": self.constant,
            "upper_bound_constant": self.with_factor,
            "expected_unprofitable": self.expected,
            "expected_profitable": self.expected_profitable,
            "slopes": values,
            "carried_by_few_runs": self.carried_by_few,
        }


def slopes(outcome: Outcome) -> list[Slope]:
    """For every policy of a long experiment."""
    scenario = outcome.result.scenario
    constant = scenario.lower_bound().total
    means = [truth.mean for truth in scenario.truths]
    with_factor = bounds.asymptotic_upper_bound(
        scenario.categories, means, [truth.clients.bounds() for truth in scenario.truths]
    )
    found: list[Slope] = []
    for policy in LOGARITHMS:
        curve = outcome.curve(policy)
        start = int(curve.t[checkpoint(curve, START)])
        inflate = INFLATE if "inflate" in curve.policy else 1.0
        found.append(
            Slope(
                outcome.experiment.name,
                curve.policy,
                constant,
                with_factor,
                expected_slope(scenario, policy, start, float(curve.t[-1]), inflate=inflate),
                expected_unlucky_slope(scenario, policy, inflate=inflate),
                curve.slope(start),
                curve.slope(start, "profitable"),
                curve.slope(start, "unprofitable"),
                bool(curve.carried_by_few[-1]),
            )
        )
    return found


def decide_lower_bound(study: Study, by_authors: bool) -> Finding:
    """The lower bound is respected asymptotically."""
    outcomes = study.find(*LONG, by_authors=by_authors)
    if not outcomes:
        return not_run(*LONG)
    found = [slope for outcome in outcomes for slope in slopes(outcome)]
    above = [slope.total[0] + SURE * slope.total[1] >= slope.constant for slope in found]
    explained = [
        abs(slope.unprofitable[0] - slope.expected) <= CLOSE * slope.expected + SURE * slope.unprofitable[1]
        for slope in found
    ]
    verdict = (
        HOLDS if all(above) else RESTRICTED if all(a or e for a, e in zip(above, explained, strict=True)) else FAILS
    )
    below = [
        f"{s.policy} ({s.experiment}, {s.total[0] / s.constant - 1:+.1%})"
        for s, a in zip(found, above, strict=True)
        if not a
    ]
    seen = (
        "At T = 10¹² all slopes are at or above the constant."
        if not below
        else (
            "At T = 10¹² these slopes are still below the constant: "
            + ", ".join(below)
            + "; they approach it from below, "
            "as the logarithm of N in the evidence makes them."
        )
    )
    rows = tuple(
        (
            slope.experiment,
            slope.policy,
            plus_minus(*slope.total) + (FEW if slope.carried_by_few else ""),
            f"{slope.constant:.4g}",
            plus_minus(*slope.unprofitable),
            f"{slope.expected:.4g}",
        )
        for slope in found
    )
    headers = ("experiment", "policy", "slope", "constant", "unprofitable categories", "closed form")
    return Finding(verdict, seen, headers, rows)
