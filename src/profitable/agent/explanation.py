"""What the agent knows about one category: as numbers (`Standing`) and in words (`explanation`)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from profitable.agent.ledger import Ledger
from profitable.agent.verdict import Verdict, crowding, for_good, losses_first, percent, prospect
from profitable.common.text_tables import money, number
from profitable.common.types import IntArray
from profitable.kernels.agent_table import Row
from profitable.kernels.evidence import Seen
from profitable.kernels.unknown_variance import are_equal, least_clients, says_nothing
from profitable.model.category import Category
from profitable.policy.policies import Policy

MEANS = {"money": "the money, so that large amounts count for more", "client": "the clients, whatever their amounts"}


Cells = tuple[Sequence[str], Sequence[Sequence[str]]]  # the headers and the rows of a table


@dataclass(frozen=True, slots=True)
class Standing:
    """What the agent knows about one category.

    - `clients` is how many outcomes were reported, and `counted` how many observations count by now: fewer if the
      policy forgets, and others where clients of open cohorts count by their age.
    - `waiting` is how many accepted clients have no outcome yet.  Of them, `open` are in cohorts that have not matured,
      and `missing` in cohorts that have.
    - `emerged` is as how many observations the clients of open cohorts count, before anything is forgotten.
    - `rounds` is how many decisions accepted it; `revenue`, `cost` and `profit` are in money.
    """

    name: str
    threshold: float
    clients: int
    counted: float
    mean: float | None
    evidence: float
    waiting: int
    open: int
    emerged: float
    missing: int
    rounds: int
    revenue: float
    cost: float
    paused: bool

    @property
    def profit(self) -> float:
        """What its clients brought so far, less what accepting them cost."""
        return self.revenue - self.cost


def columns_of(ledger: Ledger, chosen: IntArray) -> dict[str, list[Any]]:
    """What `Standing` says, of some categories, as columns."""
    ledger.refresh(chosen)
    table = ledger.table[:, chosen]
    revenue, cost = table[Row.REVENUE], table[Row.COST]
    return {
        "name": [ledger.categories.names[k] for k in chosen.tolist()],
        "threshold": table[Row.THRESHOLD].tolist(),
        "clients": table[Row.KNOWN].astype(np.int64).tolist(),
        "counted": table[Row.CLIENTS].tolist(),
        "mean": ledger.categories.means(chosen, table[Row.CLIENTS], table[Row.TOTAL]),
        "evidence": table[Row.EVIDENCE].tolist(),
        "waiting": table[Row.WAITING].astype(np.int64).tolist(),
        **ledger.cohorts.columns(chosen, ledger.round),
        "rounds": table[Row.ROUNDS].astype(np.int64).tolist(),
        "revenue": revenue.tolist(),
        "cost": cost.tolist(),
        "profit": (revenue - cost).tolist(),
        "paused": (table[Row.PAUSED] != 0.0).tolist(),
    }


def standing_of(ledger: Ledger, k: int) -> Standing:
    """What is known of one category."""
    columns = columns_of(ledger, np.array([k]))
    return Standing(**{key: column[0] for key, column in columns.items() if key != "profit"})


def table_of(ledger: Ledger, rows: int) -> Cells:
    """What is known of the first categories, as headers and cells of a table; with cohorts it has more columns."""
    late = bool(ledger.cohorts)
    shown = ["clients", *(["counted"] if late else []), "mean", "threshold", "evidence", "waiting"]
    shown += ["open", "missing"] if late else []
    cells: list[list[str]] = []
    for k in range(rows):
        each = standing_of(ledger, k)
        state = "paused" if each.paused else "active"
        cells.append([each.name, *(number(getattr(each, key)) for key in shown), money(each.profit), state])
    return ("category", *shown, "profit", "state"), cells


class Facts(NamedTuple):
    """What an explanation says beside the numbers of a standing."""

    patient: int | None  # the next round whose patience suffices, None if there is none
    round: int  # that would be decided next
    memory: int  # bytes of distinct rewards
    per_round: float | None  # clients in a round, None if that is not known yet
    spread: Seen | None  # what was seen of rewards whose variance is estimated
    kept: int  # known outcomes that do not count before their cohorts have matured


def explanation(category: Category, policy: Policy, standing: Standing, verdict: Verdict, facts: Facts) -> str:
    """A text: what was seen, how strongly it speaks against the category, what the next round decides, the money."""
    patient, round, memory, per_round, spread, kept = facts
    lines = [f"{category.name}: {category.family}, worth accepting if its mean is above {number(category.threshold)}."]
    if category.amount is not None:
        worth, price = money(category.worth + category.recovered), money(category.price)
        lost = f"a default returns {number(100.0 * category.recovery)} %" if category.recovery else ""
        back = f"as {worth}; {lost}" if lost else f"as {worth} or not at all"
        lines.append(f"A loan of {price} comes back {back}; the mean is the share that is repaid.")
    if category.weight is not None:
        lines.append(f"A reward is money back per unit lent; the mean is that of {MEANS[category.weight]}.")
    if (prior := policy.prior_of(category)) is not None:
        is_of_rewards = prior.kind == "clients" or category.family.view().statistic.is_reward
        lines.append(f"Believed before: {prior}{'' if is_of_rewards else ', of the statistic and not of the rewards'}.")
    lines.append(_seen(category, policy, standing, kept))
    if spread is not None and standing.mean is not None:
        lines.append(_spread(category, policy, spread))
    lines += _late(standing, kept)
    if memory:
        lines.append(f"Remembers {number(memory // 16)} distinct rewards ({number(memory)} bytes).")
    lines.append(f"Evidence against it: {number(standing.evidence)} nats.")
    if policy.outlook(round - 1, 1.0):
        known = "not known yet, 1 is assumed" if per_round is None else number(per_round)
        lines.append(f"Clients in a round: {known}.")
        if verdict.patience < math.inf:
            worth = prospect(policy, round - 1, standing.evidence, verdict.patience, per_round or 1.0)
            lines.append(f"{worth}.")
    lines.append(f"Round {number(round)}: {_outlook(policy, standing, verdict, patient, round)}.")
    profit, received, paid = map(money, (standing.profit, standing.revenue, standing.cost))
    lines.append(f"Profit so far: {profit} (received {received}, paid {paid}).")
    return "\n".join(lines)


def _seen(category: Category, policy: Policy, standing: Standing, kept: int) -> str:
    clients, mean = number(standing.clients), number(standing.mean)
    if not standing.clients and standing.mean is None:
        return "Seen: no outcome yet."
    if not policy.forgets:
        if standing.counted == standing.clients:
            return f"Seen: {clients} clients with mean {mean}."
        if category.by_money and not kept:
            counted = number(standing.counted)
            return f"Seen: {clients} clients, who count as {counted} because amounts differ, with mean {mean}."
        how = "cohorts count as they mature"
    elif policy.window is not None:
        how = f"the outcomes of the last {number(policy.window)} rounds count"
    else:
        how = f"outcomes lose {number(100.0 * (1.0 - policy.forget), 3)} % of their weight in each round"
    if standing.mean is None:
        return f"Seen: {clients} clients, {'none counted' if kept else 'all forgotten'} by now ({how})."
    return f"Seen: {clients} clients, who count as {number(standing.counted)} with mean {mean} ({how})."


def _late(standing: Standing, kept: int) -> list[str]:
    """What is to say about outcomes that are still to come."""
    lines: list[str] = []
    if standing.waiting:
        lines.append(f"Waiting for the outcome of {number(standing.waiting)} accepted clients.")
    if standing.open:
        how = f"count as {number(standing.emerged)} observations by now" if standing.emerged else "do not count yet"
        lines.append(f"Open: {number(standing.open)} of them. Cohorts that have not matured {how}.")
    if kept:
        lines.append(f"Kept: {number(kept)} known outcomes, which count when their cohorts have matured.")
    if standing.missing:
        lines.append(f"Missing: {number(standing.missing)} of them. Their cohorts have matured.")
    uncounted = standing.waiting - standing.open - standing.missing
    if warning := losses_first(standing.clients, uncounted, standing.mean, standing.threshold):
        lines.append(f"Caution: {warning}.")
    return lines


def _spread(category: Category, policy: Policy, seen: Seen) -> str:
    """How far the rewards lie apart, and whether that says anything yet."""
    law, is_posterior = category.family.view().law, policy.rule.is_posterior
    deviation = number(math.sqrt(seen.spread / seen.clients))
    equal = are_equal(seen.clients, seen.total, seen.spread)
    text = "Their rewards are all equal." if equal else f"Their standard deviation is {deviation}."
    if says_nothing(law, seen.clients, seen.total, seen.spread, is_posterior):
        least = math.ceil(least_clients(law, is_posterior))
        text += f" This says nothing yet: it takes {number(least)} clients whose rewards are not all equal."
    return text


def _outlook(policy: Policy, standing: Standing, verdict: Verdict, patient: int | None, round: int) -> str:
    if standing.paused:
        return "paused, not accepted until it is resumed"
    if round == 1 and verdict.patience == math.inf and not policy.outlook(0.0, 1.0):
        return "accepted, as every category is in the first round"
    if policy.draws:
        return f"accepted with probability {number(verdict.propensity)}"
    limit = f"patience {number(verdict.patience)} nats, index {number(verdict.index)}"
    if verdict.accepted:
        return f"accepted ({limit})"
    if policy.floor > 0.0:
        again = "" if patient is None else f"; patience will accept it in round {number(patient)}"
        return f"accepted with probability {percent(policy.floor)}, by the floor ({limit}){again}"
    if patient is None:
        return f"skipped ({limit}); {for_good(standing.waiting)}"
    crowd = crowding(policy, standing.evidence, verdict.patience, standing.counted)
    return f"skipped ({limit}); {crowd}{'; ' if crowd else ''}it can be accepted again in round {number(patient)}"
