"""Policy: a value that says which evidence to compute and how patient to be.

All policies decide in the same way: accept while evidence <= patience.  They differ in
their rule (`kernels/evidence.py`), in their view of a category (`model/view.py`) and in
the terms of their patience (`kernels/patience.py`): a function of time, a draw, or the
value of what can still be learned.

Below are those of the paper, and the optimal one.  A new one is a class and a row in
`tests/matrix.py` (docs/design.md shows one).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from profitable.common import check
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASH_DOT,
    DASHED,
    GREEN,
    ORANGE,
    PALETTE,
    PURPLE,
    SHORT,
    SKY,
    VERMILION,
    Look,
)
from profitable.common.registry import register
from profitable.common.text_tables import number_text
from profitable.common.types import FloatArray
from profitable.errors import MissingBoundError, ParameterError
from profitable.kernels import evidence, patience
from profitable.kernels.patience import AHEAD, DRAWN, LAST_ROUND, TIME, Patience
from profitable.model.category import Category
from profitable.model.prior import Prior
from profitable.model.view import View, bounded_view

LONGEST_WINDOW = 10**6  # rounds
COMMON = {"common": True}  # marks a parameter that every policy takes
ONE_BY_ONE = 32  # so many are done without compiling a loop
POLICIES: dict[str, type["Policy"]] = {}  # by name; filled by the classes themselves
BY_CLIENTS, BY_ROUNDS = "clients", "rounds"
TRUST = 3.0  # nats
CROWD = 20.0  # clients for each round that log N may count before it is worth a remark
VARIANTS = (SHORT, DASH_DOT, DASHED)  # for a policy that one picture shows with several parameters
# With this weight or less, rounding errors do not pile up until outcomes are forgotten.
SOON_FORGOTTEN = 0.9999


@dataclass(frozen=True)
class Policy(ABC):
    """Base class; `str(policy)` is its name on the command line, parameters included.

    A subclass has a `name`, a `rule` and the `terms` of its patience, and registers
    itself under its name.

    Parameters
    ----------
    forget : float
        Weight of a round's outcomes after one more round, as 0.97; 1 (nothing is
        forgotten) unless given.
    window : int, optional
        Number of rounds whose outcomes count; older ones are forgotten at once.
    floor : float
        Probability with which a category is accepted although the policy rejects it, as
        0.05; drawn once for each category and round.
    trust : float
        How far an order of categories is trusted, in nats; 3 unless given.  With `inf`
        it is certain, with 0 the bands share nothing.  Without an order it means
        nothing.

    Examples
    --------
    >>> from profitable import KLUCB
    >>> print(KLUCB(c=3, forget=0.97))
    kl-ucb:c=3,forget=0.97
    >>> Policy.parse("kl-ucb+:c=3,inflate=10").inflate
    10.0
    """

    forget: float = field(default=1.0, kw_only=True, metadata=COMMON)
    window: int | None = field(
        default=None,
        kw_only=True,
        metadata={**COMMON, "check": partial(check.whole, most=LONGEST_WINDOW)},
    )
    floor: float = field(
        default=0.0,
        kw_only=True,
        metadata={
            **COMMON,
            "check": partial(
                check.within,
                low=0.0,
                high=1.0,
                problem="is not a probability",
                remedy="give a number from 0 to 1, as 0.05; 0 for none",
            ),
        },
    )

    trust: float = field(
        default=TRUST, kw_only=True, metadata={**COMMON, "check": check.not_negative_or_infinite}
    )

    name: ClassVar[str]
    # Which evidence (`kernels/evidence.py`); a parameter may choose another one for a
    # policy.
    rule: ClassVar[evidence.Rule]
    draws: ClassVar[bool] = False  # Thompson sampling: patience is drawn, not computed
    example: ClassVar[str] = "c=3"  # of a parameter on the command line
    look: ClassVar[Look | None] = None  # of its curves; the next free colour unless given

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        for method in ("patience", "next_round", "next_rounds"):
            if getattr(cls, method) is not getattr(Policy, method):
                raise TypeError(
                    f"{cls.__name__} has its own {method}, which the kernels do not know: "
                    "give it terms"
                )
        if not abstract:
            register(POLICIES, cls, needed=("name", "rule", "terms"))

    def __post_init__(self) -> None:
        forget = check.positive("forget", self.forget)
        if forget > 1.0:
            raise ParameterError(
                "forget",
                self.forget,
                "would make old outcomes count for more than new ones",
                "give a number from 0 to 1, as 0.97; 1 forgets nothing",
            )
        object.__setattr__(self, "forget", forget)
        check.declared_fields(self)
        if self.window is not None and forget < 1.0:
            raise ParameterError(
                "window",
                self.window,
                f"is given together with forget={forget:g}",
                "give one of the two, forget=0.97 or window=20",
            )

    @property
    def forgets(self) -> bool:
        """Whether outcomes count for less, or no more, when rounds pass."""
        return self.forget < 1.0 or self.window is not None

    @property
    def stops_for_good(self) -> bool:
        """Whether a rejected category is never accepted again.

        That is so where patience does not grow, or not for ever.

        Examples
        --------
        >>> from profitable import KLUCB, Optimal
        >>> Optimal(horizon=1_000).stops_for_good, Optimal().stops_for_good
        (True, False)
        >>> KLUCB().stops_for_good
        False
        """
        terms = self.terms
        return (
            terms.kind == AHEAD and terms.growth <= 0.0 and self.floor == 0.0 and not self.forgets
        )

    @property
    def stream_name(self) -> str:
        """Name of its random streams: `str(policy)`, and its own prior if it has one.

        It does not change when a class is renamed or gets another parameter.  So a seed
        keeps its numbers.

        Examples
        --------
        >>> from profitable import KLUCB, Prior, ThompsonSampling
        >>> KLUCB(c=3).stream_name, ThompsonSampling(prior=Prior.beta(1, 1)).stream_name
        ('kl-ucb:c=3', 'ts, prior beta(1.0, 1.0)')
        """
        prior = getattr(self, "prior", None)
        return (
            str(self)
            if prior is None
            else f"{self}, prior {prior.kind}({prior.first!r}, {prior.second!r})"
        )

    def prior_of(self, category: Category) -> Prior | None:
        """Return the prior for a category.

        Parameters
        ----------
        category : Category
            The category.

        Returns
        -------
        Prior or None
            None means Jeffreys'.

        Raises
        ------
        ParameterError
            If the category has a prior that the policy cannot use.
        """
        if category.prior is not None:
            raise ParameterError(
                "prior",
                category.prior,
                f"is of no use to {self}",
                "leave it out, or use Optimal, BayesUCB or ThompsonSampling",
                category.name,
            )
        return None

    def view(self, category: Category) -> View:
        """Return this policy's view of a category.

        Parameters
        ----------
        category : Category
            The category.

        Returns
        -------
        View
            It depends on the family, the bound and the prior only.

        Raises
        ------
        MissingBoundError
            If the policy is for bounded rewards and the category has no bound.
        """
        if not isinstance(category, Category):
            raise ParameterError(
                "category", category, "is not a category", "give Category(name, family, threshold=)"
            )
        view = category.family.view()
        prior = self.prior_of(category)
        return view if prior is None else view.with_prior(*prior.imaginary_clients(category.family))

    @classmethod
    def constants(cls) -> list[str]:
        """Return the names of its numeric parameters, as on the command line."""
        return [each.name for each in cls._options() if each.name != "prior"]

    @classmethod
    def _options(cls) -> list[Field[Any]]:
        """Its parameters: its own, and then those that every policy takes."""
        return sorted(fields(cls), key=lambda each: "common" in each.metadata)

    @property
    @abstractmethod
    def terms(self) -> Patience:
        """The terms of its patience (`kernels/patience.py`)."""

    @property
    def coded_patience(self) -> Patience:
        """Its terms, its floor, and a clock that counts only the rounds remembered."""
        return self.terms._replace(
            forget=self.forget,
            window=math.inf if self.window is None else float(self.window),
            floor=self.floor,
        )

    def with_floor(self, chance: FloatArray) -> FloatArray:
        """Return probabilities of acceptance with the floor added.

        Parameters
        ----------
        chance : array of shape [M]
            Probabilities of acceptance by patience alone.

        Returns
        -------
        array of shape [M]
            Probabilities of acceptance.
        """
        return chance + (1.0 - chance) * self.floor if self.floor > 0.0 else chance

    def within(self, horizon: int) -> "Policy":
        """Return the policy in a run of a given length; only `Optimal` can ask for it.

        Parameters
        ----------
        horizon : int
            Number of rounds of the run.

        Returns
        -------
        Policy
            This one, unless its horizon is that of the run.
        """
        return self

    @property
    def is_written_later(self) -> bool:
        """Whether its rounds need not be written down when they are decided.

        They follow from the evidence, where patience is drawn, or a function of time
        alone that never falls.
        """
        return (
            self.terms.kind in (TIME, DRAWN)
            and self.floor == 0.0
            and not self.forgets
            and not self.rule.needs_rounds
        ) or self.fades_late

    @property
    def fades_late(self) -> bool:
        """Whether outcomes need not lose weight in the round in which they do.

        What they count for follows from the rounds that have passed.  The verdict of
        most categories stays the same meanwhile, or a bound on evidence is enough for
        most draws.  An agent that keeps a spread for a policy that draws cannot do so.
        """
        return (
            self.forget <= SOON_FORGOTTEN
            and self.window is None
            and self.terms.kind in (TIME, DRAWN, AHEAD)
            and self.floor == 0.0
            and not self.rule.needs_rounds
            and not self.rule.needs_values
            and (self.rule.is_posterior or (self.rule.scales and self.terms.kind == TIME))
        )

    def patience(self, t: float, *, known: float = 0.0, per_round: float = 1.0) -> float:
        """Return the nats of evidence tolerated in round t + 1; infinite where drawn.

        Only policies that look ahead need `known` and `per_round`.

        Parameters
        ----------
        t : float
            Number of rounds that have passed.
        known : float
            Clients with a known outcome, imaginary ones of a prior included.
        per_round : float
            Clients who come in a round.

        Returns
        -------
        float
            Patience in nats.

        Examples
        --------
        >>> from profitable import KLUCB, Optimal
        >>> round(KLUCB().patience(100), 3)
        4.605
        >>> round(Optimal(horizon=1_000).patience(100, known=100), 3)
        2.225
        """
        return patience.patience_at(
            self.coded_patience, check.not_negative("t", t), *self._numbers(known, per_round)
        )

    def _numbers(self, known: float, per_round: float) -> tuple[float, float]:
        """Known clients, and clients per round: the policy's own if it has one."""
        return check.not_negative("known", known), self.terms.clients or check.positive(
            "per_round", per_round
        )

    def outlook(self, t: float, per_round: float) -> str:
        """Return in words the clients expected, if the policy looks ahead.

        Parameters
        ----------
        t : float
            Number of rounds that have passed.
        per_round : float
            Clients who come in a round.

        Returns
        -------
        str
            Empty for policies that do not look ahead.
        """
        return ""

    def next_round(
        self, evidence: float, now: int, *, known: float = 0.0, per_round: float = 1.0
    ) -> int | None:
        """Return the first round after `now` that tolerates this much evidence.

        Parameters
        ----------
        evidence : float
            Evidence in nats.
        now : int
            A round.
        known : float
            Clients with a known outcome, imaginary ones of a prior included.
        per_round : float
            Clients who come in a round.

        Returns
        -------
        int or None
            None if that is never, or past 10^18.
        """
        nats = check.number(evidence)
        if nats != math.inf and not check.fits(nats, 0.0):
            raise ParameterError(
                "evidence", evidence, "is not a number of nats", "give a number, 0 or more"
            )
        now, (number, rate) = (
            check.whole("now", now, least=0, most=LAST_ROUND),
            self._numbers(known, per_round),
        )
        return self.next_rounds(
            np.array([nats], dtype=np.float64), now, np.array([number]), np.array([rate])
        )[0]

    def next_rounds(
        self, evidence: FloatArray, now: int, known: FloatArray, per_round: FloatArray
    ) -> list[int | None]:
        """Return `next_round` for several categories.

        Parameters
        ----------
        evidence : array of shape [M]
            Evidence in nats.
        now : int
            A round.
        known : array of shape [M]
            Clients with a known outcome, imaginary ones of a prior included.
        per_round : array of shape [M]
            Clients who come in a round.

        Returns
        -------
        list of int or None
            One round for each category.
        """
        terms = self.coded_patience
        if evidence.size <= ONE_BY_ONE:
            times = [
                patience.first_time(terms, nats, now, number, rate)
                for nats, number, rate in zip(
                    evidence.tolist(), known.tolist(), per_round.tolist(), strict=True
                )
            ]
        else:
            found = np.empty(evidence.size, dtype=np.int64)
            patience.first_times(terms, evidence, now, known, per_round, found)
            times = found.tolist()
        return [None if time == 0 else time + 1 for time in times]

    @classmethod
    def of(cls, given: "Policy | str") -> "Policy":
        """Return a policy that is given as such or by its name.

        Parameters
        ----------
        given : Policy or str
            The policy, or its name as for `parse`.

        Returns
        -------
        Policy
            The policy.
        """
        if isinstance(given, str):
            return cls.parse(given)
        if not isinstance(given, Policy):
            raise ParameterError(
                "policy",
                given,
                "is not a policy",
                "give a name as 'ts', or for example profitable.ThompsonSampling()",
            )
        return given

    @classmethod
    def parse(cls, text: str) -> "Policy":
        """Return the policy with a name such as `ts` or `kl-ucb:c=3`.

        Parameters
        ----------
        text : str
            Name and parameters, as on the command line.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        ParameterError
            If the name or a parameter is unknown.

        Examples
        --------
        >>> from profitable import Policy
        >>> Policy.parse("ts:floor=0.05").floor
        0.05
        """
        if not isinstance(text, str):
            raise ParameterError(
                "policy", text, "is not a name", "give one as 'ts' or 'kl-ucb:c=3'"
            )
        name, _, rest = text.strip().partition(":")
        if name not in POLICIES:
            raise ParameterError("policy", text, "is unknown", f"choose from {', '.join(POLICIES)}")
        kind, values = POLICIES[name], dict[str, Any]()
        known = {each.name: each for each in kind._options() if each.name != "prior"}
        remedy = (
            f"{name} takes {', '.join(known)}, as {name}:{kind.example}"
            if known
            else f"{name} takes none"
        )
        for part in filter(None, map(str.strip, rest.split(","))):
            key, equals, value = map(str.strip, part.partition("="))
            if key not in known or key in values:
                raise ParameterError(
                    f"{key} in policy {text!r}",
                    value,
                    "is given twice" if key in values else "is not a parameter of this policy",
                    remedy,
                )
            if not equals and "alone" in known[key].metadata:
                values[key] = known[key].metadata["alone"]
            elif "choices" in known[key].metadata:
                values[key] = value
            else:
                try:
                    values[key] = int(value) if value.isdecimal() else float(value)
                except ValueError:
                    raise ParameterError(
                        f"{key} in policy {text!r}", value, "is not a number", remedy
                    ) from None
        return kind(**values)

    def __str__(self) -> str:
        texts: list[str] = []
        for each in self._options():
            value = getattr(self, each.name)
            if (
                each.name == "prior"
                or value is None
                or value == each.metadata.get("usual", each.default)
            ):
                continue
            alone = value == each.metadata.get("alone")
            text = value if isinstance(value, str) else repr(value).removesuffix(".0")
            texts.append(each.name if alone else f"{each.name}={text}")
        return f"{self.name}:{','.join(texts)}" if texts else self.name


