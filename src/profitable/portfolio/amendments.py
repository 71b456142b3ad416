"""Amendments: corrections of outcomes and changes of settings, each made once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from pydantic_core import from_json

from profitable.agent.agent import Agent
from profitable.agent.cohorts import AT_MATURITY
from profitable.common import check
from profitable.errors import ConflictError, CorrectionError, ParameterError
from profitable.model.category import Category, said_before
from profitable.policy.policies import Policy
from profitable.portfolio.journal import (
    Line,
    altered,
    chain_of,
    changes,
    intact,
    journal,
    named,
    newest,
    one,
)
from profitable.portfolio.loans import Ended, check_day, ended_of
from profitable.portfolio.outcome import LoanOutcome, PortfolioAnswer
from profitable.portfolio.portfolio_reading import line_text
from profitable.portfolio.portfolio_settings import policy_of
from profitable.portfolio.spelling import checked_text
from profitable.portfolio.stored_decision import as_text

MONEY_FIELDS = ("reward", "amount", "cost")


class CorrectionRequest(NamedTuple):
    """A correction as a caller requests it."""

    id: str
    # Those of `MONEY_FIELDS` that are to be replaced, or how a loan ended; none if it
    # is taken back.
    given: dict[str, Any]
    reason: str | None
    key: str | None

    @classmethod
    def read(
        cls,
        id: str,
        numbers: Mapping[str, float | None],
        ended: LoanOutcome,
        take_back: bool,
        reason: str | None,
        key: str | None,
    ) -> Self:
        """Check what a caller gives; ParameterError for contradictions."""
        given: dict[str, Any] = {
            name: check.finite(name, value) + 0.0
            for name, value in numbers.items()
            if value is not None
        }
        given |= ended.ended
        if take_back and given:
            name, value = next(iter(given.items()))
            raise ParameterError(
                name, value, "is given for an outcome that is taken back", "leave one of them out"
            )
        if not take_back and not given:
            raise ParameterError(
                "reward", None, "is missing", "give what is right, or take it back"
            )
        reason = None if reason is None else checked_text("reason", reason, 2_000)
        checked_text("id", id)  # which is looked for as it is written, first of all
        return cls(id, given, reason, None if key is None else checked_text("key", key))

    def after(self, before: Line, *, lends: bool) -> dict[str, Any]:
        """Return the values after a line: those not given stay as they were."""
        if lends:
            return self.given
        if not self.given:
            return TAKEN_BACK
        return {name: self.given.get(name, getattr(before, name)) for name in MONEY_FIELDS}

    def check_fits(self, *, lends: bool) -> None:
        """ParameterError for rewards of a portfolio that lends, or days of another."""
        for name, value in self.given.items():
            if (name not in MONEY_FIELDS) != lends:
                how = "lends, give defaulted or closed" if lends else "does not lend, give a reward"
                raise ParameterError(
                    name, value, "is not how an outcome was reported", f"this portfolio {how}"
                )


TAKEN_BACK: dict[str, float | None] = dict.fromkeys(MONEY_FIELDS)


def said_by(line: Line, *, lends: bool) -> dict[str, Any]:
    """Return the values of an outcome as a line has them."""
    return ended_of(line) if lends else {name: getattr(line, name) for name in MONEY_FIELDS}


def mended(
    was: Ended, now: Ended, counted_in: int, term: int, reason: str | None = None
) -> dict[str, Any]:
    """Return the body of a line that corrects how a loan ended."""
    said = {"was": was, "now": now, "counted_in": counted_in, "term": term}
    return said if reason is None else {**said, "reason": reason}


def correction(
    connection: sa.Connection, agent: Agent, wanted: CorrectionRequest, actor: str, time: str
) -> dict[str, Any] | PortfolioAnswer:
    """Return the columns of the correcting line, or an answer if none is needed."""
    lends = agent.lending is not None
    wanted.check_fits(lends=lends)
    if wanted.key is not None and (known := named(connection, "correct", wanted.key)):
        return _again(connection, intact(connection, known), wanted, lends=lends)
    outcome = named(connection, "outcome", wanted.id)
    if outcome is None:
        raise CorrectionError(
            "id", wanted.id, "has no outcome here", "report it first, or correct the id"
        )
    chain = [*chain_of(connection, outcome)]
    latest = chain[-1]
    before, after = said_by(latest, lends=lends), wanted.after(latest, lends=lends)
    so_already = PortfolioAnswer(wanted.id, "known", "already as requested")
    if before == TAKEN_BACK:
        if not wanted.given:
            return so_already
        raise CorrectionError(
            "id",
            wanted.id,
            f"was taken back in line {latest.line}",
            "report it again under another id",
        )
    if wanted.key is None:
        if after == before:
            return so_already
        _check_not_before(chain, wanted, actor, lends=lends)
    same = {name: getattr(outcome, name) for name in ("category", "decision", "matures")}
    same |= {"id": wanted.key, "refers": latest.line}
    if lends:
        _check_days(connection, outcome, wanted, time)
        # A loan that was open until now ends in this round.
        counted_in = _ended_in(latest) if before else agent.round
        body = mended(before, after, counted_in, outcome.content["term"], wanted.reason)
        return {**same, "body": as_text(body)}
    category = agent.category(str(outcome.category))
    with said_before():
        then = category.with_threshold(_threshold(connection, outcome, category.threshold))
    since, weight = _weight(connection, outcome, agent)
    content = {
        "was": _money(then, before),
        "now": _money(then, after) if wanted.given else None,
        "threshold": None if then.threshold == category.threshold else then.threshold,
        "counted_in": min(agent.round, since),
        "weight": weight,
        "reason": wanted.reason,
    }
    said = {name: value for name, value in content.items() if value is not None or name == "now"}
    return {**same, **after, "body": as_text(said)}


def _ended_in(line: Line) -> int:
    """Return the round in which an end of a loan counts that a line reports."""
    return line.content["counted_in"] if line.kind == "correct" else line.round


def _check_days(
    connection: sa.Connection, outcome: Line, wanted: CorrectionRequest, time: str
) -> None:
    """ParameterError for a day on which a loan cannot have ended."""
    opened = one(connection, journal.c.line == outcome.refers)
    for field, day in wanted.given.items():
        check_day(field, day, time, opened)


def _again(
    connection: sa.Connection, line: Line, wanted: CorrectionRequest, *, lends: bool
) -> PortfolioAnswer:
    """Return the answer to a known key; ConflictError if its content differs."""
    before = one(connection, journal.c.line == line.refers)
    outcome = before
    while outcome is not None and outcome.kind == "correct":
        outcome = one(connection, journal.c.line == outcome.refers)
    if before is None or outcome is None:
        raise altered(line.line)
    said = said_by(line, lends=lends)
    if (outcome.id, said, line.content.get("reason")) != (
        wanted.id,
        wanted.after(before, lends=lends),
        wanted.reason,
    ):
        raise ConflictError(
            "key",
            wanted.key,
            f"belongs to line {line.line}, which corrects {outcome.id} ({line_text(line)})",
            "ask for the same, or give another key",
        )
    return PortfolioAnswer(wanted.id, "known", f"corrected in line {line.line}", line.line)


def _check_not_before(
    chain: Sequence[Line], wanted: CorrectionRequest, actor: str, *, lends: bool
) -> None:
    """Raise ConflictError for what may be a retry of an earlier correction."""
    for line in chain[:-1] if wanted.given or lends else ():
        if line.kind != "correct" or line.actor != actor:
            continue
        said = said_by(line, lends=lends)
        compared = said if lends else {name: said[name] for name in wanted.given}
        if compared == wanted.given:
            raise ConflictError(
                "id",
                wanted.id,
                f"was corrected in the same way by {actor} in line {line.line}, and corrected again"
                f" by {chain[-1].actor} in line {chain[-1].line}",
                "give a key to correct it once more",
            )


def _money(category: Category, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the money, with the price or an amount of 1 where none was given."""
    money = {name: fields[name] for name in ("reward", "cost", "amount")}
    missing, usual = ("cost", category.price) if category.weight is None else ("amount", 1.0)
    return money if money[missing] is not None else {**money, missing: usual}


