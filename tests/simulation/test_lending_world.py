"""Worlds of loans: the truth by hand, an agent's values, and scenario files."""

from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.kernels.hazards import Mix, value_of_mix
from profitable.simulation.bounds_report import BoundsReport

LENDING = pb.Lending(required=0.05, recovery=0.08, lag=5)
FILE = """name = "lender"

[lending]
required = 0.05
recovery = 0.08
lag = 5
level = 0.3
frailty = true
per_year = 12.0
term = [36, 60]
peak = 12.0
total = 0.14
prepay = 0.012
growth = 0.02
level_drift = 0.1
levels = [[1, 2.3], [12, 2.3], [30, 1.0]]

[[category]]
name = "cars"
rate = 0.12
multiplier = 0.8
clients = 40.0

[[category]]
name = "shops"
rate = 0.13
multiplier = 2.5
clients = 20.0
"""


def world(**changes: Any) -> pb.LendingWorld:
    terms: dict[str, Any] = {
        "term": 36,
        "peak": 12,
        "total": 0.14,
        "lending": LENDING,
        "prepay": 0.012,
    }
    borrowers = [
        pb.Borrowers("cars", rate=0.12, multiplier=0.8, clients=40),
        pb.Borrowers("shops", rate=0.13, multiplier=2.5, clients=20),
    ]
    return pb.LendingWorld(borrowers, **(terms | changes))


def test_hazards_peak_and_add_up_to_the_total() -> None:
    hazards = world(peak=7, total=0.3).hazards
    assert hazards.argmax() == 7
    assert hazards[0] == 0.0
    assert (hazards[37:] == 0.0).all()
    assert np.isclose(1.0 - np.prod(1.0 - hazards), 0.3, rtol=1e-12)


def test_every_loan_has_one_fate() -> None:
    """Multipliers and levels scale the hazards; what stays open closes at its term."""
    fates = world(term=[24, 36]).fates(1.5)
    assert np.allclose(fates.sum(axis=(2, 3)), 1.0, atol=1e-12)
    assert (fates[:, 0, :, 25:] == 0.0).all()
    hazard = world(term=[24, 36]).hazards[1]
    assert np.isclose(fates[1, 0, 0, 1], 2.5 * 1.5 * hazard)
    assert np.isclose(fates[1, 0, 1, 1], (1.0 - 2.5 * 1.5 * hazard) * 0.012)


def test_a_loan_without_defaults_is_worth_its_payments() -> None:
    """At the required return as its rate it is worth 1, prepaid or not."""
    rate = 12 * (1.05 ** (1 / 12) - 1)
    safe = [pb.Borrowers("safe", rate=rate, multiplier=0.0, clients=1)]
    found = pb.LendingWorld(safe, term=36, peak=12, total=0.1, lending=LENDING, prepay=0.02)
    assert np.allclose(found.mean_values(1.0), 1.0, atol=1e-12)


@pytest.mark.parametrize("level", [0.5, 1.0, 2.3])
def test_values_are_those_that_an_agent_would_compute(level: float) -> None:
    """By an expectation over fates, and by the agent's recursion over ages."""
    found = world()
    assert found.longest == 43
    closings = np.where(np.arange(found.longest) > 0, 0.012, 0.0)
    closings[36:] = 1.0
    for k, each in enumerate(found.borrowers):
        schedule = np.array(
            [[_worth(found, k, fate, j) for j in range(found.longest)] for fate in (0, 1)]
        )
        mix = Mix(
            np.ones(1),
            found.hazards[np.newaxis],
            closings[np.newaxis],
            schedule[:1],
            schedule[1:],
            np.array([found.longest]),
        )
        expected = value_of_mix(level * each.multiplier, mix)
        assert np.isclose(found.mean_values(level)[k], expected, rtol=1e-12)


def _worth(found: pb.LendingWorld, k: int, fate: int, age: int) -> float:
    """Value of a loan that surely has this fate, month by month."""
    monthly, discount = found.borrowers[k].rate / 12, 1.05 ** (-1 / 12)
    instalment = monthly / (1.0 - (1.0 + monthly) ** -36)

    def balance(months: int) -> float:
        left = 1.0
        for _ in range(min(months, 36)):
            left = left * (1.0 + monthly) - instalment
        return max(left, 0.0)

    paid = min(age if fate else max(age - 5, 0), 36)
    rest = balance(age) if fate else 0.08 * balance(max(age - 5, 0))
    return sum(instalment * discount**j for j in range(1, paid + 1)) + rest * discount**age


