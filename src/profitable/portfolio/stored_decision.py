"""RecordedDecision: a decision as a line of the journal has it.

The line keeps the numbers that decided: evidence, patience, propensity and what is
behind them, a column for each. Indices and reasons follow from them, and are computed
on demand.  So a decision can be read years later, and reads as it did on the day.

The JSON of a decision has the same record, so that a decision can be put back where a
restored backup has lost it.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
from pydantic_core import from_json, to_json

from profitable.agent.agent import Agent
from profitable.agent.categories import Categories
from profitable.agent.changes import Rounds
from profitable.agent.cohorts import CohortCounts
from profitable.agent.decision import KEPT_ROWS, LIMIT_ROWS, Decision, Kept
from profitable.agent.limit import Limit
from profitable.agent.loan_book import SUMMARY_NAMES, BookSummary
from profitable.agent.order_record import recorded_orders
from profitable.common.files import checksum_of
from profitable.common.types import FloatArray, IntArray
from profitable.errors import BrokenPortfolioError, ConflictError, InputError, ProfitableError
from profitable.portfolio.journal import Line, packed
from profitable.portfolio.portfolio_settings import policy_of, policy_record
from profitable.portfolio.spelling import checked_text

TALLY = CohortCounts._fields
REINSTATED = "reinstated"  # marks the body of a decision that was put back
FIRST = ("time", "actor", "version")  # kept there of the line that was lost


class RecordedDecision(Decision):
    """A decision that is stored.

    It has all that `Decision` has, and what the journal knows: `key`, `time` (UTC),
    `actor`, `version`, the number of its `line`, and whether the portfolio `is_shadow`,
    whose decisions nobody acts on.  `reinstated` is when it was put back from its JSON,
    or None.  `origin` is that of the portfolio.
    """

    def __init__(
        self, line: Line, categories: Categories, *, is_shadow: bool, origin: str = ""
    ) -> None:
        content = line.content
        columns: dict[str, list[Any]] = content["columns"]
        names, policy = columns["name"], policy_of(content["policy"])
        if policy != categories.policy:
            # It need not be a policy for those that were added later.
            categories = categories.under(policy, names)
        table = np.array([columns[row.name.lower()] for row in KEPT_ROWS], dtype=np.float64)
        positions = None if names == categories.names[: len(names)] else categories.select(names)
        everyone = np.arange(len(names)) if positions is None else positions
        tallies: Any = _Tallies(positions, columns)
        self._index, self._next_round = columns.get("index"), columns.get("next_round")
        made = Rounds(categories, len(names))
        book = None
        if SUMMARY_NAMES[0] in columns:
            book = BookSummary.recorded(columns, everyone, len(categories))
        orders = recorded_orders(columns, categories, everyone)
        super().__init__(line.round, made, kept=Kept(cohorts=tallies, reading=book, orders=orders))
        self.with_table(table.reshape(len(KEPT_ROWS), len(names)), positions)
        if (limit := content["asked"].get("limit")) is not None:
            demand = np.array(limit["demand"], dtype=np.int64)
            floor_first = limit.get("floor_first", False)
            terms = np.zeros((len(LIMIT_ROWS), len(categories)))
            places = slice(len(names)) if positions is None else positions
            terms[:, places] = [columns[row.name.lower()] for row in LIMIT_ROWS]
            self.share_out(
                Limit(limit["size"], limit["is_money"], limit["explore"], demand, floor_first),
                terms,
            )
        self.key, self.line, self.is_shadow = line.id, line.line, is_shadow
        self._origin, self._stored = origin, line
        self.reinstated = line.time if REINSTATED in content else None
        first = content.get(REINSTATED, line._asdict())
        self.time, self.actor, self.version = (first[name] for name in FIRST)

    def _indices(self, chosen: slice | IntArray) -> FloatArray:
        if self._index is None:
            return super()._indices(chosen)
        return np.array(self._index, dtype=np.float64)[chosen]

    def _patient_again(self, chosen: slice) -> list[int | None]:
        if self._next_round is None:
            return super()._patient_again(chosen)
        return self._next_round[chosen]

    def _caption(self) -> str:
        shadow = ", a shadow that nobody acts on" if self.is_shadow else ""
        again = f", {REINSTATED}" if self.reinstated else ""
        return f"{super()._caption()} (key {self.key}{shadow}{again})"

    def _head(self) -> dict[str, Any]:
        known = {name: getattr(self, name) for name in ("key", *FIRST, "line")}
        again = {REINSTATED: self.reinstated} if self.reinstated else {}
        head = {**super()._head(), **known, "shadow": self.is_shadow, **again}
        record = {"journal": self._origin, "body": record_of(self._stored)}
        return {**head, "record": {**record, "checksum": record_checksum(head, record)}}


class _Tallies:
    """Sums of the cohorts at a decision, in place of the cohorts themselves."""

    def __init__(self, positions: IntArray | None, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: columns[name] for name in TALLY} if TALLY[0] in columns else None
        chosen = range(len(columns["name"])) if positions is None else positions.tolist()
        self._place = {k: i for i, k in enumerate(chosen)}

    def __bool__(self) -> bool:
        return self._columns is not None

    def tally(self, k: int, _: int) -> CohortCounts:
        return (
            CohortCounts()
            if self._columns is None
            else CohortCounts(*(self._columns[name][self._place[k]] for name in TALLY))
        )

    def columns(self, positions: IntArray, round: int) -> dict[str, list[Any]]:
        tallies = [self.tally(k, round) for k in positions.tolist()]
        return {
            name: [getattr(each, name) for each in tallies]
            for name in ("open", "emerged", "missing")
        }


def body_of(decision: Decision, asked: Mapping[str, Any]) -> str:
    """Return the body of a decision's line; `asked` has the options of the caller."""
    said = dict(asked)
    if (limit := decision.limit) is not None:
        floor = {"floor_first": True} if limit.floor_first and decision.policy.floor > 0.0 else {}
        said["limit"] = {
            "size": limit.size,
            "is_money": limit.is_money,
            "explore": limit.explore,
            **floor,
            "demand": limit.demand.tolist(),
        }
    return as_text(
        {
            "asked": said,
            "policy": policy_record(decision.policy),
            "columns": packed(decision.record()),
        }
    )


