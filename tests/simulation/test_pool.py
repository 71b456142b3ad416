"""Executors: the same bytes wherever runs are played, whatever dies, and in whatever
order blocks come home.
"""

import logging
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from profitable.simulation import pool
from profitable.simulation.pool import Engine, Job, Pool, open_pool
from profitable.simulation.runner import new_result
from profitable.simulation.worker import HERE
from tests.simulation.executors import (
    FIVE,
    LONG,
    PLAYED,
    Cautious,
    Faulty,
    Locked,
    Unreadable,
    bytes_of,
    once,
    play,
)
from tests.simulation.worlds import settings_of
from tests.waiting import comes_to_an_end

SPAWN = multiprocessing.get_context("spawn")
# Its processes are forked from one that has imported what all of them import.
FORK_SERVER = multiprocessing.get_context("forkserver")
FORK_SERVER.set_forkserver_preload(["profitable.simulation.worker"])


class LastFirst(Executor):
    """An executor that plays the newest task first, one at a time; `alter` changes what
    it is given.
    """

    def __init__(self, alter: Callable[[Any], Any] = lambda reply: reply) -> None:
        self.blocks: list[int] = []
        self._alter = alter
        self._tasks: queue.LifoQueue[Any] = queue.LifoQueue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._tasks.put((future, fn, args))
        return future

    def _work(self) -> None:
        while (found := self._tasks.get()) is not None:
            future, function, given = found
            if future.set_running_or_notify_cancel():
                self.blocks.append(len(given[2]))
                future.set_result(self._alter(function(*given)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._tasks.put(None)
        self._thread.join()


@pytest.fixture(scope="module")
def two_processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=FORK_SERVER) as executor:
        yield executor


@pytest.mark.parametrize("played", PLAYED.values(), ids=PLAYED)
def test_the_same_bytes_on_every_executor(
    played: dict[str, Any], two_processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    play(tmp_path / "one thread", **played, workers=1)
    play(tmp_path / "threads", **played, workers=3)
    play(tmp_path / "two processes", **played, executor=two_processes)
    with ThreadPoolExecutor(2) as threads:
        play(tmp_path / "two threads", **played, executor=threads)
    with LastFirst() as last_first:
        play(tmp_path / "last first", **played, executor=last_first)
    expected = bytes_of(tmp_path / "one thread")
    for folder in ("threads", "two processes", "two threads", "last first"):
        assert bytes_of(tmp_path / folder) == expected, folder


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_the_size_of_tasks_is_not_in_the_numbers(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: dict[str, Any] = {"policies": ["kl-ucb", "ts"], "runs": 4_050, "horizon": 10}
    play(tmp_path / "threads", **played)
    monkeypatch.setattr(pool, "TASK_SECONDS", seconds)
    monkeypatch.setattr(pool, "SECONDS_PER_WORKER", 0.0)
    # Replies in the wrong order are all that there is room for.
    monkeypatch.setattr(pool, "MOST_HELD", 1)
    with LastFirst() as executor:
        play(tmp_path / "tasks", **played, executor=executor, workers=2)
    assert bytes_of(tmp_path / "tasks") == bytes_of(tmp_path / "threads")
    assert sum(executor.blocks) == 41 * 2
    assert (max(executor.blocks) > 5) == (seconds > 0.0)


def test_no_task_is_larger_than_a_fair_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that workers end at about the same time."""
    monkeypatch.setattr(pool, "TASK_SECONDS", 1e9)
    job = Job(
        settings_of(FIVE, ["ts"], 10, 100_000),
        result := new_result(settings_of(FIVE, ["ts"], 10, 100_000)),
    )
    job.seconds, job.size, job.measured = 1.0, 100, 1
    with open_pool(LastFirst(), 10) as ten:
        sizes = [len(each.blocks) for each in job.tasks(ten)]
        ten._executor.shutdown()
    assert sum(sizes) == 1_000
    assert result.finished == 0
    assert sizes[0] == 1_000 // 30
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-20:] == [1] * 20


def test_several_jobs_share_a_pool(two_processes: ProcessPoolExecutor) -> None:
    """A study: many small simulations, one of which is finished already."""
    settings = [settings_of(FIVE, ["kl-ucb", "ts"], horizon, 250) for horizon in (10, 100, 1_000)]
    alone = [
        pb.simulate(FIVE, ["kl-ucb", "ts"], horizon=each.horizon, runs=250, progress=False)
        for each in settings
    ]
    jobs = [Job(each, new_result(each)) for each in settings]
    jobs.insert(1, Job(settings[0], alone[0]))
    merged: list[Job] = []
    shown: list[float] = []
    with open_pool(two_processes, None) as both:
        Engine(both, show=shown.append, merged=merged.append).play(iter(jobs))
    assert all(each.result.finished == 250 for each in jobs)
    assert list({id(each): each for each in merged}.values()) == [jobs[0], *jobs[2:]]
    assert shown[-1] == 9.0  # blocks
    for job, expected in zip([jobs[0], *jobs[2:]], alone, strict=True):
        assert [each.moments.fourths.tolist() for each in job.result.curves] == [
            each.moments.fourths.tolist() for each in expected.curves
        ]


def test_an_executor_that_breaks_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profitable.simulation.runner.SAVE_EVERY", 0.0)
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        progress = once(
            tmp_path / "a" / "result.json",
            lambda: os.kill(next(iter(executor._processes)), signal.SIGKILL),
        )
        with (
            comes_to_an_end(),
            pytest.raises(pb.errors.ExecutorError, match="BrokenProcessPool") as caught,
        ):
            play(tmp_path / "a", **LONG, executor=executor, progress=progress)
    part = caught.value.result
    assert isinstance(part, pb.Result)
    assert 0 < part.finished < LONG["runs"]
    assert "ProcessPoolExecutor" in str(caught.value)
    assert "continue" in caught.value.remedy
    assert pb.Result.load(tmp_path / "a").finished == part.finished
    whole = LONG | {"runs": part.finished + 250}
    play(tmp_path / "a", **whole, resume=True)
    play(tmp_path / "b", **whole)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


@contextmanager
def opened(kind: str, two_processes: ProcessPoolExecutor) -> Generator[Executor]:
    if kind == "two threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        yield two_processes


@pytest.mark.parametrize("kind", ["two processes", "two threads"])
def test_ctrl_c(
    kind: str, two_processes: ProcessPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All the runs would take hours."""
    monkeypatch.setattr("profitable.simulation.runner.SAVE_EVERY", 0.0)
    progress = once(tmp_path / "a" / "result.json", lambda: signal.raise_signal(signal.SIGINT))
    with comes_to_an_end(), opened(kind, two_processes) as executor:
        with pytest.raises(pb.errors.Interrupted) as caught:
            play(tmp_path / "a", **LONG, executor=executor, progress=progress)
        part = caught.value.result
        assert isinstance(part, pb.Result)
        assert 0 < part.finished < LONG["runs"]
        whole = LONG | {"runs": part.finished + 250}
        # The executor can be used as before.
        play(tmp_path / "a", **whole, executor=executor, resume=True)
    play(tmp_path / "b", **whole)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


def test_policies_that_cannot_be_sent(two_processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    with pytest.raises(
        pb.errors.ParameterError,
        match=r"policy = 'locked' cannot be sent to a worker .*; .*threads",
    ):
        play(
            tmp_path / "a", policies=["ts", Locked()], horizon=10, runs=100, executor=two_processes
        )
    with pytest.raises(
        pb.errors.ExecutorError, match=r"cannot be read by a worker .No module named 'mine'."
    ):
        play(tmp_path / "b", policies=[Unreadable()], horizon=10, runs=100, executor=two_processes)
    # Threads.
    assert (
        play(tmp_path / "c", policies=[Locked(), Unreadable()], horizon=10, runs=100).finished
        == 100
    )


def test_a_policy_that_fails_says_where(two_processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no table of mine") as caught:
        play(tmp_path / "a", policies=[Faulty()], horizon=10, runs=100, executor=two_processes)
    assert 'raise LookupError("no table of mine")' in caught.value.__notes__[0]
    with pytest.raises(LookupError, match="no table of mine"):
        play(tmp_path / "b", policies=[Faulty()], horizon=10, runs=100)


def test_classes_of_a_notebook_can_be_sent(
    two_processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    """They have no module that a worker could import."""

    class Here(Cautious):
        name = "here"

    play(tmp_path / "a", policies=[Here()], horizon=50, runs=150, executor=two_processes)
    play(tmp_path / "b", policies=[Here()], horizon=50, runs=150)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


def test_workers_with_other_versions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    played = PLAYED["several policies"]
    old = HERE._replace(numpy="1.0")
    with (
        LastFirst(lambda reply: replace(reply, environment=old)) as executor,
        caplog.at_level(logging.WARNING),
    ):
        play(tmp_path / "a", **played, executor=executor)
    assert caplog.messages == [
        f"a worker has numpy 1.0 instead of {HERE.numpy}: its numbers may differ in the last digits"
    ]
    for other in (HERE._replace(profitable="0.0.1"), HERE._replace(kernels="others")):
        with (
            LastFirst(lambda reply, other=other: replace(reply, environment=other)) as executor,
            pytest.raises(
                pb.errors.ExecutorError,
                match=f"install profitable {pb.__version__} on every worker",
            ),
        ):
            play(tmp_path / "b", **played, executor=executor)


@pytest.mark.parametrize(
    "given", ["threads", "tcp://scheduler:8786", 3, ThreadPoolExecutor, object()]
)
def test_what_is_no_executor(given: Any, tmp_path: Path) -> None:
    with pytest.raises(
        pb.errors.ParameterError, match=r"executor = .* must be an executor; .*get_executor"
    ):
        play(tmp_path / "a", **PLAYED["several policies"], executor=given)
    assert not (tmp_path / "a").exists()


def test_an_executor_that_was_shut_down(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        pass
    with pytest.raises(pb.errors.ExecutorError, match="cannot schedule new futures after shutdown"):
        play(tmp_path / "a", **PLAYED["several policies"], executor=executor)


def test_workers_are_counted(two_processes: ProcessPoolExecutor) -> None:
    with (
        open_pool(two_processes, None) as both,
        open_pool(two_processes, 7) as said,
        LastFirst() as silent,
    ):
        assert (both.workers, said.workers, Pool(silent, None).workers) == (2, 7, pool.cores())
        with open_pool(both, 9) as same:
            assert same is both
    with pytest.raises(pb.errors.ParameterError, match="workers"), open_pool(None, 0):
        pass


def test_progress_reaches_the_end(two_processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    shares: list[float] = []
    play(
        tmp_path, **PLAYED["common random numbers"], executor=two_processes, progress=shares.append
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
