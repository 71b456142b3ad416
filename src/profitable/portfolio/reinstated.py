"""A decision that is put back from its JSON: it was acted on, and a restored backup does not have it.

Example: on Tuesday the disk dies.  The backup is of Sunday night, and Monday's decision is in `decisions/monday.json`.
Decided anew, Monday might accept other categories, for its outcomes are missing or the draws are others.  So the file
is put back: the line has the numbers that were acted on, and a mark that they come from a file.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from profitable.agent.agent import Agent
from profitable.errors import BrokenPortfolioError, ConflictError, InputError, ProfitableError
from profitable.kernels.agent_table import Row
from profitable.portfolio.journal import DECIDE, Line
from profitable.portfolio.outcome import text
from profitable.portfolio.recorded import REINSTATED, RecordedDecision, as_text, record_checksum, record_of

HEAD_FIELDS = {"round": int, "key": str, "time": str, "actor": str, "version": str, "shadow": bool, "record": dict}
FIRST = ("time", "actor", "version")  # what is kept of the line that was lost
SETTINGS = (("threshold", Row.THRESHOLD, float), ("paused", Row.PAUSED, bool))  # of each category


class Told(NamedTuple):
    """What the JSON of a decision says."""

    head: dict[str, Any]
    content: dict[str, Any]  # of its line, with its columns as they are stored

    @classmethod
    def read(cls, given: str | bytes) -> "Told":
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
            text(name, head[name])
        body = record.get("body")
        try:
            line = Line(
                1, head["time"], head["actor"], head["version"], DECIDE, body=body if isinstance(body, str) else ""
            )
            _ = line.content  # as the journal would read it
        except BrokenPortfolioError:
            raise _refused(head["key"], "has no record of a decision") from None
        return cls(head, from_json(str(body)))

    @property
    def key(self) -> str:
        """Its key."""
        return self.head["key"]

    def body(self) -> str:
        """The body of the line that puts it back."""
        return as_text({**self.content, REINSTATED: {name: self.head[name] for name in FIRST}})

    def check_origin(self, origin: str) -> None:
        """InputError if it is the decision of another portfolio."""
        if (other := self.head["record"].get("journal")) != origin:
            problem = f"is a decision of another portfolio, whose first line has the hash {str(other)[:12]}..."
            raise _refused(self.key, f"{problem}, not {origin[:12]}...", "give a file of this one")

    def check_same(self, line: Line) -> None:
        """ConflictError if a line has another decision of the same key."""
        if record_of(line) != self.head["record"]["body"]:
            problem = f"was decided here in line {line.line} (round {line.round}), and otherwise than the file says"
            remedy = "restore the backup once more, and reinstate what was acted on before anything is decided"
            raise ConflictError("key", self.key, problem, remedy)

    @contextmanager
    def read_as_decision(self) -> Generator[None]:
        """InputError if a record cannot be read: its checksum fits, and somebody made it up."""
        try:
            yield
        except ProfitableError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
            raise _refused(self.key, "has no record of a decision") from None

    def check_fits(self, agent: Agent, decision: RecordedDecision) -> None:
        """InputError unless it is the next round, under the settings of now, and says what its record says."""
        if decision.round != agent.round + 1:
            problem = f"is of round {decision.round}, and the next one here is {agent.round + 1}"
            raise _refused(self.key, problem, "reinstate the rounds in their order, and decide no other before")
        if self.head["shadow"] != decision.is_shadow:
            self._differs("shadow", self.head["shadow"], decision.is_shadow)
        if decision.policy != agent.policy:
            self._differs("policy", str(decision.policy), str(agent.policy))
        available = self.content["asked"].get("available")
        names = agent.names if available is None else tuple(name for name in agent.names if name in available)
        if decision.names != names:
            self._differs("categories", len(decision.names), len(names))
        table, places = agent._ledger.table, decision._places()
        for setting, row, kind in SETTINGS:
            for name, then, now in zip(names, decision._table[row].tolist(), table[row, places].tolist(), strict=True):
                if then != now:
                    self._differs(f"{setting} of {name}", kind(then), kind(now))
        shown = self.head.get("accepted", list(decision.accepted))
        if shown != list(decision.accepted):
            raise _refused(self.key, f"says that {shown} were accepted, and its record says {list(decision.accepted)}")

    def _differs(self, setting: str, then: object, now: object) -> None:
        problem = f"was decided with {setting} = {then}, and here it is {now}"
        raise _refused(self.key, problem, "set it to that first, as it was at that time")


def _refused(value: object, problem: str, remedy: str = "give what `profitable decide --json` printed") -> InputError:
    return InputError("decision", value, problem, remedy)
