"""`profitable status`: where a portfolio stands."""

import typer

from profitable.cli.shared import WAIT_SECONDS, AsCsv, AsJson, Wait, Where, at_most_one, print_csv, print_json

EXAMPLE = "profitable status lending.db"


def status(where: Where, as_json: AsJson = False, as_csv: AsCsv = False, wait: Wait = WAIT_SECONDS) -> None:
    """Print where a portfolio stands: clients, means, profit, evidence and patience of each category."""
    from profitable.portfolio.portfolio import Portfolio

    at_most_one(json=as_json, csv=as_csv)
    with Portfolio(where, wait=wait) as book:
        found = book.status()
    if as_json:
        print_json(found.to_dict())
    elif as_csv:
        print_csv(found.columns)
    else:
        typer.echo(str(found))
