"""`profitable paper` as a user runs it: the same numbers for any workers, and no finished work lost."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profitable.errors import InputError, OtherResultError, ResultFolderError
from profitable.paper.command import reproduce
from profitable.paper.experiment import NAMES, PAPER

TWO = ("bernoulli", "unlucky")
COMMAND = [sys.executable, "-m", "profitable", "paper", "--quick", "--experiment", "bernoulli"]
COMMAND += ["--experiment", "long-poisson", "--runs", "1500"]


def paper(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "--out", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def numbers(folder: Path) -> dict[str, bytes]:
    """All files but the time that it took."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "timing.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "paper"
    reproduce(folder, experiments=TWO, quick=True, variant="both", runs=200, seed=3, workers=1)
    return folder


def test_what_is_written(made: Path) -> None:
    names = {path.name for path in made.iterdir()}
    assert {"report.html", "report.md", "summary.json", "bernoulli.png", "bernoulli.svg", "credit.png"} <= names
    assert {"bernoulli", "bernoulli-authors", "unlucky"} <= names
    summary = json.loads((made / "summary.json").read_text())
    assert (summary["seed"], summary["version"]) == (3, "0.1.0")
    assert [each["runs"] for each in summary["experiments"]] == [200, 200, 200]
    row = next(each for each in summary["experiments"][0]["policies"] if each["policy"] == "kl-ucb")
    assert 90.0 < row["regret"] < 115.0
    assert 0.9 < row["right_set_share"] <= 1.0
    verdicts = {claim["key"]: claim["paper"]["verdict"] for claim in summary["claims"]}
    assert verdicts["knowledge"] == "not run"
    assert verdicts["gaussian"] == "holds"
    assert not list(made.rglob("*.part"))


def test_same_bytes_for_any_number_of_workers(made: Path, tmp_path: Path) -> None:
    again = tmp_path / "paper"
    reproduce(again, experiments=TWO, quick=True, variant="both", runs=200, seed=3, workers=2)
    assert numbers(again) == {
        name: text.replace(str(made).encode(), str(again).encode()) for name, text in numbers(made).items()
    }


def test_what_is_finished_is_taken_over(made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = numbers(made)
    reproduce(made, experiments=TWO, quick=True, variant="both", runs=200, seed=3)
    assert numbers(made) == before
    reproduce(made, experiments=TWO, quick=True, variant="both", runs=200, seed=3, fresh=True)
    assert numbers(made) == before
    assert "bernoulli (1 of 3)" in capfd.readouterr().err


def test_another_result_is_not_lost(tmp_path: Path) -> None:
    reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=200, seed=1)
    before = numbers(tmp_path)
    for options in ({"seed": 2, "runs": 200}, {"seed": 1, "runs": 100}):
        with pytest.raises(OtherResultError, match="--fresh"):
            reproduce(tmp_path, experiments=["bounds", "arrivals"], quick=True, **options)
    assert numbers(tmp_path) == before  # found out before anything else is run
    reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=100, seed=2, fresh=True)
    assert json.loads((tmp_path / "arrivals" / "result.json").read_text())["seed"] == 2


@pytest.mark.parametrize(("runs", "names"), [(1, NAMES), (2, (*PAPER, "unlucky"))])
def test_too_few_runs_to_say_anything(tmp_path: Path, runs: int, names: tuple[str, ...]) -> None:
    reproduce(tmp_path, quick=True, runs=runs, experiments=names)
    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    verdicts = {claim["key"]: claim["paper"]["verdict"] for claim in summary["claims"]}
    assert verdicts["growth"] == verdicts["gaussian"] == verdicts["thompson"] == "not decided"
    page = (tmp_path / "report.html").read_text().partition("<script>")[0]
    assert not re.search(r">[^<]*\b(nan|inf)\b", page)


def test_pictures_of_an_earlier_report_go(tmp_path: Path) -> None:
    reproduce(tmp_path, experiments=["sharp-poisson"], quick=True, runs=100)
    assert (tmp_path / "sharp-poisson.svg").exists()
    (tmp_path / "mine.svg").write_text("<svg/>")
    reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=100)
    assert not (tmp_path / "sharp-poisson.svg").exists()
    assert (tmp_path / "mine.svg").exists()


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ResultFolderError, match="the simulations are kept"):
        reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=100)
    assert (tmp_path / "arrivals" / "result.json").exists()
    assert not list(tmp_path.rglob("*.part"))


def test_a_broken_result_is_made_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=100)
    table = tmp_path / "arrivals" / "statistics.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2])
    reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=100)
    assert "made anew" in caplog.text
    assert table.read_bytes() == whole


@pytest.mark.parametrize(
    ("options", "field"), [({"runs": 0}, "runs"), ({"seed": -1}, "seed"), ({"workers": 0}, "workers")]
)
def test_wrong_numbers(tmp_path: Path, options: dict[str, int], field: str) -> None:
    with pytest.raises(InputError, match=field):
        reproduce(tmp_path / "new", experiments=["arrivals"], **options)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ResultFolderError, match="cannot be written"):
        reproduce(tmp_path / "file", experiments=["arrivals"], runs=100)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--experiment", "cauchy"], ("experiment", "'cauchy'", "choose from")), (["--variant", "x"], ("variant", "'x'"))],
)
def test_one_line_for_a_mistake(tmp_path: Path, arguments: list[str], words: tuple[str, ...]) -> None:
    done = paper(tmp_path / "new", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words)
    assert not (tmp_path / "new").exists()


def test_without_the_libraries_of_the_report(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['altair'] = None; sys.argv = ['profitable', 'paper', '--out', sys.argv[1]]; "
        "from profitable.cli import main; main()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 2
    assert "pip install 'profitable[paper]'" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What COMMAND writes when nobody interrupts it."""
    folder = tmp_path_factory.mktemp("whole") / "paper"
    assert paper(folder).returncode == 0
    return folder


@pytest.mark.parametrize("delay", [2.5, 5.0])
def test_ctrl_c_loses_nothing(tmp_path: Path, whole: Path, delay: float) -> None:
    """Interrupted at some moment, run again: the same files as without the interruption, and no half of one before."""
    folder = tmp_path / "paper"
    process = subprocess.Popen(
        [*COMMAND, "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode in (0, 130), stderr
    assert "Traceback" not in stderr
    assert not list(tmp_path.rglob("*.part"))
    if process.returncode == 130:
        assert "interrupted" in stderr
    done = paper(folder)
    assert done.returncode == 0, done.stderr
    expected = {name: text.replace(str(whole).encode(), str(folder).encode()) for name, text in numbers(whole).items()}
    assert numbers(folder) == expected


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """Even without a chance to tidy up: what was saved is taken over, and the report is whole."""
    folder = tmp_path / "paper"
    process = subprocess.Popen([*COMMAND, "--out", str(folder)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (folder / "bernoulli" / "result.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert not (folder / "report.html").exists()
    done = paper(folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").read_text().rstrip().endswith("</html>")
