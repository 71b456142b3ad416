"""The paper's bounds on regret: in the limit, and at a finite horizon.

All clients and regrets are expectations.  Regrets are in money (`Category.worth`).  The
number of clients per round enters through `Arrivals`: at least `smallest` (c-), at most
`largest` (c+), on average at most `average` (c~+).

Some constants of the paper come out larger when the proofs are followed to the end (see
docs/mathematics.md).  The functions return the value that the proof supports.  With
`as_printed=True` they return the theorem as printed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from profitable.common import check
from profitable.errors import InputError, ParameterError
from profitable.kernels.empirical import empirical_evidence
from profitable.kernels.patience import patience_of
from profitable.model.category import Category
from profitable.model.families import Family, Normal

# sup over T of sum_{t=3}^{T-1} 1/(t log t) - log log T, which increases to its limit.
LOG_LOG_CONSTANT = 0.07333113


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
    if mean >= threshold:
        return 0.0
    if isinstance(family, Normal):
        return family.divergence(mean, threshold, sigma=sigma)
    return family.divergence(mean, threshold)


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


# --------------------------------------------------------------- at a finite horizon


@dataclass(frozen=True, slots=True)
class UpperBound:
    """Upper bound on the accepted clients of an unprofitable category.

    Attributes
    ----------
    epsilon : float
        The eps at which it was computed.
    leading : float
        The part that grows like log T.
    constant : float
        The rest.
    constants : dict
        The constants of the theorem by name.
    vacuous : bool
        Whether it is at least the number of all clients up to the horizon.

    """

    epsilon: float
    leading: float
    constant: float
    constants: dict[str, float]
    vacuous: bool

    @property
    def clients(self) -> float:
        """The bound itself."""
        return self.leading + self.constant


def _chernoff_sums(nats: float, smallest: float) -> float:
    """Return 1 / [(1 - e^-d)(1 - e^-(c- d))].

    It sums e^-(k d) over k >= c- s and then over s.
    """
    product = math.expm1(-nats) * math.expm1(-smallest * nats)
    return 1.0 / product if product > 0.0 else math.inf


@lru_cache(maxsize=4096)  # the search for the best epsilon asks for the same ones at every horizon
def deviation_constants(
    family: Family,
    mean: float,
    threshold: float,
    *,
    factor: float,
    smallest: float,
    rounds_factor: float | None = None,
) -> tuple[float, float]:
    """Return H(epsilon) and beta(epsilon) of the lemma behind Theorems 2 (i) and 3 (i).

    Let f = `factor` > 1, let r in ]mean, threshold[ solve d(r, tau) = d(mu, tau)/f, and
    let d = d(r, mu).  Then H = 1/[(1 - e^-d)(1 - e^-(c- d))] and beta = g d / d(mu,
    tau).  Here g = `rounds_factor` is the factor in K_T = g (log T + ...) / (c- d(mu,
    tau)); in the lemma g = f.

    Parameters
    ----------
    family : Family
        Family of the rewards.
    mean : float
        True mean mu, below the threshold.
    threshold : float
        Threshold tau.
    factor : float
        f, above 1.
    smallest : float
        c-, the smallest number of clients per round.
    rounds_factor : float, optional
        g, by default f.

    Returns
    -------
    tuple of float
        H and beta.

    """
    whole = family.divergence(mean, threshold)
    divergence = family.view().divergence  # unchecked: every x lies between the two
    r = _root(lambda x: whole / factor - divergence(x, threshold), mean, threshold)
    nats = family.divergence(r, mean)
    return _chernoff_sums(nats, smallest), (
        factor if rounds_factor is None else rounds_factor
    ) * nats / whole


def _root(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function becomes positive, to the last bit."""
    while low < (middle := 0.5 * (low + high)) < high:
        if increasing(middle) > 0.0:
            high = middle
        else:
            low = middle
    return low


def kl_ucb_unprofitable(
    family: Family,
    mean: float,
    threshold: float,
    *,
    horizon: float,
    arrivals: Arrivals,
    c: float = 3.0,
    epsilon: float | None = None,
    largest_epsilon: float = 1000.0,
) -> UpperBound:
    """Bound the clients of an unprofitable category under kl-UCB-4P (Theorem 2 (i)).

    For Bounded it is about kl-Bernoulli-UCB-4P.  The bound is (1 + eps) c~+ (log T + c
    log log T) / (c- d(mu, tau)) + c~+ {1 + H_1(eps) / T^beta_1(eps)}, for any eps > 0.
    (The proof assumes eps < 1, but only uses that 1 + eps > 1.)

    Parameters
    ----------
    family : Family
        Family of the rewards.
    mean : float
        True mean mu, below the threshold.
    threshold : float
        Threshold tau.
    horizon : float
        Number of rounds T.
    arrivals : Arrivals
        Clients per round.
    c : float
        Parameter of the policy.
    epsilon : float, optional
        eps; by default the best one below `largest_epsilon`.
    largest_epsilon : float
        Upper end of the search for eps.

    Returns
    -------
    UpperBound
        The bound on accepted clients.

    """
    as_arrivals(arrivals)
    whole = _separation(family, mean, threshold)
    late = patience_of(check.not_negative("c", c), 1.0, _horizon(horizon))

    def bound(eps: float) -> UpperBound:
        h, beta = deviation_constants(
            family, mean, threshold, factor=1.0 + eps, smallest=arrivals.smallest
        )
        leading = (1.0 + eps) * arrivals.average * late / (arrivals.smallest * whole)
        constant = arrivals.average * (1.0 + h * horizon**-beta)
        return _upper_bound(eps, leading, constant, {"H_1": h, "beta_1": beta}, arrivals, horizon)

    return _best(bound, epsilon, largest=check.positive("largest_epsilon", largest_epsilon))


def bayes_ucb_unprofitable(
    family: Family,
    mean: float,
    threshold: float,
    *,
    horizon: float,
    arrivals: Arrivals,
    prior_constant: float,
    prior_low: float,
    c: float = 5.0,
    epsilon: float | None = None,
    as_printed: bool = False,
) -> UpperBound:
    """Bound the clients of an unprofitable category under Bayes-UCB-4P (Theorem 3 (i)).

    The bound is (1 + eps)/(1 - eps) c~+ (log T + c log log T) / (c- d(mu, tau)) + c~+
    {1 + H_2 + H_3(eps) / T^beta_2(eps)}.  It needs T >= N_a(eps).

    The two conditions of the proof give d(mean of k, tau) <= d(mu, tau)/(1 + eps), not
    (1 - eps)/(1 + eps) d(mu, tau) as printed.  So here r solves the former, and H_3 is
    much larger.

    Parameters
    ----------
    family : Family
        Family of the rewards.
    mean : float
        True mean mu, below the threshold.
    threshold : float
        Threshold tau.
    horizon : float
        Number of rounds T.
    arrivals : Arrivals
        Clients per round.
    prior_constant : float
        B of the theorem.  It depends on the prior, and the paper leaves it open.
    prior_low : float
        mu_0^- < mean, the lower edge of the means that the prior allows.
    c : float
        Parameter of the policy.
    epsilon : float, optional
        eps; an error if the horizon is below N_a(eps).  By default the best eps that
        the horizon allows.
    as_printed : bool
        Whether to use the constant as printed in the paper.

    Returns
    -------
    UpperBound
        The bound on accepted clients.

    """
    as_arrivals(arrivals)
    whole = _separation(family, mean, threshold)
    late = patience_of(check.not_negative("c", c), 1.0, _horizon(horizon))
    # The proof needs B >= 1.
    log_b = math.log(max(check.positive("prior_constant", prior_constant), 1.0))
    if not family.check_mean("prior_low", prior_low) < mean:
        raise InputError(
            "prior_low",
            prior_low,
            "is not below the mean",
            "give the lower edge mu_0^- of the prior",
        )
    h_2 = math.fsum(
        math.exp(-arrivals.smallest * nats) * _chernoff_sums(nats, arrivals.smallest)
        for nats in (family.divergence(prior_low, mean), family.divergence(threshold, mean))
    )

    def bound(eps: float) -> UpperBound:
        factor = (1.0 + eps) / (1.0 - eps)
        h, beta = deviation_constants(
            family,
            mean,
            threshold,
            factor=factor if as_printed else 1.0 + eps,
            smallest=arrivals.smallest,
            rounds_factor=factor,
        )
        leading = factor * arrivals.average * late / (arrivals.smallest * whole)
        constant = arrivals.average * (1.0 + h_2 + h * horizon**-beta)
        rounds = math.ceil(factor * late / (arrivals.smallest * whole))
        clients = arrivals.smallest * rounds
        enough = (0.5 * math.log(clients) + log_b) / clients <= eps / (1.0 + eps) * whole
        if rounds < math.ceil(3.0 / arrivals.smallest) or not enough:
            if epsilon is not None:
                raise InputError(
                    "horizon",
                    horizon,
                    f"is below N_a({eps:g}) of Theorem 3",
                    "give a larger horizon or epsilon",
                )
            constant = math.inf
        return _upper_bound(
            eps, leading, constant, {"H_2": h_2, "H_3": h, "beta_2": beta}, arrivals, horizon
        )

    return _best(bound, epsilon, largest=1.0)


def thompson_unprofitable(
    family: Family,
    mean: float,
    threshold: float,
    *,
    horizon: float,
    arrivals: Arrivals,
    epsilon: float = 0.0,
) -> float:
    """Bound the clients of an unprofitable category under TS-4P (Theorem 4 (i)).

    This is the leading term (1 + eps)/(1 - eps) c~+ log T / (c- d(mu, tau)); H_4 is
    not explicit.

    Parameters
    ----------
    family : Family
        Family of the rewards.
    mean : float
        True mean mu, below the threshold.
    threshold : float
        Threshold tau.
    horizon : float
        Number of rounds T.
    arrivals : Arrivals
        Clients per round.
    epsilon : float
        eps in [0, 1[.  The theorem holds for each eps > 0; 0 gives the limit.

    Returns
    -------
    float
        Accepted clients.

    """
    if not 0.0 <= check.finite("epsilon", epsilon) < 1.0:
        raise ParameterError("epsilon", epsilon, "is not in [0, 1[", "give a number in between")
    factor = (1.0 + epsilon) / (1.0 - epsilon)
    return (
        factor
        * as_arrivals(arrivals).average
        * math.log(_horizon(horizon))
        / (arrivals.smallest * _separation(family, mean, threshold))
    )


def kl_ucb_profitable(
    *, horizon: float, arrivals: Arrivals, c: float = 3.0, as_printed: bool = False
) -> float:
    """Bound the rejected clients of a profitable category under kl-UCB-4P.

    Theorem 2 (ii): c~+ {e(2c + 3) log log T + c+ + 3}, for T >= max(3, c+).  Following
    the proof, the last constant is 2 + e(2c + 3) 0.0733 (3.79 at c = 3).

    Parameters
    ----------
    horizon : float
        Number of rounds T.
    arrivals : Arrivals
        Clients per round, with a finite largest number.
    c : float
        Parameter of the policy, at least 3.
    as_printed : bool
        Whether to use the constant as printed in the paper.

    Returns
    -------
    float
        Rejected clients.

    """
    if not check.finite("c", c) >= 3.0:
        raise InputError("c", c, "is below 3", "Theorem 2 (ii) needs c >= 3")
    if _horizon(horizon) < max(3.0, as_arrivals(arrivals).largest):
        raise InputError(
            "horizon", horizon, "is too early", "Theorem 2 (ii) needs T >= max(3, c+), c+ finite"
        )
    slope = math.e * (2.0 * c + 3.0)
    last = 3.0 if as_printed else 2.0 + slope * LOG_LOG_CONSTANT
    return arrivals.average * (slope * math.log(math.log(horizon)) + arrivals.largest + last)


def bayes_ucb_profitable(
    family: Family,
    mean: float,
    threshold: float,
    *,
    horizon: float,
    arrivals: Arrivals,
    prior_a: float,
    prior_c: float,
    c: float = 5.0,
    as_printed: bool = False,
) -> float:
    """Bound the rejected clients of a profitable category under Bayes-UCB-4P.

    Theorem 3 (ii): c~+ {e(2(c - 2) + 4)/A log log T + t_a + 1} with t_a = max(e/A, 3,
    A, c+, A c+), for T >= t_a.

    Following the proof, the last 1 is e(2(c - 2) + 4)/A 0.0733, and two terms are
    added.  The first is t_0 - 1: the rounds before the posterior quantile exceeds the
    mean (C^2 t (log t)^(2c) >= 1) and before d (log t)^2 >= 2 log t (t >= exp(2/d),
    which is astronomical for close means).  The second is the first sum of the proof,
    pi^2/6 / (1 - e^-d).

    Parameters
    ----------
    family : Family
        Family of the rewards.
    mean : float
        True mean mu, above the threshold.
    threshold : float
        Threshold tau.
    horizon : float
        Number of rounds T.
    arrivals : Arrivals
        Clients per round.
    prior_a : float
        A of the theorem, which depends on the prior.
    prior_c : float
        C of the theorem, which depends on the prior.
    c : float
        Parameter of the policy, at least 5.
    as_printed : bool
        Whether to use the constants as printed in the paper.

    Returns
    -------
    float
        Rejected clients.

    """
    if not check.finite("c", c) >= 5.0:
        raise InputError("c", c, "is below 5", "Theorem 3 (ii) needs c >= 5")
    _separation(family, threshold, mean)
    prior_a, prior_c = check.positive("prior_a", prior_a), check.positive("prior_c", prior_c)
    largest = as_arrivals(arrivals).largest
    t_a = max(math.e / prior_a, 3.0, prior_a, largest, prior_a * largest)
    if _horizon(horizon) < t_a:
        raise InputError(
            "horizon", horizon, "is too early", f"Theorem 3 (ii) needs T >= t_a = {t_a:g}"
        )
    slope = math.e * (2.0 * (c - 2.0) + 4.0) / prior_a
    log_log = math.log(math.log(horizon))
    if as_printed:
        return arrivals.average * (slope * log_log + t_a + 1.0)
    nats = family.divergence(threshold, mean)
    t_1 = _first_time(
        lambda t: 2.0 * math.log(prior_c) + math.log(t) + 2.0 * c * math.log(math.log(t)) >= 0.0
    )
    t_2 = math.ceil(math.exp(2.0 / nats)) if 2.0 / nats < 700.0 else math.inf
    first_sum = math.pi**2 / 6.0 / -math.expm1(-nats)
    return arrivals.average * (
        max(t_1, t_2) - 1.0 + first_sum + t_a + slope * (log_log + LOG_LOG_CONSTANT)
    )


def _first_time(reached: Callable[[int], bool]) -> int:
    """Return the smallest integer t >= 2 with `reached(t)`, which stays true."""
    high = 2
    while not reached(high):
        high *= 2
    low = max(2, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low


def _separation(family: Family, mean: float, threshold: float) -> float:
    """Return d(mean, threshold), positive and finite; InputError if it is not.

    The mean must be below the threshold.
    """
    nats = as_family(family).divergence(mean, threshold)
    if not mean < threshold or not 0.0 < nats < math.inf:
        raise InputError(
            "mean and threshold",
            (mean, threshold),
            "do not fit the theorem",
            f"give means of {family} that differ, on the side of the threshold of the theorem",
        )
    return nats


def _horizon(horizon: float) -> float:
    if not check.fits(check.number(horizon), 2.0):
        raise ParameterError("horizon", horizon, "must be a number of rounds", "give 2 or more")
    return float(horizon)


def _upper_bound(
    epsilon: float,
    leading: float,
    constant: float,
    constants: dict[str, float],
    arrivals: Arrivals,
    horizon: float,
) -> UpperBound:
    everybody = arrivals.average * horizon
    return UpperBound(epsilon, leading, constant, constants, leading + constant >= everybody)


def _best(
    bound: Callable[[float], UpperBound], epsilon: float | None, *, largest: float
) -> UpperBound:
    """Return the bound at `epsilon`, or at the best in ]0, `largest`[.

    By a grid, then golden-section steps around its best.
    """
    if epsilon is not None:
        if not 0.0 < check.finite("epsilon", epsilon) < largest:
            raise ParameterError(
                "epsilon", epsilon, f"is not in ]0, {largest:g}[", "give a number in between"
            )
        return bound(epsilon)
    points = 100
    last = math.log(largest * (1.0 - 1e-9))
    grid = [
        math.exp(math.log(1e-3) + (last - math.log(1e-3)) * i / (points - 1)) for i in range(points)
    ]
    place = min(range(points), key=lambda i: bound(grid[i]).clients)
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, points - 1)]
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(30):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if bound(left).clients <= bound(right).clients:
            high = right
        else:
            low = left
    return min((bound(eps) for eps in (low, grid[place], high)), key=lambda each: each.clients)
