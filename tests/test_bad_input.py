"""Mistakes: each has its own exception under one base class, names field, value and
remedy, and changes nothing.
"""

import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable import errors


def agent(policy: pb.Policy | None = None) -> pb.Agent:
    made = pb.Agent(
        [
            pb.Category("students", pb.Bernoulli(), threshold=0.20),
            pb.Category("shops", pb.Exponential(), threshold=3.0, bound=50.0),
            pb.Category.loan("loans", amount=1_000, rate=0.12),
        ],
        policy=policy or pb.ThompsonSampling(),
        seed=7,
    )
    made.decide()
    made.observe("students", [1, 0, 0])
    made.expect("students", 4)
    return made


def weibull(threshold: float) -> pb.Category:
    return pb.Category("w", pb.Weibull(shape=50.0), threshold=threshold)


Act = Callable[[pb.Agent], object]
MISTAKES: list[tuple[str, Act, type[Exception], str]] = [
    (
        "unknown category",
        lambda a: a.observe("nobody", [1]),
        errors.UnknownCategoryError,
        "'nobody'",
    ),
    ("unknown in explain", lambda a: a.explain("nobody"), errors.UnknownCategoryError, "'nobody'"),
    (
        "unknown available",
        lambda a: a.decide(available=["nobody"]),
        errors.UnknownCategoryError,
        "'nobody'",
    ),
    ("name of another type", lambda a: a.pause(3), errors.UnknownCategoryError, "3"),  # type: ignore[arg-type]
    (
        "twice available",
        lambda a: a.decide(available=["shops", "shops"]),
        errors.DuplicateNameError,
        "shops",
    ),
    ("a text as available", lambda a: a.decide(available="shops"), errors.ParameterError, "list"),
    (
        "negative reward",
        lambda a: a.observe("shops", [2.0, -1.0]),
        errors.NegativeRewardError,
        "-1.0",
    ),
    ("NaN reward", lambda a: a.observe("shops", [math.nan]), errors.NotFiniteRewardError, "nan"),
    ("infinite reward", lambda a: a.observe("shops", math.inf), errors.NotFiniteRewardError, "inf"),
    (
        "Bernoulli reward of 2",
        lambda a: a.observe("students", [1, 2]),
        errors.OutsideSupportError,
        "2.0",
    ),
    ("half a Bernoulli", lambda a: a.observe("students", 0.5), errors.OutsideSupportError, "0.5"),
    (
        "zero exponential",
        lambda a: a.observe("shops", [0.0]),
        errors.OutsideSupportError,
        "above 0",
    ),
    ("text reward", lambda a: a.observe("shops", "3"), errors.RewardError, "'3'"),  # type: ignore[arg-type]
    ("texts", lambda a: a.observe("shops", ["3", None]), errors.RewardError, "numbers"),  # type: ignore[arg-type]
    (
        "too large",
        lambda a: a.observe("shops", [1e308, 1e308]),
        errors.OutsideSupportError,
        "too large",
    ),
    ("empty list", lambda a: a.observe("students", []), errors.EmptyObservationError, "empty"),
    ("nothing at all", lambda a: a.observe("students"), errors.ParameterError, "count"),
    (
        "count of nobody",
        lambda a: a.observe("students", count=0, total=0),
        errors.EmptyObservationError,
        "must be at least 1",
    ),
    ("total missing", lambda a: a.observe("students", count=3), errors.ParameterError, "total"),
    (
        "both forms",
        lambda a: a.observe("students", [1], count=1, total=1),
        errors.ParameterError,
        "either",
    ),
    (
        "half a client",
        lambda a: a.observe("students", count=1.5, total=1),
        errors.ParameterError,
        "1.5",
    ),  # type: ignore[arg-type]
    (
        "total above count",
        lambda a: a.observe("students", count=3, total=4),
        errors.OutsideSupportError,
        "0 to 3",
    ),
    (
        "negative total",
        lambda a: a.observe("students", count=3, total=-1),
        errors.NegativeRewardError,
        "-1",
    ),
    (
        "NaN total",
        lambda a: a.observe("students", count=3, total=math.nan),
        errors.NotFiniteRewardError,
        "nan",
    ),
    (
        "fractional total",
        lambda a: a.observe("students", count=3, total=1.5),
        errors.OutsideSupportError,
        "1.5",
    ),
    (
        "costs that do not fit",
        lambda a: a.observe("shops", [1.0, 2.0, 3.0], costs=[1.0, 2.0]),
        errors.ParameterError,
        "3 costs",
    ),
    (
        "one cost for three",
        lambda a: a.observe("shops", [1.0, 2.0, 3.0], costs=[7.0]),
        errors.ParameterError,
        "3 costs",
    ),
    (
        "five costs for a count of three",
        lambda a: a.observe("shops", count=3, total=6.0, costs=[1.0] * 5),
        errors.ParameterError,
        "3 costs",
    ),
    (
        "one cost for a sum",
        lambda a: a.observe("shops", count=3, total=6.0, costs=[7.0]),
        errors.ParameterError,
        "3 costs",
    ),
    (
        "clients beside a mapping",
        lambda a: a.expect({"shops": 1}, 5),
        errors.ParameterError,
        "mapping",
    ),
    (
        "more to wait for than can be counted",
        lambda a: a.expect("students", 10**15),
        errors.ParameterError,
        "10",
    ),
    (
        "text among objects",
        lambda a: a.observe("shops", np.array([1.0, "x"], dtype=object)),
        errors.RewardError,
        "numbers",
    ),
    (
        "a decimal that is no number",
        lambda a: a.observe("shops", Decimal("NaN")),
        errors.NotFiniteRewardError,
        "nan",
    ),
    (
        "a decimal that signals",
        lambda a: a.observe("shops", [Decimal("sNaN")]),
        errors.RewardError,
        "numbers",
    ),
    (
        "a decimal count",
        lambda a: a.observe("shops", count=Decimal("sNaN"), total=1),
        errors.ParameterError,
        "count",
    ),  # type: ignore[arg-type]
    ("a huge number", lambda a: a.observe({"shops": [10**400]}), errors.RewardError, "numbers"),
    (
        "remove a stranger",
        lambda a: a.remove_category("nobody"),
        errors.UnknownCategoryError,
        "'nobody'",
    ),
    ("no such policy", lambda a: a.set_policy("ucb1"), errors.ParameterError, "choose from"),
    ("no such library", lambda a: a.to_frame("excel"), errors.ParameterError, "pandas"),
    (
        "negative cost",
        lambda a: a.observe("shops", [1.0], costs=[-5.0]),
        errors.ParameterError,
        "-5.0",
    ),
    (
        "loan costs in total",
        lambda a: a.observe("loans", count=2, total=1, costs=1_900.0),
        errors.SumNotEnoughError,
        "one by one",
    ),
    (
        "loan costs unpaired",
        lambda a: a.observe("loans", [1, 0], costs=1_900.0),
        errors.SumNotEnoughError,
        "one by one",
    ),
    (
        "mapping and rewards",
        lambda a: a.observe({"students": [1]}, [1]),
        errors.ParameterError,
        "Batch",
    ),
    (
        "neither name nor mapping",
        lambda a: a.observe(["students"], [1]),
        errors.ParameterError,
        "mapping",
    ),  # type: ignore[arg-type]
    (
        "duplicate name",
        lambda a: a.add_category(pb.Category("shops", pb.Poisson(), threshold=1.0)),
        errors.DuplicateNameError,
        "'shops'",
    ),
    ("no category", lambda a: a.add_category("shops"), errors.ParameterError, "Category"),  # type: ignore[arg-type]
    (
        "threshold outside",
        lambda a: a.set_threshold("students", 1.2),
        errors.ThresholdError,
        "from 0 to 1",
    ),
    ("threshold NaN", lambda a: a.set_threshold("shops", math.nan), errors.ThresholdError, "nan"),
    ("loan for nothing", lambda a: a.set_threshold("loans", 0.0), errors.ParameterError, "rate"),
    (
        "never observed",
        lambda a: a.correct("students", was=[0, 0, 0]),
        errors.CorrectionError,
        "was",
    ),
    (
        "more than observed",
        lambda a: a.correct("students", was=[1, 0, 0, 0], now=1),
        errors.CorrectionError,
        "was",
    ),
    (
        "corrected to nonsense",
        lambda a: a.correct("students", was=1, now=7),
        errors.OutsideSupportError,
        "7",
    ),
    ("expect minus one", lambda a: a.expect("students", -1), errors.ParameterError, "-1"),
    (
        "expect half",
        lambda a: a.expect({"shops": 1, "students": 0.5}),
        errors.ParameterError,
        "0.5",
    ),  # type: ignore[dict-item]
    (
        "huge reward",
        lambda a: a.observe("shops", [1.0, 1e150]),
        errors.OutsideSupportError,
        "too large",
    ),
    ("huge integer", lambda a: a.observe("shops", [10**400]), errors.RewardError, "numbers"),
    (
        "ragged rewards",
        lambda a: a.observe("shops", [[1.0], [1.0, 2.0]]),
        errors.RewardError,
        "numbers",
    ),
    (
        "masked rewards",
        lambda a: a.observe("shops", np.ma.masked_equal([1.0, 2.0], 2.0)),
        errors.RewardError,
        "numbers",
    ),
    (
        "table of rewards",
        lambda a: a.observe("shops", np.ones((2, 2))),
        errors.RewardError,
        "numbers",
    ),
    (
        "huge count",
        lambda a: a.observe("students", count=10**400, total=1),
        errors.ParameterError,
        "count",
    ),
    (
        "counts",
        lambda a: a.observe("students", count=np.array([1, 2]), total=1),
        errors.ParameterError,
        "count",
    ),
    (
        "huge total",
        lambda a: a.observe("shops", count=1, total=10**400),
        errors.NotFiniteRewardError,
        "total",
    ),
    (
        "huge costs",
        lambda a: a.observe("shops", [1.0], costs=[1e308]),
        errors.ParameterError,
        "cost",
    ),
    (
        "huge threshold",
        lambda a: a.set_threshold("shops", 10**400),
        errors.ThresholdError,
        "threshold",
    ),
    ("huge expectation", lambda a: a.expect("shops", 10**400), errors.ParameterError, "clients"),
    ("expect a list", lambda a: a.expect(["shops"], 3), errors.ParameterError, "mapping"),
    ("decide about five", lambda a: a.decide(5), errors.ParameterError, "available"),
    (
        "Weibull beyond doubles",
        lambda a: a.add_category(weibull(1e80)),
        errors.ThresholdError,
        "statistic",
    ),
    ("no path", lambda a: a.save(None), errors.StateFileError, "path"),
    (
        "unwritable",
        lambda a: a.save("/nowhere/at/all/agent.json"),
        errors.StateFileError,
        "cannot be written",
    ),
]


