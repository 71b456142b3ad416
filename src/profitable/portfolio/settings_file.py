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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profitable.common.files import as_path, read_text
from profitable.errors import InputError
from profitable.model.category import Category
from profitable.model.category_table import (
    in_file,
    is_table,
    known_fields,
    parse_toml,
    read_category,
    read_entries,
)
from profitable.policy.policies import Policy
from profitable.portfolio.outcome import text as checked_text

# What only a simulation knows: fields of a category, and of the table of a loan.
HIDDEN = ("mean", "clients")
HIDDEN_IN_LOAN = ("repayment", "amount_sd")


@dataclass(frozen=True, kw_only=True)
class PortfolioSettings:
    """What a file says; None for what it does not say."""

    categories: tuple[Category, ...]
    name: str | None = None
    policy: str | None = None
    seed: int | None = None


def load(path: Path | str) -> PortfolioSettings:
    """The settings in a file; InputError if there is a mistake."""
    try:
        text = read_text(as_path("from", path), "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError("from", str(path), f"cannot be read ({reason})", "give a TOML file") from None
    return read(text, str(path))


def read(text: str, source: str) -> PortfolioSettings:
    """The settings in a text; `source` names it in errors."""
    table = parse_toml(text, "from", source)
    known_fields(table, ("name", "policy", "seed", "category"), source)
    categories = tuple(_category(*entry) for entry in read_entries(table, source))
    name, policy = (_text(table, key, source) for key in ("name", "policy"))
    if policy is not None:
        in_file(source, lambda: Policy.parse(policy))
    return PortfolioSettings(categories=categories, name=name, policy=policy, seed=_seed(table, source))


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
            problem = "is the hidden truth of a simulation, which no portfolio knows"
            raise InputError(f"{where}: {key}", table[key], problem, "leave it out")


def _text(table: Mapping[str, Any], key: str, source: str) -> str | None:
    return None if key not in table else in_file(source, lambda: checked_text(key, table[key]))


def _seed(table: Mapping[str, Any], source: str) -> int | None:
    seed = table.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise InputError(f"{source}: seed", seed, "is not a seed", "give a whole number, 0 or more")
    return seed
