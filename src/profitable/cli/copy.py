"""`profitable copy`: a copy of a portfolio elsewhere: a backup, a restored backup, a move."""

from typing import Annotated, Any

import typer

from profitable.cli.shared import WAIT_SECONDS, Wait, Where, interruptible

EXAMPLE = "profitable copy lending.db postgresql+psycopg://user@host/lending"


def copy(
    where: Where,
    target: Annotated[str, typer.Argument(help="Where the copy is to be, as a new file or in an empty database.")],
    restore: Annotated[
        bool,
        typer.Option("--restore", help="The copy replaces a portfolio that was lost: add a line that says so."),
    ] = False,
    actor: Annotated[
        str | None, typer.Option(help="With --restore: who does this. By default, the name of the user.")
    ] = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Copy a portfolio to another file or database, or back.  It may be in use meanwhile.

    Every line is checked on its way, and a file is read back before it gets its name. The copy is whole or not there.

    A copy has the lines of the original. With --restore it has one more, which says who restored it.
    """
    from profitable.common.progress import Progress
    from profitable.common.text_tables import number
    from profitable.portfolio.copying import copy_portfolio
    from profitable.portfolio.journal import head
    from profitable.portfolio.place import name_of, place_of
    from profitable.portfolio.session import actor_of
    from profitable.portfolio.store import Store

    if actor is not None and not restore:
        from profitable.errors import ParameterError

        raise ParameterError("actor", actor, "is given without --restore", "leave it out: a copy adds no line")
    restored_by = actor_of(actor) if restore else None
    source = Store(where, wait=wait)
    try:
        source.check_schema()
        with source.read() as connection:
            lines = head(connection).line
    finally:
        source.close()
    with interruptible("the copy is whole or not there."):
        with Progress(total=max(1, lines), title="copying") as bar:
            show: Any = bar.update
            end = copy_portfolio(where, target, restored_by=restored_by, wait=wait, progress=show)
        copied, added = number(end.line), ""
        if restored_by is not None:
            copied = number(end.line - 1)
            added = f", and added line {number(end.line)}: restored from {source.name} by {restored_by}"
        typer.echo(f"Copied {copied} lines to {name_of(place_of(target))}{added}.\nhead: {end.hash}")
