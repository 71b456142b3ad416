"""`profitable verify`: is the journal what it was, and does everything follow from it?"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import ALTERED, WAIT_SECONDS, AsJson, Wait, Where, interruptible, print_json

if TYPE_CHECKING:
    from profitable.portfolio.store import Store
    from profitable.portfolio.verify import Verification

EXAMPLE = "profitable verify lending.db --head 2a6e6af1ac6d... (64 letters that an earlier run printed)"


def verify(
    where: Where,
    head: Annotated[
        str | None, typer.Option(help="A head that was kept elsewhere: were lines cut off or rewritten since?")
    ] = None,
    as_json: AsJson = False,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Compute everything anew from the journal, and find lines that were changed, removed or put in between.

    Exit code 4 says that something was found. The last line is the head of the journal: keep it elsewhere.
    """
    from profitable.errors import BrokenPortfolioError
    from profitable.portfolio.place import name_of, place_of
    from profitable.portfolio.store import Store

    with interruptible("verify stores nothing. Run the same command again."):
        try:
            store = Store(where, wait=wait)
            try:
                found = _verified(store, head)
            finally:
                store.close()
        except BrokenPortfolioError as error:  # the engine itself refuses the file
            if as_json:
                print_json({"portfolio": name_of(place_of(where)), "clean": False, "findings": [str(error)]})
            typer.echo(f"profitable: {error}", err=True)
            raise typer.Exit(ALTERED) from None
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))
    if not found.is_clean:
        raise typer.Exit(ALTERED)


def _verified(store: "Store", wanted: str | None) -> "Verification":
    from profitable.common.progress import Progress
    from profitable.portfolio.journal import head
    from profitable.portfolio.verify import Verifier

    store.check_schema()
    with store.read() as connection:
        lines = head(connection).line
    with Progress(total=max(1, lines), title="verifying") as bar:
        show: Any = bar.update
        return Verifier(store, wanted, show).run()
