"""Corrections: outcomes are taken back, if they were reported, and replaced."""

import math
from dataclasses import replace

import numpy as np

from profitable.agent.cohorts import Cohort
from profitable.agent.ledger import Ledger
from profitable.agent.observation import NO_ENTRY, Batch, Booking, DistinctRewards
from profitable.common import check
from profitable.common.types import FloatArray
from profitable.errors import CorrectionError, ParameterError
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.batch import Sums
from profitable.model.category import Category
from profitable.model.view import View

ROUNDING = 1e-9  # sums that differ by this share of what was added up differ by rounding only
DUST = 1e-15  # the share of an earlier sum below which the rest is rounding


def correct(
    ledger: Ledger,
    k: int,
    was: Batch,
    now: Batch | None,
    counted_in: int | None,
    weight: float | None = None,
) -> None:
    """Take a batch back and, if `now` is given, book that one in its place.

    The new one counts as if it had been counted in the same round.  `weight` is the
    weight of the batch by now; the policy determines it, unless there was another one
    in between.
    """
    category, view, before = ledger.categories[k], ledger.categories.view_of(k), ledger.column(k)
    now = check_amounts(category, before, was, now)
    old = ledger.read(k, was)
    cohort = ledger.cohorts.find(k, was.accepted_in, ledger.round, category.name)
    new = None if now is None else ledger.read(k, now)
    kept = cohort is not None and not cohort.by_age and not cohort.has_matured(ledger.round)
    if kept or weight is None:
        weight = 0.0 if kept else _weight(ledger, k, old, counted_in, was)
    if cohort is not None:
        check_in_cohort(category, view, cohort, was, old, new)
    elif weight > 0.0 and not before[AgentRow.LATE]:
        check_seen(
            category,
            view,
            before,
            old.at_weight(weight),
            None if ledger.values is None else ledger.values[k],
            was,
        )
    elif before[AgentRow.KNOWN] < old.sums.clients:
        raise never_seen(category, was)
    if was.costs is None:
        old = at_average(category, before, old)
    if new is not None and now is not None and now.costs is None:
        new = at_average(category, before, new)
    check_booked(category, before, old.sums, was)
    if (
        new is not None
        and before[AgentRow.KNOWN] - old.sums.clients + new.sums.clients > check.MOST
    ):
        raise ledger.too_many(k, new.sums.clients)
    _replace(ledger, k, old, -1.0, -weight, cohort)
    settle(ledger.writable_column(k), category, view, before)
    if new is None:
        ledger.renew(np.array([k]))
    else:
        _replace(ledger, k, new, 1.0, weight, cohort)
    if ledger.window is not None and weight > 0.0:
        round = ledger.round if counted_in is None else counted_in
        ledger.window.add(round, k, ledger.counted(k, old, cohort).at_weight(weight), -1.0)
        if new is not None:
            ledger.window.add(round, k, ledger.counted(k, new, cohort).at_weight(weight))
    if cohort is not None:
        changed = cohort.with_outcomes(old, -1.0)
        changed = changed if new is None else changed.with_outcomes(new)
        ledger.cohorts.put(k, changed, ledger.round)
        ledger.writable_column(k)[[AgentRow.WAITING, AgentRow.OUTSTANDING]] += (
            changed.unknown - cohort.unknown
        )
    column = ledger.writable_column(k)
    column[AgentRow.EARLIER] = min(
        column[AgentRow.EARLIER], column[AgentRow.KNOWN] + column[AgentRow.WAITING]
    )


def _replace(
    ledger: Ledger, k: int, entry: Booking, books: float, counts: float, cohort: Cohort | None
) -> None:
    """Book outcomes and let them count, in a correction."""
    if cohort is None:
        ledger.add_sums(k, entry, books, counts)
    else:
        ledger.add_sums(k, entry, books, 0.0)
        ledger.add_sums(k, ledger.counted(k, entry, cohort), 0.0, counts)


