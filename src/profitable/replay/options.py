"""Options: what is replayed over the past clients, and how often."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from profitable.common import check
from profitable.errors import ParameterError
from profitable.model.family import Family
from profitable.policy.policies import Policy
from profitable.replay.layout import Layout, is_list
from profitable.replay.limits import Limits
from profitable.replay.replay import Late

POLICIES_TRIED = (
    "kl-ucb",
    "kl-ucb+:count=rounds",
    "bayes-ucb",
    "ts",
    "optimal:horizon",
    "kl-ucb:forget=0.97",
    "ts:forget=0.97",
)
MOST_TRIED = 100


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a backtest is run.

    - `policies`: names such as "ts:forget=0.97", or policies.  `optimal:horizon` takes the length of the file.
    - `family`: of the rewards; suggested from the data unless given.  `bound`: of rewards for policies that need one.
    - `seeds`: how often a policy that draws at random is replayed; `replays`: how many bootstrap portfolios.
    - `budget` (money) or `places` (clients) of a round, and `explore`, the share of it that is for learning.
    - `commit`: the share of the rounds after which the rival commits itself; `shuffles`: replays in a random order.

    >>> Options(policies="ts").policies
    (ThompsonSampling(forget=1.0, window=None, floor=0.0, prior=None),)
    """

    policies: str | Policy | Sequence[str | Policy] = POLICIES_TRIED
    family: Family | str | None = None
    bound: float | None = None
    seed: int = 1
    seeds: int = 20
    replays: int = 200
    budget: float | None = None
    places: int | None = None
    explore: float | None = None
    commit: float | None = 0.2
    shuffles: int = 10

    def __post_init__(self) -> None:
        given: Sequence[Any] = [self.policies] if isinstance(self.policies, str | Policy) else self.policies
        if not is_list(given):
            raise ParameterError("policies", given, "is no list of policies", "give names, as ['ts', 'kl-ucb']")
        policies = tuple(Policy.of(each) for each in given)
        if not policies:
            raise ParameterError("policies", given, "is empty", "give at least one, as ts")
        names = [str(policy) for policy in policies]
        if len(names) > MOST_TRIED or len(set(names)) < len(names):
            problem = "has one policy twice" if len(names) <= MOST_TRIED else f"has more than {MOST_TRIED} policies"
            raise ParameterError("policies", names, problem, "give each policy once")
        self._set("policies", policies)
        if self.family is not None:
            self._set("family", Family.of(self.family))
        if self.bound is not None:
            self._set("bound", check.positive("bound", self.bound))
        self._set("seed", check.whole("seed", self.seed, least=0))
        self._set("seeds", check.whole("seeds", self.seeds, least=1, most=10_000))
        self._set("replays", check.whole("replays", self.replays, least=0, most=100_000))
        self._set("shuffles", check.whole("shuffles", self.shuffles, least=0, most=10_000))
        if self.replays == 1 or self.shuffles == 1:
            field = "replays" if self.replays == 1 else "shuffles"
            raise ParameterError(field, 1, "says nothing about chance", "give 0, or 100 or more")
        if self.commit is not None:
            share = check.number(self.commit)
            if not check.fits(share, 0.0, 1.0) or share in (0, 1):
                raise ParameterError("commit", self.commit, "is not a share of the rounds", "give 0.2 for 20 %")
            self._set("commit", float(share))
        if self.budget is not None and self.places is not None:
            raise ParameterError("places", self.places, "is given beside a budget", "give one of the two")
        if self.budget is not None:
            self._set("budget", check.positive("budget", self.budget))
        if self.places is not None:
            self._set("places", check.whole("places", self.places))
        if self.explore is not None:
            if self.limits is None:
                raise ParameterError("explore", self.explore, "is given without a limit", "give budget or places, too")
            share = check.number(self.explore)
            if not check.fits(share, 0.0, 1.0):
                raise ParameterError("explore", self.explore, "is not a share", "give a number from 0 to 1")
            self._set("explore", float(share))

    @property
    def tried(self) -> tuple[Policy, ...]:
        """The policies, checked."""
        return self.policies  # type: ignore[return-value]

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def limits(self) -> Limits | None:
        """What each round has, if there is a limit."""
        if self.budget is None and self.places is None:
            return None
        return Limits(self.budget, self.places, self.explore)

    def check(self, layout: Layout) -> None:
        """ParameterError where options and columns contradict each other."""
        if self.limits is not None and layout.propensity is not None and layout.treated is None:
            remedy = "leave it out: a log does not say what a limit would have left"
            raise ParameterError(
                "budget" if self.budget else "places", self.limits.size, "is given beside a log", remedy
            )
        if self.budget is not None and isinstance(layout.cost, str):
            remedy = "give places, or a cost that is the same for all"
            raise ParameterError("budget", self.budget, "cannot be shared out by a column of costs", remedy)
        late = late_of(layout)
        if late is not None and late.by_age:
            self._check_by_age(layout)

    def _check_by_age(self, layout: Layout) -> None:
        """ParameterError where open clients cannot count at a promised reward."""
        field = "emerges" if layout.open_value is None else "open_value"
        if layout.amount is not None and layout.weight == "money":
            problem = "is not defined where clients weigh as much as their amounts"
            raise ParameterError(field, getattr(layout, field), problem, "give weight = client, too")
        for policy in self.tried:
            if policy.rule.needs_values:
                problem = f"is not defined for {policy}, which looks at every single reward"
                raise ParameterError(field, getattr(layout, field), problem, "leave this policy out")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for the report; `Options(**values)` reads them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["policies"] = [str(policy) for policy in values["policies"]]
        values["family"] = None if self.family is None else _written(Family.of(self.family))
        return values


def _written(family: Family) -> str:
    """A family as on the command line.

    >>> _written(Family.of("bounded: low=0, high=2"))
    'bounded:low=0.0,high=2.0'
    """
    values = ",".join(f"{key}={value!r}" for key, value in family.parameters.items())
    return f"{family.name}:{values}" if values else family.name


def late_of(layout: Layout) -> Late | None:
    """How open clients count, as the layout says."""
    if layout.open_value is not None:
        return Late(0, "evenly")
    return None if layout.matures is None else Late(layout.matures, layout.emerges)
