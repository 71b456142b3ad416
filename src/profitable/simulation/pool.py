"""Pool: where tasks are played.  Three kinds: our threads, our processes, and an executor of the caller's."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any, Self

from profitable.common import check
from profitable.errors import ParameterError
from profitable.simulation import cluster
from profitable.simulation.task import Task
from profitable.simulation.worker import Reply, play, play_packed

PROCESSES = "processes"
MOST_WORKERS = 1024  # on this machine
MOST_DEATHS = 3  # of processes, one after the other, with nothing finished in between


class Pool:
    """Where tasks are played; a context, which leaves nothing running.

    - `shares_memory`: whether workers see our memory.  Then they can be stopped, and count the runs they have done.
    - `is_near`: whether workers find the kernels that we compile.
    """

    shares_memory = False
    is_near = True
    name = PROCESSES
    remedy = "look at its workers"  # if it has lost them

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def workers(self) -> int:
        """The number of workers at present."""
        raise NotImplementedError

    def submit(self, task: Task) -> "Future[Reply]":
        """Have a task played."""
        raise NotImplementedError

    def mend(self, error: BaseException) -> bool:
        """Replace lost workers; False if that is not possible, or not any more."""
        return False

    def note_success(self) -> None:
        """A task was played."""

    def abandon(self) -> None:
        """End what is under way, because nobody waits for it; the tasks were told to stop."""

    def close(self) -> None:
        """End the workers."""


class Threads(Pool):
    """Threads of this process."""

    shares_memory = True
    name = "threads"

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="simulate")

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self._workers

    def submit(self, task: Task) -> "Future[Reply]":
        """Have a task played."""
        return self._executor.submit(play, task.job.settings, task.policies, task.blocks, task.flags)

    def close(self) -> None:
        """Wait for the threads to end."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class Processes(Pool):
    """Processes of our own: those that die are replaced, and none outlives this process."""

    remedy = "take fewer if memory is short, and in a script call it below `if __name__ == '__main__':`"

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None
        self._deaths = 0

    @property
    def workers(self) -> int:
        """The number of processes."""
        return self._workers

    def submit(self, task: Task) -> "Future[Reply]":
        """Have a task played; this may start a process."""
        packed = task.job.packed
        if self._executor is None:
            spawn = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self._workers, mp_context=spawn, initializer=_begin)
        with _without_ctrl_c():
            return self._executor.submit(play_packed, packed, task.policies, task.blocks)

    def mend(self, error: BaseException) -> bool:
        """Start anew, unless processes die again and again."""
        if not isinstance(error, BrokenExecutor):
            return False
        self.close()
        self._deaths += 1
        return self._deaths <= MOST_DEATHS

    def note_success(self) -> None:
        """A task was played."""
        self._deaths = 0

    def abandon(self) -> None:
        """Kill the processes; the next task starts new ones."""
        if self._executor is not None:
            for process in list((self._executor._processes or {}).values()):
                process.kill()
            self.close()

    def close(self) -> None:
        """Wait for the processes to end."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


def _begin() -> None:
    """What a process of ours does first."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to all processes of a terminal, and the first one decides
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _without_ctrl_c() -> Generator[None]:
    """Processes that are started inside never see Ctrl-C.  Here it waits until the end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Borrowed(Pool):
    """An executor of the caller's, who also ends it."""

    def __init__(self, executor: Executor, workers: int | None) -> None:
        self._executor, self._workers = executor, workers
        self._options = cluster.options(executor)
        self.shares_memory = type(executor) is ThreadPoolExecutor
        self.is_near = self.shares_memory
        self.name = type(executor).__name__

    @property
    def workers(self) -> int:
        """The number that the caller said, or else the one that the executor says."""
        known = self._workers or cluster.workers_of(self._executor) or getattr(self._executor, "_max_workers", None)
        return known if isinstance(known, int) and known > 0 else cores()

    def submit(self, task: Task) -> "Future[Reply]":
        """Have a task played."""
        submit: Any = self._executor.submit  # Dask's takes options
        if self.shares_memory:
            return submit(play, task.job.settings, task.policies, task.blocks, task.flags)
        return submit(play_packed, task.job.packed, task.policies, task.blocks, **self._options)


@contextmanager
def open_pool(executor: Executor | Pool | str | None, workers: int | None) -> Generator[Pool]:
    """The pool for what a caller gave as `executor` and `workers`; one that is open already stays so."""
    if isinstance(executor, Pool):
        yield executor
        return
    with _new_pool(executor, workers) as pool:
        yield pool


def _new_pool(executor: Executor | str | None, workers: int | None) -> Pool:
    if isinstance(executor, Executor):
        return Borrowed(executor, None if workers is None else check.whole("workers", workers))
    if executor is None or executor == PROCESSES:
        number = cores() if workers is None else check.whole("workers", workers, most=MOST_WORKERS)
        return Threads(number) if executor is None else Processes(number)
    remedy = "give None for threads, 'processes', or an executor, such as client.get_executor() of Dask"
    raise ParameterError("executor", executor, "is not an executor", remedy)


def cores() -> int:
    """The cores of this machine that we may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
