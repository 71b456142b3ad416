"""StudyResult: the best setting of each world, and the numbers of all settings.

It prints itself, becomes a dataframe, draws itself and is saved to a folder.

The best is the one with the lowest mean regret among those that got all runs.  Chance
has chosen it, too, so the others are not simply compared at two errors.  A setting is
*significantly worse* than the best if its mean regret is larger by more than `limit`
standard errors of the difference, and else statistically *indistinguishable* from it.
The limit has a Bonferroni correction: the truly best setting of a world is compared
with each other setting, after whichever stage it is dropped, and is called
significantly worse with a probability of at most 5 %.

The regret of a setting is `Curve.estimate`: the mean over its runs, except that a
policy that stops for good is charged for losses too rare to be among them.  The
estimates are taken as normal.  Where rare large runs carry that of the best, its error
is as large as `Estimate.above` says.

The best has the lowest of many estimates, so its own is too low.  Its interval reaches
`reach_of_best` errors up, so many that the limits of all settings of the world would
hold at once with a probability of 97.5 % (Bonferroni).  Two errors down are enough:
being chosen makes low estimates more likely, and high ones less.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from profitable.common.extras import extra, frame_of
from profitable.common.files import as_path
from profitable.common.text_tables import html_table, number_text, text_table
from profitable.simulation.curve import ABOVE, BELOW, DAGGER, Curve, Estimate
from profitable.simulation.result import DAGGER_NOTE, UNKNOWN_NOTE, short
from profitable.studies.grid import HORIZON_NAME, World, shown
from profitable.studies.study import STUDY_COLUMNS, Study
from profitable.version import VERSION

# The probability that the truly best setting of a world is called significantly worse.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Compared:
    """Excess regret over the best, its standard error, and its significance."""

    difference: float
    error: float
    significant: bool


@dataclass(frozen=True)
class WorldComparison:
    """Comparison of all settings of a world with the best and its runner-up.

    There is no runner-up if the best is alone.
    """

    best: int
    runner_up: int | None
    limit: float
    compared: tuple[Compared, ...]

    @property
    def indistinguishable(self) -> list[int]:
        """The places of the settings that are indistinguishable from the best."""
        return [
            place
            for place, each in enumerate(self.compared)
            if place != self.best and not each.significant
        ]


def limit_of(settings: int, stages: int) -> float:
    """Return how many standard errors a difference must exceed to be significant.

    >>> round(limit_of(2, 1), 3), round(limit_of(13, 4), 3)
    (1.645, 3.078)
    """
    return NormalDist().inv_cdf(1.0 - SIGNIFICANCE / (max(settings - 1, 1) * stages))


def reach_of_best(settings: int) -> float:
    """Return how many errors the mean of the best may lie above its estimate.

    >>> reach_of_best(1), round(reach_of_best(20), 3)
    (2.0, 3.023)
    """
    return max(ABOVE, NormalDist().inv_cdf(1.0 - 0.5 * SIGNIFICANCE / settings))


def interval_of(estimate: Estimate, *, best_of: int = 1) -> tuple[float, float]:
    """Return an interval that covers the true mean regret in about 95 % of samples.

    `best_of`: the setting was chosen as the best of so many, with the same runs.
    """
    mean, error, above = (
        float(each[-1]) for each in (estimate.mean, estimate.error, estimate.above)
    )
    return mean - BELOW * error, mean + reach_of_best(best_of) / ABOVE * above


def compare(curves: Sequence[Curve], finalists: Sequence[int], stages: int) -> WorldComparison:
    """Compare the settings of a world.

    `finalists` are the places of those that got all runs.
    """
    estimates = [curve.estimate for curve in curves]
    regrets = [float(each.mean[-1]) for each in estimates]
    first, *others = sorted(finalists, key=lambda place: (regrets[place], place))
    limit = limit_of(len(curves), stages)
    above = float(estimates[first].above[-1]) / BELOW
    found: list[Compared] = []
    for place, estimate in enumerate(estimates):
        difference = regrets[place] - regrets[first]
        error = 0.0 if place == first else float(np.hypot(float(estimate.error[-1]), above))
        found.append(Compared(difference, error, difference > limit * error))
    return WorldComparison(first, others[0] if others else None, limit, tuple(found))


# ------------------------------------------------------------------------ the result

NAMED = 3  # indistinguishable settings; more are counted


@dataclass(frozen=True)
class Best:
    """The best setting of a world, with its uncertainty; all plain values.

    Attributes
    ----------
    world, values, policy, runs
        The world, the values of all axes, the policy, and its number of runs.
    regret, stderr : float
        Estimate of the mean regret at the horizon (`Curve.estimate`), and its standard
        error.  The setting was chosen by the same runs, so it is a little too low.
    low, high : float
        Confidence interval of about 95 %, corrected for the choice.
    carried_by_few : bool
        Whether rare large runs carry the mean.
    runner_up, difference, difference_error
        The second best, its excess regret, and the standard error of that.
    indistinguishable : tuple of str
        Policies that are not significantly worse, after Bonferroni correction.

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
    indistinguishable: tuple[str, ...]


