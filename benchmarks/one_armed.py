"""The exact optimum for one category: accept its c clients each round, or stop.

Categories do not compete.  So the best that anyone can do with one of them, on average
over its prior, is the solution of a stopping problem: a *one-armed bandit*.  Two
rounds, one Bernoulli client each, threshold 0.6, Jeffreys' prior. Accepting the first
client costs 0.6 - 0.5.  With probability 1/2 he repays, the mean becomes 3/4, and the
second client brings 0.15.  Otherwise it is best to stop.  So the value of the optimum
is -0.1 + 0.15/2 < 0: stop at once.  At threshold 0.55 it is -0.05 + 0.2/2 = 0.05:

>>> optimum = one_armed(Category("students", Bernoulli(), threshold=0.55), horizon=2)
>>> round(optimum.value, 12), optimum.boundary.tolist()
(0.05, [0.0, 1.0])

How it is computed.  Let m be the mean given the data, and R the rounds that remain (or
what they count, if discounted). Accepting to the end is worth c R (m - tau) on average.
What the right to stop adds to this is W, and

    W = max( c R (tau - m),  E[W in the next round] ),    W = 0 after the last round,

because m is a martingale.  W is computed backwards, round by round, over all sums S of
the rewards: exactly for counts, on a grid for Exponential and Gaussian rewards.  The
optimum's Bayes regret is c R E(tau - mu)+ - W at the start.

A state is a number of rounds and the sum of the rewards so far.  For Bernoulli and
Poisson rewards all sums are whole numbers.  For Exponential and Gaussian rewards they
are points of a grid.

Errors.  Sums so far from tau that P(mu >= tau) or P(mu < tau) is about e^-`NATS` are
left out.  Above them W is taken for 0, which adds at most c R tau e^-`NATS` to the
regret; below them every rule stops.  Poisson sums and the increments on a grid are cut
where e^-`NATS` remains.  The grid has at least `POINTS` points per standard deviation
of an increment, and interpolates by cubics.  Twice as many points change the regret by
less than 1e-4 of itself.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from profitable.common import check
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.kernels.special import beta_evidence, gamma_evidence
from profitable.model.category import Category
from profitable.model.families import Bernoulli, Exponential, Family, Gaussian, Poisson

LAST_WORTH = 1e-15  # a discounted problem ends when what remains is this share of it
LONGEST = 10**7  # rounds
FINE = 2.0**20  # boundaries on a grid are found to this part of its step

NATS = 25.0
POINTS = 8.0  # of the grid, at least, per standard deviation of an increment
MOST_EXPECTED = 200.0  # e^-x of a Poisson sum must not underflow, even far above the threshold
# Of the quadrature over an increment, in each of its panels, which are about as long as
# a step of the grid.
NODES = 3

Expect = Callable[[FloatArray], FloatArray]


class States(ABC):
    """The possible states after t rounds: sums with the numbers first[t] to last[t].

    `clients` [T + 1] counts imaginary clients, too.  A number i of round t is the
    number i * stride[t] of round t + 1.
    """

    whole: bool  # whether sums are counts, else points of a grid
    first: IntArray
    last: IntArray
    stride: IntArray

    def __init__(self, category: Category, clients: int, rounds: int) -> None:
        prior, self.threshold, self.least = (
            category.prior,
            category.threshold,
            category.family.support.low,
        )
        self.prior_clients, self.prior_total = (
            (0.0, 0.0) if prior is None else prior.imaginary_clients(category.family)
        )
        self.batch = clients
        self.clients = self.prior_clients + clients * np.arange(rounds + 1.0)
        self.stride = np.ones(rounds + 1, dtype=np.int64)

    def _keep(self, low: FloatArray, high: FloatArray) -> None:
        """Set the numbers to keep; the start is number 0, and a state of its own."""
        self.first, self.last = np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)
        self.first[0] = self.last[0] = 0

    @abstractmethod
    def total(self, t: IntArray, number: FloatArray) -> FloatArray:
        """Return the sum of the real clients' rewards."""

    @abstractmethod
    def mean(self, t: int, number: FloatArray) -> FloatArray:
        """Return the mean given the data."""

    @abstractmethod
    def look_ahead(self, t: int) -> tuple[int, int, Expect]:
        """Return the smallest and the largest change of a number, and the expectation.

        The changes are those of one round.  The expectation is a function that gets
        the values of the numbers first + least to last + most in the next round.  It
        returns the expected value for each of the numbers first to last.
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
        successes = np.arange(float(self.first[t]), float(self.last[t] + self.batch)) + (
            self.prior_total + 0.5
        )

        def expect(values: FloatArray) -> FloatArray:
            for more in reversed(range(self.batch)):  # one client after the other
                chance = successes[: values.size - 1] / (self.clients[t] + 1.0 + more)
                values = values[:-1] + chance * np.diff(values)
            return values

        return 0, self.batch, expect

    def shortfall(self) -> float:
        tau, a, b = (
            self.threshold,
            self.prior_total + 0.5,
            self.prior_clients - self.prior_total + 0.5,
        )

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
        size, share = (
            int(self.last[t] - self.first[t]) + 1,
            self.batch / (self.clients[t] + self.batch),
        )
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
    """Sums on a grid of a variable whose increments do not depend on it.

    The step of the grid halves now and then.

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
        """Return the variable."""
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
    """Return points and weights of the Gauss-Legendre rule, in standard deviations."""
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
        self._lay(
            -np.sqrt(2.0 * ratio) - ratio, np.sqrt(2.0 * ratio), 1.0 / (self.clients + clients)
        )
        self.scaled = _panels(0.0, clients + math.sqrt(2.0 * NATS * clients) + NATS)

    def total(self, t: IntArray, number: FloatArray) -> FloatArray:
        return (
            self.threshold * np.exp(self.variable(t, number)) * self.clients[t] - self.prior_total
        )

    def mean(self, t: int, number: FloatArray) -> FloatArray:
        seen = self.clients[t]
        return (
            self.threshold
            * np.exp(self.variable(t, number))
            * (seen / (seen - 1.0) if seen > 1.0 else math.inf)
        )

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


