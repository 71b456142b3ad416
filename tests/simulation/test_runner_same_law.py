"""`run_events` has the law of `run_rounds`: every policy, every family, all kinds of
arrivals, and hard cases.

Deterministic policies with blocks switched off follow the very path of `run_rounds`.
With blocks on, and for Thompson sampling, independent samples of both kernels are
compared:

- accepted rounds at the checkpoints, capped (heavy tails: see the Exponential
  families), by their means;
- accepted rounds and clients at the horizon, by two-sample Kolmogorov-Smirnov tests;
- the reward sum at the horizon and the share of runs that accept the last round.

Each comparison has a false-alarm rate of ALARM = 1e-7; with about 5 000 of them a false
alarm would be seen for one seed in 2 000.

`make soak` runs the whole grid, with longer horizons and more runs.  Without it, every
policy meets every family on one side of its threshold, in turn; every hard case meets
every kind of policy, one of each kind in turn; and every floor meets two of four cases.
The paths without blocks are compared for all of them.
"""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.kernels import evidence
from profitable.kernels.coded_view import Support
from profitable.kernels.statistic import Power
from profitable.model.view import View
from profitable.policy.policies import BoundedPolicy, Deterministic
from tests.matrix import FAMILIES, POLICIES, FamilyRow
from tests.simulation.worlds import Played, play, single

pytestmark = pytest.mark.statistical
ALARM = 1e-7
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
HORIZON = 1_000 if SOAK else 400
RUNS = 2_500 if SOAK else 1_000


@dataclass(frozen=True)
class Case:
    """A category, near enough to its threshold that 400 rounds hold many acceptances
    and rejections.
    """

    label: str
    truth: pb.Truth
    horizon: int = HORIZON
    runs: int = RUNS

    def __str__(self) -> str:
        return self.label


RANDOM = pb.OnePlusPoisson(rate=3)


def near(row: FamilyRow) -> list[Case]:
    """A threshold above the mean, where a category is soon rejected, and one below,
    where it is at times.
    """
    gap = row.threshold - row.mean
    return [
        Case(
            f"{row}, above",
            single(row.family, row.mean, row.mean + 0.5 * gap, 2, row.bound, row.sigma),
        ),
        Case(
            f"{row}, below",
            single(row.family, row.mean, row.mean - 0.6 * gap, RANDOM, row.bound, row.sigma),
        ),
    ]


EVERY_FAMILY = [case for row in FAMILIES if row.family.has_law for case in near(row)]
HARD = [
    Case("tau next to mu, above", single(pb.Bernoulli(), 0.5, 0.505, 3)),
    Case(
        "tau next to mu, below",
        single(pb.Poisson(), 2.0, 1.99, pb.OnePlusPoisson(rate=1), bound=9.0),
    ),
    Case("tau = mu", single(pb.Bernoulli(), 0.5, 0.5, 2)),
    Case("tau at the lower edge", single(pb.Bernoulli(), 0.3, 0.0, 2)),
    Case("tau at the upper edge", single(pb.Bernoulli(), 0.9, 1.0, 1)),
    Case("rewards always 0", single(pb.Poisson(), 0.0, 0.5, 2, bound=3.0)),
    Case("one client", single(pb.Exponential(), 2.0, 1.5, 1, bound=20.0)),
    Case(
        "hundreds of clients",
        single(pb.Poisson(), 2.0, 2.1, pb.OnePlusPoisson(rate=300), bound=12.0),
        200,
        500,
    ),
    Case("uniform arrivals", single(pb.Bernoulli(), 0.3, 0.28, pb.UniformClients(low=1, high=9))),
    Case(
        "listed arrivals",
        single(pb.Bernoulli(), 0.3, 0.33, [1 + (7 * t) % 5 for t in range(HORIZON)]),
    ),
    Case("cut in the middle", single(pb.Poisson(), 3.0, 2.2, pb.OnePlusPoisson(rate=2), bound=4.0)),
    Case(
        "cut in theory only", single(pb.Poisson(), 3.0, 3.3, pb.OnePlusPoisson(rate=2), bound=60.0)
    ),
    Case("cut often", single(pb.Exponential(), 4.0, 3.2, pb.OnePlusPoisson(rate=3), bound=12.0)),
    Case("cut often, one client", single(pb.Exponential(), 4.0, 4.3, 1, bound=12.0)),
    Case(
        "cut at times, many clients",
        single(pb.Exponential(), 4.0, 3.9, pb.OnePlusPoisson(rate=200), bound=30.0),
        200,
        300,
    ),
    Case(
        "cut and unprofitable",
        single(pb.Exponential(), 4.0, 5.0, pb.OnePlusPoisson(rate=5), bound=30.0),
    ),
    Case(
        "uniform arrivals, cut",
        single(pb.Poisson(), 2.0, 1.8, pb.UniformClients(low=1, high=40), bound=6.0),
    ),
    Case(
        "listed arrivals, cut",
        single(pb.Exponential(), 2.0, 1.7, [1 + t % 4 for t in range(HORIZON)], bound=9.0),
    ),
    Case(
        "a mean that swaps sides",
        single(pb.Bernoulli(), [(1, 0.35), (60, 0.2), (61, 0.25), (200, 0.4)], 0.3, 3),
    ),
    Case(
        "a mean that rises from 0",
        single(pb.Poisson(), [(1, 0.0), (20, 1.5), (150, 3.0)], 1.8, RANDOM, bound=6.0),
    ),
    Case(
        "a mean that falls",
        single(pb.Exponential(), [(1, 4.0), (30, 1.5), (250, 2.5)], 2.0, RANDOM, bound=25.0),
    ),
    Case(
        "a mean that moves, spread unknown",
        single(pb.Normal(), [(1, 1.2), (90, 0.7)], 1.0, RANDOM, 8.0, sigma=0.8),
    ),
    Case(
        "a mean that moves, listed arrivals",
        single(
            pb.Bernoulli(), [(1, 0.25), (41, 0.4)], 0.3, [1 + (7 * t) % 5 for t in range(HORIZON)]
        ),
    ),
]


