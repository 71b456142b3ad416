"""The agent as a picture: evidence against patience, and what is known of each mean against its threshold."""

# matplotlib leaves some of its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

import os
from typing import TYPE_CHECKING

import numpy as np

from profitable.agent.decision import Decision
from profitable.agent.verdict import Verdict
from profitable.common.figures import new_figure, save_figure
from profitable.common.files import as_path
from profitable.common.looks import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES_DRAWN = 40  # categories; more cannot be read
WIDEST = 40  # letters of a name; more leave no room for the picture
SHARE = 0.9  # of the posterior that an interval holds
FAR = 3.0  # from breaking even; intervals that go further are cut by the edge


def draw(decision: Decision, path: str | os.PathLike[str] | None) -> "Figure":
    """Two panels with a line for each category, the first at the top; also written to `path`, if there is one."""
    file = None if path is None else as_path("path", path)
    shown = decision.head(LINES_DRAWN)
    figure = new_figure(9.5, 2.0 + 0.32 * max(len(shown), 4))
    left, right = figure.subplots(1, 2, sharey=True)
    colours = [_colour(verdict, decision.policy.draws) for verdict in shown]
    _draw_evidence(left, decision, shown, colours)
    _draw_means(right, decision, shown, colours)
    left.set_yticks(range(len(shown)), [_label(verdict.name) for verdict in shown])
    left.set_ylim(len(shown) - 0.4, -0.6)
    _add_legend(figure, decision.policy.draws)
    more = f" (first {len(shown)} of {len(decision)} categories)" if len(decision) > len(shown) else ""
    figure.suptitle(f"Round {decision.round}, {decision.policy}{more}", fontsize=11)
    if file is not None:
        save_figure(figure, file)
    return figure


def _label(name: str) -> str:
    """A name as matplotlib takes it: not too long for the picture, and a dollar is no formula."""
    return (name if len(name) <= WIDEST else f"{name[: WIDEST - 3]}...").replace("$", r"\$")


def _colour(verdict: Verdict, draws: bool) -> str:
    if verdict.reason.startswith("paused"):
        return GREY
    accepted = (verdict.propensity or 0.0) >= 0.5 if draws else verdict.accepted
    return BLUE if accepted else VERMILION


def _add_legend(figure: "Figure", draws: bool) -> None:
    from matplotlib.patches import Patch

    words = ("accepted", "skipped") if not draws else ("accepted in most rounds", "skipped in most rounds")
    handles = [
        Patch(color=colour, label=word)
        for colour, word in zip((BLUE, VERMILION, GREY), (*words, "paused"), strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9, frameon=False)


def _draw_evidence(axes: "Axes", decision: Decision, shown: list[Verdict], colours: list[str]) -> None:
    """Bars of evidence, and each one's patience as a line; a policy that draws has its median there, log 2."""
    evidence = np.array([verdict.evidence for verdict in shown])
    draws = decision.policy.draws
    patience = np.array([np.log(2.0) if draws else verdict.patience for verdict in shown])
    numbers = np.concatenate([evidence, patience, [0.5]])
    edge = 1.15 * float(numbers[np.isfinite(numbers)].max())
    axes.barh(range(len(shown)), np.minimum(evidence, edge), height=0.55, color=colours)
    rows = np.arange(len(shown))
    style = ":" if draws else "-"
    axes.vlines(np.minimum(patience, edge), rows - 0.5, rows + 0.5, color="black", linewidth=1.5, linestyle=style)
    drawn = "half of the draws lie below the dotted line" if draws else "patience is the black line"
    axes.set_title(f"Evidence against each category; {drawn}", fontsize=9)
    axes.set_xlim(0.0, edge)
    axes.set_xlabel("nats")


def _draw_means(axes: "Axes", decision: Decision, shown: list[Verdict], colours: list[str]) -> None:
    """Means and posterior intervals in units of the threshold, so that different categories share an axis."""
    relative = all(verdict.threshold > 0.0 for verdict in shown)

    def place(verdict: Verdict, value: float) -> float:
        return value / verdict.threshold if relative else value - verdict.threshold

    break_even = 1.0 if relative else 0.0
    seen = [break_even]
    for row, (verdict, colour) in enumerate(zip(shown, colours, strict=True)):
        interval = decision.interval(verdict.name, SHARE)
        if interval is not None:
            ends = [place(verdict, end) for end in interval]
            axes.plot(ends, [row, row], color=colour, linewidth=5.0, alpha=0.35, solid_capstyle="butt")
            seen += [end for end in ends if abs(end - break_even) < FAR]
        dot = np.inf if verdict.mean is None else place(verdict, verdict.mean)
        if np.isfinite(dot):
            axes.plot([dot], [row], "o", color=colour, markersize=5.0)
            seen.append(dot)
    margin = 0.05 * (max(seen) - min(seen)) + 0.02
    axes.axvline(break_even, color="black", linewidth=1.5)
    axes.set_xlim(min(seen) - margin, max(seen) + margin)
    axes.set_title(f"Mean reward (dot) and {SHARE:.0%} posterior interval", fontsize=9)
    axes.set_xlabel("share of the threshold; 1 breaks even" if relative else "mean less threshold; 0 breaks even")
