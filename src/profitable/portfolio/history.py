"""Effects of journal lines on an agent, for reports of today and for `verify`.

A line has all that it takes.  Example: the outcome of a client who was opened says in
which round he was accepted and whether he matures, so nobody needs to look up the line
that opened him.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple, Self, cast

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.correction import correct
from profitable.agent.limit import floor_served
from profitable.agent.observation import Batch, Bookings
from profitable.agent.state_file import loaded
from profitable.agent.state_parts import pass_round
from profitable.common import check
from profitable.errors import InputError, ParameterError
from profitable.model.category import said_before
from profitable.portfolio import loans
from profitable.portfolio.journal import Line
from profitable.portfolio.outcome import Outcome
from profitable.portfolio.portfolio_settings import category_of, policy_of
from profitable.portfolio.stored_decision import REINSTATED, RecordedDecision, body_of


class DecisionRequest(NamedTuple):
    """Options of a decision, as JSON-ready values; None for what is not given."""

    available: list[str] | None = None
    budget: float | None = None
    places: int | None = None
    demand: dict[str, int] | None = None
    explore: float | None = None
    applicants: list[list[Any]] | None = None  # category, term, clients, mean rate
    floor_first: bool = True  # not asked: how the deciding version shares out a limit

    @classmethod
    def read(
        cls,
        available: object,
        budget: object,
        places: object,
        demand: object,
        explore: object,
        applicants: list[list[Any]] | None = None,
    ) -> Self:
        """Read the options of a caller; the agent checks the numbers."""
        if available is not None and (
            isinstance(available, str) or not isinstance(available, Iterable)
        ):
            raise ParameterError(
                "available", available, "must be a list of names", "give a list of names"
            )
        if demand is not None and not isinstance(demand, Mapping):
            raise ParameterError(
                "demand",
                demand,
                "must be a mapping",
                "give the number of clients who apply, as {name: number}",
            )
        names: Any = None if available is None else sorted(cast(Iterable[Any], available), key=str)
        numbers: Any = None
        if demand is not None:
            asked = cast(Mapping[Any, object], demand)
            numbers = {name: _plain(number) for name, number in asked.items()}
        return cls(names, _plain(budget), _plain(places), numbers, _plain(explore), applicants)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Return the options of a stored decision."""
        stored = content["asked"]
        asked = {name: value for name, value in stored.items() if name in cls._fields}
        return cls(**asked, floor_first=stored.get("limit", {}).get("floor_first", False))

    def to_dict(self) -> dict[str, Any]:
        """Return the options that are given."""
        return {
            key: value
            for key, value in self._asdict().items()
            if value is not None and key != "floor_first"
        }


def _plain(value: object) -> Any:
    """Return a number of Python, whichever library it comes from."""
    number = check.number(value)
    return value if number is None else number


def begin(line: Line) -> Agent:
    """Return the agent of the first line."""
    return loaded(line.content["agent"], "line 1")


def decide(agent: Agent, asked: DecisionRequest) -> str:
    """Let an agent decide the next round; returns the body of the line."""
    options = asked.to_dict()
    loans.quote(agent, options.pop("applicants", ()))
    with floor_served(first=asked.floor_first):
        return body_of(agent.decide(**options), asked.to_dict())


def reinstate(agent: Agent, line: Line) -> None:
    """Replay the round of a decision that was made and acted on before.

    The policy draws as if it decided, so that the draws of later rounds are those that
    they would have been.
    """
    acted_on = RecordedDecision(line, agent.ledger.categories, is_shadow=False)
    asked = DecisionRequest.of(line.content)
    loans.quote(agent, asked.applicants or ())
    pass_round(agent, asked.available, acted_on)


def apply(agent: Agent, line: Line) -> set[int]:
    """Apply a line to an agent; return the positions of changed categories.

    Not for `create` and `decide`, and for outcomes `count` is faster.  If it raises an
    error, nothing has changed.
    """
    match line.kind:
        case "outcome":
            return count(agent, [line])
        case "open" if agent.lending is not None:
            loans.lend(agent, line)
        case "open":
            _expect(agent, line, line.content)
        case "correct" if agent.lending is not None:
            loans.mend(agent, line)
        case "correct":
            _correct(agent, line, line.content)
        case "change":
            _change(agent, str(line.category), line.content)
            return set()
        case "create" | "decide" | "upgrade" | "restore":
            raise AssertionError(line.kind)
    return {agent.ledger.categories.position(str(line.category))}


def _expect(agent: Agent, line: Line, terms: Mapping[str, Any]) -> None:
    matures = line.matures is not None or bool(terms)
    agent.expect(
        str(line.category),
        1,
        accepted_in=line.decision if matures else None,
        matures=line.matures,
        emerges=terms.get("emerges"),
        promised=terms.get("promised"),
    )


