"""Evidence, in nats, against "the mean is at least the threshold".

The one inequality of the project is `evidence <= patience` (`kernels/patience.py`).  A
rule is a way to compute evidence:

| rule              | evidence                               | policies              |
| ----------------- | -------------------------------------- | --------------------- |
| `DIVERGENCE`      | N d(S/N, tau) if S/N < tau, else 0     | kl-UCB and variants   |
| `DIVERGENCE_PLUS` | the same + log N                       | kl-UCB+ and variants  |
| `PLUS_OF_ROUNDS`  | the same + log of the accepted rounds  | those, count=rounds   |
| `POSTERIOR`       | -log P(mean >= tau given the data)     | Bayes-UCB, TS         |
| `EMPIRICAL`       | N K_inf(empirical law, tau)            | KL-Emp-UCB            |
| `VARIANCE`        | x: m + sqrt(2 v x/N) + 3 B x/N = tau   | UCB-V                 |

Example: 2 of 10 Bernoulli clients against tau = 0.5.  The divergence is 10 d(0.2, 0.5),
the plus is log 10, and the posterior has P(mean >= 0.5) = 0.0260.

>>> from profitable.kernels.law import BINOMIAL
>>> bernoulli, seen = Law(BINOMIAL, low=0.0, high=1.0, size=1.0), sums(10, 2)
>>> rules = DIVERGENCE, DIVERGENCE_PLUS, POSTERIOR
>>> [round(evidence(rule, bernoulli, seen, 0.5), 3) for rule in rules]
[1.927, 4.23, 3.648]

Normal rewards of unknown variance have other formulas (`kernels/unknown_variance.py`),
which need the spread.  So what a rule needs depends on the law: `rule.under(law)` is
the rule as it is under a law, and a view has that one.

A new rule is one constant below with what it needs and is, and one branch: in
`evidence_of_sums` if N and S are all it needs, else in `evidence_of_rewards`.
Everything else in the package asks the rule; what a rule does not promise is done the
slow, right way.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from profitable.common.types import Vector
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.empirical import empirical_evidence
from profitable.kernels.exact import is_below, shortfall
from profitable.kernels.law import BINOMIAL, NORMAL, Law, against, posterior_evidence
from profitable.kernels.unknown_variance import (
    says_nothing,
    unknown_variance_evidence,
    unknown_variance_posterior,
)


class Rule(NamedTuple):
    """A way to compute evidence, with its needs and properties."""

    code: int
    needs_spread: bool = False  # `Observed.spread`: the squared deviations from the mean
    needs_values: bool = False  # `Observed.values` and `Observed.counts`: every distinct reward
    # From the sums alone, growing with N and falling with S: the smallest reward is the
    # worst.
    is_monotone: bool = False
    is_zero_above: bool = False  # no evidence while the mean is at or above the threshold
    is_posterior: bool = False  # minus the logarithm of a posterior probability: it takes a prior
    # k, if evidence is about N d + k log N for many clients; -1 if it is not.
    logarithms: float = -1.0
    # N times a function of the rewards' empirical law (+ log N): half the weight, half
    # of it.
    scales: bool = False
    needs_rounds: bool = False  # `Observed.rounds`: the rounds that accepted the category

    @property
    def needs_rewards(self) -> bool:
        """Whether a count and a total are not enough (rewards of 0 and 1 aside)."""
        return self.needs_spread or self.needs_values

    def under(self, law: Law) -> "Rule":
        """Return the rule under a law: unknown variance needs more than N and S."""
        return (
            self._replace(needs_spread=True, is_monotone=False, scales=False)
            if law.code == NORMAL
            else self
        )


RULES: list[Rule] = []


def new_rule(**fields: Any) -> Rule:
    """Register a rule with these needs and properties, under the next free code."""
    RULES.append(Rule(len(RULES), **fields))
    return RULES[-1]


DIVERGENCE = new_rule(is_monotone=True, is_zero_above=True, logarithms=0.0, scales=True)
DIVERGENCE_PLUS = new_rule(is_monotone=True, is_zero_above=True, logarithms=1.0, scales=True)
POSTERIOR = new_rule(is_monotone=True, is_posterior=True, logarithms=0.5)
EMPIRICAL = new_rule(needs_values=True, is_zero_above=True, scales=True)
VARIANCE = new_rule(needs_spread=True, is_zero_above=True, scales=True)
PLUS_OF_ROUNDS = new_rule(
    is_monotone=True, is_zero_above=True, logarithms=1.0, scales=True, needs_rounds=True
)

# On rewards of 0 and 1 these rules have the evidence of another one, which needs the
# sum alone.
ON_ZERO_AND_ONE = {EMPIRICAL.code: DIVERGENCE}


class Observed(NamedTuple):
    """The observations of a category, with the imaginary clients of a prior."""

    clients: float  # N
    total: float  # S: the sum of their statistics
    spread: float  # the sum of squared deviations from S/N; NaN if the rule does not need it
    # [D]: the statistics, if the rule needs them; in any order, and a value may come
    # twice.
    values: Vector
    counts: Vector  # [D]: how many clients have each (0 is fine)
    rounds: float = 0.0  # accepted rounds, if the rule needs them
    carry: float = 0.0  # what the total lost to rounding: S is total + carry


def sums(clients: float, total: float, rounds: float = 0.0) -> Observed:
    """Return what was seen, for rules that need only sums and maybe accepted rounds."""
    return Observed(float(clients), float(total), math.nan, np.empty(0), np.empty(0), float(rounds))


@lazy
def evidence(rule: Rule, law: Law, seen: Observed, threshold: float) -> float:
    """Return the evidence of a rule: 0 without data, NaN for an unknown rule."""
    if not rule.needs_spread and not rule.needs_values:
        return evidence_of_sums(
            rule, law, seen.clients, seen.total, seen.rounds, threshold, seen.carry
        )
    return evidence_of_rewards(rule, law, seen, threshold)


@lazy
def evidence_of_rewards(rule: Rule, law: Law, seen: Observed, threshold: float) -> float:
    """Return the evidence of a rule that needs more than N and S."""
    if seen.clients <= 0.0:
        return 0.0
    if rule.code == VARIANCE.code:
        return variance_evidence(law, seen, threshold)
    if rule.code == EMPIRICAL.code:
        return known_values_evidence(law, seen, threshold)
    if law.code == NORMAL:
        return evidence_of_normal_rewards(rule, law, seen, threshold)
    return math.nan


@part
def evidence_of_normal_rewards(rule: Rule, law: Law, seen: Observed, threshold: float) -> float:
    """Return the evidence under unknown variance, from N, S and the spread."""
    if rule.code == POSTERIOR.code:
        return unknown_variance_posterior(
            law, seen.clients, seen.total, seen.spread, threshold, seen.carry
        )
    nats = unknown_variance_evidence(
        law, seen.clients, seen.total, seen.spread, threshold, seen.carry
    )
    if rule.code == DIVERGENCE.code:
        return nats
    if adds_logarithm(rule):
        return nats + plus(rule, seen.clients, seen.rounds) if nats != 0.0 else 0.0
    return math.nan


@lazy
def evidence_of_sums(
    rule: Rule,
    law: Law,
    clients: float,
    total: float,
    rounds: float,
    threshold: float,
    carry: float,
) -> float:
    """Return the evidence of a rule that needs only N, S and maybe accepted rounds."""
    if rule.code == POSTERIOR.code:
        return posterior_evidence(law, clients, total, threshold, carry)
    if clients <= 0.0:
        return 0.0
    if rule.code == DIVERGENCE.code:
        return against(law, clients, total, threshold, carry)
    if adds_logarithm(rule):
        nats = against(law, clients, total, threshold, carry)
        return nats + plus(rule, clients, rounds) if is_below(clients, total, threshold) else 0.0
    return math.nan


@part
def adds_logarithm(rule: Rule) -> bool:
    """Return whether a rule has a plus."""
    return rule.code in (DIVERGENCE_PLUS.code, PLUS_OF_ROUNDS.code)


@part
def plus(rule: Rule, clients: float, rounds: float) -> float:
    """Return the term of a rule with a plus: log of the clients or accepted rounds.

    It is 0 if less than one is remembered.
    """
    return math.log(max(rounds if rule.needs_rounds else clients, 1.0))


@part
def faded(rule: Rule, nats: float, clients: float, rounds: float, weight: float) -> float:
    """Return the evidence of a rule that scales, when all data count for `weight`.

    So many clients and accepted rounds counted before.

    >>> round(faded(DIVERGENCE_PLUS, 4.230, 10.0, 3.0, 0.5), 3)  # 1.927/2 + log 5
    2.573
    """
    if adds_logarithm(rule) and nats > 0.0:
        rest = max(nats - plus(rule, clients, rounds), 0.0)
        return weight * rest + plus(rule, weight * clients, weight * rounds)
    return weight * nats


@part
def variance_evidence(law: Law, seen: Observed, threshold: float) -> float:
    """Return the evidence of UCB-V.

    It solves 3 B s^2/N + sqrt(2 v/N) s = tau - m with s = sqrt(x) for x, without
    cancellation.
    """
    if not is_below(seen.clients, seen.total, threshold):
        return 0.0
    gap = shortfall(seen.clients, threshold, seen.total, seen.carry) / seen.clients
    width = law.high - law.low
    linear = 2.0 * seen.spread / seen.clients / seen.clients
    root = 2.0 * gap / (math.sqrt(linear) + math.sqrt(linear + 12.0 * width * gap / seen.clients))
    return root * root


@part
def known_values_evidence(law: Law, seen: Observed, threshold: float) -> float:
    """Return the evidence of KL-Emp: N K_inf of the empirical law.

    Of two-point rewards it is the Bernoulli divergence, to the last bit.
    """
    if not is_below(seen.clients, seen.total, threshold):
        return 0.0
    for value in seen.values:
        if law.low < value < law.high:
            return empirical_evidence(seen.values, seen.counts, law.high, threshold)
    return against(
        Law(BINOMIAL, law.low, law.high, 1.0), seen.clients, seen.total, threshold, seen.carry
    )


@kernel
def index(rule: Rule, law: Law, seen: Observed, limit: float) -> float:
    """Return the supremum of thresholds whose evidence is at most `limit`.

    This is the paper's u_a(t), by bisection to the last bit.
    """
    if limit == math.inf or (seen.clients == 0.0 and seen.total == 0.0):
        return law.high
    if rule.is_posterior and limit <= 0.0:
        silent = law.code == NORMAL and says_nothing(
            law, seen.clients, seen.total, seen.spread, True
        )
        return law.high if silent else law.low
    inside = min(max(seen.total / seen.clients if seen.clients > 0.0 else 0.0, law.low), law.high)
    if not rule.is_zero_above:  # as a posterior quantile, it may lie below the mean
        step = max(abs(inside), 1e-3) * 0.1
        while inside > law.low and evidence(rule, law, seen, inside) > limit:
            inside = max(inside - step, law.low)
            step *= 4.0
    outside, found = inside, limit
    step = max(abs(inside), 1e-3) * 0.1
    while True:
        outside = min(outside + step, law.high)
        if outside == math.inf:
            return law.high
        found = evidence(rule, law, seen, outside)
        if found > limit:
            break
        inside = outside
        if outside >= law.high:
            return law.high
        step *= 4.0
    return _last_below(rule, law, seen, limit, (inside, outside, found))


@part
def _last_below(
    rule: Rule, law: Law, seen: Observed, limit: float, start: tuple[float, float, float]
) -> float:
    """Return the largest double in [inside, outside) whose evidence is at most `limit`.

    `start` is inside, outside and the evidence at outside.  The search is that of
    Oliveira and Takahashi (ITP, 2020): a secant that is pushed over the root, so that
    both ends move, and never more than one step behind bisection.
    """
    inside, outside, above = start[0], start[1], start[2] - limit
    below = evidence(rule, law, seen, inside) - limit
    allowed = outside - inside
    first = allowed
    while True:
        width = outside - inside
        middle = 0.5 * (inside + outside)
        if math.isinf(middle):
            middle = 0.5 * inside + 0.5 * outside
        if middle <= inside or middle >= outside:
            return inside
        guess = middle
        if above < math.inf and above > below:
            secant = inside - below * (width / (above - below))
            push = min(max(0.2 * width * width / first, 4e-16 * abs(secant)), abs(middle - secant))
            guess = secant + push if secant < middle else secant - push
            reach = max(allowed - 0.5 * width, 0.0)
            guess = min(max(guess, middle - reach), middle + reach)
            if not inside < guess < outside:  # also if it overflowed, and is not a number
                guess = middle
        nats = evidence(rule, law, seen, guess) - limit
        if nats <= 0.0:
            inside, below = guess, nats
        else:
            outside, above = guess, nats
        allowed *= 0.5
