"""Playing many settings at once: all blocks that they lack, on one pool of workers."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.run_record import Signal
from profitable.simulation.block import compile_kernels, play_block
from profitable.simulation.curve import Curve
from profitable.simulation.runner import Interruption
from profitable.simulation.settings import BLOCK, Settings

AHEAD = 3  # tasks for each worker that are submitted before they are needed


class Job(NamedTuple):
    """A setting and the curve to which its runs are added."""

    settings: Settings
    curve: Curve

    @property
    def lacking(self) -> range:
        """The blocks that the curve lacks."""
        return range(-(-self.curve.runs // BLOCK), self.settings.blocks)


Task = tuple[Job, IntArray, "Future[FloatArray | None]"]


def play_jobs(jobs: Sequence[Job], workers: int, interruption: Interruption, merged: Callable[[], object]) -> None:
    """Play the runs that the curves lack; `merged` is called after each block.  Stops early if interrupted."""
    with Interruption(at_once=True):
        for job in jobs:
            compile_kernels(job.settings)
    tasks = ((job, block) for job in jobs for block in job.lacking)
    active: deque[Task] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="study")
    try:
        _submit(tasks, active, pool, AHEAD * workers)
        while active and not interruption.noticed:
            job, _, future = active[0]
            wait((future,), timeout=0.1)
            if not future.done():
                continue
            rows = future.result()
            active.popleft()
            assert rows is not None
            job.curve.add(rows, 0.0)
            merged()
            _submit(tasks, active, pool, AHEAD * workers)
    finally:
        for _, flags, _ in active:
            flags[Signal.STOP] = 1  # the kernels look at it in every round
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(tasks: Iterator[tuple[Job, int]], active: "deque[Task]", pool: ThreadPoolExecutor, most: int) -> None:
    while len(active) < most and (task := next(tasks, None)) is not None:
        (job, block), flags = task, np.zeros(2, dtype=np.int64)
        active.append((job, flags, pool.submit(play_block, job.settings, 0, block, flags)))


class EveryFew:
    """Whether some seconds have passed since it last said so."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last = seconds, time.monotonic()

    def __call__(self) -> bool:
        """Whether it is time."""
        now = time.monotonic()
        passed = now - self._last > self._seconds
        self._last = now if passed else self._last
        return passed
