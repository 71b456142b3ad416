"""The worst case: how many clients cannot change a decision, whatever they bring.

The worst reward is the smallest one.  Where there is one, no evidence after n more
clients exceeds

- for a monotone rule, the evidence after n clients with the smallest statistic, and
  after all rounds that a block may have if the rule needs the accepted rounds;
- for EMPIRICAL, the evidence now plus log((high - low)/(high - tau)) per client that
  falls below the threshold;
- for VARIANCE, which is not monotone, ((N + n) tau - S)/(3B).

For any other rule nothing is known, and no number of clients is certain.

Example: kl-UCB after 60 of 100 Bernoulli clients, tau = 0.5, patience log 100 = 4.6.
Even 41 failures in a row bring evidence to no more than 141 d(60/141, 0.5) = 1.57 nats.
So at least 41 clients are certain.
"""

import math

from profitable.kernels.compile import inlined, part
from profitable.kernels.evidence import (
    DIVERGENCE,
    EMPIRICAL,
    VARIANCE,
    adds_logarithm,
    evidence_of_sums,
    plus,
)
from profitable.kernels.law import POISSON, Law, posterior_bounds, variance
from profitable.kernels.run_record import Problem, Run
from profitable.kernels.special import HALF_LOG_TWO_PI, deviance_term
from profitable.kernels.tangent import Tangent, most_evidence, most_worst_clients, tangent_at

UNLIMITED = 1e19  # clients; no run has more
# Rules that are not monotone, but whose growth is known.
WITH_CEILING = (EMPIRICAL.code, VARIANCE.code)
MARGIN = 1e-6  # a certainty leaves more room than evidence can be rounded by


@part
def parabola(
    clients: float, gap: float, step: float, spread: float, nats: float, below: bool
) -> float:
    """Return n that solves (gap + n step)^2 = 2 nats spread (N + n).

    It lies beyond the threshold (`below`) or on the safe side of it.

    The normal approximation of "so many more of the worst clients": a guess, which
    others verify.
    """
    half = spread * nats - gap * step
    inner = half * half - step * step * (gap * gap - 2.0 * spread * nats * clients)
    root = math.sqrt(max(inner, 0.0))
    n = (half + root if below else half - root) / (step * step)
    # Where a square overflowed or vanished, too: then n is not a number.
    return n if n < UNLIMITED else UNLIMITED


@inlined
def worst_evidence(problem: Problem, run: Run, n: float, rounds: float) -> float:
    """Return the evidence after n more clients with the smallest statistic.

    The rule is monotone; `rounds` more rounds are accepted.
    """
    view = problem.sight
    clients, total = run.clients + view.prior_clients, run.total + view.prior_total
    total += n * problem.smallest
    return evidence_of_sums(
        view.rule, view.law, clients + n, total, run.rounds + rounds, problem.threshold, 0.0
    )


@part
def most_posterior_evidence(law: Law, clients: float, total: float, threshold: float) -> float:
    """Return an upper bound on the evidence of a posterior, up to rounding.

    It is infinite unless rewards are Poisson numbers.  Exact tails take several times
    as long.

    For a = S + 1/2 and x = N tau, P(G > x) is x^a e^-x/Gamma(a) times the integral of
    (1 + u)^(a - 1) e^(-x u) over u > 0.  Since log(1 + u) >= u - u^2/2, the integral is
    at least Mills' ratio at z = (x - a + 1)/sqrt(a - 1) over sqrt(a - 1); and Mills'
    ratio is at least 2/(z + sqrt(z^2 + 4)) (Birnbaum).

    Where x <= a - 1/3, G exceeds x with probability 1/2 at least, and P(G <= x) is at
    most x^a e^-x/Gamma(a + 1) times the sum of the powers of x/(a + 1).

    >>> from profitable.kernels.law import POISSON, Law, posterior_evidence
    >>> poisson = Law(POISSON)
    >>> round(most_posterior_evidence(poisson, 1000.0, 1850.0, 2.0), 3)
    7.977
    >>> round(posterior_evidence(poisson, 1000.0, 1850.0, 2.0, 0.0), 3)
    7.972
    """
    a, x = total + 0.5, clients * threshold
    if law.code != POISSON or a <= 1.0:
        return math.inf
    gap = x - a
    if gap < 0.0:
        if gap > -1.0 / 3.0:
            return math.inf
        density = math.exp(-deviance_term(a, x, gap) - HALF_LOG_TWO_PI) / math.sqrt(a)
        return -math.log1p(-min(0.5, density * (a + 1.0) / (a + 1.0 - x)))
    integral = 2.0 / (gap + 1.0 + math.sqrt((gap + 1.0) * (gap + 1.0) + 4.0 * (a - 1.0)))
    return (
        HALF_LOG_TWO_PI
        + deviance_term(a, x, gap)
        + 1.0 / (12.0 * a)
        - math.log(math.sqrt(a) * integral)
    )


