"""Off-policy evaluation: against loops over the clients, against every log that could
have been, and in simulation.

All draws have fixed seeds.  A comparison with a standard error allows 4 of them: each
gives a false alarm with probability 6e-5 for a fresh seed, and there are 18 of them.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.past.past import SingleClients
from profitable.replay.off_policy import (
    AcceptanceLog,
    OffPolicy,
    doubly_robust,
    effective_size,
    evaluate,
    inverse_propensity,
    support,
)

ERRORS = 4.0
Row = tuple[int, int, float, bool, float]  # round, category, profit, accepted, propensity


def make(rounds: int, names: tuple[str, ...], rows: list[Row]) -> Any:
    """Clients whose outcomes are known at once."""
    round_, category, profit, logged, propensity = zip(*rows, strict=True)
    return SingleClients.of(
        names=names,
        labels=tuple(f"2026-{t + 1:02}" for t in range(rounds)),
        round=round_,
        category=category,
        known=round_,
        reward=profit,
        profit=profit,
        logged=logged,
        propensity=propensity,
    )


def random_log(seed: int, by_cell: bool) -> Any:
    draw = np.random.default_rng(seed)
    rows: list[Row] = []
    for t in range(1, 7):
        for k in range(3):
            p, z = draw.uniform(0.2, 1.0), None
            for _ in range(draw.integers(0, 5)):
                if not by_cell:
                    p = draw.uniform(0.2, 1.0)
                if z is None or not by_cell:
                    z = bool(draw.random() < p)
                rows.append((t, k, float(draw.normal()) if z else 0.0, z, p))
    return make(6, ("a", "b", "c"), rows)


# Formulas written anew, client by client


def by_loops(
    clients: Any, table: np.ndarray, weights: np.ndarray
) -> tuple[float, float | None, float, float]:
    """Inverse propensity, self-normalised, doubly robust, effective sample size (the
    last without weights).
    """
    inverse, robust, total, squares = 0.0, 0.0, 0.0, 0.0
    parts = {k: [0.0, 0.0, 0.0] for k in range(len(clients.names))}
    for i in range(len(clients)):
        r, k, z = clients.round[i], clients.category[i], clients.logged[i]
        p, x, a, w = clients.propensity[i], clients.profit[i], float(table[r - 1, k]), weights[i]
        past, seen = 0.0, 0.0
        for j in range(len(clients)):
            if clients.category[j] == k and clients.round[j] < r and clients.logged[j]:
                past, seen = past + weights[j] * clients.profit[j], seen + weights[j]
        m = past / seen if seen else 0.0
        robust += a * w * m
        parts[k][0] += a * w
        if z:
            inverse += a * w * x / p
            robust += a * w * (x - m) / p
            parts[k][1] += a * w / p
            parts[k][2] += a * w * x / p
            total, squares = total + a / p, squares + (a / p) ** 2
    shared = [(n, w, s) for n, w, s in parts.values() if n]
    normalised = sum(n * s / w for n, w, s in shared) if all(w for _, w, _ in shared) else None
    return inverse, normalised, robust, total**2 / squares


@pytest.mark.parametrize("by_cell", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_estimates_are_those_of_the_formulas(seed: int, by_cell: bool) -> None:
    clients, draw = random_log(seed, by_cell), np.random.default_rng(99)
    log = AcceptanceLog.of(clients)
    assert log.by_cell == by_cell
    for table in (draw.random((6, 3)) < 0.8, draw.integers(1, 5, (6, 3)) / 4.0, np.ones((6, 3))):
        found = evaluate(log, table)
        inverse, normalised, robust, size = by_loops(clients, table, np.ones(len(clients)))
        assert found.inverse_propensity == pytest.approx(inverse, rel=1e-12, abs=1e-12)
        assert found.self_normalised == (
            normalised and pytest.approx(normalised, rel=1e-12, abs=1e-12)
        )
        assert found.doubly_robust == pytest.approx(robust, rel=1e-12, abs=1e-12)
        assert found.effective_size == pytest.approx(size, rel=1e-12)
        assert found.clients == pytest.approx(
            sum(table[r - 1, k] for r, k in zip(clients.round, clients.category))
        )
        # Above 0, so that each category keeps a weight.
        weights = draw.poisson(1.0, len(clients)).astype(float) + 1.0
        again = evaluate(log, table, log.tables(weights))
        inverse, normalised, robust, _ = by_loops(clients, table, weights)
        assert [again.inverse_propensity, again.doubly_robust] == pytest.approx(
            [inverse, robust], rel=1e-12, abs=1e-12
        )
        assert again.self_normalised == (
            normalised and pytest.approx(normalised, rel=1e-12, abs=1e-12)
        )


def test_a_client_with_weight_two_is_two_clients() -> None:
    clients, draw = random_log(3, by_cell=False), np.random.default_rng(4)
    weights, table = draw.poisson(1.0, len(clients)), draw.random((6, 3)) < 0.7
    rows = zip(
        *(x.tolist() for x in (clients.round, clients.category, clients.profit, clients.logged))
    )
    copies = [
        (*row, p)
        for row, p, w in zip(rows, clients.propensity.tolist(), weights, strict=True)
        for _ in range(w)
    ]
    once, twice = (
        AcceptanceLog.of(clients).tables(weights),
        AcceptanceLog.of(make(6, clients.names, copies)).tables(),
    )
    for estimate in (inverse_propensity, doubly_robust, effective_size):
        assert estimate(table, once) == pytest.approx(estimate(table, twice), rel=1e-12)


# Every log that could have been


def all_logs(
    sizes: list[int], profits: np.ndarray, by_cell: bool
) -> Iterator[tuple[float, Any, np.ndarray, np.ndarray]]:
    """One category, and a log that learns: probability, log, decisions of the policy,
    profit by round.

    The log's propensity falls with the losses that it has seen.  The policy sees what
    the log accepted of what it accepts itself, and stops at the second loss.
    """
    asked = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    draws = len(sizes) if by_cell else len(asked)
    for bits in itertools.product([False, True], repeat=draws):
        chance, losses, seen = 1.0, 0, 0
        rows: list[Row] = []
        table = np.zeros((len(sizes), 1), bool)
        for t in range(1, len(sizes) + 1):
            table[t - 1] = seen < 2
            here = np.flatnonzero(asked == t)
            z = [bits[t - 1]] * here.size if by_cell else [bits[i] for i in here]
            base = 0.9 / (1 + losses)
            p = (
                [base] * here.size
                if by_cell
                else [base * (1.0 - 0.1 * j) for j in range(here.size)]
            )
            for one, q in zip(z[:1] if by_cell else z, p):
                chance *= q if one else 1.0 - q
            for i, one, q in zip(here, z, p, strict=True):
                rows.append((t, 0, profits[i] if one else 0.0, one, q))
                losses += one and profits[i] < 0
                seen += bool(one and profits[i] < 0 and table[t - 1, 0])
        value = np.array([profits[asked == t].sum() for t in range(1, len(sizes) + 1)])
        yield chance, make(len(sizes), ("a",), rows), table, value


def two_halves(clients: Any, table: np.ndarray) -> float:
    """The doubly robust estimate whose m is the mean of the other half."""
    half, total = np.arange(len(clients)) % 2, 0.0
    for i in range(len(clients)):
        other = (half != half[i]) & clients.logged
        m = clients.profit[other].mean() if other.any() else 0.0
        part = (clients.profit[i] - m) / clients.propensity[i] if clients.logged[i] else 0.0
        total += table[clients.round[i] - 1, 0] * (m + part)
    return total


@pytest.mark.parametrize("by_cell", [False, True])
def test_over_all_logs_the_mean_is_the_value_of_the_policy_that_sees_what_the_log_saw(
    by_cell: bool,
) -> None:
    sizes, profits = [2, 2, 2, 2], np.array([1.0, -1.0, -2.0, 0.5, -1.0, -3.0, 2.0, -1.0])
    sums = np.zeros(8)
    for chance, clients, table, by_round in all_logs(sizes, profits, by_cell):
        log = AcceptanceLog.of(clients)
        assert log.by_cell == by_cell or not by_cell
        tables, value = log.tables(), float(by_round[table[:, 0]].sum())
        inverse, robust = inverse_propensity(table, tables), doubly_robust(table, tables)
        halves = two_halves(clients, table)
        sums += chance * np.array(
            [1.0, value, inverse, robust, halves, (inverse - value) ** 2, (robust - value) ** 2, 0]
        )
        if log.by_cell == by_cell:  # a log of single draws can look like one of whole cells
            sums[7] += chance * (log.error(table) ** 2 - (inverse - value) ** 2)
        else:
            wrong = AcceptanceLog(**{**vars(log), "by_cell": by_cell})
            sums[7] += chance * (wrong.error(table) ** 2 - (inverse - value) ** 2)
    total, value, inverse, robust, halves = sums[:5]
    assert total == pytest.approx(1.0, abs=1e-12)
    assert inverse == pytest.approx(value, abs=1e-12)
    assert robust == pytest.approx(value, abs=1e-12)
    assert abs(halves - value) > 0.02  # why m is taken from the past
    assert sums[7] == pytest.approx(0.0, abs=1e-12)
    assert sums[6] < sums[5]  # here m helps


def test_the_example_of_the_module() -> None:
    """Four equally likely logs; the policy accepts until it sees a loss."""
    values, estimates = [], []
    for first, second in itertools.product([True, False], repeat=2):
        clients = make(2, ("a",), [(1, 0, -1.0, first, 0.5), (2, 0, -1.0, second, 0.5)])
        table = np.array([[True], [not first]])
        values.append(-float(table.sum()))
        estimates.append(inverse_propensity(table, AcceptanceLog.of(clients).tables()))
    assert values == [-1.0, -1.0, -2.0, -2.0]
    assert estimates == [-2.0, -2.0, -2.0, 0.0]


# In simulation: the log and the policy are agents.  Each category is a world of its own


WORLDS, ROUNDS, EACH = 4_000, 20, 3
THRESHOLD = 0.5


def names() -> list[str]:
    return [str(k) for k in range(WORLDS)]


def agent_of(policy: str, seed: int) -> pb.Agent:
    return pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=THRESHOLD) for name in names()],
        policy=policy,
        seed=seed,
    )


def play(
    agent: pb.Agent, rewards: np.ndarray, visible: Callable[[int, np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Decisions and propensities, [R, K].  An outcome is known one round after its
    client asked.

    `visible` says of which accepted categories the agent sees the outcomes.
    """
    table, chances = np.zeros((ROUNDS, WORLDS), bool), np.zeros((ROUNDS, WORLDS))
    for t in range(ROUNDS):
        decision = agent.decide()
        table[t], chances[t] = decision.accepted_mask, decision.propensity
        if t:
            seen = np.flatnonzero(visible(t - 1, table[t - 1]))
            agent.observe({str(k): rewards[t - 1, :, k] for k in seen.tolist()})
    return table, chances


