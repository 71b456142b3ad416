"""The chart of a decision: evidence against patience, means against thresholds."""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

import math
from typing import Any

import altair as alt

from profitable.agent.decision import Decision
from profitable.agent.explanation import Verdict
from profitable.common.charts import DATA, Rows, digits, styled, titled
from profitable.common.line_styles import BLACK, BLUE, GREY, SHORT, VERMILION

LINES_DRAWN = 40  # categories; more cannot be read
HALF_WIDTH, LINE_HEIGHT = 360, 26
LONGEST_LABEL = 240  # pixels of a name; more leave no room for the chart
SHARE = 0.9  # of the posterior that an interval holds
FAR = 3.0  # from breaking even; intervals that go further are cut by the edge
PAUSED_FATE = "paused"


def decision_chart(decision: Decision) -> alt.HConcatChart:
    """Two panels with a line for each category, the first at the top."""
    shown = decision.head(LINES_DRAWN)
    draws = decision.policy.draws
    fates = [f"{word} in most rounds" if draws else word for word in ("accepted", "skipped")]
    evidence_rows, edge = _evidence(shown, draws)
    mean_rows, ends, relative = _means(decision, shown)
    base = alt.Chart(alt.NamedData(DATA)).encode(
        color=alt.Color(
            "fate:N",
            scale=alt.Scale(domain=[*fates, PAUSED_FATE], range=[BLUE, VERMILION, GREY]),
            legend=alt.Legend(
                title=None, symbolType="square", symbolSize=150, symbolStrokeWidth=0.0
            ),
        )
    )
    rows = [
        {"name": verdict.name, "fate": PAUSED_FATE if paused else _fate(verdict, draws, fates)}
        | evidence
        | mean
        for verdict, paused, evidence, mean in zip(
            shown,
            decision.paused_mask[: len(shown)].tolist(),
            evidence_rows,
            mean_rows,
            strict=True,
        )
    ]
    more = (
        f" (first {len(shown)} of {len(decision)} categories)" if len(decision) > len(shown) else ""
    )
    both = alt.hconcat(
        _evidence_panel(base, shown, edge, draws),
        _mean_panel(base, shown, ends, relative),
        title=titled(f"Round {decision.round}, {decision.policy}{more}"),
        datasets={DATA: rows},
    )
    return styled(both)


def _fate(verdict: Verdict, draws: bool, fates: list[str]) -> str:
    accepted = (verdict.propensity or 0.0) >= 0.5 if draws else verdict.accepted
    return fates[0] if accepted else fates[1]


def _panel(layers: list[Any], shown: list[Verdict], title: str) -> Any:
    return alt.layer(*layers).properties(
        width=HALF_WIDTH,
        height=LINE_HEIGHT * max(len(shown), 4),
        title=alt.Title(title, anchor="start", fontSize=12, fontWeight="normal"),
    )


def _names(shown: list[Verdict], axis: alt.Axis | None) -> alt.Y:
    return alt.Y(
        "name:N",
        title=None,
        scale=alt.Scale(domain=[verdict.name for verdict in shown], paddingInner=0.0),
        axis=axis,
    )


def _evidence(shown: list[Verdict], draws: bool) -> tuple[Rows, float]:
    """Evidence and patience of each line, and the edge that cuts what is infinite.

    A policy that draws has the median of its patience, log 2.
    """
    patience = [math.log(2.0) if draws else verdict.patience for verdict in shown]
    numbers = [*(verdict.evidence for verdict in shown), *patience, 0.5]
    edge = 1.15 * max(value for value in numbers if math.isfinite(value))
    return [
        {"evidence": digits(min(verdict.evidence, edge)), "patience": digits(min(limit, edge))}
        for verdict, limit in zip(shown, patience, strict=True)
    ], edge


def _evidence_panel(base: Any, shown: list[Verdict], edge: float, draws: bool) -> Any:
    """Bars of evidence, and each one's patience as a line."""
    across: dict[str, Any] = {
        "title": "evidence (nats)",
        "scale": alt.Scale(domain=[0.0, edge], nice=False),
        "axis": alt.Axis(tickCount=6),
    }
    names = _names(shown, alt.Axis(labelLimit=LONGEST_LABEL))
    limits = alt.Chart(alt.NamedData(DATA)).encode(x=alt.X("patience:Q", **across))
    if draws:
        line = limits.mark_rule(color=BLACK, strokeWidth=2, strokeDash=list(SHORT))
        words = "half of the draws lie below the dotted line"
    else:
        line = limits.mark_tick(color=BLACK, opacity=1.0, thickness=2, height={"band": 1.0}).encode(
            y=names
        )
        words = "patience is the black line"
    return _panel(
        [
            base.mark_bar(height={"band": 0.55}).encode(
                x=alt.X("evidence:Q", **across),
                y=names,
                tooltip=["name:N", "fate:N", "evidence:Q", "patience:Q"],
            ),
            line,
        ],
        shown,
        f"Evidence against each category; {words}",
    )


def _means(decision: Decision, shown: list[Verdict]) -> tuple[Rows, tuple[float, float], bool]:
    """Mean and interval of each line, the ends of the axis, and its kind.

    They are in units of the threshold, so that different categories share an axis, or
    differences from it if a threshold is not positive.
    """
    relative = all(verdict.threshold > 0.0 for verdict in shown)
    break_even = 1.0 if relative else 0.0

    def place(verdict: Verdict, value: float) -> float:
        return value / verdict.threshold if relative else value - verdict.threshold

    lines: list[dict[str, float]] = []
    for verdict in shown:
        edges = zip(("low", "high"), decision.interval(verdict.name, SHARE) or (), strict=False)
        line = {field: place(verdict, end) for field, end in edges}
        if verdict.mean is not None:
            line["mean"] = place(verdict, verdict.mean)
        lines.append(line)
    seen = [break_even]
    for line in lines:
        seen += [
            value
            for field, value in line.items()
            if math.isfinite(value) and (field == "mean" or abs(value - break_even) < FAR)
        ]
    margin = 0.05 * (max(seen) - min(seen)) + 0.02
    ends = min(seen) - margin, max(seen) + margin
    rows: Rows = [
        {
            field: digits(min(max(value, ends[0]), ends[1]))
            for field, value in line.items()
            if field != "mean" or math.isfinite(value)
        }
        for line in lines
    ]
    return rows, ends, relative


def _mean_panel(base: Any, shown: list[Verdict], ends: tuple[float, float], relative: bool) -> Any:
    """Means as points with posterior intervals; the black line is breaking even."""
    across: dict[str, Any] = {
        "title": "mean ÷ threshold; 1 breaks even"
        if relative
        else "mean − threshold; 0 breaks even",
        "scale": alt.Scale(domain=ends, nice=False, zero=False),
        "axis": alt.Axis(tickCount=6),
    }
    lines = base.encode(
        y=_names(shown, None), tooltip=["name:N", "fate:N", "mean:Q", "low:Q", "high:Q"]
    )
    even = (
        alt.Chart(alt.InlineData(values=[{"mean": 1.0 if relative else 0.0}]))
        .mark_rule(color=BLACK, strokeWidth=2)
        .encode(x=alt.X("mean:Q", **across))
    )
    return _panel(
        [
            lines.mark_bar(height=6, opacity=0.35).encode(x=alt.X("low:Q", **across), x2="high:Q"),
            even,
            lines.mark_point(filled=True, size=55, opacity=1.0).encode(x=alt.X("mean:Q", **across)),
        ],
        shown,
        f"Mean reward (dot) and {SHARE:.0%} posterior interval",
    )
