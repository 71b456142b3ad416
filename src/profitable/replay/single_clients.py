"""Past clients one by one, as arrays sorted by when outcomes were known.

Example: three clients, who asked in the rounds 1, 1 and 2.  The outcome of the first
was known in round 3:

>>> clients = SingleClients.of(
...     names=("cars",), labels=("2026-01", "2026-02", "2026-03"),
...     round=[1, 1, 2], category=[0, 0, 0], known=[3, 1, 2],
...     reward=[0.0, 1.0, 1.0], profit=[-5.0, 1.0, 1.0],
... )
>>> clients.round.tolist(), clients.reward.tolist()
([1, 2, 1], [1.0, 1.0, 0.0])
>>> [clients.known_in(t) for t in (1, 2, 3)]
[slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
>>> clients.profit_by_cell.tolist()
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
from profitable.agent.ledger import NO_AMOUNTS
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.coded_view import Support
from profitable.kernels.statistic import Statistic
from profitable.replay.past import PastClients, outside

# Of arrays without fractions.
KINDS = {"round": np.int32, "category": np.int32, "known": np.int32, "logged": np.bool_}
ORDER = 5  # names the random stream of shuffled time
PER_CLIENT = ("amount", "promised", "score", "logged", "propensity")  # what some files have


@dataclass(frozen=True, eq=False, kw_only=True)
class SingleClients(PastClients):
    """Past clients [n], sorted by known round, category, round and reward.

    So the order of the rows in a file does not matter, and what becomes known in a
    round is one slice.
    """

    # As the agent sees it: per client or per unit of money, after costs that differ, or
    # incremental.
    reward: FloatArray

    @classmethod
    def of(
        cls,
        *,
        names: Sequence[str],
        labels: Sequence[str],
        in_place: bool = False,
        **arrays: npt.ArrayLike | None,
    ) -> Self:
        """Make clients from arrays in any order.

        With `in_place`, the arrays that are given are sorted themselves.  It saves
        memory.
        """
        given: dict[str, npt.NDArray[Any]] = {}
        for name, values in arrays.items():
            if values is not None:
                kind = KINDS.get(name, np.float64)
                given[name] = np.asarray(values, kind) if in_place else np.array(values, kind)
        _sort(given, len(labels))
        return cls(names=tuple(names), labels=tuple(labels), **given)  # type: ignore[arg-type]

    @cached_property
    def by_what_they_asked(self) -> IntArray:
        """Positions of clients by cell and by what is known when they ask, [n].

        The place of a client in it does not depend on the outcomes of others that are
        known later.
        """
        given = (getattr(self, name) for name in ("propensity", "score", "promised", "amount"))
        # Stable: clients are sorted by the round in which their outcome was known.
        return np.lexsort([*(values for values in given if values is not None), self.cells()])

    def shuffled(self, seed: int, number: int) -> Self:
        """Permute the rounds; each client keeps the delay of its outcome."""
        rounds = self.round[np.random.default_rng([seed, ORDER, number]).permutation(len(self))]
        delay = self.known.astype(np.int64) - self.round
        return self.of(
            names=self.names,
            labels=self.labels,
            round=rounds,
            category=self.category,
            known=np.minimum(rounds + delay, np.iinfo(np.int32).max),
            reward=self.reward,
            profit=self.profit,
            **{name: getattr(self, name) for name in PER_CLIENT},
        )

    # ----------------------------------------------------------------------- one by one

    def sum_of(self, name: str) -> FloatArray:
        if name == "number":
            return np.ones(self.size)
        if name == "back":
            assert self.amount is not None
            return self.amount * self.reward
        return self.profit**2 if name == "profit_squares" else getattr(self, name)

    def range_of(self, name: str) -> tuple[float, float]:
        values = self.seen(getattr(self, name))
        return float(values.min()), float(values.max())

    def only_whole(self) -> bool:
        rewards = self.seen(self.reward)
        return bool((rewards == np.floor(rewards)).all())

    def moments(
        self, statistic: Statistic | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        values, category, size = self.seen(self.reward), self.seen(self.category), len(self.names)
        values = values if statistic is None else statistic.of_rewards(values)
        counts = np.bincount(category, minlength=size).astype(np.float64)
        some = np.maximum(counts, 1.0)
        means = np.bincount(category, values, size) / some
        gaps = values - means[category]
        return counts, means, np.bincount(category, gaps * gaps, size) / some

    def illegal(self, support: Support) -> tuple[int, float] | None:
        bad = outside(support, self.reward)
        if self.logged is not None:
            bad &= self.logged
        index = int(bad.argmax())
        return (int(self.category[index]), float(self.reward[index])) if bad.any() else None

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        return generator.poisson(1.0, self.size).astype(np.int64, copy=False)

    def draw_half(self, generator: np.random.Generator) -> BoolArray:
        return generator.random(self.size) < 0.5

    def standing_out(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return deviations(self.seen(self.profit), self.seen(self.category), len(self.names))

    def tell(
        self,
        agent: Agent,
        part: slice,
        times: npt.NDArray[Any],
        *,
        by_money: bool,
        by_round: bool,
    ) -> None:
        rewards = repeated(self.reward[part], times)
        if not rewards.size:
            return
        amounts = NO_AMOUNTS
        if self.amount is not None and by_money:  # else they decide nothing
            amounts = repeated(self.amount[part], times)
        key = repeated(self.category[part], times).astype(np.int64)
        asked = repeated(self.round[part], times) if by_round else None
        if asked is not None:
            key = key * (self.rounds + 1) + asked
        ends = np.append(np.flatnonzero(key[1:] != key[:-1]) + 1, key.size)
        positions = repeated(self.category[part], times)[ends - 1].astype(np.int64)
        batches = agent.ledger.digest(positions, ends, rewards, amounts)
        agent.ledger.book(
            positions, batches, accepted_in=None if asked is None else asked[ends - 1].tolist()
        )


def repeated(values: Any, times: npt.NDArray[Any]) -> Any:
    """Each value as often as it is there."""
    return values[times] if times.dtype == bool else np.repeat(values, times)


def deviations(
    values: FloatArray, category: npt.NDArray[np.integer], size: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return count, mean, and sums of (value - mean)^2 and its square, [K] each."""
    number = np.bincount(category, minlength=size).astype(np.float64)
    mean = np.bincount(category, values, minlength=size) / np.maximum(number, 1.0)
    squares = np.square(values - mean[category])
    two, four = (np.bincount(category, each, size) for each in (squares, np.square(squares)))
    return number, mean, two.astype(np.float64), four.astype(np.float64)


def _sort(arrays: dict[str, npt.NDArray[Any]], rounds: int) -> None:
    """Sort clients in place; equal clients are interchangeable.

    First by the round in which the outcome was known, then one such round after the
    other: little memory is needed besides the arrays, and the parts are quick to sort.
    """
    late = np.minimum(arrays["known"], rounds + 1)
    # NumPy sorts 16 bits in two passes.
    order = np.argsort(late.astype(np.uint16) if rounds < 2**16 - 1 else late, kind="stable")
    edges = [0, *np.cumsum(np.bincount(late, minlength=rounds + 2)).tolist()]
    # Two names may share an array.
    different = list({id(values): values for values in arrays.values()}.values())
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
    """Return the permutation that sorts by key, reward and ties."""
    order = np.argsort(reward)
    order = order[np.argsort(key[order], kind="stable")]
    key, reward = key[order], reward[order]
    same = np.flatnonzero((key[1:] == key[:-1]) & (reward[1:] == reward[:-1]))
    if any((tie[order[same]] != tie[order[same + 1]]).any() for tie in ties):
        order = order[np.lexsort([*(tie[order] for tie in ties), reward, key])]
    return order
