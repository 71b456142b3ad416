"""Compare Normal with Bounded for rewards between two limits.

    .venv/bin/python benchmarks/normal_or_bounded.py

Six worlds, one client a round, kl-UCB, T = 2 000, 1 000 runs.  Regret is in units of
reward.  A run is lost if a profitable category is rejected in more than half of all
rounds.  The table stands in docs/how-to.md.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from profitable.common.text_tables import text_table

Array = npt.NDArray[np.float64]
T, RUNS = 2_000, 1_000


def steady(mean: float) -> Callable[[np.random.Generator, int], Array]:
    """Around the mean, standard deviation 0.1, between 0 and 1.75."""
    return lambda rng, size: np.clip(rng.normal(mean, 0.1, size), 0.0, 1.75)


def rare(
    usual: float, seldom: float, share: float, width: float = 0.05
) -> Callable[[np.random.Generator, int], Array]:
    """Return a generator of `usual` plus noise; with probability `share`, `seldom`."""
    return lambda rng, size: np.where(
        rng.random(size) < share, seldom, usual + width * (rng.random(size) - 0.5)
    )


WORLDS = (
    # what it is, how rewards are drawn, their mean, threshold, largest reward
    ("steady repayments, mean 0.97", steady(0.97), 0.97, 1.0, 1.75),
    ("steady repayments, mean 1.03", steady(1.03), 1.03, 1.0, 1.75),
    ("rare losses: 1.1, and 0 for 15 %", rare(1.1, 0.0, 0.15), 0.935, 1.0, 1.75),
    ("rare losses: 1.1, and 0 for 3 %", rare(1.1, 0.0, 0.03), 1.067, 1.0, 1.75),
    ("rare gains: 0.1, and 10 for 5 %", rare(0.1, 10.0, 0.05), 0.595, 0.5, 10.0),
    ("the same, exactly 0.1", rare(0.1, 10.0, 0.05, width=0.0), 0.595, 0.5, 10.0),
)


def normal(number: Array, total: Array, squares: Array, threshold: float, high: float) -> Array:
    mean = total / number
    variance = np.maximum(squares / number - mean**2, 1e-300)
    nats = 0.5 * (number - 2.0) * np.log1p((threshold - mean) ** 2 / variance)
    # While all rewards are equal, but for rounding, there is no evidence.
    differ = variance > 1e-13 * mean**2
    return np.where((number >= 3.0) & (mean < threshold) & differ, nats, 0.0)


def bounded(number: Array, total: Array, squares: Array, threshold: float, high: float) -> Array:
    p, q = np.clip(total / number / high, 1e-15, 1.0 - 1e-15), threshold / high
    return np.where(
        p < q, number * (p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))), 0.0
    )


def play(
    evidence: Callable[..., Array], world: tuple[str, Callable[..., Array], float, float, float]
) -> tuple[str, str]:
    """Regret with its standard error, and the share of lost runs."""
    _, draw, mean, threshold, high = world
    rng = np.random.default_rng(1)
    number, total, squares = np.zeros(RUNS), np.zeros(RUNS), np.zeros(RUNS)
    for t in range(T):
        limit = math.inf if t == 0 else math.log(t)
        accepts = (
            np.ones(RUNS, dtype=bool)
            if t == 0
            else evidence(number, total, squares, threshold, high) <= limit
        )
        rewards = np.where(accepts, draw(rng, RUNS), 0.0)
        number += accepts
        total += rewards
        squares += rewards**2
    wrong = T - number if mean > threshold else number
    regret = abs(mean - threshold) * wrong
    lost = f"{np.mean(wrong > T / 2):.1%}" if mean > threshold else "-"
    return f"{regret.mean():.2f} ± {regret.std() / math.sqrt(RUNS):.2f}", lost


def main() -> None:
    rows = [
        [world[0], f"{world[3]:g}", *play(bounded, world), *play(normal, world)] for world in WORLDS
    ]
    print(text_table(("rewards", "threshold", "Bounded", "lost", "Normal", "lost "), rows))


if __name__ == "__main__":
    main()
