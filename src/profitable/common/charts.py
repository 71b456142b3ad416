"""Altair charts: lines with bands, legends that hide and show, tooltips, pictures.

A page embeds a chart as a Vega-Lite specification (`Figure`).  `plot` methods return
Altair's own objects, which notebooks show, and `saved` writes them to a file.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import altair as alt
import vl_convert

from profitable.common.files import as_path, replace_file, saving
from profitable.common.line_styles import Look
from profitable.errors import InputError

PICTURE_WIDTH, HEIGHT = 640, 380
PANEL_WIDTH, PANEL_HEIGHT, PANEL_COLUMNS = 250, 200, 3
PIXELS = 2.0  # of a PNG for each pixel of the chart
SHOWN_DIGITS = 6
DATA = "curves"
NOT_IN_FIELDS = "[:.]"  # a colon would begin a type, a dot the field of a field
POINTED_AT = "near"  # the selection of the time that the reader points at

Rows = list[dict[str, Any]]
AnyChart = TypeVar("AnyChart")


@dataclass(frozen=True)
class Figure:
    """A chart as a Vega-Lite specification, with a caption and a name for its files."""

    name: str
    caption: str
    chart: dict[str, Any]

    @property
    def picture(self) -> dict[str, Any]:
        """The specification for a picture: of fixed width, without interaction."""
        return static(self.chart) | {"width": PICTURE_WIDTH}


# ---------------------------------------------------------------------- making charts


def styled(chart: AnyChart, *, columns: int = 3) -> AnyChart:
    """Return a chart in the package's style, with `columns` of names in its legend."""
    made = (
        cast(Any, chart)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12)
        .configure_legend(
            orient="bottom", columns=columns, labelFontSize=12, labelLimit=300,
            symbolType="stroke", symbolSize=700, symbolStrokeWidth=2.5, symbolOpacity=1.0,
        )
    )  # fmt: skip
    return cast(AnyChart, made)


def titled(text: Any) -> alt.Title:
    """Return the title of a chart or a panel."""
    return alt.Title(text, anchor="start", fontSize=14)


def plain(chart: Any, title: Any, rows: Rows, *, height: Any = HEIGHT) -> dict[str, Any]:
    """Return the specification of a chart, with its data.

    The data are added at the end, because Altair would copy them many times.  Its check
    is skipped, because it is slow.
    """
    chart = styled(chart.properties(width="container", height=height, title=titled(title)))
    spec = cast(dict[str, Any], chart.to_dict(validate=False))
    return spec | {"datasets": spec.get("datasets", {}) | {DATA: rows}}


def look_channels(field: str, looks: Mapping[str, Look], legend: Any) -> tuple[Any, Any]:
    """Return colour and dashes of curves by `field`, in the order of `looks`."""
    order = list(looks)
    colours = alt.Scale(domain=order, range=[look.colour for look in looks.values()])
    dashes = alt.Scale(domain=order, range=[list(look.dash) for look in looks.values()])
    return (
        alt.Color(f"{field}:N", scale=colours, sort=order, legend=legend),
        alt.StrokeDash(f"{field}:N", scale=dashes, sort=order, legend=legend),
    )


def shown_or(toggled: Any, shown: float, hidden: float) -> Any:
    """Return the opacity of a curve that the legend shows, and of one that it hides."""
    return alt.when(toggled).then(alt.value(shown)).otherwise(alt.value(hidden))


def line_layers(
    rows: Rows,
    looks: Mapping[str, Look],
    across: Any,
    up: Any,
    *,
    time: Any,
    format: str = ",.5~g",
    shown: Sequence[str] | None = None,
) -> alt.LayerChart:
    """Lines (x, y, policy) with bands (low, high) where rows have them, without data.

    Rows may name x (label).  The legend has the order of `looks`, and hides and shows
    the lines.  Pointing shows `time` and all values there, in `format`.  At first all
    lines are shown, or those named by `shown`.
    """
    order = list(looks)
    colour, dash = look_channels("policy", looks, alt.Legend(title=None))
    toggled = toggle("policy", order if shown is None else shown)
    base = alt.Chart(alt.NamedData(DATA)).encode(x=across)
    lines = base.mark_line(strokeWidth=2, clip=True).encode(
        y=up, color=colour, strokeDash=dash, opacity=shown_or(toggled, 1.0, 0.07)
    )
    bands = base.mark_area(clip=True).encode(
        y=alt.Y("low:Q", title=up["title"]),
        y2="high:Q",
        color=colour,
        fillOpacity=shown_or(toggled, 0.18, 0.0),
    )
    near = ["x", "label"] if any("label" in row for row in rows) else ["x"]
    layers = [lines.add_params(toggled), *_hover(base, order, up, colour, time, near, format)]
    if any("low" in row for row in rows):
        layers.insert(0, bands)
    return cast(alt.LayerChart, alt.layer(*layers))


