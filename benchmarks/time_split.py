"""Measure how often the interval of a time split covers its expected gain.

.venv/bin/python benchmarks/time_split.py [portfolios] [replicates] [first,letters]

The truth is the mean gain of 4 000 new portfolios of the same law.  Clients bring
normal profits of mean `means` and standard deviation 0.6, plus a shock of the round.
The figures stand in docs/backtest.md.
"""

import math
import sys
import time
from dataclasses import dataclass

import numpy as np

from profitable.advice.time_split import Grouping, TimeSplit, time_splits
from profitable.common.types import FloatArray
from profitable.past.past import SingleClients

TRUTHS = 4_000
HEADER = """
| law | gain | its sd | sd claimed | covered | too high | given | time |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
SPREAD = 0.6


@dataclass(frozen=True)
class Law:
    """A law of portfolios."""

    name: str
    means: FloatArray  # [K]
    rounds: int = 60
    clients: float = 5.0  # mean number of a category in a round
    shock: float = 0.0  # standard deviation, the same for all clients of a round
    kept: float = 0.0  # correlation of the shocks of neighbouring rounds
    delay: int = 0  # rounds until all outcomes are known; losses are known at once
    drift: float = 0.0  # what is added to the first half of the means, and taken at last

    def draw(self, rng: np.random.Generator) -> Grouping:
        """Return a new portfolio."""
        size = self.rounds, self.means.size
        number = rng.poisson(self.clients, size)
        shock = self.shock * rng.standard_normal(self.rounds)
        for place in range(1, self.rounds):
            shock[place] = (
                self.kept * shock[place - 1] + math.sqrt(1.0 - self.kept**2) * shock[place]
            )
        side = np.where(np.arange(size[1]) < size[1] // 2, self.drift, -self.drift)
        means = self.means + shock[:, np.newaxis] + np.outer(np.linspace(-1, 1, self.rounds), side)
        cell = np.repeat(np.arange(number.size), number.ravel())
        profit = means.ravel()[cell] + SPREAD * rng.standard_normal(cell.size)
        asked = cell // size[1] + 1
        clients = SingleClients.of(
            names=[str(k) for k in range(size[1])],
            labels=[str(each + 1) for each in range(self.rounds)],
            round=asked,
            category=cell % size[1],
            known=asked + self.delay * (profit > 0.0),
            reward=profit,
            profit=profit,
        )
        return Grouping(self.name, clients)


def law(name: str, *means: tuple[float, int], **more: float) -> Law:
    """Return a law from means and how many categories have each."""
    return Law(name, np.repeat(*zip(*means, strict=True)), **more)  # type: ignore[arg-type]


HALF = ((0.3, 10), (-0.1, 5), (-0.3, 5))
LAWS = (
    law("clear gaps", (0.5, 12), (-0.5, 8)),
    law("near the threshold", (0.1, 10), (-0.06, 5), (-0.1, 5)),
    law("all slightly below", (-0.08, 20)),
    law("hundred categories", (-0.06, 60), (-0.03, 20), (0.05, 20)),
    law("shocks of rounds", *HALF, shock=0.3),
    law("late outcomes", *HALF, delay=12),
    law("four categories", (0.2, 1), (0.1, 1), (-0.05, 1), (-0.2, 1)),
    law("24 rounds", *HALF, rounds=24),
    law("12 rounds", *HALF, rounds=12),
    law("all pay, hardly", (0.03, 20)),
    law("all pay", (0.2, 20)),
    law("none pays", (-0.3, 20)),
    law("shocks that last", *HALF, shock=0.3, kept=0.6),
    law("drift", *HALF, drift=0.3),
)


def split(portfolio: Grouping, replicates: int) -> TimeSplit:
    """Return the time split of a portfolio."""
    return time_splits([portfolio], replicates=replicates)[0]


def measure(law: Law, portfolios: int, replicates: int, truths: int = TRUTHS) -> str:
    """Return a row of the table."""
    rng = np.random.default_rng(1)
    gains = np.array([split(law.draw(rng), 0).gain for _ in range(truths)])
    rng, started, truth = np.random.default_rng(2), time.perf_counter(), float(gains.mean())
    found = [split(law.draw(rng), replicates) for _ in range(portfolios)]
    seconds = (time.perf_counter() - started) / portfolios
    given = [
        (each.low, each.high) for each in found if each.low is not None and each.high is not None
    ]
    what = f"| {law.name} | {truth:.1f} | {gains.std():.1f} |"
    share = f"{len(given) / len(found):.0%} | {seconds:.2f} s |"
    if not given:
        return f"{what} | | | {share}"
    inside = np.array([low <= truth <= high for low, high in given])
    widths = np.array([high - low for low, high in given])
    above = float(np.mean([low > truth for low, _ in given]))
    covered = float(inside.mean())
    error = math.sqrt(max(covered * (1.0 - covered), 1.0 / inside.size) / inside.size)
    covers = f"{covered:.1%} ± {error:.1%} | {above:.1%}"
    return f"{what} {widths.mean() / 3.92:.1f} | {covers} | {share}"


def main() -> None:
    portfolios = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    replicates = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    beginnings = tuple(sys.argv[3].split(",")) if len(sys.argv) > 3 else ("",)
    print(HEADER)
    for each in LAWS:
        if each.name.startswith(beginnings):
            print(measure(each, portfolios, replicates), flush=True)


if __name__ == "__main__":
    main()
