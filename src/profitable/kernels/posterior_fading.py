"""How long a verdict by a posterior is sure, while outcomes fade.

Outcomes that count for the weight w have the likelihood e^(w L), where L is concave and
largest at their own mean m.  Let P be the posterior probability that the mean is at
least tau, and E = -log P the evidence.  The mean of L under the posterior never falls
with w, because its derivative is a variance.  And

    dE/dw = (mean of L) - (mean of L where the mean is at least tau).

If m < tau, the last term is at most L(tau).  So for weights w >= u

    dE/dw >= K(u)/u, where K(u) = u (mean of L at u) - u L(tau).

E cannot fall at all where K(u) >= 0, as soon as the mean is surely off tau.  If m >=
tau, the same holds for the evidence -log(1 - P) of the other side.  So K at the lower
end of an interval of weights, and exact evidence at one of its ends, bound the evidence
of all rounds between.  Under unknown variance evidence moves in one direction, and K is
not needed.

Example: 4 of 20 Bernoulli clients, tau = 0.4.  They have counted for 1, and now count
for 1/2.  The posterior is Beta(2.5, 8.5), and K(1/2) = 0.45: not negative.  So evidence
was between E(1/2) = 2.36 and E(1) = 3.52 all the time.

>>> from profitable.kernels.law import BINOMIAL, Law
>>> bernoulli = Law(BINOMIAL, low=0.0, high=1.0)
>>> [round(posterior_evidence(bernoulli, 20 * w, 4 * w, 0.4, 0.0), 2) for w in (0.5, 1)]
[2.36, 3.52]
"""

import math
from typing import NamedTuple

from profitable.common.types import Matrix
from profitable.kernels.agent_table import FORGOTTEN, AgentRow
from profitable.kernels.coded_view import CodedView
from profitable.kernels.compile import lazy, part
from profitable.kernels.law import GAUSSIAN, NORMAL, posterior_evidence, posterior_parameters
from profitable.kernels.patience import (
    AHEAD,
    Patience,
    clients_per_round,
    patience_at,
    patience_for,
    rounds_ahead,
)
from profitable.kernels.special import LOG_TWO
from profitable.kernels.unknown_variance import unknown_variance_posterior

# Weights and totals are rounded in each round, by less than this share in all; and
# evidence, by less than this margin.
ROUNDED_AWAY, POSTERIOR_MARGIN = 1e-10, 1e-6
CLEAR_SPREAD = 1e-4  # the share of the squares from which on a spread is not rounded away
MOST_SLACK = 8.0  # nats; bounds that are wider than that are not worth a computation


class Moment(NamedTuple):
    """A decision about a column that was brought up to date some rounds before."""

    t: float  # rounds that have passed
    since: float  # of which so many have not aged the column
    rounds: float  # that accepted the category until now


@part
def looks_ahead(now: Moment) -> float:
    """Return for how many rounds a verdict is looked for.

    It is in proportion to those without a change.  So what is seldom changed is seldom
    looked at, and a column that changes soon has not been looked at for nothing.
    """
    return 8.0 * (now.since + 1.0)


@part
def _least_digamma(z: float) -> float:
    """Return a lower bound on the digamma function: psi(z) = psi(z + 1) - 1/z."""
    return math.log1p(z) - (0.5 + 1.0 / (12.0 * (z + 1.0))) / (z + 1.0) - 1.0 / z


@part
def _most_digamma(z: float) -> float:
    """Return an upper bound on the digamma function."""
    return math.log1p(z) - 0.5 / (z + 1.0) - 1.0 / z


