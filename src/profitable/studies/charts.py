"""The charts of a study, made from its table only: small multiples, a map over two axes, and an overview over one."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import altair as alt

from profitable.common.charts import DATA, Figure, Rows, digits, plain
from profitable.common.looks import PALETTE, Look
from profitable.policy.looks import looks_of
from profitable.studies.expression import fill, shown
from profitable.studies.grid import HORIZON_NAME

PANEL_WIDTH, PANEL_HEIGHT, PANEL_COLUMNS = 250, 200, 3
MOST_PANELS = 30
WIDE_RANGE = 8.0  # a panel whose largest regret is so many times its smallest has a logarithmic axis
MORE = "…"
REGRET = "mean regret at the horizon"


@dataclass(frozen=True)
class Panels(Figure):
    """Small multiples: a page draws each of the figures, and a picture has all of them."""

    figures: tuple[Figure, ...]
    looks: dict[str, Look]

    def on_page(self) -> list[Figure]:
        """The panels without legends: the page has one for all."""
        return [
            replace(each, chart=each.chart | {"layer": _without_legends(each.chart["layer"])}) for each in self.figures
        ]

    @property
    def picture(self) -> dict[str, Any]:
        """All panels side by side, with one legend."""
        parts: list[dict[str, Any]] = []
        for figure in self.figures:
            part = {key: value for key, value in figure.chart.items() if key not in ("config", "datasets", "$schema")}
            part |= {"width": PANEL_WIDTH, "height": PANEL_HEIGHT, "data": {"values": figure.chart["datasets"][DATA]}}
            parts.append(part)
        whole = self.figures[0].chart
        resolve = {"scale": {"color": "shared", "strokeDash": "shared"}}
        return {
            "$schema": whole["$schema"],
            "config": whole["config"],
            "columns": PANEL_COLUMNS,
            "concat": parts,
            "resolve": resolve,
        }


@dataclass(frozen=True)
class Shape:
    """What the axes of a study are in its pictures: what worlds differ in, and the axis of policies (None: none)."""

    dims: tuple[str, ...]
    across: str | None

    @classmethod
    def of(cls, rows: Rows, axes: Sequence[str]) -> "Shape":
        """The shape of a table."""
        by_world: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_world.setdefault(row["world"], []).append(row)
        firsts = [found[0] for found in by_world.values()]
        inside = {name: len({row[name] for found in by_world.values() for row in found}) for name in axes}
        policy = [name for name in axes if any(len({row[name] for row in found}) > 1 for found in by_world.values())]
        dims = [name for name in ("scenario", HORIZON_NAME, *axes) if name not in policy]
        varying = tuple(name for name in dims if len({row[name] for row in firsts}) > 1)
        return cls(varying, max(policy, key=lambda name: inside[name]) if policy else None)


def figures(rows: Rows, axes: Mapping[str, Sequence[Any]]) -> list[Figure]:
    """All charts of a study that its shape allows."""
    shape = Shape.of(rows, list(axes))
    for row in rows:
        row["series"] = series_of(row, shape.across)
    made: list[Figure] = []
    if len(shape.dims) == 2:
        made += [_winners(rows, shape), _map(rows, shape)]
    elif len(shape.dims) == 1:
        made.append(_overview(rows, shape))
    worlds = len({row["world"] for row in rows})
    if shape.across is not None or (len(shape.dims) != 2 and worlds <= MOST_PANELS):
        made.append(_worlds(rows, shape))
    return made


def series_of(row: Mapping[str, Any], across: str | None) -> str:
    """The name of a line: the policy, without the value that is on the axis.

    >>> row = {"pattern": "kl-ucb:forget={forget},c={c}", "policy": "kl-ucb:forget=0.9,c=3", "forget": 0.9, "c": 3}
    >>> series_of(row, "forget"), series_of(row, None)
    ('kl-ucb:forget=…,c=3', 'kl-ucb:forget=0.9,c=3')
    """
    if across is None or f"{{{across}}}" not in row["pattern"].replace(" ", ""):
        return row["policy"]
    known = {name: value for name, value in row.items() if value is not None} | {across: MORE}
    return fill(row["pattern"], known, "policies")


def _point(row: Mapping[str, Any], x: Any) -> dict[str, Any]:
    """A setting as the charts show it."""
    stage = row["dropped_at_stage"]
    return {
        "x": x,
        "y": digits(row["regret"]),
        "low": digits(max(row["low"], row["regret"] * 1e-3)),
        "high": digits(row["high"]),
        "series": row["series"],
        "policy": row["policy"],
        "error": digits(row["stderr"]),
        "runs": row["runs"],
        "fate": "the best" if row["best"] else f"dropped after stage {stage}" if stage else _standing(row),
        "kept": not stage,
    }


def _standing(row: Mapping[str, Any]) -> str:
    return "worse than the best" if row["told_apart"] else "cannot be told from the best"


def _tooltip(*first: Any) -> list[Any]:
    return [
        *first,
        alt.Tooltip("policy:N"),
        alt.Tooltip("y:Q", title="regret", format=",.5~g"),
        alt.Tooltip("error:Q", title="± error", format=",.3~g"),
        alt.Tooltip("runs:Q", format=","),
        alt.Tooltip("fate:N", title="is"),
    ]


def _colours(looks: Mapping[str, Look], legend: Any) -> tuple[Any, Any]:
    order = list(looks)
    colours = alt.Scale(domain=order, range=[look.colour for look in looks.values()])
    dashes = alt.Scale(domain=order, range=[list(look.dash) for look in looks.values()])
    return (
        alt.Color("series:N", scale=colours, sort=order, legend=legend),
        alt.StrokeDash("series:N", scale=dashes, sort=order, legend=legend),
    )


def _regret_scale(points: Rows) -> Any:
    """The scale of an axis of regrets: logarithmic if they differ much."""
    values = [point["y"] for point in points]
    if values and min(values) > 0.0 and max(values) > WIDE_RANGE * min(values):
        return alt.Scale(type="log", nice=False)
    return alt.Scale(zero=False, nice=True)


def _worlds(rows: Rows, shape: Shape) -> Panels:
    """One panel for each world: regret over the policies' axis, or policy by policy."""
    names = list(dict.fromkeys(row["world"] for row in rows))
    looks = looks_of(list(dict.fromkeys(row["series"] for row in rows)))
    panels: list[Figure] = []
    for place, name in enumerate(names[:MOST_PANELS]):
        here = [row for row in rows if row["world"] == name]
        points = [_point(row, None if shape.across is None else _axis_value(row, shape.across)) for row in here]
        panel = _panel(points, looks, shape.across, name) if shape.across else _dots(points, looks, name)
        panels.append(Figure(f"world-{place + 1}", name, panel))
    left = len(names) - len(panels)
    over = f"over {shape.across}" if shape.across else "of each policy"
    caption = (
        f"Mean regret at the horizon {over}, a panel for each world. Bars are intervals that cover the truth in about "
        "95 % of samples. Filled points got all runs. Hollow ones were dropped early and have wider bars."
        + (" Horizontal lines are policies without the axis." if shape.across else "")
        + (f" {left} more worlds are in the table only." if left else "")
    )
    return Panels("worlds", caption, {}, tuple(panels), looks)


