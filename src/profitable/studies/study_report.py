"""The page of a study: it opens offline, with the best settings first.

Its charts are pictures, too.

Everything is made from the table of the result, so the page, the pictures and the
numbers cannot disagree.  Every file is written whole, and the page last.  The charts
are small multiples, a map over two axes, and an overview over one.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, cast

import altair as alt

from profitable.common.charts import (
    DATA,
    PANEL_COLUMNS,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    Figure,
    Rows,
    digits,
    look_channels,
    plain,
)
from profitable.common.files import replace_text, saving
from profitable.common.line_styles import PALETTE, Look
from profitable.common.pages import chart_script, chart_specs, environment, save_pictures
from profitable.common.text_tables import number_text
from profitable.policy.policies import looks_of
from profitable.simulation.result import short
from profitable.studies.conduct import STUDY_PAGE
from profitable.studies.grid import HORIZON_NAME, fill, shown
from profitable.studies.study_result import SIGNIFICANCE, StudyResult
from profitable.version import VERSION

STUDY_TEMPLATES = Path(__file__).parent / "templates"
STUDY_PICTURES = ("overview", "best", "maps", "worlds")
PICTURE_SCALE = 2.0
MOST_SETTING_ROWS = 600  # of the table on the page; all are in study.parquet
MOST_PANELS = 30
# A panel whose largest regret is so many times its smallest has a logarithmic axis.
WIDE_RANGE = 8.0
MORE = "…"
OF_WHOLE = ("$schema", "config")  # of a picture, and not of its panels
REGRET = "mean regret at the horizon"
Worlds = dict[str, Rows]  # the rows of each world


def write_report(result: StudyResult, folder: Path) -> list[Path]:
    """Write the page and its pictures; returns their paths."""
    rows = result.rows()
    drawn = figures(rows, result.study.axes)
    with saving(folder, result=result):
        written = [
            path for figure in drawn for path in save_pictures(figure, folder, PICTURE_SCALE)
        ]
        for name in set(STUDY_PICTURES) - {figure.name for figure in drawn}:  # of an earlier study
            for kind in ("svg", "png"):
                (folder / f"{name}.{kind}").unlink(missing_ok=True)
        return [replace_text(folder / STUDY_PAGE, page_of(result, rows, drawn)), *written]


def page_of(result: StudyResult, rows: Sequence[dict[str, Any]], drawn: Sequence[Figure]) -> str:
    """Return the page as text."""
    made = environment(STUDY_TEMPLATES, html=True)
    single = [
        panel
        for figure in drawn
        for panel in (figure.on_page() if isinstance(figure, Panels) else [figure])
    ]
    study = result.study
    stages = sorted({tuple(study.stages(world)) for world in study.worlds}, reverse=True)
    return made.get_template("study.html.j2").render(
        result=result,
        study=study,
        best=result.best_rows(),
        has_dagger=any(best.carried_by_few for best in result.best),
        drawn=[(figure, isinstance(figure, Panels)) for figure in drawn],
        settings=_settings_table(rows),
        more=len(rows) - MOST_SETTING_ROWS,
        stages=stages,
        full=study.size * study.runs,
        mistake=SIGNIFICANCE,
        unsure=result.unsure(),
        asked=[(key, _plain(value)) for key, value in study.to_dict().items() if key != "scenario"],
        scenarios=[world.scenario.to_toml() for world in study.worlds[:1]],
        first_world=study.worlds[0].label,
        version=VERSION,
        script=chart_script(),
        specs=chart_specs(single),
    )


def _settings_table(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """All settings: world by world, from the lowest regret to the highest."""
    headers = [
        "world",
        "policy",
        "regret",
        "± error",
        "from",
        "to",
        "runs",
        "median",
        "99 %",
        "lost",
        "more than best",
        "is",
    ]
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    order = sorted(rows, key=lambda row: (worlds.index(row["world"]), row["regret"]))
    table: list[list[str]] = []
    for row in order[:MOST_SETTING_ROWS]:
        fate = ["best"] if row["best"] else []
        if row["dropped_at_stage"]:
            fate.append(f"dropped after stage {row['dropped_at_stage']}")
        if not row["significant"] and not row["best"]:
            fate.append("indistinguishable")
        more = f"{short(row['more_than_best'])} ± {short(row['more_stderr'])}"
        numbers = [short(row[key]) for key in ("regret", "stderr", "low", "high")]
        numbers[1] += " †" if row["carried_by_few"] else ""
        table.append(
            [
                row["world"],
                row["policy"],
                *numbers,
                number_text(row["runs"]),
                *(short(row[key]) for key in ("quantile_0.5", "quantile_0.99")),
                "-" if row["lost_share"] is None else f"{row['lost_share']:.2%}",
                "" if row["best"] else more,
                ", ".join(fate),
            ]
        )
    return headers, table


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} = {_plain(each)}" for name, each in value.items())  # pyright: ignore
    if isinstance(value, list):
        return ", ".join(_plain(each) for each in value)  # pyright: ignore
    return str(value) if isinstance(value, bool) else shown(value)


# ---------------------------------------------------------------------------- charts


@dataclass(frozen=True)
class Panels(Figure):
    """Small multiples: a page draws each figure, and a picture has all of them."""

    figures: tuple[Figure, ...]
    looks: dict[str, Look]

    def on_page(self) -> list[Figure]:
        """Return the panels without legends: the page has one for all."""
        return [
            replace(each, chart=each.chart | {"layer": _without_legends(each.chart["layer"])})
            for each in self.figures
        ]

    @property
    def picture(self) -> dict[str, Any]:
        """All panels side by side, with one legend."""
        parts = [
            {key: value for key, value in chart.items() if key not in (*OF_WHOLE, "datasets")}
            | {"width": PANEL_WIDTH, "height": PANEL_HEIGHT}
            | {"data": {"values": chart["datasets"][DATA]}}
            for chart in (figure.chart for figure in self.figures)
        ]
        return {
            **{key: self.figures[0].chart[key] for key in OF_WHOLE},
            "columns": PANEL_COLUMNS,
            "concat": parts,
            "resolve": {"scale": {"color": "shared", "strokeDash": "shared"}},
        }


@dataclass(frozen=True)
class Shape:
    """The axes of a study in its charts: of worlds (`dims`) and of policies (`across`).

    What worlds differ in, and the axis of policies (None: none).
    """

    dims: tuple[str, ...]
    across: str | None

    @classmethod
    def of(cls, worlds: Worlds, axes: Sequence[str]) -> "Shape":
        """Return the shape of a table."""

        def values(name: str, rows: Iterable[Mapping[str, Any]]) -> int:
            return len({row[name] for row in rows})

        policy = [name for name in axes if any(values(name, rows) > 1 for rows in worlds.values())]
        everything = list(chain(*worlds.values()))
        firsts = [rows[0] for rows in worlds.values()]
        names = [name for name in ("scenario", HORIZON_NAME, *axes) if name not in policy]
        return cls(
            tuple(name for name in names if values(name, firsts) > 1),
            max(policy, key=lambda name: values(name, everything), default=None),
        )


def figures(rows: Rows, axes: Mapping[str, Sequence[Any]]) -> list[Figure]:
    """Return all charts of a study that its shape allows."""
    worlds: Worlds = {}
    for row in rows:
        worlds.setdefault(row["world"], []).append(row)
    shape = Shape.of(worlds, list(axes))
    for row in rows:
        row["series"] = series_of(row, shape.across)
    made: list[Figure] = []
    if len(shape.dims) == 2:
        made += [_winners(worlds, shape), _map(worlds, shape)]
    elif len(shape.dims) == 1:
        made.append(_overview(worlds, shape))
    if shape.across is not None or (len(shape.dims) != 2 and len(worlds) <= MOST_PANELS):
        made.append(_worlds(worlds, shape))
    return made


def series_of(row: Mapping[str, Any], across: str | None) -> str:
    """Return the name of a line: the policy, without the value that is on the axis.

    >>> row = {"pattern": "kl-ucb:forget={forget},c={c}", "forget": 0.9, "c": 3}
    >>> row["policy"] = "kl-ucb:forget=0.9,c=3"
    >>> series_of(row, "forget"), series_of(row, None)
    ('kl-ucb:forget=…,c=3', 'kl-ucb:forget=0.9,c=3')
    """
    if across is None or f"{{{across}}}" not in row["pattern"].replace(" ", ""):
        return row["policy"]
    known = {name: value for name, value in row.items() if value is not None} | {across: MORE}
    return fill(row["pattern"], known, "policies")


def _point(row: Mapping[str, Any], x: Any) -> dict[str, Any]:
    """Return a setting as the charts show it."""
    stage = row["dropped_at_stage"]
    fate = "significantly worse" if row["significant"] else "indistinguishable from the best"
    if stage:
        fate = f"dropped after stage {stage}"
    return {
        "x": x,
        "y": digits(row["regret"]),
        "low": digits(max(row["low"], row["regret"] * 1e-3)),
        "high": digits(row["high"]),
        "series": row["series"],
        "policy": row["policy"],
        "error": digits(row["stderr"]),
        "runs": row["runs"],
        "fate": "the best" if row["best"] else fate,
        "kept": not stage,
    }


def _tooltip(*first: Any) -> list[Any]:
    return [
        *first,
        alt.Tooltip("policy:N"),
        alt.Tooltip("y:Q", title="regret", format=",.5~g"),
        alt.Tooltip("error:Q", title="± error", format=",.3~g"),
        alt.Tooltip("runs:Q", format=","),
        alt.Tooltip("fate:N", title="is"),
    ]


def _regret_scale(points: Rows) -> Any:
    """Return the scale of an axis of regrets: logarithmic if they differ much."""
    values = [point["y"] for point in points]
    if values and min(values) > 0.0 and max(values) > WIDE_RANGE * min(values):
        return alt.Scale(type="log", nice=False)
    return alt.Scale(zero=False, nice=True)


def _worlds(worlds: Worlds, shape: Shape) -> Panels:
    """One panel for each world: regret over the policies' axis, or policy by policy."""
    looks = looks_of(list(dict.fromkeys(row["series"] for row in chain(*worlds.values()))))
    panels: list[Figure] = []
    for place, (name, rows) in enumerate(islice(worlds.items(), MOST_PANELS), 1):
        if shape.across is None:
            panel = _dots([_point(row, None) for row in rows], looks, name)
        else:
            values = (row[shape.across] for row in rows)
            points = [
                _point(row, None if value is None else shown(value))
                for row, value in zip(rows, values, strict=True)
            ]
            panel = _panel(points, looks, shape.across, name)
        panels.append(Figure(f"world-{place}", name, panel))
    left = len(worlds) - len(panels)
    over = f"over {shape.across}" if shape.across else "of each policy"
    caption = (
        f"Mean regret at the horizon {over}, a panel for each world. Bars are intervals that "
        "cover the truth in about "
        "95 % of samples. Filled points got all runs. Hollow ones were dropped early and have "
        "wider bars."
        + (" Horizontal lines are policies without the axis." if shape.across else "")
        + (f" {left} more worlds are in the table only." if left else "")
    )
    return Panels("worlds", caption, {}, tuple(panels), looks)


