"""Makes `independent.json`: mean regrets of the Bernoulli and Poisson experiments at T
= 1 000, by plain NumPy indices.

Nothing of the package is used (see `tests/simulation/independent.py`), so it takes a
quarter of an hour:

    .venv/bin/python -m tests.paper.independent_table
"""

import json
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np

from tests.simulation import independent as plain
from tests.simulation.test_runner_independent import bernoulli, poisson

HORIZON, SEED, BOUND = 1_000, 2_018, 100.0
RATES = [3.0, 4.0, 5.0, 6.0, 7.0]
RUNS, FEW_RUNS = 1_000, 200  # KL-Emp's index is costly
VALUES = 60  # a Poisson reward of mean 5 beyond this has probability 1e-40
TABLE = Path(__file__).with_name("independent.json")

d_b, d_p = plain.d_bernoulli, plain.d_poisson
BERNOULLI = ([0.1, 0.3, 0.5, 0.5, 0.7], [0.2, 0.2, 0.4, 0.6, 0.8])
POISSON = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 6.0])
WIDE = 1e4
CASES: dict[tuple[str, str], plain.Index] = {
    ("bernoulli", "kl-ucb"): plain.kl_ucb(d_b, 1.0),
    ("bernoulli", "bayes-ucb"): plain.bayes_bernoulli,
    ("bernoulli", "ts"): plain.thompson_bernoulli,
    ("bernoulli", "kl-ucb+"): plain.kl_ucb(d_b, 1.0, plus=True),
    ("bernoulli", "kl-emp-ucb"): plain.kl_emp(1.0),
    ("bernoulli", "kl-gaussian-ucb"): plain.kl_gaussian(1.0),
    ("bernoulli", "ucb-v"): plain.ucb_v(1.0),
    ("poisson", "kl-ucb"): plain.kl_ucb(d_p, WIDE),
    ("poisson", "bayes-ucb"): plain.bayes_poisson,
    ("poisson", "ts"): plain.thompson_poisson,
    ("poisson", "kl-ucb+"): plain.kl_ucb(d_p, WIDE, plus=True),
    ("poisson", "kl-emp-ucb"): plain.kl_emp(BOUND),
    ("poisson", "kl-gaussian-ucb"): plain.kl_gaussian(BOUND),
    ("poisson", "kl-bernoulli-ucb"): plain.kl_ucb(d_b, 1.0, scale=BOUND),
    ("poisson", "kl-bernoulli-ucb+"): plain.kl_ucb(d_b, 1.0, scale=BOUND, plus=True),
    ("poisson", "ucb-v"): plain.ucb_v(BOUND),
}


def row(case: tuple[str, str]) -> dict[str, Any]:
    """One line of the table."""
    experiment, policy = case
    draw, (means, thresholds) = (
        (bernoulli, BERNOULLI) if experiment == "bernoulli" else (poisson, POISSON)
    )
    keeps_values = policy == "kl-emp-ucb"
    runs = FEW_RUNS if keeps_values else RUNS
    regret, error = plain.mean_regret(
        CASES[case],
        draw,
        means,
        thresholds,
        RATES,
        horizon=HORIZON,
        runs=runs,
        seed=SEED,
        values=VALUES if keeps_values else 1,
    )
    print(f"{experiment:10} {policy:18} {regret:10.3f} ± {error:.3f}", flush=True)
    return {
        "experiment": experiment,
        "policy": policy,
        "runs": runs,
        "regret": regret,
        "stderr": error,
    }


def main() -> None:
    """Compute and write."""
    with multiprocessing.Pool(2) as pool:
        rows = pool.map(row, list(CASES), chunksize=1)
    provenance = {
        "made by": "python -m tests.paper.independent_table",
        "method": "plain NumPy and SciPy: the index of every policy in every round "
        "(tests/simulation/independent.py)",
        "arrivals": "C - 1 ~ Poisson(3, 4, 5, 6, 7)",
        "horizon": HORIZON,
        "seed": SEED,
        "numpy": np.__version__,
    }
    TABLE.write_text(
        json.dumps({"provenance": provenance, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
