"""Charts of a backtest in which the reader chooses a policy or a category.

Each series is one row with its numbers in lists, which the chart unfolds after the
choice: so a page with 60 categories and 1 000 rounds stays small.  The chosen names
stand in the title, because a picture has no menu.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from profitable.common.charts import DATA, Figure, Rows, digits, plain
from profitable.common.line_styles import BLACK, BLUE, DASHED, GREEN, ORANGE, SOLID, VERMILION
from profitable.common.text_tables import number_text
from profitable.replay.backtest_charts import (
    LABEL,
    asked_in,
    labels_of,
    money_axis,
    money_format,
    money_of,
    period_of,
    points,
    rows_height,
    shown_categories,
    spans,
    time_axis,
    traced_categories,
)
from profitable.replay.baselines import ALL

CHOSEN = "datum.policy == policy"
LONG_LABEL = 8  # letters
PALE = "#E9EDF0"
FEW_DIGITS = 4
MOST_TRACED = 100  # rounds of evidence and patience, which every category and policy has
BENDS = [0, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000]


def accepted_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw what was accepted when: the share of rounds and seeds by category."""
    entries = [each for each in backtest["entries"] if each["accepted"]]
    if not entries:
        return None
    labels, shown = backtest["rounds"], traced_categories(backtest)
    places = [_place(backtest, name) for name in shown]
    parts = spans(len(labels))
    length = parts[0][1]
    rows: Rows = []
    for each in entries:
        table = np.asarray(each["accepted"], dtype=float)
        means = np.stack([table[first - 1 : last].mean(axis=0) for first, last in parts])
        rows += [
            {
                "policy": each["name"],
                "category": name,
                "share": np.round(means[:, place], 2).tolist(),
            }
            for name, place in zip(shown, places, strict=True)
        ]
    end = len(labels) + 1
    across = time_axis(labels, asked_in(backtest)).scale(domain=[1, end], nice=False)
    up = alt.Y(
        "category:N", title=None, scale=alt.Scale(domain=shown), axis=alt.Axis(labelLimit=200)
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], range=[PALE, BLUE]),
        legend=alt.Legend(
            title="share of rounds accepted" if length > 1 else "accepted",
            format="%",
            gradientLength=160,
        ),
    )
    base = (
        alt.Chart(alt.NamedData(DATA))
        .transform_filter(CHOSEN)
        .transform_calculate(place="sequence(length(datum.share))")
        .transform_flatten(["place", "share"])
        .transform_calculate(
            x=f"1 + {length} * datum.place", end=f"min({end}, 1 + {length} * (datum.place + 1))"
        )
        .transform_calculate(first=LABEL, last="labels[datum.end - 2]")
    )
    cells = base.mark_rect(stroke="#ffffff", strokeWidth=0.4, aria=False).encode(
        x=across,
        x2="end:Q",
        y=up,
        color=colour,
        tooltip=[
            "category:N",
            alt.Tooltip("first:N", title="from"),
            alt.Tooltip("last:N", title="to"),
            alt.Tooltip("share:Q", title="accepted", format=".0%"),
        ],
    )
    layers = [cells, *_border(backtest, shown, up)]
    chart = plain(
        alt.layer(*layers).add_params(
            labels_of(labels),
            _policy_choice(entries),
        ),
        alt.expr("'What was accepted when: ' + policy"),
        rows,
        height=rows_height(len(shown)),
    )
    caption = (
        "Blue was accepted, grey was refused. The categories are sorted by what accepting "
        "everybody in them earned"
    )
    caption += "; those above the line earned, those below it lost." if len(layers) > 1 else "."
    caption += f" A cell is {number_text(length)} rounds." if length > 1 else ""
    return Figure("accepted", caption + _only(backtest), chart)


def _border(backtest: dict[str, Any], shown: Sequence[str], up: Any) -> list[Any]:
    """Draw a line between the categories that earned and those that lost."""
    profits = {each["name"]: each["profit"] for each in backtest["categories"]}
    below = [name for name in shown if profits[name] < 0.0]
    if not below or len(below) == len(shown):
        return []
    data = alt.InlineData(values=[{"category": below[0]}])
    line = alt.Y("category:N", scale=up["scale"], axis=up["axis"], title=None, bandPosition=0)
    return [alt.Chart(data).mark_rule(color=BLACK, strokeWidth=1.5).encode(y=line)]


