"""What a line of the journal does to an agent.  Written once: what is reported today and what `verify` computes anew
a year later go through the same functions.

A line has all that it takes.  Example: the outcome of a client who was opened says in which round he was accepted and
whether he matures, so nobody needs to look up the line that opened him.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple, Self, cast

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.limit import floor_served
from profitable.agent.observation import Batch, read
from profitable.agent.state_file import loaded
from profitable.common import check
from profitable.common.types import FloatArray
from profitable.errors import InputError, ParameterError
from profitable.kernels.agent_table import Row
from profitable.kernels.batch import digest_row
from profitable.model.category import Category, said_before
from profitable.portfolio.journal import CHANGE, CORRECT, CREATE, DECIDE, OPEN, OUTCOME, RESTORE, UPGRADE, Line
from profitable.portfolio.outcome import Outcome
from profitable.portfolio.policy_text import category_of, policy_of
from profitable.portfolio.recorded import LIMIT_ROWS, REINSTATED, RecordedDecision, body_of


class Asked(NamedTuple):
    """What a caller asks of a decision, as JSON-ready values; None for what is not asked."""

    available: list[str] | None = None
    budget: float | None = None
    places: int | None = None
    demand: dict[str, int] | None = None
    explore: float | None = None
    floor_first: bool = True  # not asked: how the deciding version shares out a limit

    @classmethod
    def read(cls, available: object, budget: object, places: object, demand: object, explore: object) -> Self:
        """What a caller asks, as the journal can keep it; the agent checks the numbers."""
        if available is not None and (isinstance(available, str) or not isinstance(available, Iterable)):
            raise ParameterError("available", available, "is no list of names", "give a list of names")
        if demand is not None and not isinstance(demand, Mapping):
            raise ParameterError("demand", demand, "is no mapping", "give how many clients ask, as {name: number}")
        names: Any = None if available is None else sorted(cast(Iterable[Any], available), key=str)
        asked = cast(Mapping[Any, object], demand or {})
        numbers: Any = None if demand is None else {name: _plain(number) for name, number in asked.items()}
        return cls(names, _plain(budget), _plain(places), numbers, _plain(explore))

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """What was asked of a stored decision, as the content of its line says."""
        stored = content["asked"]
        asked = {name: value for name, value in stored.items() if name in cls._fields}
        return cls(**asked, floor_first=stored.get("limit", {}).get("floor_first", False))

    def to_dict(self) -> dict[str, Any]:
        """What is asked; empty for a decision about all categories without a limit."""
        return {key: value for key, value in self._asdict().items() if value is not None and key != "floor_first"}


def _plain(value: object) -> Any:
    """A number of Python, whichever library it comes from."""
    number = check.number(value)
    return value if number is None else number


def begin(line: Line) -> Agent:
    """The agent of the first line."""
    return loaded(line.content["agent"], "line 1")


def decide(agent: Agent, asked: Asked) -> str:
    """Let an agent decide the next round; returns the body of the line."""
    terms: FloatArray = agent._ledger.table[list(LIMIT_ROWS)]  # a copy: before the round
    with floor_served(first=asked.floor_first):
        decision = agent.decide(
            asked.available, budget=asked.budget, places=asked.places, demand=asked.demand, explore=asked.explore
        )
    terms[LIMIT_ROWS.index(Row.ROUNDS), decision._places()] += decision._table[Row.ACCEPTED]
    return body_of(agent, decision, asked.to_dict(), terms)


def reinstate(agent: Agent, line: Line) -> None:
    """Let the round of a decision pass that was made before: what it accepts is what was acted on.

    The policy draws as if it decided, so that the draws of later rounds are those that they would have been.
    """
    ledger, asked = agent._ledger, Asked.of(line.content)
    acted_on = RecordedDecision(line, ledger.categories, is_shadow=False)
    now = agent._drawn(None if asked.available is None else ledger.categories.select(asked.available))
    if now.names != acted_on.names:
        raise InputError("categories", acted_on.names, "are not those to decide about", f"give {now.names}")
    table, places = ledger.table, now._places()
    ledger.revoke(places[now.accepted_mask & ~acted_on.accepted_mask])
    missed = places[acted_on.accepted_mask & ~now.accepted_mask]
    first = missed[table[Row.ROUNDS, missed] == 0.0]
    table[Row.EARLIER, first] = table[Row.KNOWN, first] + table[Row.WAITING, first]
    table[Row.ROUNDS, missed] += 1.0
    table[Row.ACCEPTED, missed] = 1.0
    ledger.advance()


def apply(agent: Agent, line: Line) -> set[int]:
    """Do to an agent what a line says; returns the positions of the categories whose numbers changed.

    Not for `create` and `decide`, and for outcomes `count` is faster.  If it raises an error, nothing has changed.
    """
    if line.kind == OUTCOME:
        return count(agent, [line])
    assert line.kind in (OPEN, CORRECT, CHANGE)
    content = line.content
    if line.kind == OPEN:
        _expect(agent, line, content)
    elif line.kind == CORRECT:
        _correct(agent, line, content)
    else:
        _change(agent, line, content)
        return set()
    assert line.category is not None
    return {agent._ledger.categories.position(line.category)}


def _expect(agent: Agent, line: Line, terms: Mapping[str, Any]) -> None:
    assert line.category is not None
    if line.matures is None and not terms:
        agent.expect(line.category, 1)
    else:
        promised, emerges = terms.get("promised"), terms.get("emerges")
        when, late = line.decision, line.matures
        agent.expect(line.category, 1, accepted_in=when, matures=late, emerges=emerges, promised=promised)


def _correct(agent: Agent, line: Line, content: Mapping[str, Any]) -> None:
    """Take back what was counted, and count what is right, if anything is."""
    assert line.category is not None
    was, ledger = content["was"], agent._ledger
    if line.id is not None and was == content["now"]:  # it was so already, and the line is there for its key
        return
    right: Mapping[str, float | None] = content["now"] or {}
    k = ledger.categories.position(line.category)
    in_cohort = line.matures is not None and ledger.cohorts.get(k, line.decision or 0) is not None
    wrong = replace(_batch(was), accepted_in=line.decision if in_cohort else None)
    with _terms_of_then(agent, k, content.get("threshold")):
        ledger.correct(k, wrong, _batch(right) if right else None, content["counted_in"], content.get("weight"))


def _batch(money: Mapping[str, float | None]) -> Batch:
    reward, cost, amount = (_listed(money[name]) for name in ("reward", "cost", "amount"))
    return Batch(rewards=reward, costs=cost, amounts=amount)


@contextmanager
def _terms_of_then(agent: Agent, k: int, threshold: float | None) -> Generator[None]:
    """What a loan brings depends on the rate at which it was given, and the threshold says which that was."""
    categories = agent._ledger.categories
    now = categories[k]
    if threshold is not None:
        with said_before():
            categories.replace(k, now.with_threshold(threshold))
    try:
        yield
    finally:
        categories.replace(k, now)


def _listed(value: float | None) -> list[float] | None:
    return None if value is None else [value]


def _change(agent: Agent, line: Line, content: Mapping[str, Any]) -> None:
    setting, name = content["setting"], line.category
    if content["from"] == content["to"]:  # it was so already, and the line is there for its key
        return
    if setting == "policy":
        agent.set_policy(policy_of(content["to"]))
    elif setting == "category":
        with said_before():
            agent.add_category(category_of(content["to"]))
    elif setting == "threshold":
        with said_before():
            agent.set_threshold(str(name), content["to"])
    elif setting == "paused":
        (agent.pause if content["to"] else agent.resume)(str(name))
    elif setting != "shadow":  # which says nothing about the agent
        raise InputError("setting", setting, "is unknown", "upgrade profitable")


class Follower:
    """Follows a journal from its first line: `agent` is what comes of it, as soon as `settle` was called."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.reinstated = 0  # decisions that were put back, and are not computed anew
        self._waiting: list[Line] = []  # outcomes, which are counted together

    def take(self, line: Line) -> str | None:
        """Do what a line says; of a decision that was made here, returns its body as it is computed now."""
        if line.kind == OUTCOME and self.agent is not None:
            self._waiting.append(line)
            return None
        self.settle()
        if line.kind == CREATE:
            self.agent = begin(line)
        elif self.agent is None:
            raise InputError("line", line.line, "comes before any beginning", "restore the portfolio from a backup")
        elif line.kind == DECIDE:
            content = line.content
            if REINSTATED not in content:
                return decide(self.agent, Asked.of(content))
            reinstate(self.agent, line)
            self.reinstated += 1
        elif line.kind not in (UPGRADE, RESTORE):
            apply(self.agent, line)
        return None

    def settle(self) -> None:
        """Count the outcomes that were taken."""
        waiting, self._waiting = self._waiting, []
        if waiting and self.agent is not None:
            count(self.agent, waiting)


