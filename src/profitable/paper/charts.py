"""Interactive Altair charts that a page embeds, and the same charts as pictures."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from profitable.common.charts import DATA, Figure, Rows, digits, lines_with_bands, plain, toggle
from profitable.common.looks import BLACK, BLUE, DASHED, GREEN, GREY, ORANGE, PURPLE, SHORT, SKY, Look
from profitable.common.text_tables import SUPERSCRIPTS, horizon_text, number
from profitable.paper.contest import ANYTIME, CAREFUL, PATIENT, TOLD
from profitable.paper.credit import LENDERS, CreditResult
from profitable.policy.looks import looks_of
from profitable.simulation.curve import Curve
from profitable.simulation.result import Result

THEORY = Look(BLACK, (1, 3))
OPTIMAL_LOOKS = {TOLD: Look(BLACK), CAREFUL: Look(PURPLE), ANYTIME: Look(ORANGE), PATIENT: Look(SKY)}
LOWER_BOUND = "lower bound"
LIMIT_OF = "limit of "
BEST = "-best"  # ends the name of a close-up
FAR_APART = 20.0  # if the largest regret is more than so many times the smallest, the axis is logarithmic
CLOSE_UP = 4.0  # the close-up shows policies with up to so many times the smallest regret
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
AROUND = 1.08  # of an axis of ratios
POWER_LABEL = f"'10' + {[str(power).translate(SUPERSCRIPTS) for power in range(16)]}[round(log(datum.value) / LN10)]"
MANY_POWERS = 6  # with more of them on an axis, only every other power of ten has a label


def figures(name: str, result: Result) -> list[Figure]:
    """The regret curves of an experiment.  Curves that are far apart get a logarithmic axis, and a close-up."""
    final = [float(curve.regret[-1]) for curve in result.curves]
    band = f"mean of {number(result.finished)} runs, with bands that cover the true mean in about 95 % of samples"
    if max(final) <= FAR_APART * min(final):
        return [Figure(name, f"Regret over time: {band}.", _regret_chart(result, result.curves, log=False))]
    close = [curve for curve in result.curves if curve.regret[-1] <= CLOSE_UP * min(final)]
    both = f"Regret over time, both axes logarithmic: {band}."
    return [
        Figure(name, both, _regret_chart(result, result.curves, log=True)),
        Figure(name + BEST, f"The best of them on a linear axis: {band}.", _regret_chart(result, close, log=False)),
    ]


def tail_figure(name: str, result: Result, limits: dict[str, float], fewest_beyond: float) -> list[Figure]:
    """The probability of more than w rejected rounds, for a scenario with one profitable category.

    `limits` has the limit of w P(W > w) by policy.  The list is empty if there are too few runs to show a tail.
    """
    loss = result.scenario.truths[0].loss
    rows: Rows = []
    curves = sorted(result.curves, key=lambda curve: -float(curve.quantile(0.99)[-1]))
    for curve in curves:
        decades = np.log10(curve.runs / fewest_beyond)
        for k in np.arange(0.5, decades + 0.01, 0.25):
            w, beyond = float(curve.quantile(1.0 - 10.0**-k)[-1]) / loss, 10.0**-k
            if w >= 1.0:
                error = 2.0 * beyond / np.sqrt(curve.runs * beyond)
                row = {"x": digits(w), "policy": curve.policy, "y": digits(beyond)}
                rows.append(row | {"low": digits(beyond - error), "high": digits(beyond + error)})
    if not rows:
        return []
    largest, smallest = max(row["x"] for row in rows), min(row["y"] for row in rows)
    for policy, limit in limits.items():
        ends = (max(1.0, limit), min(largest, limit / smallest))
        rows += [{"x": digits(w), "policy": LIMIT_OF + policy, "y": digits(limit / w)} for w in ends]
    names = [*(curve.policy for curve in curves), *(LIMIT_OF + policy for policy in limits)]
    chart = _draw(
        rows, names, title=result.scenario.name, x="rejected rounds w", y="share of runs with more", log_y=True
    )
    size = f"{number(result.finished)} runs to T = {horizon_text(result.horizon)}"
    caption = f"The tail of the rejected rounds: {size}, bands of two standard errors."
    return [Figure(name, caption, chart)]


def contest_figure(name: str, result: Result, curves: Sequence[Curve]) -> Figure:
    """The regret curves of the optimal policy and of the best of the paper's."""
    band = f"mean of {number(result.finished)} runs, with bands that cover the true mean in about 95 % of samples"
    chart = _regret_chart(result, curves, log=False)
    chart["config"]["legend"]["columns"] = 2  # the names are long
    return Figure(name, f"Regret over time: {band}.", chart)


