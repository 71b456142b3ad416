"""Batch: outcomes as the caller reports them.  Entry: the same, checked and added up for the agent's table."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from profitable.agent.distinct_rewards import EMPTY, DistinctRewards
from profitable.common import check
from profitable.common.types import FloatArray
from profitable.errors import (
    EmptyObservationError,
    NegativeRewardError,
    NotFiniteRewardError,
    OutsideSupportError,
    ParameterError,
    RewardError,
    SumNotEnoughError,
)
from profitable.kernels.batch import Sums, digest_amounts, digest_row
from profitable.kernels.evidence import Rule
from profitable.kernels.exact import exact_product
from profitable.kernels.statistic import Cut
from profitable.kernels.view import Support
from profitable.model.category import Category
from profitable.model.view import View

Rewards = float | Decimal | Sequence[float] | Sequence[Decimal] | npt.NDArray[Any]
PLAIN = {int, float}
FLOAT64 = np.dtype(np.float64)
ROUNDED = 1e-12  # squares that exceed total^2/count by this share do so by rounding: the rewards were equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Outcomes of some clients of one category: the rewards one by one, or their count and total.

    `squares`, the sum of the squared rewards, belongs to count and total where a policy looks at the spread: with
    `Normal` rewards, and with UCB-V-4P.
    `costs` are what accepting these clients really cost: a list with one cost for each client or, except for loans, one
    number that is their total.  Without them, each client costs the category's price.

    `amounts` are what was lent to each client, for categories of `Category.returns`; without them, it is 1.

    `accepted_in` is the round of the cohort they belong to, if `Agent.expect` opened one with `matures`.
    """

    rewards: Rewards | None = None
    count: int | None = None
    total: float | None = None
    squares: float | None = None
    costs: Rewards | None = None
    amounts: Rewards | None = None
    accepted_in: int | None = None


class Entry(NamedTuple):
    """A checked batch: its sums, and its distinct values if the rule needs them."""

    sums: Sums
    values: DistinctRewards | None


def read(batch: Batch, category: Category, view: View, row: FloatArray, rule: Rule) -> Entry:
    """Check a batch and add it up; raises an error if anything is wrong with it."""
    _check_amounts(batch, category)
    if batch.rewards is None:
        return _read_sum(batch, category, view, rule)
    for field in ("count", "total", "squares"):
        if (given := getattr(batch, field)) is not None:
            remedy = "give either rewards or count and total"
            raise ParameterError(field, given, "is given beside rewards", remedy)
    name = category.name
    rewards = reward_array(batch.rewards, name)
    bad, numbers = digest_row(row, rewards)
    if bad >= 0:
        raise reward_error(name, rewards[bad].item(), view.support)
    sums = Sums(*numbers)
    if batch.amounts is not None:
        return _weighted(rewards, _amounts(batch.amounts, name, rewards.size), sums, category, view, row, rule)
    revenue = sums.revenue * category.worth + rewards.size * category.recovered
    if batch.costs is None:
        cost = rewards.size * category.price
    else:
        costs = _costs(batch.costs, category, rewards.size)
        cost = float(costs.sum())
        if category.amount is not None:
            if costs.size != rewards.size:
                raise _unpaired(category, batch.costs)
            # What comes back is (1 + rate) times the amount of that very loan, or the recovered share of it.
            revenue = float(rewards @ costs) * (category.worth / category.amount) + cost * category.recovery
    values = DistinctRewards.of(view.statistic.of_rewards(rewards)) if rule.needs_values else None
    return Entry(sums._replace(revenue=revenue, cost=cost), values)


def _weighted(
    rewards: FloatArray,
    amounts: FloatArray,
    plain: Sums,
    category: Category,
    view: View,
    row: FloatArray,
    rule: Rule,
) -> Entry:
    """The entry of rewards with amounts; `plain` are the sums in which each client counts the same."""
    sums, weights = plain, None
    if category.by_money:
        sums, weights = Sums(*digest_amounts(row, rewards, amounts)), amounts
    values = DistinctRewards.of(view.statistic.of_rewards(rewards), weights) if rule.needs_values else None
    revenue, cost = float(rewards @ amounts) * category.worth, float(amounts.sum()) * category.price
    return Entry(sums._replace(revenue=revenue, cost=cost), values)


