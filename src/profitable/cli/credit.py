"""`profitable credit`: play the paper's credit example."""

import json
from pathlib import Path
from typing import Annotated

import typer

from profitable.cli.shared import JSON_HELP, POLICY_HELP, SEED_HELP, output_folder

EXAMPLE = "profitable credit --policy kl-ucb --plays 20 --out results/credit"


def credit(
    policy: Annotated[str, typer.Option(help=POLICY_HELP)] = "ts",
    rounds: Annotated[int, typer.Option(help="Rounds of lending in one play.")] = 500,
    plays: Annotated[int, typer.Option(help="Independent plays; the table shows the first one and the mean.")] = 100,
    seed: Annotated[int, typer.Option(help=SEED_HELP)] = 1,
    out: Annotated[Path, typer.Option(help="Folder for credit.png and credit.json.")] = Path("results/credit"),
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Play the paper's credit example: five borrower segments, and a lender who learns by lending."""
    from rich.console import Console
    from rich.progress import track

    from profitable.paper import credit as example
    from profitable.policy.policies import Policy

    chosen = Policy.parse(policy)
    console = Console(stderr=True)
    with output_folder(out):
        steps = iter(track(range(plays), "playing", console=console, transient=True, disable=not console.is_terminal))
        result = example.run(chosen, rounds=rounds, plays=plays, seed=seed, advance=lambda: next(steps, None))
        next(steps, None)
        files = result.save(out)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
        return
    typer.echo(f"The credit example of the paper: {rounds} rounds, policy {chosen}, seed {seed}.\n")
    typer.echo("What the lender who learns found out (first play):")
    typer.echo(result.learned_table())
    typer.echo("\nWhat was earned, in money:")
    typer.echo(result.earned_table())
    typer.echo(f"\nPicture: {files[0]}   Numbers: {files[1]}")
