"""Plan: a policy meets a category of a scenario; everything the run kernels need, as arrays."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from profitable.errors import InputError
from profitable.families import Bernoulli, Family
from profitable.kernels import ledger, run, world
from profitable.kernels.law import BINOMIAL, GAMMA
from profitable.kernels.rule import EMPIRICAL, KL, KL_PLUS, VARIANCE
from profitable.lens import Lens
from profitable.policies import Bayesian, BoundedPolicy, Deterministic, Policy
from profitable.scenario import Truth
from profitable.tails import DIVERGENCE, DIVERGENCE_PLUS, POSTERIOR, rejected_per_log_t
from profitable.truncation import never_cut, reward_cells
from profitable.types import FloatArray, IntArray

MOST_KEPT = 10**7  # rewards that KL-Emp-UCB may keep one by one in a run, at up to 50 bytes each
MANY_CLIENTS = 1000  # in the first round: none of them are unlucky together
SELDOM = 0.05  # Exponential rewards that are cut more often than this are drawn singly
MOST_CLIENTS = 10**18  # 64-bit integers count them, and whole-number rewards


@dataclass(frozen=True, slots=True)
class Plan:
    """What `run_rounds` and `run_events` are given; see the columns in `kernels/run.py` and `kernels/world.py`."""

    view: FloatArray
    truth: FloatArray
    cells: FloatArray
    listed: IntArray

    @property
    def knows_revenue(self) -> bool:
        """Whether the sum of the rewards comes out of the sums that are drawn."""
        return self.truth[world.FEED] != world.SUM or self.truth[world.TRANSFORM] == ledger.IDENTITY

    @property
    def draws_per_client(self) -> float:
        """How the work grows with the number of clients, at worst."""
        return world.draws_per_client(self.truth, self.view[run.RULE] in (EMPIRICAL, VARIANCE))


def make_plan(policy: Policy, truth: Truth, *, horizon: int, every_reward: bool) -> Plan:
    """The plan of a policy for one category; `every_reward` draws rewards singly even where their sum would do."""
    category = truth.category
    if not isinstance(policy, Bayesian):  # a prior in the scenario is for those that have one
        category = replace(category, prior=None)
    lens = policy.lens(category)
    rule = policy.rule
    if rule == EMPIRICAL and isinstance(truth.category.family, Bernoulli):
        rule = KL  # two-point rewards: the same evidence, from the sum alone
    feed = _feed(rule, lens, truth, horizon, every_reward)
    check_size(truth, horizon)
    if rule == EMPIRICAL and feed in (world.SINGLES, world.PIECES):
        _check_memory(policy, truth, horizon)
    patience = (policy.c, policy.inflate) if isinstance(policy, Deterministic) else (0.0, 1.0)
    prior = (lens.prior_clients, lens.prior_total)
    target, low = lens.statistic_of_mean(truth.category.threshold), lens.statistic_range[0]
    view = np.array([rule, *lens.law_numbers, *prior, target, low, *patience, policy.draws], dtype=np.float64)
    cells = np.zeros((4, 1))
    if feed == world.CELLS:
        cells = _cells(truth.category.family, truth.mean).copy()
        cells[1] = np.minimum(cells[0], lens.s1)
    elif feed == world.PIECES:
        cells = np.full((4, 2), lens.s1)  # the one value that many rewards have
    return Plan(view, truth_row(truth, feed, lens), cells, truth.clients.listed)


def truth_row(truth: Truth, feed: int, lens: Lens) -> FloatArray:
    """The truth as the kernels read it, for a policy that looks through `lens`."""
    own = truth.category.family.lens()
    seen = (
        (lens.statistic, lens.s0, lens.s1) if lens.statistic == ledger.CUT else (ledger.IDENTITY, -math.inf, math.inf)
    )
    law = (*own.law_numbers, own.statistic_of_mean(truth.mean))
    return np.array([*law, feed, *seen, own.statistic, own.s0, *truth.clients.code], dtype=np.float64)


def _feed(rule: int, lens: Lens, truth: Truth, horizon: int, every_reward: bool) -> int:
    """How rewards are drawn; a sum of whole-number rewards that is never really cut is the plain sum."""
    family = truth.category.family
    cut = lens.statistic == ledger.CUT
    needs_values = rule in (EMPIRICAL, VARIANCE) and not isinstance(family, Bernoulli)
    whole = family.support.whole
    if (cut or needs_values) and whole and not every_reward:
        clients = horizon * truth.clients.average
        plain = not needs_values and never_cut(family, truth.mean, lens.s0, lens.s1, clients)
        return world.SUM if plain else world.CELLS
    if cut and not every_reward and _seldom_cut(lens, truth):
        return world.PIECES
    if cut or needs_values or (every_reward and not isinstance(family, Bernoulli)):
        return world.SINGLES
    return world.SUM


def _seldom_cut(lens: Lens, truth: Truth) -> bool:
    own = truth.category.family.lens()
    exponential = own.law == GAMMA and own.p0 == 1.0 and own.statistic == ledger.IDENTITY
    return exponential and lens.s0 <= 0.0 and math.exp(-lens.s1 / truth.mean) < SELDOM


@lru_cache(maxsize=64)
def _cells(family: Family, mean: float) -> FloatArray:
    return reward_cells(family, mean)


def check_size(truth: Truth, horizon: int) -> None:
    """Whether the clients of a run can be counted, and a list of counts is long enough."""
    if horizon * truth.clients.average > MOST_CLIENTS:
        problem = f"brings more than {MOST_CLIENTS:.0g} clients of {truth.category.name!r}"
        raise InputError("horizon", horizon, problem, "give a smaller horizon or fewer clients per round")
    lens = truth.category.family.lens()
    trials = lens.p2 if lens.law == BINOMIAL else 1.0
    largest = max(trials, truth.mean) if truth.category.family.support.whole else 1.0
    if horizon * truth.clients.average * largest > MOST_CLIENTS:
        problem = f"lets the rewards of {truth.category.name!r} add up to more than {MOST_CLIENTS:.0g}"
        raise InputError("horizon", horizon, problem, "give a smaller horizon, or rewards in a larger unit")
    if 0 < truth.clients.listed.size <= horizon:
        counts = truth.clients.listed.size - 1
        problem = f"is beyond the {counts} counts that {truth.category.name!r} lists in clients"
        raise InputError("horizon", horizon, problem, f"give at most {counts}, or a longer list")


def _check_memory(policy: Policy, truth: Truth, horizon: int) -> None:
    """KL-Emp-UCB keeps continuous rewards one by one."""
    expected = horizon * truth.clients.average
    if expected > MOST_KEPT:
        problem = f"lets {policy} keep about {expected:.1g} rewards of {truth.category.name!r} one by one"
        raise InputError("horizon", horizon, problem, f"give at most {int(MOST_KEPT / truth.clients.average)}")


def heavy_tail(truths: Sequence[Truth], tail: str, t: float, runs: int) -> float:
    """What runs too unlucky to be among those simulated may add to the mean regret at time t: an estimate."""
    missing = 0.0
    for truth in truths:
        rate = unlucky_rate(truth, tail)
        if t > runs * rate > 0.0:
            missing += rate * math.log(t / max(runs * rate, 1.0)) * truth.loss * truth.clients.average
    return missing


def unlucky_rate(truth: Truth, tail: str) -> float:
    """Rejected rounds of a category per log t after an unlucky start (`profitable.tails`); 0 if there are none."""
    lens = truth.category.family.lens()
    if not tail or lens.law != GAMMA or not truth.profitable:
        return 0.0
    ratio = lens.statistic_of_mean(truth.category.threshold) / lens.statistic_of_mean(truth.mean)
    return rejected_per_log_t(tail, ratio, lens.p0, tuple(first_round(truth)))


def tail_of(policy: Policy) -> str:
    """Which tail a policy has where rewards are positive and continuous: none if it sees them cut, or with c > 1."""
    if isinstance(policy, BoundedPolicy) or (isinstance(policy, Deterministic) and policy.c > 1.0):
        return ""
    if isinstance(policy, Bayesian):
        return POSTERIOR
    return DIVERGENCE_PLUS if policy.rule == KL_PLUS else DIVERGENCE


def first_round(truth: Truth) -> list[tuple[int, float]]:
    """How many clients come in round 1, and how likely that is (as far as it matters here)."""
    code, first, second = truth.clients.code
    if code == world.ONE_PLUS_POISSON:
        terms = range(int(first + 10.0 * math.sqrt(first) + 20.0) if first < MANY_CLIENTS else 0)
        return [
            (1 + n, math.exp(n * math.log(first) - first - math.lgamma(n + 1.0)) if first else float(n == 0))
            for n in terms
        ]
    if code == world.UNIFORM:
        width = second - first + 1.0
        return [(int(first) + n, 1.0 / width) for n in range(int(min(width, MANY_CLIENTS)))]
    return [(int(truth.clients.listed[1]) if code == world.LISTED else int(first), 1.0)]