def gain_and_price_figure(contests: Sequence[dict[str, Any]]) -> list[Figure]:
    """Mean regret and 99 % quantile, divided by the best of the four: a point for each form and experiment.

    `contests` is that of the summary.  The list is empty if nothing can be compared.
    """
    rows: Rows = [
        {
            "x": digits(each["regret_ratio"]),
            "y": digits(each["quantile_ratio"]),
            "policy": each["policy"],
            "experiment": contest["title"],
        }
        for contest in contests
        for each in contest["policies"]
        if each["regret_ratio"] is not None and each["policy"] in OPTIMAL_LOOKS
    ]
    if not rows:
        return []
    names, titles = list(OPTIMAL_LOOKS), list(dict.fromkeys(row["experiment"] for row in rows))
    toggled = toggle("policy", names)
    across, up = (_ratio_axis(alt_class, rows, key) for alt_class, key in ((alt.X, "x"), (alt.Y, "y")))
    left, bottom = (min(row[key] for row in rows) / AROUND for key in "xy")
    corner = alt.InlineData(values=[{"x": left, "y": 1.0, "right": 1.0, "bottom": bottom, "word": "better in both"}])
    better = alt.Chart(corner).encode(x=across, y=up)
    area = better.mark_rect(color=GREEN, opacity=0.1).encode(x2="right", y2="bottom")
    word = better.mark_text(align="left", baseline="top", dx=6, dy=6, color=GREEN, fontSize=12)
    legend = alt.Legend(title=None, symbolType="circle", symbolSize=120, symbolStrokeWidth=0.0, columns=1)
    kinds = alt.Legend(title=None, symbolSize=120, columns=1)
    colours = alt.Scale(domain=names, range=[look.colour for look in OPTIMAL_LOOKS.values()])
    shapes = alt.Scale(domain=titles, range=["circle", "square", "triangle-up", "diamond"][: len(titles)])
    points = (
        alt.Chart(alt.NamedData(DATA))
        .mark_point(filled=True, size=130)
        .encode(
            x=across,
            y=up,
            color=alt.Color("policy:N", scale=colours, sort=names, legend=legend),
            shape=alt.Shape("experiment:N", scale=shapes, sort=titles, legend=kinds),
            opacity=alt.when(toggled).then(alt.value(0.9)).otherwise(alt.value(0.07)),
            tooltip=["policy:N", "experiment:N", alt.Tooltip("x:Q", title="mean", format=".3"),
                     alt.Tooltip("y:Q", title="99 % quantile", format=".3")],
        )
        .add_params(toggled)
    )  # fmt: skip
    chart = plain(alt.layer(area, word.encode(text="word:N"), points), "Gain and price of the optimal policy", rows)
    caption = (
        "Left is better on average, down is better in the worst runs. Each mean is divided by the smallest mean of "
        "kl-UCB, kl-UCB⁺, Bayes-UCB and TS, each 99 % quantile by their smallest quantile."
    )
    return [Figure("optimal", caption, chart)]


def _ratio_axis(channel: Any, rows: Rows, key: str) -> Any:
    """A logarithmic axis around 1."""
    what = "mean regret" if key == "x" else "99 % quantile"
    domain = [min(row[key] for row in rows) / AROUND, max(1.0, *(row[key] for row in rows)) * AROUND]
    axis = alt.Axis(format=".2~f", values=[each for each in RATIOS if domain[0] <= each <= domain[1]])
    scale = alt.Scale(type="log", domain=domain, nice=False)
    return channel(f"{key}:Q", title=f"{what} ÷ the best of the four", axis=axis, scale=scale)


