"""Compare the speed of two checkouts.

The same jobs run in processes that take turns; the best CPU time of each counts.

    git worktree add ../before REVISION
    .venv/bin/python benchmarks/before_after.py ../before/src [turns]

A ratio of 1.05 means 5 % slower than before, and more than that fails.  Only public
names are used, so that old versions can be compared, too.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rows import Group, Row, concluded, rows_of

HERE = str(Path(__file__).parents[1] / "src")
BAR = 1.05
TURNS = 3
# Jobs are measured together by how their names begin; the quick form has those with one
# of these texts.
KINDS: dict[str, tuple[str, ...]] = {
    "decide + observe": ("kl-ucb, 5 ", "ts, 5 ", "kl-ucb, 1000 ", "ts, 1000 "),
    "Bernoulli": ("kl-ucb events T = 1e+04", "ts events T = 1e+04", "kl-ucb rounds"),
    "Poisson": ("bayes-ucb", "kl-bernoulli-ucb"),
    "Exponential": (),
    "sharp Poisson": ("kl-ucb",),
}


def jobs() -> dict[str, Callable[[], object]]:
    """Return simulations with one worker, and decisions and observations one by one."""
    import profitable as pb

    def world(
        family: pb.Family,
        means: tuple[float, ...],
        thresholds: tuple[float, ...],
        bound: float | None = None,
        name: str | None = None,
    ) -> pb.Scenario:
        truths = [
            pb.Truth(
                pb.Category(f"arm {i}", family, threshold=tau, bound=bound),
                mean=mu,
                clients=pb.OnePlusPoisson(rate=3 + i),
            )
            for i, (mu, tau) in enumerate(zip(means, thresholds, strict=True))
        ]
        return pb.Scenario(name or type(family).__name__, truths)

    bernoulli = world(pb.Bernoulli(), (0.1, 0.3, 0.5, 0.5, 0.7), (0.2, 0.2, 0.4, 0.6, 0.8))
    poisson = world(pb.Poisson(), (1, 2, 3, 4, 5), (2, 1, 4, 3, 6), 100.0)
    exponential = world(pb.Exponential(), (1, 2, 3, 4, 5), (2, 1, 4, 3, 6), 100.0)
    sizes = [
        *(
            (bernoulli, policy, "events", 2_000, 10**4)
            for policy in ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts", "ucb-v")
        ),
        *(
            (bernoulli, policy, "rounds", 40, 10**4)
            for policy in ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")
        ),
        *((bernoulli, policy, "events", 1_000, 10**9) for policy in ("kl-ucb", "ts")),
        *(
            (poisson, policy, "events", 2_000, 10**4)
            for policy in ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")
        ),
        *(
            (poisson, policy, "events", 300, 10**4)
            for policy in ("kl-bernoulli-ucb", "kl-emp-ucb", "ucb-v")
        ),
        *(
            (exponential, policy, "events", 2_000, 10**4)
            for policy in ("kl-ucb", "bayes-ucb", "ts")
        ),
        *((exponential, policy, "events", 200, 10**4) for policy in ("kl-emp-ucb", "ucb-v")),
        (exponential, "kl-ucb", "rounds", 30, 10**4),
    ]

    def simulation(
        scenario: pb.Scenario, policy: str, kernel: str, runs: int, horizon: int
    ) -> Callable[[], object]:
        options = {
            "horizon": horizon,
            "runs": runs,
            "kernel": kernel,
            "workers": 1,
            "progress": False,
        }
        return lambda: pb.simulate(scenario, [policy], seed=5, **options)

    def online(policy: pb.Policy, categories: int, number: int) -> Callable[[], object]:
        names = [f"category {i}" for i in range(categories)]

        def run() -> None:
            agent = pb.Agent(
                [pb.Category(name, pb.Bernoulli(), threshold=0.45) for name in names],
                policy=policy,
                seed=1,
            )
            for i in range(number):
                name = names[i % categories]
                agent.decide().accepts(name)
                agent.observe(name, [i % 2])

        return run

    sharp = world(pb.Poisson(), (1, 2, 3, 4, 5), (1.1, 1.9, 3.1, 3.9, 5.1), name="sharp Poisson")
    sizes += [(sharp, policy, "events", 300, 10**4) for policy in ("kl-ucb", "bayes-ucb", "ts")]

    found = {
        f"{scenario.name} {policy} {kernel} T = {horizon:.0e}": simulation(
            scenario, policy, kernel, runs, horizon
        )
        for scenario, policy, kernel, runs, horizon in sizes
    }
    for policy in (pb.KLUCB(), pb.ThompsonSampling()):
        for categories in (5, 1_000):
            found[f"decide + observe, {policy}, {categories} categories"] = online(
                policy, categories, 20_000
            )
    return found


def measure(names: list[str]) -> None:
    """In a process of its own: the best of three CPU times of each job, as JSON."""
    best: dict[str, float] = {}
    every = jobs()
    for name in names:
        job = every[name]
        job()  # kernels are compiled or loaded
        for _ in range(3):
            start = time.process_time()
            job()
            best[name] = min(best.get(name, float("inf")), time.process_time() - start)
    print(json.dumps(best))


def compared(names: list[str], before: str, label: str, turns: int) -> list[Row]:
    """Let processes of both checkouts take turns, and compare their best times."""
    best: dict[str, dict[str, float]] = {before: {}, HERE: {}}
    for _ in range(turns):
        for source, seen in best.items():
            command = [sys.executable, __file__, "--measure", *names]
            environment = os.environ | {"PYTHONPATH": source}
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            for name, value in json.loads(done.stdout).items():
                seen[name] = min(seen.get(name, float("inf")), value)
    return [
        Row(f"{name} / {label}", best[HERE][name], old, "s", bar=BAR)
        for name, old in best[before].items()
    ]


def groups(before: str, *, label: str, turns: int = TURNS, quick: bool = False) -> Iterator[Group]:
    every = list(jobs())
    for kind, first in KINDS.items():
        names = [
            name
            for name in every
            if name.startswith(kind) and (not quick or any(part in name for part in first))
        ]
        if names:
            measure_them = partial(compared, names, before, label, 1 if quick else turns)
            yield Group(f"{kind} beside {label}", measure_them)


def main(before: str, turns: int) -> int:
    return concluded(rows_of(groups(before, label="before", turns=turns), {}), {})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2:])
    elif len(sys.argv) in (2, 3):
        sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else TURNS))
    else:
        sys.exit(__doc__)