@dataclass(frozen=True)
class StudyResult:
    """The result of a study.

    It prints itself as a table of the best settings.

    Attributes
    ----------
    study : Study
        The study.
    curves : tuple of Curve
        A curve for each setting.
    dropped : tuple of int
        The stage after which each setting was dropped; 0 if never.

    """

    study: Study
    curves: tuple[Curve, ...]
    dropped: tuple[int, ...]

    @cached_property
    def comparisons(self) -> list[WorldComparison]:
        """The comparison of each world."""
        return [
            compare(
                [self.curves[place] for place in places],
                [i for i, place in enumerate(places) if not self.dropped[place]],
                len(self.study.stages(world)),
            )
            for world, places in zip(self.study.worlds, self.study.places, strict=True)
        ]

    @property
    def best(self) -> list[Best]:
        """The best setting of each world."""
        return list(map(self._best, self.study.worlds, self.study.places, self.comparisons))

    def _best(self, world: World, places: range, comparison: WorldComparison) -> Best:
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
            runner_up=None
            if comparison.runner_up is None
            else world.settings[comparison.runner_up].policy,
            difference=second and second.difference,
            difference_error=second and second.error,
            indistinguishable=tuple(
                world.settings[place].policy for place in comparison.indistinguishable
            ),
        )

    @property
    def runs(self) -> int:
        """The runs of all settings together."""
        return sum(curve.runs for curve in self.curves)

    def table(self) -> str:
        """Return the best setting of each world, as text."""
        headers, rows = self.best_rows()
        dagger = DAGGER_NOTE if any(best.carried_by_few for best in self.best) else ""
        table = text_table(headers, rows, words=(0, 1, 4, 6))
        parts = (self.question(), table, dagger, NOTE, self.unsure())
        return f"{self.title()}\n\n" + "\n".join(filter(None, parts))

    def title(self) -> str:
        """Return a line that describes the study."""
        study = self.study
        horizons = ", ".join(number_text(each) for each in self.horizons)
        return (
            f"{study.name}: {number_text(study.size)} settings in {number_text(len(study.worlds))} "
            f"world{'s' if len(study.worlds) > 1 else ''}, horizon {horizons}, "
            f"{number_text(study.runs)} runs, "
            f"seed {study.seed}"
        )

    @property
    def horizons(self) -> list[int]:
        """The horizons, each once."""
        return sorted({world.horizon for world in self.study.worlds})

    def question(self) -> str:
        """Return a line that describes the table and the runs that it took."""
        full = self.study.size * self.study.runs
        question = "The setting with the lowest mean regret in each world."
        if self.runs == full:
            return question
        share = f"{number_text(self.runs)} of {number_text(full)} runs ({self.runs / full:.0%})"
        return f"{question} Halving played {share}."

    def unsure(self) -> str:
        """Return a note on what the table cannot know; empty if there is nothing."""
        return UNKNOWN_NOTE if any(curve.is_unsure for curve in self.curves) else ""

    def best_rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the headers and the rows of the table of the best settings."""
        headers = [
            "world",
            "best",
            "regret",
            "± error",
            "runner-up",
            "worse by",
            "indistinguishable",
        ]
        rows: list[list[str]] = []
        for best in self.best:
            worse, alike = "-", ", ".join(best.indistinguishable) or "none"
            if best.difference is not None and best.difference_error is not None:
                worse = f"{short(best.difference)} ± {short(best.difference_error)}"
            if len(best.indistinguishable) > NAMED:
                alike = f"{len(best.indistinguishable)} settings"
            error = short(best.stderr) + (DAGGER if best.carried_by_few else "")
            head = (best.world, best.policy, short(best.regret), error)
            rows.append([*head, best.runner_up or "-", worse, alike])
        return headers, rows

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        return html_table(f"{self.title()}. {self.question()}", *self.best_rows())

    def columns(self) -> dict[str, list[Any]]:
        """Return all numbers as columns: one row for each setting."""
        axes = list(self.study.axes)
        rows = [
            {
                "scenario": world.scenario.name,
                "world": world.label,
                HORIZON_NAME: world.horizon,
                "policy": setting.policy,
                "pattern": setting.pattern,
                **{name: (world.values | setting.values).get(name) for name in axes},
                **self._numbers(place, comparison, i),
            }
            for world, places, comparison in zip(
                self.study.worlds, self.study.places, self.comparisons, strict=True
            )
            for i, (place, setting) in enumerate(zip(places, world.settings, strict=True))
        ]
        order = (*STUDY_COLUMNS[:3], *axes, *STUDY_COLUMNS[3:])
        found = {name: [row[name] for row in rows] for name in order}
        for name in axes:  # one type for each column
            if any(isinstance(value, str) for value in found[name]):
                found[name] = [None if value is None else shown(value) for value in found[name]]
            elif any(isinstance(value, float) for value in found[name]):
                found[name] = [None if value is None else float(value) for value in found[name]]
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return all numbers as rows: one for each setting."""
        columns = self.columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _numbers(self, place: int, comparison: WorldComparison, i: int) -> dict[str, Any]:
        curve, compared, chosen = self.curves[place], comparison.compared[i], comparison.best == i
        estimate = curve.estimate
        low, high = interval_of(estimate, best_of=len(comparison.compared) if chosen else 1)
        return {
            "runs": curve.runs,
            "regret": float(estimate.mean[-1]),
            "stderr": float(estimate.error[-1]),
            "low": low,
            "high": high,
            "carried_by_few": bool(estimate.carried_by_few[-1]),
            **{
                f"quantile_{share:g}": float(curve.quantile(share)[-1])
                for share in (0.5, 0.95, 0.99)
            },
            "lost_share": _known(curve.mean("lost")[0]),
            "right_set_share": _known(curve.mean("right_set")[0]),
            "profit": _known(curve.mean("total_profit")[0]),
            "profit_stderr": _known(curve.error("total_profit")[0]),
            "dropped_at_stage": self.dropped[place] or None,
            "best": chosen,
            "more_than_best": compared.difference,
            "more_stderr": compared.error,
            "significant": compared.significant,
            "seed": self.study.seed,
            "version": VERSION,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each setting, as a dataframe.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the dataframe; by default one that is imported or installed.

        Returns
        -------
        dataframe
            Axes, policy, runs, regret with its interval, and the comparison.

        """
        return frame_of(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values, as `profitable study --json`."""
        return {
            "study": self.study.to_dict(),
            "version": VERSION,
            "worlds": len(self.study.worlds),
            "runs": self.runs,
            "best": [
                asdict(best) | {"indistinguishable": list(best.indistinguishable)}
                for best in self.best
            ],
            "settings": self.rows(),
        }

    def save(self, folder: Path | str) -> list[Path]:
        """Write the table, the page and its pictures; `load` reads it back.

        Parameters
        ----------
        folder : Path or str
            Folder to fill; it is made if it does not exist.

        Returns
        -------
        list of Path
            The files that were written.

        Raises
        ------
        NotSavedError
            If a file cannot be written.

        """
        from profitable.common.locks import occupied
        from profitable.studies.conduct import save_finished

        target, report = as_path("folder", folder), report_module()
        with occupied(target):
            return [*save_finished(self, target), *report.write_report(self, target)]

    @classmethod
    def load(cls, folder: Path | str) -> "StudyResult":
        """Read what `save` wrote, or what `study(..., out=)` has finished.

        Parameters
        ----------
        folder : Path or str
            Folder of a study.

        Returns
        -------
        StudyResult
            The result.

        Raises
        ------
        BrokenResultError
            If there is no finished study, or it was altered.

        """
        from profitable.studies.conduct import load

        return load(as_path("folder", folder))


NOTE = (
    f"In each world, the truly best setting is the best or indistinguishable from it with a "
    f"probability of at least {1.0 - SIGNIFICANCE:.0%} (Bonferroni).\n"
    "The best was chosen by the same runs, so its regret tends to be a little too low."
)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def report_module() -> Any:
    """Return the module of the page.

    MissingLibraryError, before any work, if a library that it needs is missing.
    """
    with extra("paper", "the page of a study needs it"):
        import_module("pyarrow")  # the table is kept with it
        from profitable.studies import study_report
    return study_report
