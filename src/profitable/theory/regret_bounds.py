"""The paper's lower bound and its asymptotic upper bound on regret.

All clients and regrets are expectations.  Regrets are in money (`Category.worth`).  The
number of clients per round enters through `Arrivals`: at least `smallest` (c-), at most
`largest` (c+), on average at most `average` (c~+).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from profitable.common import check
from profitable.errors import InputError, ParameterError
from profitable.kernels.empirical import empirical_evidence
from profitable.model.category import Category
from profitable.model.families import Family, Normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Clients per round: bounds on C_a(t) and on its mean (section 1.2).

    Parameters
    ----------
    smallest : float
        c-, at least 1.
    average : float
        c~+, a bound on the mean.
    largest : float
        c+, infinite unless given.

    Examples
    --------
    >>> Arrivals(smallest=1, average=4).largest
    inf

    """

    smallest: float = 1.0
    average: float = 1.0
    largest: float = math.inf

    def __post_init__(self) -> None:
        smallest, average = (
            check.finite("smallest", self.smallest),
            check.finite("average", self.average),
        )
        if not 1.0 <= smallest <= average <= (check.number(self.largest) or 0.0):
            raise ParameterError(
                "arrivals",
                (self.smallest, self.average, self.largest),
                "are not ordered",
                "give 1 <= smallest <= average <= largest, average finite",
            )

    @classmethod
    def constant(cls, clients: int) -> "Arrivals":
        """Return arrivals with the same number in every round.

        In this case the policies are asymptotically optimal (section 7).

        Parameters
        ----------
        clients : int
            Clients in each round.

        Returns
        -------
        Arrivals
            With three equal numbers.

        """
        number = float(check.whole("clients", clients))
        return cls(smallest=number, average=number, largest=number)


def information(
    family: Family, mean: float, threshold: float, *, sigma: float | None = None
) -> float:
    """Return K_inf(nu, tau) of Theorem 1 for a one-dimensional family.

    It is d(mean, threshold), and 0 for a profitable mean.  For `Normal` it depends on
    the true standard deviation, too: log(1 + (tau - mu)^2/sigma^2)/2 (Burnetas and
    Katehakis 1996).

    Parameters
    ----------
    family : Family
        Family of the rewards.
    mean : float
        True mean mu.
    threshold : float
        Threshold tau.
    sigma : float, optional
        Standard deviation of `Normal` rewards.

    Returns
    -------
    float
        Nats per client.

    Examples
    --------
    >>> from profitable import Bernoulli, Normal
    >>> round(information(Bernoulli(), 0.5, 0.6), 6)
    0.020411
    >>> round(information(Normal(), 1.0, 2.0, sigma=1.0), 6)  # log(2)/2
    0.346574

    """
    if not as_family(family).has_law:
        raise InputError(
            "family",
            str(family),
            "has a K_inf that depends on the whole law",
            "use information_of_law(values, ...)",
        )
    mean, threshold = family.check_mean("mean", mean), family.check_mean("threshold", threshold)
    family.drawn(sigma)  # which checks it
    if isinstance(family, Normal):
        return family.divergence(mean, threshold, sigma=sigma) if mean < threshold else 0.0
    return family.divergence(mean, threshold) if mean < threshold else 0.0


def as_family(family: Family) -> Family:
    """Return the family; ParameterError if it is not one."""
    if not isinstance(family, Family):
        raise ParameterError("family", family, "must be a family", "give for example Bernoulli()")
    return family


def as_arrivals(arrivals: Arrivals) -> Arrivals:
    """Return the arrivals; ParameterError if they are not of that class."""
    if not isinstance(arrivals, Arrivals):
        raise ParameterError(
            "arrivals", arrivals, "must be of the class Arrivals", "give Arrivals.constant(5)"
        )
    return arrivals


def information_of_law(
    values: Sequence[float], probabilities: Sequence[float], *, threshold: float, high: float
) -> float:
    """Return K_inf(nu, tau) of Theorem 1 for the model of all bounded laws.

    It is the dual of KL-Emp-UCB.

    Parameters
    ----------
    values : list of float
        Values of the law nu, at most `high`.
    probabilities : list of float
        Their probabilities, which sum to 1.
    threshold : float
        Threshold tau.
    high : float
        Upper bound of all laws in the model.

    Returns
    -------
    float
        Nats per client.

    Examples
    --------
    Two points are Bernoulli:

    >>> round(information_of_law([0.0, 1.0], [0.5, 0.5], threshold=0.6, high=1.0), 6)
    0.020411

    """
    try:
        points, weights = (
            np.array(values, dtype=np.float64),
            np.array(probabilities, dtype=np.float64),
        )
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "values", values, "or probabilities are not numbers", "give two lists of numbers"
        ) from None
    high, threshold = check.finite("high", high), check.finite("threshold", threshold)
    if points.ndim != 1 or points.shape != weights.shape or not (points <= high).all():
        raise InputError(
            "values",
            values,
            "are not a law below the bound",
            "give values up to high, with probabilities",
        )
    if not (weights >= 0.0).all() or not abs(weights.sum() - 1.0) < 1e-9:
        raise InputError(
            "probabilities", probabilities, "do not sum to 1", "give one probability for each value"
        )
    return empirical_evidence(points, weights, high, threshold)


