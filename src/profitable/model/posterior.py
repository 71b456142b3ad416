"""The posterior of a mean: survival, quantile, draws.  `Family.posterior` makes one."""

import math
from dataclasses import dataclass

import numpy as np

from profitable.common.types import FloatArray
from profitable.errors import ParameterError
from profitable.kernels.draw import draw_means
from profitable.kernels.evidence import POSTERIOR, Seen, evidence, index, sums
from profitable.kernels.law import BINOMIAL, NORMAL
from profitable.kernels.unknown_variance import says_nothing
from profitable.model.view import View


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior after the clients of a view, which may be real or imaginary.

    `spread` is the sum of the squared deviations of their rewards from the mean.  Only `Normal` needs it.

    >>> from profitable import Exponential
    >>> posterior = Exponential().posterior(clients=10, total=20.0)
    >>> round(posterior.survival(2.0), 4), round(posterior.quantile(0.5), 4)
    (0.5421, 2.0685)
    """

    view: View
    spread: float = math.nan

    @property
    def _seen(self) -> Seen:
        return sums(self.view.prior_clients, self.view.prior_total)._replace(spread=self.spread)

    @property
    def is_proper(self) -> bool:
        """Whether there is a law to draw from, and not only a prior that is none."""
        law, clients = self.view.law, self.view.prior_clients
        if law.code == NORMAL:
            return not says_nothing(law, clients, self.view.prior_total, self.spread, True)
        return clients != 0.0 or law.code == BINOMIAL

    def evidence(self, threshold: float) -> float:
        """-log P(mean >= threshold), in nats; accurate even where the probability underflows."""
        law = self.view.law
        return evidence(POSTERIOR.under(law), law, self._seen, self.view.statistic.of_mean(threshold))

    def survival(self, threshold: float) -> float:
        """P(mean >= threshold).  Without data it is 1 by convention: nothing speaks against the category yet."""
        return math.exp(-self.evidence(threshold))

    def quantile(self, order: float) -> float:
        """The mean below which the posterior has probability `order`."""
        if not 0.0 <= order <= 1.0:
            raise ParameterError("order", order, "is not a probability", "give a number from 0 to 1")
        law = self.view.law
        limit = math.inf if order == 1.0 else -math.log1p(-order)
        return self.view.statistic.mean_of(index(POSTERIOR.under(law), law, self._seen, limit))

    def draw(self, rng: np.random.Generator, *, size: int = 1) -> FloatArray:
        """`size` independent means from the posterior, [size]; a Pareto mean may be infinite."""
        view = self.view
        if not self.is_proper:
            raise ParameterError(
                "clients", view.prior_clients, "leaves an improper prior to draw from", "observe more clients first"
            )
        out = np.empty(size)
        draw_means(rng, view.law, view.prior_clients, view.prior_total, self.spread, out)
        return np.array([view.statistic.mean_of(value) for value in out])
