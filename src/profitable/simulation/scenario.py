"""Scenario: categories and the hidden truth about them, in Python or in a TOML file.

A simulation needs it, an agent must never see it.  Every mistake in a file is reported
with the file, the category, the field and the value.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from profitable.common import check
from profitable.common.files import as_path, read_text, replace_text
from profitable.common.types import IntArray
from profitable.errors import DuplicateNameError, InputError, ParameterError, ProfitableError
from profitable.model.category import Category, is_text, said_before
from profitable.model.category_table import (
    in_file,
    is_list,
    is_table,
    known_fields,
    needed_field,
    parse_toml,
    read_category,
    read_entries,
)
from profitable.model.families import FAMILIES, Family
from profitable.policy.policies import Policy
from profitable.policy.shared_orders import orders_of
from profitable.simulation.clients_per_round import LAWS, Clients
from profitable.simulation.cut_rewards import cut_mean
from profitable.simulation.lending_world import LendingWorld, read_lending
from profitable.theory import regret_bounds
from profitable.theory.order_bound import ordered_lower_bound
from profitable.theory.unlucky_start import UnluckyStarts, unlucky_rate

NO_SPREAD = 1e-6
Means = tuple[tuple[int, float], ...]  # from which round on, and the mean from then on


class Phase(NamedTuple):
    """Rounds in which a mean stays the same: first, last, and the truth then."""

    start: int
    end: int
    truth: "Truth"


@dataclass(frozen=True)
class Truth:
    """A category with the truth about its clients, which an agent must never see.

    Parameters
    ----------
    category : Category
        All that the agent knows.
    mean : float or list of pairs
        Mean of the rewards, or pairs (round, mean) if it changes: [(1, 0.3), (5000,
        0.1)] is 0.3 from round 1 on and 0.1 from round 5 000 on.
    clients : int, list of int or Clients
        Clients per round: a number, a law such as `OnePlusPoisson`, or a list with one
        count for each round.
    amount_sd : float
        Standard deviation of a loan's amount.  Amounts are gamma distributed and
        independent of repayment, so they change the realised profit and nothing else.
    sigma : float, optional
        Standard deviation of `Normal` rewards, which the agent does not know.

    Examples
    --------
    >>> from profitable import Bernoulli
    >>> category = Category("students", Bernoulli(), threshold=0.2)
    >>> students = Truth(category, mean=0.3, clients=5)
    >>> students.profitable, round(students.loss, 3)
    (True, 0.1)
    >>> moved = Truth(category, mean=[(1, 0.3), (5000, 0.1)], clients=5)
    >>> [(phase.start, phase.end, phase.truth.mean) for phase in moved.phases(20_000)]
    [(1, 4999, 0.3), (5000, 20000, 0.1)]

    """

    category: Category
    mean: float | Sequence[tuple[int, float]] = field(kw_only=True)
    clients: Clients = field(kw_only=True)
    amount_sd: float = field(kw_only=True)
    sigma: float | None = field(kw_only=True)

    def __init__(
        self,
        category: Category,
        *,
        mean: float | Sequence[tuple[int, float]],
        clients: int | Sequence[int] | IntArray | Clients = 1,
        amount_sd: float = 0.0,
        sigma: float | None = None,
    ) -> None:
        if not isinstance(category, Category):
            raise ParameterError(
                "category",
                category,
                "must be a Category",
                "give Category(name, family, threshold=)",
            )
        try:
            checked = _checked(category, mean, clients, amount_sd, sigma)
        except ProfitableError as error:
            raise error.about(category.name) from None
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def family(self) -> Family:
        """The family that rewards are drawn from, with what the agent does not see."""
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
            raise InputError(
                "mean",
                [list(pair) for pair in self.means],
                "changes with time, and this is about a mean that does not",
                "ask about one of its phases",
                self.category.name,
            )
        return self.means[0][1]

    def phases(self, horizon: int) -> list[Phase]:
        """Return the phases up to a horizon: rounds in which the mean stays the same.

        Parameters
        ----------
        horizon : int
            The last round.

        Returns
        -------
        list of Phase
            First round, last round and truth of each phase.

        """
        return list(_phases(self, horizon))

    def changes_sides(self, horizon: int) -> bool:
        """Return whether the category is profitable in some rounds and not in others.

        Parameters
        ----------
        horizon : int
            The last round.

        Returns
        -------
        bool
            True if the mean crosses the threshold up to the horizon.

        """
        return len({phase.truth.profitable for phase in self.phases(horizon)}) > 1

    @property
    def profitable(self) -> bool:
        """Whether accepting its clients pays: mean > threshold.

        InputError if the mean changes.
        """
        return self.fixed_mean > self.category.threshold

    @property
    def loss(self) -> float:
        """Mean cost of a wrong decision about one client, |Delta_a|, in money."""
        return regret_bounds.loss(self.category, self.fixed_mean)

    @property
    def largest_loss(self) -> float:
        """The largest loss at any time."""
        return max(regret_bounds.loss(self.category, mean) for _, mean in self.means)


def _checked(
    category: Category, mean: object, clients: object, amount_sd: object, sigma: object
) -> dict[str, Any]:
    """Return the fields of a truth, or raise an error."""
    family = category.family
    if not family.has_law:
        raise InputError(
            "family",
            str(family),
            "has no law to draw rewards from",
            "choose a family with a law, such as Bernoulli, and give its bound",
        )
    sigma = None if sigma is None else check.positive("sigma", sigma)
    drawn = family.drawn(sigma)
    if category.weight is not None:
        raise InputError(
            "weight",
            category.weight,
            "belongs to amounts, and a simulation draws none",
            "give Category(name, family, threshold=), where each client counts the same",
        )
    means = check_means("mean", mean, family)
    arrivals = Clients.of(clients)
    spread = check.not_negative("amount_sd", amount_sd)
    if spread > 0.0 and category.amount is None:
        raise ParameterError(
            "amount_sd", spread, "belongs to a loan, and this is not one", "use Category.loan"
        )
    if 0.0 < spread < NO_SPREAD * category.price:
        raise ParameterError(
            "amount_sd",
            spread,
            f"is too small for an amount of {category.price:g}",
            "leave it out, or give a larger one",
        )
    edges = category.bounds() if family.bounds is None else None
    for each in [mean for _, mean in means] if isinstance(means, tuple) else [means]:
        cut = each if edges is None else cut_mean(drawn, each, *edges)
        crosses = (cut > category.threshold) != (each > category.threshold)
        if crosses and each != category.threshold:
            raise ParameterError(
                "bound",
                category.bound,
                f"cuts the mean {each:g} to {cut:g}, on the other side of the threshold",
                f"give a larger bound, or another threshold than {category.threshold:g}",
            )
    return {
        "category": category,
        "mean": means,
        "clients": arrivals,
        "amount_sd": spread,
        "sigma": sigma,
    }


@lru_cache(maxsize=64)
def _phases(truth: Truth, horizon: int) -> tuple[Phase, ...]:
    """Return `Truth.phases`, cached: every block of runs needs them."""
    starts = [(start, mean) for start, mean in truth.means if start <= horizon]
    ends = [*(start - 1 for start, _ in starts[1:]), horizon]
    return tuple(
        Phase(start, end, replace(truth, mean=mean) if truth.moves else truth)
        for (start, mean), end in zip(starts, ends, strict=True)
    )


def check_means(name: str, given: object, family: Family) -> float | Means:
    """Return the mean, or the means and their first rounds.

    ParameterError if it cannot be a mean of that family.

    >>> from profitable import Bernoulli
    >>> check_means("mean", [[1, 0.3], [5000, 0.1]], Bernoulli())
    ((1, 0.3), (5000, 0.1))
    """
    if not isinstance(given, list | tuple):
        return _check_mean(name, given, family)
    pairs = check.by_round(name, cast(Sequence[Any], given), "mean")
    means = [_check_mean(f"{name} from round {start}", mean, family) for start, mean in pairs]
    starts = (start for start, _ in pairs)
    return means[0] if len(means) == 1 else tuple(zip(starts, means, strict=True))


def _check_mean(name: str, given: object, family: Family) -> float:
    mean = family.check_mean(name, given)
    if (family.support.open and mean == family.support.low) or not family.view().holds_mean(mean):
        raise ParameterError(
            name, mean, f"cannot be the mean of {family} rewards", "give a larger one"
        )
    return mean


@dataclass(frozen=True)
class Scenario:
    """A name and the truth about each category.

    Parameters
    ----------
    name : str
        Name of the scenario.
    truths : iterable of Truth
        One truth for each category; their names must differ.
    lending : LendingWorld, optional
        In place of truths: categories of loans, whose outcomes are known late.

    Examples
    --------
    >>> from profitable import Bernoulli
    >>> category = Category("students", Bernoulli(), threshold=0.2)
    >>> shops = Truth(Category("shops", Bernoulli(), threshold=0.5), mean=0.4)
    >>> scenario = Scenario("two", [Truth(category, mean=0.3, clients=5), shops])
    >>> Scenario.from_toml(scenario.to_toml()) == scenario
    True

    """

    name: str
    truths: tuple[Truth, ...]
    lending: LendingWorld | None = None

    def __init__(
        self, name: str, truths: Iterable[Truth] = (), lending: LendingWorld | None = None
    ) -> None:
        if not isinstance(name, str) or not name.strip() or not is_text(name):
            raise ParameterError(
                "name", name, "must be a text", "give the scenario a name that is not empty"
            )
        if not isinstance(truths, Iterable):
            raise ParameterError(
                "truths",
                truths,
                "must be a list",
                "give a list of Truth(category, mean=, clients=)",
            )
        truths = tuple(truths)
        if lending is not None and (truths or not isinstance(lending, LendingWorld)):
            raise ParameterError(
                "lending",
                lending,
                "stands beside truths" if truths else "must be a LendingWorld",
                "give truths, or lending=LendingWorld([...], term=, peak=, total=)",
            )
        if not truths and lending is None:
            raise InputError("category", [], "is empty", "give at least one category")
        seen: set[str] = set()
        for truth in truths:
            if not isinstance(truth, Truth):
                raise ParameterError(
                    "truths",
                    truth,
                    "must be a Truth",
                    "give Truth(category, mean=..., clients=...)",
                )
            if truth.category.name in seen:
                raise DuplicateNameError(
                    "name", truth.category.name, "is given twice", "give each category its own"
                )
            seen.add(truth.category.name)
        orders_of([truth.category for truth in truths])
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "truths", truths)
        object.__setattr__(self, "lending", lending)

    @property
    def categories(self) -> tuple[Category, ...]:
        """The categories: all that an agent would know."""
        entries = self.truths if self.lending is None else self.lending.borrowers
        return tuple(each.category for each in entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return tuple(category.name for category in self.categories)

    @property
    def moves(self) -> bool:
        """Whether the mean of some category changes at some time."""
        return any(truth.moves for truth in self.truths)

    @property
    def fits_theorems(self) -> bool:
        """Whether means are fixed, and outcomes are known at once."""
        return self.lending is None and not self.moves

    def sides(self, horizon: int) -> list[bool | None]:
        """Return whether each category is profitable.

        Parameters
        ----------
        horizon : int
            The last round.

        Returns
        -------
        list of bool or None
            None for one that is profitable in some rounds only.

        """
        if self.lending is not None:
            return self.lending.sides(horizon)
        return [
            None if truth.changes_sides(horizon) else truth.phases(horizon)[-1].truth.profitable
            for truth in self.truths
        ]

    @property
    def unit(self) -> float:
        """The cost of one wrong round in the most expensive category.

        Histograms count regret in this unit.
        """
        if self.lending is not None:
            return self.lending.largest_loss or 1.0
        return max(truth.largest_loss * truth.clients.average for truth in self.truths) or 1.0

    def lower_bound(self) -> regret_bounds.LowerBound:
        """Return the lower bound of Theorem 1 for this scenario.

        Returns
        -------
        LowerBound
            Clients and regret per log T of each category.

        Raises
        ------
        InputError
            If means change, or outcomes are late: the theorem is about others.

        """
        if self.lending is not None:
            raise InputError(
                "scenario",
                self.name,
                "is about loans, which share hazards and end late",
                "ask about a scenario of truths",
            )
        return regret_bounds.lower_bound(
            self.categories,
            [truth.fixed_mean for truth in self.truths],
            sigmas=[truth.sigma for truth in self.truths],
        )

    def ordered_lower_bound_per_log_t(self) -> float | None:
        """Return the constant of the lower bound for policies that know the orders.

        Returns
        -------
        float or None
            Regret per log T; None without an order of rising means, where the theorem
            does not apply, or where it takes a library that is not installed.

        """
        if not self.fits_theorems or not orders_of(self.categories):
            return None
        try:
            return ordered_lower_bound(
                self.categories,
                [truth.fixed_mean for truth in self.truths],
                sigmas=[truth.sigma for truth in self.truths],
            ).total
        except InputError:
            return None

    def lower_bound_per_log_t(self) -> float | None:
        """Return the constant of Theorem 1.

        Returns
        -------
        float or None
            Regret per log T; None where the theorem does not apply.

        """
        return self.lower_bound().total if self.fits_theorems else None

    @classmethod
    def from_toml(cls, text: str, *, source: str = "scenario") -> Self:
        """Read a scenario from the text of a scenario file.

        Parameters
        ----------
        text : str
            Content of a TOML file.
        source : str
            Name of the file in error messages.

        Returns
        -------
        Scenario
            The scenario.

        """
        if not isinstance(text, str):
            raise ParameterError(
                "text", text, "must be a text", "give the content of a scenario file"
            )
        return cls(*read_table(parse_toml(text, "scenario", str(source)), str(source)))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a scenario from a TOML file.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Scenario
            The scenario.

        """
        return cls.from_toml(read_toml("scenario", as_path("scenario", path)), source=str(path))

    def to_toml(self) -> str:
        """Return the text of a scenario file.

        Returns
        -------
        str
            TOML; `from_toml` reads the same scenario from it.

        """
        tables = [("[[category]]", _table(truth)) for truth in self.truths]
        if self.lending is not None:
            tables.append(("[lending]", self.lending.to_plain()))
            tables += [("[[category]]", asdict(each)) for each in self.lending.borrowers]
        return f"name = {_plain(self.name)}\n" + "".join(
            f"\n{head}\n" + "".join(f"{key} = {_plain(each)}\n" for key, each in table.items())
            for head, table in tables
        )

    def save(self, path: Path | str) -> None:
        """Write a scenario file.

        Parameters
        ----------
        path : path
            The file; it is replaced as a whole.

        """
        try:
            replace_text(as_path("path", path), self.to_toml())
        except OSError as error:
            raise InputError(
                "path",
                str(path),
                f"cannot be written ({error.strerror or error})",
                "choose another file",
            ) from None


