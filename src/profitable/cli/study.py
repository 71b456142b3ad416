"""`profitable study`: which policy, with which parameters, in which world."""

from pathlib import Path
from typing import Annotated, Any

import typer

from profitable.cli.shared import (
    JSON_HELP,
    SEED_HELP,
    WORKERS_HELP,
    Cluster,
    InProcesses,
    Stopped,
    chosen_executor,
    note,
    print_json,
    whole_number,
)

EXAMPLE = "profitable study forget --runs 200 --out results/forget"


def study(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A study file (TOML; docs/study.md shows one), or one that comes along: forget, map."
        ),
    ],
    runs: Annotated[
        int | None,
        typer.Option(
            parser=whole_number, metavar="<int>", help="Runs of the best settings, instead of what the file says."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help=f"{SEED_HELP} By default, the file's, or 1.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table and the page. By default, results/ and the file's name.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help=WORKERS_HELP)] = None,
    processes: InProcesses = False,
    cluster: Cluster = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start from the beginning, and replace the study in the folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Compare policies and their parameters in a grid of worlds, and find the best setting of each world.

    Settings that do badly get few runs. Runs that are already in the folder are used. To continue after an
    interruption, run the same command again.
    """
    from profitable.errors import ExecutorError, Interrupted, NotSavedError
    from profitable.studies.conduct import study as conduct
    from profitable.studies.study import Study
    from profitable.studies.study_folder import STUDY_PAGE, STUDY_TABLE
    from profitable.studies.study_result import StudyResult

    changes: dict[str, Any] = {"runs": runs, "seed": seed}
    plan = Study.load(file, **{key: value for key, value in changes.items() if value is not None})
    folder = out or Path("results") / Path(file).stem
    failed = None
    try:
        with chosen_executor(cluster, processes) as executor:
            result = conduct(plan, out=folder, executor=executor, workers=workers, fresh=fresh, say=note)
    except Interrupted as error:
        kept = f"{error.value} of {plan.planned_runs} runs are finished and saved in {folder}"
        raise Stopped(f"interrupted; {kept}; run the same command to resume.") from None
    except ExecutorError as error:
        remedy = f"the finished runs are in {folder}; run the same command to continue"
        raise ExecutorError(error.field, error.value, error.problem, remedy) from None
    except KeyboardInterrupt:
        raise Stopped(f"interrupted; finished runs are in {folder}; run the same command to resume.") from None
    except NotSavedError as error:
        if not isinstance(error.result, StudyResult):
            raise
        result, failed = error.result, error
    if as_json:
        print_json(result.to_dict())
    else:
        typer.echo(result.table())
    if failed:
        raise failed
    if not as_json:
        typer.echo(f"\nPage: {folder / STUDY_PAGE}   Numbers: {folder / STUDY_TABLE}")
