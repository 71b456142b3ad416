"""The discounted Bernoulli problem of Wei (2021): exact thresholds, the closed form,
and how fast they rise.
"""

import math
import os

import numpy as np
import pytest
from benchmarks.one_armed import one_armed
from scipy import stats

import profitable as pb

LABELS = 1_000
SOAK_ONLY = pytest.mark.skipif(
    os.environ.get("PROFITABLE_SOAK") != "1", reason="half a minute; make soak"
)


def exact_fewest(discount: float, threshold: float) -> list[int]:
    """Fewest successes among N = 0 ...

    LABELS labels with which one more client is accepted, by dynamic programming.
    """
    # What comes later is worth e^-20 of the whole.
    last = LABELS + math.ceil(20.0 / (1.0 - discount))
    fewest, value = [0] * last, np.zeros(last + 2)
    for n in reversed(range(last)):
        mean = (np.arange(n + 1) + 0.5) / (n + 1)
        accepting = (
            mean - threshold + discount * (mean * value[1 : n + 2] + (1.0 - mean) * value[: n + 1])
        )
        value = np.maximum(accepting, 0.0)
        fewest[n] = int(np.sum(accepting < 0.0))
    return fewest[: LABELS + 1]


def closed_form_fewest(discount: float, threshold: float, n: int) -> int:
    least = math.exp(-pb.Optimal(discount=discount, clients=1).patience(n, known=n, per_round=1))
    successes = np.arange(n + 1)
    return int(np.sum(stats.beta.sf(threshold, successes + 0.5, n - successes + 0.5) < least))


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("discount", [0.9, 0.99, pytest.param(0.999, marks=SOAK_ONLY)])
def test_the_closed_form_is_within_one_success_of_the_exact_threshold(
    discount: float, threshold: float
) -> None:
    exact = exact_fewest(discount, threshold)
    apart = np.array(
        [closed_form_fewest(discount, threshold, n) - exact[n] for n in range(1, LABELS + 1)]
    )
    assert np.abs(apart).max() <= 1
    assert np.mean(apart == 0) >= 0.6


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_one_armed_has_the_exact_thresholds(threshold: float) -> None:
    category = pb.Category("group", pb.Bernoulli(), threshold=threshold)
    boundary = one_armed(category, discount=0.99).boundary[: LABELS + 1]
    assert boundary.tolist() == exact_fewest(0.99, threshold)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("discount", [0.9, 0.95])
def test_the_threshold_rises_like_one_over_the_number_of_labels(
    discount: float, threshold: float
) -> None:
    """The threshold less the mean is about sigma (sqrt(M/2) - 0.5826)/N, where 0.5826
    corrects for single clients.
    """
    deviation, worth = math.sqrt(threshold * (1.0 - threshold)), 1.0 / -math.log(discount)
    labels = np.arange(LABELS // 2, LABELS + 1)
    # On average half a success above the boundary.
    fewest = np.array(exact_fewest(discount, threshold))[labels]
    found = np.mean(threshold * (labels + 1.0) - fewest)
    # Of one success.
    assert found == pytest.approx(deviation * (math.sqrt(worth / 2.0) - 0.5826), abs=0.1)
