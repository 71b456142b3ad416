"""Job: a simulation to be played.  Task: some blocks of it, for one worker.

Example: a job of 1 000 runs and two policies has ten blocks.  If each takes a tenth of a second, tasks on two Dask
workers get one block first, and then as many as take about a second.  The numbers do not depend on that.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from profitable.common.types import IntArray
from profitable.kernels.run_record import Signal
from profitable.simulation.result import Result
from profitable.simulation.settings import BLOCK, Settings
from profitable.simulation.worker import Reply, pack

if TYPE_CHECKING:
    from profitable.simulation.pool import Pool

TASK_SECONDS = 1.0  # of a task that travels: far longer than its way
SECONDS_PER_WORKER = 0.002  # at least: a scheduler needs a millisecond for a task, and serves all workers
TASK_BYTES = 2**22  # of its reply at most
TASKS_LEFT = 3  # for each worker at least, of the size of this one: so that all end at about the same time


@dataclass
class Job:
    """A simulation to be played: its settings, and the result that grows.

    `seconds`, `size` and `measured` add up the time and the bytes of the blocks that came home, each of one policy.
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

    def tasks(self, pool: "Pool") -> Iterator["Task"]:
        """The tasks for what the result lacks: blocks in their order, and for the same blocks one task per policy.

        With common random numbers, one task plays all policies.
        """
        policies, settings = range(len(self.settings.names)), self.settings
        groups = [policies] if settings.common else [range(each, each + 1) for each in policies]
        block = -(-self.result.finished // BLOCK)
        while block < settings.blocks:
            travels = 0 if pool.shares_memory else pool.workers
            end = block + self._blocks_in_a_task(settings.blocks - block, len(groups), travels)
            for group in groups:
                yield Task(self, group, range(block, end), is_last=group.stop == policies.stop)
            block = end

    def _blocks_in_a_task(self, left: int, groups: int, workers: int) -> int:
        """As many blocks as take about a second, but no more than a fair share of what is left; one if none travels."""
        if workers == 0 or self.measured == 0:
            return 1
        parts = len(self.settings.names) / groups / self.measured
        seconds = max(TASK_SECONDS, SECONDS_PER_WORKER * workers)
        enough = min(seconds / (self.seconds * parts), TASK_BYTES / (self.size * parts))
        return max(1, int(min(enough, left, left * groups / (TASKS_LEFT * workers))))


@dataclass(eq=False)
class Task:
    """Blocks of one policy, or of all, for one worker; `is_last` if no other policy follows for the same blocks."""

    job: Job
    policies: range
    blocks: range
    is_last: bool
    flags: IntArray = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    future: "Future[Reply] | None" = None
    reply: Reply | None = None

    @property
    def weight(self) -> float:
        """How many blocks of the job it is; a block of one of two policies is a half."""
        return len(self.blocks) * len(self.policies) / len(self.job.settings.names)

    @property
    def done(self) -> float:
        """How many blocks of the job are done; as long as it is under way, it says so in its flags."""
        settings = self.job.settings
        runs = sum(map(settings.runs_in, self.blocks)) * len(settings.scenario.truths) * len(self.policies)
        return self.weight * min(float(self.flags[Signal.DONE]) / runs, 1.0)

    def take(self, reply: Reply) -> None:
        """Keep what came home, and how long it took."""
        self.reply = reply
        for sums in reply.blocks:
            for each in sums:
                self.job.seconds += each.seconds
                self.job.size += each.size
                self.job.measured += 1

    def stop(self) -> None:
        """Tell a worker that shares our memory to stop: kernels look at this in every round."""
        self.flags[Signal.STOP] = 1
        if self.future is not None:
            self.future.cancel()
