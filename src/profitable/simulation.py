"""simulate: policies in a scenario, many runs, as many workers as there are cores; the numbers depend on the seed alone.

Runs come in fixed blocks.  Each block of each policy and category has its own random streams, named by (seed, policy,
category, block), and blocks are added up in their order: neither the workers nor the other policies leave a trace.
"""

import hashlib
import math
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from profitable import check
from profitable.curve import Curve, Layout
from profitable.custom import check_custom, custom_plan, run_custom
from profitable.errors import Interrupted, ParameterError
from profitable.kernels import run
from profitable.kernels.draw import draw_total
from profitable.kernels.law import GAMMA
from profitable.moments import Moments
from profitable.plan import Plan, make_plan
from profitable.policies import Policy
from profitable.progress import Progress
from profitable.result import Result, paired
from profitable.scenario import Scenario, Truth
from profitable.types import FloatArray, IntArray

BLOCK = 100  # runs; part of what a seed means, so never to be changed
KERNELS = ("events", "rounds")
MOST_HORIZON = 10**15
MOST_RUNS = 10**9
SAVE_EVERY = 10.0  # seconds between two savings of what is finished
POINTS_PER_DECADE = 10
MANY = 1e8  # rewards drawn one by one in a run: worth a warning


@dataclass(frozen=True)
class Job:
    """Everything that determines the numbers."""

    scenario: Scenario
    policies: tuple[Any, ...]
    names: tuple[str, ...]
    kernels: tuple[str, ...]
    plans: tuple[tuple[Plan, ...], ...]
    horizon: int
    runs: int
    seed: int
    checkpoints: IntArray
    common: bool

    @property
    def blocks(self) -> int:
        """Blocks of runs, the last one possibly smaller."""
        return -(-self.runs // BLOCK)

    def runs_in(self, block: int) -> int:
        """Runs of a block."""
        return min(BLOCK, self.runs - block * BLOCK)

    def empty(self) -> Result:
        """The result before the first run."""
        numbers = zip(self.names, self.kernels, strict=True)
        curves = [Curve.empty(name, kernel, self.scenario, self.checkpoints) for name, kernel in numbers]
        pairs = Moments.empty(len(curves) ** 2 * self.checkpoints.size) if self.common else None
        return Result(self.scenario, self.horizon, self.runs, self.seed, self.checkpoints, curves, pairs)


def simulate(
    scenario: Scenario,
    policies: Sequence[Any],
    *,
    horizon: int,
    runs: int,
    seed: int = 1,
    checkpoints: Sequence[int] | None = None,
    kernel: str = "events",
    workers: int | None = None,
    common_random_numbers: bool = False,
    progress: bool | None = None,
    out: Path | str | None = None,
    resume: bool = False,
) -> Result:
    """Play `policies` (policies, their names, or your own: see `profitable.custom`) in a scenario, `runs` times each.

    - `kernel`: "events" skips time, "rounds" is the definition; they have the same law.  Your own policies and
      `common_random_numbers` go round by round.
    - `common_random_numbers`: the k-th accepted batch of a category is the same for all policies, so that their
      differences (`Result.difference`) have smaller errors.
    - `checkpoints`: the rounds at which results are kept; spaced evenly in log t unless given.
    - `workers`: threads; as many as there are cores unless given.  The numbers do not depend on it.
    - `progress`: a bar on standard error; shown on a terminal unless told otherwise.
    - `out`: a folder that receives the result, and what is finished every few seconds; with `resume` a run that was
      interrupted is continued from there.

    Ctrl-C raises `Interrupted`, whose `result` holds the finished runs.

    >>> from profitable import Bernoulli, Category, Scenario, Truth
    >>> coin = Truth(Category("coin", Bernoulli(), threshold=0.6), mean=0.5, clients=4)
    >>> result = simulate(Scenario("one coin", [coin]), ["kl-ucb", "ts"], horizon=10**9, runs=200, seed=1)
    >>> bool(abs(result["kl-ucb"].regret[-1] / result.lower_bound[-1] - 1) < 0.5)
    True
    """
    job = prepare(
        scenario,
        policies,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=checkpoints,
        kernel=kernel,
        common_random_numbers=common_random_numbers,
    )
    threads = check.whole("workers", workers if workers is not None else _cores(), most=1024)
    result = job.empty()
    keeper = None
    if out is not None:
        from profitable.result_file import Keeper

        keeper = Keeper(Path(out))
        if resume and (earlier := keeper.earlier(result)) is not None:
            result = earlier
    result.warnings = _warnings(job)
    with Progress(total=job.blocks, done=result.finished // BLOCK, shown=progress) as bar, Patient() as patient:
        _work(job, result, threads, bar, patient, keeper.save if keeper else None)
    if keeper:
        keeper.save(result)
    if patient.interrupted:
        problem, remedy = f"of {job.runs} are finished", "run it again with resume to go on"
        error = Interrupted("runs", result.finished, problem, remedy)
        error.result = result if result.finished else None
        raise error
    return result


class Patient:
    """Ctrl-C while this is on: remembered, so that nothing is left half done; a second one raises at once."""

    def __init__(self) -> None:
        self.interrupted = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: object) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def prepare(
    scenario: Scenario,
    policies: Sequence[Any],
    *,
    horizon: int,
    runs: int,
    seed: int,
    checkpoints: Sequence[int] | None,
    kernel: str,
    common_random_numbers: bool,
) -> Job:
    """Check every argument of `simulate` and make the plans."""
    if not isinstance(scenario, Scenario):
        raise ParameterError("scenario", scenario, "is no scenario", "give Scenario(...) or Scenario.load(path)")
    horizon = check.whole("horizon", horizon, most=MOST_HORIZON)
    runs, seed = check.whole("runs", runs, most=MOST_RUNS), check.whole("seed", seed, least=0, most=2**63 - 1)
    if kernel not in KERNELS:
        raise ParameterError("kernel", kernel, "is unknown", f"choose from {', '.join(KERNELS)}")
    if isinstance(policies, str) or not isinstance(policies, Sequence) or not policies:
        raise ParameterError("policies", policies, "is no list of policies", "give for example ['kl-ucb', 'ts']")
    points = _checkpoints(checkpoints, horizon)
    chosen: list[Any] = []
    names: list[str] = []
    kernels: list[str] = []
    plans: list[tuple[Plan, ...]] = []
    for given in policies:
        policy = Policy.parse(given) if isinstance(given, str) else given
        own = not isinstance(policy, Policy)
        name = check_custom(policy) if own else str(given)
        if any(_key(policy) == _key(other) for other in chosen):
            raise ParameterError("policy", name, "is given twice", "give each policy once")
        by_rounds = own or common_random_numbers or kernel == "rounds"
        chosen.append(policy)
        names.append(name)
        kernels.append("rounds" if by_rounds else "events")
        plans.append(
            tuple(
                custom_plan(truth, horizon)
                if own
                else make_plan(policy, truth, horizon=horizon, every_reward=_every_reward(truth, by_rounds, common))
                for truth in scenario.truths
                for common in (common_random_numbers,)
            )
        )
    numbers = (horizon, runs, seed, points, common_random_numbers)
    return Job(scenario, tuple(chosen), tuple(names), tuple(kernels), tuple(plans), *numbers)


def _every_reward(truth: Truth, by_rounds: bool, common: bool) -> bool:
    """Round by round, rewards whose sum is not the statistic's are drawn singly, so that profit is known."""
    lens = truth.category.family.lens()
    return common or (by_rounds and lens.statistic != 0)


def _checkpoints(given: Sequence[int] | None, horizon: int) -> IntArray:
    if given is None:
        decades = math.log10(horizon)
        spaced = np.round(np.logspace(0.0, decades, round(decades * POINTS_PER_DECADE) + 1)).astype(np.int64)
        return np.unique(np.append(spaced[spaced < horizon], horizon))
    points = [check.whole("checkpoints", each, most=MOST_HORIZON) for each in given]
    if not points:
        raise ParameterError("checkpoints", given, "is empty", "give at least one round, or leave it out")
    for point in points:
        if point > horizon:
            remedy = f"give rounds from 1 to {horizon}"
            raise ParameterError("checkpoints", point, f"is beyond the horizon {horizon}", remedy)
    return np.unique(np.array(points, dtype=np.int64))


def _cores() -> int:
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _warnings(job: Job) -> list[str]:
    slow: list[str] = []
    for name, kernel, plans in zip(job.names, job.kernels, job.plans, strict=True):
        for truth, plan in zip(job.scenario.truths, plans, strict=True):
            expected = job.horizon * truth.clients.average
            if kernel == "events" and expected > MANY and (plan.draws_every_reward or not math.isfinite(plan.view[8])):
                what = "draws rewards one by one" if plan.draws_every_reward else "goes through accepted rounds singly"
                slow.append(f"{name} {what} in {truth.category.name!r}, up to {expected:.0e} per run: this takes long")
    return slow


def _key(policy: Any) -> str:
    return repr(policy) if isinstance(policy, Policy) else f"custom {policy.name}"


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The random numbers of that name: independent of all others, the same on every machine."""
    digests = [int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:16], "big") for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *digests])))


def play_block(job: Job, which: int, block: int, flags: IntArray) -> FloatArray | None:
    """The numbers of one block of runs of one policy, [runs, columns]; None if told to stop."""
    runs = job.runs_in(block)
    layout = Layout(job.checkpoints.size, len(job.scenario.truths))
    rows = np.zeros((runs, layout.size))
    right = np.ones(runs, dtype=np.bool_)
    points = job.checkpoints.astype(np.float64)
    accepted_columns: list[FloatArray] = []
    for k, (truth, plan) in enumerate(zip(job.scenario.truths, job.plans[which], strict=True)):
        accepted = np.zeros((runs, job.checkpoints.size), dtype=np.int64)
        counted = np.zeros((runs, job.checkpoints.size if plan.listed.size else 1), dtype=np.int64)
        clients = np.zeros(runs, dtype=np.int64)
        outcome = np.zeros((runs, run.OUTCOME_COLUMNS))
        if not _play(job, which, block, truth, plan, flags, (accepted, counted, clients, outcome)):
            return None
        accepted_columns.append(accepted.astype(np.float64))
        if plan.listed.size:
            met, all_clients = counted.astype(np.float64), plan.listed[job.checkpoints].astype(np.float64)
        else:
            met, all_clients = accepted * truth.clients.average, points * truth.clients.average
        if truth.profitable:
            rows[:, layout.place("profitable")] += truth.loss * (all_clients - met)
        else:
            rows[:, layout.place("unprofitable")] += truth.loss * met
        if truth.loss > 0.0:
            right &= (outcome[:, run.LAST_ACCEPTED] != 0.0) == truth.profitable
        rows[:, layout.place("clients")][:, k] = clients
        profit = _profit(job, which, block, truth, plan, clients, outcome)
        rows[:, layout.place("profit")][:, k] = profit
        rows[:, layout.place("total_profit")] += profit[:, None]
    rows[:, layout.place("regret")] = rows[:, layout.place("profitable")] + rows[:, layout.place("unprofitable")]
    for part in ("regret", "profitable", "unprofitable"):
        values = rows[:, layout.place(part)]
        rows[:, layout.place(f"{part}_rise")] = values[:, -1:] - values
    rows[:, layout.place("accepted")] = np.concatenate(accepted_columns, axis=1)
    rows[:, layout.place("right_set")] = right[:, None]
    return rows


def _play(job: Job, which: int, block: int, truth: Truth, plan: Plan, flags: IntArray, arrays: tuple[Any, ...]) -> bool:
    """Run the kernel for one category; False if it was told to stop."""
    policy, name = job.policies[which], truth.category.name
    runs = len(arrays[2])
    key = _key(policy)
    if not job.common:
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
            done = run.run_events(world, own, flags, *numbers, True, *part)
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
    rng = stream(job.seed, "amounts", _key(job.policies[which]), category.name, block)
    shape = (category.price / truth.amount_sd) ** 2
    repaid, growth = outcome[:, run.SUCCESSES], 1.0 / category.threshold

    def lent(loans: float) -> float:
        return draw_total(rng, GAMMA, shape, 0.0, 0.0, category.price, loans) if loans > 0.0 else 0.0

    back = np.array([lent(number) for number in repaid])
    lost = np.array([lent(number) for number in clients - repaid])
    return (growth - 1.0) * back - lost


Task = tuple[int, int, IntArray, "Future[tuple[FloatArray | None, float]]"]


def _work(
    job: Job,
    result: Result,
    workers: int,
    bar: Progress,
    patient: Patient,
    save: Callable[[Result], object] | None,
) -> None:
    """Play all blocks that are missing and add them to the result in order, until done or interrupted."""
    first = -(-result.finished // BLOCK)
    tasks = ((block, which) for block in range(first, job.blocks) for which in range(len(job.names)))
    active: deque[Task] = deque()
    staged: list[tuple[FloatArray, float]] = []
    saved = time.monotonic()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="simulate")

    def timed(which: int, block: int, flags: IntArray) -> tuple[FloatArray | None, float]:
        start = time.perf_counter()
        rows = play_block(job, which, block, flags)
        return rows, (time.perf_counter() - start) / workers

    try:
        _submit(tasks, active, pool, timed, 3 * workers)
        while active and not patient.interrupted:
            block, which, _, future = active[0]
            wait((future,), timeout=0.1)
            bar.update(_blocks_done(job, block, which, active))
            if not future.done():
                continue
            rows, seconds = future.result()
            active.popleft()
            assert rows is not None
            staged.append((rows, seconds))
            if which == len(job.names) - 1:
                _merge(result, staged)
                staged.clear()
                if save and time.monotonic() - saved > SAVE_EVERY:
                    save(result)
                    saved = time.monotonic()
            _submit(tasks, active, pool, timed, 3 * workers)
    finally:
        for _, _, flags, _ in active:
            flags[run.STOP] = 1  # the kernels look at it in every round
        pool.shutdown(wait=True, cancel_futures=True)


def _blocks_done(job: Job, block: int, which: int, active: "deque[Task]") -> float:
    """Blocks behind us, with the part of those under way that is done."""
    policies, categories = len(job.names), len(job.scenario.truths)
    under_way = sum(float(task[2][run.DONE]) / (job.runs_in(task[0]) * categories) for task in active)
    return block + (which + under_way) / policies


def _submit(
    tasks: Iterator[tuple[int, int]],
    active: "deque[Task]",
    pool: ThreadPoolExecutor,
    play: Callable[[int, int, IntArray], tuple[FloatArray | None, float]],
    most: int,
) -> None:
    """Keep the workers busy, and not more than that: finished blocks wait for their turn in memory."""
    while len(active) < most and (task := next(tasks, None)) is not None:
        block, which = task
        flags = np.zeros(2, dtype=np.int64)
        active.append((block, which, flags, pool.submit(play, which, block, flags)))


def _merge(result: Result, staged: Sequence[tuple[FloatArray, float]]) -> None:
    """Add one block of every policy."""
    if result.pairs is not None:
        place = result.curves[0].layout.place("regret")
        result.pairs.add(paired([rows[:, place] for rows, _ in staged]))
    for curve, (rows, seconds) in zip(result.curves, staged, strict=True):
        curve.add(rows, seconds)