def _threshold(connection: sa.Connection, outcome: Line, present: float) -> float:
    """Return the threshold at the time of an outcome, from the changes after it."""
    changed = changes(connection, "threshold", after=outcome.line, category=outcome.category)
    return next((content["from"] for _, content in changed), present)


def _weight(connection: sa.Connection, outcome: Line, agent: Agent) -> tuple[int, float | None]:
    """Return the round since which an outcome counts, and its weight by now.

    When the policy changes, outcomes keep counting for what they count then, as if
    reported in that round.
    """
    since, weight, is_changed = _counted_in(connection, outcome), 1.0, False
    for line, content in changes(connection, "policy", after=outcome.line):
        if line.round > since and content["from"] != content["to"]:
            weight *= _left(policy_of(content["from"]), line.round - since)
            since, is_changed = line.round, True
    return since, weight * _left(agent.policy, agent.round - since) if is_changed else None


def _left(policy: Policy, rounds: int) -> float:
    """For what an outcome counts after so many rounds under a policy."""
    return float(rounds < policy.window) if policy.window is not None else policy.forget**rounds


def _counted_in(connection: sa.Connection, outcome: Line) -> int:
    """Return the round since which an outcome counts: reported, or matured."""
    if outcome.matures is None or outcome.refers is None:
        return outcome.round
    opened = one(connection, journal.c.line == outcome.refers)
    emerges = AT_MATURITY if opened is None else opened.content.get("emerges", AT_MATURITY)
    if emerges != AT_MATURITY:
        return outcome.round
    return max(outcome.round, (outcome.decision or 0) + outcome.matures)


