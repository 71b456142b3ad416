"""The exact optimum for one category: accept its c clients in each round, or stop for good.

Categories do not compete.  So the best that anyone can do with one of them, on average over its prior, is the solution
of a stopping problem: a *one-armed bandit*.  Two rounds, one Bernoulli client each, threshold 0.6, Jeffreys' prior.
Accepting the first client costs 0.6 - 0.5.  With probability 1/2 he repays, the mean becomes 3/4, and the second client
brings 0.15.  Otherwise it is best to stop.  So the value of the optimum is -0.1 + 0.15/2 < 0: stop at once.  At
threshold 0.55 it is -0.05 + 0.2/2 = 0.05:

>>> optimum = one_armed(Category("students", Bernoulli(), threshold=0.55), horizon=2)
>>> round(optimum.value, 12), optimum.boundary.tolist()
(0.05, [0.0, 1.0])

How it is computed.  Let m be the mean given the data, and R the rounds that remain (or what they count, if discounted).
Accepting to the end is worth c R (m - tau) on average.  What the right to stop adds to this is W, and

    W = max( c R (tau - m),  E[W in the next round] ),    W = 0 after the last round,

because m is a martingale.  W is computed backwards, round by round, over all sums S of the rewards: exactly for counts,
on a grid for Exponential and Gaussian rewards.  The optimum's Bayes regret is c R E(tau - mu)+ - W at the start.

Errors.  Sums so far from tau that P(mu >= tau) or P(mu < tau) is about e^-`NATS` are left out.  Above them W is taken
for 0, which adds at most c R tau e^-`NATS` to the regret; below them every rule stops.  Poisson sums and the increments
on a grid are cut where e^-`NATS` remains.  The grid has at least `POINTS` points per standard deviation of an
increment, and interpolates by cubics.  Twice as many points change the regret by less than 1e-4 of itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from profitable.common import check
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.model.category import Category
from profitable.model.families import Bernoulli
from profitable.theory.states import NATS, STATES, States

LAST_WORTH = 1e-15  # a discounted problem ends when what remains is this share of it
LONGEST = 10**7  # rounds
FINE = 2.0**20  # boundaries on a grid are found to this part of its step

# (rounds passed t, clients so far, sum of their rewards) -> whether the next round is accepted; arrays of one shape
Accepts = Callable[[IntArray, FloatArray, FloatArray], BoolArray]


@dataclass(frozen=True, eq=False)
class OneArmed:
    """The solution of one category's stopping problem; `one_armed` makes it.

    - `value`: what the optimum earns on average, discounted if there is a discount.
    - `regret`: the Bayes regret of the optimum: what it earns less than one who knows mu.
    - `boundary` [T]: after t rounds it accepts if the sum of the rewards so far is at least this.
    """

    states: States
    remaining: FloatArray  # [T + 1]: the rounds that remain, discounted
    value: float
    regret: float
    boundary: FloatArray

    def regret_of(self, accepts: Accepts) -> float:
        """The Bayes regret of another rule that stops for good, from all rounds and sums at once.

        `accepts(t, clients, total)` gets arrays of one shape, without imaginary clients.  It must accept every sum
        above one that it accepts.  Example: accept while the mean so far is at least the threshold less 0.2.

        >>> optimum = one_armed(Category("students", Bernoulli(), threshold=0.5), horizon=100)
        >>> loss = optimum.regret_of(lambda t, clients, total: total >= 0.3 * clients)
        >>> round(optimum.regret, 3), round(loss, 3)
        (1.041, 2.292)
        """
        return _backwards(self.states, self.remaining, self._lowest(accepts))[0]

    def _lowest(self, accepts: Accepts) -> FloatArray:
        """The lowest accepted number of each round, [T], by halving in all rounds at once."""
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
            problem = f"accepts after {int(t[edge][0])} rounds although P(mu >= tau) is below e^-{NATS:g}"
            raise InputError("accepts", accepts, problem, "give a rule that stops")
        return found


def one_armed(
    category: Category, *, horizon: int | None = None, discount: float | None = None, clients: int = 1
) -> OneArmed:
    """The optimum for a category with `clients` clients in each round, up to a horizon or with a discount per round.

    The prior is that of the category.  Jeffreys' is proper for Bernoulli rewards only; for others give for example
    `Prior.like(clients=1, mean=2.0)`: Jeffreys' after the first client.

    >>> from profitable import Poisson, Prior
    >>> shops = Category("shops", Poisson(), threshold=2.0, prior=Prior.like(clients=1, mean=2.0))
    >>> round(one_armed(shops, discount=0.99, clients=5).regret, 3)
    5.374
    """
    family = category.family
    if type(family) not in STATES:
        remedy = f"choose from {', '.join(each.__name__ for each in STATES)}"
        raise InputError("family", str(family), "has no exact optimum here", remedy)
    if not family.mean_domain[0] < category.threshold < family.mean_domain[1]:
        raise InputError("threshold", category.threshold, "is an edge of the means", "give one between the edges")
    if (horizon is None) == (discount is None):
        raise InputError("horizon", horizon, "or discount is needed", "give one of the two")
    if category.prior is None and not isinstance(family, Bernoulli):
        remedy = "give the category a prior, such as Prior.like(clients=1, mean=2.0)"
        raise InputError("prior", None, f"of {family} rewards would be Jeffreys', which is improper", remedy)
    if discount is None:
        rounds = check.whole("horizon", horizon, most=LONGEST)
        remaining = np.arange(rounds, -1.0, -1.0)
    else:
        if not 0.0 < check.positive("discount", discount) < 1.0:
            raise InputError("discount", discount, "is not between 0 and 1", "give for example 0.99")
        rounds = math.ceil(math.log(LAST_WORTH) / math.log(discount))
        powers = discount ** np.arange(rounds + 1.0)
        remaining = (powers - powers[-1]) / (1.0 - discount)
    states = STATES[type(family)](category, check.whole("clients", clients), rounds)
    regret, lowest = _backwards(states, remaining, None)
    start = float(states.mean(0, np.zeros(1))[0])
    worth = clients * remaining[0] * (start - category.threshold + states.shortfall())
    return OneArmed(states, remaining, float(worth - regret), regret, states.total(np.arange(rounds), lowest))


def _backwards(states: States, remaining: FloatArray, boundary: FloatArray | None) -> tuple[float, FloatArray]:
    """The Bayes regret and the lowest accepted number of each round: of the optimum, or of a given boundary."""
    rounds = remaining.size - 1
    lowest = np.zeros(rounds + 1)
    worth = states.batch * remaining

    def stop(t: int, number: FloatArray) -> FloatArray:
        """W if the category is stopped after t rounds."""
        return worth[t] * (states.threshold - states.mean(t, number))

    following = np.zeros(states.last[rounds] - states.first[rounds] + 1)
    gain = np.zeros(following.size)  # of going on beside stopping
    for t in reversed(range(rounds)):
        first, last, stride = int(states.first[t]), int(states.last[t]), int(states.stride[t])
        least, most, expect = states.look_ahead(t)
        low, high = int(states.first[t + 1]), int(states.last[t + 1])
        # What is needed of the next round: below what was kept one stops, above it W is 0.
        start, end = first + least, last + most + 1
        inside = slice(
            min(max(-(-low // stride), start), end) - start, max(min(high // stride + 1, end), start) - start
        )
        kept = slice(
            (start + inside.start) * stride - low, max((start + inside.stop - 1) * stride - low + 1, 0), stride
        )
        values = np.zeros(end - start)
        values[: inside.start] = stop(t + 1, np.arange(float(start), start + inside.start) * float(stride))
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
    """Where a gain that rises becomes 0 or more: a place in the array, between two places unless `whole`."""
    place = int(np.argmax(gain >= 0.0)) if gain[-1] >= 0.0 else gain.size
    if whole or place in (0, gain.size):
        return float(place)
    return place - gain[place] / (gain[place] - gain[place - 1])


def _between(values: FloatArray, gain: FloatArray, place: float) -> None:
    """Correct the two points around a boundary between them, so that sums over the grid are integrals.

    Euler and Maclaurin: from a boundary at the distance f (in steps) before a point, the sum of jump + slope x falls
    short of the integral by jump B1(f) + slope B2(f)/2, with Bernoulli's polynomials.
    """
    above = math.ceil(place)
    f = above - place
    slope = gain[above] - gain[above - 1]
    jump = gain[above] - slope * f
    missing = jump * (f - 0.5) + slope * (f * f - f + 1.0 / 6.0) / 2.0
    values[above - 1] += missing * f
    values[above] += missing * (1.0 - f)
