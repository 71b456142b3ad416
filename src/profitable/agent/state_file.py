"""The agent's file: JSON with a version and a checksum, written whole or not at all.

A file passes, before it is written, the checks that it will be read with: the same
models (`state_record.py`) and the same look at the sums (`_check`).  Besides the agent
itself, only this module and `state_parts.py` use an agent's private attributes.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from profitable import version
from profitable.agent.agent import Agent
from profitable.agent.categories import Categories, CategoryKind, LazyCategory
from profitable.agent.cohorts import AT_MATURITY, Cohort, LateTerms
from profitable.agent.correction import ROUNDING
from profitable.agent.draws import ExponentialStream
from profitable.agent.ledger import Ledger
from profitable.agent.loan_state import put_values, values_of
from profitable.agent.observation import EMPTY, Booking, DistinctRewards
from profitable.agent.state_record import (
    AGENT_FORMAT,
    AGENT_FORMAT_VERSION,
    COUNT_ROWS,
    FORMAT_WITHOUT_LENDING,
    SUM_FIELDS,
    SUM_ROWS,
    BookRecord,
    CohortsRecord,
    Columns,
    Header,
    KindRecord,
    PriorRecord,
    RandomRecord,
    Record,
    SampleRecord,
    StateRecord,
    TakenRecord,
)
from profitable.agent.transfer import LENT_SUMS
from profitable.agent.window import Window
from profitable.common import check
from profitable.common.files import as_path, is_sealed, read_text, replace_text, seal
from profitable.common.types import IntArray
from profitable.errors import (
    BrokenStateError,
    NewerStateError,
    ParameterError,
    ProfitableError,
    StateFileError,
)
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.batch import Sums
from profitable.model.category import is_text
from profitable.model.families import FAMILIES, Family
from profitable.model.lending import LONGEST_TERM, Lending
from profitable.model.prior import Prior
from profitable.policy.policies import POLICIES, Bayesian, Policy

BACKUP = "restore the file from a backup"


def path_of(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path; StateFileError if no file can have that name."""
    try:
        return as_path("path", path)
    except ParameterError:
        raise StateFileError(
            "path", path, "must be a file name", "give the path of a file"
        ) from None


# ------------------------------------------------------------------------------ writing


def save(agent: Agent, path: Path) -> None:
    """Write the agent to `path`, whole or not at all."""
    text = text_of(record_of(agent))
    try:
        replace_text(path, text)
    except OSError as error:
        raise StateFileError(
            "path",
            str(path),
            f"cannot be written ({(error.strerror or 'unknown reason').lower()})",
            "choose a file in a folder that is writable",
        ) from None


