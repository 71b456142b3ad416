"""Batch: outcomes as the caller reports them.

Booking: the same, checked and added up for the agent's table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
from profitable.kernels.agent_table import FORGOTTEN, AgentRow
from profitable.kernels.batch import Sums, digest_row, money
from profitable.kernels.coded_view import Support
from profitable.kernels.evidence import Observed, Rule
from profitable.kernels.exact import exact_product, exact_sum
from profitable.kernels.statistic import Cut
from profitable.model.category import Category
from profitable.model.view import View

Rewards = float | Decimal | Sequence[float] | Sequence[Decimal] | npt.NDArray[Any]
PLAIN = {int, float}
NO_AMOUNTS: FloatArray = np.empty(0)
FLOAT64 = np.dtype(np.float64)
# Squares that exceed total^2/count by this share do so by rounding: the rewards were
# equal.
ROUNDED = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Outcomes of clients of one category: single rewards, or count and total.

    Parameters
    ----------
    rewards : float or sequence of float, optional
        Reward of each client, [n].
    count, total : int, float, optional
        Number of clients and sum of their rewards, in place of the rewards.
    squares : float, optional
        Sum of the squared rewards, which belongs to count and total where a policy
        looks at the spread: with `Normal` rewards, and with UCB-V-4P.
    costs : float or sequence of float, optional
        Actual cost of accepting these clients: one for each client or, except for
        loans, one number that is their total.  Each client costs the category's price
        unless given.
    amounts : float or sequence of float, optional
        Money lent to each client, [n], for categories of `Category.returns`; 1 unless
        given.
    accepted_in : int, optional
        Round of the cohort they belong to, if `Agent.expect` opened one with `matures`;
        for loans, the round that accepted them.
    defaulted, closed : int, optional
        Number of loans that defaulted or closed, for an agent that lends.
    term : int, optional
        Term of these loans; needed if several terms were accepted in that round.

    Examples
    --------
    >>> import profitable as pb
    >>> shops = pb.Category("shops", pb.Poisson(), threshold=2.0)
    >>> agent = pb.Agent([shops], policy="kl-ucb")
    >>> agent.observe({"shops": pb.Batch(count=4, total=10.0)})
    >>> agent["shops"].mean
    2.5
    """

    rewards: Rewards | None = None
    count: int | None = None
    total: float | None = None
    squares: float | None = None
    costs: Rewards | None = None
    amounts: Rewards | None = None
    accepted_in: int | None = None
    defaulted: int | None = None
    closed: int | None = None
    term: int | None = None

    @property
    def ends_loans(self) -> bool:
        """Whether it has ends of loans, and nothing else."""
        values = self.rewards, self.count, self.total, self.squares, self.costs, self.amounts
        ended = self.defaulted is not None or self.closed is not None
        return ended and all(value is None for value in values)


