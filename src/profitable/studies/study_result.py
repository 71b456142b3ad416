"""StudyResult: what a study found.  It prints itself, becomes a dataframe, draws itself and is saved to a folder."""

from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.extras import extra
from profitable.common.files import as_path
from profitable.common.frames import frame_of
from profitable.common.text_tables import html_table, number, text_table
from profitable.simulation.curve import Curve
from profitable.simulation.result import DAGGER_NOTE, UNKNOWN_NOTE
from profitable.studies.comparison import MISTAKE, Comparison, compare, interval_of
from profitable.studies.expression import shown
from profitable.studies.grid import HORIZON_NAME, World
from profitable.studies.study import STUDY_COLUMNS, Study
from profitable.version import VERSION

NAMED = 3  # settings that cannot be told from the best are named if they are so few, and else counted


@dataclass(frozen=True)
class Best:
    """The best setting of a world, with its uncertainty; all plain values.

    - `values`: the axes' values, those of the world and those of the policy.
    - `regret`, `stderr`: the estimate of its mean regret at the horizon (`Curve.estimate`), and the standard error.  It
      was chosen as the best by the same runs, so it is a little too low.
    - `low`, `high`: the interval that covers the truth in about 95 % of samples, although it was chosen.
    - `runner_up`, `difference`, `difference_error`: the second best, how much more regret that has, and the error.
    - `alike`: the policies that cannot be told from it.
    """

    world: str
    values: dict[str, Any]
    policy: str
    runs: int
    regret: float
    stderr: float
    low: float
    high: float
    carried_by_few: bool
    runner_up: str | None
    difference: float | None
    difference_error: float | None
    alike: tuple[str, ...]


