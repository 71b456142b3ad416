"""The cohorts of an agent in its file: one column for each of their numbers, and the checks when they are read.

Example: 40 loans that were accepted in round 3, mature after 36 rounds, and of which two are known to be lost, are
{"place": [0], "accepted_in": [3], "clients": [40], "matures": [36], "emerges": ["at maturity"], "promised": [null],
"known": [2], "total": [0.0], ...}.
"""

from typing import Any

import numpy as np

from profitable.agent.cohorts import AT_MATURITY, Cohort, LateTerms
from profitable.agent.correction import ROUNDING
from profitable.agent.distinct_rewards import EMPTY, DistinctRewards
from profitable.agent.ledger import Ledger
from profitable.agent.observation import Entry
from profitable.agent.state_record import CohortsRecord, SampleRecord
from profitable.agent.transfer import LENT_SUMS
from profitable.errors import BrokenStateError
from profitable.kernels.agent_table import Row
from profitable.kernels.batch import Sums

SUM_FIELDS = ("total", "total_lost", "squares", "squares_lost")
BACKUP = "restore the file from a backup"


def sample_record(kept: DistinctRewards) -> dict[str, Any]:
    """Distinct rewards as the file has them."""
    return {"values": kept.values.tolist(), "counts": kept.counts.tolist()}


def sample_of(kept: SampleRecord) -> DistinctRewards:
    """Distinct rewards as they were read."""
    return DistinctRewards(np.array(kept.values), np.array(kept.counts, dtype=np.float64))


def cohorts_record(ledger: Ledger) -> dict[str, Any]:
    """The cohorts as columns."""
    listed = list(ledger.cohorts)
    cohorts = [cohort for _, cohort in listed]
    record: dict[str, Any] = {"place": [k for k, _ in listed]}
    for field in ("accepted_in", "clients", "matures", "promised"):
        record[field] = [getattr(cohort, field) for cohort in cohorts]
    record["emerges"] = [cohort.emerges if isinstance(cohort.emerges, str) else [*cohort.emerges] for cohort in cohorts]
    record["known"] = [int(cohort.known.sums.clients) for cohort in cohorts]
    for field in (*SUM_FIELDS, *LENT_SUMS):
        record[field] = [getattr(cohort.known.sums, field) for cohort in cohorts]
    if ledger.values is not None:
        record["sample"] = [sample_record(cohort.known.values or EMPTY) for cohort in cohorts]
    return record


def restore_cohorts(ledger: Ledger, record: CohortsRecord) -> None:
    """Put the cohorts of a file into a ledger, whose table has been read; BrokenStateError if they do not fit it."""
    size = len(record.place)
    torn = [name for name, column in record if column is not None and len(column) != size]
    if torn or max(record.place, default=0) >= len(ledger) or (record.sample is None) != (ledger.values is None):
        raise BrokenStateError("cohorts", torn or "place", "are torn", BACKUP)
    table = ledger.table
    for i, k in enumerate(record.place):
        cohort = _cohort(ledger, record, i)
        if ledger.cohorts.get(k, cohort.accepted_in) is not None:
            raise BrokenStateError("cohorts", cohort.accepted_in, "has two cohorts", BACKUP, ledger.categories.names[k])
        if cohort.by_age and not table[Row.LATE, k]:
            raise BrokenStateError("debt", None, "is missing", BACKUP, ledger.categories.names[k])
        ledger.cohorts.put(k, cohort, ledger.round)
        table[Row.OUTSTANDING, k] += cohort.unknown
    if (table[Row.OUTSTANDING] > table[Row.WAITING]).any():
        raise BrokenStateError("waiting", None, "is less than the cohorts wait for", BACKUP)


def _cohort(ledger: Ledger, record: CohortsRecord, i: int) -> Cohort:
    """One of the cohorts, checked like the terms that a caller gives."""
    categories, k, emerges = ledger.categories, record.place[i], record.emerges[i]
    terms = LateTerms(record.accepted_in[i], record.matures[i], emerges, record.promised[i])
    if emerges != AT_MATURITY and record.promised[i] is None:
        raise BrokenStateError("promised", None, "is missing", BACKUP, categories.names[k])
    cohort = terms.read(categories[k], categories.policy.rule, ledger.round)
    sums = Sums(float(record.known[i]), **{field: getattr(record, field)[i] for field in (*SUM_FIELDS, *LENT_SUMS)})
    values = None if record.sample is None else sample_of(record.sample[i])
    view = categories.view_of(k)
    weight = sums.lent if view.by_money else sums.clients
    possible = sums.clients <= record.clients[i] and view.can_sum_to(weight, sums.total)
    if values is not None:
        possible = possible and values.values.size == values.counts.size
        possible = possible and abs(values.counts.sum() - weight) <= ROUNDING * (1.0 + weight)
    if not possible:
        problem = f"cannot be the sum over {record.known[i]} of {record.clients[i]} clients"
        raise BrokenStateError("total", sums.total, problem, BACKUP, categories.names[k])
    return cohort._replace(clients=record.clients[i], known=Entry(sums, values))
