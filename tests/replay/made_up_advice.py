"""Advice that never was: what `Backtest.to_dict()` advises, for `made_up`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

MEASURES = ("clients", "money", "losses", "gains")


def made_up_advice(backtest: dict[str, Any], seed: int = 2) -> dict[str, Any]:
    """Stop list, time splits, swap sets, emergence and groupings beside a dict.

    The bad categories are stopped. By the file's grouping the list pays, by another it
    loses: a page has to show both.
    """
    generator = np.random.default_rng(seed)
    names, labels = [each["name"] for each in backtest["categories"]], backtest["rounds"]
    return {
        "unit": "EUR",
        "advice": f"Stop {names[-1]}: it lost, and by this list later clients earned more.",
        "stop_list": _stop_list(backtest["categories"]),
        "time_splits": [
            _time_split("purpose", labels, names, 1.0, generator),
            _time_split("grade", labels, ["A", "B", "C"], -1.0, generator),
        ],
        "swap_sets": [
            _swap_set(name, backtest["categories"], generator) for name in ("stop list", "kl-ucb")
        ],
        "emergence": _emergence(labels, has_losses=backtest["categories"][0]["amount"] is not None),
        "groupings": _groupings(names),
    }


def _stop_list(categories: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rows = [
        {
            "grouping": "purpose",
            "category": each["name"],
            "clients": each["clients"],
            "open": 7 * k,
            "amount": each["amount"],
            "mean": each["mean"],
            "threshold": each["threshold"],
            "profit": each["profit"],
            "low": each["profit"] / each["clients"] - 12.0,
            "high": each["profit"] / each["clients"] + 12.0,
            "pays": round(1.0 - k / len(categories), 4),
            "stop": each is categories[-1],
        }
        for k, each in enumerate(categories)
    ]
    grade = {"amount": None, "threshold": 1.05, "open": 0, "grouping": "grade", "stop": False}
    rows += [
        grade
        | {"category": "A", "clients": 900, "mean": 1.09, "profit": 36_000.0}
        | {"low": 22.0, "high": 58.0, "pays": 0.9991},
        grade
        | {"category": "B", "clients": 400, "mean": 1.01, "profit": -16_000.0}
        | {"low": -60.0, "high": -20.0, "pays": 0.00004, "stop": True},
        grade
        | {"category": "C", "clients": 0, "mean": None, "profit": 0.0}
        | {"low": None, "high": None, "pays": None},
    ]
    return {
        "level": 0.1,
        "method": "p-values clustered by month, Benjamini-Hochberg over both groupings",
        "tested": len(rows) - 1,
        "rows": rows,
        "notes": ["Category C has no known outcome, and nothing is said about it."],
        "sentence": f"2 of {len(rows) - 1} categories do not pay.",
    }


def _time_split(
    grouping: str,
    labels: Sequence[str],
    names: Sequence[str],
    sign: float,
    generator: np.random.Generator,
) -> dict[str, Any]:
    ends = sorted({max(len(labels) * part // 5, 1) for part in (1, 2, 3, 4)} - {len(labels)})
    splits: list[dict[str, Any]] = [
        {
            "date": labels[end - 1],
            "known": 400 * place,
            "open": 90,
            "stopped": list(names[-place:]) if place > 1 else [],
            "first": labels[end],
            "last": labels[stop - 1],
            "accept_all": 20_000.0 * place,
            "gain": (place > 1) * sign * 4_000.0 * place + 500.0 * generator.standard_normal(),
            "possible": 15_000.0 + 2_000.0 * place,
        }
        for place, (end, stop) in enumerate(zip(ends, [*ends[1:], len(labels)], strict=True), 1)
    ]
    gain = sum(each["gain"] for each in splits)
    return {
        "grouping": grouping,
        "splits": splits,
        "gain": gain,
        "low": gain - 15_000.0,
        "high": gain + 18_000.0,
        "accept_all": sum(each["accept_all"] for each in splits),
        "possible": sum(each["possible"] for each in splits),
        "sentence": f"By {grouping}, the list would have {'earned' if gain > 0 else 'lost'} money.",
    }


def _swap_set(
    name: str, categories: Sequence[dict[str, Any]], generator: np.random.Generator
) -> dict[str, Any]:
    def row(each: dict[str, Any]) -> dict[str, Any]:
        out = generator.random() if each["profit"] < 0.0 else 0.0
        brought = 0.1 if each["profit"] > 0.0 and name != "stop list" else 0.0
        parts = {"in": brought, "out": out, "unchanged": 1.0 - out}
        return {
            "category": each["name"],
            **{f"clients_{key}": round(part * each["clients"]) for key, part in parts.items()},
            **{f"money_{key}": part * each["profit"] for key, part in parts.items()},
        }

    return {
        "name": name,
        "rows": [row(each) for each in categories],
        "sentence": f"With {name}, some clients would have been refused.",
    }


def _emergence(labels: Sequence[str], has_losses: bool) -> dict[str, Any]:
    ages = list(range(37))

    def curves(pace: float, until: int) -> dict[str, Any]:
        speeds = dict(zip(MEASURES, (12.0, 14.0, 8.0, 16.0), strict=True))
        shown = ages[: until + 1]
        return {"ages": shown} | {
            name: [1.0 - float(np.exp(-age / (pace * speed))) for age in shown]
            if has_losses or name in ("clients", "money")
            else None
            for name, speed in speeds.items()
        }

    vintages = list(dict.fromkeys(label[:4] for label in labels))
    said = {"sentence": "Half of the clients are known after 9 months.", "unit": "month"}
    return (
        curves(1.0, 36)
        | said
        | {
            "vintages": [
                {"vintage": vintage} | curves(1.0 + 0.1 * place, max(36 - 5 * place, 2))
                for place, vintage in enumerate(vintages)
            ]
        }
    )


def _groupings(names: Sequence[str]) -> list[dict[str, Any]]:
    found = {"hindsight": 90_000.0, "cross_fitted_error": 8_000.0, "policy": "kl-ucb"}
    return [
        found
        | {"name": "purpose", "categories": len(names), "cross_fitted": 61_000.0}
        | {"difference": 24_000.0, "low": 5_000.0, "high": 44_000.0, "standing": "better"}
        | {"stopped": [names[-1]], "time_split": {"gain": 30_000.0, "low": 2e3, "high": 5e4}},
        found
        | {"name": "grade", "categories": 3, "cross_fitted": -4_000.0}
        | {"difference": -9_000.0, "low": -30_000.0, "high": 11_000.0}
        | {"standing": "indistinguishable", "stopped": ["B"]}
        | {"time_split": {"gain": -21_000.0, "low": -4e4, "high": -3e3}},
        found
        | {"name": "score:q10", "categories": 10, "cross_fitted": 2_000.0, "policy": None}
        | {"difference": None, "low": None, "high": None, "standing": None}
        | {"stopped": [], "time_split": None},
    ]
