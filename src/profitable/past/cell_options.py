"""Options for aggregating past clients into cells.

>>> CellOptions(bins=20).bins
20
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from profitable.common import check
from profitable.common.declared_options import DeclaredOptions, option
from profitable.past.layout import Layout

if TYPE_CHECKING:  # the command line reads the declaration, and must start quickly
    from profitable.model.families import Family

MOST_BINS = 10_000
cell = partial(option, group="With --cells")


@dataclass(frozen=True, kw_only=True)
class CellOptions(DeclaredOptions):
    """Options for aggregating past clients into cells."""

    id: str | None = cell(
        None,
        "Column of whole numbers that names the client. It assigns clients to 20 folds, from "
        "which intervals are computed.",
    )
    fold: str | None = cell(
        None,
        "Column of whole numbers from 0 to 19 that replaces `id` where ids are texts.",
        excludes=("id",),
    )
    bins: int | None = cell(
        None,
        "Number of bins in which rewards are counted, for policies that look at single rewards, "
        "such as kl-emp-ucb.",
        check=partial(check.whole, least=2, most=MOST_BINS),
    )


@dataclass(frozen=True, kw_only=True)
class CellArguments(CellOptions, Layout):
    """All arguments of `backtest.cells`."""

    family: Family | str | None = option(
        None,
        "Family of rewards, where another statistic than the reward is added up (pareto, weibull).",
    )


def written_family(family: Family) -> str:
    """Write a family as on the command line.

    >>> from profitable import Family
    >>> written_family(Family.of("bounded: low=0, high=2"))
    'bounded:low=0.0,high=2.0'
    """
    values = ",".join(f"{key}={value!r}" for key, value in family.parameters.items())
    return f"{family.name}:{values}" if values else family.name
