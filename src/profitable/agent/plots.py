"""The agent as a picture: evidence against patience, and what is known of each mean against its threshold."""

# matplotlib leaves some of its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from profitable.agent.decision import Decision
from profitable.agent.verdict import Verdict
from profitable.common.figures import new_figure, save_figure
from profitable.common.looks import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_DRAWN = 40  # categories; more cannot be read
SHARE = 0.9  # of the posterior that an interval holds


def draw(decision: Decision, path: str | os.PathLike[str] | None) -> "Figure":
    """Two panels with a line for each category, the first at the top; also written to `path`, if there is one."""
    shown = decision.head(MOST_DRAWN)
    figure = new_figure(9.5, 1.7 + 0.32 * max(len(shown), 4))
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_evidence(left, decision, shown)
    _draw_means(right, decision, shown)
    hidden = len(decision) - len(shown)
    more = f" (first {len(shown)} of {len(decision)} categories)" if hidden else ""
    figure.suptitle(f"Round {decision.round}, {decision.policy}{more}", fontsize=11)
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def _draw_evidence(axes: "Axes", decision: Decision, shown: list[Verdict]) -> None:
    places = np.arange(len(shown))
    evidence = np.array([verdict.evidence for verdict in shown])
    patience = np.array([verdict.patience for verdict in shown])
    finite = np.concatenate([evidence[np.isfinite(evidence)], patience[np.isfinite(patience)], [1.0]])
    edge = 1.15 * float(finite.max())
    colours = [
        GREY if verdict.reason.startswith("paused") else BLUE if verdict.accepted else VERMILION for verdict in shown
    ]
    axes.barh(places, np.minimum(evidence, edge), height=0.55, color=colours)
    if decision.policy.draws:
        axes.axvline(np.log(2.0), color=GREY, linestyle=":", linewidth=1.0)
        axes.set_title("Evidence; dotted: accepted in half of the rounds", fontsize=9)
    else:
        for place, limit in zip(places, patience, strict=True):
            axes.plot([min(limit, edge)] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1.5)
        axes.set_title("Evidence (bar) against patience (black)", fontsize=9)
    axes.set_yticks(places, [verdict.name for verdict in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0.0, edge)
    axes.set_xlabel("nats; blue: accepted, red: skipped, grey: paused" if not decision.policy.draws else "nats")


def _draw_means(axes: "Axes", decision: Decision, shown: list[Verdict]) -> None:
    for place, verdict in enumerate(shown):
        interval = decision.interval(verdict.name, SHARE)
        if interval is not None:
            axes.plot(interval, [place, place], color=GREY, linewidth=4.0, alpha=0.5, solid_capstyle="butt")
        if verdict.mean is not None and np.isfinite(verdict.mean):
            axes.plot([verdict.mean], [place], "o", color=BLUE if verdict.accepted else VERMILION, markersize=4.5)
        axes.plot([verdict.threshold] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1.5)
    axes.set_title(f"Mean (dot), {SHARE:.0%} posterior interval (bar), threshold (black)", fontsize=9)
    axes.set_xlabel("reward per client")
