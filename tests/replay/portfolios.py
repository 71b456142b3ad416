"""Simulated portfolios with a known law, and the bootstrap of a backtest on many of
them at once.

The categories of a replay do not know of each other (without a limit).  So all
replicates of a portfolio are replayed as one: each has its own copy of the categories.
That is ten times as fast as one replay after the other, and
`test_backtest_entry_coverage.py` checks that it is the same.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import profitable as pb
from profitable.common.types import FloatArray, IntArray
from profitable.past.past import SingleClients
from profitable.replay.backtest import WIDER
from profitable.replay.backtest_entry import POLICY, BacktestEntry, varying
from profitable.replay.replay import replay

Whole = npt.NDArray[np.integer]
SEEDS = 20
ROUNDS = 12


@dataclass(frozen=True)
class Portfolio:
    """Clients who bring 1 or 0, and cost as much as the threshold."""

    name: str
    means: FloatArray  # by round and category, [R, K]
    clients: float = 15.0  # the mean number of a category in a round
    threshold: float = 0.2

    def draw(self, rng: np.random.Generator) -> SingleClients:
        """A new portfolio of this law."""
        rounds, categories = self.means.shape
        number = rng.poisson(self.clients, rounds * categories)
        cell = np.repeat(np.arange(rounds * categories), number)
        rewards = (rng.random(cell.size) < self.means.ravel()[cell]).astype(np.float64)
        return self.clients_of(cell // categories + 1, cell % categories, rewards, categories)

    def clients_of(
        self, rounds: Whole, categories: Whole, rewards: FloatArray, number: int
    ) -> SingleClients:
        """Clients whose outcome is known in their round."""
        return SingleClients.of(
            names=[str(k) for k in range(number)],
            labels=[str(r + 1) for r in range(self.means.shape[0])],
            round=rounds,
            category=categories,
            known=rounds,
            reward=rewards,
            profit=rewards - self.threshold,
        )

    def terms(self, number: int) -> list[pb.Category]:
        """So many categories."""
        return [
            pb.Category(str(k), pb.Bernoulli(), threshold=self.threshold) for k in range(number)
        ]


def steady(
    name: str, means: list[float], clients: float = 15.0, threshold: float = 0.2
) -> Portfolio:
    """A portfolio whose means stay as they are."""
    return Portfolio(name, np.tile(means, (ROUNDS, 1)), clients, threshold)


CLEAR = steady("clear gaps", [0.5, 0.4, 0.05, 0.1], 40.0)
NEAR = steady("near the threshold", [0.23, 0.21, 0.19, 0.17])
DRIFT = Portfolio(
    "drift", np.repeat([[0.3, 0.1, 0.25, 0.15], [0.1, 0.3, 0.15, 0.25]], ROUNDS // 2, axis=0)
)
GOOD = steady("accepting everybody is right", [0.45, 0.35])
RARE = steady("rare rewards", [0.012, 0.008], 10.0, 0.02)
RAREST = steady("the rarest rewards", [0.02, 0.001], 10.0, 0.005)
HOPELESS = steady("rare rewards, far below the threshold", [0.004, 0.003], 10.0, 0.02)
MANY = steady("forty categories", 8 * [0.15, 0.14, 0.16, 0.1, 0.17], 10.0)


@dataclass(frozen=True)
class Differences:
    """By how much a policy beats accepting all."""

    by_round: FloatArray  # [M, R], of each copy of the clients
    refused: FloatArray  # who is refused, [M, R, K]


def differences(
    portfolio: Portfolio, clients: SingleClients, policy: pb.Policy, weights: IntArray, seed: int
) -> Differences:
    """Replay a policy over copies of the clients, in which they are there as often as
    weights [M, n] say.
    """
    copies, number = weights.shape[0], len(clients.names)
    copy, client = np.nonzero(weights)
    times = weights[copy, client]
    copy, client = np.repeat(copy, times), np.repeat(client, times)
    stacked = portfolio.clients_of(
        clients.round[client],
        copy * number + clients.category[client],
        clients.reward[client],
        copies * number,
    )
    refused = ~replay(stacked, portfolio.terms(copies * number), policy, seed=seed).accepted
    shape = (clients.rounds, copies, number)
    lost = np.where(refused, stacked.profit_by_cell, 0.0).reshape(shape).sum(axis=2)
    return Differences(-lost.T, refused.reshape(shape).swapaxes(0, 1).astype(np.float64))


def entry_of(
    portfolio: Portfolio,
    clients: SingleClients,
    policy: pb.Policy,
    replicates: int,
    rng: np.random.Generator,
    folds: int | None = None,
) -> BacktestEntry:
    """The entry of a policy, as a backtest makes it; with `folds`, as one of cells
    does.
    """
    seeds, each = (SEEDS, 2) if policy.draws else (1, 1)
    if folds is None:
        weights = rng.poisson(1.0, (replicates, len(clients)))
    else:
        weights = rng.multinomial(folds, np.full(folds, 1.0 / folds), replicates)[
            :, rng.integers(0, folds, len(clients))
        ]
    ones = np.ones((seeds, len(clients)), dtype=np.int64)
    every = np.concatenate([ones, np.repeat(weights, each, axis=0)])
    found = differences(portfolio, clients, policy, every, int(rng.integers(2**31)))
    middle = found.by_round[:seeds].mean(axis=0)[:, None]
    times = found.by_round[seeds:].reshape(replicates, each, -1)
    apart = np.ptp(times.sum(axis=2), axis=1)
    number = clients.by_cell()
    refused = (found.refused[:seeds].mean(axis=0) * number).sum(axis=0) / np.maximum(
        number.sum(axis=0), 1.0
    )
    return BacktestEntry(
        str(policy),
        POLICY,
        middle,
        np.zeros_like(middle),
        clients=float("nan"),
        seeds=seeds,
        resampled=times.mean(axis=1),
        seed_variance=float(np.square(apart).mean() / 2.0) if policy.draws else None,
        varying=varying(clients.standing_out(), refused),
        wider=1.0 if folds is None else WIDER,
    )


@dataclass(frozen=True)
class Coverage:
    """How often intervals covered the mean difference of all portfolios of a law."""

    truth: float
    below: float  # the share of portfolios whose interval is below the truth
    above: float
    spread: float  # the standard deviation of the difference over portfolios
    claimed: float  # the same, as the entries say: the root of the mean square
    doubtful: float  # the share with a warning
    covered_if_doubtful: float

    @property
    def covered(self) -> float:
        return 1.0 - self.below - self.above

    def __str__(self) -> str:
        return (
            f"covered {self.covered:.1%} (interval too low {self.below:.1%}, too high "
            f"{self.above:.1%}), truth {self.truth:.1f}, spread {self.spread:.1f}, "
            f"claimed {self.claimed:.1f}, warned {self.doubtful:.1%} "
            f"(of which {self.covered_if_doubtful:.1%} covered)"
        )


def entries_of(
    portfolio: Portfolio,
    policy: str,
    repetitions: int,
    replicates: int,
    seed: int,
    folds: int | None = None,
) -> list[BacktestEntry]:
    """The entries of a policy on new portfolios of a law."""
    rng = np.random.default_rng(seed)
    chosen = pb.Policy.of(policy)
    return [
        entry_of(portfolio, portfolio.draw(rng), chosen, replicates, rng, folds)
        for _ in range(repetitions)
    ]


def judge(entries: list[BacktestEntry]) -> Coverage:
    """How often the intervals of entries cover the mean of their differences."""
    found = [entry.difference for entry in entries]
    middle, low, high = (
        np.array([getattr(each, name) for each in found]) for name in ("middle", "low", "high")
    )
    truth = float(middle.mean())
    covered = (low <= truth) & (truth <= high)
    doubtful = np.array([entry.too_narrow is not None for entry in entries])
    return Coverage(
        truth,
        float((high < truth).mean()),
        float((low > truth).mean()),
        float(middle.std(ddof=1)),
        float(np.sqrt(np.mean([entry.spread**2 for entry in entries]))),
        float(doubtful.mean()),
        float(covered[doubtful].mean()) if doubtful.any() else float("nan"),
    )
