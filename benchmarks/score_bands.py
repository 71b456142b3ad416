"""Measure what sharing brings in backtests of scored loans, and what a sample would.

.venv/bin/python benchmarks/score_bands.py

Portfolios of loans with a score, cut into ten bands; 24 rounds, and a loan pays if more
than 80 % are repaid.  Profits, at the true means, are shares of what the bands that pay
would have earned.  The figures stand in docs/score-bands.md.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import profitable as pb
from profitable.replay.backtest import prepare
from profitable.replay.baselines import from_best_cutoff
from profitable.replay.family_choice import choose_family
from profitable.replay.replay import replay

BANDS, ROUNDS, THRESHOLD = 10, 24, 0.8
POLICIES = ("kl-ucb", "kl-ucb:trust=0", "optimal:horizon", "optimal:horizon,trust=0")
LEARN, SAMPLE = "learn 20%, then cut", "cut by a sample"
COLUMNS: dict[str, Any] = {
    "category": "band",
    "order": "rising",
    "time": "week",
    "reward": "repaid",
    "cost": 4.0,
    "revenue": 5.0,
    "known": "known",
}
RISING = 1.0 / (1.0 + np.exp(-4.0 * np.linspace(-1.0, 1.0, BANDS)))
MEANS = {
    "rising": 0.55 + 0.43 * RISING,
    "none pays": 0.55 + 0.24 * RISING,
    "all pay": 0.84 + 0.14 * RISING,
    "a bad band among good ones": np.where(np.arange(BANDS) == 7, 0.6, 0.55 + 0.43 * RISING),
    "price follows the risk": np.full(BANDS, 0.83) - 0.06 * RISING,
}


def portfolio(seed: int, means: Any, size: int, *, late: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    band, week = rng.integers(0, BANDS, size), rng.integers(1, ROUNDS + 1, size)
    repaid = (rng.random(size) < means[band]).astype(int)
    # Losses are known within three rounds, gains after eight to twelve.
    delay = np.where(repaid == 1, rng.integers(8, 13, size), rng.integers(1, 4, size))
    return pd.DataFrame(
        {"band": band, "week": week, "repaid": repaid, "known": week + (delay if late else 0)}
    )


class Shares:
    """Profits of some entries in some portfolios, as shares of what was possible."""

    def __init__(self, means: Any) -> None:
        self.worth = 5.0 * means - 4.0  # what a client of each band earns
        self.found: dict[str, list[float]] = {}

    def add(self, frame: pd.DataFrame, earned: dict[str, float]) -> None:
        number = np.bincount(frame.band, minlength=BANDS)
        possible = float((np.maximum(self.worth, 0.0) * number).sum()) or len(frame) / BANDS
        for name, profit in earned.items():
            self.found.setdefault(name, []).append(100.0 * profit / possible)

    def line(self, name: str) -> str:
        cells = [
            f"{np.mean(values):.0f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.0f}"
            if (values := self.found.get(key))
            else "-"
            for key in (*POLICIES, LEARN, SAMPLE)
        ]
        return f"| {name} | {' | '.join(cells)} |"


def known_at_once(means: Any, size: int, portfolios: int) -> Shares:
    """Replay policies; and cut by the outcomes of another portfolio as large."""
    found = Shares(means)
    for seed in range(portfolios):
        frame = portfolio(seed, means, size)
        replayed = pb.backtest(
            frame, **COLUMNS, policies=POLICIES, replays=0, shuffles=0, progress=False
        )
        counts = replayed.past.clients.counts
        earned = {LEARN: replayed[LEARN].profit}
        for name in POLICIES:
            accepted = np.asarray(replayed[name].accepted)
            earned[name] = float((counts * accepted * found.worth).sum())
        sample = portfolio(10_000 + seed, means, size)
        profits = (5.0 * sample.repaid - 4.0).groupby(sample.band).sum().to_numpy()
        chosen = from_best_cutoff(np.arange(BANDS))(profits)
        earned[SAMPLE] = float((counts * chosen * found.worth).sum())
        found.add(frame, earned)
    return found


def known_late(means: Any, size: int, portfolios: int) -> Shares:
    """Losses are known first; here bands share all the same."""
    found = Shares(means)
    for seed in range(portfolios):
        frame = portfolio(seed, means, size, late=True)
        past, _ = prepare(frame, COLUMNS)
        alone = choose_family(past).categories
        together = [replace(category, order="band") for category in alone]
        earned: dict[str, float] = {}
        for name in POLICIES:
            categories = alone if "trust=0" in name else together
            played = replay(past.clients, categories, pb.Policy.of(name), seed=1)
            earned[name] = float((past.clients.counts * played.accepted * found.worth).sum())
        found.add(frame, earned)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--portfolios", type=int, default=100)
    number = parser.parse_args().portfolios
    print(f"| portfolio | {' | '.join((*POLICIES, LEARN, SAMPLE))} |")
    for size, times in ((600, number), (3_000, number), (30_000, number // 2)):
        found = known_at_once(MEANS["rising"], size, times)
        print(found.line(f"rising, {size} clients"), flush=True)
    for name in list(MEANS)[1:]:
        print(known_at_once(MEANS[name], 3_000, number).line(f"{name}, 3000"), flush=True)
    for name in ("rising", "all pay"):
        print(known_late(MEANS[name], 3_000, number).line(f"{name}, late, 3000"), flush=True)


if __name__ == "__main__":
    main()
