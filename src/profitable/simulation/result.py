"""Result: what a simulation found.  It can be printed, drawn, saved to a folder and joined with others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from profitable.common.files import as_path
from profitable.common.text_tables import html_table, money, number, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError, ParameterError
from profitable.simulation.curve import DAGGER, QUESTION, Curve
from profitable.simulation.running_stats import Moments
from profitable.simulation.scenario import Scenario, Truth
from profitable.version import VERSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DAGGER_NOTE = (
    "† Rare large runs: the true mean lies from two errors below to three above in about 95 % of samples, or up to the "
    "limit that a note gives."
)
UNKNOWN_NOTE = "? Theory does not cover this case: waits or losses too rare for these runs may be missing from a mean."
MARK_NOTES = {DAGGER: DAGGER_NOTE, QUESTION: UNKNOWN_NOTE}
ACCEPTED = "Accepted rounds by category, mean over runs ((+) profitable, (-) unprofitable)"
CHANGING = "Accepted rounds by category, mean over runs ((+) profitable, (-) unprofitable, (±) the one and the other)"


@dataclass
class Result:
    """Curves of several policies in one scenario, with everything needed to make them again.

    `runs` is how many were asked for, `finished` how many are done: fewer after an interruption.  `pairs` holds the
    differences of regret between policies run on common random numbers, [P P n].
    """

    scenario: Scenario
    horizon: int
    runs: int
    seed: int
    checkpoints: IntArray
    curves: list[Curve]
    pairs: Moments | None = None
    version: str = VERSION
    joined: bool = False

    @property
    def finished(self) -> int:
        """Runs done for every policy."""
        return min(curve.runs for curve in self.curves)

    @property
    def policies(self) -> list[str]:
        """The names of the policies, as given."""
        return [curve.policy for curve in self.curves]

    def __getitem__(self, policy: str) -> Curve:
        for curve in self.curves:
            if curve.policy == str(policy):
                return curve
        raise InputError("policy", str(policy), "is not in this result", f"choose from {', '.join(self.policies)}")

    @property
    def lower_bound(self) -> FloatArray:
        """Theorem 1's constant times log t at the checkpoints, [n]: regret cannot stay below it for ever.

        NaN if means change: then there is no such bound.
        """
        constant = self.scenario.lower_bound_per_log_t()
        return (np.nan if constant is None else constant) * np.log(self.checkpoints.astype(np.float64))

    def difference(self, policy: str, other: str) -> tuple[FloatArray, FloatArray]:
        """Mean regret of one policy minus another's at the checkpoints, and its standard error, [n] each.

        The error is that of paired differences on common random numbers, else that of independent runs.
        """
        first, second = self[policy], self[other]
        mean = first.regret - second.regret
        if self.pairs is None:
            return mean, np.hypot(first.stderr, second.stderr)
        n = self.checkpoints.size
        place = (self.policies.index(str(policy)) * len(self.curves) + self.policies.index(str(other))) * n
        return mean, self.pairs.stderr()[place : place + n]

    def join(self, *others: "Result") -> "Result":
        """Put results of the same scenario, horizon and checkpoints side by side."""
        curves = list(self.curves)
        for other in others:
            if not isinstance(other, Result):
                raise ParameterError("result", other, "is not a result", "give results of simulate")
            same = other.scenario == self.scenario and other.horizon == self.horizon
            if not same or not np.array_equal(other.checkpoints, self.checkpoints):
                remedy = "join results of the same scenario, horizon and checkpoints"
                raise InputError("result", other.scenario.name, "does not fit the other", remedy)
            for curve in other.curves:
                if any(curve.policy == mine.policy for mine in curves):
                    remedy = "leave it out of one of them"
                    raise InputError("policy", curve.policy, "is in both results", remedy)
                curves.append(curve)
        runs = max(self.runs, *(other.runs for other in others)) if others else self.runs
        settings = (self.scenario, self.horizon, runs, self.seed, self.checkpoints)
        return Result(*settings, curves, None, self.version, joined=True)

    def table(self) -> str:
        """Final regret and its parts, policy by policy, and accepted rounds by category."""
        notes = "".join(f"{note}\n" for note in self._marks())
        return (
            f"{self._title()}\n\n"
            f"Regret at t = {number(int(self.checkpoints[-1]))}, its parts from profitable and unprofitable "
            f"categories, quantiles over runs,\n"
            f"share of runs that accept exactly the profitable set in the last round, share that reject a profitable\n"
            f"category in more than half of all rounds (lost), realised profit by then:\n"
            f"{text_table(*self._regrets())}\n{notes}\n"
            f"{self._accepted_title()}:\n"
            f"{text_table(*self._accepted())}"
        )

    def _marks(self) -> list[str]:
        """What the marks in the table mean."""
        used = {curve.mark for curve in self.curves}
        return [note for mark, note in MARK_NOTES.items() if mark in used]

    def _title(self) -> str:
        return f"{self.scenario.name}: horizon {number(self.horizon)}, {number(self.finished)} runs, seed {self.seed}"

    def _regrets(self) -> tuple[list[str], list[list[str]]]:
        """Headers and rows of the table of regrets."""
        headers = ["policy", "regret", "± error", "profitable", "unprofitable", "median", "95 %"]
        headers += ["right set", "lost", "profit"]
        rows: list[list[str]] = []
        for curve in self.curves:
            profit, spread = float(curve.mean("total_profit")[0]), float(curve.error("total_profit")[0])
            rows.append(
                [
                    curve.policy,
                    _short(float(curve.regret[-1])),
                    _short(float(curve.stderr[-1])) + curve.mark,
                    _short(float(curve.mean("profitable")[-1])),
                    _short(float(curve.mean("unprofitable")[-1])),
                    _short(float(curve.quantile(0.5)[-1])),
                    _short(float(curve.quantile(0.95)[-1])),
                    _share(float(curve.mean("right_set")[0]), 1),
                    _share(float(curve.mean("lost")[0]), 2),
                    "-" if np.isnan(profit) else money(profit) + ("" if np.isnan(spread) else f" ± {money(spread)}"),
                ]
            )
        if not self.scenario.moves:
            rows.append(["(lower bound)", _short(float(self.lower_bound[-1])), *[""] * 8])
        return headers, rows

    def _accepted_title(self) -> str:
        return CHANGING if any(each.changes_sides(self.horizon) for each in self.scenario.truths) else ACCEPTED

    def _accepted(self) -> tuple[list[str], list[list[str]]]:
        """Headers and rows of the table of accepted rounds."""
        rows = [
            [curve.policy, *(number(float(f"{value:.4g}")) for value in curve.accepted_rounds[:, -1])]
            for curve in self.curves
        ]
        marks = [f"{each.category.name} {self._mark(each)}" for each in self.scenario.truths]
        return ["policy", *marks], rows

    def _mark(self, truth: Truth) -> str:
        if truth.changes_sides(self.horizon):
            return "(±)"
        return "(+)" if truth.phases(self.horizon)[-1].truth.profitable else "(-)"

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        regrets = f"{self._title()}. Regret at t = {number(int(self.checkpoints[-1]))}"
        notes = "".join(f"<p>{note}</p>" for note in self._marks())
        return html_table(regrets, *self._regrets()) + notes + html_table(self._accepted_title(), *self._accepted())

    def __str__(self) -> str:
        return self.table()

    def notes(self) -> list[str]:
        """What to know before trusting the numbers."""
        return [note for curve in self.curves if (note := curve.warning())]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready values; `profitable simulate --json` prints them."""
        return {
            "scenario": self.scenario.name,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "version": self.version,
            "lower_bound_per_log_t": self.scenario.lower_bound_per_log_t(),
            "policies": [curve.to_dict() for curve in self.curves],
        }

    def plot(self, path: Path | str | None = None, *, categories: bool = False) -> "Figure":
        """Regret curves over a logarithmic time axis with error bands and the lower bound; written to `path` if given.

        With `categories`, one panel per category: its accepted (if unprofitable) or rejected rounds.
        """
        from profitable.common.figures import save_figure
        from profitable.simulation.plots import draw_result

        file = None if path is None else as_path("path", path)
        figure = draw_result(self, categories=categories)
        if file is not None:
            save_figure(figure, file)
        return figure

    def save(self, folder: Path | str) -> list[Path]:
        """Write `result.json` (the manifest), `statistics.parquet` (the numbers) and `timing.json` into a folder."""
        from profitable.common.folder_lock import occupied
        from profitable.simulation.result_folder import save

        target = as_path("folder", folder)
        with occupied(target):
            return save(self, target)

    @classmethod
    def load(cls, folder: Path | str) -> "Result":
        """Read what `save` wrote; BrokenResultError if it was altered."""
        from profitable.simulation.result_folder import load

        return load(as_path("folder", folder))


def _short(value: float) -> str:
    return "-" if np.isnan(value) else number(float(f"{value:.4g}"))


def _share(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}%}"


def paired(rows: Sequence[FloatArray]) -> Moments:
    """Moments of all differences between the policies' regrets [runs, n] on the same random numbers."""
    return Moments.of(np.concatenate([first - second for first in rows for second in rows], axis=1))
