"""What forgetting gains in a world that moves, and what it costs in one that stands still.

Two categories of Bernoulli clients with means 0.3 and 0.1 against a threshold of 0.2, five clients a round, 20 000
rounds.  In the world that moves, the two swap sides every 2 000 rounds.  In the other one they never do.

`by_hand` is kl-UCB in plain NumPy, with weighted sums.  It checks the simulator, and shows what happens if patience
counts all rounds and not only those that are remembered.

.venv/bin/python benchmarks/forgetting.py [runs] [picture.svg]
"""

import math
import sys
from pathlib import Path

import numpy as np

import profitable as pb
from profitable.common.figures import new_figure, save_figure
from profitable.common.looks import GREY
from profitable.common.text_tables import number
from profitable.policy.looks import looks_of
from profitable.simulation.plots import line_style

HORIZON, EVERY, THRESHOLD, CLIENTS = 20_000, 2_000, 0.2, 5
MEANS = (0.3, 0.1)
POLICIES = ("kl-ucb", "kl-ucb+", "ts", "optimal")
FORGOTTEN = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)  # 1 - forget


def world(*, moves: bool) -> pb.Scenario:
    """The two categories."""
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
    result = pb.simulate(world(moves=moves), names, horizon=HORIZON, runs=runs, checkpoints=[HORIZON])
    return {curve.policy: (float(curve.regret[-1]), float(curve.stderr[-1])) for curve in result.curves}


def by_hand(forget: float, runs: int, *, moves: bool, all_rounds: bool) -> float:
    """Mean regret of kl-UCB from its formulas; with `all_rounds`, patience is log t, however much is forgotten."""
    rng = np.random.default_rng(1)
    clients, total, regret = np.zeros((2, runs)), np.zeros((2, runs)), 0.0
    for t in range(HORIZON):
        swapped = moves and t // EVERY % 2 == 1
        means = np.array(MEANS[::-1] if swapped else MEANS)[:, None]
        with np.errstate(all="ignore"):
            share = np.where(clients > 0.0, total / clients, 1.0)
            nats = share * np.log(share / THRESHOLD) + (1 - share) * np.log((1 - share) / (1 - THRESHOLD))
            nats = np.where(share <= 0.0, -np.log(1 - THRESHOLD), nats)
            clock = t if all_rounds or forget == 1.0 else (1.0 - forget**t) / (1.0 - forget)
            accepts = (share >= THRESHOLD) | (clients * nats <= np.log(clock)) | (t == 0)
        regret += float((np.abs(means - THRESHOLD) * CLIENTS * (accepts != (means > THRESHOLD))).sum()) / runs
        clients, total = forget * clients, forget * total
        clients += CLIENTS * accepts
        total += rng.binomial(CLIENTS, np.broadcast_to(means, accepts.shape)) * accepts
    return regret


def print_table(runs: int) -> None:
    """The figures of docs/how-to.md."""
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
        print(f"{name:24}" + "".join(f"{mean:10.0f} ± {error:<5.1f}" for mean, error in (moving[name], still[name])))
    few = max(runs // 2, 10)
    print("\nkl-UCB at forget 0.98, swapping, by hand:")
    for label, all_rounds in (("patience counts what is remembered", False), ("patience counts all rounds", True)):
        print(f"  {label}: {by_hand(0.98, few, moves=True, all_rounds=all_rounds):.0f}")
    print(f"  nothing forgotten: {by_hand(1.0, few, moves=True, all_rounds=True):.0f}")


def print_formula(runs: int) -> None:
    """The price of forgetting in a world that stands still, simulated over the formula (docs/mathematics.md)."""
    cases = ((0.18, 5, 200), (0.15, 5, 50), (0.18, 5, 1_000), (0.1, 1, 200), (0.1, 5, 50))
    cases += ((0.1, 1, 1_000), (0.1, 5, 200), (0.02, 5, 200))
    print("\nkl-UCB, standing still: C L d / log L, simulated / formula, share of rounds accepted")
    for mean, clients, remembered in cases:
        nats = mean * math.log(mean / THRESHOLD) + (1 - mean) * math.log((1 - mean) / (1 - THRESHOLD))
        truth = pb.Truth(pb.Category("it", pb.Bernoulli(), threshold=THRESHOLD), mean=mean, clients=clients)
        points = [HORIZON // 2, HORIZON]
        policy = f"kl-ucb:forget={1 - 1 / remembered}"
        curve = pb.simulate(
            pb.Scenario("one", [truth]), [policy], horizon=HORIZON, runs=runs, checkpoints=points
        ).curves[0]
        price = float(curve.regret[1] - curve.regret[0]) / (HORIZON // 2)
        gap, length = THRESHOLD - mean, math.log(remembered)
        ratio, share = price / (gap / nats * length / remembered), price / (clients * gap)
        print(
            f"  {mean:5} {clients} {remembered:6}: {clients * remembered * nats / length:6.2f}{ratio:7.2f}{share:8.0%}"
        )


def draw(path: Path, runs: int) -> None:
    """Regret over 1 - forget, in both worlds."""
    figure = new_figure(9.0, 4.2)
    panels = figure.subplots(1, 2, sharey=True)
    looks = looks_of(list(POLICIES))
    for panel, moves in zip(panels, (True, False), strict=True):
        plain = regrets(list(POLICIES), runs, moves=moves)
        for policy in POLICIES:
            names = [f"{policy}:forget={1.0 - share:g}" for share in FORGOTTEN]
            found = regrets(names, runs, moves=moves)
            style = {"color": looks[policy].colour, "linestyle": line_style(looks[policy])}
            panel.plot(FORGOTTEN, [found[name][0] for name in names], **style, label=policy)
            panel.plot(0.00037, plain[policy][0], "o", color=looks[policy].colour, markersize=4, clip_on=False)
        panel.set(xscale="log", xlim=(0.00037, 0.12), ylim=(0.0, 10_500.0), xlabel="forgotten each round (1 − forget)")
        panel.set_xticks([0.00037, 0.001, 0.003, 0.01, 0.03, 0.1], ["none", "0.1 %", "0.3 %", "1 %", "3 %", "10 %"])
        panel.set_yticks(range(0, 10_001, 2_000), [number(value) for value in range(0, 10_001, 2_000)])
        panel.minorticks_off()
        panel.set_title("two categories swap sides every 2 000 rounds" if moves else "the same world standing still")
        panel.title.set_fontsize(10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color=GREY, alpha=0.2, linewidth=0.6)
    panels[0].set_ylabel("regret after 20 000 rounds")
    panels[1].legend(frameon=False, fontsize=9, loc="upper left")
    save_figure(figure, path)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print_table(runs)
    print_formula(max(runs // 5, 10))
    for name in sys.argv[2:]:
        draw(Path(name), max(runs // 4, 10))


if __name__ == "__main__":
    main()
