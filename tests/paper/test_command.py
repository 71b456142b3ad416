"""`profitable paper` as a user runs it: the same numbers for any workers, and no
finished work lost.
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from profitable.common.locks import occupied
from profitable.errors import InputError, NotSavedError, OtherResultError, ResultFolderError
from profitable.paper import credit
from profitable.paper.command import reproduce
from profitable.paper.experiment import NAMES, PAPER
from profitable.policy.policies import Policy
from profitable.simulation import worker
from profitable.simulation.settings import Settings
from profitable.version import VERSION
from tests.cli.test_app import Way, call, run
from tests.waiting import LIMIT, at

TWO = ("bernoulli", "unlucky")
COMMAND = [
    "paper",
    "--quick",
    "--experiment",
    "bernoulli",
    "--experiment",
    "arrivals",
    "--runs",
    "300",
]
# The scenarios: 3 blocks of runs for each of 7 and 4 policies.
BERNOULLI, ARRIVALS = "Bernoulli", "Ten clients a round"


def numbers(folder: Path, instead_of: Path | None = None) -> dict[str, bytes]:
    """All files but the time that it took; where a page names its folder, it may be
    called another one.
    """
    files = [
        path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "timing.json"
    ]
    name = str(folder if instead_of is None else instead_of).encode()
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), name)
        for path in files
    }


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> "Counter[str]":
    """How many blocks of runs are played in each scenario."""
    counted: Counter[str] = Counter()
    play = worker.play_block

    def count(settings: Settings, *rest: Any) -> object:
        counted[settings.scenario.name] += 1
        return play(settings, *rest)

    monkeypatch.setattr(worker, "play_block", count)
    return counted


@pytest.fixture(scope="module", autouse=True)
def credit_examples() -> Iterator[dict[object, credit.CreditResult]]:
    """The credit example of a seed is played once; `test_credit.py` tests what it must
    be.
    """
    play, kept = credit.run, {}

    def run(
        policy: Policy, *, rounds: int, plays: int, seed: int, advance: Callable[[], object]
    ) -> credit.CreditResult:
        key = (str(policy), rounds, plays, seed)
        if key not in kept:
            kept[key] = play(policy, rounds=rounds, plays=plays, seed=seed)
        for _ in range(plays):
            advance()
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credit, "run", run)
        yield kept


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "paper"
    reproduce(folder, experiments=TWO, quick=True, variant="both", runs=200, seed=3, workers=1)
    return folder


def test_what_is_written(made: Path) -> None:
    names = {path.name for path in made.iterdir()}
    assert {
        "report.html",
        "report.md",
        "summary.json",
        "bernoulli.png",
        "bernoulli.svg",
        "credit.png",
    } <= names
    assert {"bernoulli", "bernoulli-authors", "unlucky"} <= names
    summary = json.loads((made / "summary.json").read_text())
    assert (summary["seed"], summary["version"]) == (3, VERSION)
    assert [each["runs"] for each in summary["experiments"]] == [200, 200, 200]
    row = next(each for each in summary["experiments"][0]["policies"] if each["policy"] == "kl-ucb")
    assert 90.0 < row["regret"] < 115.0
    assert 0.9 < row["right_set_share"] <= 1.0
    verdicts = {claim["key"]: claim["paper"]["verdict"] for claim in summary["claims"]}
    assert verdicts["knowledge"] == "not run"
    assert verdicts["gaussian"] == "holds"
    assert not list(made.rglob("*.part"))


def test_what_is_finished_is_taken_over(
    made: Path, played: "Counter[str]", capfd: pytest.CaptureFixture[str]
) -> None:
    before = numbers(made)
    reproduce(made, experiments=TWO, quick=True, variant="both", runs=200, seed=3)
    assert numbers(made) == before
    assert not played
    assert "bernoulli (1 of 3)" in capfd.readouterr().err


def test_same_bytes_when_all_is_run_anew_by_any_number_of_workers(
    made: Path, played: "Counter[str]", credit_examples: dict[object, credit.CreditResult]
) -> None:
    before = numbers(made)
    credit_examples.clear()
    reproduce(
        made, experiments=TWO, quick=True, variant="both", runs=200, seed=3, workers=2, fresh=True
    )
    assert numbers(made) == before
    assert played == {
        BERNOULLI: 14,
        f"{BERNOULLI}, the authors' variant": 14,
        "An unlucky start": 8,
    }


@pytest.fixture(scope="module")
def small_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    reproduce(folder, experiments=["arrivals"], quick=True, runs=100)
    return folder


@pytest.fixture
def small(small_report: Path, tmp_path: Path) -> Path:
    """A copy of a small report."""
    return shutil.copytree(small_report, tmp_path / "small")


def test_another_result_is_not_lost(small: Path) -> None:
    before = numbers(small)
    for options in ({"seed": 2, "runs": 100}, {"seed": 1, "runs": 50}):
        with pytest.raises(OtherResultError, match="--fresh"):
            reproduce(small, experiments=["bounds", "arrivals"], quick=True, **options)
    assert numbers(small) == before  # found out before anything else is run
    reproduce(small, experiments=["arrivals"], quick=True, runs=50, seed=2, fresh=True)
    assert json.loads((small / "arrivals" / "result.json").read_text())["seed"] == 2


@pytest.mark.parametrize(("runs", "names"), [(1, NAMES), (2, (*PAPER, "unlucky"))])
def test_too_few_runs_to_say_anything(tmp_path: Path, runs: int, names: tuple[str, ...]) -> None:
    reproduce(tmp_path, quick=True, runs=runs, experiments=names)
    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    verdicts = {claim["key"]: claim["paper"]["verdict"] for claim in summary["claims"]}
    assert verdicts["growth"] == verdicts["gaussian"] == verdicts["thompson"] == "not decided"
    page = (tmp_path / "report.html").read_text().partition("<script>")[0]
    assert not re.search(r">[^<]*\b(nan|inf)\b", page)


def test_pictures_of_an_earlier_report_go(whole: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(whole, tmp_path / "paper")
    assert (folder / "bernoulli.svg").exists()
    (folder / "mine.svg").write_text("<svg/>")
    reproduce(folder, experiments=["arrivals"], quick=True, runs=300)
    assert not (folder / "bernoulli.svg").exists()
    assert (folder / "mine.svg").exists()


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(NotSavedError, match="the simulations are kept") as caught:
        reproduce(tmp_path, experiments=["arrivals"], quick=True, runs=100)
    assert "The paper's claims" in str(caught.value.result)
    done = call(
        "paper",
        "--quick",
        "--experiment",
        "arrivals",
        "--runs",
        "1e2",
        "--out",
        str(tmp_path),
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "The paper's claims" in done.stdout
    assert (tmp_path / "arrivals" / "result.json").exists()
    assert not list(tmp_path.rglob("*.part"))


def test_a_broken_result_is_made_anew(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = small / "arrivals" / "statistics.parquet"
    good = table.read_bytes()
    table.write_bytes(good[: len(good) // 2])
    reproduce(small, experiments=["arrivals"], quick=True, runs=100)
    assert "computed again" in caplog.text
    assert table.read_bytes() == good


def test_one_reproduction_at_a_time(tmp_path: Path) -> None:
    with (
        occupied(tmp_path / "paper"),
        pytest.raises(ResultFolderError, match="is being filled by another run"),
    ):
        reproduce(tmp_path / "paper", experiments=["arrivals"], quick=True, runs=100)
    with (
        occupied(tmp_path / "paper" / "arrivals"),
        pytest.raises(ResultFolderError, match="is being filled"),
    ):
        reproduce(tmp_path / "paper", experiments=["arrivals"], quick=True, runs=100)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "field"),
    [({"runs": 0}, "runs"), ({"seed": -1}, "seed"), ({"workers": 0}, "workers")],
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
    ("way", "arguments", "words"),
    [
        (run, ["--experiment", "cauchy"], ("experiment", "'cauchy'", "choose from")),
        (call, ["--variant", "x"], ("variant", "'x'")),
    ],
)
def test_one_line_for_a_mistake(
    tmp_path: Path, way: Way, arguments: list[str], words: tuple[str, ...]
) -> None:
    done = way(*COMMAND, "--out", "new", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words)
    assert not (tmp_path / "new").exists()


def test_without_the_libraries_of_the_report(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['altair'] = None; sys.argv = ['profitable', 'paper', '--out', "
        "sys.argv[1]]; "
        "from profitable.cli import main; main()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 2
    assert "pip install 'profitable[paper]'" in done.stderr
    assert not (tmp_path / "new").exists()


def complete(folder: Path) -> None:
    """Do what COMMAND does if nobody interrupts it."""
    reproduce(folder, experiments=["bernoulli", "arrivals"], quick=True, runs=300)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "paper"
    complete(folder)
    return folder


@pytest.mark.parametrize(
    ("moment", "left"),
    [
        ("in the first experiment", {BERNOULLI: 7, ARRIVALS: 12}),
        ("in the last block of the first experiment", {ARRIVALS: 12}),
        ("in a later experiment", {ARRIVALS: 4}),
        ("while the report is written", {}),
    ],
)
def test_ctrl_c_loses_nothing(
    tmp_path: Path, whole: Path, played: "Counter[str]", moment: str, left: dict[str, int]
) -> None:
    """Interrupted at some moment, run again: the same files as without the
    interruption, and no half of one before.
    """
    folder = tmp_path / "paper"
    command = at(
        moment, "SIGTERM" if "later" in moment else "SIGINT", *COMMAND, "--out", str(folder)
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.part"))
    assert not (folder / "report.html").exists()
    complete(folder)
    assert played == left  # and no other blocks
    assert numbers(folder) == numbers(whole, folder)


def test_killed_in_the_middle(tmp_path: Path, whole: Path, played: "Counter[str]") -> None:
    """Even without a chance to tidy up: what was saved is taken over, and the report is
    whole.
    """
    folder = tmp_path / "paper"
    command = at("while a later result is saved", "SIGKILL", *COMMAND, "--out", str(folder))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == -9, done.stderr
    assert not (folder / "report.html").exists()
    (half,) = folder.rglob("*.part")
    half.unlink()
    complete(folder)
    assert played == {ARRIVALS: 12}
    assert numbers(folder) == numbers(whole, folder)
