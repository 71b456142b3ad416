"""Reading a portfolio: `status`, `explain`, `log`, `verify` and `compare`."""

import shlex
import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import (
    ALTERED,
    WAIT_SECONDS,
    AsCsv,
    AsJson,
    Wait,
    Where,
    at_most_one,
    interruptible,
    not_the_portfolio,
    open_portfolio,
    print_csv,
    print_found,
    print_json,
    whole_option,
)
from profitable.errors import BrokenPortfolioError, NotSavedError, ParameterError

if TYPE_CHECKING:
    from profitable.portfolio.heads import HeadsFile
    from profitable.portfolio.portfolio import Portfolio

TABLE_LINES = 100  # the newest ones, unless --limit is given
ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}


def status(
    where: Where, as_json: AsJson = False, as_csv: AsCsv = False, wait: Wait = WAIT_SECONDS
) -> None:
    """Print the clients, mean, profit, evidence and patience of each category."""
    at_most_one(json=as_json, csv=as_csv)
    with open_portfolio(where, wait=wait) as book:
        found = book.status()
    if as_csv:
        print_csv(found.columns)
    else:
        print_found(found, as_json)


def explain(
    where: Where,
    category: Annotated[str, typer.Argument(help="The name of a category.")],
    round: Annotated[
        int | None, typer.Option(help="Why it was accepted or refused in this round.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="The same for the round with this key.")] = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Explain what is known about a category, or why a round accepted or refused it."""
    at_most_one(round=None if round is None else str(round), key=key)
    with open_portfolio(where, wait=wait) as book:
        typer.echo(book.explain(category, round=round, key=key))


def log(
    where: Where,
    since: Annotated[
        str | None, typer.Option(help="From this day or moment on (UTC), such as 2026-01-01.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Up to this day or moment (UTC).")] = None,
    category: Annotated[str | None, typer.Option(help="Lines about this category.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Lines of this kind: create, decide, open, outcome, correct, change, upgrade, "
            "restore."
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="All about this client, or about this key.")
    ] = None,
    limit: Annotated[
        int | None,
        whole_option("The newest lines. By default, 100 in a table, or all."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="table, csv, json (one object on each line) or parquet. By default, as --out ends."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write. By default, standard output.")
    ] = None,
    clients: Annotated[
        bool | None,
        typer.Option(
            "--clients/--entries",
            help="Clients with known outcomes, in the layout that `profitable backtest` reads, or "
            "the lines of the journal. By default, clients in parquet, and lines otherwise.",
        ),
    ] = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Print the journal, or write its lines or clients to a file."""
    filters = {
        "since": since,
        "until": until,
        "category": category,
        "kind": kind,
        "id": id,
        "limit": limit,
    }
    chosen = _format(format, out, clients)
    wants_clients = chosen == "parquet" if clients is None else clients
    _check(chosen, out, wants_clients, filters)
    not_the_portfolio("out", out, where)
    with (
        interruptible("the file is complete or does not exist."),
        open_portfolio(where, wait=wait) as book,
    ):
        if wants_clients and out is not None:
            _write_clients(book, out, chosen)
        elif chosen == "table":
            _print_table(book, filters)
        else:
            _write_lines(book, out, chosen, filters)


def _format(wanted: str | None, out: Path | None, clients: bool | None) -> str:
    from profitable.portfolio.export import FORMATS

    if wanted is None:
        printed = "parquet" if clients else "table"
        wanted = printed if out is None else ENDINGS.get(out.suffix.lower(), "csv")
    if wanted not in ("table", *FORMATS):
        raise ParameterError(
            "format", wanted, "is unknown", f"choose from table, {', '.join(FORMATS)}"
        )
    return wanted


def _check(chosen: str, out: Path | None, clients: bool, filters: dict[str, Any]) -> None:
    """ParameterError for options that do not go together."""
    if chosen == "table" and (clients or out is not None):
        problem = "cannot be written to a file" if out is not None else "has lines, not clients"
        raise ParameterError("format", chosen, problem, "give csv, json or parquet")
    if out is None and (clients or chosen == "parquet"):
        raise ParameterError("out", None, "is missing", "give the file to write")
    given = [name for name, value in filters.items() if value is not None]
    if clients and given:
        raise ParameterError(
            given[0],
            filters[given[0]],
            "selects lines, not clients",
            "leave it out, or give --entries",
        )


def _print_table(book: "Portfolio", filters: dict[str, Any]) -> None:
    cut = filters["limit"] is None and filters["id"] is None
    asked: dict[str, Any] = {**filters, "limit": TABLE_LINES + 1} if cut else filters
    found = book.log(**asked)
    is_cut = cut and len(found) > TABLE_LINES
    if is_cut:
        del found[0]
    typer.echo(str(found))
    if is_cut:
        typer.echo(
            f"These are the newest {TABLE_LINES} lines; --limit gives more, --out writes all."
        )


def _write_lines(book: "Portfolio", out: Path | None, form: str, filters: dict[str, Any]) -> None:
    from profitable.common.text_tables import number_text
    from profitable.portfolio.export import write_lines

    if out is not None:
        typer.echo(f"{out}: {number_text(write_lines(book, out, form, **filters))} lines")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        write_lines(book, path, form, **filters)
        with path.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, sys.stdout)


def _write_clients(book: "Portfolio", out: Path, form: str) -> None:
    from profitable.common.text_tables import number_text
    from profitable.portfolio.export import write_clients

    written = write_clients(book, out, form)
    said = f"{out}: {number_text(written.rows)} clients"
    if written.left_out:
        said += (
            f"; {number_text(written.left_out)} were left out: their {written.unknown} is unknown"
        )
    typer.echo(said)
    if written.rows:
        command = shlex.join(
            ["profitable", "backtest", "--from", str(written.settings), "--policy", "kl-ucb"]
        )
        typer.echo(f"What another policy would have earned with them: {command}")


def verify(
    where: Where,
    head: Annotated[
        str | None,
        typer.Option(help="A head that was kept elsewhere: were lines cut off or rewritten since?"),
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option(
            help="A file of heads: the journal must continue all of them. If it does, its head is "
            "added."
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            help="Sign the head with this private key (Ed25519, PEM). Needs the extra sign."
        ),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(help="Check the signatures of the heads with this key, and add none."),
    ] = None,
    as_json: AsJson = False,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Recompute everything from the journal, and find changed or missing lines.

    Exit code 4 says that something was found. The last line is the head of the journal:
    keep it elsewhere.
    """
    from profitable.common.progress import Progress
    from profitable.portfolio.location import name_of, place_of
    from profitable.portfolio.store import Store
    from profitable.portfolio.verify import Verifier

    kept = _heads(heads, sign, public_key, where)
    with interruptible("verify changes no portfolio. Run the same command again."):
        try:
            with closing(Store(where, wait=wait)) as store:
                with Progress(total=max(1, store.length()), title="verifying") as bar:
                    found = Verifier(store, head, bar.update).run()
                found = found if kept is None else kept.keep(found, store)
        except NotSavedError as error:
            print_found(error.result, as_json)
            raise
        except BrokenPortfolioError as error:  # the engine itself refuses the file
            if as_json:
                print_json(
                    {
                        "portfolio": name_of(place_of(where)),
                        "clean": False,
                        "findings": [str(error)],
                    }
                )
            typer.echo(f"profitable: {error}", err=True)
            raise typer.Exit(ALTERED) from None
    print_found(found, as_json)
    if not found.is_clean:
        raise typer.Exit(ALTERED)


def _heads(
    heads: Path | None, sign: Path | None, public_key: Path | None, where: str
) -> "HeadsFile | None":
    """Return the file of heads, checked before the portfolio is read."""
    for name, value in (("sign", sign), ("public-key", public_key)):
        if heads is None and value is not None:
            raise ParameterError(
                name, str(value), "is given without --heads", "give the file of heads as well"
            )
    if heads is None:
        return None
    from profitable.portfolio.heads import HeadsFile

    not_the_portfolio("heads", heads, where)
    return HeadsFile(heads, sign=sign, public_key=public_key)


def compare(
    where: Where,
    other: Annotated[
        str, typer.Argument(help="Another portfolio, such as a shadow that saw the same outcomes.")
    ],
    as_json: AsJson = False,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Compare two portfolios: what each accepted, and the clients seen by both."""
    from profitable.portfolio.compare import compare as compared

    with open_portfolio(where, wait=wait) as first, open_portfolio(other, wait=wait) as second:
        found = compared(first, second)
    print_found(found, as_json)
