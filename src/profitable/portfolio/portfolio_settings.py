"""The settings of a portfolio as a TOML file: a scenario file without the hidden truth.

>>> settings = read('''
... name = "lending"
... policy = "ts:forget=0.99"
... [[category]]
... name = "students"
... loan = { amount = 2000, rate = 0.12 }
... [[category]]
... name = "cards"
... returns = { required = 0.05 }
... ''', "lending.toml")
>>> settings.policy, [category.name for category in settings.categories]
('ts:forget=0.99', ['students', 'cards'])
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from profitable.agent.categories import CategoryKind, LazyCategory
from profitable.agent.state_file import family_of, kind_record, prior_of
from profitable.agent.state_record import KindRecord, PriorRecord
from profitable.common.files import as_path, read_text
from profitable.errors import InputError, ParameterError
from profitable.model.category import Category
from profitable.model.category_table import (
    in_file,
    is_table,
    known_fields,
    parse_toml,
    read_category,
    read_entries,
)
from profitable.model.lending import Lending
from profitable.policy.policies import Bayesian, Policy
from profitable.portfolio.spelling import checked_text

# What only a simulation knows: fields of a category, and of the table of a loan.
HIDDEN = ("mean", "clients")
HIDDEN_IN_LOAN = ("repayment", "amount_sd")


@dataclass(frozen=True, kw_only=True)
class PortfolioSettings:
    """Settings in a file; None for those that it does not have."""

    categories: tuple[Category, ...]
    name: str | None = None
    policy: str | None = None
    seed: int | None = None
    lending: Lending | None = None


def load(path: Path | str) -> PortfolioSettings:
    """Return the settings in a file; InputError if there is a mistake."""
    try:
        text = read_text(as_path("from", path), "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(
            "from", str(path), f"cannot be read ({reason})", "give a TOML file"
        ) from None
    return read(text, str(path))


def read(text: str, source: str) -> PortfolioSettings:
    """Return the settings in a text; `source` names it in errors."""
    table = parse_toml(text, "from", source)
    known_fields(table, ("name", "policy", "seed", "lending", "category"), source)
    categories = tuple(_category(*entry) for entry in read_entries(table, source))
    name, policy = (_text(table, key, source) for key in ("name", "policy"))
    if policy is not None:
        in_file(source, lambda: Policy.parse(policy))
    return PortfolioSettings(
        categories=categories,
        name=name,
        policy=policy,
        seed=_seed(table, source),
        lending=_lending(table, source),
    )


def _lending(table: Mapping[str, Any], source: str) -> Lending | None:
    if "lending" not in table:
        return None
    terms, where = table["lending"], f"{source}: lending"
    if not is_table(terms):
        raise InputError(where, terms, "is not a table", "give required, recovery and lag")
    known_fields(terms, tuple(each.name for each in fields(Lending)), where)
    return in_file(where, lambda: Lending(**terms))


def _category(name: str, entry: dict[str, Any], where: str) -> Category:
    in_file(where, lambda: checked_text("name", name))
    _no_truth(entry, HIDDEN, where)
    loan = entry.get("loan")
    if is_table(loan):
        _no_truth(loan, HIDDEN_IN_LOAN, f"{where}: loan")
    return read_category(entry, name, where)


def _no_truth(table: Mapping[str, Any], hidden: tuple[str, ...], where: str) -> None:
    for key in hidden:
        if key in table:
            raise InputError(
                f"{where}: {key}",
                table[key],
                "is the hidden truth of a simulation, which no portfolio knows",
                "leave it out",
            )


def _text(table: Mapping[str, Any], key: str, source: str) -> str | None:
    return None if key not in table else in_file(source, lambda: checked_text(key, table[key]))


def _seed(table: Mapping[str, Any], source: str) -> int | None:
    seed = table.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise InputError(f"{source}: seed", seed, "is not a seed", "give a whole number, 0 or more")
    return seed


TERM_FIELDS = ("threshold", "worth", "amount", "recovery")


def policy_record(policy: Policy) -> str | dict[str, Any]:
    """Return a policy: its text, with its prior if it has one of its own."""
    prior = getattr(policy, "prior", None)
    return str(policy) if prior is None else {"policy": str(policy), "prior": asdict(prior)}


def policy_of(record: str | dict[str, Any]) -> Policy:
    """Return the policy that a record describes."""
    if isinstance(record, str):
        return Policy.parse(record)
    policy = Policy.parse(record["policy"])
    if not isinstance(policy, Bayesian):
        raise ParameterError(
            "policy", record["policy"], "has no prior", "restore the portfolio from a backup"
        )
    return replace(policy, prior=prior_of(PriorRecord(**record["prior"])))


def category_record(category: Category) -> dict[str, Any]:
    """Return a category as JSON-ready values."""
    return {
        "name": category.name,
        **kind_record(
            CategoryKind(
                category.family, category.bound, category.prior, category.weight, category.order
            )
        ),
        **{key: getattr(category, key) for key in TERM_FIELDS},
    }


def category_of(record: dict[str, Any]) -> Category:
    """Return the category that a record describes."""
    kind = KindRecord(
        **{key: value for key, value in record.items() if key not in ("name", *TERM_FIELDS)}
    )
    shared = CategoryKind(
        family_of(kind), kind.bound, prior_of(kind.prior), kind.weight, kind.order
    )
    return LazyCategory(shared, *(record[key] for key in TERM_FIELDS)).named(record["name"])