@pytest.fixture(
    scope="module", params=[("ts:floor=0.05", "kl-ucb"), ("kl-ucb:floor=0.1", "ts")], ids=str
)
def world(request: pytest.FixtureRequest) -> tuple[AcceptanceLog, np.ndarray, np.ndarray]:
    """A log by the agent's own propensities; decisions of another agent over it; the
    profit of every cell, [R, K].
    """
    draw = np.random.default_rng(21)
    mean = draw.choice([0.3, 0.45, 0.6], WORLDS)
    rewards = (draw.random((ROUNDS, EACH, WORLDS)) < mean).astype(float)
    log, policy = request.param
    logged, chances = play(agent_of(log, 5), rewards, lambda t, table: table)
    table, _ = play(agent_of(policy, 6), rewards, lambda t, mask: mask & logged[t])
    round_, _, category = np.indices(rewards.shape)
    clients = SingleClients.of(
        names=names(),
        labels=[str(t) for t in range(ROUNDS)],
        round=round_.ravel() + 1,
        category=category.ravel(),
        known=round_.ravel() + 2,
        reward=rewards.ravel(),
        profit=(rewards - THRESHOLD).ravel(),
        logged=np.repeat(logged[:, None], EACH, axis=1).ravel(),
        propensity=np.repeat(chances[:, None], EACH, axis=1).ravel(),
    )
    return AcceptanceLog.of(clients), table, (rewards - THRESHOLD).sum(axis=1)


