"""Control groups: clients whom the past refused, and whose outcomes are known.

Such clients show what comes without being accepted.  If a file has them, accepting
earns the difference only.

>>> from profitable.past.source import open_source
>>> table = {"job": ["a", "b"] * 60, "mailed": [0, 0, 1, 1] * 30}
>>> table["spent"] = [2, 3, 3, 4] * 30
>>> layout = Layout(category="job", reward="spent", cost=1, round=10, accepted="mailed")
>>> print(*warn_of_refused_outcomes(open_source(table), layout))
clients whom the past refused (mailed = 0) have outcomes, ... give --treated mailed ...
"""

from dataclasses import replace

import numpy as np

from profitable.common.text_tables import number_text
from profitable.common.types import FloatArray
from profitable.past.column_sample import sampled
from profitable.past.formulas import PreparedSource
from profitable.past.layout import Layout
from profitable.past.read import Reader
from profitable.past.source import Source
from profitable.past.typed_columns import flags

MOST_LACKING = 0.5  # of the refused clients without an outcome


def is_control_group(outcomes: FloatArray) -> bool:
    """Whether clients have outcomes, NaN where they have none.

    An outcome that is the same for all of them stands for none.
    """
    given = outcomes[~np.isnan(outcomes)]
    return given.size > MOST_LACKING * outcomes.size and bool(np.ptp(given) > 0.0)


def warn_of_refused_outcomes(source: Source, layout: Layout) -> list[str]:
    """Warn if clients whom the past refused have outcomes."""
    if layout.accepted is None or not source.again:
        return []
    reader = Reader(source, replace(layout, accepted=None, propensity=None))
    columns = list(dict.fromkeys([*reader.columns, layout.accepted]))
    piece = sampled(PreparedSource.of(source, layout), columns).piece
    accepted, rewards = flags(piece.marked(), layout.accepted), reader.rewards(piece)
    if accepted.all() or not accepted.any() or not is_control_group(rewards[~accepted]):
        return []
    return [refused_text(layout.accepted, rewards[accepted], rewards[~accepted])]


def refused_text(column: str, accepted: FloatArray, refused: FloatArray) -> str:
    """Say that refused clients are a control group."""
    refusing = f"not {column}" if "=" in column else f"{column} = 0"
    means = [number_text(float(np.nanmean(each))) for each in (accepted, refused)]
    return (
        f"clients whom the past refused ({refusing}) have outcomes, {means[1]} on average "
        f"against {means[0]} of those accepted: they bring something without being accepted. If "
        f"chance decided, give --treated {column} in place of --accepted; the difference is then "
        "the reward"
    )