def unlucky_starts(scenario: Scenario, policy: Policy | Any, horizon: int) -> UnluckyStarts:
    """Return how often a policy rejects profitable categories for long.

    That happens after an unlucky start.

    If the policy forgets, a rejected category returns by itself.  If means change, it
    is not judged.  Nothing is known about an object that decides by itself.
    """
    if not scenario.fits_theorems or (isinstance(policy, Policy) and policy.forgets):
        return UnluckyStarts()
    if not isinstance(policy, Policy):
        return UnluckyStarts(known=not any(truth.profitable for truth in scenario.truths))
    policy = policy.within(horizon)
    rates = [
        unlucky_rate(policy, truth.category, truth.fixed_mean, truth.clients.seen)
        for truth in scenario.truths
    ]
    if None in rates:
        return UnluckyStarts(known=False)
    return UnluckyStarts(tuple(rate or 0.0 for rate in rates), policy.terms.c)


# ------------------------------------------------------------------ scenario files


def read_toml(field: str, path: Path, remedy: str = "give a TOML file") -> str:
    """Return the text of a TOML file; InputError about `field` if it cannot be read."""
    try:
        return read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(field, str(path), f"cannot be read ({reason})", remedy) from None


def read_table(table: dict[str, Any], source: str) -> tuple[str, list[Truth], LendingWorld | None]:
    """Read the parts of a scenario from a file's table; `source` names it in errors."""
    known_fields(table, {"name", "lending", "category"}, source)
    name = table.get("name", "")
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{source}: name",
            table.get("name"),
            "is not a name",
            'give the scenario one: name = "..."',
        )
    entries = read_entries(table, source)
    if "lending" in table:
        return name, [], read_lending(table["lending"], entries, f"{source}: lending")
    with said_before():
        return name, [_truth(*entry) for entry in entries], None