# (rounds passed t, clients so far, sum of their rewards) -> whether the next round is
# accepted; arrays of one shape
Accepts = Callable[[IntArray, FloatArray, FloatArray], BoolArray]


@dataclass(frozen=True, eq=False)
class OneArmed:
    """The solution of one category's stopping problem; `one_armed` makes it.

    - `value`: what the optimum earns on average, discounted if there is a discount.
    - `regret`: the Bayes regret of the optimum: what it earns less than one who knows
      mu.
    - `boundary` [T]: after t rounds it accepts if the sum of the rewards so far is at
      least this.
    """

    states: States
    remaining: FloatArray  # [T + 1]: the rounds that remain, discounted
    value: float
    regret: float
    boundary: FloatArray

    def regret_of(self, accepts: Accepts) -> float:
        """Return the Bayes regret of another rule that stops for good.

        All rounds and sums are computed at once.
        `accepts(t, clients, total)` gets arrays of one shape, without imaginary
        clients.  It must accept every sum above one that it accepts.  Example: accept
        while the mean so far is at least the threshold less 0.2.

        >>> students = Category("students", Bernoulli(), threshold=0.5)
        >>> optimum = one_armed(students, horizon=100)
        >>> loss = optimum.regret_of(lambda t, clients, total: total >= 0.3 * clients)
        >>> round(optimum.regret, 3), round(loss, 3)
        (1.041, 2.292)
        """
        return _backwards(self.states, self.remaining, self._lowest(accepts))[0]

    def _lowest(self, accepts: Accepts) -> FloatArray:
        """Return the lowest accepted number of each round, [T], by bisection."""
        states, t = self.states, np.arange(self.remaining.size - 1)
        fine = 1.0 if states.whole else FINE
        real = states.batch * t.astype(np.float64)
        first, last = states.first[:-1].astype(np.float64), states.last[:-1].astype(np.float64)
        low, high = (first - 1.0) * fine, (last + 1.0) * fine
        while np.any(high - low > 1.0):
            middle = np.floor(0.5 * (low + high))
            yes = np.asarray(accepts(t, real, states.total(t, middle / fine)), dtype=np.bool_)
            low, high = np.where(yes, low, middle), np.where(yes, middle, high)
        found = high / fine
        possible = states.total(t, first - 1.0) >= np.where(t > 0, states.least, 0.0) * real
        edge = (found <= first) & possible & (t > 0)
        if np.any(edge):
            problem = (
                f"accepts after {int(t[edge][0])} rounds although P(mu >= tau) is below e^-{NATS:g}"
            )
            raise InputError("accepts", accepts, problem, "give a rule that stops")
        return found


