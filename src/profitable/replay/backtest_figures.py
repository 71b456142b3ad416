"""All pictures of a backtest by name, and one of them as a chart of Altair."""

import os
from typing import Any, cast

import altair as alt

from profitable.common.charts import PICTURE_WIDTH, Figure, saved
from profitable.errors import ParameterError
from profitable.replay.advice_charts import ADVICE_FIGURES
from profitable.replay.backtest_charts import FIGURES
from profitable.replay.cutoff_figures import CUTOFF_FIGURES
from profitable.replay.emergence_charts import EMERGENCE_FIGURES
from profitable.replay.interactive_charts import FIGURES_TO_CHOOSE
from profitable.replay.loan_figures import LOAN_FIGURES

ALL_FIGURES = (
    *ADVICE_FIGURES,
    *FIGURES,
    *EMERGENCE_FIGURES,
    *CUTOFF_FIGURES,
    *LOAN_FIGURES,
    *FIGURES_TO_CHOOSE,
)
ADVICE_PICTURES = (
    "stop-list", "time-split", "groupings", "swap-set", "swap-profit", "emergence",
    "emergence-by-vintage",
)  # fmt: skip
PICTURES = (
    *ADVICE_PICTURES, "difference", "over-time", "accepted", "evidence", "vintage", "known",
    "share-known", "means", "learning", "bands", "cutoff",
)  # fmt: skip


def figures_of(backtest: dict[str, Any]) -> dict[str, Figure]:
    """Return all pictures that this backtest has, by name."""
    made = (draw(backtest) for draw in ALL_FIGURES)
    return {figure.name: figure for figure in made if figure is not None}


def plotted(backtest: dict[str, Any], name: str, path: str | os.PathLike[str] | None) -> Any:
    """Return a picture as a chart; ParameterError, with all names, if it is unknown."""
    found = figures_of(backtest)
    wanted = found.get(str(name).replace("_", "-").replace(" ", "-"))
    if wanted is None:
        choose = f"choose from {', '.join(found)}"
        raise ParameterError("name", name, "is not a picture of this backtest", choose)
    spec = wanted.chart | {"width": PICTURE_WIDTH}
    return saved(cast(Any, alt.Chart).from_dict(spec, validate=False), path)
