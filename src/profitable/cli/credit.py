"""`profitable credit`: play the paper's credit example."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from profitable.cli.shared import JSON_HELP, POLICY_HELP, SEED_HELP, policy_names, whole_number

if TYPE_CHECKING:
    from profitable.paper.credit import CreditResult

EXAMPLE = "profitable credit --policy kl-ucb --plays 20 --out results/credit"


def credit(
    policy: Annotated[str, typer.Option(help=POLICY_HELP, autocompletion=policy_names)] = "ts",
    rounds: Annotated[
        int, typer.Option(parser=whole_number, metavar="<int>", help="Number of rounds in one play.")
    ] = 500,
    plays: Annotated[
        int,
        typer.Option(
            parser=whole_number,
            metavar="<int>",
            help="Number of independent plays. The table shows the first one and the mean.",
        ),
    ] = 100,
    seed: Annotated[int, typer.Option(help=SEED_HELP)] = 1,
    out: Annotated[Path, typer.Option(help="Folder for credit.png and credit.json.")] = Path("results/credit"),
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Play the paper's credit example: five borrower segments, and a lender who learns by lending."""
    from rich.console import Console
    from rich.progress import track

    from profitable.common.folder_lock import occupied
    from profitable.errors import MissingLibraryError, NotSavedError
    from profitable.paper import credit as example
    from profitable.policy.policies import Policy

    chosen = Policy.parse(policy)
    console = Console(stderr=True)
    with occupied(out):
        steps = iter(track(range(plays), "playing", console=console, transient=True, disable=not console.is_terminal))
        result = example.run(chosen, rounds=rounds, plays=plays, seed=seed, advance=lambda: next(steps, None))
        next(steps, None)
        typer.echo(json.dumps(result.to_dict()) if as_json else _tables(result, rounds, str(chosen), seed))
        try:
            picture, numbers = result.save(out)
            made = f"Picture: {picture}   Numbers: {numbers}"
        except MissingLibraryError as error:
            typer.echo(f"profitable: note: no picture: {error}", err=True)
            made = f"Numbers: {out / example.CREDIT_NUMBERS}"
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            raise NotSavedError("out", str(out), problem, "make room there, or choose another folder") from None
    if not as_json:
        typer.echo(f"\n{made}")


def _tables(result: "CreditResult", rounds: int, policy: str, seed: int) -> str:
    return (
        f"The credit example of the paper: {rounds} rounds, policy {policy}, seed {seed}.\n\n"
        f"What the lender who learns found out (first play):\n{result.learned_table()}\n\n"
        f"What was earned, in money:\n{result.earned_table()}"
    )
