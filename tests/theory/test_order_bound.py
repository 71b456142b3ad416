"""The lower bound for bands of an order, against arithmetic by hand."""

import math

import pytest

import profitable as pb
from profitable.errors import InputError
from profitable.simulation.bounds_report import BoundsReport
from profitable.theory.order_bound import ordered_lower_bound
from profitable.theory.regret_bounds import lower_bound


def d(x: float, y: float) -> float:
    return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y))


def bands(*thresholds: float) -> list[pb.Category]:
    return [
        pb.Category(f"band {k}", pb.Bernoulli(), threshold=threshold, order="score")
        for k, threshold in enumerate(thresholds)
    ]


def logistic(number: int, low: float, high: float) -> list[float]:
    """Means along a logistic curve of slope 4, from low to high."""
    raw = [1 / (1 + math.exp(4 - 8 * k / (number - 1))) for k in range(number)]
    return [low + (high - low) * (each - raw[0]) / (raw[-1] - raw[0]) for each in raw]


@pytest.mark.parametrize(
    ("number", "middle", "none"), [(10, 0.498, 0.416), (20, 0.438, 0.226), (50, 0.373, 0.095)]
)
def test_the_order_saves_the_more_the_more_bands(number: int, middle: float, none: float) -> None:
    for highest, ratio in ((0.98, middle), (0.84, none)):
        given, means = bands(*[0.85] * number), logistic(number, 0.55, highest)
        with_order, alone = ordered_lower_bound(given, means), lower_bound(given, means)
        assert with_order.total / alone.total == pytest.approx(ratio, abs=0.0005)
        worst = max(k for k in range(number) if means[k] < 0.85)
        assert [k for k in range(number) if with_order.clients_per_log_t[k]] == [worst]
        assert with_order.total == pytest.approx((0.85 - means[worst]) / d(means[worst], 0.85))


@pytest.mark.parametrize("means", [(0.2, 0.3), (0.2, 0.49), (0.45, 0.46), (0.3, 0.55)])
def test_two_bands_with_rising_thresholds_by_hand(means: tuple[float, float]) -> None:
    low, high = means
    given = bands(0.5, 0.6)
    least = 1 / d(high, 0.6)  # of the upper band, whatever the lower one needs
    helps = d(high, 0.5) if high < 0.5 else 0.0
    choices = [(max(0.0, 1 - least * helps) / d(low, 0.5), least)]
    if helps:
        choices.append((0.0, max(least, 1 / helps)))
    by_hand = min((0.5 - low) * n + (0.6 - high) * m for n, m in choices)
    assert ordered_lower_bound(given, means).total == pytest.approx(by_hand, rel=1e-9)


def test_a_profitable_band_above_may_say_everything() -> None:
    # The mean 0.55 of the upper band becomes known, and the lower one cannot exceed it.
    assert ordered_lower_bound(bands(0.6, 0.5), [0.4, 0.55]).total == 0.0
    assert ordered_lower_bound(bands(0.6, 0.5), [0.61, 0.62]).total == 0.0


def test_orders_stand_beside_free_categories_and_each_other() -> None:
    free = pb.Category("free", pb.Bernoulli(), threshold=0.5)
    other = pb.Category("other", pb.Poisson(), threshold=3.0, order="income", worth=2.0)
    low, high = bands(0.5, 0.5)
    bound = ordered_lower_bound([low, free, high, other], [0.2, 0.3, 0.4, 2.0])
    alone = lower_bound([low, free, high, other], [0.2, 0.3, 0.4, 2.0])
    assert bound.regret_per_log_t == (0.0, *alone.regret_per_log_t[1:])


def test_means_that_fall_have_no_such_bound() -> None:
    with pytest.raises(InputError, match=r"mean = 0\.3 of band 'band 1' is below"):
        ordered_lower_bound(bands(0.5, 0.5), [0.4, 0.3])


def scenario(*means: float) -> pb.Scenario:
    truths = zip(bands(*[0.5] * len(means)), means, strict=True)
    return pb.Scenario("bands", [pb.Truth(band, mean=m, clients=4) for band, m in truths])


def test_the_report_has_both_bounds_or_says_why_not() -> None:
    report = BoundsReport(scenario(0.2, 0.4, 0.6))
    plain = report.to_dict()
    assert plain["ordered_lower_bound_per_log_t"] == pytest.approx(0.1 / d(0.4, 0.5))
    assert plain["lower_bound_per_log_t"] == pytest.approx(0.1 / d(0.4, 0.5) + 0.3 / d(0.2, 0.5))
    assert "with the order" in report.table()
    fallen = BoundsReport(scenario(0.4, 0.2, 0.6))
    assert "ordered_lower_bound_per_log_t" not in fallen.to_dict()
    assert "There is no bound with the order: mean = 0.2 of band 'band 1'" in fallen.table()
    assert scenario(0.4, 0.2).ordered_lower_bound_per_log_t() is None


def test_results_and_pictures_have_both_bounds() -> None:
    result = pb.simulate(scenario(0.2, 0.4), ["kl-ucb"], horizon=100, runs=4, seed=1)
    assert "(lower bound with the order)" in str(result)
    assert result.to_dict()["ordered_lower_bound_per_log_t"] == pytest.approx(0.1 / d(0.4, 0.5))
    assert '"lower bound with the order"' in result.plot().to_json()
