"""Vintages: years, quarters or groups of rounds, few enough for a table."""

import re
from collections.abc import Sequence

import numpy as np

VINTAGES = 12  # at most so many


def vintages(labels: Sequence[str]) -> list[str]:
    """Return the vintage of each round: a year, a quarter, or a group of rounds.

    >>> vintages(["2025-11", "2025-12", "2026-01"])
    ['2025-Q4', '2025-Q4', '2026-Q1']
    >>> vintages(["1", "2", "3"])
    ['1', '2', '3']
    """
    if all(re.match(r"\d{4}-\d\d", label) for label in labels):
        quarters = [f"{label[:4]}-Q{(int(label[5:7]) + 2) // 3}" for label in labels]
        return quarters if len(set(quarters)) <= VINTAGES else [label[:4] for label in labels]
    if all(re.match(r"\d{4}-(Q|W)\d", label) for label in labels):
        return [label[:4] if len(set(labels)) > VINTAGES else label for label in labels]
    if len(labels) <= VINTAGES:
        return list(labels)
    groups = np.array_split(np.arange(len(labels)), VINTAGES)
    return [_span(labels[int(group[0])], labels[int(group[-1])]) for group in groups for _ in group]


def _span(first: str, last: str) -> str:
    """From one round to another.

    >>> _span("rows 1-20", "rows 81-100"), _span("7", "9")
    ('rows 1-100', '7 to 9')
    """
    rows = [re.fullmatch(r"rows (\d+)-(\d+)", label) for label in (first, last)]
    return f"rows {rows[0][1]}-{rows[1][2]}" if rows[0] and rows[1] else f"{first} to {last}"
