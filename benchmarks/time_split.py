"""Measure how often the interval of a time split covers its expected gain.

.venv/bin/python benchmarks/time_split.py [portfolios] [replicates] [first,words] [seed]

The truth is the mean gain of 2 000 new portfolios of the same law.  Clients bring
normal profits of mean `means` and standard deviation 0.6, plus a shock of the round.
Skewed ones are loans of 1 with interest .15, of which some lose between a fifth and
all.  Each portfolio has random blocks of its own.  The figures stand in
docs/stop-list.md.
"""

import math
import sys
import time
from dataclasses import dataclass

import numpy as np

from profitable.advice.time_split import DATES, Grouping, TimeSplit, time_splits
from profitable.common.types import FloatArray
from profitable.past.past import SingleClients

TRUTHS = 2_000
HEADER = """
| law | gain | its sd | sd claimed | covered | too high | doubted | given | time |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
SPREAD = 0.6
INTEREST = 0.15


@dataclass(frozen=True)
class Law:
    """A law of portfolios."""

    name: str
    means: FloatArray  # [K]
    rounds: int = 60
    clients: float | tuple[float, ...] = 5.0  # mean number in a round, of each category
    shock: float = 0.0  # standard deviation, the same for all clients of a round
    kept: float = 0.0  # correlation of the shocks of neighbouring rounds
    delay: int = 0  # rounds until all outcomes are known; losses are known at once
    drift: float = 0.0  # what is added to the first half of the means, and taken at last
    dates: int = DATES
    skewed: bool = False  # loans, most of which bring little, and some lose much

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
        profit = means.ravel()[cell] + self.luck(rng, means.ravel()[cell])
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

    def luck(self, rng: np.random.Generator, means: FloatArray) -> FloatArray:
        """Return what clients bring beyond their mean, [n]."""
        if not self.skewed:
            return SPREAD * rng.standard_normal(means.size)
        lost = rng.uniform(0.2, 1.0, means.size)
        risk = (INTEREST - means) / (INTEREST + 0.6)
        return np.where(rng.random(means.size) < risk, -lost, INTEREST) - means


def law(name: str, *means: tuple[float, int], **more: float) -> Law:
    """Return a law from means and how many categories have each."""
    return Law(name, np.repeat(*zip(*means, strict=True)), **more)  # type: ignore[arg-type]


EIGHT = ((0.2, 2), (-0.15, 3), (0.05, 1), (-0.3, 2))
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
    # Not used for tuning.
    law("eight unequal", *EIGHT, clients=(20.0, 1.0, 8.0, 3.0, 12.0, 2.0, 5.0, 0.5)),
    law("loans", (0.05, 12), (-0.05, 4), (-0.1, 4), clients=15.0, skewed=True),
    law("two categories", (0.1, 1), (-0.15, 1), rounds=40),
    law("3 dates, 36 rounds", *HALF, rounds=36, dates=3),
    law("late shocks", *HALF, rounds=48, delay=6, shock=0.2),
    law("most lose", (0.1, 4), (-0.2, 16), rounds=48),
    law("shocks that last a little", *HALF, shock=0.3, kept=0.3),
    law("shocks that last long", *HALF, rounds=120, shock=0.3, kept=0.8),
)


def split(law: Law, rng: np.random.Generator, replicates: int, seed: int = 1) -> TimeSplit:
    """Return the time split of a new portfolio."""
    return time_splits([law.draw(rng)], dates=law.dates, replicates=replicates, seed=seed)[0]


def measure(law: Law, portfolios: int, replicates: int, seed: int, truths: int = TRUTHS) -> str:
    """Return a row of the table."""
    rng = np.random.default_rng([seed, 1])
    gains = np.array([split(law, rng, 0).gain for _ in range(truths)])
    rng, started, truth = np.random.default_rng([seed, 2]), time.process_time(), float(gains.mean())
    found = [split(law, rng, replicates, each) for each in range(portfolios)]
    seconds = (time.process_time() - started) / portfolios
    given = [each for each in found if each.low is not None and each.high is not None]
    edges = [(each.low or 0.0, each.high or 0.0) for each in given]
    what = f"| {law.name} | {truth:.1f} | {gains.std():.1f} |"
    share = f"{len(given) / len(found):.0%} | {seconds:.2f} s |"
    if not given:
        return f"{what} | | | | {share}"
    inside = np.array([low <= truth <= high for low, high in edges])
    widths = np.array([high - low for low, high in edges])
    above = float(np.mean([low > truth for low, _ in edges]))
    doubted = float(np.mean([each.doubt is not None for each in given]))
    covered = float(inside.mean())
    error = math.sqrt(max(covered * (1.0 - covered), 1.0 / inside.size) / inside.size)
    covers = f"{covered:.1%} ± {error:.1%} | {above:.1%} | {doubted:.0%}"
    return f"{what} {widths.mean() / 3.92:.1f} | {covers} | {share}"


def main() -> None:
    portfolios = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    replicates = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    beginnings = tuple(sys.argv[3].split(",")) if len(sys.argv) > 3 else ("",)
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    print(HEADER)
    for each in LAWS:
        if each.name.startswith(beginnings):
            print(measure(each, portfolios, replicates, seed), flush=True)


if __name__ == "__main__":
    main()
