"""Captions of figures, from made-up regrets."""

from profitable.paper.paper_summary import reading
from tests.paper.made_up import logarithmic, trial

FOUR = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")


def test_a_clear_winner() -> None:
    slopes = dict(zip(FOUR, (40.0, 30.0, 20.0, 10.0), strict=True))
    seen = reading(
        trial("sharp-poisson", {policy: logarithmic(slope) for policy, slope in slopes.items()})
    )
    assert seen.startswith("Up to T = 10 000, `ts` loses least: 97.036 ± 0.064.")
    assert "The next, `bayes-ucb`, loses 92.04 ± 0.14 more." in seen
    assert "chance" not in seen
    assert seen.endswith("`kl-ucb` loses most, 3.8 times as much as `ts`.")


def test_a_difference_within_the_errors() -> None:
    seen = reading(trial("sharp-poisson", dict.fromkeys(FOUR, logarithmic(10.0)), spread=0.5))
    assert "more, which may be chance." in seen


def test_one_run_has_no_errors() -> None:
    seen = reading(trial("sharp-poisson", dict.fromkeys(FOUR, logarithmic(10.0)), runs=1))
    assert "±" not in seen
    assert "nan" not in seen
