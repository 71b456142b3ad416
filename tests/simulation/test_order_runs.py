"""Runs of bands that share evidence."""

import math

import numpy as np
import pytest

import profitable as pb
from profitable.errors import ParameterError
from profitable.kernels.order import BandRow, new_bands, weigh_bands
from profitable.kernels.rounds import run_rounds
from profitable.kernels.run_record import RUN
from profitable.policy.policies import Policy
from profitable.policy.shared_orders import shared_orders
from profitable.simulation.clients_per_round import OnePlusPoisson, UniformClients
from profitable.simulation.kernel_input import make_input
from profitable.simulation.order_runs import make_order_input, play_order
from profitable.simulation.worker import no_flags, stream

INF = math.inf
POLICIES = [
    "kl-ucb",
    "kl-ucb:c=2",
    "bayes-ucb",
    "ts",
    "optimal:horizon=60",
    "optimal",
    "ts:floor=0.1",
]


def band(k: int, mean: object, **terms: object) -> pb.Truth:
    known = {"threshold": 0.5, "order": "score", "clients": 3} | terms
    clients = known.pop("clients")
    family = known.pop("family", pb.Bernoulli())
    category = pb.Category(f"band {k}", family, **known)  # type: ignore[arg-type]
    return pb.Truth(category, mean=mean, clients=clients)  # type: ignore[arg-type]


def bands(*means: float, **terms: object) -> pb.Scenario:
    return pb.Scenario("bands", [band(k, mean, **terms) for k, mean in enumerate(means)])


def final(result: pb.Result, policy: str) -> list[float]:
    return [*result[policy].regret.tolist(), *result[policy].accepted_rounds[:, -1].tolist()]