def _correct(agent: Agent, line: Line, content: Mapping[str, Any]) -> None:
    """Take back what was counted, and count what is right, if anything is."""
    was, ledger = content["was"], agent.ledger
    # It was so already, and the line is there for its key.
    if line.id is not None and was == content["now"]:
        return
    right: Mapping[str, float | None] = content["now"] or {}
    k = ledger.categories.position(str(line.category))
    in_cohort = line.matures is not None and ledger.cohorts.get(k, line.decision or 0) is not None
    wrong = replace(_batch(was), accepted_in=line.decision if in_cohort else None)
    now = ledger.categories[k]
    if content.get("threshold") is not None:  # of then, at which rate a loan was given
        with said_before():
            ledger.categories.replace(k, now.with_threshold(content["threshold"]))
    try:
        correct(
            ledger,
            k,
            wrong,
            _batch(right) if right else None,
            content["counted_in"],
            content.get("weight"),
        )
    finally:
        ledger.categories.replace(k, now)


def _batch(money: Mapping[str, float | None]) -> Batch:
    """Return the money of one client as a batch."""
    listed = {name: None if value is None else [value] for name, value in money.items()}
    return Batch(rewards=listed["reward"], costs=listed["cost"], amounts=listed["amount"])


def _change(agent: Agent, name: str, content: Mapping[str, Any]) -> None:
    if content["from"] == content["to"]:  # it was so already, and the line is there for its key
        return
    match content["setting"]:
        case "policy":
            agent.set_policy(policy_of(content["to"]))
        case "category":
            with said_before():
                agent.ledger.add([category_of(content["to"])])
        case "threshold":
            with said_before():
                agent.set_threshold(name, content["to"])
        case "paused":
            (agent.pause if content["to"] else agent.resume)(name)
        case "shadow":
            pass  # which says nothing about the agent
        case setting:
            raise InputError("setting", setting, "is unknown", "upgrade profitable")


class Follower:
    """Follower of a journal from its first line; call `settle` before `agent`."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.reinstated = 0  # decisions that were put back, and are not recomputed
        self._waiting: list[Line] = []  # outcomes, which are counted together

    def take(self, line: Line) -> str | None:
        """Apply a line; return the recomputed body of a decision made here."""
        if line.kind == "outcome" and self.agent is not None:
            self._waiting.append(line)
            return None
        self.settle()
        if line.kind == "create":
            self.agent = begin(line)
        elif self.agent is None:
            raise InputError(
                "line",
                line.line,
                "comes before any beginning",
                "restore the portfolio from a backup",
            )
        elif line.kind == "decide":
            content = line.content
            if REINSTATED not in content:
                return decide(self.agent, DecisionRequest.of(content))
            reinstate(self.agent, line)
            self.reinstated += 1
        elif line.kind not in ("upgrade", "restore"):
            apply(self.agent, line)
        return None

    def settle(self) -> None:
        """Count the outcomes that were taken."""
        waiting, self._waiting = self._waiting, []
        if waiting and self.agent is not None:
            count(self.agent, waiting)


# ----------------------------------------------------------------------------- outcomes


def count(agent: Agent, lines: list[Line]) -> set[int]:
    """Count outcomes in their order; return the positions of their categories.

    Categories do not depend on each other, so those of one category are counted
    together.
    """
    if agent.lending is not None:
        return loans.end(agent, lines)
    touched: set[int] = set()
    # Which keeps the order within a category.
    ordered = sorted(lines, key=lambda line: line.category or "")
    for name, group in groupby(ordered, key=lambda line: line.category):
        same, k = list(group), agent.ledger.categories.position(str(name))
        _, bookings = examine(agent, k, same)
        book(agent, k, same, bookings)
        touched.add(k)
    return touched


def examine(
    agent: Agent, k: int, lines: Sequence[Line | Outcome]
) -> tuple[dict[int, str], Bookings]:
    """Say which outcomes of one category could not count, and why; with bookings."""
    return agent.ledger.examine(
        k,
        [math.nan if line.reward is None else line.reward for line in lines],
        [line.cost for line in lines],
        [line.amount for line in lines],
    )


def book(agent: Agent, k: int, lines: Sequence[Line], bookings: Bookings) -> None:
    """Let the outcomes of one category count that were examined before."""
    cohorts = [None if line.matures is None else line.decision for line in lines]
    agent.ledger.book(
        np.full(len(lines), k),
        bookings,
        accepted_in=cohorts if any(line.matures is not None for line in lines) else None,
        # Only outcomes of clients who were opened were waited for.
        arrives=np.array([line.refers is not None for line in lines]),
    )
