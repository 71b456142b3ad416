"""Families of rewards: the eleven the paper's policies are written for.

A family is a value: it knows its law and statistic (its lens), its mean domain and its legal rewards.  Divergence,
posterior and draws follow from the lens and are the same code for all.  A new family is a class below and a row in
the test matrix.

Table of the paper's section 3.1 in the mean parametrisation:

>>> Bernoulli().divergence(0.5, 0.75)
0.14384103622589045
>>> Poisson().divergence(0.0, 2.0)  # the limit at the edge
2.0
>>> Gaussian(sigma=2.0).divergence(1.0, 3.0)
0.5
"""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from profitable import check
from profitable.errors import ParameterError, ThresholdError
from profitable.kernels import ledger
from profitable.kernels.draw import draw_totals
from profitable.kernels.law import (
    BINOMIAL,
    GAMMA,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    POISSON,
    SMALLEST_PARAMETER,
    SMALLEST_POSITIVE,
)
from profitable.lens import Lens, Support
from profitable.posterior import Posterior
from profitable.types import FloatArray

COUNTS = Support(low=0.0, whole=True)
POSITIVE = Support(low=0.0, open=True)
SMALLEST_WEIBULL_SHAPE = 0.01
MOST_DRAWN = 1e18  # sums of counts are drawn as 64-bit integers


@dataclass(frozen=True)
class Family(ABC):
    """A one-dimensional exponential family (or, for `Bounded`, no parametric law at all)."""

    name: ClassVar[str]

    @abstractmethod
    def _make_lens(self) -> Lens: ...

    def lens(self) -> Lens:
        """The family's own law, statistic and support."""
        return _lens_of(self)

    @property
    def parameters(self) -> dict[str, float]:
        """The known parameters by name."""
        return asdict(self)

    @property
    def support(self) -> Support:
        """The legal rewards.

        >>> print(Poisson().support)
        0, 1, 2, ...
        """
        return self.lens().support

    @property
    def mean_domain(self) -> tuple[float, float]:
        """The edges between which a mean can lie; a threshold on an edge is legal.

        >>> Pareto(scale=2.0).mean_domain
        (2.0, inf)
        """
        return self.support.low, self.support.high

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval of rewards that are bounded by nature, else None."""
        support = self.support
        return (support.low, support.high) if support.high < math.inf else None

    def check_mean(self, field: str, value: object, *, of: str | None = None) -> float:
        """`value` as a float, if it is a finite number of the mean domain; `of` names the category in the error."""
        low, high = self.mean_domain
        plain = check.number(value)
        if check.fits(plain, low, high):
            return float(plain)
        remedy = f"give a finite number from {max(low, -check.LARGEST):g} to {min(high, check.LARGEST):g}"
        raise ThresholdError(
            field if of is None else f"{field} of {of!r}", value, f"is not in the mean domain of {self}", remedy
        )

    def divergence(self, x: float, y: float) -> float:
        """d(x, y): the Kullback-Leibler divergence from the law of mean x to the law of mean y (eq. 3)."""
        return self.lens().divergence(self.check_mean("x", x), self.check_mean("y", y))

    def posterior(self, *, clients: float, total: float) -> Posterior:
        """The Jeffreys posterior of the mean after `clients` clients whose statistics sum to `total`.

        >>> round(Bernoulli().posterior(clients=4, total=2).survival(0.5), 12)
        0.5
        """
        seen = check.not_negative("clients", clients), check.finite("total", total)
        if not self.lens().can_sum_to(*seen):
            raise ParameterError("total", total, f"cannot be the sum over {clients:g} clients", "give a possible sum")
        return Posterior(self.lens().with_prior(*seen))

    def draw_total(self, rng: np.random.Generator, *, mean: float, clients: int, size: int = 1) -> FloatArray:
        """`size` independent sums [size], each of the statistics of `clients` rewards, drawn at once."""
        lens = self.lens()
        value = lens.statistic_of_mean(self.check_mean("mean", mean))
        number = float(check.whole("clients", clients))
        if self.support.open and mean == self.mean_domain[0]:
            raise ParameterError("mean", mean, f"is no mean that {self} rewards can have", "give a larger one")
        if not abs(number * value) <= MOST_DRAWN:
            raise ParameterError("mean", mean, "makes sums too large to be drawn exactly", "give fewer clients")
        out = np.empty(check.whole("size", size, least=0))
        draw_totals(rng, *lens.law_numbers, value, number, out)
        return np.maximum(out, SMALLEST_POSITIVE) if self.support.open else out

    def draw(self, rng: np.random.Generator, *, mean: float, size: int = 1) -> FloatArray:
        """`size` independent rewards, [size].

        >>> Exponential().draw(np.random.default_rng(7), mean=2.0, size=2).round(3)
        array([1.415, 2.05 ])
        """
        return self.lens().reward_of_statistic(self.draw_total(rng, mean=mean, clients=1, size=size))

    def __str__(self) -> str:
        values = ", ".join(f"{key}={value:g}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({values})"


@lru_cache(maxsize=1024)
def _lens_of(family: Family) -> Lens:
    """Lenses are asked for a million times where a million categories share a family."""
    return family._make_lens()


def _parameter(field: str, value: float) -> float:
    """A number of failures or a shape: not so small that a posterior would have no digits."""
    if check.positive(field, value) < SMALLEST_PARAMETER:
        raise ParameterError(field, value, f"is below {SMALLEST_PARAMETER:g}", "give a larger one")
    return float(value)


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards 0 or 1: bought or not, repaid or not."""

    name = "bernoulli"

    def _make_lens(self) -> Lens:
        return Lens(BINOMIAL, 0.0, 1.0, 1.0, support=Support(0.0, 1.0, whole=True))


