"""The finite-time upper bounds against simulation.

Theorem 2 in full, and what can be compared of Theorems 3 and 4.
"""

import numpy as np

from profitable.common.text_tables import horizon_text, number
from profitable.paper.finding import SURE, Finding, checkpoint, judge, not_run, plus_minus
from profitable.paper.reproduction import Reproduction, Trial
from profitable.simulation.scenario import Truth
from profitable.theory import regret_bounds

TIMES = (1e4, 1e6, 1e9, 1e12)
PAPER_HORIZON = 1e4

Row = tuple[str, ...]


def decide_finite_time(reproduction: Reproduction, by_authors: bool) -> Finding:
    """Theorem 2.

    The experiment has bounded arrivals of its own, so `by_authors` changes nothing.
    """
    trials = reproduction.find("bounds")
    if not trials:
        return not_run("bounds")
    rows: list[Row] = []
    broken: list[str] = []
    vacuous: list[str] = []
    for t in TIMES:
        for k, truth in enumerate(trials[0].result.scenario.truths):
            clients, error = _wrong_clients(trials[0], "kl-ucb", k, t)
            bound, proved, theorem = _theorem_2(truth, t)
            everybody = t * truth.clients.average
            label = f"{theorem} for {truth.category.name} at {number(t)}"
            if clients + SURE * error > bound:
                broken.append(label)
            empty = " (vacuous)"
            if (bound if proved is None else proved) >= everybody:
                vacuous.append(label)
            rows.append(
                (
                    number(t),
                    truth.category.name,
                    theorem,
                    plus_minus(clients, error),
                    _short(bound) + (empty if bound >= everybody else ""),
                    "-"
                    if proved is None
                    else _short(proved) + (empty if proved >= everybody else ""),
                    _short(everybody),
                )
            )
    headers = (
        "T",
        "category",
        "bound",
        "mean clients",
        "bound, best ε",
        "bound, best ε < 1",
        "everybody",
    )
    early = [label for label in vacuous if label.endswith(number(PAPER_HORIZON))]
    verdict = judge(shown=not broken and not early, refuted=True, restriction=not broken)
    seen = f"Broken: {', '.join(broken)}. " if broken else "No mean exceeds its bound. "
    if vacuous:
        seen += f"Vacuous with ε < 1, as proved: {', '.join(vacuous)}; but the proof allows any ε. "
    seen += (
        "With C − 1 ~ Poisson, as in the experiments, c⁺ is infinite, and so is Theorem 2 "
        "(ii), at every T. "
    )
    seen += _leading_terms(trials[0])
    return Finding(
        verdict,
        seen,
        f"{len(broken)} of {len(rows)} means are above their bounds; {len(vacuous)} bounds are "
        "vacuous at ε < 1.",
        headers,
        tuple(rows),
        trials,
    )


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
        return (
            regret_bounds.kl_ucb_profitable(horizon=t, arrivals=arrivals),
            None,
            "Theorem 2 (ii)",
        )
    category = truth.category

    def best(largest: float) -> float:
        model = (category.family, truth.fixed_mean, category.threshold)
        return regret_bounds.kl_ucb_unprofitable(
            *model, horizon=t, arrivals=arrivals, largest_epsilon=largest
        ).clients

    return best(1000.0), best(1.0), "Theorem 2 (i)"


def _leading_terms(trial: Trial) -> str:
    """Return a sentence on Theorems 3 and 4.

    They leave constants open, so only leading terms at the horizon are compared.
    """
    horizon = float(trial.result.horizon)
    shares: dict[str, list[float]] = {}
    for policy in ("bayes-ucb", "ts"):
        c = 5.0 if policy == "bayes-ucb" else 0.0
        for k, truth in enumerate(trial.result.scenario.truths):
            if truth.profitable:
                continue
            model = (truth.category.family, truth.fixed_mean, truth.category.threshold)
            leading = regret_bounds.thompson_unprofitable(
                *model, horizon=horizon, arrivals=truth.clients.bounds()
            )
            leading *= 1.0 + c * np.log(np.log(horizon)) / np.log(horizon)
            shares.setdefault(policy, []).append(
                _wrong_clients(trial, policy, k, horizon)[0] / leading
            )
    texts = [f"{policy} uses {min(part):.0%} to {max(part):.0%}" for policy, part in shares.items()]
    return (
        "The paper leaves the constants of Theorems 3 and 4 open. Of their leading terms at "
        f"T = {horizon_text(horizon)} (ε → 0), {' and '.join(texts)}."
    )


def _short(value: float) -> str:
    return number(float(f"{value:.4g}")) if value < 1e9 else f"{value:.3g}"
