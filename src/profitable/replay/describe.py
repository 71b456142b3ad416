"""Describe a past as it was understood, before any policy is replayed.

>>> from profitable.past.layout import Layout
>>> table = {"month": [1, 2, 3] * 2, "job": ["a", "b"] * 3, "y": [0, 1, 1, 1, 0, 1]}
>>> print(describe(table, Layout(category="job", time="month", reward="y", cost=0.5)))
Outcomes assumed immediate: ...
the table: 6 rows; a round is one number.
...
"""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from profitable.common.extras import frame_of
from profitable.common.text_tables import ROWS_SHOWN, money_text, number_text, text_table
from profitable.model.category_table import known_fields
from profitable.model.families import Family
from profitable.past.control_group import warn_of_refused_outcomes
from profitable.past.first_look import FirstLook, first_look, is_complete
from profitable.past.layout import FIELDS, Layout
from profitable.past.leaks import ADVICE, NO_PROOF, Leak, check_categories, find_leaks
from profitable.past.past import Past
from profitable.past.read import read
from profitable.past.row_order import warn_of_sorted_rows
from profitable.past.source import OnShare, Source, open_source
from profitable.replay import backtest_summary
from profitable.replay.backtest_values import plain
from profitable.replay.family_choice import FamilyChoice, choose_family

ROUNDS_SHOWN = 8  # rounds at which the text says how much was known


