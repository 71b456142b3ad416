"""The optimal policy as a value: what can be said about the future, how it is written,
what is refused.
"""

from fractions import Fraction

import numpy as np
import pytest

import profitable as pb
from profitable.policy.policies import OWN


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (pb.Optimal(), "optimal"),
        (pb.Optimal(kappa=3), "optimal"),
        (pb.Optimal(kappa=10), "optimal:kappa=10"),
        (pb.Optimal(horizon=10_000), "optimal:horizon=10000"),
        (pb.Optimal(horizon=1e6), "optimal:horizon=1000000"),  # type: ignore[arg-type]
        (pb.Optimal(horizon=2**53 + 1), "optimal:horizon=9007199254740993"),
        (pb.Optimal(horizon=OWN), "optimal:horizon"),
        (pb.Optimal(horizon=OWN, risk=0.3), "optimal:horizon,risk=0.3"),
        (pb.Optimal(discount=0.99, clients=5), "optimal:discount=0.99,clients=5"),
    ],
    ids=str,
)
def test_its_name_is_read_back(policy: pb.Policy, text: str) -> None:
    assert str(policy) == text
    assert pb.Policy.parse(text) == policy


def test_spaces_do_not_matter() -> None:
    assert pb.Policy.parse("optimal: horizon = 500, risk = 0.3") == pb.Optimal(
        horizon=500, risk=0.3
    )


def test_a_run_s_own_horizon() -> None:
    assert pb.Policy.parse("optimal:horizon").within(500) == pb.Optimal(horizon=500)
    assert pb.Optimal(horizon=70).within(500) == pb.Optimal(horizon=70)
    assert pb.KLUCB().within(500) == pb.KLUCB()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"horizon": 10, "discount": 0.9},
            r"discount = 0.9 is given together with horizon; give one of",
        ),
        ({"horizon": 10, "kappa": 3}, r"kappa = 3 is given together with horizon"),
        ({"discount": 0.5, "kappa": 3}, r"kappa = 3 is given together with discount"),
        ({"discount": 0}, r"discount = 0 is not between 0 and 1; give a number between 0 and 1"),
        ({"discount": 1.0}, r"discount = 1.0 is not between"),
        ({"discount": -0.5}, r"discount = -0.5 is not between"),
        ({"discount": "a"}, r"discount = 'a' is not between"),
        ({"horizon": 0}, r"horizon = 0 is less than 1"),
        ({"horizon": 1.5}, r"horizon = 1.5 is not a whole number"),
        ({"horizon": "soon"}, r"horizon = 'soon' is not a whole number"),
        ({"horizon": np.array([1, 2])}, r"horizon = array\(\[1, 2\]\) is not a whole number"),
        ({"discount": Fraction(10**30 - 1, 10**30)}, r"is not between 0 and 1"),
        ({"horizon": 10**19}, r"horizon = 10000000000000000000 is more than"),
        ({"kappa": 0}, r"kappa = 0 is not positive"),
        ({"risk": 0}, r"risk = 0 is not positive"),
        ({"risk": -1}, r"risk = -1 is not positive"),
        ({"risk": float("nan")}, r"risk = nan is not a finite number"),
        ({"clients": 0}, r"clients = 0 is not positive"),
        ({"prior": 3}, r"prior = 3 is not a prior"),
    ],
    ids=str,
)
def test_bad_input_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(pb.errors.ParameterError, match=message):
        pb.Optimal(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("optimal:kappa", "is not a number; optimal takes horizon, discount, kappa, risk, clients"),
        ("optimal:horizon=", "is not a number"),
        ("optimal:horizon,horizon=5", "is given twice"),
        ("optimal:horizon,discount=0.9", "is given together with horizon"),
        ("optimal:c=3", "is not a parameter of this policy; .* as optimal:horizon=10000"),
        ("kl-ucb:c", "is not a number"),
    ],
)
def test_bad_names_are_named(text: str, message: str) -> None:
    with pytest.raises(pb.errors.ParameterError, match=message):
        pb.Policy.parse(text)


def test_an_agent_has_no_horizon_of_its_own() -> None:
    category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
    with pytest.raises(
        pb.errors.ParameterError, match="horizon = 'run' has no number; give the last round"
    ):
        pb.Agent([category], policy="optimal:horizon")
    agent = pb.Agent([category], policy="ts")
    with pytest.raises(pb.errors.ParameterError, match="give the last round"):
        agent.set_policy("optimal:horizon")
    assert str(agent.policy) == "ts"


def test_a_simulation_has_one() -> None:
    """The name stays, and so do the random streams; the numbers are those of the
    horizon written out.
    """
    category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
    world = pb.Scenario("coin", [pb.Truth(category, mean=0.45, clients=2)])
    options = {"runs": 300, "seed": 3, "progress": False}
    own = pb.simulate(world, ["optimal:horizon"], horizon=200, **options)["optimal:horizon"]
    given = pb.simulate(world, [pb.Optimal(horizon=200)], horizon=200, **options)[
        "optimal:horizon=200"
    ]
    longer = pb.simulate(world, [pb.Optimal(horizon=20_000)], horizon=200, **options)[
        "optimal:horizon=20000"
    ]
    assert own.key == "optimal:horizon"
    assert abs(own.regret[-1] - given.regret[-1]) < 4.0 * (own.stderr[-1] + given.stderr[-1])
    assert longer.regret[-1] > given.regret[-1] + 4.0 * (longer.stderr[-1] + given.stderr[-1])


@pytest.mark.usefixtures("own_classes")
def test_a_class_of_your_own_looks_ahead_under_its_own_name() -> None:
    type("Mine", (pb.Optimal,), {"name": "mine"})
    mine = pb.Policy.parse("mine:horizon=100,risk=0.5")
    assert str(mine) == "mine:horizon=100,risk=0.5"
    assert mine.patience(10, known=20) == pb.Optimal(horizon=100, risk=0.5).patience(10, known=20)
