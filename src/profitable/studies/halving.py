"""Successive halving: all settings of a world get a few runs, the better half gets twice as many, and so on.

>>> stages(13, runs=2_000, finalists=2)
[Stage(settings=13, runs=300), Stage(settings=7, runs=500), Stage(settings=4, runs=1000), Stage(settings=2, runs=2000)]

A setting that goes on keeps its runs: more runs start with the same runs.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from profitable.simulation.settings import BLOCK


class Stage(NamedTuple):
    """How many settings are in a stage, and how many runs each of them has at its end."""

    settings: int
    runs: int


def stages(settings: int, *, runs: int, finalists: int) -> list[Stage]:
    """The stages of a world: at most half of the settings leave at a time, and nobody with less than one block of runs.

    The last stage has `runs` runs.  It has `finalists` settings, or more if the runs do not suffice for more stages.

    >>> stages(3, runs=150, finalists=2), stages(2, runs=1_000, finalists=2)
    ([Stage(settings=3, runs=100), Stage(settings=2, runs=150)], [Stage(settings=2, runs=1000)])
    """
    steps = 0
    while settings > finalists << steps and runs > BLOCK << steps:
        steps += 1
    sizes = [max(-(-settings // 2**step), min(finalists, settings)) for step in range(steps + 1)]
    most = [min(runs, -(-runs // (BLOCK << (steps - step))) * BLOCK) for step in range(steps)]
    return [Stage(size, number) for size, number in zip(sizes, [*most, runs], strict=True)]


def survivors(regrets: Sequence[float], number: int) -> list[int]:
    """The places of the `number` smallest regrets, in their order; of equal ones, the first.

    >>> survivors([3.0, 1.0, 2.0, 1.0], 2)
    [1, 3]
    """
    return sorted(sorted(range(len(regrets)), key=lambda place: (regrets[place], place))[:number])


def runs_of(plan: Sequence[Stage]) -> int:
    """The runs that all stages of a world take together.

    >>> runs_of(stages(13, runs=2_000, finalists=2))
    9300
    """
    first, *_ = plan
    return first.settings * first.runs + sum(
        after.settings * (after.runs - before.runs) for before, after in pairwise(plan)
    )
