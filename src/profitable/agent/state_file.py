"""The agent's file: JSON with a format version, checked strictly on the way in, written whole or not at all.

Besides the agent itself, only this module uses an agent's private attributes.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from profitable import version
from profitable.agent.agent import Agent
from profitable.agent.distinct_rewards import DistinctRewards
from profitable.common import check
from profitable.common.files import replace_file
from profitable.errors import BrokenStateError, NewerStateError, ProfitableError, StateFileError
from profitable.kernels.agent_table import Row
from profitable.model.category import Category
from profitable.model.families import FAMILIES
from profitable.model.family import Family
from profitable.model.prior import Kind, Prior
from profitable.model.view import View
from profitable.policy.policies import POLICIES, Bayesian, Policy

AGENT_FORMAT = "profitable-agent"
AGENT_FORMAT_VERSION = 1

Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Round = Annotated[int, Field(ge=0, le=10**18)]


_ROWS = {
    "clients": Row.CLIENTS,
    "total": Row.TOTAL,
    "carry": Row.CARRY,
    "squares": Row.SQUARES,
    "squares_carry": Row.SQUARES_CARRY,
    "waiting": Row.WAITING,
    "revenue": Row.REVENUE,
    "cost": Row.COST,
}


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Header(BaseModel):
    """The two fields that every version of the format has."""

    model_config = ConfigDict(strict=True, extra="ignore")
    format: Literal["profitable-agent"]
    format_version: int


class PriorRecord(_Record):
    """A prior."""

    kind: Kind
    first: Finite
    second: Finite


class SampleRecord(_Record):
    """The distinct rewards that KL-Emp-UCB-4P remembers."""

    values: list[Finite]
    counts: list[Annotated[int, Field(gt=0)]]


class CategoryRecord(_Record):
    """A category and what was observed of it.  A field that the file leaves out has the default given here."""

    name: str
    family: str
    parameters: dict[str, Finite] = {}
    threshold: Finite
    bound: Finite | None = None
    worth: Finite = 1.0
    amount: Finite | None = None
    prior: PriorRecord | None = None
    paused: bool = False
    clients: Count = 0
    total: Finite = 0.0
    carry: Finite = 0.0
    squares: NotNegative = 0.0
    squares_carry: Finite = 0.0
    waiting: Count = 0
    revenue: Finite = 0.0
    cost: NotNegative = 0.0
    sample: SampleRecord | None = None


class RandomRecord(_Record):
    """Where the sequence of Thompson's exponential draws stands."""

    generator: Literal["PCG64"]
    state: Annotated[str, Field(pattern=r"^[0-9]{1,39}$")]
    increment: Annotated[str, Field(pattern=r"^[0-9]{1,39}$")]
    buffered: Annotated[int, Field(ge=0, le=1 << 20)]
    used: Count


class StateRecord(_Record):
    """The whole file."""

    format: Literal["profitable-agent"]
    format_version: Literal[1]
    package_version: str
    policy: str
    policy_prior: PriorRecord | None = None
    round: Round
    random: RandomRecord
    categories: Annotated[list[CategoryRecord], Field(min_length=1)]


def save(agent: Agent, path: Path) -> None:
    """Write the agent to `path`, whole or not at all."""
    _check_registered("policy", agent.policy.name, type(agent.policy), POLICIES)
    for family in {type(category.family) for category in agent._categories.all}:
        _check_registered("family", family.name, family, FAMILIES)
    try:
        replace_file(path, lambda temporary: _write_lines(temporary, agent))
    except OSError as error:
        problem = f"cannot be written ({(error.strerror or 'unknown reason').lower()})"
        raise StateFileError("path", str(path), problem, "choose a folder that exists and is writable") from None


def _write_lines(path: Path, agent: Agent) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines(agent))


def _check_registered(field: str, name: str, kind: type, known: Mapping[str, type]) -> None:
    """StateFileError for a class that could not be read back by its name."""
    if known.get(name) is not kind:
        remedy = f"use the {field} that has the name {name!r} now"
        raise StateFileError(
            field, kind.__name__, "is not what its name means by now, so that it could not be loaded", remedy
        )


