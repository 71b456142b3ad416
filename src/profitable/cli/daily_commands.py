"""Daily use of a portfolio: `decide`, `open`, `observe` and `correct`."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.output import in_ascii
from profitable.cli.shared import (
    WAIT_SECONDS,
    Actor,
    AsCsv,
    AsJson,
    OwnKey,
    Wait,
    Where,
    at_most_one,
    interruptible,
    is_file,
    open_portfolio,
    print_csv,
    print_json,
)
from profitable.errors import InputError, ParameterError

if TYPE_CHECKING:
    from profitable.portfolio.outcome import Client

SAME_KEY = (
    "run the same command again: the same key gives the same decision, and decides nothing twice."
)
OUTCOMES_HELP = (
    "CSV with a header: id, category, reward, and optionally amount, cost, decision, known. "
    "Of loans: id, defaulted, closed, with a day in one of them, or none if it is open. "
    "- reads standard input."
)
CLIENTS_HELP = (
    "CSV with a header: id, category, and optionally decision, matures, emerges, promised. "
    "Of loans: id, category, term, rate (or instalment and amount), and optionally issued. "
    "- reads standard input."
)
OBSERVE_HELP = """Report outcomes from a CSV file. Each id counts exactly once, however often sent.

Wrong rows are refused one by one and written to a file next to it, with the reason: fix
them there and send that file.
"""
OPEN_HELP = """Report accepted clients from a CSV file, whose outcomes arrive later.

Wrong rows are refused one by one and written to a file next to it, with the reason: fix
them there and send that file.
"""


def decide(
    where: Where,
    key: Annotated[
        str | None,
        typer.Option(
            help="Your name for this decision, such as the day. The same key gives it again."
        ),
    ] = None,
    available: Annotated[
        list[str] | None,
        typer.Option(help="Decide about these categories only: a,b. Can be repeated."),
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Money that this round has.")] = None,
    places: Annotated[
        int | None, typer.Option(help="Clients that this round has room for.")
    ] = None,
    demand: Annotated[
        list[str] | None,
        typer.Option(
            help="Clients who apply, as students=3,shops=4, or a CSV file: category, clients."
        ),
    ] = None,
    explore: Annotated[
        float | None,
        typer.Option(help="The share of the budget or the places that is for learning."),
    ] = None,
    applicants: Annotated[
        Path | None,
        typer.Option(
            help="Who asks for a loan today, accepted or not: CSV in the columns of open. By "
            "default, today's terms are those of the clients who were opened last."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--as",
            help="Decide nothing: put back a decision that was acted on, from the JSON that --json "
            "printed, after an earlier backup was restored.",
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Decide the next round: which categories to accept.

    It is stored before it is printed.
    """
    at_most_one(json=as_json, csv=as_csv)
    asked: dict[str, Any] = {"budget": budget, "places": places, "explore": explore}
    rows = {"demand": demand, "applicants": applicants}
    for name, value in {"key": key, "available": available, **rows, **asked}.items():
        if file is not None and value is not None:
            raise ParameterError(
                name, str(value), "cannot be combined with --as", "leave it out: the file has it"
            )
    if key is None and file is None:
        raise ParameterError(
            "key", None, "is missing", "give --key, or --as with the file of a decision"
        )
    with interruptible(SAME_KEY), open_portfolio(where, actor=actor, wait=wait) as book:
        known = set(book.names)
        if file is not None:
            decision = book.reinstate(_read(file))
        else:
            decision = book.decide(
                key=str(key),
                available=_names(available, known) if available else None,
                demand=_demand(demand, known) if demand else None,
                applicants=None if applicants is None else _applicants(applicants),
                **asked,
            )
        if as_json:
            # So that --as can read it, whatever the encoding here.
            typer.echo(in_ascii(decision.to_json()))
        elif as_csv:
            print_csv(_flat(decision.to_columns()["columns"]))
        else:
            typer.echo(str(decision))