def record_of(agent: Agent) -> StateRecord:
    """Return the agent as a checked record; StateFileError if it could not be read."""
    ledger = agent.ledger
    categories, table, policy = ledger.categories, ledger.numbers, agent.policy
    if ledger.loans is not None:  # whose numbers follow from the book
        table = table.copy()
        table[[AgentRow.CLIENTS, AgentRow.TOTAL]] = 0.0
    _check_registered("policy", policy.name, type(policy), POLICIES)
    used: list[int] = np.unique(categories.which()).tolist()
    kinds = [list(categories.kinds)[number] for number in used]
    for kind in kinds:
        _check_registered("family", kind.family.name, type(kind.family), FAMILIES)
    amounts, recoveries = categories.terms_of("amount"), categories.terms_of("recovery")
    columns: dict[str, Any] = {
        "name": categories.names,
        "kind": np.searchsorted(used, categories.which()).tolist(),
        "threshold": table[AgentRow.THRESHOLD].tolist(),
        "worth": table[AgentRow.WORTH].tolist() if (table[AgentRow.WORTH] != 1.0).any() else None,
        "amount": amounts if any(amount is not None for amount in amounts) else None,
        "recovery": recoveries if any(recoveries) else None,
        "paused": (table[AgentRow.PAUSED] != 0.0).tolist()
        if table[AgentRow.PAUSED].any()
        else None,
        "counted": table[AgentRow.CLIENTS].tolist()
        if (table[AgentRow.CLIENTS] != table[AgentRow.KNOWN]).any()
        else None,
        "taken": table[AgentRow.TAKEN].tolist()
        if policy.rule.needs_rounds and (table[AgentRow.TAKEN] != table[AgentRow.ROUNDS]).any()
        else None,
        "debt": np.where(table[AgentRow.LATE] != 0.0, table[AgentRow.DEBT], None).tolist()  # type: ignore[call-overload]
        if table[AgentRow.LATE].any()
        else None,
        "sample": None if ledger.values is None else [*map(sample_record, ledger.values)],
    }
    for names, kind_of_number in ((COUNT_ROWS, np.int64), (SUM_ROWS, np.float64)):
        columns |= {
            key: table[row].astype(kind_of_number).tolist()
            for key, row in names.items()
            if table[row].any()
        }
    try:
        record = StateRecord.model_validate(
            {
                "format": AGENT_FORMAT,
                "format_version": (
                    FORMAT_WITHOUT_LENDING if ledger.loans is None else AGENT_FORMAT_VERSION
                ),
                "package_version": version.VERSION,
                "policy": str(policy),
                "policy_prior": _prior_record(getattr(policy, "prior", None)),
                "round": agent.round,
                "random": {"generator": "PCG64", **agent._stream.dump()},
                "kinds": [kind_record(kind) for kind in kinds],
                "columns": columns,
                "window": None if ledger.window is None else _window_record(ledger.window, kinds),
                "cohorts": cohorts_record(ledger) if ledger.cohorts else None,
                "lending": None if agent.lending is None else asdict(agent.lending),
                "book": None if ledger.loans is None else values_of(ledger.loans),
            }
        )
        _check(ledger)
    except (ValidationError, BrokenStateError) as error:
        raise StateFileError(
            "agent",
            repr(agent),
            f"cannot be saved, because it could not be read back: {_reason(error)}",
            "undo the last change",
        ) from None
    return record


def _check_registered(field: str, name: str, kind: type, known: Mapping[str, type]) -> None:
    """StateFileError for a class that could not be read back by its name."""
    if known.get(name) is not kind:
        raise StateFileError(
            field,
            kind.__name__,
            "is not what its name means by now, so that it could not be loaded",
            f"use the {field} that has the name {name!r} now",
        )


def _prior_record(prior: Prior | None) -> dict[str, Any] | None:
    return None if prior is None else asdict(prior)


def _window_record(window: Window, kinds: list[CategoryKind]) -> dict[str, Any]:
    entries = [(round, k, entry) for round, counted in window for k, entry in counted.items()]
    lent = LENT_SUMS if any(kind.weight == "money" for kind in kinds) else ()
    samples = [sample_record(entry.values) for _, _, entry in entries if entry.values is not None]
    taken = [
        (round, k, number)
        for round, numbers in sorted(window.taken.items())
        for k, number in numbers.items()
    ]
    return {
        **_columns(entries, "round", "place"),
        **_sum_columns([entry for _, _, entry in entries], ("clients", *SUM_FIELDS, *lent)),
        "sample": samples or None,
        "taken": _columns(taken, "round", "place", "rounds") if taken else None,
    }


def _columns(rows: Sequence[tuple[Any, ...]], *fields: str) -> dict[str, list[Any]]:
    """Return the first entries of each row, as columns."""
    return {field: [row[i] for row in rows] for i, field in enumerate(fields)}


def _sum_columns(entries: list[Booking], fields: Iterable[str]) -> dict[str, list[float]]:
    """Return some of the sums of bookings, as columns."""
    return {field: [getattr(entry.sums, field) for entry in entries] for field in fields}


def kind_record(kind: CategoryKind) -> dict[str, Any]:
    """Return a kind as the file has it; only a band has an order."""
    record = {
        "family": kind.family.name,
        "parameters": kind.family.parameters,
        "bound": kind.bound,
        "prior": _prior_record(kind.prior),
        "weight": kind.weight,
    }
    return record if kind.order is None else record | {"order": kind.order}


