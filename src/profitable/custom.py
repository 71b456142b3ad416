"""Your own policy: a small class with an index, or with evidence and patience.

    class Cautious:
        name = "cautious"

        def index(self, category, seen, t):
            return seen.mean + np.sqrt(np.log(t) / (2 * seen.clients))

It runs beside the policies of this package, round by round.  `seen` holds arrays over runs, so that plain NumPy
expressions decide for many runs at once; with evidence and patience, `evidence(category, seen) <= patience(t)` accepts.
Round 1 accepts everybody, and round t + 1 asks for time t.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.category import Category
from profitable.errors import InputError, ParameterError
from profitable.families import Bernoulli
from profitable.kernels import ledger, run, world
from profitable.plan import Plan, check_size, truth_row
from profitable.policies import POLICIES
from profitable.scenario import Truth
from profitable.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Seen:
    """What has been observed of a category, run by run: arrays [runs]."""

    clients: FloatArray
    total: FloatArray
    squares: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean reward."""
        return self.total / self.clients

    @property
    def variance(self) -> FloatArray:
        """The variance of the rewards (with 1/N)."""
        return np.maximum(self.squares / self.clients - self.mean**2, 0.0)


def check_custom(policy: Any) -> str:
    """The name of a policy that is not one of this package's, if it is one at all."""
    name = getattr(policy, "name", None)
    if isinstance(policy, type) or not isinstance(name, str) or not name.strip():
        remedy = "give a name such as 'kl-ucb', a policy, or an object with a name and an index"
        raise ParameterError("policy", policy, "is no policy", remedy)
    if name.partition(":")[0] in POLICIES:
        raise ParameterError("name of the policy", name, "belongs to a policy of this package", "choose another")
    if not hasattr(policy, "index") and not (hasattr(policy, "evidence") and hasattr(policy, "patience")):
        remedy = "give it index(category, seen, t), or evidence(category, seen) and patience(t)"
        raise ParameterError("policy", name, "has no way to decide", remedy)
    return name


def custom_plan(truth: Truth, horizon: int) -> Plan:
    """Rewards as they are, one by one, so that their squares are known too."""
    lens = truth.category.family.lens()
    feed = world.SUM if isinstance(truth.category.family, Bernoulli) else world.SINGLES
    check_size(truth, horizon)
    row = truth_row(truth, feed, lens)
    row[world.VIEW] = ledger.CUT  # into (-inf, inf): the reward itself, not its statistic
    return Plan(np.zeros(run.VIEW_COLUMNS), row, np.zeros((4, 1)), truth.clients.listed)


def run_custom(
    policy: Any,
    category: Category,
    plan: Plan,
    worlds: Sequence[np.random.Generator],
    signal: IntArray,
    horizon: int,
    checkpoints: IntArray,
    accepted: IntArray,
    counted: IntArray,
    clients: IntArray,
    outcome: FloatArray,
) -> int:
    """`run_rounds` for a policy written in Python: all runs of a block advance together, round by round.

    One world for all runs, or one for each (common random numbers).
    """
    runs = len(clients)
    states = np.zeros((runs, world.STATE_ROWS))
    rounds = np.zeros(runs, dtype=np.int64)
    place = 0
    accepts: BoolArray = np.ones(runs, dtype=np.bool_)
    for t in range(horizon):
        if signal[run.STOP] != 0:
            return 0
        if t > 0:
            seen = states.copy()  # what a policy does to it stays with the policy
            columns = (seen[:, world.CLIENTS], seen[:, world.TOTAL], seen[:, world.SQUARES])
            accepts = _decide(policy, category, Seen(*columns), t)
        for k, generator in enumerate(worlds):
            part = slice(None) if len(worlds) == 1 else slice(k, k + 1)
            numbers = (plan.truth, plan.cells, plan.listed, t, accepts[part], states[part], clients[part])
            run.accept_round(generator, *numbers)
        rounds += accepts
        if place < checkpoints.size and checkpoints[place] == t + 1:
            accepted[:, place] = rounds
            if plan.listed.size:
                counted[:, place] = clients
            place += 1
    signal[run.DONE] += runs
    outcome[:, run.LAST_ACCEPTED] = accepts
    outcome[:, run.EARNED] = states[:, world.REVENUE]
    outcome[:, run.SUCCESSES] = states[:, world.TOTAL]
    return runs


def _decide(policy: Any, category: Category, seen: Seen, t: int) -> BoolArray:
    if hasattr(policy, "index"):
        left, right = np.float64(category.threshold), np.asarray(policy.index(category, seen, t), dtype=np.float64)
    else:
        left = np.asarray(policy.evidence(category, seen), dtype=np.float64)
        right = np.asarray(policy.patience(t), dtype=np.float64)
    if np.isnan(left).any() or np.isnan(right).any():
        problem = f"gives NaN for category {category.name!r} at t = {t}"
        raise InputError("policy", policy.name, problem, "mend its index, or its evidence and patience")
    verdict = left <= right
    if verdict.shape not in ((), seen.clients.shape):
        problem = f"gives numbers of shape {verdict.shape} for {seen.clients.size} runs"
        raise InputError("policy", policy.name, problem, "give one number, or one for each run")
    return np.broadcast_to(verdict, seen.clients.shape).copy()
