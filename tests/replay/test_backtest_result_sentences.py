"""Texts of a result: sentences, verdicts, the Bonferroni correction, first lines."""

import json

import numpy as np
import pytest

import profitable as pb
from profitable.common.amounts import in_short
from profitable.replay.backtest_entry import BETTER, UNSURE, WORSE, BacktestEntry
from profitable.replay.backtest_options import RUN_OPTIONS, RunOptions
from profitable.replay.baselines import ACCEPT_NONE, ALL, CROSS_FITTED, HINDSIGHT
from profitable.replay.off_policy import OffPolicy
from tests.replay.calls import CALLS, FEW, QUICK, calls, entry, result_of


@pytest.mark.parametrize(
    ("middle", "low", "high", "text"),
    [
        (0.0, 0.0, 0.0, "it earned as much as accepting everybody."),
        (6e5, 1e3, 1.3e6, "it earned 0.60 M more than accepting everybody (95 %: 0.00 to 1.30 M)."),
        (
            -5.2e6,
            -6e6,
            -4e6,
            "it earned 5.20 M less than accepting everybody (95 %: 4.00 to 6.00 M).",
        ),
        (-20.0, -50.0, 10.0, "it earned 20.0 less than accepting everybody (95 %: -10.0 to 50.0)."),
        (
            12_345.0,
            -1_000.0,
            30_000.0,
            "it earned 12.3 k more than accepting everybody (95 %: -1.0 to 30.0 k).",
        ),
        (5.0, -0.01, 12.0, "it earned 5.0 more than accepting everybody (95 %: 0.0 to 12.0)."),
        (0.0, -1.0, 2.0, "it earned 0.0 more than accepting everybody (95 %: -1.0 to 2.0)."),
        (
            0.031,
            0.012,
            0.05,
            "it earned 0.031 more than accepting everybody (95 %: 0.012 to 0.050).",
        ),
    ],
)
def test_sentences(middle: float, low: float, high: float, text: str) -> None:
    values = _about(middle, low, high)
    assert entry(middle=middle, values=values).sentence() == text


def _about(middle: float, low: float, high: float) -> list[float]:
    """Replicates with this mean whose quantiles are low and high."""
    rest = (1_000 * middle - 100 * (low + high)) / 800
    return [low] * 100 + [high] * 100 + [rest] * 800


def test_sentences_without_replays() -> None:
    assert entry(middle=-6e5).sentence() == "it earned 600.0 k less than accepting everybody."
    assert entry(middle=0.5).sentence() == "it earned 0.50 more than accepting everybody."
    assert entry(middle=0.0).sentence() == "it earned as much as accepting everybody."


def test_a_refusal_has_no_number() -> None:
    it = entry(middle=5.0, off_policy=OffPolicy(refusal="Nobody knows."))
    assert it.sentence() == "it: refused. Nobody knows."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-5_321.0, "-5 321.0"),
        (9_999.0, "9 999.0"),
        (10_000.0, "10.0 k"),
        (1e6, "1.00 M"),
        (0.05, "0.050"),
    ],
)
def test_in_short(value: float, text: str) -> None:
    assert in_short(value) == text


def spread(middle: float, size: float) -> list[float]:
    """Replicates around a middle with this standard deviation."""
    values = np.random.default_rng(1).normal(size=1_000)
    return (middle + size * (values - values.mean()) / values.std(ddof=1)).tolist()


def test_verdicts() -> None:
    def variant(name: str, middle: float, size: float | None) -> BacktestEntry:
        return entry(name, middle, () if size is None else spread(middle, size))

    refused = entry("log", 1.0, off_policy=OffPolicy(refusal="No."))
    cases: list[tuple[list[BacktestEntry], str]] = [
        ([variant("x", -3.0, 1.0)], "No policy beats accepting everybody here."),
        (
            [variant("x", 0.0, 1.0), variant("y", -2.0, 1.0)],
            "No policy beats accepting everybody here.",
        ),
        (
            [variant("x", 1.0, 1.0), variant("y", -2.0, 1.0)],
            (
                "No policy is significantly better than accepting everybody here: "
                "the lead of x may be chance."
            ),
        ),
        ([variant("x", 9.0, 1.0)], "x beats accepting everybody here."),
        ([variant("x", 9.0, 1.0), variant("y", 8.0, 1.0)], "x, y beat accepting everybody here."),
        ([variant("x", 9.0, 1.0), variant("y", 1.0, 1.0)], "x beats accepting everybody here."),
        (
            [variant("x", 2.3, 1.0), *(variant(f"y{i}", -1.0, 1.0) for i in range(9))],
            (
                "No policy is significantly better than accepting everybody here: "
                "the lead of x may be chance."
            ),
        ),
        ([variant("x", 2.3, 1.0), refused], "x beats accepting everybody here."),
        ([refused], "No policy can be judged on this log."),
        (
            [variant("x", 2.0, None), variant("y", 1.0, None)],
            "x earned the most; without bootstrap replays nobody knows whether that is chance.",
        ),
        ([variant("x", -2.0, None)], "No policy beats accepting everybody here."),
    ]
    for entries, text in cases:
        assert result_of(*entries).verdict() == text
        assert text in str(result_of(*entries))
    skewed = entry("x", 1.0, [0.1] * 990 + [60.0] * 10)  # ahead, and not by twice its spread
    assert result_of(skewed).verdict() == cases[2][1]


