"""Result: what a simulation found.

It can be printed, drawn, saved to a folder and joined with others.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from profitable.common.extras import extra
from profitable.common.files import as_path
from profitable.common.text_tables import html_table, money_text, number_text, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError, ParameterError
from profitable.simulation.curve import DAGGER, QUESTION, Curve
from profitable.simulation.running_stats import Moments
from profitable.simulation.scenario import Scenario
from profitable.version import VERSION

if TYPE_CHECKING:
    from altair import VConcatChart

DAGGER_NOTE = (
    "† Rare large runs: the true mean lies from two errors below to three above in about 95 % of "
    "samples, or up to the limit that a note gives."
)
UNKNOWN_NOTE = (
    "? Theory does not cover this case: waits or losses too rare for these runs may be missing "
    "from a mean."
)
MARK_NOTES = {DAGGER: DAGGER_NOTE, QUESTION: UNKNOWN_NOTE}
ACCEPTED = "Accepted rounds by category, mean over runs ((+) profitable, (-) unprofitable)"
SIDE_MARKS = {True: "(+)", False: "(-)", None: "(±)"}
CHANGING = ACCEPTED.removesuffix(")") + ", (±) the one and the other)"


@dataclass
class Result:
    """Curves of several policies in one scenario, and how to reproduce them.

    Attributes
    ----------
    scenario : Scenario
        The scenario.
    horizon : int
        Number of rounds.
    runs : int
        Runs that were asked for; `finished` says how many are done.
    seed : int
        Seed of all random streams.
    checkpoints : array of shape [n]
        Rounds at which results are kept.
    curves : list of Curve
        One for each policy.
    pairs : Moments, optional
        Differences of regret between all P policies, [P P n], with common random
        numbers.
    version : str
        Version of the package that computed it.
    joined : bool
        Whether it was made by `join`.

    Examples
    --------
    >>> from profitable import Bernoulli, Category, Scenario, Truth, simulate
    >>> coin = Truth(Category("coin", Bernoulli(), threshold=0.6), mean=0.5)
    >>> scenario = Scenario("coin", [coin])
    >>> result = simulate(scenario, ["kl-ucb", "ts"], horizon=100, runs=50)
    >>> result.policies, result.finished
    (['kl-ucb', 'ts'], 50)

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
        raise InputError(
            "policy",
            str(policy),
            "is not in this result",
            f"choose from {', '.join(self.policies)}",
        )

    @property
    def lower_bound(self) -> FloatArray:
        """The lower bound of Theorem 1 at the checkpoints, [n]: a constant times log t.

        NaN where means change or outcomes are late: then there is no such bound.
        """
        constant = self.scenario.lower_bound_per_log_t()
        return (np.nan if constant is None else constant) * np.log(
            self.checkpoints.astype(np.float64)
        )

    def difference(self, policy: str, other: str) -> tuple[FloatArray, FloatArray]:
        """Return the mean difference of regret between two policies.

        Its error is that of paired differences on common random numbers, else that of
        independent runs.

        Parameters
        ----------
        policy : str
            Name of a policy of this result.
        other : str
            Name of the policy whose regret is subtracted.

        Returns
        -------
        tuple of arrays of shape [n]
            The difference and its standard error at the checkpoints.

        """
        first, second = self[policy], self[other]
        mean = first.regret - second.regret
        if self.pairs is None:
            return mean, np.hypot(first.stderr, second.stderr)
        by_pair = self.pairs.stderr().reshape(len(self.curves), len(self.curves), -1)
        return mean, by_pair[self.policies.index(str(policy)), self.policies.index(str(other))]

    def join(self, *others: "Result") -> "Result":
        """Return the curves of several results as one.

        Parameters
        ----------
        *others : Result
            Results of the same scenario, horizon and checkpoints, with other policies.

        Returns
        -------
        Result
            A result with all curves.

        """
        curves = list(self.curves)
        for other in others:
            if not isinstance(other, Result):
                raise ParameterError(
                    "result", other, "must be a Result", "give results of simulate"
                )
            same = other.scenario == self.scenario and other.horizon == self.horizon
            if not same or not np.array_equal(other.checkpoints, self.checkpoints):
                raise InputError(
                    "result",
                    other.scenario.name,
                    "does not fit the other",
                    "join results of the same scenario, horizon and checkpoints",
                )
            for curve in other.curves:
                if curve.policy in (mine.policy for mine in curves):
                    raise InputError(
                        "policy", curve.policy, "is in both results", "leave it out of one of them"
                    )
                curves.append(curve)
        most = max(result.runs for result in (self, *others))
        return replace(self, runs=most, curves=curves, pairs=None, joined=True)

    def table(self) -> str:
        """Return the final regrets and the accepted rounds as text.

        Returns
        -------
        str
            Two tables: regret and its parts by policy, accepted rounds by category.

        """
        notes = "".join(f"{note}\n" for note in self._marks())
        return (
            f"{self._title()}\n\n"
            f"Regret at t = {number_text(int(self.checkpoints[-1]))}, its parts from profitable "
            "and "
            "unprofitable categories, quantiles over runs,\n"
            "share of runs that accept exactly the profitable set in the last round, share that "
            "reject a profitable\n"
            "category in more than half of all rounds (lost), realised profit by then:\n"
            f"{text_table(*self._regrets())}\n{notes}\n"
            f"{self._accepted_title()}:\n"
            f"{text_table(*self._accepted())}"
        )

    def _marks(self) -> list[str]:
        """Return the meaning of the marks in the table."""
        used = {curve.mark for curve in self.curves}
        return [MARK_NOTES[mark] for mark in MARK_NOTES if mark in used]

    def _title(self) -> str:
        size = (
            f"horizon {number_text(self.horizon)}, {number_text(self.finished)} runs, seed "
            f"{self.seed}"
        )
        return f"{self.scenario.name}: {size}"

    def _regrets(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and rows of the table of regrets."""
        headers = [
            *("policy", "regret", "± error", "profitable", "unprofitable", "median", "95 %"),
            *("right set", "lost", "profit"),
        ]
        rows = [
            [
                curve.policy,
                short(curve.regret[-1]),
                short(curve.stderr[-1]) + curve.mark,
                short(curve.mean("profitable")[-1]),
                short(curve.mean("unprofitable")[-1]),
                short(curve.quantile(0.5)[-1]),
                short(curve.quantile(0.95)[-1]),
                _share(curve.mean("right_set")[0], 1),
                _share(curve.mean("lost")[0], 2),
                _profit(curve.mean("total_profit")[0], curve.error("total_profit")[0]),
            ]
            for curve in self.curves
        ]
        if self.scenario.fits_theorems:
            rows.append(["(lower bound)", short(self.lower_bound[-1]), *[""] * 8])
        ordered = self.scenario.ordered_lower_bound_per_log_t()
        if ordered is not None:
            bound = ordered * math.log(int(self.checkpoints[-1]))
            rows.append(["(lower bound with the order)", short(bound), *[""] * 8])
        return headers, rows

    def _accepted_title(self) -> str:
        return CHANGING if None in self.scenario.sides(self.horizon) else ACCEPTED

    def _accepted(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and rows of the table of accepted rounds."""
        rows = [
            [
                curve.policy,
                *(short(value) for value in curve.accepted_rounds[:, -1]),
            ]
            for curve in self.curves
        ]
        marks = (SIDE_MARKS[side] for side in self.scenario.sides(self.horizon))
        names = zip(self.scenario.names, marks, strict=True)
        return ["policy", *(f"{name} {mark}" for name, mark in names)], rows

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        regrets = f"{self._title()}. Regret at t = {number_text(int(self.checkpoints[-1]))}"
        notes = "".join(f"<p>{note}</p>" for note in self._marks())
        return (
            html_table(regrets, *self._regrets())
            + notes
            + html_table(self._accepted_title(), *self._accepted())
        )

    def __str__(self) -> str:
        return self.table()

    def notes(self) -> list[str]:
        """Return what to know before trusting the numbers.

        Returns
        -------
        list of str
            One sentence for each curve that needs it.

        """
        return [note for curve in self.curves if (note := curve.warning())]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values.

        Returns
        -------
        dict
            The object that `profitable simulate --json` prints.

        """
        ordered = self.scenario.ordered_lower_bound_per_log_t()
        return {
            "scenario": self.scenario.name,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "version": self.version,
            "lower_bound_per_log_t": self.scenario.lower_bound_per_log_t(),
            **({} if ordered is None else {"ordered_lower_bound_per_log_t": ordered}),
            "policies": [curve.to_dict() for curve in self.curves],
        }

    def plot(self, path: Path | str | None = None, *, categories: bool = False) -> "VConcatChart":
        """Draw regret over a logarithmic time axis, with bands and the lower bound.

        Parameters
        ----------
        path : Path or str, optional
            File to write the chart to: SVG, PNG, PDF or HTML, by its ending.
        categories : bool, default False
            Add a panel for each category: the rounds in which it is accepted, or
            rejected if it is profitable.

        Returns
        -------
        altair.VConcatChart
            A chart that shows itself in notebooks.

        Raises
        ------
        InputError
            If the ending is not known, or an extra is missing.
        NotSavedError
            If the file cannot be written.

        """
        with extra("plot", "charts are drawn with it"):
            from profitable.common.charts import saved
            from profitable.simulation.regret_charts import result_chart
        return saved(result_chart(self, categories=categories), path)

    def save(self, folder: Path | str) -> list[Path]:
        """Write the result into a folder.

        Parameters
        ----------
        folder : path
            A folder, which is created.

        Returns
        -------
        list of Path
            `statistics.parquet` (the numbers), `result.json` (the manifest) and
            `timing.json`.

        """
        from profitable.common.locks import occupied
        from profitable.simulation.result_folder import save

        target = as_path("folder", folder)
        with occupied(target):
            return save(self, target)

    @classmethod
    def load(cls, folder: Path | str) -> "Result":
        """Read a result that `save` wrote.

        Parameters
        ----------
        folder : path
            The folder.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        BrokenResultError
            If there is none, or if it was altered.

        """
        from profitable.simulation.result_folder import load

        return load(as_path("folder", folder))


def _profit(mean: float, error: float) -> str:
    spread = "" if np.isnan(error) else f" ± {money_text(error)}"
    return "-" if np.isnan(mean) else money_text(mean) + spread


def short(value: float) -> str:
    """Return a number with four digits."""
    return "-" if np.isnan(value) else number_text(float(f"{value:.4g}"))


def _share(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}%}"
