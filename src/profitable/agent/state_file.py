"""The agent's file: JSON with a format version and a checksum, written whole or not at all.

What is written has passed the checks that it will be read with: the same models (`state_record.py`) and the same look
at the sums (`_check`).  Besides the agent itself, only this module uses an agent's private attributes.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from profitable import version
from profitable.agent.agent import Agent
from profitable.agent.categories import Categories, Kind, Terms
from profitable.agent.correction import ROUNDING
from profitable.agent.draws import ExponentialStream
from profitable.agent.ledger import Ledger
from profitable.agent.observation import Entry
from profitable.agent.state_cohorts import BACKUP, SUM_FIELDS, cohorts_record, restore_cohorts, sample_of, sample_record
from profitable.agent.state_format_1 import upgraded
from profitable.agent.state_record import (
    AGENT_FORMAT,
    AGENT_FORMAT_VERSION,
    COUNT_ROWS,
    MONEY_ROWS,
    ROUND_ROWS,
    SUM_ROWS,
    Columns,
    Header,
    KindRecord,
    PriorRecord,
    StateRecord,
    TakenRecord,
)
from profitable.agent.transfer import LENT_SUMS
from profitable.agent.window import Window
from profitable.common import check
from profitable.common.files import as_path, is_sealed, read_text, replace_text, seal
from profitable.common.types import IntArray
from profitable.errors import BrokenStateError, NewerStateError, ParameterError, ProfitableError, StateFileError
from profitable.kernels.agent_table import Row
from profitable.kernels.batch import Sums
from profitable.model.category import is_text
from profitable.model.families import FAMILIES
from profitable.model.family import Family
from profitable.model.prior import Prior
from profitable.policy.policies import POLICIES, Bayesian, Policy


def path_of(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path; StateFileError if no file can have that name."""
    try:
        return as_path("path", path)
    except ParameterError:
        raise StateFileError("path", path, "is no file name", "give the path of a file") from None


# ---------------------------------------------------------------------------------------------- writing


def save(agent: Agent, path: Path) -> None:
    """Write the agent to `path`, whole or not at all."""
    text = text_of(record_of(agent))
    try:
        replace_text(path, text)
    except OSError as error:
        problem = f"cannot be written ({(error.strerror or 'unknown reason').lower()})"
        raise StateFileError("path", str(path), problem, "choose a file in a folder that is writable") from None


def record_of(agent: Agent) -> StateRecord:
    """The agent as a checked record; StateFileError if it could not be read back."""
    ledger = agent._ledger
    categories, table, policy = ledger.categories, ledger.table, agent.policy
    _check_registered("policy", policy.name, type(policy), POLICIES)
    used: list[int] = np.unique(categories.which()).tolist()
    kinds = [list(categories.kinds)[number] for number in used]
    for kind in kinds:
        _check_registered("family", kind.family.name, type(kind.family), FAMILIES)
    amounts, recoveries = categories.amounts(), categories.recoveries()
    columns: dict[str, Any] = {
        "name": categories.names,
        "kind": np.searchsorted(used, categories.which()).tolist(),
        "threshold": table[Row.THRESHOLD].tolist(),
        "worth": table[Row.WORTH].tolist() if (table[Row.WORTH] != 1.0).any() else None,
        "amount": amounts if any(amount is not None for amount in amounts) else None,
        "recovery": recoveries if any(recoveries) else None,
        "paused": (table[Row.PAUSED] != 0.0).tolist() if table[Row.PAUSED].any() else None,
    }
    counts = {**COUNT_ROWS, **ROUND_ROWS}
    columns |= {key: table[row].astype(np.int64).tolist() for key, row in counts.items() if table[row].any()}
    sums = {**SUM_ROWS, **MONEY_ROWS}
    columns |= {key: table[row].tolist() for key, row in sums.items() if table[row].any()}
    if (table[Row.CLIENTS] != table[Row.KNOWN]).any():
        columns["counted"] = table[Row.CLIENTS].tolist()
    if policy.rule.needs_rounds and (table[Row.TAKEN] != table[Row.ROUNDS]).any():
        columns["taken"] = table[Row.TAKEN].tolist()
    late = table[Row.LATE] != 0.0
    if late.any():
        columns["debt"] = [
            debt if is_late else None for debt, is_late in zip(table[Row.DEBT].tolist(), late, strict=True)
        ]
    if ledger.values is not None:
        columns["sample"] = [sample_record(kept) for kept in ledger.values]
    try:
        record = StateRecord.model_validate(
            {
                "format": AGENT_FORMAT,
                "format_version": AGENT_FORMAT_VERSION,
                "package_version": version.VERSION,
                "policy": str(policy),
                "policy_prior": _prior_record(getattr(policy, "prior", None)),
                "round": agent.round,
                "random": {"generator": "PCG64", **agent._stream.dump()},
                "kinds": [kind_record(kind) for kind in kinds],
                "columns": columns,
                "window": None if ledger.window is None else _window_record(ledger.window, kinds),
                "cohorts": cohorts_record(ledger) if ledger.cohorts else None,
            }
        )
        _check(ledger)
    except (ValidationError, BrokenStateError) as error:
        reason = _first(error) if isinstance(error, ValidationError) else str(error).rstrip(".")
        problem = f"cannot be saved, because it could not be read back: {reason}"
        raise StateFileError("agent", repr(agent), problem, "undo the last change") from None
    return record