def text_of(record: StateRecord) -> str:
    """Return the file's text: a line for each field and column, and their checksum."""
    head = record.model_dump(exclude={"kinds", "columns", "window", "cohorts", "lending", "book"})
    if record.lending is not None and record.book is not None:
        head["lending"] = record.lending.model_dump()
        head["book"] = record.book.model_dump(exclude_none=True)
    if record.window is not None:
        head["window"] = record.window.model_dump(exclude_none=True)
    if record.cohorts is not None:
        head["cohorts"] = record.cohorts.model_dump()
    kinds = [each.model_dump(exclude_defaults=True) for each in record.kinds]
    columns = record.columns.model_dump(exclude_none=True)
    return seal(
        f'{{\n{_lines({**head, "kinds": kinds})},\n"columns": {{\n{_lines(columns)}\n}}\n}}'
    )


def _lines(fields: Mapping[str, Any]) -> str:
    return ",\n".join(f'"{key}": {to_json(value).decode()}' for key, value in fields.items())


# ------------------------------------------------------------------------------ reading


def load(path: Path) -> Agent:
    """Read a file back into an agent."""
    try:
        text = read_text(path)
    except OSError as error:
        raise StateFileError(
            "path",
            str(path),
            f"cannot be read ({(error.strerror or 'unknown reason').lower()})",
            "give the file that Agent.save wrote",
        ) from None
    except UnicodeDecodeError:
        raise BrokenStateError(
            "path", str(path), "is not a text file", "give the file that Agent.save wrote"
        ) from None
    return loaded(text, str(path))


def loaded(text: str, path: str) -> Agent:
    """Return the agent that a file's text describes; errors name `path`."""
    try:
        content = from_json(text)
        theirs = Header.model_validate(content).format_version
        if theirs > AGENT_FORMAT_VERSION:
            ours = f"profitable {version.VERSION} reads up to {AGENT_FORMAT_VERSION}"
            raise NewerStateError(
                "path",
                path,
                f"has format version {theirs}, and {ours}",
                "upgrade profitable, or use the version that wrote it",
            )
        checksum = content.pop("checksum", None)
        _require(
            is_sealed(text),
            "checksum",
            checksum,
            "does not fit the content, so the file was altered",
        )
        return restore(StateRecord.model_validate(content))
    except NewerStateError:
        raise
    except (ProfitableError, ValueError) as error:  # those of pydantic and the parser, too
        raise BrokenStateError(
            "path",
            path,
            f"is not a saved agent: {_reason(error)}",
            "give a file that Agent.save wrote, or restore it from a backup",
        ) from None


def _reason(error: Exception) -> str:
    """Return what is wrong with a record, first of all."""
    if not isinstance(error, ValidationError):
        return str(error).rstrip(".")
    detail = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, detail["loc"]))
    message = detail["msg"][0].lower() + detail["msg"][1:]
    return f"at {place}, {message}" if place else message


def _require(
    holds: object, field: str, value: object, problem: str, category: str | None = None
) -> None:
    """Raise BrokenStateError unless a condition holds that every saved agent meets."""
    if not holds:
        raise BrokenStateError(field, value, problem, BACKUP, category)


def restore(record: StateRecord) -> Agent:
    """Return the agent that a record describes."""
    columns, policy = record.columns, Policy.parse(record.policy)
    if record.policy_prior is not None:
        if not isinstance(policy, Bayesian):
            raise BrokenStateError("policy_prior", record.policy, "has no prior", BACKUP)
        policy = replace(policy, prior=prior_of(record.policy_prior))
    ledger = Ledger(_categories(record, policy))
    table = ledger.table
    table[AgentRow.THRESHOLD] = columns.threshold
    table[AgentRow.WORTH] = columns.column("worth", 1.0)
    amounts = np.array(columns.column("amount", None), dtype=np.float64)
    table[AgentRow.PRICE] = np.where(
        np.isnan(amounts), table[AgentRow.THRESHOLD] * table[AgentRow.WORTH], amounts
    )
    lends = np.array([record.kinds[number].weight is not None for number in columns.kind])
    table[AgentRow.PRICE, lends] = table[AgentRow.WORTH, lends]
    table[AgentRow.RECOVERED] = np.nan_to_num(amounts) * columns.column("recovery")
    table[AgentRow.PAUSED] = columns.column("paused")
    for name, row in {**COUNT_ROWS, **SUM_ROWS}.items():
        table[row] = columns.column(name)
    table[AgentRow.CLIENTS] = table[AgentRow.KNOWN] if columns.counted is None else columns.counted
    if policy.rule.needs_rounds:
        table[AgentRow.TAKEN] = table[AgentRow.ROUNDS] if columns.taken is None else columns.taken
    ledger.start_after(record.round)
    rounds = int(table[AgentRow.ROUNDS].max())
    _require(rounds <= record.round, "rounds", rounds, f"are more than {record.round}")
    if ledger.values is not None:
        _require(columns.sample is not None, "sample", None, "is missing")
        ledger.values = [sample_of(kept) for kept in columns.sample or ()]
    if columns.debt is not None:
        table[AgentRow.LATE] = [debt is not None for debt in columns.debt]
        table[AgentRow.DEBT] = [debt or 0.0 for debt in columns.debt]
    if ledger.window is not None:
        _fill(ledger.window, record)
    if record.cohorts is not None:
        restore_cohorts(ledger, record.cohorts)
    if ledger.loans is not None:
        _restore_book(ledger, record.book)
    _check(ledger)
    ledger.renew(np.arange(len(ledger)))
    agent = Agent.__new__(Agent)
    agent._begin(ledger, _stream(record.random))
    return agent


