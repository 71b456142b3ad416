"""How long a verdict by a posterior is sure, while outcomes fade and nothing is observed.

Outcomes that count for the weight w have the likelihood e^(w L), where L is concave and
largest at their own mean m.  Let P be the posterior probability that the mean is at
least tau, and E = -log P the evidence.  The mean of L under the posterior grows with w,
because its derivative is a variance.  And

    dE/dw = mean of L - mean of L where the mean is at least tau.

If m < tau, the last term is at most L(tau).  So from a weight u on, E grows at least
with the slope K(u)/u, where

    K(w) = w (mean of L) - w L(tau),

and E cannot fall at all where K(u) >= 0: as soon as the mean is surely off tau.  If m >=
tau, the same holds for the evidence -log(1 - P) of the other side.  So exact evidence at
one end of an interval of weights, and K at its lower end, bound the evidence of all
rounds between.  Under unknown variance evidence moves in one direction, and K is not
needed.

Example: 4 of 20 Bernoulli clients, tau = 0.4.  Nats of evidence, for weights from 1/2
to 1: K(1/2) = 0.38, so they lie between E(1/2) = 2.15 and E(1) = 3.39.
"""

import math

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

# Weights and totals are rounded in each round, by less than this share in all; evidence,
# by less than this margin.
ROUNDED, MARGIN = 1e-10, 1e-6
CLEAR_SPREAD = 1e-4  # the share of the squares from which on a spread is no rounding error
MOST_SLACK = 8.0  # nats; bounds that are wider than that are not worth a computation


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
    return nats - 100.0 * ROUNDED * (more + other)


@part
def _evidence(table: Matrix, k: int, view: CodedView, weight: float, lean: float) -> float:
    """Return the evidence if outcomes count for a weight, with the total rounded away.

    It is rounded down where `lean` is 1, so that evidence is surely not below that of
    the column itself; and up where it is -1.
    """
    clients, total = weight * table[AgentRow.CLIENTS, k], weight * table[AgentRow.TOTAL, k]
    clients, total = (
        clients + view.prior_clients,
        total - 2.0 * lean * ROUNDED * abs(total) + view.prior_total,
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
def bound(
    table: Matrix, k: int, view: CodedView, low: float, high: float, lean: float
) -> float:
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
    if law.low < threshold < law.high:
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
    times: tuple[float, float, float],
    is_least: bool,
) -> float:
    """Return the least or the most patience of the rounds t + 1 + first to t + 1 + last.

    `times` are t, first and last.  The least allows for rounds that accept, the most
    for rounds that reject.
    """
    t, first, last = times
    if patience.kind != AHEAD:
        return patience_at(patience, t + (first if is_least else last), 1.0, 1.0)
    rounds, came = table[AgentRow.ROUNDS, k], 0.0
    if rounds > 0.0:
        came = table[AgentRow.KNOWN, k] + table[AgentRow.WAITING, k] - table[AgentRow.EARLIER, k]
    clients = table[AgentRow.CLIENTS, k]
    early, late = rounds_ahead(patience, t + first), rounds_ahead(patience, t + last)
    if is_least:
        known = patience.forget**first * (1.0 + ROUNDED) * clients + view.prior_clients
        per_round, ahead = clients_per_round(patience, came, rounds + last - 1.0), min(early, late)
    else:
        known = patience.forget**last * (1.0 - ROUNDED) * clients + view.prior_clients
        per_round, ahead = clients_per_round(patience, came, rounds), max(early, late)
    return patience_for(patience, per_round * ahead, known)


@lazy
def is_surely_rejected(
    table: Matrix, k: int, view: CodedView, patience: Patience, t: float, later: float
) -> bool:
    """Return whether rounds t + 1 to t + 1 + `later` surely reject, if nothing is observed."""
    clients, low = table[AgentRow.CLIENTS, k], patience.forget**later * (1.0 - ROUNDED)
    if clients > 0.0 and low * clients < 2.0 * FORGOTTEN:
        return False
    limit = _limit(table, k, view, patience, (t, 0.0, later), False)
    nats = bound(table, k, view, low, 1.0 + ROUNDED, -1.0)
    return nats * (1.0 - MARGIN) - MARGIN > limit


@part
def _is_surely_accepted(
    table: Matrix,
    k: int,
    view: CodedView,
    patience: Patience,
    times: tuple[float, float, float],
) -> bool:
    """Return whether rounds t + 1 + first to t + 1 + last surely accept."""
    low, high = patience.forget ** times[2], patience.forget ** times[1]
    limit = _limit(table, k, view, patience, times, True)
    nats = bound(table, k, view, low * (1.0 - ROUNDED), high * (1.0 + ROUNDED), 1.0)
    return nats * (1.0 + MARGIN) + MARGIN <= limit


@lazy
def accepted_until(
    table: Matrix, k: int, view: CodedView, patience: Patience, t: float, first: float
) -> float:
    """Return the last round that surely accepts, from round t + 1 + `first` on.

    It is infinite if all of them do, and t + `first` if the first one may not; round t +
    1 has accepted.  The weights until nothing is left are cut into intervals, as long as
    bounds allow.
    """
    clients, end, j = table[AgentRow.CLIENTS, k], first, first
    fading = -math.log(patience.forget)
    if clients > 0.0:
        end = max(first, math.ceil(math.log(2.0 * clients / FORGOTTEN) / fading))
    step = max(1.0, math.floor(2.0 / fading))
    if first > 0.0 and not _is_surely_accepted(table, k, view, patience, (t, first, first)):
        return t + first
    while j < end:
        last = min(j + step, end)
        if _is_surely_accepted(table, k, view, patience, (t, j + 1.0, last)):
            j, step = last, 4.0 * step
        elif step > 1.0:
            step = max(1.0, math.floor(0.25 * step))
        else:
            return t + 1.0 + j
    # Then nothing is left but the prior, and perhaps no client is expected.
    nats = _evidence(table, k, view, 0.0, 1.0)
    limit = patience_for(patience, 0.0, view.prior_clients)
    if patience.kind != AHEAD:
        limit = patience_at(patience, max(t + first, t + end - 2.0 / fading), 1.0, 1.0)
    if nats == 0.0 or nats * (1.0 + MARGIN) + MARGIN <= limit:
        return math.inf
    return t + 1.0 + j