def _axis_value(row: Mapping[str, Any], across: str) -> str | None:
    return None if row[across] is None else shown(row[across])


def _panel(points: Rows, looks: Mapping[str, Look], across: str, title: str) -> dict[str, Any]:
    order = list(dict.fromkeys(point["x"] for point in points if point["x"] is not None))
    legend = alt.Legend(title=None)
    colour, dash = _colours(looks, legend)
    x = alt.X("x:O", sort=order, title=across, axis=alt.Axis(labelAngle=-45, labelOverlap=False))
    y = alt.Y("y:Q", title=None, scale=_regret_scale(points), axis=alt.Axis(tickCount=5, format="~s"))
    base = alt.Chart(alt.NamedData(DATA))
    on_axis = base.transform_filter("datum.x != null").encode(x=x, color=colour)
    lines = on_axis.mark_line(strokeWidth=1.5, opacity=0.7).encode(y=y, strokeDash=dash)
    bars = on_axis.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    dots = on_axis.mark_point(size=42, strokeWidth=1.6).encode(
        y=y,
        fill=alt.condition("datum.kept", colour, alt.value("white")),
        tooltip=_tooltip(alt.Tooltip("x:O", title=across)),
    )
    flat = (
        base.transform_filter("datum.x == null")
        .mark_rule(strokeWidth=2)
        .encode(y=y, color=colour, strokeDash=dash, tooltip=_tooltip())
    )
    return plain(alt.layer(flat, lines, bars, dots), title, points, height=PANEL_HEIGHT)


