"""The advice on the page of a backtest: key figures and tables, from its dict.

Every key is optional.  What an older backtest does not have is not on the page.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from profitable.common.text_tables import listed, number_text, several
from profitable.replay.backtest_entry import BETTER, UNSURE, WORSE
from profitable.replay.baselines import ACCEPT_NONE, ALL
from profitable.replay.optional_keys import part_of, rows_of
from profitable.replay.page_amounts import Money

Table = dict[str, Any]  # headers, rows, and how many rows more there are
MOST_ROWS = 200  # of a table on the page; all are among the numbers
NAMED_IN_CELL = 4  # categories in one cell
MARKS = {BETTER: "▲", WORSE: "▼", UNSURE: "○"}
LEAST_PAYS = 0.001
MAY_BE_CHANCE, SURELY_BETTER = "may be chance", "significantly better"


def key_figures(backtest: dict[str, Any], money: Money) -> list[dict[str, str]]:
    """Return the few numbers at the top: a label, a number, and what it rests on."""
    found: list[dict[str, str]] = []
    everybody = next(each for each in backtest["entries"] if each["name"] == ALL)
    if everybody["profit"] is not None:
        found.append(
            {
                "label": "Accepting everybody earned",
                "number": money.short(everybody["profit"]),
                "rests": f"{several(backtest['clients'], 'client')}",
            }
        )
    found += _best_policy(backtest, money)
    listed = part_of(backtest, "stop_list")
    stopped = [row for row in rows_of(listed, "rows") if row["stop"]]
    if listed:
        lost = sum(row["profit"] for row in stopped)
        found.append(
            {
                "label": "On the stop list",
                "number": f"{number_text(len(stopped))} of {number_text(listed['tested'])}",
                "rests": f"categories; until now they brought {money.short_signed(lost)}"
                if stopped
                else "categories",
            }
        )
    judged_later = [each for each in rows_of(backtest, "time_splits") if each["gain"] is not None]
    for each in judged_later[:1]:
        by = f", by {each['grouping']}" if len(judged_later) > 1 else ""
        found.append(
            {
                "label": f"Stop lists made earlier{by}: gained afterwards",
                "number": money.short_signed(each["gain"]),
                "rests": _rests(each, money),
            }
        )
    return found


def _best_policy(backtest: dict[str, Any], money: Money) -> list[dict[str, str]]:
    """Return the figure of the policy that earned most, against the better baseline."""
    judged = [
        each
        for each in backtest["entries"]
        if each["kind"] == "policy" and each["difference"] is not None
    ]
    if not judged:
        return []
    best = max(judged, key=lambda each: each["difference"])
    if backtest.get("uninformative"):
        said = {"number": "-", "rests": "it could not learn in time"}
    elif backtest.get("baseline") == ACCEPT_NONE:  # because accepting everybody loses
        beats = best["name"] in rows_of(backtest, "beating")
        mark, rests = (BETTER, SURELY_BETTER) if beats else (UNSURE, MAY_BE_CHANCE)
        number = f"{MARKS[mark]} {money.short_signed(best['profit'])}"
        said = {"number": number, "rests": rests}
        return [{"label": f"Best policy ({best['name']}), against accepting nobody"} | said]
    else:
        number = f"{MARKS[best['standing']]} {money.short_signed(best['difference'])}"
        said = {"number": number, "rests": _rests(best, money)}
    return [{"label": f"Best policy ({best['name']}), against accepting everybody"} | said]


def _rests(each: dict[str, Any], money: Money) -> str:
    if each.get("low") is None or each.get("high") is None:
        return "without an interval"
    said = f"95 %: {_interval(each, Money())}"
    found = each.get("standing")
    if found is None and each["low"] <= 0.0 <= each["high"]:
        found = UNSURE
    words = {UNSURE: MAY_BE_CHANCE, BETTER: SURELY_BETTER, WORSE: "significantly worse"}
    return f"{said}; {words[found]}" if found is not None else said


def _interval(each: dict[str, Any], money: Money) -> str:
    if each["low"] is None or each["high"] is None:
        return "-"
    return f"{money.short_signed(each['low'])} to {money.short_signed(each['high'])}"


def stop_tables(found: dict[str, Any] | None, money: Money) -> list[Table]:
    """Return a table for each grouping; rows say whether the category is stopped."""
    if not found:
        return []
    ordered = in_stop_order(found["rows"])
    groupings = list(dict.fromkeys(row["grouping"] for row in ordered))
    return [
        {"name": name} | _stop_table([row for row in ordered if row["grouping"] == name], money)
        for name in groupings
    ]


def in_stop_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort categories by grouping, the stopped ones first, then by P(pays)."""
    found = list(rows)
    groupings = list(dict.fromkeys(row["grouping"] for row in found))

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        pays = row["pays"]
        return groupings.index(row["grouping"]), not row["stop"], pays is None, pays or 0.0

    return sorted(found, key=place)


