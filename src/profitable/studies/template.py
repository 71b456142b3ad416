"""Template: a scenario in which numbers may be expressions of axes.

>>> category = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "clients": 5}
>>> category["mean"] = "0.2 + gap"
>>> template = Template("shops", {"category": [category]}, "study.toml: scenario")
>>> template.axes
{'gap'}
>>> template.at({"gap": 0.1, "horizon": 100}).truths[0].mean
0.3

A mean that changes every so many rounds is { alternates = [0.3, 0.1], every = "n" }.
Texts may have {names} of axes:

>>> fill("kl-ucb:forget={forget}", {"forget": 0.97}, "study.toml: policies")
'kl-ucb:forget=0.97'
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from profitable.common import check
from profitable.common.expression import Expression
from profitable.errors import InputError, ParameterError
from profitable.model.category_table import is_list, is_table, known_fields, needed_field
from profitable.simulation.scenario import MOST_CHANGES, Scenario, read_table

# Fields that hold a text, which may have {names} of axes.
TEXT_FIELDS = ("name", "family", "law", "kind")
ALTERNATES = "alternates"
PLACE = re.compile(r"\{([^{}]*)\}")

Value = int | float | str  # of an axis


@dataclass(frozen=True)
class Template:
    """The table of a scenario file, with expressions; `where` names it in errors."""

    name: str
    table: dict[str, Any]
    where: str

    @classmethod
    def of(cls, table: Mapping[str, Any], name: str, where: str) -> Self:
        """Return the template of a table that may have a name of its own."""
        called = table.get("name", name)
        if not isinstance(called, str) or not called.strip():
            raise InputError(
                f"{where}: name", called, "must be a name", 'give the scenario one: name = "..."'
            )
        return cls(called, {key: value for key, value in table.items() if key != "name"}, where)

    @property
    def axes(self) -> set[str]:
        """The names that its expressions use."""
        return _names(self.table, self.where)

    def at(self, values: Mapping[str, Value]) -> Scenario:
        """Return the scenario at these values of the axes and of the horizon."""
        mine = {name: value for name, value in values.items() if name in self.axes}
        point = ", ".join(f"{name}={shown(value)}" for name, value in mine.items())
        where = f"{self.where} at {point}" if point else self.where
        return Scenario(
            *read_table(_filled({"name": self.name} | self.table, values, where, ""), where)
        )


def _names(value: Any, where: str, key: str = "") -> set[str]:
    if isinstance(value, str):
        return (
            places_in(value) if key in TEXT_FIELDS else Expression(value, _inside(where, key)).names
        )
    if is_table(value):
        return {name for field, each in value.items() for name in _names(each, where, field)}
    return (
        {name for each in value for name in _names(each, where, key)} if is_list(value) else set()
    )


def _filled(value: Any, values: Mapping[str, Value], where: str, key: str) -> Any:
    """Return a value of the table with numbers in place of expressions."""
    if isinstance(value, str):
        place = _inside(where, key)
        if key in TEXT_FIELDS:
            return fill(value, values, place)
        return Expression(value, place).number(values)
    if is_table(value):
        if ALTERNATES in value:
            return _alternating(value, values, _inside(where, key))
        return {field: _filled(each, values, where, field) for field, each in value.items()}
    return [_filled(each, values, where, key) for each in value] if is_list(value) else value


def _alternating(table: dict[str, Any], values: Mapping[str, Value], where: str) -> list[list[Any]]:
    """Return the pairs [round, mean] of an alternating mean up to the horizon."""
    known_fields(table, {ALTERNATES, "every"}, where)
    means = _filled(table[ALTERNATES], values, where, ALTERNATES)
    if not is_list(means) or not means:
        raise InputError(
            f"{where}: {ALTERNATES}",
            means,
            "must be a list of means",
            "give two or more, as [0.3, 0.1]",
        )
    given = _filled(needed_field(table, "every", where), values, where, "every")
    every, horizon = check.whole(f"{where}: every", given), values["horizon"]
    assert isinstance(horizon, int)
    if (changes := -(-horizon // every)) > MOST_CHANGES:
        raise ParameterError(
            f"{where}: every",
            every,
            f"makes {changes} phases up to the horizon {horizon}, and {MOST_CHANGES} is the most",
            "give a larger one, or a smaller horizon",
        )
    return [[1 + place * every, means[place % len(means)]] for place in range(changes)]


def _inside(where: str, key: str) -> str:
    return f"{where}: {key}" if key else where


def fill(text: str, values: Mapping[str, Value], where: str) -> str:
    """Return a text in which {names} of axes are replaced by their values."""

    def value(found: re.Match[str]) -> str:
        name = found[1].strip()
        if name not in values:
            raise InputError(
                where, text, f"has the unknown name {name!r}", f"choose from {', '.join(values)}"
            )
        return shown(values[name])

    return PLACE.sub(value, text)


def places_in(text: str) -> set[str]:
    """Return the names in {brackets} of a text."""
    return {name.strip() for name in PLACE.findall(text)}


def shown(value: Value | None) -> str:
    """Return a value as people write it.

    >>> shown(0.97), shown(10000), shown("ts"), shown(2.0), shown(None)
    ('0.97', '10000', 'ts', '2', '-')
    """
    if value is None:
        return "-"
    return value if isinstance(value, str) else repr(value).removesuffix(".0")
