"""Pool: an executor for tasks.  Task: some blocks of a job, for one worker.

A job is a simulation to be played.  Example: a job of 1 000 runs and two policies has
ten blocks.  If each takes a tenth of a second, tasks on two Dask workers get one block
first, and then as many as take about a second.

The engine plays jobs in a pool and adds up their blocks in order.  Tasks of all jobs
share the pool, in the order of the jobs.  Replies come in any order and wait for their
turn.  So the numbers depend neither on the pool nor on how many blocks a task has.

Only this file knows Dask.  Example: `with connected("tcp://scheduler:8786") as
executor: simulate(..., executor=executor)`.
"""

import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from profitable.common import check
from profitable.common.extras import extra
from profitable.common.types import IntArray
from profitable.errors import ExecutorError, InputError, ParameterError, ProfitableError
from profitable.kernels.run_record import Signal
from profitable.simulation.result import Result
from profitable.simulation.settings import BLOCK, Settings
from profitable.simulation.worker import HERE, Environment, Reply, no_flags, pack, play, play_packed

logger = logging.getLogger("profitable")
LOOK_SECONDS = 0.1  # from one look at whether to stop, to the next
UNDER_WAY = 3  # tasks for each worker, so that none waits for work
# Bytes of replies that wait for their turn; no more tasks are given out meanwhile.
MOST_HELD = 2**28
MOST_WORKERS = 1024  # threads of ours
TASK_SECONDS = 1.0  # of a task that is sent: far longer than sending it takes
# At least: a scheduler needs a millisecond for a task, and serves all workers.
SECONDS_PER_WORKER = 0.002
TASK_BYTES = 2**22  # of its reply at most
# For each worker at least, of the size of this one: so that all end at about the same
# time.
TASKS_LEFT = 3
SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
PATIENCE_SECONDS = 10.0  # for the scheduler of a cluster to answer
LOOK_EVERY = 5.0  # seconds between two looks at how many workers a cluster has


