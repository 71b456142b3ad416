"""The family of rewards, chosen by the user or suggested from the data.

The family is one for all categories.  A suggestion looks at all rewards of the file,
which is a mild leak: it knows the shape of the rewards and the largest of them, not
which category is good.

Why `Normal` is not suggested where few rewards decide, or where outcomes come late.  It
estimates the spread.  Before the first of some rare large rewards the spread is tiny,
and the category looks hopeless; if losses are known before gains, the few outcomes that
are known look alike.  `Bounded` needs far more clients to refuse a category, and its
bounds are near the rewards of the file, so that it does not need more than it must
(docs/backtest.md has the table).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profitable.common.amounts import more_or_less
from profitable.common.text_tables import number_text
from profitable.errors import InputError, ParameterError, ProfitableError
from profitable.kernels.law import GAUSSIAN, NORMAL, deviance
from profitable.model.category import Category, said_before
from profitable.model.families import (
    Bernoulli,
    Bounded,
    Exponential,
    Family,
    NegativeBinomial,
    Normal,
    Poisson,
)
from profitable.model.lending import Lending
from profitable.past.layout import Layout
from profitable.past.past import Past, PastClients
from profitable.past.past_loans import lending_of
from profitable.replay.backtest_entry import varying

BY_THE_USER = "chosen by the user"  # the reason of a family that was given
CLOSE = 0.15  # an observed spread this near to the family's counts as equal
# Observed variance above the family's by more than this: decisions are too sure of
# themselves.
TOO_WIDE = 1.3
TOO_NARROW = 0.5  # below it by this: decisions are slower than they could be
VARY_MORE, VARY_LESS = "too wide", "too narrow"
# Standard deviations of a ratio; 0.4 % of the categories that fit lie beyond, at most.
BEYOND_CHANCE = 5.0
FEWEST_REWARDS = 100  # clients of a category, below which nothing is texts about its variance
FEW_DECIDE = 0.1  # of the clients: of normal rewards a third decides, of exponential ones a ninth
FEW_IN_ONE = 0.03  # of a category, which has fewer clients to tell it
SMALLEST_FAILURES = 0.01  # of a negative binomial; counts that vary more than it allows are bounded
ALONE_IF_LATE = (
    "bands are judged alone, because outcomes come late: losses are often known before gains, and "
    "bands that share evidence amplify that bias. Of loans, give the dates of defaults (defaulted, "
    "closed) and no order"
)
BOUND_DIGITS = 12  # of a bound that is a multiple of a round step


@dataclass(frozen=True)
class FamilyFit:
    """The variance of a category's rewards and that of the family at the same mean."""

    category: str
    observed: float
    family: float
    error: float = 0.0  # the standard deviation of the ratio, if the family is right

    @property
    def ratio(self) -> float:
        """Observed over the family's."""
        if self.family > 0.0:
            return self.observed / self.family
        return math.inf if self.observed > 0.0 else 1.0

    @property
    def warning(self) -> str | None:
        """Whether rewards vary more or less than the family says, beyond chance."""
        if self.ratio > max(TOO_WIDE, 1.0 + BEYOND_CHANCE * self.error):
            return VARY_MORE
        return VARY_LESS if self.ratio < min(TOO_NARROW, 1.0 - BEYOND_CHANCE * self.error) else None


@dataclass(frozen=True)
class Alternative:
    """The family that was not suggested, and what a policy would have earned."""

    categories: tuple[Category, ...]
    policy: str = ""  # empty before the replay
    difference: float = math.nan  # to accepting everybody, with this family
    instead: float = math.nan  # the same with the family that was suggested

    def sentence(self, unit: str = "") -> str:
        """Say what the policy would have earned; empty before the replay."""
        if not self.policy:
            return ""
        given = f"With {family_in_words(self.categories[0].family)}"
        if self.difference == self.instead:
            return f"{given}, {self.policy} would have earned the same."
        earned, instead = (more_or_less(each, unit) for each in (self.difference, self.instead))
        return (
            f"{given}, {self.policy} would have earned {earned} "
            f"{'than' if self.difference else 'as'} accepting everybody, instead of {instead}."
        )

    def to_dict(self, unit: str = "") -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": str(self.categories[0].family),
            "policy": self.policy,
            "difference": self.difference,
            "instead": self.instead,
            "sentence": self.sentence(unit),
        }


def family_in_words(family: Family) -> str:
    """Name the law of rewards for readers who do not know our names.

    >>> family_in_words(Normal()), family_in_words(Bounded(low=0.0, high=1.6))
    ('Normal rewards', 'rewards bounded by 0 and 1.6')
    """
    if isinstance(family, Bounded):
        return f"rewards bounded by {number_text(family.low)} and {number_text(family.high)}"
    return f"{type(family).__name__} rewards"


