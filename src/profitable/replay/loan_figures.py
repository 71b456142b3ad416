"""Figures of loans that are judged by their hazards, from the dict of a backtest."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

from typing import Any

import altair as alt

from profitable.common.charts import DATA, Figure, Rows, digits, lines_with_bands, plain, styled
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASHED,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    SOLID,
    VERMILION,
    Look,
)
from profitable.replay.backtest_charts import (
    labels_of,
    period_of,
    points,
    time_axis,
    traced_categories,
)

COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
MOST_PRODUCTS = len(COLOURS)


def hazard_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the hazard by age, and the share of defaults that has emerged by then."""
    if not backtest.get("loans"):
        return None
    products = backtest["loans"]["products"][:MOST_PRODUCTS]
    names = [f"{each['term']} {period_of(backtest)}s" for each in products]
    rows: Rows = []
    for name, each in zip(names, products, strict=True):
        last = max((age for age, seen in enumerate(each["seen"]) if seen), default=0)
        for age, (hazard, emerged) in enumerate(zip(each["hazard"], each["emerged"], strict=True)):
            point = {"x": age, "product": name, "emerged": digits(emerged)}
            if age <= each["term"]:
                point["hazard"] = digits(hazard)
            if age <= last:
                rows.append(point | {"part": "seen"})
            if age >= last:
                rows.append(point | {"part": "extrapolated"})
    across = alt.X(
        "x:Q", title=f"age of a loan, in {period_of(backtest)}s", axis=alt.Axis(grid=False)
    )
    colour = alt.Color(
        "product:N",
        title="term",
        scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
    )
    dash = alt.StrokeDash(
        "part:N",
        title=None,
        scale=alt.Scale(domain=["seen", "extrapolated"], range=[list(SOLID), list(DASHED)]),
    )
    base = (
        alt.Chart(alt.NamedData(DATA))
        .mark_line(strokeWidth=2)
        .encode(
            x=across,
            color=colour,
            strokeDash=dash,
            tooltip=[
                "product:N",
                alt.Tooltip("x:Q", title="age"),
                alt.Tooltip("hazard:Q", format=".2%"),
                alt.Tooltip("emerged:Q", format=".0%"),
            ],
        )
    )
    charts = [
        base.transform_filter(f"isValid(datum.{field})")
        .encode(y=alt.Y(f"{field}:Q", title=title, axis=alt.Axis(format=format, tickCount=5)))
        .properties(width=300, height=220)
        for field, title, format in (
            ("hazard", f"hazard of default in a {period_of(backtest)}", ".1%"),
            ("emerged", "share of all defaults that is known", ".0%"),
        )
    ]
    chart = plain_row(charts, rows)
    caption = (
        "First: of the loans that are open at an age within the term, the share that defaults "
        "then. Second: the "
        "share of a loan's expected defaults that is known by that age. Both are learnt from all "
        "loans of the file; dashed parts are ages that no loan has reached."
    )
    return Figure("hazards", caption, chart)


def plain_row(charts: list[Any], rows: Rows) -> dict[str, Any]:
    """Return the specification of charts side by side, with their data."""
    found: dict[str, Any] = styled(alt.hconcat(*charts, spacing=40)).to_dict(validate=False)
    return found | {"datasets": {DATA: rows}}


def level_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the level of defaults by period of issue."""
    if not backtest.get("loans") or not backtest["loans"]["levels"]:
        return None
    loans, labels = backtest["loans"], backtest["rounds"]
    rows: Rows = []
    for each in loans["levels"]:
        spread = 1.96 * max(each["defaults"], 1.0) ** 0.5 / each["expected"]
        first = min(each["first"], len(labels))
        rows.append(
            {
                "x": first,
                "label": labels[first - 1],
                "policy": "level",
                "y": digits(each["level"]),
                "low": digits(max(each["level"] - spread, 0.0)),
                "high": digits(each["level"] + spread),
            }
        )
    up = alt.Y("y:Q", title="defaults / expected", axis=alt.Axis(tickCount=6))
    chart = lines_with_bands(
        rows,
        {"level": Look(BLUE)},
        time_axis(labels, "issued in"),
        up,
        title="Level of defaults by time of issue",
        time=alt.Tooltip("label:N", title="issued in"),
    )
    seen = loans["level_seen"]
    caption = (
        "Defaults of the loans of each period, divided by those that the hazards of the whole "
        "file expect of them by now, with 95 % intervals. "
    )
    if seen is not None:
        caption += (
            f"Beyond chance, the levels have a standard deviation of {seen:.2f} in logarithms; "
            f"the evidence allows for {loans['level']:g}."
        )
    return Figure("levels", caption, chart)


def affordable_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw known defaults over those that break even, by category and round."""
    entries = [each for each in backtest["entries"] if each.get("affordable")]
    if not entries:
        return None
    labels, shown = backtest["rounds"], traced_categories(backtest)
    chosen = points(len(labels))
    rows: Rows = []
    for each in entries:
        for name in shown:
            place = backtest["traced"].index(name)
            for x in chosen:
                afforded = each["affordable"][x - 1][place]
                known = each["defaults"][x - 1][place]
                if afforded is not None and (afforded or known):
                    rows.append(
                        {
                            "x": x,
                            "policy": each["name"],
                            "category": name,
                            "known": digits(known),
                            "affordable": digits(afforded),
                        }
                    )
    if not rows:
        return None
    names = list(dict.fromkeys(row["category"] for row in rows))
    category = alt.param(
        name="category", value=names[0], bind=alt.binding_select(options=names, name="Category ")
    )
    policy = alt.param(
        name="policy",
        value=entries[0]["name"],
        bind=alt.binding_select(options=[each["name"] for each in entries], name="Policy "),
    )
    base = (
        alt.Chart(alt.NamedData(DATA))
        .transform_filter("datum.category == category && datum.policy == policy")
        .transform_calculate(label="labels[datum.x - 1]")
        .encode(x=time_axis(labels, period_of(backtest)))
    )
    tooltip = [
        alt.Tooltip("label:N", title=period_of(backtest)),
        alt.Tooltip("known:Q", title="known defaults", format=",.4~g"),
        alt.Tooltip("affordable:Q", title="affordable", format=",.4~g"),
    ]
    axis = alt.Axis(tickCount=6)
    lines = [
        base.mark_line(strokeWidth=2, color=colour, strokeDash=list(dash)).encode(
            y=alt.Y(f"{field}:Q", title="defaults", axis=axis), tooltip=tooltip
        )
        for field, colour, dash in (("known", VERMILION, SOLID), ("affordable", BLACK, DASHED))
    ]
    chart = plain(
        alt.layer(*lines).add_params(labels_of(labels), category, policy),
        alt.expr("'Known and affordable defaults: ' + category + ', ' + policy"),
        rows,
    )
    caption = (
        "Solid: defaults that were known of the loans the policy had accepted. Dashed: how many "
        "of them the category could afford by then. The solid line far above the dashed one is "
        "what the evidence counts."
    )
    return Figure("affordable", caption, chart)