# ---------------------------------------------------------------------------------------------- outcomes


def count(agent: Agent, lines: list[Line]) -> set[int]:
    """Let outcomes count, one by one in their order; returns the positions of their categories.

    Categories do not depend on each other, so those of one category are counted together.
    """
    touched: set[int] = set()
    if len(lines) == 1:
        k = agent._ledger.categories.position(str(lines[0].category))
        _count(agent, k, lines)
        return {k}
    ordered = sorted(lines, key=lambda line: line.category or "")  # which keeps the order within a category
    for name, group in groupby(ordered, key=lambda line: line.category):
        k = agent._ledger.categories.position(str(name))
        _count(agent, k, list(group))
        touched.add(k)
    return touched


def _count(agent: Agent, k: int, lines: list[Line]) -> None:
    ledger = agent._ledger
    if ledger.values is None and ledger.window is None and all(line.matures is None for line in lines):
        ledger.observe_each(k, _clients(ledger.categories[k], lines))
        return
    name = ledger.categories.names[k]
    for line in lines:
        if line.refers is None and ledger.table[Row.WAITING, k] > ledger.table[Row.OUTSTANDING, k]:
            agent.expect(name, 1)  # so that it takes no place among those who were opened
        agent.observe(
            name,
            [line.reward],  # type: ignore[list-item]
            costs=_listed(line.cost),
            amounts=_listed(line.amount),
            accepted_in=None if line.matures is None else line.decision,
        )


