"""The chart of a cut-off table: means and fit of its bands, evidence against patience.

It is drawn from `CutoffTable.to_dict()`, so that reports and notebooks agree.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import json
from typing import Any

import altair as alt

from profitable.agent.decision_chart import HALF_WIDTH, LONGEST_LABEL
from profitable.common.charts import DATA, Rows, digits, styled, titled
from profitable.common.line_styles import BLACK, BLUE, GREY, ORANGE, VERMILION

BAND_LINE, FEWEST_BANDS = 24, 5  # pixels of a band; and how many have room at least

BAND_MEAN, BAND_FIT, BAND_THRESHOLD = (
    "mean of the band, 95 %",
    "fit of the order, 95 %",
    "threshold",
)
BAND_FATES = ("accepted", "refused", "not decided")
BAND_NUMBERS = (
    "mean",
    "low",
    "high",
    "fit",
    "fit_low",
    "fit_high",
    "threshold",
    "evidence",
    "patience",
)


def cutoff_chart(table: dict[str, Any]) -> alt.HConcatChart:
    """Two panels with a line for each band, the highest at the top."""
    panels: list[Any] = [means_panel(table)]
    if any(band["accepted"] is not None for band in table["bands"]):
        panels.append(_evidence_panel(table))
    title = f"{table['order']} after {table['round']} rounds"
    if table["best"] is not None:
        title += f"; the best cut-off so far is {table['best']} and better"
    chart = alt.hconcat(*panels, title=titled(title), datasets={DATA: band_rows(table)})
    return styled(chart.resolve_scale(color="independent"))


def band_rows(table: dict[str, Any]) -> Rows:
    """Return a row for each band, with as many digits as a chart can show."""
    return [
        {"name": band["name"], "clients": band["clients"]}
        | {key: digits(band[key]) for key in BAND_NUMBERS if band[key] is not None}
        | {"fate": BAND_FATES[(True, False, None).index(band["accepted"])]}
        for band in table["bands"]
    ]


def means_panel(table: dict[str, Any]) -> Any:
    """Means and fit with their intervals, and thresholds; its data are `band_rows`."""
    names = _names(table, alt.Axis(labelLimit=LONGEST_LABEL))
    base = alt.Chart(alt.NamedData(DATA)).encode(y=names)
    kinds = alt.Scale(domain=[BAND_MEAN, BAND_FIT, BAND_THRESHOLD], range=[GREY, ORANGE, BLACK])
    legend = alt.Legend(title=None, symbolType="square", symbolSize=150, symbolStrokeWidth=0.0)

    def along(field: str) -> Any:
        return alt.X(
            f"{field}:Q",
            title="mean reward",
            scale=alt.Scale(zero=False),
            axis=alt.Axis(tickCount=6),
        )

    def of_kind(kind: str) -> Any:
        named = base.transform_calculate(kind=json.dumps(kind))
        return named.encode(color=alt.Color("kind:N", scale=kinds, legend=legend))

    spans = (
        of_kind(BAND_MEAN)
        .mark_bar(height={"band": 0.62}, opacity=0.35)
        .encode(x=along("low"), x2="high:Q")
    )
    dots = base.mark_point(filled=True, size=45, opacity=1.0, color=GREY).encode(
        x=along("mean"),
        tooltip=["name:N", "clients:Q", "mean:Q", "low:Q", "high:Q", "fit:Q", "threshold:Q"],
    )
    fit = of_kind(BAND_FIT).mark_rule(strokeWidth=2.5).encode(x=along("fit_low"), x2="fit_high:Q")
    fitted = base.mark_tick(thickness=3, height={"band": 0.62}, color=ORANGE).encode(x=along("fit"))
    thresholds = (
        of_kind(BAND_THRESHOLD)
        .mark_tick(thickness=2, height={"band": 1.0}, opacity=1.0)
        .encode(x=along("threshold"))
    )
    return _panel(
        alt.layer(spans, thresholds, fit, fitted, dots), table, "Mean reward of each band"
    )


def _evidence_panel(table: dict[str, Any]) -> Any:
    finite = [
        band[key]
        for band in table["bands"]
        for key in ("evidence", "patience")
        if band[key] is not None
    ]
    edge = 1.15 * max([0.5, *finite])
    across: dict[str, Any] = {
        "title": "evidence (nats)",
        "scale": alt.Scale(domain=[0.0, edge], nice=False, clamp=True),
        "axis": alt.Axis(tickCount=6),
    }
    base = (
        alt.Chart(alt.NamedData(DATA))
        # Infinite evidence is not in the data: its bar reaches the edge.
        .transform_calculate(evidence=f"isValid(datum.evidence) ? datum.evidence : {edge}")
        .encode(y=_names(table, None))
    )
    bars = base.mark_bar(height={"band": 0.62}).encode(
        x=alt.X("evidence:Q", **across),
        color=alt.Color(
            "fate:N",
            scale=alt.Scale(domain=BAND_FATES[:2], range=[BLUE, VERMILION]),
            legend=alt.Legend(
                title=None, symbolType="square", symbolSize=150, symbolStrokeWidth=0.0
            ),
        ),
        tooltip=["name:N", "fate:N", "evidence:Q", "patience:Q"],
    )
    limits = base.mark_tick(color=BLACK, opacity=1.0, thickness=2, height={"band": 1.0}).encode(
        x=alt.X("patience:Q", **across)
    )
    words = "Evidence against each band; patience is the black line"
    return _panel(alt.layer(bars, limits), table, words)


def _names(table: dict[str, Any], axis: alt.Axis | None) -> alt.Y:
    highest_first = [band["name"] for band in table["bands"]][::-1]
    return alt.Y(
        "name:N", title=None, scale=alt.Scale(domain=highest_first, paddingInner=0.0), axis=axis
    )


def _panel(chart: Any, table: dict[str, Any], title: str) -> Any:
    return chart.properties(
        width=HALF_WIDTH,
        height=BAND_LINE * max(len(table["bands"]), FEWEST_BANDS),
        title=alt.Title(title, anchor="start", fontSize=12, fontWeight="normal"),
    )