class DistinctRewards(NamedTuple):
    """Distinct values [D], increasing, and their counts [D].

    Never changed, only replaced.
    """

    values: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rewards: FloatArray, weights: FloatArray | None = None) -> "DistinctRewards":
        """Return the distinct values of rewards, with counts or sums of weights.

        >>> DistinctRewards.of(np.array([2.0, 0.0, 2.0]))
        DistinctRewards(values=array([0., 2.]), counts=array([1., 2.]))
        """
        if weights is None:
            values, counts = np.unique(rewards, return_counts=True)
            return cls(values, counts.astype(np.float64))
        values, where = np.unique(rewards, return_inverse=True)
        return cls(values, np.bincount(where, weights=weights).astype(np.float64))

    @classmethod
    def seen(cls, view: View, rewards: FloatArray, amounts: FloatArray) -> "DistinctRewards":
        """Return the distinct statistics of rewards; amounts may be their weights."""
        weights = amounts if view.by_money and amounts.size else None
        return cls.of(view.statistic.of_rewards(rewards), weights)

    @classmethod
    def zeros_and_ones(cls, clients: float, total: float) -> "DistinctRewards":
        """Return the distinct values of rewards that are 0 or 1, from their sum."""
        return cls(np.array([0.0, 1.0]), np.array([clients - total, total])).plus(EMPTY)

    def plus(
        self, other: "DistinctRewards", sign: float = 1.0, by_money: bool = False
    ) -> "DistinctRewards":
        """Add the counts of `other`, or subtract them with sign -1; drop zeros.

        Where counts are amounts of money, an amount is 0 if it is next to nothing
        compared with those that were there.
        """
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        weights = np.concatenate([self.counts, sign * other.counts])
        counts = np.bincount(where, weights=weights).astype(np.float64)
        kept = np.abs(counts) >= (
            FORGOTTEN * np.bincount(where, weights=np.abs(weights)) if by_money else FORGOTTEN
        )
        return DistinctRewards(values[kept], counts[kept])

    def aged(self, weight: float, unit: float = 1.0) -> "DistinctRewards":
        """Return the same values, each counting for `weight` of what it did.

        `unit` is the weight of one client.
        """
        counts = weight * self.counts
        kept = counts >= FORGOTTEN * unit
        return DistinctRewards(self.values[kept], counts[kept])

    @property
    def nbytes(self) -> int:
        """Memory of the two arrays."""
        return self.values.nbytes + self.counts.nbytes


EMPTY = DistinctRewards(np.empty(0), np.empty(0))


def seen_of(
    rule: Rule, view: View, numbers: Sequence[float], kept: DistinctRewards, carry: float = 0.0
) -> Observed:
    """Return the observations of a category, from its column of the agent's table.

    A decision's copy has no carry.
    """
    counts = kept.counts
    if view.by_money and counts.size:
        counts = counts * (numbers[AgentRow.CLIENTS] / counts.sum())
    return Observed(
        numbers[AgentRow.CLIENTS] + view.prior_clients,
        numbers[AgentRow.TOTAL] + view.prior_total,
        numbers[AgentRow.SPREAD] if rule.needs_spread else math.nan,
        kept.values,
        counts,
        numbers[AgentRow.TAKEN],
        carry,
    )


class Booking(NamedTuple):
    """A checked batch: its sums, and its distinct rewards if the rule needs them."""

    sums: Sums
    values: DistinctRewards | None

    def plus(self, other: "Booking", sign: float = 1.0) -> "Booking":
        """Return both bookings as one; with sign -1 the other is taken away."""
        sums = Sums(*(a + sign * b for a, b in zip(self.sums, other.sums, strict=True)))
        # Keep what the sum loses to rounding: the rest must be right when a large part
        # leaves.
        for name in ("total", "squares", "lent", "lent_squares"):
            whole, error = exact_sum(getattr(self.sums, name), sign * getattr(other.sums, name))
            whole, lost = exact_sum(whole, error + getattr(sums, f"{name}_lost"))
            sums = sums._replace(**{name: whole, f"{name}_lost": lost})
        if self.values is None or other.values is None:
            return Booking(sums, None)
        by_money = any(each.sums.lent_squares != each.sums.lent for each in (self, other))
        return Booking(sums, self.values.plus(other.values, sign, by_money))

    def at_weight(self, weight: float) -> "Booking":
        """Return the booking with sums that count for `weight`."""
        if weight == 1.0:
            return self
        return Booking(
            Sums(*(weight * each for each in self.sums)),
            None if self.values is None else self.values.aged(weight),
        )

    def in_clients(self, share: float) -> "Booking":
        """Return a booking of amounts in clients; a unit of money is `share` of one."""
        return self._replace(sums=self.sums._replace(clients=self.sums.lent)).at_weight(share)


NO_ENTRY = Booking(Sums(), EMPTY)


