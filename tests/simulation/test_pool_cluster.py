"""A Dask cluster of two worker processes: the same bytes, whoever dies; and the command
line on it.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from profitable.simulation.pool import connected, open_pool
from tests.cli.test_app import call, run
from tests.simulation.executors import FIVE, LONG, PLAYED, Deadly, Faulty, bytes_of, once, play
from tests.studies.worlds import SMALL
from tests.waiting import at, comes_to_an_end, said, started, wait_for

dask = pytest.importorskip("dask")
distributed, psutil = pytest.importorskip("distributed"), pytest.importorskip("psutil")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The client of two workers, each a process; dead ones are replaced.

    They are forked from a process that has imported what all of them import.
    """
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        forking = distributed.utils.get_mp_context()
        forking.set_forkserver_preload(["distributed", "profitable.simulation.worker"])
        with (
            distributed.LocalCluster(processes=True, silence_logs=50, **options) as two,
            distributed.Client(two, set_as_default=False) as client,
        ):
            yield client


@pytest.fixture
def executor(client: Any) -> Executor:
    client.wait_for_workers(2, timeout=600)
    return client.get_executor()


@pytest.mark.parametrize("played", PLAYED.values(), ids=PLAYED)
def test_the_same_bytes_as_on_threads(
    played: dict[str, Any], executor: Executor, tmp_path: Path
) -> None:
    shares: list[float] = []
    play(tmp_path / "cluster", **played, executor=executor, progress=shares.append)
    play(tmp_path / "threads", **played)
    assert bytes_of(tmp_path / "cluster") == bytes_of(tmp_path / "threads")
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    with open_pool(executor, None) as pool:
        assert pool.workers == 2


def test_a_worker_that_is_killed_changes_nothing(
    client: Any, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profitable.simulation.runner.SAVE_EVERY", 0.0)
    played = PLAYED["several policies"] | {"runs": 2_000}
    before: dict[str, int] = client.run(os.getpid)
    killed: list[int] = []

    def kill() -> None:
        # In the middle of its work.
        busy = [address for address, tasks in client.processing().items() if tasks]
        killed.append(before[(busy or list(before))[0]])
        os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "killed"
    with comes_to_an_end():
        play(out, **played, executor=executor, progress=once(out / "result.json", kill))
    play(tmp_path / "threads", **played)
    assert bytes_of(out) == bytes_of(tmp_path / "threads")
    assert len(killed) == 1
    client.wait_for_workers(2, timeout=600)
    assert killed[0] not in client.run(os.getpid).values()


def test_what_kills_every_worker_is_an_error(
    client: Any, executor: Executor, tmp_path: Path
) -> None:
    """Dask gives up after a few workers; the policy ends the process that plays it."""
    played: dict[str, Any] = {"policies": [Deadly()], "horizon": 10, "runs": 100}
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with (
        comes_to_an_end(),
        pytest.raises(pb.errors.ExecutorError, match=r"ClientExecutor.*KilledWorker"),
    ):
        play(tmp_path, **played, executor=executor)
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))


