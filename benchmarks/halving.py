"""Measure how many runs successive halving saves, and how often it errs.

The settings are those of the example `forget`, in the worlds in which the two
categories swap sides every 30, 100 and 300 rounds, up to 600 rounds.  The truth is a
study without halving and with many runs.  Then the same study is played with halving,
with seeds of its own, again and again.

.venv/bin/python benchmarks/halving.py [studies] [runs] [runs of the truth]
"""

import sys
from dataclasses import replace

import profitable as pb

AXES = {"n": [30, 100, 300], "forget": [0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999]}
TRUTH_SEED = 10**6


def main() -> None:
    studies, runs, many = (
        int(each) for each in (*sys.argv[1:], *("40", "400", "4000")[len(sys.argv) - 1 :])
    )
    plan = pb.Study.load("forget", axes=AXES, horizon=600, runs=runs)
    truth = pb.study(replace(plan, halving=False, runs=many, seed=TRUTH_SEED), progress=False)
    full = plan.size * plan.runs
    print(
        f"{plan.size} settings in {len(plan.worlds)} worlds; halving plays "
        f"{plan.planned_runs} of {full} runs"
    )
    found = [pb.study(replace(plan, seed=seed), progress=False) for seed in range(1, studies + 1)]
    for place, best in enumerate(truth.best):
        regrets = {
            setting.policy: float(truth.curves[i].regret[-1])
            for setting, i in zip(plan.worlds[place].settings, plan.places[place], strict=True)
        }
        dropped = chosen = significant = 0
        excess: list[float] = []
        for each in found:
            mine = each.best[place]
            names = [setting.policy for setting in plan.worlds[place].settings]
            dropped += each.dropped[plan.places[place][names.index(best.policy)]] > 0
            chosen += mine.policy == best.policy
            significant += mine.policy != best.policy and best.policy not in mine.indistinguishable
            excess.append(regrets[mine.policy] / best.regret - 1.0)
        more, error = best.difference, best.difference_error
        print(
            f"{best.world}: truly best {best.policy} {best.regret:.1f} +- {best.stderr:.1f}, ",
            end="",
        )
        print(
            f"second worse by {more:.1f} +- {error:.1f}; of {studies} studies, "
            f"dropped in {dropped}, ",
            end="",
        )
        print(
            f"chosen in {chosen}, significantly worse in {significant}; the chosen one has ", end=""
        )
        print(f"{sum(excess) / studies:.2%} more regret, at most {max(excess):.2%}")


if __name__ == "__main__":
    main()
