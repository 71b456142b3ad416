"""The result of a backtest: a table, sentences, plain values, and a report."""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from profitable.agent.cutoff_table import CutoffTable
from profitable.agent.loan_curves import loan_curves
from profitable.common.amounts import in_short
from profitable.common.extras import extra
from profitable.common.files import as_path
from profitable.common.text_tables import money_text, number_text, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.errors import NotSavedError, UnknownCategoryError
from profitable.past.past import Past, SingleClients
from profitable.past.past_loans import book_of
from profitable.replay import backtest_summary
from profitable.replay.backtest_entry import BETTER, POLICY, BacktestEntry
from profitable.replay.backtest_options import RunOptions
from profitable.replay.baselines import ACCEPT_NONE, ALL
from profitable.replay.cutoffs import cutoffs_of, cutoffs_over_time
from profitable.replay.family_choice import FamilyChoice
from profitable.replay.order_doubt import order_doubt
from profitable.version import VERSION

TABLE_HEADERS = ("", "profit", "against accept all", "95 %", "clients", "time shuffled")

ESTIMATE_HEADERS = (
    "",
    "inverse propensity",
    "self-normalised",
    "doubly robust",
    "clients",
    "effective",
)
ALL_OUTCOMES = "Cut-offs, if all outcomes of the file had been known:"
ESTIMATED = (
    "Profits are estimates (doubly robust, if refused clients are in the log) from those whom "
    "the past accepted:"
)
MOST_NUMBERS, FEWEST_TRACED = 120_000, 5  # of a table by round and category; and its columns


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
    ) -> None:
        self.past, self.terms, self.options, self.entries = past, terms, options, list(entries)
        self.said, self.command = list(said), command

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
    def first_line(self) -> str:
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
        doubts = [entry.doubt for entry in self.policies if entry.doubt is not None]
        orders = [order_doubt(entry, dated=bool(self.past.layout.times)) for entry in self.policies]
        doubts += [text for text in orders if text is not None]
        levels: list[str] = []
        if self.loans is not None and (self.loans["level_seen"] or 0.0) > self.loans["level"]:
            seen = self.loans["level_seen"]
            levels.append(
                f"the level of defaults differs between vintages by {seen:.2f} (standard deviation "
                f"of its logarithm), more than level = {self.loans['level']:g} allows for: "
                "evidence may be overstated"
            )
        said = [*self.past.warnings, *left, *self.terms.warnings(), *levels, *self.said]
        return [*said, *log, *doubts]

    def verdict(self) -> str:
        """Say whether any policy beats accepting everybody.

        Where accepting everybody loses, the best policy is compared with accepting
        nobody, too.

        Returns
        -------
        str
            One or two sentences.
        """
        return " ".join(filter(None, [self._against_everybody(), self._against_nobody()]))

    def _against_nobody(self) -> str:
        nobody, everybody = self[ACCEPT_NONE], self[ALL]
        judged = self._judged
        if everybody.profit >= 0.0 or not judged:
            return ""
        best = max(judged, key=lambda entry: entry.profit)
        span = ""
        if best.resampled.size:
            low, high = best.against(nobody)
            span = f" (95 %: {in_short(low)} to {in_short(high)})"
        return (
            f"Accepting everybody loses {in_short(-everybody.profit)}, so that accepting nobody is "
            f"the better baseline: {best.name} earned {in_short(best.profit)}{span} against its 0."
        )

    @property
    def _judged(self) -> list[BacktestEntry]:
        """The policies that have a number."""
        return [entry for entry in self.policies if entry.refusal is None]

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
        return entry.standing(max(len(self._judged), 1))

    def _against_everybody(self) -> str:
        judged = self._judged
        if not judged:
            return "No policy can be judged on this log."
        better = [entry.name for entry in judged if self.standing(entry) == BETTER]
        if better:
            verb = "beats" if len(better) == 1 else "beat"
            return f"{', '.join(better)} {verb} accepting everybody here."
        best = max(judged, key=lambda entry: entry.difference.middle)
        if best.difference.middle <= 0.0:
            return "No policy beats accepting everybody here."
        if math.isnan(best.difference.low):
            return (
                f"{best.name} earned the most; without bootstrap replays nobody knows whether that "
                "is chance."
            )
        return (
            "No policy is significantly better than accepting everybody here: the lead of "
            f"{best.name} may be chance."
        )

    def luck(self) -> str:
        """Say what it means that several variants were tried.

        Returns
        -------
        str
            The lead of the best one, and the lead required after Bonferroni correction.
        """
        tried = self._judged
        if len(tried) < 2:
            return (
                "One variant was tried. If others were tried before on the same clients, they "
                "count, too."
            )
        best = max(tried, key=lambda entry: entry.difference.middle)
        text = f"{len(tried)} variants were tried, and the best of several looks better than it is."
        ahead, required = best.difference.middle, best.required(len(tried))
        if not math.isfinite(required) or ahead <= 0.0:
            return f"{text} Variants tried in other runs count, too."
        enough = "more" if self.standing(best) == BETTER else "not more"
        return (
            f"{text} {best.name} is ahead by {in_short(ahead)}, {enough} than the "
            f"{in_short(required)} required after Bonferroni correction. Variants tried in other "
            "runs count, too."
        )

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
        rows: list[tuple[str, ...]] = []
        for entry in self.entries:
            found = entry.difference
            if entry.refusal is not None:
                rows.append((entry.name, "refused", "", "", number_text(entry.clients), ""))
                continue
            span = (
                ""
                if math.isnan(found.low)
                else f"{money_text(found.low)} to {money_text(found.high)}"
            )
            mixed = entry.shuffled
            rows.append(
                (
                    entry.name,
                    money_text(entry.profit),
                    "" if entry.name == ALL else money_text(found.middle),
                    "" if entry.name == ALL else span,
                    "" if math.isnan(entry.clients) else number_text(round(entry.clients)),
                    ""
                    if mixed is None
                    else f"{money_text(mixed.difference)} ± {money_text(mixed.error)}",
                )
            )
        return text_table(TABLE_HEADERS, rows)

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
        rows: list[tuple[str, ...]] = []
        for entry in self.policies:
            found = entry.off_policy
            if found is None:
                return ""
            values = (found.inverse_propensity, found.self_normalised, found.doubly_robust)
            rows.append(
                (
                    entry.name,
                    *("-" if value is None else money_text(value) for value in values),
                    number_text(round(found.clients)),
                    number_text(round(found.effective_size)),
                )
            )
        return text_table(ESTIMATE_HEADERS, rows)

    def __str__(self) -> str:
        estimates = self.off_policy_table()
        return "\n".join(
            [
                self.first_line,
                *backtest_summary.headline(self.past, self.terms),
                *backtest_summary.added_up(self.past),
                "",
                self.table(),
                "",
                *([ESTIMATED, "", estimates, ""] if estimates else []),
                *(entry.sentence() for entry in self.policies),
                "",
                *([] if self.cutoff is None else [ALL_OUTCOMES, "", str(self.cutoff), ""]),
                self.verdict(),
                self.luck(),
                *(f"note: {text}" for text in self.past.notes),
                *(f"warning: {text}" for text in self.warnings()),
            ]
        )

    # -------------------------------------------------------------------------- keeping

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values.

        Returns
        -------
        dict
            What `profitable backtest --json` prints, and the report is made from.
        """
        clients = self.past.clients
        return plain(
            {
                "version": VERSION,
                "command": self.command,
                "seed": self.options.seed,
                "settings": {
                    "data": self.past.source,
                    **self.past.layout.to_dict(),
                    **self.options.to_dict(),
                },
                "first_line": self.first_line,
                "clients": len(clients),
                "rounds": list(clients.labels),
                "round": self.past.round,
                "categories": backtest_summary.categories(self.past, self.terms),
                "family": {
                    "name": str(self.terms.family),
                    "reason": self.terms.reason,
                    "alternative": None
                    if self.terms.alternative is None
                    else self.terms.alternative.to_dict(),
                    "fit": [
                        {
                            "category": each.category,
                            "observed_variance": each.observed,
                            "family_variance": each.family,
                            "warning": each.warning,
                        }
                        for each in self.terms.fit
                    ],
                },
                "lending": self.terms.lending,
                "loans": self.loans,
                "intervals": backtest_summary.intervals(self.past),
                "left_out": self.past.left_out,
                "notes": self.past.notes,
                "warnings": self.warnings(),
                "assumptions": self.assumptions(),
                "known": backtest_summary.known_over_time(clients),
                "cutoff": None
                if self.cutoff is None
                else {
                    **self.cutoff.to_dict(),
                    "over_time": cutoffs_over_time(self.past, self.policies),
                },
                "traced": [clients.names[k] for k in self._traced().tolist()],
                "entries": [self._entry(entry) for entry in self.entries],
                "tried": len(self.policies),
                "luck": self.luck(),
                "verdict": self.verdict(),
            }
        )

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

    def _traced(self) -> IntArray:
        """Return the categories whose tables by round are kept, to keep files small."""
        clients = self.past.clients
        most = max(
            FEWEST_TRACED, min(backtest_summary.MOST_PICTURED, MOST_NUMBERS // clients.rounds)
        )
        return np.sort(np.argsort(-clients.counts.sum(axis=0), kind="stable")[:most])

    def _entry(self, entry: BacktestEntry) -> dict[str, Any]:
        traced = self._traced()
        found, (middle, low, high) = entry.difference, entry.over_time()
        refused = entry.refusal is not None
        return {
            "name": entry.name,
            "kind": entry.kind,
            "profit": None if refused else entry.profit,
            "clients": entry.clients,
            "difference": None if refused else found.middle,
            "low": None if refused else found.low,
            "high": None if refused else found.high,
            "standing": self.standing(entry),
            "seeds": entry.seeds,
            "seed_error": entry.seed_error,
            "shuffled": entry.shuffled,
            "sentence": entry.sentence(),
            "over_time": {"difference": middle, "low": low, "high": high},
            "accepted": None if entry.accepted is None else np.round(entry.accepted[:, traced], 4),
            "evidence": None if entry.evidence is None else rounded(entry.evidence[:, traced]),
            "patience": None if entry.patience is None else rounded(entry.patience[:, traced]),
            "decided": None if entry.decided is None else entry.decided[:, traced],
            "defaults": None if entry.defaults is None else entry.defaults[:, traced],
            "affordable": None
            if entry.affordable is None
            else rounded(entry.affordable[:, traced]),
            "by_vintage": backtest_summary.by_vintage(self.past.clients.labels, entry),
            "by_category": backtest_summary.by_category(self.past.clients.names, entry),
            "off_policy": entry.off_policy,
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Returns
        -------
        str
            One object; infinite and unknown numbers are null.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the report, its pictures and its numbers into a folder.

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


def rounded(values: FloatArray) -> FloatArray:
    """Round a table to six digits, which is enough to draw it.

    >>> rounded(np.array([[1.23456789, 0.0, np.inf]])).tolist()
    [[1.23457, 0.0, inf]]
    """
    return np.array([[float(f"{value:.6g}") for value in row] for row in values.tolist()]).reshape(
        values.shape
    )


def plain(value: Any) -> Any:
    """Reduce a value to dicts, lists, texts and finite numbers; null for others.

    >>> plain({"a": np.array([1.0, np.nan]), "b": (np.int64(2), np.float64(0.5), True)})
    {'a': [1.0, None], 'b': [2, 0.5, True]}
    """
    if isinstance(value, np.generic):  # also float64, which is a float
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}  # type: ignore[misc]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]  # type: ignore[misc]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())  # type: ignore[arg-type]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return value
