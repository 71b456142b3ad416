"""The states of a one-armed bandit: what may have been seen of a category after t rounds (`theory/one_armed.py`).

A state is a number of rounds and the sum of the rewards so far.  For Bernoulli and Poisson rewards all sums are whole
numbers.  For Exponential and Gaussian rewards they are points of a grid.

Sums so far from the threshold that P(mu >= tau) or P(mu < tau) is about e^-`NATS` are left out.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError
from profitable.kernels.special import beta_evidence, gamma_evidence
from profitable.model.category import Category
from profitable.model.families import Bernoulli, Exponential, Family, Gaussian, Poisson

NATS = 25.0
POINTS = 8.0  # of the grid, at least, per standard deviation of an increment
MOST_EXPECTED = 200.0  # e^-x of a Poisson sum must not underflow, even far above the threshold
NODES = 3  # of the quadrature over an increment, in each of its panels, which are about as long as a step of the grid

Expect = Callable[[FloatArray], FloatArray]


class States(ABC):
    """What may have been seen after t rounds: the sums with the numbers first[t] to last[t].

    `clients` [T + 1] counts imaginary clients, too.  A number i of round t is the number i * stride[t] of round t + 1.
    """

    whole: bool  # whether sums are counts, else points of a grid
    first: IntArray
    last: IntArray
    stride: IntArray

    def __init__(self, category: Category, clients: int, rounds: int) -> None:
        prior, self.threshold, self.least = category.prior, category.threshold, category.family.support.low
        self.prior_clients, self.prior_total = (0.0, 0.0) if prior is None else prior.imaginary_clients(category.family)
        self.batch = clients
        self.clients = self.prior_clients + clients * np.arange(rounds + 1.0)
        self.stride = np.ones(rounds + 1, dtype=np.int64)

    def _keep(self, low: FloatArray, high: FloatArray) -> None:
        """Set the numbers to keep; the start is number 0, and a state of its own."""
        self.first, self.last = np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)
        self.first[0] = self.last[0] = 0

    @abstractmethod
    def total(self, t: IntArray, number: FloatArray) -> FloatArray:
        """The sum of the real clients' rewards."""

    @abstractmethod
    def mean(self, t: int, number: FloatArray) -> FloatArray:
        """The mean given the data."""

    @abstractmethod
    def look_ahead(self, t: int) -> tuple[int, int, Expect]:
        """The least and the most by which a number changes in a round, and how to take expectations.

        The function gets the values of the numbers first + least to last + most in the next round.  It returns the
        expected value for each of the numbers first to last.
        """

    @abstractmethod
    def shortfall(self) -> float:
        """E(tau - mu)+ under the prior."""


class Counts(States):
    """Sums of whole-number rewards; their numbers are the sums themselves."""

    whole = True

    def _band(self, variance: float) -> tuple[FloatArray, FloatArray]:
        """Bernstein: beyond these sums, N d(S/N, tau) > NATS."""
        middle = self.threshold * self.clients - self.prior_total
        width = np.sqrt(2.0 * NATS * variance * self.clients) + NATS
        return np.maximum(middle - width, 0.0), np.maximum(middle + width, 0.0)

    def total(self, t: IntArray, number: FloatArray) -> FloatArray:
        return number


class Successes(Counts):
    """Bernoulli rewards: a beta prior."""

    def __init__(self, category: Category, clients: int, rounds: int) -> None:
        super().__init__(category, clients, rounds)
        low, high = self._band(self.threshold * (1.0 - self.threshold))
        most = clients * np.arange(rounds + 1.0)
        self._keep(np.minimum(low, most), np.minimum(high, most))

    def mean(self, t: int, number: FloatArray) -> FloatArray:
        return (number + (self.prior_total + 0.5)) / (self.clients[t] + 1.0)

    def look_ahead(self, t: int) -> tuple[int, int, Expect]:
        successes = np.arange(float(self.first[t]), float(self.last[t] + self.batch)) + (self.prior_total + 0.5)

        def expect(values: FloatArray) -> FloatArray:
            for more in reversed(range(self.batch)):  # one client after the other
                chance = successes[: values.size - 1] / (self.clients[t] + 1.0 + more)
                values = values[:-1] + chance * np.diff(values)
            return values

        return 0, self.batch, expect

    def shortfall(self) -> float:
        tau, a, b = self.threshold, self.prior_total + 0.5, self.prior_clients - self.prior_total + 0.5

        def below(a: float) -> float:
            return -math.expm1(-beta_evidence(a, b, tau, 1.0 - tau, a - (a + b) * tau))

        return tau * below(a) - a / (a + b) * below(a + 1.0)


