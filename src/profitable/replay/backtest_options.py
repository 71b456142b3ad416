"""Options of a backtest: what is replayed over the past clients, and how often.

With `Layout`, this is the one declaration of the arguments of `profitable.backtest`,
the options of the command and the keys of its file.

>>> [str(policy) for policy in RunOptions(policies="ts").policies]
['ts']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profitable.common import check
from profitable.common.declared_options import DeclaredOptions, option, options_of
from profitable.errors import InputError, ParameterError
from profitable.past.cell_options import written_family
from profitable.past.layout import Layout, is_list

if TYPE_CHECKING:  # the command line reads the declaration, and must start quickly
    from profitable.model.families import Family
    from profitable.policy.policies import Policy
    from profitable.replay.replay import Limits

# Which policies are tried unless given follows from what was measured on real files
# (docs/backtest.md, benchmarks/which_policy.py): those that lost beyond chance in a
# situation are not tried there.
POLICIES_TRIED = (
    "kl-ucb:forget=0.97",
    "bayes-ucb:forget=0.97",
    "kl-ucb+:count=rounds,forget=0.97",
)
LATE_POLICIES = ("kl-ucb", "kl-ucb:forget=0.97")  # where outcomes come late
# Of bands that share evidence, each beside itself judging bands alone.
ORDERED_POLICIES = ("kl-ucb", "kl-ucb:trust=0", "bayes-ucb", "bayes-ucb:trust=0")
LENDING_POLICIES = ("bayes-ucb", "optimal")  # where loans are judged by hazards
MOST_TRIED = 100
CROSSED = " x "  # between the columns of a grouping
LONGEST_UNIT = 12  # letters
limit = partial(option, group="Limits of a round")
chance = partial(option, group="Seeds and intervals")
advised = partial(option, group="Whom to stop")


def _policies(field: str, value: Any) -> tuple[Policy, ...]:
    from profitable.policy.policies import Policy

    given: Any = [value] if isinstance(value, str | Policy) else value
    if not is_list(given):
        raise ParameterError(
            field, given, "must be a list of policies", "give names, as ['ts', 'kl-ucb']"
        )
    if not given:
        raise ParameterError(field, given, "is empty", "give at least one, as ts")
    policies = tuple(Policy.of(each) for each in given)
    names = [str(policy) for policy in policies]
    if len(names) > MOST_TRIED:
        raise ParameterError(
            field, names, f"has more than {MOST_TRIED} policies", "give fewer of them"
        )
    if len(set(names)) < len(names):
        raise ParameterError(field, names, "has one policy twice", "give each policy once")
    return policies


def _groupings(field: str, value: Any) -> tuple[str | tuple[str, ...], ...]:
    given: Any = value if is_list(value) else [value]
    found: list[str | tuple[str, ...]] = []
    for each in given:
        parts = tuple(each) if is_list(each) else tuple(str(each).split(CROSSED))
        names = tuple(part.strip() if isinstance(part, str) else part for part in parts)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ParameterError(
                field, each, "must be a grouping", "give a column, or several as 'purpose x term'"
            )
        found.append(names[0] if len(names) == 1 else names)
    if len(set(found)) < len(found):
        raise ParameterError(field, given, "has one grouping twice", "give each grouping once")
    return tuple(found)


def grouping_name(category: str | Sequence[str]) -> str:
    """Write a grouping as on the command line.

    >>> grouping_name("grade"), grouping_name(["purpose", "term"])
    ('grade', 'purpose x term')
    """
    return category if isinstance(category, str) else CROSSED.join(category)


def _stop_level(field: str, value: object) -> float:
    level = check.number(value)
    if not check.fits(level, 0.0, 1.0) or level in (0, 1):
        raise ParameterError(field, value, "is not a rate", "give 0.1 for 10 %")
    return float(level)


def _family(field: str, value: Any) -> Family:
    from profitable.model.families import Family

    return Family.of(value)


def _repeats(field: str, value: object, most: int) -> int:
    number = check.whole(field, value, least=0, most=most)
    if number == 1:
        raise ParameterError(field, 1, "says nothing about chance", "give 0, or 100 or more")
    return number


def _share(field: str, value: object) -> float:
    share = check.number(value)
    if not check.fits(share, 0.0, 1.0):
        raise ParameterError(field, value, "is not a share", "give a number from 0 to 1")
    return float(share)


def _currency(field: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not 0 < len(text) <= LONGEST_UNIT or not text.isprintable():
        raise ParameterError(
            field, value, f"is not a text of 1 to {LONGEST_UNIT} letters", "give one such as EUR"
        )
    return text


def _commit(field: str, value: object) -> float:
    share = check.number(value)
    if not check.fits(share, 0.0, 1.0) or share in (0, 1):
        raise ParameterError(field, value, "is not a share of the rounds", "give 0.2 for 20 %")
    return float(share)


@dataclass(frozen=True, kw_only=True)
class RunOptions(DeclaredOptions):
    """Policies to replay, and the number of replays."""

    policies: str | Policy | Sequence[str | Policy] = option(
        POLICIES_TRIED,
        "Name of a policy, such as ts, kl-ucb:c=3 or optimal:horizon (the length of the file), or "
        "several. `profitable policies` lists them. Unless given, those that lost on no real "
        "file whose outcomes are known as late as here; shown are those for outcomes known at "
        "once.",
        check=_policies,
        group="Policies",
        flag="--policy",
    )
    family: Family | str | None = option(
        None,
        "Family of rewards, such as bernoulli; suggested from the data unless given.",
        check=_family,
        group="Policies",
    )
    bound: float | None = option(
        None,
        "Upper bound of rewards, for policies that need one.",
        check=check.positive,
        group="Policies",
    )
    seed: int = chance(
        1,
        "Seed of random numbers: the same seed gives the same result.",
        check=partial(check.whole, least=0),
    )
    seeds: int = chance(
        20,
        "Number of replays of a policy that draws at random.",
        check=partial(check.whole, most=10_000),
    )
    replays: int = chance(
        200,
        "Number of bootstrap portfolios for the confidence intervals; 0 for none.",
        check=partial(_repeats, most=100_000),
    )
    budget: float | None = limit(None, "Money available in each round.", check=check.positive)
    places: int | None = limit(
        None,
        "Number of clients that can be accepted in each round.",
        check=check.whole,
        excludes=("budget",),
    )
    explore: float | None = limit(
        None,
        "Share of the budget or the places reserved for learning.",
        check=_share,
        needs=("budget", "places"),
    )
    commit: float | None = chance(
        0.2,
        "Share of the rounds after which the baseline that learns first commits itself.",
        check=_commit,
    )
    shuffles: int = chance(
        10,
        "Number of replays with time shuffled; 0 for none.",
        check=partial(_repeats, most=10_000),
    )

    groupings: str | Sequence[str | Sequence[str]] = advised(
        (),
        "Another way to form categories, compared with `category`: a column, or several as "
        "'purpose x term'.",
        check=_groupings,
        flag="--or",
    )
    stop_level: float = advised(
        0.1,
        "Expected share of categories that pay among those that the stop list names, at most.",
        check=_stop_level,
    )
    splits: int = advised(
        6,
        "Number of dates at which the stop list is made again and judged on the clients who asked "
        "after it; 0 for none.",
        check=partial(check.whole, least=0, most=100),
    )
    currency: str | None = option(
        None,
        "Currency or other unit of amounts, such as EUR, which is written behind them.",
        check=_currency,
        group="Report",
    )

    @property
    def tried(self) -> tuple[Policy, ...]:
        """The policies, checked."""
        return self.policies  # type: ignore[return-value]

    @property
    def limits(self) -> Limits | None:
        """The limits of a round, if there are any."""
        from profitable.replay.replay import Limits

        if self.budget is None and self.places is None:
            return None
        return Limits(self.budget, self.places, self.explore)

    def check(self, layout: Layout) -> None:
        """ParameterError where options and columns contradict each other."""
        limit = "places" if self.budget is None else "budget"
        is_log = layout.propensity is not None and layout.treated is None
        if getattr(self, limit) is not None and is_log:
            self._refuse(
                limit,
                "cannot be combined with a log",
                "leave it out: a log does not say whom a limit would have left out",
            )
        if self.budget is not None and isinstance(layout.cost, str):
            self._refuse(
                "budget",
                "cannot be shared out by a column of costs",
                "give places, or a cost that is the same for all",
            )
        if self.groupings and layout.scorecard is not None:
            self._refuse(
                "groupings",
                "cannot be combined with scorecard, whose first clients are not replayed",
                "leave one of them out",
            )
        own = grouping_name(layout.categories)
        if own in map(grouping_name, self.groupings):
            raise ParameterError("groupings", own, "is the category itself", "give other ones")
        if layout.by_hazards:
            self._check_loans(layout)
        if layout.counts_open:
            self._check_open_clients(layout)

    def _check_loans(self, layout: Layout) -> None:
        """ParameterError where loans cannot be judged by hazards."""
        from profitable.agent.loan_book import check_policy

        for policy in self.tried:
            check_policy(policy)
        for field in ("budget", "places"):
            if getattr(self, field) is not None:
                self._refuse(
                    field, "is not shared out among loans judged by hazards", "leave it out"
                )
        if layout.propensity is not None:
            raise ParameterError(
                "propensity",
                layout.propensity,
                "cannot be combined with loans judged by hazards",
                "leave it out, or leave defaulted out",
            )

    def _check_open_clients(self, layout: Layout) -> None:
        """ParameterError where open clients cannot count at a promised reward."""
        field = "emerges" if layout.open_value is None else "open_value"
        value = getattr(layout, field)
        if layout.amount is not None and layout.weight == "money":
            raise ParameterError(
                field,
                value,
                "is not defined where clients weigh as much as their amounts",
                "give weight = client, too",
            )
        for policy in self.tried:
            if policy.rule.needs_values:
                raise ParameterError(
                    field,
                    value,
                    f"is not defined for {policy}, which looks at every single reward",
                    "leave this policy out",
                )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for the report; `RunOptions(**values)` reads them."""
        values: dict[str, Any] = {name: getattr(self, name) for name in RUN_OPTIONS}
        values["policies"] = [str(policy) for policy in self.tried]
        values["groupings"] = [grouping_name(each) for each in self.groupings]
        if self.family is not None:
            values["family"] = written_family(_family("family", self.family))
        return values