def _stop_table(found: Sequence[dict[str, Any]], money: Money) -> Table:
    totals = money.of(row["profit"] for row in found)
    lent = money.of(row["amount"] for row in found)
    means = [row["profit"] / row["clients"] if row["clients"] else None for row in found]
    client = money.per_client([*means, *(row[end] for row in found for end in ("low", "high"))])
    has_money = any(row["amount"] is not None for row in found)
    headers = ["category", "stop?", "clients", "open", *([lent.head("money")] if has_money else [])]
    headers += ["mean", "needed", totals.head("profit"), client.head("per client"), "95 % interval"]
    rows = [
        {
            "stop": row["stop"],
            "cells": [
                row["category"],
                "■ stop" if row["stop"] else "",
                number_text(row["clients"]),
                number_text(row["open"]),
                *([lent.text(row["amount"])] if has_money else []),
                number_text(row["mean"]),
                number_text(row["threshold"]),
                totals.signed(row["profit"]),
                client.signed(mean),
                client.span(row["low"], row["high"]),
                pays_text(row["pays"]),
            ],
        }
        for row, mean in zip(found, means, strict=True)
    ]
    return {
        "headers": [*headers, "P(pays)"],
        "rows": rows[:MOST_ROWS],
        "more": max(len(rows) - MOST_ROWS, 0),
    }


def pays_text(value: float | None) -> str:
    """Write the probability that a category pays.

    >>> pays_text(0.25), pays_text(0.00004), pays_text(0.99996), pays_text(None)
    ('0.25', '< 0.001', '> 0.999', '-')
    """
    if value is None:
        return "-"
    if value < LEAST_PAYS:
        return f"< {LEAST_PAYS}"
    return f"> {1.0 - LEAST_PAYS}" if value > 1.0 - LEAST_PAYS else number_text(round(value, 3))


def split_tables(found: Sequence[dict[str, Any]] | None, money: Money) -> list[Table]:
    """Return a table for each grouping; its last row is the sum."""
    return [_split_table(each, money) for each in found or [] if each["splits"]]


def _split_table(found: dict[str, Any], money: Money) -> Table:
    fields = ("accept_all", "gain", "possible")
    amounts = money.of(each[field] for each in found["splits"] for field in fields)
    headers = ["list made after", "known", "open", "stopped", "judged on"]
    headers += [
        amounts.head("accepting everybody"),
        amounts.head("gain of the list"),
        amounts.head("best list in hindsight"),
    ]
    rows = [
        [
            each["date"],
            number_text(each["known"]),
            number_text(each["open"]),
            listed(each["stopped"], NAMED_IN_CELL) or "none",
            window_of(each),
            amounts.text(each["accept_all"]),
            amounts.signed(each["gain"]),
            amounts.signed(each["possible"]),
        ]
        for each in found["splits"]
    ]
    together = [
        "together", "", "", "", "",
        amounts.text(found["accept_all"]),
        amounts.signed(found["gain"]),
        amounts.signed(found["possible"]),
    ]  # fmt: skip
    return {
        "name": found["grouping"],
        "headers": headers,
        "rows": rows,
        "together": together,
        "interval": _interval(found, money),
        "sentence": found.get("sentence"),
        "doubt": found.get("doubt"),
    }