def path_of(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path; StateFileError if no file can have that name."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise StateFileError("path", path, "is no file name", "give the path of a file")
    return Path(path)


def lines(agent: Agent) -> Iterator[str]:
    """The file's text: a line for each field of the header, a line for each category."""
    header = {
        "format": AGENT_FORMAT,
        "format_version": AGENT_FORMAT_VERSION,
        "package_version": version.VERSION,
        "policy": str(agent.policy),
        "policy_prior": None if (prior := getattr(agent.policy, "prior", None)) is None else asdict(prior),
        "round": agent.round,
        "random": {"generator": "PCG64", **agent._stream.dump()},
    }
    yield "{\n"
    for key, value in header.items():
        yield f'"{key}": {json.dumps(value)},\n'
    yield '"categories": [\n'
    for k in range(len(agent)):
        yield json.dumps(_row(agent, k), ensure_ascii=False, allow_nan=False)
        yield ",\n" if k + 1 < len(agent) else "\n"
    yield "]\n}\n"


def _row(agent: Agent, k: int) -> dict[str, Any]:
    """A category's record, without the fields that have their default value."""
    category = agent._categories.all[k]
    numbers = agent._table[:, k].tolist()
    row: dict[str, Any] = {"name": category.name, "family": category.family.name}
    if parameters := category.family.parameters:
        row["parameters"] = parameters
    row["threshold"] = category.threshold
    if category.bound is not None:
        row["bound"] = category.bound
    if category.worth != 1.0:
        row["worth"] = category.worth
    if category.amount is not None:
        row["amount"] = category.amount
    if category.prior is not None:
        row["prior"] = asdict(category.prior)
    if k in agent._paused:
        row["paused"] = True
    row["clients"] = int(numbers[Row.CLIENTS])
    for key in ("total", "carry", "squares", "squares_carry", "revenue", "cost"):
        if numbers[_ROWS[key]]:
            row[key] = numbers[_ROWS[key]]
    if numbers[Row.WAITING]:
        row["waiting"] = int(numbers[Row.WAITING])
    if agent._values is not None:
        sample = agent._values[k]
        row["sample"] = {"values": sample.values.tolist(), "counts": [int(count) for count in sample.counts]}
    return row


def load(path: Path) -> Agent:
    """Read a file back into an agent."""
    try:
        text = path.read_bytes()
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or 'unknown reason').lower()})"
        raise StateFileError("path", str(path), problem, "give the file that Agent.save wrote") from None
    remedy = "give a file that Agent.save wrote, or restore it from a backup"
    try:
        header = Header.model_validate_json(text)
        if header.format_version > AGENT_FORMAT_VERSION:
            theirs, ours = header.format_version, f"profitable {version.VERSION} reads up to {AGENT_FORMAT_VERSION}"
            problem = f"has format version {theirs}, and {ours}"
            raise NewerStateError("path", str(path), problem, "upgrade profitable, or use the version that wrote it")
        return restore(StateRecord.model_validate_json(text))
    except ValidationError as error:
        raise BrokenStateError("path", str(path), f"is no saved agent: {_first(error)}", remedy) from None
    except StateFileError:
        raise
    except ProfitableError as error:
        raise BrokenStateError("path", str(path), f"is no saved agent: {error}".rstrip("."), remedy) from None


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, detail["loc"]))
    message = detail["msg"][0].lower() + detail["msg"][1:]
    return f"at {place}, {message}" if place else message


def restore(state: StateRecord) -> Agent:
    """The agent that a record describes."""
    categories = [_category(record) for record in state.categories]
    policy = Policy.parse(state.policy)
    if state.policy_prior is not None:
        if not isinstance(policy, Bayesian):
            raise BrokenStateError("policy_prior", state.policy, "has no prior", "restore the file from a backup")
        policy = replace(policy, prior=_prior(state.policy_prior))
    agent = Agent(categories, policy=policy, seed=0)
    draws = state.random
    if draws.used > draws.buffered or max(int(draws.state), int(draws.increment)) >= 1 << 128:
        raise BrokenStateError("random", draws.state, "is no state of the generator", "restore the file from a backup")
    agent._stream.restore(
        state=int(draws.state), increment=int(draws.increment), buffered=draws.buffered, used=draws.used
    )
    agent._round = state.round
    agent._paused = frozenset(k for k, record in enumerate(state.categories) if record.paused)
    table = agent._table
    for name, row in _ROWS.items():
        table[row, : len(agent)] = [getattr(record, name) for record in state.categories]
    for k, record in enumerate(state.categories):
        if not agent._categories.view_of(k).can_sum_to(record.clients, record.total):
            problem = f"cannot be the sum over {record.clients} clients"
            remedy = "restore the file from a backup"
            raise BrokenStateError("total", record.total, problem, remedy, record.name)
    if agent._values is not None:
        agent._values = [_sample(record, agent._categories.view_of(k)) for k, record in enumerate(state.categories)]
    agent._renew(np.arange(len(agent)))
    return agent


def _category(record: CategoryRecord) -> Category:
    return Category(
        record.name,
        _family(record),
        threshold=record.threshold,
        bound=record.bound,
        worth=record.worth,
        prior=_prior(record.prior),
        amount=record.amount,
    )


def _prior(record: PriorRecord | None) -> Prior | None:
    return None if record is None else Prior(record.kind, record.first, record.second)


def _family(record: CategoryRecord) -> Family:
    if record.family not in FAMILIES:
        raise BrokenStateError("family", record.family, "is unknown", f"choose from {', '.join(FAMILIES)}")
    parameters: dict[str, Any] = dict(record.parameters)
    if "trials" in parameters:
        parameters["trials"] = check.whole("trials", parameters["trials"])
    try:
        return FAMILIES[record.family](**parameters)
    except TypeError:
        problem = f"does not take the parameters {sorted(parameters)}"
        raise BrokenStateError("family", record.family, problem, "restore the file from a backup") from None


def _sample(record: CategoryRecord, view: View) -> DistinctRewards:
    kept = record.sample
    if kept is None or len(kept.values) != len(kept.counts) or sum(kept.counts) != record.clients:
        raise BrokenStateError("sample", record.name, "is missing or torn", "restore the file from a backup")
    sample = DistinctRewards(np.array(kept.values), np.array(kept.counts, dtype=np.float64))
    low, high = view.statistic_range
    inside = all(low <= value <= high for value in kept.values) and kept.values == sorted(set(kept.values))
    if not inside or not np.isclose(sample.values @ sample.counts, record.total, rtol=1e-9, atol=1e-9):
        raise BrokenStateError("sample", record.name, "does not fit the total", "restore the file from a backup")
    return sample
