"""Template: a scenario in which numbers may be expressions of axes.  With values for the axes it is a scenario.

>>> category = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "mean": "0.2 + gap", "clients": 5}
>>> template = Template("shops", {"category": [category]}, "study.toml: scenario")
>>> template.axes
{'gap'}
>>> template.at({"gap": 0.1, "horizon": 100}).truths[0].mean
0.3

A mean that changes every so many rounds is { alternates = [0.3, 0.1], every = "n" }.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profitable.common import check
from profitable.errors import InputError, ParameterError
from profitable.model.category_table import is_list, is_table, known_fields, needed_field
from profitable.simulation.scenario import MOST_CHANGES, Scenario
from profitable.simulation.scenario_file import read_table
from profitable.studies.expression import Value, evaluate, fill, names_in, places_in, shown

TEXT_FIELDS = ("name", "family", "law", "kind")  # fields that hold a text, which may have {names} of axes
ALTERNATES = "alternates"


@dataclass(frozen=True)
class Template:
    """The table of a scenario file, with expressions; `where` names it in errors."""

    name: str
    table: dict[str, Any]
    where: str

    @property
    def axes(self) -> set[str]:
        """The names that its expressions use."""
        return _names(self.table, self.where)

    def at(self, values: Mapping[str, Value]) -> Scenario:
        """The scenario at these values of the axes and of the horizon."""
        mine = {name: value for name, value in values.items() if name in self.axes}
        point = ", ".join(f"{name}={shown(value)}" for name, value in mine.items())
        where = f"{self.where} at {point}" if point else self.where
        return Scenario(*read_table(_filled({"name": self.name} | self.table, values, where, ""), where))


def _names(value: Any, where: str, key: str = "") -> set[str]:
    if isinstance(value, str):
        return places_in(value) if key in TEXT_FIELDS else names_in(value, _inside(where, key))
    if is_table(value):
        return {name for field, each in value.items() for name in _names(each, where, field)}
    return {name for each in value for name in _names(each, where, key)} if is_list(value) else set()


def _filled(value: Any, values: Mapping[str, Value], where: str, key: str) -> Any:
    """A value of the table with numbers in place of expressions."""
    if isinstance(value, str):
        place = _inside(where, key)
        return fill(value, values, place) if key in TEXT_FIELDS else evaluate(value, values, place)
    if is_table(value):
        if ALTERNATES in value:
            return _alternating(value, values, _inside(where, key))
        return {field: _filled(each, values, where, field) for field, each in value.items()}
    return [_filled(each, values, where, key) for each in value] if is_list(value) else value


def _alternating(table: dict[str, Any], values: Mapping[str, Value], where: str) -> list[list[Any]]:
    """The pairs [round, mean] of { alternates = [...], every = n } up to the horizon."""
    known_fields(table, {ALTERNATES, "every"}, where)
    means = _filled(table[ALTERNATES], values, where, ALTERNATES)
    if not is_list(means) or not means:
        raise InputError(f"{where}: {ALTERNATES}", means, "is not a list of means", "give two or more, as [0.3, 0.1]")
    given = _filled(needed_field(table, "every", where), values, where, "every")
    every, horizon = check.whole(f"{where}: every", given), values["horizon"]
    assert isinstance(horizon, int)
    if (changes := -(-horizon // every)) > MOST_CHANGES:
        problem = f"makes {changes} phases up to the horizon {horizon}, and {MOST_CHANGES} is the most"
        raise ParameterError(f"{where}: every", every, problem, "give a larger one, or a smaller horizon")
    return [[1 + place * every, means[place % len(means)]] for place in range(changes)]


def _inside(where: str, key: str) -> str:
    return f"{where}: {key}" if key else where