@pytest.mark.statistical
def test_in_simulation_the_estimates_have_the_mean_of_the_truth(
    world: tuple[AcceptanceLog, np.ndarray, np.ndarray],
) -> None:
    log, table, profit = world
    tables = log.tables()
    assert log.by_cell
    assert 0.0 < table.mean() < 1.0
    truth = table * profit
    for sums in (tables.weighted, tables.robust):
        gaps = (table * sums - truth).sum(axis=0)  # one for each world
        assert abs(gaps.mean()) <= ERRORS * gaps.std() / math.sqrt(WORLDS)
    # The same test sees it when the weights are left out, or when refused clients count
    # as 0.
    plain = (table * log.clients.by_cell(log.clients.profit * log.clients.logged) - truth).sum(
        axis=0
    )
    assert abs(plain.mean()) > 2.0 * ERRORS * plain.std() / math.sqrt(WORLDS)


@pytest.mark.statistical
def test_in_simulation_the_errors_are_as_large_as_they_say(
    world: tuple[AcceptanceLog, np.ndarray, np.ndarray],
) -> None:
    log, table, profit = world
    found: Any = evaluate(log, table)
    truth = float((table * profit).sum())
    assert found.refusal is None
    assert not [text for text in found.warnings if "fit" in text]
    assert abs(found.inverse_propensity - truth) <= ERRORS * found.inverse_propensity_error
    assert abs(found.doubly_robust - truth) <= ERRORS * found.doubly_robust_error
    assert found.doubly_robust_error < found.inverse_propensity_error
    tables = log.tables()
    for sums, error in (
        (tables.weighted, found.inverse_propensity_error),
        (tables.robust, found.doubly_robust_error),
    ):
        squares = (table * (sums - profit)).sum(axis=0) ** 2  # worlds are independent
        assert abs(squares.sum() - error**2) <= 2.0 * ERRORS * squares.std() * math.sqrt(WORLDS)


