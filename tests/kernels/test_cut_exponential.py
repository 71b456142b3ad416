"""Exponential rewards cut at a bound, drawn many at once, against rewards drawn one by
one with NumPy.

Two-sample Kolmogorov-Smirnov tests and comparisons of means, each with a false-alarm
rate of ALARM = 1e-7: fewer than 100 of them, so that a false alarm would be seen for
one seed in 100 000.
"""

import numpy as np
import pytest
from numba import njit
from scipy import stats

import profitable as pb
from profitable.kernels import cut_exponential as pieces
from profitable.kernels.rewards import draw_batch
from profitable.kernels.rounds import accept_round
from profitable.kernels.run_evidence import resolve
from profitable.kernels.run_record import RUN, Feed, new_sample
from profitable.simulation.kernel_input import KernelInput, make_input
from tests.simulation.worlds import single

pytestmark = pytest.mark.statistical
ALARM = 1e-7
DRAWS = 20_000
# clients, mean, bound: cut often, sometimes and hardly ever; pieces of 20 to 10^11
# clients.
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


def input_of(policy: pb.Policy, mean: float, bound: float, clients: int = 1) -> KernelInput:
    truth = single(pb.Exponential(), mean, 1.2 * mean, clients, bound)
    given = make_input(policy, truth, horizon=100, every_reward=False)
    assert given.problem.truth.feed == Feed.PIECES
    return given


def one_round(rng: np.random.Generator, given: KernelInput, draws: int) -> np.ndarray:
    """Many runs after one accepted round."""
    runs, tables = np.zeros(draws, dtype=RUN), given.tables(np.array([100]), draws)
    accept_round(rng, given.problem, tables, 0, np.ones(draws, dtype=np.bool_), runs)
    return runs


@njit
def two_batches_resolved(rng, signal, problem, cells, clients, runs, out):
    """Single rewards that are asked for after two batches: as many as there are, [runs,
    2 clients].
    """
    for place in range(runs.size):
        run = runs[place]
        sample = new_sample(cells, True)
        for _ in range(2):
            sample = draw_batch(rng, problem.truth, cells, clients, run, sample, True)
        sample = resolve(rng, signal, problem, run, sample)
        column = 0
        for i in range(run.kept):
            for _ in range(int(sample[1, i])):
                out[place, column] = sample[0, i]
                column += 1


def rewards(clients: int, mean: float, draws: int = DRAWS) -> np.ndarray:
    return np.random.default_rng(clients).exponential(mean, (draws, clients))


def same(drawn: np.ndarray, direct: np.ndarray) -> None:
    assert stats.ks_2samp(drawn, direct, method="asymp").pvalue > ALARM
    error = np.sqrt(drawn.var() / drawn.size + direct.var() / direct.size)
    assert abs(drawn.mean() - direct.mean()) <= stats.norm.isf(0.5 * ALARM) * error


@pytest.mark.parametrize(("clients", "mean", "bound"), CASES)
def test_sums(clients: int, mean: float, bound: float) -> None:
    """The sum as it is seen, the revenue, and both together."""
    runs = one_round(
        np.random.default_rng(5), input_of(pb.KLBernoulliUCB(), mean, bound, clients), DRAWS
    )
    direct = rewards(clients, mean)
    total, revenue = np.minimum(direct, bound).sum(axis=1), direct.sum(axis=1)
    same(runs["total"], total)
    same(runs["revenue"], revenue)
    same(runs["revenue"] - 0.8 * runs["total"], revenue - 0.8 * total)


@pytest.mark.parametrize(("clients", "mean", "bound"), CASES)
def test_rewards_drawn_later(clients: int, mean: float, bound: float) -> None:
    """Single rewards that are asked for after two batches: they add up, and have the
    right law.
    """
    given, draws = input_of(pb.KLEmpUCB(), mean, bound), 4_000
    seen, runs, signal = (
        np.zeros((draws, 2 * clients)),
        np.zeros(draws, dtype=RUN),
        np.zeros(2, dtype=np.int64),
    )
    problem = given.problem._replace(threshold=np.inf)  # so that the single rewards matter
    two_batches_resolved(
        np.random.default_rng(6), signal, problem, given.cells[0], clients, runs, seen
    )
    np.testing.assert_allclose(seen.sum(axis=1), runs["total"], rtol=1e-12)
    np.testing.assert_allclose((seen**2).sum(axis=1), runs["squares"], rtol=1e-12)
    direct = np.minimum(rewards(2 * clients, mean, draws), bound)
    for summary in (np.sum, np.max, np.min, np.var):
        same(summary(seen, axis=1), summary(direct, axis=1))


@pytest.mark.parametrize(
    ("number", "total", "bound"), [(2, 1.5, 1.0), (5, 4.0, 1.5), (30, 25.0, 4.0), (9, 30.0, 4.0)]
)
def test_the_largest_spacing(number: int, total: float, bound: float) -> None:
    """Whitworth's sum as a draw, against spacings; the last case is beyond the guard
    against cancellation.
    """
    rng = np.random.default_rng(7)
    hits = sum(pieces.none_beyond(rng, number, total, bound) for _ in range(DRAWS))
    spacings = rng.exponential(size=(DRAWS, number))
    direct = int((spacings.max(axis=1) * total <= bound * spacings.sum(axis=1)).sum())
    assert stats.fisher_exact([[hits, DRAWS - hits], [direct, DRAWS - direct]]).pvalue > ALARM


def test_many_rewards_take_no_time() -> None:
    """10^9 clients at once, a thousand times: the mean of what is seen is that of cut
    rewards.
    """
    runs = one_round(
        np.random.default_rng(8), input_of(pb.KLGaussianUCB(), 4.0, 100.0, 10**9), 1000
    )
    assert runs["total"].sum() / 1e12 == pytest.approx(
        4.0 * -np.expm1(-25.0), rel=6.0 / np.sqrt(1e12)
    )
    assert runs["revenue"].sum() / 1e12 == pytest.approx(4.0, rel=6.0 / np.sqrt(1e12))
