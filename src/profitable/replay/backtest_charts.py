"""The charts of a backtest, made from the dict of `Backtest.to_dict()` only.

Those with a menu are in `interactive_charts`.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import json
import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

import altair as alt

from profitable.common.charts import DATA, Figure, Rows, digits, lines_with_bands, plain
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASH_DOT,
    DASHED,
    GREEN,
    GREY,
    ORANGE,
    SHORT,
    SKY,
    VERMILION,
    Look,
)
from profitable.common.text_tables import number_text
from profitable.past.layout import CALENDAR
from profitable.policy.policies import looks_of
from profitable.replay.backtest_entry import BETTER, UNSURE, WORSE
from profitable.replay.backtest_summary import MOST_PICTURED
from profitable.replay.baselines import ALL

ROW, LEAST_HEIGHT = 17, 140
BASELINE_DASHES = (DASHED, SHORT, DASH_DOT, (10, 4), (1, 3), (12, 2, 2, 2, 2, 2))
# More bands than these hide each other; then so many are shown at first.
MOST_BANDS, SHOWN_FIRST = 3, 2
LARGE_MONEY = 10_000.0  # from here on, axes say 20k and 3M
MOST_POINTS = 150  # of a line; the eye sees no more on a screen
MOST_SPANS = 60  # columns of the picture of what was accepted
MOST_TICKS = 9
YEAR = re.compile(r"(\d{4})-")
LABEL = "labels[datum.x - 1]"  # of a row's round, in charts with the parameter `labels`
UPRIGHT = "M-0.15,-1.2H0.15V1.2H-0.15Z"  # a symbol: a short vertical bar


def shown_categories(backtest: dict[str, Any]) -> list[str]:
    """Return the categories with the most clients, from the largest profit down."""
    most = sorted(backtest["categories"], key=lambda each: -each["clients"])[:MOST_PICTURED]
    return [each["name"] for each in sorted(most, key=lambda each: -each["profit"])]


def traced_categories(backtest: dict[str, Any]) -> list[str]:
    """Those of them that have tables by round, in the same order."""
    traced = set(backtest["traced"])
    return [name for name in shown_categories(backtest) if name in traced]


def money_format(values: Iterable[float | None]) -> str:
    """Return the format of amounts in tooltips: with decimals if they are small.

    >>> money_format([-2.5e6, None]), money_format([0.25])
    (',.0f', ',.3~f')
    """
    return ",.0f" if _largest(values) >= LARGE_MONEY else ",.3~f"


def money_axis(values: Iterable[float | None]) -> Any:
    """Return an axis of amounts: 20k and 3M if they are large."""
    if _largest(values) < LARGE_MONEY:
        return alt.Axis(tickCount=6, format=",.6~g")
    return alt.Axis(tickCount=6, labelExpr="datum.value ? format(datum.value, '~s') : '0'")


def money_of(backtest: dict[str, Any]) -> str:
    """Return the unit of amounts.

    >>> money_of({"unit": "EUR"}), money_of({})
    ('EUR', 'money')
    """
    return backtest.get("unit") or "money"


def _largest(values: Iterable[float | None]) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)


def rows_height(count: int) -> int:
    """Return the height of a chart with a row for each category."""
    return max(LEAST_HEIGHT, ROW * count)


def looks(entries: Sequence[dict[str, Any]]) -> dict[str, Look]:
    """Return line styles: accepting all dotted, baselines grey, policies coloured."""
    found = looks_of([each["name"] for each in entries if each["kind"] == "policy"])
    found[ALL] = Look(BLACK, (1, 3))
    baselines = (each["name"] for each in entries if each["name"] not in found)
    for name, dash in zip(baselines, cycle(BASELINE_DASHES), strict=False):
        found[name] = Look(GREY, dash)
    return {each["name"]: found[each["name"]] for each in entries}


def difference_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the difference of each entry to accepting everybody, with its interval."""
    entries = [
        each
        for each in backtest["entries"]
        if each["name"] != ALL and each["difference"] is not None
    ]
    if not entries:
        return None
    rows: Rows = [
        {"name": each["name"], "difference": digits(each["difference"])}
        | (
            {"low": digits(each["low"]), "high": digits(each["high"])}
            if each["low"] is not None
            else {}
        )
        | {"standing": each["standing"]}
        for each in entries
    ]
    fields = ("difference", "low", "high")
    amounts = [each[field] for each in entries for field in fields]
    pointed, names = money_format(amounts), [each["name"] for each in entries]
    kinds, colours = [BETTER, UNSURE, WORSE], [GREEN, GREY, VERMILION]
    legend = alt.Legend(title=None, symbolSize=120, symbolStrokeWidth=0.0)
    base = alt.Chart(alt.NamedData(DATA)).encode(
        y=alt.Y("name:N", title=None, scale=alt.Scale(domain=names), axis=alt.Axis(labelLimit=240)),
        color=alt.Color("standing:N", scale=alt.Scale(domain=kinds, range=colours), legend=legend),
        tooltip=[alt.Tooltip("name:N", title=" "), *(
            alt.Tooltip(f"{field}:Q", format=pointed) for field in fields
        ), "standing:N"],
    )  # fmt: skip
    across = alt.X("low:Q", title=f"difference, in {money_of(backtest)}", axis=money_axis(amounts))
    zero = alt.Chart(alt.InlineData(values=[{"low": 0.0}])).mark_rule(color=BLACK).encode(x=across)
    interval = base.mark_rule(strokeWidth=3, opacity=0.75).encode(x=across, x2="high:Q")
    shapes = alt.Scale(domain=kinds, range=["triangle-right", "circle", "triangle-left"])
    point = base.mark_point(filled=True, size=110, opacity=1.0).encode(
        x="difference:Q", shape=alt.Shape("standing:N", scale=shapes, legend=legend)
    )
    caption = (
        "Points are the differences on these clients, lines their 95 % intervals. The line at 0 "
        "is accepting "
        "everybody. Better and worse are significant after Bonferroni correction for the "
        "policies tried."
    )
    chart = plain(
        alt.layer(zero, interval, point),
        "More or less than accepting everybody",
        rows,
        height=26 * len(rows) + 20,
    )
    return Figure("difference", caption, chart)