def lines_with_bands(
    rows: Rows, looks: Mapping[str, Look], across: Any, up: Any, *, title: str, **options: Any
) -> dict[str, Any]:
    """Return the specification of `line_layers` with its data."""
    return plain(line_layers(rows, looks, across, up, **options), title, rows)


def toggle(field: str, names: Sequence[str]) -> Any:
    """Return a selection: a click on a name in the legend hides or shows its curve.

    `names` are shown at first.
    """
    everything: Any = [{field: name} for name in names]
    return alt.selection_point(
        name="shown", fields=[field], bind="legend", toggle="true", value=everything
    )


def _hover(
    base: Any,
    order: Sequence[str],
    up: Any,
    colour: Any,
    time: Any,
    groupby: list[str],
    format: str,
) -> list[Any]:
    """Return a rule at the nearest time with all values, and points on the curves."""
    near = alt.selection_point(
        name=POINTED_AT,
        fields=["x"],
        nearest=True,
        on="pointerover",
        clear="pointerout",
        empty=False,
    )
    tooltip = [time]
    tooltip += [
        alt.Tooltip(f"{re.sub(NOT_IN_FIELDS, '_', name)}:Q", title=name, format=format)
        for name in order
    ]
    rule = (
        base.transform_calculate(column=f"replace(datum.policy, /{NOT_IN_FIELDS}/g, '_')")
        .transform_pivot("column", value="y", groupby=groupby)
        .mark_rule(color="#888888")
        .encode(opacity=shown_or(near, 0.6, 0.0), tooltip=tooltip)
        .add_params(near)
    )
    points = base.mark_point(filled=True, size=36).encode(
        y=up, color=colour, opacity=shown_or(near, 1.0, 0.0)
    )
    return [rule, points]


def digits(value: float) -> float:
    """Return a number with as many digits as a chart can show.

    >>> digits(1 / 3)
    0.333333
    """
    return float(f"{value:.{SHOWN_DIGITS}g}")


# --------------------------------------------------------------------- making pictures


def static(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a specification without the layers that need a pointer."""
    made = dict(spec)
    for key in ("vconcat", "hconcat", "concat"):
        if key in made:
            made[key] = [static(part) for part in made[key]]
    if "layer" in made:
        made["layer"] = [static(layer) for layer in made["layer"] if not _is_for_pointing(layer)]
    if "params" in made:
        made["params"] = [param for param in made["params"] if param["name"] != POINTED_AT]
    return made


def _is_for_pointing(layer: dict[str, Any]) -> bool:
    """Return whether a layer of a chart shows only under the pointer."""
    opacity = layer.get("encoding", {}).get("opacity", {})
    found: list[dict[str, Any]] | dict[str, Any] = opacity.get("condition", [])
    return any(
        each["param"] == POINTED_AT for each in (found if isinstance(found, list) else [found])
    )


def svg_of(spec: dict[str, Any]) -> str:
    """Return a specification as SVG with clip paths and gradients numbered from 0.

    vl-convert counts on from one picture to the next, so the bytes would differ.
    """
    numbers: dict[str, str] = {}

    def renumber(found: re.Match[str]) -> str:
        return numbers.setdefault(
            found[0], found[1] + str(sum(name.startswith(found[1]) for name in numbers))
        )

    return re.sub(r"\b(clip|gradient_)\d+\b", renumber, vl_convert.vegalite_to_svg(spec))


# How a specification becomes the bytes of a file, by the ending of its name.
FORMATS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".svg": lambda spec: svg_of(static(spec)).encode(),
    ".png": lambda spec: vl_convert.svg_to_png(svg_of(static(spec)), scale=PIXELS),
    ".pdf": lambda spec: vl_convert.svg_to_pdf(svg_of(static(spec))),
    # Its stub asks for arguments that have defaults.
    ".html": lambda spec: cast(Any, vl_convert).vegalite_to_html(spec, bundle=True).encode(),
}


def saved(chart: AnyChart, path: str | os.PathLike[str] | None) -> AnyChart:
    """Return the chart; write it as SVG, PNG, PDF or HTML if there is a path.

    InputError for another ending, NotSavedError if the file cannot be written.
    """
    if path is None:
        return chart
    file = as_path("path", path)
    content_of = FORMATS.get(file.suffix.lower())
    if content_of is None:
        endings = ", ".join(FORMATS)
        raise InputError("path", str(file), "has an unknown ending", f"choose one of {endings}")
    content = content_of(cast(Any, chart).to_dict(validate=False))
    with saving(file, field="path", remedy="choose another file"):
        replace_file(file, lambda temporary: temporary.write_bytes(content))
    return chart
