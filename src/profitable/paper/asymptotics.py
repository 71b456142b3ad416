"""Theory for long horizons: slopes of the regret, the price of an unlucky start."""

import math

import numpy as np

from profitable.errors import InputError
from profitable.kernels.patience import DRAWN, LAST_ROUND, TIME
from profitable.policy.policies import POLICIES, BoundedPolicy, Policy
from profitable.simulation.scenario import Scenario, unlucky_starts
from profitable.theory import regret_bounds


def has_closed_form(policy: str) -> bool:
    """Return whether N d + k log N = log t holds for the N clients seen by t.

    The k is that of the evidence alone.

    So it is for patience log t, and for Thompson sampling (docs/mathematics.md, long
    horizons).
    """
    chosen = Policy.parse(policy)
    terms = chosen.within(LAST_ROUND).terms
    plain = terms.kind == DRAWN or (terms.kind == TIME and terms.c == 0.0)
    return plain and not isinstance(chosen, BoundedPolicy) and chosen.rule.logarithms >= 0.0


def clients_by(nats: float, logarithms: float, log_t: float) -> float:
    """Return the N that solves N d + k log N = log t.

    About how many clients of an unprofitable category are accepted by t.

    >>> round(clients_by(0.02, 0.0, 10.0)), round(clients_by(0.02, 1.0, 10.0))
    (500, 228)
    """
    low, high = 1.0, max(1.0, log_t / nats)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high)
            if middle * nats + logarithms * math.log(middle) < log_t
            else (low, middle)
        )
    return low


def expected_slope(scenario: Scenario, policy: str, start: float, end: float) -> float:
    """Return the regret of unprofitable categories per log t between two times.

    It follows from `clients_by`.

    It tends to the lower bound's constant.  For k > 0 it comes from below: d N' = 1 -
    k/(N d + k) per log t.
    """
    if not has_closed_form(policy):
        known = ", ".join(name for name in POLICIES if has_closed_form(name))
        raise InputError("policy", policy, "has no closed form here", f"choose from {known}")
    chosen = Policy.parse(policy)
    inflate = chosen.terms.inflate
    return slope_of_clients(scenario, chosen.rule.logarithms, inflate * start, inflate * end)


def slope_of_clients(scenario: Scenario, logarithms: float, start: float, end: float) -> float:
    """Return the slope of `expected_slope` for N d + k log N = log t with given k."""
    slope = 0.0
    for truth in scenario.truths:
        if truth.profitable or truth.loss == 0.0:
            continue
        model = (truth.category.family, truth.fixed_mean, truth.category.threshold)
        nats = regret_bounds.information(*model, sigma=truth.sigma)
        late, early = (clients_by(nats, logarithms, math.log(t)) for t in (end, start))
        slope += truth.loss * (late - early) / (math.log(end) - math.log(start))
    return slope


def unlucky_slope(scenario: Scenario, policy: str) -> float:
    """Return the limit of the regret of profitable categories per log t.

    0 except for Exponential-type rewards.

    NaN if the policy has a patience or a rule of its own, for which it is not known.

    >>> from profitable.paper.experiment import load
    >>> # tau/(mu - tau) rounds, and each costs mu - tau
    >>> round(unlucky_slope(load("unlucky").scenario, "ts"), 6)
    1.0
    """
    found = unlucky_starts(scenario, Policy.parse(policy), horizon=LAST_ROUND)
    rates = found.per_log_t if found.known else (math.nan,) * len(scenario.truths)
    return math.fsum(
        truth.loss * truth.clients.average * rate
        for truth, rate in zip(scenario.truths, rates, strict=True)
    )


def unlucky_at_least(ratio: float, t: int) -> float:
    """Return the exact mean number of rounds up to t that a bad first reward costs.

    Thompson sampling, Exponential rewards.

    There is one client per round.  P(still rejected after k draws) = 1/(1 + k mu/tau),
    and the sum over k < t grows like (tau/mu) log t, without bound.

    >>> round(unlucky_at_least(0.5, 3), 4)  # 1/3 + 1/5
    0.5333
    """
    k = np.arange(1.0, float(t))
    return float((1.0 / (1.0 + k / ratio)).sum())
