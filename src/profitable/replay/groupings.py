"""Groupings side by side: what each could earn, and what a policy got of it.

All policies of all groupings are variants that were tried, and every significance is
corrected for their number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profitable.common.amounts import in_short
from profitable.common.text_tables import listed, money_text, number_text, text_table
from profitable.replay.backtest_advice import Advice
from profitable.replay.backtest_entry import BETTER, BacktestEntry
from profitable.replay.backtest_options import grouping_name
from profitable.replay.baselines import CROSS_FITTED, HINDSIGHT

if TYPE_CHECKING:
    from profitable.replay.backtest_result import Backtest

GROUPING_HEADERS = (
    *("grouping", "categories", "hindsight", "cross-fitted", "best policy", "it earned", "95 %"),
    *("stop list", "used earlier"),
)
MOST_STOPPED_NAMED = 3  # categories of a stop list in the table


@dataclass(frozen=True)
class GroupingRow:
    """One way of forming categories; amounts are differences to accepting everybody.

    Attributes
    ----------
    name : str
        The columns.
    categories : int
        Number of categories.
    hindsight : float
        Of the best fixed set, chosen with all outcomes.
    cross_fitted, cross_fitted_error : float or None
        Of the best set, chosen on other clients, with its standard error.
    policy : str or None
        The policy that earned most.
    difference, low, high : float or None
        What it earned, with its 95 % interval.
    standing : str or None
        Whether that is significant after Bonferroni correction for all variants.
    stopped : tuple of str
        Categories on the stop list.
    time_split : dict or None
        Gain of the list, used earlier, with its interval.
    """

    name: str
    categories: int
    hindsight: float
    cross_fitted: float | None
    cross_fitted_error: float | None
    policy: str | None
    difference: float | None
    low: float | None
    high: float | None
    standing: str | None
    stopped: tuple[str, ...]
    time_split: dict[str, float | None] | None

    @property
    def worth(self) -> float:
        """What the categories are worth: cross-fitted, if that is known."""
        return self.hindsight if self.cross_fitted is None else self.cross_fitted


def grouping_rows(found: Sequence["Backtest"], advice: Advice) -> list[GroupingRow]:
    """Return a row for each grouping."""
    return [_row(each, advice) for each in found]


def _row(found: "Backtest", advice: Advice) -> GroupingRow:
    name = grouping_name(found.past.layout.categories)
    fitted = _entry(found, CROSS_FITTED)
    judged = found.ruling.judged
    best = max(judged, key=lambda each: each.difference.middle) if judged else None
    split = next((each for each in advice.time_splits if each.grouping == name), None)
    return GroupingRow(
        name,
        len(found.past.clients.names),
        found[HINDSIGHT].difference.middle,
        None if fitted is None else fitted.difference.middle,
        None if fitted is None else fitted.spread,
        None if best is None else best.name,
        None if best is None else best.difference.middle,
        None if best is None else best.difference.low,
        None if best is None else best.difference.high,
        None if best is None else found.standing(best),
        advice.stop_list.stopped(name),
        None if split is None else {"gain": split.gain, "low": split.low, "high": split.high},
    )


def _entry(found: "Backtest", name: str) -> BacktestEntry | None:
    return next((each for each in found if each.name == name), None)


def groupings_table(rows: Sequence[GroupingRow]) -> str:
    """Return the groupings as a table for a terminal."""
    return text_table(
        GROUPING_HEADERS,
        [
            (
                row.name,
                number_text(row.categories),
                money_text(row.hindsight),
                _money(row.cross_fitted) + _error(row.cross_fitted_error),
                row.policy or "-",
                _money(row.difference),
                _span(row.low, row.high),
                listed(row.stopped, MOST_STOPPED_NAMED) or "-",
                "-" if row.time_split is None else _money(row.time_split["gain"]),
            )
            for row in rows
        ],
        words=(0, 4, 7),
    )


def groupings_sentence(rows: Sequence[GroupingRow], variants: int, unit: str) -> str:
    """Say which grouping is worth most, and what a policy got of it."""
    best = max(rows, key=lambda row: row.worth)
    tried = f"{len(rows)} groupings were tried, with {number_text(variants)} variants in all"
    if best.worth <= 0.0:
        return f"{tried}: none of them is worth anything beyond chance."
    how = "in hindsight" if best.cross_fitted is None else "cross-fitted"
    said = f"{tried}: {best.name} is worth most, {in_short(best.worth, unit)} {how}"
    if best.policy is None or best.difference is None:
        return f"{said}."
    if best.difference <= 0.0:
        return f"{said}; no policy got any of it."
    chance = "" if best.standing == BETTER else ", which may be chance"
    return f"{said}; the best policy, {best.policy}, got {in_short(best.difference, unit)}{chance}."


def _money(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else money_text(value)


def _error(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f" ± {money_text(value)}"


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None or math.isnan(low):
        return "-"
    return f"{money_text(low)} to {money_text(high)}"
