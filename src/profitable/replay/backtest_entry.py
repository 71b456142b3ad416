"""One policy or baseline of a backtest: profit, confidence interval and sentence.

The interval is that of the bootstrap differences, moved so that their mean is the
difference that was found.

Why it is moved.  A replicate repeats the chances of the past and adds its own, so
categories are stopped by bad luck more often in it than in a new portfolio: the
differences are spread about right, or too far, and lie at the wrong place.  That grows
with the number of categories, and the spread with its root only.  In 300 simulated
portfolios of forty categories below the threshold, quantiles that are not moved covered
the truth in 74 % of cases, moved ones in 96 % (kl-ucb,
tests/replay/test_backtest_entry_coverage.py).

Why a policy that draws at random is replayed twice in each replicate.  An entry is the
mean of many seeds, and a replicate of two.  So the luck of a seed is measured by how
far the two are apart, and most of it is taken out.

Where it may still fail (`too_narrow`).  If hardly any replicate refuses a client, the
rare portfolio in which a good category is stopped by bad luck is in none of them.  If
the clients who are refused hardly differ, since a rare reward did not come, no
replicate has one.  How much too narrow it is depends on the law, which nobody knows: a
warning gives no figure.  Elsewhere, near the threshold or with drift, the interval is
rather too wide.

When a difference is significant (`required`).  One rule for marks, verdicts and
sentences: the interval lies on one side of 0, and the difference is beyond the normal
quantile after Bonferroni correction for the policies tried.

The best set in hindsight is never worse than accepting everybody, or nobody, because
both are among what it is chosen from.  So its interval ends at 0.  The cross-fitted one
has no such limit.  It is the mean over splits, and a replicate over two of them, so
their luck is taken out as that of seeds is.
"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from profitable.common.amounts import Interval
from profitable.common.text_tables import percent_text
from profitable.common.types import BoolArray, FloatArray
from profitable.replay.off_policy import OffPolicy

POLICY, BASELINE = "policy", "baseline"
BETTER, WORSE, UNSURE = "better", "worse", "indistinguishable"
LEVEL = 0.95
# If so many replicates have the difference that was found, they say little about
# chance.
SAME = 0.95
# If fewer clients whose profit stands out are refused, replicates say little about rare
# rewards.
HARDLY_ANY = 2.0
SAME_DIFFERENCE = (
    f"at least {percent_text(SAME)} of the bootstrap portfolios have the same difference, and a "
    "rare unlucky stop is in none"
)
REFUSED_ALIKE = "the clients who are refused are nearly all alike, and others may come"
LEFT_BY_ROUNDING = 1e-9  # of all that clients bring: what rounding leaves of a difference
NO_VARIANCE = 1e-20  # of the squared mean: what rounding leaves
LEAST = 0.05  # of the variance counts, even if the luck of seeds seems to be all of it


@dataclass(frozen=True)
class ShuffledDifference:
    """Difference to accepting all with time shuffled, and its standard error."""

    difference: float
    error: float


@dataclass(frozen=True, eq=False)
class BacktestEntry:
    """One policy or baseline over the past clients."""

    name: str
    kind: str
    earned: FloatArray  # by round and category, [R, K]; the mean of the seeds
    everybody: FloatArray  # what accepting all earned, [R, K]
    clients: float  # accepted clients, the mean of the seeds
    words: str = ""  # for readers who do not know the name
    unit: str = ""  # of money, such as EUR
    seeds: int = 1
    seed_error: float | None = None  # of the profit, over seeds
    # Differences by round, [B, R].
    resampled: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    # Of a seed or a split; if there is one, each replicate is the mean of two.
    seed_variance: float | None = None
    splits: int | None = None  # into halves, whose mean it is
    split_error: float | None = None  # of the profit, over splits
    is_best: bool = False  # chosen in hindsight among what includes everybody and nobody
    varying: float | None = None  # how many clients whose profit stands out are refused
    accepted: FloatArray | None = None  # the share of the seeds that accepts a cell, [R, K]
    evidence: FloatArray | None = None  # of the first seed, [R, K]
    patience: FloatArray | None = None
    decided: BoolArray | None = None  # by the first seed, [R, K]
    # Of loans, before each round, [R, K]: known defaults, and how many break even.
    defaults: FloatArray | None = None
    affordable: FloatArray | None = None
    shuffled: ShuffledDifference | None = None
    off_policy: OffPolicy | None = None
    # By how much intervals are wider than the replicates, which are few folds in other
    # mixtures.
    wider: float = 1.0

    @property
    def refusal(self) -> str | None:
        """Reason why there is no estimate, if there is none."""
        return None if self.off_policy is None else self.off_policy.refusal

    @property
    def profit(self) -> float:
        """Profit over all rounds and categories."""
        return float(self.earned.sum())

    @property
    def full_name(self) -> str:
        """Its words with the short name behind."""
        return f"{self.words} ({self.name})" if self.words else self.name

    @property
    def subject(self) -> str:
        """Its full name at the beginning of a sentence."""
        name = self.full_name
        return name[:1].upper() + name[1:] if self.words else name

    @property
    def difference(self) -> Interval:
        """Difference to accepting all, with its interval."""
        # Accepting all has the difference 0 in each replicate.
        return self._compared(self.profit - float(self.everybody.sum()), self.resampled)

    def against(self, other: "BacktestEntry") -> Interval:
        """Return the difference to another entry, with its interval."""
        return self._compared(self.profit - other.profit, self.resampled - other.resampled)

    def _compared(self, middle: float, differences: FloatArray) -> Interval:
        """Return a difference with the interval of its replicates [B, R]."""
        middle = self._without_rounding(middle)
        if not differences.size:
            return Interval(middle, math.nan, math.nan)
        values = differences.sum(axis=1)
        low, high = map(float, self._interval(middle, values, self._share(values)))
        return Interval(
            middle, self._least(self._without_rounding(low)), self._without_rounding(high)
        )

    def _without_rounding(self, value: float) -> float:
        """Return 0 for what the rounding of sums, or of a mean of seeds, has left."""
        return 0.0 if abs(value) <= self._tiny else value

    @property
    def _tiny(self) -> float:
        return LEFT_BY_ROUNDING * float(np.abs(self.everybody).sum())

    def _least(self, low: Any) -> Any:
        """Return the end of an interval, 0 or more of what is never worse."""
        return max(low, 0.0) if self.is_best else low

    @property
    def spread(self) -> float:
        """Standard error of the difference, over new portfolios of the same law."""
        return self._without_rounding(self._spread(self.resampled))

    def _spread(self, differences: FloatArray) -> float:
        if differences.shape[0] < 2:
            return math.nan
        values = differences.sum(axis=1)
        return self.wider * self._share(values) * float(values.std(ddof=1))

    def required(self, tried: int, other: "BacktestEntry | None" = None) -> float:
        """Return the difference required after Bonferroni correction.

        It is that to accepting all, unless another entry is given.
        """
        found = self.difference if other is None else self.against(other)
        resampled = self.resampled if other is None else self.resampled - other.resampled
        edge = found.middle - found.low if found.middle >= 0.0 else found.high - found.middle
        quantile = NormalDist().inv_cdf(1.0 - (1.0 - LEVEL) / 2.0 / tried)
        return max(quantile * self._spread(resampled), edge)

    def standing(self, tried: int, other: "BacktestEntry | None" = None) -> str:
        """Compare it with accepting all, or another, after Bonferroni correction."""
        middle = (self.difference if other is None else self.against(other)).middle
        # Required is NaN without replicates.
        if self.refusal is not None or not abs(middle) > self.required(tried, other):
            return UNSURE
        return BETTER if middle > 0.0 else WORSE

    def over_time(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the difference up to each round and its interval, [R] each."""
        middle = np.cumsum((self.earned - self.everybody).sum(axis=1))
        if not self.resampled.size:
            nothing = np.full(middle.size, math.nan)
            return middle, nothing, nothing
        values = np.cumsum(self.resampled, axis=1)
        low, high = self._interval(middle, values, self._share(values[:, -1]))
        low[-1] = self._least(low[-1])
        return middle, low, high

    def _interval(self, middle: Any, values: FloatArray, share: float) -> Any:
        """Return quantiles of replicates [B, ...], centred at `middle` and scaled.

        The middle is always between them.  The mean of replicates need not be: a few
        huge ones move it beyond.
        """
        edge = (1.0 - LEVEL) / 2.0
        # "weibull": a further replicate lies between them with probability 95 %,
        # however few there are.
        around = np.quantile(
            values - values.mean(axis=0), [edge, 1.0 - edge], axis=0, method="weibull"
        )
        low, high = np.minimum(around[0], 0.0), np.maximum(around[1], 0.0)
        return middle + self.wider * share * np.stack([low, high])

    def _share(self, values: FloatArray) -> float:
        """Return the factor on the spread of replicates [B] that leaves seeds out.

        A replicate is the mean of two seeds, or splits, and the entry of all.
        """
        total = float(values.var(ddof=1)) if values.size > 1 else 0.0
        if self.seed_variance is None or total <= 0.0:
            return 1.0
        # The variance that is not a seed's luck.
        clients = max(total - self.seed_variance / 2.0, LEAST * total)
        return math.sqrt((clients + self.seed_variance / (self.splits or self.seeds)) / total)

    @property
    def doubt(self) -> str | None:
        """Warning that the interval may be too narrow; None if nothing suggests it."""
        reason = self.too_narrow
        return (
            None if reason is None else f"The interval of {self.name} may be too narrow: {reason}."
        )

    @property
    def too_narrow(self) -> str | None:
        """Reason why the interval may be too narrow; None if nothing suggests it."""
        if self.kind != POLICY or self.refusal is not None or self.resampled.shape[0] < 2:
            return None
        apart = np.abs(self.resampled.sum(axis=1) - self.difference.middle)
        same = float((apart <= self._tiny).mean())
        if same >= SAME:
            return SAME_DIFFERENCE
        if self.varying is not None and self.varying < HARDLY_ANY:
            return REFUSED_ALIKE
        return None

    def sentence(self) -> str:
        """Describe the result in plain words."""
        if self.refusal is not None:
            return f"{self.subject}: refused. {self.refusal}"
        return f"{self.subject} {self.earned_against_all()}."

    def earned_against_all(self, than: str = " than accepting everybody") -> str:
        """Say what it earned beside accepting everybody, as a predicate."""
        found = self.difference
        if found.middle == 0.0:
            span = f" ({found.in_short(self.unit)})" if found.low < found.high else ""
            return f"earned as much as accepting everybody{span}"
        way = "more" if found.middle >= 0.0 else "less"
        size = found.of_size(abs(found.middle), self.unit)
        more = f" ({found.in_short(self.unit)})" if found.is_known else ""
        return f"earned {size} {way}{than}{more}"


def varying(
    found: tuple[FloatArray, FloatArray, FloatArray, FloatArray], refused: FloatArray
) -> float | None:
    """Return the effective number of refused clients whose profit stands out.

    `found` are the `deviations` of profit by category, and `refused` is the share of
    each category that is refused, [K].  With v = (profit - mean of its category)^2 and
    these shares as weights, the number is (sum v)^2 / sum v^2; None if nobody is
    refused.  Where 3 of 1 000 clients bring something, it is about 3.

    >>> from profitable.past.past import deviations
    >>> rare = np.array([1.0] * 3 + [0.0] * 997)
    >>> round(varying(deviations(rare, np.zeros(1_000, int), 1), np.ones(1)), 1)
    3.0
    """
    if not refused.any():
        return None
    number, mean, one, two = found
    one = one.copy()
    one[one <= NO_VARIANCE * number * mean**2] = 0.0  # all alike
    total = float((refused * two)[one > 0.0].sum())
    return float((refused * one).sum()) ** 2 / total if total > 0.0 else 0.0