@pytest.mark.parametrize(
    ("act", "kind", "names"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_mistakes_are_refused_and_change_nothing(
    act: Act, kind: type[Exception], names: str
) -> None:
    one, untouched = agent(), agent()
    with pytest.raises(kind) as caught:
        act(one)
    assert isinstance(caught.value, pb.ProfitableError)
    assert type(caught.value) is kind
    message = str(caught.value)
    assert names in message
    assert message.endswith(".")
    assert "\n" not in message
    assert "; " in message  # the remedy
    assert caught.value.remedy
    assert one.names == untouched.names
    assert [one[name] for name in one.names] == [untouched[name] for name in one.names]
    assert [one.category(name) for name in one.names] == [
        untouched.category(name) for name in one.names
    ]
    for _ in range(5):
        assert one.decide().to_dict() == untouched.decide().to_dict()


def test_bad_values() -> None:
    for make in (
        lambda: pb.Gaussian(sigma=0.0),
        lambda: pb.Gamma(shape=-1.0),
        lambda: pb.Binomial(trials=0),
        lambda: pb.Binomial(trials=2.5),  # type: ignore[arg-type]
        lambda: pb.NegativeBinomial(failures=math.inf),
        lambda: pb.Pareto(scale=math.nan),
        lambda: pb.Weibull(shape="2"),  # type: ignore[arg-type]
        lambda: pb.Bounded(low=1.0, high=1.0),
        lambda: pb.KLUCB(c=-1),
        lambda: pb.KLUCB(inflate=0.5),
        lambda: pb.Policy.parse("ucb1"),
        lambda: pb.Policy.parse("ts:c=3"),
        lambda: pb.Policy.parse("kl-ucb:c=x"),
        lambda: pb.Policy.parse("kl-ucb:c=1,c=2"),
        lambda: pb.Category("", pb.Poisson(), threshold=1.0),
        lambda: pb.Category("a", "poisson", threshold=1.0),  # type: ignore[arg-type]
        lambda: pb.Category("a", pb.Poisson(), threshold=5.0, bound=4.0),
        lambda: pb.Category("a", pb.Bernoulli(), threshold=0.5, bound=2.0),
        lambda: pb.Category("a", pb.Poisson(), threshold=0.0, bound=-1.0),
        lambda: pb.Category("a", pb.Poisson(), threshold=1.0, worth=0.0),
        lambda: pb.Category.loan("a", amount=0.0, rate=0.1),
        lambda: pb.Category.loan("a", amount=10.0, rate=-0.1),
        lambda: pb.Category.loan("a", amount=10.0, rate=12),  # percent
        lambda: pb.Prior.like(clients=0, mean=0.5),
        lambda: pb.Category("a", pb.Bernoulli(), threshold=0.5, prior=pb.Prior.beta(1e-9, 1.0)),
        lambda: pb.Category(
            "a", pb.Exponential(), threshold=0.5, prior=pb.Prior.like(clients=1e-9, mean=1.0)
        ),
        lambda: pb.Category(
            "a", pb.Gamma(shape=2), threshold=1, prior=pb.Prior.inverse_gamma(shape=1e-9, scale=1)
        ),
        lambda: pb.Prior("beta", -3, 1),
        lambda: pb.Prior("cauchy", 1, 1),  # type: ignore[arg-type]
        lambda: pb.Category("a", pb.Poisson(), threshold=1.0, prior="x"),  # type: ignore[arg-type]
        lambda: pb.Category(
            "a", pb.Gaussian(sigma=1e100), threshold=1.0, prior=pb.Prior.normal(mean=0, sd=1e-9)
        ),
        lambda: pb.Category("a", pb.Bernoulli(), threshold=0.5, amount=-5),
        lambda: pb.Category("a", pb.Poisson(), threshold=0.5, amount=5),
        lambda: pb.Category("a", pb.Gaussian(sigma=1.0), threshold=-6.0, bound=5.0),
        lambda: pb.Category("a\ud800", pb.Poisson(), threshold=1.0),
        lambda: pb.Category("a", pb.Poisson(), threshold=10**400),
        lambda: pb.Category("a", pb.Poisson(), threshold=1.0, worth=np.array([1, 2])),  # type: ignore[arg-type]
        lambda: pb.Weibull(shape=0.005),
        lambda: pb.Gamma(shape=1e-4),
        lambda: pb.NegativeBinomial(failures=1e-4),
        lambda: pb.Bounded(low=-1e308, high=1e308),
        lambda: pb.Gaussian(sigma=10**400),
        lambda: pb.Agent(pb.Category("a", pb.Poisson(), threshold=1.0), policy=pb.KLUCB()),  # type: ignore[arg-type]
        lambda: pb.Agent(None, policy=pb.KLUCB()),  # type: ignore[arg-type]
        lambda: pb.Bernoulli().divergence(2.0, 0.5),
        lambda: pb.Bernoulli().divergence(math.nan, 0.5),
        lambda: pb.Bernoulli().posterior(clients=4, total=10),
        lambda: pb.Poisson().posterior(clients=4, total=-10),
        lambda: pb.Poisson().draw(np.random.default_rng(1), mean=1e30),
        lambda: pb.Bernoulli().draw_total(np.random.default_rng(1), mean=0.3, clients=10**20),
        lambda: pb.Exponential().draw(np.random.default_rng(1), mean=0.0),
        lambda: pb.Category("a", pb.Poisson(), threshold=1.0, prior=pb.Prior.beta(1, 1)),
        lambda: pb.Category(
            "a", pb.Exponential(), threshold=1.0, prior=pb.Prior.like(clients=3, mean=0.0)
        ),
        lambda: pb.Agent([], policy=pb.KLUCB()),
        lambda: pb.Agent([pb.Category("a", pb.Poisson(), threshold=1.0)], policy="tss"),
        lambda: pb.Agent([pb.Category("a", pb.Poisson(), threshold=1.0)], policy=3),  # type: ignore[arg-type]
        lambda: pb.Agent(
            [pb.Category("a", pb.Poisson(), threshold=1.0)], policy=pb.KLUCB(), seed=-1
        ),
        lambda: pb.Agent(
            [pb.Category("a", pb.Poisson(), threshold=1.0)], policy=pb.KLUCB(), seed=1.5
        ),  # type: ignore[arg-type]
        lambda: pb.Poisson().posterior(clients=1, total=1).quantile(1.5),
        lambda: pb.Poisson().posterior(clients=0, total=0).draw(np.random.default_rng(1)),
    ):
        with pytest.raises(errors.InputError) as caught:
            make()
        assert "; " in str(caught.value)


def test_a_policy_for_bounded_rewards_needs_a_bound() -> None:
    with pytest.raises(errors.MissingBoundError, match="bound=") as caught:
        pb.Agent([pb.Category("p", pb.Poisson(), threshold=1.0)], policy=pb.KLEmpUCB())
    assert (caught.value.field, caught.value.category) == ("bound", "p")
    assert str(caught.value).startswith("bound of 'p' = None is missing")


def test_a_prior_needs_a_bayesian_policy() -> None:
    category = pb.Category(
        "p", pb.Poisson(), threshold=1.0, prior=pb.Prior.like(clients=5, mean=2.0)
    )
    with pytest.raises(errors.ParameterError, match="of no use to kl-ucb"):
        pb.Agent([category], policy=pb.KLUCB())


def test_sums_are_refused_with_a_reason() -> None:
    cases = [
        (pb.Category("x", pb.Pareto(scale=1.0), threshold=2.0), pb.KLUCB(), "another statistic"),
        (
            pb.Category("x", pb.Weibull(shape=2.0), threshold=2.0),
            pb.BayesUCB(),
            "another statistic",
        ),
        (pb.Category("x", pb.Poisson(), threshold=2.0, bound=9.0), pb.KLEmpUCB(), "spread"),
        (pb.Category("x", pb.Poisson(), threshold=2.0, bound=9.0), pb.UCBV(), "spread"),
        (pb.Category("x", pb.Poisson(), threshold=2.0, bound=9.0), pb.KLBernoulliUCB(), "cuts"),
    ]
    for category, policy, reason in cases:
        one = pb.Agent([category], policy=policy)
        with pytest.raises(errors.SumNotEnoughError, match=reason):
            one.observe("x", count=5, total=12)
        assert one["x"].clients == 0
    within = pb.Agent([cases[4][0]], policy=pb.KLBernoulliUCB())
    within.observe("x", count=5, total=9)  # no reward of these can be above the bound
    assert within["x"].mean == pytest.approx(1.8)


def test_errors_travel_between_processes() -> None:
    error = errors.UnknownCategoryError("category", "x", "is unknown", "choose another")
    twin = pickle.loads(pickle.dumps(error))
    assert str(twin) == str(error)
    assert twin.field == "category"


def test_the_tree_is_drawn_completely() -> None:
    drawn = errors.__doc__ or ""
    kinds = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.ProfitableError)
    ]
    assert len(kinds) > 10
    for kind in kinds:
        assert kind.__name__ in drawn
        assert kind.__doc__


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    one = agent()
    target = tmp_path / "agent.json"
    one.save(target)
    before = target.read_bytes()
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(errors.StateFileError):
        one.save(folder)  # a folder cannot be replaced by a file
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.json", "folder"]