@inlined
def stays_within(problem: Problem, run: Run, n: float, rounds: float, limit: float) -> bool:
    """Return whether `worst_evidence` is at most the limit; bounds say so of most."""
    view = problem.sight
    if view.rule.is_posterior:
        clients, total = run.clients + view.prior_clients + n, run.total + view.prior_total
        total += n * problem.smallest
        if posterior_bounds(view.law, clients, total, problem.threshold)[0] > limit:
            return False
        if most_posterior_evidence(view.law, clients, total, problem.threshold) <= limit:
            return True
    return worst_evidence(problem, run, n, rounds) <= limit


@inlined
def new_tangent(problem: Problem, run: Run, nats: float, known: Tangent) -> Tangent:
    """Return the tangent of the evidence now; the known one if that has none."""
    view = problem.sight
    if nats > 0.0 and view.rule.code == DIVERGENCE.code:
        clients, total = run.clients + view.prior_clients, run.total + view.prior_total
        known = tangent_at(view.law, clients, total, problem.threshold, nats)
    return known


@inlined
def surely_within(problem: Problem, run: Run, tangent: Tangent, limit: float) -> bool:
    """Return whether evidence is at most `limit`, as far as bounds tell."""
    view = problem.sight
    if not tangent.variance > 0.0 and not view.rule.is_posterior:
        return False
    clients, total = run.clients + view.prior_clients, run.total + view.prior_total
    if view.rule.is_posterior:
        most = most_posterior_evidence(view.law, clients, total, problem.threshold)
    else:
        most = most_evidence(view.law, tangent, clients, total)
    return most <= limit - MARGIN * (1.0 + limit)


@inlined
def certain_clients(
    problem: Problem,
    run: Run,
    now: float,
    limit: float,
    least: float,
    rounds: float,
    tangent: Tangent,
) -> float:
    """Return clients that may come while evidence stays at most `limit`.

    That holds whatever their rewards are.  It is 0 if they are fewer than `least`.

    `now` is the evidence so far, and `rounds` the largest number of rounds in which
    they come. Not the largest such number, but a large one found cheaply.
    """
    view, low, threshold = problem.sight, problem.smallest, problem.threshold
    if threshold <= low:
        return math.inf
    step = threshold - low
    clients = run.clients + view.prior_clients
    gap = clients * threshold - (run.total + view.prior_total)
    limit -= MARGIN * (1.0 + limit)
    if view.rule.code == VARIANCE.code:
        return max(
            0.0, (3.0 * (view.law.high - view.law.low) * limit - gap) / step * (1.0 - MARGIN)
        )
    if view.rule.code == EMPIRICAL.code:
        high = view.law.high
        growth = math.log((high - low) / (high - threshold)) if threshold < high else math.inf
        free = math.floor(-gap / step * (1.0 - MARGIN)) if gap < 0.0 else 0.0
        return free + max(0.0, limit - now) / growth
    if not view.rule.is_monotone:
        return 0.0
    nats = limit
    if adds_logarithm(view.rule):
        nats -= plus(view.rule, clients, run.rounds + rounds)
    elif view.rule.is_posterior:
        nats -= 1.5  # -log P(Z > z) is z^2/2 and a little more
    n = 0.9 * parabola(clients, gap, step, variance(view.law, threshold), max(nats, 0.0), True)
    if tangent.variance > 0.0:  # what would surely be refused below is not computed
        beyond = limit + MARGIN * (1.0 + limit)
        total = run.total + view.prior_total
        most = most_worst_clients(tangent, clients, total, low, beyond)
        while n >= least and n > most:
            n *= 0.5
    while n >= least:
        if stays_within(problem, run, n, rounds, limit):
            return n
        n *= 0.5
    return 0.0


@inlined
def safe_clients(problem: Problem, run: Run, average: float) -> float:
    """Return clients after which a drawn rejection is unlikely.

    This is a guess by the normal approximation.
    """
    view = problem.sight
    if not view.rule.is_monotone:
        return 0.0
    if problem.threshold <= problem.smallest:
        return math.inf
    step = problem.threshold - problem.smallest
    clients = run.clients + view.prior_clients
    gap = clients * problem.threshold - (run.total + view.prior_total)
    if gap >= 0.0:
        return 0.0
    # The more rounds, the less likely each rejection should be.
    nats = math.log(1.0 - gap / step / average)
    return parabola(clients, gap, step, variance(view.law, problem.threshold), nats, False)
