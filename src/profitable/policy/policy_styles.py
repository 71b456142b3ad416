"""The looks of policies: the same colour and dash in every chart."""

from collections.abc import Sequence

from profitable.common.line_styles import DASH_DOT, DASHED, PALETTE, SHORT, Look
from profitable.policy.policies import POLICIES

VARIANTS = (SHORT, DASH_DOT, DASHED)  # for a policy that one picture shows with several parameters


def looks_of(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name of a curve; names may have parameters.

    The first thirty or so are different.

    >>> looks_of(["kl-ucb", "kl-ucb:c=3"])["kl-ucb:c=3"]
    Look(colour='#0072B2', dash=(2, 2))
    """
    looks: dict[str, Look] = {}
    for name in names:
        look = _look(name.partition(":")[0], len(looks))
        free = [Look(look.colour, dash) for dash in VARIANTS]
        free += [Look(colour, dash) for dash in VARIANTS for colour in PALETTE]
        looks[name] = next((each for each in (look, *free) if each not in looks.values()), look)
    return looks


def _look(policy: str, place: int) -> Look:
    """Return the look that a policy's class asks for.

    A policy without one gets the colour of its place.
    """
    chosen = POLICIES[policy].look if policy in POLICIES else None
    known = list(POLICIES)
    return chosen or Look(
        PALETTE[(known.index(policy) if policy in known else place) % len(PALETTE)], SHORT
    )
