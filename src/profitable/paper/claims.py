"""The paper's claims about its experiments.

`claims.toml` has the claims and the tests in words; `DECIDED_BY` has the function that
carries out each test.
"""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from profitable.common.text_tables import horizon_text
from profitable.paper.finding import (
    RESTRICTED,
    SURE,
    Claim,
    Finding,
    by_regret,
    checkpoint,
    final,
    judge,
    lead,
    plus_minus,
    ratio_of,
    standard_errors,
)
from profitable.paper.reproduction import Trial
from profitable.paper.slopes import decide_lower_bound
from profitable.paper.theorems import decide_finite_time, decide_turned_away
from profitable.simulation.curve import Curve

KNOWING = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")  # they know the family of the rewards
# The three that the paper analyses and its abstract compares.
ANALYSED = ("kl-ucb", "bayes-ucb", "ts")
ALIKE = 1.25


def base(curve: Curve) -> str:
    """Return a policy's name without parameters."""
    return curve.policy.partition(":")[0]


def bend(curve: Curve) -> tuple[float, float]:
    """Return the slope in the last half decade relative to that before, and its error.

    1 is a straight line over log t; a regret that grows like t has 10^(1/2).  The
    errors of both slopes are added as if they were independent, which makes the sum
    rather too large.
    """
    horizon = float(curve.t[-1])
    early, middle = checkpoint(curve, horizon / 10.0), checkpoint(curve, horizon / np.sqrt(10.0))
    rise, error = curve.mean("regret_rise"), curve.error("regret_rise")
    width_late = np.log(horizon / curve.t[middle])
    width_early = np.log(curve.t[middle] / curve.t[early])
    before = float(rise[early] - rise[middle]) / width_early
    if rise[middle] <= 0.0 or before <= 0.0:
        return np.inf, np.inf
    late = (float(rise[middle]) / width_late, float(error[middle]) / width_late)
    return ratio_of(late, (before, float(np.hypot(error[early], error[middle])) / width_early))


def decide_growth(trials: Sequence[Trial]) -> Finding:
    """Regret grows logarithmically."""
    rows: list[tuple[str, ...]] = []
    bent: list[str] = []
    # By whether the policy knows the family.
    straight: dict[bool, list[bool]] = {True: [], False: []}
    for trial in trials:
        for curve in trial.result.curves:
            ratio, error = bend(curve)
            is_straight = ratio - SURE * error >= 1.0 / ALIKE and ratio + SURE * error <= ALIKE
            is_bent = ratio - SURE * error > ALIKE or ratio + SURE * error < 1.0 / ALIKE
            straight[base(curve) in KNOWING].append(is_straight)
            word = "yes" if is_straight else "not decided"
            if is_bent:
                word = "no"
                why = _why_bent(curve, ratio)
                bent.append(f"{curve.policy} in {trial.experiment.name} ({ratio:.2f}, {why})")
            text = plus_minus(ratio, error, few=curve.carried_by_few[-1])
            rows.append((trial.experiment.name, curve.policy, text, word))
    everybody = straight[True] + straight[False]
    verdict = judge(shown=all(everybody), refuted=bool(bent), restriction=all(straight[True]))
    undecided = len(rows) - sum(everybody) - len(bent)
    seen = f"{sum(everybody)} of {len(rows)} curves are straight over log t in the last decade"
    seen += f", {undecided} are not decided" if undecided else ""
    seen += f"; not straight: {', '.join(bent)}." if bent else "."
    why = (
        f"{len(bent)} of {len(rows)} curves are bent over log t in the last decade, "
        f"{undecided} not decided."
    )
    headers = ("experiment", "policy", "bend", "straight")
    at = f"at T = {horizon_text(max(trial.result.horizon for trial in trials))}"
    return Finding(verdict, seen, why, headers, rows, at)


def _why_bent(curve: Curve, ratio: float) -> str:
    """Why a curve is bent, in words."""
    if ratio < 1.0:
        return "its initial phase is just over"
    wrong = [not truth.profitable for truth in curve.scenario.truths]
    share = float(curve.accepted_rounds[wrong, -1].mean() / curve.t[-1])
    return f"accepts unprofitable categories in {share:.0%} of the rounds"


