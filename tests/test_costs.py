"""What must not grow: bytes, calls, kernels and imports are counted, never timed.

A count says the same on every machine, so a test of it cannot be unlucky.  How long
things take is measured by `make bench`.
"""

import os
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import profitable as pb
from profitable.agent.changes import SHORTEST_LOG
from profitable.agent.shared_table import DRAWS_KEPT, FEWEST_ROUNDS, MOST_ROUNDS

# The limits: today's numbers, with a margin where Python or a library may need another.
# Whoever makes something cheaper lowers its limit here.
DECISION_BYTES = 1_000  # kl-ucb and bayes-ucb, however many categories: 400 today
OPTIMAL_BYTES = 9  # for each category: the accepted rounds before (8) and the decision (1)
OPTIMAL_CONSTANT = 1_500  # 700 today
DRAW_BYTES = 8  # ts: for each category and round whose draws are kept ...
DRAW_CONSTANT = 24_000  # ... and the stream, which draws 1 024 at a time: 17 700 today
OBSERVE_BYTES = 1_000  # one reward, however many categories: 500 today
# The table is copied when the log is full; its smallest has room for so many rewards.
REWARDS_PER_COPY = SHORTEST_LOG
# Calls of functions, those of C included: decide and accepts, where there is evidence
# against the category; observe one reward.  Two of each are the lock.
CALLS = {"kl-ucb": (10, 8), "ts": (15, 8)}
# Kernels for a first decision (none), and for a first decision and observation.
KERNELS = {
    "kl-ucb": (0, 38),  # 36 today
    "ts": (0, 50),  # 47 today
}
PRINTED_KERNELS = 48  # for a first decision, two rewards, and a printed decision: 45 today
SIMULATED_KERNELS = 40  # then for a simulation of four policies: 39 today
# Modules that Python has loaded; Python alone has 33.
IMPORTED = 75  # `import profitable`: 63 today
HELP_IMPORTED = 380  # `profitable --help`: 350 today
NEVER_FOR_HELP = {
    *("numba", "llvmlite", "numpy", "scipy", "pandas", "polars", "matplotlib", "altair"),
    *("sqlalchemy", "pyarrow", "dask"),
}

SIZES = (5, 1_000, 100_000)
ROUNDS = SHORTEST_LOG + 6  # so that the log is full once, and all kept draws are used once


@cache
def categories(size: int) -> list[pb.Category]:
    family = pb.Bernoulli()
    return [pb.Category(f"c{k}", family, threshold=0.5) for k in range(size)]


def agent_after_some_rounds(policy: str, size: int) -> pb.Agent:
    """Return an agent that has everything compiled and nothing to prepare."""
    agent = pb.Agent(categories(size), policy=policy, seed=1)
    for _ in range(3):
        agent.decide().accepts("c1")
        agent.observe("c1", [1.0])
    return agent