@pytest.mark.statistical
@pytest.mark.parametrize("by_cell", [False, True])
def test_bootstrap_weights_vary_as_new_clients_and_new_draws_do(by_cell: bool) -> None:
    """Clients with x = 1: over new draws the sum of z / p has variance n / p, or n +
    n^2 (1 - p) / p in one cell.
    """
    rounds, size, p, repetitions = 40, 5, 0.4, 4_000
    draw = np.random.default_rng(8)
    z = draw.random((rounds, size)) < p
    z[:, :] = z[:, :1] if by_cell else z
    rows = [(t + 1, 0, 1.0, bool(z[t, i]), p) for t in range(rounds) for i in range(size)]
    log, table = AcceptanceLog.of(make(rounds, ("a",), rows)), np.ones((rounds, 1))
    weights = [log.draw_weights(draw) for _ in range(repetitions)]
    found = np.array([inverse_propensity(table, log.tables(w)) for w in weights])
    one = size + size**2 * (1.0 - p) / p if by_cell else size / p
    expected = one / (size / p) * float(z.sum()) / p**2  # given which clients the log accepted
    assert abs(found.mean() - z.sum() / p) <= ERRORS * math.sqrt(expected / repetitions)
    assert found.var() == pytest.approx(expected, rel=ERRORS * math.sqrt(2.5 / repetitions))
    flat = np.concatenate(weights)
    assert abs(flat.mean() - 1.0) <= ERRORS * math.sqrt(size / flat.size)


# What holds without a law


def test_self_normalised_is_exact_where_all_clients_bring_the_same() -> None:
    clients = random_log(1, by_cell=False)
    rows = zip(
        clients.round.tolist(),
        clients.category.tolist(),
        clients.logged.tolist(),
        clients.propensity.tolist(),
    )
    same = make(6, ("a", "b", "c"), [(t, k, 2.0 + k, z, p) for t, k, z, p in rows])
    found: Any = evaluate(AcceptanceLog.of(same), np.ones((6, 3), bool))
    assert found.self_normalised == pytest.approx(same.profit.sum(), rel=1e-12)
    assert abs(found.inverse_propensity - same.profit.sum()) > 1.0


