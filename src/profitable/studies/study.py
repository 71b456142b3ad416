"""Study: a grid of scenarios, policies and their parameters, and how many runs to spend on it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

from profitable.common import check
from profitable.errors import InputError, ParameterError
from profitable.model.category_table import in_file, is_list, is_table, parse_toml
from profitable.policy.policy import Policy
from profitable.simulation.scenario import Scenario
from profitable.simulation.settings import MOST_HORIZON, MOST_RUNS
from profitable.studies.expression import Value
from profitable.studies.grid import HORIZON_NAME, World, worlds_of
from profitable.studies.halving import Stage, runs_of, stages
from profitable.studies.template import Template

# An axis becomes a column of the table, beside these.
STUDY_COLUMNS = (
    "scenario", "world", HORIZON_NAME, "policy", "pattern", "runs", "regret", "stderr", "low", "high", "carried_by_few",
    "quantile_0.5", "quantile_0.95", "quantile_0.99", "lost_share", "right_set_share", "profit", "profit_stderr",
    "dropped_at_stage", "best", "more_than_best", "more_stderr", "told_apart", "seed", "version",
)  # fmt: skip


@dataclass(frozen=True)
class Study:
    """What to compare, and with how many runs.

    - `scenario`: a `Scenario`, a scenario file, a table like one, or a list of these.  In files and tables, a number
      may be an expression of axes, as "0.2 + gap".
    - `policies`: names of policies, in which {forget} stands for the values of the axis forget.
    - `horizon`: rounds in a run, or a list.  It is a name for expressions, too.
    - `runs`: runs of the settings that stay to the end, and of all settings without `halving`.
    - `axes`: names and the values of each, numbers or texts.
    - `finalists`: how many settings of each world get all runs, if `halving`.

    >>> shops = {"name": "shops", "family": "bernoulli", "threshold": 0.2, "mean": "0.2 + gap", "clients": 5}
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
    axes: Mapping[str, Sequence[Value]] = field(kw_only=True, default_factory=dict[str, Sequence[Value]])
    seed: int = field(kw_only=True, default=1)
    halving: bool = field(kw_only=True, default=True)
    finalists: int = field(kw_only=True, default=2)
    source: str = field(kw_only=True, default="study", compare=False)  # how errors call it

    def __post_init__(self) -> None:
        where = self.source
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError(f"{where}: name", self.name, "is not a name", 'give the study one: name = "..."')
        for key in ("halving",):
            if not isinstance(getattr(self, key), bool):
                raise ParameterError(f"{where}: {key}", getattr(self, key), "is not true or false", "give one of them")
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

    @property
    def size(self) -> int:
        """The number of settings."""
        return sum(len(world.settings) for world in self.worlds)

    def stages(self, world: World) -> list[Stage]:
        """The stages of a world: one without halving."""
        number = len(world.settings)
        return stages(number, runs=self.runs, finalists=self.finalists if self.halving else number)

    @property
    def planned_runs(self) -> int:
        """The runs of all stages of all worlds."""
        return sum(runs_of(self.stages(world)) for world in self.worlds)

    def to_dict(self) -> dict[str, Any]:
        """What determines the numbers, as JSON-ready values."""
        return {
            "name": self.name,
            "scenario": [{"name": each.name} | each.table for each in cast(Sequence[Template], self.scenario)],
            "policies": list(self.policies),
            "axes": {name: list(values) for name, values in self.axes.items()},
            HORIZON_NAME: list(cast(Sequence[int], self.horizon)),
            "runs": self.runs,
            "seed": self.seed,
            "halving": self.halving,
            "finalists": self.finalists,
        }

    @classmethod
    def from_toml(cls, text: str, *, source: str = "study", folder: Path | None = None, **changes: Any) -> Self:
        """A study from the text of a file; `source` names it in errors, scenario files are looked for in `folder`.

        `changes` replace what the file says, as runs=200.
        """
        from profitable.studies.study_file import read

        if not isinstance(text, str):
            raise ParameterError("text", text, "is not a text", "give the content of a study file")
        return cls(**read(text, source, folder) | changes, source=source)

    @classmethod
    def load(cls, path: Path | str, **changes: Any) -> Self:
        """A study from a TOML file, or one that comes with the package, by its name."""
        from profitable.studies.study_file import read_text

        text, source, folder = read_text(path)
        return cls.from_toml(text, source=source, folder=folder, **changes)


def _axes(given: object, where: str) -> dict[str, list[Value]]:
    if not isinstance(given, Mapping):
        raise InputError(where, given, "is not a table", "give names with lists, as forget = [0.9, 0.99]")
    axes: dict[str, list[Value]] = {}
    for name, values in cast(Mapping[Any, Any], given).items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError(where, name, "is not a name for expressions", "give letters, digits and _, as gap_1")
        if name in STUDY_COLUMNS:
            remedy = (
                "give horizon = [...] outside of axes" if name == HORIZON_NAME else f"call it {name}_1, for example"
            )
            raise InputError(f"{where}: {name}", values, "has the name of a column of the table", remedy)
        plain = [getattr(each, "item", lambda each=each: each)() for each in _listed(values, f"{where}: {name}")]
        for each in plain:
            if isinstance(each, bool) or not isinstance(each, str | int | float):
                raise InputError(f"{where}: {name}", each, "is neither a number nor a text", "give one of the two")
            if not isinstance(each, str):
                check.finite(f"{where}: {name}", each)
        if len({str(each) for each in plain}) < len(plain) or len(set(plain)) < len(plain):
            raise InputError(f"{where}: {name}", plain, "has a value twice", "give each once")
        axes[name] = plain
    return axes


def _listed(values: object, where: str) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(where, cast(object, values), "is not a list", "give a list of values, as [0.9, 0.99]")
    found = list(cast(Iterable[Any], values))
    if not found:
        raise InputError(where, found, "is empty", "give at least one value")
    return found


def _policies(given: object, where: str) -> list[str]:
    found: list[str] = []
    for each in _listed(given, where):
        if isinstance(each, Policy) and getattr(each, "prior", None) is not None:
            raise InputError(where, str(each), "has a prior of its own", "give the categories that prior")
        if not isinstance(each, Policy | str):
            remedy = "give a name as 'ts' or 'kl-ucb:forget={forget}'"
            raise InputError(where, each, "is not the name of a policy", remedy)
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
            raise InputError(here, template.name, "is the name of two scenarios", "give each its own name")
        found.append(template)
    if not found:
        raise InputError(f"{where}: scenario", [], "is empty", "give at least one scenario")
    return found


def _template(entry: object, name: str, where: str) -> Template:
    from profitable.studies.study_file import read_scenario

    if isinstance(entry, Template):
        return entry
    if isinstance(entry, Scenario):
        entry = parse_toml(entry.to_toml(), "scenario", where)
    if isinstance(entry, str | Path):
        return in_file(where, lambda: read_scenario(Path(entry)))
    if not is_table(entry):
        raise InputError(where, entry, "is not a scenario", "give a table with [[scenario.category]], or a file")
    called = entry.get("name", name)
    if not isinstance(called, str) or not called.strip():
        raise InputError(f"{where}: name", called, "is not a name", 'give the scenario one: name = "..."')
    return Template(called, {key: value for key, value in entry.items() if key != "name"}, where)
