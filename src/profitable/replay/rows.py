"""Rows: the columns of a piece as the numbers of each client, before rows are left out."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from profitable.common.types import BoolArray, FloatArray
from profitable.errors import InputError
from profitable.replay.bands import Cut
from profitable.replay.columns import complete, equals, flags, numbers
from profitable.replay.dates import Dates
from profitable.replay.layout import Layout
from profitable.replay.source import Piece, Source

VALUES_SHOWN = 8  # of a column, in an error


class Row(NamedTuple):
    """Rows of a piece as arrays [n]: what is known of each client, before rows are left out."""

    outcome: FloatArray  # as the column says it; NaN if missing
    reward: FloatArray  # as the agent would see it; NaN if missing
    more: dict[str, npt.NDArray[Any]]  # other columns that the layout names
    never: BoolArray | None  # outcomes that stay open and count at their open value


class Rows:
    """Reads the columns that a layout names."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source, self.layout = source, layout
        self.cuts = [Cut.parse(text, source.columns) for text in layout.categories]
        column, _, value = layout.reward.partition("=")
        is_value = value and layout.reward not in source.columns
        self.reward, self.value = (column, value) if is_value else (layout.reward, None)
        self.has_value = False  # whether any row has it
        self.time = Dates(layout.times, layout.date_format)
        self.known = Dates((layout.known,) if layout.known else (), layout.date_format)
        needed = self._needed()
        source.need(needed)
        self.columns = list(needed)
        self.words = [cut.column for cut in self.cuts if not cut.is_cut]

    def _needed(self) -> dict[str, str]:
        """The columns that are read, and the fields that ask for them."""
        layout = self.layout
        needed = {cut.column: "category" for cut in self.cuts} | dict.fromkeys(layout.times, "time")
        needed[self.reward] = "reward"
        for name in ("known", "cost", "amount", "promised", "open_value", "accepted", "propensity", "treated", "score"):
            if isinstance(getattr(layout, name), str):
                needed[getattr(layout, name)] = name
        return needed

    def row(self, piece: Piece) -> Row:
        """The rows of a piece without their times and categories."""
        layout = self.layout
        more: dict[str, npt.NDArray[Any]] = {}
        if layout.accepted is not None:
            more["logged"] = flags(piece, layout.accepted)
        if layout.treated is not None:
            more["treated"] = flags(piece, layout.treated)
        if layout.propensity is not None:
            more["propensity"] = self._propensity(piece, layout.propensity)
        if layout.score is not None:
            more["score"] = complete(piece, layout.score, "give every client a score")
        outcome = numbers(piece, self.reward) if self.value is None else equals(piece, self.reward, self.value)
        if self.value is not None and not self.has_value:
            self.has_value = bool((outcome == 1.0).any())
        if layout.amount is not None:
            more["amount"] = self._amount(piece, layout.amount)
        if isinstance(layout.cost, str):
            more["cost"] = numbers(piece, layout.cost)
        never = self._open(piece, outcome, more)
        return Row(outcome, self._reward(outcome, more), more, never)

    def _open(self, piece: Piece, outcome: FloatArray, more: dict[str, npt.NDArray[Any]]) -> BoolArray | None:
        """Add what open clients count as; outcomes that are missing become their open value."""
        given = self.layout.promised if self.layout.open_value is None else self.layout.open_value
        if given is None:
            return None
        seen = more.get("logged")
        # A column is in the unit of the outcome.  A number is per unit lent, if there are amounts.
        promised = (
            numbers(piece, given) if isinstance(given, str) else given * more.get("amount", np.ones(outcome.size))
        )
        never = None
        if self.layout.open_value is not None:
            never = np.isnan(outcome) if seen is None else np.isnan(outcome) & seen
            np.copyto(outcome, promised, where=never)
        more["promised"] = self._reward(promised, more)
        return never

    def check_promised(self, piece: Piece, row: Row, keep: BoolArray | None) -> None:
        """InputError if a client who is kept, and whom the past accepted, has no promised reward."""
        if "promised" in row.more:
            bare = np.isnan(row.more["promised"]) & row.more.get("logged", True) & (True if keep is None else keep)
            if bare.any():
                column = str(self.layout.promised or self.layout.open_value)
                raise piece.error(column, int(bare.argmax()), None, "is missing", "give a number for every client")

    def _reward(self, outcome: FloatArray, more: dict[str, npt.NDArray[Any]]) -> FloatArray:
        """Outcomes as the agent sees them."""
        if "amount" in more:
            return outcome / more["amount"]
        return self.layout.revenue * outcome - more["cost"] if "cost" in more else outcome

    def _amount(self, piece: Piece, column: str) -> FloatArray:
        amount = numbers(piece, column)
        wrong = amount <= 0.0
        if wrong.any():
            index = int(wrong.argmax())
            remedy = "leave the row out, or correct it"
            raise piece.error(column, index, float(amount[index]), "is not above 0", remedy)
        return amount

    def _propensity(self, piece: Piece, column: str) -> FloatArray:
        remedy = "give the probability with which the client was accepted or treated"
        values = complete(piece, column, remedy)
        wrong = (values <= 0.0) | (values > 1.0)
        if self.layout.treated is not None:
            wrong |= values == 1.0
            remedy = "give the probability of treatment, between 0 and 1"
        if wrong.any():
            index = int(wrong.argmax())
            raise piece.error(column, index, float(values[index]), "is no such probability", remedy)
        return values

    def no_such_value(self, value: str) -> InputError:
        """The error that says which values the column of the reward has."""
        remedy = "give a value of the column"
        if self.source.again:
            column = next(self.source.pieces([self.reward])).column(self.reward)
            texts = [str(each) for each in column.unique().drop_null().to_pylist()[:VALUES_SHOWN]]
            remedy = f"choose from {', '.join(texts)}"
        return InputError(f"{self.source.name}: reward", value, f"is nowhere in the column {self.reward}", remedy)

    def rewards_again(self) -> Iterator[tuple[Piece, FloatArray]]:
        """The rewards of all rows once more, with their places; NaN for those that do not count."""
        for piece in self.source.pieces(self.columns, self.words):
            row = self.row(piece)
            rewards = row.reward.copy()
            if "logged" in row.more:
                rewards[~row.more["logged"]] = np.nan
            yield piece, rewards
