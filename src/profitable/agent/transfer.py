"""A change of policy: what was seen under the old one, as the new one sees it.

A ledger keeps sums, and two policies may add up different things: rewards or cut
rewards, squares, every distinct value.  Where the old sums do not say what the new
policy needs, the change is refused.

Example: 40 Bernoulli clients with 5 successes say everything that any policy can ask
for.  Forty continuous rewards with total 93 do not say how they are spread, which UCB-V
needs.
"""

import math

import numpy as np

from profitable.agent.ledger import Ledger
from profitable.agent.observation import Booking, DistinctRewards
from profitable.common.types import FloatArray
from profitable.errors import SumNotEnoughError
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.batch import Sums
from profitable.kernels.exact import exact_product
from profitable.kernels.statistic import Cut, Identity
from profitable.policy.policies import Policy

BATCH_ROWS = [
    AgentRow.CLIENTS,
    AgentRow.TOTAL,
    AgentRow.CARRY,
    AgentRow.SQUARES,
    AgentRow.SQUARES_CARRY,
]
BACK_ROWS = [
    AgentRow.CLIENTS,
    AgentRow.BACK,
    AgentRow.BACK_CARRY,
    AgentRow.SQUARES,
    AgentRow.SQUARES_CARRY,
]
LENT_ROWS = [AgentRow.LENT, AgentRow.LENT_CARRY, AgentRow.LENT_SQUARES, AgentRow.LENT_SQUARES_CARRY]
LENT_SUMS = ("lent", "lent_lost", "lent_squares", "lent_squares_lost")
SQUARES = [AgentRow.SQUARES, AgentRow.SQUARES_CARRY]
KEPT = [  # whatever the policy
    AgentRow.THRESHOLD,
    AgentRow.WORTH,
    AgentRow.PRICE,
    AgentRow.RECOVERED,
    AgentRow.CLIENTS,
    AgentRow.KNOWN,
    AgentRow.WAITING,
    AgentRow.OUTSTANDING,
    AgentRow.PAUSED,
    AgentRow.ROUNDS,
    AgentRow.EARLIER,
    AgentRow.TOTAL,
    AgentRow.CARRY,
    AgentRow.LATE,
    AgentRow.DEBT,
    AgentRow.REVENUE,
    AgentRow.COST,
    *LENT_ROWS,
    AgentRow.BACK,
    AgentRow.BACK_CARRY,
]


def transfer(old: Ledger, policy: Policy) -> Ledger:
    """Return a ledger for another policy, in which the past keeps its present weight.

    For a policy with a window, it is as if all of it had been reported in the present
    round.  Cohorts go on.
    """
    new = Ledger(old.categories.under(policy))
    if old.loans is not None:
        new.table[KEPT] = old.numbers[KEPT]
        new.start_after(old.round)
        new.loans, new.reading = old.loans, None
        new.renew(np.arange(len(new)))
        return new
    late = old.numbers[AgentRow.LATE] != 0.0
    seen = np.flatnonzero((old.numbers[AgentRow.CLIENTS] != 0.0) | late).tolist()
    for k in seen:
        _check_statistic(old, new, k)
    if late.any() and policy.rule.needs_values:
        raise _not_enough(
            old, policy, int(np.argmax(late)), "it needs the single rewards of clients who are open"
        )
    new.cohorts = old.cohorts.converted(lambda k, known: _converted(old, new, k, known))
    new.table[KEPT] = old.numbers[KEPT]
    kept, needed = old.categories.keep_squares(), new.categories.keep_squares()
    new.table[SQUARES] = np.where(kept & needed, old.numbers[SQUARES], 0.0)
    for k in seen:
        squares = bool(needed[k] and not kept[k])
        if squares or new.values is not None:
            clients, total = old.numbers[[AgentRow.CLIENTS, AgentRow.TOTAL], k].tolist()
            values = _values(
                old, policy, k, clients, total, None if old.values is None else old.values[k]
            )
            if squares:
                if any(
                    place == k and (cohort.promised or 0.0) % 1.0 for place, cohort in old.cohorts
                ):
                    raise _not_enough(
                        old, policy, k, "it needs squares, and open clients count at a fraction"
                    )
                new.table[SQUARES, k] = _squares(values)
                # Zeros and ones are their own squares.
                new.table[AgentRow.SQUARES, k] += old.numbers[AgentRow.DEBT, k]
            if new.values is not None:
                new.values[k] = values
    if policy.rule.needs_rounds:
        new.table[AgentRow.TAKEN] = _taken(old)
    new.renew(np.arange(len(new)))
    new.start_after(old.round)
    if new.window is not None:
        new.window.now = new.round
        if policy.rule.needs_rounds:
            new.window.take(
                {
                    k: float(new.table[AgentRow.TAKEN, k])
                    for k in np.flatnonzero(new.table[AgentRow.TAKEN]).tolist()
                }
            )
        for k in seen:
            rows = BACK_ROWS if new.categories.view_of(k).by_money else BATCH_ROWS
            lent = dict(zip(LENT_SUMS, new.table[LENT_ROWS, k].tolist(), strict=True))
            sums = Sums(*new.table[rows, k].tolist(), **lent)
            sums = sums._replace(total=sums.total + new.table[AgentRow.DEBT, k].item())
            new.window.add(
                new.round, k, Booking(sums, None if new.values is None else new.values[k])
            )
    return new