def _restore_book(ledger: Ledger, record: BookRecord | None) -> None:
    """Put a lending book into a ledger; BrokenStateError if it does not fit."""
    book, table = ledger.loans, ledger.raw
    _require(book is not None and record is not None, "book", None, "is missing")
    assert book is not None
    assert record is not None
    for name, part in record:
        if part is None:
            continue
        torn = _torn(part, len(part.term))
        ages = np.array(getattr(part, "age", []), np.int64)
        last = book.lending.ages(np.array(part.term, np.int64))
        fits = (
            max(part.term, default=0) <= LONGEST_TERM
            and min(part.term, default=1) >= 1
            and max(getattr(part, "place", []), default=0) < len(ledger)
            and max(getattr(part, "round", []), default=0) <= ledger.round
            and (not ages.size or torn or bool((ages < last).all()))
        )
        _require(not torn and fits, f"book.{name}", torn or "place", "is torn")
    put_values(book, record.model_dump(exclude_none=True))
    still = (book.issued - book.ended).sum(axis=(1, 2))
    _require((book.ended <= book.issued).all(), "ended", None, "are more loans than were issued")
    _require(
        (still == table[AgentRow.WAITING, : ledger.size]).all(),
        "waiting",
        None,
        "does not fit the loans that are open",
    )


def _torn(record: Record, size: int) -> list[str]:
    """Return the columns of a record that have another length than the others."""
    columns = {name: cast(list[Any], each) for name, each in record if isinstance(each, list)}
    return [name for name, column in columns.items() if len(column) != size]


def _fill(window: Window, record: StateRecord) -> None:
    """Restore what was counted in each remembered round."""
    saved = record.window
    if saved is None:
        raise BrokenStateError("window", None, "is missing", BACKUP)
    taken = saved.taken or TakenRecord(round=[], place=[], rounds=[])
    torn = _torn(saved, len(saved.round)) + _torn(taken, len(taken.round))
    last = max([*saved.place, *taken.place], default=0)
    _require(not torn and last < len(record.columns.name), "window", torn or "place", "is torn")
    window.now = record.round
    for round in [*saved.round, *taken.round]:
        _require(
            record.round - window.length < round <= record.round,
            "window",
            round,
            "is not a round that is remembered",
        )
    for round, place, number in zip(taken.round, taken.place, taken.rounds, strict=True):
        window.taken.setdefault(round, {})[place] = number
    fields = ("clients", *SUM_FIELDS, *(LENT_SUMS if saved.lent_squares_lost is not None else ()))
    for i, round in enumerate(saved.round):
        values = None if saved.sample is None else sample_of(saved.sample[i])
        window.add(
            round,
            saved.place[i],
            Booking(Sums(**{field: getattr(saved, field)[i] for field in fields}), values),
        )


def _stream(draws: RandomRecord) -> ExponentialStream:
    largest = max(int(draws.state), int(draws.increment))
    is_state = largest < 1 << 128 and draws.used <= draws.buffered
    _require(is_state, "random", draws.state, "is not a state of the generator")
    stream = ExponentialStream(0)
    stream.restore(**draws.model_dump(exclude={"generator"}))
    return stream


