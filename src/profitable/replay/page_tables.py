"""The tables of a backtest's page: cells as texts, from its dict.

Those of the advice are in `advice_tables`.
"""

from collections.abc import Sequence
from typing import Any, cast

from profitable.common.text_tables import number_text
from profitable.replay.advice_tables import MARKS, MOST_ROWS, Table
from profitable.replay.baselines import ALL
from profitable.replay.page_amounts import Amounts, Money


def entries_table(backtest: dict[str, Any], money: Money) -> Table:
    """Return the table of profits: a mark, the name, and the numbers."""
    entries: Sequence[dict[str, Any]] = backtest["entries"]
    has_seeds = any(each["seed_error"] is not None for each in entries)
    has_shuffled = any(each["shuffled"] for each in entries)
    amounts = money.of(each["profit"] for each in entries)
    headers = ["", amounts.head("profit"), "difference to accept all", "95 % interval"]
    headers += ["clients accepted", *(["seeds"] if has_seeds else [])]
    headers += ["difference with time shuffled"] if has_shuffled else []
    rows: list[dict[str, Any]] = []
    for each in entries:
        shuffled, error = each["shuffled"], each["seed_error"]
        cells = [
            amounts.text(each["profit"]) if each["difference"] is not None else "refused",
            amounts.signed(each["difference"]),
            amounts.span(each["low"], each["high"]) if _has_interval(each) else "-",
            "-" if each["clients"] is None else number_text(round(each["clients"])),
        ]
        by_seed = f" (± {amounts.text(error)})" if error is not None else ""
        cells += [number_text(each["seeds"]) + by_seed] if has_seeds else []
        again = (
            f"{amounts.signed(shuffled['difference'])} ± {amounts.text(shuffled['error'])}"
            if shuffled
            else "-"
        )
        cells += [again] if has_shuffled else []
        rows.append(
            {
                "name": each["name"],
                "words": words_of(each),
                "kind": each["kind"],
                "mark": MARKS[each["standing"]] if _has_interval(each) else "",
                "standing": each["standing"],
                "cells": cells,
            }
        )
    return {"headers": headers, "rows": rows, "has_shuffled": has_shuffled}


def words_of(entry: dict[str, Any]) -> str | None:
    """Return a policy's name in words; None if it has none but its short name."""
    words = entry.get("words")
    return words if words != entry["name"] else None


def _has_interval(entry: dict[str, Any]) -> bool:
    return entry["low"] is not None and not entry["low"] == entry["high"] == 0.0


def entry_sentences(entries: Sequence[dict[str, Any]], money: Money) -> list[str]:
    """Describe every entry in words, accepting everybody first."""
    everybody = next(each["profit"] for each in entries if each["name"] == ALL)
    return [
        f"Accepting everybody earned {money.short(everybody)}.",
        *(each["sentence"] for each in entries if each["name"] != ALL),
    ]


def categories_table(categories: Sequence[dict[str, Any]], money: Money) -> Table:
    """Return the categories with the most clients, from the largest profit down."""
    most = sorted(categories, key=lambda each: -each["clients"])[:MOST_ROWS]
    has_money = any(each["amount"] is not None for each in categories)
    profits = money.of(each["profit"] for each in categories)
    amounts = money.of(each["amount"] for each in categories)
    headers = ["category", "clients", *([amounts.head("money")] if has_money else [])]
    headers += ["mean per client", *(["mean per unit of money"] if has_money else []), "needed"]
    headers += [profits.head("profit"), "± standard error"]
    rows = [
        [
            each["name"],
            number_text(each["clients"]),
            *([amounts.text(each["amount"])] if has_money else []),
            number_text(each["mean"]),
            *([number_text(each["mean_by_money"])] if has_money else []),
            number_text(each["threshold"]),
            profits.text(each["profit"]),
            profits.text(each["profit_error"]),
        ]
        for each in sorted(most, key=lambda each: -each["profit"])
    ]
    return {"headers": headers, "rows": rows, "more": len(categories) - len(rows)}