def _truth(name: str, entry: dict[str, Any], where: str) -> Truth:
    clients = _clients(needed_field(entry, "clients", where), where)
    if "loan" in entry:
        category = read_category(
            entry,
            name,
            where,
            forms=("loan",),
            beside=("clients",),
            inside=("repayment", "amount_sd"),
        )
        where, loan = f"{where}: loan", entry["loan"]
        repayment = needed_field(loan, "repayment", where)
        in_file(where, lambda: check_means("repayment", repayment, category.family))
        hidden = {"mean": repayment, "amount_sd": loan.get("amount_sd", 0.0)}
    else:
        kind = FAMILIES.get(str(entry.get("family")))
        keys = ("mean", "sigma") if kind is not None and kind.hides_sigma else ("mean",)
        drawable = [family.name for family in FAMILIES.values() if family.has_law]
        category = read_category(
            entry, name, where, forms=("loan",), families=drawable, beside=("clients", *keys)
        )
        hidden = {key: needed_field(entry, key, where) for key in keys}
    return in_file(where, lambda: Truth(category, clients=clients, **hidden))


def _clients(value: Any, where: str) -> Clients:
    where = f"{where}: clients"
    if not is_table(value):
        return in_file(where, lambda: Clients.of(value))
    law = value.get("law")
    if not isinstance(law, str) or law not in LAWS:
        raise InputError(f"{where}: law", law, "is unknown", f"choose from {', '.join(LAWS)}")
    parameters = [each.name for each in fields(LAWS[law])]
    known_fields(value, {"law", *parameters}, where)
    known = {key: needed_field(value, key, where) for key in parameters}
    return in_file(where, lambda: LAWS[law](**known))


