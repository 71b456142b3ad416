"""Lending: how the loans of a book are valued, and how evidence about them is judged.

>>> Lending(required=0.05).discount  # what 1 in a month is worth today
0.9959424...
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from profitable.common import check
from profitable.common.types import IntArray
from profitable.errors import ParameterError
from profitable.kernels.hazards import rates_of_instalments

Rounds = TypeVar("Rounds", int, IntArray)

MONTHS = 12.0
CYCLE_YEARS = 4.0  # the time over which the common level of vintages is one observation
MEMORY = 0.8  # the weight of what clients asked for, one month later
LONGEST_TERM = 1_200  # rounds
LEAST_LEVEL, MOST_LEVEL = 0.01, 10.0  # besides 0; a narrower law takes too many nodes
LARGEST_RATE = 10.0  # a year; beyond it, the rate was probably given in percent
ROUNDED_DOWN = 1e-3  # the share of a loan that rounded instalments may leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Lending:
    """Terms that all loans of a lender share.

    An agent with such terms learns when loans default and close, from the loans
    themselves (docs/late-outcomes.md).

    Parameters
    ----------
    required : float
        Return required a year, at which payments are discounted: 0.05 is 5 %.
    recovery : float
        Share of the balance that comes back in a default.
    lag : int
        Rounds between the last instalment and the round in which a default is known.
    level : float
        How uncertain the common level of defaults is: the standard deviation of its
        logarithm between vintages.
    frailty : bool
        Whether the multipliers of categories are compared with each other.
    per_year : float
        Rounds in a year: 12 for months.  An instalment is due in each round.

    Examples
    --------
    >>> Lending(required=0.05, recovery=0.1, lag=3).cycle
    48.0
    """

    required: float = 0.0
    recovery: float = 0.0
    lag: int = 0
    level: float = 0.3
    frailty: bool = True
    per_year: float = MONTHS

    def __post_init__(self) -> None:
        required = check.finite("required", self.required, "give a fraction: 0.05 for 5 %")
        if not -1.0 < required <= LARGEST_RATE:
            raise ParameterError(
                "required", self.required, "is not a rate", "give a fraction: 0.05 for 5 %"
            )
        object.__setattr__(self, "required", required)
        recovery = check.within(
            "recovery",
            self.recovery,
            0.0,
            1.0,
            "is not the share of a balance that a default returns",
            "give a number from 0 to 1: 0.1 for 10 %",
        )
        object.__setattr__(self, "recovery", recovery)
        object.__setattr__(self, "lag", check.whole("lag", self.lag, least=0, most=LONGEST_TERM))
        level = check.not_negative("level", self.level, "give 0 or more, such as 0.3")
        if 0.0 < level < LEAST_LEVEL or level > MOST_LEVEL:
            raise ParameterError(
                "level",
                self.level,
                "is not how uncertain the level of a book is",
                f"give 0, or a number from {LEAST_LEVEL} to {MOST_LEVEL}, such as 0.3",
            )
        object.__setattr__(self, "level", level)
        if not isinstance(self.frailty, bool):
            raise ParameterError("frailty", self.frailty, "is not a flag", "give True or False")
        object.__setattr__(self, "per_year", check.positive("per_year", self.per_year))

    @property
    def discount(self) -> float:
        """What a payment is worth one round earlier."""
        return math.exp(-math.log1p(self.required) / self.per_year)

    @property
    def cycle(self) -> float:
        """Rounds over which the common level is one observation."""
        return CYCLE_YEARS * self.per_year

    @property
    def most_patience(self) -> float:
        """The nats that are tolerated at most, whatever the round.

        Within a cycle, no round brings a new level, so patience counts no more rounds
        than one cycle has.  Else log t would exceed what the evidence can reach.
        """
        return max(math.log(self.cycle), 0.0) if self.level > 0.0 else math.inf

    @property
    def memory(self) -> float:
        """The weight of what clients asked for, one round later."""
        return MEMORY ** (MONTHS / self.per_year)

    def rate_of(self, instalment: float, amount: float, term: int) -> float:
        """Return the interest a year of a loan that is repaid by equal instalments.

        Instalments that are rounded down may repay a thousandth too little, without
        interest.

        Parameters
        ----------
        instalment : float
            What is paid in each round.
        amount : float
            What was lent.
        term : int
            Number of rounds over which it is repaid.

        Returns
        -------
        float
            The rate: 0.12 for 12 %.

        Raises
        ------
        ParameterError
            If no rate fits.

        Examples
        --------
        >>> round(Lending().rate_of(instalment=332.14, amount=10_000, term=36), 4)
        0.12
        """
        share = max(instalment / amount, 1.0 / term)
        (found,) = rates_of_instalments(np.array([share]), np.array([term])).tolist()
        rate = found * self.per_year
        if instalment * term < amount * (1.0 - ROUNDED_DOWN) or rate > LARGEST_RATE:
            raise ParameterError(
                "instalment",
                instalment,
                f"does not repay {amount:.12g} in {term} rounds at a rate from 0 to "
                f"{LARGEST_RATE:.0%} a year",
                "give what is paid in each round",
            )
        return rate if share > 1.0 / term else 0.0

    def ages(self, terms: Rounds) -> Rounds:
        """Return the number of ages at which loans are looked at.

        The last is one round after a default of the last instalment is known.

        Parameters
        ----------
        terms : int or array of int
            Rounds over which they are repaid.

        Returns
        -------
        int or array of int
            Ages, from 0.

        Examples
        --------
        >>> Lending(lag=5).ages(36)
        43
        """
        return terms + self.lag + 2
