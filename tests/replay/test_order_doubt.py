"""Where the real order and a shuffled one contradict each other."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.replay.backtest_entry import ShuffledDifference
from profitable.replay.order_doubt import order_doubt
from tests.replay.calls import entry


@pytest.mark.parametrize(
    ("real", "mixed", "dated", "says"),
    [
        (-80.0, 30.0, True, "80.0 less than accepting everybody in the order of time, and 30.0"),
        (80.0, -30.0, True, "80.0 more than accepting everybody in the order of time, and 30.0"),
        (-80.0, 30.0, False, "80.0 less than accepting everybody in the order of the rows, and"),
        (-80.0, 0.0, False, "and as much in random order: the file has no dates"),
        (0.0, -80.0, False, "earned as much as accepting everybody in the order of the rows"),
        (-80.0, 0.0, True, None),  # of dates, it is drift
        (80.0, 30.0, False, None),  # both gain
        (1.0, 30.0, True, None),
        (21.0, 18.0, False, None),  # one is just beyond chance, and they hardly differ
    ],
)
def test_contradictions(real: float, mixed: float, dated: bool, says: str | None) -> None:
    values = real + 10.0 * np.linspace(-1.7, 1.7, 201)
    one = entry("ts", real, values, shuffled=ShuffledDifference(mixed, 1.0))
    found = order_doubt(one, dated=dated)
    assert (found is None) == (says is None)
    assert found is None or (says or "") in found


def test_without_shuffles_or_replicates_nothing_is_said() -> None:
    assert order_doubt(entry("ts", 5.0, [4.0, 6.0]), dated=False) is None
    bare = entry("ts", 5.0, shuffled=ShuffledDifference(-9.0, 0.1))
    assert order_doubt(bare, dated=False) is None


def test_rows_that_are_sorted_by_their_outcome() -> None:
    """All losses stand first: every group is refused, and in random order both pay."""
    rng = np.random.default_rng(2)
    good = np.sort(rng.random(2_000) < 0.6)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 2_000), "good": good.astype(int)})
    given: dict[str, Any] = {"category": "group", "reward": "good", "cost": 0.5, "round": 20}
    found = pb.backtest(frame, **given, policies="kl-ucb", replays=20, shuffles=2)
    assert "in the order of the rows, and " in found.verdict()
    assert "the file has no dates, so that its order decides" in found.verdict()
    mixed = pb.backtest(
        frame.sample(frac=1.0, random_state=1), **given, policies="kl-ucb", replays=20, shuffles=2
    )
    assert "in the order of the rows" not in mixed.verdict()
