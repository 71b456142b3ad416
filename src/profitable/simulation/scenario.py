"""Scenario: categories and the hidden truth about them.  A simulation needs it, an agent must never see it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from profitable.common import check
from profitable.common.files import as_path, read_text, replace_text
from profitable.errors import DuplicateNameError, InputError, ParameterError, ProfitableError
from profitable.model.category import Category, is_text
from profitable.model.family import Family
from profitable.policy.policy import Policy
from profitable.simulation.arrivals import Clients
from profitable.simulation.cut_rewards import cut_mean
from profitable.theory import bounds
from profitable.theory.unlucky_start import UnluckyStarts, unlucky_rate

NO_SPREAD = 1e-6
MOST_CHANGES = 1_000
Means = tuple[tuple[int, float], ...]  # from which round on, and the mean from then on


class Phase(NamedTuple):
    """Rounds in which a mean stays the same: the first and the last of them, and the truth then."""

    start: int
    end: int
    truth: "Truth"


@dataclass(frozen=True)
class Truth:
    """A category, the mean of its rewards, and how many of its clients come in a round.

    - `mean`: a number, or pairs (round, mean) if it changes: [(1, 0.3), (5000, 0.1)] is 0.3 from round 1 on and 0.1
      from round 5 000 on.
    - `clients`: a number, a law of `profitable.simulation.arrivals`, or a list with one count for each round.
    - `amount_sd`: standard deviation of a loan's amount.  Amounts are gamma distributed and independent of repayment.
      So they change the realised profit and nothing else.
    - `sigma`: the standard deviation of `Normal` rewards, which the agent does not know.

    >>> from profitable import Bernoulli
    >>> students = Truth(Category("students", Bernoulli(), threshold=0.2), mean=0.3, clients=5)
    >>> students.profitable, round(students.loss, 3)
    (True, 0.1)
    >>> moved = Truth(students.category, mean=[(1, 0.3), (5000, 0.1)], clients=5)
    >>> [(phase.start, phase.end, phase.truth.profitable) for phase in moved.phases(20_000)]
    [(1, 4999, True), (5000, 20000, False)]
    """

    category: Category
    mean: float | Sequence[tuple[int, float]] = field(kw_only=True)
    clients: Clients = field(kw_only=True, default=Clients.of(1))
    amount_sd: float = field(kw_only=True, default=0.0)
    sigma: float | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        category = self.category
        if not isinstance(category, Category):
            raise ParameterError("category", category, "is not a category", "give Category(name, family, threshold=)")
        try:
            self._check(category)
        except ProfitableError as error:
            raise error.about(category.name) from None

    def _check(self, category: Category) -> None:
        family = category.family
        if not family.has_law:
            remedy = "choose a family with a law, such as Bernoulli, and give its bound"
            raise InputError("family", str(family), "has no law to draw rewards from", remedy)
        if self.sigma is not None:
            object.__setattr__(self, "sigma", check.positive("sigma", self.sigma))
        family.drawn(self.sigma)
        if category.weight is not None:
            remedy = "give Category(name, family, threshold=), where each client counts the same"
            raise InputError("weight", category.weight, "belongs to amounts, and a simulation draws none", remedy)
        object.__setattr__(self, "mean", check_means("mean", self.mean, family))
        object.__setattr__(self, "clients", Clients.of(self.clients))
        object.__setattr__(self, "amount_sd", check.not_negative("amount_sd", self.amount_sd))
        if self.amount_sd > 0.0 and category.amount is None:
            raise ParameterError(
                "amount_sd", self.amount_sd, "belongs to a loan, and this is none", "use Category.loan"
            )
        if 0.0 < self.amount_sd < NO_SPREAD * category.price:
            problem = f"is too small for an amount of {category.price:g}"
            raise ParameterError("amount_sd", self.amount_sd, problem, "leave it out, or give a larger one")
        for _, mean in self.means:
            self._check_cut(mean)

    def _check_cut(self, mean: float) -> None:
        """ParameterError if cutting rewards at the bound moves the mean to the other side of the threshold."""
        category = self.category
        edges = category.bounds()
        if edges is None or category.family.bounds is not None:
            return
        cut = cut_mean(self.family, mean, *edges)
        if (cut > category.threshold) != (mean > category.threshold) and mean != category.threshold:
            problem = f"cuts the mean {mean:g} to {cut:g}, on the other side of the threshold"
            remedy = f"give a larger bound, or another threshold than {category.threshold:g}"
            raise ParameterError("bound", category.bound, problem, remedy)

    @property
    def family(self) -> Family:
        """The family that rewards are drawn from: the category's own, with what is hidden from the agent."""
        return self.category.family.drawn(self.sigma)

    @property
    def means(self) -> Means:
        """The mean from round 1 on, and from each round on in which it changes."""
        return self.mean if isinstance(self.mean, tuple) else ((1, cast(float, self.mean)),)

    @property
    def moves(self) -> bool:
        """Whether the mean changes at some time."""
        return len(self.means) > 1

    @property
    def fixed_mean(self) -> float:
        """The mean; InputError if it changes."""
        if self.moves:
            problem, remedy = "changes with time, and this is about a mean that does not", "ask about one of its phases"
            raise InputError("mean", [list(pair) for pair in self.means], problem, remedy, self.category.name)
        return self.means[0][1]

    def phases(self, horizon: int) -> list[Phase]:
        """The stretches of rounds up to a horizon in which the mean stays the same."""
        return list(_phases(self, horizon))

    def changes_sides(self, horizon: int) -> bool:
        """Whether it is profitable at one time and not at another, up to a horizon."""
        threshold = self.category.threshold
        return len({mean > threshold for start, mean in self.means if start <= horizon}) > 1

    @property
    def profitable(self) -> bool:
        """Whether accepting its clients pays: mean > threshold; InputError if the mean changes."""
        return self.fixed_mean > self.category.threshold

    @property
    def loss(self) -> float:
        """|Delta_a|: what the wrong decision about one client costs on average, in money; InputError if it changes."""
        return bounds.loss(self.category, self.fixed_mean)

    @property
    def largest_loss(self) -> float:
        """The largest loss at any time."""
        return max(bounds.loss(self.category, mean) for _, mean in self.means)


