"""RecordedDecision: a decision as a line of the journal has it.

The line keeps the numbers that decided: evidence, patience, propensity and what is behind them, a column for each.
Indices and reasons follow from them, and are worked out when somebody asks.  So a decision can be read years later, and
reads as it did on the day.

The JSON of a decision has the same record, so that a decision can be put back where a restored backup has lost it
(`reinstated.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from profitable.agent.agent import Agent
from profitable.agent.categories import Categories
from profitable.agent.cohorts import Tally
from profitable.agent.decision import Decision
from profitable.agent.limit import Limit
from profitable.common.files import checksum_of
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.agent_table import SNAPSHOT, Row
from profitable.portfolio.columns import packed
from profitable.portfolio.journal import Line
from profitable.portfolio.policy_text import policy_of, policy_record

KEPT_ROWS = [row for row in Row if row < SNAPSHOT]
WHOLE_ROWS = (Row.WAITING, Row.PAUSED, Row.KNOWN, Row.ROUGH, Row.ACCEPTED)
LIMIT_ROWS = (Row.WORTH, Row.PRICE, Row.ROUNDS)  # by which a limit is shared out
TALLY = Tally._fields
REINSTATED = "reinstated"  # marks the body of a decision that was put back


class RecordedDecision(Decision):
    """A decision that is stored.

    It has all that `Decision` has, and what the journal knows: `key`, `time` (UTC), `actor`, `version`, the number of
    its `line`, and whether the portfolio `is_shadow`, whose decisions nobody acts on.  `reinstated` is when it was put
    back from its JSON, or None.  `origin` is that of the portfolio.
    """

    __slots__ = (
        *("_index", "_next_round", "_origin", "_stored"),
        *("actor", "is_shadow", "key", "line", "reinstated", "time", "version"),
    )

    def __init__(self, line: Line, categories: Categories, *, is_shadow: bool, origin: str = "") -> None:
        content = line.content
        columns: dict[str, list[Any]] = content["columns"]
        names, policy = columns["name"], policy_of(content["policy"])
        if policy != categories.policy:
            categories = categories.under(policy, names)  # it need not be a policy for those that were added later
        table = np.array([columns[row.name.lower()] for row in KEPT_ROWS], dtype=np.float64)
        positions = None if names == categories.names[: len(names)] else categories.select(names)
        tallies: Any = _Tallies(positions, columns)
        super().__init__(
            line.round, categories, table.reshape(len(KEPT_ROWS), len(names)), positions, None, None, tallies
        )
        self._index = columns.get("index")
        self._next_round = columns.get("next_round")
        self.key, self.line, self.is_shadow, self.reinstated = line.id, line.line, is_shadow, None
        self.time, self.actor, self.version = line.time, line.actor, line.version
        self._origin, self._stored = origin, line
        if (first := content.get(REINSTATED)) is not None:
            self.reinstated = line.time
            self.time, self.actor, self.version = (first[name] for name in ("time", "actor", "version"))
        if (limit := content["asked"].get("limit")) is not None:
            demand = np.array(limit["demand"], dtype=np.int64)
            terms = np.zeros((len(LIMIT_ROWS), len(categories)))
            terms[:, self._places()] = [columns[row.name.lower()] for row in LIMIT_ROWS]
            first = limit.get("floor_first", False)
            self.share_out(Limit(limit["size"], limit["is_money"], limit["explore"], demand, first), terms)

    def _indices(self, chosen: slice, positions: IntArray) -> FloatArray:
        if self._index is None:
            return super()._indices(chosen, positions)
        return np.array(self._index[chosen], dtype=np.float64)

    def _indices_of(self, columns: IntArray) -> FloatArray:
        if self._index is None:
            return super()._indices_of(columns)
        return np.array(self._index, dtype=np.float64)[columns]

    def _patient_again(self, chosen: slice) -> list[int | None]:
        return super()._patient_again(chosen) if self._next_round is None else self._next_round[chosen]

    def _caption(self) -> str:
        shadow = ", a shadow that nobody acts on" if self.is_shadow else ""
        again = f", {REINSTATED}" if self.reinstated else ""
        return f"{super()._caption()} (key {self.key}{shadow}{again})"

    def _head(self) -> dict[str, Any]:
        known = {"key": self.key, "time": self.time, "actor": self.actor, "version": self.version, "line": self.line}
        again = {REINSTATED: self.reinstated} if self.reinstated else {}
        head = {**super()._head(), **known, "shadow": self.is_shadow, **again}
        record = {"journal": self._origin, "body": record_of(self._stored)}
        return {**head, "record": {**record, "checksum": record_checksum(head, record)}}


class _Tallies:
    """What the cohorts added up to at a decision, in place of the cohorts themselves."""

    def __init__(self, positions: IntArray | None, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: columns[name] for name in TALLY} if TALLY[0] in columns else None
        size = len(columns["name"])
        self._place = {k: i for i, k in enumerate(range(size) if positions is None else positions.tolist())}

    def __bool__(self) -> bool:
        return self._columns is not None

    def tally(self, k: int, _: int) -> Tally:
        return Tally() if self._columns is None else Tally(*(self._columns[name][self._place[k]] for name in TALLY))

    def columns(self, positions: IntArray, round: int) -> dict[str, list[Any]]:
        tallies = [self.tally(k, round) for k in positions.tolist()]
        return {name: [getattr(each, name) for each in tallies] for name in ("open", "emerged", "missing")}


def body_of(agent: Agent, decision: Decision, asked: Mapping[str, Any], terms: FloatArray) -> str:
    """What the journal keeps of a decision.

    `asked` is what the caller asked for, and `terms` are the `LIMIT_ROWS` of all categories, this round included.
    """
    evidence = decision.evidence  # computed now, where a bound was enough to decide
    columns: dict[str, Any] = {"name": decision.names}
    for row in KEPT_ROWS:
        numbers = evidence if row == Row.EVIDENCE else decision._table[row]
        columns[row.name.lower()] = numbers.astype(np.int64) if row in WHOLE_ROWS else numbers
    columns["propensity"] = decision.propensity
    positions = decision._places()
    ledger = agent._ledger
    if ledger.values is not None:
        columns["index"] = decision._indices(slice(None), positions)
    if ledger.window is not None:
        columns["next_round"] = decision._patient_again(slice(None))
    if decision._cohorts:
        tallies = [decision._cohorts.tally(k, decision.round - 1) for k in positions.tolist()]
        columns |= {name: [getattr(each, name) for each in tallies] for name in TALLY}
    said = dict(asked)
    if decision._grant is not None:
        limit = decision._grant.limit
        columns |= {row.name.lower(): terms[i, positions] for i, row in enumerate(LIMIT_ROWS)}
        columns["granted"] = decision._grant.clients
        size = {"size": limit.size, "is_money": limit.is_money, "explore": limit.explore}
        first = {"floor_first": True} if limit.floor_first and decision.policy.floor > 0.0 else {}
        said["limit"] = {**size, **first, "demand": limit.demand.tolist()}
    return as_text({"asked": said, "policy": policy_record(decision.policy), "columns": packed(columns)})


def record_checksum(head: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """The checksum of what is needed to put a decision back."""
    told = [head.get(name) for name in ("round", "key", "time", "actor", "version", "shadow")]
    return checksum_of(as_text([*told, record.get("journal"), record.get("body")]))


def as_text(value: object) -> str:
    """JSON in which infinite numbers and NaN are constants."""
    return to_json(value, inf_nan_mode="constants").decode()


def record_of(line: Line) -> str:
    """The body of a decision as it was when it was made: without the mark that it was put back."""
    stored = from_json(str(line.body))
    return str(line.body) if stored.pop(REINSTATED, None) is None else as_text(stored)


def decided_at(line: Line) -> str:
    """When a stored decision was made, which is before its line was written if it was put back."""
    return line.content.get(REINSTATED, {}).get("time", line.time)
