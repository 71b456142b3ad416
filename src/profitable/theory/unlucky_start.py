"""An unlucky start: how long a profitable category with positive continuous rewards may be rejected, and how often.

The rewards of the first n clients may add up to very little.  A policy then waits, and longer than w rounds with
probability weight(n)/w.  The reason: for rewards of shape k, e^(-evidence) and the probability of so small a sum both
fall with the power kn of that sum (docs/mathematics.md).  So the mean number of rejected rounds grows like log t times
the sum of the weights.  Rare runs bring it about: a wait of w rounds comes about once in w runs.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

from profitable.kernels.law import GAMMA
from profitable.model.category import Category
from profitable.policy.policy import BoundedPolicy, Deterministic, Policy

TAIL_OF_POSTERIOR, TAIL_OF_DIVERGENCE, TAIL_OF_DIVERGENCE_PLUS = "posterior", "divergence", "divergence+"
MOST_SEEN = 2_000  # clients; the weights fall geometrically

FirstRound = tuple[tuple[int, float], ...]  # pairs (number of clients in a round, its probability)


def tail_of(policy: Policy) -> str:
    """The tail of a policy's waits for positive continuous rewards; empty if it sees them cut or has c > 1."""
    if isinstance(policy, BoundedPolicy) or (isinstance(policy, Deterministic) and policy.c > 1.0):
        return ""
    if policy.rule.is_posterior:
        return TAIL_OF_POSTERIOR
    return {0.0: TAIL_OF_DIVERGENCE, 1.0: TAIL_OF_DIVERGENCE_PLUS}.get(policy.rule.logarithms, "")


def unlucky_rate(category: Category, mean: float, tail: str, first_round: FirstRound) -> float:
    """Rejected rounds of a category per log t after an unlucky start; 0 if there are none."""
    view = category.family.view()
    if not tail or view.law.code != GAMMA or mean <= category.threshold:
        return 0.0
    ratio = view.statistic.of_mean(category.threshold) / view.statistic.of_mean(mean)
    return rejected_per_log_t(tail, ratio, view.law.size, first_round)


@lru_cache(maxsize=256)
def rejected_per_log_t(tail: str, ratio: float, shape: float, first_round: FirstRound) -> float:
    """Rejected rounds per log t, in the limit; `ratio` is r = tau/mu of the statistic, below 1.

    It is the sum over n of weight(n) times the probability that n clients have been seen after some round.  The weight
    is r^(kn) for a posterior policy and r^(kn) (kn/e)^(kn)/Gamma(kn + 1) for a divergence without c; it is n times the
    latter if the evidence has log N added.

    >>> round(rejected_per_log_t(TAIL_OF_POSTERIOR, 0.5, 1.0, ((1, 1.0),)), 6)  # r/(1 - r)
    1.0
    >>> round(rejected_per_log_t(TAIL_OF_POSTERIOR, 0.5, 1.0, ((2, 1.0),)), 6)  # phi/(1 - phi), phi = E[r^C]
    0.333333
    >>> round(rejected_per_log_t(TAIL_OF_DIVERGENCE, 0.5, 1.0, ((1, 1.0),)), 3)
    0.302
    """
    if not tail or ratio <= 0.0:
        return 0.0
    total = 0.0
    for n, chance in zip(range(1, MOST_SEEN), reached(first_round), strict=False):
        power = shape * n
        log_weight = power * math.log(ratio)
        if tail != TAIL_OF_POSTERIOR:
            log_weight += power * math.log(power) - power - math.lgamma(power + 1.0)
        if tail == TAIL_OF_DIVERGENCE_PLUS:
            log_weight += math.log(n)
        weight = math.exp(log_weight)
        total += chance * weight
        if n > MOST_SEEN // 20 and weight < 1e-12 * total:
            break
    return total


def reached(first_round: FirstRound) -> Iterator[float]:
    """The probability that n clients have been seen after some round, for n = 1, 2, ...

    >>> from itertools import islice
    >>> list(islice(reached(((1, 0.5), (2, 0.5))), 3))
    [0.5, 0.75, 0.625]
    """
    chances = [1.0]
    while True:
        n = len(chances)
        chances.append(math.fsum(chance * chances[n - clients] for clients, chance in first_round if clients <= n))
        yield chances[n]