def _clients(category: Category, lines: list[Line]) -> FloatArray:
    """Outcomes of one category as columns of `Each`, [5, M], with the money of each."""
    rows = [
        (line.reward, *money_of(category, line), 1.0 if line.amount is None else line.amount, line.refers is not None)
        for line in lines
    ]
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).T)


def money_of(category: Category, line: Line) -> tuple[float, float]:
    """What a client brought and what accepting him cost, in money, as `Agent.observe` books it."""
    reward = line.reward or 0.0
    if category.weight is not None:
        amount = 1.0 if line.amount is None else line.amount
        return reward * amount * category.worth, amount * category.price
    if line.cost is None:
        return reward * category.worth + category.recovered, category.price
    if category.amount is None:
        return reward * category.worth, line.cost
    # What comes back is (1 + rate) times the amount of that very loan, or the recovered share of it.
    return reward * line.cost * (category.worth / category.amount) + line.cost * category.recovery, line.cost


def faults(agent: Agent, k: int, lines: Sequence[Outcome]) -> dict[int, str]:
    """What is wrong with some outcomes of one category: a sentence for each place that is wrong."""
    categories = agent._ledger.categories
    category, view, row = categories[k], categories.view_of(k), categories.view_row_of(k)
    rewards = np.array([line.reward for line in lines], dtype=np.float64)
    doubtful = {
        place
        for place, line in enumerate(lines)
        if (line.cost is not None and (category.weight is not None or not 0.0 <= line.cost <= check.LARGEST))
        or (line.amount is not None and (category.weight is None or not 1e-100 <= line.amount <= check.LARGEST))
    }
    start = 0
    while start < rewards.size:
        bad, _ = digest_row(row, rewards[start:])
        if bad < 0:
            break
        doubtful.add(start + bad)
        start += bad + 1
    found: dict[int, str] = {}
    for place in sorted(doubtful):
        line = lines[place]
        batch = Batch(rewards=[line.reward], costs=_listed(line.cost), amounts=_listed(line.amount))  # type: ignore
        try:
            read(batch, category, view, row, categories.rule_of(k))
        except InputError as error:
            found[place] = str(error).rstrip(".")
    return found