def credit_figure(credit: CreditResult) -> Figure:
    """What three lenders earn over time: the mean over plays, and a band from the 10 % to the 90 % quantile."""
    every = max(1, credit.rounds // 100)
    rounds = [*range(0, credit.rounds, every), credit.rounds - 1]
    looks = {
        "clairvoyant": Look(GREEN, DASHED),
        "learns": Look(BLUE),
        "accepts everybody": Look(GREY, SHORT),
    }
    rows: list[dict[str, Any]] = []
    for place, lender in enumerate(LENDERS):
        profit = credit.profit[:, place] / 1_000.0
        low, high = np.quantile(profit, (0.1, 0.9), axis=0)
        rows += [
            {
                "round": t + 1,
                "lender": lender,
                "profit": digits(float(profit[:, t].mean())),
                "low": digits(float(low[t])),
                "high": digits(float(high[t])),
            }
            for t in rounds
        ]
    order = list(looks)
    legend = alt.Legend(title=None)
    colours = alt.Scale(domain=order, range=[look.colour for look in looks.values()])
    dashes = alt.Scale(domain=order, range=[list(look.dash) for look in looks.values()])
    base = alt.Chart(alt.NamedData(DATA)).encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(grid=False)),
        color=alt.Color("lender:N", scale=colours, sort=order, legend=legend),
        tooltip=["lender:N", "round:Q", alt.Tooltip("profit:Q", title="mean profit (thousands)", format=",.1f")],
    )
    title = "cumulative profit (thousands)"
    toggled = toggle("lender", order)
    band = base.mark_area().encode(
        y=alt.Y("low:Q", title=title),
        y2="high:Q",
        fillOpacity=alt.when(toggled).then(alt.value(0.15)).otherwise(alt.value(0.0)),
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("profit:Q", title=title),
        strokeDash=alt.StrokeDash("lender:N", scale=dashes, sort=order, legend=legend),
        opacity=alt.when(toggled).then(alt.value(1.0)).otherwise(alt.value(0.07)),
    )
    chart = plain(alt.layer(band, line.add_params(toggled)), "What three lenders earn", rows)
    caption = f"Mean of {len(credit.profit)} plays of {credit.rounds} rounds; bands from the 10 % to the 90 % quantile."
    return Figure("credit", caption, chart)


def _regret_chart(result: Result, curves: Sequence[Curve], *, log: bool) -> dict[str, Any]:
    curves = sorted(curves, key=lambda curve: -float(curve.regret[-1]))  # the legend has the order of the curves
    names = [curve.policy for curve in curves]
    rows = [row for curve in curves for row in _rows(curve, log)]
    if result.scenario.lower_bound().total > 0.0:
        names.append(LOWER_BOUND)
        bound = zip(result.checkpoints.tolist(), result.lower_bound.tolist(), strict=True)
        rows += [{"x": t, "policy": LOWER_BOUND, "y": digits(value)} for t, value in bound if t > 1 or not log]
    return _draw(rows, names, title=f"{result.scenario.name}: regret", x="round t", y="regret", log_y=log)


def _rows(curve: Curve, log: bool) -> Rows:
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


def _draw(rows: Rows, order: Sequence[str], *, title: str, x: str, y: str, log_y: bool) -> dict[str, Any]:
    """Lines with bands over a logarithmic axis.  The legend hides and shows them, and pointing shows the values."""
    across = alt.X("x:Q", title=x, axis=_power_axis(rows, "x", grid=False), scale=alt.Scale(type="log", nice=False))
    up = alt.Y("y:Q", title=y, scale=alt.Scale(zero=True), axis=alt.Axis(format=",~f", tickCount=6))
    if log_y:
        up = alt.Y("y:Q", title=y, scale=alt.Scale(type="log", nice=False), axis=_power_axis(rows, "y", grid=True))
    time = alt.Tooltip("x:Q", title=x, format=",.6~g")
    return lines_with_bands(rows, _looks(order), across, up, title=title, time=time)


def _looks(names: Sequence[str]) -> dict[str, Look]:
    """The looks of curves.  A limit is dotted in the colour of its policy; the lower bound is dotted in black."""
    looks = looks_of([name for name in names if name != LOWER_BOUND and not name.startswith(LIMIT_OF)]) | OPTIMAL_LOOKS
    limits = {LIMIT_OF + name: Look(look.colour, THEORY.dash) for name, look in looks.items()}
    return {name: (looks | limits | {LOWER_BOUND: THEORY})[name] for name in names}


def _power_axis(rows: Rows, field: str, *, grid: bool) -> Any:
    """Ticks at powers of ten: as 10⁶ if there are many, as 10k if there are few."""
    values = [row[field] for row in rows if row[field] > 0.0]
    first, last = int(np.floor(np.log10(min(values)))), int(np.ceil(np.log10(max(values))))
    powers = [10.0**k for k in range(first, last + 1)]
    if len(powers) <= MANY_POWERS or first < 0:
        return alt.Axis(format="~s" if first >= 0 else "~g", values=powers, grid=grid)
    return alt.Axis(labelExpr=POWER_LABEL, values=powers[::2], grid=grid)
