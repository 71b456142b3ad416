"""The result of a backtest: a table, sentences, plain values, and a report."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from profitable.agent.cutoff_table import CutoffTable
from profitable.agent.loan_curves import loan_curves
from profitable.common.amounts import in_short
from profitable.common.extras import extra, frame_of
from profitable.common.files import as_path
from profitable.errors import NotSavedError, UnknownCategoryError
from profitable.past.past import Past, SingleClients
from profitable.past.past_loans import book_of
from profitable.replay import backtest_summary, backtest_tables, backtest_text
from profitable.replay.backtest_advice import Advice
from profitable.replay.backtest_entry import POLICY, BacktestEntry
from profitable.replay.backtest_export import save_workbook
from profitable.replay.backtest_options import RunOptions, grouping_name
from profitable.replay.backtest_values import values_of
from profitable.replay.cutoffs import cutoffs_of
from profitable.replay.family_choice import FamilyChoice
from profitable.replay.groupings import (
    GroupingRow,
    grouping_rows,
)
from profitable.replay.learnable import learnable
from profitable.replay.notebook_view import html_of
from profitable.replay.swap_set import SwapSet, swap_set
from profitable.replay.verdict import BacktestVerdict

HARDLY_PAYS = 0.2  # P(pays) of a category that a stop list nearly names


class Backtest:
    """Profit of policies and baselines on past clients.

    `profitable.backtest` makes it.  `print(backtest)` shows it, `backtest["ts"]` is one
    entry, and `backtest.save(folder)` writes the report.

    Attributes
    ----------
    past : Past
        The clients, and what was left out.
    terms : FamilyChoice
        The family of rewards with the reason, and the categories.
    options : RunOptions
        What was replayed.
    entries : list of BacktestEntry
        Policies first, then baselines.
    said : list of str
        Warnings of the replays.
    command : str or None
        The command that the report repeats.
    advice : Advice or None
        Whom to stop today, and what the same rule would have earned since earlier.
    others : tuple of Backtest
        Backtests of the other groupings.
    variants : int or None
        Number of policies tried over all groupings.

    Examples
    --------
    >>> import profitable as pb
    >>> calls = {
    ...     "week": [1, 1, 2, 3] * 50,
    ...     "job": ["cook", "clerk"] * 100,
    ...     "bought": [1, 0, 1, 0] * 50,
    ... }
    >>> columns = dict(category="job", time="week", reward="bought")
    >>> found = pb.backtest(calls, **columns, cost=0.5, policies="kl-ucb")
    >>> found["accept all"].profit
    0.0
    """

    def __init__(
        self,
        past: Past,
        terms: FamilyChoice,
        options: RunOptions,
        entries: Sequence[BacktestEntry],
        said: Sequence[str],
        command: str | None = None,
        advice: Advice | None = None,
        others: Sequence["Backtest"] = (),
        variants: int | None = None,
    ) -> None:
        self.past, self.terms, self.options, self.entries = past, terms, options, list(entries)
        self.said, self.command, self.advice = list(said), command, advice
        self.others, self.variants = tuple(others), variants

    def advised(self, advice: Advice, others: Sequence["Backtest"]) -> "Backtest":
        """Return the same with advice, beside other groupings of its clients.

        Parameters
        ----------
        advice : Advice
            What past outcomes alone say.
        others : sequence of Backtest
            Backtests of the other groupings.

        Returns
        -------
        Backtest
            In it and in `others`, significance is corrected for all variants.
        """
        variants = sum(len(each.ruling.judged) for each in (self, *others))
        corrected = [each._corrected(variants) for each in others]
        return self._corrected(variants, advice, corrected)

    def _corrected(
        self, variants: int, advice: Advice | None = None, others: Sequence["Backtest"] = ()
    ) -> "Backtest":
        """Return the same, judged as one of so many variants."""
        return Backtest(
            self.past,
            self.terms,
            self.options,
            self.entries,
            self.said,
            self.command,
            advice,
            others,
            variants,
        )

    def __getitem__(self, name: str) -> BacktestEntry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise UnknownCategoryError(
            "policy",
            name,
            "is not in this backtest",
            f"choose from {', '.join(entry.name for entry in self.entries)}",
        )

    def __iter__(self) -> Iterator[BacktestEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def policies(self) -> list[BacktestEntry]:
        """Entries that are policies, without the baselines."""
        return [entry for entry in self.entries if entry.kind == POLICY]

    # --------------------------------------------------------------------------- saying

    @property
    def unit(self) -> str:
        """Currency of the amounts; empty if none was given."""
        return self.options.currency or ""

    @cached_property
    def ruling(self) -> BacktestVerdict:
        """What the entries show, by one rule for marks and sentences."""
        return BacktestVerdict(
            self.entries,
            self.unit,
            backtest_summary.is_assumed_immediate(self.past),
            learnable(self.past),
            self.variants,
            bool(self.past.layout.times),
            grouping_name(self.past.layout.categories) if self.others else "",
        )

    @cached_property
    def groupings(self) -> list[GroupingRow]:
        """All groupings that were tried, side by side; empty if there is only one."""
        if not self.others or self.advice is None:
            return []
        return grouping_rows([self, *self.others], self.advice)

    @property
    def first_line(self) -> str:
        """Whether the backtest shows anything, or else when outcomes were known."""
        return self.ruling.first_line or self.when_known

    @property
    def when_known(self) -> str:
        """When outcomes were known, which matters before any number."""
        return backtest_summary.first_line(self.past)

    def warnings(self) -> list[str]:
        """Return reasons to doubt the numbers.

        Returns
        -------
        list of str
            One sentence each.
        """
        left = [each.warning for each in self.past.left_out if each.warning is not None]
        log = [
            f"{entry.name}: {text}"
            for entry in self.policies
            if entry.off_policy is not None
            for text in entry.off_policy.warnings
        ]
        levels: list[str] = []
        if self.loans is not None and (self.loans["level_seen"] or 0.0) > self.loans["level"]:
            seen = self.loans["level_seen"]
            levels.append(
                f"the level of defaults differs between vintages by {seen:.2f} (standard deviation "
                f"of its logarithm), more than level = {self.loans['level']:g} allows for: "
                "evidence may be overstated"
            )
        said = [*self.past.warnings, *left, *self.terms.warnings(), *levels, *self.said]
        return [*said, *log, *self.ruling.doubts()]

    def verdict(self) -> str:
        """Say whether any policy beats accepting everybody.

        Where accepting everybody loses, it must beat accepting nobody, too.

        Returns
        -------
        str
            A few sentences.
        """
        return " ".join([self.ruling.text(), *self._by_others(), *self._why_none_is_stopped()])

    def _why_none_is_stopped(self) -> list[str]:
        """Say why nothing is on the stop list, though there was something to find."""
        rows = () if self.advice is None else self.advice.stop_list.rows
        if not self.ruling.judged:
            return []
        if any(row.stop for row in rows) or not (self.ruling.beating or self.ruling.found()):
            return []
        own = grouping_name(self.past.layout.categories)
        lost = [row for row in rows if row.grouping == own and row.profit < 0.0]
        return [
            f"The stop list is empty all the same, because it asks whether losses hold over most "
            f"periods of the past, or of its later half: {row.category} lost "
            f"{in_short(-row.profit, self.unit)}, with P(pays) = {row.pays:.2g}."
            for row in lost[:1]
            if row.pays is not None and row.pays < HARDLY_PAYS
        ]

    def _by_others(self) -> list[str]:
        """Say which policies beat the baselines by other groupings."""
        best = [each for each in self.others if each.ruling.beating]
        best.sort(key=lambda each: -each.ruling.beating[0].profit)
        return [
            f"By {grouping_name(each.past.layout.categories)}: {each.ruling.text()}"
            for each in best[:1]
        ]

    def standing(self, entry: BacktestEntry) -> str:
        """Compare an entry with accepting everybody.

        Parameters
        ----------
        entry : BacktestEntry
            A policy or a baseline of this backtest.

        Returns
        -------
        str
            "better" or "worse" if that is significant after Bonferroni correction for
            the policies tried, else "indistinguishable".
        """
        return self.ruling.standing(entry)

    def luck(self) -> str:
        """Say what it means that several variants were tried.

        Returns
        -------
        str
            The lead of the best one, and the lead required after Bonferroni correction.
        """
        return self.ruling.luck()

    def assumptions(self) -> list[str]:
        """Return the assumptions in plain words.

        Returns
        -------
        list of str
            One sentence each.
        """
        return backtest_summary.assumptions(self.past, self.terms, self.options)

    def table(self) -> str:
        """Return a table with a row for each policy and baseline.

        Returns
        -------
        str
            Profit, difference to accepting all with its 95 % interval, and clients.
        """
        return backtest_text.table_of(self)

    @cached_property
    def cutoff(self) -> CutoffTable | None:
        """The cut-off table of all clients of the file, if categories are bands."""
        return cutoffs_of(self.past, self.terms)

    def off_policy_table(self) -> str:
        """Return the off-policy estimates of each policy.

        Returns
        -------
        str
            A table; empty if the past was not a log with propensities.
        """
        return backtest_text.off_policy_table_of(self)

    def __str__(self) -> str:
        return backtest_text.text_of(self)

    @cached_property
    def swap_sets(self) -> list[SwapSet]:
        """What policies and earlier stop lists would have changed, by category."""
        limited, clients = self.options.limits is not None, self.past.clients
        judged = [each for each in self.policies if each.refusal is None]
        found = [swap_set(each, clients, is_limited=limited) for each in judged]
        for each in () if self.advice is None or limited else self.advice.time_splits[:1]:
            if each.dates_listed:
                lists = each.accepted(clients).astype(np.float64)
                found.append(SwapSet.of("stop lists made earlier", clients, lists))
        return [each for each in found if each is not None]

    # -------------------------------------------------------------------------- keeping

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values.

        Returns
        -------
        dict
            What `profitable backtest --json` prints, and the report is made from.
        """
        return values_of(self)

    @cached_property
    def loans(self) -> dict[str, Any] | None:
        """Hazards and levels of all loans of the file, if loans are judged by them."""
        clients, lending = self.past.clients, self.terms.lending
        if lending is None:
            return None
        assert isinstance(clients, SingleClients)
        book = book_of(clients, lending)
        reading = book.read(np.ones(len(clients.names)))
        return loan_curves(book, reading, rounds=max(round(lending.per_year / 4.0), 1))

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Returns
        -------
        str
            One object; infinite and unknown numbers are null.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    # ------------------------------------------------------- tables, pictures, notebook

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        """`to_dict`, made once for tables, pictures and the notebook."""
        return self.to_dict()

    def tables(self) -> dict[str, dict[str, list[Any]]]:
        """Return every table that has rows: the columns of each.

        Returns
        -------
        dict
            "sentences", "entries", "stop_list", "time_split", "categories", and so on.

        Examples
        --------
        >>> import profitable as pb
        >>> calls = {"week": [1, 2, 3, 4], "job": ["cook"] * 4, "bought": [1, 0, 1, 0]}
        >>> columns = dict(category="job", time="week", reward="bought")
        >>> found = pb.backtest(calls, **columns, cost=0.25, policies="kl-ucb")
        >>> found.tables()["categories"]["profit"]
        [1.0]
        """
        return backtest_tables.tables_of(self._numbers)

    def to_frame(self, table: str = "entries", backend: str | None = None) -> Any:
        """Return a table as a dataframe.

        Parameters
        ----------
        table : str, default "entries"
            Its name, as in `tables`.
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default one that is imported already.

        Returns
        -------
        dataframe
            The columns of the table.

        Raises
        ------
        ParameterError
            If there is no such table; the error names all that there are.
        """
        return frame_of(backtest_tables.table_of(self._numbers, table), backend)

    def to_excel(self, path: str | os.PathLike[str]) -> Path:
        """Write all tables into one workbook, a sheet each.

        Parameters
        ----------
        path : str or path
            A file with the ending .xlsx.

        Returns
        -------
        Path
            The workbook.

        Raises
        ------
        MissingLibraryError
            If openpyxl is not installed.
        """
        return save_workbook(self.tables(), path)

    def plot(self, name: str, path: str | os.PathLike[str] | None = None) -> Any:
        """Return a picture of the page as a chart of Altair.

        Parameters
        ----------
        name : str
            "difference", "over-time", "stop-list", "time-split", and so on.
        path : str or path, optional
            Where to save it, too: .svg, .png, .pdf or .html.

        Returns
        -------
        altair.Chart
            The chart, which notebooks show.

        Raises
        ------
        ParameterError
            If there is no such picture; the error names all that there are.
        """
        with extra("plot", "charts need it"):
            from profitable.replay.backtest_figures import plotted
        return plotted(self._numbers, name, path)

    def _repr_html_(self) -> str:
        return html_of(self._numbers)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the report, its pictures, its tables as CSV and its numbers.

        Parameters
        ----------
        folder : str or path
            Folder to write to; it is made if it does not exist.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        InputError
            If the packages that make pages are not installed.
        NotSavedError
            If the folder cannot be written; it carries this result.
        """
        write, path = report_writer(), as_path("folder", folder)
        try:
            return write(self.to_dict(), path)[0]
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            failed = NotSavedError(
                "folder", str(path), problem, "choose another folder, or make room"
            )
            failed.result = self
            raise failed from None


def report_writer() -> Callable[[dict[str, Any], Path], list[Path]]:
    """Return the writer of reports; InputError if what it needs is not installed."""
    with extra("backtest", "the report needs it"):
        from profitable.replay.backtest_report import write_report
    return write_report
