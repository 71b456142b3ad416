"""Study files: what they may say, and one sentence for every mistake."""

from pathlib import Path

import pytest

import profitable as pb
from tests.studies.worlds import SMALL

MOVING = SMALL.replace(
    'mean = "0.5 + gap"', 'mean = { alternates = [0.6, "0.5 - gap"], every = "horizon / 4" }'
)


def test_a_mean_that_alternates() -> None:
    world = pb.Study.from_toml(MOVING).worlds[1]
    assert world.scenario.truths[0].means == ((1, 0.6), (76, 0.4), (151, 0.6), (226, 0.4))
    assert world.scenario == pb.Scenario.from_toml(world.scenario.to_toml())


def test_copies_of_a_category_count_themselves() -> None:
    copied = SMALL.replace(
        'name = "good"', 'name = "band {copy}"\norder = "score"\ncopies = "horizon / 100"'
    ).replace('mean = "0.5 + gap"', 'mean = "0.5 + gap * copy"')
    world = pb.Study.from_toml(copied).worlds[1]
    bands = world.scenario.truths[:3]
    assert [truth.category.name for truth in bands] == ["band 1", "band 2", "band 3"]
    assert {truth.category.order for truth in bands} == {"score"}
    assert [truth.mean for truth in bands] == [0.6, 0.7, 0.8]
    assert world.scenario == pb.Scenario.from_toml(world.scenario.to_toml())


def test_policies_use_the_values_of_the_world() -> None:
    study = pb.Study.from_toml(SMALL.replace("horizon = 300", "horizon = [300, 600]"))
    assert [world.label for world in study.worlds][:2] == [
        "gap = 0.05, horizon = 300",
        "gap = 0.05, horizon = 600",
    ]
    names = [setting.policy for setting in study.worlds[1].settings]
    assert names == [
        "ts", "kl-gaussian-ucb", "kl-ucb:c=0", "kl-ucb:c=3",
        "optimal:horizon=600,risk=1", "optimal:horizon=600,risk=0.3",
    ]  # fmt: skip


def test_scenario_files(tmp_path: Path) -> None:
    head, _, tail = SMALL.partition("[[scenario.category]]")
    text = ("[[scenario.category]]" + tail).replace("scenario.category", "category")
    (tmp_path / "one.toml").write_text('name = "first"\n' + text)
    (tmp_path / "two.toml").write_text(text.replace("+ gap", "+ 2 * gap"))
    (tmp_path / "study.toml").write_text('scenario = ["one.toml", "two.toml"]\n' + head)
    study = pb.Study.load(tmp_path / "study.toml")
    assert [world.label for world in study.worlds] == [
        "first, gap = 0.05", "first, gap = 0.1", "two, gap = 0.05", "two, gap = 0.1",
    ]  # fmt: skip
    assert study.worlds[3].scenario.truths[0].mean == 0.7
    scenario = study.worlds[0].scenario
    plain = pb.Study("x", scenario=scenario, policies=[pb.ThompsonSampling()], horizon=10, runs=10)
    assert plain.worlds[0].scenario == scenario