def kinds_of_policies() -> list[tuple[pb.Policy, ...]]:
    """Policies that the kernels treat alike: the same kind of patience, the same needs,
    the same view of rewards.
    """
    kinds: dict[tuple[object, ...], list[pb.Policy]] = {}
    for policy in POLICIES:
        rule, bounded = policy.rule, isinstance(policy, BoundedPolicy)
        needs = rule.needs_spread, rule.needs_values, rule.is_monotone, rule.is_posterior
        kinds.setdefault(
            (policy.terms.kind, needs, bounded and policy.gaussian, bounded), []
        ).append(policy)
    return [tuple(kind) for kind in kinds.values()]


KINDS = kinds_of_policies()


def pairs_of_families() -> list[tuple[pb.Policy, Case]]:
    """Every policy with every family: above its mean for one policy, below it for the
    next.
    """
    sides = [(number // 2, number % 2, case) for number, case in enumerate(EVERY_FAMILY)]
    return [
        (policy, case)
        for family, side, case in sides
        for number, policy in enumerate(POLICIES)
        if SOAK or (family + number) % 2 == side
    ]


def pairs_of_hard_cases() -> list[tuple[pb.Policy, Case]]:
    """Every hard case with every kind of policy."""
    return [
        (policy, case)
        for turn, case in enumerate(HARD)
        for kind in KINDS
        for number, policy in enumerate(kind)
        if SOAK or number == turn % len(kind)
    ]


def test_the_thin_grid_leaves_nobody_out() -> None:
    """Every family meets every policy, every policy both sides, every hard case every
    kind of policy.
    """
    families = pairs_of_families()
    assert {(str(policy), case.label.split(",")[0]) for policy, case in families} == {
        (str(policy), str(row)) for policy in POLICIES for row in FAMILIES if row.family.has_law
    }
    for policy in POLICIES:
        assert {case.label.split(", ")[1] for other, case in families if other is policy} == {
            "above",
            "below",
        }
    hard = pairs_of_hard_cases()
    for case in HARD:
        met = [policy for policy, other in hard if other is case]
        assert all(any(policy in met for policy in kind) for kind in KINDS)
    assert {policy for policy, _ in hard} == {policy for kind in KINDS for policy in kind}


def compare(first: Played, second: Played, horizon: int) -> None:
    """All comparisons of two independent samples."""
    cap = 0.5 * horizon
    for place in range(first.checkpoints.size):
        # Rejected and accepted rounds, each capped: bounded quantities whose means can
        # be compared.
        t = first.checkpoints[place]
        for one, two in (
            (first.accepted, second.accepted),
            (t - first.accepted, t - second.accepted),
        ):
            _same_mean(np.minimum(one[:, place], cap), np.minimum(two[:, place], cap))
    _same_law(first.accepted[:, -1], second.accepted[:, -1])
    _same_law(first.clients, second.clients)
    _same_law(first.runs["revenue"], second.runs["revenue"])
    last = [int(each.runs["accepted_last"].sum()) for each in (first, second)]
    table = [
        [count, len(each.clients) - count]
        for count, each in zip(last, (first, second), strict=True)
    ]
    assert stats.fisher_exact(table).pvalue > ALARM


def _same_mean(one: np.ndarray, two: np.ndarray) -> None:
    error = np.sqrt(one.var(ddof=1) / one.size + two.var(ddof=1) / two.size)
    if error == 0.0:
        assert one.mean() == two.mean()
    else:
        assert 2.0 * stats.norm.sf(abs(one.mean() - two.mean()) / error) > ALARM


def _same_law(one: np.ndarray, two: np.ndarray) -> None:
    """Test by Kolmogorov-Smirnov; ties make it conservative, so the rate holds."""
    assert stats.ks_2samp(one, two, method="asymp").pvalue > ALARM


def both(policy: pb.Policy, case: Case) -> tuple[Played, Played]:
    runs = case.runs
    if policy.rule.needs_values and not case.truth.category.family.support.whole:
        runs //= 3  # a sample that grows with every client takes its time
    options = {"horizon": case.horizon, "runs": runs, "checkpoints": (10, 40, 150)}
    return (
        play("events", policy, case.truth, seed=101, **options),
        play("rounds", policy, case.truth, seed=202, **options),
    )


@pytest.mark.parametrize(("policy", "case"), pairs_of_families(), ids=str)
def test_every_family(policy: pb.Policy, case: Case) -> None:
    compare(*both(policy, case), case.horizon)


@pytest.mark.parametrize(("policy", "case"), pairs_of_hard_cases(), ids=str)
def test_hard_cases(policy: pb.Policy, case: Case) -> None:
    compare(*both(policy, case), case.horizon)


AHEAD = [
    pb.Optimal(horizon=HORIZON),
    pb.Optimal(horizon=HORIZON, clients=3),
    pb.Optimal(),
    pb.Optimal(discount=0.99),
]
FLOORS = [
    replace(policy, floor=0.1) for policy in POLICIES if str(policy) != "kl-ucb+:c=3,count=rounds"
]
FLOORED = [
    *near(FAMILIES[0]),
    Case("exponential, below", single(pb.Exponential(), 2.0, 1.6, RANDOM, bound=20.0)),
    Case(
        "hundreds of clients",
        single(pb.Poisson(), 2.0, 2.1, pb.OnePlusPoisson(rate=300), bound=12.0),
        200,
        300,
    ),
]


def pairs_of_floors() -> list[tuple[pb.Policy, Case]]:
    """Every policy with two of the four cases, in turn."""
    policies = [*FLOORS, pb.KLUCB(floor=1), pb.ThompsonSampling(floor=1)]
    return [
        (policy, case)
        for number, policy in enumerate(policies)
        for turn, case in enumerate(FLOORED)
        if SOAK or (number + turn) % 2 == 0
    ]


@pytest.mark.parametrize(("policy", "case"), pairs_of_floors(), ids=str)
def test_floors(policy: pb.Policy, case: Case) -> None:
    compare(*both(policy, case), case.horizon)


@pytest.mark.parametrize("policy", AHEAD, ids=str)
def test_a_floor_may_accept_round_1(policy: pb.Policy) -> None:
    """A prior speaks against the category from the start: accepted in round 1 with the
    probability of the floor.
    """
    truth = single(pb.Bernoulli(), 0.3, 0.45, 2, prior=pb.Prior.beta(2, 30))
    for kernel in ("events", "rounds"):
        played = play(
            kernel,
            replace(policy, floor=0.3),
            truth,
            horizon=20,
            runs=4_000,
            seed=3,
            checkpoints=(1,),
        )
        hits = int(played.accepted[:, 0].sum())
        assert stats.binomtest(hits, 4_000, 0.3).pvalue > ALARM


PRIORS = [
    Case("beta", single(pb.Bernoulli(), 0.3, 0.27, 2, prior=pb.Prior.beta(0.01, 0.01))),
    Case(
        "like clients",
        single(pb.Bernoulli(), 0.3, 0.35, RANDOM, prior=pb.Prior.like(clients=7, mean=0.6)),
    ),
    Case(
        "gamma", single(pb.Poisson(), 2.0, 1.8, RANDOM, prior=pb.Prior.gamma(shape=0.01, rate=0.02))
    ),
    Case(
        "inverse gamma",
        single(pb.Exponential(), 2.0, 1.7, 3, prior=pb.Prior.inverse_gamma(shape=0.3, scale=0.1)),
    ),
    Case(
        "beta of failures",
        single(pb.NegativeBinomial(failures=2), 2.0, 1.8, 3, prior=pb.Prior.beta(0.02, 0.02)),
    ),
]


@pytest.mark.parametrize(
    "policy", [pb.BayesUCB(), pb.BayesUCB(c=3), pb.ThompsonSampling(), *AHEAD], ids=str
)
@pytest.mark.parametrize("case", PRIORS, ids=str)
def test_priors(policy: pb.Policy, case: Case) -> None:
    """Imaginary clients: fractional, and with totals below 0."""
    compare(*both(policy, case), case.horizon)


DOUBTS = [
    Case(
        "doubted from the start", single(pb.Bernoulli(), 0.3, 0.27, 2, prior=pb.Prior.beta(2, 12))
    ),
    Case(
        "doubted, Poisson",
        single(pb.Poisson(), 2.0, 1.8, RANDOM, prior=pb.Prior.gamma(shape=4, rate=3)),
    ),
]


@pytest.mark.parametrize("policy", AHEAD, ids=str)
@pytest.mark.parametrize("case", [*DOUBTS, *PRIORS], ids=str)
def test_a_prior_that_speaks_against_it_may_reject_round_1(policy: pb.Policy, case: Case) -> None:
    """Without blocks the path is the same, also where round 1 is rejected; with blocks
    the law is.
    """
    options = {
        "horizon": case.horizon,
        "runs": 8,
        "seed": 7,
        "checkpoints": tuple(range(1, case.horizon)),
    }
    events = play("events", policy, case.truth, blocks=False, **options)
    rounds = play("rounds", policy, case.truth, **options)
    np.testing.assert_array_equal(events.accepted, rounds.accepted)
    if case in DOUBTS:
        compare(*both(policy, case), case.horizon)


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if not policy.draws], ids=str)
@pytest.mark.parametrize("case", [*EVERY_FAMILY, *HARD], ids=str)
def test_without_blocks_the_path_is_the_same(policy: pb.Policy, case: Case) -> None:
    """Skipping rejected stretches alone changes nothing at all: the same numbers, run
    by run.
    """
    options = {
        "horizon": case.horizon,
        "runs": 8,
        "seed": 7,
        "checkpoints": tuple(range(1, case.horizon)),
    }
    events = play("events", policy, case.truth, blocks=False, **options)
    rounds = play("rounds", policy, case.truth, **options)
    np.testing.assert_array_equal(events.accepted, rounds.accepted)
    np.testing.assert_array_equal(events.clients, rounds.clients)
    for name in ("accepted_last", "revenue", "total"):
        np.testing.assert_array_equal(events.runs[name], rounds.runs[name])


