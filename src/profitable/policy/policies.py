"""The policies of the paper, and the optimal one.

A new one is a class below and a row in `tests/matrix.py` (docs/design.md shows one).
"""

import math
from dataclasses import dataclass, field, replace

from profitable.common import check
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASH_DOT,
    DASHED,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Look,
)
from profitable.common.text_tables import number
from profitable.errors import ParameterError
from profitable.kernels import evidence, patience
from profitable.kernels.patience import Patience
from profitable.policy.policy import POLICIES as POLICIES
from profitable.policy.policy import Bayesian, BoundedPolicy, Deterministic
from profitable.policy.policy import Policy as Policy


@dataclass(frozen=True)
class KLUCB(Deterministic):
    """Policy kl-UCB-4P (section 4): evidence N d(mean, threshold)."""

    name = "kl-ucb"
    rule = evidence.DIVERGENCE
    look = Look(BLUE)


BY_CLIENTS, BY_ROUNDS = "clients", "rounds"
CROWD = 20.0  # clients for each round that log N may count before it is worth a remark


@dataclass(frozen=True)
class Plus(Deterministic, abstract=True):
    """A policy that adds to the evidence a logarithm of the clients, or of the rounds.

    Parameters
    ----------
    count : str
        "clients" as in the paper, or "rounds" for the accepted rounds.
    """

    count: str = field(
        default=BY_CLIENTS, kw_only=True, metadata={"choices": (BY_CLIENTS, BY_ROUNDS)}
    )

    rule = evidence.DIVERGENCE_PLUS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count not in (BY_CLIENTS, BY_ROUNDS):
            raise ParameterError(
                "count", self.count, "is unknown", f"choose from {BY_CLIENTS}, {BY_ROUNDS}"
            )
        if self.count == BY_ROUNDS:
            object.__setattr__(self, "rule", evidence.PLUS_OF_ROUNDS)


@dataclass(frozen=True)
class KLUCBPlus(Plus):
    """Policy kl-UCB+-4P (section 8): evidence N d(mean, threshold) + log N.

    The paper's patience log t counts rounds, and its log N clients.  Where a round
    brings hundreds of clients, log N alone is more than patience for a long time, and
    any mean below the threshold is rejected.  `count="rounds"` counts both in rounds:
    it adds the logarithm of the accepted rounds.

    Examples
    --------
    >>> print(KLUCBPlus(count="rounds"))
    kl-ucb+:count=rounds
    """

    name = "kl-ucb+"
    look = Look(BLUE, DASHED)


@dataclass(frozen=True)
class BayesUCB(Bayesian, Deterministic):
    """Policy Bayes-UCB-4P (section 5): evidence -log P(mean >= threshold)."""

    name = "bayes-ucb"
    rule = evidence.POSTERIOR
    look = Look(VERMILION)


@dataclass(frozen=True)
class ThompsonSampling(Bayesian):
    """Policy TS-4P (section 6): evidence of Bayes-UCB-4P, patience drawn from Exp(1).

    Patience is drawn anew for each decision.  A draw from the posterior is at least the
    threshold exactly as often as an exponential draw is at least
    -log P(mean >= threshold).  So the probability of acceptance is known exactly.
    """

    name = "ts"
    rule = evidence.POSTERIOR
    look = Look(GREEN)
    draws = True

    @property
    def terms(self) -> Patience:
        return Patience(patience.DRAWN)


@dataclass(frozen=True)
class KLBernoulliUCB(BoundedPolicy):
    """Policy kl-Bernoulli-UCB-4P (section 4.3): kl-UCB-4P on rewards scaled to [0, 1].

    The divergence is d_Bern.  Needs a bound.
    """

    name = "kl-bernoulli-ucb"
    rule = evidence.DIVERGENCE
    look = Look(ORANGE)


@dataclass(frozen=True)
class KLBernoulliUCBPlus(Plus, BoundedPolicy):
    """Policy kl-Bernoulli-UCB+-4P: kl-UCB+-4P with d_Bern on rewards scaled to [0, 1].

    Needs a bound.
    """

    name = "kl-bernoulli-ucb+"
    look = Look(ORANGE, DASHED)


@dataclass(frozen=True)
class KLGaussianUCB(BoundedPolicy):
    """Policy kl-Gaussian-UCB-4P (section 4.3): evidence 2 N ((threshold - mean) / B)^2.

    Needs a bound.
    """

    name = "kl-gaussian-ucb"
    rule = evidence.DIVERGENCE
    look = Look(SKY, DASH_DOT)
    gaussian = True


