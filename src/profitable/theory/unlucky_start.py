"""An unlucky start: long rejections of a profitable category, and how often.

They happen with positive continuous rewards.

The rewards of the first n clients may add up to very little.  A policy then rejects the
category for a while, and for more than w rounds with probability weight(n)/w.  The
reason: for rewards of shape k, e^(-evidence) and the probability of so small a sum both
fall with the power kn of that sum (docs/mathematics.md).  So the mean number of
rejected rounds grows like log t times the sum of the weights.  Few runs cause this
growth: about one run in w waits for w rounds.

Patience log(inflate t) + c log log t makes it rate/(w (log w)^c), where the rate is the
sum of the weights divided by inflate.  For any c > 0 the mean then grows more slowly
than log t.  A prior counts as clients who were seen already: then the sum is never
small, and there are no such waits.  A floor ends a wait after a number of rounds that
is geometric: long ones have no weight.

A policy that looks ahead rejects after N clients while e^(-evidence) is below about 2
risk N/M, where M are to come. N/M is taken as if every round had brought the average
number of clients.  If the policy expects kappa times the past, the wait is as above,
with 2 risk times the accepted rounds as a factor, and divided by kappa.  With a horizon
or a discount, the category is lost for good with that probability, and
`simulation/tilted_runs.py` is about that.

All this is about the patience and the evidence of the paper's policies and of
`Optimal`.  Nothing is known about a policy with a patience or a rule of its own: its
waits may grow faster than log t (`tail_of`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.evidence import (
    DIVERGENCE,
    DIVERGENCE_PLUS,
    EMPIRICAL,
    PLUS_OF_ROUNDS,
    POSTERIOR,
    VARIANCE,
)
from profitable.kernels.law import GAMMA
from profitable.kernels.patience import AHEAD, DRAWN, TIME
from profitable.model.category import Category
from profitable.policy.policies import Bayesian, BoundedPolicy, Policy

TAIL_OF_POSTERIOR = "posterior"
TAIL_OF_DIVERGENCE = "divergence"
TAIL_OF_DIVERGENCE_PLUS = "divergence+"
TAIL_OF_PLUS_OF_ROUNDS = "divergence+, of rounds"
TAIL_AHEAD = "posterior, looking ahead"
NO_TAIL = ""
TAILS = {
    POSTERIOR: TAIL_OF_POSTERIOR,
    DIVERGENCE: TAIL_OF_DIVERGENCE,
    DIVERGENCE_PLUS: TAIL_OF_DIVERGENCE_PLUS,
    PLUS_OF_ROUNDS: TAIL_OF_PLUS_OF_ROUNDS,
}
WITHOUT_TAIL_ON_AN_INTERVAL = (DIVERGENCE, DIVERGENCE_PLUS, PLUS_OF_ROUNDS, EMPIRICAL, VARIANCE)
MOST_SEEN = 2_000  # clients; the weights fall geometrically


@dataclass(frozen=True)
class UnluckyStarts:
    """A policy's waits: longer than w with probability rate/(w (log w)^c).

    There is a rate per category.

    If they are not `known`, there are no rates, and that says nothing.
    """

    rates: tuple[float, ...] = ()
    c: float = 0.0
    known: bool = True

    @property
    def per_log_t(self) -> tuple[float, ...]:
        """Rejected rounds of each category per log t, in the limit."""
        return self.rates if self.c == 0.0 else (0.0,) * len(self.rates)

    def unseen(self, t: float, runs: int) -> tuple[float, ...]:
        """Return the mean rounds up to t in waits that `runs` runs may not show.

        There is one number for each category.

        >>> UnluckyStarts((0.5,)).unseen(1e9, 2_000)  # 0.5 log(10^9 / 1000)
        (6.907...,)
        >>> UnluckyStarts((0.5,), c=3.0).unseen(1e9, 2_000)
        (0.0221...,)
        """
        return tuple(_unseen(rate, self.c, t, runs) for rate in self.rates)


@dataclass(frozen=True)
class LostForGood:
    """Regret of profitable categories under a policy that stops for good, [n] each.

    - `mean`, `error`: its mean, and the standard error of that.
    - `deviation`: the standard deviation over runs.

    They are empty if a category may be lost for good and nothing is known about it.
    """

    mean: tuple[float, ...] = ()
    error: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether there are numbers."""
        return bool(self.mean)


