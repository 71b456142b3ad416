"""Claim and Finding: a sentence of the paper, and the outcome of its test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profitable.common.text_tables import number_text
from profitable.paper.reproduction import Reproduction, Trial
from profitable.simulation.curve import DAGGER, Curve

HOLDS, RESTRICTED, FAILS = "holds", "holds with a restriction", "does not hold"
UNDECIDED, NOT_RUN = "not decided", "not run"
FEWEST_RUNS = 50
FEWEST_BEYOND = 20.0  # a tail is shown only as far as at least this many runs lie beyond
SURE = 4.0  # standard errors; a larger difference is not chance

Estimate = tuple[float, float]  # a value and its standard error


@dataclass(frozen=True)
class Finding:
    """A verdict with its reasons: sentences, one line, and a table of numbers.

    `at` says to which horizon the verdict is confined, if it is.
    """

    verdict: str
    seen: str
    why: str
    headers: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()
    at: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready values."""
        return {
            "verdict": self.verdict,
            "at": self.at,
            "why": self.why,
            "seen": self.seen,
            "headers": list(self.headers),
            "rows": [list(row) for row in self.rows],
        }


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its source, and the test that decides it.

    `changed` says what was changed in the test after its first version.  Of its
    `experiments` those `required` must have been run, or else at least one.  `decide`
    takes their trials.
    """

    key: str
    statement: str
    source: str
    test: str
    changed: str
    experiments: Sequence[str]
    decide: Callable[[Sequence[Trial]], Finding]
    required: Sequence[str] = ()

    def finding(self, reproduction: Reproduction, *, by_authors: bool) -> Finding:
        """Return the finding of the test in the paper's variant or in the authors'."""
        trials = reproduction.find(*self.experiments, by_authors=by_authors)
        needed = reproduction.find(*self.required, by_authors=by_authors)
        if not trials or len(needed) < len(self.required):
            return not_run(*(self.required or self.experiments))
        return with_doubts(self.decide(trials), trials, trials, self.experiments)


def with_doubts(
    found: Finding, trials: Sequence[Trial], named: Sequence[Trial], names: Sequence[str]
) -> Finding:
    """Return the finding with what limits it.

    It says which experiments were run if these are not all of `names`.  It is
    `UNDECIDED` if one of the `trials` that decided it has fewer than `FEWEST_RUNS`
    runs: with so few, standard errors mean little.
    """
    if len(named) < len(names):
        alone = ", ".join(trial.experiment.name for trial in named)
        found = replace(found, seen=f"Decided on {alone} alone. {found.seen}")
    few = [
        f"{number_text(each.result.finished)} of {each.experiment.name}"
        for each in trials
        if each.result.finished < FEWEST_RUNS
    ]
    if not few:
        return found
    why = f"Too few runs: {', '.join(few)}."
    return replace(found, verdict=UNDECIDED, seen=f"{why} {found.seen}", why=why)


def not_run(*names: str) -> Finding:
    """Return the finding of a claim whose experiments were not run."""
    needs = f"It needs the experiment{'s' if len(names) > 1 else ''} {', '.join(names)}."
    return Finding(NOT_RUN, needs, needs)


def judge(*, shown: bool, refuted: bool, restriction: bool) -> str:
    """Return the verdict.

    A refuted claim may hold with its restriction; one neither shown nor refuted is not
    decided.
    """
    if shown:
        return HOLDS
    if refuted:
        return RESTRICTED if restriction else FAILS
    return UNDECIDED


def limit_text(value: float) -> str:
    """Return a limit that theory gives, if it does.

    >>> limit_text(0.30216), limit_text(float("nan"))
    ('0.302', 'unknown')
    """
    return "unknown" if np.isnan(value) else f"{value:.3g}"


def plus_minus(value: float, error: float, *, few: bool = False) -> str:
    """Mean and standard error with the digits that mean something.

    They get a mark if `few` runs carry the mean.

    >>> plus_minus(103.0421, 0.2913), plus_minus(13_2085.6, 39.1)
    ('103.04 ± 0.29', '132 086 ± 39')
    """
    mark = DAGGER if few else ""
    if not np.isfinite(value):
        return "-" + mark
    if not np.isfinite(error) or error <= 0.0:
        return rounded_text(value) + mark
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}".replace(",", " ") + mark


def rounded_text(value: float, digits: int = 4) -> str:
    """Write a number that is rounded to so many digits, without an exponent.

    >>> rounded_text(123_456.0), rounded_text(123_456.0, 2)
    ('123 500', '120 000')
    """
    return number_text(float(f"{value:.{digits}g}"))


def final(curve: Curve) -> str:
    """Write the final regret ± error, marked where the error itself is uncertain."""
    return plus_minus(float(curve.regret[-1]), float(curve.stderr[-1])) + curve.mark


def lead(better: Curve, worse: Curve) -> float:
    """Return the lead of `better` over `worse` in standard errors; NaN without one."""
    gap = float(worse.regret[-1] - better.regret[-1])
    error = float(np.hypot(better.stderr[-1], worse.stderr[-1]))
    return gap / error if error > 0.0 else np.nan


def standard_errors(value: float) -> str:
    """Write a lead as text."""
    return "no error" if np.isnan(value) else f"{value:+.1f} s.e."


def checkpoint(curve: Curve, t: float) -> int:
    """Return the place of the checkpoint nearest to t on the logarithmic axis."""
    return int(np.argmin(np.abs(np.log(curve.t) - np.log(t))))


def ratio_of(first: Estimate, second: Estimate) -> Estimate:
    """Return the ratio of two independent estimates, with its standard error.

    >>> ratio_of((3.0, 0.3), (2.0, 0.0))
    (1.5, 0.15)
    """
    value = first[0] / second[0]
    return value, abs(value) * float(np.hypot(first[1] / first[0], second[1] / second[0]))


def by_regret(trial: Trial, policies: Sequence[str] = ()) -> list[Curve]:
    """Curves from the smallest final regret to the largest."""
    curves = [trial.curve(policy) for policy in policies] or trial.result.curves
    return sorted(curves, key=lambda curve: float(curve.regret[-1]))


def or_none(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return value if np.isfinite(value) else None


def pair_or_none(estimate: Estimate) -> list[float | None]:
    """Return an estimate for JSON."""
    return [or_none(each) for each in estimate]
