"""Shared by the benchmarks: timing in turns."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

Clock = Callable[[], float]


def seconds(job: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """Time one call."""
    start = clock()
    job()
    return clock() - start


def side_by_side(
    jobs: Sequence[Callable[[], Callable[[], object]]],
    repeats: int,
    clock: Clock = time.process_time,
) -> list[float]:
    """Return the median CPU time of each job; jobs take turns.

    So a slow moment of the machine hits all of them alike, and what other processes do
    beside counts little.

    A job is a function that prepares (not timed) and returns what is to be timed.
    """
    for job in jobs:
        job()()  # warm up: compilation, caches
    times = [[seconds(job(), clock) for job in jobs] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def process_cpu(code: str, **environment: str) -> float:
    """Return the CPU seconds of a Python process, with those of its children.

    It may keep byte code, as users do.
    """
    environment = {"PYTHONDONTWRITEBYTECODE": "", **environment}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def verdict(value: float, bar: float, *, at_least: bool) -> str:
    """'met' or 'MISSED'."""
    return "met" if (value >= bar if at_least else value <= bar) else "MISSED"
