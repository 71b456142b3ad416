"""Measure the cost of starting: imports, the first decision, the help.

Processes take turns.

Then what first use costs, when nothing is compiled yet: CPU seconds of a printed
decision and of a small simulation.

make bench
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from common import verdict

REPEATS = 7
ALONE = "import numba, scipy.special"
PACKAGE = "import profitable"
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
FIRST_USES = {  # what, and the CPU seconds that it may take from an empty cache
    "printed decision, kl-ucb": (PRINTED.format(policy="kl-ucb"), 6.0),
    "printed decision, ts": (PRINTED.format(policy="ts"), 6.0),
    "simulation of four policies": (SIMULATED, 20.0),
}


def process(code: str, **environment: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | environment
    )
    return time.perf_counter() - start


def cpu_seconds(code: str, cache: str) -> float:
    """Return the CPU time of a process with a cache of kernels of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process(code, NUMBA_CACHE_DIR=cache)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    jobs = {
        "numba and scipy.special": ALONE,
        "import profitable": PACKAGE,
        "... and every public name": EVERYTHING,
        "profitable --help": HELP,
        "first decision, warm kernels": DECISION,
    }
    for code in jobs.values():
        process(code)
    rounds = [[process(code) for code in jobs.values()] for _ in range(REPEATS)]
    medians = dict(zip(jobs, map(statistics.median, zip(*rounds, strict=True)), strict=True))
    alone = medians["numba and scipy.special"]
    print(f"{'':32}{'seconds':>10}{'ratio':>8}")
    for name, value in medians.items():
        bar = (
            f"   at most 1.2: {verdict(value / alone, 1.2, at_least=False)}"
            if "import" in name or "..." in name
            else ""
        )
        print(f"{name:32}{value:10.2f}{value / alone:8.2f}{bar}")
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"{'first decision, cold kernels':32}{process(DECISION, NUMBA_CACHE_DIR=folder):10.2f}"
        )
    print(f"\n{'first use, nothing compiled yet':32}{'CPU s':>10}{'again':>8}")
    for name, (code, bar) in FIRST_USES.items():
        with tempfile.TemporaryDirectory() as folder:
            first, again = cpu_seconds(code, folder), cpu_seconds(code, folder)
        print(
            f"{name:32}{first:10.2f}{again:8.2f}   at most {bar:g}: "
            f"{verdict(first, bar, at_least=False)}"
        )


if __name__ == "__main__":
    main()