def _weight(ledger: Ledger, k: int, old: Booking, counted_in: int | None, was: Batch) -> float:
    """Return the weight by now of outcomes that were counted in a round.

    Without forgetting it is 1 in any round.
    """
    policy, name = ledger.categories.policy, ledger.categories.names[k]
    if counted_in is not None:
        counted_in = check.whole("counted_in", counted_in, least=0, most=ledger.round)
    if not policy.forgets:
        return 1.0
    if counted_in is None:
        raise ParameterError(
            "counted_in",
            None,
            f"is missing, and {policy} counts outcomes for less the older they are",
            "give the number of rounds that were decided when they were reported "
            "(agent.round at that time)",
            name,
        )
    if ledger.window is None:
        return policy.forget ** (ledger.round - counted_in)
    if ledger.round - counted_in >= ledger.window.length:
        return 0.0
    counted = ledger.window.at(counted_in).get(k, NO_ENTRY)
    # Of late outcomes, one and its client may have been counted in two rounds.
    if not ledger.numbers[AgentRow.LATE, k] and counted.sums.clients < old.sums.clients:
        raise CorrectionError(
            "was",
            was.rewards,
            f"cannot have been among the outcomes counted in round {counted_in}",
            "give rewards that were reported then",
            name,
        )
    return 1.0


def at_average(category: Category, numbers: list[float], entry: Booking) -> Booking:
    """Return the entry at the average terms of the clients; a loan's rate may change.

    Of each loan the recovered share comes back in any case.  The rest of the revenue
    comes from repaid loans.
    """
    if category.weight is not None:
        return entry  # without amounts they are 1, and nothing is left to average
    sums = entry.sums._replace(
        cost=entry.sums.clients * numbers[AgentRow.COST] / numbers[AgentRow.KNOWN]
    )
    partly = numbers[AgentRow.CLIENTS] != numbers[AgentRow.KNOWN] or numbers[AgentRow.LATE] != 0.0
    # Of outcomes that do not all count, nobody knows how many were repaid.
    if category.amount is not None and numbers[AgentRow.TOTAL] and not partly:
        share = category.recovery
        from_repaid = numbers[AgentRow.REVENUE] - share * numbers[AgentRow.COST]
        sums = sums._replace(
            revenue=sums.total * from_repaid / numbers[AgentRow.TOTAL] + share * sums.cost
        )
    return entry._replace(sums=sums)


def check_amounts(
    category: Category, numbers: list[float], was: Batch, now: Batch | None
) -> Batch | None:
    """Return the booking in place of `was`; ParameterError if amounts are missing."""
    if was.amounts is None:
        if category.weight is None or numbers[AgentRow.COST] == (
            numbers[AgentRow.KNOWN] * category.price
        ):
            return now
        raise ParameterError(
            "was_amounts",
            None,
            "is missing, and its clients were lent other amounts than 1",
            "give the amounts of these, too",
            category.name,
        )
    if now is None or now.amounts is not None:
        return now
    if np.size(now.rewards) != np.size(was.amounts):  # type: ignore[arg-type]
        raise ParameterError(
            "now_amounts",
            None,
            "is missing, and other clients than before are given",
            "give the amounts of these, too",
            category.name,
        )
    return replace(now, amounts=was.amounts)


def check_seen(
    category: Category,
    view: View,
    numbers: list[float],
    old: Booking,
    kept: DistinctRewards | None,
    was: Batch,
) -> None:
    """Raise CorrectionError for outcomes that the sums show were never observed."""
    if view.by_money:
        lent = numbers[AgentRow.LENT]
        share = numbers[AgentRow.CLIENTS] / lent if lent > 0.0 else 1.0
        old, kept = old.in_clients(share), None if kept is None else kept.aged(share)
    taken = old.sums
    clients = numbers[AgentRow.CLIENTS] - taken.clients
    total = numbers[AgentRow.TOTAL] - (taken.total + taken.total_lost)
    if kept is not None and old.values is not None:
        possible = bool((kept.plus(old.values, -1.0).counts > 0.0).all())
    elif clients <= ROUNDING * taken.clients:
        possible = abs(clients) <= ROUNDING * taken.clients and abs(total) <= ROUNDING * math.sqrt(
            taken.clients * taken.squares
        )
    else:
        possible = view.can_sum_to(
            clients, total, scale=abs(numbers[AgentRow.TOTAL]) + abs(taken.total)
        )
    if not possible:
        raise never_seen(category, was)


