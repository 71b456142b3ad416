"""Evidence and patience of a run.

Evidence comes from its sums, and from its sample where the rule needs more.

For Exponential rewards that are seldom cut (feed `PIECES`) only sums are drawn.  The
single rewards are drawn later, given their sums, and only if they matter: they do not
while the mean is at or above the threshold and the rule is zero there. The sample is
then, in this order: the bound and how many rewards are cut to it; the rewards drawn
singly; the pieces that are still sums.

Example: 50 rewards drawn as one piece of sum 104, against a threshold of 2.  The mean
is 2.08, so the evidence of KL-Emp-UCB is 0 whatever the single rewards are, and they
stay undrawn.
"""

import math

import numpy as np

from profitable.common.types import FloatArray, IntVector, Matrix
from profitable.kernels.compile import inlined, lazy, part
from profitable.kernels.cut_exponential import split_up
from profitable.kernels.empirical import empirical_dual
from profitable.kernels.evidence import EMPIRICAL, RULES, Observed, evidence, evidence_of_sums
from profitable.kernels.exact import is_below, squared_deviations, weighted_deviations
from profitable.kernels.patience import AHEAD, clients_per_round, patience_at
from profitable.kernels.rewards import make_room
from profitable.kernels.run_record import Feed, Problem, Run, Signal

KNOWN_RULES = len(RULES)  # the evidence of any other code is no number, which rejects


@inlined
def defers_singles(problem: Problem) -> bool:
    """Return whether single rewards are drawn only when they are needed."""
    rule = problem.sight.rule
    return problem.truth.feed == Feed.PIECES and (rule.needs_spread or rule.needs_values)


@inlined
def keeps_values(problem: Problem) -> bool:
    """Return whether the run has to keep a sample."""
    return problem.sight.rule.needs_values or defers_singles(problem)


@inlined
def evidence_now(problem: Problem, run: Run, sample: Matrix) -> float:
    """Return the evidence of what the run has seen."""
    view = problem.sight
    clients, total = run.clients + view.prior_clients, run.total + view.prior_total
    # Before anything is called: most rounds that are accepted end here.
    known = view.rule.is_zero_above and view.rule.code < KNOWN_RULES
    if known and not is_below(clients, total, problem.threshold):
        return 0.0
    if not view.rule.needs_spread and not view.rule.needs_values:
        return evidence_of_sums(
            view.rule, view.law, clients, total, run.taken, problem.threshold, 0.0
        )
    return evidence_of_sample(problem, run, sample)


@inlined
def patience_now(problem: Problem, run: Run) -> float:
    """Return the patience of the next round; infinite if it is drawn."""
    if problem.patience.kind != AHEAD:
        return patience_at(problem.patience, float(run.now), math.nan, math.nan)
    known = run.clients + problem.sight.prior_clients
    per_round = clients_per_round(problem.patience, float(run.arrived), float(run.rounds))
    return patience_at(problem.patience, float(run.now), known, per_round)


@lazy
def evidence_of_sample(problem: Problem, run: Run, sample: Matrix) -> float:
    """Return the evidence of a rule that needs more than the sums."""
    view = problem.sight
    values, counts = sample[0, : run.kept], sample[1, : run.kept]
    if view.rule.code == EMPIRICAL.code:
        rises = problem.threshold < view.law.high and sample[1, 0] == 0.0 and run.slope >= 0.0
        if defers_singles(problem) and rises:
            return max(0.0, run.at_largest)  # the concave dual still rises where it ends
        # The same as below, but the search for the dual begins where the last one
        # ended.
        nats, run.multiplier = empirical_dual(
            values, counts, view.law.high, problem.threshold, run.multiplier
        )
        return nats
    spread = math.nan
    if problem.truth.feed == Feed.MOMENTS:
        spread = run.spread
    elif view.rule.needs_spread and run.clients == float(run.arrived):
        spread = squared_deviations(run.clients, run.total, 0.0, run.squares, 0.0)
    elif view.rule.needs_spread:  # some of it is forgotten
        spread = weighted_deviations(run.clients, run.total, 0.0, run.squares, 0.0)
    clients, total = run.clients + view.prior_clients, run.total + view.prior_total
    seen = Observed(clients, total, spread, values, counts, run.taken, 0.0)
    return evidence(view.rule, view.law, seen, problem.threshold)


@lazy
def resolve(
    rng: np.random.Generator, signal: IntVector, problem: Problem, run: Run, sample: Matrix
) -> Matrix:
    """Draw the single rewards of all pieces, if they matter; return the sample."""
    if not is_below(run.clients, run.total, problem.threshold):
        return sample
    mean, bound = problem.truth.mean, problem.truth.cut_high / problem.truth.mean
    size = max(run.resolved, 1)
    pieces = sample[:, size : run.kept].copy()
    for piece in range(pieces.shape[1]):
        if signal[Signal.STOP] != 0:
            break
        number = int(pieces[1, piece])
        sample = make_room(sample, size, size + number)
        values = sample[0, size : size + number]
        while split_up(rng, pieces[0, piece], values) > bound:
            pass
        squares = 0.0
        for i in range(number):
            values[i] *= mean
            squares += values[i] * values[i]
        run.squares += squares
        if problem.sight.rule.needs_values:
            sample[1, size : size + number] = 1.0
            _note_largest_dual(problem, run, values)
            size += number
    run.resolved = size
    run.kept = size
    return sample


@part
def _note_largest_dual(problem: Problem, run: Run, values: FloatArray) -> None:
    """Add values to the dual of KL-Emp-UCB at its largest multiplier, and its slope.

    The largest multiplier is 1/(high - tau).
    """
    high, threshold = problem.sight.law.high, problem.threshold
    for value in values:
        ratio = (high - value) / (high - threshold)
        run.at_largest += math.log(ratio)
        run.slope += (threshold - value) / ratio
