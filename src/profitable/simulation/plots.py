"""Pictures: functions that take numbers and draw; nothing here runs anything."""

# matplotlib leaves some of its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from profitable.simulation.result import Result

# Okabe and Ito's colours, told apart by colour-blind readers too.
GREY, BLUE, GREEN = "#777777", "#0072B2", "#009E73"
PALETTE = (BLUE, "#D55E00", GREEN, "#CC79A7", "#E69F00", "#56B4E9", GREY)


def new_figure(width: float, height: float) -> "Figure":
    """A figure without a window system behind it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("matplotlib", None, "is not installed", "run: pip install 'profitable[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_credit(path: Path, profit: FloatArray, acceptance: FloatArray, segments: Sequence[str], policy: str) -> None:
    """The credit example: profit [plays, 3, rounds] over time, and acceptance [segments, rounds] as a map."""
    figure = new_figure(10.5, 4.6)
    from matplotlib.ticker import PercentFormatter

    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
    rounds: IntArray = np.arange(1, profit.shape[2] + 1, dtype=np.int64)
    styles = (
        ("clairvoyant", 2, GREEN, "--"),
        (f"learns ({policy})", 1, BLUE, "-"),
        ("accepts everybody", 0, GREY, ":"),
    )
    for name, lender, colour, line in styles:
        curves = profit[:, lender] / 1_000.0
        left.plot(rounds, curves.mean(axis=0), color=colour, linestyle=line, linewidth=2, label=name)
        low, high = np.quantile(curves, (0.1, 0.9), axis=0)
        left.fill_between(rounds, low, high, color=colour, alpha=0.15, linewidth=0)
    left.axhline(0.0, color="black", linewidth=0.6)
    left.set(xlabel="round", ylabel="cumulative profit (thousands)", xlim=(1, max(2, rounds[-1])))
    left.set_title(f"What three lenders earn\n(mean of {len(profit)} plays, band: 10-90 %)", fontsize=10)
    left.legend(frameon=False, fontsize=9, loc="upper left")
    left.spines[["top", "right"]].set_visible(False)
    picture = right.imshow(
        acceptance,
        aspect="auto",
        interpolation="nearest",
        cmap="Blues",
        vmin=0.0,
        vmax=1.0,
        extent=(0.5, rounds[-1] + 0.5, len(segments), 0),
    )
    right.set_yticks(np.arange(len(segments)) + 0.5, segments, fontsize=9)
    for i in range(1, len(segments)):
        right.axhline(i, color="white", linewidth=3)
    right.set(xlabel="round")
    right.set_title("Share of plays in which a segment is accepted", fontsize=10)
    figure.colorbar(picture, ax=right, shrink=0.85, format=PercentFormatter(xmax=1.0))
    figure.savefig(path, dpi=150)


def draw_result(result: "Result", *, categories: bool = False) -> "Figure":
    """Regret over log t: a curve for each policy, a band of two standard errors, the lower bound."""
    truths = result.scenario.truths
    columns = min(len(truths), 3) if categories else 0
    lines = -(-len(truths) // columns) if columns else 0
    figure = new_figure(8.0 if not columns else 4.2 * max(columns, 2), 5.0 + 3.0 * lines)
    grid = figure.add_gridspec(1 + lines, max(columns, 1), height_ratios=[1.5, *[1.0] * lines])
    main = figure.add_subplot(grid[0, :])
    t = result.checkpoints
    for i, curve in enumerate(result.curves):
        colour, style = _look(i)
        label = curve.policy + (" (a few runs carry the mean)" if curve.carried_by_few[-1] else "")
        main.plot(t, curve.regret, color=colour, linestyle=style, linewidth=1.8, label=label)
        if curve.runs > 1:
            band = np.where(curve.carried_by_few, np.nan, 2.0 * curve.stderr)
            main.fill_between(t, curve.regret - band, curve.regret + band, color=colour, alpha=0.2, linewidth=0)
    if result.scenario.lower_bound().total > 0.0:
        main.plot(t, result.lower_bound, color="black", linestyle=(0, (1, 1)), linewidth=1.2, label="lower bound")
    runs = f"{result.finished:,} runs".replace(",", " ")
    main.set(xscale="log", xlabel="round t", ylabel="regret", xlim=(t[0], max(t[-1], t[0] + 1)))
    main.set_ylim(bottom=0.0)
    main.set_title(f"{result.scenario.name} ({runs}, seed {result.seed}; bands: two standard errors)", fontsize=10)
    handles, labels = main.get_legend_handles_labels()
    order = sorted(range(len(result.curves)), key=lambda i: -result.curves[i].regret[-1])
    order += list(range(len(result.curves), len(handles)))
    main.legend([handles[i] for i in order], [labels[i] for i in order], frameon=False, fontsize=8, loc="upper left")
    main.spines[["top", "right"]].set_visible(False)
    for k, truth in enumerate(truths if columns else ()):
        panel = figure.add_subplot(grid[1 + k // columns, k % columns])
        for i, curve in enumerate(result.curves):
            colour, style = _look(i)
            rounds = t - curve.accepted_rounds[k] if truth.profitable else curve.accepted_rounds[k]
            panel.plot(t, rounds, color=colour, linestyle=style, linewidth=1.4)
        what = "rejected" if truth.profitable else "accepted"
        panel.set(xscale="log", xlabel="round t", ylabel=f"rounds {what}")
        kind = "profitable" if truth.profitable else "unprofitable"
        panel.set_title(f"{truth.category.name} ({kind})", fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def _look(i: int) -> tuple[str, str]:
    """Colour and line style of the i-th curve."""
    return PALETTE[i % len(PALETTE)], ("-", "--", "-.")[i // len(PALETTE) % 3]
