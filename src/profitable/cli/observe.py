"""`profitable observe` and `profitable open`: report outcomes, and clients whose outcomes are still to come."""

from pathlib import Path
from typing import Annotated

import typer

from profitable.cli.shared import WAIT_SECONDS, Actor, AsJson, Wait, Where

OBSERVE_EXAMPLE = "profitable observe lending.db outcomes.csv --dry-run"
OPEN_EXAMPLE = "profitable open lending.db clients.csv --column id=loan_number"

Column = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD=NAME", help="A field whose column has another name, as reward=paid_back; repeatable."),
]
Delimiter = Annotated[
    str | None, typer.Option(help="What is between cells. By default, found from the header: , ; tab.")
]
Decimal = Annotated[str | None, typer.Option(help="The decimal sign, . or , (thousands may be separated).")]
DateFormat = Annotated[str | None, typer.Option(help="How dates are written, such as %d.%m.%Y. By default, ISO.")]
Encoding = Annotated[str, typer.Option(help="The encoding of the file, such as cp1252.")]
IgnoreOthers = Annotated[bool, typer.Option("--ignore-others", help="Leave out columns that have no meaning here.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Store nothing: print what would happen, row by row.")]
AllOrNothing = Annotated[bool, typer.Option("--all-or-nothing", help="Store nothing if one row is wrong.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, even if a person sits at the terminal.")]
Refused = Annotated[
    Path | None,
    typer.Option(help="The file for refused rows, replaced if it is there. By default, a new one beside the file."),
]


def observe(
    where: Where,
    file: Annotated[
        str,
        typer.Argument(
            help="CSV with a header: id, category, reward, and if you like amount, cost, decision, known. - reads "
            "standard input."
        ),
    ],
    dry_run: DryRun = False,
    all_or_nothing: AllOrNothing = False,
    yes: Yes = False,
    column: Column = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    date_format: DateFormat = None,
    encoding: Encoding = "utf-8",
    ignore_others: IgnoreOthers = False,
    refused: Refused = None,
    as_json: AsJson = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Report outcomes from a CSV file.  Each id counts exactly once, however often it is sent.

    Wrong rows are refused one by one. They go to a file beside it with the reason: mend them there, and send that file.
    """
    from profitable.cli.taking import Job, form_of, take
    from profitable.portfolio.rows_in import OUTCOME_ROWS

    take(
        Job(
            kind=OUTCOME_ROWS,
            where=where,
            file=file,
            form=form_of(column or (), delimiter, decimal, date_format, encoding, ignore_others),
            dry_run=dry_run,
            all_or_nothing=all_or_nothing,
            yes=yes,
            refused=refused,
            as_json=as_json,
            actor=actor,
            wait=wait,
        )
    )


def open(
    where: Where,
    file: Annotated[
        str,
        typer.Argument(
            help="CSV with a header: id, category, and if you like decision, matures, emerges, promised. - reads "
            "standard input."
        ),
    ],
    dry_run: DryRun = False,
    all_or_nothing: AllOrNothing = False,
    yes: Yes = False,
    column: Column = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = "utf-8",
    ignore_others: IgnoreOthers = False,
    refused: Refused = None,
    as_json: AsJson = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Say from a CSV file who was accepted, so that outcomes which come late count as they emerge.

    Wrong rows are refused one by one. They go to a file beside it with the reason: mend them there, and send that file.
    """
    from profitable.cli.taking import Job, form_of, take
    from profitable.portfolio.rows_in import CLIENT_ROWS

    take(
        Job(
            kind=CLIENT_ROWS,
            where=where,
            file=file,
            form=form_of(column or (), delimiter, decimal, None, encoding, ignore_others),
            dry_run=dry_run,
            all_or_nothing=all_or_nothing,
            yes=yes,
            refused=refused,
            as_json=as_json,
            actor=actor,
            wait=wait,
        )
    )
