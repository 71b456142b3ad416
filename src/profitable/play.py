"""Play a block of runs: streams of random numbers, the kernels, and the numbers of each run."""

import hashlib
from typing import Any

import numpy as np

from profitable.curve import PARTS, Layout
from profitable.custom import run_custom
from profitable.job import Job, policy_key
from profitable.kernels import events, run
from profitable.kernels.draw import draw_total
from profitable.kernels.law import GAMMA
from profitable.plan import Plan
from profitable.policies import Policy
from profitable.scenario import Truth
from profitable.types import FloatArray, IntArray


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The random numbers of that name: independent of all others, the same on every machine."""
    digests = [int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:16], "big") for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *digests])))


def compile_kernels(job: Job) -> None:
    """Run nothing, so that kernels are compiled here and now, where Ctrl-C can stop it, and not by a worker."""
    flags = np.zeros(2, dtype=np.int64)
    for which, plans in enumerate(job.plans):
        whole = (np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1), dtype=np.int64))
        arrays = (*whole, np.zeros(0, dtype=np.int64), np.zeros((0, run.OUTCOME_COLUMNS)))
        if isinstance(job.policies[which], Policy):
            _play(job, which, 0, job.scenario.truths[0], plans[0], flags, arrays)


def play_block(job: Job, which: int, block: int, flags: IntArray) -> FloatArray | None:
    """The numbers of one block of runs of one policy, [runs, columns]; None if told to stop."""
    runs = job.runs_in(block)
    layout = Layout(job.checkpoints.size, len(job.scenario.truths))
    rows = np.zeros((runs, layout.size))
    right = np.ones(runs, dtype=np.bool_)
    accepted_columns: list[FloatArray] = []
    for k, (truth, plan) in enumerate(zip(job.scenario.truths, job.plans[which], strict=True)):
        accepted = np.zeros((runs, job.checkpoints.size), dtype=np.int64)
        counted = np.zeros((runs, job.checkpoints.size if plan.listed.size else 1), dtype=np.int64)
        clients = np.zeros(runs, dtype=np.int64)
        outcome = np.zeros((runs, run.OUTCOME_COLUMNS))
        if not _play(job, which, block, truth, plan, flags, (accepted, counted, clients, outcome)):
            return None
        accepted_columns.append(accepted.astype(np.float64))
        # Rounds are subtracted as integers: at T = 10^15 products of rounds and clients are no longer exact.
        if plan.listed.size:
            wrong = plan.listed[job.checkpoints] - counted if truth.profitable else counted
            weight = truth.loss
        else:
            wrong = job.checkpoints - accepted if truth.profitable else accepted
            weight = truth.loss * truth.clients.average
        rows[:, layout.place("profitable" if truth.profitable else "unprofitable")] += weight * wrong
        if truth.loss > 0.0:
            right &= (outcome[:, run.LAST_ACCEPTED] != 0.0) == truth.profitable
        rows[:, layout.place("clients")][:, k] = clients
        profit = _profit(job, which, block, truth, plan, clients, outcome)
        rows[:, layout.place("profit")][:, k] = profit
        rows[:, layout.place("total_profit")] += profit[:, None]
    rows[:, layout.place("regret")] = rows[:, layout.place("profitable")] + rows[:, layout.place("unprofitable")]
    for part in PARTS:
        values = rows[:, layout.place(part)]
        rows[:, layout.place(f"{part}_rise")] = values[:, -1:] - values
    rows[:, layout.place("accepted")] = np.concatenate(accepted_columns, axis=1)
    rows[:, layout.place("right_set")] = right[:, None]
    return rows


def _play(job: Job, which: int, block: int, truth: Truth, plan: Plan, flags: IntArray, arrays: tuple[Any, ...]) -> bool:
    """Run the kernel for one category; False if it was told to stop."""
    policy, name = job.policies[which], truth.category.name
    runs = len(arrays[2])
    key = policy_key(policy)
    if not job.common or runs == 0:
        batches = [slice(0, runs)]
        worlds = [stream(job.seed, "world", key, name, block)]
        owns = [stream(job.seed, "own", key, name, block)]
    else:
        batches = [slice(i, i + 1) for i in range(runs)]
        worlds = [stream(job.seed, "world", name, block, i) for i in range(runs)]
        owns = [stream(job.seed, "own", key, name, block, i) for i in range(runs)]
    if not isinstance(policy, Policy):
        numbers = (worlds, flags, job.horizon, job.checkpoints)
        return run_custom(policy, truth.category, plan, *numbers, *arrays) == runs
    numbers = (plan.view, plan.truth, plan.cells, plan.listed, job.horizon, job.checkpoints)
    for batch, world, own in zip(batches, worlds, owns, strict=True):
        part = [array[batch] for array in arrays]
        if job.kernels[which] == "rounds":
            done = run.run_rounds(world, own, flags, *numbers, *part)
        else:
            done = events.run_events(world, own, flags, *numbers, True, *part)
        if done < len(part[2]):
            return False
    return True


def _profit(
    job: Job, which: int, block: int, truth: Truth, plan: Plan, clients: IntArray, outcome: FloatArray
) -> FloatArray:
    """Realised profit in money, [runs]; NaN where the rewards are known through another statistic only."""
    category = truth.category
    if not plan.knows_revenue:
        return np.full(len(clients), np.nan)
    if truth.amount_sd == 0.0:
        return outcome[:, run.EARNED] * category.worth - clients * category.price
    # Amounts do not influence decisions: those of the repaid and of the lost loans are drawn at the end, as sums.
    rng = stream(job.seed, "amounts", policy_key(job.policies[which]), category.name, block)
    shape = (category.price / truth.amount_sd) ** 2
    repaid, growth = outcome[:, run.SUCCESSES], 1.0 / category.threshold

    def lent(loans: float) -> float:
        return draw_total(rng, GAMMA, shape, 0.0, 0.0, category.price, loans) if loans > 0.0 else 0.0

    back = np.array([lent(number) for number in repaid])
    lost = np.array([lent(number) for number in clients - repaid])
    return (growth - 1.0) * back - lost
