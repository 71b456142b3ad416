"""The replay against an agent that is fed by hand, against the simulator, and against
any look ahead.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.model.category import said_before
from profitable.past.past import NEVER_KNOWN, SingleClients
from profitable.policy.policies import POLICIES
from profitable.replay.replay import Limits, OpenTerms, Replay, replay
from tests.matrix import FAMILIES, FamilyRow
from tests.replay.past_clients import Row, World, by_hand, draw_world

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
ROUNDS = 15

EVERY = [
    *POLICIES,
    *(
        f"{name}:{option}"
        for name in POLICIES
        for option in ("forget=0.9", "window=4", "floor=0.2")
    ),
]
OPTIONS = [
    "kl-ucb:c=3",
    "kl-ucb+:count=rounds",
    "kl-ucb+:count=rounds,window=5",
    "kl-bernoulli-ucb+:count=rounds,forget=0.9",
    "bayes-ucb:c=2,inflate=5",
    "ts:forget=0.95,floor=0.1",
    "optimal:horizon",
    "optimal:horizon,risk=0.3,forget=0.9",
    "optimal:discount=0.9",
    "optimal:kappa=1,clients=2",
]
FEW = [
    "kl-ucb",
    "kl-ucb+:count=rounds",
    "ts",
    "ts:window=4",
    "optimal:horizon",
    "kl-emp-ucb",
    "ucb-v:forget=0.9",
]
BY_AGE = [
    "kl-ucb",
    "kl-ucb+:forget=0.9",
    "ts",
    "bayes-ucb:window=6",
    "optimal:horizon",
    "ucb-v:floor=0.1",
]
LATE = [
    OpenTerms(3),
    OpenTerms(3, "at maturity"),
    OpenTerms(5, "evenly"),
    OpenTerms(3, (0.2, 0.5, 1.0)),
    OpenTerms(0, "evenly"),  # open clients count at their value
]


def name_of(late: OpenTerms | None) -> str:
    return "as they come" if late is None else f"{late.matures} {late.emerges}"


def family_row(name: str) -> FamilyRow:
    return next(row for row in FAMILIES if row.family.name == name)


def drawn(row: FamilyRow, rng: np.random.Generator) -> Callable[[int], Any]:
    """Rewards around the threshold, so that there is something to decide."""
    if row.law is None:
        low, high = row.family.bounds or (0.0, 1.0)
        return lambda size: rng.uniform(low, high, size)
    middle = 0.6 * row.mean + 0.4 * row.threshold
    return lambda size: row.drawn.draw(rng, mean=middle, size=size)


def categories_of(world: World, row: FamilyRow) -> list[pb.Category]:
    with said_before():
        return [
            pb.Category(name, row.family, threshold=world.threshold, bound=row.bound)
            for name in world.names
        ]


def check_by_hand(
    world: World,
    categories: Sequence[pb.Category],
    policy: str,
    seed: int,
    late: OpenTerms | None = None,
) -> int:
    """Also says how many cells were refused."""
    own = pb.Policy.parse(policy)
    told = (
        pb.Policy.parse(policy.replace("horizon", f"horizon={world.rounds}", 1))
        if ":horizon" in policy
        else own
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.errors.ProfitableWarning)
        found = replay(world.clients(), categories, own, seed=seed, late=late, trace=True)
        accepted, evidence, patience = by_hand(world, categories, told, seed, late)
    np.testing.assert_array_equal(found.accepted, accepted)
    np.testing.assert_allclose(np.array(found.evidence), evidence, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.patience, patience)
    assert accepted[0].all() or "floor" in policy
    assert found.taken is None
    return int((~accepted).sum())


# ------------------------------------------------------------------------------ by hand


@pytest.mark.parametrize("policy", [*EVERY, *OPTIONS])
def test_without_delay_it_is_the_agent_fed_by_hand(policy: str) -> None:
    """Every policy on every family, decision by decision, draws included; with options,
    on every third family.
    """
    refused = 0
    some = FAMILIES if SOAK or policy in POLICIES else FAMILIES[len(policy) % 3 :: 3]
    for seed, row in enumerate(some):
        rng = np.random.default_rng(seed)
        world = draw_world(rng, drawn(row, rng), threshold=row.threshold, rounds=40 if SOAK else 10)
        refused += check_by_hand(world, categories_of(world, row), policy, seed)
    assert refused > 0, "nothing was decided"


@pytest.mark.parametrize("late", [None, *LATE[:2]], ids=name_of)
@pytest.mark.parametrize("policy", FEW)
def test_with_delays(policy: str, late: OpenTerms | None) -> None:
    for seed, row in enumerate(FAMILIES if SOAK else FAMILIES[len(policy) % 3 :: 3]):
        rng = np.random.default_rng(100 + seed)
        world = draw_world(rng, drawn(row, rng), threshold=row.threshold, rounds=12, delay=5)
        check_by_hand(world, categories_of(world, row), policy, seed, late)


@pytest.mark.parametrize("late", LATE[2:], ids=name_of)
@pytest.mark.parametrize("policy", BY_AGE)
@pytest.mark.parametrize(
    ("family", "promise"),
    [
        ("bernoulli", (0.0, 1.0)),
        ("bernoulli", (0.9,)),
        ("poisson", (2.0, 5.0)),
        ("normal", (1.3, 2.1, 1.1)),
        ("bounded", (3.0, 2.9)),
    ],
)
def test_open_clients_count_at_what_they_promise(
    policy: str, late: OpenTerms, family: str, promise: tuple[float, ...]
) -> None:
    row = family_row(family)
    rng = np.random.default_rng(5)
    world = draw_world(
        rng, drawn(row, rng), threshold=row.threshold, delay=6, more=("promised",), promise=promise
    )
    check_by_hand(world, categories_of(world, row), policy, 3, late)


@pytest.mark.parametrize("weight", ["money", "client"])
@pytest.mark.parametrize("late", [None, LATE[0]], ids=name_of)
@pytest.mark.parametrize(
    "policy", ["kl-ucb", "ts", "kl-ucb+:count=rounds", "kl-gaussian-ucb:forget=0.9", "kl-emp-ucb"]
)
def test_amounts(policy: str, late: OpenTerms | None, weight: Any) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        family = pb.Bounded(low=0, high=2) if seed else pb.Normal()
        world = draw_world(
            rng,
            partial(rng.triangular, 0.0, 1.0, 2.0),
            threshold=1.05,
            delay=4 if late or seed > 1 else 0,
            more=("amount",),
        )
        high = None if seed else 2.0
        categories = [
            pb.Category.returns(name, required=0.05, family=family, high=high, weight=weight)
            for name in world.names
        ]
        check_by_hand(world, categories, policy, seed, late)


def test_outcomes_that_are_all_lost_leave_nothing_of_a_promise() -> None:
    """Three promises of 0.1 add up to more than 0.3 in doubles; taking them away again
    must not leave the family.
    """
    rng = np.random.default_rng(1)
    world = draw_world(
        rng, np.zeros, threshold=0.2, delay=3, more=("promised",), promise=(0.1, 0.3)
    )
    for family in (pb.Bernoulli(), pb.Bounded(low=0, high=1), pb.Poisson()):
        categories = [pb.Category(name, family, threshold=0.2) for name in world.names]
        for policy in ("kl-ucb", "bayes-ucb", "ts:forget=0.5"):
            check_by_hand(world, categories, policy, 1, OpenTerms(0, "evenly"))
            check_by_hand(world, categories, policy, 1, OpenTerms(2, "evenly"))


def test_weights_are_repeated_rows() -> None:
    """A client who is there w times is w rows of the file, whatever else the replay
    does.
    """
    for late, seed in (
        (None, 1),
        (OpenTerms(2), 2),
        (OpenTerms(3, "evenly"), 3),
        (OpenTerms(0, "evenly"), 4),
    ):
        rng = np.random.default_rng(seed)
        row = family_row("poisson")
        more = ("promised",) if late is not None and late.by_age else ()
        world = draw_world(
            rng, drawn(row, rng), threshold=3.0, delay=3, more=more, promise=(2.0, 4.0)
        )
        clients = world.clients()
        times = rng.poisson(1.0, len(clients))
        rows = [_row_of(clients, i) for i in range(len(clients)) for _ in range(int(times[i]))]
        for policy in ("kl-ucb", "ts", "optimal:horizon", "ucb-v"):
            own, categories = pb.Policy.parse(policy), categories_of(world, row)
            once = replay(clients, categories, own, seed=1, late=late, weights=times, trace=True)
            again = replay(
                world.with_rows(rows).clients(), categories, own, seed=1, late=late, trace=True
            )
            np.testing.assert_array_equal(once.accepted, again.accepted)
            np.testing.assert_allclose(
                np.array(once.evidence), np.array(again.evidence), rtol=1e-9, atol=1e-12
            )
            cells = np.zeros_like(once.accepted, dtype=float)
            for each in rows:
                cells[each.round - 1, each.category] += (
                    each.profit(3.0) * once.accepted[each.round - 1, each.category]
                )
            np.testing.assert_allclose(
                once.by_cell(clients, times * clients.profit), cells, atol=1e-12
            )


def _row_of(clients: SingleClients, i: int) -> Row:
    promised = 0.0 if clients.promised is None else float(clients.promised[i])
    amount = 1.0 if clients.amount is None else float(clients.amount[i])
    return Row(
        int(clients.round[i]),
        int(clients.category[i]),
        int(clients.known[i]),
        float(clients.reward[i]),
        amount,
        promised,
    )


def test_clients_whom_the_past_refused_teach_nothing() -> None:
    rng = np.random.default_rng(2)
    row = family_row("bernoulli")
    world = draw_world(rng, drawn(row, rng), threshold=0.4, delay=2)
    clients = world.clients()
    logged = rng.random(len(clients)) < 0.6
    told = replace(clients, logged=logged, propensity=np.full(len(clients), 0.6))
    seen = world.with_rows([_row_of(clients, i) for i in np.flatnonzero(logged).tolist()])
    for policy in ("kl-ucb", "ts"):
        own = pb.Policy.parse(policy)
        found = replay(told, categories_of(world, row), own, seed=1, trace=True)
        accepted, evidence, _ = by_hand(seen, categories_of(world, row), own, 1)
        np.testing.assert_array_equal(found.accepted, accepted)
        np.testing.assert_allclose(np.array(found.evidence), evidence, atol=1e-12)


# ------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "late", [None, OpenTerms(2), OpenTerms(4, "evenly"), OpenTerms(0, "evenly")], ids=name_of
)
@pytest.mark.parametrize("policy", ["kl-ucb", "ts", "kl-ucb+:count=rounds", "optimal:horizon"])
@pytest.mark.parametrize(
    "limits", [Limits(places=4), Limits(budget=2.5), Limits(places=3, explore=0.5)], ids=str
)
def test_a_limit_is_what_the_agent_shares_out(
    policy: str, limits: Limits, late: OpenTerms | None
) -> None:
    """The grants are those of an agent that is told the outcomes of the clients who
    were taken.
    """
    rng = np.random.default_rng(4)
    row = family_row("poisson")
    world = draw_world(
        rng,
        drawn(row, rng),
        threshold=0.5,
        delay=3,
        more=("promised",),
        promise=(0.0, 1.0, 3.0),
        per_cell=2.5,
    )
    clients = world.clients()
    categories = [pb.Category(name, pb.Poisson(), threshold=0.5) for name in world.names]
    found = replay(clients, categories, pb.Policy.parse(policy), seed=3, late=late, limits=limits)
    assert found.taken is not None
    assert set(found.taken.tolist()) <= {0, 1}
    size: dict[str, Any] = (
        {"places": limits.places} if limits.budget is None else {"budget": limits.budget}
    )
    if limits.explore is not None:
        size["explore"] = limits.explore
    agent = pb.Agent(categories, policy=pb.Policy.parse(policy).within(world.rounds), seed=3)
    rows = [_row_of(clients, i) for i in range(len(clients))]
    some = 0
    for t in range(1, world.rounds + 1):
        demand = {
            name: sum((row.round, row.category) == (t, k) for row in rows)
            for k, name in enumerate(world.names)
        }
        decision = agent.decide(demand=demand, **size)
        granted = decision.granted or {}
        for k, name in enumerate(world.names):
            here = [i for i, row in enumerate(rows) if (row.round, row.category) == (t, k)]
            taken = [rows[i] for i in here if found.taken[i]]
            assert len(taken) == granted.get(name, 0)
            assert found.accepted[t - 1, k] == (len(taken) > 0)
            some += 0 < len(taken) < len(here)
            if taken:
                terms: dict[str, Any] = {}
                if late is not None:
                    terms = {"matures": late.matures}
                    if late.by_age:
                        mean = sum(each.promised for each in taken) / len(taken)
                        terms |= {"emerges": late.emerges, "promised": mean}
                agent.expect(name, len(taken), **terms)
        for i in range(len(rows)):
            if rows[i].known == t and found.taken[i]:
                more = {} if late is None else {"accepted_in": rows[i].round}
                agent.observe(world.names[rows[i].category], [rows[i].reward], **more)
    assert some > 3, "a lot must have been drawn now and then"


def test_a_budget_of_money_is_kept() -> None:
    """Money is granted unit by unit; clients of a category follow in the order of a lot
    until the next does not fit.
    """
    rng = np.random.default_rng(6)
    world = draw_world(
        rng, partial(rng.uniform, 0.6, 1.6), threshold=1.0, more=("amount",), per_cell=3
    )
    clients = world.clients()
    assert clients.amount is not None
    categories = [pb.Category.returns(name) for name in world.names]
    everybody = clients.by_cell(clients.amount).sum(axis=1)
    took: list[float] = []
    for budget in (8.0, 20.0, 1e6):
        found = replay(clients, categories, pb.KLUCB(), seed=1, limits=Limits(budget=budget))
        assert found.taken is not None
        lent = found.by_cell(clients, clients.amount).sum(axis=1)
        assert (lent <= budget + 1e-9).all()
        took.append(float(lent.sum()))
        if budget == 1e6:
            np.testing.assert_allclose(lent[0], everybody[0])
    assert took[0] < took[1] < took[2]


def test_lots_are_fair() -> None:
    """Each of ten clients, two of whom fit, is taken in a fifth of 500 seeds; 5 sigma:
    one false alarm in 10^5.
    """
    clients = SingleClients.of(
        names=("a",),
        labels=("1",),
        round=[1] * 10,
        category=[0] * 10,
        known=[1] * 10,
        reward=[0.0] * 5 + [1.0] * 5,
        profit=[0.0] * 10,
    )
    category = [pb.Category("a", pb.Bernoulli(), threshold=0.5)]
    runs = 500
    total = np.zeros(10)
    for seed in range(runs):
        taken = replay(clients, category, pb.KLUCB(), seed=seed, limits=Limits(places=2)).taken
        assert taken is not None
        total += taken
    assert total.sum() == 2 * runs
    assert (abs(total - 0.2 * runs) < 5.0 * (runs * 0.2 * 0.8) ** 0.5).all()


# ------------------------------------------------------------------------ no look ahead


def _change(rng: np.random.Generator, world: World, t: int, draw: Callable[[int], Any]) -> World:
    """Other outcomes, and other dates, wherever nothing was known after round t; later
    rounds may be all different.
    """
    rows: list[Row] = []
    for row in world.rows:
        if row.known <= t:
            rows.append(row)
        elif (
            row.round <= t + 1
        ):  # round t + 1 decides from what is known after round t, and sees who asks
            later = int(rng.integers(max(t + 1, row.round), world.rounds + 3))
            rows.append(
                replace(
                    row,
                    reward=float(draw(1)[0]),
                    known=NEVER_KNOWN if rng.random() < 0.1 else later,
                )
            )
        elif rng.random() < 0.7:
            asked = int(rng.integers(t + 2, world.rounds + 1))
            category = int(rng.integers(len(world.names)))
            amount = float(rng.integers(1, 9)) if "amount" in world.more else 1.0
            rows.append(
                Row(
                    asked,
                    category,
                    asked + int(rng.integers(4)),
                    float(draw(1)[0]),
                    amount,
                    row.promised,
                )
            )
    return world.with_rows([rows[i] for i in rng.permutation(len(rows))])


def _seen(found: Replay, clients: SingleClients, t: int) -> list[Any]:
    """All that a replay did up to round t + 1."""
    assert found.evidence is not None
    assert found.patience is not None
    parts = [found.accepted, found.evidence, found.patience]
    if found.taken is not None:
        parts.append(found.by_cell(clients))
        if clients.amount is not None:
            parts.append(found.by_cell(clients, clients.amount))
    return [part[: t + 1] for part in parts]


@settings(max_examples=2_000 if SOAK else 80)
@given(
    seed=st.integers(0, 2**32),
    t=st.integers(1, 10),
    delay=st.integers(0, 8),
    policy=st.sampled_from(
        ["kl-ucb", "ts", "bayes-ucb:forget=0.9", "kl-ucb+:count=rounds", "optimal:horizon", "ucb-v"]
    ),
    late=st.sampled_from([None, None, *LATE]),
    limits=st.sampled_from([None, None, Limits(places=3), Limits(budget=1.3)]),
)
def test_outcomes_that_are_not_known_yet_change_no_decision(
    seed: int, t: int, delay: int, policy: str, late: OpenTerms | None, limits: Limits | None
) -> None:
    rng = np.random.default_rng(seed)
    draw = partial(rng.binomial, 1, 0.3)
    world = draw_world(
        rng,
        draw,
        threshold=0.35,
        rounds=12,
        delay=delay,
        more=("promised",),
        promise=(1.0, 1.0, 0.0, 0.5),
    )
    changed = _change(rng, world, t, draw)
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.35) for name in world.names]
    own = pb.Policy.parse(policy)
    before, after = (
        _seen(
            replay(it.clients(), categories, own, seed=1, late=late, limits=limits, trace=True),
            it.clients(),
            t,
        )
        for it in (world, changed)
    )
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=600 if SOAK else 40)
@given(
    seed=st.integers(0, 2**32),
    t=st.integers(1, 10),
    policy=st.sampled_from(["kl-ucb", "ts", "optimal:horizon", "kl-emp-ucb"]),
    limits=st.sampled_from([None, Limits(budget=12.0), Limits(places=3)]),
    weight=st.sampled_from(["money", "client"]),
)
def test_the_same_with_amounts(
    seed: int, t: int, policy: str, limits: Limits | None, weight: Any
) -> None:
    rng = np.random.default_rng(seed)
    draw = partial(rng.uniform, 0.0, 2.0)
    world = draw_world(rng, draw, threshold=1.0, rounds=12, delay=4, more=("amount",))
    changed = _change(rng, world, t, draw)
    categories = [pb.Category.returns(name, weight=weight) for name in world.names]
    own = pb.Policy.parse(policy)
    before, after = (
        _seen(
            replay(it.clients(), categories, own, seed=1, limits=limits, trace=True),
            it.clients(),
            t,
        )
        for it in (world, changed)
    )
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "policy", ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts", "optimal:horizon", "ts:forget=0.9"]
)
def test_a_planted_shortcut_is_not_taken(policy: str) -> None:
    """A category is good for 20 rounds and bad for 20, known 6 rounds later: its first
    bad rounds are all accepted.
    """
    rounds, turn, delay, per = 40, 20, 6, 5
    rows = [
        Row(t, 0, t + delay, float(t <= turn)) for t in range(1, rounds + 1) for _ in range(per)
    ]
    rows += [Row(t, 1, t + delay, 1.0) for t in range(1, rounds + 1)]
    world = World(rows, rounds, ("turns", "pays"), 0.5)
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in world.names]
    twin = world.with_rows([replace(row, reward=1.0) for row in rows])  # in which it stays good
    # The first bad outcome is known in round 27 = 21 + 6, after its decision.
    until = turn + delay + 1
    for seed in range(10):
        found, good = (
            replay(it.clients(), categories, pb.Policy.parse(policy), seed=seed)
            for it in (world, twin)
        )
        np.testing.assert_array_equal(found.accepted[:until], good.accepted[:until])
        profit = found.by_cell(world.clients(), world.clients().profit)[turn:until, 0]
        if not policy.startswith("ts"):
            assert profit.sum() == -0.5 * per * (delay + 1)
    seen_at_once = replay(
        world.with_rows([replace(row, known=row.round) for row in rows]).clients(),
        categories,
        pb.Policy.parse("kl-ucb+:forget=0.7"),
        seed=1,
    )
    assert not seen_at_once.accepted[turn + delay, 0], (
        "a policy that knew at once would have stopped by then"
    )


# ------------------------------------------------------------------------ the simulator


@pytest.mark.statistical
@pytest.mark.parametrize("arrivals", ["three", "one plus Poisson"])
def test_simulated_clients_in_files_give_the_simulators_numbers(
    tmp_path: Path, arrivals: str
) -> None:
    """Clients of a law, written to CSV files and replayed, lose what the simulator
    says, on the average.

    Regret, profit and the accepted rounds of each category are compared, for each
    policy: 15 comparisons of two means at 4.5 standard errors, so one false alarm in
    about 10 000 seeds.
    """
    files, rounds, runs = (400, 60, 4_000) if SOAK else (100, 40, 2_000)
    means, threshold = {"a": 0.3, "b": 0.45, "c": 0.6}, 0.4
    policies = ["kl-ucb", "ts", "optimal:horizon"]
    rng = np.random.default_rng(8)
    found: dict[str, list[list[float]]] = {name: [] for name in policies}
    path = tmp_path / "clients.csv"
    for number in range(files):
        many = np.full((rounds, 3), 3) if arrivals == "three" else 1 + rng.poisson(2.0, (rounds, 3))
        lines = ["round,group,reward"]
        for t in range(rounds):
            for k, (name, mean) in enumerate(means.items()):
                lines += [f"{t + 1},{name},{int(x)}" for x in rng.random(int(many[t, k])) < mean]
        path.write_text("\n".join(lines), encoding="utf-8")
        layout: dict[str, Any] = {
            "category": "group",
            "time": "round",
            "reward": "reward",
            "cost": threshold,
        }
        numbers: dict[str, Any] = {"seed": number + 1, "seeds": 1, "replays": 0, "shuffles": 0}
        result = pb.backtest(path, policies=policies, **layout, **numbers)
        for name in policies:
            accepted = result[name].accepted
            assert accepted is not None
            gaps = np.array(list(means.values())) - threshold
            regret = float((many * np.where(gaps > 0.0, 1.0 - accepted, -accepted) * gaps).sum())
            found[name].append([regret, result[name].profit, *accepted.sum(axis=0).tolist()])
    clients: Any = 3 if arrivals == "three" else pb.OnePlusPoisson(rate=2)
    truths = [
        pb.Truth(pb.Category(name, pb.Bernoulli(), threshold=threshold), mean=mean, clients=clients)
        for name, mean in means.items()
    ]
    simulated = pb.simulate(
        pb.Scenario("the same", truths), policies, horizon=rounds, runs=runs, seed=5
    )
    for name in policies:
        curve, values = simulated[name], np.array(found[name])
        expected = [curve.regret[-1], curve.mean("total_profit")[0], *curve.accepted_rounds[:, -1]]
        theirs = [curve.stderr[-1], curve.error("total_profit")[0], *curve.error("accepted")[:, -1]]
        error = np.sqrt(values.var(axis=0, ddof=1) / files + np.square(theirs))
        assert (abs(values.mean(axis=0) - expected) <= 4.5 * error + 1e-9).all(), (
            name,
            values.mean(axis=0),
            expected,
        )
        assert values[:, 0].mean() > 5 * error[0], "there is something to compare"


# -------------------------------------------------------------------------------- edges


def test_one_client_one_category_and_empty_rounds() -> None:
    world = World([Row(2, 0, 2, 1.0)], 4, ("a", "b"), 0.5)
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in world.names]
    for policy in ("kl-ucb", "ts", "optimal:horizon", "kl-ucb:forget=0.9"):
        check_by_hand(world, categories, policy, 1)
    found = replay(world.clients(), categories, pb.KLUCB(), seed=1)
    assert found.by_cell(world.clients()).tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]


def test_an_illegal_promise_is_refused() -> None:
    world = World(
        [Row(1, 0, 3, 1.0, promised=2.0), Row(3, 0, 3, 0.0)], 3, ("a",), 0.5, ("promised",)
    )
    with pytest.raises(pb.errors.RewardError, match="promised"):
        replay(
            world.clients(),
            [pb.Category("a", pb.Bernoulli(), threshold=0.5)],
            pb.KLUCB(),
            seed=1,
            late=OpenTerms(2, "evenly"),
        )


def test_shuffled_time_keeps_counts_delays_and_totals() -> None:
    rng = np.random.default_rng(3)
    world = draw_world(rng, rng.random, threshold=0.5, delay=5, more=("amount", "promised"))
    clients = world.clients()
    mixed, again, other = (
        clients.shuffled(seed, number) for seed, number in ((1, 0), (1, 0), (1, 1))
    )
    assert (mixed.round == again.round).all()
    assert (mixed.reward == again.reward).all()
    assert not np.array_equal(mixed.reward, other.reward)
    np.testing.assert_array_equal(np.bincount(mixed.round), np.bincount(clients.round))

    def table(it: SingleClients) -> pd.DataFrame:
        never = it.known > 10**6
        delay = np.where(never, -1, it.known.astype(np.int64) - it.round)
        columns = {
            "category": it.category,
            "delay": delay,
            "reward": it.reward,
            "profit": it.profit,
        }
        frame = pd.DataFrame(columns | {"amount": it.amount, "promised": it.promised})
        return frame.sort_values(list(frame.columns), ignore_index=True)

    pd.testing.assert_frame_equal(table(mixed), table(clients))
    assert (mixed.known >= mixed.round).all()
    for t in range(1, clients.rounds + 1):
        part = mixed.known_in(t)
        assert set(range(part.start, part.stop)) == set(np.flatnonzero(mixed.known == t).tolist())
