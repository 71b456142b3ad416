"""Corrections: whether outcomes can be taken back, and what the sums are afterwards."""

import math
from dataclasses import replace

import numpy as np

from profitable.agent.cohorts import Cohort
from profitable.agent.distinct_rewards import DistinctRewards
from profitable.agent.observation import Batch, Entry
from profitable.common.types import FloatArray
from profitable.errors import CorrectionError, ParameterError
from profitable.kernels.agent_table import Row
from profitable.kernels.batch import Sums
from profitable.model.category import Category
from profitable.model.view import View

ROUNDING = 1e-9  # sums that differ by this share of what was added up differ by rounding only
DUST = 1e-15  # the share of an earlier sum below which the rest is rounding


def at_average(category: Category, numbers: list[float], entry: Entry) -> Entry:
    """The entry at the average terms of the category's clients; a loan's rate may have changed since.

    Of each loan the recovered share comes back in any case.  The rest of the revenue comes from repaid loans.
    """
    if category.weight is not None:
        return entry  # without amounts they are 1, and nothing is left to average
    sums = entry.sums._replace(cost=entry.sums.clients * numbers[Row.COST] / numbers[Row.KNOWN])
    partly = numbers[Row.CLIENTS] != numbers[Row.KNOWN] or numbers[Row.LATE] != 0.0
    if category.amount is None or not numbers[Row.TOTAL] or partly:
        return entry._replace(sums=sums)  # of outcomes that do not all count, nobody knows how many were repaid
    share = category.recovery
    revenue = sums.total * (numbers[Row.REVENUE] - share * numbers[Row.COST]) / numbers[Row.TOTAL] + share * sums.cost
    return entry._replace(sums=sums._replace(revenue=revenue))


def at_weight(entry: Entry, weight: float) -> Entry:
    """The entry with sums that count for `weight`."""
    if weight == 1.0:
        return entry
    sums = Sums(*(weight * each for each in entry.sums))
    return Entry(sums, None if entry.values is None else entry.values.aged(weight))


def in_clients(entry: Entry, share: float) -> Entry:
    """An entry of amounts as the clients that it counts as, if each unit of money counts as `share` of one."""
    return at_weight(entry._replace(sums=entry.sums._replace(clients=entry.sums.lent)), share)


def check_amounts(category: Category, numbers: list[float], was: Batch, now: Batch | None) -> Batch | None:
    """What is booked in place of `was`, with its amounts; ParameterError where they are needed and missing."""
    if category.weight is None or numbers[Row.COST] == numbers[Row.KNOWN] * category.price:
        needed = was.amounts is not None
    else:
        needed = True
    if needed and was.amounts is None:
        problem, remedy = "is missing, and its clients were lent other amounts than 1", "give the amounts of these, too"
        raise ParameterError("was_amounts", None, problem, remedy, category.name)
    if now is None or not needed or now.amounts is not None:
        return now
    if np.size(now.rewards) != np.size(was.amounts):  # type: ignore[arg-type]
        problem, remedy = "is missing, and other clients than before are given", "give the amounts of these, too"
        raise ParameterError("now_amounts", None, problem, remedy, category.name)
    return replace(now, amounts=was.amounts)


def check_seen(
    category: Category,
    view: View,
    numbers: list[float],
    old: Entry,
    kept: DistinctRewards | None,
    was: Batch,
) -> None:
    """CorrectionError for outcomes that cannot have been observed, as far as the sums show."""
    if view.by_money:
        share = numbers[Row.CLIENTS] / numbers[Row.LENT] if numbers[Row.LENT] > 0.0 else 1.0
        old, kept = in_clients(old, share), None if kept is None else kept.aged(share)
    taken = old.sums
    clients, total = numbers[Row.CLIENTS] - taken.clients, numbers[Row.TOTAL] - (taken.total + taken.total_lost)
    if kept is not None and old.values is not None:
        possible = bool((kept.plus(old.values, -1.0).counts > 0.0).all())
    elif clients <= ROUNDING * taken.clients:
        possible = abs(clients) <= ROUNDING * taken.clients and abs(total) <= ROUNDING * math.sqrt(
            taken.clients * taken.squares
        )
    else:
        possible = view.can_sum_to(clients, total, scale=abs(numbers[Row.TOTAL]) + abs(taken.total))
    if not possible:
        raise never_seen(category, was)