def _judge_leads(leads: Sequence[float], *, restriction: bool) -> str:
    """Return the verdict on a claim that all these leads are positive."""
    least = float(np.min(leads))  # NaN if one of them is unknown
    return judge(shown=least > SURE, refuted=least < -SURE, restriction=restriction)


def decide_gaussian(trials: Sequence[Trial]) -> Finding:
    """kl-Gaussian is worse than kl-Bernoulli."""
    rows: list[tuple[str, ...]] = []
    leads: list[float] = []
    for trial in trials:
        name, gaussian = trial.experiment.name, trial.curve("kl-gaussian-ucb")
        # For Bernoulli rewards kl-UCB-4P is kl-Bernoulli-UCB-4P.
        other = trial.curve("kl-ucb" if name.startswith("bernoulli") else "kl-bernoulli-ucb")
        leads.append(lead(other, gaussian))
        ratio = f"{float(gaussian.regret[-1] / other.regret[-1]):.2f}"
        rows.append((name, final(gaussian), final(other), ratio, standard_errors(leads[-1])))
    verdict = _judge_leads(leads, restriction=bool(np.max(leads) > SURE))
    ratios = ", ".join(f"{row[3]} ({row[0]})" for row in rows)
    seen = f"The regret of kl-Gaussian over that of kl-Bernoulli: {ratios}."
    why = f"Its regret is {_span([row[3] for row in rows])} times as large."
    headers = ("experiment", "kl-Gaussian", "kl-Bernoulli", "ratio", "difference")
    return Finding(verdict, seen, why, headers, rows)


def _span(texts: Sequence[str]) -> str:
    """From the smallest number to the largest: "1.33 to 6.86"."""
    ordered = sorted(dict.fromkeys(texts), key=float)
    return " to ".join(dict.fromkeys((ordered[0], ordered[-1])))


def decide_alike(trials: Sequence[Trial]) -> Finding:
    """All others are alike in the Bernoulli case."""
    curves = by_regret(trials[0], (*KNOWING, "kl-emp-ucb"))
    slopes = [curve.slope(curve.t[checkpoint(curve, curve.t[-1] / 10.0)]) for curve in curves]
    regrets = [(float(curve.regret[-1]), float(curve.stderr[-1])) for curve in curves]
    spread = ratio_of(regrets[-1], regrets[0])
    spread_of_slopes = ratio_of(max(slopes), min(slopes))
    rows = [
        (curve.policy, final(curve), plus_minus(*slope, few=curve.carried_by_few[-1]))
        for curve, slope in zip(curves, slopes, strict=True)
    ]
    verdict = judge(
        shown=spread[0] + SURE * spread[1] <= ALIKE,
        refuted=spread[0] - SURE * spread[1] > ALIKE,
        restriction=spread_of_slopes[0] + SURE * spread_of_slopes[1] <= ALIKE,
    )
    seen = (
        f"From {curves[0].policy} to {curves[-1].policy} the regrets differ by a factor of "
        f"{plus_minus(*spread)}; "
        f"the slopes in the last decade by a factor of {plus_minus(*spread_of_slopes)}."
    )
    why = f"The regret of {curves[-1].policy} is {spread[0]:.2f} times that of {curves[0].policy}."
    headers = ("policy", "regret", "slope per log t, last decade")
    return Finding(verdict, seen, why, headers, rows)


def decide_knowledge(trials: Sequence[Trial]) -> Finding:
    """Policies that know the family beat those that do not."""
    rows: list[tuple[str, ...]] = []
    leads: list[float] = []
    for trial in trials:
        worst = by_regret(trial, KNOWING)[-1]
        best = next(curve for curve in by_regret(trial) if base(curve) not in KNOWING)
        leads.append(lead(worst, best))
        ratio = float(best.regret[-1] / worst.regret[-1])
        known, unknown = f"{worst.policy}: {final(worst)}", f"{best.policy}: {final(best)}"
        rows.append(
            (trial.experiment.name, known, unknown, f"{ratio:.1f}", standard_errors(leads[-1]))
        )
    verdict = _judge_leads(leads, restriction=leads[0] > SURE)
    ratios = ", ".join(f"{row[3]} times ({row[0]})" for row in rows)
    seen = f"The best that does not know the family loses {ratios} what the worst that does loses."
    why = (
        f"Even the best that does not know it loses {_span([row[3] for row in rows])} times as "
        "much."
    )
    headers = ("experiment", "worst that knows", "best that does not", "ratio", "difference")
    return Finding(verdict, seen, why, headers, rows)


