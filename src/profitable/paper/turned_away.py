"""Theorem 4 (ii): Thompson sampling and rejected rounds of profitable categories.

Is their number bounded?

The sum over all waits decides it (`theory/waits.py`): it converges or not, and the
simulation has to agree with it.
"""

import math

from profitable.common.text_tables import horizon_text, number
from profitable.errors import InputError
from profitable.model.families import Bernoulli, Exponential
from profitable.paper.bounds_check import wrong_rounds
from profitable.paper.finding import FEWEST_BEYOND, SURE, Finding, judge, not_run, plus_minus
from profitable.paper.reproduction import Reproduction, Trial
from profitable.simulation.clients_per_round import ConstantClients
from profitable.simulation.scenario import Truth
from profitable.theory.waits import Waits, bernoulli_waits, exponential_waits

SETTLES, GROWS = "long-bernoulli", "unlucky"
CUTS = (1e2, 1e4, 1e8)  # the table shows the sums of waits cut there, and at the horizon


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


def decide_turned_away(reproduction: Reproduction, by_authors: bool) -> Finding:
    """Theorem 4 (ii): Thompson sampling and rejected rounds of profitable categories.

    Is their number bounded?

    The experiment with Exponential rewards has no authors' variant.
    """
    trials = [*reproduction.find(SETTLES, by_authors=by_authors), *reproduction.find(GROWS)]
    if len(trials) < 2:
        return not_run(SETTLES, GROWS)
    rows: list[tuple[str, ...]] = []
    holds: dict[str, bool] = {}
    seen: list[str] = []
    wholes: dict[str, list[str]] = {}
    horizon = float(trials[0].result.horizon)
    for trial in trials:
        for k, truth in enumerate(trial.result.scenario.truths):
            if not truth.profitable:
                continue
            family = truth.category.family.name.capitalize()
            waits = waits_of(truth, horizon)
            converges, agrees = settles(trial, k)
            whole = f"{waits.mean():.2f}" if converges else "∞"
            cut = [f"{waits.mean(longest):.2f}" for longest in (*CUTS, horizon)]
            shown = f"{often_seen(waits, trial.result.finished):.2f}"
            simulated = plus_minus(*wrong_rounds(trial, "ts", k, horizon))
            holds[family] = holds.get(family, True) and converges and agrees
            wholes.setdefault(family, []).append(whole)
            passes = "yes" if converges and agrees else "no"
            lengths = ", ".join(map(horizon_text, (*CUTS, horizon)))
            rows.append((family, truth.category.name, *cut, whole, shown, simulated, passes))
            seen.append(
                f"{family}, {truth.category.name}: the sum converges to {whole} rounds, of which "
                f"{number(trial.result.finished)} runs can show {shown}; simulated: {simulated}."
                if converges
                else f"{family}: the sum diverges. Cut at waits of {lengths} rounds "
                f"it is {', '.join(cut)}; see the second question below."
            )
    verdict = judge(
        shown=all(holds.values()), refuted=not all(holds.values()), restriction=holds["Bernoulli"]
    )
    sums = "; ".join(f"{family} {' and '.join(each)}" for family, each in wholes.items())
    why = f"Rejected rounds of a profitable category in all: {sums}."
    cuts = (
        f"waits cut at {horizon_text(CUTS[0])}",
        *(f"at {horizon_text(cut)}" for cut in (*CUTS[1:], horizon)),
    )
    headers = (
        "rewards",
        "category",
        *cuts,
        "whole sum",
        "what the runs can show",
        "simulated",
        "passes",
    )
    return Finding(verdict, " ".join(seen), why, headers, tuple(rows), trials)
