"""Pictures of results.  Nothing is simulated here."""

# matplotlib leaves some of its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from typing import TYPE_CHECKING, Any

from profitable.common.figures import new_figure
from profitable.common.looks import SOLID, Look
from profitable.policy.looks import looks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from profitable.simulation.result import Result
    from profitable.simulation.scenario import Truth


def draw_result(result: "Result", *, categories: bool = False) -> "Figure":
    """Regret over log t: a curve for each policy with its `interval` as a band, the lower bound.

    If means change, thin vertical lines show when, and there is no lower bound.
    """
    truths = result.scenario.truths
    columns = min(len(truths), 3) if categories else 0
    lines = -(-len(truths) // columns) if columns else 0
    figure = new_figure(8.0 if not columns else 4.2 * max(columns, 2), 5.0 + 3.0 * lines)
    grid = figure.add_gridspec(1 + lines, max(columns, 1), height_ratios=[1.5, *[1.0] * lines])
    main = figure.add_subplot(grid[0, :])
    t = result.checkpoints
    styles = [(look.colour, line_style(look)) for look in looks_of(result.policies).values()]
    for i, curve in enumerate(result.curves):
        colour, style = styles[i]
        label = curve.policy + curve.mark
        main.plot(t, curve.regret, color=colour, linestyle=style, linewidth=1.8, label=label)
        if curve.runs > 1:
            main.fill_between(t, *curve.interval, color=colour, alpha=0.2, linewidth=0)
    _mark_changes(main, result.scenario.truths, result.horizon)
    if (result.scenario.lower_bound_per_log_t() or 0.0) > 0.0:
        main.plot(t, result.lower_bound, color="black", linestyle=(0, (1, 1)), linewidth=1.2, label="lower bound")
    runs = f"{result.finished:,} runs".replace(",", " ")
    main.set(xscale="log", xlabel="round t", ylabel="regret", xlim=(t[0], max(t[-1], t[0] + 1)))
    main.set_ylim(bottom=0.0)
    main.set_title(f"{result.scenario.name} ({runs}, seed {result.seed}; bands: 95 %)", fontsize=10)
    handles, labels = main.get_legend_handles_labels()
    order = sorted(range(len(result.curves)), key=lambda i: -result.curves[i].regret[-1])
    order += list(range(len(result.curves), len(handles)))
    main.legend([handles[i] for i in order], [labels[i] for i in order], frameon=False, fontsize=8, loc="upper left")
    main.spines[["top", "right"]].set_visible(False)
    for k, truth in enumerate(truths if columns else ()):
        panel = figure.add_subplot(grid[1 + k // columns, k % columns])
        changes, profitable = truth.changes_sides(result.horizon), truth.phases(result.horizon)[-1].truth.profitable
        rejections = profitable and not changes
        for i, curve in enumerate(result.curves):
            colour, style = styles[i]
            rounds = t - curve.accepted_rounds[k] if rejections else curve.accepted_rounds[k]
            panel.plot(t, rounds, color=colour, linestyle=style, linewidth=1.4)
        _mark_changes(panel, [truth], result.horizon)
        panel.set(xscale="log", xlabel="round t", ylabel=f"rounds {'rejected' if rejections else 'accepted'}")
        kind = "changes sides" if changes else ("profitable" if profitable else "unprofitable")
        panel.set_title(f"{truth.category.name} ({kind})", fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def _mark_changes(axes: Any, truths: "Sequence[Truth]", horizon: int) -> None:
    """Thin vertical lines where a mean changes."""
    for start in sorted({phase.start for truth in truths for phase in truth.phases(horizon)[1:]}):
        axes.axvline(start, color="0.8", linewidth=0.6, zorder=0)


def line_style(look: Look) -> Any:
    """A look's dashes as matplotlib takes them."""
    return "-" if look.dash == SOLID else (0, look.dash)
