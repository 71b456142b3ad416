"""Compare the family that a backtest suggests with others, in simulated portfolios.

It makes the table in docs/backtest.md.

    .venv/bin/python benchmarks/default_family.py [portfolios]

kl-UCB on 24 rounds of six categories.  The table has the mean difference to accepting
everybody, with its standard error, outcomes known at once and late: losses within three
rounds, gains after four to twelve.  Not part of `make bench`: it measures no time.
"""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

import profitable as pb
from profitable.common.text_tables import text_table
from profitable.replay.family_choice import near_bounds

ROUNDS = 24
Draw = Callable[[np.random.Generator, int, float], Any]


def spend(rng: np.random.Generator, size: int, share: float) -> Any:
    return np.where(
        rng.random(size) < share, np.clip(rng.lognormal(4.5, 0.75, size), 29.0, 499.0), 0.0
    )


def back(rng: np.random.Generator, size: int, lost: float) -> Any:
    return np.where(
        rng.random(size) < lost, rng.uniform(0.65, 0.8, size), rng.uniform(1.02, 1.1, size)
    )


GAPS = (0.3, 0.15, 0.05, -0.05, -0.15, -0.3)
# what it is, how rewards are drawn, a parameter for each category, threshold, clients
# of a category in a round
WORLDS: tuple[tuple[str, Draw, Sequence[float], float, int], ...] = (
    ("spend, 99 % zeros, all pay", spend, (0.014, 0.013, 0.012, 0.011, 0.01, 0.009), 0.7, 100),
    ("spend, 99 % zeros, half pay", spend, (0.013, 0.011, 0.0095, 0.0075, 0.006, 0.004), 1.0, 100),
    ("returns of 0.65 to 1.1", back, (0.02, 0.06, 0.1, 0.25, 0.3, 0.4), 1.0, 30),
    ("normal", lambda rng, size, mean: rng.normal(mean, 1.0, size), GAPS, 0.0, 30),
    (
        "normal, all pay",
        lambda rng, size, mean: rng.normal(mean, 1.0, size),
        (0.3, 0.2, 0.15, 0.1, 0.06, 0.03),
        0.0,
        30,
    ),
    (
        "heavy tails on both sides",
        lambda rng, size, mean: mean + 0.6 * rng.standard_t(3, size),
        GAPS,
        0.0,
        30,
    ),
    ("counts", lambda rng, size, mean: rng.poisson(2.0 + mean, size), GAPS, 2.0, 30),
    ("0 and 1", lambda rng, size, mean: (rng.random(size) < 0.5 + mean).astype(int), GAPS, 0.5, 30),
)


def portfolio(world: tuple[str, Draw, Sequence[float], float, int], seed: int) -> pd.DataFrame:
    rng, size = np.random.default_rng(seed), ROUNDS * world[4]
    parts: list[pd.DataFrame] = []
    for k, each in enumerate(world[2]):
        rewards = world[1](rng, size, each)
        delay = np.where(
            rewards < rewards.mean(), rng.integers(0, 4, size), rng.integers(4, 13, size)
        )
        asked = rng.integers(1, ROUNDS + 1, size)
        parts.append(
            pd.DataFrame(
                {"week": asked, "known": asked + delay, "group": f"g{k}", "x": rewards, "lent": 1.0}
            )
        )
    return pd.concat(parts, ignore_index=True)


def replayed(
    table: pd.DataFrame, world: tuple[Any, ...], late: bool, family: str | None
) -> tuple[float, float, str]:
    """Return the gains of kl-UCB and of hindsight, and the family."""
    money: dict[str, Any] = {"amount": "lent"} if world[1] is back else {"cost": world[3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pb.backtest(
            table, category="group", time="week", reward="x", **money,
            **({"known": "known"} if late else {}),
            policies="kl-ucb", family=family, replays=0, shuffles=0, progress=False,
        )  # fmt: skip
    return (
        found["kl-ucb"].difference.middle,
        found["hindsight"].difference.middle,
        found.terms.family.name,
    )


def shown(values: list[float]) -> str:
    return f"{np.mean(values):.0f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.0f}"


def main() -> None:
    number = int(sys.argv[1]) if sys.argv[1:] else 20
    rows: list[list[str]] = []
    for world in WORLDS:
        for late in (False, True):
            gains: dict[str, list[float]] = {
                key: [] for key in ("suggested", "normal", "bounded", "hindsight")
            }
            name = ""
            for seed in range(number):
                table = portfolio(world, seed)
                low, high = near_bounds(float(table.x.min()), float(table.x.max()), world[3])
                families = {
                    "suggested": None,
                    "normal": "normal",
                    "bounded": f"bounded:low={low},high={high}",
                }
                for key, family in families.items():
                    gain, best, used = replayed(table, world, late, family)
                    gains[key].append(gain)
                    if family is None:
                        name = used
                        gains["hindsight"].append(best)
            rows.append(
                [
                    world[0],
                    "late" if late else "at once",
                    f"`{name}`",
                    *(shown(each) for each in gains.values()),
                ]
            )
    print(
        text_table(
            ("rewards", "outcomes", "suggested", "it gains", "normal", "near bounds", "hindsight"),
            rows,
        )
    )


if __name__ == "__main__":
    main()
