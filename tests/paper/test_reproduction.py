"""Several experiments in one line of tasks: each is still locked, saved, announced and
timed as a simulation of its own.
"""

import json
import logging
import signal
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from profitable.common.locks import occupied
from profitable.errors import Interrupted, ResultFolderError
from profitable.paper.experiment import choose
from profitable.paper.reproduction import Reproduction, conduct
from profitable.simulation import pool, runner, worker
from profitable.simulation.result import Result

# 3 blocks of runs for each of 7 and 4 policies.
FIRST, SECOND, RUNS = "bernoulli", "arrivals", 300
POLICIES = {FIRST: 7, SECOND: 4}


def both(folder: Path, *, runs: int = RUNS, **options: Any) -> Reproduction:
    experiments = choose([FIRST, SECOND], variant="paper", runs=runs, quick=True)
    return conduct(experiments, folder=folder, progress=False, **options)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("complete")
    both(folder)
    return folder


@pytest.fixture
def after_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[Result], object]], None]:
    """Have something done with the result whenever a block was added to it."""

    def register(deed: Callable[[Result], object]) -> None:
        merge = pool._merge  # pyright: ignore[reportPrivateUsage]

        def merge_and_do(result: Result, *rest: Any) -> None:
            merge(result, *rest)
            deed(result)

        monkeypatch.setattr(pool, "_merge", merge_and_do)

    return register


def test_a_folder_is_locked_until_its_result_is_complete(
    tmp_path: Path, after_a_block: Callable[[Callable[[Result], object]], None]
) -> None:
    free: dict[str, set[str]] = defaultdict(set)

    def look(result: Result) -> None:
        under_way = FIRST if len(result.curves) == POLICIES[FIRST] else SECOND
        for name in POLICIES:
            try:
                with occupied(tmp_path / name):
                    free[under_way].add(name)
            except ResultFolderError:
                pass

    after_a_block(look)
    both(tmp_path)
    assert free == {SECOND: {FIRST}}


def test_after_ctrl_c_the_error_holds_the_experiment_under_way(
    tmp_path: Path, after_a_block: Callable[[Callable[[Result], object]], None]
) -> None:
    def press(result: Result) -> None:
        if len(result.curves) == POLICIES[SECOND] and result.finished < RUNS:
            signal.raise_signal(signal.SIGINT)
            after_a_block(lambda result: None)

    after_a_block(press)
    with pytest.raises(Interrupted) as caught:
        both(tmp_path, workers=1)
    result = caught.value.result
    assert isinstance(result, Result)
    assert 0 < result.finished == caught.value.value - RUNS
    assert Result.load(tmp_path / SECOND).finished == result.finished
    assert result.policies == Result.load(tmp_path / SECOND).policies


@pytest.mark.parametrize("workers", [1, 2])
def test_seconds_are_those_of_the_experiment_itself(
    tmp_path: Path,
    workers: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a clock by which each block of a policy takes a second."""
    own = threading.local()

    def ticks() -> float:
        own.now = getattr(own, "now", 0.0) + 1.0
        return own.now

    monkeypatch.setattr(worker, "time", SimpleNamespace(perf_counter=ticks))
    both(tmp_path, workers=workers)
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in said] == [
        f"{3 * POLICIES[name] / workers:.1f} s" for name in (FIRST, SECOND)
    ]


def test_warnings_and_runs_taken_over_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        runner, "slow_parts", lambda settings: [f"{settings.scenario.name} is slow"]
    )
    monkeypatch.setattr(
        runner, "crowded_parts", lambda settings: [f"{settings.scenario.name} is crowded"]
    )
    caplog.set_level(logging.INFO, logger="profitable")
    scenarios = [trial.result.scenario.name for trial in both(tmp_path, runs=100).trials.values()]
    warnings = [f"{name} is {what}" for name in scenarios for what in ("slow", "crowded")]
    assert [each.message for each in caplog.records] == warnings
    caplog.clear()
    both(tmp_path, runs=200)
    taken = [f"100 of 200 runs are taken over from {tmp_path / name}" for name in POLICIES]
    assert [each.message for each in caplog.records] == [*taken, *warnings]
    caplog.clear()
    both(tmp_path, runs=200)  # nothing is left to do: no warning
    assert [each.message.partition(" runs")[0] for each in caplog.records] == ["200 of 200"] * 2


def test_runs_that_were_enough_are_no_longer_called_unfinished(
    tmp_path: Path, complete: Path
) -> None:
    """As after Ctrl-C at 300 of 1 000 runs, when 300 are asked for."""
    files = [f"{name}/result.json" for name in POLICIES]
    for name in POLICIES:
        result = Result.load(complete / name)
        result.runs = 1_000
        result.save(tmp_path / name)
    assert [json.loads((tmp_path / file).read_text())["runs"] for file in files] == [1_000] * 2
    both(tmp_path)
    for file in files:
        assert (tmp_path / file).read_bytes() == (complete / file).read_bytes()


def test_progress_goes_on_from_what_is_finished(tmp_path: Path, complete: Path) -> None:
    shares: list[float] = []
    experiments = choose([FIRST, SECOND], variant="paper", runs=RUNS, quick=True)
    work = {each.name: each.work for each in experiments}
    both(tmp_path, runs=100)
    conduct(experiments, folder=tmp_path, progress=shares.append)
    assert shares[0] == pytest.approx(1 / 3)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    shares.clear()
    for file in (complete / FIRST).iterdir():
        (tmp_path / "next" / FIRST).mkdir(parents=True, exist_ok=True)
        (tmp_path / "next" / FIRST / file.name).write_bytes(file.read_bytes())
    conduct(experiments, folder=tmp_path / "next", progress=shares.append)
    assert shares[0] == pytest.approx(work[FIRST] / sum(work.values()))
