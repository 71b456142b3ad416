"""Curve: what one policy did in a scenario, over many runs."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from profitable.common import check
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError, ParameterError
from profitable.simulation.running_stats import Moments, count_into, new_histogram, quantile
from profitable.simulation.scenario import Scenario
from profitable.theory.unlucky_start import unlucky_rate

FEW_RUNS = 50  # below this, one run is always a large part of the whole
LARGE_PART = 0.25  # of the squared deviations; with light tails, the largest of 1000 runs has about 1 %
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PARTS = ("regret", "profitable", "unprofitable")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a run's row hold which quantity, for n checkpoints and K categories."""

    points: int
    categories: int

    def place(self, name: str) -> slice:
        """The columns of a quantity.

        - `regret`, `profitable`, `unprofitable` [n]: the regret at each checkpoint, and its two parts.
        - `regret_rise`, `profitable_rise`, `unprofitable_rise` [n]: their rise from each checkpoint to the last one.
        - `accepted` [K n]: accepted rounds of each category at each checkpoint.
        - `clients`, `profit` [K], `total_profit`, `right_set` [1]: at the horizon.
        """
        n, k = self.points, self.categories
        sizes = {part + suffix: n for suffix in ("", "_rise") for part in PARTS}
        sizes |= {"accepted": k * n, "clients": k, "profit": k, "total_profit": 1, "right_set": 1}
        start = 0
        for key, size in sizes.items():
            if key == name:
                return slice(start, start + size)
            start += size
        raise InputError("name", name, "is no quantity", f"choose from {', '.join(sizes)}")

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.place("right_set").stop


