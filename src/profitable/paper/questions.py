"""Two questions beyond the paper, answered from exact simulation.

The factor, and an unlucky start.
"""

from typing import Any

import numpy as np

from profitable.common.text_tables import horizon_text, number_text
from profitable.paper.asymptotics import unlucky_at_least, unlucky_slope
from profitable.paper.experiment import load
from profitable.paper.finding import FEWEST_BEYOND, checkpoint, limit_text, plus_minus
from profitable.paper.reproduction import Reproduction, Trial
from profitable.paper.slopes import LONG, slopes, start_of
from profitable.theory import regret_bounds
from profitable.theory.waits import LEFT_OUT, bernoulli_waits, exponential_waits

UNLUCKY_TIMES = (100, 1_000, 10_000)
SHARES = (0.99, 0.999)


def answers(reproduction: Reproduction) -> list[dict[str, Any]]:
    """Return the answers whose experiments were run, with the tables behind them.

    The words are in templates/KEY.txt.
    """
    long = reproduction.find(LONG[0])
    return [
        *(_factor(trial, long) for trial in reproduction.find("arrivals")),
        *(_unlucky(trial) for trial in reproduction.find("unlucky")),
    ]


def _factor(trial: Trial, long: list[Trial]) -> dict[str, Any]:
    rows: list[tuple[str, ...]] = []
    ratios: list[float] = []
    factors: list[float] = []
    for curve in trial.result.curves:
        place = checkpoint(curve, start_of(curve))
        width = float(np.log(curve.t[-1]) - np.log(curve.t[place]))
        for k, truth in enumerate(trial.result.scenario.truths):
            nats = regret_bounds.information(
                truth.category.family, truth.fixed_mean, truth.category.threshold
            )
            scale = truth.clients.average * nats / width
            accepted, error = curve.accepted_rounds[k], curve.error("accepted")[k]
            ratio = float(accepted[-1] - accepted[place]) * scale
            ratios.append(ratio)
            # Both errors are taken as independent, which makes the sum rather too
            # large.
            rise_error = float(np.hypot(error[-1], error[place])) * scale
            factor = truth.clients.average / truth.clients.smallest
            factors.append(factor)
            rows.append(
                (
                    curve.policy,
                    truth.category.name,
                    plus_minus(ratio, rise_error),
                    "1",
                    f"{factor:g}",
                )
            )
    numbers = {"smallest": f"{min(ratios):.3f}", "largest": f"{max(ratios):.3f}"}
    numbers |= {"horizon": horizon_text(trial.result.horizon), "factor": f"{max(factors):g}"}
    for each in long:
        kl = slopes(each)[0]
        numbers |= {"slope": plus_minus(*kl.total), "constant": f"{kl.constant:.3f}"}
        numbers["with_factor"] = f"{kl.with_factor:.1f}"
    headers = (
        "policy",
        "arrivals",
        "clients per log t, in units of 1/d",
        "lower bound",
        "upper bound c̃⁺/c⁻",
    )
    return {
        "key": "factor",
        "experiment": "arrivals",
        "question": "Is the factor c̃⁺/c⁻ in the asymptotic upper bound real?",
        "numbers": numbers,
        "headers": headers,
        "rows": rows,
    }


def _unlucky(trial: Trial) -> dict[str, Any]:
    truth = trial.result.scenario.truths[0]
    ratio = truth.category.threshold / truth.fixed_mean
    rows: list[tuple[str, ...]] = []
    thompson = trial.curve("ts")
    for curve in trial.result.curves:
        cells = [curve.policy]
        for t in UNLUCKY_TIMES:
            place = checkpoint(curve, t)
            rejected = float(curve.t[place]) - float(curve.accepted_rounds[0, place])
            cells.append(plus_minus(rejected, float(curve.error("accepted")[0, place])))
        for share in SHARES:
            waits = float(curve.quantile(share)[-1]) / truth.loss
            runs_beyond = curve.runs * (1.0 - share)
            if runs_beyond < FEWEST_BEYOND:
                cells.append("-")
                continue
            cells.append(
                plus_minus(waits * (1.0 - share), waits * (1.0 - share) / np.sqrt(runs_beyond))
            )
        limit = limit_text(unlucky_slope(trial.result.scenario, curve.policy) / truth.loss)
        rows.append((*cells, limit))
    place = checkpoint(thompson, UNLUCKY_TIMES[-1])
    seen = float(thompson.t[place] - thompson.accepted_rounds[0, place])
    at_most = exponential_waits(ratio, trial.result.horizon)
    numbers = {
        "t": number_text(UNLUCKY_TIMES[-1]),
        "at_least": f"{unlucky_at_least(ratio, UNLUCKY_TIMES[-1]):.2f}",
        "at_most": f"{at_most.mean(UNLUCKY_TIMES[-1] - 1):.2f}",
        "simulated": plus_minus(seen, float(thompson.error("accepted")[0, place])),
    }
    settles = load("bernoulli").scenario.truths[1]
    waits = bernoulli_waits(settles.fixed_mean, settles.category.threshold, np.ones)
    numbers |= {
        "mean": f"{settles.fixed_mean:g}",
        "threshold": f"{settles.category.threshold:g}",
        "bernoulli": f"{waits.mean():.2f}",
        "left_out": f"{LEFT_OUT:g}",
        "power": f"{np.log1p(-settles.fixed_mean) / np.log1p(-settles.category.threshold):.1f}",
    }
    times = tuple(f"rejected by {t:,}".replace(",", " ") for t in UNLUCKY_TIMES)
    tails = tuple(f"w·P(W > w) where P = {1 - share:.2g}" for share in SHARES)
    return {
        "key": "unlucky",
        "experiment": "unlucky",
        "question": "Does part (ii) of the Thompson sampling theorem hold?",
        "numbers": numbers,
        "headers": ("policy", *times, *tails, "limit"),
        "rows": rows,
    }
