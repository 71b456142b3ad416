"""Pictures of the advice: whom to stop, whether that would have paid, which grouping.

Made from the dict of `Backtest.to_dict()` only; a picture whose key is missing is not
drawn.
"""

# Altair's method chains are typed by a mixin that the checker follows only in part.
# pyright: reportUnknownMemberType=false

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from profitable.common.charts import DATA, Figure, Rows, digits, plain
from profitable.common.line_styles import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION
from profitable.common.text_tables import number_text
from profitable.replay.advice_tables import in_stop_order, window_of
from profitable.replay.backtest_charts import ROW, money_axis, money_format, money_of
from profitable.replay.backtest_summary import MOST_PICTURED
from profitable.replay.optional_keys import part_of, rows_of

ON_LIST, NOT_ON_IT = "on the stop list", "not on it"
FULL_ROW = 24  # pixels of a row with a symbol
AXIS_ROOM = 30  # pixels of the axis
PALE_BAR = "#A3AAB1"
PICTURE_EDGE = 0.05  # of a picture, left and right of what it shows
TOO_FAR = 1.0  # an interval is cut off that leaves the points by more than their span


def stop_list_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the interval of the profit per client of each category."""
    found = part_of(backtest, "stop_list")
    judged = [each for each in rows_of(found, "rows") if each["clients"]]
    if not judged:
        return None
    most = sorted(judged, key=lambda each: (not each["stop"], -each["clients"]))[:MOST_PICTURED]
    shown = [each for each in in_stop_order(judged) if each in most]
    several = len({each["grouping"] for each in judged}) > 1
    rows: Rows = [
        {
            "name": f"{each['grouping']}: {each['category']}" if several else each["category"],
            "middle": digits(each["profit"] / each["clients"]),
            "clients": each["clients"],
            "pays": each["pays"],
            "lately": each.get("recent_pays"),
            "decision": ON_LIST if each["stop"] else NOT_ON_IT,
        }
        | _ends(each)
        for each in shown
    ]
    domain, is_cut = _domain(rows)
    up = _names([row["name"] for row in rows])
    chart = _points_with_intervals(
        rows,
        f"profit per client, in {money_of(backtest)}",
        up,
        kinds=[ON_LIST, NOT_ON_IT],
        field="decision",
        colours=[VERMILION, BLUE],
        shapes=["square", "circle"],
        more=[
            alt.Tooltip("clients:Q", format=",.0f"),
            alt.Tooltip("pays:Q", title="P(pays)", format=".3~g"),
            alt.Tooltip("lately:Q", title="P(pays) lately", format=".3~g"),
        ],
        domain=domain,
    )
    caption = (
        "Profit per client of each category, with its 95 % interval. Squares are on the stop "
        "list. The line at 0 is what breaks even."
    )
    if any(each["stop"] and (each.get("p") or 0.0) < (each["pays"] or 0.0) for each in shown):
        caption += " Intervals are of the whole past; some squares lost lately."
    caption += " Intervals that leave the picture are cut off." if is_cut else ""
    if len(shown) < len(judged):
        caption += f" Shown are {number_text(len(shown))} of {number_text(len(judged))} categories."
    made = plain(chart, "Which categories pay", rows, height=_height(len(rows)))
    return Figure("stop-list", caption, made)


def time_split_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw what lists that were made earlier gained or lost afterwards."""
    found = [each for each in rows_of(backtest, "time_splits") if each["splits"]]
    if not found:
        return None
    rows: Rows = []
    for each in found:
        prefix = f"{each['grouping']}: " if len(found) > 1 else ""
        rows += [
            {"name": f"{prefix}{window_of(one)}", "gain": digits(one["gain"])}
            | {"possible": digits(one["possible"]), "made": one["date"]}
            for one in each["splits"]
            if one["gain"] is not None
        ]
        if each["gain"] is not None:
            total = {"name": f"{prefix}together", "middle": digits(each["gain"])}
            rows.append(total | _ends(each))
    amounts = [row.get(key) for row in rows for key in ("gain", "low", "high", "middle")]
    axis = money_axis(amounts)
    across = alt.X("gain:Q", title=f"gain, in {money_of(backtest)}", axis=axis)
    pointed = money_format(amounts)
    base = alt.Chart(alt.NamedData(DATA)).encode(y=_names([row["name"] for row in rows]))
    bars = (
        base.transform_filter("isValid(datum.gain)")
        .mark_bar(height={"band": 0.6})
        .encode(
            x=across,
            color=alt.condition("datum.gain < 0", alt.value(VERMILION), alt.value(GREEN)),
            tooltip=[
                alt.Tooltip("name:N", title="judged on"),
                alt.Tooltip("made:N", title="list made after"),
                alt.Tooltip("gain:Q", format=pointed),
                alt.Tooltip("possible:Q", title="best in hindsight", format=pointed),
            ],
        )
    )
    together = base.transform_filter("isValid(datum.middle)").encode(tooltip=_tooltip(pointed))
    interval = together.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q", axis=axis), x2="high:Q")
    point = together.mark_point(filled=True, size=110, opacity=1.0, shape="diamond").encode(
        x="middle:Q"
    )
    layers = [bars, interval.encode(color=alt.value(GREY)), point.encode(color=alt.value(GREY))]
    chart = plain(
        alt.layer(*layers, _zero("gain")),
        "Would an earlier list have paid?",
        rows,
        height=_height(len(rows)),
    )
    caption = (
        "Each list was made from what was known at its date, and is judged on the clients who "
        "asked afterwards. A bar to the right: it earned more than accepting everybody; to the "
        "left: it lost. The diamond is the sum, with its 95 % interval."
    )
    return Figure("time-split", caption, chart)