@dataclass(frozen=True)
class FamilyChoice:
    """The family and the categories, with the reason."""

    categories: tuple[Category, ...]
    reason: str  # why this family
    fit: tuple[FamilyFit, ...]
    lending: Lending | None = None  # the terms of loans that are judged by hazards
    alone: str = ""  # why bands of an order do not share evidence
    alternative: Alternative | None = None  # only of a family that was suggested

    @property
    def family(self) -> Family:
        """The family of all categories."""
        return self.categories[0].family

    @property
    def unordered(self) -> list[Category]:
        """The categories, all of them alone."""
        with said_before():
            return [replace(category, order=None) for category in self.categories]

    def warnings(self) -> list[str]:
        """Warn where the family does not fit, or bands are alone."""
        wide, narrow = (
            [each for each in self.fit if each.warning == problem]
            for problem in (VARY_MORE, VARY_LESS)
        )
        texts: list[str] = [self.alone] if self.alone else []
        if wide:
            worst = max(wide, key=lambda each: each.ratio)
            texts.append(
                f"{self.family} does not fit {len(wide)} of {len(self.fit)} categories: the "
                "variance of "
                f"{worst.category!r} is {number_text(worst.observed)}, {worst.ratio:.1f} times the "
                "family's. Evidence "
                f"against such a category is overstated. Try --family bounded:low=...,high=..."
            )
        if narrow:
            worst = min(narrow, key=lambda each: each.ratio)
            texts.append(
                f"{self.family} is too cautious for {len(narrow)} of {len(self.fit)} categories: "
                "the variance of "
                f"{worst.category!r} is {worst.ratio:.2f} of what the family allows. Learning is "
                "slower than it could "
                f"be. Try --family normal if outcomes are known at once."
            )
        return texts


def choose_family(
    past: Past, *, family: Family | str | None = None, bound: float | None = None
) -> FamilyChoice:
    """Make the categories; InputError if rewards or threshold do not fit the family."""
    clients, layout = past.clients, past.layout
    past.check_promised()
    if layout.by_hazards:
        return _lent(past, family)
    if family is None:
        chosen, reason = _suggest(clients, layout, bound)
    else:
        chosen, reason = Family.of(family), BY_THE_USER
    shares = past.order is not None and not past.is_late
    with said_before():
        categories = [_category(name, chosen, layout, bound) for name in clients.names]
        if shares:
            for k in list[int](past.bands.tolist()):
                categories[k] = replace(categories[k], order=past.order)
    past.check_rewards(chosen)
    alone = ALONE_IF_LATE if past.order is not None and past.is_late else ""
    other = None if family is not None or shares else _other(chosen, clients, layout, bound)
    return FamilyChoice(
        tuple(categories), reason, _fits(clients, chosen), alone=alone, alternative=other
    )


def _other(
    chosen: Family, clients: PastClients, layout: Layout, bound: float | None
) -> Alternative | None:
    """Return Normal in place of Bounded, and Bounded in place of Normal."""
    if not isinstance(chosen, Bounded | Normal):
        return None
    other = Normal() if isinstance(chosen, Bounded) else _bounded(clients, layout, bound)
    with said_before():
        return Alternative(tuple(_category(name, other, layout, bound) for name in clients.names))


def _lent(past: Past, family: Family | str | None) -> FamilyChoice:
    """Return categories of loans, whose rewards are not looked at."""
    if family is not None:
        raise ParameterError(
            "family", str(family), "is not for loans that are judged by hazards", "leave it out"
        )
    categories = tuple(Category.returns(name, weight="client") for name in past.clients.names)
    lending = lending_of(past.layout, past.round)
    return FamilyChoice(categories, "loans are judged by their hazards", (), lending)


def _category(name: str, family: Family, layout: Layout, bound: float | None) -> Category:
    if layout.amount is not None:
        weight = "client" if layout.weight == "client" else "money"
        return Category.returns(
            name, required=layout.margin, family=family, high=bound, weight=weight
        )
    threshold = layout.threshold
    if isinstance(layout.cost, str):
        return Category(name, family, threshold=threshold, bound=bound)
    try:
        return Category(name, family, threshold=threshold, worth=layout.revenue, bound=bound)
    except ProfitableError as error:
        raise InputError(
            "cost",
            layout.cost,
            f"is a threshold of {threshold:g} rewards, which {family} cannot have",
            "give the cost in money, and --revenue, what a reward of 1 is worth",
        ) from error


# --------------------------------------------------------------------------- suggesting


def _suggest(clients: PastClients, layout: Layout, bound: float | None) -> tuple[Family, str]:
    low, high = clients.range_of("reward")
    seen = f"{number_text(low)} to {number_text(high)}"
    if layout.amount is not None:
        promised = ""
        if clients.promised is not None:
            promised = f", at most {number_text(clients.range_of('promised')[1])} was promised"
        reason = f"money back per unit lent was {seen}{promised}, whatever its law"
        return _bounded(clients, layout, bound), reason
    whole = clients.only_whole() and low >= 0.0
    if whole and high <= 1.0:
        return Bernoulli(), "all rewards are 0 or 1"
    mean, variance = _within(clients)
    if whole:
        ratio = variance / mean
        varies = f"rewards are whole numbers, and their variance is {ratio:.2f} times their mean"
        if ratio <= 1.0 + CLOSE:
            return Poisson(), varies
        if mean / (ratio - 1.0) >= SMALLEST_FAILURES:
            return NegativeBinomial(failures=float(f"{mean / (ratio - 1.0):.3g}")), varies
    if low > 0.0 and abs(math.sqrt(variance) / mean - 1.0) <= CLOSE:
        spread = f"{math.sqrt(variance) / mean:.2f} of their mean"
        return Exponential(), f"rewards are positive, and their spread is {spread}"
    if few := _where_few_decide(clients):
        return _bounded(
            clients, layout, bound
        ), f"rewards were {seen}, and few of them decide{few.rstrip()}"
    if not clients.is_immediate:
        return _bounded(clients, layout, bound), f"rewards were {seen}, and were known late"
    if layout.order is not None:
        words = "and bands cannot share evidence while each estimates its own spread"
        return _bounded(clients, layout, bound), f"rewards were {seen}, {words}"
    return Normal(), "rewards have no shape that is known, so that their spread is estimated"


