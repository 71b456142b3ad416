"""A study's numbers: those of simulate, whatever the workers, interrupted or not."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.errors import (
    BrokenResultError,
    Interrupted,
    NewerResultError,
    OtherResultError,
    ResultFolderError,
)
from profitable.simulation.curve import Curve
from profitable.studies import conduct
from profitable.studies.conduct import SUMS
from profitable.studies.study import STUDY_COLUMNS
from profitable.studies.study_result import compare, interval_of, limit_of, reach_of_best
from tests.exact_stopping import exact_regret
from tests.opened import Opened, launched, needs_browser
from tests.studies.worlds import SMALL

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"


@pytest.fixture(scope="module")
def small() -> pb.StudyResult:
    return pb.study(pb.Study.from_toml(SMALL))


def test_the_numbers_are_those_of_simulate(small: pb.StudyResult) -> None:
    """To the last bit, for as many runs as each setting got."""
    place = 0
    for world in small.study.worlds:
        gap = world.values["gap"]
        assert [truth.mean for truth in world.scenario.truths] == [0.5 + gap, 0.5 - gap]
        for setting in world.settings:
            curve = small.curves[place]
            same = pb.simulate(
                world.scenario, [setting.policy], horizon=300, runs=curve.runs, seed=3
            ).curves[0]
            assert curve.regret[-1] == same.regret[-1]
            assert curve.stderr[-1] == same.stderr[-1]
            assert curve.quantile(0.99)[-1] == same.quantile(0.99)[-1]
            assert curve.mean("total_profit") == same.mean("total_profit")
            place += 1
    assert place == small.study.size == 12


def test_the_worse_half_is_dropped(small: pb.StudyResult) -> None:
    """Recomputed with simulate alone: 6 settings with 100 runs, the best 3 with 200,
    the best 2 with 400.
    """
    for world, places in zip(small.study.worlds, small.study.places, strict=True):
        left = [setting.policy for setting in world.settings]
        dropped = dict.fromkeys(left, 0)
        for stage, (runs, keep) in enumerate([(100, 3), (200, 2)], 1):
            result = pb.simulate(world.scenario, left, horizon=300, runs=runs, seed=3)
            ordered = sorted(left, key=lambda name, result=result: result[name].estimate.mean[-1])
            dropped |= dict.fromkeys(ordered[keep:], stage)
            left = ordered[:keep]
        assert [small.dropped[place] for place in places] == list(dropped.values())
        runs = {0: 400, 1: 100, 2: 200}
        assert [small.curves[place].runs for place in places] == [
            runs[stage] for stage in dropped.values()
        ]
    assert small.runs == small.study.planned_runs == 2 * (3 * 100 + 200 + 2 * 400)


def test_table_and_best(small: pb.StudyResult) -> None:
    frame = small.to_frame("pandas")
    assert set(frame.columns) == {*STUDY_COLUMNS, "gap", "c", "risk"}
    assert len(frame) == 12
    for best, (_, rows) in zip(small.best, frame.groupby("gap"), strict=True):
        full = rows[rows["dropped_at_stage"].isna()]
        row = full.loc[full["regret"].idxmin()]
        assert (best.policy, best.regret, best.low, best.high) == tuple(
            row[["policy", "regret", "low", "high"]]
        )
        (second,) = full[~full["best"]].to_dict("records")
        assert best.runner_up == second["policy"]
        assert best.difference == pytest.approx(second["regret"] - best.regret)
        above = (best.high - best.regret) / reach_of_best(6)
        assert best.difference_error == pytest.approx(np.hypot(second["stderr"], above))
        limit = limit_of(6, 3)
        alike = rows[(rows["more_than_best"] <= limit * rows["more_stderr"]) & ~rows["best"]]
        assert list(best.indistinguishable) == list(alike["policy"])
        assert best.policy in str(small)
    assert small.to_dict()["best"][0]["world"] == "gap = 0.05"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_interrupted_again_and_again_gives_the_same_bytes(
    small: pb.StudyResult, tmp_path: Path
) -> None:
    study = pb.Study.from_toml(SMALL)
    small.save(tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    assert set(whole) >= {
        "report.html",
        "study.json",
        "study.parquet",
        "sums.parquet",
        "worlds.svg",
        "worlds.png",
    }
    interruptions, seen = 0, -1.0

    def ctrl_c(share: float) -> None:
        nonlocal seen
        if share > seen + 0.2:  # some blocks further than the last time
            seen = share
            signal.raise_signal(signal.SIGINT)

    while True:
        try:
            found = pb.study(
                study, out=tmp_path / "parts", workers=1 + interruptions % 3, progress=ctrl_c
            )
            break
        except Interrupted:
            interruptions += 1
            with pytest.raises(BrokenResultError, match="not finished"):
                pb.StudyResult.load(tmp_path / "parts")
    assert interruptions >= 3
    assert contents(tmp_path / "parts") == whole
    assert str(found) == str(small) == str(pb.StudyResult.load(tmp_path / "parts"))
    said: list[str] = []
    again = pb.study(study, out=tmp_path / "parts", progress=False, say=said.append)
    assert said == [
        (
            f"{study.planned_runs} of {study.planned_runs} runs are taken over from "
            f"{tmp_path / 'parts'}"
        )
    ]
    assert str(again) == str(small)
    assert contents(tmp_path / "parts") == whole


def test_processes_give_the_same(small: pb.StudyResult) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        assert str(pb.study(pb.Study.from_toml(SMALL), executor=executor)) == str(small)


def test_what_a_folder_may_hold(
    small: pb.StudyResult, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = pb.Study.from_toml(SMALL)
    small.save(tmp_path)
    before = contents(tmp_path)
    other = replace(study, seed=4)
    with pytest.raises(OtherResultError, match=r"its seed is 3, not 4; .*--fresh"):
        pb.study(other, out=tmp_path)
    assert contents(tmp_path) == before
    path = tmp_path / SUMS
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(BrokenResultError):
        pb.StudyResult.load(tmp_path)
    assert str(pb.study(study, out=tmp_path)) == str(small)  # computed again
    assert "computed again" in caplog.text
    assert contents(tmp_path) == before
    assert pb.study(other, out=tmp_path, fresh=True).study.seed == 4
    (tmp_path / "study.json").write_text('{"format": 99, "version": "9.9"}')
    with pytest.raises(NewerResultError, match=r"9\.9"):
        pb.study(study, out=tmp_path)
    (tmp_path / "study.json").write_text('{"name": "my-app"}')
    with pytest.raises(ResultFolderError, match="not ours"):
        pb.study(study, out=tmp_path)
    with pytest.raises(BrokenResultError):
        pb.StudyResult.load(tmp_path / "nowhere")


def curve_of(mean: float, error: float) -> Curve:
    """A curve with an invented mean regret and standard error."""
    coin = pb.Truth(pb.Category("coin", pb.Bernoulli(), threshold=0.6), mean=0.5)
    curve = pb.simulate(
        pb.Scenario("coin", [coin]), ["ts"], horizon=10, runs=100, checkpoints=[10]
    ).curves[0]
    place = curve.layout.place("regret")
    curve.moments.mean[place] = mean
    curve.moments.squares[place] = error**2 * 100 * 99
    curve.moments.fourths[place] = 3.0 * (curve.moments.squares[place] / 100) ** 2 * 100
    curve.moments.cubes[place] = 0.0
    return curve


def test_the_comparison_of_invented_regrets() -> None:
    """Four settings and two stages: 6 comparisons, so the limit is the normal quantile
    of 1 - 0.05/6, 2.394.
    """
    curves = [curve_of(*each) for each in [(11.0, 1.0), (10.0, 1.0), (14.0, 1.0), (9.0, 5.0)]]
    found = compare(curves, [0, 1, 2], stages=2)
    assert found.limit == pytest.approx(2.39398, abs=1e-5)
    # The last one has the lowest mean, but was dropped.
    assert (found.best, found.runner_up) == (1, 0)
    assert [round(each.difference, 6) for each in found.compared] == [1.0, 0.0, 4.0, -1.0]
    assert found.compared[2].error == pytest.approx(2**0.5)
    assert found.indistinguishable == [0, 3]  # 4 is more than 2.394 times 1.414
    assert compare(curves[:1], [0], stages=1).runner_up is None


@pytest.mark.statistical
def test_the_interval_of_the_best_of_twenty_that_are_tied() -> None:
    """True mean 10, errors of 1.  Limits that ignore the choice cover in 0.977^20 - ...
    = 63 % of 400 samples.

    With a coverage of 95 %, fewer than 92 % are seen with probability 0.6 %.
    """
    rng = np.random.default_rng(8)
    curve = curve_of(10.0, 1.0)
    covered = dict.fromkeys((1, 20), 0)
    for _ in range(400):
        curve.moments.mean[curve.layout.place("regret")] = rng.normal(10.0, 1.0, 20).min()
        for best_of in covered:
            low, high = interval_of(curve.estimate, best_of=best_of)
            covered[best_of] += low < 10.0 < high
    assert covered[1] < 0.7 * 400
    assert covered[20] > 0.92 * 400
    assert interval_of(curve.estimate) == tuple(float(limit[-1]) for limit in curve.interval)


HORIZONS = (100, 300, 1_000, 3_000, 10_000)


def rare_losses(seed: int, runs: int) -> pb.StudyResult:
    """The grid in which a horizon that is too short has the lowest mean in most
    samples, and the largest in truth.
    """
    coins = [
        {"name": name, "family": "bernoulli", "threshold": 0.5, "mean": mean, "clients": 3}
        for name, mean in (("good", 0.7), ("bad", 0.3))
    ]
    axes = {"h": list(HORIZONS)}
    size = {"horizon": 10_000, "runs": runs, "seed": seed}
    return pb.study(
        pb.Study(
            "grid",
            scenario={"category": coins},
            policies=["optimal:horizon={h}"],
            axes=axes,
            **size,
        ),
        progress=False,
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("seeds", "runs"),
    [
        (6, 200),
        pytest.param(200, 300, marks=pytest.mark.skipif(not SOAK, reason="minutes; make soak")),
    ],
)
def test_a_setting_whose_losses_are_too_rare_to_be_seen_is_not_called_best(
    seeds: int, runs: int
) -> None:
    """The truth is the sum over all paths: 38.5, 12.8, 10.8, 7.74 and 9.56, so the
    fourth is best.
    """
    truths = [exact_regret(0.7, 0.3, 0.5, 3, told=told, horizon=10_000) for told in HORIZONS]
    assert np.argmin(truths) == 3
    excluded = covered = fooled = 0
    for seed in range(seeds):
        found = rare_losses(seed, runs)
        (best,) = found.best
        excluded += f"optimal:horizon={HORIZONS[3]}" not in (best.policy, *best.indistinguishable)
        covered += best.low < truths[HORIZONS.index(best.values["h"])] < best.high
        fooled += (
            min(found.curves, key=lambda curve: curve.regret[-1]).policy
            != f"optimal:horizon={HORIZONS[3]}"
        )
        assert found.dropped[3] == 0
    print("excluded", excluded, "covered", covered, "fooled", fooled, "of", seeds)
    assert excluded <= 0.05 * seeds
    assert covered >= 0.9 * seeds - 1
    assert fooled >= 0.5 * seeds  # the means over runs alone choose another one


@pytest.mark.statistical
def test_it_finds_the_best() -> None:
    """kl-UCB with c: each unit of c costs.  c = 0 is the best by far, and in 12 seeds
    it is never told apart.

    Adjacent settings differ by several errors at 400 runs, so a mistake has a
    probability below 1e-4 in all.
    """
    coin = {"name": "coin", "family": "bernoulli", "threshold": 0.5, "mean": 0.3, "clients": 1}
    for seed in range(12):
        axes = {"c": [12, 6, 0, 3, 9]}
        size = {"horizon": 1_000, "runs": 400, "seed": seed}
        study = pb.Study(
            "coins", scenario={"category": [coin]}, policies=["kl-ucb:c={c}"], axes=axes, **size
        )
        (best,) = pb.study(study).best
        assert best.values == {"horizon": 1_000, "c": 0}
        assert best.indistinguishable == ()


@pytest.mark.parametrize("name", ["bands", "forget", "map"])
def test_the_examples_run(name: str, tmp_path: Path) -> None:
    assert pb.Study.load(name).size == {"bands": 72, "forget": 100, "map": 192}[name]
    few = {
        "bands": {"bands": [10, 20], "slope": [0.2], "disorder": [0], "trust": ["0", "inf"]},
        "forget": {"n": [20, 50], "forget": [0.9, 0.99]},
        "map": {"gap": [0.05, 0.2], "clients": [1, 30]},
    }
    found = pb.study(
        pb.Study.load(name, runs=100, horizon=100, axes=few[name]), out=tmp_path / name
    )
    assert len(found.best) == {"bands": 2, "forget": 2, "map": 4}[name]
    assert (tmp_path / name / "report.html").exists()


@needs_browser
def test_the_page_opens(small: pb.StudyResult, tmp_path: Path) -> None:
    strange = replace(small.study, name="</script><b>&", scenario=list(small.study.scenario))
    pb.StudyResult(strange, small.curves, small.dropped).save(tmp_path)
    with launched() as browser:
        for width in (1200, 400):
            opened = Opened(browser, tmp_path / "report.html", width)
            page = opened.page
            assert page.locator("h1").inner_text() == "</script><b>&"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator(".multiples .chart svg.marks").count() == 2
            assert page.locator("table.best tbody tr").count() == 2
            assert small.best[0].policy in page.locator("table.best").inner_text()
            assert opened.complaints == []
            assert all(url.startswith(("file:", "data:", "blob:")) for url in opened.requests)


def test_saves_happen_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profitable.simulation.runner.SAVE_EVERY", 0.0)
    saves: list[int] = []
    save = conduct.save_sums

    def counted(state: object, folder: Path) -> None:
        saves.append(1)
        save(state, folder)

    monkeypatch.setattr(conduct, "save_sums", counted)
    study = pb.Study.from_toml(SMALL)
    pb.study(study, out=tmp_path / "here")
    assert len(saves) > 3  # more often than at the end of its three stages
