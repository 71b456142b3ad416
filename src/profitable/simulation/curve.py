"""Curve: what one policy did in a scenario, over many runs."""

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from profitable.common import check
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError, ParameterError
from profitable.simulation.running_stats import BlockSums, Moments, new_histogram, quantile
from profitable.simulation.scenario import Scenario
from profitable.theory.unlucky_start import LostForGood, UnluckyStarts

FEW_RUNS = 50  # fewer say nothing about rare runs
HEAVY = 9.0  # the kurtosis of exponential numbers; a larger one means rare large runs
RELIABLE = 0.01  # an error that is itself known to 1 % is not worth a warning
# Standard errors around the mean that cover the truth in about 95 % of samples.
BELOW, ABOVE, FAR_ABOVE = 2.0, 2.0, 3.0
WORTH_A_MARK = 0.25  # of a standard error: with so much added above, two errors still cover 94 %
# Of the regret: so much more is no reason for a mark, however small the error.
NOTHING_TO_SEE = 1e-9
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
PARTS = ("regret", "profitable", "unprofitable")
NO_UNLUCKY_STARTS = UnluckyStarts()
DAGGER, QUESTION = " †", " ?"  # marks of an error in tables


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of a run's row by quantity, for n checkpoints and K categories."""

    points: int
    categories: int

    @property
    def sizes(self) -> dict[str, int]:
        """The number of columns of each quantity, in their order.

        - `regret`, `profitable`, `unprofitable` [n]: the regret at each checkpoint, and
          its two parts.  If a mean changes, the first part has the rounds in which the
          category is profitable, the second one the others.
        - `regret_rise`, `profitable_rise`, `unprofitable_rise` [n]: their rise from
          each checkpoint to the last one.
        - `accepted` [K n]: accepted rounds of each category at each checkpoint.
        - `clients`, `profit` [K], `total_profit` [1]: at the horizon.
        - `right_set` [1]: whether the last round accepts exactly the profitable
          categories.
        - `lost` [1]: whether a profitable category is rejected in more than half of all
          rounds; NaN if a category is profitable in some rounds only.
        """
        n, k = self.points, self.categories
        return {part + suffix: n for suffix in ("", "_rise") for part in PARTS} | {
            "accepted": k * n,
            "clients": k,
            "profit": k,
            "total_profit": 1,
            "right_set": 1,
            "lost": 1,
        }

    @property
    def size(self) -> int:
        """The number of columns."""
        return sum(self.sizes.values())

    def place(self, name: str) -> slice:
        """Return the columns of a quantity; InputError if it is not known."""
        sizes = self.sizes
        if name not in list(sizes):  # callers may give anything, also lists
            raise InputError("name", name, "is not a quantity", f"choose from {', '.join(sizes)}")
        start = sum(list(sizes.values())[: list(sizes).index(name)])
        return slice(start, start + sizes[name])


@dataclass(frozen=True, slots=True)
class Estimate:
    """The best estimate of the true mean regret, [n] each.

    - `mean`, `error`: the estimate and its standard error.
    - `above`: how far above the truth may lie; below it is two errors.
    - `carried_by_few`: where rare large runs carry the estimate, so that two errors
      above are too little.
    """

    mean: FloatArray
    error: FloatArray
    above: FloatArray
    carried_by_few: BoolArray


