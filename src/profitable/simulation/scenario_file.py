"""The scenario file: TOML in and out.  Every mistake names the file, the category, the field and the value."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from profitable.errors import InputError
from profitable.model.category import Category, said_before
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
from profitable.model.families import FAMILIES
from profitable.simulation.arrivals import Clients, OnePlusPoisson, UniformClients
from profitable.simulation.scenario import Truth, check_means

LAWS: dict[str, type[Clients]] = {"one-plus-poisson": OnePlusPoisson, "uniform": UniformClients}


def read(text: str, source: str) -> tuple[str, list[Truth]]:
    """The name and the truths of a scenario file; `text` is its content, `source` names it in errors."""
    return read_table(parse_toml(text, "scenario", source), source)


def read_table(table: dict[str, Any], source: str) -> tuple[str, list[Truth]]:
    """`read` for a TOML table that is parsed already."""
    known_fields(table, {"name", "category"}, source)
    name = table.get("name", "")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{source}: name", table.get("name"), "is not a name", 'give the scenario one: name = "..."')
    entries = read_entries(table, source)
    with said_before():
        return name, [_truth(*entry) for entry in entries]


def _truth(name: str, entry: dict[str, Any], where: str) -> Truth:
    clients = _clients(needed_field(entry, "clients", where), where)
    if "loan" in entry:
        hidden, inside = ("repayment", "amount_sd"), f"{where}: loan"
        category = read_category(entry, name, where, forms=("loan",), beside=("clients",), inside=hidden)
        loan = entry["loan"]
        repayment, spread = needed_field(loan, "repayment", inside), loan.get("amount_sd", 0.0)
        in_file(inside, lambda: check_means("repayment", repayment, category.family))
        return in_file(inside, lambda: Truth(category, mean=repayment, clients=clients, amount_sd=spread))
    kind = FAMILIES.get(entry["family"]) if isinstance(entry.get("family"), str) else None
    unseen = ["sigma"] if kind is not None and kind.hides_sigma else []
    drawable = [family.name for family in FAMILIES.values() if family.has_law]
    beside = ("mean", "clients", *unseen)
    category = read_category(entry, name, where, forms=("loan",), families=drawable, beside=beside)
    mean, *spreads = (needed_field(entry, key, where) for key in ("mean", *unseen))
    return in_file(
        where, lambda: Truth(category, mean=mean, clients=clients, **dict(zip(unseen, spreads, strict=True)))
    )


def _clients(value: Any, where: str) -> Clients:
    where = f"{where}: clients"
    if not is_table(value):
        return in_file(where, lambda: Clients.of(value))
    law = value.get("law")
    if not isinstance(law, str) or law not in LAWS:
        raise InputError(f"{where}: law", law, "is unknown", f"choose from {', '.join(LAWS)}")
    kind = LAWS[law]
    parameters = [each.name for each in fields(kind)]
    known_fields(value, {"law", *parameters}, where)
    known = {key: needed_field(value, key, where) for key in parameters}
    return in_file(where, lambda: kind(**known))


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
    if is_table(value):
        return "{ " + ", ".join(f"{key} = {_plain(each)}" for key, each in value.items()) + " }"
    if is_list(value):
        return "[" + ", ".join(_plain(each) for each in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
