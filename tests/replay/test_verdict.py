"""Verdicts: one rule for headline, sentences and marks, over made-up results."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from profitable.replay.backtest_entry import (
    BETTER,
    UNSURE,
    WORSE,
    BacktestEntry,
    ShuffledDifference,
)
from profitable.replay.baselines import ACCEPT_NONE, ALL, CROSS_FITTED
from profitable.replay.learnable import Learnable
from profitable.replay.off_policy import OffPolicy
from profitable.replay.verdict import AT_ONCE, UNINFORMATIVE, BacktestVerdict
from tests.replay.calls import entry, result_of

BASE = np.random.default_rng(1).normal(size=200)
NORMAL = ((BASE - BASE.mean()) / BASE.std(ddof=1)).tolist()
NOTHING = Learnable(rounds=48, first=48, known=0.05, informed=0.0, matures=True)
HARDLY = Learnable(rounds=48, first=40, known=0.3, informed=0.04)
PLENTY = Learnable(rounds=48, first=1, known=0.9, informed=0.9)


def spread(middle: float, size: float) -> list[float]:
    """Replicates around a middle with this standard deviation."""
    return [middle + size * each for each in NORMAL]


def variant(name: str, middle: float, size: float | None = 1.0, **more: Any) -> BacktestEntry:
    return entry(name, middle, () if size is None else spread(middle, size), **more)


def verdict_of(*entries: BacktestEntry, **more: Any) -> BacktestVerdict:
    """A verdict on these entries, beside accepting all and none."""
    everybody, size = float(entries[0].everybody.sum()), entries[0].resampled.shape[0]
    given = {"everybody": everybody, "kind": "baseline"}
    baselines = (
        entry(ALL, 0.0, np.zeros(size), **given),
        entry(ACCEPT_NONE, -everybody, np.full(size, -everybody), **given),
    )
    return BacktestVerdict([*entries, *baselines], **more)


# ------------------------------------------------------------------------ the sentences

REFUSED = entry("log", 1.0, off_policy=OffPolicy(refusal="No."))
NONE = "No policy beats accepting everybody here."
ALONE = "No policy is significantly better than accepting everybody here: the lead of x may be "


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (
            [variant("x", -3.0)],
            f"{NONE} It is significantly worse.",
        ),
        ([variant("x", -1.0)], "No policy beats accepting everybody here."),
        (
            [variant("x", -0.5), variant("y", -9.0)],
            f"{NONE} The best of them, x, earned 0.5 less (difference -0.5, 95 %: ",
        ),
        (
            [variant("x", -8.0), variant("y", -9.0)],
            f"{NONE} All 2 are significantly worse. The best of them, x, earned 8.0 less (",
        ),
        ([variant("x", 1.0), variant("y", -2.0)], f"{ALONE}chance (difference 1.0, 95 %: "),
        (
            [variant("x", 9.0)],
            "x beats accepting everybody here: it earned 9.0 more (difference 9.0, 95 %: ",
        ),
        ([variant("y", 8.0), variant("x", 9.0)], "x beats accepting everybody here: it earned 9.0"),
        ([variant("x", 2.3), *(variant(f"y{i}", -1.0) for i in range(9))], f"{ALONE}chance"),
        ([variant("x", 2.3), REFUSED], "x beats accepting everybody here: it earned 2.3 more"),
        ([REFUSED], "No policy can be judged on this log."),
        (
            [variant("x", 2.0, None), variant("y", 1.0, None)],
            "x earned the most; without bootstrap replays nobody knows whether that is chance.",
        ),
        ([variant("x", -2.0, None)], "No policy beats accepting everybody here."),
    ],
)
def test_texts(entries: list[BacktestEntry], text: str) -> None:
    assert verdict_of(*entries).text().startswith(text)


def test_others_that_beat_are_named_after_the_best() -> None:
    two = verdict_of(variant("y", 8.0), variant("x", 9.0), variant("z", 1.0))
    assert two.text().endswith(". y does, too.")
    three = verdict_of(variant("y", 8.0), variant("x", 9.0), variant("z", 7.0))
    assert three.text().endswith(". y, z do, too.")


def test_skewed_replicates_that_are_ahead_may_be_chance() -> None:
    """Ahead, and not by twice its spread."""
    skewed = entry("x", 1.0, [0.1] * 990 + [60.0] * 10)
    assert verdict_of(skewed).text().startswith(ALONE)


def test_what_rests_on_outcomes_that_are_known_at_once_says_so() -> None:
    for middle in (9.0, 1.0, -9.0):
        text = verdict_of(variant("x", middle), immediate=True).text()
        assert f"if {AT_ONCE}" in text.partition(":")[0].partition(".")[0]
    loses = verdict_of(variant("x", 60.0, everybody=-100.0), immediate=True)
    assert f", even if {AT_ONCE}." in loses.text()
    unknown = verdict_of(variant("x", 2.0, None), immediate=True)
    assert f"earned the most if {AT_ONCE}; " in unknown.text()
    assert AT_ONCE not in verdict_of(variant("x", 9.0)).text()


def test_whether_there_was_something_to_find() -> None:
    for middle, text in (
        (9.0, "There was something to find: "),
        (1.0, "Whether there is anything to find by these categories, the file cannot say: "),
        (-1.0, "There is nothing to find by these categories: "),
    ):
        fitted = variant(CROSS_FITTED, middle, kind="baseline")
        found = verdict_of(variant("x", -1.0), fitted).text()
        assert text in found
        assert f"(difference {middle:.1f}, 95 %: " in found
        won = verdict_of(variant("x", 9.0), fitted).text()
        assert "to find" not in won
        late = verdict_of(variant("x", 0.0), fitted, learnable=NOTHING).text()
        assert late.startswith("No verdict: ")
        assert ("There was something to find: " in late) == (middle == 9.0)


def test_a_policy_that_loses_is_never_named_among_those_that_beat() -> None:
    """Two replicates of 200 are huge losses, and the others lie above their mean: both
    moved quantiles are above 0.
    """
    loser = entry("x", -5.0, [1.0] * 198 + [-1_000.0] * 2)
    found = verdict_of(loser, variant("y", -6.0))
    assert loser.difference.low <= -5.0 <= loser.difference.high
    assert found.text().startswith("No policy beats accepting everybody here.")
    assert [found.standing(each) for each in found.judged] == [UNSURE, WORSE]
    assert loser.over_time()[1][-1] == pytest.approx(loser.difference.low)


def test_one_rule_for_marks_verdicts_and_sentences() -> None:
    """Ten variants: 2.3 standard errors are enough for the interval of one, not for the
    best of ten.
    """
    others = [variant(f"y{i}", -1.0) for i in range(9)]
    for middle, standing in ((2.3, UNSURE), (2.9, BETTER), (-2.3, UNSURE), (-2.9, WORSE)):
        it = variant("x", middle)
        found = verdict_of(it, *others)
        assert it.difference.low > 0.0 or it.difference.high < 0.0
        assert found.standing(it) == standing
        assert found.text().startswith("x beats") == (standing == BETTER)
        assert found.to_dict()["beating"] == (["x"] if standing == BETTER else [])
        assert ("2.8 required after Bonferroni correction" in found.luck()) == (middle > 0.0)
        assert verdict_of(it).standing(it) == (BETTER if middle > 0.0 else WORSE)  # tried alone
    refused = variant("x", 9.0, off_policy=OffPolicy(refusal="No."))
    assert verdict_of(refused).standing(refused) == UNSURE


def test_a_result_shows_its_verdict_everywhere() -> None:
    found = result_of(variant("x", 9.0), variant("y", 2.1), variant("z", -9.0))
    assert [found.standing(each) for each in found.policies] == [BETTER, UNSURE, WORSE]
    assert (found.verdict(), found.luck()) == (found.ruling.text(), found.ruling.luck())
    assert found.verdict().startswith("x beats ")
    for text in (found.verdict(), found.luck(), *(each.sentence() for each in found.policies)):
        assert text in str(found)


def test_where_accepting_everybody_loses_accepting_nobody_is_the_baseline() -> None:
    """Each is significantly better than accepting everybody, which loses 100."""
    nobody = "accepting nobody (the better baseline, because accepting everybody loses 100.0 EUR)"
    for middle, text in (
        (60.0, "x lost 40.0 EUR (difference -40.0 EUR, 95 %: "),
        (101.0, "x earned 1.0 EUR (difference 1.0 EUR, 95 %: "),
    ):
        found = verdict_of(variant("x", middle, everybody=-100.0), unit="EUR")
        assert found.standing(found.judged[0]) == BETTER
        assert found.beating == []
        start = f"No policy is significantly better than {nobody}. {text}"
        assert found.text().startswith(start)
        assert "Being better than accepting everybody is not enough here." in found.text()
    ahead = verdict_of(
        variant("x", 130.0, everybody=-100.0), variant("y", 90.0, everybody=-100.0), unit="EUR"
    )
    assert ahead.text().startswith(f"x beats {nobody}: it earned 30.0 EUR (difference 30.0 EUR, ")
    assert "x is ahead of accepting nobody by 30.0 EUR, more than the 2.2 EUR" in ahead.luck()
    assert [each.name for each in ahead.beating] == ["x"]
    alone = verdict_of(variant("x", 130.0, None, everybody=-100.0))
    assert alone.text().startswith("x earned the most; without bootstrap replays nobody knows")


def test_what_many_tries_mean() -> None:
    """Of m variants, the best must be ahead by the normal quantile of 1 - 0.025 / m."""
    assert verdict_of(variant("x", 3.0)).luck().startswith("One variant was tried.")
    for middle, word in ((2.7, "not more"), (2.9, "more")):  # 2.807 for ten
        others = [variant(f"y{i}", -1.0) for i in range(9)]
        luck = verdict_of(variant("x", middle), *others).luck()
        assert luck.startswith(
            "10 variants were tried, and the best of several looks better than it is."
        )
        assert (
            f"x is ahead by {middle:.1f}, {word} than the 2.8 required after Bonferroni correction."
            in luck
        )
    assert "ahead" not in verdict_of(variant("x", -1.0), variant("y", -2.0)).luck()


# -------------------------------------------------------------------- warnings, no news


def test_intervals_are_doubted_only_where_something_rests_on_them() -> None:
    narrow = "nearly all alike"
    better, worse, unsure, point = (
        variant("better", 9.0, varying=1.0),
        variant("worse", -9.0, varying=1.0),
        variant("unsure", 0.1, varying=1.0),
        entry("point", 0.0, np.zeros(200)),
    )
    doubts = verdict_of(better, worse, unsure, point).doubts()
    assert len(doubts) == 2
    assert doubts[0].startswith("the 95 % intervals of better, worse may be too narrow: ")
    assert narrow in doubts[0]
    assert doubts[1].startswith("the 95 % interval of point may be too narrow: ")
    assert verdict_of(unsure).doubts() == []
    assert verdict_of(better, worse, unsure, point, learnable=NOTHING).doubts() == []
    assert [each.too_narrow is None for each in (better, unsure)] == [False, False]  # of each alone


def test_a_backtest_is_uninformative_if_nothing_could_be_learnt() -> None:
    point, moved, ahead = entry("x", 0.0, np.zeros(200)), variant("x", 1.0), variant("x", 9.0)
    some = Learnable(rounds=48, first=9, known=0.3, informed=0.15)
    for entries, facts, expected in (
        ((moved,), NOTHING, True),
        ((ahead,), NOTHING, True),  # by its prior, or by chance
        ((moved,), HARDLY, True),
        ((ahead,), HARDLY, False),  # little was known, and it was enough
        ((moved,), some, False),
        ((point,), some, True),  # all accepted everybody
        ((point, moved), some, False),
        ((point,), PLENTY, False),  # nothing to find
        ((moved,), None, False),
        ((REFUSED,), NOTHING, False),
    ):
        found = verdict_of(*entries, learnable=facts)
        assert (found.reason is not None) == expected
        assert (found.first_line is not None) == expected
    assert verdict_of(moved, learnable=NOTHING).first_line == (
        "This backtest is uninformative: nothing matures before round 48 of 48; "
        "5 % of the outcomes were known before the last decision."
    )


# -------------------------------------------------------------------- no contradictions

NUMBER, WORDS = r"(-?[\d ]*\d\.\d+)", r"(?: [kM])?(?: EUR)?"
PRINTED = re.compile(rf"(?:difference {NUMBER}{WORDS}, )?95 %: {NUMBER} to {NUMBER}{WORDS}")
EARNED = re.compile(rf"earned {NUMBER}{WORDS} (more|less) [^.]*?difference {NUMBER}{WORDS}")


def number(text: str) -> float:
    return float(text.replace(" ", ""))


def made_up(seed: int) -> BacktestVerdict:
    """A result of one to four policies; some are refused, or have no replicates."""
    rng = np.random.default_rng([5, seed])
    scale = rng.choice([0.01, 1.0, 1e4, 1e7])
    everybody = scale * rng.choice([-50.0, -2.0, 0.0, 3.0, 100.0])
    without = rng.random() < 0.1

    def values(middle: float, size: float) -> list[float]:
        return [] if without else [middle + scale * size * each for each in NORMAL[:40]]

    entries: list[BacktestEntry] = []
    for place in range(rng.integers(1, 5)):
        middle = scale * rng.choice([-60.0, -3.0, -0.004, 0.0, 0.1, 2.3, 4.0, 70.0])
        resampled = values(middle, rng.choice([0.0, 0.1, 1.0, 10.0]))
        if rng.random() < 0.2:  # a few replicates far below
            resampled[:2] = [middle - 500.0 * scale] * len(resampled[:2])
        more = {
            "everybody": everybody,
            "varying": 1.0 if rng.random() < 0.5 else None,
            "unit": "EUR" if rng.random() < 0.5 else "",
        }
        refused = OffPolicy(refusal="No.") if place and rng.random() < 0.2 else None
        entries.append(entry(f"p{place}", middle, resampled, off_policy=refused, **more))
    fitted = scale * rng.choice([-1.0, 0.5, 5.0])
    given = {"everybody": everybody, "kind": "baseline"}
    entries.append(entry(CROSS_FITTED, fitted, values(fitted, 1.0), **given))
    facts = [None, None, None, PLENTY, HARDLY, NOTHING][rng.integers(6)]
    return verdict_of(*entries, immediate=rng.random() < 0.5, learnable=facts)


def test_no_sentence_contradicts_another() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        found = made_up(seed)
        check(found)
        loses = found.nobody_is_better
        better = {each.name for each in found.judged if found.standing(each) == BETTER}
        seen["beats"] += bool(found.beating)
        seen["beats nobody"] += loses and bool(found.beating)
        seen["better than all is not enough"] += loses and len(better) > len(found.beating)
        seen["uninformative"] += found.reason is not None
        seen["signs"] += any(EARNED.search(found.sentence(each)) for each in found.judged)
        seen["signs in the verdict"] += EARNED.search(found.text()) is not None
        seen["intervals in the verdict"] += PRINTED.search(found.text()) is not None
        seen["not enough for luck"] += "not more than the" in found.luck()
    assert min(seen.values()) >= 10, seen


def check(found: BacktestVerdict) -> None:
    text, plain = found.text(), found.to_dict()
    sentences = [found.sentence(each) for each in found.entries]
    head = text.partition(".")[0]
    beats = re.search(r"^(\w+) beats ", head)
    # Who is named as beating is marked so, and earned more than both baselines.
    winners = [each for each in found.judged if each.name in plain["beating"]]
    assert (beats is not None) == bool(winners)
    if beats:
        assert plain["beating"][0] == beats[1]
    for each in winners:
        assert found.standing(each) == BETTER
        assert each.difference.middle > 0.0
        assert each.profit > 0.0
        assert each.difference.low > 0.0
    for each in found.judged:
        if found.standing(each) == WORSE:
            assert each.difference.middle < 0.0
            assert each.difference.high < 0.0
        if each.difference.middle <= 0.0 or each.profit <= 0.0:
            assert each.name not in plain["beating"]
    # Luck is judged by the same rule.
    if " more than the " in found.luck() and "not more" not in found.luck():
        assert beats
    if "not more than the" in found.luck():
        assert not beats
    # What shows nothing has neither winners nor marks nor doubts.
    if plain["uninformative"] is not None:
        assert found.first_line is not None
        assert found.first_line.startswith(UNINFORMATIVE)
        assert not beats
        assert found.doubts() == []
        assert not any("earned as much" in each for each in sentences[: len(found.judged)])
        assert {found.standing(each) for each in found.judged} == {UNSURE}
    elif found.immediate and found.judged:
        assert AT_ONCE in text
    # Each interval is of the signed difference, from low to high.
    for said in (text, *sentences):
        for middle, low, high in PRINTED.findall(said):
            assert number(low) <= number(high)
            assert not middle or number(low) <= number(middle) <= number(high)
        for size, way, difference in EARNED.findall(said):
            middle = number(difference)
            assert abs(middle) == number(size)
            assert middle >= 0.0 if way == "more" else middle <= 0.0
    for each, said in zip(found.entries, sentences, strict=True):
        if " more than accepting" in said:
            assert each.difference.middle >= 0.0
        if " less than accepting" in said:
            assert each.difference.middle < 0.0


def test_what_rests_on_the_order_of_rows_beats_nobody() -> None:
    """Without dates, a lead that is gone in random order is that of the order."""
    sorted_rows = variant("x", 100.0, 10.0, shuffled=ShuffledDifference(1.0, 1.0))
    usual = verdict_of(sorted_rows)
    assert usual.beating == [sorted_rows]
    found = verdict_of(sorted_rows, dated=False)
    assert not found.beating
    assert found.standing(sorted_rows) == UNSURE
    assert "its order decides, and not the policy" in found.text()
    assert "required" not in found.luck()
    honest = variant("x", 100.0, 10.0, shuffled=ShuffledDifference(95.0, 1.0))
    assert verdict_of(honest, dated=False).beating == [honest]
