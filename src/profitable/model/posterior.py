"""The posterior of a mean: survival, quantile, draws.  `Family.posterior` makes one."""

import math
from dataclasses import dataclass

import numpy as np

from profitable.common.types import FloatArray
from profitable.errors import ParameterError
from profitable.kernels.draw import draw_means
from profitable.kernels.evidence import POSTERIOR, index, sums
from profitable.kernels.law import BINOMIAL, posterior_evidence
from profitable.model.view import View


@dataclass(frozen=True, slots=True)
class Posterior:
    """The conjugate posterior after the clients of a view, which may be real or imaginary.

    >>> from profitable import Exponential
    >>> posterior = Exponential().posterior(clients=10, total=20.0)
    >>> round(posterior.survival(2.0), 4), round(posterior.quantile(0.5), 4)
    (0.5421, 2.0685)
    """

    view: View

    def evidence(self, threshold: float) -> float:
        """-log P(mean >= threshold), in nats; accurate even where the probability underflows."""
        view = self.view
        value = view.statistic.of_mean(threshold)
        return posterior_evidence(view.law, view.prior_clients, view.prior_total, value)

    def survival(self, threshold: float) -> float:
        """P(mean >= threshold).  Without data it is 1 by convention: nothing speaks against the category yet."""
        return math.exp(-self.evidence(threshold))

    def quantile(self, order: float) -> float:
        """The mean below which the posterior has probability `order`."""
        if not 0.0 <= order <= 1.0:
            raise ParameterError("order", order, "is not a probability", "give a number from 0 to 1")
        view = self.view
        limit = math.inf if order == 1.0 else -math.log1p(-order)
        value = index(POSTERIOR, view.law, sums(view.prior_clients, view.prior_total), limit)
        return view.statistic.mean_of(value)

    def draw(self, rng: np.random.Generator, *, size: int = 1) -> FloatArray:
        """`size` independent means from the posterior, [size]; a Pareto mean may be infinite."""
        view = self.view
        if view.prior_clients == 0.0 and view.law.code != BINOMIAL:
            raise ParameterError("clients", 0, "leaves an improper prior to draw from", "observe a client first")
        out = np.empty(size)
        draw_means(rng, view.law, view.prior_clients, view.prior_total, out)
        return np.array([view.statistic.mean_of(value) for value in out])
