"""Measure the gain of forgetting in a world that moves, and its cost in another.

Two categories of Bernoulli clients with means 0.3 and 0.1 against a threshold of 0.2,
five clients a round, 20 000 rounds.  In the world that moves, the two swap sides every
2 000 rounds.  In the other one they never do.

`by_hand` is kl-UCB in plain NumPy, with weighted sums.  It checks the simulator, and
shows what happens if patience counts all rounds and not only those that are remembered.

.venv/bin/python benchmarks/forgetting.py [runs] [picture.svg]
"""

import math
import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import profitable as pb
from profitable.common.charts import Rows, look_channels, saved, styled
from profitable.policy.policies import looks_of

HORIZON, EVERY, THRESHOLD, CLIENTS = 20_000, 2_000, 0.2, 5
MEANS = (0.3, 0.1)
POLICIES = ("kl-ucb", "kl-ucb+", "ts", "optimal")
# 1 - forget.
FORGOTTEN = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)


def world(*, moves: bool) -> pb.Scenario:
    """Return the two categories."""
    starts = range(1, HORIZON + 1, EVERY) if moves else (1,)
    truths = [
        pb.Truth(
            pb.Category(name, pb.Bernoulli(), threshold=THRESHOLD),
            mean=[(start, MEANS[(place + first) % 2]) for place, start in enumerate(starts)],
            clients=CLIENTS,
        )
        for first, name in enumerate(("one", "other"))
    ]
    return pb.Scenario("swapping" if moves else "standing still", truths)


def regrets(names: list[str], runs: int, *, moves: bool) -> dict[str, tuple[float, float]]:
    """Mean regret of each policy, and its standard error."""
    result = pb.simulate(
        world(moves=moves), names, horizon=HORIZON, runs=runs, checkpoints=[HORIZON]
    )
    return {
        curve.policy: (float(curve.regret[-1]), float(curve.stderr[-1])) for curve in result.curves
    }


def by_hand(forget: float, runs: int, *, moves: bool, all_rounds: bool) -> float:
    """Return the mean regret of kl-UCB; with `all_rounds`, patience is log t."""
    rng = np.random.default_rng(1)
    clients, total, regret = np.zeros((2, runs)), np.zeros((2, runs)), 0.0
    for t in range(HORIZON):
        swapped = moves and t // EVERY % 2 == 1
        means = np.array(MEANS[::-1] if swapped else MEANS)[:, None]
        with np.errstate(all="ignore"):
            share = np.where(clients > 0.0, total / clients, 1.0)
            nats = share * np.log(share / THRESHOLD) + (1 - share) * np.log(
                (1 - share) / (1 - THRESHOLD)
            )
            nats = np.where(share <= 0.0, -np.log(1 - THRESHOLD), nats)
            clock = t if all_rounds or forget == 1.0 else (1.0 - forget**t) / (1.0 - forget)
            accepts = (share >= THRESHOLD) | (clients * nats <= np.log(clock)) | (t == 0)
        regret += (
            float((np.abs(means - THRESHOLD) * CLIENTS * (accepts != (means > THRESHOLD))).sum())
            / runs
        )
        clients, total = forget * clients, forget * total
        clients += CLIENTS * accepts
        total += rng.binomial(CLIENTS, np.broadcast_to(means, accepts.shape)) * accepts
    return regret


