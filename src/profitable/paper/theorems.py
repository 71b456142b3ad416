"""The paper's theorems against simulation.

Theorem 2 in full, what can be compared of Theorems 3 and 4, and Theorem 4 (ii): is the
number of rounds bounded in which Thompson sampling rejects a profitable category?  The
sum over all waits decides that (`theory/waits.py`): it converges or not, and the
simulation has to agree with it.
"""

import math
from collections.abc import Sequence

import numpy as np

from profitable.common.text_tables import horizon_text, number_text
from profitable.errors import InputError
from profitable.model.families import Bernoulli, Exponential
from profitable.paper.finding import (
    FEWEST_BEYOND,
    SURE,
    Finding,
    checkpoint,
    judge,
    plus_minus,
    rounded_text,
)
from profitable.paper.reproduction import Trial
from profitable.simulation.clients_per_round import ConstantClients
from profitable.simulation.scenario import Truth
from profitable.theory import regret_bounds
from profitable.theory.waits import Waits, bernoulli_waits, exponential_waits

TIMES = (1e4, 1e6, 1e9, 1e12)
PAPER_HORIZON = 1e4
CUTS = (1e2, 1e4, 1e8)  # the table shows the sums of waits cut there, and at the horizon


# ------------------------------------------------------------------ Theorems 2, 3 and 4


def decide_finite_time(trials: Sequence[Trial]) -> Finding:
    """Check that no mean exceeds its bound, and that the bounds say something."""
    (trial,) = trials
    rows: list[tuple[str, ...]] = []
    broken: list[str] = []
    vacuous: list[str] = []
    for t in TIMES:
        for k, truth in enumerate(trial.result.scenario.truths):
            clients, error = _wrong_clients(trial, "kl-ucb", k, t)
            bound, proved, theorem = _theorem_2(truth, t)
            everybody = t * truth.clients.average
            label = f"{theorem} for {truth.category.name} at {number_text(t)}"
            if clients + SURE * error > bound:
                broken.append(label)
            if (bound if proved is None else proved) >= everybody:
                vacuous.append(label)
            bounds = [
                "-" if each is None else _large(each) + (" (vacuous)" if each >= everybody else "")
                for each in (bound, proved)
            ]
            found = plus_minus(clients, error)
            rows.append(
                (number_text(t), truth.category.name, theorem, found, *bounds, _large(everybody))
            )
    early = [label for label in vacuous if label.endswith(number_text(PAPER_HORIZON))]
    verdict = judge(shown=not broken and not early, refuted=True, restriction=not broken)
    seen = f"Broken: {', '.join(broken)}. " if broken else "No mean exceeds its bound. "
    if vacuous:
        seen += f"Vacuous with ε < 1, as proved: {', '.join(vacuous)}; but the proof allows any ε. "
    seen += (
        "With C − 1 ~ Poisson, as in the experiments, c⁺ is infinite, and so is Theorem 2 "
        f"(ii), at every T. {_leading_terms(trial)}"
    )
    why = (
        f"{len(broken)} of {len(rows)} means are above their bounds; {len(vacuous)} bounds are "
        "vacuous at ε < 1."
    )
    bounds = ("bound, best ε", "bound, best ε < 1")
    headers = ("T", "category", "bound", "mean clients", *bounds, "everybody")
    return Finding(verdict, seen, why, headers, rows)


def wrong_rounds(trial: Trial, policy: str, category: int, t: float) -> tuple[float, float]:
    """Return the mean number of wrong rounds up to t, and its standard error."""
    curve = trial.curve(policy)
    truth, place = trial.result.scenario.truths[category], checkpoint(curve, t)
    rounds, error = curve.accepted_rounds[category, place], curve.error("accepted")[category, place]
    return float(curve.t[place] - rounds if truth.profitable else rounds), float(error)


def _wrong_clients(trial: Trial, policy: str, category: int, t: float) -> tuple[float, float]:
    """`wrong_rounds` in clients."""
    rounds, error = wrong_rounds(trial, policy, category, t)
    average = trial.result.scenario.truths[category].clients.average
    return rounds * average, error * average


def _theorem_2(truth: Truth, t: float) -> tuple[float, float | None, str]:
    """Return the bound with the best epsilon, with epsilon < 1, and the theorem."""
    arrivals = truth.clients.bounds()
    if truth.profitable:
        bound = regret_bounds.kl_ucb_profitable(horizon=t, arrivals=arrivals)
        return bound, None, "Theorem 2 (ii)"
    model = (truth.category.family, truth.fixed_mean, truth.category.threshold)
    best, proved = (
        regret_bounds.kl_ucb_unprofitable(
            *model, horizon=t, arrivals=arrivals, largest_epsilon=largest
        ).clients
        for largest in (1000.0, 1.0)
    )
    return best, proved, "Theorem 2 (i)"