def winners(trial: Trial) -> str:
    """Return the policies that may have the smallest regret.

    The first has it; it does not lead the others by 4 standard errors.
    """
    best, *others = by_regret(trial)
    return " or ".join(
        [best.policy, *(curve.policy for curve in others if not lead(best, curve) > SURE)]
    )


def decide_best(trials: Sequence[Trial]) -> Finding:
    """Thompson sampling and Bayes-UCB perform best."""
    bayesian = ("ts", "bayes-ucb")
    leads = [
        lead(trial.curve(mine), other)
        for trial in trials
        for mine in bayesian
        for other in trial.result.curves
        if base(other) not in bayesian
    ]
    of_three = [
        lead(each.curve(mine), each.curve("kl-ucb")) for each in trials for mine in bayesian
    ]
    verdict = _judge_leads(leads, restriction=bool(np.min(of_three) > SURE))
    best = ", ".join(f"{winners(trial)} ({trial.experiment.name})" for trial in trials)
    seen = f'Smallest regret: {best}. (With "or", the difference is below 4 standard errors.)'
    if verdict == RESTRICTED:
        seen += (
            " Among the three policies that the paper analyses, both Bayesian ones are ahead "
            "of kl-UCB everywhere."
        )
    rows = [
        (
            trial.experiment.name,
            "; ".join(
                f"{curve.policy} {final(curve)}"
                for curve in by_regret(trial)
                if base(curve) in KNOWING
            ),
        )
        for trial in trials
    ]
    headers = ("experiment", "regrets of those that know the family")
    return Finding(verdict, seen, f"Smallest regret: {best}.", headers, rows)


def decide_thompson(trials: Sequence[Trial]) -> Finding:
    """Thompson sampling is slightly ahead."""
    rows: list[tuple[str, ...]] = []
    leads: list[float] = []
    of_three: list[float] = []
    for trial in trials:
        thompson = trial.curve("ts")
        best = next(curve for curve in by_regret(trial) if base(curve) != "ts")
        analysed = next(curve for curve in by_regret(trial, ANALYSED) if base(curve) != "ts")
        leads.append(lead(thompson, best))
        of_three.append(lead(thompson, analysed))
        rows.append(
            (
                trial.experiment.name,
                final(thompson),
                f"{best.policy}: {final(best)} ({standard_errors(leads[-1])})",
                f"{analysed.policy}: {final(analysed)} ({standard_errors(of_three[-1])})",
            )
        )
    verdict = _judge_leads(leads, restriction=bool(np.min(of_three) > SURE))
    gains = ", ".join(
        f"{float(each.curve('ts').regret[-1] / each.curve('bayes-ucb').regret[-1]) - 1.0:+.0%} "
        f"({each.experiment.name})"
        for each in trials
    )
    behind: dict[str, list[str]] = {}
    for row, ahead in zip(rows, leads, strict=True):
        if ahead < -SURE:
            behind.setdefault(row[2].partition(":")[0], []).append(row[0])
    leaders = ", ".join(f"{policy} ({', '.join(names)})" for policy, names in behind.items())
    seen = f"The regret of Thompson sampling relative to that of Bayes-UCB: {gains}"
    last = (
        f"it is behind {leaders}." if behind else "no policy is ahead of it by 4 standard errors."
    )
    seen += f"; {last}"
    headers = ("experiment", "TS", "best other", "best other of the three analysed")
    return Finding(verdict, seen, f"{last[0].upper()}{last[1:]}", headers, rows)


DECIDED_BY: dict[str, Callable[[Sequence[Trial]], Finding]] = {
    "growth": decide_growth,
    "gaussian": decide_gaussian,
    "alike": decide_alike,
    "knowledge": decide_knowledge,
    "best": decide_best,
    "thompson": decide_thompson,
    "lower-bound": decide_lower_bound,
    "finite-time": decide_finite_time,
    "turned-away": decide_turned_away,
}


def claims() -> list[Claim]:
    """All claims of `claims.toml`.

    >>> [claim.key for claim in claims()][:3]
    ['growth', 'gaussian', 'alike']
    """
    table = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
    return [Claim(key, **entry, decide=DECIDED_BY[key]) for key, entry in table.items()]