def _categories(record: StateRecord, policy: Policy) -> Categories:
    columns = record.columns
    torn, which = _torn(columns, len(columns.name)), np.array(columns.kind, dtype=np.int64)
    _require(not torn and which.max() < len(record.kinds), "columns", torn or "kind", "are torn")
    _require(
        all(map(str.strip, columns.name)) and is_text("".join(columns.name)),
        "name",
        "",
        "is not a name",
    )
    kinds = [
        CategoryKind(family_of(each), each.bound, prior_of(each.prior), each.weight, each.order)
        for each in record.kinds
    ]
    terms = list(
        map(
            LazyCategory,
            [kinds[number] for number in columns.kind],
            columns.threshold,
            columns.column("worth", 1.0),
            columns.column("amount", None),
            columns.column("recovery", 0.0),
        )
    )
    lending = None if record.lending is None else Lending(**record.lending.model_dump())
    categories = Categories(policy, lending)
    numbers = np.zeros(len(kinds), dtype=np.int64)
    for number in range(len(kinds)):
        for k in _extremes(columns, np.flatnonzero(which == number)):
            numbers[number] = categories.add_kind(terms[k].named(columns.name[k]))
    categories.append(columns.name, terms, numbers[which].tolist())
    return categories


def _extremes(columns: Columns, positions: IntArray) -> set[int]:
    """Return the categories with extreme terms: if they are legal, all between are."""
    found: set[int] = set()
    for column in (columns.threshold, columns.worth, columns.amount, columns.recovery):
        if column is not None:
            values = np.array(column, dtype=np.float64)
            known = positions[~np.isnan(values[positions])]
            if known.size:
                found |= {int(known[place(values[known])]) for place in (np.argmin, np.argmax)}
    return found


def prior_of(record: PriorRecord | None) -> Prior | None:
    """Return the prior that a record describes."""
    return None if record is None else Prior(record.kind, record.first, record.second)


def family_of(record: KindRecord) -> Family:
    """Return the family that a record describes."""
    if record.family not in FAMILIES:
        raise BrokenStateError(
            "family", record.family, "is unknown", f"choose from {', '.join(FAMILIES)}"
        )
    parameters: dict[str, Any] = dict(record.parameters)
    if "trials" in parameters:
        parameters["trials"] = check.whole("trials", parameters["trials"])
    try:
        return FAMILIES[record.family](**parameters)
    except TypeError:
        raise BrokenStateError(
            "family", record.family, f"does not take the parameters {sorted(parameters)}", BACKUP
        ) from None


def _check(ledger: Ledger) -> None:
    """Raise BrokenStateError for impossible sums, and samples that do not fit them."""
    categories, table = ledger.categories, ledger.numbers
    clients, totals = table[AgentRow.CLIENTS], table[AgentRow.TOTAL]
    for view, chosen in categories.by_view(np.arange(len(ledger))):
        impossible = chosen.copy()
        impossible[chosen] = ~view.can_sum_each_to(clients[chosen], totals[chosen])
        k = int(np.argmax(impossible))
        _require(
            not impossible[k],
            "total",
            float(totals[k]),
            f"cannot be the sum over {clients[k]:g} clients",
            categories.names[k],
        )
        if view.by_money:
            lent, squares, back = (
                table[row, chosen] for row in (AgentRow.LENT, AgentRow.LENT_SQUARES, AgentRow.BACK)
            )
            fits = all(
                np.allclose(*pair, rtol=ROUNDING, atol=0.0)
                for pair in (
                    (clients[chosen] * squares, lent * lent),
                    (totals[chosen] * lent, back * clients[chosen]),
                )
            )
            _require(fits, "lent", float(lent.sum()), "does not fit what it counts as")
    least = float(table[AgentRow.SQUARES].min())
    impossible = (table[AgentRow.SQUARES] < 0.0) & (table[AgentRow.LATE] == 0.0)
    _require(not impossible.any(), "squares", least, "cannot be a sum of squares")
    for k, kept in enumerate(ledger.values or ()):
        low, high = categories.view_of(k).statistic_range
        name, values, counts = categories.names[k], kept.values, kept.counts / ledger.unit(k)
        whole = values.size == counts.size and _is_near(counts.sum(), clients[k], 1.0 + clients[k])
        _require(whole, "sample", values.size, "is torn", name)
        inside = ((values >= low) & (values <= high)).all() and (np.diff(values) > 0.0).all()
        fits = inside and _is_near(values @ counts, totals[k], np.abs(values) @ counts)
        _require(fits, "sample", values.size, "does not fit the total", name)


