"""`profitable log`: the journal of a portfolio, to read or as a file."""

import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import WAIT_SECONDS, Wait, Where, interruptible, not_the_portfolio, whole_number

if TYPE_CHECKING:
    from profitable.portfolio.portfolio import Portfolio

EXAMPLE = "profitable log lending.db --format parquet --out log.parquet"
TABLE_LINES = 100  # the newest ones, unless somebody asks for more
ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}


def log(
    where: Where,
    since: Annotated[str | None, typer.Option(help="From this day or moment on (UTC), such as 2026-01-01.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this day or moment (UTC).")] = None,
    category: Annotated[str | None, typer.Option(help="Lines about this category.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Lines of this kind: create, decide, open, outcome, correct, change, upgrade, restore."),
    ] = None,
    id: Annotated[str | None, typer.Option(help="All about this client, or about this key.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            parser=whole_number, metavar="<int>", help="The newest lines. By default, 100 in a table, or all."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="table, csv, json (one object on each line) or parquet. By default, as --out ends."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write. By default, standard output.")] = None,
    clients: Annotated[
        bool | None,
        typer.Option(
            "--clients/--entries",
            help="Clients with known outcomes, in the layout that `profitable backtest` reads, or the lines of the "
            "journal. By default, clients in parquet, and lines otherwise.",
        ),
    ] = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Print lines of the journal, or write them to a file; or write the clients for `profitable backtest`."""
    from profitable.portfolio.portfolio import Portfolio

    filters = {"since": since, "until": until, "category": category, "kind": kind, "id": id, "limit": limit}
    chosen = _format(format, out, clients)
    wants_clients = chosen == "parquet" if clients is None else clients
    _check(chosen, out, wants_clients, filters)
    not_the_portfolio("out", out, where)
    with interruptible("the file is whole or not there."), Portfolio(where, wait=wait) as book:
        if wants_clients and out is not None:
            _write_clients(book, out, chosen)
        elif chosen == "table":
            _print_table(book, filters)
        else:
            _write_lines(book, out, chosen, filters)


def _format(wanted: str | None, out: Path | None, clients: bool | None) -> str:
    from profitable.errors import ParameterError
    from profitable.portfolio.export import FORMATS

    if wanted is None:
        printed = "parquet" if clients else "table"
        wanted = printed if out is None else ENDINGS.get(out.suffix.lower(), "csv")
    if wanted not in ("table", *FORMATS):
        raise ParameterError("format", wanted, "is unknown", f"choose from table, {', '.join(FORMATS)}")
    return wanted


def _check(chosen: str, out: Path | None, clients: bool, filters: dict[str, Any]) -> None:
    """ParameterError for options that do not go together."""
    from profitable.errors import ParameterError

    if chosen == "table" and out is not None:
        raise ParameterError("format", chosen, "is to be read, not for a file", "give csv, json or parquet")
    if chosen == "table" and clients:
        raise ParameterError("format", chosen, "is for lines, not for clients", "give csv, json or parquet")
    if out is None and (clients or chosen == "parquet"):
        raise ParameterError("out", None, "is missing", "give the file to write")
    given = [name for name, value in filters.items() if value is not None]
    if clients and given:
        problem = "chooses lines, and all clients are written"
        raise ParameterError(given[0], filters[given[0]], problem, "leave it out, or give --entries")


def _print_table(book: "Portfolio", filters: dict[str, Any]) -> None:
    cut = filters["limit"] is None and filters["id"] is None
    asked: dict[str, Any] = {**filters, "limit": TABLE_LINES + 1} if cut else filters
    found = book.log(**asked)
    if cut and len(found) > TABLE_LINES:
        from profitable.portfolio.log import Log

        typer.echo(str(Log(found[1:])))
        typer.echo(f"These are the newest {TABLE_LINES} lines; --limit gives more, and --out writes all to a file.")
    else:
        typer.echo(str(found))


def _write_lines(book: "Portfolio", out: Path | None, form: str, filters: dict[str, Any]) -> None:
    from profitable.common.text_tables import number
    from profitable.portfolio.export import write_lines

    conditions = _conditions(book, filters)
    if out is not None:
        typer.echo(f"{out}: {number(write_lines(book, out, form, conditions).rows)} lines")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        write_lines(book, path, form, conditions)
        with path.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, sys.stdout)


def _conditions(book: "Portfolio", filters: dict[str, Any]) -> list[Any]:
    """What lines have to meet; a limit or an id is turned into the numbers of the lines."""
    from profitable.portfolio.log import conditions
    from profitable.portfolio.tables import journal

    whole = filters["limit"] is None and filters["id"] is None
    asked: dict[str, Any] = {**filters, "limit": 1} if whole else filters
    found = book.log(**asked)  # which also checks them
    if filters["id"] is not None:
        return [journal.c.line.in_([line.line for line in found])]
    chosen = conditions(**{name: value for name, value in filters.items() if name not in ("id", "limit")})
    if filters["limit"] is not None:
        first, last = (found[0].line, found[-1].line) if len(found) else (0, 0)
        chosen += [journal.c.line >= first, journal.c.line <= last]
    return chosen


def _write_clients(book: "Portfolio", out: Path, form: str) -> None:
    from profitable.common.text_tables import number
    from profitable.portfolio.export import write_clients

    written = write_clients(book, out, form)
    said = f"{out}: {number(written.rows)} clients"
    if written.left_out:
        said += f"; {number(written.left_out)} were left out, because nobody knows with what chance they were accepted"
    typer.echo(said)
    if written.settings is not None and written.rows:
        command = shlex.join(["profitable", "backtest", "--from", str(written.settings), "--policy", "kl-ucb"])
        typer.echo(f"What another policy would have earned with them: {command}")
