"""An unlucky start: how long a profitable category with positive continuous rewards may be rejected, and how often.

After n clients of shape k whose rewards add up to little, a policy waits longer than w rounds with probability
weight(n)/w, because evidence and the probability of so small a sum have the same power kn (docs/mathematics.md).  The
rejected rounds then grow like the sum of the weights times log t, and live in runs that come once in w.
"""

import math
from functools import lru_cache

POSTERIOR, DIVERGENCE, DIVERGENCE_PLUS = "posterior", "divergence", "divergence+"
MOST = 2_000  # clients; the weights fall geometrically

Arrivals = tuple[tuple[int, float], ...]  # how many clients come in a round, and how likely that is


@lru_cache(maxsize=256)
def rejected_per_log_t(tail: str, ratio: float, shape: float, arrivals: Arrivals) -> float:
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
        reached.append(math.fsum(chance * reached[n - clients] for clients, chance in arrivals if clients <= n))
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