def _check_amounts(batch: Batch, category: Category) -> None:
    """ParameterError for amounts or costs that do not belong to the category."""
    if category.weight is None and batch.amounts is not None:
        remedy = "use Category.returns for money back per unit lent, or give costs="
        raise ParameterError("amounts", batch.amounts, "are given to a category that takes none", remedy, category.name)
    if category.weight is not None and batch.costs is not None:
        problem = "are given to a category whose costs are its amounts"
        raise ParameterError("costs", batch.costs, problem, "give amounts=", category.name)
    if batch.amounts is not None and batch.rewards is None:
        raise SumNotEnoughError(
            "amounts",
            batch.amounts,
            "cannot be matched with rewards that are only known in total",
            "give the rewards and the amounts one by one",
            category.name,
        )


def _amounts(values: Rewards, name: str, clients: int) -> FloatArray:
    """What was lent to each of some clients, [clients]."""
    amounts = reward_array(values, name, "amounts")
    if amounts.size != clients:
        problem, remedy = f"do not fit the {clients} clients", f"give {clients} amounts, one for each client"
        raise ParameterError("amounts", values, problem, remedy, name)
    bad = np.flatnonzero(~((amounts >= 1.0 / check.LARGEST) & (amounts <= check.LARGEST)))
    if bad.size:
        problem = "is not an amount that was lent"
        raise ParameterError("amounts", amounts[bad[0]].item(), problem, "give finite amounts above 0", name)
    return amounts


def plain_rewards(values: Any, name: str) -> list[float]:
    """One reward or several as a list of numbers; RewardError if they are not numbers."""
    if values.__class__ is list and values and {*map(type, values)} <= PLAIN:  # the everyday case, made fast
        return values
    return reward_array(values, name).tolist()


def reward_array(values: Any, name: str, what: str = "rewards") -> FloatArray:
    """One reward or several as an array [M] of doubles; RewardError if they are not numbers.

    Databases return decimal numbers, or arrays of Python objects.

    >>> reward_array([Decimal("0.25"), 1], "a")
    array([0.25, 1.  ])
    """
    if values.__class__ is list and values and {*map(type, values)} <= PLAIN:  # the everyday case, made fast
        with contextlib.suppress(OverflowError):
            return np.array(values, FLOAT64)
    masked = isinstance(values, np.ma.MaskedArray)
    try:
        array: npt.NDArray[Any] = np.asarray(values)
        if array.dtype.kind == "O" and array.ndim <= 1:
            array = np.array([_plain(value) for value in array.reshape(-1)]).reshape(array.shape)
    except (ValueError, TypeError, OverflowError):
        masked, array = True, np.empty(0)
    if masked or array.dtype.kind not in "biuf" or array.ndim > 1:
        problem = "is not a list of numbers"
        raise RewardError(what, values, problem, "give numbers, one per client", name)
    if not array.ndim:
        array = array.reshape(1)
    if not len(array):
        raise EmptyObservationError(what, values, "is empty", "give at least one client, or do not call", name)
    return array.astype(np.float64)


def _plain(value: object) -> float:
    if isinstance(value, Real | Decimal):
        return float(value)
    raise TypeError


def _costs(values: Rewards, category: Category, clients: float) -> FloatArray:
    """The costs of some clients, [clients], or what they cost together, [1]."""
    costs = reward_array(values, category.name, "costs")
    least = -check.LARGEST if category.price < 0.0 else 0.0  # where accepting pays, a cost may be negative
    bad = np.flatnonzero(~((costs >= least) & (costs <= check.LARGEST)))
    if bad.size:
        remedy = "give finite amounts" if least else "give finite amounts, 0 or more"
        raise ParameterError("costs", costs[bad[0]].item(), "is no cost", remedy, category.name)
    if np.ndim(values) and costs.size != clients:  # type: ignore[arg-type]
        remedy = f"give {clients:g} costs, or one number, their total"
        raise ParameterError("costs", values, f"do not fit the {clients:g} clients", remedy, category.name)
    return costs


def _unpaired(category: Category, costs: object) -> SumNotEnoughError:
    return SumNotEnoughError(
        "costs",
        costs,
        "cannot be matched with repayments, and what comes back depends on the amount of that very loan",
        "give the rewards and the costs one by one",
        category.name,
    )