@dataclass(frozen=True)
class KLEmpUCB(BoundedPolicy):
    """Policy KL-Emp-UCB-4P (section 8): evidence N K_inf(empirical law, threshold).

    Needs a bound and single rewards.  It keeps the distinct rewards of each category
    and how often each came: 16 bytes per distinct value.  Whole-number rewards have a
    handful of distinct values.  Continuous rewards are all distinct, so every reward is
    kept, and computing the evidence takes time in proportion.  `Agent.memory` is the
    number of bytes used.
    """

    name = "kl-emp-ucb"
    rule = evidence.EMPIRICAL
    look = Look(PURPLE, DASH_DOT)


@dataclass(frozen=True)
class UCBV(BoundedPolicy):
    """Policy UCB-V-4P: evidence x with mean + sqrt(2 v x / N) + 3 B x / N = threshold.

    Needs a bound and single rewards.
    """

    name = "ucb-v"
    rule = evidence.VARIANCE
    look = Look(BLACK)


OWN = "run"  # a horizon that is the simulation's own
KAPPA = 3.0  # the future expected by an anytime policy, in multiples of the past


@dataclass(frozen=True)
class Optimal(Bayesian):
    """Policy Optimal: accept while learning is worth its cost, given clients to come.

    Its evidence is that of Bayes-UCB-4P.  Say what is to come: `horizon`, `discount` or
    neither.  Without them it is an anytime policy, which expects `kappa` times as many
    rounds as have passed.  A category that it rejects is lost for good, or for long:
    see docs/optimal.md for the price.

    Parameters
    ----------
    horizon : int or str, optional
        The last round; "run" is the horizon of the simulation.
    discount : float, optional
        Value now of a round later, below 1.
    kappa : float, optional
        Rounds expected, in multiples of those that have passed; 3 unless given.
    risk : float
        Below 1, it accepts longer: less danger of losing a profitable category, more
        spent on the others.
    clients : float, optional
        Clients who come in a round.  Unless given, it is estimated from the rounds that
        accepted the category.

    Examples
    --------
    >>> print(Optimal(horizon=10_000, risk=0.3))
    optimal:horizon=10000,risk=0.3
    """

    horizon: int | str | None = field(default=None, kw_only=True, metadata={"alone": OWN})
    discount: float | None = field(default=None, kw_only=True)
    kappa: float | None = field(default=None, kw_only=True, metadata={"usual": KAPPA})
    risk: float = field(default=1.0, kw_only=True, metadata={"check": check.positive})
    clients: float | None = field(default=None, kw_only=True, metadata={"check": check.positive})

    name = "optimal"
    rule = evidence.POSTERIOR
    look = Look(BLACK, DASHED)
    example = "horizon=10000"

    def __post_init__(self) -> None:
        super().__post_init__()
        futures = {key: getattr(self, key) for key in ("horizon", "discount", "kappa")}
        given = [key for key, value in futures.items() if value is not None]
        if len(given) > 1:
            raise ParameterError(
                given[1],
                futures[given[1]],
                f"is given together with {given[0]}",
                f"give one of {', '.join(futures)}, or none",
            )
        if self.horizon is not None and not (isinstance(self.horizon, str) and self.horizon == OWN):
            object.__setattr__(
                self, "horizon", check.whole("horizon", self.horizon, most=patience.LAST_ROUND)
            )
        if self.discount is not None:
            discount = check.within(
                "discount",
                self.discount,
                math.ulp(0.0),
                check.BELOW_1,
                "is not between 0 and 1",
                "give a number between 0 and 1, as 0.99",
            )
            object.__setattr__(self, "discount", discount)
        if not given or self.kappa is not None:
            object.__setattr__(
                self, "kappa", check.positive("kappa", KAPPA if self.kappa is None else self.kappa)
            )

    @property
    def terms(self) -> Patience:
        if isinstance(self.horizon, str):
            raise ParameterError(
                "horizon",
                self.horizon,
                "has no number",
                "give the last round, as horizon=10000; only a simulation has a horizon of its own",
            )
        rounds, growth = 0.0, 0.0
        if self.horizon is not None:
            rounds, growth = float(self.horizon), -1.0
        elif self.discount is not None:
            rounds = -1.0 / math.log(self.discount)
        elif self.kappa is not None:
            growth = self.kappa
        return Patience(patience.AHEAD, 0.0, 1.0, rounds, growth, self.risk, self.clients or 0.0)

    def within(self, horizon: int) -> "Optimal":
        return replace(self, horizon=horizon) if self.horizon == OWN else self

    def outlook(self, t: float, per_round: float) -> str:
        ahead = patience.rounds_ahead(self.coded_patience, t)
        clients = number(float(f"{per_round * ahead:.2g}"))
        if self.horizon is not None:
            passed = (
                f"the horizon of {number(self.terms.rounds)} rounds has passed, and without "
                "clients to come"
            )
            return f"with about {clients} clients still to come" if ahead > 0.0 else passed
        if self.discount is not None:
            return f"with future clients worth about {clients} of today's"
        return f"expecting about {clients} more clients"