def check_in_cohort(
    category: Category, view: View, cohort: Cohort, was: Batch, old: Booking, new: Booking | None
) -> None:
    """Raise CorrectionError for outcomes that the cohort cannot have reported."""
    known, numbers = cohort.known.sums, [0.0] * len(AgentRow)
    share = known.clients / known.lent if view.by_money and known.lent > 0.0 else 1.0
    numbers[AgentRow.LENT] = known.lent
    numbers[AgentRow.CLIENTS] = known.clients
    numbers[AgentRow.TOTAL] = (known.total + known.total_lost) * share
    check_seen(category, view, numbers, old, cohort.known.values, was)
    if old.sums.clients > known.clients:
        raise never_seen(category, was)
    if new is not None and new.sums.clients > cohort.unknown + old.sums.clients:
        raise CorrectionError(
            "now",
            int(new.sums.clients),
            f"are more outcomes than the clients of round {cohort.accepted_in}",
            "give as many as were wrong",
            category.name,
        )


def never_seen(category: Category, was: Batch) -> CorrectionError:
    """Return the error for outcomes that cannot have been observed."""
    return CorrectionError(
        "was",
        was.rewards,
        "cannot have been among the outcomes observed",
        "give rewards that were reported",
        category.name,
    )


def check_booked(category: Category, numbers: list[float], taken: Sums, was: Batch) -> None:
    """Raise CorrectionError for more money than was booked.

    If nobody is left, it must be the sum that was booked.  Where single amounts may be
    negative, each may be larger than their sum, so nothing can be said.
    """
    for row, money, is_signed in (
        (AgentRow.COST, taken.cost, category.price < 0.0),
        (AgentRow.REVENUE, taken.revenue, category.family.support.low < 0.0),
    ):
        booked = numbers[row]
        slack = ROUNDING * (abs(booked) + abs(money))
        too_much = money > booked + slack and min(money, booked) >= 0.0
        left_over = numbers[AgentRow.KNOWN] == taken.clients and abs(money - booked) > slack
        if not is_signed and (too_much or left_over):
            raise CorrectionError(
                "was" if was.costs is None else "was_costs",
                was.rewards if was.costs is None else was.costs,
                f"take back {money:g}, where {booked:g} was booked as {row.name.lower()}",
                "give what was reported",
                category.name,
            )


def settle(column: FloatArray, category: Category, view: View, before: list[float]) -> None:
    """Remove rounding after a correction: impossible sums, money next to nothing."""
    if column[AgentRow.KNOWN] <= 0.0:
        column[AgentRow.REVENUE] = column[AgentRow.COST] = 0.0
        return
    for row in (AgentRow.REVENUE, AgentRow.COST):
        if abs(column[row]) <= DUST * abs(before[row]):
            column[row] = 0.0
    # All of it is forgotten, or kept inside its range anyway.
    if column[AgentRow.CLIENTS] <= 0.0 or column[AgentRow.LATE] != 0.0:
        return
    low, high = (column[AgentRow.CLIENTS] * edge for edge in view.statistic_range)
    if not low <= column[AgentRow.TOTAL] <= high:
        column[AgentRow.TOTAL] = min(max(column[AgentRow.TOTAL], low), high)
        column[AgentRow.CARRY] = 0.0
        if view.by_money:
            column[[AgentRow.BACK, AgentRow.BACK_CARRY]] = (
                column[AgentRow.TOTAL] * (column[AgentRow.LENT] / column[AgentRow.CLIENTS]),
                0.0,
            )
    if column[AgentRow.SQUARES] < 0.0:
        column[AgentRow.SQUARES] = column[AgentRow.SQUARES_CARRY] = 0.0
    plain = before[AgentRow.CLIENTS] == before[AgentRow.KNOWN] and category.weight is None
    # The total has more digits than the money.
    if plain and category.amount is None and view.statistic.is_reward:
        column[AgentRow.REVENUE] = column[AgentRow.TOTAL] * category.worth