def over_time_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the cumulative difference to accepting everybody over time."""
    entries = [each for each in backtest["entries"] if each["difference"] is not None]
    labels = backtest["rounds"]
    rows: Rows = []
    for each in entries:
        curve = each["over_time"]
        for x in points(len(labels)):
            row: dict[str, Any] = {"x": x, "label": labels[x - 1], "policy": each["name"]}
            row["y"] = digits(curve["difference"][x - 1])
            if each["kind"] == "policy" and curve["low"][x - 1] is not None:
                row |= {"low": digits(curve["low"][x - 1]), "high": digits(curve["high"][x - 1])}
            rows.append(row)
    if not rows:
        return None
    # The order of the curves.
    entries = sorted(entries, key=lambda each: -each["over_time"]["difference"][-1])
    amounts = [row["y"] for row in rows]
    policies = [each["name"] for each in entries if each["kind"] == "policy"]
    hidden = policies[SHOWN_FIRST:] if len(policies) > MOST_BANDS else []
    chart = lines_with_bands(
        rows,
        looks(entries),
        time_axis(labels, asked_in(backtest)),
        alt.Y(
            "y:Q", title=f"cumulative difference, in {money_of(backtest)}", axis=money_axis(amounts)
        ),
        title="Difference over time",
        time=alt.Tooltip("label:N", title=period_of(backtest)),
        format=money_format(amounts),
        shown=[each["name"] for each in entries if each["name"] not in hidden],
    )
    caption = (
        "What was earned more than by accepting everybody, by clients who asked up to each "
        "round; policies with 95 % "
        "bands. Profit counts in the round in which the client asked. Click a name to hide or "
        "show its curve."
    )
    if hidden:
        caption += (
            f" At first, the {SHOWN_FIRST} policies that earned most are shown, and "
            f"{len(hidden)} are pale."
        )
    return Figure("over-time", caption, chart)


def known_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the mean known by then and the final mean of clients who had asked."""
    known, labels = backtest["known"], backtest["rounds"]
    rows: Rows = [
        {"x": x, "label": labels[x - 1], "policy": name, "y": digits(known[field][x - 1])}
        for name, field in (("known by then", "known_mean"), ("in the end", "final_mean"))
        for x in points(len(labels))
        if known[field][x - 1] is not None
    ]
    if not rows:
        return None
    up = alt.Y(
        "y:Q",
        title="mean reward",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format=",.6~g", tickCount=6),
    )
    chart = lines_with_bands(
        rows,
        {"known by then": Look(VERMILION), "in the end": Look(BLUE, DASHED)},
        time_axis(labels, period_of(backtest)),
        up,
        title="Known mean and final mean",
        time=alt.Tooltip("label:N", title=period_of(backtest)),
    )
    caption = (
        "Mean reward of clients who asked up to each round: of the outcomes that were known by "
        "then, and of all in the end. Where the first line lies above the second, bad outcomes "
        "took longer to show."
    )
    return Figure("known", caption, chart)