def window_of(split: dict[str, Any]) -> str:
    """Return the rounds on which a list is judged.

    >>> window_of({"first": "2009-01", "last": "2009-12"})
    '2009-01 to 2009-12'
    """
    same = split["first"] == split["last"]
    return str(split["first"]) if same else f"{split['first']} to {split['last']}"


def swap_tables(found: Sequence[dict[str, Any]] | None, money: Money) -> list[Table]:
    """Return a table for each policy or list; its last row is the sum."""
    return [_swap_table(each, money) for each in found or [] if each["rows"]]


def _swap_table(found: dict[str, Any], money: Money) -> Table:
    kinds, rows = ("out", "in", "unchanged"), found["rows"]
    fields = [f"money_{kind}" for kind in kinds]
    amounts = money.of(row[field] for row in rows for field in fields)
    headers = ["category", *(f"clients {kind}" for kind in kinds)]
    headers += [amounts.head(f"profit {kind}") for kind in kinds]

    def cells(row: dict[str, Any]) -> list[str]:
        counts = [number_text(_round(row[f"clients_{kind}"])) for kind in kinds]
        return counts + [amounts.signed(row[field]) for field in fields]

    every = [f"{what}_{kind}" for what in ("clients", "money") for kind in kinds]
    sums = {
        field: None
        if any(row[field] is None for row in rows)
        else sum(row[field] for row in rows)
        for field in every
    }  # fmt: skip
    ordered = sorted(rows, key=lambda row: -((row["clients_out"] or 0) + (row["clients_in"] or 0)))
    return {
        "name": found["name"],
        "headers": headers,
        "rows": [[row["category"], *cells(row)] for row in ordered[:MOST_ROWS]],
        "together": ["together", *cells(sums)],
        "more": max(len(rows) - MOST_ROWS, 0),
        "sentence": found.get("sentence"),
        "estimated": found.get("estimated", False),
    }


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)


def groupings_table(found: Sequence[dict[str, Any]] | None, money: Money) -> Table | None:
    """Return the groupings side by side."""
    if not found:
        return None
    fields = ("hindsight", "cross_fitted", "difference")
    amounts = money.of(each.get(field) for each in found for field in fields)
    headers = ["grouping", "categories", amounts.head("best set in hindsight"), "cross-fitted"]
    headers += ["best policy", "it earned more", "95 % interval", "stop list"]
    headers += ["earlier lists gained", "95 % interval"]
    rows = [_grouping(each, amounts) for each in found]
    return {"headers": headers, "rows": rows}


def _grouping(each: dict[str, Any], amounts: Any) -> list[str]:
    error, later = each.get("cross_fitted_error"), part_of(each, "time_split")
    cross = amounts.signed(each.get("cross_fitted"))
    mark = MARKS.get(each.get("standing") or "", "")
    return [
        each["name"],
        number_text(each["categories"]),
        amounts.signed(each.get("hindsight")),
        f"{cross} ± {amounts.text(error)}" if error is not None else cross,
        f"{mark} {each.get('policy') or '-'}".strip(),
        amounts.signed(each.get("difference")),
        amounts.span(each.get("low"), each.get("high")),
        listed(rows_of(each, "stopped"), NAMED_IN_CELL) or "none",
        amounts.signed(later.get("gain")),
        amounts.span(later.get("low"), later.get("high")),
    ]


def emergence_table(found: dict[str, Any] | None) -> Table | None:
    """Return the ages at which half, and nearly all, is known."""
    if not found or not found["ages"]:
        return None
    shares = (0.25, 0.5, 0.75, 0.95)
    measures = [
        name
        for name in ("clients", "money", "losses", "gains")
        if any(value is not None for value in rows_of(found, name))
    ]
    rows = [[name, *(_age(found, name, share) for share in shares)] for name in measures]
    headers = ["share known", *(f"{share:.0%} by age" for share in shares)]
    return {"headers": headers, "rows": rows, "sentence": found.get("sentence")}


def _age(found: dict[str, Any], name: str, share: float) -> str:
    for age, value in zip(found["ages"], found[name], strict=True):
        if value is not None and value >= share:
            return number_text(age)
    return f"after {number_text(found['ages'][-1])}"
