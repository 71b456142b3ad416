"""The finite-time upper bounds against simulation: Theorem 2 in full, the leading terms of Theorems 3 and 4."""

import numpy as np

from profitable import bounds
from profitable.paper.finding import FAILS, HOLDS, RESTRICTED, SURE, Finding, checkpoint, not_run, plus_minus
from profitable.paper.study import Outcome, Study
from profitable.scenario import Truth
from profitable.tables import number

TIMES = (1e4, 1e6, 1e9, 1e12)
PAPER_HORIZON = 1e4

Row = tuple[str, ...]


def decide_finite_time(study: Study, by_authors: bool) -> Finding:
    """The upper bounds hold; arrivals are bounded here, so that the authors' variant changes nothing."""
    outcomes = study.find("bounds")
    if not outcomes:
        return not_run("bounds")
    rows: list[Row] = []
    broken: list[str] = []
    vacuous: list[str] = []
    for t in TIMES:
        for k, truth in enumerate(outcomes[0].result.scenario.truths):
            clients, error = _wrong_clients(outcomes[0], "kl-ucb", k, t)
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
                    "-" if proved is None else _short(proved) + (empty if proved >= everybody else ""),
                    _short(everybody),
                )
            )
    headers = ("T", "category", "bound", "mean clients", "bound, best ε", "bound, best ε < 1", "everybody")
    early = [label for label in vacuous if label.endswith(number(PAPER_HORIZON))]
    verdict = FAILS if broken else RESTRICTED if early else HOLDS
    seen = f"Broken: {', '.join(broken)}. " if broken else "No mean exceeds its bound of Theorem 2. "
    if vacuous:
        seen += f"Vacuous with ε < 1, as proved: {', '.join(vacuous)}; but the proof allows any ε. "
    seen += "With C − 1 ~ Poisson, as in the experiments, c⁺ and with it Theorem 2 (ii) are infinite at every T. "
    seen += _leading_terms(outcomes[0])
    return Finding(verdict, seen, headers, tuple(rows))


def _wrong_clients(outcome: Outcome, policy: str, category: int, t: float) -> tuple[float, float]:
    """Mean clients wrongly accepted (or turned away, if the category is profitable) up to t, and the error."""
    curve = outcome.curve(policy)
    truth, place = outcome.result.scenario.truths[category], checkpoint(curve, t)
    rounds, error = curve.accepted_rounds[category, place], curve.error("accepted")[category, place]
    wrong = curve.t[place] - rounds if truth.profitable else rounds
    return float(wrong * truth.clients.average), float(error * truth.clients.average)


def _theorem_2(truth: Truth, t: float) -> tuple[float, float | None, str]:
    """The bound with the best epsilon, that with the best one below 1, and the theorem's name."""
    arrivals = truth.clients.bounds()
    if truth.profitable:
        return bounds.kl_ucb_profitable(horizon=t, arrivals=arrivals), None, "Theorem 2 (ii)"
    category = truth.category

    def best(largest: float) -> float:
        model = (category.family, truth.mean, category.threshold)
        return bounds.kl_ucb_unprofitable(*model, horizon=t, arrivals=arrivals, largest_epsilon=largest).clients

    return best(1000.0), best(1.0), "Theorem 2 (i)"


def _leading_terms(outcome: Outcome) -> str:
    """Theorems 3 and 4 leave constants open: what can be compared is the leading term at the horizon."""
    horizon = float(outcome.result.horizon)
    shares: dict[str, list[float]] = {}
    for policy in ("bayes-ucb", "ts"):
        c = 5.0 if policy == "bayes-ucb" else 0.0
        for k, truth in enumerate(outcome.result.scenario.truths):
            if truth.profitable:
                continue
            model = (truth.category.family, truth.mean, truth.category.threshold)
            leading = bounds.thompson_unprofitable(*model, horizon=horizon, arrivals=truth.clients.bounds())
            leading *= 1.0 + c * np.log(np.log(horizon)) / np.log(horizon)
            shares.setdefault(policy, []).append(_wrong_clients(outcome, policy, k, horizon)[0] / leading)
    texts = [f"{policy} uses {min(part):.0%} to {max(part):.0%}" for policy, part in shares.items()]
    return (
        "The constants of Theorems 3 and 4 are left open by the paper; of their leading terms at T = 10¹² (ε → 0) "
        f"{' and '.join(texts)}."
    )


def _short(value: float) -> str:
    return number(float(f"{value:.4g}")) if value < 1e9 else f"{value:.3g}"