@dataclass(frozen=True)
class Deterministic(Policy, abstract=True):
    """A policy whose patience is log(inflate t) + c log log t.

    Parameters
    ----------
    c : float
        Factor of log log t; 0 unless given.
    inflate : float
        Factor of t, at least 1.
    """

    c: float = field(default=0.0, kw_only=True, metadata={"check": check.not_negative})
    inflate: float = field(default=1.0, kw_only=True, metadata={"check": check.positive})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inflate < 1.0:
            raise ParameterError(
                "inflate",
                self.inflate,
                "is below 1",
                "give 1 or more, so that patience is never negative",
            )

    @property
    def terms(self) -> Patience:
        return Patience(DRAWN) if self.draws else Patience(TIME, self.c, self.inflate)


@dataclass(frozen=True)
class Bayesian(Policy, abstract=True):
    """A policy with a prior: a category's own, else `prior`, else Jeffreys'.

    Parameters
    ----------
    prior : Prior, optional
        Prior of the categories that have none of their own.
    """

    prior: Prior | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ParameterError(
                "prior", self.prior, "is not a prior", "give for example Prior.beta(1, 1)"
            )

    def prior_of(self, category: Category) -> Prior | None:
        return self.prior if category.prior is None else category.prior


@dataclass(frozen=True)
class BoundedPolicy(Deterministic, abstract=True):
    """A policy for bounded rewards, which it cuts to the category's interval."""

    gaussian: ClassVar[bool] = False

    def view(self, category: Category) -> View:
        view = super().view(category)
        bounds = category.bounds()
        if bounds is None:
            raise MissingBoundError(
                "bound",
                None,
                f"is missing, and {self} is for bounded rewards",
                f"give Category({category.name!r}, ..., bound=...), rewards above it are cut",
                category.name,
            )
        return bounded_view(*bounds, view.support, gaussian=self.gaussian)


