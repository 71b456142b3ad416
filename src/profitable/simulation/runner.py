"""`simulate`: policies in a scenario, many runs, on all cores or a cluster.

The seed alone determines the numbers.

Runs come in fixed blocks.  Each block of each policy and category has its own random
streams, named by (seed, policy, category, block).  Blocks are added up in their order.
So the numbers depend neither on the workers nor on which other policies are simulated
at the same time.
"""

import logging
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from profitable.common.files import as_path
from profitable.common.progress import Progress
from profitable.errors import ExecutorError, Interrupted, ParameterError
from profitable.simulation import result_folder
from profitable.simulation.curve import Curve
from profitable.simulation.pool import Engine, Job, Pool, open_pool
from profitable.simulation.result import Result
from profitable.simulation.running_stats import Moments
from profitable.simulation.scenario import Scenario, unlucky_starts
from profitable.simulation.settings import Settings, crowded_parts, prepare, slow_parts
from profitable.simulation.tilted_runs import lost_for_good
from profitable.simulation.worker import compile_kernels
from profitable.theory.unlucky_start import LostForGood, UnluckyStarts

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
    kernel: str | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    common_random_numbers: bool = False,
    progress: bool | Callable[[float], object] | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    fresh: bool = False,
) -> Result:
    """Play each of the policies in a scenario, `runs` times.

    Parameters
    ----------
    scenario : Scenario
        Categories and the truth about them.
    policies : list
        Policies, their names, or policies of your own (see
        `profitable.simulation.custom_policy`).
    horizon : int
        Number of rounds T, up to 10^15.
    runs : int
        Number of independent runs of each policy.
    seed : int
        Seed of all random streams; it alone determines the numbers.
    checkpoints : list of int, optional
        Rounds at which results are kept.  By default they are spaced evenly in log t.
    kernel : str, optional
        "events", unless given, skips time; "rounds" plays every round as in the
        definition.  Both have the same law.  Your own policies, policies that forget,
        `common_random_numbers` and scenarios of loans always go round by round.
    executor : concurrent.futures.Executor, optional
        Where runs are played: by default in threads of this process.  Examples are
        `ProcessPoolExecutor` and `client.get_executor()` of a Dask client.
    workers : int, optional
        Number of threads, by default one for each core.  For an executor of your own,
        the number of its workers, if it does not know it.
    common_random_numbers : bool
        Whether the k-th accepted batch of a category is the same for all policies, so
        that their differences (`Result.difference`) have smaller errors.
    progress : bool or callable, optional
        True or False for a bar on standard error, or a function that is called with the
        share done.  By default there is a bar if standard error is a terminal.
    out : path, optional
        Folder for the result, where finished runs are saved every few seconds.  A
        result of the same simulation in the folder is continued, or returned if it is
        finished.
    resume : bool
        Whether a broken result in the folder is an error.  By default it is computed
        again, with a warning.
    fresh : bool
        Whether to start from the beginning and replace the result in the folder.

    Returns
    -------
    Result
        A curve for each policy.

    Raises
    ------
    ParameterError
        If an argument is wrong.
    OtherResultError
        If `out` holds the result of another simulation.
    Interrupted
        After Ctrl-C; its `result` holds the finished runs.
    NotSavedError
        If the result cannot be written; its `result` holds what was computed.
    ExecutorError
        If an executor has lost its workers; its `result` holds the finished runs, which
        are also saved in `out`.

    Examples
    --------
    >>> from profitable import Bernoulli, Category, Scenario, Truth
    >>> coin = Truth(Category("coin", Bernoulli(), threshold=0.6), mean=0.5, clients=4)
    >>> scenario = Scenario("one coin", [coin])
    >>> result = simulate(scenario, ["kl-ucb", "ts"], horizon=10**9, runs=200, seed=1)
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
    return run(
        settings,
        executor=executor,
        workers=workers,
        progress=progress,
        out=out,
        resume=resume,
        fresh=fresh,
    )


def run(
    settings: Settings,
    *,
    executor: Executor | Pool | None = None,
    workers: int | None = None,
    progress: bool | Callable[[float], object] | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> Result:
    """Play prepared settings, with the options of `simulate`.

    `say` gets a note about runs taken over.

    `executor` may also be an open pool (`open_pool`), to be used for several
    simulations.
    """
    if resume and fresh:
        raise ParameterError("fresh", fresh, "contradicts resume", "give one of the two")
    with open_pool(executor, workers) as pool, ExitStack() as lock:
        folder = None if out is None else as_path("out", out)
        if folder is None:
            result = new_result(settings)
        else:
            lock.enter_context(result_folder.keeping(folder))
            result = earlier_or_new(settings, folder, resume=resume, fresh=fresh, say=say)
        job = Job(settings, result)
        before = settings.blocks - job.blocks_left
        with Progress(total=settings.blocks, done=before, shown=progress) as bar:
            play_in_line([(job, folder)], pool, show=lambda done: bar.update(before + done))
        return result


def earlier_or_new(
    settings: Settings,
    folder: Path,
    *,
    resume: bool = False,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> Result:
    """Return the result in a locked folder, to be continued, or else a new one.

    `say` gets a note about runs taken over.
    """
    result = result_folder.start(folder, new_result(settings), resume=resume, fresh=fresh)
    if result.finished:
        say(f"{result.finished} of {settings.runs} runs are taken over from {folder}")
    return result


def play_in_line(
    simulations: Sequence[tuple[Job, Path | None]],
    pool: Pool,
    *,
    show: Callable[[float], object] = lambda done: None,
    ended: Callable[[Job], object] = lambda job: None,
) -> None:
    """Play the runs that simulations lack, and save them in their folders, if any.

    The tasks form one line, so no worker waits between two simulations.  These end in
    their order, because blocks are added up in order.  `ended` gets each when its
    result is complete and saved, and `show` the blocks that are done.  After Ctrl-C,
    or if workers are lost, `result` of the error is that of the simulation under way:
    those before it are saved, and the next ones have no new runs.
    """
    line = deque(simulations)
    jobs = [job for job, _ in line if job.blocks_left]
    for job in jobs:
        for note in (*slow_parts(job.settings), *crowded_parts(job.settings)):
            logger.warning(note)

    def save() -> None:
        if line and line[0][1] is not None and line[0][0].result.finished:
            result_folder.save(line[0][0].result, line[0][1])

    def end_complete() -> None:
        while line and not line[0][0].blocks_left:
            save()  # also if it was complete: it may have been for other `runs`
            ended(line.popleft()[0])

    def runs() -> tuple[int, int]:
        results = [job.result for job, _ in simulations]
        return sum(each.finished for each in results), sum(each.runs for each in results)

    end_complete()
    lost = play_jobs(jobs, pool, save, runs, show=show, merged=end_complete)
    if lost:
        last = (line[0] if line else simulations[-1])[0].result
        lost.result = last if last.finished else None
        raise lost


def play_jobs(
    jobs: Sequence[Job],
    pool: Pool,
    save: Callable[[], object],
    runs: Callable[[], tuple[int, int]],
    *,
    show: Callable[[float], object] = lambda done: None,
    merged: Callable[[], object] = lambda: None,
    ended: Callable[[], object] = lambda: None,
) -> ExecutorError | Interrupted | None:
    """Play jobs, and save every few seconds and at the end.

    Return the error if workers are lost, or after Ctrl-C.  `runs` returns how many are
    finished, and of how many.  `show` gets the blocks that are done, `merged` is called
    when some were added, and `ended` before the last save, if the jobs are complete.
    """
    if pool.shares_memory:
        with Interruption(at_once=True):
            for job in jobs:
                compile_kernels(job.settings)
    saved = time.monotonic()

    def save_now_and_then(job: Job) -> None:
        nonlocal saved
        merged()
        if time.monotonic() - saved > SAVE_EVERY:
            save()
            saved = time.monotonic()

    with Interruption() as interruption:
        lost = None
        try:
            Engine(pool, lambda: interruption.noticed, show, save_now_and_then).play(jobs)
            if not any(job.blocks_left for job in jobs):
                ended()
        except ExecutorError as error:
            lost = error
        save()
    if interruption.noticed and not lost:
        finished, planned = runs()
        problem, remedy = f"of {planned} are finished", "run it again to continue"
        return Interrupted("runs", finished, problem, remedy)
    return lost


def new_result(settings: Settings) -> Result:
    """Return the result before the first run."""
    scenario, points = settings.scenario, settings.checkpoints
    with Interruption(at_once=True):  # `lost_for_good` may compile
        curves = [
            Curve.empty(
                each.name,
                each.kernel,
                scenario,
                points,
                key=each.key,
                # Theory knows nothing of bands that share evidence.
                unlucky=UnluckyStarts(known=False)
                if each.orders
                else unlucky_starts(scenario, each.policy, settings.horizon),
                lost_for_good=LostForGood()
                if each.orders and each.policy.within(settings.horizon).stops_for_good
                else lost_for_good(
                    scenario,
                    each.policy,
                    horizon=settings.horizon,
                    checkpoints=points,
                    seed=settings.seed,
                ),
            )
            for each in settings.policies
        ]
    pairs = Moments.empty(len(curves) ** 2 * points.size) if settings.common else None
    return Result(scenario, settings.horizon, settings.runs, settings.seed, points, curves, pairs)


class Interruption:
    """A context in which Ctrl-C only sets `noticed`; a second one ends it at once.

    So nothing is left half done.  With `at_once`, the first one raises
    KeyboardInterrupt, and if that gets lost on its way, the end of the context raises
    it again: a compiler may swallow it, or make another error of it.

    SIGTERM is treated in the same way where somebody handles it, as the command line
    does.
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
