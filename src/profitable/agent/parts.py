"""An agent in parts that change at different times, so that a database can keep it up to date at little cost.

| part       | what it has                                                          | changes with          |
| ---------- | -------------------------------------------------------------------- | --------------------- |
| `settings` | categories and policy: the file of an agent that has seen nothing    | a setting             |
| `clock`    | rounds decided, where the random draws stand, the names of the rows  | a decision, a setting |
| `table`    | the numbers of all categories, [rows, K], as doubles                 | a decision, a setting |
| `extras`   | distinct rewards, window and cohorts of all categories, as JSON      | a decision, a setting |
| `column`   | the numbers of one category, and its extras                          | an outcome            |

A column is newer than the table if it was written later.  All numbers are kept to the last bit, evidence included: an
agent that is put together again decides exactly as the one that was taken apart.

>>> import profitable as pb
>>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts:forget=0.9", seed=1)
>>> decision = agent.decide()
>>> agent.observe("a", [1, 0, 0])
>>> twin = assembled({part: part_of(agent, part) for part in WHOLE_PARTS}, {})
>>> bool(twin.decide().patience[0] == agent.decide().patience[0]), twin["a"] == agent["a"]
(True, True)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from profitable.agent.agent import Agent
from profitable.agent.cohorts import Cohort
from profitable.agent.distinct_rewards import EMPTY, DistinctRewards
from profitable.agent.ledger import Ledger
from profitable.agent.observation import Entry
from profitable.agent.state_file import loaded, record_of, text_of
from profitable.errors import BrokenStateError
from profitable.kernels.agent_table import Row
from profitable.kernels.batch import Sums
from profitable.model.category import said_before

SETTINGS_PART, CLOCK_PART, TABLE_PART, EXTRAS_PART, COLUMN_PART = "settings", "clock", "table", "extras", "column"
WHOLE_PARTS = (SETTINGS_PART, CLOCK_PART, TABLE_PART, EXTRAS_PART)
ROW_NAMES = [row.name.lower() for row in Row]
DOUBLE = np.dtype("<f8")
NOTHING: Mapping[str, Any] = {}


def part_of(agent: Agent, part: str, k: int = 0) -> bytes:
    """A part of an agent as bytes; `k` is the position of the category, for a column."""
    ledger = agent._ledger
    if part == SETTINGS_PART:
        with said_before():
            bare = Agent([ledger.categories[place] for place in range(len(ledger))], policy=agent.policy, seed=0)
            return text_of(record_of(bare)).encode()
    if part == CLOCK_PART:
        return to_json({"round": ledger.round, "random": agent._stream.dump(), "rows": ROW_NAMES})
    if part == TABLE_PART:
        return np.ascontiguousarray(ledger.table, dtype=DOUBLE).tobytes()
    if part == EXTRAS_PART:
        if ledger.values is None and ledger.window is None and not ledger.cohorts:
            return b"{}"
        found = {str(place): _extras(ledger, place) for place in range(len(ledger))}
        return _json({place: extras for place, extras in found.items() if extras})
    column = ledger.table[:, k].astype(DOUBLE).tobytes()
    extras = _extras(ledger, k)
    return column + _json(extras) if extras else column


def _json(value: object) -> bytes:
    return to_json(value, inf_nan_mode="constants")


def assembled(parts: Mapping[str, bytes], columns: Mapping[int, bytes]) -> Agent:
    """An agent from the parts of `WHOLE_PARTS` and the columns that are newer; BrokenStateError if they are torn."""
    agent = loaded(parts[SETTINGS_PART].decode(), "settings")
    ledger, clock = agent._ledger, from_json(parts[CLOCK_PART])
    if clock["rows"] != ROW_NAMES:
        raise BrokenStateError("rows", clock["rows"], "are those of another version", "compute them from the journal")
    ledger.round = clock["round"]
    if ledger.window is not None:
        ledger.window.now = ledger.round
    random = clock["random"]
    state, increment = int(random["state"]), int(random["increment"])
    agent._stream.restore(state=state, increment=increment, buffered=random["buffered"], used=random["used"])
    numbers = np.frombuffer(parts[TABLE_PART], DOUBLE)
    if numbers.size != ledger.table.size:
        raise BrokenStateError("table", numbers.size, "is torn", "compute it from the journal")
    ledger.table[:] = numbers.reshape(ledger.table.shape)
    extras = from_json(parts[EXTRAS_PART])
    for place, each in extras.items():
        _put_extras(ledger, int(place), each)
    for k, body in columns.items():
        put_column(agent, k, body)
    return agent


def put_column(agent: Agent, k: int, body: bytes) -> None:
    """Replace what an agent knows of one category by what a `column` says."""
    ledger, size = agent._ledger, len(Row) * DOUBLE.itemsize
    ledger.table[:, k] = np.frombuffer(body[:size], DOUBLE)
    _put_extras(ledger, k, from_json(body[size:]) if len(body) > size else NOTHING)


def _extras(ledger: Ledger, k: int) -> dict[str, Any]:
    """What is known of a category beside its numbers, as JSON-ready values."""
    extras: dict[str, Any] = {}
    if ledger.values is not None and ledger.values[k].values.size:
        extras["values"] = _values(ledger.values[k])
    if ledger.window is not None:
        window = ledger.window
        counted = [[round, _entry(entries[k])] for round, entries in window if k in entries]
        taken = [[round, numbers[k]] for round, numbers in sorted(window.taken.items()) if k in numbers]
        extras |= {key: value for key, value in (("window", counted), ("taken", taken)) if value}
    # In their own order, in which they count when a round passes.
    if cohorts := [[*cohort[:-1], _entry(cohort.known)] for cohort in ledger.cohorts.of(k)]:
        extras["cohorts"] = cohorts
    return extras


def _put_extras(ledger: Ledger, k: int, extras: Mapping[str, Any]) -> None:
    if ledger.values is not None:
        ledger.values[k] = _values_of(extras.get("values"))
    if ledger.window is not None:
        ledger.window.replace(
            k,
            {round: _entry_of(each) for round, each in extras.get("window", ())},
            dict(extras.get("taken", ())),
        )
    cohorts: list[Cohort] = []
    for accepted_in, clients, matures, emerges, promised, known in extras.get("cohorts", ()):
        curve = emerges if isinstance(emerges, str) else tuple(emerges)
        cohorts.append(Cohort(accepted_in, clients, matures, curve, promised, _entry_of(known)))
    ledger.cohorts.replace(k, cohorts, ledger.round)


def _entry(entry: Entry) -> list[Any]:
    return [[*entry.sums], None if entry.values is None else _values(entry.values)]


def _entry_of(saved: list[Any]) -> Entry:
    sums, values = saved
    return Entry(Sums(*map(float, sums)), None if values is None else _values_of(values))


def _values(kept: DistinctRewards) -> list[list[float]]:
    return [kept.values.tolist(), kept.counts.tolist()]


def _values_of(saved: list[list[float]] | None) -> DistinctRewards:
    if saved is None:
        return EMPTY
    values, counts = saved
    return DistinctRewards(np.array(values, dtype=np.float64), np.array(counts, dtype=np.float64))
