"""The free boundary of the one-armed bandit: two ways to compute it, its limits, and
the closed form beside it.
"""

import functools
import importlib.util
import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

ROOT = Path(__file__).parent.parent.parent
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
specification = importlib.util.spec_from_file_location(
    "free_boundary", ROOT / "benchmarks" / "free_boundary.py"
)
assert specification is not None
assert specification.loader is not None
free_boundary = importlib.util.module_from_spec(specification)
specification.loader.exec_module(free_boundary)

solve = functools.cache(free_boundary.solve)

# S from 1 to 10^6, dense near 1.
GRID = np.exp(np.linspace(0.001, np.sqrt(np.log(1e6)), 1_000) ** 2)


@pytest.mark.parametrize(("discounted", "first"), [(False, 1e-3), (True, 0.05)])
def test_an_integral_equation_and_a_random_walk_agree(discounted: bool, first: float) -> None:
    at = np.array([1.5, 2.0, 5.0, 10.0, 100.0])
    walked = free_boundary.extrapolated(at, discounted=discounted, step=0.16, first=first)
    np.testing.assert_allclose(walked, solve(discounted=discounted)(at), atol=4e-4)


@pytest.mark.skipif(not SOAK, reason="the solver of a benchmark; part of make soak")
@pytest.mark.parametrize("discounted", [False, True])
def test_more_nodes_change_nothing(discounted: bool) -> None:
    coarse, fine = (solve(discounted=discounted, nodes=n, points=8 * n) for n in (40, 60))
    np.testing.assert_allclose(coarse(GRID), fine(GRID), atol=1e-8)


def test_near_the_end() -> None:
    """b is 0.63883 sqrt(s - 1) with a horizon, and sqrt((s - 1)/2) with a discount."""
    s = 1.0 + 1e-8
    slopes = [solve(discounted=discounted)(s) / np.sqrt(s - 1.0) for discounted in (False, True)]
    assert slopes == pytest.approx([0.63883, 0.707107], abs=1e-5)


def test_far_from_the_end() -> None:
    """b^2 = 2 log s - log log s - log 16 pi (Lai 1987), which is P = 2/s; the rest goes
    to 0, slowly.
    """
    s = np.array([1e4, 1e8, 1e12])
    b = solve(nodes=60, points=480, largest=1e12)(s)
    gaps = b - free_boundary.large_s(s)
    assert np.all(np.diff(gaps) < 0.0)
    assert 0.0 < gaps[-1] < 0.007
    np.testing.assert_allclose(0.5 * s * ndtr(-b), [1.025, 1.004, 1.001], atol=1e-3)


@pytest.mark.parametrize(
    ("discounted", "of_p", "of_z"), [(False, 0.0314, 0.0139), (True, 0.0508, 0.0270)]
)
def test_the_closed_form(discounted: bool, of_p: float, of_z: float) -> None:
    """The errors that `docs/optimal.md` states; slightly other constants have larger
    ones.
    """
    b = solve(discounted=discounted)(GRID)
    probability = free_boundary.closed_form(GRID)
    assert np.abs(probability / ndtr(-b) - 1.0).max() < of_p
    assert np.abs(free_boundary.as_boundary(free_boundary.closed_form)(GRID) - b).max() < of_z
    assert free_boundary.closed_form(np.array(1.0)) == 0.5


def test_what_the_closed_form_loses() -> None:
    """Less than 0.02 % of the smallest Bayes regret, with a horizon."""
    s = free_boundary.moments(0.03, discounted=False, first=1e-3, largest=1e4)
    rule = free_boundary.as_boundary(free_boundary.closed_form)
    losses = (free_boundary.walk(s, rule).regret / free_boundary.walk(s).regret - 1.0)[s[1:] > 1.1]
    assert losses.min() > 0.0
    assert losses.max() < 2e-4


def test_the_table_on_the_page() -> None:
    page = (ROOT / "docs" / "optimal.md").read_text(encoding="utf-8").replace("−", "-")
    rows = re.findall(
        r"^\| ([\d. ]+) \| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) % \| \S+ % \| (\S+) \|$", page, re.M
    )
    table = np.array([[float(cell.replace(" ", "")) for cell in row] for row in rows])
    s, b = table[:, 0], solve()(table[:, 0])
    assert len(s) == 10
    np.testing.assert_allclose(table[:, 1], b, atol=5.1e-5)
    np.testing.assert_allclose(table[:, 2], 100.0 * ndtr(-b), rtol=1e-5, atol=5.1e-4)
    np.testing.assert_allclose(
        table[:, 3], 100.0 * free_boundary.closed_form(s), rtol=1e-5, atol=5.1e-4
    )
    np.testing.assert_allclose(
        table[:, 4], free_boundary.as_boundary(free_boundary.closed_form)(s) - b, atol=5.1e-4
    )