def _where_few_decide(clients: PastClients) -> str:
    """Return where few clients decide: " " if in all, a category, or "" if nowhere.

    In a category, a few large rewards are hidden by what others bring.
    """
    found = clients.standing_out()
    number = found[0]
    if (varying(found, np.ones(number.size)) or 0.0) < FEW_DECIDE * number.sum():
        return " "
    for k in np.flatnonzero(number >= FEWEST_REWARDS).tolist():
        if (varying(found, np.eye(number.size)[k]) or 0.0) < FEW_IN_ONE * number[k]:
            return f" in {clients.names[k]}"
    return ""


def _bounded(clients: PastClients, layout: Layout, bound: float | None) -> Bounded:
    """Return bounds near the rewards; the user's bound replaces the high one."""
    threshold = 1.0 + layout.margin
    if layout.amount is None:
        threshold = layout.threshold
    names = ("reward",) if clients.promised is None else ("reward", "promised")
    lows, highs = zip(*(clients.range_of(name) for name in names), strict=True)
    low, high = near_bounds(min(lows), max(highs), threshold)
    return Bounded(low=low, high=high if bound is None else bound)


def near_bounds(low: float, high: float, threshold: float) -> tuple[float, float]:
    """Return round numbers just beyond the rewards, with the threshold in between.

    Where no reward was above the threshold, the high is as far above it as the low is
    below: policies must learn it.

    >>> near_bounds(0.6512, 1.0987, 1.0), near_bounds(0.4, 0.9, 1.0)
    ((0.65, 1.1), (0.4, 1.6))
    """
    least, most = min(low, threshold), high if high > threshold else 2.0 * threshold - low
    step = 10.0 ** (math.floor(math.log10((most - least) or max(abs(most), 1.0))) - 1)
    down, up = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    down, up = down - (low >= threshold), up + (most <= threshold)
    return min(_round(down * step), low), max(_round(up * step), high)


def _round(value: float) -> float:
    return float(f"{value:.{BOUND_DIGITS}g}")


def _within(clients: PastClients) -> tuple[float, float]:
    """Return the mean, and the mean variance within categories."""
    counts, means, variances = clients.moments()
    return float(counts @ means / counts.sum()), float(counts @ variances / counts.sum())


def _fits(clients: PastClients, family: Family) -> tuple[FamilyFit, ...]:
    """Compare observed variances with the family's, where it has one for each mean."""
    view = family.view()
    if isinstance(family, Bounded | Bernoulli) or view.law.code == NORMAL:
        return ()
    counts, means, variances = clients.moments(view.statistic)
    found: list[FamilyFit] = []
    for k in np.flatnonzero(counts >= FEWEST_REWARDS).tolist():
        mean, clients_seen = float(means[k]), float(counts[k])
        error = math.sqrt(max(2.0 + _curvature(family, mean), 0.0) / clients_seen)
        unbiased = float(variances[k]) * clients_seen / (clients_seen - 1.0)
        found.append(FamilyFit(clients.names[k], unbiased, _variance(family, mean), error))
    return tuple(found)


def _curvature(family: Family, mean: float) -> float:
    """Return V'' of the family's variance V as a function of its mean m.

    It is 0 for counts and 2 for exponential rewards.

    The observed variance over V(observed mean) has the variance (2 + V'') / n.  For the
    fourth cumulant of such a law is V (V V'' + V'^2), the third one V V', and the mean
    in V takes V'^2 / V away again.
    """
    law = family.view().law
    step = 0.1 * min(mean - law.low, law.high - mean, max(abs(mean), 1e-9))
    if law.code == GAUSSIAN or not step > 0.0:
        return 0.0
    around = _variance(family, mean + step) + _variance(family, mean - step)
    return (around - 2.0 * _variance(family, mean)) / step**2


def _variance(family: Family, mean: float) -> float:
    """Return the variance of the law at a mean.

    Near the mean, the divergence of a step h is h^2 / (2 variance).
    """
    law = family.view().law
    if law.code == GAUSSIAN:
        return law.size**2
    step = 1e-3 * min(mean - law.low, law.high - mean, max(abs(mean), 1e-9))
    if not step > 0.0:
        return 0.0
    both = deviance(law, 1.0, mean + step, mean) + deviance(law, 1.0, mean - step, mean)
    return step * step / both
