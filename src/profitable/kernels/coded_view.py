"""View: a category as a policy sees it, coded for the kernels.

A view is a rule (which evidence), a law (how far from the threshold), a statistic (what
is added up), the support (which rewards are legal) and imaginary clients (the prior).
`model/view.py` makes them.

Example: kl-UCB on Bernoulli rewards is View(DIVERGENCE, Law(BINOMIAL, 0, 1, 1),
CodedStatistic(IDENTITY), Support(0, 1, whole=True), 0, 0).

The agent's path from `observe` to `decide` takes plain arrays, because a call from
Python with a struct takes 13 microseconds.  So a view can be written as one row of
numbers (`row`), and kernels read it back (`view_of`).
"""

import math
from typing import NamedTuple

import numpy as np

from profitable.common.check import LARGEST
from profitable.common.types import FloatArray
from profitable.kernels.compile import part
from profitable.kernels.evidence import Rule
from profitable.kernels.law import Law
from profitable.kernels.statistic import CUT, CodedStatistic


class Support(NamedTuple):
    """The legal rewards: an interval of all numbers, or of whole ones only.

    The lower edge belongs to it unless it is open.
    """

    low: float = -math.inf
    high: float = math.inf
    open: bool = False
    whole: bool = False

    @property
    def is_zero_or_one(self) -> bool:
        """Whether rewards are 0 or 1, so that their sum says everything about them."""
        return self.whole and (self.low, self.high) == (0.0, 1.0)

    def __str__(self) -> str:
        if self.whole and self.high == self.low + 1:
            return f"{self.low:g} or {self.high:g}"
        if self.whole:
            return (
                f"a whole number from {self.low:g} to {self.high:g}"
                if self.high < math.inf
                else "0, 1, 2, ..."
            )
        if self.low == -math.inf:
            return "any finite number"
        if self.high == math.inf:
            return f"a finite number {'above' if self.open else 'from'} {self.low:g}"
        return f"a number from {self.low:g} to {self.high:g}"


class CodedView(NamedTuple):
    """A category as a policy sees it."""

    rule: Rule  # as it is under this law: what it needs is said here and nowhere else
    law: Law
    statistic: CodedStatistic
    support: Support
    prior_clients: float
    prior_total: float
    by_money: bool = False  # whether a client weighs as much as its amount


def row(view: CodedView) -> FloatArray:
    """Return the view as one row of numbers, [23]."""
    parts = (
        *view.rule,
        *view.law,
        *view.statistic,
        *view.support,
        view.prior_clients,
        view.prior_total,
    )
    return np.array((*parts, view.by_money), dtype=np.float64)


@part
def view_of(row: FloatArray) -> CodedView:
    """Return the view of a row."""
    return CodedView(
        Rule(
            int(row[0]),
            row[1] != 0,
            row[2] != 0,
            row[3] != 0,
            row[4] != 0,
            row[5] != 0,
            row[6],
            row[7] != 0,
            row[8] != 0,
        ),
        Law(int(row[9]), row[10], row[11], row[12]),
        CodedStatistic(int(row[13]), row[14], row[15]),
        Support(row[16], row[17], row[18] != 0.0, row[19] != 0.0),
        row[20],
        row[21],
        row[22] != 0.0,
    )


@part
def is_legal(support: Support, reward: float) -> bool:
    """Return whether a reward is in the support."""
    if not support.low <= reward <= support.high or abs(reward) > LARGEST:
        return False
    if support.open and reward == support.low:
        return False
    return not support.whole or reward == math.floor(reward)


@part
def edges(view: CodedView) -> tuple[float, float]:
    """Return the range of a statistic that is the reward, clipped or not."""
    if view.statistic.code == CUT:
        return view.statistic.first, view.statistic.second
    return view.support.low, view.support.high


@part
def widest(view: CodedView, clients: float, total: float) -> float:
    """Return the largest possible sum of squared deviations.

    It is that of so many clients with this total.
    """
    low, high = edges(view)
    if not high - low < math.inf:
        return math.inf
    return max(0.0, (clients * high - total) * (total / clients - low)) if clients > 0.0 else 0.0
