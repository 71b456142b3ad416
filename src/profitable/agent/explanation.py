"""What the agent knows about one category: as numbers (`Standing`) and in words (`explanation`)."""

import math
from dataclasses import dataclass

from profitable.agent.verdict import Verdict, crowding, for_good, percent, prospect
from profitable.common.text_tables import money, number
from profitable.kernels.evidence import Seen
from profitable.kernels.unknown_variance import are_equal, least_clients, says_nothing
from profitable.model.category import Category
from profitable.policy.policies import Policy

MEANS = {"money": "the money, so that large amounts count for more", "client": "the clients, whatever their amounts"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What the agent knows about one category.

    `clients` is how many outcomes were reported, and `counted` as how many of them count by now: fewer if the policy
    forgets.  `rounds` is how many decisions accepted it; `revenue`, `cost` and `profit` are in money.
    """

    name: str
    threshold: float
    clients: int
    counted: float
    mean: float | None
    evidence: float
    waiting: int
    rounds: int
    revenue: float
    cost: float
    paused: bool

    @property
    def profit(self) -> float:
        """What its clients brought so far, less what accepting them cost."""
        return self.revenue - self.cost


def explanation(
    category: Category,
    policy: Policy,
    standing: Standing,
    verdict: Verdict,
    patient: int | None,
    round: int,
    memory: int,
    per_round: float | None,
    spread: Seen | None = None,
) -> str:
    """A text: what was seen, how strongly it speaks against the category, what `round` would decide, and the money.

    `patient` is the next round whose patience suffices, None if there is none.  `per_round` is how many clients a round
    brings, None if that is not known yet.  `spread` is what was seen of rewards whose variance is estimated.
    """
    lines = [f"{category.name}: {category.family}, worth accepting if its mean is above {number(category.threshold)}."]
    if category.amount is not None:
        worth, price = money(category.worth + category.recovered), money(category.price)
        lost = f"a default returns {number(100.0 * category.recovery)} %" if category.recovery else ""
        back = f"as {worth}; {lost}" if lost else f"as {worth} or not at all"
        lines.append(f"A loan of {price} comes back {back}; the mean is the share that is repaid.")
    if category.weight is not None:
        lines.append(f"A reward is money back per unit lent; the mean is that of {MEANS[category.weight]}.")
    if (prior := policy.prior_of(category)) is not None:
        lines.append(f"Believed before: {prior}.")
    if standing.clients:
        lines.append(_seen(category, policy, standing))
        if spread is not None and standing.mean is not None:
            lines.append(_spread(category, policy, spread))
    else:
        lines.append("Seen: no outcome yet.")
    if standing.waiting:
        lines.append(f"Waiting for the outcome of {number(standing.waiting)} accepted clients.")
    if memory:
        lines.append(f"Remembers {number(memory // 16)} distinct rewards ({number(memory)} bytes).")
    lines.append(f"Evidence against it: {number(standing.evidence)} nats.")
    if policy.outlook(round - 1, 1.0):
        known = "not known yet, 1 is assumed" if per_round is None else number(per_round)
        lines.append(f"Clients in a round: {known}.")
        if verdict.patience < math.inf:
            facts = prospect(policy, round - 1, standing.evidence, verdict.patience, per_round or 1.0)
            lines.append(f"{facts}.")
    lines.append(f"Round {number(round)}: {_outlook(policy, standing, verdict, patient, round)}.")
    profit, received, paid = map(money, (standing.profit, standing.revenue, standing.cost))
    lines.append(f"Profit so far: {profit} (received {received}, paid {paid}).")
    return "\n".join(lines)


def _seen(category: Category, policy: Policy, standing: Standing) -> str:
    clients = number(standing.clients)
    if not policy.forgets and category.by_money and standing.counted != standing.clients:
        clients, counted, mean = map(number, (standing.clients, standing.counted, standing.mean))
        return f"Seen: {clients} clients, who count as {counted} because amounts differ, with mean {mean}."
    if not policy.forgets:
        return f"Seen: {clients} clients with mean {number(standing.mean)}."
    if policy.window is not None:
        how = f"the outcomes of the last {number(policy.window)} rounds count"
    else:
        how = f"outcomes lose {number(100.0 * (1.0 - policy.forget), 3)} % of their weight in each round"
    if standing.mean is None:
        return f"Seen: {clients} clients, all forgotten by now ({how})."
    return (
        f"Seen: {clients} clients, who count as {number(standing.counted)} with mean {number(standing.mean)} ({how})."
    )


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
