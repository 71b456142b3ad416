"""A correction: what the journal has to say so that an outcome is replaced, or taken back."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.cohorts import AT_MATURITY
from profitable.common import check
from profitable.errors import CorrectionError, ParameterError
from profitable.model.category import Category, said_before
from profitable.policy.policies import Policy
from profitable.portfolio.intake import last_of
from profitable.portfolio.journal import CHANGE, CORRECT, OUTCOME, Line, named, one
from profitable.portfolio.outcome import text
from profitable.portfolio.policy_text import policy_of
from profitable.portfolio.recorded import as_text
from profitable.portfolio.tables import journal

Wanted = Mapping[str, float | None]


def correction(
    connection: sa.Connection, agent: Agent, id: str, wanted: Wanted, take_back: bool, reason: str | None
) -> dict[str, Any] | None:
    """The columns of the line that corrects an outcome; None if it is as wanted already."""
    outcome = named(connection, OUTCOME, id)
    if outcome is None:
        raise CorrectionError("id", id, "has no outcome here", "report it first, or correct the id")
    given = {name: check.finite(name, value) + 0.0 for name, value in wanted.items() if value is not None}
    if take_back and given:
        name, value = next(iter(given.items()))
        raise ParameterError(name, value, "is given for an outcome that is taken back", "leave one of them out")
    if not take_back and not given:
        raise ParameterError("reward", None, "is missing", "give what is right, or take it back")
    latest = last_of(connection, outcome)
    before = {name: getattr(latest, name) for name in wanted}
    if latest.kind == CORRECT and latest.reward is None:
        if take_back:
            return None
        remedy = "report it again under another id"
        raise CorrectionError("id", id, f"was taken back in line {latest.line}", remedy)
    after: dict[str, float | None] = dict.fromkeys(wanted) if take_back else before | given
    if after == before:
        return None
    category = agent.category(str(outcome.category))
    with said_before():
        then = category.with_threshold(_threshold(connection, outcome, category.threshold))
    content: dict[str, Any] = {"was": _money(then, before), "now": None if take_back else _money(then, after)}
    if then.threshold != category.threshold:
        content["threshold"] = then.threshold
    since, weight = _weight(connection, outcome, agent)
    content["counted_in"] = min(agent.round, since)
    if weight is not None:
        content["weight"] = weight
    if reason is not None:
        content["reason"] = text("reason", reason, 2_000)
    names = ("category", "decision", "matures")
    return {
        **{name: getattr(outcome, name) for name in names},
        **after,
        "refers": latest.line,
        "body": as_text(content),
    }


def _money(category: Category, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Reward, cost and amount with what was not given filled in: the price at the time, and an amount of 1."""
    money = {name: fields[name] for name in ("reward", "cost", "amount")}
    missing, usual = ("cost", category.price) if category.weight is None else ("amount", 1.0)
    return money if money[missing] is not None else {**money, missing: usual}


def _threshold(connection: sa.Connection, outcome: Line, present: float) -> float:
    """The threshold when an outcome was reported: what the first change after it changed."""
    later = sa.select(journal).where(
        journal.c.kind == CHANGE, journal.c.line > outcome.line, journal.c.category == outcome.category
    )
    for row in connection.execute(later.order_by(journal.c.line)):
        content = Line(*row).content
        if content["setting"] == "threshold":
            return content["from"]
    return present


def _weight(connection: sa.Connection, outcome: Line, agent: Agent) -> tuple[int, float | None]:
    """Since which round an outcome counts, and for what by now; None if the present policy alone says so.

    When the policy changes, outcomes keep counting for what they count then, as if reported in that round.
    """
    since, weight, is_changed = _counted_in(connection, outcome), 1.0, False
    later = sa.select(journal).where(
        journal.c.kind == CHANGE, journal.c.line > outcome.line, journal.c.category.is_(None), journal.c.round > since
    )
    for line in (Line(*row) for row in connection.execute(later.order_by(journal.c.line))):
        if line.content["setting"] == "policy":
            weight *= _left(policy_of(line.content["from"]), line.round - since)
            since, is_changed = line.round, True
    return since, weight * _left(agent.policy, agent.round - since) if is_changed else None


def _left(policy: Policy, rounds: int) -> float:
    """For what an outcome counts after so many rounds under a policy."""
    return float(rounds < policy.window) if policy.window is not None else policy.forget**rounds


def _counted_in(connection: sa.Connection, outcome: Line) -> int:
    """Since which round an outcome counts: when it was reported, or when its cohort had matured."""
    if outcome.matures is None or outcome.refers is None:
        return outcome.round
    opened = one(connection, journal.c.line == outcome.refers)
    emerges = AT_MATURITY if opened is None else opened.content.get("emerges", AT_MATURITY)
    return max(outcome.round, (outcome.decision or 0) + outcome.matures) if emerges == AT_MATURITY else outcome.round
