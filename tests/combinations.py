"""Combinations of parameters: every pair in `make test`, all of them in `make soak`.

Most mistakes depend on one parameter, or on two together.  So tests of long histories
take combinations in which each pair of values occurs, and `make soak` takes them all.

>>> covering("ab", [1, 2], "xy")
[('a', 1, 'x'), ('a', 2, 'y'), ('b', 1, 'y'), ('b', 2, 'x')]
"""

import os
from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"


def covering(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return combinations with every pair of values of two axes; in soak, all of them.

    The choice is greedy and the same in every run: the next combination is the first of
    those with the most new pairs.
    """
    values = [list(axis) for axis in axes]
    left = list(product(*(range(len(axis)) for axis in values)))
    chosen = left if SOAK else []
    covered: set[tuple[int, ...]] = set()

    def new_pairs(places: tuple[int, ...]) -> set[tuple[int, ...]]:
        numbered = combinations(enumerate(places), 2)
        return {(*one, *other) for one, other in numbered} - covered

    while not SOAK and left:
        best = max(left, key=lambda places: len(new_pairs(places)))
        if not new_pairs(best):
            break
        covered |= new_pairs(best)
        chosen.append(best)
        left.remove(best)
    return [tuple(axis[place] for axis, place in zip(values, each, strict=True)) for each in chosen]
