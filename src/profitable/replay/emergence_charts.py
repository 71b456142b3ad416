"""Pictures of when outcomes are known, by age, from the dict of a backtest."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

from itertools import product
from typing import Any

import altair as alt

from profitable.common.charts import Figure, Rows, digits, line_layers, lines_with_bands, plain
from profitable.common.line_styles import (
    BLUE,
    DASH_DOT,
    DASHED,
    GREEN,
    ORANGE,
    PALETTE,
    SHORT,
    SOLID,
    VERMILION,
    Look,
)
from profitable.common.text_tables import number_text
from profitable.replay.backtest_charts import period_of, points
from profitable.replay.optional_keys import part_of, rows_of

LOOKS = {
    "clients": Look(BLUE),
    "money": Look(ORANGE, DASH_DOT),
    "losses": Look(VERMILION, DASHED),
    "gains": Look(GREEN, SHORT),
}
MOST_VINTAGES = 12  # curves in a picture
MEASURE = "money"  # that is shown first


def emergence_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the share of outcomes known by age: of clients, money, losses and gains."""
    found = part_of(backtest, "emergence")
    rows = _rows(found, LOOKS) if found else []
    if not rows:
        return None
    looks = {name: look for name, look in LOOKS.items() if _is_there(rows, name)}
    chart = lines_with_bands(
        rows, looks, _ages(backtest), _share(), title="When outcomes are known",
        time=alt.Tooltip("x:Q", title="age"), format=".0%",
    )  # fmt: skip
    caption = (
        "Share of clients, and of money, whose outcome is known by each age. Where losses run "
        "ahead of gains, young clients look worse than they are; where they lag, better."
    )
    return Figure("emergence", caption, chart)


def vintages_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the same by vintage, for a chosen measure."""
    there = rows_of(part_of(backtest, "emergence"), "vintages")
    found = [there[place - 1] for place in points(len(there), MOST_VINTAGES)]
    rows: Rows = []
    for each in found:
        for place in points(len(each["ages"])):
            row: dict[str, Any] = {"x": each["ages"][place - 1], "policy": str(each["vintage"])}
            for name in LOOKS:
                value = _share_at(each, name, place)
                row[f"{name}_"] = None if value is None else digits(value)
            rows.append(row)
    measures = [name for name in LOOKS if any(row[f"{name}_"] is not None for row in rows)]
    if not measures:
        return None
    styles = [
        Look(colour, dash) for dash, colour in product((SOLID, DASHED, SHORT, DASH_DOT), PALETTE)
    ]
    names = dict.fromkeys(row["policy"] for row in rows)
    looks = {name: styles[place % len(styles)] for place, name in enumerate(names)}
    choice = alt.param(
        name="measure",
        value=MEASURE if MEASURE in measures else measures[0],
        bind=alt.binding_select(options=measures, name="share of: "),
    )
    layers = line_layers(
        rows, looks, _ages(backtest), _share(), time=alt.Tooltip("x:Q", title="age"), format=".0%"
    )
    layers = layers.transform_calculate(y="datum[measure + '_']").transform_filter(
        "isValid(datum.y)"
    )
    chart = plain(
        layers.add_params(choice), alt.expr("'Known by age and vintage: ' + measure"), rows
    )
    caption = (
        "The same by vintage, as far as its clients have aged. Curves that part say that vintages "
        "differ. Click a name to hide or show its curve."
    )
    if len(found) < len(there):
        caption += f" Shown are {len(found)} of {number_text(len(there))} vintages."
    return Figure("emergence-by-vintage", caption, chart)


def _rows(found: dict[str, Any], names: Any) -> Rows:
    return [
        {"x": found["ages"][place - 1], "policy": name, "y": digits(share)}
        for name in names
        for place in points(len(found["ages"]))
        if (share := _share_at(found, name, place)) is not None
    ]


def _share_at(found: dict[str, Any], name: str, place: int) -> float | None:
    """Return the share known at an age; None if nobody knows it."""
    shares = rows_of(found, name)
    return shares[place - 1] if shares else None


def _is_there(rows: Rows, name: str) -> bool:
    return any(row["policy"] == name for row in rows)


def _ages(backtest: dict[str, Any]) -> Any:
    unit = part_of(backtest, "emergence").get("unit") or period_of(backtest)
    title = f"age, in {unit}s"
    axis = alt.Axis(grid=False, tickMinStep=1)
    return alt.X("x:Q", title=title, axis=axis, scale=alt.Scale(nice=False))


def _share() -> Any:
    axis = alt.Axis(format="%", tickCount=5)
    return alt.Y("y:Q", title="share known", scale=alt.Scale(domain=[0, 1]), axis=axis)