class Bookings(NamedTuple):
    """Many checked batches: their `Sums` [M, 11], and distinct rewards if needed."""

    sums: FloatArray
    values: Sequence[DistinctRewards] | None = None

    def of(self, places: Sequence[int]) -> "Bookings":
        """Return some of them."""
        return Bookings(
            self.sums[list(places)],
            None if self.values is None else [self.values[i] for i in places],
        )


def read(batch: Batch, category: Category, view: View, row: FloatArray, rule: Rule) -> Booking:
    """Check a batch and add it up; raises an error if anything is wrong with it."""
    _check_amounts(batch, category)
    if batch.rewards is None:
        return _read_sum(batch, category, view, rule)
    for field in ("count", "total", "squares"):
        if (given := getattr(batch, field)) is not None:
            raise ParameterError(
                field,
                given,
                "is given together with rewards",
                "give either rewards or count and total",
            )
    rewards = reward_array(batch.rewards, category.name)
    amounts = NO_AMOUNTS
    bad, numbers = digest_row(row, rewards, amounts)
    if bad >= 0:
        raise reward_error(category.name, rewards[bad].item(), view.support)
    if batch.amounts is not None:
        amounts = _amounts(batch.amounts, category.name, rewards.size)
        _, numbers = digest_row(row, rewards, amounts)
    sums = Sums(*numbers)
    if amounts.size:
        revenue, cost = money_of(category, float(rewards @ amounts), float(amounts.sum()))
    else:
        revenue, cost = money_of(category, sums.revenue, sums.clients)
    if batch.costs is not None:
        costs = _costs(batch.costs, category, rewards.size)
        cost = float(costs.sum())
        if category.amount is not None:
            if costs.size != rewards.size:
                raise _unpaired(category, batch.costs)
            revenue, _ = money_of_loans(category, float(rewards @ costs), cost)
    return Booking(
        sums._replace(revenue=revenue, cost=cost),
        DistinctRewards.seen(view, rewards, amounts) if rule.needs_values else None,
    )


def money_of(category: Category, back: float, units: float) -> tuple[float, float]:
    """Revenue and cost at the category's own price (see `kernels.batch.money`)."""
    return money(category.worth, category.price, category.recovered, back, units)


def money_of_loans(category: Category, back: float, lent: float) -> tuple[float, float]:
    """Revenue and cost of loans of their own amounts; `back` sums reward * amount."""
    assert category.amount is not None
    return money(category.worth / category.amount, 1.0, category.recovery, back, lent)


def money_of_client(
    category: Category, reward: float, cost: float | None, amount: float | None
) -> tuple[float, float]:
    """Revenue and cost of one client, as `read` books them."""
    if category.weight is not None:
        lent = 1.0 if amount is None else amount
        return money_of(category, reward * lent, lent)
    if cost is not None and category.amount is not None:
        return money_of_loans(category, reward * cost, cost)
    revenue, price = money_of(category, reward, 1.0)
    return revenue, price if cost is None else cost


def _check_amounts(batch: Batch, category: Category) -> None:
    """ParameterError for amounts or costs that do not belong to the category."""
    if category.weight is None and batch.amounts is not None:
        raise ParameterError(
            "amounts",
            batch.amounts,
            "are given to a category that takes none",
            "use Category.returns for money back per unit lent, or give costs=",
            category.name,
        )
    if category.weight is not None and batch.costs is not None:
        raise ParameterError(
            "costs",
            batch.costs,
            "are given to a category whose costs are its amounts",
            "give amounts=",
            category.name,
        )
    if batch.amounts is not None and batch.rewards is None:
        raise SumNotEnoughError(
            "amounts",
            batch.amounts,
            "cannot be matched with rewards that are only known in total",
            "give the rewards and the amounts one by one",
            category.name,
        )


