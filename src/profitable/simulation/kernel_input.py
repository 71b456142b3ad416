"""Kernel input: one policy in one category, in the numbers that kernels read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError
from profitable.kernels.agent_table import FORGOTTEN
from profitable.kernels.evidence import DIVERGENCE, ON_ZERO_AND_ONE, Rule
from profitable.kernels.law import BINOMIAL, GAMMA, GAUSSIAN
from profitable.kernels.patience import DRAWN, Patience
from profitable.kernels.run_record import Feed, Problem, RunTables, TrueLaw
from profitable.kernels.statistic import Cut
from profitable.kernels.worst_case import WITH_CEILING
from profitable.model.category import said_before
from profitable.model.families import Family
from profitable.model.view import View
from profitable.policy.policies import Bayesian, Policy
from profitable.simulation.cut_rewards import never_cut, reward_cells
from profitable.simulation.scenario import Truth

MOST_KEPT = 10**7  # rewards that a policy may keep one by one in a run, at up to 50 bytes each
SELDOM = 0.05  # Exponential rewards that are cut more often than this are drawn one by one
MOST_CLIENTS = 10**18  # in a run; 64-bit integers count clients and whole-number rewards
NO_CELLS = np.zeros((4, 1))


@dataclass(frozen=True)
class KernelInput:
    """The input of the run kernels: the problem and its arrays.

    See `RunTables` in `kernels/run_record.py`.

    The truth in the problem is that of the first phase.
    """

    problem: Problem
    ends: IntArray
    means: FloatArray
    cells: FloatArray
    listed: IntArray

    def tables(self, checkpoints: IntArray, number: int) -> RunTables:
        """Return all arrays of the kernels: those kept here, and records of the runs.

        Recorded are the checkpoints, and the last round of each phase.
        """
        times = np.union1d(checkpoints, self.ends[:-1])
        accepted = np.zeros((number, times.size), dtype=np.int64)
        counted = np.zeros((number, times.size if self.listed.size else 1), dtype=np.int64)
        return RunTables(self.ends, self.means, self.cells, self.listed, times, accepted, counted)


def make_input(
    policy: Policy,
    truth: Truth,
    *,
    horizon: int,
    every_reward: bool,
    beside: Sequence[Truth] = (),
) -> KernelInput:
    """Return the input for a policy of this package.

    `every_reward`: draw rewards one by one even where a sum is enough.  `beside`: other
    bands of its order, whose rewards are drawn in the same way.
    """
    category = truth.category
    if not isinstance(policy, Bayesian):  # only Bayesian policies use the prior in a scenario
        with said_before():
            category = replace(category, prior=None)
    view = policy.view(category)
    rule = policy.rule.under(view.law)
    cut = view.statistic if isinstance(view.statistic, Cut) else None
    if cut is None and view.statistic != category.family.view().statistic:
        raise InputError(  # kernels draw the family's own statistic, cut or not
            "policy",
            str(policy),
            "sees a statistic that the simulator does not draw",
            "simulate it as an object with evidence(category, seen) and patience(t)",
        )
    if category.family.support.is_zero_or_one:
        rule = ON_ZERO_AND_ONE.get(rule.code, rule)
    check_size(truth, horizon)
    # A policy that forgets may need every reward by itself, as soon as it comes: a
    # piece cannot be drawn later if it is forgotten by then, and a window drops the
    # rewards of a round in the order in which they came.
    in_order = rule.needs_values and policy.window is not None
    at_once = rule.needs_rewards and not category.family.support.whole
    singly = every_reward or (policy.forgets and (in_order or at_once))
    feed = _common_feed(
        rule,
        [
            _feed(policy, rule, view, phase.truth, horizon, singly)
            for each in beside or (truth,)
            for phase in each.phases(horizon)
        ],
    )
    if rule.needs_values and feed in (Feed.SINGLES, Feed.PIECES):
        _check_memory(policy, truth, horizon)
    smallest = view.statistic_range[0]
    return _input(
        Problem(
            sight=view.coded(rule),
            patience=policy.within(horizon).coded_patience,
            threshold=view.statistic.of_mean(category.threshold),
            smallest=smallest,
            blocks=smallest > -math.inf and (rule.is_monotone or rule.code in WITH_CEILING),
            truth=_code_truth(truth, feed, cut),
            arrivals=truth.clients.coded(),
            horizon=horizon,
        ),
        truth,
        feed,
    )


def _input(problem: Problem, truth: Truth, feed: Feed) -> KernelInput:
    phases = truth.phases(problem.horizon)
    statistic, means = truth.family.view().statistic, [phase.truth.fixed_mean for phase in phases]
    return KernelInput(
        problem,
        np.array([phase.end for phase in phases], dtype=np.int64),
        np.array([statistic.of_mean(mean) for mean in means]),
        cells_for(truth.family, means, feed, problem.truth.cut_high),
        truth.clients.listed,
    )


def make_open_input(truth: Truth, *, horizon: int) -> KernelInput:
    """Return the input for a custom policy, which sees the rewards themselves.

    Rewards other than 0 and 1 are drawn one by one, so that their squares are known.
    """
    check_size(truth, horizon)
    feed = Feed.SUM if truth.category.family.support.is_zero_or_one else Feed.SINGLES
    return _input(
        Problem(
            sight=truth.category.family.view().coded(DIVERGENCE),  # not used
            patience=Patience(DRAWN),
            threshold=math.nan,
            smallest=-math.inf,
            blocks=False,
            truth=_code_truth(truth, feed, Cut(-math.inf, math.inf)),
            arrivals=truth.clients.coded(),
            horizon=horizon,
        ),
        truth,
        feed,
    )


def _code_truth(truth: Truth, feed: Feed, cut: Cut | None) -> TrueLaw:
    """Return the truth as the kernels read it.

    A policy with a `cut` sees the reward cut to it; others see the statistic.
    """
    own = truth.family.view()
    low, high = (cut.low, cut.high) if cut else (-math.inf, math.inf)
    mean = own.statistic.of_mean(truth.means[0][1])  # `RunTables.means` has those of all phases
    return TrueLaw(own.law, mean, own.statistic.coded, int(feed), cut is not None, low, high)


def cells_for(family: Family, means: list[float], feed: Feed, high: float) -> FloatArray:
    """Return `RunTables.cells`, [phases, 4, D + 1]: rewards with their own cell."""
    if feed == Feed.PIECES:
        return np.full((len(means), 4, 2), high)  # the one value that many rewards have
    if feed != Feed.CELLS:
        return np.repeat(NO_CELLS[None], len(means), axis=0)
    cells = _cells(family, tuple(means)).copy()
    cells[:, 1] = np.minimum(cells[:, 0], high)
    return cells


@lru_cache(maxsize=64)
def _cells(family: Family, means: tuple[float, ...]) -> FloatArray:
    """Return the tables of all phases; a cell is the same reward in each of them."""
    cells = {mean: reward_cells(family, mean) for mean in set(means)}
    if len(cells) > 1:
        widest = max(cells.values(), key=lambda table: table.shape[1])
        order = widest[0, :-1].astype(np.int64)
        cells = {mean: reward_cells(family, mean, order) for mean in cells}
    return np.stack([cells[mean] for mean in means])


def _common_feed(rule: Rule, feeds: list[Feed]) -> Feed:
    """Return the one way to draw that is right in all phases.

    Pieces cannot be drawn later if the mean has changed by then.
    """
    if len(feeds) == 1 or (
        len(set(feeds)) == 1 and not (feeds[0] == Feed.PIECES and rule.needs_rewards)
    ):
        return feeds[0]
    return Feed.CELLS if Feed.CELLS in feeds else Feed.SINGLES


def _feed(
    policy: Policy, rule: Rule, view: View, truth: Truth, horizon: int, every_reward: bool
) -> Feed:
    """Return how rewards are drawn: as one sum where that is exact and sufficient."""
    family = truth.family
    own = family.view()
    plain = own.law.code == GAUSSIAN and own.statistic == view.statistic and own.statistic.is_reward
    if plain and rule.needs_spread and not rule.needs_values and not every_reward:
        return Feed.MOMENTS
    every_reward |= policy.draws and rule.needs_rewards
    zero_or_one = family.support.is_zero_or_one
    needs_more = rule.needs_values or (rule.needs_spread and not zero_or_one)
    cut = view.statistic if isinstance(view.statistic, Cut) else None
    if (cut or needs_more) and family.support.whole and not every_reward:
        clients = horizon * truth.clients.average
        never = cut and never_cut(family, truth.fixed_mean, cut.low, cut.high, clients)
        # If no reward is ever cut, the sum of cut rewards is the plain sum.
        return Feed.SUM if never and not needs_more else Feed.CELLS
    if not every_reward and _in_pieces(rule, view, truth):
        return Feed.PIECES
    if cut or needs_more or (every_reward and not zero_or_one):
        return Feed.SINGLES
    return Feed.SUM


def _in_pieces(rule: Rule, view: View, truth: Truth) -> bool:
    """Return whether rewards can be drawn as pieces.

    They are Exponential, seldom cut, and the rule does not need each of them.

    A rule that needs single rewards is allowed if it has no evidence while the mean is
    above the threshold.
    """
    own, cut = truth.family.view(), view.statistic
    exponential = own.law.code == GAMMA and own.law.size == 1.0 and own.statistic.is_reward
    if (
        not exponential
        or not isinstance(cut, Cut)
        or (rule.needs_rewards and not rule.is_zero_above)
    ):
        return False
    return cut.low <= 0.0 and math.exp(-cut.high / truth.fixed_mean) < SELDOM


def check_size(truth: Truth, horizon: int) -> None:
    """Raise InputError if a run has too many clients, or a list of counts is short."""
    name, clients, law = truth.category.name, truth.clients, truth.family.view().law
    number, reward = horizon * clients.average, 1.0
    if number > MOST_CLIENTS:
        raise InputError(
            "horizon",
            horizon,
            f"brings more than {MOST_CLIENTS:.0g} clients of {name!r}",
            "give a smaller horizon or fewer clients per round",
        )
    if truth.category.family.support.whole:
        trials = law.size if law.code == BINOMIAL else 1.0
        reward = max(trials, *(mean for _, mean in truth.means))
    if number * reward > MOST_CLIENTS:
        raise InputError(
            "horizon",
            horizon,
            f"lets the rewards of {name!r} add up to more than {MOST_CLIENTS:.0g}",
            "give a smaller horizon, or rewards in a larger unit",
        )
    if 0 < clients.listed.size <= horizon:
        counts = clients.listed.size - 1
        raise InputError(
            "horizon",
            horizon,
            f"is beyond the {counts} counts that {name!r} lists in clients",
            f"give at most {counts}, or a longer list",
        )


def _check_memory(policy: Policy, truth: Truth, horizon: int) -> None:
    """InputError if a policy would keep more rewards one by one than `MOST_KEPT`."""
    remembered = math.inf if policy.window is None else float(policy.window)
    if policy.forget < 1.0:
        remembered = math.log(FORGOTTEN) / math.log(policy.forget)
    expected = min(float(horizon), remembered) * truth.clients.average
    if expected > MOST_KEPT:
        raise InputError(
            "horizon",
            horizon,
            f"makes {policy} keep {expected:.1g} rewards of {truth.category.name!r} one by one",
            f"give at most {int(MOST_KEPT / truth.clients.average)}",
        )
