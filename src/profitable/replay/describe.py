"""Describe a past: what was understood of it, before any policy is replayed.

>>> from profitable.replay.layout import Layout
>>> table = {"month": ["2026-01", "2026-02", "2026-03"] * 2, "job": ["cook", "clerk"] * 3, "y": [0, 1, 1, 1, 0, 1]}
>>> print(describe(table, Layout(category="job", time="month", reward="y", cost=0.5)))
Outcomes assumed immediate: no column says when they were known. If they came later, results are too good.
<BLANKLINE>
the table: 6 rows, 6 clients, 3 rounds of one month (2026-01 to 2026-03), 2 categories
...
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.common.text_tables import ROWS_SHOWN, money, number, text_table
from profitable.common.types import FloatArray
from profitable.replay.clients import Clients
from profitable.replay.layout import Layout
from profitable.replay.leaks import ADVICE, Leak, check_categories, find_leaks
from profitable.replay.past import Past
from profitable.replay.read import read
from profitable.replay.source import Told, open_source

MOMENTS = 8  # rounds at which the text says how much was known
NO_PROOF = (
    "No check finds every leak. A column that was overwritten when the outcome came, such as a loan's term that "
    "changed in a default, looks like an honest one that predicts well. Ask of each column of the "
    "categories when it was written."
)


@dataclass(frozen=True)
class Described:
    """One category of a past."""

    name: str
    clients: int
    amount: float | None  # lent in total
    mean: float  # reward per client
    mean_by_money: float | None  # money back per unit lent
    cost: float | None  # of one client
    threshold: float
    profit: float  # of accepting everybody
    profit_error: float  # one standard error, over clients


@dataclass(frozen=True)
class Knowledge:
    """What was known when, [R]: of the clients who asked up to each round."""

    share: FloatArray  # of them whose outcome was known by then
    known_mean: FloatArray  # of those outcomes
    final_mean: FloatArray  # of all their outcomes in the end

    def to_dict(self, rounds: Sequence[str]) -> dict[str, Any]:
        """As plain values; None where there is no mean."""
        means = {
            "share_known": self.share,
            "known_mean": self.known_mean,
            "final_mean": self.final_mean,
        }
        return {"round": list(rounds)} | {name: _plain(values) for name, values in means.items()}


def _plain(values: FloatArray) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def categories_of(past: Past) -> list[Described]:
    """The categories of a past, and what accepting all their clients would have earned."""
    clients, layout = past.clients, past.layout
    total = len(clients.names)
    seen = np.ones(len(clients), bool) if clients.logged is None else clients.logged

    def sums(values: npt.NDArray[Any] | None = None) -> FloatArray:
        chosen = None if values is None else values[seen]
        return np.bincount(clients.category[seen], chosen, minlength=total).astype(np.float64)

    counts, profits, rewards = sums(), sums(clients.profit), sums(clients.reward)
    at_least_one = np.maximum(counts, 1.0)
    squares = sums((clients.profit - (profits / at_least_one)[clients.category]) ** 2)
    errors = np.sqrt(squares * counts / np.maximum(counts - 1.0, 1.0))
    amounts = None if clients.amount is None else sums(clients.amount)
    back = None if clients.amount is None else sums(clients.reward * clients.amount)
    return [
        Described(
            name,
            int(counts[k]),
            None if amounts is None else float(amounts[k]),
            float(rewards[k] / at_least_one[k]),
            None if amounts is None or back is None or not amounts[k] else float(back[k] / amounts[k]),
            float(past.costs[k]) if past.costs is not None else layout.cost if isinstance(layout.cost, float) else None,
            threshold_of(layout),
            float(profits[k]),
            float(errors[k]),
        )
        for k, name in enumerate(clients.names)
    ]


def threshold_of(layout: Layout) -> float:
    """The mean reward from which on a category is profitable."""
    if layout.amount is not None:
        return 1.0 + (layout.required or 0.0)
    return layout.cost / layout.revenue if isinstance(layout.cost, float) else 0.0


def knowledge_of(clients: Clients, weight: str = "client") -> Knowledge:
    """What was known when; with `weight` = "money", means are those of money."""
    seen = np.ones(len(clients), bool) if clients.logged is None else clients.logged
    weights = clients.amount if clients.amount is not None and weight == "money" else np.ones(len(clients))

    def until(when: npt.NDArray[Any], values: npt.NDArray[Any]) -> FloatArray:
        """Sums over the clients for whom something happened up to each round, [R]."""
        late = np.minimum(when, clients.rounds + 1)
        return np.bincount(late[seen], values[seen], minlength=clients.rounds + 2)[1:-1].cumsum()

    one = np.ones(len(clients))
    asked, known = until(clients.round, one), until(clients.known, one)
    means: list[FloatArray] = []
    for when in (clients.known, clients.round):
        total, size = until(when, clients.reward * weights), until(when, weights)
        means.append(np.divide(total, size, out=np.full(clients.rounds, np.nan), where=size > 0.0))
    share = np.divide(known, asked, out=np.full(clients.rounds, np.nan), where=asked > 0.0)
    return Knowledge(share, means[0], means[1])


@dataclass(frozen=True)
class Description:
    """What was understood of a past; `print` shows it."""

    past: Past
    categories: list[Described]
    knowledge: Knowledge
    leaks: list[Leak]
    can_read_again: bool  # else leaks were looked for among the categories only
    warnings: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        clients = self.past.clients
        return {
            "first_line": self.past.first_line,
            "source": self.past.source,
            "settings": self.past.layout.to_dict(),
            "rows": self.past.rows,
            "clients": len(clients),
            "round": self.past.round,
            "rounds": list(clients.labels),
            "categories": [vars(each) for each in self.categories],
            "known": self.knowledge.to_dict(clients.labels),
            "left_out": [each.to_dict() for each in self.past.left_out],
            "notes": self.past.notes,
            "warnings": self.warnings,
            "leaks": [each.to_dict() for each in self.leaks],
        }

    def __str__(self) -> str:
        past, clients = self.past, self.past.clients
        of = f"{number(past.round)} rows" if isinstance(past.round, int) else f"one {past.round}"
        span = f"{clients.labels[0]} to {clients.labels[-1]}"
        head = (
            f"{past.source}: {number(past.rows)} rows, {number(len(clients))} clients, {number(clients.rounds)} rounds "
            f"of {of} ({span}), {number(len(clients.names))} categories"
        )
        parts = [past.first_line, head, self._category_table(), self._known_table(), self._left_out(), self._leaks()]
        parts += [f"Warning: {each}." for each in self.warnings]
        parts += ["Notes:\n" + "\n".join(f"- {each}." for each in past.notes)] if past.notes else []
        return "\n\n".join(part for part in parts if part)

    def _category_table(self) -> str:
        shown = sorted(self.categories, key=lambda each: -each.clients)[:ROWS_SHOWN]
        has_amount = self.past.clients.amount is not None
        headers = ["category", "clients", "mean"]
        headers += ["by money", "lent"] if has_amount else ["cost"]
        rows = [
            [each.name, number(each.clients), number(each.mean)]
            + ([number(each.mean_by_money), money(each.amount or 0.0)] if has_amount else [number(each.cost)])
            + [number(each.threshold), money(each.profit), money(each.profit_error)]
            for each in shown
        ]
        clients, everybody = self.past.clients, sum(each.clients for each in self.categories)
        reward = clients.reward if clients.logged is None else clients.reward[clients.logged]
        total = ["all", number(everybody), number(float(reward.mean()) if reward.size else None)]
        if has_amount:
            lent = sum(each.amount or 0.0 for each in self.categories)
            back = sum((each.mean_by_money or 0.0) * (each.amount or 0.0) for each in self.categories)
            total += [number(back / lent if lent else None), money(lent)]
        else:
            total += [""]
        error = math.sqrt(sum(each.profit_error**2 for each in self.categories))
        total += ["", money(sum(each.profit for each in self.categories)), money(error)]
        more = len(self.categories) - len(shown)
        table = text_table([*headers, "threshold", "profit", "± error"], [*rows, total])
        return table + (f"\n... and {number(more)} categories with fewer clients" if more else "")

    def _known_table(self) -> str:
        clients = self.past.clients
        if clients.is_immediate:
            return ""
        moments: list[int] = np.unique(np.linspace(0, clients.rounds - 1, MOMENTS).round().astype(int)).tolist()
        rows = [
            [
                clients.labels[t],
                "-" if math.isnan(self.knowledge.share[t]) else f"{self.knowledge.share[t]:.0%}",
                _mean(self.knowledge.known_mean[t]),
                _mean(self.knowledge.final_mean[t]),
            ]
            for t in moments
        ]
        return "What was known of the clients who had asked:\n\n" + text_table(
            ["by the end of", "known", "known mean", "final mean"], rows
        )

    def _left_out(self) -> str:
        if not self.past.left_out:
            return "No row is left out."
        rows = [
            [each.reason, number(each.rows), number(each.mean_reward), number(each.kept_mean)]
            for each in self.past.left_out
        ]
        return "Left out:\n\n" + text_table(["reason", "rows", "their mean", "mean of those kept"], rows)

    def _leaks(self) -> str:
        if not self.can_read_again:
            return f"A stream can be read once: columns beside the categories were not checked for leaks. {NO_PROOF}"
        if not self.leaks:
            return f"No column looks like a leak. {NO_PROOF}"
        return (
            "Columns that look like leaks:\n"
            + "\n".join(f"- {each}" for each in self.leaks)
            + f"\n\n{ADVICE} {NO_PROOF}"
        )


def _mean(value: Any) -> str:
    return "-" if math.isnan(value) else number(float(value))


def describe(data: Any, layout: Layout, *, past: Past | None = None, progress: Told = None) -> Description:
    """Read a past and say what was understood; `past` is what was read of the same data already."""
    source = open_source(data) if past is None else past.rows_again
    past = past or read(source, layout, progress=progress)
    leaks = find_leaks(source, layout, past.rows)
    warnings = [*past.warnings, *check_categories(past)]
    return Description(
        past, categories_of(past), knowledge_of(past.clients, layout.weight), leaks, source.again, warnings
    )
