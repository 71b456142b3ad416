"""Shared by the benchmarks: timing in turns, and a table that says which bar is met."""

import statistics
import time
from collections.abc import Callable, Sequence


def seconds(job: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def side_by_side(jobs: Sequence[Callable[[], Callable[[], object]]], repeats: int) -> list[float]:
    """Return the median time of each job; jobs take turns.

    So a slow moment of the machine hits all of them alike.

    A job is a function that prepares (not timed) and returns what is to be timed.
    """
    for job in jobs:
        job()()  # warm up: compilation, caches
    times = [[seconds(job()) for job in jobs] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def verdict(value: float, bar: float, *, at_least: bool) -> str:
    """'met' or 'MISSED'."""
    return "met" if (value >= bar if at_least else value <= bar) else "MISSED"
