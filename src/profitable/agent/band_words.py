"""Bands in words: where the cut-off is, and why a band is accepted or refused.

>>> _listed(["a", "b", "c", "d", "f"], [0, 1, 2, 4])
'a to c and f'
>>> _low_edge("score 600-620"), _low_edge("grade C")
('600', 'grade C')
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from profitable.agent.categories import Categories
from profitable.agent.explanation import prospect
from profitable.agent.order_ledger import OrderReading
from profitable.common.text_tables import number_text
from profitable.common.types import IntArray
from profitable.kernels.order import BandRow
from profitable.model.category import Category
from profitable.policy.policies import Policy

RANGE = re.compile(r"(-?\d+(?:\.\d+)?) ?(?:-|\u2013|to) ?-?\d")  # also with an en dash
SHORTEST_RUN = 3  # so many neighbours are listed as "first to last"


def cut_off(reading: OrderReading) -> str:
    """Return where an order is cut off, which bands are tested, and which have left.

    A band is tested if it is accepted although its fit is below its threshold.
    """
    bands, names = reading.bands, reading.order.names
    left = [i for i in range(len(names)) if bands[BandRow.LEFT, i]]
    inside = [i for i in range(len(names)) if not bands[BandRow.LEFT, i]]
    accepted = [i for i in inside if bands[BandRow.ACCEPTED, i]]
    settled: list[int] = []
    for i in reversed(inside):
        if i not in accepted or bands[BandRow.SHARED, i] > 0.0:
            break
        settled.append(i)
    tested = [i for i in accepted if i not in settled]
    parts: list[str] = []
    if settled:
        parts.append(f"accepted from {_low_edge(names[settled[-1]])} up")
    if tested:
        parts.append(f"testing {_listed(names, tested)}")
    if not accepted and inside:
        parts.append("no band is accepted")
    if left:
        parts.append(f"{_listed(names, left)} left the order")
    return f"{reading.order.name}: {'; '.join(parts)}"


def on_top(categories: Categories, start: int) -> list[str]:
    """Return a doubt for each band from position `start` on whose order has older ones.

    Categories are only ever appended, so it is the highest, whatever its name.
    """
    return [
        f"{categories.names[k]} is the highest band of the order {order!r} now, above "
        f"{categories.names[below]}; if its mean is lower, remove it, and begin anew with all "
        "bands from the lowest to the highest"
        for order, positions in categories.bands().items()
        for below, k in pairwise(positions.tolist())
        if positions[0] < start <= k
    ]


def bands_at(
    orders: Sequence[OrderReading], positions: IntArray
) -> dict[int, tuple[OrderReading, int]]:
    """Return the bands among positions: by place, their order and place in it."""
    found: dict[int, tuple[OrderReading, int]] = {}
    for reading in orders:
        place = {k: i for i, k in enumerate(reading.order.positions.tolist())}
        for at, k in enumerate(positions.tolist()):
            if k in place:
                found[at] = (reading, place[k])
    return found


def say_bands(
    columns: dict[str, list[Any]],
    orders: Sequence[OrderReading],
    positions: IntArray,
    categories: Categories,
    round: int,
    per_round: Sequence[float],
) -> None:
    """Write the reasons and orders of the bands into the fields of verdicts."""
    columns["order"] = [None] * len(columns["name"])
    for at, (reading, i) in bands_at(orders, positions).items():
        columns["order"][at] = reading.order.name
        verdict = {key: column[at] for key, column in columns.items()}
        category = categories[int(reading.order.positions[i])]
        if not verdict["reason"].startswith("paused"):
            columns["reason"][at] = _band_reason(
                verdict, reading, i, category, categories.policy, round, per_round[at]
            )


def _band_reason(
    verdict: Mapping[str, Any],
    reading: OrderReading,
    i: int,
    category: Category,
    policy: Policy,
    round: int,
    per_round: float,
) -> str:
    """Return why a band is accepted or refused.

    `verdict` has the fields of its verdict so far, with the reason for a category that
    is not a band.
    """
    said: str = verdict["reason"]
    bands, clients = reading.bands, reading.bands[BandRow.CLIENTS, i]
    if bands[BandRow.LEFT, i]:
        return f"{said}; it left the order {reading.order.name!r} and is judged alone"
    others = _in_question(reading, i)
    if bands[BandRow.ACCEPTED, i]:
        if bands[BandRow.EVIDENCE, i] > 0.0 or not bands[BandRow.ALONE, i] > 0.0:
            return said
        return (
            f"accepted: the mean of its {number_text(clients)} clients is below the threshold, "
            "but bands below it did better"
        )
    together = [i, *others]
    number = sum(bands[BandRow.CLIENTS, each] for each in together)
    total = sum(bands[BandRow.TOTAL, each] for each in together)
    words = [_seen_of(category, number, total)]
    if others:
        band = "bands" if len(others) > 1 else "band"
        names = _listed(reading.order.names, others)
        words.insert(0, f"together with {band} {names}, which did no better, ")
    alone = ""
    if not clients:
        alone = "; it has no clients of its own"
    elif others and own_evidence_of(reading, i, policy) <= bands[BandRow.PATIENCE, i]:
        alone = f"; its own {number_text(clients)} clients alone would not decide it"
    facts = _facts(verdict, policy, round, per_round)
    return f"refused: {''.join(words)}; {facts}{alone}"


def _facts(verdict: Mapping[str, Any], policy: Policy, round: int, per_round: float) -> str:
    """Return the evidence against a band under its order, and patience."""
    nats, limit = verdict["evidence"], verdict["patience"]
    ahead = prospect(policy, round - 1, nats, limit, per_round)
    if ahead:
        return ahead
    if policy.draws:
        chance = number_text(verdict["propensity"], 3)
        return f"this round accepted it with probability {chance}"
    return f"evidence {number_text(nats, 3)} nats, patience {number_text(limit, 3)}"


def own_evidence_of(reading: OrderReading, i: int, policy: Policy) -> float:
    """Return the evidence against a band alone."""
    row = BandRow.OWN if policy.rule.is_posterior else BandRow.ALONE
    return float(reading.bands[row, i])


def _in_question(reading: OrderReading, i: int) -> list[int]:
    """Return the bands above that stand or fall with a band: they have clients, too."""
    bands, found = reading.bands, list[int]()
    for other in range(i + 1, len(reading.order.names)):
        if bands[BandRow.FIT, other] >= bands[BandRow.TARGET, i]:
            break
        if bands[BandRow.CLIENTS, other] > 0.0 and not bands[BandRow.LEFT, other]:
            found.append(other)
    return found


def _seen_of(category: Category, clients: float, total: float) -> str:
    number = number_text(clients)
    if category.amount is not None:
        limit = number_text(category.threshold, 3)
        return f"{number_text(total)} of {number} repaid against a break-even of {limit}"
    threshold = f"against a threshold of {number_text(category.threshold)}"
    if category.family.support.is_zero_or_one:
        return f"{number_text(total)} of {number} paid {threshold}"
    mean = category.family.view().statistic.mean_of(total / clients) if clients else None
    return f"a mean of {number_text(mean)} from {number} clients {threshold}"


def _low_edge(name: str) -> str:
    """Return the low end of a band that is named as a range, else its name."""
    found = RANGE.search(name)
    return found[1] if found else name


def _listed(names: Sequence[str], places: Sequence[int]) -> str:
    """Return names in words; neighbours as a range."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts: list[str] = []
    for run in runs:
        if len(run) >= SHORTEST_RUN:
            texts.append(f"{names[run[0]]} to {names[run[-1]]}")
        else:
            texts += [names[place] for place in run]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
