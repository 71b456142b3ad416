"""The posterior of a mean: survival, quantile, draws.  `Family.posterior` makes one.

Its mean, for many categories at once:

| law               | posterior under Jeffreys' prior         | its mean               |
| ----------------- | --------------------------------------- | ---------------------- |
| Binomial          | Beta, half a success and half a failure | (S + 1/2) / (N + 1)    |
| Poisson           | Gamma(S + 1/2, N)                       | (S + 1/2) / N          |
| Gamma, shape k    | inverse Gamma(kN, kS)                   | kS / (kN - 1)          |
| Negative binomial | r times beta prime(S + 1/2, rN)         | r (S + 1/2) / (rN - 1) |
| Gaussian          | normal                                  | S / N                  |
| Normal            | Student's                               | S / N                  |

A statistic other than the reward has its own formula (`Statistic.posterior_means`).

Example: nine of nine clients repaid.  The posterior is Beta(9.5, 0.5), with mean 0.95.
"""

import math
from dataclasses import dataclass

import numpy as np

from profitable.common.types import FloatArray
from profitable.errors import ParameterError
from profitable.kernels.draw import draw_means
from profitable.kernels.evidence import POSTERIOR, Observed, evidence, index, sums
from profitable.kernels.law import BINOMIAL, GAMMA, NEGATIVE_BINOMIAL, NORMAL, POISSON
from profitable.kernels.statistic import Identity
from profitable.kernels.unknown_variance import says_nothing
from profitable.model.view import View


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior after the clients of a view, which may be real or imaginary.

    Parameters
    ----------
    view : View
        The law and statistic, with the clients.
    spread : float
        Sum of the squared deviations of their rewards from the mean; only `Normal`
        needs it.

    Examples
    --------
    >>> from profitable import Exponential
    >>> posterior = Exponential().posterior(clients=10, total=20.0)
    >>> round(posterior.survival(2.0), 4), round(posterior.quantile(0.5), 4)
    (0.5421, 2.0685)
    """

    view: View
    spread: float = math.nan

    @property
    def _seen(self) -> Observed:
        return sums(self.view.prior_clients, self.view.prior_total)._replace(spread=self.spread)

    @property
    def is_proper(self) -> bool:
        """Whether the posterior is a law, and not only an improper prior."""
        law, clients = self.view.law, self.view.prior_clients
        if law.code == NORMAL:
            return not says_nothing(law, clients, self.view.prior_total, self.spread, True)
        return clients != 0.0 or law.code == BINOMIAL

    def evidence(self, threshold: float) -> float:
        """Return -log P(mean >= threshold), accurate where the probability underflows.

        Parameters
        ----------
        threshold : float
            A mean.

        Returns
        -------
        float
            Evidence in nats.
        """
        law = self.view.law
        return evidence(
            POSTERIOR.under(law), law, self._seen, self.view.statistic.of_mean(threshold)
        )

    def survival(self, threshold: float) -> float:
        """Return P(mean >= threshold).

        Without data it is 1 by convention: nothing speaks against the category yet.

        Parameters
        ----------
        threshold : float
            A mean.

        Returns
        -------
        float
            The probability.
        """
        return math.exp(-self.evidence(threshold))

    def quantile(self, order: float) -> float:
        """Return the mean below which the posterior has a given probability.

        Parameters
        ----------
        order : float
            The probability, from 0 to 1.

        Returns
        -------
        float
            The quantile.
        """
        if not 0.0 <= order <= 1.0:
            raise ParameterError(
                "order", order, "is not a probability", "give a number from 0 to 1"
            )
        law = self.view.law
        return self.view.statistic.mean_of(
            index(
                POSTERIOR.under(law),
                law,
                self._seen,
                math.inf if order == 1.0 else -math.log1p(-order),
            )
        )

    def draw(self, rng: np.random.Generator, *, size: int = 1) -> FloatArray:
        """Draw independent means from the posterior.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        size : int
            Number of means.

        Returns
        -------
        array of shape [size]
            The means; a Pareto mean may be infinite.

        Raises
        ------
        ParameterError
            If the posterior is improper.
        """
        view = self.view
        if not self.is_proper:
            raise ParameterError(
                "clients",
                view.prior_clients,
                "leaves an improper prior to draw from",
                "observe more clients first",
            )
        out = np.empty(size)
        draw_means(rng, view.law, view.prior_clients, view.prior_total, self.spread, out)
        return np.array([view.statistic.mean_of(value) for value in out])


def expected_means(view: View, clients: FloatArray, totals: FloatArray) -> FloatArray:
    """Return the posterior means of some categories with one view, [M].

    The prior of the view is added to the observations.  Where the variance of the
    posterior is infinite, its mean says little, or is infinite itself.  There the plain
    mean is returned: for Exponential with up to two clients, and for Pareto always.  So
    it is for a law that is not listed.

    >>> from profitable import Bernoulli, Exponential
    >>> nine = np.array([9.0])  # Beta(9.5, 0.5)
    >>> expected_means(Bernoulli().view(), nine, nine).tolist()
    [0.95]
    >>> clients, totals = np.array([2.0, 5.0]), np.array([6.0, 12.0])  # 6/2, 12/(5 - 1)
    >>> expected_means(Exponential().view(), clients, totals).tolist()
    [3.0, 3.0]
    """
    known, total = clients + view.prior_clients, totals + view.prior_total
    law, size = view.law, view.law.size
    plain = view.statistic.means_of(total / known)
    if not isinstance(view.statistic, Identity):
        own = view.statistic.posterior_means(known, total)
        return plain if own is None else own
    if law.code == BINOMIAL:
        return (0.5 * (law.low + law.high) + size * total) / (1.0 + size * known)
    if law.code == POISSON:
        return (total + 0.5) / known
    if law.code in (GAMMA, NEGATIVE_BINOMIAL):  # the parameter of the tail is size * known
        half = 0.5 if law.code == NEGATIVE_BINOMIAL else 0.0
        enough = size * known > 2.0
        return np.where(
            enough, size * (total + half) / np.where(enough, size * known - 1.0, 1.0), plain
        )
    return plain
