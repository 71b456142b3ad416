"""The test matrix: one row per family, one per policy.  Add a row and every property below it is tested."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import profitable as pb
from profitable.common.types import FloatArray


@dataclass(frozen=True)
class FamilyRow:
    """A family with a mean inside its domain, thresholds around it and on the edges, and its extreme rewards."""

    family: pb.Family
    mean: float
    threshold: float
    edges: tuple[float, ...]
    smallest: float
    largest: float
    bound: float | None = None
    illegal: tuple[float, ...] = ()
    sums: bool = True  # whether count= and total= say all that parametric policies need
    law: Any = None  # SciPy's law with that mean; None where there is none (Bounded)
    statistic: Callable[[float], float] = float  # the sufficient statistic, by the paper's formula

    def category(self, threshold: float | None = None, **options: object) -> pb.Category:
        tau = self.threshold if threshold is None else threshold
        return pb.Category("it", self.family, threshold=tau, bound=self.bound, **options)  # type: ignore[arg-type]

    def rewards(self, size: int, seed: int = 0, mean: float | None = None) -> FloatArray:
        return self.family.draw(np.random.default_rng(seed), mean=self.mean if mean is None else mean, size=size)

    def __str__(self) -> str:
        return self.family.name


NAN, INF = math.nan, math.inf
FAMILIES = [
    FamilyRow(pb.Bernoulli(), 0.3, 0.4, (0.0, 1.0), 0.0, 1.0, illegal=(2.0, -1.0, 0.5, NAN), law=stats.bernoulli(0.3)),
    FamilyRow(
        pb.Binomial(trials=12), 4.0, 5.0, (0.0, 12.0), 0.0, 12.0, illegal=(13.0, -1.0, 0.5), law=stats.binom(12, 1 / 3)
    ),
    FamilyRow(
        pb.Poisson(), 2.0, 3.0, (0.0,), 0.0, 40.0, bound=100.0, illegal=(-1.0, 1.5, NAN, INF), law=stats.poisson(2.0)
    ),
    FamilyRow(
        pb.Geometric(), 2.0, 3.0, (0.0,), 0.0, 60.0, bound=100.0, illegal=(-1.0, 1.5, NAN), law=stats.nbinom(1, 1 / 3)
    ),
    FamilyRow(
        pb.NegativeBinomial(failures=2.5),
        2.0,
        3.0,
        (0.0,),
        0.0,
        60.0,
        bound=100.0,
        illegal=(-1.0, 1.5, NAN),
        law=stats.nbinom(2.5, 2.5 / 4.5),
    ),
    FamilyRow(
        pb.Exponential(), 2.0, 3.0, (0.0,), 1e-9, 50.0, bound=100.0, illegal=(0.0, -1.0, NAN), law=stats.expon(scale=2)
    ),
    FamilyRow(
        pb.Gamma(shape=0.4),
        2.0,
        3.0,
        (0.0,),
        1e-9,
        50.0,
        bound=100.0,
        illegal=(0.0, -1.0, NAN),
        law=stats.gamma(0.4, scale=5.0),
    ),
    FamilyRow(
        pb.Gaussian(sigma=1.5), 1.0, 1.5, (), -9.0, 9.0, bound=8.0, illegal=(NAN, INF, 1e200), law=stats.norm(1.0, 1.5)
    ),
    FamilyRow(
        pb.Pareto(scale=2.0),
        5.0,
        6.0,
        (2.0,),
        2.0 + 1e-9,
        1e6,
        bound=50.0,
        illegal=(2.0, 1.0, NAN),
        sums=False,
        law=stats.pareto(1.0 / (1.0 - 2.0 / 5.0), scale=2.0),
        statistic=lambda reward: math.log(reward / 2.0),
    ),
    FamilyRow(
        pb.Weibull(shape=2.5),
        2.0,
        3.0,
        (0.0,),
        1e-9,
        20.0,
        bound=50.0,
        illegal=(0.0, -1.0, NAN),
        sums=False,
        law=stats.weibull_min(2.5, scale=2.0 / math.gamma(1.4)),
        statistic=lambda reward: reward**2.5,
    ),
    FamilyRow(pb.Bounded(low=-1.0, high=3.0), 0.5, 1.0, (-1.0, 3.0), -1.0, 3.0, illegal=(3.1, -1.1, NAN)),
]

POLICIES = [
    pb.KLUCB(),
    pb.KLUCB(c=3),
    pb.KLUCBPlus(),
    pb.KLUCBPlus(inflate=10),
    pb.BayesUCB(),
    pb.BayesUCB(c=5),
    pb.ThompsonSampling(),
    pb.KLBernoulliUCB(),
    pb.KLBernoulliUCBPlus(),
    pb.KLGaussianUCB(),
    pb.KLEmpUCB(),
    pb.UCBV(),
]
