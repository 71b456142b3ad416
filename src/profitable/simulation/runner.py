"""simulate: policies in a scenario, many runs, on all cores; the seed alone determines the numbers.

Runs come in fixed blocks.  Each block of each policy and category has its own random streams, named by (seed, policy,
category, block).  Blocks are added up in their order.  So the numbers depend neither on the workers nor on which other
policies are simulated at the same time.
"""

import logging
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from profitable.common import check
from profitable.common.files import as_path
from profitable.common.progress import Progress
from profitable.common.types import FloatArray, IntArray
from profitable.errors import Interrupted, ParameterError
from profitable.kernels.run_record import Signal
from profitable.policy.policy import Policy
from profitable.simulation.block import compile_kernels, play_block
from profitable.simulation.curve import Curve
from profitable.simulation.result import Result, paired
from profitable.simulation.running_stats import Moments
from profitable.simulation.scenario import Scenario, unlucky_starts
from profitable.simulation.settings import BLOCK, Settings, crowded_parts, prepare, slow_parts, stream_name
from profitable.theory.unlucky_start import UnluckyStarts

logger = logging.getLogger("profitable")
SAVE_EVERY = 10.0  # seconds between two saves of the finished runs


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
    progress: bool | Callable[[float], object] | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    fresh: bool = False,
) -> Result:
    """Play each of the policies in a scenario, `runs` times.

    - `policies`: policies, their names, or your own (see `profitable.simulation.custom_policy`).
    - `checkpoints`: the rounds at which results are kept; spaced evenly in log t unless given.
    - `kernel`: "events" skips time, "rounds" plays every round as in the definition.  Both have the same law.  Your own
      policies, policies that forget and `common_random_numbers` always go round by round.
    - `workers`: the number of threads; one for each core unless given.  The numbers do not depend on it.
    - `common_random_numbers`: the k-th accepted batch of a category is the same for all policies, so that their
      differences (`Result.difference`) have smaller errors.
    - `progress`: True or False for a bar on standard error, or a function that is called with the share done.  By
      default, there is a bar if standard error is a terminal.
    - `out`: a folder for the result.  The finished runs are saved there every few seconds.  A result of the same
      simulation in the folder is continued, or taken over if it is finished.  Another one is an OtherResultError.
    - `resume`: a broken result in the folder is an error.  Otherwise it is computed again, with a warning.
    - `fresh`: start from the beginning, and replace the result in the folder.

    Ctrl-C raises `Interrupted`, whose `result` holds the finished runs.  A result that cannot be written raises
    `NotSavedError`, whose `result` holds what was computed.

    >>> from profitable import Bernoulli, Category, Scenario, Truth
    >>> coin = Truth(Category("coin", Bernoulli(), threshold=0.6), mean=0.5, clients=4)
    >>> result = simulate(Scenario("one coin", [coin]), ["kl-ucb", "ts"], horizon=10**9, runs=200, seed=1)
    >>> bool(abs(result["kl-ucb"].regret[-1] / result.lower_bound[-1] - 1) < 0.5)
    True
    """
    settings = prepare(
        scenario,
        policies,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=checkpoints,
        kernel=kernel,
        common_random_numbers=common_random_numbers,
    )
    return run(settings, workers=workers, progress=progress, out=out, resume=resume, fresh=fresh)


