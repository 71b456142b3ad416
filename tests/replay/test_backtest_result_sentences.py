"""Texts of a result: sentences, units, first lines, and what is printed."""

import json
import re
from typing import Any

import pytest

import profitable as pb
from profitable.common.amounts import in_short
from profitable.common.text_tables import money_text
from profitable.replay.backtest_options import RUN_OPTIONS, RunOptions
from profitable.replay.baselines import ACCEPT_NONE, ALL, CROSS_FITTED, HINDSIGHT
from profitable.replay.off_policy import OffPolicy
from tests.replay.calls import CALLS, FEW, QUICK, calls, entry


@pytest.mark.parametrize(
    ("middle", "low", "high", "size", "span"),
    [
        (6e5, 1e3, 1.3e6, "0.60 M more", "difference 0.60 M, 95 %: 0.00 to 1.30 M"),
        (-5.2e6, -6e6, -4e6, "5.20 M less", "difference -5.20 M, 95 %: -6.00 to -4.00 M"),
        (-20.0, -50.0, 10.0, "20.0 less", "difference -20.0, 95 %: -50.0 to 10.0"),
        (12_345.0, -1e3, 3e4, "12.3 k more", "difference 12.3 k, 95 %: -1.0 to 30.0 k"),
        (5.0, -0.01, 12.0, "5.0 more", "difference 5.0, 95 %: 0.0 to 12.0"),
        (0.031, 0.012, 0.05, "0.031 more", "difference 0.031, 95 %: 0.012 to 0.050"),
        (800.0, 600.0, 1_004.3, "800.0 more", "difference 800.0, 95 %: 600.0 to 1 004.3"),
    ],
)
def test_sentences(middle: float, low: float, high: float, size: str, span: str) -> None:
    """One sign: the interval is that of the signed difference, from low to high."""
    found = entry(middle=middle, values=_about(middle, low, high)).sentence()
    assert found == f"it earned {size} than accepting everybody ({span})."


def test_nothing_is_neither_more_nor_less() -> None:
    found = entry(middle=0.0, values=_about(0.0, -1.0, 2.0)).sentence()
    span = "difference 0.0, 95 %: -1.0 to 2.0"
    assert found == f"it earned as much as accepting everybody ({span})."


def test_a_difference_that_is_nothing() -> None:
    alike = entry(middle=0.0, values=_about(0.0, 0.0, 0.0))
    assert alike.sentence() == "it earned as much as accepting everybody."


def _about(middle: float, low: float, high: float) -> list[float]:
    """Replicates with this mean whose quantiles are low and high."""
    rest = (1_000 * middle - 100 * (low + high)) / 800
    return [low] * 100 + [high] * 100 + [rest] * 800


def test_sentences_have_words_and_a_unit() -> None:
    it = entry(
        "ts",
        -280_000.0,
        _about(-280_000.0, -3_530_000.0, 1_100_000.0),
        words="Thompson sampling",
        unit="EUR",
    )
    assert it.sentence() == (
        "Thompson sampling (ts) earned 0.28 M EUR less than accepting everybody "
        "(difference -0.28 M EUR, 95 %: -3.53 to 1.10 M EUR)."
    )
    lower = entry("kl-ucb", 0.0, words="upper confidence bound")
    assert lower.sentence().startswith("Upper confidence bound (kl-ucb) earned as much as ")


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
    assert found["ts"].sentence().startswith("Thompson sampling (ts) earned ")
    plain = json.loads(found.to_json())
    assert plain["unit"] is None
    assert [each["words"] for each in plain["entries"]] == [
        "upper confidence bound",
        "Thompson sampling",
        "accepting everybody",
        "accepting nobody",
        "learn 20%, then commit",
        "the best set of categories, cross-fitted",
        "the best set of categories in hindsight",
    ]
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
        "75 % before the last round ended."
    )
    assert "half of them or more never; " in pb.backtest(frame, **given, known="never").first_line
    assert pb.backtest(frame, **given, known="week").first_line.startswith(
        "Outcomes known on week: half of them or more in the round in which the client asked; "
    )


def test_a_currency_is_written_behind_amounts() -> None:
    found = pb.backtest(
        calls(delay=2), **CALLS, known="paid", policies=FEW, currency="EUR", **QUICK
    )
    text, plain = str(found), found.to_dict()
    assert plain["unit"] == plain["settings"]["currency"] == "EUR"
    header = next(line for line in text.splitlines() if "against accept all" in line)
    assert header.split()[:2] == ["profit", "(EUR)"]
    assert "against accept all (EUR)" in header
    assert f"the past itself earned {in_short(found[ALL].profit, 'EUR')}." in text
    for each in found.policies:
        # The size, the difference and the interval, which has the unit at its end.
        is_equal = each.difference.middle == 0.0
        assert len(re.findall(r"\d EUR\b", each.sentence())) == 3 - is_equal
        assert each.sentence().endswith(" EUR).")
    assert "EUR over other clients" in plain["cross_fitting"]


@pytest.mark.parametrize("value", ["", " ", "thirteen chars", "EU\nR", 3, b"EUR"])
def test_a_currency_is_a_short_text(value: Any) -> None:
    with pytest.raises(pb.errors.ParameterError, match="is not a text of 1 to 12 letters; give"):
        RunOptions(currency=value)
    assert RunOptions(currency=" EUR ").currency == "EUR"


def test_a_required_return_is_stated_where_the_past_is() -> None:
    frame = calls()
    given: dict[str, Any] = {
        "category": "group", "time": "week", "reward": "back", "amount": "amount",
        "policies": "kl-ucb", "replays": 0, "shuffles": 0,
    }  # fmt: skip
    lines = [str(pb.backtest(frame, **given, required=each)).splitlines()[1] for each in (0.05, 0)]
    assert lines[0].endswith(" at a required return of 5.0 %.")
    assert "required return" not in lines[1]
    gone = frame["amount"].sum() * 0.05
    earned = [pb.backtest(frame, **given, required=each)[ALL].profit for each in (0.05, 0)]
    assert earned[1] - earned[0] == pytest.approx(gone)
    assert f"the past itself earned {in_short(earned[0])} at" in lines[0]


def test_the_error_of_the_cross_fitted_set_is_printed() -> None:
    found = pb.backtest(calls(delay=2), **CALLS, known="paid", policies=FEW, **QUICK)
    fitted, plain = found[CROSS_FITTED], found.to_dict()
    kept = next(each for each in plain["entries"] if each["name"] == CROSS_FITTED)
    assert (kept["splits"], kept["error"]) == (200, pytest.approx(fitted.spread))
    assert 0.0 < kept["split_error"] < kept["error"]
    row = next(line for line in found.table().splitlines() if line.startswith(CROSS_FITTED))
    assert f"{money_text(fitted.difference.middle)} ± {money_text(fitted.spread)}" in row
    assert plain["cross_fitting"] in str(found)
    assert plain["cross_fitting"].startswith("Cross-fitted profits are means of 200 splits ")
    alone = pb.backtest(calls(), **CALLS, policies=FEW, replays=0, shuffles=0)
    said = alone.ruling.cross_fitting()
    assert said is not None
    assert said.endswith(
        f"; the standard error of that mean is {in_short(alone[CROSS_FITTED].split_error or 0)}."
    )
