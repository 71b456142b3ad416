"""Summary: everything the report says, as plain values; `summary.json` is this, the pages are made from it."""

from typing import Any

import numpy as np

from profitable.credit import CreditResult
from profitable.paper.claims import claims
from profitable.paper.experiment import PAPER
from profitable.paper.finding import FEW, checkpoint, final, plus_minus
from profitable.paper.questions import answers
from profitable.paper.slopes import LONG, slopes
from profitable.paper.study import Outcome, Study
from profitable.tables import money, number
from profitable.version import VERSION


def summarise(study: Study, credit: CreditResult) -> dict[str, Any]:
    """Settings, a table for each experiment, the claims, the slopes, the questions, the credit example."""
    checklist = [
        {
            "key": claim.key,
            "statement": claim.statement,
            "source": claim.source,
            "test": claim.test,
            "paper": claim.decide(study, False).to_dict(),
            "authors": claim.decide(study, True).to_dict(),
        }
        for claim in claims()
    ]
    return {
        "version": VERSION,
        "seed": study.seed,
        "experiments": [experiment_summary(outcome) for outcome in study.outcomes.values()],
        "claims": checklist,
        "slopes": slopes_table(study),
        "answers": [answer.to_dict() for answer in answers(study)],
        "credit": credit_summary(credit),
    }


def experiment_summary(outcome: Outcome) -> dict[str, Any]:
    """One experiment: its settings, the numbers of every policy, and the same as a table for reading."""
    experiment, result = outcome.experiment, outcome.result
    truths = result.scenario.truths
    constant = result.scenario.lower_bound().total
    policies: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    for curve in sorted(result.curves, key=lambda curve: -float(curve.regret[-1])):
        start = int(curve.t[checkpoint(curve, curve.t[-1] / 10.0)])
        slope, slope_error = curve.slope(start) if curve.t.size > 1 else (float("nan"), float("nan"))
        right = float(curve.mean("right_set")[0])
        accepted = [float(value) for value in curve.accepted_rounds[:, -1]]
        policies.append(
            {
                "policy": curve.policy,
                "regret": float(curve.regret[-1]),
                "stderr": _or_none(float(curve.stderr[-1])),
                "slope_per_log_t": _or_none(slope),
                "slope_stderr": _or_none(slope_error),
                "accepted_rounds": dict(zip(result.scenario.names, accepted, strict=True)),
                "right_set_share": right,
                "warning": curve.warning(),
            }
        )
        against = f" ({slope / constant:.2f})" if constant > 0.0 else ""
        rows.append(
            [
                curve.policy,
                final(curve),
                plus_minus(slope, slope_error) + against,
                *(_rounds(value) for value in accepted),
                f"{right:.1%}",
            ]
        )
    marks = [f"{truth.category.name} {'(+)' if truth.profitable else '(−)'}" for truth in truths]
    return {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "part": "paper" if experiment.name.partition("-authors")[0] in PAPER else "beyond",
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


def slopes_table(study: Study) -> dict[str, Any]:
    """Slopes to T = 10¹², for profitable and unprofitable categories separately."""
    found = [
        slope
        for by_authors in (False, True)
        for each in study.find(*LONG, by_authors=by_authors)
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
            plus_minus(*slope.profitable) + (FEW if slope.carried_by_few else ""),
            f"{slope.expected_profitable:.3g}",
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


def credit_summary(credit: CreditResult) -> dict[str, Any]:
    """The credit example: terms, what the lender learned, what was earned, what exploration cost."""
    rows: list[list[str]] = []
    costs: list[float] = []
    for segment, accepted in zip(credit.segments, credit.acceptance, strict=True):
        good = segment.margin > 0.0
        wrong = float((1.0 - accepted).sum() if good else accepted.sum())
        costs.append(abs(segment.margin) * segment.applicants * wrong)
        rows.append(
            [
                segment.name,
                money(segment.amount),
                f"{segment.rate:.0%}",
                f"{1.0 / (1.0 + segment.rate):.3f}",
                f"{segment.repayment:.3f}",
                f"{segment.margin:+,.0f}".replace(",", " "),
                f"{accepted.mean():.0%}",
                f"{accepted[-1]:.0%}",
                money(costs[-1]),
            ]
        )
    earned = [[name, money(mean), "-" if np.isnan(error) else money(error)] for name, _, mean, error in credit.earned()]
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
        "cost_of_learning": money(sum(costs)),
        "share_of_clairvoyant": f"{means[1] / means[2]:.0%}" if means[2] > 0.0 else "-",
        "numbers": credit.to_dict(),
    }


def _rounds(value: float) -> str:
    return f"{value:,.1f}".replace(",", " ") if value < 1e6 else number(float(f"{value:.4g}"))


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
