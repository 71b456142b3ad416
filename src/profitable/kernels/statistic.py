"""Statistics: the number that a policy adds up for each reward.

| statistic  | of a reward x         | families and policies                           |
| ---------- | --------------------- | ----------------------------------------------- |
| `Identity` | x                     | most                                            |
| `Cut`      | x, cut into low..high | policies for bounded rewards                    |
| `LogRatio` | log(x / scale)        | Pareto: exponential, mean 1 - scale/mean        |
| `Power`    | x ** shape            | Weibull: exponential, mean (mean/Gamma)^shape   |

A statistic is one class here and one branch in each of the two kernels `statistic_of`
and `reward_of`.  The class says how means and columns of an engine translate, the
kernels how single rewards do.  A statistic has to grow with the reward.  A code that a
kernel does not know gives NaN.

>>> pareto = LogRatio(2.0)
>>> pareto.of_mean(5.0), pareto.mean_of(0.6)  # 1 - 2/5, and back
(0.6, 5.0)
>>> statistic_of(pareto.coded, 4.0) == math.log(2.0)
True
>>> reward_of(pareto.coded, math.log(2.0))
4.0
"""

import contextlib
import math
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.compile import kernel, part
from profitable.kernels.law import SMALLEST_POSITIVE, Law, log_survival

IDENTITY, CUT, LOG_RATIO, POWER = 0, 1, 2, 3
# Clients; from here on, Stirling's series gives a ratio of gamma functions to 12
# digits.
STIRLING_FROM = 20.0
KINDS: list[type["Statistic"]] = []  # filled by the classes themselves


class CodedStatistic(NamedTuple):
    """A statistic as the kernels read it."""

    code: int = IDENTITY
    first: float = 0.0
    second: float = 0.0


@part
def statistic_of(statistic: CodedStatistic, reward: float) -> float:
    """Return the number that the policy adds up for this reward."""
    if statistic.code == IDENTITY:
        return reward
    if statistic.code == CUT:
        return min(max(reward, statistic.first), statistic.second)
    if statistic.code == LOG_RATIO:
        return math.log1p((reward - statistic.first) / statistic.first)
    if statistic.code == POWER:
        return max(reward**statistic.first, SMALLEST_POSITIVE)
    return math.nan


@part
def reward_of(statistic: CodedStatistic, value: float) -> float:
    """Return the reward that has this statistic; a cut reward is its own."""
    if statistic.code in (IDENTITY, CUT):
        return value
    if statistic.code == LOG_RATIO:
        return statistic.first * math.exp(value)
    if statistic.code == POWER:
        return value ** (1.0 / statistic.first)
    return math.nan


@kernel
def _rewards_of(statistic: CodedStatistic, values: FloatArray, out: FloatArray) -> None:
    for i in range(values.size):
        out[i] = reward_of(statistic, values[i])


@kernel
def _statistics_of(statistic: CodedStatistic, rewards: FloatArray, out: FloatArray) -> None:
    for i in range(rewards.size):
        out[i] = statistic_of(statistic, rewards[i])


@kernel
def survivals(
    law: Law, statistic: CodedStatistic, mean: float, rewards: FloatArray, out: FloatArray
) -> None:
    """Fill `out` [M] with P(X > x) for each reward x of a continuous law.

    `mean` is the mean of the statistic.
    """
    for i in range(rewards.size):
        out[i] = math.exp(log_survival(law, mean, statistic_of(statistic, rewards[i])))


