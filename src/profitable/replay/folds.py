"""Folds: a twentieth of the clients each, dealt out by arithmetic on their ids that is the same in every engine.

Engines have hash functions of their own, and no two agree.  So the fold of a whole number is computed: with the prime
p just below 2^26, ((id mod p) + 12 345)^2 * 48 271 mod p is cut into 20 equal parts.  All numbers on the way are below
2^52, so that engines which compute with doubles are exact, too.

>>> [fold_of(each) for each in (1, 2, 3, 10**15, -4)]
[9, 4, 19, 0, 15]
"""

from typing import Any

FOLDS = 20
PRIME, SHIFT, FACTOR = 67_108_859, 12_345, 48_271


def fold_of(id: int) -> int:
    """The fold of a whole number, as every engine computes it."""
    return fold_in(abs(id), lambda value: value % PRIME)


def fold_in(id: Any, modulo: Any) -> Any:
    """The fold of a number that is not negative; an expression of an engine, or a number."""
    shifted = modulo(modulo(id) + SHIFT)
    return modulo(modulo(shifted * shifted) * FACTOR) * FOLDS // PRIME