def check_in_cohort(category: Category, view: View, cohort: Cohort, was: Batch, old: Entry, new: Entry | None) -> None:
    """CorrectionError for outcomes that the cohort cannot have reported, or more of them than it has clients."""
    known, numbers = cohort.known, [0.0] * len(Row)
    numbers[Row.LENT] = known.sums.lent
    share = known.sums.clients / known.sums.lent if view.by_money and known.sums.lent > 0.0 else 1.0
    numbers[Row.CLIENTS], numbers[Row.TOTAL] = known.sums.clients, (known.sums.total + known.sums.total_lost) * share
    check_seen(category, view, numbers, old, known.values, was)
    if old.sums.clients > known.sums.clients:
        raise never_seen(category, was)
    if new is not None and new.sums.clients > cohort.unknown + old.sums.clients:
        problem = f"are more outcomes than the clients of round {cohort.accepted_in}"
        raise CorrectionError("now", int(new.sums.clients), problem, "give as many as were wrong", category.name)


def never_seen(category: Category, was: Batch) -> CorrectionError:
    """The error for outcomes that cannot have been observed."""
    problem = "cannot have been among the outcomes observed"
    return CorrectionError("was", was.rewards, problem, "give rewards that were reported", category.name)


def check_booked(category: Category, numbers: list[float], taken: Sums, was: Batch) -> None:
    """CorrectionError for more money than was booked, or for another sum than was booked if nobody is left.

    Where single amounts may be negative, each may be larger than their sum, so nothing can be said.
    """
    kinds = (
        (Row.COST, taken.cost, category.price < 0.0),
        (Row.REVENUE, taken.revenue, category.family.support.low < 0.0),
    )
    for row, money, is_signed in kinds:
        if is_signed:
            continue
        booked = numbers[row]
        slack = ROUNDING * (abs(booked) + abs(money))
        too_much = money > booked + slack and min(money, booked) >= 0.0
        left_over = numbers[Row.KNOWN] == taken.clients and abs(money - booked) > slack
        if too_much or left_over:
            problem = f"take back {money:g}, where {booked:g} was booked as {row.name.lower()}"
            field, value = ("was", was.rewards) if was.costs is None else ("was_costs", was.costs)
            raise CorrectionError(field, value, problem, "give what was reported", category.name)


def settle(column: FloatArray, category: Category, view: View, before: list[float]) -> None:
    """Remove what rounding left when outcomes were taken back: sums that no clients can have, money next to nothing."""
    if column[Row.KNOWN] <= 0.0:
        column[Row.REVENUE] = column[Row.COST] = 0.0
        return
    for row in (Row.REVENUE, Row.COST):
        if abs(column[row]) <= DUST * abs(before[row]):
            column[row] = 0.0
    if column[Row.CLIENTS] <= 0.0 or column[Row.LATE] != 0.0:  # all of it is forgotten, or kept inside its range anyway
        return
    low, high = (column[Row.CLIENTS] * edge for edge in view.statistic_range)
    if not low <= column[Row.TOTAL] <= high:
        column[Row.TOTAL] = min(max(column[Row.TOTAL], low), high)
        column[Row.CARRY] = 0.0
        if view.by_money:
            column[Row.BACK], column[Row.BACK_CARRY] = column[Row.TOTAL] * (column[Row.LENT] / column[Row.CLIENTS]), 0.0
    if column[Row.SQUARES] < 0.0:
        column[Row.SQUARES] = column[Row.SQUARES_CARRY] = 0.0
    plain = before[Row.CLIENTS] == before[Row.KNOWN] and category.weight is None
    if plain and category.amount is None and view.statistic.is_reward:  # the total has more digits than the money
        column[Row.REVENUE] = column[Row.TOTAL] * category.worth
