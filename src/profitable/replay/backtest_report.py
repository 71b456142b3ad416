"""The report of a backtest: one offline page, its pictures, and numbers as JSON.

Everything is made from the dict of `Backtest.to_dict()`, so the page, the pictures and
the numbers cannot disagree. Every file is written whole, and the page last.  After an
interruption, each file belongs to the old report or to the new one, and none is half
written.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from profitable.common.charts import Figure
from profitable.common.files import replace_text
from profitable.common.pages import chart_script, chart_specs, environment, save_pictures
from profitable.common.text_tables import number_text
from profitable.replay.backtest_charts import FIGURES
from profitable.replay.backtest_entry import BETTER, UNSURE, WORSE
from profitable.replay.backtest_summary import IMMEDIATE
from profitable.replay.baselines import ALL
from profitable.replay.cutoff_figures import CUTOFF_FIGURES
from profitable.replay.interactive_charts import FIGURES_TO_CHOOSE
from profitable.replay.loan_figures import LOAN_FIGURES

TEMPLATES = Path(__file__).parent / "templates"
BACKTEST_PAGE, BACKTEST_NUMBERS = "report.html", "backtest.json"
PICTURES = (
    "difference", "over-time", "accepted", "evidence", "vintage", "known", "share-known",
    "means", "learning", "bands", "cutoff",
)  # fmt: skip
MOST_ROWS = 200  # of a table on the page; all are among the numbers
MANY_UNITS = 1_000.0  # a table with an amount like this is in whole units
MARKS = {BETTER: "▲", WORSE: "▼", UNSURE: "○"}


def write_report(backtest: dict[str, Any], folder: Path) -> list[Path]:
    """Write everything; returns the paths of the page, the numbers and the pictures.

    `backtest` is the dict of `Backtest.to_dict()`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = (
        draw(backtest) for draw in (*FIGURES, *CUTOFF_FIGURES, *LOAN_FIGURES, *FIGURES_TO_CHOOSE)
    )
    drawn = {figure.name: figure for figure in made if figure is not None}
    pictures = [path for figure in drawn.values() for path in save_pictures(figure, folder)]
    for name in set(PICTURES) - set(drawn):  # of an earlier report
        (folder / f"{name}.svg").unlink(missing_ok=True)
    compact = json.dumps(backtest, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    numbers = replace_text(folder / BACKTEST_NUMBERS, compact + "\n")
    return [replace_text(folder / BACKTEST_PAGE, page_of(backtest, drawn)), numbers, *pictures]


def page_of(backtest: dict[str, Any], drawn: dict[str, Figure]) -> str:
    """Return the page as text."""
    tables = {
        "entries": _entries_table(backtest),
        "categories": _categories_table(backtest["categories"]),
        "left_out": [
            [
                each["reason"],
                *(number_text(each[field]) for field in ("rows", "mean_reward", "kept_mean")),
            ]
            for each in backtest["left_out"]
        ],
        "fit": _fit_table(backtest["family"]["fit"]),
        "cutoff": _cutoff_table(backtest["cutoff"]),
        "learning": _learning_table(backtest["entries"]),
        "off_policy": _off_policy_table(backtest["entries"]),
        "sentences": _sentences(backtest["entries"]),
        "settings": [
            [key, _setting(value)]
            for key, value in backtest["settings"].items()
            if value is not None
        ],
    }
    return (
        environment(TEMPLATES, html=True)
        .get_template("backtest.html.j2")
        .render(
            backtest=backtest,
            figures=drawn,
            tables=tables,
            immediate=backtest["first_line"].startswith(IMMEDIATE),
            script=chart_script(),
            specs=chart_specs(drawn.values()),
        )
    )


def plain_amount(value: float | None, cents: bool = False) -> str:
    """Write an amount in whole units or with cents.

    >>> plain_amount(1234.5), plain_amount(-0.25, cents=True), plain_amount(None)
    ('1 234', '-0.25', '-')
    """
    if value is None:
        return "-"
    text = f"{value:,.{2 if cents else 0}f}".replace(",", " ")
    return "0" if float(text.replace(" ", "")) == 0.0 else text


def signed(value: float | None, cents: bool = False) -> str:
    """Write an amount with its sign.

    >>> signed(1234.5), signed(-0.25, cents=True), signed(0.0)
    ('+1 234', '-0.25', '0')
    """
    text = plain_amount(value, cents)
    return f"+{text}" if value is not None and value > 0.0 and text != "0" else text


def _entries_table(backtest: dict[str, Any]) -> dict[str, Any]:
    """Return the table of profits: a mark, the name, and the numbers."""
    entries: Sequence[dict[str, Any]] = backtest["entries"]
    has_seeds = any(each["seed_error"] is not None for each in entries)
    has_shuffled = any(each["shuffled"] for each in entries)
    headers = ["", "profit", "difference to accept all", "95 % interval", "clients accepted"]
    headers += ["seeds"] if has_seeds else []
    headers += ["difference with time shuffled"] if has_shuffled else []
    cents = all(abs(each["profit"] or 0.0) < MANY_UNITS for each in entries)
    amount = partial(plain_amount, cents=cents)
    rows: list[dict[str, Any]] = []
    for each in entries:
        shuffled = each["shuffled"]
        cells = [
            amount(each["profit"]) if each["difference"] is not None else "refused",
            signed(each["difference"], cents),
            _interval(each, cents),
            plain_amount(each["clients"]),
        ]
        by_seed = f" (± {amount(each['seed_error'])})" if each["seed_error"] is not None else ""
        cells += [number_text(each["seeds"]) + by_seed] if has_seeds else []
        again = (
            f"{signed(shuffled['difference'], cents)} ± {amount(shuffled['error'])}"
            if shuffled
            else "-"
        )
        cells += [again] if has_shuffled else []
        rows.append(
            {
                "name": each["name"],
                "kind": each["kind"],
                "mark": MARKS[each["standing"]] if _has_interval(each) else "",
                "standing": each["standing"],
                "cells": cells,
            }
        )
    return {"headers": headers, "rows": rows, "has_shuffled": has_shuffled}


def _sentences(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Describe every entry in words, accepting everybody first."""
    everybody = next(each["profit"] for each in entries if each["name"] == ALL)
    amount = partial(plain_amount, cents=abs(everybody) < MANY_UNITS)
    return [
        f"Accepting everybody earned {amount(everybody)}.",
        *(each["sentence"] for each in entries if each["name"] != ALL),
    ]


def _has_interval(entry: dict[str, Any]) -> bool:
    return entry["low"] is not None and not entry["low"] == entry["high"] == 0.0


def _interval(entry: dict[str, Any], cents: bool) -> str:
    if not _has_interval(entry):
        return "-"
    return f"{signed(entry['low'], cents)} to {signed(entry['high'], cents)}"


def _categories_table(categories: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the categories with the most clients, from the largest profit down."""
    most = sorted(categories, key=lambda each: -each["clients"])[:MOST_ROWS]
    has_money = any(each["amount"] is not None for each in categories)
    headers = ["category", "clients", *(["money"] if has_money else []), "mean per client"]
    headers += [
        *(["mean per unit of money"] if has_money else []),
        "needed",
        "profit",
        "± standard error",
    ]
    amount = partial(
        plain_amount, cents=all(abs(each["profit"]) < MANY_UNITS for each in categories)
    )
    rows = [
        [
            each["name"],
            number_text(each["clients"]),
            *([amount(each["amount"])] if has_money else []),
            number_text(each["mean"]),
            *([number_text(each["mean_by_money"])] if has_money else []),
            number_text(each["threshold"]),
            amount(each["profit"]),
            amount(each["profit_error"]),
        ]
        for each in sorted(most, key=lambda each: -each["profit"])
    ]
    return {"headers": headers, "rows": rows, "more": len(categories) - len(rows)}


def _learning_table(entries: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return what learning cost each policy in all categories together."""
    found = [
        each for each in entries if each["kind"] == "policy" and each["difference"] is not None
    ]
    fields = ("lost_accepting", "lost_refusing")
    sums = {
        each["name"]: [sum(one[field] for one in each["by_category"]) for field in fields]
        for each in found
    }
    amount = partial(
        plain_amount, cents=all(abs(value) < MANY_UNITS for both in sums.values() for value in both)
    )
    return [
        [name, amount(both[0]), amount(both[1]), amount(sum(both))] for name, both in sums.items()
    ]


def _fit_table(fit: Sequence[dict[str, Any]]) -> list[list[str]]:
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


def _cutoff_table(found: dict[str, Any] | None) -> list[list[str]]:
    """Return the bands of an order, the highest first."""
    if found is None:
        return []
    bands = found["bands"]
    amount = partial(
        plain_amount, cents=all(abs(each["profit"] or 0.0) < MANY_UNITS for each in bands)
    )
    return [
        [
            each["name"],
            number_text(each["clients"]),
            number_text(each["mean"]),
            _range(each["low"], each["high"], number_text),
            "left" if each["left"] else number_text(each["fit"]),
            _range(each["fit_low"], each["fit_high"], number_text),
            number_text(each["threshold"]),
            "-" if each["acceptance"] is None else f"{each['acceptance']:.0%}",
            number_text(each["mean_above"]),
            amount(each["profit"]),
            _range(each["profit_low"], each["profit_high"], amount),
            number_text(each["pays"], 3),
        ]
        for each in bands[::-1]
    ]


def _range(low: float | None, high: float | None, text: Callable[[float | None], str]) -> str:
    return "-" if low is None or high is None else f"{text(low)} to {text(high)}"


def _off_policy_table(entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the off-policy estimates with refusals and warnings."""
    found = [(each["name"], each["off_policy"]) for each in entries if each["off_policy"]]
    if not found:
        return None
    estimates = ("inverse_propensity", "self_normalised", "doubly_robust")
    amount = partial(
        plain_amount,
        cents=all(abs(each[field] or 0.0) < MANY_UNITS for _, each in found for field in estimates),
    )
    rows = [
        [
            name,
            *(_estimate(each, field, amount) for field in estimates),
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
    return {"rows": rows, "remarks": remarks}


def _estimate(found: dict[str, Any], field: str, amount: Callable[[float | None], str]) -> str:
    error = found.get(f"{field}_error")
    return amount(found[field]) + (f" ± {amount(error)}" if error is not None else "")


def _setting(value: Any) -> str:
    return ", ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)
