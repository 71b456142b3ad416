"""Result folders: nothing altered is read, nothing is lost, one run at a time."""

import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.common import files, sealed_folder
from profitable.common.locks import LOCK, occupied
from profitable.simulation import pool, result_folder, runner, worker
from tests.simulation.worlds import single
from tests.waiting import LIMIT

COIN = pb.Scenario("one coin", [single(pb.Bernoulli(), 0.5, 0.6, 3)])


def simulate(folder: Path | None, **options: Any) -> pb.Result:
    given: dict[str, Any] = {
        "horizon": 50,
        "runs": 200,
        "checkpoints": [10, 50],
        "progress": False,
    } | options
    return pb.simulate(
        given.pop("scenario", COIN), given.pop("policies", ["ts", "kl-ucb"]), out=folder, **given
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "result"
    simulate(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of a result."""
    return shutil.copytree(made, tmp_path / "result")


def test_any_digit_changed_in_the_manifest_is_noticed(folder: Path) -> None:
    path = folder / "result.json"
    text = path.read_text()
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    assert len(places) > 80
    for place in places:
        for digit in {"0", "1", "9"} - {text[place]}:
            path.write_text(text[:place] + digit + text[place + 1 :])
            with pytest.raises(pb.errors.BrokenResultError, match=r"altered|not the manifest"):
                pb.Result.load(folder)
    path.write_text(text)
    pb.Result.load(folder)


def test_a_field_removed_from_the_manifest_is_noticed(folder: Path) -> None:
    path = folder / "result.json"
    settings = json.loads(path.read_text())
    for key in settings:
        path.write_text(
            json.dumps({name: value for name, value in settings.items() if name != key}, indent=1)
            + "\n"
        )
        with pytest.raises(pb.errors.BrokenResultError):
            pb.Result.load(folder)


def changed(value: Any) -> Any:
    """Another value of the same type; for a float, the very next one."""
    if isinstance(value, float):
        return float(np.nextafter(value, np.inf)) if np.isfinite(value) else 1.0
    if isinstance(value, list):
        return [*value[:-1], value[-1] + 1]
    return value + "x" if isinstance(value, str) else value + 1


def test_any_value_changed_in_the_table_is_noticed(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = folder / "statistics.parquet"
    table = parquet.read_table(path)
    columns = table.to_pydict()
    rows = list(range(table.num_rows))
    kept = table.schema.metadata

    def refused(altered: dict[str, list[Any]]) -> None:
        parquet.write_table(
            pyarrow.table(altered, schema=table.schema).replace_schema_metadata(kept), path
        )
        with pytest.raises(pb.errors.BrokenResultError, match="checksum"):
            pb.Result.load(folder)

    for name, values in columns.items():
        for row in [row for row in rows if values[row] is not None][:: max(1, len(rows) // 4)]:
            refused(columns | {name: [*values[:row], changed(values[row]), *values[row + 1 :]]})
    for row in rows[:: max(1, len(rows) // 8)]:
        refused({name: [*values[:row], *values[row + 1 :]] for name, values in columns.items()})
    for names in ({}, {b"simulation": kept[b"simulation"]}):
        parquet.write_table(table.replace_schema_metadata(names), path)
        with pytest.raises(pb.errors.BrokenResultError):
            pb.Result.load(folder)
    parquet.write_table(table, path)
    pb.Result.load(folder)


def test_a_crash_between_the_two_files_leaves_a_result(folder: Path, tmp_path: Path) -> None:
    """The table is replaced first: it may have more runs than the manifest knows of."""
    longer = simulate(tmp_path / "longer", runs=500)
    shutil.copy(tmp_path / "longer" / "statistics.parquet", folder)
    found = pb.Result.load(folder)
    assert (found.finished, found.runs) == (500, 500)
    assert found.table() == longer.table()
    assert simulate(folder, runs=700).table() == simulate(None, runs=700).table()


def test_a_result_of_an_earlier_version_is_read_but_not_resumed(folder: Path) -> None:
    """All runs of a result come from one version."""
    settings = json.loads((folder / "result.json").read_text())
    assert settings["version"] == pb.__version__
    settings["version"] = "0.1.0"
    del settings["checksum"]
    (folder / "result.json").write_text(files.seal(files.json_text(settings)))
    found = pb.Result.load(folder)
    assert (found.version, found.finished) == ("0.1.0", 200)
    assert found.to_dict()["version"] == "0.1.0"
    for resume in (False, True):
        with pytest.raises(
            pb.errors.OtherResultError,
            match=rf"its version is '0.1.0', not '{pb.__version__}'.*--fresh",
        ):
            simulate(folder, runs=300, resume=resume)
    assert simulate(folder, fresh=True).version == pb.__version__
    assert pb.Result.load(folder).version == pb.__version__


def test_an_altered_result_is_made_anew_unless_resume_insists(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = (folder / "result.json").read_text()
    (folder / "result.json").write_text(before.replace('"seed": 1', '"seed": 2'))
    with pytest.raises(pb.errors.BrokenResultError, match="altered"):
        simulate(folder, resume=True)
    assert not caplog.records
    simulate(folder)
    assert "computed again" in caplog.text
    assert (folder / "result.json").read_text() == before


def test_a_finished_result_is_taken_over(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    fresh = simulate(None)
    played: list[int] = []
    play = worker.play_block
    monkeypatch.setattr(
        worker, "play_block", lambda *given: played.append(given[2]) or play(*given)
    )
    with caplog.at_level(logging.INFO):
        assert simulate(folder).table() == fresh.table()
    assert not played
    assert "200 of 200 runs are taken over" in caplog.text
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    simulate(folder, runs=300)
    assert played == [2, 2]  # only what was missing, for both policies
    simulate(folder, runs=300, fresh=True)
    assert sorted(played) == [0, 0, 1, 1, 2, 2, 2, 2]


def test_what_is_lost_for_good_is_kept(tmp_path: Path) -> None:
    policies = ["optimal:horizon", "kl-ucb"]
    scenario = pb.Scenario(
        "coin", [pb.Truth(pb.Category("coin", pb.Bernoulli(), threshold=0.5), mean=0.7, clients=3)]
    )
    simulate(tmp_path, scenario=scenario, policies=policies)
    found = pb.Result.load(tmp_path)
    lost = found["optimal:horizon"].lost_for_good
    assert lost is not None
    assert lost.mean[-1] > 0.0
    assert found["kl-ucb"].lost_for_good is None
    assert found.table() == simulate(None, scenario=scenario, policies=policies).table()


def without(folder: Path, label: str) -> None:
    """Remove a quantity from a table, as if written by another version."""
    from pyarrow import compute, parquet

    path = folder / "statistics.parquet"
    table = parquet.read_table(path)
    rest = table.filter(compute.not_equal(table["quantity"], label))
    assert rest.num_rows == table.num_rows - 2
    marks = table.schema.metadata | {b"checksum": sealed_folder._checksum(rest).encode()}
    parquet.write_table(rest.replace_schema_metadata(marks), path)


def test_a_table_without_a_quantity_is_broken(folder: Path) -> None:
    without(folder, result_folder.QUANTITIES["right_set"])
    with pytest.raises(pb.errors.BrokenResultError):
        pb.Result.load(folder)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("every", [1e9, 0.0], ids=["last write", "in between"])
def test_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: float
) -> None:
    monkeypatch.setattr(runner, "SAVE_EVERY", every)
    monkeypatch.setattr(sealed_folder, "replace_file", full)
    with pytest.raises(pb.errors.NotSavedError, match="No space left") as caught:
        simulate(tmp_path / "new")
    result = caught.value.result
    assert isinstance(result, pb.Result)
    assert result.finished == (200 if every else 100)
    assert result.table() == simulate(None, runs=result.finished).table()
    assert not (tmp_path / "new").exists()


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with occupied(tmp_path / "busy"):
        for attempt in (
            lambda: simulate(tmp_path / "busy"),
            lambda: simulate(tmp_path / "busy", fresh=True),
            lambda: simulate(None).save(tmp_path / "busy"),
        ):
            with pytest.raises(pb.errors.ResultFolderError, match="is being filled by another run"):
                attempt()
        assert [path.name for path in (tmp_path / "busy").iterdir()] == [LOCK]
    assert not (tmp_path / "busy").exists()


def test_a_lock_that_was_left_behind_means_nothing(tmp_path: Path) -> None:
    """As after SIGKILL: the file is there, and its process is not."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from profitable.common.locks import occupied\n"
        "with occupied(Path(sys.argv[1])):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = tmp_path / "left"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=False, timeout=LIMIT)
    assert done.returncode == -signal.SIGKILL
    assert (folder / LOCK).exists()
    simulate(folder)
    assert not (folder / LOCK).exists()


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def none(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no locks")

    monkeypatch.setattr(fcntl, "flock", none)
    simulate(tmp_path)
    assert pb.Result.load(tmp_path).finished == 200


def test_a_lock_deleted_by_its_owner_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened while another had it, locked after that one had deleted it: such a lock
    would keep nobody out.
    """
    import fcntl

    lock = fcntl.flock

    def late(handle: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        (tmp_path / LOCK).unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with occupied(tmp_path):
        assert (tmp_path / LOCK).exists()
        with pytest.raises(pb.errors.ResultFolderError), occupied(tmp_path):
            pass


@pytest.mark.parametrize("deed", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_in_the_last_block_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: signal.Signals
) -> None:
    """All runs are finished, but whoever called wants to stop."""
    merge = pool._merge

    def merged(result: pb.Result, *rest: Any) -> None:
        merge(result, *rest)
        if result.finished == 200:
            signal.raise_signal(deed)

    monkeypatch.setattr(pool, "_merge", merged)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command line does
    try:
        with pytest.raises(pb.errors.Interrupted) as caught:
            simulate(tmp_path)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert isinstance(caught.value.result, pb.Result)
    assert caught.value.result.finished == pb.Result.load(tmp_path).finished == 200


@pytest.mark.parametrize("fate", ["swallowed", "another error"])
def test_ctrl_c_during_a_compilation_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    """A compiler calls back from C, where exceptions get lost, or makes an error of its
    own of them.
    """

    def compiling(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if fate == "another error":
                raise RuntimeError("lowering failed") from None

    monkeypatch.setattr(runner, "compile_kernels", compiling)
    with pytest.raises(KeyboardInterrupt):
        simulate(None)


def test_sigterm_is_left_alone_where_nobody_handles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library must not make a process immortal."""
    seen: list[Any] = []
    monkeypatch.setattr(
        runner, "compile_kernels", lambda _: seen.append(signal.getsignal(signal.SIGTERM))
    )
    simulate(None)
    assert seen == [signal.SIG_DFL]


def test_checksums_do_not_depend_on_what_is_inside() -> None:
    for value in ({"a": '"checksum": ""'}, {"checksum": "no"}, {"a": "ü\n", "b": [1.5, None]}):
        text = files.seal(files.json_text(value))
        assert files.is_sealed(text)
        assert not files.is_sealed(text.replace("}", " }"))
    assert not files.is_sealed("{}")
