"""The verdict of a backtest: one rule for headline, sentences, marks and warnings.

1. A backtest from which no policy could learn in time is uninformative.  It has no
   winner, whatever was earned.
2. A difference is significant if it is beyond what `BacktestEntry.required` asks for,
   after Bonferroni correction for the policies that were tried.
3. Where accepting everybody loses, accepting nobody is the better baseline.  A policy
   is named as beating if it is significantly better than accepting everybody, and than
   accepting nobody where that is the baseline.
4. Where a file has no dates, and a policy does well in the order of the rows but not in
   a random one, the order decides, and neither is significant.
5. What rests on outcomes that are assumed to be known at once is said in the sentence
   itself.

Everything follows from the entries, and from what could be learnt.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from profitable.common.amounts import Interval, in_short
from profitable.common.text_tables import number_text, percent_text, several
from profitable.replay.backtest_entry import (
    BETTER,
    LEVEL,
    POLICY,
    UNSURE,
    WORSE,
    BacktestEntry,
)
from profitable.replay.baselines import ACCEPT_NONE, ALL, CROSS_FITTED
from profitable.replay.learnable import Learnable
from profitable.replay.order_doubt import order_doubt

# Of the clients: fewer who asked when enough was known show nothing, unless a
# difference is significant.
HARDLY_INFORMED, LITTLE_INFORMED = 0.05, 0.2  # the second, if every policy accepted everybody
AT_ONCE = "every outcome is known before the next round, which this file does not say"
UNINFORMATIVE = "This backtest is uninformative"


@dataclass(frozen=True, eq=False)
class BacktestVerdict:
    """What the entries of a backtest show.

    `immediate` says that outcomes were assumed to be known at once, and `learnable`
    what policies could learn in time.
    """

    entries: Sequence[BacktestEntry]
    unit: str = ""  # of money
    immediate: bool = False
    learnable: Learnable | None = None
    variants: int | None = None  # policies of all groupings; those of the entries if None
    dated: bool = True  # whether clients stand in the order of time, not of the rows only
    grouping: str = ""  # the name of the categories, if there are several groupings

    # ------------------------------------------------------------------------- the rule

    @cached_property
    def judged(self) -> list[BacktestEntry]:
        """The policies that have a number."""
        return [each for each in self.entries if each.kind == POLICY and each.refusal is None]

    @property
    def tried(self) -> int:
        """Number of policies for which significance is corrected."""
        return max(self.variants or len(self.judged), 1)

    @cached_property
    def everybody(self) -> BacktestEntry:
        """Accepting everybody."""
        return self._entry(ALL)

    @cached_property
    def baseline(self) -> BacktestEntry:
        """Accepting everybody, or nobody where everybody loses."""
        return self._entry(ACCEPT_NONE) if self.everybody.profit < 0.0 else self.everybody

    def _entry(self, name: str) -> BacktestEntry:
        return next(each for each in self.entries if each.name == name)

    @property
    def nobody_is_better(self) -> bool:
        """Whether accepting nobody is the better baseline."""
        return self.baseline.name == ACCEPT_NONE

    def standing(self, entry: BacktestEntry) -> str:
        """Compare an entry with accepting everybody, as the marks do."""
        if entry.kind == POLICY and (self.reason is not None or self._is_by_order(entry)):
            return UNSURE
        return entry.standing(self.tried)

    def _is_by_order(self, entry: BacktestEntry) -> bool:
        """Whether a result rests on the order of rows, which may not be time."""
        return not self.dated and order_doubt(entry, dated=False) is not None

    def _lead(self, entry: BacktestEntry) -> Interval:
        """Return the difference to the baseline."""
        return entry.against(self.baseline)

    @cached_property
    def beating(self) -> list[BacktestEntry]:
        """Policies that are significantly better than the baselines, the best first."""
        found = [
            each
            for each in self.judged
            if self.standing(each) == BETTER and each.standing(self.tried, self.baseline) == BETTER
        ]
        return sorted(found, key=lambda each: -each.profit)

    @cached_property
    def reason(self) -> str | None:
        """Why the backtest is uninformative; None if it is not."""
        found = self.learnable
        if found is None or not self.judged:
            return None
        if found.is_nothing:
            return found.reason()
        moved = any(each.difference.middle != 0.0 for each in self.judged)
        surely = any(each.standing(self.tried) != UNSURE for each in self.judged)
        hardly = found.informed < (HARDLY_INFORMED if moved else LITTLE_INFORMED)
        return found.reason() if hardly and not surely else None

    # -------------------------------------------------------------------- its sentences

    @property
    def first_line(self) -> str | None:
        """Say that the backtest is uninformative, if it is."""
        return None if self.reason is None else f"{UNINFORMATIVE}: {self.reason}."

    def sentence(self, entry: BacktestEntry) -> str:
        """Describe an entry in plain words."""
        if self.reason is None or entry.kind != POLICY or entry.refusal is not None:
            return entry.sentence()
        return f"{entry.subject} could not learn in time, so its profit says nothing about it."

    def text(self) -> str:
        """Say whether any policy beats the baseline, and what rests on what."""
        return " ".join(filter(None, [self._ruled(), self._order()]))

    @cached_property
    def order_doubts(self) -> list[str]:
        """Say which policies a shuffled order contradicts, the best first."""
        ordered = sorted(self.judged, key=lambda each: -each.difference.middle)
        found = (order_doubt(each, dated=self.dated) for each in ordered)
        return [each for each in found if each is not None]

    def _order(self) -> str:
        """Say that shuffled time contradicts the order, in a sentence."""
        said = any(map(self._is_by_order, self.judged)) and not self.beating
        if not self.order_doubts or said or self.reason is not None:
            return ""
        others = len(self.order_doubts) - 1
        more = f" The same holds for {number_text(others)} more." if others else ""
        return f"The order matters: {self.order_doubts[0]}.{more}"

    def _ruled(self) -> str:
        if not self.judged:
            return "No policy can be judged on this log."
        if self.reason is not None:
            said = (
                "No verdict: the policies had next to nothing to learn from, so that their "
                "profits say nothing about them. Take a longer past, or one whose outcomes are "
                "known sooner."
            )
            return f"{said} {self.found()}".strip()
        if self.beating:
            return self._praise()
        said = self._nobody_wins() if self.nobody_is_better else self._everybody_wins()
        return f"{said} {self._findable()}".strip()

    @property
    def _these(self) -> str:
        """The categories that were tried, where there are others."""
        return f"by {self.grouping}" if self.grouping else "by these categories"

    def _order_decides(self, best: BacktestEntry) -> str:
        """Say that the lead of the best one is that of the order of the rows."""
        mixed = 0.0 if best.shuffled is None else best.shuffled.difference
        way = "more" if mixed >= 0.0 else "less"
        return (
            f" It {best.earned_against_all()} in the order of the rows, and "
            f"{in_short(abs(mixed), self.unit)} {way} in random order: the file has no dates, so "
            "that its order decides, and not the policy."
        )

    @property
    def _versus(self) -> str:
        if not self.nobody_is_better:
            return "accepting everybody here"
        return (
            "accepting nobody (the better baseline, because accepting everybody loses "
            f"{in_short(-self.everybody.profit, self.unit)})"
        )

    def _earned(self, entry: BacktestEntry) -> str:
        """Say what an entry earned beside the baseline, as a predicate."""
        if not self.nobody_is_better:
            return entry.earned_against_all(than="")
        lead = self._lead(entry)
        way = "earned" if lead.middle >= 0.0 else "lost"
        span = f" ({lead.in_short(self.unit)})" if lead.is_known else ""
        return f"{way} {lead.of_size(abs(lead.middle), self.unit)}{span}"

    def _praise(self) -> str:
        best, *others = self.beating
        given = f", if {AT_ONCE}" if self.immediate else ""
        said = f"{best.subject} beats {self._versus}{given}: it {self._earned(best)}."
        if others:
            verb = "does" if len(others) == 1 else "do"
            said += f" {', '.join(each.name for each in others)} {verb}, too."
        return said

    def _everybody_wins(self) -> str:
        best = max(self.judged, key=lambda each: each.difference.middle)
        even = f", even if {AT_ONCE}" if self.immediate else ""
        if self._is_by_order(best):
            return f"{self._no_better(best, even)}.{self._order_decides(best)}"
        if best.difference.middle > 0.0:
            if not best.difference.is_known:
                return self._unknown(best)
            return (
                f"No policy is significantly better than accepting everybody here{even}: the lead "
                f"of {best.full_name} may be chance ({best.difference.in_short(self.unit)})."
            )
        said = f"No policy beats accepting everybody here{even}."
        if all(self.standing(each) == WORSE for each in self.judged):
            number = "It is" if len(self.judged) == 1 else f"All {len(self.judged)} are"
            said += f" {number} significantly worse."
        if len(self.judged) > 1:
            said += f" The best of them, {best.full_name}, {self._earned(best)}."
        return said

    def _nobody_wins(self) -> str:
        best = max(self.judged, key=lambda each: each.profit)
        even = f", even if {AT_ONCE}" if self.immediate else ""
        if best.profit > 0.0 and not self._lead(best).is_known:
            return self._unknown(best)
        if self._is_by_order(best):
            return f"{self._no_better(best, even)}.{self._order_decides(best)}"
        who = best.subject if len(self.judged) == 1 else f"The best of them, {best.full_name},"
        said = f"No policy is significantly better than {self._versus}{even}."
        said += f" {who} {self._earned(best)}."
        if any(self.standing(each) == BETTER for each in self.judged):
            said += " Being better than accepting everybody is not enough here."
        return said

    def _no_better(self, best: BacktestEntry, even: str) -> str:
        return (
            f"No policy can be said to beat {self._versus}{even}, not even the best of them, "
            f"{best.full_name}"
        )

    def _unknown(self, best: BacktestEntry) -> str:
        given = f" if {AT_ONCE}" if self.immediate else ""
        return (
            f"{best.subject} earned the most{given}; without bootstrap replays nobody knows "
            "whether that is chance."
        )

    @cached_property
    def _fitted(self) -> BacktestEntry | None:
        """The cross-fitted set, if there is one."""
        return next((each for each in self.entries if each.name == CROSS_FITTED), None)

    def found(self) -> str:
        """Say that there was something to find, if that is significant."""
        fitted = self._fitted
        if fitted is None or fitted.standing(self.tried, self.baseline) != BETTER:
            return ""
        return (
            "There was something to find: the best set of categories, cross-fitted, is "
            f"significantly better ({self._lead(fitted).in_short(self.unit)})."
        )

    def _findable(self) -> str:
        """Say whether there was anything to find, if no policy found it."""
        if self._fitted is None or not self._lead(self._fitted).is_known:
            return ""
        if found := self.found():
            return found
        lead = self._lead(self._fitted)
        span = lead.in_short(self.unit)
        if lead.middle > 0.0:
            return (
                f"Whether there is anything to find {self._these}, the file cannot say: the "
                f"best set of them, cross-fitted, is not significantly better ({span})."
            )
        return (
            f"There is nothing to find {self._these}: the best set of them, cross-fitted, is not "
            f"better ({span})."
        )

    def luck(self) -> str:
        """Say what it means that several variants were tried."""
        if self.tried < 2:
            return (
                "One variant was tried. If others were tried before on the same clients, they "
                "count, too."
            )
        text = f"{self.tried} variants were tried, and the best of several looks better than it is."
        # Another may have earned more, with less certainty.
        best = next(iter(self.beating), max(self.judged, key=lambda each: each.profit))
        ahead, required = self._lead(best).middle, best.required(self.tried, self.baseline)
        is_said = self.reason is None and not self._is_by_order(best)
        if not is_said or not math.isfinite(required) or ahead <= 0.0:
            return f"{text} Variants tried in other runs count, too."
        enough = "more" if best in self.beating else "not more"
        nobody = " of accepting nobody" if self.nobody_is_better else ""
        return (
            f"{text} {best.name} is ahead{nobody} by {in_short(ahead, self.unit)}, {enough} than "
            f"the {in_short(required, self.unit)} required after Bonferroni correction. Variants "
            "tried in other runs count, too."
        )

    def doubts(self) -> list[str]:
        """Warn of intervals that may be too narrow, where something rests on them.

        That is so where a difference is called significant, and where the interval is a
        point.  Nothing rests on them in a backtest that is uninformative.
        """
        names: dict[str, list[str]] = {}
        for each in self.judged if self.reason is None else ():
            found, why = each.difference, each.too_narrow
            matters = self.standing(each) != UNSURE or found.low == found.high
            if why is not None and matters:
                names.setdefault(why, []).append(each.name)
        return [
            f"the {percent_text(LEVEL)} {'interval' if len(those) == 1 else 'intervals'} of "
            f"{', '.join(those)} may be too narrow: {why}"
            for why, those in names.items()
        ]

    def cross_fitting(self) -> str | None:
        """Explain the error of the cross-fitted set; None if there is none."""
        fitted = self._fitted
        if fitted is None or fitted.splits is None or fitted.split_error is None:
            return None
        mean = f"Cross-fitted profits are means of {several(fitted.splits, 'split')} into halves"
        split = in_short(fitted.split_error, self.unit)
        if math.isnan(fitted.spread):
            return f"{mean}; the standard error of that mean is {split}."
        return (
            f"{mean}. ± is the standard error: {in_short(fitted.spread, self.unit)} over other "
            f"clients of the same law, of which other splits are {split}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what the page shows, as plain values."""
        return {
            "uninformative": self.reason,
            "baseline": self.baseline.name,
            "beating": [each.name for each in self.beating],
            "cross_fitting": self.cross_fitting(),
            "luck": self.luck(),
            "verdict": self.text(),
        }