def _check_registered(field: str, name: str, kind: type, known: Mapping[str, type]) -> None:
    """StateFileError for a class that could not be read back by its name."""
    if known.get(name) is not kind:
        remedy = f"use the {field} that has the name {name!r} now"
        raise StateFileError(
            field, kind.__name__, "is not what its name means by now, so that it could not be loaded", remedy
        )


def _prior_record(prior: Prior | None) -> dict[str, Any] | None:
    return None if prior is None else asdict(prior)


def _window_record(window: Window, kinds: list[Kind]) -> dict[str, Any]:
    entries = [(round, k, entry) for round, counted in window for k, entry in counted.items()]
    record: dict[str, Any] = {"round": [each[0] for each in entries], "place": [each[1] for each in entries]}
    for field in ("clients", *SUM_FIELDS, *(LENT_SUMS if any(kind.weight == "money" for kind in kinds) else ())):
        record[field] = [getattr(entry.sums, field) for _, _, entry in entries]
    samples = [sample_record(entry.values) for _, _, entry in entries if entry.values is not None]
    taken = [(round, k, number) for round, numbers in sorted(window.taken.items()) for k, number in numbers.items()]
    fields = {key: [each[i] for each in taken] for i, key in enumerate(("round", "place", "rounds"))}
    return {**record, "sample": samples or None, "taken": fields if taken else None}


def kind_record(kind: Kind) -> dict[str, Any]:
    """A kind as the file has it."""
    record = {"family": kind.family.name, "parameters": kind.family.parameters, "bound": kind.bound}
    return {**record, "prior": _prior_record(kind.prior), "weight": kind.weight}


def text_of(record: StateRecord) -> str:
    """The file's text: a line for each field and each column, and the checksum of all that stands before it."""
    head = record.model_dump(exclude={"kinds", "columns", "window", "cohorts"})
    if record.window is not None:
        head["window"] = record.window.model_dump(exclude_none=True)
    if record.cohorts is not None:
        head["cohorts"] = record.cohorts.model_dump()
    kinds = [each.model_dump(exclude_defaults=True) for each in record.kinds]
    columns = record.columns.model_dump(exclude_none=True)
    return seal(f'{{\n{_lines({**head, "kinds": kinds})},\n"columns": {{\n{_lines(columns)}\n}}\n}}')


def _lines(fields: Mapping[str, Any]) -> str:
    return ",\n".join(f'"{key}": {to_json(value).decode()}' for key, value in fields.items())


# ---------------------------------------------------------------------------------------------- reading


def load(path: Path) -> Agent:
    """Read a file back into an agent."""
    try:
        text = read_text(path)
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or 'unknown reason').lower()})"
        raise StateFileError("path", str(path), problem, "give the file that Agent.save wrote") from None
    except UnicodeDecodeError:
        raise BrokenStateError("path", str(path), "is no text", "give the file that Agent.save wrote") from None
    return loaded(text, str(path))


def loaded(text: str, path: str) -> Agent:
    """The agent that a file's text describes; errors name `path`."""
    try:
        return restore(_parse(text, path))
    except NewerStateError:
        raise
    except (ProfitableError, ValueError) as error:  # pydantic's errors and the parser's are ValueErrors
        reason = _first(error) if isinstance(error, ValidationError) else str(error).rstrip(".")
        remedy = "give a file that Agent.save wrote, or restore it from a backup"
        raise BrokenStateError("path", path, f"is no saved agent: {reason}", remedy) from None


def _parse(text: str, path: str) -> StateRecord:
    content = from_json(text)
    header = Header.model_validate(content)
    if header.format_version > AGENT_FORMAT_VERSION:
        theirs, ours = header.format_version, f"profitable {version.VERSION} reads up to {AGENT_FORMAT_VERSION}"
        problem = f"has format version {theirs}, and {ours}"
        raise NewerStateError("path", path, problem, "upgrade profitable, or use the version that wrote it")
    if header.format_version == 1:
        return upgraded(content)
    checksum = content.pop("checksum", None)
    if not is_sealed(text):
        raise BrokenStateError("checksum", checksum, "does not fit the content, so the file was altered", BACKUP)
    return StateRecord.model_validate(content)


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, detail["loc"]))
    message = detail["msg"][0].lower() + detail["msg"][1:]
    return f"at {place}, {message}" if place else message