@part
def _known(table: Matrix, k: int, view: CodedView, weight: float) -> float:
    """Return a lower bound on K(weight) for a column."""
    law, threshold = view.law, table[AgentRow.TARGET, k]
    clients, total = weight * table[AgentRow.CLIENTS, k], weight * table[AgentRow.TOTAL, k]
    both, sum = clients + view.prior_clients, total + view.prior_total
    if law.code == GAUSSIAN:
        gap, off = threshold - total / clients, sum / both - total / clients
        return 0.5 * clients * ((gap * gap - off * off) / (law.size * law.size) - 1.0 / both)
    a, b, share = posterior_parameters(law, both, sum, threshold)
    prior = posterior_parameters(law, view.prior_clients, view.prior_total, threshold)
    more, other = max(a - prior[0], 0.0), max(b - prior[1], 0.0)
    if share == 0.0:
        nats = more * (_least_digamma(a) - math.log(b)) + other * (1.0 - a / b)
    else:
        most = _most_digamma(a + b)
        nats = more * (_least_digamma(a) - most - math.log(share)) + other * (
            _least_digamma(b) - most - math.log1p(-share)
        )
    return nats - 100.0 * ROUNDED_AWAY * (more + other)


@part
def _evidence(table: Matrix, k: int, view: CodedView, weight: float, lean: float) -> float:
    """Return the evidence if outcomes count for a weight, with the total rounded away.

    It is rounded down where `lean` is 1, so that evidence is surely not below that of
    the column itself; and up where it is -1.
    """
    clients, total = weight * table[AgentRow.CLIENTS, k], weight * table[AgentRow.TOTAL, k]
    clients, total = (
        clients + view.prior_clients,
        total - 2.0 * lean * ROUNDED_AWAY * abs(total) + view.prior_total,
    )
    threshold = table[AgentRow.TARGET, k]
    if view.law.code == NORMAL:
        spread = weight * table[AgentRow.SPREAD, k]
        return unknown_variance_posterior(view.law, clients, total, spread, threshold, 0.0)
    return posterior_evidence(view.law, clients, total, threshold, 0.0)


@part
def _other_side(nats: float) -> float:
    """Return -log(1 - e^-nats)."""
    return -math.log1p(-math.exp(-max(nats, 0.0)))


@lazy
def bound(table: Matrix, k: int, view: CodedView, low: float, high: float, lean: float) -> float:
    """Return a bound on the evidence of a column at all weights from `low` to `high`.

    It is an upper one where `lean` is 1, and a lower one where it is -1.
    """
    if table[AgentRow.CLIENTS, k] == 0.0:
        return _evidence(table, k, view, 1.0, lean)
    law, threshold = view.law, table[AgentRow.TARGET, k]
    is_below = table[AgentRow.TOTAL, k] < table[AgentRow.CLIENTS, k] * threshold
    end = high if is_below == (lean > 0.0) else low
    if law.code == NORMAL:
        spread = table[AgentRow.SPREAD, k]
        if spread != 0.0 and not spread > CLEAR_SPREAD * table[AgentRow.SQUARES, k]:
            return math.inf if lean > 0.0 else 0.0
        nats = _evidence(table, k, view, end, lean)
        if lean < 0.0:  # it is 0 where too few clients are left
            return min(nats, _evidence(table, k, view, low, lean))
        return nats if is_below else max(nats, LOG_TWO)
    slack = 0.0
    if law.low < threshold < law.high and high > (1.0 + 10.0 * ROUNDED_AWAY) * low:
        slack = (high / low - 1.0) * max(0.0, -_known(table, k, view, low))
    if not slack <= MOST_SLACK:
        return math.inf if lean > 0.0 else 0.0
    nats = _evidence(table, k, view, end, lean)
    if is_below or slack == 0.0:
        return nats + lean * slack
    return _other_side(_other_side(nats) - lean * slack)


