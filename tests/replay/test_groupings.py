"""Several groupings in one run: the same as each alone, but judged together."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import profitable as pb
from profitable.errors import InputError, ParameterError
from profitable.replay.backtest_entry import BETTER, UNSURE
from profitable.replay.backtest_options import RunOptions, grouping_name
from profitable.replay.backtest_result import Backtest
from tests.replay.calls import CALLS, QUICK, calls, entry, result_of

GIVEN: dict[str, Any] = {**CALLS, **QUICK, "policies": ["kl-ucb", "bayes-ucb"]}


@pytest.fixture(scope="module")
def frame() -> Any:
    found = calls(weeks=36)
    found["noise"] = np.random.default_rng(2).choice(["x", "y"], len(found))
    return found


@pytest.fixture(scope="module")
def found(frame: Any) -> Backtest:
    return pb.backtest(frame, **GIVEN, groupings=["noise", "group x noise", "amount:q3"])


def test_each_grouping_is_the_backtest_of_it_alone(frame: Any, found: Backtest) -> None:
    for category, each in (("noise", found.others[0]), (["group", "noise"], found.others[1])):
        alone = pb.backtest(frame, **{**GIVEN, "category": category})
        assert [(entry.name, entry.profit) for entry in each] == [
            (entry.name, entry.profit) for entry in alone
        ]
        assert each["kl-ucb"].difference == alone["kl-ucb"].difference


def test_all_variants_of_all_groupings_count(found: Backtest) -> None:
    assert found.to_dict()["tried"] == 8  # two policies, four groupings
    assert all(each.ruling.tried == 8 for each in (found, *found.others))
    assert "4 groupings were tried, with 8 variants in all" in str(found)
    assert found.luck().startswith("8 variants were tried")


def test_what_is_significant_alone_may_not_be_one_of_many() -> None:
    """Normal replicates, sd 0.9: one variant requires 1.76, a hundred 3.14 (SciPy)."""
    values = 2.0 + 0.9 * norm.ppf((np.arange(1_000) + 0.5) / 1_000)
    alone = result_of(entry(middle=2.0, values=values.tolist()))
    assert alone.advice is None
    many = Backtest(alone.past, alone.terms, alone.options, alone.entries, [], variants=100)
    it = alone["it"]
    assert it.required(1) == pytest.approx(0.9 * norm.ppf(0.975), rel=0.01)
    assert it.required(100) == pytest.approx(0.9 * norm.ppf(1 - 0.025 / 100), rel=0.01)
    assert (alone.standing(it), many.standing(it)) == (BETTER, UNSURE)
    assert "beats accepting everybody" in alone.verdict()
    assert "beats" not in many.verdict()


def test_a_row_for_each(found: Backtest) -> None:
    rows = found.groupings
    assert [row.name for row in rows] == ["group", "noise", "group x noise", "amount:q3"]
    assert [row.categories for row in rows] == [3, 2, 6, 3]
    group, noise = rows[0], rows[1]
    assert group.worth > max(noise.worth, 0.0)
    assert group.hindsight >= (group.cross_fitted or 0.0)
    assert group.policy in ("kl-ucb", "bayes-ucb")
    best = max(found[name].difference.middle for name in ("kl-ucb", "bayes-ucb"))
    assert group.difference == best
    plain = found.to_dict()["groupings"]
    assert [each["name"] for each in plain] == [row.name for row in rows]
    assert plain[0]["stopped"] == list(group.stopped) == ["a"]


def test_one_false_discovery_rate_for_all(frame: Any, found: Backtest) -> None:
    assert found.advice is not None
    listed = found.advice.stop_list
    assert listed.tested == 3 + 2 + 6 + 3
    alone = pb.backtest(frame, **GIVEN).advice
    assert alone is not None
    assert alone.stop_list.tested == 3
    p_values = {row.category: row.pays for row in alone.stop_list.rows}
    for row in listed.rows:
        if row.grouping == "group":
            assert row.pays == p_values[row.category]


def test_one_grouping_has_no_table_of_groupings(frame: Any) -> None:
    found = pb.backtest(frame, **GIVEN)
    assert found.groupings == [] == found.to_dict()["groupings"]
    assert found.others == ()
    assert "groupings were tried" not in str(found)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("group", "groupings = 'group' is the category itself; give other ones."),
        (["noise", "noise"], "has one grouping twice"),
        ([""], "must be a grouping"),
        (["noise x "], "must be a grouping"),
        ([3], "is not a column"),
        ("nowhere", "'nowhere' is not a column"),
    ],
)
def test_mistakes(frame: Any, given: Any, text: str) -> None:
    with pytest.raises((ParameterError, InputError)) as error:
        pb.backtest(frame, **GIVEN, groupings=given)
    assert text in str(error.value)


def test_a_stream_is_read_once_only(frame: Any) -> None:
    import pyarrow as pa

    stream = pa.RecordBatchReader.from_stream(pa.Table.from_pandas(frame))
    with pytest.raises(ParameterError, match="a stream is read only once"):
        pb.backtest(stream, **GIVEN, groupings="noise")


def test_options_are_plain() -> None:
    options = RunOptions(groupings=["grade", ["purpose", "term"]])
    assert options.to_dict()["groupings"] == ["grade", "purpose x term"]
    assert RunOptions(groupings=["purpose x term"]).groupings == (("purpose", "term"),)
    assert grouping_name("grade") == "grade"
    with pytest.raises(ParameterError, match="stop_level"):
        RunOptions(stop_level=1)


def test_progress_goes_once_from_0_to_1(frame: Any) -> None:
    seen: list[float] = []
    pb.backtest(frame, **GIVEN, groupings="noise", progress=seen.append)
    assert seen[-1] == 1.0
    assert sorted(seen) == seen