def _dots(points: Rows, looks: Mapping[str, Look], title: str) -> dict[str, Any]:
    """Policies below each other, when there is no axis."""
    colour, _ = _colours(looks, None)
    order = [point["series"] for point in sorted(points, key=lambda point: point["y"])]
    y = alt.Y("series:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
    x = alt.X("y:Q", title=None, scale=_regret_scale(points), axis=alt.Axis(tickCount=4, format="~s"))
    base = alt.Chart(alt.NamedData(DATA)).encode(y=y, color=colour)
    bars = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=None), x2="high:Q")
    dots = base.mark_point(size=42).encode(
        x=x, fill=alt.condition("datum.kept", colour, alt.value("white")), tooltip=_tooltip()
    )
    return plain(alt.layer(bars, dots), title, points, height=max(PANEL_HEIGHT, 18 * len(points)))


def _without_legends(value: Any) -> Any:
    """A specification without legends."""
    if isinstance(value, dict):
        parts = cast(dict[str, Any], value)
        return {key: None if key == "legend" else _without_legends(each) for key, each in parts.items()}
    return [_without_legends(each) for each in cast(list[Any], value)] if isinstance(value, list) else value


def _best_of_series(rows: Rows, name: str) -> Rows:
    """The best setting of each series in a world."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["world"] == name and (row["series"] not in found or row["regret"] < found[row["series"]]["regret"]):
            found[row["series"]] = row
    return list(found.values())


def _overview(rows: Rows, shape: Shape) -> Figure:
    """Over the one thing in which worlds differ: the lowest regret of each line."""
    (dim,) = shape.dims
    points: Rows = []
    for name in dict.fromkeys(row["world"] for row in rows):
        points += [_point(row, shown(row[dim])) for row in _best_of_series(rows, name)]
    looks = looks_of(list(dict.fromkeys(point["series"] for point in points)))
    colour, dash = _colours(looks, alt.Legend(title=None))
    order = list(dict.fromkeys(point["x"] for point in points))
    base = alt.Chart(alt.NamedData(DATA)).encode(x=alt.X("x:O", sort=order, title=dim, axis=alt.Axis(labelAngle=0)))
    y = alt.Y("y:Q", title=REGRET, scale=_regret_scale(points), axis=alt.Axis(format="~s"))
    lines = base.mark_line(strokeWidth=2).encode(y=y, color=colour, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=REGRET), y2="high:Q", color=colour)
    dots = base.mark_point(size=50, filled=True).encode(
        y=y, color=colour, tooltip=_tooltip(alt.Tooltip("x:O", title=dim))
    )
    of = f", each with its best {shape.across}" if shape.across else ""
    chart = plain(alt.layer(lines, bars, dots), f"The lowest regret over {dim}{of}", points)
    return Figure("overview", f"The mean regret of each policy{of}, over {dim}, with intervals.", chart)


def _cells(rows: Rows, shape: Shape) -> list[tuple[dict[str, Any], Rows]]:
    """For each world: where it is on the map, and the best setting of each series."""
    first, second = shape.dims
    found: list[tuple[dict[str, Any], Rows]] = []
    for name in dict.fromkeys(row["world"] for row in rows):
        best = _best_of_series(rows, name)
        found.append(({"x": shown(best[0][first]), "down": shown(best[0][second])}, best))
    return found


def _across_and_down(cells: Rows, shape: Shape) -> dict[str, Any]:
    first, second = shape.dims
    across = list(dict.fromkeys(cell["x"] for cell in cells))
    down = list(dict.fromkeys(cell["down"] for cell in cells))[::-1]
    return {
        "x": alt.X("x:O", sort=across, title=first, axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("down:O", sort=down, title=second),
    }


def _winners(rows: Rows, shape: Shape) -> Figure:
    """Which policy is best in each cell of the map."""
    cells: Rows = []
    alike = dict.fromkeys((row["world"] for row in rows), 0)
    for row in rows:
        alike[row["world"]] += not row["told_apart"] and not row["best"]
    for place, best in _cells(rows, shape):
        winner = next(row for row in best if row["best"])
        number = alike[winner["world"]]
        cells.append(_point(winner, place["x"]) | place | {"alike": number, "text": f"≈{number}" if number else ""})
    order = list(dict.fromkeys(cell["series"] for cell in cells))
    colours = alt.Scale(domain=order, range=[PALETTE[place % len(PALETTE)] for place in range(len(order))])
    legend = alt.Legend(title=None, symbolType="square", symbolSize=150)
    base = alt.Chart(alt.NamedData(DATA)).encode(**_across_and_down(cells, shape))
    squares = base.mark_rect(stroke="white", opacity=0.85).encode(
        color=alt.Color("series:N", scale=colours, sort=order, legend=legend),
        tooltip=[*_tooltip(), alt.Tooltip("alike:Q", title="others that cannot be told apart")],
    )
    texts = base.mark_text(color="white", fontSize=13).encode(text="text:N")
    chart = plain(alt.layer(squares, texts), "The best policy", cells, height=300)
    caption = (
        f"The policy with the lowest mean regret over {shape.dims[0]} and {shape.dims[1]}. "
        "≈2 means that two other settings cannot be told from it."
    )
    return Figure("best", caption, chart)


def _map(rows: Rows, shape: Shape) -> Panels:
    """A map for each policy: regret as colour, and how many times that of the best."""
    points: dict[str, Rows] = {}
    for place, best in _cells(rows, shape):
        lowest = next(row["regret"] for row in best if row["best"])
        for row in best:
            times = row["regret"] / lowest if lowest > 0.0 else math.inf
            cell = _point(row, place["x"]) | place | {"times": f"{times:.1f}" if times < 9.95 else f"{times:.0f}"}
            points.setdefault(row["series"], []).append(cell)
    values = [cell["y"] for cells in points.values() for cell in cells if cell["y"] > 0.0] or [1.0]
    low, high = min(values), max(values) * 1.001
    scale = alt.Scale(type="log", domain=[digits(low), digits(high)], scheme="blues", clamp=True)
    dark = digits(math.exp(0.45 * math.log(low) + 0.55 * math.log(high)))
    panels: list[Figure] = []
    for place, (name, cells) in enumerate(points.items()):
        base = alt.Chart(alt.NamedData(DATA)).encode(**_across_and_down(cells, shape))
        squares = base.mark_rect(stroke="white").encode(
            color=alt.Color("y:Q", scale=scale, legend=alt.Legend(title="regret", symbolType="square", format="~s")),
            tooltip=_tooltip(alt.Tooltip("times:N", title="times the best")),
        )
        texts = base.mark_text(fontSize=12).encode(
            text="times:N", color=alt.condition(f"datum.y > {dark}", alt.value("white"), alt.value("#1d2329"))
        )
        chart = plain(alt.layer(squares, texts), name, cells, height=PANEL_HEIGHT)
        panels.append(Figure(f"map-{place + 1}", name, chart))
    of = f" with its best {shape.across}" if shape.across else ""
    caption = (
        f"Mean regret at the horizon over {shape.dims[0]} and {shape.dims[1]}, a map for each policy{of}. Darker is "
        "more, on a logarithmic scale that all maps share. The numbers say how many times the regret of the best "
        "policy in that cell it is."
    )
    return Panels("maps", caption, {}, tuple(panels), {})