def _amounts(values: Rewards, name: str, clients: int) -> FloatArray:
    """Return the amounts lent to some clients, [clients]."""
    amounts = reward_array(values, name, "amounts")
    if amounts.size != clients:
        raise ParameterError(
            "amounts",
            values,
            f"do not fit the {clients} clients",
            f"give {clients} amounts, one for each client",
            name,
        )
    bad = np.flatnonzero(~((amounts >= 1.0 / check.LARGEST) & (amounts <= check.LARGEST)))
    if bad.size:
        raise ParameterError(
            "amounts",
            amounts[bad[0]].item(),
            "is not an amount that was lent",
            "give finite amounts above 0",
            name,
        )
    return amounts


def fits_terms(category: Category, cost: float | None, amount: float | None) -> bool:
    """Whether a client of the category can have this cost and this amount."""
    if cost is not None and (category.weight is not None or not 0.0 <= cost <= check.LARGEST):
        return False
    return amount is None or (
        category.weight is not None and 1.0 / check.LARGEST <= amount <= check.LARGEST
    )


def plain_rewards(values: Any, name: str) -> list[float]:
    """Return one reward or several as a list; RewardError if they are not numbers."""
    # The everyday case, made fast.
    if values.__class__ is list and values and {*map(type, values)} <= PLAIN:
        return values
    return reward_array(values, name).tolist()


def reward_array(values: Any, name: str, what: str = "rewards") -> FloatArray:
    """Return one reward or several as doubles, [M]; RewardError if not numbers.

    Databases return decimal numbers, or arrays of Python objects.

    >>> reward_array([Decimal("0.25"), 1], "a")
    array([0.25, 1.  ])
    """
    # The everyday case, made fast.
    if values.__class__ is list and values and {*map(type, values)} <= PLAIN:
        try:
            return np.array(values, FLOAT64)
        except OverflowError:  # an integer beyond all doubles: said below
            pass
    masked = isinstance(values, np.ma.MaskedArray)
    try:
        array: npt.NDArray[Any] = np.asarray(values)
        if array.dtype.kind == "O" and array.ndim <= 1:
            array = np.array([_plain(value) for value in array.reshape(-1)]).reshape(array.shape)
    except (ValueError, TypeError, OverflowError):
        masked, array = True, np.empty(0)
    if masked or array.dtype.kind not in "biuf" or array.ndim > 1:
        raise RewardError(
            what, values, "is not a list of numbers", "give numbers, one per client", name
        )
    if not array.ndim:
        array = array.reshape(1)
    if not len(array):
        raise EmptyObservationError(
            what, values, "is empty", "give at least one client, or do not call", name
        )
    return array.astype(np.float64)


def _plain(value: object) -> float:
    if isinstance(value, Real | Decimal):
        return float(value)
    raise TypeError


def _costs(values: Rewards, category: Category, clients: float) -> FloatArray:
    """Return the costs of some clients, [clients], or their total, [1]."""
    costs = reward_array(values, category.name, "costs")
    # Where accepting pays, a cost may be negative.
    least = -check.LARGEST if category.price < 0.0 else 0.0
    bad = np.flatnonzero(~((costs >= least) & (costs <= check.LARGEST)))
    if bad.size:
        raise ParameterError(
            "costs",
            costs[bad[0]].item(),
            "is not a cost",
            "give finite amounts" if least else "give finite amounts, 0 or more",
            category.name,
        )
    if np.ndim(values) and costs.size != clients:  # type: ignore[arg-type]
        raise ParameterError(
            "costs",
            values,
            f"do not fit the {clients:g} clients",
            f"give {clients:g} costs, or one number, their total",
            category.name,
        )
    return costs


def _unpaired(category: Category, costs: object) -> SumNotEnoughError:
    return SumNotEnoughError(
        "costs",
        costs,
        "cannot be matched with repayments, and what comes back depends on the "
        "amount of that very loan",
        "give the rewards and the costs one by one",
        category.name,
    )