def _panel(points: Rows, looks: Mapping[str, Look], across: str, title: str) -> dict[str, Any]:
    order = list(dict.fromkeys(point["x"] for point in points if point["x"] is not None))
    colour, dash = look_channels("series", looks, alt.Legend(title=None))
    x = alt.X("x:O", sort=order, title=across, axis=alt.Axis(labelAngle=-45, labelOverlap=False))
    y = alt.Y(
        "y:Q", title=None, scale=_regret_scale(points), axis=alt.Axis(tickCount=5, format="~s")
    )
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
    """Return a row of dots for each policy, where there is no axis."""
    colour, _ = look_channels("series", looks, None)
    order = [point["series"] for point in sorted(points, key=lambda point: point["y"])]
    y = alt.Y("series:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
    x = alt.X(
        "y:Q", title=None, scale=_regret_scale(points), axis=alt.Axis(tickCount=4, format="~s")
    )
    base = alt.Chart(alt.NamedData(DATA)).encode(y=y, color=colour)
    bars = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=None), x2="high:Q")
    dots = base.mark_point(size=42).encode(
        x=x, fill=alt.condition("datum.kept", colour, alt.value("white")), tooltip=_tooltip()
    )
    return plain(alt.layer(bars, dots), title, points, height=max(PANEL_HEIGHT, 18 * len(points)))


