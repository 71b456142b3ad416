"""Charts of results: regret over a logarithmic time axis."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from profitable.common.charts import (
    DATA,
    HEIGHT,
    PANEL_COLUMNS,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    PICTURE_WIDTH,
    Rows,
    digits,
    line_layers,
    look_channels,
    shown_or,
    styled,
    titled,
    toggle,
)
from profitable.common.line_styles import BLACK, Look
from profitable.common.text_tables import SUPERSCRIPTS, number_text
from profitable.policy.policies import looks_of

if TYPE_CHECKING:
    from profitable.simulation.curve import Curve
    from profitable.simulation.result import Result
    from profitable.simulation.scenario import Truth

THEORY = Look(BLACK, (1, 3))
LOWER_BOUND = "lower bound"
ORDERED_BOUND = "lower bound with the order"
BOUNDS = {LOWER_BOUND: THEORY, ORDERED_BOUND: Look(BLACK, (1, 6))}
EXPONENTS = [str(power).translate(SUPERSCRIPTS) for power in range(16)]
POWER_LABEL = f"'10' + {EXPONENTS}[round(log(datum.value) / LN10)]"
MANY_POWERS = 6  # with more of them on an axis, only every other power of ten has a label
# The width of the main chart, so that it ends where the panels do.
WIDTH_OVER_PANELS = PANEL_COLUMNS * PANEL_WIDTH + 120
CHANGES = "changes"  # the data of the rounds in which means change


def result_chart(result: "Result", *, categories: bool = False) -> alt.VConcatChart:
    """Draw regret over log t, with bands and the lower bound.

    A curve for each policy with its `interval` as a band, the lower bound.

    If means change, thin vertical lines show when, and there is no lower bound.
    """
    truths = result.scenario.truths
    curves = sorted(result.curves, key=lambda curve: -float(curve.regret[-1]))
    looks = {curve.policy + curve.mark: looks_of(result.policies)[curve.policy] for curve in curves}
    rows = [
        row | {"policy": curve.policy + curve.mark}
        for curve in curves
        for row in regret_rows(curve)
    ]
    datasets = {DATA: rows}
    bounds = lower_bound_rows(result)
    looks |= {name: BOUNDS[name] for name in BOUNDS if any(name == row["policy"] for row in bounds)}
    rows += bounds
    runs = f"{number_text(result.finished)} runs, seed {result.seed}; bands: 95 %"
    main = alt.layer(
        _change_lines(CHANGES),
        log_time_lines(rows, looks, x="round t", y="regret", ends=_ends(result)),
    )
    datasets[CHANGES] = _changes(truths, result.horizon)
    main = main.properties(
        width=WIDTH_OVER_PANELS if categories else PICTURE_WIDTH,
        height=HEIGHT,
        title=titled(f"{result.scenario.name} ({runs})"),
    )
    parts: list[Any] = [main]
    if categories:
        panels = (_panel(result, k, looks, datasets) for k in range(len(result.scenario.names)))
        parts.append(alt.concat(*panels, columns=PANEL_COLUMNS))
    return styled(alt.vconcat(*parts).properties(datasets=datasets))


def _panel(result: "Result", k: int, looks: Mapping[str, Look], datasets: dict[str, Rows]) -> Any:
    """Return a panel with the rounds in which one category is decided wrongly."""
    scenario, t = result.scenario, result.checkpoints
    side = scenario.sides(result.horizon)[k]
    name, starts = f"category {k}", f"changes {k}"
    datasets[starts] = _changes(scenario.truths[k : k + 1], result.horizon)
    datasets[name] = [
        {"x": x, "y": digits(x - accepted if side else accepted), "policy": policy}
        for curve in result.curves
        for policy in [curve.policy + curve.mark]
        for x, accepted in zip(t.tolist(), curve.accepted_rounds[k].tolist(), strict=True)
    ]
    colour, dash = look_channels("policy", looks, alt.Legend(title=None))
    up = f"rounds {'rejected' if side else 'accepted'}"
    lines = (
        alt.Chart(alt.NamedData(name))
        .mark_line(strokeWidth=1.6)
        .encode(
            x=log_axis(datasets[name], "x", "round t", ends=_ends(result)),
            y=alt.Y("y:Q", title=up, axis=alt.Axis(tickCount=4, format="~s")),
            color=colour,
            strokeDash=dash,
            opacity=shown_or(toggle("policy", list(looks)), 1.0, 0.07),
            tooltip=["policy:N", alt.Tooltip("x:Q", title="round"), alt.Tooltip("y:Q", title=up)],
        )
    )
    kind = "changes sides" if side is None else "profitable" if side else "unprofitable"
    title = alt.Title(f"{scenario.names[k]} ({kind})", anchor="start", fontSize=12, limit=240)
    return alt.layer(_change_lines(starts), lines).properties(
        width=PANEL_WIDTH, height=PANEL_HEIGHT, title=title
    )


def _ends(result: "Result") -> tuple[int, int]:
    first, last = int(result.checkpoints[0]), int(result.checkpoints[-1])
    return first, max(last, first + 1)


def _changes(truths: "Sequence[Truth]", horizon: int) -> Rows:
    starts = {phase.start for truth in truths for phase in truth.phases(horizon)[1:]}
    return [{"x": start} for start in sorted(starts)]


def _change_lines(name: str) -> alt.Chart:
    """Thin vertical lines where a mean changes."""
    return alt.Chart(alt.NamedData(name)).mark_rule(color="#ccc", strokeWidth=0.6).encode(x="x:Q")


# ------------------------------------------------------------- parts that reports share


def regret_rows(curve: "Curve", *, log: bool = False) -> Rows:
    """Return a curve with its interval; for a logarithmic axis only what is above 0."""
    columns = (curve.t, curve.regret, *curve.interval)
    rows: Rows = []
    for t, value, low, high in zip(*(column.tolist() for column in columns), strict=True):
        if log and (t == 1 or value <= 0.0):
            continue
        row = {"x": t, "policy": curve.policy, "y": digits(value)}
        if np.isfinite(high):
            row |= {"low": digits(max(low, value / 1e3 if log else 0.0)), "high": digits(high)}
        rows.append(row)
    return rows


def lower_bound_rows(result: "Result", *, log: bool = False) -> Rows:
    """Return the lower bounds as curves, of those that are not 0."""
    constants = (
        result.scenario.lower_bound_per_log_t(),
        result.scenario.ordered_lower_bound_per_log_t(),
    )
    return [
        {"x": t, "policy": name, "y": digits(constant * math.log(t))}
        for name, constant in zip(BOUNDS, constants, strict=True)
        if constant
        for t in result.checkpoints.tolist()
        if t > 1 or not log
    ]


def log_time_lines(
    rows: Rows,
    looks: Mapping[str, Look],
    *,
    x: str,
    y: str,
    log_y: bool = False,
    ends: tuple[float, float] | None = None,
) -> alt.LayerChart:
    """Lines with bands over a logarithmic axis, without data."""
    up: Any = alt.Y(
        "y:Q", title=y, scale=alt.Scale(zero=True), axis=alt.Axis(format=",~f", tickCount=6)
    )
    if log_y:
        scale = alt.Scale(type="log", nice=False)
        up = alt.Y("y:Q", title=y, scale=scale, axis=_power_axis(rows, "y", grid=True))
    time = alt.Tooltip("x:Q", title=x, format=",.6~g")
    return line_layers(rows, looks, log_axis(rows, "x", x, ends=ends), up, time=time)


def log_axis(rows: Rows, field: str, title: str, *, ends: tuple[float, float] | None) -> alt.X:
    """Return a logarithmic axis from left to right, without a grid."""
    domain: dict[str, Any] = {} if ends is None else {"domain": ends}
    scale = alt.Scale(type="log", nice=False, **domain)
    return alt.X(f"{field}:Q", title=title, axis=_power_axis(rows, field, grid=False), scale=scale)


def _power_axis(rows: Rows, field: str, *, grid: bool) -> Any:
    """Ticks at powers of ten: as 10⁶ if there are many, as 10k if there are few."""
    values = [row[field] for row in rows if row[field] > 0.0]
    first, last = int(np.floor(np.log10(min(values)))), int(np.ceil(np.log10(max(values))))
    powers = [10.0**k for k in range(first, last + 1)]
    if len(powers) <= MANY_POWERS or first < 0:
        return alt.Axis(format="~s" if first >= 0 else "~g", values=powers, grid=grid)
    return alt.Axis(labelExpr=POWER_LABEL, values=powers[::2], grid=grid)