def run(
    settings: Settings,
    *,
    workers: int | None = None,
    progress: bool | Callable[[float], object] | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> Result:
    """Play prepared settings; the options are those of `simulate`, and `say` gets a note about runs taken over."""
    threads = check.whole("workers", workers if workers is not None else _cores(), most=1024)
    if resume and fresh:
        raise ParameterError("fresh", fresh, "contradicts resume", "give one of the two")
    if out is None:
        return _play(settings, new_result(settings), threads, progress, None)
    from profitable.simulation.keeper import Keeper

    with Keeper(as_path("out", out)) as keeper:
        result = keeper.start(new_result(settings), resume=resume, fresh=fresh)
        if result.finished:
            say(f"{result.finished} of {settings.runs} runs are taken over from {out}")
        return _play(settings, result, threads, progress, keeper.save)


def _play(
    settings: Settings,
    result: Result,
    threads: int,
    progress: bool | Callable[[float], object] | None,
    save: Callable[[Result], object] | None,
) -> Result:
    """Play the runs that a result lacks."""
    before = result.finished
    if before < settings.runs:
        for note in [*slow_parts(settings), *crowded_parts(settings)]:
            logger.warning(note)
        with Interruption(at_once=True):
            compile_kernels(settings)
    with (
        Progress(total=settings.blocks, done=before // BLOCK, shown=progress) as bar,
        Interruption() as interruption,
    ):
        _work(settings, result, threads, bar, interruption, save)
        if save:
            save(result)
    if interruption.noticed:
        problem, remedy = f"of {settings.runs} are finished", "run it again to continue"
        error = Interrupted("runs", result.finished, problem, remedy)
        error.result = result if result.finished else None
        raise error
    return result


def new_result(settings: Settings) -> Result:
    """The result before the first run."""
    scenario, points = settings.scenario, settings.checkpoints
    curves = [
        Curve.empty(
            name,
            kernel,
            scenario,
            points,
            key=stream_name(policy),
            unlucky=_unlucky(scenario, policy, settings.horizon),
        )
        for name, kernel, policy in zip(settings.names, settings.kernels, settings.policies, strict=True)
    ]
    pairs = Moments.empty(len(curves) ** 2 * points.size) if settings.common else None
    return Result(scenario, settings.horizon, settings.runs, settings.seed, points, curves, pairs)


def _unlucky(scenario: Scenario, policy: Any, horizon: int) -> UnluckyStarts:
    return unlucky_starts(scenario, policy, horizon) if isinstance(policy, Policy) else UnluckyStarts()


class Interruption:
    """Inside this context, Ctrl-C only sets `noticed`, so that nothing is left half done; a second one ends it at once.

    With `at_once`, the first one raises KeyboardInterrupt, and if that gets lost on its way, the end of the context
    raises it again: a compiler may swallow it, or make another error of it.

    SIGTERM is treated in the same way where somebody handles it, as the command line does.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.noticed = False
        self._at_once = at_once
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: object) -> None:
        if self.noticed or self._at_once:
            self.noticed = True
            raise KeyboardInterrupt
        self.noticed = True

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._at_once and self.noticed:
            raise KeyboardInterrupt from None


def _cores() -> int:
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Task = tuple[int, int, IntArray, "Future[tuple[FloatArray | None, float]]"]


def _work(
    settings: Settings,
    result: Result,
    workers: int,
    bar: Progress,
    interruption: Interruption,
    save: Callable[[Result], object] | None,
) -> None:
    """Play all blocks that are missing and add them to the result in order, until done or interrupted."""
    first = -(-result.finished // BLOCK)
    tasks = ((block, which) for block in range(first, settings.blocks) for which in range(len(settings.names)))
    active: deque[Task] = deque()
    staged: list[tuple[FloatArray, float]] = []
    saved = time.monotonic()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="simulate")

    def timed(which: int, block: int, flags: IntArray) -> tuple[FloatArray | None, float]:
        start = time.perf_counter()
        rows = play_block(settings, which, block, flags)
        return rows, (time.perf_counter() - start) / workers

    try:
        _submit(tasks, active, pool, timed, 3 * workers)
        while active and not interruption.noticed:
            block, which, _, future = active[0]
            wait((future,), timeout=0.1)
            bar.update(_blocks_done(settings, block, which, active))
            if not future.done():
                continue
            rows, seconds = future.result()
            active.popleft()
            assert rows is not None
            staged.append((rows, seconds))
            if which == len(settings.names) - 1:
                _merge(result, staged)
                staged.clear()
                if save and time.monotonic() - saved > SAVE_EVERY:
                    save(result)
                    saved = time.monotonic()
            _submit(tasks, active, pool, timed, 3 * workers)
    finally:
        for _, _, flags, _ in active:
            flags[Signal.STOP] = 1  # the kernels look at it in every round
        pool.shutdown(wait=True, cancel_futures=True)


def _blocks_done(settings: Settings, block: int, which: int, active: "deque[Task]") -> float:
    """The number of blocks done, with the finished parts of those under way."""
    policies, categories = len(settings.names), len(settings.scenario.truths)
    under_way = sum(float(task[2][Signal.DONE]) / (settings.runs_in(task[0]) * categories) for task in active)
    return block + (which + under_way) / policies


def _submit(
    tasks: Iterator[tuple[int, int]],
    active: "deque[Task]",
    pool: ThreadPoolExecutor,
    play: Callable[[int, int, IntArray], tuple[FloatArray | None, float]],
    most: int,
) -> None:
    """Submit tasks until `most` are active.  More would fill the memory: finished blocks wait there for their turn."""
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
