"""Parts of an agent that change at different times, for a database to keep.

| part       | content                                              | changes with |
| ---------- | ---------------------------------------------------- | ------------ |
| `settings` | categories and policy: the file of a new agent       | a setting    |
| `clock`    | rounds, position of the random draws, names of rows  | a decision   |
| `table`    | numbers of all categories, [rows, K], as doubles     | a decision   |
| `extras`   | distinct rewards, window and cohorts of all, as JSON | a decision   |
| `column`   | the numbers of one category, and its extras          | an outcome   |

A setting changes the clock, the table and the extras, too.  A column is newer than the
table if it was written later.  All numbers are kept to the last bit, evidence included:
an agent that is put together again decides exactly as the one that was taken apart.
Only what a lending book says is not kept, because it follows from the counts in the
extras.

>>> import profitable as pb
>>> category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
>>> agent = pb.Agent([category], policy="ts:forget=0.9", seed=1)
>>> decision = agent.decide()
>>> agent.observe("a", [1, 0, 0])
>>> twin = assembled({part: part_of(agent, part) for part in WHOLE_PARTS}, {})
>>> twin["a"] == agent["a"]
True
>>> bool(twin.decide().patience[0] == agent.decide().patience[0])
True
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from profitable.agent.agent import Agent
from profitable.agent.cohorts import Cohort
from profitable.agent.decision import Decision
from profitable.agent.ledger import Ledger
from profitable.agent.loan_state import put_values, values_of, vintages_of
from profitable.agent.observation import EMPTY, Booking, DistinctRewards
from profitable.agent.state_file import loaded, record_of, text_of
from profitable.errors import BrokenStateError, InputError
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.batch import Sums
from profitable.model.category import said_before

SETTINGS_PART, CLOCK_PART, TABLE_PART, EXTRAS_PART, COLUMN_PART = (
    "settings",
    "clock",
    "table",
    "extras",
    "column",
)
WHOLE_PARTS = (SETTINGS_PART, CLOCK_PART, TABLE_PART, EXTRAS_PART)
ROW_NAMES = [row.name.lower() for row in AgentRow]
DOUBLE = np.dtype("<f8")
BY_ROUND_AND_AGE = "vintages"
NOTHING: Mapping[str, Any] = {}


def part_of(agent: Agent, part: str, k: int = 0) -> bytes:
    """Return a part of an agent as bytes; a column needs the position `k`."""
    ledger = agent.ledger
    if part == SETTINGS_PART:
        with said_before():
            return text_of(
                record_of(
                    Agent(
                        [ledger.categories[place] for place in range(len(ledger))],
                        policy=agent.policy,
                        seed=0,
                        lending=agent.lending,
                    )
                )
            ).encode()
    if part == CLOCK_PART:
        return to_json({"round": ledger.round, "random": agent._stream.dump(), "rows": ROW_NAMES})
    if part == TABLE_PART:
        return np.ascontiguousarray(ledger.kept(), dtype=DOUBLE).tobytes()
    if part == EXTRAS_PART:
        plain = ledger.values is None and ledger.window is None and not ledger.cohorts
        if plain and ledger.loans is None:
            return b"{}"
        found = {str(place): _extras(ledger, place) for place in range(len(ledger))}
        if ledger.loans is not None:
            found[BY_ROUND_AND_AGE] = vintages_of(ledger.loans)
        return _json({place: extras for place, extras in found.items() if extras})
    column = ledger.kept(k).astype(DOUBLE).tobytes()
    extras = _extras(ledger, k)
    return column + _json(extras) if extras else column


def _json(value: object) -> bytes:
    return to_json(value, inf_nan_mode="constants", fallback=np.ndarray.tolist)


def assembled(parts: Mapping[str, bytes], columns: Mapping[int, bytes]) -> Agent:
    """Return an agent from parts and newer columns; BrokenStateError if torn."""
    agent = loaded(parts[SETTINGS_PART].decode(), "settings")
    ledger, clock = agent.ledger, from_json(parts[CLOCK_PART])
    if clock["rows"] != ROW_NAMES:
        raise BrokenStateError(
            "rows", clock["rows"], "are those of another version", "compute them from the journal"
        )
    ledger.start_after(clock["round"])
    if ledger.window is not None:
        ledger.window.now = ledger.round
    agent._stream.restore(**clock["random"])
    numbers = np.frombuffer(parts[TABLE_PART], DOUBLE)
    if numbers.size != ledger.numbers.size:
        raise BrokenStateError("table", numbers.size, "is torn", "compute it from the journal")
    ledger.table[:] = numbers.reshape(ledger.numbers.shape)
    ledger.reading = None
    extras = from_json(parts[EXTRAS_PART])
    if ledger.loans is not None and (vintages := extras.pop(BY_ROUND_AND_AGE, None)):
        put_values(ledger.loans, {"vintages": vintages})
    for place, each in extras.items():
        _put_extras(ledger, int(place), each)
    for k, body in columns.items():
        put_column(agent, k, body)
    return agent


def put_column(agent: Agent, k: int, body: bytes) -> None:
    """Replace what an agent knows of one category by what a `column` says."""
    ledger, size = agent.ledger, len(AgentRow) * DOUBLE.itemsize
    ledger.writable_column(k)[:] = np.frombuffer(body[:size], DOUBLE)
    _put_extras(ledger, k, from_json(body[size:]) if len(body) > size else NOTHING)


def pass_round(agent: Agent, available: Iterable[str] | None, acted_on: Decision) -> None:
    """Let the next round pass with a decision that was made before and acted on.

    The policy draws as if it decided, so that the draws of later rounds are those that
    they would have been.
    """
    ledger = agent.ledger
    now = agent._drawn(None if available is None else ledger.categories.select(available))
    if now.names != acted_on.names:
        raise InputError(
            "categories", acted_on.names, "are not those to decide about", f"give {now.names}"
        )
    ledger.revoke(now.positions[now.accepted_mask & ~acted_on.accepted_mask])
    ledger.count_round(now.positions[acted_on.accepted_mask & ~now.accepted_mask])
    ledger.advance()


def _extras(ledger: Ledger, k: int) -> dict[str, Any]:
    """Return the extras of a category, which `_json` can write."""
    window, extras = ledger.window, dict[str, Any]()
    if ledger.values is not None and ledger.values[k].values.size:
        extras["values"] = ledger.values[k]
    if window is not None:
        extras["window"] = [(round, entries[k]) for round, entries in window if k in entries]
        extras["taken"] = [
            (round, numbers[k]) for round, numbers in sorted(window.taken.items()) if k in numbers
        ]
    # In their own order, in which they count when a round passes.
    extras["cohorts"] = ledger.cohorts.of(k)
    if ledger.loans is not None:
        extras["book"] = values_of(ledger.loans, k)
    return {key: value for key, value in extras.items() if value}


def _put_extras(ledger: Ledger, k: int, extras: Mapping[str, Any]) -> None:
    if ledger.values is not None:
        ledger.values[k] = _values_of(extras["values"]) if "values" in extras else EMPTY
    if ledger.window is not None:
        ledger.window.replace(
            k,
            {round: _entry_of(each) for round, each in extras.get("window", ())},
            dict(extras.get("taken", ())),
        )
    if ledger.loans is not None:
        put_values(ledger.loans, extras.get("book", NOTHING), k)
        ledger.reading = None
    ledger.cohorts.replace(
        k,
        [
            Cohort(
                accepted_in,
                clients,
                matures,
                emerges if isinstance(emerges, str) else tuple(emerges),
                promised,
                _entry_of(known),
            )
            for accepted_in, clients, matures, emerges, promised, known in extras.get("cohorts", ())
        ],
    )


def _entry_of(saved: list[Any]) -> Booking:
    sums, values = saved
    return Booking(Sums(*map(float, sums)), None if values is None else _values_of(values))


def _values_of(saved: list[list[float]]) -> DistinctRewards:
    return DistinctRewards(*(np.array(each, dtype=np.float64) for each in saved))
