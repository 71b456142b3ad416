"""The scenario file: TOML in and out.  Every mistake names the file, the category, the field and the value."""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, fields
from difflib import get_close_matches
from typing import Any, TypeGuard, TypeVar

from profitable.errors import DuplicateNameError, InputError, ProfitableError
from profitable.model.category import Category, said_before
from profitable.model.families import FAMILIES
from profitable.model.prior import Prior
from profitable.simulation.arrivals import Clients, OnePlusPoisson, UniformClients
from profitable.simulation.scenario import Truth, check_means

Made = TypeVar("Made")
LAWS: dict[str, type[Clients]] = {"one-plus-poisson": OnePlusPoisson, "uniform": UniformClients}
PLAIN_FIELDS = {"family", "mean", "threshold", "bound", "worth", "prior"}


def read(text: str, source: str) -> tuple[str, list[Truth]]:
    """The name and the truths of a scenario file; `text` is its content, `source` names it in errors."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError; endless integers raise one, too
        reason = " ".join(str(error).split())[:120]
        raise InputError("scenario", source, f"is not a TOML file ({reason})", "correct it there") from None
    return read_table(table, source)


def read_table(table: dict[str, Any], source: str) -> tuple[str, list[Truth]]:
    """`read` for a TOML table that is parsed already."""
    _known(table, {"name", "category"}, source)
    name = table.get("name", "")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{source}: name", table.get("name"), "is not a name", 'give the scenario one: name = "..."')
    entries = table.get("category")
    if not _is_list(entries) or not entries or not all(_is_table(each) for each in entries):
        remedy = "give at least one [[category]] table"
        raise InputError(f"{source}: category", entries, "is not a list of categories", remedy)
    truths: list[Truth] = []
    for place, entry in enumerate(entries, 1):
        with said_before():
            truth = _truth(entry, f"{source}: category {place}", source)
        if any(truth.category.name == other.category.name for other in truths):
            where = f"{source}: category {place}: name"
            raise DuplicateNameError(where, truth.category.name, "is given twice", "give each category its own name")
        truths.append(truth)
    return name, truths


def _truth(entry: dict[str, Any], where: str, source: str) -> Truth:
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{where}: name", name, "is not a name", 'give the category one: name = "..."')
    where = f"{source}: category {name!r}"
    clients = _clients(_needed(entry, "clients", where), where)
    if "loan" in entry:
        _known(entry, {"name", "loan", "clients", "prior"}, where)
        loan, inside = entry["loan"], f"{where}: loan"
        if not _is_table(loan):
            raise InputError(inside, loan, "is not a table", "give { amount = ..., rate = ..., repayment = ... }")
        _known(loan, {"amount", "rate", "repayment", "recovery", "amount_sd"}, inside)
        amount, rate, repayment = (_needed(loan, key, inside) for key in ("amount", "rate", "repayment"))
        prior = _prior(entry["prior"], f"{where}: prior") if "prior" in entry else None
        terms: dict[str, Any] = {"amount": amount, "rate": rate, "recovery": loan.get("recovery", 0.0), "prior": prior}
        category = _named(inside, lambda: Category.loan(name, **terms))
        _named(inside, lambda: check_means("repayment", repayment, category.family))
        spread = loan.get("amount_sd", 0.0)
        return _named(inside, lambda: Truth(category, mean=repayment, clients=clients, amount_sd=spread))
    family_name = _needed(entry, "family", where)
    drawable = [family.name for family in FAMILIES.values() if family.has_law]
    if not isinstance(family_name, str) or family_name not in drawable:
        remedy = f"choose from {', '.join(drawable)}"
        raise InputError(f"{where}: family", family_name, "is unknown", remedy)
    kind = FAMILIES[family_name]
    parameters, hidden = {each.name: each for each in fields(kind)}, ["sigma"] if kind.hides_sigma else []
    _known(entry, {"name", "clients", *PLAIN_FIELDS, *parameters, *hidden}, where)
    needed = [key for key, each in parameters.items() if each.default is MISSING or key in entry]
    known = {key: _needed(entry, key, where) for key in needed}
    family = _named(where, lambda: kind(**known))
    options = {key: entry[key] for key in ("bound", "worth") if key in entry}
    if "prior" in entry:
        options["prior"] = _prior(entry["prior"], f"{where}: prior")
    mean, threshold = _needed(entry, "mean", where), _needed(entry, "threshold", where)
    category = _named(where, lambda: Category(name, family, threshold=threshold, **options))
    unseen = {key: _needed(entry, key, where) for key in hidden}
    return _named(where, lambda: Truth(category, mean=mean, clients=clients, **unseen))


def _clients(value: Any, where: str) -> Clients:
    where = f"{where}: clients"
    if not _is_table(value):
        return _named(where, lambda: Clients.of(value))
    law = value.get("law")
    if not isinstance(law, str) or law not in LAWS:
        raise InputError(f"{where}: law", law, "is unknown", f"choose from {', '.join(LAWS)}")
    kind = LAWS[law]
    parameters = [each.name for each in fields(kind)]
    _known(value, {"law", *parameters}, where)
    known = {key: _needed(value, key, where) for key in parameters}
    return _named(where, lambda: kind(**known))


def _prior(value: Any, where: str) -> Prior:
    if not _is_table(value):
        raise InputError(where, value, "is not a table", 'give { kind = "beta", first = 1, second = 1 }')
    _known(value, {"kind", "first", "second"}, where)
    kind, first, second = (_needed(value, key, where) for key in ("kind", "first", "second"))
    return _named(where, lambda: Prior(kind, first, second))


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _needed(table: dict[str, Any], key: str, where: str) -> Any:
    if key not in table:
        raise InputError(f"{where}: {key}", None, "is missing", f"give {key} = ...")
    return table[key]


def _known(table: dict[str, Any], keys: set[str], where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            close = get_close_matches(key, keys, 1)
            remedy = f"did you mean {close[0]}" if close else f"choose from {', '.join(sorted(keys))}"
            raise InputError(f"{where}: {key}", value, "is not a known field", remedy)


def _named(where: str, make: Callable[[], Made]) -> Made:
    """Return what `make` returns; an error names the place in the file instead of the category."""
    try:
        return make()
    except ProfitableError as error:
        field = error.field
        if where.endswith(": clients"):
            field = field.removeprefix("clients")
        joint = " " if field.startswith(" in ") else ": "
        place = f"{where}{joint}{field.strip()}" if field.strip() else where
        raise type(error)(place, error.value, error.problem, error.remedy) from None


def write(name: str, truths: Sequence[Truth]) -> str:
    """The text of a scenario file."""
    parts = [f"name = {_plain(name)}\n"]
    for truth in truths:
        category = truth.category
        table: dict[str, Any] = {"name": category.name}
        if category.amount is not None:
            loan = {"amount": category.amount, "rate": _rate(category), "repayment": _means(truth)}
            others = {"recovery": category.recovery, "amount_sd": truth.amount_sd}
            table["loan"] = loan | {key: value for key, value in others.items() if value > 0.0}
        else:
            table |= {"family": category.family.name, **category.family.parameters}
            table |= {"mean": _means(truth)} | ({} if truth.sigma is None else {"sigma": truth.sigma})
            table["threshold"] = category.threshold
            if category.bound is not None:
                table["bound"] = category.bound
            if category.worth != 1.0:
                table["worth"] = category.worth
        if category.prior is not None:
            table["prior"] = asdict(category.prior)
        table["clients"] = truth.clients.to_plain()
        parts.append("\n[[category]]\n" + "".join(f"{key} = {_plain(value)}\n" for key, value in table.items()))
    return "".join(parts)


def _means(truth: Truth) -> float | list[list[int | float]]:
    return [[start, mean] for start, mean in truth.means] if truth.moves else truth.fixed_mean


def _rate(category: Category) -> float:
    """The loan's rate: the shortest decimal that gives the very same category, if there is one."""
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
    """A value as TOML text."""
    if _is_table(value):
        return "{ " + ", ".join(f"{key} = {_plain(each)}" for key, each in value.items()) + " }"
    if _is_list(value):
        return "[" + ", ".join(_plain(each) for each in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
