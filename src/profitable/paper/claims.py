"""The paper's claims about its experiments: `claims.toml` says which and how each is decided, this file decides."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from profitable.curve import Curve
from profitable.paper.bounds_check import decide_finite_time
from profitable.paper.experiment import PAPER
from profitable.paper.finding import (
    FAILS,
    HOLDS,
    RESTRICTED,
    SURE,
    Claim,
    Finding,
    by_regret,
    checkpoint,
    final,
    lead,
    not_run,
    plus_minus,
)
from profitable.paper.slopes import decide_lower_bound
from profitable.paper.study import Outcome, Study

KNOWING = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")  # they know the family of the rewards
ANALYSED = ("kl-ucb", "bayes-ucb", "ts")  # the three that the paper analyses and its abstract compares
ALIKE = 1.25


def base(curve: Curve) -> str:
    """A policy's name without parameters."""
    return curve.policy.partition(":")[0]


def bend(curve: Curve) -> tuple[float, float]:
    """Slope per log t in the last half decade over that of the half decade before, and its standard error.

    1 is a straight line over log t; a regret that grows like t has 10^(1/2).  The error adds those of both slopes as if
    they were independent, which makes it rather too large.
    """
    horizon = float(curve.t[-1])
    early, middle = checkpoint(curve, horizon / 10.0), checkpoint(curve, horizon / np.sqrt(10.0))
    rise, error = curve.mean("regret_rise"), curve.error("regret_rise")
    width_late = np.log(horizon / curve.t[middle])
    width_early = np.log(curve.t[middle] / curve.t[early])
    late, before = rise[middle] / width_late, (rise[early] - rise[middle]) / width_early
    error_late, error_before = error[middle] / width_late, np.hypot(error[early], error[middle]) / width_early
    if before <= 0.0:
        return np.inf, np.inf
    ratio = float(late / before)
    return ratio, float(np.hypot(error_late, ratio * error_before) / before)


def decide_growth(study: Study, by_authors: bool) -> Finding:
    """Regret grows logarithmically."""
    outcomes = study.find(*PAPER, by_authors=by_authors)
    if not outcomes:
        return not_run(*PAPER)
    rows: list[tuple[str, ...]] = []
    bent: list[str] = []
    knowing = True
    for outcome in outcomes:
        for curve in outcome.result.curves:
            ratio, error = bend(curve)
            straight = ratio - SURE * error <= ALIKE and ratio + SURE * error >= 1.0 / ALIKE
            rows.append((outcome.experiment.name, curve.policy, plus_minus(ratio, error), "yes" if straight else "no"))
            if not straight:
                bent.append(f"{curve.policy} in {outcome.experiment.name} ({ratio:.2f})")
                knowing = knowing and base(curve) not in KNOWING
    headers = ("experiment", "policy", "bend", "straight")
    if not bent:
        return Finding(
            HOLDS, f"All {len(rows)} curves are straight over log t in the last decade.", headers, tuple(rows)
        )
    kept = f"{len(rows) - len(bent)} of {len(rows)} curves are straight over log t in the last decade; not straight: "
    why = ". Above 1 the policy is still close to accept-all at this horizon; below 1 its initial phase has just ended."
    return Finding(RESTRICTED if knowing else FAILS, kept + ", ".join(bent) + why, headers, tuple(rows))


def decide_gaussian(study: Study, by_authors: bool) -> Finding:
    """kl-Gaussian is worse than kl-Bernoulli."""
    names = ("bernoulli", "poisson", "exponential")
    outcomes = study.find(*names, by_authors=by_authors)
    if not outcomes:
        return not_run(*names)
    rows: list[tuple[str, ...]] = []
    leads: list[float] = []
    for outcome in outcomes:
        # For Bernoulli rewards kl-UCB-4P is kl-Bernoulli-UCB-4P.
        other = outcome.curve("kl-ucb" if outcome.experiment.name.startswith("bernoulli") else "kl-bernoulli-ucb")
        gaussian = outcome.curve("kl-gaussian-ucb")
        leads.append(lead(other, gaussian))
        ratio = float(gaussian.regret[-1] / other.regret[-1])
        rows.append((outcome.experiment.name, final(gaussian), final(other), f"{ratio:.2f}", f"{leads[-1]:.0f}"))
    verdict = HOLDS if min(leads) > SURE else FAILS if max(leads) < SURE else RESTRICTED
    seen = f"The regret of kl-Gaussian is {', '.join(row[3] for row in rows)} times that of kl-Bernoulli."
    return Finding(
        verdict, seen, ("experiment", "kl-Gaussian", "kl-Bernoulli", "ratio", "standard errors"), tuple(rows)
    )


def decide_alike(study: Study, by_authors: bool) -> Finding:
    """All others are alike in the Bernoulli case."""
    outcomes = study.find("bernoulli", by_authors=by_authors)
    if not outcomes:
        return not_run("bernoulli")
    curves = by_regret(outcomes[0], (*KNOWING, "kl-emp-ucb"))
    slopes = [curve.slope(curve.t[checkpoint(curve, curve.t[-1] / 10.0)])[0] for curve in curves]
    spread = float(curves[-1].regret[-1] / curves[0].regret[-1])
    spread_of_slopes = max(slopes) / min(slopes)
    rows = [(curve.policy, final(curve), f"{slope:.2f}") for curve, slope in zip(curves, slopes, strict=True)]
    verdict = HOLDS if spread <= ALIKE else RESTRICTED if spread_of_slopes <= ALIKE else FAILS
    seen = (
        f"From {curves[0].policy} to {curves[-1].policy} the regret grows by a factor of {spread:.2f}; "
        f"the slopes in the last decade differ by a factor of {spread_of_slopes:.2f}."
    )
    return Finding(verdict, seen, ("policy", "regret", "slope per log t, last decade"), tuple(rows))


