"""`profitable explain`: why a category was accepted or refused."""

from typing import Annotated

import typer

from profitable.cli.shared import WAIT_SECONDS, Wait, Where, at_most_one

EXAMPLE = "profitable explain lending.db students --round 12"


def explain(
    where: Where,
    category: Annotated[str, typer.Argument(help="The name of a category.")],
    round: Annotated[int | None, typer.Option(help="Why it was accepted or refused in this round.")] = None,
    key: Annotated[str | None, typer.Option(help="The same for the round with this key.")] = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Say what is known about a category now or, with a round, why it was accepted or refused then."""
    from profitable.portfolio.portfolio import Portfolio

    at_most_one(round=None if round is None else str(round), key=key)
    with Portfolio(where, wait=wait) as book:
        typer.echo(book.explain(category, round=round, key=key))
