"""Priors.  Each is stored as imaginary clients on top of the Jeffreys prior.

Every conjugate prior equals the Jeffreys posterior after some number of clients
(possibly a fraction) with some total. So the kernels only add two numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

from profitable.common import check
from profitable.errors import ParameterError
from profitable.kernels.law import (
    BINOMIAL,
    GAMMA,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    NORMAL,
    POISSON,
    SMALLEST_PARAMETER,
)
from profitable.model.families import Family

Kind = Literal["clients", "beta", "gamma", "inverse-gamma", "normal"]

# The two parameters of each kind, and what they must be.
_NAMES: dict[str, tuple[tuple[str, Callable[[str, object], float]], ...]] = {
    "clients": (("clients", check.positive), ("mean", check.finite)),
    "beta": (("a", check.positive), ("b", check.positive)),
    "gamma": (("shape", check.positive), ("rate", check.positive)),
    "inverse-gamma": (("shape", check.positive), ("scale", check.positive)),
    "normal": (("mean", check.finite), ("sd", check.positive)),
}

LARGEST_RATIO = 1e6  # a prior of 10^12 imaginary Gaussian clients is as good as certainty

_KIND_OF_LAW: dict[int, Kind] = {
    BINOMIAL: "beta",
    NEGATIVE_BINOMIAL: "beta",
    POISSON: "gamma",
    GAMMA: "inverse-gamma",
    GAUSSIAN: "normal",
}


@dataclass(frozen=True, slots=True)
class Prior:
    """A belief before the first outcome; for Bayes-UCB-4P, TS-4P and Optimal.

    The class methods make one, for example "like 200 past clients with mean 0.91".  A
    conjugate law is that of the mean of what the family adds up
    (`family.view().statistic`): mostly the reward itself.

    Parameters
    ----------
    kind : str
        "clients", "beta", "gamma", "inverse-gamma" or "normal".
    first, second : float
        Its two parameters, in the order of the class method.

    Examples
    --------
    >>> Prior.like(clients=200, mean=0.91)
    Prior(kind='clients', first=200.0, second=0.91)

    A uniform prior is one client more than Jeffreys', with half a success:

    >>> from profitable import Bernoulli
    >>> Prior.beta(1.0, 1.0).imaginary_clients(Bernoulli())
    (1.0, 0.5)
    """

    kind: Kind
    first: float
    second: float

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _NAMES:
            raise ParameterError(
                "prior", self.kind, "is of no known kind", f"choose from {', '.join(_NAMES)}"
            )
        for place, (name, needed) in enumerate(_NAMES[self.kind]):
            field = ("first", "second")[place]
            object.__setattr__(self, field, needed(name, getattr(self, field)))

    @classmethod
    def like(cls, *, clients: float, mean: float) -> Self:
        """Return a prior as if clients with a given mean reward had been seen.

        Parameters
        ----------
        clients : float
            Number of imaginary clients.
        mean : float
            Their mean reward.

        Returns
        -------
        Prior
            The prior, for every family but `Normal`.
        """
        return cls("clients", clients, mean)

    @classmethod
    def beta(cls, a: float, b: float) -> Self:
        """Return a Beta(a, b) prior.

        It is for the success probability of Bernoulli, Binomial and Bounded (the mean
        scaled to [0, 1]), and for failures / (failures + mean) of Geometric and
        NegativeBinomial.

        Parameters
        ----------
        a, b : float
            Parameters of the beta law.

        Returns
        -------
        Prior
            The prior.
        """
        return cls("beta", a, b)

    @classmethod
    def gamma(cls, *, shape: float, rate: float) -> Self:
        """Return a gamma prior of a Poisson mean.

        Parameters
        ----------
        shape, rate : float
            Parameters of the gamma law, whose mean is shape / rate.

        Returns
        -------
        Prior
            The prior.
        """
        return cls("gamma", shape, rate)

    @classmethod
    def inverse_gamma(cls, *, shape: float, scale: float) -> Self:
        """Return an inverse gamma prior of the mean of Exponential and Gamma rewards.

        Of Pareto and Weibull rewards it is for the mean of the statistic, E
        log(X/scale) and E X^shape, and not for the mean of the rewards.  `Prior.like`
        speaks of rewards.

        Parameters
        ----------
        shape, scale : float
            Parameters of the inverse gamma law.

        Returns
        -------
        Prior
            The prior.
        """
        return cls("inverse-gamma", shape, scale)

    @classmethod
    def normal(cls, *, mean: float, sd: float) -> Self:
        """Return a normal prior of the mean of Gaussian rewards.

        A family of the Gaussian law with another statistic takes it for the mean of
        that statistic, and not for the mean of the rewards: for log-normal rewards,
        `mean` is E log X.  `Prior.like` speaks of rewards.

        Parameters
        ----------
        mean, sd : float
            Mean and standard deviation of the normal law.

        Returns
        -------
        Prior
            The prior.
        """
        return cls("normal", mean, sd)

    def __str__(self) -> str:
        if self.kind == "clients":
            return f"like {self.first:g} clients with mean {self.second:g}"
        names = [name for name, _ in _NAMES[self.kind]]
        return f"{self.kind} prior with {names[0]} {self.first:g} and {names[1]} {self.second:g}"

    def imaginary_clients(self, family: Family) -> tuple[float, float]:
        """Return the imaginary clients that turn the Jeffreys prior into this one.

        Parameters
        ----------
        family : Family
            The family of the rewards.

        Returns
        -------
        tuple of float
            Number of clients, and the sum of their statistics.

        Raises
        ------
        ParameterError
            If the prior is not conjugate to the family, or too vague to compute with.
        """
        view = family.view()
        if view.law.code == NORMAL:
            raise ParameterError(
                "prior",
                self,
                f"is not possible for {family}, which has its own: the spread is not known either",
                "leave it out, or choose another alpha",
            )
        clients, total = self._imaginary_clients(family)
        vague = self.kind in ("beta", "gamma") and min(self.first, self.second) < SMALLEST_PARAMETER
        if vague or (
            view.law.code in (GAMMA, NEGATIVE_BINOMIAL)
            and clients * view.law.size < SMALLEST_PARAMETER
        ):
            raise ParameterError(
                "prior",
                (self.kind, self.first, self.second),
                "is too vague to compute with",
                f"give parameters from {SMALLEST_PARAMETER:g} on, or more clients",
            )
        return clients, total

    def _imaginary_clients(self, family: Family) -> tuple[float, float]:
        view = family.view()
        if self.kind == "clients":
            mean = family.check_mean("prior mean", self.second)
            total = self.first * view.statistic.of_mean(mean)
            if view.law.code == GAMMA and total <= 0.0:
                raise ParameterError(
                    "prior mean",
                    mean,
                    f"cannot be the mean of {family} rewards",
                    f"give a mean above {family.mean_domain[0]:g}",
                )
            return self.first, total
        if self.kind != _KIND_OF_LAW[view.law.code]:
            raise ParameterError(
                "prior",
                self.kind,
                f"is not conjugate to {family}",
                f"use Prior.like or Prior.{_KIND_OF_LAW[view.law.code].replace('-', '_')}",
            )
        if view.law.code == BINOMIAL:
            unit = (view.law.high - view.law.low) / view.law.size
            clients = (self.first + self.second - 1.0) / view.law.size
            return clients, (self.first - 0.5) * unit + clients * view.law.low
        if view.law.code == NEGATIVE_BINOMIAL:
            return self.first / view.law.size, self.second - 0.5
        if view.law.code == POISSON:
            return self.second, self.first - 0.5
        if view.law.code == GAMMA:
            return self.first / view.law.size, self.second / view.law.size
        ratio = view.law.size / self.second
        if ratio > LARGEST_RATIO:
            raise ParameterError(
                "prior sd",
                self.second,
                f"is too small for sigma = {view.law.size:g}",
                "give a larger one",
            )
        return ratio**2, ratio**2 * self.first
