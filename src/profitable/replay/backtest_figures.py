"""All pictures of a backtest by name, and one of them as a chart of Altair."""

import os
from collections.abc import Callable
from typing import Any, cast

import altair as alt

from profitable.common.charts import PICTURE_WIDTH, Figure, saved
from profitable.errors import ParameterError
from profitable.replay import (
    advice_charts,
    backtest_charts,
    cutoff_figures,
    emergence_charts,
    interactive_charts,
    loan_figures,
)

ADVICE_PICTURES: dict[str, Callable[[dict[str, Any]], Figure | None]] = {
    "stop-list": advice_charts.stop_list_figure,
    "time-split": advice_charts.time_split_figure,
    "groupings": advice_charts.groupings_figure,
    "swap-set": advice_charts.swap_set_figure,
    "swap-profit": advice_charts.swap_profit_figure,
    "emergence": emergence_charts.emergence_figure,
    "emergence-by-vintage": emergence_charts.vintages_figure,
}
LOAN_PICTURES = {
    "hazards": loan_figures.hazard_figure,
    "affordable": loan_figures.affordable_figure,
    "levels": loan_figures.level_figure,
}
PICTURES = ADVICE_PICTURES | {
    "difference": backtest_charts.difference_figure,
    "over-time": backtest_charts.over_time_figure,
    "known": backtest_charts.known_figure,
    "share-known": backtest_charts.share_known_figure,
    "means": backtest_charts.means_figure,
    "bands": cutoff_figures.bands_figure,
    "cutoff": cutoff_figures.cutoff_figure,
    **LOAN_PICTURES,
    "accepted": interactive_charts.accepted_figure,
    "evidence": interactive_charts.evidence_figure,
    "vintage": interactive_charts.vintage_figure,
    "learning": interactive_charts.learning_figure,
}
COMPOUNDS = {"layer": alt.LayerChart, "hconcat": alt.HConcatChart, "vconcat": alt.VConcatChart}


def figures_of(backtest: dict[str, Any]) -> dict[str, Figure]:
    """Return all pictures that this backtest has, by name."""
    made = {name: draw(backtest) for name, draw in PICTURES.items()}
    return {name: figure for name, figure in made.items() if figure is not None}


def plotted(backtest: dict[str, Any], name: str, path: str | os.PathLike[str] | None) -> Any:
    """Return a picture as a chart; ParameterError, with all names, if it is unknown."""
    draw = PICTURES.get(str(name).replace("_", "-").replace(" ", "-"))
    figure = None if draw is None else draw(backtest)
    if figure is None:
        choose = f"choose from {', '.join(figures_of(backtest))}"
        raise ParameterError("name", name, "is not a picture of this backtest", choose)
    spec = dict(figure.chart)
    if spec.get("width") == "container":
        spec["width"] = PICTURE_WIDTH
    kind = next((made for key, made in COMPOUNDS.items() if key in spec), alt.Chart)
    return saved(cast(Any, kind).from_dict(spec, validate=False), path)