def test_a_log_that_accepted_everybody_for_certain_gives_the_profit_itself() -> None:
    rows = [(t, 0, float(t), True, 1.0) for t in (1, 2, 2, 3)]
    found = evaluate(AcceptanceLog.of(make(3, ("a",), rows)), np.array([[True], [True], [False]]))
    assert (found.inverse_propensity, found.self_normalised, found.doubly_robust) == (5.0, 5.0, 5.0)
    assert (found.inverse_propensity_error, found.doubly_robust_error, found.effective_size) == (
        0.0,
        0.0,
        3.0,
    )
    assert found.warnings == ()


def test_what_refused_clients_would_have_brought_is_never_read() -> None:
    clients, table = random_log(2, by_cell=True), np.ones((6, 3), bool)
    profit = np.where(clients.logged, clients.profit, np.nan)
    hidden = SingleClients(**{**vars(clients), "profit": profit, "reward": profit})
    assert evaluate(AcceptanceLog.of(hidden), table) == evaluate(AcceptanceLog.of(clients), table)


# Refusals and warnings


def told(rows: list[Row], table: list[list[float]]) -> Any:
    return evaluate(AcceptanceLog.of(make(len(table), ("cars", "shops"), rows)), np.array(table))


def numbers(found: OffPolicy) -> list[float | None]:
    return [found.inverse_propensity, found.self_normalised, found.doubly_robust]


BELOW = (
    "Below 30, their errors (±) are too small, and self-normalised is biased: go by the interval."
)
SHOPS = [(1, 1, 1.0, True, 0.5), (2, 1, 1.0, False, 0.5), (3, 1, 1.0, True, 0.5)]


def test_no_number_where_the_log_accepted_nobody_of_a_category() -> None:
    rows = [*SHOPS, (1, 0, 0.0, False, 0.5), (2, 0, 0.0, False, 0.5)]
    found = told(rows, [[0, 1], [1, 1], [1, 1]])
    assert numbers(found) == [None, None, None]
    assert found.refusal == (
        "The policy accepts category 'cars', and the log accepted nobody of it: "
        "there is no outcome to weight."
    )
    # Nobody of cars asked in round 3.
    assert told(rows, [[0, 1], [0, 1], [1, 1]]).inverse_propensity == 4.0


def test_without_refused_rows_only_inverse_propensity_is_defined() -> None:
    rows = [(t, 0, 1.0, True, 0.5) for t in range(1, 9)]
    found = told(rows, [[1, 1]] * 8)
    assert numbers(found) == [16.0, None, None]
    assert found.clients == 16.0
    assert found.warnings[0].startswith(
        "Refused clients are missing from the log: everybody in it was accepted"
    )
    # Six draws of 1/2 in a row happen in one log of 64; with p = 0.999 it is nothing to
    # speak of.
    assert told(rows[:6], [[1, 1]] * 6).doubly_robust is not None
    assert (
        told([(t, 0, 1.0, True, 0.999) for t in range(1, 9)], [[1, 1]] * 8).self_normalised == 8.0
    )


def test_self_normalised_needs_a_weight_where_the_policy_accepts() -> None:
    rows = [*SHOPS, (1, 0, 1.0, True, 0.5), (2, 0, 0.0, False, 0.5)]
    found = told(rows, [[0, 1], [1, 1], [1, 1]])
    assert numbers(found) == [4.0, None, 4.0 + 1.0 - 1.0 + 1.0]
    assert "self-normalised is not defined" in found.warnings[-1]


