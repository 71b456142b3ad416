"""An unlucky start: how long a profitable category with positive continuous rewards may be rejected, and how often.

After n clients of shape k whose rewards add up to little, a policy waits longer than w rounds with probability
weight(n)/w, because evidence and the probability of so small a sum have the same power kn (docs/mathematics.md).  So
the rejected rounds grow like the sum of the weights times log t, and they are found in runs that come once in w.
"""

import math
from functools import lru_cache

from profitable.kernels.law import GAMMA
from profitable.model.category import Category
from profitable.policy.policy import BoundedPolicy, Deterministic, Policy

POSTERIOR, DIVERGENCE, DIVERGENCE_PLUS = "posterior", "divergence", "divergence+"
MOST = 2_000  # clients; the weights fall geometrically

FirstRound = tuple[tuple[int, float], ...]  # how many clients come in a round, and how likely that is


def tail_of(policy: Policy) -> str:
    """Which tail a policy has where rewards are positive and continuous: none if it sees them cut, or with c > 1."""
    if isinstance(policy, BoundedPolicy) or (isinstance(policy, Deterministic) and policy.c > 1.0):
        return ""
    if policy.rule.is_posterior:
        return POSTERIOR
    return {0.0: DIVERGENCE, 1.0: DIVERGENCE_PLUS}.get(policy.rule.logarithms, "")


def unlucky_rate(category: Category, mean: float, tail: str, first_round: FirstRound) -> float:
    """Rejected rounds of a category per log t after an unlucky start; 0 if there are none."""
    view = category.family.view()
    if not tail or view.law.code != GAMMA or mean <= category.threshold:
        return 0.0
    ratio = view.statistic.of_mean(category.threshold) / view.statistic.of_mean(mean)
    return rejected_per_log_t(tail, ratio, view.law.size, first_round)


@lru_cache(maxsize=256)
def rejected_per_log_t(tail: str, ratio: float, shape: float, first_round: FirstRound) -> float:
    """In the limit, rejected rounds per log t; `ratio` is tau/mu of the statistic, below 1.

    The sum over the numbers n of clients that can be seen after some round of r^(kn) for a posterior policy,
    r^(kn) (kn/e)^(kn)/Gamma(kn + 1) for a divergence without c, and n times that if log N is added to it.

    >>> round(rejected_per_log_t(POSTERIOR, 0.5, 1.0, ((1, 1.0),)), 6)  # r/(1 - r)
    1.0
    >>> round(rejected_per_log_t(POSTERIOR, 0.5, 1.0, ((2, 1.0),)), 6)  # phi/(1 - phi), phi = E[r^C]
    0.333333
    >>> round(rejected_per_log_t(DIVERGENCE, 0.5, 1.0, ((1, 1.0),)), 3)
    0.302
    """
    if not tail or ratio <= 0.0:
        return 0.0
    reached = [1.0]  # the probability that n clients have been seen after some round
    total = 0.0
    for n in range(1, MOST):
        reached.append(math.fsum(chance * reached[n - clients] for clients, chance in first_round if clients <= n))
        power = shape * n
        log_weight = power * math.log(ratio)
        if tail != POSTERIOR:
            log_weight += power * math.log(power) - power - math.lgamma(power + 1.0)
        if tail == DIVERGENCE_PLUS:
            log_weight += math.log(n)
        weight = math.exp(log_weight)
        total += reached[n] * weight
        if n > MOST // 20 and weight < 1e-12 * total:
            break
    return total
