"""Summary: everything the report says, as plain values.

`summary.json` holds it, and the pages are made from it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from profitable.common.text_tables import horizon_text, money_text, number_text
from profitable.paper.claims import claims
from profitable.paper.credit import CreditResult
from profitable.paper.experiment import AUTHORS, BEYOND, PAPER, Experiment
from profitable.paper.finding import (
    SURE,
    by_regret,
    checkpoint,
    final,
    lead,
    limit_text,
    or_none,
    plus_minus,
    rounded_text,
)
from profitable.paper.optimal import optimal_summary
from profitable.paper.questions import answers
from profitable.paper.reproduction import Reproduction, Trial
from profitable.paper.slopes import LONG, Slope, slopes
from profitable.simulation.clients_per_round import Clients, OnePlusPoisson, UniformClients
from profitable.version import VERSION


def summarise(reproduction: Reproduction, credit: CreditResult) -> dict[str, Any]:
    """Return everything that the report says, as plain values."""
    checklist = [
        {
            **{
                key: getattr(claim, key)
                for key in ("key", "statement", "source", "test", "changed")
            },
            "paper": claim.finding(reproduction, by_authors=False).to_dict(),
            "authors": claim.finding(reproduction, by_authors=True).to_dict(),
        }
        for claim in claims()
    ]
    return {
        "version": VERSION,
        "seed": reproduction.seed,
        "experiments": [experiment_summary(trial) for trial in reproduction.trials.values()],
        "claims": checklist,
        "slopes": slopes_table(reproduction),
        "optimal": optimal_summary(reproduction),
        "answers": answers(reproduction),
        "credit": credit_summary(credit),
    }


def experiment_summary(trial: Trial) -> dict[str, Any]:
    """Return one experiment: settings, numbers of every policy, the same as a table."""
    experiment, result = trial.experiment, trial.result
    truths = result.scenario.truths
    constant = result.scenario.lower_bound().total
    policies: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    for curve in sorted(result.curves, key=lambda curve: -float(curve.regret[-1])):
        start = int(curve.t[checkpoint(curve, curve.t[-1] / 10.0)])
        slope, slope_error = curve.slope(start) if curve.t.size > 1 else (np.nan, np.nan)
        right = float(curve.mean("right_set")[0])
        accepted = [float(value) for value in curve.accepted_rounds[:, -1]]
        policies.append(
            {
                "policy": curve.policy,
                "regret": float(curve.regret[-1]),
                "stderr": or_none(float(curve.stderr[-1])),
                "slope_per_log_t": or_none(slope),
                "slope_stderr": or_none(slope_error),
                "accepted_rounds": dict(zip(result.scenario.names, accepted, strict=True)),
                "right_set_share": right,
                "lost_share": or_none(float(curve.mean("lost")[0])),
                "quantile_0.99": float(curve.quantile(0.99)[-1]),
                "warning": curve.warning(),
            }
        )
        against = f" ({slope / constant:.2f})" if constant > 0.0 else ""
        rows.append(
            [
                curve.policy,
                final(curve),
                plus_minus(slope, slope_error, few=curve.carried_by_few[-1]) + against,
                *(_rounds(value) for value in accepted),
                f"{right:.1%}",
            ]
        )
    marks = [f"{truth.category.name} {'(+)' if truth.profitable else '(−)'}" for truth in truths]
    return {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "settings": settings(experiment),
        "reading": reading(trial),
        "part": part_of(experiment.name.partition(AUTHORS)[0]),
        "by_authors": experiment.by_authors,
        "horizon": result.horizon,
        "runs": result.finished,
        "lower_bound_per_log_t": constant,
        "lower_bound_at_horizon": float(result.lower_bound[-1]),
        "policies": policies,
        "headers": ["policy", "final regret", "slope per log t (÷ bound)", *marks, "right set"],
        "rows": rows,
        "notes": result.notes(),
        "scenario_file": result.scenario.to_toml(),
    }


def reading(trial: Trial) -> str:
    """Name the policies that lose least and most, and the lead of the best."""
    best, *others = by_regret(trial)
    seen = (
        f"Up to T = {horizon_text(trial.result.horizon)}, `{best.policy}` loses least: "
        f"{final(best)}."
    )
    if not others:
        return seen
    second, worst = others[0], others[-1]
    gap = plus_minus(
        float(second.regret[-1] - best.regret[-1]),
        float(np.hypot(best.stderr[-1], second.stderr[-1])),
    )
    chance = "" if lead(best, second) > SURE else ", which may be chance"
    seen += f" The next, `{second.policy}`, loses {gap} more{chance}."
    if worst is second or best.regret[-1] <= 0.0:
        return seen
    times = rounded_text(float(worst.regret[-1] / best.regret[-1]), 2)
    return f"{seen} `{worst.policy}` loses most, {times} times as much as `{best.policy}`."


def part_of(name: str) -> str:
    """Return the part of the report that shows an experiment."""
    return "paper" if name in PAPER else "beyond" if name in BEYOND else "optimal"


def slopes_table(reproduction: Reproduction) -> dict[str, Any]:
    """Return the slopes in the long experiments, by profitability of the categories."""
    found = [
        slope
        for by_authors in (False, True)
        for each in reproduction.find(*LONG, by_authors=by_authors)
        for slope in slopes(each)
    ]
    rows = [
        [
            slope.experiment,
            slope.policy,
            plus_minus(*slope.unprofitable),
            f"{slope.expected:.4g}",
            f"{slope.constant:.4g}",
            f"{slope.with_factor:.4g}",
            _seen_in_runs(slope, reproduction),
            limit_text(slope.expected_profitable),
        ]
        for slope in found
    ]
    headers = [
        "experiment",
        "policy",
        "unprofitable categories",
        "closed form",
        "lower bound",
        "upper bound",
        "profitable categories",
        "limit",
    ]
    return {"headers": headers, "rows": rows, "values": [slope.to_dict() for slope in found]}


def _seen_in_runs(slope: Slope, reproduction: Reproduction) -> str:
    """Return the slope of the profitable categories.

    The number of runs if none of them lost anything there.
    """
    if slope.profitable[1] > 0.0:
        return plus_minus(*slope.profitable, few=slope.carried_by_few)
    return f"none in {number_text(reproduction.trials[slope.experiment].result.finished)} runs"


def settings(experiment: Experiment) -> str:
    """Family, means, thresholds, bound and arrivals in a sentence."""
    truths = experiment.scenario.truths

    def listed(values: Sequence[object]) -> str:
        texts = list(dict.fromkeys(map(str, values)))
        return texts[0] if len(texts) == 1 else ", ".join(map(str, values))

    bound = truths[0].category.bound
    cut = f"; cut at {bound:g} for policies of bounded rewards" if bound is not None else ""
    return (
        f"{listed([truth.category.family.name.capitalize() for truth in truths])} rewards with "
        "means "
        f"{listed([f'{truth.fixed_mean:g}' for truth in truths])}, thresholds "
        f"{listed([f'{truth.category.threshold:g}' for truth in truths])}{cut}; clients per round "
        f"{listed([_arrivals(truth.clients) for truth in truths])}."
    )


def _arrivals(clients: Clients) -> str:
    if isinstance(clients, OnePlusPoisson):
        return f"1 + Poisson({clients.rate:g})"
    if isinstance(clients, UniformClients):
        return f"uniform on {clients.low} to {clients.high}"
    return f"{clients.average:g}"


def credit_summary(credit: CreditResult) -> dict[str, Any]:
    """Return the credit example.

    Terms, what the lender learned, what was earned, what exploration cost.
    """
    rows: list[list[str]] = []
    costs: list[float] = []
    for segment, accepted in zip(credit.segments, credit.acceptance, strict=True):
        good = segment.margin > 0.0
        wrong = float((1.0 - accepted).sum() if good else accepted.sum())
        costs.append(abs(segment.margin) * segment.applicants * wrong)
        rows.append(
            [
                segment.name,
                number_text(segment.amount),
                f"{segment.rate:.0%}",
                f"{1.0 / (1.0 + segment.rate):.3f}",
                f"{segment.repayment:.3f}",
                f"{segment.margin:+,.0f}".replace(",", " "),
                f"{accepted.mean():.0%}",
                f"{accepted[-1]:.0%}",
                money_text(costs[-1]),
            ]
        )
    earned = [
        [name, money_text(mean), "-" if np.isnan(error) else money_text(error)]
        for name, _, mean, error in credit.earned()
    ]
    means = [mean for _, _, mean, _ in credit.earned()]
    return {
        "policy": credit.policy,
        "rounds": credit.rounds,
        "plays": len(credit.profit),
        "headers": [
            "segment",
            "loan",
            "rate",
            "break-even",
            "repays",
            "profit per loan",
            "accepted",
            "accepted at the end",
            "cost of learning",
        ],
        "rows": rows,
        "earned_headers": ["lender", "mean profit", "standard error"],
        "earned": earned,
        "cost_of_learning": money_text(sum(costs)),
        "share_of_clairvoyant": f"{means[1] / means[2]:.0%}" if means[2] > 0.0 else "-",
        "numbers": credit.to_dict(),
    }


def _rounds(value: float) -> str:
    return f"{value:,.1f}".replace(",", " ") if value < 1e6 else rounded_text(value)