@lru_cache(maxsize=64)
def _phases(truth: Truth, horizon: int) -> tuple[Phase, ...]:
    """`Truth.phases`, kept, because every block of runs asks for them."""
    starts = [(start, mean) for start, mean in truth.means if start <= horizon]
    ends = [*(start - 1 for start, _ in starts[1:]), horizon]
    return tuple(
        Phase(start, end, replace(truth, mean=mean) if truth.moves else truth)
        for (start, mean), end in zip(starts, ends, strict=True)
    )


def check_means(name: str, given: object, family: Family) -> float | Means:
    """The mean that is given, or the means and since when; ParameterError if it cannot be one of that family.

    >>> from profitable import Bernoulli
    >>> check_means("mean", [[1, 0.3], [5000, 0.1]], Bernoulli())
    ((1, 0.3), (5000, 0.1))
    """
    if not isinstance(given, list | tuple):
        return _check_mean(name, given, family)
    pairs: list[Any] = list(cast(Sequence[Any], given))
    given = pairs
    remedy = "give [[1, mean], [round, mean], ...] with rising rounds"
    if not pairs or not all(isinstance(pair, list | tuple) and len(cast(Sequence[Any], pair)) == 2 for pair in pairs):
        raise ParameterError(name, given, "is neither a number nor a list of rounds and means", remedy)
    if len(pairs) > MOST_CHANGES:
        raise ParameterError(name, f"{len(pairs)} pairs", "are too many", f"give at most {MOST_CHANGES}")
    rounds = [check.whole(f"round in {name}", start) for start, _ in pairs]
    if rounds[0] != 1:
        raise ParameterError(name, given, f"begins in round {rounds[0]} and not in round 1", remedy)
    for earlier, later in pairwise(rounds):
        if later <= earlier:
            raise ParameterError(name, given, f"has round {later} after round {earlier}", remedy)
    means = [_check_mean(f"{name} from round {start}", mean, family) for start, (_, mean) in zip(rounds, pairs)]
    return means[0] if len(means) == 1 else tuple(zip(rounds, means, strict=True))


def _check_mean(name: str, given: object, family: Family) -> float:
    mean = family.check_mean(name, given)
    if (family.support.open and mean == family.support.low) or not family.view().holds_mean(mean):
        raise ParameterError(name, mean, f"cannot be the mean of {family} rewards", "give a larger one")
    return mean


