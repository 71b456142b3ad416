"""Each claim can hold, fail, and hold with its restriction; and says so when it was not run."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from profitable.paper.bounds_check import decide_finite_time, decide_turned_away
from profitable.paper.claims import (
    bend,
    claims,
    decide_alike,
    decide_best,
    decide_gaussian,
    decide_growth,
    decide_knowledge,
    decide_thompson,
    winners,
)
from profitable.paper.experiment import PAPER, load
from profitable.paper.finding import FAILS, HOLDS, NOT_RUN, RESTRICTED, UNDECIDED, plus_minus
from profitable.paper.reproduction import Reproduction, Trial
from profitable.paper.slopes import decide_lower_bound, slopes
from profitable.simulation.running_stats import Moments
from tests.paper.made_up import Path, linear, logarithmic, reproduction, trial

NINE = load("poisson").policies


def paths(**slopes: float) -> dict[str, Path]:
    """Logarithmic regrets, slope 10 unless given (with _ for - and plus for +)."""
    names = {policy: policy.replace("-", "_").replace("+", "plus") for policy in NINE}
    return {policy: logarithmic(slopes.get(name, 10.0)) for policy, name in names.items()}


def test_bend() -> None:
    curves = trial("sharp-poisson", paths() | {"ts": linear(0.1)}).result
    assert bend(curves["kl-ucb"])[0] == pytest.approx(1.0, rel=1e-3)
    assert bend(curves["ts"])[0] == pytest.approx(math.sqrt(10.0), rel=1e-3)


def test_growth() -> None:
    assert decide_growth(reproduction(trial("poisson", paths())), False).verdict == HOLDS
    gaussian = reproduction(trial("poisson", paths() | {"kl-gaussian-ucb": linear(1.0)}))
    assert decide_growth(gaussian, False).verdict == RESTRICTED
    assert "kl-gaussian-ucb in poisson (3.1" in decide_growth(gaussian, False).seen
    assert "Decided on poisson alone" in decide_growth(gaussian, False).seen
    noisy = trial("poisson", paths(), spread=1.0)
    assert decide_growth(reproduction(noisy), False).verdict == UNDECIDED
    assert decide_growth(reproduction(trial("poisson", paths() | {"ts": linear(1.0)})), False).verdict == FAILS
    assert decide_growth(gaussian, True).verdict == NOT_RUN


def test_gaussian() -> None:
    worse = trial("poisson", paths(kl_gaussian_ucb=20.0))
    better = trial("exponential", paths(kl_gaussian_ucb=5.0))
    assert decide_gaussian(reproduction(worse), False).verdict == HOLDS
    assert decide_gaussian(reproduction(better), False).verdict == FAILS
    assert decide_gaussian(reproduction(worse, better), False).verdict == RESTRICTED


def test_alike() -> None:
    assert decide_alike(reproduction(trial("bernoulli", paths(kl_gaussian_ucb=50.0))), False).verdict == HOLDS
    assert decide_alike(reproduction(trial("bernoulli", paths(ts=20.0))), False).verdict == FAILS
    later: dict[str, Path] = {"ts": lambda t: 5.0 + 100.0 * (t > 50) + 10.0 * np.log(t)}
    assert decide_alike(reproduction(trial("bernoulli", paths() | later)), False).verdict == RESTRICTED


def test_knowledge() -> None:
    others = dict.fromkeys(("kl_emp_ucb", "kl_gaussian_ucb", "kl_bernoulli_ucb", "kl_bernoulli_ucbplus", "ucb_v"), 30.0)
    good = trial("poisson", paths(**others))
    assert decide_knowledge(reproduction(good), False).verdict == HOLDS
    bad = paths(kl_emp_ucb=5.0)
    assert decide_knowledge(reproduction(trial("poisson", bad)), False).verdict == FAILS
    assert decide_knowledge(reproduction(good, trial("exponential", bad)), False).verdict == RESTRICTED
    assert decide_knowledge(reproduction(trial("poisson", paths())), False).verdict == UNDECIDED
    assert decide_knowledge(reproduction(trial("exponential", bad)), False).verdict == NOT_RUN


def test_best() -> None:
    assert decide_best(reproduction(trial("sharp-poisson", paths(ts=5.0, bayes_ucb=6.0))), False).verdict == HOLDS
    plus = trial("sharp-poisson", paths(ts=5.0, bayes_ucb=6.0, kl_ucbplus=4.0))
    assert decide_best(reproduction(plus), False).verdict == RESTRICTED
    assert decide_best(reproduction(trial("sharp-poisson", paths(kl_ucb=5.0))), False).verdict == FAILS
    assert decide_best(reproduction(trial("sharp-poisson", paths())), False).verdict == UNDECIDED


def test_thompson() -> None:
    assert decide_thompson(reproduction(trial("sharp-poisson", paths(ts=5.0))), False).verdict == HOLDS
    plus = decide_thompson(reproduction(trial("sharp-poisson", paths(ts=5.0, kl_ucbplus=4.0))), False)
    assert plus.verdict == RESTRICTED
    assert "it is behind kl-ucb+ (sharp-poisson)" in plus.seen
    assert decide_thompson(reproduction(trial("sharp-poisson", paths(ts=15.0))), False).verdict == FAILS


def test_a_difference_that_may_be_chance_is_none() -> None:
    close = trial("sharp-poisson", paths(ts=9.9), spread=0.2)
    assert decide_thompson(reproduction(close), False).verdict == UNDECIDED
    assert winners(close) == "ts and kl-ucb and bayes-ucb and kl-ucb+"


def test_lower_bound() -> None:
    constant = load("long-bernoulli").scenario.lower_bound().total
    four = ("kl_ucb", "kl_ucbplus", "bayes_ucb", "ts")
    above = trial("long-bernoulli", paths(**dict.fromkeys(four, 1.05 * constant)))
    assert decide_lower_bound(reproduction(above), False).verdict == HOLDS
    noisy = trial("long-bernoulli", paths(**dict.fromkeys(four, 1.05 * constant)), spread=0.5)
    assert decide_lower_bound(reproduction(noisy), False).verdict == UNDECIDED
    expected = [slope.expected for slope in slopes(above)]
    explained = trial("long-bernoulli", paths(**dict(zip(four, expected, strict=True))), spread=1e-4)
    assert decide_lower_bound(reproduction(explained), False).verdict == RESTRICTED
    below = trial("long-bernoulli", paths(**dict.fromkeys(four, 0.8 * constant)), spread=1e-4)
    assert decide_lower_bound(reproduction(below), False).verdict == FAILS
    variant = trial("long-bernoulli", paths(**dict.fromkeys(four, 1.05 * constant)), by_authors=True)
    assert decide_lower_bound(reproduction(variant), True).verdict == HOLDS


def accepting(made: Trial, share: Callable[[bool, np.ndarray], np.ndarray]) -> Reproduction:
    """The same where accepted rounds are a function of whether a category is profitable, and of time."""
    for curve in made.result.curves:
        rows = np.zeros((200, curve.layout.size))
        counts = [share(truth.profitable, curve.t.astype(float)) for truth in made.result.scenario.truths]
        rows[:, curve.layout.place("accepted")] = np.concatenate(counts)
        curve.moments = Moments.of(rows)
    return reproduction(made)


def test_finite_time() -> None:
    good = accepting(trial("bounds", paths()), lambda profitable, t: t - 1.0 if profitable else 50.0 + 0.0 * t)
    finding = decide_finite_time(good, False)
    assert finding.verdict == RESTRICTED
    assert "Theorem 2 (i) for arm 1 at 10 000" in finding.seen
    bad = accepting(trial("bounds", paths()), lambda profitable, t: t - 1.0 if profitable else 0.5 * t)
    assert decide_finite_time(bad, False).verdict == FAILS
    away = accepting(trial("bounds", paths()), lambda profitable, t: 0.5 * t if profitable else 50.0 + 0.0 * t)
    assert "Broken: Theorem 2 (ii)" in decide_finite_time(away, False).seen


def test_turned_away() -> None:
    def grows(profitable: bool, t: np.ndarray) -> np.ndarray:
        return t - np.log(t)

    def settles(profitable: bool, t: np.ndarray) -> np.ndarray:
        return t - 1.0

    def made(bernoulli: Callable[..., np.ndarray], exponential: Callable[..., np.ndarray]) -> Reproduction:
        one = accepting(trial("bounds", paths()), bernoulli)
        other = accepting(trial("unlucky", paths()), exponential)
        return Reproduction(1, one.trials | other.trials)

    assert decide_turned_away(made(settles, settles), False).verdict == HOLDS
    assert decide_turned_away(made(settles, grows), False).verdict == RESTRICTED
    assert decide_turned_away(made(grows, grows), False).verdict == FAILS
    assert decide_turned_away(reproduction(trial("bounds", paths())), False).verdict == NOT_RUN


def test_nothing_was_run() -> None:
    empty = Reproduction(1, {})
    for claim in claims():
        finding = claim.finding(empty, by_authors=False)
        assert finding.verdict == NOT_RUN
        assert any(name in finding.seen for name in (*PAPER, "long-bernoulli", "bounds"))
        assert claim.test.strip()


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(1.0, 0.0, "1"), (12.3456, 0.0321, "12.346 ± 0.032"), (5e5, 1234.0, "500 000 ± 1 234"), (2.0, math.nan, "2")],
)
def test_plus_minus(value: float, error: float, text: str) -> None:
    assert plus_minus(value, error) == text