def allocated(work: Callable[[], object]) -> int:
    """Return the most bytes that were held at a time, beyond those held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def bytes_per_step(policy: str, size: int) -> tuple[list[int], list[int]]:
    """Return the bytes of decisions and of observations of one reward, [ROUNDS]."""
    agent = agent_after_some_rounds(policy, size)
    decided: list[int] = []
    observed: list[int] = []
    for _ in range(ROUNDS):
        decided.append(allocated(lambda: agent.decide().accepts("c0")))
        observed.append(allocated(lambda: agent.observe("c0", [1.0])))
    return decided, observed


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("policy", ["kl-ucb", "bayes-ucb"])
def test_a_decision_by_time_allocates_the_same_for_any_number_of_categories(
    policy: str, size: int
) -> None:
    decided, _ = bytes_per_step(policy, size)
    assert max(decided) <= DECISION_BYTES


@pytest.mark.parametrize("size", SIZES)
def test_thompson_sampling_allocates_its_draws(size: int) -> None:
    decided, _ = bytes_per_step("ts", size)
    rounds = min(max(DRAWS_KEPT // size, FEWEST_ROUNDS), MOST_ROUNDS)
    # When those rounds are over, their draws get the counts at their end: one row more.
    assert max(decided) <= DRAW_BYTES * size * (rounds + 1) + DRAW_CONSTANT
    assert statistics.median(decided) <= DRAW_CONSTANT  # in between, nothing is allocated
    assert sum(each > DRAW_CONSTANT for each in decided) <= -(-ROUNDS // rounds)


@pytest.mark.parametrize("size", SIZES)
def test_optimal_allocates_its_counts_and_its_decision(size: int) -> None:
    decided, _ = bytes_per_step("optimal", size)
    assert max(decided) <= OPTIMAL_BYTES * size + OPTIMAL_CONSTANT


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("policy", ["kl-ucb", "bayes-ucb", "ts", "optimal"])
def test_a_reward_allocates_the_same_for_any_number_of_categories(policy: str, size: int) -> None:
    _, observed = bytes_per_step(policy, size)
    copies = sum(each > OBSERVE_BYTES for each in observed)
    assert copies <= -(-ROUNDS // REWARDS_PER_COPY)


def test_a_decision_writes_nothing_and_a_reward_one_column() -> None:
    agent = agent_after_some_rounds("kl-ucb", 1_000)
    agent.observe({f"c{k}": [0.0] * 9 for k in range(500)})
    raw = agent.ledger.raw
    before = raw.tobytes()
    decision = agent.decide()
    assert [decision.accepts("c0"), decision.accepts("c999")] == [False, True]
    assert agent.ledger.raw is raw
    assert raw.tobytes() == before
    earlier = raw.copy()
    agent.observe("c7", [1.0])
    assert agent.ledger.raw is raw
    changed = (raw.view(np.int64) != earlier.view(np.int64)).any(axis=0)
    assert np.flatnonzero(changed).tolist() == [7]


def calls(work: Callable[[], object]) -> list[str]:
    """Return the functions that are called, those of C included."""
    called: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_qualname)
        elif event == "c_call":
            called.append(getattr(argument, "__qualname__", str(argument)))

    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(earlier)
    return called[1:-1]  # without `work` and `setprofile` themselves


@pytest.mark.parametrize("policy", CALLS)
def test_calls_per_decision_and_per_reward(policy: str) -> None:
    agent = agent_after_some_rounds(policy, 5)
    agent.observe("c0", [0.0] * 3)
    agent.decide().accepts("c0")  # which compiles the patience
    most_decided, most_observed = CALLS[policy]
    decided = calls(lambda: agent.decide().accepts("c0"))
    assert len(decided) <= most_decided, decided
    observed = calls(lambda: agent.observe("c0", [1.0]))
    assert len(observed) <= most_observed, observed


def python(*arguments: str, **environment: str) -> str:
    """Run Python as a user would; return what it prints."""
    variables = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("NUMBA", "PYTEST", "PROFITABLE", "COV"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=variables | environment,
    ).stdout


FIRST = """
import profitable as pb
from profitable.kernels.compile import compiled_so_far
agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy={policy!r}, seed=1)
agent.decide().accepts("a")
print(compiled_so_far())
agent.observe("a", [1.0])
agent.decide().accepts("a")
print(compiled_so_far())
"""


@pytest.mark.parametrize("policy", KERNELS)
def test_kernels_compiled_for_a_first_decision_and_reward(policy: str, tmp_path: Path) -> None:
    printed = python("-c", FIRST.format(policy=policy), NUMBA_CACHE_DIR=str(tmp_path))
    first, both = map(int, printed.split())
    assert first <= KERNELS[policy][0]
    assert 0 < both <= KERNELS[policy][1]


PRINTED = """
import profitable as pb
from profitable.kernels.compile import compiled_so_far
agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb", seed=1)
agent.decide()
agent.observe("a", [1, 0])
str(agent.decide())
print(compiled_so_far())
"""
SIMULATED = """
import profitable as pb
from profitable.kernels.compile import compiled_so_far
clients = pb.OnePlusPoisson(rate=3.0)
truths = [
    pb.Truth(pb.Category(name, pb.Bernoulli(), threshold=0.2), mean=mean, clients=clients)
    for name, mean in (("a", 0.1), ("b", 0.3))
]
policies = ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts"]
options = {"horizon": 1_000, "runs": 10, "workers": 1, "progress": False}
pb.simulate(pb.Scenario("two", truths), policies, seed=1, **options)
print(compiled_so_far())
"""


@pytest.mark.slow
def test_kernels_compiled_for_a_printed_decision_and_then_a_simulation(tmp_path: Path) -> None:
    cache = str(tmp_path)
    assert 0 < int(python("-c", PRINTED, NUMBA_CACHE_DIR=cache)) <= PRINTED_KERNELS
    assert 0 < int(python("-c", SIMULATED, NUMBA_CACHE_DIR=cache)) <= SIMULATED_KERNELS


def test_modules_that_import_profitable_loads() -> None:
    modules = python("-c", "import sys, profitable; print(*sys.modules)").split()
    assert not NEVER_FOR_HELP & {*modules}
    assert len(modules) <= IMPORTED


HELP = """
import contextlib, io, runpy, sys
sys.argv = ["profitable", "--help"]
with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
    runpy.run_module("profitable", run_name="__main__")
assert "Usage" in shown.getvalue()
print(*sys.modules)
"""


def test_modules_that_help_loads() -> None:
    modules = python("-c", HELP).split()
    assert not NEVER_FOR_HELP & {*modules}
    assert len(modules) <= HELP_IMPORTED, len(modules)
