"""A backtest as `print` shows it: whom to stop, the verdict, tables and sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from profitable.common.text_tables import money_text, number_text, several, text_table
from profitable.replay import backtest_summary
from profitable.replay.backtest_entry import BacktestEntry
from profitable.replay.baselines import ALL
from profitable.replay.groupings import groupings_sentence, groupings_table

if TYPE_CHECKING:
    from profitable.replay.backtest_result import Backtest

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


def text_of(found: Backtest) -> str:
    """Return everything that a reader on a terminal should see."""
    estimates, ruling = off_policy_table_of(found), found.ruling
    fitting, uninformative = ruling.cross_fitting(), ruling.first_line
    sentences = [] if uninformative else [entry.sentence() for entry in found.policies]
    return "\n".join(
        [
            *([uninformative] if uninformative else []),
            found.when_known,
            *_emergence_lines(found),
            *backtest_summary.headline(found.past, found.terms, found.unit),
            *backtest_summary.added_up(found.past),
            "",
            *_advice_lines(found),
            found.verdict(),
            "",
            table_of(found),
            *([fitting] if fitting else []),
            "",
            *([ESTIMATED, "", estimates, ""] if estimates else []),
            *sentences,
            *([""] if sentences else []),
            *([] if found.cutoff is None else [ALL_OUTCOMES, "", str(found.cutoff), ""]),
            *_groupings_lines(found),
            found.luck(),
            *(f"note: {text}" for text in [*found.past.notes, *_left_out(found)]),
            *(f"warning: {text}" for text in found.warnings()),
        ]
    )


def table_of(found: Backtest) -> str:
    """Return a table with a row for each policy and baseline."""
    in_unit = f" ({found.unit})" if found.unit else ""
    first, profit, difference, *others = TABLE_HEADERS
    headers = (first, profit + in_unit, difference + in_unit, *others)
    return text_table(headers, [_row(entry) for entry in found.entries])


def _row(entry: BacktestEntry) -> tuple[str, ...]:
    """Return the cells of an entry in the table."""
    difference, mixed = entry.difference, entry.shuffled
    if entry.refusal is not None:
        return (entry.name, "refused", "", "", number_text(entry.clients), "")
    error = "" if entry.splits is None or not difference.is_known else _error(entry.spread)
    span = (
        f"{money_text(difference.low)} to {money_text(difference.high)}"
        if difference.is_known
        else ""
    )
    return (
        entry.name,
        money_text(entry.profit),
        "" if entry.name == ALL else money_text(difference.middle) + error,
        "" if entry.name == ALL else span,
        "" if math.isnan(entry.clients) else number_text(round(entry.clients)),
        "" if mixed is None else money_text(mixed.difference) + _error(mixed.error),
    )


def _error(error: float) -> str:
    return f" ± {money_text(error)}"


def off_policy_table_of(found: Backtest) -> str:
    """Return the off-policy estimates of each policy; empty without a log."""
    rows: list[tuple[str, ...]] = []
    for entry in found.policies:
        log = entry.off_policy
        if log is None:
            return ""
        values = (log.inverse_propensity, log.self_normalised, log.doubly_robust)
        rows.append(
            (
                entry.name,
                *("-" if value is None else money_text(value) for value in values),
                number_text(round(log.clients)),
                number_text(round(log.effective_size)),
            )
        )
    return text_table(ESTIMATE_HEADERS, rows)


def _emergence_lines(found: Backtest) -> list[str]:
    """When outcomes are known by age, for `print`."""
    emergence = None if found.advice is None else found.advice.emergence
    return [] if emergence is None else [emergence.sentence()]


def _left_out(found: Backtest) -> list[str]:
    """Count the rows that are left out, unless a warning does."""
    return [
        f"{several(each.rows, 'row')} {'is' if each.rows == 1 else 'are'} left out ({each.reason})"
        for each in found.past.left_out
        if each.warning is None
    ]


def _advice_lines(found: Backtest) -> list[str]:
    """Whom to stop, for `print`."""
    if found.advice is None:
        return []
    return [found.advice.sentence(found.unit), "", found.advice.stop_list.table(), ""]


def _groupings_lines(found: Backtest) -> list[str]:
    """All groupings side by side, for `print`."""
    if not found.groupings:
        return []
    tried = groupings_sentence(found.groupings, found.ruling.tried, found.unit)
    table = groupings_table(found.groupings)
    return ["Groupings, against accepting everybody:", "", table, "", tried, ""]
