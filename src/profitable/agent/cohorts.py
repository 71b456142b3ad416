"""Cohorts: clients accepted in one round, whose outcomes are known late, losses first.

Example: 40 car loans were accepted in round 3 and mature 36 rounds later.  In round 12
they are 9 rounds old, and two of them are known to be lost.  They count as N clients
with total S:

| emerges         | in round 12        | in round 39, when they have matured       |
| --------------- | ------------------ | ----------------------------------------- |
| `"at maturity"` | N = 0, S = 0       | N = 40 and S = 32, if 32 were repaid      |
| `"evenly"`      | N = 40 * 9/36 = 10 | N = 40 and S = 40 less losses: 32 if 8    |
|                 | and S = 10 - 2 = 8 | are lost                                  |

The mean of `"evenly"` is right at every age if losses emerge evenly: here it is 0.8 in
both rounds.  A curve of the user's own, as [0.1, 0.4, 1.0], is the share of the losses
that is known at the ages 1, 2 and 3.

>>> cohort = Cohort(3, 40, 36, EVENLY, 1.0, NO_ENTRY)
>>> cohort.clients * cohort.share(12)
10.0
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from profitable.agent.observation import NO_ENTRY, Booking, reward_error
from profitable.common import check
from profitable.common.types import IntArray
from profitable.errors import ParameterError
from profitable.kernels.batch import Sums
from profitable.kernels.coded_view import is_legal
from profitable.kernels.evidence import Rule
from profitable.kernels.statistic import Cut, Identity
from profitable.model.category import Category
from profitable.model.view import View

AT_MATURITY, EVENLY = "at maturity", "evenly"
Emergence = str | tuple[float, ...]


class Cohort(NamedTuple):
    """Clients accepted in one round, how they count, and their known outcomes."""

    accepted_in: int
    clients: int
    matures: int  # rounds after `accepted_in`
    emerges: Emergence
    promised: float | None  # the reward of a client who is not lost; None at maturity
    known: Booking  # the outcomes reported so far, without money

    @property
    def by_age(self) -> bool:
        """Whether its clients count more and more while they are open."""
        return self.emerges != AT_MATURITY

    @property
    def unknown(self) -> int:
        """Number of its outcomes that have not been reported."""
        return self.clients - int(self.known.sums.clients)

    def has_matured(self, round: int) -> bool:
        """Whether its age is at least `matures`."""
        return round - self.accepted_in >= self.matures

    def share(self, round: int) -> float:
        """Return the part of an observation that each of its clients counts as.

        At maturity, each client with a known outcome counts as one.
        """
        age = round - self.accepted_in
        if age >= self.matures:
            return 1.0
        if age <= 0 or self.emerges == AT_MATURITY:
            return 0.0
        return age / self.matures if isinstance(self.emerges, str) else self.emerges[age - 1]

    def exposure(self, view: View, clients: float) -> Booking:
        """Return that many observations at the promised reward."""
        value = self._value(view)
        return Booking(Sums(clients, clients * value, squares=clients * value * value), None)

    def lost(self, view: View, entry: Booking) -> Booking:
        """Return the change by outcomes where the promised reward counts."""
        sums, value = entry.sums, self._value(view)
        return Booking(
            Sums(
                0.0,
                sums.total - sums.clients * value,
                sums.total_lost,
                sums.squares - sums.clients * value * value,
                sums.squares_lost,
            ),
            None,
        )

    def _value(self, view: View) -> float:
        assert self.promised is not None
        cut = view.statistic
        return min(max(self.promised, cut.low), cut.high) if isinstance(cut, Cut) else self.promised

    def with_outcomes(self, entry: Booking, sign: float = 1.0) -> "Cohort":
        """Return the cohort after outcomes were reported or (sign -1) taken back."""
        without_money = entry._replace(sums=entry.sums._replace(revenue=0.0, cost=0.0))
        return self._replace(known=self.known.plus(without_money, sign))


class CohortCounts(NamedTuple):
    """Sums over the cohorts of a category."""

    open: int = 0  # clients of cohorts that have not matured, whose outcome has not been reported
    # As how many observations the clients of such cohorts count, before anything is
    # forgotten.
    emerged: float = 0.0
    missing: int = 0  # clients of cohorts that have matured, whose outcome has not been reported
    kept: int = 0  # outcomes that were reported and do not count before their cohort has matured


NO_COHORTS = CohortCounts()


@dataclass(eq=False)
class Cohorts:
    """The cohorts of an agent by category and round.

    Those that have matured and are fully known vanish.
    """

    # Decisions may keep the inner ones, so they are replaced.
    places: dict[int, dict[int, Cohort]] = field(default_factory=dict[int, dict[int, Cohort]])
    # The categories whose cohorts may change when a round passes.  Cohorts that have
    # matured without all outcomes stay, perhaps for ever, and need no look.
    _open: set[int] = field(default_factory=set[int])

    def __bool__(self) -> bool:
        return bool(self.places)

    def __iter__(self) -> Iterator[tuple[int, Cohort]]:
        for k, cohorts in sorted(self.places.items()):
            for _, cohort in sorted(cohorts.items()):
                yield k, cohort

    def get(self, k: int, accepted_in: int) -> Cohort | None:
        """Return the cohort of a category that was accepted in a round."""
        return self.places.get(k, {}).get(accepted_in)

    def of(self, k: int) -> list[Cohort]:
        """Return the cohorts of a category, in the order in which they count."""
        return list(self.places.get(k, {}).values())

    def replace(self, k: int, cohorts: Sequence[Cohort]) -> None:
        """Give a category these cohorts instead of its own."""
        self.places.pop(k, None)
        self._open.discard(k)
        if cohorts:
            self.places[k] = {cohort.accepted_in: cohort for cohort in cohorts}
            self._open.add(k)

    def find(self, k: int, accepted_in: object, round: int, name: str) -> Cohort | None:
        """Return the cohort that a caller means, if any; ParameterError if unknown."""
        if accepted_in is None:
            return None
        try:
            cohort = self.get(k, accepted_round(accepted_in, round))
        except ParameterError as error:
            raise error.about(name) from None
        if cohort is None:
            raise ParameterError(
                "accepted_in",
                accepted_in,
                "has no cohort with outcomes to come",
                "open it with expect(..., matures=), or leave accepted_in out if all of it "
                "was reported",
                name,
            )
        return cohort

    def joined(self, k: int, new: Cohort, number: int) -> Cohort:
        """Return the cohort after clients have joined it, on the terms of `new`."""
        old = self.get(k, new.accepted_in)
        if old is None:
            return new._replace(clients=number)
        if (old.matures, old.emerges, old.promised) != (new.matures, new.emerges, new.promised):
            promised = f", promised={old.promised:g}" if old.by_age else ""
            raise ParameterError(
                "matures",
                new.matures,
                f"differs from the cohort of round {old.accepted_in}, which has "
                f"matures={old.matures}, emerges={old.emerges!r}{promised}",
                "give the same, or another round",
            )
        return old._replace(clients=old.clients + number)

    def put(self, k: int, cohort: Cohort, round: int) -> None:
        """Add a cohort, or replace it by what has become of it."""
        others = [each for each in self.of(k) if each.accepted_in != cohort.accepted_in]
        is_over = cohort.has_matured(round) and not cohort.unknown
        self.replace(k, others if is_over else [*others, cohort])

    def advance(self, round: int, view_of: Callable[[int], View]) -> list[tuple[int, Booking]]:
        """Let a round pass: what counts from now on, by category."""
        entering: list[tuple[int, Booking]] = []
        for k in sorted(self._open):
            cohorts = self.of(k)
            for cohort in cohorts:
                entry = NO_ENTRY
                if cohort.by_age:
                    more = cohort.share(round) - cohort.share(round - 1)
                    entry = cohort.exposure(view_of(k), cohort.clients * more)
                elif cohort.has_matured(round) and not cohort.has_matured(round - 1):
                    entry = cohort.known
                if entry.sums.clients:
                    entering.append((k, entry))
            left = [each for each in cohorts if each.unknown or not each.has_matured(round)]
            self.replace(k, left)
            if all(each.has_matured(round) for each in left):
                self._open.discard(k)
        return entering

    def drop(self, k: int) -> None:
        """Forget category k; those behind it move up."""
        self.places = {
            each - (each > k): cohorts for each, cohorts in self.places.items() if each != k
        }
        self._open = {each - (each > k) for each in self._open if each != k}

    def tally(self, k: int, round: int) -> CohortCounts:
        """Return the sums over the cohorts of a category after so many rounds."""
        if k not in self.places:
            return NO_COHORTS
        cohorts = self.places[k].values()
        still = [cohort for cohort in cohorts if not cohort.has_matured(round)]
        return CohortCounts(
            sum(cohort.unknown for cohort in still),
            sum((cohort.clients * cohort.share(round) for cohort in still), 0.0),
            sum(cohort.unknown for cohort in cohorts if cohort.has_matured(round)),
            sum(cohort.clients - cohort.unknown for cohort in still if not cohort.by_age),
        )

    def columns(self, positions: IntArray, round: int) -> dict[str, list[Any]]:
        """Return the first three numbers of `tally` for some categories, as columns."""
        tallies = [NO_COHORTS] * positions.size
        if self.places:
            tallies = [self.tally(k, round) for k in positions.tolist()]
        return {
            field: [getattr(each, field) for each in tallies]
            for field in ("open", "emerged", "missing")
        }

    def snapshot(self) -> "Cohorts":
        """Return the copy that a decision keeps, and never changes."""
        return Cohorts(dict(self.places), set(self._open)) if self.places else EMPTY_COHORTS

    def converted(self, change: Callable[[int, Booking], Booking]) -> "Cohorts":
        """Return the same cohorts, with their outcomes as another policy sees them."""
        places = {
            k: {
                place: cohort._replace(known=change(k, cohort.known))
                for place, cohort in cohorts.items()
            }
            for k, cohorts in self.places.items()
        }
        return Cohorts(places, set(self._open))


EMPTY_COHORTS = Cohorts()


@dataclass(frozen=True, slots=True)
class LateTerms:
    """The terms of `expect`: when clients were accepted, and how they mature."""

    accepted_in: object = None
    matures: object = None
    emerges: object = None
    promised: object = None

    def __bool__(self) -> bool:
        return any(
            each is not None
            for each in (self.accepted_in, self.matures, self.emerges, self.promised)
        )

    def read(self, category: Category, rule: Rule, round: int) -> Cohort:
        """Return a cohort without clients on these terms, checked."""
        if self.matures is None:
            field = next(
                name
                for name in ("emerges", "promised", "accepted_in")
                if getattr(self, name) is not None
            )
            raise ParameterError(
                field,
                getattr(self, field),
                "is given without matures",
                "give matures=, the number of rounds until all outcomes are known",
            )
        matures = check.whole("matures", self.matures, least=0)
        emerges = _curve(AT_MATURITY if self.emerges is None else self.emerges, matures)
        promised = None
        if emerges != AT_MATURITY:
            check_by_age(category, rule, emerges)
            promised = self._promised(category)
        elif self.promised is not None:
            raise ParameterError(
                "promised",
                self.promised,
                "says nothing about clients who count at maturity",
                "leave it out, or give emerges=",
            )
        return Cohort(
            round if self.accepted_in is None else accepted_round(self.accepted_in, round),
            0,
            matures,
            emerges,
            promised,
            NO_ENTRY,
        )

    def _promised(self, category: Category) -> float:
        family, given = category.family, self.promised
        if given is None:
            if family.bounds is None or category.weight is not None:
                raise ParameterError(
                    "promised",
                    None,
                    f"is missing, and {family} does not say what a client promises",
                    "give the reward of a client who is not lost",
                )
            return family.bounds[1]
        promised = check.finite("promised", given)
        # It may be the mean of what the clients of a cohort promise.  So it need not be
        # a whole number.
        if not is_legal(family.support._replace(whole=False), promised):
            raise reward_error(category.name, promised, family.support, "promised")
        return promised


def accepted_round(given: object, round: int) -> int:
    """Return the round that accepted clients, checked; 0 is before the first."""
    accepted_in = check.whole("accepted_in", given, least=0)
    if accepted_in > round:
        raise ParameterError(
            "accepted_in",
            given,
            f"has not been decided yet: the latest round is {round}",
            f"give a round from 0 to {round}",
        )
    return accepted_in


def check_by_age(category: Category, rule: Rule, emerges: object) -> None:
    """ParameterError where the clients of a cohort cannot count by their age."""
    if rule.needs_values:
        problem = "is not defined for a policy that looks at every single reward"
    elif category.by_money:
        problem = (
            "is not defined where clients weigh as much as their amounts, which are not known yet"
        )
    elif category.family.support.open or not isinstance(
        category.family.make_view().statistic, Identity
    ):
        problem = f"is not defined for {category.family}, whose sums cannot lose a promised reward"
    else:
        return
    raise ParameterError("emerges", emerges, problem, 'give emerges="at maturity"', category.name)


def _curve(emerges: object, matures: int) -> Emergence:
    """Return the way in which open clients count, checked."""
    if isinstance(emerges, str) and emerges in (AT_MATURITY, EVENLY):
        return emerges
    remedy = (
        'give "at maturity", "evenly", or a list of rising shares by age that ends '
        "at 1, as [0.1, 0.4, 1.0]"
    )
    if isinstance(emerges, str) or not isinstance(emerges, Sequence | np.ndarray):
        raise ParameterError("emerges", emerges, "is not a way to emerge", remedy)
    given: list[object] = list(emerges)  # type: ignore[arg-type]
    shares = [check.number(each) for each in given]
    inside = [float(share) for share in shares if check.fits(share, 0.0, 1.0)]
    if len(inside) < len(shares):
        raise ParameterError("emerges", given, "leaves the shares from 0 to 1", remedy)
    if any(after < before for before, after in pairwise(inside)):
        raise ParameterError("emerges", given, "falls", remedy)
    if not inside or inside[-1] != 1.0:
        raise ParameterError("emerges", given, "does not end at 1", remedy)
    if len(inside) != matures:
        raise ParameterError(
            "emerges",
            given,
            f"has {len(inside)} shares, where matures={matures}",
            "give one share for each round until maturity",
        )
    return tuple(inside)