def test_numpy_numbers_are_numbers_and_can_be_saved(tmp_path: Path) -> None:
    made = pb.Agent(
        [
            pb.Category("a", pb.Binomial(trials=np.int64(5)), threshold=np.float32(1.0)),
            pb.Category(
                "b",
                pb.Gaussian(sigma=np.float32(5)),
                threshold=1,
                bound=np.int64(5),
                worth=np.int64(3),
            ),
        ],
        policy=pb.KLEmpUCB(),
    )
    made.observe("a", np.array([1, 2], dtype=np.int8))
    made.save(tmp_path / "agent.json")
    assert str(pb.Agent.load(tmp_path / "agent.json")) == str(made)
    assert [path.name for path in tmp_path.iterdir()] == ["agent.json"]


def test_draws_are_legal_rewards() -> None:
    rng = np.random.default_rng(1)
    for family, mean in (
        (pb.Gamma(shape=0.001), 2.0),
        (pb.Pareto(scale=1.0), 1 + 1e-13),
        (pb.Weibull(shape=0.05), 1.0),
    ):
        category = pb.Category("a", family, threshold=mean)
        pb.Agent([category], policy=pb.KLUCB()).observe(
            "a", family.draw(rng, mean=mean, size=2_000)
        )


NONSENSE = [None, 3, -1.5, "", "x", [], [1], {}, object(), math.nan, True, b"x", 10**400]
COIN = pb.Category("coin", pb.Bernoulli(), threshold=0.5)
SPREAD = pb.Category("spread", pb.Normal(), threshold=0.5)
WORLD = pb.Scenario("world", [pb.Truth(COIN, mean=0.4, clients=2)])
ONE_A_ROUND = pb.bounds.Arrivals.constant(1)
BELOW, ABOVE = (pb.Bernoulli(), 0.4, 0.5), (pb.Bernoulli(), 0.6, 0.5)


