"""Policy: a value that says which evidence to compute and how patient to be.  `policy/policies.py` has them all.

All of them decide in the same way: accept while evidence <= patience.  They differ in their rule
(`kernels/evidence.py`), in what they see of a category (`model/view.py`) and in the terms of their patience
(`kernels/patience.py`): a function of time, a draw, or what finding out is still worth.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from profitable.common import check
from profitable.common.looks import Look
from profitable.common.registry import register
from profitable.common.types import FloatArray
from profitable.errors import MissingBoundError, ParameterError
from profitable.kernels.evidence import Rule
from profitable.kernels.patience import AHEAD, DRAWN, LAST_ROUND, TIME, Patience, first_time, first_times, patience_at
from profitable.model.category import Category
from profitable.model.prior import Prior
from profitable.model.view import View, bounded_view

LONGEST_WINDOW = 10**6  # rounds
COMMON = {"common": True}  # marks a parameter that every policy takes
ONE_BY_ONE = 32  # so many are done without compiling a loop
POLICIES: dict[str, type["Policy"]] = {}  # by name; filled by the classes themselves


@dataclass(frozen=True)
class Policy(ABC):
    """Base class; `str(policy)` is its name on the command line, parameters included.

    A subclass has a `name`, a `rule` and the `terms` of its patience, and registers itself under its name.

    >>> from profitable import KLUCB
    >>> print(KLUCB(c=3))
    kl-ucb:c=3
    >>> Policy.parse("kl-ucb+:c=3,inflate=10").inflate
    10.0

    Every policy takes these options:

    - `forget`: the weight of a round's outcomes after one more round, as 0.97; 1 (nothing is forgotten) unless given.
    - `window`: count the outcomes of so many rounds only, and forget older ones at once.
    - `floor`: the probability with which a category is accepted although the policy rejects it, as 0.05; drawn once for
      each category and round.

    >>> print(KLUCB(c=3, forget=0.97))
    kl-ucb:c=3,forget=0.97
    """

    forget: float = field(default=1.0, kw_only=True, metadata=COMMON)
    window: int | None = field(default=None, kw_only=True, metadata=COMMON)
    floor: float = field(default=0.0, kw_only=True, metadata=COMMON)

    name: ClassVar[str]
    rule: ClassVar[Rule]  # which evidence (`kernels/evidence.py`); a parameter may choose another one for a policy
    draws: ClassVar[bool] = False  # Thompson sampling: patience is drawn, not computed
    example: ClassVar[str] = "c=3"  # of a parameter on the command line
    look: ClassVar[Look | None] = None  # of its curves; the next free colour unless given

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        for method in ("patience", "next_round", "next_rounds"):
            if getattr(cls, method) is not getattr(Policy, method):
                raise TypeError(f"{cls.__name__} has its own {method}, which the kernels do not know: give it terms")
        if not abstract:
            register(POLICIES, cls, needed=("name", "rule", "terms"))

    def __post_init__(self) -> None:
        forget = check.positive("forget", self.forget)
        if forget > 1.0:
            problem = "would make old outcomes count for more than new ones"
            raise ParameterError(
                "forget", self.forget, problem, "give a number from 0 to 1, as 0.97; 1 forgets nothing"
            )
        object.__setattr__(self, "forget", forget)
        if self.window is not None:
            object.__setattr__(self, "window", check.whole("window", self.window, most=LONGEST_WINDOW))
            if forget < 1.0:
                remedy = "give one of the two, forget=0.97 or window=20"
                raise ParameterError("window", self.window, f"is given beside forget={forget:g}", remedy)
        floor = check.number(self.floor)
        if floor is None or not check.fits(floor, 0.0, 1.0):
            remedy = "give a number from 0 to 1, as 0.05; 0 is no floor"
            raise ParameterError("floor", self.floor, "is not a probability", remedy)
        object.__setattr__(self, "floor", float(floor))

    @property
    def forgets(self) -> bool:
        """Whether outcomes count for less, or no more, when rounds pass."""
        return self.forget < 1.0 or self.window is not None

    @property
    def stops_for_good(self) -> bool:
        """Whether a category that it rejects is never accepted again: its patience does not grow, or not for ever.

        >>> from profitable import KLUCB, Optimal
        >>> Optimal(horizon=1_000).stops_for_good, Optimal().stops_for_good, KLUCB().stops_for_good
        (True, False, False)
        """
        terms = self.terms
        return terms.kind == AHEAD and terms.growth <= 0.0 and self.floor == 0.0 and not self.forgets

    @property
    def stream_name(self) -> str:
        """The name of its random streams: `str(policy)`, and the prior if the policy has one of its own.

        It does not change when a class is renamed or gets another parameter.  So a seed keeps its numbers.

        >>> from profitable import KLUCB, Prior, ThompsonSampling
        >>> KLUCB(c=3).stream_name, ThompsonSampling(prior=Prior.beta(1, 1)).stream_name
        ('kl-ucb:c=3', 'ts, prior beta(1.0, 1.0)')
        """
        prior = getattr(self, "prior", None)
        return str(self) if prior is None else f"{self}, prior {prior.kind}({prior.first!r}, {prior.second!r})"

    def prior_of(self, category: Category) -> Prior | None:
        """The prior for a category; None means Jeffreys'.  ParameterError if the category has one that is of no use."""
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
        """What this policy sees of a category.  It may depend on the family, the bound and the prior only."""
        if not isinstance(category, Category):
            raise ParameterError("category", category, "is not a category", "give Category(name, family, threshold=)")
        view = category.family.view()
        prior = self.prior_of(category)
        return view if prior is None else view.with_prior(*prior.imaginary_clients(category.family))

    @classmethod
    def constants(cls) -> list[str]:
        """The names of its numeric parameters, which can be given on the command line."""
        return [each.name for each in cls._options() if each.name != "prior"]

    @classmethod
    def _options(cls) -> list[Field[Any]]:
        """Its parameters: its own, and then those that every policy takes."""
        return sorted(fields(cls), key=lambda each: "common" in each.metadata)

    @property
    @abstractmethod
    def terms(self) -> Patience:
        """What its patience is made of (`kernels/patience.py`)."""

    @property
    def coded_patience(self) -> Patience:
        """Its terms, on a clock that counts no more rounds than are remembered, and its floor."""
        window = math.inf if self.window is None else float(self.window)
        return self.terms._replace(forget=self.forget, window=window, floor=self.floor)

    def with_floor(self, chance: FloatArray) -> FloatArray:
        """The probabilities of acceptance when patience alone would accept with these, [M]."""
        return chance + (1.0 - chance) * self.floor if self.floor > 0.0 else chance

    def within(self, horizon: int) -> "Policy":
        """The policy in a run of so many rounds; only `Optimal` can ask for it."""
        del horizon
        return self

    def patience(self, t: float, *, known: float = 0.0, per_round: float = 1.0) -> float:
        """Nats of evidence tolerated in round t + 1; infinite where it is drawn.

        `known` is the number of clients with a known outcome, imaginary ones of a prior included.  `per_round` is how
        many come in a round.  Only policies that look ahead need the two.

        >>> from profitable import KLUCB, Optimal
        >>> round(KLUCB().patience(100), 3), round(Optimal(horizon=1_000).patience(100, known=100), 3)
        (4.605, 2.225)
        """
        return patience_at(self.coded_patience, check.not_negative("t", t), *self._numbers(known, per_round))

    def _numbers(self, known: float, per_round: float) -> tuple[float, float]:
        """Known clients, and clients per round: if the policy has a number of its own, that one."""
        return check.not_negative("known", known), self.terms.clients or check.positive("per_round", per_round)

    def outlook(self, t: float, per_round: float) -> str:
        """What a policy that looks ahead expects after round t, in words; empty for the others."""
        del t, per_round
        return ""

    def next_round(self, evidence: float, now: int, *, known: float = 0.0, per_round: float = 1.0) -> int | None:
        """The first round after `now` that tolerates this much evidence; None if that is never (or past 10^18)."""
        nats = check.number(evidence)
        if nats != math.inf and not check.fits(nats, 0.0):
            raise ParameterError("evidence", evidence, "is not a number of nats", "give a number, 0 or more")
        now, (number, rate) = check.whole("now", now, least=0, most=LAST_ROUND), self._numbers(known, per_round)
        return self.next_rounds(np.array([nats], dtype=np.float64), now, np.array([number]), np.array([rate]))[0]

    def next_rounds(self, evidence: FloatArray, now: int, known: FloatArray, per_round: FloatArray) -> list[int | None]:
        """`next_round` for several categories, [M]."""
        terms = self.coded_patience
        if evidence.size <= ONE_BY_ONE:
            columns = zip(evidence.tolist(), known.tolist(), per_round.tolist(), strict=True)
            times = [first_time(terms, nats, now, number, rate) for nats, number, rate in columns]
        else:
            found = np.empty(evidence.size, dtype=np.int64)
            first_times(terms, evidence, now, known, per_round, found)
            times = found.tolist()
        return [None if time == 0 else time + 1 for time in times]

    @classmethod
    def of(cls, given: "Policy | str") -> "Policy":
        """A policy that is given as such or by its name."""
        if isinstance(given, str):
            return cls.parse(given)
        if not isinstance(given, Policy):
            remedy = "give a name as 'ts', or for example profitable.ThompsonSampling()"
            raise ParameterError("policy", given, "is not a policy", remedy)
        return given

    @classmethod
    def parse(cls, text: str) -> "Policy":
        """The policy with a name such as `ts` or `kl-ucb:c=3`."""
        if not isinstance(text, str):
            raise ParameterError("policy", text, "is not a name", "give one as 'ts' or 'kl-ucb:c=3'")
        name, _, rest = text.strip().partition(":")
        if name not in POLICIES:
            raise ParameterError("policy", text, "is unknown", f"choose from {', '.join(POLICIES)}")
        kind = POLICIES[name]
        known = kind.constants()
        values: dict[str, Any] = {}
        remedy = f"{name} takes {', '.join(known)}, as {name}:{kind.example}" if known else f"{name} takes none"
        alone = {each.name: each.metadata["alone"] for each in fields(kind) if "alone" in each.metadata}
        words = {each.name for each in fields(kind) if "choices" in each.metadata}
        for part in filter(None, map(str.strip, rest.split(","))):
            key, equals, value = map(str.strip, part.partition("="))
            if key not in known or key in values:
                problem = "is given twice" if key in values else "is not a parameter of this policy"
                raise ParameterError(f"{key} in policy {text!r}", value, problem, remedy)
            if not equals and key in alone:
                values[key] = alone[key]
                continue
            if key in words:
                values[key] = value
                continue
            try:
                values[key] = int(value) if value.isdecimal() else float(value)
            except ValueError:
                raise ParameterError(f"{key} in policy {text!r}", value, "is not a number", remedy) from None
        return kind(**values)

    def __str__(self) -> str:
        texts: list[str] = []
        for each in self._options():
            value = getattr(self, each.name)
            if each.name == "prior" or value is None or value == each.metadata.get("usual", each.default):
                continue
            alone = value == each.metadata.get("alone")
            text = value if isinstance(value, str) else repr(value).removesuffix(".0")
            texts.append(each.name if alone else f"{each.name}={text}")
        return f"{self.name}:{','.join(texts)}" if texts else self.name


@dataclass(frozen=True)
class Deterministic(Policy, abstract=True):
    """A policy whose patience is log(inflate t) + c log log t."""

    c: float = field(default=0.0, kw_only=True)
    inflate: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", check.not_negative("c", self.c))
        object.__setattr__(self, "inflate", check.positive("inflate", self.inflate))
        if self.inflate < 1.0:
            raise ParameterError(
                "inflate", self.inflate, "is below 1", "give 1 or more, so that patience is never negative"
            )

    @property
    def terms(self) -> Patience:
        return Patience(DRAWN) if self.draws else Patience(TIME, self.c, self.inflate)


@dataclass(frozen=True)
class Bayesian(Policy, abstract=True):
    """A policy with a prior: a category's own, else `prior`, else Jeffreys'."""

    prior: Prior | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ParameterError("prior", self.prior, "is not a prior", "give for example Prior.beta(1, 1)")

    def prior_of(self, category: Category) -> Prior | None:
        return self.prior if category.prior is None else category.prior


@dataclass(frozen=True)
class BoundedPolicy(Deterministic, abstract=True):
    """A policy for bounded rewards: it sees rewards cut into the category's interval."""

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
