"""The families that the paper's policies are written for.

A new family is a class below and a row in `tests/matrix.py` (docs/design.md shows one).

Divergences are those of the table in the paper's section 3.1, in the mean
parametrisation:

>>> Bernoulli().divergence(0.5, 0.75)
0.14384103622589045
>>> Poisson().divergence(0.0, 2.0)  # the limit at the edge
2.0
>>> Gaussian(sigma=2.0).divergence(1.0, 3.0)
0.5
"""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from profitable.common import check
from profitable.common.types import FloatArray
from profitable.errors import ParameterError
from profitable.kernels import statistic
from profitable.kernels.coded_view import Support
from profitable.kernels.exact import squared_deviations
from profitable.kernels.law import (
    BINOMIAL,
    GAMMA,
    NEGATIVE_BINOMIAL,
    NORMAL,
    POISSON,
    SMALLEST_PARAMETER,
    Law,
)
from profitable.model.family import FAMILIES as FAMILIES
from profitable.model.family import Family
from profitable.model.posterior import Posterior
from profitable.model.view import View, gaussian_law

COUNTS = Support(low=0.0, whole=True)
POSITIVE = Support(low=0.0, open=True)
SMALLEST_WEIBULL_SHAPE = 0.01
SMALLEST_ALPHA, LARGEST_ALPHA = -100.0, 0.5


