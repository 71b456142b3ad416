"""View: a category as a policy sees it.

A policy that knows the family sees the family's law and its sufficient statistic.  A
policy for bounded rewards sees rewards cut into an interval, and a law on that
interval.  Nothing else differs between the two.

>>> from profitable import Exponential
>>> view = Exponential().view()
>>> view.law.size, view.statistic, str(view.support)
(1.0, Identity(), 'a finite number above 0')
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from profitable.common.types import BoolArray, FloatArray
from profitable.kernels.coded_view import CodedView, Support
from profitable.kernels.evidence import Rule
from profitable.kernels.law import BINOMIAL, GAUSSIAN, Law, deviance_by_gap
from profitable.kernels.statistic import Cut, Identity, Statistic

TINY = 1e-100


@dataclass(frozen=True, slots=True)
class View:
    """A law, a statistic, the legal rewards, a prior, and whether amounts are weights.

    The prior is given as imaginary clients.
    """

    law: Law
    statistic: Statistic = field(default_factory=Identity)
    support: Support = field(default_factory=Support)
    prior_clients: float = 0.0
    prior_total: float = 0.0
    by_money: bool = False

    def __post_init__(self) -> None:
        if self.support.whole and (
            self.support.low != 0.0 or not isinstance(self.statistic, Identity)
        ):
            raise TypeError(
                "whole-number rewards start at 0 and are their own statistic; shift or "
                "scale them before"
            )

    def coded(self, rule: Rule) -> CodedView:
        """Return the view of a policy with that rule, as the kernels read it."""
        return CodedView(
            rule.under(self.law),
            self.law,
            self.statistic.coded,
            self.support,
            self.prior_clients,
            self.prior_total,
            self.by_money,
        )

    @property
    def has_prior(self) -> bool:
        """Whether there are imaginary clients."""
        return self.prior_clients != 0.0 or self.prior_total != 0.0

    @property
    def statistic_range(self) -> tuple[float, float]:
        """The interval in which a client's statistic lies."""
        return self.statistic.range(self.support.low, self.support.high)

    def can_sum_to(self, clients: float, total: float, scale: float = 0.0) -> bool:
        """Whether the statistics of that many clients can have that sum.

        Rounding is allowed for, in sums of size `scale`.
        """
        return bool(self.can_sum_each_to(np.array([clients]), np.array([total]), scale)[0])

    def can_sum_each_to(
        self, clients: FloatArray, totals: FloatArray, scale: float = 0.0
    ) -> BoolArray:
        """`can_sum_to` for each of several categories, [M]."""
        low, high = self.statistic_range
        slack = 1e-9 * (np.abs(totals) + scale)
        with np.errstate(invalid="ignore"):
            inside = (clients * low - slack <= totals) & (totals <= clients * high + slack)
        return np.where(clients == 0.0, totals == 0.0, inside)

    def can_square_to(self, clients: float, total: float, squares: float) -> bool:
        """Whether clients with that total can have these squares, up to rounding."""
        low, high = self.statistic_range
        if clients <= 0.0:
            return squares == 0.0
        least, most, scale = total * (total / clients), math.inf, 0.0
        if self.support.whole and self.statistic.is_reward:
            least = max(least, total)  # x^2 >= x
        if low > -math.inf and high < math.inf:  # (x - low)(high - x) >= 0
            most, scale = (low + high) * total - clients * low * high, abs(low + high) * abs(total)
        elif (
            low > -math.inf
        ):  # the sum of squares is at most the square of the sum, above the lower edge
            most, scale = (
                (total - clients * low) ** 2 + low * (2.0 * total - clients * low),
                abs(low * total),
            )
        slack = 1e-9 * (squares + scale)
        return least - slack <= squares <= most + slack

    def holds_mean(self, mean: float) -> bool:
        """Whether the statistic of a mean in the domain is of ordinary size."""
        if isinstance(self.statistic, Identity) or mean == self.support.low:
            return True
        value = self.statistic.of_mean(mean)
        return abs(value) < 1.0 / TINY and (value > TINY or self.statistic_range[0] < 0.0)

    def divergence(self, x: float, y: float) -> float:
        """d(x, y) between the laws with mean rewards x and y (eq. 3)."""
        if x == y:
            return 0.0
        statistic, inside = self.statistic, min(x, y) > self.support.low
        means = statistic.of_mean(x), statistic.of_mean(y)
        # The difference of two close means would be lost in the transformation, so it
        # is computed separately.
        gap = statistic.difference(x, y) if inside else means[0] - means[1]
        return deviance_by_gap(self.law, 1.0, *means, -gap, 0.0)

    def with_prior(self, clients: float, total: float) -> "View":
        """Return the view after imaginary clients, whose statistics sum to `total`."""
        return replace(self, prior_clients=clients, prior_total=total)


def bounded_view(low: float, high: float, support: Support, *, gaussian: bool = False) -> View:
    """Return rewards cut to [low, high], with a Bernoulli law or d_Gauss (section 4.3).

    d_Gauss(x, y) = 2 ((x - y) / B)^2 is the divergence of normal laws with standard
    deviation B/2.
    """
    return View(
        gaussian_law((high - low) / 2.0) if gaussian else Law(BINOMIAL, low, high, 1.0),
        Cut(low, high) if support.low < low or support.high > high else Identity(),
        support,
    )


def gaussian_law(sigma: float) -> Law:
    """Return the normal law with a known standard deviation."""
    return Law(GAUSSIAN, -float("inf"), float("inf"), sigma)
