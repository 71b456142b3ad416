"""`profitable paper`: run the paper's experiments and write the report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from profitable.cli.shared import SEED_HELP, WORKERS_HELP, Cluster, InProcesses, Stopped, chosen_executor, whole_number

EXAMPLE = "profitable paper --quick --experiment poisson --out results/poisson"


def paper(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A first look in about ten seconds: the paper's four experiments with few runs."),
    ] = False,
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help="An experiment to run; can be repeated. By default, all: bernoulli, poisson, sharp-poisson, "
            "exponential, long-bernoulli, long-poisson, long-exponential, arrivals, unlucky, bounds, "
            "optimal-bernoulli, optimal-poisson, optimal-sharp-poisson, optimal-exponential, optimal-long."
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="paper, authors (C - 1 ~ Poisson(rate - 1), and log(10 t/N) in the + policies) or both (then the "
            "authors' variant has fewer runs). By default, both; with --quick, paper."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            parser=whole_number,
            metavar="<int>",
            help="Number of runs of each experiment. By default, each has its own number.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help=SEED_HELP)] = 1,
    workers: Annotated[int | None, typer.Option(help=WORKERS_HELP)] = None,
    processes: InProcesses = False,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the report. By default, results/paper; -quick and names of experiments are added."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run everything again, even if the folder holds results.")
    ] = False,
) -> None:
    """Run the paper's experiments and write the report: curves, tables, and tests of the paper's claims.

    Results that are already in the folder are used. To continue after an interruption, run the same command again.
    """
    from profitable.errors import ExecutorError, NotSavedError
    from profitable.paper.command import reproduce

    # Chosen experiments get a folder of their own, so that they do not replace the whole report.
    folder = out or Path("results") / "-".join(["paper", *(["quick"] if quick else []), *(experiment or [])])
    size: dict[str, Any] = {"quick": quick, "variant": variant, "runs": runs, "seed": seed}
    try:
        with chosen_executor(cluster, processes) as executor:
            where: dict[str, Any] = {"executor": executor, "workers": workers}
            typer.echo(reproduce(folder, experiments=experiment or [], **size, **where, fresh=fresh))
    except NotSavedError as error:
        if error.result is not None:
            typer.echo(str(error.result))
        raise
    except ExecutorError as error:
        remedy = f"the finished runs are in {folder}; run the same command to continue"
        raise ExecutorError(error.field, error.value, error.problem, remedy) from None
    except KeyboardInterrupt:
        kept = f"the finished runs are in {folder}, but the report was not written"
        kept = kept if folder.exists() else "nothing was written"
        raise Stopped(f"interrupted; {kept}. Run the same command to continue.") from None
