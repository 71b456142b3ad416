"""Files of a journal: its lines, or its clients in the layout that a backtest reads.

A file of clients comes with a TOML file that gives `profitable backtest` the meaning of
its columns.  So "what would another policy have earned on our own log" is one
command: `profitable backtest --from log.toml --policy kl-ucb`.
"""

import csv
import json
import math
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from profitable.agent.observation import money_of_client
from profitable.common.extras import extra
from profitable.common.files import read_text, replace_file, replace_text
from profitable.common.text_tables import guarded
from profitable.errors import NotStoredError, ParameterError
from profitable.model.category import Category, said_before
from profitable.model.lending import MONTHS, Lending
from profitable.portfolio.history import begin
from profitable.portfolio.journal import (
    PAGE_LINES,
    Line,
    altered,
    intact,
    journal,
    journal_lines,
    one,
)
from profitable.portfolio.loans import ended_of
from profitable.portfolio.portfolio import Portfolio
from profitable.portfolio.portfolio_reading import chosen_lines
from profitable.portfolio.portfolio_settings import category_of
from profitable.portfolio.stored_decision import decided_at

TEXT_COLUMNS = {
    "time",
    "actor",
    "version",
    "kind",
    "id",
    "category",
    "known",
    "body",
    "hash",
    "key",
    "accepted_at",
    "known_at",
    "issued",
    "defaulted",
    "closed",
}
NUMBER_COLUMNS = {"rate", "reward", "amount", "cost", "paid", "received", "due", "propensity"}
HEAD = "# profitable backtest --from this file --policy "
PURPOSE = ": what another policy would have earned on this log\n"
Rows = Iterable[Sequence[Any]]


class Settled(NamedTuple):
    """A client whose outcome is known: corrected, with his money and propensity.

    Example: loan-4711 of the students was accepted in round 12 with probability 0.41.
    It cost 1 000 and brought 1 120.  The fields are the columns of the file.
    """

    id: str
    category: str
    round: int | None  # that accepted him
    key: str | None  # of that round
    accepted_at: str | None  # when it was decided
    accepted: int  # 1, for a backtest: others have no outcome
    propensity: float | None  # with which it accepted his category; None if that is not known
    reward: float
    amount: float | None
    cost: float | None
    paid: float  # what accepting him cost, in money
    received: float  # what he brought, in money
    # What he has to bring so that accepting him pays: what it cost, and any return that
    # is required on it.
    due: float
    known_round: int  # rounds decided when the outcome was reported
    known_at: str  # the day on which it was known, or when it was reported

    @property
    def profit(self) -> float:
        """The money received from a client, less that paid for accepting him."""
        return self.received - self.paid


class ExportedLoan(NamedTuple):
    """A loan, open or ended, as a backtest needs it; the fields are the columns."""

    id: str
    category: str
    round: int | None  # that accepted the client
    issued: str  # the day of the loan, or of the decision that accepted the client
    term: int
    rate: float | None
    amount: float | None
    defaulted: str | None
    closed: str | None


class Written(NamedTuple):
    """Number of clients written and left out, and the backtest's file."""

    rows: int
    left_out: int
    settings: Path
    unknown: str  # of those left out


def write_lines(book: Portfolio, path: Path, form: str, **filters: Any) -> int:
    """Write the lines that `Portfolio.log` would return, whole or not at all."""
    with book._reading() as (connection, agent):
        return _write(path, form, Line._fields, chosen_lines(connection, agent, **filters))


def write_clients(book: Portfolio, path: Path, form: str = "parquet") -> Written:
    """Write clients with known outcomes, and a TOML file for `profitable backtest`.

    Clients of whom nobody knows which decision accepted them, or with what chance, are
    left out, and counted; so are loans without a rate or an amount.
    """
    lending = book.agent.lending
    if lending is not None:
        return _write_loans(book, path, form, lending)
    left_out, free, settings = 0, False, _settings_path(path)

    def rows(clients: Iterator[Settled]) -> Iterator[Settled]:
        nonlocal left_out, free
        for each in clients:
            if each.round is None or each.propensity is None:
                left_out += 1
            else:
                free |= each.due <= 0.0
                yield each

    with book._reading() as (connection, _):
        number = _write(path, form, Settled._fields, rows(settled(book, connection)))
        with _storing(settings):
            replace_text(settings, _toml(path.name, free))
    return Written(number, left_out, settings, "propensity")


