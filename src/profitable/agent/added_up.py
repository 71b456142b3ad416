"""Outcomes that were checked and added up elsewhere, as a database does it, booked by a ledger.

The sums must be of the statistic that the policy adds up, and of rewards that the family can have.
"""

import numpy as np

from profitable.agent.ledger import Ledger
from profitable.agent.observation import Batch, Entry
from profitable.common import check
from profitable.common.types import FloatArray, IntArray
from profitable.kernels import agent_table
from profitable.kernels.agent_table import Row


def observe_sums(ledger: Ledger, positions: IntArray, sums: FloatArray) -> None:
    """Book outcomes of some categories: `Sums` as an array [M, 11].

    Not for rules that need the distinct rewards, for windows, or for outcomes of cohorts: `observe_entry`.
    """
    full = np.flatnonzero(ledger.table[Row.KNOWN, positions] + sums[:, 0] > check.MOST)
    if full.size:
        raise ledger._too_many(int(positions[full[0]]), float(sums[full[0], 0]))
    categories = ledger.categories
    agent_table.add_all(ledger.table, positions, categories.which(), categories.view_table(), sums)


def observe_entry(ledger: Ledger, k: int, entry: Entry, accepted_in: int | None = None) -> None:
    """Book outcomes of one category, perhaps of a cohort."""
    cohort = ledger._cohort(k, Batch(accepted_in=accepted_in))
    ledger._check_room([(k, entry, cohort)])
    ledger._enter(k, entry, cohort)