@dataclass(frozen=True)
class Description:
    """A past as it was understood, and columns that look like leaks."""

    past: Past
    terms: FamilyChoice
    leaks: list[Leak]
    can_read_again: bool  # else leaks were looked for among the categories only

    @property
    def warnings(self) -> list[str]:
        """Warnings about results that are doubtful."""
        left = [each.warning for each in self.past.left_out if each.warning is not None]
        return [*self.past.warnings, *left, *check_categories(self.past), *self.terms.warnings()]

    @property
    def categories(self) -> list[dict[str, Any]]:
        """A row for each category, with the mean cost of a client."""
        rows = backtest_summary.categories(self.past, self.terms)
        costs, cost = self.past.costs, self.past.layout.cost
        for k, row in enumerate(rows):
            row["cost"] = float(costs[k]) if costs is not None else cost
        return rows

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each category, as a dataframe.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the dataframe; by default one that is imported or installed.

        Returns
        -------
        dataframe
            Clients, mean, threshold, profit and cost.
        """
        rows = self.categories
        return frame_of({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        clients = self.past.clients
        return plain(
            {
                "first_line": backtest_summary.first_line(self.past),
                "settings": {"data": self.past.source, **self.past.layout.to_dict()},
                "rows": self.past.rows,
                "clients": len(clients),
                "round": self.past.round,
                "rounds": list(clients.labels),
                "family": {"name": str(self.terms.family), "reason": self.terms.reason},
                "categories": self.categories,
                "known": backtest_summary.known_over_time(clients),
                "left_out": self.past.left_out,
                "notes": self.past.notes,
                "warnings": self.warnings,
                "leaks": self.leaks,
            }
        )

    def __str__(self) -> str:
        past = self.past
        of = (
            f"{number_text(past.round)} rows"
            if isinstance(past.round, int)
            else f"one {past.round}"
        )
        head = [
            backtest_summary.first_line(past),
            f"{past.source}: {number_text(past.rows)} rows; a round is {of}.",
            *backtest_summary.headline(past, self.terms),
        ]
        remarks = [
            *(f"note: {text}" for text in past.notes),
            *(f"warning: {text}" for text in self.warnings),
        ]
        parts = [
            "\n".join(head),
            self._category_table(),
            self._known_table(),
            self._left_out(),
            self._leaks(),
            "\n".join(remarks),
        ]
        return "\n\n".join(filter(None, parts))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _category_table(self) -> str:
        rows = self.categories
        shown = sorted(rows, key=lambda row: -row["clients"])[:ROWS_SHOWN]
        lent = self.past.clients.amount is not None
        columns = {"category": "name", "clients": "clients", "mean": "mean"}
        columns |= {"by money": "mean_by_money", "lent": "amount"} if lent else {"cost": "cost"}
        columns |= {"threshold": "threshold", "profit": "profit", "± error": "profit_error"}
        table = text_table(
            list(columns), [[_shown(key, row[key]) for key in columns.values()] for row in shown]
        )
        more = len(rows) - len(shown)
        return table + (
            f"\n... and {number_text(more)} categories with fewer clients" if more else ""
        )

    def _known_table(self) -> str:
        clients = self.past.clients
        if clients.is_immediate:
            return ""
        known = plain(backtest_summary.known_over_time(clients))
        moments: list[int] = np.unique(
            np.linspace(0, clients.rounds - 1, ROUNDS_SHOWN).round().astype(int)
        ).tolist()
        rows = [
            [
                clients.labels[t],
                "-" if known["share_known"][t] is None else f"{known['share_known'][t]:.0%}",
                number_text(known["known_mean"][t]),
                number_text(known["final_mean"][t]),
            ]
            for t in moments
        ]
        table = text_table(["by the end of", "known", "known mean", "final mean"], rows)
        return f"What was known of the clients who had asked:\n\n{table}"

    def _left_out(self) -> str:
        if not self.past.left_out:
            return "No row is left out."
        rows = [
            [
                each.reason,
                number_text(each.rows),
                number_text(each.mean_reward),
                number_text(each.kept_mean),
            ]
            for each in self.past.left_out
        ]
        return "Left out:\n\n" + text_table(
            ["reason", "rows", "their mean", "mean of those kept"], rows
        )

    def _leaks(self) -> str:
        if not self.can_read_again:
            return (
                "A stream is read once: only the categories were checked for leaks, "
                f"and no other column. {NO_PROOF}"
            )
        if not self.leaks:
            return f"No column looks like a leak. {NO_PROOF}"
        return (
            "Columns that look like leaks:\n"
            + "\n".join(f"- {each}" for each in self.leaks)
            + f"\n{ADVICE} {NO_PROOF}"
        )


def _shown(key: str, value: Any) -> str:
    if key == "name":
        return str(value)
    return money_text(value) if key in ("amount", "profit", "profit_error") else number_text(value)


def describe(
    data: Any,
    layout: Layout | None = None,
    *,
    family: Family | str | None = None,
    bound: float | None = None,
    progress: OnShare = None,
    **given: Any,
) -> Description | FirstLook:
    """Describe past clients: how they are read, or what their columns may be.

    Nothing is replayed.  With everything that a backtest needs, the description says
    how the rows were read: rounds, categories, rows left out, possible leaks.  With
    less, it is a first look: what each column holds, which may be the category, the
    time and the reward, and a command to start from.

    Parameters
    ----------
    data : file, folder, pattern, list of them, or dataframe
        Past clients, one row each.
    layout : Layout, optional
        The meaning of the columns; or give its fields, as for `profitable.backtest`.
    family, bound
        As for `profitable.backtest`.
    progress : function, optional
        It is called with the share of the data that is read.

    Returns
    -------
    Description or FirstLook
        Both print themselves and have `to_dict` and `to_frame`.

    Examples
    --------
    >>> import profitable as pb
    >>> table = {"issued": ["2026-01", "2026-02", "2026-03"] * 32}
    >>> table["job"] = [*["cook"] * 8, *["clerk"] * 8] * 6
    >>> table["paid"] = ["yes", "no", "yes", "yes"] * 24
    >>> look = pb.backtest.describe(table)
    >>> print(look.command)
    pb.backtest(data, category='job', time='issued', reward='paid=yes', cost=0.75)

    """
    if layout is None:
        known_fields(given, FIELDS, "describe")
        if not is_complete(given):
            more = {"family": family, "bound": bound}
            kept = {name: value for name, value in more.items() if value is not None}
            return first_look(data, progress=progress, extra=kept, **given)
        layout = Layout.of(given)
    source = open_source(data)
    past = read(source, layout, progress=progress)
    past.warnings.extend(doubts(source, layout))
    terms = choose_family(past, family=family, bound=bound)
    return Description(past, terms, find_leaks(source, layout), source.again)


def doubts(source: Source, layout: Layout) -> list[str]:
    """Warn of rows that are sorted, and of refused clients who have outcomes."""
    return warn_of_sorted_rows(source, layout) + warn_of_refused_outcomes(source, layout)
