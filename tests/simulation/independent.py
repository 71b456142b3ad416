"""The policies by their indices, in plain NumPy and SciPy, as the paper writes them;
nothing of the package is used.

Each function returns the index of every run after N clients with sum S at time t; a
category is accepted for round t + 1 when its index is at least the threshold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import special

Array = np.ndarray


def xlogy(x: Array, ratio: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0.0, x * np.log(ratio), 0.0)


def d_bernoulli(x: Array, y: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return xlogy(x, x / y) + xlogy(1.0 - x, (1.0 - x) / (1.0 - y))


def d_poisson(x: Array, y: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return y - x + xlogy(x, x / y)


def d_exponential(x: Array, y: Array) -> Array:
    return x / y - 1.0 - np.log(x / y)


def sup_below(value: Callable[[Array], Array], low: Array, high: Array, limit: Array) -> Array:
    """sup{q in [low, high]: value(q) <= limit}, value increasing: forty bisections, to
    1e-8 of the widest interval.
    """
    low, high = low.copy(), high.copy()
    for _ in range(40):
        middle = 0.5 * (low + high)
        inside = value(middle) <= limit
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


@dataclass
class Data:
    """Observations of one category: N, S, the sum of squares, and the frequency of each
    value [runs, V].
    """

    runs: int
    values: int
    N: Array = field(init=False)
    S: Array = field(init=False)
    Q: Array = field(init=False)
    counts: Array = field(init=False)

    def __post_init__(self) -> None:
        self.N, self.S, self.Q = (np.zeros(self.runs) for _ in range(3))
        self.counts = np.zeros((self.runs, self.values))


Divergence = Callable[[Array, Array], Array]
Index = Callable[[Data, float, np.random.Generator], Array]


def kl_ucb(
    d: Divergence, high: float, *, plus: bool = False, scale: float = 1.0, c: float = 0.0
) -> Index:
    def index(data: Data, t: float, rng: np.random.Generator) -> Array:
        mean = data.S / data.N / scale
        explore = np.log(t / data.N) if plus else np.full(data.runs, np.log(t))
        limit = np.maximum(explore + c * np.log(max(1.0, np.log(t))), 0.0) / data.N
        return scale * sup_below(lambda q: d(mean, q), mean, np.maximum(mean, high), limit)

    return index


def kl_gaussian(scale: float) -> Index:
    return lambda data, t, rng: data.S / data.N + scale * np.sqrt(np.log(t) / (2.0 * data.N))


def ucb_v(scale: float) -> Index:
    def index(data: Data, t: float, rng: np.random.Generator) -> Array:
        mean = data.S / data.N
        variance = np.maximum(data.Q / data.N - mean**2, 0.0)
        return (
            mean + np.sqrt(2.0 * variance * np.log(t) / data.N) + 3.0 * scale * np.log(t) / data.N
        )

    return index


def bayes_bernoulli(data: Data, t: float, rng: np.random.Generator) -> Array:
    return special.betainccinv(data.S + 0.5, data.N - data.S + 0.5, 1.0 / t)


def bayes_poisson(data: Data, t: float, rng: np.random.Generator) -> Array:
    return special.gammainccinv(data.S + 0.5, 1.0 / t) / data.N


def bayes_exponential(data: Data, t: float, rng: np.random.Generator) -> Array:
    with np.errstate(divide="ignore"):
        return data.S / special.gammaincinv(data.N, 1.0 / t) if t > 1 else np.zeros(data.runs)


def bayes_gaussian(data: Data, t: float, rng: np.random.Generator) -> Array:
    return data.S / data.N - special.ndtri(1.0 / t) / np.sqrt(data.N)  # sigma = 1


def thompson_bernoulli(data: Data, t: float, rng: np.random.Generator) -> Array:
    return rng.beta(data.S + 0.5, data.N - data.S + 0.5)


def thompson_poisson(data: Data, t: float, rng: np.random.Generator) -> Array:
    return rng.gamma(data.S + 0.5) / data.N


def thompson_exponential(data: Data, t: float, rng: np.random.Generator) -> Array:
    return data.S / rng.gamma(data.N)


def thompson_gaussian(data: Data, t: float, rng: np.random.Generator) -> Array:
    return rng.normal(data.S / data.N, 1.0 / np.sqrt(data.N))


def kl_emp(high: float) -> Index:
    """sup{q: N K_inf(empirical law, q) <= log t}, K_inf by its dual on a fine grid of
    multipliers that closes in.
    """

    def index(data: Data, t: float, rng: np.random.Generator) -> Array:
        seen = int(np.flatnonzero(data.counts.any(axis=0))[-1]) + 1
        values, counts = np.minimum(np.arange(seen), high), data.counts[:, :seen]
        mean = data.S / data.N

        def information(q: Array) -> Array:
            low, top = np.zeros(data.runs), 1.0 / np.maximum(high - q, 1e-300)
            # Golden sections of a concave function: the multiplier to 4e-6, its value
            # to 1e-11.
            for _ in range(26):
                left, right = top - 0.618034 * (top - low), low + 0.618034 * (top - low)
                worse = dual(left, q) < dual(right, q)
                low, top = np.where(worse, left, low), np.where(worse, top, right)
            return dual(0.5 * (low + top), q)

        def dual(multiplier: Array, q: Array) -> Array:
            inner = 1.0 - multiplier[:, None] * (values - q[:, None])
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(counts > 0.0, counts * np.log(np.maximum(inner, 0.0)), 0.0).sum(
                    axis=1
                )

        low, top = mean.copy(), np.full(data.runs, high)
        for _ in range(24):  # to 1e-6
            middle = 0.5 * (low + top)
            inside = information(middle) <= np.log(t)
            low, top = np.where(inside, middle, low), np.where(inside, top, middle)
        return low

    return index


Draw = Callable[[np.random.Generator, float, int], Array]


def mean_regret(
    index: Index,
    draw: Draw,
    means: list[float],
    thresholds: list[float],
    rates: list[float],
    *,
    horizon: int,
    runs: int,
    seed: int,
    bound: float = np.inf,
    values: int = 1,
) -> tuple[float, float]:
    """Play Algorithm 1 in all runs at once; return mean regret and standard error."""
    rng = np.random.default_rng(seed)
    regret = np.zeros(runs)
    for mean, threshold, rate in zip(means, thresholds, rates, strict=True):
        data = Data(runs, values)
        accepted = np.zeros(runs)
        for t in range(horizon):
            accepts = (
                np.ones(runs, dtype=bool) if t == 0 else index(data, float(t), rng) >= threshold
            )
            clients = 1 + rng.poisson(rate, runs)
            # Of each accepted client.
            run = np.repeat(np.arange(runs), np.where(accepts, clients, 0))
            rewards = np.minimum(draw(rng, mean, run.size), bound)
            data.N += np.bincount(run, minlength=runs)
            data.S += np.bincount(run, rewards, minlength=runs)
            data.Q += np.bincount(run, rewards**2, minlength=runs)
            if values > 1:
                np.add.at(data.counts, (run, rewards.astype(int)), 1.0)
            accepted += accepts
        lost = accepted if mean < threshold else horizon - accepted
        regret += abs(mean - threshold) * (1.0 + rate) * lost
    return float(regret.mean()), float(regret.std(ddof=1) / np.sqrt(runs))