def one_armed(
    category: Category,
    *,
    horizon: int | None = None,
    discount: float | None = None,
    clients: int = 1,
) -> OneArmed:
    """Return the optimum for a category with `clients` clients in each round.

    Rounds count up to a horizon, or with a discount per round.  The prior is that of
    the category.  Jeffreys' is proper for Bernoulli rewards only; for others give for
    example `Prior.like(clients=1, mean=2.0)`: Jeffreys' after the first client.

    >>> from profitable import Poisson, Prior
    >>> prior = Prior.like(clients=1, mean=2.0)
    >>> shops = Category("shops", Poisson(), threshold=2.0, prior=prior)
    >>> round(one_armed(shops, discount=0.99, clients=5).regret, 3)
    5.374
    """
    family = category.family
    if type(family) not in STATES:
        remedy = f"choose from {', '.join(each.__name__ for each in STATES)}"
        raise InputError("family", str(family), "has no exact optimum here", remedy)
    if not family.mean_domain[0] < category.threshold < family.mean_domain[1]:
        raise InputError(
            "threshold", category.threshold, "is an edge of the means", "give one between the edges"
        )
    if (horizon is None) == (discount is None):
        raise InputError("horizon", horizon, "or discount is needed", "give one of the two")
    if category.prior is None and not isinstance(family, Bernoulli):
        remedy = "give the category a prior, such as Prior.like(clients=1, mean=2.0)"
        raise InputError(
            "prior", None, f"of {family} rewards would be Jeffreys', which is improper", remedy
        )
    if discount is None:
        rounds = check.whole("horizon", horizon, most=LONGEST)
        remaining = np.arange(rounds, -1.0, -1.0)
    else:
        if not 0.0 < check.positive("discount", discount) < 1.0:
            raise InputError(
                "discount", discount, "is not between 0 and 1", "give for example 0.99"
            )
        rounds = math.ceil(math.log(LAST_WORTH) / math.log(discount))
        powers = discount ** np.arange(rounds + 1.0)
        remaining = (powers - powers[-1]) / (1.0 - discount)
    states = STATES[type(family)](category, check.whole("clients", clients), rounds)
    regret, lowest = _backwards(states, remaining, None)
    start = float(states.mean(0, np.zeros(1))[0])
    worth = clients * remaining[0] * (start - category.threshold + states.shortfall())
    return OneArmed(
        states, remaining, float(worth - regret), regret, states.total(np.arange(rounds), lowest)
    )


def _backwards(
    states: States, remaining: FloatArray, boundary: FloatArray | None
) -> tuple[float, FloatArray]:
    """Return the Bayes regret and the lowest accepted number of each round.

    They are those of the optimum, or of a given boundary.
    """
    rounds = remaining.size - 1
    lowest = np.zeros(rounds + 1)
    worth = states.batch * remaining

    def stop(t: int, number: FloatArray) -> FloatArray:
        """W if the category is stopped after t rounds."""
        return worth[t] * (states.threshold - states.mean(t, number))

    following = np.zeros(states.last[rounds] - states.first[rounds] + 1)
    gain = np.zeros(following.size)  # of continuing rather than stopping
    for t in reversed(range(rounds)):
        first, last, stride = int(states.first[t]), int(states.last[t]), int(states.stride[t])
        least, most, expect = states.look_ahead(t)
        low, high = int(states.first[t + 1]), int(states.last[t + 1])
        # What is needed of the next round: below what was kept one stops, above it W is
        # 0.
        start, end = first + least, last + most + 1
        inside = slice(
            min(max(-(-low // stride), start), end) - start,
            max(min(high // stride + 1, end), start) - start,
        )
        kept = slice(
            (start + inside.start) * stride - low,
            max((start + inside.stop - 1) * stride - low + 1, 0),
            stride,
        )
        values = np.zeros(end - start)
        values[: inside.start] = stop(
            t + 1, np.arange(float(start), start + inside.start) * float(stride)
        )
        values[inside] = following[kept]
        place = lowest[t + 1] / stride - start
        if not states.whole and inside.start < place < inside.stop - 1:
            _between(values[inside], gain[kept], place - inside.start)
        number = np.arange(float(first), last + 1.0)
        stopped, going = stop(t, number), expect(values)
        gain = going - stopped
        lowest[t] = first + _crossing(gain, whole=states.whole) if boundary is None else boundary[t]
        following = np.where(number >= lowest[t], going, stopped)
    return float(worth[0]) * states.shortfall() - float(following[0]), lowest[:-1]


def _crossing(gain: FloatArray, *, whole: bool) -> float:
    """Return the position in the array where a rising gain becomes 0 or more.

    It is between two positions unless `whole`.
    """
    place = int(np.argmax(gain >= 0.0)) if gain[-1] >= 0.0 else gain.size
    if whole or place in (0, gain.size):
        return float(place)
    return place - gain[place] / (gain[place] - gain[place - 1])


def _between(values: FloatArray, gain: FloatArray, place: float) -> None:
    """Correct the two points around a boundary, so that sums are integrals.

    Euler and Maclaurin: from a boundary at the distance f (in steps) before a point,
    the sum of jump + slope x falls short of the integral by jump B1(f) + slope B2(f)/2,
    with Bernoulli's polynomials.
    """
    above = math.ceil(place)
    f = above - place
    slope = gain[above] - gain[above - 1]
    jump = gain[above] - slope * f
    missing = jump * (f - 0.5) + slope * (f * f - f + 1.0 / 6.0) / 2.0
    values[above - 1] += missing * f
    values[above] += missing * (1.0 - f)