def reward_error(name: str, value: float, support: Support, field: str = "reward") -> RewardError:
    """The error that says what is wrong with a reward that the kernels refused."""
    remedy = f"give {support}"
    if math.isnan(value) or math.isinf(value):
        return NotFiniteRewardError(field, value, "is not a finite number", remedy, name)
    if value < 0.0 <= support.low:
        return NegativeRewardError(field, value, "is negative", remedy, name)
    if support.low <= value <= support.high and not support.whole and not (support.open and value == support.low):
        return OutsideSupportError(field, value, "is too large to be added up", "give it in another unit", name)
    return OutsideSupportError(field, value, "cannot happen in this family", remedy, name)


def _read_sum(batch: Batch, category: Category, view: View, rule: Rule) -> Entry:
    name = category.name
    if batch.count is None or batch.total is None:
        missing = "count" if batch.count is None else "total"
        raise ParameterError(missing, None, "is missing", "give rewards, or both count and total", name)
    try:
        count = float(check.whole("count", batch.count, least=0))
    except ParameterError as error:
        raise error.about(name) from None
    if count == 0.0:
        raise EmptyObservationError("count", 0, "is no client", "give at least one client, or do not call", name)
    plain = check.number(batch.total)
    if plain is None:
        raise RewardError("total", batch.total, "is no sum of rewards", "give a finite number", name)
    total = float(plain) if check.fits(plain) else math.nan
    support = view.support
    _refuse_sum(total, batch, category, view, rule)
    low, high = count * support.low, count * support.high
    if not support.whole and math.isfinite(total) and view.can_sum_to(count, total):
        total = min(max(total, low), high)  # a sum of edges may be rounded beyond its own edge
    whole = not support.whole or total.is_integer()
    if not (math.isfinite(total) and low <= total <= high and whole and not (support.open and total <= low)):
        each = (
            f"each is {support}"
            if support.high == math.inf
            else f"each is {support}, so the total is {low:g} to {high:g}"
        )
        error = reward_error(name, total, support, "total")
        raise type(error)("total", batch.total, f"cannot be the sum of {count:g} rewards", each, name)
    if batch.costs is None:
        cost = count * category.price
    elif category.amount is not None:
        raise _unpaired(category, batch.costs)
    else:
        cost = float(_costs(batch.costs, category, count).sum())
    values = DistinctRewards(np.array([0.0, 1.0]), np.array([count - total, total]))
    squares, lost = _squares(batch, count, total, view, name)
    revenue = total * category.worth + count * category.recovered
    sums = Sums(count, total, 0.0, squares, lost, revenue, cost, lent=count, lent_squares=count)
    return Entry(sums, values.plus(EMPTY) if rule.needs_values else None)


def _squares(batch: Batch, count: float, total: float, view: View, name: str) -> tuple[float, float]:
    """The sum of the squared rewards and what it lost to rounding; ParameterError if no rewards have it."""
    if batch.squares is None:
        return total, 0.0  # of zeros and ones; where others are needed, sums without them were refused before
    plain = check.number(batch.squares)
    if not check.fits(plain, 0.0) or not view.can_square_to(count, total, float(plain)):
        problem = f"cannot be the sum of {count:g} squared rewards with total {total:g}"
        remedy = f"give a number that fits them, at least total^2/count = {total * (total / count):g}"
        raise ParameterError("squares", batch.squares, problem, remedy, name)
    squares = float(plain)
    # The squares of equal rewards, as exactly as the total is known.
    square, error = exact_product(total, total)
    least = square / count
    back, back_error = exact_product(least, count)
    rest = (((square - back) - back_error) + error) / count
    if squares - least <= ROUNDED * squares:
        return least, rest
    return squares, 0.0


def _refuse_sum(total: float, batch: Batch, category: Category, view: View, rule: Rule) -> None:
    """Refuse a total where the policy or the family needs the single rewards."""
    support, remedy = view.support, "give the rewards as a list"
    cut = view.statistic if isinstance(view.statistic, Cut) else None
    if cut is None and not view.statistic.is_reward:
        why = f"is a sum of rewards, and {category.family} adds up another statistic of each"
    elif rule.needs_values and not support.is_zero_or_one:
        why = "is a sum, and this policy looks at how the single rewards are spread"
    elif rule.needs_spread and batch.squares is None and not support.is_zero_or_one:
        why = "is a sum, and does not say how the single rewards are spread"
        remedy += ", or squares= beside count= and total="
    elif cut is not None and not (support.low >= cut.low and total <= cut.high):
        why = f"may hide rewards that this policy cuts into [{cut.low:g}, {cut.high:g}] one by one"
    else:
        return
    raise SumNotEnoughError("total", total, why, remedy, category.name)