def test_levels_are_straight_lines_and_a_random_walk() -> None:
    path = world(levels=[[1, 2.0], [3, 1.0]]).level_by_round(5)
    assert path.tolist() == [2.0, 1.5, 1.0, 1.0, 1.0]
    rng = np.random.default_rng(1)
    drawn = np.log([world(level_drift=0.3).draw_levels(13, rng) for _ in range(4_000)])
    assert (drawn[:, 0] == 0.0).all()
    # The sd after a year; its error is 1.1 %: a false alarm in 16 000 samples.
    assert abs(drawn[:, 12].std() / 0.3 - 1.0) < 0.045


def test_sides_say_which_categories_pay() -> None:
    assert world().sides(60) == [True, False]
    assert world(levels=[[1, 1.0], [20, 4.0]]).sides(60) == [None, False]
    assert world(level_drift=0.1).sides(60) == [None, None]


def test_a_scenario_file_is_read_and_written() -> None:
    scenario = pb.Scenario.from_toml(FILE)
    assert scenario.to_toml() == FILE
    assert pb.Scenario.from_toml(scenario.to_toml()) == scenario
    assert scenario.names == ("cars", "shops")
    assert scenario.lending is not None
    assert scenario.lending.lending == LENDING


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("term = [36, 60]", "term = 0", "lending: term = 0 is less than 1"),
        ("term = [36, 60]", "term = []", "lending: term = [] is empty"),
        ("peak = 12.0", "peak = 90", "lending: peak = 90 is not an age of a loan"),
        ("total = 0.14", "total = 14", "lending: total = 14 is not such a probability"),
        ("total = 0.14\n", "", "lending: total = None is missing"),
        ("prepay = 0.012", "prepaid = 0.1", "did you mean prepay"),
        ("prepay = 0.012", "prepay = 1.2", "lending: prepay = 1.2 is not a probability"),
        ("growth = 0.02", "growth = 5", "growth = 5 is not a growth per round; give a fraction"),
        ("level_drift = 0.1", "level_drift = -1", "level_drift = -1 is negative"),
        ("[30, 1.0]", "[9, 1.0]", "has round 9 after round 12"),
        ("[1, 2.3]", "[1, 0]", "levels from round 1 = 0 is not a level"),
        ("lag = 5", "lag = 5.5", "lending: lag = 5.5 is not a whole number"),
        ("rate = 0.12", "rate = 12", "category 'cars': rate = 12 is not an interest rate"),
        ("multiplier = 0.8", "multiplier = -1", "category 'cars': multiplier = -1 is negative"),
        ("clients = 40.0", "clients = 0", "category 'cars': clients = 0 is not positive"),
        ("clients = 40.0", "mean = 40.0", "category 'cars': mean = 40.0 is not a known field"),
        ('name = "shops"', 'name = "cars"', "is given twice"),
    ],
)
def test_mistakes_in_a_file_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(pb.ProfitableError) as error:
        pb.Scenario.from_toml(FILE.replace(old, new, 1), source="lender.toml")
    assert message in str(error.value)
    assert str(error.value).startswith("lender.toml: ")


def test_a_scenario_has_truths_or_a_lending_world() -> None:
    coin = pb.Truth(pb.Category("coin", pb.Bernoulli(), threshold=0.6), mean=0.5)
    with pytest.raises(pb.errors.ParameterError, match="stands beside truths"):
        pb.Scenario("both", [coin], lending=world())
    with pytest.raises(pb.errors.InputError, match="is empty"):
        pb.Scenario("none", [])


def test_theorems_say_nothing_of_loans() -> None:
    scenario = pb.Scenario("lender", lending=world())
    assert scenario.lower_bound_per_log_t() is None
    with pytest.raises(pb.errors.InputError, match="is about loans"):
        scenario.lower_bound()
    with pytest.raises(pb.errors.InputError, match="is about loans"):
        BoundsReport(scenario)