def evidence_figure(backtest: dict[str, Any]) -> Figure | None:
    """Evidence against patience of a chosen category and policy."""
    entries = [each for each in backtest["entries"] if each["evidence"]]
    labels, shown = backtest["rounds"], traced_categories(backtest)
    if not entries:
        return None
    rounds = points(len(labels), MOST_TRACED)
    at = np.asarray(rounds) - 1
    rows: Rows = []
    for each in entries:
        evidence, patience = (
            np.asarray(each[field], dtype=float)[at] for field in ("evidence", "patience")
        )
        accepted = np.asarray(each["decided"], dtype=int)[at]
        for name in shown:
            place = _place(backtest, name)
            row = {"policy": each["name"], "category": name, "evidence": _short(evidence[:, place])}
            row |= {"patience": _short(patience[:, place]), "accepted": accepted[:, place].tolist()}
            rows.append(row)
    step = rounds[1] - rounds[0] if len(rounds) > 1 else 1
    base = (
        alt.Chart(alt.NamedData(DATA))
        .transform_filter(f"{CHOSEN} && datum.category == category")
        .transform_calculate(x="at")
        .transform_flatten(["x", "evidence", "patience", "accepted"])
        .transform_calculate(end=f"min(datum.x + {step}, {len(labels)})", label=LABEL)
        .transform_calculate(decision="datum.accepted ? 'accepted' : 'refused'")
    )
    across = time_axis(labels, period_of(backtest))
    up = alt.Y(
        "value:Q",
        title="evidence, patience",
        scale=alt.Scale(type="symlog", constant=1, domainMin=0),
        axis=alt.Axis(values=BENDS, format=",~g"),
    )
    names: Any = ["evidence", "patience"]
    legend = alt.Legend(title=None)
    lines = (
        base.transform_fold(names, as_=["kind", "value"])
        .mark_line(strokeWidth=2)
        .encode(
            x=across,
            y=up,
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=names, range=[VERMILION, BLUE]), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "kind:N",
                scale=alt.Scale(domain=names, range=[list(SOLID), list(DASHED)]),
                legend=legend,
            ),
        )
    )
    shade = (
        base.transform_filter("datum.accepted")
        .mark_rect(color=GREEN, opacity=0.13, aria=False)
        .encode(x=across, x2="end:Q")
    )
    pointed = base.mark_rect(opacity=0.0, aria=False).encode(
        x=across,
        x2="end:Q",
        tooltip=[
            alt.Tooltip("label:N", title=period_of(backtest)),
            alt.Tooltip("evidence:Q", format=".4~g"),
            alt.Tooltip("patience:Q", format=".4~g"),
            alt.Tooltip("decision:N"),
        ],
    )
    chart = plain(
        alt.layer(shade, lines, pointed).add_params(
            labels_of(labels),
            alt.param(name="at", value=rounds),
            _policy_choice(entries),
            _choice("category", shown, _undecided(entries[0], backtest, shown)),
        ),
        alt.expr("'Evidence, patience: ' + category + ', ' + policy"),
        rows,
    )
    caption = (
        "A category is accepted while its evidence is at most the patience: there the picture is "
        "shaded green. Towards "
        "the top the axis is drawn together, like a logarithm."
    )
    if len(rounds) < len(labels):
        caption += f" Drawn are {number_text(len(rounds))} of {number_text(len(labels))} rounds."
    if any(each["seeds"] > 1 for each in backtest["entries"]):
        caption += " A policy that draws random numbers is shown with its first seed."
    return Figure("evidence", caption + _only(backtest), chart)