def decide_knowledge(study: Study, by_authors: bool) -> Finding:
    """Policies that know the family beat those that do not."""
    outcomes = study.find("poisson", "exponential", by_authors=by_authors)
    if not outcomes:
        return not_run("poisson", "exponential")
    rows: list[tuple[str, ...]] = []
    leads: list[float] = []
    for outcome in outcomes:
        worst = by_regret(outcome, KNOWING)[-1]
        best = next(curve for curve in by_regret(outcome) if base(curve) not in KNOWING)
        leads.append(lead(worst, best))
        ratio = float(best.regret[-1] / worst.regret[-1])
        rows.append(
            (
                outcome.experiment.name,
                f"{worst.policy}: {final(worst)}",
                f"{best.policy}: {final(best)}",
                f"{ratio:.1f}",
                f"{leads[-1]:.0f}",
            )
        )
    verdict = HOLDS if min(leads) > SURE else FAILS if leads[0] < SURE else RESTRICTED
    ratios = " and ".join(row[3] for row in rows)
    seen = f"The best that does not know the family loses {ratios} times as much as the worst that does."
    headers = ("experiment", "worst that knows", "best that does not", "ratio", "standard errors")
    return Finding(verdict, seen, headers, tuple(rows))


def _ranking(outcomes: list[Outcome]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            outcome.experiment.name,
            "; ".join(f"{curve.policy} {final(curve)}" for curve in by_regret(outcome) if base(curve) in KNOWING),
        )
        for outcome in outcomes
    )


def decide_best(study: Study, by_authors: bool) -> Finding:
    """Thompson sampling and Bayes-UCB perform best."""
    outcomes = study.find(*PAPER, by_authors=by_authors)
    if not outcomes:
        return not_run(*PAPER)
    bayesian = ("ts", "bayes-ucb")
    ahead = [
        all(
            lead(outcome.curve(mine), other) > SURE
            for mine in bayesian
            for other in outcome.result.curves
            if base(other) not in bayesian
        )
        for outcome in outcomes
    ]
    of_three = [all(lead(each.curve(mine), each.curve("kl-ucb")) > SURE for mine in bayesian) for each in outcomes]
    verdict = HOLDS if all(ahead) else RESTRICTED if all(of_three) else FAILS
    winners = [(outcome.experiment.name, by_regret(outcome)[0]) for outcome in outcomes]
    seen = "Smallest regret: " + ", ".join(f"{curve.policy} in {name}" for name, curve in winners) + "."
    if all(of_three) and not all(ahead):
        seen += " Among the three policies that the paper analyses, both Bayesian ones are ahead of kl-UCB everywhere."
    return Finding(verdict, seen, ("experiment", "regrets of those that know the family"), _ranking(outcomes))


def decide_thompson(study: Study, by_authors: bool) -> Finding:
    """Thompson sampling is slightly ahead."""
    outcomes = study.find(*PAPER, by_authors=by_authors)
    if not outcomes:
        return not_run(*PAPER)
    rows: list[tuple[str, ...]] = []
    first, of_three = True, True
    for outcome in outcomes:
        thompson = outcome.curve("ts")
        rival = next(curve for curve in by_regret(outcome) if base(curve) != "ts")
        analysed = next(curve for curve in by_regret(outcome, ANALYSED) if base(curve) != "ts")
        first = first and lead(thompson, rival) > SURE
        of_three = of_three and lead(thompson, analysed) > SURE
        rows.append(
            (
                outcome.experiment.name,
                final(thompson),
                f"{rival.policy}: {final(rival)} ({lead(thompson, rival):+.1f} s.e.)",
                f"{analysed.policy}: {final(analysed)} ({lead(thompson, analysed):+.1f} s.e.)",
            )
        )
    verdict = HOLDS if first else RESTRICTED if of_three else FAILS
    gains = [1.0 - float(each.curve("ts").regret[-1] / each.curve("bayes-ucb").regret[-1]) for each in outcomes]
    names = [outcome.experiment.name for outcome in outcomes]
    seen = "Thompson sampling loses less than Bayes-UCB by " + ", ".join(
        f"{gain:.0%} ({name})" for gain, name in zip(gains, names, strict=True)
    )
    behind = [each.experiment.name for each in outcomes if lead(each.curve("ts"), each.curve("kl-ucb+")) <= SURE]
    seen += f"; it is not ahead of kl-UCB⁺ in {', '.join(behind)}." if behind else "; it is ahead of kl-UCB⁺, too."
    return Finding(verdict, seen, ("experiment", "TS", "best other", "best other of the three analysed"), tuple(rows))


DECIDED_BY: dict[str, Callable[[Study, bool], Finding]] = {
    "growth": decide_growth,
    "gaussian": decide_gaussian,
    "alike": decide_alike,
    "knowledge": decide_knowledge,
    "best": decide_best,
    "thompson": decide_thompson,
    "lower-bound": decide_lower_bound,
    "finite-time": decide_finite_time,
}


def claims() -> list[Claim]:
    """All of them, as `claims.toml` words them.

    >>> [claim.key for claim in claims()][:3]
    ['growth', 'gaussian', 'alike']
    """
    table = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
    return [Claim(key, **entry, decide=DECIDED_BY[key]) for key, entry in table.items()]