@dataclass(frozen=True)
class Statistic(ABC):
    """A statistic, and the map between the mean of the rewards and its own mean.

    The fields are the numbers of its code.
    """

    code: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        others = {each.code: each for each in KINDS if each.__qualname__ != cls.__qualname__}
        if cls.code in others:
            taken = f"{cls.__name__} has the code {cls.code} of {others[cls.code].__name__}"
            raise TypeError(f"{taken}; the next free one is {max(others) + 1}")
        KINDS.append(cls)

    @property
    def coded(self) -> CodedStatistic:
        """As the kernels read it."""
        return CodedStatistic(self.code, *(float(number) for number in astuple(self)))

    @property
    def is_reward(self) -> bool:
        """Whether it is the reward itself, so that totals of rewards serve."""
        return False

    @abstractmethod
    def range(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval of the statistic, if rewards lie between low and high."""

    @abstractmethod
    def of_mean(self, mean: float) -> float:
        """Return the mean of the statistic for a mean reward, used for thresholds."""

    @abstractmethod
    def mean_of(self, value: float) -> float:
        """Return the mean reward for a mean of the statistic, used for indices."""

    def of_column(self, rewards: Any) -> Any:
        """Return the statistics of a column of legal rewards, as a narwhals expression.

        None if it does not say: then such rewards cannot be added up in an engine.
        """
        del rewards

    def posterior_means(self, clients: FloatArray, totals: FloatArray) -> FloatArray | None:
        """Return the expected means of the rewards after so many clients, [M].

        `totals` are the sums of their statistics.

        Where the variance of the posterior is infinite, it is the plain mean.  None: it
        is so everywhere.
        """
        del clients, totals

    def of_means(self, means: FloatArray) -> FloatArray:
        """Return `of_mean` of each of several means, [M]."""
        return np.array([self.of_mean(mean) for mean in means.tolist()])

    def means_of(self, values: FloatArray) -> FloatArray:
        """Return `mean_of` of each of several values, [M]."""
        return np.array([self.mean_of(value) for value in values.tolist()])

    def difference(self, x: float, y: float) -> float:
        """Return of_mean(x) - of_mean(y), more exactly where the two are close."""
        return self.of_mean(x) - self.of_mean(y)

    def of_rewards(self, rewards: FloatArray) -> FloatArray:
        """Return the statistics of these rewards, [M]."""
        out = np.empty(rewards.size)
        _statistics_of(self.coded, rewards, out)
        return out

    def rewards_of(self, values: FloatArray) -> FloatArray:
        """Return the rewards that have these statistics, [M]."""
        out = np.empty(values.size)
        _rewards_of(self.coded, values, out)
        return out


@dataclass(frozen=True)
class Identity(Statistic):
    """The reward itself."""

    code = IDENTITY

    @property
    def is_reward(self) -> bool:
        return True

    def range(self, low: float, high: float) -> tuple[float, float]:
        return low, high

    def of_mean(self, mean: float) -> float:
        return float(mean)

    def mean_of(self, value: float) -> float:
        return value

    def of_column(self, rewards: Any) -> Any:
        return rewards

    def of_means(self, means: FloatArray) -> FloatArray:
        return means

    def means_of(self, values: FloatArray) -> FloatArray:
        return values


@dataclass(frozen=True)
class Cut(Identity):
    """The reward, cut into [low, high]."""

    low: float
    high: float
    code = CUT

    def range(self, low: float, high: float) -> tuple[float, float]:
        return self.low, self.high

    def of_column(self, rewards: Any) -> Any:
        return rewards.clip(self.low, self.high)

    @property
    def is_reward(self) -> bool:
        return False


@dataclass(frozen=True)
class LogRatio(Statistic):
    """log(x / scale) of Pareto rewards: E log(X/scale) = 1 - scale/mean."""

    scale: float
    code = LOG_RATIO

    def range(self, low: float, high: float) -> tuple[float, float]:
        return 0.0, math.inf

    def of_mean(self, mean: float) -> float:
        return 1.0 if mean == math.inf else (mean - self.scale) / mean

    def mean_of(self, value: float) -> float:
        return math.inf if value >= 1.0 else self.scale / (1.0 - value)

    def of_column(self, rewards: Any) -> Any:
        return (rewards / self.scale).log()

    def difference(self, x: float, y: float) -> float:
        return self.scale * (x - y) / (x * y)


@dataclass(frozen=True)
class Power(Statistic):
    """x ** shape of Weibull rewards: E X^shape = (mean / Gamma(1 + 1/shape))^shape."""

    shape: float
    code = POWER

    def range(self, low: float, high: float) -> tuple[float, float]:
        return 0.0, math.inf

    def of_mean(self, mean: float) -> float:
        with contextlib.suppress(OverflowError):
            return (mean / math.gamma(1.0 + 1.0 / self.shape)) ** self.shape
        return math.inf

    def mean_of(self, value: float) -> float:
        return (
            math.inf
            if value == math.inf
            else value ** (1.0 / self.shape) * math.gamma(1.0 + 1.0 / self.shape)
        )

    def of_column(self, rewards: Any) -> Any:
        return rewards**self.shape

    def posterior_means(self, clients: FloatArray, totals: FloatArray) -> FloatArray:
        # The posterior of its mean is an inverse gamma law, and this is a moment of it.
        root = 1.0 / self.shape
        ratios = np.array(
            [_log_gamma_ratio(each, root) for each in np.maximum(clients, 2.0 * root).tolist()]
        )
        with np.errstate(over="ignore"):
            means = math.gamma(1.0 + root) * np.exp(root * np.log(totals) + ratios)
        return np.where(clients > 2.0 * root, means, self.means_of(totals / clients))

    def difference(self, x: float, y: float) -> float:
        exponent = self.shape * (math.log1p((x - y) / y) if x < 2.0 * y else math.log(x / y))
        return self.of_mean(y) * math.expm1(exponent)


def _log_gamma_ratio(x: float, lag: float) -> float:
    """Return log(Gamma(x - lag) / Gamma(x)) for 0 < lag < x, without cancellation.

    The two logarithms may be equal to 15 digits.
    """
    rest = x - lag
    if rest < STIRLING_FROM:
        return math.lgamma(rest) - math.lgamma(x)
    stirling = sum(
        factor * (rest**-power - x**-power)
        for factor, power in ((1 / 12, 1), (-1 / 360, 3), (1 / 1260, 5))
    )
    return (x - 0.5) * math.log1p(-lag / x) + lag - lag * math.log(rest) + stirling
