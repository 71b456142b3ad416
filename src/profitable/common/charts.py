"""Parts of Altair charts that pages embed: lines with bands, legends that hide and show, values to point at.

A chart is kept as a Vega-Lite specification (`Figure`).  A page draws it, and `pages.save_svg` makes a picture of it.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import altair as alt

from profitable.common.looks import Look

PICTURE_WIDTH, HEIGHT = 640, 380
SHOWN_DIGITS = 6
DATA = "curves"
NOT_IN_FIELDS = "[:.]"  # a colon would begin a type, a dot the field of a field
POINTED_AT = "near"  # the selection of the time that the reader points at

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A chart as a Vega-Lite specification, with its caption and its name, which the files have, too."""

    name: str
    caption: str
    chart: dict[str, Any]

    @property
    def picture(self) -> dict[str, Any]:
        """The specification for a picture, with a fixed width and without what only shows when pointed at."""
        seen = [layer for layer in self.chart["layer"] if not _is_for_pointing(layer)]
        params = [param for param in self.chart.get("params", []) if param["name"] != POINTED_AT]
        return self.chart | {"width": PICTURE_WIDTH, "layer": seen, "params": params}


def _is_for_pointing(layer: dict[str, Any]) -> bool:
    """Whether a layer of a chart only shows when it is pointed at."""
    found: list[dict[str, Any]] | dict[str, Any] = layer["encoding"].get("opacity", {}).get("condition", [])
    return any(each["param"] == POINTED_AT for each in (found if isinstance(found, list) else [found]))


def plain(chart: Any, title: Any, rows: Rows, *, height: Any = HEIGHT) -> dict[str, Any]:
    """The specification of a chart, with its data.

    The data are added at the end, because Altair would copy them many times.  Its check is skipped, because it is slow.
    """
    chart = (
        chart.properties(width="container", height=height, title=alt.Title(title, anchor="start", fontSize=14))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12)
        .configure_legend(
            orient="bottom", columns=3, symbolType="stroke", symbolSize=700, symbolStrokeWidth=2.5, symbolOpacity=1.0,
            labelFontSize=12, labelLimit=300,
        )
    )  # fmt: skip
    spec = cast(dict[str, Any], chart.to_dict(validate=False))
    return spec | {"datasets": spec.get("datasets", {}) | {DATA: rows}}


def lines_with_bands(
    rows: Rows,
    looks: Mapping[str, Look],
    across: Any,
    up: Any,
    *,
    title: str,
    time: Any,
    format: str = ",.5~g",
    shown: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Lines (x, y, policy) with bands (low, high), where rows have them.  Rows may say what x is called (label).

    The legend has the order of `looks`, and hides and shows the lines.  Pointing shows `time` and all values there, in
    `format`.  At first all lines are shown, or those named by `shown`.
    """
    order = list(looks)
    legend = alt.Legend(title=None)
    colours = alt.Scale(domain=order, range=[look.colour for look in looks.values()])
    dashes = alt.Scale(domain=order, range=[list(look.dash) for look in looks.values()])
    colour = alt.Color("policy:N", scale=colours, sort=order, legend=legend)
    dash = alt.StrokeDash("policy:N", scale=dashes, sort=order, legend=legend)
    toggled = toggle("policy", order if shown is None else shown)
    base = alt.Chart(alt.NamedData(DATA)).encode(x=across)
    lines = base.mark_line(strokeWidth=2, clip=True).encode(
        y=up,
        color=colour,
        strokeDash=dash,
        opacity=alt.when(toggled).then(alt.value(1.0)).otherwise(alt.value(0.07)),
    )
    bands = base.mark_area(clip=True).encode(
        y=alt.Y("low:Q", title=up["title"]),
        y2="high:Q",
        color=colour,
        fillOpacity=alt.when(toggled).then(alt.value(0.18)).otherwise(alt.value(0.0)),
    )
    near = ["x", "label"] if any("label" in row for row in rows) else ["x"]
    layers = [lines.add_params(toggled), *_hover(base, order, up, colour, time, near, format)]
    if any("low" in row for row in rows):
        layers.insert(0, bands)
    return plain(alt.layer(*layers), title, rows)


def toggle(field: str, names: Sequence[str]) -> Any:
    """A click on a name in the legend hides or shows its curve; those of `names` are shown at first."""
    everything: Any = [{field: name} for name in names]
    return alt.selection_point(name="shown", fields=[field], bind="legend", toggle="true", value=everything)


def _hover(
    base: Any, order: Sequence[str], up: Any, colour: Any, time: Any, groupby: list[str], format: str
) -> list[Any]:
    """A rule at the nearest time, with the values of all policies there, and points on the curves."""
    near = alt.selection_point(
        name=POINTED_AT, fields=["x"], nearest=True, on="pointerover", clear="pointerout", empty=False
    )
    tooltip = [time]
    tooltip += [alt.Tooltip(f"{re.sub(NOT_IN_FIELDS, '_', name)}:Q", title=name, format=format) for name in order]
    rule = (
        base.transform_calculate(column=f"replace(datum.policy, /{NOT_IN_FIELDS}/g, '_')")
        .transform_pivot("column", value="y", groupby=groupby)
        .mark_rule(color="#888888")
        .encode(opacity=alt.when(near).then(alt.value(0.6)).otherwise(alt.value(0.0)), tooltip=tooltip)
        .add_params(near)
    )
    points = base.mark_point(filled=True, size=36).encode(
        y=up, color=colour, opacity=alt.when(near).then(alt.value(1.0)).otherwise(alt.value(0.0))
    )
    return [rule, points]


def digits(value: float) -> float:
    """A number with as many digits as a chart can show.

    >>> digits(1 / 3)
    0.333333
    """
    return float(f"{value:.{SHOWN_DIGITS}g}")
