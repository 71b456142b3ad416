"""Bands of a score in a backtest: the cut-off table, cut-offs over time, and doubts.

The cut-off table is made from all clients of the file, with all outcomes: no policy saw
so much.

Whether the means are ordered at all is tested on profits per client (per unit lent,
where money decides): with the standard error s of each band,

    misfit = sum of (mean - isotonic fit)^2 / s^2.

If all means are equal, which is the least favourable case, it follows a mixture of
chi-squared laws, and with equal weights the mixture is that of the number of records of
a random permutation (Robertson, Wright and Dykstra 1988).  Of eight bands, a misfit of
20 is rare:

>>> round(misfit_tail(20.0, 8), 4)
0.0021
"""

import math
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.cutoff_table import CutoffTable, cutoff_table
from profitable.common.types import BoolArray, FloatArray
from profitable.kernels.law import GAUSSIAN, Law
from profitable.kernels.order import BandRow, new_bands
from profitable.kernels.order_fit import fit_bands
from profitable.past.past import Past
from profitable.replay.backtest_entry import BacktestEntry
from profitable.replay.family_choice import FamilyChoice

# A smaller probability of the misfit says that the means are not ordered.
UNLIKELY = 0.001
CUTOFF_POLICY = "bayes-ucb"  # which keeps sums only; no decision of it is shown
POOLED = 2.0  # clients with the variance of all bands, added to each band's own


def cutoffs_of(past: Past, terms: FamilyChoice) -> CutoffTable | None:
    """Return the table of all clients of the file; None without an order."""
    bands, clients = past.bands, past.clients
    if past.order is None or not bands.size or terms.lending is not None:
        return None
    agent = Agent(terms.unordered, policy=CUTOFF_POLICY)
    clients.tell(
        agent,
        slice(0, clients.size),
        np.ones(clients.size, dtype=bool) if clients.logged is None else clients.logged,
        by_money=terms.categories[0].by_money,
        by_round=False,
    )
    applicants = clients.counts.sum(axis=0)[bands]
    return cutoff_table(agent.ledger, past.order, bands, applicants=applicants)


# ------------------------------------------------------------------ is there an order?


def misfit_tail(misfit: float, bands: int) -> float:
    """Return the probability of a misfit at least so large if all means are equal.

    It is also a bound if means rise.
    """
    levels = np.array([1.0])  # the probability of as many blocks
    for i in range(1, bands + 1):
        levels = (np.append(levels * (i - 1.0), 0.0) + np.append(0.0, levels)) / i
    half = 0.5 * misfit
    tails = [0.0, math.erfc(math.sqrt(half)), math.exp(-half)]
    for freedom in range(3, bands):
        shape = 0.5 * freedom - 1.0
        density = (
            math.exp(shape * math.log(half) - half - math.lgamma(shape + 1.0)) if half else 0.0
        )
        tails.append(tails[freedom - 2] + density)
    return float(sum(levels[bands - freedom] * tails[freedom] for freedom in range(bands)))


def doubt_order(past: Past) -> list[str]:
    """Warn if the mean profit of the bands contradicts their order."""
    bands, clients = past.bands, past.clients
    by_money = past.layout.amount is not None and past.layout.weight == "money"
    number, total, squares = (
        clients.by_category(name)[bands] for name in ("number", "profit", "profit_squares")
    )
    units = clients.by_category("amount")[bands] if by_money else number
    some = number > 1.0
    if some.sum() < 2:
        return []
    names = [clients.names[k] for k in list[int](bands[some].tolist())]
    number, total, squares, units = (each[some] for each in (number, total, squares, units))
    apart = np.maximum(squares - total**2 / number, 0.0)
    spread = (apart + POOLED * apart.sum() / number.sum()) / (number + POOLED)  # of one client
    if not spread.any():
        return []
    table = new_bands(number.size)
    table[BandRow.CLIENTS] = units**2 / (number * spread)
    table[BandRow.TOTAL] = table[BandRow.CLIENTS] * total / units
    fit_bands(Law(GAUSSIAN, -math.inf, math.inf, 1.0), math.inf, 1.0, table)
    apart = table[BandRow.CLIENTS] * (total / units - table[BandRow.FIT]) ** 2
    chance = misfit_tail(float(apart.sum()), number.size)
    if chance >= UNLIKELY:
        return []
    worst: list[int] = sorted(np.argsort(-apart)[:2].tolist())
    what = "unit of money" if by_money else "client"
    found = f"misfit {apart.sum():.3g}, probability {chance:.1g} if it were"
    said = (
        f"the profit per {what} is not ordered by {past.order} ({found}): see "
        f"{' and '.join(names[k] for k in worst)}. A price that follows the risk can cause it. "
        "Bands that share evidence lose then"
    )
    return [said]


# --------------------------------------------------------------------------- over time


def cutoff_places(decided: BoolArray) -> FloatArray:
    """Return the lowest band from which on all are accepted, [R]; M if there is none.

    >>> rounds = [[True, True, True], [True, False, True], [True, True, False]]
    >>> cutoff_places(np.array(rounds)).tolist()
    [0.0, 2.0, 3.0]
    """
    return decided.shape[1] - np.cumprod(decided[:, ::-1], axis=1).sum(axis=1).astype(np.float64)


def cutoffs_over_time(past: Past, entries: list[BacktestEntry]) -> list[dict[str, Any]]:
    """Return the cut-off of each policy by round, as its place among the bands.

    `apart` is the share of the rounds in which some band below it was accepted, too.
    """
    bands, found = past.bands, list[dict[str, Any]]()
    for entry in entries:
        if entry.decided is not None:
            decided = entry.decided[:, bands]
            places = cutoff_places(decided)
            apart = decided.sum(axis=1) > bands.size - places
            found.append({"policy": entry.name, "cutoff": places, "apart": float(apart.mean())})
    return found
