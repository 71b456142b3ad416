"""The picture of the credit example."""

# matplotlib leaves some of its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from profitable.common.figures import new_figure
from profitable.common.looks import BLUE, GREEN, GREY
from profitable.common.types import FloatArray, IntArray


def save_credit(path: Path, profit: FloatArray, acceptance: FloatArray, segments: Sequence[str], policy: str) -> None:
    """Draw profit [plays, 3, rounds] over time and acceptance [segments, rounds] as a map, and write it to `path`."""
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