def restore(record: StateRecord) -> Agent:
    """The agent that a record describes."""
    columns = record.columns
    policy = Policy.parse(record.policy)
    if record.policy_prior is not None:
        if not isinstance(policy, Bayesian):
            raise BrokenStateError("policy_prior", record.policy, "has no prior", BACKUP)
        policy = replace(policy, prior=prior_of(record.policy_prior))
    ledger = Ledger(_categories(record, policy))
    table = ledger.table
    table[Row.THRESHOLD] = columns.threshold
    table[Row.WORTH] = columns.column("worth", 1.0)
    amounts = np.array(columns.column("amount", None), dtype=np.float64)
    table[Row.PRICE] = np.where(np.isnan(amounts), table[Row.THRESHOLD] * table[Row.WORTH], amounts)
    lends = np.array([record.kinds[number].weight is not None for number in columns.kind])
    table[Row.PRICE, lends] = table[Row.WORTH, lends]
    table[Row.RECOVERED] = np.nan_to_num(amounts) * columns.column("recovery", 0.0)
    table[Row.PAUSED] = columns.column("paused", False)
    for name, row in {**COUNT_ROWS, **ROUND_ROWS, **SUM_ROWS, **MONEY_ROWS}.items():
        table[row] = columns.column(name, 0)
    table[Row.CLIENTS] = table[Row.KNOWN] if columns.counted is None else columns.counted
    if policy.rule.needs_rounds:
        table[Row.TAKEN] = table[Row.ROUNDS] if columns.taken is None else columns.taken
    ledger.round = record.round
    if (table[Row.ROUNDS] > record.round).any():
        raise BrokenStateError("rounds", int(table[Row.ROUNDS].max()), f"are more than {record.round}", BACKUP)
    if ledger.values is not None:
        if columns.sample is None:
            raise BrokenStateError("sample", None, "is missing", BACKUP)
        ledger.values = [sample_of(kept) for kept in columns.sample]
    if columns.debt is not None:
        table[Row.LATE] = [debt is not None for debt in columns.debt]
        table[Row.DEBT] = [debt or 0.0 for debt in columns.debt]
    if ledger.window is not None:
        _fill(ledger.window, record)
    if record.cohorts is not None:
        restore_cohorts(ledger, record.cohorts)
    _check(ledger)
    ledger.renew(np.arange(len(ledger)))
    agent = Agent.__new__(Agent)
    agent._begin(ledger, _stream(record))
    return agent


def _fill(window: Window, record: StateRecord) -> None:
    """Restore what was counted in each remembered round."""
    saved = record.window
    if saved is None:
        raise BrokenStateError("window", None, "is missing", BACKUP)
    taken = saved.taken or TakenRecord(round=[], place=[], rounds=[])
    torn = [name for part in (saved, taken) for name, column in part if _is_torn(column, len(part.round))]
    if torn or max([*saved.place, *taken.place], default=0) >= len(record.columns.name):
        raise BrokenStateError("window", torn or "place", "is torn", BACKUP)
    window.now = record.round
    for round in [*saved.round, *taken.round]:
        if not record.round - window.length < round <= record.round:
            raise BrokenStateError("window", round, "is no round that is remembered", BACKUP)
    for round, place, number in zip(taken.round, taken.place, taken.rounds, strict=True):
        window.taken.setdefault(round, {})[place] = number
    fields = ("clients", *SUM_FIELDS, *(LENT_SUMS if saved.lent_squares_lost is not None else ()))
    for i, round in enumerate(saved.round):
        sums = Sums(**{field: getattr(saved, field)[i] for field in fields})
        window.add(round, saved.place[i], Entry(sums, None if saved.sample is None else sample_of(saved.sample[i])))


def _is_torn(column: object, size: int) -> bool:
    return isinstance(column, list) and len(cast(list[object], column)) != size


def _stream(record: StateRecord) -> ExponentialStream:
    draws = record.random
    if draws.used > draws.buffered or max(int(draws.state), int(draws.increment)) >= 1 << 128:
        raise BrokenStateError("random", draws.state, "is no state of the generator", BACKUP)
    stream = ExponentialStream(0)
    stream.restore(state=int(draws.state), increment=int(draws.increment), buffered=draws.buffered, used=draws.used)
    return stream


