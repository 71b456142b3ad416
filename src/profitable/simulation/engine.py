"""Engine: plays jobs in a pool and adds up their blocks in order.

Tasks of all jobs share the pool, in the order of the jobs.  They come home in any order and wait for their turn.  So
the numbers depend neither on the pool nor on how many blocks a task has.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from queue import Empty, SimpleQueue

from profitable.errors import ExecutorError, ProfitableError
from profitable.simulation.block_sums import BlockSums
from profitable.simulation.pool import Pool
from profitable.simulation.result import Result
from profitable.simulation.running_stats import Moments
from profitable.simulation.surroundings import HERE, Surroundings
from profitable.simulation.task import Job, Task
from profitable.simulation.worker import Reply

logger = logging.getLogger("profitable")
LOOK_SECONDS = 0.1  # from one look at whether to stop, to the next
UNDER_WAY = 3  # tasks for each worker, so that none waits for work
MOST_HELD = 2**28  # bytes of replies that wait for their turn; no more tasks are given out meanwhile


def play_all(
    jobs: Iterable[Job],
    pool: Pool,
    *,
    stopped: Callable[[], bool] = lambda: False,
    show: Callable[[float], object] = lambda done: None,
    merged: Callable[[Job], object] = lambda job: None,
    finished: Callable[[Job], object] = lambda job: None,
) -> None:
    """Play all blocks that the results of jobs lack, until done or stopped; ExecutorError if workers are lost for good.

    - `jobs` are asked for one by one, when there is room for the tasks of the next one.
    - `stopped` is asked all the time.  `show` is told how many blocks are done; fractions count.
    - `merged` is called with a job when blocks were added to its result, and `finished` when the result is complete.

    The callbacks are called in the caller's thread.
    """
    Engine(pool, stopped, show, merged, finished).play(jobs)


class Engine:
    """The tasks under way.  `line` has all that are not added yet, in the order in which they will be."""

    def __init__(
        self,
        pool: Pool,
        stopped: Callable[[], bool],
        show: Callable[[float], object],
        merged: Callable[[Job], object],
        finished: Callable[[Job], object],
    ) -> None:
        self.pool, self.stopped, self.show, self.merged, self.finished = pool, stopped, show, merged, finished
        self.line: deque[Task] = deque()
        self.staged: list[Reply] = []  # of the same blocks, until those of the last policy are there
        self.home: SimpleQueue[tuple[Task, Future[Reply]]] = SimpleQueue()
        self.under_way = self.held = 0
        self.done = 0.0
        self.known: set[Surroundings] = {HERE}

    def play(self, jobs: Iterable[Job]) -> None:
        """See `play_all`."""
        tasks = self._tasks(jobs)
        try:
            self._give_out(tasks)
            while self.line and not self.stopped():
                self._receive()
                self._add_up()
                self._give_out(tasks)
                self._tell()
        finally:
            if self.line:
                for task in self.line:
                    task.stop()
                self.pool.abandon()

    def _tasks(self, jobs: Iterable[Job]) -> Iterator[Task]:
        for job in jobs:
            if job.result.finished >= job.settings.runs:
                self.finished(job)
                continue
            yield from job.tasks(self.pool)

    def _give_out(self, tasks: Iterator[Task]) -> None:
        while self.under_way < UNDER_WAY * self.pool.workers and self.held < MOST_HELD:
            task = next(tasks, None)
            if task is None:
                return
            self.line.append(task)
            self.under_way += 1
            try:
                self._submit(task)
            except ProfitableError:
                raise
            except Exception as error:
                self._mend(error)

    def _submit(self, task: Task) -> None:
        future = task.future = self.pool.submit(task)
        future.add_done_callback(lambda future: self.home.put((task, future)))

    def _receive(self) -> None:
        """Wait a moment for a reply."""
        try:
            task, future = self.home.get(timeout=LOOK_SECONDS)
        except Empty:
            return
        if future is not task.future:  # of a worker that was replaced since
            return
        try:
            reply = future.result()
        except (Exception, CancelledError) as error:
            self._mend(error)
            return
        if reply.error is not None:
            raise reply.error
        if reply.surroundings not in self.known:
            self.known.add(reply.surroundings)
            logger.warning(reply.surroundings.check(HERE))
        task.take(reply)
        self.pool.note_success()
        self.under_way -= 1
        self.held += reply.size
        self.done += task.weight

    def _mend(self, error: BaseException) -> None:
        """Have lost workers replaced, and everything played again that has not come home."""
        while self.pool.mend(error):
            try:
                for task in self.line:
                    if task.reply is None:
                        self._submit(task)
            except ProfitableError:
                raise
            except Exception as another:
                error = another
            else:
                return
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": .")
        remedy = self.pool.remedy + "; run it again to continue from what is saved in `out`"
        raise ExecutorError("executor", self.pool.name, f"has lost its workers ({reason})", remedy) from error

    def _add_up(self) -> None:
        while self.line and (reply := self.line[0].reply) is not None:
            task = self.line.popleft()
            self.held -= reply.size
            self.staged.append(reply)
            if not task.is_last:
                continue
            job, workers = task.job, self.pool.workers
            for place in range(len(task.blocks)):
                sums = [each for staged in self.staged for each in staged.blocks[place]]
                sums = [replace(each, seconds=each.seconds / workers) for each in sums]
                _merge(job.result, sums, [staged.pairs[place] for staged in self.staged if staged.pairs])
            self.staged.clear()
            self.merged(job)
            if job.result.finished >= job.settings.runs:
                self.finished(job)

    def _tell(self) -> None:
        done = self.done
        if self.pool.shares_memory:
            done += sum(task.done for task in self.line if task.reply is None)
        self.show(done)


def _merge(result: Result, sums: Sequence[BlockSums], pairs: Sequence[Moments]) -> None:
    """Add one block of every policy."""
    if result.pairs is not None:
        result.pairs.add(*pairs)
    for curve, each in zip(result.curves, sums, strict=True):
        curve.add_sums(each)
