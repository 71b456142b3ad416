"""What a decision works out when asked: evidence that only had to be bounded, and when rejected categories return.

Example: kl-UCB with forget=0.97 rejects a category because its evidence is 6 nats and patience log 33.3 = 3.5.  If
nothing else is seen of it, the evidence is 6 * 0.97^j after j more rounds.  That is at most 3.5 from j = 18 on.
"""

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.correction import in_clients
from profitable.agent.distinct_rewards import EMPTY
from profitable.agent.observation import Entry
from profitable.agent.window import NO_ENTRY, Window, joined
from profitable.common.types import FloatArray, IntArray
from profitable.kernels import decided
from profitable.kernels.agent_table import SNAPSHOT, Row
from profitable.kernels.evidence import Seen, evidence
from profitable.kernels.exact import weighted_deviations
from profitable.kernels.patience import LAST_ROUND, Patience, first_time
from profitable.model.view import View
from profitable.policy.policies import Policy


def renewed(categories: Categories, table: FloatArray, positions: IntArray) -> FloatArray:
    """The evidence of some categories, from a decision's copy of their numbers, [M]."""
    out = np.empty(positions.size)
    with_targets = _with_targets(categories, table, positions)
    decided.evidences(with_targets, categories.which()[positions], categories.view_table(), out)
    return out


def next_rounds(
    round: int, categories: Categories, table: FloatArray, positions: IntArray, window: Window | None
) -> list[int | None]:
    """The next round in which each of some categories, which `round` rejected, can be accepted; None if none will."""
    policy = categories.policy
    if window is not None and not policy.draws:
        known = [_seen_out(round, categories, table[:, i], int(k), window) for i, k in enumerate(positions)]
    elif policy.forget < 1.0 and not policy.draws:
        out = np.zeros(positions.size, dtype=np.int64)
        with_targets = _with_targets(categories, table, positions)
        which = categories.which()[positions]
        decided.returns(with_targets, which, categories.view_table(), categories.terms, round, out)
        known = out.tolist()
    else:
        clients = table[Row.CLIENTS] + categories.imaginary(positions)
        return policy.next_rounds(table[Row.EVIDENCE], round, clients, table[Row.PER_ROUND])
    return [each or None for each in known]


def _with_targets(categories: Categories, table: FloatArray, positions: IntArray) -> FloatArray:
    """A decision's copy of some columns, and below it the thresholds in the units of the statistics."""
    targets = np.empty(positions.size)
    for view, chosen in categories.by_view(positions):
        targets[chosen] = view.statistic.of_means(table[Row.THRESHOLD, chosen])
    return np.ascontiguousarray(np.vstack([table[:SNAPSHOT], targets]))


def _seen_out(round: int, categories: Categories, column: FloatArray, k: int, window: Window) -> int:
    """When a category that is seen through a window can be accepted: once enough outcomes have left.  0 if never.

    Evidence changes only when a round leaves.  Patience may grow in between, while the window is still filling.
    """
    policy, view = categories.policy, categories.view_of(k)
    target = float(view.statistic.of_mean(float(column[Row.THRESHOLD])))
    terms, per_round = policy.coded_patience, float(column[Row.PER_ROUND])
    left, rounds, until = NO_ENTRY, 0.0, LAST_ROUND
    found = 0
    entries = {counted: entries[k] for counted, entries in window if k in entries}
    taken = {counted: numbers[k] for counted, numbers in window.taken.items() if k in numbers}
    for counted in sorted(entries.keys() | taken.keys(), reverse=True):
        # From here on only what is `left` counts, until the next of them leaves.
        start = counted + window.length
        nats = _nats(policy, view, left, rounds, target)
        found = _first(terms, nats, start, until, left, view, per_round) or found
        left, until = joined(left, entries.get(counted, NO_ENTRY), 1.0), start
        rounds += taken.get(counted, 0.0)
    return _first(terms, float(column[Row.EVIDENCE]), round, until, left, view, per_round) or found


def _first(terms: Patience, nats: float, start: int, until: int, left: Entry, view: View, per_round: float) -> int:
    """The first round that accepts this evidence after at least `start` and fewer than `until` rounds; 0 if none."""
    clients = (by_itself(left) if view.by_money else left).sums.clients + view.prior_clients
    time = first_time(terms, nats, start, clients, per_round) if start < until else 0
    return time + 1 if 0 < time < until else 0


def by_itself(entry: Entry) -> Entry:
    """An entry of amounts as the clients that it counts as, if there is nothing else."""
    sums = entry.sums
    return in_clients(entry, sums.lent / sums.lent_squares) if sums.lent_squares > 0.0 else NO_ENTRY


def _nats(policy: Policy, view: View, entry: Entry, rounds: float, target: float) -> float:
    """The evidence of what is left in a window."""
    if view.by_money:
        entry = by_itself(entry)
    rule, sums, kept = policy.rule.under(view.law), entry.sums, entry.values or EMPTY
    spread = weighted_deviations(sums.clients, sums.total, sums.total_lost, sums.squares, sums.squares_lost)
    low, high = view.statistic_range
    inside = min(max(sums.total + sums.total_lost, sums.clients * low), sums.clients * high) if sums.clients else 0.0
    total = inside + view.prior_total
    seen = Seen(sums.clients + view.prior_clients, total, spread, kept.values, kept.counts, rounds)
    return evidence(rule, view.law, seen, target)
