"""Commands about the paper: `paper` and `credit`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import (
    POLICY_HELP,
    AsJson,
    Cluster,
    Seed,
    Stopped,
    Workers,
    chosen_executor,
    note,
    policy_names,
    whole_option,
)

if TYPE_CHECKING:
    from profitable.paper.credit import CreditResult


def paper(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A first look in about ten seconds: the paper's four experiments with few runs.",
        ),
    ] = False,
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help="An experiment to run; can be repeated. By default, all: bernoulli, poisson, "
            "sharp-poisson, exponential, long-bernoulli, long-poisson, long-exponential, "
            "arrivals, unlucky, bounds, optimal-bernoulli, optimal-poisson, "
            "optimal-sharp-poisson, optimal-exponential, optimal-long."
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="paper, authors (C - 1 ~ Poisson(rate - 1), and log(10 t/N) in the + policies) "
            "or both (then the authors' variant has fewer runs). By default, both; with --quick, "
            "paper."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        whole_option("Number of runs of each experiment. By default, each has its own number."),
    ] = None,
    seed: Seed = 1,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the report. By default, results/paper; -quick and names of "
            "experiments are added."
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Run everything again, even if the folder holds results."),
    ] = False,
) -> None:
    """Run the paper's experiments and write the report.

    The report has curves, tables, and tests of the paper's claims. Results that are
    already in the folder are used. To continue after an interruption, run the same
    command again.
    """
    from profitable.errors import ExecutorError, NotSavedError
    from profitable.paper.command import reproduce

    # Chosen experiments get a folder of their own, so that they do not replace the
    # whole report.
    folder = out or Path("results") / "-".join(
        ["paper", *(["quick"] if quick else []), *(experiment or [])]
    )
    size: dict[str, Any] = {"quick": quick, "variant": variant, "runs": runs, "seed": seed}
    try:
        with chosen_executor(cluster) as executor:
            where: dict[str, Any] = {"executor": executor, "workers": workers}
            typer.echo(
                reproduce(folder, experiments=experiment or [], **size, **where, fresh=fresh)
            )
    except NotSavedError as error:
        if error.result is not None:
            typer.echo(str(error.result))
        raise
    except ExecutorError as error:
        raise ExecutorError(
            error.field,
            error.value,
            error.problem,
            f"the finished runs are in {folder}; run the same command to continue",
        ) from None
    except KeyboardInterrupt:
        kept = f"the finished runs are in {folder}, but the report was not written"
        kept = kept if folder.exists() else "nothing was written"
        raise Stopped(f"interrupted; {kept}. Run the same command to continue.") from None


def credit(
    policy: Annotated[str, typer.Option(help=POLICY_HELP, autocompletion=policy_names)] = "ts",
    rounds: Annotated[
        int,
        whole_option("Number of rounds in one play."),
    ] = 500,
    plays: Annotated[
        int,
        whole_option("Number of independent plays. The table shows the first one and the mean."),
    ] = 100,
    seed: Seed = 1,
    out: Annotated[Path, typer.Option(help="Folder for credit.png and credit.json.")] = Path(
        "results/credit"
    ),
    as_json: AsJson = False,
) -> None:
    """Play the paper's credit example: five borrower segments and a learning lender."""
    from rich.console import Console
    from rich.progress import track

    from profitable.common.files import saving
    from profitable.common.locks import occupied
    from profitable.errors import MissingLibraryError
    from profitable.paper import credit as example
    from profitable.policy.policies import Policy

    chosen = Policy.parse(policy)
    console = Console(stderr=True)
    with occupied(out):
        steps = iter(
            track(
                range(plays),
                "playing",
                console=console,
                transient=True,
                disable=not console.is_terminal,
            )
        )
        result = example.run(
            chosen, rounds=rounds, plays=plays, seed=seed, advance=lambda: next(steps, None)
        )
        next(steps, None)
        typer.echo(
            json.dumps(result.to_dict()) if as_json else _tables(result, rounds, str(chosen), seed)
        )
        try:
            with saving(out):
                picture, numbers = result.save(out)
            made = f"Picture: {picture}   Numbers: {numbers}"
        except MissingLibraryError as error:
            note(f"no picture: {error}")
            made = f"Numbers: {out / example.CREDIT_NUMBERS}"
    if not as_json:
        typer.echo(f"\n{made}")


def _tables(result: "CreditResult", rounds: int, policy: str, seed: int) -> str:
    return (
        f"The credit example of the paper: {rounds} rounds, policy {policy}, seed {seed}.\n\n"
        f"What the lender who learns found out (first play):\n{result.learned_table()}\n\n"
        f"What was earned, in money:\n{result.earned_table()}"
    )
