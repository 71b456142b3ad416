"""What starting costs: importing, the first decision, the command line's help; processes take turns.

make bench
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import verdict

REPEATS = 7
ALONE = "import numba, scipy.special"
PACKAGE = "import profitable"
EVERYTHING = "import profitable as pb; [getattr(pb, name) for name in pb.__all__]"
DECISION = """
import profitable as pb
agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=pb.ThompsonSampling(), seed=1)
agent.decide(); agent.observe("a", [1, 0]); agent.decide().accepts("a")
"""
HELP = "import sys; sys.argv = ['profitable', '--help']; from profitable.cli import main; main()"


def process(code: str, **environment: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | environment)
    return time.perf_counter() - start


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
        print(f"{'first decision, cold kernels':32}{process(DECISION, NUMBA_CACHE_DIR=str(Path(folder))):10.2f}")


if __name__ == "__main__":
    main()