@dataclass
class Curve:
    """Regret of one policy, and its parts, over many runs.

    All values are means over runs, at the checkpoints [n].  Arrays over the K
    categories are [K, n] or, at the horizon, [K].

    Attributes
    ----------
    policy : str
        Name of the policy, as given.
    kernel : str
        "events" or "rounds".
    scenario : Scenario
        The scenario in which it was played.
    t : array of shape [n]
        Checkpoints.
    moments : Moments
        Moments of all quantities of `RowLayout`.
    counts : array of shape [n, bins]
        Histogram of the regret at each checkpoint.
    seconds : float
        Time of all runs, divided by the number of workers.
    key : str
        The policy with all its parameters, which names its random streams.
    unlucky : UnluckyStarts
        Waits too rare for these runs, as far as theory knows them.
    lost_for_good : LostForGood, optional
        Losses of a policy that stops for good, by importance sampling.

    Examples
    --------
    >>> from profitable import Bernoulli, Category, Scenario, Truth, simulate
    >>> coin = Truth(Category("coin", Bernoulli(), threshold=0.6), mean=0.5)
    >>> result = simulate(Scenario("coin", [coin]), ["ts"], horizon=100, runs=100)
    >>> curve = result["ts"]
    >>> curve.runs, int(curve.t[-1]), curve.accepted_rounds.shape == (1, curve.t.size)
    (100, 100, True)

    """

    policy: str
    kernel: str
    scenario: Scenario
    t: IntArray
    moments: Moments
    counts: IntArray
    seconds: float = 0.0
    key: str = ""  # the policy with all its parameters; random streams are named after it
    unlucky: UnluckyStarts = NO_UNLUCKY_STARTS
    lost_for_good: LostForGood | None = None

    @property
    def layout(self) -> RowLayout:
        """The columns of the moments."""
        return RowLayout(self.t.size, len(self.scenario.names))

    @classmethod
    def empty(
        cls,
        policy: str,
        kernel: str,
        scenario: Scenario,
        t: IntArray,
        *,
        key: str,
        unlucky: UnluckyStarts,
        lost_for_good: LostForGood | None = None,
    ) -> "Curve":
        """Return a curve without runs.

        Parameters
        ----------
        policy : str
            Name of the policy.
        kernel : str
            "events" or "rounds".
        scenario : Scenario
            The scenario.
        t : array of shape [n]
            Checkpoints.
        key : str
            Name of its random streams.
        unlucky : UnluckyStarts
            Waits too rare to be seen.
        lost_for_good : LostForGood, optional
            Losses too rare to be seen.

        Returns
        -------
        Curve
            The curve.

        """
        return cls(
            policy,
            kernel,
            scenario,
            t,
            Moments.empty(RowLayout(t.size, len(scenario.names)).size),
            new_histogram(t.size),
            key=key,
            unlucky=unlucky,
            lost_for_good=lost_for_good,
        )

    def add(self, rows: FloatArray, seconds: float) -> None:
        """Add a block of runs.

        Parameters
        ----------
        rows : array of shape [runs, columns]
            Quantities of each run (`RowLayout`).
        seconds : float
            Time that they took.

        """
        self.add_sums(BlockSums.of(rows, self.layout.place("regret"), self.scenario.unit, seconds))

    def add_sums(self, block: BlockSums) -> None:
        """Add a block of runs of which only the sums are known.

        Parameters
        ----------
        block : BlockSums
            Sums over its runs.

        """
        self.moments.add(block.moments)
        self.counts.reshape(-1)[block.bins] += block.counts
        self.seconds += block.seconds

    def mean(self, name: str) -> FloatArray:
        """Return the mean over runs of a quantity.

        Parameters
        ----------
        name : str
            A quantity of `RowLayout.place`, such as "regret" or "accepted".

        Returns
        -------
        array
            Of shape [n], [K, n], [K] or [1], depending on the quantity.

        """
        return self._shaped(name, self.moments.mean)

    def error(self, name: str) -> FloatArray:
        """Return the standard error of `mean(name)`.

        Parameters
        ----------
        name : str
            A quantity of `RowLayout.place`.

        Returns
        -------
        array
            Of the shape of `mean(name)`; NaN for one run.

        """
        return self._shaped(name, self.moments.stderr())

    def _shaped(self, name: str, values: FloatArray) -> FloatArray:
        found = values[self.layout.place(name)]
        return found.reshape(self.layout.categories, -1) if name == "accepted" else found

    @property
    def runs(self) -> int:
        """Finished runs."""
        return self.moments.runs

    @property
    def regret(self) -> FloatArray:
        """Mean pseudo-regret, [n]."""
        return self.mean("regret")

    @property
    def stderr(self) -> FloatArray:
        """The standard error of `regret`, [n]; see also `carried_by_few`."""
        return self.error("regret")

    @property
    def accepted_rounds(self) -> FloatArray:
        """Mean accepted rounds of each category, [K, n]."""
        return self.mean("accepted")

    @property
    def largest_share(self) -> FloatArray:
        """The share of the largest run in the regret of all runs, [n]."""
        largest = self.moments.high[self.layout.place("regret")]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.regret > 0.0, largest / (self.regret * self.runs), 0.0)

    @property
    def stderr_uncertainty(self) -> FloatArray:
        """The relative uncertainty of `stderr` itself, [n]: 0.2 means 20 %.

        NaN where it is unknown.
        """
        return self._shaped("regret", self.moments.stderr_uncertainty())

    @property
    def carried_by_few(self) -> BoolArray:
        """Where rare large runs carry the mean, so that two errors are too little, [n].

        One reason is seen in the runs: their kurtosis is above that of exponential
        numbers even without the largest of them.  Then more such runs are missing from
        some samples than from others, and a sample that lacks them has both a mean that
        is too low and an error that is too small.  A single large run is not a reason:
        it makes the error too large rather than too small.

        The others are known from theory.  Waits may be too rare to be among the
        simulated runs, and may add more to the mean than its standard error.  That
        happens with Exponential-type rewards that start close to 0.  And a policy that
        stops for good may lose a profitable category too rarely for these runs
        (`estimate`).
        """
        if self.runs < 2:
            return np.zeros(self.t.size, dtype=np.bool_)
        return self._rare_runs("regret") | (self._missing > self.stderr) | self._unseen_losses

    @property
    def mark(self) -> str:
        """The mark of its last error in tables.

        It is † if `carried_by_few`, and ? if `is_unsure`.
        """
        return DAGGER if self.carried_by_few[-1] else QUESTION if self.is_unsure else ""

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Limits that cover the true mean regret in about 95 % of samples, [n] each.

        They are two standard errors below and above the mean; NaN for one run.  Where
        `carried_by_few`, the upper one is three, and what waits too rare for these runs
        may add.  For a policy that stops for good it is at least that of `estimate`.
        """
        high, estimate = self.regret + self._above(self.carried_by_few), self.estimate
        return self.regret - BELOW * self.stderr, np.fmax(high, estimate.mean + estimate.above)

    @property
    def estimate(self) -> Estimate:
        """The best estimate of the true mean regret.

        It is `regret`, unless theory knows a part of it better.  A policy that stops
        for good loses a profitable category in few runs, and much in each of them.
        Importance sampling knows the mean of that (`simulation/tilted_runs.py`).  Where
        its error is smaller than that of so many runs, it replaces the regret of the
        profitable categories.
        """
        few = (
            self._rare_runs("regret") | (self._missing > self.stderr)
            if self.runs > 1
            else self.carried_by_few
        )
        plain = Estimate(self.regret, self.stderr, self._above(few), few)
        if self.lost_for_good is None or not self.lost_for_good.is_known or self.runs < 2:
            return plain
        lost, lost_error, deviation = (np.array(each) for each in astuple(self.lost_for_good))
        better, few = lost_error < deviation / math.sqrt(self.runs), self._rare_runs("unprofitable")
        error = np.hypot(self.error("unprofitable"), lost_error)
        return Estimate(
            np.where(better, self.mean("unprofitable") + lost, plain.mean),
            np.where(better, error, plain.error),
            np.where(better, np.where(few, FAR_ABOVE, ABOVE) * error, plain.above),
            np.where(better, few, plain.carried_by_few),
        )

    def _above(self, few: BoolArray) -> FloatArray:
        return np.where(few, FAR_ABOVE * self.stderr + self._missing, ABOVE * self.stderr)

    @property
    def _unseen_losses(self) -> BoolArray:
        """Where losses for good that are not seen make two errors too little."""
        if self.lost_for_good is None:
            return np.zeros(self.t.size, dtype=np.bool_)
        estimate = self.estimate
        more = estimate.mean + estimate.above - (self.regret + ABOVE * self.stderr)
        least = np.maximum(WORTH_A_MARK * self.stderr, NOTHING_TO_SEE * self.regret.max())
        return (estimate.mean > self.regret) & (more > least)

    def _rare_runs(self, part: str) -> BoolArray:
        """Return where rare large runs are seen in the regret, or in a part of it."""
        heavy = self._shaped(part, self.moments.kurtosis_without_largest()) > HEAVY
        uncertainty = self._shaped(part, self.moments.stderr_uncertainty())
        return heavy & (uncertainty > RELIABLE) & (self.runs >= FEW_RUNS)

    @property
    def _missing(self) -> FloatArray:
        """Mean regret that runs too rare to be simulated may add, [n]."""
        if not self.unlucky.rates:
            return np.zeros(self.t.size)
        costs = [truth.loss * truth.clients.average for truth in self.scenario.truths]
        return np.array(
            [
                math.fsum(
                    cost * rounds
                    for cost, rounds in zip(costs, self.unlucky.unseen(float(t), self.runs))
                )
                for t in self.t
            ]
        )

    @property
    def is_unsure(self) -> bool:
        """Whether an unknown number of rare waits or losses may be missing."""
        return not self.unlucky.known or (
            self.lost_for_good is not None and not self.lost_for_good.is_known
        )

    def quantile(self, share: float) -> FloatArray:
        """Return a quantile of the regret over runs, to within half a per cent.

        Parameters
        ----------
        share : float
            Share of the runs that do not exceed it, from 0 to 1; 0.5 is the median.

        Returns
        -------
        array of shape [n]
            The quantile at each checkpoint.

        """
        if not check.fits(check.number(share), 0.0, 1.0):
            raise ParameterError(
                "share", share, "must be a share of the runs", "give a number from 0 to 1"
            )
        place = self.layout.place("regret")
        low, high = self.moments.low[place], self.moments.high[place]
        unit = self.scenario.unit
        return np.clip(quantile(self.counts, low / unit, high / unit, share) * unit, low, high)

    def slope(self, start: float, part: str = "regret") -> tuple[float, float]:
        """Return the regret per log t from a checkpoint to the last one.

        Parameters
        ----------
        start : float
            A checkpoint before the last one.
        part : str
            "regret", or "profitable" or "unprofitable" for a part of it.

        Returns
        -------
        tuple of float
            The slope and its standard error.

        """
        found = np.flatnonzero(self.t == check.number(start))
        if part not in PARTS:
            raise InputError(
                "part", part, "is not a part of the regret", f"choose from {', '.join(PARTS)}"
            )
        if found.size != 1 or start == self.t[-1]:
            raise InputError(
                "start",
                start,
                "is not a checkpoint before the last one",
                f"choose from {self.t[:-1]}",
            )
        place = int(found[0])
        width = float(np.log(self.t[-1]) - np.log(self.t[place]))
        return float(self.mean(f"{part}_rise")[place]) / width, float(
            self.error(f"{part}_rise")[place]
        ) / width

    def warning(self) -> str | None:
        """Return what to know before trusting the error bars.

        Returns
        -------
        str or None
            One sentence, or None if the errors can be trusted.

        """
        said: list[str] = []
        error, uncertainty = self.stderr[-1], self.stderr_uncertainty[-1]
        if self.carried_by_few[-1]:
            missing, more = self._missing[-1], self.estimate.mean[-1] - self.regret[-1]
            reasons = {
                f"is itself uncertain by {uncertainty:.0%}, because rare large runs carry it": (
                    self._rare_runs("regret")[-1]
                ),
                "does not show waits too rare for these runs, "
                f"which may add about {missing:.2g} to the mean": missing > error,
                "does not show profitable categories lost for good in runs too rare for these, "
                f"which add about {more:.2g} to the mean": self._unseen_losses[-1],
            }
            low, high = (limit[-1] for limit in self.interval)
            said.append(
                f"the standard error {error:.3g} of the regret "
                f"{' and '.join(text for text, applies in reasons.items() if applies)}; "
                f"take {low:.4g} to {high:.4g} for the true mean, or give more runs"
            )
        elif self.runs >= FEW_RUNS and error > 0.0 and np.isnan(uncertainty):
            said.append(
                "its error cannot be judged, because the fourth powers of its regret are not finite"
            )
        if not self.unlucky.known:
            said.append(
                "theory does not know its patience or its evidence, so it is unknown whether waits "
                "too rare for these runs are missing from its mean"
            )
        elif self.is_unsure:
            said.append(
                "whether a profitable category is lost for good in runs too rare to be seen cannot "
                "be known from these runs, because its mean changes or its variance is unknown"
            )
        return f"{self.policy}: {'; '.join(said)}" if said else None

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON-ready values.

        Returns
        -------
        dict
            Numbers at the checkpoints and at the horizon; NaN becomes None.

        """
        names = self.scenario.names
        accepted = self.accepted_rounds
        profit, errors, estimate = self.mean("profit"), self.error("profit"), self.estimate
        return {
            "policy": self.policy,
            "kernel": self.kernel,
            "t": self.t.tolist(),
            "regret": _plain(self.regret),
            "stderr": _plain(self.stderr),
            "accepted_rounds": {
                name: _plain(row) for name, row in zip(names, accepted, strict=True)
            },
            "seconds": round(self.seconds, 3),
            "runs": self.runs,
            "regret_profitable": _plain(self.mean("profitable")),
            "regret_unprofitable": _plain(self.mean("unprofitable")),
            "quantiles": {f"{share:g}": _plain(self.quantile(share)) for share in QUANTILES},
            "largest_run_share": _plain(self.largest_share),
            "carried_by_few_runs": self.carried_by_few.tolist(),
            "stderr_uncertainty": _plain(self.stderr_uncertainty),
            "interval": [_plain(limit) for limit in self.interval],
            "estimate": _plain(estimate.mean),
            "estimate_stderr": _plain(estimate.error),
            "at_horizon": {
                "clients": dict(zip(names, _plain(self.mean("clients")), strict=True)),
                "profit": dict(zip(names, _plain(profit), strict=True)),
                "profit_stderr": dict(zip(names, _plain(errors), strict=True)),
                "total_profit": _plain(self.mean("total_profit"))[0],
                "total_profit_stderr": _plain(self.error("total_profit"))[0],
                "right_set_share": _plain(self.mean("right_set"))[0],
                "lost_share": _plain(self.mean("lost"))[0],
            },
            "warning": self.warning(),
        }


def _plain(values: FloatArray) -> list[float | None]:
    """Return a list for JSON, with None for NaN."""
    return [float(value) if np.isfinite(value) else None for value in values]
