"""Claim and Finding: a sentence of the paper with the test that decides it, and what the test said."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.curve import Curve
from profitable.paper.study import Outcome, Study
from profitable.tables import number

HOLDS, RESTRICTED, FAILS, NOT_RUN = "holds", "holds with a restriction", "does not hold", "not run"
FEW = " †"  # a few unlucky runs carry the mean: its true error is larger than the one shown
SURE = 4.0  # standard errors: a difference of that size is not chance


@dataclass(frozen=True)
class Finding:
    """A verdict, what we see in a sentence, and the numbers behind it as a table."""

    verdict: str
    seen: str
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "verdict": self.verdict,
            "seen": self.seen,
            "headers": list(self.headers),
            "rows": [list(row) for row in self.rows],
        }


@dataclass(frozen=True)
class Claim:
    """What the paper says, where, and how it is decided; `decide` takes a study and whether to look at the variant."""

    key: str
    statement: str
    source: str
    test: str
    decide: Callable[[Study, bool], Finding]


def not_run(*names: str) -> Finding:
    """What a claim says when its experiments are missing."""
    return Finding(NOT_RUN, f"It needs the experiment{'s' if len(names) > 1 else ''} {', '.join(names)}.")


def plus_minus(value: float, error: float) -> str:
    """Mean and standard error with the digits that mean something.

    >>> plus_minus(103.0421, 0.2913), plus_minus(13_2085.6, 39.1)
    ('103.04 ± 0.29', '132 086 ± 39')
    """
    if not np.isfinite(error) or error <= 0.0:
        return number(float(f"{value:.4g}"))
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}".replace(",", " ")


def final(curve: Curve) -> str:
    """Final regret ± error, with a mark where a few runs carry the mean, so that the error is too small."""
    return plus_minus(float(curve.regret[-1]), float(curve.stderr[-1])) + (FEW if curve.carried_by_few[-1] else "")


def lead(better: Curve, worse: Curve) -> float:
    """By how many standard errors the final regret of the first lies below that of the second (independent runs)."""
    gap = float(worse.regret[-1] - better.regret[-1])
    error = float(np.hypot(better.stderr[-1], worse.stderr[-1]))
    return gap / error if error > 0.0 else float(np.sign(gap)) * np.inf


def checkpoint(curve: Curve, t: float) -> int:
    """The place of the checkpoint nearest to t on the logarithmic axis."""
    return int(np.argmin(np.abs(np.log(curve.t) - np.log(t))))


def by_regret(outcome: Outcome, policies: Sequence[str] = ()) -> list[Curve]:
    """Curves from the smallest final regret to the largest."""
    curves = [outcome.curve(policy) for policy in policies] or outcome.result.curves
    return sorted(curves, key=lambda curve: float(curve.regret[-1]))