def groupings_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw what each way of grouping is worth."""
    found = rows_of(backtest, "groupings")
    kinds = ["best set, cross-fitted", "best policy", "earlier stop lists"]
    rows: Rows = []
    for each in found:
        if each.get("cross_fitted") is not None:
            error = 1.96 * (each.get("cross_fitted_error") or 0.0)
            ends = {"low": each["cross_fitted"] - error, "high": each["cross_fitted"] + error}
            rows.append(_grouping(each, kinds[0], each["cross_fitted"], ends))
        if each.get("difference") is not None:
            rows.append(_grouping(each, kinds[1], each["difference"], each))
        later = part_of(each, "time_split")
        if later.get("gain") is not None:
            rows.append(_grouping(each, kinds[2], later["gain"], later))
    if not rows:
        return None
    names = [each["name"] for each in found]
    chart = _points_with_intervals(
        rows,
        f"more than accepting everybody, in {money_of(backtest)}",
        _names(names),
        kinds=kinds,
        field="kind",
        colours=[ORANGE, BLUE, GREEN],
        shapes=["square", "circle", "diamond"],
        offset=True,
    )
    caption = (
        "What each way of grouping is worth against accepting everybody, with 95 % intervals: "
        "the best fixed set, cross-fitted; what the best policy got of it while it learnt; and "
        "what stop lists, made earlier, gained afterwards."
    )
    made = plain(chart, "Which grouping is worth it", rows, height=AXIS_ROOM + 54 * len(names))
    return Figure("groupings", caption, made)


def _grouping(
    each: dict[str, Any], kind: str, middle: float, ends: dict[str, Any]
) -> dict[str, Any]:
    return {"name": each["name"], "kind": kind, "middle": digits(middle)} | _ends(ends)


def swap_set_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw the clients whom a chosen policy would have accepted otherwise."""
    kinds = {"out": -1.0, "unchanged": 1.0, "in": 1.0}
    fields = {kind: f"clients_{kind}" for kind in kinds}
    return _swapped(
        backtest,
        "swap-set",
        fields,
        kinds,
        [VERMILION, PALE_BAR, GREEN],
        "refused  ←  clients  →  accepted",
        "'Against the past: ' + policy",
        "To the left: clients who would have been refused (out). To the right: those whom both "
        "accept (unchanged), and those who would have been accepted in addition (in).",
    )


def swap_profit_figure(backtest: dict[str, Any]) -> Figure | None:
    """Draw what these other decisions would have done to the profit."""
    kinds = {"by refusing": -1.0, "by accepting": 1.0}
    fields = dict(zip(kinds, ("money_out", "money_in"), strict=True))
    return _swapped(
        backtest,
        "swap-profit",
        fields,
        kinds,
        [BLUE, ORANGE],
        f"loses  ←  in {money_of(backtest)}  →  gains",
        "'What that changes in profit: ' + policy",
        "To refuse clients who lost is a gain, to refuse clients who earned a loss.",
    )


def _swapped(
    backtest: dict[str, Any],
    name: str,
    fields: Mapping[str, str],
    signs: dict[str, float],
    colours: list[str],
    title: str,
    heading: str,
    caption: str,
) -> Figure | None:
    """Draw diverging bars by category, for a policy that the reader chooses."""
    found = [each for each in rows_of(backtest, "swap_sets") if each["rows"]]
    if not found:
        return None
    most = sorted(found[0]["rows"], key=lambda row: -_moved(row))[:MOST_PICTURED]
    names = [row["category"] for row in most]
    rows: Rows = [
        {"policy": each["name"], "category": row["category"]}
        | {kind: digits(signs[kind] * (row[field] or 0.0)) for kind, field in fields.items()}
        for each in found
        for row in each["rows"]
        if row["category"] in names
    ]
    kinds: Any = list(fields)
    amounts = [row[kind] for row in rows for kind in kinds]
    policies = [each["name"] for each in found]
    menu = alt.binding_select(options=policies, name="policy: ")
    legend = alt.Legend(title=None, symbolType="square", symbolStrokeWidth=0.0, symbolSize=150)
    pointed = money_format(amounts)
    bars = (
        alt.Chart(alt.NamedData(DATA))
        .transform_filter("datum.policy == policy")
        .transform_fold(kinds, as_=["kind", "value"])
        .transform_calculate(place=f"indexof({kinds!r}, datum.kind)")
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X("value:Q", title=title, axis=money_axis(amounts)),
            y=alt.Y("category:N", title=None, sort=names),
            order=alt.Order("place:Q"),
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=kinds, range=colours), legend=legend
            ),
            tooltip=["category:N", *(alt.Tooltip(f"{kind}:Q", format=pointed) for kind in kinds)],
        )
    )  # fmt: skip
    chart = plain(
        alt.layer(bars, _zero("value")).add_params(
            alt.param(name="policy", value=policies[0], bind=menu)
        ),
        alt.expr(heading),
        rows,
        height=_height(len(names), ROW),
    )
    if len(names) < len(found[0]["rows"]):
        caption += f" Shown are {number_text(len(names))} of {number_text(len(found[0]['rows']))}."
    return Figure(name, caption, chart)


