"""The grid of a study: its worlds, and the settings compared in each of them."""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import product

from profitable.errors import InputError, ParameterError
from profitable.model.category_table import in_file
from profitable.policy.policies import Policy
from profitable.simulation.scenario import Scenario
from profitable.simulation.settings import Settings, prepare
from profitable.studies.template import Template, Value, fill, places_in, shown

MOST_SETTINGS = 3_000
HORIZON_NAME = "horizon"
Values = dict[str, Value]


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
        named = [name for name in axes if name in template.axes]
        for values in _points(named, axes):
            for horizon in horizons:
                known: Values = {HORIZON_NAME: horizon} | values
                scenario = template.at(known)
                label = _label(
                    template, horizon, values, several=(len(templates) > 1, len(horizons) > 1)
                )
                settings = tuple(_settings(policies, axes, known, where))
                worlds.append(World(scenario, horizon, values, label, settings))
    return tuple(worlds)


def _points(named: Sequence[str], axes: Mapping[str, Sequence[Value]]) -> Iterator[Values]:
    """Return all combinations of the values of some axes."""
    for values in product(*(axes[name] for name in named)):
        yield dict(zip(named, values, strict=True))


def _settings(
    policies: Sequence[str], axes: Mapping[str, Sequence[Value]], known: Values, where: str
) -> Iterator[StudySetting]:
    seen: dict[str, str] = {}
    for pattern in policies:
        own = [name for name in axes if name in places_in(pattern) and name not in known]
        for values in _points(own, axes):
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
