"""The optimal policy beside the paper's, from made-up results: each check can hold and
fail, words follow numbers.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from profitable.common.charts import Figure
from profitable.paper.contest import (
    ANYTIME,
    CAREFUL,
    DECIDED_BY,
    FORMS,
    PATIENT,
    WITH_HORIZON,
    Contest,
    Score,
    checks,
    contests,
    decide_careful,
    decide_gain,
    decide_price,
    quantile_of,
)
from profitable.paper.experiment import OPTIMAL_LONG, PAPER, WITH_OPTIMAL, load
from profitable.paper.finding import FAILS, HOLDS, NOT_RUN, RESTRICTED, UNDECIDED
from profitable.paper.optimal import given_horizon, optimal_summary, reading
from profitable.paper.paper_charts import gain_and_price_figure
from profitable.paper.reproduction import Reproduction
from tests.paper.made_up import Path, logarithmic, reproduction, scored, trial

FOUR = {  # mean, 99 % quantile, share of lost runs
    "kl-ucb": (150.0, 200.0, 0.0),
    "kl-ucb+": (100.0, 400.0, 0.004),
    "bayes-ucb": (130.0, 180.0, 0.0),
    "ts": (110.0, 300.0, 0.002),
}
GOOD = {
    WITH_HORIZON: (70.0, 150.0, 0.004),
    CAREFUL: (85.0, 140.0, 0.001),
    ANYTIME: (90.0, 170.0, 0.002),
}
SHARP = "sharp-poisson"


def run(
    changed: dict[str, tuple[float, float, float]], names: Sequence[str] = (SHARP,), **size: int
) -> Reproduction:
    """Both experiments of each name; the numbers of `GOOD` unless changed."""
    new = {name: scored(f"optimal-{name}", GOOD | changed, **size) for name in names}
    return reproduction(*(scored(name, FOUR, **size) for name in names), *new.values())


def of(changed: dict[str, tuple[float, float, float]], **size: int) -> list[Contest]:
    return contests(run(changed, **size))


def test_the_experiments_are_the_paper_s() -> None:
    for name, beside in zip(PAPER, WITH_OPTIMAL, strict=True):
        mine, paper = load(beside), load(name)
        assert (mine.scenario, mine.horizon, mine.runs) == (
            paper.scenario,
            paper.horizon,
            paper.runs,
        )
        assert set(FORMS) <= set(mine.policies)
        assert sorted(filter(None, map(given_horizon, mine.policies))) == [100, 1_000, 100_000]
        assert mine.authors_runs == 0
    long = load(OPTIMAL_LONG)
    assert long.scenario == load("bernoulli").scenario
    assert [given_horizon(policy) for policy in long.policies] == [
        10**4,
        10**6,
        10**8,
        10**10,
        10**12,
        0,
    ]


def test_made_up_scores_are_as_asked() -> None:
    (contest,) = of({})
    score = contest.score(WITH_HORIZON)
    assert score.mean[0] == pytest.approx(70.0, rel=0.01)
    assert score.tail[0] == pytest.approx(150.0, rel=0.02)
    assert score.lost == pytest.approx((0.004, math.sqrt(0.004 * 0.996 / 1999)), rel=1e-9)
    assert [each.policy for each in contest.four] == ["kl-ucb+", "ts", "bayes-ucb", "kl-ucb"]
    assert [each.policy for each in contest.tails] == ["bayes-ucb", "kl-ucb", "ts", "kl-ucb+"]


def test_the_error_of_a_quantile() -> None:
    """Exponential numbers with mean 100: the 99 % quantile of n has the error 100
    sqrt(0.99/0.01/n).
    """
    curve = trial(SHARP, dict.fromkeys(FOUR, logarithmic(1.0)), runs=20_000).result.curves[0]
    rows = np.zeros((20_000, curve.layout.size))
    values = np.random.default_rng(3).exponential(100.0, 20_000)
    rows[:, curve.layout.place("regret")] = values[:, None]
    curve.moments, curve.counts = type(curve.moments).empty(curve.layout.size), 0 * curve.counts
    curve.add(rows, 0.0)
    value, low, high = quantile_of(curve, 0.99)
    assert value == pytest.approx(np.quantile(values, 0.99), rel=0.006)
    assert low < value < high
    assert 0.5 * (high - low) == pytest.approx(100.0 * math.sqrt(99.0 / 20_000), rel=0.35)
    assert quantile_of(curve, 1.0)[0] == pytest.approx(values.max(), rel=0.006)


def test_a_quantile_at_a_jump_is_shown_with_its_range() -> None:
    """If 1 % of the runs lose ten times as much as the others, the 99 % quantile may be
    either.
    """
    assert Score(
        "it", (1.0, 0.1), (5_000.0, 2_000.0), (1_050.0, 5_050.0), (0.0, 0.0), True
    ).tail_text == ("5 000 (1 050 to 5 050)")
    assert (
        Score("it", (1.0, 0.1), (5_000.0, 20.0), (4_980.0, 5_020.0), (0.0, 0.0), True).tail_text
        == "5 000 ± 20"
    )


def test_gain() -> None:
    assert decide_gain(of({})).verdict == HOLDS
    assert decide_gain(of({WITH_HORIZON: (92.0, 150.0, 0.0)})).verdict == RESTRICTED
    assert decide_gain(of({WITH_HORIZON: (120.0, 150.0, 0.0)})).verdict == FAILS
    assert decide_gain(of({WITH_HORIZON: (85.0, 150.0, 0.0)})).verdict == UNDECIDED
    assert decide_gain(of({WITH_HORIZON: (84.0, 150.0, 0.0)}, runs=100)).verdict == UNDECIDED
    assert "-30" in decide_gain(of({})).why


def test_price() -> None:
    assert decide_price(of({WITH_HORIZON: (70.0, 600.0, 0.03)})).verdict == HOLDS
    assert decide_price(of({})).verdict == UNDECIDED  # as often as the best of the four
    # More often, but it may be chance.
    assert decide_price(of({WITH_HORIZON: (70.0, 600.0, 0.006)})).verdict == UNDECIDED
    often = scored(SHARP, FOUR | {"kl-ucb+": (100.0, 400.0, 0.1)})
    assert (
        decide_price(contests(reproduction(often, scored(f"optimal-{SHARP}", GOOD)))).verdict
        == FAILS
    )
    somewhere = [*of({}), *contests(run({WITH_HORIZON: (70.0, 600.0, 0.03)}, ["poisson"]))]
    assert decide_price(somewhere).verdict == HOLDS
    assert (
        "3.00 ± 0.38 % against 0.40 ± 0.14 % of kl-ucb+ (poisson)" in decide_price(somewhere).seen
    )
    assert (
        "0.40% and 0.40% (sharp-poisson), 3.00% and 0.40% (poisson)" in decide_price(somewhere).why
    )


def test_careful() -> None:
    assert decide_careful(of({})).verdict == HOLDS
    assert "-15% and -2" in decide_careful(of({})).why
    assert decide_careful(of({CAREFUL: (120.0, 140.0, 0.0)})).verdict == FAILS
    assert decide_careful(of({CAREFUL: (85.0, 500.0, 0.0)})).verdict == FAILS
    # Above the smallest quantile, below that of kl-ucb+.
    only_best = decide_careful(of({CAREFUL: (85.0, 250.0, 0.0)}))
    assert only_best.verdict == RESTRICTED
    assert (
        "In sharp-poisson the quantile is shown to be smaller only than that of the best mean."
        in only_best.seen
    )
    assert decide_careful(of({CAREFUL: (85.0, 180.0, 0.0)})).verdict == UNDECIDED


def test_every_check_has_its_words() -> None:
    found = checks(of({}))
    assert [each["key"] for each in found] == list(DECIDED_BY)
    assert [each["verdict"] for each in found] == [HOLDS, UNDECIDED, HOLDS]
    assert all(each["test"] and each["statement"] for each in found)
    for each in checks(of({}, runs=10)):
        assert each["verdict"] == UNDECIDED
        assert each["why"].startswith(
            "Too few runs: 10 of optimal-sharp-poisson, 10 of sharp-poisson"
        )


def test_alone_nothing_can_be_compared() -> None:
    alone = reproduction(scored(f"optimal-{SHARP}", GOOD))
    summary = optimal_summary(alone)
    assert [each["verdict"] for each in summary["checks"]] == [NOT_RUN] * 3
    assert [row[3] for row in summary["numbers"]["rows"]] == ["-"] * 4
    assert gain_and_price_figure(summary["contests"]) == []
    assert not any("the best of the four" in each for each in reading(contests(alone)[0]))
    assert len(reading(contests(alone)[0])) == 3
    assert optimal_summary(Reproduction(1, {}))["contests"] == []


def test_gain_and_price_are_said_in_the_same_place() -> None:
    words = reading(of({WITH_HORIZON: (70.0, 600.0, 0.02)})[0])
    told, careful, anytime, four = words
    assert told.startswith(
        "`optimal:horizon` loses 69.9 ± 1.7 †, 30.0 ± 1.8 % less than `kl-ucb+`, the best of "
        "the four. One"
    )
    assert (
        "more than with each of the four. 2.00 ± 0.31 % of the runs lose a profitable category."
        in told
    )
    assert careful.startswith("With `risk=0.3` it loses")
    assert "less than with each of the four" in careful
    assert anytime.startswith("Without a horizon, `optimal` loses")
    assert four.startswith("The four: one run in a hundred loses more than 1")
    assert four.endswith(". 0 to 0.4 % of the runs lose a profitable category.")
    assert not any("chance" in each for each in words)
    told, careful, *_ = reading(
        of({WITH_HORIZON: (99.9, 179.0, 0.0), CAREFUL: (85.0, 250.0, 0.0)})[0]
    )
    assert "% less (which may be chance) than `kl-ucb+`" in told
    assert "less than with each of the four (which may be chance)." in told
    assert "as with some of the four" in careful


def test_numbers() -> None:
    summary = optimal_summary(run({}))
    headers, rows = summary["numbers"]["headers"], summary["numbers"]["rows"]
    assert [row[1] for row in rows] == ["kl-ucb+", "ts", "bayes-ucb", "kl-ucb", *FORMS]
    best, horizon = rows[0], rows[4]
    assert (best[3], rows[2][5]) == ("0 %", "0 %")
    assert horizon[3].startswith("-30")
    assert horizon[5].startswith("-16")
    assert rows[3][3].startswith("+5")
    assert len(headers) == len(best) == 7
    policies = summary["contests"][0]["policies"]
    assert summary["contests"][0]["best_of_four"] == "kl-ucb+"
    assert policies[4]["regret_ratio"] == pytest.approx(0.7, rel=0.01)
    assert policies[4]["quantile_ratio"] == pytest.approx(150 / 180, rel=0.02)


def test_a_wrong_horizon() -> None:
    wrong = {
        "optimal:horizon=100000": (77.0, 150.0, 0.0),
        "optimal:horizon=1000": (140.0, 900.0, 0.05),
        "optimal:horizon=100": (700.0, 2_000.0, 0.2),
        ANYTIME: (90.5, 170.0, 0.002),
    }
    table = optimal_summary(run(wrong))["wrong_horizon"]
    assert [row[1] for row in table["rows"]] == [
        "10 000 (right)",
        "100 000 (10 times too long)",
        "1 000 (10 times too short)",
        "100 (100 times too short)",
        "none",
    ]
    assert [row[3].split(".")[0] for row in table["rows"]] == ["0 %", "+10", "+100", "+900", "+29"]
    said = table["seen"].split(". ")
    assert said[0].startswith(
        "A horizon of 100 000, 10 times too long, changes the mean regret by +10 %; by 4"
    )
    assert said[0].endswith(
        "standard errors it is below the best of the four in 1 of 1 experiments"
    )
    assert said[1].endswith("in 0 of 1 experiments, and above it in sharp-poisson")
    assert said[3].startswith("Giving none (`optimal`) changes the mean regret by +29 %")


def test_long_horizons() -> None:
    """Each horizon is read at its own time; the slope is that from one to the next."""
    constant = load(OPTIMAL_LONG).scenario.lower_bound().total
    paths: dict[str, Path] = {
        f"optimal:horizon={10**power}": lambda t, h=10.0**power: (
            5.0 + 0.8 * constant * np.log(np.minimum(t, h))
        )
        for power in (4, 6, 8, 10, 12)
    }
    paths["optimal"] = logarithmic(0.9 * constant)
    four = dict.fromkeys(("kl-ucb", "bayes-ucb", "ts"), logarithmic(2.0 * constant))
    beside = trial("long-bernoulli", four | {"kl-ucb+": logarithmic(1.2 * constant)})
    long = optimal_summary(reproduction(trial(OPTIMAL_LONG, paths, spread=1e-4), beside))["long"]
    assert [row[0] for row in long["rows"]] == ["10 000", "10⁶", "10⁸", "10¹⁰", "10¹²"]
    for value in long["values"]:
        assert value["regret"][0] == pytest.approx(
            5.0 + 0.8 * constant * math.log(value["horizon"]), rel=1e-3
        )
    for value, row in zip(long["values"][1:], long["rows"][1:], strict=True):
        assert value["slope"][0] == pytest.approx(0.8 * constant, rel=0.01)
        assert value["anytime_slope"][0] == pytest.approx(0.9 * constant, rel=0.01)
        assert "(0.80)" in row[3]
        assert 0.7 * constant < value["closed_form"] < constant
    forms = [value["closed_form"] for value in long["values"][1:]]
    assert forms == sorted(forms)  # it tends to the constant from below
    assert long["numbers"] == {"runs": "200", "constant": f"{constant:.2f}"}
    best = 5.0 + 1.2 * constant * math.log(1e12)
    assert float(long["rows"][-1][-1].split(" ±")[0]) == pytest.approx(best, rel=0.01)


def test_the_picture_has_the_numbers_of_the_summary() -> None:
    found = optimal_summary(run({WITH_HORIZON: (70.0, 600.0, 0.02)}, ("poisson", SHARP)))[
        "contests"
    ]
    (figure,) = gain_and_price_figure(found)
    points = {
        (row["policy"], row["experiment"]): (row["x"], row["y"])
        for row in figure.chart["datasets"]["curves"]
    }
    assert len(points) == 8
    for contest in found:
        for each in contest["policies"][4:]:
            point = points[each["policy"], contest["title"]]
            assert point == pytest.approx((each["regret_ratio"], each["quantile_ratio"]), rel=1e-5)
    assert points[WITH_HORIZON, load(SHARP).title][1] > 3.0
    domain = figure.chart["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert domain[0] < min(y for _, y in points.values())
    assert domain[1] > max(y for _, y in points.values())


def test_a_picture_leaves_out_only_what_pointing_shows() -> None:
    (scatter,) = gain_and_price_figure(optimal_summary(run({}))["contests"])
    assert [layer["mark"]["type"] for layer in scatter.picture["layer"]] == [
        "rect",
        "text",
        "point",
    ]
    curves = _curves()
    assert {layer["mark"]["type"] for layer in curves.chart["layer"]} == {
        "area",
        "line",
        "rule",
        "point",
    }
    assert [layer["mark"]["type"] for layer in curves.picture["layer"]] == ["area", "line"]


def _curves() -> Figure:
    from profitable.paper.paper_report import _contest_figure

    (contest,) = of({})
    return _contest_figure(contest)


def test_the_forms_look_different() -> None:
    chart = _curves().chart
    scale = next(layer for layer in chart["layer"] if layer["mark"]["type"] == "line")["encoding"][
        "color"
    ]["scale"]
    assert set(scale["domain"]) == {"kl-ucb+", WITH_HORIZON, CAREFUL, ANYTIME, "lower bound"}
    shown = dict(zip(scale["domain"], scale["range"], strict=True))
    assert len({shown[name] for name in ("kl-ucb+", WITH_HORIZON, CAREFUL, ANYTIME)}) == 4


def test_unknown_lost_runs() -> None:
    (contest,) = of({PATIENT: (100.0, 150.0, 0.0)})
    curve = contest.trial.result[PATIENT]
    for power in ("mean", "squares"):
        getattr(curve.moments, power)[curve.layout.place("lost")] = np.nan
    assert Score.of(curve).to_dict()["lost_share"] == [None, None]
