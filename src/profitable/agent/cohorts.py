"""Cohorts: clients who were accepted in one round, and whose outcomes are known late and losses first.

Example: 40 car loans were accepted in round 3 and mature 36 rounds later.  In round 12 they are 9 rounds old, and two
of them are known to be lost.  They count as N clients with total S:

| emerges         | in round 12               | in round 39, when they have matured                    |
| --------------- | ------------------------- | ------------------------------------------------------ |
| `"at maturity"` | N = 0, S = 0              | what is known: N = 40 and S = 32, if 32 were repaid    |
| `"evenly"`      | N = 40 * 9/36 = 10, S = 8 | N = 40 and S = 40 less what is lost: 32, if 8 are lost |

The mean of `"evenly"` is right at every age if losses emerge evenly: here it is 0.8 in both rounds.  A curve of the
user's own, as [0.1, 0.4, 1.0], says how much of the losses is known at the ages 1, 2 and 3.

>>> cohort = Cohort(3, 40, 36, EVENLY, 1.0, NO_ENTRY)
>>> cohort.clients * cohort.share(12)
10.0
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from profitable.agent.observation import Entry, reward_error
from profitable.agent.window import NO_ENTRY, joined
from profitable.common import check
from profitable.common.types import IntArray
from profitable.errors import ParameterError
from profitable.kernels.batch import Sums
from profitable.kernels.evidence import Rule
from profitable.kernels.statistic import Cut, Identity
from profitable.kernels.view import is_legal
from profitable.model.category import Category
from profitable.model.view import View

AT_MATURITY, EVENLY = "at maturity", "evenly"
Emergence = str | tuple[float, ...]


class Cohort(NamedTuple):
    """Clients accepted in one round, how they count until they have matured, and what is known of them so far."""

    accepted_in: int
    clients: int
    matures: int  # rounds after `accepted_in`
    emerges: Emergence
    promised: float | None  # the reward of a client who is not lost; None at maturity
    known: Entry  # the outcomes reported so far, without money

    @property
    def by_age(self) -> bool:
        """Whether its clients count more and more while they are open."""
        return self.emerges != AT_MATURITY

    @property
    def unknown(self) -> int:
        """How many of its outcomes have not been reported."""
        return self.clients - int(self.known.sums.clients)

    def has_matured(self, round: int) -> bool:
        """Whether its age is at least `matures`."""
        return round - self.accepted_in >= self.matures

    def share(self, round: int) -> float:
        """As how much of an observation each of its clients counts; at maturity, each one who is known."""
        age = round - self.accepted_in
        if age >= self.matures:
            return 1.0
        if age <= 0 or self.emerges == AT_MATURITY:
            return 0.0
        return age / self.matures if isinstance(self.emerges, str) else self.emerges[age - 1]

    def exposure(self, view: View, clients: float) -> Entry:
        """That many observations at the promised reward."""
        value = self._value(view)
        return Entry(Sums(clients, clients * value, squares=clients * value * value), None)

    def lost(self, view: View, entry: Entry) -> Entry:
        """What outcomes change where the promised reward counts already, or will."""
        sums, value = entry.sums, self._value(view)
        total, squares = sums.total - sums.clients * value, sums.squares - sums.clients * value * value
        return Entry(Sums(0.0, total, sums.total_lost, squares, sums.squares_lost), None)

    def _value(self, view: View) -> float:
        assert self.promised is not None
        cut = view.statistic
        return min(max(self.promised, cut.low), cut.high) if isinstance(cut, Cut) else self.promised

    def with_outcomes(self, entry: Entry, sign: float = 1.0) -> "Cohort":
        """The cohort after outcomes were reported or (sign -1) taken back."""
        return self._replace(known=joined(self.known, _without_money(entry), sign))


def _without_money(entry: Entry) -> Entry:
    return entry._replace(sums=entry.sums._replace(revenue=0.0, cost=0.0))


class Tally(NamedTuple):
    """What the cohorts of a category add up to."""

    open: int = 0  # clients of cohorts that have not matured, whose outcome has not been reported
    emerged: float = 0.0  # as how many observations the clients of such cohorts count, before anything is forgotten
    missing: int = 0  # clients of cohorts that have matured, whose outcome has not been reported
    kept: int = 0  # outcomes that were reported and do not count before their cohort has matured


NO_COHORTS = Tally()


class Cohorts:
    """The cohorts of an agent by category and round.  Those that have matured and are fully known vanish."""

    def __init__(self) -> None:
        self._places: dict[int, dict[int, Cohort]] = {}  # decisions may keep the inner ones, so they are replaced
        self._open: set[int] = set()  # the categories with a cohort that has not matured

    def __bool__(self) -> bool:
        return bool(self._places)

    def __iter__(self) -> Iterator[tuple[int, Cohort]]:
        for k, cohorts in sorted(self._places.items()):
            for _, cohort in sorted(cohorts.items()):
                yield k, cohort

    def get(self, k: int, accepted_in: int) -> Cohort | None:
        """The cohort of a category that was accepted in a round."""
        return self._places.get(k, {}).get(accepted_in)

    def of(self, k: int) -> list[Cohort]:
        """The cohorts of a category, in the order in which they count when a round passes."""
        return list(self._places.get(k, {}).values())

    def replace(self, k: int, cohorts: Sequence[Cohort], round: int) -> None:
        """Let a category have these cohorts instead of its own, after so many rounds."""
        self._set(k, {cohort.accepted_in: cohort for cohort in cohorts})
        self._open.discard(k)
        if any(not cohort.has_matured(round) for cohort in cohorts):
            self._open.add(k)

    def find(self, k: int, accepted_in: object, round: int, name: str) -> Cohort:
        """The cohort that a caller means; ParameterError if there is none."""
        try:
            cohort = self.get(k, accepted_round(accepted_in, round))
        except ParameterError as error:
            raise error.about(name) from None
        if cohort is None:
            problem = "has no cohort with outcomes to come"
            remedy = "open it with expect(..., matures=), or leave accepted_in out if all of it was reported"
            raise ParameterError("accepted_in", accepted_in, problem, remedy, name)
        return cohort

    def joined(self, k: int, new: Cohort, number: int) -> Cohort:
        """The cohort after so many clients have joined it; `new` says on what terms."""
        old = self.get(k, new.accepted_in)
        if old is None:
            return new._replace(clients=number)
        if (old.matures, old.emerges, old.promised) != (new.matures, new.emerges, new.promised):
            problem = f"differs from the cohort of round {old.accepted_in}, which has matures={old.matures}"
            problem = f"{problem}, emerges={old.emerges!r}" + (f", promised={old.promised:g}" if old.by_age else "")
            raise ParameterError("matures", new.matures, problem, "give the same, or another round")
        return old._replace(clients=old.clients + number)

    def put(self, k: int, cohort: Cohort, round: int) -> None:
        """Add a cohort, or replace it by what has become of it."""
        cohorts = dict(self._places.get(k, {}))
        cohorts.pop(cohort.accepted_in, None)
        matured = cohort.has_matured(round)
        if not matured or cohort.unknown:
            cohorts[cohort.accepted_in] = cohort
        self._set(k, cohorts)
        if not matured:
            self._open.add(k)

    def _set(self, k: int, cohorts: dict[int, Cohort]) -> None:
        self._places[k] = cohorts
        if not cohorts:
            del self._places[k]

    def advance(self, round: int, view_of: Callable[[int], View]) -> list[tuple[int, Entry]]:
        """Let a round pass: what counts from now on, by category."""
        entering: list[tuple[int, Entry]] = []
        for k in sorted(self._open):
            left, is_open = dict(self._places.get(k, {})), False
            for cohort in list(left.values()):
                matured = cohort.has_matured(round)
                is_open |= not matured
                if matured and not cohort.unknown:
                    del left[cohort.accepted_in]
                if cohort.by_age:
                    more = cohort.share(round) - cohort.share(round - 1)
                    entry = cohort.exposure(view_of(k), cohort.clients * more)
                else:
                    entry = cohort.known if matured and not cohort.has_matured(round - 1) else NO_ENTRY
                if entry.sums.clients:
                    entering.append((k, entry))
            self._set(k, left)
            if not is_open:
                self._open.discard(k)
        return entering

    def drop(self, k: int) -> None:
        """Forget category k; those behind it move up."""
        self._places = {each - (each > k): cohorts for each, cohorts in self._places.items() if each != k}
        self._open = {each - (each > k) for each in self._open if each != k}

    def tally(self, k: int, round: int) -> Tally:
        """What the cohorts of a category add up to after so many rounds."""
        if k not in self._places:
            return NO_COHORTS
        cohorts = self._places[k].values()
        still = [cohort for cohort in cohorts if not cohort.has_matured(round)]
        return Tally(
            sum(cohort.unknown for cohort in still),
            sum((cohort.clients * cohort.share(round) for cohort in still), 0.0),
            sum(cohort.unknown for cohort in cohorts if cohort.has_matured(round)),
            sum(cohort.clients - cohort.unknown for cohort in still if not cohort.by_age),
        )

    def columns(self, positions: IntArray, round: int) -> dict[str, list[Any]]:
        """The first three numbers of `tally` for some categories, as columns."""
        if not self._places:
            size = positions.size
            return {"open": [0] * size, "emerged": [0.0] * size, "missing": [0] * size}
        tallies = [self.tally(k, round) for k in positions.tolist()]
        return {
            "open": [each.open for each in tallies],
            "emerged": [each.emerged for each in tallies],
            "missing": [each.missing for each in tallies],
        }

    def snapshot(self) -> "Cohorts":
        """What a decision keeps, and never changes."""
        return self._copied() if self._places else EMPTY_COHORTS

    def _copied(self) -> "Cohorts":
        twin = Cohorts()
        twin._places, twin._open = dict(self._places), set(self._open)
        return twin

    def converted(self, change: Callable[[int, Entry], Entry]) -> "Cohorts":
        """The same cohorts, with what is known of them as another policy sees it."""
        twin = self._copied()
        for k, cohorts in self._places.items():
            twin._places[k] = {
                place: cohort._replace(known=change(k, cohort.known)) for place, cohort in cohorts.items()
            }
        return twin


EMPTY_COHORTS = Cohorts()


@dataclass(frozen=True, slots=True)
class LateTerms:
    """When clients were accepted and how they mature, as the caller says it in `expect`."""

    accepted_in: object = None
    matures: object = None
    emerges: object = None
    promised: object = None

    def __bool__(self) -> bool:
        return any(each is not None for each in (self.accepted_in, self.matures, self.emerges, self.promised))

    def read(self, category: Category, rule: Rule, round: int) -> Cohort:
        """A cohort without clients on these terms; raises an error if anything is wrong with them."""
        if self.matures is None:
            field = next(name for name in ("emerges", "promised", "accepted_in") if getattr(self, name) is not None)
            remedy = "give matures=, the number of rounds until all outcomes are known"
            raise ParameterError(field, getattr(self, field), "is given without matures", remedy)
        matures = check.whole("matures", self.matures, least=0)
        accepted_in = round if self.accepted_in is None else accepted_round(self.accepted_in, round)
        emerges = _curve(AT_MATURITY if self.emerges is None else self.emerges, matures)
        promised = None
        if emerges != AT_MATURITY:
            check_by_age(category, rule, emerges)
            promised = self._promised(category)
        elif self.promised is not None:
            remedy = "leave it out, or give emerges="
            raise ParameterError("promised", self.promised, "says nothing about clients who count at maturity", remedy)
        return Cohort(accepted_in, 0, matures, emerges, promised, NO_ENTRY)

    def _promised(self, category: Category) -> float:
        family, given = category.family, self.promised
        if given is None:
            if family.bounds is None or category.weight is not None:
                problem = f"is missing, and {family} does not say what a client promises"
                raise ParameterError("promised", None, problem, "give the reward of a client who is not lost")
            return family.bounds[1]
        promised = check.finite("promised", given)
        # It may be the mean of what the clients of a cohort promise.  So it need not be a whole number.
        if not is_legal(family.support._replace(whole=False), promised):
            raise reward_error(category.name, promised, family.support, "promised")
        return promised


def accepted_round(given: object, round: int) -> int:
    """The round in which clients were accepted, if it is one that has been decided (0 is before the first)."""
    accepted_in = check.whole("accepted_in", given, least=0)
    if accepted_in > round:
        problem = f"has not been decided yet: the latest round is {round}"
        raise ParameterError("accepted_in", given, problem, f"give a round from 0 to {round}")
    return accepted_in


def check_by_age(category: Category, rule: Rule, emerges: object) -> None:
    """ParameterError where the clients of a cohort cannot count by their age."""
    if rule.needs_values:
        problem = "is not defined for a policy that looks at every single reward"
    elif category.by_money:
        problem = "is not defined where clients weigh as much as their amounts, which are not known yet"
    elif category.family.support.open or not isinstance(category.family.make_view().statistic, Identity):
        problem = f"is not defined for {category.family}, whose sums cannot lose a promised reward"
    else:
        return
    raise ParameterError("emerges", emerges, problem, 'give emerges="at maturity"', category.name)


def _curve(emerges: object, matures: int) -> Emergence:
    """How open clients count, checked."""
    if isinstance(emerges, str) and emerges in (AT_MATURITY, EVENLY):
        return emerges
    remedy = 'give "at maturity", "evenly", or a list of rising shares by age that ends at 1, as [0.1, 0.4, 1.0]'
    if isinstance(emerges, str) or not isinstance(emerges, Sequence | np.ndarray):
        raise ParameterError("emerges", emerges, "is no way to emerge", remedy)
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
        problem = f"has {len(inside)} shares, where matures={matures}"
        raise ParameterError("emerges", given, problem, "give one share for each round until maturity")
    return tuple(inside)
