"""Interactive Altair charts that a page embeds, and the same charts as pictures."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from profitable.common.charts import (
    DATA,
    HEIGHT,
    Figure,
    Rows,
    digits,
    line_layers,
    plain,
    styled,
    titled,
    toggle,
)
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASHED,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SHORT,
    SKY,
    Look,
)
from profitable.common.text_tables import horizon_text, number_text
from profitable.paper.contest import ANYTIME, CAREFUL, PATIENT, WITH_HORIZON
from profitable.paper.credit import LENDERS, CreditResult
from profitable.policy.policies import looks_of
from profitable.simulation.curve import Curve
from profitable.simulation.regret_charts import (
    LOWER_BOUND,
    THEORY,
    log_time_lines,
    lower_bound_rows,
    regret_rows,
)
from profitable.simulation.result import Result

OPTIMAL_LOOKS = {
    WITH_HORIZON: Look(BLACK),
    CAREFUL: Look(PURPLE),
    ANYTIME: Look(ORANGE),
    PATIENT: Look(SKY),
}
LIMIT_OF = "limit of "
BEST = "-best"  # ends the name of a close-up
# If the largest regret is more than so many times the smallest, the axis is
# logarithmic.
FAR_APART = 20.0
CLOSE_UP = 4.0  # the close-up shows policies with up to so many times the smallest regret
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
MAP, MAP_COLUMNS = "map", 100  # the data of the map of the credit example, and its columns
AROUND = 1.08  # of an axis of ratios


def figures(name: str, result: Result) -> list[Figure]:
    """Return the regret curves of an experiment.

    Curves that are far apart get a logarithmic axis, and a close-up.
    """
    final = [float(curve.regret[-1]) for curve in result.curves]
    band = (
        f"mean of {number_text(result.finished)} runs, with bands that cover the true mean in "
        "about "
        "95 % of samples"
    )
    if max(final) <= FAR_APART * min(final):
        return [
            Figure(
                name, f"Regret over time: {band}.", _regret_chart(result, result.curves, log=False)
            )
        ]
    close = [curve for curve in result.curves if curve.regret[-1] <= CLOSE_UP * min(final)]
    both = f"Regret over time, both axes logarithmic: {band}."
    return [
        Figure(name, both, _regret_chart(result, result.curves, log=True)),
        Figure(
            name + BEST,
            f"The best of them on a linear axis: {band}.",
            _regret_chart(result, close, log=False),
        ),
    ]


def tail_figure(
    name: str, result: Result, limits: dict[str, float], fewest_beyond: float
) -> list[Figure]:
    """Return the probability of more than w rejected rounds.

    The scenario has one profitable category.

    `limits` has the limit of w P(W > w) by policy.  The list is empty if there are too
    few runs to show a tail.
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
        rows += [
            {"x": digits(w), "policy": LIMIT_OF + policy, "y": digits(limit / w)} for w in ends
        ]
    names = [*(curve.policy for curve in curves), *(LIMIT_OF + policy for policy in limits)]
    chart = _draw(
        rows,
        names,
        title=result.scenario.name,
        x="rejected rounds w",
        y="share of runs with more",
        log_y=True,
    )
    size = f"{number_text(result.finished)} runs to T = {horizon_text(result.horizon)}"
    caption = f"The tail of the rejected rounds: {size}, bands of two standard errors."
    return [Figure(name, caption, chart)]


def contest_figure(name: str, result: Result, curves: Sequence[Curve]) -> Figure:
    """Return the regret curves of the optimal policy and of the best of the paper's."""
    band = (
        f"mean of {number_text(result.finished)} runs, with bands that cover the true mean in "
        "about "
        "95 % of samples"
    )
    chart = _regret_chart(result, curves, log=False)
    chart["config"]["legend"]["columns"] = 2  # the names are long
    return Figure(name, f"Regret over time: {band}.", chart)


