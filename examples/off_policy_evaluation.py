"""How much would another policy have earned, judging by the log of the current one?

A shop lets Thompson sampling decide for forty weeks. It logs each propensity: the
probability that a client was accepted. From that log the profit of other policies is
estimated, with a confidence interval.
"""

import numpy as np
import pandas as pd

import profitable as pb

rng = np.random.default_rng(4)
shares = {"new": 0.30, "old": 0.15}  # shares of buyers; the shop does not know them
shop = pb.Agent(
    [pb.Category.offer(name, cost=1, revenue=5) for name in shares],
    policy="ts:floor=0.2",  # accept each group with probability 0.2 or more
    seed=4,
)

rows: list[tuple[object, ...]] = []
for week in range(1, 41):
    for verdict in shop.decide():
        bought = (rng.random(25) < shares[verdict.name]).astype(float)
        if verdict.accepted:
            shop.observe(verdict.name, bought)
        else:
            bought = np.full(25, np.nan)  # rejected clients have no outcome
        chance = verdict.propensity
        rows += [(week, verdict.name, verdict.accepted, chance, each) for each in bought]
log = pd.DataFrame(rows, columns=["week", "group", "mailed", "chance", "bought"])

found = pb.backtest(
    log,
    category="group",
    time="week",
    reward="bought",
    cost=1,
    revenue=5,
    accepted="mailed",
    propensity="chance",
    policies=["kl-ucb", "optimal:horizon"],
    replays=100,
)
print(found.off_policy_table())
print(found["kl-ucb"].sentence())
