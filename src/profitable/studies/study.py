"""Study: a grid of scenarios, policies and parameters, with its number of runs.

It may be a TOML file: every mistake there is reported with the file, the field and the
value.  A study that comes with the package is read by its name: `bands`,
`forget`, `map`.

Its stages are *successive halving*: all settings of a world get a few runs, the better
half gets twice as many, and so on.

>>> [tuple(stage) for stage in stages(13, runs=2_000, finalists=2)]
[(13, 300), (7, 500), (4, 1000), (2, 2000)]

A setting that goes on keeps its runs: more runs start with the same runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from profitable.common import check
from profitable.common.files import as_path
from profitable.errors import InputError, ParameterError
from profitable.model.category_table import (
    in_file,
    is_list,
    is_table,
    known_fields,
    needed_field,
    parse_toml,
)
from profitable.policy.policies import Policy
from profitable.simulation.scenario import Scenario, read_toml
from profitable.simulation.settings import BLOCK, MOST_HORIZON, MOST_RUNS
from profitable.studies.grid import HORIZON_NAME, Template, Value, World, worlds_of

STUDY_EXAMPLES = Path(__file__).parent / "examples"
NEEDED = ("name", "scenario", "policies", "horizon", "runs")
OPTIONAL = ("axes", "seed", "halving", "finalists")
# An axis becomes one more column of the table.
STUDY_COLUMNS = (
    "scenario", "world", HORIZON_NAME, "policy", "pattern", "runs", "regret", "stderr",
    "low", "high", "carried_by_few", "quantile_0.5", "quantile_0.95", "quantile_0.99",
    "lost_share", "right_set_share", "profit", "profit_stderr", "dropped_at_stage", "best",
    "more_than_best", "more_stderr", "significant", "seed", "version",
)  # fmt: skip


class Stage(NamedTuple):
    """Number of settings in a stage, and of runs that each has at its end."""

    settings: int
    runs: int


@dataclass(frozen=True)
class Study:
    """Settings to compare, and the number of runs to spend on them.

    Parameters
    ----------
    name : str
        Name of the study.
    scenario : Scenario, str, Path, mapping, or list of these
        A scenario, the name of a scenario file, a table like one, or several.  In files
        and tables, a number may be an expression of axes, as "0.2 + gap".
    policies : sequence of str or Policy
        Names of policies, in which {forget} stands for the values of the axis forget.
    horizon : int or sequence of int
        Rounds in a run.  It is a name for expressions, too.
    runs : int
        Runs of the settings that stay to the end, and of all without `halving`.
    axes : mapping of str to sequence of int, float or str, optional
        Names, and the values of each.
    seed : int, default 1
        Seed of all random streams.
    halving : bool, default True
        Drop settings with high regret after few runs.
    finalists : int, default 2
        Settings of each world that get all runs, if `halving`.
    source : str, default "study"
        Name of the study in errors.

    Raises
    ------
    InputError
        If an argument is illegal, or an axis is unknown or not used.

    Examples
    --------
    >>> shops = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "clients": 5}
    >>> shops["mean"] = "0.2 + gap"
    >>> found = Study(
    ...     "shops",
    ...     scenario={"category": [shops]},
    ...     policies=["ts", "kl-ucb:forget={forget}"],
    ...     axes={"gap": [-0.1, 0.1], "forget": [0.9, 0.99]},
    ...     horizon=1_000,
    ...     runs=400,
    ... )
    >>> [(world.label, len(world.settings)) for world in found.worlds]
    [('gap = -0.1', 3), ('gap = 0.1', 3)]

    """

    name: str
    scenario: Any = field(kw_only=True)
    policies: Sequence[str | Policy] = field(kw_only=True)
    horizon: int | Sequence[int] = field(kw_only=True)
    runs: int = field(kw_only=True)
    axes: Mapping[str, Sequence[Value]] = field(
        kw_only=True, default_factory=dict[str, Sequence[Value]]
    )
    seed: int = field(kw_only=True, default=1)
    halving: bool = field(kw_only=True, default=True)
    finalists: int = field(kw_only=True, default=2)
    source: str = field(kw_only=True, default="study", compare=False)  # how errors call it

    def __post_init__(self) -> None:
        where = self.source
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError(
                f"{where}: name", self.name, "must be a name", 'give the study one: name = "..."'
            )
        if not isinstance(self.halving, bool):
            raise ParameterError(
                f"{where}: halving", self.halving, "must be true or false", "give one of them"
            )
        checked: dict[str, Any] = {
            "axes": _axes(self.axes, f"{where}: axes"),
            "policies": _policies(self.policies, f"{where}: policies"),
            "horizon": _horizons(self.horizon, f"{where}: horizon"),
            "runs": check.whole(f"{where}: runs", self.runs, least=2, most=MOST_RUNS),
            "seed": check.whole(f"{where}: seed", self.seed, least=0, most=2**63 - 1),
            "finalists": check.whole(f"{where}: finalists", self.finalists),
            "scenario": _templates(self.scenario, self.name, where),
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        assert self.worlds  # made now, so that mistakes are found now

    @cached_property
    def worlds(self) -> tuple[World, ...]:
        """The worlds, each with its settings."""
        grid = (cast(Sequence[int], self.horizon), cast(Sequence[str], self.policies), self.axes)
        return worlds_of(cast(Sequence[Template], self.scenario), *grid, self.source)

    @cached_property
    def places(self) -> list[range]:
        """The places of each world among all settings."""
        edges = accumulate((len(world.settings) for world in self.worlds), initial=0)
        return [range(start, end) for start, end in pairwise(edges)]

    @property
    def size(self) -> int:
        """The number of settings."""
        return sum(len(world.settings) for world in self.worlds)

    def stages(self, world: World) -> list[Stage]:
        """Return the stages of a world: one without halving.

        Parameters
        ----------
        world : World
            A world of this study.

        Returns
        -------
        list of Stage
            Number of settings in each stage, and of runs that each has at its end.
        """
        number = len(world.settings)
        return stages(number, runs=self.runs, finalists=self.finalists if self.halving else number)

    @property
    def planned_runs(self) -> int:
        """The runs of all stages of all worlds."""
        return sum(runs_of(self.stages(world)) for world in self.worlds)

    def to_dict(self) -> dict[str, Any]:
        """Return what determines the numbers, as JSON-ready values."""
        return {
            "name": self.name,
            "scenario": [
                {"name": each.name} | each.table for each in cast(Sequence[Template], self.scenario)
            ],
            "policies": list(self.policies),
            "axes": {name: list(values) for name, values in self.axes.items()},
            HORIZON_NAME: list(cast(Sequence[int], self.horizon)),
            "runs": self.runs,
            "seed": self.seed,
            "halving": self.halving,
            "finalists": self.finalists,
        }

    @classmethod
    def from_toml(
        cls, text: str, *, source: str = "study", folder: Path | None = None, **changes: Any
    ) -> Self:
        """Read a study from the text of a file.

        Parameters
        ----------
        text : str
            Content of a study file (TOML).
        source : str, default "study"
            Name of the study in errors.
        folder : Path, optional
            Where scenario files are looked for.
        **changes : Any
            Fields that replace those of the file, as runs=200.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        InputError
            If a field is missing, unknown or illegal.

        """
        if not isinstance(text, str):
            raise ParameterError("text", text, "must be a text", "give the content of a study file")
        table = parse_toml(text, "study", source)
        known_fields(table, {*NEEDED, *OPTIONAL}, source)
        found = {key: needed_field(table, key, source) for key in NEEDED}
        found |= {key: table[key] for key in OPTIONAL if key in table}
        given = found["scenario"]
        read = [
            read_scenario((folder or Path()) / each, field=f"{source}: scenario")
            if isinstance(each, str)
            else each
            for each in (given if is_list(given) else [given])
        ]
        found["scenario"] = read if is_list(given) else read[0]
        return cls(**found | changes, source=source)

    @classmethod
    def load(cls, path: Path | str, **changes: Any) -> Self:
        """Read a study from a TOML file, or one of the package by its name.

        Parameters
        ----------
        path : Path or str
            A file, or a name such as "forget".
        **changes : Any
            Fields that replace those of the file, as runs=200.

        Returns
        -------
        Study
            The study.

        """
        given, source = as_path("study", path), str(path)
        if not given.exists() and source in example_names():
            given, source = STUDY_EXAMPLES / f"{path}.toml", f"{path}.toml"
        remedy = f"give a TOML file, or one of {', '.join(example_names())}"
        text = read_toml("study", given, remedy)
        return cls.from_toml(text, source=source, folder=given.parent, **changes)


def example_names() -> list[str]:
    """Return the studies that come with the package."""
    return sorted(path.stem for path in STUDY_EXAMPLES.glob("*.toml"))


def read_scenario(path: Path, *, field: str = "scenario") -> Template:
    """Return the template that is in a scenario file."""
    return Template.of(parse_toml(read_toml(field, path), field, str(path)), path.stem, str(path))


def _axes(given: object, where: str) -> dict[str, list[Value]]:
    if not isinstance(given, Mapping):
        raise InputError(
            where, given, "must be a table", "give names with lists, as forget = [0.9, 0.99]"
        )
    axes: dict[str, list[Value]] = {}
    for name, values in cast(Mapping[Any, Any], given).items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError(
                where,
                name,
                "must be a name for expressions",
                "give letters, digits and _, as gap_1",
            )
        if name in STUDY_COLUMNS:
            remedy = (
                "give horizon = [...] outside of axes"
                if name == HORIZON_NAME
                else f"call it {name}_1, for example"
            )
            raise InputError(
                f"{where}: {name}", values, "has the name of a column of the table", remedy
            )
        plain = [
            getattr(each, "item", lambda each=each: each)()
            for each in _listed(values, f"{where}: {name}")
        ]
        for each in plain:
            if isinstance(each, bool) or not isinstance(each, str | int | float):
                raise InputError(
                    f"{where}: {name}",
                    each,
                    "must be a number or a text",
                    "give one of the two",
                )
            if not isinstance(each, str):
                check.finite(f"{where}: {name}", each)
        if len({str(each) for each in plain}) < len(plain) or len(set(plain)) < len(plain):
            raise InputError(f"{where}: {name}", plain, "has a value twice", "give each once")
        axes[name] = plain
    return axes


def _listed(values: object, where: str) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(
            where, cast(object, values), "must be a list", "give a list of values, as [0.9, 0.99]"
        )
    found = list(cast(Iterable[Any], values))
    if not found:
        raise InputError(where, found, "must not be empty", "give at least one value")
    return found


def _policies(given: object, where: str) -> list[str]:
    found: list[str] = []
    for each in _listed(given, where):
        if isinstance(each, Policy) and getattr(each, "prior", None) is not None:
            raise InputError(
                where, str(each), "has a prior of its own", "give the categories that prior"
            )
        if not isinstance(each, Policy | str):
            raise InputError(
                where,
                each,
                "must be the name of a policy",
                "give a name as 'ts' or 'kl-ucb:forget={forget}'",
            )
        found.append(str(each))
    return found


def _horizons(given: object, where: str) -> list[int]:
    values = _listed(cast(object, given), where) if isinstance(given, list | tuple) else [given]
    found = [check.whole(where, each, most=MOST_HORIZON) for each in values]
    if len(set(found)) < len(found):
        raise InputError(where, found, "has a value twice", "give each once")
    return found


def _templates(given: object, name: str, where: str) -> list[Template]:
    entries = cast(list[Any], given) if is_list(given) or isinstance(given, tuple) else [given]
    found: list[Template] = []
    for place, entry in enumerate(entries, 1):
        here = f"{where}: scenario {place}" if len(entries) > 1 else f"{where}: scenario"
        template = _template(entry, name, here)
        if any(template.name == other.name for other in found):
            raise InputError(
                here, template.name, "is the name of two scenarios", "give each its own name"
            )
        found.append(template)
    if not found:
        raise InputError(
            f"{where}: scenario", [], "must not be empty", "give at least one scenario"
        )
    return found


def _template(entry: object, name: str, where: str) -> Template:
    if isinstance(entry, Template):
        return entry
    if isinstance(entry, Scenario):
        entry = parse_toml(entry.to_toml(), "scenario", where)
    if isinstance(entry, str | Path):
        return in_file(where, lambda: read_scenario(Path(entry)))
    if not is_table(entry):
        raise InputError(
            where, entry, "must be a scenario", "give a table with [[scenario.category]], or a file"
        )
    return Template.of(entry, name, where)


# -------------------------------------------------------------- successive halving


def stages(settings: int, *, runs: int, finalists: int) -> list[Stage]:
    """Return the stages of a world.

    At most half of the settings leave at a time, and nobody with less than one
    block of runs.

    The last stage has `runs` runs.  It has `finalists` settings, or more if the runs do
    not suffice for more stages.

    >>> stages(3, runs=150, finalists=2)
    [Stage(settings=3, runs=100), Stage(settings=2, runs=150)]
    """
    steps = 0
    while settings > finalists << steps and runs > BLOCK << steps:
        steps += 1
    sizes = [max(-(-settings // 2**step), min(finalists, settings)) for step in range(steps + 1)]
    most = [min(runs, -(-runs // (BLOCK << (steps - step))) * BLOCK) for step in range(steps)]
    return [Stage(size, number) for size, number in zip(sizes, [*most, runs], strict=True)]


def survivors(regrets: Sequence[float], number: int) -> list[int]:
    """Return the places of the `number` smallest regrets, in their order.

    Of equal ones, the first.

    >>> survivors([3.0, 1.0, 2.0, 1.0], 2)
    [1, 3]
    """
    return sorted(sorted(range(len(regrets)), key=lambda place: (regrets[place], place))[:number])


def runs_of(plan: Sequence[Stage]) -> int:
    """Return the runs that all stages of a world take together.

    >>> runs_of(stages(13, runs=2_000, finalists=2))
    9300
    """
    first, *_ = plan
    return first.settings * first.runs + sum(
        after.settings * (after.runs - before.runs) for before, after in pairwise(plan)
    )
