"""simulate: policies in a scenario, many runs, on all cores or a cluster; the seed alone determines the numbers.

Runs come in fixed blocks.  Each block of each policy and category has its own random streams, named by (seed, policy,
category, block).  Blocks are added up in their order.  So the numbers depend neither on the workers nor on which other
policies are simulated at the same time.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from profitable.common.files import as_path
from profitable.common.progress import Progress
from profitable.errors import ExecutorError, Interrupted, ParameterError
from profitable.policy.policy import Policy
from profitable.simulation.block import compile_kernels
from profitable.simulation.curve import Curve
from profitable.simulation.engine import play_all
from profitable.simulation.interruption import Interruption
from profitable.simulation.pool import Pool, open_pool
from profitable.simulation.result import Result
from profitable.simulation.running_stats import Moments
from profitable.simulation.scenario import Scenario, unlucky_starts
from profitable.simulation.settings import BLOCK, Settings, crowded_parts, prepare, slow_parts, stream_name
from profitable.simulation.task import Job
from profitable.simulation.tilted_runs import lost_for_good

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
    executor: Executor | str | None = None,
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
    - `executor`: where runs are played.  None is for threads of this process, "processes" for processes on this
      machine.  Any executor of `concurrent.futures` will do, such as `client.get_executor()` of a Dask client.
    - `workers`: the number of threads or processes; one for each core unless given.  For an executor of your own, how
      many it has, if it does not say so itself.  The numbers depend neither on the executor nor on the workers.
    - `common_random_numbers`: the k-th accepted batch of a category is the same for all policies, so that their
      differences (`Result.difference`) have smaller errors.
    - `progress`: True or False for a bar on standard error, or a function that is called with the share done.  By
      default, there is a bar if standard error is a terminal.
    - `out`: a folder for the result.  The finished runs are saved there every few seconds.  A result of the same
      simulation in the folder is continued, or taken over if it is finished.  Another one is an OtherResultError.
    - `resume`: a broken result in the folder is an error.  Otherwise it is computed again, with a warning.
    - `fresh`: start from the beginning, and replace the result in the folder.

    Ctrl-C raises `Interrupted`, whose `result` holds the finished runs.  A result that cannot be written raises
    `NotSavedError`, whose `result` holds what was computed.  An executor that has lost its workers raises
    `ExecutorError`, whose `result` holds the finished runs, and they are saved in `out`.

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
    return run(settings, executor=executor, workers=workers, progress=progress, out=out, resume=resume, fresh=fresh)


def run(
    settings: Settings,
    *,
    executor: Executor | Pool | str | None = None,
    workers: int | None = None,
    progress: bool | Callable[[float], object] | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    fresh: bool = False,
    say: Callable[[str], object] = logger.info,
) -> Result:
    """Play prepared settings; the options are those of `simulate`, and `say` gets a note about runs taken over.

    `executor` may also be an open pool (`open_pool`), to be used for several simulations.
    """
    if resume and fresh:
        raise ParameterError("fresh", fresh, "contradicts resume", "give one of the two")
    with open_pool(executor, workers) as pool:
        if out is None:
            return _play(settings, new_result(settings), pool, progress, None)
        from profitable.simulation.keeper import Keeper

        with Keeper(as_path("out", out)) as keeper:
            result = keeper.start(new_result(settings), resume=resume, fresh=fresh)
            if result.finished:
                say(f"{result.finished} of {settings.runs} runs are taken over from {out}")
            return _play(settings, result, pool, progress, keeper.save)


def _play(
    settings: Settings,
    result: Result,
    pool: Pool,
    progress: bool | Callable[[float], object] | None,
    save: Callable[[Result], object] | None,
) -> Result:
    """Play the runs that a result lacks."""
    before, saved = result.finished // BLOCK, time.monotonic()
    if result.finished < settings.runs:
        for note in [*slow_parts(settings), *crowded_parts(settings)]:
            logger.warning(note)
        if pool.is_near:
            with Interruption(at_once=True):
                compile_kernels(settings)

    def save_now_and_then(job: Job) -> None:
        nonlocal saved
        if save and time.monotonic() - saved > SAVE_EVERY:
            save(result)
            saved = time.monotonic()

    lost = None
    with (
        Progress(total=settings.blocks, done=before, shown=progress) as bar,
        Interruption() as interruption,
    ):
        try:
            play_all(
                [Job(settings, result)],
                pool,
                stopped=lambda: interruption.noticed,
                show=lambda done: bar.update(before + done),
                merged=save_now_and_then,
            )
        except ExecutorError as error:
            lost = error
        if save:
            save(result)
    if interruption.noticed and not lost:
        problem, remedy = f"of {settings.runs} are finished", "run it again to continue"
        lost = Interrupted("runs", result.finished, problem, remedy)
    if lost:
        lost.result = result if result.finished else None
        raise lost
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
            **_from_theory(settings, policy),
        )
        for name, kernel, policy in zip(settings.names, settings.kernels, settings.policies, strict=True)
    ]
    pairs = Moments.empty(len(curves) ** 2 * points.size) if settings.common else None
    return Result(scenario, settings.horizon, settings.runs, settings.seed, points, curves, pairs)


def _from_theory(settings: Settings, policy: Any) -> dict[str, Any]:
    """What theory knows about runs that may be too rare to be seen."""
    scenario, horizon = settings.scenario, settings.horizon
    found: dict[str, Any] = {"unlucky": unlucky_starts(scenario, policy, horizon)}
    if isinstance(policy, Policy):
        size: dict[str, Any] = {"horizon": horizon, "checkpoints": settings.checkpoints, "seed": settings.seed}
        with Interruption(at_once=True):  # it may compile
            found["lost_for_good"] = lost_for_good(scenario, policy, **size)
    return found