def _without_legends(value: Any) -> Any:
    """Return a specification without legends."""
    if isinstance(value, dict):
        parts = cast(dict[str, Any], value)
        return {
            key: None if key == "legend" else _without_legends(each) for key, each in parts.items()
        }
    return (
        [_without_legends(each) for each in cast(list[Any], value)]
        if isinstance(value, list)
        else value
    )


def _best_of_series(rows: Rows) -> Rows:
    """Return the best setting of each series in a world."""
    lines = dict.fromkeys(row["series"] for row in rows)
    return [
        min((row for row in rows if row["series"] == line), key=lambda row: row["regret"])
        for line in lines
    ]


def _overview(worlds: Worlds, shape: Shape) -> Figure:
    """Over the one thing in which worlds differ: the lowest regret of each line."""
    (dim,) = shape.dims
    points = [
        _point(row, shown(row[dim])) for rows in worlds.values() for row in _best_of_series(rows)
    ]
    looks = looks_of(list(dict.fromkeys(point["series"] for point in points)))
    colour, dash = look_channels("series", looks, alt.Legend(title=None))
    order = list(dict.fromkeys(point["x"] for point in points))
    base = alt.Chart(alt.NamedData(DATA)).encode(
        x=alt.X("x:O", sort=order, title=dim, axis=alt.Axis(labelAngle=0))
    )
    y = alt.Y("y:Q", title=REGRET, scale=_regret_scale(points), axis=alt.Axis(format="~s"))
    lines = base.mark_line(strokeWidth=2).encode(y=y, color=colour, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("low:Q", title=REGRET), y2="high:Q", color=colour
    )
    dots = base.mark_point(size=50, filled=True).encode(
        y=y, color=colour, tooltip=_tooltip(alt.Tooltip("x:O", title=dim))
    )
    of = f", each with its best {shape.across}" if shape.across else ""
    return Figure(
        "overview",
        f"The mean regret of each policy{of}, over {dim}, with intervals.",
        plain(alt.layer(lines, bars, dots), f"The lowest regret over {dim}{of}", points),
    )