@dataclass(frozen=True, kw_only=True)
class BacktestArguments(RunOptions, Layout):
    """All arguments of a backtest.  Type checkers read them here."""

    progress: bool | Callable[[float], object] | None = option(
        None, "Whether to show progress, or a function that is called with the share done."
    )
    command: str | None = option(None, "Command to repeat in the report.")


RUN_OPTIONS = tuple(options_of(RunOptions))
FILE_KEYS = ("data", *options_of(Layout), *RUN_OPTIONS)


def demo() -> tuple[Path, Layout]:
    """Return the file of the demo and its layout: 1 000 German loans.

    A good loan brings +1 and a bad one -5: these are the costs of the source
    (`german_credit.md`), and those of a loan at a rate of 20 %.  There are no dates, so
    the order of the rows is the time, and outcomes are taken as known at once.

    >>> path, layout = demo()
    >>> path.read_text().splitlines()[1]
    'below 0 DM,unknown or none,radio/television,6,1169,good'
    """
    path = Path(__file__).with_name("german_credit.csv")
    return path, Layout(category="checking", reward="outcome=good", cost=5.0, revenue=6.0, round=20)


def load_toml(path: Path) -> tuple[str | list[str] | None, dict[str, Any]]:
    """Read data and options from a backtest's file; data are relative to the file."""
    from profitable.common.files import read_text
    from profitable.model.category_table import known_fields, parse_toml

    try:
        text = read_text(path)
    except OSError as error:
        raise InputError(
            "from", str(path), f"cannot be read ({error.strerror})", "give the name of a TOML file"
        ) from None
    except ValueError as error:
        raise InputError(
            "from", str(path), f"is not a TOML file ({error})", "correct it there"
        ) from None
    table = parse_toml(text, "from", str(path))
    known_fields(table, FILE_KEYS, str(path))
    data: Any = table.pop("data", None)
    return (None if data is None else _data(data, path)), table


def _data(value: Any, path: Path) -> str | list[str]:
    names: list[Any] = list(value) if is_list(value) else [value]
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(
            f"{path}: data",
            value,
            "must be a file",
            "give a name, a pattern such as loans-*.csv, or a list of them",
        )
    joined = [str(path.parent / name) for name in names]
    return joined if is_list(value) else joined[0]