class SettingChange(NamedTuple):
    """A setting: what it is now, and what it shall be."""

    name: str
    before: Any
    after: Any
    category: str | None = None

    @property
    def title(self) -> str:
        """How messages call it."""
        return self.name if self.category is None else f"{self.name} of {self.category}"

    @property
    def body(self) -> str:
        """The body of the line that changes it."""
        return as_text({"setting": self.name, "from": self.before, "to": self.after})

    def answer(
        self, connection: sa.Connection, *, key: str | None, actor: str, round: int
    ) -> PortfolioAnswer | None:
        """Return the answer if there is nothing to do; ConflictError if in doubt.

        What has a key is done once.  Without one, a change that the same actor made in
        the same round, and that was changed since, is refused: it may be the old one,
        sent again.
        """
        if key is not None:
            found = one(connection, journal.c.kind == "change", journal.c.id == key)
            return None if found is None else self._again(intact(connection, found))
        if self.before == self.after:
            return PortfolioAnswer(self.title, "known", "already as requested")
        if line := self.line(connection, journal.c.actor == actor, journal.c.round == round):
            raise ConflictError(
                self.title,
                self.after,
                f"was set to this by {actor} in line {line.line} of this round, and changed since",
                "give a key to set it once more",
            )
        return None

    def line(self, connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Line | None:
        """Return the last line that sets it so, of those that meet the conditions."""
        # Which is IS NULL for None.
        mine = (journal.c.kind == "change", journal.c.category == self.category)
        found = newest(connection, *mine, *conditions)
        return next((line for line in found if self._is_in(line)), None)

    def _is_in(self, line: Line) -> bool:
        content = line.content
        return (content["setting"], content["to"]) == (self.name, from_json(as_text(self.after)))

    def _again(self, line: Line) -> PortfolioAnswer:
        """Return the answer to a known key; ConflictError if its content differs."""
        if line.category != self.category or not self._is_in(line):
            raise ConflictError(
                "key",
                line.id,
                f"belongs to line {line.line} ({line_text(line)})",
                "ask for the same, or give another key",
            )
        return PortfolioAnswer(self.title, "known", f"set in line {line.line}", line.line)