@dataclass(frozen=True)
class Scenario:
    """What a simulation needs to know: a name and the truth about each category.

    >>> from profitable import Bernoulli
    >>> students = Truth(Category("students", Bernoulli(), threshold=0.2), mean=0.3, clients=5)
    >>> shops = Truth(Category("shops", Bernoulli(), threshold=0.5), mean=0.4)
    >>> scenario = Scenario("two segments", [students, shops])
    >>> Scenario.from_toml(scenario.to_toml()) == scenario
    True
    """

    name: str
    truths: tuple[Truth, ...]

    def __init__(self, name: str, truths: Iterable[Truth]) -> None:
        if not isinstance(name, str) or not name.strip() or not is_text(name):
            raise ParameterError("name", name, "is not a name", "give the scenario a text that is not empty")
        if not isinstance(truths, Iterable):
            raise ParameterError("truths", truths, "is not a list", "give a list of Truth(category, mean=, clients=)")
        truths = tuple(truths)
        if not truths:
            raise InputError("category", [], "is empty", "give at least one category")
        seen: set[str] = set()
        for truth in truths:
            if not isinstance(truth, Truth):
                raise ParameterError("truths", truth, "is not a Truth", "give Truth(category, mean=..., clients=...)")
            if truth.category.name in seen:
                raise DuplicateNameError("name", truth.category.name, "is given twice", "give each category its own")
            seen.add(truth.category.name)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "truths", truths)

    @property
    def categories(self) -> tuple[Category, ...]:
        """The categories: all that an agent would know."""
        return tuple(truth.category for truth in self.truths)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return tuple(truth.category.name for truth in self.truths)

    @property
    def moves(self) -> bool:
        """Whether the mean of some category changes at some time."""
        return any(truth.moves for truth in self.truths)

    @property
    def unit(self) -> float:
        """What one wrong round costs in the most expensive category.  Histograms count regret in this unit."""
        return max(truth.largest_loss * truth.clients.average for truth in self.truths) or 1.0

    def lower_bound(self) -> bounds.LowerBound:
        """Theorem 1 for this scenario; InputError if means change, because it is about means that do not."""
        means, sigmas = [truth.fixed_mean for truth in self.truths], [truth.sigma for truth in self.truths]
        return bounds.lower_bound(self.categories, means, sigmas=sigmas)

    def lower_bound_per_log_t(self) -> float | None:
        """Its constant; None if means change."""
        return None if self.moves else self.lower_bound().total

    @classmethod
    def from_toml(cls, text: str, *, source: str = "scenario") -> Self:
        """A scenario from the text of a file; `source` names the file in errors."""
        from profitable.simulation.scenario_file import read

        if not isinstance(text, str):
            raise ParameterError("text", text, "is not a text", "give the content of a scenario file")
        return cls(*read(text, str(source)))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """A scenario from a TOML file."""
        try:
            text = read_text(as_path("scenario", path), "utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise InputError("scenario", str(path), f"cannot be read ({reason})", "give a TOML file") from None
        return cls.from_toml(text, source=str(path))

    def to_toml(self) -> str:
        """The text of a scenario file; read back, it gives the same scenario."""
        from profitable.simulation.scenario_file import write

        return write(self.name, self.truths)

    def save(self, path: Path | str) -> None:
        """Write a scenario file."""
        try:
            replace_text(as_path("path", path), self.to_toml())
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            raise InputError("path", str(path), problem, "choose another file") from None


def unlucky_starts(scenario: Scenario, policy: Policy | Any, horizon: int) -> UnluckyStarts:
    """How often a policy rejects profitable categories for a long time after an unlucky start.

    If the policy forgets, a rejected category returns by itself.  If means change, it is not judged.  Nothing is known
    about an object that decides by itself.
    """
    if scenario.moves or (isinstance(policy, Policy) and policy.forgets):
        return UnluckyStarts()
    if not isinstance(policy, Policy):
        return UnluckyStarts(known=not any(truth.profitable for truth in scenario.truths))
    policy = policy.within(horizon)
    rates = [unlucky_rate(policy, truth.category, truth.fixed_mean, truth.clients.seen) for truth in scenario.truths]
    if None in rates:
        return UnluckyStarts(known=False)
    return UnluckyStarts(tuple(rate or 0.0 for rate in rates), policy.terms.c)
