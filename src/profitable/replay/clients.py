"""Clients: everybody of the past as arrays, in the order in which their outcomes were known.

Example: three clients, who asked in the rounds 1, 1 and 2.  The outcome of the first was known in round 3:

>>> clients = Clients.of(
...     names=("cars",), labels=("2026-01", "2026-02", "2026-03"),
...     round=[1, 1, 2], category=[0, 0, 0], known=[3, 1, 2], reward=[0.0, 1.0, 1.0], profit=[-5.0, 1.0, 1.0],
... )
>>> clients.round.tolist(), clients.reward.tolist()
([1, 2, 1], [1.0, 1.0, 0.0])
>>> [clients.known_in(t) for t in (1, 2, 3)]
[slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
>>> clients.profit_by_cell().tolist()
[[-4.0], [1.0], [0.0]]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from profitable.agent.agent import Agent
from profitable.agent.observation import Batch
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.statistic import Statistic
from profitable.kernels.view import Support
from profitable.replay.crowd import Crowd, Learned, SmallInts, runs

KINDS = {"round": np.int32, "category": np.int32, "known": np.int32, "logged": np.bool_}  # of arrays without fractions
PER_CLIENT = ("amount", "promised", "score", "logged", "propensity")  # what some files have


@dataclass(frozen=True, eq=False)
class Clients(Crowd):
    """Past clients [n], sorted by the round in which their outcome was known, category, round and reward.

    So the order of the rows in a file does not matter, and what becomes known in a round is one slice.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    round: SmallInts
    category: SmallInts
    known: SmallInts
    reward: FloatArray  # as the agent sees it: per client or per unit of money, after costs that differ, or incremental
    profit: FloatArray
    amount: FloatArray | None = None
    promised: FloatArray | None = None
    score: FloatArray | None = None
    logged: BoolArray | None = None
    propensity: FloatArray | None = None

    @classmethod
    def of(
        cls,
        *,
        names: Sequence[str],
        labels: Sequence[str],
        in_place: bool = False,
        **arrays: npt.ArrayLike | None,
    ) -> Self:
        """Clients from arrays in any order: `round`, `category`, `known`, `reward`, `profit`, and those of some files.

        With `in_place`, the arrays that are given are sorted themselves.  It saves memory.
        """
        given: dict[str, npt.NDArray[Any]] = {}
        for name, values in arrays.items():
            if values is not None:
                kind = KINDS.get(name, np.float64)
                given[name] = np.asarray(values, kind) if in_place else np.array(values, kind)
        _sort(given, len(labels))
        return cls(tuple(names), tuple(labels), **given)

    def __len__(self) -> int:
        return self.round.size

    @cached_property
    def by_what_they_asked(self) -> IntArray:
        """The clients by cell and by what is known when they ask, [n]; of equal ones, those known first come first.

        The place of a client in it does not depend on the outcomes of others that are known later.
        """
        given = [getattr(self, name) for name in ("amount", "promised", "score", "propensity")]
        asked = [self.cells(), *(values for values in given if values is not None)]
        return np.lexsort(asked[::-1])  # stable: clients are sorted by the round in which their outcome was known

    # ------------------------------------------------------------------------------------------ one by one

    def clients_by_cell(self, times: IntArray | None) -> FloatArray:
        """As `Crowd` says."""
        return self.by_cell(times)

    def sum_of(self, name: str) -> FloatArray:
        """As `Crowd` says."""
        if name == "number":
            return np.ones(self.size)
        if name == "back":
            assert self.amount is not None
            return self.amount * self.reward
        return self.profit**2 if name == "profit_squares" else getattr(self, name)

    def _seen(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Some numbers [n] of those whose outcomes are known at all."""
        return values if self.logged is None else values[self.logged]

    def range_of(self, name: str) -> tuple[float, float]:
        """As `Crowd` says."""
        values = self._seen(getattr(self, name))
        return float(values.min()), float(values.max())

    def only_whole(self) -> bool:
        """As `Crowd` says."""
        rewards = self._seen(self.reward)
        return bool((rewards == np.floor(rewards)).all())

    def moments(self, statistic: Statistic | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `Crowd` says."""
        values, category, size = self._seen(self.reward), self._seen(self.category), len(self.names)
        values = values if statistic is None else statistic.of_rewards(values)
        counts = np.bincount(category, minlength=size).astype(np.float64)
        some = np.maximum(counts, 1.0)
        means = np.bincount(category, values, size) / some
        gaps = values - means[category]
        return counts, means, np.bincount(category, gaps * gaps, size) / some

    def illegal(self, support: Support) -> tuple[int, float] | None:
        """As `Crowd` says."""
        bad = outside(support, self.reward)
        if self.logged is not None:
            bad &= self.logged
        index = int(bad.argmax())
        return (int(self.category[index]), float(self.reward[index])) if bad.any() else None

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        """As `Crowd` says."""
        return generator.poisson(1.0, self.size).astype(np.int64, copy=False)

    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        """As `Crowd` says."""
        return generator.random(self.size) < 0.5

    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """As `Crowd` says."""
        return deviations(self._seen(self.profit), self._seen(self.category), len(self.names))

    def tell(self, agent: Agent, learned: Learned) -> None:
        """As `Crowd` says."""
        part, times = learned.part, learned.times
        rewards = repeated(self.reward[part], times)
        if not rewards.size:
            return
        amounts = None
        if self.amount is not None and learned.by_money:  # else they decide nothing
            amounts = repeated(self.amount[part], times)
        groups = repeated(self.category[part], times)
        if not learned.by_round:
            told: dict[str, Any] = {}
            for group in runs(groups):
                name = self.names[int(groups[group.start])]
                told[name] = (
                    rewards[group] if amounts is None else Batch(rewards=rewards[group], amounts=amounts[group])
                )
            agent.observe(told)
            return
        asked = repeated(self.round[part], times)
        for group in runs(groups.astype(np.int64) * (self.rounds + 1) + asked):
            agent.observe(
                self.names[int(groups[group.start])],
                rewards[group],
                amounts=None if amounts is None else amounts[group],
                accepted_in=int(asked[group.start]),
            )


def repeated(values: Any, times: npt.NDArray[Any]) -> Any:
    """Each value as often as it is there."""
    return values[times] if times.dtype == bool else np.repeat(values, times)


def outside(support: Support, rewards: FloatArray) -> BoolArray:
    """Where a family cannot have a reward, [n]."""
    bad = (rewards < support.low) | (rewards > support.high)
    if support.open:
        bad |= rewards == support.low
    return bad | (rewards != np.floor(rewards)) if support.whole else bad


def deviations(
    values: FloatArray, category: npt.NDArray[np.integer], size: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """By category [K]: how many values there are, their mean, and the sums of (value - mean)^2 and its square."""
    number = np.bincount(category, minlength=size).astype(np.float64)
    mean = np.bincount(category, values, minlength=size) / np.maximum(number, 1.0)
    squares = np.square(values - mean[category])
    one = np.bincount(category, squares, minlength=size)
    two = np.bincount(category, np.square(squares), minlength=size)
    return number, mean, one.astype(np.float64), two.astype(np.float64)


def _sort(arrays: dict[str, npt.NDArray[Any]], rounds: int) -> None:
    """Sort clients in place; those who are equal cannot be told apart, so their order does not matter.

    First by the round in which the outcome was known, then one such round after the other: little memory is needed
    beside the arrays, and the parts are quick to sort.
    """
    late = np.minimum(arrays["known"], rounds + 1)
    # NumPy sorts 16 bits in two passes.
    order = np.argsort(late.astype(np.uint16) if rounds < 2**16 - 1 else late, kind="stable")
    edges = [0, *np.cumsum(np.bincount(late, minlength=rounds + 2)).tolist()]
    different = list({id(values): values for values in arrays.values()}.values())  # two names may share an array
    for values in different:
        values[:] = values[order]
    del order, late
    ties = [arrays[name] for name in ("known", *PER_CLIENT, "profit") if name in arrays]
    for first, last in pairwise(edges):
        if last - first > 1:
            part = slice(first, last)
            key = arrays["category"][part].astype(np.int64) * (rounds + 1) + arrays["round"][part]
            order = _order(key, arrays["reward"][part], [tie[part] for tie in ties])
            for values in different:
                values[part] = values[part][order]


def _order(key: IntArray, reward: FloatArray, ties: list[npt.NDArray[Any]]) -> IntArray:
    """The permutation that sorts by key, reward and ties."""
    order = np.argsort(reward)
    order = order[np.argsort(key[order], kind="stable")]
    key, reward = key[order], reward[order]
    same = np.flatnonzero((key[1:] == key[:-1]) & (reward[1:] == reward[:-1]))
    if any((tie[order[same]] != tie[order[same + 1]]).any() for tie in ties):
        inner = np.lexsort([*(tie[order] for tie in ties), reward, key])
        return order[inner]
    return order
