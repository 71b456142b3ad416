"""Expected means: the mean of the posterior of a mean, for many categories at once.

| law               | posterior under Jeffreys' prior         | its mean                  |
| ----------------- | --------------------------------------- | ------------------------- |
| Binomial          | Beta, half a success and half a failure | (S + 1/2) / (N + 1)       |
| Poisson           | Gamma(S + 1/2, N)                       | (S + 1/2) / N             |
| Gamma, shape k    | inverse Gamma(kN, kS)                   | kS / (kN - 1)             |
| Negative binomial | r times beta prime(S + 1/2, rN)         | r (S + 1/2) / (rN - 1)    |
| Gaussian          | normal                                  | S / N                     |
| Normal            | Student's                               | S / N                     |

Another statistic than the reward itself says it for its own family (`Statistic.posterior_means`).

Example: nine of nine clients repaid.  The posterior is Beta(9.5, 0.5), with mean 0.95.
"""

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.law import BINOMIAL, GAMMA, NEGATIVE_BINOMIAL, POISSON
from profitable.kernels.statistic import Identity
from profitable.model.view import View


def expected_means(view: View, clients: FloatArray, totals: FloatArray) -> FloatArray:
    """The posterior means of some categories with one view, [M].  The prior of the view is added to what was seen.

    Where the variance of the posterior is infinite, its mean says little, or is infinite itself.  There the plain mean
    is returned: for Exponential with up to two clients, and for Pareto always.  So it is for a law that is not listed.

    >>> from profitable import Bernoulli, Exponential
    >>> expected_means(Bernoulli().view(), np.array([9.0]), np.array([9.0])).tolist()  # Beta(9.5, 0.5)
    [0.95]
    >>> expected_means(Exponential().view(), np.array([2.0, 5.0]), np.array([6.0, 12.0])).tolist()  # 6/2, 12/(5 - 1)
    [3.0, 3.0]
    """
    known, total = clients + view.prior_clients, totals + view.prior_total
    law, statistic, size = view.law, view.statistic, view.law.size
    plain = statistic.means_of(total / known)
    if not isinstance(statistic, Identity):
        own = statistic.posterior_means(known, total)
        return plain if own is None else own
    if law.code == BINOMIAL:
        return (0.5 * (law.low + law.high) + size * total) / (1.0 + size * known)
    if law.code == POISSON:
        return (total + 0.5) / known
    if law.code in (GAMMA, NEGATIVE_BINOMIAL):  # the parameter of the tail is size * known
        half = 0.5 if law.code == NEGATIVE_BINOMIAL else 0.0
        enough = size * known > 2.0
        return np.where(enough, size * (total + half) / np.where(enough, size * known - 1.0, 1.0), plain)
    return plain
