"""Regrets of the Bernoulli and Poisson experiments at T = 1 000 against a slow
simulation that shares no code.

`independent.json` says how its numbers were made.  16 comparisons of independent means
at 4 standard errors: a false alarm for one seed in a thousand.
"""

import json

import numpy as np
import pytest

from profitable import simulate
from profitable.paper.experiment import load
from tests.paper.independent_table import CASES, TABLE

pytestmark = pytest.mark.statistical
ROWS = {
    (row["experiment"], row["policy"]): row
    for row in json.loads(TABLE.read_text(encoding="utf-8"))["rows"]
}


def test_every_policy_is_in_the_table() -> None:
    expected = {
        (name, policy) for name in ("bernoulli", "poisson") for policy in load(name).policies
    }
    assert set(ROWS) == expected == set(CASES)


@pytest.mark.parametrize(("name", "policy"), sorted(CASES))
def test_regret(name: str, policy: str) -> None:
    row = ROWS[name, policy]
    curve = simulate(load(name).scenario, [policy], horizon=1_000, runs=2_000, seed=11)[policy]
    error = np.hypot(row["stderr"], curve.stderr[-1])
    assert abs(curve.regret[-1] - row["regret"]) < 4.0 * error, (
        curve.regret[-1],
        row["regret"],
        error,
    )