def _write_loans(book: Portfolio, path: Path, form: str, lending: Lending) -> Written:
    if lending.per_year != MONTHS:
        raise ParameterError(
            "per_year",
            lending.per_year,
            "are not months, in which a backtest counts terms",
            "write the lines of the journal",
        )
    settings, left_out = _settings_path(path), 0

    def rows(found: Iterator[ExportedLoan]) -> Iterator[ExportedLoan]:
        nonlocal left_out
        for each in found:
            if each.rate is None or each.amount is None:
                left_out += 1
            else:
                yield each

    with book._reading() as (connection, _):
        number = _write(path, form, ExportedLoan._fields, rows(exported_loans(connection)))
        names = ("category", "issued", "term", "rate", "amount", "defaulted", "closed")
        terms = {name: getattr(lending, name) for name in ("required", "recovery", "lag", "level")}
        with _storing(settings):
            replace_text(
                settings,
                _as_toml({"data": path.name, **dict(zip(names, names, strict=True)), **terms}),
            )
    return Written(number, left_out, settings, "rate or amount")


def exported_loans(connection: sa.Connection) -> Iterator[ExportedLoan]:
    """Yield all loans in the order in which they were opened."""
    decided = {
        line.round: decided_at(line)
        for line in journal_lines(connection, journal.c.kind == "decide")
    }
    corrected = _corrections(connection)
    outcomes = {
        line.refers: ended_of(corrected.get(line.line, line))
        for line in journal_lines(connection, journal.c.kind == "outcome")
    }
    for line in journal_lines(connection, journal.c.kind == "open"):
        terms, ended = line.content, outcomes.get(line.line, {})
        yield ExportedLoan(
            str(line.id),
            str(line.category),
            line.decision,
            terms.get("issued", decided.get(line.decision or 0, line.time)[: len("2026-11-16")]),
            terms["term"],
            terms.get("rate"),
            line.amount,
            ended.get("defaulted"),
            ended.get("closed"),
        )


def _settings_path(path: Path) -> Path:
    """Return the name of the TOML file; ParameterError if the file is not ours."""
    settings = path.with_suffix(".toml") if path.name else path
    try:
        taken = settings == path or not read_text(settings).startswith(HEAD)
    except FileNotFoundError:
        taken = False
    except (OSError, ValueError):
        taken = True
    if taken:
        raise ParameterError(
            "out",
            str(path),
            f"would replace {str(settings)!r}, which no export has written",
            "choose another name",
        )
    return settings


def _toml(name: str, free: bool) -> str:
    """Return the meaning of the columns for a backtest: received and due money."""
    return _as_toml(
        {
            "data": name,
            "category": "category",
            "time": "round",
            "round": "number",
            "reward": "received",
            "cost" if free else "amount": "due",
            "known": "known_round",
            "accepted": "accepted",
            "propensity": "propensity",
        }
    )


def _as_toml(fields: Mapping[str, Any]) -> str:
    policy = "bayes-ucb" if "defaulted" in fields else "kl-ucb"
    return f"{HEAD}{policy}{PURPOSE}" + "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()
    )


def _write(path: Path, form: str, names: Sequence[str], rows: Rows) -> int:
    """Write rows to a file, whole or not at all; return their number."""
    if form not in FORMATS:
        raise ParameterError("format", form, "is unknown", f"choose from {', '.join(FORMATS)}")
    number = 0

    def counted() -> Iterator[Sequence[Any]]:
        nonlocal number
        for row in rows:
            number += 1
            yield row

    with _storing(path):
        replace_file(path, lambda temporary: FORMATS[form](temporary, names, counted()))
    return number


@contextmanager
def _storing(path: Path) -> Generator[None]:
    """Turn an OSError into a NotStoredError."""
    try:
        yield
    except OSError as error:
        raise NotStoredError(
            "out",
            str(path),
            f"cannot be written ({(error.strerror or str(error)).lower()})",
            "choose a file in a folder that is writable",
        ) from None


