"""How near the optimum: the worst cases that the page tells are made again."""

import importlib
import re
from pathlib import Path

import pytest

import profitable as pb

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "optimal.md").read_text(encoding="utf-8")
CASES = [
    (
        r"the worst ratio is (\S+) at 0.8 with\sone client",
        {"threshold": 0.8, "clients": 1, "horizon": 100},
    ),
    (r"and (\S+) at 0.405 with five", {"threshold": 0.405, "clients": 5, "horizon": 100}),
    (
        r"there it is (\S+) at 0.8 with one\sclient",
        {"threshold": 0.8, "clients": 1, "discount": 0.99},
    ),
    (
        r"for example (\S+) at 0.95\swith 100 rounds",
        {"threshold": 0.95, "clients": 1, "horizon": 100},
    ),
]


@pytest.mark.parametrize(
    ("said", "problem"), CASES, ids=["horizon", "five clients", "discount", "edge"]
)
def test_a_worst_case_made_again(
    said: str, problem: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    benchmark = importlib.import_module("optimal")
    ratio = benchmark.ratios(benchmark.Problem(pb.Bernoulli(), **problem), simulate=False).optimal
    found = re.search(said, PAGE)
    assert found is not None
    assert found[1] == f"{ratio:.2f}"
