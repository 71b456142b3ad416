"""Bounds on evidence near a point where it is known, without a logarithm.

Let r be the mean of what was seen when evidence was computed last.  For N clients with
the sum S and the mean s = S/N, the evidence of kl-UCB is

    N d(s, tau) = N d(r, tau) + (S - N r)(theta_r - theta_tau) + N d(s, r),

where theta is the natural parameter.  The first two terms are a plane in N and S: the
tangent at r.  The third lies between 0 and N (s - r)^2 / (2 V), where V is the smallest
variance of means between s and r, because 1/V is the second derivative of d.  As a
function of the mean, each variance is monotone or concave, so V is that of s or of r.

So near the boundary, where rounds are accepted one by one, most comparisons with
patience cost a few products.  Whatever the bounds leave open is computed, and becomes
the next point.

Example: 1 000 Poisson clients have the sum 1 850, and tau = 2.  The evidence is 5.771
nats, and r = 1.85.  After six more clients with the sum 9 the bounds are equal to five
digits.

>>> from profitable.kernels.law import POISSON, against
>>> poisson = Law(POISSON)
>>> nats = against(poisson, 1000.0, 1850.0, 2.0)
>>> tangent = tangent_at(poisson, 1000.0, 1850.0, 2.0, nats)
>>> round(most_evidence(poisson, tangent, 1006.0, 1859.0), 5)
5.97068
>>> round(against(poisson, 1006.0, 1859.0, 2.0), 5)
5.97068
"""

import math
from typing import NamedTuple

from profitable.kernels.compile import inlined, part
from profitable.kernels.law import Law, natural_gap, variance


class Tangent(NamedTuple):
    """The tangent of N d(S/N, tau) at a mean; one of variance 0 says nothing."""

    mean: float
    height: float  # d(mean, tau)
    slope: float  # theta_mean - theta_tau
    variance: float


NO_TANGENT = Tangent(0.0, 0.0, 0.0, 0.0)


@part
def tangent_at(law: Law, clients: float, total: float, threshold: float, nats: float) -> Tangent:
    """Return the tangent where N d(S/N, tau) is `nats`."""
    mean = total / clients
    return Tangent(mean, nats / clients, natural_gap(law, mean, threshold), variance(law, mean))


@inlined
def most_evidence(law: Law, tangent: Tangent, clients: float, total: float) -> float:
    """Return an upper bound on N d(S/N, tau), up to rounding."""
    least = min(tangent.variance, variance(law, total / clients))
    beyond = total - clients * tangent.mean
    low = clients * tangent.height + beyond * tangent.slope
    return low + beyond * beyond / (2.0 * clients * least) if least > 0.0 else math.inf


@inlined
def most_worst_clients(
    tangent: Tangent, clients: float, total: float, smallest: float, limit: float
) -> float:
    """Return n so that N d(S/N, tau) exceeds the limit after more than n clients.

    They have the smallest statistic, and evidence grows at least as the tangent does.
    Up to rounding.
    """
    low = clients * tangent.height + (total - clients * tangent.mean) * tangent.slope
    growth = tangent.height + (smallest - tangent.mean) * tangent.slope
    return (limit - low) / growth if growth > 0.0 else math.inf
