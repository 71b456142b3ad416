"""Category: a group of clients, the law of their rewards, and the cost of a client."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal, Self, get_args

from profitable.common import check
from profitable.errors import ParameterError, ProfitableError, ProfitableWarning, ThresholdError
from profitable.model.families import Bernoulli, Bounded, Family
from profitable.model.prior import Prior

LARGEST_GROWTH = 11.0  # 1 + rate of a loan; beyond this, the rate was probably given in percent
MOST_BACK = 2.0  # money back per unit lent, unless the caller says otherwise
Weight = Literal["money", "client"]
_warns = ContextVar("warns", default=True)


@contextmanager
def said_before() -> Generator[None]:
    """No warnings about the categories made inside: their author has seen them."""
    token = _warns.set(False)
    try:
        yield
    finally:
        _warns.reset(token)


@dataclass(frozen=True, slots=True)
class Category:
    """One of the K categories of the paper: name, family of rewards, known threshold.

    `Category.offer`, `Category.loan` and `Category.returns` compute the threshold from
    money.

    Parameters
    ----------
    name : str
        Name of the category; not empty, and unique within an agent.
    family : Family
        Law of the rewards.
    threshold : float
        Cost of accepting one client, in the units of the rewards.  If a client costs 1
        and a sale, a reward of 1, brings 10, it is 0.1.
    bound : float, optional
        Policies for bounded rewards cut rewards at it, and at -bound where rewards can
        be negative.  They need it unless the family itself is bounded.  Other policies
        ignore it.
    worth : float
        Money that a reward of 1 is worth.  It affects the profit shown, not the
        decisions.
    prior : Prior, optional
        For Bayes-UCB-4P, TS-4P and Optimal; Jeffreys' unless given.
    amount : float, optional
        Money that one loan costs, whatever its rate; set by `Category.loan`.
    recovery : float
        Share of the amount that comes back in a default; set by `Category.loan`.
    weight : str, optional
        Whether the mean that decides is that of "money" or of each "client", where
        rewards are money back per unit lent and `observe` takes `amounts`; set by
        `Category.returns`.
    order : str, optional
        Name of an order that the category is a band of, as "score".  Bands of one order
        are given from the lowest mean to the highest, and share evidence.

    Examples
    --------
    >>> Category("shops", Bernoulli(), threshold=0.2).price
    0.2
    """

    name: str
    family: Family
    threshold: float = field(kw_only=True)
    bound: float | None = field(default=None, kw_only=True)
    worth: float = field(default=1.0, kw_only=True)
    prior: Prior | None = field(default=None, kw_only=True)
    amount: float | None = field(default=None, kw_only=True)
    recovery: float = field(default=0.0, kw_only=True)
    weight: Weight | None = field(default=None, kw_only=True)
    order: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not is_text(self.name):
            raise ParameterError(
                "name", self.name, "is not a name", "give the category a text that is not empty"
            )
        try:
            self._check()
        except ProfitableError as error:
            raise error.about(self.name) from None
        support = self.family.view().support
        if self.threshold in (support.low, support.high) and _warns.get():
            means = (
                "always profitable: no mean is below it"
                if self.threshold == support.low
                else "never profitable: no mean is above it"
            )
            warnings.warn(
                f"threshold of {self.name!r} = {self.threshold:g} means that {self.family} "
                f"rewards are {means}; the threshold is what a client costs in units of the "
                "rewards, see Category.offer",
                ProfitableWarning,
                stacklevel=3,
            )

    def _check(self) -> None:
        if not isinstance(self.family, Family):
            raise ParameterError(
                "family", self.family, "is not a family", "give for example profitable.Bernoulli()"
            )
        threshold = self.family.check_mean("threshold", self.threshold)
        object.__setattr__(self, "threshold", threshold)
        if not self.family.view().holds_mean(threshold):
            raise ThresholdError(
                "threshold",
                self.threshold,
                f"is beyond what the statistic of {self.family} can hold",
                "give rewards in another unit",
            )
        if type(self.worth) is not float or self.worth != 1.0:
            object.__setattr__(self, "worth", check.positive("worth", self.worth))
        if self.bound is not None:
            object.__setattr__(self, "bound", check.finite("bound", self.bound))
            self._check_bound(self.bound)
        if self.amount is not None:
            object.__setattr__(self, "amount", check.positive("amount", self.amount))
            if not isinstance(self.family, Bernoulli):
                raise ParameterError(
                    "amount",
                    self.amount,
                    f"makes {self.family} rewards a loan",
                    "use Category.loan, or worth=",
                )
        if type(self.recovery) is not float or self.recovery != 0.0:
            object.__setattr__(self, "recovery", _recovery(self.recovery))
            if self.recovery > 0.0 and self.amount is None:
                raise ParameterError(
                    "recovery",
                    self.recovery,
                    "belongs to a loan, and this is none",
                    "use Category.loan",
                )
        if self.weight is not None:
            self._check_weight()
        if self.order is not None and not is_order(self.order):
            raise ParameterError(
                "order",
                self.order,
                "is not the name of an order",
                'give each band of it the same text, as "score"',
            )
        if self.prior is not None:
            if not isinstance(self.prior, Prior):
                raise ParameterError(
                    "prior",
                    self.prior,
                    "is not a prior",
                    "give for example Prior.like(clients=200, mean=0.91)",
                )
            self.prior.imaginary_clients(self.family)

    def _check_weight(self) -> None:
        if self.weight not in get_args(Weight):
            raise ParameterError(
                "weight", self.weight, "is not a weight", 'give "money" or "client"'
            )
        view = self.family.view()
        if view.support.whole or not view.statistic.is_reward:
            raise ParameterError(
                "family",
                str(self.family),
                "is not for money back per unit lent",
                "choose Bounded(low=, high=), or another family of amounts that are added "
                "up as they are",
            )

    def _check_bound(self, bound: float) -> None:
        natural = self.family.bounds
        if natural is not None and bound != natural[1]:
            raise ParameterError(
                "bound",
                bound,
                f"is not the bound of {self.family}",
                f"leave it out, or give {natural[1]:g}",
            )
        if bound <= 0.0 and natural is None:
            raise ParameterError(
                "bound", bound, "is not positive", "give the largest reward that should count"
            )
        if abs(self.threshold) > bound and natural is None:
            raise ParameterError(
                "bound",
                bound,
                f"does not reach the threshold {self.threshold:g}",
                "give a bound beyond the threshold",
            )

    @classmethod
    def offer(
        cls,
        name: str,
        *,
        cost: float,
        revenue: float,
        prior: Prior | None = None,
        order: str | None = None,
    ) -> Self:
        """Return an offer with a cost, and a revenue if taken: a call, a mailing.

        The reward is 1 if the client takes the offer and 0 if not.  The threshold is
        cost / revenue.

        Parameters
        ----------
        name : str
            Name of the category.
        cost : float
            Cost of making the offer to one client.
        revenue : float
            Revenue from a client who takes the offer, above the cost.
        prior : Prior, optional
            Prior of the share of clients who take it.
        order : str, optional
            Name of an order that the category is a band of.

        Returns
        -------
        Category
            A Bernoulli category.

        Examples
        --------
        >>> calls = Category.offer("students", cost=1, revenue=10)
        >>> calls.threshold, calls.worth, calls.price
        (0.1, 10.0, 1.0)
        """
        try:
            cost, revenue = check.positive("cost", cost), check.positive("revenue", revenue)
            if revenue <= cost:
                raise ParameterError(
                    "revenue",
                    revenue,
                    f"is not above the cost {cost:g}, so that the offer can never pay",
                    "give what a client who takes the offer brings",
                )
        except ProfitableError as error:
            raise error.about(name) from None
        return cls(
            name, Bernoulli(), threshold=cost / revenue, worth=revenue, prior=prior, order=order
        )

    @classmethod
    def loan(
        cls,
        name: str,
        *,
        amount: float,
        rate: float,
        recovery: float = 0.0,
        prior: Prior | None = None,
        order: str | None = None,
    ) -> Self:
        """Return a loan that pays back (1 + rate) * amount or defaults (section 1.3).

        The reward is 1 if the loan is repaid and 0 if not.  The threshold is
        (1 - recovery) / (1 + rate - recovery), and without recovery 1 / (1 + rate),
        eq. (1).

        Parameters
        ----------
        name : str
            Name of the category.
        amount : float
            Money lent to each client.
        rate : float
            Interest as a fraction: 0.12 is 12 %.
        recovery : float
            Share of the amount that a default returns, from 0 to below 1.
        prior : Prior, optional
            Prior of the share of loans that are repaid.
        order : str, optional
            Name of an order that the category is a band of.

        Returns
        -------
        Category
            A Bernoulli category.

        Examples
        --------
        >>> cars = Category.loan("cars", amount=1_000, rate=0.12)
        >>> round(cars.threshold, 4), round(cars.worth), cars.price
        (0.8929, 1120, 1000.0)
        >>> cars = Category.loan("cars", amount=1_000, rate=0.12, recovery=0.4)
        >>> round(cars.threshold, 4)
        0.8333
        """
        try:
            amount = check.positive("amount", amount)
            growth = 1.0 + check.not_negative("rate", rate, "give a fraction: 0.12 for 12 %")
            if growth > LARGEST_GROWTH:
                raise ParameterError(
                    "rate", rate, "looks like percent", "give a fraction: 0.12 for 12 %"
                )
            share = _recovery(recovery)
        except ProfitableError as error:
            raise error.about(name) from None
        return cls(
            name,
            Bernoulli(),
            threshold=(1.0 - share) / (growth - share),
            worth=amount * (growth - share),
            prior=prior,
            amount=amount,
            recovery=share,
            order=order,
        )

    @classmethod
    def returns(
        cls,
        name: str,
        *,
        required: float = 0.0,
        high: float | None = None,
        family: Family | None = None,
        weight: Weight = "money",
        prior: Prior | None = None,
        order: str | None = None,
    ) -> Self:
        """Return a category whose reward is the money back per unit lent.

        A reward of 1.08 means that 1.08 came back for each 1 lent, whatever the amount.
        The profit is sum(amount * (reward - 1)): the required return is not a cost.

        Parameters
        ----------
        name : str
            Name of the category.
        required : float
            Return required on each unit; 0.05 is 5 %, and the threshold is 1.05.
        high : float, optional
            The most that can come back per unit, 2 unless given.
        family : Family, optional
            `Bounded(low=0, high=high)` unless given; for another one, `high` is the
            category's bound.
        weight : str
            With "money", the mean that decides is sum(amount * reward) / sum(amount).
            With "client", every client counts the same, and the amounts affect the
            profit only.
        prior : Prior, optional
            Prior of the mean.
        order : str, optional
            Name of an order that the category is a band of.

        Returns
        -------
        Category
            A category whose outcomes take `amounts`.

        Examples
        --------
        >>> cards = Category.returns("credit cards", required=0.05, high=2.0)
        >>> cards.threshold, str(cards.family), cards.price
        (1.05, 'Bounded(low=0, high=2)', 1.0)
        """
        try:
            earned = check.finite("required", required, "give a fraction: 0.05 for 5 %")
            if earned < -1.0:
                raise ParameterError(
                    "required", required, "is a loss of more than everything", "give -1 or more"
                )
            most = MOST_BACK if high is None and family is None else high
            if most is not None and 1.0 + earned > (most := check.positive("high", most)):
                raise ParameterError(
                    "required",
                    required,
                    f"is beyond what {most:g} back per unit can earn, so that it can never pay",
                    "give a fraction, 0.05 for 5 %, or a larger high",
                )
        except ProfitableError as error:
            raise error.about(name) from None
        if family is None:
            family, most = Bounded(low=0.0, high=most or MOST_BACK), None
        return cls(
            name,
            family,
            threshold=1.0 + earned,
            bound=most,
            prior=prior,
            weight=weight,
            order=order,
        )

    @property
    def price(self) -> float:
        """Cost of accepting one client, in money."""
        if self.amount is not None:
            return self.amount
        return self.threshold * self.worth if self.weight is None else self.worth

    @property
    def recovered(self) -> float:
        """Money from a client with a reward of 0: the rest of a loan in default."""
        return 0.0 if self.amount is None else self.recovery * self.amount

    @property
    def by_money(self) -> bool:
        """Whether the mean that decides weighs each client by its amount."""
        return self.weight == "money"

    def with_threshold(self, threshold: float) -> Self:
        """Return the same category with another threshold.

        A loan keeps its amount and recovery, and changes its rate.

        Parameters
        ----------
        threshold : float
            The new threshold.

        Returns
        -------
        Category
            A new category; this one does not change.
        """
        if self.amount is None:
            return replace(self, threshold=threshold)
        plain = self.family.check_mean("threshold", threshold)
        if plain == 0.0:
            raise ParameterError(
                "threshold",
                threshold,
                "is not possible for a loan",
                "give (1 - recovery) / (1 + rate - recovery)"
                if self.recovery
                else "give 1 / (1 + rate)",
                self.name,
            )
        return replace(self, threshold=plain, worth=self.amount * (1.0 - self.recovery) / plain)

    def bounds(self) -> tuple[float, float] | None:
        """Return the interval that policies for bounded rewards see, if any."""
        if self.family.bounds is not None:
            return self.family.bounds
        if self.bound is None:
            return None
        return (0.0 if self.family.support.low >= 0.0 else -self.bound), self.bound


def _recovery(value: object) -> float:
    """Return the share of a loan that a default returns, as a float."""
    return check.within(
        "recovery",
        value,
        0.0,
        check.BELOW_1,
        "is not the share of a loan that a default returns",
        "give a number from 0 to below 1: 0.4 for 40 %",
    )


def is_order(name: object) -> bool:
    """Whether this can be the name of an order."""
    return isinstance(name, str) and bool(name.strip()) and is_text(name)


def is_text(name: str) -> bool:
    """Whether a name can be written to a file (half a surrogate pair cannot)."""
    return name.encode(errors="replace").decode() == name