class Numbers(Counts):
    """Poisson rewards: a gamma prior, so that a round's sum is negative binomial."""

    def __init__(self, category: Category, clients: int, rounds: int) -> None:
        super().__init__(category, clients, rounds)
        if clients * self.threshold > MOST_EXPECTED:
            problem = f"bring more than {MOST_EXPECTED:g} on average at the threshold"
            raise InputError("clients", clients, problem, "give fewer, or a lower threshold")
        self._keep(*self._band(self.threshold))

    def mean(self, t: int, number: FloatArray) -> FloatArray:
        return (number + (self.prior_total + 0.5)) / self.clients[t]

    def look_ahead(self, t: int) -> tuple[int, int, Expect]:
        size, share = int(self.last[t] - self.first[t]) + 1, self.batch / (self.clients[t] + self.batch)
        shape = np.arange(size) + (self.first[t] + self.prior_total + 0.5)
        largest, scale = self.batch * shape[-1] / self.clients[t], 1.0 / (1.0 - share)
        most = largest + math.sqrt(2.0 * NATS * largest * scale) + NATS * scale
        most = int(min(most, self.last[t + 1] - self.first[t]))  # above the last one W is 0

        def expect(values: FloatArray) -> FloatArray:
            chance = np.exp(shape * math.log1p(-share))
            expected = chance * values[:size]
            for more in range(1, most + 1):
                chance *= (shape + (more - 1.0)) * (share / more)
                expected += chance * values[more : more + size]
            return expected

        return 0, most, expect

    def shortfall(self) -> float:
        shape, x = self.prior_total + 0.5, self.prior_clients * self.threshold

        def below(a: float) -> float:
            return -math.expm1(-gamma_evidence(a, x, x - a, True))

        return self.threshold * below(shape) - shape / self.prior_clients * below(shape + 1.0)


class Grid(States):
    """Sums on a grid, seen through a variable whose increments do not depend on it; its step halves now and then.

    A number i is the variable `start` + i * step[t].
    """

    whole = False
    start: float
    step: FloatArray

    def _lay(self, low: FloatArray, high: FloatArray, deviation: FloatArray) -> None:
        power = np.floor(np.log2(deviation / POINTS)).astype(np.int64)
        self.step = np.exp2(power)
        self.stride[:-1] = 2 ** (power[:-1] - power[1:])
        self._keep((low - self.start) / self.step, (high - self.start) / self.step)

    def variable(self, t: int | IntArray, number: FloatArray) -> FloatArray:
        """The variable."""
        return self.start + number * self.step[t]

    @abstractmethod
    def increments(self, t: int) -> tuple[FloatArray, FloatArray]:
        """Increments and their weights: points of a quadrature."""

    def look_ahead(self, t: int) -> tuple[int, int, Expect]:
        points, chances = self.increments(t)
        cell, u = np.divmod(points / self.step[t], 1.0)
        least = int(cell.min()) - 1
        place = cell.astype(np.int64) - least
        cubics = (
            -u * (u - 1.0) * (u - 2.0) / 6.0,
            (u + 1.0) * (u - 1.0) * (u - 2.0) / 2.0,
            -(u + 1.0) * u * (u - 2.0) / 2.0,
            (u + 1.0) * u * (u - 1.0) / 6.0,
        )
        weights = np.zeros(int(place.max()) + 3)
        for shift, cubic in enumerate(cubics):
            weights += np.bincount(place + (shift - 1), chances * cubic, weights.size)
        weights /= chances.sum()

        def expect(values: FloatArray) -> FloatArray:
            return np.asarray(np.correlate(values, weights, mode="valid"), dtype=np.float64)

        return least, least + weights.size - 1, expect


