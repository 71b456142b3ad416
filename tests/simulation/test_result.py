"""Results: on disk and back, joined, drawn; folders that are newer, broken, foreign or
not writable.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.common.files import json_text, seal
from profitable.simulation.running_stats import Moments, count_sparsely, new_histogram, quantile
from tests.simulation.worlds import BERNOULLI, paper, single

FIVE = paper("five", BERNOULLI)


def simulate(*policies: Any, **options: Any) -> pb.Result:
    return pb.simulate(FIVE, policies, **{"horizon": 200, "runs": 150, "progress": False} | options)


@pytest.mark.parametrize("options", [{}, {"common_random_numbers": True}, {"runs": 1}], ids=str)
def test_saved_and_loaded(tmp_path: Path, options: dict[str, Any]) -> None:
    result = simulate("kl-ucb:c=3", "ts", **options)
    files = result.save(tmp_path / "deep" / "folder")
    assert {path.name for path in files} == {
        path.name for path in (tmp_path / "deep/folder").iterdir()
    }
    again = pb.Result.load(tmp_path / "deep/folder")
    assert json.dumps(again.to_dict()).replace("NaN", "null") == json.dumps(
        result.to_dict()
    ).replace("NaN", "null")
    assert again.table() == result.table()
    for one, two in zip(
        result.difference("ts", "kl-ucb:c=3"), again.difference("ts", "kl-ucb:c=3"), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_the_manifest_makes_the_result_again(tmp_path: Path) -> None:
    result = simulate("ts", seed=17)
    result.save(tmp_path)
    settings = json.loads((tmp_path / "result.json").read_text())
    assert settings["version"] == pb.__version__
    again = pb.simulate(
        pb.Scenario.from_toml(settings["scenario_file"]),
        [each["policy"] for each in settings["policies"]],
        horizon=settings["horizon"],
        runs=settings["runs"],
        seed=settings["seed"],
        checkpoints=settings["checkpoints"],
        out=tmp_path / "again",
    )
    np.testing.assert_array_equal(again["ts"].regret, result["ts"].regret)
    for name in ("result.json", "statistics.parquet"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_table_can_be_read_by_others(tmp_path: Path) -> None:
    from pyarrow import parquet

    result = simulate("ts", "kl-ucb")
    result.save(tmp_path)
    rows = parquet.read_table(tmp_path / "statistics.parquet").to_pylist()
    regret = [row for row in rows if row["policy"] == "ts" and row["quantity"] == "regret"]
    assert [row["t"] for row in regret] == result.checkpoints.tolist()
    assert [row["mean"] for row in regret] == result["ts"].regret.tolist()
    assert [row["stderr"] for row in regret] == result["ts"].stderr.tolist()
    assert [row["quantile_0.5"] for row in regret] == result["ts"].quantile(0.5).tolist()
    accepted = [
        row for row in rows if row["quantity"] == "accepted rounds" and row["category"] == "arm 4"
    ]
    assert [row["mean"] for row in accepted if row["policy"] == "ts"] == result[
        "ts"
    ].accepted_rounds[3].tolist()
    clients = [row for row in rows if row["quantity"] == "clients" and row["policy"] == "ts"]
    assert [(row["category"], row["t"]) for row in clients] == [
        (f"arm {i}", 200) for i in range(1, 6)
    ]


def test_one_checkpoint_and_one_category(tmp_path: Path) -> None:
    """Sizes that coincide: one point, one category."""
    scenario = pb.Scenario("one", [single(pb.Bernoulli(), 0.5, 0.6, 2)])
    result = pb.simulate(scenario, ["ts"], horizon=20, runs=30, checkpoints=[20], out=tmp_path)
    assert pb.Result.load(tmp_path).to_dict() == result.to_dict()


def test_joined() -> None:
    one, two = simulate("ts"), simulate("kl-ucb", seed=5)
    both = one.join(two)
    assert both.policies == ["ts", "kl-ucb"]
    np.testing.assert_array_equal(both["kl-ucb"].regret, two["kl-ucb"].regret)
    assert "kl-ucb" in both.table()
    with pytest.raises(pb.errors.InputError, match="both"):
        one.join(simulate("ts", seed=3))
    with pytest.raises(pb.errors.InputError, match="fit"):
        one.join(simulate("kl-ucb", horizon=100))
    with pytest.raises(pb.errors.InputError, match="not in this result"):
        both["bayes-ucb"]


@pytest.mark.parametrize("categories", [False, True])
def test_pictures(tmp_path: Path, categories: bool) -> None:
    result = simulate("ts", "kl-ucb", "kl-ucb+", "bayes-ucb")
    chart = result.plot(tmp_path / "regret.png", categories=categories).to_dict()
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    main, *panels = chart["vconcat"]
    assert [len(part["concat"]) for part in panels] == ([5] if categories else [])
    (lines,) = [
        layer
        for layer in main["layer"][1]["layer"]
        if layer["mark"]["type"] == "line" and "strokeDash" in layer["encoding"]
    ]
    assert lines["encoding"]["x"]["scale"]["type"] == "log"
    legend = lines["encoding"]["color"]["scale"]["domain"]
    order = sorted(result.curves, key=lambda curve: -curve.regret[-1])
    assert [text.split(" ")[0] for text in legend[:-1]] == [curve.policy for curve in order]
    assert legend[-1] == "lower bound"
    rows = chart["datasets"]["curves"]
    drawn = [row["y"] for row in rows if row["policy"] == "lower bound"]
    np.testing.assert_allclose(drawn, result.lower_bound, rtol=1e-5)


def test_slope() -> None:
    result = simulate("kl-ucb", horizon=10**9, checkpoints=[10**3, 10**9], runs=300)
    curve = result["kl-ucb"]
    value, error = curve.slope(10**3)
    assert value == pytest.approx((curve.regret[1] - curve.regret[0]) / np.log(1e6))
    assert 0 < error < 0.2 * value
    parts = [curve.slope(10**3, part)[0] for part in ("profitable", "unprofitable")]
    assert sum(parts) == pytest.approx(value)
    with pytest.raises(pb.errors.InputError, match="not a checkpoint"):
        curve.slope(10**4)


def test_folders_that_hold_no_result(tmp_path: Path) -> None:
    simulate("ts", out=tmp_path / "good")
    for name, damage in {
        "empty": lambda folder: [path.unlink() for path in folder.iterdir()],
        "garbage": lambda folder: (folder / "result.json").write_text("{"),
        "foreign": lambda folder: (folder / "result.json").write_text('{"a": 1}'),
        "truncated": lambda folder: (folder / "statistics.parquet").write_bytes(
            (folder / "statistics.parquet").read_bytes()[:2000]
        ),
        "no table": lambda folder: (folder / "statistics.parquet").unlink(),
        "other policy": lambda folder: (folder / "result.json").write_text(
            (folder / "result.json").read_text().replace('"ts"', '"ucb1"')
        ),
    }.items():
        folder = tmp_path / name
        simulate("ts", out=folder)
        damage(folder)
        with pytest.raises(pb.errors.BrokenResultError) as caught:
            pb.Result.load(folder)
        assert caught.value.value == str(folder)
        assert "\n" not in str(caught.value)
    with pytest.raises(pb.errors.BrokenResultError):
        pb.Result.load(tmp_path / "nowhere")


def test_a_newer_result_is_neither_read_nor_overwritten(tmp_path: Path) -> None:
    simulate("ts", out=tmp_path)
    manifest = tmp_path / "result.json"
    settings = json.loads(manifest.read_text()) | {"format": 3, "version": "9.9.9"}
    manifest.write_text(seal(json_text(settings)))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for attempt in (
        lambda: pb.Result.load(tmp_path),
        lambda: simulate("ts", out=tmp_path),
        lambda: simulate("ts", out=tmp_path, resume=True),
        lambda: simulate("ts", out=tmp_path, fresh=True),
    ):
        with pytest.raises(pb.errors.NewerResultError, match=r"newer version \(9.9.9"):
            attempt()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_simulation_is_neither_continued_nor_lost(tmp_path: Path) -> None:
    simulate("ts", out=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for change, named in (
        ({"seed": 2}, "seed"),
        ({"horizon": 100}, "horizon"),
        ({"checkpoints": [200]}, "checkpoints"),
        ({"kernel": "rounds"}, "policies"),
        ({"runs": 50}, "runs"),
        ({"resume": True, "seed": 2}, "seed"),
    ):
        with pytest.raises(pb.errors.OtherResultError, match=f"its {named} is .*--fresh"):
            simulate("ts", out=tmp_path, **change)
    with pytest.raises(pb.errors.OtherResultError, match="its policies is"):
        simulate("kl-ucb", out=tmp_path)
    with pytest.raises(pb.errors.ParameterError, match="contradicts"):
        simulate("ts", out=tmp_path, resume=True, fresh=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert simulate("kl-ucb", out=tmp_path, fresh=True).policies == ["kl-ucb"]
    assert pb.Result.load(tmp_path).policies == ["kl-ucb"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pb.errors.ResultFolderError, match="cannot be written"):
        simulate("ts", out=tmp_path / "file")
    with pytest.raises(pb.errors.ResultFolderError, match="cannot be written"):
        simulate("ts", out=tmp_path / "file" / "below")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@given(
    st.lists(st.lists(st.floats(0, 1e9), min_size=2, max_size=2), min_size=2, max_size=40),
    st.integers(1, 39),
)
def test_moments_are_those_of_all_runs(rows: list[list[float]], cut: int) -> None:
    values = np.array(rows)
    cut = min(cut, len(rows) - 1)
    moments = Moments.empty(2)
    for part in (values[:cut], values[cut:]):
        moments.add(Moments.of(part))
    scale = 1e-9 * (1.0 + values.max())
    np.testing.assert_allclose(moments.mean, values.mean(axis=0), atol=scale)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    np.testing.assert_allclose(moments.stderr(), error, atol=scale)
    deviations = values - values.mean(axis=0)
    np.testing.assert_allclose(
        moments.cubes, (deviations**3).sum(axis=0), atol=scale * values.max() ** 2 * len(rows)
    )
    np.testing.assert_allclose(
        moments.fourths, (deviations**4).sum(axis=0), atol=scale * values.max() ** 3 * len(rows)
    )
    counts = new_histogram(2)
    for part in (values[:cut], values[cut:]):
        places, numbers = count_sparsely(part)
        counts.reshape(-1)[places] += numbers
    for share in (0.05, 0.5, 0.95):
        exact = np.quantile(values, share, axis=0, method="inverted_cdf")
        found = quantile(counts, moments.low, moments.high, share)
        np.testing.assert_allclose(found, exact, rtol=0.00501, atol=1e-12)
