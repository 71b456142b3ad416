"""Each claim can hold, fail, and hold with its restriction; and says so when it was not
run.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from profitable.errors import InputError
from profitable.paper.claims import bend, claims, winners
from profitable.paper.experiment import PAPER, load
from profitable.paper.finding import (
    FAILS,
    HOLDS,
    NOT_RUN,
    RESTRICTED,
    UNDECIDED,
    Finding,
    plus_minus,
)
from profitable.paper.reproduction import Reproduction, Trial
from profitable.paper.slopes import slopes
from profitable.paper.theorems import often_seen, settles, waits_of
from profitable.simulation.running_stats import Moments
from tests.paper.made_up import Path, linear, logarithmic, reproduction, trial

NINE = load("poisson").policies


def paths(**slopes: float) -> dict[str, Path]:
    """Logarithmic regrets, slope 10 unless given (with _ for - and plus for +)."""
    names = {policy: policy.replace("-", "_").replace("+", "plus") for policy in NINE}
    return {policy: logarithmic(slopes.get(name, 10.0)) for policy, name in names.items()}


def decide(key: str, found: Reproduction, by_authors: bool) -> Finding:
    (claim,) = (claim for claim in claims() if claim.key == key)
    return claim.finding(found, by_authors=by_authors)


def test_bend() -> None:
    curves = trial("sharp-poisson", paths() | {"ts": linear(0.1)}).result
    assert bend(curves["kl-ucb"])[0] == pytest.approx(1.0, rel=1e-3)
    assert bend(curves["ts"])[0] == pytest.approx(math.sqrt(10.0), rel=1e-3)


def test_growth() -> None:
    assert decide("growth", reproduction(trial("poisson", paths())), False).verdict == HOLDS
    gaussian = reproduction(trial("poisson", paths() | {"kl-gaussian-ucb": linear(1.0)}))
    assert decide("growth", gaussian, False).verdict == RESTRICTED
    assert "kl-gaussian-ucb in poisson (3.1" in decide("growth", gaussian, False).seen
    assert "Decided on poisson alone" in decide("growth", gaussian, False).seen
    noisy = trial("poisson", paths(), spread=1.0)
    assert decide("growth", reproduction(noisy), False).verdict == UNDECIDED
    assert (
        decide(
            "growth", reproduction(trial("poisson", paths() | {"ts": linear(1.0)})), False
        ).verdict
        == FAILS
    )
    assert decide("growth", gaussian, True).verdict == NOT_RUN


def test_gaussian() -> None:
    worse = trial("poisson", paths(kl_gaussian_ucb=20.0))
    better = trial("exponential", paths(kl_gaussian_ucb=5.0))
    assert decide("gaussian", reproduction(worse), False).verdict == HOLDS
    assert decide("gaussian", reproduction(better), False).verdict == FAILS
    assert decide("gaussian", reproduction(worse, better), False).verdict == RESTRICTED


def test_alike() -> None:
    assert (
        decide(
            "alike", reproduction(trial("bernoulli", paths(kl_gaussian_ucb=50.0))), False
        ).verdict
        == HOLDS
    )
    assert decide("alike", reproduction(trial("bernoulli", paths(ts=20.0))), False).verdict == FAILS
    later: dict[str, Path] = {"ts": lambda t: 5.0 + 100.0 * (t > 50) + 10.0 * np.log(t)}
    assert (
        decide("alike", reproduction(trial("bernoulli", paths() | later)), False).verdict
        == RESTRICTED
    )


def test_knowledge() -> None:
    others = dict.fromkeys(
        ("kl_emp_ucb", "kl_gaussian_ucb", "kl_bernoulli_ucb", "kl_bernoulli_ucbplus", "ucb_v"), 30.0
    )
    good = trial("poisson", paths(**others))
    assert decide("knowledge", reproduction(good), False).verdict == HOLDS
    bad = paths(kl_emp_ucb=5.0)
    assert decide("knowledge", reproduction(trial("poisson", bad)), False).verdict == FAILS
    assert (
        decide("knowledge", reproduction(good, trial("exponential", bad)), False).verdict
        == RESTRICTED
    )
    assert decide("knowledge", reproduction(trial("poisson", paths())), False).verdict == UNDECIDED
    assert decide("knowledge", reproduction(trial("exponential", bad)), False).verdict == NOT_RUN


def test_best() -> None:
    assert (
        decide(
            "best", reproduction(trial("sharp-poisson", paths(ts=5.0, bayes_ucb=6.0))), False
        ).verdict
        == HOLDS
    )
    plus = trial("sharp-poisson", paths(ts=5.0, bayes_ucb=6.0, kl_ucbplus=4.0))
    assert decide("best", reproduction(plus), False).verdict == RESTRICTED
    assert (
        decide("best", reproduction(trial("sharp-poisson", paths(kl_ucb=5.0))), False).verdict
        == FAILS
    )
    assert decide("best", reproduction(trial("sharp-poisson", paths())), False).verdict == UNDECIDED


def test_thompson() -> None:
    assert (
        decide("thompson", reproduction(trial("sharp-poisson", paths(ts=5.0))), False).verdict
        == HOLDS
    )
    plus = decide(
        "thompson", reproduction(trial("sharp-poisson", paths(ts=5.0, kl_ucbplus=4.0))), False
    )
    assert plus.verdict == RESTRICTED
    assert "it is behind kl-ucb+ (sharp-poisson)" in plus.seen
    assert (
        decide("thompson", reproduction(trial("sharp-poisson", paths(ts=15.0))), False).verdict
        == FAILS
    )


def test_a_difference_that_may_be_chance_is_none() -> None:
    close = trial("sharp-poisson", paths(ts=9.9), spread=0.2)
    assert decide("thompson", reproduction(close), False).verdict == UNDECIDED
    assert winners(close) == "ts or kl-ucb or bayes-ucb or kl-ucb+"


def test_lower_bound() -> None:
    constant = load("long-bernoulli").scenario.lower_bound().total
    four = ("kl_ucb", "kl_ucbplus", "bayes_ucb", "ts")
    above = trial("long-bernoulli", paths(**dict.fromkeys(four, 1.05 * constant)))
    assert decide("lower-bound", reproduction(above), False).verdict == HOLDS
    noisy = trial("long-bernoulli", paths(**dict.fromkeys(four, 1.05 * constant)), spread=0.5)
    assert decide("lower-bound", reproduction(noisy), False).verdict == UNDECIDED
    expected = [slope.expected for slope in slopes(above)]
    explained = trial(
        "long-bernoulli", paths(**dict(zip(four, expected, strict=True))), spread=1e-4
    )
    assert decide("lower-bound", reproduction(explained), False).verdict == RESTRICTED
    below = trial("long-bernoulli", paths(**dict.fromkeys(four, 0.8 * constant)), spread=1e-4)
    assert decide("lower-bound", reproduction(below), False).verdict == FAILS
    variant = trial(
        "long-bernoulli", paths(**dict.fromkeys(four, 1.05 * constant)), by_authors=True
    )
    assert decide("lower-bound", reproduction(variant), True).verdict == HOLDS


def test_slopes_that_have_grown() -> None:
    """Only what is more than chance is called a change."""
    constant = load("long-bernoulli").scenario.lower_bound().total
    straight = logarithmic(0.9 * constant)

    def rising(t):
        early, late = 0.9 * constant * np.log(t), 0.2 * constant * np.log(np.minimum(t, 1e6))
        return 5.0 + early - late

    four = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")
    noisy = decide(
        "lower-bound", reproduction(trial("long-bernoulli", dict.fromkeys(four, straight))), False
    )
    assert "No change since the three decades before is seen." in noisy.seen
    one = dict.fromkeys(four, straight) | {"ts": rising}
    grown = decide("lower-bound", reproduction(trial("long-bernoulli", one, spread=1e-4)), False)
    assert "1 of the 4 have grown and 0 have fallen by more than 4 standard errors" in grown.seen


def test_the_horizon_is_that_of_the_experiment() -> None:
    assert decide("growth", reproduction(trial("poisson", paths())), False).at == "at T = 10 000"
    shorter = trial("poisson", paths(), horizon=2_000_000)
    assert decide("growth", reproduction(shorter), False).at == "at T = 2 000 000"
    long = trial("long-bernoulli", paths(), horizon=10**9)
    finding = decide("lower-bound", reproduction(long), False)
    assert "At T = 10⁹ " in finding.seen
    assert finding.headers[2:4] == ("slope, 1 to 1 000", "slope, 1 000 to 10⁹")


def accepting(made: Trial, share: Callable[[bool, np.ndarray], np.ndarray]) -> Reproduction:
    """The same where accepted rounds are a function of whether a category is
    profitable, and of time.
    """
    for curve in made.result.curves:
        rows = np.zeros((200, curve.layout.size))
        counts = [
            share(truth.profitable, curve.t.astype(float)) for truth in made.result.scenario.truths
        ]
        rows[:, curve.layout.place("accepted")] = np.concatenate(counts)
        curve.moments = Moments.of(rows)
    return reproduction(made)


def test_finite_time() -> None:
    good = accepting(
        trial("bounds", paths()), lambda profitable, t: t - 1.0 if profitable else 50.0 + 0.0 * t
    )
    finding = decide("finite-time", good, False)
    assert finding.verdict == RESTRICTED
    assert "Theorem 2 (i) for arm 1 at 10 000" in finding.seen
    bad = accepting(
        trial("bounds", paths()), lambda profitable, t: t - 1.0 if profitable else 0.5 * t
    )
    assert decide("finite-time", bad, False).verdict == FAILS
    away = accepting(
        trial("bounds", paths()), lambda profitable, t: 0.5 * t if profitable else 50.0 + 0.0 * t
    )
    assert "Broken: Theorem 2 (ii)" in decide("finite-time", away, False).seen


def rejecting(name: str, rejected: Callable[[float], float]) -> Trial:
    """A trial in which each profitable category is rejected in so many rounds, a
    function of the sum of its waits.
    """
    made = trial(name, paths())
    for curve in made.result.curves:
        rows = np.zeros((200, curve.layout.size))
        spread = 0.5 * np.where(np.arange(200) % 2, 1.0, -1.0)[:, None]
        counts = [
            curve.t - rejected(waits_of(truth, 1e12).mean()) + spread
            for truth in made.result.scenario.truths
            if truth.profitable
        ]
        accepted = np.zeros((200, len(made.result.scenario.truths), curve.t.size))
        places = [k for k, truth in enumerate(made.result.scenario.truths) if truth.profitable]
        accepted[:, places] = np.stack(counts, axis=1)
        rows[:, curve.layout.place("accepted")] = accepted.reshape(200, -1)
        curve.moments = Moments.of(rows)
    return made


def test_turned_away() -> None:
    right, wrong = (
        rejecting("long-bernoulli", lambda mean: mean),
        rejecting("long-bernoulli", lambda mean: 1.3 * mean),
    )
    unlucky = rejecting("unlucky", lambda mean: 19.0)
    finding = decide("turned-away", reproduction(right, unlucky), False)
    assert finding.verdict == RESTRICTED
    assert "Bernoulli 11.23 and 13.69; Exponential ∞" in finding.why
    assert [row[-1] for row in finding.rows] == ["yes", "yes", "no"]
    assert decide("turned-away", reproduction(wrong, unlucky), False).verdict == FAILS
    assert decide("turned-away", reproduction(right), False).verdict == NOT_RUN


def test_turned_away_has_power() -> None:
    """Rejected rounds that no longer grow pass for Bernoulli rewards and fail for
    Exponential ones.
    """
    bernoulli, exponential = (
        rejecting("long-bernoulli", lambda mean: mean),
        rejecting("unlucky", lambda mean: 19.0),
    )
    assert settles(bernoulli, 1) == (True, True)
    assert settles(exponential, 0) == (False, True)
    few = rejecting("long-bernoulli", lambda mean: 0.5 * mean)
    assert settles(few, 1) == (True, False)


def test_what_so_many_runs_can_show() -> None:
    waits = waits_of(load("long-bernoulli").scenario.truths[1], 1e12)
    shown = [often_seen(waits, runs) for runs in (100, 10_000, 10**8)]
    assert 0.5 * waits.mean() < shown[0] < shown[1] < shown[2] < waits.mean() < 1.01 * shown[2]
    with pytest.raises(InputError, match="family"):
        waits_of(load("poisson").scenario.truths[1], 1e12)


def test_too_few_runs_are_named() -> None:
    """Only the trials that decide a claim count, each with its own number of runs."""
    both = reproduction(trial("poisson", paths(ucb_v=5.0)), trial("bernoulli", paths(), runs=10))
    verdicts = {claim.key: claim.finding(both, by_authors=False) for claim in claims()}
    assert verdicts["knowledge"].verdict == FAILS
    assert verdicts["alike"].verdict == UNDECIDED
    assert verdicts["alike"].why == "Too few runs: 10 of bernoulli."
    assert verdicts["growth"].seen.startswith("Too few runs: 10 of bernoulli.")


def test_nothing_was_run() -> None:
    empty = Reproduction(1, {})
    for claim in claims():
        finding = claim.finding(empty, by_authors=False)
        assert finding.verdict == NOT_RUN
        assert any(name in finding.seen for name in (*PAPER, "long-bernoulli", "bounds"))
        assert claim.test.strip()


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.0, 0.0, "1"),
        (12.3456, 0.0321, "12.346 ± 0.032"),
        (5e5, 1234.0, "500 000 ± 1 234"),
        (2.0, math.nan, "2"),
    ],
)
def test_plus_minus(value: float, error: float, text: str) -> None:
    assert plus_minus(value, error) == text
