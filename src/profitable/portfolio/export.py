"""The journal as files: its lines, or its clients in the layout that a backtest reads.

A file of clients gets a second one beside it, which tells `profitable backtest` what its columns mean.  So "what would
another policy have earned on our own log" is one command: `profitable backtest --from log.toml --policy kl-ucb`.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from profitable.common.extras import extra
from profitable.common.files import read_text, replace_file, replace_text
from profitable.common.spreadsheet import guarded
from profitable.errors import NotStoredError, ParameterError
from profitable.portfolio.clients import Settled, settled
from profitable.portfolio.journal import PAGE_LINES, Line, pages
from profitable.portfolio.portfolio import Portfolio

FORMATS = ("csv", "json", "parquet")
COLUMNS = ("id", "category", "round", "key", "accepted_at", "accepted", "propensity", "reward", "amount", "cost")
CLIENT_COLUMNS = (*COLUMNS, "paid", "received", "due", "known_round", "known_at")
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
}
NUMBER_COLUMNS = {"reward", "amount", "cost", "paid", "received", "due", "propensity"}
HEAD = "# profitable backtest --from this file --policy kl-ucb: what another policy would have earned on this log\n"
Rows = Iterable[Sequence[Any]]


class Written(NamedTuple):
    """What was written: how many rows, how many clients were left out, and the file for a backtest if there is one."""

    rows: int
    left_out: int = 0
    settings: Path | None = None


def write_lines(book: Portfolio, path: Path, form: str, conditions: Sequence[sa.ColumnElement[bool]] = ()) -> Written:
    """Write lines of the journal, whole or not at all."""
    with book._reading() as (connection, _):
        lines = (line.sound() for page in pages(connection, *conditions) for line in page)
        return Written(_write(path, form, Line._fields, lines))


def write_clients(book: Portfolio, path: Path, form: str = "parquet") -> Written:
    """Write clients whose outcomes are known, and a TOML file for `profitable backtest` beside it.

    Clients of whom nobody knows which decision accepted them, or with what chance, are left out, and counted.
    """
    left_out, free, settings = 0, False, _beside(path)

    def rows(clients: Iterator[Settled]) -> Iterator[Sequence[Any]]:
        nonlocal left_out, free
        for each in clients:
            if each.decision is None or each.propensity is None:
                left_out += 1
                continue
            free |= each.due <= 0.0
            decided = (each.id, each.category, each.decision, each.key, each.accepted, 1, each.propensity)
            money = (each.amount, each.cost, each.paid, each.received, each.due)
            yield (*decided, each.reward, *money, each.known_in, each.known)

    with book._reading() as (connection, _):
        number = _write(path, form, CLIENT_COLUMNS, rows(settled(connection)))
        _file(settings, lambda: replace_text(settings, _toml(path.name, free)))
    return Written(number, left_out, settings)


def _beside(path: Path) -> Path:
    """The name of the TOML file; ParameterError if that belongs to a file which this module did not write."""
    settings = path.with_suffix(".toml") if path.name else path
    try:
        taken = settings == path or not read_text(settings).startswith(HEAD)
    except FileNotFoundError:
        taken = False
    except (OSError, ValueError):
        taken = True
    if taken:
        problem = f"would replace {str(settings)!r}, which no export has written"
        raise ParameterError("out", str(path), problem, "choose another name")
    return settings


def _toml(name: str, free: bool) -> str:
    """What the columns mean, for a backtest: money that came back for money that had to."""
    money = {"cost": "due"} if free else {"amount": "due"}
    fields = {"data": name, "category": "category", "time": "round", "round": "number", "reward": "received"}
    fields |= {**money, "known": "known_round", "accepted": "accepted", "propensity": "propensity"}
    return HEAD + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())


def _write(path: Path, form: str, names: Sequence[str], rows: Rows) -> int:
    if form not in FORMATS:
        raise ParameterError("format", form, "is unknown", f"choose from {', '.join(FORMATS)}")
    write = {"csv": _csv, "json": _json, "parquet": _parquet}[form]
    return _file(path, lambda: write(path, names, rows))


def _file(path: Path, write: Callable[[], Any]) -> Any:
    try:
        return write()
    except OSError as error:
        problem = f"cannot be written ({(error.strerror or str(error)).lower()})"
        raise NotStoredError("out", str(path), problem, "choose a file in a folder that is writable") from None


def _csv(path: Path, names: Sequence[str], rows: Rows) -> int:
    number = 0

    def fill(temporary: Path) -> None:
        nonlocal number
        with temporary.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(names)
            for row in rows:
                table.writerow(map(guarded, row))
                number += 1

    replace_file(path, fill)
    return number


def _json(path: Path, names: Sequence[str], rows: Rows) -> int:
    """One object on each line."""
    number = 0

    def fill(temporary: Path) -> None:
        nonlocal number
        with temporary.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
                number += 1

    replace_file(path, fill)
    return number


def _parquet(path: Path, names: Sequence[str], rows: Rows) -> int:
    with extra("results", "Parquet is written with it", otherwise="write csv"):
        import pyarrow as arrow
        from pyarrow import parquet
    pa: Any = arrow
    pq: Any = parquet
    kinds: dict[str, Any] = dict.fromkeys(TEXT_COLUMNS, pa.string()) | dict.fromkeys(NUMBER_COLUMNS, pa.float64())
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in names])
    number, waiting = 0, iter(rows)

    def fill(temporary: Path) -> None:
        nonlocal number
        with pq.ParquetWriter(temporary, schema) as file:
            while page := list(islice(waiting, 10 * PAGE_LINES)):
                columns = zip(*page, strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
                file.write_table(pa.table(arrays, schema=schema))
                number += len(page)

    replace_file(path, fill)
    return number