def _csv(path: Path, names: Sequence[str], rows: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows(map(guarded, row) for row in rows)


def _json(path: Path, names: Sequence[str], rows: Rows) -> None:
    """One object on each line."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")


def _parquet(path: Path, names: Sequence[str], rows: Rows) -> None:
    with extra("results", "Parquet is written with it", otherwise="write csv"):
        import pyarrow as arrow
        from pyarrow import parquet
    pa: Any = arrow
    pq: Any = parquet
    kinds: dict[str, Any] = dict.fromkeys(TEXT_COLUMNS, pa.string()) | dict.fromkeys(
        NUMBER_COLUMNS, pa.float64()
    )
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in names])
    waiting = iter(rows)
    with pq.ParquetWriter(path, schema) as file:
        while page := list(islice(waiting, 10 * PAGE_LINES)):
            columns = zip(zip(*page, strict=True), schema, strict=True)
            arrays = [pa.array(column, field.type) for column, field in columns]
            file.write_table(pa.table(arrays, schema=schema))


FORMATS = {"csv": _csv, "json": _json, "parquet": _parquet}


# ----------------------------------------------------------------------------- clients


def settled(
    book: Portfolio, connection: sa.Connection, *, by_id: bool = False
) -> Iterator[Settled]:
    """Yield clients with known outcomes, as reported or in the order of their ids."""
    terms, corrected = _terms(connection), _corrections(connection)
    # Key, time and chances of each round.  Of a shadow's decisions nobody knows the
    # chance: another portfolio chose the clients.
    decisions: dict[int | None, tuple[str | None, str | None, dict[str, float]]] = {}
    for line in journal_lines(connection, journal.c.kind == "decide"):
        chances: dict[str, float] = {}
        if not book._was_shadow(line.line):
            columns = intact(connection, line).content["columns"]
            chances = dict(zip(columns["name"], columns["propensity"], strict=True))
        decisions[line.round] = line.id, decided_at(line), chances
    for line in journal_lines(connection, journal.c.kind == "outcome", by_id=by_id):
        latest = corrected.get(line.sound().line, line).sound()
        if latest.reward is None:
            continue
        category = str(line.category)
        if category not in terms:
            raise altered(line.line)
        since = bisect_right(terms[category], line.line, key=itemgetter(0)) - 1
        _, then = terms[category][since]
        received, paid = money_of_client(then, latest.reward, latest.cost, latest.amount)
        key, time, chances = decisions.get(line.decision, (None, None, {}))
        chance = chances.get(category, math.nan)
        yield Settled(
            str(line.id),
            category,
            line.decision,
            key,
            time,
            1,
            None if math.isnan(chance) else chance,
            latest.reward,
            latest.amount,
            latest.cost,
            paid,
            received,
            paid if then.weight is None else paid * then.threshold,
            line.round,
            line.known or line.time,
        )


def _terms(connection: sa.Connection) -> dict[str, list[tuple[int, Category]]]:
    """Return the terms of each category, with the lines since which they hold."""
    first = one(connection, journal.c.line == 1)
    if first is None:
        raise altered(1)
    agent = begin(first)
    found = {name: [(first.line, agent.category(name))] for name in agent.names}
    with said_before():
        for line in journal_lines(connection, journal.c.kind == "change"):
            content, name = line.content, str(line.category)
            if content["setting"] == "category":
                found[name] = [(line.line, category_of(content["to"]))]
            elif content["setting"] == "threshold":
                _, before = found[name][-1]
                found[name].append((line.line, before.with_threshold(content["to"])))
    return found


def _corrections(connection: sa.Connection) -> dict[int, Line]:
    """Return the last correction of each corrected outcome, by the outcome's line."""
    outcome_of: dict[int, int] = {}
    latest: dict[int, Line] = {}
    for line in journal_lines(connection, journal.c.kind == "correct"):
        refers = line.refers or 0
        outcome_of[line.line] = outcome = outcome_of.get(refers, refers)
        latest[outcome] = line
    return latest