def test_ctrl_c(executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profitable.simulation.runner.SAVE_EVERY", 0.0)
    progress = once(tmp_path / "a" / "result.json", lambda: signal.raise_signal(signal.SIGINT))
    with comes_to_an_end(), pytest.raises(pb.errors.Interrupted) as caught:
        play(tmp_path / "a", **LONG, executor=executor, progress=progress)
    part = caught.value.result
    assert isinstance(part, pb.Result)
    whole = LONG | {"runs": part.finished + 250}
    play(tmp_path / "a", **whole, executor=executor, resume=True)
    play(tmp_path / "b", **whole)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


def test_a_policy_that_fails_says_where(executor: Executor, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no table of mine") as caught:
        play(tmp_path, policies=[Faulty()], horizon=10, runs=100, executor=executor)
    assert 'raise LookupError("no table of mine")' in caught.value.__notes__[0]


def test_a_client_is_no_executor(client: Any, tmp_path: Path) -> None:
    with pytest.raises(pb.errors.ParameterError, match=r"client.get_executor\(\)"):
        play(tmp_path, policies=["ts"], horizon=10, runs=100, executor=client)


# The command line.


def command(folder: Path, *more: str) -> list[str]:
    FIVE.save(folder / "five.toml")
    return [
        "simulate",
        "five.toml",
        "--policy",
        "kl-ucb",
        "--policy",
        "ts",
        "--horizon",
        "300",
        *more,
    ]


def test_the_command_line(client: Any, executor: Executor, tmp_path: Path) -> None:
    given = command(tmp_path, "--runs", "450", "--out")
    threads = call(*given, "threads", cwd=tmp_path)
    cluster = run(*given, "cluster", "--cluster", client.scheduler.address, cwd=tmp_path)
    assert (threads.returncode, cluster.returncode) == (0, 0), cluster.stderr
    assert said(cluster.stderr) == said(threads.stderr)
    assert bytes_of(tmp_path / "cluster") == bytes_of(tmp_path / "threads")


def test_a_study_on_the_cluster(client: Any, executor: Executor, tmp_path: Path) -> None:
    """All settings of a stage share the workers."""
    (tmp_path / "small.toml").write_text(SMALL)
    given = ["study", "small.toml", "--runs", "200", "--out"]
    threads = call(*given, "threads", cwd=tmp_path)
    cluster = run(*given, "cluster", "--cluster", client.scheduler.address, cwd=tmp_path)
    assert (threads.returncode, cluster.returncode) == (0, 0), cluster.stderr
    tables = [(tmp_path / name / "study.parquet").read_bytes() for name in ("threads", "cluster")]
    assert tables[0] == tables[1]


def test_the_paper_on_the_cluster(executor: Executor, tmp_path: Path) -> None:
    from profitable.paper.command import reproduce

    chosen: dict[str, Any] = {"experiments": ["arrivals"], "quick": True, "runs": 300}
    for name, given in (("threads", {}), ("cluster", {"executor": executor})):
        reproduce(tmp_path / name, **chosen, **given)
    one, two = (
        {path.parent.name: bytes_of(path.parent) for path in (tmp_path / name).rglob("result.json")}
        for name in ("threads", "cluster")
    )
    assert one
    assert one == two


def test_ctrl_c_in_a_terminal(client: Any, executor: Executor, tmp_path: Path) -> None:
    """Ctrl-C goes to all processes of the terminal.

    One line is said, by the first of them.
    """
    given = command(tmp_path, "--runs", "1e9", "--kernel", "rounds", "--out", "out")
    given += ["--cluster", client.scheduler.address]
    words = at("some runs are finished", "now", *given)
    with started(words, tmp_path, start_new_session=True) as job:
        wait_for(tmp_path / "now", job)
        os.killpg(job.pid, signal.SIGINT)
        _, errors = job.communicate(timeout=600)
    assert job.returncode == 130
    assert len(said(errors)) == 1, errors
    assert "are finished and saved in out; run the same command to resume." in errors


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("scheduler", "must be the address of a scheduler; give one such as tcp://scheduler:8786"),
        ("tcp://127.0.0.1:99999", "must be the address of a scheduler"),
        ("tcp://127.0.0.1:1", "does not answer"),
    ],
)
def test_a_cluster_that_is_not_there(
    address: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profitable.simulation.pool.PATIENCE_SECONDS", 0.5)
    with pytest.raises(pb.errors.InputError, match=problem), connected(address):
        pass


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    wanted = pytest.raises(pb.errors.InputError, match=r"pip install 'profitable\[dask\]'")
    with wanted, connected("tcp://127.0.0.1:8786"):
        pass


def test_the_scheduler_goes_away(tmp_path: Path) -> None:
    """Finished runs are saved, and one line says how to resume."""
    words = [
        sys.executable,
        "-P",
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
    ]
    file = tmp_path / "scheduler.json"
    words += ["--no-show", "--scheduler-file", str(file)]
    worker = [
        sys.executable,
        "-P",
        "-m",
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(file),
        "--no-nanny",
    ]
    with started(words, tmp_path) as scheduler:
        wait_for(file, scheduler)
        address = json.loads(file.read_text())["address"]
        with started([*worker, "--no-dashboard", "--nthreads", "1"], tmp_path) as busy:
            given = command(tmp_path, "--runs", "1e9", "--out", "out", "--cluster", address)
            with started(at("some runs are finished", "now", *given), tmp_path) as job:
                wait_for(tmp_path / "now", job)
                scheduler.kill()
                busy.kill()  # the client knows the scheduler only, and this one would go on
                _, errors = job.communicate(timeout=600)
    assert job.returncode == 1
    assert len(said(errors)) == 1, errors
    assert "saved in out; run the same command with --resume to continue." in errors
    assert pb.Result.load(tmp_path / "out").finished > 0