def _taken(old: Ledger) -> FloatArray:
    """Return the accepted rounds that count, or their share by clients."""
    table = old.numbers
    if old.categories.policy.rule.needs_rounds:
        return table[AgentRow.TAKEN]
    return (
        np.divide(
            table[AgentRow.CLIENTS],
            table[AgentRow.KNOWN],
            out=np.ones(len(old)),
            where=table[AgentRow.KNOWN] > 0.0,
        )
        * table[AgentRow.ROUNDS]
    )


def _converted(old: Ledger, new: Ledger, k: int, known: Booking) -> Booking:
    """Return the outcomes of a cohort, as the new policy sees them."""
    sums, policy = known.sums, new.categories.policy
    if not sums.clients:
        return known
    _check_statistic(old, new, k, sums.total)
    rule, kept = policy.rule, old.categories.policy.rule
    if not rule.needs_values and (kept.needs_spread or not rule.needs_spread):
        return known._replace(values=None)
    values = _values(
        old, policy, k, sums.clients, sums.total, known.values if kept.needs_values else None
    )
    squares, lost = _squares(values)
    return Booking(
        sums._replace(squares=squares, squares_lost=lost), values if rule.needs_values else None
    )


def _check_statistic(old: Ledger, new: Ledger, k: int, total: float | None = None) -> None:
    """Raise SumNotEnoughError unless both policies add up the same numbers.

    The total is this one, or the category's.
    """
    ours, theirs = old.categories.view_of(k), new.categories.view_of(k)
    if ours.statistic == theirs.statistic:
        return
    cut = theirs.statistic if isinstance(theirs.statistic, Cut) else ours.statistic
    total = float(old.numbers[AgentRow.TOTAL, k]) if total is None else total
    if (
        isinstance(cut, Cut)
        and isinstance(ours.statistic, Identity)
        and isinstance(theirs.statistic, Identity)
    ):
        # No reward is larger than the sum of rewards that are not negative.
        whole = total <= cut.high if cut is theirs.statistic else total < cut.high
        if ours.support.low >= cut.low >= 0.0 and whole and not old.numbers[AgentRow.LATE, k]:
            return
    raise _not_enough(
        old,
        new.categories.policy,
        k,
        "one of the two cuts rewards at the bound, and only sums were kept",
    )


def _values(
    old: Ledger, policy: Policy, k: int, clients: float, total: float, kept: DistinctRewards | None
) -> DistinctRewards:
    """Return the distinct rewards of clients, if kept or implied by their sums."""
    if kept is not None:
        return kept
    if not old.categories.view_of(k).support.is_zero_or_one:
        raise _not_enough(old, policy, k, "it needs the single rewards, and only sums were kept")
    return DistinctRewards.zeros_and_ones(clients, total)


def _squares(kept: DistinctRewards) -> tuple[float, float]:
    """Return the sum of the squares and its rounding error.

    Near a spread of 0 the plain sum has no digits left.
    """
    parts: list[float] = []
    for value, count in zip(kept.values.tolist(), kept.counts.tolist(), strict=True):
        square, lost = exact_product(value, value)
        parts += [*exact_product(count, square), count * lost]
    total = math.fsum(parts)
    return total, math.fsum([*parts, -total])


def _not_enough(old: Ledger, policy: Policy, k: int, why: str) -> SumNotEnoughError:
    return SumNotEnoughError(
        "policy",
        str(policy),
        f"cannot take over from {old.categories.policy}: {why}",
        "start a new agent and observe the rewards again",
        old.categories.names[k],
    )