def print_table(runs: int) -> None:
    """Draw the figures of docs/how-to.md."""
    chosen = ["kl-ucb", "kl-ucb:forget=0.995", "kl-ucb:forget=0.98", "kl-ucb:window=200"]
    chosen += [
        "kl-ucb+",
        "kl-ucb+:forget=0.995",
        "ts",
        "ts:forget=0.99",
        "ts:window=200",
        "optimal",
        "optimal:forget=0.99",
    ]
    moving, still = (regrets(chosen, runs, moves=moves) for moves in (True, False))
    print(f"{'policy':24}{'swapping':>18}{'standing still':>18}")
    for name in chosen:
        print(
            f"{name:24}"
            + "".join(
                f"{mean:10.0f} ± {error:<5.1f}" for mean, error in (moving[name], still[name])
            )
        )
    few = max(runs // 2, 10)
    print("\nkl-UCB at forget 0.98, swapping, by hand:")
    for label, all_rounds in (
        ("patience counts what is remembered", False),
        ("patience counts all rounds", True),
    ):
        print(f"  {label}: {by_hand(0.98, few, moves=True, all_rounds=all_rounds):.0f}")
    print(f"  nothing forgotten: {by_hand(1.0, few, moves=True, all_rounds=True):.0f}")


def print_formula(runs: int) -> None:
    """Print the price of forgetting in a world that stands still, over the formula."""
    cases = ((0.18, 5, 200), (0.15, 5, 50), (0.18, 5, 1_000), (0.1, 1, 200), (0.1, 5, 50))
    cases += ((0.1, 1, 1_000), (0.1, 5, 200), (0.02, 5, 200))
    print("\nkl-UCB, standing still: C L d / log L, simulated / formula, share of rounds accepted")
    for mean, clients, remembered in cases:
        nats = mean * math.log(mean / THRESHOLD) + (1 - mean) * math.log(
            (1 - mean) / (1 - THRESHOLD)
        )
        truth = pb.Truth(
            pb.Category("it", pb.Bernoulli(), threshold=THRESHOLD), mean=mean, clients=clients
        )
        points = [HORIZON // 2, HORIZON]
        policy = f"kl-ucb:forget={1 - 1 / remembered}"
        curve = pb.simulate(
            pb.Scenario("one", [truth]), [policy], horizon=HORIZON, runs=runs, checkpoints=points
        ).curves[0]
        price = float(curve.regret[1] - curve.regret[0]) / (HORIZON // 2)
        gap, length = THRESHOLD - mean, math.log(remembered)
        ratio, share = price / (gap / nats * length / remembered), price / (clients * gap)
        print(
            f"  {mean:5} {clients} {remembered:6}: "
            f"{clients * remembered * nats / length:6.2f}{ratio:7.2f}{share:8.0%}"
        )


NONE = 0.00037  # where policies that forget nothing stand on the axis
TICKS = {NONE: "none", 0.001: "0.1 %", 0.003: "0.3 %", 0.01: "1 %", 0.03: "3 %", 0.1: "10 %"}


def draw(path: Path, runs: int) -> None:
    """Regret over 1 - forget, in both worlds."""
    panels = [panel(runs, moves=moves) for moves in (True, False)]
    saved(styled(alt.hconcat(*panels), columns=4), path)


def panel(runs: int, *, moves: bool) -> Any:
    """Regret over 1 - forget in one world."""
    rows: Rows = []
    plain: Rows = []
    without = regrets(list(POLICIES), runs, moves=moves)
    for policy in POLICIES:
        plain.append({"x": NONE, "y": without[policy][0], "policy": policy})
        found = regrets(
            [f"{policy}:forget={1.0 - share:g}" for share in FORGOTTEN], runs, moves=moves
        )
        values = (mean for mean, _ in found.values())
        rows += [
            {"x": share, "y": value, "policy": policy}
            for share, value in zip(FORGOTTEN, values, strict=True)
        ]
    colour, dash = look_channels("policy", looks_of(list(POLICIES)), alt.Legend(title=None))
    labels = " : ".join(f"datum.value < {1.5 * at:g} ? '{word}'" for at, word in TICKS.items())
    across = alt.X(
        "x:Q",
        title="forgotten each round (1 − forget)",
        scale=alt.Scale(type="log", domain=[NONE, 0.12], nice=False),
        axis=alt.Axis(values=list(TICKS), labelExpr=f"{labels} : ''", grid=False),
    )
    up = alt.Y(
        "y:Q",
        title="regret after 20 000 rounds" if moves else None,
        scale=alt.Scale(domain=[0, 10_500]),
        axis=alt.Axis(values=list(range(0, 10_001, 2_000))),
    )
    lines = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=2, clip=True)
    points = alt.Chart(alt.InlineData(values=plain)).mark_point(filled=True, size=40, opacity=1.0)
    title = (
        "two categories swap sides every 2 000 rounds" if moves else "the same world standing still"
    )
    layers = alt.layer(
        lines.encode(x=across, y=up, color=colour, strokeDash=dash),
        points.encode(x=across, y=up, color=colour),
    )
    return layers.properties(width=360, height=300, title=title)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print_table(runs)
    print_formula(max(runs // 5, 10))
    for name in sys.argv[2:]:
        draw(Path(name), max(runs // 4, 10))


if __name__ == "__main__":
    main()
