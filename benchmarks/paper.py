"""Time `profitable paper`: the four experiments at full size, and the report.

python benchmarks/paper.py [runs]
"""

import sys
import tempfile
import time
from pathlib import Path

from profitable.common.text_tables import text_table
from profitable.paper import credit
from profitable.paper.experiment import PAPER, choose
from profitable.paper.paper_report import write_report
from profitable.paper.paper_summary import summarise
from profitable.paper.reproduction import conduct
from profitable.policy.policies import ThompsonSampling


def main(runs: int | None) -> None:
    experiments = choose(PAPER, variant="paper", runs=runs, quick=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Compiled kernels.
        conduct(choose(PAPER, variant="paper", runs=100, quick=False), folder=folder / "warm")
        start = time.perf_counter()
        reproduction = conduct(experiments, folder=folder / "paper")
        simulated = time.perf_counter() - start
        example = credit.run(ThompsonSampling(), rounds=500, plays=50, seed=1)
        write_report(
            reproduction,
            example,
            summarise(reproduction, example),
            folder / "paper",
            command="benchmark",
        )
        reported = time.perf_counter() - start - simulated
    rows: list[list[str]] = []
    for trial in reproduction.trials.values():
        for curve in sorted(trial.result.curves, key=lambda curve: -curve.seconds):
            share = curve.seconds / (simulated + reported)
            rows.append(
                [trial.experiment.name, curve.policy, f"{curve.seconds:.1f} s", f"{share:.0%}"]
            )
    print(text_table(("experiment", "policy", "time", "share"), rows))
    print(
        f"\nsimulations {simulated:.1f} s, report {reported:.1f} s, together "
        f"{simulated + reported:.1f} s (bar: 180 s)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
