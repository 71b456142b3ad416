"""`profitable compare`: two portfolios side by side."""

from typing import Annotated

import typer

from profitable.cli.shared import WAIT_SECONDS, AsJson, Wait, Where, print_json

EXAMPLE = "profitable compare lending.db shadow.db"


def compare(
    where: Where,
    other: Annotated[str, typer.Argument(help="Another portfolio, such as a shadow that saw the same outcomes.")],
    as_json: AsJson = False,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Put two portfolios side by side: who accepted what, and what the clients whom both have seen brought."""
    from profitable.portfolio.compare import compare as compared
    from profitable.portfolio.portfolio import Portfolio

    with Portfolio(where, wait=wait) as first, Portfolio(other, wait=wait) as second:
        found = compared(first, second)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))
