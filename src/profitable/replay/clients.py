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

from profitable.common.types import BoolArray, FloatArray, IntArray

NEVER_KNOWN = 2**31 - 1  # the round in which an outcome is known that never is
KINDS = {"round": np.int32, "category": np.int32, "known": np.int32, "logged": np.bool_}  # of arrays without fractions
PER_CLIENT = ("amount", "promised", "score", "logged", "propensity")  # what some files have
SmallInts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Clients:
    """Past clients [n], sorted by the round in which their outcome was known, category, round and reward.

    So the order of the rows in a file does not matter, and what becomes known in a round is one slice.
    """

    names: tuple[str, ...]  # of the K categories
    labels: tuple[str, ...]  # of the R rounds, as "2026-01"
    round: SmallInts  # in which the client asked, 1 to R
    category: SmallInts  # 0 to K - 1
    known: SmallInts  # the round in which the outcome was known, at least `round`; beyond R it is known too late
    reward: FloatArray  # as the agent sees it: per client or per unit of money, after costs that differ, or incremental
    profit: FloatArray  # in money, if the client is accepted
    amount: FloatArray | None = None  # what was lent
    promised: FloatArray | None = None  # what an open client counts as, in the unit of `reward`
    score: FloatArray | None = None
    logged: BoolArray | None = None  # whether the past accepted the client
    propensity: FloatArray | None = None  # with what probability it did

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

    @property
    def rounds(self) -> int:
        """R, how many rounds there are."""
        return len(self.labels)

    @cached_property
    def is_immediate(self) -> bool:
        """Whether every outcome was known in the round of its client."""
        return bool((self.known == self.round).all())

    def known_in(self, round: int) -> slice:
        """The clients whose outcome was known in a round."""
        return slice(*self._ends[round - 1 : round + 1])

    @cached_property
    def _ends(self) -> list[int]:
        """Where the clients known in the rounds 1, 2, ... begin; and where those begin that are known too late."""
        return np.searchsorted(self.known, np.arange(1, self.rounds + 2, dtype=np.int32)).tolist()

    def cells(self) -> IntArray:
        """The cell of each client, [n]: (round - 1) * K + category."""
        return (self.round.astype(np.int64) - 1) * len(self.names) + self.category

    @cached_property
    def by_what_they_asked(self) -> IntArray:
        """The clients by cell and by what is known when they ask, [n]; of equal ones, those known first come first.

        The place of a client in it does not depend on the outcomes of others that are known later.
        """
        given = [getattr(self, name) for name in ("amount", "promised", "score", "propensity")]
        asked = [self.cells(), *(values for values in given if values is not None)]
        return np.lexsort(asked[::-1])  # stable: clients are sorted by the round in which their outcome was known

    def by_cell(self, values: npt.NDArray[Any] | None = None) -> FloatArray:
        """The sum of some numbers of the clients by round and category, [R, K]; the number of clients without any."""
        size = self.rounds * len(self.names)
        return np.bincount(self.cells(), values, minlength=size).astype(np.float64).reshape(self.rounds, -1)

    def profit_by_cell(self) -> FloatArray:
        """The profit of accepting a category in a round, [R, K]."""
        return self._profits

    @cached_property
    def _profits(self) -> FloatArray:
        return self.by_cell(self.profit)

    @cached_property
    def counts(self) -> FloatArray:
        """How many clients of a category there are in a round, [R, K]."""
        return self.by_cell()


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
