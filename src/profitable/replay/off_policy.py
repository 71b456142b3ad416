"""Off-policy evaluation: the value of a policy, estimated from a randomised log.

The log says for each client whether he was accepted (z = 1), with what probability p,
and, if so, what he brought (x). The policy is replayed over the clients; it sees the
outcomes of clients whom it accepts *and* whom the log accepted. A[r, k] is whether it
accepts category k in round r.  Its value is the sum of A x over all clients, and most
of those x are unknown.  Three estimates:

- *inverse propensity*, the sum of A z x / p: without bias, whatever the clients are;
- *self-normalised*: in each category, the number of clients where A, times their mean
  weighted by z / p.  It is slightly biased and varies less: where all clients bring the
  same, it is exact;
- *doubly robust*, the sum of A [m + z / p (x - m)], where m is the mean of the clients
  of that category whom the log accepted in *earlier* rounds (0 if there are none):
  without bias, and better the better m is.

Why these are unbiased for a policy that learns.  Fix the clients and what they would
bring.  All that is random is the log's draws.  A[r, k] and m depend on draws of earlier
rounds only, so in the round of a client both are fixed numbers, and z / p has mean 1:
the mean of A z x / p is A x.  Summed over the rounds, the estimate has the mean of the
value. The outcomes need no law; they may drift, and come late.

Why m is taken from the past, and not from the other half of the clients, as is usual.
A log that learns accepts later clients according to earlier draws, and an agent accepts
a whole category by one draw.  Then the other half knows something of this client's own
draw, and the mean of (1 - z / p) m is no longer 0.  With two clients of one draw, p =
1/2 and x = 1 each: if they are accepted, m = 1 and the estimate is 2; if not, m = 0 and
it is 0.  The mean of the estimate is 1, the value is 2.

What the value is not: that of a policy that sees all it accepts.  By hand: two rounds
with one client each, both bring -1, and the log accepted each with probability 1/2.
The policy accepts until it sees a loss.

    the log accepted    A       value    inverse propensity
    both                1, 0     -1      -1 / 0.5             = -2
    the first           1, 0     -1      -1 / 0.5             = -2
    the second          1, 1     -2      0 - 1 / 0.5          = -2
    nobody              1, 1     -2                              0
    mean                        -1.5                            -1.5

The policy that sees all it accepts would have stopped after the first client, with
value -1.  The estimate is of the slower learner, who sees what the log saw.  For a
policy that does not learn, the two are the same.

>>> clients = SingleClients.of(
...     names=("a",), labels=("1", "2"), round=[1, 2], category=[0, 0], known=[1, 2],
...     reward=[0.0, 0.0], profit=[-1.0, -1.0], logged=[False, True],
...     propensity=[0.5, 0.5],
... )
>>> found = evaluate(AcceptanceLog.of(clients), np.ones((2, 1), bool))
>>> found.inverse_propensity, found.self_normalised, found.doubly_robust
(-2.0, -2.0, -2.0)
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.past.past import SingleClients

# A log in which nobody was refused is taken for whole if that has at least this
# probability.
BY_CHANCE = 0.01
# An effective number below this is small; of clients, if half of them are lost to the
# weights.
FEW_CLIENTS = 30.0
SMALL_PART = 0.1  # and so is one below this part of the clients that it stands for
# Below it, twice the error of an estimate covers the truth too seldom
# (benchmarks/off_policy.py).
FEW_DRAWS = 30.0
# Of the number of accepted clients: draws that matter no more than this are not worth a
# word.
LITTLE_NOISE = 0.05
# Standard deviations between the log and its propensities: a warning in one of 16 000
# correct logs.
MISFIT = 4.0
ACCEPTED_ONLY = (
    "Refused clients are missing from the log: everybody in it was accepted, with propensities "
    "below 1.  So only inverse propensity is defined; the other two must know how many clients "
    "were refused."
)


@dataclass(frozen=True, eq=False)
class LogTables:
    """Sums over the clients of each cell, [R, K]: all that estimates need of a log."""

    offered: FloatArray  # how many clients asked
    weight: FloatArray  # the sum of z / p
    squares: FloatArray  # the sum of (z / p)^2
    weighted: FloatArray  # the sum of z x / p
    robust: FloatArray  # the sum of m + z / p (x - m)
    mean: FloatArray  # m, the same for all clients of a cell


@dataclass(frozen=True, eq=False)
class AcceptanceLog:
    """A log prepared for many policies and many bootstrap weights."""

    clients: SingleClients
    cells: IntArray  # of the clients, [n]
    accepted: IntArray  # the positions of the clients whom the log accepted, [a]
    share: FloatArray  # 1 / p of these, [a]
    propensity: FloatArray  # p of all clients, above 0, [n]
    # Whether the log drew once for all clients of a category and round, as an agent
    # does.
    by_cell: bool
    has_refused: bool  # whether refused clients are in the log

    @classmethod
    def of(cls, clients: SingleClients) -> Self:
        """Prepare a log."""
        logged, propensity, cells = clients.logged, clients.propensity, clients.cells()
        assert logged is not None
        assert propensity is not None
        accepted = np.flatnonzero(logged)
        return cls(
            clients,
            cells,
            accepted,
            1.0 / propensity[accepted],
            propensity,
            _is_drawn_by_cell(cells, logged, propensity),
            accepted.size < len(clients) or _by_chance(clients, propensity) >= BY_CHANCE,
        )

    def draw_weights(self, generator: np.random.Generator) -> IntArray:
        """Draw Poisson weights for a bootstrap replicate, [n], with mean 1.

        Clients whom the log drew together are not independent.  They share a part of
        their weight, Poisson(1 - p), and each has its own Poisson(p).  Then an estimate
        varies over the replicates as much as over new clients and new draws: with x^2 /
        p for each client drawn alone; with x^2 for each client, and (sum x)^2 (1 - p) /
        p for each cell, if the cell was drawn.
        """
        if not self.by_cell:
            return generator.poisson(1.0, len(self.clients))
        chance = np.ones(self.clients.rounds * len(self.clients.names))
        chance[self.cells] = self.propensity
        own = generator.poisson(self.propensity)
        return own + generator.poisson(1.0 - chance)[self.cells]

    def tables(self, weights: npt.NDArray[Any] | None = None) -> LogTables:
        """Return the sums by cell; each client counts `weights` times, [n].

        >>> clients = SingleClients.of(
        ...     names=("a",), labels=("1", "2"), round=[1, 2, 2], category=[0, 0, 0],
        ...     known=[1, 2, 2], reward=[1.0, 3.0, 0.0], profit=[1.0, 3.0, 0.0],
        ...     logged=[1, 1, 0], propensity=[1.0, 0.25, 0.25],
        ... )

        In round 2, m is 1, and the clients count as 1 + 4 (3 - 1) and 1:

        >>> tables = AcceptanceLog.of(clients).tables()
        >>> tables.weighted[:, 0].tolist(), tables.robust[:, 0].tolist()
        ([1.0, 12.0], [1.0, 10.0])
        """
        counts = None if weights is None else np.asarray(weights, np.float64)
        times = np.ones(self.accepted.size) if counts is None else counts[self.accepted]
        profit = self.clients.profit[self.accepted]
        offered = self._sum(self.cells, counts)
        cells, inverse = self.cells[self.accepted], times * self.share
        weight, weighted = self._sum(cells, inverse), self._sum(cells, inverse * profit)
        mean = _mean_before(self._sum(cells, times * profit), self._sum(cells, times))
        robust = weighted + mean * (offered - weight)
        return LogTables(
            offered, weight, self._sum(cells, inverse * self.share), weighted, robust, mean
        )

    def error(self, accepted: npt.NDArray[Any], mean: FloatArray | None = None) -> float:
        """Return the standard error that the log's draws bring, given the clients.

        That is the root of the sum of A z (1 - p) ((x - m) / p)^2 over what was drawn
        independently; without `mean`, m is 0.  Its square has the mean of the squared
        difference between the estimate and the value.
        """
        cells = self.cells[self.accepted]
        gap = self.clients.profit[self.accepted] - (0.0 if mean is None else mean.ravel()[cells])
        # sqrt(1 - p) / p (x - m).
        noise = np.sqrt(np.maximum(self.share * (self.share - 1.0), 0.0)) * gap
        part = np.asarray(accepted, np.float64)
        if self.by_cell:
            return float(np.sqrt(((part * self._sum(cells, noise)) ** 2).sum()))
        return float(np.sqrt((part**2 * self._sum(cells, noise**2)).sum()))

    def _sum(self, cells: IntArray, values: FloatArray | None) -> FloatArray:
        rounds, categories = self.clients.rounds, len(self.clients.names)
        sums = np.bincount(cells, values, minlength=rounds * categories)
        return sums.astype(np.float64).reshape(rounds, categories)


class LogSupport(NamedTuple):
    """Effective draws, noise and weakest category of an estimate."""

    draws: float  # the effective number of draws; infinite if all that it accepts was certain
    # The standard deviation of the estimated number of accepted clients, as a part of
    # that number.
    noise: float
    category: str  # where most of the error comes from


def inverse_propensity(accepted: npt.NDArray[Any], tables: LogTables) -> float:
    """Return the sum of A z x / p."""
    return float((accepted * tables.weighted).sum())


def doubly_robust(accepted: npt.NDArray[Any], tables: LogTables) -> float:
    """Return the sum of A [m + z / p (x - m)]."""
    return float((accepted * tables.robust).sum())


def self_normalised(accepted: npt.NDArray[Any], tables: LogTables) -> float:
    """Return the sum over categories of clients where A times their weighted mean.

    NaN if a category has clients and no weight there.
    """
    offered, weight = (
        (accepted * tables.offered).sum(axis=0),
        (accepted * tables.weight).sum(axis=0),
    )
    some = offered > 0.0
    if (weight[some] == 0.0).any():
        return float("nan")
    return float(
        (offered[some] * (accepted * tables.weighted).sum(axis=0)[some] / weight[some]).sum()
    )


def effective_size(accepted: npt.NDArray[Any], tables: LogTables) -> float:
    """Return (sum w)^2 / sum w^2 of the weights w = A z / p.

    As many equally weighted clients would be as informative.
    """
    squares = float((np.square(accepted, dtype=np.float64) * tables.squares).sum())
    return float((accepted * tables.weight).sum()) ** 2 / squares if squares > 0.0 else 0.0


def support(log: AcceptanceLog, accepted: npt.NDArray[Any]) -> LogSupport:
    """Count the log's draws that carry the error of the estimates.

    A draw about n clients brings n z / p to the estimated number of clients, with
    variance v = n^2 (1 - p) / p.  Its error is known from the draws that were accepted:
    n^2 z (1 - p) / p^2, whose mean is v and whose mean square is v^2 / p.  The
    effective number of draws is (sum v)^2 / sum(v^2 / p): of m draws with the same p,
    the m p that are expected to be accepted.  It follows from the propensities alone.
    What was really accepted would not show where nobody was, and there the estimates
    and their errors are too small together.
    """
    cells, size, chance = log.cells, np.ones(log.cells.size), log.propensity
    if log.by_cell:  # one draw for all clients of a cell
        cells, first, size = np.unique(cells, return_index=True, return_counts=True)
        chance = chance[first]
    part = np.asarray(accepted, np.float64).ravel()[cells]
    variance = np.square(part * size) * (1.0 - chance) / chance
    squares = variance**2 / chance
    if not squares.any():
        return LogSupport(math.inf, 0.0, "")
    number = len(log.clients.names)
    category = int(np.bincount(cells % number, squares, minlength=number).argmax())
    total = float(variance.sum())
    noise = math.sqrt(total) / float((part * size).sum())
    return LogSupport(total**2 / float(squares.sum()), noise, log.clients.names[category])


@dataclass(frozen=True, kw_only=True)
class OffPolicy:
    """Estimates of what a policy would have earned, or the reason why there is none."""

    inverse_propensity: float | None = None
    # What the log's draws alone bring, given the clients.
    inverse_propensity_error: float | None = None
    self_normalised: float | None = None
    doubly_robust: float | None = None
    doubly_robust_error: float | None = None
    clients: float = 0.0  # whom the policy accepts
    effective_size: float = 0.0
    refusal: str | None = None
    warnings: tuple[str, ...] = ()


def evaluate(
    log: AcceptanceLog, accepted: npt.NDArray[Any], tables: LogTables | None = None
) -> OffPolicy:
    """Estimate the value of decisions `accepted`, [R, K]: bool, or shares of seeds."""
    tables = log.tables() if tables is None else tables
    found = OffPolicy(
        clients=float((accepted * tables.offered).sum()),
        effective_size=effective_size(accepted, tables),
    )
    asked = ((accepted > 0) & (tables.offered > 0.0)).any(axis=0)
    empty = np.flatnonzero(asked & (tables.weight.sum(axis=0) == 0.0))
    if empty.size:
        refusal = (
            f"The policy accepts category {log.clients.names[int(empty[0])]!r}, and the log "
            "accepted nobody of it: there is no outcome to weight."
        )
        return replace(found, refusal=refusal)
    found = replace(
        found,
        inverse_propensity=inverse_propensity(accepted, tables),
        inverse_propensity_error=log.error(accepted),
    )
    few = _few_draws(log, accepted)
    if not log.has_refused:
        found = replace(found, clients=float((accepted * tables.weight).sum()))
        return replace(found, warnings=(ACCEPTED_ONLY, *_small(found), *few))
    normalised = self_normalised(accepted, tables)
    warnings = (*_small(found), *few, *_misfit(log))
    if np.isnan(normalised):
        nobody = "In some category, the log accepted nobody where the policy accepts"
        warnings += (f"{nobody}: self-normalised is not defined.",)
    return replace(
        found,
        self_normalised=None if np.isnan(normalised) else normalised,
        doubly_robust=doubly_robust(accepted, tables),
        doubly_robust_error=log.error(accepted, tables.mean),
        warnings=warnings,
    )


def _small(found: OffPolicy) -> tuple[str, ...]:
    size, clients = found.effective_size, found.clients
    if size >= min(0.5 * clients, max(FEW_CLIENTS, SMALL_PART * clients)):
        return ()
    text = (
        f"The weights are large: the {clients:,.0f} clients whom the policy accepts are known as "
        f"well as {size:,.0f} would be."
    )
    return (text,)


def _few_draws(log: AcceptanceLog, accepted: npt.NDArray[Any]) -> tuple[str, ...]:
    found = support(log, accepted)
    if found.draws >= FEW_DRAWS or found.noise <= LITTLE_NOISE:
        return ()
    draws = (
        f"{found.draws:,.{0 if found.draws >= 9.5 else 1}f} "
        f"draw{'' if round(found.draws, 1) == 1.0 else 's'}"
    )
    whole = " The log drew once for all clients of a category and round." if log.by_cell else ""
    rest = (
        f"The estimates rest on about {draws} of the log, most of all in category "
        f"{found.category!r}.{whole}"
    )
    small = (
        f"Below {FEW_DRAWS:.0f}, their errors (±) are too small, and self-normalised is biased: "
        "go by the interval."
    )
    return (f"{rest} {small}",)


def _misfit(log: AcceptanceLog) -> tuple[str, ...]:
    """Warn if the log accepted far more or fewer clients than its propensities say."""
    expected = log.clients.by_cell(log.propensity)
    variances = log.propensity * (1.0 - log.propensity)
    if log.by_cell:
        variances = expected * (log.clients.by_cell() - expected)
    spread, number, mean = float(variances.sum()) ** 0.5, log.accepted.size, float(expected.sum())
    if abs(number - mean) <= MISFIT * spread + 1e-6 * len(log.clients):
        return ()
    text = f"it accepted {number:,} clients, and they say {mean:,.0f} give or take {spread:,.0f}"
    remedy = "Some refused clients are missing, or the propensities are wrong."
    return (f"The log does not fit its propensities: {text}.  {remedy}",)


def _is_drawn_by_cell(cells: IntArray, logged: BoolArray, propensity: FloatArray) -> bool:
    """Whether all clients of each cell share one propensity and one draw."""
    different, first, place = np.unique(cells, return_index=True, return_inverse=True)
    leader = first[place]
    same = (logged == logged[leader]) & (propensity == propensity[leader])
    return bool(same.all()) and cells.size > different.size


def _by_chance(clients: SingleClients, propensity: FloatArray) -> float:
    """Bound the probability that nobody is refused: one draw for each cell."""
    offered = clients.by_cell()
    means = np.divide(
        clients.by_cell(propensity),
        offered,
        out=np.ones_like(offered),
        where=offered > 0,
    )
    return float(np.prod(means))


def _mean_before(totals: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the mean of earlier rounds, [R, K]; 0 where there is none."""
    mean = np.zeros_like(totals)
    before = np.cumsum(counts, axis=0)[:-1]
    np.divide(np.cumsum(totals, axis=0)[:-1], before, out=mean[1:], where=before > 0.0)
    return mean
