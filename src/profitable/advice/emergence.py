"""Emergence: what share of clients, and of money, is known by age.

The age of a client is the number of rounds since it asked.  A client whose outcome is
not in the file was watched only until the file ended: at greater ages, nobody knows.
To leave such clients out would be wrong, because the outcomes that are there are the
early ones.  To count them as known never would be wrong, too.  So an age counts those
who are old enough (Kaplan and Meier): of the money that is open at an age, and watched
at it, a share becomes known.  The curve is made of these shares, one age after the
other.  Where every outcome is in the file, it is the plain share.

Losses and gains have curves of their own.  Of all money, how much is lost and known by
an age (Aalen and Johansen)?  Divided by what is lost at all ages together, it is the
share of losses that is known.  A vintage that is not yet so old is scaled to end where
all vintages are at that age.

Outcomes that are in the file without a date are known at no age.

Example: losses are known after one round, gains after three.

>>> from profitable.past.past import SingleClients
>>> clients = SingleClients.of(
...     names=("cars",), labels=tuple("1234"), round=[1, 1, 1, 1], category=[0] * 4,
...     known=[2, 4, 4, 4], reward=[0.0] * 4, profit=[-5.0, 1.0, 1.0, 1.0],
... )
>>> found = Emergence.of(clients)
>>> found.total.ages, found.total.clients, found.total.losses
((0, 1, 2, 3), (0.0, 0.25, 0.25, 1.0), (0.0, 1.0, 1.0, 1.0))
>>> print(found.sentence())
Half of the clients are known after 3 rounds, half of the losses after 1: what is known
early looks worse than it is.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from profitable.common.text_tables import number_text, percent_text, several
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.past.past import NEVER_KNOWN, PastClients, SmallInts
from profitable.past.vintages import vintages

MOST_AGES = 121  # of a curve
MEDIANS_APART = 0.1  # of the greater median: medians of losses and gains so close are the same


@dataclass(frozen=True)
class EmergenceCurve:
    """Shares that are known by age."""

    ages: tuple[int, ...]  # in rounds
    clients: tuple[float, ...]
    money: tuple[float, ...]  # lent; of clients, if nothing was lent
    # Of clients who lost, and of the others; None if there are none, or if clients are
    # aggregated.
    losses: tuple[float, ...] | None
    gains: tuple[float, ...] | None


@dataclass(frozen=True)
class Medians:
    """Ages at which half is known; None if half of it never is."""

    clients: int | None
    money: int | None
    losses: int | None
    gains: int | None


@dataclass(frozen=True)
class Emergence:
    """When outcomes are known: of all clients, and of each vintage."""

    total: EmergenceCurve
    vintages: tuple[tuple[str, EmergenceCurve], ...]
    medians: Medians
    unit: str  # of ages, as "month"

    @classmethod
    def of(
        cls, clients: PastClients, *, still_open: IntArray | None = None, unit: str = "round"
    ) -> "Emergence | None":
        """Return when outcomes are known; None if they are known at once.

        `still_open` [R, K] are clients who asked and have no outcome in the file.  They
        are taken to be as large as the others of their round.
        """
        if clients.is_immediate:
            return None
        watched = _Watched.of(clients, still_open)
        shares = watched.shares()
        curves: list[tuple[str, EmergenceCurve]] = []
        names = np.array(vintages(clients.labels))
        for name in dict.fromkeys(names.tolist()):
            part = watched.part(names[watched.asked - 1] == name)
            if part.asked.size:
                curves.append((name, _thinned(part.shares(shares))))
        medians = Medians(*(_median(shares[key]) for key in ("clients", "money", *LOST_OR_NOT)))
        return cls(_thinned(shares), tuple(curves), medians, unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as plain values."""
        return {
            **asdict(self.total),
            "medians": asdict(self.medians),
            "unit": self.unit,
            "vintages": [{"vintage": name, **asdict(curve)} for name, curve in self.vintages],
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """Say when half is known."""
        half, losses, gains = self.medians.clients, self.medians.losses, self.medians.gains
        if half is None:
            last = several(self.total.ages[-1], self.unit)
            known = f"{percent_text(self.total.clients[-1])} of the clients are known after {last}"
            return f"{known}, and half of them never."
        when = f"after {several(half, self.unit)}" if half else "at once"
        text = f"Half of the clients are known {when}"
        if losses is None or gains is None:
            return f"{text}."
        if abs(losses - gains) <= MEDIANS_APART * max(losses, gains):
            return f"{text}, losses about as late as gains."
        how = "worse" if losses < gains else "better"
        text += f", half of the losses {f'after {number_text(losses)}' if losses else 'at once'}"
        return f"{text}: what is known early looks {how} than it is."


LOST_OR_NOT = ("losses", "gains")
Shares = dict[str, FloatArray | None]  # by age, [A]


@dataclass(frozen=True, eq=False)
class _Watched:
    """Clients [n] and the age until which they were watched."""

    asked: SmallInts  # the round
    age: FloatArray  # at which the outcome was known, or the last one that was watched
    is_known: BoolArray  # whether the outcome was known at that age
    number: FloatArray
    money: FloatArray
    lost: BoolArray | None
    last: int  # the greatest age that anybody was watched at

    @classmethod
    def of(cls, clients: PastClients, still_open: IntArray | None) -> "_Watched":
        chosen = np.full(clients.size, True) if clients.logged is None else clients.logged
        asked, known = clients.round[chosen], clients.known[chosen]
        number = clients.sum_of("number")[chosen]
        money = number if clients.amount is None else clients.amount[chosen]
        has_date = known != NEVER_KNOWN
        end = max(clients.rounds, int(known[has_date].max(initial=0)))
        # Of loans judged by hazards, those without a date are open.  Other outcomes
        # without one are in the file, and no age brings them.
        rest = np.inf if clients.defaulted is None else (end - asked).astype(np.float64)
        age = np.where(has_date, (known - asked).astype(np.float64), rest)
        lost = None
        if clients.defaulted is not None:
            lost = clients.defaulted[chosen]
        elif clients.number is None:
            lost = clients.profit[chosen] < 0.0
        if still_open is not None and still_open.any():
            several_open = still_open.sum(axis=1)
            rounds = np.flatnonzero(several_open)
            sums = [
                np.bincount(asked, values, clients.rounds + 1)[1:] for values in (number, money)
            ]
            usual = money.sum() / number.sum()
            each = np.divide(
                sums[1], sums[0], out=np.full(clients.rounds, usual), where=sums[0] > 0
            )
            added = several_open[rounds]
            asked = np.concatenate([asked, (rounds + 1).astype(asked.dtype)])
            age = np.concatenate([age, (end - rounds - 1).astype(np.float64)])
            has_date = np.concatenate([has_date, np.full(rounds.size, False)])
            number = np.concatenate([number, added])
            money = np.concatenate([money, added * each[rounds]])
            if lost is not None:
                lost = np.concatenate([lost, np.full(rounds.size, False)])
        return cls(asked, age, has_date, number, money, lost, _greatest(age))

    def part(self, chosen: BoolArray) -> "_Watched":
        """Return some of the clients."""
        age = self.age[chosen]
        return _Watched(
            self.asked[chosen],
            age,
            self.is_known[chosen],
            self.number[chosen],
            self.money[chosen],
            None if self.lost is None else self.lost[chosen],
            _greatest(age),
        )

    def shares(self, like: Shares | None = None) -> Shares:
        """Return the shares known by age; losses and gains end where `like` is."""
        found: Shares = {
            "clients": self._known(self.number, None),
            "money": self._known(self.money, None),
        }
        for name, is_lost in zip(LOST_OR_NOT, (True, False), strict=True):
            if self.lost is None:
                found[name] = None
                continue
            chosen = self.lost == is_lost
            curve = self._known(self.money, chosen)
            # What is in the file without a date is never known, and its sign is.
            never = float(self.money[chosen & np.isinf(self.age)].sum()) / float(self.money.sum())
            total, pooled = float(curve[-1]) + never, None if like is None else like[name]
            if total <= 0.0:
                found[name] = None
            elif pooled is None or self.last >= pooled.size - 1 or not self._is_cut:
                found[name] = curve / total
            else:
                found[name] = curve / total * pooled[self.last]
        return found

    @property
    def _is_cut(self) -> bool:
        """Whether some clients are open."""
        return bool((~self.is_known & np.isfinite(self.age)).any())

    def _known(self, weights: FloatArray, chosen: BoolArray | None) -> FloatArray:
        """Return what share of the weights is known by age, [A]: of all, or of some."""
        size = self.last + 2
        age = np.minimum(self.age, size - 1).astype(np.int64)
        leaving = np.bincount(age, weights, size)[: size - 1]
        watched = weights.sum() - np.concatenate([[0.0], np.cumsum(leaving)[:-1]])

        def shares(which: BoolArray) -> FloatArray:
            events = np.bincount(age[which], weights[which], size)[: size - 1]
            nothing = np.zeros(events.size)
            return np.divide(events, watched, out=nothing, where=watched > 0.0)

        everything = shares(self.is_known)
        still_open = np.concatenate([[1.0], np.cumprod(1.0 - everything)[:-1]])
        some = everything if chosen is None else shares(self.is_known & chosen)
        return np.clip(np.cumsum(still_open * some), 0.0, 1.0)


def _greatest(age: FloatArray) -> int:
    return int(age[np.isfinite(age)].max(initial=0.0))


def _median(shares: FloatArray | None) -> int | None:
    """Return the age at which half is known."""
    if shares is None or shares[-1] < 0.5:
        return None
    return int(np.argmax(shares >= 0.5 - 1e-12))


def _thinned(shares: Shares) -> EmergenceCurve:
    """Return a curve with few enough ages."""
    clients = shares["clients"]
    assert clients is not None
    ages = np.arange(clients.size)
    if ages.size > MOST_AGES:
        ages = np.unique(np.linspace(0, clients.size - 1, MOST_AGES).round().astype(np.int64))
    of_ages = {
        name: None if curve is None else tuple(curve[ages].tolist())
        for name, curve in shares.items()
    }
    return EmergenceCurve(ages=tuple(ages.tolist()), **of_ages)  # type: ignore[arg-type]
