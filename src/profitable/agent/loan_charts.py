"""Charts of a lending book: when loans default, who can afford it, and its level."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import math
from typing import Any

import altair as alt

from profitable.agent.loan_book import BookReading, LoanBook
from profitable.agent.loan_curves import by_age, loan_curves
from profitable.common.charts import Rows, digits, styled, titled
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASHED,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    SOLID,
    VERMILION,
)

COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)  # of products; more are not drawn
CATEGORIES_DRAWN = 20  # more cannot be read
PERIOD = 3  # rounds of issue whose loans share a level
SIDE, TALL = 330, 210
LINE = 24  # pixels of a category
CATEGORIES_BESIDE, IN_A_ROW, NARROW, LOW = 12, 4, 150, 110  # of categories side by side
DEFAULTS, AFFORDABLE = "defaults", "affordable"
TWO_SIDED = 1.96  # standard errors of a 95 % interval


def loan_chart(
    book: LoanBook, reading: BookReading, names: list[str], history: Rows | None = None
) -> alt.VConcatChart:
    """Draw a lending book whose categories have these names.

    A row of `history` has the `defaults` of a category (`name`) that were known in a
    round (`x`), and those that were `affordable`, None if nobody knows.
    """
    curves = loan_curves(book, reading, rounds=PERIOD)
    upper = alt.hconcat(
        _by_age(curves, "hazard", "hazard of default by age", ".1%"),
        _by_age(curves, "emerged", "share of defaults known by age", ".0%"),
        spacing=40,
    )
    lower = alt.hconcat(_affordable(reading, names), _levels(curves), spacing=40).resolve_scale(
        color="independent"
    )
    ages: Rows = [
        {"name": name, "x": age, DEFAULTS: defaults, AFFORDABLE: affordable}
        for k, name in enumerate(names)
        for age, (defaults, affordable) in enumerate(by_age(book, reading, k))
    ]
    panels = [upper, lower, *_against(ages, names, "by age", "age of a loan, in rounds")]
    if history is not None:
        panels += _against(history, names, "as each decision knew them", "round")
    chart = alt.vconcat(*panels, spacing=30, title=titled(f"Loans after {book.round} rounds"))
    return styled(chart.resolve_scale(color="independent", strokeDash="independent"))


def _panel(chart: Any, title: str | list[str], height: int = TALL) -> Any:
    return chart.properties(
        width=SIDE,
        height=height,
        title=alt.Title(title, anchor="start", fontSize=12, fontWeight="normal"),
    )


def _by_age(curves: dict[str, Any], field: str, up: str, format: str) -> Any:
    """Draw a curve of each product; ages that no loan has reached are dashed."""
    products = curves["products"][: len(COLOURS)]
    names = [f"{each['term']} rounds" for each in products]
    rows: Rows = []
    for name, each in zip(names, products, strict=True):
        last = max((age for age, seen in enumerate(each["seen"]) if seen), default=0)
        for age, value in enumerate(each[field]):
            row = {"age": age, "product": name, "value": digits(value)}
            if age <= last:
                rows.append(row | {"part": "seen"})
            if age >= last:
                rows.append(row | {"part": "extrapolated"})
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("age:Q", title="age of a loan, in rounds", axis=alt.Axis(grid=False)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(format=format, tickCount=5)),
            color=alt.Color(
                "product:N",
                title="term",
                scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
            ),
            strokeDash=alt.StrokeDash(
                "part:N",
                scale=alt.Scale(domain=["seen", "extrapolated"], range=[list(SOLID), list(DASHED)]),
                legend=None,
            ),
            tooltip=["product:N", "age:Q", alt.Tooltip("value:Q", title=up, format=".2%")],
        )
    )
    return _panel(lines, f"{up.capitalize()}; dashed: not reached yet")


def _affordable(reading: BookReading, every: list[str]) -> Any:
    """Draw known defaults as bars, and those that a category can afford as lines."""
    names = every[:CATEGORIES_DRAWN]
    standings = [reading.standing(k) for k in range(len(names))]
    edge = 1.1 * max(
        1.0,
        *(float(each.defaults) for each in standings),
        *(
            each.affordable
            for each in standings
            if each.affordable is not None and each.affordable < math.inf
        ),
    )
    rows: Rows = []
    for name, each in zip(names, standings, strict=True):
        row: dict[str, Any] = {"name": name, "defaults": each.defaults, "fate": "affordable"}
        if each.affordable is not None:
            row["affordable"] = digits(min(each.affordable, edge))
            if each.defaults > each.affordable:
                row["fate"] = "more than affordable"
        rows.append(row)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=160))
    )
    across: dict[str, Any] = {
        "title": "defaults by now",
        "scale": alt.Scale(domain=[0.0, edge], nice=False),
        "axis": alt.Axis(tickCount=5),
    }
    tooltip = ["name:N", "defaults:Q", "affordable:Q"]
    bars = base.mark_bar(height={"band": 0.55}).encode(
        x=alt.X("defaults:Q", **across),
        color=alt.Color(
            "fate:N",
            title=None,
            scale=alt.Scale(domain=["affordable", "more than affordable"], range=[BLUE, VERMILION]),
            legend=alt.Legend(symbolType="square", symbolSize=150, symbolStrokeWidth=0.0),
        ),
        tooltip=tooltip,
    )
    ticks = base.mark_tick(color=BLACK, opacity=1.0, thickness=2, height={"band": 0.9}).encode(
        x=alt.X("affordable:Q", **across), tooltip=tooltip
    )
    more = len(every) - len(names)
    title = "Known defaults; those it can afford are the black line"
    if more > 0:
        title += f" (first {len(names)} of {len(every)})"
    return _panel(alt.layer(bars, ticks), title, LINE * max(len(names), 6))


def _against(rows: Rows, every: list[str], along: str, across: str) -> list[Any]:
    """Draw known and affordable defaults along `x`, in a panel for each category."""
    names = every[:CATEGORIES_BESIDE]
    points: Rows = [
        {"name": row["name"], "x": row["x"], "kind": kind, "number": digits(row[kind])}
        for row in rows
        for kind in (DEFAULTS, AFFORDABLE)
        if row["name"] in names and row[kind] is not None and row[kind] < math.inf
    ]
    if not points:
        return []
    kinds = [DEFAULTS, AFFORDABLE]
    lines = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=across, axis=alt.Axis(grid=False, tickCount=5, tickMinStep=1)),
            y=alt.Y("number:Q", title=None, axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(domain=kinds, range=[VERMILION, BLACK])
            ),
            strokeDash=alt.StrokeDash(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[list(SOLID), list(DASHED)]),
            ),
            tooltip=["name:N", "kind:N", "x:Q", "number:Q"],
        )
        .properties(width=NARROW, height=LOW)
    )
    title = f"Known defaults and those that a category can afford, {along}"
    if len(every) > len(names):
        title += f" (first {len(names)} of {len(every)})"
    panels = lines.facet(
        alt.Facet("name:N", title=None, sort=names),
        columns=IN_A_ROW,
        title=alt.Title(title, anchor="start", fontSize=12, fontWeight="normal"),
    )
    return [panels.resolve_scale(y="independent")]


def _levels(curves: dict[str, Any]) -> Any:
    """Draw the level of defaults by period of issue, with 95 % intervals."""
    rows: Rows = []
    for each in curves["levels"]:
        spread = TWO_SIDED * math.sqrt(max(each["defaults"], 1.0)) / each["expected"]
        rows.append(
            {
                "round": each["first"],
                "last": each["last"],
                "level": digits(each["level"]),
                "low": digits(max(each["level"] - spread, 0.0)),
                "high": digits(each["level"] + spread),
            }
        )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "round:Q",
            title="issued from round",
            axis=alt.Axis(grid=False),
            scale=alt.Scale(nice=False),
        ),
        tooltip=["round:Q", "last:Q", "level:Q", "low:Q", "high:Q"],
    )
    up: dict[str, Any] = {"title": None, "axis": alt.Axis(tickCount=5)}
    one = alt.Chart(alt.InlineData(values=[{"level": 1.0}])).mark_rule(color=GREY)
    layers = [
        one.encode(y=alt.Y("level:Q", **up)),
        base.mark_rule(color=BLUE, strokeWidth=2, opacity=0.4).encode(
            y=alt.Y("low:Q", **up), y2="high:Q"
        ),
        base.mark_point(color=BLUE, filled=True, size=45, opacity=1.0).encode(
            y=alt.Y("level:Q", **up)
        ),
    ]
    return _panel(alt.layer(*layers), _level_title(curves))


def _level_title(curves: dict[str, Any]) -> list[str]:
    """Return the title of the levels, with a warning if they differ too much."""
    title, seen, level = (
        ["Defaults ÷ expected, by round of issue"],
        curves["level_seen"],
        curves["level"],
    )
    if seen is not None:
        title.append(f"log-sd beyond chance: {seen:.2f}; level={level:g}")
        if seen > level:
            title.append(
                f"Caution: more than assumed; give level={math.ceil(10.0 * seen) / 10.0:g}"
            )
    return title