def _moved(row: dict[str, Any]) -> float:
    """Return how much of a category is out, in, or there at all."""
    parts = [row[f"clients_{kind}"] or 0.0 for kind in ("out", "in", "unchanged")]
    return float(sum(parts))


# ---------------------------------------------------------------- points and intervals


def _points_with_intervals(
    rows: Rows,
    title: str,
    up: Any,
    *,
    kinds: list[Any],
    field: str,
    colours: list[str],
    shapes: list[str],
    more: Sequence[Any] = (),
    domain: list[float] | None = None,
    offset: bool = False,
) -> Any:
    """Return points (middle) with intervals (low, high); kinds differ in shape, too."""
    amounts = [row.get(key) for row in rows for key in ("low", "high", "middle")]
    axis = money_axis(amounts)
    scale = alt.Undefined if domain is None else alt.Scale(domain=domain, nice=False)
    across = alt.X("low:Q", title=title, axis=axis, scale=scale)
    legend = alt.Legend(title=None, symbolSize=120, symbolStrokeWidth=0.0)
    base = alt.Chart(alt.NamedData(DATA)).encode(
        y=up,
        color=alt.Color(
            f"{field}:N", scale=alt.Scale(domain=kinds, range=colours), legend=legend
        ),
        tooltip=[*_tooltip(money_format(amounts)), f"{field}:N", *more],
    )  # fmt: skip
    if offset:
        base = base.encode(yOffset=alt.YOffset(f"{field}:N", scale=alt.Scale(domain=kinds)))
    interval = base.mark_rule(strokeWidth=3, opacity=0.75, clip=True).encode(x=across, x2="high:Q")
    point = base.mark_point(filled=True, size=100, opacity=1.0, clip=True).encode(
        x="middle:Q",
        shape=alt.Shape(
            f"{field}:N", scale=alt.Scale(domain=kinds, range=shapes), legend=legend
        ),
    )  # fmt: skip
    return alt.layer(_zero("low"), interval, point)


def _zero(field: str) -> Any:
    """Return the line of what breaks even."""
    line = alt.Chart(alt.InlineData(values=[{field: 0.0}])).mark_rule(color=BLACK)
    return line.encode(x=f"{field}:Q")


def _tooltip(format: str) -> list[Any]:
    ends = [
        alt.Tooltip(f"{field}:Q", title=title, format=format)
        for field, title in (("middle", "value"), ("low", "from"), ("high", "to"))
    ]
    return [alt.Tooltip("name:N", title=" "), *ends]


def _names(names: Iterable[str]) -> Any:
    """Return the axis of names, in their order, with a line for the eye."""
    return alt.Y(
        "name:N", title=None, scale=alt.Scale(domain=list(names)), axis=alt.Axis(grid=True)
    )


def _ends(row: dict[str, Any]) -> dict[str, float]:
    """Return the ends of an interval, if it has any."""
    if row.get("low") is None or row.get("high") is None:
        return {}
    return {"low": digits(row["low"]), "high": digits(row["high"])}


def _domain(rows: Rows) -> tuple[list[float], bool]:
    """Return a domain that shows all points, and whether it cuts off intervals.

    >>> _domain([{"middle": 1.0, "low": -9.0, "high": 1.5}, {"middle": 2.0}])
    ([-2.2, 2.2], True)
    """
    middles = [0.0, *(row["middle"] for row in rows)]
    low, high = min(middles), max(middles)
    lows, highs = ([low, *(row.get(key, 0.0) for row in rows)] for key in ("low", "high"))
    room = TOO_FAR * (high - low) or max(highs) - min(lows) or 1.0
    domain = [max(min(lows), low - room), min(max(high, *highs), high + room)]
    is_cut = domain[0] > min(lows) or domain[1] < max(highs)
    edge = PICTURE_EDGE * (domain[1] - domain[0])
    return [digits(domain[0] - edge), digits(domain[1] + edge)], is_cut


def _height(rows: int, row: int = FULL_ROW) -> int:
    return AXIS_ROOM + row * rows
