"""`profitable simulate` and `profitable bounds` as a user, or another program, calls
them.
"""

import errno
import json
import os
import signal
import sys
from pathlib import Path

import pytest

import profitable as pb
from profitable.common import sealed_folder
from profitable.common.locks import occupied
from tests.cli.test_app import Way, call, run
from tests.simulation.test_scenario import CONTRACT
from tests.simulation.worlds import BERNOULLI, paper
from tests.waiting import LIMIT, at, said, started, wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "segments.toml").write_text(CONTRACT)
    paper("five", BERNOULLI).save(tmp_path / "five.toml")
    return tmp_path


def numbers(text: str) -> dict[str, object]:
    found = json.loads(text)
    for policy in found["policies"]:
        policy.pop("seconds")
    return found


SHORT = [
    "simulate",
    "segments.toml",
    "--policy",
    "kl-ucb:c=3",
    "--policy",
    "ts",
    "--horizon",
    "300",
    "--runs",
    "120",
]


def test_json_and_nothing_else(folder: Path) -> None:
    done = run(*SHORT, "--json", "--checkpoints", "100,10,300", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["scenario"], found["horizon"], found["runs"], found["seed"]) == (
        "three segments",
        300,
        120,
        1,
    )
    assert [each["policy"] for each in found["policies"]] == ["kl-ucb:c=3", "ts"]
    assert found["policies"][0]["t"] == [10, 100, 300]
    assert sorted(path.name for path in folder.iterdir()) == ["five.toml", "segments.toml"]
    again = call(*SHORT, "--json", "--checkpoints", "10,100,300", "--workers", "1", cwd=folder)
    assert numbers(again.stdout) == numbers(done.stdout)
    slow = call(*SHORT, "--json", "--kernel", "rounds", cwd=folder)
    assert {each["kernel"] for each in json.loads(slow.stdout)["policies"]} == {"rounds"}


