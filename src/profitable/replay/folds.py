"""Folds: a twentieth of the clients each, dealt out by arithmetic on their ids that is the same in every engine.

Engines have hash functions of their own, and no two agree.  So the fold of a whole number is computed: with the prime
p just below 2^26, ((id mod p) + 12 345)^2 * 48 271 mod p is cut into 20 equal parts.  All numbers on the way are below
2^52, so that engines which compute with doubles are exact, too.

>>> [fold_of(each) for each in (1, 2, 3, 10**15, -4)]
[9, 4, 19, 0, 15]
"""

from collections.abc import Callable
from typing import Any

FOLDS = 20
PRIME, SHIFT, FACTOR = 67_108_859, 12_345, 48_271


def fold_of(id: int) -> int:
    """The fold of a whole number, as every engine computes it."""
    value = abs(id)
    for step in steps(remainder):
        value = step(value)
    return value


def remainder(value: Any) -> Any:
    """A number, or an expression, modulo the prime."""
    return value % PRIME


def remainder_by_division(value: Any) -> Any:
    """The same for engines that divide whole numbers, but have no remainder."""
    return value - (value // PRIME) * PRIME


def steps(modulo: Callable[[Any], Any]) -> list[Callable[[Any], Any]]:
    """What is done to a number that is not negative, or to an expression, one step after the other."""
    return [
        modulo,
        lambda value: modulo(value + SHIFT),
        lambda value: modulo(value * value),
        lambda value: modulo(value * FACTOR),
        lambda value: value * FOLDS // PRIME,
    ]