def gain_and_price_figure(contests: Sequence[dict[str, Any]]) -> list[Figure]:
    """Return mean regret and 99 % quantile, relative to the best of the four.

    A point for each form and experiment.

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
    across, up = (
        _ratio_axis(alt_class, rows, key) for alt_class, key in ((alt.X, "x"), (alt.Y, "y"))
    )
    left, bottom = (min(row[key] for row in rows) / AROUND for key in "xy")
    corner = alt.InlineData(
        values=[{"x": left, "y": 1.0, "right": 1.0, "bottom": bottom, "word": "better in both"}]
    )
    better = alt.Chart(corner).encode(x=across, y=up)
    area = better.mark_rect(color=GREEN, opacity=0.1).encode(x2="right", y2="bottom")
    word = better.mark_text(align="left", baseline="top", dx=6, dy=6, color=GREEN, fontSize=12)
    legend = alt.Legend(
        title=None, symbolType="circle", symbolSize=120, symbolStrokeWidth=0.0, columns=1
    )
    kinds = alt.Legend(title=None, symbolSize=120, columns=1)
    colours = alt.Scale(domain=names, range=[look.colour for look in OPTIMAL_LOOKS.values()])
    shapes = alt.Scale(
        domain=titles, range=["circle", "square", "triangle-up", "diamond"][: len(titles)]
    )
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
    chart = plain(
        alt.layer(area, word.encode(text="word:N"), points),
        "Gain and price of the optimal policy",
        rows,
    )
    caption = (
        "Left is better on average, down is better in the worst runs. Each mean is divided by "
        "the smallest mean of "
        "kl-UCB, kl-UCB⁺, Bayes-UCB and TS, each 99 % quantile by their smallest quantile."
    )
    return [Figure("optimal", caption, chart)]


def _ratio_axis(channel: Any, rows: Rows, key: str) -> Any:
    """Return a logarithmic axis around 1."""
    what = "mean regret" if key == "x" else "99 % quantile"
    domain = [
        min(row[key] for row in rows) / AROUND,
        max(1.0, *(row[key] for row in rows)) * AROUND,
    ]
    axis = alt.Axis(
        format=".2~f", values=[each for each in RATIOS if domain[0] <= each <= domain[1]]
    )
    scale = alt.Scale(type="log", domain=domain, nice=False)
    return channel(f"{key}:Q", title=f"{what} ÷ the best of the four", axis=axis, scale=scale)


def credit_figure(credit: CreditResult) -> Figure:
    """Return the profit of three lenders over time."""
    layers, rows = _earned(credit)
    caption = (
        f"Mean of {len(credit.profit)} plays of {credit.rounds} rounds; bands from the 10 % to "
        "the 90 % quantile."
    )
    return Figure("credit", caption, plain(layers, "What three lenders earn", rows))


def credit_picture(credit: CreditResult) -> alt.HConcatChart:
    """Return the same with a map of the share of plays that accept each segment."""
    layers, rows = _earned(credit)
    title = [
        f"What three lenders earn with {credit.policy}",
        f"(mean of {len(credit.profit)} plays, band: 10-90 %)",
    ]
    left = layers.properties(width=400, height=HEIGHT, title=titled(title))
    names = [
        [each.name, f"{each.margin:+,.0f} per loan".replace(",", " ")] for each in credit.segments
    ]
    every = max(1, -(-credit.rounds // MAP_COLUMNS))
    cells: Rows = [
        {
            "segment": place,
            "start": start + 0.5,
            "end": min(start + every, credit.rounds) + 0.5,
            "accepted": digits(float(shares[start : start + every].mean())),
        }
        for place, shares in enumerate(credit.acceptance)
        for start in range(0, credit.rounds, every)
    ]
    across = alt.Scale(domain=[0.5, credit.rounds + 0.5], nice=False)
    label = alt.Axis(title=None, labelExpr=f"{names}[datum.value]", ticks=False)
    bar = alt.Legend(title=None, format=".0%", orient="right", gradientLength=HEIGHT)
    colours = alt.Scale(range=["#f7fbff", "#6baed6", "#08306b"], domain=[0.0, 0.5, 1.0])
    right = (
        alt.Chart(alt.NamedData(MAP))
        .mark_rect()
        .encode(
            x=alt.X("start:Q", title="round", scale=across, axis=alt.Axis(grid=False)),
            x2="end:Q",
            y=alt.Y("segment:O", axis=label, scale=alt.Scale(paddingInner=0.05)),
            color=alt.Color("accepted:Q", scale=colours, legend=bar),
        )
        .properties(
            width=400, height=HEIGHT, title=titled("Share of plays in which a segment is accepted")
        )
    )
    both = alt.hconcat(left, right).resolve_scale(color="independent", strokeDash="independent")
    return styled(both.properties(datasets={DATA: rows, MAP: cells}))


def _earned(credit: CreditResult) -> tuple[alt.LayerChart, Rows]:
    """Mean profit over plays with a band from the 10 % to the 90 % quantile."""
    every = max(1, credit.rounds // 100)
    rounds = [*range(0, credit.rounds, every), credit.rounds - 1]
    looks = {
        "clairvoyant": Look(GREEN, DASHED),
        "learns": Look(BLUE),
        "accepts everybody": Look(GREY, SHORT),
    }
    rows: Rows = []
    for place, lender in enumerate(LENDERS):
        profit = credit.profit[:, place] / 1_000.0
        low, high = np.quantile(profit, (0.1, 0.9), axis=0)
        rows += [
            {
                "x": t + 1,
                "policy": lender,
                "y": digits(float(profit[:, t].mean())),
                "low": digits(float(low[t])),
                "high": digits(float(high[t])),
            }
            for t in rounds
        ]
    across = alt.X("x:Q", title="round", axis=alt.Axis(grid=False))
    up = alt.Y("y:Q", title="cumulative profit (thousands)")
    time = alt.Tooltip("x:Q", title="round", format=",")
    return line_layers(rows, looks, across, up, time=time, format=",.1f"), rows


def _regret_chart(result: Result, curves: Sequence[Curve], *, log: bool) -> dict[str, Any]:
    # The legend has the order of the curves.
    curves = sorted(curves, key=lambda curve: -float(curve.regret[-1]))
    names = [curve.policy for curve in curves]
    rows = [row for curve in curves for row in regret_rows(curve, log=log)]
    if result.scenario.lower_bound().total > 0.0:
        names.append(LOWER_BOUND)
        rows += lower_bound_rows(result, log=log)
    return _draw(
        rows, names, title=f"{result.scenario.name}: regret", x="round t", y="regret", log_y=log
    )


def _draw(
    rows: Rows, order: Sequence[str], *, title: str, x: str, y: str, log_y: bool
) -> dict[str, Any]:
    """Return the specification of lines over a logarithmic axis."""
    return plain(log_time_lines(rows, _looks(order), x=x, y=y, log_y=log_y), title, rows)


def _looks(names: Sequence[str]) -> dict[str, Look]:
    """Return the looks of curves.

    A limit is dotted in the colour of its policy; the lower bound is dotted in black.
    """
    looks = (
        looks_of([name for name in names if name != LOWER_BOUND and not name.startswith(LIMIT_OF)])
        | OPTIMAL_LOOKS
    )
    limits = {LIMIT_OF + name: Look(look.colour, THEORY.dash) for name, look in looks.items()}
    return {name: (looks | limits | {LOWER_BOUND: THEORY})[name] for name in names}