def test_a_policy_that_loses_is_never_named_among_those_that_beat() -> None:
    """Two replicates of 200 are huge losses, and the others lie above their mean: both
    moved quantiles are above 0.
    """
    loser = entry("x", -5.0, [1.0] * 198 + [-1_000.0] * 2)
    found = result_of(loser, entry("y", -6.0, spread(-6.0, 1.0)[:200]))
    assert loser.difference.low <= -5.0 <= loser.difference.high
    assert found.verdict() == "No policy beats accepting everybody here."
    assert [found.standing(each) for each in found.policies] == [UNSURE, WORSE]
    assert loser.over_time()[1][-1] == pytest.approx(loser.difference.low)


def test_one_rule_for_marks_verdicts_and_sentences() -> None:
    """Ten variants: 2.3 standard errors are enough for the interval of one, not for the
    best of ten.
    """
    others = [entry(f"y{i}", -1.0, spread(-1.0, 1.0)) for i in range(9)]
    for middle, standing in ((2.3, UNSURE), (2.9, BETTER), (-2.3, UNSURE), (-2.9, WORSE)):
        it = entry("x", middle, spread(middle, 1.0))
        found = result_of(it, *others)
        assert it.difference.low > 0.0 or it.difference.high < 0.0
        assert found.standing(it) == standing
        assert ("x beats" in found.verdict()) == (standing == BETTER)
        assert ("2.8 required after Bonferroni correction" in found.luck()) == (middle > 0.0)
        assert result_of(it).standing(it) == (BETTER if middle > 0.0 else WORSE)  # tried alone
    refused = entry("x", 9.0, spread(9.0, 1.0), off_policy=OffPolicy(refusal="No."))
    assert result_of(refused).standing(refused) == UNSURE


def test_where_accepting_everybody_loses_accepting_nobody_is_the_baseline() -> None:
    text = (
        "Accepting everybody loses 100.0, so that accepting nobody is the better baseline: "
        "x earned "
    )
    ahead = result_of(entry("x", 60.0, [45.0] * 50 + [75.0] * 50, everybody=-100.0))
    assert (
        ahead.verdict()
        == f"x beats accepting everybody here. {text}-40.0 (95 %: -55.0 to -25.0) against its 0."
    )
    alone = result_of(entry("x", 130.0, everybody=-100.0), entry("y", 110.0, everybody=-100.0))
    assert alone.verdict().endswith(f"{text}30.0 against its 0.")


def test_what_many_tries_mean() -> None:
    """Of m variants, the best must be ahead by the normal quantile of 1 - 0.025 / m."""
    one = result_of(entry("x", 3.0, spread(3.0, 1.0)))
    assert one.luck().startswith("One variant was tried.")
    for middle, word in ((2.7, "not more"), (2.9, "more")):  # 2.807 for ten
        others = [entry(f"y{i}", -1.0, spread(-1.0, 1.0)) for i in range(9)]
        found = result_of(entry("x", middle, spread(middle, 1.0)), *others)
        assert found.luck().startswith(
            "10 variants were tried, and the best of several looks better than it is."
        )
        assert (
            f"x is ahead by {middle:.1f}, {word} than the 2.8 required after Bonferroni correction."
            in found.luck()
        )
    behind = result_of(entry("x", -1.0, spread(-1.0, 1.0)), entry("y", -2.0, spread(-2.0, 1.0)))
    assert "ahead" not in behind.luck()


def test_what_is_printed() -> None:
    found = pb.backtest(calls(delay=2), **CALLS, known="paid", policies=FEW, **QUICK)
    text = str(found)
    lines = text.splitlines()
    assert lines[0] == found.first_line == found.to_dict()["first_line"]
    assert lines[0].startswith(
        "Outcomes known on paid: half of them 1 round or more after the client asked; "
    )
    for each in (found["ts"].sentence(), found["kl-ucb"].sentence(), found.verdict(), found.luck()):
        assert each in lines
    for name in (
        ALL,
        ACCEPT_NONE,
        HINDSIGHT,
        CROSS_FITTED,
        "kl-ucb",
        "ts",
        "learn 20%, then commit",
    ):
        assert any(line.startswith(name) for line in lines)
    assert len(found) == 7
    assert [each.name for each in found][:2] == FEW
    with pytest.raises(pb.errors.UnknownCategoryError, match="choose from kl-ucb, ts, accept all"):
        found["ucb"]
    plain = json.loads(found.to_json())
    assert plain["entries"][0]["sentence"] == found["kl-ucb"].sentence()
    assert [each["standing"] for each in plain["entries"]] == [
        found.standing(each) for each in found
    ]
    assert RunOptions(**{key: plain["settings"][key] for key in RUN_OPTIONS}) == found.options


def test_first_lines() -> None:
    frame = calls(delay=4)
    frame["never"] = frame["paid"].where(frame["week"] % 4 == 0)
    given = CALLS | {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
    assert pb.backtest(frame, **given).first_line == (
        "Outcomes assumed immediate: no column says when they were known, "
        "so every policy learns sooner than it could have."
    )
    late = pb.backtest(frame, **given, matures=5).first_line
    assert late == (
        "Outcomes assumed to be known 5 rounds after the client asked; "
        "75% before the last round ended."
    )
    assert "half of them or more never; " in pb.backtest(frame, **given, known="never").first_line
    assert pb.backtest(frame, **given, known="week").first_line.startswith(
        "Outcomes known on week: half of them 0 rounds or more after"
    )