@dataclass(frozen=True)
class StudyResult:
    """A finished study: a curve for each setting, and at which stage it was dropped (0 if never).

    `best` has one entry for each world.  `to_frame()` has one row for each setting.
    """

    study: Study
    curves: tuple[Curve, ...]
    dropped: tuple[int, ...]

    @cached_property
    def places(self) -> list[range]:
        """Which of the curves belong to each world."""
        found: list[range] = []
        for world in self.study.worlds:
            start = found[-1].stop if found else 0
            found.append(range(start, start + len(world.settings)))
        return found

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The comparison of each world."""
        found: list[Comparison] = []
        for world, places in zip(self.study.worlds, self.places, strict=True):
            last = [i for i, place in enumerate(places) if not self.dropped[place]]
            found.append(compare([self.curves[place] for place in places], last, len(self.study.stages(world))))
        return found

    @property
    def best(self) -> list[Best]:
        """The best setting of each world."""
        rows = zip(self.study.worlds, self.places, self.comparisons, strict=True)
        return [self._best(world, places, comparison) for world, places, comparison in rows]

    def _best(self, world: World, places: range, comparison: Comparison) -> Best:
        setting, curve = world.settings[comparison.best], self.curves[places[comparison.best]]
        second = None if comparison.runner_up is None else comparison.compared[comparison.runner_up]
        low, high = interval_of(curve.estimate, best_of=len(places))
        return Best(
            world=world.label,
            values={**world.values, HORIZON_NAME: world.horizon, **setting.values},
            policy=setting.policy,
            runs=curve.runs,
            regret=float(curve.estimate.mean[-1]),
            stderr=float(curve.estimate.error[-1]),
            low=low,
            high=high,
            carried_by_few=bool(curve.estimate.carried_by_few[-1]),
            runner_up=None if comparison.runner_up is None else world.settings[comparison.runner_up].policy,
            difference=second and second.difference,
            difference_error=second and second.error,
            alike=tuple(world.settings[place].policy for place in comparison.alike),
        )

    @property
    def runs(self) -> int:
        """The runs of all settings together."""
        return sum(curve.runs for curve in self.curves)

    def table(self) -> str:
        """The best setting of each world, as text."""
        headers, rows = self.best_rows()
        dagger = f"\n{DAGGER_NOTE}" if any(best.carried_by_few for best in self.best) else ""
        table = text_table(headers, rows, words=(0, 1, 4, 6))
        notes = "\n".join(filter(None, (NOTE, self.unsure())))
        return f"{self.title()}\n\n{self.question()}\n{table}{dagger}\n{notes}"

    def title(self) -> str:
        """What was studied, in a line."""
        study = self.study
        horizons = ", ".join(number(each) for each in self.horizons)
        return (
            f"{study.name}: {number(study.size)} settings in {number(len(study.worlds))} "
            f"world{'s' if len(study.worlds) > 1 else ''}, horizon {horizons}, {number(study.runs)} runs, "
            f"seed {study.seed}"
        )

    @property
    def horizons(self) -> list[int]:
        """The horizons, each once."""
        return sorted({world.horizon for world in self.study.worlds})

    def question(self) -> str:
        """What the table answers, and what it took."""
        full = self.study.size * self.study.runs
        spent = f"Halving played {number(self.runs)} of {number(full)} runs ({self.runs / full:.0%})."
        return f"The setting with the lowest mean regret in each world. {spent if self.runs < full else ''}".strip()

    def unsure(self) -> str:
        """What the table cannot know; empty if there is nothing."""
        return UNKNOWN_NOTE if any(curve.is_unsure for curve in self.curves) else ""

    def best_rows(self) -> tuple[list[str], list[list[str]]]:
        """Headers and rows of the table of the best settings."""
        headers = ["world", "best", "regret", "± error", "runner-up", "worse by", "cannot be told apart"]
        rows: list[list[str]] = []
        for best in self.best:
            worse = "-"
            if best.difference is not None and best.difference_error is not None:
                worse = f"{short(best.difference)} ± {short(best.difference_error)}"
            alike = ", ".join(best.alike) if len(best.alike) <= NAMED else f"{len(best.alike)} settings"
            error = short(best.stderr) + (" †" if best.carried_by_few else "")
            cells = [best.world, best.policy, short(best.regret), error, best.runner_up or "-", worse, alike or "none"]
            rows.append(cells)
        return headers, rows

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        return html_table(f"{self.title()}. {self.question()}", *self.best_rows())

    def columns(self) -> dict[str, list[Any]]:
        """All numbers: one row for each setting."""
        axes = list(self.study.axes)
        order = (*STUDY_COLUMNS[:3], *axes, *STUDY_COLUMNS[3:])
        found: dict[str, list[Any]] = {name: [] for name in order}
        for world, places, comparison in zip(self.study.worlds, self.places, self.comparisons, strict=True):
            for i, place in enumerate(places):
                setting, row = world.settings[i], self._numbers(place, comparison, i)
                row |= {name: (world.values | setting.values).get(name) for name in axes}
                row |= {"scenario": world.scenario.name, "world": world.label, HORIZON_NAME: world.horizon}
                row |= {"policy": setting.policy, "pattern": setting.pattern}
                for name, values in found.items():
                    values.append(row[name])
        for name in axes:  # one type for each column
            if any(isinstance(value, str) for value in found[name]):
                found[name] = [None if value is None else shown(value) for value in found[name]]
            elif any(isinstance(value, float) for value in found[name]):
                found[name] = [None if value is None else float(value) for value in found[name]]
        return found

    def _numbers(self, place: int, comparison: Comparison, i: int) -> dict[str, Any]:
        curve, beside, chosen = self.curves[place], comparison.compared[i], comparison.best == i
        estimate = curve.estimate
        low, high = interval_of(estimate, best_of=len(comparison.compared) if chosen else 1)
        return {
            "runs": curve.runs,
            "regret": float(estimate.mean[-1]),
            "stderr": float(estimate.error[-1]),
            "low": low,
            "high": high,
            "carried_by_few": bool(estimate.carried_by_few[-1]),
            **{f"quantile_{share:g}": float(curve.quantile(share)[-1]) for share in (0.5, 0.95, 0.99)},
            "lost_share": _known(curve.mean("lost")[0]),
            "right_set_share": _known(curve.mean("right_set")[0]),
            "profit": _known(curve.mean("total_profit")[0]),
            "profit_stderr": _known(curve.error("total_profit")[0]),
            "dropped_at_stage": self.dropped[place] or None,
            "best": chosen,
            "more_than_best": beside.difference,
            "more_stderr": beside.error,
            "told_apart": beside.told_apart,
            "seed": self.study.seed,
            "version": VERSION,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each setting, as a dataframe of pandas, polars or pyarrow."""
        return frame_of(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; `profitable study --json` prints them."""
        columns = self.columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {
            "study": self.study.to_dict(),
            "version": VERSION,
            "worlds": len(self.study.worlds),
            "runs": self.runs,
            "best": [asdict(best) | {"alike": list(best.alike)} for best in self.best],
            "settings": rows,
        }

    def save(self, folder: Path | str) -> list[Path]:
        """Write the table, the page, its pictures, and what is needed to read it back."""
        from profitable.common.folder_lock import occupied
        from profitable.studies.study_folder import save_finished

        target, report = as_path("folder", folder), report_module()
        with occupied(target):
            return [*save_finished(self, target), *report.write_report(self, target)]

    @classmethod
    def load(cls, folder: Path | str) -> "StudyResult":
        """Read what `save` wrote, or what `study(..., out=)` has finished."""
        from profitable.studies.study_folder import load

        return load(as_path("folder", folder))


NOTE = (
    f"With a probability of {1.0 - MISTAKE:.0%} or more in each world, the truly best setting is the one called best "
    "or one that cannot be told apart from it.\nThe best was chosen by the same runs, so its regret tends to be a "
    "little too low."
)


def short(value: float) -> str:
    """A number with four digits."""
    return "-" if np.isnan(value) else number(float(f"{value:.4g}"))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def report_module() -> Any:
    """The module of the page.  MissingLibraryError, before any work, if a library that it needs is missing."""
    with extra("paper", "the page of a study needs it"):
        import_module("pyarrow")  # the table is kept with it
        from profitable.studies import report
    return report
