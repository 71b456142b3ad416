"""`make bench`: what fails, and what the baseline keeps.  Nothing is timed here."""

import doctest
import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
Costs = dict[str, float]


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("rows")


@pytest.fixture
def machine(rows: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Measure nothing: the machine is as fast as the reference."""
    found = importlib.import_module("machine")
    monkeypatch.setattr(found, "slowness", lambda: 1.0)
    return found


@pytest.fixture
def bench(machine: ModuleType) -> ModuleType:
    return importlib.import_module("bench")


@pytest.fixture
def run(
    bench: ModuleType, rows: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., int]:
    """Run the driver with a job of each kind, whose costs are given, and no clock.

    The bars: a decision is at least twice as fast as its peer of 10 us, an import takes
    at most 1.2 times its peer of 1 s, and a first decision at most 5 s.
    """

    def run(*options: str, decision: float = 4.0, start: float = 1.0, first: float = 4.0) -> int:
        found = [
            rows.Row("a decision", decision, 10.0, "us", bar=2.0, at_least=True),
            rows.Row("an import", start, 1.0, "s", bar=1.2),
            rows.limited("a first decision", first, 5.0, "s"),
        ]

        def groups(scripts: Sequence[str], **kind: object) -> list[Any]:
            return [rows.Group("everything", lambda: found)]

        monkeypatch.setattr(bench, "groups", groups)
        return bench.main(options, tmp_path / "baseline.json")

    return run


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[Costs], None]:
    """Write the ratios of a release."""

    def keep(ratios: Costs) -> None:
        content = {"version": "1.0.0", "ratios": ratios}
        (tmp_path / "baseline.json").write_text(json.dumps(content))

    return keep


def kept(folder: Path) -> Costs:
    return json.loads((folder / "baseline.json").read_text())["ratios"]


def said_of(printed: str, job: str) -> str:
    """Return the line of the table."""
    (line,) = [line for line in printed.splitlines() if line.strip().startswith(f"{job} ")]
    return line


def failed(printed: str) -> list[str]:
    """Return what the driver says below the table."""
    _, said = printed.split("\nFailed:\n")
    return [line[2:] for line in said.splitlines() if line.startswith("- ")]


def test_the_doctests_of_the_rows(rows: ModuleType) -> None:
    found = doctest.testmod(rows)
    assert found.attempted
    assert not found.failed


def test_all_bars_met(run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    printed = capsys.readouterr().out
    factor, _, header, *_ = printed.splitlines()
    assert factor == "Limits of time are multiplied by 1.00, measured in this run."
    for column in ("job", "ours", "peer or limit", "ratio", "bar"):
        assert column in header
    for cell in ("4 us", "10 us", "2.5", ">= 2", "met"):
        assert cell in said_of(printed, "a decision")
    for cell in ("4 s", "limit 5 s", "0.8", "<= 1", "met"):
        assert cell in said_of(printed, "a first decision")
    assert "Failed" not in printed


@pytest.mark.parametrize(
    ("costs", "job", "ratio"),
    [
        ({"decision": 5.1}, "a decision", "1.96"),
        ({"start": 1.21}, "an import", "1.21"),
        ({"first": 5.1}, "a first decision", "1.02"),
    ],
)
def test_a_missed_bar_fails_by_name(
    costs: Costs,
    job: str,
    ratio: str,
    run: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(**costs) == 1
    printed = capsys.readouterr().out
    assert failed(printed) == [f"{job}: ratio {ratio} misses its bar"]
    assert "MISSED (3 attempts)" in said_of(printed, job)


@pytest.mark.parametrize(
    ("job", "before", "ratio"), [("a decision", 2.91, "2.5"), ("an import", 0.86, "1")]
)
def test_a_ratio_15_percent_worse_fails_by_name(
    job: str,
    before: float,
    ratio: str,
    run: Callable[..., int],
    keep: Callable[[Costs], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ratios of 2.5 and 1; their bars are met.  2.5 x 1.15 = 2.875, 1 / 1.15 = 0.87."""
    keep({"a decision": 2.87, "an import": 0.87})
    assert run() == 0
    capsys.readouterr()
    keep({"a decision": 2.87, "an import": 0.87} | {job: before})
    assert run() == 1
    printed = capsys.readouterr().out
    assert failed(printed) == [f"{job}: ratio {ratio} is 16 % worse than the baseline {before}"]
    assert "WORSE" in said_of(printed, job)


def test_the_best_measurement_counts(rows: ModuleType) -> None:
    """A job that meets its bar is not measured anew when its group is."""
    costs = iter([(6.0, 1.0), (5.5, 2.0), (5.8, 0.5)])

    def measure() -> list[Any]:
        decision, start = next(costs)
        return [
            rows.Row("a decision", decision, 10.0, "us", bar=2.0, at_least=True),
            rows.Row("an import", start, 1.0, "s", bar=1.2),
        ]

    decision, start = rows.measured(rows.Group("both", measure), {})
    assert (decision.ours, decision.attempts) == (5.5, 3)
    assert (start.ours, start.attempts) == (1.0, 1)


def test_a_slow_machine_has_more_time(
    machine: ModuleType,
    rows: ModuleType,
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(machine, "slowness", lambda: 2.0)
    assert run(first=9.9) == 0
    printed = capsys.readouterr().out
    assert "multiplied by 2.00" in printed
    assert "limit 10 s" in said_of(printed, "a first decision")
    assert run(first=10.1) == 1
    assert rows.limited("memory", 1.0, 5.0, "bytes").peer == 5.0


def test_slowness_is_the_fastest_turn_over_the_reference(
    rows: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = importlib.import_module("machine")
    costs = iter([3.0, 2.0] * machine.TURNS)
    monkeypatch.setattr(machine, "process_cpu", lambda _: next(costs) * machine.REFERENCE)
    assert machine.slowness.__wrapped__() == 2.0


def test_the_quick_form_measures_a_failing_job_again_once(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--quick", decision=5.1) == 1
    assert "MISSED (2 attempts)" in said_of(capsys.readouterr().out, "a decision")


def test_the_baseline_has_ratios_and_no_times(run: Callable[..., int], tmp_path: Path) -> None:
    """The ratio to a limit would be a time of this machine."""
    assert run("--renew-baseline", decision=3.0, start=0.9) == 0
    content = json.loads((tmp_path / "baseline.json").read_text())
    assert set(content) == {"version", "ratios"}
    assert content["ratios"] == {"a decision": 3.33, "an import": 0.9}


def test_a_renewed_baseline_forgets_jobs_only_if_everything_was_measured(
    run: Callable[..., int],
    keep: Callable[[Costs], None],
    tmp_path: Path,
) -> None:
    keep({"a decision": 9.0, "a job of old": 1.0})
    assert run("--renew-baseline", "--quick") == 0
    assert kept(tmp_path) == {"a decision": 2.5, "a job of old": 1.0, "an import": 1.0}
    assert run("--renew-baseline") == 0
    assert kept(tmp_path) == {"a decision": 2.5, "an import": 1.0}


def test_a_missed_bar_renews_the_baseline_only_on_demand(
    run: Callable[..., int],
    keep: Callable[[Costs], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep({"a decision": 9.0})
    assert run("--renew-baseline", decision=8.0) == 1
    assert kept(tmp_path) == {"a decision": 9.0}
    assert "The baseline stays as it was" in capsys.readouterr().out
    assert run("--renew-baseline", "--even-if-missed", decision=8.0) == 1
    assert kept(tmp_path) == {"a decision": 1.25, "an import": 1.0}


@pytest.mark.parametrize(
    ("options", "is_whole"), [((), True), (("--quick",), False), (("--only", "online"), False)]
)
def test_jobs_and_baseline_that_differ_are_said(
    options: tuple[str, ...],
    is_whole: bool,
    run: Callable[..., int],
    keep: Callable[[Costs], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep({"a decision": 2.5, "a job of old": 1.0})
    assert run(*options) == 0
    printed = capsys.readouterr().out
    assert ("Note: a job of old: in the baseline, but not measured\n" in printed) == is_whole
    assert ("Note: an import: not in the baseline\n" in printed) == is_whole
    assert "Note: a first decision" not in printed


def test_an_unknown_script_is_refused(bench: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--only", "onlin"], tmp_path / "baseline.json")


def test_the_quick_form_is_a_part(bench: ModuleType) -> None:
    whole, quick = (
        [group.name for group in bench.groups(bench.SCRIPTS, quick=quick, before="before")]
        for quick in (False, True)
    )
    assert len(set(whole)) == len(whole)
    assert set(quick) < set(whole)


def test_the_quick_form_compares_a_part_with_the_first_version(bench: ModuleType) -> None:
    before_after = importlib.import_module(bench.BEFORE)
    every = set(before_after.jobs())
    whole, quick = (
        {
            job
            for group in before_after.groups("before", label="before", quick=quick)
            for job in group.measure.args[0]
        }
        for quick in (False, True)
    )
    assert whole == every
    assert quick < whole
    for kind, parts in before_after.KINDS.items():
        for part in parts:
            assert any(job.startswith(kind) and part in job for job in every), part
