"""Trace: evidence against patience of one category, as text: when a policy changed its mind, and why."""

from collections.abc import Sequence

import numpy as np

from profitable.common.text_tables import number, text_table
from profitable.common.types import BoolArray
from profitable.errors import UnknownCategoryError
from profitable.replay.entry import Entry
from profitable.replay.result import Backtest

MOST_SHOWN = 12  # rounds of one policy


def trace(found: Backtest, category: str) -> str:
    """A table for each policy: the rounds in which it changed its mind about a category, and the first and last one."""
    place = position(found.past.clients.names, category)
    tables = [_table(entry, place, found.past.clients.labels) for entry in found.policies]
    told = [
        f"{entry.name}, {category}:\n\n{table}" for entry, table in zip(found.policies, tables, strict=True) if table
    ]
    return "\n\n".join(told)


def position(names: Sequence[str], category: str) -> int:
    """The position of a category; UnknownCategoryError if there is none of that name."""
    if category not in names:
        remedy = f"choose from {', '.join(names[:MOST_SHOWN])}{', ...' if len(names) > MOST_SHOWN else ''}"
        raise UnknownCategoryError("show", category, "is not in this past", remedy)
    return names.index(category)


def _table(entry: Entry, place: int, labels: Sequence[str]) -> str:
    if entry.evidence is None or entry.patience is None or entry.decided is None:
        return ""
    evidence, patience, decided = entry.evidence[:, place], entry.patience[:, place], entry.decided[:, place]
    rows = [
        [
            labels[t],
            number(float(evidence[t])),
            number(float(patience[t])),
            "accepted" if decided[t] else "refused",
        ]
        for t in _turns(decided)
    ]
    left_out = int((np.diff(decided.astype(int)) != 0).sum()) + 2 - len(rows)
    more = f"\n... and {left_out} changes more" if left_out > 0 and len(rows) == MOST_SHOWN else ""
    return text_table(["round", "evidence", "patience", "decision"], rows) + more


def _turns(decided: BoolArray) -> list[int]:
    """The first round, those with another decision than before, and the last round; not too many."""
    turns = [0, *(np.flatnonzero(decided[1:] != decided[:-1]) + 1).tolist()]
    last = decided.size - 1
    shown = turns[: MOST_SHOWN - 1]
    return shown if last in shown else [*shown, last]