@dataclass(frozen=True)
class KLUCB(Deterministic):
    """Policy kl-UCB-4P (section 4): evidence N d(mean, threshold)."""

    name = "kl-ucb"
    rule = evidence.DIVERGENCE
    look = Look(BLUE)


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
        return Patience(DRAWN)


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
                self, "horizon", check.whole("horizon", self.horizon, most=LAST_ROUND)
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
        return Patience(AHEAD, 0.0, 1.0, rounds, growth, self.risk, self.clients or 0.0)

    def within(self, horizon: int) -> "Optimal":
        return replace(self, horizon=horizon) if self.horizon == OWN else self

    def outlook(self, t: float, per_round: float) -> str:
        ahead = patience.rounds_ahead(self.coded_patience, t)
        clients = number_text(float(f"{per_round * ahead:.2g}"))
        if self.horizon is not None:
            passed = (
                f"the horizon of {number_text(self.terms.rounds)} rounds has passed, and without "
                "clients to come"
            )
            return f"with about {clients} clients still to come" if ahead > 0.0 else passed
        if self.discount is not None:
            return f"with future clients worth about {clients} of today's"
        return f"expecting about {clients} more clients"


def looks_of(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name of a curve; names may have parameters.

    The first thirty or so are different.

    >>> looks_of(["kl-ucb", "kl-ucb:c=3"])["kl-ucb:c=3"]
    Look(colour='#0072B2', dash=(2, 2))
    """
    looks: dict[str, Look] = {}
    for name in names:
        look = _look(name.partition(":")[0], len(looks))
        free = [Look(look.colour, dash) for dash in VARIANTS]
        free += [Look(colour, dash) for dash in VARIANTS for colour in PALETTE]
        looks[name] = next((each for each in (look, *free) if each not in looks.values()), look)
    return looks


def _look(policy: str, place: int) -> Look:
    """Return the look that a policy's class asks for.

    A policy without one gets the colour of its place.
    """
    chosen = POLICIES[policy].look if policy in POLICIES else None
    known = list(POLICIES)
    return chosen or Look(
        PALETTE[(known.index(policy) if policy in known else place) % len(PALETTE)], SHORT
    )
