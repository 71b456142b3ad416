"""Your own policy: a small class with an index, or with evidence and patience.

    class Cautious:
        name = "cautious"

        def index(self, category, seen, t):
            return seen.mean + np.sqrt(np.log(t) / (2 * seen.clients))

It is simulated together with the policies of this package, round by round.  Round 1
accepts every category.  Round t + 1 calls the policy with t and accepts if the index is
at least the threshold.  A policy with `evidence(category, seen)` and `patience(t)`
instead of an index accepts if evidence <= patience.

The options of this package's policies (`forget`, `window`, `floor`) are not for these
policies: what they are to do, they do in their own index, evidence or patience.

`seen` holds arrays over runs, so that plain NumPy expressions decide for many runs at
once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common.types import BoolArray, FloatArray, IntArray, RecordArray
from profitable.errors import InputError, ParameterError
from profitable.kernels.rounds import accept_round
from profitable.kernels.run_record import Problem, RunTables, Signal
from profitable.model.category import Category
from profitable.policy.policies import POLICIES


@dataclass(frozen=True, slots=True)
class Seen:
    """Observations of a category in each run, as a custom policy sees them.

    Attributes
    ----------
    clients : array
        Number of clients whose rewards are known, [runs].
    total : array
        Sum of their rewards, [runs].
    squares : array
        Sum of their squared rewards, [runs].

    Examples
    --------
    >>> seen = Seen(np.array([4.0]), np.array([2.0]), np.array([2.0]))
    >>> seen.mean, seen.variance
    (array([0.5]), array([0.25]))

    """

    clients: FloatArray
    total: FloatArray
    squares: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean reward, [runs]."""
        return self.total / self.clients

    @property
    def variance(self) -> FloatArray:
        """The variance of the rewards (with 1/N), [runs]."""
        return np.maximum(self.squares / self.clients - self.mean**2, 0.0)


def check_custom(policy: Any) -> str:
    """Return the name of a custom policy; ParameterError if it is not valid.

    It must be able to decide, and its name must not be taken.
    """
    name = getattr(policy, "name", None)
    if isinstance(policy, type) or not isinstance(name, str) or not name.strip():
        raise ParameterError(
            "policy",
            policy,
            "must be a policy",
            "give a name such as 'kl-ucb', a policy, or an object with a name and an index",
        )
    if name.partition(":")[0] in POLICIES:
        raise ParameterError(
            "name of the policy", name, "belongs to a policy of this package", "choose another"
        )
    if not hasattr(policy, "index") and not (
        hasattr(policy, "evidence") and hasattr(policy, "patience")
    ):
        raise ParameterError(
            "policy",
            name,
            "has no way to decide",
            "give it index(category, seen, t), or evidence(category, seen) and patience(t)",
        )
    return name


def run_custom(
    policy: Any,
    category: Category,
    worlds: Sequence[np.random.Generator],
    signal: IntArray,
    problem: Problem,
    tables: RunTables,
    runs: RecordArray,
) -> int:
    """Play `run_rounds` for a policy written in Python.

    All runs of a block advance together, round by round.

    `worlds` has one generator for all runs, or one for each run (common random
    numbers).  Returns the number of finished runs: 0 if it was stopped.
    """
    place = 0
    accepts: BoolArray = np.ones(len(runs), dtype=np.bool_)
    phase = 0
    for t in range(problem.horizon):
        if signal[Signal.STOP] != 0:
            return 0
        if t == tables.ends[phase]:
            phase += 1
            problem = problem._replace(
                truth=problem.truth._replace(mean=float(tables.means[phase]))
            )
        if t > 0:
            # The policy gets copies, so that it cannot change the records.
            accepts = _decide(
                policy,
                category,
                Seen(*(runs[name].copy() for name in ("clients", "total", "squares"))),
                t,
            )
        for k, generator in enumerate(worlds):
            part = slice(None) if len(worlds) == 1 else slice(k, k + 1)
            accept_round(generator, problem, tables, t, accepts[part], runs[part])
        runs["rounds"] += accepts
        if place < tables.times.size and tables.times[place] == t + 1:
            tables.accepted[:, place] = runs["rounds"]
            if tables.listed.size:
                tables.counted[:, place] = runs["arrived"]
            place += 1
    signal[Signal.DONE] += runs.size
    runs["accepted_last"] = accepts
    return runs.size


def _decide(policy: Any, category: Category, seen: Seen, t: int) -> BoolArray:
    if hasattr(policy, "index"):
        left, right = (
            np.float64(category.threshold),
            np.asarray(policy.index(category, seen, t), dtype=np.float64),
        )
    else:
        left = np.asarray(policy.evidence(category, seen), dtype=np.float64)
        right = np.asarray(policy.patience(t), dtype=np.float64)
    if np.isnan(left).any() or np.isnan(right).any():
        raise InputError(
            "policy",
            policy.name,
            f"gives NaN for category {category.name!r} at t = {t}",
            "correct its index, or its evidence and patience",
        )
    verdict = left <= right
    if verdict.shape not in ((), seen.clients.shape):
        raise InputError(
            "policy",
            policy.name,
            f"gives numbers of shape {verdict.shape} for {seen.clients.size} runs",
            "give one number, or one for each run",
        )
    return np.broadcast_to(verdict, seen.clients.shape).copy()
