"""Crowd: the clients of the past as a replay sees them, one by one (`Clients`) or added up (`Grouped`).

A crowd is some rows [n].  A row is one client, or all clients of a cell.  Each row has a round in which they asked, a
round in which their outcomes were known, and a category.  What is added up has the same names in both.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from profitable.agent.agent import Agent
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.view import Support

NEVER_KNOWN = 2**31 - 1  # the round in which an outcome is known that never is
SmallInts = npt.NDArray[np.int32]


class Learned(NamedTuple):
    """The rows whose outcomes a policy learns in a round: which they are, and how often each counts, [m]."""

    part: slice
    times: npt.NDArray[Any]
    by_money: bool  # whether clients weigh as much as their amounts
    by_round: bool  # whether they are told by the round in which they were accepted


class Crowd:
    """Rows [n], sorted by the round in which outcomes were known, by category, and by the round of asking."""

    names: tuple[str, ...]  # of the K categories
    labels: tuple[str, ...]  # of the R rounds, as "2026-01"
    round: SmallInts  # in which the clients asked, 1 to R
    category: SmallInts  # 0 to K - 1
    known: SmallInts  # the round in which outcomes were known, at least `round`; beyond R it is known too late
    profit: FloatArray  # in money, of all clients of a row, if they are accepted
    amount: FloatArray | None = None  # what was lent to them
    promised: FloatArray | None = None  # what they count as while they are open, in the unit of rewards
    logged: BoolArray | None = None  # whether the past accepted the client
    propensity: FloatArray | None = None  # with what probability it did
    score: FloatArray | None = None
    folds: int | None = None  # into how many parts clients were dealt, if they are added up

    def __len__(self) -> int:
        """How many clients there are."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.round.size

    @property
    def rounds(self) -> int:
        """R, how many rounds there are."""
        return len(self.labels)

    @cached_property
    def is_immediate(self) -> bool:
        """Whether every outcome was known in the round of its client."""
        return bool((self.known == self.round).all())

    def known_in(self, round: int) -> slice:
        """The rows whose outcomes were known in a round."""
        return slice(*self._ends[round - 1 : round + 1])

    @cached_property
    def _ends(self) -> list[int]:
        """Where the rows known in the rounds 1, 2, ... begin; and where those begin that are known too late."""
        return np.searchsorted(self.known, np.arange(1, self.rounds + 2, dtype=np.int32)).tolist()

    def cells(self) -> IntArray:
        """The cell of each row, [n]: (round - 1) * K + category."""
        return (self.round.astype(np.int64) - 1) * len(self.names) + self.category

    def by_cell(self, values: npt.ArrayLike | None = None) -> FloatArray:
        """The sum of some numbers [n] by round and category, [R, K]; how many rows there are without any."""
        size = self.rounds * len(self.names)
        found = np.bincount(self.cells(), None if values is None else np.asarray(values), minlength=size)
        return found.astype(np.float64).reshape(self.rounds, -1)

    def profit_by_cell(self) -> FloatArray:
        """The profit of accepting a category in a round, [R, K]."""
        return self._profits

    @cached_property
    def _profits(self) -> FloatArray:
        return self.by_cell(self.profit)

    @cached_property
    def counts(self) -> FloatArray:
        """How many clients of a category there are in a round, [R, K]."""
        return self.clients_by_cell(None)

    # ------------------------------------------------------------------------------------------ one by one, or added up

    def clients_by_cell(self, times: IntArray | None) -> FloatArray:
        """How many clients there are in each cell, [R, K], if each row is there so many times [n]."""
        raise NotImplementedError

    def sum_of(self, name: str) -> FloatArray:
        """A quantity of each row, [n]: number, reward, profit, profit_squares, amount or back (the money)."""
        raise NotImplementedError

    def range_of(self, name: str) -> tuple[float, float]:
        """The smallest and the largest reward, or promised reward, of a client."""
        raise NotImplementedError

    def only_whole(self) -> bool:
        """Whether all rewards are whole numbers."""
        raise NotImplementedError

    def moments(self, statistic: Any = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How many clients there are by category [K], the means and variances of their rewards, or of a statistic."""
        raise NotImplementedError

    def illegal(self, support: Support) -> tuple[int, float] | None:
        """The category and the value of a reward that a family cannot have; None if there is none."""
        raise NotImplementedError

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        """How often each row is there in a bootstrap portfolio, [n]."""
        raise NotImplementedError

    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        """The rows of one half of the clients, drawn by lot, [n]."""
        raise NotImplementedError

    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """By category [K]: clients, mean profit, and the sums of (profit - mean)^2 and of (profit - mean)^4."""
        raise NotImplementedError

    def tell(self, agent: Agent, learned: Learned) -> None:
        """Tell an agent the outcomes of some rows."""
        raise NotImplementedError


def runs(keys: npt.NDArray[Any]) -> Iterator[slice]:
    """The slices of equal keys in a sorted array."""
    cuts = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), keys.size]
    for start, stop in pairwise(cuts):
        yield slice(start, stop)
