"""Measure what the share for learning earns and costs when places are scarce.

Only a fifth of those who ask can be accepted.

python benchmarks/limits.py     takes some minutes

Ten segments, ten calls asked for in each of them and twenty places in each round, 200
rounds.  A call costs 1, a sale brings 10.  The true shares of sales are drawn anew in
each run, uniformly from 2 % to 18 %, so that about half of the segments pay.  Shown is
the profit as a share of that of somebody who knows the means and fills the places from
the best segment down, with its standard error over the runs.  `in turn` fills them with
the accepted segments from the first one on, starting anew with each round's next one.
"""

import sys
from collections.abc import Sequence

import numpy as np

import profitable as pb
from profitable.common.text_tables import text_table

SEGMENTS, ASK, PLACES, ROUNDS = 10, 10, 20, 200
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
POLICIES = ("kl-ucb", "ts")


def profits(policy: str, explore: float | None, run: int) -> float:
    """Return the profit of a run as a share; without `explore`, segments take turns."""
    rng = np.random.default_rng([run, 11])
    means = rng.uniform(0.02, 0.18, SEGMENTS)
    names = [str(i) for i in range(SEGMENTS)]
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.1, worth=10.0) for name in names],
        policy=policy,
        seed=run,
    )
    demand = dict.fromkeys(names, ASK)
    for t in range(ROUNDS):
        if explore is None:
            accepted = agent.decide().accepted
            turned = sorted(accepted, key=lambda name: (int(name) - t) % SEGMENTS)
            granted = dict.fromkeys(turned[: PLACES // ASK], ASK)
        else:
            granted = agent.decide(places=PLACES, demand=demand, explore=explore).granted or {}
        sales = {
            name: pb.Batch(count=n, total=rng.binomial(n, means[int(name)]))
            for name, n in granted.items()
        }
        agent.observe(sales)
    gains = np.sort(np.maximum(10.0 * means - 1.0, 0.0))[::-1]
    best = float(gains[: PLACES // ASK].sum()) * ASK * ROUNDS
    truly = sum((10.0 * means[k] - 1.0) * agent[name].clients for k, name in enumerate(names))
    return truly / best


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    runs = int(arguments[0]) if arguments else 200
    rows: list[list[str]] = []
    for policy in POLICIES:
        for explore in (None, *SHARES):
            values = np.array([profits(policy, explore, run) for run in range(runs)])
            error = values.std(ddof=1) / np.sqrt(runs)
            worst = np.quantile(values, 0.05)
            label = "in turn" if explore is None else f"{explore:g}"
            rows.append([policy, label, f"{values.mean():.3f} ± {error:.3f}", f"{worst:.3f}"])
            print(*rows[-1], file=sys.stderr, flush=True)
    print(
        text_table(
            ["policy", "explore", "share of the possible profit", "5 % quantile"],
            rows,
            words=(0, 1),
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
