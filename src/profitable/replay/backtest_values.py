"""A backtest as plain values, from which reports and tables are made."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.replay import backtest_summary
from profitable.replay.backtest_entry import BacktestEntry
from profitable.replay.cutoffs import cutoffs_over_time
from profitable.version import VERSION

if TYPE_CHECKING:
    from profitable.replay.backtest_result import Backtest

MOST_NUMBERS, FEWEST_TRACED = 120_000, 5  # of a table by round and category; and its columns


def values_of(found: Backtest) -> dict[str, Any]:
    """Return everything as plain values."""
    clients = found.past.clients
    return plain(
        {
            "version": VERSION,
            "command": found.command,
            "seed": found.options.seed,
            "settings": {
                "data": found.past.source,
                **found.past.layout.to_dict(),
                **found.options.to_dict(),
            },
            "unit": found.options.currency,
            "first_line": found.first_line,
            "when_known": found.when_known,
            "clients": len(clients),
            "rounds": list(clients.labels),
            "round": found.past.round,
            "categories": backtest_summary.categories(found.past, found.terms),
            "family": {
                "name": str(found.terms.family),
                "reason": found.terms.reason,
                "alternative": None
                if found.terms.alternative is None
                else found.terms.alternative.to_dict(found.unit),
                "fit": [
                    {
                        "category": each.category,
                        "observed_variance": each.observed,
                        "family_variance": each.family,
                        "warning": each.warning,
                    }
                    for each in found.terms.fit
                ],
            },
            "lending": found.terms.lending,
            "loans": found.loans,
            "intervals": backtest_summary.intervals(found.past),
            "left_out": found.past.left_out,
            "notes": found.past.notes,
            "warnings": found.warnings(),
            "assumptions": found.assumptions(),
            "known": backtest_summary.known_over_time(clients),
            "cutoff": None
            if found.cutoff is None
            else {
                **found.cutoff.to_dict(),
                "over_time": cutoffs_over_time(found.past, found.policies),
            },
            "traced": [clients.names[k] for k in _traced(found).tolist()],
            "entries": [_entry(found, entry) for entry in found.entries],
            "tried": found.ruling.tried,
            **found.ruling.to_dict(),
            "verdict": found.verdict(),
            **({} if found.advice is None else found.advice.to_dict(found.unit)),
            "groupings": found.groupings,
            "swap_sets": [each.to_dict(found.unit) for each in found.swap_sets],
        }
    )


def _traced(found: Backtest) -> IntArray:
    """Return the categories whose tables by round are kept, to keep files small."""
    clients = found.past.clients
    most = max(FEWEST_TRACED, min(backtest_summary.MOST_PICTURED, MOST_NUMBERS // clients.rounds))
    return np.sort(np.argsort(-clients.counts.sum(axis=0), kind="stable")[:most])


def _entry(found: Backtest, entry: BacktestEntry) -> dict[str, Any]:
    traced = _traced(found)
    difference, (middle, low, high) = entry.difference, entry.over_time()
    refused = entry.refusal is not None
    return {
        "name": entry.name,
        "words": entry.words or entry.name,
        "kind": entry.kind,
        "profit": None if refused else entry.profit,
        "clients": entry.clients,
        "difference": None if refused else difference.middle,
        "low": None if refused else difference.low,
        "high": None if refused else difference.high,
        "error": None if refused else entry.spread,
        "splits": entry.splits,
        "split_error": entry.split_error,
        "standing": found.standing(entry),
        "seeds": entry.seeds,
        "seed_error": entry.seed_error,
        "shuffled": entry.shuffled,
        "sentence": found.ruling.sentence(entry),
        "over_time": {"difference": middle, "low": low, "high": high},
        "accepted": None if entry.accepted is None else np.round(entry.accepted[:, traced], 4),
        "evidence": None if entry.evidence is None else rounded(entry.evidence[:, traced]),
        "patience": None if entry.patience is None else rounded(entry.patience[:, traced]),
        "decided": None if entry.decided is None else entry.decided[:, traced],
        "defaults": None if entry.defaults is None else entry.defaults[:, traced],
        "affordable": None if entry.affordable is None else rounded(entry.affordable[:, traced]),
        "by_vintage": backtest_summary.by_vintage(found.past.clients.labels, entry),
        "by_category": backtest_summary.by_category(found.past.clients.names, entry),
        "off_policy": entry.off_policy,
    }


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