def vintage_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the profit of a chosen policy and of accepting everybody by vintage."""
    entries = [
        each
        for each in backtest["entries"]
        if each["name"] != ALL and each["difference"] is not None
    ]
    if not entries:
        return None
    rows: Rows = [
        {
            "policy": each["name"],
            "vintage": str(one["vintage"]),
            "all": digits(one["all"]),
            "profit": digits(one["profit"]),
        }
        for each in entries
        for one in each["by_vintage"]
    ]
    vintages = list(dict.fromkeys(row["vintage"] for row in rows))
    kinds: Any = ["all", "profit"]
    amounts = [row[kind] for row in rows for kind in kinds]
    pointed = money_format(amounts)
    is_long = max(map(len, vintages)) > LONG_LABEL
    across = alt.X(
        "vintage:N",
        title="clients who asked in",
        scale=alt.Scale(domain=vintages),
        axis=alt.Axis(labelAngle=-35 if is_long else 0, labelOverlap=True, labelLimit=200),
    )
    bars = (
        alt.Chart(alt.NamedData(DATA))
        .transform_filter(CHOSEN)
        .transform_calculate(difference="datum.profit - datum.all")
        .transform_fold(kinds, as_=["kind", "value"])
        .mark_bar()
        .encode(
            x=across,
            xOffset=alt.XOffset("kind:N", scale=alt.Scale(domain=kinds)),
            y=alt.Y("value:Q", title=f"profit, in {money_of(backtest)}", axis=money_axis(amounts)),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=["#A3AAB1", BLUE]),
                legend=_squares("datum.label == 'all' ? 'accept all' : policy"),
            ),
            tooltip=[
                alt.Tooltip("vintage:N"),
                alt.Tooltip("all:Q", title="accept all", format=pointed),
                alt.Tooltip("profit:Q", title="chosen", format=pointed),
                alt.Tooltip("difference:Q", format=pointed),
            ],
        )
    )  # fmt: skip
    zero = (
        alt.Chart(alt.InlineData(values=[{"value": 0.0}]))
        .mark_rule(color=BLACK)
        .encode(y="value:Q")
    )
    chart = plain(
        alt.layer(bars, zero).add_params(_policy_choice(entries)),
        alt.expr("'Profit by vintage: ' + policy + ' and accept all'"),
        rows,
    )
    caption = "Profit of the clients who asked in each period, whenever it was known."
    return Figure("vintage", caption, chart)


def learning_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw what learning cost by category."""
    entries = [
        each
        for each in backtest["entries"]
        if each["kind"] == "policy" and each["difference"] is not None
    ]
    if not entries:
        return None
    shown = set(shown_categories(backtest))
    rows: Rows = [
        {
            "policy": each["name"],
            "category": one["category"],
            "accepting": digits(one["lost_accepting"]),
            "refusing": digits(one["lost_refusing"]),
        }
        for each in entries
        for one in each["by_category"]
        if one["category"] in shown
    ]
    kinds: Any = ["accepting", "refusing"]
    amounts = [row[kind] for row in rows for kind in kinds]
    pointed = money_format(amounts)
    losses = [alt.Tooltip(f"{kind}:Q", title=f"lost by {kind}", format=pointed) for kind in kinds]
    sort = alt.EncodingSortField(field="value", op="sum", order="descending")
    bars = (
        alt.Chart(alt.NamedData(DATA))
        .transform_filter(CHOSEN)
        .transform_fold(kinds, as_=["kind", "value"])
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=f"lost, in {money_of(backtest)}", axis=money_axis(amounts)),
            y=alt.Y("category:N", title=None, sort=sort, axis=alt.Axis(labelLimit=200)),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[ORANGE, BLUE]),
                legend=_squares("'by ' + datum.label"),
            ),
            tooltip=["category:N", *losses],
        )
    )  # fmt: skip
    chart = plain(
        alt.layer(bars).add_params(_policy_choice(entries)),
        alt.expr("'What learning cost: ' + policy"),
        rows,
        height=rows_height(len(shown)),
    )
    caption = (
        "Compared with the best fixed set in hindsight: lost by accepting categories that did "
        "not pay, and by refusing "
        "categories that did. A bar to the left is a gain: the category was refused in bad times "
        "only."
    )
    return Figure("learning", caption + _only(backtest), chart)


def _squares(label: str) -> Any:
    """Return the legend of bars."""
    return alt.Legend(
        title=None, labelExpr=label, symbolType="square", symbolStrokeWidth=0.0, symbolSize=150
    )


def _choice(name: str, options: Sequence[str], value: str) -> Any:
    """Return a menu above the chart."""
    return alt.param(
        name=name, value=value, bind=alt.binding_select(options=list(options), name=f"{name}: ")
    )


def _policy_choice(entries: Sequence[dict[str, Any]]) -> Any:
    """Return a menu of policies and baselines; a policy comes first if there is one."""
    names = [each["name"] for each in entries]
    first = next((each["name"] for each in entries if each["kind"] == "policy"), names[0])
    return _choice("policy", names, first)


def _place(backtest: dict[str, Any], name: str) -> int:
    return backtest["traced"].index(name)


def _undecided(entry: dict[str, Any], backtest: dict[str, Any], shown: Sequence[str]) -> str:
    """Return the category accepted nearest to half of the time."""
    shares = np.asarray(entry["decided"], dtype=float).mean(axis=0)
    return min(shown, key=lambda name: abs(float(shares[_place(backtest, name)]) - 0.5))


def _short(values: Any) -> list[float | None]:
    return [
        float(f"{value:.{FEW_DIGITS}g}") if np.isfinite(value) else None
        for value in values.tolist()
    ]


def _only(backtest: dict[str, Any]) -> str:
    """Say how many categories a picture leaves out."""
    shown, there = len(shown_categories(backtest)), len(backtest["categories"])
    return (
        f" Shown are the {number_text(shown)} of {number_text(there)} categories with the most "
        "clients."
        if shown < there
        else ""
    )
