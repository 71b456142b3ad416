"""Policies: values that say which evidence to compute and how patient to be.

All of them are the same sentence: accept while evidence <= patience.  A policy is a rule (`kernels/rule.py`), the
lens it looks through (`lens.py`) and the constants of its patience,

    patience(t) = log(inflate t) + c log log t,

or, for Thompson sampling, one exponential draw per category and round.
"""

from abc import ABC
from dataclasses import dataclass, field, fields
from typing import ClassVar

from profitable import check
from profitable.category import Category
from profitable.errors import MissingBoundError, ParameterError
from profitable.kernels import rule as rules
from profitable.lens import Lens, bounded_lens
from profitable.prior import Prior


@dataclass(frozen=True)
class Policy(ABC):
    """Base class; `str(policy)` is its name on the command line, parameters included.

    >>> print(KLUCB(c=3))
    kl-ucb:c=3
    >>> Policy.parse("kl-ucb+:c=3,inflate=10")
    KLUCBPlus(c=3.0, inflate=10.0)
    """

    name: ClassVar[str]
    rule: ClassVar[int]
    draws: ClassVar[bool] = False  # Thompson sampling: patience is drawn, not computed

    def prior_of(self, category: Category) -> Prior | None:
        """The prior that this policy has of a category; None is Jeffreys'."""
        if category.prior is not None:
            raise ParameterError(
                f"prior of {category.name!r}",
                category.prior,
                f"is of no use to {self}",
                "leave it out, or use BayesUCB or ThompsonSampling",
            )
        return None

    def lens(self, category: Category) -> Lens:
        """What this policy sees of a category."""
        lens = category.family.lens()
        prior = self.prior_of(category)
        return lens if prior is None else lens.with_prior(*prior.imaginary_clients(category.family))

    @classmethod
    def constants(cls) -> list[str]:
        """The names of its numeric parameters: those that can be given on the command line."""
        return [each.name for each in fields(cls) if each.name != "prior"]

    def patience(self, t: float) -> float:
        """Nats of evidence tolerated in round t + 1."""
        raise NotImplementedError

    def next_round(self, evidence: float, now: int) -> int | None:
        """The first round after `now` that tolerates this much evidence; None if that is never (or past 10^18)."""
        raise NotImplementedError

    @classmethod
    def parse(cls, text: str) -> "Policy":
        """The policy of a name such as `ts` or `kl-ucb:c=3`."""
        name, _, rest = text.strip().partition(":")
        if name not in POLICIES:
            raise ParameterError("policy", text, "is unknown", f"choose from {', '.join(POLICIES)}")
        kind = POLICIES[name]
        known = kind.constants()
        values: dict[str, float] = {}
        for part in filter(None, rest.split(",")):
            key, _, value = part.partition("=")
            remedy = f"{name} takes {' and '.join(known)}, as {name}:c=3" if known else f"{name} takes none"
            if key not in known or key in values:
                problem = "is given twice" if key in values else "is not a parameter of this policy"
                raise ParameterError(f"{key} in policy {text!r}", value, problem, remedy)
            try:
                values[key] = float(value)
            except ValueError:
                raise ParameterError(f"{key} in policy {text!r}", value, "is not a number", remedy) from None
        return kind(**values)

    def __str__(self) -> str:
        defaults = {each.name: each.default for each in fields(self)}
        changed = [key for key in self.constants() if getattr(self, key) != defaults[key]]
        text = ",".join(f"{key}={repr(getattr(self, key)).removesuffix('.0')}" for key in changed)
        return f"{self.name}:{text}" if text else self.name


@dataclass(frozen=True)
class Deterministic(Policy):
    """A policy whose patience is log(inflate t) + c log log t."""

    c: float = field(default=0.0, kw_only=True)
    inflate: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", check.not_negative("c", self.c))
        object.__setattr__(self, "inflate", check.positive("inflate", self.inflate))
        if self.inflate < 1.0:
            raise ParameterError(
                "inflate", self.inflate, "is below 1", "give 1 or more, so that patience is never negative"
            )

    def patience(self, t: float) -> float:
        return rules.patience(self.c, self.inflate, float(t))

    def next_round(self, evidence: float, now: int) -> int | None:
        time = rules.first_time(self.c, self.inflate, evidence)
        return None if time == 0 else max(time, now) + 1