def _is_near(found: Any, expected: float, scale: Any) -> bool:
    """Whether two sums differ by rounding only."""
    return bool(abs(found - expected) <= ROUNDING * scale)


# ------------------------------------------------------------------------------ cohorts


def sample_record(kept: DistinctRewards) -> dict[str, list[float]]:
    """Distinct rewards as the file has them."""
    return {"values": kept.values.tolist(), "counts": kept.counts.tolist()}


def sample_of(kept: SampleRecord) -> DistinctRewards:
    """Distinct rewards as they were read."""
    return DistinctRewards(np.array(kept.values), np.array(kept.counts, dtype=np.float64))


def cohorts_record(ledger: Ledger) -> dict[str, Any]:
    """Return the cohorts as columns."""
    listed = list(ledger.cohorts)
    cohorts = [cohort for _, cohort in listed]
    record: dict[str, Any] = {"place": [k for k, _ in listed]}
    for field in ("accepted_in", "clients", "matures", "promised"):
        record[field] = [getattr(cohort, field) for cohort in cohorts]
    record["emerges"] = [
        cohort.emerges if isinstance(cohort.emerges, str) else [*cohort.emerges]
        for cohort in cohorts
    ]
    known = [cohort.known for cohort in cohorts]
    record["known"] = [int(entry.sums.clients) for entry in known]
    if ledger.values is not None:
        record["sample"] = [sample_record(entry.values or EMPTY) for entry in known]
    return record | _sum_columns(known, (*SUM_FIELDS, *LENT_SUMS))


def restore_cohorts(ledger: Ledger, record: CohortsRecord) -> None:
    """Put the cohorts of a file into a ledger; BrokenStateError if they do not fit.

    The ledger's table has been read before.
    """
    torn, last = _torn(record, len(record.place)), max(record.place, default=0)
    fits = last < len(ledger) and (record.sample is None) == (ledger.values is None)
    _require(not torn and fits, "cohorts", torn or "place", "are torn")
    table = ledger.table
    for i, k in enumerate(record.place):
        cohort, name = _cohort(ledger, record, i), ledger.categories.names[k]
        _require(
            ledger.cohorts.get(k, cohort.accepted_in) is None,
            "cohorts",
            cohort.accepted_in,
            "has two cohorts",
            name,
        )
        _require(not cohort.by_age or table[AgentRow.LATE, k], "debt", None, "is missing", name)
        ledger.cohorts.put(k, cohort, ledger.round)
        table[AgentRow.OUTSTANDING, k] += cohort.unknown
    _require(
        (table[AgentRow.OUTSTANDING] <= table[AgentRow.WAITING]).all(),
        "waiting",
        None,
        "is less than the cohorts wait for",
    )


def _cohort(ledger: Ledger, record: CohortsRecord, i: int) -> Cohort:
    """One of the cohorts, checked like the terms that a caller gives."""
    categories, k, emerges = ledger.categories, record.place[i], record.emerges[i]
    name, view, promised = categories.names[k], categories.view_of(k), record.promised[i]
    _require(emerges == AT_MATURITY or promised is not None, "promised", None, "is missing", name)
    cohort = LateTerms(record.accepted_in[i], record.matures[i], emerges, promised).read(
        categories[k], categories.policy.rule, ledger.round
    )
    sums = Sums(
        float(record.known[i]),
        **{field: getattr(record, field)[i] for field in (*SUM_FIELDS, *LENT_SUMS)},
    )
    weight = sums.lent if view.by_money else sums.clients
    possible = sums.clients <= record.clients[i] and view.can_sum_to(weight, sums.total)
    values = None if record.sample is None else sample_of(record.sample[i])
    if values is not None:
        possible = possible and values.values.size == values.counts.size
        possible = possible and _is_near(values.counts.sum(), weight, 1.0 + weight)
    _require(
        possible,
        "total",
        sums.total,
        f"cannot be the sum over {record.known[i]} of {record.clients[i]} clients",
        name,
    )
    return cohort._replace(clients=record.clients[i], known=Booking(sums, values))
