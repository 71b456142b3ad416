"""`profitable verify`: is the journal what it was, and does everything follow from it?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from profitable.cli.shared import (
    ALTERED,
    WAIT_SECONDS,
    AsJson,
    Wait,
    Where,
    interruptible,
    not_the_portfolio,
    print_json,
)

if TYPE_CHECKING:
    from profitable.portfolio.heads import HeadsFile
    from profitable.portfolio.store import Store
    from profitable.portfolio.verify import Verification

EXAMPLE = "profitable verify lending.db --heads heads.txt"


def verify(
    where: Where,
    head: Annotated[
        str | None, typer.Option(help="A head that was kept elsewhere: were lines cut off or rewritten since?")
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option(help="A file of heads: the journal must continue all of them. If it does, its head is added."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign the head with this private key (Ed25519, PEM). Needs the extra sign.")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="Check the signatures of the heads with this key, and add none.")
    ] = None,
    as_json: AsJson = False,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Compute everything anew from the journal, and find lines that were changed, removed or put in between.

    Exit code 4 says that something was found. The last line is the head of the journal: keep it elsewhere.
    """
    from profitable.errors import BrokenPortfolioError, NotSavedError
    from profitable.portfolio.place import name_of, place_of
    from profitable.portfolio.store import Store

    kept, failed = _heads(heads, sign, public_key, where), None
    with interruptible("verify changes no portfolio. Run the same command again."):
        try:
            store = Store(where, wait=wait)
            try:
                found = _verified(store, head)
                found = found if kept is None else kept.keep(found, store)
            except NotSavedError as error:
                found, failed = cast("Verification", error.result), error
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
    if failed is not None:
        raise failed
    if not found.is_clean:
        raise typer.Exit(ALTERED)


def _heads(heads: Path | None, sign: Path | None, public_key: Path | None, where: str) -> "HeadsFile | None":
    """The file of heads; mistakes are found before the portfolio is read."""
    from profitable.errors import ParameterError

    for name, value in (("sign", sign), ("public-key", public_key)):
        if heads is None and value is not None:
            raise ParameterError(name, str(value), "is given without --heads", "give the file of heads, too")
    if heads is None:
        return None
    from profitable.portfolio.heads import HeadsFile

    not_the_portfolio("heads", heads, where)
    return HeadsFile(heads, sign=sign, public_key=public_key)


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
