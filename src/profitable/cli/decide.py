"""`profitable decide`: decide the next round of a portfolio."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from profitable.cli.output import in_ascii
from profitable.cli.shared import (
    WAIT_SECONDS,
    Actor,
    AsCsv,
    AsJson,
    Wait,
    Where,
    at_most_one,
    interruptible,
    is_file,
    print_csv,
)

EXAMPLE = "profitable decide lending.db --key 2026-11-16"
SAME_KEY = "run the same command again: the same key gives the same decision, and decides nothing twice."


def decide(
    where: Where,
    key: Annotated[
        str | None, typer.Option(help="Your name for this decision, such as the day. The same key gives it again.")
    ] = None,
    available: Annotated[
        list[str] | None, typer.Option(help="Decide about these categories only: a,b. Can be repeated.")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Money that this round has.")] = None,
    places: Annotated[int | None, typer.Option(help="Clients that this round has room for.")] = None,
    demand: Annotated[
        list[str] | None,
        typer.Option(help="Clients who ask, as students=3,shops=4, or a CSV file with the columns category, clients."),
    ] = None,
    explore: Annotated[
        float | None, typer.Option(help="The share of the budget or the places that is for learning.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--as",
            help="Decide nothing: put back a decision that was acted on, from the JSON that --json printed, after an "
            "earlier backup was restored.",
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Decide the next round: which categories to accept. It is stored before it is printed."""
    from profitable.errors import ParameterError
    from profitable.portfolio.portfolio import Portfolio

    at_most_one(json=as_json, csv=as_csv)
    asked = {"key": key, "available": available, "budget": budget, "places": places, "demand": demand}
    for name, value in {**asked, "explore": explore}.items():
        if file is not None and value is not None:
            raise ParameterError(name, value, "is given beside --as", "leave it out: the file says what was decided")
    if key is None and file is None:
        raise ParameterError("key", None, "is missing", "give --key, or --as with the file of a decision")
    with interruptible(SAME_KEY), Portfolio(where, actor=actor, wait=wait) as book:
        known = set(book.names)
        if file is not None:
            decision = book.reinstate(_read(file))
        else:
            decision = book.decide(
                key=str(key),
                available=_names(available, known) if available else None,
                budget=budget,
                places=places,
                demand=_demand(demand, known) if demand else None,
                explore=explore,
            )
        if as_json:
            typer.echo(in_ascii(decision.to_json()))  # so that --as can read it, whatever the encoding here
        elif as_csv:
            print_csv(decision.to_columns()["columns"])
        else:
            typer.echo(str(decision))


def _read(file: Path) -> bytes:
    from profitable.common.files import as_path, read_bytes
    from profitable.errors import InputError

    try:
        return read_bytes(as_path("as", file))
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or str(error)).lower()})"
        raise InputError("as", str(file), problem, "give a file that `profitable decide --json` printed") from None


def _names(given: Sequence[str], known: set[str]) -> list[str]:
    """Names between commas; a text that is itself a name stays whole."""
    return [name for text in given for name in ([text] if text in known else text.split(","))]


def _demand(given: Sequence[str], known: set[str]) -> dict[str, int]:
    """How many clients of each category ask: from texts, or from files."""
    from profitable.errors import ParameterError

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
    from profitable.errors import ParameterError

    name, sign, clients = text.rpartition("=")
    if not sign or not name or not re.fullmatch("[0-9]{1,15}", clients):
        remedy = "give students=3,shops=4, or a CSV file with the columns category, clients"
        raise ParameterError("demand", text, "is not a category and a number of clients", remedy)
    return name, int(clients)


def _demand_of_file(path: Path) -> list[tuple[str, int]]:
    from profitable.cli.taking import bounded, opened
    from profitable.errors import InputError
    from profitable.portfolio.rows_in import DEMAND, Form, Sheet

    with opened(path) as file:
        sheet = Sheet(file, DEMAND, Form(), str(path))
        try:
            found: list[tuple[str, int]] = []
            for row in bounded(sheet, path, "give each category once"):
                if row.made is None:
                    raise InputError(f"{path}: line", row.number, f"is wrong ({row.why})", "mend it")
                found.append((row.made["category"], row.made["clients"]))
            return found
        finally:
            sheet.detach()
