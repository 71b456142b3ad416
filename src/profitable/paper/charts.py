"""Interactive regret curves: Altair charts that a page embeds, and the same charts as pictures."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import altair as alt
import numpy as np

from profitable.credit import LENDERS, CreditResult
from profitable.curve import Curve
from profitable.result import Result

# Okabe and Ito's colours, told apart by colour-blind readers, and dashes as a second sign: (colour, dash).
LOOKS: dict[str, tuple[str, list[int]]] = {
    "kl-ucb": ("#0072B2", [1, 0]),
    "kl-ucb+": ("#0072B2", [5, 3]),
    "bayes-ucb": ("#D55E00", [1, 0]),
    "ts": ("#009E73", [1, 0]),
    "kl-emp-ucb": ("#CC79A7", [8, 2, 2, 2]),
    "kl-bernoulli-ucb": ("#E69F00", [1, 0]),
    "kl-bernoulli-ucb+": ("#E69F00", [5, 3]),
    "kl-gaussian-ucb": ("#56B4E9", [8, 2, 2, 2]),
    "ucb-v": ("#666666", [3, 2]),
}
LOWER_BOUND = "lower bound"
BOUND_LOOK = ("#000000", [1, 3])
FAR_APART = 20.0  # regrets whose largest is so many times the smallest are drawn on a logarithmic axis
CLOSE = 4.0  # the close-up shows policies up to so many times the smallest regret
PICTURE_WIDTH, HEIGHT = 640, 380
SHOWN_DIGITS = 6
DATA = "curves"


@dataclass(frozen=True)
class Figure:
    """A chart as a Vega-Lite specification, its name (of the files, too) and what it shows."""

    name: str
    caption: str
    chart: dict[str, Any]

    def spec(self, width: int | str = "container") -> dict[str, Any]:
        """The Vega-Lite specification, of that width."""
        return self.chart | {"width": width}


def figures(name: str, result: Result) -> list[Figure]:
    """The regret curves of an experiment; where they are far apart, on a logarithmic axis, with a close-up."""
    final = [float(curve.regret[-1]) for curve in result.curves]
    runs = f"{result.finished:,}".replace(",", " ")
    band = f"mean of {runs} runs, bands of two standard errors"
    if max(final) <= FAR_APART * min(final):
        return [Figure(name, f"Regret over time: {band}.", _chart(result, result.curves, log=False))]
    close = [curve for curve in result.curves if curve.regret[-1] <= CLOSE * min(final)]
    return [
        Figure(name, f"Regret over time, both axes logarithmic: {band}.", _chart(result, result.curves, log=True)),
        Figure(f"{name}-best", f"The best of them on a linear axis: {band}.", _chart(result, close, log=False)),
    ]


def credit_figure(credit: CreditResult) -> Figure:
    """What three lenders earn over time, and in how many of the plays each segment is accepted."""
    every = max(1, credit.rounds // 100)
    rounds = [*range(0, credit.rounds, every), credit.rounds - 1]
    looks = {
        "clairvoyant": ("#009E73", [5, 3]),
        "learns": ("#0072B2", [1, 0]),
        "accepts everybody": ("#666666", [2, 2]),
    }
    rows: list[dict[str, Any]] = []
    for place, lender in enumerate(LENDERS):
        profit = credit.profit[:, place] / 1_000.0
        low, high = np.quantile(profit, (0.1, 0.9), axis=0)
        rows += [
            {
                "round": t + 1,
                "lender": lender,
                "profit": _digits(float(profit[:, t].mean())),
                "low": _digits(float(low[t])),
                "high": _digits(float(high[t])),
            }
            for t in rounds
        ]
    order = list(looks)
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolSize=700, symbolStrokeWidth=2.5)
    colours = alt.Scale(domain=order, range=[colour for colour, _ in looks.values()])
    dashes = alt.Scale(domain=order, range=[dash for _, dash in looks.values()])
    base = alt.Chart(alt.NamedData(DATA)).encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(grid=False)),
        color=alt.Color("lender:N", scale=colours, sort=order, legend=legend),
        tooltip=["lender:N", "round:Q", alt.Tooltip("profit:Q", title="mean profit (thousands)", format=",.1f")],
    )
    title = "cumulative profit (thousands)"
    band = base.mark_area(fillOpacity=0.15).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("profit:Q", title=title), strokeDash=alt.StrokeDash("lender:N", scale=dashes, sort=order, legend=legend)
    )
    chart = (
        alt.layer(band, line)
        .properties(width="container", height=HEIGHT, title=alt.Title("What three lenders earn", anchor="start"))
        .configure_view(stroke=None)
    )
    caption = f"Mean of {len(credit.profit)} plays of {credit.rounds} rounds; bands from the 10 % to the 90 % quantile."
    return Figure("credit", caption, _plain(chart, rows))


def _plain(chart: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The specification with its data, which Altair would copy many times, and without a check that takes long."""
    spec = cast(dict[str, Any], json.loads(chart.to_json(validate=False)))
    return spec | {"datasets": {DATA: rows}}


