"""Measure CPU seconds of everything that touches 200 000 categories.

Another checkout can be measured in the same run.

    git worktree add ../before REVISION
    .venv/bin/python benchmarks/many_categories.py [../before/src]

Only public names are used, so that old versions can be compared, too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import verdict

HERE = str(Path(__file__).parents[1] / "src")
CATEGORIES = 200_000
BAR = 5.0  # times as fast as before
POLICIES = ("kl-ucb", "ts")


def measure(policy: str, categories: int) -> dict[str, float]:
    """CPU seconds by job, with kernels that are compiled already."""
    import numpy as np

    import profitable as pb

    rng = np.random.default_rng(1)
    names = [f"segment {i}" for i in range(categories)]
    thresholds = (0.2 + 0.3 * rng.random(categories)).round(6).tolist()
    given = [
        pb.Category(name, pb.Bernoulli(), threshold=tau)
        for name, tau in zip(names, thresholds, strict=True)
    ]
    agent = pb.Agent(given, policy=pb.Policy.parse(policy), seed=1)
    agent.decide()
    outcomes = dict(zip(names, rng.integers(0, 2, (categories, 3)).tolist(), strict=True))
    seconds: dict[str, float] = {}

    def job(name: str, work: Callable[[], object]) -> None:
        start = time.process_time()
        work()
        seconds[name] = time.process_time() - start

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.json"
        job("observe a mapping", lambda: agent.observe(outcomes))
        for _ in range(20):
            agent.decide()
        job("decide", lambda: agent.decide().accepted_mask)
        job("decision.to_json", agent.decide().to_json)
        job("save", lambda: agent.save(path))
        job("load", lambda: pb.Agent.load(path))
    return seconds


def in_process(source: str, policy: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", policy]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": source}, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], 30)  # compiles
        print(json.dumps(measure(sys.argv[2], CATEGORIES)))
        return
    other = sys.argv[1] if len(sys.argv) > 1 else None
    print(f"CPU seconds for {CATEGORIES} categories{'':15}{'before':>8}{'now':>8}{'ratio':>8}")
    for policy in POLICIES:
        before = in_process(other, policy) if other else {}
        for name, seconds in in_process(HERE, policy).items():
            old = before.get(name)
            beside = (
                f"{old:8.2f}{seconds:8.2f}{old / seconds:8.1f}"
                if old
                else f"{'-':>8}{seconds:8.2f}{'-':>8}"
            )
            bar = ""
            if old is not None and name != "decide":
                bar = f"   at least {BAR:g}: {verdict(old / seconds, BAR, at_least=True)}"
            print(f"{policy + ', ' + name:45}{beside}{bar}")


if __name__ == "__main__":
    main()
