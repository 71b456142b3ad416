"""Arrivals: the number of clients of a category in each round, C_a(t), at least 1.

>>> OnePlusPoisson(rate=3).average, UniformClients(low=1, high=9).average
(4.0, 5.0)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from profitable.common import check
from profitable.common.types import FloatArray, IntArray
from profitable.errors import ParameterError
from profitable.kernels.arrivals import CONSTANT, LISTED, ONE_PLUS_POISSON, UNIFORM, ArrivalLaw
from profitable.theory import regret_bounds

MOST_PER_ROUND = 10**9
EMPTY: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Clients(ABC):
    """A law of C_a(t), the same in every round, or a list of counts."""

    law: ClassVar[str] = ""  # its name in scenario files

    @abstractmethod
    def bounds(self) -> regret_bounds.Arrivals:
        """Return the arrivals as the theorems need them.

        Returns
        -------
        Arrivals
            Smallest, average and largest number per round.

        """

    @property
    def average(self) -> float:
        """E[C_a(t)]."""
        return self.bounds().average

    @property
    def smallest(self) -> float:
        """The smallest number that can come in one round."""
        return self.bounds().smallest

    @property
    def largest(self) -> float:
        """The largest number that can come in one round."""
        return self.bounds().largest

    @abstractmethod
    def coded(self) -> ArrivalLaw:
        """Return the law as the kernels read it.

        Returns
        -------
        ArrivalLaw
            Code and numbers of the law.

        """

    @abstractmethod
    def chances(self, most: int) -> FloatArray:
        """Return the probabilities of the number of clients in a round.

        Parameters
        ----------
        most : int
            Length of the result.

        Returns
        -------
        array of shape [most]
            Probabilities of 0, 1, ..., `most` - 1 clients.

        """

    def seen(self, most: int) -> FloatArray:
        """Return the probabilities that some round ends with exactly n clients.

        Parameters
        ----------
        most : int
            Length of the result.

        Returns
        -------
        array of shape [most]
            Probabilities for n = 0, 1, ..., `most` - 1.

        Examples
        --------
        >>> Clients.of(2).seen(5), Clients.of([1, 3]).seen(5)
        (array([1., 0., 1., 0., 1.]), array([1., 1., 0., 0., 1.]))

        """
        return _seen_of(self, most)

    def to_plain(self) -> Any:
        """Return the value that stands for the law in a scenario file.

        Returns
        -------
        int, list or dict
            A value that TOML can write.

        """
        return {"law": self.law, **asdict(self)}

    @property
    def listed(self) -> IntArray:
        """Clients of the first 0, 1, 2, ... rounds of a list; empty for other laws."""
        return EMPTY

    @staticmethod
    def of(value: object) -> "Clients":
        """Return the law for a number, a list of numbers, or a law.

        Parameters
        ----------
        value : int, list of int or Clients
            The same number in every round, a count for each round, or a law.

        Returns
        -------
        Clients
            The law.

        """
        if isinstance(value, Clients):
            return value
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
            return ListedClients(tuple(value))  # pyright: ignore[reportUnknownArgumentType]
        return ConstantClients(value)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _seen_of(clients: Clients, most: int) -> FloatArray:
    """Return `Clients.seen`, cached: all policies of a simulation need the same."""
    chances, seen = clients.chances(most), np.zeros(most)
    seen[0] = 1.0
    for n in range(1, most):
        seen[n] = chances[1 : n + 1] @ seen[n - 1 :: -1]
    seen.setflags(write=False)
    return seen


@dataclass(frozen=True)
class ConstantClients(Clients):
    """The same number in every round."""

    number: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", check.whole("clients", self.number, most=MOST_PER_ROUND))

    def bounds(self) -> regret_bounds.Arrivals:
        number = float(self.number)
        return regret_bounds.Arrivals(smallest=self.number, average=number, largest=number)

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(CONSTANT, float(self.number), 0.0)

    def to_plain(self) -> Any:
        return self.number

    def chances(self, most: int) -> FloatArray:
        return (np.arange(most) == self.number).astype(np.float64)


@dataclass(frozen=True)
class OnePlusPoisson(Clients):
    """One client and a Poisson number of others in each round, as in the paper.

    Parameters
    ----------
    rate : float
        Mean of the Poisson number C - 1.

    Examples
    --------
    >>> OnePlusPoisson(rate=3).average
    4.0

    """

    law = "one-plus-poisson"
    rate: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", check.not_negative("rate", self.rate))
        if self.rate > MOST_PER_ROUND:
            raise ParameterError(
                "rate", self.rate, f"is more than {MOST_PER_ROUND}", "give fewer clients per round"
            )

    def bounds(self) -> regret_bounds.Arrivals:
        return regret_bounds.Arrivals(smallest=1, average=1.0 + self.rate)

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(ONE_PLUS_POISSON, self.rate, 0.0)

    def chances(self, most: int) -> FloatArray:
        if self.rate == 0.0:
            return Clients.of(1).chances(most)
        logarithms = [
            (n - 1) * math.log(self.rate) - self.rate - math.lgamma(n) for n in range(1, most)
        ]
        return np.exp([-math.inf, *logarithms])


@dataclass(frozen=True)
class UniformClients(Clients):
    """A number of clients from `low` to `high`, all equally likely.

    Parameters
    ----------
    low : int
        The smallest number, at least 1.
    high : int
        The largest number.

    Examples
    --------
    >>> UniformClients(low=1, high=9).average
    5.0

    """

    law = "uniform"
    low: int = field(kw_only=True)
    high: int = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check.whole("low", self.low, most=MOST_PER_ROUND))
        object.__setattr__(self, "high", check.whole("high", self.high, most=MOST_PER_ROUND))
        if self.high < self.low:
            raise ParameterError(
                "high", self.high, f"is below low = {self.low}", "give high >= low"
            )

    def bounds(self) -> regret_bounds.Arrivals:
        average = 0.5 * (self.low + self.high)
        return regret_bounds.Arrivals(smallest=self.low, average=average, largest=float(self.high))

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(UNIFORM, float(self.low), float(self.high))

    def chances(self, most: int) -> FloatArray:
        numbers = np.arange(most)
        return np.where(
            (self.low <= numbers) & (numbers <= self.high), 1.0 / (self.high - self.low + 1.0), 0.0
        )


@dataclass(frozen=True)
class ListedClients(Clients):
    """A count for each round, known beforehand; regret then sums the actual counts."""

    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.counts) == 0:
            raise ParameterError("clients", [], "is an empty list", "give one count for each round")
        whole = [
            check.whole(f"clients in round {t}", count, most=MOST_PER_ROUND)
            for t, count in enumerate(self.counts, 1)
        ]
        object.__setattr__(self, "counts", tuple(whole))

    def bounds(self) -> regret_bounds.Arrivals:
        return regret_bounds.Arrivals(
            smallest=min(self.counts),
            average=sum(self.counts) / len(self.counts),
            largest=float(max(self.counts)),
        )

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(LISTED, 0.0, 0.0)

    def to_plain(self) -> Any:
        return list(self.counts)

    def chances(self, most: int) -> FloatArray:
        return np.bincount([count for count in self.counts if count < most], minlength=most) / len(
            self.counts
        )

    def seen(self, most: int) -> FloatArray:
        return np.isin(np.arange(most), self.listed).astype(np.float64)

    @property
    def listed(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(np.array(self.counts, dtype=np.int64))])


# The laws that scenario files name.
LAWS: dict[str, type[Clients]] = {kind.law: kind for kind in (OnePlusPoisson, UniformClients)}