def calls(
    result: pb.Result,
) -> dict[str, tuple[Callable[..., object], tuple[object, ...], dict[str, object]]]:
    """Public functions of simulation, policies, bounds and limits, each with arguments
    that make sense.
    """
    curve, bounds = result["ts"], pb.bounds
    simulation = {
        "horizon": 10,
        "runs": 2,
        "seed": 1,
        "checkpoints": [1],
        "kernel": "events",
        "workers": 1,
    }
    late = {"horizon": 1e6, "arrivals": ONE_A_ROUND}
    ask = {"students": 3, "shops": 0, "loans": 1}
    return {
        "Agent.decide(budget)": (
            agent().decide,
            (list(ask),),
            {"budget": 5.0, "demand": ask, "explore": 0.1},
        ),
        "Agent.decide(places)": (agent().decide, (), {"places": 5, "demand": ask}),
        "demand of one": (
            lambda asked: agent().decide(places=5, demand={**ask, "shops": asked}),
            (3,),
            {},
        ),
        "Scenario": (pb.Scenario, ("s", WORLD.truths), {}),
        "Scenario.load": (pb.Scenario.load, ("missing.toml",), {}),
        "Scenario.from_toml": (pb.Scenario.from_toml, (WORLD.to_toml(),), {}),
        "Scenario.save": (WORLD.save, ("world.toml",), {}),
        "Truth": (pb.Truth, (COIN,), {"mean": 0.4, "clients": 1, "amount_sd": 0.0}),
        "Truth of Normal": (pb.Truth, (SPREAD,), {"mean": 0.4, "sigma": 1.0}),
        "Normal": (pb.Normal, (), {"alpha": -1.0}),
        "Normal.divergence": (pb.Normal().divergence, (0.4, 0.5), {"sigma": 1.0}),
        "Normal.posterior": (
            pb.Normal().posterior,
            (),
            {"clients": 5, "total": 5.0, "squares": 7.0},
        ),
        "Normal.drawn": (pb.Normal().drawn, (1.0,), {}),
        "Category": (
            pb.Category,
            ("a", pb.Bernoulli()),
            {"threshold": 0.5, "worth": 2, "recovery": 0.0, "weight": None},
        ),
        "Category.offer": (pb.Category.offer, ("a",), {"cost": 1, "revenue": 10, "prior": None}),
        "Category.loan": (
            pb.Category.loan,
            ("a",),
            {"amount": 1_000, "rate": 0.1, "recovery": 0.4, "prior": None},
        ),
        "Category.returns": (
            pb.Category.returns,
            ("a",),
            {"required": 0.05, "high": 2.0, "family": None, "weight": "money", "prior": None},
        ),
        "OnePlusPoisson": (pb.OnePlusPoisson, (), {"rate": 1}),
        "Borrowers": (pb.Borrowers, ("cars",), {"rate": 0.1, "multiplier": 1.0, "clients": 5}),
        "LendingWorld": (
            pb.LendingWorld,
            ([pb.Borrowers("cars", rate=0.1, multiplier=1.0, clients=5)],),
            {
                "term": 36,
                "peak": 12,
                "total": 0.1,
                "lending": None,
                "prepay": 0.01,
                "growth": 0.02,
                "level_drift": 0.1,
                "levels": [[1, 2.0]],
            },
        ),
        "UniformClients": (pb.UniformClients, (), {"low": 1, "high": 2}),
        "simulate": (pb.simulate, (WORLD, ["ts"]), simulation | {"out": None}),
        "Result.load": (pb.Result.load, ("missing",), {}),
        "Result.save": (result.save, ("folder",), {}),
        "Result.plot": (result.plot, ("picture.png",), {}),
        "Result[...]": (result.__getitem__, ("ts",), {}),
        "Result.difference": (result.difference, ("ts", "ts"), {}),
        "Result.join": (result.join, (result,), {}),
        "Curve.quantile": (curve.quantile, (0.5,), {}),
        "Curve.slope": (curve.slope, (1, "regret"), {}),
        "Curve.mean": (curve.mean, ("regret",), {}),
        "Policy.parse": (pb.Policy.parse, ("ts",), {}),
        "KLUCB": (pb.KLUCB, (), {"c": 0, "inflate": 1}),
        "KLUCB.patience": (pb.KLUCB().patience, (1,), {"known": 1, "per_round": 1}),
        "KLUCB.next_round": (pb.KLUCB().next_round, (1.0, 1), {"known": 1, "per_round": 1}),
        "Optimal(horizon)": (
            pb.Optimal,
            (),
            {"horizon": 10, "risk": 1, "clients": 1, "prior": None},
        ),
        "Optimal(discount)": (pb.Optimal, (), {"discount": 0.5}),
        "Optimal(kappa)": (pb.Optimal, (), {"kappa": 3}),
        "Optimal.patience": (pb.Optimal(horizon=10).patience, (1,), {"known": 1, "per_round": 1}),
        "Optimal.within": (pb.Optimal(horizon="run").within, (10,), {}),
        "KLUCB.view": (pb.KLUCB().view, (COIN,), {}),
        "BayesUCB": (pb.BayesUCB, (), {"prior": None}),
        "Arrivals": (bounds.Arrivals, (), {"smallest": 1, "average": 1, "largest": 2}),
        "Arrivals.constant": (bounds.Arrivals.constant, (1,), {}),
        "information": (bounds.information, BELOW, {}),
        "information of Normal": (bounds.information, (pb.Normal(), 0.4, 0.5), {"sigma": 1.0}),
        "information_of_law": (
            bounds.information_of_law,
            ([0, 1], [0.5, 0.5]),
            {"threshold": 0.6, "high": 1.0},
        ),
        "lower_bound": (bounds.lower_bound, ([COIN], [0.4]), {"sigmas": [None]}),
        "lower_bound of Normal": (bounds.lower_bound, ([SPREAD], [0.4]), {"sigmas": [1.0]}),
        "loss": (bounds.loss, (COIN, 0.4), {}),
        "asymptotic_upper_bound": (
            bounds.asymptotic_upper_bound,
            ([COIN], [0.4], [ONE_A_ROUND]),
            {},
        ),
        "kl_ucb_unprofitable": (
            bounds.kl_ucb_unprofitable,
            BELOW,
            late | {"epsilon": 1.0, "largest_epsilon": 9.0},
        ),
        "kl_ucb_profitable": (bounds.kl_ucb_profitable, (), late | {"c": 3}),
        "bayes_ucb_unprofitable": (
            bounds.bayes_ucb_unprofitable,
            BELOW,
            late | {"prior_constant": 1.0, "prior_low": 0.1, "epsilon": 0.5},
        ),
        "bayes_ucb_profitable": (
            bounds.bayes_ucb_profitable,
            ABOVE,
            late | {"prior_a": 1.0, "prior_c": 1.0, "c": 5},
        ),
        "thompson_unprofitable": (bounds.thompson_unprofitable, BELOW, late | {"epsilon": 0.0}),
    }


