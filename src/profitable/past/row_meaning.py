"""The meaning of a row of past clients, as expressions over any dataframe.

The rows of files are collected, and those of engines are grouped, but both have the
same outcome, reward, reason to be left out and value while open.  New columns have
names that begin with `pb_`.

>>> import polars as pl
>>> frame = nw.from_native(pl.DataFrame({"back": [110.0, None], "lent": [100.0, 50.0]}))
>>> frame = frame.with_columns(pb_no_time=nw.lit(False))
>>> layout = Layout(category="job", time="month", reward="back", amount="lent")
>>> meaning = RowMeaning.of(layout, frame.schema)
>>> meaning.applied(frame).select("pb_reason", "pb_reward").rows()
[(0, 1.1), (5, 0.0)]
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw

from profitable.errors import InputError
from profitable.past.layout import Layout

IS_KEPT, WAS_REFUSED, HAS_NO_TIME, HAS_NO_AMOUNT, HAS_NO_COST, HAS_NO_OUTCOME, NOT_WHERE = range(7)
REASONS = (
    *("", "refused by the past", "no time", "no amount", "no cost", "no outcome yet"),
    "not where",  # the condition follows
)
WITHOUT_REWARD = (HAS_NO_AMOUNT, HAS_NO_COST)  # of such rows, outcomes are compared instead
ROLES = ("amount", "cost", "promised", "open_value", "accepted")  # that may be columns


def reward_of(layout: Layout, outcome: Any, amount: Any, cost: Any) -> Any:
    """Outcomes as the agent sees them; of arrays or of expressions."""
    if layout.amount is not None:
        return outcome / amount
    return outcome * layout.revenue - cost if isinstance(layout.cost, str) else outcome


def profit_of(layout: Layout, outcome: Any, amount: Any, cost: Any) -> Any:
    """Profits in money; of arrays or of expressions."""
    if layout.amount is not None:
        return outcome - amount * (1.0 + layout.margin)
    return outcome * layout.revenue - (cost if isinstance(layout.cost, str) else layout.cost)


def reward_column(layout: Layout, columns: Any) -> tuple[str, str | None]:
    """Return the column of the reward, and the value of "column=value"."""
    return value_of(layout.reward, columns) or (layout.reward, None)


def value_of(text: str, columns: Any) -> tuple[str, str] | None:
    """Return the column and the value of "column=value", None of any other text.

    >>> value_of("status=paid", ["status"]), value_of("a == 1", ["a"])
    (('status', 'paid'), None)
    """
    column, _, value = text.partition("=")
    if text in columns or not value or not column or column[-1] in "<>!" or value[0] == "=":
        return None
    return column, value


def is_value(kind: Any, found: Any, value: str, where: tuple[str, str]) -> Any:
    """Whether a column of some type has a value, as an expression; null where missing.

    `where` has the field and its text, for errors.
    """
    wanted = nw.lit(value)
    if kind == nw.Boolean:
        wanted = nw.lit(value.lower() in ("true", "1", "yes"))
    elif kind.is_numeric():
        try:
            wanted = nw.lit(float(value))
        except ValueError:
            raise InputError(
                *where, f"compares the type {kind} with a text", "give a number as the value"
            ) from None
    elif kind != nw.String:
        found = found.cast(nw.String)
    return found == wanted


def columns_by_role(layout: Layout, columns: Any) -> Iterator[tuple[str, str]]:
    """Yield the columns that a layout names for values of a row, with roles."""
    yield "reward", reward_column(layout, columns)[0]
    for role in ROLES:
        if isinstance(getattr(layout, role), str):
            yield role, getattr(layout, role)


@dataclass(frozen=True)
class RowMeaning:
    """Expressions for the rows of a frame with a layout.

    The frame has a column `pb_no_time`: whether the client's time is missing, and with
    conditions `pb_not_where` and `pb_open`.  Columns that are known to be `complete`
    need no look at missing values, or at amounts of 0.
    """

    layout: Layout
    columns: Mapping[str, str]  # of the frame, by role
    schema: Mapping[str, Any]
    value: str | None  # of the reward's column that counts as 1
    complete: frozenset[str] = frozenset()

    @classmethod
    def of(cls, layout: Layout, schema: Mapping[str, Any]) -> Self:
        """Return the meaning of rows whose columns have the names of the layout."""
        _, value = reward_column(layout, schema)
        return cls(layout, dict(columns_by_role(layout, schema)), schema, value)

    # --------------------------------------------------------------------------- values

    def missing(self, column: str) -> Any:
        """Whether a column has no value."""
        if column in self.complete:
            return nw.lit(False)
        found = nw.col(column).is_null()
        return found | nw.col(column).is_nan() if self.schema[column].is_float() else found

    def number(self, column: str) -> Any:
        """Return a column as numbers, 0 where it is missing."""
        value = nw.col(column)
        if self.schema[column] == nw.Boolean:
            return value.fill_null(False).cast(nw.Int64).cast(nw.Float64)
        if column in self.complete:
            return value.cast(nw.Float64)
        return nw.when(self.missing(column)).then(nw.lit(0.0)).otherwise(value.cast(nw.Float64))

    def _outcome(self) -> Any:
        column = self.columns["reward"]
        if self.value is None:
            return self.number(column)
        where = "reward", self.layout.reward
        found = is_value(self.schema[column], nw.col(column), self.value, where)
        return found.fill_null(False).cast(nw.Int64).cast(nw.Float64)

    def _reward(self, outcome: Any) -> Any:
        amount = nw.col("pb_amount")
        if self.columns.get("amount") not in self.complete:
            # Engines also compute what is not chosen, and some refuse to divide by 0.
            amount = nw.when(amount > 0.0).then(amount).otherwise(nw.lit(1.0))
        return reward_of(self.layout, outcome, amount, nw.col("pb_cost"))

    # ---------------------------------------------------------------------------- steps

    def applied(self, frame: Any) -> Any:
        """Return the frame with what its rows mean.

        - `pb_reason`: why a row is left out, or `IS_KEPT`.
        - `pb_outcome`, `pb_amount`, `pb_cost`: its numbers, 0 where they are missing.
        - `pb_never`: whether the client is open and counts at its open value.
        - `pb_promised`: the value of an open client; `pb_bare`: whether it is missing.
        - `pb_reward`: the reward, or the outcome where there is none, if `pb_given`.
        """
        first = {
            "pb_outcome": self._outcome(),
            "pb_no_outcome": self.missing(self.columns["reward"]),
        }
        if self.layout.open is not None:  # what was paid so far is no outcome
            is_open = nw.col("pb_open")
            outcome = nw.when(is_open).then(nw.lit(0.0)).otherwise(first["pb_outcome"])
            first = {"pb_outcome": outcome, "pb_no_outcome": is_open | first["pb_no_outcome"]}
        for role in ("amount", "cost"):
            if role in self.columns:
                column = self.columns[role]
                first |= {f"pb_{role}": self.number(column), f"pb_no_{role}": self.missing(column)}
        if "accepted" in self.columns:
            first["pb_refused"] = self.number(self.columns["accepted"]) == 0.0
        frame = self._with_open(frame.with_columns(**first))
        if self._keeps_refused:
            seen = ~nw.col("pb_refused")
            zero = nw.when(seen).then(nw.col("pb_outcome")).otherwise(nw.lit(0.0))
            frame = frame.with_columns(
                pb_outcome=zero, pb_no_outcome=nw.col("pb_no_outcome") & seen
            )
        return self._with_reward(frame.with_columns(pb_reason=self._reason()))

    @property
    def _keeps_refused(self) -> bool:
        """Whether refused clients are kept, because the past refused them at random."""
        return "accepted" in self.columns and self.layout.propensity is not None

    def _with_open(self, frame: Any) -> Any:
        """Outcomes that are missing become their open value, if there is one."""
        layout = self.layout
        role = "promised" if layout.open_value is None else "open_value"
        given = getattr(layout, role)
        if given is None:
            return frame
        # A column is in the unit of the outcome.  A number is per unit lent, if there
        # are amounts.
        if role in self.columns:
            value, bare = self.number(self.columns[role]), self.missing(self.columns[role])
        elif layout.amount is not None:
            value, bare = nw.col("pb_amount") * float(given), nw.col("pb_no_amount")
        else:
            value, bare = nw.lit(float(given)), nw.lit(False)
        frame = frame.with_columns(pb_promise=value, pb_bare=bare)
        if layout.open_value is not None:
            gone, outcome = nw.col("pb_no_outcome"), nw.col("pb_outcome")
            never = gone & ~nw.col("pb_refused") if "accepted" in self.columns else gone
            frame = frame.with_columns(
                pb_never=never,
                pb_outcome=nw.when(never).then(nw.col("pb_promise")).otherwise(outcome),
                pb_no_outcome=gone & (~never | nw.col("pb_bare")),
            )
        return frame.with_columns(pb_promised=self._reward(nw.col("pb_promise")))

    def _reason(self) -> Any:
        """Why a row is left out: the first reason that applies."""
        reasons = [
            (f"pb_no_{role}", reason)
            for role, reason in (
                ("outcome", HAS_NO_OUTCOME),
                ("cost", HAS_NO_COST),
                ("amount", HAS_NO_AMOUNT),
                ("time", HAS_NO_TIME),
            )
            if self._may_lack(role)
        ]
        if "accepted" in self.columns and not self._keeps_refused:
            reasons.append(("pb_refused", WAS_REFUSED))
        if self.layout.where is not None:
            reasons.append(("pb_not_where", NOT_WHERE))
        found = nw.lit(IS_KEPT)
        for applies, reason in reasons:
            found = nw.when(nw.col(applies)).then(nw.lit(reason)).otherwise(found)
        return found

    def _may_lack(self, role: str) -> bool:
        """Whether a row may lack its outcome, cost, amount or time."""
        if role == "outcome" and self.layout.by_hazards:  # the schedule says it
            return False
        if role == "outcome" and self.layout.open is not None:
            return True
        others = {"outcome": self.columns["reward"], "time": "pb_no_time"}
        column = others.get(role) or self.columns.get(role)
        return column is not None and column not in self.complete

    def _with_reward(self, frame: Any) -> Any:
        given, outcome = ~nw.col("pb_no_outcome"), nw.col("pb_outcome")
        if self.layout.where is not None and "amount" in self.columns:
            given = given & (~nw.col("pb_not_where") | (nw.col("pb_amount") > 0.0))
        if self._keeps_refused:
            given = given & ~nw.col("pb_refused")
        reward = self._reward(outcome)
        optional = [role for role in ("amount", "cost") if role in self.columns]
        if not any(map(self._may_lack, optional)):
            return frame.with_columns(pb_reward=reward, pb_given=given)
        reason = nw.col("pb_reason")
        is_plain = (reason == HAS_NO_AMOUNT) | (reason == HAS_NO_COST)
        for role in optional:
            given = given & (is_plain | ~nw.col(f"pb_no_{role}"))
        either = nw.when(is_plain).then(outcome).otherwise(reward)
        frame = frame.with_columns(pb_reward=either, pb_given=given)
        known = nw.when(nw.col("pb_given")).then(nw.col("pb_reward")).otherwise(nw.lit(0.0))
        return frame.with_columns(pb_reward=known)