def _categories(record: StateRecord, policy: Policy) -> Categories:
    columns, size = record.columns, len(record.columns.name)
    torn = [name for name, column in columns if column is not None and len(column) != size]
    which = np.array(columns.kind, dtype=np.int64)
    if torn or which.max() >= len(record.kinds):
        raise BrokenStateError("columns", torn or "kind", "are torn", BACKUP)
    if not all(map(str.strip, columns.name)) or not is_text("".join(columns.name)):
        raise BrokenStateError("name", "", "is not a name", BACKUP)
    kinds = [Kind(family_of(each), each.bound, prior_of(each.prior), each.weight) for each in record.kinds]
    shared = [kinds[number] for number in columns.kind]
    worths, amounts = columns.column("worth", 1.0), columns.column("amount", None)
    terms = list(map(Terms, shared, columns.threshold, worths, amounts, columns.column("recovery", 0.0)))
    categories = Categories(policy)
    numbers = np.zeros(len(kinds), dtype=np.int64)
    for number in range(len(kinds)):
        for k in _extremes(columns, np.flatnonzero(which == number)):
            numbers[number] = categories.add_kind(terms[k].named(columns.name[k]))
    categories.add_terms(columns.name, terms, numbers[which].tolist())
    return categories


def _extremes(columns: Columns, positions: IntArray) -> set[int]:
    """Those of some categories whose terms are the largest or smallest: if they are legal, all between them are."""
    found: set[int] = set()
    for column in (columns.threshold, columns.worth, columns.amount, columns.recovery):
        if column is not None:
            values = np.array(column, dtype=np.float64)[positions]
            known = positions[~np.isnan(values)]
            values = values[~np.isnan(values)]
            found |= {int(known[place(values)]) for place in (np.argmin, np.argmax) if values.size}
    return found


def prior_of(record: PriorRecord | None) -> Prior | None:
    """The prior that a record describes."""
    return None if record is None else Prior(record.kind, record.first, record.second)


def family_of(record: KindRecord) -> Family:
    """The family that a record describes."""
    if record.family not in FAMILIES:
        raise BrokenStateError("family", record.family, "is unknown", f"choose from {', '.join(FAMILIES)}")
    parameters: dict[str, Any] = dict(record.parameters)
    if "trials" in parameters:
        parameters["trials"] = check.whole("trials", parameters["trials"])
    try:
        return FAMILIES[record.family](**parameters)
    except TypeError:
        problem = f"does not take the parameters {sorted(parameters)}"
        raise BrokenStateError("family", record.family, problem, BACKUP) from None


def _check(ledger: Ledger) -> None:
    """BrokenStateError for sums that no clients can have, and for samples that do not fit them."""
    categories, table = ledger.categories, ledger.table
    clients, totals = table[Row.CLIENTS], table[Row.TOTAL]
    for view, chosen in categories.by_view(np.arange(len(ledger))):
        impossible = chosen.copy()
        impossible[chosen] = ~view.can_sum_each_to(clients[chosen], totals[chosen])
        if impossible.any():
            k = int(np.argmax(impossible))
            problem = f"cannot be the sum over {clients[k]:g} clients"
            raise BrokenStateError("total", float(totals[k]), problem, BACKUP, categories.names[k])
        if view.by_money:
            lent, squares, back = (table[row, chosen] for row in (Row.LENT, Row.LENT_SQUARES, Row.BACK))
            pairs = ((clients[chosen] * squares, lent * lent), (totals[chosen] * lent, back * clients[chosen]))
            if not all(np.allclose(*pair, rtol=ROUNDING, atol=0.0) for pair in pairs):
                raise BrokenStateError("lent", float(lent.sum()), "does not fit what it counts as", BACKUP)
    if ((table[Row.SQUARES] < 0.0) & (table[Row.LATE] == 0.0)).any():
        raise BrokenStateError("squares", float(table[Row.SQUARES].min()), "is no sum of squares", BACKUP)
    for k, kept in enumerate(ledger.values or ()):
        low, high = categories.view_of(k).statistic_range
        name, values, counts = categories.names[k], kept.values, kept.counts / ledger.unit(k)
        if values.size != counts.size or not abs(counts.sum() - clients[k]) <= ROUNDING * (1.0 + clients[k]):
            raise BrokenStateError("sample", values.size, "is torn", BACKUP, name)
        inside = bool(((values >= low) & (values <= high)).all() and (np.diff(values) > 0.0).all())
        if not inside or not abs(values @ counts - totals[k]) <= ROUNDING * (np.abs(values) @ counts):
            raise BrokenStateError("sample", values.size, "does not fit the total", BACKUP, name)