def _chart(result: Result, curves: Sequence[Curve], *, log: bool) -> dict[str, Any]:
    curves = sorted(curves, key=lambda curve: -float(curve.regret[-1]))  # the legend has the order of the curves
    names = [curve.policy for curve in curves]
    bound = bool(result.scenario.lower_bound().total > 0.0)
    order = [*names, LOWER_BOUND] if bound else names
    looks = [LOOKS.get(name.partition(":")[0], ("#999999", [1, 0])) for name in names] + [BOUND_LOOK] * bound
    first = int(np.argmax(result.checkpoints > 1)) if log else 0
    rows = [row for curve in curves for row in _rows(curve, first, log)]
    if bound:
        low = result.lower_bound
        rows += [
            {"t": int(t), "policy": LOWER_BOUND, "regret": _digits(value)}
            for t, value in zip(result.checkpoints[first:], low[first:], strict=True)
        ]
    toggled = alt.selection_point(
        name="shown", fields=["policy"], bind="legend", toggle="true", value=[{"policy": name} for name in order]
    )
    title = alt.Title(f"{result.scenario.name}: regret", anchor="start", fontSize=14)
    legend = alt.Legend(
        title=None,
        orient="bottom",
        columns=3,
        symbolType="stroke",
        symbolSize=700,
        symbolStrokeWidth=2.5,
        labelFontSize=12,
    )
    colours = alt.Scale(domain=order, range=[look[0] for look in looks])
    colour = alt.Color("policy:N", scale=colours, sort=order, legend=legend)
    dash = alt.StrokeDash(
        "policy:N", scale=alt.Scale(domain=order, range=[look[1] for look in looks]), sort=order, legend=legend
    )
    powers = [10**k for k in range(16)]
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True)
    regret_axis = alt.Axis(format="~s", values=powers) if log else alt.Axis(format="~s", tickCount=6)
    horizon = int(result.checkpoints[-1])
    axis = alt.Axis(format="~s", values=[power for power in powers if power <= horizon], grid=False)
    if horizon > 10**9:
        axis = alt.Axis(format=".0e", values=[power for power in powers[::2] if power <= horizon], grid=False)
    time = alt.X("t:Q", title="round t", axis=axis, scale=alt.Scale(type="log", nice=False))
    regret = alt.Y("regret:Q", title="regret", scale=scale, axis=regret_axis)
    base = alt.Chart(alt.NamedData(DATA)).encode(x=time)
    lines = base.mark_line(strokeWidth=2, clip=True).encode(
        y=regret,
        color=colour,
        strokeDash=dash,
        opacity=alt.when(toggled).then(alt.value(1.0)).otherwise(alt.value(0.07)),
    )
    bands = base.mark_area(clip=True).encode(
        y=alt.Y("low:Q", title="regret"),
        y2="high:Q",
        color=colour,
        fillOpacity=alt.when(toggled).then(alt.value(0.18)).otherwise(alt.value(0.0)),
    )
    return _plain(
        alt.layer(bands, lines.add_params(toggled), *_hover(base, order, regret, colour))
        .properties(width="container", height=HEIGHT, title=title)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12),
        rows,
    )


def _hover(base: Any, order: Sequence[str], regret: Any, colour: Any) -> list[Any]:
    """A rule at the nearest time, with the values of all policies there, and points on the curves."""
    near = alt.selection_point(
        name="near", fields=["t"], nearest=True, on="pointerover", clear="pointerout", empty=False
    )
    tooltip = [alt.Tooltip("t:Q", title="round t", format=",.0f")]
    tooltip += [alt.Tooltip(f"{name.replace(':', '_')}:Q", title=name, format=",.5~g") for name in order]
    rule = (
        base.transform_calculate(column="replace(datum.policy, ':', '_')")
        .transform_pivot("column", value="regret", groupby=["t"])
        .mark_rule(color="#888888")
        .encode(opacity=alt.when(near).then(alt.value(0.6)).otherwise(alt.value(0.0)), tooltip=tooltip)
        .add_params(near)
    )
    points = base.mark_point(filled=True, size=36).encode(y=regret, color=colour).transform_filter(near)
    return [rule, points]


def _rows(curve: Curve, first: int, log: bool) -> list[dict[str, Any]]:
    columns = (curve.t, curve.regret, curve.stderr, curve.carried_by_few)
    rows: list[dict[str, Any]] = []
    for t, value, error, few in list(zip(*(column.tolist() for column in columns), strict=True))[first:]:
        if log and value <= 0.0:
            continue
        row = {"t": t, "policy": curve.policy, "regret": _digits(value)}
        if np.isfinite(error) and not few:
            low = max(value - 2.0 * error, value / 1e3 if log else 0.0)
            row |= {"low": _digits(low), "high": _digits(value + 2.0 * error)}
        rows.append(row)
    return rows


def _digits(value: float) -> float:
    return float(f"{value:.{SHOWN_DIGITS}g}")
