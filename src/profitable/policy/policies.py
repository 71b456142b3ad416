"""The policies of the paper.  A new one is a class below and a row in `tests/matrix.py` (docs/design.md shows one)."""

from dataclasses import dataclass

from profitable.common.looks import BLACK, BLUE, DASH_DOT, DASHED, GREEN, ORANGE, PURPLE, SKY, VERMILION, Look
from profitable.kernels import evidence
from profitable.policy.policy import POLICIES as POLICIES
from profitable.policy.policy import Bayesian, BoundedPolicy, Deterministic
from profitable.policy.policy import Policy as Policy


@dataclass(frozen=True)
class KLUCB(Deterministic):
    """kl-UCB-4P (section 4): evidence N d(mean, threshold)."""

    name = "kl-ucb"
    rule = evidence.DIVERGENCE
    look = Look(BLUE)


@dataclass(frozen=True)
class KLUCBPlus(Deterministic):
    """kl-UCB+-4P (section 8): evidence N d(mean, threshold) + log N."""

    name = "kl-ucb+"
    rule = evidence.DIVERGENCE_PLUS
    look = Look(BLUE, DASHED)


@dataclass(frozen=True)
class BayesUCB(Bayesian, Deterministic):
    """Bayes-UCB-4P (section 5): evidence -log P(mean >= threshold given the data)."""

    name = "bayes-ucb"
    rule = evidence.POSTERIOR
    look = Look(VERMILION)

    def __post_init__(self) -> None:
        Bayesian.__post_init__(self)
        Deterministic.__post_init__(self)


@dataclass(frozen=True)
class ThompsonSampling(Bayesian):
    """TS-4P (section 6): the evidence of Bayes-UCB-4P, and a patience drawn anew from Exp(1) for each decision.

    A draw from the posterior is at least the threshold exactly as often as an exponential draw is at least
    -log P(mean >= threshold).  So the probability of acceptance is known exactly.
    """

    name = "ts"
    rule = evidence.POSTERIOR
    look = Look(GREEN)
    draws = True

    def next_round(self, evidence: float, now: int) -> int | None:
        return None if evidence == float("inf") else now + 1


@dataclass(frozen=True)
class KLBernoulliUCB(BoundedPolicy):
    """kl-Bernoulli-UCB-4P (section 4.3): kl-UCB-4P with d_Bern on rewards scaled to [0, 1].  Needs a bound."""

    name = "kl-bernoulli-ucb"
    rule = evidence.DIVERGENCE
    look = Look(ORANGE)


@dataclass(frozen=True)
class KLBernoulliUCBPlus(BoundedPolicy):
    """kl-Bernoulli-UCB+-4P: kl-UCB+-4P with d_Bern on rewards scaled to [0, 1].  Needs a bound."""

    name = "kl-bernoulli-ucb+"
    rule = evidence.DIVERGENCE_PLUS
    look = Look(ORANGE, DASHED)


@dataclass(frozen=True)
class KLGaussianUCB(BoundedPolicy):
    """kl-Gaussian-UCB-4P (section 4.3): evidence 2 N ((threshold - mean) / B)^2.  Needs a bound."""

    name = "kl-gaussian-ucb"
    rule = evidence.DIVERGENCE
    look = Look(SKY, DASH_DOT)
    gaussian = True


@dataclass(frozen=True)
class KLEmpUCB(BoundedPolicy):
    """KL-Emp-UCB-4P (section 8): evidence N K_inf(empirical law, threshold).  Needs a bound and single rewards.

    It keeps the distinct rewards of each category and how often each came: 16 bytes per distinct value.  Whole-number
    rewards have a handful of distinct values.  Continuous rewards are all distinct, so every reward is kept, and
    computing the evidence takes time in proportion.  `Agent.memory` says how many bytes are used.
    """

    name = "kl-emp-ucb"
    rule = evidence.EMPIRICAL
    look = Look(PURPLE, DASH_DOT)


@dataclass(frozen=True)
class UCBV(BoundedPolicy):
    """UCB-V-4P: evidence x with mean + sqrt(2 v x / N) + 3 B x / N = threshold.  Needs a bound and single rewards."""

    name = "ucb-v"
    rule = evidence.VARIANCE
    look = Look(BLACK)