@dataclass(frozen=True)
class KLUCB(Deterministic):
    """kl-UCB-4P (section 4): evidence N d(mean, threshold)."""

    name = "kl-ucb"
    rule = rules.KL


@dataclass(frozen=True)
class KLUCBPlus(Deterministic):
    """kl-UCB+-4P (section 8): evidence N d(mean, threshold) + log N."""

    name = "kl-ucb+"
    rule = rules.KL_PLUS


@dataclass(frozen=True)
class Bayesian(Policy):
    """A policy with a prior: a category's own, else `prior`, else Jeffreys'."""

    prior: Prior | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ParameterError("prior", self.prior, "is not a prior", "give for example Prior.beta(1, 1)")

    def prior_of(self, category: Category) -> Prior | None:
        return self.prior if category.prior is None else category.prior


@dataclass(frozen=True)
class BayesUCB(Bayesian, Deterministic):
    """Bayes-UCB-4P (section 5): evidence -log P(mean >= threshold given the data)."""

    name = "bayes-ucb"
    rule = rules.POSTERIOR

    def __post_init__(self) -> None:
        Bayesian.__post_init__(self)
        Deterministic.__post_init__(self)


@dataclass(frozen=True)
class ThompsonSampling(Bayesian):
    """TS-4P (section 6): the evidence of Bayes-UCB-4P, and a patience drawn anew from Exp(1) for each decision.

    A draw from the posterior is at least the threshold exactly as often as an exponential draw is at least
    -log P(mean >= threshold): the probability of acceptance is known, not estimated.
    """

    name = "ts"
    rule = rules.POSTERIOR
    draws = True

    def next_round(self, evidence: float, now: int) -> int | None:
        return None if evidence == float("inf") else now + 1


@dataclass(frozen=True)
class BoundedPolicy(Deterministic):
    """A policy for bounded rewards: it sees rewards cut into the category's interval."""

    gaussian: ClassVar[bool] = False

    def lens(self, category: Category) -> Lens:
        lens = super().lens(category)
        bounds = category.bounds()
        if bounds is None:
            raise MissingBoundError(
                f"bound of {category.name!r}",
                None,
                f"is missing, and {self} is for bounded rewards",
                f"give Category({category.name!r}, ..., bound=...), rewards above it are cut",
            )
        return bounded_lens(*bounds, lens.support, gaussian=self.gaussian)


@dataclass(frozen=True)
class KLBernoulliUCB(BoundedPolicy):
    """kl-Bernoulli-UCB-4P (section 4.3): kl-UCB-4P with d_Bern on rewards scaled to [0, 1]."""

    name = "kl-bernoulli-ucb"
    rule = rules.KL


@dataclass(frozen=True)
class KLBernoulliUCBPlus(BoundedPolicy):
    """kl-Bernoulli-UCB+-4P: kl-UCB+-4P with d_Bern on rewards scaled to [0, 1]."""

    name = "kl-bernoulli-ucb+"
    rule = rules.KL_PLUS


@dataclass(frozen=True)
class KLGaussianUCB(BoundedPolicy):
    """kl-Gaussian-UCB-4P (section 4.3): evidence 2 N ((threshold - mean) / B)^2."""

    name = "kl-gaussian-ucb"
    rule = rules.KL
    gaussian = True


@dataclass(frozen=True)
class KLEmpUCB(BoundedPolicy):
    """KL-Emp-UCB-4P (section 8): evidence N K_inf(empirical law, threshold).

    It keeps the distinct rewards of each category and how often each came: 16 bytes per distinct value.  That is a
    handful for whole-number rewards; for continuous ones it is every reward ever seen, and a renewal takes time in
    proportion.  `Agent.memory` says how much it is.
    """

    name = "kl-emp-ucb"
    rule = rules.EMPIRICAL


@dataclass(frozen=True)
class UCBV(BoundedPolicy):
    """UCB-V-4P: evidence x that solves mean + sqrt(2 v x / N) + 3 B x / N = threshold."""

    name = "ucb-v"
    rule = rules.VARIANCE


POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        KLUCB,
        BayesUCB,
        ThompsonSampling,
        KLUCBPlus,
        KLBernoulliUCB,
        KLBernoulliUCBPlus,
        KLGaussianUCB,
        KLEmpUCB,
        UCBV,
    )
}