SINGLE = {
    "bernoulli": band(0, 0.4),
    "changing": band(0, [[1, 0.4], [21, 0.7], [40, 0.2]], clients=OnePlusPoisson(rate=2.0)),
    "listed": band(0, 0.45, clients=[1, 4, 2, 7] * 15),
    "poisson": band(
        0, 2.0, family=pb.Poisson(), threshold=2.2, clients=UniformClients(low=1, high=5)
    ),
    "exponential": band(0, 2.0, family=pb.Exponential(), threshold=2.2),
    "with a prior": band(0, 0.4, prior=pb.Prior.like(clients=10, mean=0.7)),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("world", SINGLE)
def test_a_band_alone_plays_as_without_an_order(world: str, name: str) -> None:
    """To the last bit, with the same random numbers."""
    truth, policy, horizon, runs = SINGLE[world], Policy.parse(name), 60, 4
    if truth.category.prior is not None and not hasattr(policy, "prior"):
        truth = band(0, 0.4)
    (order,) = shared_orders(policy, [truth.category])
    given = make_order_input(policy, order, [truth], horizon=horizon, every_reward=False)
    points = np.arange(1, horizon + 1)
    streams = stream(1, "world"), stream(1, "own")
    played = play_order(
        given, given.tables(points, runs, common=False), streams, no_flags(), horizon
    )
    assert played is not None
    tables, records = played[0]

    plain = make_input(policy, truth, horizon=horizon, every_reward=False)
    expected, alone = plain.tables(points, runs), np.zeros(runs, dtype=RUN)
    run_rounds(stream(1, "world"), stream(1, "own"), no_flags(), plain.problem, expected, alone)
    assert (tables.accepted == expected.accepted).all()
    assert (records["total"] == alone["total"]).all()
    assert (records["revenue"] == alone["revenue"]).all()
    assert (records["accepted_last"] == alone["accepted_last"]).all()
    if truth.clients.listed.size:
        assert (tables.counted == expected.counted).all()


@pytest.mark.parametrize("trust", ["", "trust=0.2", "trust=inf"])
@pytest.mark.parametrize("name", ["kl-ucb", "bayes-ucb", "ts", "optimal:horizon=80"])
def test_a_run_is_that_of_a_plain_loop(name: str, trust: str) -> None:
    """Weigh all bands, decide, see the clients of the accepted ones; the next round."""
    policy = Policy.parse(
        ":".join(filter(None, [name, trust])) if ":" not in name or not trust else f"{name},{trust}"
    )
    means, thresholds = [0.2, 0.55, 0.35, 0.5, 0.8], [0.5, 0.55, 0.4, 0.5, 0.6]
    truths = [
        band(k, mean, threshold=tau)
        for k, (mean, tau) in enumerate(zip(means, thresholds, strict=True))
    ]
    (order,) = shared_orders(policy, [truth.category for truth in truths])
    given = make_order_input(policy, order, truths, horizon=80, every_reward=False)
    points = np.arange(1, 81)
    streams = stream(3, "world"), stream(3, "own")
    played = play_order(given, given.tables(points, 1, common=False), streams, no_flags(), 80)
    assert played is not None

    world, own = stream(3, "world"), stream(3, "own")
    table, rounds, rejected = new_bands(5), np.zeros(5), 0
    table[BandRow.TARGET], table[BandRow.PER_ROUND] = thresholds, 1.0
    for t in range(80):
        drawn = own.standard_exponential() if policy.draws and t > 0 else INF
        view = order.view
        weigh_bands(
            view.law,
            policy.rule.is_posterior,
            policy.trust,
            policy.coded_patience,
            float(t),
            drawn,
            table,
        )
        for k in np.flatnonzero(table[BandRow.ACCEPTED]):
            table[BandRow.CLIENTS, k] += 3
            table[BandRow.TOTAL, k] += world.binomial(3, means[k])
            table[BandRow.PER_ROUND, k] = 3.0
            rounds[k] += 1
        rejected += int((table[BandRow.ACCEPTED] == 0.0).sum())
        assert [played[k][0].accepted[0, t] for k in range(5)] == rounds.tolist()
    assert rejected > 20


@pytest.mark.parametrize("policy", ["kl-ucb", "ts", "optimal:horizon"])
def test_without_trust_the_order_changes_no_number(policy: str) -> None:
    means, plain = (0.3, 0.45, 0.6), bands(0.3, 0.45, 0.6, order=None)
    without = pb.simulate(plain, [policy], horizon=200, runs=30, progress=False)
    joint = ":" if ":" not in policy else ","
    for scenario in (plain, bands(*means)):
        name = f"{policy}{joint}trust=0"
        result = pb.simulate(scenario, [name], horizon=200, runs=30, progress=False)
        assert final(result, name) == final(without, policy)
    shared = pb.simulate(bands(*means), [policy], horizon=200, runs=30, progress=False)
    assert final(shared, policy) != final(without, policy)
    strict = f"{policy}{joint}trust=inf"
    result = pb.simulate(plain, [strict], horizon=200, runs=30, progress=False)
    assert final(result, strict) == final(without, policy)


def test_bands_beside_free_categories_and_other_orders() -> None:
    free = [band(k, 0.05 * k, order=None) for k in (7, 8)]
    grades = [band(k, 0.1 * k, order="grade") for k in (3, 5)]
    scores = [band(k, 0.2 * k) for k in (1, 2, 4)]
    mixed = pb.Scenario(
        "x", [free[0], scores[0], grades[0], scores[1], grades[1], scores[2], free[1]]
    )
    sorted_ = pb.Scenario("x", [*scores, *grades, *free])
    policies = ["kl-ucb", "ts:trust=inf", "ts:trust=0"]
    one, two = (
        pb.simulate(
            each,
            policies,
            horizon=100,
            runs=120,
            kernel="rounds" if each is mixed else None,
            workers=1 + (each is mixed),
            progress=False,
        )
        for each in (mixed, sorted_)
    )
    order = [mixed.names.index(name) for name in sorted_.names]
    for policy in policies[:2]:
        assert (one[policy].accepted_rounds[order] == two[policy].accepted_rounds).all()
        assert one[policy].regret == pytest.approx(two[policy].regret, rel=1e-12)


def test_common_random_numbers_bring_the_same_clients() -> None:
    """Two policies with patience enough for everybody meet the same clients."""
    scenario = bands(0.3, 0.6, 0.8, clients=UniformClients(low=1, high=9))
    policies = ["kl-ucb:inflate=1e30", "kl-ucb:inflate=1e31", "kl-ucb"]
    result = pb.simulate(
        scenario, policies, horizon=50, runs=20, common_random_numbers=True, progress=False
    )
    first, second, third = (result[policy].mean("clients") for policy in policies)
    assert (first == second).all()
    assert (third[0] < first[0]).all()


def test_sharing_pays_where_the_order_holds() -> None:
    """False-alarm rate: 4 standard errors of a difference, below 1e-4."""
    scenario = bands(*np.linspace(0.3, 0.7, 8))
    for policy in ("kl-ucb", "optimal:horizon", "ts"):
        joint = ":" if ":" not in policy else ","
        names = [f"{policy}{joint}trust={trust}" for trust in ("inf", "0")]
        result = pb.simulate(scenario, names, horizon=500, runs=800, progress=False)
        shared, alone = (result[name] for name in names)
        gap = alone.regret[-1] - shared.regret[-1]
        assert gap > 4.0 * math.hypot(shared.stderr[-1], alone.stderr[-1])


@pytest.mark.parametrize(
    ("policy", "kernel", "words"),
    [
        ("kl-ucb", "events", "plays categories one by one"),
        ("kl-ucb+", None, "bands cannot share its evidence"),
        ("kl-emp-ucb", None, "bands cannot share its evidence"),
        ("ucb-v", None, "bands cannot share its evidence"),
        ("ts:forget=0.9", None, "cannot forget"),
        ("ts:window=9", None, "cannot forget"),
    ],
)
def test_what_bands_cannot_do_is_refused(policy: str, kernel: str | None, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pb.simulate(bands(0.3, 0.6), [policy], horizon=9, runs=1, kernel=kernel, progress=False)
    joint = ":" if ":" not in policy else ","
    pb.simulate(
        bands(0.3, 0.6),
        [f"{policy}{joint}trust=0"],
        horizon=9,
        runs=1,
        kernel=None if "=" in policy else kernel,
        progress=False,
    )