def reward_error(name: str, value: float, support: Support, field: str = "reward") -> RewardError:
    """Return the error that says why the kernels refused a reward."""
    remedy = f"give {support}"
    if math.isnan(value) or math.isinf(value):
        return NotFiniteRewardError(field, value, "is not a finite number", remedy, name)
    if value < 0.0 <= support.low:
        return NegativeRewardError(field, value, "is negative", remedy, name)
    if (
        support.low <= value <= support.high
        and not support.whole
        and not (support.open and value == support.low)
    ):
        return OutsideSupportError(
            field, value, "is too large to be added up", "give it in another unit", name
        )
    return OutsideSupportError(field, value, "cannot happen in this family", remedy, name)


def _read_sum(batch: Batch, category: Category, view: View, rule: Rule) -> Booking:
    name = category.name
    if batch.count is None or batch.total is None:
        raise ParameterError(
            "count" if batch.count is None else "total",
            None,
            "is missing",
            "give rewards, or both count and total",
            name,
        )
    try:
        count = float(check.whole("count", batch.count, least=0))
    except ParameterError as error:
        raise error.about(name) from None
    if count == 0.0:
        raise EmptyObservationError(
            "count", 0, "must be at least 1", "give at least one client, or do not call", name
        )
    plain = check.number(batch.total)
    if plain is None:
        raise RewardError(
            "total", batch.total, "must be a finite sum of rewards", "give a finite number", name
        )
    total = float(plain) if check.fits(plain) else math.nan
    support = view.support
    _refuse_sum(total, batch, category, view, rule)
    low, high = count * support.low, count * support.high
    if not support.whole and math.isfinite(total) and view.can_sum_to(count, total):
        total = min(max(total, low), high)  # a sum of edges may be rounded beyond its own edge
    if not (
        math.isfinite(total)
        and low <= total <= high
        and (not support.whole or total.is_integer())
        and not (support.open and total <= low)
    ):
        limits = "" if support.high == math.inf else f", so the total is {low:g} to {high:g}"
        raise type(reward_error(name, total, support, "total"))(
            "total",
            batch.total,
            f"cannot be the sum of {count:g} rewards",
            f"each is {support}{limits}",
            name,
        )
    revenue, cost = money_of(category, total, count)
    if batch.costs is not None:
        if category.amount is not None:
            raise _unpaired(category, batch.costs)
        cost = float(_costs(batch.costs, category, count).sum())
    squares, lost = _squares(batch, count, total, view, name)
    return Booking(
        Sums(count, total, 0.0, squares, lost, revenue, cost, lent=count, lent_squares=count),
        DistinctRewards.zeros_and_ones(count, total) if rule.needs_values else None,
    )


def _squares(
    batch: Batch, count: float, total: float, view: View, name: str
) -> tuple[float, float]:
    """Return the sum of squared rewards and its rounding error, checked."""
    if batch.squares is None:
        # Of zeros and ones; where others are needed, sums without them were refused
        # before.
        return total, 0.0
    plain = check.number(batch.squares)
    if not check.fits(plain, 0.0) or not view.can_square_to(count, total, float(plain)):
        raise ParameterError(
            "squares",
            batch.squares,
            f"cannot be the sum of {count:g} squared rewards with total {total:g}",
            f"give a number that fits them, at least total^2/count = {total * (total / count):g}",
            name,
        )
    squares = float(plain)
    # The squares of equal rewards, as exactly as the total is known.
    square, error = exact_product(total, total)
    least = square / count
    back, back_error = exact_product(least, count)
    if squares - least <= ROUNDED * squares:
        return least, (((square - back) - back_error) + error) / count
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
        remedy += ", or squares= with count= and total="
    elif cut is not None and not (support.low >= cut.low and total <= cut.high):
        why = f"may hide rewards that this policy cuts into [{cut.low:g}, {cut.high:g}] one by one"
    else:
        return
    raise SumNotEnoughError("total", total, why, remedy, category.name)