@part
def _limit(
    table: Matrix,
    k: int,
    view: CodedView,
    patience: Patience,
    now: Moment,
    first: float,
    last: float,
) -> tuple[float, float]:
    """Return the least and the most patience, from `first` to `last` rounds after now.

    The least allows for rounds that accept, the most for rounds that reject.
    """
    if patience.kind != AHEAD:
        return (
            patience_at(patience, now.t + first, 1.0, 1.0),
            patience_at(patience, now.t + last, 1.0, 1.0),
        )
    came = 0.0
    if table[AgentRow.ROUNDS, k] > 0.0:
        came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k] - table[AgentRow.EARLIER, k]
    early, late = rounds_ahead(patience, now.t + first), rounds_ahead(patience, now.t + last)
    few = clients_per_round(patience, came, now.rounds + max(last - 1.0, 0.0)) * min(early, late)
    many = clients_per_round(patience, came, now.rounds) * max(early, late)
    low, high = _weights(patience, now, first, last)
    clients = table[AgentRow.CLIENTS, k]
    return (
        patience_for(patience, few, high * clients + view.prior_clients),
        patience_for(patience, many, low * clients + view.prior_clients),
    )


@part
def _weights(patience: Patience, now: Moment, first: float, last: float) -> tuple[float, float]:
    """Return the least and the most weight, from `first` to `last` rounds after now."""
    return (
        patience.forget ** (now.since + last) * (1.0 - ROUNDED_AWAY),
        patience.forget ** (now.since + first) * (1.0 + ROUNDED_AWAY),
    )


@lazy
def is_surely_rejected(
    table: Matrix, k: int, view: CodedView, patience: Patience, now: Moment, later: float
) -> bool:
    """Return whether it is surely rejected up to so many rounds later.

    Nothing is observed meanwhile.
    """
    low, high = _weights(patience, now, 0.0, later)
    if 0.0 < low * table[AgentRow.CLIENTS, k] < 2.0 * FORGOTTEN:
        return False
    limit = _limit(table, k, view, patience, now, 0.0, later)[1]
    return (
        bound(table, k, view, low, high, -1.0) * (1.0 - POSTERIOR_MARGIN) - POSTERIOR_MARGIN > limit
    )


@lazy
def is_surely_accepted(
    table: Matrix,
    k: int,
    view: CodedView,
    patience: Patience,
    now: Moment,
    first: float,
    last: float,
) -> bool:
    """Return whether it is surely accepted from `first` to `last` rounds later."""
    low, high = _weights(patience, now, first, last)
    limit = _limit(table, k, view, patience, now, first, last)[0]
    return (
        bound(table, k, view, low, high, 1.0) * (1.0 + POSTERIOR_MARGIN) + POSTERIOR_MARGIN <= limit
    )


@lazy
def accepted_meanwhile(
    table: Matrix, k: int, view: CodedView, patience: Patience, now: Moment, first: float
) -> float:
    """Return up to how many rounds later it is surely accepted, from `first` on.

    It is infinite if it always is, and `first` - 1 if it may not be at all; now it is.
    The weights until then are cut into intervals, as long as bounds allow.
    """
    clients, fading = table[AgentRow.CLIENTS, k], -math.log(patience.forget)
    end, j = first, first
    if clients > 0.0:
        end = max(first, math.ceil(math.log(2.0 * clients / FORGOTTEN) / fading) - now.since)
    far = end if first > 0.0 else min(end, looks_ahead(now))
    step = 1.0 if patience.kind == AHEAD else far
    if first > 0.0 and not is_surely_accepted(table, k, view, patience, now, first, first):
        return first - 1.0
    while j < far:
        last = min(j + step, far)
        if is_surely_accepted(table, k, view, patience, now, j + 1.0, last):
            j, step = last, 4.0 * step
        elif step > 1.0:
            step = max(1.0, math.floor(0.25 * step))
        else:
            return j
    if far < end:
        return far
    # Then nothing is left but the prior, and perhaps no client is expected.
    nats = _evidence(table, k, view, 0.0, 1.0)
    limit = patience_for(patience, 0.0, view.prior_clients)
    if patience.kind != AHEAD:
        limit = patience_at(patience, now.t + max(first, end - 2.0 / fading), 1.0, 1.0)
    return (
        math.inf
        if nats == 0.0 or nats * (1.0 + POSTERIOR_MARGIN) + POSTERIOR_MARGIN <= limit
        else j
    )
