"""Laws: Thompson's acceptance, posterior draws, sums drawn at once.

Each test has a fixed seed and a false-alarm rate of 1e-6 (Kolmogorov-Smirnov or an
exact binomial test); there are fewer than 100 of them, so the whole file would raise a
false alarm for one seed in 10 000.
"""

import math

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.kernels.draw import draw_totals
from profitable.kernels.law import POISSON, Law
from tests.matrix import FAMILIES, FamilyRow

pytestmark = pytest.mark.statistical
ALARM = 1e-6
every_family = pytest.mark.parametrize("row", FAMILIES, ids=str)


@every_family
def test_posterior_draws_follow_the_survival_function(row: FamilyRow) -> None:
    posterior = row.posterior(row.around(row.typical, 7))
    draws = posterior.draw(np.random.default_rng(11), size=4_000)
    # 1 - survival is uniform under the posterior; a Pareto posterior has an atom at an
    # infinite mean.
    uniform = np.array(
        [1.0 - posterior.survival(draw) if draw < math.inf else math.nan for draw in draws]
    )
    finite = uniform[~np.isnan(uniform)]
    atom = posterior.survival(1e15) if isinstance(row.family, pb.Pareto) else 0.0
    assert stats.kstest(finite, "uniform", args=(0.0, 1.0 - atom)).pvalue > ALARM
    assert stats.binomtest(int(np.isnan(uniform).sum()), draws.size, atom).pvalue > ALARM


@every_family
def test_thompson_accepts_with_its_propensity_and_like_a_posterior_draw(row: FamilyRow) -> None:
    rewards = row.rewards(7, seed=2)
    posterior = row.posterior(rewards.tolist())
    threshold = posterior.quantile(0.4)
    agent = pb.Agent([row.category(threshold)], policy=pb.ThompsonSampling(), seed=23)
    agent.decide()
    agent.observe("it", rewards)
    decisions = [agent.decide() for _ in range(20_000)]
    accepted = sum(decision.accepts("it") for decision in decisions)
    propensity = decisions[0]["it"].propensity
    assert propensity == pytest.approx(0.6, rel=1e-9)
    assert stats.binomtest(accepted, len(decisions), propensity).pvalue > ALARM
    draws = posterior.draw(np.random.default_rng(29), size=20_000)
    assert stats.binomtest(int((draws >= threshold).sum()), draws.size, propensity).pvalue > ALARM


def _statistics(row: FamilyRow, rewards: np.ndarray) -> list[float]:
    return [row.statistic(reward) for reward in rewards.tolist()]


@every_family
def test_thompson_index_is_a_posterior_draw(row: FamilyRow) -> None:
    agent = pb.Agent([row.category()], policy=pb.ThompsonSampling(), seed=31)
    agent.decide()
    rewards = row.rewards(7, seed=3)
    agent.observe("it", rewards)
    indices = np.array([agent.decide()["it"].index for _ in range(1_500)])
    posterior = row.posterior(rewards.tolist())
    draws = posterior.draw(np.random.default_rng(37), size=1_500)
    largest = 1e9  # a Pareto mean may be infinite
    assert stats.ks_2samp(np.minimum(indices, largest), np.minimum(draws, largest)).pvalue > ALARM


@every_family
def test_sums_drawn_at_once_have_the_law_of_single_rewards(row: FamilyRow) -> None:
    rng = np.random.default_rng(41)
    at_once = row.drawn.draw_total(rng, mean=row.mean, clients=6, size=4_000)
    one_by_one = np.array(
        [
            math.fsum(_statistics(row, row.drawn.draw(rng, mean=row.mean, size=6)))
            for _ in range(4_000)
        ]
    )
    assert stats.ks_2samp(at_once, one_by_one).pvalue > ALARM
    expected = row.family.view().statistic.of_mean(row.mean)
    assert stats.ttest_1samp(at_once / 6, expected).pvalue > ALARM


@every_family
def test_rewards_follow_scipy_s_law(row: FamilyRow) -> None:
    rewards = row.rewards(5_000, seed=43)
    law = row.law(row.of_mean(row.mean)) if row.law else None
    if law is None:  # no law of its own: the two extreme points
        assert set(rewards.tolist()) == {-1.0, 3.0}
        assert stats.binomtest(int((rewards == 3.0).sum()), rewards.size, 1.5 / 4.0).pvalue > ALARM
    elif row.family.support.whole:
        values, counts = np.unique(rewards, return_counts=True)
        expected = law.pmf(values) * rewards.size
        kept = expected >= 5
        observed = np.append(counts[kept], rewards.size - counts[kept].sum())
        theory = np.append(expected[kept], rewards.size - expected[kept].sum())
        present = theory > 1e-6
        assert stats.chisquare(observed[present], theory[present]).pvalue > ALARM
    else:
        assert stats.kstest(rewards, law.cdf).pvalue > ALARM
    assert law is None or float(law.mean()) == pytest.approx(row.mean, rel=1e-12)


@pytest.mark.parametrize("mean", [10.0, 12.0, 20.0, 60.0, 700.0, 1e6, 1e12])
def test_large_poisson_numbers_are_those_of_numpy(mean: float) -> None:
    """The same algorithm: beyond the table of factorials, too, and where 0 is rare.

    Numbers between -1 and 0 are refused; rounded towards 0, they would double P(0).
    """
    out = np.empty(1_000_000 if mean <= 20.0 else 20_000)
    draw_totals(np.random.default_rng(5), Law(POISSON), mean, 1.0, out)
    assert np.array_equal(out, np.random.default_rng(5).poisson(mean, out.size))
