"""A category as a [[category]] table of a TOML file, for scenarios and portfolios.

>>> table = {"family": "bernoulli", "threshold": 0.2}
>>> read_category(table, "students", "lending.toml: category 'students'").threshold
0.2

Every mistake names the file, the category, the field and the value.
"""

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, replace
from difflib import get_close_matches
from typing import Any, TypeGuard, TypeVar

from profitable.errors import DuplicateNameError, InputError, ProfitableError
from profitable.model.category import Category, said_before
from profitable.model.families import FAMILIES
from profitable.model.prior import Prior

Made = TypeVar("Made")
PLAIN_FIELDS = ("family", "threshold", "bound", "worth", "prior", "order")
# The forms that compute a category from money: their fields, the ones without a default
# first.
MONEY_FORMS: dict[str, tuple[Callable[..., Category], tuple[str, ...], tuple[str, ...]]] = {
    "loan": (Category.loan, ("amount", "rate"), ("recovery",)),
    "offer": (Category.offer, ("cost", "revenue"), ()),
    "returns": (Category.returns, (), ("required", "high", "weight")),
}


def parse_toml(text: str, field: str, source: str) -> dict[str, Any]:
    """Return the table of a TOML text; `field` and `source` name it in errors."""
    try:
        return tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # TOMLDecodeError is a ValueError; endless integers raise one, too
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            field, source, f"is not a TOML file ({reason})", "correct it there"
        ) from None


def read_entries(table: Mapping[str, Any], source: str) -> list[tuple[str, dict[str, Any], str]]:
    """Return the name, fields and place of each [[category]] table of a file."""
    entries = table.get("category")
    if not is_list(entries) or not entries or not all(is_table(each) for each in entries):
        raise InputError(
            f"{source}: category",
            entries,
            "is not a list of categories",
            "give at least one [[category]] table",
        )
    found: dict[str, tuple[str, dict[str, Any], str]] = {}
    for place, entry in enumerate(entries, 1):
        where, name = f"{source}: category {place}: name", entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise InputError(where, name, "is not a name", 'give the category one: name = "..."')
        if name in found:
            raise DuplicateNameError(
                where, name, "is given twice", "give each category its own name"
            )
        found[name] = (name, entry, f"{source}: category {name!r}")
    return list(found.values())


def read_category(
    entry: Mapping[str, Any],
    name: str,
    where: str,
    *,
    forms: Collection[str] = tuple(MONEY_FORMS),
    families: Collection[str] | None = None,
    beside: Collection[str] = (),
    inside: Collection[str] = (),
) -> Category:
    """Return the category of a table, with a threshold or one of the `forms`.

    Forms compute the threshold from money.  `families` are those to choose from, all
    unless given.  Other fields, `beside` these and `inside` the table of a form, are
    for the caller to read.
    """
    form = next((each for each in forms if each in entry), None)
    if form is None:
        return _of_family(
            entry, name, where, forms, list(FAMILIES) if families is None else families, beside
        )
    known_fields(entry, {"name", form, "prior", "order", *beside}, where)
    make, needed, optional = MONEY_FORMS[form]
    terms, place = entry[form], f"{where}: {form}"
    if not is_table(terms):
        shown = ", ".join(f"{key} = ..." for key in (*needed, *inside) or optional)
        raise InputError(place, terms, "is not a table", f"give {{ {shown} }}")
    known_fields(terms, {*needed, *optional, *inside}, place)
    given: dict[str, Any] = {key: needed_field(terms, key, place) for key in needed}
    given |= {key: terms[key] for key in optional if key in terms}
    prior = _prior(entry["prior"], f"{where}: prior") if "prior" in entry else None
    category = in_file(place, lambda: make(name, **given, prior=prior))
    if "order" not in entry:
        return category
    with said_before():
        return in_file(where, lambda: replace(category, order=entry["order"]))


def _of_family(
    entry: Mapping[str, Any],
    name: str,
    where: str,
    forms: Collection[str],
    families: Collection[str],
    beside: Collection[str],
) -> Category:
    if "family" not in entry:
        known_fields(entry, {"name", *PLAIN_FIELDS, *forms, *beside}, where)
    given = needed_field(entry, "family", where)
    if not isinstance(given, str) or given not in families:
        raise InputError(
            f"{where}: family", given, "is unknown", f"choose from {', '.join(families)}"
        )
    kind = FAMILIES[given]
    parameters = {each.name: each for each in fields(kind)}
    known_fields(entry, {"name", *PLAIN_FIELDS, *parameters, *beside}, where)
    known = {
        key: needed_field(entry, key, where)
        for key, each in parameters.items()
        if each.default is MISSING or key in entry
    }
    family = in_file(where, lambda: kind(**known))
    options = {key: entry[key] for key in ("bound", "worth", "order") if key in entry}
    if "prior" in entry:
        options["prior"] = _prior(entry["prior"], f"{where}: prior")
    threshold = needed_field(entry, "threshold", where)
    return in_file(where, lambda: Category(name, family, threshold=threshold, **options))


def _prior(value: Any, where: str) -> Prior:
    if not is_table(value):
        raise InputError(
            where, value, "is not a table", 'give { kind = "beta", first = 1, second = 1 }'
        )
    known_fields(value, {"kind", "first", "second"}, where)
    kind, first, second = (needed_field(value, key, where) for key in ("kind", "first", "second"))
    return in_file(where, lambda: Prior(kind, first, second))


def is_table(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value of a TOML file is a table."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value of a TOML file is a list."""
    return isinstance(value, list)


def needed_field(table: Mapping[str, Any], key: str, where: str) -> Any:
    """Return a field of a table; InputError if it is missing."""
    if key not in table:
        raise InputError(f"{where}: {key}", None, "is missing", f"give {key} = ...")
    return table[key]


def known_fields(table: Mapping[str, Any], keys: Collection[str], where: str) -> None:
    """InputError if a table has other fields than `keys`; it suggests the nearest."""
    for key, value in table.items():
        if key not in keys:
            close = get_close_matches(key, keys, 1)
            raise InputError(
                f"{where}: {key}",
                value,
                "is not a known field",
                f"did you mean {close[0]}" if close else f"choose from {', '.join(sorted(keys))}",
            )


def in_file(where: str, make: Callable[[], Made]) -> Made:
    """Return the result of `make`; an error names the place in the file."""
    try:
        return make()
    except ProfitableError as error:
        field = error.field
        if where.endswith(": clients"):
            field = field.removeprefix("clients")
        joint = " " if field.startswith(" in ") else ": "
        place = f"{where}{joint}{field.strip()}" if field.strip() else where
        raise type(error)(place, error.value, error.problem, error.remedy) from None