def _cell(row: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a setting as a map shows it, in the place of its world."""
    first, second = shape.dims
    return _point(row, shown(row[first])) | {"down": shown(row[second])}


def _across_and_down(cells: Rows, shape: Shape) -> dict[str, Any]:
    first, second = shape.dims
    across = list(dict.fromkeys(cell["x"] for cell in cells))
    down = list(dict.fromkeys(cell["down"] for cell in cells))[::-1]
    return {
        "x": alt.X("x:O", sort=across, title=first, axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("down:O", sort=down, title=second),
    }


def _winners(worlds: Worlds, shape: Shape) -> Figure:
    """Return a map of the best policy in each cell."""
    cells: Rows = []
    for rows in worlds.values():
        winner = next(row for row in rows if row["best"])
        alike = sum(not row["significant"] and not row["best"] for row in rows)
        cells.append(_cell(winner, shape) | {"alike": alike, "text": f"≈{alike}" if alike else ""})
    order = list(dict.fromkeys(cell["series"] for cell in cells))
    colours = alt.Scale(domain=order, range=list(islice(cycle(PALETTE), len(order))))
    legend = alt.Legend(title=None, symbolType="square", symbolSize=150)
    base = alt.Chart(alt.NamedData(DATA)).encode(**_across_and_down(cells, shape))
    squares = base.mark_rect(stroke="white", opacity=0.85).encode(
        color=alt.Color("series:N", scale=colours, sort=order, legend=legend),
        tooltip=[*_tooltip(), alt.Tooltip("alike:Q", title="indistinguishable settings")],
    )
    texts = base.mark_text(color="white", fontSize=13).encode(text="text:N")
    caption = (
        f"The policy with the lowest mean regret over {shape.dims[0]} and {shape.dims[1]}. "
        "≈2 means that two other settings are indistinguishable from it."
    )
    chart = plain(alt.layer(squares, texts), "The best policy", cells, height=300)
    return Figure("best", caption, chart)


def _map(worlds: Worlds, shape: Shape) -> Panels:
    """Return a map for each policy.

    Regret as colour, and how many times that of the best.
    """
    points: dict[str, Rows] = {}
    for rows in worlds.values():
        lowest = next(row["regret"] for row in rows if row["best"])
        for row in _best_of_series(rows):
            times = row["regret"] / lowest if lowest > 0.0 else math.inf
            text = f"{times:.1f}" if times < 9.95 else f"{times:.0f}"
            points.setdefault(row["series"], []).append(_cell(row, shape) | {"times": text})
    values = [cell["y"] for cells in points.values() for cell in cells if cell["y"] > 0.0] or [1.0]
    low, high = min(values), max(values) * 1.001
    scale = alt.Scale(type="log", domain=[digits(low), digits(high)], scheme="blues", clamp=True)
    dark = digits(math.exp(0.45 * math.log(low) + 0.55 * math.log(high)))
    panels: list[Figure] = []
    for place, (name, cells) in enumerate(points.items(), 1):
        base = alt.Chart(alt.NamedData(DATA)).encode(**_across_and_down(cells, shape))
        squares = base.mark_rect(stroke="white").encode(
            color=alt.Color(
                "y:Q",
                scale=scale,
                legend=alt.Legend(title="regret", symbolType="square", format="~s"),
            ),
            tooltip=_tooltip(alt.Tooltip("times:N", title="times the best")),
        )
        texts = base.mark_text(fontSize=12).encode(
            text="times:N",
            color=alt.condition(f"datum.y > {dark}", alt.value("white"), alt.value("#1d2329")),
        )
        chart = plain(alt.layer(squares, texts), name, cells, height=PANEL_HEIGHT)
        panels.append(Figure(f"map-{place}", name, chart))
    of = f" with its best {shape.across}" if shape.across else ""
    caption = (
        f"Mean regret at the horizon over {shape.dims[0]} and {shape.dims[1]}, a map for each "
        f"policy{of}. Darker is "
        "more, on a logarithmic scale that all maps share. The numbers say how many times the "
        "regret of the best "
        "policy in that cell it is."
    )
    return Panels("maps", caption, {}, tuple(panels), {})
