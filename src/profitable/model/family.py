"""Family: a law of rewards with its known parameters.

`model/families.py` has those of the package.  A family is a value: it knows its law and
statistic (its view), its mean domain and its legal rewards.  Divergence, posterior and
draws follow from the view and are the same code for all.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import MISSING, asdict, dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from profitable.common import check
from profitable.common.registry import register
from profitable.common.types import FloatArray
from profitable.errors import ParameterError, ThresholdError
from profitable.kernels.coded_view import Support
from profitable.kernels.draw import draw_totals
from profitable.model.posterior import Posterior
from profitable.model.view import View

MOST_DRAWN = 1e18  # sums of counts are drawn as 64-bit integers
FAMILIES: dict[str, type["Family"]] = {}  # by name; filled by the classes themselves


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
