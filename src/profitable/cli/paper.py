"""`profitable paper`: run the paper's experiments and write the report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from profitable.cli.shared import SEED_HELP, WORKERS_HELP, Stopped, whole_number

EXAMPLE = "profitable paper --quick --experiment poisson --out results/poisson"


def paper(
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in about ten seconds: the paper's four experiments with few runs.")
    ] = False,
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help="May be given several times; all unless given: bernoulli, poisson, sharp-poisson, exponential; "
            "long-bernoulli, long-poisson, long-exponential, arrivals, unlucky, bounds."
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="paper, authors (C - 1 ~ Poisson(rate - 1) and log(10 t/N) in the + policies) or both, the authors' "
            "with fewer runs (default: both; paper with --quick)"
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(parser=whole_number, metavar="<int>", help="Runs of every experiment, instead of its own number."),
    ] = None,
    seed: Annotated[int, typer.Option(help=SEED_HELP)] = 1,
    workers: Annotated[int | None, typer.Option(help=WORKERS_HELP)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report, pictures and results (default: results/paper, with -quick and -NAME)"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run everything anew, also what the folder holds already.")
    ] = False,
) -> None:
    """Run the paper's experiments and write the report: curves, tables, the paper's claims put to the test.

    What the folder holds already is taken over; after an interruption the same command goes on.
    """
    from profitable.errors import NotSavedError
    from profitable.paper.command import reproduce

    # Chosen experiments get a folder of their own, so that they do not replace the whole report.
    folder = out or Path("results") / "-".join(["paper", *(["quick"] if quick else []), *(experiment or [])])
    size: dict[str, Any] = {"quick": quick, "variant": variant, "runs": runs, "seed": seed}
    try:
        typer.echo(reproduce(folder, experiments=experiment or [], **size, workers=workers, fresh=fresh))
    except NotSavedError as error:
        if error.result is not None:
            typer.echo(str(error.result))
        raise
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {folder}, the report is not renewed"
        kept = kept if folder.exists() else "nothing was written"
        raise Stopped(f"interrupted; {kept}. Run the same command to go on.") from None
