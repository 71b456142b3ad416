"""Lazy functions, and the same numbers without them: on public numba alone."""

import json
import logging
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from profitable.kernels.compile import TESTED, is_tested, kernel, lazy
from profitable.kernels.law import Law

ROOT = Path(__file__).parent.parent.parent
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
UNKNOWN = "import numba; numba.__version__ = '9.9.0'\n"
DECIDE = """
import json, sys
import profitable as pb

categories = [pb.Category("a", pb.Bernoulli(), threshold=0.5)]
agent = pb.Agent(categories, policy="bayes-ucb", seed=1)
for size in (1, 30):
    agent.decide()
    agent.observe("a", [0] * size)
numbers = [number.hex() for number in agent.decide().evidence.tolist()]
"""
SIMULATE = """
category = pb.Category("a", pb.Exponential(), threshold=2.5, bound=50.0)
truth = pb.Truth(category, mean=2.0, clients=pb.OnePlusPoisson(rate=2.0))
for kernel in ("events", "rounds"):
    scenario, policies = pb.Scenario("a", [truth]), ["kl-ucb", "ts", "kl-emp-ucb"]
    result = pb.simulate(scenario, policies, horizon=300, runs=5, kernel=kernel, progress=False)
    numbers += [number.hex() for curve in result.curves for number in curve.regret.tolist()]
"""
PRINT = """
print(json.dumps(["profitable.kernels.lazy_compile" in sys.modules, numbers]))
"""


def printed(
    code: str, python: str | Path = sys.executable, **variables: str
) -> tuple[bool, list[str]]:
    """Whether a process compiled lazily, and its numbers, to the last bit."""
    done = subprocess.run(
        [str(python), "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    is_lazy, numbers = json.loads(done.stdout)
    return is_lazy, numbers


@lazy
def halved(law: Law, whole: float) -> float:
    if whole < 0.0:
        raise ValueError("negative")
    return 0.5 * whole + law.low


@lazy
def broken(whole: float) -> float:
    return whole.no_such_thing  # type: ignore[attr-defined]


@lazy
def whole_number(whole: float) -> float:
    return int(whole)


@kernel
def sum_of_halves(law: Law, number: int) -> float:
    total = 0.0
    for i in range(number):
        total += halved(law, i)  # an integer, where the signature says float
    return total


@kernel
def use_broken(whole: float) -> float:
    return broken(whole) if whole > 0.0 else 0.0


@kernel
def use_whole_number(whole: float) -> float:
    return whole_number(whole)


@kernel
def half_of(whole: float) -> float:
    return halved(Law(0, 0.0, 1.0, 1.0), whole)


def test_a_lazy_function_is_called_from_kernels_and_from_python_with_its_errors() -> None:
    law = Law(0, 1.0, 1.0, 1.0)
    assert sum_of_halves(law, 4) == 4 + 0.5 * 6
    assert halved(law, 3.0) == 2.5
    for call in (half_of, lambda whole: halved(law, whole)):
        with pytest.raises(ValueError, match="negative"):
            call(-1.0)


def test_a_lazy_function_that_cannot_be_compiled_is_an_error_when_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert use_broken(0.0) == 0.0
    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError, match="broken"):
        use_broken(1.0)
    assert "broken" in caplog.text
    assert "no_such_thing" in caplog.text


def test_a_lazy_function_returns_what_it_says(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError, match="whole_number"):
        use_whole_number(1.0)
    assert "returns int64, not float64" in caplog.text


def test_public_numba_computes_the_same_numbers() -> None:
    lazily = printed(DECIDE + PRINT)
    plainly = printed(DECIDE + PRINT, PROFITABLE_LATE="0")
    assert (lazily[0], plainly[0]) == (True, False)
    assert lazily[1] == plainly[1]


def test_an_unknown_numba_is_used_by_its_public_interface() -> None:
    assert printed(UNKNOWN + "import json, sys, profitable; numbers = []" + PRINT) == (False, [])


@pytest.mark.skipif(not SOAK, reason="two minutes; part of make soak")
def test_an_unknown_numba_computes_the_same_numbers() -> None:
    lazily, plainly = (
        printed(DECIDE + SIMULATE + PRINT),
        printed(UNKNOWN + DECIDE + SIMULATE + PRINT),
    )
    assert (lazily[0], plainly[0]) == (True, False)
    assert lazily[1] == plainly[1]


def test_the_declared_range_of_numba_is_the_tested_one() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest, newest = TESTED
    low, below = f"{oldest[0]}.{oldest[1]}", f"{newest[0]}.{newest[1] + 1}"
    assert f'"numba>={low},<{below}"' in project
    assert is_tested(f"{low}.0")
    assert not is_tested(f"{below}.0")


@pytest.mark.skipif(not SOAK, reason="a registry and minutes; part of make soak")
@pytest.mark.parametrize("which", ["oldest", "newest"])
@pytest.mark.parametrize("mode", ["1", "0"])
def test_the_oldest_and_the_newest_numba(which: str, mode: str, tmp_path: Path) -> None:
    """An environment with what the package declares, and that numba."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'^    "([a-z]+[><=].*?)"', project.split("dependencies = [")[1], re.M)
    if which == "oldest":
        numba = f"numba=={TESTED[0][0]}.{TESTED[0][1]}.0"
        declared = [numba if each.startswith("numba") else each for each in declared]
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *declared], check=True)
    expected = printed(DECIDE + SIMULATE + PRINT)
    cache, source = str(tmp_path / "cache"), str(ROOT / "src")
    found = printed(
        DECIDE + SIMULATE + PRINT,
        python,
        PYTHONPATH=source,
        NUMBA_CACHE_DIR=cache,
        PROFITABLE_LATE=mode,
    )
    assert found == (mode == "1", expected[1])
