"""A correction: what the journal has to say so that an outcome is replaced, or taken back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.cohorts import AT_MATURITY
from profitable.common import check
from profitable.errors import ConflictError, CorrectionError, ParameterError
from profitable.model.category import Category, said_before
from profitable.policy.policies import Policy
from profitable.portfolio.intake import chain_of
from profitable.portfolio.journal import CHANGE, CORRECT, OUTCOME, Line, altered, intact, named, one
from profitable.portfolio.log import told
from profitable.portfolio.outcome import Answer, text
from profitable.portfolio.policy_text import policy_of
from profitable.portfolio.recorded import as_text
from profitable.portfolio.tables import journal

MONEY_FIELDS = ("reward", "amount", "cost")


class Wanted(NamedTuple):
    """What a caller asks of a correction."""

    id: str
    given: dict[str, float]  # those of `MONEY_FIELDS` that are to be replaced; none if it is taken back
    reason: str | None
    key: str | None

    @classmethod
    def read(
        cls, id: str, numbers: Mapping[str, float | None], take_back: bool, reason: str | None, key: str | None
    ) -> Self:
        """What a caller gives; ParameterError for what makes no sense."""
        given = {name: check.finite(name, value) + 0.0 for name, value in numbers.items() if value is not None}
        if take_back and given:
            name, value = next(iter(given.items()))
            raise ParameterError(name, value, "is given for an outcome that is taken back", "leave one of them out")
        if not take_back and not given:
            raise ParameterError("reward", None, "is missing", "give what is right, or take it back")
        reason = None if reason is None else text("reason", reason, 2_000)
        text("id", id)  # which is looked for as it is written, first of all
        return cls(id, given, reason, None if key is None else text("key", key))

    def after(self, before: Line) -> dict[str, float | None]:
        """What comes after a line: what is not given stays as it was."""
        return (
            {name: self.given.get(name, getattr(before, name)) for name in MONEY_FIELDS} if self.given else TAKEN_BACK
        )


TAKEN_BACK: dict[str, float | None] = dict.fromkeys(MONEY_FIELDS)


def correction(connection: sa.Connection, agent: Agent, wanted: Wanted, actor: str) -> dict[str, Any] | Answer:
    """The columns of the line that corrects an outcome; an answer if there is nothing to do."""
    if wanted.key is not None and (known := named(connection, CORRECT, wanted.key)):
        return _again(connection, intact(connection, known), wanted)
    outcome = named(connection, OUTCOME, wanted.id)
    if outcome is None:
        raise CorrectionError("id", wanted.id, "has no outcome here", "report it first, or correct the id")
    chain = [*chain_of(connection, outcome)]
    latest = chain[-1]
    before, after = {name: getattr(latest, name) for name in MONEY_FIELDS}, wanted.after(latest)
    so_already = Answer(wanted.id, "known", "it is so already")
    if before == TAKEN_BACK:
        if not wanted.given:
            return so_already
        remedy = "report it again under another id"
        raise CorrectionError("id", wanted.id, f"was taken back in line {latest.line}", remedy)
    if wanted.key is None:
        if after == before:
            return so_already
        _check_not_before(chain, wanted, actor)
    category = agent.category(str(outcome.category))
    with said_before():
        then = category.with_threshold(_threshold(connection, outcome, category.threshold))
    content: dict[str, Any] = {"was": _money(then, before), "now": _money(then, after) if wanted.given else None}
    if then.threshold != category.threshold:
        content["threshold"] = then.threshold
    since, weight = _weight(connection, outcome, agent)
    content["counted_in"] = min(agent.round, since)
    if weight is not None:
        content["weight"] = weight
    if wanted.reason is not None:
        content["reason"] = wanted.reason
    same = {name: getattr(outcome, name) for name in ("category", "decision", "matures")}
    return {**same, **after, "id": wanted.key, "refers": latest.line, "body": as_text(content)}


def _again(connection: sa.Connection, line: Line, wanted: Wanted) -> Answer:
    """The answer to a key that has a line already; ConflictError if that says something else."""
    before = one(connection, journal.c.line == line.refers)
    outcome = before
    while outcome is not None and outcome.kind == CORRECT:
        outcome = one(connection, journal.c.line == outcome.refers)
    if before is None or outcome is None:
        raise altered(line.line)
    said = {name: getattr(line, name) for name in MONEY_FIELDS}
    if (outcome.id, said, line.content.get("reason")) != (wanted.id, wanted.after(before), wanted.reason):
        problem = f"belongs to line {line.line}, which corrects {outcome.id} ({told(line)})"
        raise ConflictError("key", wanted.key, problem, "ask for the same, or give another key")
    return Answer(wanted.id, "known", f"corrected in line {line.line}", line.line)


def _check_not_before(chain: Sequence[Line], wanted: Wanted, actor: str) -> None:
    """ConflictError if the same actor corrected it so before, and it was corrected since: it may be sent again."""
    for line in chain[:-1] if wanted.given else ():
        is_mine = line.kind == CORRECT and line.actor == actor
        if is_mine and all(getattr(line, name) == value for name, value in wanted.given.items()):
            problem = f"was corrected so by {actor} in line {line.line}, and otherwise since"
            problem += f" by {chain[-1].actor} in line {chain[-1].line}"
            remedy = "give a key of its own, if it is to be corrected so once more"
            raise ConflictError("id", wanted.id, problem, remedy)


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
        if line.content["setting"] == "policy" and line.content["from"] != line.content["to"]:
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
