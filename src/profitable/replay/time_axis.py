"""The rounds of a backtest as an axis, with few enough points and labels."""

# pyright: reportUnknownMemberType=false

import json
import re
from collections.abc import Sequence
from typing import Any

import altair as alt

MOST_POINTS = 150  # of a line; the eye sees no more on a screen
MOST_SPANS = 60  # columns of the picture of what was accepted
MOST_TICKS = 9
YEAR = re.compile(r"(\d{4})-")
LABEL = "labels[datum.x - 1]"  # of a row's round, in charts with the parameter `labels`


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
