"""The exact mean regret of `optimal` with a horizon in a Bernoulli category, by adding
up all paths.

The evidence is SciPy's, and patience is the formula of docs/optimal.md: nothing here is
the package's own.
"""

import math

import numpy as np
from scipy import special, stats


def moments_of_stopping(
    mean: float,
    threshold: float,
    clients: int,
    *,
    told: float,
    horizon: int,
    risk: float = 1.0,
    rounds: int = 300,
) -> tuple[float, float]:
    """The mean and the mean square of the rejected rounds up to the horizon; `told` is
    what the policy takes for it.

    Nothing is added up after so many rounds: what is still accepted then is taken to
    stay so, and else to be lost.
    """
    alive, wrong, squared = np.ones(1), 0.0, 0.0  # [S]: P(accepted so far, with S successes)
    step = stats.binom.pmf(np.arange(clients + 1), clients, mean)
    for t in range(1, min(rounds, horizon)):
        alive = np.convolve(alive, step)
        known = clients * t
        s = 1.0 + clients * max(told - t, 0.0) / known
        log = math.log(s)
        patience = max(
            math.log(2.0),
            math.log(0.5 * (s + 3.0 + 2.0 * math.sqrt(log * (1.0 + log)))) - math.log(risk),
        )
        successes = np.arange(known + 1)
        # That it is profitable.
        chance = special.betainc(known - successes + 0.5, successes + 0.5, 1.0 - threshold)
        stops = chance < math.exp(-patience) * (1.0 - 1e-12)  # even odds are accepted
        lost = float(alive[stops].sum())
        wrong, squared = wrong + lost * (horizon - t), squared + lost * (horizon - t) ** 2
        alive[stops] = 0.0
    left = float(alive.sum())
    assert left < 1e-9 or mean > threshold, "it is not stopped yet: add up more rounds"
    return wrong, squared


def exact_regret(
    high: float, low: float, threshold: float, clients: int, *, told: float, horizon: int
) -> float:
    """The mean regret in two categories, one above the threshold and one below it."""
    rejected = [
        moments_of_stopping(mean, threshold, clients, told=told, horizon=horizon)[0]
        for mean in (high, low)
    ]
    return clients * (
        (high - threshold) * rejected[0] + (threshold - low) * (horizon - rejected[1])
    )