def _flat(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return columns in which those about loans stand next to the others."""
    loans = columns.pop("loans", [])
    return columns | {name: [each[name] for each in loans] for name in (loans or [{}])[0]}


def _report(name: str, rows: str, file_help: str, help_text: str) -> Callable[..., None]:
    """Return the command that reports rows of a CSV file."""

    def command(
        where: Where,
        file: Annotated[str, typer.Argument(help=file_help)],
        dry_run: Annotated[
            bool,
            typer.Option("--dry-run", help="Store nothing: print what would happen, row by row."),
        ] = False,
        all_or_nothing: Annotated[
            bool, typer.Option("--all-or-nothing", help="Store nothing if one row is wrong.")
        ] = False,
        yes: Annotated[
            bool,
            typer.Option("--yes", "-y", help="Do not ask, even if a person sits at the terminal."),
        ] = False,
        column: Annotated[
            list[str] | None,
            typer.Option(
                metavar="FIELD=NAME",
                help="A field whose column has another name, as reward=paid_back; repeatable.",
            ),
        ] = None,
        delimiter: Annotated[
            str | None,
            typer.Option(
                help="The sign between fields. By default, found from the header: , ; tab."
            ),
        ] = None,
        decimal: Annotated[
            str | None, typer.Option(help="The decimal sign, . or , (thousands may be separated).")
        ] = None,
        date_format: Annotated[
            str | None,
            typer.Option(help="How dates are written, such as %d.%m.%Y. By default, ISO."),
        ] = None,
        encoding: Annotated[
            str, typer.Option(help="The encoding of the file, such as cp1252.")
        ] = "utf-8",
        ignore_others: Annotated[
            bool,
            typer.Option("--ignore-others", help="Leave out columns that have no meaning here."),
        ] = False,
        refused: Annotated[
            Path | None,
            typer.Option(
                help="The file for refused rows, replaced if it exists. By default, a new one next "
                "to the input."
            ),
        ] = None,
        as_json: AsJson = False,
        actor: Actor = None,
        wait: Wait = WAIT_SECONDS,
    ) -> None:
        from profitable.cli import csv_intake
        from profitable.portfolio import rows_in

        form = rows_in.Form(
            columns=csv_intake.columns_of(column or ()),
            delimiter=delimiter,
            decimal=decimal,
            date_format=date_format,
            encoding=encoding,
            ignore_others=ignore_others,
        )
        csv_intake.take(
            csv_intake.IntakeJob(
                kind=getattr(rows_in, rows),
                where=where,
                file=file,
                form=form,
                dry_run=dry_run,
                all_or_nothing=all_or_nothing,
                yes=yes,
                refused=refused,
                as_json=as_json,
                actor=actor,
                wait=wait,
            )
        )

    command.__name__, command.__doc__ = name, help_text
    return command


observe = _report("observe", "OUTCOME_ROWS", OUTCOMES_HELP, OBSERVE_HELP)
open = _report("open", "CLIENT_ROWS", CLIENTS_HELP, OPEN_HELP)


def correct(
    where: Where,
    id: Annotated[str, typer.Argument(help="The id of the outcome.")],
    reward: Annotated[float | None, typer.Option(help="The right reward.")] = None,
    amount: Annotated[float | None, typer.Option(help="The right amount.")] = None,
    cost: Annotated[float | None, typer.Option(help="The right cost.")] = None,
    defaulted: Annotated[
        str | None, typer.Option(metavar="DAY", help="The day on which a loan defaulted.")
    ] = None,
    closed: Annotated[
        str | None, typer.Option(metavar="DAY", help="The day on which a loan was repaid.")
    ] = None,
    take_back: Annotated[
        bool,
        typer.Option(
            "--take-back",
            help="There is no such outcome: it does not count any more, and a loan is open again.",
        ),
    ] = False,
    reason: Annotated[str | None, typer.Option(help="Why, for those who read the journal.")] = None,
    key: OwnKey = None,
    as_json: AsJson = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Replace an outcome that was reported wrongly, or take it back.

    What was said before stays in the journal.
    """
    kept = "run the same command again: the same correction is not made twice."
    with interruptible(kept), open_portfolio(where, actor=actor, wait=wait) as book:
        answer = book.correct(
            id,
            reward=reward,
            amount=amount,
            cost=cost,
            defaulted=defaulted,
            closed=closed,
            take_back=take_back,
            reason=reason,
            key=key,
        )
        if as_json:
            print_json(answer.to_dict())
        elif answer.status == "known":
            typer.echo(f"{answer.id}: {answer.why}; nothing was stored.")
        else:
            typer.echo(
                f"{answer.id}: {'taken back' if take_back else 'corrected'} in line {answer.line}."
            )


def _read(file: Path) -> bytes:
    from profitable.common.files import as_path, read_bytes, reading_file

    with reading_file("as", file, "give a file that `profitable decide --json` printed"):
        return read_bytes(as_path("as", file))


def _names(given: Sequence[str], known: set[str]) -> list[str]:
    """Names between commas; a text that is itself a name stays whole."""
    return [name for text in given for name in ([text] if text in known else text.split(","))]


def _demand(given: Sequence[str], known: set[str]) -> dict[str, int]:
    """Return the number of clients who apply in each category."""
    demand: dict[str, int] = {}
    for text in given:
        if "=" not in text or is_file(Path(text)):
            found = _demand_of_file(Path(text))
        else:
            whole = text.rpartition("=")[0] in known
            found = [_pair(part) for part in ([text] if whole else text.split(","))]
        for name, clients in found:
            if name in demand:
                raise ParameterError("demand", name, "is given twice", "give each category once")
            demand[name] = clients
    return demand


def _pair(text: str) -> tuple[str, int]:
    name, sign, clients = text.rpartition("=")
    if not sign or not name or not re.fullmatch("[0-9]{1,15}", clients):
        raise ParameterError(
            "demand",
            text,
            "is not a category and a number of clients",
            "give students=3,shops=4, or a CSV file with the columns category, clients",
        )
    return name, int(clients)


def _demand_of_file(path: Path) -> list[tuple[str, int]]:
    found = _rows_of_file(path, "DEMAND_ROWS", "give each category once")
    return [(row["category"], row["clients"]) for row in found]


def _applicants(path: Path) -> list["Client"]:
    return _rows_of_file(path, "CLIENT_ROWS", "give those of today only")


def _rows_of_file(path: Path, kind: str, remedy: str) -> list[Any]:
    """Return the rows of a CSV file, all of which must be right."""
    from profitable.cli.csv_intake import bounded, opened_sheet
    from profitable.portfolio import rows_in

    found: list[Any] = []
    with opened_sheet(path, getattr(rows_in, kind), rows_in.Form(), str(path)) as sheet:
        for row in bounded(sheet, path, remedy):
            if row.made is None:
                raise InputError(f"{path}: line", row.number, f"is wrong ({row.why})", "correct it")
            found.append(row.made)
    return found
