"""The test matrix: one row per family, one per policy.

Add a row and every property in `test_matrix.py` is tested.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import profitable as pb
from profitable.common.types import FloatArray
from profitable.model.category import said_before
from profitable.model.posterior import Posterior
from tests import formulas


@dataclass(frozen=True)
class FamilyRow:
    """A family with a mean inside its domain, thresholds around it and on the edges,
    and its extreme rewards.
    """

    family: pb.Family
    mean: float
    threshold: float
    edges: tuple[float, ...]
    smallest: float
    largest: float
    variance: Callable[[float], float]  # of the statistic, when it has this mean
    bound: float | None = None
    illegal: tuple[float, ...] = field(kw_only=True)  # rewards that cannot happen
    sums: bool = True  # whether count= and total= say all that parametric policies need
    # SciPy's law whose statistic has a given mean; None for Bounded.
    law: Callable[[float], Any] | None = None
    # The sufficient statistic of a reward, by the paper's formula.
    statistic: Callable[[float], float] = float
    of_mean: Callable[[float], float] = float  # its mean, when the rewards have a given mean
    # Where that mean can lie; None if it is the mean of the rewards.
    domain: tuple[float, float] | None = None
    sigma: float | None = None  # the standard deviation, if the family does not know it

    def category(self, threshold: float | None = None, **options: object) -> pb.Category:
        tau = self.threshold if threshold is None else threshold
        with said_before():  # a threshold at an edge is chosen here on purpose
            return pb.Category("it", self.family, threshold=tau, bound=self.bound, **options)  # type: ignore[arg-type]

    def rewards(self, size: int, seed: int = 0, mean: float | None = None) -> FloatArray:
        return self.drawn.draw(
            np.random.default_rng(seed), mean=self.mean if mean is None else mean, size=size
        )

    @property
    def drawn(self) -> pb.Family:
        """The family with everything known, from which rewards are drawn."""
        return self.family.drawn(self.sigma)

    def divergence(self, x: float, y: float) -> float:
        known = {} if self.sigma is None else {"sigma": self.sigma}
        return self.family.divergence(x, y, **known)

    def posterior(self, rewards: Sequence[float]) -> Posterior:
        known = (
            {} if self.sigma is None else {"squares": math.fsum(reward**2 for reward in rewards)}
        )
        total = math.fsum(self.statistic(reward) for reward in rewards)
        return self.family.posterior(clients=len(rewards), total=total, **known)

    @property
    def typical(self) -> float:
        """A reward whose statistic is the mean of the statistic."""
        return float(
            self.family.view().statistic.rewards_of(np.array([self.of_mean(self.mean)]))[0]
        )

    def around(self, reward: float, size: int) -> list[float]:
        """So many rewards: all equal, unless equal ones say nothing."""
        return [reward + (self.sigma or 0.0) * (-1.0) ** i for i in range(size)]

    @property
    def interval(self) -> tuple[float, float]:
        """The mean domain that policies for bounded rewards see."""
        if self.bound is None:
            return self.family.mean_domain
        return (0.0 if self.family.support.low >= 0.0 else -self.bound), self.bound

    def __str__(self) -> str:
        return self.family.name


@dataclass(frozen=True)
class PolicyRow:
    """A policy with settings worth testing, its evidence and its patience by formulas
    that share nothing with it.
    """

    policies: tuple[pb.Policy, ...]
    evidence: Callable[[FamilyRow, Sequence[float], float], float]
    # Of t, known clients, clients per round.
    patience: Callable[[pb.Policy, float, float, float], float]
    adds_rounds: bool = False  # whether log of the accepted rounds is added where that is not 0

    @property
    def name(self) -> str:
        return self.policies[0].name

    def __str__(self) -> str:
        return str(self.policies[0]) if self.adds_rounds else self.name


NAN, INF = math.nan, math.inf
FAMILIES = [
    FamilyRow(
        pb.Bernoulli(),
        0.3,
        0.4,
        (0.0, 1.0),
        0.0,
        1.0,
        variance=lambda m: m * (1 - m),
        illegal=(2.0, -1.0, 0.5, NAN),
        law=stats.bernoulli,
    ),
    FamilyRow(
        pb.Binomial(trials=12),
        4.0,
        5.0,
        (0.0, 12.0),
        0.0,
        12.0,
        variance=lambda m: m * (1 - m / 12),
        illegal=(13.0, -1.0, 0.5),
        law=lambda m: stats.binom(12, m / 12),
    ),
    FamilyRow(
        pb.Poisson(),
        2.0,
        3.0,
        (0.0,),
        0.0,
        40.0,
        variance=float,
        bound=100.0,
        illegal=(-1.0, 1.5, NAN, INF),
        law=stats.poisson,
    ),
    FamilyRow(
        pb.Geometric(),
        2.0,
        3.0,
        (0.0,),
        0.0,
        60.0,
        variance=lambda m: m * (1 + m),
        bound=100.0,
        illegal=(-1.0, 1.5, NAN),
        law=lambda m: stats.nbinom(1, 1 / (1 + m)),
    ),
    FamilyRow(
        pb.NegativeBinomial(failures=2.5),
        2.0,
        3.0,
        (0.0,),
        0.0,
        60.0,
        variance=lambda m: m * (1 + m / 2.5),
        bound=100.0,
        illegal=(-1.0, 1.5, NAN),
        law=lambda m: stats.nbinom(2.5, 2.5 / (2.5 + m)),
    ),
    FamilyRow(
        pb.Exponential(),
        2.0,
        3.0,
        (0.0,),
        1e-9,
        50.0,
        variance=lambda m: m**2,
        bound=100.0,
        illegal=(0.0, -1.0, NAN),
        law=lambda m: stats.expon(scale=m),
    ),
    FamilyRow(
        pb.Gamma(shape=0.4),
        2.0,
        3.0,
        (0.0,),
        1e-9,
        50.0,
        variance=lambda m: m**2 / 0.4,
        bound=100.0,
        illegal=(0.0, -1.0, NAN),
        law=lambda m: stats.gamma(0.4, scale=m / 0.4),
    ),
    FamilyRow(
        pb.Gaussian(sigma=1.5),
        1.0,
        1.5,
        (),
        -9.0,
        9.0,
        variance=lambda m: 2.25,
        bound=8.0,
        illegal=(NAN, INF, 1e200),
        law=lambda m: stats.norm(m, 1.5),
    ),
    FamilyRow(
        pb.Normal(),
        1.0,
        1.5,
        (),
        -9.0,
        9.0,
        variance=lambda m: 2.25,
        bound=8.0,
        illegal=(NAN, INF, 1e200),
        sums=False,
        law=lambda m: stats.norm(m, 1.5),
        sigma=1.5,
    ),
    FamilyRow(
        pb.Pareto(scale=2.0),
        5.0,
        6.0,
        (2.0,),
        2.0 + 1e-9,
        1e6,
        variance=lambda s: s**2,
        bound=50.0,
        illegal=(2.0, 1.0, NAN),
        sums=False,
        law=lambda s: stats.pareto(1.0 / s, scale=2.0),
        statistic=lambda reward: math.log(reward / 2.0),
        of_mean=lambda mean: 1.0 - 2.0 / mean,
        domain=(0.0, INF),
    ),
    FamilyRow(
        pb.Weibull(shape=2.5),
        2.0,
        3.0,
        (0.0,),
        1e-9,
        20.0,
        variance=lambda s: s**2,
        bound=50.0,
        illegal=(0.0, -1.0, NAN),
        sums=False,
        law=lambda s: stats.weibull_min(2.5, scale=s**0.4),
        statistic=lambda reward: reward**2.5,
        of_mean=lambda mean: (mean / math.gamma(1.4)) ** 2.5,
        domain=(0.0, INF),
    ),
    FamilyRow(
        pb.Bounded(low=-1.0, high=3.0),
        0.5,
        1.0,
        (-1.0, 3.0),
        -1.0,
        3.0,
        variance=lambda m: (m + 1) * (3 - m),
        illegal=(3.1, -1.1, NAN),
    ),
]

POLICY_ROWS = [
    PolicyRow((pb.KLUCB(), pb.KLUCB(c=3)), formulas.kl, formulas.log_of_time),
    PolicyRow((pb.KLUCBPlus(), pb.KLUCBPlus(inflate=10)), formulas.kl_plus, formulas.log_of_time),
    PolicyRow(
        (pb.KLUCBPlus(count="rounds"), pb.KLUCBPlus(count="rounds", c=3)),
        formulas.kl,
        formulas.log_of_time,
        adds_rounds=True,
    ),
    PolicyRow((pb.BayesUCB(), pb.BayesUCB(c=5)), formulas.posterior, formulas.log_of_time),
    PolicyRow((pb.ThompsonSampling(),), formulas.posterior, formulas.drawn),
    PolicyRow(
        (pb.Optimal(horizon=300), pb.Optimal(risk=0.3), pb.Optimal(discount=0.98, clients=2)),
        formulas.posterior,
        formulas.worth_finding_out,
    ),
    PolicyRow((pb.KLBernoulliUCB(),), formulas.kl_bernoulli, formulas.log_of_time),
    PolicyRow((pb.KLBernoulliUCBPlus(),), formulas.kl_bernoulli_plus, formulas.log_of_time),
    PolicyRow(
        (pb.KLBernoulliUCBPlus(count="rounds"),),
        formulas.kl_bernoulli,
        formulas.log_of_time,
        adds_rounds=True,
    ),
    PolicyRow((pb.KLGaussianUCB(),), formulas.kl_gaussian, formulas.log_of_time),
    PolicyRow((pb.KLEmpUCB(),), formulas.empirical, formulas.log_of_time),
    PolicyRow((pb.UCBV(),), formulas.ucb_v, formulas.log_of_time),
]
POLICIES = [policy for row in POLICY_ROWS for policy in row.policies]
