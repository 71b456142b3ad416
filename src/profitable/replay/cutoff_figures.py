"""Figures of bands of a score, from the dict of a backtest."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import json
from typing import Any

import altair as alt

from profitable.agent.cutoff_chart import band_rows, means_panel
from profitable.common.charts import Figure, Rows, lines_with_bands, plain
from profitable.common.text_tables import percent_text
from profitable.replay.backtest_charts import (
    asked_in,
    looks,
    period_of,
    points,
    rows_height,
    time_axis,
)

APART = 0.005  # of the rounds; fewer than that are not worth a remark


def bands_figure(backtest: dict[str, Any]) -> Figure | None:
    """Means and fit of the bands with their intervals, against the threshold."""
    table = backtest["cutoff"]
    if not table:
        return None
    chart = plain(
        means_panel(table),
        f"Mean reward by {table['order']}, with all outcomes of the file",
        band_rows(table),
        height=rows_height(len(table["bands"])),
    )
    caption = (
        f"{table['sentence']} The grey bars are the own intervals of each band, the orange ones "
        "what the order makes of them: means that do not fall from one band to the next better "
        "one. No policy saw all these outcomes."
    )
    return Figure("bands", caption, chart)


def cutoff_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the cut-off of each policy by round."""
    table = backtest["cutoff"]
    if not table or not table["over_time"]:
        return None
    labels, names = backtest["rounds"], [band["name"] for band in table["bands"]]
    rows: Rows = [
        {
            "x": place,
            "y": each["cutoff"][place - 1],
            "policy": each["policy"],
            "label": labels[place - 1],
        }
        for each in table["over_time"]
        for place in points(len(labels))
    ]
    policies = [each["policy"] for each in table["over_time"]]
    found = looks([each for each in backtest["entries"] if each["name"] in policies])
    texts = json.dumps({str(place): name for place, name in enumerate([*names, "none"])})
    up = alt.Y(
        "y:Q",
        title="lowest band from which on all are accepted",
        scale=alt.Scale(domain=[0, len(names)], nice=False),
        axis=alt.Axis(
            values=list(range(len(names) + 1)), labelExpr=f"{texts}[toString(datum.value)]"
        ),
    )
    chart = lines_with_bands(
        rows,
        {name: found[name] for name in policies},
        time_axis(labels, asked_in(backtest)),
        up,
        title="The cut-off over time",
        time=alt.Tooltip("label:N", title=period_of(backtest)),
        format="d",
        shown=[name for name in policies if "trust=0" not in name] or policies,
    )
    apart = [each for each in table["over_time"] if each["apart"] >= APART]
    caption = "A click on a name in the legend shows or hides it."
    if apart:
        most = max(apart, key=lambda each: each["apart"])
        caption += (
            " A policy may also accept a band below its cut-off, if little is known of it: "
            f"{most['policy']} did so in {percent_text(most['apart'])} of the rounds, more often "
            "than others."
        )
    return Figure("cutoff", caption, chart)
