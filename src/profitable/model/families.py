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
from abc import ABC, abstractmethod
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from profitable.common import check
from profitable.common.registry import register
from profitable.common.types import FloatArray
from profitable.errors import ParameterError, ThresholdError
from profitable.kernels import statistic
from profitable.kernels.coded_view import Support
from profitable.kernels.draw import draw_totals
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
from profitable.model.posterior import Posterior
from profitable.model.view import View, gaussian_law

MOST_DRAWN = 1e18  # sums of counts are drawn as 64-bit integers
FAMILIES: dict[str, type["Family"]] = {}  # by name; filled by the classes themselves
COUNTS = Support(low=0.0, whole=True)
POSITIVE = Support(low=0.0, open=True)
SMALLEST_WEIBULL_SHAPE = 0.01
SMALLEST_ALPHA, LARGEST_ALPHA = -100.0, 0.5


@dataclass(frozen=True)
class Family(ABC):
    """A one-dimensional exponential family or, for `Bounded`, no parametric law at all.

    A subclass has a `name`, its known parameters as fields, and `make_view`.  It
    registers itself under its name.
    """

    name: ClassVar[str]
    has_law: ClassVar[bool] = True  # whether a simulation can draw rewards from it
    # Whether a simulation has to know a standard deviation that an agent does not.
    hides_sigma: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register(FAMILIES, cls, needed=("name", "make_view"))

    def __post_init__(self) -> None:
        check.declared_fields(self)

    @abstractmethod
    def make_view(self) -> View:
        """Return the family's own law, statistic and support."""

    def view(self) -> View:
        """Return the view of `make_view`, made once for all equal families."""
        return _view_of(self)

    @property
    def parameters(self) -> dict[str, float]:
        """The known parameters by name."""
        return asdict(self)

    @property
    def support(self) -> Support:
        """The legal rewards.

        Examples
        --------
        >>> from profitable import Poisson
        >>> print(Poisson().support)
        0, 1, 2, ...
        """
        return self.view().support

    @property
    def mean_domain(self) -> tuple[float, float]:
        """The edges between which a mean can lie; a threshold on an edge is legal.

        Examples
        --------
        >>> from profitable import Pareto
        >>> Pareto(scale=2.0).mean_domain
        (2.0, inf)
        """
        return self.support.low, self.support.high

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval of the rewards if the family bounds them, else None."""
        support = self.support
        return (support.low, support.high) if support.high < math.inf else None

    def check_mean(self, field: str, value: object) -> float:
        """Return a mean as a float, if the family can have it.

        Parameters
        ----------
        field : str
            Name of the field, for the error.
        value : object
            The mean.

        Returns
        -------
        float
            The same number.

        Raises
        ------
        ThresholdError
            If it is not a finite number in the mean domain.
        """
        low, high = self.mean_domain
        plain = check.number(value)
        if check.fits(plain, low, high):
            return float(plain)
        raise ThresholdError(
            field,
            value,
            f"is not in the mean domain of {self}",
            f"give a finite number from {max(low, -check.LARGEST):g} to "
            f"{min(high, check.LARGEST):g}",
        )

    def divergence(self, x: float, y: float) -> float:
        """Return the Kullback-Leibler divergence d(x, y) between two means (eq. 3).

        Parameters
        ----------
        x, y : float
            Two means; the divergence is from the law of mean x to the law of mean y.

        Returns
        -------
        float
            Divergence in nats.
        """
        return self.view().divergence(self.check_mean("x", x), self.check_mean("y", y))

    def posterior(self, *, clients: float, total: float) -> Posterior:
        """Return the Jeffreys posterior of the mean after some clients.

        Parameters
        ----------
        clients : float
            Number of clients.
        total : float
            Sum of their statistics; mostly the rewards themselves.

        Returns
        -------
        Posterior
            The posterior; improper without clients, except on a bounded interval.

        Examples
        --------
        >>> from profitable import Bernoulli
        >>> round(Bernoulli().posterior(clients=4, total=2).survival(0.5), 12)
        0.5
        """
        seen = check.not_negative("clients", clients), check.finite("total", total)
        if not self.view().can_sum_to(*seen):
            raise ParameterError(
                "total", total, f"cannot be the sum over {clients:g} clients", "give a possible sum"
            )
        return Posterior(self.view().with_prior(*seen))

    def drawn(self, sigma: float | None) -> "Family":
        """Return the family that a simulation draws rewards from.

        Parameters
        ----------
        sigma : float or None
            Standard deviation that the agent does not know; None unless the family
            hides it.

        Returns
        -------
        Family
            This one, unless its standard deviation is hidden.

        Examples
        --------
        >>> from profitable import Normal
        >>> Normal().drawn(0.5)
        Gaussian(sigma=0.5)
        """
        if sigma is not None:
            raise ParameterError(
                "sigma", sigma, f"is not a hidden number of {self}", "leave it out"
            )
        return self

    def draw_total(
        self, rng: np.random.Generator, *, mean: float, clients: int, size: int = 1
    ) -> FloatArray:
        """Draw independent sums of the statistics of several rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        mean : float
            Mean of a reward.
        clients : int
            Number of rewards in each sum, which is drawn at once.
        size : int
            Number of sums.

        Returns
        -------
        array of shape [size]
            The sums.
        """
        view = self.view()
        value = view.statistic.of_mean(self.check_mean("mean", mean))
        number = float(check.whole("clients", clients))
        if self.support.open and mean == self.mean_domain[0]:
            raise ParameterError(
                "mean", mean, f"cannot be the mean of {self} rewards", "give a larger one"
            )
        if not abs(number * value) <= MOST_DRAWN:
            raise ParameterError(
                "mean", mean, "makes sums too large to be drawn exactly", "give fewer clients"
            )
        out = np.empty(check.whole("size", size, least=0))
        draw_totals(rng, view.law, value, number, out)
        return out

    def draw(self, rng: np.random.Generator, *, mean: float, size: int = 1) -> FloatArray:
        """Draw independent rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        mean : float
            Mean of a reward.
        size : int
            Number of rewards.

        Returns
        -------
        array of shape [size]
            The rewards.

        Examples
        --------
        >>> from profitable import Exponential
        >>> Exponential().draw(np.random.default_rng(7), mean=2.0, size=2).round(3)
        array([1.415, 2.05 ])
        """
        totals = self.draw_total(rng, mean=mean, clients=1, size=size)
        rewards, low = self.view().statistic.rewards_of(totals), self.support.low
        return np.maximum(rewards, math.nextafter(low, math.inf)) if self.support.open else rewards

    @classmethod
    def of(cls, given: "Family | str") -> "Family":
        """Return a family that is given as such, or as text.

        Parameters
        ----------
        given : Family or str
            The family, or its name and parameters.

        Returns
        -------
        Family
            The family.

        Raises
        ------
        ParameterError
            If the name or a parameter is unknown, or a parameter is missing.

        Examples
        --------
        >>> from profitable import Family
        >>> Family.of("bounded:low=0,high=2")
        Bounded(low=0.0, high=2.0)
        """
        if isinstance(given, Family):
            return given
        if not isinstance(given, str):
            raise ParameterError(
                "family", given, "is not a family", "give a name as 'bernoulli', or Bernoulli()"
            )
        name, _, rest = given.strip().partition(":")
        if name not in FAMILIES:
            raise ParameterError(
                "family", given, "is unknown", f"choose from {', '.join(FAMILIES)}"
            )
        kind, values = FAMILIES[name], dict[str, Any]()
        known = [each.name for each in fields(kind)]
        takes = f"{name} takes {', '.join(known)}" if known else f"{name} takes no parameters"
        for part in filter(None, map(str.strip, rest.split(","))):
            key, _, value = map(str.strip, part.partition("="))
            if key not in known:
                raise ParameterError(
                    f"{key} in family {given!r}", value, "is not a parameter of it", takes
                )
            try:
                values[key] = float(value)
            except ValueError:
                raise ParameterError(
                    f"{key} in family {given!r}", value, "is not a number", takes
                ) from None
        missing = [
            each.name
            for each in fields(kind)
            if each.default is MISSING and each.name not in values
        ]
        if missing:
            raise ParameterError(
                f"{missing[0]} in family {given!r}",
                None,
                "is missing",
                f"give {name}:{','.join(f'{key}=...' for key in missing)}",
            )
        return kind(**values)

    def __str__(self) -> str:
        values = ", ".join(f"{key}={value:g}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({values})"


@lru_cache(maxsize=1024)
def _view_of(family: Family) -> View:
    """Return the view of a family, kept because a million categories may share it."""
    return family.make_view()


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