def record_checksum(head: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return the checksum of what is needed to put a decision back."""
    covered = [head.get(name) for name in ("round", "key", *FIRST, "shadow")]
    return checksum_of(as_text([*covered, record.get("journal"), record.get("body")]))


def as_text(value: object) -> str:
    """JSON in which infinite numbers and NaN are constants."""
    return to_json(value, inf_nan_mode="constants").decode()


def record_of(line: Line) -> str:
    """Return the body of a decision as made, without the mark of reinstatement."""
    stored = from_json(str(line.body))
    return str(line.body) if stored.pop(REINSTATED, None) is None else as_text(stored)


def decided_at(line: Line) -> str:
    """Return when a decision was made, which may be before its line was written."""
    return line.content.get(REINSTATED, {}).get("time", line.time)


HEAD_FIELDS = {
    "round": int,
    "key": str,
    "time": str,
    "actor": str,
    "version": str,
    "shadow": bool,
    "record": dict,
}
SETTINGS = {"threshold": float, "paused": bool}  # of each category


class DecisionFile(NamedTuple):
    """Content of the JSON of a decision."""

    head: dict[str, Any]
    content: dict[str, Any]  # of its line, with its columns as they are stored

    @classmethod
    def read(cls, given: str | bytes) -> "DecisionFile":
        """Read the JSON; InputError if it is none, or was altered."""
        try:
            found: object = from_json(given)
        except (ValueError, TypeError):
            raise _refused(given, "is not JSON, or is torn") from None
        head = cast(dict[str, Any], found if isinstance(found, dict) else {})
        if not all(type(head.get(name)) is kind for name, kind in HEAD_FIELDS.items()):
            raise _refused(given, "is not the decision of a portfolio with its record")
        record = cast(dict[str, Any], head["record"])
        if record.get("checksum") != record_checksum(head, record):
            raise _refused(head["key"], "was altered: its checksum does not fit")
        for name in ("key", *FIRST):
            checked_text(name, head[name])
        body = record.get("body")
        try:
            # As the journal would read it.
            _ = Line(
                1,
                head["time"],
                head["actor"],
                head["version"],
                "decide",
                body=body if isinstance(body, str) else "",
            ).content
        except BrokenPortfolioError:
            raise _refused(head["key"], "has no record of a decision") from None
        return cls(head, from_json(str(body)))

    @property
    def key(self) -> str:
        """Its key."""
        return self.head["key"]

    def body(self) -> str:
        """Return the body of the line that puts it back."""
        return as_text({**self.content, REINSTATED: {name: self.head[name] for name in FIRST}})

    def check_origin(self, origin: str) -> None:
        """InputError if it is the decision of another portfolio."""
        if (other := self.head["record"].get("journal")) != origin:
            raise _refused(
                self.key,
                "is a decision of another portfolio, whose first line has the hash"
                f" {str(other)[:12]}..., not {origin[:12]}...",
                "give a file of this one",
            )

    def check_same(self, line: Line) -> None:
        """ConflictError if a line has another decision of the same key."""
        if record_of(line) != self.head["record"]["body"]:
            raise ConflictError(
                "key",
                self.key,
                f"was decided here in line {line.line} (round {line.round}),"
                " and differs from the file",
                "restore the backup again, and reinstate what was acted on before deciding",
            )

    @contextmanager
    def read_as_decision(self) -> Generator[None]:
        """Raise InputError for a forged record that cannot be read."""
        try:
            yield
        except ProfitableError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
            raise _refused(self.key, "has no record of a decision") from None

    def check_fits(self, agent: Agent, decision: RecordedDecision) -> None:
        """Raise InputError unless it is the next round, under the same settings."""
        if decision.round != agent.round + 1:
            raise _refused(
                self.key,
                f"is of round {decision.round}, and the next one here is {agent.round + 1}",
                "reinstate the rounds in their order, and decide no other before",
            )
        if self.head["shadow"] != decision.is_shadow:
            self._differs("shadow", self.head["shadow"], decision.is_shadow)
        if decision.policy != agent.policy:
            self._differs("policy", str(decision.policy), str(agent.policy))
        available = self.content["asked"].get("available")
        names = (
            agent.names
            if available is None
            else tuple(name for name in agent.names if name in available)
        )
        if decision.names != names:
            self._differs("categories", len(decision.names), len(names))
        then, now = decision.record(), agent.preview(names).record()
        for setting, kind in SETTINGS.items():
            for name, before, after in zip(names, then[setting], now[setting], strict=True):
                if before != after:
                    self._differs(f"{setting} of {name}", kind(before), kind(after))
        shown = self.head.get("accepted", list(decision.accepted))
        if shown != list(decision.accepted):
            raise _refused(
                self.key,
                f"says that {shown} were accepted, and its record says {list(decision.accepted)}",
            )

    def _differs(self, setting: str, then: object, now: object) -> None:
        raise _refused(
            self.key,
            f"was decided with {setting} = {then}, and here it is {now}",
            "set it to that first, as it was at that time",
        )


def _refused(
    value: object, problem: str, remedy: str = "give what `profitable decide --json` printed"
) -> InputError:
    return InputError("decision", value, problem, remedy)