def test_the_comparison_can_fail() -> None:
    """The power of the tests above: a threshold that differs by 2 % is told apart."""
    case, other = single(pb.Bernoulli(), 0.3, 0.4, 2), single(pb.Bernoulli(), 0.3, 0.408, 2)
    options: dict[str, Any] = {"horizon": HORIZON, "runs": RUNS}
    first = play("events", pb.KLUCB(), case, seed=1, **options)
    with pytest.raises(AssertionError):
        compare(first, play("rounds", pb.KLUCB(), other, seed=2, **options), HORIZON)


@pytest.mark.usefixtures("own_classes")
@pytest.mark.parametrize(
    "rule", [evidence.EMPIRICAL, evidence.VARIANCE, evidence.DIVERGENCE], ids=["emp", "v", "kl"]
)
def test_a_policy_that_draws_may_have_any_rule(rule: evidence.Rule) -> None:
    """Thompson's patience with another evidence, where rewards would otherwise be drawn
    as sums.
    """
    policy = type("Drawn", (BoundedPolicy,), {"name": "drawn", "rule": rule, "draws": True})()
    case = Case("exponential", single(pb.Exponential(), 2.0, 2.5, 2, 100.0), runs=400)
    compare(*both(policy, case), case.horizon)


@pytest.mark.usefixtures("own_classes")
def test_evidence_that_is_no_number_rejects() -> None:
    """A rule that no kernel knows: both kernels reject everybody after round 1, as an
    agent does.
    """
    unknown = evidence.Rule(99, is_zero_above=True)
    policy = type("Unknown", (Deterministic,), {"name": "unknown", "rule": unknown})()
    for kernel in ("events", "rounds"):
        played = play(
            kernel, policy, single(pb.Bernoulli(), 0.2, 0.5, 2), horizon=50, runs=3, seed=1
        )
        assert (played.accepted[:, -1] == 1).all()


@pytest.mark.usefixtures("own_classes")
def test_what_the_simulator_does_not_know_is_refused() -> None:
    def view(self: pb.Policy, category: pb.Category) -> View:
        return View(category.family.view().law, Power(0.5), category.family.support)

    truth = single(pb.Exponential(), 2.0, 2.5)
    policy = type("Own", (pb.KLUCB,), {"name": "own", "view": view})()
    with pytest.raises(pb.errors.InputError, match="does not"):
        play("events", policy, truth, horizon=10, runs=1, seed=1)
    with pytest.raises(TypeError, match="whole-number"):
        View(truth.category.family.view().law, support=Support(-1.0, 1.0, whole=True))
