"""The grid of a study: its worlds, and the settings compared in each of them.

A world comes from a template: a scenario in which numbers may be expressions of axes.

>>> category = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "clients": 5}
>>> category["mean"] = "0.2 + gap"
>>> template = Template("shops", {"category": [category]}, "study.toml: scenario")
>>> template.axes
{'gap'}
>>> template.at({"gap": 0.1, "horizon": 100}).truths[0].mean
0.3

A mean that changes every so many rounds is { alternates = [0.3, 0.1], every = "n" }.
A category with copies = "bands" stands for so many, in which `copy` is 1, 2, 3, ...:

>>> category |= {"name": "band {copy}", "mean": "0.2 * copy", "copies": "bands"}
>>> template = Template("bands", {"category": [category]}, "study.toml: scenario")
>>> [truth.mean for truth in template.at({"bands": 3, "horizon": 100}).truths]
[0.2, 0.4, 0.6]

Texts may have {names} of axes:

>>> fill("kl-ucb:forget={forget}", {"forget": 0.97}, "study.toml: policies")
'kl-ucb:forget=0.97'
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Self

from profitable.common import check
from profitable.common.expression import Expression
from profitable.errors import InputError, ParameterError
from profitable.model.category_table import in_file, is_list, is_table, known_fields, needed_field
from profitable.policy.policies import Policy
from profitable.simulation.scenario import Scenario, read_table
from profitable.simulation.settings import Settings, prepare

# Fields that hold a text, which may have {names} of axes.
TEXT_FIELDS = ("name", "family", "law", "kind", "order")
ALTERNATES = "alternates"
COPIES, COPY = "copies", "copy"
MOST_COPIES = 10_000
PLACE = re.compile(r"\{([^{}]*)\}")
MOST_SETTINGS = 3_000
HORIZON_NAME = "horizon"
Value = int | float | str  # of an axis
Values = dict[str, Value]


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
        names = {name for field, each in value.items() for name in _names(each, where, field)}
        return names - {COPY} if COPIES in value else names
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
    if is_list(value):
        return [each for one in value for each in _copied(one, values, where, key)]
    return value


def _copied(value: Any, values: Mapping[str, Value], where: str, key: str) -> list[Any]:
    """Return an entry of a list, filled; or its copies, if it says that it has some."""
    if not is_table(value) or COPIES not in value:
        return [_filled(value, values, where, key)]
    given = _filled(value[COPIES], values, where, COPIES)
    number = check.whole(f"{where}: {COPIES}", given, most=MOST_COPIES)
    table = {field: each for field, each in value.items() if field != COPIES}
    return [_filled(table, {**values, COPY: copy}, where, key) for copy in range(1, number + 1)]


def _alternating(table: dict[str, Any], values: Mapping[str, Value], where: str) -> list[list[Any]]:
    """Return the pairs [round, mean] of an alternating mean up to the horizon."""
    known_fields(table, {ALTERNATES, "every"}, where)
    means = _filled(table[ALTERNATES], values, where, ALTERNATES)
    if not is_list(means) or not means:
        raise InputError(
            f"{where}: {ALTERNATES}",
            means,
            "must be a list of means",
            "give one or more, as [0.3, 0.1]",
        )
    given = _filled(needed_field(table, "every", where), values, where, "every")
    every, horizon = check.whole(f"{where}: every", given), values["horizon"]
    assert isinstance(horizon, int)
    if (changes := -(-horizon // every)) > check.MOST_CHANGES:
        raise ParameterError(
            f"{where}: every",
            every,
            f"makes {changes} phases up to the horizon {horizon}, and {check.MOST_CHANGES} is "
            "the most",
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


# --------------------------------------------------------------- worlds and settings


@dataclass(frozen=True)
class StudySetting:
    """One policy in one world.

    `pattern` is the policy as the study writes it, as kl-ucb:forget={forget}; `values`
    are those of the axes that only the policy names.
    """

    policy: str
    pattern: str
    values: Values


@dataclass(frozen=True)
class World:
    """One scenario up to one horizon, and the settings that are compared in it.

    `values` are those of the axes that the scenario names, and `label` says them in
    words.
    """

    scenario: Scenario
    horizon: int
    values: Values
    label: str
    settings: tuple[StudySetting, ...]

    def prepared(self, setting: StudySetting, *, runs: int, seed: int, where: str) -> Settings:
        """Return the settings that `simulate` would play.

        An error names the study as `where`.
        """
        try:
            return prepare(
                self.scenario,
                [setting.policy],
                horizon=self.horizon,
                runs=runs,
                seed=seed,
                checkpoints=[self.horizon],
            )
        except InputError as error:
            field = f"{where}: policies: {error.where} of {setting.policy!r} in {self.label}"
            raise type(error)(field, error.value, error.problem, error.remedy) from None


def worlds_of(
    templates: Sequence[Template],
    horizons: Sequence[int],
    policies: Sequence[str],
    axes: Mapping[str, Sequence[Value]],
    where: str,
) -> tuple[World, ...]:
    """Return all worlds with their settings.

    InputError if the grid is too large or an axis is of no use.
    """
    _refuse_unused(templates, policies, axes, where)
    _refuse_many(templates, horizons, policies, axes, where)
    worlds: list[World] = []
    for template in templates:
        for values, horizon in product(_points(template.axes, axes), horizons):
            known: Values = {HORIZON_NAME: horizon} | values
            worlds.append(
                World(
                    template.at(known),
                    horizon,
                    values,
                    _label(
                        template, horizon, values, several=(len(templates) > 1, len(horizons) > 1)
                    ),
                    tuple(_settings(policies, axes, known, where)),
                )
            )
    return tuple(worlds)


def _points(names: Set[str], axes: Mapping[str, Sequence[Value]]) -> Iterator[Values]:
    """Return all combinations of the values of the axes with these names."""
    named = [name for name in axes if name in names]
    for values in product(*(axes[name] for name in named)):
        yield dict(zip(named, values, strict=True))


def _settings(
    policies: Sequence[str], axes: Mapping[str, Sequence[Value]], known: Values, where: str
) -> Iterator[StudySetting]:
    seen: dict[str, str] = {}
    for pattern in policies:
        for values in _points(places_in(pattern) - known.keys(), axes):
            text = fill(pattern, known | values, f"{where}: policies")
            key = in_file(f"{where}: policies", partial(Policy.parse, text)).stream_name
            if key in seen:
                raise ParameterError(
                    f"{where}: policies",
                    text,
                    f"is the same policy as {seen[key]!r}",
                    "leave one of the two out",
                )
            seen[key] = text
            yield StudySetting(text, pattern, values)


def _refuse_unused(
    templates: Sequence[Template],
    policies: Sequence[str],
    axes: Mapping[str, Sequence[Value]],
    where: str,
) -> None:
    used = {name for template in templates for name in template.axes} | {
        name for pattern in policies for name in places_in(pattern)
    }
    known = {*axes, HORIZON_NAME}
    for template in templates:
        for name in sorted(template.axes - known):
            raise InputError(
                template.where,
                name,
                "is a name in an expression, but no axis has it",
                f"choose from {', '.join(sorted(known))}",
            )
    for name, values in axes.items():
        if name not in used:
            raise InputError(
                f"{where}: axes: {name}",
                list(values),
                "is an axis that nothing uses",
                f"write {name} in the scenario or {{{name}}} in a policy",
            )


def _refuse_many(
    templates: Sequence[Template],
    horizons: Sequence[int],
    policies: Sequence[str],
    axes: Mapping[str, Sequence[Value]],
    where: str,
) -> None:
    def size(names: Set[str]) -> int:
        return math.prod(len(values) for name, values in axes.items() if name in names)

    total = 0
    for template in templates:
        own = sum(size(places_in(pattern) - template.axes) for pattern in policies)
        total += len(horizons) * size(template.axes) * own
    if total > MOST_SETTINGS:
        sizes = ", ".join(f"{name} has {len(values)} values" for name, values in axes.items())
        raise InputError(
            f"{where}: axes",
            f"{total} settings",
            f"are too many; {sizes}, and there are {len(policies)} policies",
            f"give at most {MOST_SETTINGS}, with fewer values or in several studies",
        )


def _label(template: Template, horizon: int, values: Values, *, several: tuple[bool, bool]) -> str:
    """Return what distinguishes a world from the others of its study, in words."""
    parts = [template.name] if several[0] else []
    parts += [f"{name} = {shown(value)}" for name, value in values.items()]
    parts += [f"{HORIZON_NAME} = {horizon}"] if several[1] else []
    return ", ".join(parts) or template.name