@dataclass
class Job:
    """A simulation to be played: its settings, and the result that grows.

    `seconds`, `size` and `measured` add up the time and the bytes of the blocks that
    were received, each of one policy.
    """

    settings: Settings
    result: Result
    seconds: float = 0.0
    size: int = 0
    measured: int = 0

    @cached_property
    def packed(self) -> bytes:
        """The settings as workers in other processes get them."""
        return pack(self.settings)

    @property
    def blocks_left(self) -> int:
        """The number of blocks that the result lacks."""
        return self.settings.blocks - -(-self.result.finished // BLOCK)

    def tasks(self, pool: "Pool") -> Iterator["Task"]:
        """Yield tasks for the missing blocks in order, one per policy and blocks.

        With common random numbers, one task plays all policies.
        """
        policies, settings = range(len(self.settings.policies)), self.settings
        groups = [policies] if settings.common else [range(each, each + 1) for each in policies]
        block = settings.blocks - self.blocks_left
        while block < settings.blocks:
            travels = 0 if pool.shares_memory else pool.workers
            end = block + self._blocks_in_a_task(settings.blocks - block, len(groups), travels)
            for group in groups:
                yield Task(self, group, range(block, end), is_last=group.stop == policies.stop)
            block = end

    def _blocks_in_a_task(self, left: int, groups: int, workers: int) -> int:
        """Return how many blocks take a second, at most a fair share; 1 for threads."""
        if workers == 0 or self.measured == 0:
            return 1
        parts = len(self.settings.policies) / groups / self.measured
        seconds = max(TASK_SECONDS, SECONDS_PER_WORKER * workers)
        enough = min(seconds / (self.seconds * parts), TASK_BYTES / (self.size * parts))
        return max(1, int(min(enough, left, left * groups / (TASKS_LEFT * workers))))


@dataclass(eq=False)
class Task:
    """Blocks of one policy, or of all, for one worker.

    `is_last` if no other policy follows for the same blocks.
    """

    job: Job
    policies: range
    blocks: range
    is_last: bool
    flags: IntArray = field(default_factory=no_flags)
    future: "Future[Reply] | None" = None
    reply: Reply | None = None

    @property
    def weight(self) -> float:
        """Its number of blocks; a block of one of two policies is a half."""
        return len(self.blocks) * len(self.policies) / len(self.job.settings.policies)

    @property
    def done(self) -> float:
        """How many blocks of the job are done, by the flags of a running task."""
        settings = self.job.settings
        runs = (
            sum(map(settings.runs_in, self.blocks))
            * len(settings.scenario.names)
            * len(self.policies)
        )
        return self.weight * min(float(self.flags[Signal.DONE]) / runs, 1.0)

    def take(self, reply: Reply) -> None:
        """Keep the reply, and how long it took."""
        self.reply = reply
        for sums in reply.blocks:
            for each in sums:
                self.job.seconds += each.seconds
                self.job.size += each.size
                self.job.measured += 1

    def stop(self) -> None:
        """Stop a worker that shares our memory, in its next round."""
        self.flags[Signal.STOP] = 1
        if self.future is not None:
            self.future.cancel()


class Pool:
    """An executor, with what the engine has to know about it.

    `shares_memory` says whether workers see our memory.  Then they can be stopped,
    count the runs they have done, and find the kernels that we compile.
    """

    def __init__(self, executor: Executor, workers: int | None) -> None:
        self._executor, self._workers = executor, workers
        self._counted = 1  # workers of a cluster
        self._looked = -math.inf  # when they were counted
        self.shares_memory = type(executor) is ThreadPoolExecutor
        self.is_cluster = type(executor).__module__.partition(".")[0] == "distributed"
        self.name = type(executor).__name__

    @property
    def workers(self) -> int:
        """The number that the caller gave, or else that of the executor now."""
        if self._workers:
            return self._workers
        if self.is_cluster:
            if time.monotonic() - self._looked >= LOOK_EVERY:
                client: Any = getattr(self._executor, "_client")  # noqa: B009
                self._counted = max(1, sum(client.nthreads().values()))
                self._looked = time.monotonic()
            return self._counted
        known = getattr(self._executor, "_max_workers", None)
        return known if isinstance(known, int) and known > 0 else cores()

    def submit(self, task: Task) -> "Future[Reply]":
        """Have a task played."""
        submit: Any = self._executor.submit  # Dask's takes options
        if self.shares_memory:
            return submit(play, task.job.settings, task.policies, task.blocks, task.flags)
        # Dask would take a task that was cancelled and is wanted again for the same
        # one: each is to be one of its own.
        options = {"pure": False} if self.is_cluster else {}
        return submit(play_packed, task.job.packed, task.policies, task.blocks, **options)


@contextmanager
def open_pool(executor: Executor | Pool | None, workers: int | None) -> Generator[Pool]:
    """Make the pool of a caller's `executor` and `workers`; an open pool stays open."""
    if isinstance(executor, Pool):
        yield executor
    elif isinstance(executor, Executor):
        yield Pool(executor, None if workers is None else check.whole("workers", workers))
    elif executor is None:
        number = cores() if workers is None else check.whole("workers", workers, most=MOST_WORKERS)
        with ThreadPoolExecutor(number, thread_name_prefix="simulate") as threads:
            yield Pool(threads, number)
    else:
        raise ParameterError(
            "executor",
            executor,
            "must be an executor",
            "give None for threads, ProcessPoolExecutor(...) of concurrent.futures for processes,"
            " or client.get_executor() of a Dask client",
        )


def cores() -> int:
    """Return the number of cores of this machine that we may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Engine:
    """The tasks under way.

    `stopped` is asked all the time.  `show` gets how many blocks are done; fractions
    count.  `merged` is called with a job when blocks were added to its result.  All are
    called in the caller's thread.

    `line` has all tasks that are not added yet, in the order in which they will be, and
    `staged` the replies for the same blocks, until those of the last policy are there.
    """

    pool: Pool
    stopped: Callable[[], bool] = lambda: False
    show: Callable[[float], object] = lambda done: None
    merged: Callable[[Job], object] = lambda job: None
    line: deque[Task] = field(default_factory=deque[Task])
    staged: list[Reply] = field(default_factory=list[Reply])
    home: SimpleQueue[tuple[Task, Future[Reply]]] = field(default_factory=SimpleQueue)
    under_way: int = 0
    held: int = 0
    done: float = 0.0
    known: set[Environment] = field(default_factory=lambda: {HERE})

    def play(self, jobs: Iterable[Job]) -> None:
        """Play all blocks that the results of jobs lack, until done or stopped.

        Jobs are asked for one by one, when there is room for the tasks of the next one.
        ExecutorError if workers are lost.
        """
        tasks = (task for job in jobs for task in job.tasks(self.pool))
        try:
            self._give_out(tasks)
            while self.line and not self.stopped():
                self._receive()
                self._add_up()
                self._give_out(tasks)
                self.show(self.done + sum(task.done for task in self.line if task.reply is None))
        finally:
            for task in self.line:
                task.stop()

    def _give_out(self, tasks: Iterator[Task]) -> None:
        while self.under_way < UNDER_WAY * self.pool.workers and self.held < MOST_HELD:
            task = next(tasks, None)
            if task is None:
                return
            self.line.append(task)
            self.under_way += 1
            try:
                future = task.future = self.pool.submit(task)
            except ProfitableError:
                raise
            except Exception as error:
                raise self._lost(error) from error
            future.add_done_callback(lambda future, task=task: self.home.put((task, future)))

    def _receive(self) -> None:
        """Wait a moment for a reply."""
        try:
            task, future = self.home.get(timeout=LOOK_SECONDS)
        except Empty:
            return
        try:
            reply = future.result()
        except (Exception, CancelledError) as error:
            raise self._lost(error) from error
        if reply.error is not None:
            raise reply.error
        if reply.environment not in self.known:
            self.known.add(reply.environment)
            logger.warning(reply.environment.check(HERE))
        task.take(reply)
        self.under_way -= 1
        self.held += reply.size
        self.done += task.weight

    def _lost(self, error: BaseException) -> ExecutorError:
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": .")
        return ExecutorError(
            "executor",
            self.pool.name,
            f"has lost its workers ({reason})",
            "look at its workers; run it again to continue from what is saved in `out`",
        )

    def _add_up(self) -> None:
        while self.line and (reply := self.line[0].reply) is not None:
            task = self.line.popleft()
            self.held -= reply.size
            self.staged.append(reply)
            if not task.is_last:
                continue
            for place in range(len(task.blocks)):
                _merge(task.job.result, self.staged, place, self.pool.workers)
            self.staged.clear()
            self.merged(task.job)


def _merge(result: Result, replies: Sequence[Reply], place: int, workers: int) -> None:
    """Add one block of every policy."""
    if result.pairs is not None:
        result.pairs.add(replies[0].pairs[place])
    sums = [each for reply in replies for each in reply.blocks[place]]
    for curve, each in zip(result.curves, sums, strict=True):
        curve.add_sums(replace(each, seconds=each.seconds / workers))


# -------------------------------------------------------------------------- clusters


@contextmanager
def connected(address: str) -> Generator[Executor]:
    """Connect to a Dask cluster and yield its executor.

    InputError if Dask is not installed, or if the scheduler does not answer.
    """
    with extra("dask", "clusters are reached with it"):
        from distributed import Client
    _check_address(address)
    with _quiet():
        try:
            client: Any = Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
        except OSError as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                "cluster",
                address,
                f"does not answer ({reason})",
                "start `dask scheduler` and `dask worker`, and give the address that it prints",
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
            except TimeoutError:
                raise InputError(
                    "cluster", address, "has no workers", f"start some: dask worker {address}"
                ) from None
            yield client.get_executor()


def _check_address(address: str) -> None:
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in SCHEMES and parts.hostname and parts.port:
            return
    raise InputError(
        "cluster",
        address,
        "must be the address of a scheduler",
        "give one such as tcp://scheduler:8786",
    )


@contextmanager
def _quiet() -> Generator[None]:
    """Silence Dask's log of connections: our errors report them once."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
