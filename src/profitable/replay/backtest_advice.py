"""The advice of a backtest: whom to stop, whether that would have paid, what changes.

It rests on past outcomes alone, of all groupings that were tried.  Replays of policies
are beside it.

Example: two jobs, one of which loses on every client.

>>> from profitable.past.layout import Layout
>>> from profitable.past.read import read
>>> weeks = [week for week in range(1, 25) for _ in range(10)]
>>> bought = [1, 0, 1, 0, 1, 0, 0, 0, 1, 0] * 24
>>> table = {"week": weeks, "job": ["student", "clerk"] * 120, "bought": bought}
>>> layout = Layout(category="job", time="week", reward="bought", cost=1, revenue=5)
>>> found = advise([read(table, layout)], level=0.1, dates=4, seed=1)
>>> print(found.sentence())
Stop this one: ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profitable.advice.emergence import Emergence
from profitable.advice.judged import JudgedGrouping
from profitable.advice.stop_list import StopList
from profitable.advice.time_split import Grouping, TimeSplit, time_splits
from profitable.common.amounts import in_short
from profitable.common.text_tables import several
from profitable.common.types import FloatArray
from profitable.past.layout import CALENDAR
from profitable.past.past import Past
from profitable.replay.backtest_options import grouping_name


@dataclass(frozen=True, eq=False)
class Advice:
    """What past outcomes say, without any policy."""

    stop_list: StopList
    time_splits: tuple[TimeSplit, ...]  # in the order of the groupings
    emergence: Emergence | None  # None if outcomes are known at once

    def sentence(self, unit: str = "") -> str:
        """Say what to do today, and what the same rule would have been worth."""
        return " ".join(filter(None, [self.stop_list.sentence(unit), self._used_earlier(unit)]))

    def _used_earlier(self, unit: str) -> str:
        """Say what the same rule would have earned at earlier dates, in a sentence."""
        if len(self.time_splits) == 1:
            (only,) = self.time_splits
            text = only.sentence(unit)
            dates = several(len(only.splits), "earlier date")
            return f"At {dates}: {text[:1].lower()}{text[1:]}" if only.dates_listed else text
        said: list[str] = []
        for verb, those in (
            ("earned", [each for each in self.time_splits if each.is_sure and each.gain > 0.0]),
            ("LOST", [each for each in self.time_splits if each.is_sure and each.gain < 0.0]),
        ):
            by = [f"{in_short(abs(each.gain), unit)} by {each.grouping}" for each in those]
            said += [f"would have {verb} {', '.join(by)}"] if by else []
        others = [each.grouping for each in self.time_splits if not each.is_sure]
        if not self.time_splits or not said:
            nothing = "made no difference beyond chance, by any grouping"
            return f"Lists made earlier would have {nothing}." if self.time_splits else ""
        rest = f"; by {' or '.join(others)}, no difference beyond chance" if others else ""
        return f"Lists made earlier {', and '.join(said)}{rest}."

    def __str__(self) -> str:
        return self.sentence()

    def to_dict(self, unit: str = "") -> dict[str, Any]:
        """Return what a report shows, as plain values."""
        return {
            "advice": self.sentence(unit),
            "stop_list": self.stop_list.to_dict(unit),
            "time_splits": [each.to_dict(unit) for each in self.time_splits],
            "emergence": None if self.emergence is None else self.emergence.to_dict(),
        }


def advise(
    pasts: Sequence[Past],
    *,
    level: float,
    dates: int,
    seed: int,
    earned: Sequence[FloatArray | None] | None = None,
) -> Advice:
    """Return the advice for one or several groupings of the same clients.

    `earned` [R, K] is what accepting a category in a round earned, where that is the
    estimate of a log.
    """
    names = [grouping_name(past.layout.categories) for past in pasts]
    judged = [JudgedGrouping.of(*each) for each in zip(names, pasts, strict=True)]
    tables = earned or [None] * len(pasts)
    splits: tuple[TimeSplit, ...] = ()
    if dates:
        groupings = [Grouping.of(*each) for each in zip(names, pasts, tables, strict=True)]
        splits = time_splits(groupings, level=level, dates=dates, seed=seed)
    first = pasts[0]
    unit = str(first.round) if first.round in CALENDAR else "round"
    emergence = Emergence.of(first.clients, still_open=first.still_open, unit=unit)
    return Advice(StopList.of(judged, level), splits, emergence)