def test_large_weights_are_pointed_at() -> None:
    rows = [(t, 0, 1.0, t == 1, 0.01) for t in range(1, 101)]
    found = told(rows, [[1, 1]] * 100)
    assert found.effective_size == pytest.approx(1.0)
    assert found.warnings == (
        (
            "The weights are large: the 100 clients whom the policy accepts are known as well as 1 "
            "would be."
        ),
        f"The estimates rest on about 1.0 draw of the log, most of all in category 'cars'. {BELOW}",
    )
    calm = told([(1 + i % 100, 0, 1.0, i % 2 == 0, 0.5) for i in range(600)], [[1, 1]] * 100)
    assert (calm.effective_size, calm.warnings) == (pytest.approx(300.0), ())


def test_few_draws_are_pointed_at_however_many_clients_there_are() -> None:
    rows = [(t, 0, 1.0, t <= 2, 0.5) for t in range(1, 5) for _ in range(1_000)]
    found = told(rows, [[1, 1]] * 4)
    assert found.effective_size == pytest.approx(2_000.0)
    (text,) = found.warnings
    assert text == (
        "The estimates rest on about 2.0 draws of the log, most of all in category 'cars'. "
        f"The log drew once for all clients of a category and round. {BELOW}"
    )
    certain = [(t, 1, 1.0, True, 1.0) for t in range(1, 5) for _ in range(10_000)]
    assert told([*rows, *certain], [[1, 1]] * 4).warnings == ()  # the draws matter little
    assert told([*rows, *certain], [[1, 0]] * 4).warnings == found.warnings


def test_support_is_seen_where_the_log_accepted_nobody() -> None:
    """Twenty rounds at the floor in which nobody was accepted: all weights that are
    there are 1, and the errors 0.
    """
    rows = [(t, 0, 1.0, t <= 20, 1.0 if t <= 20 else 0.05) for t in range(1, 41) for _ in range(5)]
    log, table = AcceptanceLog.of(make(40, ("cars", "shops"), rows)), np.ones((40, 2))
    found: Any = evaluate(log, table)
    assert (found.inverse_propensity_error, found.effective_size) == (0.0, pytest.approx(100.0))
    draws, noise, category = support(log, table)
    assert draws == pytest.approx(20 * 0.05)
    assert noise == pytest.approx(math.sqrt(20 * 5**2 * 19.0) / 200.0)
    assert category == "cars"
    assert any("about 1.0 draw of the log" in text for text in found.warnings)
    # Where it was certain.
    assert support(log, np.arange(40)[:, None] < np.array([20, 0])).draws == math.inf


def test_support_of_clients_who_were_drawn_one_by_one() -> None:
    """(sum v)^2 / sum(v^2 / p) with v = (1 - p) / p, by hand: 100 draws of 1/2 and 100
    of 1/4.
    """
    rows = [(1 + i % 100, 0, 1.0, i % 3 == 0, 0.5 if i < 100 else 0.25) for i in range(200)]
    found = support(AcceptanceLog.of(make(100, ("cars",), rows)), np.ones((100, 1)))
    assert found.draws == pytest.approx(
        (100 * 1.0 + 100 * 3.0) ** 2 / (100 * 1.0 / 0.5 + 100 * 9.0 / 0.25)
    )
    assert found.noise == pytest.approx(math.sqrt(400.0) / 200.0)


def test_a_log_that_does_not_fit_its_propensities_is_pointed_at() -> None:
    rows = [(1 + i % 100, 0, 1.0, i % 5 != 0, 0.5) for i in range(1_000)]
    found = told(rows, [[1, 1]] * 100)
    assert len(found.warnings) == 1
    assert found.warnings[0] == (
        "The log does not fit its propensities: it accepted 800 clients, and they say 500 "
        "give or take 50.  Some refused clients are missing, or the propensities are wrong."
    )
    alone = told([(t, 0, 1.0, t % 5 != 0, 0.5) for t in range(1, 101)], [[1, 1]] * 100)
    assert "accepted 80 clients, and they say 50 give or take 5." in alone.warnings[-1]


def test_a_policy_that_accepts_nobody_earns_nothing() -> None:
    found = told(SHOPS, [[0, 0]] * 3)
    assert numbers(found) == [0.0, 0.0, 0.0]
    assert (found.clients, found.effective_size, found.warnings) == (0.0, 0.0, ())
