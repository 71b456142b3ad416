"""Made-up calls: clients of three groups, week by week."""

from typing import Any

import numpy as np
import pandas as pd

import profitable as pb
from profitable.replay.backtest_entry import POLICY, BacktestEntry
from profitable.replay.backtest_result import Backtest
from profitable.replay.baselines import ACCEPT_NONE, ALL

MEANS = {"a": 0.25, "b": 0.5, "c": 0.7}
CALLS: dict[str, Any] = {
    "category": "group",
    "time": "week",
    "reward": "sold",
    "cost": 2.0,
    "revenue": 5.0,
}
QUICK: dict[str, Any] = {"replays": 12, "seeds": 3, "shuffles": 2}
FEW = ["kl-ucb", "ts"]


def calls(seed: int = 1, weeks: int = 20, per_cell: int = 4, delay: int = 0) -> Any:
    """Clients with 0 or 1 sale, some weeks late, in any order within a week."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            week,
            group,
            int(rng.random() < mean),
            week + int(rng.integers(0, delay + 1)),
            float(rng.integers(1, 9)),
        )
        for week in range(1, weeks + 1)
        for group, mean in MEANS.items()
        for _ in range(per_cell)
    ]
    frame = pd.DataFrame(rows, columns=["week", "group", "sold", "paid", "amount"])
    frame["back"] = (
        frame["amount"] * (0.6 + 0.6 * frame["sold"] + 0.1 * rng.random(len(frame)))
    ).round(3)
    return frame


def by_round_and_group(frame: Any, values: Any) -> Any:
    table = frame.assign(value=values).pivot_table(
        index="week", columns="group", values="value", aggfunc="sum"
    )
    return table.reindex(index=range(1, frame["week"].max() + 1)).fillna(0.0).to_numpy()


def without_source(found: Backtest) -> dict[str, Any]:
    plain = found.to_dict()
    del plain["settings"]["data"]
    return plain


def entry(
    name: str = "it", middle: float = 0.0, values: Any = (), *, everybody: float = 0.0, **more: Any
) -> BacktestEntry:
    """An entry with this difference, and these differences in the replicates."""
    resampled = np.array(values, dtype=float).reshape(-1, 1) if len(values) else np.empty((0, 0))
    earned, other = np.array([[everybody + middle]]), np.array([[everybody]])
    return BacktestEntry(
        name, more.pop("kind", POLICY), earned, other, 3.0, resampled=resampled, **more
    )


def result_of(*entries: BacktestEntry) -> Backtest:
    """A result with these entries, beside accepting all and none."""
    found = pb.backtest(calls(weeks=4), **CALLS, policies="kl-ucb", replays=0, shuffles=0)
    everybody, size = float(entries[0].everybody.sum()), entries[0].resampled.shape[0]
    zeros, nobody = np.zeros(size), np.full(size, -everybody)
    baselines = (
        entry(ALL, 0.0, zeros, everybody=everybody, kind="baseline"),
        entry(ACCEPT_NONE, -everybody, nobody, everybody=everybody, kind="baseline"),
    )
    return Backtest(found.past, found.terms, found.options, [*entries, *baselines], [])
