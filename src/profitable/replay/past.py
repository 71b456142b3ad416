"""Past: what was read from a file of past clients, and what was left out of it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profitable.agent.observation import reward_error
from profitable.common.text_tables import number
from profitable.common.types import FloatArray
from profitable.errors import InputError, RewardError
from profitable.kernels.view import Support
from profitable.replay.clients import outside
from profitable.replay.crowd import Crowd
from profitable.replay.layout import Layout

if TYPE_CHECKING:
    from profitable.model.family import Family
    from profitable.replay.source import Piece, Source

SAMPLE = 40_000  # rows that are looked at for leaks; 1 % of the spread is then some 20 standard errors from nothing
FAR_OFF = 10.0  # times what must come back per unit lent: a promise so far from it is in another unit
FAR = 3.0  # standard errors between the means of rows left out and kept, from which on they differ


@dataclass
class Tally:
    """How many rows there are, and the mean of their outcomes as far as they are known."""

    rows: int = 0
    given: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, outcomes: FloatArray) -> None:
        """Count rows; NaN is an outcome that is not known."""
        missing = np.isnan(outcomes)
        known = outcomes[~missing] if missing.any() else outcomes
        self.rows += outcomes.size
        self.given += known.size
        self.total += float(known.sum())
        self.squares += float(known @ known)

    @property
    def mean(self) -> float | None:
        """The mean of the outcomes that are known."""
        return self.total / self.given if self.given else None

    @property
    def variance_of_mean(self) -> float:
        """The squared standard error of the mean."""
        if self.given < 2:
            return math.inf
        spread = max(self.squares - self.total * self.total / self.given, 0.0)
        return spread / (self.given - 1) / self.given


@dataclass(frozen=True)
class LeftOut:
    """Rows that are left out for one reason, and their mean outcome against that of the rows that are kept."""

    reason: str
    rows: int
    mean_reward: float | None  # of those whose outcome is known
    kept_mean: float | None
    differs: bool  # by more than 3 standard errors

    @classmethod
    def of(cls, reason: str, left: Tally, kept: Tally) -> "LeftOut":
        """Compare rows left out with rows kept."""
        differs = False
        if left.mean is not None and kept.mean is not None:
            error = math.sqrt(left.variance_of_mean + kept.variance_of_mean)
            differs = abs(left.mean - kept.mean) > FAR * error
        return cls(reason, left.rows, left.mean, kept.mean, differs)

    @property
    def warning(self) -> str | None:
        """What it means if the outcomes differ."""
        if not self.differs:
            return None
        return (
            f"{number(self.rows)} rows are left out ({self.reason}), and their mean outcome is "
            f"{number(self.mean_reward)} against {number(self.kept_mean)} of those kept: the result is biased"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "reason": self.reason,
            "rows": self.rows,
            "mean_reward": self.mean_reward,
            "kept_mean": self.kept_mean,
            "differs": self.differs,
        }


@dataclass(frozen=True, eq=False)
class Past:
    """What was read: the clients, what was left out, and what a reader of the result must know."""

    clients: Crowd
    layout: Layout
    source: str  # where it comes from, as the user names it
    rows: int  # that were read; those left out are among them
    round: str | int  # what a round is
    left_out: list[LeftOut]
    notes: list[str]
    warnings: list[str]
    uncut: dict[str, tuple[FloatArray, FloatArray]]  # numbers of the first rows before they were cut, and rewards
    costs: FloatArray | None  # the mean cost of a client by category [K], if costs are a column
    rows_again: "Source | None" = field(default=None, repr=False)  # None if rows were added up elsewhere
    rewards_again: Callable[[], Iterator[tuple["Piece", FloatArray]]] | None = field(default=None, repr=False)

    def check_promised(self) -> None:
        """InputError if what open clients count as is plainly in another unit than it must be, where there are amounts.

        A number is per unit lent.  A column is money, as the column of the reward is.
        """
        layout, field = self.layout, "promised" if self.layout.open_value is None else "open_value"
        given = getattr(layout, field)
        if given is None or layout.amount is None:
            return
        low, high = self.clients.range_of("promised")
        usual, largest = 1.0 + (layout.required or 0.0), max(abs(low), abs(high))
        if isinstance(given, str) and 0.0 < largest < usual / FAR_OFF:
            problem = f"is at most {number(largest)} per unit lent: a column must be money, as {layout.reward} is"
            raise InputError(field, given, problem, f"multiply it by {layout.amount}, or give a number per unit lent")
        if min(low, high) > usual * FAR_OFF:
            problem = f"is {number(low)} per unit lent or more, and {number(usual)} must come back"
            raise InputError(field, given, problem, "give a number per unit lent, such as 1.1, or a column of money")

    def check_rewards(self, family: "Family") -> None:
        """RewardError if a family cannot produce a reward; it names the file and the row if they can be found again."""
        support = family.support

        clients = self.clients
        bad = clients.illegal(support)
        if bad is None:
            return
        found = reward_error(clients.names[bad[0]], bad[1], support)
        remedy = f"{found.remedy}, or choose another family than {family}"
        raise type(found)(*self._find(found, support), found.problem, remedy)

    def _find(self, found: RewardError, support: Support) -> tuple[str, object]:
        """The field and the value of an error about the first bad reward of the file."""
        again = self.rows_again is not None and self.rows_again.again
        if self.layout.treated is None and again and self.rewards_again is not None:
            for piece, rewards in self.rewards_again():
                bad = outside(support, rewards)  # NaN, which is left out, is not bad
                if bad.any():
                    row = int(bad.argmax())
                    place = f"{piece.place}, row {piece.first + row}, column {self.layout.reward}"
                    unit = "" if self.layout.amount is None else f" / {self.layout.amount}"
                    return place + unit, float(rewards[row])
        return found.where, found.value