def _unseen(rate: float, c: float, t: float, runs: int) -> float:
    """Integrate rate/(w (log w)^c) from the wait seen once in all runs to t.

    The integral is over u = log w.
    """
    if rate <= 0.0 or t <= math.e:
        return 0.0
    late, early = math.log(t), _seen_once(rate, c, runs)
    if early >= late:
        return 0.0
    if c == 1.0:
        return rate * math.log(late / early)
    return rate * (late ** (1.0 - c) - early ** (1.0 - c)) / (1.0 - c)


@lru_cache(maxsize=1024)  # a curve asks for it at each of its checkpoints
def _seen_once(rate: float, c: float, runs: int) -> float:
    """Return log w of the wait w that is seen once in all runs."""
    early = 0.0 if c == 0.0 else 1.0
    expected = math.log(runs * rate)
    if expected <= early:
        return early
    low, high = early, expected  # where u + c log u = log(runs rate)
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if middle + c * math.log(middle) < expected else (low, middle)
    return high


def unlucky_rate(
    policy: Policy, category: Category, mean: float, seen: Callable[[int], FloatArray]
) -> float | None:
    """Return the rate of a category: 0 without such waits, None if unknown.

    `seen(most)` has the probabilities that exactly 0, 1, ..., most - 1 clients have
    come after some round.
    """
    view, tail = category.family.view(), tail_of(policy)
    if mean <= category.threshold or policy.floor > 0.0 or policy.stops_for_good:
        return 0.0
    if tail is None:
        return None
    has_prior = isinstance(policy, Bayesian) and policy.prior_of(category) is not None
    if view.law.code != GAMMA or has_prior:
        return 0.0
    ratio = view.statistic.of_mean(category.threshold) / view.statistic.of_mean(mean)
    chances, terms = seen(MOST_SEEN), policy.terms
    weights = sum_of_weights(tail, ratio, view.law.size, chances)
    if terms.kind == AHEAD:
        per_round = terms.clients or 1.0 / float(chances[1:].mean())
        return weights * 2.0 * terms.risk / per_round / terms.growth
    return weights / terms.inflate


def tail_of(policy: Policy) -> str | None:
    """Return the weights of a policy.

    `NO_TAIL` if it sees rewards cut, None if its waits are not known.

    On an interval [0, B], n clients who bring nothing are evidence of at most n
    log(B/(B - tau)) for the rules listed. So long waits need many bad clients, and
    these are rarer than 1/w.
    """
    kind, rule = policy.terms.kind, policy.rule
    if kind not in (TIME, DRAWN, AHEAD):
        return None
    if isinstance(policy, BoundedPolicy):
        return NO_TAIL if rule in WITHOUT_TAIL_ON_AN_INTERVAL else None
    if kind == AHEAD:
        return TAIL_AHEAD if rule == POSTERIOR else None
    return TAILS.get(rule)


def sum_of_weights(tail: str, ratio: float, shape: float, seen: FloatArray) -> float:
    """Return the sum over n of weight(n) times `seen[n]`.

    `ratio` is r = tau/mu of the statistic, below 1.

    The weight is r^(kn) for a posterior policy and r^(kn) (kn/e)^(kn)/Gamma(kn + 1) for
    a divergence.  It is n times as large if the evidence has log N added, or if the
    policy looks ahead.  If log of the accepted rounds is added, it is as many times as
    large as there are rounds: n over the clients per round, and at least 1.

    >>> always = np.ones(100)  # one client in every round
    >>> round(sum_of_weights(TAIL_OF_POSTERIOR, 0.5, 1.0, always), 6)  # r/(1 - r)
    1.0
    >>> round(sum_of_weights(TAIL_OF_DIVERGENCE, 0.5, 1.0, always), 3)
    0.302
    """
    if not tail or ratio <= 0.0:
        return 0.0
    n = np.arange(1.0, seen.size)
    power = shape * n
    log_weights = power * math.log(ratio)
    if tail in (TAIL_OF_DIVERGENCE, TAIL_OF_DIVERGENCE_PLUS, TAIL_OF_PLUS_OF_ROUNDS):
        log_weights += (
            power * np.log(power) - power - np.array([math.lgamma(each + 1.0) for each in power])
        )
    if tail in (TAIL_OF_DIVERGENCE_PLUS, TAIL_AHEAD):
        log_weights += np.log(n)
    if tail == TAIL_OF_PLUS_OF_ROUNDS:
        log_weights += np.log(np.maximum(n * float(seen[1:].mean()), 1.0))
    return math.fsum(seen[1:] * np.exp(log_weights))