def _panels(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Points and weights of Gauss and Legendre's rule, if standard deviations have length 1."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    panels = math.ceil((high - low) * 2.0 * POINTS)
    size = (high - low) / panels
    points = low + size * (np.arange(panels)[:, None] + 0.5 + 0.5 * nodes)
    return points.ravel(), np.tile(0.5 * size * weights, panels)


class Amounts(Grid):
    """Gaussian rewards: a normal prior.  The variable is the mean given the data."""

    def __init__(self, category: Category, clients: int, rounds: int) -> None:
        super().__init__(category, clients, rounds)
        self.sigma = category.family.view().law.size
        self.start = self.prior_total / self.prior_clients
        self.deviation = self.sigma * np.sqrt(clients / (self.clients * (self.clients + clients)))
        width = math.sqrt(2.0 * NATS) * self.sigma / np.sqrt(self.clients)
        self._lay(self.threshold - width, self.threshold + width, self.deviation)
        points, weights = _panels(-math.sqrt(2.0 * NATS), math.sqrt(2.0 * NATS))
        self.normal = points, weights * np.exp(-0.5 * points**2)

    def total(self, t: IntArray, number: FloatArray) -> FloatArray:
        return self.variable(t, number) * self.clients[t] - self.prior_total

    def mean(self, t: int, number: FloatArray) -> FloatArray:
        return self.variable(t, number)

    def increments(self, t: int) -> tuple[FloatArray, FloatArray]:
        return self.deviation[t] * self.normal[0], self.normal[1]

    def shortfall(self) -> float:
        deviation = self.sigma / math.sqrt(self.prior_clients)
        z = (self.threshold - self.start) / deviation
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        return deviation * (density + 0.5 * z * math.erfc(-z / math.sqrt(2.0)))


class Times(Grid):
    """Exponential rewards: an inverse-gamma prior.  The variable is log(S/(N tau))."""

    def __init__(self, category: Category, clients: int, rounds: int) -> None:
        super().__init__(category, clients, rounds)
        self.start = math.log(self.prior_total / (self.prior_clients * self.threshold))
        ratio = NATS / self.clients
        self._lay(-np.sqrt(2.0 * ratio) - ratio, np.sqrt(2.0 * ratio), 1.0 / (self.clients + clients))
        self.scaled = _panels(0.0, clients + math.sqrt(2.0 * NATS * clients) + NATS)

    def total(self, t: IntArray, number: FloatArray) -> FloatArray:
        return self.threshold * np.exp(self.variable(t, number)) * self.clients[t] - self.prior_total

    def mean(self, t: int, number: FloatArray) -> FloatArray:
        seen = self.clients[t]
        return self.threshold * np.exp(self.variable(t, number)) * (seen / (seen - 1.0) if seen > 1.0 else math.inf)

    def increments(self, t: int) -> tuple[FloatArray, FloatArray]:
        points, weights = self.scaled
        seen = self.clients[t]
        rise = points / seen  # of log S, which is -log of a Beta(N, c) variable
        chance = weights * np.exp(-points) * (-np.expm1(-rise)) ** (self.batch - 1)
        return rise - math.log1p(self.batch / seen), chance

    def shortfall(self) -> float:
        # The integral of P(mu < x) over x = tau e^-v.
        points, weights = _panels(0.0, 40.0)
        least = self.prior_total / self.threshold

        def below(v: float) -> float:
            x = least * math.exp(v)
            return math.exp(-gamma_evidence(self.prior_clients, x, x - self.prior_clients, True))

        return self.threshold * float(weights @ np.array([math.exp(-v) * below(v) for v in points]))


STATES: dict[type[Family], type[States]] = {
    Bernoulli: Successes,
    Poisson: Numbers,
    Exponential: Times,
    Gaussian: Amounts,
}