def _parameter(field: str, value: float) -> float:
    """Return a number of failures or a shape; ParameterError if it is too small.

    Below the limit, a posterior has no digits.
    """
    if check.positive(field, value) < SMALLEST_PARAMETER:
        raise ParameterError(field, value, f"is below {SMALLEST_PARAMETER:g}", "give a larger one")
    return float(value)


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards 0 or 1: bought or not, repaid or not."""

    name = "bernoulli"

    def make_view(self) -> View:
        return View(Law(BINOMIAL, 0.0, 1.0, 1.0), support=Support(0.0, 1.0, whole=True))


@dataclass(frozen=True, kw_only=True)
class Binomial(Family):
    """Successes among a known number of trials per client: instalments paid out of 12.

    Parameters
    ----------
    trials : int
        Number of trials per client, from 1 to 10^6.
    """

    trials: int = field(metadata={"check": partial(check.whole, most=10**6)})
    name = "binomial"

    def make_view(self) -> View:
        trials = float(self.trials)
        return View(Law(BINOMIAL, 0.0, trials, trials), support=Support(0.0, trials, whole=True))


@dataclass(frozen=True)
class Poisson(Family):
    """Counts without a limit: claims, orders, visits."""

    name = "poisson"

    def make_view(self) -> View:
        return View(Law(POISSON), support=COUNTS)


@dataclass(frozen=True, kw_only=True)
class NegativeBinomial(Family):
    """Successes before a known number of failures: counts more spread than Poisson's.

    Parameters
    ----------
    failures : float
        Number of failures; it may be a fraction.
    """

    failures: float = field(metadata={"check": _parameter})
    name = "negative-binomial"

    def make_view(self) -> View:
        return View(Law(NEGATIVE_BINOMIAL, size=self.failures), support=COUNTS)


@dataclass(frozen=True)
class Geometric(Family):
    """Successes before the first failure, from 0: renewals before a client leaves."""

    name = "geometric"

    def make_view(self) -> View:
        return View(Law(NEGATIVE_BINOMIAL, size=1.0), support=COUNTS)


@dataclass(frozen=True)
class Exponential(Family):
    """Positive rewards whose spread equals their mean: amounts, times."""

    name = "exponential"

    def make_view(self) -> View:
        return View(Law(GAMMA, size=1.0), support=POSITIVE)


@dataclass(frozen=True, kw_only=True)
class Gamma(Family):
    """Positive rewards with a known shape: above 1, less spread out than exponential.

    Parameters
    ----------
    shape : float
        Shape of the gamma law; the spread is mean / sqrt(shape).
    """

    shape: float = field(metadata={"check": _parameter})
    name = "gamma"

    def make_view(self) -> View:
        return View(Law(GAMMA, size=self.shape), support=POSITIVE)


@dataclass(frozen=True, kw_only=True)
class Gaussian(Family):
    """Normal rewards with a known standard deviation; they may be negative.

    Parameters
    ----------
    sigma : float
        Standard deviation of a reward.
    """

    sigma: float = field(metadata={"check": check.positive})
    name = "gaussian"

    def make_view(self) -> View:
        return View(gaussian_law(self.sigma))


@dataclass(frozen=True, kw_only=True)
class Normal(Family):
    """Normal rewards whose unknown standard deviation is estimated; may be negative.

    It is also a sensible choice for rewards between two limits that vary far less than
    the limits allow.  It is not where rare large losses or gains decide: before the
    first of them the rewards look alike, and the category looks safer, or more
    hopeless, than it is.  Nor is it with few clients: there is no evidence before the
    third (kl-UCB-4P, kl-UCB+-4P) or the fifth (Bayes-UCB-4P, TS-4P, Optimal), nor while
    all rewards are equal.

    Parameters
    ----------
    alpha : float
        Prior of the posterior policies: density (sigma^2)^(-1 - alpha) for mean and
        variance.  They are optimal for alpha < 0, and not for the reference prior,
        alpha = 0 (Honda and Takemura 2014).

    Examples
    --------
    The rewards 0, 1, 2, 1, 1 lead to Student's t with 2 degrees of freedom:

    >>> posterior = Normal().posterior(clients=5, total=5.0, squares=7.0)
    >>> round(posterior.survival(2.0), 4)
    0.0774
    """

    alpha: float = field(default=-1.0, metadata={"check": check.finite})
    name = "normal"
    hides_sigma = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not SMALLEST_ALPHA <= self.alpha <= LARGEST_ALPHA:
            raise ParameterError(
                "alpha",
                self.alpha,
                "makes no useful prior",
                f"give a number from {SMALLEST_ALPHA:g} to {LARGEST_ALPHA:g}, below 0 for an "
                "optimal policy",
            )

    def make_view(self) -> View:
        return View(Law(NORMAL, -math.inf, math.inf, self.alpha))

    def drawn(self, sigma: float | None) -> Family:
        if sigma is None:
            raise ParameterError(
                "sigma", None, f"is missing, and {self} does not know it", "give sigma=..."
            )
        return Gaussian(sigma=sigma)

    def divergence(self, x: float, y: float, *, sigma: float | None = None) -> float:
        """Return the divergence to the nearest law of mean y, whatever its sigma.

        It is log(1 + ((x - y)/sigma)^2) / 2.

        Parameters
        ----------
        x, y : float
            Two means.
        sigma : float
            Standard deviation of the law of mean x.

        Returns
        -------
        float
            Divergence in nats.
        """
        slope = (self.check_mean("x", x) - self.check_mean("y", y)) / self.drawn(sigma).parameters[
            "sigma"
        ]
        return 0.5 * math.log1p(slope * slope)

    def posterior(self, *, clients: float, total: float, squares: float | None = None) -> Posterior:
        """Return the posterior of the mean, given sums of rewards and squared rewards.

        Parameters
        ----------
        clients : float
            Number of clients.
        total : float
            Sum of their rewards.
        squares : float
            Sum of their squared rewards.

        Returns
        -------
        Posterior
            Student's t after enough clients; improper before.
        """
        if squares is None:
            raise ParameterError(
                "squares", None, "is missing", "give the sum of the squared rewards"
            )
        plain = super().posterior(clients=clients, total=total).view
        if not plain.can_square_to(
            plain.prior_clients, plain.prior_total, check.not_negative("squares", squares)
        ):
            raise ParameterError(
                "squares",
                squares,
                f"cannot be the squares of {clients:g} rewards with total {total:g}",
                "give at least total^2/clients",
            )
        return Posterior(
            plain,
            squared_deviations(plain.prior_clients, plain.prior_total, 0.0, float(squares), 0.0),
        )

    def draw_total(
        self,
        rng: np.random.Generator,
        *,
        mean: float,
        clients: int,
        size: int = 1,
        sigma: float | None = None,
    ) -> FloatArray:
        """Draw independent sums of rewards with a given standard deviation.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        mean : float
            Mean of a reward.
        clients : int
            Number of rewards in each sum.
        size : int
            Number of sums.
        sigma : float
            Standard deviation of a reward.

        Returns
        -------
        array of shape [size]
            The sums.
        """
        return self.drawn(sigma).draw_total(rng, mean=mean, clients=clients, size=size)

    def draw(
        self, rng: np.random.Generator, *, mean: float, size: int = 1, sigma: float | None = None
    ) -> FloatArray:
        """Draw independent rewards with a given standard deviation.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        mean : float
            Mean of a reward.
        size : int
            Number of rewards.
        sigma : float
            Standard deviation of a reward.

        Returns
        -------
        array of shape [size]
            The rewards.
        """
        return self.drawn(sigma).draw(rng, mean=mean, size=size)


@dataclass(frozen=True, kw_only=True)
class Pareto(Family):
    """Heavy-tailed rewards above a known scale; log(x / scale) is exponential.

    Parameters
    ----------
    scale : float
        Lower edge of the rewards.
    """

    scale: float = field(metadata={"check": check.positive})
    name = "pareto"

    def make_view(self) -> View:
        return View(
            Law(GAMMA, size=1.0), statistic.LogRatio(self.scale), Support(self.scale, open=True)
        )


@dataclass(frozen=True, kw_only=True)
class Weibull(Family):
    """Positive rewards with a known shape k; x^k is exponential.

    Parameters
    ----------
    shape : float
        The power k, from 0.01 to 100.
    """

    shape: float = field(metadata={"check": check.positive})
    name = "weibull"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not SMALLEST_WEIBULL_SHAPE <= self.shape <= 1.0 / SMALLEST_WEIBULL_SHAPE:
            raise ParameterError(
                "shape",
                self.shape,
                "makes means that floating point cannot hold",
                "give a shape from 0.01 to 100",
            )

    def make_view(self) -> View:
        return View(Law(GAMMA, size=1.0), statistic.Power(self.shape), POSITIVE)


@dataclass(frozen=True, kw_only=True)
class Bounded(Family):
    """Rewards in [low, high] of no parametric law, as real repayments (section 4.3).

    Policies see it as Bernoulli on the interval.  kl-UCB-4P is then
    kl-Bernoulli-UCB-4P, which is sound: no law on the interval has heavier tails for
    its mean.  Bayes-UCB-4P and TS-4P are a heuristic: their posterior is a Bernoulli
    one with fractional successes.

    Parameters
    ----------
    low, high : float
        The smallest and the largest reward.
    """

    low: float = field(metadata={"check": check.finite})
    high: float = field(metadata={"check": check.finite})
    name = "bounded"
    has_law = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high <= self.low:
            raise ParameterError(
                "high", self.high, f"is not above low = {self.low:g}", "give high > low"
            )

    def make_view(self) -> View:
        return View(Law(BINOMIAL, self.low, self.high, 1.0), support=Support(self.low, self.high))
