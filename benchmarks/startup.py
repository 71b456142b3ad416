"""Measure the cost of starting: imports, the first decision, the help.

    .venv/bin/python benchmarks/startup.py [--quick]

Processes take turns, and their CPU seconds count.

Then what first use costs, when nothing is compiled yet: a printed decision, and a small
simulation after it.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from common import process_cpu
from rows import Group, Row, alone, limited

REPEATS, QUICK_REPEATS = 7, 3
ALONE = "import numba, scipy.special"
PACKAGE = "import profitable"
BARE = f"{ALONE}; import sqlalchemy.dialects.postgresql, narwhals; from pydantic import BaseModel"
EVERYTHING = "import profitable as pb; [getattr(pb, name) for name in pb.__all__]"
DECISION = """
import profitable as pb
category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
agent = pb.Agent([category], policy=pb.ThompsonSampling(), seed=1)
agent.decide(); agent.observe("a", [1, 0]); agent.decide().accepts("a")
"""
HELP = "import sys; sys.argv = ['profitable', '--help']; from profitable.cli import main; main()"
PRINTED = """
import profitable as pb
category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
agent = pb.Agent([category], policy=pb.Policy.parse({policy!r}), seed=1)
agent.decide(); agent.observe("a", [1, 0]); print(agent.decide())
"""
SIMULATED = """
import profitable as pb
clients = pb.OnePlusPoisson(rate=3.0)
truths = [
    pb.Truth(pb.Category(name, pb.Bernoulli(), threshold=0.2), mean=mean, clients=clients)
    for name, mean in (("a", 0.1), ("b", 0.3))
]
policies = ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts"]
print(pb.simulate(pb.Scenario("two", truths), policies, horizon=1_000, runs=10, seed=1))
"""
PEER = "numba and scipy.special"
LIBRARIES = f"{PEER}, SQLAlchemy, pydantic, narwhals"
PEERS = {PEER: ALONE, LIBRARIES: BARE}
STARTS: dict[str, tuple[str, str, float | None]] = {  # the bar: times the CPU time of the peer
    "import profitable": (PACKAGE, PEER, 1.2),
    "import every public name": (EVERYTHING, LIBRARIES, 1.2),
    "profitable --help": (HELP, PEER, 1.2),
    "first decision, warm kernels": (DECISION, PEER, None),
}
FIRST_DECISION, FIRST_SIMULATION = 5.0, 12.0  # CPU seconds from an empty cache


def starts(*, repeats: int) -> list[Row]:
    """Each start beside importing the bare libraries."""
    codes = {**PEERS, **{name: code for name, (code, _, _) in STARTS.items()}}
    for code in codes.values():
        process_cpu(code)
    turns = [[process_cpu(code) for code in codes.values()] for _ in range(repeats)]
    times = dict(zip(codes, map(statistics.median, zip(*turns, strict=True)), strict=True))
    return [
        Row(f"{name} / {peer}", times[name], times[peer], "s", bar=bar)
        for name, (_, peer, bar) in STARTS.items()
    ]


def first_uses(policy: str) -> list[Row]:
    """Compile for a printed decision, then what a simulation needs more."""
    with tempfile.TemporaryDirectory() as folder:
        decision = process_cpu(PRINTED.format(policy=policy), NUMBA_CACHE_DIR=folder)
        simulation = process_cpu(SIMULATED, NUMBA_CACHE_DIR=folder)
    return [
        limited(f"first decision, nothing compiled, {policy}", decision, FIRST_DECISION, "s"),
        limited(f"then a simulation of four policies, {policy}", simulation, FIRST_SIMULATION, "s"),
    ]


def groups(*, quick: bool) -> Iterator[Group]:
    repeats = QUICK_REPEATS if quick else REPEATS
    yield Group("imports and help", partial(starts, repeats=repeats))
    for policy in ("kl-ucb",) if quick else ("kl-ucb", "ts"):
        yield Group(f"first use, {policy}", partial(first_uses, policy))


if __name__ == "__main__":
    sys.exit(alone(groups))
