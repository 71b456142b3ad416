"""How many clients of a category come in each round: C_a(t), at least one.

>>> OnePlusPoisson(rate=3).average, UniformClients(low=1, high=9).average
(4.0, 5.0)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from profitable.common import check
from profitable.common.types import FloatArray, IntArray
from profitable.errors import ParameterError
from profitable.kernels.arrivals import CONSTANT, LISTED, ONE_PLUS_POISSON, UNIFORM, ArrivalLaw
from profitable.theory import bounds

MOST_PER_ROUND = 10**9
EMPTY: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Clients(ABC):
    """A law of C_a(t), the same in every round, or a list of counts."""

    @property
    @abstractmethod
    def average(self) -> float:
        """E[C_a(t)]."""

    @property
    @abstractmethod
    def smallest(self) -> int:
        """The smallest number that can come in one round."""

    @property
    def largest(self) -> float:
        """The largest number that can come in one round."""
        return float("inf")

    @abstractmethod
    def coded(self) -> ArrivalLaw:
        """The law as the kernels read it."""

    @abstractmethod
    def chances(self, most: int) -> FloatArray:
        """The probabilities that 0, 1, ..., `most` - 1 clients come in a round."""

    def seen(self, most: int) -> FloatArray:
        """The probabilities that exactly 0, 1, ..., `most` - 1 clients have come after some round.

        >>> Clients.of(2).seen(5), Clients.of([1, 3]).seen(5)
        (array([1., 0., 1., 0., 1.]), array([1., 1., 0., 0., 1.]))
        """
        return _seen_of(self, most)

    @abstractmethod
    def to_plain(self) -> Any:
        """The value that stands for it in a scenario file."""

    @property
    def listed(self) -> IntArray:
        """For a list of counts, how many clients come in the first 0, 1, 2, ... rounds; empty for every other law."""
        return EMPTY

    def bounds(self) -> bounds.Arrivals:
        """What the theorems need: the smallest, average and largest number per round."""
        return bounds.Arrivals(smallest=self.smallest, average=self.average, largest=self.largest)

    @staticmethod
    def of(value: object) -> "Clients":
        """The law that a caller means by a number, a list of numbers, or a law."""
        if isinstance(value, Clients):
            return value
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
            return ListedClients(tuple(value))  # pyright: ignore[reportUnknownArgumentType]
        return ConstantClients(value)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _seen_of(clients: Clients, most: int) -> FloatArray:
    """`Clients.seen`, kept, because all policies of a simulation ask for the same."""
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

    @property
    def average(self) -> float:
        return float(self.number)

    @property
    def smallest(self) -> int:
        return self.number

    @property
    def largest(self) -> float:
        return float(self.number)

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(CONSTANT, float(self.number), 0.0)

    def to_plain(self) -> Any:
        return self.number

    def chances(self, most: int) -> FloatArray:
        return (np.arange(most) == self.number).astype(np.float64)


@dataclass(frozen=True)
class OnePlusPoisson(Clients):
    """C - 1 ~ Poisson(rate), as in the paper's experiments."""

    rate: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", check.not_negative("rate", self.rate))
        if self.rate > MOST_PER_ROUND:
            raise ParameterError("rate", self.rate, f"is more than {MOST_PER_ROUND}", "give fewer clients per round")

    @property
    def average(self) -> float:
        return 1.0 + self.rate

    @property
    def smallest(self) -> int:
        return 1

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(ONE_PLUS_POISSON, self.rate, 0.0)

    def to_plain(self) -> Any:
        return {"law": "one-plus-poisson", "rate": self.rate}

    def chances(self, most: int) -> FloatArray:
        if self.rate == 0.0:
            return Clients.of(1).chances(most)
        logarithms = [(n - 1) * math.log(self.rate) - self.rate - math.lgamma(n) for n in range(1, most)]
        return np.exp([-math.inf, *logarithms])


@dataclass(frozen=True)
class UniformClients(Clients):
    """Every whole number from low to high is as likely as any other."""

    low: int = field(kw_only=True)
    high: int = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check.whole("low", self.low, most=MOST_PER_ROUND))
        object.__setattr__(self, "high", check.whole("high", self.high, most=MOST_PER_ROUND))
        if self.high < self.low:
            raise ParameterError("high", self.high, f"is below low = {self.low}", "give high >= low")

    @property
    def average(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def smallest(self) -> int:
        return self.low

    @property
    def largest(self) -> float:
        return float(self.high)

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(UNIFORM, float(self.low), float(self.high))

    def to_plain(self) -> Any:
        return {"law": "uniform", "low": self.low, "high": self.high}

    def chances(self, most: int) -> FloatArray:
        numbers = np.arange(most)
        return np.where((self.low <= numbers) & (numbers <= self.high), 1.0 / (self.high - self.low + 1.0), 0.0)


@dataclass(frozen=True)
class ListedClients(Clients):
    """A count for each round, known beforehand; regret then sums the actual counts."""

    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.counts) == 0:
            raise ParameterError("clients", [], "is an empty list", "give one count for each round")
        whole = [
            check.whole(f"clients in round {t}", count, most=MOST_PER_ROUND) for t, count in enumerate(self.counts, 1)
        ]
        object.__setattr__(self, "counts", tuple(whole))

    @property
    def average(self) -> float:
        return sum(self.counts) / len(self.counts)

    @property
    def smallest(self) -> int:
        return min(self.counts)

    @property
    def largest(self) -> float:
        return float(max(self.counts))

    def coded(self) -> ArrivalLaw:
        return ArrivalLaw(LISTED, 0.0, 0.0)

    def to_plain(self) -> Any:
        return list(self.counts)

    def chances(self, most: int) -> FloatArray:
        return np.bincount([count for count in self.counts if count < most], minlength=most) / len(self.counts)

    def seen(self, most: int) -> FloatArray:
        return np.isin(np.arange(most), self.listed).astype(np.float64)

    @property
    def listed(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(np.array(self.counts, dtype=np.int64))])