def test_table_and_files(folder: Path) -> None:
    done = run(*SHORT, "--out", "results/here", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "car loans (+)" in done.stdout
    made = sorted(path.name for path in (folder / "results/here").iterdir())
    assert made == ["regret.png", "result.json", "statistics.parquet", "timing.json"]
    assert pb.Result.load(folder / "results/here").finished == 120
    assert call(*SHORT, "--out", "results/here", "--resume", cwd=folder).stdout == done.stdout


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_forgotten_resume_loses_nothing(folder: Path) -> None:
    first = call(*SHORT, "--out", "results", cwd=folder)
    assert "taken over" not in first.stderr
    before = contents(folder)
    again = call(*SHORT, "--out", "results", cwd=folder)
    assert again.stdout == first.stdout
    assert "120 of 120 runs are taken over from results" in again.stderr
    assert contents(folder) == before
    for other in (
        ["--seed", "2"],
        ["--runs", "50"],
        ["--policy", "kl-ucb"],
        ["--seed", "2", "--resume"],
    ):
        done = call(*SHORT, *other, "--out", "results", cwd=folder)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "--fresh" in done.stderr
        assert contents(folder) == before
    assert call(*SHORT, "--seed", "2", "--out", "results", "--fresh", cwd=folder).returncode == 0
    assert pb.Result.load(folder / "results").seed == 2


def test_one_run_at_a_time(folder: Path) -> None:
    with occupied(folder / "results"):
        done = call(*SHORT, "--out", "results", cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        (
            "profitable: out = 'results' is being filled by another run; wait until that "
            "is done, or choose another folder."
        )
    ]


@pytest.mark.parametrize("what", ["numbers", "picture"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_does_not_hide_the_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, options: list[str]
) -> None:
    def full(*given: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    expected = call(*SHORT, *options, cwd=folder).stdout
    if what == "numbers":
        monkeypatch.setattr(sealed_folder, "replace_file", full)
    else:
        monkeypatch.setattr("profitable.common.charts.replace_file", full)
    done = call(*SHORT, *options, "--out", "results", cwd=folder)
    assert done.returncode == 1
    if options:
        assert numbers(done.stdout) == numbers(expected)
    else:
        assert done.stdout == expected
    *notes, line = done.stderr.splitlines()
    assert all(note.startswith("profitable: note: ") for note in notes)
    assert line.startswith("profitable: ")
    assert "No space left on device" in line


def test_whole_numbers_as_people_write_them(folder: Path) -> None:
    plain = call(*SHORT, "--json", "--checkpoints", "10,300", cwd=folder)
    other = ["--horizon", "3e2", "--runs", "1.2e2", "--checkpoints", "1e1,300"]
    assert numbers(call(*SHORT[:6], *other, "--json", cwd=folder).stdout) == numbers(plain.stdout)
    long = json.loads(call("bounds", "five.toml", "--horizon", "1e9", "--json", cwd=folder).stdout)
    assert long["horizon"] == 10**9


def test_bounds(folder: Path) -> None:
    done = run("bounds", "five.toml", "--horizon", "1000000", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "11.18" in done.stdout
    found = json.loads(call("bounds", "five.toml", "--json", cwd=folder).stdout)
    assert found["lower_bound_per_log_t"] == pytest.approx(11.175, abs=1e-3)
    # With the factor average/smallest.
    assert found["upper_bound_per_log_t"] == pytest.approx(73.6, abs=0.1)
    first = found["categories"][0]
    assert first["clients_per_log_t"] == pytest.approx(27.2554, abs=1e-4)  # 1 / d(0.1, 0.2)
    assert first["kl_ucb"]["clients"] == pytest.approx(5276, abs=1)
    assert first["kl_ucb_turned_away"] is None  # profitable categories only, and bounded arrivals
    loans = json.loads(call("bounds", "segments.toml", "--json", cwd=folder).stdout)["categories"][
        2
    ]
    assert loans["loss_per_client"] == pytest.approx(41.6)
    assert loans["kl_ucb_turned_away"] > 0


MISTAKES = [
    (["simulate", "missing.toml"], "missing.toml"),
    ([*SHORT, "--out", "newer"], "newer"),
    (["simulate"], "SCENARIO is missing"),
    ([*SHORT, "--horizon", "0"], "horizon = 0"),
    ([*SHORT, "--horizon", "1" + "0" * 30], "horizon"),
    ([*SHORT, "--horizon", "soon"], "soon"),
    ([*SHORT, "--horizon", "1.5"], "--horizon = '1.5': it is not a whole number"),
    ([*SHORT, "--horizon", "1e6.5"], "1e6.5"),
    ([*SHORT, "--horizon=nan"], "nan"),
    ([*SHORT, "--runs", "1e999999999"], "1e999999999"),
    ([*SHORT, "--runs", "0.5"], "--runs = '0.5': it is not a whole number"),
    ([*SHORT, "--checkpoints", "10,1.5"], "10,1.5"),
    ([*SHORT, "--resume", "--fresh", "--out", "new"], "fresh"),
    ([*SHORT, "--runs", "0"], "runs = 0"),
    ([*SHORT, "--seed", "-1"], "seed = -1"),
    ([*SHORT, "--policy", "ucb1"], "ucb1"),
    ([*SHORT, "--policy", "ts:c=3"], "ts:c=3"),
    ([*SHORT, "--policy", "ts"], "twice"),
    ([*SHORT, "--checkpoints", "10,1000"], "checkpoints = 1000"),
    ([*SHORT, "--checkpoints", "10;20"], "10;20"),
    ([*SHORT, "--checkpoints", ""], "checkpoints"),
    ([*SHORT, "--kernel", "quick"], "quick"),
    ([*SHORT, "--workers", "0"], "workers = 0"),
    ([*SHORT, "--out", "segments.toml"], "segments.toml"),
    ([*SHORT, "--out", "newer", "--resume"], "newer"),
    ([*SHORT, "--out", "foreign"], "foreign"),
    (["simulate", "unbounded.toml", "--policy", "kl-gaussian-ucb"], "bound of 'claims'"),
    (["simulate", "empty.toml"], "category"),
    (["simulate", "wrong.toml"], "'students'"),
    (["bounds", "wrong.toml"], "'students'"),
    (["bounds", "segments.toml", "--horizon", "1"], "horizon = 1"),
    (
        ["simulate", "unordered.toml"],
        "unordered.toml: category 'students': mean = [[1, 0.3], [9, 0.1], [5, 0.3]]",
    ),
    (["simulate", "outside.toml"], "outside.toml: category 'students': mean from round 9 = 3"),
    (["bounds", "moving.toml"], "has means that change"),
]


@pytest.mark.parametrize(
    ("way", "arguments", "named"),
    [*((call, *mistake) for mistake in MISTAKES), *((run, *mistake) for mistake in MISTAKES[:3])],
    ids=lambda value: value.__name__ if callable(value) else str(value)[-40:],
)
def test_mistakes_get_one_line_and_exit_2(
    folder: Path, way: Way, arguments: list[str], named: str
) -> None:
    (folder / "empty.toml").write_text('name = "nobody"\n')
    (folder / "wrong.toml").write_text(CONTRACT.replace("mean = 0.3", "mean = 3"))
    for name, means in (
        ("unordered", "[9, 0.1], [5, 0.3]"),
        ("outside", "[9, 3]"),
        ("moving", "[9, 0.1]"),
    ):
        (folder / f"{name}.toml").write_text(
            CONTRACT.replace("mean = 0.3", f"mean = [[1, 0.3], {means}]")
        )
    (folder / "unbounded.toml").write_text(
        'name = "x"\n[[category]]\nname = "claims"\nfamily = "poisson"\nmean = 1\n'
        "threshold = 2\nclients = 1\n"
    )
    for name, text in (
        ("newer", '{"format": 99, "version": "9.9.9"}'),
        ("foreign", '{"name": "my-app"}'),
    ):
        (folder / name).mkdir()
        (folder / name / "result.json").write_text(text)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = way(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("profitable: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert named in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("out", "deed"), [(True, signal.SIGINT), (False, signal.SIGINT), (True, signal.SIGTERM)]
)
def test_interrupted_and_resumed(
    folder: Path, out: bool, deed: signal.Signals, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Interrupted in the middle of so many runs that they would take hours."""
    where = ["--out", "results"] if out else []
    command = [
        "simulate",
        "five.toml",
        "--policy",
        "kl-ucb",
        "--kernel",
        "rounds",
        "--horizon",
        "1000",
        *where,
    ]
    there = tmp_path_factory.mktemp("moment") / "there"
    long = [*command, "--runs", str(10**9)]
    with started(at("some runs are finished", str(there), *long), cwd=folder) as job:
        wait_for(there, job)
        os.kill(job.pid, deed)
        printed, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 130
    assert printed == ""
    assert "run the same command to resume" in errors
    assert len(said(errors)) == 1
    if out:
        kept = folder / "results"
    else:
        (kept,) = folder.glob("profitable-*")
        assert kept.name in errors
    finished = pb.Result.load(kept).finished
    assert 0 < finished < 10**9
    wanted = [*command, "--runs", str(finished + 250), "--json"]
    resumed = call(*wanted, cwd=folder)
    assert resumed.returncode == 0, resumed.stderr
    fresh = call(*(part for part in wanted if part not in where), cwd=folder)
    assert numbers(resumed.stdout) == numbers(fresh.stdout)
    assert not list(folder.glob("profitable-*"))


def test_killed_and_resumed(folder: Path) -> None:
    """SIGKILL leaves no time for anything, here while the folder is written again and
    again: what was saved is used.
    """
    code = (
        "import profitable as pb, profitable.simulation.runner as s; s.SAVE_EVERY = 0.0\n"
        "pb.simulate(pb.Scenario.load('five.toml'), ['ts'], horizon=1000, "
        "runs=10**9, kernel='rounds', out='r')"
    )
    with started([sys.executable, "-c", code], cwd=folder) as job:
        wait_for(folder / "r" / "timing.json", job)
        job.kill()
        job.wait()
    scenario = pb.Scenario.load(folder / "five.toml")
    finished = pb.Result.load(folder / "r").finished
    assert finished > 0
    options = {"horizon": 1000, "runs": finished + 100, "kernel": "rounds"}
    resumed = pb.simulate(scenario, ["ts"], **options, out=folder / "r", resume=True)
    fresh = pb.simulate(scenario, ["ts"], **options)
    assert resumed.table() == fresh.table()


def test_bands_are_played_together_and_not_by_events(tmp_path: Path) -> None:
    head = '[[category]]\nfamily = "bernoulli"\nthreshold = 0.5\nclients = 2\norder = "score"\n'
    entries = "".join(f'{head}name = "{k}"\nmean = 0.{k}\n' for k in (3, 6))
    (tmp_path / "bands.toml").write_text(f'name = "bands"\n{entries}')
    short = ["simulate", "bands.toml", "--policy", "ts", "--horizon", "20", "--runs", "3"]
    failed = call(*short, "--kernel", "events", cwd=tmp_path)
    assert failed.returncode == 2
    assert "the bands of 'score' share evidence; leave it out, or give rounds" in failed.stderr
    done = call(*short, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["policies"][0]["kernel"] == "rounds"
    usual = call("simulate", "bands.toml", "--horizon", "20", "--runs", "3", "--json", cwd=tmp_path)
    played = [each["policy"] for each in json.loads(usual.stdout)["policies"]]
    assert played == ["kl-ucb", "optimal:horizon", "bayes-ucb", "ts"]
    assert "cannot share the evidence of kl-ucb+; taking optimal:horizon" in usual.stderr
