"""Status: where a portfolio stands, a row for each category.

It is read from the state, however long the journal.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.explanation import columns_of
from profitable.common.extras import frame_of
from profitable.common.text_tables import ROWS_SHOWN, html_table, money, number, several, text_table
from profitable.portfolio.journal import Head

STATUS_HEADERS = (
    "category",
    "accepted",
    "waiting",
    "held",
    "counted",
    "mean",
    "threshold",
    "profit",
    "evidence",
    "patience",
)


@dataclass(frozen=True)
class Status:
    """Where a portfolio stands.

    `columns` has a list for each quantity, in the order of the categories:

    - `accepted`: clients who were accepted; of them, `waiting` have no outcome yet.
    - `held`: outcomes that are known, and count when their cohort has matured.
    - `counted`: as how many observations the known outcomes count now; their `mean`.
    - `profit`: what they brought, less what they cost.
    - `evidence` against the category, and the `patience` of the next round; None where
      patience is drawn at random.
    - `chance`: the probability with which the next round accepts it.
    """

    where: str
    name: str
    is_shadow: bool
    policy: str
    round: int
    head: Head
    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["category"])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, one object per category; infinite ones are None."""
        rows = [
            {
                key: None if isinstance(value, float) and not math.isfinite(value) else value
                for key, value in zip(self.columns, row, strict=True)
            }
            for row in zip(*self.columns.values(), strict=True)
        ]
        return {
            "portfolio": self.where,
            "name": self.name,
            "shadow": self.is_shadow,
            "policy": self.policy,
            "round": self.round,
            "profit": self.profit,
            "head": self.head._asdict(),
            "categories": rows,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the same as a dataframe; see `Agent.to_frame` for `backend`."""
        return frame_of(self.columns, backend)

    @property
    def profit(self) -> float:
        """The profit of all categories together."""
        return float(sum(self.columns["profit"]))

    def _caption(self) -> str:
        shadow = ", a shadow that nobody acts on" if self.is_shadow else ""
        name = f"{self.name}, " if self.name else ""
        return (
            f"{name}{self.policy}, {number(len(self))} categories, {several(self.round, 'round')}, "
            f"profit {money(self.profit)}{shadow}"
        )

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for i in range(min(len(self), ROWS_SHOWN)):
            each = {key: column[i] for key, column in self.columns.items()}
            numbers = [
                money(each[key]) if key == "profit" else number(each[key])
                for key in STATUS_HEADERS[1:]
            ]
            chance = "paused" if each["paused"] else f"{100.0 * each['chance']:.3g} %"
            rows.append([each["category"], *numbers, chance])
        return rows

    def __str__(self) -> str:
        hidden = len(self) - ROWS_SHOWN
        rest = f"\n... and {number(hidden)} more" if hidden > 0 else ""
        return (
            f"{self._caption()}\n{text_table((*STATUS_HEADERS, 'next round'), self._rows())}{rest}"
        )

    def _repr_html_(self) -> str:
        return html_table(self._caption(), (*STATUS_HEADERS, "next round"), self._rows())


def status_columns(agent: Agent) -> dict[str, list[Any]]:
    """Return the columns of a status."""
    ledger, everyone = agent.ledger, np.arange(len(agent))
    known, preview = columns_of(ledger, everyone), agent.preview()
    held = [0] * len(agent)
    if ledger.cohorts:
        held = [ledger.cohorts.tally(k, ledger.round).kept for k in range(len(agent))]
    drawn = agent.policy.draws and agent.round > 0
    return {
        "category": known["name"],
        "accepted": [a + b for a, b in zip(known["clients"], known["waiting"], strict=True)],
        "waiting": known["waiting"],
        "held": held,
        "known": known["clients"],
        "counted": known["counted"],
        "mean": known["mean"],
        "threshold": known["threshold"],
        "profit": known["profit"],
        "evidence": known["evidence"],
        "patience": [None] * len(agent) if drawn else preview.patience.tolist(),
        "chance": preview.propensity.tolist(),
        "rounds": known["rounds"],
        "paused": known["paused"],
    }
