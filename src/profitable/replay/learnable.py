"""What policies could learn in time: how many outcomes counted before decisions.

An outcome that counts in round t is known to the decisions from round t + 1 on.  So
what counts in the last round is known to none of them.

Example: two clients a round for three rounds, whose outcomes mature after two rounds:

>>> from profitable.past.past import SingleClients
>>> clients = SingleClients.of(
...     names=("cars",), labels=("1", "2", "3"), round=[1, 1, 2, 2, 3, 3],
...     category=[0] * 6, known=[1, 2, 3, 4, 5, 5], reward=[1.0] * 6, profit=[1.0] * 6,
... )
>>> found = Learnable.of(clients, np.array([3, 3, 4, 4, 5, 5]))
>>> found.is_nothing, found.first, round(found.known, 2)
(True, 3, 0.33)
"""

from dataclasses import dataclass

import numpy as np

from profitable.common.text_tables import number_text, percent_text
from profitable.common.types import IntArray
from profitable.past.late_outcomes import AS_THEY_AGE, OPEN_VALUE
from profitable.past.layout import HAZARDS
from profitable.past.past import Past, PastClients

ENOUGH = 10  # known outcomes of a category, on which a decision about it can rest


@dataclass(frozen=True)
class Learnable:
    """When outcomes counted, and for how many clients that was in time."""

    rounds: int
    first: int | None  # the first round in which an outcome counts; None if none does
    known: float  # the share of the outcomes that were known before the last decision
    # The share of the clients who asked when enough outcomes of their category counted.
    informed: float
    matures: bool = False  # whether outcomes count at maturity

    @classmethod
    def of(cls, clients: PastClients, counted: IntArray | None = None) -> "Learnable":
        """Count outcomes as soon as they are known, or when they mature, [n]."""
        rounds, size = clients.rounds, len(clients.names)
        number, known = clients.seen(clients.sum_of("number")), clients.seen(clients.known)
        counts = known.astype(np.int64) if counted is None else clients.seen(counted)
        there = counts <= rounds
        place = (counts[there] - 1) * size + clients.seen(clients.category)[there]
        table = np.bincount(place, number[there], rounds * size).reshape(rounds, size)
        # Those who ask in a round know what counted in the rounds before.
        enough = np.zeros((rounds, size), dtype=bool)
        enough[1:] = np.cumsum(table, axis=0)[:-1] >= ENOUGH
        asked = clients.counts
        return cls(
            rounds,
            int(counts.min()) if there.any() else None,
            float(number @ (known < rounds)) / max(float(number.sum()), 1.0),
            float(asked[enough].sum()) / max(float(asked.sum()), 1.0),
            counted is not None,
        )

    @property
    def is_nothing(self) -> bool:
        """Whether no outcome counted before the last decision."""
        return self.first is None or self.first >= self.rounds

    def reason(self) -> str:
        """Say why hardly anything could be learnt."""
        known = percent_text(self.known)
        last = f"{known} of the outcomes were known before the last decision"
        if self.is_nothing:
            nothing = "nothing matures" if self.matures else "no outcome is known"
            when = (
                "before the file ends"
                if self.first is None
                else f"before round {number_text(self.first)} of {number_text(self.rounds)}"
            )
            return f"{nothing} {when}; {last}"
        informed = percent_text(self.informed)
        counted = "matured" if self.matures else "known"
        return (
            f"{informed} of the clients asked when {ENOUGH} outcomes of their category were "
            f"{counted}; {last}"
        )


def learnable(past: Past) -> Learnable | None:
    """Return what could be learnt; None where clients count before their outcomes do.

    That is so where open clients count at a promise, and of loans that are judged by
    their hazards: a loan that lives is evidence, too.
    """
    late = past.late
    if late.treatment in (HAZARDS, AS_THEY_AGE, OPEN_VALUE):
        return None
    return Learnable.of(past.clients, late.counted(past.clients))
