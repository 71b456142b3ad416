"""`profitable study` as a user, or another program, calls it."""

import json
import os
import signal
from pathlib import Path

import pytest

import profitable as pb
from tests.cli.test_app import call
from tests.studies.worlds import SMALL
from tests.waiting import LIMIT, at, said, started, wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def test_table_json_and_files(folder: Path) -> None:
    done = call("study", "small.toml", "--runs", "200", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Page: results/small/report.html" in done.stdout
    found = pb.StudyResult.load(folder / "results/small")
    assert found.study.runs == 200
    assert str(found) in done.stdout
    again = call("study", "small.toml", "--runs", "200", "--json", "--workers", "1", cwd=folder)
    assert json.loads(again.stdout) == found.to_dict()
    assert "1800 of 1800 runs are taken over" in again.stderr
    other = call("study", "small.toml", cwd=folder)
    assert other.returncode == 2
    assert "its runs is 200, not 400" in other.stderr
    assert call("study", "small.toml", "--fresh", "--seed", "5", cwd=folder).returncode == 0
    assert pb.StudyResult.load(folder / "results/small").study.seed == 5


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["none.toml"], "study = 'none.toml' cannot be read"),
        (["wrong.toml"], "wrong.toml: scenario at gap=0.05: category 'good': mean = 5.05"),
        (["small.toml", "--runs", "1"], "small.toml: runs = 1 is less than 2"),
        (["small.toml", "--workers", "0"], "workers = 0"),
        (["small.toml", "--out", "small.toml"], "out = 'small.toml' cannot be written"),
        (["small.toml", "--processes"], "--processes"),
        ([], "FILE is missing"),
    ],
)
def test_mistakes_get_one_line_and_exit_2(folder: Path, arguments: list[str], named: str) -> None:
    (folder / "wrong.toml").write_text(SMALL.replace("0.5 + gap", "5 + gap"))
    done = call("study", *arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert named in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["small.toml", "wrong.toml"]


def test_interrupted_and_resumed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Interrupted in the middle of so many runs that they would take hours; nothing
    finished is lost.
    """
    there = tmp_path_factory.mktemp("moment") / "there"
    command = ["study", "small.toml", "--runs", str(10**8)]
    with started(at("some runs are finished", str(there), *command), cwd=folder) as job:
        wait_for(there, job)
        os.kill(job.pid, signal.SIGINT)
        printed, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 130
    assert printed == ""
    (line,) = said(errors)
    assert "saved in results/small; run the same command to resume" in line
    assert sorted(path.name for path in (folder / "results/small").iterdir()) == [
        "study.json",
        "sums.parquet",
    ]