@dataclass(frozen=True, slots=True)
class LowerBound:
    """Loss of every uniformly efficient policy per log T, in the limit (Theorem 1).

    Attributes
    ----------
    clients_per_log_t : tuple of float
        Clients of each category; 0 where the mean is at least the threshold.
    regret_per_log_t : tuple of float
        Regret of each category, in money.
    total : float
        Sum of the regrets.

    """

    clients_per_log_t: tuple[float, ...]
    regret_per_log_t: tuple[float, ...]
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", math.fsum(self.regret_per_log_t))


def lower_bound(
    categories: Sequence[Category],
    means: Sequence[float],
    *,
    sigmas: Sequence[float | None] | None = None,
) -> LowerBound:
    """Return the lower bound of Theorem 1 for known means.

    liminf E[N_a(T)] / log T >= 1 / K_inf(nu_a, tau_a).

    Parameters
    ----------
    categories : list of Category
        The categories.
    means : list of float
        Their true means.
    sigmas : list, optional
        Standard deviations of `Normal` rewards, None for other families.

    Returns
    -------
    LowerBound
        Clients and regret per log T.

    Examples
    --------
    The paper's scenario 1:

    >>> from profitable import Bernoulli
    >>> thresholds, means = (0.2, 0.2, 0.4, 0.6, 0.8), (0.1, 0.3, 0.5, 0.5, 0.7)
    >>> arms = [Category(f"arm {tau} {mean}", Bernoulli(), threshold=tau)
    ...         for tau, mean in zip(thresholds, means)]
    >>> round(lower_bound(arms, means).total, 3)
    11.175

    """
    _check_lists(categories, Category, means=means)
    sigmas = [None] * len(categories) if sigmas is None else sigmas
    _check_lists(categories, Category, sigmas=sigmas)
    clients: list[float] = []
    regrets: list[float] = []
    for category, mean, sigma in zip(categories, means, sigmas, strict=True):
        nats = information(category.family, mean, category.threshold, sigma=sigma)
        clients.append(1.0 / nats if nats > 0.0 else 0.0)
        regrets.append(clients[-1] * loss(category, mean))
    return LowerBound(tuple(clients), tuple(regrets))


def _check_lists(given: Sequence[Any], kind: type, **others: Sequence[Any]) -> None:
    """Raise InputError unless `given` is such a list, and the others are as long."""
    if not isinstance(given, Sequence) or not all(isinstance(each, kind) for each in given):
        raise InputError(
            kind.__name__.lower(),
            given,
            f"must be a list of {kind.__name__}",
            "give one for each category",
        )
    for name, other in others.items():
        if (
            not isinstance(other, Sequence | np.ndarray)
            or isinstance(other, str | bytes)
            or len(other) != len(given)
        ):
            raise InputError(
                name,
                other,
                f"are not {len(given)}",
                f"give {name} as a list, one for each category",
            )


def loss(category: Category, mean: float) -> float:
    """Return |Delta_a|, the expected loss of a wrong decision about one client.

    Parameters
    ----------
    category : Category
        The category.
    mean : float
        Its true mean.

    Returns
    -------
    float
        The loss, in money.

    """
    _check_lists([category], Category)
    return abs(category.family.check_mean("mean", mean) - category.threshold) * category.worth


def asymptotic_upper_bound(
    categories: Sequence[Category], means: Sequence[float], arrivals: Sequence[Arrivals]
) -> float:
    """Return a bound on limsup R_T / log T of the paper's policies (section 7).

    They are kl-UCB-4P (c >= 3), Bayes-UCB-4P (c >= 5) and TS-4P.  The bound is the
    lower bound with a factor average/smallest for each unprofitable category.  The
    theorems assume a finite largest number of clients per round.  For TS-4P the bound
    is wrong if a *profitable* category has Exponential, Gamma, Pareto or Weibull
    rewards: its rejected rounds then grow like log T, too (docs/mathematics.md).

    Parameters
    ----------
    categories : list of Category
        The categories.
    means : list of float
        Their true means.
    arrivals : list of Arrivals
        Their clients per round.

    Returns
    -------
    float
        Regret per log T, in money.

    """
    _check_lists(categories, Category, arrivals=arrivals)
    _check_lists(arrivals, Arrivals, means=means)
    below = lower_bound(categories, means).regret_per_log_t
    return math.fsum(
        each.average / each.smallest * regret for each, regret in zip(arrivals, below, strict=True)
    )
