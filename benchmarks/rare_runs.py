"""Measure the regret that one run in a hundred, and in a thousand, exceeds.

.venv/bin/python benchmarks/rare_runs.py

The paper's experiments with 10 000 runs, at seed 1.  README.md quotes those with sharp
thresholds.
"""

import profitable as pb
from profitable.paper.experiment import load

POLICIES = ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts", "optimal:horizon,risk=0.3"]


def main() -> None:
    for name in ("bernoulli", "poisson", "sharp-poisson", "exponential"):
        scenario = load(name).scenario
        result = pb.simulate(
            scenario, POLICIES, horizon=10_000, runs=10_000, seed=1, checkpoints=[10_000]
        )
        for curve in result.curves:
            quantiles = "".join(
                f"{float(curve.quantile(share)[-1]):9.0f}" for share in (0.99, 0.998, 0.999)
            )
            print(
                f"{name:14} {curve.policy:26}{float(curve.regret[-1]):9.1f}{quantiles}", flush=True
            )


if __name__ == "__main__":
    main()
