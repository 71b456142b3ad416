"""Exponential rewards cut at a bound, drawn many at once, against rewards drawn one by one with NumPy.

Two-sample Kolmogorov-Smirnov tests and comparisons of means, each with a false-alarm rate of ALARM = 1e-7: fewer than
100 of them, so that a false alarm would be seen for one seed in 100 000.
"""

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.kernels import cut_exponential as pieces
from profitable.kernels import lazy, world
from profitable.kernels import rounds as run
from profitable.simulation.kernel_input import Plan, make_plan
from tests.simulation.worlds import single

pytestmark = pytest.mark.statistical
ALARM = 1e-7
DRAWS = 20_000
# clients, mean, bound: cut often, sometimes and hardly ever; pieces of 20 to 10^11 clients.
CASES = [
    (1, 4.0, 12.0),
    (2, 4.0, 12.0),
    (5, 4.0, 12.5),
    (19, 4.0, 12.0),
    (300, 4.0, 12.0),
    (40, 4.0, 16.0),
    (2000, 4.0, 30.0),
    (7, 1.0, 4.0),
    (60, 0.5, 100.0),
]


def plan_of(policy: pb.Policy, mean: float, bound: float) -> Plan:
    plan = make_plan(policy, single(pb.Exponential(), mean, 1.2 * mean, 1, bound), horizon=100, every_reward=False)
    assert plan.truth[world.FEED] == world.PIECES
    return plan


def rewards(clients: int, mean: float, draws: int = DRAWS) -> np.ndarray:
    return np.random.default_rng(clients).exponential(mean, (draws, clients))


def same(drawn: np.ndarray, direct: np.ndarray) -> None:
    assert stats.ks_2samp(drawn, direct, method="asymp").pvalue > ALARM
    error = np.sqrt(drawn.var() / drawn.size + direct.var() / direct.size)
    assert abs(drawn.mean() - direct.mean()) <= stats.norm.isf(0.5 * ALARM) * error


@pytest.mark.parametrize(("clients", "mean", "bound"), CASES)
def test_sums(clients: int, mean: float, bound: float) -> None:
    """The sum as it is seen, the revenue, and both together."""
    rng, plan = np.random.default_rng(5), plan_of(pb.KLBernoulliUCB(), mean, bound)
    states = np.zeros((DRAWS, world.STATE_ROWS))
    for state in states:
        world.draw_batch(rng, plan.truth, plan.cells, clients, state, np.ones((2, 1)), 0, False)
    direct = rewards(clients, mean)
    total, revenue = np.minimum(direct, bound).sum(axis=1), direct.sum(axis=1)
    same(states[:, world.TOTAL], total)
    same(states[:, world.REVENUE], revenue)
    same(states[:, world.REVENUE] - 0.8 * states[:, world.TOTAL], revenue - 0.8 * total)


@pytest.mark.parametrize(("clients", "mean", "bound"), CASES)
def test_rewards_drawn_later(clients: int, mean: float, bound: float) -> None:
    """Single rewards that are asked for after two batches: they add up, and have the right law."""
    rng, plan = np.random.default_rng(6), plan_of(pb.KLEmpUCB(), mean, bound)
    draws = 4_000
    seen = np.zeros((draws, 2 * clients))
    signal = np.zeros(2, dtype=np.int64)
    for row in seen:
        state, diary = np.zeros(world.STATE_ROWS), np.zeros(run.DIARY_ROWS, dtype=np.int64)
        sample = run.new_sample(plan.cells, True)
        for _ in range(2):
            numbers = (plan.truth, plan.cells, clients, state, sample, diary[run.SIZE], True)
            sample, diary[run.SIZE] = world.draw_batch(rng, *numbers)
        sample = lazy.resolve(rng, signal, plan.view, plan.truth, state, sample, diary)
        values = sample[:, : diary[run.SIZE]]
        row[:] = np.repeat(values[0], values[1].astype(int))
        assert row.sum() == pytest.approx(state[world.TOTAL], rel=1e-12)
        assert (row**2).sum() == pytest.approx(state[world.SQUARES], rel=1e-12)
    direct = np.minimum(rewards(2 * clients, mean, draws), bound)
    for summary in (np.sum, np.max, np.min, np.var):
        same(summary(seen, axis=1), summary(direct, axis=1))


@pytest.mark.parametrize(("number", "total", "bound"), [(2, 1.5, 1.0), (5, 4.0, 1.5), (30, 25.0, 4.0), (9, 30.0, 4.0)])
def test_the_largest_spacing(number: int, total: float, bound: float) -> None:
    """Whitworth's sum as a draw, against spacings; the last case is beyond the guard against cancellation."""
    rng = np.random.default_rng(7)
    hits = sum(pieces.none_beyond(rng, number, total, bound) for _ in range(DRAWS))
    spacings = rng.exponential(size=(DRAWS, number))
    direct = int((spacings.max(axis=1) * total <= bound * spacings.sum(axis=1)).sum())
    assert stats.fisher_exact([[hits, DRAWS - hits], [direct, DRAWS - direct]]).pvalue > ALARM


def test_many_rewards_take_no_time() -> None:
    """10^15 clients at once: the mean of what is seen is that of cut rewards."""
    rng, plan = np.random.default_rng(8), plan_of(pb.KLGaussianUCB(), 4.0, 100.0)
    state = np.zeros(world.STATE_ROWS)
    world.draw_batch(rng, plan.truth, plan.cells, 10**15, state, np.ones((2, 1)), 0, False)
    assert state[world.TOTAL] / 1e15 == pytest.approx(4.0 * -np.expm1(-25.0), rel=6.0 / np.sqrt(1e15))
    assert state[world.REVENUE] / 1e15 == pytest.approx(4.0, rel=6.0 / np.sqrt(1e15))