def learning_table(entries: Sequence[dict[str, Any]], money: Money) -> Table | None:
    """Return what learning cost each policy in all categories together."""
    fields = ("lost_accepting", "lost_refusing")
    sums = {
        each["name"]: [sum(one[field] for one in each["by_category"]) for field in fields]
        for each in entries
        if each["kind"] == "policy" and each["difference"] is not None
    }
    if not sums:
        return None
    amounts = money.of(value for both in sums.values() for value in both)
    headers = ["policy", *map(amounts.head, ("lost by accepting", "lost by refusing", "together"))]
    rows = [
        [name, *map(amounts.text, (both[0], both[1], sum(both)))] for name, both in sums.items()
    ]
    return {"headers": headers, "rows": rows}


def fit_table(fit: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Observed variance against the family's; the largest ratio comes first."""
    ratios = [
        each["observed_variance"] / each["family_variance"] if each["family_variance"] else None
        for each in fit
    ]
    ordered = sorted(zip(ratios, fit, strict=True), key=lambda each: -(each[0] or 0.0))[:MOST_ROWS]
    return [
        [
            each["category"],
            number_text(each["observed_variance"]),
            number_text(each["family_variance"]),
            number_text(ratio, 3),
        ]
        for ratio, each in ordered
    ]


def cutoff_table(found: dict[str, Any] | None, money: Money) -> Table | None:
    """Return the bands of an order, the highest first."""
    if found is None:
        return None
    bands = found["bands"]
    amounts = money.of(each["profit"] for each in bands)
    headers = ["band", "clients", "mean", "95 %", "fit", "95 %", "needed", "accepted"]
    headers += ["mean above", amounts.head("profit"), "95 %", "pays"]
    rows = [
        [
            each["name"],
            number_text(each["clients"]),
            number_text(each["mean"]),
            _range(each["low"], each["high"]),
            "left" if each["left"] else number_text(each["fit"]),
            _range(each["fit_low"], each["fit_high"]),
            number_text(each["threshold"]),
            "-" if each["acceptance"] is None else f"{each['acceptance']:.0%}",
            number_text(each["mean_above"]),
            amounts.text(each["profit"]),
            amounts.span(each["profit_low"], each["profit_high"]),
            number_text(each["pays"], 3),
        ]
        for each in bands[::-1]
    ]
    return {"headers": headers, "rows": rows}


def _range(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{number_text(low)} to {number_text(high)}"


def off_policy_table(entries: Sequence[dict[str, Any]], money: Money) -> Table | None:
    """Return the off-policy estimates with refusals and warnings."""
    found = [(each["name"], each["off_policy"]) for each in entries if each["off_policy"]]
    if not found:
        return None
    estimates = ("inverse_propensity", "self_normalised", "doubly_robust")
    amounts = money.of(each[field] for _, each in found for field in estimates)
    rows = [
        [
            name,
            *(_estimate(each, field, amounts) for field in estimates),
            number_text(round(each["clients"])),
            number_text(round(each["effective_size"])),
        ]
        for name, each in found
    ]
    remarks = [
        (name, text)
        for name, each in found
        for text in (each["refusal"], *each["warnings"])
        if text
    ]
    headers = ["", *map(amounts.head, ("inverse propensity", "self-normalised", "doubly robust"))]
    return {"headers": [*headers, "clients", "effective size"], "rows": rows, "remarks": remarks}


def _estimate(found: dict[str, Any], field: str, amounts: Amounts) -> str:
    error = found.get(f"{field}_error")
    return amounts.text(found[field]) + (f" ± {amounts.text(error)}" if error is not None else "")


def left_out_table(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return the rows left out, by reason."""
    fields = ("rows", "mean_reward", "kept_mean")
    return [[each["reason"], *(number_text(each[field]) for field in fields)] for each in found]


def settings_table(settings: dict[str, Any]) -> list[list[str]]:
    """Return what was given."""
    return [[key, _setting(value)] for key, value in settings.items() if value is not None]


def _setting(value: Any) -> str:
    return ", ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)