def share_known_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the share of outcomes known in each round."""
    shares, labels = backtest["known"]["share_known"], backtest["rounds"]
    rows: Rows = [
        {"x": x, "y": digits(shares[x - 1])}
        for x in points(len(labels))
        if shares[x - 1] is not None
    ]
    up = alt.Y(
        "y:Q",
        title="share known",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=5),
    )
    base = alt.Chart(alt.NamedData(DATA)).transform_calculate(label=LABEL)
    area = base.mark_area(color=SKY, opacity=0.45, line={"color": BLUE}).encode(
        x=time_axis(labels, period_of(backtest)),
        y=up,
        tooltip=[
            alt.Tooltip("label:N", title=period_of(backtest)),
            alt.Tooltip("y:Q", title="known", format=".1%"),
        ],
    )
    chart = plain(alt.layer(area).add_params(labels_of(labels)), "How much was known", rows)
    caption = (
        "Of the clients who asked up to each round: the share whose outcome was known by then."
    )
    return Figure("share-known", caption, chart)


def asked_in(backtest: dict[str, Any]) -> str:
    """Return the title of the axis of rounds."""
    return f"{period_of(backtest)} in which clients asked"


def period_of(backtest: dict[str, Any]) -> str:
    """Return the name of a round.

    >>> period_of({"round": "month"}), period_of({"round": 20})
    ('month', 'round')
    """
    return backtest["round"] if backtest.get("round") in CALENDAR else "round"


def means_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the means per client and per unit of money, where amounts differ."""
    shown = set(shown_categories(backtest))
    found = [
        each
        for each in backtest["categories"]
        if each["mean_by_money"] is not None and each["mean"] is not None and each["name"] in shown
    ]
    if not found:
        return None
    found.sort(key=lambda each: each["threshold"] - each["mean_by_money"])
    names = [each["name"] for each in found]
    fields = {"per client": "mean", "per unit of money": "mean_by_money", "needed": "threshold"}
    rows: Rows = [
        {"category": each["name"], "kind": kind, "value": digits(each[field])}
        for each in found
        for kind, field in fields.items()
    ]
    legend = alt.Legend(title=None, symbolSize=120, symbolStrokeWidth=0.0)
    up = alt.Y(
        "category:N",
        title=None,
        scale=alt.Scale(domain=names),
        axis=alt.Axis(labelLimit=200, grid=True),
    )
    across = alt.X("value:Q", title="mean of money back per unit lent", scale=alt.Scale(zero=False))
    base = alt.Chart(alt.NamedData(DATA))
    both = base.transform_filter("datum.kind != 'needed'")
    line = both.mark_line(color=GREY, strokeWidth=1.5).encode(x=across, y=up, detail="category:N")
    colours = alt.Scale(domain=list(fields), range=[ORANGE, BLUE, BLACK])
    shapes = alt.Scale(domain=list(fields), range=["circle", "square", UPRIGHT])
    point = base.mark_point(filled=True, size=80, opacity=1.0).encode(
        x=across,
        y=up,
        color=alt.Color("kind:N", scale=colours, legend=legend),
        shape=alt.Shape("kind:N", scale=shapes, legend=legend),
        tooltip=[
            "category:N",
            alt.Tooltip("kind:N", title="mean"),
            alt.Tooltip("value:Q", format=".4~g"),
        ],
    )
    chart = plain(
        alt.layer(line, point),
        "Mean per client, and per unit of money",
        rows,
        height=rows_height(len(names)),
    )
    return Figure("means", means_reading(found), chart)


