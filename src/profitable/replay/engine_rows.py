"""The rows of a frame, as its engine computes them: what `rows.py` and `read.py` do with pieces, as expressions.

Everything becomes columns of numbers and keys (`prepared`), so that one plain group-by can add them up.  A row that is
left out has the number of its reason, and keys that are the same for all rows with that reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from profitable.errors import InputError
from profitable.model.view import View
from profitable.replay.bands import Cut
from profitable.replay.crowd import NEVER_KNOWN
from profitable.replay.engine_times import EngineTime
from profitable.replay.folds import remainder, remainder_by_division, steps
from profitable.replay.layout import Layout
from profitable.replay.source import Source

IS_KEPT, WAS_REFUSED, HAS_NO_TIME, HAS_NO_AMOUNT, HAS_NO_COST, HAS_NO_OUTCOME = range(6)
CAST = "cast it to a number in your engine"


@dataclass(frozen=True)
class EngineRows:
    """A lazy frame, and what its columns mean."""

    frame: Any
    layout: Layout
    schema: Mapping[str, Any]
    cuts: tuple[Cut, ...]
    time: EngineTime
    known: EngineTime | None
    id: str | None
    fold: str | None
    view: View  # of the family: what is added up of a reward
    value: str | None  # what the reward column must hold, if the reward is "column=value"

    @classmethod
    def of(cls, frame: Any, layout: Layout, id: str | None, fold: str | None, view: View) -> "EngineRows":
        """Look at the columns of a frame; InputError if one is missing or of the wrong kind."""
        schema = frame.collect_schema()
        cuts = tuple(Cut.parse(text, list(schema)) for text in layout.categories)
        column, _, value = layout.reward.partition("=")
        is_value = bool(value) and layout.reward not in schema
        reward = column if is_value else layout.reward
        needed = {cut.column: "category" for cut in cuts} | dict.fromkeys(layout.times, "time") | {reward: "reward"}
        for name in ("known", "cost", "amount", "promised", "open_value", "accepted"):
            if isinstance(getattr(layout, name), str):
                needed[getattr(layout, name)] = name
        needed |= {name: field for name, field in ((id, "id"), (fold, "fold")) if name is not None}
        Source("cells", list(schema)).need(needed)
        for name, field in needed.items():
            if field in ("cost", "amount", "promised", "open_value") or (field == "reward" and not is_value):
                _need_number(field, name, schema[name])
        for cut in cuts:
            if cut.is_cut:
                _need_number("category", cut.column, schema[cut.column])
        for field, name in (("id", id), ("fold", fold)):
            if name is not None and not schema[name].is_integer():
                remedy = "give fold=, a column of whole numbers from 0 to 19 that your engine makes, as hash(id) % 20"
                raise InputError(field, name, f"is of the type {schema[name]}, no whole number", remedy)
        time = EngineTime.of(frame, layout.times[0], schema)
        known = None if layout.known is None else EngineTime.of(frame, layout.known, schema)
        return cls(frame, layout, schema, cuts, time, known, id, fold, view, value if is_value else None)

    @property
    def reward(self) -> str:
        """The column of the outcome."""
        return self.layout.reward if self.value is None else self.layout.reward.partition("=")[0]

    # ------------------------------------------------------------------------------------------ values

    def _missing(self, column: str) -> Any:
        found = nw.col(column).is_null()
        return found | nw.col(column).is_nan() if self.schema[column].is_float() else found

    def _number(self, column: str) -> Any:
        """A column as numbers, 0 where it is missing."""
        value = nw.col(column)
        if self.schema[column] == nw.Boolean:
            return value.fill_null(False).cast(nw.Int64).cast(nw.Float64)
        return nw.when(self._missing(column)).then(nw.lit(0.0)).otherwise(value.cast(nw.Float64))

    def _outcome(self) -> Any:
        if self.value is None:
            return self._number(self.reward)
        kind, wanted = self.schema[self.reward], nw.lit(self.value)
        if kind == nw.Boolean:
            wanted = nw.lit(self.value.lower() in ("true", "1", "yes"))
        elif kind.is_numeric():
            try:
                wanted = nw.lit(float(self.value))
            except ValueError:
                remedy = "give a number as the value"
                raise InputError(
                    "reward", self.layout.reward, f"compares the type {kind} with a text", remedy
                ) from None
        return (nw.col(self.reward) == wanted).fill_null(False).cast(nw.Int64).cast(nw.Float64)

    def _accepted(self, column: str) -> Any:
        if self.schema[column] == nw.Boolean or self.schema[column].is_numeric():
            return self._number(column)
        raise InputError("accepted", column, "is no column of 0 and 1", CAST)

    def _open_value(self) -> Any | None:
        given = self.layout.promised if self.layout.open_value is None else self.layout.open_value
        if given is None:
            return None
        if isinstance(given, str):
            return self._number(given)
        return nw.lit(float(given)) if self.layout.amount is None else nw.col("pb_amount") * float(given)

    def _as_reward(self, outcome: Any) -> Any:
        """Outcomes as the agent sees them."""
        if self.layout.amount is not None:
            amount = nw.col("pb_amount")
            return outcome / nw.when(amount > 0.0).then(amount).otherwise(nw.lit(1.0))
        if isinstance(self.layout.cost, str):
            return outcome * self.layout.revenue - nw.col("pb_cost")
        return outcome

    def _statistic(self, reward: Any) -> Any:
        """What is added up of a reward; 0 for rewards that the family cannot have, which are refused later."""
        statistic, support = self.view.statistic, self.view.support
        if statistic.is_reward:
            return reward
        legal = (reward > support.low if support.open else reward >= support.low) & (reward <= support.high)
        inside = nw.lit(min(max(0.0, support.low + 1.0), support.high))  # engines also compute what is not chosen
        own = statistic.of_column(nw.when(legal).then(reward).otherwise(inside))
        return nw.when(legal).then(own).otherwise(nw.lit(0.0))

    # ------------------------------------------------------------------------------------------ rows

    def prepared(self, round: str) -> Any:
        """The frame with the columns that are added up, all of whose names begin with `pb_`."""
        layout, one, zero = self.layout, nw.lit(1), nw.lit(0)
        first: dict[str, Any] = {
            "pb_outcome": self._outcome(),
            "pb_gone": self._missing(self.reward),
            "pb_no_time": nw.col("pb_asked_gone"),
            "pb_broken_time": nw.col("pb_asked_broken"),
            "pb_known": nw.lit(0),
            "pb_early": nw.lit(False),
            "pb_fold": zero,
            "pb_no_id": nw.lit(False),
        }
        if layout.amount is not None:
            first |= {"pb_amount": self._number(layout.amount), "pb_no_amount": self._missing(layout.amount)}
        if isinstance(layout.cost, str):
            first |= {"pb_cost": self._number(layout.cost), "pb_no_cost": self._missing(layout.cost)}
        if layout.accepted is not None:
            first["pb_logged"] = self._accepted(layout.accepted)
        if self.known is not None:
            period, gone = nw.col("pb_told_in"), nw.col("pb_told_in_gone")
            first["pb_known"] = nw.when(gone).then(nw.lit(NEVER_KNOWN)).otherwise(period)
            first["pb_early"] = self.known.before("pb_told_in", self.time, "pb_asked")
        if self.id is not None:
            first["pb_fold"] = nw.col("pb_hash")
            first["pb_no_id"] = nw.col(self.id).is_null()
        elif self.fold is not None:
            first["pb_fold"] = nw.col(self.fold).fill_null(-1).cast(nw.Int64)
        for place, cut in enumerate(self.cuts):
            first[f"pb_category_{place}"] = self._category(cut)
        frame = self.time.put(self.frame, "pb_asked", round)
        if self.known is not None:
            frame = self.known.put(frame, "pb_told_in", round)
        if self.id is not None:
            frame = self._with_fold(frame, self.id)
        frame = frame.with_columns(**first)
        frame = self._with_open(frame)
        frame = frame.with_columns(pb_reason=self._reason())
        kept = nw.col("pb_reason") == IS_KEPT
        keys = {name: nw.when(kept).then(nw.col(name)).otherwise(zero) for name in ("pb_asked", "pb_known", "pb_fold")}
        for place, cut in enumerate(self.cuts):
            name = f"pb_category_{place}"
            keys[name] = (
                nw.when(kept).then(nw.col(name)).otherwise(zero) if cut.is_cut else nw.when(kept).then(nw.col(name))
            )
        frame = frame.with_columns(**keys, pb_reward=self._as_reward(nw.col("pb_outcome")))
        return self._with_sums(frame, one, zero)

    def _with_open(self, frame: Any) -> Any:
        """Outcomes that are missing become their open value, if there is one, and are never known."""
        value = self._open_value()
        if value is None:
            return frame
        given = self.layout.promised if self.layout.open_value is None else self.layout.open_value
        bare = self._missing(given) if isinstance(given, str) else nw.lit(False)
        if not isinstance(given, str) and self.layout.amount is not None:
            bare = nw.col("pb_no_amount")
        frame = frame.with_columns(pb_promise=value, pb_bare=bare)
        if self.layout.open_value is not None:
            gone = nw.col("pb_gone")
            frame = frame.with_columns(
                pb_outcome=nw.when(gone).then(nw.col("pb_promise")).otherwise(nw.col("pb_outcome")),
                pb_known=nw.when(gone).then(nw.lit(NEVER_KNOWN)).otherwise(nw.col("pb_known")),
                pb_gone=gone & nw.col("pb_bare"),
            )
        return frame.with_columns(pb_promised=self._as_reward(nw.col("pb_promise")))

    def _reason(self) -> Any:
        """Why a row is left out: the first reason that applies."""
        reason: Any = nw.when(nw.col("pb_gone")).then(nw.lit(HAS_NO_OUTCOME)).otherwise(nw.lit(IS_KEPT))
        if isinstance(self.layout.cost, str):
            reason = nw.when(nw.col("pb_no_cost")).then(nw.lit(HAS_NO_COST)).otherwise(reason)
        if self.layout.amount is not None:
            reason = nw.when(nw.col("pb_no_amount")).then(nw.lit(HAS_NO_AMOUNT)).otherwise(reason)
        reason = nw.when(nw.col("pb_no_time")).then(nw.lit(HAS_NO_TIME)).otherwise(reason)
        if self.layout.accepted is not None:
            reason = nw.when(nw.col("pb_logged") == 0.0).then(nw.lit(WAS_REFUSED)).otherwise(reason)
        return reason

    def _with_sums(self, frame: Any, one: Any, zero: Any) -> Any:
        """The columns whose sums, least and largest values are taken."""
        layout, reason = self.layout, nw.col("pb_reason")
        kept, reward, outcome = reason == IS_KEPT, nw.col("pb_reward"), nw.col("pb_outcome")
        plain = (reason == HAS_NO_AMOUNT) | (reason == HAS_NO_COST)
        given = ~nw.col("pb_gone")
        if layout.amount is not None:
            given = given & (plain | ~nw.col("pb_no_amount"))
            profit: Any = outcome - nw.col("pb_amount") * (1.0 + (layout.required or 0.0))
        elif isinstance(layout.cost, str):
            given = given & (plain | ~nw.col("pb_no_cost"))
            profit = reward
        else:
            profit = outcome * layout.revenue - float(layout.cost or 0.0)
        frame = frame.with_columns(
            pb_told=nw.when(plain).then(outcome).otherwise(reward),
            pb_given=nw.when(given).then(one).otherwise(zero),
            pb_profit=profit,
            pb_total=self._statistic(reward),
            pb_broken=nw.when(kept & (reward != reward.floor())).then(reward),
            pb_early=nw.when(kept & nw.col("pb_early")).then(one).otherwise(zero),
            pb_no_id=nw.when(kept & nw.col("pb_no_id")).then(one).otherwise(zero),
            pb_broken_time=nw.when(kept & nw.col("pb_broken_time")).then(one).otherwise(zero),
        )
        frame = frame.with_columns(
            pb_told=nw.when(nw.col("pb_given") == 1).then(nw.col("pb_told")).otherwise(nw.lit(0.0))
        )
        total, profit = nw.col("pb_total"), nw.col("pb_profit")
        square = profit * profit
        more: dict[str, Any] = {
            "pb_told_squares": nw.col("pb_told") * nw.col("pb_told"),
            "pb_outcome_squares": outcome * outcome,
            "pb_squares": total * total,
            "pb_profit_squares": square,
            "pb_profit_cubes": square * profit,
            "pb_profit_fourths": square * square,
        }
        if layout.amount is not None:
            amount = nw.col("pb_amount")
            more |= {"pb_money_total": amount * total, "pb_money_squares": amount * total * total}
            more["pb_amount_squares"] = amount * amount
        if self._open_value() is not None:
            more["pb_bare"] = nw.when(kept & nw.col("pb_bare")).then(one).otherwise(zero)
        return frame.with_columns(**more)

    def _with_fold(self, frame: Any, column: str) -> Any:
        """With the fold of each client, in steps."""
        frame = frame.with_columns(pb_hash=nw.col(column).fill_null(0).cast(nw.Int64).abs())
        is_dask = frame.implementation == nw.Implementation.DASK  # its Arrow columns have no remainders
        for step in steps(remainder_by_division if is_dask else remainder):
            frame = frame.with_columns(pb_hash=step(nw.col("pb_hash")))
        return frame

    def _category(self, cut: Cut) -> Any:
        """The value of a column of the categories, or the number of its band; the last one if it is missing."""
        if not cut.is_cut:
            return nw.col(cut.column)
        value, band = self._number(cut.column), nw.lit(0)
        for edge in cut.edges:
            band = band + nw.when(value >= edge).then(nw.lit(1)).otherwise(nw.lit(0))
        return nw.when(self._missing(cut.column)).then(nw.lit(len(cut.edges) + 1)).otherwise(band)

    @property
    def keys(self) -> list[str]:
        """The columns by which rows are grouped."""
        return ["pb_reason", "pb_asked", "pb_known", "pb_fold", *(f"pb_category_{i}" for i in range(len(self.cuts)))]

    @property
    def sums(self) -> list[str]:
        """The names of the sums, without `pb_`."""
        found = ["given", "told", "told_squares", "outcome", "outcome_squares", "total", "squares", "profit"]
        found += ["profit_squares", "profit_cubes", "profit_fourths", "early", "no_id", "broken_time"]
        if self.layout.amount is not None:
            found += ["amount", "amount_squares", "money_total", "money_squares"]
        if isinstance(self.layout.cost, str):
            found.append("cost")
        return found + (["promised", "bare"] if self._open_value() is not None else [])

    def gathered(self, round: str, most: int) -> Any:
        """One group-by over all rows: an Arrow table with a row for each cell, at most `most`."""
        col = nw.col
        asked: dict[str, Any] = {name: col(f"pb_{name}").sum() for name in self.sums}
        asked |= {
            "least_told": col("pb_told").min(),
            "most_told": col("pb_told").max(),
            "broken": col("pb_broken").max(),
        }
        asked |= {"least_outcome": col("pb_outcome").min(), "most_outcome": col("pb_outcome").max()}
        for name in ("amount", "cost", "promised"):
            if name in self.sums:
                asked |= {f"least_{name}": col(f"pb_{name}").min(), f"most_{name}": col(f"pb_{name}").max()}
        return (
            self.prepared(round)
            .group_by(*self.keys)
            .agg(nw.len().alias("number"), **asked)
            .head(most)
            .collect()
            .to_arrow()
        )

    def counted(self, round: str, low: float, width: float, bins: int, most: int) -> Any:
        """How rewards are spread in the cells: one group-by by bins of rewards."""
        place = ((nw.col("pb_reward") - low) / width).floor() if width > 0.0 else nw.lit(0.0)
        frame = self.prepared(round).filter(nw.col("pb_reason") == IS_KEPT)
        frame = frame.with_columns(pb_bin=place.cast(nw.Int64))
        frame = frame.with_columns(
            pb_bin=nw.when(nw.col("pb_bin") >= bins).then(nw.lit(bins - 1)).otherwise(nw.col("pb_bin"))
        )
        asked: dict[str, Any] = {"total": nw.col("pb_total").sum()}
        if self.layout.amount is not None:
            asked |= {"amount": nw.col("pb_amount").sum(), "money_total": nw.col("pb_money_total").sum()}
        return (
            frame.group_by(*self.keys, "pb_bin").agg(nw.len().alias("number"), **asked).head(most).collect().to_arrow()
        )


def _need_number(field: str, column: str, kind: Any) -> None:
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InputError(field, column, f"is of the type {kind}, not a number", CAST)
