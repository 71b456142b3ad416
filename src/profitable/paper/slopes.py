"""Slopes of the regret per log t, against the lower bound and the closed form.

They are taken over the last six decades.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common.text_tables import horizon_text
from profitable.paper.asymptotics import expected_slope, has_closed_form, unlucky_slope
from profitable.paper.finding import (
    SURE,
    Finding,
    checkpoint,
    judge,
    or_none,
    pair_or_none,
    plus_minus,
)
from profitable.paper.reproduction import Trial
from profitable.simulation.curve import Curve
from profitable.theory import regret_bounds

LONG = ("long-bernoulli", "long-poisson", "long-exponential")
# The slopes are over the last six decades, and over the three decades before.
LAST, BEFORE = 1e6, 1e3
NEXT_TO_IT = 0.02


@dataclass(frozen=True)
class Slope:
    """Regret per log t of one policy.

    In all, from profitable and from unprofitable categories, each with its error.
    """

    experiment: str
    policy: str
    constant: float
    with_factor: float
    expected: float
    expected_profitable: float  # NaN if it is not known
    earlier: tuple[float, float]  # in the three decades before
    total: tuple[float, float]
    profitable: tuple[float, float]
    unprofitable: tuple[float, float]
    carried_by_few: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the slope as JSON-ready values.

        Each slope is a pair with its error.
        """
        parts = ("earlier", "total", "profitable", "unprofitable")
        return {
            "experiment": self.experiment,
            "policy": self.policy,
            "lower_bound_constant": self.constant,
            "upper_bound_constant": self.with_factor,
            "expected_unprofitable": self.expected,
            "expected_profitable": or_none(self.expected_profitable),
            "slopes": {part: pair_or_none(getattr(self, part)) for part in parts},
            "carried_by_few_runs": self.carried_by_few,
        }


def slopes(trial: Trial) -> list[Slope]:
    """Return the slopes in a long experiment, for every policy with a closed form."""
    scenario = trial.result.scenario
    constant = scenario.lower_bound().total
    means = [truth.fixed_mean for truth in scenario.truths]
    with_factor = regret_bounds.asymptotic_upper_bound(
        scenario.categories, means, [truth.clients.bounds() for truth in scenario.truths]
    )
    found: list[Slope] = []
    for curve in trial.result.curves:
        if not has_closed_form(curve.policy):
            continue
        start = start_of(curve)
        found.append(
            Slope(
                trial.experiment.name,
                curve.policy,
                constant,
                with_factor,
                expected_slope(scenario, curve.policy, start, float(curve.t[-1])),
                unlucky_slope(scenario, curve.policy),
                slope_from((curve, start / BEFORE), (curve, start)),
                curve.slope(start),
                curve.slope(start, "profitable"),
                curve.slope(start, "unprofitable"),
                bool(curve.carried_by_few[-1]),
            )
        )
    return found


def start_of(curve: Curve) -> int:
    """Return the checkpoint at which the last six decades begin."""
    return int(curve.t[checkpoint(curve, curve.t[-1] / LAST)])


def slope_from(
    early: tuple[Curve, float], late: tuple[Curve, float], part: str = "regret"
) -> tuple[float, float]:
    """Return the regret per log t from one curve at one time to another.

    Both errors are added as if independent, so the sum is rather too large.
    """
    (first, start), (last, end) = ((curve, checkpoint(curve, t)) for curve, t in (early, late))
    width = float(np.log(last.t[end] / first.t[start]))
    error = float(np.hypot(first.error(part)[start], last.error(part)[end]))
    return float(last.mean(part)[end] - first.mean(part)[start]) / width, error / width


def decide_lower_bound(trials: Sequence[Trial]) -> Finding:
    """Check that the lower bound is respected asymptotically."""
    found = [slope for trial in trials for slope in slopes(trial)]
    precise = [SURE * slope.total[1] <= NEXT_TO_IT * slope.constant for slope in found]
    below = [slope for slope in found if slope.total[0] + SURE * slope.total[1] < slope.constant]
    explained = all(
        abs(slope.unprofitable[0] - slope.expected)
        <= NEXT_TO_IT * slope.expected + SURE * slope.unprofitable[1]
        for slope in below
    )
    verdict = judge(shown=all(precise) and not below, refuted=bool(below), restriction=explained)
    horizon = horizon_text(trials[0].result.horizon)
    seen = f"At T = {horizon} "
    if below:
        names = ", ".join(
            f"{each.policy} ({each.experiment}, {each.total[0] / each.constant - 1:+.1%})"
            for each in below
        )
        seen += f"these slopes are still below the constant: {names}. {_change(below)}"
        seen += " The logarithm of N in the evidence explains it." if explained else ""
        farthest = min(each.total[0] / each.constant - 1 for each in below)
        why = (
            f"{len(below)} of {len(found)} slopes are below it at T = {horizon}, by up to "
            f"{-farthest:.1%}"
        )
        why += "; the logarithm of N explains it." if explained else "."
    else:
        seen += "no slope is below the constant by 4 standard errors."
        why = f"None of {len(found)} slopes is below it by 4 standard errors at T = {horizon}."
    if not all(precise):
        seen += f" {precise.count(False)} of {len(found)} slopes have errors too large to tell."
    rows = [
        (
            slope.experiment,
            slope.policy,
            plus_minus(*slope.earlier),
            plus_minus(*slope.total, few=slope.carried_by_few),
            f"{slope.constant:.4g}",
            f"{slope.expected:.4g}",
        )
        for slope in found
    ]
    curve = trials[0].result.curves[0]
    start, before = (
        horizon_text(float(f"{t:.3g}")) for t in (start_of(curve), start_of(curve) / BEFORE)
    )
    spans = (f"slope, {before} to {start}", f"slope, {start} to {horizon}")
    headers = ("experiment", "policy", *spans, "constant", "closed form")
    return Finding(verdict, seen, why, headers, rows)


def _change(found: Sequence[Slope]) -> str:
    """Write how the slopes differ from those three decades before, beyond chance."""
    change = [
        (each.total[0] - each.earlier[0], float(np.hypot(each.total[1], each.earlier[1])))
        for each in found
    ]
    grown = sum(rise > SURE * error for rise, error in change)
    fallen = sum(-rise > SURE * error for rise, error in change)
    if not grown and not fallen:
        return "No change since the three decades before is seen."
    known = (
        f"{grown} of the {len(found)} have grown and {fallen} have fallen by more than 4 "
        "standard errors"
    )
    return f"Since the three decades before, {known}; for the others no change is seen."
