"""LendingWorld: borrowers, and the hidden truth about when their loans end.

A loan that was issued in round s is a loan of *vintage* s.  At each age it defaults
with the probability multiplier * level(s) * hazard(age).  Otherwise it may be prepaid,
and it closes at its term at the latest.

>>> cars = Borrowers("cars", rate=0.12, multiplier=1.2, clients=40)
>>> world = LendingWorld([cars], term=36, peak=12, total=0.15)
>>> bool(world.hazards.argmax() == 12), float((1 - world.hazards).prod().round(6))
(True, 0.85)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, cast

import numpy as np

from profitable.agent.loan_book import coded
from profitable.common import check
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import DuplicateNameError, InputError, ParameterError, ProfitableError
from profitable.kernels.hazards import present_values
from profitable.model.category import Category
from profitable.model.category_table import in_file, is_table, known_fields, needed_field
from profitable.model.lending import LARGEST_RATE, LONGEST_TERM, Lending
from profitable.simulation.clients_per_round import MOST_PER_ROUND

SHARPNESS = 2.0  # of the peak: a hazard is like age^2 exp(-2 age / peak)
HIGHEST_LEVEL = 1e3
LARGEST_CLIENT_GROWTH = 1.0  # a round; a larger one was probably given in percent


@dataclass(frozen=True)
class Borrowers:
    """A category of a lending world with the truth about its borrowers.

    Parameters
    ----------
    name : str
        Name of the category.
    rate : float
        Interest a year: 0.12 is 12 %.  Agents know it.
    multiplier : float
        How many times the hazards of the world its borrowers default.
    clients : float
        Mean number who ask for a loan in round 1; the number is Poisson distributed.

    Examples
    --------
    >>> Borrowers("cars", rate=0.12, multiplier=1.2, clients=40).category.threshold
    1.0
    """

    name: str
    rate: float = field(kw_only=True)
    multiplier: float = field(kw_only=True)
    clients: float = field(kw_only=True)

    def __post_init__(self) -> None:
        category = self.category  # which checks the name
        try:
            rate = check.within(
                "rate",
                self.rate,
                0.0,
                LARGEST_RATE,
                "is not an interest rate a year",
                "give a fraction: 0.12 for 12 %",
            )
            clients = check.positive("clients", self.clients)
            if clients > MOST_PER_ROUND:
                raise ParameterError(
                    "clients", clients, f"is more than {MOST_PER_ROUND}", "give fewer clients"
                )
            multiplier = check.not_negative("multiplier", self.multiplier)
        except ProfitableError as error:
            raise error.about(category.name) from None
        for name, value in (("rate", rate), ("multiplier", multiplier), ("clients", clients)):
            object.__setattr__(self, name, value)

    @property
    def category(self) -> Category:
        """The category as an agent knows it."""
        return Category.returns(self.name)


@dataclass(frozen=True)
class LendingWorld:
    """Borrowers of all categories, and the truth about loans that they share.

    Parameters
    ----------
    borrowers : iterable of Borrowers
        The categories; their names must differ.
    term : int or list of int
        Rounds until a loan is repaid.  If there are several terms, clients ask for each
        of them equally often.
    peak : float
        The age, in rounds, at which most defaults become known.
    total : float
        Probability that a loan over the longest term defaults if it is not prepaid, at
        multiplier 1 and level 1.
    lending : Lending, optional
        The terms that agents know, and their view of the level; `Lending()` unless
        given.
    prepay : float
        Probability that a loan is prepaid in a round.
    growth : float
        By which share the clients grow in a round: 0.05 is 5 %.
    level_drift : float
        Standard deviation, a year, of the logarithm of the common level, which is a
        random walk over vintages.
    levels : list of pairs
        The common level by vintage: [[1, 2.3], [12, 2.3], [30, 1.0]] falls from round
        12 to round 30 in a straight line.  It multiplies the random walk.

    Examples
    --------
    >>> shops = Borrowers("shops", rate=0.12, multiplier=5.0, clients=40)
    >>> levels = [[1, 2], [3, 1]]
    >>> world = LendingWorld([shops], term=36, peak=12, total=0.15, levels=levels)
    >>> world.level_by_round(4).tolist(), world.sides(4)
    ([2.0, 1.5, 1.0, 1.0], [False])
    """

    borrowers: tuple[Borrowers, ...]
    lending: Lending = field(kw_only=True)
    term: int | tuple[int, ...] = field(kw_only=True)
    peak: float = field(kw_only=True)
    total: float = field(kw_only=True)
    prepay: float = field(kw_only=True)
    growth: float = field(kw_only=True)
    level_drift: float = field(kw_only=True)
    levels: tuple[tuple[int, float], ...] = field(kw_only=True)

    def __init__(
        self,
        borrowers: Iterable[Borrowers],
        *,
        term: int | Sequence[int],
        peak: float,
        total: float,
        lending: Lending | None = None,
        prepay: float = 0.0,
        growth: float = 0.0,
        level_drift: float = 0.0,
        levels: Sequence[Sequence[float]] = (),
    ) -> None:
        lending = Lending() if lending is None else lending
        if not isinstance(lending, Lending):
            raise ParameterError(
                "lending", lending, "must be a Lending", "give profitable.Lending(required=0.05)"
            )
        terms = _terms(term)
        remedy = "give a probability above 0 and below 1"
        checked = {
            "borrowers": _borrowers(borrowers),
            "lending": lending,
            "term": terms[0] if len(terms) == 1 else terms,
            "peak": check.within(
                "peak",
                peak,
                1.0,
                max(terms),
                "is not an age of a loan",
                f"give a number of rounds from 1 to the longest term, {max(terms)}",
            ),
            "total": check.within(
                "total", total, 1e-9, check.BELOW_1, "is not such a probability", remedy
            ),
            "prepay": check.within(
                "prepay", prepay, 0.0, check.BELOW_1, "is not a probability", "give 0 to below 1"
            ),
            "growth": check.within(
                "growth",
                growth,
                -check.BELOW_1,
                LARGEST_CLIENT_GROWTH,
                "is not a growth per round",
                "give a fraction: 0.05 for 5 %",
            ),
            "level_drift": check.not_negative("level_drift", level_drift),
            "levels": _levels(levels),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def terms(self) -> tuple[int, ...]:
        """The terms, ascending, [P]."""
        return (self.term,) if isinstance(self.term, int) else self.term

    @property
    def longest(self) -> int:
        """The number of ages at which loans of the longest term are looked at, J."""
        return self.lending.ages(self.terms[-1])

    @cached_property
    def hazards(self) -> FloatArray:
        """Probability of a default at each age, at multiplier 1 and level 1, [J]."""
        ages = np.arange(self.longest)
        shape = np.where(
            ages <= self.terms[-1], ages**SHARPNESS * np.exp(-SHARPNESS * ages / self.peak), 0.0
        )
        return -np.expm1(math.log1p(-self.total) * shape / shape.sum())

    @cached_property
    def _present_values(self) -> FloatArray:
        """Value at issue of loans that default, or close, at each age, [K, P, 2, J]."""
        lending, terms = self.lending, self.terms
        values = np.zeros((len(self.borrowers), len(terms), 2, self.longest))
        for k, each in enumerate(self.borrowers):
            for p, term in enumerate(terms):
                seen = values[k, p, :, : lending.ages(term)]
                present_values(each.rate / lending.per_year, term, coded(lending), *seen)
        return values

    def fates(self, level: float) -> FloatArray:
        """Return what becomes of loans of a vintage.

        Parameters
        ----------
        level : float
            Its common level.

        Returns
        -------
        array of shape [K, P, 2, J]
            Probabilities of default, and of closing, at each age.
        """
        multipliers = np.array([each.multiplier for each in self.borrowers])
        hazards = np.minimum(multipliers[:, None] * (level * self.hazards), 1.0)[:, None]
        ages, terms = np.arange(self.longest), np.array(self.terms)
        closings = np.where(ages > 0, self.prepay, 0.0)
        closings = np.where(ages >= terms[:, None], 1.0, closings)
        stays = (1.0 - hazards) * (1.0 - closings)
        alive = np.ones_like(stays)
        alive[..., 1:] = np.cumprod(stays[..., :-1], axis=-1)
        return np.stack([alive * hazards, alive * (1.0 - hazards) * closings], axis=2)

    def value_of(self, fates: FloatArray | IntArray) -> FloatArray:
        """Return what loans with these fates are worth at issue.

        Parameters
        ----------
        fates : array of shape [K, P, 2, J]
            Probabilities, or numbers of loans.

        Returns
        -------
        array of shape [K]
            Present values, per unit lent.
        """
        return (fates * self._present_values).sum(axis=(1, 2, 3))

    def mean_values(self, level: float) -> FloatArray:
        """Return the expected value of a loan of a vintage.

        Parameters
        ----------
        level : float
            Its common level.

        Returns
        -------
        array of shape [K]
            Present values at issue, per unit lent.
        """
        return self.value_of(self.fates(level)) / len(self.terms)

    def level_by_round(self, horizon: int) -> FloatArray:
        """Return the common level of each vintage, without its random walk.

        Parameters
        ----------
        horizon : int
            The last round.

        Returns
        -------
        array of shape [T]
            The levels.
        """
        if not self.levels:
            return np.ones(horizon)
        starts, levels = zip(*self.levels, strict=True)
        return np.interp(np.arange(1, horizon + 1), starts, levels)

    def draw_levels(self, horizon: int, rng: np.random.Generator) -> FloatArray:
        """Return the common level of each vintage in one run.

        Parameters
        ----------
        horizon : int
            The last round.
        rng : Generator
            The random generator.

        Returns
        -------
        array of shape [T]
            The levels.
        """
        steps = rng.standard_normal(horizon) * (self.level_drift / math.sqrt(self.lending.per_year))
        steps[0] = 0.0
        return self.level_by_round(horizon) * np.exp(np.cumsum(steps))

    def clients_in(self, round: int) -> FloatArray:
        """Return the mean number of clients who ask in a round.

        Parameters
        ----------
        round : int
            The round, from 1.

        Returns
        -------
        array of shape [K]
            The means.
        """
        first = np.array([each.clients for each in self.borrowers])
        return first * (1.0 + self.growth) ** (round - 1)

    def sides(self, horizon: int) -> list[bool | None]:
        """Return whether each category pays.

        Parameters
        ----------
        horizon : int
            The last round.

        Returns
        -------
        list of bool or None
            None for one that pays in some rounds only, or by chance.
        """
        levels = np.unique(self.level_by_round(horizon))
        pays: BoolArray = np.array([self.mean_values(level) > 1.0 for level in levels])
        if self.level_drift > 0.0:
            return [None] * pays.shape[1]
        return [bool(row[0]) if (row == row[0]).all() else None for row in pays.T]

    @property
    def largest_loss(self) -> float:
        """The largest cost of a wrong decision in round 1."""
        level = float(self.level_by_round(1)[0])
        return float((np.abs(self.mean_values(level) - 1.0) * self.clients_in(1)).max())

    def to_plain(self) -> dict[str, Any]:
        """Return the [lending] table of a scenario file."""
        known = {each.name: getattr(self.lending, each.name) for each in fields(self.lending)}
        table = {name: getattr(self, name) for name in HIDDEN_FIELDS}
        table["levels"] = [list(pair) for pair in self.levels]
        table["term"] = self.term if isinstance(self.term, int) else list(self.term)
        return known | {name: value for name, value in table.items() if value not in (0.0, [])}


KNOWN_FIELDS = tuple(each.name for each in fields(Lending))
HIDDEN_FIELDS = ("term", "peak", "total", "prepay", "growth", "level_drift", "levels")
NEEDED_FIELDS = ("term", "peak", "total")


def _terms(given: object) -> tuple[int, ...]:
    """Return the terms, ascending."""
    several = isinstance(given, list | tuple)
    each: list[Any] = list(cast(Sequence[Any], given)) if several else [given]
    if not each:
        raise ParameterError("term", given, "is empty", "give a number of rounds, such as 36")
    return tuple(sorted({check.whole("term", term, most=LONGEST_TERM) for term in each}))


def _levels(given: Sequence[Sequence[float]]) -> tuple[tuple[int, float], ...]:
    if isinstance(given, list | tuple) and not given:
        return ()
    return tuple(
        (
            start,
            check.within(
                f"levels from round {start}",
                level,
                1.0 / HIGHEST_LEVEL,
                HIGHEST_LEVEL,
                "is not a level",
                f"give a number from {1.0 / HIGHEST_LEVEL:g} to {HIGHEST_LEVEL:g}",
            ),
        )
        for start, level in check.by_round("levels", cast(object, given), "level")
    )


def _borrowers(given: object) -> tuple[Borrowers, ...]:
    remedy = "give a list of Borrowers(name, rate=, multiplier=, clients=)"
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ParameterError("borrowers", given, "must be a list", remedy)
    found: dict[str, Borrowers] = {}
    for each in cast(Iterable[object], given):
        if not isinstance(each, Borrowers):
            raise ParameterError("borrowers", each, "must be Borrowers", remedy)
        if each.name in found:
            raise DuplicateNameError(
                "name", each.name, "is given twice", "give each category its own"
            )
        found[each.name] = each
    if not found:
        raise InputError("borrowers", [], "is empty", "give at least one category")
    return tuple(found.values())


def read_lending(
    table: Any, entries: Iterable[tuple[str, dict[str, Any], str]], where: str
) -> LendingWorld:
    """Read the [lending] table of a scenario file, and its categories."""
    if not is_table(table):
        raise InputError(where, table, "is not a table", "give [lending] with term, peak and total")
    known_fields(table, {*KNOWN_FIELDS, *HIDDEN_FIELDS}, where)
    hidden = {key: needed_field(table, key, where) for key in NEEDED_FIELDS}
    hidden |= {key: table[key] for key in HIDDEN_FIELDS if key in table}
    borrowers = [_read_borrowers(*entry) for entry in entries]
    return in_file(
        where,
        lambda: LendingWorld(
            borrowers,
            lending=Lending(**{key: table[key] for key in KNOWN_FIELDS if key in table}),
            **hidden,
        ),
    )


def _read_borrowers(name: str, entry: Mapping[str, Any], where: str) -> Borrowers:
    keys = tuple(each.name for each in fields(Borrowers) if each.name != "name")
    known_fields(entry, {"name", *keys}, where)
    given = {key: needed_field(entry, key, where) for key in keys}
    return in_file(where, lambda: Borrowers(name, **given))