@dataclass(frozen=True, kw_only=True)
class Binomial(Family):
    """Successes among a known number of trials per client: 12 instalments, how many paid."""

    trials: int
    name = "binomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", check.whole("trials", self.trials, most=10**6))

    def _make_lens(self) -> Lens:
        trials = float(self.trials)
        return Lens(BINOMIAL, 0.0, trials, trials, support=Support(0.0, trials, whole=True))


@dataclass(frozen=True)
class Poisson(Family):
    """Counts without a limit: claims, orders, visits."""

    name = "poisson"

    def _make_lens(self) -> Lens:
        return Lens(POISSON, support=COUNTS)


@dataclass(frozen=True, kw_only=True)
class NegativeBinomial(Family):
    """Successes before a known number of failures: counts with more spread than Poisson's."""

    failures: float
    name = "negative-binomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "failures", _parameter("failures", self.failures))

    def _make_lens(self) -> Lens:
        return Lens(NEGATIVE_BINOMIAL, float(self.failures), support=COUNTS)


@dataclass(frozen=True)
class Geometric(Family):
    """Successes before the first failure, on {0, 1, ...}: renewals before a client leaves."""

    name = "geometric"

    def _make_lens(self) -> Lens:
        return Lens(NEGATIVE_BINOMIAL, 1.0, support=COUNTS)


@dataclass(frozen=True)
class Exponential(Family):
    """Positive rewards whose spread equals their mean: amounts, times."""

    name = "exponential"

    def _make_lens(self) -> Lens:
        return Lens(GAMMA, 1.0, support=POSITIVE)


@dataclass(frozen=True, kw_only=True)
class Gamma(Family):
    """Positive rewards with a known shape: less spread than exponential for shape > 1, more below."""

    shape: float
    name = "gamma"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _parameter("shape", self.shape))

    def _make_lens(self) -> Lens:
        return Lens(GAMMA, float(self.shape), support=POSITIVE)


@dataclass(frozen=True, kw_only=True)
class Gaussian(Family):
    """Normal rewards with a known standard deviation; they may be negative."""

    sigma: float
    name = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check.positive("sigma", self.sigma))

    def _make_lens(self) -> Lens:
        return Lens(GAUSSIAN, float(self.sigma))


@dataclass(frozen=True, kw_only=True)
class Pareto(Family):
    """Heavy-tailed rewards above a known scale; its statistic is log(x / scale), exponential."""

    scale: float
    name = "pareto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check.positive("scale", self.scale))

    def _make_lens(self) -> Lens:
        scale = float(self.scale)
        return Lens(GAMMA, 1.0, statistic=ledger.LOG_RATIO, s0=scale, support=Support(scale, open=True))


@dataclass(frozen=True, kw_only=True)
class Weibull(Family):
    """Positive rewards with a known shape k; its statistic is x^k, exponential."""

    shape: float
    name = "weibull"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check.positive("shape", self.shape))
        if not SMALLEST_WEIBULL_SHAPE <= self.shape <= 1.0 / SMALLEST_WEIBULL_SHAPE:
            raise ParameterError(
                "shape", self.shape, "makes means that floating point cannot hold", "give a shape from 0.01 to 100"
            )

    def _make_lens(self) -> Lens:
        return Lens(GAMMA, 1.0, statistic=ledger.POWER, s0=float(self.shape), support=POSITIVE)


@dataclass(frozen=True, kw_only=True)
class Bounded(Family):
    """Rewards in [low, high] that follow no parametric law, as real repayments do (section 4.3).

    Seen as Bernoulli on the interval: a sound kl-Bernoulli-UCB-4P, since no law on the interval has heavier tails for
    its mean.  For Bayes-UCB-4P and TS-4P, whose posterior is a Bernoulli one with fractional successes, a heuristic.
    """

    low: float
    high: float
    name = "bounded"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check.finite("low", self.low))
        object.__setattr__(self, "high", check.finite("high", self.high))
        if self.high <= self.low:
            raise ParameterError("high", self.high, f"is not above low = {self.low:g}", "give high > low")

    def _make_lens(self) -> Lens:
        low, high = float(self.low), float(self.high)
        return Lens(BINOMIAL, low, high, 1.0, support=Support(low, high))


FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        Bernoulli,
        Binomial,
        Poisson,
        NegativeBinomial,
        Geometric,
        Exponential,
        Gamma,
        Gaussian,
        Pareto,
        Weibull,
        Bounded,
    )
}