def _table(truth: Truth) -> dict[str, Any]:
    """Return the [[category]] table of a truth."""
    category = truth.category
    means = [[start, mean] for start, mean in truth.means] if truth.moves else truth.mean
    table: dict[str, Any] = {"name": category.name}
    if category.amount is not None:
        loan = {"amount": category.amount, "rate": _rate(category), "repayment": means}
        others = {"recovery": category.recovery, "amount_sd": truth.amount_sd}
        table["loan"] = loan | {key: value for key, value in others.items() if value > 0.0}
    else:
        table |= {"family": category.family.name, **category.family.parameters, "mean": means}
        optional = {
            "sigma": truth.sigma,
            "threshold": category.threshold,
            "bound": category.bound,
            "worth": None if category.worth == 1.0 else category.worth,
        }
        table |= {key: value for key, value in optional.items() if value is not None}
    if category.prior is not None:
        table["prior"] = asdict(category.prior)
    if category.order is not None:
        table["order"] = category.order
    return table | {"clients": truth.clients.to_plain()}


def _rate(category: Category) -> float:
    """Return the loan's rate: the shortest decimal that gives the same category."""
    share, amount = category.recovery, category.amount or 0.0
    exact = (1.0 - share) / category.threshold - (1.0 - share)
    for digits in range(1, 17):
        rate = round(exact, digits)
        if rate >= 0.0:
            with said_before():
                same = Category.loan(category.name, amount=amount, rate=rate, recovery=share)
            if same.threshold == category.threshold:
                return rate
    return exact


def _plain(value: Any) -> str:
    """Return a value as TOML text."""
    if is_table(value):
        return "{ " + ", ".join(f"{key} = {_plain(each)}" for key, each in value.items()) + " }"
    if is_list(value):
        return "[" + ", ".join(_plain(each) for each in value) + "]"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
