"""Notes on past clients, for the reader of a result.

>>> from profitable.past.past import SingleClients
>>> clients = SingleClients.of(
...     names=("cook",), labels=("1", "2"), round=[2], category=[0], known=[2],
...     reward=[1.0], profit=[1.0],
... )
>>> notes_on(clients)
['1 of 2 rounds have no client']
"""

from typing import TYPE_CHECKING

import numpy as np

from profitable.common.text_tables import number_text
from profitable.past.late_outcomes import NEVER_KNOWN

if TYPE_CHECKING:
    from profitable.past.past import PastClients

MISSING_NAME = "(missing)"  # of the category of clients without one


def notes_on(clients: "PastClients") -> list[str]:
    """Return notes on the clients for the reader of a result."""
    notes: list[str] = []
    people = clients.sum_of("number")
    never = round(float(people[clients.known == NEVER_KNOWN].sum()))
    if never:
        notes.append(
            f"{number_text(never)} outcomes have no known date: "
            "they count in profits, and no policy learns from them"
        )
    empty = clients.rounds - np.unique(clients.round).size
    if empty:
        notes.append(f"{number_text(empty)} of {number_text(clients.rounds)} rounds have no client")
    for code, name in enumerate(clients.names):
        if MISSING_NAME in name.split(", "):
            there = round(float(people[clients.category == code].sum()))
            notes.append(f"{number_text(there)} clients are in the category {name}")
    return notes