def means_reading(found: Sequence[dict[str, Any]]) -> str:
    """Describe the two means in one or two sentences.

    >>> cars = {"name": "cars", "mean": 1.07, "mean_by_money": 1.04, "threshold": 1.05}
    >>> means_reading([cars])
    'Profit depends on money. In 1 of 1 categories the two means ... needed: cars.'
    """
    apart = [
        each["name"]
        for each in found
        if (each["mean"] > each["threshold"]) != (each["mean_by_money"] > each["threshold"])
    ]
    text = "Profit depends on money."
    if not apart:
        return f"{text} In no category do the two means lie on different sides of what is needed."
    listed = ", ".join(apart[:5]) + (
        f", and {number_text(len(apart) - 5)} more" if len(apart) > 5 else ""
    )
    of = f"{number_text(len(apart))} of {number_text(len(found))} categories"
    return f"{text} In {of} the two means lie on different sides of what is needed: {listed}."


# ------------------------------------------------------------------ the axis of rounds


def points(rounds: int, most: int = MOST_POINTS) -> list[int]:
    """Return the rounds that a line is drawn through: all, or evenly spaced ones.

    The first and the last are always there.

    >>> points(4), points(1_000, 5)
    ([1, 2, 3, 4], [1, 251, 501, 750, 1000])
    """
    if rounds <= most:
        return list(range(1, rounds + 1))
    return [1 + round(place * (rounds - 1) / (most - 1)) for place in range(most)]


def spans(rounds: int, most: int = MOST_SPANS) -> list[tuple[int, int]]:
    """Return spans of equal length as (first, last); the last may be shorter.

    >>> spans(3), spans(100, 3)
    ([(1, 1), (2, 2), (3, 3)], [(1, 34), (35, 68), (69, 100)])
    """
    length = -(-rounds // most)
    return [(first, min(first + length - 1, rounds)) for first in range(1, rounds + 1, length)]


def ticks(labels: Sequence[str]) -> dict[int, str]:
    """Return the rounds that have a label on the axis.

    Labels are where years begin if there are three of them, else evenly spaced.

    >>> ticks([f"{2007 + month // 12}-{month % 12 + 1:02}" for month in range(48)])
    {1: '2007', 13: '2008', 25: '2009', 37: '2010'}
    >>> ticks([str(1 + number) for number in range(1_000)])
    {1: '1', 200: '200', 400: '400', 600: '600', 800: '800', 1000: '1000'}
    """
    years = [found[1] if (found := YEAR.match(label)) else "" for label in labels]
    begins = {
        place + 1: year
        for place, year in enumerate(years)
        if year and (labels[0].startswith(f"{year}-01") if place == 0 else year != years[place - 1])
    }
    if all(years) and len(begins) >= 3:
        every = -(-len(begins) // MOST_TICKS)
        return dict(list(begins.items())[::every])
    step = next(
        size * 10**power
        for power in range(12)
        for size in (1, 2, 5)
        if len(labels) <= 6 * size * 10**power
    )
    return {place: labels[place - 1] for place in sorted({1, *range(step, len(labels) + 1, step)})}


def time_axis(labels: Sequence[str], title: str) -> Any:
    """Return the axis of rounds x, 1 to R, with labels at some of them."""
    texts = ticks(labels)
    names = json.dumps({str(place): text for place, text in texts.items()})
    axis = alt.Axis(
        values=list(texts),
        labelExpr=f"{names}[toString(datum.value)]",
        grid=False,
        labelOverlap=True,
    )
    scale = alt.Scale(domain=[1, max(2, len(labels))], nice=False)
    return alt.X("x:Q", title=title, axis=axis, scale=scale)


def labels_of(labels: Sequence[str]) -> Any:
    """Return the parameter `labels` of a chart, which `LABEL` looks up."""
    return alt.param(name="labels", value=list(labels))