def _leading_terms(trial: Trial) -> str:
    """Return a sentence on Theorems 3 and 4.

    They leave constants open, so only leading terms at the horizon are compared.
    """
    horizon = float(trial.result.horizon)
    texts: list[str] = []
    for policy, c in (("bayes-ucb", 5.0), ("ts", 0.0)):
        shares: list[float] = []
        for k, truth in enumerate(trial.result.scenario.truths):
            if truth.profitable:
                continue
            model = (truth.category.family, truth.fixed_mean, truth.category.threshold)
            leading = regret_bounds.thompson_unprofitable(
                *model, horizon=horizon, arrivals=truth.clients.bounds()
            )
            leading *= 1.0 + c * np.log(np.log(horizon)) / np.log(horizon)
            shares.append(_wrong_clients(trial, policy, k, horizon)[0] / leading)
        texts.append(f"{policy} uses {min(shares):.0%} to {max(shares):.0%}")
    return (
        "The paper leaves the constants of Theorems 3 and 4 open. Of their leading terms at "
        f"T = {horizon_text(horizon)} (ε → 0), {' and '.join(texts)}."
    )


def _large(value: float) -> str:
    return rounded_text(value) if value < 1e9 else f"{value:.3g}"


# ----------------------------------------------------------------------- Theorem 4 (ii)


def waits_of(truth: Truth, horizon: float) -> Waits:
    """Return the waits of Thompson sampling for a profitable category."""
    category = truth.category
    if isinstance(category.family, Bernoulli):
        return bernoulli_waits(truth.fixed_mean, category.threshold, truth.clients.seen)
    if isinstance(category.family, Exponential) and truth.clients == ConstantClients(1):
        return exponential_waits(category.threshold / truth.fixed_mean, horizon)
    raise InputError(
        "family",
        category.family,
        "has no sum of waits here",
        "take Bernoulli, or Exponential and one client",
    )


def often_seen(waits: Waits, runs: int) -> float:
    """Return the mean number of rejected rounds as far as so many runs can show it.

    Waits are cut at a length that at least `FEWEST_BEYOND` of them are expected to
    exceed, in all runs together.  Long waits are so rare and so long that the variance
    may be infinite.  If none of them happens to come, both the mean and its standard
    error are too small, and without the cut that would count as a contradiction.
    """
    wait = 1.0
    while runs * waits.longer_than(2.0 * wait) >= FEWEST_BEYOND:
        wait *= 2.0
    return waits.mean(wait)


def settles(trial: Trial, category: int) -> tuple[bool, bool]:
    """Return whether the sum of the waits converges, and whether the simulation agrees.

    They agree within 4 standard errors.
    """
    waits = waits_of(trial.result.scenario.truths[category], trial.result.horizon)
    seen, error = wrong_rounds(trial, "ts", category, trial.result.horizon)
    least = often_seen(waits, trial.result.finished)
    most = waits.mean() + waits.left_out
    return math.isfinite(most), least - SURE * error <= seen <= most + SURE * error


def decide_turned_away(trials: Sequence[Trial]) -> Finding:
    """Check that Thompson sampling rejects profitable categories in few rounds."""
    rows: list[tuple[str, ...]] = []
    holds: dict[str, bool] = {}
    seen: list[str] = []
    wholes: dict[str, list[str]] = {}
    horizon = float(trials[0].result.horizon)
    first, *others = map(horizon_text, (*CUTS, horizon))
    for trial in trials:
        for k, truth in enumerate(trial.result.scenario.truths):
            if not truth.profitable:
                continue
            family, name = truth.category.family.name.capitalize(), truth.category.name
            waits = waits_of(truth, horizon)
            converges, agrees = settles(trial, k)
            whole = f"{waits.mean():.2f}" if converges else "∞"
            cut = [f"{waits.mean(longest):.2f}" for longest in (*CUTS, horizon)]
            shown = f"{often_seen(waits, trial.result.finished):.2f}"
            simulated = plus_minus(*wrong_rounds(trial, "ts", k, horizon))
            passes = converges and agrees
            holds[family] = holds.get(family, True) and passes
            wholes.setdefault(family, []).append(whole)
            rows.append((family, name, *cut, whole, shown, simulated, "yes" if passes else "no"))
            seen.append(
                f"{family}, {name}: the sum converges to {whole} rounds, of which "
                f"{number_text(trial.result.finished)} runs can show {shown}; simulated: "
                f"{simulated}."
                if converges
                else f"{family}: the sum diverges. Cut at waits of {', '.join([first, *others])} "
                f"rounds it is {', '.join(cut)}; see the second question below."
            )
    verdict = judge(
        shown=all(holds.values()), refuted=not all(holds.values()), restriction=holds["Bernoulli"]
    )
    sums = "; ".join(f"{family} {' and '.join(each)}" for family, each in wholes.items())
    why = f"Rejected rounds of a profitable category in all: {sums}."
    cuts = (f"waits cut at {first}", *(f"at {length}" for length in others))
    last = ("whole sum", "what the runs can show", "simulated", "passes")
    return Finding(verdict, " ".join(seen), why, ("rewards", "category", *cuts, *last), rows)
