"""Normal rewards of unknown variance: evidence from N, S and D.

D is the sum of squared deviations from the mean.

Let m = S/N, v = D/N and r = (tau - m)/sqrt(v).  Then

- a divergence rule has (N - 2)/2 log(1 + r^2) if m < tau, from 3 clients on (Cowan,
  Honda and Katehakis 2018; with N in place of N - 2 the regret would not be
  logarithmic);
- the posterior rule has -log P(T >= sqrt(nu) r) for Student's T with nu = N + 2 alpha -
  1 degrees of freedom, as soon as nu >= 2: from 5 clients on at alpha = -1 (Honda and
  Takemura 2014).  The prior of mean and variance has the density (sigma^2)^(-1 -
  alpha).

Before that, and while all rewards are equal, there is no evidence: three equal defaults
say nothing about the spread, and must not reject a category for ever.  N may be a
fraction.

Example: the rewards 0, 1, 2, 1, 1 against tau = 2.  m = 1, D = 2, r^2 = 1/0.4 = 2.5:
evidence 3/2 log 3.5 = 1.879.  The posterior has nu = 2 and t = sqrt(5): P(T >= t) = (1
- t/sqrt(2 + t^2))/2 = 0.0774.

>>> from profitable.kernels.law import NORMAL
>>> normal = Law(NORMAL, low=-math.inf, high=math.inf, size=-1.0)
>>> round(unknown_variance_evidence(normal, 5.0, 5.0, 2.0, 2.0, 0.0), 3)
1.879
>>> round(math.exp(-unknown_variance_posterior(normal, 5.0, 5.0, 2.0, 2.0, 0.0)), 4)
0.0774
"""

import math

from profitable.kernels.compile import lazy, part
from profitable.kernels.exact import is_below, shortfall
from profitable.kernels.law import BOUND_MARGIN, SMALLEST_POSITIVE, Law
from profitable.kernels.special import LARGEST_SLOPE, LOG_TWO, student_evidence

LEAST_CLIENTS = 3.0  # for a divergence rule
LEAST_FREEDOM = 2.0  # degrees of freedom, for the posterior rule: with one, it would have no mean
EQUAL = 1e-26  # D/Q up to which rewards are equal but for rounding: they agree in 13 digits


@part
def freedom(law: Law, clients: float) -> float:
    """Return the degrees of freedom of the posterior."""
    return clients + 2.0 * law.size - 1.0


@part
def least_clients(law: Law, is_posterior: bool) -> float:
    """Return how many clients it takes until there is evidence."""
    return max(LEAST_FREEDOM + 1.0 - 2.0 * law.size, 2.0) if is_posterior else LEAST_CLIENTS


@part
def are_equal(clients: float, total: float, spread: float) -> bool:
    """Return whether all rewards are equal, up to rounding."""
    return spread <= EQUAL * (spread + total * (total / clients))


@lazy
def says_nothing(law: Law, clients: float, total: float, spread: float, is_posterior: bool) -> bool:
    """Return whether there is no evidence against any threshold yet.

    Clients are too few, or their rewards equal.
    """
    return clients < least_clients(law, is_posterior) or are_equal(clients, total, spread)


@part
def slope_to(
    clients: float, total: float, spread: float, threshold: float, carry: float = 0.0
) -> float:
    """Return r, the gap from mean to threshold in standard deviations of a reward."""
    return shortfall(clients, threshold, total, carry) / (math.sqrt(clients) * math.sqrt(spread))


@lazy
def unknown_variance_evidence(
    law: Law, clients: float, total: float, spread: float, threshold: float, carry: float
) -> float:
    """Return the evidence of a divergence rule."""
    if says_nothing(law, clients, total, spread, False) or not is_below(clients, total, threshold):
        return 0.0
    slope = min(slope_to(clients, total, spread, threshold, carry), LARGEST_SLOPE)
    return 0.5 * (clients - 2.0) * math.log1p(slope * slope)


@lazy
def unknown_variance_posterior(
    law: Law, clients: float, total: float, spread: float, threshold: float, carry: float
) -> float:
    """Return -log P(mean >= threshold), positive as soon as there is a posterior.

    It is positive even where it underflows.
    """
    if says_nothing(law, clients, total, spread, True):
        return 0.0
    nats = student_evidence(
        slope_to(clients, total, spread, threshold, carry), freedom(law, clients)
    )
    return SMALLEST_POSITIVE if nats < SMALLEST_POSITIVE else nats  # which leaves NaN alone


@part
def student_bounds(
    law: Law, clients: float, total: float, spread: float, threshold: float
) -> tuple[float, float]:
    """Return bounds on `unknown_variance_posterior`: the exact tail is much slower.

    With a = nu/2 and x = 1/(1 + r^2), the smaller tail is half of I_x(a, 1/2).  That is
    at most x^a, because Beta(a, 1/2) is larger than Beta(a, 1), and at least x^a over a
    B(a, 1/2) <= sqrt(pi (a + 1/2)).
    """
    if says_nothing(law, clients, total, spread, True):
        return 0.0, 0.0
    slope = slope_to(clients, total, spread, threshold)
    half = 0.5 * freedom(law, clients)
    nats = LOG_TWO + half * math.log1p(min(abs(slope), LARGEST_SLOPE) ** 2)
    more = nats + 0.5 * math.log(math.pi * (half + 0.5))
    if slope < 0.0:
        nats, more = -math.log1p(-math.exp(-more)), -math.log1p(-math.exp(-nats))
    return nats * (1.0 - BOUND_MARGIN), max(more * (1.0 + BOUND_MARGIN), SMALLEST_POSITIVE)
