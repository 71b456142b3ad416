"""Category: a group of clients, the law of their rewards, and what accepting one of them costs."""

from dataclasses import dataclass, field, replace
from typing import Self

from profitable.common import check
from profitable.errors import ParameterError, ProfitableError, ThresholdError
from profitable.model.families import Bernoulli, Family
from profitable.model.prior import Prior

LARGEST_GROWTH = 11.0  # 1 + rate of a loan; beyond this, the rate was probably given in percent


@dataclass(frozen=True, slots=True)
class Category:
    """One of the K categories of the paper: name, family of rewards, known threshold.

    - `threshold`: what accepting one client costs, in the units of the rewards.
    - `bound`: policies for bounded rewards cut rewards at it, and at -bound where rewards can be negative.  They need
      it unless the family itself is bounded.  Other policies ignore it.
    - `worth`: what a reward of 1 is worth in money.  It affects the profit shown, not the decisions.
    - `prior`: for Bayes-UCB-4P and TS-4P; Jeffreys' unless given.
    - `amount`: what one loan costs, whatever its rate.  `Category.loan` sets it.

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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not is_text(self.name):
            raise ParameterError("name", self.name, "is not a name", "give the category a text that is not empty")
        try:
            self._check()
        except ProfitableError as error:
            raise error.about(self.name) from None

    def _check(self) -> None:
        if not isinstance(self.family, Family):
            raise ParameterError("family", self.family, "is not a family", "give for example profitable.Bernoulli()")
        threshold = self.family.check_mean("threshold", self.threshold)
        object.__setattr__(self, "threshold", threshold)
        if not self.family.view().holds_mean(threshold):
            problem, remedy = f"is beyond what the statistic of {self.family} can hold", "give rewards in another unit"
            raise ThresholdError("threshold", self.threshold, problem, remedy)
        if type(self.worth) is not float or self.worth != 1.0:
            object.__setattr__(self, "worth", check.positive("worth", self.worth))
        if self.bound is not None:
            object.__setattr__(self, "bound", check.finite("bound", self.bound))
            self._check_bound(self.bound)
        if self.amount is not None:
            object.__setattr__(self, "amount", check.positive("amount", self.amount))
            if not isinstance(self.family, Bernoulli):
                problem = f"makes {self.family} rewards a loan"
                raise ParameterError("amount", self.amount, problem, "use Category.loan, or worth=")
        if self.prior is not None:
            if not isinstance(self.prior, Prior):
                remedy = "give for example Prior.like(clients=200, mean=0.91)"
                raise ParameterError("prior", self.prior, "is not a prior", remedy)
            self.prior.imaginary_clients(self.family)

    def _check_bound(self, bound: float) -> None:
        natural = self.family.bounds
        if natural is not None and bound != natural[1]:
            raise ParameterError(
                "bound", bound, f"is not the bound of {self.family}", f"leave it out, or give {natural[1]:g}"
            )
        if bound <= 0.0 and natural is None:
            raise ParameterError("bound", bound, "is not positive", "give the largest reward that should count")
        if abs(self.threshold) > bound and natural is None:
            raise ParameterError(
                "bound", bound, f"does not reach the threshold {self.threshold:g}", "give a bound beyond the threshold"
            )

    @classmethod
    def loan(cls, name: str, *, amount: float, rate: float, prior: Prior | None = None) -> Self:
        """A loan of `amount` that comes back as (1 + rate) * amount or not at all (section 1.3); rate 0.12 is 12 %.

        The reward is 1 if the loan is repaid and 0 if not.  The threshold is 1 / (1 + rate), eq. (1), and a reward of 1
        is worth (1 + rate) * amount.

        >>> loan = Category.loan("car loans", amount=1_000, rate=0.12)
        >>> round(loan.threshold, 4), round(loan.worth), loan.price
        (0.8929, 1120, 1000.0)
        """
        try:
            amount = check.positive("amount", amount)
            growth = 1.0 + check.not_negative("rate", rate, "give a fraction: 0.12 for 12 %")
            if growth > LARGEST_GROWTH:
                raise ParameterError("rate", rate, "looks like percent", "give a fraction: 0.12 for 12 %")
        except ProfitableError as error:
            raise error.about(name) from None
        return cls(name, Bernoulli(), threshold=1.0 / growth, worth=amount * growth, prior=prior, amount=amount)

    @property
    def price(self) -> float:
        """What accepting one client costs, in money."""
        return self.threshold * self.worth if self.amount is None else self.amount

    def with_threshold(self, threshold: float) -> Self:
        """The same category with another threshold.  A loan keeps its amount and changes its rate."""
        if self.amount is None:
            return replace(self, threshold=threshold)
        plain = self.family.check_mean("threshold", threshold)
        if plain == 0.0:
            raise ParameterError("threshold", threshold, "is not possible for a loan", "give 1 / (1 + rate)", self.name)
        return replace(self, threshold=plain, worth=self.amount / plain)

    def bounds(self) -> tuple[float, float] | None:
        """The interval that policies for bounded rewards see, if there is one."""
        if self.family.bounds is not None:
            return self.family.bounds
        if self.bound is None:
            return None
        return (0.0 if self.family.support.low >= 0.0 else -self.bound), self.bound


def is_text(name: str) -> bool:
    """Whether a name can be written to a file (half a surrogate pair cannot)."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