@dataclass
class Curve:
    """One policy: regret and what lies behind it, at the checkpoints `t` [n].

    Arrays over categories are [K, n] or, at the horizon, [K].  All values are means over runs.  `stderr` and `error`
    are standard errors (NaN for one run).
    """

    policy: str
    kernel: str
    scenario: Scenario
    t: IntArray
    moments: Moments
    counts: IntArray
    seconds: float = 0.0
    key: str = ""  # the policy with all its parameters; random streams are named after it
    tail: str = ""  # see `theory/unlucky_start.py`
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        self.layout = Layout(self.t.size, len(self.scenario.truths))

    @classmethod
    def empty(cls, policy: str, kernel: str, scenario: Scenario, t: IntArray, *, key: str, tail: str) -> "Curve":
        """A curve without runs."""
        layout = Layout(t.size, len(scenario.truths))
        moments, counts = Moments.empty(layout.size), new_histogram(t.size)
        return cls(policy, kernel, scenario, t, moments, counts, key=key, tail=tail)

    def add(self, rows: FloatArray, seconds: float) -> None:
        """Add a block of runs: `rows` is [runs, columns]."""
        self.moments.add(Moments.of(rows))
        count_into(self.counts, rows[:, self.layout.place("regret")] / self._unit)
        self.seconds += seconds

    def mean(self, name: str) -> FloatArray:
        """The mean over runs of a quantity of `Layout.place`."""
        return self._shaped(name, self.moments.mean)

    def error(self, name: str) -> FloatArray:
        """The standard error of `mean(name)`."""
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
        """The standard error of `regret`, [n]; see `carried_by_few` before you trust it."""
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
    def carried_by_few(self) -> BoolArray:
        """Where a few runs carry the mean, so that its standard error is too small, [n].

        One reason is a single run that makes up a large part of the squared deviations.  The other is runs too rare to
        be among the simulated ones, if they may add more to the mean than its standard error.  That happens with
        Exponential-type rewards that start close to 0.
        """
        place = self.layout.place("regret")
        largest, squares = self.moments.high[place], self.moments.squares[place]
        if self.runs < 2:
            return np.zeros(self.t.size, dtype=np.bool_)
        one_run = (largest - self.regret) ** 2 > LARGE_PART * squares
        one_run &= (squares > 0.0) & (self.runs >= FEW_RUNS)
        missing = np.array([self._missing(float(t)) for t in self.t])
        return one_run | (missing > self.stderr)

    @cached_property
    def _unlucky(self) -> list[tuple[float, float]]:
        """For each category with unlucky starts: rejected rounds per log t, and what such a round costs."""
        found: list[tuple[float, float]] = []
        for truth in self.scenario.truths if self.tail else ():
            rate = unlucky_rate(truth.category, truth.mean, self.tail, truth.clients.first_round())
            if rate > 0.0:
                found.append((rate, truth.loss * truth.clients.average))
        return found

    def _missing(self, t: float) -> float:
        """An estimate of what runs too rare to be among the simulated ones may add to the mean regret at time t."""
        return math.fsum(
            rate * math.log(t / max(self.runs * rate, 1.0)) * cost
            for rate, cost in self._unlucky
            if t > self.runs * rate
        )

    def quantile(self, share: float) -> FloatArray:
        """The regret that this share of the runs does not exceed, to within half a per cent, [n]; 0.5 is the median."""
        if not check.fits(check.number(share), 0.0, 1.0):
            raise ParameterError("share", share, "is no share of the runs", "give a number from 0 to 1")
        place = self.layout.place("regret")
        low, high = self.moments.low[place], self.moments.high[place]
        return np.clip(quantile(self.counts, low / self._unit, high / self._unit, share) * self._unit, low, high)

    @property
    def _unit(self) -> float:
        """What one wrong round costs in the most expensive category.  The histogram counts regret in this unit."""
        return max(truth.loss * truth.clients.average for truth in self.scenario.truths) or 1.0

    def slope(self, start: float, part: str = "regret") -> tuple[float, float]:
        """Regret per log t from the checkpoint `start` to the last one, and its standard error.

        `part` may be "profitable" or "unprofitable": the regret of those categories alone.
        """
        found = np.flatnonzero(self.t == start)
        if part not in PARTS:
            raise InputError("part", part, "is no part of the regret", f"choose from {', '.join(PARTS)}")
        if found.size != 1 or start == self.t[-1]:
            raise InputError("start", start, "is no checkpoint before the last", f"choose from {self.t[:-1]}")
        place = int(found[0])
        width = float(np.log(self.t[-1]) - np.log(self.t[place]))
        return float(self.mean(f"{part}_rise")[place]) / width, float(self.error(f"{part}_rise")[place]) / width

    def warning(self) -> str | None:
        """What to know before trusting the error bars; None if there is nothing to say."""
        if not self.carried_by_few[-1]:
            return None
        share = self.largest_share[-1]
        missing = self._missing(float(self.t[-1]))
        rare = f"; rarer ones may add about {missing:.2g}" if missing > 0.0 else ""
        return (
            f"{self.policy}: a few unlucky runs carry the mean regret (the largest holds {share:.1%} of it{rare}), so "
            f"that its standard error {self.stderr[-1]:.3g} is too small; look at the quantiles, or give more runs"
        )

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON-ready values."""
        names = self.scenario.names
        accepted = self.accepted_rounds
        profit, errors = self.mean("profit"), self.error("profit")
        return {
            "policy": self.policy,
            "kernel": self.kernel,
            "t": self.t.tolist(),
            "regret": _plain(self.regret),
            "stderr": _plain(self.stderr),
            "accepted_rounds": {name: _plain(row) for name, row in zip(names, accepted, strict=True)},
            "seconds": round(self.seconds, 3),
            "runs": self.runs,
            "regret_profitable": _plain(self.mean("profitable")),
            "regret_unprofitable": _plain(self.mean("unprofitable")),
            "quantiles": {f"{share:g}": _plain(self.quantile(share)) for share in QUANTILES},
            "largest_run_share": _plain(self.largest_share),
            "carried_by_few_runs": self.carried_by_few.tolist(),
            "at_horizon": {
                "clients": dict(zip(names, _plain(self.mean("clients")), strict=True)),
                "profit": dict(zip(names, _plain(profit), strict=True)),
                "profit_stderr": dict(zip(names, _plain(errors), strict=True)),
                "total_profit": _plain(self.mean("total_profit"))[0],
                "total_profit_stderr": _plain(self.error("total_profit"))[0],
                "right_set_share": _plain(self.mean("right_set"))[0],
            },
            "warning": self.warning(),
        }


def _plain(values: FloatArray) -> list[float | None]:
    """A list for JSON, which has no NaN: it becomes None."""
    return [float(value) if np.isfinite(value) else None for value in values]