@pytest.fixture(scope="module")
def small_result() -> pb.Result:
    return pb.simulate(WORLD, ["ts"], horizon=10, runs=5, progress=False)


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: str(value)[:12])
def test_nonsense_never_gets_a_raw_error(
    small_result: pb.Result, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each argument in turn is replaced.

    Either the call still makes sense, or one sentence says what is wrong.
    """
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    for name, (function, arguments, options) in calls(small_result).items():
        tries = [
            ((*arguments[:i], value, *arguments[i + 1 :]), options) for i in range(len(arguments))
        ]
        tries += [(arguments, options | {key: value}) for key in options]
        for given, named in tries:
            try:
                function(*given, **named)
            except errors.ProfitableError as error:
                said.append(str(error))
            except Exception as error:
                raise AssertionError(f"{name}{given}, {named}: {error!r}") from error
    assert len(said) > 40
    assert all("; " in sentence and "\n" not in sentence for sentence in said)


@pytest.mark.parametrize("mean", [-0.1, 1.5, math.nan, math.inf, "0.4", None])
def test_bounds_refuse_an_impossible_mean(mean: Any) -> None:
    for attempt in (
        lambda: pb.bounds.lower_bound([COIN], [mean]),
        lambda: pb.bounds.information(pb.Bernoulli(), mean, 0.5),
        lambda: pb.bounds.information(pb.Bernoulli(), 0.5, mean),
        lambda: pb.bounds.asymptotic_upper_bound([COIN], [mean], [ONE_A_ROUND]),
        lambda: pb.bounds.loss(COIN, mean),
    ):
        with pytest.raises(errors.InputError, match="mean domain"):
            attempt()


def test_a_picture_of_no_kind(small_result: pb.Result, tmp_path: Path) -> None:
    with pytest.raises(
        errors.InputError, match=r"x\.bogus' has an unknown ending; choose one of \.svg, "
    ):
        small_result.plot(tmp_path / "x.bogus")
    assert not list(tmp_path.iterdir())
