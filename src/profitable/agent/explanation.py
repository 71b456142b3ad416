"""What the agent knows about one category: as numbers (`Standing`) and in words (`explanation`)."""

from dataclasses import dataclass

from profitable.agent.verdict import Verdict
from profitable.common.text_tables import money, number
from profitable.model.category import Category
from profitable.policy.policies import Policy


@dataclass(frozen=True, slots=True)
class Standing:
    """What the agent knows about one category: `revenue`, `cost` and `profit` are in money."""

    name: str
    threshold: float
    clients: int
    mean: float | None
    evidence: float
    waiting: int
    revenue: float
    cost: float
    paused: bool

    @property
    def profit(self) -> float:
        """What its clients brought so far, less what accepting them cost."""
        return self.revenue - self.cost


def explanation(
    category: Category, policy: Policy, standing: Standing, verdict: Verdict, round: int, memory: int
) -> str:
    """A text: what was seen, how strongly it speaks against the category, what `round` would decide, and the money."""
    lines = [f"{category.name}: {category.family}, worth accepting if its mean is above {number(category.threshold)}."]
    if category.amount is not None:
        worth, price = money(category.worth), money(category.price)
        lines.append(f"A loan of {price} comes back as {worth} or not at all; the mean is the share that is repaid.")
    if (prior := policy.prior_of(category)) is not None:
        lines.append(f"Believed before: {prior}.")
    if standing.clients:
        lines.append(f"Seen: {number(standing.clients)} clients with mean {number(standing.mean)}.")
    else:
        lines.append("Seen: no outcome yet.")
    if standing.waiting:
        lines.append(f"Waiting for the outcome of {number(standing.waiting)} accepted clients.")
    if memory:
        lines.append(f"Remembers {number(memory // 16)} distinct rewards ({number(memory)} bytes).")
    lines.append(f"Evidence against it: {number(standing.evidence)} nats.")
    lines.append(f"Round {number(round)}: {_outlook(policy, standing, verdict, round)}.")
    profit, received, paid = map(money, (standing.profit, standing.revenue, standing.cost))
    lines.append(f"Profit so far: {profit} (received {received}, paid {paid}).")
    return "\n".join(lines)


def _outlook(policy: Policy, standing: Standing, verdict: Verdict, round: int) -> str:
    if standing.paused:
        return "paused, not accepted until it is resumed"
    if round == 1:
        return "accepted, as every category is in the first round"
    if policy.draws:
        return f"accepted with probability {number(verdict.propensity)}"
    limit = f"patience {number(verdict.patience)} nats, index {number(verdict.index)}"
    if verdict.accepted:
        return f"accepted ({limit})"
    if verdict.next_round is None:
        return f"skipped ({limit}); it will not be accepted again at this threshold"
    return f"skipped ({limit}); it can be accepted again in round {number(verdict.next_round)}"