GAP, MEAN = "gap = [0.05, 0.1]", '"0.5 + gap"'
MISTAKES = [
    ("runs = 400", "", "study.toml: runs = None is missing"),
    ("runs = 400", "runs = 1", "study.toml: runs = 1 is less than 2"),
    ("runs = 400", "run = 400", "study.toml: run = 400 is not a known field; did you mean runs"),
    ("horizon = 300", 'horizon = "soon"', "study.toml: horizon = 'soon' is not a whole number"),
    ("horizon = 300", "horizon = [3, 3]", "study.toml: horizon = [3, 3] has a value twice"),
    ("horizon = 300", "horizon = []", "study.toml: horizon = [] must not be empty"),
    ("seed = 3", "seed = -1", "study.toml: seed = -1 is less than 0"),
    ("seed = 3", "halving = 1", "study.toml: halving = 1 must be true or false"),
    ("seed = 3", "finalists = 0", "study.toml: finalists = 0 is less than 1"),
    ('name = "small"', 'name = ""', "study.toml: name = '' must be a name"),
    ('"ts",', '"ts", "ts",', "study.toml: policies = 'ts' is the same policy as 'ts'; leave one"),
    ('"ts",', '"kl-ucb",', "study.toml: policies = 'kl-ucb:c=0' is the same policy as 'kl-ucb'"),
    ('"ts",', '"ts:c={c}",', "study.toml: policies: c in policy 'ts:c=0' = '0' is not a parameter"),
    ('"ts",', '"ts:forget={d}",', "has the unknown name 'd'; choose from"),
    ('"ts",', "7,", "study.toml: policies = 7 must be the name of a policy"),
    ('"ts",', '"ucb1",', "study.toml: policies: policy = 'ucb1' is unknown"),
    (GAP, "gap = 0.05", "study.toml: axes: gap = 0.05 must be a list"),
    (GAP, "gap = []", "study.toml: axes: gap = [] must not be empty"),
    (GAP, "gap = [0.1, 0.1]", "study.toml: axes: gap = [0.1, 0.1] has a value twice"),
    (GAP, "gap = [true]", "study.toml: axes: gap = True must be a number or a text"),
    (GAP, "gap = [nan]", "study.toml: axes: gap = nan is not a finite number"),
    (GAP, 'gap = ["big"]', "computes with 'big', which is a text"),
    (GAP, "gap = [0.9]", "study.toml: scenario at gap=0.9: category 'good': mean = 1.4"),
    (
        GAP,
        "gap = [0.1]\nd = [1]",
        "study.toml: axes: d = [1] is an axis that nothing uses; write d in",
    ),
    (GAP, "", "study.toml: scenario = 'gap' is a name in an expression, but no axis"),
    (GAP, "gap = [0.1]\nhorizon = [1]", "give horizon = [...] outside of axes"),
    (GAP, "gap = [0.1]\nruns = [1]", "study.toml: axes: runs = [1] has the name of a column"),
    (GAP, 'gap = [0.1]\n"a b" = [1]', "study.toml: axes = 'a b' must be a name"),
    (MEAN, '"0.5 +"', "study.toml: scenario: mean = '0.5 +' must be an expression"),
    (MEAN, '"0.5 + gap + wide"', "study.toml: scenario = 'wide' is a name in an expression"),
    (MEAN, "{ alternates = [0.1, 0.6] }", "mean: every = None is missing"),
    (MEAN, "{ alternates = [], every = 3 }", "mean: alternates = [] must be a list of means"),
    (MEAN, "{ alternates = [0.1], every = 0.5 }", "mean: every = 0.5 is not a whole number"),
    (MEAN, MEAN + "\ncopies = 0", "scenario at gap=0.05: copies = 0 is less than 1"),
    (MEAN, '"0.5 + 0.1 * copy"', "'copy' is a name in an expression, but no axis has it"),
    (MEAN, "{ alternates = [0.1, 0.6], each = 3 }", "mean: each = 3 is not a known field"),
    ('family = "bernoulli"', 'family = "coin"', "family = 'coin' is unknown"),
    ("clients = 2", "", "category 'good': clients = None is missing"),
    ('["ts", "kl-gaussian-ucb"', '["kl-gaussian-ucb"', None),
    (
        "[[scenario.category]]",
        "[[scenario.categories]]",
        "is not a known field; did you mean category",
    ),
    ('name = "small"', 'name = "small', "study = 'study.toml' is not a TOML file"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistakes(old: str, new: str, said: str | None) -> None:
    assert old in SMALL
    text = SMALL.replace(old, new)
    if said is None:
        assert pb.Study.from_toml(text, source="study.toml").size == 10
        return
    with pytest.raises(pb.errors.InputError) as caught:
        pb.Study.from_toml(text, source="study.toml")
    message = str(caught.value)
    assert said in message
    assert "study.toml" in message
    assert message.endswith(".")
    assert "\n" not in message


def test_a_grid_that_is_too_large() -> None:
    axes = "risk = [" + ", ".join(f"0.{place:04}" for place in range(1, 1_600)) + "]"
    with pytest.raises(pb.errors.InputError) as caught:
        pb.Study.from_toml(SMALL.replace("risk = [1, 0.3]", axes), source="study.toml")
    assert (
        "study.toml: axes = '3206 settings' are too many; gap has 2 values, c has 2 values, "
        "risk has 1599" in str(caught.value)
    )
    assert "give at most 3000" in str(caught.value)


def test_too_many_changes() -> None:
    text = MOVING.replace('"horizon / 4"', "1").replace("horizon = 300", "horizon = 10_000")
    with pytest.raises(
        pb.errors.InputError, match="every = 1 makes 10000 phases up to the horizon 10000, and 1000"
    ):
        pb.Study.from_toml(text, source="study.toml")


def test_a_policy_that_does_not_fit() -> None:
    claims = {"name": "claims", "family": "poisson", "threshold": 2, "mean": 1, "clients": 1}
    study = pb.Study(
        "x", scenario={"category": [claims]}, policies=["kl-gaussian-ucb"], horizon=10, runs=10
    )
    with pytest.raises(
        pb.errors.MissingBoundError, match="study: policies: bound of 'claims' of 'kl-gaussian-ucb'"
    ):
        pb.study(study)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(pb.errors.InputError, match=r"cannot be read .*one of bands, forget, map"):
        pb.study(tmp_path / "none.toml")
    with pytest.raises(
        pb.errors.InputError, match=r"study: scenario = '.*none.toml' cannot be read"
    ):
        pb.Study.from_toml('scenario = "none.toml"\n' + SMALL.partition("[[")[0])
