"""Measure how often estimates from a log cover the truth.

It makes the table in docs/backtest.md.

    .venv/bin/python benchmarks/off_policy.py [worlds] [worlds with intervals]

A world has four categories, half of which pay.  An agent with a floor decides about
them and keeps a log, with one draw for each category and round.  Another policy is
evaluated on that log.  The truth of an estimate is what the policy earned on these
clients; in brackets, the coverage where nothing was warned of.  The truth of the
printed interval is the mean difference to accepting everybody over all worlds.  Not
part of `make bench`: it measures no time.
"""

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

import profitable as pb
from profitable.common.text_tables import text_table
from profitable.past.past import SingleClients
from profitable.replay.off_policy import FEW_DRAWS, LITTLE_NOISE, AcceptanceLog, evaluate, support

MEANS, THRESHOLD, SIGMAS = (0.3, 0.25, 0.15, 0.1), 0.2, 1.96
K = len(MEANS)
# the log, the policy, rounds, clients of a category in a round
DESIGNS = (
    ("kl-ucb:floor=0.05", "kl-ucb", 40, 25),
    ("ts:floor=0.05", "kl-ucb", 20, 3),
    ("ts:floor=0.05", "kl-ucb", 100, 10),
    ("ts:floor=0.2", "kl-ucb", 100, 10),
    ("ts:floor=0.05", "kl-ucb", 400, 4),
)
Mask = npt.NDArray[np.bool_]


class Worlds(NamedTuple):
    """All worlds of a design, side by side."""

    rewards: Any  # [R, n, W * K]
    logged: Mask  # [R, W * K]
    chance: Any  # propensities of the log, [R, W * K]
    accepted: Mask  # by the policy, [R, W * K]


def play(
    policy: str, rewards: Any, visible: Callable[[int, Mask], Mask], seed: int
) -> tuple[Mask, Any]:
    """Return decisions and propensities of an agent, [R, W * K]."""
    names = [str(k) for k in range(rewards.shape[2])]
    categories = [pb.Category(name, pb.Bernoulli(), threshold=THRESHOLD) for name in names]
    agent = pb.Agent(categories, policy=policy, seed=seed)
    decisions = []
    for t, outcomes in enumerate(rewards):
        decision = agent.decide()
        decisions.append((decision.accepted_mask, decision.propensity))
        seen = np.flatnonzero(visible(t, decision.accepted_mask)).tolist()
        agent.observe({names[k]: outcomes[:, k] for k in seen})
    accepted, chance = zip(*decisions, strict=True)
    return np.array(accepted), np.array(chance)


def simulate(log: str, policy: str, rounds: int, clients: int, worlds: int) -> Worlds:
    rng = np.random.default_rng(3)
    rewards = (rng.random((rounds, clients, K * worlds)) < np.tile(MEANS, worlds)).astype(
        np.float64
    )
    logged, chance = play(log, rewards, lambda _, mask: mask, 3)
    accepted, _ = play(policy, rewards, lambda t, mask: mask & logged[t], 4)
    return Worlds(rewards, logged, chance, accepted)


def one(found: Worlds, world: int) -> SingleClients:
    """Return the log of one world."""
    part = slice(world * K, world * K + K)
    rewards = found.rewards[:, :, part]
    rounds, _, category = (each.ravel() for each in np.indices(rewards.shape))
    more = [
        np.repeat(each[:, None, part], rewards.shape[1], axis=1).ravel()
        for each in (found.logged, found.chance)
    ]
    return SingleClients.of(
        names=[str(k) for k in range(K)],
        labels=[str(t + 1) for t in range(rewards.shape[0])],
        round=rounds + 1,
        category=category,
        known=rounds + 1,
        reward=rewards.ravel(),
        profit=rewards.ravel() - THRESHOLD,
        logged=more[0],
        propensity=more[1],
    )


def interval_covers(clients: SingleClients, policy: str, truth: float) -> bool:
    frame = pd.DataFrame(
        {"week": clients.round, "group": clients.category.astype(str), "x": clients.reward}
    )
    frame = frame.assign(mailed=clients.logged, chance=clients.propensity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pb.backtest(
            frame, category="group", time="week", reward="x", cost=THRESHOLD,
            accepted="mailed", propensity="chance",
            policies=[policy], replays=100, seeds=5, commit=None, progress=False,
        )  # fmt: skip
    span = found.policies[0].difference
    return span.low <= truth <= span.high


def measure(
    log: str, policy: str, rounds: int, clients: int, worlds: int, with_intervals: int
) -> list[str]:
    """Return a row of the table."""
    found = simulate(log, policy, rounds, clients, worlds)
    rows: list[tuple[float, ...]] = []
    for world in range(worlds):
        part = slice(world * K, world * K + K)
        prepared, accepted = AcceptanceLog.of(one(found, world)), found.accepted[:, part]
        truth = float((accepted * (found.rewards[:, :, part] - THRESHOLD).sum(axis=1)).sum())
        got, held = evaluate(prepared, accepted), support(prepared, accepted)
        assert got.inverse_propensity is not None
        assert got.doubly_robust is not None
        rows.append(
            (
                abs(got.inverse_propensity - truth)
                <= SIGMAS * (got.inverse_propensity_error or 0.0) + 1e-9,
                abs(got.doubly_robust - truth) <= SIGMAS * (got.doubly_robust_error or 0.0) + 1e-9,
                math.nan if got.self_normalised is None else got.self_normalised - truth,
                held.draws,
                held.draws < FEW_DRAWS and held.noise > LITTLE_NOISE,
            )
        )
    inverse, robust, gap, draws, warned = np.array(rows).T
    gap = gap[~np.isnan(gap)]
    refused = ~found.accepted * (found.rewards - THRESHOLD).sum(axis=1)
    truth = -float(refused.sum()) / worlds
    covered = [interval_covers(one(found, world), policy, truth) for world in range(with_intervals)]
    bias = f"{gap.mean() / (gap.std() / math.sqrt(gap.size)):.1f}"
    calm = warned == 0.0
    shares = [
        f"{each.mean():.0%} ({each[calm].mean():.0%})" if calm.any() else f"{each.mean():.0%}"
        for each in (inverse, robust)
    ]
    sizes = [f"{rounds} × {clients}", f"{np.median(draws):.1f}", f"{warned.mean():.0%}"]
    return [
        f"`{log}`",
        f"`{policy}`",
        *sizes,
        *shares,
        bias,
        f"{np.mean(covered):.0%}" if covered else "-",
    ]


def main() -> None:
    worlds, with_intervals = (
        int(each) for each in (*sys.argv[1:], *("1000", "100")[len(sys.argv) - 1 :])
    )
    headers = (
        "log",
        "policy",
        "rounds × clients",
        "draws",
        "warned",
        "inverse",
        "robust",
        "bias",
        "interval",
    )
    rows = [measure(*design, worlds, with_intervals) for design in DESIGNS]
    print(text_table(headers, rows))


if __name__ == "__main__":
    main()
